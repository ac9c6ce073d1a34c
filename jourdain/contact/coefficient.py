"""The coefficient of restitution from the fast scale: e = G Δp/v₀ − 1 with the impulse of all contacts (spec 05 eq. 55)."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ..errors import InputError, SolverError
from ..native.disk_cache import read_cache, write_cache
from ..shown import Shown
from ..structures.parts.dofs import Array
from ..symbolic import Expr, clip
from ..symbolic import log as symbolic_log
from ..symbolic.tables import Table, number_table
from .bodies import CUTOFF, FastBody, rigid
from .hertz_theory import hertz_stiffness
from .impact import Contact, Impact, Pair
from .laws import NormalForce

MODELS = ("rigid", "waves", "modes", "finite elements")
#: Changes when fast models change their numbers: tables kept on disk are then computed anew.
VERSION = 1
#: Points of a table to begin with, and most.
FIRST_POINTS, MOST_POINTS = 9, 129


@dataclass(frozen=True)
class Settings:
    """How an impact is computed; what a model does not look at must be left as it is."""

    model: str = "modes"
    modes: int | None = None
    cutoff: float = CUTOFF
    contact: str = "hertz"
    size: float | None = None
    penalty: float = 1.0
    steps: int = 4000
    until: float | None = None
    quiet: float | None = None

    #: Which options each model looks at.
    USED: ClassVar = {
        "rigid": ("steps",),
        "waves": ("steps", "until"),
        "modes": ("modes", "cutoff", "steps", "until"),
        "finite elements": ("contact", "size", "penalty", "until", "quiet"),
    }

    def __post_init__(self) -> None:
        if self.model not in MODELS:
            raise InputError(f"restitution: model '{self.model}' is unknown; there are {', '.join(MODELS)}")
        given = [f.name for f in fields(self) if f.name != "model" and getattr(self, f.name) != f.default]
        for name in given:
            if name not in self.USED[self.model]:
                users = " or ".join(f"'{m}'" for m in MODELS if name in self.USED[m])
                raise InputError(f"restitution: {name} = {getattr(self, name)!r} is not for model='{self.model}', but for {users}")
        for name, other in (("size", "hertz"), ("penalty", "penalty")):
            if name in given and self.contact != other:
                raise InputError(f"restitution: {name} = {getattr(self, name)!r} is for contact='{other}', not '{self.contact}'")
        for name in ("modes", "cutoff", "size", "penalty", "steps", "until", "quiet"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise InputError(f"restitution: {name} = {value!r} must be positive")


@dataclass(frozen=True, eq=False)
class Restitution(Shown):
    """What an impact on the fast scale means for rigid bodies."""

    pair: Pair
    settings: Settings
    history: Impact

    @property
    def value(self) -> float:
        """Poisson's coefficient e = G Δp/v₀ − 1 (55); it may be negative while the bodies would meet again."""
        return self.pair.mobility * self.history.impulse / self.pair.speed - 1

    def __float__(self) -> float:
        return self.value

    @property
    def speed(self) -> float:
        """v₀, m/s."""
        return self.pair.speed

    @property
    def impulse(self) -> float:
        """Δp of all contacts, N s."""
        return self.history.impulse

    @property
    def contacts(self) -> tuple[Contact, ...]:
        """Begin, end and impulse of each contact."""
        return self.history.contacts

    @property
    def duration(self) -> float:
        """From the first touch to the last, s."""
        return self.contacts[-1].end - self.contacts[0].begin

    @property
    def largest_force(self) -> float:
        """N."""
        return float(self.history.force.max())

    @property
    def energy_in_waves(self) -> float:
        """Energy left in waves and vibrations of both bodies (J), as the fast model has it in its bodies."""
        return self.history.energy

    @property
    def loss(self) -> float:
        """Share of the energy before that the rigid motion loses: (1 − e²) m₂/(m₁ + m₂)."""
        return (1 - self.value**2) / (self.pair.mobility * self.pair.a.effective_mass)

    @property
    def speeds(self) -> tuple[float, float]:
        """Velocities of both bodies afterwards, v₁ = v₀ − Δp/m₁ and v₂ = Δp/m₂, at the point of contact."""
        return self.speed - self.impulse / self.pair.a.effective_mass, self.impulse / self.pair.b.effective_mass

    def at(self, speed: float) -> Restitution:
        """The same bodies at another speed."""
        return computed(Pair(self.pair.a, self.pair.b, checked_speed(speed), self.pair.law), self.settings)

    def table(self, low: float, high: float, tolerance: float = 1e-4) -> RestitutionTable:
        """e(v) between two speeds (m/s), computed where needed, kept on disk, and interpolated; see :class:`RestitutionTable`."""
        return restitution_table(self.pair, self.settings, low, high, tolerance)

    def __str__(self) -> str:
        v1, v2 = self.speeds
        a, b = self.pair.a.name, self.pair.b.name
        number = f", {len(self.contacts)} contacts" if len(self.contacts) > 1 else ""
        return "\n".join([
            f"{a} at {self.speed:g} m/s on {b} by {self.settings.model}: e = {self.value:.4f}{number}",
            f"  impulse            {self.impulse:.6g} N s",
            f"  contact            {1e6 * self.duration:.4g} µs, at most {self.largest_force:.4g} N",
            f"  velocities after   {v1:.5g} and {v2:.5g} m/s",
            f"  energy in waves    {self.energy_in_waves:.4g} J, {100 * self.loss:.1f} % of the energy before",
            *([] if self.history.finished else ["  the bodies had not parted for good when the run ended: give a longer until="]),
        ])  # fmt: skip


def restitution(
    a: FastBody, b: FastBody, speed: float, model: str = "modes", *, law: NormalForce | None = None, hardening: float = 1.0, **options: Any
) -> Restitution:
    """The coefficient of restitution of two elastic bodies, from the waves and vibrations that the impact leaves in them.

    Args:
        a, b: bodies of :mod:`jd.contact`; `a` comes with a `speed` (m/s) along the line of impact, `b` waits.
        model: "waves" (d'Alembert, rods and balls), "modes" (any body), "finite elements", or "rigid" (no waves: e = 1 without damping).
        law: normal force; None takes Hertz's from materials and curvatures, its stiffness times `hardening`.
        options: modes= or cutoff= (Hz) of "modes"; contact="hertz" or "penalty", size= (m), penalty=, quiet= (s) of "finite elements"; steps= of a
            contact; until= (s).

    Example:
        >>> from jourdain import contact
        >>> rod = contact.rod(length=1.0, radius=0.01, E=70.5e9, density=2710.0)
        >>> e = restitution(contact.ball(0.015, E=210e9, nu=0.3, density=7780.0), rod, speed=0.3, model="waves")
        >>> round(e.value, 3)
        0.644
    """
    for body in (a, b):
        if not isinstance(body, FastBody):
            raise InputError(
                f"restitution: {body!r} is not a body of the fast scale; make one with jd.contact.rod(…), ball(…) or structure(…)"
            )
    unknown = [name for name in options if name not in Settings.__dataclass_fields__]
    if unknown:
        raise InputError(f"restitution: '{unknown[0]}' is unknown; there are {', '.join(Settings.__dataclass_fields__)}")
    if not (hardening > 0 and math.isfinite(hardening)):
        raise InputError(f"restitution: hardening = {hardening:g} must be positive; it multiplies Hertz's stiffness")
    given = law is not None or hardening != 1.0
    if law is None:
        law = NormalForce(hardening * hertz_stiffness(a, b))
    elif hardening != 1.0:
        raise InputError(f"restitution: hardening = {hardening:g} multiplies Hertz's stiffness, but a law is given; leave one of them out")
    settings = Settings(model, **options)
    if settings.contact == "penalty" and given:
        raise InputError("restitution: contact='penalty' needs no law: the surfaces are elements; leave law= and hardening= out")
    return computed(Pair(a, b, checked_speed(speed), law), settings)


def checked_speed(speed: float) -> float:
    if not (isinstance(speed, float | int | np.floating) and speed > 0 and math.isfinite(speed)):
        raise InputError(f"restitution: speed = {speed!r} must be a positive number of m/s, the speed at which the bodies approach")
    return float(speed)


def computed(pair: Pair, s: Settings, history: bool = True) -> Restitution:
    """Runs the fast model."""
    from .finite_elements import impact_by_elements
    from .modes import impact_by_modes
    from .waves import impact_by_waves

    if s.model == "rigid":
        found = impact_by_modes(pair, (rigid(pair.a.effective_mass), rigid(pair.b.effective_mass)), s.steps, None)
    elif s.model == "waves":
        found = impact_by_waves(pair, s.steps, s.until)
    elif s.model == "modes":
        bodies = pair.a.modal(s.modes, s.cutoff), pair.b.modal(s.modes, s.cutoff)
        found = impact_by_modes(pair, bodies, s.steps, s.until, history)
    else:
        found = impact_by_elements(pair, s.until, s.contact, s.size, s.penalty, s.quiet)
    if not found.finished and s.until is None:
        raise SolverError(
            f"restitution: '{pair.a.name}' and '{pair.b.name}' did not part for good within {found.time[-1]:.3g} s; give until= to take the contacts up to then"
        )
    return Restitution(pair, s, found)


# -- tables ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class RestitutionTable:
    """e(v) by a spline over ln v: of numbers and arrays, and of symbols in laws and events; outside of the range the end values hold.

    `error` is the largest difference seen between a computed value and the spline through its neighbours.
    """

    speed: Array
    value: Array
    impulse: Array
    duration: Array
    error: float

    @cached_property
    def spline(self) -> Table:
        return number_table(np.log(self.speed), self.value, name="restitution")

    def __call__(self, v: Any) -> Any:
        low, high = float(self.speed[0]), float(self.speed[-1])  # what rests or leaves has no logarithm
        if isinstance(v, Expr):
            return self.spline(symbolic_log(clip(v, low, high)))
        return self.spline.value((0,), np.log(np.clip(np.asarray(v, float), low, high)))[()]

    def rows(self) -> Iterable[tuple[float, float, float, float]]:
        """Speed (m/s), e, impulse (N s), duration (s)."""
        return zip(*(map(float, x) for x in (self.speed, self.value, self.impulse, self.duration)), strict=True)


def _kept_table(text: bytes) -> RestitutionTable | None:
    """A table as it is kept; None for what is none."""
    try:
        content = json.loads(text)
        rows = np.array([content[k] for k in ("speed", "value", "impulse", "duration")], float)
        if rows.ndim == 2 and rows.shape[1] > FIRST_POINTS and np.isfinite(rows).all() and (np.diff(rows[0]) > 0).all():
            speed, value, impulse, duration = rows
            return RestitutionTable(speed, value, impulse, duration, float(content["error"]))
    except (ValueError, TypeError, KeyError, RecursionError):
        pass
    return None


def restitution_table(pair: Pair, settings: Settings, low: float, high: float, tolerance: float) -> RestitutionTable:
    """Computes at 2ᵏ + 1 speeds until the values between agree with the spline, or takes what is kept of the same question."""
    low, high = checked_speed(low), checked_speed(high)
    if not low < high:
        raise InputError(f"table: speeds {low:g} and {high:g} m/s must increase")
    if not tolerance > 0:
        raise InputError(f"table: tolerance = {tolerance:g} must be positive")
    question = repr((VERSION, pair.a.key, pair.b.key, pair.law, settings, low, high, tolerance))
    key = hashlib.sha256(question.encode()).hexdigest()
    kept = read_cache(key, ".json")
    if kept is not None and (found := _kept_table(kept)) is not None:
        return found

    def row(v: float) -> tuple[float, float, float]:
        found = computed(Pair(pair.a, pair.b, float(v), pair.law), settings, history=False)
        return found.value, found.impulse, found.duration

    speeds = np.geomspace(low, high, FIRST_POINTS)
    rows = np.array([row(v) for v in speeds])
    while True:
        between = np.sqrt(speeds[1:] * speeds[:-1])
        coarse = number_table(np.log(speeds), rows[:, 0])
        new = np.array([row(v) for v in between])
        error = float(np.abs(coarse.value((0,), np.log(between)) - new[:, 0]).max())
        order = np.argsort(np.concatenate([speeds, between]))
        speeds, rows = np.concatenate([speeds, between])[order], np.concatenate([rows, new])[order]
        if error < tolerance or len(speeds) >= MOST_POINTS:
            break
    found = RestitutionTable(speeds, rows[:, 0], rows[:, 1], rows[:, 2], error)
    text = {
        "speed": speeds.tolist(),
        "value": rows[:, 0].tolist(),
        "impulse": rows[:, 1].tolist(),
        "duration": rows[:, 2].tolist(),
        "error": error,
    }
    write_cache(key, ".json", json.dumps(text).encode())
    return found
