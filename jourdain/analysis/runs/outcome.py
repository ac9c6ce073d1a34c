"""Runs gone through: what they gave is looked at and told, and becomes a solution."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ...model.contact.methods import touches
from ...results.solution import Solution
from ...solvers import ADAPTIVE
from ...systems.audit import audited, beyond_limits, beyond_turns, too_bent, too_short, too_stiff
from ...systems.constraints import check_closed
from ...systems.modes import dictating_mode
from ...systems.outputs.happened import event_table
from ...systems.outputs.solution import Then, solution_of
from ...systems.run import Outcome, Restart, Run, SimulationError, SimulationInterrupted

if TYPE_CHECKING:
    from types import TracebackType

    from ...systems.inputs import Inputs
    from ...systems.run import Settings
    from ...systems.state import State
    from ...systems.system import System


def solved(system: System, run: Run, restart: Restart | None, begun: bool = False) -> Solution:
    """A run gone through, looked at and told; one that has begun earlier may be as far from closed as the other scheme left it."""
    if not run.fits(restart):  # what another scheme left of its velocities' errors is put right by the first step
        check_closed(system, run.start, 1e-4 if begun or restart is not None else 1e-6)
    outcome = run.go(restart)
    try:
        return looked_at(system, run, outcome)
    except SimulationInterrupted:
        raise
    except KeyboardInterrupt:  # when all steps were done
        return looked_at(system, run, replace(outcome, status="interrupted"))


class Prepared:
    """What is prepared for a run, and Ctrl-C meanwhile: the error of interrupted runs, which carries the start.

    Code is compiled here for a first run, by functions that give back nothing when they are interrupted.
    """

    def __init__(self, system: System, start: State, inputs: Inputs, settings: Settings, restart: Restart | None) -> None:
        self.system, self.start, self.inputs, self.settings, self.restart = system, start, inputs, settings, restart

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None) -> None:
        if kind is KeyboardInterrupt:
            told = f"simulate '{self.system.model.name}': interrupted at t = {self.start.t:.6g} s before a step was kept; its start is in .solution"
            raise SimulationInterrupted(told, self.at_start()) from error

    def at_start(self) -> Solution:
        """The start as a run of one sample, from which another run goes on as this one would have."""
        system, start, settings = self.system, self.start, self.settings
        about = {
            "model": system.model.name, "formulation": system.formulation, "method": str(settings.method), "status": "interrupted",
            "every_step": settings.times is None,
        }  # fmt: skip
        solution = solution_of(system, np.array([start.t]), start.x[None], about, {"steps": 0}, self.inputs.at)
        solution.restart = self.restart
        return solution


def looked_at(system: System, run: Run, outcome: Outcome) -> Solution:
    """What a run gave, looked at and told."""
    name, outcome = system.model.name, audited(system, run, with_start(run, outcome))
    run.status = outcome.status
    solution = told_of(system, run, outcome)
    if outcome.status == "interrupted":
        reached = outcome.restart.t if outcome.restart is not None else solution.t[-1]
        raise SimulationInterrupted(f"simulate '{name}': interrupted at t = {reached:.6g} s; what was done is in .solution", solution)
    if outcome.status in ("failed", "max_steps"):
        cause = outcome.cause.__cause__ or outcome.cause if outcome.cause is not None else None
        raise SimulationError(f"simulate '{name}': {outcome.message}", solution) from cause
    told = (
        too_bent(system, outcome)
        or beyond_limits(system, solution)
        or too_short(system, run, outcome, solution)
        or too_stiff(run, outcome, solution, partial(told_of, system, run))
        or beyond_turns(system, run, outcome)
    )
    if told:
        warnings.warn(f"simulate '{name}': {told}", RuntimeWarning, stacklevel=5)
    if outcome.status == "doubtful":
        warnings.warn(f"simulate '{name}': {outcome.message}", RuntimeWarning, stacklevel=5)
    return solution


def with_start(run: Run, outcome: Outcome) -> Outcome:
    """What a run gave; one that ended before its first sample, though each step is kept, has its start."""
    if len(outcome.t) or run.settings.times is not None:
        return outcome
    return replace(outcome, t=np.array([run.start.t]), states=run.start.x[None], between=None)


def told_of(system: System, run: Run, outcome: Outcome) -> Solution:
    """What a run gave, with names."""
    inputs, settings = run.inputs, run.settings
    inputs.broken = outcome.cause is not None
    values = system.parameter_vector  # as they are now

    def about() -> dict[str, Any]:
        known = system.model.parameter_set
        adapts = settings.step is None or settings.method in ADAPTIVE
        told = dictating_mode(system.model, abs(run.span[1] - run.span[0]), int(outcome.statistics().get("steps", 0))) if adapts else ""
        return {
            "model": system.model.name, "formulation": system.formulation, "run": run.kind, "method": str(settings.method), "rtol": settings.rtol,
            "atol": settings.atol, "parameters": {p.name: x for p, x in zip(known, values.tolist(), strict=True) if not p.data},
            "status": outcome.status, "message": outcome.message, "every_step": settings.times is None,
            **({"structures": known.digest} if known.digest else {}), **({"note": told} if told else {}), **outcome.about,
        }  # fmt: skip

    solution = solution_of(
        system, outcome.t, outcome.states, about, outcome.statistics, inputs.at, outcome.between, outcome.channels, bool(inputs.callbacks),
        outcome.instead, outcome.driven,
    )  # fmt: skip
    solution.restart, solution.raw = outcome.restart, outcome.raw
    if outcome.restart is not None:
        outcome.restart.asked = run.asked
    if outcome.contacts is not None:
        solution.touching = outcome.contacts(solution)
    elif system.model.contacts and touches(system.model):
        from ...systems.outputs.touch_table import TouchTable

        solution.touching = TouchTable(solution, system.reference)
    if system.model.events:
        solution._events = Then(system)(partial(event_table, system, inputs, outcome.events))
    return solution


__all__ = ["Prepared", "looked_at", "solved", "told_of"]
