"""LU factors in dense blocks: the multifrontal method for large matrices with pivots chosen beforehand.

Columns of L with the same rows form a *supernode*.  Its *front* is a dense matrix: entries of A in its rows and columns, and what the supernodes below it in
the elimination tree have left; eliminating its pivots leaves a block that goes to the one above (Duff & Reid 1983; Liu 1992).  All arithmetic is
then on rows of dense matrices, which SIMD registers take at a multiple of the speed of indexed entries.  The pattern is made symmetric (A + Aᵀ after permutation), small
supernodes are joined where few zeros are added (Ashcraft & Grimes 1989).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...native.kernel import hot, jit
from ...native.record import Floats, Integers, Integers32, Record
from .dense import inner

#: Pivots eliminated before the rest of a front is updated.
PANEL = 16
#: A supernode is joined to the one above it up to these widths, while zeros are at most this part of the joined columns.
JOINED = ((8, 1.0), (24, 0.3), (64, 0.1))


class Fronts(Record):
    """Supernodes in order of elimination: first pivots, rows of fronts, entries of A in them, factors, and memory of the elimination.

    Front s has the pivots ``first[s] … first[s + 1] − 1`` and then the ``below[below_at[s] : below_at[s + 1]]``; ``factors`` from ``factor_at[s]`` are its rows of pivots, whole,
    then the pivots' columns of the rows below.  Entry e of A goes to place ``spot[e]`` of the front; those of front s are ``entry[entry_at[s] : entry_at[s + 1]]``.
    """

    count: int
    first: Integers
    below_at: Integers
    below: Integers32
    youngest: Integers  # the last of the supernodes that leave something to this one, −1 where there is none
    older: Integers  # the one before it that leaves to the same
    factor_at: Integers
    entry_at: Integers
    entry: Integers32
    spot: Integers32
    factors: Floats
    front: Floats
    stack: Floats
    place: Integers32  # of a row in the present front


@jit
def elimination_tree(ap: Any, ai: Any, parent: Any, ancestor: Any) -> None:
    """Parents of the columns of a symmetric pattern (Liu 1986), −1 of roots."""
    for k in range(parent.size):
        parent[k] = ancestor[k] = -1
        for p in range(ap[k], ap[k + 1]):
            i = ai[p]
            while i != -1 and i < k:
                after = ancestor[i]
                ancestor[i] = k
                if after == -1:
                    parent[i] = k
                i = after


@jit
def postorder(parent: Any, head: Any, sibling: Any, stack: Any, found: Any) -> None:
    """Columns such that those of a subtree stand together before its root."""
    n = parent.size
    for k in range(n):
        head[k] = -1
    for k in range(n - 1, -1, -1):
        if parent[k] >= 0:
            sibling[k] = head[parent[k]]
            head[parent[k]] = k
    done = 0
    for root in range(n):
        if parent[root] >= 0:
            continue
        depth = 0
        stack[0] = root
        while depth >= 0:
            k = stack[depth]
            child = head[k]
            if child < 0:
                found[done] = k
                done += 1
                depth -= 1
            else:
                head[k] = sibling[child]
                depth += 1
                stack[depth] = child


@jit
def column_counts(ap: Any, ai: Any, parent: Any, mark: Any, counts: Any) -> None:
    """Entries of the columns of L with the diagonal, by the subtrees of its rows."""
    for k in range(parent.size):
        counts[k], mark[k] = 1, k
        for p in range(ap[k], ap[k + 1]):
            i = ai[p]
            while i < k and mark[i] != k:
                mark[i] = k
                counts[i] += 1
                i = parent[i]


@hot
def _add_rows(rows: Any, begin: int, end: int, s: int, last: int, below: Any, used: int, mark: Any) -> int:
    """Adds rows after the last pivot of a front that it does not have yet; how many places are used then."""
    for p in range(begin, end):
        i = rows[p]
        if i > last and mark[i] != s:
            mark[i] = s
            below[used] = i
            used += 1
    return used


@jit
def front_rows(ap: Any, ai: Any, first: Any, above: Any, at: Any, below: Any, mark: Any, head: Any, sibling: Any) -> None:
    """Rows of each front after its pivots, in order: those of A and those that the fronts below have left."""
    for s in range(above.size):
        head[s] = -1
    for k in range(mark.size):
        mark[k] = -1
    for s in range(above.size):
        last, used = first[s + 1] - 1, at[s]
        for k in range(first[s], last + 1):
            used = _add_rows(ai, ap[k], ap[k + 1], s, last, below, used, mark)
        child = head[s]
        while child >= 0:
            used = _add_rows(below, at[child], at[child + 1], s, last, below, used, mark)
            child = sibling[child]
        if above[s] >= 0:
            sibling[s] = head[above[s]]
            head[above[s]] = s


@jit
def entry_spots(rows: Any, columns: Any, owner: Any, first: Any, at: Any, below: Any, spots: Any) -> None:
    """Where each entry (row, column) stands in the front of its supernode, the owner of the smaller of both."""
    for e in range(rows.size):
        i, j = rows[e], columns[e]
        s = owner[min(i, j)]
        begin, width = first[s], first[s + 1] - first[s]
        size = width + at[s + 1] - at[s]
        for which in range(2):
            k = i if which == 0 else j
            if k < begin + width:
                place = k - begin
            else:
                low, high = at[s], at[s + 1] - 1
                while low < high:
                    middle = (low + high) // 2
                    if below[middle] < k:
                        low = middle + 1
                    else:
                        high = middle
                place = width + low - at[s]
            spots[e] = place * size if which == 0 else spots[e] + place


def _joined(first: list[int], counts: np.ndarray, parent: np.ndarray) -> list[int]:
    """First columns of supernodes after those next to each other are joined where it adds few zeros."""
    kept: list[list[int]] = []  # first column, last column, rows below the last, zeros
    ends = [*first[1:], len(counts)]
    for a, b in zip(first, ends, strict=True):
        now = [a, b - 1, int(counts[b - 1]) - 1, 0]
        while kept and parent[kept[-1][1]] != -1 and now[0] <= parent[kept[-1][1]] <= now[1]:
            before = kept[-1]
            w, v = before[1] - before[0] + 1, now[1] - now[0] + 1
            zeros = before[3] + now[3] + w * (v + now[2] - before[2])
            all_entries = (w + v) * (w + v + 1) // 2 + (w + v) * now[2]
            if not any(w + v <= width and zeros <= part * all_entries for width, part in JOINED):
                break
            kept.pop()
            now = [before[0], now[1], now[2], zeros]
        kept.append(now)
    return [k[0] for k in kept]


@dataclass(frozen=True)
class Shape:
    """The structure of factors: the order of columns after the one given, the supernodes, and what they take."""

    post: np.ndarray
    first: np.ndarray
    above: np.ndarray
    at: np.ndarray
    below: np.ndarray

    @property
    def widths(self) -> np.ndarray:
        """Pivots of the fronts."""
        return np.diff(self.first)

    @property
    def sizes(self) -> np.ndarray:
        """Rows of the fronts."""
        return self.widths + np.diff(self.at)

    @property
    def fill(self) -> int:
        """Entries of the factors."""
        w, n = self.widths, self.sizes
        return int((w * (2 * n - w)).sum())

    @property
    def operations(self) -> float:
        """Multiplications of a factorisation."""
        w, n = self.widths.astype(float), self.sizes.astype(float)
        return float((w * (n - w) * n + w**3 / 3.0).sum())


def shape_of(i: np.ndarray, j: np.ndarray, n: int) -> Shape:
    """Supernodes of a matrix with entries at rows i and columns j, pivots on the diagonal in this order."""
    from scipy.sparse import coo_matrix

    def pattern(place: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        a, b = place[i], place[j]
        both = coo_matrix((np.ones(2 * a.size, np.int8), (np.concatenate([a, b]), np.concatenate([b, a]))), shape=(n, n)).tocsc()
        return both.indptr.astype(np.int64), both.indices.astype(np.int64)

    parent, work, other, third, post = np.empty((5, n), np.int64)
    ap, ai = pattern(np.arange(n))
    elimination_tree(ap, ai, parent, work)
    postorder(parent, work, other, third, post)
    place = np.empty(n, np.int64)
    place[post] = np.arange(n)
    ap, ai = pattern(place)
    parent = np.where(parent[post] < 0, -1, place[parent[post]])
    counts = np.empty(n, np.int64)
    column_counts(ap, ai, parent, work, counts)
    alike = (parent[:-1] == np.arange(1, n)) & (counts[1:] == counts[:-1] - 1)
    starts = _joined([0, *(np.flatnonzero(~alike) + 1).tolist()] if n else [], counts, parent)
    first = np.array([*starts, n], np.int64)
    owner = np.repeat(np.arange(first.size - 1), np.diff(first))
    up = parent[first[1:] - 1]
    above = np.where(up < 0, -1, owner[up])
    at = np.concatenate([[0], np.cumsum(counts[first[1:] - 1] - 1)])
    below = np.empty(int(at[-1]), np.int32)
    front_rows(ap, ai, first, above, at, below, work, other, third)
    fronts = np.repeat(np.arange(first.size - 1), np.diff(at))
    return Shape(post, first, above, at, below[np.lexsort((below, fronts))])


def fronts_of(shape: Shape, i: np.ndarray, j: np.ndarray) -> Fronts:
    """Memory for the factors of a matrix with entries at rows i and columns j (after permutation)."""
    widths, sizes = shape.widths, shape.sizes
    owner = np.repeat(np.arange(widths.size), widths)
    spots = np.empty(i.size, np.int32)
    entry_spots(i, j, owner, shape.first, shape.at, shape.below, spots)
    of = owner[np.minimum(i, j)]
    entry_at = np.concatenate([[0], np.cumsum(np.bincount(of, minlength=widths.size))])
    youngest, older = _children(shape.above)
    factor_at = np.concatenate([[0], np.cumsum(widths * (2 * sizes - widths))])
    return Fronts(
        count=widths.size, first=shape.first, below_at=shape.at, below=shape.below, youngest=youngest, older=older, factor_at=factor_at, entry_at=entry_at,
        entry=np.argsort(of, kind="stable").astype(np.int32), spot=spots, factors=np.zeros(int(factor_at[-1])),
        front=np.zeros(int(sizes.max(initial=0)) ** 2), stack=np.zeros(_stack(shape)), place=np.zeros(int(shape.first[-1]), np.int32),
    )  # fmt: skip


def _children(above: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The last supernode that leaves something to each, and for each the one before it that leaves to the same."""
    youngest, older = np.full((2, above.size), -1, np.int64)
    for s, up in enumerate(above.tolist()):
        if up >= 0:
            older[s], youngest[up] = youngest[up], s
    return youngest, older


def _stack(shape: Shape) -> int:
    """Most numbers that wait for their front at a time."""
    rest = (shape.sizes - shape.widths) ** 2
    waiting = np.bincount(shape.above[shape.above >= 0], rest[shape.above >= 0], shape.above.size)
    # when front s is done, what waited for it has gone
    return int(np.max(np.cumsum(rest) - np.cumsum(waiting), initial=0.0) + rest.max(initial=0))


@hot
def _update(c: Any, a: Any, b: Any, m: int, n: int, k: int, size: int) -> None:
    """C −= A B of blocks within one matrix whose rows are ``size`` apart; k is the width of a panel."""
    four, pairs = k - k % 4, m - m % 2
    for i in range(0, pairs, 2):
        c0, c1 = c[i * size : i * size + n], c[(i + 1) * size : (i + 1) * size + n]
        for p in range(0, four, 4):
            x, y = a[i * size + p :], a[(i + 1) * size + p :]
            x0, x1, x2, x3, y0, y1, y2, y3 = x[0], x[1], x[2], x[3], y[0], y[1], y[2], y[3]
            b0, b1, b2, b3 = b[p * size :], b[(p + 1) * size :], b[(p + 2) * size :], b[(p + 3) * size :]
            for j in range(n):
                z0, z1, z2, z3 = b0[j], b1[j], b2[j], b3[j]
                c0[j] -= x0 * z0 + x1 * z1 + x2 * z2 + x3 * z3
                c1[j] -= y0 * z0 + y1 * z1 + y2 * z2 + y3 * z3
        for p in range(four, k):
            x0, y0, b0 = a[i * size + p], a[(i + 1) * size + p], b[p * size :]
            for j in range(n):
                c0[j] -= x0 * b0[j]
                c1[j] -= y0 * b0[j]
    for i in range(pairs, m):
        c0 = c[i * size : i * size + n]
        for p in range(k):
            x0, b0 = a[i * size + p], b[p * size :]
            for j in range(n):
                c0[j] -= x0 * b0[j]


@jit
def eliminate_front(f: Any, size: int, width: int) -> float:
    """Eliminates the first pivots of a dense matrix by rows; the largest multiplier, infinite when a pivot is none."""
    largest = 0.0
    for begin in range(0, width, PANEL):
        end = min(begin + PANEL, width)
        for k in range(begin, end):
            row = f[k * size : k * size + size]
            pivot = row[k]
            if pivot == 0.0 or not abs(pivot) < np.inf:
                return np.inf
            over = 1.0 / pivot
            for i in range(k + 1, size):
                other = f[i * size : i * size + size]
                factor = other[k] * over
                other[k] = factor
                largest = max(largest, abs(factor))
                for j in range(k + 1, end):
                    other[j] -= factor * row[j]
        for k in range(begin + 1, end):  # rows of U right of the panel
            row = f[k * size + end :]
            for p in range(begin, k):
                factor, other = f[k * size + p], f[p * size + end :]
                for j in range(size - end):
                    row[j] -= factor * other[j]
        if end < size:
            _update(f[end * size + end :], f[end * size + begin :], f[begin * size + end :], size - end, size - end, end - begin, size)
    return largest


@jit
def _add_children(f: Fronts, s: int, child: int, top: int) -> int:
    """Adds what the fronts below have left, the last first; the new top of the stack."""
    width, size = f.first[s + 1] - f.first[s], f.first[s + 1] - f.first[s] + f.below_at[s + 1] - f.below_at[s]
    front, stack, place, below = f.front, f.stack, f.place, f.below
    for k in range(width):
        place[f.first[s] + k] = k
    for p in range(f.below_at[s], f.below_at[s + 1]):
        place[below[p]] = width + p - f.below_at[s]
    while child >= 0:
        rows, n = below[f.below_at[child] : f.below_at[child + 1]], f.below_at[child + 1] - f.below_at[child]
        top -= n * n
        for i in range(n):
            row, given = front[place[rows[i]] * size :], stack[top + i * n :]
            for j in range(n):
                row[place[rows[j]]] += given[j]
        child = f.older[child]
    return top


@jit
def factorise_fronts(f: Fronts, ax: Any, scale: Any) -> float:
    """Factors of the matrix with values ``ax`` times ``scale``; the largest multiplier, infinite when a pivot is none."""
    top, largest = 0, 0.0
    front, stack, factors = f.front, f.stack, f.factors
    for s in range(f.count):
        width = f.first[s + 1] - f.first[s]
        rest = f.below_at[s + 1] - f.below_at[s]
        size = width + rest
        for k in range(size * size):
            front[k] = 0.0
        for e in range(f.entry_at[s], f.entry_at[s + 1]):
            p = f.entry[e]
            front[f.spot[p]] += ax[p] * scale[p]
        top = _add_children(f, s, f.youngest[s], top)
        largest = max(largest, eliminate_front(front, size, width))
        if not largest < np.inf:
            return largest
        out = factors[f.factor_at[s] :]
        for k in range(width * size):
            out[k] = front[k]
        out = out[width * size :]
        for i in range(rest):
            row = front[(width + i) * size :]
            for k in range(width):
                out[i * width + k] = row[k]
            given = stack[top + i * rest :]
            for k in range(rest):
                given[k] = row[width + k]
        top += rest * rest
    return largest


@jit
def solve_fronts(f: Fronts, y: Any, work: Any) -> None:
    """Solves with the factors in place of y (scaled and permuted)."""
    for s in range(f.count):
        width, rest = f.first[s + 1] - f.first[s], f.below_at[s + 1] - f.below_at[s]
        size, own, rows = width + rest, y[f.first[s] :], f.below[f.below_at[s] : f.below_at[s + 1]]
        block = f.factors[f.factor_at[s] :]
        for k in range(1, width):
            own[k] -= inner(block[k * size :], own, k)
        lower = block[width * size :]
        for i in range(rest):
            y[rows[i]] -= inner(lower[i * width :], own, width)
    for s in range(f.count - 1, -1, -1):
        width, rest = f.first[s + 1] - f.first[s], f.below_at[s + 1] - f.below_at[s]
        size, own, rows = width + rest, y[f.first[s] :], f.below[f.below_at[s] : f.below_at[s + 1]]
        block = f.factors[f.factor_at[s] :]
        for i in range(rest):
            work[i] = y[rows[i]]
        for k in range(width - 1, -1, -1):
            row = block[k * size :]
            right = own[k] - inner(row[width:], work, rest) - inner(row[k + 1 :], own[k + 1 :], width - k - 1)
            own[k] = right / row[k]
