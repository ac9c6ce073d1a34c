"""Independent and dependent coordinates: by elimination with full pivoting, and by the projective criterion.

Projective criterion (Schiehlen, eqs. 18–22): coordinate i is the better an independent one the smaller the angle between its
axis and the tangent space of the constraints in the metric of the mass matrix; cos²α + cos²β = 1 with the normal space.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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


def partition(
    J: np.ndarray, preferred: Sequence[int] = (), fixed: Sequence[int] = (), dependable: Sequence[int] | None = None
) -> Partition:
    """Partition by elimination: columns in ``fixed`` are never dependent, those in ``preferred`` only if they must."""
    A = np.array(J, dtype=float)
    m, n = A.shape
    scale = np.linalg.norm(A, axis=1)
    A /= np.where(scale > 0, scale, 1.0)[:, None]
    held, last = set(fixed), set(preferred)
    allowed = set(range(n)) if dependable is None else set(dependable)
    groups = [[j for j in range(n) if j in allowed and j not in held and j not in last], [j for j in preferred if j not in held]]
    left = np.ones(m, dtype=bool)
    active: list[int] = []
    dependent: list[int] = []
    pivots: list[float] = []
    for columns in groups:
        size, gone = np.abs(A[:, columns]), np.zeros(len(columns), dtype=bool)
        largest = np.where(left, size.max(axis=1, initial=-1.0), -1.0)  # of each row that is left
        while left.any() and not gone.all():
            r = int(np.argmax(largest))
            if largest[r] <= RANK_TOLERANCE * max([1.0, *pivots]):
                break
            j = int(np.argmax(size[r]))
            active.append(r)
            dependent.append(columns[j])
            pivots.append(float(largest[r]))
            left[r], largest[r], gone[j], size[:, j] = False, -1.0, True, -1.0
            changed = np.flatnonzero(left & (A[:, columns[j]] != 0.0))
            A[changed] -= (A[changed, columns[j]] / A[r, columns[j]])[:, None] * A[r]
            size[changed] = np.where(gone, -1.0, np.abs(A[np.ix_(changed, np.array(columns, dtype=int))]))
            largest[changed] = size[changed].max(axis=1, initial=-1.0)
    found = set(dependent)
    independent = [j for j in range(n) if j not in found]
    condition = min(pivots) / max(pivots) if pivots else 1.0
    return Partition(independent, dependent, active, np.flatnonzero(left).tolist(), condition)


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
