"""Accelerated projected gradients (Nesterov 1983; Mazhar, Heyn, Negrut & Tasora 2015), the exact cone through a fixed point.

For given s the problem K ∋ p ⟂ W p + w + s ∈ K* is convex: its solution has the least ½ pᵀ W p + (w + s)ᵀ p.  Coulomb's law is the fixed point
s = (μ‖u_T‖, 0, 0) (De Saxcé & Feng 1998; Acary, Cadoux, Lemaréchal & Malick 2011); s is renewed every few iterations.  Gradients are scaled by the
mean diagonal of every block, which leaves cones what they are, and momentum ends where it leads uphill (O'Donoghue & Candès 2015).  An
iteration applies W once and has no order of blocks.
"""

from __future__ import annotations

import math
from typing import Any

from ...native.kernel import hot, jit
from .laws import find_openings, project_cone, project_row, residual, round_impulse
from .operator import copy, local_of, response, rows_of, velocities
from .problem import CONTACT

#: Iterations after which s is renewed, and between looks at the residual.
RENEW, LOOK = 20, 20
#: Iterations for the largest eigenvalue of W, and what is added to the estimate, which comes from below.
POWER, SAFETY = 12, 1.1


@jit
def largest_curvature(problem: Any, x: Any, y: Any) -> float:
    """The largest eigenvalue of W scaled by the mean diagonals, by power iteration from a vector without symmetry."""
    m, value = rows_of(problem), 1.0
    for i in range(problem.blocks):
        over = 1.0 / math.sqrt(local_of(problem, i).mean)
        for r in range(problem.row[i], problem.row[i + 1]):
            x[r] = over * (1.0 + 0.5 * math.sin(1.7 * r + 0.3))
    for _ in range(POWER):
        response(problem, x, y)
        upper, lower = 0.0, 0.0
        for i in range(problem.blocks):
            mean = local_of(problem, i).mean
            for r in range(problem.row[i], problem.row[i + 1]):
                lower += mean * x[r] * x[r]
                x[r] = y[r] / mean
                upper += mean * x[r] * x[r]
        if not (upper > 0.0 and lower > 0.0):
            return 1.0
        value = math.sqrt(upper / lower)
        for r in range(m):
            x[r] /= math.sqrt(upper)
    return max(1.0, value)


@hot
def _step(problem: Any, i: int, y: Any, u: Any, s: float, over: float, p: Any) -> float:
    """Projected gradient of a block from y, into p; how far it leads against the gradient's direction."""
    at, r, law = local_of(problem, i), problem.row[i], problem.law[i]
    length = over / at.mean
    if law != CONTACT:
        x = project_row(law, problem.coefficient[i, 0], y[r] - length * u[r])
        uphill = u[r] * (x - p[r])
        p[r] = x
        return uphill
    s1, s2 = at.s1, at.s2
    a, b, un = s1 * u[r + 1], s2 * u[r + 2], u[r] + s
    n, t1, t2 = project_cone(y[r] - length * un, round_impulse(y[r + 1], s1) - length * a, round_impulse(y[r + 2], s2) - length * b, at.mu)
    t1, t2 = s1 * t1, s2 * t2
    uphill = un * (n - p[r]) + u[r + 1] * (t1 - p[r + 1]) + u[r + 2] * (t2 - p[r + 2])
    p[r], p[r + 1], p[r + 2] = n, t1, t2
    return uphill


@jit
def first_order(problem: Any, p: Any, tolerance: float, limit: int) -> Any:
    """At most ``limit`` iterations from p on until the residual is below the tolerance; iterations, residual and the block that has it.

    p ends at the best point that was looked at: the fixed point need not attract.
    """
    m = rows_of(problem)
    y, before, u, s = problem.work[:m], problem.work[m : 2 * m], problem.work[2 * m : 3 * m], problem.work[3 * m : 4 * m]
    best = problem.work[4 * m : 5 * m]
    found, worst, rounding = residual(problem, p)
    if not (found > tolerance + rounding and math.isfinite(found)):
        return 0, found, worst
    over = 1.0 / (SAFETY * largest_curvature(problem, y, u))
    theta, done, least = 1.0, 0, found
    copy(p, m, best)
    for r in range(m):
        y[r], s[r] = p[r], 0.0
    while found > tolerance + rounding and done < limit and math.isfinite(found):
        velocities(problem, y, u)
        if done % RENEW == 0 and not problem.relaxed:
            find_openings(problem, u, s)
        uphill = 0.0
        copy(p, m, before)
        for i in range(problem.blocks):
            uphill += _step(problem, i, y, u, s[i], over, p)
        done += 1
        after = 0.5 * theta * (math.sqrt(theta * theta + 4.0) - theta)
        momentum = theta * (1.0 - theta) / (theta * theta + after)
        theta = after
        if uphill > 0.0:
            momentum, theta = 0.0, 1.0
        for r in range(m):
            y[r] = p[r] + momentum * (p[r] - before[r])
        if done % LOOK == 0 or done == limit:
            found, worst, rounding = residual(problem, p)
            if found < least:
                least = found
                copy(p, m, best)
    if not found <= least:
        copy(best, m, p)
        found, worst, rounding = residual(problem, p)
    return done, found, worst
