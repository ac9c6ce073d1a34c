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

from ...native.call import call
from ...native.kernel import hot, jit, kernel
from ..linear.dense import lu_factor, lu_solve
from ..ode.frame import EPS
from . import frame as ap
from . import joint_space as sp
from .frame import Count, Frame
from .joint_motion import finite_motion, joint_rates, predicted_turns
from .joint_reactions import recover
from .joint_space import JointFrame
from .kernels import book_violation, extent, finish, free_rates, guess, increment, prepare, rest
from .loop_elimination import closure_multipliers, dependent_rates, eliminate, right_side
from .march import CLOSE, EXACT
from .march import save as keep

#: Largest turn of a joint in one iteration (rad).
LARGEST_TURN = 1.5


@jit
def _effective(frame: Frame, js: JointFrame) -> None:
    """Residual as it is once augmented coordinates are shifted onto their constraints."""
    n = frame.n_unknowns
    r, effective, shift = frame.r, js.effective, js.shift
    for i in range(n):
        effective[i] = r[i]
    for a in range(len(js.augmented)):
        own = js.augmented[a]
        if shift[a] != 0.0:
            sp.add_column(frame, js, own.unknown, shift[a], effective)


@jit
def _times_null_space(frame: Frame, js: JointFrame) -> None:
    """K̃ T for the rows that count, and the columns of multipliers that stay, T̄ᵀ Ḡᵀ."""
    n, nc, nw, extra = frame.n_unknowns, frame.n_coordinates, js.n_w, js.n_closure + js.n_servo
    kt, gb = js.kt, js.gb
    starts, rows = js.ap, js.ai
    kind, place = js.kind, js.place
    t_starts, matrix = js.t_starts, frame.values
    columns, end, mean = js.t_columns, js.t_end, js.t_mean
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
def _project_residual(frame: Frame, js: JointFrame) -> None:
    """T̄ᵀ r̃ and the residuals of rows of closure and servo constraints."""
    n, nc, nw = frame.n_unknowns, frame.n_coordinates, js.n_w
    rhs, effective = js.rhs, js.effective
    kind, place, t_starts = js.kind, js.place, js.t_starts
    columns, mean = js.t_columns, js.t_mean
    for i in range(nw):
        rhs[i] = 0.0
    for i in range(nc):
        for p in range(t_starts[i], t_starts[i + 1]):
            rhs[columns[p]] += mean[p] * effective[i]
    for i in range(nc, n):
        if kind[i] == sp.CLOSURE_ROW or kind[i] == sp.SERVO_ROW:
            rhs[nw + place[i]] = effective[i]


@jit
def _project_matrix(frame: Frame, js: JointFrame) -> None:
    """A = T̄ᵀ K̃ T and the rows of closure and servo constraints."""
    n, nc, nw = frame.n_unknowns, frame.n_coordinates, js.n_w
    kt, a, ct = js.kt, js.a, js.ct
    kind, place, t_starts = js.kind, js.place, js.t_starts
    columns, mean = js.t_columns, js.t_mean
    for i in range(nw * nw):
        a[i] = 0.0
    for i in range(nc):
        line = js.kt[i * nw :]
        for p in range(t_starts[i], t_starts[i + 1]):
            weight, target = mean[p], js.a[columns[p] * nw :]
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
    frame = Frame.at(address)
    return frame, JointFrame.at(frame.reduced)


@kernel
def spaces(address: int) -> int:
    """Null-space matrices and multipliers of augmented coordinates for the evaluated K̃ and r̃ (MODE is RATES: of the projection)."""
    frame, js = _frames(address)
    sp.null_spaces(frame, js, frame.count.mode == ap.RATES)
    sp.complete_own(frame, js)
    return ap.OK


@kernel
def project(address: int) -> int:
    """The projected residual and, unless it is HELD, the matrix with the slopes of T̄ (none when MODE is RATES)."""
    frame, js = _frames(address)
    _effective(frame, js)
    _project_residual(frame, js)
    if js.state.held == 1:
        return ap.OK
    _times_null_space(frame, js)
    _project_matrix(frame, js)
    if frame.count.mode != ap.RATES:
        sp.wrenches(frame, js)
        sp.add_slopes(frame, js, js.rhs)
    return ap.OK


@kernel
def reduce_loops(address: int) -> int:
    """The dense system: DIVERGED where no choice of dependent rates serves.  MODE says whether a new choice is allowed (PREDICT)."""
    frame, js = _frames(address)
    if js.state.held == 0:
        if not dependent_rates(js, frame.count.mode == ap.PREDICT):
            return ap.DIVERGED
        eliminate(js)
    right_side(js)
    return ap.OK


@jit
def _solved(js: JointFrame) -> float:
    """Scales the rows, factors (unless the factors are held) and solves; the largest scaled residual, infinite for a singular matrix."""
    size, held = js.n_w + js.n_servo, js.state.held == 1
    final, b, pivots = js.final, js.w, js.pivots[js.n_closure :]
    scale, norm = js.final_scale, 0.0
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
    shift = js.shift
    for a in range(len(js.augmented)):
        norm = max(norm, abs(shift[a]))
    return norm


@kernel
def solve_dense(address: int) -> int:
    """Solves the dense system; the size of its residual is left in the state."""
    _, js = _frames(address)
    js.state.norm = _solved(js)
    return ap.OK


@jit
def _own_multipliers(frame: Frame, js: JointFrame, linear: Any) -> None:
    """Increments of the multipliers of augmented coordinates: the balance of these coordinates after the step (needed for a good K̃ only)."""
    n = frame.n_unknowns
    change, matrix = js.effective, frame.values
    if len(js.augmented) == 0 or js.state.held == 1:
        return
    for i in range(n):
        change[i] = 0.0
    for k in range(n):
        if linear[k] != 0.0:
            sp.add_column(frame, js, k, linear[k], change)
    for a in range(len(js.augmented)):
        own = js.augmented[a]
        linear[own.row] = -change[own.unknown] / matrix[own.mean]


@kernel
def expand(address: int) -> int:
    """Increments of all unknowns from those of the dense system: finite motions of the tree, coordinates, multipliers.

    When MODE is RATES they are rates, and the tree moves by its twists.
    """
    frame, js = _frames(address)
    n, nc, nw, m = frame.n_unknowns, frame.n_coordinates, js.n_w, js.n_closure
    w, delta, linear = js.w, frame.delta, js.linear
    t_starts, kind, place = js.t_starts, js.kind, js.place
    columns, end = js.t_columns, js.t_end
    shift, closing = js.shift, closure_multipliers(js)
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
    if frame.count.mode == ap.RATES:
        for i in range(n):
            delta[i] = linear[i]
        return ap.OK
    factor = 1.0
    for j in range(nw):
        f = sp.freedom(js, sp.AT_END, j)
        turn = max(abs(f[0]), abs(f[1]), abs(f[2])) * abs(w[j])
        if turn > LARGEST_TURN and js.node_of[j] >= 0:
            factor = min(factor, LARGEST_TURN / turn)
    for j in range(nw):
        w[j] *= factor
    for i in range(n):
        delta[i] = factor * linear[i]
    finite_motion(frame, js, frame.vec.q1, w, delta)
    return ap.OK


@jit
def _last_multipliers(frame: Frame, js: JointFrame) -> None:
    """Multipliers of loops and inputs of servo constraints at the solution, of one more solution of the dense system there."""
    n = frame.n_unknowns
    delta, r, kind = frame.delta, frame.r, js.kind
    now, of = frame.lam.now, js.multiplier_of
    for i in range(frame.n_coordinates, n):
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
    vec = frame.vec
    clock, count = frame.clock, frame.count
    moving, n = extent(frame, vec.u) > 0.0, frame.n_unknowns
    unknown, now, kind = frame.multiplier_rows, frame.lam.now, js.kind
    for k in range(now.size):
        if unknown[k] >= 0 and kind[unknown[k]] == sp.TREE_ROW:
            now[k] = 0.0
    if not moving:
        return ap.OK
    w, delta, free = js.w, frame.delta, frame.free
    rates, q0 = vec.guess, vec.q0
    joint_rates(frame, js, w, clock.h)
    predicted_turns(js, w, clock.h)
    for i in range(n):
        delta[i] = 0.0
    for k in range(len(free)):
        delta[free[k].unknown] = clock.h * rates[free[k].coordinate]
    rest(frame)
    finite_motion(frame, js, q0, w, delta)
    keep(frame)
    count.mode, clock.alpha = ap.APPLY, 1.0
    return call(frame.move, frame)


@jit
def _build(frame: Frame, js: JointFrame, count: Count, between_steps: bool, held: bool, which: int) -> int:
    """r̃ and K̃ (or r̃ alone) at the present iterate, and the dense system made of them; its matrix may be held from an iteration before.

    With an old K̃ the result is the same: its columns belong to multipliers of augmented coordinates, whose increments vanish.
    """
    js.state.held = 1 if held else 0
    count.which, count.mode = which, ap.APPLY
    call(frame.evaluate, frame)
    call(js.spaces, frame)
    call(js.project, frame)
    count.mode = ap.PREDICT if between_steps else ap.APPLY
    return call(js.reduce, frame)


@jit
def _tree_closed(frame: Frame, js: JointFrame, limit: float) -> bool:
    """Whether the rows of the tree's pairs hold; an angle that landed whole turns away, for one, leaves the pitch of its screw."""
    n = frame.n_unknowns
    r, kind, worst = frame.r, js.kind, 0.0
    for i in range(frame.n_coordinates, n):
        if kind[i] == sp.TREE_ROW:
            worst = max(worst, abs(r[i]))
    return worst <= limit


@kernel
def reduced_newton(address: int) -> int:
    """Solves the step in joint coordinates: OK or DIVERGED; multipliers of the tree's pairs are found afterwards."""
    frame, js = _frames(address)
    vec = frame.vec
    clock, count = frame.clock, frame.count
    tolerance = frame.control.tolerance
    size, last, before, best, held = clock.size, np.inf, np.inf, 1.0, False
    rounding = 16.0 * EPS * extent(frame, vec.q0)
    call(js.start, frame)
    for iteration in range(count.max_iterations + 1):
        if _build(frame, js, count, iteration == 0, held, ap.RESIDUAL if held else ap.TANGENT) != ap.OK:
            return ap.DIVERGED
        call(js.solve, frame)
        norm = js.state.norm
        if not norm < np.inf:
            return ap.DIVERGED
        if iteration > 0:
            ratio = norm / before if before > 0.0 else 0.0
            best = min(best, ratio)
            goal = EXACT * tolerance * (extent(frame, vec.u) + 1e-3 * size)
            near = last <= 100.0 * tolerance * size + rounding
            if last <= goal or (near and last * best <= goal) or (near and ratio > 0.3 and not held):
                if not _tree_closed(frame, js, 1e-6 * max(size, extent(frame, vec.q1))):
                    return ap.DIVERGED
                if held:  # reactions need the rows of the solution itself
                    _build(frame, js, count, False, True, ap.TANGENT)
                    call(js.solve, frame)
                call(js.expand, frame)
                return call(js.react, frame)
        count.iterations += 1
        count.factorisations += 0 if held else 1
        call(js.expand, frame)
        slow = held and norm > 0.1 * before
        last, before = increment(frame), norm
        held = last <= CLOSE * size and not slow
        if not last < np.inf:
            return ap.DIVERGED
        keep(frame)
        count.mode, clock.alpha = ap.APPLY, 1.0
        call(frame.move, frame)
    return ap.DIVERGED


@kernel
def reduced_finish(address: int) -> int:
    """The end of a step; rates of a variational step are projected in joint coordinates."""
    frame, js = _frames(address)
    if frame.scheme.evaluation != ap.START:
        return call(js.finish, frame)
    count, kept, now = frame.count, frame.lam.kept, frame.lam.now
    js.state.held = 0
    book_violation(frame)
    keep(frame)
    free_rates(frame)
    call(js.spaces, frame)
    call(js.project, frame)
    status = call(js.reduce, frame)
    call(js.solve, frame)
    if status != ap.OK or not js.state.norm < np.inf:
        return ap.DIVERGED
    call(js.expand, frame)
    count.mode = ap.RATES
    call(frame.move, frame)
    for i in range(now.size):
        now[i] = kept[i]
    return ap.OK


@kernel
def reduced_matrix(address: int) -> int:
    """The dense system of a step at its first iterate (MODE is PREDICT) or at q₁ = q₀, for reports."""
    frame, js = _frames(address)
    count = frame.count
    prepare(frame)
    predicted = count.mode == ap.PREDICT
    rest(frame)
    if predicted:
        guess(frame, False)
        call(frame.move, frame)
        call(js.start, frame)
    return _build(frame, js, count, True, False, ap.TANGENT)


def give_functions(js: JointFrame) -> None:
    """Gives the frame of a joint space its native functions."""
    js.spaces, js.project, js.reduce, js.solve = spaces.address, project.address, reduce_loops.address, solve_dense.address
    js.expand, js.start, js.react, js.finish = expand.address, start.address, react.address, finish.address
