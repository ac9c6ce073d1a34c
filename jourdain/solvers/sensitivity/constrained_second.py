"""Second derivatives of constrained motion and of the projection after a step: how pulls of fixed weights change along a direction.

With Z = (r, e) and z = (v̇, λ) weights z̄ give y with Z_zᵀy = −z̄, and Z_xᵀy of the state.  Along (dx, dz, dc) at fixed z̄

Z_zᵀdy = −d(Z_zᵀy), d(Z_xᵀy) + Z_xᵀdy,

where d(·) at fixed y is one sweep, the *bend* of the equations by state, accelerations and multipliers.  The same sweep has the changes of M and J that the
projection needs: of (r, e) the weights (y_r, y_e) of v̇ are M y_r + Jᵀy_e and those of λ are −J y_r.
"""

from __future__ import annotations

from typing import Any

from ...native.call import address as at
from ...native.call import call, doubles, words
from ...native.kernel import jit, kernel
from ...native.record import Floats, Record
from ..linear.dense import cholesky_solve
from .constrained import across, carried, change_with_forces, gram, length_before, moves, shortest_back, still, strikes, turned_back
from .eliminated import Linkage, factor, forces, independent_rows, motion_at, place, solve_again, terms
from .field import Map


class BentLinkage(Record):
    """A linkage with the bends of its equations and constraints."""

    linkage: Linkage
    #: Slots (t, x, u, a, λ, y, (dt, dx, da, dλ), dc, bar, c̄), and (t, x, u, y, (dt, dx), dc, bar, c̄).
    motion_bend: Map
    closure_bend: Map
    change: Floats  # (dt, dx, da, dλ)
    y: Floats  # weights of (r, e, q̇, ż)
    bar: Floats
    cbar: Floats
    #: Weights in the projection, and their changes.
    weights: Floats
    dweights: Floats
    h: Floats
    dh: Floats
    #: Weights of positions that the change of a turn alone moves.
    turned: Floats
    u: Floats
    du: Floats
    dv: Floats
    nothing: Floats
    idle: Floats
    #: How Δv and Δq of the projection change along the direction.
    impulse_change: Floats
    shift_change: Floats


@jit
def _adjoint(s: Linkage, rank: int, v: Any, lam: Any) -> int:
    """μ and ν with M μ + Jᵀν = v, J μ = −λ."""
    plan = s.system.elimination.plan
    for i in range(plan.m):
        s.nu[i] = -lam[i]
    status = solve_again(s, v, s.nu, s.mu)
    forces(s, rank, s.mu, v, -1.0, s.nu)
    return status


@jit
def _bend_motion(b: BentLinkage, t: int, x: int, a: Any, lam: Any, dc: int) -> int:
    """Changes of the pull of ``y`` along ``change``: in ``bar`` and ``cbar``."""
    args = b.motion_bend.args
    args[0], args[1], args[3], args[4], args[5] = t, x, at(a), at(lam), at(b.y)
    args[6], args[7], args[8], args[9] = at(b.change), dc, at(b.bar), at(b.cbar)
    return call(b.motion_bend.function, args)


@jit
def _direction(b: BentLinkage, given: Any, size: int) -> None:
    """The direction (dt, dx) with neither accelerations nor multipliers in it."""
    plan = b.linkage.system.elimination.plan
    for i in range(size):
        b.change[i] = given[i]
    for i in range(plan.nv + plan.m):
        b.change[size + i] = 0.0


@jit
def _change_motion(b: BentLinkage, t: int, x: int, rank: int, d: int, dc: int) -> int:
    """Changes of accelerations and multipliers along (dt, dx), behind it in ``change``."""
    s = b.linkage
    plan, y, args = s.system.elimination.plan, s.y, s.motion_push.args
    n, m, size = plan.nv, plan.m, 1 + plan.nq + plan.nv + plan.nz
    place(args, t, x, s)
    args[5], args[6], args[7] = d, dc, at(y)
    status = call(s.motion_push.function, args)
    for i in range(n + m):
        s.row[i] = -y[i]
    if status == 0:
        status = solve_again(s, s.row[:n], s.row[n : n + m], s.mu)
    forces(s, rank, s.mu, s.row, 1.0, s.nu)
    for i in range(n):
        b.change[size + i] = s.mu[i]
    for i in range(m):
        b.change[size + n + i] = s.nu[i]
    return status


@kernel
def bend(address: int) -> int:
    """How the pull of weights of the rates, and of λ in ``lambar``, changes: slots (t, x, u, w, (dt, dx), dc, bar, c̄), linkage."""
    slots = words(address, 9)
    b = BentLinkage.at(slots[8])
    s = b.linkage
    plan = s.system.elimination.plan
    n, m, nq, nz = plan.nv, plan.m, plan.nq, plan.nz
    size = 1 + nq + n + nz
    status, rank = motion_at(s, slots[0], slots[1])
    if status != 0:
        return status
    w, lambar = doubles(slots[3], nq + n + nz), doubles(s.lambar, m)
    _direction(b, doubles(slots[4], size), size)
    status = _change_motion(b, slots[0], slots[1], rank, slots[4], slots[5])
    if status == 0:
        status = _adjoint(s, rank, w[nq : nq + n], lambar)
    for i in range(n):
        b.y[i] = -s.mu[i]
    for i in range(m):
        b.y[n + i] = -s.nu[i]
    for i in range(nq):
        b.y[n + m + i] = w[i]
    for i in range(nz):
        b.y[n + m + nq + i] = w[nq + n + i]
    if status == 0:
        status = _bend_motion(b, slots[0], slots[1], s.a, s.lam, slots[5])
    if status == 0:
        status = _adjoint(s, rank, b.bar[size : size + n], b.bar[size + n : size + n + m])
    for i in range(n):
        s.y[i] = -s.mu[i]
    for i in range(m):
        s.y[n + i] = -s.nu[i]
    for i in range(nq + nz):
        s.y[n + m + i] = 0.0
    args = s.motion_pull.args
    place(args, slots[0], slots[1], s)
    args[5], args[6], args[7] = at(s.y), slots[6], slots[7]
    if status == 0:
        status = call(s.motion_pull.function, args)
    bar, cbar = doubles(slots[6], size), doubles(slots[7], s.nc)
    for i in range(size):
        bar[i] += b.bar[i]
    for i in range(s.nc):
        cbar[i] += b.cbar[i]
    return status


# -- projection -------------------------------------------------------------------------------------------------------


@jit
def _pull_closure(s: Linkage, t: int, x: int, y: Any, into: Any, cbar: Any) -> int:
    """Adds the weights of (t, x) and of the constants for y of (h, w)."""
    args, plan = s.closure_pull.args, s.system.elimination.plan
    args[0], args[1], args[3], args[4], args[5] = t, x, at(y), at(s.bar), at(s.cbar)
    status = call(s.closure_pull.function, args)
    for i in range(1 + plan.nq + plan.nv + plan.nz):
        into[i] += s.bar[i]
    for i in range(s.nc):
        cbar[i] += s.cbar[i]
    return status


@jit
def _bend_closure(b: BentLinkage, slots: Any, cbar: Any) -> int:
    """Adds weights of (h, w) in ``h``, and their changes in ``dh``, to the weights and to their changes."""
    s, args = b.linkage, b.closure_bend.args
    plan = s.system.elimination.plan
    args[0], args[1], args[3], args[4], args[5] = slots[0], slots[1], at(b.h), slots[4], slots[5]
    args[6], args[7] = at(b.bar), at(b.cbar)
    status = call(b.closure_bend.function, args)
    for i in range(1 + plan.nq + plan.nv + plan.nz):
        b.dweights[i] += b.bar[i]
    for i in range(s.nc):
        cbar[i] += b.cbar[i]
    if status == 0:
        status = _pull_closure(s, slots[0], slots[1], b.dh, b.dweights, cbar)
    if status == 0:
        status = _pull_closure(s, slots[0], slots[1], b.h, b.weights, b.idle)
    return status


@jit
def _bend_velocities(b: BentLinkage, slots: Any, cbar: Any) -> int:
    """Changes of the weights of velocities: ν of M μ + Jᵀν = v̄, J μ = 0."""
    s = b.linkage
    plan = s.system.elimination.plan
    n, m, mh, nq = plan.nv, plan.m, plan.holonomic, plan.nq
    size = 1 + nq + n + plan.nz
    rank = independent_rows(s, m)
    for i in range(m):
        b.dh[i] = 0.0
    status = _adjoint(s, rank, b.weights[1 + nq : 1 + nq + n], b.dh)
    for i in range(b.y.size):
        b.y[i] = 0.0
    for i in range(n):
        b.y[i] = -s.mu[i]
    for i in range(mh):
        b.h[i] = 0.0
    for i in range(m):
        b.y[n + i] = -s.nu[i]
        b.h[mh + i] = -s.nu[i]
    if status == 0:
        status = _bend_motion(b, slots[0], slots[1], b.nothing, b.nothing, slots[5])
    if status == 0:
        status = _adjoint(s, rank, b.bar[size : size + n], b.bar[size + n : size + n + m])
    for i in range(mh):
        b.dh[i] = 0.0
    for i in range(m):
        b.dh[mh + i] = -s.nu[i]
    for i in range(n):
        b.du[i] = -s.mu[i]
    if status == 0:
        status = _bend_closure(b, slots, cbar)
    return status if status != 0 else _bend_struck(b, slots, cbar)


@jit
def _change_jacobian(b: BentLinkage, slots: Any, rank: int) -> int:
    """(dJ) u − (dJ) Jᵀy into ``dh`` and Jᵀy, dJᵀy out of ``du``: what changes in J Jᵀ y = J u besides u."""
    s = b.linkage
    plan = s.system.elimination.plan
    n, mh = plan.nv, plan.holonomic
    size = 1 + plan.nq + n + plan.nz
    for i in range(b.y.size):
        b.y[i] = 0.0
    for j in range(n):
        b.y[j] = b.u[j]
        for i in range(rank):
            b.y[j] -= s.J[s.rows[i] * n + j] * b.h[s.rows[i]]
    status = _bend_motion(b, slots[0], slots[1], b.nothing, b.nothing, slots[5])
    for i in range(mh):
        b.dh[i] = -b.bar[size + n + i]
    for i in range(n):
        b.y[i] = 0.0
    for i in range(mh):
        b.y[n + i] = b.h[i]
    if status == 0:
        status = _bend_motion(b, slots[0], slots[1], b.nothing, b.nothing, slots[5])
    for j in range(n):
        b.du[j] -= b.bar[size + j]
    return status


@jit
def _bend_positions(b: BentLinkage, slots: Any, cbar: Any) -> int:
    """Changes of the weights of positions: y of J Jᵀ y = J Eᵀq̄."""
    s = b.linkage
    plan = s.system.elimination.plan
    n, m, mh, nq = plan.nv, plan.m, plan.holonomic, plan.nq
    size = 1 + nq + n + plan.nz
    x, d = doubles(slots[1], size - 1), doubles(slots[4], size)
    rank = independent_rows(s, mh)
    status = gram(s, rank)
    turned_back(b.weights[1:], x, s, b.u)
    shortest_back(s, rank, mh, b.u, b.h)
    turned_back(b.dweights[1:], x, s, b.du)
    turned_back(b.weights[1:], d[1:], s, s.mu)
    if s.system.quaternions.size > 0:
        turns = s.system.quaternions
        for k in range(0, turns.size, 2):
            for j in range(3):
                b.du[turns[k + 1] + j] += s.mu[turns[k + 1] + j]
    if status == 0:
        status = _change_jacobian(b, slots, rank)
    for i in range(rank):
        total = b.dh[s.rows[i]]
        for j in range(n):
            total += s.J[s.rows[i] * n + j] * b.du[j]
        s.small[i] = total
    cholesky_solve(s.gram, rank, s.small)
    for i in range(mh + m):
        b.dh[i] = 0.0
    for i in range(rank):
        b.dh[s.rows[i]] = -s.small[i]
    for i in range(mh):
        b.h[i] = -b.h[i]
    for i in range(m):
        b.h[mh + i] = 0.0
    return status if status != 0 else _bend_closure(b, slots, cbar)


@jit
def _motion_change(s: Linkage, slots: Any) -> int:
    """Changes of the balance along (dt, dx), dc at the accelerations and multipliers that stand there, less those without: in ``struck``; none stand there behind it."""
    args = s.motion_push.args
    place(args, slots[0], slots[1], s)
    args[5], args[6], args[7] = slots[4], slots[5], at(s.y)
    return change_with_forces(s, s.system.elimination.plan.nv)


@jit
def _pull_balance(b: BentLinkage, slots: Any, y: Any, into: Any, cbar: Any, sign: float) -> int:
    """Adds the weights of state and constants for those of the balance at the accelerations and multipliers that stand there."""
    s = b.linkage
    plan, args = s.system.elimination.plan, s.motion_pull.args
    for i in range(s.y.size):
        s.y[i] = y[i] if i < plan.nv else 0.0
    place(args, slots[0], slots[1], s)
    args[5], args[6], args[7] = at(s.y), at(s.bar), at(s.cbar)
    status = call(s.motion_pull.function, args)
    for i in range(1 + plan.nq + plan.nv + plan.nz):
        into[i] += sign * s.bar[i]
    for i in range(s.nc):
        cbar[i] += sign * s.cbar[i]
    return status


@jit
def _bend_balance(b: BentLinkage, slots: Any, y: Any, dy: Any, cbar: Any, sign: float) -> int:
    """Adds weights of the balance at what stands there to ``weights``, and their changes along ``change`` to ``dweights``."""
    s, plan = b.linkage, b.linkage.system.elimination.plan
    for i in range(b.y.size):
        b.y[i] = y[i] if i < plan.nv else 0.0
    status = _bend_motion(b, slots[0], slots[1], s.a, s.lam, slots[5])
    for i in range(1 + plan.nq + plan.nv + plan.nz):
        b.dweights[i] += sign * b.bar[i]
    for i in range(s.nc):
        cbar[i] += sign * b.cbar[i]
    if status == 0:
        status = _pull_balance(b, slots, dy, b.dweights, cbar, sign)
    if status == 0:
        status = _pull_balance(b, slots, y, b.weights, b.idle, sign)
    return status


@jit
def _less_without(b: BentLinkage, slots: Any, y: Any, dy: Any, cbar: Any) -> int:
    """The same at what stands there, less that without accelerations and multipliers; neither these nor their changes stand there behind it."""
    plan = b.linkage.system.elimination.plan
    status = _bend_balance(b, slots, y, dy, cbar, 1.0)
    still(b.linkage)
    size = 1 + plan.nq + plan.nv + plan.nz
    for i in range(plan.nv + plan.m):
        b.change[size + i] = 0.0
    return status if status != 0 else _bend_balance(b, slots, y, dy, cbar, -1.0)


@jit
def _bend_struck(b: BentLinkage, slots: Any, cbar: Any) -> int:
    """Changes of what −μ of weights gives to (dM)Δv − (dJ)ᵀΛ; −μ stands in ``y``, its change in ``du``."""
    s = b.linkage
    plan = s.system.elimination.plan
    n, m = plan.nv, plan.m
    size = 1 + plan.nq + n + plan.nz
    rank = independent_rows(s, m)
    if not strikes(s, rank):
        return 0
    status = _motion_change(s, slots)
    for i in range(n):
        b.change[size + i] = b.impulse_change[i]
        s.right[i] = -s.struck[i]
    forces(s, rank, b.impulse_change, s.right, 1.0, b.change[size + n : size + n + m])
    strikes(s, rank)
    for i in range(n):
        b.u[i] = b.y[i]
    return status if status != 0 else _less_without(b, slots, b.u, b.du, cbar)


@jit
def _turn_rates(b: BentLinkage, of: Any, dq: Any, out: Any, factor: float) -> None:
    """Adds what changes of quaternions make of a row ``of`` over them as one of velocities."""
    s = b.linkage
    turns = s.system.quaternions
    if turns.size == 0:
        return
    turned_back(of, dq, s, s.mu)
    for k in range(0, turns.size, 2):
        for j in range(3):
            out[turns[k + 1] + j] += factor * s.mu[turns[k + 1] + j]


@jit
def _bend_across(b: BentLinkage, q: Any, dq: Any) -> None:
    """Takes what is along unit quaternions out of weights and of their changes."""
    turns, w, dw = b.linkage.system.quaternions, b.weights[1:], b.dweights[1:]
    across(dw, q, b.linkage)
    for k in range(0, turns.size, 2):
        i = turns[k]
        along = beside = 0.0
        for j in range(4):
            along += w[i + j] * q[i + j]
            beside += w[i + j] * dq[i + j]
        for j in range(4):
            dw[i + j] -= beside * q[i + j] + along * dq[i + j]
    across(w, q, b.linkage)


@jit
def _bend_moved(b: BentLinkage, slots: Any, cbar: Any) -> int:
    """Changes of what weights of positions give to (dJ)ᵀy of the displacement d = −Jᵀy."""
    s = b.linkage
    plan = s.system.elimination.plan
    n, m, nq, turns = plan.nv, plan.m, plan.nq, s.system.quaternions
    size = 1 + nq + n + plan.nz
    x, d = doubles(slots[1], size - 1), doubles(slots[4], size)
    rank = independent_rows(s, plan.holonomic)
    if not moves(s, x, rank):
        return 0
    status = gram(s, rank)
    if status == 0:
        status = _motion_change(s, slots)
    turned_back(b.shift_change, x, s, b.du)
    for k in range(0, turns.size, 2):
        for j in range(3):
            b.du[turns[k + 1] + j] *= 4.0
    _turn_rates(b, s.shift, d[1:], b.du, 4.0)
    for i in range(n):
        b.u[i] = s.struck[i] - b.du[i]
        b.change[size + i] = 0.0
    shortest_back(s, rank, m, b.u, b.change[size + n : size + n + m])
    moves(s, x, rank)
    turned_back(b.weights[1:], x, s, b.u)
    turned_back(b.dweights[1:], x, s, b.dv)
    _turn_rates(b, b.weights[1:], d[1:], b.dv, 1.0)
    _bend_across(b, x, d[1:])
    for i in range(nq):
        s.row[i] = b.weights[1 + i]
    carried(s.row, b.du, s, -1.0)
    for i in range(nq):
        b.turned[i] = s.row[i] - b.weights[1 + i]
    carried(b.weights[1:], s.right, s, -1.0)
    carried(b.dweights[1:], s.right, s, -1.0)
    for i in range(nq):
        b.dweights[1 + i] += b.turned[i]
    return status if status != 0 else _less_without(b, slots, b.u, b.dv, cbar)


@jit
def _bend_levelled(b: BentLinkage, q: Any, dq: Any) -> None:
    """Changes of weights from which what is along quaternions is taken out, of any length before the projection."""
    turns, w, dw = b.linkage.system.quaternions, b.weights[1:], b.dweights[1:]
    _bend_across(b, q, dq)
    for k in range(0, turns.size, 2):
        i = turns[k]
        length, longer = length_before(b.linkage, q, i), 0.0
        for j in range(4):
            longer -= dq[i + j] * b.linkage.shift[i + j] + q[i + j] * b.shift_change[i + j]
        for j in range(4):
            dw[i + j] = (dw[i + j] - w[i + j] * longer / length) / length


@kernel
def bend_projection(address: int) -> int:
    """How the pull of weights over a projection changes: slots (t, x, u, w, (dt, dx), dc, bar, c̄), linkage; x is the projected one, and so is dx."""
    slots = words(address, 9)
    b = BentLinkage.at(slots[8])
    s = b.linkage
    plan = s.system.elimination.plan
    size = 1 + plan.nq + plan.nv + plan.nz
    w, d = doubles(slots[3], size - 1), doubles(slots[4], size)
    bar, cbar = doubles(slots[6], size), doubles(slots[7], s.nc)
    b.weights[0] = 0.0
    for i in range(size - 1):
        b.weights[1 + i] = w[i]
    for i in range(size):
        b.dweights[i] = 0.0
    for i in range(s.nc):
        cbar[i] = 0.0
    status = 0
    if plan.m > 0:
        _direction(b, d, size)
        status = terms(s, slots[0], slots[1])
        if status == 0:
            status = factor(s)
        if status == 0:
            status = _bend_velocities(b, slots, cbar)
    if plan.holonomic > 0 and status == 0:
        status = _bend_positions(b, slots, cbar)
        if status == 0:
            status = _bend_moved(b, slots, cbar)
    _bend_levelled(b, doubles(slots[1], size - 1), d[1:])
    for i in range(size):
        bar[i] = b.dweights[i]
    return status


__all__ = ["BentLinkage", "bend", "bend_projection"]
