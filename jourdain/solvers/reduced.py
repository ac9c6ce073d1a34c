"""The reduced equations of a system with loops in native code: x = (q_u, v_u, z) with independent q_u and v_u.

A right-hand side closes the positions by Newton (started from the last closed position moved along its tangent), then
the velocities, then takes the accelerations from the reduced mass matrix.  The choice of independent coordinates is
watched after each accepted step by pivots of J in the metric of the masses; where it becomes bad another is taken and the
method's history is carried over to the new coordinates without evaluating the dynamics again (Schiehlen, §5; N8).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import cfunc, njit

from ..native.call import call, doubles, integers, words
from .constrained import blocks, displace, reduced_accelerations
from .dense import lu_factor, lu_solve

#: Entries of the plan (int64): sizes, addresses, how to switch; then tables by velocity column and the blocks.
(
    NQ, NV, NZ, M, HOLONOMIC, NQU, NVU, ND, NDH, QUATERNIONS, BLOCKS, CHOICE, ADDRESS_POSITION, ADDRESS_VELOCITY,
    ADDRESS_TERMS, ADDRESS_DRIFT, EVERY, LENGTH, SCRATCH, HEAD,
) = range(20)  # fmt: skip
#: Slots of the arguments after t, x and the result.
PLAN, WORK, CHOICES, MEMORY, POSITION, VELOCITY, TERMS, DRIFT = range(3, 11)
SLOTS = 11
#: Counters kept behind the two choices.
STEPS, SWITCHES, COUNTERS = 0, 1, 4
#: Past positions that are remembered as starts for Newton.
RING = 16

NEWTON = 12
#: A correction below this is the last one: convergence is quadratic.
SMALL = 1e-8
#: The largest correction of an angle that still counts as the same position (rad).
FAR = 0.7
RANK_TOLERANCE = 1e-7
#: Ratio of pivots above which the choice is never questioned, and how much worse than the best one it may become.
GOOD, WORSE = 0.2, 0.3
#: Worst choice that a forced switch may take, relative to the best one.
BEARABLE = 0.05

NOT_CLOSED, SINGULAR, MASSLESS = 3, 4, 2

_OPTIONS: dict[str, Any] = {"nogil": True, "cache": True, "error_model": "numpy", "boundscheck": False}

# A choice: q_u (NQU), v_u (NVU), the place of each velocity among v_u or −1 (NV), then for each block how many holonomic
# and how many rows it uses, those rows, and the columns they give.


@njit(
    "float64(float64[::1], int64[::1], float64[::1], int64[::1], int64[::1], int64[::1], float64[::1], int64[::1])", **_OPTIONS
)
def choose(J: Any, plan: Any, scale: Any, allowed: Any, first: Any, choice: Any, work: Any, marks: Any) -> float:
    """Choose dependent columns among the ``allowed`` ones, those marked in ``first`` before others; return the ratio of pivots.

    Columns are weighted by ``scale``, rows taken at unit length.  −1 when the rank is not that of the plan.
    """
    n, m, mh = plan[NV], plan[M], plan[HOLONOMIC]
    nqu, nvu = plan[NQU], plan[NVU]
    place = choice[nqu + nvu : nqu + nvu + n]
    for j in range(n):
        place[j] = 0
    at, store = HEAD + 3 * n, nqu + nvu + n
    least, most, total, total_h = 1e300, 0.0, 0, 0
    row_used, column_used = marks[:m], marks[m : m + n]
    for _ in range(plan[BLOCKS]):
        rows = plan[at]
        columns = plan[at + 1 + rows]
        for i in range(rows):
            source = plan[at + 1 + i] * n
            norm = 0.0
            for j in range(columns):
                c = plan[at + 2 + rows + j]
                work[i * columns + j] = J[source + c] * scale[c]
                norm = max(norm, abs(work[i * columns + j]))
            for j in range(columns):
                work[i * columns + j] *= 1.0 / norm if norm > 0.0 else 0.0
            row_used[i] = 0
        for j in range(columns):
            column_used[j] = 0
        count = count_h = 0
        for stage in range(4):
            while True:
                best, p, q = 0.0, -1, -1
                for i in range(rows):
                    if row_used[i] == 1 or (plan[at + 1 + i] < mh) != (stage < 2):
                        continue
                    for j in range(columns):
                        c = plan[at + 2 + rows + j]
                        if column_used[j] == 0 and allowed[c] == 1 and (stage % 2 == 1 or first[c] == 1):
                            if abs(work[i * columns + j]) > best:
                                best, p, q = abs(work[i * columns + j]), i, j
                if p < 0 or best <= RANK_TOLERANCE:
                    break
                row_used[p] = column_used[q] = 1
                choice[store + 2 + count] = plan[at + 1 + p]
                choice[store + 2 + rows + count] = plan[at + 2 + rows + q]
                place[plan[at + 2 + rows + q]] = -1
                count += 1
                count_h += 1 if stage < 2 else 0
                least, most = min(least, best), max(most, best)
                for i in range(rows):
                    if row_used[i] == 0:
                        factor = work[i * columns + q] / work[p * columns + q]
                        if factor != 0.0:
                            for j in range(columns):
                                work[i * columns + j] -= factor * work[p * columns + j]
        choice[store], choice[store + 1] = count_h, count
        total += count
        total_h += count_h
        at, store = at + 2 + rows + columns, store + 2 + 2 * rows
    if total != plan[ND] or total_h != plan[NDH]:
        return -1.0
    _list_independent(plan, choice)
    return least / most if most > 0.0 else 1.0


@njit("void(int64[::1], int64[::1])", **_OPTIONS)
def _list_independent(plan: Any, choice: Any) -> None:
    """Write the independent velocities and positions of a choice from the marks of its dependent columns."""
    n, nq, nqu, nvu = plan[NV], plan[NQ], plan[NQU], plan[NVU]
    place = choice[nqu + nvu : nqu + nvu + n]
    k = 0
    for j in range(n):
        if place[j] >= 0:
            place[j] = k
            choice[nqu + k] = j
            k += 1
    k = 0
    for i in range(nq):
        closed = False
        at, store = HEAD + 3 * n, nqu + nvu + n
        for _ in range(plan[BLOCKS]):
            rows = plan[at]
            for d in range(choice[store]):
                if plan[HEAD + choice[store + 2 + rows + d]] == i:
                    closed = True
            at, store = at + 2 + rows + plan[at + 1 + rows], store + 2 + 2 * rows
        if not closed:
            choice[k] = i
            k += 1


@njit("int64(float64[::1], int64[::1], int64[::1], int64, float64[::1], int64[::1])", **_OPTIONS)
def _factor(J: Any, plan: Any, choice: Any, level: int, lu: Any, pivots: Any) -> int:
    """LU factors of J_D block by block (level 0: holonomic rows alone, 1: all)."""
    n = plan[NV]
    at, store, room, line = HEAD + 3 * n, plan[NQU] + plan[NVU] + n, 0, 0
    for _ in range(plan[BLOCKS]):
        rows, d = plan[at], choice[store + level]
        for i in range(d):
            source = choice[store + 2 + i] * n
            for j in range(d):
                lu[room + i * d + j] = J[source + choice[store + 2 + rows + j]]
        if lu_factor(lu[room : room + d * d], d, pivots[line : line + d]) != 0:
            return SINGULAR
        at, store, room, line = at + 2 + rows + plan[at + 1 + rows], store + 2 + 2 * rows, room + d * d, line + d
    return 0


@njit("void(int64[::1], int64[::1], int64, float64[::1], int64[::1], float64[::1], float64[::1], float64[::1])", **_OPTIONS)
def _solve(plan: Any, choice: Any, level: int, lu: Any, pivots: Any, right: Any, line: Any, d: Any) -> None:
    """d[column] of J_D d = right[row] for all blocks."""
    n = plan[NV]
    at, store, room, first = HEAD + 3 * n, plan[NQU] + plan[NVU] + n, 0, 0
    for _ in range(plan[BLOCKS]):
        rows, size = plan[at], choice[store + level]
        for i in range(size):
            line[i] = right[choice[store + 2 + i]]
        lu_solve(lu[room : room + size * size], size, pivots[first : first + size], line)
        for i in range(size):
            d[choice[store + 2 + rows + i]] = line[i]
        at, store, room, first = at + 2 + rows + plan[at + 1 + rows], store + 2 + 2 * rows, room + size * size, first + size


@njit("void(int64[::1], int64[::1], float64[::1], float64[::1], int64[::1], float64[::1], float64[::1])", **_OPTIONS)
def _tangent(plan: Any, choice: Any, J: Any, lu: Any, pivots: Any, line: Any, Z: Any) -> None:
    """Z with v = Z v_u + …: identity for independent velocities, −J_D⁻¹J_U for dependent ones."""
    n, nvu = plan[NV], plan[NVU]
    place = choice[plan[NQU] + nvu : plan[NQU] + nvu + n]
    for i in range(n * nvu):
        Z[i] = 0.0
    for j in range(n):
        if place[j] >= 0:
            Z[j * nvu + place[j]] = 1.0
    at, store, room, first = HEAD + 3 * n, plan[NQU] + nvu + n, 0, 0
    for _ in range(plan[BLOCKS]):
        rows, size = plan[at], choice[store + 1]
        columns = plan[at + 1 + rows]
        for j in range(columns):
            c = plan[at + 2 + rows + j]
            if place[c] >= 0:
                for i in range(size):
                    line[i] = -J[choice[store + 2 + i] * n + c]
                lu_solve(lu[room : room + size * size], size, pivots[first : first + size], line)
                for i in range(size):
                    Z[choice[store + 2 + rows + i] * nvu + place[c]] = line[i]
        at, store, room, first = at + 2 + rows + columns, store + 2 + 2 * rows, room + size * size, first + size


@njit("int64(int64[::1], int64[::1], int64, intp[::1], float64[::1], int64[::1], float64[::1], float64[::1])", **_OPTIONS)
def _close_positions(plan: Any, choice: Any, unused: int, pointers: Any, lu: Any, pivots: Any, d: Any, X: Any) -> int:
    """Newton for the dependent positions in X; quadratic, and refused when it leaves the neighbourhood."""
    n, nq, mh = plan[NV], plan[NQ], plan[HOLONOMIC]
    h, J = doubles(pointers[2], mh), doubles(pointers[3], mh * n)
    line = d[n : n + plan[M] + 1]
    quaternions = plan[plan[LENGTH] - 2 * plan[QUATERNIONS] - 1 :]
    last = 1e300
    for k in range(NEWTON):
        if call(plan[ADDRESS_POSITION], pointers.ctypes.data) != 0:
            return NOT_CLOSED
        if _factor(J, plan, choice, 0, lu, pivots) != 0:
            return SINGULAR
        for j in range(n):
            d[j] = 0.0
        _solve(plan, choice, 0, lu, pivots, h, line, d)
        size = 0.0
        for j in range(n):
            if not abs(d[j]) < 1e10:
                return NOT_CLOSED
            if plan[HEAD + n + j] == 1 and abs(d[j]) > FAR:
                return NOT_CLOSED
            size = max(size, abs(d[j]))
        displace(X[:nq], d, nq, n, quaternions, plan[QUATERNIONS])
        if size <= SMALL or (size < 1e-6 and size >= 0.5 * last):
            return 0
        last = size
    return NOT_CLOSED


@njit("int64(int64, int64[::1], float64[::1], int64[::1], float64[::1], float64[::1])", **_OPTIONS)
def _expand(args: int, choice: Any, start: Any, ints: Any, space: Any, Z: Any) -> int:
    """The whole state X from the independent one; J and its factors stay in place.

    ``start`` is a closed position near by.  When Z is not empty the start is moved along it first.
    """
    a = words(args, SLOTS)
    plan = integers(a[PLAN], HEAD)
    plan = integers(a[PLAN], plan[LENGTH])
    n, nq, nz, m, mh = plan[NV], plan[NQ], plan[NZ], plan[M], plan[HOLONOMIC]
    nqu, nvu = plan[NQU], plan[NVU]
    x = doubles(a[1], nqu + nvu + nz)
    X, rest = space[: nq + n + nz], space[nq + n + nz :]
    lu, d = rest[: m * m + 1], rest[m * m + 1 :]
    pivots = ints[: m + 1]
    for i in range(nq):
        X[i] = start[i]
    for i in range(nqu):
        X[choice[i]] = x[i]
    if Z.size > 0 and m == mh:
        place = choice[nqu + nvu : nqu + nvu + n]
        for j in range(n):
            if place[j] < 0:
                i = plan[HEAD + j]
                for k in range(nvu):
                    c = plan[HEAD + choice[nqu + k]]
                    if c >= 0:
                        X[i] += Z[j * nvu + k] * (X[c] - start[c])
    for i in range(nz):
        X[nq + n + i] = x[nqu + nvu + i]
    address = space.ctypes.data
    if mh > 0:
        pointers = words(a[POSITION], 6)
        pointers[0], pointers[1] = a[0], address
        status = _close_positions(plan, choice, 0, pointers, lu, pivots, d, X)
        if status != 0:
            return status
    for j in range(n):
        X[nq + j] = 0.0
    for k in range(nvu):
        X[nq + choice[nqu + k]] = x[nqu + k]
    pointers = words(a[VELOCITY], 8)
    pointers[0], pointers[1], pointers[2] = a[0], address, address + 8 * nq
    line = d[n : n + m + 1]
    w, J = doubles(pointers[plan[HEAD + 2 * n]], m), doubles(pointers[plan[HEAD + 2 * n] + 1], m * n)
    for _ in range(1 if m == mh else 2):
        if call(plan[ADDRESS_VELOCITY], a[VELOCITY]) != 0:
            return NOT_CLOSED
        if _factor(J, plan, choice, 1, lu, pivots) != 0:
            return SINGULAR
        for j in range(n):
            d[j] = 0.0
        _solve(plan, choice, 1, lu, pivots, w, line, d)
        for j in range(n):
            X[nq + j] -= d[j]
    return 0
