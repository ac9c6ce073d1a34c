"""Few contacts from a good guess: where none slides, a contact problem is one symmetric system of linear equations.

With a = λ p − u (λ the mean diagonal of a block) those with a_n ≤ 0 are taken as open, p = 0, and those with a inside their cones as sticking, u = 0.
The rows of the latter have W p = −w, in proximal form as in :mod:`.newton` where they depend on each other; what comes of it is projected on the cones, and the residual of the natural map
tells whether the choice was right.  Where some slide, a step of Newton's method takes its place.  Factors stay where the next problem has the same W and the same choice: that of a second look at one step.
"""

from __future__ import annotations

import math
from typing import Any

from ...native.kernel import hot, jit
from ..linear.dense import symmetric_factor, symmetric_solve
from .laws import project, residual, round_impulse
from .matrix import fill_matrix, list_incidents, number_blocks
from .newton import SOFT, direction
from .one_contact import SMOOTH
from .operator import copy, local_of, rows_of, velocities
from .problem import BILATERAL, CONTACT, UNILATERAL

#: Most steps: choices, and corrections of their rounding.
CHOICES = 8
#: What a block does: it has no rows in the equations, its first alone, all, or it slides.
OPEN, FIRST, ALL, SLIDES = range(4)


@hot
def _choice(problem: Any, i: int, p: Any, u: Any) -> int:
    """What block i does by the sign of its natural map."""
    at, r, law = local_of(problem, i), problem.row[i], problem.law[i]
    a = at.mean * p[r] - u[r]
    if law != CONTACT:
        holds = law == BILATERAL or (a > 0.0 if law == UNILATERAL else abs(a) <= at.mean * problem.coefficient[i, 0])
        return FIRST if holds else OPEN
    if a <= 0.0 and not problem.relaxed:
        return OPEN
    if at.mu <= SMOOTH:
        return FIRST if a > 0.0 else OPEN
    x = at.mean * round_impulse(p[r + 1], at.s1) - at.s1 * u[r + 1]
    y = at.mean * round_impulse(p[r + 2], at.s2) - at.s2 * u[r + 2]
    t = math.sqrt(x * x + y * y)
    if at.mu * t <= -a:
        return OPEN
    return ALL if t <= at.mu * a and at.s1 > 0.0 and at.s2 > 0.0 else SLIDES


@hot
def _released(problem: Any, i: int, p: Any, u: Any) -> float:
    """The first impulse of a block whose impulse does not depend on its velocity."""
    law, r = problem.law[i], problem.row[i]
    if law == CONTACT or law == UNILATERAL:  # noqa: SIM109  (kernels have no "in")
        return 0.0
    return math.copysign(problem.coefficient[i, 0], local_of(problem, i).mean * p[r] - u[r])


@jit
def _choose(problem: Any, p: Any, place: Any) -> int:
    """Gives rows of blocks that hold their places in the equations, and others their impulses; how many rows, −1 where a block slides."""
    u, stuck, count, moved = problem.u, problem.stuck, 0, False
    for i in range(problem.blocks):
        choice = _choice(problem, i, p, u)
        if choice == SLIDES:
            return -1
        if stuck[i] != choice:
            stuck[i], problem.held = choice, 0
    for i in range(problem.blocks):
        for r in range(problem.row[i], problem.row[i + 1]):
            place[r] = -1
            if stuck[i] != OPEN:
                place[r] = count
                count += 1
        r = problem.row[i]
        if stuck[i] == OPEN:
            impulse = _released(problem, i, p, u)
            moved = moved or p[r] != impulse
            p[r] = impulse
        if stuck[i] != ALL and problem.law[i] == CONTACT:
            moved = moved or p[r + 1] != 0.0 or p[r + 2] != 0.0
            p[r + 1] = p[r + 2] = 0.0
    if moved:
        velocities(problem, p, u)
    return count  # type: ignore[no-any-return]


@jit
def _fill(problem: Any, place: Any, n: int, soft: float) -> float:
    """W of the rows that hold, with ε λ on its diagonal; the largest λ."""
    a, row, largest = problem.matrix, problem.row, 0.0
    fill_matrix(problem, place, n * n, n, 0, a)
    for i in range(problem.blocks):
        mean = local_of(problem, i).mean
        for r in range(row[i], row[i + 1] if problem.stuck[i] != OPEN else row[i]):
            k = place[r]
            a[n * k + k] += soft * mean
            largest = max(largest, mean)
            if problem.stuck[i] == FIRST and r > row[i]:  # rows that have no part in anything
                for j in range(n):
                    a[n * k + j] = a[n * j + k] = 0.0
                a[n * k + k] = mean
    return largest


@jit
def _prepare(problem: Any, place: Any, n: int) -> bool:
    """The factors of the rows that hold; where some depend on others, in proximal form, by which these share what they bear."""
    list_incidents(problem)
    if symmetric_factor(problem.matrix, n, SOFT * _fill(problem, place, n, 0.0)):
        return True
    _fill(problem, place, n, SOFT)
    return symmetric_factor(problem.matrix, n, 0.0)  # type: ignore[no-any-return]


@jit
def _hold(problem: Any, p: Any, n: int) -> bool:
    """Impulses by which n rows have no velocity; False where there are none."""
    place, right = problem.whole, problem.work
    if problem.held != n:
        problem.held = 0
        if not _prepare(problem, place, n):
            return False
        problem.held = n
    for i in range(problem.blocks):
        for r in range(problem.row[i], problem.row[i + 1] if problem.stuck[i] != OPEN else problem.row[i]):
            right[place[r]] = -problem.u[r] if problem.stuck[i] == ALL or r == problem.row[i] else 0.0
    symmetric_solve(problem.matrix, n, right)
    for i in range(problem.blocks):
        for r in range(problem.row[i], problem.row[i + 1] if problem.stuck[i] != OPEN else problem.row[i]):
            p[r] += right[place[r]]
    return True


@jit
def _slide(problem: Any, p: Any) -> bool:
    """A whole step of Newton's method."""
    m, d = rows_of(problem), problem.work
    problem.held = 0
    number_blocks(problem)
    if not direction(problem, p, problem.u, d, problem.work[m : 2 * m], SOFT):
        return False
    for r in range(m):
        p[r] += d[r]
    return True


@jit
def hold(problem: Any, p: Any, tolerance: float, found: float, worst: int, rounding: float) -> Any:
    """From p, of which :func:`.laws.residual` has just told, by choices of what holds; steps, residual, the block that has it, and the rounding.

    p is inside its cones, the best that was seen.  There must be room for a matrix of all rows.
    """
    m, least, done, before = rows_of(problem), found, 0, math.inf
    best = problem.work[4 * m : 5 * m]
    copy(p, m, best)
    while found > tolerance + rounding and done < CHOICES and math.isfinite(found) and 2.0 * found <= before:
        n, before = _choose(problem, p, problem.whole), found
        if not (_slide(problem, p) if n < 0 else _hold(problem, p, n)):
            found = math.inf
            break
        project(problem, p)
        found, worst, rounding = residual(problem, p)
        done += 1
        if found < least:
            least = found
            copy(p, m, best)
    if not found <= least:
        problem.held = 0
        copy(best, m, p)
        found, worst, rounding = residual(problem, p)
    return done, found, worst, rounding
