"""A stepper whose joints let go and engage: one open run a phase, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError, SolverError
from ..results.channel import UnknownChannelError
from .outputs.solution import solution_of
from .phases import caught, phase, released_in
from .run import Run
from .state import State
from .stepper import Engine

if TYPE_CHECKING:
    from .system import System

#: So many phases may begin within one advance.
MOST_AT_ONCE = 100
#: What is left of an advance (part of it) that is rounding.
ROUNDING = 1e-12


class PhasedEngine(Engine):
    """Engines of phases, made by ``opened`` where a phase begins; inputs and how far to go are handed on to the present one."""

    def __init__(self, system: System, start: State, opened: Callable[[System, State], Engine]) -> None:
        self.system, self._opened = system, opened
        self._inner = opened(self._phase_of(start.memory), start)
        self.given, self.step, self.t = (x.copy() for x in (self._inner.given, self._inner.step, self._inner.t))
        self.events, self.ended, self.stopped = [], self._inner.ended, self._inner.stopped

    @property
    def run(self) -> Run:  # type: ignore[override]
        """The run of the present phase."""
        return self._inner.run

    def _phase_of(self, memory: Any) -> System:
        return phase(self.system, released_in(self.system, memory))

    def advance(self) -> np.ndarray:
        """On to the end of the step, through the phases that begin on the way."""
        self.events, target = [], float(self.t[0]) + float(self.step[0])
        left = float(self.step[0])
        for _ in range(MOST_AT_ONCE):
            inner = self._inner
            inner.given[:], inner.step[0] = self.given, left
            try:
                y = inner.advance()
            finally:
                self.t[0], self.stopped = inner.t[0], inner.stopped
                self.events += inner.events
            if inner.ended is None or self._whole_events[inner.ended].terminal:
                self.ended = inner.ended
                return y
            self._next_phase(inner.ended)
            left = target - float(self.t[0])
            if left <= ROUNDING * float(self.step[0]):
                return self._inner.read()
        self.stopped = f"events release and engage without end at t = {float(self.t[0]):.6g} s"
        raise SolverError(f"stepper '{self.system.model.name}': {self.stopped}")

    def _next_phase(self, event: str) -> None:
        """The open run of the phase that an event begins."""
        state = self._inner.state()
        following = self._phase_of(state.memory)
        try:
            self._inner = self._opened(following, caught(following, state, event))
        except InputError as error:
            self.stopped = str(error)
            raise SolverError(f"stepper '{self.system.model.name}': {error}") from None
        self.stopped = self._inner.stopped
        self._inner.given[:] = self.given

    @property
    def _whole_events(self) -> Any:
        return (self.system.model.whole or self.system.model).events

    def read(self) -> np.ndarray:
        """The outputs at the present instant."""
        return self._inner.read()

    def state(self) -> State:
        """The model's state at the present instant."""
        return self._inner.state()

    def save(self) -> Any:
        """The engine of the present phase, with copies of all that it remembers."""
        arrays = {name: getattr(self, name).copy() for name in ("given", "step", "t")}
        told = {name: getattr(self, name) for name in ("ended", "stopped")} | {"events": list(self.events)}
        return self._inner, self._inner.save(), arrays, told, None if self.stopped is not None else self._inner.state()

    def restore(self, memory: Any) -> None:
        """Back to the engine of that phase, as it was."""
        self._inner, inner, arrays, told, _ = memory
        self._inner.restore(inner)
        self._take(arrays, told)

    def _take(self, arrays: Any, told: Any) -> None:
        for name, values in arrays.items():
            getattr(self, name)[:] = values
        self.ended, self.stopped, self.events = told["ended"], told["stopped"], list(told["events"])

    def portable(self, memory: Any) -> dict[str, Any]:
        """Plain data: where the phase's run is, and its own."""
        engine, inner, arrays, told, state = memory
        if state is None:
            raise InputError(f"stepper '{self.system.model.name}': it has ended, and its tokens live in their process")
        at = {"q": state.q, "v": state.v, "z": state.z, "t": state.t, "memory": dict(state.memory)}
        return {"at": at, "inner": engine.portable(inner), "arrays": arrays, "told": told}

    def take(self, data: dict[str, Any]) -> None:
        """An engine of that phase, which goes on from the plain data."""
        at = data["at"]
        now = self._phase_of(at["memory"])
        self._inner = self._opened(now, State(now.reference, at["q"], at["v"], at["z"], at["t"], at["memory"]))
        self._inner.take(data["inner"])
        self._take(data["arrays"], data["told"])

    @property
    def native(self) -> tuple[int, int]:
        """Phases are changed in Python."""
        raise InputError(f"stepper '{self.system.model.name}': joints that let go or engage are stepped from Python")


def check_outputs(system: System, start: State, names: Sequence[str]) -> None:
    """Refuses outputs that no phase has; those of what has let go are zero meanwhile."""
    whole = phase(system, ())
    known = solution_of(whole.reference, np.array([start.t]), start.x[None], {}, inputs_at=None)
    for name in names:
        if name not in known and not start.system.model.released:
            continue  # refused with its own words where the first phase is opened
        if name not in known:
            try:
                known[name]
            except UnknownChannelError as error:
                raise InputError(f"stepper '{system.model.name}': {error}") from None


__all__ = ["PhasedEngine", "check_outputs"]
