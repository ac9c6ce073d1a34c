"""Linear equations of contacts over the velocities of free bodies.

Where impulses follow velocities as dp = x − K du, with a K of 3 × 3 for every contact, du = J y and y = Rᵀ dp with R = J M⁻¹, the equations are

    (1 + Rᵀ K J) y = Rᵀ x:

six for each body, however many contacts share it, which redundant contacts do not make singular.  Of dominoes, stacks and arches they are a narrow band.
"""

from __future__ import annotations

from typing import Any

from ...native.kernel import hot, jit
from ..linear.band import band_factor, band_solve
from .matrix import incidents, list_incidents
from .operator import dot6, rows_of
from .problem import BODIES, CONTACT

#: Velocities of a body.
BODY = 6
#: Half width of the widest band that is taken.
WIDEST = 48
#: What bodies are marked by before their numbers are known.
UNSEEN, SEEN = -1, -2


@jit
def _walk_bodies(problem: Any, start: int, unseen: int, begin: int, numbers: bool) -> int:
    """Bodies level by level from one; where they end in the order.  They get their numbers, or the mark that the second walk sees."""
    first, member = incidents(problem)
    place, order, pair = problem.over.place, problem.over.order, problem.bodies.pair
    order[begin], place[start] = start, begin if numbers else SEEN
    k, end = begin, begin + 1
    while k < end:
        body = order[k]
        for e in range(first[body], first[body + 1]):
            other = pair[member[e] + 1 - 2 * (member[e] % 2)]
            if other >= 0 and place[other] == unseen:
                order[end], place[other] = other, end if numbers else SEEN
                end += 1
        k += 1
    return end


@jit
def _number_bodies(problem: Any) -> int:
    """Numbers for the bodies that touch, neighbours near each other (Cuthill & McKee 1969); how many."""
    first, place = incidents(problem)[0], problem.over.place
    list_incidents(problem)
    for body in range(problem.bodies.count):
        place[body] = UNSEEN
    begin = 0
    for body in range(problem.bodies.count):
        if place[body] == UNSEEN and first[body + 1] > first[body]:
            end = _walk_bodies(problem, body, UNSEEN, begin, False)
            begin = _walk_bodies(problem, problem.over.order[end - 1], SEEN, begin, True)
    return begin


@jit
def order_bodies(problem: Any) -> bool:
    """Whether there are only contacts of free bodies with the exact cone, without compliance, whose bodies stand in a narrow band; puts them in its order."""
    if problem.form != BODIES or problem.relaxed or problem.over.cones.size == 0:
        return False
    for i in range(problem.blocks):
        if problem.law[i] != CONTACT:
            return False
    for r in range(rows_of(problem)):
        if problem.compliance[r] != 0.0:
            return False
    over, widest = problem.over, 0
    over.size = BODY * _number_bodies(problem)
    for i in range(problem.blocks):
        a, b = problem.bodies.pair[2 * i], problem.bodies.pair[2 * i + 1]
        if a >= 0 and b >= 0:
            widest = max(widest, abs(over.place[a] - over.place[b]))
    over.band = BODY * widest + BODY - 1
    return over.band <= WIDEST and (3 * over.band + 1) * over.size <= problem.matrix.size  # type: ignore[no-any-return]


@hot
def _add_block(a: Any, row: int, stride: int, column: int, R: Any, at: int, s: Any) -> None:
    """Adds three rows of R, transposed, times three of s, 6 × 6 in all."""
    for k in range(BODY):
        x, y, z = R[at + k], R[at + 12 + k], R[at + 24 + k]
        to = stride * (row + k) + column
        a0, a1, a2 = (x * s[0] + y * s[6]) + z * s[12], (x * s[1] + y * s[7]) + z * s[13], (x * s[2] + y * s[8]) + z * s[14]
        a3, a4, a5 = (x * s[3] + y * s[9]) + z * s[15], (x * s[4] + y * s[10]) + z * s[16], (x * s[5] + y * s[11]) + z * s[17]
        a0, a1, a2, a3, a4, a5 = a[to] + a0, a[to + 1] + a1, a[to + 2] + a2, a[to + 3] + a3, a[to + 4] + a4, a[to + 5] + a5
        a[to], a[to + 1], a[to + 2], a[to + 3], a[to + 4], a[to + 5] = a0, a1, a2, a3, a4, a5


@jit
def factor_bodies(problem: Any) -> bool:
    """The factors of 1 + Rᵀ K J; False where there are none."""
    over, b, a = problem.over, problem.bodies, problem.matrix
    band, s, stride = over.band, over.rows, 3 * over.band
    for k in range((stride + 1) * over.size):
        a[k] = 0.0
    for k in range(over.size):
        a[stride * k + k + band] = 1.0
    for i in range(problem.blocks):
        K, r = over.K[i], problem.row[i]
        for side in (0, 1):
            body = b.pair[2 * i + side]
            if body < 0:
                continue
            at = 12 * r + 6 * side
            for j in range(BODY):
                x, y, z = b.J[at + j], b.J[at + 12 + j], b.J[at + 24 + j]
                s[j], s[6 + j], s[12 + j] = K[0] * x + K[1] * y + K[2] * z, K[3] * x + K[4] * y + K[5] * z, K[6] * x + K[7] * y + K[8] * z
            for other in (0, 1):
                to = b.pair[2 * i + other]
                if to >= 0:
                    _add_block(a, BODY * over.place[to], stride, BODY * over.place[body] + band, b.response, 12 * r + 6 * other, s)
    return band_factor(a, over.size, band, over.pivots) == 0


@jit
def solve_bodies(problem: Any, x: Any) -> None:
    """y of right sides x of all rows, in ``over.y``."""
    over, b = problem.over, problem.bodies
    y, R = over.y, b.response
    for k in range(over.size):
        y[k] = 0.0
    for i in range(problem.blocks):
        r = problem.row[i]
        p0, p1, p2 = x[r], x[r + 1], x[r + 2]
        for side in (0, 1):
            body, e = b.pair[2 * i + side], 12 * r + 6 * side
            if body >= 0:
                k, f, g = BODY * over.place[body], e + 12, e + 24
                y0, y1, y2 = (R[e] * p0 + R[f] * p1) + R[g] * p2, (R[e + 1] * p0 + R[f + 1] * p1) + R[g + 1] * p2, (R[e + 2] * p0 + R[f + 2] * p1) + R[g + 2] * p2  # fmt: skip
                y3, y4, y5 = (R[e + 3] * p0 + R[f + 3] * p1) + R[g + 3] * p2, (R[e + 4] * p0 + R[f + 4] * p1) + R[g + 4] * p2, (R[e + 5] * p0 + R[f + 5] * p1) + R[g + 5] * p2  # fmt: skip
                y0, y1, y2, y3, y4, y5 = y[k] + y0, y[k + 1] + y1, y[k + 2] + y2, y[k + 3] + y3, y[k + 4] + y4, y[k + 5] + y5
                y[k], y[k + 1], y[k + 2], y[k + 3], y[k + 4], y[k + 5] = y0, y1, y2, y3, y4, y5
    band_solve(problem.matrix, over.size, over.band, over.pivots, y)


@hot
def velocity_change(problem: Any, i: int) -> Any:
    """J y of a contact."""
    over, b, at = problem.over, problem.bodies, 12 * problem.row[i]
    u0, u1, u2 = 0.0, 0.0, 0.0
    for side in (0, 1):
        body, e = b.pair[2 * i + side], at + 6 * side
        if body >= 0:
            k = BODY * over.place[body]
            u0, u1, u2 = u0 + dot6(b.J, e, over.y, k), u1 + dot6(b.J, e + 12, over.y, k), u2 + dot6(b.J, e + 24, over.y, k)
    return u0, u1, u2
