"""Whether a motion stays on its branch: a check after each step of a run in independent coordinates, in native code.

Where the constraints lose rank, branches of the motion meet, and a position closed from independent coordinates alone may be one of another
branch.  The branches differ by their velocities, at the very place where they meet.  Between two steps τ apart, dependent velocities and
positions therefore have to follow from the tangent at the earlier one, J δv = τ g and J δq = τ J v + ½τ² g (v̇ = Z v̇_u + a₀ with J Z = 0,
J a₀ = g), up to what the tangent turns in a step.  Forces do not enter.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...native.call import call, doubles, integers, words
from ...native.kernel import jit, kernel
from .elimination import BLOCKS, HEAD, LENGTH, NQ, NV, NZ, M, eliminate, spread

#: Slots of the arguments after t, X and the result.
PLAN, HELPER, SPACE, ANCHOR, PLACES, VELOCITY, DRIFT, TABLE = range(3, 11)
SLOTS = 11
#: Entries of the table (int64): addresses of the two functions, and where their pointers hold the results J and g.
ADDRESS_VELOCITY, ADDRESS_DRIFT, JACOBIAN, RIGHT, TABLE_SIZE = range(5)
#: Entries of the anchor before its state: whether there is one, its time, its clearance, how many velocities are free, and the clearance
#: below which a position counts as singular.
VALID, TIME, CLEARANCE, FREE, NEAR, STATE = range(6)

#: What :func:`watch` returns besides 0: too near to a singular position, or on another branch than before.
NEAR_SINGULAR, OFF_BRANCH = -8, -9
#: Velocities off the constraints (m/s, rad/s) that are left alone near a singular position.
QUIET = 1e-11
#: Part of the largest velocity in a loop by which one may differ from the tangent's, and the smallest difference looked at (rad/s, rad).
JUMP, LEAST = 0.1, 1e-6


@jit
def _results(space: int, plan: Any) -> Any:
    """Where Z and a₀ are put, behind scales, J, g and factors."""
    n = plan[NV]
    at = space + 8 * (n + 3 * plan[M] * (n + 1))
    return doubles(at, n * n), doubles(at + 8 * n * n, n)


@jit
def _scaled(args: int, plan: Any, table: Any, scale: Any, J: Any, g: Any) -> int:
    """J and g at the state in args, columns in the metric of the masses and rows over their usual lengths."""
    a = words(args, SLOTS)
    n, nq, m = plan[NV], plan[NQ], plan[M]
    velocity, drift = words(a[VELOCITY], 8), words(a[DRIFT], 8)
    velocity[0], velocity[1], velocity[2] = a[0], a[1], a[1] + 8 * nq
    drift[0], drift[1] = a[0], a[1]
    if call(table[ADDRESS_VELOCITY], a[VELOCITY]) != 0 or call(table[ADDRESS_DRIFT], a[DRIFT]) != 0:
        return -1
    raw, right = doubles(velocity[table[JACOBIAN]], m * n), doubles(drift[table[RIGHT]], m)
    for i in range(m):
        for j in range(n):
            J[i * n + j] = raw[i * n + j] * scale[j] * scale[n + i]
        g[i] = right[i] * scale[n + i]
    return 0


@jit
def _least_pivot(plan: Any, helper: Any, lu: Any) -> float:
    """Smallest pivot of all blocks (at most 1), 0 where a block has lost rank."""
    at, store, room = HEAD, plan[NV], 0
    least = 1.0
    for block in range(plan[BLOCKS]):
        rows = plan[at]
        columns = plan[at + 1 + rows]
        rank = helper[store]
        if rank < min(plan[plan[LENGTH] - plan[BLOCKS] + block], columns):
            least = 0.0
        for i in range(rank):
            least = min(least, abs(lu[room + i * columns + i]))
        at, store, room = at + 2 + rows + columns, store + 1 + rows + columns, room + rows * columns
    return least


@jit
def _tangent(args: int, plan: Any, helper: Any, Z: Any, a0: Any) -> float:
    """Z and a₀ (scaled) at the state in args; returns the clearance, the smallest pivot, or −1 where there are no numbers."""
    a = words(args, SLOTS)
    n, m = plan[NV], plan[M]
    table = integers(a[TABLE], TABLE_SIZE)
    scale, J = doubles(a[SPACE], n + m), doubles(a[SPACE] + 8 * (n + m), m * n)
    g, lu = doubles(a[SPACE] + 8 * (n + m + m * n), m), doubles(a[SPACE] + 8 * (n + 2 * m + m * n), 2 * m * n + m)
    if _scaled(args, plan, table, scale, J, g) != 0:
        return -1.0
    free = eliminate(J, g, plan, helper, lu, Z, a0)
    least = _least_pivot(plan, helper, lu)
    spread(plan, helper, free, lu, Z)
    return least


@jit
def _deviation(plan: Any, numbers: Any, places: Any, scale: Any, anchor: Any, X: Any, tau: float) -> float:
    """By how much dependent velocities and positions differ from the anchor's tangent, as part of the largest velocity in their block."""
    n, nq = plan[NV], plan[NQ]
    free = int(anchor[FREE])
    before = anchor[STATE : STATE + nq + n]
    Z = anchor[STATE + nq + n + plan[NZ] :]
    a0 = anchor[STATE + nq + n + plan[NZ] + n * n :]
    at, worst = HEAD, 0.0
    for _ in range(plan[BLOCKS]):
        rows = plan[at]
        columns = plan[at + 1 + rows]
        fastest, off = 0.0, 0.0
        for i in range(columns):
            j = plan[at + 2 + rows + i]
            fastest = max(fastest, max(abs(before[nq + j]), abs(X[nq + j])) / scale[j])
            if numbers[j] >= 0:
                continue
            p = places[j]
            speed = X[nq + j] - before[nq + j] - tau * a0[j] * scale[j]
            way = X[p] - before[p] - tau * (before[nq + j] + 0.5 * tau * a0[j] * scale[j]) if p >= 0 else 0.0
            for k in range(columns):
                c = plan[at + 2 + rows + k]
                if numbers[c] >= 0:
                    z, r = Z[j * free + numbers[c]] * scale[j] / scale[c], places[c]
                    speed -= z * (X[nq + c] - before[nq + c])
                    moved = X[r] - before[r] if r >= 0 else 0.5 * tau * (before[nq + c] + X[nq + c])
                    way -= z * (moved - tau * before[nq + c])
            if abs(speed) > LEAST:
                off = max(off, abs(speed) / scale[j])
            if abs(way) > LEAST and p >= 0:
                off = max(off, abs(way / tau) / scale[j])
        if off > 0.0:
            worst = max(worst, off / fastest if fastest > 0.0 else 1e300)
        at += 2 + rows + columns
    return worst


@kernel
def watch(args: int) -> int:
    """Compare the state with the anchor's tangent, then make it the anchor: 0, NEAR_SINGULAR or OFF_BRANCH (the anchor stays then).

    args = t, X, –, plan, integers, scale and space, anchor, place in q of each velocity, pointers of J and g, table of addresses.
    """
    a = words(args, SLOTS)
    plan = integers(a[PLAN], HEAD)
    plan = integers(a[PLAN], plan[LENGTH])
    n, size = plan[NV], plan[NQ] + plan[NV] + plan[NZ]
    helper = integers(a[HELPER], plan[LENGTH] + 2 * n)
    anchor = doubles(a[ANCHOR], STATE + size + n * n + n)
    numbers = integers(a[PLACES] + 8 * n, n)
    X, t, scale = doubles(a[1], size), doubles(a[0], 1)[0], doubles(a[SPACE], n)
    tau, known = t - anchor[TIME], anchor[VALID] == 1.0
    if known and tau != 0.0 and _deviation(plan, numbers, integers(a[PLACES], n), scale, anchor, X, tau) > JUMP:
        return OFF_BRANCH
    Z, a0 = _results(a[SPACE], plan)
    clearance = _tangent(args, plan, helper, Z, a0)
    if clearance < 0.0:
        return -1
    if known and clearance < anchor[NEAR]:  # velocities found here hold fewer digits than those of the anchor
        return NEAR_SINGULAR
    free = 0
    for j in range(n):
        numbers[j] = helper[j]
        free += 1 if helper[j] >= 0 else 0
    anchor[VALID], anchor[TIME], anchor[CLEARANCE], anchor[FREE] = 1.0, t, clearance, free
    for i in range(size):
        anchor[STATE + i] = X[i]
    for i in range(n * n):
        anchor[STATE + size + i] = Z[i]
    for j in range(n):
        anchor[STATE + size + n * n + j] = a0[j]
    return 0 if clearance >= anchor[NEAR] else NEAR_SINGULAR


@kernel
def watched_output(args: int) -> int:
    """The full state within a step, compared with the step's beginning: args = t, x, X, address and arguments of the expansion, those of
    :func:`watch`."""
    a = words(args, 6)
    inner, outer = words(a[4], 3), words(a[5], SLOTS)
    inner[0], inner[1], inner[2] = a[0], a[1], a[2]
    status = call(a[3], a[4])
    if status != 0:
        return status
    plan = integers(outer[PLAN], HEAD)
    plan = integers(outer[PLAN], plan[LENGTH])
    n, size = plan[NV], plan[NQ] + plan[NV] + plan[NZ]
    anchor = doubles(outer[ANCHOR], STATE + size + n * n + n)
    tau = doubles(a[0], 1)[0] - anchor[TIME]
    if anchor[VALID] == 0.0 or tau == 0.0:
        return 0
    places, numbers, scale = integers(outer[PLACES], n), integers(outer[PLACES] + 8 * n, n), doubles(outer[SPACE], n)
    return OFF_BRANCH if _deviation(plan, numbers, places, scale, anchor, doubles(a[2], size), tau) > JUMP else 0


@jit
def _clearance(args: int) -> float:
    """Clearance of the state in args, which are those of :func:`watch`."""
    a = words(args, SLOTS)
    plan = integers(a[PLAN], HEAD)
    plan = integers(a[PLAN], plan[LENGTH])
    n = plan[NV]
    Z, a0 = _results(a[SPACE], plan)
    return _tangent(args, plan, integers(a[HELPER], plan[LENGTH] + 2 * n), Z, a0)


@kernel
def clearance_guard(args: int) -> int:
    """A guard that rises through zero where the clearance exceeds its limit; args as those of :func:`watch`."""
    a = words(args, SLOTS)
    found = _clearance(args)
    doubles(a[2], 1)[0] = found - doubles(a[ANCHOR], STATE)[NEAR]
    return 0 if found >= 0.0 else -1


@kernel
def project_when_clear(args: int) -> int:
    """Put x back onto the constraints, but not by less than it costs in digits near a singular position.

    args = t, x, –, arguments of :func:`watch`, address and arguments of the projection.
    """
    a = words(args, 6)
    inner, outer = words(a[3], SLOTS), words(a[5], 2)
    inner[0], inner[1] = a[0], a[1]
    outer[0], outer[1] = a[0], a[1]
    clear = _clearance(a[3]) >= doubles(inner[ANCHOR], STATE)[NEAR]
    w = doubles(words(inner[VELOCITY], 8)[integers(inner[TABLE], TABLE_SIZE)[JACOBIAN] - 1], integers(inner[PLAN], HEAD)[M])
    for i in range(w.size):
        clear = clear or abs(w[i]) > QUIET
    return call(a[4], a[5]) if clear else 0


@kernel
def decide_and_watch(args: int) -> int:
    """Let the coordinates be judged, then watch the full state.

    args = t, x, flag, address and arguments of the judge (0: none), of the expansion (0: X is in place), X, arguments of :func:`watch`'s address.
    """
    a = words(args, 10)
    if a[3] != 0:
        inner = words(a[4], 3)
        inner[0], inner[1], inner[2] = a[0], a[1], a[2]
        status = call(a[3], a[4])
        if status != 0:
            return status
    if a[5] != 0:
        inner = words(a[6], 3)
        inner[0], inner[1], inner[2] = a[0], a[1], a[7]
        status = call(a[5], a[6])
        if status != 0:
            return status
    outer = words(a[9], 2)
    outer[0], outer[1] = a[0], a[7]
    return call(a[8], a[9])


def sizes(plan: np.ndarray) -> tuple[int, int, int]:
    """Numbers in the space, the anchor and the integers that a plan asks for."""
    n, m = int(plan[NV]), int(plan[M])
    return 2 * n + 3 * m * (n + 1) + n * n, STATE + int(plan[NQ] + plan[NZ]) + n + n * n + n, int(plan[LENGTH]) + 2 * n + 8


__all__ = [
    "CLEARANCE",
    "NEAR",
    "NEAR_SINGULAR",
    "OFF_BRANCH",
    "STATE",
    "TIME",
    "VALID",
    "clearance_guard",
    "decide_and_watch",
    "project_when_clear",
    "sizes",
    "watch",
    "watched_output",
]
