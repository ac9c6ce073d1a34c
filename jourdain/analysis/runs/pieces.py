"""Runs in pieces: from phase to phase where joints let go or engage.

Each piece is an ordinary run of its system that goes on from the last one; together they are one solution.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...errors import InputError
from ...results.solution import Solution
from ...systems.inputs import Inputs
from ...systems.phases import Joined, caught, phase, released_in
from ...systems.run import Restart, Settings, SimulationError, SimulationInterrupted
from ...systems.state import State
from ..simulate import asked_of, end_of, released_at, settings_of, started
from .outcome import Prepared, solved

if TYPE_CHECKING:
    from ...systems.system import System

#: So many phases may begin at one instant.
MOST_AT_ONCE = 10


class Pieces:
    """A run whose phases follow each other."""

    def __init__(self, system: System, method: str | None, inputs: Mapping[str, Any] | None) -> None:
        self.system, self.method, self.inputs = system, method, inputs
        self.done: list[Solution] = []
        self._asked: Mapping[str, Any] = {}

    def go(self, x0: Any, t: Any, options: Mapping[str, Any]) -> Solution:
        """From phase to phase."""
        now = phase(self.system, released_at(self.system, x0))
        start, restart, span = started(now, x0, t)
        self._asked = asked_of(now, self.method, options)
        if restart is None and "overlap" in options:
            from ..touching.apart import start_apart

            start, options = start_apart(now, start, self.method, options)
        settings, rest = settings_of(now, span, self.method, options)
        while True:
            try:
                last, status = self._piece(now, start, restart, settings, rest, span)
            except SimulationError as error:
                own, error.solution = error.solution.statistics["steps"], self._whole(error.solution)
                error.args = (str(error).replace(f": {own} steps reached", f": {error.solution.statistics['steps']} steps reached"),)
                raise
            except SimulationInterrupted as error:
                error.solution = self._whole(error.solution)
                raise
            self.done.append(last)
            restart = last.restart
            if restart is None or status != "event" or not restart.t < span[1] or self._events[last.events[-1].name].terminal:
                return self._whole()
            now, start = self._next_phase(now, last)

    def _piece(
        self, now: System, start: State, restart: Restart | None, settings: Settings, rest: Mapping[str, Any], span: tuple[float, float]
    ) -> tuple[Solution, str]:
        """One run of one system by one method, from ``start`` to the end or as far as it goes, and how it ended."""
        later = bool(self.done)
        times, most = settings.times, settings.max_steps
        if later:
            times = times if times is None else times[times > start.t]
            most = max(1, most - sum(int(p.statistics.get("steps", 0)) for p in self.done))
        own = replace(settings, times=times, max_steps=most) if times is not settings.times or most != settings.max_steps else settings
        inputs = Inputs(now, self.inputs, start.memory)
        with Prepared(now, start, inputs, own, restart):
            run = now.run(start, (start.t, span[1]), inputs, own, rest)
            run.asked = self._asked
            if later and restart is not None:
                run.resume_inputs(restart)
            return solved(now, run, None if later else restart, begun=later), run.status

    def _next_phase(self, now: System, last: Solution) -> tuple[System, State]:
        """The system after an event that released or engaged something, and the state there."""
        event, state = last.events[-1].name, end_of(now, last)
        following = phase(self.system, released_in(now, state.memory))
        try:
            if len(self.done) > MOST_AT_ONCE and state.t == self.done[-MOST_AT_ONCE].t[0]:
                raise InputError(f"event '{event}' and others release and engage without end at t = {state.t:.6g} s")
            return following, caught(following, state, event)
        except InputError as error:
            raise SimulationError(f"simulate '{self.system.model.name}': {error}", self._whole()) from None

    @property
    def _events(self) -> Mapping[str, Any]:
        return (self.system.model.whole or self.system.model).events

    def _whole(self, *last: Solution) -> Solution:
        return Joined([*self.done, *last]).solution(self.system)


__all__ = ["Pieces"]
