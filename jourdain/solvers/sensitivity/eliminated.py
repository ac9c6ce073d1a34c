"""A constrained system at a point as derivatives need it: accelerations and multipliers by one elimination, whose factors serve all that is asked there.

M v̇ − Jᵀλ = f, J v̇ = g.  Multipliers follow from the factors by which rows of J are eliminated, further right-hand sides from these and from that of ZᵀM Z.
"""

from __future__ import annotations

from typing import Any

from ...native.call import address as at
from ...native.call import call, doubles, words
from ...native.kernel import hot, jit, kernel
from ...native.record import Address, Floats, Integers, Record
from ..constraints.accelerations import Constrained, constrained_solution, listed_accelerations, store_rates
from ..constraints.accelerations import solve_again as with_last_factors
from ..constraints.elimination import eliminate, particular
from ..linear.dense import inner, lu_full
from .field import Map
from .held import put_held

#: A pivot of J below this part of the first is that of a redundant row, as in the run.
RANK_TOLERANCE = 1e-5


class Linkage(Record):
    """A constrained system with the derivatives of its equations (r, e, q̇, ż) and of its constraints (h, w).

    ``motion`` maps have the slots (t, x, u, a, λ, …), ``closure`` maps (t, x, u, …).
    """

    system: Constrained
    #: a with M a − Jᵀλ = f, J a = g: slots (whether by the factors of the last one, f, g, a), linkage.
    solution: Map
    #: Whether its elimination leaves factors of all blocks of independent rows; whether it is that of a stage, whose point has been evaluated.
    by_blocks: int
    stage: int
    motion_push: Map
    motion_pull: Map
    closure_push: Map
    closure_pull: Map
    a: Floats
    lam: Floats
    mu: Floats
    nu: Floats
    right: Floats
    J: Floats
    g: Floats
    lu: Floats
    rows: Integers
    columns: Integers
    #: Of each of the independent rows the first one that shares columns with it.
    near: Integers
    gram: Floats
    small: Floats
    #: Directions that stand side by side in pushes.
    lanes: int
    #: Where rates at the point stand, if they are known.
    known: Integers
    #: v′ − v of an impulse M(v′ − v) = JᵀΛ in the projection; what changes of M and J do to it.
    impulse: Floats
    #: What the projection moves positions by, d = −Jᵀy.
    shift: Floats
    struck: Floats
    y: Floats  # changes, or weights, of (r, e, q̇, ż) or of (h, w)
    row: Floats  # of one direction
    change: Floats
    bar: Floats
    cbar: Floats
    nc: int
    #: User states and, behind them, ``held`` ones, which the equations read at ``places`` among the inputs.
    nz: int
    held: int
    places: Integers
    inputs: Floats
    dlam: Address
    lambar: Address


@jit
def terms(s: Linkage, t: int, x: int) -> int:
    """M, f, J and g at a point; J and g are kept, since elimination may change them."""
    d, plan = s.system.descriptor, s.system.elimination.plan
    put_held(x, plan.nq + plan.nv + s.nz - s.held, s.held, s.places, s.inputs)
    d.args[0], d.args[1] = t, x
    status = call(d.function, d.args)
    for i in range(d.J.size):
        s.J[i] = d.J[i]
    for i in range(d.g.size):
        s.g[i] = d.g[i]
    return status


@kernel
def solution(address: int) -> int:
    """A solution by any elimination, which changes J and g."""
    slots = words(address, 5)
    s = Linkage.at(slots[4])
    d, plan = s.system.descriptor, s.system.elimination.plan
    g = doubles(slots[2], plan.m)
    for i in range(d.J.size):
        d.J[i] = s.J[i]
    for i in range(d.g.size):
        d.g[i] = g[i]
    return constrained_solution(d.M, doubles(slots[1], plan.nv), d.J, d.g, s.system.elimination, doubles(slots[3], plan.nv))


@kernel
def solution_by_blocks(address: int) -> int:
    """The same where all rows are independent and are eliminated block by block."""
    slots = words(address, 5)
    s = Linkage.at(slots[4])
    e, n = s.system.elimination, s.system.elimination.plan.nv
    f, g, a = doubles(slots[1], n), doubles(slots[2], e.plan.m), doubles(slots[3], n)
    if slots[0] == 0:
        return listed_accelerations(s.system.descriptor.M, f, e, eliminate(s.J, g, e), a)
    free = n
    for k in range(len(e.plan.blocks)):
        free -= e.pivots.rank[k]
    particular(g, e)
    with_last_factors(f, e, free, a)
    return 0


@hot
def by_factors(s: Linkage, again: int, f: Any, g: Any, out: Any) -> int:
    """out with M a − Jᵀλ = f, J a = g; by the last factors if it is asked ``again``."""
    args = s.solution.args
    args[0], args[1], args[2], args[3] = again, at(f), at(g), at(out)
    return call(s.solution.function, args)


@jit
def solve(s: Linkage, f: Any, g: Any, out: Any) -> int:
    """out with M a − Jᵀλ = f, J a = g."""
    return by_factors(s, 0, f, g, out)


@jit
def solve_again(s: Linkage, f: Any, g: Any, out: Any) -> int:
    """The same by the factors of the last one, if there are any."""
    return by_factors(s, s.by_blocks, f, g, out)


@jit
def factor(s: Linkage) -> int:
    """Factors at the point of the last terms."""
    return solve(s, s.system.descriptor.f, s.g, s.mu) if s.by_blocks == 1 else 0


@jit
def independent_rows(s: Linkage, m: int) -> int:
    """Independent rows among the first m of J, by the last factors where they are of these; the rank."""
    e = s.system.elimination
    n, rank = e.plan.nv, 0
    if s.by_blocks == 1 and m == e.plan.m:
        for k in range(len(e.plan.blocks)):
            first = rank
            for i in range(e.pivots.rank[k]):
                s.rows[rank], s.near[rank] = e.pivots.rows[e.plan.blocks[k].row + i], first
                rank += 1
        return rank
    for i in range(m * n):
        s.lu[i] = s.J[i]
    rank = lu_full(s.lu, m, n, s.rows, s.columns, RANK_TOLERANCE)
    for i in range(rank):
        s.near[i] = 0
    return rank


@jit
def _by_rows(s: Linkage, rank: int, width: int, lu: Any, rows: Any, columns: Any, a: Any, f: Any, sign: float, lam: Any) -> None:
    """Multipliers of the rows that were pivots: (L U)ᵀλ = sign (M a − f) in the columns that were."""
    n, M, y = s.system.elimination.plan.nv, s.system.descriptor.M, s.small
    for i in range(rank):
        j = columns[i]
        total = sign * (inner(M[j * n :], a, n) - f[j])
        for k in range(i):
            total -= lu[k * width + i] * y[k]
        y[i] = total / lu[i * width + i]
    for i in range(rank - 1, -1, -1):
        for k in range(i + 1, rank):
            y[i] -= lu[k * width + i] * y[k]
    for i in range(rank):
        lam[rows[i]] = y[i]


@jit
def forces(s: Linkage, rank: int, a: Any, f: Any, sign: float, lam: Any) -> None:
    """λ with Jᵀλ = sign (M a − f) for the independent rows, zero for the others."""
    e = s.system.elimination
    for i in range(e.plan.m):
        lam[i] = 0.0
    if s.by_blocks == 0:
        _by_rows(s, rank, e.plan.nv, s.lu, s.rows, s.columns, a, f, sign, lam)
        return
    for k in range(len(e.plan.blocks)):
        block = e.plan.blocks[k]
        rows, columns, lu = e.pivots.rows[block.row :], e.pivots.columns[block.column :], e.space.factors[block.factors :]
        _by_rows(s, e.pivots.rank[k], block.columns, lu, rows, columns, a, f, sign, lam)


@jit
def take_known(s: Linkage) -> None:
    """Takes the accelerations of known rates."""
    plan = s.system.elimination.plan
    rates = doubles(s.known[0], plan.nq + plan.nv)
    for i in range(plan.nv):
        s.a[i] = rates[plan.nq + i]


@jit
def motion_at(s: Linkage, t: int, x: int) -> Any:
    """Accelerations and multipliers at a point, with factors; the status and the rank of J."""
    status, f = terms(s, t, x), s.system.descriptor.f
    if status == 0 and s.known[0] != 0:
        take_known(s)
        status = factor(s)
    elif status == 0:
        status = solve(s, f, s.g, s.a)
    rank = 0
    if status == 0:
        rank = independent_rows(s, s.system.elimination.plan.m)
        forces(s, rank, s.a, f, 1.0, s.lam)
    return status, rank


@jit
def place(args: Any, t: int, x: int, s: Linkage) -> None:
    args[0], args[1], args[3], args[4] = t, x, at(s.a), at(s.lam)


@kernel
def keep_rates(address: int) -> int:
    """ẋ at (t, x), with terms and factors for the pull of this point: slots (t, x, u, f), linkage."""
    slots = words(address, 5)
    s = Linkage.at(slots[4])
    d, plan = s.system.descriptor, s.system.elimination.plan
    nq, n = plan.nq, plan.nv
    out = doubles(slots[3], nq + n + s.nz)
    status = terms(s, slots[0], slots[1])
    if status == 0:
        status = solve(s, d.f, s.g, out[nq : nq + n])
    store_rates(d.rates, nq, n, plan.nz, out)
    for i in range(s.nz - s.held, s.nz):
        out[nq + n + i] = 0.0
    return status


@kernel
def balance(address: int) -> int:
    """λ at (t, x): slots (t, x, u, f, λ), linkage."""
    slots = words(address, 7)
    s = Linkage.at(slots[6])
    status, _ = motion_at(s, slots[0], slots[1])
    out = doubles(slots[4], s.system.elimination.plan.m)
    for i in range(s.system.elimination.plan.m):
        out[i] = s.lam[i]
    return status


__all__ = [
    "Linkage",
    "balance",
    "by_factors",
    "factor",
    "forces",
    "independent_rows",
    "keep_rates",
    "motion_at",
    "place",
    "solution",
    "solution_by_blocks",
    "solve",
    "solve_again",
    "take_known",
    "terms",
]
