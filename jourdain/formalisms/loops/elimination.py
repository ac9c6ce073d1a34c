"""Elimination of dependent velocities: the order of the blocks, and the symbolic solution block by block.

The square part J_D of the constraint Jacobian that belongs to the dependent columns is brought to block triangular
form (a matching of rows and columns, then strongly connected groups): loops that hang together only one way round are
solved one after the other.  Blocks of one or two are solved by Cramer's rule, larger ones by elimination without
exchanges in an order that was good at a reference position.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...errors import ModelError
from ...symbolic.expr import ONE, ZERO, Expr, add, div, mul, neg, sub

#: Rows and columns of one block, in the order of the pivots.
Block = tuple[tuple[int, ...], tuple[int, ...]]
Entries = Mapping[tuple[int, int], Expr]


def elimination_order(J: np.ndarray, pattern: np.ndarray, rows: Sequence[int], columns: Sequence[int]) -> tuple[Block, ...]:
    """Blocks that solve ``J[rows, columns] x = b`` from the first to the last; pivots are taken where ``J`` is largest."""
    square = np.asarray(pattern, dtype=bool)[np.ix_(rows, columns)]
    match = _matching(square)
    blocks: list[Block] = []
    for group in _components(square, match):
        r, c = [rows[i] for i in group], [columns[match[i]] for i in group]
        blocks.append(_pivoted(J, r, c))
    return tuple(blocks)


def _matching(pattern: np.ndarray) -> list[int]:
    """A column for every row, each used once (augmenting paths)."""
    n = len(pattern)
    owner = [-1] * n

    def place(i: int, seen: set[int]) -> bool:
        for j in np.flatnonzero(pattern[i]).tolist():
            if j not in seen:
                seen.add(j)
                if owner[j] < 0 or place(owner[j], seen):
                    owner[j] = i
                    return True
        return False

    for i in range(n):
        if not place(i, set()):
            raise ModelError("the constraints do not determine the dependent coordinates; choose other independent ones")
    return [owner.index(i) for i in range(n)]


def _components(pattern: np.ndarray, match: Sequence[int]) -> list[list[int]]:
    """Groups of rows that need each other, those needed by others first (Tarjan)."""
    row_of = {c: i for i, c in enumerate(match)}
    needs = [[row_of[j] for j in np.flatnonzero(pattern[i]).tolist() if row_of[j] != i] for i in range(len(match))]
    number: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    groups: list[list[int]] = []

    def visit(i: int) -> None:
        number[i] = low[i] = len(number)
        stack.append(i)
        for j in needs[i]:
            if j not in number:
                visit(j)
                low[i] = min(low[i], low[j])
            elif j in stack:
                low[i] = min(low[i], number[j])
        if low[i] == number[i]:
            at = stack.index(i)
            groups.append(sorted(stack[at:]))
            del stack[at:]

    for i in range(len(match)):
        if i not in number:
            visit(i)
    return groups


def _pivoted(J: np.ndarray, rows: list[int], columns: list[int]) -> Block:
    """Rows and columns in the order of full pivoting."""
    A = np.array(J[np.ix_(rows, columns)], dtype=float)
    left, right = list(range(len(rows))), list(range(len(columns)))
    r: list[int] = []
    c: list[int] = []
    while left:
        block = np.abs(A[np.ix_(left, right)])
        i, j = np.unravel_index(int(np.argmax(block)), block.shape)
        a, b = left.pop(int(i)), right.pop(int(j))
        if A[a, b] != 0.0:
            for k in left:
                A[k] -= A[k, b] / A[a, b] * A[a]
        r.append(rows[a])
        c.append(columns[b])
    return tuple(r), tuple(c)


def solve_blocks(J: Entries, blocks: Sequence[Block], rights: Sequence[Mapping[int, Expr]]) -> list[dict[int, Expr]]:
    """Solutions {column: x} of J_D x = b for several right-hand sides {row: b}."""
    found: list[dict[int, Expr]] = [{} for _ in rights]
    for rows, columns in blocks:
        A = [[J.get((i, j), ZERO) for j in columns] for i in rows]
        b = []
        for i in rows:
            line = []
            for right, x in zip(rights, found, strict=True):
                total = right.get(i, ZERO)
                for j, value in x.items():
                    total = sub(total, mul(J.get((i, j), ZERO), value))
                line.append(total)
            b.append(line)
        for j, line in zip(columns, solve_dense(A, b), strict=True):
            for x, value in zip(found, line, strict=True):
                x[j] = value
    return found


def solve_dense(A: list[list[Expr]], b: list[list[Expr]]) -> list[list[Expr]]:
    """Solution of A x = b, row by row, without exchanges (A and b are overwritten)."""
    n = len(A)
    if n == 1:
        return [[div(e, A[0][0]) for e in b[0]]]
    if n == 2:
        over = div(ONE, sub(mul(A[0][0], A[1][1]), mul(A[0][1], A[1][0])))
        inverse = [[mul(A[1][1], over), mul(A[0][1], over)], [mul(A[1][0], over), mul(A[0][0], over)]]
        return [
            [sub(mul(inverse[0][0], e), mul(inverse[0][1], f)) for e, f in zip(b[0], b[1], strict=True)],
            [sub(mul(inverse[1][1], f), mul(inverse[1][0], e)) for e, f in zip(b[0], b[1], strict=True)],
        ]
    for k in range(n):
        over = div(ONE, A[k][k])
        for i in range(k + 1, n):
            if A[i][k] is not ZERO:
                factor = mul(A[i][k], over)
                A[i] = [sub(e, mul(factor, p)) if j > k else ZERO for j, (e, p) in enumerate(zip(A[i], A[k], strict=True))]
                b[i] = [sub(e, mul(factor, p)) for e, p in zip(b[i], b[k], strict=True)]
    for k in range(n - 1, -1, -1):
        over = div(ONE, A[k][k])
        for c in range(len(b[k])):
            total = b[k][c]
            for j in range(k + 1, n):
                total = sub(total, mul(A[k][j], b[j][c]))
            b[k][c] = mul(total, over)
    return b


def leading_minors(A: Sequence[Sequence[Any]]) -> list[Any]:
    """Determinants of the first row and column, the first two … of a matrix of expressions or numbers, as :func:`solve_dense` meets them."""
    n, A = len(A), [list(row) for row in A]
    if n == 2:
        return [A[0][0], A[0][0] * A[1][1] - A[0][1] * A[1][0]]
    found: list[Any] = []
    for k in range(n):
        found.append(A[k][k] if k == 0 else found[-1] * A[k][k])
        if A[k][k] is ZERO or (isinstance(A[k][k], float) and A[k][k] == 0.0):
            return found + [A[k][k]] * (n - k - 1)
        over = 1.0 / A[k][k]
        for i in range(k + 1, n):
            factor = A[i][k] * over
            A[i] = [e - factor * p if j > k else e for j, (e, p) in enumerate(zip(A[i], A[k], strict=True))]
    return found


class NullSpace:
    """v̇ = Z v̇_u + a₀ and v = Z v_u + v₀ as expressions: Z row by row, with zeros left out."""

    def __init__(self, J: Entries, blocks: Sequence[Block], independent: Sequence[int], n: int) -> None:
        self.n = n
        self.J = J
        self.blocks = blocks
        self.independent = list(independent)
        rights = [{i: neg(J[(i, j)]) for rows, _ in blocks for i in rows if (i, j) in J} for j in self.independent]
        columns = solve_blocks(J, blocks, rights)
        self.Z: list[dict[int, Expr]] = [{} for _ in range(n)]
        for k, j in enumerate(self.independent):
            self.Z[j][k] = ONE
            for i, e in columns[k].items():
                if e is not ZERO:
                    self.Z[i][k] = e

    def particular(self, right: Mapping[int, Expr]) -> list[Expr]:
        """x with J x = right and nothing in the independent columns."""
        x = solve_blocks(self.J, self.blocks, [right])[0]
        return [x.get(i, ZERO) for i in range(self.n)]

    def extend(self, values: Sequence[Expr], particular: Sequence[Expr]) -> list[Expr]:
        """Z·values + particular."""
        total = list(particular)
        for i, row in enumerate(self.Z):
            for k, e in row.items():
                total[i] = add(total[i], mul(e, values[k]))
        return total

    def project(self, forces: Sequence[Expr]) -> list[Expr]:
        """Zᵀ·forces."""
        total = [ZERO] * len(self.independent)
        for i, row in enumerate(self.Z):
            for k, e in row.items():
                total[k] = add(total[k], mul(e, forces[i]))
        return total

    def reduce(self, M: Sequence[Sequence[Expr]]) -> list[list[Expr]]:
        """ZᵀM Z of a symmetric matrix."""
        free = len(self.independent)
        MZ = [[ZERO] * free for _ in range(self.n)]
        for i in range(self.n):
            for j, row in enumerate(self.Z):
                if M[i][j] is not ZERO:
                    for k, e in row.items():
                        MZ[i][k] = add(MZ[i][k], mul(M[i][j], e))
        R = [[ZERO] * free for _ in range(free)]
        for i, row in enumerate(self.Z):
            for k, e in row.items():
                for j in range(k + 1):
                    R[k][j] = add(R[k][j], mul(e, MZ[i][j]))
        for k in range(free):
            for j in range(k):
                R[j][k] = R[k][j]
        return R
