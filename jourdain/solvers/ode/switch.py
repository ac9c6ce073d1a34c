"""The change of coordinates in flight: the present and every past point of a method are carried over."""

from __future__ import annotations

from jourdain.native.call import doubles
from jourdain.native.kernel import kernel
from jourdain.solvers.ode.frame import DECIDE, PAST, PAST_F, PAST_T, PAST_X, PROBE, REMAP, REMAPPED, F, N, T, X, evaluate_here, view
from jourdain.solvers.ode.progress import hook


@kernel
def switch(address: int) -> int:
    """Let the user decide on new coordinates after a step, and map the history of the method if so."""
    frame, clock, count = view(address)
    n, flag = count[N], doubles(frame[PROBE], 1)
    status = evaluate_here(frame, clock, count)
    flag[0] = 0.0
    if status == 0:
        status = hook(frame, clock, count, frame[DECIDE], frame[DECIDE + 1], clock[T], frame[X], frame[PROBE])
    if status != 0 or flag[0] == 0.0:
        return status
    address, args = frame[REMAP], frame[REMAP + 1]
    status = hook(frame, clock, count, address, args, clock[T], frame[X], frame[F])
    times = doubles(frame[PAST_T], count[PAST])
    for k in range(count[PAST]):
        if status == 0:
            offset = 8 * n * k
            status = hook(frame, clock, count, address, args, times[k], frame[PAST_X] + offset, frame[PAST_F] + offset)
    count[REMAPPED] = 1
    return status
