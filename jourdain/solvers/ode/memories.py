"""Memories: discrete variables among the inputs of a right-hand side that are renewed when a step has been accepted.

They are constant over a step, so a rejected step leaves nothing behind.  The renewal is the last thing of an accepted step, at the place
where an event has cut it; guards that it carries over zero fire at that instant.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jourdain.native.call import call
from jourdain.native.kernel import jit, kernel
from jourdain.solvers.native_function import NativeFunction
from jourdain.solvers.ode.frame import NOT_RENEWED, RENEWED, Clock, Count, Frame, Memories, rhs, view, weight
from jourdain.solvers.ode.progress import CARRY, hook

#: Changes noted before they are collected.
ROOM = 1024


@jit
def _take(memories: Memories, t: float) -> None:
    """Let the new values act, and note them."""
    u, places, new, k = memories.u, memories.places, memories.new, memories.used
    kept = memories.log[k]
    memories.log_t[k] = t
    for i in range(len(places)):
        u[places[i]] = new[i]
        kept[i] = new[i]
    memories.used = k + 1


@jit
def _jumps(frame: Frame, clock: Clock, count: Count, memories: Memories) -> bool:
    """Say whether the rates have jumped by more than the error that a step may have."""
    x, f, before, h = frame.x, frame.f, memories.before, abs(clock.h_used)
    for i in range(count.n):
        if abs(f[i] - before[i]) * h > weight(frame.tol, i, x[i], x[i]):
            return True
    return False


@kernel
def renew(address: int) -> int:
    """Renew the memories at the present point; RENEWED asks Python for what the method holds of rates that have jumped."""
    frame, clock, count = view(address)
    memories = frame.memories
    status = hook(frame, clock, count, frame.renewal, frame.renewal_args, clock.t, frame.x, memories.new)
    if status != 0:
        return status
    u, places, new = memories.u, memories.places, memories.new
    changed = False
    for i in range(len(places)):
        if not math.isfinite(new[i]):
            clock.t_bad = clock.t
            count.bad = i
            return NOT_RENEWED
        if new[i] != u[places[i]]:
            changed = True
    if not changed:
        return 0
    asks = False
    if memories.watchful == 1:  # the method goes on with rates of the past
        status = rhs(frame, clock, count, clock.t, frame.x, memories.before)
        if status != 0:
            return status
    _take(memories, clock.t)
    if memories.watchful == 1:
        status = rhs(frame, clock, count, clock.t, frame.x, frame.f)
        if status != 0:
            return status
        if _jumps(frame, clock, count, memories):
            count.restart = 1
            count.begin = 1
            asks = memories.asks == 1
    count.fresh = 0
    if len(frame.watch) > 0 and frame.progress.fired < 0:
        frame.progress.task = CARRY
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
    names: Sequence[str]
    noted: list[tuple[NDArray[np.float64], NDArray[np.float64]]]
    after: Callable[[float, NDArray[np.float64]], Any] | None = None
    record: Memories = field(init=False)

    def __post_init__(self) -> None:
        k = len(self.places)
        self._t, self._values = np.zeros(ROOM), np.zeros((ROOM, k))
        self.record = Memories(u=self.u, places=self.places, new=np.zeros(k), log_t=self._t, log=self._values, asks=self.after is not None)

    def prepare(self, n: int, multistep: bool) -> Memories:
        """The record for a method with n states; those that hold rates of the past are told of jumps."""
        self.record.before = np.zeros(n)
        self.record.watchful = multistep or self.after is not None
        return self.record

    def collect(self) -> None:
        """Move what was noted out of the buffer."""
        k = self.record.used
        if k:
            self.noted.append((self._t[:k].copy(), self._values[:k].copy()))
            self.record.used = 0
