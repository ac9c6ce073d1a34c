"""Choice of independent coordinates in native code, and its change in flight without restarting the method.

After each accepted step the pivots of J in the metric of the masses judge the present choice; where it has become bad
another one is taken, and the method's history is carried over by kinematics alone (Schiehlen, §5; N8).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...native.call import call, doubles, integers, words
from ...native.kernel import jit, kernel
from .reduced import (  # fmt: skip
    ADDRESS_DRIFT,
    BLOCKS,
    CHOICE,
    CHOICES,
    COUNTERS,
    DRIFT,
    EVERY,
    HEAD,
    HOLONOMIC,
    LENGTH,
    LOG,
    LOG_HEAD,
    MEMORY,
    ND,
    NDH,
    NEAR_DEAD_POINT,
    NQ,
    NQU,
    NV,
    NVU,
    NZ,
    PLAN,
    RANK_TOLERANCE,
    RING,
    SLOTS,
    STEPS,
    SWITCHES,
    VELOCITY,
    VELOCITY_RESULT,
    WORK,
    M,
    expand,
    expand_here,
    first_space,
    later_space,
    memory,
    solve_dependent,
)

#: Ratio of pivots above which the choice is never questioned, and how much worse than the best one it may become.
GOOD, WORSE = 0.2, 0.3
#: A choice that must not change ends the motion when it has become this much worse than the best one.
DEAD = 1e-2
#: Worst choice that a forced switch may take, relative to the best one.
BEARABLE = 0.05


@jit
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
        for _ in range(plan[BLOCKS] if nqu < nq else 0):
            rows = plan[at]
            for d in range(choice[store]):
                if plan[HEAD + choice[store + 2 + rows + d]] == i:
                    closed = True
            at, store = at + 2 + rows + plan[at + 1 + rows], store + 2 + 2 * rows
        if not closed:
            choice[k] = i
            k += 1


@jit
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
    # the largest entry of every row is 1: a single pivot is judged by it, not by itself
    least, most, total, total_h = 1e300, 1.0, 0, 0
    row_used, column_used = marks[:m], marks[m : m + n]
    for _ in range(plan[BLOCKS]):
        rows = plan[at]
        columns = plan[at + 1 + rows]
        longest, lengths = 0.0, work[m * n :]
        for i in range(rows):
            source = plan[at + 1 + i] * n
            norm = 0.0
            for j in range(columns):
                c = plan[at + 2 + rows + j]
                work[i * columns + j] = J[source + c] * scale[c]
                norm = max(norm, abs(work[i * columns + j]))
            lengths[i] = norm
            longest = max(longest, norm)
            row_used[i] = 0
        for i in range(rows):
            for j in range(columns):
                work[i * columns + j] *= 1.0 / lengths[i] if lengths[i] > RANK_TOLERANCE * longest else 0.0
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
    return least / most if total > 0 else 1.0


@jit
def _remember(plan: Any, counters: Any, ring: Any, t: float, X: Any) -> None:
    """Keep a closed position with its time."""
    nq = plan[NQ]
    k = counters[STEPS] % RING
    ring[k * (nq + 1)] = t
    for i in range(nq):
        ring[k * (nq + 1) + 1 + i] = X[i]
    counters[STEPS] += 1


@jit
def _write_down(plan: Any, choice: Any, t: float, address: int) -> None:
    """Keep time and independent coordinates of a new choice, as long as there is room."""
    size = 1 + plan[NQU] + plan[NVU]
    head = doubles(address, LOG_HEAD)
    if head[0] < head[1]:
        entry = doubles(address + 8 * (LOG_HEAD + int(head[0]) * size), size)
        entry[0] = t
        for i in range(size - 1):
            entry[1 + i] = choice[i]
    head[0] += 1.0


@kernel
def decide(args: int) -> int:
    """After each step: remember the position, judge the choice of coordinates, and take another one if that pays."""
    a = words(args, SLOTS)
    plan = integers(a[PLAN], HEAD)
    plan = integers(a[PLAN], plan[LENGTH])
    status = expand_here(args)
    if status != 0:
        return status
    n, m, size = plan[NV], plan[M], plan[CHOICE]
    every, flag = plan[EVERY], doubles(a[2], 1)
    choice, old = integers(a[CHOICES], size), integers(a[CHOICES] + 8 * size, size)
    trial = integers(a[CHOICES] + 16 * size, size)
    counters = integers(a[CHOICES] + 24 * size, COUNTERS)
    marks = integers(a[CHOICES] + 8 * (3 * size + COUNTERS + m + 1), m + 3 * n)
    valid, _, _, scale, ring = memory(a[MEMORY], plan)
    X = doubles(a[WORK], plan[NQ])
    _remember(plan, counters, ring, doubles(a[0], 1)[0], X)
    if plan[NQU] == plan[NQ]:  # all positions are carried along: they go on from the closed ones
        x = doubles(a[1], plan[NQ])
        for i in range(plan[NQ]):
            x[i] = X[i]
    pointers = words(a[VELOCITY], 8)
    J = doubles(pointers[plan[VELOCITY_RESULT] + 1], m * n)
    _, _, _, copy = later_space(a[WORK], plan)
    place = choice[plan[NQU] + plan[NVU] :]
    dependent, independent = marks[m + n : m + 2 * n], marks[m + 2 * n : m + 3 * n]
    eligible = plan[HEAD + 2 * n : HEAD + 3 * n]
    for j in range(n):
        dependent[j] = 1 if place[j] < 0 else 0
        independent[j] = 1 - dependent[j]
    if every > 0 and counters[STEPS] % every != 0:
        return 0
    if every > 0:
        best = choose(J, plan, scale, eligible, eligible, trial, copy, marks)
        wanted = choose(J, plan, scale, eligible, independent, trial, copy, marks)
        if wanted < BEARABLE * best:
            return 0
    else:
        now = choose(J, plan, scale, dependent, dependent, trial, copy, marks)
        if now >= GOOD:
            return 0
        best = choose(J, plan, scale, eligible, eligible, trial, copy, marks)
        if every < 0 and now < DEAD * best:
            return NEAR_DEAD_POINT
        if every < 0 or now >= WORSE * best:
            return 0
    same = True
    for k in range(plan[NVU]):
        if trial[plan[NQU] + k] != choice[plan[NQU] + k]:
            same = False
    if same:
        return 0
    for i in range(size):
        old[i], choice[i] = choice[i], trial[i]
    counters[SWITCHES] += 1
    _write_down(plan, choice, doubles(a[0], 1)[0], a[LOG])
    valid[0] = 0.0
    flag[0] = 1.0
    return 0


@jit
def _carry(plan: Any, old: Any, choice: Any, X: Any, rates: Any, acceleration: Any, x: Any, f: Any, d: Any) -> None:
    """x and ẋ in the new coordinates; entries of quaternions, independent in both, keep their rates."""
    n, nq, nqu, nvu = plan[NV], plan[NQ], plan[NQU], plan[NVU]
    for i in range(nqu):
        x[i] = f[i]
    for i in range(nqu):
        d[0] = 0.0
        found = False
        for j in range(n):
            if plan[HEAD + j] == choice[i]:
                d[0] = rates[j]
                found = True
        if not found:
            for k in range(nqu):
                if old[k] == choice[i]:
                    d[0] = x[k]
        f[i] = d[0]
    for i in range(nqu):
        x[i] = X[choice[i]]
    for k in range(nvu):
        x[nqu + k] = X[nq + choice[nqu + k]]
        f[nqu + k] = acceleration[choice[nqu + k]]


@kernel
def remap(args: int) -> int:
    """Carry x and ẋ of a present or past point from the old to the new coordinates by kinematics alone."""
    a = words(args, SLOTS)
    plan = integers(a[PLAN], HEAD)
    n, nq, nz, m, size = plan[NV], plan[NQ], plan[NZ], plan[M], plan[CHOICE]
    nqu, nvu = plan[NQU], plan[NVU]
    plan = integers(a[PLAN], plan[LENGTH])
    choice, old = integers(a[CHOICES], size), integers(a[CHOICES] + 8 * size, size)
    counters = integers(a[CHOICES] + 24 * size, COUNTERS)
    pivots = integers(a[CHOICES] + 8 * (3 * size + COUNTERS), m + 1)
    _, _, Z, _, ring = memory(a[MEMORY], plan)
    t, nearest, near = doubles(a[0], 1)[0], 1e300, 0
    for k in range(min(counters[STEPS], RING)):
        if abs(ring[k * (nq + 1)] - t) < nearest:
            nearest, near = abs(ring[k * (nq + 1)] - t), k
    start = ring[near * (nq + 1) + 1 : (near + 1) * (nq + 1)]
    status = expand(args, old, start, Z[:0])
    if status != 0:
        return status
    X, lu, d = first_space(a[WORK], plan)
    a0, acceleration, _, _ = later_space(a[WORK], plan)
    pointers = words(a[DRIFT], 8)
    pointers[0], pointers[1] = a[0], a[WORK]
    if call(plan[ADDRESS_DRIFT], a[DRIFT]) != 0:
        return -1
    g = doubles(pointers[3], m)
    inner = words(a[VELOCITY], 8)
    J = doubles(inner[plan[VELOCITY_RESULT] + 1], m * n)
    x, f = doubles(a[1], nqu + nvu + nz), doubles(a[2], nqu + nvu + nz)
    for j in range(n):
        acceleration[j] = 0.0
    for k in range(nvu):
        acceleration[old[nqu + k]] = f[nqu + k]
    for i in range(m):
        total = g[i]
        for k in range(nvu):
            total -= J[i * n + old[nqu + k]] * f[nqu + k]
        g[i] = total
    solve_dependent(plan, old, 1, lu, pivots, g, d[n:], acceleration)
    rates = a0
    for j in range(n):
        rates[j] = X[nq + j]
    _carry(plan, old, choice, X, rates, acceleration, x, f, d)
    return 0


@kernel
def follow(args: int) -> int:
    """After each step make the solved angles the references of the next one; NEAR_DEAD_POINT when a root is about to vanish.

    args = t, x, –, address, pointers, angles, references, how many, margins, how many, least margin.
    """
    a = words(args, 11)
    inner = words(a[4], 2)
    inner[0], inner[1] = a[0], a[1]
    status = call(a[3], a[4])
    angles, references = doubles(a[5], a[7]), doubles(a[6], a[7])
    margins, least = doubles(a[8], a[9]), doubles(a[10], 1)[0]
    for i in range(a[7]):
        if np.isfinite(angles[i]):
            references[i] = angles[i]
    for i in range(a[9]):
        if not margins[i] >= least:
            return NEAR_DEAD_POINT
    return status


@kernel
def decide_and_follow(args: int) -> int:
    """Judge the choice of coordinates, then follow the solved angles at the expanded state.

    args = t, x, flag, address and arguments of :func:`decide`, expanded state, address and arguments of :func:`follow`.
    """
    a = words(args, 8)
    inner = words(a[4], 3)
    inner[0], inner[1], inner[2] = a[0], a[1], a[2]
    status = call(a[3], a[4])
    if status != 0:
        return status
    outer = words(a[7], 2)
    outer[0], outer[1] = a[0], a[5]
    return call(a[6], a[7])
