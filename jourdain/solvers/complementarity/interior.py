"""Interior points for contacts of free bodies that touch in rows: dominoes, stacks, arches (a matrix over the bodies is a narrow band there).

With μ taken into the tangents, r = (p_n, p_T/μ) and z = (u_n + μ‖u_T‖, μ u_T), a contact's law is L ∋ r ⟂ z ∈ L with L the second-order cone.  Points inside the cones follow
r ∘ z = τ e to τ → 0 by steps of Newton's method, scaled by the point w with 2 w wᵀ − J taking z to r (Nesterov & Todd 1997), with Mehrotra's (1992) prediction of τ and of
the products that a step leaves.  De Saxcé's term μ‖u_T‖ is linearised with the rest, which is quick; from where that fails it is kept at the velocities
of the last point (Acary, Armand, Nguyen & Shpakovych 2023), which makes every step that of a convex problem.

A step's equations are those of :mod:`.over_bodies` with K = D S G D, D = diag(1, μ₁, μ₂) and G what the term adds.
"""

from __future__ import annotations

import math
from typing import Any

from ...native.kernel import hot, jit
from .laws import residual, round_impulse
from .operator import copy, local_of, rows_of
from .over_bodies import factor_bodies, solve_bodies, velocity_change
from .problem import Cone

#: τ begins so that velocities are this part of the largest; the way to the boundary of the cones that is gone.
BEGIN, NEARLY = 0.1, 0.95
#: Most steps that linearise the term of De Saxcé, and most of those that keep it.
LINEARISED, KEPT = 20, 40
#: The least part of τ that is aimed at.
CENTRED = 1e-6
TINY = 1e-300


@hot
def _cone(problem: Any, i: int) -> Any:
    return Cone.at(problem.over.cones[i])


@hot
def _determinant(a: float, b: float, c: float) -> float:
    """a² − b² − c² without cancellation of squares."""
    t = math.sqrt(b * b + c * c)
    return (a - t) * (a + t)


# -- cones ------------------------------------------------------------------------------------------------------------------


@jit
def _begin(problem: Any, p: Any) -> None:
    """Points inside the cones near p, of which ``problem.u`` are the velocities; p becomes theirs."""
    least = 0.0
    for r in range(rows_of(problem)):
        least = max(least, BEGIN * abs(problem.w[r]))
    for i in range(problem.blocks):
        at, c, r, u = local_of(problem, i), _cone(problem, i), problem.row[i], problem.u
        c.d1, c.d2 = at.mu * at.s1, at.mu * at.s2
        c.r1, c.r2 = round_impulse(p[r + 1], c.d1), round_impulse(p[r + 2], c.d2)
        c.z1, c.z2 = c.d1 * u[r + 1], c.d2 * u[r + 2]
        rt, zt = math.sqrt(c.r1 * c.r1 + c.r2 * c.r2), math.sqrt(c.z1 * c.z1 + c.z2 * c.z2)
        c.r0, c.z0 = max(p[r], rt) + least / at.mean, max(u[r] + zt, zt) + least
        p[r], p[r + 1], p[r + 2] = c.r0, c.d1 * c.r1, c.d2 * c.r2


@jit
def _scale(problem: Any, i: int, linearised: bool) -> float:
    """The point of Nesterov and Todd of a contact, K = D S G D with S what takes z to r, and what its velocities miss; r · z."""
    c, r, u = _cone(problem, i), problem.row[i], problem.u
    a, b = math.sqrt(max(_determinant(c.r0, c.r1, c.r2), TINY)), math.sqrt(max(_determinant(c.z0, c.z1, c.z2), TINY))
    product = c.r0 * c.z0 + c.r1 * c.z1 + c.r2 * c.z2
    over = 1.0 / math.sqrt(2.0 + 2.0 * max(product / (a * b), 1.0))
    c.w0, c.w1, c.w2 = over * (c.r0 / a + c.z0 / b), over * (c.r1 / a - c.z1 / b), over * (c.r2 / a - c.z2 / b)
    size = a / b
    c.root = math.sqrt(size)
    u0, u1, u2 = u[r], c.d1 * u[r + 1], c.d2 * u[r + 2]
    x, y = (c.z1, c.z2) if linearised else (u1, u2)
    opening = math.sqrt(x * x + y * y)
    c.m0, c.m1, c.m2 = c.z0 - u0 - opening, c.z1 - u1, c.z2 - u2
    c.g1, c.g2 = (x / opening, y / opening) if linearised and opening > 0.0 else (0.0, 0.0)
    s00, s11, s22 = size * (2.0 * c.w0 * c.w0 - 1.0), size * (2.0 * c.w1 * c.w1 + 1.0), size * (2.0 * c.w2 * c.w2 + 1.0)
    s01, s02, s12 = size * 2.0 * c.w0 * c.w1, size * 2.0 * c.w0 * c.w2, size * 2.0 * c.w1 * c.w2
    c.k00, c.k01, c.k02 = s00, s01 + s00 * c.g1, s02 + s00 * c.g2
    c.k10, c.k11, c.k12 = s01, s11 + s01 * c.g1, s12 + s01 * c.g2
    c.k20, c.k21, c.k22 = s02, s12 + s02 * c.g1, s22 + s02 * c.g2
    K, d1, d2 = problem.over.K[i], c.d1, c.d2
    K[0], K[1], K[2], K[3], K[6] = c.k00, c.k01 * d1, c.k02 * d2, d1 * c.k10, d2 * c.k20
    K[4], K[5], K[7], K[8] = d1 * c.k11 * d1, d1 * c.k12 * d2, d2 * c.k21 * d1, d2 * c.k22 * d2
    return product


@hot
def _way(x0: float, x1: float, x2: float, d0: float, d1: float, d2: float, most: float) -> float:
    """How far x + α d stays in the cone, at most ``most``."""
    a, c = _determinant(d0, d1, d2), max(_determinant(x0, x1, x2), 0.0)
    b = x0 * d0 - x1 * d1 - x2 * d2
    inside = b * b - a * c
    if d0 < 0.0:  # also where squares of what is parallel cancel
        most = min(most, x0 / -d0)
    if a < 0.0 or (b < 0.0 and inside >= 0.0):
        return min(most, c / max(math.sqrt(max(inside, 0.0)) - b, TINY))
    return most


@hot
def _ways(c: Any, most: float) -> float:
    """The same of both points of a contact along their directions."""
    most = _way(c.r0, c.r1, c.r2, c.dr0, c.dr1, c.dr2, most)
    return _way(c.z0, c.z1, c.z2, c.dz0, c.dz1, c.dz2, most)


@hot
def _half(c: Any, sign: float, scale: float, x0: float, x1: float, x2: float) -> Any:
    """S^½ x (sign 1, scale √size) and S^−½ x (−1, its inverse)."""
    w1, w2 = sign * c.w1, sign * c.w2
    along = w1 * x1 + w2 * x2
    part = x0 + along / (1.0 + c.w0)
    return scale * (c.w0 * x0 + along), scale * (w1 * part + x1), scale * (w2 * part + x2)


@hot
def _aim(c: Any, tau: float) -> None:
    """Right sides of the second solution: τ e − λ ∘ λ − (S^−½ dr) ∘ (S^½ dz), divided by λ = S^½ z and taken back; in the places of dr."""
    over = 1.0 / c.root
    a0, a1, a2 = _half(c, -1.0, over, c.dr0, c.dr1, c.dr2)
    b0, b1, b2 = _half(c, 1.0, c.root, c.dz0, c.dz1, c.dz2)
    l0, l1, l2 = _half(c, 1.0, c.root, c.z0, c.z1, c.z2)
    x0 = tau - (l0 * l0 + l1 * l1 + l2 * l2) - (a0 * b0 + a1 * b1 + a2 * b2)
    x1, x2 = -2.0 * l0 * l1 - a0 * b1 - b0 * a1, -2.0 * l0 * l2 - a0 * b2 - b0 * a2
    y0 = (l0 * x0 - l1 * x1 - l2 * x2) / max(_determinant(l0, l1, l2), TINY)
    c.dr0, c.dr1, c.dr2 = _half(c, 1.0, c.root, y0, (x1 - y0 * l1) / l0, (x2 - y0 * l2) / l0)


# -- steps ------------------------------------------------------------------------------------------------------------------


@jit
def _solve(problem: Any, x: Any) -> None:
    """Directions of all contacts from right sides in the places of dr."""
    for i in range(problem.blocks):
        c, r = _cone(problem, i), problem.row[i]
        c.dr0 += c.k00 * c.m0 + c.k01 * c.m1 + c.k02 * c.m2
        c.dr1 += c.k10 * c.m0 + c.k11 * c.m1 + c.k12 * c.m2
        c.dr2 += c.k20 * c.m0 + c.k21 * c.m1 + c.k22 * c.m2
        x[r], x[r + 1], x[r + 2] = c.dr0, c.d1 * c.dr1, c.d2 * c.dr2
    solve_bodies(problem, x)
    for i in range(problem.blocks):
        c = _cone(problem, i)
        u0, u1, u2 = velocity_change(problem, i)
        u1, u2 = c.d1 * u1, c.d2 * u2
        c.dr0 -= c.k00 * u0 + c.k01 * u1 + c.k02 * u2
        c.dr1 -= c.k10 * u0 + c.k11 * u1 + c.k12 * u2
        c.dr2 -= c.k20 * u0 + c.k21 * u1 + c.k22 * u2
        c.dz1, c.dz2 = u1 - c.m1, u2 - c.m2
        c.dz0 = u0 - c.m0 + c.g1 * c.dz1 + c.g2 * c.dz2


@jit
def _step(problem: Any, p: Any, linearised: bool) -> bool:
    """One step of all contacts, and p of where it ends; False where there is none."""
    n, total, x = problem.blocks, 0.0, problem.work[3 * rows_of(problem) :]
    for i in range(n):
        total += _scale(problem, i, linearised)
    if not factor_bodies(problem):
        return False
    for i in range(n):
        c = _cone(problem, i)
        c.dr0, c.dr1, c.dr2 = -c.r0, -c.r1, -c.r2
    _solve(problem, x)
    length, left = 1.0, 0.0
    for i in range(n):
        length = _ways(_cone(problem, i), length)
    for i in range(n):
        c = _cone(problem, i)
        left += (c.r0 + length * c.dr0) * (c.z0 + length * c.dz0)
        left += (c.r1 + length * c.dr1) * (c.z1 + length * c.dz1) + (c.r2 + length * c.dr2) * (c.z2 + length * c.dz2)
    part = max(left, 0.0) / total
    tau = min(1.0, max(CENTRED, part * part * part)) * total / n
    for i in range(n):
        _aim(_cone(problem, i), tau)
    _solve(problem, x)
    length = 1.0 / NEARLY
    for i in range(n):
        length = _ways(_cone(problem, i), length)
    length *= NEARLY
    if not length > 0.0:
        return False
    for i in range(n):
        c, r = _cone(problem, i), problem.row[i]
        c.r0, c.r1, c.r2 = c.r0 + length * c.dr0, c.r1 + length * c.dr1, c.r2 + length * c.dr2
        c.z0, c.z1, c.z2 = c.z0 + length * c.dz0, c.z1 + length * c.dz1, c.z2 + length * c.dz2
        p[r], p[r + 1], p[r + 2] = c.r0, c.d1 * c.r1, c.d2 * c.r2
    return True


@jit
def _follow(problem: Any, p: Any, tolerance: float, limit: int, linearised: bool) -> Any:
    """At most ``limit`` steps from p on; steps, residual and the block that has it.  p ends at the best point that was found."""
    m, done = rows_of(problem), 0
    best = problem.work[:m]
    found, worst, rounding = residual(problem, p)
    least = found
    copy(p, m, best)
    _begin(problem, p)
    residual(problem, p)
    while found > tolerance + rounding and done < limit and math.isfinite(found) and _step(problem, p, linearised):
        done += 1
        found, worst, rounding = residual(problem, p)
        if found < least:
            least = found
            copy(p, m, best)
    copy(best, m, p)
    found, worst, _ = residual(problem, p)
    return done, found, worst


@jit
def interior(problem: Any, p: Any, tolerance: float) -> Any:
    """From p on until the residual is below the tolerance; steps, residual and the block that has it.  After :func:`.over_bodies.order_bodies`."""
    m = rows_of(problem)
    given = problem.work[m : 2 * m]
    copy(p, m, given)
    done, found, worst = _follow(problem, p, tolerance, LINEARISED, True)
    if found > tolerance + residual(problem, p)[2]:
        copy(given, m, p)
        steps, found, worst = _follow(problem, p, tolerance, KEPT, False)
        done += steps
    return done, found, worst
