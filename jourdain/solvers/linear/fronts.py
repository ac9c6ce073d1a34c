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
from ...native.record import Floats, Integers, Record, Table
from .dense import cholesky, cholesky_solve
from .units import Units, plain

#: Blocks with fewer rows are eliminated as a whole, and so are those of which a front has more than this part of the columns.
SMALLEST_BLOCK = 12
LARGEST_FRONT = 1 / 3

#: Smaller entries are remnants of cancellation; multiplied along many fronts they would become denormal numbers, which are slow.
REMNANT = 1e-80

#: Rows and columns that belong together.
Part = tuple[list[int], list[int]]


class Group(Record):
    """Rows and columns that belong together: how many there are, and where they begin in the lists of all groups."""

    rows: int
    row: int
    columns: int
    column: int


class Groups(Record):
    """Groups, with their rows and columns one after the other."""

    each: Table[Group]
    rows: Integers
    columns: Integers


class Entries(Record):
    """Entries of a matrix that may differ from zero, row by row: those of row i are ``begin[i]`` … ``begin[i + 1]``, with their columns and
    their places in the array of numbers (which holds the whole matrix, or the entries alone)."""

    begin: Integers
    columns: Integers
    places: Integers


class NullSpace(Record):
    """Z with J Z = 0 and a₀ with J a₀ = g: each velocity by the independent ones on which it depends.

    The list of velocity j is ``members[begin[j] : begin[j] + count[j]]``, numbers of independent velocities; entry k of row j of Z is
    ``Z[row[j] + k]``.  ``factors`` is where rows of J are eliminated.
    """

    number: Integers  # of each velocity among the independent ones, −1 of a dependent one
    begin: Integers
    count: Integers
    members: Integers
    row: Integers
    Z: Floats
    a0: Floats
    factors: Floats


class Walk(Record):
    """What the walk over the fronts remembers: of each front its dependent velocities and those that they depend on."""

    mark: Integers  # place of each velocity in the present front, −1: it is not there, −2: no longer
    owner: Integers  # the front that made a velocity dependent, −1: none
    front: Integers  # velocities in the present front
    start: Integers  # of each front: where its velocities begin in the members of the null space, the dependent ones first
    rank: Integers
    length: Integers
    units: Units


def groups(parts: Sequence[Part]) -> Groups:
    """Rows and columns of groups as kernels read them."""
    found, row, column = [], 0, 0
    for rows, columns in parts:
        found.append((len(rows), row, len(columns), column))
        row, column = row + len(rows), column + len(columns)
    listed = [np.array([i for part in parts for i in part[k]], dtype=np.int64) for k in range(2)]
    return Groups(each=Group.table(found), rows=listed[0], columns=listed[1])


def entries_of(places: np.ndarray, rows: int, columns: int, packed: bool) -> Entries:
    """Entries that stand in these places of a matrix, counted row by row; ``packed`` where the array of numbers holds nothing else."""
    begin = np.searchsorted(places, columns * np.arange(rows + 1)).astype(np.int64)
    return Entries(begin=begin, columns=places % max(1, columns), places=np.arange(places.size) if packed else places.astype(np.int64))


def make_fronts(pattern: Sequence[Sequence[int]], blocks: Sequence[Part], whole: Sequence[bool]) -> list[Part]:
    """The fronts of all blocks; [] where none would be split.  Blocks marked ``whole`` stay one front.  ``pattern`` lists the columns of each row."""
    fronts: list[Part] = []
    for (rows, columns), keep in zip(blocks, whole, strict=True):
        parts = [] if keep or len(rows) < SMALLEST_BLOCK else _loops(pattern, rows)
        pays = len(parts) > 1 and max(len(own) for _, own in parts) <= LARGEST_FRONT * len(columns)
        fronts += _walk(parts) if pays else [(rows, columns)]
    return [] if len(fronts) == len(blocks) else fronts


def _loops(pattern: Sequence[Sequence[int]], rows: Sequence[int]) -> list[Part]:
    """Rows gathered where the columns of one contain those of the other."""
    found: list[tuple[list[int], set[int]]] = []
    with_column: dict[int, list[int]] = {}
    for i in sorted(rows, key=lambda i: -len(pattern[i])):
        columns = set(pattern[i])
        near = min((with_column.get(j, []) for j in columns), key=len, default=[])
        home = next((k for k in near if columns <= found[k][1]), None)
        if home is not None:
            found[home][0].append(i)
            continue
        for j in columns:
            with_column.setdefault(j, []).append(len(found))
        found.append(([i], columns))
    return [(sorted(members), sorted(known)) for members, known in found]


def _walk(parts: list[Part]) -> list[Part]:
    """Fronts in the order of a walk from one end of the mechanism (levels of the graph, as Cuthill and McKee order a matrix)."""
    with_column: dict[int, list[int]] = {}
    for i, (_, columns) in enumerate(parts):
        for j in columns:
            with_column.setdefault(j, []).append(i)
    near = [sorted({k for j in columns for k in with_column[j]} - {i}) for i, (_, columns) in enumerate(parts)]
    order = [0]
    for _ in range(2):  # the last of a first walk is an end
        order = [order[-1]]
        met = set(order)
        for i in order:
            order += sorted((j for j in near[i] if j not in met), key=lambda j: len(near[j]))
            met.update(near[i])
    return [parts[i] for i in order]


def null_space(m: int, n: int, fronts: Sequence[int] = (), by_fronts: bool = False) -> NullSpace:
    """Room for the null space of m rows and n columns; ``fronts`` are the numbers of rows of each, and all there is room for if ``by_fronts``."""
    number, begin, count = np.zeros((3, n), dtype=np.int64)
    members = np.zeros(2 * n + 2 * len(fronts) * n, dtype=np.int64)
    # rows found by fronts lie one after the other; pages beyond them are never touched
    Z, a0 = np.zeros((2 if len(fronts) else 1) * n * n), np.zeros(n)
    factors = np.zeros((max(fronts) + 1) * (n + 1) if by_fronts else 2 * m * n + m)
    return NullSpace(number=number, begin=begin, count=count, members=members, row=n * np.arange(n), Z=Z, a0=a0, factors=factors)


def walk(n: int, fronts: int) -> Walk:
    """Room for the walk over the fronts of n velocities."""
    mark, owner = np.zeros((2, n), dtype=np.int64)
    start, rank, length = np.zeros((3, fronts), dtype=np.int64)
    return Walk(mark=mark, owner=owner, front=np.zeros(2 * n, dtype=np.int64), start=start, rank=rank, length=length, units=plain(0, n))


@jit
def _assemble(J: Any, entries: Any, g: Any, n: int, limit: int, groups: Any, k: int, walk: Any, normalise: bool, work: Any) -> Any:
    """Rows of a front (n entries apart in ``work``, right-hand sides behind them) in terms of all that its columns are; width and size."""
    part, mark, front = groups.each[k], walk.mark, walk.front
    rows, columns = groups.rows[part.row :], groups.columns[part.column :]
    width, right = part.columns, part.rows * n
    kept, size = 0, 0.0
    for p in range(width):
        j = columns[p]
        front[p] = j
        mark[j] = p
    for i in range(part.rows):
        row = rows[i]
        if row < limit:
            norm = 0.0
            for p in range(width):
                work[kept * n + p] = 0.0
            for p in range(entries.begin[row], entries.begin[row + 1]):
                entry = J[entries.places[p]]
                work[kept * n + mark[entries.columns[p]]] = entry
                norm += entry * entry
                size = max(size, abs(entry))
            work[right + kept] = g[row]
            if normalise and norm > 0.0:
                scale = 1.0 / np.sqrt(norm)
                for p in range(width):
                    work[kept * n + p] *= scale
                work[right + kept] *= scale
            kept += 1
    if walk.units.differ == 1 and not normalise:
        size = _in_units(groups, k, width, n, limit, walk, work)
    return kept, width, 1.0 if normalise else size


@jit
def _in_units(groups: Any, k: int, width: int, n: int, limit: int, walk: Any, work: Any) -> float:
    """Brings the rows of a front into units of their own; their largest entry in those of velocities."""
    part, kept, size = groups.each[k], 0, 0.0
    rows, right = groups.rows[part.row :], part.rows * n
    for i in range(part.rows):
        if rows[i] < limit:
            factor = walk.units.row[rows[i]]
            for p in range(width):
                work[kept * n + p] *= factor
                size = max(size, abs(work[kept * n + p]) * walk.units.velocity[walk.front[p]])
            work[right + kept] *= factor
            kept += 1
    return size


@jit
def _substitute(n: int, rows: int, kept: int, width: int, walk: Any, space: Any) -> int:
    """Replaces dependent velocities in a front by what they depend on, the earliest first; returns the width without them."""
    mark, owner, front, work, Z, row = walk.mark, walk.owner, walk.front, space.factors, space.Z, space.row
    right = rows * n
    while True:
        e, first = -1, 1 << 62
        for p in range(width):
            j = front[p]
            if mark[j] >= 0 and 0 <= owner[j] < first:
                e, first = p, owner[j]
        if e < 0:
            break
        j = front[e]
        mark[j] = -2  # done with
        members, length = space.members[walk.start[first] + walk.rank[first] :], walk.length[first]
        for k in range(length):
            other = members[k]
            p = mark[other]
            if p == -1:
                p = width
                width += 1
                front[p], mark[other] = other, p
                for i in range(kept):
                    work[i * n + p] = 0.0
            z = Z[row[j] + k]
            for i in range(kept):
                work[i * n + p] += work[i * n + e] * z
        for i in range(kept):
            work[right + i] -= work[i * n + e] * space.a0[j]
    live = 0
    for p in range(width):
        j = front[p]
        if mark[j] >= 0:
            if live != p:
                front[live] = j
                for i in range(kept):
                    work[i * n + live] = work[i * n + p]
            live += 1
        mark[j] = -1
    return live


@jit
def _pivot(n: int, rows: int, kept: int, width: int, smallest: float, walk: Any, differ: bool, work: Any) -> int:
    """Gauss–Jordan elimination of a front with full pivoting; the pivots' columns come first in ``front``.  Returns the rank."""
    right, front = rows * n, walk.front
    for k in range(min(kept, width)):
        best, p, q = 0.0, k, k
        for i in range(k, kept):
            for j in range(k, width):
                size = abs(work[i * n + j])
                if differ:
                    size *= walk.units.velocity[front[j]]
                if size > best:
                    best, p, q = size, i, j
        if not best > smallest:
            return k
        if p != k:
            for j in range(width):
                work[k * n + j], work[p * n + j] = work[p * n + j], work[k * n + j]
            work[right + k], work[right + p] = work[right + p], work[right + k]
        if q != k:
            front[k], front[q] = front[q], front[k]
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
def _walk_back(used: int, filled: int, walk: Any, space: Any) -> None:
    """Lists of the fronts, last first, in terms of independent velocities; rows that grow are laid behind the others."""
    mark, work, Z, a0, row = walk.mark, space.factors, space.Z, space.a0, space.row
    begin, count, lists = space.begin, space.count, space.members
    for k in range(walk.start.size - 1, -1, -1):
        rank, length = walk.rank[k], walk.length[k]
        dependents = lists[walk.start[k] :]
        members = dependents[rank:]
        union = 0
        for t in range(length):
            f = members[t]
            for s in range(count[f]):
                number = lists[begin[f] + s]
                if mark[number] < 0:
                    mark[number] = union
                    lists[used + union] = number
                    union += 1
        for r in range(rank):
            d = dependents[r]
            for s in range(union):
                work[s] = 0.0
            for t in range(length):
                f, z = members[t], Z[row[d] + t]
                a0[d] += z * a0[f]
                for s in range(count[f]):
                    work[mark[lists[begin[f] + s]]] += z * Z[row[f] + s]
            if union > length:
                row[d] = filled
                filled += union
            for s in range(union):
                Z[row[d] + s] = work[s] if abs(work[s]) > REMNANT else 0.0
            begin[d], count[d] = used, union
        for s in range(union):
            mark[lists[used + s]] = -1
        used += union


@jit
def eliminate_by_fronts(
    J: Any, entries: Any, g: Any, limit: int, fronts: Any, tolerance: float, normalise: bool, walk: Any, space: Any
) -> int:
    """The null space of the first ``limit`` rows of J by lists, and a particular solution of J a = g; returns how many are free.

    A pivot below ``tolerance`` times the front's largest entry (its rows' lengths with ``normalise``) counts as zero.
    """
    mark, owner, front, work = walk.mark, walk.owner, walk.front, space.factors
    Z, a0, row, n = space.Z, space.a0, space.row, space.number.size
    used, filled = 0, 0
    for j in range(n):
        mark[j], owner[j], a0[j] = -1, -1, 0.0
    for k in range(len(fronts.each)):
        rows = fronts.each[k].rows
        kept, width, size = _assemble(J, entries, g, n, limit, fronts, k, walk, normalise, work)
        width = _substitute(n, rows, kept, width, walk, space)
        rank = _pivot(n, rows, kept, width, tolerance * size, walk, walk.units.differ == 1 and not normalise, work)
        walk.start[k], walk.rank[k], walk.length[k] = used, rank, width - rank
        for p in range(width):
            space.members[used + p] = front[p]
        for i in range(rank):
            d = front[i]
            owner[d] = k
            a0[d] = work[rows * n + i] if abs(work[rows * n + i]) > REMNANT else 0.0
            row[d] = filled
            for p in range(rank, width):
                Z[filled + p - rank] = -work[i * n + p] if abs(work[i * n + p]) > REMNANT else 0.0
            filled += width - rank
        used += width
    free = 0
    for j in range(n):
        space.number[j] = -1
        if owner[j] < 0:
            space.number[j] = space.members[used] = free
            space.begin[j], space.count[j], row[j], Z[filled] = used, 1, filled, 1.0
            used += 1
            filled += 1
            free += 1
    _walk_back(used, filled, walk, space)
    return free


@jit
def shortest(free: int, space: Any, reduced: Any) -> int:
    """Makes the particular solution a₀ the shortest one, a₀ − Z (ZᵀZ)⁻¹Zᵀa₀."""
    Z, a0, row, n = space.Z, space.a0, space.row, space.number.size
    right = reduced[free * free :]
    for k in range(free * free + free):
        reduced[k] = 0.0
    for j in range(n):
        members, length = space.members[space.begin[j] :], space.count[j]
        for k in range(length):
            u, z = members[k], Z[row[j] + k]
            right[u] += z * a0[j]
            for i in range(length):
                w = members[i]
                if w <= u:
                    reduced[u * free + w] += z * Z[row[j] + i]
    if cholesky(reduced, free) != 0:
        return 1
    cholesky_solve(reduced, free, right)
    for j in range(n):
        members = space.members[space.begin[j] :]
        for k in range(space.count[j]):
            a0[j] -= Z[row[j] + k] * right[members[k]]
    return 0
