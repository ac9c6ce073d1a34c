"""What an optimisation gives: a design, its criteria and constraints, and how well it meets the conditions of Karush, Kuhn and Tucker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError
from ...shown import Shown
from ..gradients.units import over
from .space import Space

if TYPE_CHECKING:
    from .problem import Problem

#: A bound of a variable is active within this part of its span.
AT_BOUND = 1e-7
#: A constraint is active within this part of its size.
AT_ROW = 1e-5
#: Methods that look at the whole space; others go down into a valley from where they begin.
EVERYWHERE = ("cma-es", "direct", "nsga2", "enumerate")


@dataclass(frozen=True, eq=False)
class Optimum(Shown):
    """The best design found: ``values``, ``criteria`` and ``constraints`` by name.

    Multipliers λ ≥ 0 belong to active constraints and bounds: the objective falls by λ for a unit by which one is loosened (of an equality:
    rises by λ with its value, either sign).  ``kkt`` is what is left of ∇f + Σ λ ∇g, as part of the objective for the whole span of a variable.
    """

    problem: Problem = field(repr=False)
    values: Mapping[str, float]
    units: Mapping[str, str]
    objective: float
    criteria: Mapping[str, float]
    constraints: Mapping[str, float]
    feasible: bool
    converged: bool
    kkt: float
    #: Names of active constraints and of variables at bounds, with their multipliers.
    multipliers: Mapping[str, float]
    method: str
    message: str
    #: Runs, gradients, and iterations of the optimiser.
    evaluations: Mapping[str, int]
    #: Designs that could not run, with their messages.
    failed: Sequence[str] = ()
    notes: Sequence[str] = ()
    #: Weights of the criteria in the objective; empty where it is no sum of them.
    weights: Mapping[str, float] = field(default_factory=dict)

    @property
    def active(self) -> list[str]:
        """Names of active constraints and of variables at bounds."""
        return list(self.multipliers)

    @property
    def multiplier_units(self) -> dict[str, str | None]:
        """Units of the multipliers, those of the objective over those of what is active; None where one of them is not known."""
        known = self.problem.space.units
        of = {known.get(n) for n, w in self.weights.items() if w}
        objective = of.pop() if len(of) == 1 else None
        return {n: over(objective, self.units.get(n, known.get(n))) for n in self.multipliers}

    def sensitivity(self, parameters: Sequence[str]) -> dict[str, float]:
        """By how much the objective at the optimum changes with other parameters, designs following: dF/dp = ∂f/∂p + Σ λ ∂g/∂p at the active constraints (envelope theorem)."""
        problem = self.problem
        if not self.weights or not self.feasible:
            raise InputError("sensitivity: multipliers are those of a sum of criteria at a feasible optimum; this design has none")
        own = [n for n in parameters if n in self.values]
        if own:
            raise InputError(
                f"sensitivity: '{own[0]}' is a variable of the problem, and its derivative vanishes at the optimum; name other parameters"
            )
        factors = dict(self.weights)
        for name, multiplier in self.multipliers.items():
            if name in problem.subject_to:
                c, size = problem.subject_to[name], problem.sizes[name]
                upper = self.constraints[name] >= c.upper - AT_ROW * size and not c.equality
                factors[name] = multiplier if upper else -multiplier
            elif name in problem.minimise:  # held at its value, as on a front
                factors[name] = factors.get(name, 0.0) + multiplier
        asked = {n: problem.space.criteria[n] for n, w in factors.items() if w}
        g = problem.analysis.gradient(asked, list(parameters), values=self.values)
        found = np.array([factors[n] for n in asked]) @ g.matrix
        return dict(zip(parameters, map(float, found), strict=True))

    def apply(self) -> None:
        """Gives the parameters of the design to the system; initial values stay with the call that uses them."""
        if not self.feasible:
            raise InputError(f"the design is not applied: {self.message}")
        analysis = self.problem.analysis
        own = [(*analysis.variable(n), x) for n, x in analysis.completed(self.values).items()]
        parameters = {name: x for kind, name, x in own if kind == "parameter"}
        if not parameters:
            raise InputError("the design has initial values only; give them to the analysis: analysis.run(best.values)")
        getattr(analysis, "set_parameters", analysis.system.set_parameters)(**parameters)

    def run(self) -> Any:
        """The result of the analysis at this design."""
        return self.problem.analysis.run(self.values)

    def __str__(self) -> str:
        found = "optimum" if self.method in EVERYWHERE else "local optimum"
        state = found if self.converged and self.feasible else "infeasible design" if not self.feasible else "not converged"
        spent = ", ".join(f"{n} {what}" for what, n in self.evaluations.items())
        residual = f"; KKT residual {self.kkt:.1e}" if self.kkt == self.kkt else ""  # not known for every objective
        lines = [f"{self.problem.analysis.system.model.name}: {state} ({self.method}; {spent}{residual})"]
        width = max(len(n) for n in (*self.values, *self.criteria, *self.constraints))
        for name, x in self.values.items():
            at = f"  at its bound, {self._multiplier(name)}" if name in self.multipliers else ""
            lines.append(f"  {name:<{width}} = {x:.7g} {self.units[name]}".rstrip() + at)
        lines += [f"  {name:<{width}} : {x:.7g}" for name, x in self.criteria.items()]
        for name, x in self.constraints.items():
            at = f", active, {self._multiplier(name)}" if name in self.multipliers else ""
            lines.append(f"  {name:<{width}} : {x:.7g}  ({self.problem.subject_to[name]}{at})")
        if not (self.converged and self.feasible):
            lines.append(f"  {self.message}")
        if self.failed:
            lines.append(f"  {len(self.failed)} designs could not run, the last: {self.failed[-1]}")
        return "\n".join([*lines, *(f"  {n}" for n in self.notes)])

    def _multiplier(self, name: str) -> str:
        return f"multiplier {self.multipliers[name]:.4g} {self.multiplier_units[name] or ''}".rstrip()


def conditions(problem: Problem, space: Space, x: np.ndarray, a: np.ndarray, traded: Sequence[int] = ()) -> tuple[float, dict[str, float]]:
    """The residual of Karush, Kuhn and Tucker at a design for the objective a·y, and the multipliers of what is active.

    Multipliers are the least squares solution of ∇f + Σ λ ∇g = 0 with their signs.  ``traded`` criteria are held at their values, as on a
    front: their multipliers say by how much the objective falls for a unit of them.
    """
    from scipy.optimize import lsq_linear

    found = space.at(x, slopes=True)
    if found.values is None or found.slopes is None:
        return np.nan, {}
    slope = a @ found.slopes
    criteria, first = list(problem.minimise), len(problem.minimise)
    names, columns, free = [criteria[i] for i in traded], [found.slopes[i] for i in traded], [False for _ in traded]
    for i, (name, c) in enumerate(problem.subject_to.items(), first):
        y, row, size = found.values[i], found.slopes[i], problem.sizes[name]
        if y >= c.upper - AT_ROW * size or y <= c.lower + AT_ROW * size:
            names.append(name)
            columns.append(row if y >= c.upper - AT_ROW * size and not c.equality else -row)
            free.append(c.equality)
    for j, v in enumerate(space.variables):
        unit = np.eye(len(x))[j]
        for at, direction in ((space.upper[j], unit), (space.lower[j], -unit)):
            if abs(x[j] - at) <= AT_BOUND:
                names.append(v.name)
                columns.append(direction)
                free.append(False)
    size = max(space.size_of(a, found.values), 1e-300)
    if not names:
        return float(np.max(np.abs(slope))) / size, {}
    A = np.array(columns).T
    widths = np.maximum(np.linalg.norm(A, axis=0), 1e-300)
    scale = max(float(np.linalg.norm(slope)), 1e-300)
    fit = lsq_linear(A / widths, -slope / scale, bounds=(np.where(free, -np.inf, 0.0), np.full(len(names), np.inf)), method="bvls")
    rest = slope + A @ (fit.x * scale / widths)
    multipliers = dict(zip(names, map(float, fit.x * scale / widths), strict=True))
    spans = {v.name: v.span for v in space.variables}
    return float(np.max(np.abs(rest))) / size, {n: y / spans.get(n, 1.0) for n, y in multipliers.items()}


__all__ = ["Optimum", "conditions"]
