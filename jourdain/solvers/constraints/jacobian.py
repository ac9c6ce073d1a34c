"""Exact ∂ẋ/∂x and ∂ẋ/∂t of a constrained system, by implicit differentiation of M v̇ = f + Jᵀλ, J v̇ = g.

A change of the state changes the residuals by δr = δ(M v̇ − f − Jᵀλ) and δg = δ(J v̇ − g) at constant v̇ and λ, so that
M δv̇ − Jᵀ δλ = −δr, J δv̇ = −δg: the factors found for the accelerations serve all columns.  Where constraints repeat one another,
the combinations Y that say nothing are taken out of δg as they are of g, and λ is the shortest (it has no part along Y).

In independent coordinates x_u the state is X(t, x_u); its changes follow from those of the constraints, J_D δq_D = −δh and
J_D δv_D = −δw, and a column of ∂ẋ_u/∂x_u is the change of Ẋ along them (the chain rule).  Where a quaternion is in a loop, x_u carries all
positions, and δq_D adds to what they change themselves: quaternions are brought to unit length, then turned by the dependent velocities.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...native.call import address, call, doubles
from ...native.kernel import jit, kernel
from ...native.record import Address, Floats, Integers, Record
from ..linear.dense import cholesky, cholesky_solve, inner, lu_full
from ..linear.redundant import drop_redundant
from ..linear.units import Units
from ..ode.frame import Arguments
from .accelerations import listed_accelerations, solve_again
from .elimination import Elimination, eliminate, elimination, particular
from .plan import Compiled, Plan
from .reduced import Choice
from .reduced import Plan as IndependentPlan

#: Rounds of refinement of λ, whose normal equations square the condition of J.
REFINEMENTS = 2


class TangentPointers(Record):
    """Where a compiled derivative finds its inputs."""

    t: Address
    x: Address
    u: Address
    a: Address
    lam: Address
    dx: Address
    da: Address
    dt: Address


class Tangent(Record):
    """A compiled derivative in a direction: its address, its arguments by name, and its results."""

    function: Address
    args: TangentPointers
    dr: Floats
    dg: Floats
    drates: Floats
    dh: Floats
    dw: Floats


class Derivatives(Record):
    """A constrained system with what its derivatives need: equations and their tangent, v̇ and λ, a direction (δx, δt) with δv̇, memory."""

    elimination: Elimination
    descriptor: Compiled
    tangent: Tangent
    a: Floats
    lam: Floats
    dx: Floats
    da: Floats
    dt: Floats
    change: Floats
    right: Floats
    gram: Floats
    Y: Floats  # combinations of rows that say nothing, block by block


class ByState(Record):
    """Arguments of :func:`state_derivatives`."""

    t: Address
    x: Address
    out: Address
    system: Derivatives
    by_time: int


@jit
def _multipliers(Mass: Any, f: Any, J: Any, a: Any, n: int, m: int, units: Any, gram: Any, force: Any, right: Any, lam: Any) -> None:
    """λ of Jᵀλ = M v̇ − f by normal equations, softened where constraints repeat one another, and refined."""
    largest, unit = 0.0, units.row
    for i in range(m):
        lam[i] = 0.0
        for k in range(i + 1):
            gram[i * m + k] = unit[i] * unit[k] * inner(J[i * n :], J[k * n :], n)
        largest = max(largest, gram[i * m + i])
    for i in range(m):
        gram[i * m + i] += 1e-13 * largest
    if cholesky(gram, m) != 0:
        return
    for _ in range(1 + REFINEMENTS):
        for j in range(n):
            force[j] = inner(Mass[j * n :], a, n) - f[j]
        for i in range(m):
            for j in range(n):
                force[j] -= J[i * n + j] * lam[i]
        for i in range(m):
            right[i] = unit[i] * inner(J[i * n :], force, n)
        cholesky_solve(gram, m, right)
        for i in range(m):
            lam[i] += unit[i] * right[i]


@jit
def _drop(J: Any, g: Any, plan: Any, units: Any, Y: Any) -> int:
    """Takes what redundant constraints say out of J and g; Y keeps the combinations of each block."""
    used = 0
    for k in range(len(plan.blocks)):
        block = plan.blocks[k]
        rows = block.rows
        excess = rows - block.rank
        if excess > 0:
            if drop_redundant(J, g, plan.nv, plan.rows[block.row : block.row + rows], excess, units, Y[used:]) != 0:
                return 1
            used += rows * (rows + excess)
    return 0


@jit
def _drop_again(g: Any, plan: Any, Y: Any, as_forces: bool) -> None:
    """The same for another g; ``as_forces`` for multipliers of what is left of the rows, which become those of the rows themselves."""
    used = 0
    for k in range(len(plan.blocks)):
        block = plan.blocks[k]
        rows, listed = block.rows, plan.rows[block.row :]
        excess = rows - block.rank
        for c in range(excess):
            told, taken, dot = used + rows * c, used + rows * (rows + c), 0.0
            if as_forces:
                told, taken = taken, told
            for i in range(rows):
                dot += Y[told + i] * g[listed[i]]
            for i in range(rows):
                g[listed[i]] -= dot * Y[taken + i]
        if excess > 0:
            used += rows * (rows + excess)


@jit
def _prepare(t: int, x: int, s: Any) -> int:
    """v̇, λ and all factors at a state; the number of free velocities, negative where there is no solution."""
    e, terms = s.elimination, s.descriptor
    plan, J, g = e.plan, terms.J, terms.g
    terms.args[0], terms.args[1] = t, x
    if call(terms.function, terms.args) != 0:
        return -1
    if _drop(J, g, plan, e.walk.units, s.Y) != 0:
        return -2
    free = eliminate(J, g, e)
    if listed_accelerations(terms.M, terms.f, e, free, s.a) != 0:
        return -2
    _multipliers(terms.M, terms.f, J, s.a, plan.nv, plan.m, e.walk.units, s.gram, s.change, s.right, s.lam)
    _drop_again(s.lam, plan, s.Y, True)
    given = s.tangent.args
    given.t, given.x, given.a, given.lam = t, x, address(s.a), address(s.lam)
    given.dx, given.da, given.dt = address(s.dx), address(s.da), address(s.dt)
    for i in range(s.da.size):
        s.da[i] = 0.0
    for i in range(s.dx.size):
        s.dx[i] = 0.0
    s.dt[0] = 0.0
    return free


@jit
def _change(s: Any, free: int) -> int:
    """δv̇ along the direction (δx, δt) in memory; 0 when the equations could be evaluated."""
    e, tangent, change, right = s.elimination, s.tangent, s.change, s.right
    if call(tangent.function, tangent.args) != 0:
        return -1
    forced, moved = False, False  # most directions change few equations, many none at all
    for i in range(e.plan.nv):
        change[i] = -tangent.dr[i]
        forced = forced or tangent.dr[i] != 0.0
    for i in range(e.plan.m):
        right[i] = -tangent.dg[i]
        moved = moved or tangent.dg[i] != 0.0
    if moved:
        _drop_again(right, e.plan, s.Y, False)
        particular(right, e)
    elif forced:
        for j in range(e.plan.nv):
            e.space.a0[j] = 0.0
    if moved or forced:
        solve_again(change, e, free, change)
    return 0


@kernel
def state_derivatives(args: int) -> int:
    """∂ẋ/∂x, row by row, or ∂ẋ/∂t, as the arguments say."""
    a = ByState.at(args)
    s, time = a.system, a.by_time == 1
    plan = s.elimination.plan
    n, nq, nz = plan.nv, plan.nq, plan.nz
    size = nq + n + nz
    free = _prepare(a.t, a.x, s)
    if free < 0:
        return -1 if free == -1 else 2
    columns = 1 if time else size
    s.dt[0] = 1.0 if time else 0.0
    rates, dx, change, out = s.tangent.drates, s.dx, s.change, doubles(a.out, size * columns)
    for j in range(columns):
        if not time:
            dx[j] = 1.0
        if _change(s, free) != 0:
            return -1
        for i in range(nq):
            out[i * columns + j] = rates[i]
        for i in range(n):
            out[(nq + i) * columns + j] = change[i]
        for i in range(nz):
            out[(nq + n + i) * columns + j] = rates[nq + i]
        dx[j] = 0.0
    return 0


def make_derivatives(plan: Plan, descriptor: Compiled, tangent: Tangent, units: Units | None = None) -> Derivatives:
    """A system with memory for its derivatives."""
    n, m = plan.nv, plan.m
    return Derivatives(
        elimination=elimination(plan, units=units), descriptor=descriptor, tangent=tangent, a=np.zeros(n), lam=np.zeros(m), dx=np.zeros(plan.nq + n + plan.nz),
        da=np.zeros(n), dt=np.zeros(1), change=np.zeros(n), right=np.zeros(m), gram=np.zeros(m * m), Y=np.zeros(2 * m * m),
    )  # fmt: skip


# --- independent coordinates -------------------------------------------------------------------------------------


class Dependents(Record):
    """Marked columns of J with their factors: how many they are, and rows and columns in the order of the pivots."""

    count: int
    marked: Integers
    rows: Integers
    columns: Integers
    factors: Floats


class Independent(Record):
    """A system in independent coordinates with what its derivatives need: the expansion to the full state X, the present choice, and the
    change of its constraints."""

    system: Derivatives
    expansion: Address
    expansion_args: Arguments
    X: Floats
    closing: Tangent
    choice: Choice
    plan: IndependentPlan
    # places in the whole system of positions and velocities that the choice numbers, and of the position that belongs to each velocity
    positions: Integers
    velocities: Integers
    position_of: Integers
    quaternions: Integers
    by_position: Dependents
    by_velocity: Dependents
    y: Floats
    d: Floats


class ByIndependent(Record):
    """Arguments of :func:`independent_derivatives`."""

    t: Address
    x: Address
    out: Address
    system: Independent
    by_time: int


@jit
def _factor(J: Any, m: int, n: int, s: Any) -> int:
    """Factors of the marked columns of J; their rank."""
    at, s.count = 0, 0
    for j in range(n):
        s.count += s.marked[j]
    for i in range(m):
        for j in range(n):
            if s.marked[j] == 1:
                s.factors[at] = J[i * n + j]
                at += 1
    return lu_full(s.factors, m, s.count, s.rows, s.columns, 1e-10)


@jit
def _solve(b: Any, s: Any, y: Any, d: Any) -> None:
    """d of the marked columns with J d = −b, the others zero."""
    count, A = s.count, s.factors
    for i in range(count):
        y[i] = -b[s.rows[i]]
        for k in range(i):
            y[i] -= A[i * count + k] * y[k]
    for i in range(count - 1, -1, -1):
        for k in range(i + 1, count):
            y[i] -= A[i * count + k] * y[k]
        y[i] /= A[i * count + i]
    k = 0
    for j in range(d.size):  # columns by their number among the marked ones
        d[j] = 0.0
        if s.marked[j] == 1:
            for i in range(count):
                if s.columns[i] == k:
                    d[j] = y[i]
            k += 1


@jit
def _mark(s: Any, n: int) -> None:
    """Marks columns whose positions and whose velocities follow from the independent ones."""
    choice, plan, loose, rates = s.choice, s.plan, s.by_position.marked, s.by_velocity.marked
    for j in range(n):  # those that are not in the plan are solved in closed form
        loose[j], rates[j] = 1, 1
    for j in range(plan.nv):
        loose[s.velocities[j]], rates[s.velocities[j]] = 0, 1 if choice.place[j] < 0 else 0
    for b in range(len(plan.blocks)):
        columns = choice.columns[plan.blocks[b].row :]
        for i in range(choice.holonomic[b]):
            loose[s.velocities[columns[i]]] = 1


@jit
def _complete(s: Any, dx: Any, n: int, nq: int) -> None:
    """Changes of dependent positions and velocities in a direction dx that holds those of the independent ones."""
    closing, d, X, turns = s.closing, s.d, s.X, s.quaternions
    for k in range(0, turns.size, 2):
        e, de = X[turns[k] :], dx[turns[k] :]
        along = e[0] * de[0] + e[1] * de[1] + e[2] * de[2] + e[3] * de[3]
        for i in range(4):
            de[i] -= along * e[i]
    call(closing.function, closing.args)
    _solve(closing.dh, s.by_position, s.y, d)
    for j in range(n):
        if s.by_position.marked[j] == 1 and s.position_of[j] >= 0:
            dx[s.position_of[j]] += d[j]
    for k in range(0, turns.size, 2):
        e, de, w = X[turns[k] :], dx[turns[k] :], d[turns[k + 1] :]
        de[0] -= 0.5 * (e[1] * w[0] + e[2] * w[1] + e[3] * w[2])
        de[1] += 0.5 * (e[0] * w[0] + e[2] * w[2] - e[3] * w[1])
        de[2] += 0.5 * (e[0] * w[1] + e[3] * w[0] - e[1] * w[2])
        de[3] += 0.5 * (e[0] * w[2] + e[1] * w[1] - e[2] * w[0])
    call(closing.function, closing.args)
    _solve(closing.dw, s.by_velocity, s.y, d)
    for j in range(n):
        if s.by_velocity.marked[j] == 1:
            dx[nq + j] = d[j]


@kernel
def independent_derivatives(args: int) -> int:
    """∂ẋ_u/∂x_u, row by row, or ∂ẋ_u/∂t of independent coordinates, as the arguments say."""
    a = ByIndependent.at(args)
    s, time = a.system, a.by_time == 1
    whole, choice, expansion = s.system, s.choice, s.expansion_args
    plan = whole.elimination.plan
    n, nq, nz, m, mh = plan.nv, plan.nq, plan.nz, plan.m, plan.holonomic
    expansion.t, expansion.x, expansion.out = a.t, a.x, address(s.X)
    status = call(s.expansion, expansion)
    if status != 0:
        return status
    free = _prepare(a.t, address(s.X), whole)
    if free < 0:
        return -1 if free == -1 else 2
    _mark(s, n)
    given, closing, J = whole.tangent.args, s.closing.args, whole.descriptor.J
    closing.t, closing.x, closing.a, closing.lam = given.t, given.x, given.a, given.lam
    closing.dx, closing.da, closing.dt = given.dx, given.da, given.dt
    if _factor(J, mh, n, s.by_position) < s.by_position.count or _factor(J, m, n, s.by_velocity) < s.by_velocity.count:
        return 4
    nqu, nvu = choice.positions.size, choice.velocities.size
    size = nqu + nvu + nz
    columns = 1 if time else size
    whole.dt[0] = 1.0 if time else 0.0
    rates, dx, change, out = whole.tangent.drates, whole.dx, whole.change, doubles(a.out, size * columns)
    for c in range(columns):
        for i in range(nq + n + nz):
            dx[i] = 0.0
        if not time:
            if c < nqu:
                dx[s.positions[choice.positions[c]]] = 1.0
            elif c < nqu + nvu:
                dx[nq + s.velocities[choice.velocities[c - nqu]]] = 1.0
            else:
                dx[nq + n + c - nqu - nvu] = 1.0
        _complete(s, dx, n, nq)
        if _change(whole, free) != 0:
            return -1
        for i in range(nqu):
            out[i * columns + c] = rates[s.positions[choice.positions[i]]]
        for k in range(nvu):
            out[(nqu + k) * columns + c] = change[s.velocities[choice.velocities[k]]]
        for i in range(nz):
            out[(nqu + nvu + i) * columns + c] = rates[nq + i]
    return 0


def dependents(m: int, n: int) -> Dependents:
    """Memory for the factors of some columns of J."""
    rows, columns, marked = (np.zeros(k, dtype=np.int64) for k in (m, n, n))
    return Dependents(rows=rows, columns=columns, marked=marked, factors=np.zeros(m * n))


def make_independent(system: Derivatives, **fields: Any) -> Independent:
    """A system in independent coordinates with memory for its derivatives."""
    plan = system.elimination.plan
    n = plan.nv
    return Independent(
        system=system, X=np.zeros(plan.nq + n + plan.nz), by_position=dependents(plan.holonomic, n), by_velocity=dependents(plan.m, n),
        y=np.zeros(n), d=np.zeros(n), **fields,
    )  # fmt: skip


__all__ = [
    "ByIndependent", "ByState", "Derivatives", "Independent", "Tangent", "TangentPointers", "independent_derivatives", "make_derivatives",
    "make_independent", "state_derivatives",
]  # fmt: skip
