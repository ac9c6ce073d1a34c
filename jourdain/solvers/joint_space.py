"""The tree of pairs of an assembled system in native loops: its null-space matrices, finite motions and first guess.

Rows of T and T̄ are the increments of all coordinates, columns those w of the tree's joints (six of a free body) and of coordinates that
belong to no body of the tree.  T holds at the end of the step (δ = T δw), T̄ at the mean coordinates, where the discrete
gradients of all constraints of the tree's pairs vanish along it (Uhlar, Secs. 3.2.2 and 5.2).  Each function works on the frame of
the assembled system and that of the joint space, whose slots are named here.
"""

from __future__ import annotations

import math
from typing import Any

from ..native.call import call, doubles, integers, words
from . import assembled_plan as ap
from .assembled_kernels import row
from .frame import hot, jit

# Slots of the frame: sizes, tables of integers, arrays of numbers.
N_W, N_CLOSURE, N_SERVO, N_NODES, N_AUGMENTED = range(5)
NODES, PAIRS, GATHER, LOCAL, CONSTANTS, T_STARTS, T_COLUMNS, KIND, PLACE, NODE_OF = range(5, 15)
AUGMENTED, SIDE_STARTS, SIDE_UNKNOWN, SIDE_PLACE, AP, AI, MULTIPLIER_OF, RECOVER = range(15, 23)
T_END, T_MEAN, FREEDOMS, POINTS, WRENCH, MOTION, KT, A, GB, CT, FINAL, RHS = range(23, 35)
W, EFFECTIVE, LINEAR, SHIFT, DEPENDENT, PIVOTS, GD, GX, SCRATCH, INDEX, STATE, ROW_SCALE = range(35, 47)
# Functions: null spaces, projection, elimination of loops, solution, expansion to all unknowns, first iterate, reactions.
SPACES, PROJECT, REDUCE, SOLVE, EXPAND, START, REACT = range(47, 54)
SIZE = 54

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
# Ends of T: at q₁, and at the mean of q₀ and q₁.
AT_END, AT_MEAN = range(2)
# Entries of the state: pivot ratio now and when the dependent set was chosen, limit for a new choice, whether it was chosen, choices,
# size of the residual.
RATIO, CHOSEN_RATIO, LIMIT, CHOSEN, SWITCHES, NORM = range(6)
STATE_SIZE = 8


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
    """Local coordinates at both ends in the input of a kernel; the number of them."""
    n = pair[P_N]
    index = integers(js[GATHER] + 8 * pair[P_GATHER], n)
    x = doubles(frame[ap.F_X], 2 * n)
    for a in range(n):
        x[a], x[n + a] = start[index[a]], end[index[a]]
    return n


@jit
def _called(frame: Any, js: Any, address: int, constants: int) -> None:
    args = words(frame[ap.F_ARGS], 8)
    args[0], args[1], args[2], args[3] = frame[ap.F_X], frame[ap.F_Y], js[CONSTANTS] + 8 * constants, frame[ap.F_WORK]
    call(address, frame[ap.F_ARGS])


@jit
def _joint_vectors(frame: Any, js: Any, start: Any, end: Any, which: int) -> None:
    """p, ω and v of all joints at the mean of two configurations."""
    for i in range(js[N_NODES]):
        node, p = node_of(js, i), point(js, which, i)
        first, count, d, c = node[FIRST], node[COUNT], node[DIMENSION], node[COORDINATE]
        if node[PAIR] < 0:
            for a in range(3):
                p[a] = 0.5 * (start[c + a] + end[c + a]) if a < d else 0.0
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
    owner = integers(js[NODE_OF], js[N_W])
    for i in range(js[N_NODES]):
        node = node_of(js, i)
        u, d, c = node[UNKNOWN], node[DIMENSION], node[COORDINATE]
        starts = integers(js[T_STARTS] + 8 * u, 2)
        first, width = starts[0], starts[1] - starts[0]
        columns = integers(js[T_COLUMNS] + 8 * first, width)
        x, y = 0.5 * (start[c] + end[c]), 0.5 * (start[c + 1] + end[c + 1])
        z = 0.5 * (start[c + 2] + end[c + 2]) if d == 3 else 0.0
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
def null_spaces(frame: Any, js: Any) -> None:
    """T at q₁ and T̄ at the mean coordinates, for the matrix that was evaluated there."""
    q0, q1, size = row(frame, ap.Q0), row(frame, ap.Q1), integers(js[T_STARTS], frame[ap.N_COORDINATES] + 1)[frame[ap.N_COORDINATES]]
    end, mean = doubles(js[T_END], size), doubles(js[T_MEAN], size)
    _joint_vectors(frame, js, q1, q1, AT_END)
    _joint_vectors(frame, js, q0, q1, AT_MEAN)
    _body_rows(js, q1, q1, AT_END, end)
    _body_rows(js, q0, q1, AT_MEAN, mean)
    _augmented_rows(frame, js, AT_END, end)
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
    r, q0, q1 = doubles(frame[ap.F_R], frame[ap.N_UNKNOWNS]), row(frame, ap.Q0), row(frame, ap.Q1)
    for i in range(js[N_NODES]):
        node, p = node_of(js, i), point(js, AT_MEAN, i)
        u, c, w = node[UNKNOWN], node[COORDINATE], wrench_of(js, i)
        x, y = 0.5 * (q0[c] + q1[c]) - p[0], 0.5 * (q0[c + 1] + q1[c + 1]) - p[1]
        if node[DIMENSION] == 3:
            z = 0.5 * (q0[c + 2] + q1[c + 2]) - p[2]
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
    x, shift, place = doubles(frame[ap.F_X], 2 * n + 9), doubles(js[SHIFT], js[N_AUGMENTED]), integers(js[PLACE], frame[ap.N_UNKNOWNS])
    for a in range(6):
        x[2 * n + a] = w[a]
    for a in range(3):
        x[2 * n + 6 + a] = p[a]
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
    r = doubles(frame[ap.F_R], frame[ap.N_UNKNOWNS])
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
                _add_row(js, -0.5 * a, u, j)
                _add_row(js, -0.5 * b, u + 1, j)
                if d == 3:
                    _add_row(js, -0.5 * c, u + 2, j)
            up = above[PARENT]


# -- finite motions -----------------------------------------------------------------------------------------------------------------------


@jit
def _turn(m: Any, x: float, y: float, z: float) -> Any:
    """(Q − 1) x for the unit quaternion m."""
    a, b, c = m[2] * z - m[3] * y, m[3] * x - m[1] * z, m[1] * y - m[2] * x
    return (
        2.0 * (m[0] * a + m[2] * c - m[3] * b), 2.0 * (m[0] * b + m[3] * a - m[1] * c), 2.0 * (m[0] * c + m[1] * b - m[2] * a)
    )  # fmt: skip


@jit
def _turned_by(m: Any, x: float, y: float, z: float) -> None:
    """Puts a further rotation by the vector (x, y, z) after the rotation m."""
    angle = math.sqrt(x * x + y * y + z * z)
    s = math.sin(0.5 * angle) / angle if angle > 1e-8 else 0.5 - angle * angle / 48.0
    _after(m, math.cos(0.5 * angle), s * x, s * y, s * z)


@jit
def _after(m: Any, a: float, x: float, y: float, z: float) -> None:
    """m ← (a, x, y, z) m, quaternions."""
    b, u, v, w = m[0], m[1], m[2], m[3]
    m[0] = a * b - x * u - y * v - z * w
    m[1] = a * u + x * b + y * w - z * v
    m[2] = a * v - x * w + y * b + z * u
    m[3] = a * w + x * v - y * u + z * b


@jit
def _elementary(js: Any, j: int, p: Any, amount: float, body: Any, m: Any) -> None:
    """Moves a body (its point less the displacement in m, its rotation) by one freedom: a turn about p, then a translation."""
    f = freedom(js, AT_END, j)
    part = doubles(js[SCRATCH] + 64, 4)
    part[0], part[1], part[2], part[3] = 1.0, 0.0, 0.0, 0.0
    _turned_by(part, amount * f[0], amount * f[1], amount * f[2])
    x, y, z = _turn(part, body[0] + m[4] - p[0], body[1] + m[5] - p[1], body[2] + m[6] - p[2])
    m[4], m[5], m[6] = m[4] + x + amount * f[3], m[5] + y + amount * f[4], m[6] + z + amount * f[5]
    _after(m, part[0], part[1], part[2], part[3])


@jit
def _together(js: Any, first: int, p: Any, w: Any, body: Any, m: Any) -> None:
    """Moves a body by a turn about p whose vector is the sum of three freedoms."""
    x = y = z = 0.0
    for j in range(first, first + 3):
        f = freedom(js, AT_END, j)
        x, y, z = x + w[j] * f[0], y + w[j] * f[1], z + w[j] * f[2]
    _turned_by(m, x, y, z)
    a, b, c = _turn(m, body[0] - p[0], body[1] - p[1], body[2] - p[2])
    m[4], m[5], m[6] = a, b, c


@jit
def finite_motion(frame: Any, js: Any, q: Any, w: Any, delta: Any) -> None:
    """Increments of all bodies of the tree for finite increments w of its joints from the configuration q (joint vectors of AT_END).

    Every joint moves what lies beyond it as a rigid body, so all its constraints stay as they are; the result is written as the
    displacement and the Cayley vector that the bodies' own retraction takes.
    """
    body, other = doubles(js[SCRATCH], 3), doubles(js[SCRATCH] + 24, 3)
    for i in range(js[N_NODES]):
        node, p, m = node_of(js, i), point(js, AT_END, i), doubles(js[MOTION] + 64 * i, 8)
        u, d, c, first, count = node[UNKNOWN], node[DIMENSION], node[COORDINATE], node[FIRST], node[COUNT]
        for a in range(3):
            body[a] = q[c + a] if a < d else 0.0
        for a in range(8):
            m[a] = 0.0
        m[0] = 1.0
        if node[TOGETHER] == 1:
            turn = first + count - 3
            _together(js, turn, p, w, body, m)
            for j in range(first, turn):
                f = freedom(js, AT_END, j)
                m[4], m[5], m[6] = m[4] + w[j] * f[3], m[5] + w[j] * f[4], m[6] + w[j] * f[5]
        elif node[SIGN] > 0:
            for k in range(count - 1, -1, -1):
                _elementary(js, first + k, p, w[first + k], body, m)
        else:
            for k in range(count):
                _elementary(js, first + k, p, w[first + k], body, m)
        if node[PARENT] >= 0:
            inner, e = doubles(js[MOTION] + 64 * node[PARENT], 8), node_of(js, node[PARENT])[COORDINATE]
            for a in range(3):
                other[a] = q[e + a] if a < d else 0.0
            x, y, z = _turn(inner, body[0] + m[4] - other[0], body[1] + m[5] - other[1], body[2] + m[6] - other[2])
            m[4], m[5], m[6] = m[4] + x + inner[4], m[5] + y + inner[5], m[6] + z + inner[6]
            _after(m, inner[0], inner[1], inner[2], inner[3])
        for a in range(d):
            delta[u + a] = m[4 + a]
        if d == 3:
            for a in range(3):
                delta[u + 3 + a] = 2.0 * m[1 + a] / m[0]
        else:
            delta[u + 2] = 2.0 * m[3] / m[0]


@jit
def _twist(q: Any, v: Any, c: int, d: int, t: Any) -> None:
    """ω and φ̇ of a body from the rates of its directors."""
    for a in range(6):
        t[a] = 0.0
    if d == 2:
        t[2] = 0.5 * (q[c + 2] * v[c + 3] - q[c + 3] * v[c + 2] + q[c + 4] * v[c + 5] - q[c + 5] * v[c + 4])
        t[3], t[4] = v[c], v[c + 1]
        return
    for k in range(3, 12, 3):
        x, y, z = q[c + k], q[c + k + 1], q[c + k + 2]
        t[0] += 0.5 * (y * v[c + k + 2] - z * v[c + k + 1])
        t[1] += 0.5 * (z * v[c + k] - x * v[c + k + 2])
        t[2] += 0.5 * (x * v[c + k + 1] - y * v[c + k])
    t[3], t[4], t[5] = v[c], v[c + 1], v[c + 2]


@jit
def joint_rates(frame: Any, js: Any, w: Any) -> None:
    """Rates of the joints nearest to the guessed rates of the bodies, at the start of the step (joint vectors of AT_END are made there)."""
    q, v = row(frame, ap.Q0), row(frame, ap.GUESS)
    _joint_vectors(frame, js, q, q, AT_END)
    t, relative, gram = doubles(js[SCRATCH], 6), doubles(js[SCRATCH] + 48, 6), doubles(js[SCRATCH] + 96, 36)
    for i in range(js[N_NODES]):
        node, p = node_of(js, i), point(js, AT_END, i)
        count, first, d, c = node[COUNT], node[FIRST], node[DIMENSION], node[COORDINATE]
        for a in range(6):
            relative[a] = 0.0
        for side in range(2):
            at = c if side == 0 else (node_of(js, node[PARENT])[COORDINATE] if node[PARENT] >= 0 else -1)
            if at >= 0:
                sign = 1.0 if side == 0 else -1.0
                _twist(q, v, at, d, t)
                x, y, z = cross(t, p[0] - q[at], p[1] - q[at + 1], p[2] - q[at + 2] if d == 3 else 0.0)
                t[3], t[4], t[5] = t[3] + x, t[4] + y, t[5] + z
                for a in range(6):
                    relative[a] += sign * t[a]
        for k in range(count):
            f = freedom(js, AT_END, first + k)
            total = 0.0
            for a in range(6):
                total += f[a] * relative[a]
            w[first + k] = total
            for m in range(count):
                g, total = freedom(js, AT_END, first + m), 0.0
                for a in range(6):
                    total += f[a] * g[a]
                gram[k * count + m] = total
        _solve_gram(gram, count, w, first)


@jit
def _solve_gram(gram: Any, n: int, b: Any, at: int) -> None:
    """Solves a small positive definite system in place, from b[at] on, by elimination."""
    for k in range(n):
        for i in range(k + 1, n):
            factor = gram[i * n + k] / gram[k * n + k]
            for j in range(k, n):
                gram[i * n + j] -= factor * gram[k * n + j]
            b[at + i] -= factor * b[at + k]
    for k in range(n - 1, -1, -1):
        for j in range(k + 1, n):
            b[at + k] -= gram[k * n + j] * b[at + j]
        b[at + k] /= gram[k * n + k]
