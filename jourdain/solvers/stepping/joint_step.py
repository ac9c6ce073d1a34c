"""Newton's method of a step in joint coordinates (the reduced energy-momentum scheme; Uhlar, Secs. 3.2.2, 5.2 and 5.3).

The residual r̃ and the matrix K̃ of the assembled system (bodies by their twists) are projected on the motions of a spanning tree of its
pairs, T̄ᵀ r̃ = 0, so that the constraints of the tree and their multipliers are gone; T̄ stands where a scheme evaluates its rows, so that
this holds for all schemes.  Multipliers of closed loops are eliminated by variable reduction (:mod:`.loop_elimination`).  What is left is
dense: as many unknowns as the tree has freedoms, and inputs of servo constraints.  Once increments are small the matrix is held.

With the balance scaled by κ (h²/2 of the energy-momentum scheme) and rows of closure beside it the condition number does not depend on h.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...native.call import call, doubles, integers, words
from ...native.kernel import hot, jit, kernel
from ..linear.dense import lu_factor, lu_solve
from ..ode.frame import EPS
from . import frame as ap
from . import joint_space as sp
from .frame import FRAME
from .joint_motion import finite_motion, joint_rates, predicted_turns
from .joint_reactions import recover
from .kernels import book_violation, extent, finish, free_rates, guess, increment, prepare, rest, row
from .loop_elimination import closure_multipliers, dependent_rates, eliminate, right_side
from .march import CLOSE, EXACT
from .march import save as keep

#: Largest turn of a joint in one iteration (rad).
LARGEST_TURN = 1.5


@jit
def _effective(frame: Any, js: Any) -> None:
    """Residual as it is once augmented coordinates are shifted onto their constraints."""
    n = frame[ap.N_UNKNOWNS]
    r, effective, shift = doubles(frame[ap.F_R], n), doubles(js[sp.EFFECTIVE], n), doubles(js[sp.SHIFT], js[sp.N_AUGMENTED])
    for i in range(n):
        effective[i] = r[i]
    for a in range(js[sp.N_AUGMENTED]):
        own = integers(js[sp.AUGMENTED] + 8 * sp.AUGMENTED_COLUMNS * a, sp.AUGMENTED_COLUMNS)
        if shift[a] != 0.0:
            sp.add_column(frame, js, own[sp.C_UNKNOWN], shift[a], effective)


@jit
def _times_null_space(frame: Any, js: Any) -> None:
    """K̃ T for the rows that count, and the columns of multipliers that stay, T̄ᵀ Ḡᵀ."""
    n, nc, nw, extra = frame[ap.N_UNKNOWNS], frame[ap.N_COORDINATES], js[sp.N_W], js[sp.N_CLOSURE] + js[sp.N_SERVO]
    kt, gb = doubles(js[sp.KT], n * nw), doubles(js[sp.GB], nw * extra)
    starts, rows = integers(js[sp.AP], n + 1), integers(js[sp.AI], frame[ap.N_ENTRIES])
    kind, place = integers(js[sp.KIND], n), integers(js[sp.PLACE], n)
    t_starts, matrix = integers(js[sp.T_STARTS], nc + 1), doubles(frame[ap.F_VALUES], frame[ap.N_ENTRIES])
    columns, end, mean = integers(js[sp.T_COLUMNS], t_starts[nc]), doubles(js[sp.T_END], t_starts[nc]), doubles(js[sp.T_MEAN], t_starts[nc])
    for i in range(n * nw):
        kt[i] = 0.0
    for i in range(nw * extra):
        gb[i] = 0.0
    for k in range(nc):
        for e in range(starts[k], starts[k + 1]):
            i, value = rows[e], matrix[e]
            if value == 0.0 or kind[i] == sp.TREE_ROW or kind[i] == sp.OWN_ROW:
                continue
            for p in range(t_starts[k], t_starts[k + 1]):
                kt[i * nw + columns[p]] += value * end[p]
    for k in range(nc, n):
        if kind[k] != sp.CLOSURE_ROW and kind[k] != sp.SERVO_ROW:
            continue
        for e in range(starts[k], starts[k + 1]):
            i = rows[e]
            for p in range(t_starts[i], t_starts[i + 1]):
                gb[columns[p] * extra + place[k]] += mean[p] * matrix[e]


@jit
def _project_residual(frame: Any, js: Any) -> None:
    """T̄ᵀ r̃ and the residuals of rows of closure and servo constraints."""
    n, nc, nw = frame[ap.N_UNKNOWNS], frame[ap.N_COORDINATES], js[sp.N_W]
    rhs, effective = doubles(js[sp.RHS], nw + js[sp.N_CLOSURE] + js[sp.N_SERVO]), doubles(js[sp.EFFECTIVE], n)
    kind, place, t_starts = integers(js[sp.KIND], n), integers(js[sp.PLACE], n), integers(js[sp.T_STARTS], nc + 1)
    columns, mean = integers(js[sp.T_COLUMNS], t_starts[nc]), doubles(js[sp.T_MEAN], t_starts[nc])
    for i in range(nw):
        rhs[i] = 0.0
    for i in range(nc):
        for p in range(t_starts[i], t_starts[i + 1]):
            rhs[columns[p]] += mean[p] * effective[i]
    for i in range(nc, n):
        if kind[i] == sp.CLOSURE_ROW or kind[i] == sp.SERVO_ROW:
            rhs[nw + place[i]] = effective[i]


@jit
def _project_matrix(frame: Any, js: Any) -> None:
    """A = T̄ᵀ K̃ T and the rows of closure and servo constraints."""
    n, nc, nw = frame[ap.N_UNKNOWNS], frame[ap.N_COORDINATES], js[sp.N_W]
    kt, a, ct = doubles(js[sp.KT], n * nw), doubles(js[sp.A], nw * nw), doubles(js[sp.CT], (js[sp.N_CLOSURE] + js[sp.N_SERVO]) * nw)
    kind, place, t_starts = integers(js[sp.KIND], n), integers(js[sp.PLACE], n), integers(js[sp.T_STARTS], nc + 1)
    columns, mean = integers(js[sp.T_COLUMNS], t_starts[nc]), doubles(js[sp.T_MEAN], t_starts[nc])
    for i in range(nw * nw):
        a[i] = 0.0
    for i in range(nc):
        line = doubles(js[sp.KT] + 8 * i * nw, nw)
        for p in range(t_starts[i], t_starts[i + 1]):
            weight, target = mean[p], doubles(js[sp.A] + 8 * columns[p] * nw, nw)
            if weight != 0.0:
                for j in range(nw):
                    target[j] += weight * line[j]
    for i in range(nc, n):
        if kind[i] == sp.CLOSURE_ROW or kind[i] == sp.SERVO_ROW:
            for j in range(nw):
                ct[place[i] * nw + j] = kt[i * nw + j]


@hot
def _frames(address: int) -> Any:
    """The frame of the assembled system and that of the joint space."""
    frame = words(address, FRAME)
    return frame, words(frame[ap.REDUCED], sp.SIZE)


@kernel
def spaces(address: int) -> int:
    """Null-space matrices and multipliers of augmented coordinates for the evaluated K̃ and r̃ (MODE is RATES: of the projection)."""
    frame, js = _frames(address)
    sp.null_spaces(frame, js, integers(frame[ap.F_COUNT], ap.COUNT_SIZE)[ap.MODE] == ap.RATES)
    sp.complete_own(frame, js)
    return ap.OK


@kernel
def project(address: int) -> int:
    """The projected residual and, unless it is HELD, the matrix with the slopes of T̄ (none when MODE is RATES)."""
    frame, js = _frames(address)
    _effective(frame, js)
    _project_residual(frame, js)
    if doubles(js[sp.STATE], sp.STATE_SIZE)[sp.HELD] == 1.0:
        return ap.OK
    _times_null_space(frame, js)
    _project_matrix(frame, js)
    if integers(frame[ap.F_COUNT], ap.COUNT_SIZE)[ap.MODE] != ap.RATES:
        sp.wrenches(frame, js)
        sp.add_slopes(frame, js, doubles(js[sp.RHS], js[sp.N_W]))
    return ap.OK


@kernel
def reduce_loops(address: int) -> int:
    """The dense system: DIVERGED where no choice of dependent rates serves.  MODE says whether a new choice is allowed (PREDICT)."""
    frame, js = _frames(address)
    if doubles(js[sp.STATE], sp.STATE_SIZE)[sp.HELD] == 0.0:
        if not dependent_rates(js, integers(frame[ap.F_COUNT], ap.COUNT_SIZE)[ap.MODE] == ap.PREDICT):
            return ap.DIVERGED
        eliminate(js)
    right_side(js)
    return ap.OK


@jit
def _solved(js: Any) -> float:
    """Scales the rows, factors (unless the factors are held) and solves; the largest scaled residual, infinite for a singular matrix."""
    size, held = js[sp.N_W] + js[sp.N_SERVO], doubles(js[sp.STATE], sp.STATE_SIZE)[sp.HELD] == 1.0
    final, b, pivots = doubles(js[sp.FINAL], size * size), doubles(js[sp.W], size), integers(js[sp.PIVOTS] + 8 * js[sp.N_CLOSURE], size)
    scale, norm = doubles(js[sp.FINAL_SCALE], size), 0.0
    for i in range(size):
        if not held:
            largest = 0.0
            for c in range(size):
                largest = max(largest, abs(final[i * size + c]))
            if not 0.0 < largest < np.inf:
                return np.inf
            scale[i] = 1.0 / largest
            for c in range(size):
                final[i * size + c] *= scale[i]
        if not abs(b[i]) < np.inf:
            return np.inf
        b[i] *= scale[i]
        norm = max(norm, abs(b[i]))
    if not held and lu_factor(final, size, pivots) != 0:
        return np.inf
    lu_solve(final, size, pivots, b)
    shift = doubles(js[sp.SHIFT], js[sp.N_AUGMENTED])
    for a in range(js[sp.N_AUGMENTED]):
        norm = max(norm, abs(shift[a]))
    return norm


@kernel
def solve_dense(address: int) -> int:
    """Solves the dense system; the size of its residual is left in the state."""
    _, js = _frames(address)
    doubles(js[sp.STATE], sp.STATE_SIZE)[sp.NORM] = _solved(js)
    return ap.OK


@jit
def _own_multipliers(frame: Any, js: Any, linear: Any) -> None:
    """Increments of the multipliers of augmented coordinates: the balance of these coordinates after the step (needed for a good K̃ only)."""
    n = frame[ap.N_UNKNOWNS]
    change, matrix = doubles(js[sp.EFFECTIVE], n), doubles(frame[ap.F_VALUES], frame[ap.N_ENTRIES])
    if js[sp.N_AUGMENTED] == 0 or doubles(js[sp.STATE], sp.STATE_SIZE)[sp.HELD] == 1.0:
        return
    for i in range(n):
        change[i] = 0.0
    for k in range(n):
        if linear[k] != 0.0:
            sp.add_column(frame, js, k, linear[k], change)
    for a in range(js[sp.N_AUGMENTED]):
        own = integers(js[sp.AUGMENTED] + 8 * sp.AUGMENTED_COLUMNS * a, sp.AUGMENTED_COLUMNS)
        linear[own[sp.C_ROW]] = -change[own[sp.C_UNKNOWN]] / matrix[own[sp.C_MEAN]]


@kernel
def expand(address: int) -> int:
    """Increments of all unknowns from those of the dense system: finite motions of the tree, coordinates, multipliers.

    When MODE is RATES they are rates, and the tree moves by its twists.
    """
    frame, js = _frames(address)
    n, nc, nw, m, s = frame[ap.N_UNKNOWNS], frame[ap.N_COORDINATES], js[sp.N_W], js[sp.N_CLOSURE], js[sp.N_SERVO]
    w, delta, linear = doubles(js[sp.W], nw + s), doubles(frame[ap.F_DELTA], n), doubles(js[sp.LINEAR], n)
    t_starts, kind, place = integers(js[sp.T_STARTS], nc + 1), integers(js[sp.KIND], n), integers(js[sp.PLACE], n)
    columns, end = integers(js[sp.T_COLUMNS], t_starts[nc]), doubles(js[sp.T_END], t_starts[nc])
    shift, closing = doubles(js[sp.SHIFT], js[sp.N_AUGMENTED]), closure_multipliers(js)
    for i in range(nc):
        total = shift[place[i]] if place[i] >= 0 else 0.0
        for p in range(t_starts[i], t_starts[i + 1]):
            total += end[p] * w[columns[p]]
        linear[i] = total
    for i in range(nc, n):
        linear[i] = 0.0
        if kind[i] == sp.CLOSURE_ROW:
            linear[i] = closing[place[i]]
        elif kind[i] == sp.SERVO_ROW:
            linear[i] = w[nw + place[i] - m]
    _own_multipliers(frame, js, linear)
    if integers(frame[ap.F_COUNT], ap.COUNT_SIZE)[ap.MODE] == ap.RATES:
        for i in range(n):
            delta[i] = linear[i]
        return ap.OK
    factor = 1.0
    for j in range(nw):
        f = sp.freedom(js, sp.AT_END, j)
        turn = max(abs(f[0]), abs(f[1]), abs(f[2])) * abs(w[j])
        if turn > LARGEST_TURN and integers(js[sp.NODE_OF], nw)[j] >= 0:
            factor = min(factor, LARGEST_TURN / turn)
    for j in range(nw):
        w[j] *= factor
    for i in range(n):
        delta[i] = factor * linear[i]
    finite_motion(frame, js, row(frame, ap.Q1), w, delta)
    return ap.OK


@jit
def _last_multipliers(frame: Any, js: Any) -> None:
    """Multipliers of loops and inputs of servo constraints at the solution, of one more solution of the dense system there."""
    n, m = frame[ap.N_UNKNOWNS], frame[ap.N_MULTIPLIERS]
    delta, r, kind = doubles(frame[ap.F_DELTA], n), doubles(frame[ap.F_R], n), integers(js[sp.KIND], n)
    now, of = doubles(frame[ap.F_LAM] + 8 * m * ap.NOW, m), integers(js[sp.MULTIPLIER_OF], n)
    for i in range(frame[ap.N_COORDINATES], n):
        if kind[i] == sp.CLOSURE_ROW or kind[i] == sp.SERVO_ROW or kind[i] == sp.OWN_ROW:
            now[of[i]] += delta[i]
            sp.add_column(frame, js, i, delta[i], r)


@kernel
def react(address: int) -> int:
    """Multipliers at the solution: those that stayed, then those of the tree's pairs."""
    frame, js = _frames(address)
    _last_multipliers(frame, js)
    recover(frame, js)
    return ap.OK


@kernel
def start(address: int) -> int:
    """First iterate: joints at rest when the given one is, else moved at the guessed rates, so that the tree stays closed."""
    frame, js = _frames(address)
    clock, count = doubles(frame[ap.F_CLOCK], ap.CLOCK_SIZE), integers(frame[ap.F_COUNT], ap.COUNT_SIZE)
    moving, n = extent(frame, ap.U) > 0.0, frame[ap.N_UNKNOWNS]
    m = frame[ap.N_MULTIPLIERS]
    unknown, now, kind = integers(frame[ap.F_MULTIPLIER_ROWS], m), doubles(frame[ap.F_LAM] + 8 * m * ap.NOW, m), integers(js[sp.KIND], n)
    for k in range(m):
        if unknown[k] >= 0 and kind[unknown[k]] == sp.TREE_ROW:
            now[k] = 0.0
    if not moving:
        return ap.OK
    w, delta, free = doubles(js[sp.W], js[sp.N_W]), doubles(frame[ap.F_DELTA], n), integers(frame[ap.F_FREE], 2 * frame[ap.N_FREE])
    rates, q0 = row(frame, ap.GUESS), row(frame, ap.Q0)
    joint_rates(frame, js, w, clock[ap.H])
    predicted_turns(js, w, clock[ap.H])
    for i in range(n):
        delta[i] = 0.0
    for k in range(frame[ap.N_FREE]):
        delta[free[2 * k + 1]] = clock[ap.H] * rates[free[2 * k]]
    rest(frame)
    finite_motion(frame, js, q0, w, delta)
    keep(frame)
    count[ap.MODE], clock[ap.ALPHA] = ap.APPLY, 1.0
    return call(frame[ap.MOVE], address)


@jit
def _build(address: int, frame: Any, js: Any, count: Any, between_steps: bool, held: bool, which: int) -> int:
    """r̃ and K̃ (or r̃ alone) at the present iterate, and the dense system made of them; its matrix may be held from an iteration before.

    With an old K̃ the result is the same: its columns belong to multipliers of augmented coordinates, whose increments vanish.
    """
    doubles(js[sp.STATE], sp.STATE_SIZE)[sp.HELD] = 1.0 if held else 0.0
    count[ap.WHICH], count[ap.MODE] = which, ap.APPLY
    call(frame[ap.EVALUATE], address)
    call(js[sp.SPACES], address)
    call(js[sp.PROJECT], address)
    count[ap.MODE] = ap.PREDICT if between_steps else ap.APPLY
    return call(js[sp.REDUCE], address)


@jit
def _tree_closed(frame: Any, js: Any, limit: float) -> bool:
    """Whether the rows of the tree's pairs hold; an angle that landed whole turns away, for one, leaves the pitch of its screw."""
    n = frame[ap.N_UNKNOWNS]
    r, kind, worst = doubles(frame[ap.F_R], n), integers(js[sp.KIND], n), 0.0
    for i in range(frame[ap.N_COORDINATES], n):
        if kind[i] == sp.TREE_ROW:
            worst = max(worst, abs(r[i]))
    return worst <= limit


@kernel
def reduced_newton(address: int) -> int:
    """Solves the step in joint coordinates: OK or DIVERGED; multipliers of the tree's pairs are found afterwards."""
    frame, js = _frames(address)
    clock, count = doubles(frame[ap.F_CLOCK], ap.CLOCK_SIZE), integers(frame[ap.F_COUNT], ap.COUNT_SIZE)
    tolerance = doubles(frame[ap.F_CONTROL], ap.CONTROL_SIZE)[ap.TOLERANCE]
    size, last, before, best, held = clock[ap.SIZE], np.inf, np.inf, 1.0, False
    rounding = 16.0 * EPS * extent(frame, ap.Q0)
    call(js[sp.START], address)
    for iteration in range(count[ap.MAX_ITERATIONS] + 1):
        if _build(address, frame, js, count, iteration == 0, held, ap.RESIDUAL if held else ap.TANGENT) != ap.OK:
            return ap.DIVERGED
        call(js[sp.SOLVE], address)
        norm = doubles(js[sp.STATE], sp.STATE_SIZE)[sp.NORM]
        if not norm < np.inf:
            return ap.DIVERGED
        if iteration > 0:
            ratio = norm / before if before > 0.0 else 0.0
            best = min(best, ratio)
            goal = EXACT * tolerance * (extent(frame, ap.U) + 1e-3 * size)
            near = last <= 100.0 * tolerance * size + rounding
            if last <= goal or (near and last * best <= goal) or (near and ratio > 0.3 and not held):
                if not _tree_closed(frame, js, 1e-6 * max(size, extent(frame, ap.Q1))):
                    return ap.DIVERGED
                if held:  # reactions need the rows of the solution itself
                    _build(address, frame, js, count, False, True, ap.TANGENT)
                    call(js[sp.SOLVE], address)
                call(js[sp.EXPAND], address)
                return call(js[sp.REACT], address)
        count[ap.ITERATIONS] += 1
        count[ap.FACTORISATIONS] += 0 if held else 1
        call(js[sp.EXPAND], address)
        slow = held and norm > 0.1 * before
        last, before = increment(frame), norm
        held = last <= CLOSE * size and not slow
        if not last < np.inf:
            return ap.DIVERGED
        keep(frame)
        count[ap.MODE], clock[ap.ALPHA] = ap.APPLY, 1.0
        call(frame[ap.MOVE], address)
    return ap.DIVERGED


@kernel
def reduced_finish(address: int) -> int:
    """The end of a step; rates of a variational step are projected in joint coordinates."""
    frame, js = _frames(address)
    if doubles(frame[ap.F_SCHEME], ap.SCHEME_SIZE)[ap.EVALUATION] != ap.START:
        return call(js[sp.FINISH], address)
    m, count = frame[ap.N_MULTIPLIERS], integers(frame[ap.F_COUNT], ap.COUNT_SIZE)
    kept, now = doubles(frame[ap.F_LAM] + 8 * m * ap.KEPT, m), doubles(frame[ap.F_LAM] + 8 * m * ap.NOW, m)
    doubles(js[sp.STATE], sp.STATE_SIZE)[sp.HELD] = 0.0
    book_violation(frame)
    keep(frame)
    free_rates(address, frame)
    call(js[sp.SPACES], address)
    call(js[sp.PROJECT], address)
    status = call(js[sp.REDUCE], address)
    call(js[sp.SOLVE], address)
    if status != ap.OK or not doubles(js[sp.STATE], sp.STATE_SIZE)[sp.NORM] < np.inf:
        return ap.DIVERGED
    call(js[sp.EXPAND], address)
    count[ap.MODE] = ap.RATES
    call(frame[ap.MOVE], address)
    for i in range(m):
        now[i] = kept[i]
    return ap.OK


@kernel
def reduced_matrix(address: int) -> int:
    """The dense system of a step at its first iterate (MODE is PREDICT) or at q₁ = q₀, for reports."""
    frame, js = _frames(address)
    count = integers(frame[ap.F_COUNT], ap.COUNT_SIZE)
    prepare(frame)
    predicted = count[ap.MODE] == ap.PREDICT
    rest(frame)
    if predicted:
        guess(frame, False)
        call(frame[ap.MOVE], address)
        call(js[sp.START], address)
    return _build(address, frame, js, count, True, False, ap.TANGENT)


def functions() -> dict[int, int]:
    """Addresses of the native functions by slot of the joint space's frame."""
    return {
        sp.SPACES: spaces.address, sp.PROJECT: project.address, sp.REDUCE: reduce_loops.address, sp.SOLVE: solve_dense.address,
        sp.EXPAND: expand.address, sp.START: start.address, sp.REACT: react.address, sp.FINISH: finish.address,
    }  # fmt: skip
