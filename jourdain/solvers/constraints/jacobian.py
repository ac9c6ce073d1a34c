"""Exact ∂ẋ/∂x and ∂ẋ/∂t of a constrained system, by implicit differentiation of M v̇ = f + Jᵀλ, J v̇ = g.

A change of the state changes the residuals by δr = δ(M v̇ − f − Jᵀλ) and δg = δ(J v̇ − g) at constant v̇ and λ, so that
M δv̇ − Jᵀ δλ = −δr, J δv̇ = −δg: the same elimination as for the accelerations, one solve for each column.
"""

from __future__ import annotations

from typing import Any

from ...native.call import call, doubles, integers, words
from ...native.kernel import jit, kernel
from ..linear.dense import cholesky, cholesky_solve
from .elimination import ADDRESS_DESCRIPTOR, HEAD, LENGTH, NQ, NV, NZ, SCRATCH, M, null_space, reduced_accelerations

# Arguments after t, x and the result: plan, scratch, integers, pointers of descriptor and tangent, address of the tangent, what by.
PLAN, MEMORY, HELPER, DESCRIPTOR, TANGENT, TANGENT_ADDRESS, BY, ARGUMENTS = range(3, 11)
BY_STATE, BY_TIME = 0, 1


def scratch_size(plan: Any) -> int:
    """Doubles that the kernels below need."""
    nq, n, nz, m = (int(plan[k]) for k in (NQ, NV, NZ, M))
    return int(plan[SCRATCH]) + 4 * n + 3 * m + m * m + nq + n + nz + 8


@jit
def _multipliers(Mass: Any, f: Any, J: Any, a: Any, n: int, m: int, gram: Any, force: Any, lam: Any) -> None:
    """λ of Jᵀλ = M v̇ − f by normal equations, softened where constraints repeat one another."""
    for i in range(n):
        force[i] = -f[i]
        for j in range(n):
            force[i] += Mass[i * n + j] * a[j]
    largest = 0.0
    for i in range(m):
        lam[i] = 0.0
        for j in range(n):
            lam[i] += J[i * n + j] * force[j]
        for k in range(i + 1):
            total = 0.0
            for j in range(n):
                total += J[i * n + j] * J[k * n + j]
            gram[i * m + k] = total
        largest = max(largest, gram[i * m + i])
    for i in range(m):
        gram[i * m + i] += 1e-13 * largest
    if cholesky(gram, m) == 0:
        cholesky_solve(gram, m, lam)


@jit
def _columns(args: Any, time: bool) -> int:
    """Derivatives by the state, column by column, or by time alone."""
    plan = integers(args[PLAN], HEAD)
    n, nq, nz, m = plan[NV], plan[NQ], plan[NZ], plan[M]
    plan = integers(args[PLAN], plan[LENGTH])
    scratch = doubles(args[MEMORY], plan[SCRATCH] + 5 * n + 3 * m + m * m + nq + nz + 8)
    helper = integers(args[HELPER], plan[LENGTH] + n)
    size = nq + n + nz
    slots = words(args[DESCRIPTOR], 10)
    slots[0], slots[1] = args[0], args[1]
    if call(plan[ADDRESS_DESCRIPTOR], args[DESCRIPTOR]) != 0:
        return -1
    Mass, f, J, g = doubles(slots[3], n * n), doubles(slots[4], n), doubles(slots[5], m * n), doubles(slots[6], m)
    Z, rest = scratch[: n * n], scratch[n * n :]
    a0, rest = rest[:n], rest[n:]
    lu, rest = rest[: 2 * m * n + m], rest[2 * m * n + m :]
    MZ, rest = rest[: n * n + n], rest[n * n + n :]
    reduced = rest
    tail = plan[SCRATCH]
    at = args[MEMORY] + 8 * tail
    a, lam, dx, da, dt = (doubles(at, n), doubles(at + 8 * n, m), doubles(at + 8 * (n + m), size),
                          doubles(at + 8 * (n + m + size), n), doubles(at + 8 * (2 * n + m + size), 1))  # fmt: skip
    change, right, gram = (doubles(at + 8 * (2 * n + m + size + 1), n), doubles(at + 8 * (3 * n + m + size + 1), m),
                           doubles(at + 8 * (3 * n + 2 * m + size + 1), m * m))  # fmt: skip
    free = null_space(J, g, plan, helper, lu, Z, a0)
    if reduced_accelerations(Mass, f, Z, a0, n, free, MZ, reduced, a) != 0:
        return 2
    _multipliers(Mass, f, J, a, n, m, gram, change, lam)
    tangent = words(args[TANGENT], 11)
    tangent[0], tangent[1], tangent[3], tangent[4] = args[0], args[1], at, at + 8 * n
    tangent[5], tangent[6], tangent[7] = at + 8 * (n + m), at + 8 * (n + m + size), at + 8 * (2 * n + m + size)
    dr, dg, drates = doubles(tangent[8], n), doubles(tangent[9], m), doubles(tangent[10], nq + nz)
    columns = 1 if time else size
    out = doubles(args[2], size * columns)
    for i in range(size):
        dx[i] = 0.0
    for i in range(n):
        da[i] = 0.0
    dt[0] = 1.0 if time else 0.0
    for j in range(columns):
        if not time:
            dx[j] = 1.0
        if call(args[TANGENT_ADDRESS], args[TANGENT]) != 0:
            return -1
        for i in range(n):
            change[i] = -dr[i]
        for i in range(m):
            right[i] = -dg[i]
        free = null_space(J, right, plan, helper, lu, Z, a0)
        reduced_accelerations(Mass, change, Z, a0, n, free, MZ, reduced, change)
        for i in range(nq):
            out[i * columns + j] = drates[i]
        for i in range(n):
            out[(nq + i) * columns + j] = change[i]
        for i in range(nz):
            out[(nq + n + i) * columns + j] = drates[nq + i]
        dx[j] = 0.0
    return 0


@kernel
def state_derivatives(args: int) -> int:
    """∂ẋ/∂x, row by row, or ∂ẋ/∂t, as the arguments say."""
    slots = words(args, ARGUMENTS)
    return _columns(slots, slots[BY] == BY_TIME)
