"""Rods with mass that the tree has lost to a distance equation, with their exact inertia.

A straight rod between points of two links asks for the forces α r̈_a + β r̈_b at a and β r̈_a + α r̈_b at b (García de Jalón et al.
2003, eqs. 53–63).  The α are point masses on the links, constants that cost nothing.  What is left is the coupling β.  One or two
rods between the same two links are written point by point; with more of them Σβ, Σβ ρ_a, Σβ ρ_b and the dyad D = Σβ ρ_a ρ_bᵀ (ρ from
the links' origins) are constants that stand for all, so that the cost does not grow with the number of rods.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...model.constraints import Closure
from ...model.model import Model
from ...symbolic.derivatives import jvp
from ...symbolic.expr import TWO, ZERO, Expr, add, mul, neg, sub
from ...symbolic.vectors import IDENTITY, NULL, Inertia, Matrix, Vector
from .links import Freedom, Link, LinkMotion, Map, Wrench

if TYPE_CHECKING:
    from .kinematics import Kinematics
    from .tree import Tree


def rods_with_mass(model: Model) -> list[Closure]:
    """The model's rods that have mass."""
    return [c for c in model.constraints.values() if isinstance(c, Closure) and c.inertia is not None]


#: Up to so many rods between two links their points are cheaper than their sums.
FEW = 2


@dataclass(frozen=True)
class Coupling:
    """The β of all rods between two links (−1: the ground) with their points: rods (β, ρ_a, ρ_b)."""

    a: int
    b: int
    rods: tuple[tuple[Expr, Vector, Vector], ...]
    #: Σβ, Σβ ρ_a, Σβ ρ_b and Σβ ρ_a ρ_bᵀ
    mass: Expr
    moment_a: Vector
    moment_b: Vector
    dyad: Matrix

    @staticmethod
    def of(a: int, b: int, rods: Sequence[tuple[Expr, Vector, Vector]]) -> Coupling:
        """The coupling of some rods."""
        mass, s_a, s_b, D = ZERO, NULL, NULL, Matrix((NULL, NULL, NULL))
        for beta, p, q in rods:
            mass, s_a, s_b, D = add(mass, beta), s_a + p * beta, s_b + q * beta, D + outer(p * beta, q)
        return Coupling(a, b, tuple(rods), mass, s_a, s_b, D)

    def placed(self, A: Matrix, B: Matrix, p_a: Vector = NULL, p_b: Vector = NULL) -> Coupling:
        """The same in axes to which A and B turn, about a point from which the links' origins lie at p_a and p_b."""
        rods = tuple((beta, p_a + _times(A, p), p_b + _times(B, q)) for beta, p, q in self.rods)
        own_a = _times(A, self.moment_a)
        s_a, s_b = own_a + p_a * self.mass, _times(B, self.moment_b) + p_b * self.mass
        D = self.dyad if B is IDENTITY else Matrix(tuple(B @ row for row in self.dyad.rows))  # type: ignore[arg-type]
        D = D if A is IDENTITY else A @ D
        D = D if p_b.is_zero else D + outer(own_a, p_b)
        return Coupling(self.a, self.b, rods, self.mass, s_a, s_b, D if p_a.is_zero else D + outer(p_a, s_b))

    @property
    def swapped(self) -> Coupling:
        """The other way round."""
        rods = tuple((beta, q, p) for beta, p, q in self.rods)
        return Coupling(self.b, self.a, rods, self.mass, self.moment_b, self.moment_a, self.dyad.T)

    def force_on_a(self, freedom: Freedom, turned: Map, at: Vector) -> Wrench:
        """What a unit acceleration of b by a freedom of a link, whose origin is at a point, asks of a: Σβ{1; ρ̃_a} r̈_b (eq. 59)."""
        v, w = freedom.velocities(turned, -at)
        if w.is_zero:  # all points move alike
            return v * self.mass, self.moment_a.cross(v)
        if len(self.rods) <= FEW:
            force, moment = NULL, NULL
            for beta, p, q in self.rods:
                f = freedom.velocities(turned, q - at)[0] * beta
                force, moment = force + f, moment + p.cross(f)
            return force, moment
        D = self.dyad
        trace = add(add(D[0, 0], D[1, 1]), D[2, 2])
        return v * self.mass + w.cross(self.moment_b), self.moment_a.cross(v) + w * trace - D.T @ w

    def asked_of_a(self, R: Matrix, motion: LinkMotion) -> Wrench:
        """Σβ{1; ρ̃_a}(a + U ρ_b) with the motion of b in its axes, R from these to the axes of a."""
        if len(self.rods) <= FEW:
            force, moment = NULL, NULL
            for beta, p, q in self.rods:
                f = _times(R, motion.acceleration + motion.at(q)) * beta
                force, moment = force + f, moment + p.cross(f)
            return force, moment
        acceleration = _times(R, motion.acceleration)
        force = acceleration * self.mass + _times(R, motion.at(self.moment_b))
        DU = [motion.at(row) for row in self.dyad.rows]

        def entry(i: int, j: int) -> Expr:
            return DU[i].dot(R.rows[j])

        turning = Vector(sub(entry(1, 2), entry(2, 1)), sub(entry(2, 0), entry(0, 2)), sub(entry(0, 1), entry(1, 0)))
        return force, self.moment_a.cross(acceleration) + turning

    def inertia(self) -> tuple[Expr, Vector, Inertia]:
        """Mass, first moment and inertia that both directions add where both links move as one body."""
        D = self.dyad
        diagonal = [mul(TWO, D[i, i]) for i in range(3)]
        off = [neg(add(D[i, j], D[j, i])) for i, j in ((0, 1), (0, 2), (1, 2))]
        xx, yy, zz = (add(diagonal[(i + 1) % 3], diagonal[(i + 2) % 3]) for i in range(3))
        return add(self.mass, self.mass), self.moment_a + self.moment_b, Inertia(xx, yy, zz, *off)


def outer(a: Vector, b: Vector) -> Matrix:
    """a bᵀ."""
    return Matrix((b * a.x, b * a.y, b * a.z))


def _times(R: Matrix, v: Vector) -> Vector:
    return v if R is IDENTITY else R @ v


def take_up_rods(tree: Tree) -> list[Coupling]:
    """Puts the point masses α on the links and gives the couplings of all rods."""
    found: dict[tuple[int, int], list[tuple[Expr, Vector, Vector]]] = {}
    for rod in rods_with_mass(tree.model):
        assert rod.inertia is not None
        a, b = tree.place(rod.a), tree.place(rod.b)
        tree.add_point_mass(a.link, rod.inertia.at_a, a.position)
        tree.add_point_mass(b.link, rod.inertia.at_b, b.position)
        if a.link > b.link:
            a, b = b, a
        found.setdefault((a.link, b.link), []).append((rod.inertia.coupling, a.position, b.position))
    return [Coupling.of(*links, rods) for links, rods in found.items()]


# --- forces ------------------------------------------------------------------------------------------------------


def coupling_wrenches(tree: Tree, motions: list[LinkMotion], ground: Vector) -> dict[int, Wrench]:
    """Force and moment about each link's origin that the couplings ask for, in the links' frames of expression.

    ``ground`` is the acceleration of the ground (−g where gravity is taken as an acceleration).
    """
    from .kinematics import Kinematics

    found: dict[int, Wrench] = {}
    kinematics = Kinematics(tree)
    standing = LinkMotion(NULL, NULL, ground)
    for c in tree.couplings:
        A, B = (_expression_turn(tree, i) for i in (c.a, c.b))
        R = _between(kinematics, c.a, c.b)
        own = c.placed(A, B)
        first = standing if c.a < 0 else motions[c.a]
        for link, coupling, turn, motion in ((c.a, own, R, motions[c.b]), (c.b, own.swapped, R.T, first)):
            if link >= 0:
                f, n = coupling.asked_of_a(turn, motion)
                before = found.get(link, (NULL, NULL))
                found[link] = (before[0] + f, before[1] + n)
    return found


def _expression_turn(tree: Tree, link: int) -> Matrix:
    """From a link's own axes to its frame of expression."""
    angle = tree.links[link].angle if link >= 0 else None
    return IDENTITY if angle is None else angle.matrix()


def _between(kinematics: Kinematics, a: int, b: int) -> Matrix:
    """Rotation from the frame of expression of link b to that of link a."""
    links = kinematics.tree.links
    a, b = (links[i].root if i >= 0 else i for i in (a, b))
    base = _common(kinematics.tree, a, b)
    A, B = kinematics.link_rotation(a, base), kinematics.link_rotation(b, base)
    return B if A is IDENTITY else A.T if B is IDENTITY else A.T @ B


def _common(tree: Tree, a: int, b: int) -> int:
    """Youngest common ancestor of two links."""
    others = set(tree.ancestors(b))
    return next((i for i in tree.ancestors(a) if i in others), -1)


# --- mass matrix -------------------------------------------------------------------------------------------------


class CoupledColumns:
    """What couplings add to the columns of the mass matrix, all about the origin of the two links' common ancestor.

    A freedom beyond the ancestor moves one end: the other end's links feel it, and so do the ancestor and all before it.  Where both
    ends move together the coupling is an inertia of the ancestor.
    """

    def __init__(self, tree: Tree) -> None:
        from .kinematics import Kinematics

        self.tree = tree
        self.kinematics = Kinematics(tree)
        self.placed: list[tuple[int, Coupling]] = []
        for c in tree.couplings:
            base = _common(tree, c.a, c.b)
            A, B = (self.kinematics.link_rotation(i, base) if i != base else IDENTITY for i in (c.a, c.b))
            at = [self.kinematics.link_position(i, base) for i in (c.a, c.b)]
            self.placed.append((base, c.placed(A, B, at[0], at[1])))

    def inertias(self) -> Mapping[int, tuple[Expr, Vector, Inertia]]:
        """What the ancestors carry in addition, in their frames of expression."""
        found: dict[int, tuple[Expr, Vector, Inertia]] = {}
        for base, c in self.placed:
            if base < 0:
                continue
            m, s, I = c.inertia()
            angle = self.tree.links[base].angle
            if angle is not None:
                s, I = angle.out(s), angle.out_inertia(I)
            if base in found:
                m, s, I = add(found[base][0], m), found[base][1] + s, found[base][2] + I
            found[base] = (m, s, I)
        return found

    def column(self, link: Link, freedom: Freedom) -> tuple[dict[int, Wrench], list[tuple[Freedom, Expr]]]:
        """For a unit acceleration of a freedom: wrenches on ancestors (frames of expression), and entries of freedoms beyond them.

        Entries are given once, for the freedom on the side of the coupling's second link.
        """
        wrenches: dict[int, Wrench] = {}
        entries: list[tuple[Freedom, Expr]] = []
        for base, coupling in self.placed:
            for c, second in ((coupling, True), (coupling.swapped, False)):
                if link.index == base or link.index not in self._beyond(c.b, base):
                    continue
                force, moment = c.force_on_a(freedom, *self._origin(link, base))
                if second:
                    entries += self._entries(c.a, base, force, moment)
                if base >= 0:
                    angle = self.tree.links[base].angle
                    if angle is not None:
                        force, moment = angle.out(force), angle.out(moment)
                    before = wrenches.get(base, (NULL, NULL))
                    wrenches[base] = (before[0] + force, before[1] + moment)
        return wrenches, entries

    def _beyond(self, link: int, base: int) -> list[int]:
        chain = self.tree.ancestors(link)
        return chain[: chain.index(base)] if base >= 0 else chain

    def _origin(self, link: Link, base: int) -> tuple[Map, Vector]:
        """How the link's vectors are turned to the base's axes, and where its origin is in them."""
        return self.kinematics.turning(link.index, base), self.kinematics.link_position(link.index, base)

    def _entries(self, end: int, base: int, force: Vector, moment: Vector) -> list[tuple[Freedom, Expr]]:
        found = []
        for i in self._beyond(end, base):
            other = self.tree.links[i]
            for freedom in other.freedoms:
                turned, at = self._origin(other, base)
                value = freedom.along(turned, force, moment - at.cross(force))
                found.append((freedom, mul(freedom.ratio, value)))
        return found


# --- whole-model quantities --------------------------------------------------------------------------------------


def rod_energy(kinematics: Kinematics) -> Expr:
    """Twice the kinetic energy of all rods, α_a v_a² + 2β v_a·v_b + α_b v_b²."""
    double = ZERO
    for rod in rods_with_mass(kinematics.tree.model):
        assert rod.inertia is not None
        va, vb = kinematics.velocity(rod.a), kinematics.velocity(rod.b)
        double = add(double, add(mul(rod.inertia.at_a, va.dot(va)), mul(rod.inertia.at_b, vb.dot(vb))))
        double = add(double, mul(2.0 * rod.inertia.coupling, va.dot(vb)))
    return double


def rod_end_forces(kinematics: Kinematics, rod: Closure, acceleration: bool = True) -> tuple[Vector, Vector]:
    """Forces (world axes) that the rod's motion against gravity asks at its two ends."""
    assert rod.inertia is not None
    g, i = kinematics.tree.model.gravity, rod.inertia
    a, b = (kinematics.acceleration(f, acceleration=acceleration) - g for f in (rod.a, rod.b))
    return a * i.at_a + b * i.coupling, a * i.coupling + b * i.at_b


def coriolis_coupling(tree: Tree) -> list[list[Expr]]:
    """Σβ(J_aᵀJ̇_b + J_bᵀJ̇_a) of the rods' couplings, with which Ṁ − 2C stays skew-symmetric."""
    from ..equations import quaternion_rates
    from .kinematics import Kinematics
    from .tree import prescribed_rates

    n, k = tree.nv, Kinematics(tree)
    C = [[ZERO] * n for _ in range(n)]
    flow: dict[Expr, Expr] = {tree.model.time: prescribed_rates(tree.model.time, tree.model.time)[1]}
    for c in tree.coordinates:
        flow |= dict(zip(c.q, quaternion_rates(c) if c.is_quaternion else c.v, strict=True))
    for rod in rods_with_mass(tree.model):
        assert rod.inertia is not None
        Ja, Jb = (k.jacobian(f)[0] for f in (rod.a, rod.b))
        rates = [[Vector(*jvp(list(column), flow)) for column in J] for J in (Ja, Jb)]
        for J, rate in ((Ja, rates[1]), (Jb, rates[0])):
            for i, column in enumerate(J):
                for j, other in enumerate(rate):
                    C[i][j] = add(C[i][j], mul(rod.inertia.coupling, column.dot(other)))
    return C


__all__ = [
    "CoupledColumns", "Coupling", "coriolis_coupling", "coupling_wrenches", "outer", "rod_end_forces", "rod_energy", "rods_with_mass",
    "take_up_rods",
]  # fmt: skip
