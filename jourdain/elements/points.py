"""Rigid bodies by points: no rotations at all, a constant mass matrix, rigidity by distances.

García Orden & Goicolea, Sec. 3: a material point is x = Σ X′ⱼ xⱼ with convected coordinates X′ (X′₀ = 1 − Σ X′), the mass matrix is
m ⊗ 1 with a small symmetric m.  Each point is a coordinate block, so that bodies joined at a point share it.  Natural coordinates
(points and unit vectors) are a linear map of the directors, see :func:`natural_map`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import ModelError
from ..symbolic.expr import HALF, ZERO, Expr
from ..symbolic.functions import sqrt
from ..symbolic.vectors import NULL, Vector
from .augmentation import of_one
from .carriers import Bar, PointCarrier, Tetrahedron, Triangle
from .element import Element, Names, Symbols, Term
from .pairs import Pair, Rows, numbers

RIGIDITY = ("constraint", "penalty", "quadratic penalty", "none")


def point_masses(points: ArrayLike, mass: float, inertia: ArrayLike, centre: ArrayLike | None = None) -> NDArray[np.float64]:
    """The symmetric m of a body by points, from its mass, centre of mass and inertia about the centre (same axes as the points).

    Four points in space (inertia tensor, 3 × 3 or its diagonal), three in the plane (one moment of inertia), two for a slender bar
    (moment about its centre; points in space or plane).  Units kg, m, kg m².

    >>> point_masses([[0, 0, 0], [2, 0, 0]], 6.0, 6.0 * 4 / 12)
    array([[2., 1.],
           [1., 2.]])
    """
    x = np.asarray(points, float)
    T = (x[1:] - x[0]).T
    rank = T.shape[1]
    if np.linalg.matrix_rank(T) < rank:
        raise ModelError(f"body by points: the {len(x)} points {x.tolist()} lie too specially (in one plane, line or place)")
    J = np.asarray(inertia, float)
    second = {3: lambda: _second_moments(J), 2: lambda: 0.5 * float(J) * np.eye(2), 1: lambda: np.array([[float(J)]])}[rank]()
    c = np.asarray(x.mean(axis=0) if centre is None else centre, float) - x[0]
    if rank == 1:
        length = float(np.linalg.norm(T))
        T, c = np.array([[length]]), np.array([float(T[:, 0] @ c) / length])
    inverse = np.linalg.inv(T)
    moments = inverse @ (second + mass * np.outer(c, c)) @ inverse.T
    first = mass * (inverse @ c)
    m = np.empty((rank + 1, rank + 1))
    m[1:, 1:] = moments
    m[0, 1:] = m[1:, 0] = first - moments.sum(axis=1)
    m[0, 0] = mass - 2.0 * first.sum() + moments.sum()
    return m


def _second_moments(J: NDArray[np.float64]) -> NDArray[np.float64]:
    J = np.diag(J) if J.ndim == 1 else J
    return 0.5 * np.trace(J) * np.eye(3) - J


class PointBody(Element):
    """Rigid body by four points (``Tetrahedron``), three in the plane (``Triangle``) or two (``Bar``); blocks "p0", "p1" …

    ``rigidity`` holds the distances: "constraint" by multipliers ½(r² − ℓ²) = 0, "penalty" by ½α(r − ℓ)², "quadratic penalty" by
    ½α(r² − ℓ²)², "none" when another body with the same points already does.  Constants from :meth:`numbers`.
    """

    def __init__(self, body: PointCarrier | None = None, rigidity: str = "constraint") -> None:
        if rigidity not in RIGIDITY:
            raise ModelError(f"{self.name}: rigidity '{rigidity}' is unknown; choose one of {', '.join(RIGIDITY)}")
        self.body = body or Tetrahedron()
        self.rigidity = rigidity
        n = self.body.vectors
        self.blocks = self.body.blocks("p")
        self.constants = {"matrix": n * (n + 1) // 2, "gravity": self.body.dimension}
        if rigidity != "none":
            self.constants["lengths"] = n * (n - 1) // 2
        if rigidity.endswith("penalty"):
            self.constants["alpha"] = 1

    def numbers(
        self, points: ArrayLike, mass: float, inertia: ArrayLike, centre: ArrayLike | None = None, gravity: ArrayLike | None = None,
        alpha: float = 1e12,
    ) -> dict[str, Any]:  # fmt: skip
        """Constants from the points at the start and the mass properties (see :func:`point_masses`); ``gravity`` in m/s²."""
        x = np.asarray(points, float)
        if x.shape != (self.body.vectors, self.body.dimension):
            raise ModelError(
                f"{self.name}: points of shape {x.shape} are given; a body of kind '{self.body.name}' has {self.body.vectors} of {self.body.dimension} numbers"
            )
        m = point_masses(x, mass, inertia, centre)
        if not np.isfinite(m).all() or np.linalg.eigvalsh(m).min() < -1e-9 * max(1e-300, abs(float(np.trace(m)))):
            raise ModelError(
                f"{self.name}: mass {mass:g} and inertia {np.asarray(inertia).tolist()} belong to no distribution of mass; both must be positive, "
                "the largest principal moment at most the sum of the others"
            )
        made: dict[str, Any] = {"matrix": m[np.triu_indices(len(x))]}
        made["gravity"] = np.zeros(self.body.dimension) if gravity is None else np.asarray(gravity, float)
        if self.rigidity != "none":
            made["lengths"] = np.array([np.linalg.norm(x[j] - x[i]) for i, j in self.pairs])
        if "alpha" in self.constants:
            made["alpha"] = alpha
        return made

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Pairs of points, in the order of the lengths."""
        return list(combinations(range(self.body.vectors), 2))

    def _matrix(self, s: Symbols) -> dict[tuple[int, int], Expr]:
        n = self.body.vectors
        upper = dict(zip(((i, j) for i in range(n) for j in range(i, n)), s.matrix, strict=True))
        return {(i, j): upper[min(i, j), max(i, j)] for i in range(n) for j in range(n)}

    def mass(self, s: Symbols) -> dict[tuple[str, int, str, int], Expr]:
        """m ⊗ 1."""
        m, d = self._matrix(s), range(self.body.dimension)
        return {(f"p{i}", k, f"p{j}", k): e for (i, j), e in m.items() for k in d}

    def potential(self, s: Symbols) -> Sequence[Term]:
        """Weight, −g·Σ m xⱼ, and the penalties of the distances."""
        x, g = self.body.generators(s, "p"), Vector.of([*s.gravity, ZERO][:3])
        weight = ZERO
        for (i, _), m in self._matrix(s).items():
            weight = weight - m * g.dot(x[i])
        terms: list[Term] = [weight]
        if self.rigidity.endswith("penalty"):
            for r2, length in self._distances(s):
                terms.append(_penalty(r2, length, s.alpha, self.rigidity == "penalty"))
        return terms

    def _distances(self, s: Symbols) -> list[tuple[Expr, Expr]]:
        x = self.body.generators(s, "p")
        return [((x[j] - x[i]).dot(x[j] - x[i]), length) for (i, j), length in zip(self.pairs, numbers(s, "lengths"), strict=True)]

    def constraints(self, s: Symbols) -> Rows:
        """Constant distances."""
        if self.rigidity != "constraint":
            return ()
        return [(f"d{i}{j}", (HALF * (r2 - l * l),)) for (i, j), (r2, l) in zip(self.pairs, self._distances(s), strict=True)]

    def momenta(self, s: Symbols) -> tuple[Vector, Vector]:
        """Σ m ẋ and Σ x × m ẋ."""
        x, v = self.body.generators(s, "p"), self.body.generators(s.velocity, "p")
        linear, angular = NULL, NULL
        for (i, j), m in self._matrix(s).items():
            linear, angular = linear + v[j] * m, angular + x[i].cross(v[j]) * m
        return linear, angular


def _penalty(r2: Expr, length: Expr, alpha: Expr, linear: bool) -> Term:
    if linear:
        return of_one(lambda x: HALF * alpha * (sqrt(x) - length) ** 2, r2)
    return of_one(lambda x: HALF * alpha * (x - length * length) ** 2, r2)


class ParallelAxes(Pair):
    """e_a − e_b = 0 of an axis carried by both bodies: with a shared point, a revolute joint by linear equations (eq. 38).

    Three rows, one of which is redundant for rigid bodies: for use as :class:`~.potentials.Penalty`.
    """

    def constraints(self, s: Symbols) -> Rows:
        """C q = 0."""
        v = self.vectors(s, s)
        gap = v.a[2] - v.b[2]
        return [(f"axis.{'xyz'[i]}", (gap[i],)) for i in range(3)]


class RelativePosition(Element):
    """x₂ − x₁ = constant (three linear rows)."""

    def __init__(self) -> None:
        self.blocks = {"x1": 3, "x2": 3}
        self.constants = {"offset": 3}

    def constraints(self, s: Symbols) -> Rows:
        """Three rows."""
        return [(f"position.{'xyz'[i]}", (s.x2[i] - s.x1[i] - s.offset[i],)) for i in range(3)]


class Alignment(Element):
    """Three points on one line: (x₃ − x₁) × (x₂ − x₁) = 0, three rows of which two are independent (for use as a penalty)."""

    def __init__(self) -> None:
        self.blocks = {"x1": 3, "x2": 3, "x3": 3}

    def constraints(self, s: Symbols) -> Rows:
        """Three rows."""
        x1, x2, x3 = (s.vector(k) for k in self.blocks)
        gap = (x3 - x1).cross(x2 - x1)
        return [(f"alignment.{'xyz'[i]}", (gap[i],)) for i in range(3)]


class FixedAngle(Element):
    """Angle between the lines x₁x₂ and x₃x₄ of fixed lengths: (x₂ − x₁)·(x₄ − x₃) = ``product`` (ℓ₁₂ ℓ₃₄ cos α, m²)."""

    def __init__(self) -> None:
        self.blocks = {"x1": 3, "x2": 3, "x3": 3, "x4": 3}
        self.constants = {"product": 1}

    def constraints(self, s: Symbols) -> Rows:
        """One row, quadratic."""
        x1, x2, x3, x4 = (s.vector(k) for k in self.blocks)
        return [("angle", ((x2 - x1).dot(x4 - x3) - s.product,))]


def coplanarity(p: Names, constants: Any = None) -> Expr:
    """(x₄ − x₁)·((x₂ − x₁) × (x₃ − x₁)) of four points in blocks x1 … x4 (cubic): a law for ``VectorPenalty``."""
    x1, x2, x3, x4 = (p.vector(f"x{k}") for k in (1, 2, 3, 4))
    return (x4 - x1).dot((x2 - x1).cross(x3 - x1))


def angle_sine(p: Names, c: Any) -> Expr:
    """|x₁₂ × x₃₄|/(|x₁₂||x₃₄|) − ``sine`` of points in blocks x1 … x4: a law for ``VectorPenalty``, for angles up to 45° but not 0."""
    u, v = p.vector("x2") - p.vector("x1"), p.vector("x4") - p.vector("x3")
    w = u.cross(v)
    return sqrt(w.dot(w) / (u.dot(u) * v.dot(v))) - c.sine


def angle_cosine(p: Names, c: Any) -> Expr:
    """x₁₂·x₃₄/(|x₁₂||x₃₄|) − ``cosine``: as :func:`angle_sine`, for angles from 45° to 90° between lines of any length."""
    u, v = p.vector("x2") - p.vector("x1"), p.vector("x4") - p.vector("x3")
    return u.dot(v) / sqrt(u.dot(u) * v.dot(v)) - c.cosine


def natural_map(point_a: ArrayLike, point_b: ArrayLike, u: ArrayLike, v: ArrayLike) -> NDArray[np.float64]:
    """T of q_nat = T q: points r_A, r_B and vectors u, v (components in the directors) from q = (φ, d₁, d₂, d₃) (Uhlar, 4.9–4.12)."""
    rows = [np.concatenate([[1.0], np.asarray(point_a, float)]), np.concatenate([[1.0], np.asarray(point_b, float)]),
            np.concatenate([[0.0], np.asarray(u, float)]), np.concatenate([[0.0], np.asarray(v, float)])]  # fmt: skip
    small = np.array(rows)
    if np.linalg.matrix_rank(small) < 4:
        raise ModelError("natural coordinates: the two points and vectors do not span space; choose others")
    return np.kron(small, np.eye(3))


def natural_mass(mass_matrix: ArrayLike, T: ArrayLike) -> NDArray[np.float64]:
    """The constant mass matrix T⁻ᵀ M T⁻¹ in natural coordinates."""
    inverse = np.linalg.inv(np.asarray(T, float))
    return np.asarray(inverse.T @ np.asarray(mass_matrix, float) @ inverse)


__all__ = [
    "Alignment", "Bar", "FixedAngle", "ParallelAxes", "PointBody", "RelativePosition", "Tetrahedron", "Triangle", "angle_cosine", "angle_sine",
    "coplanarity", "natural_map", "natural_mass", "point_masses",
]  # fmt: skip
