"""LU factors of band matrices with row exchanges, for native loops (Golub & Van Loan, section 4.3).

Entry (i, j) of a matrix with b diagonals on either side of the main one is ``a[3 b i + j + b]``: rows of 3 b + 1 numbers, of which b are room for
what exchanges bring in.

>>> import numpy as np
>>> a, x, pivots = np.array([0.0, 0.0, 2.0, 0.0, 1.0, 1.0, 0.0, 0.0]), np.array([2.0, 3.0]), np.zeros(2, dtype=np.int64)
>>> band_factor(a, 2, 1, pivots), band_solve(a, 2, 1, pivots, x), x
(0, None, array([2., 1.]))
"""

from __future__ import annotations

import math
from typing import Any

from ...native.kernel import jit


@jit
def band_factor(a: Any, n: int, b: int, pivots: Any) -> int:
    """Factorise in place; 0, or the number (from 1) of the pivot that failed.  ``pivots`` receives the row taken at each stage."""
    w = 3 * b
    for k in range(n):
        best, p, last = abs(a[w * k + k + b]), k, min(n - 1, k + b)
        for i in range(k + 1, last + 1):
            if abs(a[w * i + k + b]) > best:
                best, p = abs(a[w * i + k + b]), i
        pivots[k] = p
        if not (best > 0.0 and math.isfinite(best)):
            return k + 1
        end = min(n, k + 2 * b + 1) - k
        first = a[w * k + k + b : w * k + k + b + end]
        if p != k:
            other = a[w * p + k + b : w * p + k + b + end]
            for j in range(end):
                first[j], other[j] = other[j], first[j]
        over = 1.0 / first[0]
        for i in range(k + 1, last + 1):
            row = a[w * i + k + b : w * i + k + b + end]
            factor = row[0] * over
            row[0] = factor
            if factor != 0.0:
                for j in range(1, end):
                    row[j] -= factor * first[j]
    return 0


@jit
def band_solve(a: Any, n: int, b: int, pivots: Any, x: Any) -> None:
    """Solve A x = b in place with the factors of `band_factor`."""
    w = 3 * b
    for k in range(n):
        p = pivots[k]
        if p != k:
            x[k], x[p] = x[p], x[k]
        for i in range(k + 1, min(n, k + b + 1)):
            x[i] -= a[w * i + k + b] * x[k]
    for k in range(n - 1, -1, -1):
        total = x[k]
        for j in range(k + 1, min(n, k + 2 * b + 1)):
            total -= a[w * k + j + b] * x[j]
        x[k] = total / a[w * k + k + b]
