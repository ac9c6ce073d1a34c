"""Analytic derivatives of inverse and forward dynamics in order n·depth.

A coordinate that changes moves the bodies it carries rigidly, so that the change of all forces follows from composite
quantities alone (Carpentier and Mansard 2018; Singh, Russo and Wensing 2022).  Here this is written with vectors of
three in the frames of the links.  Let a rotation about e through the joint's origin O carry the points ρ = r − O.  Seen
with the carried bodies their accelerations change by

    2ė × ρ̇ + ë × ρ − e × a_O      with ė = ω × e and ë = ω̇ × e + ω × (ω × e)    (ω before the joint)

for a unit of angle, by 2e × ρ̇ + ((ω + ω_j) × e) × ρ for a unit of rate (ω_j behind the joint) and by e × ρ for a unit
of acceleration; for a translation by ë, 2ė and e.  Velocities ρ̇ are relative to the joint's own origin: no linear
velocity enters, as in Newton and Euler's recursion.  Such a field 2x × ρ̇ + α × ρ + a of accelerations asks of the
carried mass the force x × 2P + α × s + m a and the moment 2(tr D − Dᵀ)x + I α + s × a, where P = ∫ρ̇ dm and
D = ∫ρ ρ̇ᵀ dm pass from link to link like first and second moments.

Frames of links were chosen over one common frame because joint axes are then unit vectors and most offsets have one
component: about 40 operations for each pair of joint and ancestor, where dot products in a common frame take 67.

For quaternions the derivative is along a rotation increment in the axes of the child, that is along the velocity:
∂φ/∂q stands for ∂φ/∂q·N(q) with q̇ = N(q) v.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

from ...errors import InputError
from ...symbolic.derivatives import jacobian, sparse_jacobian, vjp
from ...symbolic.expr import HALF, ONE, PARAMETER, ZERO, Expr, add, mul, neg, sub
from ...symbolic.function import hoisted, rows_of
from ...symbolic.graph import count, substitute, topological
from ...symbolic.vectors import AXES, NULL, AxisTurn, Matrix, Turn, Vector
from .articulated_body import accelerations, shares_coordinates
from .composite_body import composite_inertias, mass_matrix
from .links import STILL, Field, Freedom, Link, LinkMotion, MassMoments, Wrench
from .mass_factor import SparseFactor
from .newton_euler import inverse_dynamics, link_motions, link_wrenches, reflected_inertias
from .tree import Tree

Table = list[list[Expr]]

#: Up to this many velocities the graph's derivatives are tried as well: they may need fewer operations there (planar
#: chains), while from about ten the recursion needs half of theirs or less.
SMALL = 8


# --- composite momenta -------------------------------------------------------------------------------------------


@dataclass
class Momentum:
    """2P = 2∫ρ̇ dm and 2D = 2∫ρ ρ̇ᵀ dm of a link with all it carries, relative to the link's origin."""

    P: Vector
    D: Matrix

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
        x, y, z = (turn.out(row) for row in half.rows)
        return Matrix((x, y, z))
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
    x, y, z = (w.cross(AXES[k] * trace - I.column(k) * 2.0) for k in range(3))
    return Momentum(w.cross(link.moment * 2.0), Matrix((x, y, z)))


def origin_rates(tree: Tree, motions: Sequence[LinkMotion]) -> list[tuple[Vector, Vector]]:
    """Twice the velocity of each joint's place from the parent's origin (parent's axes), and twice the velocity of the link's
    origin from there (its own axes)."""
    rates = []
    for link in tree.links:
        before = motions[link.parent].omega if link.parent >= 0 else NULL
        slide = link.slide
        sliding = NULL if slide.is_zero else link.relative().velocity * 2.0 + motions[link.index].omega.cross(slide * 2.0)
        rates.append((before.cross(link.d * 2.0), sliding))
    return rates


def composite_momenta(
    tree: Tree, motions: Sequence[LinkMotion], composites: Sequence[MassMoments], rates: Sequence[tuple[Vector, Vector]]
) -> list[Momentum]:
    """Momenta of each link with all it carries."""
    totals = [_own_momentum(link, motions[link.index]) for link in tree.links]
    for link in reversed(tree.links):
        if link.parent < 0:
            continue
        (m, s, _), (w, sliding), total = composites[link.index], rates[link.index], totals[link.index]
        slide = link.slide
        if not slide.is_zero:
            total = total.about(slide, sliding, m, s)
            s = s + slide * m
        D = total.D
        for turn in reversed(link.turns):
            D = _turned(turn, D)
        total, above = Momentum(link.out(total.P), D).about(link.d, w, m, link.out(s)), totals[link.parent]
        totals[link.parent] = Momentum(above.P + total.P, above.D + total.D)
    return totals


# --- one freedom -------------------------------------------------------------------------------------------------


@dataclass
class Column:
    """Wrenches asked by the fields of one freedom, the last by its acceleration, carried inwards; ``reading`` is the
    freedom's own force as a linear function of the x of freedoms before it."""

    wrenches: list[Wrench]
    reading: Vector

    def moved(self, d: Vector, w: Vector) -> Column:
        """About a point −d away that moves by −w/2 relative to the present one."""
        if d.is_zero and w.is_zero:
            return self
        return Column([(f, n + d.cross(f)) for f, n in self.wrenches], self.reading + w.cross(self.wrenches[-1][0]))

    def before(self, link: Link, rates: tuple[Vector, Vector]) -> Column:
        """About the origin and in the axes of the link's parent."""
        column = self.moved(link.slide, rates[1])
        column = Column([(link.out(f), link.out(n)) for f, n in column.wrenches], link.out(column.reading))
        return column.moved(link.d, rates[0])

    def force_by(self, field: Field) -> Expr:
        """The freedom's own force asked by a field of a freedom before it."""
        f, n = self.wrenches[-1]
        return add(add(self.reading.dot(field.x), n.dot(field.alpha)), f.dot(field.a))


def first_column(freedom: Freedom, fields: Sequence[Field], composite: MassMoments, momentum: Momentum) -> Column:
    """What the fields of a freedom ask of all its link carries, about the link's own origin."""
    m, s, I = composite
    P, E = momentum.P, momentum.moment
    wrenches = [(k.x.cross(P) + k.alpha.cross(s) + k.a * m, (E @ k.x) + (I @ k.alpha) + s.cross(k.a)) for k in fields]
    return Column(wrenches, freedom.reading(P, E))


def spread(tables: Sequence[Table], row: Freedom, column: Freedom, values: Sequence[Expr]) -> None:
    """Adds the entries of one pair of freedoms to the tables, one value for each."""
    ratio = mul(row.ratio, column.ratio)
    for table, value in zip(tables, values, strict=True):
        table[row.index][column.index] = add(table[row.index][column.index], mul(ratio, value))


def projections(row: Freedom, column: Column) -> list[Expr]:
    """Components of a column's wrenches along a freedom of the link it has been carried to."""
    return [row.project(f, n) for f, n in column.wrenches]


def pair_tables(
    tree: Tree,
    fields: Sequence[Sequence[Sequence[Field]]],
    composites: Sequence[MassMoments],
    momenta: Sequence[Momentum],
    rates: Sequence[tuple[Vector, Vector]],
    wrenches: Sequence[Wrench] | None = None,
) -> list[Table]:
    """One table nv×nv for each field: entry (i, j) is the force at i asked by the field of j.

    ``fields`` holds for each link and freedom the same number of fields.  With ``wrenches``, those the links transmit,
    the first field belongs to a change of position: what a link transmits turns or slides with it, which the links
    before feel.
    """
    depth = max((len(k) for link in fields for k in link), default=0)
    tables = [[[ZERO] * tree.nv for _ in range(tree.nv)] for _ in range(depth)]
    for link in tree.links:
        for freedom, own in zip(link.freedoms, fields[link.index], strict=True):
            column = first_column(freedom, own, composites[link.index], momenta[link.index])
            for other in link.freedoms:
                spread(tables, other, freedom, projections(other, column))
            if wrenches is not None:
                (f, n), (df, dn) = column.wrenches[0], freedom.change(*wrenches[link.index])
                column.wrenches[0] = (f + df, n + dn)
            at = link
            while at.parent >= 0:
                column = column.before(at, rates[at.index])
                at = tree.links[at.parent]
                for other, before in zip(at.freedoms, fields[at.index], strict=True):
                    spread(tables, other, freedom, projections(other, column))
                    spread(tables, freedom, other, [column.force_by(k) for k in before])
    return tables


# --- inverse dynamics --------------------------------------------------------------------------------------------


def _fields(link: Link, motions: Sequence[LinkMotion]) -> list[list[Field]]:
    """For each freedom of a link the fields of its angle (or displacement), rate and acceleration."""
    motion = motions[link.index]
    axes = link.axes_motion(motion, motions[link.parent] if link.parent >= 0 else STILL)

    def change(e: Vector) -> Vector:
        return axes.omega.cross(e) + motion.omega.cross(e)

    return [[f.by_position(axes, motion.acceleration), f.by_rate(change), f.by_acceleration()] for f in link.freedoms]


def recursive_derivatives(tree: Tree) -> tuple[Table, Table, Table]:
    """∂φ/∂q, ∂φ/∂v and M by the recursion of this module."""
    motions = link_motions(tree)
    composites = composite_inertias(tree)
    rates = origin_rates(tree, motions)
    momenta = composite_momenta(tree, motions, composites, rates)
    fields = [_fields(link, motions) for link in tree.links]
    dq, dv, M = pair_tables(tree, fields, composites, momenta, rates, link_wrenches(tree, motions)) or ([], [], [])
    for i, inertia in reflected_inertias(tree).items():
        M[i][i] = add(M[i][i], inertia)
    return dq, dv, M


def graph_derivatives(tree: Tree) -> tuple[Table, Table, Table]:
    """∂φ/∂q, ∂φ/∂v by differentiating the graph of φ, and M by composite bodies: the check of the recursion."""
    phi = inverse_dynamics(tree)
    dq, dv = along_velocities(tree, phi), [[ZERO] * tree.nv for _ in phi]
    for (i, j), d in sparse_jacobian(phi, tree.v).items():
        dv[i][j] = d
    return dq, dv, mass_matrix(tree)


def along_velocities(tree: Tree, outputs: Sequence[Expr]) -> Table:
    """∂f/∂q·N(q) of any outputs, differentiated along the velocity coordinates."""
    table = [[ZERO] * tree.nv for _ in outputs]
    entries = sparse_jacobian(outputs, tree.q)
    rows: list[dict[int, Expr]] = [{} for _ in outputs]
    for (i, j), d in entries.items():
        rows[i][j] = d
    position = velocity = 0
    for c in tree.coordinates:
        for i, row in enumerate(rows):
            block = [row.get(position + k, ZERO) for k in range(len(c.q))]
            if any(d is not ZERO for d in block):
                found = _quaternion_block(c.q, block) if c.is_quaternion else block
                table[i][velocity : velocity + len(c.v)] = found
        position, velocity = position + len(c.q), velocity + len(c.v)
    return table


def _quaternion_block(e: Sequence[Expr], g: Sequence[Expr]) -> list[Expr]:
    """gᵀN with ė = N ω = ½ e ∘ (0, ω): ½(e₀ g − g₀ e + g × e) of the vector parts."""
    vector, gv = Vector(*e[1:]), Vector(*g[1:])
    return [mul(HALF, x) for x in gv * e[0] - vector * g[0] + gv.cross(vector)]


def inverse_dynamics_derivatives(tree: Tree, method: str = "auto") -> tuple[Table, Table, Table]:
    """∂φ/∂q (along velocities), ∂φ/∂v and ∂φ/∂a = M of inverse dynamics, tables nv×nv.

    ``method`` is "recursive" (Singh, Russo and Wensing's composite form), "graph" (forward differentiation of φ), or
    "auto": the recursion, except for up to eight velocities, where both are derived and the one with fewer operations
    is kept.  Expressions of φ itself are shared when both are asked for.  Rods with mass couple links across the tree, which the
    recursion does not know: then it is always the graph.
    """
    if method == "graph" or tree.coupled:
        return graph_derivatives(tree)
    if method not in ("auto", "recursive"):
        raise InputError(f"derivatives: method '{method}' is unknown; use 'auto', 'recursive' or 'graph'")
    recursive = recursive_derivatives(tree)
    if method == "recursive" or tree.nv > SMALL:
        return recursive
    return min(recursive, graph_derivatives(tree), key=_cost)


def _cost(tables: Sequence[Table]) -> int:
    """Additions and multiplications at every call."""
    nodes = topological([e for table in tables for row in table for e in row])
    return count(e for e in nodes if e.deps & ~PARAMETER).flops


# --- forward dynamics --------------------------------------------------------------------------------------------


def mass_matrix_inverse(tree: Tree, M: Table | None = None) -> Table:
    """M⁻¹ from the factor of the mass matrix, symmetric."""
    return _inverse(SparseFactor(mass_matrix(tree) if M is None else M), tree.nv)


def _inverse(factor: SparseFactor, n: int) -> Table:
    inverse = [[ZERO] * n for _ in range(n)]
    for k in range(n):
        unit = [ZERO] * n
        unit[k] = ONE
        # an entry above the diagonal needs only those above it: what lies below is dropped with the mirror image
        for i, value in enumerate(factor.solve(unit)[: k + 1]):
            inverse[i][k] = inverse[k][i] = value
    return inverse


def forward_dynamics_derivatives(tree: Tree, forces: Sequence[Expr]) -> tuple[Table, Table, Table]:
    """∂v̇/∂q (along velocities), ∂v̇/∂v and ∂v̇/∂τ = M⁻¹ at generalised forces τ held constant.

    From φ(q, v, v̇) = τ follows ∂v̇ = −M⁻¹ ∂φ, with ∂φ taken at the accelerations that the forces give.
    """
    by_position, by_velocity, M = inverse_dynamics_derivatives(tree, "recursive")
    factor = SparseFactor(M)
    if shares_coordinates(tree) or tree.coupled:
        bias = inverse_dynamics(tree, acceleration=False)
        motion = factor.solve([sub(f, c) for f, c in zip(forces, bias, strict=True)])
    else:
        motion = accelerations(tree, forces)
    n = tree.nv
    flat = [e for table in (by_position, by_velocity) for row in table for e in row]
    flat = substitute(flat, dict(zip(tree.a, motion, strict=True)))
    found = []
    for first in (0, n * n):
        columns = [factor.solve([neg(flat[first + i * n + j]) for i in range(n)]) for j in range(n)]
        found.append([[columns[j][i] for j in range(n)] for i in range(n)])
    return found[0], found[1], _inverse(factor, n)


# --- parameters --------------------------------------------------------------------------------------------------


def parameter_derivatives(outputs: Sequence[Expr], parameters: Sequence[Expr]) -> Table:
    """∂f/∂p of any outputs with respect to parameters, a table outputs×parameters.

    Derived backwards, forwards, and forwards from the constants k(p) of the prepare stage (∂f/∂k·∂k/∂p, the second
    factor prepared too), of which the way with the fewest operations at every call is kept.  What depends on parameters
    alone is in all of them hoisted into the prepare stage.
    """
    ways = (
        [vjp([f], [ONE], parameters) for f in outputs],
        jacobian(outputs, parameters),
        _through_constants(outputs, parameters),
    )
    return min(ways, key=lambda table: _cost([table]))


def _through_constants(outputs: Sequence[Expr], parameters: Sequence[Expr]) -> Table:
    """∂f/∂k·∂k/∂p over the constants k that the prepare stage delivers."""
    constants = list(dict.fromkeys([*hoisted(outputs), *chain.from_iterable(rows_of(outputs))]))
    table = [[ZERO] * len(parameters) for _ in outputs]
    prepared: list[list[tuple[int, Expr]]] = [[] for _ in constants]
    for (k, j), d in sparse_jacobian(constants, parameters).items():
        prepared[k].append((j, d))
    for (i, k), d in sparse_jacobian(outputs, constants).items():
        for j, inner in prepared[k]:
            table[i][j] = add(table[i][j], mul(d, inner))
    return table
