"""Factors M = LᵀL of mass matrices of trees, found from the last row inwards: zeros between branches stay (Featherstone 2005).

L is lower triangular as Cholesky's, and stands in the lower triangle of M with the inverses of its diagonal.  Velocities behind each other have larger
numbers the further out they are, so that a row of L holds those a velocity is carried by, and nothing else; rows are looked through for it.
"""

from __future__ import annotations

import math
from typing import Any

from ...native.kernel import jit
from .dense import inner


@jit
def factor_inwards(a: Any, n: int) -> int:
    """Factorise a symmetric positive definite A = LᵀL into the lower triangle; 0, or the number (from 1) of the pivot that failed."""
    for k in range(n - 1, -1, -1):
        row = a[k * n :]
        if not row[k] > 0.0:
            return k + 1
        over = 1.0 / math.sqrt(row[k])
        row[k] = over
        for j in range(k):
            row[j] *= over
        for i in range(k):
            part, other = row[i], a[i * n :]
            if part != 0.0:
                for j in range(i + 1):
                    other[j] -= part * row[j]
    return 0


@jit
def to_root(a: Any, n: int, y: Any) -> None:
    """y = L⁻ᵀ y, from the tips to the root."""
    for k in range(n - 1, -1, -1):
        if y[k] != 0.0:
            row = a[k * n :]
            part = y[k] * row[k]
            y[k] = part
            for j in range(k):
                y[j] -= row[j] * part


@jit
def to_root_three(a: Any, n: int, x: Any, y: Any, z: Any) -> int:
    """The same for three at once; one more than the last number that is not 0 in all of them."""
    top = n
    while top > 0 and x[top - 1] == 0.0 and y[top - 1] == 0.0 and z[top - 1] == 0.0:
        top -= 1
    for k in range(top - 1, -1, -1):
        if x[k] != 0.0 or y[k] != 0.0 or z[k] != 0.0:
            row = a[k * n :]
            p, q, r = x[k] * row[k], y[k] * row[k], z[k] * row[k]
            x[k], y[k], z[k] = p, q, r
            for j in range(k):
                x[j] -= row[j] * p
                y[j] -= row[j] * q
                z[j] -= row[j] * r
    return top


@jit
def to_tips(a: Any, n: int, y: Any) -> None:
    """y = L⁻¹ y, from the root to the tips."""
    for i in range(n):
        row = a[i * n :]
        y[i] = (y[i] - inner(row, y, i)) * row[i]


@jit
def solve_inwards(a: Any, n: int, y: Any) -> None:
    """Solve A x = y in place with the factors of :func:`factor_inwards`."""
    to_root(a, n, y)
    to_tips(a, n, y)
