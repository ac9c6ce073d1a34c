"""Sparse LDLᵀ factors of symmetric matrices with a fixed pattern, for use inside native loops.

The analysis (ordering, elimination tree, places of all entries) is made once in Python; factorisation, solution and refinement are
kernels that allocate nothing.  They serve positive definite and quasi-definite matrices, such as [M Jᵀ; J −ε], for which any order of
the pivots is stable (Vanderbei, SIAM J. Optim. 5, 1995); rows are computed one after the other as in Davis, *Direct Methods for Sparse
Linear Systems*, chapter 4.  A pivot that lost its sign or all but a small part of its terms is replaced where signs are known, and
refinement repairs what that changed; otherwise the factorisation reports it.

>>> import numpy as np
>>> A = SparseLDL(3, rows=[0, 1, 2, 1, 2], columns=[0, 1, 2, 0, 1])
>>> A.factor(np.array([4.0, 4.0, 4.0, 1.0, 1.0]))
0
>>> A.solve(np.array([5.0, 6.0, 5.0]))
array([1., 1., 1.])
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError, SolverError

#: A pivot below this fraction of its largest term counts as lost.
PIVOT_TOLERANCE = 1e-14
#: What replaces it where its sign is known, as a fraction of the largest entry.
SUBSTITUTE = 1e-8
#: Rounds of iterative refinement at most.
REFINEMENTS = 5

#: Entries of the plan: sizes, then where its lists begin.
N, ENTRIES, FILL, PERMUTATION, SIGNS, ROW, SLOT, COLUMN, START, PLACE, PATTERN_START, PATTERN, HEAD = range(13)

Array = NDArray[np.float64]
_OPTIONS: dict[str, Any] = {"nogil": True, "cache": True, "error_model": "numpy", "boundscheck": False}


@njit("int64(int64[::1], float64[::1], float64[::1], float64[::1])", **_OPTIONS)
def ldl_factor(plan: Any, values: Any, factors: Any, work: Any) -> int:
    """Factors of the matrix with these entries: D first, then L by columns.  0, or the number (from 1) of the unknown whose pivot is lost.

    With signs in the plan a lost pivot is replaced by a small one of that sign, and −(how many) is returned.
    """
    n = plan[N]
    lines, slots, starts, places = plan[ROW], plan[SLOT], plan[START], plan[PLACE]
    first, pattern, signs = plan[PATTERN_START], plan[PATTERN], plan[SIGNS]
    replaced, largest = 0, 0.0
    for p in range(plan[ENTRIES]):
        largest = max(largest, abs(values[p]))
    for i in range(n):
        work[i] = 0.0
    for k in range(n):
        for p in range(plan[lines + k], plan[lines + k + 1]):
            work[plan[slots + 2 * p]] += values[plan[slots + 2 * p + 1]]
        pivot, size = work[k], abs(work[k])
        work[k] = 0.0
        for p in range(plan[first + k], plan[first + k + 1]):
            j = plan[pattern + 2 * p]
            target = plan[pattern + 2 * p + 1]  # of l_kj in the column j; entries of that column above row k are known
            y = work[j]
            work[j] = 0.0
            for s in range(plan[starts + j], target):
                work[plan[places + s]] -= factors[n + s] * y
            entry = y / factors[j]
            factors[n + target] = entry
            pivot -= entry * y
            size = max(size, abs(entry * y))
        sign = plan[signs + k]
        if not abs(pivot) > PIVOT_TOLERANCE * size or sign * pivot < 0.0:
            if sign == 0 or not math.isfinite(pivot):
                return plan[plan[PERMUTATION] + k] + 1
            pivot = sign * SUBSTITUTE * max(size, largest)
            replaced += 1
        factors[k] = pivot
    return -replaced


@njit("void(int64[::1], float64[::1], float64[::1], float64[::1])", **_OPTIONS)
def ldl_solve(plan: Any, factors: Any, b: Any, work: Any) -> None:
    """Solves A x = b in place with the factors."""
    n, permutation, starts, places = plan[N], plan[PERMUTATION], plan[START], plan[PLACE]
    for k in range(n):
        work[k] = b[plan[permutation + k]]
    for j in range(n):
        y = work[j]
        for s in range(plan[starts + j], plan[starts + j + 1]):
            work[plan[places + s]] -= factors[n + s] * y
    for j in range(n - 1, -1, -1):
        y = work[j] / factors[j]
        for s in range(plan[starts + j], plan[starts + j + 1]):
            y -= factors[n + s] * work[plan[places + s]]
        work[j] = y
    for k in range(n):
        b[plan[permutation + k]] = work[k]


@njit("float64(int64[::1], float64[::1], float64[::1], float64[::1], float64[::1])", **_OPTIONS)
def residual(plan: Any, values: Any, b: Any, x: Any, r: Any) -> float:
    """r = b − A x; returns its largest entry relative to |b| + |A||x|."""
    n, entries, columns = plan[N], plan[ENTRIES], plan[COLUMN]
    top = size = 0.0
    for i in range(n):
        r[i] = b[i]
        size = max(size, abs(b[i]))
    for p in range(entries):
        i, j = plan[columns + 2 * p], plan[columns + 2 * p + 1]
        r[i] -= values[p] * x[j]
        size = max(size, abs(values[p] * x[j]))
        if i != j:
            r[j] -= values[p] * x[i]
            size = max(size, abs(values[p] * x[i]))
    for i in range(n):
        top = max(top, abs(r[i]))
    return top / size if size > 0.0 else 0.0


@njit("float64(int64[::1], float64[::1], float64[::1], float64[::1], float64[::1], float64[::1])", **_OPTIONS)
def ldl_solve_refined(plan: Any, values: Any, factors: Any, b: Any, x: Any, work: Any) -> float:
    """x with A x = b, refined while that helps; returns the relative residual.  ``work`` has 2 n entries."""
    n = plan[N]
    line, r = work[:n], work[n : 2 * n]
    for i in range(n):
        x[i] = b[i]
    ldl_solve(plan, factors, x, line)
    last = residual(plan, values, b, x, r)
    for _ in range(REFINEMENTS):
        if last < 2e-16:
            break
        ldl_solve(plan, factors, r, line)
        for i in range(n):
            x[i] += r[i]
            line[i] = r[i]
        now = residual(plan, values, b, x, r)
        if not now < last:  # rounding is reached: the correction is taken back
            for i in range(n):
                x[i] -= line[i]
            break
        last = now
    return last


class SparseLDL:
    """The analysis of a symmetric pattern with memory for one matrix; ``plan`` and the kernels serve native loops.

    ``rows`` and ``columns`` list the entries of one triangle with the diagonal; an entry given twice adds up.  ``signs`` (+1 or −1 for
    every unknown) tells the pivots' signs of a quasi-definite matrix.  ``order`` replaces the order found by minimum degree.
    """

    def __init__(
        self, n: int, rows: ArrayLike, columns: ArrayLike, signs: ArrayLike | None = None, order: Sequence[int] | None = None
    ) -> None:
        i, j = np.asarray(rows, dtype=np.int64).ravel(), np.asarray(columns, dtype=np.int64).ravel()
        if len(i) != len(j) or (len(i) and not (min(i.min(), j.min()) >= 0 and max(i.max(), j.max()) < n)):
            raise InputError(f"sparse matrix of {n} unknowns: rows and columns must be as many, with numbers from 0 to {n - 1}")
        chosen = _least_fill(n, i, j) if order is None else np.asarray(order, dtype=np.int64)
        if sorted(chosen.tolist()) != list(range(n)):
            raise InputError(f"sparse matrix of {n} unknowns: the order must name every unknown once")
        self.n = n
        self.plan = _make_plan(n, i, j, chosen, np.zeros(n, dtype=np.int64) if signs is None else np.asarray(signs, dtype=np.int64))
        self.values = np.zeros(len(i))
        self.factors = np.zeros(n + int(self.plan[FILL]))
        self._work = np.zeros(2 * n)

    @property
    def fill(self) -> int:
        """Entries of L below its diagonal."""
        return int(self.plan[FILL])

    def factor(self, values: ArrayLike) -> int:
        """Factors of the matrix with these entries, in the order given; how many pivots had to be replaced."""
        self.values[:] = values
        status = int(ldl_factor(self.plan, self.values, self.factors, self._work))
        if status > 0:
            raise SolverError(f"sparse LDLᵀ: the pivot of unknown {status - 1} vanishes: the matrix is singular or not quasi-definite")
        return -status

    def solve(self, b: ArrayLike) -> Array:
        """x with A x = b by the last factors, with iterative refinement."""
        right = np.array(b, dtype=np.float64)
        x = np.empty(self.n)
        ldl_solve_refined(self.plan, self.values, self.factors, right, x, self._work)
        return x


def _least_fill(n: int, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> NDArray[np.int64]:
    """Order of elimination by minimum degree."""
    from .sparse_lu import order

    by_column = np.argsort(columns, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(columns, minlength=n))])
    return order(starts, rows[by_column])


def _make_plan(n: int, rows: NDArray[np.int64], columns: NDArray[np.int64], order: NDArray[np.int64], signs: NDArray[np.int64]) -> Any:
    """All lists of the kernels in one array of integers."""
    place = np.empty(n, dtype=np.int64)
    place[order] = np.arange(n)
    low, high = np.minimum(place[rows], place[columns]), np.maximum(place[rows], place[columns])
    by_row = np.argsort(high, kind="stable")
    lines = np.concatenate([[0], np.cumsum(np.bincount(high, minlength=n))])
    patterns = _row_patterns(n, low, high)
    counts = np.zeros(n, dtype=np.int64)
    for pattern in patterns:
        counts[pattern] += 1
    starts = np.concatenate([[0], np.cumsum(counts)])
    used, places, table = starts[:-1].copy(), np.zeros(starts[-1], dtype=np.int64), []
    for k, pattern in enumerate(patterns):
        for j in pattern:
            table += [j, int(used[j])]
            places[used[j]] = k
            used[j] += 1
    first = np.concatenate([[0], np.cumsum([len(p) for p in patterns])])
    slots, pairs = np.column_stack([low[by_row], by_row]).ravel(), np.column_stack([rows, columns]).ravel()
    lists = [order, signs[order], lines, slots, pairs, starts, places, first, np.array(table, dtype=np.int64)]
    at = np.concatenate([[HEAD], HEAD + np.cumsum([len(x) for x in lists])])
    return np.concatenate([[n, len(rows), starts[-1]], at[:-1], *lists]).astype(np.int64)


def _row_patterns(n: int, low: NDArray[np.int64], high: NDArray[np.int64]) -> list[list[int]]:
    """Columns of L in each row, ascending: paths in the elimination tree from the entries of A towards the row (Liu)."""
    entries: list[list[int]] = [[] for _ in range(n)]
    for i, k in zip(low.tolist(), high.tolist(), strict=True):
        entries[k].append(i)
    parent, patterns = [-1] * n, []
    for k in range(n):
        found: set[int] = set()
        for i in entries[k]:
            while i != k and i not in found:
                found.add(i)
                if parent[i] < 0:
                    parent[i] = k
                i = parent[i]
        patterns.append(sorted(found))
    return patterns
