"""The frame: the block of pointers through which the marching loop and the methods share one integration.

A method is a pair of native functions with the signature `int32_t f(void** frame)`:

* `step` takes one accepted step from (T, X), at most to T_BOUND, and leaves the old point in (T_OLD, X_OLD);
* `dense` writes the interpolant of that step, x(t) = sum_k COEF[k] s^k with s = (t - CENTRE) / H_USED.

They are called by address, so the loop is compiled once and a user of one method never compiles another.
"""

from __future__ import annotations

import math
from typing import Any

from jourdain.native.call import call, doubles, integers, words
from jourdain.native.kernel import hot, jit

# Slots of the frame.
CLOCK, X, X_OLD, F, TOL, COUNT, COEF, WORK, CONST, INTS = range(10)
RHS, RHS_ARGS, JAC, JAC_ARGS, DFDT, DFDT_ARGS, STEP, DENSE = range(10, 18)
PAST_T, PAST_X, PAST_F = range(18, 21)
SELF = 21

# Slots that only the marching loop reads: hooks are pairs (address, arguments).
PROJECT, OUTPUT, DECIDE, REMAP = 24, 26, 28, 30
FIRST, GUARDS, WATCH, SIGN, G, SAMPLERS, STOPS, OWNERS, T_EVAL, ROW_T, ROW_X, ROW_Y = range(32, 44)
SEGMENT, SEGMENT_COEF, EVENT_T, EVENT_WHICH, EVENT_X, PROGRESS, PROBE, WATCHER, SWITCHER = range(44, 53)
GIVEN_STEP, INSTANTS, N_INSTANTS = range(53, 56)  # of given steps: the method's own step, and where to step to
FRAME_SIZE = 56

# Entries of CLOCK. STAGE_T is where the right-hand side reads its time.
T, H, T_OLD, H_USED, T_BOUND, H_MAX, STAGE_T, CENTRE, ERROR_OLD, T_BASE, T_BAD, T_EVENT, T_LAST, DIRECTION = range(14)
CLOCK_SIZE = 16

# Entries of COUNT: size, statistics, then flags.
N, STEPS, REJECTED, N_RHS, N_JAC, N_LU, N_EVENTS, STIFF = range(8)
FRESH, ADAPTIVE, RESTART, BAD, BAD_STATUS, DEGREE, PAST, BEGIN, SINCE_BASE, POSITIONS, REMAPPED = range(8, 19)
COUNT_SIZE = 24

# What a step returns besides 0, and what the marching loop adds.
RHS_FAILED, NOT_FINITE, UNDERFLOW, JAC_FAILED, SINGULAR, NO_CONVERGENCE = range(1, 7)
HOOK_FAILED, ZENO = 7, 8
FINISHED, PAUSED, SAMPLE, EVENT, TERMINAL, EXHAUSTED = range(10, 16)

EPS = 2.220446049250313e-16
TINY = 1e-100


@hot
def view(address: int) -> Any:
    """View the frame at `address` with its clock and its counters."""
    frame = words(address, FRAME_SIZE)
    return frame, doubles(frame[CLOCK], CLOCK_SIZE), integers(frame[COUNT], COUNT_SIZE)


@hot
def rhs(frame: Any, clock: Any, count: Any, t: float, x: int, f: int) -> int:
    """Evaluate f(t, x) between the vectors at addresses `x` and `f`; 0 when all went well."""
    clock[STAGE_T] = t
    args = words(frame[RHS_ARGS], 3)
    args[1] = x
    args[2] = f
    count[N_RHS] += 1
    status = call(frame[RHS], frame[RHS_ARGS])
    if status != 0:
        clock[T_BAD] = t
        count[BAD_STATUS] = status
        return RHS_FAILED
    return 0


@hot
def first_not_finite(values: Any) -> int:
    """Return the index of the first NaN or infinity, or -1."""
    for i in range(values.size):
        if not math.isfinite(values[i]):
            return i
    return -1


@hot
def evaluate_here(frame: Any, clock: Any, count: Any) -> int:
    """Make F = f(T, X) unless it is already; report the first component that is not finite."""
    if count[FRESH] == 1:
        return 0
    status = rhs(frame, clock, count, clock[T], frame[X], frame[F])
    if status != 0:
        return status
    bad = first_not_finite(doubles(frame[F], count[N]))
    if bad >= 0:
        clock[T_BAD] = clock[T]
        count[BAD] = bad
        return NOT_FINITE
    count[FRESH] = 1
    return 0


@jit
def jacobian(frame: Any, clock: Any, count: Any, slot: int, out: int, size: int) -> int:
    """Evaluate df/dx (slot JAC) or df/dt (slot DFDT) at (T, X) into the `size` numbers at address `out`."""
    clock[STAGE_T] = clock[T]
    args = words(frame[slot + 1], 3)
    args[1] = frame[X]
    args[2] = out
    status = call(frame[slot], frame[slot + 1])
    if status != 0 or first_not_finite(doubles(out, size)) >= 0:
        clock[T_BAD] = clock[T]
        count[BAD_STATUS] = status
        return JAC_FAILED
    return 0


@hot
def bounded_step(clock: Any, adaptive: bool) -> Any:
    """Return the next step and whether it ends exactly at T_BOUND; no sliver is left before the bound."""
    h = clock[H]
    if abs(h) > clock[H_MAX]:
        h = math.copysign(clock[H_MAX], h)
    left = clock[T_BOUND] - clock[T]
    if abs(h) >= abs(left) * (1.0 - 1e-9):
        return left, True
    if adaptive and abs(h) > 0.5 * abs(left):
        return 0.5 * left, False
    return h, False


@hot
def fixed_step(clock: Any, count: Any) -> Any:
    """Return the step to the next point of the grid T_BASE + k H, so that times do not drift by rounding."""
    h, hit = bounded_step(clock, False)
    if hit:
        return h, True
    if count[RESTART] == 1:
        clock[T_BASE] = clock[T]
        count[SINCE_BASE] = 0
    count[SINCE_BASE] += 1
    h = clock[T_BASE] + count[SINCE_BASE] * clock[H] - clock[T]
    if h / clock[H] < 1e-9:  # earlier runs have ended at this point of the grid, and at others before it
        count[SINCE_BASE] = math.floor((clock[T] - clock[T_BASE]) / clock[H] + 1e-9) + 1
        h = clock[T_BASE] + count[SINCE_BASE] * clock[H] - clock[T]
    return h, False


@hot
def spoiled(frame: Any, clock: Any, count: Any, t: float) -> int:
    """Undo a fixed step and report the first component of X that is not finite, if there is one."""
    x, x_old = doubles(frame[X], count[N]), doubles(frame[X_OLD], count[N])
    bad = first_not_finite(x)
    if bad < 0:
        return 0
    for i in range(count[N]):
        x[i] = x_old[i]
    clock[T_BAD] = t
    count[BAD] = bad
    return NOT_FINITE


@hot
def smallest_step(clock: Any) -> float:
    """Return the step size below which t + h loses its meaning."""
    return max(4.0 * EPS * abs(clock[T]), TINY)


@hot
def weight(tol: Any, i: int, a: float, b: float) -> float:
    """Return the error scale atol_i + rtol max(|a|, |b|) of component i."""
    return tol[i + 1] + tol[0] * max(abs(a), abs(b))


@hot
def accept(clock: Any, count: Any, h: float, hit: bool) -> None:
    """Move the clock by h after a step was accepted."""
    clock[T_OLD] = clock[T]
    clock[T] = clock[T_BOUND] if hit else clock[T] + h
    clock[H_USED] = h
    count[STEPS] += 1
    count[RESTART] = 0


@jit
def hermite(frame: Any, clock: Any, count: Any, f_old: Any, f_new: Any) -> None:
    """Write the cubic with the values and slopes of both ends of the step into COEF."""
    n = count[N]
    x_old, x, coef = doubles(frame[X_OLD], n), doubles(frame[X], n), doubles(frame[COEF], 4 * n)
    h = clock[H_USED]
    for i in range(n):
        rise, start, end = x[i] - x_old[i], h * f_old[i], h * f_new[i]
        coef[i] = x_old[i]
        coef[n + i] = start
        coef[2 * n + i] = 3.0 * rise - 2.0 * start - end
        coef[3 * n + i] = start + end - 2.0 * rise
    count[DEGREE] = 3
    clock[CENTRE] = clock[T_OLD]
