"""Which contacts act within a step, and the right-hand sides of their laws."""

from __future__ import annotations

import math
from typing import Any

from ...native.kernel import jit
from ..complementarity.problem import CONTACT, FRICTION
from .contact_set import DRY, ROLL, contact_velocity, keep
from .impacts import NEWTON, coefficients, restitution

#: Gaps up to this part of the slack are closed.
TOUCHING = 1e-4
#: In the place of the speed after an impact: of one without rebound, which leaves bodies in touch.
STRUCK = -2.0
#: Points that meet with less than this part of another's speed rest against it.
ALIKE = 0.1
#: Speeds (m/s, rad/s) of joints below which dry friction is that of rest.
AT_REST = 1e-9
#: Speeds up to so many times what forces make in a step do not rebound: impacts that follow ever faster end in rest.
RESTING = 2.0


@jit
def select(m: Any, h: float, free: Any) -> None:
    """Contacts that may act within the step, with their normal speeds before it; the right-hand sides of their laws."""
    s, parts, problem = m.contacts, m.parts, m.laws.problem
    kept = m.impacts.acting = 0
    for k in range(s.count):
        before, after = s.speed[3 * k], contact_velocity(s, parts, k, 0, free)
        gap, e = s.gap[k], restitution(m.impacts, s.law[k], -before)
        if not e >= 0.0 and math.isfinite(before):
            m.worst.residual, m.worst.speed, m.worst.shape_a, m.worst.shape_b = math.inf, -before, s.key[3 * k], s.key[3 * k + 1]
        s.met[k] = -1
        if s.sort[k] >= DRY:
            if admit_brake(m, h, k, kept, before, free):
                kept += 1
            continue
        fast = -before > RESTING * abs(after - before)
        bounces = e > 0.0 and gap + 0.5 * h * before < 0.0 and fast
        # an impact is one impulse: shared by two steps it would meet two directions of friction
        strikes = e == 0.0 and fast and gap + h * after < 0.0 and not _lands_flat(s, k, h)
        # a contact that rebounds must not be braked before it touches, however near it is
        near = gap + h * min(before, after) < m.slack + m.rows_args.moved if e == 0.0 else gap < TOUCHING * m.slack and not fast
        if not (bounces or near):
            continue
        admit(m, k, kept, e, before, after, 0.0 if strikes else max(0.0, gap / h), bounces, free)
        if strikes:
            m.impacts.after[kept] = STRUCK
        kept += 1
    s.count = problem.blocks = kept
    problem.row[kept] = 3 * kept


@jit
def _lands_flat(s: Any, k: int, h: float) -> bool:
    """Whether another point of the same two shapes meets in the step, too: faces and edges come to lie on each other without loss of contact."""
    for way in (-1, 1):
        other = k + way
        while 0 <= other < s.count and s.key[3 * other] == s.key[3 * k] and s.key[3 * other + 1] == s.key[3 * k + 1]:
            if s.gap[other] + h * s.speed[3 * other] < 0.0 and s.speed[3 * other] < ALIKE * s.speed[3 * k]:
                return True
            other += way
    return False


@jit
def admit(m: Any, k: int, to: int, e: float, before: float, after: float, opening: float, bounces: bool, free: Any) -> None:
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
        along, across = coefficients(m.impacts, law, s.speed[3 * to + 1], s.speed[3 * to + 2])
    problem.coefficient[to, 0], problem.coefficient[to, 1] = along, across
    m.impacts.before[to], m.impacts.gained[to], m.impacts.after[to] = before, after - before, 0.0 if in_phases else -1.0
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
