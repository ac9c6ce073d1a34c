"""Elimination of many coupled loops front by front: what a chain of loops costs grows with its length, not with its third power.

Rows that share columns (those of one loop) form a *front*.  Fronts are taken in an order that walks along the mechanism.  In a front,
velocities that earlier fronts made dependent are replaced by what they depend on; full pivoting over all that remains then finds the
front's own dependent velocities and drops rows that say nothing new.  A walk back expresses everything by independent velocities.  It
is sparse Gaussian elimination with the row blocks in a fixed order and the columns chosen by size at every evaluation, so singular
positions are passed as in the dense elimination of a whole block.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...native.kernel import jit
from .dense import cholesky, cholesky_solve

#: Blocks with fewer rows are eliminated as a whole, and so are those of which a front has more than this part of the columns.
SMALLEST_BLOCK = 12
LARGEST_FRONT = 1 / 3


def make_fronts(pattern: np.ndarray, groups: Sequence[tuple[list[int], list[int]]], whole: Sequence[bool]) -> list[int]:
    """The fronts of all blocks as integers (how many; then for each: rows and columns with their numbers); [] where none would be split.

    ``groups`` are the blocks of the pattern; those marked ``whole`` stay one front.
    """
    fronts: list[tuple[list[int], list[int]]] = []
    for (rows, columns), keep in zip(groups, whole, strict=True):
        parts = [] if keep or len(rows) < SMALLEST_BLOCK else _loops(pattern, rows)
        pays = len(parts) > 1 and max(len(own) for _, own in parts) <= LARGEST_FRONT * len(columns)
        fronts += _walk(parts) if pays else [(rows, columns)]
    if len(fronts) == len(groups):
        return []
    return [len(fronts), *(i for rows, columns in fronts for i in (len(rows), *rows, len(columns), *columns))]


def _loops(pattern: np.ndarray, rows: Sequence[int]) -> list[tuple[list[int], list[int]]]:
    """Rows gathered where the columns of one contain those of the other."""
    found: list[tuple[list[int], set[int]]] = []
    for i in sorted(rows, key=lambda i: -int(pattern[i].sum())):
        columns = set(np.flatnonzero(pattern[i]).tolist())
        home = next((members for members, known in found if columns <= known), None)
        if home is None:
            found.append(([i], columns))
        else:
            home.append(i)
    return [(sorted(members), sorted(known)) for members, known in found]


def _walk(parts: list[tuple[list[int], list[int]]]) -> list[tuple[list[int], list[int]]]:
    """Fronts in the order of a walk from one end of the mechanism (levels of the graph, as Cuthill and McKee order a matrix)."""
    sets = [set(columns) for _, columns in parts]
    near = [[j for j in range(len(parts)) if j != i and sets[i] & sets[j]] for i in range(len(parts))]
    order = [0]
    for _ in range(2):  # the last of a first walk is an end
        order = [order[-1]]
        for i in order:
            order += sorted((j for j in near[i] if j not in order), key=lambda j: len(near[j]))
    return [parts[i] for i in order]


def room(n: int, fronts: Sequence[int]) -> int:
    """Integers that :func:`eliminate_by_fronts` needs from ``base`` on."""
    return 5 * n + 3 * fronts[0] + 2 * fronts[0] * n if fronts else 0


@jit
def _assemble(
    J: Any, g: Any, n: int, limit: int, plan: Any, at: int, helper: Any, front: int, mark: int, normalise: bool, work: Any
) -> Any:
    """Rows of a front (n entries apart in ``work``, right-hand sides behind them) in terms of all that its columns are; width and size."""
    rows = plan[at]
    columns = plan[at + 1 + rows]
    right = rows * n
    kept, size = 0, 0.0
    for p in range(columns):
        j = plan[at + 2 + rows + p]
        helper[front + p] = j
        helper[mark + j] = p
    for i in range(rows):
        row = plan[at + 1 + i]
        if row < limit:
            norm = 0.0
            for p in range(columns):
                entry = J[row * n + helper[front + p]]
                work[kept * n + p] = entry
                norm += entry * entry
                size = max(size, abs(entry))
            work[right + kept] = g[row]
            if normalise and norm > 0.0:
                scale = 1.0 / np.sqrt(norm)
                for p in range(columns):
                    work[kept * n + p] *= scale
                work[right + kept] *= scale
            kept += 1
    return kept, columns, 1.0 if normalise else size


@jit
def _substitute(
    n: int, rows: int, kept: int, width: int, helper: Any, front: int, mark: int, owner: int, start: int, work: Any, Z: Any, a0: Any
) -> int:
    """Replaces dependent velocities in a front by what they depend on, the earliest first; returns the width without them."""
    right = rows * n
    while True:
        e, first = -1, 1 << 62
        for p in range(width):
            j = helper[front + p]
            if helper[mark + j] >= 0 and 0 <= helper[owner + j] < first:
                e, first = p, helper[owner + j]
        if e < 0:
            break
        j = helper[front + e]
        helper[mark + j] = -2  # done with
        members, length = helper[start + 3 * first] + helper[start + 3 * first + 1], helper[start + 3 * first + 2]
        for k in range(length):
            other = helper[members + k]
            p = helper[mark + other]
            if p == -1:
                p = width
                width += 1
                helper[front + p], helper[mark + other] = other, p
                for i in range(kept):
                    work[i * n + p] = 0.0
            z = Z[j * n + k]
            for i in range(kept):
                work[i * n + p] += work[i * n + e] * z
        for i in range(kept):
            work[right + i] -= work[i * n + e] * a0[j]
    live = 0
    for p in range(width):
        j = helper[front + p]
        if helper[mark + j] >= 0:
            if live != p:
                helper[front + live] = j
                for i in range(kept):
                    work[i * n + live] = work[i * n + p]
            live += 1
        helper[mark + j] = -1
    return live


@jit
def _pivot(n: int, rows: int, kept: int, width: int, smallest: float, helper: Any, front: int, work: Any) -> int:
    """Gauss–Jordan elimination of a front with full pivoting; the pivots' columns come first in ``front``.  Returns the rank."""
    right = rows * n
    for k in range(min(kept, width)):
        best, p, q = 0.0, k, k
        for i in range(k, kept):
            for j in range(k, width):
                if abs(work[i * n + j]) > best:
                    best, p, q = abs(work[i * n + j]), i, j
        if not best > smallest:
            return k
        if p != k:
            for j in range(width):
                work[k * n + j], work[p * n + j] = work[p * n + j], work[k * n + j]
            work[right + k], work[right + p] = work[right + p], work[right + k]
        if q != k:
            helper[front + k], helper[front + q] = helper[front + q], helper[front + k]
            for i in range(kept):
                work[i * n + k], work[i * n + q] = work[i * n + q], work[i * n + k]
        inverse = 1.0 / work[k * n + k]
        for j in range(k + 1, width):
            work[k * n + j] *= inverse
        work[right + k] *= inverse
        for i in range(kept):
            if i != k:
                factor = work[i * n + k]
                for j in range(k + 1, width):
                    work[i * n + j] -= factor * work[k * n + j]
                work[right + i] -= factor * work[right + k]
    return min(kept, width)


@jit
def _walk_back(n: int, count: int, helper: Any, begin: int, mark: int, start: int, used: int, work: Any, Z: Any, a0: Any) -> None:
    """Lists of the fronts, last first, in terms of independent velocities."""
    for k in range(count - 1, -1, -1):
        dependents, rank, length = helper[start + 3 * k], helper[start + 3 * k + 1], helper[start + 3 * k + 2]
        members = dependents + rank
        union = 0
        for t in range(length):
            f = helper[members + t]
            for s in range(helper[begin + n + f]):
                number = helper[helper[begin + f] + s]
                if helper[mark + number] < 0:
                    helper[mark + number] = union
                    helper[used + union] = number
                    union += 1
        for r in range(rank):
            d = helper[dependents + r]
            for s in range(union):
                work[s] = 0.0
            for t in range(length):
                f, z = helper[members + t], Z[d * n + t]
                a0[d] += z * a0[f]
                for s in range(helper[begin + n + f]):
                    work[helper[mark + helper[helper[begin + f] + s]]] += z * Z[f * n + s]
            for s in range(union):
                Z[d * n + s] = work[s]
            helper[begin + d], helper[begin + n + d] = used, union
        for s in range(union):
            helper[mark + helper[used + s]] = -1
        used += union


@jit
def eliminate_by_fronts(
    J: Any, g: Any, limit: int, n: int, plan: Any, at: int, helper: Any, begin: int, base: int, tolerance: float, normalise: bool,
    work: Any, Z: Any, a0: Any,
) -> int:  # fmt: skip
    """The null space of the first ``limit`` rows of J by lists, and a particular solution of J a = g; returns how many are free.

    ``plan[at:]`` lists the fronts.  Results are as of :func:`jourdain.solvers.constraints.elimination.eliminate`: ``helper[:n]`` numbers the
    independent velocities (−1: dependent), from ``begin`` on are the lists' places and lengths; ``helper[base:]`` is scratch.  A pivot
    below ``tolerance`` times the front's largest entry (its rows' lengths with ``normalise``) counts as zero.
    """
    count = plan[at]
    mark, owner, front = base, base + n, base + 2 * n
    start = base + 4 * n
    used = start + 3 * count
    for j in range(n):
        helper[mark + j], helper[owner + j], a0[j] = -1, -1, 0.0
    at += 1
    for k in range(count):
        rows = plan[at]
        kept, width, size = _assemble(J, g, n, limit, plan, at, helper, front, mark, normalise, work)
        width = _substitute(n, rows, kept, width, helper, front, mark, owner, start, work, Z, a0)
        rank = _pivot(n, rows, kept, width, tolerance * size, helper, front, work)
        helper[start + 3 * k], helper[start + 3 * k + 1], helper[start + 3 * k + 2] = used, rank, width - rank
        for p in range(width):
            helper[used + p] = helper[front + p]
        for i in range(rank):
            d = helper[front + i]
            helper[owner + d] = k
            a0[d] = work[rows * n + i]
            for p in range(rank, width):
                Z[d * n + p - rank] = -work[i * n + p]
        used += width
        at += 2 + rows + plan[at + 1 + rows]
    free = 0
    for j in range(n):
        helper[j] = -1
        if helper[owner + j] < 0:
            helper[j] = helper[used] = free
            helper[begin + j], helper[begin + n + j], Z[j * n] = used, 1, 1.0
            used += 1
            free += 1
    _walk_back(n, count, helper, begin, mark, start, used, work, Z, a0)
    return free


@jit
def shortest(n: int, free: int, helper: Any, begin: int, Z: Any, reduced: Any, a0: Any) -> int:
    """Makes the particular solution a₀ the shortest one, a₀ − Z (ZᵀZ)⁻¹Zᵀa₀."""
    right = reduced[free * free :]
    for k in range(free * free + free):
        reduced[k] = 0.0
    for j in range(n):
        members, length = helper[begin + j], helper[begin + n + j]
        for k in range(length):
            u, z = helper[members + k], Z[j * n + k]
            right[u] += z * a0[j]
            for i in range(length):
                w = helper[members + i]
                if w <= u:
                    reduced[u * free + w] += z * Z[j * n + i]
    if cholesky(reduced, free) != 0:
        return 1
    cholesky_solve(reduced, free, right)
    for j in range(n):
        members = helper[begin + j]
        for k in range(helper[begin + n + j]):
            a0[j] -= Z[j * n + k] * right[helper[members + k]]
    return 0
