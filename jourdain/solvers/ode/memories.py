"""Memories: discrete variables among the inputs of a right-hand side that are renewed when a step has been accepted.

They are constant over a step, so a rejected step leaves nothing behind.  The renewal is the last thing of an accepted step, at the place
where an event has cut it; guards that it carries over zero fire at that instant.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jourdain.native.call import call
from jourdain.native.kernel import jit, kernel
from jourdain.solvers.memory_log import Noted, make_log, renewed, take
from jourdain.solvers.native_function import NativeFunction
from jourdain.solvers.ode.frame import NOT_RENEWED, RENEWED, Clock, Count, Frame, Memories, rhs, view, weight
from jourdain.solvers.ode.progress import CARRY, hook


@jit
def _jumps(frame: Frame, clock: Clock, count: Count, memories: Memories) -> bool:
    """Say whether the rates have jumped by more than the error that a step may have."""
    x, f, before, h, worst = frame.x, frame.f, memories.before, abs(clock.h_used), 0.0
    for i in range(count.n):
        worst = max(worst, abs(f[i] - before[i]) * h / weight(frame.tol, i, x[i], x[i]))
    return worst > 1.0


@jit
def _take(frame: Frame, clock: Clock, count: Count, memories: Memories) -> Any:
    """Let new values act: the status, and whether rates have jumped that the method goes on with."""
    status, jumped = 0, False
    if memories.watchful == 1:
        status = rhs(frame, clock, count, clock.t, frame.x, memories.before)
    take(memories.log, memories.u, clock.t)
    if memories.watchful == 1 and status == 0:
        status = rhs(frame, clock, count, clock.t, frame.x, frame.f)
        jumped = status == 0 and _jumps(frame, clock, count, memories)
    if jumped:
        count.restart = 1
        count.begin = 1
    count.fresh = 0
    return status, jumped


@kernel
def renew(address: int) -> int:
    """Renew the memories at the present point and settle the unknowns there; RENEWED asks Python for the rates that a method holds."""
    frame, clock, count = view(address)
    progress = frame.progress
    changed, asks = 0, False
    if frame.renewal != 0:
        memories, log = frame.memories, frame.memories.log
        status = hook(frame, clock, count, frame.renewal, frame.renewal_args, clock.t, frame.x, log.new)
        if status != 0:
            return status
        changed = renewed(log, memories.u)
        if changed < 0:
            clock.t_bad = clock.t
            return NOT_RENEWED
        if changed == 1:
            status, jumped = _take(frame, clock, count, memories)
            if status != 0:
                return status
            asks = jumped and memories.asks == 1
            if log.used == len(log.t):  # Python empties it before the next step
                progress.steps_left = 0
    if frame.settle != 0:
        status = hook(frame, clock, count, frame.settle, frame.settle_args, clock.t, frame.x, frame.x)
        if status != 0:
            return status
        if frame.settled.used == len(frame.settled.t):
            progress.steps_left = 0
    status = 0
    if changed == 1 and len(frame.watch) > 0 and progress.fired < 0:
        progress.task = CARRY
        status = call(frame.watcher, frame)
    return RENEWED if status == 0 and asks else status


@dataclass
class Renewals:
    """The memories of a run: native new values of (t, x), where they stand among the inputs `u`, and when they became what (`noted`).

    `after(t, x)` gives the state of a method that holds accelerations where these jump.
    """

    function: NativeFunction
    u: NDArray[np.float64]
    places: NDArray[np.int64]
    names: list[str]
    noted: Noted
    after: Callable[[float, NDArray[np.float64]], Any] | None = None
    record: Memories = field(init=False)

    def prepare(self, n: int, multistep: bool) -> Memories:
        """The record for a method with n states; those that hold rates of the past are told of jumps."""
        self.record = Memories(
            u=self.u, log=make_log(self.places), before=np.zeros(n), watchful=multistep or self.after is not None,
            asks=self.after is not None,
        )  # fmt: skip
        return self.record

    def renew(self, noted: Noted) -> None:
        """Begins another run, which notes its own changes."""
        self.noted, self.record.log.used, self.record.log.bad = noted, 0, -1
