"""Fixed-step methods for second-order systems x = [q, v] (Hairer, Lubich & Wanner, Geometric Integration, I.3).

With `positions` given, dq/dt is taken from the right-hand side (q and v may differ in size); otherwise dq/dt = v.  Where it differs from v by quaternions alone, these
are turned by q ∘ exp(h ω), which asks the right-hand side for nothing.
"""

from __future__ import annotations

import numpy as np

from jourdain.errors import InputError
from jourdain.native.kernel import hot, kernel
from jourdain.solvers.ode.frame import Clock, Count, Frame, accept, evaluate_here, fixed_step, hermite, rhs, spoiled, view
from jourdain.solvers.ode.method import Method
from jourdain.solvers.ode.rotation import displaced, position_rates


@hot
def _open(frame: Frame, clock: Clock, count: Count) -> int:
    """Evaluate the slope and keep point and slope as the old ones."""
    n = count.n
    status = evaluate_here(frame, clock, count)
    x, x_old, f, kept = frame.x, frame.x_old, frame.f, frame.work
    for i in range(n):
        x_old[i] = x[i]
        kept[i] = f[i]
    return status


@kernel
def euler_step(address: int) -> int:
    """v_new = v + h a(q, v), q_new = q + h dq/dt(q, v_new)."""
    frame, clock, count = view(address)
    n, nq = count.n, count.positions
    status = _open(frame, clock, count)
    if status != 0:
        return status
    h, hit = fixed_step(clock, count)
    x, x_old, rate = frame.x, frame.x_old, frame.work[n:]
    slope = frame.work
    half = n // 2 if nq == 0 else nq
    for i in range(half, n):
        x[i] += h * slope[i]
    if nq == 0:
        for i in range(half):
            x[i] += h * x[half + i]
    elif frame.turning.size > 0:
        displaced(x_old, nq, frame.turning[1:], x[nq:], h, x)
    else:
        status = rhs(frame, clock, count, clock.t, x, rate)
        for i in range(half):
            x[i] += h * rate[i]
    if status == 0:
        status = spoiled(frame, clock, count, clock.t + h)
    if status != 0:
        return status
    accept(clock, count, h, hit)
    count.fresh = 0
    return 0


@kernel
def euler_dense(address: int) -> int:
    """Interpolate linearly, as exact as the method itself."""
    frame, clock, count = view(address)
    n = count.n
    x_old, x, coef = frame.x_old, frame.x, frame.coef
    for i in range(n):
        coef[i] = x_old[i]
        coef[n + i] = x[i] - x_old[i]
    count.degree = 1
    clock.centre = clock.t_old
    return 0


@kernel
def verlet_step(address: int) -> int:
    """v_half = v + h/2 a, q_new = q + h dq/dt(v_half), v_new = v_half + h/2 a(q_new, v + h a)."""
    frame, clock, count = view(address)
    n, nq = count.n, count.positions
    status = _open(frame, clock, count)
    if status != 0:
        return status
    h, hit = fixed_step(clock, count)
    x, x_old, f = frame.x, frame.x_old, frame.f
    slope, rate = frame.work, frame.work[n:]
    half = n // 2 if nq == 0 else nq
    for i in range(half, n):
        x[i] += 0.5 * h * slope[i]
    if nq == 0:
        for i in range(half):
            x[i] += h * x[half + i]
    elif frame.turning.size > 0:
        displaced(x_old, nq, frame.turning[1:], x[nq:], h, x)
    else:
        for step in (0.5 * h, h):
            if status == 0:
                status = rhs(frame, clock, count, clock.t + step - 0.5 * h, x, rate)
            for i in range(half):
                x[i] = x_old[i] + step * rate[i]
    for i in range(half, n):
        x[i] = x_old[i] + h * slope[i]
    if status == 0:
        status = rhs(frame, clock, count, clock.t + h, x, f)
    for i in range(half, n):
        x[i] = x_old[i] + 0.5 * h * (slope[i] + f[i])
    if nq == 0:
        for i in range(half):
            f[i] = x[half + i]
    elif frame.turning.size > 0:
        position_rates(nq, frame.turning.size // 2, frame.turning[1:], x, x[nq:], f)
    if status == 0:
        status = spoiled(frame, clock, count, clock.t + h)
    if status != 0:
        return status
    accept(clock, count, h, hit)
    count.fresh = 1
    return 0


@kernel
def verlet_dense(address: int) -> int:
    """Write the cubic through both ends."""
    frame, clock, count = view(address)
    status = evaluate_here(frame, clock, count)
    hermite(frame, clock, count, frame.work, frame.f)
    return status


def method(name: str) -> Method:
    """Return "semi-implicit-euler" or "velocity-verlet"."""
    kernels = {"semi-implicit-euler": (1, euler_step, euler_dense), "velocity-verlet": (2, verlet_step, verlet_dense)}
    if name not in kernels:
        raise InputError(f"method '{name}' is unknown; choose one of {', '.join(kernels)}")
    order, step, dense = kernels[name]
    return Method(
        name=name,
        order=order,
        adaptive=False,
        step=step.address,
        dense=dense.address,
        constants=np.array([float(order)]),
        work=lambda n: 2 * n,
        degree=3,
        second_order=True,
    )
