"""Choices: the best design for each combination of values that variables may have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError, SolverError
from ..workers import crew_for
from .optimum import Optimum
from .scalarised import FEASIBLE, violation
from .studied import Held

if TYPE_CHECKING:
    from ..workers import Workers
    from .problem import Problem
    from .space import Evaluated


def enumerated(problem: Problem, most: int, options: Mapping[str, Any]) -> list[Optimum]:
    """The optima of all combinations of choices, best first; where nothing else is variable options of searches are none."""
    chosen = [v for v in problem.variables if v.values]
    rest = {v.name: (v.lower, v.upper) for v in problem.variables if not v.values}
    count = int(np.prod([len(v.values) for v in chosen]))
    if not chosen or count > most:
        raise InputError(
            f"enumerate: {count if chosen else 'no'} combinations of choices; "
            + (f"most = {most} allows fewer" if chosen else "no variable has choices")
        )
    if options.get("form") == "relative":
        raise InputError(
            "enumerate: form='relative' takes parts of the values at the start, and each combination has its own; divide weights= by values instead"
        )
    units = {v.name: v.unit for v in problem.variables}
    every = [{v.name: x for v, x in zip(chosen, values, strict=True)} for values in product(*(v.values for v in chosen))]
    if rest:
        found = [_searched(problem, held, rest, options) for held in every]
    else:
        idle = [n for n in options if n not in ("weights", "form", "goals", "workers", "store")]
        if idle:
            raise InputError(f"enumerate: all variables are choices, nothing is left to be searched; '{idle[0]}' has no meaning")
        found = _looked_at(problem, every, **options)
    found = [replace(best, problem=problem, values={**held, **best.values}, units=units) for held, best in zip(every, found, strict=True)]
    return sorted(found, key=lambda o: (not o.feasible, o.objective))


def _searched(problem: Problem, held: Mapping[str, float], rest: Mapping[str, Any], options: Mapping[str, Any]) -> Optimum:
    """The optimum over what is left when the choices are made."""
    inner = type(problem)(Held(problem.analysis, held), rest, problem.minimise, problem.subject_to)
    inner.worst, inner.criteria = problem.worst, problem.criteria
    return inner.optimise(**options)


def _looked_at(
    problem: Problem, designs: Sequence[Mapping[str, float]], weights: Mapping[str, float] | None = None, form: str | None = None,
    goals: Mapping[str, Any] | None = None, workers: Workers = None, store: Any = None,
) -> list[Optimum]:  # fmt: skip
    """Designs as they are, judged by one objective: nothing is left to be searched."""
    with crew_for(workers) as crew:
        space = problem.space = problem._fresh(store)
        seen = space.at_all([space.scaled(d) for d in designs], crew)
    first = next((e for e in seen if e.values is not None), None)
    if first is None:
        raise SolverError(f"enumerate: none of the {len(designs)} designs runs; {seen[0].message}")
    problem._measure(first)
    form = form or ("minmax" if problem.worst else "goal" if goals else "sum")
    forms, a = problem._objective(form, weights, goals, first.x)
    return [
        problem._told(_as_it_is(problem, d, e, a), forms) if e.values is not None else _none(problem, d, e)
        for d, e in zip(designs, seen, strict=True)
    ]


def _none(problem: Problem, values: Mapping[str, float], failed: Evaluated) -> Optimum:
    nothing = dict.fromkeys(problem.minimise, np.nan), dict.fromkeys(problem.subject_to, np.nan)
    return Optimum(problem, values, {}, np.inf, *nothing, False, False, np.nan, {}, "enumerate", failed.message, {})


def _as_it_is(problem: Problem, values: Mapping[str, float], design: Evaluated, a: np.ndarray) -> Optimum:
    y, n = design.values, len(problem.minimise)
    assert y is not None
    feasible = violation(problem.forms(a), y) <= FEASIBLE
    criteria, held = dict(zip(problem.minimise, map(float, y), strict=False)), dict(zip(problem.subject_to, map(float, y[n:]), strict=True))
    return Optimum(problem, values, {}, float(a @ y), criteria, held, feasible, True, np.nan, {}, "enumerate", "", {})


__all__ = ["enumerated"]
