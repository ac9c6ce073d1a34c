"""A link that one coordinate moves along or about a coordinate axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from ....symbolic.expr import ZERO, Expr, add, mul
from ....symbolic.vectors import Vector
from .freedom import AxisFreedom
from .link import Link


class AxisLink(Link):
    """Displacement θ = ratio·q + offset with its rates, along or about the link's axis."""

    __slots__ = ("displacement", "rate", "rate2")
    #: the sort of its freedom
    freedom: ClassVar[type[AxisFreedom]]
    displacement: Expr
    rate: Expr
    rate2: Expr

    def move(self, q: Sequence[Expr], v: Sequence[Expr], a: Sequence[Expr], ratio: Expr, offset: Expr, first: int | None) -> None:
        """θ, θ̇, θ̈ from the coordinate."""
        self.displacement, self.rate, self.rate2 = add(mul(ratio, q[0]), offset), mul(ratio, v[0]), mul(ratio, a[0])
        self.transmission = (ratio, offset)
        self.freedoms = [] if first is None else [self.freedom(first, self.axis, ratio)]

    @property
    def prescribed(self) -> list[Expr]:
        """θ, θ̇, θ̈."""
        return [self.displacement, self.rate, self.rate2]

    def along_axis(self, x: Expr) -> Vector:
        """A vector along the axis."""
        e = [ZERO, ZERO, ZERO]
        e[self.axis] = x
        return Vector(*e)

    def rates(self, acceleration: bool) -> tuple[Vector, Vector]:
        """θ̇ and θ̈ as vectors."""
        return self.along_axis(self.rate), self.along_axis(self.rate2 if acceleration or not self.freedoms else ZERO)


__all__ = ["AxisLink"]
