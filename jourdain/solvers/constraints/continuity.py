"""Whether a motion stays on its branch: a check after each step of a run in independent coordinates, in native code.

Where the constraints lose rank, branches of the motion meet, and a position closed from independent coordinates alone may be one of another
branch.  The branches differ by their velocities, at the very place where they meet.  Between two steps τ apart, dependent velocities and
positions therefore have to follow from the tangent at the earlier one, J δv = τ g and J δq = τ J v + ½τ² g (v̇ = Z v̇_u + a₀ with J Z = 0,
J a₀ = g), up to what the tangent turns in a step.  Forces do not enter.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...native.call import call, doubles
from ...native.kernel import jit, kernel
from ...native.record import Address, Floats, Integers, Record
from ..ode.frame import Arguments
from .elimination import Elimination, eliminate, elimination, spread
from .plan import Compiled, Plan

#: What :func:`watch` returns besides 0: too near to a singular position, or on another branch than before.
NEAR_SINGULAR, OFF_BRANCH = -8, -9
#: Velocities off the constraints (m/s, rad/s) that are left alone near a singular position.
QUIET = 1e-11
#: Part of the largest velocity in a loop by which one may differ from the tangent's, and the smallest difference looked at (rad/s, rad).
JUMP, LEAST = 0.1, 1e-6


class Anchor(Record):
    """The state that the next one is compared with, as far as it is numbers: whether there is one, its time, its clearance, how many velocities
    are free, and the clearance below which a position counts as singular."""

    valid: int
    t: float
    clearance: float
    free: int
    near: float


class Watched(Record):
    """What is watched: how constraints are eliminated, J and g, their units, and the anchor with its tangent."""

    elimination: Elimination
    velocity: Compiled
    drift: Compiled
    place: Integers  # of each velocity in q, −1 in quaternions
    unit: Floats  # of each velocity
    row_unit: Floats
    J: Floats
    g: Floats
    anchor: Anchor
    state: Floats
    number: Integers  # of each velocity among the free ones, −1 of a dependent one
    Z: Floats
    a0: Floats


class Watching(Record):
    """Arguments of kernels that look at a state."""

    t: Address
    X: Address
    out: Address
    watched: Watched


@jit
def _scaled(t: int, X: int, s: Any) -> int:
    """J and g at a state, columns in the metric of the masses and rows over their usual lengths."""
    plan, velocity, drift, J, g, unit = s.elimination.plan, s.velocity, s.drift, s.J, s.g, s.unit
    n = plan.nv
    velocity.args[0], velocity.args[1], velocity.args[2] = t, X, X + 8 * plan.nq
    drift.args[0], drift.args[1] = t, X
    if call(velocity.function, velocity.args) != 0 or call(drift.function, drift.args) != 0:
        return -1
    for i in range(plan.m):
        scale = s.row_unit[i]
        for j in range(n):
            J[i * n + j] = velocity.J[i * n + j] * unit[j] * scale
        g[i] = drift.g[i] * scale
    return 0


@jit
def _least_pivot(e: Any) -> float:
    """Smallest pivot of all blocks (at most 1), 0 where a block has lost rank."""
    blocks, lu, least = e.plan.blocks, e.space.factors, 1.0
    for k in range(len(blocks)):
        block, rank = blocks[k], e.pivots.rank[k]
        if rank < min(block.rank, block.columns):
            least = 0.0
        for i in range(rank):
            least = min(least, abs(lu[block.factors + i * block.columns + i]))
    return least


@jit
def _tangent(t: int, X: int, s: Any) -> float:
    """Z and a₀ (scaled) at a state; returns the clearance, the smallest pivot, or −1 where there are no numbers."""
    e = s.elimination
    if _scaled(t, X, s) != 0:
        return -1.0
    free = eliminate(s.J, s.g, e)
    least = _least_pivot(e)
    spread(e, free, e.space.factors)
    return least


@jit
def _deviation(s: Any, X: Any, tau: float) -> float:
    """By how much dependent velocities and positions differ from the anchor's tangent, as part of the largest velocity in their block."""
    plan, before, unit, number, place, Z, a0 = s.elimination.plan, s.state, s.unit, s.number, s.place, s.Z, s.a0
    nq, free, worst = plan.nq, s.anchor.free, 0.0
    for b in range(len(plan.blocks)):
        block = plan.blocks[b]
        columns = plan.columns[block.column : block.column + block.columns]
        fastest, off = 0.0, 0.0
        for i in range(columns.size):
            j = columns[i]
            fastest = max(fastest, max(abs(before[nq + j]), abs(X[nq + j])) / unit[j])
            if number[j] >= 0:
                continue
            p = place[j]
            speed = X[nq + j] - before[nq + j] - tau * a0[j] * unit[j]
            way = X[p] - before[p] - tau * (before[nq + j] + 0.5 * tau * a0[j] * unit[j]) if p >= 0 else 0.0
            for k in range(columns.size):
                c = columns[k]
                if number[c] >= 0:
                    z, r = Z[j * free + number[c]] * unit[j] / unit[c], place[c]
                    speed -= z * (X[nq + c] - before[nq + c])
                    moved = X[r] - before[r] if r >= 0 else 0.5 * tau * (before[nq + c] + X[nq + c])
                    way -= z * (moved - tau * before[nq + c])
            if abs(speed) > LEAST:
                off = max(off, abs(speed) / unit[j])
            if abs(way) > LEAST and p >= 0:
                off = max(off, abs(way / tau) / unit[j])
        if off > 0.0:
            worst = max(worst, off / fastest if fastest > 0.0 else 1e300)
    return worst


@kernel
def watch(args: int) -> int:
    """Compare the state with the anchor's tangent, then make it the anchor: 0, NEAR_SINGULAR or OFF_BRANCH (the anchor stays then)."""
    a = Watching.at(args)
    s = a.watched
    anchor, space, n = s.anchor, s.elimination.space, s.elimination.plan.nv
    X, t = doubles(a.X, s.state.size), doubles(a.t, 1)[0]
    tau, known = t - anchor.t, anchor.valid == 1
    if known and tau != 0.0 and _deviation(s, X, tau) > JUMP:
        return OFF_BRANCH
    clearance = _tangent(a.t, a.X, s)
    if clearance < 0.0:
        return -1
    if known and clearance < anchor.near:  # velocities found here hold fewer digits than those of the anchor
        return NEAR_SINGULAR
    free = 0
    for j in range(n):
        s.number[j] = space.number[j]
        free += 1 if space.number[j] >= 0 else 0
    anchor.valid, anchor.t, anchor.clearance, anchor.free = 1, t, clearance, free
    for i in range(X.size):
        s.state[i] = X[i]
    for i in range(n * n):
        s.Z[i] = space.Z[i]
    for j in range(n):
        s.a0[j] = space.a0[j]
    return 0 if clearance >= anchor.near else NEAR_SINGULAR


class WatchedOutput(Record):
    """Arguments of :func:`watched_output`: the expansion to the full state, and what is watched."""

    t: Address
    x: Address
    out: Address
    expansion: Address
    expansion_args: Arguments
    watched: Watched


@kernel
def watched_output(args: int) -> int:
    """The full state within a step, compared with the step's beginning."""
    a = WatchedOutput.at(args)
    inner, s = a.expansion_args, a.watched
    inner.t, inner.x, inner.out = a.t, a.x, a.out
    status = call(a.expansion, inner)
    if status != 0:
        return status
    tau = doubles(a.t, 1)[0] - s.anchor.t
    if s.anchor.valid == 0 or tau == 0.0:
        return 0
    return OFF_BRANCH if _deviation(s, doubles(a.out, s.state.size), tau) > JUMP else 0


class ClearanceGuard(Record):
    """Arguments of :func:`clearance_guard`."""

    t: Address
    X: Address
    out: Address
    watched: Watched
    limit: float


@kernel
def clearance_guard(args: int) -> int:
    """A guard that rises through zero where the clearance exceeds its limit."""
    a = ClearanceGuard.at(args)
    found = _tangent(a.t, a.X, a.watched)
    doubles(a.out, 1)[0] = found - a.limit
    return 0 if found >= 0.0 else -1


class ProjectWhenClear(Record):
    """Arguments of :func:`project_when_clear`: what is watched, address and arguments of the projection."""

    t: Address
    x: Address
    out: Address
    watched: Watched
    projection: Address
    projection_args: Arguments


@kernel
def project_when_clear(args: int) -> int:
    """Put x back onto the constraints, but not by less than it costs in digits near a singular position."""
    a = ProjectWhenClear.at(args)
    s, inner = a.watched, a.projection_args
    inner.t, inner.x = a.t, a.x
    clear = _tangent(a.t, a.x, s) >= s.anchor.near
    for i in range(s.velocity.w.size):
        clear = clear or abs(s.velocity.w[i]) > QUIET
    return call(a.projection, inner) if clear else 0


class DecideAndWatch(Record):
    """Arguments of :func:`decide_and_watch`: judge of the coordinates (0: none), expansion (0: X is in place), X, and what looks at it."""

    t: Address
    x: Address
    flag: Address
    judge: Address
    judge_args: Arguments
    expansion: Address
    expansion_args: Arguments
    X: Address
    watch: Address
    watch_args: Arguments


@kernel
def decide_and_watch(args: int) -> int:
    """Let the coordinates be judged, then watch the full state."""
    a = DecideAndWatch.at(args)
    if a.judge != 0:
        inner = a.judge_args
        inner.t, inner.x, inner.out = a.t, a.x, a.flag
        status = call(a.judge, inner)
        if status != 0:
            return status
    if a.expansion != 0:
        inner = a.expansion_args
        inner.t, inner.x, inner.out = a.t, a.x, a.X
        status = call(a.expansion, inner)
        if status != 0:
            return status
    outer = a.watch_args
    outer.t, outer.x = a.t, a.X
    return call(a.watch, outer)


def make_watched(plan: Plan, units: np.ndarray, near: float, place: np.ndarray, velocity: Compiled, drift: Compiled) -> Watched:
    """What is watched, without a state yet; ``units`` are those of the velocities and of the rows."""
    n, m = plan.nv, plan.m
    return Watched(
        elimination=elimination(plan), velocity=velocity, drift=drift, place=place, unit=units[:n], row_unit=units[n:], J=np.zeros(m * n),
        g=np.zeros(m), anchor=Anchor(near=near), state=np.zeros(plan.nq + n + plan.nz), number=np.zeros(n, dtype=np.int64), Z=np.zeros(n * n),
        a0=np.zeros(n),
    )  # fmt: skip


__all__ = [
    "NEAR_SINGULAR", "OFF_BRANCH", "ClearanceGuard", "DecideAndWatch", "ProjectWhenClear", "Watched", "WatchedOutput", "Watching",
    "clearance_guard", "decide_and_watch", "make_watched", "project_when_clear", "watch", "watched_output",
]  # fmt: skip
