"""Derivatives of constrained motion: accelerations found by elimination, and the projection of states after a step.

M v̇ − Jᵀλ = f, J v̇ = g has a symmetric matrix.  With r = M v̇ − Jᵀλ − f and e = J v̇ − g the changes are
M dv̇ − Jᵀdλ = −dr, J dv̇ = −de, and weights (v̄, λ̄) of (v̇, λ) are found by the same elimination: M μ + Jᵀν = v̄, J μ = −λ̄; they are −μ of r
and −ν of e.  So nothing is inverted that the run does not factorise.
"""

from __future__ import annotations

from typing import Any

from ...native.call import address as at
from ...native.call import call, doubles, words
from ...native.kernel import hot, jit, kernel
from ..linear.dense import cholesky, cholesky_solve, inner
from .eliminated import Linkage, by_factors, factor, forces, independent_rows, motion_at, place, solve, solve_again, take_known, terms


@hot
def _lane(of: Any, first: int, count: int, lanes: int, k: int, factor: float, out: Any) -> None:
    """One direction of those that stand side by side, times a factor."""
    for i in range(count):
        out[i] = factor * of[(first + i) * lanes + k]


@hot
def _into_lane(of: Any, count: int, lanes: int, k: int, out: Any, first: int) -> None:
    for i in range(count):
        out[(first + i) * lanes + k] = of[i]


@kernel
def push(address: int) -> int:
    """df for changes (dt, dx) and dc: slots (t, x, u, d, dc, df), linkage; the changes of λ go to ``dlam``."""
    slots = words(address, 7)
    s = Linkage.at(slots[6])
    plan, y, args, lanes = s.system.elimination.plan, s.y, s.motion_push.args, s.lanes
    n, m, nq, nz = plan.nv, plan.m, plan.nq, s.nz
    status, rank = motion_at(s, slots[0], slots[1])
    if status != 0:
        return status
    place(args, slots[0], slots[1], s)
    args[5], args[6], args[7] = slots[3], slots[4], at(y)
    status = call(s.motion_push.function, args)
    out, dlam, row = doubles(slots[5], (nq + n + nz) * lanes), doubles(s.dlam, m * lanes), s.row
    for k in range(lanes):
        if status == 0:
            _lane(y, 0, n + m, lanes, k, -1.0, row)
            status = solve_again(s, row[:n], row[n : n + m], s.mu)
            forces(s, rank, s.mu, row, 1.0, s.nu)
            _into_lane(s.nu, m, lanes, k, dlam, 0)
            _into_lane(s.mu, n, lanes, k, out, nq)
    for i in range(nq * lanes):
        out[i] = y[(n + m) * lanes + i]
    for i in range(nz * lanes):
        out[(nq + n) * lanes + i] = y[(n + m + nq) * lanes + i]
    return status


@kernel
def pull(address: int) -> int:
    """Weights of (t, x) and of the constants for weights of f, and those of λ in ``lambar``, which are used up: slots (t, x, u, w, bar, c̄), linkage."""
    slots = words(address, 7)
    s = Linkage.at(slots[6])
    plan, y, args = s.system.elimination.plan, s.y, s.motion_pull.args
    n, m, nq, nz = plan.nv, plan.m, plan.nq, s.nz
    status, f, known = 0, s.system.descriptor.f, s.known[0] != 0
    if s.stage == 0:
        status = terms(s, slots[0], slots[1])
    w, lambar = doubles(slots[3], nq + n + nz), doubles(s.lambar, m)
    if status == 0 and known:
        take_known(s)
    elif status == 0:
        status = solve(s, f, s.g, s.a)
    for i in range(m):
        s.nu[i] = -lambar[i]
        lambar[i] = 0.0
    if status == 0:
        status = by_factors(s, 0 if known and s.stage == 0 else s.by_blocks, w[nq : nq + n], s.nu, s.mu)
    if status != 0:
        return status
    rank = independent_rows(s, m)
    forces(s, rank, s.a, f, 1.0, s.lam)
    forces(s, rank, s.mu, w[nq : nq + n], -1.0, s.nu)
    for i in range(n):
        y[i] = -s.mu[i]
    for i in range(m):
        y[n + i] = -s.nu[i]
    for i in range(nq):
        y[n + m + i] = w[i]
    for i in range(nz):
        y[n + m + nq + i] = w[nq + n + i]
    place(args, slots[0], slots[1], s)
    args[5], args[6], args[7] = at(y), slots[4], slots[5]
    return call(s.motion_pull.function, args)


# -- projection -------------------------------------------------------------------------------------------------------


@jit
def _turned(d: Any, q: Any, s: Linkage, out: Any) -> None:
    """out += E(q) d: a displacement along the velocities as one of the positions."""
    nq, turns = s.system.elimination.plan.nq, s.system.quaternions
    iq, iv, k = 0, 0, 0
    while iq < nq:
        if k < turns.size and turns[k] == iq:
            x, y, z = 0.5 * d[iv], 0.5 * d[iv + 1], 0.5 * d[iv + 2]
            e0, e1, e2, e3 = q[iq], q[iq + 1], q[iq + 2], q[iq + 3]
            out[iq] -= e1 * x + e2 * y + e3 * z
            out[iq + 1] += e0 * x + e2 * z - e3 * y
            out[iq + 2] += e0 * y + e3 * x - e1 * z
            out[iq + 3] += e0 * z + e1 * y - e2 * x
            iq, iv, k = iq + 4, iv + 3, k + 2
        else:
            out[iq] += d[iv]
            iq, iv = iq + 1, iv + 1


@jit
def turned_back(w: Any, q: Any, s: Linkage, out: Any) -> None:
    """out = E(q)ᵀ w."""
    nq, turns = s.system.elimination.plan.nq, s.system.quaternions
    iq, iv, k = 0, 0, 0
    while iq < nq:
        if k < turns.size and turns[k] == iq:
            e0, e1, e2, e3 = q[iq], q[iq + 1], q[iq + 2], q[iq + 3]
            w0, w1, w2, w3 = w[iq], w[iq + 1], w[iq + 2], w[iq + 3]
            out[iv] = 0.5 * (-e1 * w0 + e0 * w1 + e3 * w2 - e2 * w3)
            out[iv + 1] = 0.5 * (-e2 * w0 - e3 * w1 + e0 * w2 + e1 * w3)
            out[iv + 2] = 0.5 * (-e3 * w0 + e2 * w1 - e1 * w2 + e0 * w3)
            iq, iv, k = iq + 4, iv + 3, k + 2
        else:
            out[iv] = w[iq]
            iq, iv = iq + 1, iv + 1


@jit
def length_before(s: Linkage, q: Any, i: int) -> float:
    """The length of the quaternion at i before the projection; turning does not change it to first order."""
    return 1.0 - (s.shift[i] * q[i] + s.shift[i + 1] * q[i + 1] + s.shift[i + 2] * q[i + 2] + s.shift[i + 3] * q[i + 3])


@jit
def across(w: Any, q: Any, s: Linkage) -> None:
    """Takes what is along unit quaternions out of a row."""
    turns = s.system.quaternions
    for k in range(0, turns.size, 2):
        i = turns[k]
        along = w[i] * q[i] + w[i + 1] * q[i + 1] + w[i + 2] * q[i + 2] + w[i + 3] * q[i + 3]
        for j in range(4):
            w[i + j] -= along * q[i + j]


@jit
def levelled(w: Any, q: Any, s: Linkage) -> None:
    """Takes what is along unit quaternions out of a row: the (symmetric) derivative of bringing them to length one, (I − e eᵀ)/l."""
    turns = s.system.quaternions
    across(w, q, s)
    for k in range(0, turns.size, 2):
        length = length_before(s, q, turns[k])
        for j in range(4):
            w[turns[k] + j] /= length


@jit
def gram(s: Linkage, rank: int) -> int:
    """The factor of J Jᵀ of the independent rows."""
    n = s.system.elimination.plan.nv
    for i in range(rank):
        for k in range(s.near[i]):
            s.gram[i * rank + k] = 0.0
        for k in range(s.near[i], i + 1):
            s.gram[i * rank + k] = inner(s.J[s.rows[i] * n :], s.J[s.rows[k] * n :], n)
    return cholesky(s.gram, rank)


@jit
def _shortest(s: Linkage, rank: int, h: Any, d: Any) -> None:
    """d = Jᵀ(J Jᵀ)⁻¹h of the independent rows."""
    n, y = s.system.elimination.plan.nv, s.small
    for i in range(rank):
        y[i] = h[s.rows[i]]
    cholesky_solve(s.gram, rank, y)
    for j in range(n):
        total = 0.0
        for i in range(rank):
            total += s.J[s.rows[i] * n + j] * y[i]
        d[j] = total


@jit
def shortest_back(s: Linkage, rank: int, m: int, d: Any, h: Any) -> None:
    """h = (J Jᵀ)⁻¹J d of the independent rows, zero for the others."""
    n, y = s.system.elimination.plan.nv, s.small
    for i in range(rank):
        total = 0.0
        for j in range(n):
            total += s.J[s.rows[i] * n + j] * d[j]
        y[i] = total
    cholesky_solve(s.gram, rank, y)
    for i in range(m):
        h[i] = 0.0
    for i in range(rank):
        h[s.rows[i]] = y[i]


@jit
def _push_closure(s: Linkage, slots: Any) -> int:
    """Changes of (h, w) for those in ``change``."""
    args = s.closure_push.args
    args[0], args[1], args[3], args[4], args[5] = slots[0], slots[1], at(s.change), slots[4], at(s.y)
    return call(s.closure_push.function, args)


@jit
def _pull_closure(s: Linkage, slots: Any, cbar: Any) -> int:
    """Adds the weights of (t, x) and of the constants for those of (h, w) in ``y`` to ``change`` and ``cbar``."""
    args, plan = s.closure_pull.args, s.system.elimination.plan
    args[0], args[1], args[3], args[4], args[5] = slots[0], slots[1], at(s.y), at(s.bar), at(s.cbar)
    status = call(s.closure_pull.function, args)
    for i in range(1 + plan.nq + plan.nv + s.nz):
        s.change[i] += s.bar[i]
    for i in range(s.nc):
        cbar[i] += s.cbar[i]
    return status


@jit
def strikes(s: Linkage, rank: int) -> bool:
    """Whether the projection has an impulse of finite size; then it is the acceleration, and Λ the multipliers, of the equations of motion."""
    n = s.system.elimination.plan.nv
    most = 0.0
    for i in range(n):
        most = max(most, abs(s.impulse[i]))
        s.right[i] = 0.0
    if most == 0.0:
        return False
    for i in range(n):
        s.a[i] = s.impulse[i]
    forces(s, rank, s.a, s.right, 1.0, s.lam)
    return True


@jit
def still(s: Linkage) -> None:
    """Neither accelerations nor multipliers: what the equations of motion have besides them."""
    for i in range(s.a.size):
        s.a[i] = 0.0
    for i in range(s.lam.size):
        s.lam[i] = 0.0


@jit
def change_with_forces(s: Linkage, count: int) -> int:
    """Changes of the balance with the accelerations and multipliers that stand there, less those without: in ``struck``; none stand there behind it."""
    args = s.motion_push.args
    status = call(s.motion_push.function, args)
    for i in range(count):
        s.struck[i] = s.y[i]
    still(s)
    if status == 0:
        status = call(s.motion_push.function, args)
    for i in range(count):
        s.struck[i] -= s.y[i]
    return status


@jit
def _weigh_with_forces(s: Linkage, size: int, cbar: Any) -> int:
    """Adds the weights of the state (to ``change``) and constants for those of the balance, with what stands there less those without."""
    args = s.motion_pull.args
    status, sign = call(s.motion_pull.function, args), 1.0
    for _ in range(2):
        for i in range(size):
            s.change[i] += sign * s.bar[i]
        for i in range(s.nc):
            cbar[i] += sign * s.cbar[i]
        if sign > 0.0:
            still(s)
            sign = -1.0
            if status == 0:
                status = call(s.motion_pull.function, args)
    return status


@jit
def _push_struck(s: Linkage, slots: Any, rank: int) -> int:
    """(dM)(v′ − v) − (dJ)ᵀΛ in all directions of ``change``: the equations of motion are affine in accelerations and multipliers."""
    count, args = s.system.elimination.plan.nv * s.lanes, s.motion_push.args
    if not strikes(s, rank):
        for i in range(count):
            s.struck[i] = 0.0
        return 0
    place(args, slots[0], slots[1], s)
    args[5], args[6], args[7] = at(s.change), slots[4], at(s.y)
    return change_with_forces(s, count)


@jit
def _pull_struck(s: Linkage, slots: Any, rank: int, cbar: Any) -> int:
    """Adds −μᵀ((dM)(v′ − v) − (dJ)ᵀΛ) for the weights −μ of the balance in ``y``."""
    args, plan = s.motion_pull.args, s.system.elimination.plan
    if not strikes(s, rank):
        return 0
    place(args, slots[0], slots[1], s)
    args[5], args[6], args[7] = at(s.y), at(s.bar), at(s.cbar)
    return _weigh_with_forces(s, 1 + plan.nq + plan.nv + s.nz, cbar)


@jit
def moves(s: Linkage, q: Any, rank: int) -> bool:
    """Whether the projection has moved positions by a displacement d = −Jᵀy of finite size; then y is λ, and d the changes of velocities ``right``."""
    nq = s.system.elimination.plan.nq
    most, turns = 0.0, s.system.quaternions
    for i in range(nq):
        most = max(most, abs(s.shift[i]))
    if most == 0.0:
        return False
    turned_back(s.shift, q, s, s.right)
    for k in range(0, turns.size, 2):
        for j in range(3):
            s.right[turns[k + 1] + j] *= 4.0
    still(s)
    shortest_back(s, rank, s.lam.size, s.right, s.lam)
    for i in range(s.lam.size):
        s.lam[i] = -s.lam[i]
    return True


@jit
def carried(row: Any, d: Any, s: Linkage, sign: float) -> None:
    """Quaternions in a row turned on by a displacement as the projection turns: e ↦ e (1, d/2)."""
    turns = s.system.quaternions
    for k in range(0, turns.size, 2):
        i, j = turns[k], turns[k + 1]
        x, y, z = 0.5 * sign * d[j], 0.5 * sign * d[j + 1], 0.5 * sign * d[j + 2]
        e0, e1, e2, e3 = row[i], row[i + 1], row[i + 2], row[i + 3]
        row[i] = e0 - (e1 * x + e2 * y + e3 * z)
        row[i + 1] = e1 + e0 * x + e2 * z - e3 * y
        row[i + 2] = e2 + e0 * y + e3 * x - e1 * z
        row[i + 3] = e3 + e0 * z + e1 * y - e2 * x


@jit
def _push_moved(s: Linkage, slots: Any, x: Any, rank: int) -> int:
    """Adds E (dJ)ᵀy with the sign of d = −Jᵀy to positions in all directions of ``change``: the balance is affine in multipliers."""
    plan, args, lanes = s.system.elimination.plan, s.motion_push.args, s.lanes
    n, nq = plan.nv, plan.nq
    if not moves(s, x, rank):
        return 0
    place(args, slots[0], slots[1], s)
    args[5], args[6], args[7] = at(s.change), slots[4], at(s.y)
    status = change_with_forces(s, n * lanes)
    for k in range(lanes):
        _lane(s.change, 1, nq, lanes, k, 1.0, s.row)
        carried(s.row, s.right, s, 1.0)
        across(s.row, x, s)
        _lane(s.struck, 0, n, lanes, k, 1.0, s.mu)
        _turned(s.mu, x, s, s.row)
        _into_lane(s.row, nq, lanes, k, s.change, 1)
    return status


@jit
def _pull_moved(s: Linkage, slots: Any, x: Any, rank: int, cbar: Any) -> int:
    """Walks weights back over what :func:`_push_moved` does."""
    plan, args = s.system.elimination.plan, s.motion_pull.args
    size = 1 + plan.nq + plan.nv + s.nz
    if not moves(s, x, rank):
        return 0
    for i in range(s.y.size):
        s.y[i] = 0.0
    turned_back(s.change[1:], x, s, s.y)
    across(s.change[1:], x, s)
    carried(s.change[1:], s.right, s, -1.0)
    place(args, slots[0], slots[1], s)
    args[5], args[6], args[7] = at(s.y), at(s.bar), at(s.cbar)
    return _weigh_with_forces(s, size, cbar)


@kernel
def push_projection(address: int) -> int:
    """Changes of the projected state: slots (t, x, u, (dt, dx), dc, dx), linkage; x is the projected one."""
    slots = words(address, 7)
    s = Linkage.at(slots[6])
    plan, lanes, row = s.system.elimination.plan, s.lanes, s.row
    nq, n, m, mh = plan.nq, plan.nv, plan.m, plan.holonomic
    size = nq + n + s.nz
    given, out, x = doubles(slots[3], (1 + size) * lanes), doubles(slots[5], size * lanes), doubles(slots[1], size)
    change = s.change
    for i in range((1 + size) * lanes):
        change[i] = given[i]
    for k in range(lanes):
        _lane(change, 1, nq, lanes, k, 1.0, row)
        levelled(row, x, s)
        _into_lane(row, nq, lanes, k, change, 1)
    status = 0
    if m > 0:
        status = terms(s, slots[0], slots[1])
    if m > 0 and status == 0:
        status = factor(s)
    if mh > 0 and status == 0:
        rank = independent_rows(s, mh)
        status = gram(s, rank)
        if status == 0:
            status = _push_moved(s, slots, x, rank)
        if status == 0:
            status = _push_closure(s, slots)
        for k in range(lanes):
            _lane(s.y, 0, mh, lanes, k, -1.0, row)
            _shortest(s, rank, row, s.mu)
            _lane(change, 1, nq, lanes, k, 1.0, row)
            _turned(s.mu, x, s, row)
            _into_lane(row, nq, lanes, k, change, 1)
    if m > 0 and status == 0:
        status = _push_struck(s, slots, independent_rows(s, m))
        if status == 0:
            status = _push_closure(s, slots)
        for k in range(lanes):
            if status == 0:
                _lane(s.struck, 0, n, lanes, k, -1.0, s.right)
                _lane(s.y, mh, m, lanes, k, -1.0, s.nu)
                status = solve_again(s, s.right, s.nu, s.mu)
                for i in range(n):
                    change[(1 + nq + i) * lanes + k] += s.mu[i]
    for i in range(size * lanes):
        out[i] = change[lanes + i]
    return status


@kernel
def pull_projection(address: int) -> int:
    """Weights of the state before the projection: slots (t, x, u, w, bar, c̄), linkage; x is the projected one."""
    slots = words(address, 7)
    s = Linkage.at(slots[6])
    plan = s.system.elimination.plan
    nq, n, m, mh = plan.nq, plan.nv, plan.m, plan.holonomic
    size = nq + n + s.nz
    w, x, bar, cbar = doubles(slots[3], size), doubles(slots[1], size), doubles(slots[4], 1 + size), doubles(slots[5], s.nc)
    change = s.change
    change[0] = 0.0
    for i in range(size):
        change[1 + i] = w[i]
    for i in range(s.nc):
        cbar[i] = 0.0
    status = 0
    if m > 0:
        status = terms(s, slots[0], slots[1])
        for i in range(m):
            s.nu[i] = 0.0
        if status == 0:
            status = solve(s, w[nq : nq + n], s.nu, s.mu)
        rank = independent_rows(s, m)
        forces(s, rank, s.mu, w[nq : nq + n], -1.0, s.nu)
        for i in range(mh):
            s.y[i] = 0.0
        for i in range(m):
            s.y[mh + i] = -s.nu[i]
        for i in range(n):
            s.row[i] = -s.mu[i]
        if status == 0:
            status = _pull_closure(s, slots, cbar)
        for i in range(s.y.size):
            s.y[i] = s.row[i] if i < n else 0.0
        if status == 0:
            status = _pull_struck(s, slots, rank, cbar)
    if mh > 0 and status == 0:
        rank = independent_rows(s, mh)
        status = gram(s, rank)
        turned_back(change[1:], x, s, s.mu)
        shortest_back(s, rank, mh, s.mu, s.y)
        for i in range(mh):
            s.y[i] = -s.y[i]
        for i in range(m):
            s.y[mh + i] = 0.0
        if status == 0:
            status = _pull_closure(s, slots, cbar)
        if status == 0:
            status = _pull_moved(s, slots, x, rank, cbar)
    levelled(change[1:], x, s)
    for i in range(1 + size):
        bar[i] = change[i]
    return status


__all__ = [
    "across", "carried", "gram", "length_before", "levelled", "moves", "pull", "pull_projection", "push", "push_projection", "shortest_back", "strikes", "still",
    "turned_back",
]  # fmt: skip
