"""Runs that can be differentiated: rate, guards, jumps and start of a simulation with their derivatives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ...errors import InputError
from ...formalisms.functions.dynamics import state_rates
from ...formalisms.functions.touching import found_symbols
from ...formalisms.functions.tree import multiplier_symbols
from ...model.contact.methods import touches
from ...solvers.native_function import NativeFunction
from ...solvers.ode.methods import tableaus
from ...solvers.rows import at_rows
from ...solvers.sensitivity.explicit import Scheme, scheme_of
from ...solvers.sensitivity.field import Field, map_of
from ...solvers.sensitivity.held import Holding, with_held
from ...solvers.sensitivity.implicit import radau_scheme
from ...symbolic.derivatives import sparse_jacobian
from ...symbolic.expr import ZERO, Expr, as_expr, symbol
from ...symbolic.graph import evaluate, free_symbols, substitute
from ...systems.inputs import Inputs
from ...systems.sensitivity import Derived, derived, field, give, widened
from ...systems.tree.projected import NativeSystem
from ...systems.tree.redundancy import redundant_rows
from ...systems.tree.touch_slopes import TouchSlopes
from .contact.meetings import NUMBERS, Meeting

if TYPE_CHECKING:
    from ...model.events import ModelEvent
    from ...results.solution import Solution
    from ...systems.system import System
    from ...systems.touching import PairOfShapes
    from ..design.planned import Analysis

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


class GradientWarning(UserWarning):
    """A derivative that should not be trusted without a look: grazing events, growth, switches."""


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
        #: Inputs with the numbers of an event behind them, by its name: native code reads them where they lie.
        self._kept_inputs: dict[str, np.ndarray] = {}
        #: Surfaces of switches that are located, by name.
        self.watched: dict[str, Expr | PairOfShapes | Meeting] = {}
        #: Those of them where laws only bend: rates are the same on both sides, so that their instants need no derivatives.
        self.bends: set[str] = set()
        #: Those of them beside which slopes are infinite: steps between them are differentiated as they move along with their instants.
        self.steep: set[str] = set()
        self.start = start
        #: Inputs that sampled laws set are states behind the others, constant within a step; and behind them memories, renewed at its end.
        self.sampled = [system.model.inputs[n].symbol for n in inputs.controllers]
        self.memories = [m.symbol for m in system.model.memories.values()]
        self.held = [*self.sampled, *self.memories]
        self.renews = bool(self.memories)
        #: Contacts by penalty with their derivatives.
        self.touched = TouchSlopes(system.reference) if touches(system.model) else None
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
        self._take_native()
        self._touch()
        for word in self._needed:
            self.need(word)
        self._slopes()

    def _take_native(self) -> None:
        self._evaluate = self.with_held(self.native.rhs, rates=True)
        self.record.value = map_of(self._evaluate, 3)
        if self.renews:
            give(self.record, self.renewal, "value", self.u, self.keep, "renew")

    def _touch(self) -> None:
        """Puts the contacts of the run around its rate."""
        if self.touched is None:
            return
        for word in ("push", "pull"):
            setattr(self.record, word, map_of(None, 8))
        self.touched.attach(self.native, self.record, self.u, self.eq)

    def with_held(self, f: NativeFunction, rates: bool = False) -> NativeFunction:
        """A function of (t, x) of the native system, which reads held states among the inputs, as one of states with these behind them."""
        if not self.held:
            return f
        first = self.record.n - len(self.held)
        places = np.array(self.held_places, dtype=np.int64)
        of = Holding(function=f.address, args=f.own_arguments(), u=self.native.u, places=places, first=first, rates=int(rates))
        return NativeFunction.of(with_held.address, of, f, self.native)

    @property
    def _functions(self) -> tuple[Derived, ...]:
        return (self.rates, *self._beside)

    @property
    def _beside(self) -> tuple[Derived, ...]:
        """Functions of memories and contacts."""
        return (*((self.renewal,) if self.renews else ()), *(() if self.touched is None else self.touched.functions))

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
        u[:, self.held_places] = x[:, n:]
        return np.ascontiguousarray(x[:, :n]), u

    @cached_property
    def held_places(self) -> list[int]:
        """Where held states stand among the inputs."""
        return [self.eq.u.index(s) for s in self.held]

    def first(self) -> np.ndarray:
        """The state at the start, with memories and with what sampled laws give there."""
        if not self.held:
            return self.start.x
        found = self._unsampled()
        acting = self.acting(self.start.t)
        if acting:
            new = self._of_event("start", acting, ()).value(np.array([self.start.t]), found, self.u[: len(self.eq.u)])
            found = np.array(np.atleast_1d(new), dtype=float)
        return found

    def _unsampled(self) -> np.ndarray:
        """The state at the start with memories and with sampled inputs before their laws act."""
        return np.concatenate([self.start.x, self.inputs.initial[self.held_places]]) if self.held else self.start.x

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

    @property
    def events(self) -> Mapping[str, ModelEvent]:
        """Events of the model by name."""
        return self.system.model.events

    def follow(self, solution: Solution) -> None:
        """Takes what happened in a run besides events of the model."""

    def told(self) -> list[str]:
        """What should be known of it."""
        return []

    def instants(self) -> list[tuple[float, str, bool]]:
        """What else happened when, by name, and whether that changed anything."""
        return []

    def mode_at(self, t: float) -> int:
        """Which of the rates holds in a piece that begins at an instant."""
        return 0

    def acts(self, event: str) -> bool:
        """Whether something jumps at an instant."""
        return self.timed(event) or (event not in self.watched and bool(self.events[event].jump))

    def crosses(self, event: str) -> bool:
        """Whether an instant moves with the design, so that its derivatives are needed."""
        return not self.timed(event) and (event not in self.bends or event in self.steep)

    def found_again(self, event: str | None) -> bool:
        """Whether the state behind an event is found from that before it where states are found anew."""
        return self.timed(event) or (event is not None and self.moves_events)

    @property
    def steps_end_anywhere(self) -> bool:
        """Whether its run takes further instants at which steps end, and nothing else happens there."""
        return self.own and not self.renews

    @property
    def moves_events(self) -> bool:
        """Whether events are where this walk meets its guards, not where the run has met them in other coordinates or by another method."""
        return not self.own or bool(self.scheme.implicit)

    def inputs_of(self, event: str) -> np.ndarray:
        """Inputs that guard and jump of an event read."""
        surface = self.watched.get(event)
        return self._inputs_with(event, surface.numbers) if isinstance(surface, Meeting) else self.u

    def given(self, event: str) -> np.ndarray:
        """The same without room behind them."""
        u = self.inputs_of(event)
        return u[: len(self.eq.u)] if u is self.u else u

    def _inputs_with(self, event: str, more: Sequence[float] | np.ndarray) -> np.ndarray:
        """Inputs with numbers of an event behind them, in memory of its own."""
        given = np.concatenate([self.u[: len(self.eq.u)], more])
        kept = self._kept_inputs
        if event not in kept or kept[event].shape != given.shape:
            kept[event] = given
        kept[event][:] = given
        return kept[event]

    def _sampled(self, event: str) -> list[Expr]:
        """The state after sampled laws have acted."""
        names = event.removeprefix(SAMPLING).split("\n")
        laws = [as_expr(self.inputs.controllers[n].law) for n in names]
        resolved = dict(zip((self.system.model.inputs[n].symbol for n in names), self.eq.resolve(laws), strict=True))
        return [resolved.get(s, s) for s in self.arrays["x"]]

    def _renewed(self) -> dict[Expr, Expr]:
        """What memories become at the end of a step."""
        return dict(zip(self.memories, self._renewals(), strict=True)) if self.renews else {}

    def rate(self, t: np.ndarray, x: np.ndarray, out: np.ndarray, mode: int = 0) -> None:
        """ẋ at rows of points; ``mode`` says which of several it is."""
        if at_rows(self._evaluate, t, x.copy(), out) != 0:  # which ends at the first that fails
            for now, row, found in zip(t.tolist(), x, out, strict=True):
                self._evaluate(now, row.copy(), found)

    def _derived(
        self, name: str, outputs: Sequence[Expr], symbols: Sequence[Expr], shared: Sequence[Expr] | None = None,
        arrays: Mapping[str, Sequence[Expr]] | None = None, active: Sequence[str] = ("t", "x"),
    ) -> Derived:  # fmt: skip
        known = {s.id for s in self.eq.p}
        own = [s for s in symbols if s.id in known]
        given = self.arrays if arrays is None else arrays
        return derived(name, given, self.signalled(outputs), active, self.eq.p, self.system.parameter_vector, own, shared)

    def check(self, what: str, outputs: Sequence[Expr]) -> None:
        """Refuses expressions that read forces of contact: rates alone are differentiated by these."""
        wrenches = {e.id for e in found_symbols(self.system.model)}
        read = [e.name for e in free_symbols(list(outputs)) if e.id in wrenches]
        if read:
            raise NotCarried(
                f"gradient of '{self.system.model.name}': {what} reads forces of contact ('{read[0]}'), which is not carried yet; let it read "
                "accelerations or places, or use method='differences'"
            )

    def check_force(self, what: str, force: str) -> None:
        """Refuses the force of a joint or constraint where it is more than its expression."""

    def field(self, symbols: Sequence[Expr], keep: list[Any]) -> Field:
        """The rate with its maps."""
        laws = [*state_rates(self.eq), *([ZERO] * len(self.held))]
        self.laws = self.signalled(laws)
        beside = self._expressions_beside()
        shared = self._derived("all", [*laws, *beside], symbols).linear.constants if beside else None
        self._derive(laws, symbols, shared)
        self._new_record(0, self.rates.nc, keep)
        return self.record

    @property
    def active(self) -> tuple[str, ...]:
        """The arrays by which rates are differentiated: wrenches of contacts stand among the inputs."""
        return ("t", "x") if self.touched is None else ("t", "x", "u")

    def _expressions_beside(self) -> list[Expr]:
        """Expressions of memories and contacts, whose constants are shared with the rate."""
        return [*(self._renewals() if self.renews else ()), *([] if self.touched is None else self.touched.beside)]

    def _derive(self, laws: Sequence[Expr], symbols: Sequence[Expr], shared: Sequence[Expr] | None) -> None:
        """The rate, if it is one expression, and what is found beside it, with their derivatives."""
        if laws:
            self.rates = self._derived("rates", laws, symbols, shared, active=self.active)
        if self.renews:
            self.check("the renewal of a memory", self._renewals())
            self.renewal = self._derived("renewal", self._renewals(), symbols, shared)
        if self.touched is not None:
            motion = self._derived("touching_motion", self.touched.motion_expressions, symbols, shared)
            self.touched.derive(lambda name, arrays, outputs, active: self._derived(name, outputs, symbols, shared, arrays, active), motion)

    def _new_record(self, m: int, nc: int, keep: list[Any]) -> None:
        s = self.system
        n = s.nq + s.nv + s.nz + len(self.held)
        self.record, self.keep = field(self.native.rhs, n, s.nq, s.nv, m, nc, len(self.memories)), keep

    def _renewals(self) -> list[Expr]:
        """What memories become at the end of a step."""
        return list(self.system.reference.symbolic("renewal").expressions)

    def need(self, word: str) -> None:
        """Compiles push or pull of the rate, if it is not yet."""
        self._needed.add(word)
        give(self.record, self.rates, word, self.u, self.keep)
        self._need_beside(word)

    @cached_property
    def _needed(self) -> set[str]:
        return set()

    def _need_beside(self, word: str) -> None:
        if self.renews:
            give(self.record, self.renewal, word, self.u, self.keep, f"renew_{word}")
        if self.touched is not None:
            self.touched.need(word)

    def widen(self, wide: Field, lanes: int) -> list[Any]:
        """Lets a rate be that of the run with pushes of several directions at once."""
        kept = self._widened(wide, lanes, self.rates)
        if self.touched is not None:
            self.touched.widen(wide)
        return kept

    def _widened(self, wide: Field, lanes: int, rates: Derived | None) -> list[Any]:
        of = {"push": rates, "renew_push": self.renewal if self.renews else None}
        kept = widened(wide, self.record, lanes, of, self.u, {"change": 1 + self.record.n, "dlam": self.record.m})
        wide.lanes = lanes
        return kept

    # -- start ----------------------------------------------------------------------------------------------------

    def start_changes(self, wrt: Sequence[str], initial: Sequence[tuple[int, int]], by: np.ndarray, symbols: Sequence[Expr]) -> np.ndarray:
        """Changes of the first state, a row a variable, where ``by`` says which symbols they change."""
        found = self._given_changes(wrt, initial, by, symbols)
        acting = self.acting(self.start.t)
        if acting:
            x = self._unsampled()
            f = self._of_event("start", acting, symbols)
            changes, dc = np.column_stack([np.zeros(len(wrt)), found]), by @ self.wide_slopes(f, symbols).T
            return np.array([f.push(np.array([self.start.t]), x, self.u[: len(self.eq.u)], d, c) for d, c in zip(changes, dc, strict=True)])
        return found

    def _given_changes(self, wrt: Sequence[str], initial: Sequence[tuple[int, int]], by: np.ndarray, symbols: Sequence[Expr]) -> np.ndarray:
        """The same before sampled laws act."""
        found = np.zeros((len(wrt), self.record.n))
        for j, place in initial:
            found[j, place] = 1.0
        if self.renews and symbols:
            found[:, -len(self.memories) :] += by @ self._first_memories(symbols).T
        return found

    def _first_memories(self, symbols: Sequence[Expr]) -> np.ndarray:
        """How the first values of memories change with symbols, where the start has not given them (memories × symbols)."""
        found = np.zeros((len(self.memories), len(symbols)))
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

    def pulled(self, f: Derived, t: float, x: np.ndarray, w: np.ndarray, event: str = "") -> tuple[np.ndarray, np.ndarray]:
        """Weights of (t, x) and of the constants."""
        bar, cbar = f.pull(np.array([t]), x, self.given(event), w)
        return np.atleast_1d(bar), np.atleast_1d(cbar)

    def wide_slopes(self, f: Derived, symbols: Sequence[Expr]) -> np.ndarray:
        """Slopes of the constants of a function by all symbols."""
        found = np.zeros((f.nc, len(symbols)))
        if f.nc and f.linear.wrt:
            places = {s.id: j for j, s in enumerate(symbols)}
            found[:, [places[s.id] for s in f.linear.wrt]] = f.slopes
        return found

    def _of_event(self, word: str, event: str, symbols: Sequence[Expr]) -> Derived:
        # other runs may watch other surfaces under its name; of gaps of shapes that only bend nobody asks for the derivatives
        surface = cast("Expr | Meeting | None", self.watched.get(event))
        meets = isinstance(surface, Meeting)  # whose numbers stand behind the inputs that guard and jump read
        of = surface.bodies if isinstance(surface, Meeting) else event if surface is None else surface.id
        key = (word, of, *(s.id for s in symbols))
        if key not in self._events:
            outputs = self._of_word(word, event, surface)
            self.check(f"event '{event}'", outputs)
            arrays = {**self.arrays, "u": (*self.arrays["u"], *NUMBERS)} if meets else None
            self._events[key] = self._derived(word, outputs, symbols, arrays=arrays)
        return self._events[key]

    def _of_word(self, word: str, event: str, surface: Expr | Meeting | None) -> list[Expr]:
        """A guard, the state after an event, or after sampled laws have acted at the start."""
        if word == "start":
            return self._sampled(event)
        if word == "jump":
            return self._after(event)
        if isinstance(surface, Meeting):
            assert self.touched is not None
            return [surface.gap(self.touched.motion_expressions)]
        return self._symbolic("guard", event) if surface is None else [surface]

    def _symbolic(self, word: str, event: str) -> list[Expr]:
        return list(self.system.reference.symbolic(word, event=event).expressions)

    def _after(self, event: str) -> list[Expr]:
        """The state after an event; memories are renewed before it acts."""
        if self.timed(event):
            return substitute(self._sampled(event), self._renewed())
        if not self.renews:
            return [*self._symbolic("jump", event), *self.sampled]
        new = self._renewed()
        if self._only_restarts(event):
            return [*self.arrays["x"][: -len(self.memories)], *new.values()]
        return substitute([*self._symbolic("jump", event), *self.sampled, *self._symbolic("event_memories", event)], new)

    def _only_restarts(self, event: str) -> bool:
        """Whether nothing jumps at an event."""
        if self.timed(event):
            return False
        return event in self.watched or not self.events[event].jump

    def guard(self, event: str, symbols: Sequence[Expr]) -> Derived:
        """The guard of an event."""
        return self._of_event("guard", event, symbols)

    def jump(self, event: str, symbols: Sequence[Expr]) -> Derived | None:
        """The state after an event, where it is another."""
        return None if not self.renews and self._only_restarts(event) else self._of_event("jump", event, symbols)


__all__ = ["IMPLICIT", "OTHERS", "OTHERS_BY", "TABLEAUS", "Differentiable", "GradientWarning", "NotCarried"]
