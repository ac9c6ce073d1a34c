"""Sweeps over the links of a tree: native loops that call the compiled step of each link, outwards or inwards.

Every kernel takes :class:`Pointers` and returns 0, or −(i + 1) where the joint of link i feels no inertia.  A pointer that a function does not
need may be null.  The numbers of the links are those of `formalisms.tree.link_arrays`; the steps are those of `formalisms.tree.link_steps`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from jourdain.formalisms.tree.link_arrays import HEADER, LINK, word
from jourdain.formalisms.tree.link_steps import BIAS, BODY, COLUMN, MOVE, STEP, STEP_SIZE
from jourdain.native.call import address as at
from jourdain.native.call import call, doubles
from jourdain.native.kernel import jit, kernel
from jourdain.native.record import Address, Floats, Integers, Record, Table
from jourdain.solvers.linear.dense import cholesky, cholesky_solve

from .contact.loose_bodies import loose_acceleration, loose_poses

# Position coordinates of a link that turns by a quaternion.
QUATERNION = 4
#: Where the numbers of a link begin that its steps read, in words.
NUMBERS = word(LINK, "rotation")
#: Numbers of work space for a step that is long enough to be cut in chunks.
SCRATCH = 984


def _fields(dtype: np.dtype) -> dict[str, type]:
    """Fields of a structured type as those of a record; arrays become several fields."""
    found: dict[str, type] = {}
    for name in dtype.names or ():
        kind = dtype[name]
        number = int if kind.base.kind == "i" else float
        found |= {name: number} if not kind.shape else {f"{name}_{k}": number for k in range(kind.shape[0])}
    return found


class Header(Record):
    """Sizes of the tree and gravity (:data:`~jourdain.formalisms.tree.link_arrays.HEADER`)."""

    __annotations__ = _fields(HEADER)
    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...


class Link(Record):
    """Places and numbers of a link (:data:`~jourdain.formalisms.tree.link_arrays.LINK`)."""

    __annotations__ = _fields(LINK)
    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any: ...


class Sweep(Record):
    """Direction of a sweep, and where its step writes in the link's own and in the parent's row."""

    inwards: int
    own_out: int
    parent_out: int


class Program(Record):
    """A tree with what to do: numbers of a row of memory, where gravity enters the ground's row (−1: it does not), whether accelerations are
    zero; the sweeps, the addresses of their steps sort by sort, and the sort of each link; the links that sweeps go over, and the last link of each body
    that is looked at in closed form."""

    header: Header
    links: Table[Link]
    row: int
    gravity: int
    still: int
    sorts: int
    sweeps: Table[Sweep]
    steps: Integers
    sort: Integers
    held: Integers
    loose: Integers


class StepPointers(Record):
    """Arguments of a step."""

    numbers: Address
    q: Address
    v: Address
    u: Address
    own: Address
    parent: Address
    wrench: Address
    old: Address
    own_out: Address
    parent_out: Address
    new: Address
    constants: Address
    scratch: Address


class Workspace(Record):
    """Memory of one thread: arguments of a step, zeros, numbers nobody reads, shares of a wrench in the freedoms of a link, a row for the
    ground and for each link; where links share coordinates, accelerations, forces and responses of all freedoms, and what couples them."""

    step: StepPointers
    zeros: Floats
    dust: Floats
    shares: Floats
    scratch: Floats
    rows: Floats
    z: Floats
    force: Floats
    responses: Floats
    matrix: Floats
    gap: Floats


class Pointers(Record):
    """Arguments of a kernel: ``u`` is a or τ, ``prescribed`` holds θ, θ̇, θ̈ of each prescribed link, ``wrenches`` six numbers a link (or null)."""

    q: Address
    v: Address
    u: Address
    prescribed: Address
    wrenches: Address
    out: Address
    program: Program
    work: Workspace


def make_workspace(row: int, links: int, motions: int, followers: int) -> Workspace:
    """Memory for rows of a given size; links that share coordinates need responses of the tree."""
    sizes = {
        "zeros": 8, "dust": 8, "shares": 8, "scratch": SCRATCH, "rows": row * (links + 1), "z": motions, "force": motions,
        "responses": motions * followers, "matrix": followers * followers, "gap": followers,
    }  # fmt: skip
    return Workspace(step=StepPointers(), **{name: np.zeros(size) for name, size in sizes.items()})


@jit
def _start(p: Any) -> None:
    """Zeros, and the ground's row: it accelerates against gravity."""
    work, program = p.work, p.program
    for i in range(work.zeros.size):
        work.zeros[i] = 0.0
    work.step.scratch = at(work.scratch)
    ground = work.rows[: program.row]
    for i in range(ground.size):
        ground[i] = 0.0
    if program.gravity >= 0:
        enters, header = ground[program.gravity :], program.header
        enters[0], enters[1], enters[2] = -header.gravity_0, -header.gravity_1, -header.gravity_2


@jit
def _sweep(p: Any, number: int, u: int, new: int, by_motion: bool) -> None:
    """Call one step for every link. Forces or accelerations are read at `u`, values for coordinates written at `new`:

    both in the order of velocities, or (`by_motion`) in that of all freedoms, each link counted apart.
    """
    program, args = p.program, p.work.step
    links, sort, sweep, steps = program.links, program.sort, program.sweeps[number], program.steps[number * program.sorts :]
    held = program.held
    n, inwards, own_out, parent_out = held.size, sweep.inwards, 8 * sweep.own_out, 8 * sweep.parent_out
    rows, size = at(p.work.rows), 8 * program.row
    zeros, dust, still = at(p.work.zeros), at(p.work.dust), program.still != 0
    q, v, prescribed, wrenches = p.q, p.v, p.prescribed, p.wrenches
    for turn in range(n):
        i = held[n - 1 - turn if inwards else turn]
        link = links[i]
        own, parent, j = rows + size * (i + 1), rows + size * (link.parent + 1), link.v
        args.numbers = at(link) + 8 * NUMBERS
        if j < 0:
            given = prescribed + 24 * link.q
            args.q, args.v, args.u = given, given + 8, given + 16
            target = dust
        else:
            place = link.motion if by_motion else j
            args.q, args.v = q + 8 * link.q, v + 8 * j
            args.u = zeros if still else u + 8 * place
            target = new + 8 * place
        args.own, args.parent = own, parent
        args.wrench = zeros if wrenches == 0 else wrenches + 48 * i
        args.old = args.new = target
        args.own_out, args.parent_out = own + own_out, parent + parent_out
        call(steps[sort[i]], args)


# --- inverse dynamics --------------------------------------------------------------------------------------------


def newton_euler(args: int) -> int:
    """φ(q, v, a), or the bias c(q, v) if the program says that accelerations are zero."""
    p = Pointers.at(args)
    _start(p)
    out = doubles(p.out, p.program.header.nv)
    for i in range(out.size):
        out[i] = 0.0
    _sweep(p, 0, p.u, p.out, False)
    _sweep(p, 1, p.u, p.out, False)
    return 0


# --- mass matrix -------------------------------------------------------------------------------------------------


def composite_body(args: int) -> int:
    """M(q), all entries."""
    p = Pointers.at(args)
    _start(p)
    _sweep(p, 0, 0, 0, False)
    _sweep(p, 1, 0, 0, False)
    program, step, shares = p.program, p.work.step, p.work.shares
    links, sort, nv, steps = program.links, program.sort, program.header.nv, program.steps[2 * program.sorts :]
    rows, row, dust, zeros = p.work.rows, program.row, at(p.work.dust), at(p.work.zeros)
    M = doubles(p.out, nv * nv)
    step.new = at(shares)
    for i in range(nv * nv):
        M[i] = 0.0
    for i in range(len(links)):
        own = links[i]
        if own.v < 0:
            continue
        columns, freedoms = rows[row * (i + 1) + COLUMN :], own.velocities
        for j in range(freedoms):
            column, carried, k = own.v + j, at(columns) + 48 * j, own.parent
            M[column * nv + column] += own.rotor
            for l in range(freedoms):
                M[(own.v + l) * nv + column] += columns[freedoms * (6 + j) + l]
            while k >= 0:
                # The wrench moves to and fro between two places, since a step must not overwrite what it reads.
                to = dust if carried != dust else zeros
                link = links[k]
                step.numbers = at(link) + 8 * NUMBERS
                step.own, step.wrench, step.parent_out = at(rows) + 8 * row * (k + 1), carried, to
                call(steps[sort[k]], step)
                other = link.v
                for l in range(0 if other < 0 else link.velocities):
                    M[(other + l) * nv + column] += shares[l]
                    M[column * nv + other + l] += shares[l]
                k, carried = link.parent, to
    return 0


# --- accelerations -----------------------------------------------------------------------------------------------


@jit
def _check(p: Any) -> int:
    """−(i + 1) of the outermost link i whose joint feels no inertia, or 0."""
    links, row, w, held = p.program.links, p.program.row, p.work.rows, p.program.held
    for turn in range(held.size - 1, -1, -1):
        i = held[turn]
        link, place = links[i], row * (i + 1) + STEP + 6
        if link.v < 0:
            continue
        least = w[place]
        for j in range(link.velocities):
            inverse = w[place + STEP_SIZE * j]
            # An inertia 1e13 times smaller than about another axis of the same joint is what rounding left of zero.
            if not (0.0 < inverse < 1e13 * least and math.isfinite(inverse)):
                return -(i + 1)
            least = min(least, inverse)
    return 0


def articulated_body(args: int) -> int:
    """a(q, v, τ) in order n, where every coordinate moves one link."""
    p = Pointers.at(args)
    _start(p)
    for sweep in range(3):
        _sweep(p, sweep, p.u, p.out, False)
    status = _check(p)
    return status if status != 0 else _loose(p)


@jit
def _loose(p: Any) -> int:
    """Accelerations of the bodies that nothing holds."""
    program, header, zeros = p.program, p.program.header, p.work.zeros
    q, v, u, out = doubles(p.q, header.nq), doubles(p.v, header.nv), doubles(p.u, header.nv), doubles(p.out, header.nv)
    gravity = (header.gravity_0, header.gravity_1, header.gravity_2)
    push = p.work.dust
    for k in range(program.loose.size):
        i = program.loose[k]
        link = program.links[i]
        wrench, a = zeros, link.v - 3
        for j in (0, 1, 2):
            push[j] = 0.0
        if p.wrenches != 0:
            wrench = doubles(p.wrenches + 48 * i, 6)
            for j in (0, 1, 2):
                for slide in range(1, 4 - j):  # slide 3 moves along x alone
                    push[j] += doubles(p.wrenches + 48 * (i - slide), 6)[j]
        if not loose_acceleration(link, q[link.q - 3 :], v[a:], u[a:], push, wrench, gravity, out[a:]):
            return -(i + 1)
    return 0


def coupled_bodies(args: int) -> int:
    """a(q, v, τ) where links share coordinates: each is eliminated with a freedom of its own, then they are coupled."""
    p = Pointers.at(args)
    _start(p)
    links, nv, z, force = p.program.links, p.program.header.nv, p.work.z, p.work.force
    out, tau = doubles(p.out, nv), doubles(p.u, nv)
    for i in range(len(links)):
        link = links[i]
        leads = link.v >= 0 and link.leader == link.motion
        for j in range(link.velocities):
            force[link.motion + j] = tau[link.v + j] if leads else 0.0
    for sweep in range(3):
        _sweep(p, sweep, at(force), at(z), True)
    status = _check(p)
    if status == 0:
        status = _couple(p)
    for i in range(len(links)):
        link = links[i]
        if link.v >= 0 and link.leader == link.motion:
            for j in range(link.velocities):
                out[link.v + j] = z[link.motion + j]
    return status


@jit
def _couple(p: Any) -> int:
    """Make links that share a coordinate move together.

    The forces λ of the transmissions follow from z_follower − z_leader = 0, with one response of the tree for each
    follower.
    """
    work, row, links = p.work, p.program.row, p.program.links
    z, force, responses, matrix, gap, w = work.z, work.force, work.responses, work.matrix, work.gap, work.rows
    n, size, m = len(links), z.size, gap.size
    for i in range(n + 1):
        for j in range(6):
            w[row * i + BIAS + j] = 0.0
    for j in range(6):
        w[MOVE + j] = 0.0
    for i in range(size):
        force[i] = 0.0
    column = 0
    for i in range(n):
        follower, leader = links[i].motion, links[i].leader
        if follower == leader:
            continue
        for l in range(n + 1):
            for j in range(6):
                w[row * l + BODY + 21 + j] = 0.0
        force[follower], force[leader] = 1.0, -1.0
        _sweep(p, 3, at(force), 0, True)
        _sweep(p, 2, at(force), at(responses) + 8 * size * column, True)
        force[follower] = force[leader] = 0.0
        gap[column] = z[follower] - z[leader]
        column += 1
    column = 0
    for i in range(n):
        follower, leader = links[i].motion, links[i].leader
        if follower != leader:
            for j in range(m):
                matrix[column * m + j] = responses[j * size + follower] - responses[j * size + leader]
            column += 1
    if cholesky(matrix, m) != 0:
        return -n
    cholesky_solve(matrix, m, gap)
    for j in range(m):
        for i in range(size):
            z[i] -= gap[j] * responses[j * size + i]
    return 0


# --- kinematics and simulation -----------------------------------------------------------------------------------


def poses(args: int) -> int:
    """Rotation to the ground's axes (nine numbers) and position of every link."""
    p = Pointers.at(args)
    _start(p)
    n, row, w = len(p.program.links), p.program.row, p.work.rows
    out = doubles(p.out, row * n)
    w[0] = w[4] = w[8] = 1.0
    _sweep(p, 0, 0, 0, False)
    for k in range(p.program.held.size):
        first = row * p.program.held[k]
        for i in range(row):
            out[first + i] = w[row + first + i]
    q = doubles(p.q, p.program.header.nq)
    for k in range(p.program.loose.size):
        last = p.program.loose[k]
        loose_poses(q[p.program.links[last].q - 3 :], row, out[row * (last - 3) :])
    return 0


@jit
def _position_rates(p: Any) -> None:
    """q̇ = N(q) v at OUT: velocities as they are, ė = ½ e ∘ (0, ω) for quaternions."""
    header, links = p.program.header, p.program.links
    q, v, rate = doubles(p.q, header.nq), doubles(p.v, header.nv), doubles(p.out, header.nq)
    for i in range(len(links)):
        link = links[i]
        a, b = link.q, link.v
        if b < 0:
            continue
        if link.positions != QUATERNION:
            rate[a] = v[b]
            continue
        e0, e1, e2, e3 = q[a], q[a + 1], q[a + 2], q[a + 3]
        x, y, z = v[b], v[b + 1], v[b + 2]
        rate[a] = -0.5 * (e1 * x + e2 * y + e3 * z)
        rate[a + 1] = 0.5 * (e0 * x + e2 * z - e3 * y)
        rate[a + 2] = 0.5 * (e0 * y + e3 * x - e1 * z)
        rate[a + 3] = 0.5 * (e0 * z + e1 * y - e2 * x)


class Hook(Record):
    """A function that writes what a tree reads, and its arguments; address 0: there is none."""

    function: Address
    args: Integers


class StateDerivative(Record):
    """Arguments of :func:`state_derivative`: the accelerations and their address, prescribed motions for t, and τ for (t, x)."""

    t: Address
    x: Address
    out: Address
    pointers: Pointers
    accelerations: Address
    motion: Hook
    forces: Hook


def state_derivative(args: int) -> int:
    """ẋ(t, x) of x = [q, v]."""
    a = StateDerivative.at(args)
    p, motion, forces = a.pointers, a.motion, a.forces
    nq = p.program.header.nq
    p.q, p.v, p.out = a.x, a.x + 8 * nq, a.out
    if motion.function != 0:
        motion.args[0], motion.args[1] = a.t, p.prescribed
        status = call(motion.function, motion.args)
        if status != 0:
            return status
    if forces.function != 0:
        forces.args[0], forces.args[1], forces.args[2] = a.t, a.x, p.u
        status = call(forces.function, forces.args)
        if status != 0:
            return status
    _position_rates(p)
    p.out += 8 * nq
    return call(a.accelerations, p)


_KERNELS: dict[str, Callable[[int], int]] = {
    f.__name__: f for f in (newton_euler, articulated_body, coupled_bodies, composite_body, poses, state_derivative)
}


@cache
def compiled(name: str) -> Any:
    """The machine code of a kernel, with its `address`."""
    return kernel(_KERNELS[name])


@jit
def run_batch(address: int, args: Any, strides: Any, first: int, last: int) -> int:
    """A kernel for many states; pointers move by ``strides`` bytes a state.  The number of the first state that failed, or −1."""
    for i in range(args.size):
        args[i] += first * strides[i]
    for state in range(first, last):
        if call(address, args.ctypes.data) != 0:
            return state
        for i in range(args.size):
            args[i] += strides[i]
    return -1
