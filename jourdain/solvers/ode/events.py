"""What may happen during an integration: events found by guards, samples at given times, switches of coordinates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jourdain.errors import InputError
from jourdain.solvers.native_function import NativeFunction

Action = NativeFunction | Callable[[float, NDArray[np.float64]], ArrayLike | None]


@dataclass(frozen=True)
class Event:
    """Something that happens when a guard g(t, x), of `size` components, crosses zero.

    `direction` is +1 for rising, -1 for falling, 0 for both, one value or one for each component. The step is cut at
    the crossing and integration starts afresh there, unless `restart` is False: then the event is only recorded. The
    `action` changes the state: native (in place on slot 1) or a Python function (t, x) -> new x or None. Events in a row
    may share one guard function, which is called once for all of them: each says at which `place` of its values its own begin.
    """

    guard: NativeFunction
    direction: int | Sequence[int] = 0
    terminal: bool = False
    action: Action | None = None
    restart: bool = True
    name: str = "event"
    size: int = 1
    #: Whether the action sees to it that events do not accumulate for ever.
    patient: bool = False
    #: Whether a guard that is zero where a step begins counts from the step's end on: what memories put back to zero leaves it by powers of time that an interpolation
    #: may have with the wrong sign.
    rests: bool = False
    #: Whether the step ends next to the zero and not on it, where a law that asks for more than zero is still on its old side.
    passes: bool = False
    #: Beyond this a value of the first component is no rounding, and tells its side where the action has just run; below it the guard is where it can fire again.
    clear: float = np.inf
    place: int = 0

    def __post_init__(self) -> None:
        if not set(self.directions) <= {-1, 0, 1} or len(self.directions) != self.size:
            raise InputError(f"event '{self.name}': direction {self.direction} must be -1, 0 or 1, one or {self.size} of them")
        if not self.restart and (self.terminal or self.action is not None):
            raise InputError(f"event '{self.name}': restart=False only records; drop terminal and action")

    @property
    def directions(self) -> tuple[int, ...]:
        """The direction of each component."""
        return (self.direction,) * self.size if isinstance(self.direction, int) else tuple(self.direction)


def sources(events: Sequence[Event]) -> list[list[Event]]:
    """Events by the functions that give their guards: those in a row that share one stand together."""
    found: list[list[Event]] = []
    for event in events:
        if event.place == 0:
            found.append([event])
            continue
        row = found[-1] if found else []
        if not row or row[-1].guard is not event.guard or event.place != row[-1].place + row[-1].size:
            raise InputError(
                f"event '{event.name}': its guard is place {event.place} of a function; give all events of that function in a row"
            )
        row.append(event)
    return found


@dataclass(frozen=True)
class Samples:
    """Times (s) at which integration stops exactly and `action` runs, as a sampled controller does."""

    times: ArrayLike
    action: Action
    name: str = "samples"


@dataclass(frozen=True)
class Switch:
    """A change of the state's coordinates in flight, without restarting the method.

    After each step `decide(t, x, flag)` sets flag[0] non-zero to switch (it may set a mode that the right-hand side
    reads); then `remap(t, x, f)` is called for the present and each past point and rewrites x and f = dx/dt in place.
    """

    decide: NativeFunction
    remap: NativeFunction


@dataclass(frozen=True)
class EventRecord:
    """An event that happened: time (s), name, component of its guard, state and output before and after."""

    t: float
    name: str
    component: int
    x_before: NDArray[np.float64]
    x_after: NDArray[np.float64]
    y_before: NDArray[np.float64]
    y_after: NDArray[np.float64]
