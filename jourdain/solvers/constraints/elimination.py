"""Elimination of constraints J a = g block by block: dependent velocities by independent ones.

Each independent group of constraints (a *block*: rows that share coordinates) is eliminated by itself with full pivoting, which finds the
dependent velocities and drops redundant rows: a = Z a_u + a₀ with J Z = 0.  A row of Z has entries only for the independent velocities of
its own block: it is kept as a short list, so that many small loops cost no more than their own sizes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...native.kernel import hot, jit
from ...native.record import Floats, Integers, Record
from ..linear.dense import inner
from ..linear.fronts import NullSpace, Walk, null_space, walk
from ..linear.units import Units, plain
from .plan import Plan

#: A pivot below this fraction of the first counts as a redundant row; near a singular position the directions that the
#: constraints hardly hold are then left to the dynamics for the moment of passing, which keeps accelerations bounded.
RANK_TOLERANCE = 1e-5
#: Blocks of this many rows have mostly zeros.
SPARSE = 8


class Pivots(Record):
    """Of each block its rank, and its rows and columns in the order of the pivots."""

    rank: Integers
    rows: Integers
    columns: Integers


class Elimination(Record):
    """A plan with the memory for what is found by it: the null space, pivots, ZᵀM (M Z where entries of M are listed) and the factor of ZᵀM Z."""

    plan: Plan
    space: NullSpace
    pivots: Pivots
    walk: Walk
    ZM: Floats
    reduced: Floats
    work: Floats


def elimination(plan: Plan, by_fronts: bool = False, turns_alone: bool = False, units: Units | None = None) -> Elimination:
    """Memory for a plan, whose pivots are compared in given units; ``by_fronts`` where blocks that are split are never eliminated as a whole, ``turns_alone`` where nothing is eliminated at all."""
    n, m = plan.nv, plan.m
    if turns_alone:  # quaternions are normalised by no matrix
        space, pivots = null_space(0, 0), Pivots(rank=(none := np.zeros(0, np.int64)), rows=none, columns=none)
        space.a0 = np.zeros(n)
        return Elimination(plan=plan, space=space, pivots=pivots, walk=walk(0, 0), ZM=np.zeros(0), reduced=np.zeros(0), work=np.zeros(1))
    fronts = [plan.fronts.each[k].rows for k in range(len(plan.fronts.each))]
    by_fronts = by_fronts and bool(fronts) and all(plan.blocks[k].rank == plan.blocks[k].rows for k in range(len(plan.blocks)))
    pivots = Pivots(
        rank=np.zeros(len(plan.blocks), dtype=np.int64), rows=np.zeros(plan.rows.size, dtype=np.int64),
        columns=np.zeros(plan.columns.size, dtype=np.int64),
    )  # fmt: skip
    path = walk(n, len(fronts))
    path.units = plain(m, n) if units is None else units
    return Elimination(
        plan=plan, space=null_space(m, n, fronts, by_fronts), pivots=pivots, walk=path, ZM=np.zeros(n * n + n), reduced=np.zeros(n * n + n),
        work=np.zeros(1 if by_fronts else max(2 * m * n + 3 * m + n, 2 * m * m + m) + 1),
    )  # fmt: skip


@jit
def _factor(a: Any, m: int, n: int, rows: Any, columns: Any) -> int:
    """Full-pivot elimination of an m × n block; the next pivot is sought while the rest is updated. Returns the rank."""
    best, p, q = 0.0, 0, 0
    for i in range(m):
        for j in range(n):
            size = abs(a[i * n + j])
            if size > best:
                best, p, q = size, i, j
    first = best
    for k in range(min(m, n)):
        if not best > RANK_TOLERANCE * first:
            return k
        _exchange(a, m, n, k, p, q, rows, columns)
        inverse = 1.0 / a[k * n + k]
        best, p, q = 0.0, k + 1, k + 1
        for i in range(k + 1, m):
            factor = a[i * n + k] * inverse
            a[i * n + k] = factor
            for j in range(k + 1, n):
                rest = a[i * n + j] - factor * a[k * n + j]
                a[i * n + j] = rest
                if abs(rest) > best:
                    best, p, q = abs(rest), i, j
    return min(m, n)


@jit
def _factor_in_units(a: Any, m: int, n: int, rows: Any, columns: Any, units: Any) -> int:
    """The same where entries are compared in units of their rows and velocities."""
    first = 0.0
    for k in range(min(m, n)):
        best, p, q = 0.0, k, k
        for i in range(k, m):
            for j in range(k, n):
                size = abs(a[i * n + j]) * units.row[rows[i]] * units.velocity[columns[j]]
                if size > best:
                    best, p, q = size, i, j
        if k == 0:
            first = best
        if not best > RANK_TOLERANCE * first:
            return k
        _exchange(a, m, n, k, p, q, rows, columns)
        inverse = 1.0 / a[k * n + k]
        for i in range(k + 1, m):
            if a[i * n + k] != 0.0:
                _clear(a, n, k, i, inverse)
    return min(m, n)


@jit
def _exchange(a: Any, m: int, n: int, k: int, p: int, q: int, rows: Any, columns: Any) -> None:
    """Brings the entry in row p and column q to the place (k, k)."""
    if p != k:
        rows[k], rows[p] = rows[p], rows[k]
        for j in range(n):
            a[k * n + j], a[p * n + j] = a[p * n + j], a[k * n + j]
    if q != k:
        columns[k], columns[q] = columns[q], columns[k]
        for i in range(m):
            a[i * n + k], a[i * n + q] = a[i * n + q], a[i * n + k]


@hot
def _clear(a: Any, n: int, k: int, i: int, inverse: float) -> None:
    """Takes from row i what it has of the pivot's row k; the factor stays in the pivot's column."""
    factor = a[i * n + k] * inverse
    a[i * n + k] = factor
    for j in range(k + 1, n):
        a[i * n + j] -= factor * a[k * n + j]


@jit
def _largest(row: Any, begin: int, end: int) -> float:
    """The largest size of some entries."""
    m0, m1, m2, m3 = 0.0, 0.0, 0.0, 0.0
    whole = end - (end - begin) % 4
    for j in range(begin, whole, 4):
        m0, m1 = max(m0, abs(row[j])), max(m1, abs(row[j + 1]))
        m2, m3 = max(m2, abs(row[j + 2])), max(m3, abs(row[j + 3]))
    for j in range(whole, end):
        m0 = max(m0, abs(row[j]))
    return max(max(m0, m1), max(m2, m3))


@jit
def _factor_sparse(a: Any, m: int, n: int, rows: Any, columns: Any, largest: Any) -> int:
    """The same for a block with many zeros: rows in which the pivot's column is empty stay as they are, with their largest entry."""
    first = 0.0
    for i in range(m):
        largest[i] = _largest(a[i * n :], 0, n)
        first = max(first, largest[i])
    for k in range(min(m, n)):
        best, p, q = 0.0, k, k
        for i in range(k, m):
            if largest[i] > best:
                best, p = largest[i], i
        if not best > RANK_TOLERANCE * first:
            return k
        while abs(a[p * n + q]) != best:
            q += 1
        largest[p] = largest[k]
        _exchange(a, m, n, k, p, q, rows, columns)
        inverse = 1.0 / a[k * n + k]
        for i in range(k + 1, m):
            if a[i * n + k] != 0.0:
                _clear(a, n, k, i, inverse)
                largest[i] = _largest(a[i * n :], k + 1, n)
    return min(m, n)


@jit
def factor_blocks(J: Any, e: Any) -> int:
    """Factors of all blocks; numbers the independent velocities and returns how many there are."""
    plan, number, lu = e.plan, e.space.number, e.space.factors
    n = plan.nv
    for j in range(n):
        number[j] = 0
    for k in range(len(plan.blocks)):
        block = plan.blocks[k]
        m, width, factors = block.rows, block.columns, lu[block.factors :]
        rows, columns = e.pivots.rows[block.row :], e.pivots.columns[block.column :]
        for i in range(m):
            rows[i] = plan.rows[block.row + i]
        for j in range(width):
            columns[j] = plan.columns[block.column + j]
        for i in range(m):
            for j in range(width):
                factors[i * width + j] = J[rows[i] * n + columns[j]]
        if e.walk.units.differ == 1:
            found = _factor_in_units(factors, m, width, rows, columns, e.walk.units)
        elif m < SPARSE:
            found = _factor(factors, m, width, rows, columns)
        else:
            found = _factor_sparse(factors, m, width, rows, columns, e.work)
        rank = min(block.rank, found)
        e.pivots.rank[k] = rank
        for j in range(rank):
            number[columns[j]] = -1
    free = 0
    for j in range(n):
        if number[j] >= 0:
            number[j] = free
            free += 1
    return free


@jit
def _particular(rank: int, width: int, lu: Any, rows: Any, columns: Any, g: Any, a0: Any) -> None:
    """a₀ = L⁻¹g of a block's dependent velocities."""
    for i in range(rank):
        right = g[rows[i]]
        for k in range(i):
            right -= lu[i * width + k] * a0[columns[k]]
        a0[columns[i]] = right


@jit
def _dependent_rows(n: int, rank: int, width: int, lu: Any, columns: Any, Z: Any, a0: Any) -> None:
    """Listed rows of Z and entries of a₀ (now L⁻¹g) for a block's dependent velocities: −U⁻¹W and U⁻¹L⁻¹g."""
    loose = width - rank
    for i in range(rank - 1, -1, -1):
        dependent = columns[i]
        for j in range(loose):
            Z[dependent * n + j] = -lu[i * width + rank + j]
        right = a0[dependent]
        for k in range(i + 1, rank):
            other, factor = columns[k], lu[i * width + k]
            for j in range(loose):
                Z[dependent * n + j] -= factor * Z[other * n + j]
            right -= factor * a0[other]
        inverse = 1.0 / lu[i * width + i]
        for j in range(loose):
            Z[dependent * n + j] *= inverse
        a0[dependent] = right * inverse


@jit
def eliminate(J: Any, g: Any, e: Any) -> int:
    """The null space of J by lists, and a particular solution a₀ of J a = g; returns how many velocities are free."""
    plan, space = e.plan, e.space
    number, begin, count, members, Z, a0 = space.number, space.begin, space.count, space.members, space.Z, space.a0
    n = plan.nv
    free = factor_blocks(J, e)
    used = 0
    for j in range(n):
        a0[j] = 0.0
        space.row[j] = j * n
        if number[j] >= 0:
            begin[j], count[j], members[used] = used, 1, number[j]
            Z[j * n] = 1.0
            used += 1
    for k in range(len(plan.blocks)):
        block, rank = plan.blocks[k], e.pivots.rank[k]
        width, lu = block.columns, space.factors[block.factors :]
        rows, columns = e.pivots.rows[block.row :], e.pivots.columns[block.column :]
        for j in range(rank):
            begin[columns[j]], count[columns[j]] = used, width - rank
        for j in range(rank, width):
            members[used] = number[columns[j]]
            used += 1
        _particular(rank, width, lu, rows, columns, g, a0)
        _dependent_rows(n, rank, width, lu, columns, Z, a0)
    return free


@jit
def particular(g: Any, e: Any) -> None:
    """a₀ for another g with the factors of :func:`eliminate`: dependent velocities U⁻¹L⁻¹g, independent ones zero."""
    plan, a0, y = e.plan, e.space.a0, e.work
    for j in range(plan.nv):
        a0[j] = 0.0
    for k in range(len(plan.blocks)):
        block, rank = plan.blocks[k], e.pivots.rank[k]
        width, lu, columns, rows = (
            block.columns,
            e.space.factors[block.factors :],
            e.pivots.columns[block.column :],
            e.pivots.rows[block.row :],
        )
        for i in range(rank):
            y[i] = g[rows[i]] - inner(lu[i * width :], y, i)
        for i in range(rank - 1, -1, -1):
            y[i] = (y[i] - inner(lu[i * width + i + 1 :], y[i + 1 :], rank - i - 1)) / lu[i * width + i]
            a0[columns[i]] = y[i]


__all__ = ["RANK_TOLERANCE", "Elimination", "Pivots", "eliminate", "elimination", "factor_blocks", "particular"]
