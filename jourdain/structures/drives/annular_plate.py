"""Sheaves as annular Kirchhoff plates: how a force at one place moves another (Castigliano's influence numbers).

Plate clamped at the hub, free at the rim.  A force F at (r₀, 0) is Σ q_k cos kφ on the circle r₀; harmonic by harmonic the deflection is a
sum of four known functions of r on either side of the circle (Timoshenko & Woinowsky-Krieger, chapter 9).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import InputError

Array = NDArray[np.float64]


@dataclass(frozen=True)
class AnnularPlate:
    """A plate between hub and rim.

    Args:
        inner, outer, thickness: m. E: Pa. harmonics: the highest that is summed.
    """

    inner: float
    outer: float
    thickness: float
    E: float = 2.1e11
    nu: float = 0.3
    harmonics: int = 20

    def __post_init__(self) -> None:
        if not 0 < self.inner < self.outer:
            raise InputError(f"annular plate: radii {self.inner:g} and {self.outer:g} m must satisfy 0 < inner < outer")
        if not (self.thickness > 0 and self.E > 0 and -1 < self.nu < 0.5 and self.harmonics >= 0):
            raise InputError(
                f"annular plate: thickness {self.thickness:g} m, E {self.E:g} Pa, nu {self.nu:g}, harmonics {self.harmonics} are out of range"
            )

    @property
    def rigidity(self) -> float:
        """D = E h³ / 12 (1 − ν²)."""
        return self.E * self.thickness**3 / (12.0 * (1.0 - self.nu**2))

    def influence(self, r: ArrayLike, r0: ArrayLike, dphi: ArrayLike) -> Array:
        """Deflections (m/N) at radius r, an angle dphi from a unit force at radius r0."""
        r, r0, dphi = np.broadcast_arrays(np.asarray(r, float), np.asarray(r0, float), np.asarray(dphi, float))
        shape, r, r0, dphi = r.shape, r.ravel(), r0.ravel(), dphi.ravel()
        total = np.zeros(r.size)
        for k in range(self.harmonics + 1):
            total += self.harmonic(k, r, r0) * np.cos(k * dphi)
        return total.reshape(shape)

    def matrix(self, r: ArrayLike, phi: ArrayLike) -> Array:
        """Influence numbers w_ij between places (r, φ): symmetric, positive semi-definite (10)."""
        r, phi = np.broadcast_arrays(np.asarray(r, float), np.asarray(phi, float))
        w = np.zeros((r.size, r.size))
        radii, which = np.unique(np.round(r, 9), return_inverse=True)
        for k in range(self.harmonics + 1):
            table = self.harmonic(k, np.repeat(radii, radii.size), np.tile(radii, radii.size)).reshape(radii.size, radii.size)
            w += table[np.ix_(which, which)] * np.cos(k * (phi[:, None] - phi))
        return 0.5 * (w + w.T)

    def harmonic(self, k: int, r: Array, r0: Array) -> Array:
        """W_k(r) of a unit force on the circle r0 (m/N)."""
        low, x, x0 = self.inner / self.outer, r / self.outer, r0 / self.outer
        if not (np.all(x >= low - 1e-12) and np.all(x <= 1 + 1e-12) and np.all(x0 > low) and np.all(x0 <= 1 + 1e-12)):
            raise InputError(f"annular plate: radii must lie between hub {self.inner:g} and rim {self.outer:g} m")
        load, place = np.unique(x0, return_inverse=True)
        circle = np.minimum(load, 1.0)
        n = load.size
        # unknowns: four inside, four outside the circle
        A, right = np.zeros((n, 8, 8)), np.zeros((n, 8))
        hub = self._functions(k, np.full(n, low))
        A[:, 0, :4], A[:, 1, :4] = hub[0], hub[1]
        here = self._functions(k, circle)
        for d in range(3):
            A[:, 2 + d, :4], A[:, 2 + d, 4:] = -here[d], here[d]
        A[:, 5, :4], A[:, 5, 4:] = -here[3], here[3]
        right[:, 5] = 1.0 / ((2.0 if k == 0 else 1.0) * math.pi * circle)
        rim = self._functions(k, np.ones(n))
        A[:, 6, 4:] = rim[2] + self.nu * (rim[1] - k * k * rim[0])
        # Kirchhoff's shear at the rim
        laplace = rim[3] + rim[2] - rim[1] - k * k * (rim[1] - 2.0 * rim[0])
        A[:, 7, 4:] = laplace - (1.0 - self.nu) * k * k * (rim[1] - rim[0])
        scale = np.abs(A).max(axis=2)
        found = np.linalg.solve(A / scale[:, :, None], (right / scale)[:, :, None])[:, :, 0]
        values = self._functions(k, x)[0]
        constants = found[place]
        inside = x <= x0
        W = np.where(inside, (values * constants[:, :4]).sum(axis=1), (values * constants[:, 4:]).sum(axis=1))
        return np.asarray(W * self.outer**2 / self.rigidity)

    def _functions(self, k: int, x: Array) -> list[Array]:
        """The four solutions of harmonic k and three derivatives each, on x = r/outer; large powers scaled to one at their ends."""
        low, log = self.inner / self.outer, np.log(x)
        if k == 0:
            powers: list[tuple[int, bool, float]] = [(0, False, 1.0), (2, False, 1.0), (0, True, 1.0), (2, True, 1.0)]
        elif k == 1:
            powers = [(1, False, 1.0), (3, False, 1.0), (-1, False, low), (1, True, 1.0)]
        else:
            powers = [(k, False, 1.0), (-k, False, low**k), (k + 2, False, 1.0), (2 - k, False, low ** (k - 2))]
        found = [np.zeros((x.size, 4)) for _ in range(4)]
        for j, (p, logarithm, scale) in enumerate(powers):
            # (x^p ln x)^(d) = a_d x^(p−d) ln x + c_d x^(p−d)
            a, c = (0.0, 1.0) if not logarithm else (1.0, 0.0)
            for d in range(4):
                found[d][:, j] = scale * x ** (p - d) * (a * log + c)
                a, c = a * (p - d), c * (p - d) + a
        return found
