"""The inputs of one run: numbers, signals of time, sampled controllers, the model's Python callbacks, and memories."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError, SolverError, short
from ..model.values import instant, number, traced, value
from ..reals import NotReal, real
from ..solvers.ode.events import Event, Samples
from ..symbolic.expr import KINDS, Expr, as_expr
from ..symbolic.graph import evaluate, free_symbols
from ..symbolic.tables import table
from ..told import told
from .callbacks import Named, finite
from .found_inputs import find_inputs
from .outputs.readings import Reading
from .state import State

if TYPE_CHECKING:
    from ..solvers.memory_log import Noted
    from ..solvers.ode.memories import Renewals
    from .system import System
    from .tree.projected import NativeSystem

#: What an expression of time and parameters depends on.
TIMED = KINDS["time"] | KINDS["parameter"]
#: The model's state that belongs to a time and a state of a run.
StateOf = Callable[[float, np.ndarray], State]


@told
@dataclass(frozen=True)
class Controller:
    """A discrete-time controller: every ``period`` seconds ``law(state)`` gives the input's new value, held in between.

    The law may also be an expression of the model: of coordinates, sensors, gauges, encoders, accelerations, inputs and time.
    """

    law: Callable[[State], float] | Expr
    period: float

    def __init__(self, law: Callable[[State], float] | Expr, period: float | str) -> None:
        """The period is in seconds, or written with its unit: "2 ms"."""
        object.__setattr__(self, "law", law)
        object.__setattr__(self, "period", instant(period, "controller: its period"))


class Inputs:
    """What acts on a system during a run, and afterwards what acted at any time (:meth:`at`).

    ``given`` are values by the names of the model's inputs: numbers, functions or tables of time, or a :class:`Controller`; those that a
    callback of the model sets are its own, and so are memories, which begin as in ``memory``, or as the model says.
    """

    def __init__(self, system: System, given: Mapping[str, Any] | None = None, memory: Mapping[str, float] | None = None) -> None:
        self.system = system
        model = system.model
        self.constants: dict[str, float] = {}
        #: Expressions of time by the symbols of their inputs; they become part of the equations.
        self.signals: dict[Expr, Expr] = {}
        self.controllers: dict[str, Controller] = {}
        #: Laws of controllers that are expressions.
        self._readings: dict[str, Reading] = {}
        #: Callbacks of the model with the places of their inputs.
        self.callbacks = [(c, [list(model.inputs).index(n) for n in c.inputs]) for c in model.callbacks.values()]
        #: Inputs that contacts set.
        self.found = model.found_inputs if model.contacts else set()
        #: As the user wrote them.
        self.given = given or {}
        if self.given:
            self._sort(self.given)
        #: All inputs at the start.
        self.initial = system.input_values({**memory, **self.constants} if memory else self.constants)
        #: Memories, and in blocks the instants when they changed with their new values.
        self.memories = list(model.memories)
        self.renewed: Noted = []
        #: Algebraic unknowns, and in the same way their values at accepted points.
        self.unknowns = list(model.unknowns)
        self.settled: Noted = []
        #: When controllers set which inputs to what, in order of time.
        self.history: list[tuple[float, dict[str, float]]] = []
        #: When each controller was asked last, and what it gave.
        self.acted: dict[str, tuple[float, float]] = {}
        #: Whether a callback has ended the run: where it gives no value, inputs are NaN afterwards.
        self.broken = False
        #: The instant from which sampling instants are counted; an earlier one where a run goes on.
        self.begun: float | None = None

    def _sort(self, given: Mapping[str, Any]) -> None:
        model = self.system.model
        if not isinstance(given, Mapping):
            raise InputError(f"'{model.name}': inputs = {given!r} must give values by the names of inputs, as {{'motor': 1.0}}")
        self.system.input_values(dict.fromkeys(given, 0.0))  # refuses unknown names
        owners = {n: c.name for c, _ in self.callbacks for n in c.inputs}
        for name, item in given.items():
            if name in model.memories:
                raise InputError(f"memory '{name}' is set by the run itself; give its value at the start with the state: {{'{name}': …}}")
            if name in self.found:
                raise InputError(f"input '{name}' is the force of a contact, which the run finds; it cannot be given")
            if name in model.unknowns:
                raise InputError(
                    f"unknown '{name}' is found by its equation; a value with the state, {{'{name}': …}}, is where its search begins"
                )
            if name in owners:
                raise InputError(f"input '{name}' is set by the callback '{owners[name]}' and cannot be given for a run")
            if isinstance(item, Controller):
                _check_period(name, item.period)
                if isinstance(item.law, Expr):
                    self._readings[name] = Reading(self.system, item.law, f"controller of '{name}'")
                self.controllers[name] = item
            elif isinstance(item, tuple):
                self.signals[model.inputs[name].symbol] = as_expr(table(*item, name=name)(model.time))
            elif callable(item) or (isinstance(item, Expr) and not item.is_number):
                self.signals[model.inputs[name].symbol] = self._signal(name, item)
            else:
                self.constants[name] = number(item, f"input '{name}'", model.inputs[name].unit or None)

    def _signal(self, name: str, law: Callable[[Any], Any] | Expr) -> Expr:
        """A signal as an expression of time and parameters."""
        model, what = self.system.model, f"signal of '{name}'"
        given = law if isinstance(law, Expr) else traced(law, what, model.time)
        found = value(given, f"{what} at all t", model.inputs[name].unit or None)
        known = {model.time, *model.parameter_set.symbols}
        others = ", ".join(f"'{e}'" + " of another model" * (e.deps <= TIMED) for e in free_symbols([found]) if e not in known)
        if others:
            raise InputError(
                f"{what}: it depends on {others}; a signal is an expression of time and of parameters of '{model.name}'. What depends on the motion is a "
                "law of the model (m.force, m.spring …), or of a controller that is asked every period: jd.Controller(law, period)"
            )
        return found

    @cached_property
    def memory_places(self) -> np.ndarray:
        """Places of the memories among the inputs."""
        return self._places(self.memories)

    @cached_property
    def unknown_places(self) -> np.ndarray:
        """Places of the unknowns among the inputs."""
        return self._places(self.unknowns)

    def _places(self, names: list[str]) -> np.ndarray:
        order = list(self.system.model.inputs)
        return np.array([order.index(n) for n in names], dtype=np.int64)

    @property
    def steady(self) -> bool:
        """Whether all inputs stay as they are."""
        return not (self.signals or self.controllers or self.callbacks or self.memories or self.found or (self.unknowns and self.sought))

    @property
    def repeat(self) -> bool:
        """Whether native functions that were made ready serve other runs, too: inputs are steady, or memories that no event sets."""
        if not self.memories:
            return self.steady
        return not (self.signals or self.controllers or self.callbacks or self.found or self.unknowns or self._set_by_events)

    @cached_property
    def _set_by_events(self) -> bool:
        held = {m.symbol for m in self.system.model.memories.values()}
        return any(held & item.jump.keys() for item in self.system.model.events.values())

    @property
    def sought(self) -> list[str]:
        """Names of the unknowns that Newton's method must find."""
        return self.system.equations_of_motion.sought if self.unknowns else []

    @property
    def set_on_the_way(self) -> list[str]:
        """Names of the inputs that controllers, callbacks and renewals set."""
        return [*self.controllers, *(n for c, _ in self.callbacks for n in c.inputs), *self.memories, *self.found]

    # -- controllers ----------------------------------------------------------------------------------------------

    def sampled(self, name: str, state: State) -> float:
        """The new value of a controlled input at a state; it is kept in the history.

        A law may remember what it was asked: where a run goes on in other coordinates at an instant of sampling, it is not asked again.
        """
        if name in self.acted and self.acted[name][0] == state.t:
            return self.acted[name][1]
        law = self.controllers[name].law
        with Named(f"controller of '{name}'", state.t):
            given = self._readings[name](state, self._before(state)) if isinstance(law, Expr) else law(state)
        value = float(finite([given], f"controller of '{name}'", state.t)[0])
        self.history.append((state.t, {name: value}))
        self.acted[name] = state.t, value
        return value

    def _before(self, state: State) -> np.ndarray:
        """The inputs just before controllers act at the instant of a state, memories and unknowns as it holds them."""
        timed = self.signals or self.callbacks
        u = self.at(np.array([state.t]), state.x[None])[0] if timed else self.initial.copy()
        for i, name in enumerate(self.system.model.inputs):
            if name in self.controllers:
                earlier = (given[name] for since, given in reversed(self.history) if name in given and since < state.t)
                u[i] = next(earlier, self.initial[i])
            else:
                u[i] = state.memory.get(name, u[i])
        return u

    def sampling_instants(self, name: str, span: tuple[float, float]) -> np.ndarray:
        """When a controller acts within a span: whole periods from the beginning of the first run on."""
        begun, period = span[0] if self.begun is None else self.begun, self.controllers[name].period
        first = int(np.ceil((span[0] - begun) / period - 1e-9))
        last = int(np.ceil((span[1] - begun) / period - 1e-9))
        return begun + period * np.arange(first, last)

    def samples(self, span: tuple[float, float], u: np.ndarray, state_of: StateOf) -> list[Samples]:
        """The controllers as the solvers take them: they read states x through ``state_of`` and write into ``u``."""

        def acting(name: str, index: int) -> Callable[[float, np.ndarray], None]:
            def action(t: float, x: np.ndarray) -> None:
                u[index] = self.sampled(name, self.remembering(state_of(t, x), u))

            return action

        places = {n: i for i, n in enumerate(self.system.model.inputs)}
        return [Samples(self.sampling_instants(n, span), acting(n, places[n]), n) for n in self.controllers]

    # -- memories -------------------------------------------------------------------------------------------------

    def remembering(self, state: State, u: np.ndarray) -> State:
        """A state with memories and unknowns as they stand in ``u``."""
        names, places = (*self.memories, *self.unknowns), (*self.memory_places, *self.unknown_places)
        return state.with_values(memory={n: float(u[i]) for n, i in zip(names, places, strict=True)}) if names else state

    def renewing(self, native: NativeSystem, after: Callable[[float, np.ndarray], np.ndarray] | None = None) -> dict[str, Any]:
        """What the solvers do about memories and unknowns at accepted points; ``after`` is for methods whose state speaks of accelerations."""
        if not (self.memories or self.unknowns):
            return {}
        if native.search is not None:
            native.search.noted = self.settled
        return {"memories": self._renewals(native, after), "unknowns": native.search}

    def rewind(self, t: float, u: np.ndarray) -> None:
        """Goes back to an instant: what was noted after it is forgotten, memories and unknowns in ``u`` are those of then."""
        for noted, places in ((self.renewed, self.memory_places), (self.settled, self.unknown_places)):
            kept = [(since[since <= t], values[since <= t]) for since, values in noted]
            noted[:] = [(since, values) for since, values in kept if len(since)]
            u[places] = noted[-1][1][-1] if noted else self.initial[places]

    def forget(self) -> None:
        """Forgets when memories and unknowns became what."""
        self.renewed.clear()
        self.settled.clear()

    def _renewals(self, native: NativeSystem, after: Callable[[float, np.ndarray], np.ndarray] | None) -> Renewals | None:
        """The memories as the solvers renew them."""
        if not self.memories:
            return None
        from ..solvers.ode.memories import Renewals

        return Renewals(native.renewal(), native.u, self.memory_places, self.memories, self.renewed, after)

    def set_memories(self, t: float, values: np.ndarray, u: np.ndarray) -> None:
        """New values of all memories from an instant on."""
        u[self.memory_places] = values
        self.renewed.append((np.array([t]), np.array(values, dtype=float)[None]))

    def setting_memories(self, events: list[Event], u: np.ndarray, state_of: StateOf) -> list[Event]:
        """Events of the model with actions that also give memories the values of their jumps."""
        if not self.memories:
            return events
        items = self.system.model.events
        held = {m.symbol for m in self.system.model.memories.values()}
        jumps = {name: item.jump.keys() for name, item in items.items()}
        return [replace(e, action=self._setting(e, u, state_of)) if held & jumps.get(e.name, set()) else e for e in events]

    def _setting(self, event: Event, u: np.ndarray, state_of: StateOf) -> Callable[[float, np.ndarray], Any]:
        jump: Any = event.action

        def action(t: float, x: np.ndarray) -> Any:
            values = self.memories_after(event.name, state_of(t, x), u)
            new = jump(t, x)
            self.set_memories(t, values, u)
            return new

        return action

    def memories_after(self, event: str, state: State, u: np.ndarray) -> np.ndarray:
        """The memories after an event, from the state and the inputs before it."""
        f = self.system.reference.function("event_memories", event=event)
        known = self.at(np.array([state.t]), state.x[None])[0]
        known[self.memory_places] = u[self.memory_places]
        found = np.atleast_1d(f(np.array([state.t]), state.x, known))
        if not np.isfinite(found).all():
            name = self.memories[int(np.argmin(np.isfinite(found)))]
            raise SolverError(f"event '{event}' gives memory '{name}' a value that is not finite at t = {state.t:g} s")
        return found

    def _remember(self, t: np.ndarray, values: np.ndarray, noted: Noted, places: np.ndarray) -> None:
        """Writes what was noted into rows of inputs: from its instant on; the first of two rows at an instant has it before."""
        if not noted:
            return
        since, found = (np.concatenate(parts) for parts in zip(*noted, strict=True))
        last = np.searchsorted(since, t, side="right")
        twice = np.flatnonzero(t[:-1] == t[1:])
        last[twice] = np.searchsorted(since, t[twice], side="left")
        values[:, places] = np.vstack([self.initial[places], found])[last]

    # -- what acted -----------------------------------------------------------------------------------------------

    def at(self, t: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """The inputs (one row a time) that acted at some times and states (q, v, z); those that controllers set count from just after
        their instant, the first from the instant itself, memories from the instant of their renewal on."""
        values = np.tile(self.initial, (len(t), 1))
        if (self.steady and not self.unknowns) or not values.size:
            return values
        self._remember(t, values, self.renewed, self.memory_places)
        self._remember(t, values, self.settled, self.unknown_places)
        eq, model = self.system.equations_of_motion, self.system.model
        known = dict(zip(eq.p, self.system.parameter_vector, strict=True))
        for i, (name, item) in enumerate(model.inputs.items()):
            if item.symbol in self.signals:
                values[:, i] = evaluate(self.signals[item.symbol], {**known, model.time: t})
            self._replay(name, t, values[:, i])
        find_inputs(self.system.reference, t, rows, values, self.broken)
        return values

    def _replay(self, name: str, t: np.ndarray, column: np.ndarray) -> None:
        changes = [(since, given[name]) for since, given in self.history if name in given]
        if changes:
            since = np.array([s for s, _ in changes])
            last = np.maximum(np.searchsorted(since, t, side="left") - 1, 0)
            column[...] = np.where(t >= since[0], np.array([x for _, x in changes])[last], column)


def _check_period(name: str, given: Any) -> None:
    try:
        good = 0 < real(given) < np.inf
    except NotReal:
        good = False
    if not good:
        raise InputError(f"controller of '{name}': the period {short(given)} s must be a positive number")


__all__ = ["Controller", "Inputs"]
