"""W of some rows as a matrix: dense, or a band in an order of blocks in which neighbours are near each other.

Blocks are neighbours when they share a body (or have a block of W).  They are numbered level by level from one at the rim of its component
(Cuthill & McKee 1969), so that stacks, chains, arches and rows of dominoes have narrow bands; those of piles are wide.

Entry (r, c) of either stands at ``stride`` r + c + ``offset``: n r + c of a dense one, 3 b r + c + b of a band (see :mod:`..linear.band`).
"""

from __future__ import annotations

from typing import Any

from ...native.kernel import hot, jit
from .operator import rows_of
from .problem import BODIES, DENSE


@hot
def order_of(problem: Any) -> Any:
    """The blocks in their order, as :func:`number_blocks` leaves them."""
    m = rows_of(problem)
    return problem.whole[2 * m : 2 * m + problem.blocks]


@hot
def incidents(problem: Any) -> Any:
    """Where the lists of bodies begin, and the lists: 2 i + side for every side of a block on which the body is."""
    m, n, count = rows_of(problem), problem.blocks, problem.bodies.count
    first = problem.whole[2 * m + 2 * n : 2 * m + 2 * n + count + 1]
    return first, problem.whole[2 * m + 2 * n + count + 1 : 2 * m + 4 * n + count + 1]


@jit
def list_incidents(problem: Any) -> None:
    """Lists for every body the blocks that it takes part in."""
    if problem.form != BODIES:
        return
    b, (first, member) = problem.bodies, incidents(problem)
    for k in range(b.count + 1):
        first[k] = 0
    for e in range(2 * problem.blocks):
        if b.pair[e] >= 0:
            first[b.pair[e] + 1] += 1
    for k in range(b.count):
        first[k + 1] += first[k]
    for e in range(2 * problem.blocks - 1, -1, -1):
        if b.pair[e] >= 0:
            first[b.pair[e] + 1] -= 1
            member[first[b.pair[e] + 1]] = e
    for k in range(b.count):  # starts have moved to the place behind them
        first[k] = first[k + 1]
    total = 0
    for e in range(2 * problem.blocks):
        total += 1 if b.pair[e] >= 0 else 0
    first[b.count] = total


@jit
def _add_neighbours(problem: Any, i: int, mark: Any, value: int, order: Any, end: int) -> int:
    """Appends the neighbours of block i that are not marked by the value, and marks them; where the order ends now."""
    if problem.form == BODIES:
        first, member = incidents(problem)
        for side in (0, 1):
            body = problem.bodies.pair[2 * i + side]
            if body >= 0:
                for e in range(first[body], first[body + 1]):
                    j = member[e] // 2
                    if mark[j] != value:
                        mark[j], order[end] = value, j
                        end += 1
    else:
        s = problem.sparse
        for e in range(s.first[i], s.first[i + 1]):
            j = s.column[e]
            if mark[j] != value:
                mark[j], order[end] = value, j
                end += 1
    return end


@jit
def _walk(problem: Any, start: int, mark: Any, value: int, order: Any, begin: int) -> int:
    """The component of a block level by level; where it ends in the order."""
    order[begin], mark[start] = start, value
    k, end = begin, begin + 1
    while k < end:
        end = _add_neighbours(problem, order[k], mark, value, order, end)
        k += 1
    return end


@jit
def number_blocks(problem: Any) -> None:
    """Puts the blocks in order, level by level from the last that is reached from any one of a component."""
    m, n = rows_of(problem), problem.blocks
    order, mark = order_of(problem), problem.whole[2 * m + n : 2 * m + 2 * n]
    list_incidents(problem)
    for i in range(n):
        mark[i], order[i] = 0, i
    begin = 0
    for i in range(0 if problem.form == DENSE else n):
        if mark[i] == 0:
            end = _walk(problem, i, mark, 1, order, begin)
            begin = _walk(problem, order[end - 1], mark, 2, order, begin)


@jit
def half_width(problem: Any, place: Any, count: int) -> int:
    """The number of diagonals beside the main one in which rows that have a place ≥ 0 are coupled."""
    if problem.form == DENSE:
        return max(0, count - 1)
    m, n = rows_of(problem), problem.blocks
    mark, near = problem.whole[2 * m + n : 2 * m + 2 * n], problem.whole[m : 2 * m]
    widest = 0
    for i in range(n):
        mark[i] = -1
    for i in range(n):
        if place[problem.row[i]] >= 0:
            end = _add_neighbours(problem, i, mark, i, near, 0)
            for k in range(end):
                low, high = place[problem.row[near[k]]], place[problem.row[near[k] + 1] - 1]
                if low >= 0:
                    widest = max(widest, high - place[problem.row[i]], place[problem.row[i + 1] - 1] - low)
    return widest


@jit
def _add_body(problem: Any, i: int, side: int, e: int, place: Any, stride: int, offset: int, matrix: Any) -> None:
    """What two blocks have in common by one body."""
    b, j, other = problem.bodies, e // 2, e % 2
    for r in range(problem.row[i], problem.row[i + 1]):
        for c in range(problem.row[j], problem.row[j + 1]):
            total = 0.0
            for k in range(6):
                total += b.J[12 * r + 6 * side + k] * b.response[12 * c + 6 * other + k]
            matrix[stride * place[r] + place[c] + offset] += total


@jit
def _add_rows(problem: Any, i: int, place: Any, stride: int, offset: int, matrix: Any) -> None:
    begin, end = problem.row[i], problem.row[i + 1]
    for r in range(begin, end):
        matrix[stride * place[r] + place[r] + offset] += problem.compliance[r]
    if problem.form == BODIES:
        first, member = incidents(problem)
        for side in (0, 1):
            body = problem.bodies.pair[2 * i + side]
            if body >= 0:
                for k in range(first[body], first[body + 1]):
                    if place[problem.row[member[k] // 2]] >= 0:
                        _add_body(problem, i, side, member[k], place, stride, offset, matrix)
    elif problem.form == DENSE:
        for r in range(begin, end):
            for c in range(rows_of(problem)):
                if place[c] >= 0:
                    matrix[stride * place[r] + place[c] + offset] += problem.dense[r, c]
    else:
        s = problem.sparse
        for e in range(s.first[i], s.first[i + 1]):
            low, high = problem.row[s.column[e]], problem.row[s.column[e] + 1]
            if place[low] >= 0:
                for r in range(begin, end):
                    for c in range(low, high):
                        at = s.place[e] + (r - begin) * (high - low) + c - low
                        matrix[stride * place[r] + place[c] + offset] += s.values[at]


@jit
def fill_matrix(problem: Any, place: Any, size: int, stride: int, offset: int, matrix: Any) -> None:
    """W + C of the rows that have a place ≥ 0 (those of a block have one all together), in ``size`` numbers; after :func:`list_incidents`."""
    for k in range(size):
        matrix[k] = 0.0
    for i in range(problem.blocks):
        if place[problem.row[i]] >= 0:
            _add_rows(problem, i, place, stride, offset, matrix)
