"""The frame through which native loops see an assembled system: its tables, its state, and the functions they call."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# Columns of the table of groups: sizes (coordinates, multipliers, history, local unknowns), offsets into the shared arrays.
COUNT, N, M, K, ROWS, GATHER_AT, ROWS_AT, MULTIPLIER_AT, HISTORY_AT, HAS_MASS, HAS_RATE, KERNEL_AT = range(12)
GROUP_COLUMNS = 12

# Kernels of a group, and the columns of the table of kernels.
RESIDUAL, TANGENT, AUDIT, PROJECTION = range(4)
KERNELS = 4
ADDRESS, CONSTANT_AT, CONSTANT_STRIDE, ENTRIES, SLOTS_AT = range(5)
KERNEL_COLUMNS = 5

# Columns of the table of reductions (kinds of bodies with a null space): addresses, sizes, first body in ``bodies``.
RETRACT, ADVANCE, EXPAND, BODY_COUNT, BODY_N, BODY_SIZE, BODY_AT = range(7)
REDUCTION_COLUMNS = 7

#: Leading scalars of the packed input of a kernel.
SCALARS = 5
#: Numbers an audit gives: T, V, Ψ, ΔD, work, linear and angular momentum, how far augmented angles are astray.
AUDIT_SIZE = 12
ASTRAY = 11

# Slots of the frame: sizes, tables, buffers of a call, state, output, functions.
N_GROUPS, N_Q, N_MULTIPLIERS, N_HISTORY, N_FREE, N_KINDS, N_BODIES, N_UNKNOWNS, N_COORDINATES, N_ENTRIES, ROOM, LIMIT = range(12)
F_GROUPS, F_KERNELS, F_GATHER, F_ROWS, F_SLOTS, F_FREE, F_REDUCTIONS, F_BODIES, F_CONSTANTS, F_MULTIPLIER_ROWS = range(12, 22)
F_ARGS, F_X, F_Y, F_WORK = range(22, 26)
F_VEC, F_LAM, F_HISTORY, F_SCHEME, F_CLOCK, F_CONTROL, F_COUNT, F_BOOK, F_R, F_VALUES, F_DELTA = range(26, 37)
OUT_T, OUT_Q, OUT_V, OUT_LAM, OUT_BOOK = range(37, 42)
LU, F_ROW_SCALE, FACTORISE, SOLVE, EVALUATE, MOVE, NEWTON, FINISH, ACCEPT, REDUCED = range(42, 52)
N_FIRST, F_FIRST, F_FIRST_OF, F_PEAK, N_EVENTS, F_EVENTS, F_EVENT_GATHER, F_EVENT_X, F_EVENT_WORK, F_GUARDS, WATCH = range(52, 63)
FRAME = 63

# Columns of the table of events: guard and its coordinates, or the multiplier that is watched (−1: it does not exist now), and direction.
E_ADDRESS, E_SIZE, E_GATHER, E_MULTIPLIER, E_DIRECTION = range(5)
EVENT_COLUMNS = 5
# Vectors of guards: at the start and the end of the step, at the ends of the bracket, and the side on which they start.
BEFORE, AFTER, LOW, HIGH, SIDE = range(5)

# Vectors of coordinates (rows of ``vec``): ends of the step, rates, accelerations of the scheme and of the body, displacement q₁ − q₀ and
# that without forces, and work.
Q0, Q1, V0, V1, A0, A1, D0, D1, U, W, EXCESS, OFFSET, SAVED, U_SAVED, RATE1, RATE2, GUESS = range(17)
VECTORS = 17
# Vectors of multipliers (rows of ``lam``): physical λ of the last step, scaled Λ of this step, saved.
LAST, NOW, KEPT = range(3)

# Entries of ``clock``; GROWTH is how much a residual may grow in a step of Newton's method, ASIDE the largest residual of a row that is left
# out because it follows from others.
T, H, T_GRID, T_END, STEP, H_MIN, T_RATE1, T_RATE2, H_NEXT, ERROR, SIZE, T_START, ALPHA, GROWTH, MOMENTUM, ROWS_NORM, ASIDE = range(17)
CLOCK_SIZE = 17
# Entries of ``scheme``: evaluation, θ, β, γ, α_m, α_f, then what the step makes of them.
EVALUATION, THETA, BETA, GAMMA, ALPHA_M, ALPHA_F, KAPPA, WEIGHT, FACTOR = range(9)
SCHEME_SIZE = 10
DISCRETE, MIDPOINT, START, END = range(4)
# Entries of ``control``: tolerance of Newton, of the adaptive step, and the contraction that lets factors be used again.
TOLERANCE, RTOL, ATOL, CONTRACTION = range(4)
CONTROL_SIZE = 4
# Entries of ``count``: statistics, then settings and what the kernels tell each other (RETRIED: 1 after a new analysis, 2 with a library;
# REFUSED: why a solved step was not accepted, ASTRAY or TOTAL).
STEPS, ITERATIONS, FACTORISATIONS, HALVINGS, REJECTED, PREDICTORS, SEARCHES = range(7)
ADAPTIVE, MAX_ITERATIONS, EVERY, OUT, GRID, RETRIED, WHICH, MODE, FIRED, REFUSED = range(7, 17)
COUNT_SIZE = 17
# Columns of the books besides the numbers of an audit.
TOTAL, BALANCE, VIOLATION, ITERATED, USED, PEAK = range(AUDIT_SIZE, AUDIT_SIZE + 6)
BOOK = AUDIT_SIZE + 6

# What MOVE does: apply an increment, predict along the rates, expand rates of unknowns.
APPLY, PREDICT, RATES = range(3)
# Why a march returns, and what a step says.
FINISHED, PAUSED, ANALYSE, FAILED, EVENT, AT_ONCE = range(10, 16)
OK, DIVERGED = 0, 1


@dataclass(frozen=True)
class Plan:
    """Tables of an assembled system; the state of a run is kept apart."""

    groups: np.ndarray  # (groups, GROUP_COLUMNS)
    kernels: np.ndarray  # (groups × KERNELS, KERNEL_COLUMNS)
    gather: np.ndarray  # coordinate of every local coordinate
    rows: np.ndarray  # unknown of every local unknown, −1 where it is prescribed
    slots: np.ndarray  # place in the matrix of every local entry, −1 where there is none
    free: np.ndarray  # (k, 2) coordinate and unknown of those updated by addition
    reductions: np.ndarray  # (kinds, REDUCTION_COLUMNS)
    bodies: np.ndarray  # (bodies, 2) first coordinate and first unknown
    constants: np.ndarray  # prepared constants of all instances
    multiplier_rows: np.ndarray  # unknown of every multiplier, −1 where its row is left out
    first: np.ndarray  # (k, 2) coordinate and unknown of first-order coordinates
    unknowns: int
    coordinate_unknowns: int  # those that are not multipliers
    input_size: int
    result_size: int
    workspace: int

    def fill(self, frame: np.ndarray) -> list[np.ndarray]:
        """Writes sizes and addresses of the tables and of fresh buffers; returns the buffers, which must be kept."""
        frame[N_GROUPS], frame[N_MULTIPLIERS], frame[N_FREE] = len(self.groups), self.multiplier_rows.size, len(self.free)
        frame[N_KINDS], frame[N_BODIES], frame[N_UNKNOWNS] = len(self.reductions), len(self.bodies), self.unknowns
        frame[N_COORDINATES], frame[N_FIRST] = self.coordinate_unknowns, len(self.first)
        first_of = np.full(self.coordinate_unknowns, -1, np.int64)
        first_of[self.first[:, 1]] = self.first[:, 0]
        tables = {F_GROUPS: self.groups, F_KERNELS: self.kernels, F_GATHER: self.gather, F_ROWS: self.rows, F_SLOTS: self.slots, F_FREE: self.free,
                  F_REDUCTIONS: self.reductions, F_BODIES: self.bodies, F_CONSTANTS: self.constants,
                  F_MULTIPLIER_ROWS: self.multiplier_rows, F_FIRST: self.first, F_FIRST_OF: first_of}  # fmt: skip
        buffers = {F_ARGS: np.zeros(8, np.int64), F_X: np.zeros(self.input_size), F_Y: np.zeros(self.result_size),
                   F_WORK: np.zeros(max(1, self.workspace))}  # fmt: skip
        kept = []
        for slot, array in (tables | buffers).items():
            array = np.ascontiguousarray(array)
            frame[slot] = array.ctypes.data
            kept.append(array)
        return kept
