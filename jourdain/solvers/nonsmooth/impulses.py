"""Impulses of all contacts of a step by their laws, what they do to velocities and positions, and the books."""

from __future__ import annotations

from typing import Any

from ...native.kernel import hot, jit
from ..complementarity.laws import relaxation_gap
from ..complementarity.operator import local_of, measure
from ..complementarity.problem import BILATERAL, BLOCK_SPARSE, BODIES, UNILATERAL
from ..complementarity.solve import carry_out
from ..ode.rotation import displaced
from .admission import STRUCK
from .contact_set import (
    DRY,
    ROLL,
    book_wrench,
    contact_velocities,
    form_delassus,
    push,
    recall,
    remember,
    respond,
)
from .halfway import push_halfway, respond_halfway
from .impacts import expand
from .records import ACTING, DEPTH, DISSIPATED, ITERATIONS, NO_ROOM, OPENING, RESIDUAL

#: Gaps that impacts close are closed but for this part, so that several may contradict each other, and to within this part: later steps see what is left.
CLOSING, ROUGHLY = 1e-8, 1e-6
#: Most solutions in which bounds of couples follow normal impulses.
COUPLED = 30


@hot
def goes_halfway(m: Any) -> bool:
    """Whether what contacts do is found half the way: where no constraint stands in it."""
    return m.halfway == 1 or (m.laws.problem.form == BLOCK_SPARSE and m.closures.rows == 0)


@jit
def _bound_couples(m: Any) -> float:
    """Bounds of couples from the normal impulses of their contacts as they are now; the largest change, in units of velocity."""
    s, parts, problem, p, most = m.contacts, m.parts, m.laws.problem, m.laws.p, 0.0
    J = s.Y if goes_halfway(m) else s.J
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
def largest(x: Any, n: int) -> float:
    found = 0.0
    for i in range(n):
        found = max(found, abs(x[i]))
    return found


@jit
def velocity_sum(v: Any, n: int) -> float:
    """A number that tells velocities from others."""
    total = 0.0
    for i in range(n):
        total += (1.0 + i % 7) * v[i]
    return total


@jit
def solve_laws(m: Any, t: float, again: bool) -> Any:
    """Impulses of all contacts, ``again`` where they are those solved for last and respond as they did; iterations, and the residual of their laws."""
    s, problem, p, held = m.contacts, m.laws.problem, m.laws.p, m.laws.problem.held
    recall(s, p)
    if m.couples != 0:
        _bound_couples(m)
    measure(problem)
    if again and m.couples == 0:  # factors of W are those of before
        problem.held = held
    tolerance = m.tolerance * max(1e-6, largest(problem.w, 3 * s.count))
    carry_out(m.laws, m.solver, tolerance, m.limit)
    done, residual, worst = m.laws.done, m.laws.residual, m.laws.worst
    for round_ in range(COUPLED if m.couples != 0 else 0):
        missed = _bound_couples(m)
        if missed <= tolerance:
            break
        measure(problem)
        carry_out(m.laws, m.solver, tolerance, m.limit)
        done, residual, worst = done + m.laws.done, max(m.laws.residual, missed if round_ == COUPLED - 1 else 0.0), m.laws.worst
    if m.impacts.acting > 0:
        residual = expand(m.impacts, m.laws, m.solver, s.law, tolerance, m.limit)
        worst = m.laws.worst
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
    halfway = goes_halfway(m)
    if halfway:
        respond_halfway(m.contacts, m.parts)
    else:
        respond(m.contacts, m.parts, m.closures)
    if m.laws.problem.form == BLOCK_SPARSE and form_delassus(m.contacts, m.parts, m.laws.problem.sparse, halfway) < 0:
        return NO_ROOM
    return 0


@jit
def push_all(m: Any, p: Any, rows: int, v: Any) -> None:
    """v += M⁻¹Jᵀ p of the first ``rows`` rows of every contact; the bound of a couple against rolling is no impulse."""
    s = m.contacts
    if goes_halfway(m):
        push_halfway(s, m.parts, p, rows, v)
        return
    for k in range(s.count):
        for row in range(rows):
            if p[rows * k + row] != 0.0 and (row > 0 or s.sort[k] != ROLL):
                push(s, m.parts, k, row, p[rows * k + row], v)


@jit
def push_apart(m: Any, h: float, v: Any, free: Any, q: Any) -> float:
    """Takes what is left of penetrations at the step's end from the positions, and of gaps that an impact without rebound has closed; the deepest.

    Leaves J v in ``old_speed``.
    """
    s, parts, depths, r = m.contacts, m.parts, m.depths.problem, m.depths.p
    deepest = widest = m.moved = 0.0
    for k in range(s.count):
        contact_velocities(s, parts, k, v, s.old_speed)
        end = 1.0 if s.sort[k] >= DRY else s.gap[k] + 0.5 * h * (s.old_speed[3 * k] + s.turning[3 * k])
        deepest = max(deepest, -end)
        depths.w[k], depths.law[k], depths.row[k], depths.compliance[k], r[k] = end, UNILATERAL, k, 0.0, 0.0
        if end <= 0.0:
            continue
        if m.impacts.after[k] == STRUCK and m.laws.p[3 * k] > 0.0:
            widest = max(widest, end)
            depths.law[k], depths.compliance[k] = BILATERAL, CLOSING * local_of(m.laws.problem, k).normal
        else:  # what approaches is to touch by the middle of the next step: of that way nothing may be taken to close other gaps
            depths.w[k] = max(0.0, end + 0.5 * h * min(0.0, s.old_speed[3 * k]))
    depths.blocks, depths.row[s.count] = s.count, s.count
    if max(deepest, widest) <= m.slack * m.tolerance:  # no push at all meets the tolerance
        return deepest
    if depths.form == BODIES:
        _normal_rows(s, m.halfway, depths.bodies)
    measure(depths)
    carry_out(m.depths, m.solver, max(m.tolerance * m.slack, 1e-3 * deepest, ROUGHLY * widest), m.limit)
    for i in range(m.nv):
        free[i] = 0.0
    push_all(m, r, 1, free)
    displaced(q, m.nq, m.turns, free, 1.0, q)
    # along M⁻¹Jᵀr forces M a do the work r·J a: an impact within the step would have met them
    for k in range(s.count if h > 0.0 else 0):
        m.moved += r[k] * m.impacts.gained[k] / h
    return deepest


@jit
def book(m: Any, h: float, v: Any, residual: float, depth: float, done: int, x: Any) -> None:
    """Wrenches on bodies (means over the step) and the books, with J v from before the step and as :func:`push_apart` left it."""
    s, p, first = m.contacts, m.laws.p, m.nq + m.nv + m.nz
    books = x[m.books :]
    for i in range(first, m.books):
        x[i] = 0.0
    acting, lost = 0.0, m.moved
    m.last.sum = velocity_sum(v, m.nv)
    for k in range(s.count):
        if p[3 * k] > 0.0 and s.sort[k] < DRY:
            acting += 1.0
        for row in (0, 1, 2):
            if s.sort[k] == ROLL and row == 0:
                continue  # the bound, which is no impulse
            lost -= p[3 * k + row] * 0.5 * (s.speed[3 * k + row] + s.old_speed[3 * k + row])
            book_wrench(s, k, row, p[3 * k + row] / h, x, 0)
    books[DISSIPATED] += lost
    books[DEPTH], books[RESIDUAL], books[ACTING], books[ITERATIONS] = depth, residual, acting, float(done)
    books[OPENING] = relaxation_gap(m.laws.problem, p) if m.laws.problem.relaxed == 1 else 0.0
