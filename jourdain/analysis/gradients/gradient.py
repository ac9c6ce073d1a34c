"""Gradients of criteria: the front of all methods, and what they give."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError
from ...shown import Shown
from ..design.criteria import Criterion, named
from .measure import measure
from .units import units_of, value_units

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..design.planned import Analysis

#: Names of methods.
METHODS = ("auto", "forward", "adjoint", "differences")
#: How near criteria of a verb in two formulations are to each other where derivatives of one are those of the other.
SAME = 1e-5
#: Verbs whose multipliers are those of each formulation's own rows: their criteria are read in joint coordinates.
OF_OWN_ROWS = ("static_forces", "inverse_dynamics_along")
#: Relative step of central differences.
STEP = 1e-5


@dataclass(frozen=True, eq=False)
class Gradient(Shown):
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
    #: How it was computed: "forward", "adjoint", "implicit" (verbs without time) or "differences".
    method: str
    #: What it cost: seconds of the run and of the derivatives, steps, evaluations.
    cost: Mapping[str, float] = field(default_factory=dict)
    #: The result of the analysis on which it was computed.
    result: Any = field(default=None, repr=False)
    #: What should be known: switches, growth of the adjoint, one-sided derivatives.
    notes: Sequence[str] = ()
    #: Laws that jumped without an event of the model, located for the gradient: when, and the expression that was zero.
    switches: Sequence[Any] = ()

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

    @cached_property
    def units(self) -> dict[str, dict[str, str | None]]:
        """The SI unit of every entry, that of its criterion over that of its variable: ``g.units["comfort"]["d_F"]``; None where it is not known."""
        return units_of(self)

    @cached_property
    def value_units(self) -> dict[str, str | None]:
        """The SI units of the criteria; None where they are not known."""
        return value_units(self)

    def check(self, rtol: float = 1e-6) -> Gradient:
        """Compares with central differences of runs that take the same steps; an error says where they differ.

        What a relative change of a variable (or a change of one) does to less than 1e-9, or a thousandth of ``rtol``, of a value is beyond differences.
        """
        other = differences(self.analysis, self.criteria, list(self.variables), self.variables)
        scale = np.maximum(np.abs(self.matrix), np.abs(other.matrix))
        gap = np.abs(self.matrix - other.matrix)
        size = np.array([max(abs(x), 1e-300) for x in self.values.values()])[:, None]
        width = np.array([max(abs(x), 1.0) for x in self.variables.values()])
        wrong = np.argwhere(gap > rtol * scale + max(1e-9, 1e-3 * rtol) * size / width)
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
        spent = ", ".join(f"{n} {x:.3g}" for n, x in self.cost.items())
        lines = [f"gradient of {self.analysis.system.model.name} ({self.method}; {spent})"]
        units = [[self.units[n][v] or "" for v in variables] for n in names]
        shown = [self.value_units[n] or "" for n in names]
        wide = [max(len(x) for x in (*u, v)) for u, v in zip(units, shown, strict=True)]
        columns = [max(len(n), 12) for n in names]
        head = "  ".join(f"{n:>{w}} {'':<{u}} {'elasticity':>10}" for n, w, u in zip(names, columns, wide, strict=True))
        lines.append(f"{'variable':<{width}} {'value':>12}  {head}")
        parts = zip(self.values.values(), columns, shown, wide, strict=True)
        lines.append(f"{'':<{width}} {'':>12}  " + "  ".join(f"{x:>{w}.6g} {n:<{u}} {'':>10}" for x, w, n, u in parts))
        e = self.elasticities
        for j, (name, value) in enumerate(self.variables.items()):
            entries = zip(self.matrix[:, j], columns, units, wide, e[:, j], strict=True)
            row = "  ".join(f"{x:>{w}.5g} {u[j]:<{n}} {y:>10.4f}" for x, w, u, n, y in entries)
            lines.append(f"{name:<{width}} {value:>12.6g}  {row}")
        return "\n".join([*(line.rstrip() for line in lines), *self.notes])


def gradient(
    analysis: Analysis, criteria: Any, wrt: Sequence[str], method: str = "auto", values: Mapping[str, Any] | None = None,
    memory: float | str = "1 GB",
) -> Gradient:  # fmt: skip
    """Values of criteria and their derivatives by the variables ``wrt``, at other ``values`` of variables where these are given.

    method: "forward" carries a derivative for each variable along, "adjoint" walks the steps back once for each criterion, "auto" counts
        which is cheaper; "differences" runs twice for each variable with the same steps, for comparison.  Equilibria, assembled positions, modes,
        linear systems, driven motions and their forces are differentiated by the theorem on implicit functions, whatever the method.
    memory: what the steps of a run may take (bytes, or "64 MB"); longer runs are walked along in blocks whose states are found twice, with the same result.
    """
    if method not in METHODS:
        raise InputError(f"gradient: method '{method}' is unknown; use one of {', '.join(METHODS)}")
    from .blocks import bytes_of

    chosen = named(criteria)
    variables = variables_of(analysis, wrt, chosen)
    if method == "differences":
        return differences(analysis, chosen, variables, values)
    if analysis.verb != "simulate":
        return _of_state(analysis, chosen, variables, method, values)
    return _of_simulation(analysis, chosen, variables, method, values, bytes_of(memory))


def _of_state(
    analysis: Analysis, criteria: Mapping[str, Criterion], wrt: list[str], method: str, values: Mapping[str, Any] | None
) -> Gradient:
    """The gradient of what a verb without time finds: exact where it is carried."""
    from .runs import NotCarried
    from .states import gradient_of_state

    own, chosen = split(criteria, numbers_of(values))
    try:
        found = gradient_of_state(_in_joint_coordinates(analysis), chosen, wrt, own)
        return _told_of(analysis, criteria, found, values) if analysis.system.formulation != "recursive" else found
    except NotCarried as reason:
        if method != "auto":
            raise
        return replace(differences(analysis, criteria, wrt, values), notes=(f"by differences: {reason}",))


def _in_joint_coordinates(analysis: Analysis) -> Analysis:
    """The same verb of the system in joint coordinates, in which all formulations have their states; it is kept with the analysis."""
    if analysis.system.formulation == "recursive":
        return analysis
    kept: Analysis | None = analysis._own.__dict__.get("joint")
    if kept is None or kept.system is not analysis.system.reference:
        kept = analysis._own.joint = type(analysis)(analysis.system.reference, analysis.verb, *analysis.args, **analysis.kwargs)
    return kept


def _read_in(analysis: Analysis) -> Analysis:
    """The analysis on whose result criteria can be read."""
    return _in_joint_coordinates(analysis) if analysis.verb in OF_OWN_ROWS else analysis


def _told_of(analysis: Analysis, criteria: Mapping[str, Criterion], found: Gradient, values: Mapping[str, Any] | None) -> Gradient:
    """A gradient in joint coordinates as that of another formulation, where that finds the same."""
    from .runs import NotCarried

    word = f"the {analysis.system.formulation} formulation"
    for name, x in evaluate(analysis, criteria, values or {}).items():
        if abs(x - found.values[name]) > SAME * max(abs(x), abs(found.values[name]), 1e-6):
            raise NotCarried(
                f"gradient of '{analysis.system.model.name}': '{name}' of {analysis.verb} is {x:.9g} in {word} and {found.values[name]:.9g} in joint coordinates, in "
                "which it is carried; use method='differences'"
            )
    note = f"derivatives are those in joint coordinates, in which criteria are as in {word}"
    return replace(found, analysis=analysis, notes=(*found.notes, note))


def _of_simulation(
    analysis: Analysis, criteria: Mapping[str, Criterion], wrt: list[str], method: str, values: Mapping[str, Any] | None, memory: float
) -> Gradient:
    """The gradient of a motion in time."""
    from .moreau.stepped import Stepped
    from .simulated import Simulated
    from .strange import finite, finite_slopes

    base = numbers_of(values)
    own, criteria = split(criteria, base)
    along_steps = analysis.kwargs.get("method") == "moreau"
    run = Stepped(analysis, criteria, wrt, own, memory) if along_steps else Simulated(analysis, criteria, wrt, own, memory=memory)
    begun = time.perf_counter()
    if method == "auto":
        method = "adjoint" if len(criteria) < len(wrt) else "forward"
    with np.errstate(invalid="ignore", over="ignore"):
        found, matrix = run.adjoint() if method == "adjoint" else run.forward()
    found, matrix = finite(found, criteria, run.solution), finite_slopes(matrix, criteria, wrt)
    cost = {"run": run.seconds, "seconds": time.perf_counter() - begun, "steps": int(np.count_nonzero(np.diff(run.t)))}
    present = {n: base[n] if n in base else present_value(analysis, criteria, n) for n in wrt}
    return Gradient(analysis, criteria, found, present, matrix, method, cost, run.solution, tuple(run.notes), tuple(run.switches))


def numbers_of(values: Mapping[str, Any] | None) -> dict[str, float]:
    """Values of variables as numbers."""
    return {n: float(x) for n, x in (values or {}).items()}


def split(criteria: Mapping[str, Criterion], values: Mapping[str, float]) -> tuple[dict[str, float], dict[str, Criterion]]:
    """Values of the analysis' own variables, and criteria with the others as their constants."""
    owners = {f"{name}.{n}": (name, n) for name, c in criteria.items() for n in c.constants}
    found = dict(criteria)
    for variable, x in values.items():
        if variable in owners:
            name, n = owners[variable]
            found[name] = found[name].with_constants(**{n: x})
    return {n: x for n, x in values.items() if n not in owners}, found


def present_value(analysis: Analysis, criteria: Mapping[str, Criterion], variable: str) -> float:
    """The value of a variable as it is."""
    for name, c in criteria.items():
        for n, x in c.constants.items():
            if variable == f"{name}.{n}":
                return x
    return analysis.value_of(variable)


def variables_of(analysis: Analysis, wrt: Sequence[str], criteria: Mapping[str, Criterion]) -> list[str]:
    """Names of variables, checked."""
    if isinstance(wrt, str) or not len(wrt):
        raise InputError(f"gradient: wrt = {wrt!r} must be a list of names of variables, such as ['d_F']")
    constants = {f"{name}.{n}" for name, c in criteria.items() for n in c.constants}
    for name in wrt:
        if name not in constants:
            analysis.variable(name)
    if len({*wrt}) < len(wrt):
        raise InputError(f"gradient: a variable is named twice in {', '.join(wrt)}")
    return list(wrt)


def evaluate(analysis: Analysis, criteria: Mapping[str, Criterion], values: Mapping[str, Any]) -> dict[str, float]:
    """The values of criteria on a run of the analysis."""
    own, chosen = split(criteria, numbers_of(values))
    plan = _read_in(analysis).keeping_steps()
    result = plan.run(own)
    found = _measured(plan, result, chosen, own)
    if not np.isfinite(list(found.values())).all():
        from .strange import finite

        return finite(found, chosen, result)
    return found


def _measured(plan: Analysis, result: Any, criteria: Mapping[str, Criterion], values: Mapping[str, float]) -> dict[str, float]:
    """Criteria of a result; of motions by the steps themselves, where these can be walked along."""
    if plan.verb == "simulate":
        from .simulated import NotCarried, Simulated

        try:
            run = Simulated(plan, criteria, [], values, result)
            return run.results(*run.found())
        except NotCarried:
            pass
    return measure(result, criteria, plan._changed(values), plan.kwargs.get("inputs"), plan._own.__dict__.setdefault("read", {}))


def _instants(plan: Analysis, solution: Any) -> np.ndarray:
    """The steps of a run, and where an event has ended it further ones like the last to its planned end."""
    from ..simulate import span_of

    t = np.asarray(solution.t)
    planned = plan.kwargs["t"] if "t" in plan.kwargs else plan.args[1]
    end = span_of(plan.system.model.name, float(t[0]), planned)[1]
    width = max(t[-1] - t[-2], 1e-3 * (t[-1] - t[0])) if len(t) > 1 else end - t[-1]
    return np.concatenate([t, np.arange(t[-1] + width, end, width), [end]]) if end > t[-1] else t


def _size(analysis: Analysis, name: str, x: float) -> float:
    """What the step of differences is measured by: the value; of zeros, and values that are nearly zero, a part of what the bounds span."""
    known = analysis.system.model.parameter_set
    low, high = known[name].bounds if name in known else (None, None)
    if low is None or high is None:
        return abs(x) or 1.0
    return max(abs(x), 1e-4 * (high - low)) if x else 1e-2 * (high - low)


def _takes_steps(solution: Any) -> bool:
    """Whether the method of a run takes steps that are given."""
    from ...solvers import METHODS
    from ...solvers.ode.replay import FOLLOW_THEIR_ERROR

    method = solution.metadata["method"]
    return method in METHODS and method not in FOLLOW_THEIR_ERROR and solution.metadata["run"] == "projected"


def _by_instants(plan: Analysis, solution: Any, values: Mapping[str, float], criteria: Mapping[str, Criterion]) -> bool:
    """Whether changed runs are found by walks along the instants of the first: those of methods that take no given steps; events move with the walks."""
    if _takes_steps(solution) or solution.metadata["run"] == "contact events":
        return False
    from .runs import NotCarried
    from .simulated import Simulated

    try:
        walk = Simulated(plan, criteria, [], values, solution)
    except NotCarried:
        return False
    return walk.run.moves_events or not solution.events


def _again(plan: Analysis, solution: Any, criteria: Mapping[str, Criterion], values: Mapping[str, float]) -> dict[str, float]:
    """Criteria of a changed run at the instants of another."""
    from .simulated import Simulated

    run = Simulated(plan, criteria, [], values, solution, again=True)
    return run.results(*run.found())


def differences(
    analysis: Analysis, criteria: Mapping[str, Criterion], wrt: Sequence[str], values: Mapping[str, Any] | None = None
) -> Gradient:
    """Central differences, of motions with the steps of the first one."""
    begun = time.perf_counter()
    base = numbers_of(values)
    own, first = split(criteria, base)
    plan = _read_in(analysis).keeping_steps()
    result = plan.run(own)
    found = _measured(plan, result, first, own)
    present = {n: base.get(n, present_value(analysis, first, n)) for n in wrt}
    again = plan.verb == "simulate" and _by_instants(plan, result, own, first)
    if plan.verb == "simulate" and not again and _takes_steps(result):
        plan = plan.keeping_steps(steps=_instants(plan, result))

    def at(name: str, x: float) -> dict[str, float]:
        changed, chosen = split(criteria, {**base, name: x})
        return _again(plan, result, chosen, changed) if again else _measured(plan, plan.run(changed), chosen, changed)

    rows = []
    for name, x in present.items():
        h = STEP * _size(analysis, name, x)
        ends = at(name, x + h), at(name, x - h)
        rows.append([(ends[0][c] - ends[1][c]) / (2.0 * h) for c in criteria])
    cost = {"seconds": time.perf_counter() - begun, "runs": 1 + 2 * len(rows)}
    return Gradient(analysis, criteria, found, present, np.array(rows).T, "differences", cost, result)


__all__ = ["Gradient", "differences", "gradient", "numbers_of", "present_value", "split", "variables_of"]
