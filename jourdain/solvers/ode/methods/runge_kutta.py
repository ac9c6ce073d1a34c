"""Explicit Runge-Kutta methods: one kernel for every tableau, fixed or adaptive, with continuous extension.

Step control: proportional-integral (Gustafsson) as in Hairer, Norsett & Wanner I, section IV.2; the test for stiffness
compares the last two slopes of a step as in the same section.
"""

from __future__ import annotations

import math
from typing import Any

from jourdain.native.kernel import hot, jit, kernel
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
    fixed_step,
    hermite,
    rhs,
    smallest_step,
    view,
    weight,
)
from jourdain.solvers.ode.method import Method
from jourdain.solvers.ode.methods.tableaus import Tableau

HEAD = 3
STIFF_STEPS = 15
#: The part of the limit of stability beyond which steps are counted, and below which they count against those.
MIDWAY = 0.3
#: So many states are summed in vectors.
LONG = 16


@hot
def _combine(target: Any, base: Any, h: float, weights: Any, first: int, stages: int, work: Any, n: int) -> None:
    """target = base + h sum_j weights[first + j] k_j; of few states the sums of three at a time stay in registers."""
    if n >= LONG:
        for i in range(n):
            target[i] = base[i]
        for j in range(stages):
            factor = h * weights[first + j]
            if factor != 0.0:
                row = j * n
                for i in range(n):
                    target[i] += factor * work[row + i]
        return
    i = 0
    while i + 3 <= n:
        a, b, c = base[i], base[i + 1], base[i + 2]
        at = i
        for j in range(stages):
            factor = h * weights[first + j]
            if factor != 0.0:
                a += factor * work[at]
                b += factor * work[at + 1]
                c += factor * work[at + 2]
            at += n
        target[i], target[i + 1], target[i + 2] = a, b, c
        i += 3
    while i < n:
        a = base[i]
        for j in range(stages):
            a += h * weights[first + j] * work[j * n + i]
        target[i] = a
        i += 1


@hot
def _stages(frame: Frame, clock: Clock, count: Count, const: Any, h: float, s: int, work: Any, stage: Any) -> int:
    """Evaluate the stages after the first, then form the new point in x."""
    n, base = count.n, frame.x_old
    row = HEAD + s
    for i in range(1, s):
        _combine(stage, base, h, const, row, i, work, n)
        row += i
        status = rhs(frame, clock, count, clock.t + const[HEAD + i] * h, stage, frame.work[n * i :])
        if status != 0:
            return status
    _combine(frame.x, base, h, const, row, s, work, n)
    return 0


@hot
def _error(frame: Frame, const: Any, first: int, h: float, s: int, n: int, work: Any) -> float:
    """Return the error of the step over its tolerance: below 1 is accepted."""
    x_old, x, tol = frame.x_old, frame.x, frame.tol
    high = low = 0.0
    for i in range(n):
        e = e_low = 0.0
        for j in range(s + 1):
            e += const[first + j] * work[j * n + i]
            e_low += const[first + s + 1 + j] * work[j * n + i]
        scale = 1.0 / weight(tol, i, x_old[i], x[i])
        high += (e * scale) ** 2
        low += (e_low * scale) ** 2
    if high == 0.0:
        return 0.0
    return abs(h) * high / math.sqrt((high + 0.01 * low) * n)


@jit
def _not_finite(clock: Clock, count: Count, const: Any, h: float, s: int, work: Any, x: Any) -> int:
    """Find the stage and component where a value is not finite."""
    n = count.n
    for j in range(s):
        for i in range(n):
            if not math.isfinite(work[j * n + i]):
                clock.t_bad = clock.t + const[HEAD + j] * h
                count.bad = i
                return NOT_FINITE
    clock.t_bad = clock.t + h
    count.bad = max(first_not_finite(x), 0)
    return NOT_FINITE


@hot
def _watch_stiffness(count: Count, limit: float, h: float, before: Any, stage: Any, f: Any, x: Any) -> None:
    """Count successive steps in which h times the dominant rate lies beyond the method's stability, those near it, and those not far below.

    The rate is that between the last stage, with its slope ``before``, and the new point.

    With tight tolerances forced stiff motions are held at about two thirds of the limit: their errors in what decays fast are as large as allowed.
    """
    n = count.n
    slopes = points = 0.0
    for i in range(n):
        slopes += (f[i] - before[i]) ** 2
        points += (x[i] - stage[i]) ** 2
    rate = abs(h) * math.sqrt(slopes / points) if points > 0.0 else 0.0
    if rate > limit:
        count.stiff = min(count.stiff + 1, STIFF_STEPS)
    elif 0 < count.stiff < STIFF_STEPS:
        count.stiff -= 1
    if rate > limit:
        count.near += 4
    elif rate > 0.5 * limit:
        count.near += 1
    else:
        count.near = max(count.near - 2, 0)
    count.midway = count.midway + 1 if rate > MIDWAY * limit else max(count.midway - 1, 0)


@hot
def _propose(clock: Clock, const: Any, h: float, error: float, rejected: bool) -> None:
    """Set the next step from this error and the last one."""
    order, damping = const[0], const[1]
    error = max(error, 1e-10)
    factor = 0.9 * error ** (0.75 * damping - 1.0 / order) * clock.error_old**damping
    factor = min(max(factor, 0.2), 1.0 if rejected else 8.0)
    shortened = not rejected and abs(h) < abs(clock.h)
    if not shortened or factor < 1.0 or abs(h * factor) > abs(clock.h):
        clock.h = h * factor
    clock.error_old = max(error, 1e-4)


@kernel
def step(address: int) -> int:
    """Take one accepted step with the tableau in `constants`."""
    frame, clock, count = view(address)
    n = count.n
    ints = frame.ints
    s, closing, extra = ints[0], ints[1] == 1, ints[3]
    work = frame.work
    before, stage = work[n * (s - 1) :], work[n * (s + 1 + extra) :]
    const = frame.constants
    x_old, x, f = frame.x_old, frame.x, frame.f
    adaptive = count.adaptive == 1
    # where a projection follows the steps, f is found once, behind it
    watched_late = const[2] > 0.0 and not closing and frame.project != 0 and count.restart == 0
    status = evaluate_here(frame, clock, count)
    if status != 0:
        return status
    if watched_late:
        _watch_stiffness(count, const[2], clock.h_used, before, stage, f, x)
    for i in range(n):
        x_old[i] = x[i]
        work[i] = f[i]
    h, hit = bounded_step(clock, True) if adaptive else fixed_step(clock, count)
    error, rejected, reason = 0.0, False, UNDERFLOW
    while True:
        status = _stages(frame, clock, count, const, h, s, work, stage)
        if status == 0 and closing:
            status = rhs(frame, clock, count, clock.t + h, frame.x, frame.work[n * s :])
        if status == 0:
            if adaptive:
                error = _error(frame, const, HEAD + 2 * s + s * (s - 1) // 2, h, s, n, work)
            if not math.isfinite(error) or first_not_finite(x) >= 0:
                status = _not_finite(clock, count, const, h, s, work, x)
        if status == 0 and error <= 1.0:
            break
        count.rejected += 1
        rejected = True
        h *= 0.25 if status != 0 else max(0.2, 0.9 * error ** (-1.0 / const[0]))
        reason = UNDERFLOW if status == 0 else status
        if not adaptive or (status != 0 and count.bad_status < 0) or abs(h) < smallest_step(clock):
            for i in range(n):
                x[i] = x_old[i]
            return reason
        hit = False
    if adaptive:
        _propose(clock, const, h, error, rejected)
    accept(clock, count, h, hit)
    count.fresh = 0
    if closing:
        for i in range(n):
            f[i] = work[s * n + i]
        count.fresh = 1
    elif const[2] > 0.0 and frame.project == 0:
        status = evaluate_here(frame, clock, count)
    if const[2] > 0.0 and count.fresh == 1:
        _watch_stiffness(count, const[2], h, before, stage, f, x)
    return status


@kernel
def dense(address: int) -> int:
    """Write the continuous extension of the last step into `coef`, with its extra stages if it has any."""
    frame, clock, count = view(address)
    n, h = count.n, clock.h_used
    ints = frame.ints
    s, closing, degree, extra = ints[0], ints[1] == 1, ints[2], ints[3]
    rows = s + 1 + extra
    work = frame.work
    if not closing:
        status = evaluate_here(frame, clock, count)
        if status != 0:
            return status
        f = frame.f
        for i in range(n):
            work[s * n + i] = f[i]
    if degree == 0:
        hermite(frame, clock, count, work, work[s * n :])
        return 0
    after = HEAD + 4 * s + 2 + s * (s - 1) // 2
    const = frame.constants
    x_old, stage = frame.x_old, frame.work[n * (rows + 1) :]
    row = after + extra
    for e in range(extra):
        _combine(stage, x_old, h, const, row, s + 1 + e, work, n)
        row += s + 1 + e
        status = rhs(frame, clock, count, clock.t_old + const[after + e] * h, stage, frame.work[n * (s + 1 + e) :])
        if status != 0:
            return status
    coef = frame.coef
    for i in range(n):
        coef[i] = x_old[i]
        for m in range(degree):
            total = 0.0
            for j in range(rows):
                total += const[row + j * degree + m] * work[j * n + i]
            coef[(m + 1) * n + i] = h * total
    count.degree = degree
    clock.centre = clock.t_old
    return 0


def method(tableau: Tableau) -> Method:
    """Return the method of a tableau."""
    constants, sizes = tableau.pack()
    s, extra = int(sizes[0]), int(sizes[3])
    return Method(
        name=tableau.name,
        order=tableau.order,
        adaptive=tableau.adaptive,
        step=step.address,
        dense=dense.address,
        constants=constants,
        integers=sizes,
        work=lambda n: (s + 3 + extra) * n,
        degree=max(int(sizes[2]), 3),
    )
