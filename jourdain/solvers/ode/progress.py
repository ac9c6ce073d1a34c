"""What the marching loop shares with the search for events: its progress, calls of hooks, and points inside a step."""

from __future__ import annotations

from typing import Any

from jourdain.native.call import call, doubles, words
from jourdain.native.kernel import jit
from jourdain.solvers.ode.frame import (
    BAD_STATUS,
    CENTRE,
    COEF,
    DEGREE,
    DENSE,
    H_USED,
    HOOK_FAILED,
    PROBE,
    PROJECT,
    SELF,
    STAGE_T,
    T_BAD,
    N,
    T,
    X,
)

# Entries of PROGRESS.
ROWS, ROW_LIMIT, SEGMENTS, EVENTS, EVENT_LIMIT, STOP, EVAL, EVALS, STEPS_LEFT, MAX_STEPS = range(10)
KEEP_DENSE, EVERY_STEP, HAVE_DENSE, PROBES, N_GUARDS, WATCHED, FIRED = range(10, 17)
ZENO_RUN, N_Y, FORGET, COEFS, TASK, LAST_FIRED, RESTEP = range(17, 24)
PROGRESS_SIZE = 24

# A row of GUARDS: the guard function, where its values go, what follows, and its action.
GUARD_ROW = 6
GUARD, GUARD_ARGS, OFFSET, MODE, ACTION, ACTION_ARGS = range(GUARD_ROW)
RECORD_ONLY, RESTARTS, ASKS_PYTHON, STOPS_THERE = range(4)

# What the search for events is asked to do.
ARM, SCAN, CUT = range(3)


@jit
def hook(frame: Any, clock: Any, count: Any, address: int, args: int, t: float, x: int, out: int) -> int:
    """Call a user's native function on (t, x, out)."""
    clock[STAGE_T] = t
    slots = words(args, 3)
    slots[1] = x
    slots[2] = out
    status = call(address, args)
    if status != 0:
        clock[T_BAD] = t
        count[BAD_STATUS] = status
        return HOOK_FAILED
    return 0


@jit
def point(frame: Any, clock: Any, count: Any, progress: Any, t: float) -> int:
    """Put the state at time t of the last step, on the manifold, into PROBE."""
    n = count[N]
    probe = doubles(frame[PROBE], n)
    if t == clock[T]:
        x = doubles(frame[X], n)
        for i in range(n):
            probe[i] = x[i]
        return 0
    if progress[HAVE_DENSE] == 0:
        status = call(frame[DENSE], frame[SELF])
        if status != 0:
            return status
        progress[HAVE_DENSE] = 1
    degree = count[DEGREE]
    coef = doubles(frame[COEF], (degree + 1) * n)
    s = (t - clock[CENTRE]) / clock[H_USED]
    for i in range(n):
        value = coef[degree * n + i]
        for k in range(degree - 1, -1, -1):
            value = value * s + coef[k * n + i]
        probe[i] = value
    if frame[PROJECT] != 0:
        return hook(frame, clock, count, frame[PROJECT], frame[PROJECT + 1], t, frame[PROBE], frame[PROBE])
    return 0
