"""The reduced equations of a system with loops in native code: x = (q_u, v_u, z) with independent q_u and v_u.

A right-hand side closes the positions by Newton (started from the last closed position moved along its tangent), then
the velocities, then takes the accelerations from the reduced mass matrix.  Where a quaternion is in a loop, x carries all positions:
dependent velocities may be parts of an angular velocity, along which Newton's method turns the quaternion.  Which coordinates are independent may change
in flight: see :mod:`jourdain.solvers.constraints.repartition`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...native.call import call, doubles, integers, words
from ...native.kernel import jit, kernel
from ..linear.dense import lu_factor, lu_solve
from .elimination import blocks, displace, reduced_accelerations

#: Entries of the plan (int64): sizes, addresses, how to switch; then tables by velocity column and the blocks.
(
    NQ, NV, NZ, M, HOLONOMIC, NQU, NVU, ND, NDH, QUATERNIONS, BLOCKS, CHOICE, ADDRESS_POSITION, ADDRESS_VELOCITY,
    ADDRESS_TERMS, ADDRESS_DRIFT, EVERY, POSITION_RESULT, VELOCITY_RESULT, LENGTH, HEAD,
) = range(21)  # fmt: skip
#: Slots of the arguments after t, x and the result.
PLAN, WORK, CHOICES, MEMORY, POSITION, VELOCITY, TERMS, DRIFT, LOG = range(3, 12)
SLOTS = 12
#: Changes of the choice that are written down: their number so far and how many fit come first, then time and choice of each.
LOG_HEAD, LOG_ROOM = 2, 4096
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

NOT_CLOSED, SINGULAR, MASSLESS, NEAR_DEAD_POINT = 3, 4, 2, -7

# A choice: q_u (NQU), v_u (NVU), the place of each velocity among v_u or −1 (NV), then for each block how many holonomic
# and how many rows it uses, those rows, and the columns they give.


@jit
def _invert(a: Any, at: int, d: int) -> int:
    """The inverse of a block of one or two in place (most loops are such); 1 for a larger or singular one."""
    if d == 1:
        if a[at] == 0.0:
            return 1
        a[at] = 1.0 / a[at]
        return 0
    if d == 2:
        p, q, r, s = a[at], a[at + 1], a[at + 2], a[at + 3]
        det = p * s - q * r
        if not abs(det) > 0.0:
            return 1
        over = 1.0 / det
        a[at], a[at + 1], a[at + 2], a[at + 3] = s * over, -q * over, -r * over, p * over
        return 0
    return 0 if d == 0 else 1


@jit
def _substitute(lu: Any, at: int, d: int, pivots: Any, first: int, b: Any) -> None:
    """Solve one block in place."""
    if d == 2:
        x, y = b[0], b[1]
        b[0] = lu[at] * x + lu[at + 1] * y
        b[1] = lu[at + 2] * x + lu[at + 3] * y
    elif d == 1:
        b[0] *= lu[at]
    elif d > 2:
        lu_solve(lu[at : at + d * d], d, pivots[first : first + d], b)


@jit
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
        if _invert(lu, room, d) != 0:
            if d <= 2 or lu_factor(lu[room : room + d * d], d, pivots[line : line + d]) != 0:
                return SINGULAR
        at, store, room, line = at + 2 + rows + plan[at + 1 + rows], store + 2 + 2 * rows, room + d * d, line + d
    return 0


@jit
def solve_dependent(plan: Any, choice: Any, level: int, lu: Any, pivots: Any, right: Any, line: Any, d: Any) -> None:
    """d[column] of J_D d = right[row] for all blocks."""
    n = plan[NV]
    at, store, room, first = HEAD + 3 * n, plan[NQU] + plan[NVU] + n, 0, 0
    for _ in range(plan[BLOCKS]):
        rows, size = plan[at], choice[store + level]
        for i in range(size):
            line[i] = right[choice[store + 2 + i]]
        _substitute(lu, room, size, pivots, first, line)
        for i in range(size):
            d[choice[store + 2 + rows + i]] = line[i]
        at, store, room, first = at + 2 + rows + plan[at + 1 + rows], store + 2 + 2 * rows, room + size * size, first + size


@jit
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
                _substitute(lu, room, size, pivots, first, line)
                for i in range(size):
                    Z[choice[store + 2 + rows + i] * nvu + place[c]] = line[i]
        at, store, room, first = at + 2 + rows + columns, store + 2 + 2 * rows, room + size * size, first + size


@jit
def _close_positions(plan: Any, choice: Any, args: int, lu: Any, pivots: Any, d: Any, X: Any) -> int:
    """Newton for the dependent positions in X; quadratic, and refused when it leaves the neighbourhood."""
    n, nq, mh = plan[NV], plan[NQ], plan[HOLONOMIC]
    pointers = words(args, 8)
    h, J = doubles(pointers[plan[POSITION_RESULT]], mh), doubles(pointers[plan[POSITION_RESULT] + 1], mh * n)
    line = d[n : n + plan[M] + 1]
    quaternions = plan[plan[LENGTH] - 2 * plan[QUATERNIONS] - 1 :]
    last = 1e300
    for _ in range(NEWTON):
        if call(plan[ADDRESS_POSITION], args) != 0:
            return NOT_CLOSED
        if _factor(J, plan, choice, 0, lu, pivots) != 0:
            return SINGULAR
        for j in range(n):
            d[j] = 0.0
        solve_dependent(plan, choice, 0, lu, pivots, h, line, d)
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


@jit
def first_space(address: int, plan: Any) -> Any:
    """The first parts of the work space: X, factors, and two lines."""
    size, m = plan[NQ] + plan[NV] + plan[NZ], plan[M]
    return doubles(address, size), doubles(address + 8 * size, m * m + 1), doubles(address + 8 * (size + m * m + 1), plan[NV] + m + 1)


@jit
def later_space(address: int, plan: Any) -> Any:
    """The later parts of the work space: a₀, a, M Z, and the reduced mass matrix (or a copy of J)."""
    n, nvu, m = plan[NV], plan[NVU], plan[M]
    at = address + 8 * (plan[NQ] + n + plan[NZ] + m * m + 1 + n + m + 1)
    a0, at = doubles(at, n), at + 8 * n
    a, at = doubles(at, n), at + 8 * n
    MZ, at = doubles(at, n * nvu + n), at + 8 * (n * nvu + n)
    return a0, a, MZ, doubles(at, max(nvu * nvu + nvu, m * n + m))


@jit
def memory(address: int, plan: Any) -> Any:
    """What is remembered: whether Z is valid and the time, the last closed position, its Z, the weights, and past positions with times."""
    n, nq, nvu = plan[NV], plan[NQ], plan[NVU]
    valid, q = doubles(address, 2), doubles(address + 16, nq)
    Z, scale = doubles(address + 8 * (2 + nq), n * nvu), doubles(address + 8 * (2 + nq + n * nvu), n)
    return valid, q, Z, scale, doubles(address + 8 * (2 + nq + n * nvu + n), RING * (nq + 1))


@jit
def _move(plan: Any, choice: Any, start: Any, Z: Any, X: Any) -> None:
    """Dependent positions moved along the tangent by as much as the independent ones have moved."""
    n, nqu, nvu = plan[NV], plan[NQU], plan[NVU]
    place = choice[nqu + nvu : nqu + nvu + n]
    for j in range(n):
        if place[j] < 0:
            for k in range(nvu):
                c = plan[HEAD + choice[nqu + k]]
                if c >= 0:
                    X[plan[HEAD + j]] += Z[j * nvu + k] * (X[c] - start[c])


@jit
def expand(args: int, choice: Any, start: Any, Z: Any) -> int:
    """Write the whole state X from the independent one at the beginning of the work space; J and its factors stay in place.

    ``start`` is a closed position near by; when Z is not empty it is moved along Z first.
    """
    a = words(args, SLOTS)
    plan = integers(a[PLAN], HEAD)
    plan = integers(a[PLAN], plan[LENGTH])
    n, nq, nz, m, mh = plan[NV], plan[NQ], plan[NZ], plan[M], plan[HOLONOMIC]
    nqu, nvu = plan[NQU], plan[NVU]
    x = doubles(a[1], nqu + nvu + nz)
    X, lu, d = first_space(a[WORK], plan)
    pivots = integers(a[CHOICES] + 8 * (3 * plan[CHOICE] + COUNTERS), m + 1)
    for i in range(nq):
        X[i] = start[i]
    for i in range(nqu):
        X[choice[i]] = x[i]
    if Z.size > 0 and m == mh and nqu < nq:
        _move(plan, choice, start, Z, X)
    for i in range(nz):
        X[nq + n + i] = x[nqu + nvu + i]
    if plan[QUATERNIONS] > 0:  # Newton's method is for unit quaternions
        for j in range(n):
            d[j] = 0.0
        displace(X[:nq], d, nq, n, plan[plan[LENGTH] - 2 * plan[QUATERNIONS] - 1 :], plan[QUATERNIONS])
    if mh > 0:
        pointers = words(a[POSITION], 6)
        pointers[0], pointers[1] = a[0], a[WORK]
        status = _close_positions(plan, choice, a[POSITION], lu, pivots, d, X)
        if status != 0:
            return status
    for j in range(n):
        X[nq + j] = 0.0
    for k in range(nvu):
        X[nq + choice[nqu + k]] = x[nqu + k]
    pointers = words(a[VELOCITY], 8)
    pointers[0], pointers[1], pointers[2] = a[0], a[WORK], a[WORK] + 8 * nq
    w, J = doubles(pointers[plan[VELOCITY_RESULT]], m), doubles(pointers[plan[VELOCITY_RESULT] + 1], m * n)
    for _ in range(1 if m == mh else 2):
        if call(plan[ADDRESS_VELOCITY], a[VELOCITY]) != 0:
            return NOT_CLOSED
        if _factor(J, plan, choice, 1, lu, pivots) != 0:
            return SINGULAR
        for j in range(n):
            d[j] = 0.0
        solve_dependent(plan, choice, 1, lu, pivots, w, d[n:], d)
        for j in range(n):
            X[nq + j] -= d[j]
    return 0


@jit
def _expand_nearby(args: int) -> int:
    """Expand the state in the present coordinates, starting from the position remembered or the last accepted one, the nearer first.

    A trial step that is too long may end on another branch: after it the last accepted position is the better start.
    """
    a = words(args, SLOTS)
    plan = integers(a[PLAN], HEAD)
    nq = plan[NQ]
    choice, counters = integers(a[CHOICES], plan[CHOICE]), integers(a[CHOICES] + 24 * plan[CHOICE], COUNTERS)
    valid, q, Z, _, ring = memory(a[MEMORY], plan)
    t, last = doubles(a[0], 1)[0], (counters[STEPS] - 1) % RING * (nq + 1)
    back, status = counters[STEPS] > 0 and abs(t - ring[last]) < abs(t - valid[1]), NOT_CLOSED
    if back:
        status = expand(args, choice, ring[last + 1 : last + 1 + nq], Z[:0])
    if status != 0:
        status = expand(args, choice, q, Z if valid[0] == 1.0 else Z[:0])
    if status != 0 and not back and counters[STEPS] > 0:
        status = expand(args, choice, ring[last + 1 : last + 1 + nq], Z[:0])
    return status


@jit
def expand_here(args: int) -> int:
    """Expand the state in the present coordinates and remember its position."""
    a = words(args, SLOTS)
    plan = integers(a[PLAN], HEAD)
    valid, q, _, _, _ = memory(a[MEMORY], plan)
    status = _expand_nearby(args)
    if status == 0:
        X = doubles(a[WORK], plan[NQ])
        for i in range(plan[NQ]):
            q[i] = X[i]
        valid[0], valid[1] = 0.0, doubles(a[0], 1)[0]
    return status


@kernel
def reduced_state_derivative(args: int) -> int:
    """ẋ of the independent state."""
    a = words(args, SLOTS)
    plan = integers(a[PLAN], HEAD)
    status = expand_here(args)
    if status != 0:
        return status
    plan = integers(a[PLAN], plan[LENGTH])
    n, nq, nz, m, nqu, nvu = plan[NV], plan[NQ], plan[NZ], plan[M], plan[NQU], plan[NVU]
    choice = integers(a[CHOICES], plan[CHOICE])
    pivots = integers(a[CHOICES] + 8 * (3 * plan[CHOICE] + COUNTERS), m + 1)
    _, lu, d = first_space(a[WORK], plan)
    a0, acceleration, MZ, reduced = later_space(a[WORK], plan)
    valid, _, Z, _, _ = memory(a[MEMORY], plan)
    pointers = words(a[VELOCITY], 8)
    J = doubles(pointers[plan[VELOCITY_RESULT] + 1], m * n)
    _tangent(plan, choice, J, lu, pivots, d[n:], Z)
    valid[0] = 1.0
    pointers = words(a[TERMS], 9)
    pointers[0], pointers[1] = a[0], a[WORK]
    if call(plan[ADDRESS_TERMS], a[TERMS]) != 0:
        return -1
    Mass, f = doubles(pointers[3], n * n), doubles(pointers[4], n)
    g, rates = doubles(pointers[5], m), doubles(pointers[6], nq + nz)
    for j in range(n):
        a0[j] = 0.0
    solve_dependent(plan, choice, 1, lu, pivots, g, d[n:], a0)
    if reduced_accelerations(Mass, f, Z, a0, n, nvu, MZ, reduced, acceleration) != 0:
        return MASSLESS
    xdot = doubles(a[2], nqu + nvu + nz)
    for i in range(nqu):
        xdot[i] = rates[choice[i]]
    for k in range(nvu):
        xdot[nqu + k] = acceleration[choice[nqu + k]]
    for i in range(nz):
        xdot[nqu + nvu + i] = rates[nq + i]
    return 0


@kernel
def full_state(args: int) -> int:
    """The whole state (q, v, z) of the independent one; nothing is remembered, for it may lie anywhere within a step."""
    a = words(args, SLOTS)
    plan = integers(a[PLAN], HEAD)
    status = _expand_nearby(args)
    size = plan[NQ] + plan[NV] + plan[NZ]
    X, out = doubles(a[WORK], size), doubles(a[2], size)
    for i in range(size):
        out[i] = X[i]
    return status


@kernel
def of_full_state(args: int) -> int:
    """A function f(t, X, …) of the whole state: args = t, x, f, expansion (address, arguments, X), function (address, arguments, slot of f)."""
    a = words(args, 9)
    inner = words(a[4], 3)
    inner[0], inner[1], inner[2] = a[0], a[1], a[5]
    status = call(a[3], a[4])
    if status != 0:
        return status
    outer = words(a[7], a[8] + 1)
    outer[0], outer[1], outer[a[8]] = a[0], a[5], a[2]
    return call(a[6], a[7])


def make_plan(
    nq: int, nv: int, nz: int, holonomic: int, quaternions: list[tuple[int, int]], pattern: np.ndarray, angles: list[bool],
    rank: tuple[int, int],
) -> np.ndarray:  # fmt: skip
    """The plan of a system; ``rank`` is that of the holonomic rows and of all. Addresses are filled in by the caller."""
    groups = blocks(pattern)
    position, shift = [], 0
    held = {iv + k for _, iv in quaternions for k in range(3)}
    for j in range(nv):
        position.append(-1 if j in held else j + shift)
        shift += 1 if j in {iv + 2 for _, iv in quaternions} else 0
    # a quaternion has no position of its own for each velocity: where one is in a loop all positions are carried along
    whole = any(pattern[:, j].any() for j in held)
    tail = [*position, *map(int, angles), *(0 if j in held and not whole else 1 for j in range(nv))]
    for rows, columns in groups:
        tail += [len(rows), *rows, len(columns), *columns]
    tail += [i for pair in quaternions for i in pair] + [0]
    plan = np.zeros(HEAD + len(tail), dtype=np.int64)
    plan[[NQ, NV, NZ, M, HOLONOMIC, QUATERNIONS, BLOCKS]] = nq, nv, nz, pattern.shape[0], holonomic, len(quaternions), len(groups)
    plan[[NDH, ND]] = rank
    plan[NQU], plan[NVU] = nq if whole else nq - rank[0], nv - rank[1]
    plan[CHOICE] = plan[NQU] + plan[NVU] + nv + sum(2 + 2 * len(rows) for rows, _ in groups)
    plan[LENGTH] = len(plan)
    plan[HEAD:] = tail
    return plan


def room(plan: np.ndarray) -> tuple[int, int, int]:
    """Sizes of the work space, of the integers and of the memory that a plan asks for."""
    nq, nv, nz, m, nvu = (int(plan[i]) for i in (NQ, NV, NZ, M, NVU))
    work = nq + nv + nz + m * m + 1 + nv + m + 1 + 2 * nv + nv * nvu + nv + max(nvu * nvu + nvu, m * nv + m)
    return work, int(3 * plan[CHOICE]) + COUNTERS + m + 1 + m + 3 * nv, 2 + nq + nv * nvu + nv + RING * (nq + 1)
