"""Time-stepping after Moreau: impacts, rest and sliding of all contacts found together, step by step (Moreau 1988; Jean 1999).

    q_m = q ∘ exp(½h v),    v_f = v + h v̇(t + ½h, q_m, v + ½h v̇),
    v⁺ = v_f + M⁻¹Jᵀ p  with the laws of the contacts for u = J v⁺ + d and p,    q⁺ = q ∘ exp(½h (v + v⁺)).

Without contacts this is the explicit midpoint rule; forces −K e − C ė of bodies that bend are those of the implicit one, so that fast modes bound no
step: with M̂ = M + ½h C + ¼h² K in the place of M, v_f = v + h v̇ − M̂⁻¹(½h C + ¼h² K) h v̇ + M̂⁻¹ h C (v_m − v), v_m that in which v̇ was taken.
Rows J are those of the middle; what lasts is to hold at the end, so that ½h J̇ v, from how J v has changed since the step before (in the first step of a run: since its start, where rows
are found once more for it), joins u: order two where nothing strikes.  Where inertia or loads follow velocities, contacts are found once more with those at ½(v + v⁺) in the place of v + ½h v̇: bodies at rest have no velocity that a damper could see.
The first takes what contacts do until then from the step before, if it was no impact.  Every round leaves about ½h‖∂v̇/∂v‖ times what is missed, and most of a step's error where dampers are strong is what two rounds leave; there are more where they are seen.  Newton's law of impact stands in the normal row: u⁺ + e u⁻ ⟂ p where bodies would
penetrate within the step; without rebound, bodies come to touch by the middle of the next step instead: u⁺ + g_m/h ⟂ p.  A single point that strikes fast without rebound takes u⁺ ⟂ p at
once, since two steps that share an impulse would meet two directions of friction, and its gap is closed in the positions as far as others keep what they
need to touch by the middle of the next step.  What is left of a penetration is taken away from the positions alone, by the least motion in the metric of M, so that no velocity comes of it; the work of forces along that way is booked.

The state in the frame is x = (q, v, z, wrenches on bodies, books): what contacts did in the step before is part of the solution.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...native.call import address as at
from ...native.call import call, doubles
from ...native.kernel import hot, jit, kernel
from ...native.record import Address, Integers, Record
from ..ode.frame import RHS_FAILED, Arguments, accept, evaluate_here, fixed_step, rhs, spoiled, view
from ..ode.method import Method
from ..ode.rotation import displaced
from .admission import TOUCHING, select
from .contact_set import find_turning, note_touching, respond_part
from .impulses import book, largest, push_all, push_apart, respond_to, solve_laws, velocity_sum
from .notes import note_contacts, note_pushed
from .records import NO_NUMBER, NO_ROOM, Moreau

#: How often contacts of a step are found at most: each round sees what the velocities that the one before leaves do to inertia and loads.
ROUNDS = 4
#: It is left out where it would change velocities by less than this part of the tolerance, speeds below SLOW (m/s, rad/s) taken for that.
UNSEEN, SLOW = 1e-3, 1e-3
#: After the second round there is another where it may be expected to change velocities by more than this part of the largest.
SETTLED = 1e-5
#: Rounds that change velocities by this part and more than the round before them do not settle.
UNSETTLED = 1e-2
#: So many steps in a row whose middles change what acts without contacts by more than all of it: springs that pass through rest do so once.
STREAK = 3
#: What contacts did to velocities in the step before is expected again, up to so many times what acts without them: impacts are not.
EXPECTED = 2.0
#: Velocities within this part of those at the end of the last step are the same: a projection may have changed them.
FOLLOWS = 1e-6


@jit
def _apart(a: Any, b: Any, n: int) -> float:
    found = 0.0
    for i in range(n):
        found = max(found, abs(a[i] - b[i]))
    return found


@jit
def _centre(n: int, v_old: Any, v: Any, middle: Any) -> float:
    """Velocities of the middle from those of the ends, contacts included, which forces and inertia see next; how far they have changed."""
    most = 0.0
    for i in range(n):
        mean = 0.5 * (v_old[i] + v[i])
        most = max(most, abs(mean - middle[i]))
        middle[i] = mean
    return most


@jit
def _size(v: Any, n: int) -> float:
    total = 0.0
    for i in range(n):
        total += abs(v[i])
    return total


@jit
def _implicit(m: Any, h: float, slope: Any, v: Any, middle: Any, free: Any, change: Any) -> None:
    """Takes to the end of the step what forces −K e − C ė were in its explicit middle: h v̇ in ``free`` − v becomes that of the implicit rule."""
    parts, nv, K, C = m.parts, m.nv, m.stiffness, m.damping
    for part in range(parts.first.size - 1):
        first, n = parts.first[part], parts.first[part + 1] - parts.first[part]
        largest = 0.0
        for i in range(n):
            row, total = nv * parts.member[first + i], 0.0
            for j in range(n):
                k = parts.member[first + j]
                total -= h * (0.25 * h * h * K[row + k] + 0.5 * h * C[row + k]) * slope[k]
                total += h * C[row + k] * (middle[k] - v[k])
            change[i] = total
            largest = max(largest, abs(total))
        if largest > 0.0:
            respond_part(parts, m.closures, part, change)
            for i in range(n):
                free[parts.member[first + i]] += change[i]


@hot
def _follows(m: Any, t: float, v: Any) -> bool:
    """Whether velocities at an instant are those with which the last step ended."""
    return m.last.h > 0.0 and m.last.t == t and abs(velocity_sum(v, m.nv) - m.last.sum) <= FOLLOWS * _size(v, m.nv)  # type: ignore[no-any-return]


@hot
def expected(m: Any, h: float, t: float, v: Any, slope: Any) -> float:
    """The part of what contacts did to velocities in the step before that is to be expected until the middle of this one."""
    if not _follows(m, t, v) or largest(m.last.pushed, m.nv) > EXPECTED * m.last.h * largest(slope, m.nv):
        return 0.0
    return 0.5 * h / m.last.h  # type: ignore[no-any-return]


@jit
def _watch(m: Any, h: float, v: Any, begin: Any, middle: Any) -> None:
    """Notes steps too long for v̇ = −λv, whose middle changes v̇ by ½hλ of it: h λ ≥ 2."""
    change = _apart(middle, begin, m.nv)
    away = change >= largest(begin, m.nv) and h * change > UNSETTLED * max(largest(v, m.nv), SLOW)
    m.worst.streak = m.worst.streak + 1 if away else 0
    if m.worst.streak >= STREAK:
        m.worst.unsettled += 1


class Correction(Record):
    """Arguments of what changes a state after a step: a projection, or an exchange of coordinates."""

    t: Address
    x: Address
    out: Address
    function: Address
    args: Integers
    in_place: int  # whether x itself is changed, and not written to ``out``
    moreau: Moreau


@kernel
def correct_after(args: int) -> int:
    """Corrects a state; velocities that the last step left are still its own afterwards."""
    a = Correction.at(args)
    m, n = a.moreau, a.moreau.nq + a.moreau.nv
    own = _follows(m, doubles(a.t, 1)[0], doubles(a.x, n)[m.nq :])
    a.args[0], a.args[1], a.args[2] = a.t, a.x, a.out
    status = call(a.function, a.args)
    if own and status == 0:
        m.last.sum = velocity_sum(doubles(a.x if a.in_place == 1 else a.out, n)[m.nq :], m.nv)
    if a.in_place == 1:  # other coordinates
        for i in range(m.nv):
            m.last.pushed[i] = 0.0
    return status


@kernel
def step(address: int) -> int:
    """Take one step."""
    frame, clock, count = view(address)
    m = Moreau.at(frame.jac_args)
    n, nq, nv = m.nq + m.nv + m.nz, m.nq, m.nv
    x, x_old, f = frame.x, frame.x_old, frame.f
    middle, free, slope = frame.work[: count.n], frame.work[count.n :], frame.work[2 * count.n :]
    change, first, pushed = frame.work[3 * count.n :], frame.work[4 * count.n :], frame.work[5 * count.n :]
    count.fresh = 0
    status = evaluate_here(frame, clock, count)
    if status != 0:
        return status
    h, hit = fixed_step(clock, count)
    for i in range(count.n):
        x_old[i] = middle[i] = x[i]
    displaced(x, nq, m.turns, x[nq:], 0.5 * h, middle)
    for i in range(nq, n):
        middle[i] = x[i] + 0.5 * h * f[i]
    again = expected(m, h, clock.t, x[nq:], f[nq:])
    for i in range(nv):
        middle[nq + i] += again * m.last.pushed[i]
    v_old, v, rows, done, residual, part, before = x_old[nq:], x[nq:], m.rows_args, 0, 0.0, 0.0, 0.0
    settled, first_of_run = 0.5 * SETTLED * max(largest(v_old, nv), SLOW), m.last.h == 0.0
    for turn_ in range(ROUNDS):
        status = rhs(frame, clock, count, clock.t + 0.5 * h, middle, slope)
        if status != 0:
            return status
        if turn_ == 1 and h * _apart(slope[nq:], first, nv) <= UNSEEN * m.tolerance * max(largest(v_old, nv), SLOW):
            break  # what depends on velocities would not see the difference
        for i in range(nv):
            free[i] = v_old[i] + h * slope[nq + i]
            first[i] = slope[nq + i]
        if turn_ == 0:
            _watch(m, h, v_old, f[nq:], slope[nq:])
            rows.t, rows.start, rows.h = Arguments.at(frame.rhs_args).t, at(x_old), h
            if first_of_run:
                rows.x, clock.stage_t = at(x_old), clock.t
                status = call(m.rows, rows)
                if status == 0:
                    note_touching(m.contacts, m.parts, TOUCHING * m.slack, h, v_old)
            rows.x, clock.stage_t = at(middle), clock.t + 0.5 * h
            if status == 0:
                status = call(m.rows, rows)
            if status != 0:
                clock.t_bad, count.bad_status = clock.t, status
                return RHS_FAILED
            part = 1.0 if first_of_run else h / (h + m.last.h) if _follows(m, clock.t, v_old) else 0.0
            find_turning(m.contacts, m.parts, part, first_of_run, v_old)
        if m.stiffness.size > 0:
            _implicit(m, h, slope[nq:], v_old, middle[nq:], free, change)
        known = m.contacts.count
        select(m, h, free)
        if m.worst.residual == math.inf:
            clock.t_bad, count.bad_status, m.worst.t = clock.t, NO_NUMBER, clock.t
            return RHS_FAILED
        same = turn_ > 0 and m.contacts.count == known
        if not same and respond_to(m) != 0:  # the same contacts respond as they did
            clock.t_bad, count.bad_status = clock.t, NO_ROOM
            return RHS_FAILED
        more, residual = solve_laws(m, clock.t + h, same)
        done += more
        if m.noted.rows.shape[0] > 0:
            note_contacts(m, turn_, part)
        for i in range(nv):
            v[i] = pushed[i] = free[i]
            free[i] = 0.0
        push_all(m, m.laws.p, 3, v)
        changed = _centre(nv, v_old, v, middle[nq:])
        if turn_ > 0 and changed >= before and changed > UNSETTLED * max(largest(v, nv), SLOW):
            m.worst.unsettled += 1
        if m.contacts.count == 0 or (turn_ > 0 and (changed >= before or changed * changed <= settled * before)):
            break
        before = changed
    for i in range(nv):
        free[i] = 0.5 * (v_old[i] + v[i])
    displaced(x_old, nq, m.turns, free, h, x)
    for i in range(nq + nv, n):
        x[i] = x_old[i] + h * slope[i]
    depth = push_apart(m, h, v, free, x)
    if m.noted.rows.shape[0] > 0:
        note_pushed(m)
    book(m, h, v, residual, depth, done, x)
    status = spoiled(frame, clock, count, clock.t + h)
    if status != 0:
        return status
    accept(clock, count, h, hit)
    m.last.t, m.last.h = clock.t, h
    for i in range(nv):
        m.last.pushed[i] = v[i] - pushed[i]
    return 0


@kernel
def dense(address: int) -> int:
    """Interpolate linearly: what a step holds of impacts has no instant."""
    frame, clock, count = view(address)
    n = count.n
    for i in range(n):
        frame.coef[i] = frame.x_old[i]
        frame.coef[n + i] = frame.x[i] - frame.x_old[i]
    count.degree = 1
    clock.centre = clock.t_old
    return 0


def method() -> Method:
    """Moreau's time-stepping, to be used with the contacts of a system in the place of a Jacobian."""
    return Method(
        name="moreau", order=1, adaptive=False, step=step.address, dense=dense.address, constants=np.array([1.0]), work=lambda n: 6 * n, degree=1,
        needs_jacobian=True,
    )  # fmt: skip
