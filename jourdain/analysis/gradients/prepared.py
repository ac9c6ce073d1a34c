"""What the gradient of a simulation needs that does not depend on the run: derived and compiled once for criteria and variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ...symbolic.expr import KINDS, Expr
from ...symbolic.graph import free_symbols
from ...systems.sensitivity import Derived, derived, readings
from .carried import FROM_EVENT_TO_EVENT, differentiable, history_of, modes_of
from .expressions import Expressions, expressions_of
from .phased import Phases
from .primitives import Primitives, primitives
from .runs import Differentiable, NotCarried
from .switches import Surfaces, surfaces
from .variables import sorted_variables
from .walks import Walks

if TYPE_CHECKING:
    from ...results.solution import Solution
    from ...systems.system import System
    from ..design.criteria import Criterion
    from ..design.planned import Analysis


#: More surfaces of time alone than these are looked for where they matter.
MOST_FIXED = 64


class Prepared:
    """Native functions of rate, integrands, values and events of a run with their derivatives, for criteria and variables."""

    def __init__(self, analysis: Analysis, run: Differentiable, criteria: Mapping[str, Criterion], wrt: Sequence[str]) -> None:
        self.run, self.system, self.wrt = run, run.system, list(wrt)
        self.expressions: Expressions = expressions_of(run.system, criteria)
        self.primitives: Primitives = primitives(criteria, self.expressions)
        #: Values of parameters and constants for which all is set.
        self._at: tuple[np.ndarray, dict[str, float]] | None = None
        self.symbols, self.columns, self.initial = sorted_variables(analysis, run.system, self.wrt, self.expressions)
        self._derive()

    def _derive(self) -> None:
        eq, run, p = self.system.equations_of_motion, self.run, self.expressions.parameters
        self._own = {s.id for s, _ in self.expressions.constants.values()}
        self.keep: list[Any] = []
        for name, e in self.expressions.resolved.items():
            run.check(f"criterion '{name}'", [e])
        for name, force in self.expressions.transmitted.items():
            run.check_force(f"criterion '{name}'", force)
        field = run.field([s for s in self.symbols if s.id not in self._own], self.keep)
        lam = run.multipliers
        arrays = {**run.arrays, "a": eq.a, "lam": lam}
        values = self.expressions.parameter_values()

        def of(name: str, outputs: Sequence[Expr]) -> Derived | None:
            if not outputs:
                return None
            return derived(name, arrays, run.signalled(outputs), ("t", "x", "a", "lam"), p, values, self.symbols)

        self.readings = [of("integrands", self.primitives.integrands), of("values", self.primitives.values)]
        if any(f is not None and f.uses("lam") for f in self.readings) and run.redundant:
            raise NotCarried(
                f"gradient of '{self.system.model.name}': a criterion speaks of reactions or multipliers that redundant constraints "
                f"({', '.join(run.redundant)}) leave undetermined; use joints that close the loops without redundancy"
            )
        made = [readings(f, field.n, field.nv, len(lam), run.u, self.keep) for f in (*self.readings, None)]
        self.walks = Walks(run, field, made, self.readings)

    @cached_property
    def surfaces(self) -> Surfaces:
        """Surfaces on which laws and integrands may be switched or bend."""
        switched = self.run.signalled(self.primitives.integrands)
        names = tuple(item.name for item in self.primitives.items if item.integrand >= 0 and surfaces([switched[item.integrand]]))

        def integrands(t: np.ndarray, x: np.ndarray) -> np.ndarray:
            return self.expressions.reader(names)(t, *self.run.apart(x))

        return Surfaces(self.run, [*self.run.laws, *switched], integrands if names else None)

    @cached_property
    def fixed(self) -> list[int]:
        """Surfaces that are zero at instants which neither the motion nor a variable moves, as those of driven motions: steps end there from the first run on."""
        if not self.run.steps_end_anywhere:
            return []
        variables, moving = {s.id for s in self.symbols}, ~(KINDS["time"] | KINDS["parameter"])
        found = [
            j for j, e in enumerate(self.surfaces.items) if not e.deps & moving and not any(s.id in variables for s in free_symbols([e]))
        ]
        return found if len(found) <= MOST_FIXED else []

    @property
    def own_columns(self) -> list[int]:
        """Columns of symbols that are parameters of the model."""
        return [j for j, s in enumerate(self.symbols) if s.id not in self._own]

    def begin(self, plan: Analysis, values: Mapping[str, float], criteria: Mapping[str, Criterion]) -> None:
        """Takes the parameters, constants, inputs and the start of a run."""
        constants = {f"{n}.{k}": x for n, c in criteria.items() for k, x in c.constants.items()}
        for item in self.primitives.items:
            item.criterion = criteria[item.name]
        self.run.begin(plan, values)
        at = (self.system.parameter_vector, constants)
        if self._at is not None and self._at[0] is at[0] and self._at[1] == at[1]:
            return
        self._at = at
        self.expressions = self.expressions.with_constants(constants)
        p = self.expressions.parameter_values()
        for f in self.readings:
            if f is not None:
                f.set_parameters(p)
        rates = np.zeros((len(self.run.slopes), len(self.symbols)))
        rates[:, self.own_columns] = self.run.slopes
        first, second = (np.zeros((0, len(self.symbols))) if f is None else f.slopes for f in self.readings)
        self.slopes = (rates, first, second)


def compiled_for(
    plan: Analysis, system: System, solution: Solution, values: Mapping[str, float], criteria: Mapping[str, Criterion], wrt: Sequence[str]
) -> Prepared:
    """What is kept with the analysis (in this thread), or made."""
    kept: dict[Any, Prepared] = plan._own.__dict__.setdefault("prepared", {})
    key: tuple[Any, ...] = (id(system), _about(criteria, wrt), solution.metadata["run"], solution.metadata["method"], system.formulation)
    if system.model.switches:
        key = (*key, *Phases(solution).kinds)
    elif solution.metadata["run"] == FROM_EVENT_TO_EVENT:
        key = (*key, *modes_of(history_of(plan, solution)))
    found = kept.get(key)
    if found is None or found.run.stale(plan):
        found = kept[key] = Prepared(plan, differentiable(plan, system, solution, values, wrt), criteria, wrt)
    return found


def with_fixed(plan: Analysis, values: Mapping[str, float], criteria: Mapping[str, Criterion], wrt: Sequence[str]) -> Prepared | None:
    """What has been made for an earlier run whose steps end at fixed instants, if it fits: then this one can do so from the first run on."""
    kept: dict[Any, Prepared] | None = plan._own.__dict__.get("fixed")
    found = None if kept is None else kept.get((id(plan._changed(values)), _about(criteria, wrt)))
    return None if found is None or found.run.stale(plan) else found


def keep_fixed(plan: Analysis, values: Mapping[str, float], criteria: Mapping[str, Criterion], wrt: Sequence[str], code: Prepared) -> None:
    """Lets :func:`with_fixed` find it."""
    plan._own.__dict__.setdefault("fixed", {})[id(plan._changed(values)), _about(criteria, wrt)] = code


def _about(criteria: Mapping[str, Criterion], wrt: Sequence[str]) -> tuple[Any, ...]:
    return *((n, c.kind, _key(c.expression), c.options.get("smooth"), tuple(c.constants)) for n, c in criteria.items()), tuple(wrt)


def _key(e: Any) -> Any:
    return e.id if isinstance(e, Expr) else e


__all__ = ["Prepared", "compiled_for", "keep_fixed", "with_fixed"]
