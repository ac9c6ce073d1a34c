"""Runs in which joints let go and engage that can be differentiated: a rate and a projection for every phase, and events between them.

Phases have the same states and differ in their constraints.  Where something engages, velocities change by the impulse with which the projection of the
next phase closes it, M (v⁺ − v⁻) = JᵀΛ, J v⁺ + ∂h/∂t = 0: that of jumps which leave the constraints.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...formalisms.functions.tree import multiplier_symbols
from ...solvers.sensitivity.field import Field
from ...solvers.sensitivity.modes import map_by_mode
from ...symbolic.expr import Expr
from ...systems.inputs import Inputs
from ...systems.phases import phase
from ...systems.sensitivity import derived, give
from ...systems.state import State
from ...systems.tree.linkage import linkage_terms
from .constrained_runs import Constrained
from .runs import Differentiable, NotCarried

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...model.events import ModelEvent
    from ...results.solution import Solution
    from ..design.planned import Analysis

#: Slots of the functions of a rate that callers fill.
SLOTS = {"value": 3, "project": 3, "push": 6, "pull": 6, "project_push": 6, "project_pull": 6}


class Phases:
    """When the phases of a run begin, what has let go in each, and the states at their beginnings."""

    def __init__(self, solution: Solution) -> None:
        provider: Any = solution.frame_provider
        told, pieces = solution.metadata["phases"], provider.joined.pieces
        self.begins = np.array([p["t"] for p in told])
        #: What has let go in the different phases, in the order in which they are met.
        self.kinds: list[frozenset[str]] = list(dict.fromkeys(frozenset(p["released"]) for p in told))
        self.numbers = [self.kinds.index(frozenset(p["released"])) for p in told]
        self.starts = [self._start(pieces[self.numbers.index(k)]) for k in range(len(self.kinds))]

    @staticmethod
    def _start(piece: Solution) -> State:
        s = piece.system.reference
        q, v, z = (np.array([float(piece[n][0]) for n in names]) for names in (s.coordinate_names, s.velocity_names, s.model.states))
        memory = {n: float(piece[n][0]) for n in s.model.memories}
        return State(s, q, v, z, float(piece.t[0]), memory)

    def number_at(self, t: float) -> int:
        """The phase of a piece that begins at an instant."""
        return self.numbers[max(0, int(np.searchsorted(self.begins, t, side="right")) - 1)]


class Phased(Differentiable):
    """A mechanism that changes its constraints: the mode of a piece says which phase it is in."""

    def __init__(self, system: Any, inputs: Inputs, method: str, start: Any, own: bool, phases: Phases) -> None:
        self.mode, self.met = np.zeros(1, np.int64), phases
        self.runs = [
            Constrained(phase(system, k).reference, inputs, method, s, own) for k, s in zip(phases.kinds, phases.starts, strict=True)
        ]
        super().__init__(system, inputs, method, start, own)
        #: Contacts have the same pairs and laws in all phases.
        self.touched = self.runs[0].touched
        for run in self.runs:
            run.u = self.u

    def _native(self) -> None:
        self.native = self.runs[0].native

    def begin(self, plan: Analysis, values: Mapping[str, float]) -> None:
        """Takes parameters, inputs and start of a run."""
        self.start = plan.start(values)
        self.inputs = Inputs(self.system, plan.kwargs.get("inputs"), self.start.memory)
        self.u[: self.inputs.initial.size] = self.inputs.initial
        for released in self.met.kinds:
            phase(self.system, released)  # takes the parameters
        p = self.system.parameter_vector
        for f in (*self._functions, *self._events.values(), *(f for run in self.runs for f in run._events.values())):
            if f.p is not p:
                f.set_parameters(p)
        self._slopes()

    def follow(self, solution: Solution) -> None:
        """Takes the phases of a run: what is redundant in each is found where it begins."""
        self.met = Phases(solution)
        for run, start in zip(self.runs, self.met.starts, strict=True):
            run.start, run.inputs = start, self.inputs
            run._native()
        self._native()
        self._attach()
        self.attached = self.native

    @property
    def events(self) -> Mapping[str, ModelEvent]:
        """Events of the whole model: phases leave out those that would change nothing."""
        model = self.system.model
        return (model.whole or model).events

    def _symbolic(self, word: str, event: str) -> list[Expr]:
        known = next(run.system for run in self.runs if event in run.system.model.events)
        return list(known.reference.symbolic(word, event=event).expressions)

    def mode_at(self, t: float) -> int:
        """The number of the phase of a piece that begins at an instant."""
        return self.met.number_at(t)

    @property
    def _functions(self) -> tuple[Any, ...]:
        return (*((self.renewal,) if self.renews else ()), *(f for run in self.runs for f in run._functions))

    @property
    def multipliers(self) -> tuple[Expr, ...]:
        """Symbols of the multipliers of the phase with the most constraints: there is room for so many."""
        return max((multiplier_symbols(run.eq) for run in self.runs), key=len)

    def check_force(self, what: str, force: str) -> None:
        """Multipliers belong to the constraints of a phase."""
        raise NotCarried(
            f"gradient of '{self.system.model.name}': {what} reads '{force}' in a run in which joints let go, which is not carried yet; let it read "
            "accelerations or places, or use method='differences'"
        )

    # -- rates ----------------------------------------------------------------------------------------------------

    def field(self, symbols: Sequence[Expr], keep: list[Any]) -> Field:
        """The rate with its maps."""
        shared = self._constants(symbols)
        for run in self.runs:
            run.shared = shared
            run.field(symbols, keep)
        self.laws = [e for run in self.runs for e in run.laws]
        if self.renews:
            self.check("the renewal of a memory", self._renewals())
            self.renewal = self._derived("renewal", self._renewals(), symbols, shared)
        self._new_record(len(self.multipliers), len(shared), keep)
        self.record.mode = self.mode
        for run in self.runs:
            run.record.impulse, run.record.shift, run.record.known = self.record.impulse, self.record.shift, self.record.known
        self._attach()
        return self.record

    def _constants(self, symbols: Sequence[Expr]) -> Sequence[Expr]:
        """The constants of the equations of all phases."""
        terms, lam = list[Expr](), dict[Expr, None]()
        for run in self.runs:
            outputs, closure = linkage_terms(run.eq, self.inputs.signals, len(self.held))
            rates = [] if run.eq.rows else run.rates_alone()
            terms += [*outputs, *closure, *self.signalled([*rates, *run._expressions_beside()])]
            lam |= dict.fromkeys(multiplier_symbols(run.eq))
        terms += self.signalled(self._renewals()) if self.renews else []
        arrays, own = {**self.arrays, "a": self.eq.a, "lam": tuple(lam)}, {p.id for p in self.eq.p}
        chosen = [s for s in symbols if s.id in own]
        return derived("phases", arrays, terms, ("t", "x"), self.eq.p, self.system.parameter_vector, chosen).linear.constants

    def _attach(self) -> None:
        for run in self.runs:
            run._attach()
        for word in ("value", "project"):
            self._by_phase(self.record, word, [run.record for run in self.runs])
        if self.renews:
            give(self.record, self.renewal, "value", self.u, self.keep, "renew")
        for word in self._needed:
            self.need(word)
        self._slopes()

    def _slopes(self) -> None:
        self.slopes = self.runs[0].linked.motion.slopes

    def _by_phase(self, record: Field, word: str, records: Sequence[Field]) -> None:
        found, kept = map_by_mode([getattr(r, word) for r in records], self.mode, SLOTS[word])
        setattr(record, word, found)
        self.keep += [*kept, *records]

    def need(self, word: str) -> None:
        """Compiles pushes or pulls of all phases, if they are not yet."""
        if word not in SLOTS:
            raise NotCarried(
                f"gradient of '{self.system.model.name}': second derivatives of runs in which joints let go are not carried yet"
            )
        self._needed.add(word)
        for run in self.runs:
            run.need(word)
        for name in (word, f"project_{word}"):
            self._by_phase(self.record, name, [run.record for run in self.runs])
        self._need_beside(word)

    def widen(self, wide: Field, lanes: int) -> list[Any]:
        """The same with several directions at once."""
        kept = self._widened(wide, lanes, None)
        records = [Field(n=wide.n, nc=wide.nc, lanes=lanes) for _ in self.runs]
        for run, record in zip(self.runs, records, strict=True):
            kept += run.widen(record, lanes)
        for word in ("push", "project_push"):
            self._by_phase(wide, word, records)
        return kept

    @property
    def steps_end_anywhere(self) -> bool:
        """Phases are found first."""
        return False

    def rate(self, t: np.ndarray, x: np.ndarray, out: np.ndarray, mode: int = 0) -> None:
        """ẋ at rows of points in a phase."""
        self.runs[mode].rate(t, x, out)

    # -- start ----------------------------------------------------------------------------------------------------

    def start_changes(self, wrt: Sequence[str], initial: Sequence[tuple[int, int]], by: np.ndarray, symbols: Sequence[Expr]) -> np.ndarray:
        """Changes of the first state, in the first phase."""
        run = self.runs[self.met.numbers[0]]
        run.start = self.start
        return run.start_changes(wrt, initial, by, symbols)


__all__ = ["Phased", "Phases"]
