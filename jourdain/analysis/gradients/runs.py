"""Runs that can be differentiated: rate, guards, jumps and start of a simulation with their derivatives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError
from ...formalisms.functions.dynamics import state_rates
from ...formalisms.functions.tree import multiplier_symbols
from ...solvers.ode import tableaus
from ...solvers.sensitivity.explicit import Scheme, scheme_of
from ...solvers.sensitivity.field import Field, map_of
from ...solvers.sensitivity.implicit import radau_scheme
from ...symbolic.derivatives import sparse_jacobian
from ...symbolic.expr import ZERO, Expr, as_expr, symbol
from ...symbolic.graph import evaluate, substitute
from ...systems.inputs import Inputs
from ...systems.sensitivity import Derived, derived, field, give, widened
from ...systems.tree.projected import NativeSystem
from ...systems.tree.redundancy import redundant_rows

if TYPE_CHECKING:
    from ...systems.system import System
    from ..planned import Analysis

#: Explicit methods by name.
TABLEAUS = {t.name: t for t in vars(tableaus).values() if isinstance(t, tableaus.Tableau)}
#: Explicit methods that are no tableaus: their instants are walked along by this one.
OTHERS_BY = "dop853"
OTHERS = ("adams", "semi-implicit-euler", "velocity-verlet")
#: The implicit method whose steps are walked along.
IMPLICIT = "radau"
#: What begins the names of instants at which sampled laws act.
SAMPLING = "sampling of "


class NotCarried(InputError):
    """Something in a run has no exact derivative here."""


class Differentiable:
    """A simulation of a tree by a Runge–Kutta method, in joint coordinates.

    ``own`` says whether these are the very steps of the run; otherwise its instants are walked along by another method.
    """

    def __init__(self, system: System, inputs: Inputs, method: str, start: Any, own: bool = True) -> None:
        self.system, self.inputs, self.method, self.own = system, inputs, method, own
        self.eq = system.equations_of_motion
        self.scheme: Scheme = radau_scheme() if method == IMPLICIT else scheme_of(TABLEAUS[method])
        self.u = inputs.initial.copy() if inputs.initial.size else np.zeros(1)
        self._events: dict[tuple[Any, ...], Derived] = {}
        #: Surfaces of switches that are located, by name.
        self.watched: dict[str, Expr] = {}
        #: Those of them where laws only bend: rates are the same on both sides, so that their instants need no derivatives.
        self.bends: set[str] = set()
        self.start = start
        #: Memories are states behind the others, constant within a step and renewed at its end; and so are inputs that sampled laws set.
        self.held = [m.symbol for m in system.model.memories.values()] + [system.model.inputs[n].symbol for n in inputs.controllers]
        self.renews = bool(system.model.memories)
        #: The native functions that the rate has.
        self.attached: NativeSystem | None = None
        self._native()

    def _native(self) -> None:
        self.native = NativeSystem(self.system.reference, self.inputs.initial, signals=self.inputs.signals, start=self.start)

    def _goes_on_with(self, native: NativeSystem) -> bool:
        """Whether native functions of an earlier run are those of this one."""
        if not native.renewed():
            return False
        return not self.eq.rows or native._redundant == redundant_rows(self.system.reference, self.start)

    def stale(self, plan: Analysis) -> bool:
        """Whether the run has other signals than those that were put into the equations."""
        inputs = Inputs(self.system, plan.kwargs.get("inputs"))
        laws = [[c.law for c in x.controllers.values()] for x in (inputs, self.inputs)]
        return inputs.signals != self.inputs.signals or [*map(id, laws[0])] != [*map(id, laws[1])]

    def begin(self, plan: Analysis, values: Mapping[str, float]) -> None:
        """Takes parameters, inputs and start of a run."""
        self.start = plan.start(values)
        self.inputs = Inputs(self.system, plan.kwargs.get("inputs"), self.start.memory)
        self.u[: self.inputs.initial.size] = self.inputs.initial
        p = self.system.parameter_vector
        for f in (*self._functions, *self._events.values()):
            if f.p is not p:
                f.set_parameters(p)
        if self.attached is None or not self._goes_on_with(self.native):
            self._native()
            self._attach()
            self.attached = self.native
            return
        if self.inputs.initial.size:
            self.native.u[: self.inputs.initial.size] = self.inputs.initial
        self._slopes()

    def _slopes(self) -> None:
        """Takes the slopes of constants at the present parameters."""
        self.slopes = self.rates.slopes

    def _attach(self) -> None:
        """Gives the rate the native functions of the run."""
        if self.held and self.attached is None:  # native right-hand sides read memories among the inputs
            self.record.value, kept = self.rates.map("value", self.u, 1)
            self.record.slot = 3
            self.keep += kept
            if self.renews:
                give(self.record, self.renewal, "value", self.u, self.keep, "renew")
        elif not self.held:
            self.record.value = map_of(self.native.rhs, 3)
        self._slopes()

    @property
    def _functions(self) -> tuple[Derived, ...]:
        return (self.rates, self.renewal) if self.renews else (self.rates,)

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

    @cached_property
    def arrays(self) -> dict[str, Sequence[Expr]]:
        """Time, states with memories behind them, and inputs, in which the places of memories are idle."""
        eq, held = self.eq, set(self.held)
        idle = tuple(symbol(f"idle_{s.name}", "input") if s in held else s for s in eq.u)
        return {"t": (eq.t,), "x": (*eq.q, *eq.v, *eq.z, *self.held), "u": idle}

    def apart(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rows of states without memories, and rows of inputs with them."""
        u = np.tile(self.u[: len(self.eq.u)], (len(x), 1))
        n = x.shape[1] - len(self.held)
        u[:, self._held_places] = x[:, n:]
        return np.ascontiguousarray(x[:, :n]), u

    @property
    def _held_places(self) -> list[int]:
        return [self.eq.u.index(s) for s in self.held]

    def first(self) -> np.ndarray:
        """The state at the start, with memories and with what sampled laws give there."""
        if not self.held:
            return self.start.x
        found = np.concatenate([self.start.x, self.inputs.initial[self._held_places]])
        acting = self.acting(self.start.t)
        if acting:
            new = self._of_event("jump", acting, ()).value(np.array([self.start.t]), found, self.u[: len(self.eq.u)])
            found = np.array(np.atleast_1d(new), dtype=float)
        return found

    # -- sampled laws ---------------------------------------------------------------------------------------------

    def acting(self, t: float) -> str | None:
        """The word for all sampled laws that act at an instant."""
        names = []
        for name, c in self.inputs.controllers.items():
            k = (t - self.start.t) / c.period
            if abs(k - round(k)) < 1e-9 * max(1.0, abs(k)):
                names.append(name)
        return SAMPLING + "\n".join(names) if names else None

    @staticmethod
    def timed(event: str | None) -> bool:
        """Whether something happens at an instant that is given."""
        return event is not None and event.startswith(SAMPLING)

    def _sampled(self, event: str) -> list[Expr]:
        """The state after sampled laws have acted."""
        names = event.removeprefix(SAMPLING).split("\n")
        laws = [as_expr(self.inputs.controllers[n].law) for n in names]
        resolved = dict(zip((self.system.model.inputs[n].symbol for n in names), self.eq.resolve(laws), strict=True))
        return [resolved.get(s, s) for s in self.arrays["x"]]

    def rate(self, t: float, x: np.ndarray, out: np.ndarray) -> None:
        """ẋ at a point."""
        if self.held:
            out[:] = self.rates.value(np.array([t]), x.copy(), self.u[: len(self.eq.u)])
        else:
            self.native.rhs(t, x.copy(), out)

    def _derived(self, name: str, outputs: Sequence[Expr], symbols: Sequence[Expr], shared: Sequence[Expr] | None = None) -> Derived:
        known = {s.id for s in self.eq.p}
        own = [s for s in symbols if s.id in known]
        return derived(name, self.arrays, self.signalled(outputs), ("t", "x"), self.eq.p, self.system.parameter_vector, own, shared)

    def field(self, symbols: Sequence[Expr], keep: list[Any]) -> Field:
        """The rate with its maps."""
        s = self.system
        laws = [*state_rates(self.eq), *([ZERO] * len(self.held))]
        self.laws = self.signalled(laws)
        shared = None
        if self.renews:
            new = self._renewals()
            shared = self._derived("memories", [*laws, *new], symbols).linear.constants
            self.renewal = self._derived("renewal", new, symbols, shared)
        self.rates = self._derived("rates", laws, symbols, shared)
        n = s.nq + s.nv + s.nz + len(self.held)
        self.record, self.keep = field(self.native.rhs, n, s.nq, s.nv, 0, self.rates.nc, len(self.held) if self.renews else 0), keep
        return self.record

    def _renewals(self) -> list[Expr]:
        """What memories become at the end of a step."""
        return list(self.system.reference.symbolic("renewal").expressions)

    def need(self, word: str) -> None:
        """Compiles push or pull of the rate, if it is not yet."""
        give(self.record, self.rates, word, self.u, self.keep)
        if self.renews:
            give(self.record, self.renewal, word, self.u, self.keep, f"renew_{word}")

    def widen(self, wide: Field, lanes: int) -> list[Any]:
        """Lets a rate be that of the run with pushes of several directions at once."""
        of = {"push": self.rates, "renew_push": self.renewal if self.renews else None}
        return self._widened(wide, lanes, of)

    def _widened(self, wide: Field, lanes: int, of: Mapping[str, Derived | None]) -> list[Any]:
        kept = widened(wide, self.record, lanes, of, self.u, {"change": 1 + self.record.n, "dlam": self.record.m})
        wide.lanes = lanes
        return kept

    # -- start ----------------------------------------------------------------------------------------------------

    def start_changes(self, wrt: Sequence[str], initial: Sequence[tuple[int, int]], by: np.ndarray, symbols: Sequence[Expr]) -> np.ndarray:
        """Changes of the first state, a row a variable, where ``by`` says which symbols they change."""
        found = np.zeros((len(wrt), self.record.n))
        for j, place in initial:
            found[j, place] = 1.0
        if self.renews and symbols:
            found[:, -len(self.held) :] += by @ self._first_memories(symbols).T
        acting = self.acting(self.start.t)
        if acting:
            x = np.concatenate([self.start.x, self.inputs.initial[self._held_places]])
            f = self._of_event("jump", acting, symbols)
            changes, dc = np.column_stack([np.zeros(len(wrt)), found]), by @ self.wide_slopes(f, symbols).T
            return np.array([f.push(np.array([self.start.t]), x, self.u[: len(self.eq.u)], d, c) for d, c in zip(changes, dc, strict=True)])
        return found

    def _first_memories(self, symbols: Sequence[Expr]) -> np.ndarray:
        """How the first values of memories change with symbols, where the start has not given them (memories × symbols)."""
        found = np.zeros((len(self.held), len(symbols)))
        free = {i: m.initial for i, m in enumerate(self.system.model.memories.values()) if m.name not in self.start.memory}
        known = dict(zip(self.eq.p, self.system.parameter_vector, strict=True))
        for (i, j), slope in sparse_jacobian(list(free.values()), list(symbols)).items():
            found[list(free)[i], j] = float(evaluate(slope, known))
        return found

    def bent_constants(self, cbar: np.ndarray, dp: np.ndarray) -> np.ndarray:
        """Σ c̄ₖ ∂²cₖ/∂p² dp of the constants of the rate."""
        return self.rates.curvature(cbar, dp)

    def start_bends(
        self, xbar: np.ndarray, changes: np.ndarray, dx: np.ndarray, dp: np.ndarray, by: np.ndarray, symbols: Sequence[Expr]
    ) -> np.ndarray:  # fmt: skip
        """How weights of the first state, as those of the variables, change along a direction: nothing where starts are given as they are."""
        return np.zeros((len(xbar), len(changes)))

    # -- events ---------------------------------------------------------------------------------------------------

    def _pulled(self, f: Derived, t: float, x: np.ndarray, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Weights of (t, x) and of the constants."""
        nu = len(self.eq.u)
        bar, cbar = f.pull(np.array([t]), x, self.u[:nu], w)
        return np.atleast_1d(bar), np.atleast_1d(cbar)

    def wide_slopes(self, f: Derived, symbols: Sequence[Expr]) -> np.ndarray:
        """Slopes of the constants of a function by all symbols."""
        found = np.zeros((f.nc, len(symbols)))
        if f.nc and f.linear.wrt:
            places = {s.id: j for j, s in enumerate(symbols)}
            found[:, [places[s.id] for s in f.linear.wrt]] = f.slopes
        return found

    def _of_event(self, word: str, event: str, symbols: Sequence[Expr]) -> Derived:
        surface = self.watched.get(event)  # other runs may watch other surfaces under its name
        key = (word, event if surface is None else surface.id, *(s.id for s in symbols))
        if key not in self._events:
            outputs = self._after(event) if word == "jump" else self._symbolic("guard", event) if surface is None else [surface]
            self._events[key] = self._derived(word, outputs, symbols)
        return self._events[key]

    def _symbolic(self, word: str, event: str) -> list[Expr]:
        return list(self.system.reference.symbolic(word, event=event).expressions)

    def _after(self, event: str) -> list[Expr]:
        """The state after an event; memories are renewed before it acts."""
        if self.timed(event):
            return self._sampled(event)
        if self.held and not self.renews:
            return [*self._symbolic("jump", event), *self.held]
        if not self.held:
            return self._symbolic("jump", event)
        new = dict(zip(self.held, self._renewals(), strict=True))
        if self._only_restarts(event):
            return [*self.arrays["x"][: -len(self.held)], *new.values()]
        return substitute([*self._symbolic("jump", event), *self._symbolic("event_memories", event)], new)

    def _only_restarts(self, event: str) -> bool:
        """Whether nothing jumps at an event."""
        if self.timed(event):
            return False
        return event in self.watched or not self.system.model.events[event].jump

    def guard(self, event: str, symbols: Sequence[Expr]) -> Derived:
        """The guard of an event."""
        return self._of_event("guard", event, symbols)

    def jump(self, event: str, symbols: Sequence[Expr]) -> Derived | None:
        """The state after an event, where it is another."""
        return None if not self.renews and self._only_restarts(event) else self._of_event("jump", event, symbols)


__all__ = ["IMPLICIT", "OTHERS", "OTHERS_BY", "TABLEAUS", "Differentiable", "NotCarried"]
