"""Mirror images of vectors, rotations, inertias and shapes in a coordinate plane, S = diag(±1).

Positions and forces turn over as S v, angular velocities and torques as det S · S w, rotations and inertias as S R S
(right-handed frames stay right-handed).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from ..errors import InputError, ModelError
from ..symbolic.expr import Expr, neg, signed
from ..symbolic.vectors import Inertia, Matrix, Vector
from .shapes import Box, Cone, Mesh, Placement, Plane, Prism, Revolved, Shape
from .shapes.mass import MassProperties
from .shapes.solids import Axial

_AXES = "xyz"


@dataclass(frozen=True)
class Mirror:
    """The mirror image along an axis ("x", "y", "z"), or the thing itself for None."""

    axis: str | None = None

    def __post_init__(self) -> None:
        if self.axis not in (None, "x", "y", "z"):
            raise ModelError(f"mirror '{self.axis}' is unknown; use 'x', 'y' or 'z', the axis that turns over")

    @property
    def signs(self) -> tuple[int, int, int]:
        """Diagonal of S."""
        x, y, z = (-1 if c == self.axis else 1 for c in _AXES)
        return x, y, z

    @property
    def turning_signs(self) -> tuple[int, int, int]:
        """Diagonal of det S · S, for rotations."""
        det = 1 if self.axis is None else -1
        x, y, z = (det * s for s in self.signs)
        return x, y, z

    def vector(self, v: Vector) -> Vector:
        """S v."""
        return Vector(*(signed(s, e) for s, e in zip(self.signs, v, strict=True)))

    def turning(self, w: Vector) -> Vector:
        """det S · S w."""
        return Vector(*(signed(s, e) for s, e in zip(self.turning_signs, w, strict=True)))

    def matrix(self, R: Matrix) -> Matrix:
        """S R S."""
        s = self.signs
        return Matrix.of([[signed(s[i] * s[j], R[i, j]) for j in range(3)] for i in range(3)])

    def inertia(self, tensor: Inertia) -> Inertia:
        """S I S."""
        return Inertia.of(self.matrix(tensor.matrix()))

    def shape(self, shape: Shape) -> Shape:
        """The mirror image of a shape in its reference frame: S (R A + p) = (S R S)(S A) + S p."""
        if self.axis is None:
            return shape
        s = self.signs
        p, R = shape.placement.position, shape.placement.rotation
        position = tuple(_turned(s[i], p[i]) for i in range(3))
        rotation = tuple(tuple(_turned(s[i] * s[j], R[i][j]) for j in range(3)) for i in range(3))
        placed = Placement(position, rotation)  # type: ignore[arg-type]
        own, shift = self._own(replace(shape, placement=Placement()))
        return replace(own, placement=placed @ Placement(shift))

    def _own(self, shape: Shape) -> tuple[Shape, tuple[Any, Any, Any]]:
        """S A for a shape in its own frame, and how far it must be moved for that."""
        k = _AXES.index(self.axis or "x")
        if isinstance(shape, Mesh):
            mirrored = shape.vertices * np.array(self.signs)
            unscaled = None if shape.unscaled is None else self._properties(shape.unscaled)
            return replace(shape, vertices=mirrored, faces=shape.faces[:, ::-1].copy(), unscaled=unscaled, source=None), (0.0, 0.0, 0.0)
        if isinstance(shape, Prism) and shape.axis != self.axis:
            index = (k - _AXES.index(shape.axis) - 1) % 3  # polygon axes follow the extrusion axis cyclically
            polygon = tuple(tuple(_turned(-1, e) if i == index else e for i, e in enumerate(point)) for point in reversed(shape.polygon))
            return replace(shape, polygon=polygon), (0.0, 0.0, 0.0)
        if isinstance(shape, Revolved):
            if shape.axis != self.axis:
                return shape, (0.0, 0.0, 0.0)
            return replace(shape, profile=tuple((r, _turned(-1, z)) for r, z in reversed(shape.profile))), (0.0, 0.0, 0.0)
        if isinstance(shape, Plane) and shape.axis[-1] == self.axis:
            return replace(shape, axis=shape.axis[1:] if shape.axis.startswith("-") else f"-{shape.axis}"), (0.0, 0.0, 0.0)
        if isinstance(shape, Box):
            return shape, _along(0, -shape.lx) if shape.anchor == "start" and k == 0 else (0.0, 0.0, 0.0)
        if isinstance(shape, Axial) and shape.axis == self.axis:
            turned: Axial = replace(shape, r1=shape.r2, r2=shape.r1) if isinstance(shape, Cone) else shape
            return turned, _along(k, -shape._extent()) if shape.anchor == "start" else (0.0, 0.0, 0.0)
        changed = {f.name: self._part(getattr(shape, f.name)) for f in fields(shape) if f.name in ("parts", "base", "tool")}
        return replace(shape, **changed), (0.0, 0.0, 0.0)

    def _part(self, part: Any) -> Any:
        return tuple(self.shape(p) for p in part) if isinstance(part, tuple) else self.shape(part)

    def _properties(self, given: MassProperties) -> MassProperties:
        s = self.signs
        com = tuple(_turned(s[i], given.com[i]) for i in range(3))
        second = tuple(tuple(_turned(s[i] * s[j], given.second[i][j]) for j in range(3)) for i in range(3))
        return MassProperties(given.mass, com, second)  # type: ignore[arg-type]


def _turned(s: int, x: Any) -> Any:
    return x if s > 0 else (neg(x) if isinstance(x, Expr) else -x if x else x)


def _along(k: int, length: Any) -> tuple[Any, Any, Any]:
    x, y, z = (length if i == k else 0.0 for i in range(3))
    return x, y, z


def mapped_shape(shape: Shape, change: Callable[[Expr], Any]) -> Shape:
    """A shape with every symbolic entry replaced."""

    def mapped(value: Any) -> Any:
        if isinstance(value, Expr):
            new = change(value)
            return float(new) if isinstance(new, Expr) and new.is_number else new
        if isinstance(value, tuple):
            return tuple(mapped(entry) for entry in value)
        if isinstance(value, Shape):
            return mapped_shape(value, change)
        if isinstance(value, Placement):
            return Placement(mapped(value.position), mapped(value.rotation))
        return value

    if not isinstance(shape, Shape):
        raise InputError(f"{shape!r} is not a shape of this package and cannot be copied")
    return replace(shape, **{f.name: mapped(getattr(shape, f.name)) for f in fields(shape)})


__all__ = ["Mirror", "mapped_shape"]
