"""What a joint, a force or a cavity is fixed to: how material points and directions of a body follow from its coordinates.

Every carrier is linear in its coordinates, x = Σ wₖ xₖ with constant weights w and the body's vectors xₖ (a point and
directors, or the points of a rotation-free body).  Mid-point vectors are therefore those of the mean coordinates, and
scalar products of two of them are quadratic, which is what the energy-momentum scheme asks for.  Methods that take a point
``p`` read the coordinates from it: the symbols ``s`` themselves, or ``s.mid``, ``s.at0``, ``s.at1``, ``s.velocity``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import ModelError
from ..symbolic.expr import ONE, ZERO, Expr, as_expr
from ..symbolic.vectors import NULL, Vector
from .element import Names


class Carrier:
    """A kind of body; ``local`` numbers place a material point in it, ``vectors`` 3-vectors (or 2-vectors) move with it."""

    name = "carrier"
    dimension = 3
    local = 3
    vectors = 4
    has_directions = True

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and vars(other) == vars(self)

    def __hash__(self) -> int:
        return hash((type(self), *sorted(vars(self).items())))

    def __repr__(self) -> str:
        options = ", ".join(str(v) for v in vars(self).values())
        return f"{type(self).__name__}({options})"

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return self.dimension * self.vectors

    @property
    def frame(self) -> int:
        """Numbers that describe a frame fixed to the body: three directions in space, two in the plane."""
        return self.dimension * self.dimension

    def blocks(self, prefix: str) -> dict[str, int]:
        """Names and sizes of the coordinate blocks of such a body."""
        return {prefix: self.size}

    def generators(self, p: Names, prefix: str) -> list[Vector]:
        """The vectors xₖ that move with the body (third component 0 in the plane)."""
        return split(p, prefix, self.dimension)

    def entries(self, prefix: str, k: int) -> list[tuple[str, int]]:
        """Where the components of xₖ stand: block and index."""
        return [(prefix, self.dimension * k + i) for i in range(self.dimension)]

    def point_weights(self, place: Sequence[Expr]) -> list[Expr]:
        """Weights of a material point."""
        return [ONE, *place]

    def direction_weights(self, components: Sequence[Expr]) -> list[Expr]:
        """Weights of a material direction."""
        return [ZERO, *components]

    def point(self, p: Names, prefix: str, place: Sequence[Expr]) -> Vector:
        """The place of a material point in space."""
        return combine(self.point_weights(place), self.generators(p, prefix))

    def direction(self, p: Names, prefix: str, components: Sequence[Expr]) -> Vector:
        """A material direction in space."""
        return combine(self.direction_weights(components), self.generators(p, prefix))

    def axes(self, p: Names, prefix: str, numbers: Sequence[Expr]) -> list[Vector]:
        """The directions of a frame whose components are given one direction after the other."""
        n = self.dimension
        return [self.direction(p, prefix, numbers[n * k : n * k + n]) for k in range(n)]

    def locate(self, q: ArrayLike, x: ArrayLike) -> NDArray[np.float64]:
        """Local coordinates of the material point that is at x in the configuration q."""
        base, T = self._basis(q)
        return self._solve(T, np.asarray(x, float)[: self.dimension] - base)

    def components(self, q: ArrayLike, e: ArrayLike) -> NDArray[np.float64]:
        """Local components of the material direction that is e in the configuration q."""
        _, T = self._basis(q)
        return self._solve(T, np.asarray(e, float)[: self.dimension])

    def _solve(self, T: NDArray[np.float64], x: NDArray[np.float64]) -> NDArray[np.float64]:
        if abs(np.linalg.det(T)) <= 1e-12 * np.prod(np.linalg.norm(T, axis=0)):
            raise ModelError(f"body of kind '{self.name}': its vectors {T.T.tolist()} span no volume; check its start coordinates")
        return np.asarray(np.linalg.solve(T, x))

    def _basis(self, q: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        x = np.asarray(q, float).reshape(self.vectors, self.dimension)
        return x[0], x[1:].T


class Directors(Carrier):
    """Rigid body by the place of its centre of mass and three directors, q = (φ, d₁, d₂, d₃)."""

    name = "directors"


class PlanarDirectors(Carrier):
    """Rigid body in the plane, q = (φ, d₁, d₂)."""

    name = "planar directors"
    dimension = 2
    local = 2
    vectors = 3


class Ground(Carrier):
    """What does not move: points and directions are given by their components in space."""

    name = "ground"
    vectors = 0

    def __init__(self, dimension: int = 3) -> None:
        self.dimension = self.local = dimension

    def blocks(self, prefix: str) -> dict[str, int]:
        """No coordinates."""
        return {}

    def generators(self, p: Names, prefix: str) -> list[Vector]:
        """None."""
        return []

    def point_weights(self, place: Sequence[Expr]) -> list[Expr]:
        """None."""
        return []

    def direction_weights(self, components: Sequence[Expr]) -> list[Expr]:
        """None."""
        return []

    def point(self, p: Names, prefix: str, place: Sequence[Expr]) -> Vector:
        """The place itself."""
        return Vector.of([*place, ZERO][:3])

    def direction(self, p: Names, prefix: str, components: Sequence[Expr]) -> Vector:
        """The direction itself."""
        return Vector.of([*components, ZERO][:3])

    def locate(self, q: ArrayLike, x: ArrayLike) -> NDArray[np.float64]:
        """The place itself."""
        return np.asarray(x, float)[: self.dimension]

    def components(self, q: ArrayLike, e: ArrayLike) -> NDArray[np.float64]:
        """The components themselves."""
        return np.asarray(e, float)[: self.dimension]


class PointCarrier(Carrier):
    """Body by points, each a coordinate block of its own, so that bodies may share points."""

    def blocks(self, prefix: str) -> dict[str, int]:
        """One block for each point."""
        return {f"{prefix}{k}": self.dimension for k in range(self.vectors)}

    def generators(self, p: Names, prefix: str) -> list[Vector]:
        """The points."""
        return [split(p, f"{prefix}{k}", self.dimension)[0] for k in range(self.vectors)]

    def entries(self, prefix: str, k: int) -> list[tuple[str, int]]:
        """Where the components of point k stand."""
        return [(f"{prefix}{k}", i) for i in range(self.dimension)]

    def point_weights(self, place: Sequence[Expr]) -> list[Expr]:
        """1 − ΣX′, X′₁, X′₂ … (convected coordinates along xⱼ − x₀)."""
        return [ONE - _total(place), *place]

    def direction_weights(self, components: Sequence[Expr]) -> list[Expr]:
        """−ΣX′, X′₁, X′₂ …"""
        return [-_total(components), *components]

    def _basis(self, q: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        x = np.asarray(q, float).reshape(self.vectors, self.dimension)
        return x[0], (x[1:] - x[0]).T


class Tetrahedron(PointCarrier):
    """Rigid body by four points not in one plane."""

    name = "tetrahedron"


class Triangle(PointCarrier):
    """Rigid body in the plane by three points not on one line."""

    name = "triangle"
    dimension = 2
    local = 2
    vectors = 3


class Bar(PointCarrier):
    """Slender bar by its two ends; a material point is placed by its fraction of the length."""

    name = "bar"
    local = 1
    vectors = 2
    has_directions = False

    def __init__(self, dimension: int = 3) -> None:
        self.dimension = dimension

    def locate(self, q: ArrayLike, x: ArrayLike) -> NDArray[np.float64]:
        """Fraction of the length at the foot of x on the bar."""
        base, T = self._basis(q)
        t = T[:, 0]
        return np.array([float(t @ (np.asarray(x, float)[: self.dimension] - base) / (t @ t))])


class Particle(PointCarrier):
    """A point; ``place`` has no numbers."""

    name = "particle"
    local = 0
    vectors = 1
    has_directions = False

    def __init__(self, dimension: int = 3) -> None:
        self.dimension = dimension

    def blocks(self, prefix: str) -> dict[str, int]:
        """One block."""
        return {prefix: self.dimension}

    def generators(self, p: Names, prefix: str) -> list[Vector]:
        """The point."""
        return split(p, prefix, self.dimension)

    def entries(self, prefix: str, k: int) -> list[tuple[str, int]]:
        """Where its components stand."""
        return [(prefix, i) for i in range(self.dimension)]

    def point_weights(self, place: Sequence[Expr]) -> list[Expr]:
        """1."""
        return [ONE]

    def locate(self, q: ArrayLike, x: ArrayLike) -> NDArray[np.float64]:
        """Nothing to say."""
        return np.zeros(0)


def split(p: Names, block: str, dimension: int = 3) -> list[Vector]:
    """The coordinates of a block as vectors (third component 0 in the plane)."""
    q = getattr(p, block)
    if dimension == 3:
        return [Vector(q[k], q[k + 1], q[k + 2]) for k in range(0, len(q), 3)]
    return [Vector(q[k], q[k + 1], ZERO) for k in range(0, len(q), 2)]


def combine(weights: Sequence[Expr], vectors: Sequence[Vector]) -> Vector:
    """Σ wₖ xₖ."""
    total = NULL
    for w, x in zip(weights, vectors, strict=True):
        total = total + x * w
    return total


def _total(values: Sequence[Expr]) -> Expr:
    total = ZERO
    for v in values:
        total = total + v
    return as_expr(total)


def right_handed_frame(axis: ArrayLike, normal: ArrayLike | None = None, name: str = "joint") -> NDArray[np.float64]:
    """Directions m₁, m₂, n (rows) with n along the axis and m₁ in the plane of the axis and ``normal`` (if given)."""
    try:
        n = np.asarray(axis, float)
    except (TypeError, ValueError):
        n = np.zeros(0)
    length = np.linalg.norm(n)
    if n.shape != (3,) or not np.isfinite(length) or length == 0.0:
        raise ModelError(f"{name}: axis {np.asarray(axis).tolist()} has no direction; give three numbers, not all zero")
    n = n / length
    start = np.eye(3)[int(np.argmin(np.abs(n)))] if normal is None else np.asarray(normal, float)
    m1 = start - (start @ n) * n
    size = np.linalg.norm(m1)
    if size < 1e-12 * max(1.0, float(np.linalg.norm(start))):
        raise ModelError(f"{name}: normal {start.tolist()} is parallel to the axis {n.tolist()}; choose another direction")
    m1 = m1 / size
    return np.array([m1, np.cross(n, m1), n])


def planar_frame(direction: ArrayLike, name: str = "joint") -> NDArray[np.float64]:
    """Unit directions t and its normal (rows) in the plane."""
    t = np.asarray(direction, float)[:2]
    length = np.linalg.norm(t)
    if not np.isfinite(length) or length == 0.0:
        raise ModelError(f"{name}: direction {np.asarray(direction).tolist()} has no length; give two numbers, not both zero")
    t = t / length
    return np.array([t, [-t[1], t[0]]])
