"""Linearly implicit methods of constant cost: one Jacobian, one factorisation, no iteration, a fixed step; both L-stable.

"linearly-implicit-euler" (order 1): (I − h J) k = f + h ∂f/∂t, x⁺ = x + h k (Deuflhard & Bornemann, Scientific Computing with ODEs, 6.4).

"rosenbrock2" (order 2, whatever matrix stands for J): ROS2 of Verwer, Spee, Blom & Hundsdorfer, SIAM J. Sci. Comput. 20 (1999) 1456,

    (I − γhJ) k₁ = f(t, x) + γh ∂f/∂t,   (I − γhJ) k₂ = f(t + h, x + h k₁) − 2 k₁ − γh ∂f/∂t,   x⁺ = x + h (3 k₁ + k₂)/2

with γ = 1 − 1/√2.  What a step costs does not depend on the motion: they serve where a deadline has to be met.
"""

from __future__ import annotations

import math

import numpy as np

from jourdain.native.kernel import jit, kernel
from jourdain.solvers.linear.dense import lu_factor, lu_solve
from jourdain.solvers.ode.frame import (
    SINGULAR,
    Clock,
    Count,
    Frame,
    accept,
    evaluate_here,
    fixed_step,
    jacobian,
    rhs,
    spoiled,
    view,
)
from jourdain.solvers.ode.method import Method

# Entries of CONST behind the order: γ and how many stages there are.
GAMMA, STAGES = 1, 2


@jit
def _factors(frame: Frame, clock: Clock, count: Count, rate: float) -> int:
    """Factorise I/(γh) − J in place at the beginning of `work` (rate = 1/(γh)); γh ∂f/∂t goes behind it."""
    n = count.n
    matrix, drift = frame.work[: n * n], frame.work[n * n : n * n + n]
    count.n_jac += 1
    status = jacobian(frame, clock, count, frame.jac, frame.jac_args, matrix)
    if status == 0 and frame.dfdt != 0:
        status = jacobian(frame, clock, count, frame.dfdt, frame.dfdt_args, drift)
    if status != 0:
        return status
    for i in range(n):
        drift[i] /= rate
    for i in range(n * n):
        matrix[i] = -matrix[i]
    for i in range(n):
        matrix[i * n + i] += rate
    count.n_lu += 1
    return SINGULAR if lu_factor(matrix, n, frame.ints[4:]) != 0 else 0


@kernel
def step(address: int) -> int:
    """Take one step; h k₁ and h k₂ are left in `work` for the interpolant."""
    frame, clock, count = view(address)
    n = count.n
    gamma, two = frame.constants[GAMMA], frame.constants[STAGES] == 2.0
    matrix, drift, pivots = frame.work[: n * n], frame.work[n * n : n * n + n], frame.ints[4:]
    first, second = frame.work[n * n + n : n * n + 2 * n], frame.work[n * n + 2 * n : n * n + 3 * n]
    x, x_old, f = frame.x, frame.x_old, frame.f
    status = evaluate_here(frame, clock, count)
    if status != 0:
        return status
    h, hit = fixed_step(clock, count)
    rate = 1.0 / (gamma * h)
    status = _factors(frame, clock, count, rate)
    if status != 0:
        return status
    for i in range(n):
        x_old[i] = x[i]
        first[i] = f[i] + drift[i]
        second[i] = 0.0
    lu_solve(matrix, n, pivots, first)
    for i in range(n):
        first[i] /= gamma
        x[i] = x_old[i] + first[i]
    if two:
        status = rhs(frame, clock, count, clock.t + h, x, second)
        if status != 0:
            for i in range(n):
                x[i] = x_old[i]
            return status
        for i in range(n):
            second[i] -= 2.0 * first[i] / h + drift[i]
        lu_solve(matrix, n, pivots, second)
        for i in range(n):
            second[i] /= gamma
            x[i] = x_old[i] + 0.5 * (3.0 * first[i] + second[i])
    status = spoiled(frame, clock, count, clock.t + h)
    if status != 0:
        return status
    accept(clock, count, h, hit)
    count.fresh = 0
    return 0


@kernel
def dense(address: int) -> int:
    """Write the interpolant of the method's own order, which is as well damped as the step itself.

    x(t + θh) = x + h (b₁ k₁ + b₂ k₂) is of order 2 with b₁ − b₂ = θ and γ b₁ + (1 − 3γ) b₂ = θ²/2.
    """
    frame, clock, count = view(address)
    n, gamma = count.n, frame.constants[GAMMA]
    first, second = frame.work[n * n + n : n * n + 2 * n], frame.work[n * n + 2 * n : n * n + 3 * n]
    x_old, coef = frame.x_old, frame.coef
    part = 0.0 if frame.constants[STAGES] == 1.0 else 1.0 / (1.0 - 2.0 * gamma)
    for i in range(n):
        both = part * (first[i] + second[i])
        coef[i] = x_old[i]
        coef[n + i] = first[i] - gamma * both
        coef[2 * n + i] = 0.5 * both
    count.degree = 2
    clock.centre = clock.t_old
    return 0


def method(name: str) -> Method:
    """Return one of the two methods."""
    order, gamma = (1, 1.0) if name == "linearly-implicit-euler" else (2, 1.0 - 1.0 / math.sqrt(2.0))
    return Method(
        name=name,
        order=order,
        adaptive=False,
        step=step.address,
        dense=dense.address,
        constants=np.array([float(order), gamma, float(order)]),
        work=lambda n: n * n + 3 * n,
        integer_work=lambda n: n,
        degree=2,
        needs_jacobian=True,
        needs_time_derivative=True,
        stiff=True,
    )
