"""The tree of pairs of an assembled system in native loops: its null-space matrices and what they make of residuals.

Rows of T and T̄ are the increments of all coordinates, columns those w of the tree's joints (six of a free body) and of coordinates that
belong to no body of the tree.  T holds at the end of the step (δ = T δw), T̄ at the mean coordinates, where the discrete
gradients of all constraints of the tree's pairs vanish along it (Uhlar, Secs. 3.2.2 and 5.2).  Each function works on the frame of
the assembled system and that of the joint space.
"""

from __future__ import annotations

from typing import Any

from ...native.call import address as at
from ...native.call import call
from ...native.kernel import hot, jit
from ...native.record import Address, Floats, Integers, Record, Table
from .frame import Frame

# What an unknown of the assembled system is.
FREE, TREE_ROW, OWN_ROW, CLOSURE_ROW, SERVO_ROW = range(5)
# Ends of T: at q₁, and at the mean coordinates q₀ + θ (q₁ − q₀) of the scheme.
AT_END, AT_MEAN = range(2)


class Node(Record):
    """A body of the tree (inner ones come first)."""

    unknown: int
    coordinate: int
    dimension: int
    parent: int
    first: int
    count: int
    pair: int
    sign: int
    together: int


class Pair(Record):
    """Local coordinates of a pair and where they stand, the kernels with their constants, local unknowns."""

    n: int
    gather: int
    end: Address
    end_constants: int
    mean: Address
    mean_constants: int
    slope: Address
    slope_constants: int
    local: int
    local_at: int


class Augmented(Record):
    """An augmented coordinate and its row (both as unknowns), and their entries in the matrix."""

    unknown: int
    row: int
    end: int
    mean: int


class Choice(Record):
    """Dependent rates and the present iteration."""

    ratio: float  # pivot ratio now
    chosen_ratio: float  # and when the dependent set was chosen
    limit: float  # for a new choice
    chosen: int
    switches: int
    norm: float  # of the residual
    theta: float  # where between q₀ and q₁ the scheme evaluates its rows
    held: int  # whether matrix and factors are those of an iteration before


class JointFrame(Record):
    """All that native loops know of the tree of pairs."""

    # sizes
    n_w: int
    n_closure: int
    n_servo: int
    # tables
    nodes: Table[Node]
    pairs: Table[Pair]
    gather: Integers
    local: Integers
    constants: Floats
    t_starts: Integers
    t_columns: Integers
    kind: Integers
    place: Integers
    node_of: Integers
    augmented: Table[Augmented]
    side_starts: Integers
    side_unknown: Integers
    side_place: Integers
    ap: Integers
    ai: Integers
    multiplier_of: Integers
    recover: Integers
    # memory
    t_end: Floats
    t_mean: Floats
    freedoms: Floats
    points: Floats
    wrench: Floats
    motion: Floats
    kt: Floats
    a: Floats
    gb: Floats
    ct: Floats
    final: Floats
    final_scale: Floats
    rhs: Floats
    w: Floats
    effective: Floats
    linear: Floats
    shift: Floats
    dependent: Integers
    pivots: Integers
    gd: Floats
    gx: Floats
    scratch: Floats
    index: Integers
    state: Choice
    row_scale: Floats
    # functions: null spaces, projection, elimination of loops, solution, expansion to all unknowns, first iterate, reactions, end of a step
    # without projection of rates
    spaces: Address
    project: Address
    reduce: Address
    solve: Address
    expand: Address
    start: Address
    react: Address
    finish: Address


@hot
def freedom(js: JointFrame, which: int, j: int) -> Any:
    """ω and v of freedom j."""
    return js.freedoms[6 * (which * js.n_w + j) :]


@hot
def point(js: JointFrame, which: int, i: int) -> Any:
    """Joint point of node i."""
    return js.points[3 * (which * len(js.nodes) + i) :]


@hot
def wrench_of(js: JointFrame, i: int) -> Any:
    """Force and moment of the subtree of node i."""
    return js.wrench[6 * i :]


@hot
def cross(a: Any, b0: float, b1: float, b2: float) -> Any:
    """a × b."""
    return a[1] * b2 - a[2] * b1, a[2] * b0 - a[0] * b2, a[0] * b1 - a[1] * b0


@jit
def _gathered(frame: Frame, js: JointFrame, pair: Pair, start: Any, end: Any) -> Any:
    """Local coordinates at both ends and θ in the input of a kernel; the number of coordinates."""
    n = pair.n
    index = js.gather[pair.gather :]
    x = frame.x
    for a in range(n):
        x[a], x[n + a] = start[index[a]], end[index[a]]
    x[2 * n] = js.state.theta
    return n


@jit
def _called(frame: Frame, js: JointFrame, function: int, constants: int) -> None:
    args = frame.args
    args[0], args[1], args[2], args[3] = at(frame.x), at(frame.y), at(js.constants[constants:]), at(frame.work)
    call(function, args)


@jit
def joint_vectors(frame: Frame, js: JointFrame, start: Any, end: Any, which: int) -> None:
    """p, ω and v of all joints at the mean coordinates between two configurations."""
    part = js.state.theta
    for i in range(len(js.nodes)):
        node, p = js.nodes[i], point(js, which, i)
        first, count, d, c = node.first, node.count, node.dimension, node.coordinate
        if node.pair < 0:
            for a in range(3):
                p[a] = start[c + a] + part * (end[c + a] - start[c + a]) if a < d else 0.0
            for k in range(count):
                f = freedom(js, which, first + k)
                for a in range(6):
                    f[a] = 0.0
                f[3 + k if k < d else (k - 3 if d == 3 else 2)] = 1.0
            continue
        pair = js.pairs[node.pair]
        _gathered(frame, js, pair, start, end)
        if which == AT_END:
            _called(frame, js, pair.end, pair.end_constants)
        else:
            _called(frame, js, pair.mean, pair.mean_constants)
        y = frame.y
        for a in range(3):
            p[a] = y[a]
        for k in range(count):
            f = freedom(js, which, first + k)
            for a in range(6):
                f[a] = node.sign * y[3 + 6 * k + a]


@jit
def _body_rows(js: JointFrame, start: Any, end: Any, which: int, values: Any) -> None:
    """T of the bodies of the tree: v + ω × (φ − p), ω of every joint on the way to the root."""
    owner, part = js.node_of, js.state.theta
    for i in range(len(js.nodes)):
        node = js.nodes[i]
        u, d, c = node.unknown, node.dimension, node.coordinate
        starts = js.t_starts[u:]
        first, width = starts[0], starts[1] - starts[0]
        columns = js.t_columns[first:]
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
def _augmented_rows(frame: Frame, js: JointFrame, which: int, values: Any) -> None:
    """T of augmented coordinates from their own constraints: −(∂Φ/∂c)⁻¹ ∂Φ/∂q T."""
    matrix, scratch = frame.values, js.scratch
    for a in range(len(js.augmented)):
        own = js.augmented[a]
        side = js.side_starts[2 * a + which :]
        over = -1.0 / matrix[own.end if which == AT_END else own.mean]
        range_ = js.t_starts[own.unknown :]
        columns = js.t_columns
        for p in range(range_[0], range_[1]):
            scratch[columns[p]] = 0.0
        for s in range(side[0], side[1]):
            k, entry = js.side_unknown[s], matrix[js.side_place[s]]
            of = js.t_starts[k:]
            for p in range(of[0], of[1]):
                scratch[js.t_columns[p]] += over * entry * values[p]
        for p in range(range_[0], range_[1]):
            values[p] = scratch[columns[p]]


@jit
def null_spaces(frame: Frame, js: JointFrame, of_rates: bool) -> None:
    """T at q₁ and T̄ at the mean coordinates, for the matrix that was evaluated there; in the projection of rates T stands on both sides."""
    q0, q1, size = frame.vec.q0, frame.vec.q1, js.t_starts[frame.n_coordinates]
    end, mean = js.t_end, js.t_mean
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
def complete_own(frame: Frame, js: JointFrame) -> None:
    """Multipliers of augmented coordinates that balance these coordinates, and how far their constraints put them off (SHIFT)."""
    matrix, r = frame.values, frame.r
    shift, of = js.shift, js.multiplier_of
    now = frame.lam.now
    for a in range(len(js.augmented)):
        own = js.augmented[a]
        change = -r[own.unknown] / matrix[own.mean]
        now[of[own.row]] += change
        add_column(frame, js, own.row, change, r)
        shift[a] = -r[own.row] / matrix[own.end]


@jit
def add_column(frame: Frame, js: JointFrame, column: int, factor: float, target: Any) -> None:
    """Adds a multiple of a column of the matrix."""
    range_ = js.ap[column:]
    rows, matrix = js.ai, frame.values
    for p in range(range_[0], range_[1]):
        target[rows[p]] += factor * matrix[p]


@jit
def wrenches(frame: Frame, js: JointFrame) -> None:
    """Force and moment about its joint point of the residuals of every subtree, at the mean coordinates."""
    r, q0, q1, part = frame.r, frame.vec.q0, frame.vec.q1, js.state.theta
    for i in range(len(js.nodes)):
        node, p = js.nodes[i], point(js, AT_MEAN, i)
        u, c, w = node.unknown, node.coordinate, wrench_of(js, i)
        x, y = q0[c] + part * (q1[c] - q0[c]) - p[0], q0[c + 1] + part * (q1[c + 1] - q0[c + 1]) - p[1]
        if node.dimension == 3:
            z = q0[c + 2] + part * (q1[c + 2] - q0[c + 2]) - p[2]
            w[0], w[1], w[2] = r[u], r[u + 1], r[u + 2]
            w[3], w[4], w[5] = r[u + 3] + y * w[2] - z * w[1], r[u + 4] + z * w[0] - x * w[2], r[u + 5] + x * w[1] - y * w[0]
        else:
            w[0], w[1], w[2] = r[u], r[u + 1], 0.0
            w[3], w[4], w[5] = 0.0, 0.0, r[u + 2] + x * w[1] - y * w[0]
    for i in range(len(js.nodes) - 1, -1, -1):
        parent = js.nodes[i].parent
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
def _add_row(js: JointFrame, factor: float, unknown: int, j: int) -> None:
    """Adds a multiple of a row of T to row j of the projected matrix."""
    target = js.a[j * js.n_w :]
    range_ = js.t_starts[unknown:]
    columns, values = js.t_columns, js.t_end
    for p in range(range_[0], range_[1]):
        target[columns[p]] += factor * values[p]


@jit
def _slopes_of_pair(frame: Frame, js: JointFrame, i: int, rhs: Any) -> None:
    """The change of a joint's own vectors under the wrench of its subtree."""
    node, w, p = js.nodes[i], wrench_of(js, i), point(js, AT_MEAN, i)
    pair = js.pairs[node.pair]
    n, count, local = _gathered(frame, js, pair, frame.vec.q0, frame.vec.q1), node.count, pair.local
    x, shift, place = frame.x, js.shift, js.place
    for a in range(6):
        x[2 * n + 1 + a] = w[a]
    for a in range(3):
        x[2 * n + 7 + a] = p[a]
    _called(frame, js, pair.slope, pair.slope_constants)
    y, unknown = frame.y, js.local[pair.local_at :]
    for k in range(count):
        j = node.first + k
        for a in range(local):
            slope = node.sign * y[k * local + a]
            if unknown[a] >= 0 and slope != 0.0:
                _add_row(js, slope, unknown[a], j)
                if place[unknown[a]] >= 0:
                    rhs[j] += slope * shift[place[unknown[a]]]


@jit
def add_slopes(frame: Frame, js: JointFrame, rhs: Any) -> None:
    """Adds the derivative of T̄ᵀ r̃ at fixed r̃ (the wrenches must be known)."""
    r, part = frame.r, js.state.theta
    for i in range(len(js.nodes)):
        node, w = js.nodes[i], wrench_of(js, i)
        if node.pair >= 0 and node.count > 0:
            _slopes_of_pair(frame, js, i, rhs)
        u, d, up = node.unknown, node.dimension, i
        while up >= 0:  # the arm from the joint to the body changes as the body moves
            above = js.nodes[up]
            for j in range(above.first, above.first + above.count):
                f = freedom(js, AT_MEAN, j)
                a, b, c = cross(f, r[u], r[u + 1], r[u + 2] if d == 3 else 0.0)
                if up == i and node.pair < 0:  # turning about the body's own point
                    e, g, h = cross(f, w[0], w[1], w[2])
                    a, b, c = a - e, b - g, c - h
                _add_row(js, -part * a, u, j)
                _add_row(js, -part * b, u + 1, j)
                if d == 3:
                    _add_row(js, -part * c, u + 2, j)
            up = above.parent
