"""A stiffly accurate Rosenbrock method of order 4(3) with six stages (RODAS; Hairer & Wanner, Solving ODEs II, IV.7).

Each stage solves (I/(gamma h) - J) u_i = f(t + c_i h, x + sum_j a_ij u_j) + sum_j (C_ij/h) u_j + h g_i df/dt with the
exact Jacobian of the step's start; x_new = x + sum of a_6j u_j + u_6, and u_6 is the error estimate.
"""

from __future__ import annotations

import math

import numpy as np

from jourdain.native.kernel import jit, kernel
from jourdain.solvers.linear.shifted import leading, shifted_factor, shifted_solve
from jourdain.solvers.ode.frame import (
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

STAGES = 6
GAMMA = 0.25
TIME = (0.0, 0.386, 0.21, 0.63, 1.0, 1.0)
TIME_DERIVATIVE = (0.25, -0.1043, 0.1035, -0.0362, 0.0, 0.0)
_LAST = (1.221224509226641, 6.019134481288629, 12.53708332932087, -0.687886036105895, 1.0)
A = (
    (0.0, 0.0, 0.0, 0.0, 0.0),
    (1.544, 0.0, 0.0, 0.0, 0.0),
    (0.9466785280815826, 0.2557011698983284, 0.0, 0.0, 0.0),
    (3.314825187068521, 2.896124015972201, 0.9986419139977817, 0.0, 0.0),
    (*_LAST[:4], 0.0),
    _LAST,
)
C = (
    (0.0, 0.0, 0.0, 0.0, 0.0),
    (-5.6688, 0.0, 0.0, 0.0, 0.0),
    (-2.430093356833875, -0.2063599157091915, 0.0, 0.0, 0.0),
    (-0.1073529058151375, -9.594562251023355, -20.47028614809616, 0.0, 0.0),
    (7.496443313967647, -10.24680431464352, -33.99990352819905, 11.7089089320616, 0.0),
    (8.083246795921522, -7.981132988064893, -31.52159432874371, 16.31930543123136, -6.058818238834054),
)
DENSE = (
    (10.12623508344586, -7.487995877610167, -34.80091861555747, -7.992771707568823, 1.025137723295662),
    (-0.6762803392801253, 6.087714651680015, 16.43084320892478, 24.76722511418386, -6.594389125716872),
)


@jit
def _stages(frame: Frame, clock: Clock, count: Count, h: float) -> int:
    """Solve the six stages; the new point goes to x, the stages u_i follow the two matrices in `work`."""
    n = count.n
    matrix, lu, pivots, m = frame.work, frame.work[n * n :], frame.ints[4:], frame.ints[4 + n]
    u = frame.work[2 * n * n :]
    dfdt = u[n * STAGES :]
    x, x_old, f = frame.x, frame.x_old, frame.f
    for s in range(STAGES):
        stage = u[n * s : n * (s + 1)]
        if s == 0:
            for i in range(n):
                stage[i] = f[i]
        else:
            for i in range(n):
                x[i] = x_old[i]
                for j in range(s):
                    x[i] += A[s][j] * u[j * n + i]
            status = rhs(frame, clock, count, clock.t + TIME[s] * h, x, stage)
            if status != 0:
                return status
            bad = first_not_finite(stage)
            if bad >= 0:
                count.bad = bad
                clock.t_bad = clock.t + TIME[s] * h
                return NOT_FINITE
        for i in range(n):
            for j in range(s):
                stage[i] += C[s][j] / h * u[j * n + i]
            stage[i] += h * TIME_DERIVATIVE[s] * dfdt[i]
        shifted_solve(matrix, n, m, 1.0 / (GAMMA * h), lu, pivots, stage)
    for i in range(n):
        x[i] += u[5 * n + i]
    return 0


@jit
def _matrix(frame: Frame, count: Count, h: float) -> int:
    """Factorise I/(gamma h) - J."""
    n = count.n
    count.n_lu += 1
    return shifted_factor(frame.work, n, frame.ints[4 + n], 1.0 / (GAMMA * h), frame.work[n * n :], frame.ints[4:])


@jit
def _derivatives(frame: Frame, clock: Clock, count: Count) -> int:
    """Evaluate df/dx and df/dt at the start of the step."""
    n = count.n
    first = 2 * n * n + n * STAGES
    count.n_jac += 1
    status = jacobian(frame, clock, count, frame.jac, frame.jac_args, frame.work[: n * n])
    frame.ints[4 + n] = leading(frame.work, n)
    if status == 0 and frame.dfdt != 0:
        status = jacobian(frame, clock, count, frame.dfdt, frame.dfdt_args, frame.work[first : first + n])
    return status


@kernel
def step(address: int) -> int:
    """Take one accepted step."""
    frame, clock, count = view(address)
    n = count.n
    x, x_old, tol = frame.x, frame.x_old, frame.tol
    u = frame.work[2 * n * n :]
    status = evaluate_here(frame, clock, count)
    if status == 0:
        status = _derivatives(frame, clock, count)
    if status != 0:
        return status
    for i in range(n):
        x_old[i] = x[i]
    h, hit = bounded_step(clock, True)
    rejected = False
    while True:
        error = 0.0
        status = SINGULAR if _matrix(frame, count, h) != 0 else _stages(frame, clock, count, h)
        if status == 0:
            for i in range(n):
                error += (u[5 * n + i] / weight(tol, i, x_old[i], x[i])) ** 2
            error = math.sqrt(error / n)
            if not math.isfinite(error):
                count.bad = max(first_not_finite(x), 0)
                clock.t_bad = clock.t + h
                status = NOT_FINITE
        if status == 0 and error <= 1.0:
            break
        rejected = True
        count.rejected += 1
        h *= 0.25 if status != 0 else max(0.2, 0.9 * error**-0.25)
        hit = False
        if abs(h) < smallest_step(clock) or (status != 0 and count.bad_status < 0):
            for i in range(n):
                x[i] = x_old[i]
            return UNDERFLOW if status == 0 else status
    factor = min(max(0.9 * max(error, 1e-10) ** -0.25, 0.2), 1.0 if rejected else 6.0)
    if rejected or factor < 1.0 or abs(h * factor) > abs(clock.h):
        clock.h = h * factor
    accept(clock, count, h, hit)
    count.fresh = 0
    return 0


@kernel
def dense(address: int) -> int:
    """Write the continuous extension of order 3."""
    frame, clock, count = view(address)
    n = count.n
    u = frame.work[2 * n * n :]
    x_old, coef = frame.x_old, frame.coef
    for i in range(n):
        rise = u[5 * n + i]
        second = third = 0.0
        for j in range(5):
            rise += A[5][j] * u[j * n + i]
            second += DENSE[0][j] * u[j * n + i]
            third += DENSE[1][j] * u[j * n + i]
        coef[i] = x_old[i]
        coef[n + i] = rise + second
        coef[2 * n + i] = third - second
        coef[3 * n + i] = -third
    count.degree = 3
    clock.centre = clock.t_old
    return 0


def method(name: str = "rosenbrock") -> Method:
    """Return the Rosenbrock method."""
    return Method(
        name=name,
        order=4,
        adaptive=True,
        step=step.address,
        dense=dense.address,
        constants=np.array([3.0]),
        work=lambda n: 2 * n * n + (STAGES + 1) * n,
        integer_work=lambda n: n + 1,
        degree=3,
        needs_jacobian=True,
        needs_time_derivative=True,
        stiff=True,
    )
