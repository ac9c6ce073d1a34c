"""The Radau IIA method of order 5 with three implicit stages (RADAU5; Hairer & Wanner, Solving ODEs II, IV.8).

Simplified Newton iterations in the basis that splits the stage equations into one real and one complex system; the
Jacobian is kept while they converge fast, the factors while the step stays; error and step prediction as in the book.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jourdain.native.call import complexes, doubles, integers
from jourdain.native.kernel import hot, jit, kernel
from jourdain.solvers.linear.dense import lu_factor, lu_solve
from jourdain.solvers.ode.frame import (
    BAD,
    BAD_STATUS,
    CENTRE,
    COEF,
    DEGREE,
    EPS,
    FRESH,
    INTS,
    JAC,
    N_JAC,
    N_LU,
    NO_CONVERGENCE,
    NOT_FINITE,
    REJECTED,
    REMAPPED,
    RESTART,
    SINGULAR,
    T_BAD,
    T_OLD,
    TOL,
    UNDERFLOW,
    WORK,
    X_OLD,
    F,
    H,
    N,
    T,
    X,
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
# Numbers kept between steps: step of the factors, last step and its error, rate of convergence.
H_FACTORS, H_LAST, ERROR_LAST, RATE, MEMORY_SIZE = range(5)
# Integers: Jacobian evaluated here, Jacobian usable, interpolant usable, iterations of the last solve.
CURRENT, USABLE, SOLVED, TAKEN = range(4)
# Rows of n numbers after the matrices and the memory.
Z, W, SLOPE, POLYNOMIAL, STAGE, RESIDUAL, PAIR, ROWS = 0, 3, 6, 9, 12, 13, 14, 16


@hot
def _rows(frame: Any, n: int, row: int, number: int) -> Any:
    """View `number` rows of the workspace from `row` on."""
    return doubles(_address(frame, n, row), number * n)


@hot
def _address(frame: Any, n: int, row: int) -> int:
    """Return the address of a row of the workspace."""
    return frame[WORK] + 8 * (4 * n * n + MEMORY_SIZE + row * n)


@jit
def _factorise(frame: Any, count: Any, h: float) -> int:
    """Factorise MU/h I - J and MU_COMPLEX/h I - J."""
    n = count[N]
    matrix, lu = doubles(frame[WORK], n * n), doubles(frame[WORK] + 8 * n * n, n * n)
    lu_complex = complexes(frame[WORK] + 16 * n * n, n * n)
    for i in range(n * n):
        lu[i] = -matrix[i]
        lu_complex[i] = -matrix[i]
    for i in range(n):
        lu[i * n + i] += MU / h
        lu_complex[i * n + i] += MU_COMPLEX / h
    count[N_LU] += 2
    status = lu_factor(lu, n, integers(frame[INTS] + 32, n))
    if status == 0:
        status = lu_factor(lu_complex, n, integers(frame[INTS] + 32 + 8 * n, n))
    return status


@jit
def _guess(frame: Any, n: int, h: float, h_last: float, known: bool) -> None:
    """Start the stages from the last interpolant, or from zero, and transform them."""
    z, w, q = _rows(frame, n, Z, 3), _rows(frame, n, W, 3), _rows(frame, n, POLYNOMIAL, 3)
    x, x_old = doubles(frame[X], n), doubles(frame[X_OLD], n)
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
def _slopes(frame: Any, clock: Any, count: Any, h: float) -> int:
    """Evaluate f at the three stages."""
    n = count[N]
    x, stage, z = doubles(frame[X], n), _rows(frame, n, STAGE, 1), _rows(frame, n, Z, 3)
    for s in range(3):
        for i in range(n):
            stage[i] = x[i] + z[s * n + i]
        t = clock[T] + NODE[s] * h
        status = rhs(frame, clock, count, t, _address(frame, n, STAGE), _address(frame, n, SLOPE + s))
        if status != 0:
            return status
        bad = first_not_finite(_rows(frame, n, SLOPE + s, 1))
        if bad >= 0:
            count[BAD] = bad
            clock[T_BAD] = t
            return NOT_FINITE
    return 0


@jit
def _correct(frame: Any, n: int, h: float) -> float:
    """Do one simplified Newton correction of the stages and return its size over the tolerance."""
    z, w, slope = _rows(frame, n, Z, 3), _rows(frame, n, W, 3), _rows(frame, n, SLOPE, 3)
    real, pair = _rows(frame, n, RESIDUAL, 1), complexes(_address(frame, n, PAIR), n)
    x, tol = doubles(frame[X], n), doubles(frame[TOL], n + 1)
    for i in range(n):
        g0 = g1 = g2 = 0.0
        for s in range(3):
            g0 += FROM_STAGES[0][s] * slope[s * n + i]
            g1 += FROM_STAGES[1][s] * slope[s * n + i]
            g2 += FROM_STAGES[2][s] * slope[s * n + i]
        real[i] = g0 - MU / h * w[i]
        pair[i] = complex(g1, g2) - MU_COMPLEX / h * complex(w[n + i], w[2 * n + i])
    lu_solve(doubles(frame[WORK] + 8 * n * n, n * n), n, integers(frame[INTS] + 32, n), real)
    lu_solve(complexes(frame[WORK] + 16 * n * n, n * n), n, integers(frame[INTS] + 32 + 8 * n, n), pair)
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
def _solve(frame: Any, clock: Any, count: Any, memory: Any, ints: Any, h: float) -> int:
    """Iterate the stages to convergence: 0, NO_CONVERGENCE, or the status of the right-hand side."""
    n, rtol = count[N], doubles(frame[TOL], 1)[0]
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
            if rate >= 1.0 or rate ** (ITERATIONS - 1 - k) / (1.0 - rate) * size > target:
                return NO_CONVERGENCE
        ints[TAKEN], memory[RATE] = k + 1, rate
        if size == 0.0 or (k > 0 and rate / (1.0 - rate) * size < target):
            return 0
        last = size
    return NO_CONVERGENCE


@jit
def _error(frame: Any, clock: Any, count: Any, h: float, again: bool) -> float:
    """Return the error of the step over its tolerance, filtered once more if the step was rejected before."""
    n = count[N]
    x, f, tol = doubles(frame[X], n), doubles(frame[F], n), doubles(frame[TOL], n + 1)
    z, e, stage = _rows(frame, n, Z, 3), _rows(frame, n, RESIDUAL, 1), _rows(frame, n, STAGE, 1)
    slope, lu = _rows(frame, n, SLOPE, 1), doubles(frame[WORK] + 8 * n * n, n * n)
    result = 0.0
    for attempt in range(2):
        for i in range(n):
            known = f[i] if attempt == 0 else slope[i]
            e[i] = known + (ERROR[0] * z[i] + ERROR[1] * z[n + i] + ERROR[2] * z[2 * n + i]) / h
        lu_solve(lu, n, integers(frame[INTS] + 32, n), e)
        result = 0.0
        for i in range(n):
            stage[i] = x[i] + e[i]
            result += (e[i] / weight(tol, i, x[i], x[i] + z[2 * n + i])) ** 2
        result = math.sqrt(result / n)
        if result <= 1.0 or not again or attempt == 1:
            break
        if rhs(frame, clock, count, clock[T], _address(frame, n, STAGE), _address(frame, n, SLOPE)) != 0:
            break
    return result


@hot
def _factor(h: float, error: float, memory: Any) -> float:
    """Predict the change of step from this error and the last accepted one."""
    multiplier = 1.0
    error = max(error, 1e-10)
    if memory[ERROR_LAST] > 0.0:
        multiplier = abs(h / memory[H_LAST]) * (memory[ERROR_LAST] / error) ** 0.25
    return min(1.0, multiplier) * error**-0.25


@jit
def _take(frame: Any, clock: Any, count: Any, memory: Any, ints: Any, h: float, error: float, hit: bool) -> None:
    """Move to the new point and keep the interpolant."""
    n = count[N]
    x, x_old = doubles(frame[X], n), doubles(frame[X_OLD], n)
    z, q = _rows(frame, n, Z, 3), _rows(frame, n, POLYNOMIAL, 3)
    for i in range(n):
        for m in range(3):
            q[m * n + i] = z[i] * INTERPOLANT[0][m] + z[n + i] * INTERPOLANT[1][m] + z[2 * n + i] * INTERPOLANT[2][m]
        x_old[i] = x[i]
        x[i] += z[2 * n + i]
    memory[H_LAST], memory[ERROR_LAST] = h, max(error, 1e-10)
    ints[SOLVED] = 1
    accept(clock, count, h, hit)
    count[FRESH] = 0


@jit
def _prepare(frame: Any, clock: Any, count: Any, memory: Any, ints: Any) -> int:
    """Evaluate what the step needs at its start."""
    status = evaluate_here(frame, clock, count)
    if count[RESTART] == 1 or count[REMAPPED] == 1:
        ints[USABLE] = ints[SOLVED] = 0
        memory[ERROR_LAST] = 0.0
        count[REMAPPED] = 0
    ints[CURRENT] = 0
    if status == 0 and ints[USABLE] == 0:
        return _renew(frame, clock, count, memory, ints)
    return status


@jit
def _renew(frame: Any, clock: Any, count: Any, memory: Any, ints: Any) -> int:
    """Evaluate the Jacobian at the start of the step."""
    count[N_JAC] += 1
    ints[CURRENT] = ints[USABLE] = 1
    memory[H_FACTORS] = 0.0
    return jacobian(frame, clock, count, JAC, frame[WORK], count[N] * count[N])


@kernel
def step(address: int) -> int:
    """Take one accepted step."""
    frame, clock, count = view(address)
    n, ints = count[N], integers(frame[INTS], 4)
    memory = doubles(frame[WORK] + 32 * n * n, MEMORY_SIZE)
    status = _prepare(frame, clock, count, memory, ints)
    if status != 0:
        return status
    h, hit = bounded_step(clock, True)
    error, rejected = 0.0, False
    while True:
        status = 0
        if h != memory[H_FACTORS]:
            memory[H_FACTORS] = h
            status = SINGULAR if _factorise(frame, count, h) != 0 else 0
        if status == 0:
            _guess(frame, n, h, memory[H_LAST], ints[SOLVED] == 1)
            status = _solve(frame, clock, count, memory, ints, h)
        reason = status
        if status == NO_CONVERGENCE and ints[CURRENT] == 0:
            status = _renew(frame, clock, count, memory, ints)
            if status != 0:
                return status
            continue
        safety = 0.9 * (2 * ITERATIONS + 1) / (2 * ITERATIONS + ints[TAKEN])
        if status == 0:
            error = _error(frame, clock, count, h, rejected)
            reason = UNDERFLOW
            if error <= 1.0:
                break
        count[REJECTED] += 1
        rejected = True
        h *= 0.5 if status != 0 or not math.isfinite(error) else max(0.2, safety * _factor(h, error, memory))
        hit = False
        if abs(h) < smallest_step(clock) or (status != 0 and count[BAD_STATUS] < 0):
            return reason
    slow = ints[TAKEN] > 2 and memory[RATE] > 1e-3
    factor = min(10.0, safety * _factor(h, error, memory))
    if not slow and factor < 1.2 and not hit:
        factor = 1.0
    ints[USABLE] = 0 if slow else 1
    _take(frame, clock, count, memory, ints, h, error, hit)
    if rejected or abs(h * factor) > abs(clock[H]) or factor <= 1.0:
        clock[H] = h * factor
    return 0


@kernel
def dense(address: int) -> int:
    """Write the collocation polynomial."""
    frame, clock, count = view(address)
    n = count[N]
    x_old, q, coef = doubles(frame[X_OLD], n), _rows(frame, n, POLYNOMIAL, 3), doubles(frame[COEF], 4 * n)
    for i in range(n):
        coef[i] = x_old[i]
        for m in range(3):
            coef[(m + 1) * n + i] = q[m * n + i]
    count[DEGREE] = 3
    clock[CENTRE] = clock[T_OLD]
    return 0


def method(name: str = "radau") -> Method:
    """Return the Radau IIA method."""
    return Method(
        name=name,
        order=5,
        adaptive=True,
        step=step.address,
        dense=dense.address,
        constants=np.array([3.0]),
        work=lambda n: 4 * n * n + MEMORY_SIZE + ROWS * n,
        integer_work=lambda n: 2 * n,
        degree=3,
        needs_jacobian=True,
        stiff=True,
    )
