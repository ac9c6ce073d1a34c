"""Semi-smooth Newton method on the functions of Alart & Curnier (1991), for problems of moderate size and all digits.

With a = λ p − u (λ the mean diagonal of the block) a block's equations F(p, u) = 0 are

    contact:     λ p_n − max(0, a_n) = 0,   λ p_T − P(a_T; μ max(0, a_n)) = 0   (P: on the disc of that radius),
    relaxed:     λ p − P_K(a) = 0,
    one row:     λ p − P(a) = 0.

Linearised, A dp + B du = −F with du = (W + C) dp.  Blocks whose impulse does not depend on u (open contacts, dry friction at its bound) take
it at once; the others are solved together by LU factors, of a band where blocks can be put in such an order, dense otherwise.  Redundant
contacts make W singular: their equations are solved in proximal form, (W + ε λ) dp, which does not move the solution, and leaves
combinations of impulses that have no effect as they are.
"""

from __future__ import annotations

import math
from typing import Any

from ...native.kernel import hot, jit
from ..linear.band import band_factor, band_solve
from ..linear.dense import lu_factor, lu_solve
from .gauss_seidel import sweep
from .laws import find_openings, residual, round_impulse
from .matrix import fill_matrix, half_width, number_blocks, order_of
from .operator import copy, local_of, response, rows_of, velocities
from .problem import BILATERAL, CONTACT, UNILATERAL, WORK

#: ε of the proximal form.
SOFT = 1e-10
#: Halvings of a step; sweeps of Gauss–Seidel where none of them helps: twice as many each time, up to a limit.
HALVINGS, RESCUE, MOST = 8, 4, 256
#: Most steps for a relaxed problem and for a trial of the exact one.
CONVEX, TRIAL = 40, 6
#: Relaxed problems in a row that do not halve the residual, at most.
IDLE = 12
#: A band is taken for one when its half width is below the number of rows over this.
BAND = 4
#: A step is good when it makes the norm of F smaller by this part of it.
DECREASE = 1e-4


@hot
def _set3(M: Any, k: int, a: float, b: float, c: float) -> None:
    M[k], M[k + 1], M[k + 2] = a, b, c


@jit
def _linearise_contact(problem: Any, i: int, p: Any, u: Any, out: Any) -> bool:
    """A (9 numbers), B (9) and F (3) of a contact in ``out``; whether its impulse depends on u."""
    at, r = local_of(problem, i), problem.row[i]
    mean, mu, s1, s2 = at.mean, at.mu, at.s1, at.s2
    n, x, y = mean * p[r], mean * round_impulse(p[r + 1], s1), mean * round_impulse(p[r + 2], s2)
    an, a1, a2 = n - u[r], x - s1 * u[r + 1], y - s2 * u[r + 2]
    t = math.sqrt(a1 * a1 + a2 * a2)
    # derivative D of the projection of a, by rows; the projected point (zn, z1, z2)
    if (problem.relaxed and mu * t <= -an) or (not problem.relaxed and an <= 0.0):
        return False
    for k in range(18):
        out[k] = 0.0
    if t <= mu * an:
        out[9], out[13], out[17] = 1.0, 1.0, 1.0
        zn, z1, z2 = an, a1, a2
    else:
        e1, e2 = a1 / t, a2 / t
        if problem.relaxed:
            over = 1.0 / (1.0 + mu * mu)
            zn = (an + mu * t) * over
            _set3(out, 9, over, over * mu * e1, over * mu * e2)
        else:
            zn = an
            out[9] = 1.0
        radius = mu * zn
        z1, z2 = radius * e1, radius * e2
        side = radius / t
        _set3(out, 12, mu * e1 * out[9], mu * e1 * out[10] + side * e2 * e2, mu * e1 * out[11] - side * e1 * e2)
        _set3(out, 15, mu * e2 * out[9], mu * e2 * out[10] - side * e1 * e2, mu * e2 * out[11] + side * e1 * e1)
    _set3(out, 18, n - zn, x - z1, y - z2)
    w1, w2 = round_impulse(mean, s1), round_impulse(mean, s2)
    for k in (0, 3, 6):  # A = (1 − D) λ and B = D, in the caller's coordinates
        _set3(out, k, -mean * out[9 + k], -w1 * out[10 + k], -w2 * out[11 + k])
        out[10 + k], out[11 + k] = s1 * out[10 + k], s2 * out[11 + k]
    out[0] += mean
    out[4] += w1 if s1 > 0.0 else mean
    out[8] += w2 if s2 > 0.0 else mean
    return True


@jit
def _linearise(problem: Any, i: int, p: Any, u: Any, out: Any) -> bool:
    """The same for any block: a row's A, B and F are out[0], out[9] and out[18].  Where impulses do not depend on u, F is λ times p less them."""
    if problem.law[i] == CONTACT:
        if _linearise_contact(problem, i, p, u, out):
            return True
        r, mean = problem.row[i], local_of(problem, i).mean
        _set3(out, 18, mean * p[r], mean * p[r + 1], mean * p[r + 2])
        return False
    r, mean, law = problem.row[i], local_of(problem, i).mean, problem.law[i]
    if problem.row[i + 1] - r == 3:  # rows beside the first are idle
        for k in range(21):
            out[k] = 0.0
        out[4], out[8] = 1.0, 1.0
    a = mean * p[r] - u[r]
    bound = mean * problem.coefficient[i, 0]
    free = law == BILATERAL or (a > 0.0 if law == UNILATERAL else abs(a) <= bound)
    if free:
        out[0], out[9], out[18] = 0.0, 1.0, u[r]
    else:
        out[18] = mean * p[r] - (0.0 if law == UNILATERAL else math.copysign(bound, a))
    return free


@jit
def _merit(problem: Any, p: Any, u: Any, out: Any) -> float:
    """‖F‖²."""
    total = 0.0
    for i in range(problem.blocks):
        _linearise(problem, i, p, u, out)
        for k in range(problem.row[i + 1] - problem.row[i]):
            total += out[18 + k] * out[18 + k]
    return total


# -- steps ------------------------------------------------------------------------------------------------------------------


@hot
def _fits(problem: Any, band: int, count: int) -> bool:
    return (3 * band + 1 if BAND * band < count else count) * count <= problem.matrix.size


@jit
def newton_width(problem: Any) -> int:
    """Half the width of the matrix of all rows together, −1 where it does not fit the room for Newton's method."""
    m, order = rows_of(problem), order_of(problem)
    number_blocks(problem)
    count = 0
    for k in range(problem.blocks):
        for r in range(problem.row[order[k]], problem.row[order[k] + 1]):
            problem.whole[r] = count
            count += 1
    width = half_width(problem, problem.whole, m)
    return width if m * m <= problem.matrix.size or _fits(problem, width, m) else -1  # type: ignore[no-any-return]


@jit
def direction(problem: Any, p: Any, u: Any, d: Any, du: Any, soft: float) -> bool:
    """The Newton direction d and du = (W + C) d; False where there is none."""
    m = rows_of(problem)
    place, pivots = problem.whole[:m], problem.whole[m:]
    right, out = problem.work[3 * m : 4 * m], problem.work[WORK * m :]
    count, order = 0, order_of(problem)
    for k in range(problem.blocks):
        i = order[k]
        together = _linearise(problem, i, p, u, out)
        for r in range(problem.row[i], problem.row[i + 1]):
            d[r], place[r] = 0.0, -1
            if together:
                place[r] = count
                count += 1
            else:
                d[r] = -out[18 + r - problem.row[i]] / local_of(problem, i).mean
    band = half_width(problem, place, count)
    narrow = BAND * band < count
    stride, offset, size = (3 * band, band, (3 * band + 1) * count) if narrow else (count, 0, count * count)
    if not _fits(problem, band, count):
        return False
    response(problem, d, du)
    matrix = problem.matrix
    fill_matrix(problem, place, size, stride, offset, matrix)
    for i in range(problem.blocks):
        r = problem.row[i]
        if place[r] >= 0:
            _linearise(problem, i, p, u, out)
            begin, end = place[r], place[problem.row[i + 1] - 1]
            first, last = (max(0, end - band), min(count, begin + band + 1)) if narrow else (0, count)
            _transform(problem, i, begin, first, last, stride, offset, du, out, matrix, right, soft)
    if narrow:
        if band_factor(matrix, count, band, pivots) != 0:
            return False
        band_solve(matrix, count, band, pivots, right)
    else:
        if lu_factor(matrix, count, pivots) != 0:
            return False
        lu_solve(matrix, count, pivots, right)
    for r in range(m):
        if place[r] >= 0:
            d[r] = right[place[r]]
            if not math.isfinite(d[r]):
                return False
    response(problem, d, du)
    return True


@jit
def _transform(
    problem: Any, i: int, k: int, first: int, last: int, stride: int, offset: int, du: Any, out: Any, matrix: Any, right: Any, soft: float
) -> None:  # fmt: skip
    """From rows of W, k and those that follow, to those of A + B (W + ε λ), and their right sides −F − B du."""
    r = problem.row[i]
    mean, x = soft * local_of(problem, i).mean, matrix[stride * k + offset :]
    if problem.row[i + 1] - r == 1:
        x[k] += mean
        for c in range(first, last):
            x[c] *= out[9]
        x[k] += out[0]
        right[k] = -out[18] - out[9] * du[r]
        return
    y, z = matrix[stride * (k + 1) + offset :], matrix[stride * (k + 2) + offset :]
    x[k], y[k + 1], z[k + 2] = x[k] + mean, y[k + 1] + mean, z[k + 2] + mean
    for c in range(first, last):
        a0, a1, a2 = x[c], y[c], z[c]
        x[c] = out[9] * a0 + out[10] * a1 + out[11] * a2
        y[c] = out[12] * a0 + out[13] * a1 + out[14] * a2
        z[c] = out[15] * a0 + out[16] * a1 + out[17] * a2
    for a in (0, 1, 2):
        x[k + a], y[k + a], z[k + a] = x[k + a] + out[a], y[k + a] + out[3 + a], z[k + a] + out[6 + a]
        right[k + a] = -out[18 + a] - (out[9 + 3 * a] * du[r] + out[10 + 3 * a] * du[r + 1] + out[11 + 3 * a] * du[r + 2])


@jit
def _search(problem: Any, p: Any, u: Any, d: Any, du: Any, trial: Any) -> bool:
    """Moves p along d as far as ‖F‖ decreases; False where it does not."""
    m = rows_of(problem)
    out = problem.work[WORK * m :]
    moved, there = trial[:m], trial[m:]
    start, length = _merit(problem, p, u, out), 1.0
    for _ in range(HALVINGS):
        for r in range(m):
            moved[r], there[r] = p[r] + length * d[r], u[r] + length * du[r]
        if _merit(problem, moved, there, out) <= (1.0 - DECREASE * length) * start:
            copy(moved, m, p)
            return True
        length *= 0.5
    return False


@jit
def newton(problem: Any, p: Any, tolerance: float, limit: int) -> Any:
    """At most ``limit`` steps from p on until the residual is below the tolerance; steps, residual and the block that has it.

    Where no step along the direction helps, sweeps of Gauss–Seidel change the active set.  p ends at the best point that was found.
    """
    m = rows_of(problem)
    d, du, best = problem.work[:m], problem.work[m : 2 * m], problem.work[2 * m : 3 * m]
    trial = problem.work[4 * m : 6 * m]
    found, worst, rounding = residual(problem, p)
    least, done, rescue = math.inf, 0, RESCUE
    if found > tolerance + rounding:
        number_blocks(problem)
    while done < limit and found > tolerance + rounding and math.isfinite(found):
        if found < least:
            least = found
            copy(p, m, best)
        if not (direction(problem, p, problem.u, d, du, SOFT) and _search(problem, p, problem.u, d, du, trial)):
            velocities(problem, p, problem.u)
            for _ in range(rescue):
                sweep(problem, p)
            rescue = min(2 * rescue, MOST)
        done += 1
        found, worst, rounding = residual(problem, p)
    if not found <= least:
        copy(best, m, p)
        found, worst, rounding = residual(problem, p)
    return done, found, worst


@jit
def through_relaxed(problem: Any, p: Any, tolerance: float, limit: int) -> Any:
    """Newton's method on relaxed problems, which are convex, with w_n + s instead of w_n; s = μ‖u_T‖ at the last solution (Acary et al. 2011).

    At most ``limit`` of them, each followed by a trial of Newton's method on the exact cone; steps, residual and its block.
    """
    m, w = rows_of(problem), problem.w
    s, trial, given = problem.work[8 * m : 9 * m], problem.work[9 * m : 10 * m], problem.work[10 * m : 11 * m]
    for r in range(m):
        s[r], trial[r], given[r] = 0.0, p[r], w[r]
    found, done, least, idle = math.inf, 0, math.inf, 0
    for _ in range(0 if problem.relaxed else limit):
        problem.relaxed = 1
        for i in range(problem.blocks):
            w[problem.row[i]] = given[problem.row[i]] + s[i]
        steps, found, _ = newton(problem, p, 0.1 * tolerance, CONVEX)
        for i in range(problem.blocks):
            w[problem.row[i]] = given[problem.row[i]]
        problem.relaxed = 0
        done += steps
        velocities(problem, p, problem.u)
        find_openings(problem, problem.u, s)
        copy(p, m, trial)
        steps, found, _ = newton(problem, trial, tolerance, TRIAL)
        done += steps
        idle = 0 if 2.0 * found < least else idle + 1
        least = min(least, found)
        if found <= tolerance + residual(problem, trial)[2] or not math.isfinite(found) or idle >= IDLE:
            break
    copy(trial, m, p)
    found, worst, _ = residual(problem, p)
    return done, found, worst
