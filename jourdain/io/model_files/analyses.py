"""The analyses a model names, run from its initial state; results keep the channels it asks for.

>>> from jourdain.io.model_files.model_file import loads_model
>>> m = loads_model('''
... format = "jourdain"
... version = 1
... name = "pendulum"
... keep = ["hinge.angle"]
... [bodies.bob]
... mass = 2
... com = [0, 0, -0.5]
... [joints.hinge]
... kind = "revolute"
... parent = "ground"
... child = "bob"
... axis = "y"
... [initial]
... "hinge.angle" = "30 deg"
... [analyses.swing]
... verb = "simulate"
... t = "2 s"
... outputs = 3
... ''')
>>> found = run(m)
>>> found["swing"].names, found["swing"]["hinge.angle", "deg"].round(2)
(('hinge.angle',), array([ 30.  , -25.93,  14.71]))
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...analysis.design.planned import VERBS as PLANNED
from ...analysis.design.planned import Analysis
from ...errors import InputError, JourdainError, nearest
from ...model.elastic.flexible import FlexibleBody
from ...model.model import Model
from ...model.units import quantity
from ...model.values import number
from ...shown import Shown
from ...spelling import british
from ...systems.formulations import FORMULATIONS, formulate
from ...systems.start import initial_values, replaced
from .names import ModelNames
from .reader import is_quantity

if TYPE_CHECKING:
    from ...results.solution import Solution
    from ...systems.state import State
    from ...systems.system import System

#: Verbs of a model's analyses, with the argument of each that is a state.
VERBS: dict[str, str] = {
    "simulate": "x0", "equilibrium": "x0", "equilibria": "x0", "modal": "state", "linearise": "state", "frequency_response": "state",
    "root_locus": "state", "kinematics": "x0", "static_forces": "state", "assemble": "guess",
}  # fmt: skip
#: Verbs that take an equilibrium whole, with the inputs and parameters found for it.
_ABOUT = ("modal", "linearise", "frequency_response", "root_locus")
#: Options that are laws of time, by name of a channel.
_LAWS = {("simulate", "inputs"), ("kinematics", "motion")}
#: Options that are rows of numbers, which may be written as {from, to, count, spacing}.
_ROWS = ("times", "frequencies", "values")


class AnalysesInterrupted(KeyboardInterrupt):
    """Ctrl-C during the analyses of a model; ``run`` holds those that ended, and of the one that did not what was done."""

    def __init__(self, run: ModelRun, name: str, solution: Solution | None) -> None:
        from ...results.interrupted import what_is_kept

        ended, said = f"ended before: {', '.join(run.whole) or 'none'}", "nothing of it is kept"
        if solution is not None and len(solution):
            run.whole[name], said = what_is_kept(solution)
        super().__init__(f"interrupted in analysis '{name}'; {said}; {ended}")
        self.run = run


class ModelRun(Shown, Mapping[str, Any]):
    """Results of a model's analyses by name; of solutions only the channels that the model keeps (``whole`` has all)."""

    def __init__(self, system: System, start: State, settings: Mapping[str, Any] | None = None) -> None:
        self.system = system
        self.start = start
        #: Results as the analyses gave them.
        self.whole: dict[str, Any] = {}
        #: The formulation of the system, where the run has chosen one.
        self.formulation = ""
        self._settings = dict(settings or {})
        self._formulated: dict[str, tuple[System, State]] = {}

    def in_formulation(self, formulation: str | None) -> tuple[System, State]:
        """The system and its start in a formulation by name; as the run has them where none is given."""
        if formulation is None or formulation == self.formulation:
            return self.system, self.start
        if formulation not in self._formulated:
            system, start = starting(self.system.model, self._settings, formulation)
            self._formulated[formulation] = formulate(system, formulation), start
        return self._formulated[formulation]

    def __getitem__(self, name: str) -> Any:
        if name not in self.whole:
            raise KeyError(f"there is no analysis '{name}'; there is {', '.join(self.whole) or 'none'}")
        result = self.whole[name]
        return kept(result, self.system.model.keep) if is_solution(result) else result

    def __iter__(self) -> Iterator[str]:
        return iter(self.whole)

    def __len__(self) -> int:
        return len(self.whole)

    def save(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Writes the model and every result (table, plot, page) into a folder; returns the files."""
        from .run_folder import save_run

        return save_run(self, folder)

    def __str__(self) -> str:
        return "\n\n".join(f"{name}\n{self._shown(name)}" for name in self)

    def _shown(self, name: str) -> Any:
        """A result to be printed, with the values of what is kept."""
        result = self[name]
        for channel in result.names if is_solution(result) and self.system.model.keep else ():
            result[channel]
        return result


def run(
    model: Model | str | os.PathLike[str],
    *names: str,
    variant: str | None = None,
    settings: Mapping[str, Any] | None = None,
    progress: bool = False,
    formulation: str | None = None,
) -> ModelRun:
    """Runs the analyses of a model or a model file (all of them, or those named) from its initial state.

    ``settings`` replaces parameters, inputs and initial values by name.  An analysis with ``from = "other"`` starts where
    that other analysis ended.  Those that name no ``formulation`` are in the one given ("recursive").  Ctrl-C raises
    ``AnalysesInterrupted``, a ``KeyboardInterrupt`` whose ``run`` holds what was done.
    """
    if not isinstance(model, Model):
        from .model_file import load_model

        model = load_model(model, variant)
    elif variant is not None:
        raise InputError("variant: a model that is built already has none; give its file")
    if not model.analyses:
        raise InputError(f"model '{model.name}' names no analyses; add [analyses.NAME] with a verb such as simulate")
    for name in names:
        _known(name, model.analyses, "analysis")
    order = [n for n in model.analyses if not names or n in names]
    asked = {n: model.analyses[n].get("formulation") for n in order}
    for name, word in asked.items():
        if word is not None and word not in FORMULATIONS:
            raise InputError(f"analysis '{name}': formulation '{word}' is unknown; use one of {', '.join(FORMULATIONS)}")
    alike = set(asked.values())  # a model that other formulations refuse is compiled in its own alone
    chosen: str = formulation or (alike.pop() if len(alike) == 1 else None) or "recursive"
    system, start = starting(model, settings or {}, chosen)
    done = ModelRun(formulate(system, chosen), start, settings)
    done.formulation = chosen
    try:
        for name in order:
            _result(done, name, (), progress)
    except KeyboardInterrupt as error:
        raise AnalysesInterrupted(done, next(n for n in order if n not in done.whole), getattr(error, "solution", None)) from error
    done.whole = {n: done.whole[n] for n in order}
    return done


def _result(done: ModelRun, name: str, waiting: tuple[str, ...], progress: bool) -> Any:
    """The result of an analysis, which is run if it was not yet."""
    if name in done.whole:
        return done.whole[name]
    if name in waiting:
        raise InputError(
            f"analysis '{name}' starts from itself, by way of {', '.join(waiting[waiting.index(name) + 1 :]) or 'its own name'}"
        )
    model = done.system.model
    options = dict(model.analyses[name])
    verb = british(options.pop("verb"), VERBS)
    source = options.pop("from", None)
    changes = options.pop("initial", {})
    try:
        _known(verb, VERBS, "verb")
        system, begun = done.in_formulation(options.pop("formulation", None))
        start: Any = begun
        if source is not None:
            _known(source, model.analyses, "analysis")
            found = _result(done, source, (*waiting, name), progress)
            start = _deformed(verb, found, changes) if getattr(system, "parts", ()) else _end(found)
        if changes:
            start = _changed(system, start, changes)
        done.whole[name] = _call(system, verb, start, options, progress)
    except JourdainError as error:
        if str(error).startswith("analysis '"):
            raise
        raise type(error)(f"analysis '{name}': {error}", *error.args[1:], *_more(error)) from error
    return done.whole[name]


def own_duration(model: Model) -> Any:
    """The time (s, or from and to) of the first simulation that a model names; None where it names none."""
    return next((_plain(a["t"]) for a in model.analyses.values() if a.get("verb") == "simulate" and "t" in a), None)


def planned(model: Model, name: str, settings: Mapping[str, Any] | None = None) -> Analysis:
    """An analysis that a model names, not yet run; one that starts where another ends lets that one run first."""
    _known(name, model.analyses, "analysis")
    options = dict(model.analyses[name])
    verb, source, changes = british(options.pop("verb"), VERBS), options.pop("from", None), options.pop("initial", {})
    chosen = options.pop("formulation", "recursive")
    system, start = starting(model, settings or {}, chosen)
    system = formulate(system, chosen)
    state: Any = start
    if source is not None:
        _known(source, model.analyses, "analysis")
        state = _end(_result(ModelRun(system, start), source, (name,), False))
    if changes:
        state = _changed(system, state, changes)
    if verb not in PLANNED:
        raise InputError(f"analysis '{name}': {verb} cannot be part of a problem; those that can are {', '.join(PLANNED)}")
    state, given = _arguments(system, verb, state, options)
    return Analysis(system, verb, **{PLANNED[verb][0]: state}, **given)


def _more(error: JourdainError) -> tuple[Any, ...]:
    """What an error carries besides its message (what a simulation did before it stopped)."""
    return (error.solution,) if hasattr(error, "solution") else ()


def _known(name: Any, known: Mapping[str, Any], what: str) -> None:
    if name not in known:
        near = nearest(str(name), known, 2) or list(known)
        raise InputError(f"there is no {what} '{name}'; there is {', '.join(near)}")


def _arguments(system: System, verb: str, start: Any, options: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """The state and the options of a verb, checked."""
    function: Callable[..., Any] = getattr(system, verb)
    state = VERBS[verb]
    known = [*inspect.signature(function).parameters, *inspect.signature(getattr(type(system.reference), verb, function)).parameters]
    allowed = [p for p in dict.fromkeys(known) if p not in (state, "self", "parameters", "progress", "options")]
    for key in options:
        if key not in allowed:
            near = nearest(key, allowed, 2) or allowed
            raise InputError(f"{verb} has no option '{key}'; it has {', '.join(near)}")
    if verb == "simulate" and "t" not in options:
        raise InputError('simulate lacks its duration, such as t = "10 s"')
    if verb not in _ABOUT and not is_solution(start):
        start = getattr(start, "state", start)
    return start, {k: _option(system, verb, k, x) for k, x in options.items()}


def _call(system: System, verb: str, start: Any, options: dict[str, Any], progress: bool) -> Any:
    start, given = _arguments(system, verb, start, options)
    if verb == "simulate" and progress:
        given["progress"] = True
    result = getattr(system, verb)(**{VERBS[verb]: start}, **given)
    return result.solution if verb == "kinematics" else result


def _option(system: System, verb: str, key: str, given: Any) -> Any:
    if (verb, key) in _LAWS and isinstance(given, dict):
        return {name: _law(system, x) for name, x in given.items()}
    if key in _ROWS and isinstance(given, dict):
        return _row(key, given)
    return _plain(given)


def _plain(given: Any) -> Any:
    """Texts with a unit as numbers in SI units, inside lists and tables too."""
    if isinstance(given, dict):
        return {k: _plain(x) for k, x in given.items()}
    if isinstance(given, list):
        return [_plain(x) for x in given]
    return quantity(given) if isinstance(given, str) and is_quantity(given) else given


def _law(system: System, given: Any) -> Any:
    """A number, or a function of time from an expression."""
    given = _plain(given)
    if not isinstance(given, str):
        return given
    return Law(ModelNames(system.model).parse(given))


@dataclass(frozen=True)
class Law:
    """An expression as a function of time."""

    expression: Any

    def __call__(self, t: Any) -> Any:
        """The expression, whatever the symbol of time."""
        return self.expression


def _row(key: str, given: Mapping[str, Any]) -> np.ndarray:
    extra = set(given) - {"from", "to", "count", "spacing"}
    if extra or not {"from", "to", "count"} <= set(given):
        raise InputError(f'{key}: write a list of numbers or {{from = …, to = …, count = …}}, with spacing = "log" if you like')
    low, high = (number(given[k], f"{key}: {k}") for k in ("from", "to"))
    count, spacing = given["count"], given.get("spacing", "linear")
    if type(count) is not int or not 2 <= count <= 10_000_000:
        raise InputError(f"{key}: count is {count!r}; a whole number from 2 on is needed")
    if spacing not in ("linear", "log") or (spacing == "log" and not 0 < low < high):
        raise InputError(f'{key}: spacing is {spacing!r}; use "linear", or "log" between positive ends')
    return np.geomspace(low, high, count) if spacing == "log" else np.linspace(low, high, count)


# --- starts ----------------------------------------------------------------------------------------------------------


def starting(model: Model, settings: Mapping[str, Any], formulation: str = "recursive") -> tuple[System, State]:
    """The compiled model at its initial state with parameters, inputs and initial values replaced by name; loops are closed.

    By directors flexible bodies are elements and no modes, so that such a model is compiled for them at once; others are formulated from the tree.
    """
    values = dict(settings)
    bending = formulation == "directors" and any(isinstance(b, FlexibleBody) for b in model.bodies.values())
    system: System = model.compile(formulation="directors") if bending else model.compile()
    parameters = {n: values.pop(n) for n in list(values) if n in system.parameters}
    if parameters:
        system.set_parameters(**parameters)
    for name in [n for n in values if n in model.outer_inputs]:
        item = model.inputs[name]
        given = values.pop(name)
        item.value = quantity(given, item.unit or None) if isinstance(given, str) else number(given, f"input '{name}'")
    return system, initial_state(system, system.reference.model.initial if bending else model.initial, values)  # parts start without modes


def initial_state(system: System, initial: Mapping[str, Any], held: Mapping[str, Any]) -> State:
    """A state from initial values and others that go before them; where there are loops, those in ``held`` are kept."""
    if not system.equations_of_motion.rows:
        return system.state(replaced(system, initial, held))
    given = initial_values(system, held)
    turned = {n: x for n, x in given.positions.items() if ".orientation." in n}  # parts of a quaternion cannot be held one by one
    fixed = {n: x for n, x in given.positions.items() if n not in turned}
    return system.assemble(fixed, guess=turned, velocities=given.rates, initial={**initial, **given.states, **given.memories})


def _end(result: Any) -> Any:
    """The state that another analysis may start from: the end of a motion, or what was found."""
    if is_solution(result):
        return result.final_state()
    if hasattr(result, "state") or hasattr(result, "q"):
        return result
    raise InputError(f"a {type(result).__name__} has no state to start from")


def _deformed(verb: str, result: Any, changes: Mapping[str, Any]) -> Any:
    """The motion after which parts of large deformation go on: a state does not tell how they are bent."""
    if verb != "simulate" or changes or not is_solution(result):
        raise InputError(
            "parts of large deformation go on after a motion by simulate alone, with nothing changed; leave out 'from' or 'initial'"
        )
    return result


def _changed(system: System, start: Any, changes: Mapping[str, Any]) -> State:
    state: State = getattr(start, "state", start)
    names = [*system.coordinate_names, *system.velocity_names, *system.model.states, *system.model.memories, *system.model.unknowns]
    known = {n: float(state[n]) for n in names}
    return initial_state(system, known, changes)


# --- results ---------------------------------------------------------------------------------------------------------


def is_solution(result: Any) -> bool:
    """Whether a result is a motion with channels."""
    from ...results.solution import Solution

    return isinstance(result, Solution)


def kept(solution: Solution, patterns: Sequence[str]) -> Solution:
    """The channels of a solution that match the patterns (all without any); components of vectors become channels."""
    if not patterns:
        return solution
    names: list[str] = []
    parts: dict[str, Any] = {}
    for pattern in patterns:
        found = solution.names(pattern)
        if not found and pattern != "t":
            try:
                parts[pattern] = solution.channel(pattern)
            except JourdainError as error:
                if solution.metadata.get("status") == "interrupted":  # only what was known then is there
                    continue
                raise InputError(f"keep: {error}") from None
        names += found
    if not names and not parts:
        return solution
    return solution.with_channels(**parts).select(*map(escape, dict.fromkeys([*names, *parts])))


__all__ = ["VERBS", "AnalysesInterrupted", "ModelRun", "initial_state", "kept", "run", "starting"]
