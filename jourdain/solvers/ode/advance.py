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

from typing import Any

import numpy as np
from numpy.typing import NDArray

from jourdain.native.call import call, doubles, integers, words
from jourdain.native.kernel import jit, kernel
from jourdain.solvers.native_function import NativeFunction, address
from jourdain.solvers.ode.frame import (
    BEGIN,
    FINISHED,
    FRESH,
    PAUSED,
    PROGRESS,
    RESTART,
    ROW_Y,
    SINCE_BASE,
    STEPS,
    STOPS,
    T_BASE,
    TERMINAL,
    T,
    X,
    view,
)
from jourdain.solvers.ode.march import march
from jourdain.solvers.ode.progress import EVENTS, MAX_STEPS, N_Y, PROGRESS_SIZE, ROWS, STEPS_LEFT, hook
from jourdain.solvers.ode.session import Session

# Slots of the arguments.
TIME, GIVEN, READ, HOW_FAR, FRAME, MARCH, INPUTS, PLACES, N_INPUTS, OUTPUT, OUTPUT_ARGS, GRID, LIMIT = range(13)
SLOTS = 13
# Entries of GRID: instants base + k step, of which the k-th was the last.
BASE, COUNT, SIZE = range(3)
#: What is returned when the step is not positive.
NO_STEP = 20


@jit
def _take_inputs(a: Any, count: Any) -> None:
    """Hold the given inputs from here on; the method starts afresh where one of them jumps."""
    n = a[N_INPUTS]
    given, places = doubles(a[GIVEN], n), integers(a[PLACES], n)
    for i in range(n):
        u = doubles(a[INPUTS] + 8 * places[i], 1)
        if u[0] != given[i]:
            u[0] = given[i]
            count[FRESH] = 0
            count[RESTART] = 1
            count[BEGIN] = 1


@jit
def _target(a: Any, clock: Any, count: Any, step: float) -> float:
    """The next instant: of the grid while the step stays, so that times do not drift by rounding."""
    grid = doubles(a[GRID], 3)
    if step != grid[SIZE]:
        grid[BASE], grid[COUNT], grid[SIZE] = clock[T], 0.0, step
        clock[T_BASE] = clock[T]
        count[SINCE_BASE] = 0
    grid[COUNT] += 1.0
    return grid[BASE] + grid[COUNT] * step


@jit
def _read(a: Any, frame: Any, clock: Any, count: Any, progress: Any) -> int:
    """Write time and outputs of the present point; its full state is in the last row where x is only part of it."""
    doubles(a[TIME], 1)[0] = clock[T]
    if a[OUTPUT] == 0 or progress[ROWS] == 0:
        return 0
    x = frame[X]
    if progress[N_Y] > 0:
        x = frame[ROW_Y] + 8 * progress[N_Y] * (progress[ROWS] - 1)
    return hook(frame, clock, count, a[OUTPUT], a[OUTPUT_ARGS], clock[T], x, a[READ])


@kernel
def read(address: int) -> int:
    """Write time and outputs of the present point."""
    a = words(address, SLOTS)
    frame, clock, count = view(a[FRAME])
    return _read(a, frame, clock, count, integers(frame[PROGRESS], PROGRESS_SIZE))


@kernel
def advance(address: int) -> int:
    """Go on by a step with the given inputs; return 0, or why not."""
    a = words(address, SLOTS)
    frame, clock, count = view(a[FRAME])
    progress = integers(frame[PROGRESS], PROGRESS_SIZE)
    step = doubles(a[HOW_FAR], 1)[0]
    if not step > 0.0:
        return NO_STEP
    _take_inputs(a, count)
    doubles(frame[STOPS], 1)[0] = _target(a, clock, count, step)
    progress[MAX_STEPS] = count[STEPS] + a[LIMIT]
    reason = PAUSED
    while reason == PAUSED:  # no more room for rows or records of events: older ones are dropped
        progress[EVENTS] = 0
        progress[ROWS] = 0
        progress[STEPS_LEFT] = a[LIMIT] + 1
        reason = call(a[MARCH], a[FRAME])
    if reason != FINISHED and reason != TERMINAL:
        return reason
    status = _read(a, frame, clock, count, progress)
    return reason if status == 0 and reason == TERMINAL else status


class OpenMarch:
    """The arguments of :func:`advance`, with the arrays they point to; the session behind them may be changed."""

    def __init__(self, t: float, u: NDArray[np.float64], places: NDArray[np.int64], outputs: int, step: float, limit: int) -> None:
        self.t, self.step, self.grid = np.array([t]), np.array([step]), np.array([t, 0.0, step])
        self.given, self.y, self._places = np.zeros(max(1, u.size)), np.zeros(max(1, outputs)), np.append(places, 0)
        self.given[: u.size] = u
        self._arguments = np.zeros(SLOTS, dtype=np.int64)
        for slot, array in (
            (TIME, self.t), (GIVEN, self.given), (READ, self.y), (HOW_FAR, self.step), (PLACES, self._places), (GRID, self.grid),
        ):  # fmt: skip
            self._arguments[slot] = address(array)
        self._arguments[[MARCH, N_INPUTS, LIMIT]] = march.address, places.size, limit
        #: Where native callers find the arguments.
        self.address = address(self._arguments)

    def enter(self, session: Session, u: NDArray[np.float64], output: NativeFunction | None) -> None:
        """Drive a session from now on, with inputs in `u` and outputs y(t, x)."""
        session.kept.append(u)
        self._arguments[FRAME], self._arguments[INPUTS] = session.address, address(u)
        if output is not None:
            self._arguments[OUTPUT], self._arguments[OUTPUT_ARGS] = session.bind(output)

    def memory(self) -> list[NDArray[np.generic]]:
        """The arrays that change from step to step."""
        return [self.t, self.grid, self.given, self.y, self._arguments]


__all__ = ["NO_STEP", "OpenMarch", "advance", "read"]
