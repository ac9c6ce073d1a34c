"""What the marching loop shares with the search for events: its progress, calls of hooks, and points inside a step."""

from __future__ import annotations

from typing import Any

from jourdain.native.call import address as at
from jourdain.native.call import call
from jourdain.native.kernel import jit
from jourdain.solvers.ode.frame import HOOK_FAILED, Arguments, Clock, Count, Frame, Progress

# What follows an event.
RECORD_ONLY, RESTARTS, ASKS_PYTHON, STOPS_THERE = range(4)
#: How often guards that go beyond zero and come back are looked for within a step.
MOST_DIPS = 2

# What the search for events is asked to do.
ARM, SCAN, CUT, CARRY = range(4)


@jit
def hook(frame: Frame, clock: Clock, count: Count, function: int, arguments: int, t: float, x: Any, out: Any) -> int:
    """Call a user's native function on (t, x, out)."""
    clock.stage_t = t
    args = Arguments.at(arguments)
    args.x, args.out = at(x), at(out)
    status = call(function, args)
    if status != 0:
        clock.t_bad = t
        count.bad_status = status
        return HOOK_FAILED
    return 0


@jit
def point(frame: Frame, clock: Clock, count: Count, progress: Progress, t: float) -> int:
    """Put the state at time t of the last step, on the manifold, into `probe`."""
    n = count.n
    probe = frame.probe
    if t == clock.t:
        x = frame.x
        for i in range(n):
            probe[i] = x[i]
        return 0
    if progress.have_dense == 0:
        status = call(frame.dense, frame)
        if status != 0:
            return status
        progress.have_dense = 1
    degree = count.degree
    coef = frame.coef
    s = (t - clock.centre) / clock.h_used
    for i in range(n):
        value = coef[degree * n + i]
        for k in range(degree - 1, -1, -1):
            value = value * s + coef[k * n + i]
        probe[i] = value
    if frame.project != 0:
        return hook(frame, clock, count, frame.project, frame.project_args, t, frame.probe, frame.probe)
    return 0
