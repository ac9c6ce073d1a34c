"""Gradients along Moreau's steps: the discrete run with what its contacts did held, forwards and by adjoint.

What every step leaves depends on what it begins with and on the variables by matrices that are found for all steps at once (:mod:`.steps`); a walk along them carries
changes forwards, or weights of criteria back.  Criteria are read as they are measured: states between two steps lie on a line.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ....formalisms.functions.dynamics import state_rates
from ....formalisms.tree.acceleration_loads import effective_mass_matrix
from ....model.contact.laws import Rigid
from ....solvers.nonsmooth.notes import GAP, KEY, NORMAL, POINT
from ....symbolic.expr import Expr
from ....symbolic.graph import free_symbols, substitute
from ....systems.inputs import Inputs
from ....systems.sensitivity import Derived, derived
from ..carried import refuse_moved
from ..contact.places import Places
from ..expressions import Expressions, expressions_of
from ..measure import GAUSS, Motion
from ..primitives import Primitive, Primitives, locate, primitives
from ..runs import GradientWarning, NotCarried
from ..switches import Surfaces, surface_text
from ..variables import sorted_variables
from .functions import Functions, numbered
from .steps import Steps

if TYPE_CHECKING:
    from ....results.solution import Solution
    from ...design.criteria import Criterion
    from ...design.planned import Analysis

#: Steps whose matrices are found together.
TOGETHER = 512
#: Steps that are found again to this part are those of the run.
AGAIN = 1e-6
#: Sets of functions that are kept for other values.
MOST_KEPT = 16


class Stepped:
    """One run by Moreau's steps with its criteria, ready to be differentiated."""

    def __init__(
        self, analysis: Analysis, criteria: Mapping[str, Criterion], wrt: Sequence[str], values: Mapping[str, float], memory: float
    ) -> None:
        self.analysis, self.criteria, self.wrt = analysis, criteria, list(wrt)
        plan = analysis.keeping_steps()
        begun = time.perf_counter()
        self.solution: Solution = plan.run(values)
        self.seconds = time.perf_counter() - begun
        self.system = self.solution.system
        self.name = f"gradient of '{self.system.model.name}'"
        refuse_moved(plan, self.solution, values)
        self._refuse(plan, values)
        self.notes: list[str] = []
        self.switches: list[Any] = []
        self._derive(plan._own.__dict__.setdefault("stepped", {}))
        self.t, self.x = np.array(self.solution.t, dtype=float), np.asarray(self.solution.states, dtype=float)
        self._look_at_laws()
        locate(self.primitives, Motion(self.solution, self.expressions))
        self._find_steps(memory)

    def _refused(self, what: str, remedy: str = "use method='differences'") -> NotCarried:
        return NotCarried(f"{self.name}: {what}; {remedy}")

    def _refuse(self, plan: Analysis, values: Mapping[str, float]) -> None:
        """What is not carried along such steps, by name."""
        s, run = self.system, self.solution.metadata["run"]
        if s.formulation != "recursive" or run != "moreau":
            raise self._refused(
                f"{s.formulation} {run} runs by Moreau's steps are not carried", "compile without formulation=, or use method='differences'"
            )
        rows = s.equations_of_motion.rows
        if rows:
            raise self._refused(
                f"constraints ('{rows[0].name}') beside Moreau's steps are not carried yet",
                "simulate from event to event (method='dopri5'), or use method='differences'",
            )
        self.inputs = Inputs(s, plan.kwargs.get("inputs"), plan.start(values).memory)
        for word, names in self._beside():
            if names:
                raise self._refused(f"{word} '{next(iter(names))}' beside Moreau's steps is not carried yet")
        self._refuse_laws()

    def _beside(self) -> list[tuple[str, Iterable[str]]]:
        """What acts besides equations and contacts, by name."""
        m = self.system.model
        return [
            ("joint that lets go", m.switches), ("callback", m.callbacks), ("algebraic unknown", m.unknowns), ("memory", m.memories), ("event", m.events),
            ("rope", m.ropes), ("dry friction of joint", m.dry_friction), ("controller of", self.inputs.controllers),
            ("bending body", [b.name for b in m.bodies.values() if b.bends]),
        ]  # fmt: skip

    def _refuse_laws(self) -> None:
        m = self.system.model
        laws = {f"contact '{n}'": c.law for n, c in m.contacts.items()} | {
            f"the stop of joint '{n}'": law for n, law in m.rigid_stops.items()
        }
        for name, law in laws.items():
            if not isinstance(law, Rigid):
                raise self._refused(f"{name} gives way beside Moreau's steps, which is not carried yet")
            if law.law != "newton" or law.cone != "exact":
                raise self._refused(
                    f"{name} has the impact law '{law.law}' and the cone '{law.cone}', of which newton and exact are carried"
                )

    # -- functions -----------------------------------------------------------------------------------------------

    def _derive(self, kept: dict[Any, Any]) -> None:
        """Functions of steps and criteria; they are kept with the analysis (in this thread)."""
        s, eq = self.system, self.system.equations_of_motion
        self.u = self.inputs.initial.copy() if self.inputs.initial.size else np.zeros(len(eq.u))
        about = id(eq), *self.inputs.signals.items()
        criteria = tuple((n, c.kind, e.id if isinstance(e := c.expression, Expr) else e, c.options.get("smooth"), *c.constants) for n, c in self.criteria.items())  # fmt: skip
        self.expressions, self.primitives = _kept(kept, ("criteria", *about, criteria), self._criteria)
        self.expressions = self.expressions.with_constants(
            {f"{n}.{k}": x for n, c in self.criteria.items() for k, x in c.constants.items()}
        )
        for item in self.primitives.items:
            item.criterion = self.criteria[item.name]
        self.symbols, self.columns, self.initial = sorted_variables(self.analysis, s, self.wrt, self.expressions)
        self.functions: Functions = _kept(kept, ("steps", *about, *self.wrt), self._functions)
        self.integrands, self.values = _kept(kept, ("readings", *about, criteria, *self.wrt), self._readings)
        self.functions.set_parameters(s.parameter_vector)
        for f in (self.integrands, self.values):
            if f is not None:
                f.set_parameters(self.expressions.parameter_values())
        self.places = self.functions.places
        self.places.system = s

    def _criteria(self) -> tuple[Expressions, Primitives]:
        """What criteria read; accelerations and forces are refused."""
        eq, found = self.system.equations_of_motion, expressions_of(self.system, self.criteria)
        known = {e.id for group in ((eq.t,), eq.q, eq.v, eq.z, eq.u, found.parameters) for e in group}
        for name, e in found.resolved.items():
            strange = [x.name for x in free_symbols([e]) if x.id not in known]
            if strange:
                raise self._refused(
                    f"criterion '{name}' reads '{strange[0]}', but accelerations and forces are no functions of the state where impacts are spread over steps",
                    "let it read places and velocities, or use method='differences'",
                )
        return found, primitives(self.criteria, found)

    def _functions(self) -> Functions:
        s, eq = self.system, self.system.equations_of_motion
        rates = self._signalled(state_rates(eq)[len(eq.q) :])
        own = {e.id for e in eq.p}
        return Functions(eq, rates, effective_mass_matrix(eq), Places(s), [e for e in self.symbols if e.id in own], s.parameter_vector)

    def _readings(self) -> tuple[Derived | None, Derived | None]:
        eq = self.system.equations_of_motion
        arrays = {"t": (eq.t,), "x": (*eq.q, *eq.v, *eq.z), "u": tuple(eq.u)}
        every, values = self.expressions.parameters, self.expressions.parameter_values()

        def of(word: str, outputs: Sequence[Any]) -> Derived | None:
            return derived(word, arrays, self._signalled(outputs), ("x",), every, values, self.symbols) if outputs else None

        return of("integrands", self.primitives.integrands), of("values", self.primitives.values)

    def _signalled(self, expressions: Sequence[Any]) -> list[Any]:
        return substitute(list(expressions), self.inputs.signals) if self.inputs.signals else list(expressions)

    def _look_at_laws(self) -> None:
        """Refuses laws and integrands that jump on the way, since steps of a given length do not end there; tells of those that bend."""
        laws = [*self.functions.rate.linear.outputs, *(() if self.integrands is None else self.integrands.linear.outputs)]
        surfaces = Surfaces(cast("Any", _Rates(self)), laws, None if self.integrands is None else self._integrands)
        jumps, bends = surfaces.crossed(self.t, self.x)
        if jumps:
            raise self._refused(
                f"a law jumps where {surface_text(surfaces.items[jumps[0]])} is zero, and Moreau's steps do not end there",
                "smooth the law, or simulate from event to event (method='dopri5')",
            )
        self.notes += [
            f"a law bends where {surface_text(surfaces.items[j])} is zero: derivatives are those of the steps over it" for j in bends
        ]

    def _integrands(self, t: np.ndarray, x: np.ndarray) -> np.ndarray:
        assert self.integrands is not None
        return np.asarray(self.integrands.value(t[:, None].copy(), x, np.tile(self.u, (len(t), 1)))).reshape(len(t), -1)

    # -- steps ---------------------------------------------------------------------------------------------------

    def _find_steps(self, memory: float) -> None:
        s, eq = self.system, self.system.equations_of_motion
        contacts, again, rows = self.solution.contacts._noted()
        n = self.x.shape[1]
        if not np.array_equal(np.asarray(again.t), self.t) or not np.array_equal(np.asarray(again.states)[:, :n], self.x):
            raise self._refused(
                "the run goes on from another, whose contacts it remembers",
                "let it begin from a state of its own, or use method='differences'",
            )
        steps, size, count = len(self.t) - 1, n + s.nq + s.nv, len(self.functions.symbols)
        if 8.0 * steps * size * (size + count) > memory:
            raise self._refused(f"the matrices of {steps} steps do not fit the memory", "give more memory=, or use method='differences'")
        known = dict(zip(eq.p, s.parameter_vector.tolist(), strict=True)) | dict(zip(eq.u, self.u.tolist(), strict=True))

        made = Steps(self.functions, s.configuration.quaternions, contacts.slack, self.t, self.x, self.u, rows)

        def number(step: int, row: np.ndarray) -> int:
            middle = [float(made.half[step]), *made.middle[0][step].tolist(), *self.x[step, s.nq :].tolist()]
            at = known | dict(zip((eq.t, *eq.q, *eq.v, *eq.z), middle, strict=True))
            return self.places.number(contacts, row[KEY : KEY + 3], row[POINT : POINT + 3], row[NORMAL : NORMAL + 3], at, float(row[GAP]))

        made.meet(rows, numbered(rows, number))
        self.before, self.by = np.zeros((steps, size, size)), np.zeros((steps, size, count))
        for first in range(0, steps, TOGETHER):
            part = slice(first, min(first + TOGETHER, steps))
            self.before[part], self.by[part] = made.tangents(part)
        if made.missed > AGAIN:
            raise self._refused(
                f"steps found again differ from those of the run by {made.missed:.1e} of their size, as where contacts are met only roughly"
            )
        self._tell(made)

    def _tell(self, made: Steps) -> None:
        """Where derivatives leave out what moving instants does, and where they are one-sided."""
        if made.rebounds:
            told = (
                f"contacts rebound in {len(made.rebounds)} steps, at t = {self.t[min(made.rebounds)]:.6g} s first: a step does not move with its impact, and what that does is "
                "not in the derivatives; simulate from event to event (method='dopri5') for that"
            )
            self._warn(told)
        if made.loose:
            told = (
                f"sliding contacts share normal forces that their laws leave open in {len(made.loose)} steps, at t = {self.t[min(made.loose)]:.6g} s first (a face that turns while it "
                "slides): derivatives beyond are those with the least changes of these forces, and the run may take others"
            )
            self._warn(told)
        if made.edges:
            self.notes.append(
                f"contacts are about to change what they do in {len(made.edges)} steps, at t = {self.t[min(made.edges)]:.6g} s first: derivatives are one-sided, those with the "
                "same contacts that stick, slide and are open"
            )

    def _warn(self, told: str) -> None:
        self.notes.append(told)
        warnings.warn(f"{self.name}: {told}", GradientWarning, stacklevel=6)

    def _start(self) -> np.ndarray:
        """Changes of the first state by the variables; the step before it does not matter."""
        found = np.zeros((self.before.shape[1], len(self.wrt)))
        for j, place in self.initial:
            found[place, j] = 1.0
        return found

    def _changes_by(self) -> np.ndarray:
        """What variables that are symbols add in every step."""
        found = np.zeros((*self.by.shape[:2], len(self.wrt)))
        places = {e.id: j for e, j in zip(self.symbols, self.columns, strict=True)}
        found[:, :, [places[e.id] for e in self.functions.symbols]] = self.by
        return found

    # -- criteria ------------------------------------------------------------------------------------------------

    def _lines(self, times: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Steps that hold instants, how far in them these are, and the states there."""
        step = np.clip(np.searchsorted(self.t, times, side="right") - 1, 0, len(self.t) - 2)
        part = (times - self.t[step]) / (self.t[step + 1] - self.t[step])
        return step, part, self.x[step] + part[:, None] * (self.x[step + 1] - self.x[step])

    def _read(self, f: Derived, k: int, times: np.ndarray, weights: np.ndarray | None = None, onto: np.ndarray | None = None) -> Any:
        """Output k at instants; with weights what these give the rows of states, and the symbols."""
        step, part, x = self._lines(times)
        given = (times[:, None].copy(), x, np.tile(self.u, (len(times), 1)))
        if weights is None or onto is None:
            return np.asarray(f.value(*given)).reshape(len(times), -1)[:, k]
        w = np.zeros((len(times), len(f.linear.outputs)))
        w[:, k] = weights
        bar, cbar = f.pull(*given, w)
        bar = np.asarray(bar).reshape(len(times), -1)
        np.add.at(onto, step, (1.0 - part)[:, None] * bar)
        np.add.at(onto, step + 1, part[:, None] * bar)
        found = np.zeros(len(self.symbols))
        if f.nc and f.linear.wrt:
            places = {s.id: j for j, s in enumerate(self.symbols)}
            found[[places[s.id] for s in f.linear.wrt]] = np.asarray(cbar).reshape(len(times), -1).sum(axis=0) @ f.slopes
        return found

    def _nodes(self) -> tuple[np.ndarray, np.ndarray]:
        """Instants and weights of Gauss's rule in all steps."""
        nodes, weights = np.polynomial.legendre.leggauss(GAUSS)
        half = 0.5 * np.diff(self.t)[:, None]
        return (0.5 * (self.t[1:] + self.t[:-1])[:, None] + half * nodes).ravel(), (half * weights).ravel()

    def _weighed(self, item: Primitive) -> tuple[float, np.ndarray, np.ndarray]:
        """A criterion, and its derivatives by all rows of states and by the variables themselves."""
        rows, direct, T = np.zeros_like(self.x), np.zeros(len(self.symbols)), float(self.t[-1] - self.t[0])
        total, values = 0.0, np.zeros(0)
        if item.integrand >= 0 and self.integrands is not None:
            times, weights = self._nodes()
            total = float(weights @ self._read(self.integrands, item.integrand, times))
        if item.value >= 0 and self.values is not None:
            values = self._read(self.values, item.value, item.times)
        by_total, by_values, _ = item.slopes(total, values, T)
        if item.integrand >= 0 and self.integrands is not None:
            direct += self._read(self.integrands, item.integrand, times, by_total * weights, rows)
        if item.value >= 0 and self.values is not None:
            direct += self._read(self.values, item.value, item.times, by_values, rows)
        found = np.zeros(len(self.wrt))
        found[self.columns] = direct
        return item.of(total, values, T, float(self.t[-1])), rows, found

    def _all_weighed(self) -> tuple[dict[str, float], np.ndarray, np.ndarray]:
        found = [self._weighed(item) for item in self.primitives.items]
        values = {item.name: x for item, (x, _, _) in zip(self.primitives.items, found, strict=True)}
        return values, np.array([rows for _, rows, _ in found]), np.array([direct for _, _, direct in found])

    # -- both methods --------------------------------------------------------------------------------------------

    def forward(self) -> tuple[dict[str, float], np.ndarray]:
        """Values of the criteria and their derivatives, changes of all variables carried along."""
        values, rows, matrix = self._all_weighed()
        n, change, by = self.x.shape[1], self._start(), self._changes_by()
        matrix = matrix + rows[:, 0] @ change[:n]
        for k in range(len(self.t) - 1):
            change = self.before[k] @ change + by[k]
            matrix += rows[:, k + 1] @ change[:n]
        return values, matrix

    def adjoint(self) -> tuple[dict[str, float], np.ndarray]:
        """The same, weights of all criteria walked back."""
        values, rows, matrix = self._all_weighed()
        n, by = self.x.shape[1], self._changes_by()
        weights = np.zeros((len(rows), self.before.shape[1]))
        for k in range(len(self.t) - 2, -1, -1):
            weights[:, :n] += rows[:, k + 1]
            matrix = matrix + weights @ by[k]
            weights = weights @ self.before[k]
        weights[:, :n] += rows[:, 0]
        return values, matrix + weights @ self._start()


class _Rates:
    """The smooth part of such a run as surfaces of its laws read it."""

    renews, events, held, multipliers = False, {}, (), ()  # type: ignore[var-annotated]

    def __init__(self, of: Stepped) -> None:
        self.of, self.system, self.u, self.eq = of, of.system, of.u, of.system.equations_of_motion
        eq = self.eq
        self.arrays = {"t": (eq.t,), "x": (*eq.q, *eq.v, *eq.z), "u": tuple(eq.u)}

    def mode_at(self, t: float) -> int:
        """There is one rate."""
        return 0

    def rate(self, t: np.ndarray, x: np.ndarray, out: np.ndarray, mode: int) -> None:
        """v̇ and ż at rows of points."""
        for now, row, found in zip(t, x, out, strict=True):
            q, v, z = np.split(row, [len(self.eq.q), len(self.eq.q) + len(self.eq.v)])
            found[len(q) :] = np.ravel(self.of.functions.rate.value(np.array([now]), q, v, z, self.u))


def _kept(kept: dict[Any, Any], key: Any, make: Callable[[], Any]) -> Any:
    """What an analysis keeps, or makes."""
    if key not in kept:
        if len(kept) >= MOST_KEPT:
            kept.clear()
        kept[key] = make()
    return kept[key]


__all__ = ["Stepped"]
