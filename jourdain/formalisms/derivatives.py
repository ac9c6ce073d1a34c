"""Analytic derivatives of inverse and forward dynamics in order n·depth.

A coordinate that changes moves the bodies it carries rigidly, so that the change of all forces follows from composite
quantities alone (Carpentier and Mansard 2018; Singh, Russo and Wensing 2022).  Here this is written with vectors of
three in the frames of the links.  Let a rotation about e through the joint's origin O carry the points ρ = r − O.  Seen
with the carried bodies their accelerations change by

    ë × ρ + 2ė × ρ̇ − e × a_O      with ė = ω × e and ë = ω̇ × e + ω × (ω × e)    (ω before the joint)

for a unit of angle, and by ((ω + ω_j) × e) × ρ + 2e × ρ̇ for a unit of its rate (ω_j behind the joint); by ë and 2ė for
a translation.  Velocities ρ̇ are relative to the joint's own origin: no linear velocity enters, as in Newton and Euler's
recursion.  Over the carried mass the part 2x × ρ̇ adds up to the force x × 2P and the moment 2(tr D − Dᵀ)x with
P = ∫ρ̇ dm and D = ∫ρ ρ̇ᵀ dm, which pass from link to link like first and second moments.

For quaternions the derivative is along a rotation increment in the axes of the child, that is along the velocity:
∂φ/∂q stands for ∂φ/∂q·N(q) with q̇ = N(q) v.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..symbolic.derivatives import sparse_jacobian
from ..symbolic.expr import HALF, ONE, PARAMETER, ZERO, Expr, add, mul, neg, sub
from ..symbolic.graph import count, topological
from ..symbolic.vectors import AXES, NULL, AxisTurn, Matrix, Turn, Vector
from .composite_body import composite_inertias, mass_matrix
from .mass_factor import SparseFactor
from .newton_euler import LinkMotion, Wrench, inverse_dynamics, link_motions, link_wrenches, reflected_inertias, relative_spin
from .tree import Freedom, Link, Tree

Table = list[list[Expr]]


# --- composite momenta -------------------------------------------------------------------------------------------


@dataclass
class Momentum:
    """2P = 2∫ρ̇ dm and 2D = 2∫ρ ρ̇ᵀ dm of a link with all it carries, relative to the link's origin."""

    P: Vector
    D: Matrix

    def __add__(self, o: Momentum) -> Momentum:
        return Momentum(self.P + o.P, self.D + o.D)

    def about(self, d: Vector, w: Vector, mass: Expr, moment: Vector) -> Momentum:
        """The same about a point −d away that moves by −w/2 relative to the origin."""
        P = self.P + w * mass
        return Momentum(P, self.D + _outer(moment, w) + _outer(d, P))

    @property
    def moment(self) -> Matrix:
        """2(tr D − Dᵀ), the moment of 2x × ρ̇ as a function of x."""
        D = self.D
        rows = [[neg(D[j, i]) for j in range(3)] for i in range(3)]
        for i in range(3):
            rows[i][i] = add(D[(i + 1) % 3, (i + 1) % 3], D[(i + 2) % 3, (i + 2) % 3])
        return Matrix.of(rows)


def _outer(a: Vector, b: Vector) -> Matrix:
    return Matrix((b * a.x, b * a.y, b * a.z))


def _turned(turn: Turn, D: Matrix) -> Matrix:
    """R D Rᵀ; about a coordinate axis by what it adds to D, with the squares of sine and cosine in common."""
    if not isinstance(turn, AxisTurn):
        half = Matrix.from_columns(*(turn.out(D.column(j)) for j in range(3)))
        a, b, c = (turn.out(row) for row in half.rows)
        return Matrix((a, b, c))
    k, i, j = turn.axis, (turn.axis + 1) % 3, (turn.axis + 2) % 3
    c, s = turn.c, turn.s
    ss, sc = mul(s, s), mul(s, c)
    difference, total = sub(D[i, i], D[j, j]), add(D[i, j], D[j, i])
    onto_diagonal = add(mul(ss, difference), mul(sc, total))
    beside = sub(mul(sc, difference), mul(ss, total))
    rows = [[ZERO] * 3 for _ in range(3)]
    rows[i][i], rows[j][j], rows[k][k] = sub(D[i, i], onto_diagonal), add(D[j, j], onto_diagonal), D[k, k]
    rows[i][j], rows[j][i] = add(D[i, j], beside), add(D[j, i], beside)
    rows[i][k], rows[j][k] = sub(mul(c, D[i, k]), mul(s, D[j, k])), add(mul(s, D[i, k]), mul(c, D[j, k]))
    rows[k][i], rows[k][j] = sub(mul(c, D[k, i]), mul(s, D[k, j])), add(mul(s, D[k, i]), mul(c, D[k, j]))
    return Matrix.of(rows)


def _own_momentum(link: Link, motion: LinkMotion) -> Momentum:
    """P = ω × s and D = ∫ρ (ω × ρ)ᵀ dm, row by row ω × J with J = ½ tr(I) − I."""
    I, w = link.inertia, motion.omega
    trace = add(add(I.xx, I.yy), I.zz)
    rows = []
    for k in range(3):
        rows.append(w.cross(AXES[k] * trace - I.column(k) * 2.0))
    return Momentum(w.cross(link.moment * 2.0), Matrix((rows[0], rows[1], rows[2])))


def _origin_rates(tree: Tree, motions: Sequence[LinkMotion]) -> list[tuple[Vector, Vector]]:
    """For each link twice the velocity of its joint's place from the parent's origin (in the parent's axes), and twice
    the velocity of its origin from there (in its own axes, not zero for translations)."""
    rates = []
    for link in tree.links:
        before = motions[link.parent].omega if link.parent >= 0 else NULL
        sliding = NULL
        if link.kind == "T":
            sliding = relative_spin(link)[0] * 2.0 + motions[link.index].omega.cross(link.slide * 2.0)
        rates.append((before.cross(link.d * 2.0), sliding))
    return rates


def composite_momenta(
    tree: Tree, motions: Sequence[LinkMotion], composites: Sequence[tuple], rates: Sequence[tuple[Vector, Vector]]
) -> list[Momentum]:
    """Momenta of each link with all it carries."""
    totals = [_own_momentum(link, motions[link.index]) for link in tree.links]
    for link in reversed(tree.links):
        if link.parent < 0:
            continue
        (m, s, _), (w, sliding), total = composites[link.index], rates[link.index], totals[link.index]
        if link.kind == "T":
            total = total.about(link.slide, sliding, m, s)
            s = s + link.slide * m
        s, P, D = link.out(s), link.out(total.P), total.D
        for turn in reversed(link.turns):
            D = _turned(turn, D)
        totals[link.parent] = totals[link.parent] + Momentum(P, D).about(link.d, w, m, s)
    return totals


# --- one freedom -------------------------------------------------------------------------------------------------


@dataclass
class Change:
    """What a unit of one freedom changes: e, ė, ë of its axis, the rate's y, and the origin's acceleration."""

    e: Vector
    e1: Vector
    e2: Vector
    y: Vector
    origin: Vector


def _change(link: Link, freedom: Freedom, motion: LinkMotion, before: LinkMotion) -> Change:
    e = AXES[freedom.axis]
    if link.kind == "S":
        e1 = before.omega.cross(e)
        return Change(e, e1, before.at(e), e1 + motion.omega.cross(e), motion.acceleration.cross(e))
    e1 = motion.omega.cross(e)
    return Change(e, e1, motion.at(e), e1 * 2.0, NULL if link.kind == "T" else motion.acceleration.cross(e))


def _before(link: Link, motions: Sequence[LinkMotion]) -> LinkMotion:
    """Rotation of the parent in the link's axes."""
    if link.kind != "S" or link.parent < 0:
        return LinkMotion(NULL, NULL, NULL)
    parent = motions[link.parent]
    return LinkMotion(link.into(parent.omega), link.into(parent.omega_dot), NULL)


@dataclass
class Column:
    """Forces and moments asked by a unit of one freedom (its angle, its rate, its acceleration), carried inwards, and
    the part of the freedom's own force that reads 2x × ρ̇ of freedoms before it."""

    by_angle: Wrench
    by_rate: Wrench
    by_acceleration: Wrench
    reading: Vector

    def moved(self, d: Vector, w: Vector) -> Column:
        """About a point −d away that moves by −w/2 relative to the present one."""
        if d.is_zero and w.is_zero:
            return self
        three = (self.by_angle, self.by_rate, self.by_acceleration)
        a, b, c = ((f, n + d.cross(f)) for f, n in three)
        return Column(a, b, c, self.reading + w.cross(self.by_acceleration[0]))

    def turned(self, out: Callable[[Vector], Vector]) -> Column:
        """In the axes of the parent."""
        three = (self.by_angle, self.by_rate, self.by_acceleration)
        a, b, c = ((out(f), out(n)) for f, n in three)
        return Column(a, b, c, out(self.reading))


def _column(link: Link, x: Change, composite: tuple, momentum: Momentum) -> Column:
    m, s, I = composite
    if link.kind == "T":
        a, b, c = ((k * m, s.cross(k)) for k in (x.e2, x.y, x.e))
        return Column(a, b, c, momentum.P.cross(x.e))
    E = momentum.moment
    by_angle = (x.e1.cross(momentum.P) + x.e2.cross(s) + x.origin * m, (E @ x.e1) + (I @ x.e2) + s.cross(x.origin))
    by_rate = (x.e.cross(momentum.P) + x.y.cross(s), (E @ x.e) + (I @ x.y))
    return Column(by_angle, by_rate, (x.e.cross(s), I @ x.e), E.T @ x.e)


def _with_turned_force(link: Link, column: Column, e: Vector, wrench: Wrench) -> Column:
    """The force the link transmits turns (or slides) with it: seen from the links before, its change has this part too."""
    (f, n), (force, moment) = column.by_angle, wrench
    turned = (f, n + e.cross(force)) if link.kind == "T" else (f + e.cross(force), n + e.cross(moment))
    return Column(turned, column.by_rate, column.by_acceleration, column.reading)


# --- the recursion -----------------------------------------------------------------------------------------------


def recursive_derivatives(tree: Tree) -> tuple[Table, Table, Table]:
    """∂φ/∂q, ∂φ/∂v and M by the recursion of this module."""
    motions = link_motions(tree)
    wrenches = link_wrenches(tree, motions)
    composites = composite_inertias(tree)
    rates = _origin_rates(tree, motions)
    momenta = composite_momenta(tree, motions, composites, rates)
    befores = [_before(link, motions) for link in tree.links]
    changes = [[_change(k, f, motions[k.index], befores[k.index]) for f in k.freedoms] for k in tree.links]
    tables = tuple([[ZERO] * tree.nv for _ in range(tree.nv)] for _ in range(3))
    for link in tree.links:
        for freedom, change in zip(link.freedoms, changes[link.index], strict=True):
            column = _column(link, change, composites[link.index], momenta[link.index])
            for other in link.freedoms:
                _enter(tables, link, other, freedom, column)
            column = _with_turned_force(link, column, change.e, wrenches[link.index])
            at = link
            while at.parent >= 0:
                w, sliding = rates[at.index]
                if at.kind == "T":
                    column = column.moved(at.slide, sliding)
                column = column.turned(at.out).moved(at.d, w)
                at = tree.links[at.parent]
                for other, before in zip(at.freedoms, changes[at.index], strict=True):
                    _enter(tables, at, other, freedom, column)
                    _enter_row(tables, at, other, freedom, column, before)
    for i, inertia in reflected_inertias(tree).items():
        tables[2][i][i] = add(tables[2][i][i], inertia)
    return tables


def _enter(tables: tuple[Table, ...], at: Link, row: Freedom, column: Freedom, forces: Column) -> None:
    """Projects a column on a freedom of the link it has been carried to."""
    ratio = mul(row.ratio, column.ratio)
    for table, (f, n) in zip(tables, (forces.by_angle, forces.by_rate, forces.by_acceleration), strict=True):
        value = mul(ratio, (f if at.kind == "T" else n)[row.axis])
        table[row.index][column.index] = add(table[row.index][column.index], value)


def _enter_row(tables: tuple[Table, ...], at: Link, before: Freedom, own: Freedom, forces: Column, x: Change) -> None:
    """The force of a freedom by the motion of one before it."""
    f, n = forces.by_acceleration
    if at.kind == "T":
        found = (f.dot(x.e2), f.dot(x.y), f.dot(x.e))
    else:
        r = forces.reading
        found = (add(add(r.dot(x.e1), n.dot(x.e2)), f.dot(x.origin)), add(r.dot(x.e), n.dot(x.y)), n.dot(x.e))
    ratio = mul(before.ratio, own.ratio)
    for table, value in zip(tables, found, strict=True):
        table[own.index][before.index] = add(table[own.index][before.index], mul(ratio, value))
