"""Accelerations and multipliers of many states, one after the other in native code: M v̇ = f + Jᵀλ, J v̇ = g."""

from __future__ import annotations

from typing import Any

from ...native.kernel import jit
from ..linear.dense import cholesky, cholesky_solve

#: Where a pivot of J M⁻¹ Jᵀ is below this part of its diagonal entry, constraints may depend on each other.
DEPENDENT = 1e-9
#: Where a pivot of M is below this part of its diagonal entry, something moves without inertia.
WEIGHTLESS = 1e-12


@jit
def _forward(L: Any, n: int, b: Any, y: Any) -> None:
    """L y = b."""
    for i in range(n):
        total = b[i]
        for j in range(i):
            total -= L[i * n + j] * y[j]
        y[i] = total / L[i * n + i]


@jit
def _weightless(L: Any, n: int, mass: Any) -> bool:
    """Factorises L = M into its Cholesky factor; whether a motion (nearly) meets no inertia."""
    for i in range(n * n):
        L[i] = mass[i]
    if cholesky(L, n) != 0:
        return True
    least = 1.0
    for i in range(n):
        least = min(least, L[i * n + i] * L[i * n + i] / mass[i * n + i])
    return not least > WEIGHTLESS


@jit
def _depends(S: Any, m: int, diagonal: Any) -> bool:
    """Factorises S = L Lᵀ; whether a row (nearly) depends on those before it."""
    for i in range(m):
        diagonal[i] = S[i * m + i]
    if cholesky(S, m) != 0:
        return True
    least = 1.0
    for i in range(m):
        least = min(least, S[i * m + i] * S[i * m + i] / diagonal[i])
    return not least > DEPENDENT


def memory_size(n: int, m: int) -> int:
    """Numbers that :func:`balance` works with."""
    return n * n + n + m * n + m * m + m


@jit
def balance(M: Any, f: Any, J: Any, g: Any, a: Any, lam: Any, work: Any, open_rows: Any) -> int:
    """v̇ and λ for matrices and vectors in rows, by Cholesky factors of M and of J M⁻¹ Jᵀ; how many rows are left open.

    ``open_rows`` receives their numbers: there M is not (or hardly) positive definite, or constraints (nearly) depend on each other.
    """
    n, m, count = f.shape[1], g.shape[1], 0
    L, y = work, work[n * n :]
    Y, S, diagonal = work[n * n + n :], work[n * n + n + m * n :], work[n * n + n + m * n + m * m :]
    for k in range(f.shape[0]):
        mass, rows, multipliers, found = M[k], J[k], lam[k], a[k]
        if _weightless(L, n, mass):
            open_rows[count] = k
            count += 1
            continue
        _forward(L, n, f[k], y)
        for r in range(m):
            _forward(L, n, rows[r * n :], Y[r * n :])
            for s in range(r + 1):
                total = 0.0
                for j in range(n):
                    total += Y[r * n + j] * Y[s * n + j]
                S[r * m + s] = S[s * m + r] = total
            total = g[k, r]
            for j in range(n):
                total -= Y[r * n + j] * y[j]
            multipliers[r] = total
        if _depends(S, m, diagonal):
            open_rows[count] = k
            count += 1
            continue
        cholesky_solve(S, m, multipliers)
        for r in range(m):
            for j in range(n):
                y[j] += multipliers[r] * Y[r * n + j]
        for i in range(n - 1, -1, -1):
            total = y[i]
            for j in range(i + 1, n):
                total -= L[j * n + i] * found[j]
            found[i] = total / L[i * n + i]
    return count


__all__ = ["WEIGHTLESS", "balance", "memory_size"]
