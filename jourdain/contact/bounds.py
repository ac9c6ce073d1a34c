"""Bounds of free and forced vibrations, with which modes can be dropped safely (spec 05 eqs. 14–21; Hu & Eberhard 1999)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg as sl
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from scipy.sparse.csgraph import connected_components

from ..errors import InputError
from ..structures.parts.dofs import Array

#: The decay rate stays so much, relatively, below the one at which K′ becomes singular.
MARGIN = 1e-6


def decay_rate(M: ArrayLike, D: ArrayLike, K: ArrayLike) -> float:
    """μ (1/s) such that every eigenvalue of M ÿ + D ẏ + K y = 0 has Re s ≤ −μ (15).

    With D* = M^{-1/2} D M^{-1/2}, K* likewise: half the smallest eigenvalue of D* where K − μD + μ²M stays positive definite (there all
    z = e^{μt} y are bounded), else the smaller of that and ½[d − √(d² − 4 λ_min(K*))], d = λ_max(D*).
    """
    M, D, K = matrices(M, D, K)
    damping = sl.eigh(D, M, eigvals_only=True)
    least = 0.5 * max(float(damping[0]), 0.0)
    if positive_definite(K - least * D + least**2 * M, K):
        return least
    most, stiffness = float(damping[-1]), max(float(sl.eigh(K, M, eigvals_only=True)[0]), 0.0)
    # ½[d − √(d² − 4λ)] would lose all digits of a mode that creeps
    rate = min(least, 2 * stiffness / (most + np.sqrt(max(most**2 - 4 * stiffness, 0.0))) * (1 - MARGIN))
    while rate > 0 and not np.linalg.eigvalsh(K - rate * D + rate**2 * M)[0] > 0:
        rate *= 0.5  # λ_min(K*) is known to rounding of λ_max
    return rate


def matrices(*given: ArrayLike) -> tuple[Array, Array, Array]:
    """Symmetric matrices of one size, M and K positive definite."""
    names = "M", "D", "K"
    found = [np.atleast_2d(np.asarray(x, float)) for x in given]
    for name, x in zip(names, found, strict=True):
        if x.ndim != 2 or x.shape != found[0].shape or x.shape[0] != x.shape[1] or not np.isfinite(x).all():
            raise InputError(f"response bounds: {name} has the shape {x.shape}; M, D and K must be finite square matrices of one size")
        if not np.allclose(x, x.T, atol=1e-9 * (np.abs(x).max() + 1e-300)):
            raise InputError(f"response bounds: {name} is not symmetric; gyroscopic and circulatory forces have no such bounds")
    M, D, K = found
    for name, x in (("M", M), ("K", K)):
        least = float(np.linalg.eigvalsh(x)[0])
        if not least > 0:
            raise InputError(
                f"response bounds: {name} has the eigenvalue {least:.3g} and is not positive definite; leave rigid motions out"
            )
    if float(np.linalg.eigvalsh(D)[0]) < -1e-9 * (np.abs(D).max() + 1e-300):
        raise InputError("response bounds: D has a negative eigenvalue and would drive the vibration; only dampers have such bounds")
    return M, D, K


def positive_definite(A: Array, scale: Array) -> bool:
    return bool(np.linalg.eigvalsh(A)[0] > 1e-12 * np.abs(scale).max())


@dataclass(frozen=True, eq=False)
class Block:
    """One of the subsystems that do not feel each other."""

    index: NDArray[np.int64]
    M: Array
    D: Array
    K: Array
    y0: Array
    v0: Array

    @cached_property
    def mu(self) -> float:
        return decay_rate(self.M, self.D, self.K)

    @cached_property
    def energy(self) -> float:
        """E₀ = ½ v₀ᵀM v₀ + ½ y₀ᵀK y₀ (17)."""
        return 0.5 * float(self.v0 @ self.M @ self.v0 + self.y0 @ self.K @ self.y0)

    @cached_property
    def shifted_energy(self) -> float:
        """E₀* = E₀ + μ² y₀ᵀM y₀ + μ y₀ᵀM v₀ − ½μ y₀ᵀD y₀ (18): the energy of z = e^{μt} y at the start."""
        y, v, mu = self.y0, self.v0, self.mu
        return max(self.energy + float(mu**2 * y @ self.M @ y + mu * y @ self.M @ v - 0.5 * mu * y @ self.D @ y), 0.0)

    @cached_property
    def flexibility(self) -> Array:
        """Diagonal of K⁻¹."""
        return np.diag(np.linalg.inv(self.K)).copy()

    @cached_property
    def shifted_flexibility(self) -> Array:
        """Diagonal of K′⁻¹, K′ = K − μD + μ²M (21)."""
        return np.diag(np.linalg.inv(self.K - self.mu * self.D + self.mu**2 * self.M)).copy()

    @cached_property
    def mobility(self) -> Array:
        """Diagonal of M⁻¹."""
        return np.diag(np.linalg.inv(self.M)).copy()


class ResponseBounds:
    """Bounds of |y_i(t)| and |ẏ_i(t)| of M ÿ + D ẏ + K y = b from y(0), ẏ(0); each independent subsystem has its own.

    The second term of (19) has K′⁻¹; the source prints K⁻¹, which is too small: with y = e^{−μt} z, ½ żᵀMż + ½ zᵀK′z does not grow.
    """

    def __init__(self, M: ArrayLike, D: ArrayLike, K: ArrayLike, y0: ArrayLike, v0: ArrayLike) -> None:
        m, d, k = matrices(M, D, K)
        y, v = (np.atleast_1d(np.asarray(x, float)) for x in (y0, v0))
        if y.shape != (len(m),) or v.shape != (len(m),):
            raise InputError(f"response bounds: y0 and v0 have {len(y)} and {len(v)} entries, but the matrices {len(m)} rows")
        count, label = connected_components(sp.csr_array((m != 0) | (d != 0) | (k != 0)), directed=False)
        self.size = len(m)
        self.blocks = []
        for i in range(count):
            at = np.flatnonzero(label == i)
            self.blocks.append(Block(at, m[np.ix_(at, at)], d[np.ix_(at, at)], k[np.ix_(at, at)], y[at], v[at]))

    def _each(self, t: Any, law: Callable[[Block, Array], Array]) -> Array:
        time = np.asarray(t, float)
        found = np.zeros((*time.shape, self.size))
        for block in self.blocks:
            found[..., block.index] = law(block, time[..., None])
        return found

    @property
    def rate(self) -> Array:
        """μ of each coordinate."""
        return self._each(0.0, lambda b, t: np.full(len(b.index), b.mu))

    def displacement(self, t: Any) -> Array:
        """min{√(2 (K⁻¹)_ii E₀), e^{−μt} √(2 (K′⁻¹)_ii E₀*)} (19, corrected), at times (…,): (…, n)."""
        return self._each(
            t,
            lambda b, s: np.minimum(
                np.sqrt(2 * b.flexibility * b.energy), np.exp(-b.mu * s) * np.sqrt(2 * b.shifted_flexibility * b.shifted_energy)
            ),
        )

    def velocity(self, t: Any) -> Array:
        """min{√(2 (M⁻¹)_ii E₀), e^{−μt} [√(2 (M⁻¹)_ii E₀*) + μ √(2 (K′⁻¹)_ii E₀*)]} (20)."""

        def law(b: Block, s: Array) -> Array:
            size = np.sqrt(2 * b.mobility * b.shifted_energy) + b.mu * np.sqrt(2 * b.shifted_flexibility * b.shifted_energy)
            return np.minimum(np.sqrt(2 * b.mobility * b.energy), np.exp(-b.mu * s) * size)

        return self._each(t, law)

    def forced(self, t: Any, force: ArrayLike) -> Array:
        """√(K′⁻¹)_ii [e^{−μt} √(2E₀*) + (1 − e^{−μt})/μ · sup‖M^{-1/2} b‖] for forces |b_i(t)| ≤ `force`_i."""
        largest = np.broadcast_to(np.abs(np.asarray(force, float)), (self.size,))

        def law(b: Block, s: Array) -> Array:
            size = np.abs(sl.inv(sl.sqrtm(b.M).real)) @ largest[b.index]
            lasting = np.broadcast_to(s, s.shape) if b.mu == 0 else -np.expm1(-b.mu * s) / b.mu
            return np.sqrt(b.shifted_flexibility) * (np.exp(-b.mu * s) * np.sqrt(2 * b.shifted_energy) + lasting * np.linalg.norm(size))

        return self._each(t, law)

    def below(self, tolerance: float) -> Array:
        """When each coordinate falls below a tolerance for ever (s): 0 where it is, infinity where nothing damps it."""
        if not tolerance > 0:
            raise InputError(f"response bounds: tolerance = {tolerance:g} must be positive")
        found = np.zeros(self.size)
        for b in self.blocks:
            size = np.sqrt(2 * b.shifted_flexibility * b.shifted_energy)
            small = np.sqrt(2 * b.flexibility * b.energy) <= tolerance
            with np.errstate(divide="ignore"):
                found[b.index] = np.where(small | (size <= tolerance), 0.0, np.log(np.maximum(size, 1e-300) / tolerance) / b.mu)
        return found
