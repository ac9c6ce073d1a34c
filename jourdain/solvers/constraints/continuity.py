"""Whether a motion stays on its branch: a check after each step of a run in independent coordinates, in native code.

Where the constraints lose rank, branches of the motion meet, and a position closed from independent coordinates alone may be one of another
branch.  The branches differ by their velocities, at the very place where they meet.  Between two steps τ apart, dependent velocities and
positions therefore have to follow from the tangent at the earlier one, J δv = τ g and J δq = τ J v + ½τ² g (v̇ = Z v̇_u + a₀ with J Z = 0,
J a₀ = g), up to what the tangent turns in a step.  Forces do not enter.

Most steps do not need that: where velocities go on as they did in the step before, no branch was left.  Only where they do not, as in a long
step or under a force that sets in, the tangent of the earlier state is found.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...native.call import address, call, doubles
from ...native.kernel import jit, kernel
from ...native.record import Address, Floats, Integers, Record
from ..ode.frame import Arguments
from .elimination import Elimination, eliminate, elimination, factor_blocks
from .plan import Compiled, Plan

#: What :func:`watch` returns besides 0: too near to a singular position, or on another branch than before.
NEAR_SINGULAR, OFF_BRANCH = -8, -9
#: Velocities off the constraints (m/s, rad/s) that are left alone near a singular position.
QUIET = 1e-11
#: Part of the largest velocity in a loop by which one may differ from what is expected, and the smallest difference looked at (rad/s, rad).
JUMP, LEAST = 0.1, 1e-6
#: Margin of closed forms (square of the sine of the angle that vanishes at a dead point) above which no singular position is near.
AMPLE = 0.05


class Anchor(Record):
    """The state that the next one is compared with, as far as it is numbers: whether there is one, its time, whether the one before is known,
    the time of that, and the clearance below which a position counts as singular."""

    valid: int
    t: float
    known: int
    earlier_t: float
    near: float


class Watched(Record):
    """What is watched: how constraints are eliminated, J and g of the anchor, their units, the anchor, and the velocities before it."""

    elimination: Elimination
    velocity: Compiled
    drift: Compiled
    place: Integers  # of each velocity in q, −1 in quaternions
    unit: Floats  # of each velocity
    scale: Floats  # 1/unit
    row_unit: Floats
    J: Floats
    g: Floats
    anchor: Anchor
    clock: Floats
    state: Floats
    earlier: Floats
    column: Integers  # of each free velocity
    here: Floats  # J of the state that is looked at, where a step leaves it; else empty
    margins: Floats  # those of closed forms, where they tell how near a singular position is; else empty


class Watching(Record):
    """Arguments of kernels that look at a state."""

    t: Address
    X: Address
    out: Address
    watched: Watched


@jit
def _evaluate(t: int, X: int, s: Any) -> int:
    """J at a state."""
    level, nq = s.velocity, s.elimination.plan.nq
    level.args[0], level.args[1], level.args[2] = t, X, X + 8 * nq
    return call(level.function, level.args)


@jit
def _scale(J: Any, s: Any) -> None:
    """J with columns in the metric of the masses and rows over their usual lengths."""
    plan, unit = s.elimination.plan, s.unit
    n = plan.nv
    for i in range(plan.m):
        scale = s.row_unit[i]
        for j in range(n):
            s.J[i * n + j] = J[i * n + j] * unit[j] * scale


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
def _clearance(J: Any, s: Any) -> float:
    """How far J is from losing rank: the smallest pivot."""
    _scale(J, s)
    factor_blocks(s.J, s.elimination)
    return _least_pivot(s.elimination)


@jit
def _clearance_at(t: int, X: int, s: Any) -> float:
    """The clearance of a state, −1 where there are no numbers."""
    return _clearance(s.velocity.J, s) if _evaluate(t, X, s) == 0 else -1.0


@jit
def _tangent(s: Any) -> int:
    """Z and a₀ (scaled) at the anchor."""
    e, drift = s.elimination, s.drift
    drift.args[0], drift.args[1] = address(s.clock), address(s.state)
    if _evaluate(address(s.clock), address(s.state), s) != 0 or call(drift.function, drift.args) != 0:
        return -1
    _scale(s.velocity.J, s)
    for i in range(e.plan.m):
        s.g[i] = drift.g[i] * s.row_unit[i]
    eliminate(s.J, s.g, e)
    for j in range(e.plan.nv):
        if e.space.number[j] >= 0:
            s.column[e.space.number[j]] = j
    return 0


@jit
def _goes_on(s: Any, X: Any, tau: float) -> bool:
    """Whether all velocities go on as in the step before the anchor, and positions with them."""
    plan, before, earlier, scale, place = s.elimination.plan, s.state, s.earlier, s.scale, s.place
    if s.anchor.known == 0:
        return False
    nq, ratio = plan.nq, tau / (s.anchor.t - s.anchor.earlier_t)
    for b in range(len(plan.blocks)):
        block = plan.blocks[b]
        columns = plan.columns[block.column : block.column + block.columns]
        fastest, off = 0.0, 0.0
        for i in range(columns.size):
            j = columns[i]
            v, w, p = before[nq + j], X[nq + j], place[j]
            fastest = max(fastest, max(abs(v), abs(w)) * scale[j])
            speed = abs(w - v - ratio * (v - earlier[j]))
            if speed > LEAST:
                off = max(off, speed * scale[j])
            if p >= 0:
                way = abs(X[p] - before[p] - 0.5 * tau * (v + w))
                if way > LEAST:
                    off = max(off, abs(way / tau) * scale[j])
        if off > JUMP * fastest:
            return False
    return True


@jit
def _deviation(s: Any, X: Any, tau: float) -> float:
    """By how much dependent velocities and positions differ from the anchor's tangent, as part of the largest velocity in their block."""
    plan, space, before, unit, place = s.elimination.plan, s.elimination.space, s.state, s.unit, s.place
    number, Z, a0 = space.number, space.Z, space.a0
    nq, worst = plan.nq, 0.0
    for b in range(len(plan.blocks)):
        block = plan.blocks[b]
        columns = plan.columns[block.column : block.column + block.columns]
        fastest, off = 0.0, 0.0
        for i in range(columns.size):
            j = columns[i]
            fastest = max(fastest, max(abs(before[nq + j]), abs(X[nq + j])) / unit[j])
            if number[j] >= 0:
                continue
            p, members = place[j], space.members[space.begin[j] :]
            speed = X[nq + j] - before[nq + j] - tau * a0[j] * unit[j]
            way = X[p] - before[p] - tau * (before[nq + j] + 0.5 * tau * a0[j] * unit[j]) if p >= 0 else 0.0
            for k in range(space.count[j]):
                c = s.column[members[k]]
                z, r = Z[space.row[j] + k] * unit[j] / unit[c], place[c]
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


@jit
def compare(s: Any, X: Any, t: float) -> int:
    """0 where a state goes on from the anchor, else OFF_BRANCH."""
    tau = t - s.anchor.t
    if s.anchor.valid == 0 or tau == 0.0 or _goes_on(s, X, tau):
        return 0
    if _tangent(s) != 0:
        return -1
    return OFF_BRANCH if _deviation(s, X, tau) > JUMP else 0


@jit
def _is_ample(margins: Any) -> bool:
    """Whether closed forms say that no singular position is near."""
    for i in range(margins.size):
        if not margins[i] >= AMPLE:
            return False
    return margins.size > 0


@jit
def _is_near(t: int, X: int, s: Any) -> int:
    """1 where a singular position is near, else 0; −1 where there are no numbers."""
    if s.anchor.valid == 1 and _is_ample(s.margins):
        return 0
    found = _clearance(s.here, s) if s.here.size > 0 else _clearance_at(t, X, s)
    return -1 if found < 0.0 else (1 if found < s.anchor.near else 0)


@jit
def moor(t: int, place: int, s: Any) -> int:
    """Make a state the anchor: 0 or NEAR_SINGULAR, where the anchor stays if there is one."""
    anchor, plan, X, now = s.anchor, s.elimination.plan, doubles(place, s.state.size), doubles(t, 1)[0]
    near = _is_near(t, place, s)
    if near < 0:
        return -1
    if near == 1 and anchor.valid == 1:  # velocities found here hold fewer digits than those of the anchor
        return NEAR_SINGULAR
    if anchor.t != now or anchor.valid == 0:
        anchor.known, anchor.earlier_t = anchor.valid, anchor.t
        for j in range(plan.nv):
            s.earlier[j] = s.state[plan.nq + j]
    anchor.valid, anchor.t, s.clock[0] = 1, now, now
    for i in range(X.size):
        s.state[i] = X[i]
    return NEAR_SINGULAR if near == 1 else 0


@kernel
def watch(args: int) -> int:
    """Compare a full state with the anchor, then make it the anchor: 0, NEAR_SINGULAR or OFF_BRANCH (the anchor stays then)."""
    a = Watching.at(args)
    status = compare(a.watched, doubles(a.X, a.watched.state.size), doubles(a.t, 1)[0])
    return moor(a.t, a.X, a.watched) if status == 0 else status


class Expansion(Record):
    """The full state X of an independent one x, kept until another is asked for: inputs count as well."""

    function: Address
    args: Arguments
    valid: int
    compared: int  # whether X was found to go on from the anchor
    t: float
    x: Floats
    u: Floats
    given_u: Floats
    X: Floats


@jit
def expanded(t: int, x: int, e: Any) -> int:
    """Puts the full state of an independent one into X, if it is not there; the status of the expansion."""
    now, given, u = doubles(t, 1)[0], doubles(x, e.x.size), e.given_u
    same = e.valid == 1 and e.t == now
    for i in range(given.size):
        same = same and given[i] == e.x[i]
        e.x[i] = given[i]
    for i in range(u.size):
        same = same and u[i] == e.u[i]
        e.u[i] = u[i]
    if same:
        return 0
    e.valid, e.compared, e.t, inner = 0, 0, now, e.args
    inner.t, inner.x, inner.out = t, x, address(e.X)
    status = call(e.function, inner)
    e.valid = 1 if status == 0 else 0
    return status


class WatchedOutput(Record):
    """Arguments of :func:`watched_output`: the expansion to the full state, and what is watched."""

    t: Address
    x: Address
    out: Address
    expansion: Expansion
    watched: Watched


@kernel
def watched_output(args: int) -> int:
    """The full state within a step, compared with the step's beginning."""
    a = WatchedOutput.at(args)
    e = a.expansion
    status = expanded(a.t, a.x, e)
    out = doubles(a.out, e.X.size)
    for i in range(out.size):
        out[i] = e.X[i]
    if status == 0:
        status = compare(a.watched, e.X, e.t)
        e.compared = 1 if status == 0 else 0
    return status


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
    found = _clearance_at(a.t, a.X, a.watched)
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
    clear = _clearance_at(a.t, a.x, s) >= s.anchor.near
    for i in range(s.velocity.w.size):
        clear = clear or abs(s.velocity.w[i]) > QUIET
    return call(a.projection, inner) if clear else 0


class DecideAndWatch(Record):
    """Arguments of :func:`decide_and_watch`: judge of the coordinates (0: none), expansion to the full state, what is watched."""

    t: Address
    x: Address
    flag: Address
    judge: Address
    judge_args: Arguments
    expansion: Expansion
    watched: Watched


@kernel
def decide_and_watch(args: int) -> int:
    """Let the coordinates be judged, and watch the full state, which is found before they change."""
    a = DecideAndWatch.at(args)
    e, inner = a.expansion, a.judge_args
    status = expanded(a.t, a.x, e)
    if status == 0 and a.judge != 0:
        inner.t, inner.x, inner.out = a.t, a.x, a.flag
        status = call(a.judge, inner)
    if status == 0 and e.compared == 0:
        status = compare(a.watched, e.X, e.t)
    e.compared = 0
    return moor(a.t, address(e.X), a.watched) if status == 0 else status


def make_watched(plan: Plan, units: np.ndarray, near: float, place: np.ndarray, velocity: Compiled, drift: Compiled) -> Watched:
    """What is watched, without a state yet; ``units`` are those of the velocities and of the rows."""
    n, m = plan.nv, plan.m
    return Watched(
        elimination=elimination(plan), velocity=velocity, drift=drift, place=place, unit=units[:n], scale=1.0 / units[:n], row_unit=units[n:], J=np.zeros(m * n),
        g=np.zeros(m), anchor=Anchor(near=near), clock=np.zeros(1), state=np.zeros(plan.nq + n + plan.nz), earlier=np.zeros(n),
        column=np.zeros(n, dtype=np.int64),
    )  # fmt: skip


__all__ = [
    "NEAR_SINGULAR", "OFF_BRANCH", "ClearanceGuard", "DecideAndWatch", "Expansion", "ProjectWhenClear", "Watched", "WatchedOutput", "Watching",
    "clearance_guard", "decide_and_watch", "make_watched", "project_when_clear", "watch", "watched_output",
]  # fmt: skip
