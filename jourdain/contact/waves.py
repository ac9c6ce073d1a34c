"""Fast model "waves": d'Alembert's waves in rods, Hertz's law where they touch (spec 05 eqs. 56–59)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import ceil
from typing import Any

import numpy as np
from scipy.interpolate import CubicSpline

from ..errors import InputError
from ..structures.parts.dofs import Array
from .bodies import Ball, FastBody, Rod
from .impact import MOST_CONTACTS, Impact, Motion, Pair, RigidMotion, contacts_of
from .marches import march_waves

#: Fewest steps of a round trip, so that the wave that comes back is smooth between them.
LEAST_STEPS = 400


@dataclass(frozen=True, eq=False)
class WaveMotion:
    """u = h(t − x/c) + r h(t − (2L − x)/c) of a rod that is struck at x = 0; `sense` −1: it strikes, and came with a speed."""

    rod: Rod
    step: float
    slope: Array  #: h′ at all steps
    quiet: float  #: from then on nothing touches
    sense: float
    speed: float

    @property
    def reflection(self) -> float:
        return 1.0 if self.rod.other_end == "free" else -1.0

    @cached_property
    def _spline(self) -> CubicSpline:
        return CubicSpline(self.step * np.arange(len(self.slope)), self.slope)

    @cached_property
    def _integral(self) -> Any:
        return self._spline.antiderivative()

    def _back(self, t: Array) -> tuple[Array, Array]:
        """Times within the record, and by how many round trips they are earlier."""
        T, end = self.rod.round_trip, self.step * (len(self.slope) - 1)
        if (t > end).any() and end < self.quiet + T:
            raise InputError(
                f"motion after {end:g} s: the run ended before the waves had returned once without contact; give a longer until="
            )
        trips = np.ceil(np.maximum(t - end, 0.0) / T)
        return t - trips * T, trips

    def _h1(self, t: Array) -> Array:
        back, trips = self._back(t)
        return np.where(t > 0, self._spline(back) * self.reflection**trips, 0.0)

    def _h(self, t: Array) -> Array:
        back, trips = self._back(t)
        found = self._integral(back)
        end = self.step * (len(self.slope) - 1)
        last, before = self._integral(end), self._integral(max(end - self.rod.round_trip, 0.0))
        later = found + trips * (last - before) if self.reflection > 0 else np.where(trips % 2, last + before - found, found)
        return np.where(t > 0, np.where(trips > 0, later, found), 0.0)

    def _ways(self, x: Any, t: Any) -> tuple[Array, Array]:
        x, t = np.asarray(x, float), np.asarray(t, float)
        if (x < 0).any() or (x > self.rod.length).any():
            raise InputError(f"rod: place {x[()]!r} m is outside of its length {self.rod.length:g} m")
        c = self.rod.speed_of_sound
        return np.asarray(t - x / c), np.asarray(t - (2 * self.rod.length - x) / c)

    def displacement(self, x: Any, t: Any) -> Array:
        out, home = self._ways(x, t)
        return self.speed * np.asarray(t) + self.sense * (self._h(out) + self.reflection * self._h(home))

    def velocity(self, x: Any, t: Any) -> Array:
        out, home = self._ways(x, t)
        return self.speed + self.sense * (self._h1(out) + self.reflection * self._h1(home))

    def strain(self, x: Any, t: Any) -> Array:
        """u_x = [−h′(t − x/c) + r h′(t − (2L − x)/c)]/c, tension positive."""
        out, home = self._ways(x, t)
        return (-self._h1(out) + self.reflection * self._h1(home)) / self.rod.speed_of_sound

    @property
    def energy(self) -> float:
        """Z ∫ h′² dt over the last round trip, less that of the rigid motion: what is in waves."""
        rod, end = self.rod, self.step * (len(self.slope) - 1)
        t = np.linspace(max(end - rod.round_trip, 0.0), end, 4 * len(self.slope) + 1)
        h1 = self._spline(t)
        whole = rod.impedance * float(np.trapezoid(h1 * h1, t))
        momentum = rod.impedance * float(np.trapezoid(h1, t))
        return whole - (0.5 * momentum**2 / rod.mass if self.reflection > 0 else 0.0)


def wave_body(body: FastBody, h: float) -> Array:
    """(mass, 0, 0, 0) of a rigid body; (0, 1/Z, round trip in steps, reflection) of a rod."""
    if isinstance(body, Rod):
        return np.array([0.0, 1 / body.impedance, body.round_trip / h, 1.0 if body.other_end == "free" else -1.0])
    return np.array([body.mass, 0.0, 0.0, 0.0])


def impact_by_waves(pair: Pair, steps: int, until: float | None) -> Impact:
    """Integrates the delay equations until the bodies parted and the waves came back once without touching."""
    for body in (pair.a, pair.b):
        if not isinstance(body, Ball | Rod):
            raise InputError(f"{body.name}: model='waves' is for rods and balls; take model='modes' or 'finite elements'")
        if body.viscosity and isinstance(body, Rod):
            raise InputError(
                f"rod: viscosity = {body.viscosity:g} s, but d'Alembert's waves are not damped; take model='modes', or viscosity=0 for the impact"
            )
    trips = [body.round_trip for body in (pair.a, pair.b) if isinstance(body, Rod)]
    slope = pair.law.largest_slope(1 / pair.mobility, pair.speed)
    yielding = sum(1 / body.impedance for body in (pair.a, pair.b) if isinstance(body, Rod))
    h = min([pair.rigid_duration / steps, *(trip / LEAST_STEPS for trip in trips), *([1 / (slope * yielding)] if trips else [])])
    quiet = max([2, *(ceil(trip / h) + 2 for trip in trips)])
    longest = until if until is not None else 20 * (pair.rigid_duration + max(trips, default=0.0))
    most = ceil(longest / h)
    a, b = wave_body(pair.a, h), wave_body(pair.b, h)
    room = min(most, 4 * ceil(pair.rigid_duration / h) + 2 * quiet)
    while True:  # most impacts are short: room for more only where it is needed
        h1_a, h1_b = (np.zeros(room + 4 if body[0] == 0 else 4) for body in (a, b))
        trace, rows = np.zeros((room + 1, 4)), np.zeros((MOST_CONTACTS, 3))
        law = np.array([pair.law.stiffness, pair.law.exponent, pair.law.damping])
        done, va, vb, impulse, number, touching = march_waves(law, a, b, float(pair.speed), h, room, quiet, h1_a, h1_b, trace, rows)
        if done < room or room == most:
            break
        room = min(most, 4 * room)
    trace = trace[: done + 1]
    contacts = contacts_of(rows, number)

    def motion(body: FastBody, h1: Array, x: Array, after: float, sense: float) -> Motion:
        before = pair.speed if sense < 0 else 0.0
        if isinstance(body, Rod):
            return WaveMotion(body, h, h1[: done + 1], contacts[-1].end, sense, before)
        return RigidMotion(trace[:, 0], x, before, after)

    first = motion(pair.a, h1_a, trace[:, 2], va, -1.0)
    second = motion(pair.b, h1_b, trace[:, 3], vb, 1.0)
    finished = not touching and done < most
    energy = sum(m.energy for m in (first, second) if isinstance(m, WaveMotion))
    return Impact(trace[:, 0], trace[:, 1], trace[:, 2] - trace[:, 3], contacts, impulse, energy, finished, done, first, second)
