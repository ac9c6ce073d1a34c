"""The marching loop: steps, projection, events, samples, coordinate switches and output, without leaving native code.

It is compiled once for all methods, which it calls by address, and returns to Python only to pause, to let Python act
at a sample or an event, or because the integration has ended.
"""

from __future__ import annotations

from typing import Any

from jourdain.native.call import call, doubles, integers, words
from jourdain.native.kernel import hot, jit, kernel
from jourdain.solvers.ode.frame import (
    BEGIN,
    CENTRE,
    COEF,
    DECIDE,
    DEGREE,
    DENSE,
    DIRECTION,
    ERROR_OLD,
    EXHAUSTED,
    FINISHED,
    FIRST,
    FRESH,
    H_USED,
    OUTPUT,
    OWNERS,
    PAST,
    PAUSED,
    PROBE,
    PROGRESS,
    PROJECT,
    RESTART,
    ROW_T,
    ROW_X,
    ROW_Y,
    SAMPLE,
    SAMPLERS,
    SEGMENT,
    SEGMENT_COEF,
    SELF,
    STEP,
    STEPS,
    STOPS,
    SWITCHER,
    T_BOUND,
    T_EVAL,
    T_EVENT,
    T_OLD,
    WATCHER,
    H,
    N,
    T,
    X,
    view,
)
from jourdain.solvers.ode.progress import (
    ARM,
    COEFS,
    CUT,
    EVAL,
    EVALS,
    EVENT_LIMIT,
    EVENTS,
    EVERY_STEP,
    FIRED,
    HAVE_DENSE,
    KEEP_DENSE,
    MAX_STEPS,
    N_Y,
    PROBES,
    PROGRESS_SIZE,
    ROW_LIMIT,
    ROWS,
    SCAN,
    SEGMENTS,
    STEPS_LEFT,
    STOP,
    TASK,
    WATCHED,
    hook,
    point,
)


@jit
def _write_row(frame: Any, clock: Any, count: Any, progress: Any, t: float, source: int) -> int:
    """Append (t, x, y) to the rows of output."""
    n, row = count[N], progress[ROWS]
    x, out = doubles(source, n), doubles(frame[ROW_X] + 8 * n * row, n)
    doubles(frame[ROW_T] + 8 * row, 1)[0] = t
    for i in range(n):
        out[i] = x[i]
    progress[ROWS] = row + 1
    if frame[OUTPUT] == 0:
        return 0
    y = frame[ROW_Y] + 8 * progress[N_Y] * row
    return hook(frame, clock, count, frame[OUTPUT], frame[OUTPUT + 1], t, source, y)


@jit
def _write_until(frame: Any, clock: Any, count: Any, progress: Any, t: float) -> int:
    """Write the rows at the wanted times up to t."""
    wanted = doubles(frame[T_EVAL], progress[EVALS])
    while progress[EVAL] < progress[EVALS] and (wanted[progress[EVAL]] - t) * clock[DIRECTION] <= 0.0:
        at = wanted[progress[EVAL]]
        status = point(frame, clock, count, progress, at)
        if status == 0:
            status = _write_row(frame, clock, count, progress, at, frame[PROBE])
        if status != 0:
            return status
        progress[EVAL] += 1
    return 0


@jit
def _begin(frame: Any, clock: Any, count: Any, progress: Any) -> int:
    """Prepare the first step, or the first after a jump: signs of the guards, rows, step size."""
    status = 0
    if progress[WATCHED] > 0:
        progress[TASK] = ARM
        status = call(frame[WATCHER], frame[SELF])
    if status == 0:
        status = _write_until(frame, clock, count, progress, clock[T])
    if status == 0 and progress[EVERY_STEP] == 1:
        status = _write_row(frame, clock, count, progress, clock[T], frame[X])
    proposed = clock[H]
    if status == 0 and (proposed == 0.0 or (count[RESTART] == 1 and count[PAST] > 0)):
        # a multistep method starts again at order 1, where the step of its old order is far too long
        status = call(frame[FIRST], frame[SELF])
        if proposed != 0.0 and abs(clock[H]) > abs(proposed):
            clock[H] = proposed
    if count[RESTART] == 1:
        clock[ERROR_OLD] = 1e-4
    count[BEGIN] = 0
    return status


@jit
def _sample(frame: Any, clock: Any, count: Any, progress: Any) -> int:
    """Act at the stop that has been reached: 0 to go on, FINISHED, or SAMPLE to ask Python."""
    owner = integers(frame[OWNERS], progress[STOP] + 1)[progress[STOP]]
    if owner < 0:
        return FINISHED
    sampler = words(frame[SAMPLERS] + 16 * owner, 2)
    if sampler[0] == 0:
        return SAMPLE
    progress[STOP] += 1
    count[FRESH] = 0
    count[RESTART] = 1
    count[BEGIN] = 1
    return hook(frame, clock, count, sampler[0], sampler[1], clock[T], frame[X], frame[X])


@jit
def _keep_segment(frame: Any, clock: Any, count: Any, progress: Any, until: float) -> int:
    """Append the interpolant of the last step, valid up to `until`."""
    if progress[HAVE_DENSE] == 0:
        status = call(frame[DENSE], frame[SELF])
        if status != 0:
            return status
        progress[HAVE_DENSE] = 1
    k, size, used = progress[SEGMENTS], progress[COEFS], (count[DEGREE] + 1) * count[N]
    span = doubles(frame[SEGMENT] + 32 * k, 4)
    span[0], span[1], span[2], span[3] = clock[T_OLD], until, clock[CENTRE], clock[H_USED]
    coef, kept = doubles(frame[COEF], size), doubles(frame[SEGMENT_COEF] + 8 * size * k, size)
    for i in range(size):
        kept[i] = coef[i] if i < used else 0.0
    progress[SEGMENTS] = k + 1
    return 0


@hot
def _after_step(frame: Any, clock: Any, count: Any, progress: Any) -> int:
    """Project, look for events and write output after an accepted step."""
    status = 0
    progress[HAVE_DENSE] = 0
    progress[FIRED] = -1
    if frame[PROJECT] != 0:
        status = hook(frame, clock, count, frame[PROJECT], frame[PROJECT + 1], clock[T], frame[X], frame[X])
        count[FRESH] = 0
    if status == 0 and progress[WATCHED] > 0:
        progress[TASK] = SCAN
        status = call(frame[WATCHER], frame[SELF])
    if status != 0:
        return status
    until = clock[T] if progress[FIRED] < 0 else clock[T_EVENT]
    if progress[KEEP_DENSE] == 1:
        status = _keep_segment(frame, clock, count, progress, until)
    if status == 0:
        status = _write_until(frame, clock, count, progress, until)
    if status == 0 and progress[EVERY_STEP] == 1:
        status = point(frame, clock, count, progress, until)
        if status == 0:
            status = _write_row(frame, clock, count, progress, until, frame[PROBE])
    if status == 0 and progress[FIRED] >= 0:
        progress[TASK] = CUT
        return call(frame[WATCHER], frame[SELF])
    if status == 0 and frame[DECIDE] != 0:
        status = call(frame[SWITCHER], frame[SELF])
    return status


@kernel
def march(address: int) -> int:
    """Integrate until something needs Python; return why."""
    frame, clock, count = view(address)
    progress = integers(frame[PROGRESS], PROGRESS_SIZE)
    while True:
        stop = doubles(frame[STOPS] + 8 * progress[STOP], 1)[0]
        if count[BEGIN] == 0 and (clock[T] - stop) * clock[DIRECTION] >= 0.0:
            status = _sample(frame, clock, count, progress)
            if status != 0:
                return status
            continue
        if progress[EVERY_STEP] == 1 and progress[ROWS] + 2 > progress[ROW_LIMIT]:
            return PAUSED
        room = progress[EVENT_LIMIT] - progress[EVENTS] > progress[WATCHED] * (progress[PROBES] + 1)
        if progress[STEPS_LEFT] <= 0 or not room:
            return PAUSED
        clock[T_BOUND] = stop
        if count[BEGIN] == 1:
            status = _begin(frame, clock, count, progress)
            if status != 0:
                return status
            continue
        if count[STEPS] >= progress[MAX_STEPS]:
            return EXHAUSTED
        status = call(frame[STEP], address)
        if status == 0:
            progress[STEPS_LEFT] -= 1
            status = _after_step(frame, clock, count, progress)
        if status != 0:
            return status
