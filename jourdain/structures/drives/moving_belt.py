"""Transversal motion of a belt that is stretched, bent and moves along itself (Bullinger, Funk & Pfeiffer, (14)–(21)).

T = m̄/2 ∫ (ẇ + v w′)² + (1 + κ w)² v² ds and V = ½ ∫ F (w′² + 2 κ w) ds + bending, with w = w̄ᵀ q outwards from a reference line of curvature κ:

    M q̈ + D q̇ + C q + b = Q.

Bending in second order is ½ EI ∫ (κ − κ² w − w″)² ds ("first_order", which never has a negative stiffness), ½ EI ∫ κ_exact² along the
reference line ("printed", the source's (20)), or along the deformed line ("arc_length").
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike, NDArray

from ...errors import InputError
from .splines import Array, Basis, quadrature

#: EI times: κ⁴ w̄w̄, w̄″w̄″, κ² w̄′w̄′, κ² (w̄w̄″ + w̄″w̄) of C, then κ³ w̄ and κ w̄″ of b.
BENDING = {
    "first_order": (1.0, 1.0, 0.0, 1.0, -1.0, -1.0),
    "printed": (3.0, 1.0, 1.0, 3.0, -1.0, -1.0),
    "arc_length": (1.0, 1.0, 1.5, 2.0, -0.5, -1.0),
}
#: Frequencies up to here (Hz) are of technical interest.
LIMIT = 1000.0


@dataclass(frozen=True)
class MovingBelt:
    """Integrals of the shape functions, found once; matrices for a tension F and a speed v follow from them.

    Args:
        mass: per length m̄ (kg/m). EI: bending stiffness (N m²).
    """

    mass: float
    EI: float
    bending: str
    ww: Array
    slope: Array  #: ∫ w̄′w̄′
    gyroscopic: Array  #: ∫ w̄w̄′ − w̄′w̄
    curved: Array  #: ∫ κ² w̄w̄
    outward: Array  #: ∫ κ w̄
    bent: Array  #: C of bending
    unbending: Array  #: b of bending

    @property
    def M(self) -> Array:
        """(18)"""
        return self.mass * self.ww

    def D(self, v: float) -> Array:
        """(19), skew-symmetric."""
        return self.mass * v * self.gyroscopic

    def C(self, F: float, v: float) -> Array:
        """(20)"""
        return self.bent + (F - self.mass * v * v) * self.slope - self.mass * v * v * self.curved

    def b(self, F: float, v: float) -> Array:
        """(21)"""
        return self.unbending + (F - self.mass * v * v) * self.outward

    def frequencies(self, F: float, v: float = 0.0, held: Array | float = 0.0) -> Array:
        """Natural frequencies (Hz) of the moving belt, ascending; `held` is stiffness by contacts added to C."""
        n = self.ww.shape[0]
        M, D, C = self.M, self.D(v), self.C(F, v) + held
        state = np.block([[np.zeros((n, n)), np.eye(n)], [-np.linalg.solve(M, np.hstack([C, D]))]])
        values = np.linalg.eigvals(state)
        found = np.sort(np.abs(values.imag))[::2]
        return np.asarray(found / (2 * math.pi))

    def own_frequencies(self, F: float, v: float = 0.0, held: Array | float = 0.0) -> Array:
        """√(C_kk/M_kk)/2π (Hz) of every function by itself, on which the frequency cut decides."""
        C = np.diag(self.C(F, v) + held)
        return np.sqrt(np.maximum(C, 0.0) / np.diag(self.M)) / (2 * math.pi)

    def faster(self, mass: float) -> MovingBelt:
        """The same belt with another mass per length."""
        return replace(self, mass=mass)


def moving_belt(
    basis: Basis, mass: float, EI: float = 0.0, curvature: Callable[[Array], Array] | float = 0.0, bending: str = "first_order",
    borders: ArrayLike = (),
) -> MovingBelt:  # fmt: skip
    """The integrals of a basis along a line of given curvature (1/m), which may jump at `borders` only."""
    if bending not in BENDING:
        raise InputError(f"moving belt: bending = {bending!r} is unknown; it is one of {', '.join(map(repr, BENDING))}")
    if not mass > 0 or not EI >= 0:
        raise InputError(f"moving belt: mass = {mass:g} kg/m must be positive and EI = {EI:g} N m² not negative")
    s, weight = quadrature(basis, borders)
    kap = np.broadcast_to(np.asarray(curvature(s) if callable(curvature) else curvature, float), s.shape)
    w, w1, w2 = (basis.matrix(s, d) for d in range(3))
    c0, c2, c1, mixed, b0, b2 = BENDING[bending]

    def integral(a: Array, b: Array, power: int) -> Array:
        return np.asarray((a * (weight * kap**power)[:, None]).T @ b)

    between = integral(w, w2, 2)
    cross = integral(w, w1, 0)
    return MovingBelt(
        mass, EI, bending, integral(w, w, 0), integral(w1, w1, 0), cross - cross.T, integral(w, w, 2), w.T @ (weight * kap),
        EI * (c0 * integral(w, w, 4) + c2 * integral(w2, w2, 0) + c1 * integral(w1, w1, 2) + mixed * (between + between.T)),
        EI * (b0 * w.T @ (weight * kap**3) + b2 * w2.T @ (weight * kap)),
    )  # fmt: skip


@dataclass(frozen=True)
class MixedCoordinates:
    """Coordinates of second order (`dynamic`) beside relaxed ones of first order: T_k C_kk q̇_k = [Q − C q − b]_k.

    The cut is made function by function: above `limit` (Hz) a function keeps its stiffness and loses its inertia.
    """

    dynamic: NDArray[np.bool_]
    relaxation: Array  #: T_k C_kk of relaxed coordinates (N s/m), 0 of dynamic ones

    def state_matrix(self, M: Array, D: Array, C: Array) -> Array:
        """ż = A z of the free motion, z = (q, q̇_dynamic)."""
        n, k = self.dynamic.size, int(self.dynamic.sum())
        A = np.zeros((n + k, n + k))
        slow, fast = np.flatnonzero(self.dynamic), np.flatnonzero(~self.dynamic)
        A[slow, n + np.arange(k)] = 1.0
        A[fast, :n] = -C[fast] / self.relaxation[fast, None]
        A[fast, n:] = -D[np.ix_(fast, slow)] / self.relaxation[fast, None]
        A[n:] = -np.linalg.solve(M[np.ix_(slow, slow)], np.hstack([C[slow], D[np.ix_(slow, slow)]]))
        return A

    def frequencies(self, M: Array, D: Array, C: Array) -> Array:
        """|λ|/2π (Hz) of the free motion, ascending: vibrations and rates of relaxation alike."""
        return np.sort(np.abs(scipy.linalg.eigvals(self.state_matrix(M, D, C)))) / (2 * math.pi)


def frequency_cut(frequency: Array, stiffness: Array, limit: float = LIMIT, time: float | None = None) -> MixedCoordinates:
    """Which functions move dynamically, by their own frequencies (Hz), and how fast the others relax (time ≥ 1/2π limit, in s)."""
    if not limit > 0:
        raise InputError(f"frequency cut: limit = {limit:g} Hz must be positive")
    least = 1.0 / (2 * math.pi * limit)
    if time is not None and time < least * (1 - 1e-12):
        raise InputError(f"frequency cut: a relaxation time of {time:g} s is shorter than 1/2π{limit:g} Hz = {least:.3g} s")
    dynamic = np.asarray(frequency) <= limit
    return MixedCoordinates(dynamic, np.where(dynamic, 0.0, (time or least) * np.asarray(stiffness)))
