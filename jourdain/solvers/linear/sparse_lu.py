"""Sparse LU factors of a matrix whose pattern is fixed and whose values change, for native loops.

The first factorisation analyses: columns are ordered by minimum degree, rows are chosen by threshold partial pivoting
(Gilbert & Peierls 1988), and pivots and fill are kept.  Later factorisations repeat the elimination on the same pattern (Davis &
Palamadai Natarajan 2010, the "refactor" of KLU) without searching and without allocating, and watch the growth of the multipliers.
Matrices of constrained systems have zero blocks on the diagonal; the pivot search copes with them, and a matrix that
has moved too far from the analysed one is reported so that the caller analyses again.

Native loops call :data:`factorise` and :data:`solve` by address with the frame of a :class:`SparseLU`.
"""

from __future__ import annotations

import numpy as np

from ...errors import InputError, SolverError
from ...native.kernel import Kernel, jit, kernel
from ...native.record import Floats, Integers, Integers32, Record
from .multifrontal import Fronts

#: A pivot on the diagonal is preferred when it is at least this part of the largest entry of its column; so is one in its block.
PREFERENCE = 0.1
#: Pivots of the scaled matrix below this size are zero.
SMALLEST = 1e-13
#: Multipliers above this size call for a new analysis.
GROWTH = 1e8

OK, SINGULAR, DEGRADED, FULL = range(4)


class Factors(Record):
    """What native code needs to factorise and solve: pattern and values of A, its scales and permutations, L and U."""

    size: int
    ap: Integers
    ax: Floats
    place: Integers32
    scale: Floats
    columns: Integers
    rows: Integers  # of the pivots
    row_scale: Floats
    column_scale: Floats
    lp: Integers
    li: Integers32
    lx: Floats
    up: Integers
    ui: Integers32
    ux: Floats
    pivots: Floats
    work: Floats
    rhs: Floats  # and the solution
    # factors kept from step to step: the step (s) they were made for (0: they serve no other), what making them costs in solutions with a
    # residual each, solutions and steps since they were made, those of the step before
    made_for: float
    cost: float
    solutions: float
    steps: float
    before: float
    fronts: Fronts  # of factors in dense blocks


def order(ap: np.ndarray, ai: np.ndarray, groups: np.ndarray | None = None) -> np.ndarray:
    """Columns in an order of small fill: multiple minimum degree on the graph of A + Aᵀ.

    ``groups`` names for every column the group (body, joint) it belongs to; columns of a group stay together, which makes the graph
    small and the factors blocky.
    """
    n = ap.size - 1
    group = np.arange(n) if groups is None else np.unique(groups, return_inverse=True)[1]
    columns = np.repeat(np.arange(n), np.diff(ap))
    return np.argsort(minimum_degree(group[ai], group[columns], int(group.max(initial=-1)) + 1)[group], kind="stable").astype(np.int64)


def minimum_degree(i: np.ndarray, j: np.ndarray, size: int) -> np.ndarray:
    """The place of every node of a graph, given by its edges, in an order of elimination."""
    from scipy.sparse import coo_matrix, csc_matrix, eye
    from scipy.sparse.linalg import splu

    graph = csc_matrix(coo_matrix((np.ones(2 * i.size), (np.concatenate([i, j]), np.concatenate([j, i]))), shape=(size, size)))
    graph.sum_duplicates()
    graph.data[:] = -1.0
    graph = csc_matrix(graph + eye(size) * (2.0 * size + 2.0))
    return np.asarray(splu(graph, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}).perm_c)


def equilibrate(ap: np.ndarray, ai: np.ndarray, ax: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Powers of two that bring the largest entry of every row and column near 1."""
    n = ap.size - 1
    columns, size = np.repeat(np.arange(n), np.diff(ap)), np.abs(ax)
    row, column = np.ones(n), np.ones(n)
    for _ in range(2):
        for scale, index in ((row, ai), (column, columns)):
            top = np.zeros(n)
            np.maximum.at(top, index, size * row[ai] * column[columns])
            scale *= np.exp2(-np.round(0.5 * np.log2(np.where(top > 0.0, top, 1.0))))
    return row, column


@jit
def _reach(j, ap, ai, columns, inverse, lp, li, mark, stack, heads, out):  # type: ignore[no-untyped-def]
    """Rows reached from column j through the finished part of L; those already eliminated come in topological order."""
    top = mark.size
    column = columns[j]
    for p in range(ap[column], ap[column + 1]):
        if mark[ai[p]] == j:
            continue
        depth = 0
        stack[0] = ai[p]
        while depth >= 0:
            i = stack[depth]
            k = inverse[i]
            if mark[i] != j:
                mark[i] = j
                heads[depth] = 0 if k < 0 else lp[k]
            last = 0 if k < 0 else lp[k + 1]
            finished = True
            for q in range(heads[depth], last):
                if mark[li[q]] != j:
                    heads[depth] = q + 1
                    depth += 1
                    stack[depth] = li[q]
                    finished = False
                    break
            if finished:
                depth -= 1
                top -= 1
                out[top] = i
    return top


@jit
def _pivot_row(out, top, inverse, x, diagonal, place, floor):  # type: ignore[no-untyped-def]
    """The diagonal when it is large enough, else of the rows large enough the one whose own turn comes first; −1 when all are below ``floor``.

    So pivots are taken from the block being eliminated, and later blocks keep theirs.
    """
    n, largest = out.size, 0.0
    for p in range(top, n):
        if inverse[out[p]] < 0:
            largest = max(largest, abs(x[out[p]]))
    if not largest > floor:
        return -1
    if inverse[diagonal] < 0 and abs(x[diagonal]) >= PREFERENCE * largest:
        return diagonal
    best, first = -1, n
    for p in range(top, n):
        i = out[p]
        if inverse[i] < 0 and abs(x[i]) >= PREFERENCE * largest and place[i] < first:
            best, first = i, place[i]
    return best


class Search(Record):
    """A pivot search: the matrix by columns, their order, pivots of rows and rows of pivots, and L and U as far as they are found."""

    ap: Integers
    ai: Integers
    ax: Floats
    columns: Integers
    place: Integers  # the turn of every column
    inverse: Integers  # from rows to pivots
    rows: Integers
    lp: Integers
    li: Integers  # by rows of A
    lx: Floats
    up: Integers
    ui: Integers  # by numbers of pivots
    optional: Integers  # 1: may be left out; 2: was
    floor: float
    next: int  # the column to go on from
    whole: Integers
    x: Floats


@kernel
def eliminate(address: int) -> int:
    """Left-looking elimination with pivot search from column ``next`` on: OK, FULL (L or U needs more room) or SINGULAR (no pivot).

    Columns that are optional and have no pivot above ``floor`` are left out with their rows, and marked.
    """
    f = Search.at(address)
    ap, ai, ax, columns, place, inverse, rows = f.ap, f.ai, f.ax, f.columns, f.place, f.inverse, f.rows
    lp, li, lx, up, ui, whole, x, optional, floor = f.lp, f.li, f.lx, f.up, f.ui, f.whole, f.x, f.optional, f.floor
    n = ap.size - 1
    mark, stack, heads, out = whole[:n], whole[n : 2 * n], whole[2 * n : 3 * n], whole[3 * n :]
    for i in range(n):
        mark[i], x[i] = -1, 0.0
    for k in range(f.next, n):
        f.next = k
        top = _reach(k, ap, ai, columns, inverse, lp, li, mark, stack, heads, out)
        if lp[k] + n - top > li.size or up[k] + n - top > ui.size:
            return FULL
        column, nl, nu = columns[k], lp[k], up[k]
        for p in range(top, n):
            x[out[p]] = 0.0
        for p in range(ap[column], ap[column + 1]):
            x[ai[p]] = ax[p]
        for p in range(top, n):
            j = inverse[out[p]]
            if j < 0:
                continue
            ui[nu] = j
            nu += 1
            xj = x[out[p]]
            for q in range(lp[j], lp[j + 1]):
                x[li[q]] -= lx[q] * xj
        chosen = _pivot_row(out, top, inverse, x, column, place, floor)
        if chosen < 0:
            if optional[column] == 0 or inverse[column] >= 0:
                return SINGULAR
            optional[column], inverse[column], rows[k] = 2, k, column
        else:
            inverse[chosen], rows[k] = k, chosen
            for p in range(top, n):
                i = out[p]
                if inverse[i] < 0:
                    li[nl], lx[nl] = i, x[i] / x[chosen]
                    nl += 1
        for p in range(top, n):
            x[out[p]] = 0.0  # a later column that does not reach this row must find 0 there
        lp[k + 1], up[k + 1] = nl, nu
    return OK


class SingularMatrix(SolverError):
    """No pivot was found; ``column`` is the unknown concerned."""

    def __init__(self, column: int) -> None:
        super().__init__(f"the matrix is singular: no pivot for unknown {column}")
        self.column = column


class SparseLU:
    """Factors of a matrix given by columns (starts ``ap``, rows ``ai``), analysed for the values ``ax``.

    >>> lu = SparseLU(np.array([0, 1, 2]), np.array([1, 0]), np.array([2.0, 4.0]))
    >>> lu.factorise(np.array([2.0, 4.0]))
    0
    >>> lu.solve(np.array([8.0, 2.0]))
    array([1., 2.])
    """

    def __init__(self, ap: np.ndarray, ai: np.ndarray, ax: np.ndarray, columns: np.ndarray | None = None) -> None:
        ax = self._scale(ap, ai, ax)
        self.columns = order(self.ap, self.ai) if columns is None else np.ascontiguousarray(columns, np.int64)
        n = self.size
        inverse = self._find_pivots(ax * self.scale)
        self.place = inverse[self.ai].astype(np.int32)
        self.lx, self.ux, self.pivots = np.zeros(self.li.size), np.zeros(self.ui.size), np.zeros(n)
        self.frame = Factors(
            size=n, ap=self.ap, place=self.place, scale=self.scale, columns=self.columns, rows=self.rows, row_scale=self.row_scale,
            column_scale=self.column_scale, lp=self.lp, li=self.li, lx=self.lx, up=self.up, ui=self.ui, ux=self.ux, pivots=self.pivots,
            work=np.zeros(2 * n), cost=self._cost(),
        )  # fmt: skip

    def _scale(self, ap: np.ndarray, ai: np.ndarray, ax: np.ndarray) -> np.ndarray:
        """Takes over the pattern, and scales for the values; the values."""
        self.ap, self.ai = np.ascontiguousarray(ap, np.int64), np.ascontiguousarray(ai, np.int64)
        ax = np.ascontiguousarray(ax, float)
        if not np.all(np.isfinite(ax)):
            raise InputError("sparse LU: the matrix holds a number that is not finite")
        self.size = self.ap.size - 1
        self.row_scale, self.column_scale = equilibrate(self.ap, self.ai, ax)
        self.scale = self.row_scale[self.ai] * np.repeat(self.column_scale, np.diff(self.ap))
        return ax

    @property
    def functions(self) -> tuple[int, int]:
        """Addresses of the functions that factorise and solve, as native code calls them with the frame."""
        first, second = self._kernels()
        return first.address, second.address

    def _kernels(self) -> tuple[Kernel, Kernel]:
        return factorise, solve

    def _cost(self) -> float:
        """What new factors cost in solutions with a residual each: elements take some operations for each entry of the matrix, a tangent four times those
        of a residual."""
        operations = float(np.diff(self.lp)[self.ui].sum()) + self.fill
        residual = 6.0 * self.ai.size
        return (4.0 * residual + operations) / (residual + self.fill)

    def _find_pivots(self, ax: np.ndarray) -> np.ndarray:
        optional = np.zeros(self.size, np.int64)
        inverse, self.rows, self.lp, li, self.up, ui = searched(self.ap, self.ai, ax, self.columns, optional, SMALLEST)
        self.li, self.ui = _sorted(self.lp, inverse[li]), _sorted(self.up, ui)
        return inverse

    @property
    def fill(self) -> int:
        """Non-zeros of L and U together with the pivots."""
        return int(self.li.size + self.ui.size + self.size)

    def factorise(self, ax: np.ndarray) -> int:
        """New factors for new values on the analysed pattern: OK, SINGULAR or DEGRADED (growth: analyse again)."""
        self.frame.ax = np.ascontiguousarray(ax, float)
        self.frame.made_for = 0.0
        return self._kernels()[0].call(self.frame.address)

    def solve(self, b: np.ndarray) -> np.ndarray:
        """x of A x = b."""
        x = np.array(b, float)
        self.frame.rhs = x
        self._kernels()[1].call(self.frame.address)
        return x

    def refined(self, ax: np.ndarray, b: np.ndarray, times: int = 1) -> np.ndarray:
        """x of A x = b improved by iterative refinement with the matrix values ``ax``."""
        x = self.solve(b)
        for _ in range(times):
            x += self.solve(b - self._times(ax, x))
        return x

    def defect(self, ax: np.ndarray, b: np.ndarray) -> float:
        """Largest residual of the solution of A x = b over the largest right side, both scaled: large when the factors are worth nothing."""
        wrong, size = (float(np.abs(self.row_scale * r).max(initial=0.0)) for r in (b - self._times(ax, self.solve(b)), b))
        return wrong / size if size > 0.0 else wrong

    def _times(self, ax: np.ndarray, x: np.ndarray) -> np.ndarray:
        return np.bincount(self.ai, ax * np.repeat(x, np.diff(self.ap)), self.size)


def searched(
    ap: np.ndarray, ai: np.ndarray, ax: np.ndarray, columns: np.ndarray, optional: np.ndarray, floor: float
) -> tuple[np.ndarray, ...]:
    """Pivots of rows, rows of pivots, and the patterns of L (by rows of A) and U."""
    n = ap.size - 1
    inverse, rows, lp, up = np.full(n, -1, np.int64), np.zeros(n, np.int64), np.zeros(n + 1, np.int64), np.zeros(n + 1, np.int64)
    li, ui = np.zeros(4 * ai.size + n, np.int64), np.zeros(4 * ai.size + n, np.int64)
    lx, place = np.zeros(li.size), np.empty(n, np.int64)
    place[columns] = np.arange(n)
    search = Search(
        ap=ap, ai=ai, ax=ax, columns=columns, place=place, inverse=inverse, rows=rows, lp=lp, li=li, lx=lx, up=up, ui=ui, optional=optional,
        floor=floor, whole=np.zeros(4 * n, np.int64), x=np.zeros(n),
    )  # fmt: skip
    while (told := eliminate.call(search.address)) != OK:
        if told == SINGULAR:
            raise SingularMatrix(int(columns[search.next]))
        li, lx, ui = search.li, search.lx, search.ui = tuple(np.concatenate([a, np.zeros(a.size + n, a.dtype)]) for a in (li, lx, ui))
    return inverse, rows, lp, li[: lp[-1]], up, ui[: up[-1]]


def dependent_columns(
    ap: np.ndarray, ai: np.ndarray, ax: np.ndarray, columns: np.ndarray, optional: np.ndarray, floor: float
) -> np.ndarray:
    """Columns among the ``optional`` ones (a mask) that depend on those before them in the order ``columns``: no pivot above ``floor`` is left."""
    marks = np.ascontiguousarray(optional, np.int64)
    searched(ap.astype(np.int64), ai.astype(np.int64), ax, columns, marks, floor)
    return np.flatnonzero(marks == 2)


def _sorted(starts: np.ndarray, indices: np.ndarray) -> np.ndarray:
    """The indices of every column in ascending order: the order in which a column is eliminated."""
    return indices[np.lexsort((indices, np.repeat(np.arange(starts.size - 1), np.diff(starts))))].astype(np.int32)


@kernel
def factorise(address: int) -> int:
    """New factors for the values ``ax`` on the analysed pattern."""
    f = Factors.at(address)
    n, ap, columns, lp, up = f.size, f.ap, f.columns, f.lp, f.up
    ax, scale, place = f.ax, f.scale, f.place
    li, lx, ui, ux = f.li, f.lx, f.ui, f.ux
    x, pivots, largest = f.work, f.pivots, 0.0
    for k in range(n):
        column = columns[k]
        for p in range(ap[column], ap[column + 1]):
            x[place[p]] = ax[p] * scale[p]
        for p in range(up[k], up[k + 1]):
            j = ui[p]
            xj = x[j]
            ux[p] = xj
            x[j] = 0.0
            if xj != 0.0:
                for q in range(lp[j], lp[j + 1]):
                    x[li[q]] -= lx[q] * xj
        pivot = x[k]
        x[k] = 0.0
        pivots[k] = pivot
        if pivot == 0.0 or not abs(pivot) < np.inf:
            for i in range(n):
                x[i] = 0.0
            return SINGULAR
        over = 1.0 / pivot
        for q in range(lp[k], lp[k + 1]):
            value = x[li[q]] * over
            x[li[q]] = 0.0
            lx[q] = value
            largest = max(largest, abs(value))
    return DEGRADED if largest > GROWTH else OK


@kernel
def solve(address: int) -> int:
    """Solves A x = b in place of the vector ``rhs``."""
    f = Factors.at(address)
    n, rows, columns, lp, up = f.size, f.rows, f.columns, f.lp, f.up
    row_scale, column_scale, pivots = f.row_scale, f.column_scale, f.pivots
    li, lx, ui, ux = f.li, f.lx, f.ui, f.ux
    y, b = f.work[n:], f.rhs
    for k in range(n):
        y[k] = b[rows[k]] * row_scale[rows[k]]
    for k in range(n):
        yk = y[k]
        for q in range(lp[k], lp[k + 1]):
            y[li[q]] -= lx[q] * yk
    for k in range(n - 1, -1, -1):
        yk = y[k] / pivots[k]
        y[k] = yk
        for p in range(up[k], up[k + 1]):
            y[ui[p]] -= ux[p] * yk
    for k in range(n):
        b[columns[k]] = y[k] * column_scale[columns[k]]
    return OK
