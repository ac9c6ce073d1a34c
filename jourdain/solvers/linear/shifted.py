"""Systems (c I − J) x = b of implicit methods, in half the unknowns where the first rows of J say that positions change by velocities.

With q̇ = v the first m rows of J are (0 I 0), so that x_q = (b_q + x_v)/c; what remains is of size n − m (Hairer & Wanner, Solving Ordinary
Differential Equations II, §IV.8).  That the rows are of this form is seen from J itself.
"""

from __future__ import annotations

from typing import Any

from ...native.kernel import jit
from .dense import lu_factor, lu_solve


@jit
def leading(J: Any, n: int) -> int:
    """How many of the first rows are those of q̇ = v with as many velocities after them; 0 where any differs."""
    m = 0
    while m < n and J[m] == 0.0:
        m += 1
    if m == 0 or 2 * m > n:
        return 0
    for i in range(m):
        for j in range(n):
            if J[i * n + j] != (1.0 if j == m + i else 0.0):
                return 0
    return m


@jit
def shifted_factor(J: Any, n: int, m: int, c: Any, lu: Any, pivots: Any) -> int:
    """Factorise what remains of c I − J without the first m rows; entries of ``lu`` may be complex as c may be."""
    k = n - m
    for i in range(k):
        for j in range(k):
            lu[i * k + j] = -J[(m + i) * n + m + j]
        for j in range(m):
            lu[i * k + j] -= J[(m + i) * n + j] / c
        lu[i * k + i] += c
    return lu_factor(lu, k, pivots)


@jit
def shifted_solve(J: Any, n: int, m: int, c: Any, lu: Any, pivots: Any, b: Any) -> None:
    """Solve (c I − J) x = b in place with the factors of :func:`shifted_factor`."""
    for i in range(n - m if m > 0 else 0):
        total = b[m + i]
        for j in range(m):
            total += J[(m + i) * n + j] * b[j] / c
        b[m + i] = total
    lu_solve(lu, n - m, pivots, b[m:])
    for i in range(m):
        b[i] = (b[i] + b[m + i]) / c


__all__ = ["leading", "shifted_factor", "shifted_solve"]
