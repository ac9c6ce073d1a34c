"""Laws of impact: restitution by speed, and the expansion of Poisson and Stronge after a compression.

Newton's law stands in the right-hand side of the contact problem.  The other two are solved in two phases: compression, u_N⁺ = 0 with the impulse p_C; then
u_N⁺ = s ≥ 0 with the speeds s for which the impulse of the expansion p_E = p − p_C is

    p_E = e p_C  (Poisson),    p_E s = e² p_C |u_N⁻|  (Stronge: ½ p_E s is the work of a force that grows in proportion),

found by iteration, each with a solution of the whole problem.  Where friction makes energy grow nevertheless, the expansion is shortened until it does not.
"""

from __future__ import annotations

import math
from typing import Any

from ...native.call import address as at
from ...native.call import call
from ...native.kernel import hot, jit
from ...native.record import Floats, Integers, Record
from ..complementarity.operator import local_of, velocities
from ..complementarity.solve import carry_out

#: Laws of impact.
NEWTON, POISSON, STRONGE = range(3)
#: Sliding below this speed (m/s) is rest for static friction.
STICKING = 1e-6
#: Most solutions of an expansion, and of shortening one; the part of an impulse to which a law of impact is met.
EXPANSIONS, SHORTER, MET = 60, 40, 1e-10


class Impacts(Record):
    """Laws by number: friction of sliding and rest (of dry joints their bounds), restitution as a number or by a function of the speed, the law of impact; and room for a solution."""

    friction: Floats
    across: Floats  # friction at right angles to the first tangent
    static: Floats
    static_across: Floats
    rolling: Floats  # lever arms
    spinning: Floats
    restitution: Floats
    function: Integers  # 0: a number
    args: Integers  # four words a law: speed, e, and the function's own
    law: Integers
    speed: Floats
    found: Floats
    #: of each contact: normal speed before, what forces add to it in the step, that after an expansion (−1: no such law), compression, free velocities (3)
    before: Floats
    gained: Floats
    after: Floats
    compression: Floats
    free: Floats
    acting: int  # contacts with an expansion


@hot
def restitution(m: Any, law: int, speed: float) -> float:
    """e at a speed."""
    if m.function[law] == 0 or speed <= 0.0:
        return m.restitution[law] if m.function[law] == 0 else 1.0  # type: ignore[no-any-return]
    m.speed[0] = speed
    call(m.function[law], at(m.args[4 * law :]))
    return m.found[0]  # type: ignore[no-any-return]


@hot
def coefficients(m: Any, law: int, u1: float, u2: float) -> Any:
    """μ of a contact that slides so, along its first tangent and along its second."""
    if math.sqrt(u1 * u1 + u2 * u2) <= STICKING:
        return m.static[law], m.static_across[law]
    return m.friction[law], m.across[law]


@jit
def _expand(m: Any, task: Any, solver: int, tolerance: float, limit: int) -> float:
    """Solves with the speeds after the expansion as they stand."""
    problem = task.problem
    for k in range(problem.blocks):
        if m.after[k] >= 0.0:
            problem.w[3 * k] = m.free[3 * k] - m.after[k]
    carry_out(task, solver, tolerance, limit)
    return task.residual  # type: ignore[no-any-return]


@jit
def _gained(m: Any, problem: Any, p: Any) -> float:
    """The part by which impulses bring more kinetic energy than rounding does."""
    velocities(problem, p, problem.u)
    gained, size = 0.0, 0.0
    for k in range(problem.blocks):
        for row in range(3 * k, 3 * k + 3):
            u = problem.u[row] + (m.free[row] - problem.w[row])
            gained += 0.5 * p[row] * (m.free[row] + u)
            size += abs(p[row] * m.free[row])
    return gained - 1e-10 * size


@jit
def _missed(m: Any, problem: Any, p: Any, laws: Any) -> float:
    """The largest part of an impulse by which a law of impact is missed; speeds go on towards it."""
    worst = 0.0
    for k in range(problem.blocks):
        if m.after[k] < 0.0 or m.compression[k] <= 0.0:
            continue
        speed = -m.before[k]
        e, pc = restitution(m, laws[k], speed), m.compression[k]
        pe, s = p[3 * k] - pc, m.after[k]
        wanted = e * pc
        if m.law[laws[k]] == STRONGE and s > 0.0:
            wanted = e * e * pc * speed / s
        miss = wanted - pe
        if m.law[laws[k]] == STRONGE:
            miss *= 0.5  # both factors follow the speed
        if s > 0.0 or miss > 0.0:
            worst = max(worst, abs(miss) / pc)
        m.after[k] = max(0.0, s + local_of(problem, k).normal * miss)
    return worst


@jit
def expand(m: Any, task: Any, solver: int, laws: Any, tolerance: float, limit: int) -> float:
    """From the impulses of a compression to those after the expansion; the residual of the laws of contact."""
    problem, p = task.problem, task.p
    for k in range(problem.blocks):
        m.compression[k] = p[3 * k]
        if m.after[k] >= 0.0 and p[3 * k] > 0.0:
            m.after[k] = -m.before[k] * restitution(m, laws[k], -m.before[k])
    residual = _expand(m, task, solver, tolerance, limit)
    for _ in range(EXPANSIONS):
        if _missed(m, problem, p, laws) <= MET:
            break
        residual = _expand(m, task, solver, tolerance, limit)
    for _ in range(SHORTER):
        if _gained(m, problem, p) <= 0.0:
            break
        for k in range(problem.blocks):
            if m.after[k] > 0.0:
                m.after[k] *= 0.5
        residual = _expand(m, task, solver, tolerance, limit)
    return residual


__all__ = ["NEWTON", "POISSON", "STRONGE", "Impacts", "coefficients", "expand", "restitution"]
