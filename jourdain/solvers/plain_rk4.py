"""The classical Runge–Kutta method of order 4 with a fixed step, as a native loop of its own.

Written directly as IR, it is compiled in milliseconds and needs no other compiler: a first simulation starts at once.
Events, projections, samples and output at given times are the business of the general methods.
"""

from __future__ import annotations

import ctypes
import time
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..native import engine
from .native_function import NativeFunction
from .trajectory import Checkpoint, Segments, Statistics, Trajectory

Array = NDArray[np.float64]

#: One step: y = x + c·k and s = s + w·k for the next stage; rows of x and k₁ go to the table.
_IR = """
define internal void @stage(ptr %y, ptr %x, ptr %k, ptr %s, double %c, double %w, i64 %n) nounwind {
entry:
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%j, %loop]
  %xp = getelementptr double, ptr %x, i64 %i
  %kp = getelementptr double, ptr %k, i64 %i
  %yp = getelementptr double, ptr %y, i64 %i
  %sp = getelementptr double, ptr %s, i64 %i
  %xv = load double, ptr %xp
  %kv = load double, ptr %kp
  %sv = load double, ptr %sp
  %ck = fmul double %c, %kv
  %yv = fadd double %xv, %ck
  store double %yv, ptr %yp
  %wk = fmul double %w, %kv
  %sn = fadd double %sv, %wk
  store double %sn, ptr %sp
  %j = add i64 %i, 1
  %more = icmp slt i64 %j, %n
  br i1 %more, label %loop, label %exit
exit:
  ret void
}
define internal i1 @finite(ptr %x, i64 %n) nounwind {
entry:
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%j, %loop]
  %sum = phi double [0.0, %entry], [%next, %loop]
  %p = getelementptr double, ptr %x, i64 %i
  %v = load double, ptr %p
  %z = fmul double %v, 0.0
  %next = fadd double %sum, %z
  %j = add i64 %i, 1
  %more = icmp slt i64 %j, %n
  br i1 %more, label %loop, label %exit
exit:
  %ok = fcmp oeq double %next, 0.0
  ret i1 %ok
}
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
define i64 @rk4(ptr %f, ptr %args, ptr %clock, ptr %x, ptr %work, i64 %n, double %t0, double %h, i64 %steps, ptr %table) nounwind {
entry:
  %bytes = mul i64 %n, 8
  %y = getelementptr double, ptr %work, i64 0
  %k = getelementptr double, ptr %work, i64 %n
  %n2 = mul i64 %n, 2
  %s = getelementptr double, ptr %work, i64 %n2
  %half = fmul double %h, 0.5
  %sixth = fdiv double %h, 6.0
  br label %loop
loop:
  %step = phi i64 [0, %entry], [%following, %good]
  %count = sitofp i64 %step to double
  %dt = fmul double %count, %h
  %t = fadd double %t0, %dt
  %tm = fadd double %t, %half
  %te = fadd double %t, %h
  call void @llvm.memset.p0.i64(ptr %s, i8 0, i64 %bytes, i1 false)
  call void @llvm.memcpy.p0.p0.i64(ptr %y, ptr %x, i64 %bytes, i1 false)
  store double %t, ptr %clock
  %r1 = call i32 %f(ptr %args)
  %rows = mul i64 %step, %n2
  %row = getelementptr double, ptr %table, i64 %rows
  %slope = getelementptr double, ptr %row, i64 %n
  call void @llvm.memcpy.p0.p0.i64(ptr %row, ptr %x, i64 %bytes, i1 false)
  call void @llvm.memcpy.p0.p0.i64(ptr %slope, ptr %k, i64 %bytes, i1 false)
  %last = icmp sge i64 %step, %steps
  br i1 %last, label %done, label %inner
inner:
  call void @stage(ptr %y, ptr %x, ptr %k, ptr %s, double %half, double 1.0, i64 %n)
  store double %tm, ptr %clock
  %r2 = call i32 %f(ptr %args)
  call void @stage(ptr %y, ptr %x, ptr %k, ptr %s, double %half, double 2.0, i64 %n)
  %r3 = call i32 %f(ptr %args)
  call void @stage(ptr %y, ptr %x, ptr %k, ptr %s, double %h, double 2.0, i64 %n)
  store double %te, ptr %clock
  %r4 = call i32 %f(ptr %args)
  call void @stage(ptr %y, ptr %x, ptr %k, ptr %s, double 0.0, double 1.0, i64 %n)
  call void @stage(ptr %x, ptr %x, ptr %s, ptr %y, double %sixth, double 0.0, i64 %n)
  %s12 = or i32 %r1, %r2
  %s34 = or i32 %r3, %r4
  %status = or i32 %s12, %s34
  %well = icmp eq i32 %status, 0
  %fine = call i1 @finite(ptr %x, i64 %n)
  %both = and i1 %well, %fine
  br i1 %both, label %good, label %bad
good:
  %following = add i64 %step, 1
  br label %loop
bad:
  %failed = sub i64 -1, %step
  ret i64 %failed
done:
  ret i64 %step
}
"""


@cache
def _compiled() -> tuple[Any, Any]:
    library = engine.Library([engine.compile_ir(_IR)])
    p, i, d = ctypes.c_void_p, ctypes.c_int64, ctypes.c_double
    return ctypes.CFUNCTYPE(i, p, p, p, p, p, i, d, d, i, p)(library.address("rk4")), library


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
    kernel, _ = _compiled()
    n = x.size
    clock, work, table = np.zeros(1), np.zeros(3 * n), np.zeros((steps + 1, 2, n))
    args = np.zeros(max(3, rhs.args.size), dtype=np.uintp)
    args[: rhs.args.size] = rhs.args
    args[:3] = clock.ctypes.data, work.ctypes.data, work.ctypes.data + 8 * n
    reached = kernel(rhs.address, args.ctypes.data, clock.ctypes.data, x.ctypes.data, work.ctypes.data, n, t0, h, steps, table.ctypes.data)
    return table, int(reached if reached >= 0 else -1 - reached)


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
