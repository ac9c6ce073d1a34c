"""Jumps of velocities after steps of generalised-α: the nonsmooth part of the scheme of Brüls, Acary and Cardona (2014), decoupled as by Cosimo et al. (2020).

The smooth step knows forces, joints and bodies that bend, and no contacts; it ends at q̃, ṽ.  With the rows J of the contacts that are closed there

    M W = Jᵀ p,   v = ṽ + W,   u = J v with the laws of the contacts, Newton's law of impact among them,
    q = q̃ ∘ exp(½h W + U),   M U = Jᵀ ν,   0 ≤ g ⟂ ν ≥ 0,

along the constraints of joints, so that positions and velocities both meet constraints and contacts.  ½h W makes the position that of the trapezoidal rule.  The order is that of generalised-α,
two, where nothing touches, and one with contacts, whose forces are impulses at the ends of steps.
"""

from __future__ import annotations

import math
from typing import Any

from ...native.call import address as at
from ...native.call import call, doubles
from ...native.kernel import hot, jit, kernel
from ...native.record import Address, Floats, Integers, Matrix, Record
from ..ode.rotation import displaced
from .admission import RESTING, admit, admit_brake
from .contact_set import DRY, contact_velocity, find_turning
from .impacts import restitution
from .impulses import book, push_all, push_apart, respond_to, solve_laws
from .records import NO_NUMBER, NO_ROOM, Moreau

#: Gaps (parts of the slack) up to which contacts are closed.
CLOSED = 1e-6


class Jumps(Record):
    """Arguments of a projection after a step: the projection onto constraints, the contacts, the state before the step, and what is booked."""

    t: Address
    x: Address
    out: Address
    project: Address
    project_args: Integers
    moreau: Moreau
    t_last: float
    before: Floats  # q, v, z
    booked: Floats  # q, v, z, wrenches, books
    free: Floats
    log_t: Floats
    log: Matrix
    rows: Integers  # steps so far, which the log holds as far as it goes


@hot
def _choose(m: Any, h: float, free: Any) -> None:
    """Contacts that are closed at the end of the smooth step, and the right-hand sides of their laws."""
    s, parts, problem, kept = m.contacts, m.parts, m.laws.problem, 0
    m.impacts.acting = 0
    for k in range(s.count):
        before, after = s.speed[3 * k], contact_velocity(s, parts, k, 0, free)
        s.met[k] = -1
        if s.sort[k] >= DRY:
            if admit_brake(m, h, k, kept, before, free):
                kept += 1
            continue
        if s.gap[k] > CLOSED * m.slack:
            continue
        e = restitution(m.impacts, s.law[k], -before)
        if not e >= 0.0 and math.isfinite(before):
            m.worst.residual, m.worst.speed, m.worst.shape_a, m.worst.shape_b = math.inf, -before, s.key[3 * k], s.key[3 * k + 1]
        admit(m, k, kept, e, before, after, 0.0, e > 0.0 and -before > RESTING * abs(after - before), free)
        kept += 1
    s.count = problem.blocks = kept
    problem.row[kept] = 3 * kept


@jit
def _jump(a: Any, h: float, t: float, x: Any) -> int:
    """W and U at the end of a smooth step, written to the state; the books."""
    m, nq, nv = a.moreau, a.moreau.nq, a.moreau.nv
    s, v_old, v, free = m.contacts, a.before[m.nq :], x[m.nq :], a.free
    rows = m.rows_args
    rows.t, rows.x, rows.start, rows.h = a.t, at(x), at(a.before), 0.0
    status = call(m.rows, rows)
    if status != 0:
        return status  # type: ignore[no-any-return]
    find_turning(s, m.parts, 0.0, False, v_old)
    _choose(m, h, v)
    if m.worst.residual == math.inf:
        m.worst.t = t
        return NO_NUMBER
    if respond_to(m) != 0:
        return NO_ROOM
    done, residual = solve_laws(m, t, False)
    for k in range(s.count):
        s.gap[k] -= 0.5 * h * contact_velocity(s, m.parts, k, 0, v)
    for i in range(nv):
        free[i] = -v[i]
    push_all(m, m.laws.p, 3, v)
    for i in range(nv):
        free[i] += v[i]
    for k in range(s.count):
        s.gap[k] += 0.5 * h * contact_velocity(s, m.parts, k, 0, v)
    displaced(x, m.nq, m.turns, free, 0.5 * h, x)
    depth = push_apart(m, 0.0, v, free, x)
    for i in range(nq, nq + nv):
        a.booked[i] = x[i]
    book(m, h, v, residual, depth, done, a.booked)
    return 0


@hot
def _onto_constraints(a: Any) -> int:
    """Positions and velocities onto the constraints of joints, in place."""
    if a.project == 0:
        return 0
    a.project_args[0], a.project_args[1], a.project_args[2] = a.t, a.x, a.out
    return call(a.project, a.project_args)  # type: ignore[no-any-return]


@kernel
def jump_after(args: int) -> int:
    """Lets contacts act at the end of a step; states between steps and the start are left as they are."""
    a = Jumps.at(args)
    m, t = a.moreau, doubles(a.t, 1)[0]
    n = m.nq + m.nv + m.nz
    if not t > a.t_last:
        return 0
    status = _onto_constraints(a)
    if status != 0:
        return status
    x = doubles(a.out, n)
    status = _jump(a, t - a.t_last, t, x)
    if status == 0 and m.contacts.count > 0:  # rows of constraints have turned a little with what was pushed
        status = _onto_constraints(a)
    if status != 0:
        return status
    a.t_last = t
    for i in range(n):
        a.before[i] = x[i]
    if a.rows[0] < a.log_t.size:
        a.log_t[a.rows[0]] = t
        for i in range(a.log.shape[1]):
            a.log[a.rows[0], i] = a.booked[n + i]
    a.rows[0] += 1
    return 0


__all__ = ["Jumps", "jump_after"]
