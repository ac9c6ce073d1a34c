"""A system driven from step to step: the front of :class:`jourdain.Stepper`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from ..model.values import instant
from ..results.solution import Solution
from ..solvers import AUTO, METHODS, load_method
from ..systems.constraints import check_closed
from ..systems.inputs import Inputs
from ..systems.phases import phase
from ..systems.run import DEFAULTS, Settings
from ..systems.state import State
from ..systems.stepper import Engine, Stepper, checked_names
from .simulate import end_of, in_seconds, released_at, spelled, with_parameters

if TYPE_CHECKING:
    from ..systems.system import System

#: Common options of runs that a stepper takes.
TAKES = ("rtol", "atol", "max_step", "max_steps")


def stepper(
    system: System, x0: State | Solution | Mapping[str, Any] | None, step: float | str, method: str | None = None, *,
    inputs: Sequence[str] | None = None, outputs: Sequence[str] | None = None, others: Mapping[str, Any] | None = None,
    parameters: Mapping[str, Any] | np.ndarray | None = None, **options: Any,
) -> Stepper:  # fmt: skip
    """A stepper from a state; all options are told by :meth:`.System.stepper`."""
    if parameters is not None:
        system = with_parameters(system, parameters)
    model = system.model
    step = instant(step, f"stepper '{model.name}': step")
    if not (isinstance(step, (int, float, np.number)) and 0.0 < step < np.inf):
        raise InputError(f"stepper '{model.name}': step = {step!r} must be a positive number of seconds")
    phased = bool(model.switches) and not system.goes_through_phases
    now = phase(system, released_at(system, x0)) if phased else system
    start = end_of(now, x0) if isinstance(x0, Solution) else now.state(x0)
    check_closed(now, start)
    acting = Inputs(now, others, start.memory)
    called = {n: c.name for c, _ in acting.callbacks for n in c.inputs}
    given = checked_names(model.name, inputs, [n for n in model.outer_inputs if n not in acting.given and n not in called], "inputs")
    wanted = checked_names(model.name, outputs, model.outputs, "outputs")
    system.check_inputs(given)
    _check_inputs(model.name, given, acting, called)
    word = _method(system, method)
    options = dict(in_seconds(options, f"stepper '{model.name}'"))
    if "overlap" in options and not isinstance(x0, Solution):
        from .touching.apart import start_apart

        start, options = start_apart(now, start, word, options)
    common = {n: x for n, x in options.items() if n in TAKES}
    adaptive = word in METHODS and load_method(word).adaptive
    settings = Settings(word, step=None if adaptive else float(step), given=frozenset(common), **common)
    rest = {n: x for n, x in options.items() if n not in common}
    refused = sorted(rest.keys() & DEFAULTS.keys())
    if refused:
        raise InputError(f"stepper '{model.name}': there is no option '{refused[0]}'; a stepper keeps nothing but where it is")

    def opened(now: System, start: State, acting: Inputs) -> Engine:
        return now.run(start, (start.t, start.t + float(step)), acting, settings, rest).open(float(step), given, wanted)

    if not phased:
        return Stepper(opened(system, start, acting), given, wanted)
    from ..systems.phased_stepper import PhasedEngine, check_outputs

    check_outputs(system, start, wanted)
    return Stepper(PhasedEngine(system, start, lambda now, at: opened(now, at, Inputs(now, others, at.memory))), given, wanted)


def _method(system: System, method: str | None) -> str:
    """The method of a name; without one "rk4", or the formulation's own where it has other methods."""
    if method is None:
        return "rk4" if system.method == AUTO else system.method
    word = str(spelled(method))
    if word == AUTO:
        raise InputError(
            f"stepper '{system.model.name}': method '{AUTO}' may ask for time to compile in any step; name one of {', '.join(system.methods)}"
        )
    return word


def _check_inputs(name: str, given: Sequence[str], acting: Inputs, called: Mapping[str, str]) -> None:
    twice = [n for n in given if n in acting.given]
    if twice:
        raise InputError(f"stepper '{name}': input '{twice[0]}' is one of inputs= and of others=; name it once")
    if acting.controllers:
        raise InputError(
            f"stepper '{name}': '{next(iter(acting.controllers))}' has a Controller; name it in inputs= and compute it between the steps"
        )
    for n in given:
        if n in acting.memories:
            raise InputError(f"stepper '{name}': memory '{n}' is set by the run itself; leave it out of inputs=")
        if n in called:
            raise InputError(f"stepper '{name}': input '{n}' is set by the callback '{called[n]}'; leave it out of inputs=")


__all__ = ["stepper"]
