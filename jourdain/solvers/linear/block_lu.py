"""Factors in dense blocks behind the interface of :class:`.sparse_lu.SparseLU`, for matrices large enough to gain by them.

Pivots stay on the diagonal of the given order where that does (solids, structures); else they are searched for as always.
"""

from __future__ import annotations

import numpy as np

from ...native.kernel import Kernel, kernel
from .multifrontal import Shape, factorise_fronts, fronts_of, shape_of, solve_fronts
from .sparse_lu import DEGRADED, GROWTH, OK, SINGULAR, SMALLEST, Factors, SparseLU, order, searched

#: Fewer unknowns, or fewer operations, gain nothing by blocks.
FEWEST, LEAST = 200, 4e5
#: Largest multiplier with which pivots of the diagonal are taken without a search, and part of the right side that a solution may then leave.
QUIET, LEFT = 100.0, 1e-9
#: Operations in dense blocks are this many times faster than indexed ones.
FASTER = 6.0


class BlockLU(SparseLU):
    """Factors of a matrix by columns (starts ``ap``, rows ``ai``) with pivots (``rows``, ``columns``) in the order of elimination of ``shape``."""

    def __init__(
        self, ap: np.ndarray, ai: np.ndarray, ax: np.ndarray, rows: np.ndarray, columns: np.ndarray, shape: Shape | None = None
    ) -> None:
        self._scale(ap, ai, ax)
        i, j = _places(self.ap, self.ai, rows, columns)
        self.shape = shape or shape_of(i, j, self.size)
        self.rows, self.columns = rows[self.shape.post], columns[self.shape.post]
        self.fronts = fronts_of(self.shape, *_places(self.ap, self.ai, self.rows, self.columns))
        self.frame = Factors(
            size=self.size, ap=self.ap, scale=self.scale, columns=self.columns, rows=self.rows, row_scale=self.row_scale,
            column_scale=self.column_scale, work=np.zeros(2 * self.size), fronts=self.fronts, cost=self._cost(),
        )  # fmt: skip

    def _cost(self) -> float:
        residual = 6.0 * self.ai.size
        return (5.0 * residual + self.shape.operations / FASTER + 4.0 * self.fill) / (residual + self.fill)

    @property
    def fill(self) -> int:
        """Entries of the factors."""
        return self.shape.fill

    def _kernels(self) -> tuple[Kernel, Kernel]:
        return factorise_blocks, solve_blocks


def _places(ap: np.ndarray, ai: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows and columns of all entries after permutation."""
    n = ap.size - 1
    row, column = np.empty((2, n), np.int64)
    row[rows] = column[columns] = np.arange(n)
    return row[ai], np.repeat(column, np.diff(ap))


def factors_of(ap: np.ndarray, ai: np.ndarray, ax: np.ndarray, columns: np.ndarray | None = None) -> SparseLU:
    """Factors of a matrix, analysed for the values ``ax``: in blocks where it is large, else entry by entry."""
    n = ap.size - 1
    if n < FEWEST or not np.all(np.isfinite(ax)):
        return SparseLU(ap, ai, ax, columns)
    columns = order(ap, ai) if columns is None else np.ascontiguousarray(columns, np.int64)
    shape = shape_of(*_places(ap, ai, columns, columns), n)
    if shape.operations < LEAST:
        return SparseLU(ap, ai, ax, columns)
    found = BlockLU(ap, ai, ax, columns, columns, shape)
    if _serves(found, ax):
        return found
    _, rows, lp, _, up, _ = searched(found.ap, found.ai, ax * found.scale, columns, np.zeros(n, np.int64), SMALLEST)
    found = BlockLU(ap, ai, ax, rows, columns)
    return found if found.fill < 2 * (lp[-1] + up[-1] + n) else SparseLU(ap, ai, ax, columns)


def _serves(lu: BlockLU, ax: np.ndarray) -> bool:
    """Whether pivots of the diagonal are good ones."""
    if not factorise_fronts(lu.fronts, np.ascontiguousarray(ax, float), lu.scale) <= QUIET:
        return False
    b = np.where(np.arange(lu.size) % 2 == 0, 1.0, -1.0) / lu.row_scale
    return lu.defect(ax, b) <= LEFT


@kernel
def factorise_blocks(address: int) -> int:
    """New factors for the values ``ax``."""
    f = Factors.at(address)
    largest = factorise_fronts(f.fronts, f.ax, f.scale)
    return SINGULAR if not largest < np.inf else DEGRADED if largest > GROWTH else OK


@kernel
def solve_blocks(address: int) -> int:
    """Solves A x = b in place of the vector ``rhs``."""
    f = Factors.at(address)
    n, rows, columns, row_scale, column_scale = f.size, f.rows, f.columns, f.row_scale, f.column_scale
    y, b = f.work[n:], f.rhs
    for k in range(n):
        y[k] = b[rows[k]] * row_scale[rows[k]]
    solve_fronts(f.fronts, y, f.work)
    for k in range(n):
        b[columns[k]] = y[k] * column_scale[columns[k]]
    return OK
