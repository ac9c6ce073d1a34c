"""Accelerations in order n by articulated bodies (Featherstone): joints are eliminated from the tips inwards.

The force a link needs is F = A a + B ω̇ + pF, N = Bᵀ a + C ω̇ + pN; eliminating its joint leaves an inertia of the same
form for the parent.  Used where the tree is deep; a flat tree is solved faster through its mass matrix.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...symbolic.expr import ONE, ZERO, Expr, add, div, mul, neg, sub
from ...symbolic.vectors import NULL, Inertia, Matrix, Vector
from .links import Freedom, Link, Wrench
from .newton_euler import link_motions, reflected_inertias
from .tree import Tree


class Articulated:
    """Inertia blocks A, C (symmetric) and B (general), and the bias force."""

    __slots__ = ("A", "B", "C", "force", "moment")

    def __init__(self, A: Inertia, B: Matrix, C: Inertia, force: Vector, moment: Vector) -> None:
        self.A, self.B, self.C, self.force, self.moment = A, B, C, force, moment


def _skew(s: Vector) -> Matrix:
    return Matrix((Vector(ZERO, neg(s.z), s.y), Vector(s.z, ZERO, neg(s.x)), Vector(neg(s.y), s.x, ZERO)))


def own_body(link: Link, w: Vector, external: Wrench | None) -> Articulated:
    """Inertia of one link alone, and its force at the angular velocity ω without accelerations."""
    m, s, I = link.moments
    force = w.cross(w.cross(s)) if not s.is_zero else NULL
    moment = w.cross(I @ w)
    if external is not None:
        force, moment = force - external[0], moment - external[1]
    return Articulated(Inertia(m, m, m, ZERO, ZERO, ZERO), _skew(-s), I, force, moment)


def accelerations(tree: Tree, forces: Sequence[Expr], external: Mapping[int, Wrench] | None = None) -> list[Expr]:
    """v̇ for given generalised forces (and external wrenches on links); every coordinate moves one link only."""
    speeds = link_motions(tree, gravity=False, acceleration=False)
    rotor = reflected_inertias(tree)
    bodies = [own_body(link, speeds[link.index].omega, (external or {}).get(link.index)) for link in tree.links]
    bias = [link.bias(speeds[link.parent].omega if link.parent >= 0 else NULL) for link in tree.links]
    steps: list[list[Step]] = [[] for _ in tree.links]
    for link in reversed(tree.links):
        body = bodies[link.index]
        for freedom in link.freedoms:
            steps[link.index].append(eliminate(freedom, body, forces, rotor))
        a, alpha = bias[link.index]
        body.force = body.force + (body.A @ a) + (body.B @ alpha)
        body.moment = body.moment + (body.B.T @ a) + (body.C @ alpha)
        if link.parent >= 0:
            carry(link, body, bodies[link.parent])
    return _outwards(tree, steps, bias)


def shares_coordinates(tree: Tree) -> bool:
    """Whether one coordinate moves several links (screws, gears in the tree)."""
    indices = [f.index for link in tree.links for f in link.freedoms]
    return len(set(indices)) != len(indices)


#: U_a, U_ω, 1/D and u of one eliminated freedom.
Step = tuple[Vector, Vector, Expr, Expr]


def eliminate(freedom: Freedom, body: Articulated, forces: Sequence[Expr], rotor: Mapping[int, Expr]) -> Step:
    """Removes one freedom of the joint from the articulated inertia."""
    r = freedom.ratio
    Ua, Uw, D, bias_force = freedom.articulated(body.A, body.B, body.C, body.force, body.moment)
    if r is not ONE:
        Ua, Uw, D, bias_force = Ua * r, Uw * r, mul(mul(r, r), D), mul(r, bias_force)
    inverse = div(ONE, add(D, rotor.get(freedom.index, ZERO)))
    u = sub(forces[freedom.index], bias_force)
    body.A, body.B, body.C = reduced(body, Ua, Uw, Ua * inverse, Uw * inverse)
    scaled = mul(u, inverse)
    body.force = body.force + Ua * scaled
    body.moment = body.moment + Uw * scaled
    return Ua, Uw, inverse, u


def reduced(body: Articulated, Ua: Vector, Uw: Vector, ga: Vector, gw: Vector) -> tuple[Inertia, Matrix, Inertia]:
    """A − U_a U_aᵀ/D, B − U_a U_ωᵀ/D, C − U_ω U_ωᵀ/D."""

    def outer(I: Inertia, U: Vector, g: Vector) -> Inertia:
        return Inertia(
            sub(I.xx, mul(U.x, g.x)), sub(I.yy, mul(U.y, g.y)), sub(I.zz, mul(U.z, g.z)),
            sub(I.xy, mul(U.x, g.y)), sub(I.xz, mul(U.x, g.z)), sub(I.yz, mul(U.y, g.z)),
        )  # fmt: skip

    rows = tuple(Vector(*(sub(body.B[i, j], mul(Ua[i], gw[j])) for j in range(3))) for i in range(3))
    return outer(body.A, Ua, ga), Matrix(rows), outer(body.C, Uw, gw)  # type: ignore[arg-type]


def carry(link: Link, body: Articulated, parent: Articulated) -> None:
    """Adds the reduced body to its parent: turned into the parent's axes and shifted to its origin."""
    A, B, C = body.A, body.B, body.C
    force = body.force
    A, B, C, moment = _shift(A, B, C, force, body.moment, link.slide)
    A, C = link.out_inertia(A), link.out_inertia(C)
    for turn in reversed(link.turns):
        columns = [turn.out(B.column(j)) for j in range(3)]
        B = Matrix.from_columns(*columns)
        B = Matrix(tuple(turn.out(row) for row in B.rows))  # type: ignore[arg-type]
    force, moment = link.out(force), link.out(moment)
    A, B, C, moment = _shift(A, B, C, force, moment, link.d)
    parent.A, parent.B, parent.C = parent.A + A, parent.B + B, parent.C + C
    parent.force, parent.moment = parent.force + force, parent.moment + moment


def _shift(A: Inertia, B: Matrix, C: Inertia, force: Vector, moment: Vector, d: Vector) -> tuple[Inertia, Matrix, Inertia, Vector]:
    """The same inertia about a point −d away: the child's origin accelerates by a + ω̇ × d = a − d̃ω̇."""
    if d.is_zero:
        return A, B, C, moment
    # A d̃ row by row: (A d̃)ᵢ = −(d × Aᵢ)… written as Aᵢ × d
    Ad = Matrix(tuple(A.column(i).cross(d) for i in range(3)))  # type: ignore[arg-type]
    Bn = Matrix(tuple(B.rows[i] - Ad.rows[i] for i in range(3)))  # type: ignore[arg-type]
    # C' = C − Bᵀd̃ + d̃B − d̃A d̃ = C + d̃(B − A d̃) + (d̃B)ᵀ
    first = Matrix.from_columns(*(d.cross(Bn.column(j)) for j in range(3)))
    second = Matrix.from_columns(*(d.cross(B.column(j)) for j in range(3)))

    def entry(i: int, j: int) -> Expr:
        return add(first[i, j], second[j, i])

    Cn = Inertia(
        add(C.xx, entry(0, 0)), add(C.yy, entry(1, 1)), add(C.zz, entry(2, 2)),
        add(C.xy, entry(0, 1)), add(C.xz, entry(0, 2)), add(C.yz, entry(1, 2)),
    )  # fmt: skip
    return A, Bn, Cn, moment + d.cross(force)


def _outwards(tree: Tree, steps: list[list[Step]], bias: list[tuple[Vector, Vector]]) -> list[Expr]:
    result = [ZERO] * tree.nv
    motion: list[tuple[Vector, Vector]] = []
    ground = (-tree.model.gravity, NULL)
    for link in tree.links:
        a_p, alpha_p = motion[link.parent] if link.parent >= 0 else ground
        a, alpha = link.carried(a_p, alpha_p)
        a, alpha = a + bias[link.index][0], alpha + bias[link.index][1]
        for freedom, (Ua, Uw, inverse, u) in reversed(list(zip(link.freedoms, steps[link.index], strict=True))):
            theta = mul(sub(u, add(Ua.dot(a), Uw.dot(alpha))), inverse)
            result[freedom.index] = theta
            a, alpha = freedom.moved(a, alpha, mul(freedom.ratio, theta))
        motion.append((a, alpha))
    return result
