"""Block Gauss–Seidel with exact local solutions (Jean 1999; Daviet, Bertails-Descoubes & Boissieux 2011), accelerated by conjugate directions.

Every block in turn is solved for the impulses that the others have.  Sweeps go forwards: in piles forwards and backwards in turn take half as
many again.

>>> import numpy as np
>>> from .build import dense_problem
>>> p = np.zeros(3)
>>> iterations, residual, worst = gauss_seidel(dense_problem(np.eye(3), [-1.0, 0.1, 0.0], ["contact"], [0.5]), p, 1e-12, 100)
>>> p.round(12) + 0.0
array([ 1. , -0.1,  0. ])
"""

from __future__ import annotations

import math
from typing import Any

from ...native.kernel import hot, jit
from .laws import project, project_cone, project_row, residual, round_impulse
from .one_contact import coulomb
from .operator import copy, local_of, row_velocity, rows_of, set_contact, set_impulse
from .problem import BODIES, CONTACT

#: Sweeps between looks at the residual while changes of velocity are above the tolerance.
LOOK = 32
#: Projected gradients of a block whose cone is relaxed, in a visit.
RELAXED_STEPS = 4


@hot
def _turn_contact(problem: Any, i: int, p: Any) -> float:
    """Solves a contact for the impulses of all others; returns the square of the change of its velocity."""
    at, r = local_of(problem, i), problem.row[i]
    un = row_velocity(problem, i, r, p)
    if un >= 0.0 and p[r] == 0.0 and p[r + 1] == 0.0 and p[r + 2] == 0.0 and not problem.relaxed:
        return 0.0  # stays open
    ua, ub = row_velocity(problem, i, r + 1, p), row_velocity(problem, i, r + 2, p)
    x, y, z = p[r] + (at.a00 * un + at.a01 * ua + at.a02 * ub), p[r + 1] + (at.a01 * un + at.a11 * ua + at.a12 * ub), p[r + 2] + (at.a02 * un + at.a12 * ua + at.a22 * ub)  # fmt: skip
    s1, s2, bound = at.s1, at.s2, at.sticks * x
    if bound > 0.0 and y * y * (s2 * s2) + z * z * (s1 * s1) <= bound * bound * (s1 * s1 * s2 * s2):  # sticks
        set_contact(problem, i, x, y, z, p)
        return un * un + ua * ua + ub * ub
    c, s, n, g1, g2, l1, l2 = at.cosine, at.sine, at.normal, at.g1, at.g2, at.l1, at.l2
    ua, ub = s1 * ua, s2 * ub
    pa, pb = round_impulse(p[r + 1], s1), round_impulse(p[r + 2], s2)
    # to principal tangents
    pn, p1, p2, u1, u2 = p[r], c * pa + s * pb, c * pb - s * pa, c * ua + s * ub, c * ub - s * ua
    along = pn + (g1 * p1 + g2 * p2) * at.over
    if problem.relaxed and n > 0.0:
        x, y, z = _relaxed(n, g1, g2, l1, l2, at.mu, un, u1, u2, pn, p1, p2)
    else:
        q1, q2 = u1 - g1 * along - l1 * p1, u2 - g2 * along - l2 * p2
        x, y, z = coulomb(at, un - n * along, q1, q2, -(u1 * p1 + u2 * p2), p1 * p1 + p2 * p2)
    set_contact(problem, i, x, s1 * (c * y - s * z), s2 * (s * y + c * z), p)
    x, y, z = x - pn, y - p1, z - p2
    along = x + (g1 * y + g2 * z) * at.over
    x, y, z = n * along, g1 * along + l1 * y, g2 * along + l2 * z
    return x * x + y * y + z * z


@jit
def _relaxed(n: float, g1: float, g2: float, l1: float, l2: float, mu: float, un: float, u1: float, u2: float, pn: float, p1: float, p2: float) -> Any:  # fmt: skip
    """A contact without the term μ‖u_T‖ moved some projected gradients towards its solution."""
    a, b, d = l1 + g1 * g1 / n, l2 + g2 * g2 / n, g1 * g2 / n
    over = 1.0 / (n + a + b)
    for _ in range(RELAXED_STEPS):
        x, y, z = project_cone(pn - over * un, p1 - over * u1, p2 - over * u2, mu)
        dx, dy, dz = x - pn, y - p1, z - p2
        un, u1, u2 = un + n * dx + g1 * dy + g2 * dz, u1 + g1 * dx + a * dy + d * dz, u2 + g2 * dx + d * dy + b * dz
        pn, p1, p2 = x, y, z
    return pn, p1, p2


@hot
def _turn_row(problem: Any, i: int, p: Any) -> float:
    """Solves a block of one row; returns the square of the change of its velocity."""
    at, r = local_of(problem, i), problem.row[i]
    before = p[r]
    after = project_row(problem.law[i], problem.coefficient[i, 0], before - row_velocity(problem, i, r, p) * at.over)
    set_impulse(problem, i, r, after, p)
    change = at.normal * (after - before)
    return change * change


@hot
def _turn(problem: Any, i: int, p: Any) -> float:
    return _turn_contact(problem, i, p) if problem.law[i] == CONTACT else _turn_row(problem, i, p)


@jit
def sweep(problem: Any, p: Any) -> float:
    """Every block once; the largest change of the velocity of a block."""
    largest = 0.0
    for i in range(problem.blocks):
        largest = max(largest, _turn(problem, i, p))
    return math.sqrt(largest)


@hot
def _clear(a: Any, size: int) -> None:
    for k in range(size):
        a[k] = 0.0


@hot
def _conjugate(x: Any, size: int, before: Any, along: Any, factor: float) -> None:
    """x + β d, and the new direction d = β d + (x − before)."""
    for k in range(size):
        step = factor * along[k]
        along[k] = step + (x[k] - before[k])
        x[k] += step


@hot
def _length(problem: Any, p: Any, before: Any) -> float:
    """‖p − before‖², rows weighted by the mean diagonals of their blocks."""
    total = 0.0
    for i in range(problem.blocks):
        part = 0.0
        for r in range(problem.row[i], problem.row[i + 1]):
            part += (p[r] - before[r]) * (p[r] - before[r])
        total += local_of(problem, i).mean * part
    return total


@jit
def gauss_seidel(problem: Any, p: Any, tolerance: float, limit: int) -> Any:
    """At most ``limit`` sweeps from p on until the residual is below the tolerance; sweeps, residual and the block that has it."""
    found, worst, rounding = residual(problem, p)
    done, found, worst, rounding = sweeps(problem, p, tolerance, limit, found, worst, rounding)
    return done, found, worst


@jit
def sweeps(problem: Any, p: Any, tolerance: float, limit: int, found: float, worst: int, rounding: float) -> Any:
    """The same from what :func:`.laws.residual` has just told of p; also the rounding.  p ends inside its cones.

    The change that a sweep makes is taken for a gradient, and sweeps begin from conjugate directions further on (Silcowitz-Hansen, Niebe &
    Erleben 2010).  The residual is looked at when a sweep changes little, and now and then.  Impulses that grow beyond all bounds (a
    block that is not positive semi-definite) end as zeros.
    """
    m = rows_of(problem)
    before, along, bodies = problem.work[:m], problem.work[m : 2 * m], problem.bodies
    moving = 6 * bodies.count if problem.form == BODIES else 0
    done, look, last = 0, LOOK, 0.0
    while found > tolerance + rounding and done < limit and math.isfinite(found):
        copy(p, m, before)
        copy(bodies.v, moving, bodies.before)
        change = sweep(problem, p)
        done += 1
        if change <= tolerance + rounding or done >= look or done == limit:
            look = done + LOOK
            project(problem, p)  # by rounding
            found, worst, rounding = residual(problem, p)
        if found > tolerance + rounding and done < limit:
            length = _length(problem, p, before)
            if not 0.0 < length <= last:  # away from the solution: begin anew
                _clear(along, m)
                _clear(bodies.along, moving)
                last = length
            factor = length / last if last > 0.0 else 0.0
            _conjugate(p, m, before, along, factor)
            _conjugate(bodies.v, moving, bodies.before, bodies.along, factor)
            last = length
    if done > 0 and not math.isfinite(found):
        _clear(p, m)
        found, worst, rounding = residual(problem, p)
    return done, found, worst, rounding
