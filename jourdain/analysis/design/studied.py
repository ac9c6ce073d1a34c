"""Analyses seen by a study: with variables that follow others, or in several scenarios at once.  Each answers as an analysis does.

A scenario changes parameters or initial values: to numbers, or by a part of what the design gives them ("+5 %", "-10 %").
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError
from ...model.values import number
from ...symbolic.derivatives import gradient as slopes_of
from ...symbolic.expr import Expr, symbol
from ...symbolic.graph import evaluate, free_symbols
from ...told import told
from .formulas import parsed

if TYPE_CHECKING:
    from ..gradients.gradient import Gradient
    from .criteria import Constraint, Criterion
    from .planned import Analysis
    from .space import Variable

_PART = re.compile(r"\s*([+-]\s*\d+(?:\.\d*)?)\s*%\s*")


#: A criterion that is a variable which follows others; two to this power are the places where its law is looked at.
FOLLOWING, PLACES = "variable", 7


class Studied:
    """An analysis with other values put in; what it does not change it hands on."""

    def __init__(self, analysis: Any, about: Any) -> None:
        self.analysis: Analysis = analysis
        self.system, self.verb = analysis.system, analysis.verb
        #: What decides the answers, for stores.
        self.args, self.kwargs = (analysis.args, about), analysis.kwargs

    def variable(self, name: str) -> tuple[str, str]:
        """What a variable is."""
        return self.analysis.variable(name)

    def value_of(self, name: str) -> float:
        """The present value of a variable."""
        return self.analysis.value_of(name)

    def _unit(self, name: str) -> str | None:
        return self.analysis._unit(name)

    def completed(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """A design with the variables that follow from it."""
        return self.analysis.completed(values)

    def run(self, values: Mapping[str, Any] | None = None) -> Any:
        """The result at a design."""
        return self.analysis.run(self.completed(values or {}))


class Held(Studied):
    """An analysis with some variables at values of their own."""

    def __init__(self, analysis: Any, held: Mapping[str, float]) -> None:
        super().__init__(analysis, dict(held))
        self.held = dict(held)

    def completed(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """With those held."""
        return self.analysis.completed({**values, **self.held})

    def evaluate(self, criteria: Mapping[str, Criterion], values: Mapping[str, Any] | None = None) -> dict[str, float]:
        """Criteria at a design."""
        return self.analysis.evaluate(criteria, self.completed(values or {}))

    def gradient(self, criteria: Any, wrt: Sequence[str], method: str = "auto", values: Mapping[str, Any] | None = None) -> Gradient:
        """Derivatives by the other variables."""
        return self.analysis.gradient(criteria, wrt, method, self.completed(values or {}))


class Linked(Studied):
    """Variables that are expressions of others: ``{"c_R": "0.8*c_F"}``."""

    def __init__(self, analysis: Any, laws: Mapping[str, str], free: Sequence[str]) -> None:
        super().__init__(analysis, dict(laws))
        self.symbols = {n: symbol(n, "parameter") for n in free}
        self.laws: dict[str, Expr] = {}
        #: Bounds of parameters that follow others.
        self.bounds: dict[str, tuple[float | None, float | None]] = {}
        for name, text in laws.items():
            kind, own = analysis.variable(name)
            if kind == "parameter":
                owner = getattr(analysis, "owner_of", lambda _: analysis)(name)
                self.bounds[name] = owner.system.model.parameter_set[own].bounds
            self.laws[name] = parsed(text, self.symbols, "no other variable of the problem", f"variable '{name}' = {text}")

    def completed(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """With the linked ones."""
        known = {self.symbols[n]: float(values.get(n, self.analysis.value_of(n))) for n in self.symbols}
        found = dict(zip(self.laws, map(float, evaluate(list(self.laws.values()), known)), strict=True))
        return self.analysis.completed({**values, **found})

    def constraints(self, variables: Sequence[Variable]) -> dict[str, Constraint]:
        """Bounds of parameters that follow others, where designs within the bounds of the variables would leave them."""
        from scipy.stats.qmc import Sobol

        from .criteria import Constraint, Criterion

        low, high = (np.array([getattr(v, side) for v in variables]) for side in ("lower", "upper"))
        about = np.array([v.value for v in variables])
        low, high = (
            np.where(np.isfinite(low), low, about - 10.0 * np.abs(about)),
            np.where(np.isfinite(high), high, about + 10.0 * np.abs(about)),
        )
        some = Sobol(len(variables), seed=0).random_base2(PLACES)
        places = [dict(zip(self.symbols.values(), low + (high - low) * u, strict=True)) for u in (*some, *np.round(some))]  # and corners
        found = {}
        for name, (least, most) in self.bounds.items():
            y = [float(evaluate([self.laws[name]], at)[0]) for at in places]
            bounds = -np.inf if least is None else least, np.inf if most is None else most
            if min(y) < bounds[0] or max(y) > bounds[1]:
                found[f"bounds of {name}"] = Constraint(Criterion(FOLLOWING, name), *bounds)
        return found

    def _own(self, criteria: Mapping[str, Criterion]) -> tuple[dict[str, Criterion], dict[str, str]]:
        """Criteria of the analysis, and those that are variables which follow others."""
        mine = {n: str(c.expression) for n, c in criteria.items() if c.kind == FOLLOWING}
        return {n: c for n, c in criteria.items() if n not in mine}, mine

    def evaluate(self, criteria: Mapping[str, Criterion], values: Mapping[str, Any] | None = None) -> dict[str, float]:
        """Criteria at a design."""
        others, mine = self._own(criteria)
        design = self.completed(values or {})
        found = self.analysis.evaluate(others, design) | {n: design[v] for n, v in mine.items()}
        return {n: found[n] for n in criteria}

    def gradient(self, criteria: Any, wrt: Sequence[str], method: str = "auto", values: Mapping[str, Any] | None = None) -> Gradient:
        """Derivatives by the free variables, the linked ones following."""
        values = dict(values or {})
        others, mine = self._own(criteria)
        used = [n for n, e in self.laws.items() if any(s.name in wrt for s in free_symbols([e]))]
        design = self.completed(values)
        g = self.analysis.gradient(others, [*wrt, *used], method, design)
        known = {self.symbols[n]: float(values.get(n, self.analysis.value_of(n))) for n in self.symbols}
        own = [self.symbols.get(n) for n in wrt]
        columns = [j for j, s in enumerate(own) if s is not None]
        slopes = {n: np.zeros(len(wrt)) for n in self.laws}
        for name in {*used, *mine.values()}:
            slopes[name][columns] = evaluate(slopes_of(self.laws[name], [s for s in own if s is not None]), known)
        matrix = g.matrix[:, : len(wrt)] + sum(np.outer(g.matrix[:, k], slopes[n]) for k, n in enumerate(used, len(wrt)))
        rows = dict(zip(others, matrix, strict=True)) | {n: slopes[v] for n, v in mine.items()}
        found = {**g.values, **{n: design[v] for n, v in mine.items()}}
        return replace(
            g, criteria=dict(criteria), values={n: found[n] for n in criteria}, matrix=np.array([rows[n] for n in criteria]),
            variables={n: x for n, x in g.variables.items() if n in wrt},
        )  # fmt: skip


@told
class Scenarios(Studied):
    """An analysis in several scenarios: ``jd.Scenarios(ride, {"empty": {"load": 0}, "full": {"load": "400 kg", "tyre": "-10 %"}})``.

    by: "mean" judges a design by the (weighted) mean of each criterion over the scenarios, with ``spread=k`` by mean + k standard deviations; "worst" by the largest value of
        each: a problem then is a min–max problem, and constraints hold in every scenario.
    """

    def __init__(
        self,
        analysis: Any,
        scenarios: Mapping[str, Mapping[str, Any]],
        by: str = "mean",
        weights: Mapping[str, float] | None = None,
        spread: float = 0.0,
    ) -> None:
        if not isinstance(scenarios, Mapping) or not scenarios:
            raise InputError('scenarios: give at least one by name, such as {"empty": {"load": 0}}')
        if by not in ("mean", "worst"):
            raise InputError(f"scenarios: by = {by!r} is unknown; use 'mean' or 'worst'")
        if spread and by == "worst":
            raise InputError("scenarios: spread belongs to by='mean'")
        super().__init__(analysis, (dict(scenarios), by, weights, spread))
        self.by, self.spread = by, float(spread)
        self.scenarios = {n: {v: self._change(n, v, x) for v, x in changes.items()} for n, changes in scenarios.items()}
        given = {n: 1.0 for n in scenarios} if weights is None else dict(weights)
        if set(given) != set(scenarios) or min(given.values()) < 0 or not sum(given.values()) > 0:
            raise InputError(f"scenarios: weights {given} must give every scenario a number from 0 on, not all zero")
        self.weights = np.array([given[n] for n in scenarios], dtype=float) / sum(given.values())

    def _change(self, scenario: str, variable: str, given: Any) -> tuple[float, float]:
        """(a, b) of a + b × the value that the design gives."""
        _, own = self.analysis.variable(variable)
        part = _PART.fullmatch(given) if isinstance(given, str) else None
        if part:
            return 0.0, 1.0 + float(part[1].replace(" ", "")) / 100.0
        known = self.system.model.parameter_set
        unit = known[own].unit if own in known else self.analysis._unit(own)
        return number(given, f"scenario '{scenario}': '{variable}'", unit or None), 0.0

    def values_in(self, scenario: str, values: Mapping[str, Any]) -> dict[str, Any]:
        """A design as a scenario changes it."""
        design = dict(self.analysis.completed(values))
        for name, (a, b) in self.scenarios[scenario].items():
            design[name] = a + (b * float(design.get(name, self.analysis.value_of(name))) if b else 0.0)
        return design

    def in_scenarios(self, criteria: Mapping[str, Criterion]) -> dict[str, Criterion]:
        """Each criterion in each scenario, by "name in scenario"."""
        return {f"{n} in {s}": replace(c, options={**c.options, "scenario": s}) for n, c in criteria.items() for s in self.scenarios}

    def _asked(self, criteria: Mapping[str, Criterion], scenario: str) -> dict[str, Criterion]:
        found = {}
        for n, c in criteria.items():
            options = dict(c.options)
            if options.pop("scenario", scenario) == scenario:
                found[n] = replace(c, options=options)
        return found

    def run(self, values: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The results of all scenarios by name."""
        return {s: self.analysis.run(self.values_in(s, values or {})) for s in self.scenarios}

    def evaluate(self, criteria: Mapping[str, Criterion], values: Mapping[str, Any] | None = None) -> dict[str, float]:
        """Criteria over all scenarios, or in the one that they name."""
        rows = {
            s: self.analysis.evaluate(asked, self.values_in(s, values or {})) for s in self.scenarios if (asked := self._asked(criteria, s))
        }
        return {n: self._joined(n, c, rows)[0] for n, c in criteria.items()}

    def _joined(self, name: str, c: Criterion, rows: Mapping[str, Mapping[str, float]]) -> tuple[float, np.ndarray]:
        """The value of a criterion, and its derivatives by those in the scenarios."""
        names = list(self.scenarios)
        if "scenario" in c.options:
            at = names.index(c.options["scenario"])
            return rows[names[at]][name], np.eye(len(names))[at]
        y, w = np.array([rows[s][name] for s in names]), self.weights
        if self.by == "worst":
            at = int(np.argmax(y))
            return float(y[at]), np.eye(len(names))[at]
        mean = float(w @ y)
        sigma = float(np.sqrt(w @ (y - mean) ** 2))
        by = w + (self.spread * w * (y - mean) / sigma if sigma > 0.0 else 0.0)
        return mean + self.spread * sigma, by

    def gradient(
        self, criteria: Mapping[str, Criterion], wrt: Sequence[str], method: str = "auto", values: Mapping[str, Any] | None = None
    ) -> Gradient:
        """Derivatives over all scenarios."""
        values, found, names = dict(values or {}), {}, list(self.scenarios)
        for s in names:
            asked = self._asked(criteria, s)
            if asked:
                found[s] = self.analysis.gradient(asked, wrt, method, self.values_in(s, values))
        rows = {s: g.values for s, g in found.items()}
        factors = {s: np.array([self.scenarios[s][n][1] if n in self.scenarios[s] else 1.0 for n in wrt]) for s in found}
        matrix, joined = np.zeros((len(criteria), len(wrt))), {}
        for i, (n, c) in enumerate(criteria.items()):
            joined[n], by = self._joined(n, c, rows)
            for s, b in zip(names, by, strict=True):
                if b:
                    matrix[i] += b * found[s][n] * factors[s]
        first = next(iter(found.values()))
        notes = tuple(dict.fromkeys(note for g in found.values() for note in g.notes))
        present = {n: float(values.get(n, self.value_of(n))) for n in wrt}
        return replace(first, criteria=dict(criteria), values=joined, variables=present, matrix=matrix, result=None, notes=notes)


__all__ = ["Held", "Linked", "Scenarios", "Studied"]
