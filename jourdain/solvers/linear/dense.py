"""Small dense factorisations that allocate nothing, for use inside native loops (Golub & Van Loan, chapters 3 and 4).

A matrix is a flat array in row-major order, factorised in place; entries may be real or complex. A factorisation
returns 0, or the number (from 1) of the pivot that failed.

>>> import numpy as np
>>> a, b, pivots = np.array([0.0, 2.0, 1.0, 1.0]), np.array([2.0, 3.0]), np.zeros(2, dtype=np.int64)
>>> lu_factor(a, 2, pivots), lu_solve(a, 2, pivots, b), b
(0, None, array([2., 1.]))
"""

from __future__ import annotations

import math
from typing import Any

from ...native.kernel import jit


@jit
def inner(a: Any, b: Any, n: int) -> float:
    """Scalar product of the first n entries of two real vectors, in four sums that do not wait for each other."""
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    whole = n - n % 4
    for k in range(0, whole, 4):
        s0 += a[k] * b[k]
        s1 += a[k + 1] * b[k + 1]
        s2 += a[k + 2] * b[k + 2]
        s3 += a[k + 3] * b[k + 3]
    for k in range(whole, n):
        s0 += a[k] * b[k]
    return (s0 + s1) + (s2 + s3)


@jit
def lu_factor(a: Any, n: int, pivots: Any) -> int:
    """Factorise P A = L U with row exchanges; `pivots` receives the row taken at each stage."""
    for k in range(n):
        best, p = abs(a[k * n + k]), k
        for i in range(k + 1, n):
            if abs(a[i * n + k]) > best:
                best, p = abs(a[i * n + k]), i
        pivots[k] = p
        if not (best > 0.0 and math.isfinite(best)):
            return k + 1
        if p != k:
            for j in range(n):
                a[k * n + j], a[p * n + j] = a[p * n + j], a[k * n + j]
        inverse = 1.0 / a[k * n + k]
        for i in range(k + 1, n):
            factor = a[i * n + k] * inverse
            a[i * n + k] = factor
            if factor != 0.0:
                for j in range(k + 1, n):
                    a[i * n + j] -= factor * a[k * n + j]
    return 0


@jit
def lu_solve(a: Any, n: int, pivots: Any, b: Any) -> None:
    """Solve A x = b in place with the factors of `lu_factor`."""
    for k in range(n):
        p = pivots[k]
        if p != k:
            b[k], b[p] = b[p], b[k]
    for i in range(n):
        total = b[i]
        for j in range(i):
            total -= a[i * n + j] * b[j]
        b[i] = total
    for i in range(n - 1, -1, -1):
        total = b[i]
        for j in range(i + 1, n):
            total -= a[i * n + j] * b[j]
        b[i] = total / a[i * n + i]


@jit
def lu_solve_transposed(a: Any, n: int, pivots: Any, b: Any) -> None:
    """Solve A^T x = b in place with the factors of `lu_factor`."""
    for i in range(n):
        b[i] /= a[i * n + i]
        for j in range(i + 1, n):
            b[j] -= a[i * n + j] * b[i]
    for i in range(n - 1, -1, -1):
        for j in range(i):
            b[j] -= a[i * n + j] * b[i]
    for k in range(n - 1, -1, -1):
        p = pivots[k]
        if p != k:
            b[k], b[p] = b[p], b[k]


@jit
def lu_full(a: Any, m: int, n: int, rows: Any, columns: Any, tolerance: float) -> int:
    """Factorise an m by n matrix with exchanges of rows and columns and return its rank.

    `rows` and `columns` receive the permutations: entry k says which original row (column) is now k-th, so the first
    `rank` columns are the best conditioned ones. A pivot below `tolerance` times the first one counts as zero.
    """
    for i in range(m):
        rows[i] = i
    for j in range(n):
        columns[j] = j
    first = 0.0
    for k in range(min(m, n)):
        best, p, q = 0.0, k, k
        for i in range(k, m):
            for j in range(k, n):
                if abs(a[i * n + j]) > best:
                    best, p, q = abs(a[i * n + j]), i, j
        if k == 0:
            first = best
        if not best > tolerance * first:
            return k
        if p != k:
            rows[k], rows[p] = rows[p], rows[k]
            for j in range(n):
                a[k * n + j], a[p * n + j] = a[p * n + j], a[k * n + j]
        if q != k:
            columns[k], columns[q] = columns[q], columns[k]
            for i in range(m):
                a[i * n + k], a[i * n + q] = a[i * n + q], a[i * n + k]
        for i in range(k + 1, m):
            factor = a[i * n + k] / a[k * n + k]
            a[i * n + k] = factor
            for j in range(k + 1, n):
                a[i * n + j] -= factor * a[k * n + j]
    return min(m, n)


@jit
def cholesky(a: Any, n: int) -> int:
    """Factorise a symmetric positive definite A = L L^T into the lower triangle."""
    for i in range(n):
        for j in range(i + 1):
            total = a[i * n + j] - inner(a[i * n :], a[j * n :], j)
            if i == j:
                if not total > 0.0:
                    return i + 1
                a[i * n + i] = math.sqrt(total)
            else:
                a[i * n + j] = total / a[j * n + j]
    return 0


@jit
def cholesky_solve(a: Any, n: int, b: Any) -> None:
    """Solve A x = b in place with the factor of `cholesky`."""
    for i in range(n):
        b[i] = (b[i] - inner(a[i * n :], b, i)) / a[i * n + i]
    for i in range(n - 1, -1, -1):
        b[i] /= a[i * n + i]
        for j in range(i):
            b[j] -= a[i * n + j] * b[i]


@jit
def symmetric_factor(a: Any, n: int, least: float) -> bool:
    """Factorise a symmetric A = U^T D^-1 U into the upper triangle, D the diagonal of U; False where a pivot is not above the least.

    Row by row, so that matrices of contacts, many of whose entries are zero, take few operations.
    """
    for k in range(n):
        pivot = a[k * n + k]
        if not pivot > least:
            return False
        inverse, row = 1.0 / pivot, a[k * n :]
        for i in range(k + 1, n):
            factor, below = inverse * row[i], a[i * n :]
            if factor != 0.0:
                for j in range(i, n):
                    below[j] -= factor * row[j]
    return True


@jit
def symmetric_solve(a: Any, n: int, b: Any) -> None:
    """Solve A x = b in place with the factor of `symmetric_factor`."""
    for k in range(n):
        factor, row = b[k] / a[k * n + k], a[k * n :]
        b[k] = factor
        for j in range(k + 1, n):
            b[j] -= factor * row[j]
    for k in range(n - 1, -1, -1):
        total, row = 0.0, a[k * n :]
        for j in range(k + 1, n):
            total += row[j] * b[j]
        b[k] -= total / row[k]
