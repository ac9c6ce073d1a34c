"""The change of coordinates in flight: the present and every past point of a method are carried over."""

from __future__ import annotations

from jourdain.native.kernel import kernel
from jourdain.solvers.ode.frame import evaluate_here, view
from jourdain.solvers.ode.progress import hook


@kernel
def switch(address: int) -> int:
    """Let the user decide on new coordinates after a step, and map the history of the method if so."""
    frame, clock, count = view(address)
    n, flag = count.n, frame.probe
    status = evaluate_here(frame, clock, count)
    flag[0] = 0.0
    if status == 0:
        status = hook(frame, clock, count, frame.decide, frame.decide_args, clock.t, frame.x, frame.probe)
    if status != 0 or flag[0] == 0.0:
        return status
    remap, args = frame.remap, frame.remap_args
    status = hook(frame, clock, count, remap, args, clock.t, frame.x, frame.f)
    times = frame.past_t
    for k in range(count.past):
        if status == 0:
            status = hook(frame, clock, count, remap, args, times[k], frame.past_x[n * k :], frame.past_f[n * k :])
    count.remapped = 1
    return status
