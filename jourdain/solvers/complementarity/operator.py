"""The Delassus operator in its three forms: velocities of impulses, changes of single ones, and blocks alone."""

from __future__ import annotations

import math
from typing import Any

from ...native.kernel import hot, jit
from .problem import BODIES, CONTACT, DENSE, Local

#: Part of the mean diagonal of a block that is added to it while the block alone is solved, in proximal form: solutions are the same, and
#: directions in which the block is singular keep the impulse that they have.
PROXIMAL = 1e-12
#: The inverse of nothing, whose square is a number.
HUGE = 1e150


@hot
def local_of(problem: Any, i: int) -> Any:
    """What is known of block i alone."""
    return Local.at(problem.local[i])


@jit
def rows_of(problem: Any) -> int:
    """The number of rows."""
    return problem.row[problem.blocks]


@hot
def copy(a: Any, size: int, b: Any) -> None:
    """The first numbers of a into b."""
    for k in range(size):
        b[k] = a[k]


# -- the operator ---------------------------------------------------------------------------------------------------------


@hot
def dot6(a: Any, i: int, b: Any, j: int) -> float:
    """Six products from a[i] and b[j] on."""
    return (a[i] * b[j] + a[i + 1] * b[j + 1] + a[i + 2] * b[j + 2]) + (a[i + 3] * b[j + 3] + a[i + 4] * b[j + 4] + a[i + 5] * b[j + 5])


@hot
def _row_response(problem: Any, i: int, r: int, p: Any) -> float:
    """Row r, of block i, of W p + C p; in form BODIES with the velocities that the bodies have now."""
    total = problem.compliance[r] * p[r]
    if problem.form == BODIES:
        b, at = problem.bodies, 12 * r
        if b.pair[2 * i] >= 0:
            total += dot6(b.J, at, b.v, 6 * b.pair[2 * i])
        if b.pair[2 * i + 1] >= 0:
            total += dot6(b.J, at + 6, b.v, 6 * b.pair[2 * i + 1])
    elif problem.form == DENSE:
        matrix_row = problem.dense[r]
        for j in range(rows_of(problem)):
            total += matrix_row[j] * p[j]
    else:
        s, k = problem.sparse, r - problem.row[i]
        for e in range(s.first[i], s.first[i + 1]):
            j = s.column[e]
            begin, end = problem.row[j], problem.row[j + 1]
            at = s.place[e] + k * (end - begin) - begin
            for c in range(begin, end):
                total += s.values[at + c] * p[c]
    return total


@hot
def row_velocity(problem: Any, i: int, r: int, p: Any) -> float:
    """The same with w."""
    return problem.w[r] + _row_response(problem, i, r, p)


@hot
def _push(b: Any, i: int, r: int, change: float) -> None:
    """Changes the velocities of the two bodies of block i by an impulse in row r."""
    v, response = b.v, b.response
    for body, at in ((b.pair[2 * i], 12 * r), (b.pair[2 * i + 1], 12 * r + 6)):
        if body >= 0:
            for k in (0, 1, 2, 3, 4, 5):
                v[6 * body + k] += response[at + k] * change


@hot
def set_impulse(problem: Any, i: int, r: int, value: float, p: Any) -> None:
    """Gives row r of block i another impulse."""
    change = value - p[r]
    p[r] = value
    if problem.form == BODIES and change != 0.0:
        _push(problem.bodies, i, r, change)


@hot
def _push_contact(b: Any, i: int, r: int, x: float, y: float, z: float) -> None:
    """The same by impulses in three rows."""
    v, s = b.v, b.response
    for body, at in ((b.pair[2 * i], 12 * r), (b.pair[2 * i + 1], 12 * r + 6)):
        if body >= 0:  # all that is read stands before what is written, for registers of several numbers
            to, e = 6 * body, at + 12
            f = at + 24
            v0, v1, v2 = (
                (s[at] * x + s[e] * y) + s[f] * z,
                (s[at + 1] * x + s[e + 1] * y) + s[f + 1] * z,
                (s[at + 2] * x + s[e + 2] * y) + s[f + 2] * z,
            )
            v3, v4, v5 = (s[at + 3] * x + s[e + 3] * y) + s[f + 3] * z, (s[at + 4] * x + s[e + 4] * y) + s[f + 4] * z, (s[at + 5] * x + s[e + 5] * y) + s[f + 5] * z  # fmt: skip
            v0, v1, v2, v3, v4, v5 = v[to] + v0, v[to + 1] + v1, v[to + 2] + v2, v[to + 3] + v3, v[to + 4] + v4, v[to + 5] + v5
            v[to], v[to + 1], v[to + 2], v[to + 3], v[to + 4], v[to + 5] = v0, v1, v2, v3, v4, v5


@hot
def set_contact(problem: Any, i: int, x: float, y: float, z: float, p: Any) -> None:
    """Gives contact i another impulse."""
    r = problem.row[i]
    if problem.form == BODIES:
        _push_contact(problem.bodies, i, r, x - p[r], y - p[r + 1], z - p[r + 2])
    p[r], p[r + 1], p[r + 2] = x, y, z


@jit
def renew_velocities(problem: Any, p: Any) -> None:
    """Velocities of the bodies that belong to p."""
    if problem.form == BODIES:
        b = problem.bodies
        for k in range(6 * b.count):
            b.v[k] = 0.0
        for i in range(problem.blocks):
            r = problem.row[i]
            if problem.law[i] == CONTACT:
                if p[r] != 0.0 or p[r + 1] != 0.0 or p[r + 2] != 0.0:
                    _push_contact(b, i, r, p[r], p[r + 1], p[r + 2])
            elif p[r] != 0.0:
                _push(b, i, r, p[r])


@jit
def response(problem: Any, p: Any, u: Any) -> None:
    """u = (W + C) p."""
    renew_velocities(problem, p)
    for i in range(problem.blocks):
        for r in range(problem.row[i], problem.row[i + 1]):
            u[r] = _row_response(problem, i, r, p)


@jit
def velocities(problem: Any, p: Any, u: Any) -> None:
    """u = (W + C) p + w."""
    response(problem, p, u)
    for r in range(rows_of(problem)):
        u[r] += problem.w[r]


@jit
def _diagonal_entry(problem: Any, i: int, r: int, c: int) -> float:
    """W + C at rows r and c of block i."""
    total = problem.compliance[r] if r == c else 0.0
    if problem.form == BODIES:
        b = problem.bodies
        for side in (0, 1):
            if b.pair[2 * i + side] >= 0:
                total += dot6(b.J, 12 * r + 6 * side, b.response, 12 * c + 6 * side)
        if b.pair[2 * i] >= 0 and b.pair[2 * i] == b.pair[2 * i + 1]:
            total += dot6(b.J, 12 * r, b.response, 12 * c + 6) + dot6(b.J, 12 * r + 6, b.response, 12 * c)
    elif problem.form == DENSE:
        total += problem.dense[r, c]
    else:
        s, begin = problem.sparse, problem.row[i]
        size = problem.row[i + 1] - begin
        for e in range(s.first[i], s.first[i + 1]):
            if s.column[e] == i:
                total += s.values[s.place[e] + (r - begin) * size + c - begin]
    return total


# -- blocks alone ---------------------------------------------------------------------------------------------------------


@jit
def _respond(problem: Any) -> None:
    """M⁻¹Jᵀ of all rows."""
    b = problem.bodies
    for i in range(problem.blocks):
        for side in (0, 1):
            body = b.pair[2 * i + side]
            for r in range(problem.row[i], problem.row[i + 1]):
                at = 12 * r + 6 * side
                for k in range(6):
                    b.response[at + k] = dot6(b.inverse_mass, 36 * body + 6 * k, b.J, at) if body >= 0 else 0.0


@jit
def _principal(a: float, b: float, c: float) -> Any:
    """Eigenvalues of [a b; b c], the larger first, and cosine and sine of the larger one's direction."""
    half, mean = 0.5 * (a - c), 0.5 * (a + c)
    radius = math.sqrt(half * half + b * b)
    if radius == 0.0:
        return max(0.0, mean), max(0.0, mean), 1.0, 0.0
    x, y = (half + radius, b) if half >= 0.0 else (b, radius - half)
    length = math.sqrt(x * x + y * y)
    return max(0.0, mean + radius), max(0.0, mean - radius), x / length, y / length


@jit
def _prepare_contact(problem: Any, i: int) -> None:
    at, r, mu1, mu2 = local_of(problem, i), problem.row[i], problem.coefficient[i, 0], problem.coefficient[i, 1]
    mu = max(mu1, mu2)
    s1, s2 = (mu1 / mu, mu2 / mu) if mu > 0.0 else (1.0, 1.0)
    n, g1, g2 = _diagonal_entry(problem, i, r, r), s1 * _diagonal_entry(problem, i, r, r + 1), s2 * _diagonal_entry(problem, i, r, r + 2)
    a, b = s1 * s1 * _diagonal_entry(problem, i, r + 1, r + 1), s1 * s2 * _diagonal_entry(problem, i, r + 1, r + 2)
    c = s2 * s2 * _diagonal_entry(problem, i, r + 2, r + 2)
    at.mean = (n + a + c) / 3.0
    more = PROXIMAL * at.mean
    n, a, c = n + more, a + more, c + more
    over = 1.0 / n if n > 0.0 else 0.0
    at.l1, at.l2, at.cosine, at.sine = _principal(a - g1 * g1 * over, b - g1 * g2 * over, c - g2 * g2 * over)
    at.over, at.over1, at.over2 = over, 1.0 / at.l1 if at.l1 > 0.0 else HUGE, 1.0 / at.l2 if at.l2 > 0.0 else HUGE
    at.normal, at.mu, at.s1, at.s2 = n, mu, s1, s2
    at.g1, at.g2 = at.cosine * g1 + at.sine * g2, at.cosine * g2 - at.sine * g1
    at.sticks = mu if n > 0.0 and mu > 0.0 and at.l2 > 0.0 and s1 > 0.0 and s2 > 0.0 and not problem.relaxed else -1.0
    if at.sticks > 0.0:
        _invert_contact(at)


@hot
def _invert_contact(at: Any) -> None:
    """−W⁻¹ in the caller's coordinates, by the principal tangents."""
    c, s, d1, d2, over = at.cosine, at.sine, at.over1, at.over2, at.over
    h1, h2 = at.g1 * d1, at.g2 * d2
    at.a00 = -(over + (at.g1 * h1 + at.g2 * h2) * over * over)
    at.a01, at.a02 = at.s1 * (c * h1 - s * h2) * over, at.s2 * (s * h1 + c * h2) * over
    at.a11, at.a22 = -at.s1 * at.s1 * (c * c * d1 + s * s * d2), -at.s2 * at.s2 * (s * s * d1 + c * c * d2)
    at.a12 = -at.s1 * at.s2 * c * s * (d1 - d2)


@jit
def prepare(problem: Any) -> None:
    """Finds what solvers need of W, after any change of it: responses of bodies and the blocks on the diagonal."""
    measure(problem)
    complete(problem)


@jit
def complete(problem: Any) -> None:
    """Finds what is left after :func:`measure`, where it is: all that single contacts are solved by."""
    if problem.ready == 0:
        for i in range(problem.blocks):
            if problem.law[i] == CONTACT:
                _prepare_contact(problem, i)
        problem.ready = 1
        _scale_rigid_blocks(problem)


@jit
def measure(problem: Any) -> None:
    """Finds what residuals need of W, after any change of it, in the place of :func:`prepare` before :func:`.solve.solve`: impulses that are right already
    need no more."""
    if problem.form == BODIES and problem.bodies.inverse_mass.size > 0:
        _respond(problem)
    problem.ready = problem.held = 0
    for i in range(problem.blocks):
        if problem.law[i] == CONTACT:
            at, r, mu1, mu2 = local_of(problem, i), problem.row[i], problem.coefficient[i, 0], problem.coefficient[i, 1]
            mu = max(mu1, mu2)
            s1, s2 = (mu1 / mu, mu2 / mu) if mu > 0.0 else (1.0, 1.0)
            a, c = s1 * s1 * _diagonal_entry(problem, i, r + 1, r + 1), s2 * s2 * _diagonal_entry(problem, i, r + 2, r + 2)
            n = _diagonal_entry(problem, i, r, r)
            at.mean, at.mu, at.s1, at.s2 = (n + a + c) / 3.0, mu, s1, s2
            at.normal = n + PROXIMAL * at.mean
        else:
            at, r = local_of(problem, i), problem.row[i]
            at.mean = _diagonal_entry(problem, i, r, r)
            at.normal = (1.0 + PROXIMAL) * at.mean
            at.over = 1.0 / at.normal if at.normal > 0.0 else 0.0
    _scale_rigid_blocks(problem)


@jit
def _scale_rigid_blocks(problem: Any) -> None:
    """Blocks that no impulse moves take the largest mean of the others, so that their residual has a scale."""
    largest = 0.0
    for i in range(problem.blocks):
        largest = max(largest, local_of(problem, i).mean)
    for i in range(problem.blocks):
        at = local_of(problem, i)
        if not at.mean > 0.0:
            at.mean = largest if largest > 0.0 else 1.0
