"""Values between samples: cubic Hermite where a derivative is known, linear otherwise, hold for int and bool.

Cubic Hermite on [t0, t1], h = t1 − t0, s = (t − t0)/h (Hairer, Nørsett, Wanner: Solving ODEs I, II.6):
x = (1 + 2s)(1 − s)² x0 + s²(3 − 2s) x1 + h s(1 − s)² x0' − h s²(1 − s) x1', with error O(h⁴).
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from jourdain.errors import InputError, short
from jourdain.results.channel import Array

Side = Literal["left", "right"]


class Places:
    """Where times fall between samples: interval, fraction s ∈ [0, 1], and which times are sample times exactly."""

    def __init__(self, t: NDArray[np.float64], times: Array, side: Side = "right") -> None:
        if not isinstance(side, str) or side not in ("left", "right"):
            raise InputError(f"side {short(side)} is neither 'left' (before an event) nor 'right' (after it)")
        if t.size == 0:
            raise InputError("the solution has no samples, so it has no value at any time")
        self.times = np.atleast_1d(np.asarray(times, float))
        slack = 1e-12 * max(abs(t[0]), abs(t[-1]), t[-1] - t[0])
        outside = ~((self.times >= t[0] - slack) & (self.times <= t[-1] + slack))
        if outside.any():
            bad = float(self.times[outside].flat[0])
            span = f"[{t[0]:g}, {t[-1]:g}] s"
            raise InputError(f"time {bad:g} s is outside the solution's span {span}; nothing is extrapolated")
        self.times = np.clip(self.times, t[0], t[-1])
        if side == "right":
            before = np.searchsorted(t, self.times, "right") - 1
        else:
            before = np.searchsorted(t, self.times, "left")
            before = np.where(t[before] == self.times, before, before - 1)
        self.lower: NDArray[np.intp] = before
        self.exact: NDArray[np.bool_] = t[before] == self.times
        self.upper = np.where(self.exact, before, np.minimum(before + 1, t.size - 1))
        self.step = t[self.upper] - t[self.lower]
        self.fraction = np.where(self.exact, 0.0, (self.times - t[self.lower]) / np.where(self.exact, 1.0, self.step))


def hold(places: Places, x: Array) -> Array:
    """The last sample at or before each time; for states that jump (int, bool)."""
    return x[places.lower]


def linear(places: Places, x: Array) -> Array:
    """Straight line between samples, error O(h²)."""
    s = _beside(places.fraction, x)
    x0, x1 = x[places.lower], x[places.upper]
    return np.where(s == 0.0, x0, (1.0 - s) * x0 + s * x1)


def hermite(places: Places, x: Array, dx: Array) -> Array:
    """Cubic through values ``x`` with slopes ``dx`` (unit of x per second), error O(h⁴)."""
    s, h = _beside(places.fraction, x), _beside(places.step, x)
    x0, x1, d0, d1 = x[places.lower], x[places.upper], dx[places.lower], dx[places.upper]
    r = 1.0 - s
    cubic = (1.0 + 2.0 * s) * r * r * x0 + s * s * (3.0 - 2.0 * s) * x1 + h * s * r * (r * d0 - s * d1)
    return np.where(s == 0.0, x0, cubic)


def rotation(places: Places, R: Array) -> Array:
    """Rotation at constant rate between samples: R0 exp(s log(R0ᵀ R1)), error O(h²), orthogonal throughout."""
    from scipy.spatial.transform import Rotation

    start = Rotation.from_matrix(R[places.lower])
    turn = (start.inv() * Rotation.from_matrix(R[places.upper])).as_rotvec()
    turned = (start * Rotation.from_rotvec(places.fraction[:, None] * turn)).as_matrix()
    return np.where(places.exact[:, None, None], R[places.lower], turned)


def _beside(factor: Array, x: Array) -> Array:
    """``factor`` (n,) with trailing axes of length one, to multiply samples of the shape of ``x``."""
    return factor.reshape(factor.shape + (1,) * (x.ndim - 1))
