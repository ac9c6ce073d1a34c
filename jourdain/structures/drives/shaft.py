"""Shafts of round segments on bearings that give way and have play: deflections and slopes in both planes.

Euler's beams between sections, bearings and loads are exact there.  A bearing pushes back by k (|u| − c) along its displacement u once |u|
exceeds the clearance c; the two planes are one complex number, u = u_x + i u_y.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError, SolverError
from ..parts.sections import circle

Complex = NDArray[np.complex128]


@dataclass(frozen=True)
class Bearing:
    """A support at z (m): stiffness (N/m) beyond a clearance (m)."""

    z: float
    stiffness: float = 1e9
    clearance: float = 0.0


@dataclass(frozen=True)
class Deflected:
    """A shaft under load: displacement and slope along z as complex numbers, forces of the bearings on the shaft (N)."""

    z: NDArray[np.float64]
    u: Complex
    slope: Complex
    reactions: Complex

    def slope_at(self, z: float) -> complex:
        """Slope at a place where a load, a bearing or a section begins."""
        return complex(self.slope[self._node(z)])

    def at(self, z: float) -> complex:
        """Displacement at such a place."""
        return complex(self.u[self._node(z)])

    def _node(self, z: float) -> int:
        k = int(np.argmin(np.abs(self.z - z)))
        if abs(self.z[k] - z) > 1e-9:
            raise InputError(f"shaft: z = {z:g} m is no section, bearing or load")
        return k


@dataclass(frozen=True)
class Shaft:
    """Round segments (length, diameter) from z = 0 on, and bearings.

    >>> shaft = Shaft([(1.0, 0.05)], [Bearing(0.0, 1e12), Bearing(1.0, 1e12)])
    >>> bent = shaft.deflect([(0.5, 1000.0, 0.0)])
    >>> round(bent.at(0.5).real / (1000.0 / (48 * shaft.EI[0])), 6)
    1.0
    """

    segments: Sequence[tuple[float, float]]
    bearings: Sequence[Bearing]
    E: float = 2.1e11

    def __post_init__(self) -> None:
        if not self.segments or any(not (length > 0 and d > 0) for length, d in self.segments):
            raise InputError(f"shaft: segments {list(self.segments)} need positive lengths and diameters (m)")
        for b in self.bearings:
            if not 0 <= b.z <= self.length + 1e-12:
                raise InputError(f"shaft: the bearing at z = {b.z:g} m is not on the shaft of {self.length:g} m")
            if not b.stiffness > 0 or not b.clearance >= 0:
                raise InputError(f"shaft: the bearing at z = {b.z:g} m needs a positive stiffness and a clearance that is not negative")
        if len({b.z for b in self.bearings}) < 2:
            raise InputError("shaft: two bearings at different places hold a shaft; give at least two")

    @property
    def length(self) -> float:
        return float(sum(length for length, _ in self.segments))

    @property
    def EI(self) -> list[float]:
        """Bending stiffness of the segments."""
        return [self.E * circle(d).Iy for _, d in self.segments]

    def deflect(self, loads: Sequence[tuple[float, complex, complex]]) -> Deflected:
        """Under loads (z, force, couple): couples turn the slope with them."""
        for place, *_ in loads:
            if not 0 <= place <= self.length + 1e-12:
                raise InputError(f"shaft: the load at z = {place:g} m is not on the shaft of {self.length:g} m")
        ends = np.concatenate([[0.0], np.cumsum([length for length, _ in self.segments])])
        z = np.unique(np.round(np.concatenate([ends, [b.z for b in self.bearings], [x for x, *_ in loads]]), 12))
        K = self._stiffness(z, ends)
        f = np.zeros(2 * z.size, np.complex128)
        for x, force, couple in loads:
            k = int(np.argmin(np.abs(z - x)))
            f[2 * k] += force
            f[2 * k + 1] += couple
        at = [2 * int(np.argmin(np.abs(z - b.z))) for b in self.bearings]
        u = self._equilibrium(K, f, at)
        return Deflected(z, u[::2], u[1::2], self._push(u[at])[0])

    def _stiffness(self, z: NDArray[np.float64], ends: NDArray[np.float64]) -> NDArray[np.float64]:
        K = np.zeros((2 * z.size, 2 * z.size))
        for e, (a, b) in enumerate(pairwise(z)):
            h = b - a
            EI = self.EI[min(int(np.searchsorted(ends, 0.5 * (a + b))) - 1, len(self.segments) - 1)]
            k = EI / h**3 * np.array([[12, 6 * h, -12, 6 * h], [6 * h, 4 * h * h, -6 * h, 2 * h * h], [-12, -6 * h, 12, -6 * h], [6 * h, 2 * h * h, -6 * h, 4 * h * h]])  # fmt: skip
            K[2 * e : 2 * e + 4, 2 * e : 2 * e + 4] += k
        return K

    def _push(self, u: Complex) -> tuple[Complex, NDArray[np.float64], Complex]:
        """Forces of the bearings, and their stiffness along and across the displacement."""
        k, c = np.array([b.stiffness for b in self.bearings]), np.array([b.clearance for b in self.bearings])
        size = np.abs(u)
        deep = np.maximum(size - c, 0.0)
        across = np.divide(k * deep, size, out=np.where(c > 0, 0.0, k), where=size > 0)
        return -across * u, np.where(deep > 0, k, across), across.astype(complex)

    def _equilibrium(self, K: NDArray[np.float64], f: Complex, at: list[int]) -> Complex:
        """K u = f + bearings(u) by Newton's method in real numbers, from the shaft that has taken up its play."""
        n = f.size
        springs = np.zeros(n)
        springs[at] = [b.stiffness for b in self.bearings]
        u: Any = np.linalg.solve(K + np.diag(springs), f)
        held = u[at]
        play = np.array([b.clearance for b in self.bearings])
        start = np.where(np.abs(held) > 0, held * (1.0 + play / np.maximum(np.abs(held), 1e-300)), 0.0)
        # rigid motion that brings the bearings to the end of their play
        u = np.linalg.solve(K + np.diag(springs), f + _scattered(n, at, springs[at] * (start - held)))
        scale = max(float(np.abs(f).max()), 1e-300)
        two = np.block([[K, np.zeros_like(K)], [np.zeros_like(K), K]])
        for _ in range(60):
            push, along, across = self._push(u[at])
            wrong = K @ u - f - _scattered(n, at, push)
            if np.abs(wrong).max() <= 1e-11 * scale + 1e-14 * np.abs(K).max() * np.abs(u).max():
                return np.asarray(u, np.complex128)
            J = two.copy()
            for b, i in enumerate(at):
                size = abs(u[i])
                e = u[i] / size if size > 0 else 1.0
                turn = np.array([[e.real, -e.imag], [e.imag, e.real]])
                J[np.ix_([i, n + i], [i, n + i])] += turn @ np.diag([along[b], across[b].real]) @ turn.T
            J += 1e-9 * np.diag(np.abs(np.diag(two)).max() * np.ones(2 * n)) if np.linalg.cond(J) > 1e15 else 0.0
            d = np.linalg.solve(J, -np.concatenate([wrong.real, wrong.imag]))
            u = u + d[:n] + 1j * d[n:]
        raise SolverError("shaft: the bearings found no equilibrium in 60 steps; are clearances much larger than deflections?")


def _scattered(n: int, at: list[int], values: Complex) -> Complex:
    out = np.zeros(n, np.complex128)
    np.add.at(out, at, values)
    return out
