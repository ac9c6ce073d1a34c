"""Choice of independent coordinates in native code, and its change in flight without restarting the method.

After each accepted step the pivots of J in the metric of the masses judge the present choice; where it has become bad
another one is taken, and the method's history is carried over by kinematics alone (Schiehlen, §5; N8).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...native.call import address, call, doubles
from ...native.kernel import jit, kernel
from ...native.record import Address, Floats, Integers, Record
from ..ode.frame import Arguments
from .reduced import NEAR_DEAD_POINT, RANK_TOLERANCE, RING, Call, expand, expand_here, solve_dependent

#: Ratio of pivots above which the choice is never questioned, and how much worse than the best one it may become.
GOOD, WORSE = 0.2, 0.3
#: Redundant rows shorter than this part of the longest in their block count less.
SHORT = 0.2
#: A choice that must not change ends the motion when it has become this much worse than the best one.
DEAD = 1e-2
#: Worst choice that a forced switch may take, relative to the best one.
BEARABLE = 0.05


@jit
def _list_independent(plan: Any, choice: Any) -> None:
    """Write the independent velocities and positions of a choice from the marks of its dependent columns."""
    place, k = choice.place, 0
    for j in range(plan.nv):
        if place[j] >= 0:
            place[j] = k
            choice.velocities[k] = j
            k += 1
    k = 0
    for i in range(plan.nq):
        closed = False
        for b in range(len(plan.blocks) if plan.nqu < plan.nq else 0):
            for d in range(choice.holonomic[b]):
                if plan.position[choice.columns[plan.blocks[b].row + d]] == i:
                    closed = True
        if not closed:
            choice.positions[k] = i
            k += 1


@jit
def _unit_rows(J: Any, plan: Any, block: Any, scale: Any, work: Any) -> None:
    """Rows of a block, columns weighted by ``scale``, over their largest entries; those that are rounding become zero.

    Where rows are redundant, short ones count less: a row that is about to vanish as a whole must not be the one that closes the loop.
    """
    n, rows, columns = plan.nv, block.rows, block.columns
    longest, lengths = 0.0, work[plan.m * n :]
    for i in range(rows):
        source = plan.rows[block.row + i] * n
        norm = 0.0
        for j in range(columns):
            c = plan.columns[block.column + j]
            work[i * columns + j] = J[source + c] * scale[c]
            norm = max(norm, abs(work[i * columns + j]))
        lengths[i] = norm
        longest = max(longest, norm)
    least = SHORT * longest if plan.m > plan.dependent else 0.0
    for i in range(rows):
        for j in range(columns):
            work[i * columns + j] *= 1.0 / max(lengths[i], least) if lengths[i] > RANK_TOLERANCE * longest else 0.0


@jit
def choose(J: Any, plan: Any, scale: Any, allowed: Any, first: Any, choice: Any, work: Any, marks: Any) -> float:
    """Choose dependent columns among the ``allowed`` ones, those marked in ``first`` before others; return the ratio of pivots.

    Columns are weighted by ``scale``, rows taken at unit length.  −1 when the rank is not that of the plan.
    """
    n, m = plan.nv, plan.m
    for j in range(n):
        choice.place[j] = 0
    # the largest entry of every row is 1: a single pivot is judged by it, not by itself
    least, most, total, total_h = 1e300, 1.0, 0, 0
    row_used, column_used = marks[:m], marks[m : m + n]
    for b in range(len(plan.blocks)):
        block = plan.blocks[b]
        rows, columns = block.rows, block.columns
        listed, members = plan.rows[block.row :], plan.columns[block.column :]
        _unit_rows(J, plan, block, scale, work)
        for i in range(rows):
            row_used[i] = 0
        for j in range(columns):
            column_used[j] = 0
        count = count_h = 0
        for stage in range(4):
            while True:
                best, p, q = 0.0, -1, -1
                for i in range(rows):
                    if row_used[i] == 1 or (listed[i] < plan.holonomic) != (stage < 2):
                        continue
                    for j in range(columns):
                        c = members[j]
                        if column_used[j] == 0 and allowed[c] == 1 and (stage % 2 == 1 or first[c] == 1):
                            if abs(work[i * columns + j]) > best:
                                best, p, q = abs(work[i * columns + j]), i, j
                if p < 0 or best <= RANK_TOLERANCE:
                    break
                row_used[p] = column_used[q] = 1
                choice.rows[block.row + count] = listed[p]
                choice.columns[block.row + count] = members[q]
                choice.place[members[q]] = -1
                count += 1
                count_h += 1 if stage < 2 else 0
                least, most = min(least, best), max(most, best)
                for i in range(rows):
                    if row_used[i] == 0:
                        factor = work[i * columns + q] / work[p * columns + q]
                        if factor != 0.0:
                            for j in range(columns):
                                work[i * columns + j] -= factor * work[p * columns + j]
        choice.holonomic[b], choice.used[b] = count_h, count
        total += count
        total_h += count_h
    if total != plan.dependent or total_h != plan.dependent_holonomic:
        return -1.0
    _list_independent(plan, choice)
    return least / most if total > 0 else 1.0


@jit
def _remember(s: Any, t: float) -> None:
    """Keep a closed position with its time."""
    memory, k = s.memory, s.progress.steps % RING
    memory.ring_t[k] = t
    for i in range(s.plan.nq):
        memory.ring_q[k, i] = s.X[i]
    s.progress.steps += 1


@jit
def _write_down(s: Any, t: float) -> None:
    """Keep time and independent coordinates of a new choice, as long as there is room."""
    log, choice, nqu = s.log, s.choice, s.plan.nqu
    k = log.count
    if k < log.t.size:
        log.t[k] = t
        for i in range(nqu):
            log.choices[k, i] = choice.positions[i]
        for i in range(s.plan.nvu):
            log.choices[k, nqu + i] = choice.velocities[i]
    log.count += 1


@jit
def _copy(choice: Any, other: Any) -> None:
    """Make a choice the same as another."""
    for i in range(choice.positions.size):
        choice.positions[i] = other.positions[i]
    for i in range(choice.velocities.size):
        choice.velocities[i] = other.velocities[i]
    for i in range(choice.place.size):
        choice.place[i] = other.place[i]
    for i in range(choice.used.size):
        choice.holonomic[i], choice.used[i] = other.holonomic[i], other.used[i]
    for i in range(choice.rows.size):
        choice.rows[i], choice.columns[i] = other.rows[i], other.columns[i]


@jit
def _take_rows(s: Any) -> None:
    """Closes by the rows of the trial, which has the same dependent velocities: of redundant rows others are good in other positions."""
    choice, trial, same = s.choice, s.trial, True
    for i in range(choice.rows.size):
        same = same and choice.rows[i] == trial.rows[i] and choice.columns[i] == trial.columns[i]
    if not same:
        _copy(choice, trial)
        s.progress.expanded = 0


@jit
def _judge(s: Any) -> int:
    """Judge the choice by J, which is in place, and leave a better one in ``trial``: 1 if it should be taken, else 0 or NEAR_DEAD_POINT."""
    plan, choice, trial, marks, J, scale, copy = s.plan, s.choice, s.trial, s.marks, s.velocity.J, s.memory.scale, s.work
    n, m, every = plan.nv, plan.m, plan.every
    if every > 0 and s.progress.steps % every != 0:
        return 0
    dependent, independent = marks[m + n : m + 2 * n], marks[m + 2 * n : m + 3 * n]
    for j in range(n):
        dependent[j] = 1 if choice.place[j] < 0 else 0
        independent[j] = 1 - dependent[j]
    if every > 0:
        best = choose(J, plan, scale, plan.eligible, plan.eligible, trial, copy, marks)
        wanted = choose(J, plan, scale, plan.eligible, independent, trial, copy, marks)
        if wanted < BEARABLE * best:
            return 0
    else:
        now = choose(J, plan, scale, dependent, dependent, trial, copy, marks)
        if plan.m > plan.dependent and now > 0.0:
            _take_rows(s)
        if now >= GOOD:
            return 0
        best = choose(J, plan, scale, plan.eligible, plan.eligible, trial, copy, marks)
        if every < 0 and now < DEAD * best:
            return NEAR_DEAD_POINT
        if every < 0 or now >= WORSE * best:
            return 0
    for k in range(plan.nvu):
        if trial.velocities[k] != choice.velocities[k]:
            return 1
    return 0


@kernel
def decide(args: int) -> int:
    """After each step: remember the position, judge the choice of coordinates, and take another one if that pays."""
    a = Call.at(args)
    s = a.system
    status = expand_here(a)
    if status != 0:
        return status
    plan, t = s.plan, doubles(a.t, 1)[0]
    _remember(s, t)
    if plan.nqu == plan.nq:  # all positions are carried along: they go on from the closed ones
        x = doubles(a.x, plan.nq)
        for i in range(plan.nq):
            x[i] = s.X[i]
    found = _judge(s)
    if found != 1:
        return found
    _copy(s.former, s.choice)
    _copy(s.choice, s.trial)
    s.progress.switches += 1
    _write_down(s, t)
    s.progress.tangent = s.progress.expanded = 0
    doubles(a.out, 1)[0] = 1.0
    return 0


@jit
def _carry(s: Any, x: Any, f: Any) -> None:
    """x and ẋ in the new coordinates; entries of quaternions, independent in both, keep their rates."""
    plan, old, choice, X = s.plan, s.former, s.choice, s.X
    n, nq, nqu = plan.nv, plan.nq, plan.nqu
    for i in range(nqu):
        x[i] = f[i]
    for i in range(nqu):
        rate = 0.0
        found = False
        for j in range(n):
            if plan.position[j] == choice.positions[i]:
                rate = X[nq + j]
                found = True
        if not found:
            for k in range(nqu):
                if old.positions[k] == choice.positions[i]:
                    rate = x[k]
        f[i] = rate
    for i in range(nqu):
        x[i] = X[choice.positions[i]]
    for k in range(plan.nvu):
        x[nqu + k] = X[nq + choice.velocities[k]]
        f[nqu + k] = s.a[choice.velocities[k]]


@kernel
def remap(args: int) -> int:
    """Carry x and ẋ of a present or past point from the old to the new coordinates by kinematics alone."""
    a = Call.at(args)
    s = a.system
    plan, old, memory, drift, J = s.plan, s.former, s.memory, s.drift, s.velocity.J
    n, nqu, nvu, size = plan.nv, plan.nqu, plan.nvu, plan.nqu + plan.nvu + plan.nz
    t, nearest, near = doubles(a.t, 1)[0], 1e300, 0
    for k in range(min(s.progress.steps, RING)):
        if abs(memory.ring_t[k] - t) < nearest:
            nearest, near = abs(memory.ring_t[k] - t), k
    s.progress.expanded = 0
    status = expand(a.t, a.x, s, old, memory.ring_q[near], memory.Z[:0])
    if status != 0:
        return status
    drift.args[0], drift.args[1] = a.t, address(s.X)
    if call(drift.function, drift.args) != 0:
        return -1
    x, f, g = doubles(a.x, size), doubles(a.out, size), drift.g
    for j in range(n):
        s.a[j] = 0.0
    for k in range(nvu):
        s.a[old.velocities[k]] = f[nqu + k]
    for i in range(plan.m):
        total = g[i]
        for k in range(nvu):
            total -= J[i * n + old.velocities[k]] * f[nqu + k]
        g[i] = total
    solve_dependent(s, old, old.used, g, s.a)
    _carry(s, x, f)
    return 0


class Following(Record):
    """Arguments of :func:`follow`: the function that gives angles and margins (0: they are there), where angles go, and the least margin."""

    t: Address
    x: Address
    out: Address
    function: Address
    args: Integers
    angles: Floats
    references: Floats
    margins: Floats
    least: Floats


@kernel
def follow(args: int) -> int:
    """After each step make the solved angles the references of the next one; NEAR_DEAD_POINT when a root is about to vanish."""
    a = Following.at(args)
    status = 0
    if a.function != 0:
        a.args[0], a.args[1] = a.t, a.x
        status = call(a.function, a.args)
    for i in range(a.angles.size):
        if np.isfinite(a.angles[i]):
            a.references[i] = a.angles[i]
    for i in range(a.margins.size):
        if not a.margins[i] >= a.least[0]:
            return NEAR_DEAD_POINT
    return status


class DecideAndFollow(Record):
    """Arguments of :func:`decide_and_follow`: address and arguments of :func:`decide`, the state it expands, those of :func:`follow`."""

    t: Address
    x: Address
    flag: Address
    decide: Address
    decide_args: Arguments
    X: Address
    follow: Address
    follow_args: Arguments


@kernel
def decide_and_follow(args: int) -> int:
    """Judge the choice of coordinates, then follow the solved angles at the expanded state."""
    a = DecideAndFollow.at(args)
    inner, outer = a.decide_args, a.follow_args
    inner.t, inner.x, inner.out = a.t, a.x, a.flag
    status = call(a.decide, inner)
    if status != 0:
        return status
    outer.t, outer.x = a.t, a.X
    return call(a.follow, outer)


__all__ = ["DecideAndFollow", "Following", "choose", "decide", "decide_and_follow", "follow", "remap"]
