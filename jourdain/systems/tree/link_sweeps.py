"""Sweeps over the links of a tree: native loops that call the compiled step of each link, outwards or inwards.

Every kernel has the signature `int32_t f(void** args)` and the same pointers

    q, v, u, prescribed, wrenches, out, constants, workspace, program

where u is a or τ, `prescribed` holds θ, θ̇, θ̈ of each prescribed link, `wrenches` six numbers a link (or null),
`constants` is the block of `formalisms.link_arrays`, and `program` says which steps (`formalisms.link_steps`) to call.
A pointer that a function does not need may be null.
A kernel returns 0, or −(i + 1) where the joint of link i feels no inertia.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

from jourdain.formalisms.tree.link_arrays import HEADER, LINK, word
from jourdain.formalisms.tree.link_steps import BIAS, BODY, COLUMN, MOVE, STEP, STEP_SIZE
from jourdain.native.call import call, doubles, integers, words
from jourdain.native.kernel import jit, kernel
from jourdain.solvers.linear.dense import cholesky, cholesky_solve

# Pointers of a kernel.
Q, V, U, PRESCRIBED, WRENCHES, OUT, CONSTANTS, WORKSPACE, PROGRAM, POINTERS = range(10)

# Words of the program: numbers of a row, where gravity enters the ground's row, whether accelerations are zero, number
# of sorts, of sweeps; then for each sweep its direction and where it writes in the own and in the parent's row; then
# the addresses of the steps, sweep by sweep and sort by sort; then the sort of each link.
ROW, GRAVITY_AT, STILL, SORTS, SWEEPS, TABLE = 0, 1, 2, 3, 4, 8
INWARDS, OWN_OUT, PARENT_OUT, SWEEP_SIZE = 0, 1, 2, 3

# Words of the block of constants.
HEAD, SIZE = HEADER.itemsize // 8, LINK.itemsize // 8
NQ, NV, MOTIONS, FOLLOWERS, GRAVITY = (word(HEADER, n) for n in ("nq", "nv", "motions", "followers", "gravity"))
PARENT, POSITIONS, VELOCITIES = (word(LINK, n) for n in ("parent", "positions", "velocities"))
PLACE_Q, PLACE_V, MOTION, LEADER = (word(LINK, n) for n in ("q", "v", "motion", "leader"))
RECORD, ROTOR = word(LINK, "rotation"), word(LINK, "rotor")

# Position coordinates of a link that turns by a quaternion.
QUATERNION = 4

# Words at the beginning of the workspace: arguments of a step, zeros, numbers nobody reads, shares of a wrench in the freedoms of
# a link, room for a step that is long enough to be cut in chunks; then the rows.
CALL, ZEROS, DUST, SHARES, SCRATCH, ROWS = 0, 16, 24, 32, 40, 1024


def workspace_size(row: int, links: int, motions: int, followers: int) -> int:
    """Numbers of workspace for rows of a given size; links that share coordinates need responses of the tree."""
    return ROWS + row * (links + 1) + motions * (followers + 2) + followers * (followers + 1)


@jit
def _start(p: Any) -> None:
    """Zeros, and the ground's row: it accelerates against gravity."""
    program, w = integers(p[PROGRAM], TABLE), doubles(p[WORKSPACE], SCRATCH)
    for i in range(SCRATCH):
        w[i] = 0.0
    words(p[WORKSPACE] + 8 * CALL, 13)[12] = p[WORKSPACE] + 8 * SCRATCH
    ground = doubles(p[WORKSPACE] + 8 * ROWS, program[ROW])
    for i in range(program[ROW]):
        ground[i] = 0.0
    if program[GRAVITY_AT] >= 0:
        gravity = doubles(p[CONSTANTS] + 8 * GRAVITY, 3)
        for i in range(3):
            ground[program[GRAVITY_AT] + i] = -gravity[i]


@jit
def _sweep(p: Any, number: int, u: int, new: int, by_motion: bool) -> None:
    """Call one step for every link. Forces or accelerations are read at `u`, values for coordinates written at `new`:

    both in the order of velocities, or (`by_motion`) in that of all freedoms, each link counted apart.
    """
    n = integers(p[CONSTANTS], HEAD)[0]
    k = integers(p[CONSTANTS] + 8 * HEAD, SIZE * n)
    head = integers(p[PROGRAM], TABLE)
    sorts, sweeps = head[SORTS], head[SWEEPS]
    program = integers(p[PROGRAM], TABLE + sweeps * (SWEEP_SIZE + sorts) + n)
    this = TABLE + SWEEP_SIZE * number
    inwards, own_out, parent_out = program[this + INWARDS], 8 * program[this + OWN_OUT], 8 * program[this + PARENT_OUT]
    steps, sort = TABLE + SWEEP_SIZE * sweeps + sorts * number, TABLE + sweeps * (SWEEP_SIZE + sorts)
    rows, size = p[WORKSPACE] + 8 * ROWS, 8 * head[ROW]
    zeros, dust, still = p[WORKSPACE] + 8 * ZEROS, p[WORKSPACE] + 8 * DUST, head[STILL] != 0
    here = p[WORKSPACE] + 8 * CALL
    args = words(here, 13)
    for turn in range(n):
        i = n - 1 - turn if inwards else turn
        at = SIZE * i
        own, parent = rows + size * (i + 1), rows + size * (k[at + PARENT] + 1)
        j = k[at + PLACE_V]
        args[0] = p[CONSTANTS] + 8 * (HEAD + at + RECORD)
        if j < 0:
            given = p[PRESCRIBED] + 24 * k[at + PLACE_Q]
            args[1], args[2], args[3] = given, given + 8, given + 16
            target = dust
        else:
            place = k[at + MOTION] if by_motion else j
            args[1], args[2] = p[Q] + 8 * k[at + PLACE_Q], p[V] + 8 * j
            args[3] = zeros if still else u + 8 * place
            target = new + 8 * place
        args[4], args[5] = own, parent
        args[6] = zeros if p[WRENCHES] == 0 else p[WRENCHES] + 48 * i
        args[7] = args[10] = target
        args[8], args[9] = own + own_out, parent + parent_out
        call(program[steps + program[sort + i]], here)


# --- inverse dynamics --------------------------------------------------------------------------------------------


def newton_euler(address: int) -> int:
    """φ(q, v, a), or the bias c(q, v) if the program says that accelerations are zero."""
    p = words(address, POINTERS)
    _start(p)
    out = doubles(p[OUT], integers(p[CONSTANTS], HEAD)[NV])
    for i in range(out.size):
        out[i] = 0.0
    _sweep(p, 0, p[U], p[OUT], False)
    _sweep(p, 1, p[U], p[OUT], False)
    return 0


# --- mass matrix -------------------------------------------------------------------------------------------------


def composite_body(address: int) -> int:
    """M(q), all entries."""
    p = words(address, POINTERS)
    _start(p)
    _sweep(p, 0, 0, 0, False)
    _sweep(p, 1, 0, 0, False)
    head = integers(p[CONSTANTS], HEAD)
    n, nv = head[0], head[NV]
    k, x = integers(p[CONSTANTS] + 8 * HEAD, SIZE * n), doubles(p[CONSTANTS] + 8 * HEAD, SIZE * n)
    program = integers(p[PROGRAM], TABLE)
    sorts, size = program[SORTS], 8 * program[ROW]
    program = integers(p[PROGRAM], TABLE + 3 * (SWEEP_SIZE + sorts) + n)
    steps, sort = TABLE + 3 * SWEEP_SIZE + 2 * sorts, TABLE + 3 * (SWEEP_SIZE + sorts)
    rows, here = p[WORKSPACE] + 8 * ROWS, p[WORKSPACE] + 8 * CALL
    dust, zeros = p[WORKSPACE] + 8 * DUST, p[WORKSPACE] + 8 * ZEROS
    args, M = words(here, 13), doubles(p[OUT], nv * nv)
    shares = doubles(p[WORKSPACE] + 8 * SHARES, SCRATCH - SHARES)
    args[10] = p[WORKSPACE] + 8 * SHARES
    for i in range(nv * nv):
        M[i] = 0.0
    for i in range(n):
        at = SIZE * i
        if k[at + PLACE_V] < 0:
            continue
        for j in range(k[at + VELOCITIES]):
            column, carried, link = k[at + PLACE_V] + j, rows + size * (i + 1) + 8 * (COLUMN + 6 * j), i
            M[column * nv + column] += x[at + ROTOR]
            while link >= 0:
                # The wrench moves to and fro between two places, since a step must not overwrite what it reads.
                to = dust if carried != dust else zeros
                above = SIZE * link
                args[0] = p[CONSTANTS] + 8 * (HEAD + above + RECORD)
                args[4], args[6], args[9] = rows + size * (link + 1), carried, to
                call(program[steps + program[sort + link]], here)
                row = k[above + PLACE_V]
                for l in range(0 if row < 0 else k[above + VELOCITIES]):
                    M[(row + l) * nv + column] += shares[l]
                    if link != i:
                        M[column * nv + row + l] += shares[l]
                link, carried = k[above + PARENT], to
    return 0


# --- accelerations -----------------------------------------------------------------------------------------------


@jit
def _check(p: Any) -> int:
    """−(i + 1) of the outermost link i whose joint feels no inertia, or 0."""
    n, row = integers(p[CONSTANTS], HEAD)[0], integers(p[PROGRAM], TABLE)[ROW]
    k = integers(p[CONSTANTS] + 8 * HEAD, SIZE * n)
    w = doubles(p[WORKSPACE] + 8 * ROWS, row * (n + 1))
    for i in range(n - 1, -1, -1):
        at, step = SIZE * i, row * (i + 1) + STEP + 6
        if k[at + PLACE_V] < 0:
            continue
        freedoms = k[at + VELOCITIES]
        least = w[step]
        for j in range(freedoms):
            inverse = w[step + STEP_SIZE * j]
            # An inertia 1e13 times smaller than about another axis of the same joint is what rounding left of zero.
            if not (0.0 < inverse < 1e13 * least and math.isfinite(inverse)):
                return -(i + 1)
            least = min(least, inverse)
    return 0


def articulated_body(address: int) -> int:
    """a(q, v, τ) in order n, where every coordinate moves one link."""
    p = words(address, POINTERS)
    _start(p)
    for sweep in range(3):
        _sweep(p, sweep, p[U], p[OUT], False)
    return _check(p)


def coupled_bodies(address: int) -> int:
    """a(q, v, τ) where links share coordinates: each is eliminated with a freedom of its own, then they are coupled."""
    p = words(address, POINTERS)
    _start(p)
    head = integers(p[CONSTANTS], HEAD)
    n, size = head[0], head[MOTIONS]
    k = integers(p[CONSTANTS] + 8 * HEAD, SIZE * n)
    rest = p[WORKSPACE] + 8 * (ROWS + integers(p[PROGRAM], TABLE)[ROW] * (n + 1))
    z, force = doubles(rest, size), doubles(rest + 8 * size, size)
    out, tau = doubles(p[OUT], head[NV]), doubles(p[U], head[NV])
    for i in range(n):
        at = SIZE * i
        leads = k[at + PLACE_V] >= 0 and k[at + LEADER] == k[at + MOTION]
        for j in range(k[at + VELOCITIES]):
            force[k[at + MOTION] + j] = tau[k[at + PLACE_V] + j] if leads else 0.0
    for sweep in range(3):
        _sweep(p, sweep, rest + 8 * size, rest, True)
    status = _check(p)
    if status == 0:
        status = _couple(p, n, k, rest)
    for i in range(n):
        at = SIZE * i
        if k[at + PLACE_V] >= 0 and k[at + LEADER] == k[at + MOTION]:
            for j in range(k[at + VELOCITIES]):
                out[k[at + PLACE_V] + j] = z[k[at + MOTION] + j]
    return status


@jit
def _couple(p: Any, n: int, k: Any, rest: int) -> int:
    """Make links that share a coordinate move together.

    The forces λ of the transmissions follow from z_follower − z_leader = 0, with one response of the tree for each
    follower.
    """
    head = integers(p[CONSTANTS], HEAD)
    size, m, row = head[MOTIONS], head[FOLLOWERS], integers(p[PROGRAM], TABLE)[ROW]
    z, force, responses = doubles(rest, size), doubles(rest + 8 * size, size), doubles(rest + 16 * size, size * m)
    matrix = doubles(rest + 16 * size + 8 * size * m, m * m)
    gap = doubles(rest + 16 * size + 8 * (size * m + m * m), m)
    w = doubles(p[WORKSPACE] + 8 * ROWS, row * (n + 1))
    for i in range(n + 1):
        for j in range(6):
            w[row * i + BIAS + j] = 0.0
    for j in range(6):
        w[MOVE + j] = 0.0
    for i in range(size):
        force[i] = 0.0
    column = 0
    for i in range(n):
        follower, leader = k[SIZE * i + MOTION], k[SIZE * i + LEADER]
        if follower == leader:
            continue
        for l in range(n + 1):
            for j in range(6):
                w[row * l + BODY + 21 + j] = 0.0
        force[follower], force[leader] = 1.0, -1.0
        _sweep(p, 3, rest + 8 * size, 0, True)
        _sweep(p, 2, rest + 8 * size, rest + 16 * size + 8 * size * column, True)
        force[follower] = force[leader] = 0.0
        gap[column] = z[follower] - z[leader]
        column += 1
    column = 0
    for i in range(n):
        follower, leader = k[SIZE * i + MOTION], k[SIZE * i + LEADER]
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


def poses(address: int) -> int:
    """Rotation to the ground's axes (nine numbers) and position of every link."""
    p = words(address, POINTERS)
    _start(p)
    n, row = integers(p[CONSTANTS], HEAD)[0], integers(p[PROGRAM], TABLE)[ROW]
    w, out = doubles(p[WORKSPACE] + 8 * ROWS, row * (n + 1)), doubles(p[OUT], row * n)
    w[0] = w[4] = w[8] = 1.0
    _sweep(p, 0, 0, 0, False)
    for i in range(row * n):
        out[i] = w[row + i]
    return 0


@jit
def _position_rates(p: Any) -> None:
    """q̇ = N(q) v at OUT: velocities as they are, ė = ½ e ∘ (0, ω) for quaternions."""
    head = integers(p[CONSTANTS], HEAD)
    n = head[0]
    k = integers(p[CONSTANTS] + 8 * HEAD, SIZE * n)
    q, v, rate = doubles(p[Q], head[NQ]), doubles(p[V], head[NV]), doubles(p[OUT], head[NQ])
    for i in range(n):
        at = SIZE * i
        a, b = k[at + PLACE_Q], k[at + PLACE_V]
        if b < 0:
            continue
        if k[at + POSITIONS] != QUATERNION:
            rate[a] = v[b]
            continue
        e0, e1, e2, e3 = q[a], q[a + 1], q[a + 2], q[a + 3]
        x, y, z = v[b], v[b + 1], v[b + 2]
        rate[a] = -0.5 * (e1 * x + e2 * y + e3 * z)
        rate[a + 1] = 0.5 * (e0 * x + e2 * z - e3 * y)
        rate[a + 2] = 0.5 * (e0 * y + e3 * x - e1 * z)
        rate[a + 3] = 0.5 * (e0 * z + e1 * y - e2 * x)


def state_derivative(address: int) -> int:
    """ẋ(t, x) of x = [q, v].

    Its pointers are t, x, ẋ, then those of the accelerations (of which q, v and out are set here) and their address,
    then address and arguments of the function that writes the prescribed motions for t and of the one that writes τ
    for (t, x), or null.
    """
    outer = words(address, 3 + POINTERS + 5)
    p = words(address + 24, POINTERS)
    nq = integers(p[CONSTANTS], HEAD)[NQ]
    p[Q], p[V], p[OUT] = outer[1], outer[1] + 8 * nq, outer[2]
    solve, motion, forces = 3 + POINTERS, 4 + POINTERS, 6 + POINTERS
    if outer[motion] != 0:
        args = words(outer[motion + 1], 2)
        args[0], args[1] = outer[0], p[PRESCRIBED]
        status = call(outer[motion], outer[motion + 1])
        if status != 0:
            return status
    if outer[forces] != 0:
        args = words(outer[forces + 1], 3)
        args[0], args[1], args[2] = outer[0], outer[1], p[U]
        status = call(outer[forces], outer[forces + 1])
        if status != 0:
            return status
    _position_rates(p)
    p[OUT] += 8 * nq
    return call(outer[solve], address + 24)


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
