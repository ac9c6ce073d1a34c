"""Accelerations of constrained systems in native code: M v̇ = f + Jᵀλ, J v̇ = g.

Elimination leaves v̇ = Z v̇_u + a₀; what remains is the mass matrix reduced to the independent velocities, ZᵀM Z v̇_u = Zᵀ(f − M a₀).
"""

from __future__ import annotations

from typing import Any

from ...native.call import call, doubles
from ...native.kernel import jit, kernel
from ...native.record import Address, Integers, Record
from ..linear.dense import cholesky, cholesky_solve, inner
from ..linear.fronts import eliminate_by_fronts
from ..linear.redundant import drop_redundant
from .elimination import RANK_TOLERANCE, Elimination, eliminate
from .plan import Compiled


class Constrained(Record):
    """A constrained system: how it is eliminated, and its compiled functions."""

    elimination: Elimination
    descriptor: Compiled
    position: Compiled
    velocity: Compiled
    quaternions: Integers  # (index in q, index in v) of each


class Arguments(Record):
    """Arguments of the kernels of a constrained system."""

    t: Address
    x: Address
    out: Address
    system: Constrained


@jit
def _rows_of_mass(Mass: Any, f: Any, e: Any, right: Any) -> None:
    """ZᵀM and Zᵀf, whole rows of M."""
    space, n, ZM = e.space, e.plan.nv, e.ZM
    number, lists, Z = space.number, space.members, space.Z
    for j in range(n):
        u = number[j]
        if u >= 0:
            right[u] = f[j]
            for k in range(n):
                ZM[u * n + k] = Mass[j * n + k]
    for j in range(n):
        if number[j] < 0:
            members = lists[space.begin[j] :]
            for i in range(space.count[j]):
                u, z = members[i], Z[space.row[j] + i]
                right[u] += z * f[j]
                for k in range(n):
                    ZM[u * n + k] += z * Mass[j * n + k]


@jit
def _by_rows_of_mass(Mass: Any, f: Any, e: Any, free: int, right: Any) -> None:
    """ZᵀM Z and Zᵀ(f − M a₀): rows of M are added up first, then the columns of ZᵀM."""
    space, n, ZM, reduced = e.space, e.plan.nv, e.ZM, e.reduced
    number, begin, count, lists, Z, a0 = space.number, space.begin, space.count, space.members, space.Z, space.a0
    _rows_of_mass(Mass, f, e, right)
    for u in range(free):
        line, sums = ZM[u * n : u * n + n], reduced[u * free : u * free + free]
        for w in range(free):
            sums[w] = 0.0
        for j in range(n):
            entry = line[j]
            w = number[j]
            if w >= 0:
                sums[w] += entry
            else:
                members = lists[begin[j] :]
                right[u] -= entry * a0[j]
                for i in range(count[j]):
                    sums[members[i]] += entry * Z[space.row[j] + i]


@jit
def _by_entries_of_mass(Mass: Any, f: Any, e: Any, free: int, right: Any) -> None:
    """The same with those entries of M alone that may differ from zero: M Z, whose rows are then added to ZᵀM Z."""
    space, n, MZ, mass, reduced = e.space, e.plan.nv, e.ZM, e.plan.mass, e.reduced
    begin, count, lists, row, Z, a0 = space.begin, space.count, space.members, space.row, space.Z, space.a0
    for i in range(n * free):
        MZ[i] = 0.0
    for i in range(free * free + free):
        reduced[i] = 0.0
    for j in range(n):
        for i in range(count[j]):
            u, z = lists[begin[j] + i], Z[row[j] + i]
            right[u] += z * f[j]
            for p in range(mass.begin[j], mass.begin[j + 1]):
                MZ[mass.columns[p] * free + u] += z * Mass[mass.places[p]]
    for j in range(n):
        line, a = j * free, a0[j]
        for u in range(free):
            right[u] -= MZ[line + u] * a
        for i in range(count[j]):
            w, z = lists[begin[j] + i], Z[row[j] + i]
            sums = w * free
            for u in range(w + 1):
                reduced[sums + u] += z * MZ[line + u]


@jit
def _all_velocities(e: Any, right: Any, a: Any) -> None:
    """a = Z a_u + a₀."""
    space, n = e.space, e.plan.nv
    Z, a0 = space.Z, space.a0
    for i in range(n):
        total = a0[i]
        members = space.members[space.begin[i] :]
        for k in range(space.count[i]):
            total += Z[space.row[i] + k] * right[members[k]]
        a[i] = total


@jit
def listed_accelerations(Mass: Any, f: Any, e: Any, free: int, a: Any) -> int:
    """v̇ = Z (ZᵀM Z)⁻¹ Zᵀ(f − M a₀) + a₀ with Z by lists (see :func:`eliminate`); 0 when ZᵀM Z is positive definite."""
    reduced = e.reduced
    right = reduced[free * free :]
    if e.plan.mass.begin.size > 0:
        _by_entries_of_mass(Mass, f, e, free, right)
    else:
        _by_rows_of_mass(Mass, f, e, free, right)
    if cholesky(reduced, free) != 0:
        return 1
    cholesky_solve(reduced, free, right)
    _all_velocities(e, right, a)
    return 0


@jit
def solve_again(f: Any, e: Any, free: int, a: Any) -> None:
    """Another right-hand side f, a₀ with the factors that :func:`listed_accelerations` left; f and a may be one array."""
    space, n, ZM, reduced = e.space, e.plan.nv, e.ZM, e.reduced
    Z, a0 = space.Z, space.a0
    right = reduced[free * free :]
    if e.plan.mass.begin.size > 0:
        for u in range(free):
            right[u] = 0.0
        for j in range(n):
            for u in range(free):
                right[u] -= ZM[j * free + u] * a0[j]
    else:
        for u in range(free):
            right[u] = -inner(ZM[u * n :], a0, n)
    for j in range(n):
        members, force = space.members[space.begin[j] :], f[j]
        for i in range(space.count[j]):
            right[members[i]] += Z[space.row[j] + i] * force
    cholesky_solve(reduced, free, right)
    _all_velocities(e, right, a)


@jit
def reduced_accelerations(Mass: Any, f: Any, Z: Any, a0: Any, n: int, free: int, MZ: Any, reduced: Any, a: Any) -> int:
    """v̇ = Z (ZᵀM Z)⁻¹ Zᵀ(f − M a₀) + a₀; 0 when the reduced mass matrix is positive definite."""
    for i in range(n):
        for k in range(free):
            MZ[i * free + k] = 0.0
        rest = f[i]
        for j in range(n):
            entry = Mass[i * n + j]
            if entry != 0.0:
                rest -= entry * a0[j]
                for k in range(free):
                    MZ[i * free + k] += entry * Z[j * free + k]
        MZ[n * free + i] = rest
    for k in range(free * free):
        reduced[k] = 0.0
    right = reduced[free * free :]
    for k in range(free):
        right[k] = 0.0
    for i in range(n):
        rest = MZ[n * free + i]
        for k in range(free):
            z = Z[i * free + k]
            if z != 0.0:
                right[k] += z * rest
                for j in range(k + 1):
                    reduced[k * free + j] += z * MZ[i * free + j]
    if cholesky(reduced, free) != 0:
        return 1
    cholesky_solve(reduced, free, right)
    for i in range(n):
        total = a0[i]
        for k in range(free):
            total += Z[i * free + k] * right[k]
        a[i] = total
    return 0


@jit
def constrained_solution(Mass: Any, f: Any, J: Any, g: Any, e: Any, a: Any) -> int:
    """a with M a = f + Jᵀλ, J a = g; J and g are changed where constraints are redundant, a may be f.  0 when the solution exists."""
    plan = e.plan
    for k in range(len(plan.blocks)):
        block = plan.blocks[k]
        if block.rank < block.rows:
            rows = plan.rows[block.row : block.row + block.rows]
            if drop_redundant(J, g, plan.nv, rows, block.rows - block.rank, e.walk.units, e.work) != 0:
                return 1
    if len(plan.fronts.each) > 0:
        free = eliminate_by_fronts(J, plan.entries, g, plan.m, plan.fronts, RANK_TOLERANCE, False, e.walk, e.space)
    else:
        free = eliminate(J, g, e)
    return listed_accelerations(Mass, f, e, free, a)


@jit
def store_rates(rates: Any, nq: int, n: int, nz: int, xdot: Any) -> None:
    """q̇ and ż beside the accelerations in ẋ = (q̇, v̇, ż)."""
    for i in range(nq):
        xdot[i] = rates[i]
    for i in range(nz):
        xdot[nq + n + i] = rates[nq + i]


@kernel
def constrained_state_derivative(args: int) -> int:
    """ẋ of a constrained system."""
    a = Arguments.at(args)
    s = a.system
    plan, terms = s.elimination.plan, s.descriptor
    n, nq, nz = plan.nv, plan.nq, plan.nz
    terms.args[0], terms.args[1] = a.t, a.x
    if call(terms.function, terms.args) != 0:
        return -1
    xdot = doubles(a.out, nq + n + nz)
    if constrained_solution(terms.M, terms.f, terms.J, terms.g, s.elimination, xdot[nq : nq + n]) != 0:
        return 2
    store_rates(terms.rates, nq, n, nz, xdot)
    return 0


__all__ = [
    "Arguments",
    "Constrained",
    "constrained_solution",
    "constrained_state_derivative",
    "listed_accelerations",
    "reduced_accelerations",
    "solve_again",
    "store_rates",
]
