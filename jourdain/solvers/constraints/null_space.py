"""Accelerations of constrained systems by an orthonormal null space, in native code.

Jᵀ = Q₁U by Householder reflections; in the turned coordinates y = Qᵀa the constraints give the first m, Uᵀy₁ = g, and the
rest follows from the lower right block of QᵀM Q: (QᵀMQ)₂₂ y₂ = (Qᵀf − QᵀMQ y₁)₂.  Rows of J must be independent.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

from ...native.call import call, doubles, words
from ...native.kernel import jit, kernel
from ..linear.dense import cholesky, cholesky_solve
from .elimination import store_rates


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


@kernel
def null_space_state_derivative(args: int) -> int:
    """ẋ of a constrained system: args = t, x, ẋ, nq, nv, nz, rows kept, their number, all rows, address and pointers of the
    descriptor function, scratch."""
    a = words(args, 12)
    nq, n, nz, m, rows = a[3], a[4], a[5], a[7], a[8]
    pointers = words(a[10], 10)
    pointers[0], pointers[1] = a[0], a[1]
    if call(a[9], a[10]) != 0:
        return -1
    M, f = doubles(pointers[3], n * n), doubles(pointers[4], n)
    J, g, rates = doubles(pointers[5], rows * n), doubles(pointers[6], rows), doubles(pointers[7], nq + nz)
    kept = words(a[6], m)
    for k in range(m):
        if kept[k] != k:
            g[k] = g[kept[k]]
            for j in range(n):
                J[k * n + j] = J[kept[k] * n + j]
    scratch = doubles(a[11], m * n + (n - m) * (n - m) + 1)
    xdot = doubles(a[2], nq + n + nz)
    if orthonormal_solution(M, f, J, g, m, n, scratch[: m * n], scratch[m * n :], xdot[nq : nq + n]) != 0:
        return 2
    store_rates(rates, nq, n, nz, xdot)
    return 0


__all__ = ["null_space_state_derivative", "orthonormal_solution"]
