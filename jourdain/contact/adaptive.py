"""One run over all scales of time: all modes while bodies touch, fewer and fewer afterwards, at last rigid bodies (spec 05, 3.4 and 3.5)."""

from __future__ import annotations

import time as clock
from dataclasses import dataclass, field
from functools import cached_property
from math import ceil, inf
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from ..errors import InputError
from ..structures.parts.dofs import Array
from .bodies import CUTOFF, GRAVITY, FastBody, Modal
from .bounds import MARGIN
from .coefficient import checked_speed
from .hertz_theory import hertz_stiffness
from .impact import MOST_CONTACTS, Contact, Pair, contacts_of
from .laws import NormalForce
from .marches import fly_modes, march_modes, sample_modes
from .modes import LARGEST_TURN, ROWS_A_PERIOD, between_rows, free_motion

#: Samples in a period of the fastest active coordinate: gaps are watched, and work is counted, at these steps.
SAMPLES = 20


@dataclass(eq=False)
class Phase:
    """A part of the run with one set of active coordinates: while bodies touch ("contact"), or free."""

    kind: str
    begin: float
    end: float
    active: NDArray[np.int64]
    q: Array  #: at the begin, of the active coordinates
    v: Array
    step: float
    steps: int
    cpu: float
    rows: tuple[Array, Array, Array] | None = field(default=None, repr=False)  #: times, q, v of a contact


def decay(square: Array, sigma: Array) -> Array:
    """μ of q̈ + 2σq̇ + ω²q = 0: σ, or σ − √(σ² − ω²) where it creeps (15), a little less since K′ would be zero."""
    creeping = square / np.maximum(sigma + np.sqrt(np.maximum(sigma**2 - square, 0.0)), 1e-300)
    return np.where(sigma**2 < square, sigma, creeping * (1 - MARGIN))


def amplitude(q: Array, v: Array, square: Array, sigma: Array) -> Array:
    """The exact envelope at t = 0: √(2 E₀*/K′) of one coordinate, (19)."""
    mu = decay(square, sigma)
    stiffness = np.maximum(square - 2 * mu * sigma + mu**2, 1e-300)
    energy = 0.5 * (v + mu * q) ** 2 + 0.5 * stiffness * q**2
    return np.sqrt(2 * energy / stiffness)


class AdaptiveRun:
    """The motion of two bodies after a blow, over seconds.

    `phases` tell what was active when, with steps and times of computing; `active(t)` is N(t), the number of modes; `deletions` has the time at
    which each mode was dropped last.  Motions are found at any place and time from the phases.
    """

    def __init__(self, a: FastBody, b: FastBody, modals: tuple[Modal, Modal], square: Array, sigma: Array) -> None:
        self.a, self.b, self.modals = a, b, modals
        self.square, self.sigma = square, sigma
        self.split = 1 + len(modals[0].omega)
        self.s = np.concatenate([modals[0].pulled, -modals[1].pulled])
        self.rigid = np.array([0, self.split])
        self.phases: list[Phase] = []
        self.contacts: list[Contact] = []
        self.deletions: dict[int, float] = {}

    @cached_property
    def _starts(self) -> Array:
        return np.array([p.begin for p in self.phases])

    def active(self, t: Any) -> NDArray[np.int64]:
        """N(t): active modes of both bodies."""
        counts = np.array([len(p.active) - len(np.intersect1d(p.active, self.rigid)) for p in self.phases])
        return counts[np.clip(np.searchsorted(self._starts, np.asarray(t, float), side="right") - 1, 0, None)]

    @property
    def work(self) -> float:
        """Σ active modes × steps: what the right-hand sides of the run cost."""
        return float(sum((len(p.active)) * p.steps for p in self.phases))

    @property
    def cpu(self) -> float:
        """Time of computing, s."""
        return sum(p.cpu for p in self.phases)

    def coordinates(self, t: Any) -> tuple[Array, Array]:
        """All coordinates and rates (k, n) at times (k,); dropped ones are zero."""
        time = np.atleast_1d(np.asarray(t, float))
        q, v = np.zeros((len(time), len(self.s))), np.zeros((len(time), len(self.s)))
        which = np.clip(np.searchsorted(self._starts, time, side="right") - 1, 0, None)
        for k in np.unique(which).tolist():
            p, here = self.phases[k], np.flatnonzero(which == k)
            if p.rows is not None:
                q[np.ix_(here, p.active)], v[np.ix_(here, p.active)] = between_rows(p.rows, time[here])
                continue
            flow = free_motion(self.square[p.active], self.sigma[p.active], (time[here] - p.begin)[:, None])
            q[np.ix_(here, p.active)], v[np.ix_(here, p.active)] = flow[0] * p.q + flow[1] * p.v, flow[2] * p.q + flow[3] * p.v
        return q, v

    def _of(self, body: str) -> tuple[Modal, slice]:
        if body not in ("a", "b"):
            raise InputError(f"adaptive run: body = {body!r} is unknown; it is 'a', which came, or 'b', which waited")
        return (self.modals[0], slice(0, self.split)) if body == "a" else (self.modals[1], slice(self.split, None))

    def _signal(self, x: Any, t: Any, body: str, what: str) -> Array:
        modal, part = self._of(body)
        time = np.asarray(t, float)
        row = signal_row(modal, x, what)
        found = np.empty(time.size)
        for piece in range(0, time.size, 4096):  # a long signal has many modes at its begin only
            q, v = self.coordinates(time.ravel()[piece : piece + 4096])
            found[piece : piece + 4096] = (v if what == "velocity" else q)[:, part] @ row
        return found.reshape(time.shape)

    def displacement(self, x: Any, t: Any, body: str = "b") -> Array:
        return self._signal(x, t, body, "displacement")

    def velocity(self, x: Any, t: Any, body: str = "b") -> Array:
        return self._signal(x, t, body, "velocity")

    def strain(self, x: Any, t: Any, body: str = "b") -> Array:
        return self._signal(x, t, body, "strain")

    def sampled(self, x: Any, rate: float | None = None, what: str = "velocity", body: str = "b") -> tuple[Array, Array]:
        """Times and a signal over the whole run by native recursion, active modes alone: at a rate (Hz), or at the steps of the phases."""
        modal, part = self._of(body)
        row = np.zeros(len(self.s))
        row[part] = signal_row(modal, x, what)
        count = 0 if rate is None else int(self.phases[-1].end * rate) + 1
        times: list[Array] = []
        found: list[Array] = []
        for k, p in enumerate(self.phases):
            if rate is None:
                t = np.asarray(p.begin + p.step * np.arange(p.steps), float)
            else:
                last = count if k == len(self.phases) - 1 else ceil(self.phases[k + 1].begin * rate)
                t = np.asarray(np.arange(ceil(p.begin * rate), last) / rate, float)
            if len(t):
                times.append(t)
                found.append(self._sampled(p, t, 1 / rate if rate else p.step, row[p.active], what == "velocity"))
        return np.concatenate(times), np.concatenate(found)

    def _sampled(self, p: Phase, t: Array, step: float, row: Array, rates: bool) -> Array:
        """A signal at equal steps within a phase."""
        if p.rows is not None:
            return between_rows(p.rows, t)[int(rates)] @ row
        square, sigma = self.square[p.active], self.sigma[p.active]
        start = free_motion(square, sigma, t[0] - p.begin - step)
        q, v = start[0] * p.q + start[1] * p.v, start[2] * p.q + start[3] * p.v
        nothing = np.zeros(len(row))
        out = np.zeros((1, len(t)))
        shapes = np.concatenate([nothing, row] if rates else [row, nothing])[None]
        sample_modes(q, v, free_motion(square, sigma, step), shapes, len(t), out)
        return out[0]


def signal_row(modal: Modal, x: Any, what: str) -> Array:
    """How a signal at a place follows the coordinates of a body."""
    if what not in ("displacement", "velocity", "strain"):
        raise InputError(f"signal {what!r} is unknown; there are displacement, velocity and strain")
    if what == "strain":
        if modal.strains is None:
            raise InputError("strain: modes of this body give displacements and velocities only; strains are known of rods")
        return np.concatenate([[0.0], modal.strains(x)[0]])
    return np.concatenate([[1 / np.sqrt(modal.mass)], modal.shapes(x)[0]])


def pendulum(body: FastBody) -> tuple[float, float]:
    """ω² = g/l and σ = d₁/2m of the swing (34); a body without wires is free."""
    return (0.0 if body.suspension is None else GRAVITY / body.suspension), 0.5 * body.drag / body.mass


def strike(
    a: FastBody,
    b: FastBody,
    speed: float,
    until: float,
    *,
    modes: int | None = None,
    cutoff: float = CUTOFF,
    relative: float | None = 1e-3,
    absolute: float | None = None,
    stopped: bool = True,
    law: NormalForce | None = None,
    steps: int = 4000,
) -> AdaptiveRun:
    """A blow and what follows for seconds, each mode dropped when its response bound says that it stays small for ever.

    Args:
        a, b: bodies, hung on pendulums where they have a `suspension`; `a` comes with a speed (m/s).
        until: end of the run, s.
        modes, cutoff: elastic coordinates N₀ at contact (see :func:`restitution`).
        relative: drop a mode when e^{−μt} ≤ `relative`/N₀ (47): the sum of all that is dropped stays below `relative` of its size at the end of
            contact.  None keeps all modes.
        absolute: drop it when its displacement at the point of contact stays below this (m) instead.
        stopped: `a` is caught after its rebound; else it may strike again, for which all modes wake.

    Example:
        >>> from jourdain import contact
        >>> rod = contact.rod(1.0, 0.01, E=71.08e9, density=2710.0, viscosity=3.6914e-8, suspension=0.2, drag=0.162)
        >>> run = strike(contact.ball(0.015, E=210e9, nu=0.3, density=7780.0), rod, speed=0.28, until=1.0, modes=100)
        >>> run.active([0.0001, 0.2]).tolist()
        [100, 3]
    """
    if not (until > 0 and np.isfinite(until)):
        raise InputError(f"strike: until = {until!r} s must be positive")
    for name, value in (("relative", relative), ("absolute", absolute)):
        if value is not None and not value > 0:
            raise InputError(f"strike: {name} = {value:g} must be positive; None does not look at it")
    if absolute is not None:
        relative = None
    chosen = law or NormalForce(hertz_stiffness(a, b))
    pair = Pair(a, b, checked_speed(speed), chosen)
    modals = a.modal(modes, cutoff), b.modal(modes, cutoff)
    (w1, d1), (w2, d2) = pendulum(a), pendulum(b)
    square = np.concatenate([[w1], modals[0].omega ** 2, [w2], modals[1].omega ** 2])
    sigma = np.concatenate([[d1], modals[0].xi * modals[0].omega, [d2], modals[1].xi * modals[1].omega])
    run = AdaptiveRun(a, b, modals, square, sigma)
    q, v = np.zeros(len(run.s)), np.zeros(len(run.s))
    v[0] = pair.speed * np.sqrt(modals[0].mass)
    t = 0.0
    while t < until:
        t, q, v = touch(run, pair, t, q, v, steps)
        if stopped:
            q[: run.split], v[: run.split] = 0.0, 0.0
        t, q, v = rest(run, t, until, q, v, relative, absolute, watch=not stopped)
    return run


def touch(run: AdaptiveRun, pair: Pair, t: float, q: Array, v: Array, steps: int) -> tuple[float, Array, Array]:
    """All modes from here to the end of the contact."""
    begun = clock.perf_counter()
    fastest = np.sqrt(run.square.max(initial=0.0))
    h = min(pair.rigid_duration / steps, LARGEST_TURN / fastest if fastest else inf)
    stride = max(1, int(2 * np.pi / fastest / h / ROWS_A_PERIOD)) if fastest else 1
    most = ceil(40 * pair.rigid_duration / h)
    room = most // stride + 2
    trace, rows = np.zeros((room, 3)), np.zeros((MOST_CONTACTS, 3))
    kept = np.zeros((room, len(q))), np.zeros((room, len(q)))
    law = np.array([pair.law.stiffness, pair.law.exponent, pair.law.damping])
    start = q.copy(), v.copy()
    done, count, number, touching = march_modes(
        q, v, run.s, free_motion(run.square, run.sigma, h), law, t, h, most, 2, stride, trace, *kept, rows
    )
    if touching:
        raise InputError(f"strike: the bodies still touched {most * h:g} s after {t:g} s; a law with less damping lets them part")
    end = t + done * h
    record = trace[:count, 0], kept[0][:count].copy(), kept[1][:count].copy()
    run.phases.append(Phase("contact", t, end, np.arange(len(q)), *start, h, done, clock.perf_counter() - begun, record))
    run.contacts += contacts_of(rows, number)
    return end, q, v


def meeting(run: AdaptiveRun, active: NDArray[np.int64], q: Array, v: Array, h: float) -> tuple[float, Array, Array]:
    """When within a step the gap closes, and the coordinates then."""
    s = run.s[active]
    late = 0.0 if s @ q >= 0 else float(brentq(lambda tau: s @ moved(run, active, q, v, tau)[0], 0.0, h, xtol=1e-15))
    return late, *moved(run, active, q, v, late)


def moved(run: AdaptiveRun, active: NDArray[np.int64], q: Array, v: Array, t: float) -> tuple[Array, Array]:
    """Free coordinates after a time."""
    flow = free_motion(run.square[active], run.sigma[active], t)
    return flow[0] * q + flow[1] * v, flow[2] * q + flow[3] * v


def leaving(run: AdaptiveRun, q: Array, v: Array, relative: float | None, absolute: float | None) -> tuple[NDArray[np.int64], Array]:
    """Modes that move, and after which time each may be dropped (infinity: never)."""
    elastic = np.setdiff1d(np.arange(len(q)), run.rigid)
    moving = elastic[(q[elastic] != 0) | (v[elastic] != 0)]
    mu = decay(run.square[moving], run.sigma[moving])
    with np.errstate(divide="ignore"):
        if absolute is not None:
            size = np.abs(run.s[moving]) * amplitude(q[moving], v[moving], run.square[moving], run.sigma[moving])
            return moving, np.where(size <= absolute, 0.0, np.log(np.maximum(size, 1e-300) / absolute) / mu)
        if relative is not None:
            return moving, np.log(len(elastic) / relative) / mu
    return moving, np.full(len(moving), inf)


def rest(
    run: AdaptiveRun, t: float, until: float, q: Array, v: Array, relative: float | None, absolute: float | None, watch: bool
) -> tuple[float, Array, Array]:
    """From the end of a contact to the next one, or to the end of the run, dropping modes on the way."""
    moving, leave = leaving(run, q, v, relative, absolute)
    run.deletions.update({int(i): t + float(x) for i, x in zip(moving, leave, strict=True) if np.isfinite(x)})
    start = t
    for cut in np.unique(np.append(leave[start + leave < until], until - start)):
        end = start + float(cut)
        begun = clock.perf_counter()
        active = np.union1d(run.rigid, moving[leave >= cut])
        fastest = np.sqrt(run.square[active].max(initial=0.0))
        length = end - t
        if length > 0:
            steps = max(ceil(length * fastest * SAMPLES / (2 * np.pi)), 1)
            h = length / steps
            x, y, flown, now = q[active].copy(), v[active].copy(), steps, end
            if watch:
                flown = fly_modes(x, y, run.s[active], free_motion(run.square[active], run.sigma[active], h), steps)
            else:
                x, y = moved(run, active, x, y, length)
            if flown < steps:
                late, x, y = meeting(run, active, x, y, h)
                now = t + flown * h + late
            run.phases.append(Phase("free", t, now, active, q[active].copy(), v[active].copy(), h, flown, clock.perf_counter() - begun))
            q, v = np.zeros(len(q)), np.zeros(len(v))
            q[active], v[active] = x, y
            t = now
            if flown < steps:
                return t, q, v
        gone = moving[leave <= cut]
        q[gone], v[gone] = 0.0, 0.0
    return until, q, v
