"""Motion of a link, and what it asks of mass: the quantities that sorts of links and formalisms exchange."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ....symbolic.expr import Expr, add, mul, neg, sub
from ....symbolic.vectors import NULL, Inertia, Vector

#: Force, and moment about a link's origin, in its frame of expression.
Wrench = tuple[Vector, Vector]

#: Mass, first moment and inertia about a link's origin, in its frame of expression.
MassMoments = tuple[Expr, Vector, Inertia]


class Relative(NamedTuple):
    """Motion of a link as seen from its parent, in the link's own axes: of its axes and of its origin."""

    omega: Vector
    omega_dot: Vector
    velocity: Vector
    acceleration: Vector


class LinkMotion:
    """Angular velocity and acceleration, the matrix U and the acceleration of the origin of one link."""

    __slots__ = ("acceleration", "omega", "omega_dot", "rows")

    def __init__(self, omega: Vector, omega_dot: Vector, acceleration: Vector) -> None:
        self.omega = omega
        self.omega_dot = omega_dot
        self.acceleration = acceleration
        x, y, z = omega.x, omega.y, omega.z
        ax, ay, az = omega_dot.x, omega_dot.y, omega_dot.z
        xy, xz, yz = mul(x, y), mul(x, z), mul(y, z)
        xx, yy, zz = mul(x, x), mul(y, y), mul(z, z)
        self.rows = (
            Vector(neg(add(yy, zz)), sub(xy, az), add(xz, ay)),
            Vector(add(xy, az), neg(add(xx, zz)), sub(yz, ax)),
            Vector(sub(xz, ay), add(yz, ax), neg(add(xx, yy))),
        )

    def at(self, r: Vector) -> Vector:
        """U r: acceleration of a point relative to the origin."""
        if r.is_zero:
            return NULL
        a, b, c = self.rows
        return Vector(a.dot(r), b.dot(r), c.dot(r))


#: Rest.
STILL = LinkMotion(NULL, NULL, NULL)


def inertial_moment(I: Inertia, m: LinkMotion) -> Vector:
    """I ω̇ + ω × I ω with the products of rates taken from U."""
    w, a = m.omega, m.omega_dot
    (uxx, uxy, uxz), (uyx, uyy, uyz), (uzx, uzy, uzz) = m.rows
    x = add(mul(I.xx, a.x), mul(sub(I.zz, I.yy), mul(w.y, w.z)))
    x = add(x, sub(add(mul(I.xz, uyx), mul(I.yz, sub(uyy, uzz))), mul(I.xy, uzx)))
    y = add(mul(I.yy, a.y), mul(sub(I.xx, I.zz), mul(w.x, w.z)))
    y = add(y, sub(add(mul(I.xy, uzy), mul(I.xz, sub(uzz, uxx))), mul(I.yz, uxy)))
    z = add(mul(I.zz, a.z), mul(sub(I.yy, I.xx), mul(w.x, w.y)))
    z = add(z, sub(add(mul(I.yz, uxz), mul(I.xy, sub(uxx, uyy))), mul(I.xz, uyz)))
    return Vector(x, y, z)


@dataclass
class Field:
    """Accelerations 2x × ρ̇ + α × ρ + a of the points a freedom carries, ρ from the link's origin."""

    x: Vector
    alpha: Vector
    a: Vector


__all__ = ["STILL", "Field", "LinkMotion", "MassMoments", "Relative", "Wrench", "inertial_moment"]
