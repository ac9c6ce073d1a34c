"""Accelerations of constrained systems by an orthonormal null space, in native code.

Jᵀ = Q₁U by Householder reflections; in the turned coordinates y = Qᵀa the constraints give the first m, Uᵀy₁ = g, and the
rest follows from the lower right block of QᵀM Q: (QᵀMQ)₂₂ y₂ = (Qᵀf − QᵀMQ y₁)₂.  Rows of J must be independent.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

from ...native.kernel import jit
from ..linear.dense import cholesky, cholesky_solve


@jit
def _reflect(A: Any, start: int, stride: int, length: int, v: Any, k: int, n: int) -> None:
    """Applies 1 − 2vvᵀ (v from entry k on, of length one) to a vector inside an array."""
    total = 0.0
    for i in range(k, n):
        total += v[i] * A[start + i * stride]
    for i in range(k, n):
        A[start + i * stride] -= 2.0 * total * v[i]


@jit
def orthonormal_solution(M: Any, f: Any, J: Any, g: Any, m: int, n: int, V: Any, block: Any, a: Any) -> int:
    """a with M a = f + Jᵀλ and J a = g; M, f and J are overwritten.  ``V`` holds m·n numbers, ``block`` (n − m)²."""
    for k in range(m):
        norm = 0.0
        for i in range(k, n):
            V[k * n + i] = J[k * n + i]
            norm += V[k * n + i] * V[k * n + i]
        norm = sqrt(norm)
        if not norm > 0.0:
            return 2
        V[k * n + k] += norm if V[k * n + k] >= 0.0 else -norm
        size = 0.0
        for i in range(k, n):
            size += V[k * n + i] * V[k * n + i]
        size = 1.0 / sqrt(size)
        for i in range(k, n):
            V[k * n + i] *= size
        v = V[k * n : (k + 1) * n]
        for r in range(k, m):
            _reflect(J, r * n, 1, n, v, k, n)
        for r in range(n):
            _reflect(M, r * n, 1, n, v, k, n)
        for r in range(n):
            _reflect(M, r, n, n, v, k, n)
        _reflect(f, 0, 1, n, v, k, n)
    for k in range(m):  # row k of J now ends at its diagonal entry: Uᵀ is lower triangular
        total = g[k]
        for i in range(k):
            total -= J[k * n + i] * a[i]
        a[k] = total / J[k * n + k]
    free = n - m
    for i in range(free):
        total = f[m + i]
        for j in range(m):
            total -= M[(m + i) * n + j] * a[j]
        a[m + i] = total
        for j in range(free):
            block[i * free + j] = M[(m + i) * n + m + j]
    if cholesky(block, free) != 0:
        return 2
    cholesky_solve(block, free, a[m:n])
    for k in range(m - 1, -1, -1):
        _reflect(a, 0, 1, n, V[k * n : (k + 1) * n], k, n)
    return 0


__all__ = ["orthonormal_solution"]
