"""The classical Runge–Kutta method of order 4 with a fixed step, as a native loop of its own.

It is compiled in a moment, so that a first simulation starts at once.
Events, projections, samples and output at given times are the business of the general methods.
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...native.call import call
from ...native.kernel import jit
from ..native_function import NativeFunction
from .trajectory import Checkpoint, Segments, Statistics, Trajectory

Array = NDArray[np.float64]


@jit
def _stage(y: Any, x: Any, k: Any, s: Any, c: float, w: float) -> None:
    """y = x + c k for the next stage, and s + w k."""
    for i in range(x.size):
        y[i] = x[i] + c * k[i]
        s[i] += w * k[i]


@jit
def _steps(f: int, args: int, clock: Any, x: Any, work: Any, t0: float, h: float, steps: int, table: Any) -> int:
    """Equal steps from x; rows of x and its slope go to the table.  The number of steps done."""
    n = x.size
    y, k, s = work[:n], work[n : 2 * n], work[2 * n :]
    for step in range(steps + 1):
        t, row = t0 + step * h, table[2 * n * step :]
        for i in range(n):
            y[i], s[i] = x[i], 0.0
        clock[0] = t
        status = call(f, args)
        for i in range(n):
            row[i], row[n + i] = x[i], k[i]
        if step == steps:
            return steps
        _stage(y, x, k, s, 0.5 * h, 1.0)
        clock[0] = t + 0.5 * h
        status |= call(f, args)
        _stage(y, x, k, s, 0.5 * h, 2.0)
        status |= call(f, args)
        _stage(y, x, k, s, h, 2.0)
        clock[0] = t + h
        status |= call(f, args)
        _stage(y, x, k, s, 0.0, 1.0)
        for i in range(n):
            x[i] += h / 6.0 * s[i]
            if not math.isfinite(x[i]):
                status = 1
        if status != 0:
            return step
    return steps


def plain_rk4(rhs: NativeFunction, t_span: tuple[float, float], x0: Array, step: float, dense: bool) -> Trajectory:
    """Integrates with equal steps, and a shorter one at the end where the span is not a multiple of the step."""
    t0, t1 = t_span
    h = float(np.copysign(step, t1 - t0))
    whole = int((t1 - t0) / h * (1.0 + 1e-12))
    rest = t1 - (t0 + whole * h)
    begun = time.perf_counter()
    times, tables, ok = [], [], True
    start, x = t0, np.array(x0, dtype=np.float64)
    for steps, size in ((whole, h), (1, rest)):
        if not steps or abs(size) <= 1e-12 * abs(h) or not ok:
            continue
        table, done = _march(rhs, start, x, size, steps)
        ok = done == steps
        times.append(start + size * np.arange(done + 1))
        tables.append(table[: done + 1])
        start = float(times[-1][-1])
    # the last row of a part is the first of the next
    t = np.concatenate([part[:-1] for part in times[:-1]] + [times[-1]])
    both = np.concatenate([part[:-1] for part in tables[:-1]] + [tables[-1]])
    rows, slopes = both[:, 0].copy(), both[:, 1]
    if ok:
        t[-1] = t1
    message = "" if ok else _failure(rhs, float(t[-1]), rows[-1], h)
    done = len(t) - 1
    statistics = Statistics(done, 0, 4 * done + len(times), 0, 0, 0, time.perf_counter() - begun)
    segments = _hermite(t, rows, slopes) if dense and done else None
    checkpoint = Checkpoint("rk4", float(t[-1]), rows[-1], {})
    return Trajectory(t, rows, np.zeros((done + 1, 0)), "finished" if ok else "failed", message, statistics, (), checkpoint, segments)


def _march(rhs: NativeFunction, t0: float, x: Array, h: float, steps: int) -> tuple[Array, int]:
    """Table of states and slopes and the steps done; x is moved on in place."""
    n = x.size
    clock, work, table = np.zeros(1), np.zeros(3 * n), np.zeros((steps + 1, 2, n))
    args = np.zeros(max(3, rhs.args.size), dtype=np.uintp)
    args[: rhs.args.size] = rhs.args
    args[:3] = clock.ctypes.data, work.ctypes.data, work.ctypes.data + 8 * n
    return table, _steps(rhs.address, args.ctypes.data, clock, x, work, t0, h, steps, table.ravel())


def _failure(rhs: NativeFunction, t: float, x: Array, h: float) -> str:
    out = np.zeros_like(x)
    status = rhs(t, x, out)
    bad = np.flatnonzero(~np.isfinite(out))
    if len(bad):
        return f"component {bad[0]} of the right-hand side is not finite at t = {t:.9g} s"
    if status:
        return f"the right-hand side failed with status {status} at t = {t:.9g} s"
    return f"the state grew beyond all bounds in the step after t = {t:.9g} s: take a smaller step than {abs(h):g} s, or method='radau'"


def _hermite(t: Array, x: Array, f: Array) -> Segments:
    """Cubic interpolants x = Σ cₖ sᵏ of every step, s = (t − t_n)/h."""
    h = np.diff(t)
    dx, left, right = x[1:] - x[:-1], h[:, None] * f[:-1], h[:, None] * f[1:]
    coefficients = np.stack([x[:-1], left, 3.0 * dx - 2.0 * left - right, -2.0 * dx + left + right], axis=1)
    return Segments(t[:-1], t[1:], t[:-1], h, coefficients)
