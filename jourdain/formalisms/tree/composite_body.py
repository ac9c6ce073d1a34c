"""Mass matrix by composite bodies: each column is the force that one unit acceleration asks of the bodies it carries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...symbolic.expr import ZERO, Expr, add, mul
from ...symbolic.vectors import Inertia, Vector, steiner
from .links import Freedom, Link, MassMoments, Wrench
from .newton_euler import reflected_inertias
from .rods import CoupledColumns
from .tree import Tree


def composite_inertias(tree: Tree, further: Mapping[int, MassMoments] | None = None) -> list[MassMoments]:
    """Mass, first moment and inertia of each link with all it carries, about its origin.

    ``further`` gives links inertia of their own in addition.
    """
    totals = [link.moments for link in tree.links]
    for i, (m, s, I) in (further or {}).items():
        totals[i] = (add(totals[i][0], m), totals[i][1] + s, totals[i][2] + I)
    for link in reversed(tree.links):
        if link.parent < 0:
            continue
        m, s, I = totals[link.index]
        s, I = shifted(m, s, I, link.slide)
        s, I = shifted(m, link.out(s), link.out_inertia(I), link.d)
        above = totals[link.parent]
        totals[link.parent] = (add(above[0], m), above[1] + s, above[2] + I)
    return totals


def shifted(m: Expr, s: Vector, I: Inertia, d: Vector) -> tuple[Vector, Inertia]:
    """First moment and inertia about a point −d away (Steiner)."""
    if d.is_zero:
        return s, I
    I = I + steiner(s * 2.0 + d * m, d)
    return s + d * m, I


def mass_matrix(tree: Tree) -> list[list[Expr]]:
    """M(q), symmetric; both triangles filled with the same expressions."""
    M = [[ZERO] * tree.nv for _ in range(tree.nv)]
    _fill(tree, M)
    return M


def mass_entries(tree: Tree) -> dict[tuple[int, int], Expr]:
    """Entries of M(q) that may differ from zero: in a flat tree of many bodies they are few."""
    rows = [_Row() for _ in range(tree.nv)]
    _fill(tree, rows)
    return {(i, j): e for i, row in enumerate(rows) for j, e in row.items() if e is not ZERO}


class _Row(dict[int, Expr]):
    """A row of a matrix by its entries."""

    def __missing__(self, j: int) -> Expr:
        return ZERO


def _fill(tree: Tree, M: Any) -> None:
    """Adds up the entries of M(q) in rows that are zero."""
    coupled = CoupledColumns(tree) if tree.couplings else None
    composites = composite_inertias(tree, coupled.inertias() if coupled else None)
    for link in tree.links:
        m, s, I = composites[link.index]
        known: dict[tuple[Expr, ...], list[Share]] = {}  # freedoms along one axis differ in their ratios alone
        for freedom in link.freedoms:
            force, moment = freedom.asked(m, s, I)
            arriving, entries = coupled.column(link, freedom) if coupled else ({}, [])
            key = (*force, *moment)
            if arriving or key not in known:
                known[key] = _shares(tree, link, force, moment, arriving)
            _spread(link, freedom, known[key], M)
            for other, value in entries:
                _add_entry(M, freedom.index, other.index, mul(freedom.ratio, value))
    for flexible in tree.flexible.values():
        flexible.add_inner_masses(M)
    for i, inertia in reflected_inertias(tree).items():
        M[i][i] = add(M[i][i], inertia)


def _add_entry(M: Any, i: int, j: int, value: Expr) -> None:
    """An entry of two freedoms and its mirror image, which fall together where one coordinate moves both."""
    M[i][j] = add(M[i][j], value)
    M[j][i] = M[i][j] if i != j else add(M[i][i], value)


#: A freedom of a link, and the share of a wrench in one unit of its motion.
Share = tuple[Link, Freedom, Expr]


def _shares(tree: Tree, link: Link, force: Vector, moment: Vector, arriving: Mapping[int, Wrench]) -> list[Share]:
    """A column's force projected on the joint itself and on all joints before it; ``arriving`` joins it at links on the way."""
    found: list[Share] = []
    while True:
        for freedom in link.freedoms:
            share = freedom.project(force, moment)
            if share is not ZERO:
                found.append((link, freedom, share))
        if link.parent < 0:
            return found
        force, moment = link.inwards(force, moment)
        link = tree.links[link.parent]
        if link.index in arriving:
            force, moment = force + arriving[link.index][0], moment + arriving[link.index][1]


def _spread(own: Link, freedom: Freedom, shares: list[Share], M: Any) -> None:
    """Adds a column's shares to the entries of its freedom."""
    ratio, column = freedom.ratio, freedom.index
    for link, other, share in shares:
        if link is own and other.index > column:
            continue
        value = mul(mul(ratio, other.ratio), share)
        row = other.index
        M[row][column] = add(M[row][column], value)
        if row != column:
            M[column][row] = M[row][column]
        elif link is not own:
            M[row][row] = add(M[row][row], value)
