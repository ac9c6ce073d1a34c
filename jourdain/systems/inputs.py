"""The inputs of one run: numbers, signals of time, sampled controllers, and the model's Python callbacks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError, SolverError
from ..model.values import number
from ..solvers.ode.events import Samples
from ..symbolic.expr import Expr, as_expr
from ..symbolic.graph import evaluate
from ..symbolic.tables import table
from .callbacks import checked
from .state import State

if TYPE_CHECKING:
    from .system import System


@dataclass(frozen=True)
class Controller:
    """A discrete-time controller: every ``period`` seconds ``law(state)`` gives the input's new value, held in between."""

    law: Callable[[State], float]
    period: float


class Inputs:
    """What acts on a system during a run, and afterwards what acted at any time (:meth:`at`).

    ``given`` are values by the names of the model's inputs: numbers, functions or tables of time, or a :class:`Controller`; those that a
    callback of the model sets are its own.
    """

    def __init__(self, system: System, given: Mapping[str, Any] | None = None) -> None:
        self.system = system
        model = system.model
        self.constants: dict[str, float] = {}
        #: Expressions of time by the symbols of their inputs; they become part of the equations.
        self.signals: dict[Expr, Expr] = {}
        self.controllers: dict[str, Controller] = {}
        #: Callbacks of the model with the places of their inputs.
        self.callbacks = [(c, [list(model.inputs).index(n) for n in c.inputs]) for c in model.callbacks.values()]
        #: As the user wrote them.
        self.given = given or {}
        if self.given:
            self._sort(self.given)
        #: All inputs at the start.
        self.initial = system.input_values(self.constants)
        #: When controllers set which inputs to what, in order of time.
        self.history: list[tuple[float, dict[str, float]]] = []
        #: The instant from which sampling instants are counted; an earlier one where a run goes on.
        self.begun: float | None = None

    def _sort(self, given: Mapping[str, Any]) -> None:
        model = self.system.model
        if not isinstance(given, Mapping):
            raise InputError(f"'{model.name}': inputs = {given!r} must give values by the names of inputs, as {{'motor': 1.0}}")
        self.system.input_values(dict.fromkeys(given, 0.0))  # refuses unknown names
        owners = {n: c.name for c, _ in self.callbacks for n in c.inputs}
        for name, item in given.items():
            if name in owners:
                raise InputError(f"input '{name}' is set by the callback '{owners[name]}' and cannot be given for a run")
            if isinstance(item, Controller):
                if not item.period > 0:
                    raise InputError(f"controller of '{name}': the period {item.period} s must be positive")
                self.controllers[name] = item
            elif isinstance(item, tuple):
                self.signals[model.inputs[name].symbol] = as_expr(table(*item, name=name)(model.time))
            elif callable(item):
                self.signals[model.inputs[name].symbol] = as_expr(item(model.time))
            else:
                self.constants[name] = number(item, f"input '{name}'")

    @property
    def steady(self) -> bool:
        """Whether all inputs stay as they are."""
        return not (self.signals or self.controllers or self.callbacks)

    @property
    def set_on_the_way(self) -> list[str]:
        """Names of the inputs that controllers and callbacks set."""
        return [*self.controllers, *(n for c, _ in self.callbacks for n in c.inputs)]

    # -- controllers ----------------------------------------------------------------------------------------------

    def sampled(self, name: str, state: State) -> float:
        """The new value of a controlled input at a state; it is kept in the history."""
        value = float(self.controllers[name].law(state))
        if not np.isfinite(value):
            raise SolverError(f"controller of '{name}' gave {value} at t = {state.t:g} s")
        self.history.append((state.t, {name: value}))
        return value

    def sampling_instants(self, name: str, span: tuple[float, float]) -> np.ndarray:
        """When a controller acts within a span: whole periods from the beginning of the first run on."""
        begun, period = span[0] if self.begun is None else self.begun, self.controllers[name].period
        first = int(np.ceil((span[0] - begun) / period - 1e-9))
        last = int(np.ceil((span[1] - begun) / period - 1e-9))
        return begun + period * np.arange(first, last)

    def samples(self, span: tuple[float, float], u: np.ndarray, state_of: Callable[[float, np.ndarray], State]) -> list[Samples]:
        """The controllers as the solvers take them: they read states x through ``state_of`` and write into ``u``."""

        def acting(name: str, index: int) -> Callable[[float, np.ndarray], None]:
            def action(t: float, x: np.ndarray) -> None:
                u[index] = self.sampled(name, state_of(t, x))

            return action

        places = {n: i for i, n in enumerate(self.system.model.inputs)}
        return [Samples(self.sampling_instants(n, span), acting(n, places[n]), n) for n in self.controllers]

    # -- what acted -----------------------------------------------------------------------------------------------

    def at(self, t: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """The inputs (one row a time) that acted at some times and states (q, v, z); those set on the way count from just after
        their instant, the first from the instant itself."""
        values = np.tile(self.initial, (len(t), 1))
        if self.steady or not values.size:
            return values
        eq, model = self.system.equations_of_motion, self.system.model
        known = dict(zip(eq.p, self.system.parameter_vector, strict=True))
        for i, (name, item) in enumerate(model.inputs.items()):
            if item.symbol in self.signals:
                values[:, i] = evaluate(self.signals[item.symbol], {**known, model.time: t})
            self._replay(name, t, values[:, i])
        for c, places in self.callbacks:
            f = self.system.function("callback_arguments", callback=c.name)
            for now, x, row in zip(t, rows, values, strict=True):
                row[places] = checked(c, float(now), c.function(*f(np.array([now]), x, row).tolist()))
        return values

    def _replay(self, name: str, t: np.ndarray, column: np.ndarray) -> None:
        changes = [(since, given[name]) for since, given in self.history if name in given]
        if changes:
            since = np.array([s for s, _ in changes])
            last = np.maximum(np.searchsorted(since, t, side="left") - 1, 0)
            column[...] = np.where(t >= since[0], np.array([x for _, x in changes])[last], column)


__all__ = ["Controller", "Inputs"]
