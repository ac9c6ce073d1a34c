"""Independent and dependent coordinates: by elimination with full pivoting, and by the projective criterion.

Projective criterion (Schiehlen, eqs. 18–22): coordinate i is the better an independent one the smaller the angle between its
axis and the tangent space of the constraints in the metric of the mass matrix; cos²α + cos²β = 1 with the normal space.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import Any

import numpy as np

#: A pivot below this fraction of the largest counts as zero.
RANK_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Partition:
    """Columns and rows of a constraint Jacobian sorted by their role."""

    independent: list[int]
    dependent: list[int]
    #: rows that are kept (one for each dependent column) and rows that follow from them
    active: list[int]
    redundant: list[int]
    #: ratio of the smallest to the largest pivot: near zero at a singular position
    condition: float


def partition(J: Any, preferred: Sequence[int] = (), fixed: Sequence[int] = (), dependable: Sequence[int] | None = None) -> Partition:
    """Partition by elimination: columns in ``fixed`` are never dependent, those in ``preferred`` only if they must.

    J is an array or a sparse matrix.  Rows are kept by their entries, and the row with the largest one is found in a heap.
    """
    A, (m, n) = _rows(J), J.shape
    held, last = set(fixed), set(preferred)
    allowed = set(range(n)) if dependable is None else set(dependable)
    groups = [[j for j in range(n) if j in allowed and j not in held and j not in last], [int(j) for j in preferred if j not in held]]
    with_column: dict[int, set[int]] = {}
    for i, row in enumerate(A):
        for j in row:
            with_column.setdefault(j, set()).add(i)
    left = [True] * m
    active: list[int] = []
    dependent: list[int] = []
    most = least = 0.0
    for listed in groups:
        columns = {j: k for k, j in enumerate(listed)}
        largest = [_largest(row, columns) if left[i] else (0.0, 0) for i, row in enumerate(A)]
        heap = [(-largest[i][0], i) for i in range(m) if largest[i][0] > 0.0]
        heapify(heap)
        while heap:
            size, r = heappop(heap)
            if not left[r] or -size != largest[r][0]:
                continue  # it has changed since
            if -size <= RANK_TOLERANCE * max(1.0, most):
                break
            j = largest[r][1]
            active.append(r)
            dependent.append(j)
            most, least = max(most, -size), min(least, -size) if least else -size
            left[r] = False
            del columns[j]
            for i in sorted(with_column[j]):
                if left[i]:
                    _eliminate(A, i, r, j, with_column)
                    largest[i] = _largest(A[i], columns)
                    if largest[i][0] > 0.0:
                        heappush(heap, (-largest[i][0], i))
    found = set(dependent)
    independent = [j for j in range(n) if j not in found]
    condition = least / most if dependent else 1.0
    return Partition(independent, dependent, active, [i for i in range(m) if left[i]], condition)


def _rows(J: Any) -> list[dict[int, float]]:
    """Rows of a matrix, brought to length one, by their entries."""
    if isinstance(J, np.ndarray):
        J = np.asarray(J, dtype=float)
        scale = np.linalg.norm(J, axis=1)
        A = J / np.where(scale > 0, scale, 1.0)[:, None]
        return [{int(j): float(row[j]) for j in np.flatnonzero(row)} for row in A]
    J = J.tocsr()
    found = []
    for i in range(J.shape[0]):
        here = slice(J.indptr[i], J.indptr[i + 1])
        values = J.data[here]
        scale = float(np.linalg.norm(values)) or 1.0
        found.append({j: x / scale for j, x in zip(J.indices[here].tolist(), values.tolist(), strict=True) if x})
    return found


def _largest(row: dict[int, float], columns: dict[int, int]) -> tuple[float, int]:
    """The largest size of an entry in these columns, and its column, that with the lowest number of equal ones."""
    best, at = 0.0, -1
    for j, x in row.items():
        size = abs(x)
        if j in columns and (size > best or (size == best and at >= 0 and columns[j] < columns[at])):
            best, at = size, j
    return best, at


def _eliminate(A: list[dict[int, float]], i: int, r: int, j: int, with_column: dict[int, set[int]]) -> None:
    """Subtracts from row i the multiple of row r that takes its entry in column j away."""
    row, factor = A[i], A[i][j] / A[r][j]
    for k, x in A[r].items():
        if k in row:
            row[k] -= factor * x
        else:
            row[k] = -factor * x
            with_column[k].add(i)
    del row[j]


def projective_criterion(J: np.ndarray, M: np.ndarray) -> np.ndarray:
    """cos²α of every coordinate: 1 means it lies in the tangent space (a perfect independent coordinate), 0 normal to it."""
    n = M.shape[0]
    tangent = null_space(J)
    projection = tangent @ np.linalg.solve(tangent.T @ M @ tangent, tangent.T)
    inverse = np.linalg.inv(M)
    return np.array([projection[i, i] / inverse[i, i] for i in range(n)])


def normal_criterion(J: np.ndarray, M: np.ndarray) -> np.ndarray:
    """cos²β of every coordinate with the normal space, computed from the constraints: 1 − cos²α."""
    inverse = np.linalg.inv(M)
    active = partition(J).active
    Ja = J[active]
    W = inverse @ Ja.T
    projection = W @ np.linalg.solve(Ja @ W, W.T)
    return np.array([projection[i, i] / inverse[i, i] for i in range(M.shape[0])])


def projective_partition(J: np.ndarray, M: np.ndarray) -> Partition:
    """Partition that takes coordinates as independent in the order of the projective criterion."""
    order = np.argsort(-projective_criterion(J, M))
    free = J.shape[1] - np.linalg.matrix_rank(J)
    chosen: list[int] = []
    tangent = null_space(J)
    for j in order:
        trial = [*chosen, int(j)]
        if np.linalg.matrix_rank(tangent[trial], tol=1e-8) == len(trial):
            chosen = trial
        if len(chosen) == free:
            break
    return partition(J, fixed=chosen)


def null_space(J: np.ndarray) -> np.ndarray:
    """Orthonormal basis of the velocities that constraints allow."""
    if J.shape[0] == 0:
        return np.eye(J.shape[1])
    _, s, vt = np.linalg.svd(J)
    rank = int(np.sum(s > RANK_TOLERANCE * (s[0] if len(s) else 1.0)))
    return vt[rank:].T
