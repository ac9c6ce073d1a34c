"""Runs in pieces: from phase to phase where joints let go or engage, and by an explicit and an implicit method in turns (``method="auto"``).

Each piece is an ordinary run of its system and method that goes on from the last one; together they are one solution.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ...errors import InputError
from ...results.solution import Solution
from ...solvers import EXPLICIT, IMPLICIT
from ...systems.inputs import Inputs
from ...systems.phases import Joined, caught, phase, released_in
from ...systems.run import LEAST_EXPLICIT, Outcome, Restart, Run, Settings, SimulationError, SimulationInterrupted
from ...systems.state import State
from ..simulate import end_of, released_at, settings_of, started
from .outcome import looked_at, solved

if TYPE_CHECKING:
    from ...systems.system import System

#: So many phases may begin at one instant.
MOST_AT_ONCE = 10


class Pieces:
    """A run whose phases and methods follow each other."""

    def __init__(
        self, system: System, method: str | None, inputs: Mapping[str, Any] | None, ready: Iterable[tuple[Run, Outcome]] = ()
    ) -> None:
        self.system, self.method, self.inputs = system, method, inputs
        #: Pieces after the first that have been run already.
        self._ready = iter(ready)
        self.done: list[Solution] = []
        #: When methods began, and why they were left.
        self.turns: list[dict[str, Any]] = []
        self._least = LEAST_EXPLICIT

    def go(self, x0: Any, t: Any, options: Mapping[str, Any]) -> Solution:
        """From phase to phase."""
        now = phase(self.system, released_at(self.system, x0))
        start, restart, span = started(now, x0, t)
        settings, rest = settings_of(now, span, self.method, options, restart)
        return self._from(now, start, restart, settings, rest, span)

    def go_on(self, first: Solution, settings: Settings, rest: Mapping[str, Any], span: tuple[float, float]) -> Solution:
        """After a first piece that was left for another method."""
        self.done.append(first)
        self.turns.append({"t": span[0], "method": settings.method})
        start, settings = self._turned(self.system, first, settings)
        return self._from(self.system, start, first.restart, settings, rest, span)

    def _from(
        self, now: System, start: State, restart: Restart | None, settings: Settings, rest: Mapping[str, Any], span: tuple[float, float]
    ) -> Solution:
        while True:
            self.turns.append({"t": start.t, "method": settings.method})
            try:
                last, status = self._piece(now, start, restart, settings, rest, span)
            except (SimulationError, InputError) as error:
                if self.turns[-1]["method"] == IMPLICIT and settings.leave is not None and self.done:
                    # what implicit steps cannot do is done as it would have been without them
                    self.turns[-1]["left"] = str(error)
                    settings = replace(settings, method=EXPLICIT, leave=None)
                    continue
                if isinstance(error, SimulationError):
                    own, error.solution = error.solution.statistics["steps"], self._whole(error.solution)
                    error.args = (str(error).replace(f": {own} steps reached", f": {error.solution.statistics['steps']} steps reached"),)
                raise
            except SimulationInterrupted as error:
                error.solution = self._whole(error.solution)
                raise
            self.done.append(last)
            restart = last.restart
            if restart is None or status not in ("event", "left") or not restart.t < span[1]:
                return self._whole()
            if status == "left":
                start, settings = self._turned(now, last, settings)
                continue
            if self._events[last.events[-1].name].terminal:
                return self._whole()
            now, start = self._next_phase(now, last)

    def _piece(
        self, now: System, start: State, restart: Restart | None, settings: Settings, rest: Mapping[str, Any], span: tuple[float, float]
    ) -> tuple[Solution, str]:
        """One run of one system by one method, from ``start`` to the end or as far as it goes, and how it ended."""
        later = bool(self.done)
        done = next(self._ready, None)
        if done is not None:
            return looked_at(now, *done), done[0].status
        times, most = settings.times, settings.max_steps
        if later:
            times = times if times is None else times[times > start.t]
            most = max(1, most - sum(int(p.statistics.get("steps", 0)) for p in self.done))
        own = replace(settings, times=times, max_steps=most) if times is not settings.times or most != settings.max_steps else settings
        run = now.run(start, (start.t, span[1]), Inputs(now, self.inputs, start.memory), own, rest)
        if later and restart is not None:
            run.resume_inputs(restart)
        return solved(now, run, None if later else restart, begun=later), run.status

    def _turned(self, now: System, last: Solution, settings: Settings) -> tuple[State, Settings]:
        """Where the other method begins, and with which settings; each return to explicit steps doubles those before it is left again."""
        explicit = settings.method == EXPLICIT
        self.turns[-1]["left"] = "stiff" if explicit else "no longer stiff"
        if not explicit:
            self._least *= 2
        state = end_of(now, last)
        start = State(now.reference, state.q, state.v, state.z, state.t, state.memory)
        return start, settings.turned(self._least)

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
        methods = {turn["method"] for turn in self.turns}
        about: dict[str, Any] = {"method": "auto", "turns": self.turns} if len(methods) > 1 else {}
        return Joined([*self.done, *last], about).solution(self.system)


__all__ = ["Pieces"]
