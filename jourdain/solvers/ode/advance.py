"""A march held open: one native call goes on to the next instant with new inputs and reads outputs there.

``int32_t advance(void** arguments)`` uses no memory but that of its arguments, of which a caller knows the first four:

=  ===================  ======================================================
0  ``double t[1]``      time (s), written
1  ``double u[]``       the named inputs, read at the start of the step and held
2  ``double y[]``       the named outputs at the end of the step, written
3  ``double step[1]``   how far to go on (s), read
=  ===================  ======================================================

It returns 0 when the instant is reached, ``TERMINAL`` when a terminal event has ended the motion before, and another reason when it could
not go on.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from jourdain.native.call import call, doubles
from jourdain.native.kernel import jit, kernel
from jourdain.native.record import Address, Integers, Record
from jourdain.solvers.native_function import NativeFunction, address
from jourdain.solvers.ode.frame import FINISHED, PAUSED, TERMINAL, Clock, Count, Frame, Progress
from jourdain.solvers.ode.march import march
from jourdain.solvers.ode.progress import hook
from jourdain.solvers.ode.session import Session

#: What is returned when the step is not positive.
NO_STEP = 20


class Grid(Record):
    """Instants base + k step, of which the k-th was the last."""

    base: float
    k: float
    step: float


class Arguments(Record):
    """What a call reads and writes: four arrays of the caller's, then the march, where inputs stand, outputs, and the most steps."""

    t: Address
    given: Address
    read: Address
    how_far: Address
    frame: Frame
    march: Address
    inputs: Address
    places: Integers
    output: Address
    output_args: Address
    grid: Grid
    limit: int


@jit
def _take_inputs(a: Arguments, count: Count) -> None:
    """Hold the given inputs from here on; the method starts afresh where one of them jumps."""
    n = len(a.places)
    given, places = doubles(a.given, n), a.places
    for i in range(n):
        u = doubles(a.inputs + 8 * places[i], 1)
        if u[0] != given[i]:
            u[0] = given[i]
            count.fresh = 0
            count.restart = 1
            count.begin = 1


@jit
def _target(grid: Grid, clock: Clock, count: Count, step: float) -> float:
    """The next instant: of the grid while the step stays, so that times do not drift by rounding."""
    if step != grid.step:
        grid.base, grid.k, grid.step = clock.t, 0.0, step
        clock.t_base = clock.t
        count.since_base = 0
    grid.k += 1.0
    return grid.base + grid.k * step


@jit
def _read(a: Arguments, frame: Frame, clock: Clock, count: Count, progress: Progress) -> int:
    """Write time and outputs of the present point; its full state is in the last row where x is only part of it."""
    doubles(a.t, 1)[0] = clock.t
    if a.output == 0 or progress.rows == 0:
        return 0
    out = doubles(a.read, 1)
    if frame.output != 0:
        return hook(frame, clock, count, a.output, a.output_args, clock.t, frame.row_y[progress.rows - 1], out)
    return hook(frame, clock, count, a.output, a.output_args, clock.t, frame.x, out)


@kernel
def read(address: int) -> int:
    """Write time and outputs of the present point."""
    a = Arguments.at(address)
    return _read(a, a.frame, a.frame.clock, a.frame.count, a.frame.progress)


@kernel
def advance(address: int) -> int:
    """Go on by a step with the given inputs; return 0, or why not."""
    a = Arguments.at(address)
    frame, clock, count, progress = a.frame, a.frame.clock, a.frame.count, a.frame.progress
    step = doubles(a.how_far, 1)[0]
    if not step > 0.0:
        return NO_STEP
    _take_inputs(a, count)
    frame.stops[0] = _target(a.grid, clock, count, step)
    progress.max_steps = count.steps + a.limit
    reason = PAUSED
    while reason == PAUSED:  # no more room for rows or records of events: older ones are dropped
        progress.events = 0
        progress.rows = 0
        if frame.renewal != 0:
            frame.memories.log.used = 0
        if frame.settle != 0:
            frame.settled.used = 0
        progress.steps_left = a.limit + 1
        reason = call(a.march, frame)
    if reason != FINISHED and reason != TERMINAL:
        return reason
    status = _read(a, frame, clock, count, progress)
    return reason if status == 0 and reason == TERMINAL else status


class OpenMarch:
    """The arguments of :func:`advance`, with the arrays they point to; the session behind them may be changed."""

    def __init__(self, t: float, u: NDArray[np.float64], places: NDArray[np.int64], outputs: int, step: float, limit: int) -> None:
        self.t, self.step, self.grid = np.array([t]), np.array([step]), Grid(base=t, k=0.0, step=step)
        self.given, self.y = np.zeros(max(1, u.size)), np.zeros(max(1, outputs))
        self.given[: u.size] = u
        self._arguments = Arguments(
            t=address(self.t), given=address(self.given), read=address(self.y), how_far=address(self.step), march=march.address,
            places=np.array(places, dtype=np.int64), grid=self.grid, limit=limit,
        )  # fmt: skip
        #: Where native callers find the arguments.
        self.address = self._arguments.address

    def enter(self, session: Session, u: NDArray[np.float64], output: NativeFunction | None) -> None:
        """Drive a session from now on, with inputs in `u` and outputs y(t, x)."""
        session.kept.append(u)
        self._arguments.frame, self._arguments.inputs = session.frame, address(u)
        if output is not None:
            self._arguments.output, self._arguments.output_args = session.bind(output)

    @property
    def words(self) -> NDArray[np.int64]:
        """The arguments themselves, with addresses."""
        return self._arguments.words

    def memory(self) -> dict[str, NDArray[np.generic]]:
        """Numbers that change from step to step."""
        return {"t": self.t, "grid": self.grid.words, "given": self.given, "y": self.y}


__all__ = ["NO_STEP", "OpenMarch", "advance", "read"]
