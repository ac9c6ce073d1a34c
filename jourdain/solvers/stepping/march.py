"""The native march of an assembled system: gather, kernels by address, scatter, sparse LU, Newton, commit or roll back, audit.

The step is that of :mod:`jourdain.elements.discrete.schemes`.  Newton's method tests increment and residual, searches along the line
when a full step does not help, tries a second predictor, and halves the step when both fail; smaller steps conserve as large ones do,
and the step grows again afterwards.  Nothing returns to Python but for output, progress, a new analysis of the matrix, and, where that does
not help, factors by a library.
"""

from __future__ import annotations

import numpy as np

from ...native.call import call
from ...native.kernel import jit, kernel
from ..ode.frame import EPS
from . import frame as ap
from .frame import Clock, Count, Frame
from .kernels import direction, extent, guess, increment, prepare, rest

#: Newton's method goes on with old factors below this part of the coordinates' size: only the residual is evaluated.
CLOSE = 1e-4
#: Factors are kept over steps where making them costs as much as this many solutions.
WORTH = 5.0
#: Most iterations that factors of a step before may still need.
PATIENCE = 40.0
#: Part of the tolerance that the error left may be of the displacement: rates and energies are then exact to rounding.
EXACT = 2e-4


@jit
def _norms(frame: Frame, clock: Clock) -> float:
    """Largest scaled residual of balances and of rows, kept apart in MOMENTUM and ROWS_NORM; infinite when one is not finite."""
    n, k = frame.n_unknowns, frame.n_coordinates
    r, scale, balance, rows = frame.r, frame.row_scale, 0.0, 0.0
    for i in range(n):
        value = abs(r[i]) * scale[i]
        if not value < np.inf:
            return np.inf
        if i < k:
            balance = max(balance, value)
        else:
            rows = max(rows, value)
    clock.momentum, clock.rows_norm = balance, rows
    return max(balance, rows)


@jit
def _contraction(clock: Clock, momentum: float, rows: float, floor: float) -> float:
    """How much smaller the residuals became; rows that are down to the rounding of positions do not count."""
    ratio = clock.momentum / momentum if momentum > 0.0 else 0.0
    if clock.rows_norm > floor:
        ratio = max(ratio, clock.rows_norm / rows if rows > 0.0 else np.inf)
    return ratio


@jit
def save(frame: Frame) -> None:
    """Keeps the present iterate."""
    vec = frame.vec
    saved, q1, kept_moved, moved = vec.saved, vec.q1, vec.u_saved, vec.u
    for i in range(frame.n_q):
        saved[i], kept_moved[i] = q1[i], moved[i]
    kept, now = frame.lam.kept, frame.lam.now
    for i in range(now.size):
        kept[i] = now[i]


@jit
def _search(frame: Frame, clock: Clock, count: Count, before: float, which: int) -> float:
    """Applies the increment, shortened while the residual grows; the new norm of the residual."""
    clock.alpha, after = 1.0, np.inf
    for k in range(7):
        count.mode, count.which = ap.APPLY, which
        call(frame.move, frame)
        call(frame.evaluate, frame)
        after = _norms(frame, clock)
        if after <= clock.growth * before or after <= 1e-9:
            return after
        count.searches += 1
        clock.alpha *= 0.25 if k > 2 else 0.5
    return after


@jit
def _kept(frame: Frame) -> bool:
    """Whether factors of a step before serve this one: made for the same step, and the step before cost no more than the mean of those since they
    were made, with the making."""
    lu, h = frame.lu, frame.clock.h
    return lu.cost > WORTH and lu.made_for > 0.0 and abs(lu.made_for - h) <= 1e-6 * h and lu.before * lu.steps <= lu.cost + lu.solutions


@jit
def _make_factors(frame: Frame) -> int:
    """New factors of the present matrix."""
    lu = frame.lu
    frame.count.factorisations += 1
    lu.made_for, lu.solutions, lu.steps, lu.before = frame.clock.h, 0.0, 0.0, 0.0
    return call(frame.factorise, lu)


@jit
def _used(frame: Frame, iterations: int) -> int:
    """Books a solved step on the factors."""
    lu = frame.lu
    lu.solutions += iterations
    lu.steps += 1.0
    lu.before = iterations
    return ap.OK


@kernel
def newton(address: int) -> int:
    """Solves the step from the present q₁ and Λ: OK, DIVERGED, STALE when factors kept from a step before do not serve, or ANALYSE when the pivots do not."""
    frame = Frame.at(address)
    clock, count = frame.clock, frame.count
    control = frame.control
    size, kept = clock.size, _kept(frame)
    fresh, have = not kept, kept
    tolerance = control.tolerance * size
    rounding, last, best = 16.0 * EPS * extent(frame, frame.vec.q0), np.inf, 1.0
    count.which = ap.RESIDUAL if kept else ap.TANGENT
    call(frame.evaluate, frame)
    before = _norms(frame, clock)
    if not before < np.inf:
        return ap.DIVERGED
    patience = min(2.0 * frame.lu.cost + 2.0, PATIENCE)
    for iteration in range(count.max_iterations + (int(patience) if kept else 0)):
        if not have:
            if not fresh:
                count.which = ap.TANGENT
                call(frame.evaluate, frame)
            kept = False
            if _make_factors(frame) != ap.OK:
                return ap.ANALYSE
        direction(frame)
        count.iterations += 1
        step = increment(frame)
        if not step < np.inf:
            return ap.STALE if kept else ap.DIVERGED
        save(frame)
        momentum, rows = clock.momentum, clock.rows_norm
        fresh = step > CLOSE * size and not kept
        after = _search(frame, clock, count, before, ap.TANGENT if fresh else ap.RESIDUAL)
        if not after < np.inf:
            return ap.STALE if kept else ap.DIVERGED
        ratio = _contraction(clock, momentum, rows, 0.25 * rounding)
        best = min(best, ratio)
        # the error left is about step · ratio: small against the displacement, so that rates are right; or nothing but rounding is left
        goal = EXACT * control.tolerance * (extent(frame, frame.vec.u) + 1e-3 * size)
        if before == 0.0 or step <= goal or (step <= 100.0 * tolerance and step * (ratio if kept else best) <= goal):
            return _used(frame, iteration + 1)
        near, slow = step <= 100.0 * tolerance + rounding, step > 0.3 * last
        if near and slow and (not have or step <= rounding):  # above it slowness may be that of old factors
            return _used(frame, iteration + 1)
        if kept and not near and not ratio < 0.5:
            return ap.STALE
        last = step
        quick = step * ratio**patience <= max(goal, rounding) if kept else ratio < control.contraction
        have = (near or quick) and not (have and slow and not (kept and quick))
        before = after
    return ap.STALE if kept else ap.DIVERGED


@jit
def _solved(frame: Frame, trial: int) -> int:
    """Newton's method from a predictor: 0 extrapolates the rates of the steps before, 2 stays at q₀, others follow v₀."""
    last, now, kappa = frame.lam.last, frame.lam.now, frame.scheme.kappa
    rest(frame)
    if trial != 2:
        guess(frame, trial == 0)
        frame.count.mode = ap.PREDICT
        call(frame.move, frame)
    for k in range(now.size):
        now[k] = kappa * last[k]
    return call(frame.newton, frame)


@jit
def attempt(frame: Frame, clock: Clock, count: Count) -> int:
    """One step of H from the state, predicted from the steps before, then from v₀, then at q₀, all by full steps of Newton's method (a
    stiff potential first raises the residual by orders), then once more with a search along the line."""
    prepare(frame)
    for trial in range(0 if clock.t_rate2 > -np.inf else 1, 4):
        clock.growth = 1e300 if trial < 3 else 10.0
        count.predictors += 1 if trial > 1 else 0
        status = _solved(frame, trial)
        if status == ap.STALE:
            frame.lu.made_for = 0.0
            status = _solved(frame, trial)
        if status == ap.OK:
            return call(frame.finish, frame)
        if status == ap.ANALYSE:
            return status
    return ap.DIVERGED


@jit
def _local_error(frame: Frame, clock: Clock) -> float:
    """h³/12 of the third derivative of q, by differences of the mean rates of three steps, over the tolerance; 0 while unknown."""
    vec = frame.vec
    if clock.t_rate2 == -np.inf:
        return 0.0
    control = frame.control
    q0, q1, moved, rate1, rate2 = vec.q0, vec.q1, vec.u, vec.rate1, vec.rate2
    h, t, worst = clock.h, clock.t + 0.5 * clock.h, 0.0
    d1, d2 = t - clock.t_rate1, clock.t_rate1 - clock.t_rate2
    for i in range(frame.n_q):
        rate = moved[i] / h
        second = 2.0 * ((rate - rate1[i]) / d1 - (rate1[i] - rate2[i]) / d2) / (d1 + d2)
        scale = control.atol + control.rtol * max(abs(q0[i]), abs(q1[i]))
        worst = max(worst, abs(h * h * h / 12.0 * second) / scale)
    return worst


@jit
def _next_step(clock: Clock, adaptive: bool) -> bool:
    """Sets H for the next step, bounded by the next point of the grid (or the end); whether the step ends there."""
    target = clock.t_end if adaptive else clock.t_grid
    left, h = target - clock.t, clock.h_next
    if h >= left * (1.0 - 1e-9):
        clock.h = left
        return True
    clock.h = 0.5 * left if h > 0.6 * left else h
    return False


@jit
def _write(frame: Frame, clock: Clock, count: Count) -> None:
    """Appends the state and the books to the output, and starts new sums."""
    k = count.out
    frame.out_t[k] = clock.t
    q, v, lam = frame.out_q[k], frame.out_v[k], frame.out_lam[k]
    q0, v0, last, book = frame.vec.q0, frame.vec.v0, frame.lam.last, frame.book
    for i in range(q0.size):
        q[i], v[i] = q0[i], v0[i]
    for i in range(last.size):
        lam[i] = last[i]
    out = frame.out_book[k]
    for i in range(ap.BOOK):
        out[i] = book[i]
    book[ap.BALANCE] = book[ap.VIOLATION] = book[ap.ITERATED] = book[ap.USED] = 0.0
    count.out = k + 1


@jit
def _keep_guards(frame: Frame) -> None:
    """Guards at the end of an accepted step are those at the start of the next."""
    before, after = frame.guards.before, frame.guards.after
    for e in range(after.size):
        before[e] = after[e]


@jit
def _resize(clock: Clock, adaptive: bool, hit: bool, error: float) -> None:
    """The next step after an accepted one: after the error, or back towards the step wanted."""
    if not adaptive:
        clock.h_next = min(clock.step, 2.0 * clock.h_next)
    elif clock.t_rate2 != -np.inf and not hit:
        factor = 0.9 * max(error, 1e-6) ** (-1.0 / 3.0)
        clock.h_next = min(clock.step, clock.h * min(2.0, max(0.5, factor)))


@kernel
def march(address: int) -> int:
    """Steps until the end, until the output is full or LIMIT steps are done, to an event, or until Python must analyse the matrix."""
    frame = Frame.at(address)
    clock, count = frame.clock, frame.count
    book = frame.book
    first, adaptive = count.steps, count.adaptive == 1
    while True:
        if count.out >= frame.room or count.steps - first >= frame.limit:
            return ap.PAUSED
        if frame.renew != 0 and frame.memories.log.used >= len(frame.memories.log.t):
            return ap.PAUSED
        hit = _next_step(clock, adaptive)
        iterations, count.refused = count.iterations, 0
        status = attempt(frame, clock, count)
        book[ap.ITERATED] += count.iterations - iterations
        if status == ap.ANALYSE and count.retried < 2:
            return ap.ANALYSE
        count.retried = 0
        error = _local_error(frame, clock) if status == ap.OK and adaptive else 0.0
        event = ap.OK
        if status == ap.OK and error <= 1.0 and len(frame.events) > 0:
            whole = clock.h
            event = call(frame.watch, frame)
            if event == ap.AT_ONCE:
                return ap.EVENT
            if event != ap.OK and event != ap.EVENT:
                status, clock.h = event, whole
        if status == ap.OK and error <= 1.0:
            status = call(frame.accept, frame)
        if status != ap.OK or error > 1.0:
            if status == ap.OK:
                count.rejected += 1
            else:
                count.halvings += 1
            clock.h_next = clock.h * (max(0.2, 0.9 * error ** (-1.0 / 3.0)) if status == ap.OK else 0.5)
            if clock.h_next < clock.h_min:
                return ap.FAILED
            continue
        clock.error = error
        if len(frame.events) > 0:
            _keep_guards(frame)
        if event == ap.EVENT:
            # a rest of the step that is nothing but rounding is left out
            hit = hit and clock.t >= (clock.t_end if adaptive else clock.t_grid) - 1e-10 * clock.step
        if hit:
            clock.t = clock.t_end if adaptive else clock.t_grid
        if frame.renew != 0 and call(frame.renew, frame) != ap.OK:
            return ap.NOT_RENEWED
        if event != ap.EVENT:
            _resize(clock, adaptive, hit, error)
        elif not hit:
            _write(frame, clock, count)
            return ap.EVENT
        if not (hit or adaptive):
            continue
        count.grid += 1
        done = clock.t >= clock.t_end
        if done or event == ap.EVENT or count.grid % count.every == 0:
            _write(frame, clock, count)
        clock.t_grid = clock.t_start + (count.grid + 1) * clock.step
        if clock.t_grid > clock.t_end - 1e-6 * clock.step:
            clock.t_grid = clock.t_end
        if done or event == ap.EVENT:
            return ap.FINISHED if event != ap.EVENT else ap.EVENT
