"""The first step size (Hairer, Norsett & Wanner, Solving ODEs I, section II.4)."""

from __future__ import annotations

import math

from jourdain.native.kernel import kernel
from jourdain.solvers.ode.frame import evaluate_here, rhs, view, weight


@kernel
def first_step(address: int) -> int:
    """Set h from the sizes of x, f and the change of f over a small Euler step; constants[0] holds the order."""
    frame, clock, count = view(address)
    n = count.n
    status = evaluate_here(frame, clock, count)
    if status != 0:
        return status
    x, f, tol = frame.x, frame.f, frame.tol
    trial, slope = frame.work, frame.work[n:]
    size = rate = 0.0
    for i in range(n):
        scale = weight(tol, i, x[i], x[i])
        size += (x[i] / scale) ** 2
        rate += (f[i] / scale) ** 2
    size, rate = math.sqrt(size / n), math.sqrt(rate / n)
    left = clock.t_bound - clock.t
    limit = min(abs(left), clock.h_max)
    h = min(1e-6 if size < 1e-5 or rate < 1e-5 else 0.01 * size / rate, limit)
    for i in range(n):
        trial[i] = x[i] + math.copysign(h, left) * f[i]
    curvature = 0.0
    status = rhs(frame, clock, count, clock.t + math.copysign(h, left), trial, slope)
    if status == 0:
        for i in range(n):
            curvature += ((slope[i] - f[i]) / weight(tol, i, x[i], x[i])) ** 2
        curvature = math.sqrt(curvature / n) / h
    order = frame.constants[0]
    largest = max(rate, curvature)
    if not math.isfinite(curvature) or status != 0:
        second = h
    elif largest <= 1e-15:
        second = max(1e-6, 1e-3 * h)
    else:
        second = (0.01 / largest) ** (1.0 / (order + 1.0))
    clock.h = math.copysign(min(100.0 * h, second, limit), left)
    return 0
