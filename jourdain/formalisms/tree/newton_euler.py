"""Recursive Newton–Euler: joint forces for given accelerations.

Outwards: angular velocity ω, its derivative, and the acceleration of each origin (gravity enters as an acceleration of
the ground, −g).  Inwards: force F and moment N about the origin.  With U = ω̃̇ + ω̃ω̃ the acceleration of a point at r is
a + U r, so that F = m a + U s (s the first moment) and N = I ω̇ + ω × I ω + s × a, written with the entries of U.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...symbolic.expr import TWO, ZERO, Expr, add, mul, neg, sub
from ...symbolic.vectors import NULL, Inertia, Vector
from .rods import coupling_wrenches
from .tree import Link, Tree


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


def link_motions(
    tree: Tree, gravity: bool = True, accelerations: Mapping[Expr, Expr] | None = None, acceleration: bool = True
) -> list[LinkMotion]:
    """Motion of every link; with ``acceleration=False`` the joint accelerations are taken as zero."""
    ground = LinkMotion(NULL, NULL, -tree.model.gravity if gravity else NULL)
    motions: list[LinkMotion] = []
    for link in tree.links:
        before = motions[link.parent] if link.parent >= 0 else ground
        omega = link.into(before.omega)
        omega_dot = link.into(before.omega_dot)
        spin, spin2 = relative_spin(link, acceleration)
        if link.kind != "T":
            omega_dot = omega_dot + omega.cross(spin) + spin2
            omega = omega + spin
        origin = link.into(before.acceleration + before.at(link.d))
        motion = LinkMotion(omega, omega_dot, origin)
        if link.kind == "T":
            motion.acceleration = origin + _sliding(link, motion, acceleration)
        motions.append(motion)
    return motions


def relative_spin(link: Link, acceleration: bool = True) -> tuple[Vector, Vector]:
    """Relative angular velocity and its derivative, in the link's axes."""
    if link.kind == "S":
        return link.spin, (link.spin2 if acceleration else NULL)
    w = [ZERO, ZERO, ZERO]
    w2 = [ZERO, ZERO, ZERO]
    w[link.axis] = link.rate
    if acceleration or not link.freedoms:
        w2[link.axis] = link.rate2
    return Vector(*w), Vector(*w2)


def _sliding(link: Link, motion: LinkMotion, acceleration: bool) -> Vector:
    """Relative, Coriolis and centripetal acceleration of a translation."""
    w, w2 = relative_spin(link, acceleration)  # the same components, read as a translation
    return w2 + motion.omega.cross(w) * TWO + motion.at(link.slide)


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


Wrench = tuple[Vector, Vector]


def link_wrenches(
    tree: Tree, motions: list[LinkMotion], external: Mapping[int, Wrench] | None = None, ground: Vector = NULL
) -> list[Wrench]:
    """Force and moment that each link's joint transmits, about the link's origin.

    ``external`` holds for each link the resultant (force, moment about its origin) acting from outside; ``ground`` is the acceleration
    of the ground that the motions were begun with.
    """
    totals: list[Wrench] = []
    rods = coupling_wrenches(tree, motions, ground) if tree.couplings else {}
    for link, motion in zip(tree.links, motions, strict=True):
        force = motion.acceleration * link.mass + motion.at(link.moment)
        moment = inertial_moment(link.inertia, motion) + link.moment.cross(motion.acceleration)
        if link.index in rods:
            f, n = rods[link.index]
            force, moment = force + f, moment + n
        if external and link.index in external:
            f, n = external[link.index]
            force, moment = force - f, moment - n
        totals.append((force, moment))
    for link in reversed(tree.links):
        if link.parent < 0:
            continue
        force, moment = totals[link.index]
        if link.kind == "T":
            moment = moment + link.slide.cross(force)
        f = link.out(force)
        n = link.out(moment) + link.d.cross(f)
        above = totals[link.parent]
        totals[link.parent] = (above[0] + f, above[1] + n)
    return totals


def inverse_dynamics(tree: Tree, external: Mapping[int, Wrench] | None = None, acceleration: bool = True) -> list[Expr]:
    """φ(q, v, a) = M a + c: generalised forces for given accelerations (or c alone)."""
    wrenches = link_wrenches(tree, link_motions(tree, acceleration=acceleration), external, -tree.model.gravity)
    forces = [ZERO] * tree.nv
    for link in tree.links:
        force, moment = wrenches[link.index]
        for freedom in link.freedoms:
            projected = (force if link.kind == "T" else moment)[freedom.axis]
            forces[freedom.index] = add(forces[freedom.index], mul(freedom.ratio, projected))
    if acceleration:
        a = tree.a
        for i, inertia in reflected_inertias(tree).items():
            forces[i] = add(forces[i], mul(inertia, a[i]))
    return forces


def reflected_inertias(tree: Tree) -> dict[int, Expr]:
    """Rotor inertia n²J seen at each velocity coordinate."""
    found: dict[int, Expr] = {}
    for joint in tree.model.joints.values():
        inertia = joint.drive.reflected_inertia
        if inertia is ZERO:
            continue
        motion = joint.motions[-1]
        index = tree._velocity_index.get(id(motion.coordinate))
        if index is not None:
            found[index] = add(found.get(index, ZERO), mul(mul(motion.ratio, motion.ratio), inertia))
    return found
