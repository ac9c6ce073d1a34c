"""A link that coordinates move along or about a coordinate axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from ....symbolic.derivatives import jvp, sparse_jacobian
from ....symbolic.expr import ONE, ZERO, Expr, add, mul
from ....symbolic.vectors import Vector, scalar_product
from .freedom import AxisFreedom
from .link import Link


class AxisLink(Link):
    """Displacement θ with its rates, along or about the link's axis: ratio·q + offset of one coordinate, or a function of several."""

    __slots__ = ("bias2", "displacement", "rate", "rate2")
    #: the sort of its freedom
    freedom: ClassVar[type[AxisFreedom]]
    displacement: Expr
    rate: Expr
    rate2: Expr
    #: the part of θ̈ that does not depend on accelerations of free coordinates
    bias2: Expr

    def move(self, q: Sequence[Expr], v: Sequence[Expr], a: Sequence[Expr], ratio: Expr, offset: Expr, first: int | None) -> None:
        """θ, θ̇, θ̈ from the coordinate."""
        self.displacement, self.rate, self.rate2 = add(mul(ratio, q[0]), offset), mul(ratio, v[0]), mul(ratio, a[0])
        self.bias2 = self.rate2 if first is None else ZERO
        self.transmission = (ratio, offset)
        self.freedoms = [] if first is None else [self.freedom(first, self.axis, ratio)]

    def follow(self, displacement: Expr, q: Sequence[Expr], v: Sequence[Expr], a: Sequence[Expr], first: int) -> None:
        """θ(q) of several free coordinates, the first of which has the velocity index ``first``: θ̇ = Σ θ_i v_i, θ̈ = Σ θ_i a_i + θ̇_i v_i."""
        slopes = {i: e for (_, i), e in sparse_jacobian([displacement], q).items()}
        flow = dict(zip(q, v, strict=True))
        by = [slopes.get(i, ZERO) for i in range(len(q))]
        self.displacement, self.rate = displacement, scalar_product(by, v)
        self.bias2 = scalar_product(jvp(by, flow), v)
        self.rate2 = add(scalar_product(by, a), self.bias2)
        self.transmission = (ONE, ZERO)
        self.freedoms = [self.freedom(first + i, self.axis, slope) for i, slope in sorted(slopes.items())]

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
        return self.along_axis(self.rate), self.along_axis(self.rate2 if acceleration else self.bias2)


__all__ = ["AxisLink"]
