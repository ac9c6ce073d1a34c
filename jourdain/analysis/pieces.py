"""Runs in pieces: from phase to phase where joints let go or engage, and by an explicit and an implicit method in turns (``method="auto"``).

Each piece is an ordinary run of its system and method that goes on from the last one; together they are one solution.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from ..results.solution import Solution
from ..systems.inputs import Inputs
from ..systems.phases import Joined, caught, phase, released_in
from ..systems.run import Restart, Settings, SimulationError, SimulationInterrupted
from ..systems.state import State
from .simulate import AUTO, end_of, settings_of, solved, started

if TYPE_CHECKING:
    from ..systems.system import System

#: So many phases may begin at one instant.
MOST_AT_ONCE = 10
#: The methods that take turns: steps that follow the motion, and steps that are not held up by what decays fast.
EXPLICIT, IMPLICIT = "dopri5", "radau"
#: Steps before a method may be left for the other; each return to explicit steps doubles theirs.
LEAST_EXPLICIT, LEAST_IMPLICIT = 500, 50


@dataclass
class Turns:
    """Which method acts, and why the last one was left."""

    method: str | None
    chosen: bool
    least: int = LEAST_EXPLICIT

    def settings(self, common: Settings, t: float, later: bool) -> Settings:
        """The settings of a piece that begins at ``t``: instants to keep from then on, the method of this turn."""
        times = common.times if common.times is None or not later else common.times[common.times > t]
        if not self.chosen:
            return replace(common, times=times) if times is not common.times else common
        step = None if later else common.step  # that of the other method says nothing
        leave = self.least if self.method == EXPLICIT else LEAST_IMPLICIT
        return replace(common, method=str(self.method), times=times, step=step, leave=leave)

    def change(self) -> None:
        """The other method's turn."""
        if self.method == IMPLICIT:
            self.least *= 2
        self.method = IMPLICIT if self.method == EXPLICIT else EXPLICIT


def in_pieces(
    system: System, x0: Any, t: Any, method: str | None, inputs: Mapping[str, Any] | None, options: Mapping[str, Any]
) -> Solution:
    """A run whose phases and methods follow each other."""
    name, events = system.model.name, (system.model.whole or system.model).events
    if options.get("steps") is not None:
        why = "where joints let go or engage" if system.model.switches else f"with method='{AUTO}'"
        raise InputError(f"simulate '{name}': steps= cannot be given {why}; give tolerances, or step= and a method")
    now = phase(system, released_at(system, x0)) if system.model.switches else system
    start, restart, span = started(now, x0, t)
    turns = _turns(system, method, restart)
    common, rest = settings_of(now, span, turns.method, options)
    pieces: list[Solution] = []
    acted: list[dict[str, Any]] = []

    def whole(*last: Solution) -> Solution:
        return Joined([*pieces, *last], {"method": AUTO, "turns": acted} if turns.chosen else {}).solution(system)

    while True:
        acted.append({"t": start.t, "method": turns.method})
        try:
            settings = turns.settings(common, start.t, bool(pieces))
            run = now.run(start, (start.t, span[1]), Inputs(now, inputs, start.memory), settings, rest)
            if pieces and restart is not None:
                run.resume_inputs(restart)
            pieces.append(solved(now, run, None if pieces else restart, begun=bool(pieces)))
        except (SimulationError, SimulationInterrupted) as error:
            error.solution = whole(error.solution)
            raise
        status, restart = pieces[-1].metadata["status"], pieces[-1].restart
        if restart is None or status not in ("event", "left") or not restart.t < span[1]:
            return whole()
        state = end_of(now, pieces[-1])
        if status == "left":
            acted[-1]["left"] = "stiff" if turns.method == EXPLICIT else "no longer stiff"
            turns.change()
            start = State(now.reference, state.q, state.v, state.z, state.t, state.memory)
            continue
        last = pieces[-1].events[-1].name
        if events[last].terminal:
            return whole()
        now = phase(system, released_in(now, state.memory))
        try:
            if len(pieces) > MOST_AT_ONCE and state.t == pieces[-MOST_AT_ONCE].t[0]:
                raise InputError(f"event '{last}' and others release and engage without end at t = {state.t:.6g} s")
            start = caught(now, state, last)
        except InputError as error:
            raise SimulationError(f"simulate '{name}': {error}", whole()) from None


def _turns(system: System, method: str | None, restart: Restart | None) -> Turns:
    """The method of the first piece: where a run goes on, that of its end."""
    if method != AUTO:
        return Turns(method, chosen=False)
    if not {EXPLICIT, IMPLICIT} <= set(system.methods):
        known = ", ".join(system.methods)
        raise InputError(
            f"simulate '{system.model.name}': method '{AUTO}' changes between '{EXPLICIT}' and '{IMPLICIT}', which the formulation "
            f"'{system.formulation}' has not; choose one of {known}"
        )
    goes_on = restart is not None and restart.method in (EXPLICIT, IMPLICIT)
    return Turns(restart.method if goes_on and restart is not None else EXPLICIT, chosen=True)


def released_at(system: System, x0: Any) -> frozenset[str]:
    """What has let go where a run starts."""
    if isinstance(x0, Solution):
        return released_in(system, end_of(system, x0).memory)
    if isinstance(x0, State):
        return released_in(x0.system, x0.memory)
    return released_in(system, {**system.model.initial, **(x0 or {})})


__all__ = ["in_pieces", "released_at"]
