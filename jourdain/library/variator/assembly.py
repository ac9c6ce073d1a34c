"""From the parts of a variator to the record that native code marches: stations, shape functions, complementarity problems."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...native.record import Record
from ...solvers.belt import records
from ...solvers.complementarity.problem import linear_room
from ...structures.drives.moving_belt import frequency_cut, moving_belt
from ...structures.drives.splines import HierarchicalSplines
from .geometry import Array, Path, largest_torque
from .parts import Pulley

if TYPE_CHECKING:
    from .variator import Variator

#: How far beyond the arcs elements are looked after for contact, and the shape functions refined (m).
BEYOND, REFINED = 5.4e-3, 25e-3


def stations(path: Path, spacing: float) -> tuple[Array, Array, Array]:
    """Places of stations, the distance to the next, and the angle of the reference line in the share of each; section borders are stations."""
    places, steps, kaps = [], [], []
    for begin, length, kap in zip(path.borders, path.lengths, (1 / path.r_dr, 0.0, 1 / path.r_dn, 0.0), strict=False):
        count = max(round(length / spacing), 4)
        places.append(begin + length / count * np.arange(count))
        steps.append(np.full(count, length / count))
        kaps.append(np.full(count, kap))
    step, turned = np.concatenate(steps), np.concatenate(steps) * np.concatenate(kaps)
    return np.concatenate(places), step, 0.5 * (turned + np.roll(turned, 1))


def splines(path: Path, coarse: int, levels: int) -> HierarchicalSplines:
    """Coarse over the whole belt, finer on the arcs, finest around their borders."""
    b = path.borders
    arcs = [(b[0] - REFINED, b[1] + REFINED), (b[2] - REFINED, b[3] + REFINED)]
    ends = [(x - REFINED, x + REFINED) for x in b[:4]]
    regions = [arcs if k < 2 else ends for k in range(levels)]
    return HierarchicalSplines(path.length, coarse, regions)


def contacts(path: Path, s: Array, driving: bool) -> tuple[NDArray[np.int64], Array, Array, Array]:
    """Stations that may touch a pulley, their radii and polar angles, and how far the path leans outwards from its circle."""
    first = 0 if driving else 2
    begin, end = path.borders[first], path.borders[first + 1]
    r = path.r_dr if driving else path.r_dn
    start = math.pi / 2 + path.beta if driving else -math.pi / 2 - path.beta
    before, after = np.mod(begin - s, path.length), np.mod(s - end, path.length)
    inside = (s >= begin - 1e-12) & (s <= end + 1e-12)
    early, late = (before <= BEYOND) & ~inside, (after <= BEYOND) & ~inside
    x = np.where(early, -before, np.where(late, after, 0.0))
    chosen = np.flatnonzero(inside | early | late)
    along = np.where(early, -before, np.mod(s - begin, path.length))
    chosen = chosen[np.argsort(along[chosen])]
    x = x[chosen]
    lean = np.arctan2(x, r)
    arc = np.clip(np.where(x != 0, np.where(x < 0, 0.0, end - begin), s[chosen] - begin), 0.0, end - begin)
    return chosen.astype(np.int64), np.hypot(r, x), start + arc / r + lean, lean


def pulley_record(v: Variator, part: Pulley, path: Path, s: Array, share: Array, driving: bool) -> records.Pulley:
    """A pulley with its problem of contact; the stiffness of its contacts is found for an arc that is closed all along."""
    at, r, phi, lean = contacts(path, s, driving)
    elements = share[at] / v.elements.thickness
    A = part.flexibility(r, phi) + np.diag(1.0 / (v.elements.axial_stiffness * elements))
    on = np.abs(lean) < 1e-12
    inverse = np.linalg.inv(A[np.ix_(on, on)])
    lever = r[on] * np.cos(phi[on] - phi[on].mean())
    n = at.size
    problem = linear_room(n, tableau=False)
    problem.A = A.ravel().copy()
    problem.symmetric = 1
    problem.z[:] = on
    axial, tilting = float(inverse.sum()), float(lever @ inverse @ lever)
    z = v.elements.width - 2 * math.tan(v.wedge) * float(r[on].mean()) - v.thrust / axial
    force, moment = part.bending()
    oil = part.hydraulics
    found = ("lever", "force", "gap", "normal", "tangential", "radial", "outward", "secant", "damping", "rise", "dv_t", "dv_r")
    return records.Pulley(
        contacts=n, station=at, radius=r, cosine=np.cos(phi), sine=np.sin(phi), lean=lean, elements=elements, problem=problem, known=0,
        wedge=v.wedge, width=v.elements.width, mu=v.friction.mu, v_eps=v.friction.v_eps, inertia=part.inertia, delay=part.delay,
        axial_stiffness=axial, tilt_stiffness=part.collar, contact_tilt=tilting, tilt_gain=tilting * (1 / part.collar + moment),
        play=part.play, play_moment=part.play_moment, bend_force=force, bend_moment=moment, element_stiffness=v.elements.axial_stiffness,
        spring=oil.spring if oil else 0.0, spring_rate=oil.spring_rate if oil else 0.0, spring_at=z,
        centrifugal=oil.centrifugal if oil else 0.0, z=z, **{name: np.zeros(n) for name in found},
    )  # fmt: skip


def belt_record(v: Variator, path: Path) -> records.Belt:
    """All that a march needs, at rest on its reference line."""
    s, step, turning = stations(path, v.spacing or v.elements.thickness)
    share = 0.5 * (step + np.roll(step, 1))
    n, rings, N = s.size, v.rings, v.rings.count
    basis = splines(path, v.coarse, v.levels)
    before = s - 0.5 * np.roll(step, 1)
    value, slope, turn = basis.matrix(s), basis.matrix(s, 1), basis.matrix(s + 0.5 * step, 1) - basis.matrix(before, 1)
    there = (value != 0) | (slope != 0) | (turn != 0)
    column = np.nonzero(there)[1]
    start = np.concatenate([[0], np.cumsum(there.sum(axis=1))]).astype(np.int64)
    driving, driven = (pulley_record(v, part, path, s, share, first) for part, first in ((v.pulleys[0], True), (v.pulleys[1], False)))
    mass = v.elements.mass_per_length + N * rings.mass_per_length
    matrices = moving_belt(basis, mass, rings.EI, path.curvature, v.bending, path.borders)
    tension = 2 * v.thrust * math.tan(v.wedge) / math.pi
    held = np.zeros((basis.size, basis.size))
    for p in (driving, driven):
        stiff = 4 * math.tan(v.wedge) ** 2 * v.elements.axial_stiffness * p.elements
        held += (value[p.station] * stiff[:, None]).T @ value[p.station]
    C = np.diag(matrices.C(tension, 0.0) + held)
    cut = frequency_cut(matrices.own_frequencies(tension, 0.0, held), C, v.limit)
    slow = cut.dynamic.astype(float)
    layers = records.Layers(
        rings=N, stiffness=np.concatenate([[v.elements.EA], np.full(N, rings.EA)]),
        mass=np.concatenate([[v.elements.mass_per_length], np.full(N, rings.mass_per_length)]),
        length=np.concatenate([[v.elements.length], rings.lengths]), thickness=rings.thickness, saddle=rings.saddle,
        mu_c=v.friction.ring_mu_c, mu_s=v.friction.ring_mu_s, v_s=v.friction.ring_v_s, v_eps=v.friction.ring_v_eps,
        viscous=v.friction.ring_viscous, relaxation=v.relaxation, remainder=v.remainder, deviation=np.zeros((N + 1, n)),
        speed=np.zeros(N + 1), mean=np.zeros(N + 1), lines=np.zeros(N + 1), strain=np.zeros((N + 1, n)), normal=np.zeros((N + 2, n)),
        friction=np.zeros((N + 2, n)), secant=np.zeros((N + 2, n)), inner=np.zeros((N + 1, n)), outer=np.zeros((N + 1, n)),
        drive=np.zeros((N + 1, n)), work=np.zeros((8, n)), system=np.zeros((N + 3) ** 2), right=np.zeros(N + 3),
        pivots=np.zeros(N + 3, np.int64),
    )  # fmt: skip
    line = records.Path(
        stations=n, share=share, step=step, turning=turning, start=start, column=column.astype(np.int64), value=value[there],
        slope=slope[there], turn=turn[there], **{name: np.zeros(n) for name in ("w", "w1", "wdot", "angle", "force", "pressed")},
    )  # fmt: skip
    size = basis.size
    return records.Belt(
        path=line, layers=layers, driving=driving, driven=driven, size=size, q=np.zeros(size), rate=np.zeros(size),
        dynamic=cut.dynamic.astype(np.int64), inertia=np.ascontiguousarray(matrices.ww * slow * slow[:, None]),
        gyroscopic=np.ascontiguousarray(matrices.gyroscopic * slow), bent=matrices.bent, unbending=matrices.unbending,
        relaxation=cut.relaxation, stack=v.elements.EI, k_minus=v.elements.k_minus, k_plus=v.elements.k_plus,
        printed=int(v.speeds == "printed"), element=v.elements.thickness, ratio=path.ratio, ratio_delay=0.02, integral_time=0.1,
        slip_limit=v.slip_limit, largest=largest_torque(path.r_dn, 1.0, v.friction.mu, v.wedge),
        matrix=np.zeros(size * size), right=np.zeros(size), longer=np.zeros(size), pivots=np.zeros(size, np.int64), bad=-1, bad_layer=-1,
    )  # fmt: skip


def copied(record: Any) -> Any:
    """A record with memory of its own, and so for all to which it refers."""
    made = type(record)()
    for name in type(record).__annotations__:
        try:
            value = getattr(record, name)
        except AttributeError:
            continue
        setattr(made, name, copied(value) if isinstance(value, Record) else value.copy() if isinstance(value, np.ndarray) else value)
    return made


def moved_to(v: Variator, old: Path, new: Path, b: records.Belt) -> tuple[Path, records.Belt]:
    """The same belt on another reference line: stations keep their part of a section, displacements are those from the new line."""
    fresh = belt_record(v, new)
    s_old, s_new = (np.concatenate([[0.0], np.cumsum(x.path.step)[:-1]]) for x in (b, fresh))
    at = np.interp(s_new, new.borders, old.borders)

    def field(values: Array) -> Array:
        return np.interp(at, np.append(s_old, old.length), np.append(values, values[0]))

    rise = np.array([old.r_dr - new.r_dr, old.r_dn - new.r_dn])
    moved = np.interp(s_new, new.borders, [rise[0], rise[0], rise[1], rise[1], rise[0]])
    basis = splines(new, v.coarse, v.levels)
    weight = np.sqrt(fresh.path.share)[:, None]
    shapes, slopes = basis.matrix(s_new), basis.matrix(s_new, 1)
    fit = np.vstack([shapes * weight, 1e-3 * slopes * weight])
    w, w1 = field(b.path.w) + moved, field(b.path.w1)
    fresh.q[:] = np.linalg.lstsq(fit, np.concatenate([w * weight[:, 0], 1e-3 * w1 * weight[:, 0]]), rcond=None)[0]
    fresh.rate[:] = np.linalg.lstsq(shapes * weight, field(b.path.wdot) * weight[:, 0], rcond=None)[0]
    share = fresh.path.share
    for k in range(b.layers.rings + 1):
        strain = field(b.layers.deviation[k])
        fresh.layers.deviation[k] = strain - (strain @ share) / share.sum()
    fresh.layers.speed[:] = b.layers.speed
    kept = (
        "phi",
        "omega",
        "z",
        "tilt_x",
        "tilt_y",
        "bend_x",
        "bend_y",
        "slack_x",
        "slack_y",
        "torque",
        "spin_rate",
        "thrust",
        "held",
        "kinetic",
        "moment_x",
        "moment_y",
    )
    for a, c in ((b.driving, fresh.driving), (b.driven, fresh.driven)):
        for name in (*kept, "spring_at"):
            setattr(c, name, getattr(a, name))
    for name in (
        "t",
        "ratio",
        "ratio_rate",
        "ratio_delay",
        "gain",
        "integral_time",
        "integral",
        "bias",
        "drive_rate",
        "load_rate",
        "load",
        "load_ratio",
        "torque_ratio",
        "least_thrust",
        "clamping",
    ):
        setattr(fresh, name, getattr(b, name))
    return new, fresh
