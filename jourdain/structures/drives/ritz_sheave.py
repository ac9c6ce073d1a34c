"""A sheave that vibrates: Ritz's method with the plate's own shapes (Bullinger, Funk & Pfeiffer, (5), (6)).

Constant mass and stiffness per harmonic; modes up to a number.  Its static deflections go to those of Castigliano's influence numbers as modes
are added, and the frequencies that come along with them show why the quasi-static way is the better one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg
from numpy.typing import ArrayLike

from ...errors import InputError
from .annular_plate import AnnularPlate, Array


@dataclass(frozen=True)
class RitzSheave:
    """Modes of an annular plate in cosine and sine of every harmonic.

    Args:
        plate: geometry and material; its `harmonics` are the highest. radial: shape functions over the radius, for every harmonic.
        modes: how many of the lowest are kept, over all harmonics. density: kg/m³.
    """

    plate: AnnularPlate
    modes: int
    radial: int = 12
    density: float = 7850.0

    def __post_init__(self) -> None:
        if self.modes < 1 or self.modes > (2 * self.plate.harmonics + 1) * self.radial:
            raise InputError(f"sheave: {self.modes} modes; {(2 * self.plate.harmonics + 1) * self.radial} are there")

    def _radial(self, r: Array) -> tuple[Array, Array, Array]:
        """Clamped polynomials (x² P_j) over the radius and two derivatives, columns are functions."""
        a, width = self.plate.inner, self.plate.outer - self.plate.inner
        x = (np.asarray(r, float) - a) / width
        found = []
        for j in range(self.radial):
            f = np.polynomial.Polynomial([0, 0, 1]) * np.polynomial.Legendre.basis(j, domain=[0, 1]).convert(kind=np.polynomial.Polynomial)
            found.append((f(x), f.deriv()(x) / width, f.deriv(2)(x) / width**2))
        return tuple(np.array(part).T for part in zip(*found, strict=True))  # type: ignore[return-value]

    @cached_property
    def _found(self) -> tuple[Array, list[tuple[int, int, Array]]]:
        """Frequencies (rad/s) of the kept modes, and harmonic, kind (0 cosine, 1 sine) and radial shape of each."""
        p = self.plate
        x, weight = np.polynomial.legendre.leggauss(2 * self.radial + 12)
        r = p.inner + (p.outer - p.inner) * 0.5 * (x + 1)
        area = (p.outer - p.inner) * 0.5 * weight * r
        R, R1, R2 = self._radial(r)
        c = r[:, None]
        every = []
        for k in range(p.harmonics + 1):
            turn = 2 * math.pi if k == 0 else math.pi
            bend = R1 / c - k * k * R / c**2
            twist = -k * R1 / c + k * R / c**2
            round_ = R2 + bend
            K = p.rigidity * turn * (round_.T @ (area[:, None] * round_) - (1 - p.nu) * (R2.T @ (area[:, None] * bend) + bend.T @ (area[:, None] * R2)))  # fmt: skip
            K += 2 * (1 - p.nu) * p.rigidity * math.pi * twist.T @ (area[:, None] * twist) * (k > 0)
            M = self.density * p.thickness * turn * R.T @ (area[:, None] * R)
            omega2, shapes = scipy.linalg.eigh(0.5 * (K + K.T), 0.5 * (M + M.T))
            every += [(math.sqrt(max(w, 0.0)), k, kind, s) for w, s in zip(omega2, shapes.T, strict=True) for kind in range(1 + (k > 0))]
        every.sort(key=lambda e: (e[0], e[1], e[2]))
        kept = every[: self.modes]
        return np.array([e[0] for e in kept]), [(k, kind, s) for _, k, kind, s in kept]

    @property
    def frequencies(self) -> Array:
        """Of the kept modes (Hz)."""
        return self._found[0] / (2 * math.pi)

    def shapes(self, r: ArrayLike, phi: ArrayLike) -> Array:
        """W at places (rows) for all modes (columns), mass-normalised (5)."""
        r, phi = np.broadcast_arrays(np.asarray(r, float).ravel(), np.asarray(phi, float).ravel())
        R = self._radial(r)[0]
        return np.stack([R @ s * (np.cos(k * phi) if kind == 0 else np.sin(k * phi)) for k, kind, s in self._found[1]], axis=1)

    def matrix(self, r: ArrayLike, phi: ArrayLike) -> Array:
        """Static influence numbers W Ω⁻² Wᵀ, to be set against those of the plate."""
        W = self.shapes(r, phi)
        return np.asarray(W / self._found[0] ** 2 @ W.T)
