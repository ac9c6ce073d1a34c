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

from ....native.call import call
from ....native.kernel import jit
from ...interruption import in_chunks
from ...native_function import NativeFunction, address
from ..trajectory import Checkpoint, Segments, Statistics, Trajectory

Array = NDArray[np.float64]


#: Weights of the tableau.
SIXTH, THIRD = 1 / 6, 1 / 3


@jit
def _stage(y: Any, x: Any, k: Any, s: Any, c: float, w: float) -> None:
    """y = x + c k for the next stage, and s + w k."""
    for i in range(x.size):
        y[i] = x[i] + c * k[i]
        s[i] += w * k[i]


@jit
def _steps(
    f: int, args: int, clock: Any, x: Any, work: Any, t1: float, step: float, times: Any, table: Any, done: int, pause: int
) -> int:  # fmt: skip
    """Steps to t1 over the grid times[0] + k step after some are done; rows of x and its slope go to the table.  The number of steps done.

    It ends before t1 at the step ``pause``, or earlier where the right-hand side fails.
    Grid and sums are those of the general loop and method, bit for bit.
    """
    n = x.size
    y, k, s = work[:n], work[n : 2 * n], work[2 * n :]
    t = times[done]
    while True:
        row = table[2 * n * done :]
        for i in range(n):
            y[i], s[i] = x[i], x[i]
        clock[0] = t
        status = call(f, args)
        times[done] = t
        for i in range(n):
            row[i], row[n + i] = x[i], k[i]
        if t == t1 or done == pause:
            return done
        hit = abs(step) >= abs(t1 - t) * (1.0 - 1e-9)
        h = t1 - t if hit else times[0] + (done + 1) * step - t
        _stage(y, x, k, s, h * 0.5, h * SIXTH)
        clock[0] = t + 0.5 * h
        status |= call(f, args)
        _stage(y, x, k, s, h * 0.5, h * THIRD)
        status |= call(f, args)
        _stage(y, x, k, s, h, h * THIRD)
        clock[0] = t + h
        status |= call(f, args)
        _stage(y, x, k, s, 0.0, h * SIXTH)
        for i in range(n):
            x[i] = s[i]
            if not math.isfinite(x[i]):
                status = 1
        if status != 0:
            return done
        t = t1 if hit else t + h
        done += 1
        times[done] = t


def plain_rk4(rhs: NativeFunction, t_span: tuple[float, float], x0: Array, step: float, dense: bool) -> Trajectory:
    """Integrates with equal steps, and a shorter one at the end where the span is not a multiple of the step."""
    t0, t1 = t_span
    begun = time.perf_counter()
    n, room = x0.size, int(abs(t1 - t0) / step * (1.0 + 1e-9)) + 3
    x, clock, work = np.array(x0, dtype=np.float64), np.zeros(1), np.zeros(3 * n)
    times, table = np.zeros(room), np.zeros((room, 2, n))
    times[0] = t0
    args = np.zeros(max(3, rhs.args.size), dtype=np.uintp)
    args[: rhs.args.size] = rhs.args
    args[:3] = address(clock), address(work), address(work) + 8 * n
    h = math.copysign(step, t1 - t0)
    given, rows_in_one = (rhs.address, address(args), clock, x, work, t1, h, times), table.ravel()
    done = in_chunks(lambda first, last: _steps(*given, rows_in_one, first, last), room)
    stopped, done = done < 0, done if done >= 0 else -1 - done
    t, rows, slopes = times[: done + 1].copy(), table[: done + 1, 0].copy(), table[: done + 1, 1]
    status = "finished" if t[-1] == t1 else "failed" if stopped else "interrupted"
    message = _failure(rhs, float(t[-1]), rows[-1], h) if status == "failed" else ""
    statistics = Statistics(done, 0, 4 * done + 1, 0, 0, 0, time.perf_counter() - begun)
    segments = _hermite(t, rows, slopes) if dense and done else None
    checkpoint = Checkpoint("rk4", float(t[-1]), rows[-1])
    return Trajectory(t, rows, np.zeros((done + 1, 0)), status, message, statistics, (), checkpoint, segments)


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
    h = t[1:] - t[:-1]
    dx, left, right = x[1:] - x[:-1], h[:, None] * f[:-1], h[:, None] * f[1:]
    coefficients = np.empty((len(h), 4, x.shape[1]))
    coefficients[:, 0], coefficients[:, 1] = x[:-1], left
    coefficients[:, 2], coefficients[:, 3] = 3.0 * dx - 2.0 * left - right, -2.0 * dx + left + right
    return Segments(t[:-1], t[1:], t[:-1], h, coefficients)
