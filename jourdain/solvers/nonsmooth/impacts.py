"""Laws of impact: restitution by speed, and the expansion of Poisson and Stronge after a compression.

Newton's law stands in the right-hand side of the contact problem.  The other two are solved in two phases: compression, u_N⁺ = 0 with the impulse p_C; then
u_N⁺ = s ≥ 0 with the speeds s for which the impulse of the expansion p_E = p − p_C is

    p_E = e p_C  (Poisson),    p_E s = e² p_C |u_N⁻|  (Stronge: ½ p_E s is the work of a force that grows in proportion),

found by secants, each with a solution of the whole problem.  Where friction makes energy grow nevertheless, the expansion is shortened by no more than until it
does not.
"""

from __future__ import annotations

import math
from typing import Any

from ...native.call import address as at
from ...native.call import call
from ...native.kernel import hot, jit
from ...native.record import Floats, Integers, Record
from ..complementarity.operator import velocities
from ..complementarity.solve import carry_out

#: Laws of impact.
NEWTON, POISSON, STRONGE = range(3)
#: Sliding below this speed (m/s) is rest for static friction.
STICKING = 1e-6
#: Most solutions of an expansion, and of shortening one; the part of an impulse to which a law of impact is met, by few contacts and by many.
EXPANSIONS, SHORTER, MET, ROUGHLY_MET = 60, 40, 1e-10, 1e-7
#: So few contacts have their laws solved to a part of the tolerance.
FEW, FINELY = 16, 1e-3
#: Changes of a speed that tell nothing of its impulse, and the longest step in parts of what W says.
STILL, QUICKEST = 1e-9, 2.0
#: The part of speeds by which an expansion is first made shorter, and to which that is found.
SLIGHTLY, NO_SHORTER = 1e-9, 1e-6


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
    wanted: Floats  # speeds after an expansion by the laws, before it is made shorter
    missing: Floats  # impulses of expansion that laws want more (3)
    earlier: Floats  # speeds of the solution before, by how much they were missed then, and steps in parts of that
    missed: Floats
    pace: Floats
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
def _missed(m: Any, problem: Any, p: Any, laws: Any, slow: float, met: float) -> Any:
    """By how much (m/s) laws of impact are missed, at most, and by which contact; speeds go on towards them.

    By W times the impulses δ that are missing: where all contacts press, speeds follow as those do, and of redundant contacts impulses that move nothing are
    open.  Where friction holds a contact, (W⁻¹)_NN may be many times 1/W_NN: each goes by its secant.
    """
    missing, most, which = m.missing, 0.0, -1
    for k in range(problem.blocks):
        row = 3 * k
        missing[row] = missing[row + 1] = missing[row + 2] = 0.0
        if m.after[k] < 0.0 or m.compression[k] <= 0.0:
            continue
        speed, e, pc, s = -m.before[k], restitution(m, laws[k], -m.before[k]), m.compression[k], m.after[k]
        stronge = m.law[laws[k]] == STRONGE and s > 0.0
        miss = (e * e * pc * speed / s if stronge else e * pc) - (p[row] - pc)
        if s > 0.0 or miss > 0.0:
            missing[row] = miss
    velocities(problem, missing, problem.u)
    for k in range(problem.blocks):
        if m.after[k] < 0.0 or m.compression[k] <= 0.0:
            continue
        wanted, s = problem.u[3 * k] - problem.w[3 * k], m.after[k]
        if abs(wanted) > most and abs(missing[3 * k]) > met * m.compression[k]:
            most, which = abs(wanted), k
        moved = s - m.earlier[k]
        if abs(moved) > STILL * -m.before[k] and moved * (m.missed[k] - wanted) > 0.0:
            m.pace[k] = min(max(moved / (m.missed[k] - wanted), 0.05 * m.pace[k]), min(4.0 * m.pace[k], QUICKEST))
        m.earlier[k], m.missed[k] = s, wanted
        m.after[k] = max(0.0, s + m.pace[k] * wanted)
    return (most, which) if most > slow else (0.0, -1)


@jit
def _shorten(m: Any, blocks: int, part: float) -> None:
    """Lets expansions end with a part of the speeds that their laws want."""
    for k in range(blocks):
        if m.after[k] >= 0.0:
            m.after[k] = part * m.wanted[k]


@jit
def expand(m: Any, task: Any, solver: int, laws: Any, tolerance: float, limit: int) -> float:
    """From the impulses of a compression to those after the expansion; the residual of the laws of contact and of impact."""
    problem, p = task.problem, task.p
    few = problem.blocks <= FEW
    finely, met = (FINELY * tolerance, MET) if few else (tolerance, ROUGHLY_MET)
    for k in range(problem.blocks):
        m.compression[k] = p[3 * k]
        if m.after[k] >= 0.0 and p[3 * k] > 0.0:
            m.after[k] = -m.before[k] * restitution(m, laws[k], -m.before[k])
        m.pace[k], m.earlier[k], m.missed[k] = (0.5 if m.law[laws[k]] == STRONGE else 1.0), m.after[k], 0.0
    residual = _expand(m, task, solver, finely, limit)
    for n in range(EXPANSIONS):
        for k in range(problem.blocks):
            m.wanted[k] = m.after[k]
        most, which = _missed(m, problem, p, laws, finely, met)
        if which < 0:
            break
        if n == EXPANSIONS - 1:
            task.worst, residual = (which, most) if most > residual else (task.worst, residual)
            break
        residual = _expand(m, task, solver, finely, limit)
    low, high, less = 0.0, 1.0, SLIGHTLY
    if _gained(m, problem, p) > 0.0:
        for n in range(SHORTER):
            last = n == SHORTER - 1
            part = low if last else max(0.5 * (low + high), high - less)
            less *= 16.0
            _shorten(m, problem.blocks, part)
            residual = _expand(m, task, solver, finely, limit)
            good = _gained(m, problem, p) <= 0.0
            if good and high - part <= NO_SHORTER:
                break
            low, high = (part, high) if good else (low, part)
    return residual


__all__ = ["NEWTON", "POISSON", "STRONGE", "Impacts", "coefficients", "expand", "restitution"]
