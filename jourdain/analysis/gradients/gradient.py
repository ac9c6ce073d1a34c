"""Gradients of criteria: the front of all methods, and what they give."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError
from ..criteria import Criterion, named
from .measure import measure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..planned import Analysis

#: Names of methods.
METHODS = ("auto", "forward", "adjoint", "differences")
#: Relative step of central differences, and the least one of a variable that is zero.
STEP, LEAST = 1e-5, 1e-7


@dataclass(frozen=True, eq=False)
class Gradient:
    """Values of criteria and their derivatives by variables: ``g["comfort", "d_F"]``, ``g["comfort"]`` is a row, ``g.matrix`` all.

    ``elasticities`` are (p/ψ) ∂ψ/∂p, by how many per cent a criterion changes with one per cent of a variable.
    """

    analysis: Analysis = field(repr=False)
    criteria: Mapping[str, Criterion] = field(repr=False)
    #: Values of the criteria, in order.
    values: Mapping[str, float]
    #: Present values of the variables, in order.
    variables: Mapping[str, float]
    #: ∂ψᵢ/∂pⱼ, a row a criterion.
    matrix: np.ndarray
    #: How it was computed: "forward", "adjoint" or "differences".
    method: str
    #: What it cost: seconds of the run and of the derivatives, steps, evaluations.
    cost: Mapping[str, float] = field(default_factory=dict)
    #: The result of the analysis on which it was computed.
    result: Any = field(default=None, repr=False)
    #: What should be known: switches, growth of the adjoint, one-sided derivatives.
    notes: Sequence[str] = ()

    def __getitem__(self, key: str | tuple[str, str]) -> Any:
        names, variables = list(self.values), list(self.variables)
        criterion, variable = key if isinstance(key, tuple) else (key, None)
        if criterion not in names:
            raise InputError(f"the gradient has no criterion '{criterion}'; it has {', '.join(names)}")
        row = self.matrix[names.index(criterion)]
        if variable is None:
            return row
        if variable not in variables:
            raise InputError(f"the gradient has no variable '{variable}'; it has {', '.join(variables)}")
        return float(row[variables.index(variable)])

    @property
    def elasticities(self) -> np.ndarray:
        """(p/ψ) ∂ψ/∂p; NaN where a criterion is zero."""
        psi = np.array(list(self.values.values()))[:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(psi != 0.0, self.matrix * np.array(list(self.variables.values())) / psi, np.nan)

    def check(self, rtol: float = 1e-6) -> Gradient:
        """Compares with central differences of runs that take the same steps; an error says where they differ."""
        other = differences(self.analysis, self.criteria, list(self.variables), self.variables)
        scale = np.maximum(np.abs(self.matrix), np.abs(other.matrix))
        gap = np.abs(self.matrix - other.matrix)
        size = np.array([max(abs(x), 1e-300) for x in self.values.values()])[:, None]
        width = np.array([max(abs(x), 1.0) for x in self.variables.values()])
        wrong = np.argwhere(gap > rtol * scale + 1e-9 * size / width)
        if len(wrong):
            i, j = wrong[0]
            names, variables = list(self.values), list(self.variables)
            raise InputError(
                f"gradient of '{names[i]}' by '{variables[j]}': {self.method} gives {self.matrix[i, j]:.9g}, differences {other.matrix[i, j]:.9g}"
            )
        return self

    def plot(self, file: Any = None, show: bool = False) -> Figure:
        """Bars of the elasticities."""
        from .pictures import bars

        return bars(self, file, show)

    def __str__(self) -> str:
        names, variables = list(self.values), list(self.variables)
        width = max(len(n) for n in (*variables, "variable"))
        columns = [max(len(n), 12) for n in names]
        spent = ", ".join(f"{n} {x:.3g}" for n, x in self.cost.items())
        lines = [f"gradient of {self.analysis.system.model.name} ({self.method}; {spent})"]
        head = "  ".join(f"{n:>{w}} {'elasticity':>10}" for n, w in zip(names, columns, strict=True))
        lines.append(f"{'variable':<{width}} {'value':>12}  {head}")
        lines.append(
            f"{'':<{width}} {'':>12}  " + "  ".join(f"{x:>{w}.6g} {'':>10}" for x, w in zip(self.values.values(), columns, strict=True))
        )
        e = self.elasticities
        for j, (name, value) in enumerate(self.variables.items()):
            row = "  ".join(f"{self.matrix[i, j]:>{w}.5g} {e[i, j]:>10.4f}" for i, w in enumerate(columns))
            lines.append(f"{name:<{width}} {value:>12.6g}  {row}")
        return "\n".join([*lines, *self.notes])


def gradient(
    analysis: Analysis, criteria: Any, wrt: Sequence[str], method: str = "auto", values: Mapping[str, Any] | None = None, **options: Any
) -> Gradient:
    """Values of criteria and their derivatives by the variables ``wrt``, at other ``values`` of variables where these are given.

    method: "forward" carries a derivative for each variable along, "adjoint" walks the steps back once for each criterion, "auto" counts
        which is cheaper; "differences" runs twice for each variable with the same steps, for comparison.
    """
    if method not in METHODS:
        raise InputError(f"gradient: method '{method}' is unknown; use one of {', '.join(METHODS)}")
    chosen, variables = named(criteria), _variables(analysis, wrt)
    return differences(analysis, chosen, variables, values)


def _variables(analysis: Analysis, wrt: Sequence[str]) -> list[str]:
    """Names of variables, checked."""
    if isinstance(wrt, str) or not len(wrt):
        raise InputError(f"gradient: wrt = {wrt!r} must be a list of names of variables, such as ['d_F']")
    for name in wrt:
        analysis.variable(name)
    if len({*wrt}) < len(wrt):
        raise InputError(f"gradient: a variable is named twice in {', '.join(wrt)}")
    return list(wrt)


def differences(
    analysis: Analysis, criteria: Mapping[str, Criterion], wrt: Sequence[str], values: Mapping[str, Any] | None = None
) -> Gradient:
    """Central differences, of motions with the steps of the first one."""
    begun = time.perf_counter()
    base = {n: float(x) for n, x in (values or {}).items()}
    plan = analysis.keeping_steps()
    result = plan.run(base)
    found = measure(result, criteria, plan._changed(base))
    present = {n: base.get(n, analysis.value_of(n)) for n in wrt}
    if plan.verb == "simulate":
        plan = plan.keeping_steps(steps=result)
    rows = []
    for name, x in present.items():
        h = STEP * abs(x) or LEAST
        ends = [measure(plan.run({**base, name: x + s * h}), criteria, plan._changed({**base, name: x + s * h})) for s in (1.0, -1.0)]
        rows.append([(ends[0][c] - ends[1][c]) / (2.0 * h) for c in criteria])
    cost = {"seconds": time.perf_counter() - begun, "runs": 1 + 2 * len(rows)}
    return Gradient(analysis, criteria, found, present, np.array(rows).T, "differences", cost, result)


__all__ = ["Gradient", "differences", "gradient"]
