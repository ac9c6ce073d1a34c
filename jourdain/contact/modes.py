"""Fast model "modes": rigid motion and elastic modes, the contact law where they touch (spec 05 eqs. 60–63)."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np

from ..errors import InputError
from ..structures.parts.dofs import Array
from .bodies import Modal
from .impact import MOST_CONTACTS, Impact, Pair, contacts_of
from .marches import march_modes, sample_modes

#: Largest angle (rad) that the fastest mode turns in a step.
LARGEST_TURN = 0.3
#: Rows of the history in a period of the fastest mode, and most numbers that are kept of it.
ROWS_A_PERIOD = 16
MOST_KEPT = 4_000_000


def free_motion(square: Array, sigma: Array, h: float | Array) -> Array:
    """(4, n): the exact motion of q̈ + 2σq̇ + ω²q = 0 in a time h, (q, q̇) → (f₀ q + f₁ q̇, f₂ q + f₃ q̇)."""
    difference = square - sigma**2
    turn = np.sqrt(difference + (0j if (difference < 0).any() else 0.0))  # overdamped ones creep: sines of imaginary angles
    small = np.abs(turn * h) < 1e-8
    sine = np.where(small, h, np.sin(turn * h) / np.where(small, 1.0, turn)).real * np.exp(-sigma * h)
    cosine = np.cos(turn * h).real * np.exp(-sigma * h)
    return np.stack([cosine + sigma * sine, sine, -square * sine, cosine - sigma * sine])


def between_rows(rows: tuple[Array, Array, Array], t: Array) -> tuple[Array, Array]:
    """Coordinates and rates (k, n) at times t, by cubics through rows (times, coordinates, rates)."""
    time, q, v = rows
    i = np.clip(np.searchsorted(time, t, side="right") - 1, 0, len(time) - 2)
    h = (time[i + 1] - time[i])[:, None]
    x = (t[:, None] - time[i][:, None]) / h
    a, b, da, db = q[i], q[i + 1], h * v[i], h * v[i + 1]
    c, d = 3 * (b - a) - 2 * da - db, 2 * (a - b) + da + db
    return a + x * (da + x * (c + x * d)), (da + x * (2 * c + 3 * x * d)) / h


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Rigid motions and modes of two bodies in a row: q̈ᵢ + 2σᵢq̇ᵢ + ωᵢ²qᵢ = −sᵢ F, δ = Σ sᵢ qᵢ."""

    s: Array
    square: Array
    sigma: Array
    split: int  #: where the coordinates of b begin

    @classmethod
    def of(cls, a: Modal, b: Modal) -> Coordinates:
        """Of free bodies."""
        square = np.concatenate([[0.0], a.omega**2, [0.0], b.omega**2])
        sigma = np.concatenate([[0.0], a.xi * a.omega, [0.0], b.xi * b.omega])
        return cls(np.concatenate([a.pulled, -b.pulled]), square, sigma, 1 + len(a.omega))

    @property
    def elastic(self) -> Array:
        """Which are modes, not rigid motions."""
        found = np.ones(len(self.s), dtype=bool)
        found[[0, self.split]] = False
        return found


@dataclass(frozen=True, eq=False)
class ModalMotion:
    """u = x₁ + Σ φᵢ qᵢ (60) of one of the bodies: kept rows during the impact, exact free vibration after it."""

    modal: Modal
    sense: float  #: −1 of the body that strikes: strains are counted along its own axis
    time: Array
    q: Array
    v: Array
    square: Array
    sigma: Array
    end: tuple[float, Array, Array]

    def coordinates(self, t: Any) -> tuple[Array, Array]:
        """Coordinates and their rates (k, n) at times (k,)."""
        t = np.atleast_1d(np.asarray(t, float))
        last, q_end, v_end = self.end
        flow = free_motion(self.square, self.sigma, np.maximum(t - last, 0.0)[:, None])
        free = flow[0] * q_end + flow[1] * v_end, flow[2] * q_end + flow[3] * v_end
        if (t >= last).all():
            return free
        place, rate = between_rows((self.time, self.q, self.v), np.minimum(t, last))
        after = (t >= last)[:, None]
        return np.where(after, free[0], place), np.where(after, free[1], rate)

    def _sum(self, shapes: Any, rigid: float, x: Any, t: Any, rates: bool) -> Array:
        t = np.asarray(t, float)
        q = self.coordinates(t.ravel())[1 if rates else 0]
        found = rigid * q[:, :1] / np.sqrt(self.modal.mass) + q[:, 1:] @ shapes(x).T
        return found.reshape(*t.shape, -1)[..., 0] if np.ndim(x) == 0 or found.shape[1] == 1 else found.reshape(*t.shape, -1)

    def sampled_velocity(self, x: Any, rate: float, count: int) -> Array:
        """The velocity of a place at `count` times k/rate: from kept rows, then by native recursion."""
        t = np.arange(count) / rate
        first = int(np.searchsorted(t, self.end[0]))
        found = np.zeros((1, count))
        found[0, :first] = self.velocity(x, t[:first]) if first else 0.0
        if first < count:
            last, q, v = self.end
            start = free_motion(self.square, self.sigma, t[first] - last - 1 / rate)
            row = np.concatenate([[1 / np.sqrt(self.modal.mass)], self.modal.shapes(x)[0]])
            out = np.zeros((1, count - first))
            flow = free_motion(self.square, self.sigma, 1 / rate)
            shapes = np.concatenate([np.zeros(len(row)), row])[None]
            sample_modes(start[0] * q + start[1] * v, start[2] * q + start[3] * v, flow, shapes, count - first, out)
            found[0, first:] = out[0]
        return found[0]

    def displacement(self, x: Any, t: Any) -> Array:
        return self._sum(self.modal.shapes, 1.0, x, t, False)

    def velocity(self, x: Any, t: Any) -> Array:
        return self._sum(self.modal.shapes, 1.0, x, t, True)

    def strain(self, x: Any, t: Any) -> Array:
        if self.modal.strains is None:
            raise InputError("strain: modes of this body give displacements and velocities only; strains are known of rods")
        return self.sense * self._sum(self.modal.strains, 0.0, x, t, False)


def impact_by_modes(pair: Pair, bodies: tuple[Modal, Modal], steps: int, until: float | None, history: bool = True) -> Impact:
    """Integrates rigid motions and modes until the bodies stayed apart for a period of the slowest mode."""
    c = Coordinates.of(*bodies)
    omega = np.sqrt(c.square[c.elastic])
    fastest, slowest = omega.max(initial=0.0), omega.min(initial=np.inf)
    h = min(pair.rigid_duration / steps, LARGEST_TURN / fastest if fastest else np.inf)
    quiet = ceil(2 * np.pi / slowest / h) if len(omega) else 2
    longest = until if until is not None else 50 * (pair.rigid_duration + quiet * h)
    most = ceil(longest / h)
    expected = min(most, ceil(6 * pair.rigid_duration / h) + 2 * quiet)
    stride = max(1, int(2 * np.pi / fastest / h / ROWS_A_PERIOD)) if fastest else 1
    columns = len(c.s) if history else 0
    stride = max(stride, ceil(expected * max(columns, 1) / MOST_KEPT)) if history else most + 1
    rows = 4 * (expected // stride) + 4
    law = np.array([pair.law.stiffness, pair.law.exponent, pair.law.damping])
    flow = free_motion(c.square, c.sigma, h)
    while True:
        q, v = np.zeros(len(c.s)), np.zeros(len(c.s))
        v[0] = pair.speed * np.sqrt(bodies[0].mass)
        trace, kept_q, kept_v = np.zeros((rows, 3)), np.zeros((rows, columns)), np.zeros((rows, columns))
        contacts = np.zeros((MOST_CONTACTS, 3))
        done, kept, number, touching = march_modes(q, v, c.s, flow, law, 0.0, h, most, quiet, stride, trace, kept_q, kept_v, contacts)
        if kept < rows or trace[-1, 0] >= done * h:
            break
        stride *= 4  # a long impact: fewer rows of it
    found = contacts_of(contacts, number)
    energy = 0.5 * float((v[c.elastic] ** 2 + c.square[c.elastic] * q[c.elastic] ** 2).sum())
    trace, end = trace[:kept], done * h

    def motion(modal: Modal, part: slice, sense: float) -> ModalMotion:
        time = trace[:, 0]
        return ModalMotion(
            modal, sense, time, kept_q[:kept, part], kept_v[:kept, part], c.square[part], c.sigma[part], (end, q[part], v[part])
        )

    first, second = motion(bodies[0], slice(0, c.split), -1.0), motion(bodies[1], slice(c.split, None), 1.0)
    impulse = float(sum(x.impulse for x in found))
    finished = not touching and done < most
    return Impact(trace[:, 0], trace[:, 1], trace[:, 2], found, impulse, energy, finished, done, first, second)
