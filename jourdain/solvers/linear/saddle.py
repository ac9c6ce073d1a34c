"""Constraint rows G whose pattern is fixed and whose values change: the smallest change that meets them, and which rows follow from others.

Both eliminate [1 Gᵀ; G −ε], in an order that is found once.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from .order import elimination_order
from .sparse_lu import SingularMatrix, SparseLU, dependent_columns, order

#: Part of a row of unit length that must be independent of the rows kept; pivots are of the size of its square (in a chain of N joints 1/N²).
INDEPENDENT, SMALLEST_PIVOT = 1e-8, 2e-10
#: ε, by which rows that depend on others do not make the matrix singular.
SOFT = 1e-12


class Saddle:
    """[1 Gᵀ; G c] by columns: ``starts`` and ``indices``; c is left out where it is not to be there."""

    def __init__(self, row: np.ndarray, column: np.ndarray, shape: tuple[int, int], corner: bool) -> None:
        m, n = shape
        diagonal, below, entry = np.arange(n + m if corner else n), n + row, np.arange(row.size)
        i, j = np.concatenate([diagonal, below, column]), np.concatenate([diagonal, column, below])
        source = np.concatenate([np.where(diagonal < n, row.size, row.size + 1), entry, entry])
        sorted_ = np.lexsort((i, j))
        self.indices, self._source = i[sorted_].astype(np.int64), source[sorted_]
        self.starts = np.searchsorted(j[sorted_], np.arange(n + m + 1)).astype(np.int64)

    def values(self, entries: np.ndarray, corner: float = 0.0) -> np.ndarray:
        """The matrix for entries of G."""
        return np.append(entries, (1.0, corner))[self._source]


class ConstraintRows:
    """Rows with entries at (``row``, ``column``), each place once.

    Those of high ``rank`` (0, 1, 2) are kept before those of a lower one.  ``column_groups`` and ``row_groups`` tell which columns and rows stay
    together in the order of elimination (bodies and joints).
    """

    def __init__(
        self, row: np.ndarray, column: np.ndarray, shape: tuple[int, int], rank: np.ndarray, column_groups: np.ndarray, row_groups: np.ndarray
    ) -> None:  # fmt: skip
        self.row, self.column, self.shape, self.rank = row, column, shape, rank
        self._groups = column_groups, row_groups
        self._kept: dict[bytes, tuple[Saddle, np.ndarray, np.ndarray]] = {}

    def times(self, entries: np.ndarray, x: np.ndarray) -> np.ndarray:
        """G x."""
        return np.bincount(self.row, entries * x[self.column], self.shape[0])

    # -- the smallest change ------------------------------------------------------------------------------------------

    @cached_property
    def _least(self) -> tuple[Saddle, SparseLU]:
        """Columns first, then −(ε + G Gᵀ): pivots stay on the diagonal whatever the values are."""
        from scipy.sparse import csc_matrix

        n = self.shape[1]
        saddle = Saddle(self.row, self.column, self.shape, True)
        pattern = csc_matrix((np.ones(self.row.size), (self.row, self.column)), shape=self.shape)
        among = csc_matrix(pattern @ pattern.T)
        columns = np.concatenate([np.arange(n), n + order(among.indptr, among.indices, self._groups[1])])
        few = np.full(self.row.size, 1e-3 / max(1.0, float(among.data.max(initial=1.0))))
        return saddle, SparseLU(saddle.starts, saddle.indices, saddle.values(few, -1.0), columns)

    def least(self, entries: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """The function that finds the smallest x with G x = target (in least squares where rows contradict each other)."""
        n, (saddle, factors) = self.shape[1], self._least
        factors.factorise(saddle.values(entries, -SOFT))
        return lambda target: factors.solve(np.concatenate([np.zeros(n), target]))[:n]

    # -- rows that follow from others ---------------------------------------------------------------------------------

    def dependent(self, entries: np.ndarray) -> np.ndarray:
        """Numbers of rows that depend on others.

        [1 Gᵀ; G 0] is eliminated with the rows of rank 0 (closed loops) after those of their loop: a row without a pivot depends on
        those before it.  Where pivots are too small to tell, rows are compared by a dense rank-revealing QR.
        """
        size = np.sqrt(np.bincount(self.row, entries * entries, self.shape[0]))
        entries = entries / np.where(size > 0.0, size, 1.0)[self.row]
        every = np.ones(self.shape[0], bool)
        try:
            found = self._without_pivot(entries, every, self.rank == 0)
            if found.size:
                every[found] = False
                self._without_pivot(entries, every, np.zeros(self.shape[0], bool))
            return found
        except SingularMatrix:
            return self._compared(entries)

    def _matrix(self, kept: np.ndarray) -> tuple[Saddle, np.ndarray, np.ndarray]:
        """[1 Gᵀ; G 0] of some rows, its entries, and its order of elimination."""
        key = kept.tobytes()
        if key not in self._kept:
            n, inside, (bodies, joints) = self.shape[1], kept[self.row], self._groups
            number = np.cumsum(kept) - 1
            saddle = Saddle(number[self.row[inside]], self.column[inside], (int(kept.sum()), n), False)
            groups = np.concatenate([bodies, joints[kept]])
            columns = elimination_order(saddle.starts, saddle.indices, groups, n, self.rank[kept])
            self._kept[key] = saddle, inside, columns
        return self._kept[key]

    def _without_pivot(self, entries: np.ndarray, kept: np.ndarray, optional: np.ndarray) -> np.ndarray:
        saddle, inside, columns = self._matrix(kept)
        n = self.shape[1]
        marked = np.concatenate([np.zeros(n, bool), optional[kept]])
        found = dependent_columns(saddle.starts, saddle.indices, saddle.values(entries[inside]), columns, marked, SMALLEST_PIVOT)
        return np.flatnonzero(kept)[found - n]

    def _compared(self, entries: np.ndarray) -> np.ndarray:
        """By dense QR: of the rows of loops, projected on the motions that the others leave, or of all rows when the others are dependent."""
        dense = np.zeros(self.shape)
        dense[self.row, self.column] = entries
        loops, nothing = np.flatnonzero(self.rank == 0), np.zeros(int((self.rank > 0).sum()))
        try:
            saddle, inside, columns = self._matrix(self.rank > 0)
            values = saddle.values(entries[inside])
            factors = SparseLU(saddle.starts, saddle.indices, values, columns)
        except SingularMatrix:
            return _last(dense * 1e3 ** self.rank[:, None])
        factors.factorise(values)
        if loops.size == 0 or np.abs(factors.pivots).min() < 1e-11:
            return _last(dense * 1e3 ** self.rank[:, None])
        return loops[_last(np.array([factors.solve(np.concatenate([row, nothing]))[: self.shape[1]] for row in dense[loops]]))]


def _last(rows: np.ndarray) -> np.ndarray:
    """Rows that pivoted QR leaves without a pivot."""
    from scipy.linalg import qr

    _, R, chosen = qr(rows.T, mode="economic", pivoting=True)
    return np.asarray(chosen[int((np.abs(np.diag(R)) > INDEPENDENT).sum()) :])


__all__ = ["ConstraintRows", "Saddle"]
