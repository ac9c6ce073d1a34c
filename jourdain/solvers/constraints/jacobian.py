"""Exact ∂ẋ/∂x and ∂ẋ/∂t of a constrained system, by implicit differentiation of M v̇ = f + Jᵀλ, J v̇ = g.

A change of the state changes the residuals by δr = δ(M v̇ − f − Jᵀλ) and δg = δ(J v̇ − g) at constant v̇ and λ, so that
M δv̇ − Jᵀ δλ = −δr, J δv̇ = −δg: the factors found for the accelerations serve all columns.  Where constraints repeat one another,
the combinations Y that say nothing are taken out of δg as they are of g, and λ is the shortest (it has no part along Y).

In independent coordinates x_u the state is X(t, x_u); its changes follow from those of the constraints, J_D δq_D = −δh and
J_D δv_D = −δw, and a column of ∂ẋ_u/∂x_u is the change of Ẋ along them (the chain rule).
"""

from __future__ import annotations

from typing import Any

from ...native.call import call, doubles, integers, words
from ...native.kernel import jit, kernel
from ..linear.dense import cholesky, cholesky_solve, lu_full
from ..linear.redundant import drop_redundant
from .elimination import (
    ADDRESS_DESCRIPTOR,
    BLOCKS,
    HEAD,
    HOLONOMIC,
    LENGTH,
    NQ,
    NV,
    NZ,
    SCRATCH,
    M,
    eliminate,
    listed_accelerations,
    particular,
    solve_again,
)

# Arguments after t, x and the result: plan, scratch, integers, pointers of descriptor and tangent, address of the tangent, what by.
PLAN, MEMORY, HELPER, DESCRIPTOR, TANGENT, TANGENT_ADDRESS, BY, ARGUMENTS = range(3, 11)
BY_STATE, BY_TIME = 0, 1
# Arguments in independent coordinates: expansion (address, arguments, the state it writes), change of the constraints (address, pointers),
# the present choice, places in the whole system of what it numbers, sizes of both parts of it, numbers and integers to work with.
(
    EXPANSION, EXPANSION_ARGS, STATE, CLOSING, CLOSING_POINTERS, CHOICE, PLACES, LAYOUT_POSITIONS, POSITIONS, VELOCITIES, WORK, INTEGERS,
    ALL_ARGUMENTS,
) = range(10, 23)  # fmt: skip
#: Rounds of refinement of λ, whose normal equations square the condition of J.
REFINEMENTS = 2


def scratch_size(plan: Any) -> int:
    """Doubles that the kernels below need."""
    nq, n, nz, m = (int(plan[k]) for k in (NQ, NV, NZ, M))
    return int(plan[SCRATCH]) + 4 * n + 3 * m + 3 * m * m + nq + n + nz + 8


@jit
def _memory(args: Any, plan: Any) -> Any:
    """v̇, λ, the direction δx, δv̇, δt, then a right-hand side for each of r and g, and room for λ and the combinations Y."""
    n, m, size = plan[NV], plan[M], plan[NQ] + plan[NV] + plan[NZ]
    at = args[MEMORY] + 8 * plan[SCRATCH]
    a, lam, dx = doubles(at, n), doubles(at + 8 * n, m), doubles(at + 8 * (n + m), size)
    at += 8 * (n + m + size)
    da, dt = doubles(at, n), doubles(at + 8 * n, 1)
    at += 8 * (n + 1)
    change, right, gram = doubles(at, n), doubles(at + 8 * n, m), doubles(at + 8 * (n + m), 3 * m * m)
    return a, lam, dx, da, dt, change, right, gram


@jit
def _factors(args: Any, plan: Any) -> Any:
    """Z, a₀, factors of J, ZᵀM and the factor of ZᵀM Z."""
    n, m = plan[NV], plan[M]
    scratch = doubles(args[MEMORY], plan[SCRATCH])
    Z, rest = scratch[: n * n], scratch[n * n :]
    a0, rest = rest[:n], rest[n:]
    lu, rest = rest[: 2 * m * n + m], rest[2 * m * n + m :]
    return Z, a0, lu, rest[: n * n + n], rest[n * n + n :]


@jit
def _multipliers(Mass: Any, f: Any, J: Any, a: Any, n: int, m: int, gram: Any, force: Any, right: Any, lam: Any) -> None:
    """λ of Jᵀλ = M v̇ − f by normal equations, softened where constraints repeat one another, and refined."""
    largest = 0.0
    for i in range(m):
        lam[i] = 0.0
        for k in range(i + 1):
            total = 0.0
            for j in range(n):
                total += J[i * n + j] * J[k * n + j]
            gram[i * m + k] = total
        largest = max(largest, gram[i * m + i])
    for i in range(m):
        gram[i * m + i] += 1e-13 * largest
    if cholesky(gram, m) != 0:
        return
    for _ in range(1 + REFINEMENTS):
        for j in range(n):
            force[j] = -f[j]
            for k in range(n):
                force[j] += Mass[j * n + k] * a[k]
        for i in range(m):
            for j in range(n):
                force[j] -= J[i * n + j] * lam[i]
        for i in range(m):
            right[i] = 0.0
            for j in range(n):
                right[i] += J[i * n + j] * force[j]
        cholesky_solve(gram, m, right)
        for i in range(m):
            lam[i] += right[i]


@jit
def _drop(J: Any, g: Any, plan: Any, Y: Any) -> int:
    """Takes what redundant constraints say out of J and g; Y keeps the combinations of each block."""
    at, used = HEAD, 0
    for block in range(plan[BLOCKS]):
        rows = plan[at]
        excess = rows - plan[plan[LENGTH] - plan[BLOCKS] + block]
        if excess > 0:
            if drop_redundant(J, g, plan[NV], plan, at, excess, Y[used:]) != 0:
                return 1
            used += rows * (rows + excess)
        at += 2 + rows + plan[at + 1 + rows]
    return 0


@jit
def _drop_again(g: Any, plan: Any, Y: Any) -> None:
    """Takes the combinations Y out of another right-hand side, or out of λ, where rounding has let them grow."""
    at, used = HEAD, 0
    for block in range(plan[BLOCKS]):
        rows = plan[at]
        excess = rows - plan[plan[LENGTH] - plan[BLOCKS] + block]
        for c in range(excess):
            first, dot = used + rows * (rows + c), 0.0
            for i in range(rows):
                dot += Y[first + i] * g[plan[at + 1 + i]]
            for i in range(rows):
                g[plan[at + 1 + i]] -= dot * Y[first + i]
        if excess > 0:
            used += rows * (rows + excess)
        at += 2 + rows + plan[at + 1 + rows]


@jit
def _prepare(args: Any, x: int, plan: Any, helper: Any) -> int:
    """v̇, λ and all factors at a state; the number of free velocities, negative where there is no solution."""
    n, m = plan[NV], plan[M]
    slots = words(args[DESCRIPTOR], 10)
    slots[0], slots[1] = args[0], x
    if call(plan[ADDRESS_DESCRIPTOR], args[DESCRIPTOR]) != 0:
        return -1
    Mass, f, J, g = doubles(slots[3], n * n), doubles(slots[4], n), doubles(slots[5], m * n), doubles(slots[6], m)
    Z, a0, lu, ZM, reduced = _factors(args, plan)
    a, lam, dx, da, dt, change, right, gram = _memory(args, plan)
    if _drop(J, g, plan, gram[m * m :]) != 0:
        return -2
    free = eliminate(J, g, plan, helper, lu, Z, a0)
    if listed_accelerations(Mass, f, Z, a0, plan, helper, free, ZM, reduced, a) != 0:
        return -2
    _multipliers(Mass, f, J, a, n, m, gram, change, right, lam)
    _drop_again(lam, plan, gram[m * m :])
    tangent = words(args[TANGENT], 11)
    at = args[MEMORY] + 8 * plan[SCRATCH]
    tangent[0], tangent[1], tangent[3], tangent[4], tangent[5] = args[0], x, at, at + 8 * n, at + 8 * (n + m)
    at += 8 * (n + m + plan[NQ] + n + plan[NZ])
    tangent[6], tangent[7] = at, at + 8 * n
    for i in range(n):
        da[i] = 0.0
    for i in range(plan[NQ] + n + plan[NZ]):
        dx[i] = 0.0
    dt[0] = 0.0
    return free


@jit
def _change(args: Any, plan: Any, helper: Any, free: int) -> int:
    """δv̇ along the direction (δx, δt) in memory; 0 when the equations could be evaluated."""
    n, m = plan[NV], plan[M]
    if call(args[TANGENT_ADDRESS], args[TANGENT]) != 0:
        return -1
    Z, a0, lu, ZM, reduced = _factors(args, plan)
    _, _, _, _, _, change, right, gram = _memory(args, plan)
    tangent = words(args[TANGENT], 11)
    dr, dg = doubles(tangent[8], n), doubles(tangent[9], m)
    forced, moved = False, False  # most directions change few equations, many none at all
    for i in range(n):
        change[i] = -dr[i]
        forced = forced or dr[i] != 0.0
    for i in range(m):
        right[i] = -dg[i]
        moved = moved or dg[i] != 0.0
    if moved:
        _drop_again(right, plan, gram[m * m :])
        particular(right, plan, helper, lu, a0)
    elif forced:
        for j in range(n):
            a0[j] = 0.0
    if moved or forced:
        solve_again(change, Z, a0, plan, helper, free, ZM, reduced, change)
    return 0


@kernel
def state_derivatives(args: int) -> int:
    """∂ẋ/∂x, row by row, or ∂ẋ/∂t, as the arguments say."""
    slots = words(args, ARGUMENTS)
    plan = integers(slots[PLAN], HEAD)
    plan = integers(slots[PLAN], plan[LENGTH])
    n, nq, nz = plan[NV], plan[NQ], plan[NZ]
    helper = integers(slots[HELPER], plan[LENGTH] + n + 8)
    size, time = nq + n + nz, slots[BY] == BY_TIME
    free = _prepare(slots, slots[1], plan, helper)
    if free < 0:
        return -1 if free == -1 else 2
    _, _, dx, _, dt, change, _, _ = _memory(slots, plan)
    columns = 1 if time else size
    dt[0] = 1.0 if time else 0.0
    rates, out = doubles(words(slots[TANGENT], 11)[10], nq + nz), doubles(slots[2], size * columns)
    for j in range(columns):
        if not time:
            dx[j] = 1.0
        if _change(slots, plan, helper, free) != 0:
            return -1
        for i in range(nq):
            out[i * columns + j] = rates[i]
        for i in range(n):
            out[(nq + i) * columns + j] = change[i]
        for i in range(nz):
            out[(nq + n + i) * columns + j] = rates[nq + i]
        dx[j] = 0.0
    return 0


# --- independent coordinates -------------------------------------------------------------------------------------


@jit
def _dependent(J: Any, m: int, n: int, loose: Any, A: Any, order: Any) -> int:
    """Factors of the columns of J marked in ``loose``; order receives their number, then rows and columns in the order of the pivots."""
    count = 0
    for j in range(n):
        count += loose[j]
    at = 0
    for i in range(m):
        for j in range(n):
            if loose[j] == 1:
                A[at] = J[i * n + j]
                at += 1
    order[0] = count
    return lu_full(A, m, count, order[1 : 1 + m], order[1 + m :], 1e-10)


@jit
def _solve_dependent(b: Any, m: int, n: int, loose: Any, A: Any, order: Any, y: Any, d: Any) -> None:
    """d of the marked columns with J d = −b, the others zero."""
    count = order[0]
    for i in range(count):
        y[i] = -b[order[1 + i]]
        for k in range(i):
            y[i] -= A[i * count + k] * y[k]
    for i in range(count - 1, -1, -1):
        for k in range(i + 1, count):
            y[i] -= A[i * count + k] * y[k]
        y[i] /= A[i * count + i]
    k = 0
    for j in range(n):  # columns by their number among the marked ones
        d[j] = 0.0
        if loose[j] == 1:
            for i in range(count):
                if order[1 + m + i] == k:
                    d[j] = y[i]
            k += 1


def independent_room(plan: Any) -> tuple[int, int]:
    """Doubles and integers that the kernel below works with."""
    n, m = int(plan[NV]), int(plan[M])
    return 2 * m * n + 2 * n + m + 2, 2 * n + 2 * (1 + m + n) + 2


@kernel
def independent_derivatives(args: int) -> int:
    """∂ẋ_u/∂x_u, row by row, or ∂ẋ_u/∂t of independent coordinates, as the arguments say."""
    slots = words(args, ALL_ARGUMENTS)
    plan = integers(slots[PLAN], HEAD)
    plan = integers(slots[PLAN], plan[LENGTH])
    n, nq, nz, m, mh = plan[NV], plan[NQ], plan[NZ], plan[M], plan[HOLONOMIC]
    helper = integers(slots[HELPER], plan[LENGTH] + n + 8)
    expansion = words(slots[EXPANSION_ARGS], 3)
    expansion[0], expansion[1], expansion[2] = slots[0], slots[1], slots[STATE]
    status = call(slots[EXPANSION], slots[EXPANSION_ARGS])
    if status != 0:
        return status
    free = _prepare(slots, slots[STATE], plan, helper)
    if free < 0:
        return -1 if free == -1 else 2
    _, _, dx, _, dt, change, _, _ = _memory(slots, plan)
    nqu, nvu = slots[POSITIONS], slots[VELOCITIES]
    choice, places = integers(slots[CHOICE], nqu + nvu), integers(slots[PLACES], slots[LAYOUT_POSITIONS] + 2 * n)
    velocity_places, position_of = places[slots[LAYOUT_POSITIONS] :], places[slots[LAYOUT_POSITIONS] + n :]
    work, ints = doubles(slots[WORK], 2 * m * n + 2 * n + m + 2), integers(slots[INTEGERS], 2 * n + 2 * (1 + m + n) + 2)
    A, B, y, d = work[: m * n], work[m * n : 2 * m * n], work[2 * m * n : 2 * m * n + n], work[2 * m * n + n : 2 * m * n + 2 * n]
    loose, free_rates = ints[:n], ints[n : 2 * n]
    first, second = ints[2 * n : 3 * n + m + 1], ints[3 * n + m + 1 :]
    for j in range(n):
        loose[j], free_rates[j] = 1 if position_of[j] >= 0 else 0, 1
        for i in range(nqu):
            if places[choice[i]] == position_of[j]:
                loose[j] = 0
    for k in range(nvu):
        free_rates[velocity_places[choice[nqu + k]]] = 0
    closing = words(slots[CLOSING_POINTERS], 10)
    tangent, J = words(slots[TANGENT], 11), doubles(words(slots[DESCRIPTOR], 10)[5], m * n)
    for i in range(8):
        if i != 2:  # the inputs
            closing[i] = tangent[i]
    dh, dw = doubles(closing[8], mh), doubles(closing[9], m)
    if _dependent(J, mh, n, loose, A, first) < first[0] or _dependent(J, m, n, free_rates, B, second) < second[0]:
        return 4
    time = slots[BY] == BY_TIME
    size = nqu + nvu + nz
    columns = 1 if time else size
    dt[0] = 1.0 if time else 0.0
    rates, out = doubles(tangent[10], nq + nz), doubles(slots[2], size * columns)
    for c in range(columns):
        for i in range(nq + n + nz):
            dx[i] = 0.0
        if not time:
            if c < nqu:
                dx[places[choice[c]]] = 1.0
            elif c < nqu + nvu:
                dx[nq + velocity_places[choice[c]]] = 1.0
            else:
                dx[nq + n + c - nqu - nvu] = 1.0
        call(slots[CLOSING], slots[CLOSING_POINTERS])
        _solve_dependent(dh, mh, n, loose, A, first, y, d)
        for j in range(n):
            if loose[j] == 1:
                dx[position_of[j]] = d[j]
        call(slots[CLOSING], slots[CLOSING_POINTERS])
        _solve_dependent(dw, m, n, free_rates, B, second, y, d)
        for j in range(n):
            if free_rates[j] == 1:
                dx[nq + j] = d[j]
        if _change(slots, plan, helper, free) != 0:
            return -1
        for i in range(nqu):
            out[i * columns + c] = rates[places[choice[i]]]
        for k in range(nvu):
            out[(nqu + k) * columns + c] = change[velocity_places[choice[nqu + k]]]
        for i in range(nz):
            out[(nqu + nvu + i) * columns + c] = rates[nq + i]
    return 0


__all__ = ["BY_STATE", "BY_TIME", "independent_derivatives", "independent_room", "scratch_size", "state_derivatives"]
