"""The marching loop: steps, projection, events, samples, coordinate switches and output, without leaving native code.

It is compiled once for all methods, which it calls by address, and returns to Python only to pause, to let Python act
at a sample or an event, or because the integration has ended.
"""

from __future__ import annotations

from typing import Any

from jourdain.native.call import call
from jourdain.native.kernel import hot, jit, kernel
from jourdain.solvers.ode.frame import EXHAUSTED, FINISHED, PAUSED, SAMPLE, UNDERFLOW, Clock, Count, Frame, Progress, view
from jourdain.solvers.ode.progress import ARM, CUT, MOST_DIPS, SCAN, hook, point

#: Steps in a row that may be shorter than rounding at the end of the span allows: a run that needs more never gets there.
MOST_TINY = 1000


@jit
def _write_row(frame: Frame, clock: Clock, count: Count, progress: Progress, t: float, x: Any) -> int:
    """Append (t, x, y) to the rows of output."""
    row = progress.rows
    out = frame.row_x[row]
    frame.row_t[row] = t
    for i in range(count.n):
        out[i] = x[i]
    progress.rows = row + 1
    if frame.output == 0:
        return 0
    return hook(frame, clock, count, frame.output, frame.output_args, t, x, frame.row_y[row])


@jit
def _write_until(frame: Frame, clock: Clock, count: Count, progress: Progress, t: float) -> int:
    """Write the rows at the wanted times up to t."""
    wanted = frame.t_eval
    while progress.eval < progress.evals and (wanted[progress.eval] - t) * clock.direction <= 0.0:
        at = wanted[progress.eval]
        status = point(frame, clock, count, progress, at)
        if status == 0:
            status = _write_row(frame, clock, count, progress, at, frame.probe)
        if status != 0:
            return status
        progress.eval += 1
    return 0


@jit
def _begin(frame: Frame, clock: Clock, count: Count, progress: Progress) -> int:
    """Prepare the first step, or the first after a jump: signs of the guards, rows, step size."""
    status = 0
    if len(frame.watch) > 0:
        progress.task = ARM
        status = call(frame.watcher, frame)
    if status == 0:
        status = _write_until(frame, clock, count, progress, clock.t)
    if status == 0 and progress.every_step == 1:
        status = _write_row(frame, clock, count, progress, clock.t, frame.x)
    proposed = clock.h
    if status == 0 and (proposed == 0.0 or (count.restart == 1 and count.past > 0)):
        # a multistep method starts again at order 1, where the step of its old order is far too long
        status = call(frame.first, frame)
        if proposed != 0.0 and abs(clock.h) > abs(proposed):
            clock.h = proposed
    if count.restart == 1:
        clock.error_old = 1e-4
    count.begin = 0
    return status


@jit
def _sample(frame: Frame, clock: Clock, count: Count, progress: Progress) -> int:
    """Act at the stop that has been reached: 0 to go on, FINISHED, or SAMPLE to ask Python."""
    owner = frame.owners[progress.stop]
    if owner < 0:
        return FINISHED
    sampler = frame.samplers[owner]
    if sampler.function == 0:
        return SAMPLE
    progress.stop += 1
    count.fresh = 0
    count.restart = 1
    count.begin = 1
    return hook(frame, clock, count, sampler.function, sampler.args, clock.t, frame.x, frame.x)


@jit
def _keep_segment(frame: Frame, clock: Clock, count: Count, progress: Progress, until: float) -> int:
    """Append the interpolant of the last step, valid up to `until`."""
    if progress.have_dense == 0:
        status = call(frame.dense, frame)
        if status != 0:
            return status
        progress.have_dense = 1
    k, used = progress.segments, (count.degree + 1) * count.n
    span = frame.segment[k]
    span[0], span[1], span[2], span[3] = clock.t_old, until, clock.centre, clock.h_used
    coef, kept = frame.coef, frame.segment_coef[k]
    for i in range(coef.size):
        kept[i] = coef[i] if i < used else 0.0
    progress.segments = k + 1
    return 0


@hot
def _after_step(frame: Frame, clock: Clock, count: Count, progress: Progress) -> int:
    """Project, look for events, write output, renew memories and settle unknowns after an accepted step."""
    status = 0
    progress.have_dense = 0
    progress.fired = -1
    if frame.project != 0:
        status = hook(frame, clock, count, frame.project, frame.project_args, clock.t, frame.x, frame.x)
        count.fresh = 0
    if status == 0 and len(frame.watch) > 0:
        progress.task = SCAN
        status = call(frame.watcher, frame)
    if status != 0:
        return status
    until = clock.t if progress.fired < 0 else clock.t_event
    if progress.keep_dense == 1:
        status = _keep_segment(frame, clock, count, progress, until)
    if status == 0:
        status = _write_until(frame, clock, count, progress, until)
    if status == 0 and progress.every_step == 1:
        status = point(frame, clock, count, progress, until)
        if status == 0:
            status = _write_row(frame, clock, count, progress, until, frame.probe)
    if status == 0 and progress.fired >= 0:
        progress.task = CUT
        return call(frame.watcher, frame)
    if status == 0 and frame.decide != 0:
        status = call(frame.switcher, frame)
    if status == 0 and frame.renewer != 0:
        status = call(frame.renewer, frame)
    return status


@kernel
def march(address: int) -> int:
    """Integrate until something needs Python; return why."""
    frame, clock, count = view(address)
    progress = frame.progress
    while True:
        stop = frame.stops[progress.stop]
        if count.begin == 0 and (clock.t - stop) * clock.direction >= 0.0:
            status = _sample(frame, clock, count, progress)
            if status != 0:
                return status
            continue
        if progress.every_step == 1 and progress.rows + 2 > progress.row_limit:
            return PAUSED
        room = progress.event_limit - progress.events > len(frame.watch) * (progress.probes + 1 + MOST_DIPS)
        if progress.steps_left <= 0 or not room:
            return PAUSED
        clock.t_bound = stop
        if count.begin == 1:
            status = _begin(frame, clock, count, progress)
            if status != 0:
                return status
            continue
        if count.steps >= progress.max_steps:
            return EXHAUSTED
        progress.tiny = progress.tiny + 1 if count.adaptive == 1 and abs(clock.h) < clock.h_min else 0
        if progress.tiny > MOST_TINY:
            return UNDERFLOW
        status = 0
        if frame.turner != 0:
            status = call(frame.turner, frame)
        if status == 0:
            status = call(frame.step, frame)
        if status == 0:
            progress.steps_left -= 1
            status = _after_step(frame, clock, count, progress)
        if status != 0:
            return status
