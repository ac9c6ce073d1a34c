"""B-splines along a path: on a closed one by levels of refinement, on a span with fixed ends.

On level l the splines have knots L/(n 2ˡ) apart.  A level adds splines within its regions to those of the levels before and changes none of
them, so that every function keeps a frequency of its own (Bullinger, Funk & Pfeiffer, figure 12).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.interpolate import BSpline

from ...errors import InputError

Array = NDArray[np.float64]


class Basis(Protocol):
    """Functions of a path coordinate: their number, the length of the path, values and derivatives, and where they are not smooth."""

    @property
    def length(self) -> float: ...

    @property
    def size(self) -> int: ...

    @property
    def breaks(self) -> Array: ...

    def matrix(self, s: ArrayLike, derivative: int = 0) -> Array:
        """Values of all functions (columns) at places (rows)."""
        ...


@dataclass(frozen=True)
class HierarchicalSplines:
    """Periodic splines of a closed path, refined level by level in regions.

    Args:
        length: of the path (m). coarse: number of splines of level 0, over the whole path.
        regions: for every further level the intervals (from, to) in which it adds splines; an interval may run over the path's end.
        choice: "odd" adds every other fine spline, "kraft" all of them and drops coarse ones within the region; both span the fine space there.
        degree: of the polynomials, odd.

    >>> basis = HierarchicalSplines(1.0, 8, [[(0.0, 0.5)]])
    >>> float(np.abs(basis.matrix(np.linspace(0, 1, 7))[:, :8].sum(axis=1) - 1).max()) < 1e-15
    True
    """

    length: float
    coarse: int
    regions: Sequence[Sequence[tuple[float, float]]] = ()
    choice: str = "odd"
    degree: int = 3
    level: NDArray[np.int64] = field(init=False)  #: of every function
    index: NDArray[np.int64] = field(init=False)  #: its first knot, in knots of its level

    def __post_init__(self) -> None:
        if not (self.length > 0 and np.isfinite(self.length)):
            raise InputError(f"splines: length = {self.length:g} m must be positive")
        if self.degree < 1 or self.degree % 2 == 0:
            raise InputError(f"splines: degree = {self.degree} must be odd and positive")
        if self.coarse < self.degree + 2:
            raise InputError(f"splines: {self.coarse} coarse functions overlap themselves on a closed path; at least {self.degree + 2}")
        if self.choice not in ("odd", "kraft"):
            raise InputError(f"splines: choice = {self.choice!r} is unknown; it is 'odd' or 'kraft'")
        chosen = [(0, i) for i in range(self.coarse)]
        for level, intervals in enumerate(self.regions, 1):
            fine = self.coarse * 2**level
            inside = [i for i in range(fine) if any(self._within(i, level, a, b) for a, b in intervals)]
            if self.choice == "odd":
                chosen += [(level, i) for i in inside if i % 2]
            else:
                covered = [(k, i) for k, i in chosen if k == level - 1 and any(self._within(i, k, a, b) for a, b in intervals)]
                chosen = [c for c in chosen if c not in covered] + [(level, i) for i in inside]
        object.__setattr__(self, "level", np.array([k for k, _ in chosen]))
        object.__setattr__(self, "index", np.array([i for _, i in chosen]))

    def _within(self, i: int, level: int, low: float, high: float) -> bool:
        """Whether the support of a spline lies in an interval; intervals longer than the path hold all."""
        h = self.length / (self.coarse * 2**level)
        if high - low >= self.length:
            return True
        start = (i * h - low) % self.length
        start = start - self.length if self.length - start < 1e-9 * h else start
        return start + (self.degree + 1) * h <= high - low + 1e-9 * h

    @property
    def size(self) -> int:
        """Number of functions."""
        return int(self.level.size)

    @property
    def spacing(self) -> Array:
        """Distance of the knots of every function (m)."""
        return np.asarray(self.length / (self.coarse * 2.0**self.level), float)

    @property
    def centre(self) -> Array:
        """Middle of every function (m)."""
        return ((self.index + 0.5 * (self.degree + 1)) * self.spacing) % self.length

    @property
    def breaks(self) -> Array:
        """Knots of the finest level."""
        return np.linspace(0.0, self.length, self.coarse * 2 ** len(self.regions) + 1)

    def matrix(self, s: ArrayLike, derivative: int = 0) -> Array:
        """Values of all functions (columns) at places (rows)."""
        element = BSpline.basis_element(np.arange(self.degree + 2), extrapolate=False)
        x = np.asarray(s, float).ravel()[:, None] / self.spacing - self.index
        x %= self.length / self.spacing
        x[x > self.degree + 1] = np.nan
        return np.nan_to_num((element.derivative(derivative) if derivative else element)(x)) / self.spacing**derivative


@dataclass(frozen=True)
class SpanSplines:
    """Splines of a span whose ends stay where they are."""

    length: float
    size: int
    degree: int = 3

    def __post_init__(self) -> None:
        if not self.length > 0 or self.size < self.degree:
            raise InputError(
                f"splines: a span of {self.length:g} m with {self.size} functions; at least {self.degree} on a positive length"
            )

    @property
    def breaks(self) -> Array:
        return np.linspace(0.0, self.length, self.size + 3 - self.degree)

    def matrix(self, s: ArrayLike, derivative: int = 0) -> Array:
        """Values of all functions (columns) at places (rows)."""
        inner = self.breaks
        knots = np.concatenate([np.full(self.degree, inner[0]), inner, np.full(self.degree, inner[-1])])
        whole = BSpline(knots, np.eye(self.size + 2)[:, 1:-1], self.degree)
        return np.asarray((whole.derivative(derivative) if derivative else whole)(np.asarray(s, float).ravel()))


def quadrature(basis: Basis, borders: ArrayLike = (), points: int = 6) -> tuple[Array, Array]:
    """Places and weights of Gauss between the breaks of a basis and further borders, where curvatures may jump."""
    edges = np.unique(np.concatenate([basis.breaks, np.asarray(borders, float).ravel()]))
    edges = edges[(edges >= 0) & (edges <= basis.length)]
    x, weight = np.polynomial.legendre.leggauss(points)
    half = 0.5 * np.diff(edges)
    middle = 0.5 * (edges[1:] + edges[:-1])
    return (middle[:, None] + half[:, None] * x).ravel(), (half[:, None] * weight).ravel()
