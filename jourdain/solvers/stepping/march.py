"""The native march of an assembled system: gather, kernels by address, scatter, sparse LU, Newton, commit or roll back, audit.

The step is that of :mod:`jourdain.elements.schemes`.  Newton's method tests increment and residual, searches along the line
when a full step does not help, tries a second predictor, and halves the step when both fail; smaller steps conserve as large ones do,
and the step grows again afterwards.  Nothing returns to Python but for output, progress, a new analysis of the matrix, and, where that does
not help, factors by a library.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...native.call import call, doubles, integers, words
from ...native.kernel import jit, kernel
from ..linear.sparse_lu import factorise, solve
from ..ode.frame import EPS
from . import frame as ap
from .frame import FRAME
from .kernels import accept, direction, evaluate, extent, finish, guess, increment, move, prepare, rest, row

#: Newton's method goes on with old factors below this part of the coordinates' size: only the residual is evaluated.
CLOSE = 1e-4
#: Part of the tolerance that the error left may be of the displacement: rates and energies are then exact to rounding.
EXACT = 2e-4


@jit
def _norms(frame: Any, clock: Any) -> float:
    """Largest scaled residual of balances and of rows, kept apart in MOMENTUM and ROWS_NORM; infinite when one is not finite."""
    n, k = frame[ap.N_UNKNOWNS], frame[ap.N_COORDINATES]
    r, scale, balance, rows = doubles(frame[ap.F_R], n), doubles(frame[ap.F_ROW_SCALE], n), 0.0, 0.0
    for i in range(n):
        value = abs(r[i]) * scale[i]
        if not value < np.inf:
            return np.inf
        if i < k:
            balance = max(balance, value)
        else:
            rows = max(rows, value)
    clock[ap.MOMENTUM], clock[ap.ROWS_NORM] = balance, rows
    return max(balance, rows)


@jit
def _contraction(clock: Any, momentum: float, rows: float, floor: float) -> float:
    """How much smaller the residuals became; rows that are down to the rounding of positions do not count."""
    ratio = clock[ap.MOMENTUM] / momentum if momentum > 0.0 else 0.0
    if clock[ap.ROWS_NORM] > floor:
        ratio = max(ratio, clock[ap.ROWS_NORM] / rows if rows > 0.0 else np.inf)
    return ratio


@jit
def save(frame: Any) -> None:
    """Keeps the present iterate."""
    saved, q1, kept_moved, moved = row(frame, ap.SAVED), row(frame, ap.Q1), row(frame, ap.U_SAVED), row(frame, ap.U)
    for i in range(frame[ap.N_Q]):
        saved[i], kept_moved[i] = q1[i], moved[i]
    m = frame[ap.N_MULTIPLIERS]
    kept, now = doubles(frame[ap.F_LAM] + 8 * m * ap.KEPT, m), doubles(frame[ap.F_LAM] + 8 * m * ap.NOW, m)
    for i in range(m):
        kept[i] = now[i]


@jit
def _search(address: int, frame: Any, clock: Any, count: Any, before: float, which: int) -> float:
    """Applies the increment, shortened while the residual grows; the new norm of the residual."""
    clock[ap.ALPHA], after = 1.0, np.inf
    for k in range(7):
        count[ap.MODE], count[ap.WHICH] = ap.APPLY, which
        call(frame[ap.MOVE], address)
        call(frame[ap.EVALUATE], address)
        after = _norms(frame, clock)
        if after <= clock[ap.GROWTH] * before or after <= 1e-9:
            return after
        count[ap.SEARCHES] += 1
        clock[ap.ALPHA] *= 0.25 if k > 2 else 0.5
    return after


@kernel
def newton(address: int) -> int:
    """Solves the step from the present q₁ and Λ: OK, DIVERGED, or ANALYSE when the pivots do not serve any more."""
    frame = words(address, FRAME)
    clock, count = doubles(frame[ap.F_CLOCK], ap.CLOCK_SIZE), integers(frame[ap.F_COUNT], ap.COUNT_SIZE)
    control = doubles(frame[ap.F_CONTROL], ap.CONTROL_SIZE)
    size, fresh, have = clock[ap.SIZE], True, False
    tolerance = control[ap.TOLERANCE] * size
    rounding, last, best = 16.0 * EPS * extent(frame, ap.Q0), np.inf, 1.0
    count[ap.WHICH] = ap.TANGENT
    call(frame[ap.EVALUATE], address)
    before = _norms(frame, clock)
    if not before < np.inf:
        return ap.DIVERGED
    for _ in range(count[ap.MAX_ITERATIONS]):
        if not have:
            if not fresh:
                count[ap.WHICH] = ap.TANGENT
                call(frame[ap.EVALUATE], address)
            count[ap.FACTORISATIONS] += 1
            if call(frame[ap.FACTORISE], frame[ap.LU]) != ap.OK:
                return ap.ANALYSE
        direction(frame)
        count[ap.ITERATIONS] += 1
        step = increment(frame)
        if not step < np.inf:
            return ap.DIVERGED
        save(frame)
        momentum, rows = clock[ap.MOMENTUM], clock[ap.ROWS_NORM]
        fresh = step > CLOSE * size
        after = _search(address, frame, clock, count, before, ap.TANGENT if fresh else ap.RESIDUAL)
        if not after < np.inf:
            return ap.DIVERGED
        ratio = _contraction(clock, momentum, rows, 0.25 * rounding)
        best = min(best, ratio)
        # the error left is about step · ratio: small against the displacement, so that rates are right; or nothing but rounding is left
        goal = EXACT * control[ap.TOLERANCE] * (extent(frame, ap.U) + 1e-3 * size)
        if before == 0.0 or step <= goal or (step <= 100.0 * tolerance and step * best <= goal):
            return ap.OK
        near, slow = step <= 100.0 * tolerance + rounding, step > 0.3 * last
        if near and slow and (not have or step <= rounding):  # above it slowness may be that of old factors
            return ap.OK
        last = step
        have = (near or ratio < control[ap.CONTRACTION]) and not (have and slow)
        before = after
    return ap.DIVERGED


@jit
def attempt(address: int, frame: Any, clock: Any, count: Any) -> int:
    """One step of H from the state, predicted from the steps before, then from v₀, then at q₀, all by full steps of Newton's method (a
    stiff potential first raises the residual by orders), then once more with a search along the line."""
    prepare(frame)
    m = frame[ap.N_MULTIPLIERS]
    last, now = doubles(frame[ap.F_LAM] + 8 * m * ap.LAST, m), doubles(frame[ap.F_LAM] + 8 * m * ap.NOW, m)
    kappa = doubles(frame[ap.F_SCHEME], ap.SCHEME_SIZE)[ap.KAPPA]
    for trial in range(0 if clock[ap.T_RATE2] > -np.inf else 1, 4):
        rest(frame)
        clock[ap.GROWTH] = 1e300 if trial < 3 else 10.0
        if trial != 2:
            guess(frame, trial == 0)
            count[ap.MODE] = ap.PREDICT
            call(frame[ap.MOVE], address)
        count[ap.PREDICTORS] += 1 if trial > 1 else 0
        for k in range(m):
            now[k] = kappa * last[k]
        status = call(frame[ap.NEWTON], address)
        if status == ap.OK:
            return call(frame[ap.FINISH], address)
        if status == ap.ANALYSE:
            return status
    return ap.DIVERGED


@jit
def _local_error(frame: Any, clock: Any) -> float:
    """h³/12 of the third derivative of q, by differences of the mean rates of three steps, over the tolerance; 0 while unknown."""
    if clock[ap.T_RATE2] == -np.inf:
        return 0.0
    control = doubles(frame[ap.F_CONTROL], ap.CONTROL_SIZE)
    q0, q1, moved, rate1, rate2 = row(frame, ap.Q0), row(frame, ap.Q1), row(frame, ap.U), row(frame, ap.RATE1), row(frame, ap.RATE2)
    h, t, worst = clock[ap.H], clock[ap.T] + 0.5 * clock[ap.H], 0.0
    d1, d2 = t - clock[ap.T_RATE1], clock[ap.T_RATE1] - clock[ap.T_RATE2]
    for i in range(frame[ap.N_Q]):
        rate = moved[i] / h
        second = 2.0 * ((rate - rate1[i]) / d1 - (rate1[i] - rate2[i]) / d2) / (d1 + d2)
        scale = control[ap.ATOL] + control[ap.RTOL] * max(abs(q0[i]), abs(q1[i]))
        worst = max(worst, abs(h * h * h / 12.0 * second) / scale)
    return worst


@jit
def _next_step(clock: Any, adaptive: bool) -> bool:
    """Sets H for the next step, bounded by the next point of the grid (or the end); whether the step ends there."""
    target = clock[ap.T_END] if adaptive else clock[ap.T_GRID]
    left, h = target - clock[ap.T], clock[ap.H_NEXT]
    if h >= left * (1.0 - 1e-9):
        clock[ap.H] = left
        return True
    clock[ap.H] = 0.5 * left if h > 0.6 * left else h
    return False


@jit
def _write(frame: Any, clock: Any, count: Any) -> None:
    """Appends the state and the books to the output, and starts new sums."""
    k, n, m = count[ap.OUT], frame[ap.N_Q], frame[ap.N_MULTIPLIERS]
    doubles(frame[ap.OUT_T], k + 1)[k] = clock[ap.T]
    q, v, lam = doubles(frame[ap.OUT_Q] + 8 * n * k, n), doubles(frame[ap.OUT_V] + 8 * n * k, n), doubles(frame[ap.OUT_LAM] + 8 * m * k, m)
    q0, v0, last, book = row(frame, ap.Q0), row(frame, ap.V0), doubles(frame[ap.F_LAM], m), doubles(frame[ap.F_BOOK], ap.BOOK)
    for i in range(n):
        q[i], v[i] = q0[i], v0[i]
    for i in range(m):
        lam[i] = last[i]
    out = doubles(frame[ap.OUT_BOOK] + 8 * ap.BOOK * k, ap.BOOK)
    for i in range(ap.BOOK):
        out[i] = book[i]
    book[ap.BALANCE] = book[ap.VIOLATION] = book[ap.ITERATED] = book[ap.USED] = 0.0
    count[ap.OUT] = k + 1


@jit
def _keep_guards(frame: Any) -> None:
    """Guards at the end of an accepted step are those at the start of the next."""
    n = frame[ap.N_EVENTS]
    before, after = doubles(frame[ap.F_GUARDS] + 8 * n * ap.BEFORE, n), doubles(frame[ap.F_GUARDS] + 8 * n * ap.AFTER, n)
    for e in range(n):
        before[e] = after[e]


@jit
def _resize(clock: Any, adaptive: bool, hit: bool, error: float) -> None:
    """The next step after an accepted one: after the error, or back towards the step wanted."""
    if not adaptive:
        clock[ap.H_NEXT] = min(clock[ap.STEP], 2.0 * clock[ap.H_NEXT])
    elif clock[ap.T_RATE2] != -np.inf and not hit:
        factor = 0.9 * max(error, 1e-6) ** (-1.0 / 3.0)
        clock[ap.H_NEXT] = min(clock[ap.STEP], clock[ap.H] * min(2.0, max(0.5, factor)))


@kernel
def march(address: int) -> int:
    """Steps until the end, until the output is full or LIMIT steps are done, to an event, or until Python must analyse the matrix."""
    frame = words(address, FRAME)
    clock, count = doubles(frame[ap.F_CLOCK], ap.CLOCK_SIZE), integers(frame[ap.F_COUNT], ap.COUNT_SIZE)
    book = doubles(frame[ap.F_BOOK], ap.BOOK)
    first, adaptive = count[ap.STEPS], count[ap.ADAPTIVE] == 1
    while True:
        if count[ap.OUT] >= frame[ap.ROOM] or count[ap.STEPS] - first >= frame[ap.LIMIT]:
            return ap.PAUSED
        hit = _next_step(clock, adaptive)
        iterations, count[ap.REFUSED] = count[ap.ITERATIONS], 0
        status = attempt(address, frame, clock, count)
        book[ap.ITERATED] += count[ap.ITERATIONS] - iterations
        if status == ap.ANALYSE and count[ap.RETRIED] < 2:
            return ap.ANALYSE
        count[ap.RETRIED] = 0
        error = _local_error(frame, clock) if status == ap.OK and adaptive else 0.0
        event = ap.OK
        if status == ap.OK and error <= 1.0 and frame[ap.N_EVENTS] > 0:
            whole = clock[ap.H]
            event = call(frame[ap.WATCH], address)
            if event == ap.AT_ONCE:
                return ap.EVENT
            if event != ap.OK and event != ap.EVENT:
                status, clock[ap.H] = event, whole
        if status == ap.OK and error <= 1.0:
            status = call(frame[ap.ACCEPT], address)
        if status != ap.OK or error > 1.0:
            count[ap.REJECTED if status == ap.OK else ap.HALVINGS] += 1
            clock[ap.H_NEXT] = clock[ap.H] * (max(0.2, 0.9 * error ** (-1.0 / 3.0)) if status == ap.OK else 0.5)
            if clock[ap.H_NEXT] < clock[ap.H_MIN]:
                return ap.FAILED
            continue
        clock[ap.ERROR] = error
        if frame[ap.N_EVENTS] > 0:
            _keep_guards(frame)
        if event == ap.EVENT:
            # a rest of the step that is nothing but rounding is left out
            hit = hit and clock[ap.T] >= (clock[ap.T_END] if adaptive else clock[ap.T_GRID]) - 1e-10 * clock[ap.STEP]
        if hit:
            clock[ap.T] = clock[ap.T_END] if adaptive else clock[ap.T_GRID]
        if event != ap.EVENT:
            _resize(clock, adaptive, hit, error)
        elif not hit:
            _write(frame, clock, count)
            return ap.EVENT
        if not (hit or adaptive):
            continue
        count[ap.GRID] += 1
        done = clock[ap.T] >= clock[ap.T_END]
        if done or event == ap.EVENT or count[ap.GRID] % count[ap.EVERY] == 0:
            _write(frame, clock, count)
        clock[ap.T_GRID] = clock[ap.T_START] + (count[ap.GRID] + 1) * clock[ap.STEP]
        if clock[ap.T_GRID] > clock[ap.T_END] - 1e-6 * clock[ap.STEP]:
            clock[ap.T_GRID] = clock[ap.T_END]
        if done or event == ap.EVENT:
            return ap.FINISHED if event != ap.EVENT else ap.EVENT


def functions() -> dict[int, int]:
    """Addresses of the native functions by slot of the frame."""
    return {
        ap.FACTORISE: factorise.address, ap.SOLVE: solve.address, ap.EVALUATE: evaluate.address, ap.MOVE: move.address,
        ap.NEWTON: newton.address, ap.FINISH: finish.address, ap.ACCEPT: accept.address,
    }  # fmt: skip
