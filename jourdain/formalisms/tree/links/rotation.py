"""Rotation about a coordinate axis of the link."""

from __future__ import annotations

from collections.abc import Sequence

from ....symbolic.expr import HALF, ZERO, Expr, add, mul
from ....symbolic.vectors import NULL, AxisTurn, Inertia, Matrix, Turn, Vector
from .axis_link import AxisLink
from .freedom import AxisFreedom, Map
from .link import Link
from .motion import Field, LinkMotion, MassMoments, Relative, Wrench


class RotationFreedom(AxisFreedom):
    """Turning about an axis through the link's origin."""

    __slots__ = ()

    def project(self, force: Vector, moment: Vector) -> Expr:
        """e·N."""
        return moment[self.axis]

    def along(self, turned: Map, force: Vector, moment: Vector) -> Expr:
        """u·N."""
        return turned(self.unit).dot(moment)

    def change(self, force: Vector, moment: Vector) -> Wrench:
        """Both turn with the link."""
        return self.unit.cross(force), self.unit.cross(moment)

    def velocities(self, turned: Map, arm: Vector) -> tuple[Vector, Vector]:
        """{u × ρ; u}."""
        u = turned(self.unit)
        return u.cross(arm), u

    def moved(self, a: Vector, alpha: Vector, by: Expr) -> tuple[Vector, Vector]:
        """An angular acceleration more."""
        return a, alpha + self.unit * by

    def by_position(self, axes: LinkMotion, acceleration: Vector) -> Field:
        """2ė × ρ̇ + ë × ρ − e × a_O."""
        return Field(axes.omega.cross(self.unit), axes.at(self.unit), acceleration.cross(self.unit))

    def by_rate(self, change: Map) -> Field:
        """2e × ρ̇ + (ė + ė_j) × ρ."""
        return Field(self.unit, change(self.unit), NULL)

    def by_acceleration(self) -> Field:
        """e × ρ."""
        return Field(NULL, self.unit, NULL)

    def asked(self, m: Expr, s: Vector, I: Inertia) -> Wrench:
        """{e × s; I e}."""
        return self.unit.cross(s), I.column(self.axis)

    def articulated(self, A: Inertia, B: Matrix, C: Inertia, force: Vector, moment: Vector) -> tuple[Vector, Vector, Expr, Expr]:
        """{B e; C e}, e·C e, e·N."""
        k, U = self.axis, C.column(self.axis)
        return B.column(k), U, U[k], moment[k]

    def reading(self, P: Vector, E: Matrix) -> Vector:
        """Eᵀ e."""
        return E.T @ self.unit  # type: ignore[no-any-return]


class Rotation(AxisLink):
    """A hinge."""

    __slots__ = ()
    letter = "R"
    freedom = RotationFreedom

    def own_turn(self) -> Turn | None:
        """By θ about the axis."""
        return AxisTurn.by(self.axis, self.displacement)

    def continues(self, parent: Link) -> bool:
        """Behind a rotation about the same axis."""
        return isinstance(parent, Rotation) and parent.axis == self.axis

    def join(self, parent: Link) -> None:
        """In one frame of expression the links stand turned by sums of angles."""
        self.root, self.turns = parent.root, []
        self.total = add(parent.total, self.displacement)
        self.angle = AxisTurn.by(self.axis, self.total)

    @property
    def turning_axes(self) -> tuple[int, ...]:
        """The axis."""
        return (self.axis,)

    def relative(self, acceleration: bool = True) -> Relative:
        """θ̇ and θ̈ about the axis."""
        rate, rate2 = self.rates(acceleration)
        return Relative(rate, rate2, NULL, NULL)

    def driving_force(self, force: Vector, moment: Vector) -> Expr:
        """The moment about the axis."""
        return moment[self.axis]

    def unfelt(self, continued: bool) -> MassMoments:
        """A mass with its first moment along the axis and the inertia diag(J, J, 0) about it looks the same however it is turned."""
        k, s = self.axis, self.own_moment
        i, j = (k + 1) % 3, (k + 2) % 3
        I = self.own_inertia
        diagonal = [I.xx, I.yy, I.zz]
        J = mul(HALF, add(diagonal[i], diagonal[j])) if continued else diagonal[j]
        xx, yy, zz = (ZERO if axis == k else J for axis in range(3))
        return self.mass, self.along_axis(s[k]), Inertia(xx, yy, zz, ZERO, ZERO, ZERO)

    def remembered(self) -> list[Expr]:
        """Cosine and sine."""
        turn = AxisTurn.by(self.axis, self.displacement)
        return [turn.c, turn.s]

    def recalled(self, numbers: Sequence[Expr]) -> Turn | None:
        """From cosine and sine."""
        return AxisTurn(self.axis, numbers[0], numbers[1])


__all__ = ["Rotation", "RotationFreedom"]
