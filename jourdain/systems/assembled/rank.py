"""Constraint rows of an assembled system that depend on others, found by sparse factors where that is possible."""

from __future__ import annotations

import numpy as np
from scipy.sparse import bmat, csc_matrix, csr_matrix, identity

from ...solvers.linear.order import elimination_order
from ...solvers.linear.sparse_lu import SingularMatrix, SparseLU, dependent_columns

#: Part of a row of unit length that must be independent of the rows kept; pivots are of the size of its square (in a chain of N joints 1/N²).
INDEPENDENT, SMALLEST_PIVOT = 1e-8, 2e-10


def dependent_rows(rows: csr_matrix, rank: np.ndarray, column_groups: np.ndarray, row_groups: np.ndarray) -> np.ndarray:
    """Numbers of rows that depend on others; those of high ``rank`` (0, 1, 2) are kept before those of a lower one.

    ``column_groups`` and ``row_groups`` tell which columns and rows stay together in the order of elimination (bodies and joints). The
    matrix [1 Gᵀ; G 0] is eliminated with the rows of rank 0 (closed loops) after those of their loop: a row without a pivot depends on
    those before it.  Where pivots are too small to tell, rows are compared by a dense rank-revealing QR.
    """
    size = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    rows = csr_matrix(rows.multiply(1.0 / np.where(size > 0.0, size, 1.0)[:, None]))
    try:
        found = _without_pivot(rows, rank, column_groups, row_groups, rank == 0)
        kept = np.setdiff1d(np.arange(rank.size), found)
        _without_pivot(csr_matrix(rows[kept]), rank[kept], column_groups, row_groups[kept], np.zeros(kept.size, bool))
        return found
    except SingularMatrix:
        return _compared(rows, rank, column_groups, row_groups)


def _compared(rows: csr_matrix, rank: np.ndarray, column_groups: np.ndarray, row_groups: np.ndarray) -> np.ndarray:
    """By dense QR: of the rows of loops, projected on the motions that the others leave, or of all rows when the others are dependent."""
    loops, others = np.flatnonzero(rank == 0), np.flatnonzero(rank > 0)
    n, nothing = rows.shape[1], np.zeros(others.size)
    try:
        K, columns = _matrix(csr_matrix(rows[others]), rank[others], column_groups, row_groups[others])
        factors = SparseLU(K.indptr, K.indices, K.data, columns)
    except SingularMatrix:
        return _last(rows.toarray() * 1e3 ** rank[:, None])
    factors.factorise(K.data)
    if loops.size == 0 or np.abs(factors.pivots).min() < 1e-11:
        return _last(rows.toarray() * 1e3 ** rank[:, None])
    return loops[_last(np.array([factors.solve(np.concatenate([row, nothing]))[:n] for row in rows[loops].toarray()]))]


def _without_pivot(
    rows: csr_matrix, rank: np.ndarray, column_groups: np.ndarray, row_groups: np.ndarray, optional: np.ndarray
) -> np.ndarray:
    n = rows.shape[1]
    K, columns = _matrix(rows, rank, column_groups, row_groups)
    marked = np.concatenate([np.zeros(n, bool), optional])
    return dependent_columns(K.indptr, K.indices, K.data, columns, marked, SMALLEST_PIVOT) - n


def _matrix(rows: csr_matrix, rank: np.ndarray, column_groups: np.ndarray, row_groups: np.ndarray) -> tuple[csc_matrix, np.ndarray]:
    """[1 Gᵀ; G 0] and its order of elimination."""
    n = rows.shape[1]
    K = csc_matrix(bmat([[identity(n), rows.T], [rows, None]]))
    K.sort_indices()
    return K, elimination_order(K.indptr, K.indices, np.concatenate([column_groups, row_groups]), n, rank)


def _last(rows: np.ndarray) -> np.ndarray:
    """Rows that pivoted QR leaves without a pivot."""
    from scipy.linalg import qr

    _, R, chosen = qr(rows.T, mode="economic", pivoting=True)
    return np.asarray(chosen[int((np.abs(np.diag(R)) > INDEPENDENT).sum()) :])
