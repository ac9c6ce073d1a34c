"""Motion between events while contacts are closed: forces from a complementarity problem in accelerations (Pfeiffer & Glocker 1996; Glocker 2001).

A closed contact sticks (or begins to slide) by Coulomb's law in accelerations, u̇_N and u̇_T with λ; one that slides has λ_T = −μ λ_N u_T/‖u_T‖, so that
its column of W is that of one combined force.  With rows u = J v + d,

    u̇ = J v̇ + J̇ v,    v̇ = v̇_f + M⁻¹Jᵀλ,

J̇ v as the change of u along q ∘ exp(± ε v), by differences of order four.  The state is x = (q, v, z, energy taken by contacts).

Guards, each of which falls through zero where the active set changes:

    GAP     least gap of contacts that are open,
    LIFT    λ_N W_NN − u̇_N of closed contacts: pressing, or leaving,
    SLIP    (μ λ_N − ‖λ_T‖) W_NN − ‖u̇_T‖ of those that stick,
    STOP    u_T along the direction in which sliding began.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...native.call import address as at
from ...native.call import call, doubles
from ...native.kernel import jit, kernel
from ...native.record import Address, Floats, Integers, Matrix, Record
from ..complementarity.operator import prepare
from ..complementarity.problem import BILATERAL, CONTACT, DENSE, UNILATERAL, Problem, room
from ..complementarity.solve import Task, carry_out, solve_task
from .contact_set import Closures, ContactSet, Parts, book_wrench, contact_velocity, respond
from .moreau import Asked, displaced

GAP, LIFT, SLIP, STOP, GUARDS = range(5)
#: Parts of a second for differences of J v, and of speeds below which nothing slides.
EPSILON, AT_REST = 1e-4, 1e-9
#: Residual of the laws in parts of the largest acceleration, most sweeps, and what guards may fall below zero in the same parts.
EXACT, SWEEPS, ROUNDING = 1e-13, 200, 1e-10
#: What is returned where no forces fit the laws, and where bodies moved so far in a step that they may pass through each other.
NO_FORCES, TOO_FAR = -80, 5


class Called(Record):
    """A function of (t, x) and its arguments; address 0: there is none."""

    function: Address
    args: Integers


class Closed(Record):
    """What all functions here share: their arguments now, the equations without contacts, rows of contacts, and which are closed."""

    t: Address
    x: Address
    out: Address
    base: Called
    projection: Called
    rows: Address
    rows_args: Asked
    nq: int
    nv: int
    nz: int
    turns: Integers
    contacts: ContactSet
    parts: Parts
    closures: Closures
    friction: Floats  # by law
    problem: Problem
    task: Task
    solver: Address
    count: int
    key: Integers  # of each closed contact: shapes and feature
    slides: Integers
    along: Floats  # where sliding began, in the world's axes
    place: Integers  # among the contacts found, −1: gone
    force: Floats  # λ: normal and two tangents
    moving: Floats  # u̇ after it, likewise
    change: Floats  # J̇ v: normal, then the vector in the world's axes
    J: Matrix
    Y: Matrix
    p: Floats
    values: Floats  # of the guards
    shifted: Floats
    rates: Floats
    clock: Floats
    scale: float
    #: where the last step ended, how far bodies may move in one, and the size of each position's turn (0: a shift)
    from_: Floats
    reach: float


class Arguments(Record):
    """Arguments of all functions here."""

    t: Address
    x: Address
    out: Address
    closed: Closed


@jit
def _asked(args: int) -> Any:
    """The shared record with the arguments of a call."""
    a = Arguments.at(args)
    c = a.closed
    c.t, c.x, c.out = a.t, a.x, a.out
    return c


@jit
def _find(c: Any, t: int, x: int) -> int:
    """The contacts at (t, x), and the places of the closed ones among them."""
    asked, s = c.rows_args, c.contacts
    asked.t, asked.x, asked.start = t, x, x
    status = call(c.rows, asked)
    if status != 0:
        return status
    k = 0
    for i in range(c.count):
        while k < s.count and _earlier(s.key, k, c.key, i):
            k += 1
        c.place[i] = k if k < s.count and not _earlier(c.key, i, s.key, k) else -1
    return 0


@jit
def _earlier(a: Any, i: int, b: Any, j: int) -> bool:
    for m in (0, 1, 2):
        if a[3 * i + m] != b[3 * j + m]:
            return a[3 * i + m] < b[3 * j + m]
    return False


@jit
def _changes(c: Any, x: Any, t: float) -> int:
    """J̇ v of the closed contacts: (8 (u₊ − u₋) − (u₊₊ − u₋₋))/12 ε."""
    s, change = c.contacts, c.change
    v, q = x[c.nq :], c.shifted
    for i in range(4 * c.count):
        change[i] = 0.0
    for i in range(c.nq, c.nq + c.nv + c.nz):
        q[i] = x[i]
    for side in (-2, -1, 1, 2):
        weight = (8.0 if side == 1 else -8.0 if side == -1 else -1.0 if side == 2 else 1.0) / (12.0 * EPSILON)
        displaced(c, x, v, side * EPSILON, q)
        c.clock[0] = t + side * EPSILON
        status = _find(c, at(c.clock), at(q))
        if status != 0:
            return status
        for i in range(c.count):
            k = c.place[i]
            if k < 0:
                continue
            n, a, b = contact_velocity(s, c.parts, k, 0, v), contact_velocity(s, c.parts, k, 1, v), contact_velocity(s, c.parts, k, 2, v)
            change[4 * i] += weight * n
            for j in (0, 1, 2):
                axes = 9 * k + j
                change[4 * i + 1 + j] += weight * (s.axes[axes] * n + s.axes[axes + 3] * a + s.axes[axes + 6] * b)
    return 0


@jit
def _spread(c: Any, k: int, row: int, to: int, factor: float, J: Any, source: Any) -> None:
    """Adds a row of J or of M⁻¹Jᵀ over all velocities."""
    s, parts = c.contacts, c.parts
    for side in (0, 1):
        part = s.part[2 * k + side]
        if part >= 0:
            first, begin = parts.first[part], (6 * k + 2 * row + side) * parts.stride
            for i in range(parts.first[part + 1] - first):
                J[to, parts.member[first + i]] += factor * source[begin + i]


@jit
def _direction(c: Any, i: int, k: int, v: Any) -> Any:
    """Along the two tangents: where contact i slides, or has begun to."""
    s = c.contacts
    a, b = contact_velocity(s, c.parts, k, 1, v), contact_velocity(s, c.parts, k, 2, v)
    d1, d2 = 0.0, 0.0
    for j in (0, 1, 2):
        d1 += s.axes[9 * k + 3 + j] * c.along[3 * i + j]
        d2 += s.axes[9 * k + 6 + j] * c.along[3 * i + j]
    speed = math.sqrt(a * a + b * b)
    if speed > AT_REST * c.scale and a * d1 + b * d2 > 0.0:
        return a / speed, b / speed, speed
    length = math.sqrt(d1 * d1 + d2 * d2)
    return (d1 / length, d2 / length, a * d1 + b * d2) if length > 0.0 else (1.0, 0.0, 0.0)


@jit
def _clear(J: Any, rows: int, n: int) -> None:
    for r in range(rows):
        for i in range(n):
            J[r, i] = 0.0


@jit
def _lay_out(c: Any, v: Any) -> int:
    """Rows of closed contacts: three that stick, one that slides; their laws."""
    s, problem, rows, blocks = c.contacts, c.problem, 0, 0
    _clear(c.J, 3 * c.count, c.nv)
    _clear(c.Y, 3 * c.count, c.nv)
    for i in range(c.count):
        k = c.place[i]
        if k < 0:
            continue
        mu = c.friction[s.law[k]]
        problem.row[blocks] = rows
        problem.coefficient[blocks, 0] = problem.coefficient[blocks, 1] = mu
        if c.slides[i] != 0:
            d1, d2, _ = _direction(c, i, k, v)
            problem.law[blocks] = UNILATERAL
            _spread(c, k, 0, rows, 1.0, c.J, s.J)
            _spread(c, k, 0, rows, 1.0, c.Y, s.Y)
            _spread(c, k, 1, rows, -mu * d1, c.Y, s.Y)
            _spread(c, k, 2, rows, -mu * d2, c.Y, s.Y)
            c.p[rows] = c.force[3 * i]
            rows += 1
        else:
            problem.law[blocks] = CONTACT
            for row in (0, 1, 2):
                _spread(c, k, row, rows + row, 1.0, c.J, s.J)
                _spread(c, k, row, rows + row, 1.0, c.Y, s.Y)
                c.p[rows + row] = c.force[3 * i + row]
            rows += 3
        blocks += 1
    problem.blocks, problem.row[blocks] = blocks, rows
    return rows


@jit
def _fill(c: Any, rows: int) -> None:
    """W = J M⁻¹Jᵀ of all rows."""
    for i in range(rows):
        a = c.J[i]
        for j in range(rows):
            b, total = c.Y[j], 0.0
            for n in range(c.nv):
                total += a[n] * b[n]
            c.problem.dense[i, j] = total
        c.problem.compliance[i] = 0.0


@jit
def _right(c: Any, slope: Any) -> float:
    """w = J v̇_f + J̇ v; the largest."""
    s, problem, block, largest = c.contacts, c.problem, 0, 0.0
    for i in range(c.count):
        k = c.place[i]
        if k < 0:
            continue
        r = problem.row[block]
        for row in range(problem.row[block + 1] - r):
            total = c.change[4 * i]
            if row > 0:
                total = 0.0
                for j in (0, 1, 2):
                    total += s.axes[9 * k + 3 * row + j] * c.change[4 * i + 1 + j]
            for n in range(c.nv):
                total += c.J[r + row, n] * slope[n]
            problem.w[r + row] = total
            largest = max(largest, abs(total))
        block += 1
    return largest


@jit
def _take_over(c: Any, v: Any) -> None:
    """Forces of all closed contacts, and their accelerations after them, from the solution."""
    s, problem, block = c.contacts, c.problem, 0
    for i in range(c.count):
        for row in (0, 1, 2):
            c.force[3 * i + row] = c.moving[3 * i + row] = 0.0
        k = c.place[i]
        if k < 0:
            continue
        r = problem.row[block]
        if c.slides[i] != 0:
            d1, d2, _ = _direction(c, i, k, v)
            mu = c.friction[s.law[k]]
            c.force[3 * i], c.force[3 * i + 1], c.force[3 * i + 2] = c.p[r], -mu * d1 * c.p[r], -mu * d2 * c.p[r]
            c.moving[3 * i] = problem.u[r]
        else:
            for row in (0, 1, 2):
                c.force[3 * i + row], c.moving[3 * i + row] = c.p[r + row], problem.u[r + row]
        block += 1


@jit
def _slope(c: Any, t: int, x: Any, out: Any) -> int:
    """ẋ with the forces of closed contacts."""
    base, n = c.base, c.nq + c.nv + c.nz
    base.args[0], base.args[1], base.args[2] = t, at(x), at(out)
    status = call(base.function, base.args)
    out[n] = 0.0
    if status != 0 or c.count == 0:
        return status
    status = _changes(c, x, doubles(t, 1)[0])
    if status == 0:
        status = _find(c, t, at(x))
    if status != 0:
        return status
    respond(c.contacts, c.parts, c.closures)
    v, slope = x[c.nq :], out[c.nq :]
    rows = _lay_out(c, v)
    if rows == 0:
        return 0
    _fill(c, rows)
    largest = _right(c, slope)
    prepare(c.problem)
    carry_out(c.task, c.solver, EXACT * max(largest, 1e-9), SWEEPS)
    if not c.task.residual <= 1e5 * EXACT * max(largest, 1e-9):
        return NO_FORCES
    _take_over(c, v)
    for r in range(rows):
        if c.p[r] != 0.0:
            for i in range(c.nv):
                slope[i] += c.Y[r, i] * c.p[r]
    for i in range(c.count):
        if c.place[i] >= 0:
            for row in (0, 1, 2):
                out[n] -= c.force[3 * i + row] * contact_velocity(c.contacts, c.parts, c.place[i], row, v)
    return 0


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
    c = _asked(args)
    n = c.nq + c.nv + c.nz + 1
    x, out = doubles(c.x, n), doubles(c.out, n)
    if _moved_too_far(c, x):
        return TOO_FAR
    return _slope(c, c.t, x, out)


@kernel
def guards(args: int) -> int:
    """GAP, LIFT, SLIP, STOP at (t, x)."""
    c = _asked(args)
    n = c.nq + c.nv + c.nz + 1
    x, out, s = doubles(c.x, n), doubles(c.out, GUARDS), c.contacts
    status = _slope(c, c.t, x, c.rates)
    if status == 0:
        status = _find(c, c.t, c.x)
    if status != 0:
        return status
    out[GAP], out[LIFT], out[SLIP], out[STOP] = c.reach if c.reach < 1e3 else 1e3, 1.0, 1.0, 1.0
    i = 0
    for k in range(s.count):
        while i < c.count and (c.place[i] < 0 or c.place[i] < k):
            i += 1
        if not (i < c.count and c.place[i] == k):
            out[GAP] = min(out[GAP], s.gap[k])
    size, block = ROUNDING * c.scale, 0
    for i in range(c.count):
        k = c.place[i]
        if k < 0:
            continue
        r = c.problem.row[block]
        normal = max(c.problem.dense[r, r], 0.0)
        f, a, m = c.force[3 * i :], c.moving[3 * i :], c.friction[s.law[k]]
        out[LIFT] = min(out[LIFT], normal * f[0] - a[0] + size)
        if c.slides[i] != 0 and m > 0.0:
            out[STOP] = min(out[STOP], _direction(c, i, k, x[c.nq :])[2])
        elif c.slides[i] == 0:
            pull, way = math.sqrt(f[1] * f[1] + f[2] * f[2]), math.sqrt(a[1] * a[1] + a[2] * a[2])
            out[SLIP] = min(out[SLIP], normal * (m * f[0] - pull) - way + size)
        block += 1
    return 0


@jit
def _hold(c: Any, positions: bool, x: Any, d: Any) -> None:
    """The least motion d (in the metric of M) that takes gaps, or velocities that must vanish, away."""
    s, problem, rows = c.contacts, c.problem, 0
    _clear(c.J, 3 * c.count, c.nv)
    _clear(c.Y, 3 * c.count, c.nv)
    for i in range(c.count):
        k = c.place[i]
        if k < 0:
            continue
        for row in range(1 if positions or c.slides[i] != 0 else 3):
            _spread(c, k, row, rows, 1.0, c.J, s.J)
            _spread(c, k, row, rows, 1.0, c.Y, s.Y)
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
    _fill(c, rows)
    prepare(problem)
    carry_out(c.task, c.solver, EXACT * largest, SWEEPS)
    for r in range(rows):
        for i in range(c.nv):
            d[i] += c.Y[r, i] * c.p[r]


@jit
def _close_gaps(c: Any, x: Any) -> int:
    """Takes the gaps of closed contacts away, in place."""
    for _ in range(2 if c.count > 0 else 0):
        status = _find(c, c.t, c.x)
        if status != 0:
            return status
        respond(c.contacts, c.parts, c.closures)
        _hold(c, True, x, c.rates)
        displaced(c, x, c.rates, 1.0, x)
    return 0


@kernel
def close_gaps(args: int) -> int:
    """Positions in which closed contacts touch, in place."""
    c = _asked(args)
    return _close_gaps(c, doubles(c.x, c.nq + c.nv + c.nz + 1))


@kernel
def project(args: int) -> int:
    """Puts x back onto the constraints and closed contacts, in place."""
    c = _asked(args)
    n, status = c.nq + c.nv + c.nz + 1, 0
    x, d = doubles(c.x, n), c.rates
    if c.projection.function != 0:
        c.projection.args[0], c.projection.args[1], c.projection.args[2] = c.t, c.x, c.x
        status = call(c.projection.function, c.projection.args)
    if status == 0:
        status = _close_gaps(c, x)
    if c.count > 0 and status == 0:
        status = _find(c, c.t, c.x)
        if status != 0:
            return status
        respond(c.contacts, c.parts, c.closures)
        _hold(c, False, x, d)
        for i in range(c.nv):
            x[c.nq + i] += d[i]
    for i in range(c.nq):
        c.from_[i] = x[i]
    return status


@kernel
def forces(args: int) -> int:
    """Wrenches on bodies at (t, x), as ``place`` of the contacts says, and how many contacts are closed."""
    c = _asked(args)
    n, s = c.nq + c.nv + c.nz + 1, c.contacts
    booked = c.values.size
    x, out = doubles(c.x, n), doubles(c.out, booked + 1)
    for i in range(booked + 1):
        out[i] = 0.0
    status = _slope(c, c.t, x, c.rates)
    if status != 0:
        return status
    for i in range(c.count):
        k = c.place[i]
        if k < 0:
            continue
        out[booked] += 1.0
        for row in (0, 1, 2):
            book_wrench(s, k, row, c.force[3 * i + row], out, n - 1)
    return 0


@kernel
def found(args: int) -> int:
    """The contacts at (t, x) with M⁻¹Jᵀ, for Python to read."""
    c = _asked(args)
    status = _find(c, c.t, c.x)
    if status == 0:
        respond(c.contacts, c.parts, c.closures)
    return status


def make_closed(most: int, nq: int, nv: int, nz: int, booked: int, **known: Any) -> Closed:
    """Memory for so many closed contacts of a system with nq positions, nv velocities and nz further states."""
    n, problem, p = nq + nv + nz, room(3 * most, 3 * most, DENSE), np.zeros(3 * most)  # what is held has a block a row
    return Closed(
        nq=nq, nv=nv, nz=nz, solver=solve_task.address, task=Task(problem=problem, p=p),
        problem=problem, key=np.zeros(3 * most, np.int64), slides=np.zeros(most, np.int64), along=np.zeros(3 * most),
        place=np.zeros(most, np.int64), force=np.zeros(3 * most), moving=np.zeros(3 * most), change=np.zeros(4 * most),
        J=np.zeros((3 * most, nv)), Y=np.zeros((3 * most, nv)), p=p, values=np.zeros(booked), shifted=np.zeros(n + 1),
        rates=np.zeros(n + 1), clock=np.zeros(1), from_=np.zeros(n + 1), reach=math.inf, **known,
    )  # fmt: skip


__all__ = ["Arguments", "Closed", "close_gaps", "found", "forces", "guards", "make_closed", "project", "slope"]
