"""Motion in time: the one front of all runs, whatever the formulation and the method."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError, short
from ..model.contact.methods import touches
from ..model.values import seconds
from ..reals import reals
from ..results.solution import Solution
from ..solvers import ADAPTIVE, AUTO, EXPLICIT, IMPLICIT
from ..systems.inputs import Controller, Inputs
from ..systems.run import DEFAULTS, Restart, Settings, SimulationError, SimulationInterrupted
from ..systems.start import check_belongs
from ..systems.state import State, split_state
from .runs.outcome import Prepared, solved
from .runs.plain import EXACT, again, keep, key_of

if TYPE_CHECKING:
    from ..systems.system import System


def simulate(
    system: System, x0: State | Solution | Mapping[str, Any] | None = None, t: float | str | Sequence[float | str] | None = None, method: str | None = None, *,
    inputs: Mapping[str, Any] | None = None, parameters: Mapping[str, Any] | np.ndarray | None = None, **options: Any,
) -> Solution:  # fmt: skip
    """Simulates from a state for ``t`` seconds (or from t[0] to t[1]); all options are told by :meth:`.System.simulate`.

    A run that cannot go on raises :class:`SimulationError`, one that is interrupted by Ctrl-C :class:`SimulationInterrupted` (a
    ``KeyboardInterrupt``); what was done is the ``solution`` of both.
    """
    if t is None:
        raise InputError(f"simulate '{system.model.name}': for how long? give t= in seconds, or (start, end)")
    if isinstance(t, int) and t.__class__ is int and -EXACT <= t <= EXACT:
        t = float(t)
    if method is None and isinstance(x0, Solution):
        method, options = as_before(system, x0.restart, options)
    plain = inputs is None and parameters is None and system.formulation == "recursive"
    key = key_of(system, x0, t, method, options) if plain else None
    if key is not None:
        found = again(system, x0, t, key)
        if found is not None:
            return found
    if parameters is not None:
        system = with_parameters(system, parameters)
    if "formulation" in options:
        word = options.pop("formulation")
        warnings.warn(f"simulate: formulation='{word}' is now written reduction='{word}'", DeprecationWarning, stacklevel=3)
        options.setdefault("reduction", word)
    if system.model.switches and not system.goes_through_phases:
        from .runs.pieces import Pieces

        return Pieces(system, method, inputs).go(x0, t, options)
    start, restart, span = started(system, x0, t)
    if restart is None and (("overlap" in options) or (method != "moreau" and system.model.contacts and touches(system.model))):
        from .touching.apart import start_apart

        start, options = start_apart(system, start, method, options)
    settings, rest = settings_of(system, span, method, options)
    if settings.method not in ADAPTIVE:
        check_arrives(system.model.name, settings.step, span)
    acting = Inputs(system, inputs, start.memory)
    with Prepared(system, start, acting, settings, restart):
        run = system.run(start, span, acting, settings, rest)
        run.asked = asked_of(system, method, options)
        solution = solved(system, run, restart)
    if key is not None:
        keep(key, run)
    return solution


def check_arrives(name: str, step: float | None, span: tuple[float, float]) -> None:
    """Refuses a fixed step so short that the time does not change by it before the end."""
    least = math.ulp(max(abs(span[0]), abs(span[1])))
    if step is not None and 0.0 < step < least:
        raise InputError(
            f"simulate '{name}': steps of {step:g} s never reach t = {span[1]:g} s, where times differ by {least:.2g} s at least; take longer steps"
        )


def with_parameters(system: System, parameters: Mapping[str, Any] | np.ndarray) -> System:
    """A copy of a system with other values of all its parameters, or of those that are named."""
    if not isinstance(parameters, Mapping):
        return system.copy(parameters)
    found = system.copy()
    found.set_parameters(**parameters)
    return found


def started(system: System, x0: Any, t: Any) -> tuple[State, Restart | None, tuple[float, float]]:
    """The state from which a run starts, what an earlier run remembers, and the span."""
    restart = None
    if isinstance(x0, Solution):
        restart, start = x0.restart, end_of(system, x0)
    else:
        start = system.state(x0)
    span = span_of(system.model.name, start.t, t)
    return start if start.t == span[0] else start.with_values(t=span[0]), restart, span


#: Options that say how steps are taken no more than once: a run that goes on does not keep them.
ONCE = frozenset(("steps", "max_steps", "times", "outputs", "dense", "progress", "overlap", "elements", "watch"))


def asked_of(system: System, method: str | None, options: Mapping[str, Any]) -> dict[str, Any]:
    """What a run that goes on from this one without naming a method takes over: the method, if one was named, and its options."""
    if method is None:
        return {}
    return {"formulation": system.formulation, "method": method, "options": {n: x for n, x in options.items() if n not in ONCE}}


def as_before(system: System, restart: Restart | None, options: dict[str, Any]) -> tuple[str | None, dict[str, Any]]:
    """Method and options of a run that names no method and goes on from another: those of the other, with what is given now."""
    asked = restart.asked if restart is not None else {}
    if asked.get("formulation") != system.formulation:
        return None, options
    return asked["method"], {**asked["options"], **options}


def settings_of(
    system: System, span: tuple[float, float], method: str | None, options: Mapping[str, Any]
) -> tuple[Settings, Mapping[str, Any]]:
    """Method, step control and output, and the options that are the formulation's own."""
    options = in_seconds(options, f"simulate '{system.model.name}'")
    if isinstance(method, (int, float)):
        raise InputError(f"simulate '{system.model.name}': method = {method!r} is no method; a step is given as step={method!r}")
    word = system.method if method is None else spelled(method)
    if word == AUTO and (method is not None or system.model.callbacks or options.get("steps") is not None):
        word = _turns_or_explicit(system, method, options)
    plain = word.__class__ is str and all(x.__class__ in (float, int, str, bool) for x in options.values())
    if plain and options.keys().isdisjoint(("times", "outputs", "steps")):
        return _plain_settings(word, tuple(options.items()))
    given = {n: x for n, x in options.items() if n in DEFAULTS}
    common = DEFAULTS | given
    times = instants_of(system.model.name, span, common.pop("times"), common.pop("outputs"))
    common["steps"] = _given_steps(system.model.name, common["steps"], given)
    settings = Settings(word, times=times, given=frozenset(given), **common)
    return settings, {n: x for n, x in options.items() if n not in DEFAULTS}


def in_seconds(options: Mapping[str, Any], what: str) -> Mapping[str, Any]:
    """Options whose times may be written with units, in seconds."""
    for name in TIMES if options else ():
        if isinstance(options.get(name), str):
            options = {**options, name: seconds(options[name], f"{what}: {name}")}
    return options


@lru_cache(64)
def _plain_settings(method: str, options: tuple[tuple[str, Any], ...]) -> tuple[Settings, Mapping[str, Any]]:
    """The same where options are numbers and words that do not depend on the run."""
    given = {n: x for n, x in options if n in DEFAULTS}
    return Settings(method, **given, given=frozenset(given)), MappingProxyType({n: x for n, x in options if n not in DEFAULTS})


def _turns_or_explicit(system: System, method: str | None, options: Mapping[str, Any]) -> str:
    """Turns of methods, where they can be taken; given steps are taken by one method."""
    if method is not None and not {EXPLICIT, IMPLICIT} <= set(system.methods):
        raise InputError(
            f"simulate '{system.model.name}': method '{AUTO}' changes between '{EXPLICIT}' and '{IMPLICIT}', which the formulation "
            f"'{system.formulation}' has not; choose one of {', '.join(system.methods)}"
        )
    if options.get("steps") is None:  # of callbacks, which are called with numbers, implicit methods know no derivatives
        return EXPLICIT if system.model.callbacks else AUTO
    if method is not None:
        raise InputError(f"simulate '{system.model.name}': steps= cannot be given with method='{AUTO}'; name one method")
    return EXPLICIT


def _given_steps(name: str, steps: Any, given: Mapping[str, Any]) -> np.ndarray | None:
    """The instants to step to: those given, or every step of a solution."""
    if steps is None:
        return None
    for other in ("step", "max_step"):
        if other in given:
            raise InputError(f"simulate '{name}': steps= gives every step; leave out {other}=")
    if isinstance(steps, Solution):
        if not steps.metadata.get("every_step", False):
            raise InputError(
                f"simulate '{name}': the solution given as steps= has not kept every step; simulate it without times= and outputs="
            )
        if len(steps.metadata.get("turns", ())) > 1:
            raise InputError(
                f"simulate '{name}': the solution given as steps= was found by methods in turns; simulate it with one, as method='{EXPLICIT}'"
            )
        return steps.t
    return reals(steps, f"simulate '{name}': steps, neither a solution nor instants,")


#: Options that are times.
TIMES = ("step", "max_step")
#: Methods that were written with underscores.
OLD_SPELLINGS = {
    "semi_implicit_euler", "velocity_verlet", "generalized_alpha", "augmented_lagrangian", "energy_momentum", "backward_euler",
}  # fmt: skip


def spelled(method: Any) -> Any:
    """A method's name as it is spelled now."""
    if isinstance(method, str) and method in OLD_SPELLINGS:
        new = method.replace("_", "-")
        warnings.warn(f"simulate: method '{method}' is now written '{new}'", DeprecationWarning, stacklevel=5)
        return new
    return method


def end_of(system: System, solution: Solution) -> State:
    """The state at the end of a run, whichever samples of it were kept."""
    if solution.system is not None:
        check_belongs(system.reference, solution.system, "solution")
    if solution.restart is None:
        return system.state(solution.final_state())
    held = dict(zip(system.model.inputs, solution.restart.memory.get("u", ()), strict=False))
    memory = {n: float(held[n]) for n in (*system.model.memories, *system.model.unknowns) if n in held}
    return split_state(system.reference, solution.restart.x, solution.restart.t).with_values(memory=memory)


def released_at(system: System, x0: Any) -> frozenset[str]:
    """What has let go where a run starts."""
    from ..systems.phases import released_in

    if isinstance(x0, Solution):
        return released_in(system, end_of(system, x0).memory)
    if isinstance(x0, State):
        return released_in(x0.system, x0.memory)
    return released_in(system, {**system.model.initial, **(x0 or {})})


def span_of(name: str, begun: float, t: Any) -> tuple[float, float]:
    """First and last instant of a run over ``t`` seconds, or from t[0] to t[1]."""
    try:
        if t.__class__ is float:
            first, last = begun, begun + t
        else:
            ends = [seconds(x, f"simulate '{name}': the time") for x in ([t] if isinstance(t, str) or np.ndim(t) == 0 else t)]
            first, last = (begun, begun + ends[0]) if isinstance(t, str) or np.ndim(t) == 0 else ends
    except InputError:
        raise
    except (TypeError, ValueError):
        told = "; instants of output are times=…, beside t" if np.size(t) > 2 else ""
        raise InputError(f"simulate '{name}': the time {short(t)} is neither a number of seconds nor a pair (start, end){told}") from None
    if not (last > first and math.isfinite(last - first)):
        raise InputError(f"simulate '{name}': the end {last:g} s is not after the start {first:g} s, or not finite")
    return first, last


def instants_of(name: str, span: tuple[float, float], times: Any, outputs: int | None) -> Any:
    """The instants to keep: those given, ``outputs`` equal ones, or None."""
    if outputs is None:
        return None if times is None else _checked_times(name, span, times)
    if times is not None:
        raise InputError(f"simulate '{name}': times= and outputs= both say what to keep; give one of them")
    if not isinstance(outputs, (int, np.integer)) or outputs < 2:
        raise InputError(f"simulate '{name}': outputs = {short(outputs)} must be a whole number of at least 2")
    try:
        return np.linspace(*span, outputs)
    except (ValueError, MemoryError) as error:
        raise InputError(f"simulate '{name}': outputs = {short(outputs)} are more instants than there is memory for ({error})") from None


def _checked_times(name: str, span: tuple[float, float], times: Any) -> np.ndarray:
    found = np.atleast_1d(reals(times, f"simulate '{name}': times"))
    slack = 1e-12 * max(abs(span[0]), abs(span[1]))
    if found.ndim != 1 or not np.isfinite(found).all() or (np.diff(found) < 0).any():
        raise InputError(f"simulate '{name}': output times must be one row, finite and in order")
    if found.size and (found[0] < span[0] - slack or found[-1] > span[1] + slack):
        raise InputError(
            f"simulate '{name}': output times must lie between {span[0]:g} and {span[1]:g} s; they reach from {found[0]:g} to {found[-1]:g} s"
        )
    return np.clip(found, *span)


__all__ = ["Controller", "SimulationError", "SimulationInterrupted", "check_arrives", "simulate"]
