"""The Radau IIA method of order 5 with three implicit stages (RADAU5; Hairer & Wanner, Solving ODEs II, IV.8).

Simplified Newton iterations in the basis that splits the stage equations into one real and one complex system; the
Jacobian is kept while they converge fast, the factors while the step stays; error and step prediction as in the book.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jourdain.native.call import address as at
from jourdain.native.call import complexes
from jourdain.native.kernel import hot, jit, kernel
from jourdain.native.record import Record
from jourdain.solvers.linear.shifted import leading, shifted_factor, shifted_solve
from jourdain.solvers.ode.frame import (
    EPS,
    JAC_FAILED,
    NO_CONVERGENCE,
    NOT_FINITE,
    SINGULAR,
    UNDERFLOW,
    Clock,
    Count,
    Frame,
    accept,
    bounded_step,
    evaluate_here,
    first_not_finite,
    jacobian,
    rhs,
    smallest_step,
    view,
    weight,
)
from jourdain.solvers.ode.method import Method

ITERATIONS = 6
_ROOT = math.sqrt(6.0)
NODE = ((4 - _ROOT) / 10, (4 + _ROOT) / 10, 1.0)
ERROR = ((-13 - 7 * _ROOT) / 3, (-13 + 7 * _ROOT) / 3, -1 / 3)
MU = 3 + 3 ** (2 / 3) - 3 ** (1 / 3)
MU_COMPLEX = 3 + 0.5 * (3 ** (1 / 3) - 3 ** (2 / 3)) - 0.5j * (3 ** (5 / 6) + 3 ** (7 / 6))
TO_STAGES = (
    (0.09443876248897524, -0.14125529502095421, 0.03002919410514742),
    (0.25021312296533332, 0.20412935229379994, -0.38294211275726192),
    (1.0, 1.0, 0.0),
)
FROM_STAGES = (
    (4.17871859155190428, 0.32768282076106237, 0.52337644549944951),
    (-4.17871859155190428, -0.32768282076106237, 0.47662355450055044),
    (0.50287263494578682, -2.57192694985560522, 0.59603920482822492),
)
INTERPOLANT = (
    (13 / 3 + 7 * _ROOT / 3, -23 / 3 - 22 * _ROOT / 3, 10 / 3 + 5 * _ROOT),
    (13 / 3 - 7 * _ROOT / 3, -23 / 3 + 22 * _ROOT / 3, 10 / 3 - 5 * _ROOT),
    (1 / 3, -8 / 3, 10 / 3),
)
# Rows of n numbers after the matrices and the memory.
Z, W, SLOPE, POLYNOMIAL, STAGE, RESIDUAL, PAIR, ROWS = 0, 3, 6, 9, 12, 13, 14, 16
MEMORY_SIZE = 5
#: Where Newton has not converged: the part of that step which the next ones keep below, and how fast this bound is forgotten.
BELOW, FORGOTTEN = 0.7, 1.15


class Memory(Record):
    """Numbers kept between steps: step of the factors, last step and its error, rate of convergence, longest step that Newton promises to do."""

    h_factors: float
    h_last: float
    error_last: float
    rate: float
    reach: float


class Flags(Record):
    """Jacobian evaluated here, Jacobian usable, interpolant usable, iterations of the last solve; pivots follow, and how many rows of the Jacobian
    are those of positions."""

    current: int
    usable: int
    solved: int
    taken: int


@hot
def _rows(frame: Frame, n: int, row: int, number: int) -> Any:
    """View `number` rows of the workspace from `row` on."""
    first = 4 * n * n + MEMORY_SIZE + row * n
    return frame.work[first : first + number * n]


@jit
def _factorise(frame: Frame, count: Count, h: float) -> int:
    """Factorise MU/h I - J and MU_COMPLEX/h I - J."""
    n = count.n
    matrix, lu = frame.work, frame.work[n * n :]
    lu_complex = complexes(at(frame.work[2 * n * n :]), n * n)
    m = frame.ints[4 + 2 * n]
    count.n_lu += 2
    status = shifted_factor(matrix, n, m, MU / h, lu, frame.ints[4:])
    if status == 0:
        status = shifted_factor(matrix, n, m, MU_COMPLEX / h, lu_complex, frame.ints[4 + n :])
    return status


@jit
def _guess(frame: Frame, n: int, h: float, h_last: float, known: bool) -> None:
    """Start the stages from the last interpolant, or from zero, and transform them."""
    z, w, q = _rows(frame, n, Z, 3), _rows(frame, n, W, 3), _rows(frame, n, POLYNOMIAL, 3)
    x, x_old = frame.x, frame.x_old
    for s in range(3):
        theta = 1.0 + NODE[s] * h / h_last if known else 0.0
        for i in range(n):
            z[s * n + i] = 0.0
            if known:
                z[s * n + i] = x_old[i] - x[i] + theta * (q[i] + theta * (q[n + i] + theta * q[2 * n + i]))
    for s in range(3):
        for i in range(n):
            w[s * n + i] = FROM_STAGES[s][0] * z[i] + FROM_STAGES[s][1] * z[n + i] + FROM_STAGES[s][2] * z[2 * n + i]


@jit
def _slopes(frame: Frame, clock: Clock, count: Count, h: float) -> int:
    """Evaluate f at the three stages."""
    n = count.n
    x, stage, z = frame.x, _rows(frame, n, STAGE, 1), _rows(frame, n, Z, 3)
    for s in range(3):
        for i in range(n):
            stage[i] = x[i] + z[s * n + i]
        t = clock.t + NODE[s] * h
        status = rhs(frame, clock, count, t, stage, _rows(frame, n, SLOPE + s, 1))
        if status != 0:
            return status
        bad = first_not_finite(_rows(frame, n, SLOPE + s, 1))
        if bad >= 0:
            count.bad = bad
            clock.t_bad = t
            return NOT_FINITE
    return 0


@jit
def _correct(frame: Frame, n: int, h: float) -> float:
    """Do one simplified Newton correction of the stages and return its size over the tolerance."""
    z, w, slope = _rows(frame, n, Z, 3), _rows(frame, n, W, 3), _rows(frame, n, SLOPE, 3)
    real, pair = _rows(frame, n, RESIDUAL, 1), complexes(at(_rows(frame, n, PAIR, 2)), n)
    x, tol = frame.x, frame.tol
    for i in range(n):
        g0 = g1 = g2 = 0.0
        for s in range(3):
            g0 += FROM_STAGES[0][s] * slope[s * n + i]
            g1 += FROM_STAGES[1][s] * slope[s * n + i]
            g2 += FROM_STAGES[2][s] * slope[s * n + i]
        real[i] = g0 - MU / h * w[i]
        pair[i] = complex(g1, g2) - MU_COMPLEX / h * complex(w[n + i], w[2 * n + i])
    J, m = frame.work, frame.ints[4 + 2 * n]
    shifted_solve(J, n, m, MU / h, frame.work[n * n :], frame.ints[4:], real)
    shifted_solve(J, n, m, MU_COMPLEX / h, complexes(at(frame.work[2 * n * n :]), n * n), frame.ints[4 + n :], pair)
    size = 0.0
    for i in range(n):
        w[i] += real[i]
        w[n + i] += pair[i].real
        w[2 * n + i] += pair[i].imag
        scale = weight(tol, i, x[i], x[i])
        size += (real[i] ** 2 + pair[i].real ** 2 + pair[i].imag ** 2) / scale**2
        for s in range(3):
            z[s * n + i] = TO_STAGES[s][0] * w[i] + TO_STAGES[s][1] * w[n + i] + TO_STAGES[s][2] * w[2 * n + i]
    return math.sqrt(size / (3 * n))


@jit
def _solve(frame: Frame, clock: Clock, count: Count, memory: Memory, flags: Flags, h: float, patient: bool) -> int:
    """Iterate the stages to convergence: 0, NO_CONVERGENCE, or the status of the right-hand side; ``patient`` does not judge by the first two corrections."""
    n, rtol = count.n, frame.tol[0]
    target = max(10.0 * EPS / rtol, min(0.03, math.sqrt(rtol)))
    last, rate = 0.0, 0.0
    for k in range(ITERATIONS):
        status = _slopes(frame, clock, count, h)
        if status != 0:
            return status
        size = _correct(frame, n, h)
        if not math.isfinite(size):
            return NO_CONVERGENCE
        if k > 0:
            rate = size / last
            if not (patient and k == 1) and (rate >= 1.0 or rate ** (ITERATIONS - 1 - k) / (1.0 - rate) * size > target):
                return NO_CONVERGENCE
        flags.taken, memory.rate = k + 1, rate
        if size == 0.0 or (k > 0 and rate < 1.0 and rate / (1.0 - rate) * size < target):
            return 0
        last = size
    return NO_CONVERGENCE


@jit
def _error(frame: Frame, clock: Clock, count: Count, h: float, again: bool) -> float:
    """Return the error of the step over its tolerance, filtered once more if the step was rejected before."""
    n = count.n
    x, f, tol = frame.x, frame.f, frame.tol
    z, e, stage = _rows(frame, n, Z, 3), _rows(frame, n, RESIDUAL, 1), _rows(frame, n, STAGE, 1)
    slope, lu = _rows(frame, n, SLOPE, 1), frame.work[n * n :]
    result = 0.0
    for attempt in range(2):
        for i in range(n):
            known = f[i] if attempt == 0 else slope[i]
            e[i] = known + (ERROR[0] * z[i] + ERROR[1] * z[n + i] + ERROR[2] * z[2 * n + i]) / h
        shifted_solve(frame.work, n, frame.ints[4 + 2 * n], MU / h, lu, frame.ints[4:], e)
        result = 0.0
        for i in range(n):
            stage[i] = x[i] + e[i]
            result += (e[i] / weight(tol, i, x[i], x[i] + z[2 * n + i])) ** 2
        result = math.sqrt(result / n)
        if result <= 1.0 or not again or attempt == 1:
            break
        if rhs(frame, clock, count, clock.t, stage, slope) != 0:
            break
    return result


@hot
def _factor(h: float, error: float, memory: Memory) -> float:
    """Predict the change of step from this error and the last accepted one."""
    multiplier = 1.0
    error = max(error, 1e-10)
    if memory.error_last > 0.0:
        multiplier = abs(h / memory.h_last) * (memory.error_last / error) ** 0.25
    return min(1.0, multiplier) * error**-0.25


@jit
def _take(frame: Frame, clock: Clock, count: Count, memory: Memory, flags: Flags, h: float, error: float, hit: bool) -> None:
    """Move to the new point and keep the interpolant."""
    n = count.n
    x, x_old = frame.x, frame.x_old
    z, q = _rows(frame, n, Z, 3), _rows(frame, n, POLYNOMIAL, 3)
    for i in range(n):
        for m in range(3):
            q[m * n + i] = z[i] * INTERPOLANT[0][m] + z[n + i] * INTERPOLANT[1][m] + z[2 * n + i] * INTERPOLANT[2][m]
        x_old[i] = x[i]
        x[i] += z[2 * n + i]
    memory.h_last, memory.error_last = h, max(error, 1e-10)
    flags.solved = 1
    accept(clock, count, h, hit)
    count.fresh = 0


@jit
def _prepare(frame: Frame, clock: Clock, count: Count, memory: Memory, flags: Flags) -> int:
    """Evaluate what the step needs at its start."""
    status = evaluate_here(frame, clock, count)
    if count.restart == 1 or count.remapped == 1:
        flags.usable = flags.solved = 0
        memory.error_last = 0.0
        memory.reach = math.inf
        count.remapped = 0
    flags.current = 0
    if status == 0 and flags.usable == 0:
        return _renew(frame, clock, count, memory, flags)
    return status


@jit
def _by_differences(frame: Frame, clock: Clock, count: Count, out: Any) -> int:
    """The Jacobian from n more evaluations (increments as in RADAU5), for a trial of this method; rows q̇ = v come out exactly."""
    n = count.n
    x, f, stage, slope = frame.x, frame.f, _rows(frame, n, STAGE, 1), _rows(frame, n, SLOPE, 1)
    for i in range(n):
        stage[i] = x[i]
    for j in range(n):
        stage[j] = x[j] + math.sqrt(EPS * max(1e-5, abs(x[j])))
        status = rhs(frame, clock, count, clock.t, stage, slope)
        if status != 0:
            return status
        for i in range(n):
            out[i * n + j] = (slope[i] - f[i]) / (stage[j] - x[j])
        stage[j] = x[j]
    return JAC_FAILED if first_not_finite(out) >= 0 else 0


@jit
def _renew(frame: Frame, clock: Clock, count: Count, memory: Memory, flags: Flags) -> int:
    """Evaluate the Jacobian at the start of the step."""
    count.n_jac += 1
    flags.current = flags.usable = 1
    memory.h_factors = 0.0
    n = count.n
    if frame.jac == 0:
        status = _by_differences(frame, clock, count, frame.work[: n * n])
    else:
        status = jacobian(frame, clock, count, frame.jac, frame.jac_args, frame.work[: n * n])
    frame.ints[4 + 2 * n] = leading(frame.work, n)
    return status


@kernel
def step(address: int) -> int:
    """Take one accepted step."""
    frame, clock, count = view(address)
    n, flags = count.n, Flags.at(frame.ints)
    memory = Memory.at(frame.work[4 * n * n :])
    status = _prepare(frame, clock, count, memory, flags)
    if status != 0:
        return status
    h, hit = bounded_step(clock, True)
    whole, patient = h, False
    error, rejected = 0.0, False
    while True:
        status = 0
        if h != memory.h_factors:
            memory.h_factors = h
            status = SINGULAR if _factorise(frame, count, h) != 0 else 0
        if status == 0:
            _guess(frame, n, h, memory.h_last, flags.solved == 1)
            status = _solve(frame, clock, count, memory, flags, h, patient)
        reason = status
        if status == NO_CONVERGENCE and flags.current == 0:
            status = _renew(frame, clock, count, memory, flags)
            if status != 0:
                return status
            continue
        safety = 0.9 * (2 * ITERATIONS + 1) / (2 * ITERATIONS + flags.taken)
        if status == 0:
            error = _error(frame, clock, count, h, rejected)
            reason = UNDERFLOW
            if error <= 1.0:
                break
        if status == NO_CONVERGENCE:
            memory.reach = BELOW * abs(h)
        count.rejected += 1
        rejected = True
        h *= 0.5 if status != 0 or not math.isfinite(error) else max(0.2, safety * _factor(h, error, memory))
        hit = False
        if abs(h) < smallest_step(clock) or (status != 0 and count.bad_status < 0):
            if patient or status != NO_CONVERGENCE or flags.solved == 1:
                return reason
            h, patient = (
                whole,
                True,
            )  # a law that jumps where the step begins: the first correction leads to the other side, the second is no smaller
    slow = flags.taken > 2 and memory.rate > 1e-3
    factor = min(10.0, safety * _factor(h, error, memory))
    if rejected:
        factor = min(factor, 1.0)
    memory.reach *= FORGOTTEN
    factor = min(factor, max(1.0, memory.reach / abs(h)))
    if not slow and factor < 1.2 and not hit:
        factor = 1.0
    flags.usable = 0 if slow else 1
    _take(frame, clock, count, memory, flags, h, error, hit)
    if rejected or abs(h * factor) > abs(clock.h) or factor <= 1.0:
        clock.h = h * factor
    return 0


@kernel
def dense(address: int) -> int:
    """Write the collocation polynomial."""
    frame, clock, count = view(address)
    n = count.n
    x_old, q, coef = frame.x_old, _rows(frame, n, POLYNOMIAL, 3), frame.coef
    for i in range(n):
        coef[i] = x_old[i]
        for m in range(3):
            coef[(m + 1) * n + i] = q[m * n + i]
    count.degree = 3
    clock.centre = clock.t_old
    return 0


def method(name: str = "radau", compiled: bool = True) -> Method:
    """Return the Radau IIA method, or what is known of it before it is compiled."""
    return Method(
        name=name,
        order=5,
        adaptive=True,
        step=step.address if compiled else 0,
        dense=dense.address if compiled else 0,
        constants=np.array([3.0]),
        work=lambda n: 4 * n * n + MEMORY_SIZE + ROWS * n,
        integer_work=lambda n: 2 * n + 1,
        degree=3,
        needs_jacobian=True,
        stiff=True,
    )
