"""Runs that can be differentiated: rate, guards, jumps and start of a simulation with their derivatives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError
from ...formalisms.functions.dynamics import state_rates
from ...formalisms.functions.tree import multiplier_symbols
from ...solvers import load_method
from ...solvers.ode import tableaus
from ...solvers.sensitivity.explicit import Scheme, scheme_of
from ...solvers.sensitivity.field import Field, map_of
from ...symbolic.expr import Expr
from ...symbolic.graph import substitute
from ...systems.constraints import velocity_column
from ...systems.inputs import Inputs
from ...systems.sensitivity import Derived, derived, field, give
from ...systems.tree.linkage import Linked
from ...systems.tree.projected import NativeSystem
from ..start_values import independent_names

if TYPE_CHECKING:
    from ...results.solution import Solution
    from ...systems.system import System
    from ..planned import Analysis

#: Explicit methods by name.
TABLEAUS = {t.name: t for t in vars(tableaus).values() if isinstance(t, tableaus.Tableau)}


class NotCarried(InputError):
    """Something in a run has no exact derivative here."""


class Differentiable:
    """A simulation of a tree by an explicit Runge–Kutta method, in joint coordinates."""

    def __init__(self, system: System, inputs: Inputs, method: str, start: Any) -> None:
        self.system, self.inputs = system, inputs
        self.eq = system.equations_of_motion
        self.scheme: Scheme = scheme_of(TABLEAUS[method])
        self.u = inputs.initial.copy() if inputs.initial.size else np.zeros(1)
        self._events: dict[tuple[Any, ...], Derived] = {}
        #: Surfaces of switches that are located, by name.
        self.watched: dict[str, Expr] = {}
        self.start = start
        self._native()

    def _native(self) -> None:
        self.native = NativeSystem(self.system.reference, self.inputs.initial, signals=self.inputs.signals, start=self.start)

    def stale(self, plan: Analysis) -> bool:
        """Whether the run has other signals than those that were put into the equations."""
        inputs = Inputs(self.system, plan.kwargs.get("inputs"))
        return inputs.signals != self.inputs.signals

    def begin(self, plan: Analysis, values: Mapping[str, float]) -> None:
        """Takes parameters, inputs and start of a run."""
        self.start = plan.start(values)
        self.inputs = Inputs(self.system, plan.kwargs.get("inputs"), self.start.memory)
        self.u[: self.inputs.initial.size] = self.inputs.initial
        p = self.system.parameter_vector
        for f in (*self._functions, *self._events.values()):
            if f.p is not p:
                f.set_parameters(p)
        self._native()
        self._attach()

    def _attach(self) -> None:
        """Gives the rate the native functions of the run."""
        self.record.value = map_of(self.native.rhs, 3)
        self.slopes = self.rates.slopes

    @property
    def _functions(self) -> tuple[Derived, ...]:
        return (self.rates,)

    @property
    def redundant(self) -> list[str]:
        """Names of redundant constraints."""
        return [self.eq.rows[i].name for i in self.native._redundant]

    @property
    def multipliers(self) -> tuple[Expr, ...]:
        """Symbols of the multipliers."""
        return multiplier_symbols(self.eq)

    def signalled(self, expressions: Sequence[Expr]) -> list[Expr]:
        """Expressions with inputs that are functions of time put in."""
        return substitute(list(expressions), self.inputs.signals) if self.inputs.signals else list(expressions)

    @property
    def _arrays(self) -> dict[str, Sequence[Expr]]:
        eq = self.eq
        return {"t": (eq.t,), "x": (*eq.q, *eq.v, *eq.z), "u": eq.u}

    def _derived(self, name: str, outputs: Sequence[Expr], symbols: Sequence[Expr], shared: Sequence[Expr] | None = None) -> Derived:
        known = {s.id for s in self.eq.p}
        own = [s for s in symbols if s.id in known]
        return derived(name, self._arrays, self.signalled(outputs), ("t", "x"), self.eq.p, self.system.parameter_vector, own, shared)

    def field(self, symbols: Sequence[Expr], keep: list[Any]) -> Field:
        """The rate with its maps."""
        s = self.system
        laws = state_rates(self.eq)
        self.laws = self.signalled(laws)
        self.rates = self._derived("rates", laws, symbols)
        n = s.nq + s.nv + s.nz
        self.record, self.keep = field(self.native.rhs, n, s.nq, s.nv, 0, self.rates.nc), keep
        return self.record

    def need(self, word: str) -> None:
        """Compiles push or pull of the rate, if it is not yet."""
        give(self.record, self.rates, word, self.u, self.keep)

    # -- start ----------------------------------------------------------------------------------------------------

    def start_changes(self, wrt: Sequence[str], initial: Sequence[tuple[int, int]], by: np.ndarray, symbols: Sequence[Expr]) -> np.ndarray:
        """Changes of the first state, a row a variable, where ``by`` says which symbols they change."""
        found = np.zeros((len(wrt), self.system.nq + self.system.nv + self.system.nz))
        for j, place in initial:
            found[j, place] = 1.0
        return found

    # -- events ---------------------------------------------------------------------------------------------------

    def _pulled(self, f: Derived, t: float, x: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Weights of (t, x) and of the constants."""
        nu = len(self.eq.u)
        bar, cbar = f.pull(np.array([t]), x, self.u[:nu], w)
        return np.atleast_1d(bar), np.atleast_1d(cbar)

    def _wide(self, f: Derived, cbar: np.ndarray, symbols: Sequence[Expr]) -> np.ndarray:
        """Weights of constants as those of all symbols."""
        found = np.zeros(len(symbols))
        places = {s.id: j for j, s in enumerate(symbols)}
        by = cbar @ f.slopes if f.nc else np.zeros(len(f.linear.wrt))
        for s, x in zip(f.linear.wrt, by, strict=True):
            found[places[s.id]] = x
        return found

    def _of_event(self, word: str, event: str, symbols: Sequence[Expr]) -> Derived:
        key = (word, event, *(s.id for s in symbols))
        if key not in self._events:
            outputs = [self.watched[event]] if event in self.watched else self.system.reference.symbolic(word, event=event).expressions
            self._events[key] = self._derived(word, outputs, symbols)
        return self._events[key]

    def guard(self, event: str, t: float, x: np.ndarray, symbols: Sequence[Expr]) -> tuple[float, np.ndarray, np.ndarray]:
        """∂g/∂t, ∂g/∂x and ∂g/∂p of an event."""
        f = self._of_event("guard", event, symbols)
        bar, cbar = self._pulled(f, t, x, np.ones(1))
        return float(bar[0]), bar[1:], self._wide(f, cbar, symbols)

    def push_jump(
        self,
        event: str,
        t: float,
        x: np.ndarray,
        after: np.ndarray,
        dt: np.ndarray,
        dx: np.ndarray,
        by: np.ndarray,
        symbols: Sequence[Expr],
    ) -> np.ndarray:
        """Changes after an event from those before it."""
        if event in self.watched or not self.system.model.events[event].jump:
            return dx
        rows = [self._jump_row(event, t, x, i, symbols) for i in range(len(after))]
        Jt, Jx, Jp = (np.array(part) for part in zip(*rows, strict=True))
        return np.outer(dt, Jt) + dx @ Jx.T + by @ Jp.T

    def pull_jump(
        self, event: str, t: float, x: np.ndarray, after: np.ndarray, xbar: np.ndarray, symbols: Sequence[Expr]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Weights before an event of state, time and symbols from those after it."""
        if event in self.watched or not self.system.model.events[event].jump:
            return xbar, np.zeros(len(xbar)), np.zeros((len(xbar), len(symbols)))
        rows = [self._jump_row(event, t, x, i, symbols) for i in range(len(after))]
        Jt, Jx, Jp = (np.array(part) for part in zip(*rows, strict=True))
        return xbar @ Jx, xbar @ Jt, xbar @ Jp

    def _jump_row(self, event: str, t: float, x: np.ndarray, i: int, symbols: Sequence[Expr]) -> tuple[float, np.ndarray, np.ndarray]:
        f = self._of_event("jump", event, symbols)
        bar, cbar = self._pulled(f, t, x, np.eye(len(f.linear.outputs))[i])
        return float(bar[0]), bar[1:], self._wide(f, cbar, symbols)


class Constrained(Differentiable):
    """The same with loops, nonholonomic constraints or quaternions: states are put back onto them after each step."""

    def field(self, symbols: Sequence[Expr], keep: list[Any]) -> Field:
        """The rate with its maps."""
        s, eq, known = self.system, self.eq, {p.id for p in self.eq.p}
        own = [e for e in symbols if e.id in known]
        self.linked = Linked(eq, self.inputs.signals, s.parameter_vector, own)
        self.laws: list[Expr] = self.linked.motion.linear.outputs
        n, m = s.nq + s.nv + s.nz, len(eq.rows)
        if not m:
            super().field(symbols, keep)
            shared = self.linked.motion.linear.constants
            self.rates = self._derived("rates", state_rates(eq), symbols, shared)
        self.record, self.keep = field(self.native.rhs, n, s.nq, s.nv, m, self.linked.motion.nc), keep
        self._attach()
        return self.record

    @property
    def _functions(self) -> tuple[Derived, ...]:
        return self.linked.functions if self.eq.rows else (self.rates, *self.linked.functions)

    def _attach(self) -> None:
        self.record.value = map_of(self.native.rhs, 3)
        self.linked.attach(self.native, self.record, self.u, self.keep)
        for word in self._needed:
            self.linked.need(word)
        self.slopes = self.linked.motion.slopes

    @cached_property
    def _needed(self) -> set[str]:
        return set()

    def need(self, word: str) -> None:
        """Compiles pushes or pulls, if they are not yet."""
        if not self.eq.rows:
            super().need(word)
        self._needed.add(word)
        self.linked.need(word)

    def start_changes(self, wrt: Sequence[str], initial: Sequence[tuple[int, int]], by: np.ndarray, symbols: Sequence[Expr]) -> np.ndarray:
        """Independent coordinates and velocities are as they are given; dependent ones follow by closing the loops."""
        found = super().start_changes(wrt, initial, by, symbols)
        s, mh = self.system, self.eq.holonomic
        if not self.eq.rows:
            return found
        if s.configuration.quaternions:
            raise NotCarried(
                f"gradient of '{s.model.name}': starts with quaternions and constraints are not carried; use method='differences'"
            )
        t, x = self.start.t, self.start.x
        nq, nv, c = s.nq, s.nv, self.linked.closure
        rows = [self._pulled(c, t, x, w) for w in np.eye(len(c.linear.outputs))]
        slopes = np.array([bar[1:] for bar, _ in rows])
        by_p = np.array([self._wide(c, cbar, symbols) for _, cbar in rows])
        chosen = [velocity_column(s, n) for n in independent_names(s, self.start)]
        dependent = [j for j in range(nv) if j not in chosen]
        drive = by_p @ by.T  # how the constraints move with the variables alone
        for first, level in ((0, slice(0, mh)), (nq, slice(mh, len(rows)))):
            if not len(drive[level]):
                continue
            J = slopes[level][:, first : first + nv]
            others = slopes[level] @ found.T + drive[level] - J[:, dependent] @ found[:, [first + j for j in dependent]].T
            found[:, [first + j for j in dependent]] = -np.linalg.lstsq(J[:, dependent], others, rcond=1e-9)[0].T
        return found


def differentiable(plan: Analysis, system: System, solution: Solution, values: Mapping[str, float]) -> Differentiable:
    """The run that gave a solution, or a refusal that names what is not carried."""
    name, kind, method = system.model.name, solution.metadata["run"], solution.metadata["method"]
    model = system.model

    def refuse(what: str, remedy: str) -> NotCarried:
        return NotCarried(f"gradient of '{name}': {what}; {remedy}")

    others = "use method='differences'"
    if system.formulation != "recursive" or kind != "projected":
        raise refuse(
            f"{system.formulation} {kind} runs are not carried yet",
            "compile the model in recursive form with projected loops, or " + others,
        )
    if method not in TABLEAUS:
        raise refuse(f"method '{method}' is not carried yet", f"use one of {', '.join(sorted(TABLEAUS))}, or {others}")
    if model.callbacks:
        raise refuse(
            f"'{next(iter(model.callbacks))}' is a Python callback, which has no derivative",
            f"write it with jourdain's functions, or {others}",
        )
    for word, items in (("memory", model.memories), ("algebraic unknown", model.unknowns), ("contact", model.contacts)):
        if items:
            raise refuse(f"{word} '{next(iter(items))}' is not carried yet", others)
    if system.reference.form == "looped":
        raise refuse("loops over links (form='looped') are not carried", "compile(form='straight'), or " + others)
    start = plan.start(values)
    inputs = Inputs(system, plan.kwargs.get("inputs"), start.memory)
    if inputs.controllers:
        raise refuse(f"the controller of '{next(iter(inputs.controllers))}' is not carried yet", "write its law as a force, or " + others)
    load_method(method)
    kind_of_run = Constrained if system.equations_of_motion.rows or system.configuration.quaternions else Differentiable
    return kind_of_run(system, inputs, method, start)


__all__ = ["Differentiable", "NotCarried", "differentiable"]
