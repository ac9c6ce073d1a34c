"""Laws of blocks: projections on their cones, and the residual of the natural map p − P(p − ρ û) (Facchinei & Pang 2003, section 1.5)."""

from __future__ import annotations

import math
from typing import Any

from ...native.kernel import hot, jit
from .operator import local_of, renew_velocities, row_velocity, velocities
from .problem import BILATERAL, CONTACT, UNILATERAL

#: Of the velocities that single impulses bring about, what may be left when they cancel.
ROUNDING = 1e-15


@hot
def project_cone(n: float, t1: float, t2: float, mu: float) -> Any:
    """The point of ‖p_T‖ ≤ μ p_n nearest to (n, t₁, t₂)."""
    t = math.sqrt(t1 * t1 + t2 * t2)
    if n >= 0.0 and t <= mu * n:
        return n, t1, t2
    if mu * t <= -n:
        return 0.0, 0.0, 0.0
    height = (n + mu * t) / (1.0 + mu * mu)
    return height, mu * height * t1 / t, mu * height * t2 / t


@hot
def project_row(law: int, bound: float, x: float) -> float:
    """The allowed impulse of a block of one row nearest to x."""
    if law == BILATERAL:
        return x
    if law == UNILATERAL:
        return max(0.0, x)
    return min(max(x, -bound), bound)


@hot
def round_impulse(x: float, stretch: float) -> float:
    """A tangential impulse in the coordinates in which the cone is round; 0 where there is no friction in its direction."""
    return x / stretch if stretch > 0.0 else 0.0


@jit
def project(problem: Any, p: Any) -> None:
    """Moves every block's impulse to the nearest one that its law allows."""
    for i in range(problem.blocks):
        r, law = problem.row[i], problem.law[i]
        if law == CONTACT:
            at = local_of(problem, i)
            n, t1, t2 = project_cone(p[r], round_impulse(p[r + 1], at.s1), round_impulse(p[r + 2], at.s2), at.mu)
            p[r], p[r + 1], p[r + 2] = n, at.s1 * t1, at.s2 * t2
        else:
            p[r] = project_row(law, problem.coefficient[i, 0], p[r])


@hot
def contact_residual(problem: Any, i: int, p: Any, u: Any) -> float:
    """Length of the natural map of a contact in units of velocity, ρ = 1/mean of the diagonal of its block."""
    at, r = local_of(problem, i), problem.row[i]
    mean, mu = at.mean, at.mu
    u1, u2 = at.s1 * u[r + 1], at.s2 * u[r + 2]
    un = u[r] + (0.0 if problem.relaxed else mu * math.sqrt(u1 * u1 + u2 * u2))
    n, t1, t2 = mean * p[r], mean * round_impulse(p[r + 1], at.s1), mean * round_impulse(p[r + 2], at.s2)
    x, y, z = project_cone(n - un, t1 - u1, t2 - u2, mu)
    return math.sqrt((n - x) * (n - x) + (t1 - y) * (t1 - y) + (t2 - z) * (t2 - z))


@hot
def block_residual(problem: Any, i: int, p: Any, u: Any) -> float:
    """Length of the natural map of a block in units of velocity."""
    law = problem.law[i]
    if law == CONTACT:
        return contact_residual(problem, i, p, u)
    r, mean = problem.row[i], local_of(problem, i).mean
    x = mean * p[r]
    return abs(x - project_row(law, mean * problem.coefficient[i, 0], x - u[r]))


@jit
def residual(problem: Any, p: Any) -> Any:
    """The largest residual of all blocks, the block that has it (−1 without blocks), and what rounding of the velocities alone may make of it.

    Velocities are computed anew from p, and left in ``problem.u``.  The residual of p that is not finite is infinite.
    """
    renew_velocities(problem, p)
    worst, block, size, u = 0.0, -1, 0.0, problem.u
    for i in range(problem.blocks):
        for r in range(problem.row[i], problem.row[i + 1]):
            u[r] = row_velocity(problem, i, r, p)
        found = block_residual(problem, i, p, u)
        if not math.isfinite(found):
            velocities(problem, p, u)
            return math.inf, i, 0.0
        if found > worst or block < 0:
            worst, block = found, i
        mean = local_of(problem, i).mean
        for r in range(problem.row[i], problem.row[i + 1]):
            size = max(size, mean * abs(p[r]))
    return worst, block, ROUNDING * size


@jit
def find_openings(problem: Any, u: Any, s: Any) -> None:
    """s = μ‖u_T‖ of every contact, 0 of other blocks."""
    for i in range(problem.blocks):
        s[i] = 0.0
        if problem.law[i] == CONTACT:
            at, r = local_of(problem, i), problem.row[i]
            u1, u2 = at.s1 * u[r + 1], at.s2 * u[r + 2]
            s[i] = at.mu * math.sqrt(u1 * u1 + u2 * u2)


@jit
def relaxation_gap(problem: Any, p: Any) -> float:
    """The largest μ‖u_T‖ of contacts that act, by which a relaxed solution opens them (with the velocities in ``problem.u``)."""
    gap, s = 0.0, problem.work
    find_openings(problem, problem.u, s)
    for i in range(problem.blocks):
        if p[problem.row[i]] > 0.0:
            gap = max(gap, s[i])
    return gap
