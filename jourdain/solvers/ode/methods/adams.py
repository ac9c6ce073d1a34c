"""Adams-Bashforth-Moulton methods of variable order (1 to 12) and variable step, as predictor-corrector pairs (PECE).

The history is held as modified divided differences phi_i (Shampine & Gordon, Computer Solution of Ordinary Differential
Equations, chapters 5 to 7; Hairer, Norsett & Wanner I, section III.5). The past points (t, x, f) are kept as well, so
that a change of coordinates can carry them over; the differences are rebuilt from them, and order and step stay.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jourdain.native.kernel import hot, jit, kernel
from jourdain.native.record import Record
from jourdain.solvers.ode.frame import (
    NOT_FINITE,
    UNDERFLOW,
    Clock,
    Count,
    Frame,
    accept,
    bounded_step,
    evaluate_here,
    first_not_finite,
    rhs,
    smallest_step,
    view,
    weight,
)
from jourdain.solvers.ode.method import Method

MAX_ORDER = 12
ROOM = 16
PAST_ROOM = 14
# Error constants |gamma*_i| of the Adams-Moulton formulas, from i = 0.
GAMMA_STAR = (
    1.0,
    0.5,
    1 / 12,
    1 / 24,
    19 / 720,
    3 / 160,
    863 / 60480,
    275 / 24192,
    33953 / 3628800,
    8183 / 1036800,
    3250433 / 479001600,
    4671 / 788480,
    13695779093 / 2615348736000,
    2224234463 / 475517952000,
)
# Rows of the table of coefficients.
PSI, ALPHA, BETA, SIGMA, V, W, GAMMA, SCRATCH = range(8)


class History(Record):
    """Order, order of the last step, equal steps so far, whether still in the starting phase, newest past point."""

    order: int
    last_order: int
    equal: int
    starting: int
    newest: int


@hot
def _table(frame: Frame, n: int) -> Any:
    """View the differences phi_i (row i; row 0 keeps the last slope for comparison) and the table of coefficients."""
    return frame.work, frame.work[n * (ROOM + 1) :]


@jit
def _remember(frame: Frame, clock: Clock, count: Count, history: History, new: bool) -> None:
    """Store (t, x, f) as the newest past point, or put it in place of the newest one."""
    n = count.n
    if new:
        history.newest = (history.newest + 1) % PAST_ROOM
        count.past = min(count.past + 1, PAST_ROOM)
    k = history.newest
    x, f = frame.x, frame.f
    past_x, past_f = frame.past_x[n * k :], frame.past_f[n * k :]
    frame.past_t[k] = clock.t
    for i in range(n):
        past_x[i] = x[i]
        past_f[i] = f[i]


@jit
def _start(frame: Frame, clock: Clock, count: Count, history: History, phi: Any) -> None:
    """Begin at order 1 with a step that an Euler step can bear."""
    n = count.n
    x, f, tol = frame.x, frame.f, frame.tol
    rate = 0.0
    for i in range(n):
        phi[n + i] = f[i]
        phi[2 * n + i] = 0.0
        rate += (f[i] / weight(tol, i, x[i], x[i])) ** 2
    rate = math.sqrt(rate / n)
    if 16.0 * rate * clock.h * clock.h > 1.0:
        clock.h = math.copysign(0.25 * math.sqrt(1.0 / rate), clock.h)
    history.order, history.last_order, history.equal, history.starting, history.newest = 1, 0, 0, 1, -1
    clock.h_used = 0.0
    count.past = 0
    _remember(frame, clock, count, history, True)


@jit
def _rebuild(frame: Frame, count: Count, history: History, phi: Any, table: Any) -> None:
    """Make phi_i = prod_j (t_0 - t_j) f[t_0, ..., t_(i-1)] anew from the past pohistory."""
    n, newest = count.n, history.newest
    times, values = frame.past_t, frame.past_f
    points = min(history.order + 1, count.past)
    d = SCRATCH * ROOM
    for i in range(n):
        for j in range(points):
            table[d + j] = values[((newest - j) % PAST_ROOM) * n + i]
        for r in range(1, points):
            for j in range(points - 1, r - 1, -1):
                span = times[(newest - j) % PAST_ROOM] - times[(newest - j + r) % PAST_ROOM]
                table[d + j] = (table[d + j] - table[d + j - 1]) / span
        product = 1.0
        for j in range(history.order + 1):
            if j > 0 and j < points:
                product *= times[newest] - times[(newest - j) % PAST_ROOM]
            phi[(j + 1) * n + i] = product * table[d + j] if j < points else 0.0


@jit
def _coefficients(table: Any, history: History, h: float, h_last: float) -> None:
    """Update psi, alpha, beta, sigma and the integration weights gamma for a step h at the present order."""
    k = history.order
    if h != h_last:
        history.equal = 0
    history.equal = min(history.equal + 1, history.last_order + 1)
    e = history.equal
    psi, alpha, beta, sigma = PSI * ROOM, ALPHA * ROOM, BETA * ROOM, SIGMA * ROOM
    v, w, gamma = V * ROOM, W * ROOM, GAMMA * ROOM
    if e == 1:
        table[gamma + 1], table[gamma + 2], table[sigma + 1] = 1.0, 0.5, 1.0
    if k < e:
        return
    table[beta + e], table[alpha + e], table[sigma + e + 1] = 1.0, 1.0 / e, 1.0
    reach = h * e
    for i in range(e + 1, k + 1):
        before = table[psi + i - 1]
        table[psi + i - 1] = reach
        table[beta + i] = table[beta + i - 1] * reach / before
        reach = before + h
        table[alpha + i] = h / reach
        table[sigma + i + 1] = i * table[alpha + i] * table[sigma + i]
    table[psi + k] = reach
    if e == 1:
        for q in range(1, k + 1):
            table[v + q] = 1.0 / (q * (q + 1))
            table[w + q] = table[v + q]
    else:
        if k > history.last_order:
            table[v + k] = 1.0 / (k * (k + 1))
            for j in range(1, e - 1):
                table[v + k - j] -= table[alpha + j + 1] * table[v + k - j + 1]
        for q in range(1, k + 2 - e):
            table[v + q] -= table[alpha + e] * table[v + q + 1]
            table[w + q] = table[v + q]
        table[gamma + e + 1] = table[w + 1]
    for i in range(e + 2, k + 2):
        for q in range(1, k + 3 - i):
            table[w + q] -= table[alpha + i - 1] * table[w + q + 1]
        table[gamma + i] = table[w + 1]


@hot
def _predict(frame: Frame, n: int, k: int, equal: int, h: float, phi: Any, table: Any) -> None:
    """Carry phi to the new step size and form the predicted point p = x + h sum_i gamma_i phi_i."""
    x, p = frame.x_old, frame.work[n * ROOM :]
    for i in range(equal + 1, k + 1):
        beta = table[BETA * ROOM + i]
        for j in range(n):
            phi[i * n + j] *= beta
    for j in range(n):
        phi[(k + 2) * n + j] = phi[(k + 1) * n + j]
        phi[(k + 1) * n + j] = 0.0
        p[j] = 0.0
    for i in range(k, 0, -1):
        gamma = table[GAMMA * ROOM + i]
        for j in range(n):
            p[j] += phi[i * n + j] * gamma
            phi[i * n + j] += phi[(i + 1) * n + j]
    for j in range(n):
        p[j] = x[j] + h * p[j]


@jit
def _restore(n: int, k: int, h: float, phi: Any, table: Any) -> None:
    """Undo a prediction."""
    for i in range(1, k + 1):
        inverse = 1.0 / table[BETA * ROOM + i]
        for j in range(n):
            phi[i * n + j] = inverse * (phi[i * n + j] - phi[(i + 1) * n + j])
    for i in range(2, k + 1):
        table[PSI * ROOM + i - 1] = table[PSI * ROOM + i] - h


@hot
def _errors(frame: Frame, n: int, k: int, h: float, phi: Any, table: Any) -> Any:
    """Return the error of the step and the estimated errors at orders k, k - 1 and k - 2, over the tolerance."""
    x, p = frame.x_old, frame.work[n * ROOM :]
    f, tol = frame.f, frame.tol
    e0 = e1 = e2 = 0.0
    for j in range(n):
        scale = 1.0 / weight(tol, j, x[j], p[j])
        gap = f[j] - phi[n + j]
        e0 += (gap * scale) ** 2
        if k > 1:
            e1 += ((phi[k * n + j] + gap) * scale) ** 2
        if k > 2:
            e2 += ((phi[(k - 1) * n + j] + gap) * scale) ** 2
    size = abs(h) / math.sqrt(n)
    sigma, gamma = SIGMA * ROOM, GAMMA * ROOM
    e0 = size * math.sqrt(e0)
    error = e0 * (table[gamma + k] - table[gamma + k + 1])
    e0 *= table[sigma + k + 1] * GAMMA_STAR[k]
    if k > 1:
        e1 = size * math.sqrt(e1) * table[sigma + k] * GAMMA_STAR[k - 1]
    if k > 2:
        e2 = size * math.sqrt(e2) * table[sigma + k - 1] * GAMMA_STAR[k - 2]
    return error, e0, e1, e2


@hot
def _raise_error(frame: Frame, n: int, k: int, h: float, phi: Any) -> float:
    """Return the error that order k + 1 would have made, for equal steps."""
    x, x_old, tol = frame.x, frame.x_old, frame.tol
    total = 0.0
    for j in range(n):
        total += (phi[(k + 2) * n + j] / weight(tol, j, x_old[j], x[j])) ** 2
    return abs(h) * GAMMA_STAR[k + 1] * math.sqrt(total / n)


@jit
def _plan(frame: Frame, clock: Clock, count: Count, history: History, h: float, lower: bool, e0: float, e1: float, phi: Any) -> None:
    """Choose order and step for the next step: keep steps equal unless a change pays."""
    k = history.order
    if lower or k == MAX_ORDER:
        history.starting = 0
    if history.starting == 1:
        history.order = k + 1
        clock.h = 2.0 * h
        return
    if lower:
        history.order, e0 = k - 1, e1
    elif k + 1 <= history.equal:
        e_up = _raise_error(frame, count.n, k, h, phi)
        if k > 1 and e1 <= min(e0, e_up):
            history.order, e0 = k - 1, e1
        elif k < MAX_ORDER and e_up < (e0 if k > 1 else 0.5 * e0):
            history.order, e0 = k + 1, e_up
    if e0 * 2.0 ** (history.order + 1) <= 0.5:
        clock.h = 2.0 * h
    elif e0 <= 0.5:
        clock.h = h
    else:
        clock.h = h * max(0.5, min(0.9, (0.5 / e0) ** (1.0 / (history.order + 1))))


@jit
def _refresh(frame: Frame, clock: Clock, count: Count, history: History, phi: Any, table: Any) -> int:
    """Bring the differences up to date with a restart, a projected point or new coordinates."""
    n = count.n
    stale = count.fresh == 0
    f = frame.f
    for i in range(n):
        phi[i] = phi[n + i]
    status = evaluate_here(frame, clock, count)
    if status != 0:
        return status
    if count.restart == 1:
        _start(frame, clock, count, history, phi)
    elif count.remapped == 1:
        _remember(frame, clock, count, history, False)
        _rebuild(frame, count, history, phi, table)
    elif stale:
        for j in range(1, history.order + 2):
            for i in range(n):
                phi[j * n + i] += f[i] - phi[i]
        _remember(frame, clock, count, history, False)
    count.remapped = 0
    return 0


@jit
def _evaluate_pair(frame: Frame, clock: Clock, count: Count, k: int, h: float, phi: Any, table: Any) -> Any:
    """Evaluate, estimate, and if the error allows correct and evaluate again; return status and errors."""
    n = count.n
    x, p, f = frame.x, frame.work[n * ROOM :], frame.f
    status = rhs(frame, clock, count, clock.t + h, p, f)
    if status != 0:
        return status, 0.0, 0.0, 0.0, 0.0
    error, e0, e1, e2 = _errors(frame, n, k, h, phi, table)
    if not math.isfinite(error):
        count.bad = max(first_not_finite(f), 0)
        clock.t_bad = clock.t + h
        return NOT_FINITE, error, e0, e1, e2
    if error <= 1.0:
        factor = h * table[GAMMA * ROOM + k + 1]
        for j in range(n):
            x[j] = p[j] + factor * (f[j] - phi[n + j])
        status = rhs(frame, clock, count, clock.t + h, x, f)
        if status == 0 and first_not_finite(f) >= 0:
            count.bad = first_not_finite(f)
            clock.t_bad = clock.t + h
            status = NOT_FINITE
    return status, error, e0, e1, e2


@kernel
def step(address: int) -> int:
    """Take one accepted PECE step."""
    frame, clock, count = view(address)
    n, history = count.n, History.at(frame.ints)
    phi, table = _table(frame, n)
    status = _refresh(frame, clock, count, history, phi, table)
    if status != 0:
        return status
    x, x_old, f = frame.x, frame.x_old, frame.f
    for j in range(n):
        x_old[j] = x[j]
    h, hit = bounded_step(clock, True)
    failures = 0
    while True:
        k = history.order
        _coefficients(table, history, h, clock.h_used)
        _predict(frame, n, k, history.equal, h, phi, table)
        status, error, e0, e1, e2 = _evaluate_pair(frame, clock, count, k, h, phi, table)
        lower = (k > 2 and max(e1, e2) <= e0) or (k == 2 and e1 <= 0.5 * e0)
        if status == 0 and error <= 1.0:
            break
        failures += 1
        count.rejected += 1
        history.starting = 0
        _restore(n, k, h, phi, table)
        factor = 0.5 if status == 0 else 0.25
        if failures >= 3:
            history.order = 1
            if status == 0 and failures > 3 and 0.25 * e0 > 0.5:
                factor = math.sqrt(0.5 / e0)
        elif lower:
            history.order = k - 1
        h *= factor
        hit = False
        if abs(h) < smallest_step(clock) or (status != 0 and count.bad_status < 0):
            for j in range(n):
                x[j] = x_old[j]
            count.fresh = 0
            return UNDERFLOW if status == 0 else status
    history.last_order = k
    accept(clock, count, h, hit)
    count.fresh = 1
    for j in range(n):
        rise = f[j] - phi[n + j]
        phi[(k + 1) * n + j] = rise
        phi[(k + 2) * n + j] = rise - phi[(k + 2) * n + j]
    for i in range(1, k + 1):
        for j in range(n):
            phi[i * n + j] += phi[(k + 1) * n + j]
    _remember(frame, clock, count, history, True)
    _plan(frame, clock, count, history, h, lower, e0, e1, phi)
    return 0


@kernel
def dense(address: int) -> int:
    """Integrate the polynomial through the last slopes, in Newton form, and write it about the end of the step."""
    frame, clock, count = view(address)
    n, k = count.n, History.at(frame.ints).last_order
    phi, table = _table(frame, n)
    h = clock.h_used
    coef, x, basis = frame.coef, frame.x, SCRATCH * ROOM
    for i in range((k + 2) * n):
        coef[i] = 0.0
    for m in range(ROOM):
        table[basis + m] = 0.0
    table[basis] = 1.0
    for i in range(1, k + 2):
        for m in range(i):
            for j in range(n):
                coef[(m + 1) * n + j] += h * table[basis + m] / (m + 1) * phi[i * n + j]
        if i <= k:
            shift = 0.0 if i == 1 else table[PSI * ROOM + i - 1] / h
            scale = h / table[PSI * ROOM + i]
            for m in range(i, -1, -1):
                below = table[basis + m - 1] if m > 0 else 0.0
                table[basis + m] = (shift * table[basis + m] + below) * scale
    for j in range(n):
        coef[j] = x[j]
    count.degree = k + 1
    clock.centre = clock.t
    return 0


def method(name: str = "adams") -> Method:
    """Return the Adams method."""
    return Method(
        name=name,
        order=MAX_ORDER,
        adaptive=True,
        step=step.address,
        dense=dense.address,
        constants=np.array([1.0]),
        work=lambda n: (ROOM + 1) * n + 8 * ROOM,
        integer_work=lambda n: 8,
        degree=MAX_ORDER + 1,
        past=PAST_ROOM,
        one_step=False,
    )
