"""Time-stepping after Moreau: impacts, rest and sliding of all contacts found together, step by step (Moreau 1988; Jean 1999).

    q_m = q ∘ exp(½h v),    v_f = v + h v̇(t + ½h, q_m, v + ½h v̇),
    v⁺ = v_f + M⁻¹Jᵀ p  with the laws of the contacts for u = J v⁺ + d and p,    q⁺ = q ∘ exp(½h (v + v⁺)).

Without contacts this is the explicit midpoint rule; forces −K e − C ė of bodies that bend are those of the implicit one, so that fast modes bound no
step: with M̂ = M + ½h C + ¼h² K in the place of M, v_f = v + h v̇ − M̂⁻¹(½h C + ¼h² K) h v̇ + M̂⁻¹ h C (v_m − v), v_m that in which v̇ was taken.
Rows J are those of the middle; what lasts is to hold at the end, so that ½h J̇ v, from how J v has changed since the step before, joins u: order two where
nothing strikes.  Where inertia or loads follow velocities, contacts are found once more with those at ½(v + v⁺) in the place of v + ½h v̇: bodies at rest have no velocity that a damper could see.  Newton's law of impact stands in the normal row: u⁺ + e u⁻ ⟂ p where bodies would
penetrate within the step; without rebound, bodies come to touch by the middle of the next step instead: u⁺ + g_m/h ⟂ p.  What is left of a penetration is
taken away from the positions alone, by the least motion in the metric of M, so that no velocity comes of it.

The state in the frame is x = (q, v, z, wrenches on bodies, books): what contacts did in the step before is part of the solution.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...native.call import address as at
from ...native.call import call, doubles
from ...native.kernel import hot, jit, kernel
from ...native.record import Address, Floats, Integers, Record
from ..complementarity.laws import relaxation_gap
from ..complementarity.operator import prepare
from ..complementarity.problem import BLOCK_SPARSE, BODIES, CONTACT, FRICTION, BlockSparse, Problem, room
from ..complementarity.solve import Task, carry_out, solve_task
from ..ode.frame import RHS_FAILED, Arguments, accept, evaluate_here, fixed_step, rhs, spoiled, view
from ..ode.method import Method
from ..ode.rotation import turn
from .contact_set import (
    DRY,
    ROLL,
    Closures,
    ContactSet,
    Parts,
    book_wrench,
    contact_velocity,
    find_turning,
    form_delassus,
    keep,
    push,
    push_halfway,
    recall,
    remember,
    respond,
    respond_halfway,
    respond_part,
)
from .impacts import NEWTON, Impacts, coefficients, expand, restitution

#: What a step returns where more contacts are found than there is room for.
NO_ROOM = -77
#: A coefficient of restitution is not a number; ``worst`` names the pair.
NO_NUMBER = -78
#: Gaps up to this part of the slack are closed.
TOUCHING = 1e-4
#: How often contacts of a step are found: the second sees what the velocities that the first leaves do to inertia and loads.
ROUNDS = 2
#: It is left out where it would change velocities by less than this part of the tolerance, speeds below SLOW (m/s, rad/s) taken for that.
UNSEEN, SLOW = 1e-3, 1e-3
#: Velocities within this part of those at the end of the last step are the same: a projection may have changed them.
FOLLOWS = 1e-6
#: Speeds (m/s, rad/s) of joints below which dry friction is that of rest.
AT_REST = 1e-9
#: Most solutions in which bounds of couples follow normal impulses.
COUPLED = 30
#: Speeds up to so many times what forces make in a step do not rebound: impacts that follow ever faster end in rest.
RESTING = 2.0
#: Books behind the forces: energy taken by contacts so far, deepest penetration, residual of the laws, contacts that act, iterations, and how fast
#: convex cones open contacts.
DISSIPATED, DEPTH, RESIDUAL, ACTING, ITERATIONS, OPENING, BOOKS = range(7)


class Asked(Record):
    """The first words of the arguments of ``rows``: time and state at the middle of a step from ``start``; how far bodies have moved by then."""

    t: Address
    x: Address
    start: Address
    moved: float
    h: float  # of the step, where masses hold the share of implicit forces


class Worst(Record):
    """The largest residual of a contact law that was left, when, and between which shapes."""

    residual: float
    t: float
    shape_a: int
    shape_b: int
    speed: float  # at which a coefficient of restitution is not a number; the residual is infinite then


class Moreau(Record):
    """Arguments as a session hands them over, then contacts and laws."""

    t: Address
    x: Address
    out: Address
    rows: Address  # writes the contacts at (t, q) to ``contacts``
    rows_args: Asked
    nq: int
    nv: int
    nz: int
    turns: Integers  # first position and first velocity of each quaternion
    contacts: ContactSet
    parts: Parts
    closures: Closures
    impacts: Impacts
    solver: Address
    laws: Task
    depths: Task
    slack: float
    tolerance: float
    limit: int
    books: int  # where the books begin in the state
    worst: Worst
    couples: int  # whether some contact resists rolling or spinning
    halfway: int  # whether all parts are bodies that nothing holds: one array is then J and M⁻¹Jᵀ of the problems
    #: the end of the last step, its length, and a sum over its velocities, by which a step knows whether it follows that one
    last_t: float
    last_h: float
    last_sum: float
    stiffness: Floats  # K and C of implicit forces, nv × nv each; empty where there are none
    damping: Floats


@jit
def displaced(m: Any, q: Any, d: Any, scale: float, out: Any) -> None:
    """out = q ∘ exp(scale·d)."""
    iq, iv, k, n = 0, 0, 0, m.turns.size // 2
    while iq < m.nq:
        if k < n and m.turns[2 * k] == iq:
            turn(q, iq, scale * d[iv], scale * d[iv + 1], scale * d[iv + 2], out)
            iq, iv, k = iq + 4, iv + 3, k + 1
        else:
            out[iq] = q[iq] + scale * d[iv]
            iq, iv = iq + 1, iv + 1


@jit
def _select(m: Any, h: float, v: Any, free: Any) -> None:
    """Contacts that may act within the step, with their normal speeds before it; the right-hand sides of their laws."""
    s, parts, problem = m.contacts, m.parts, m.laws.problem
    kept = m.impacts.acting = 0
    for k in range(s.count):
        before, after = contact_velocity(s, parts, k, 0, v), contact_velocity(s, parts, k, 0, free)
        gap, e = s.gap[k], restitution(m.impacts, s.law[k], -before)
        if not e >= 0.0 and math.isfinite(before):
            m.worst.residual, m.worst.speed, m.worst.shape_a, m.worst.shape_b = math.inf, -before, s.key[3 * k], s.key[3 * k + 1]
        s.met[k] = -1
        if s.sort[k] >= DRY:
            if admit_brake(m, h, k, kept, before, free):
                kept += 1
            continue
        bounces = e > 0.0 and gap + 0.5 * h * before < 0.0 and -before > RESTING * abs(after - before)
        # a contact that rebounds must not be braked before it touches
        near = gap + h * min(before, after) < m.slack + m.rows_args.moved if e == 0.0 else gap < TOUCHING * m.slack
        if not (bounces or near):
            continue
        admit(m, k, kept, e, before, after, max(0.0, gap / h), bounces, v, free)
        kept += 1
    s.count = problem.blocks = kept
    problem.row[kept] = 3 * kept


@jit
def admit(m: Any, k: int, to: int, e: float, before: float, after: float, opening: float, bounces: bool, v: Any, free: Any) -> None:
    """Moves contact k to an earlier place among those that act, and writes the right-hand side of its law; one that does not rebound may close by ``opening``."""
    s, parts, problem = m.contacts, m.parts, m.laws.problem
    law, w = s.law[k], 3 * to
    keep(s, parts.stride, k, to)
    s.met[k] = to
    in_phases = bounces and m.impacts.law[law] != NEWTON
    problem.w[w] = after + (0.0 if in_phases else e * before if bounces else opening)
    problem.w[w + 1], problem.w[w + 2] = contact_velocity(s, parts, to, 1, free), contact_velocity(s, parts, to, 2, free)
    if not bounces:
        for row in (0, 1, 2):
            problem.w[w + row] += s.turning[w + row]
    along, across = m.impacts.friction[law], m.impacts.across[law]
    if m.impacts.static[law] != along or m.impacts.static_across[law] != across:
        along, across = coefficients(m.impacts, law, contact_velocity(s, parts, to, 1, v), contact_velocity(s, parts, to, 2, v))
    problem.coefficient[to, 0], problem.coefficient[to, 1] = along, across
    m.impacts.before[to], m.impacts.after[to] = before, 0.0 if in_phases else -1.0
    for row in (0, 1, 2):
        m.impacts.free[w + row] = problem.w[w + row]
        problem.compliance[w + row] = 0.0
    m.impacts.acting += 1 if in_phases else 0
    problem.law[to], problem.row[to] = 0, w


@jit
def admit_brake(m: Any, h: float, k: int, to: int, before: float, free: Any) -> bool:
    """The same for what only brakes; a couple acts where its contact does."""
    s = m.contacts
    if s.parent[k] >= 0 and s.met[s.parent[k]] < 0:
        return False
    keep(s, m.parts.stride, k, to)
    _brake(m, h, to, before, free)
    return True


@jit
def _brake(m: Any, h: float, k: int, before: float, free: Any) -> None:
    """The law of what only brakes: an impulse of any direction up to a bound, of dry friction in a joint that of rest where nothing moved and nothing shall.

    A couple against rolling is a contact whose normal impulse is given: its row is p_n − a in units of velocity, and nothing else.
    """
    s, parts, problem = m.contacts, m.parts, m.laws.problem
    law, sort, w = s.law[k], s.sort[k], 3 * k
    if s.parent[k] >= 0:
        s.parent[k] = s.met[s.parent[k]]
    for row in (0, 1, 2):
        problem.w[w + row] = contact_velocity(s, parts, k, row, free) + (s.turning[w + row] if sort != DRY else 0.0)
        problem.compliance[w + row] = 0.0
    after = problem.w[w]
    bound = 1.0
    if sort == DRY:
        rests = abs(before) <= AT_REST * max(1.0, abs(after - before))
        bound = h * (m.impacts.static[law] if rests else m.impacts.friction[law])
    problem.coefficient[k, 0] = problem.coefficient[k, 1] = bound
    problem.law[k], problem.row[k] = CONTACT if sort == ROLL else FRICTION, w
    m.impacts.before[k], m.impacts.after[k] = before, -1.0
    for row in (0, 1, 2):
        m.impacts.free[w + row] = problem.w[w + row]


@jit
def _bound_couples(m: Any) -> float:
    """Bounds of couples from the normal impulses of their contacts as they are now; the largest change, in units of velocity."""
    s, parts, problem, p, most = m.contacts, m.parts, m.laws.problem, m.laws.p, 0.0
    J = s.Y if m.halfway == 1 else s.J
    for k in range(s.count):
        if s.parent[k] < 0:
            continue
        row, law = 3 * k + (1 if s.sort[k] == ROLL else 0), s.law[k]
        size, arm = 0.0, m.impacts.rolling[law] if s.sort[k] == ROLL else m.impacts.spinning[law]
        for side in (0, 1):
            c, at_ = s.part[2 * k + side], (6 * k + 2 * (row - 3 * k) + side) * parts.stride
            for i in range(0 if c < 0 else parts.first[c + 1] - parts.first[c]):
                size += J[at_ + i] * s.Y[at_ + i]
        bound = arm * max(p[3 * s.parent[k]], 0.0)
        if s.sort[k] == ROLL:
            problem.compliance[3 * k] = size
            most = max(most, abs(problem.w[3 * k] + size * bound))
            problem.w[3 * k] = -size * bound
        else:
            most = max(most, abs(size * (problem.coefficient[k, 0] - bound)))
            problem.coefficient[k, 0] = problem.coefficient[k, 1] = bound
    return most


@jit
def _largest(x: Any, n: int) -> float:
    found = 0.0
    for i in range(n):
        found = max(found, abs(x[i]))
    return found


@jit
def _sum(v: Any, n: int) -> float:
    """A number that tells velocities from others."""
    total = 0.0
    for i in range(n):
        total += (1.0 + i % 7) * v[i]
    return total


@jit
def _apart(a: Any, b: Any, n: int) -> float:
    found = 0.0
    for i in range(n):
        found = max(found, abs(a[i] - b[i]))
    return found


@jit
def _size(v: Any, n: int) -> float:
    total = 0.0
    for i in range(n):
        total += abs(v[i])
    return total


@jit
def solve_laws(m: Any, t: float) -> Any:
    """Impulses of all contacts; iterations, and the residual of their laws."""
    s, problem, p = m.contacts, m.laws.problem, m.laws.p
    recall(s, p)
    if m.couples != 0:
        _bound_couples(m)
    prepare(problem)
    tolerance = m.tolerance * max(1e-6, _largest(problem.w, 3 * s.count))
    carry_out(m.laws, m.solver, tolerance, m.limit)
    done, residual, worst = m.laws.done, m.laws.residual, m.laws.worst
    for again in range(COUPLED if m.couples != 0 else 0):
        missed = _bound_couples(m)
        if missed <= tolerance:
            break
        prepare(problem)
        carry_out(m.laws, m.solver, tolerance, m.limit)
        done, residual, worst = done + m.laws.done, max(m.laws.residual, missed if again == COUPLED - 1 else 0.0), m.laws.worst
    if m.impacts.acting > 0:
        residual = expand(m.impacts, m.laws, m.solver, s.law, tolerance, m.limit)
    log = m.worst
    if residual > 1e3 * tolerance and residual > log.residual:
        log.residual, log.t, log.shape_a, log.shape_b = residual, t, s.key[3 * worst], s.key[3 * worst + 1]
    remember(s, p)
    return done, residual


@jit
def _normal_rows(s: Any, halfway: int, bodies: Any) -> None:
    """J and M⁻¹Jᵀ of the normals alone."""
    for k in range(s.count):
        for i in range(12):
            bodies.response[12 * k + i] = s.Y[36 * k + i]
        for i in range(0 if halfway == 1 else 12):
            bodies.J[12 * k + i] = s.J[36 * k + i]


@jit
def respond_to(m: Any) -> int:
    """What impulses of all contacts do to velocities; 0 where there is room for it."""
    if m.halfway == 1:
        respond_halfway(m.contacts, m.parts)
        return 0
    respond(m.contacts, m.parts, m.closures)
    if m.laws.problem.form == BLOCK_SPARSE and form_delassus(m.contacts, m.parts, m.laws.problem.sparse) < 0:
        return NO_ROOM
    return 0


@jit
def push_all(m: Any, p: Any, rows: int, v: Any) -> None:
    """v += M⁻¹Jᵀ p of the first ``rows`` rows of every contact; the bound of a couple against rolling is no impulse."""
    s = m.contacts
    if m.halfway == 1:
        push_halfway(s, m.parts, p, rows, m.laws.problem.bodies.before, v)
        return
    for k in range(s.count):
        for row in range(rows):
            if p[rows * k + row] != 0.0 and (row > 0 or s.sort[k] != ROLL):
                push(s, m.parts, k, row, p[rows * k + row], v)


@jit
def push_apart(m: Any, h: float, v: Any, free: Any, q: Any) -> float:
    """Takes what is left of penetrations at the step's end from the positions; the deepest."""
    s, parts, depths, r = m.contacts, m.parts, m.depths.problem, m.depths.p
    deepest = 0.0
    for k in range(s.count):
        end = 1.0 if s.sort[k] >= DRY else s.gap[k] + 0.5 * h * contact_velocity(s, parts, k, 0, v)
        deepest = max(deepest, -end)
        depths.w[k], depths.law[k], depths.row[k], r[k] = end, 1, k, 0.0
    depths.blocks, depths.row[s.count] = s.count, s.count
    if deepest <= m.slack * m.tolerance:  # no push at all meets the tolerance
        return deepest
    if depths.form == BODIES:
        _normal_rows(s, m.halfway, depths.bodies)
    prepare(depths)
    carry_out(m.depths, m.solver, max(m.tolerance * m.slack, 1e-3 * deepest), m.limit)
    for i in range(m.nv):
        free[i] = 0.0
    push_all(m, r, 1, free)
    displaced(m, q, free, 1.0, q)
    return deepest


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


@jit
def book(m: Any, h: float, v_old: Any, v: Any, residual: float, depth: float, done: int, x: Any) -> None:
    """Wrenches on bodies (means over the step) and the books."""
    s, parts, p, first = m.contacts, m.parts, m.laws.p, m.nq + m.nv + m.nz
    books = x[m.books :]
    for i in range(first, m.books):
        x[i] = 0.0
    acting, lost = 0.0, 0.0
    m.last_sum = _sum(v, m.nv)
    for k in range(s.count):
        if p[3 * k] > 0.0 and s.sort[k] < DRY:
            acting += 1.0
        for row in (0, 1, 2):
            if s.sort[k] == ROLL and row == 0:
                continue  # the bound, which is no impulse
            s.old_speed[3 * k + row] = contact_velocity(s, parts, k, row, v)
            u = 0.5 * (contact_velocity(s, parts, k, row, v_old) + s.old_speed[3 * k + row])
            lost -= p[3 * k + row] * u
            book_wrench(s, k, row, p[3 * k + row] / h, x, 0)
    books[DISSIPATED] += lost
    books[DEPTH], books[RESIDUAL], books[ACTING], books[ITERATIONS] = depth, residual, acting, float(done)
    books[OPENING] = relaxation_gap(m.laws.problem, p) if m.laws.problem.relaxed == 1 else 0.0


@hot
def _follows(m: Any, t: float, v: Any) -> bool:
    """Whether velocities at an instant are those with which the last step ended."""
    return m.last_h > 0.0 and m.last_t == t and abs(_sum(v, m.nv) - m.last_sum) <= FOLLOWS * _size(v, m.nv)  # type: ignore[no-any-return]


class Projection(Record):
    """Arguments of a projection after a step."""

    t: Address
    x: Address
    out: Address
    function: Address
    args: Integers
    moreau: Moreau


@kernel
def project_after(args: int) -> int:
    """Projects a state onto constraints; velocities that the last step left are still its own afterwards."""
    a = Projection.at(args)
    m, n = a.moreau, a.moreau.nq + a.moreau.nv
    own = _follows(m, doubles(a.t, 1)[0], doubles(a.x, n)[m.nq :])
    a.args[0], a.args[1], a.args[2] = a.t, a.x, a.out
    status = call(a.function, a.args)
    if own and status == 0:
        m.last_sum = _sum(doubles(a.out, n)[m.nq :], m.nv)
    return status


@kernel
def step(address: int) -> int:
    """Take one step."""
    frame, clock, count = view(address)
    m = Moreau.at(frame.jac_args)
    n, nq, nv = m.nq + m.nv + m.nz, m.nq, m.nv
    x, x_old, f = frame.x, frame.x_old, frame.f
    middle, free, slope = frame.work[: count.n], frame.work[count.n :], frame.work[2 * count.n :]
    change, first = frame.work[3 * count.n :], frame.work[4 * count.n :]
    count.fresh = 0
    status = evaluate_here(frame, clock, count)
    if status != 0:
        return status
    h, hit = fixed_step(clock, count)
    for i in range(count.n):
        x_old[i] = middle[i] = x[i]
    displaced(m, x, x[nq:], 0.5 * h, middle)
    for i in range(nq, n):
        middle[i] = x[i] + 0.5 * h * f[i]
    v_old, v, rows, done, residual = x_old[nq:], x[nq:], m.rows_args, 0, 0.0
    for turn_ in range(ROUNDS):
        status = rhs(frame, clock, count, clock.t + 0.5 * h, middle, slope)
        if status != 0:
            return status
        if turn_ == 1 and h * _apart(slope[nq:], first, nv) <= UNSEEN * m.tolerance * max(_largest(v_old, nv), SLOW):
            break  # what depends on velocities would not see the difference
        for i in range(nv):
            free[i] = v_old[i] + h * slope[nq + i]
            first[i] = slope[nq + i]
        if turn_ == 0:
            rows.t, rows.x, rows.start, clock.stage_t = Arguments.at(frame.rhs_args).t, at(middle), at(x_old), clock.t + 0.5 * h
            rows.h = h
            status = call(m.rows, rows)
            if status != 0:
                clock.t_bad, count.bad_status = clock.t, status
                return RHS_FAILED
            find_turning(m.contacts, m.parts, h / (h + m.last_h) if _follows(m, clock.t, v_old) else 0.0, v_old)
        if m.stiffness.size > 0:
            _implicit(m, h, slope[nq:], v_old, middle[nq:], free, change)
        _select(m, h, v_old, free)
        if m.worst.residual == math.inf:
            clock.t_bad, count.bad_status, m.worst.t = clock.t, NO_NUMBER, clock.t
            return RHS_FAILED
        if respond_to(m) != 0:
            clock.t_bad, count.bad_status = clock.t, NO_ROOM
            return RHS_FAILED
        more, residual = solve_laws(m, clock.t + h)
        done += more
        for i in range(nv):
            v[i] = free[i]
            free[i] = 0.0
        push_all(m, m.laws.p, 3, v)
        for i in range(nv):  # what follows velocities sees those of the step, contacts included
            middle[nq + i] = 0.5 * (v_old[i] + v[i])
        if m.contacts.count == 0:
            break
    for i in range(nv):
        free[i] = 0.5 * (v_old[i] + v[i])
    displaced(m, x_old, free, h, x)
    for i in range(nq + nv, n):
        x[i] = x_old[i] + h * slope[i]
    depth = push_apart(m, h, v, free, x)
    book(m, h, v_old, v, residual, depth, done, x)
    status = spoiled(frame, clock, count, clock.t + h)
    if status != 0:
        return status
    accept(clock, count, h, hit)
    m.last_t, m.last_h = clock.t, h
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
        name="moreau", order=1, adaptive=False, step=step.address, dense=dense.address, constants=np.array([1.0]), work=lambda n: 5 * n, degree=1,
        needs_jacobian=True,
    )  # fmt: skip


#: Velocities of a body; parts of no more are taken as such.
BODY = 6
#: Most penetrations that are taken away together by pivots.
PIVOTS = 200


def make_tasks(contacts: ContactSet, parts: Parts) -> dict[str, Any]:
    """Memory for the laws of all contacts and for their penetrations, and what solves them."""
    laws, depths = _problems(contacts, parts)
    n = contacts.room
    halfway = int(_all_loose(parts))
    return {
        "halfway": halfway,
        "solver": solve_task.address,
        "laws": Task(problem=laws, p=np.zeros(3 * n)),
        "depths": Task(problem=depths, p=np.zeros(n)),
    }


def _problems(contacts: ContactSet, parts: Parts) -> tuple[Problem, Problem]:
    """W by bodies where all parts are as small as one, else by blocks."""
    n, count, pivots = contacts.room, parts.first.size - 1, min(contacts.room, PIVOTS)
    if parts.stride > BODY:
        laws, depths = room(n, 3 * n, BLOCK_SPARSE), room(n, n, BLOCK_SPARSE, pivots=pivots)
        laws.sparse = depths.sparse = _blocks(n)
        return laws, depths
    laws, depths = room(n, 3 * n, BODIES, count), room(n, n, BODIES, count, pivots=pivots)
    laws.bodies.J, laws.bodies.response, laws.bodies.pair = contacts.J, contacts.Y, contacts.part
    depths.bodies.pair = contacts.part
    if _all_loose(parts):  # with W = YᵀY sweeps read half as much
        laws.bodies.J, depths.bodies.J = laws.bodies.response, depths.bodies.response
    laws.bodies.inverse_mass = depths.bodies.inverse_mass = np.zeros(0)
    return laws, depths


def _all_loose(parts: Parts) -> bool:
    return parts.stride == BODY and bool(parts.inverse.size) and bool(parts.inverse.all())


def _blocks(room: int) -> BlockSparse:
    """Memory for W where a contact meets ten others on the average."""
    n = 12 * room + 64
    return BlockSparse(
        first=np.zeros(room + 1, np.int64), column=np.zeros(n, np.int64), place=np.zeros(n, np.int64), values=np.zeros(9 * n)
    )
