"""A push belt element by element: every element, every link of the ring and every sheave a body, every force one of contact or of a hinge.

This is the referee of the elastic model: another formulation (Lagrangian, in bodies, by the contact engine alone) of the same parts.  One half of the belt is modelled,
cut at its middle plane, with one sheave a pulley; forces along the belt and torques are doubled when they are told.  Elements are points with a width: they touch their
neighbours at the pitch line, the sheave's cone with their flank and the ring with their saddle, and do not turn.  The ring pack is one closed chain of links with elastic
hinges; links turn on the arcs, and their surface lies the offset Δr of (3) below the line that hinges follow, so that rings slip as (3) says.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import brentq

from ...errors import InputError
from ...model.model import Model
from ...model.penalty_laws import kelvin_voigt, regularised
from ...model.shapes import capsule, cone, cylinder, sphere
from ...model.units import quantity
from ...results.solution import Solution
from ...symbolic.functions import minimum
from ...systems.system import System
from .geometry import Array, Path, largest_torque
from .variator import Variator

#: Radius of saddles (m), and the layer (m) beside the flanks in which they lie.
SADDLE, LAYER = 1e-3, -0.02
#: Play of the ring between saddle and ears (m).
SLOT = 0.2e-3
#: Damping of contacts between elements and of hinges, over the critical one.
LOSS = 0.05
#: Part of the spans, from both ends, that does not count when their forces are told.
ENDS = 0.15


@dataclass(frozen=True, eq=False)
class ElementBelt:
    """A variator's belt as bodies in contact.

    Args:
        variator: of which elements, rings, friction, inertias and the thrust are read; sheaves and shafts are rigid here.
        groove: half the width of the driving groove at radius 0 (m); that of the nominal ratio unless it is given.
        speed: of the driving shaft (rad/s). torque: on the driven shaft (N m), reached after the time ``ramp`` (s).
    """

    variator: Variator
    groove: float | None = None
    speed: float = 2000 * math.pi / 30
    torque: float = 0.0
    ramp: float = 0.05
    _start: dict[str, float] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.variator.elements.count < 12:
            raise InputError(f"element belt: {self.variator.elements.count} elements are too few to lie on two pulleys; take 12 or more")

    @property
    def path(self) -> Path:
        return self.variator.path

    @property
    def count(self) -> int:
        return self.variator.elements.count

    @cached_property
    def chord(self) -> float:
        """Distance of elements that close the path as a polygon without play: the size of an element that is straight."""
        N, path = self.count, self.path

        def beyond(c: float) -> float:
            s = 0.0
            for _ in range(N):
                at = path.points([s])[0]
                s = brentq(lambda x, at=at: float(np.hypot(*(path.points([x])[0] - at))) - c, s + 0.5 * c, s + 1.5 * c, xtol=1e-13)
            return s - path.length

        b = self.variator.elements.thickness
        return float(brentq(beyond, 0.97 * b, 1.001 * b, xtol=1e-10))

    @cached_property
    def link(self) -> float:
        """Length of a link of the ring without tension: polygon around the saddles instead of the ring's circle."""
        path, N, rings = self.path, self.count, self.variator.rings
        above = SADDLE + self.variator.rings.offset
        corners = sum((r + above) * a * (path.length / N / r) ** 2 / 12 for r, a in zip((path.r_dr, path.r_dn), path.wraps, strict=True))
        return (rings.length + 2 * math.pi * (above - rings.offset) + corners) / N

    @property
    def masses(self) -> tuple[float, float]:
        """Of half an element, and of half a link."""
        v = self.variator
        return 0.5 * v.elements.mass_per_length * v.elements.thickness, 0.5 * v.rings.count * v.rings.mass_per_length * self.link

    @property
    def stiffness(self) -> dict[str, float]:
        """Of half an element along the belt, of a flank along its normal, and of a hinge (N/m)."""
        v = self.variator
        return {
            "push": 0.5 * v.elements.EA / v.elements.thickness,
            "flank": 2 * v.elements.axial_stiffness / math.cos(v.wedge) ** 2,
            "hinge": 0.5 * v.rings.count * v.rings.EA / self.link,
        }

    @property
    def step(self) -> float:
        """A step (s) that fourth-order Runge–Kutta takes without growing: 2.4 over the fastest rate of hinges, elements and friction."""
        v, K, (m, ring) = self.variator, self.stiffness, self.masses
        on_arc = v.thrust / (min(self.path.wraps) * min(self.path.r_dr, self.path.r_dn) / v.elements.thickness)
        # a link swings on its hinges and on a saddle at its end, an element between its neighbours and against flanks that rub
        link = math.sqrt(12 * K["hinge"] / ring + K["push"] * (4 / ring + 1 / m))
        # friction turns a short link by the distance of its outer side
        lever = (2 * (SADDLE + v.rings.offset) + SLOT) / self.link
        pressed = v.thrust * math.tan(v.wedge) / math.pi * v.elements.thickness / min(self.path.r_dr, self.path.r_dn)
        turned = 1.5 * v.friction.ring_mu_c * pressed / v.friction.ring_v_eps * (1 + 12 * lever**2) / ring
        rates = link, 2 * math.sqrt(K["push"] / m), 1.5 * v.friction.mu * on_arc / v.friction.v_eps / m, turned
        return 2.4 / max(rates)

    def _half_width(self, radius: float, thrust: float) -> float:
        """Half the groove's width at radius 0 where elements that carry a thrust lie at a radius."""
        v = self.variator
        number = min(self.path.wraps) * radius / v.elements.thickness
        sunk = thrust / number / (2 * math.tan(v.wedge) * v.elements.axial_stiffness)
        return v.elements.width / 2 - (radius + sunk) * math.tan(v.wedge)

    @cached_property
    def model(self) -> Model:
        """The bodies, joints, hinges and contacts."""
        m = Model("element belt", gravity=(0, 0, 0))
        self._elements(m)
        self._ring(m)
        self._pulleys(m)
        self._contacts(m)
        return m

    @cached_property
    def system(self) -> System:
        return self.model.compile()

    def _moves(self, joint: str, place: Array, velocity: Array) -> None:
        for c, x, v in zip("xy", place, velocity, strict=True):
            self._start[f"{joint}.{c}"], self._start[f"{joint}.{c}_rate"] = float(x), float(v)

    def _elements(self, m: Model) -> None:
        v, N = self.variator, self.count
        s = self.path.length / N * np.arange(N)
        along = (self.path.points(s + 1e-7) - self.path.points(s - 1e-7)) / 2e-7
        mass, _ = self.masses
        for k, (place, t) in enumerate(zip(self.path.points(s), along, strict=True)):
            e = m.body(
                f"element{k}",
                mass=mass,
                inertia=(1e-9,) * 3,
                shape=cylinder(self.chord / 2, v.elements.width / 2).at(0, 0, v.elements.width / 4),
            )
            m.sequence(f"e{k}", m.ground, e, ["Tx", "Ty"])
            e.add_collision(sphere(self.chord / 2), f"face{k}")
            e.add_collision(sphere(1e-3).at(0, 0, v.elements.width / 2 - 1e-3 / math.cos(v.wedge)), f"flank{k}")
            e.add_collision(sphere(SADDLE).at(0, 0, LAYER), f"saddle{k}")
            self._moves(f"e{k}", place, t * self.speed * self.path.r_dr)

    def _ring(self, m: Model) -> None:
        N, path, length = self.count, self.path, self.link
        s = path.length / N * np.arange(N)
        corner = s + 0.5 * path.length / N
        kap = path.curvature(corner)
        above = SADDLE + self.variator.rings.offset
        w = above + (1 / np.where(kap > 0, kap, 1.0) + above) * (1 / np.cos(0.5 * kap * path.length / N) - 1)
        ends = path.points(corner, w)
        begins = np.roll(ends, 1, axis=0)
        _, mass = self.masses
        k_hinge = self.stiffness["hinge"]
        d_hinge = 2 * LOSS * math.sqrt(k_hinge * mass)
        links = []
        for k in range(N):
            link = m.body(
                f"link{k}",
                mass=mass,
                inertia=(0.0, mass * length**2 / 12, mass * length**2 / 12),
                shape=capsule(1.2e-3, length, axis="x", colour="#33383d"),
            )
            m.planar(f"l{k}", m.ground, link)
            for side in (0.0, 2 * above + SLOT):  # the element's ears hold the ring from outside: here the link has a second side
                link.add_collision(capsule(self.variator.rings.offset, length, axis="x").at(0, side, LAYER), f"ring{k}")
            links.append((link.frame("begin", position=(-length / 2, 0, 0)), link.frame("end", position=(length / 2, 0, 0))))
            t = (ends[k] - begins[k]) / np.hypot(*(ends[k] - begins[k]))
            self._moves(f"l{k}", 0.5 * (ends[k] + begins[k]), t * self.speed * path.r_dr)
            self._start[f"l{k}.angle"] = math.atan2(t[1], t[0])
            self._start[f"l{k}.angle_rate"] = float(path.curvature(s[k])) * self.speed * path.r_dr
        for k in range(N):
            stiff, lossy = (k_hinge, k_hinge, 0, 0, 0, 0), (d_hinge, d_hinge, 0, 0, 0, 0)
            m.bushing(f"hinge{k}", links[k][1], links[(k + 1) % N][0], stiff, lossy)

    def _pulleys(self, m: Model) -> None:
        v, path = self.variator, self.path
        slope, rim = math.tan(v.wedge), 0.5 * path.centres + max(path.r_dr, path.r_dn)
        for name, x, r, part in (("dr", 0.0, path.r_dr, v.pulleys[0]), ("dn", path.centres, path.r_dn, v.pulleys[1])):
            axle = m.body(f"{name}_axle", mass=2.0, inertia=(0.002,) * 3)
            m.prismatic(f"{name}_groove", m.ground.frame(name, position=(x, 0, 0)), axle, axis="z")
            drawn = cone(0.2 * part.hub, part.rim, part.rim * slope, axis="z", anchor="start", colour="#c9ced4")
            sheave = m.body(name, mass=1.0, inertia=(part.inertia / 3, part.inertia / 3, part.inertia / 2), shape=drawn)
            m.revolute(f"{name}_shaft", axle, sheave, axis="z")
            sheave.add_collision(cone(0.0, rim, rim * slope, axis="z", anchor="start"), f"sheave_{name}")
            self._start[f"{name}_groove.displacement"] = self._half_width(r, v.thrust)
            self._start[f"{name}_shaft.angle_rate"] = self.speed * path.r_dr / r
        held = self._half_width(path.r_dr, v.thrust) if self.groove is None else self.groove
        m.drive(m.joints["dr_shaft"], lambda t: self.speed * t)
        m.lock(m.joints["dr_groove"], held)
        for name in ("dr_groove.displacement", "dr_shaft.angle_rate"):
            del self._start[name]
        delay = v.pulleys[1].delay * 0.25 * v.elements.axial_stiffness * path.wraps[1] * path.r_dn / v.elements.thickness
        m.force(m.joints["dn_groove"], lambda z, rate, t: -v.thrust - delay * rate)
        m.force(m.joints["dn_shaft"], lambda phi, rate, t: -0.5 * self.torque * minimum(t / self.ramp, 1.0))

    def _contacts(self, m: Model) -> None:
        f, K, mass = self.variator.friction, self.stiffness, self.masses[0]
        faces, saddles, rings = m.shapes("face*"), m.shapes("saddle*"), m.shapes("ring*")
        flanks, sheaves = m.shapes("flank*"), m.shapes("sheave_*")
        D = 2 * LOSS * math.sqrt(K["push"] * mass)
        m.contact("push", faces, law=kelvin_voigt(K["push"], D))
        m.contact("flank", flanks, sheaves, law=kelvin_voigt(K["flank"], 0.0, friction=regularised(f.mu, f.v_eps)))
        m.contact("ring", saddles, rings, law=kelvin_voigt(K["push"], D, friction=regularised(f.ring_mu_c, f.ring_v_eps)))

    def simulate(self, t: float, step: float | None = None, outputs: int = 201) -> ElementRun:
        """From the belt laid on its path with all running, to a time."""
        s, h = self.system, self.step if step is None else step
        return ElementRun(self, s.simulate(dict(self._start), t=t, method="rk4", step=h, outputs=outputs))


@dataclass(frozen=True, eq=False)
class ElementRun:
    """A run of an element belt; numbers are those of the whole belt, means over the last ``part`` of the run."""

    belt: ElementBelt
    solution: Solution
    part: float = 0.3

    @cached_property
    def _late(self) -> slice:
        n = self.solution.t.size
        return slice(int((1 - self.part) * n), n)

    def _of(self, kind: str, *names: str) -> Array:
        return np.array([[self.solution[f"{kind}{k}.{name}"] for name in names] for k in range(self.belt.count)])

    @cached_property
    def elements(self) -> Array:
        """Places (x, y) of elements over time: (elements, 2, instants)."""
        return self._of("e", "x", "y")

    @cached_property
    def P(self) -> Array:
        """Force between an element and the next (N), negative in compression: (elements, instants)."""
        d = np.roll(self.elements, -1, axis=0) - self.elements
        rate = self._of("e", "x_rate", "y_rate")
        d_rate = np.roll(rate, -1, axis=0) - rate
        size = np.hypot(d[:, 0], d[:, 1])
        K, mass = self.belt.stiffness["push"], self.belt.masses[0]
        depth, closing = self.belt.chord - size, -(d * d_rate).sum(axis=1) / size
        force = np.maximum(K * depth + 2 * LOSS * math.sqrt(K * mass) * closing, 0.0)
        return np.where(depth > 0, -2 * force, 0.0)

    @cached_property
    def T(self) -> Array:
        """Tension of the ring (N) between a link and the next: (links, instants)."""
        x, y, angle = (self._of("l", name)[:, 0] for name in ("x", "y", "angle"))
        half = 0.5 * self.belt.link
        gap_x = np.roll(x - half * np.cos(angle), -1, axis=0) - (x + half * np.cos(angle))
        gap_y = np.roll(y - half * np.sin(angle), -1, axis=0) - (y + half * np.sin(angle))
        return np.asarray(2 * self.belt.stiffness["hinge"] * np.hypot(gap_x, gap_y))

    def _in_span(self, places: Array, upper: bool) -> Array:
        """Where in (bodies, 2, instants) a body is in the inner part of a span: t1 is the lower, t2 the upper one."""
        a = self.belt.path.centres
        x, y = places[:, 0], places[:, 1]
        return (x > ENDS * a) & (x < (1 - ENDS) * a) & ((y > 0) == upper)

    @cached_property
    def span_forces(self) -> dict[str, float]:
        """P and T of both spans (N)."""
        late, out = self._late, {}
        middles = 0.5 * (self.elements + np.roll(self.elements, -1, axis=0))[..., late]
        links = self._of("l", "x", "y")[..., late]
        for name, upper in (("t1", False), ("t2", True)):
            here, there = self._in_span(middles, upper), self._in_span(links, upper)
            out[f"P_{name}"] = float(self.P[:, late][here].mean())
            out[f"T_{name}"] = float(self.T[:, late][there].mean())
        return out

    @property
    def speed(self) -> tuple[float, float]:
        """ω_dr, ω_dn (rad/s)."""
        return self.belt.speed, float(self.solution["dn_shaft.angle_rate"][self._late].mean())

    @property
    def thrust(self) -> tuple[float, float]:
        """Q_dr, Q_dn (N)."""
        return tuple(float(self.solution[f"flank.{name}.Fz"][self._late].mean()) for name in ("dr", "dn"))  # type: ignore[return-value]

    @property
    def torques(self) -> tuple[float, float]:
        """M_dr of the driving pulley on the belt, M_dn of the belt on the driven pulley (N m)."""
        dr, dn = (float(self.solution[f"flank.{name}.Mz"][self._late].mean()) for name in ("dr", "dn"))
        return -2 * dr, 2 * dn

    @property
    def torque_ratio(self) -> float:
        """M/M* with M* of the smaller thrust."""
        v = self.belt.variator
        return self.torques[1] / largest_torque(self.belt.path.r_dn, min(self.thrust), v.friction.mu, v.wedge)

    def __repr__(self) -> str:
        f, (a, b), (x, y), (q, p) = self.span_forces, self.torques, self.speed, self.thrust
        return (
            f"{self.belt.count} elements, speed ratio {x / y:.4f}, torques {a:.2f} and {b:.2f} N m, thrusts {q:.0f} and {p:.0f} N; "
            f"spans: P {f['P_t1']:.0f} and {f['P_t2']:.0f} N, T {f['T_t1']:.0f} and {f['T_t2']:.0f} N"
        )


def element_belt(variator: Variator, torque: float | str = 0.0, speed: float | str = "2000 rpm", **options: Any) -> ElementBelt:
    """The belt of a variator element by element, under a torque on the driven shaft; ``.simulate(t)`` runs it."""
    load = quantity(torque, expects="N m") if isinstance(torque, str) else float(torque)
    omega = quantity(speed, expects="rad/s") if isinstance(speed, str) else float(speed)
    return ElementBelt(variator, torque=load, speed=omega, **options)


__all__ = ["ElementBelt", "ElementRun", "element_belt"]
