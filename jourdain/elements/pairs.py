"""Kinematic pairs between bodies by points and directions: the lower pairs, the universal joint and the rigid connection.

Each body carries the joint's place and a right-handed frame m₁, m₂, n (n along the axis); Δp = p_b − p_a.  All constraints
are at most quadratic, so their discrete gradient is the gradient at the mean coordinates (Uhlar, Secs. 4.2 and 5.2).
``freedoms`` gives the discrete null space of the pair: vectors evaluated at the mean coordinates, which are not
orthonormal, and written so that every constraint's discrete gradient vanishes along them exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import ModelError
from ..symbolic.expr import Expr, sub
from ..symbolic.vectors import AXES, NULL, Vector
from .carriers import Carrier, Directors, Ground, PlanarDirectors, planar_frame, right_handed_frame
from .element import Element, Names, Symbols, Term

Freedom = tuple[Vector, Vector]
"""A relative motion of body b: angular velocity, and velocity of b's joint point beyond that of being carried with body a."""

Rows = Sequence[tuple[str, Sequence[Term]]]


@dataclass(frozen=True)
class JointVectors:
    """The joint's vectors at some coordinates: Δp, and the frames of both bodies."""

    gap: Vector
    a: Sequence[Vector]
    b: Sequence[Vector]


class Pair(Element):
    """Base of joints: ``a`` and ``b`` say what kind of body each side is (``Ground()`` for a joint to the ground)."""

    #: Whether the type needs frames beside the joint's place.
    framed = True
    #: Whether only body a carries a frame (cavities).
    framed_at_a_only = False
    #: Directions between which components of Δp and angles are counted: 3 in space, 2 in the plane.
    dimension = 3

    def __init__(self, a: Carrier | None = None, b: Carrier | None = None) -> None:
        usual = Directors() if self.dimension == 3 else PlanarDirectors()
        self.a, self.b = a or usual, b or usual
        for given in (self.a, self.b):
            if not isinstance(given, Carrier):
                raise ModelError(f"{self.name}: {given!r} is no kind of body; give Ground(), Directors() or another carrier")
        for side, framed in ((self.a, self.framed), (self.b, self.framed and not self.framed_at_a_only)):
            if side.dimension != self.dimension:
                raise ModelError(f"{self.name}: a body of kind '{side.name}' has {side.dimension} dimensions, the joint {self.dimension}")
            if framed and not side.has_directions:
                raise ModelError(f"{self.name}: a body of kind '{side.name}' carries no directions; use a spherical joint or a rigid body")
        self.blocks = {**self.a.blocks("a"), **self.b.blocks("b")}
        self.constants = {"point_a": self.a.local, "point_b": self.b.local}
        if self.framed:
            self.constants |= {"frame_a": self.a.frame} | ({} if self.framed_at_a_only else {"frame_b": self.b.frame})
        self.constants = {k: n for k, n in self.constants.items() if n}

    def vectors(self, s: Symbols, p: Names) -> JointVectors:
        """The joint's vectors at the coordinates of p (``s`` itself, ``s.mid`` …)."""
        gap = self.b.point(p, "b", numbers(s, "point_b")) - self.a.point(p, "a", numbers(s, "point_a"))
        if not self.framed:
            return JointVectors(gap, (), ())
        return JointVectors(gap, self.a.axes(p, "a", numbers(s, "frame_a")), self.b.axes(p, "b", numbers(s, "frame_b")))

    def angles(self, frame: Sequence[NDArray[np.float64]]) -> dict[str, NDArray[np.float64]]:
        """Constants that say how the axes of a given frame stand to each other; of most pairs they are right angles."""
        return {}

    def freedoms(self, s: Symbols) -> list[Freedom]:
        """Columns of the discrete null space: relative motions (ω, velocity of the joint point) at mean coordinates."""
        raise NotImplementedError

    def place(
        self, point: ArrayLike, axis: ArrayLike | None = None, a: ArrayLike | None = None, b: ArrayLike | None = None,
        normal: ArrayLike | None = None,
    ) -> dict[str, NDArray[np.float64]]:  # fmt: skip
        """Constants of the joint at a place and along an axis (in space) for the start coordinates of the bodies.

        ``a`` and ``b`` are the bodies' coordinates (not needed for the ground); ``normal`` fixes the direction m₁ of the
        frame, from which angles are counted.
        """
        qa, qb = self._coordinates(a, self.a, "a"), self._coordinates(b, self.b, "b")
        if np.shape(point) != (self.dimension,) or not np.isfinite(np.asarray(point, float)).all():
            raise ModelError(f"{self.name}: point {np.asarray(point).tolist()} is no place; give {self.dimension} finite numbers")
        made = {"point_a": self.a.locate(qa, point), "point_b": self.b.locate(qb, point)}
        if self.framed:
            frame = self._frame(axis, normal)
            made["frame_a"] = np.concatenate([self.a.components(qa, e) for e in frame])
            if not self.framed_at_a_only:
                made["frame_b"] = np.concatenate([self.b.components(qb, e) for e in frame])
        return {k: v for k, v in made.items() if len(v)}

    def _coordinates(self, q: ArrayLike | None, side: Carrier, letter: str) -> ArrayLike:
        if q is None and side.size:
            raise ModelError(f"{self.name}: the start coordinates of body {letter} ({side.name}, {side.size} numbers) are missing")
        return () if q is None else q

    def _frame(self, axis: ArrayLike | None, normal: ArrayLike | None) -> NDArray[np.float64]:
        if self.dimension == 2:
            return planar_frame((1.0, 0.0) if axis is None else axis, self.name)
        return right_handed_frame((0.0, 0.0, 1.0) if axis is None else axis, normal, self.name)


def numbers(s: Symbols, name: str) -> tuple[Expr, ...]:
    """A constant as a tuple, whatever its size."""
    value = getattr(s, name, ())
    return value if isinstance(value, tuple) else (value,)


def coincidence(gap: Vector, dimension: int = 3) -> list[tuple[str, Sequence[Term]]]:
    """Δp = 0 by components."""
    return [(f"position.{'xyz'[i]}", (gap[i],)) for i in range(dimension)]


def alignment(v: JointVectors) -> list[tuple[str, Sequence[Term]]]:
    """n_a ⟂ m₁, m₂ of b: the axes stay parallel."""
    return [(f"axis.{k + 1}", (v.a[2].dot(v.b[k]),)) for k in range(2)]


def orientation(v: JointVectors) -> list[tuple[str, Sequence[Term]]]:
    """All three relative rotations locked: m₁_a·m₂_b = m₂_a·n_b = n_a·m₁_b = 0."""
    return [(f"orientation.{k + 1}", (v.a[k].dot(v.b[(k + 1) % 3]),)) for k in range(3)]


class Spherical(Pair):
    """Ball joint: Δp = 0 (Uhlar, eq. 4.46)."""

    framed = False

    def constraints(self, s: Symbols) -> Rows:
        """Three rows."""
        return coincidence(self.vectors(s, s).gap)

    def freedoms(self, s: Symbols) -> list[Freedom]:
        """Rotation about any axis through the joint."""
        return [(e, NULL) for e in AXES]


class Revolute(Pair):
    """Hinge about n: Δp = 0 and n_a ⟂ m₁, m₂ of b (Uhlar, eq. 4.52).

    >>> import numpy as np
    >>> hinge = Revolute(a=Ground())
    >>> hinge.rows()
    ['position.x', 'position.y', 'position.z', 'axis.1', 'axis.2']
    >>> body = np.array([0, 0, -1, 1, 0, 0, 0, 1, 0, 0, 0, 1.0])  # one metre below the hinge
    >>> hinge.place((0, 0, 0), axis=(0, 1, 0), b=body)["point_b"]
    array([0., 0., 1.])
    """

    def constraints(self, s: Symbols) -> Rows:
        """Five rows."""
        v = self.vectors(s, s)
        return coincidence(v.gap) + alignment(v)

    def freedoms(self, s: Symbols) -> list[Freedom]:
        """Rotation about n."""
        return [(self.vectors(s, s.mid).a[2], NULL)]


class Prismatic(Pair):
    """Slider along n: m₁·Δp = m₂·Δp = 0 and locked rotation (Uhlar, eq. 4.58)."""

    def constraints(self, s: Symbols) -> Rows:
        """Five rows."""
        v = self.vectors(s, s)
        return lateral(v) + orientation(v)

    def freedoms(self, s: Symbols) -> list[Freedom]:
        """Translation along m₁ × m₂ (mean vectors: not n)."""
        return [(NULL, slide(self.vectors(s, s.mid)))]


class Cylindrical(Pair):
    """Sliding and turning about n: m₁·Δp = m₂·Δp = 0 and n_a ⟂ m₁, m₂ of b (Uhlar, eq. 4.33)."""

    def constraints(self, s: Symbols) -> Rows:
        """Four rows."""
        v = self.vectors(s, s)
        return lateral(v) + alignment(v)

    def freedoms(self, s: Symbols) -> list[Freedom]:
        """Translation along m₁ × m₂, rotation about n."""
        v = self.vectors(s, s.mid)
        return [(NULL, slide(v)), (v.a[2], NULL)]


class Planar(Pair):
    """Sliding on the plane normal to n: n·Δp = 0 and n_a ⟂ m₁, m₂ of b (Uhlar, eq. 4.65)."""

    def constraints(self, s: Symbols) -> Rows:
        """Three rows."""
        v = self.vectors(s, s)
        return [("normal", (v.a[2].dot(v.gap),)), *alignment(v)]

    def freedoms(self, s: Symbols) -> list[Freedom]:
        """Translations along m₂ × n and n × m₁ (m₁ and m₂ themselves leave the plane at mean vectors), rotation about n."""
        m1, m2, n = self.vectors(s, s.mid).a
        return [(NULL, m2.cross(n)), (NULL, n.cross(m1)), (n, NULL)]


class Universal(Pair):
    """Cross joint: Δp = 0, and the axis m₁ fixed to a keeps its angle to the axis m₂ fixed to b, whose ``cosine`` is 0 for a right one."""

    def __init__(self, a: Carrier | None = None, b: Carrier | None = None) -> None:
        super().__init__(a, b)
        self.constants |= {"cosine": 1}

    def constraints(self, s: Symbols) -> Rows:
        """Four rows."""
        v = self.vectors(s, s)
        return [*coincidence(v.gap), ("cross", (sub(v.a[0].dot(v.b[1]), s.cosine),))]

    def angles(self, frame: Sequence[NDArray[np.float64]]) -> dict[str, NDArray[np.float64]]:
        """The cosine between both axes of the cross."""
        return {"cosine": np.atleast_1d(frame[0] @ frame[1])}

    def place(
        self, point: ArrayLike, axis: ArrayLike | None = None, a: ArrayLike | None = None, b: ArrayLike | None = None,
        normal: ArrayLike | None = None,
    ) -> dict[str, NDArray[np.float64]]:  # fmt: skip
        """As for every joint; the axes of the cross are normal to each other."""
        return {**super().place(point, axis, a, b, normal), "cosine": np.zeros(1)}

    def freedoms(self, s: Symbols) -> list[Freedom]:
        """Rotations about both axes of the cross."""
        v = self.vectors(s, s.mid)
        return [(v.a[0], NULL), (v.b[1], NULL)]

    def _frame(self, axis: ArrayLike | None, normal: ArrayLike | None) -> NDArray[np.float64]:
        """``axis`` is the first axis of the cross (fixed to a), ``normal`` the second (fixed to b)."""
        second, third, first = right_handed_frame((1.0, 0.0, 0.0) if axis is None else axis, normal, self.name)
        return np.array([first, second, third])


class Rigid(Pair):
    """Welded connection: Δp = 0 and locked rotation."""

    def constraints(self, s: Symbols) -> Rows:
        """Six rows."""
        v = self.vectors(s, s)
        return coincidence(v.gap) + orientation(v)

    def freedoms(self, s: Symbols) -> list[Freedom]:
        """None."""
        return []


class PlanarRevolute(Pair):
    """Hinge in the plane: Δp = 0 (Uhlar, Sec. 5.2)."""

    framed = False
    dimension = 2

    def constraints(self, s: Symbols) -> Rows:
        """Two rows."""
        return coincidence(self.vectors(s, s).gap, 2)

    def freedoms(self, s: Symbols) -> list[Freedom]:
        """Rotation in the plane."""
        return [(AXES[2], NULL)]


class PlanarPrismatic(Pair):
    """Slider in the plane along t: m_a·Δp = 0 and m_a ⟂ t_b, with m the normal of t."""

    dimension = 2

    def constraints(self, s: Symbols) -> Rows:
        """Two rows."""
        v = self.vectors(s, s)
        return [("normal", (v.a[1].dot(v.gap),)), ("orientation", (v.a[1].dot(v.b[0]),))]

    def freedoms(self, s: Symbols) -> list[Freedom]:
        """Translation at right angles to the mean normal."""
        m = self.vectors(s, s.mid).a[1]
        return [(NULL, m.cross(AXES[2]))]


class PlanarRigid(Pair):
    """Welded connection in the plane."""

    dimension = 2

    def constraints(self, s: Symbols) -> Rows:
        """Three rows."""
        v = self.vectors(s, s)
        return [*coincidence(v.gap, 2), ("orientation", (v.a[1].dot(v.b[0]),))]

    def freedoms(self, s: Symbols) -> list[Freedom]:
        """None."""
        return []


def lateral(v: JointVectors) -> list[tuple[str, Sequence[Term]]]:
    """m₁·Δp = m₂·Δp = 0: the joint point of b stays on the axis of a."""
    return [(f"lateral.{k + 1}", (v.a[k].dot(v.gap),)) for k in range(2)]


def slide(v: JointVectors) -> Vector:
    """The direction in which both lateral rows vanish."""
    return v.a[0].cross(v.a[1])


__all__ = [
    "Cylindrical", "Freedom", "Ground", "JointVectors", "Pair", "Planar", "PlanarPrismatic", "PlanarRevolute", "PlanarRigid",
    "Prismatic", "Revolute", "Rigid", "Spherical", "Universal", "numbers",
]  # fmt: skip
