"""Mass matrix by composite bodies: each column is the force that one unit acceleration asks of the bodies it carries."""

from __future__ import annotations

from ..symbolic.expr import ZERO, Expr, add, mul
from ..symbolic.vectors import AXES, Inertia, Vector, steiner
from .newton_euler import reflected_inertias
from .tree import Freedom, Link, Tree


def composite_inertias(tree: Tree) -> list[tuple[Expr, Vector, Inertia]]:
    """Mass, first moment and inertia of each link with all it carries, about its origin."""
    totals = [(link.mass, link.moment, link.inertia) for link in tree.links]
    for link in reversed(tree.links):
        if link.parent < 0:
            continue
        m, s, I = totals[link.index]
        if link.kind == "T" and not link.slide.is_zero:
            I = I + steiner(s * 2.0 + link.slide * m, link.slide)
            s = s + link.slide * m
        s, I = link.out(s), link.out_inertia(I)
        if not link.d.is_zero:
            I = I + steiner(s * 2.0 + link.d * m, link.d)
            s = s + link.d * m
        above = totals[link.parent]
        totals[link.parent] = (add(above[0], m), above[1] + s, above[2] + I)
    return totals


def mass_matrix(tree: Tree) -> list[list[Expr]]:
    """M(q), symmetric; both triangles filled with the same expressions."""
    n = tree.nv
    M = [[ZERO] * n for _ in range(n)]
    composites = composite_inertias(tree)
    for link in tree.links:
        m, s, I = composites[link.index]
        for freedom in link.freedoms:
            e = AXES[freedom.axis]
            if link.kind == "T":
                force, moment = e * m, s.cross(e)
            else:
                force, moment = e.cross(s), I.column(freedom.axis)
            _spread(tree, link, freedom, force, moment, M)
    for i, inertia in reflected_inertias(tree).items():
        M[i][i] = add(M[i][i], inertia)
    return M


def _spread(tree: Tree, link: Link, freedom: Freedom, force: Vector, moment: Vector, M: list[list[Expr]]) -> None:
    """Projects the column's force on the joint itself and on all joints before it."""
    own = link.index
    ratio, column = freedom.ratio, freedom.index
    while True:
        for other in link.freedoms:
            if link.index == own and other.index > column:
                continue
            value = mul(mul(ratio, other.ratio), (force if link.kind == "T" else moment)[other.axis])
            row = other.index
            M[row][column] = add(M[row][column], value)
            if row != column:
                M[column][row] = M[row][column]
            elif link.index != own:
                M[row][row] = add(M[row][row], value)
        if link.parent < 0:
            return
        if link.kind == "T":
            moment = moment + link.slide.cross(force)
        force = link.out(force)
        moment = link.out(moment) + link.d.cross(force)
        link = tree.links[link.parent]
