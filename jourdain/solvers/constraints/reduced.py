"""The reduced equations of a system with loops in native code: x = (q_u, v_u, z) with independent q_u and v_u.

A right-hand side closes the positions by Newton (started from the last closed position moved along its tangent), then
the velocities, then takes the accelerations from the reduced mass matrix.  Where a quaternion is in a loop, x carries all positions:
dependent velocities may be parts of an angular velocity, along which Newton's method turns the quaternion.  Which coordinates are independent may change
in flight: see :mod:`jourdain.solvers.constraints.repartition`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...native.call import address, call, doubles
from ...native.kernel import jit, kernel
from ...native.record import Address, Floats, Integers, Matrix, Record, Table
from ..linear.dense import lu_factor, lu_solve
from ..linear.fronts import groups
from ..ode.frame import Arguments
from .accelerations import reduced_accelerations
from .plan import Block, Compiled, block_table, blocks
from .projection import displace

#: Changes of the choice that are written down.
LOG_ROOM = 4096
#: Past positions that are remembered as starts for Newton.
RING = 16

NEWTON = 12
#: A correction below this is the last one: convergence is quadratic.
SMALL = 1e-8
#: The largest correction of an angle that still counts as the same position (rad).
FAR = 0.7
RANK_TOLERANCE = 1e-7

NOT_CLOSED, SINGULAR, MASSLESS, NEAR_DEAD_POINT = 3, 4, 2, -7


class Plan(Record):
    """Sizes of a system with those of its independent part, tables by velocity, and the blocks of its constraints."""

    nq: int
    nv: int
    nz: int
    m: int
    holonomic: int
    nqu: int
    nvu: int
    #: how many velocities depend on the others by holonomic and by all constraints
    dependent_holonomic: int
    dependent: int
    #: 0: the choice is watched, −1: it stays, else it is changed after so many steps
    every: int
    position: Integers  # place in q of each velocity, −1 in quaternions
    angle: Integers  # whether it is the rate of an angle
    eligible: Integers  # whether it may be dependent
    blocks: Table[Block]
    rows: Integers
    columns: Integers
    quaternions: Integers


class Choice(Record):
    """Which coordinates are independent, and which rows give which dependent velocities in each block (holonomic rows first)."""

    positions: Integers
    velocities: Integers
    place: Integers  # of each velocity among the independent ones, −1: it is dependent
    holonomic: Integers  # how many holonomic rows each block uses
    used: Integers  # how many rows
    rows: Integers
    columns: Integers


class Progress(Record):
    """Steps taken, changes of the choice, whether the tangent belongs to the last closed position, and the time of that."""

    steps: int
    switches: int
    tangent: int
    t: float
    #: whether X belongs to the independent state x under the inputs u, and the time of that
    expanded: int
    expanded_t: float


class Log(Record):
    """Changes of the choice: how many there were, their times and independent coordinates as far as there is room."""

    count: int
    t: Floats
    choices: Matrix


class Memory(Record):
    """Positions remembered as starts for Newton: the last closed one with its tangent, and those of the last steps."""

    q: Floats
    Z: Floats
    scale: Floats  # weights of the velocities in the choice
    ring_t: Floats
    ring_q: Matrix


class Reduced(Record):
    """A system in independent coordinates: its plan, the present, the former and a trial choice, compiled functions and memory."""

    plan: Plan
    choice: Choice
    former: Choice
    trial: Choice
    progress: Progress
    position: Compiled
    velocity: Compiled
    terms: Compiled
    drift: Compiled
    memory: Memory
    log: Log
    X: Floats
    x: Floats
    u: Floats
    given_u: Floats
    # work space
    lu: Floats
    pivots: Integers
    line: Floats
    d: Floats
    a0: Floats
    a: Floats
    MZ: Floats
    work: Floats  # the reduced mass matrix, or a copy of J
    marks: Integers


class Call(Record):
    """Arguments of the kernels in independent coordinates."""

    t: Address
    x: Address
    out: Address
    system: Reduced


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
def _substitute(lu: Any, at: int, d: int, pivots: Any, b: Any) -> None:
    """Solve one block in place."""
    if d == 2:
        x, y = b[0], b[1]
        b[0] = lu[at] * x + lu[at + 1] * y
        b[1] = lu[at + 2] * x + lu[at + 3] * y
    elif d == 1:
        b[0] *= lu[at]
    elif d > 2:
        lu_solve(lu[at : at + d * d], d, pivots[:d], b)


@jit
def _factor(J: Any, s: Any, choice: Any, used: Any) -> int:
    """LU factors of J_D block by block; ``used`` says how many rows of each."""
    plan, lu, pivots = s.plan, s.lu, s.pivots
    n, at = plan.nv, 0
    for k in range(len(plan.blocks)):
        first, d = plan.blocks[k].row, used[k]
        rows, columns = choice.rows[first:], choice.columns[first:]
        for i in range(d):
            source = rows[i] * n
            for j in range(d):
                lu[at + i * d + j] = J[source + columns[j]]
        if _invert(lu, at, d) != 0:
            if d <= 2 or lu_factor(lu[at : at + d * d], d, pivots[first : first + d]) != 0:
                return SINGULAR
        at += d * d
    return 0


@jit
def solve_dependent(s: Any, choice: Any, used: Any, right: Any, d: Any) -> None:
    """d[column] of J_D d = right[row] for all blocks."""
    plan, lu, line = s.plan, s.lu, s.line
    at = 0
    for k in range(len(plan.blocks)):
        first, size = plan.blocks[k].row, used[k]
        rows, columns = choice.rows[first:], choice.columns[first:]
        for i in range(size):
            line[i] = right[rows[i]]
        _substitute(lu, at, size, s.pivots[first:], line)
        for i in range(size):
            d[columns[i]] = line[i]
        at += size * size


@jit
def _tangent(s: Any, J: Any) -> None:
    """Z with v = Z v_u + …: identity for independent velocities, −J_D⁻¹J_U for dependent ones."""
    plan, choice, lu, line, Z = s.plan, s.choice, s.lu, s.line, s.memory.Z
    n, nvu, place = plan.nv, plan.nvu, choice.place
    for i in range(n * nvu):
        Z[i] = 0.0
    for j in range(n):
        if place[j] >= 0:
            Z[j * nvu + place[j]] = 1.0
    at = 0
    for k in range(len(plan.blocks)):
        block, size = plan.blocks[k], choice.used[k]
        first = block.row
        rows, columns = choice.rows[first:], choice.columns[first:]
        for j in range(block.columns):
            c = plan.columns[block.column + j]
            if place[c] >= 0:
                for i in range(size):
                    line[i] = -J[rows[i] * n + c]
                _substitute(lu, at, size, s.pivots[first:], line)
                for i in range(size):
                    Z[columns[i] * nvu + place[c]] = line[i]
        at += size * size


@jit
def _close_positions(s: Any, choice: Any) -> int:
    """Newton for the dependent positions in X; quadratic, and refused when it leaves the neighbourhood."""
    plan, level, d = s.plan, s.position, s.d
    n, nq, last = plan.nv, plan.nq, 1e300
    for _ in range(NEWTON):
        if call(level.function, level.args) != 0:
            return NOT_CLOSED
        if _factor(level.J, s, choice, choice.holonomic) != 0:
            return SINGULAR
        for j in range(n):
            d[j] = 0.0
        solve_dependent(s, choice, choice.holonomic, level.h, d)
        size = 0.0
        for j in range(n):
            if not abs(d[j]) < 1e10:
                return NOT_CLOSED
            if plan.angle[j] == 1 and abs(d[j]) > FAR:
                return NOT_CLOSED
            size = max(size, abs(d[j]))
        displace(s.X[:nq], d, nq, n, plan.quaternions)
        if size <= SMALL or (size < 1e-6 and size >= 0.5 * last):
            return 0
        last = size
    return NOT_CLOSED


@jit
def _move(s: Any, choice: Any, start: Any, Z: Any) -> None:
    """Dependent positions moved along the tangent by as much as the independent ones have moved."""
    plan, X, nvu = s.plan, s.X, s.plan.nvu
    for j in range(plan.nv):
        if choice.place[j] < 0:
            for k in range(nvu):
                c = plan.position[choice.velocities[k]]
                if c >= 0:
                    X[plan.position[j]] += Z[j * nvu + k] * (X[c] - start[c])


@jit
def expand(t: int, given: int, s: Any, choice: Any, start: Any, Z: Any) -> int:
    """Write the whole state X of the independent one at an address; J and its factors stay in place.

    ``start`` is a closed position near by; when Z is not empty it is moved along Z first.
    """
    plan, X, d = s.plan, s.X, s.d
    n, nq, nz, nqu, nvu = plan.nv, plan.nq, plan.nz, plan.nqu, plan.nvu
    x = doubles(given, nqu + nvu + nz)
    for i in range(nq):
        X[i] = start[i]
    for i in range(nqu):
        X[choice.positions[i]] = x[i]
    if Z.size > 0 and plan.m == plan.holonomic and nqu < nq:
        _move(s, choice, start, Z)
    for i in range(nz):
        X[nq + n + i] = x[nqu + nvu + i]
    if plan.quaternions.size > 0:  # Newton's method is for unit quaternions
        for j in range(n):
            d[j] = 0.0
        displace(X[:nq], d, nq, n, plan.quaternions)
    if plan.holonomic > 0:
        level = s.position
        level.args[0], level.args[1] = t, address(X)
        status = _close_positions(s, choice)
        if status != 0:
            return status
    for j in range(n):
        X[nq + j] = 0.0
    for k in range(nvu):
        X[nq + choice.velocities[k]] = x[nqu + k]
    level = s.velocity
    level.args[0], level.args[1], level.args[2] = t, address(X), address(X) + 8 * nq
    for _ in range(1 if plan.m == plan.holonomic else 2):
        if call(level.function, level.args) != 0:
            return NOT_CLOSED
        if _factor(level.J, s, choice, choice.used) != 0:
            return SINGULAR
        for j in range(n):
            d[j] = 0.0
        solve_dependent(s, choice, choice.used, level.w, d)
        for j in range(n):
            X[nq + j] -= d[j]
    return 0


@jit
def _is_expanded(t: float, x: Any, s: Any) -> bool:
    """Whether X is the state of x already; x is remembered."""
    same = s.progress.expanded == 1 and s.progress.expanded_t == t
    for i in range(x.size):
        same = same and x[i] == s.x[i]
        s.x[i] = x[i]
    for i in range(s.u.size):
        same = same and s.given_u[i] == s.u[i]
        s.u[i] = s.given_u[i]
    s.progress.expanded_t = t
    return same


@jit
def _expand_nearby(a: Any) -> int:
    """Expand the state in the present coordinates, if it is not expanded already.

    Newton starts from the position remembered or the last accepted one, the nearer first.
    A trial step that is too long may end on another branch: after it the last accepted position is the better start.
    """
    s = a.system
    if _is_expanded(doubles(a.t, 1)[0], doubles(a.x, s.x.size), s):
        return 0
    memory, progress, choice = s.memory, s.progress, s.choice
    steps = progress.steps
    t, last, none = doubles(a.t, 1)[0], (steps - 1) % RING, memory.Z[:0]
    back, status = steps > 0 and abs(t - memory.ring_t[last]) < abs(t - progress.t), NOT_CLOSED
    if back:
        status = expand(a.t, a.x, s, choice, memory.ring_q[last], none)
    if status != 0:
        status = expand(a.t, a.x, s, choice, memory.q, memory.Z if progress.tangent == 1 else none)
    if status != 0 and not back and steps > 0:
        status = expand(a.t, a.x, s, choice, memory.ring_q[last], none)
    progress.expanded = 1 if status == 0 else 0
    return status


@jit
def expand_here(a: Any) -> int:
    """Expand the state in the present coordinates and remember its position."""
    s, t = a.system, doubles(a.t, 1)[0]
    status = _expand_nearby(a)
    if status == 0:
        same = s.progress.t == t
        for i in range(s.plan.nq):
            same = same and s.memory.q[i] == s.X[i]
            s.memory.q[i] = s.X[i]
        if not same:
            s.progress.tangent, s.progress.t = 0, t
    return status


@kernel
def reduced_state_derivative(args: int) -> int:
    """ẋ of the independent state."""
    a = Call.at(args)
    s = a.system
    status = expand_here(a)
    if status != 0:
        return status
    plan, choice, terms, a0 = s.plan, s.choice, s.terms, s.a0
    n, nq, nz, nqu, nvu = plan.nv, plan.nq, plan.nz, plan.nqu, plan.nvu
    _tangent(s, s.velocity.J)
    s.progress.tangent = 1
    terms.args[0], terms.args[1] = a.t, address(s.X)
    if call(terms.function, terms.args) != 0:
        return -1
    for j in range(n):
        a0[j] = 0.0
    solve_dependent(s, choice, choice.used, terms.g, a0)
    if reduced_accelerations(terms.M, terms.f, s.memory.Z, a0, n, nvu, s.MZ, s.work, s.a) != 0:
        return MASSLESS
    xdot = doubles(a.out, nqu + nvu + nz)
    for i in range(nqu):
        xdot[i] = terms.rates[choice.positions[i]]
    for k in range(nvu):
        xdot[nqu + k] = s.a[choice.velocities[k]]
    for i in range(nz):
        xdot[nqu + nvu + i] = terms.rates[nq + i]
    return 0


@kernel
def full_state(args: int) -> int:
    """The whole state (q, v, z) of the independent one; nothing is remembered, for it may lie anywhere within a step."""
    a = Call.at(args)
    s = a.system
    status = _expand_nearby(a)
    out = doubles(a.out, s.X.size)
    for i in range(out.size):
        out[i] = s.X[i]
    return status


class OfFullState(Record):
    """Arguments of a function f(t, X, …) of the whole state: its own, those of the expansion to X, and those of f."""

    t: Address
    x: Address
    out: Address
    expansion: Address
    expansion_args: Arguments
    X: Address
    function: Address
    args: Integers


@kernel
def of_full_state(args: int) -> int:
    """A function f(t, X, …) of the whole state as one of the independent state."""
    a = OfFullState.at(args)
    inner = a.expansion_args
    inner.t, inner.x, inner.out = a.t, a.x, a.X
    status = call(a.expansion, inner)
    if status != 0:
        return status
    a.args[0], a.args[1], a.args[2] = a.t, a.X, a.out
    return call(a.function, a.args)


def make_plan(
    nq: int, nv: int, nz: int, holonomic: int, quaternions: Sequence[tuple[int, int]], pattern: np.ndarray, angles: Sequence[bool],
    rank: tuple[int, int], every: int,
) -> Plan:  # fmt: skip
    """The plan of a system; ``rank`` is that of the holonomic rows and of all."""
    parts = blocks([np.flatnonzero(row).tolist() for row in pattern])
    position, shift = [], 0
    held = {iv + k for _, iv in quaternions for k in range(3)}
    for j in range(nv):
        position.append(-1 if j in held else j + shift)
        shift += 1 if j in {iv + 2 for _, iv in quaternions} else 0
    # a quaternion has no position of its own for each velocity: where one is in a loop all positions are carried along
    whole = any(pattern[:, j].any() for j in held)
    eligible = [0 if j in held and not whole else 1 for j in range(nv)]
    listed = groups(parts)
    integers = (position, angles, eligible, [i for pair in quaternions for i in pair])
    tables = dict(zip(("position", "angle", "eligible", "quaternions"), (np.array(a, dtype=np.int64) for a in integers), strict=True))
    return Plan(
        nq=nq, nv=nv, nz=nz, m=pattern.shape[0], holonomic=holonomic, nqu=nq if whole else nq - rank[0], nvu=nv - rank[1],
        dependent_holonomic=rank[0], dependent=rank[1], every=every, blocks=block_table(parts, [len(rows) for rows, _ in parts]),
        rows=listed.rows, columns=listed.columns, **tables,
    )  # fmt: skip


def _choices(plan: Plan, count: int) -> tuple[np.ndarray, list[Choice], Progress, np.ndarray]:
    """So many choices, the progress of a run and pivots, in one piece of memory."""
    sizes = plan.nqu, plan.nvu, plan.nv, len(plan.blocks), len(plan.blocks), plan.rows.size, plan.rows.size
    words = Progress.struct.words
    memory, at, found = np.zeros(count * sum(sizes) + words + plan.m + 1, dtype=np.int64), 0, []
    for _ in range(count):
        choice = Choice()
        for name, size in zip(Choice.struct.fields, sizes, strict=True):
            setattr(choice, name, memory[at : at + size])
            at += size
        found.append(choice)
    return memory, found, Progress.at(memory[at : at + words]), memory[at + words :]


def _parts(*sizes: int) -> list[np.ndarray]:
    """Pieces of one array of numbers, which comes first."""
    whole, at, found = np.zeros(sum(sizes)), 0, []
    for size in sizes:
        found.append(whole[at : at + size])
        at += size
    return [whole, *found]


def make_reduced(plan: Plan, given_u: np.ndarray, **functions: Compiled) -> tuple[Reduced, np.ndarray, np.ndarray]:
    """A system with its memory; what of it changes from step to step as arrays of integers and of numbers."""
    nq, n, m, nvu, size = plan.nq, plan.nv, plan.m, plan.nvu, plan.nqu + plan.nvu
    integers, (choice, former, trial), progress, pivots = _choices(plan, 3)
    numbers, q, Z, scale, ring_t, ring_q, X, x, u, lu = _parts(
        nq, n * nvu, n, RING, RING * nq, nq + n + plan.nz, size + plan.nz, given_u.size, m * m + 1
    )
    found = Reduced(
        plan=plan, choice=choice, former=former, trial=trial, progress=progress, X=X, x=x, u=u, given_u=given_u, lu=lu, pivots=pivots,
        memory=Memory(q=q, Z=Z, scale=scale, ring_t=ring_t, ring_q=ring_q.reshape(RING, nq)),
        log=Log(t=np.zeros(LOG_ROOM), choices=np.zeros((LOG_ROOM, size))), line=np.zeros(m + 1), d=np.zeros(n), a0=np.zeros(n), a=np.zeros(n),
        MZ=np.zeros(n * nvu + n), work=np.zeros(max(nvu * nvu + nvu, m * n + m)), marks=np.zeros(m + 3 * n, dtype=np.int64), **functions,
    )  # fmt: skip
    return found, integers, numbers


__all__ = [
    "LOG_ROOM", "MASSLESS", "NEAR_DEAD_POINT", "NOT_CLOSED", "RANK_TOLERANCE", "RING", "SINGULAR", "Call", "Choice", "Log", "Memory",
    "OfFullState", "Plan", "Progress", "Reduced", "expand", "expand_here", "full_state", "make_plan", "make_reduced", "of_full_state",
    "reduced_state_derivative", "solve_dependent",
]  # fmt: skip
