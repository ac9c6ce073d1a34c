"""Fronts by evolution: generations of designs, each judged at once by all workers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...errors import InputError, SolverError
from ...progress import counted
from ...solvers.optimisers.pymoo_evolution import evolve
from .front import Front, sorted_front
from .optimum import Optimum
from .scalarised import FEASIBLE, violation

if TYPE_CHECKING:
    from ..problem import Problem
    from ..workers import Crew


def evolved(problem: Problem, start: np.ndarray, population: int, generations: int, seed: int, crew: Crew | None, progress: bool) -> Front:
    """The front that the last generation of NSGA-II has reached."""
    for word, number, least in (("population", population, 4), ("generations", generations, 1), ("seed", seed, 0)):
        if isinstance(number, bool) or not isinstance(number, (int, np.integer)) or number < least:
            raise InputError(f"pareto: {word} = {number!r} must be a whole number from {least} on")
    space, first = problem.space, len(problem.minimise)
    free = [v.name for v in problem.variables if not v.closed]
    if free:
        raise InputError(
            f"pareto: 'nsga2' draws designs between bounds, and '{free[0]}' lacks one; give it as variables={{'{free[0]}': (low, high)}}"
        )
    held = problem.forms(np.eye(first + len(problem.subject_to))[0])

    with counted("generations", generations, 0, progress) as tick:

        def judge(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            seen = space.at_all(list(X), crew)
            tick()
            F = np.array([np.full(first, np.nan) if e.values is None else e.values[:first] for e in seen])
            missed = [np.nan if e.values is None else violation(held, e.values) - FEASIBLE for e in seen]
            return F, np.array(missed)[:, None]

        designs = evolve(judge, space.lower, space.upper, first, 1, population, generations, seed, start)
    if not len(designs):
        raise SolverError(
            f"pareto: no design of {generations} generations runs and meets the constraints; the last failure: {_last(problem)}"
        )
    return sorted_front(problem, "nsga2", [_member(problem, x, seed, generations) for x in designs])


def _last(problem: Problem) -> str:
    return problem.space.failed[-1].message if problem.space.failed else "none, the constraints are missed"


def _member(problem: Problem, x: np.ndarray, seed: int, generations: int) -> Optimum:
    """A design of the last generation; nothing is known of the conditions of an optimum."""
    space, first = problem.space, len(problem.minimise)
    y = space.at(x).values
    assert y is not None
    spent = {"runs": space.runs, "gradients": space.gradients, "iterations": generations}
    return Optimum(
        problem, space.named(x), {v.name: v.unit for v in problem.variables}, float(y[0]), dict(zip(problem.minimise, map(float, y), strict=False)),
        dict(zip(problem.subject_to, map(float, y[first:]), strict=True)), True, True, np.nan, {}, "nsga2",
        f"of generation {generations}, seed {seed}", spent, (), tuple(space.notes),
    )  # fmt: skip


__all__ = ["evolved"]
