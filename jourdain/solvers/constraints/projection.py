"""Projection of states onto their constraints in native code: positions by the shortest corrections, velocities by ideal impulses."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...native.call import call, doubles
from ...native.kernel import jit, kernel
from ..linear.dense import inner
from ..linear.fronts import eliminate_by_fronts, shortest
from .accelerations import Arguments, constrained_solution

#: A row shorter than this fraction of the longest, or of one, is rounding error: it says nothing.
NOISE = 1e-12
#: Directions below this fraction of a row's length are left alone by the projection: correcting them would amplify noise.
PROJECTION_TOLERANCE = 1e-3

#: A residual of position (m, rad) above this after projection means that the loops cannot be closed: status LOCKED.
OPEN, LOCKED = 1e-6, 3
#: The most corrections of positions, and the residual below which one that a correction has not halved is rounding of large mechanisms.
ITERATIONS, ROUNDING = 8, 1e-11


@jit
def row_square(J: Any, i: int, n: int) -> float:
    """Square of the length of a row."""
    norm = 0.0
    for j in range(n):
        norm += J[i * n + j] * J[i * n + j]
    return norm


@jit
def longest_row(J: Any, m: int, n: int) -> float:
    """Square of the length of the longest row, or one."""
    longest = 1.0
    for i in range(m):
        longest = max(longest, row_square(J, i, n))
    return longest


@jit
def unit_row(J: Any, i: int, n: int, longest: float, out: Any) -> float:
    """Row i brought to length one, zero when it is the rounding of ``longest``; returns the factor."""
    norm = row_square(J, i, n)
    scale = 1.0 / np.sqrt(norm) if norm > NOISE * NOISE * longest else 0.0
    for j in range(n):
        out[i * n + j] = scale * J[i * n + j]
    return scale


@jit
def least_norm(J: Any, h: Any, m: int, n: int, gram: Any, d: Any) -> int:
    """Shortest d with J d = h by Gram–Schmidt on the rows with pivoting; (nearly) dependent rows are skipped.

    ``gram`` has room for m (n + 2) numbers: rows, right-hand sides, and the squares of the rows' lengths, which each stage makes less by
    what it takes away (Pythagoras); ones that matter are above the tolerance, far above rounding.
    """
    right, square = gram[m * n : m * n + m], gram[m * n + m : m * n + 2 * m]
    longest = longest_row(J, m, n)
    for i in range(m):
        scale = unit_row(J, i, n, longest, gram)
        right[i] = scale * h[i]
        square[i] = 1.0 if scale > 0.0 else 0.0
    for j in range(n):
        d[j] = 0.0
    for k in range(m):
        best, p = 0.0, -1
        for i in range(k, m):
            if square[i] > best:
                best, p = square[i], i
        if p < 0 or best <= PROJECTION_TOLERANCE * PROJECTION_TOLERANCE:
            return k
        if p != k:
            for j in range(n):
                gram[k * n + j], gram[p * n + j] = gram[p * n + j], gram[k * n + j]
            right[k], right[p] = right[p], right[k]
            square[p] = square[k]
        row = gram[k * n : k * n + n]
        inverse = 1.0 / inner(row, row, n)
        scale = right[k] * inverse
        for j in range(n):
            d[j] += scale * row[j]
        for i in range(k + 1, m):
            other = gram[i * n : i * n + n]
            dot = inner(other, row, n)
            if dot != 0.0:
                part = dot * inverse
                for j in range(n):
                    other[j] -= part * row[j]
                right[i] -= part * right[k]
                square[i] -= part * dot
    return m


@jit
def least_norm_by_blocks(J: Any, h: Any, m: int, plan: Any, work: Any, d: Any) -> None:
    """Shortest d with J d = h for the first m rows, each block by itself (see :func:`least_norm`)."""
    n = plan.nv
    for j in range(n):
        d[j] = 0.0
    for k in range(len(plan.blocks)):
        block = plan.blocks[k]
        rows, columns = block.rows, block.columns
        listed = plan.columns[block.column :]
        size = rows * columns
        part, right, gram = work[:size], work[size : size + rows], work[size + rows + columns :]
        step = work[size + rows : size + rows + columns]
        kept = 0
        for i in range(rows):
            row = plan.rows[block.row + i]
            if row < m:
                for j in range(columns):
                    part[kept * columns + j] = J[row * n + listed[j]]
                right[kept] = h[row]
                kept += 1
        if kept > 0:
            least_norm(part, right, kept, columns, gram, step)
            for j in range(columns):
                d[listed[j]] = step[j]


@jit
def shortest_solution(J: Any, h: Any, m: int, e: Any) -> None:
    """Shortest d with J d = h for the first m rows, left in the particular solution a₀ of the elimination."""
    plan = e.plan
    if len(plan.fronts.each) > 0:
        free = eliminate_by_fronts(J, plan.entries, h, m, plan.fronts, PROJECTION_TOLERANCE, True, e.walk, e.space)
        shortest(free, e.space, e.reduced)
    else:
        least_norm_by_blocks(J, h, m, plan, e.work, e.space.a0)


@jit
def displace(q: Any, d: Any, nq: int, nv: int, quaternions: Any) -> None:
    """Moves q by the small displacement −d; ``quaternions`` lists (index in q, index in v) of quaternion blocks."""
    iq, iv, k = 0, 0, 0
    while iq < nq:
        if k < quaternions.size and quaternions[k] == iq:
            e0, e1, e2, e3 = q[iq], q[iq + 1], q[iq + 2], q[iq + 3]
            x, y, z = -0.5 * d[iv], -0.5 * d[iv + 1], -0.5 * d[iv + 2]
            n0 = e0 - (e1 * x + e2 * y + e3 * z)
            n1 = e1 + e0 * x + e2 * z - e3 * y
            n2 = e2 + e0 * y + e3 * x - e1 * z
            n3 = e3 + e0 * z + e1 * y - e2 * x
            scale = 1.0 / np.sqrt(n0 * n0 + n1 * n1 + n2 * n2 + n3 * n3)
            q[iq], q[iq + 1], q[iq + 2], q[iq + 3] = scale * n0, scale * n1, scale * n2, scale * n3
            iq, iv, k = iq + 4, iv + 3, k + 2
        else:
            q[iq] -= d[iv]
            iq, iv = iq + 1, iv + 1


@jit
def ideal_impulse(t: int, x: int, w: Any, s: Any, v: Any) -> int:
    """Moves v (with the residual w of its constraints) onto them by impulses Jᵀμ, which do no work to first order: M δv = Jᵀμ, J δv = −w."""
    terms = s.descriptor
    terms.args[0], terms.args[1] = t, x
    if call(terms.function, terms.args) != 0:
        return -1
    f, g = terms.f, terms.g
    for i in range(f.size):
        f[i] = 0.0
    for i in range(g.size):
        g[i] = -w[i]
    status = constrained_solution(terms.M, f, terms.J, g, s.elimination, f)
    if status == 0:
        for i in range(f.size):
            v[i] += f[i]
    return status


@jit
def close_positions(t: int, x: int, s: Any) -> int:
    """Puts the positions at the address x onto the constraints by Gauss–Newton; 0 or LOCKED."""
    plan, level, d = s.elimination.plan, s.position, s.elimination.space.a0
    nq, n, mh = plan.nq, plan.nv, plan.holonomic
    q, h = doubles(x, nq), level.h
    level.args[0], level.args[1] = t, x
    worst, before = 0.0, 0.0
    for iteration in range(ITERATIONS):
        call(level.function, level.args)
        before, worst = worst, 0.0
        for i in range(mh):
            worst = max(worst, abs(h[i]))
        # a small residual left alone grows like 1/σ on the way into a singular position
        if worst < 1e-16 or (iteration > 0 and (worst < 1e-13 or ROUNDING > worst > 0.5 * before)):
            break
        shortest_solution(level.J, h, mh, s.elimination)
        displace(q, d, nq, n, s.quaternions)
    return 0 if worst < OPEN else LOCKED


@kernel
def project(args: int) -> int:
    """Puts x back onto the constraints, in place.

    Positions by Gauss–Newton with the shortest corrections, then velocities as ideal impulses; quaternions are normalised.
    """
    a = Arguments.at(args)
    s = a.system
    plan, d = s.elimination.plan, s.elimination.space.a0
    n, nq = plan.nv, plan.nq
    x = doubles(a.x, nq + n + plan.nz)
    if s.quaternions.size > 0:
        for j in range(n):
            d[j] = 0.0
        displace(x[:nq], d, nq, n, s.quaternions)
    if plan.holonomic > 0:
        status = close_positions(a.t, a.x, s)
        if status != 0:
            return status
    if plan.m > 0:
        level = s.velocity
        level.args[0], level.args[1], level.args[2] = a.t, a.x, a.x + 8 * nq
        call(level.function, level.args)
        return ideal_impulse(a.t, a.x, level.w, s, x[nq : nq + n])
    return 0


__all__ = [
    "LOCKED",
    "close_positions",
    "displace",
    "least_norm",
    "least_norm_by_blocks",
    "longest_row",
    "project",
    "shortest_solution",
    "unit_row",
]
