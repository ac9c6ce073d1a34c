"""The tree of pairs of an assembled system in native loops: its null-space matrices and what they make of residuals.

Rows of T and T̄ are the increments of all coordinates, columns those w of the tree's joints (six of a free body) and of coordinates that
belong to no body of the tree.  T holds at the end of the step (δ = T δw), T̄ at the mean coordinates, where the discrete
gradients of all constraints of the tree's pairs vanish along it (Uhlar, Secs. 3.2.2 and 5.2).  Each function works on the frame of
the assembled system and that of the joint space, whose slots are named here.
"""

from __future__ import annotations

from typing import Any

from ...native.call import call, doubles, integers, words
from ...native.kernel import hot, jit
from . import frame as ap
from .kernels import row

# Slots of the frame: sizes, tables of integers, arrays of numbers.
N_W, N_CLOSURE, N_SERVO, N_NODES, N_AUGMENTED = range(5)
NODES, PAIRS, GATHER, LOCAL, CONSTANTS, T_STARTS, T_COLUMNS, KIND, PLACE, NODE_OF = range(5, 15)
AUGMENTED, SIDE_STARTS, SIDE_UNKNOWN, SIDE_PLACE, AP, AI, MULTIPLIER_OF, RECOVER = range(15, 23)
T_END, T_MEAN, FREEDOMS, POINTS, WRENCH, MOTION, KT, A, GB, CT, FINAL, RHS = range(23, 35)
W, EFFECTIVE, LINEAR, SHIFT, DEPENDENT, PIVOTS, GD, GX, SCRATCH, INDEX, STATE, ROW_SCALE = range(35, 47)
# Functions: null spaces, projection, elimination of loops, solution, expansion to all unknowns, first iterate, reactions, end of a step
# without projection of rates.
SPACES, PROJECT, REDUCE, SOLVE, EXPAND, START, REACT, FINISH = range(47, 55)
FINAL_SCALE = 55
SIZE = 56

# Columns of the table of nodes (bodies of the tree, inner ones first).
UNKNOWN, COORDINATE, DIMENSION, PARENT, FIRST, COUNT, PAIR, SIGN, TOGETHER = range(9)
NODE_COLUMNS = 9
# Columns of the table of pairs: local coordinates and where they stand, the kernels with their constants, local unknowns.
P_N, P_GATHER, P_END, P_END_CONSTANTS, P_MEAN, P_MEAN_CONSTANTS, P_SLOPE, P_SLOPE_CONSTANTS, P_LOCAL, P_LOCAL_AT = range(10)
PAIR_COLUMNS = 10
# Columns of the table of augmented coordinates: coordinate, its row (both as unknowns), their entries in the matrix.
C_UNKNOWN, C_ROW, C_END, C_MEAN = range(4)
AUGMENTED_COLUMNS = 4
# What an unknown of the assembled system is.
FREE, TREE_ROW, OWN_ROW, CLOSURE_ROW, SERVO_ROW = range(5)
# Ends of T: at q₁, and at the mean coordinates q₀ + θ (q₁ − q₀) of the scheme.
AT_END, AT_MEAN = range(2)
# Entries of the state: pivot ratio now and when the dependent set was chosen, limit for a new choice, whether it was chosen, choices,
# size of the residual, where between q₀ and q₁ the scheme evaluates its rows, whether matrix and factors are those of an iteration before.
RATIO, CHOSEN_RATIO, LIMIT, CHOSEN, SWITCHES, NORM, THETA, HELD = range(8)
STATE_SIZE = 8


@hot
def theta(js: Any) -> float:
    """Where between q₀ and q₁ the mean coordinates lie."""
    return doubles(js[STATE], STATE_SIZE)[THETA]


@hot
def node_of(js: Any, i: int) -> Any:
    """Row of the table of nodes."""
    return integers(js[NODES] + 8 * NODE_COLUMNS * i, NODE_COLUMNS)


@hot
def freedom(js: Any, which: int, j: int) -> Any:
    """ω and v of freedom j."""
    return doubles(js[FREEDOMS] + 8 * 6 * (which * js[N_W] + j), 6)


@hot
def point(js: Any, which: int, i: int) -> Any:
    """Joint point of node i."""
    return doubles(js[POINTS] + 8 * 3 * (which * js[N_NODES] + i), 3)


@hot
def wrench_of(js: Any, i: int) -> Any:
    """Force and moment of the subtree of node i."""
    return doubles(js[WRENCH] + 48 * i, 6)


@hot
def cross(a: Any, b0: float, b1: float, b2: float) -> Any:
    """a × b."""
    return a[1] * b2 - a[2] * b1, a[2] * b0 - a[0] * b2, a[0] * b1 - a[1] * b0


@jit
def _gathered(frame: Any, js: Any, pair: Any, start: Any, end: Any) -> Any:
    """Local coordinates at both ends and θ in the input of a kernel; the number of coordinates."""
    n = pair[P_N]
    index = integers(js[GATHER] + 8 * pair[P_GATHER], n)
    x = doubles(frame[ap.F_X], 2 * n + 1)
    for a in range(n):
        x[a], x[n + a] = start[index[a]], end[index[a]]
    x[2 * n] = theta(js)
    return n


@jit
def _called(frame: Any, js: Any, address: int, constants: int) -> None:
    args = words(frame[ap.F_ARGS], 8)
    args[0], args[1], args[2], args[3] = frame[ap.F_X], frame[ap.F_Y], js[CONSTANTS] + 8 * constants, frame[ap.F_WORK]
    call(address, frame[ap.F_ARGS])


@jit
def joint_vectors(frame: Any, js: Any, start: Any, end: Any, which: int) -> None:
    """p, ω and v of all joints at the mean coordinates between two configurations."""
    part = theta(js)
    for i in range(js[N_NODES]):
        node, p = node_of(js, i), point(js, which, i)
        first, count, d, c = node[FIRST], node[COUNT], node[DIMENSION], node[COORDINATE]
        if node[PAIR] < 0:
            for a in range(3):
                p[a] = start[c + a] + part * (end[c + a] - start[c + a]) if a < d else 0.0
            for k in range(count):
                f = freedom(js, which, first + k)
                for a in range(6):
                    f[a] = 0.0
                f[3 + k if k < d else (k - 3 if d == 3 else 2)] = 1.0
            continue
        pair = integers(js[PAIRS] + 8 * PAIR_COLUMNS * node[PAIR], PAIR_COLUMNS)
        _gathered(frame, js, pair, start, end)
        if which == AT_END:
            _called(frame, js, pair[P_END], pair[P_END_CONSTANTS])
        else:
            _called(frame, js, pair[P_MEAN], pair[P_MEAN_CONSTANTS])
        y = doubles(frame[ap.F_Y], 3 + 6 * count)
        for a in range(3):
            p[a] = y[a]
        for k in range(count):
            f = freedom(js, which, first + k)
            for a in range(6):
                f[a] = node[SIGN] * y[3 + 6 * k + a]


@jit
def _body_rows(js: Any, start: Any, end: Any, which: int, values: Any) -> None:
    """T of the bodies of the tree: v + ω × (φ − p), ω of every joint on the way to the root."""
    owner, part = integers(js[NODE_OF], js[N_W]), theta(js)
    for i in range(js[N_NODES]):
        node = node_of(js, i)
        u, d, c = node[UNKNOWN], node[DIMENSION], node[COORDINATE]
        starts = integers(js[T_STARTS] + 8 * u, 2)
        first, width = starts[0], starts[1] - starts[0]
        columns = integers(js[T_COLUMNS] + 8 * first, width)
        x, y = start[c] + part * (end[c] - start[c]), start[c + 1] + part * (end[c + 1] - start[c + 1])
        z = start[c + 2] + part * (end[c + 2] - start[c + 2]) if d == 3 else 0.0
        for k in range(width):
            j = columns[k]
            f, p = freedom(js, which, j), point(js, which, owner[j])
            a, b, e = cross(f, x - p[0], y - p[1], z - p[2])
            at = first + k
            values[at] = f[3] + a
            values[at + width] = f[4] + b
            if d == 3:
                values[at + 2 * width] = f[5] + e
                for m in range(3):
                    values[at + (3 + m) * width] = f[m]
            else:
                values[at + 2 * width] = f[2]


@jit
def _augmented_rows(frame: Any, js: Any, which: int, values: Any) -> None:
    """T of augmented coordinates from their own constraints: −(∂Φ/∂c)⁻¹ ∂Φ/∂q T."""
    matrix, scratch = doubles(frame[ap.F_VALUES], frame[ap.N_ENTRIES]), doubles(js[SCRATCH], js[N_W])
    for a in range(js[N_AUGMENTED]):
        own = integers(js[AUGMENTED] + 8 * AUGMENTED_COLUMNS * a, AUGMENTED_COLUMNS)
        side = integers(js[SIDE_STARTS] + 8 * (2 * a + which), 2)
        over = -1.0 / matrix[own[C_END] if which == AT_END else own[C_MEAN]]
        range_ = integers(js[T_STARTS] + 8 * own[C_UNKNOWN], 2)
        columns = integers(js[T_COLUMNS], range_[1])
        for p in range(range_[0], range_[1]):
            scratch[columns[p]] = 0.0
        for s in range(side[0], side[1]):
            k, entry = integers(js[SIDE_UNKNOWN], side[1])[s], matrix[integers(js[SIDE_PLACE], side[1])[s]]
            of = integers(js[T_STARTS] + 8 * k, 2)
            for p in range(of[0], of[1]):
                scratch[integers(js[T_COLUMNS], of[1])[p]] += over * entry * values[p]
        for p in range(range_[0], range_[1]):
            values[p] = scratch[columns[p]]


@jit
def null_spaces(frame: Any, js: Any, of_rates: bool) -> None:
    """T at q₁ and T̄ at the mean coordinates, for the matrix that was evaluated there; in the projection of rates T stands on both sides."""
    q0, q1, size = row(frame, ap.Q0), row(frame, ap.Q1), integers(js[T_STARTS], frame[ap.N_COORDINATES] + 1)[frame[ap.N_COORDINATES]]
    end, mean = doubles(js[T_END], size), doubles(js[T_MEAN], size)
    joint_vectors(frame, js, q1, q1, AT_END)
    _body_rows(js, q1, q1, AT_END, end)
    _augmented_rows(frame, js, AT_END, end)
    if of_rates:
        for i in range(size):
            mean[i] = end[i]
        return
    joint_vectors(frame, js, q0, q1, AT_MEAN)
    _body_rows(js, q0, q1, AT_MEAN, mean)
    _augmented_rows(frame, js, AT_MEAN, mean)


@jit
def complete_own(frame: Any, js: Any) -> None:
    """Multipliers of augmented coordinates that balance these coordinates, and how far their constraints put them off (SHIFT)."""
    matrix, r = doubles(frame[ap.F_VALUES], frame[ap.N_ENTRIES]), doubles(frame[ap.F_R], frame[ap.N_UNKNOWNS])
    shift, of = doubles(js[SHIFT], js[N_AUGMENTED]), integers(js[MULTIPLIER_OF], frame[ap.N_UNKNOWNS])
    now = doubles(frame[ap.F_LAM] + 8 * frame[ap.N_MULTIPLIERS] * ap.NOW, frame[ap.N_MULTIPLIERS])
    for a in range(js[N_AUGMENTED]):
        own = integers(js[AUGMENTED] + 8 * AUGMENTED_COLUMNS * a, AUGMENTED_COLUMNS)
        change = -r[own[C_UNKNOWN]] / matrix[own[C_MEAN]]
        now[of[own[C_ROW]]] += change
        add_column(frame, js, own[C_ROW], change, r)
        shift[a] = -r[own[C_ROW]] / matrix[own[C_END]]


@jit
def add_column(frame: Any, js: Any, column: int, factor: float, target: Any) -> None:
    """Adds a multiple of a column of the matrix."""
    range_ = integers(js[AP] + 8 * column, 2)
    rows, matrix = integers(js[AI], range_[1]), doubles(frame[ap.F_VALUES], range_[1])
    for p in range(range_[0], range_[1]):
        target[rows[p]] += factor * matrix[p]


@jit
def wrenches(frame: Any, js: Any) -> None:
    """Force and moment about its joint point of the residuals of every subtree, at the mean coordinates."""
    r, q0, q1, part = doubles(frame[ap.F_R], frame[ap.N_UNKNOWNS]), row(frame, ap.Q0), row(frame, ap.Q1), theta(js)
    for i in range(js[N_NODES]):
        node, p = node_of(js, i), point(js, AT_MEAN, i)
        u, c, w = node[UNKNOWN], node[COORDINATE], wrench_of(js, i)
        x, y = q0[c] + part * (q1[c] - q0[c]) - p[0], q0[c + 1] + part * (q1[c + 1] - q0[c + 1]) - p[1]
        if node[DIMENSION] == 3:
            z = q0[c + 2] + part * (q1[c + 2] - q0[c + 2]) - p[2]
            w[0], w[1], w[2] = r[u], r[u + 1], r[u + 2]
            w[3], w[4], w[5] = r[u + 3] + y * w[2] - z * w[1], r[u + 4] + z * w[0] - x * w[2], r[u + 5] + x * w[1] - y * w[0]
        else:
            w[0], w[1], w[2] = r[u], r[u + 1], 0.0
            w[3], w[4], w[5] = 0.0, 0.0, r[u + 2] + x * w[1] - y * w[0]
    for i in range(js[N_NODES] - 1, -1, -1):
        parent = node_of(js, i)[PARENT]
        if parent < 0:
            continue
        w, v, p, g = wrench_of(js, i), wrench_of(js, parent), point(js, AT_MEAN, i), point(js, AT_MEAN, parent)
        x, y, z = p[0] - g[0], p[1] - g[1], p[2] - g[2]
        v[3] += w[3] + y * w[2] - z * w[1]
        v[4] += w[4] + z * w[0] - x * w[2]
        v[5] += w[5] + x * w[1] - y * w[0]
        for a in range(3):
            v[a] += w[a]


@jit
def _add_row(js: Any, factor: float, unknown: int, j: int) -> None:
    """Adds a multiple of a row of T to row j of the projected matrix."""
    target = doubles(js[A] + 8 * j * js[N_W], js[N_W])
    range_ = integers(js[T_STARTS] + 8 * unknown, 2)
    columns, values = integers(js[T_COLUMNS], range_[1]), doubles(js[T_END], range_[1])
    for p in range(range_[0], range_[1]):
        target[columns[p]] += factor * values[p]


@jit
def _slopes_of_pair(frame: Any, js: Any, i: int, rhs: Any) -> None:
    """The change of a joint's own vectors under the wrench of its subtree."""
    node, w, p = node_of(js, i), wrench_of(js, i), point(js, AT_MEAN, i)
    pair = integers(js[PAIRS] + 8 * PAIR_COLUMNS * node[PAIR], PAIR_COLUMNS)
    n, count, local = _gathered(frame, js, pair, row(frame, ap.Q0), row(frame, ap.Q1)), node[COUNT], pair[P_LOCAL]
    x, shift, place = doubles(frame[ap.F_X], 2 * n + 10), doubles(js[SHIFT], js[N_AUGMENTED]), integers(js[PLACE], frame[ap.N_UNKNOWNS])
    for a in range(6):
        x[2 * n + 1 + a] = w[a]
    for a in range(3):
        x[2 * n + 7 + a] = p[a]
    _called(frame, js, pair[P_SLOPE], pair[P_SLOPE_CONSTANTS])
    y, unknown = doubles(frame[ap.F_Y], count * local), integers(js[LOCAL] + 8 * pair[P_LOCAL_AT], local)
    for k in range(count):
        j = node[FIRST] + k
        for a in range(local):
            slope = node[SIGN] * y[k * local + a]
            if unknown[a] >= 0 and slope != 0.0:
                _add_row(js, slope, unknown[a], j)
                if place[unknown[a]] >= 0:
                    rhs[j] += slope * shift[place[unknown[a]]]


@jit
def add_slopes(frame: Any, js: Any, rhs: Any) -> None:
    """Adds the derivative of T̄ᵀ r̃ at fixed r̃ (the wrenches must be known)."""
    r, part = doubles(frame[ap.F_R], frame[ap.N_UNKNOWNS]), theta(js)
    for i in range(js[N_NODES]):
        node, w = node_of(js, i), wrench_of(js, i)
        if node[PAIR] >= 0 and node[COUNT] > 0:
            _slopes_of_pair(frame, js, i, rhs)
        u, d, up = node[UNKNOWN], node[DIMENSION], i
        while up >= 0:  # the arm from the joint to the body changes as the body moves
            above = node_of(js, up)
            for j in range(above[FIRST], above[FIRST] + above[COUNT]):
                f = freedom(js, AT_MEAN, j)
                a, b, c = cross(f, r[u], r[u + 1], r[u + 2] if d == 3 else 0.0)
                if up == i and node[PAIR] < 0:  # turning about the body's own point
                    e, g, h = cross(f, w[0], w[1], w[2])
                    a, b, c = a - e, b - g, c - h
                _add_row(js, -part * a, u, j)
                _add_row(js, -part * b, u + 1, j)
                if d == 3:
                    _add_row(js, -part * c, u + 2, j)
            up = above[PARENT]
