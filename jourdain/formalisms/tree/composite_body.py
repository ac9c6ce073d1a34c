"""Mass matrix by composite bodies: each column is the force that one unit acceleration asks of the bodies it carries."""

from __future__ import annotations

from collections.abc import Mapping

from ...symbolic.expr import ZERO, Expr, add, mul
from ...symbolic.vectors import AXES, Inertia, Vector, steiner
from .newton_euler import Wrench, reflected_inertias
from .rods import CoupledColumns
from .tree import Freedom, Link, Tree


def composite_inertias(tree: Tree, further: Mapping[int, tuple[Expr, Vector, Inertia]] | None = None) -> list[tuple[Expr, Vector, Inertia]]:
    """Mass, first moment and inertia of each link with all it carries, about its origin.

    ``further`` gives links inertia of their own in addition.
    """
    totals = [(link.mass, link.moment, link.inertia) for link in tree.links]
    for i, (m, s, I) in (further or {}).items():
        totals[i] = (add(totals[i][0], m), totals[i][1] + s, totals[i][2] + I)
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
    coupled = CoupledColumns(tree) if tree.couplings else None
    composites = composite_inertias(tree, coupled.inertias() if coupled else None)
    for link in tree.links:
        m, s, I = composites[link.index]
        for freedom in link.freedoms:
            e = AXES[freedom.axis]
            if link.kind == "T":
                force, moment = e * m, s.cross(e)
            else:
                force, moment = e.cross(s), I.column(freedom.axis)
            arriving, entries = coupled.column(link, freedom) if coupled else ({}, [])
            _spread(tree, link, freedom, force, moment, M, arriving)
            for other, value in entries:
                _add_entry(M, freedom.index, other.index, mul(freedom.ratio, value))
    for i, inertia in reflected_inertias(tree).items():
        M[i][i] = add(M[i][i], inertia)
    return M


def _add_entry(M: list[list[Expr]], i: int, j: int, value: Expr) -> None:
    """An entry of two freedoms and its mirror image, which fall together where one coordinate moves both."""
    M[i][j] = add(M[i][j], value)
    M[j][i] = M[i][j] if i != j else add(M[i][i], value)


def _spread(
    tree: Tree, link: Link, freedom: Freedom, force: Vector, moment: Vector, M: list[list[Expr]], arriving: Mapping[int, Wrench]
) -> None:
    """Projects the column's force on the joint itself and on all joints before it; ``arriving`` joins it at links on the way."""
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
        if link.index in arriving:
            force, moment = force + arriving[link.index][0], moment + arriving[link.index][1]
