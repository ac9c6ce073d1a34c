"""The frame: the record through which the marching loop and the methods share one integration.

A method is a pair of native functions with the signature `int32_t f(Frame* frame)`:

* `step` takes one accepted step from (t, x), at most to `t_bound`, and leaves the old point in (`t_old`, `x_old`);
* `dense` writes the interpolant of that step, x(t) = sum_k coef[k] s^k with s = (t - centre) / h_used.

They are called by address, so the loop is compiled once and a user of one method never compiles another.
"""

from __future__ import annotations

import math
from typing import Any

from jourdain.native.call import address as at
from jourdain.native.call import call
from jourdain.native.kernel import hot, jit
from jourdain.native.record import Address, Floats, Integers, Matrix, Record, Table
from jourdain.solvers.memory_log import MemoryLog

# What a step returns besides 0, and what the marching loop adds.
RHS_FAILED, NOT_FINITE, UNDERFLOW, JAC_FAILED, SINGULAR, NO_CONVERGENCE = range(1, 7)
HOOK_FAILED, ZENO, NOT_RENEWED, GUARD_NAN = range(7, 11)
FINISHED, PAUSED, SAMPLE, EVENT, TERMINAL, EXHAUSTED, RENEWED, WANTED = range(11, 19)

# Why one of two methods was left for the other.
STIFF, SOFT, DEARER, FAILED, REFUSED = range(1, 6)

EPS = 2.220446049250313e-16
TINY = 1e-100


class Arguments(Record):
    """The first words of the arguments of every native function f(t, x) → out: addresses of time, state and result."""

    t: Address
    x: Address
    out: Address


class Clock(Record):
    """Times and step sizes; ``stage_t`` is where the right-hand side reads its time."""

    t: float
    h: float
    t_old: float
    h_used: float
    t_bound: float
    h_max: float
    h_min: float
    stage_t: float
    centre: float
    error_old: float
    t_base: float
    t_bad: float
    t_event: float
    t_last: float
    direction: float
    shortest: float
    fired_value: float
    fired_size: float
    fired_shift: float


class Count(Record):
    """The number of states, statistics, then flags."""

    n: int
    steps: int
    rejected: int
    n_rhs: int
    n_jac: int
    n_lu: int
    n_events: int
    stiff: int
    near: int
    fresh: int
    adaptive: int
    restart: int
    bad: int
    bad_status: int
    degree: int
    past: int
    begin: int
    since_base: int
    positions: int
    remapped: int
    midway: int


class Progress(Record):
    """Where the marching loop is: rows of output, stops, events, and what it was asked for."""

    rows: int
    row_limit: int
    segments: int
    events: int
    event_limit: int
    stop: int
    eval: int
    evals: int
    steps_left: int
    max_steps: int
    keep_dense: int
    every_step: int
    have_dense: int
    probes: int
    fired: int
    zeno_run: int
    forget: int
    task: int
    last_fired: int
    restep: int
    tiny: int


class Turns(Record):
    """An explicit and an implicit method in turns (see :mod:`jourdain.solvers.ode.methods.turns`)."""

    # whose steps are taken now, were at the beginning of the run, and were last; whether the explicit one is kept to the end
    implicit: int
    begun: int
    last: int
    held: int
    number: int
    # whether stiffness has been looked for before the first step
    seen: int
    # whether the present method is on trial, the step at which to look again, and how far looks are put off
    trial: int
    look: int
    pause: float
    # counts at the limit of stability that are a reason for a trial; evaluations before which there is none, and trials that did not pay
    least: int
    until: float
    failed: int
    # where the present stretch began, when the trial did and its work before the stretch, and work a second of the other method
    mark_t: float
    mark_rhs: int
    mark_jac: int
    mark_lu: int
    trial_t: float
    spent: float
    other: float
    # the spectral radius where implicit steps began, explicit work a second over it, and implicit work a second where it did not pay
    rho: float
    stiffness: float
    dear: float
    # where a longer stretch of explicit steps began
    long_t: float
    long_rhs: int
    # work of a Jacobian, of factors and of a solution beside an evaluation of f
    jacobian: float
    factors: float
    solution: float


class GuardSource(Record):
    """A function that gives the guards of one event or of several in a row: where its values begin, and how many they are."""

    function: Address
    args: Address
    offset: int
    size: int
    patient: int


class Guard(Record):
    """Where the values of an event's guard come from and begin, what follows, and its action."""

    source: int
    offset: int
    mode: int
    action: Address
    action_args: Address
    patient: int
    rests: int
    passes: int


class Watched(Record):
    """A component of a guard: the direction of crossing that counts (0: both), and the guard it belongs to."""

    direction: int
    event: int
    clear: float


class Hook(Record):
    """A user's native function and its arguments (address 0: Python is asked)."""

    function: Address
    args: Address


class Memories(Record):
    """Discrete variables among the inputs `u`, their new values and changes, and rates before a renewal.

    `watchful` says that rates of the past matter to the method, `asks` that Python renews them where they jump.
    """

    u: Floats
    log: MemoryLog
    before: Floats
    watchful: int
    asks: int


class Frame(Record):
    """All that the marching loop and the methods share; functions of the user come with the address of their arguments."""

    clock: Clock
    count: Count
    progress: Progress
    # what a method works with
    x: Floats
    x_old: Floats
    f: Floats
    tol: Floats  # relative, then absolute for every state
    coef: Floats
    work: Floats
    constants: Floats
    ints: Integers
    #: of methods of second order, where dq/dt differs from v by quaternions alone: 0, and then first position and first velocity of each, in order; empty where dq/dt
    #: is to be read from the right-hand side
    turning: Integers
    past_t: Floats
    past_x: Floats
    past_f: Floats
    rhs: Address
    rhs_args: Address
    jac: Address
    jac_args: Address
    dfdt: Address
    dfdt_args: Address
    step: Address
    dense: Address
    # of methods in turns: who decides, the explicit one, the frame of the implicit one, and when turns were taken and why
    turner: Address
    explicit_step: Address
    explicit_dense: Address
    implicit: Address
    turns: Turns
    turn_t: Floats
    turn_why: Integers
    # what only the marching loop reads
    project: Address
    project_args: Address
    output: Address
    output_args: Address
    decide: Address
    decide_args: Address
    remap: Address
    remap_args: Address
    first: Address
    watcher: Address
    switcher: Address
    renewer: Address
    renewal: Address
    renewal_args: Address
    memories: Memories
    settle: Address
    settle_args: Address
    settled: MemoryLog
    sources: Table[GuardSource]
    guards: Table[Guard]
    watch: Table[Watched]
    sign: Integers
    g: Floats  # values of all guards, and of one that is looked at
    samplers: Table[Hook]
    stops: Floats
    owners: Integers
    t_eval: Floats
    row_t: Floats
    row_x: Matrix
    row_y: Matrix
    segment: Matrix
    segment_coef: Matrix
    event_t: Floats
    event_which: Integers
    event_x: Matrix  # before and after
    event_y: Matrix  # the same of the output function
    probe: Floats
    # of given steps: the method's own step, and where to step to
    given_step: Address
    instants: Floats


@hot
def view(address: int) -> Any:
    """The frame at `address` with its clock and its counters."""
    frame = Frame.at(address)
    return frame, frame.clock, frame.count


@hot
def rhs(frame: Frame, clock: Clock, count: Count, t: float, x: Any, f: Any) -> int:
    """Evaluate f(t, x); 0 when all went well."""
    clock.stage_t = t
    args = Arguments.at(frame.rhs_args)
    args.x, args.out = at(x), at(f)
    count.n_rhs += 1
    status = call(frame.rhs, args)
    if status != 0:
        clock.t_bad = t
        count.bad_status = status
        return RHS_FAILED
    return 0


@hot
def first_not_finite(values: Any) -> int:
    """Return the index of the first NaN or infinity, or -1."""
    for i in range(values.size):
        if not math.isfinite(values[i]):
            return i
    return -1


@hot
def evaluate_here(frame: Frame, clock: Clock, count: Count) -> int:
    """Make f = f(t, x) unless it is already; report the first component that is not finite."""
    if count.fresh == 1:
        return 0
    status = rhs(frame, clock, count, clock.t, frame.x, frame.f)
    if status != 0:
        return status
    bad = first_not_finite(frame.f)
    if bad >= 0:
        clock.t_bad = clock.t
        count.bad = bad
        return NOT_FINITE
    count.fresh = 1
    return 0


@jit
def jacobian(frame: Frame, clock: Clock, count: Count, function: int, arguments: int, out: Any) -> int:
    """Evaluate df/dx or df/dt at (t, x)."""
    clock.stage_t = clock.t
    args = Arguments.at(arguments)
    args.x, args.out = at(frame.x), at(out)
    status = call(function, args)
    if status != 0 or first_not_finite(out) >= 0:
        clock.t_bad = clock.t
        count.bad_status = status
        return JAC_FAILED
    return 0


@hot
def bounded_step(clock: Clock, adaptive: bool) -> Any:
    """Return the next step and whether it ends exactly at `t_bound`; no sliver is left before the bound."""
    h = clock.h
    if abs(h) > clock.h_max:
        h = math.copysign(clock.h_max, h)
    left = clock.t_bound - clock.t
    if abs(h) >= abs(left) * (1.0 - 1e-9):
        return left, True
    if adaptive and abs(h) > 0.5 * abs(left):
        return 0.5 * left, False
    return h, False


@hot
def fixed_step(clock: Clock, count: Count) -> Any:
    """Return the step to the next point of the grid t_base + k h, so that times do not drift by rounding."""
    h, hit = bounded_step(clock, False)
    if hit:
        return h, True
    if count.restart == 1:
        clock.t_base = clock.t
        count.since_base = 0
    count.since_base += 1
    h = clock.t_base + count.since_base * clock.h - clock.t
    if h / clock.h < 1e-9:  # earlier runs have ended at this point of the grid, and at others before it
        count.since_base = math.floor((clock.t - clock.t_base) / clock.h + 1e-9) + 1
        h = clock.t_base + count.since_base * clock.h - clock.t
    return h, False


@hot
def spoiled(frame: Frame, clock: Clock, count: Count, t: float) -> int:
    """Undo a fixed step and report the first component of x that is not finite, if there is one."""
    x, x_old = frame.x, frame.x_old
    bad = first_not_finite(x)
    if bad < 0:
        return 0
    for i in range(count.n):
        x[i] = x_old[i]
    clock.t_bad = t
    count.bad = bad
    return NOT_FINITE


@hot
def smallest_step(clock: Clock) -> float:
    """Return the step size below which t + h loses its meaning."""
    return max(4.0 * EPS * abs(clock.t), TINY)


@hot
def weight(tol: Any, i: int, a: float, b: float) -> float:
    """Return the error scale atol_i + rtol max(|a|, |b|) of component i."""
    return tol[i + 1] + tol[0] * max(abs(a), abs(b))


@hot
def accept(clock: Clock, count: Count, h: float, hit: bool) -> None:
    """Move the clock by h after a step was accepted."""
    clock.t_old = clock.t
    clock.t = clock.t_bound if hit else clock.t + h
    clock.h_used = h
    count.steps += 1
    count.restart = 0


@jit
def hermite(frame: Frame, clock: Clock, count: Count, f_old: Any, f_new: Any) -> None:
    """Write the cubic with the values and slopes of both ends of the step into `coef`."""
    n = count.n
    x_old, x, coef = frame.x_old, frame.x, frame.coef
    h = clock.h_used
    for i in range(n):
        rise, start, end = x[i] - x_old[i], h * f_old[i], h * f_new[i]
        coef[i] = x_old[i]
        coef[n + i] = start
        coef[2 * n + i] = 3.0 * rise - 2.0 * start - end
        coef[3 * n + i] = start + end - 2.0 * rise
    count.degree = 3
    clock.centre = clock.t_old
