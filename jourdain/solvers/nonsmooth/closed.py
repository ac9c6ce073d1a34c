"""Runs with contacts from event to event: their right-hand side, guards and projection (forces of closed contacts: :mod:`.closed_forces`).

Guards, each of which falls through zero where the active set changes:

    GAP     least gap of contacts that are open,
    LIFT    λ_N W_NN − u̇_N of closed contacts: pressing, or leaving,
    SLIP    (μ₀ λ_N − ‖λ_T‖) W_NN − ‖u̇_T‖ of those that stick,
    STOP    u_T along the direction in which sliding began,
    LAYER   of those that slide slowly: what is left to the speed at which they begin or end to slide, or of those that do to where they slide;
            of those that begin to, ‖u̇_T‖ − (μ λ_N − ‖λ_T‖) W_NN, beyond which friction holds them again.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...native.call import call, doubles
from ...native.kernel import jit, kernel
from ..complementarity.operator import prepare
from ..complementarity.problem import BILATERAL, DENSE, room
from ..complementarity.solve import Task, carry_out, solve_task
from ..ode.rotation import displaced
from .closed_forces import (
    AT_REST,
    BEGINS,
    ENDS,
    EXACT,
    NO_FORCES,
    ROUNDING,
    SLIDES,
    STICKS,
    SWEEPS,
    clear,
    direction,
    eliminate,
    fill,
    first_way,
    motion,
    spread,
)
from .closed_places import Arguments, Called, Closed, asked_of, changes_of, find_closed, see_closed
from .contact_set import DRY, ROLL, book_wrench, contact_velocity, respond

GAP, LIFT, SLIP, STOP, LAYER, GUARDS = range(6)
#: What is returned where bodies moved so far in a step that they may pass through each other.
TOO_FAR = 5
#: Rows of gaps that differ from others by no more than this part (of squares: a thousandth of the bodies' size) are one.
BESIDE = 1e-6


@jit
def _moved_too_far(c: Any, x: Any) -> bool:
    """Whether a position has changed since the last step by more than bodies may move in one; turns count with the radius 1 m they have at most."""
    far = 0.0
    for i in range(c.nq):
        far = max(far, abs(x[i] - c.from_[i]))
    return far > c.reach


@kernel
def slope(args: int) -> int:
    """ẋ(t, x)."""
    c = asked_of(args)
    n = c.nq + c.nv + c.nz + 1
    x, out = doubles(c.x, n), doubles(c.out, n)
    if _moved_too_far(c, x):
        return TOO_FAR
    return motion(c, c.t, x, out)


@jit
def _slowness(c: Any, k: int, v: Any) -> float:
    """‖u_T‖ in parts of the layer."""
    a, b = contact_velocity(c.contacts, c.parts, k, 1, v), contact_velocity(c.contacts, c.parts, k, 2, v)
    return math.sqrt(a * a + b * b) / (c.layer * c.scale)


@kernel
def guards(args: int) -> int:
    """GAP, LIFT, SLIP, STOP, LAYER at (t, x)."""
    c = asked_of(args)
    n = c.nq + c.nv + c.nz + 1
    x, out, s = doubles(c.x, n), doubles(c.out, GUARDS), c.contacts
    status = motion(c, c.t, x, c.rates)
    if status == 0:
        status = find_closed(c, c.t, c.x)
    if status != 0:
        return status
    out[GAP], out[LIFT], out[SLIP], out[STOP], out[LAYER] = c.reach if c.reach < 1e3 else 1e3, 1.0, 1.0, 1.0, 1.0
    i = 0
    for k in range(s.count):
        while i < c.count and (c.place[i] < 0 or c.place[i] < k):
            i += 1
        if not (i < c.count and c.place[i] == k):
            out[GAP] = min(out[GAP], s.gap[k])
    size = ROUNDING * c.scale
    for i in range(c.count):
        k = c.place[i]
        if k < 0:
            continue
        out[LIFT] = min(out[LIFT], c.lift[i] + size)
        if c.slides[i] == BEGINS:
            out[LAYER] = min(out[LAYER], size - c.slip[i], 1.0 - _slowness(c, k, x[c.nq :]))
            continue
        out[SLIP] = min(out[SLIP], c.slip[i] + size)
        if c.slides[i] != STICKS and (s.sort[k] >= DRY or c.laws.friction[s.law[k]] > 0.0):
            out[STOP] = min(out[STOP], direction(c, i, k, x[c.nq :])[2])
            if s.sort[k] < DRY:
                fast = _slowness(c, k, x[c.nq :])
                out[LAYER] = min(out[LAYER], 1.0 - fast if c.slides[i] == ENDS else fast - 0.5)
    return 0


@jit
def _hold(c: Any, positions: bool, x: Any, d: Any) -> None:
    """The least motion d (in the metric of M) that takes gaps, or velocities that must vanish, away.

    Where points lie beside each other, as those in which two edges begin to touch where a corner was, one gap is taken away: both would turn the bodies.
    """
    s, problem, rows = c.contacts, c.problem, 0
    clear(c.J, 3 * c.count, c.nv)
    clear(c.Y, 3 * c.count, c.nv)
    for i in range(c.count):
        k = c.place[i]
        if k < 0:
            continue
        brakes = s.sort[k] >= DRY
        if brakes and (positions or c.slides[i] != STICKS):
            continue
        first, last = 0, 1 if positions or c.slides[i] != STICKS else 3
        if brakes:
            first = first_way(s, k)
            last = 3 if first == 1 else 1
        for row in range(first, last):
            spread(c, k, row, rows, 1.0, c.J, s.J)
            spread(c, k, row, rows, 1.0, c.Y, s.Y)
            problem.w[rows] = s.gap[k] if positions else contact_velocity(s, c.parts, k, row, x[c.nq :])
            problem.law[rows], problem.row[rows], c.p[rows] = BILATERAL, rows, 0.0
            rows += 1
    problem.blocks, problem.row[rows] = rows, rows
    for i in range(c.nv):
        d[i] = 0.0
    largest = 0.0
    for r in range(rows):
        largest = max(largest, abs(problem.w[r]))
    if largest < 1e-15:
        return
    fill(c, rows)
    if positions:
        for r in range(rows):
            c.left[r], c.rest[r] = problem.dense[r, r], problem.w[r]
        eliminate(c, rows, BESIDE)
        for r in range(rows):
            problem.w[r] -= c.rest[r] if c.left[r] >= 0.0 else 0.0
    prepare(problem)
    carry_out(c.task, c.solver, EXACT * largest, SWEEPS)
    for r in range(rows):
        for i in range(c.nv):
            d[i] += c.Y[r, i] * c.p[r]


@jit
def _close_gaps(c: Any, x: Any) -> int:
    """Takes the gaps of closed contacts away, in place."""
    for _ in range(2 if c.count > 0 else 0):
        status = find_closed(c, c.t, c.x)
        if status != 0:
            return status
        respond(c.contacts, c.parts, c.closures)
        _hold(c, True, x, c.rates)
        displaced(x, c.nq, c.turns, c.rates, 1.0, x)
    return 0


@kernel
def close_gaps(args: int) -> int:
    """Positions in which closed contacts touch, in place."""
    c = asked_of(args)
    return _close_gaps(c, doubles(c.x, c.nq + c.nv + c.nz + 1))


@kernel
def project(args: int) -> int:
    """Puts x back onto the constraints and closed contacts, in place."""
    c = asked_of(args)
    n, status = c.nq + c.nv + c.nz + 1, 0
    x, d = doubles(c.x, n), c.rates
    if c.projection.function != 0:
        c.projection.args[0], c.projection.args[1], c.projection.args[2] = c.t, c.x, c.x
        status = call(c.projection.function, c.projection.args)
    if status == 0:
        status = _close_gaps(c, x)
    if c.count > 0 and status == 0:
        status = find_closed(c, c.t, c.x)
        if status != 0:
            return status
        respond(c.contacts, c.parts, c.closures)
        _hold(c, False, x, d)
        change = 0.0
        for r in range(c.problem.row[c.problem.blocks]):
            change += 0.5 * c.p[r] * c.problem.w[r]
        c.amiss += abs(change)
        for i in range(c.nv):
            x[c.nq + i] += d[i]
    for i in range(c.nq):
        c.from_[i] = x[i]
    return status


@kernel
def forces(args: int) -> int:
    """Wrenches on bodies at (t, x), as ``place`` of the contacts says, and how many contacts are closed."""
    c = asked_of(args)
    n, s = c.nq + c.nv + c.nz + 1, c.contacts
    booked = c.values.size
    x, out = doubles(c.x, n), doubles(c.out, booked + 1)
    for i in range(booked + 1):
        out[i] = 0.0
    status = motion(c, c.t, x, c.rates)
    if status != 0:
        return status
    for i in range(c.count):
        k = c.place[i]
        if k < 0:
            continue
        out[booked] += 1.0 if s.sort[k] < DRY else 0.0
        for row in (0, 1, 2):
            if s.sort[k] != ROLL or row > 0:
                book_wrench(s, k, row, c.force[3 * i + row], out, n - 1)
    return 0


@kernel
def changes(args: int) -> int:
    """J̇ v of the closed contacts at (t, x), for Python to read; the rows in memory are those at (t, x) again."""
    c = asked_of(args)
    status = changes_of(c, doubles(c.x, c.nq + c.nv + c.nz + 1), doubles(c.t, 1)[0])
    if status == 0:
        status = see_closed(c, c.t, c.x)
    if status == 0:
        respond(c.contacts, c.parts, c.closures)
    return status


@kernel
def found(args: int) -> int:
    """The contacts at (t, x) with M⁻¹Jᵀ, for Python to read."""
    c = asked_of(args)
    status = find_closed(c, c.t, c.x)
    if status == 0:
        respond(c.contacts, c.parts, c.closures)
    return status


def make_closed(most: int, nq: int, nv: int, nz: int, booked: int, **known: Any) -> Closed:
    """Memory for so many closed contacts of a system with nq positions, nv velocities and nz further states."""
    n, problem, p = nq + nv + nz, room(3 * most, 3 * most, DENSE), np.zeros(3 * most)  # what is held has a block a row
    return Closed(
        nq=nq, nv=nv, nz=nz, solver=solve_task.address, task=Task(problem=problem, p=p),
        problem=problem, key=np.zeros(3 * most, np.int64), slides=np.zeros(most, np.int64), along=np.zeros(3 * most),
        place=np.zeros(most, np.int64), row=np.zeros(most, np.int64), bound=np.zeros(most), lift=np.zeros(most), slip=np.zeros(most),
        extra=np.zeros((1, nv)), basis=np.zeros((3 * most, 3 * most)), left=np.zeros(3 * most), rest=np.zeros(3 * most), force=np.zeros(3 * most), known=np.zeros(3 * most), moving=np.zeros(3 * most), change=np.zeros(4 * most),
        ahead=np.zeros(4 * most), behind=np.zeros(4 * most), seen=np.zeros(most, np.int64),
        J=np.zeros((3 * most, nv)), Y=np.zeros((3 * most, nv)), p=p, values=np.zeros(booked), shifted=np.zeros(n + 1),
        rates=np.zeros(n + 1), clock=np.zeros(1), from_=np.zeros(n + 1), reach=math.inf, **known,
    )  # fmt: skip


__all__ = [
    "AT_REST",
    "BEGINS",
    "ENDS",
    "NO_FORCES",
    "ROUNDING",
    "SLIDES",
    "STICKS",
    "Arguments",
    "Called",
    "Closed",
    "changes",
    "close_gaps",
    "found",
    "forces",
    "guards",
    "make_closed",
    "project",
    "slope",
]
