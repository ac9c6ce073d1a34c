"""The frame through which native loops see an assembled system: its tables, its state, and the functions they call."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...native.lanes import aligned
from ...native.record import Address, Floats, Integers, Matrix, Record, Rows, Table
from ..linear.sparse_lu import Factors
from ..memory_log import MemoryLog

# Kernels of a group.
RESIDUAL, TANGENT, AUDIT, PROJECTION = range(4)
KERNELS = 4

#: Leading scalars of the packed input of a kernel.
SCALARS = 5
#: Place of the medium among the arguments of a kernel.
MEDIUM = 5
#: Numbers an audit gives: T, V, Ψ, ΔD, work, linear and angular momentum, how far augmented angles are astray.
AUDIT_SIZE = 12
ASTRAY = 11
# Columns of the books besides the numbers of an audit.
TOTAL, BALANCE, VIOLATION, ITERATED, USED, PEAK = range(AUDIT_SIZE, AUDIT_SIZE + 6)
BOOK = AUDIT_SIZE + 6

# Where a scheme evaluates forces.
DISCRETE, MIDPOINT, START, END = range(4)
# What ``move`` does: apply an increment, predict along the rates, expand rates of unknowns.
APPLY, PREDICT, RATES = range(3)
# Which increments of a body with a null space are wanted.
RETRACT, ADVANCE, EXPAND = range(3)
# Why a march returns, and what a step says.
FINISHED, PAUSED, ANALYSE, FAILED, EVENT, AT_ONCE, NOT_RENEWED = range(10, 17)
OK, DIVERGED, STALE = 0, 1, 2


class Group(Record):
    """Elements of one type: sizes (coordinates, multipliers, history, local unknowns), offsets into the shared arrays."""

    count: int
    n: int
    m: int
    k: int
    rows: int
    gather_at: int
    rows_at: int
    multiplier_at: int
    history_at: int
    has_mass: int
    has_rate: int
    kernel_at: int


class Kernel(Record):
    """A compiled function of a group, its prepared constants, where its entries go in the matrix, what else it is given (0: nothing), and its
    SIMD variant for instances that share their constants (0: there is none)."""

    function: Address
    constant_at: int
    constant_stride: int
    entries: int
    slots_at: int
    medium: Address
    wide: Address


class Reduction(Record):
    """Bodies of one kind with a null space: functions, number, sizes of coordinates and unknowns, first one in ``bodies``."""

    retract: Address
    advance: Address
    expand: Address
    count: int
    n: int
    size: int
    first: int


class Place(Record):
    """A coordinate and its unknown (of a body: the first ones)."""

    coordinate: int
    unknown: int


class Event(Record):
    """A guard and its coordinates, or the multiplier that is watched (−1: it does not exist now), the direction that counts, and whether the
    guard speaks of rates."""

    guard: Address
    size: int
    gather: int
    multiplier: int
    direction: int
    of_rates: int


class Vectors(Rows):
    """Vectors of coordinates: ends of the step, rates, accelerations of the scheme and of the body, displacement q₁ − q₀ and that without
    forces, and work."""

    q0: Floats
    q1: Floats
    v0: Floats
    v1: Floats
    a0: Floats
    a1: Floats
    d0: Floats
    d1: Floats
    u: Floats
    w: Floats
    excess: Floats
    offset: Floats
    saved: Floats
    u_saved: Floats
    rate1: Floats
    rate2: Floats
    guess: Floats


class Multipliers(Rows):
    """Physical λ of the last step, scaled Λ of this step, and Λ of the iterate before."""

    last: Floats
    now: Floats
    kept: Floats


class History(Rows):
    """Internal variables at the start and at the end of a step."""

    start: Floats
    end: Floats


class Guards(Rows):
    """Values of guards: at the start and the end of the step, at the ends of the bracket, the side on which they start, and how often in turn a longer
    step has taken them farther from there."""

    before: Floats
    after: Floats
    low: Floats
    high: Floats
    side: Floats
    grown: Floats


class Clock(Record):
    """Times, steps and norms; ``growth`` is how much a residual may grow in a step of Newton's method, ``aside`` the largest residual of a
    row that is left out because it follows from others."""

    t: float
    h: float
    t_grid: float
    t_end: float
    step: float
    h_min: float
    t_rate1: float
    t_rate2: float
    h_next: float
    error: float
    size: float
    t_start: float
    alpha: float
    growth: float
    momentum: float
    rows_norm: float
    aside: float


class Scheme(Record):
    """Coefficients of the scheme, then what the step makes of them."""

    evaluation: float
    theta: float
    beta: float
    gamma: float
    alpha_m: float
    alpha_f: float
    kappa: float
    weight: float
    factor: float


class Control(Record):
    """Tolerance of Newton, of the adaptive step, and the contraction that lets factors be used again."""

    tolerance: float
    rtol: float
    atol: float
    contraction: float


class Count(Record):
    """Statistics, then settings and what the kernels tell each other."""

    steps: int
    iterations: int
    factorisations: int
    halvings: int
    rejected: int
    predictors: int
    searches: int
    adaptive: int
    max_iterations: int
    every: int
    out: int
    grid: int
    retried: int  # 1 after a new analysis, 2 with a library
    which: int
    mode: int
    fired: int
    refused: int  # why a solved step was not accepted: ASTRAY or TOTAL
    no_number: int  # 1 + the event whose guard was not a number


class Memories(Record):
    """Prescribed coordinates that are renewed after each step: a function of time and some coordinates and rates, and its buffers."""

    function: Address
    gather: Integers
    x: Floats
    work: Floats
    args: Integers
    log: MemoryLog
    #: what renews memories of points of contact among the new values, and its arguments
    points: Address
    points_args: Address


class Frame(Record):
    """All that native loops know of an assembled system."""

    # sizes
    n_q: int
    n_unknowns: int
    n_coordinates: int
    room: int
    limit: int
    # tables
    groups: Table[Group]
    kernels: Table[Kernel]
    gather: Integers
    rows: Integers
    slots: Integers
    free: Table[Place]
    reductions: Table[Reduction]
    bodies: Table[Place]
    constants: Floats
    multiplier_rows: Integers
    first: Table[Place]
    first_of: Integers
    # buffers of a call
    args: Integers
    x: Floats
    y: Floats
    work: Floats
    lanes: int
    wide_x: Floats
    wide_y: Floats
    wide_work: Floats
    # state
    vec: Vectors
    lam: Multipliers
    history: History
    scheme: Scheme
    clock: Clock
    control: Control
    count: Count
    book: Floats
    audit: Floats
    r: Floats
    values: Floats
    delta: Floats
    peak: Floats
    # output
    out_t: Floats
    out_q: Matrix
    out_v: Matrix
    out_lam: Matrix
    out_book: Matrix
    # factors, and the frame of a joint space
    lu: Factors
    row_scale: Floats
    reduced: Address
    # functions
    factorise: Address
    solve: Address
    evaluate: Address
    move: Address
    newton: Address
    finish: Address
    accept: Address
    # events
    events: Table[Event]
    event_gather: Integers
    event_x: Floats
    event_work: Floats
    guards: Guards
    watch: Address
    # memories
    memories: Memories
    renew: Address


@dataclass(frozen=True)
class Plan:
    """Tables of an assembled system; the state of a run is kept apart."""

    groups: Table[Group]
    kernels: Table[Kernel]  # KERNELS of every group
    gather: np.ndarray  # coordinate of every local coordinate
    rows: np.ndarray  # unknown of every local unknown, −1 where it is prescribed
    slots: np.ndarray  # place in the matrix of every local entry, −1 where there is none
    free: Table[Place]  # those updated by addition
    reductions: Table[Reduction]
    bodies: Table[Place]
    constants: np.ndarray  # prepared constants of all instances
    multiplier_rows: np.ndarray  # unknown of every multiplier, −1 where its row is left out
    first: Table[Place]  # coordinates of first order
    unknowns: int
    coordinate_unknowns: int  # those that are not multipliers
    input_size: int
    result_size: int
    workspace: int
    wide: tuple[int, int] = (0, 0)  # lanes and workspace of SIMD variants

    def fill(self, frame: Frame) -> None:
        """Gives the frame sizes, tables and fresh buffers."""
        frame.n_unknowns, frame.n_coordinates = self.unknowns, self.coordinate_unknowns
        for name in (
            "groups",
            "kernels",
            "gather",
            "rows",
            "slots",
            "free",
            "reductions",
            "bodies",
            "constants",
            "multiplier_rows",
            "first",
        ):
            setattr(frame, name, getattr(self, name))
        frame.first_of = np.full(self.coordinate_unknowns, -1, np.int64)
        frame.first_of[self.first.array["unknown"]] = self.first.array["coordinate"]
        frame.args, frame.x, frame.y = np.zeros(8, np.int64), np.zeros(self.input_size), np.zeros(self.result_size)
        frame.work = np.zeros(max(1, self.workspace))
        frame.lanes, work = self.wide
        sizes = (frame.lanes * self.input_size, frame.lanes * self.result_size, work)
        frame.wide_x, frame.wide_y, frame.wide_work = map(aligned, sizes)
