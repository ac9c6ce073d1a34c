"""Free rotation about the link's origin, by a unit quaternion."""

from __future__ import annotations

from collections.abc import Sequence

from ....symbolic.expr import Expr
from ....symbolic.vectors import NO_INERTIA, NULL, Matrix, MatrixTurn, QuaternionTurn, Turn, Vector, quaternion_rotation
from .link import Link
from .motion import LinkMotion, MassMoments, Relative
from .rotation import RotationFreedom


class Ball(Link):
    """A ball joint; its velocities are the relative angular velocity in the link's own axes."""

    __slots__ = ("quaternion", "spin", "spin2")
    letter = "S"
    positions = 4
    velocities = 3
    reversible = False
    quaternion: Sequence[Expr]
    #: relative angular velocity and its derivative
    spin: Vector
    spin2: Vector

    def move(self, q: Sequence[Expr], v: Sequence[Expr], a: Sequence[Expr], ratio: Expr, offset: Expr, first: int | None) -> None:
        """By a quaternion (scalar first), which has no ratio."""
        self.quaternion, self.spin, self.spin2 = q, Vector(*v), Vector(*a)
        self.transmission = (ratio, offset)
        self.freedoms = [] if first is None else [RotationFreedom(first + j, j, ratio) for j in range(3)]

    def own_turn(self) -> Turn | None:
        """By the quaternion's matrix."""
        return QuaternionTurn(self.quaternion)

    @property
    def turning_axes(self) -> tuple[int, ...]:
        """All."""
        return 0, 1, 2

    def relative(self, acceleration: bool = True) -> Relative:
        """ω and ω̇ of the coordinate."""
        return Relative(self.spin, self.spin2 if acceleration else NULL, NULL, NULL)

    def axes_motion(self, own: LinkMotion, before: LinkMotion) -> LinkMotion:
        """The axes are fixed in the link alone: their change is seen from the parent."""
        return LinkMotion(self.into(before.omega), self.into(before.omega_dot), NULL)

    def unfelt(self, continued: bool) -> MassMoments:
        """A point mass at the joint looks the same however it is turned."""
        return self.mass, NULL, NO_INERTIA

    def remembered(self) -> list[Expr]:
        """The rotation's nine entries."""
        return quaternion_rotation(*self.quaternion).entries

    def recalled(self, numbers: Sequence[Expr]) -> Turn | None:
        """From the entries."""
        return MatrixTurn(Matrix.of([numbers[0:3], numbers[3:6], numbers[6:9]]))


__all__ = ["Ball"]
