"""Translation along a coordinate axis of the link."""

from __future__ import annotations

from collections.abc import Sequence

from ....symbolic.expr import TWO, ZERO, Expr
from ....symbolic.vectors import NULL, Inertia, Matrix, Turn, Vector
from .axis_link import AxisLink
from .freedom import AxisFreedom, Map
from .motion import Field, LinkMotion, MassMoments, Relative, Wrench


class TranslationFreedom(AxisFreedom):
    """Sliding along an axis."""

    __slots__ = ()

    def project(self, force: Vector, moment: Vector) -> Expr:
        """e·F."""
        return force[self.axis]

    def along(self, turned: Map, force: Vector, moment: Vector) -> Expr:
        """u·F."""
        return turned(self.unit).dot(force)

    def change(self, force: Vector, moment: Vector) -> Wrench:
        """The force gets another arm."""
        return NULL, self.unit.cross(force)

    def velocities(self, turned: Map, arm: Vector) -> tuple[Vector, Vector]:
        """{u; 0}."""
        return turned(self.unit), NULL

    def moved(self, a: Vector, alpha: Vector, by: Expr) -> tuple[Vector, Vector]:
        """An acceleration of the origin more."""
        return a + self.unit * by, alpha

    def by_position(self, axes: LinkMotion, acceleration: Vector) -> Field:
        """ë."""
        return Field(NULL, NULL, axes.at(self.unit))

    def by_rate(self, change: Map) -> Field:
        """ė + ė_j."""
        return Field(NULL, NULL, change(self.unit))

    def by_acceleration(self) -> Field:
        """e."""
        return Field(NULL, NULL, self.unit)

    def asked(self, m: Expr, s: Vector, I: Inertia) -> Wrench:
        """{m e; s × e}."""
        return self.unit * m, s.cross(self.unit)

    def articulated(self, A: Inertia, B: Matrix, C: Inertia, force: Vector, moment: Vector) -> tuple[Vector, Vector, Expr, Expr]:
        """{A e; Bᵀ e}, e·A e, e·F."""
        k, U = self.axis, A.column(self.axis)
        return U, B.rows[k], U[k], force[k]

    def reading(self, P: Vector, E: Matrix) -> Vector:
        """2P × e."""
        return P.cross(self.unit)


class Translation(AxisLink):
    """A slider."""

    __slots__ = ()
    letter = "T"
    freedom = TranslationFreedom

    def own_turn(self) -> Turn | None:
        """None."""
        return None

    @property
    def slide(self) -> Vector:
        """θ along the axis."""
        return self.along_axis(self.displacement)

    @property
    def sliding_axes(self) -> tuple[int, ...]:
        """The axis."""
        return (self.axis,)

    def relative(self, acceleration: bool = True) -> Relative:
        """θ̇ and θ̈ along the axis."""
        rate, rate2 = self.rates(acceleration)
        return Relative(NULL, NULL, rate, rate2)

    def motion(self, before: LinkMotion, acceleration: bool = True) -> LinkMotion:
        """The parent's turning, with relative, Coriolis and centripetal acceleration of the origin: the general case in fewer steps."""
        omega, omega_dot = self.into(before.omega), self.into(before.omega_dot)
        origin = self.into(before.acceleration + before.at(self.d))
        motion = LinkMotion(omega, omega_dot, origin)
        w, w2 = self.rates(acceleration)
        motion.acceleration = origin + (w2 + motion.omega.cross(w) * TWO + motion.at(self.slide))
        return motion

    def point_bias(self, omega: Vector, own: Relative, before: Vector, origin: Vector, point: Vector) -> tuple[Vector, Vector]:
        """Coriolis and centripetal acceleration."""
        return omega.cross(omega.cross(point - before)) + omega.cross(own.velocity) * TWO + own.acceleration, NULL

    def driving_force(self, force: Vector, moment: Vector) -> Expr:
        """The force along the axis."""
        return force[self.axis]

    def unfelt(self, continued: bool) -> MassMoments:
        """A pure inertia looks the same however it is displaced."""
        return ZERO, NULL, self.own_inertia

    def remembered(self) -> list[Expr]:
        """The displacement."""
        return [self.displacement]

    def recalled(self, numbers: Sequence[Expr]) -> Turn | None:
        """From the displacement."""
        self.displacement = numbers[0]
        return None


__all__ = ["Translation", "TranslationFreedom"]
