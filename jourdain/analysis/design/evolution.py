"""Fronts by evolution: generations of designs, each judged at once by all workers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError, SolverError
from ...solvers.optimisers.pymoo_evolution import Breeding, evolve
from .front import Front, sorted_front
from .optimum import Optimum
from .scalarised import FEASIBLE, violation

if TYPE_CHECKING:
    from ..workers import Crew
    from .problem import Problem


def breeding_of(crossover: Any, mutation: Any, bits: Any) -> Breeding:
    """How designs are bred, checked."""
    own = Breeding()
    often, near = _pair("crossover", crossover, own.crossover)
    if often is None:
        raise InputError(f"pareto: crossover = {crossover!r} must have a probability from 0 to 1 and a positive index")
    if bits is not None and (isinstance(bits, bool) or not isinstance(bits, int) or not 1 <= bits <= 52):
        raise InputError(f"pareto: bits = {bits!r} must be a whole number from 1 to 52")
    return Breeding((often, near), _pair("mutation", mutation, own.mutation), bits)


def _pair(word: str, given: Any, usual: tuple[float | None, float]) -> tuple[float | None, float]:
    """A probability (None: the usual one of a variable) and the index of a distribution."""
    try:
        chance, index = usual if given is None else given
        pair = None if chance is None else float(chance), float(index)
    except (TypeError, ValueError):
        raise InputError(f"pareto: {word} = {given!r} must be a pair (probability, index of its distribution), such as (0.9, 20)") from None
    if not (pair[0] is None or 0.0 <= pair[0] <= 1.0) or not pair[1] > 0.0:
        raise InputError(f"pareto: {word} = {given!r} must have a probability from 0 to 1 and a positive index")
    return pair


def evolved(
    problem: Problem, start: np.ndarray, population: int, generations: int, seed: int, crew: Crew | None, breeding: Breeding
) -> Front:
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

    with problem.progress.pieces("generations", generations) as tick:

        def judge(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            seen = space.at_all(list(X), crew)
            tick()
            F = np.array([np.full(first, np.nan) if e.values is None else e.values[:first] for e in seen])
            missed = [np.nan if e.values is None else violation(held, e.values) - FEASIBLE for e in seen]
            return F, np.array(missed)[:, None]

        history: list[np.ndarray] = []
        designs = evolve(
            judge, space.lower, space.upper, first, 1, population, generations, seed, start, breeding, lambda _, F: history.append(F)
        )
    if not len(designs):
        raise SolverError(f"pareto: no design of {generations} generations runs and meets the constraints; {_last(problem)}")
    found = sorted_front(problem, "nsga2", [_member(problem, x, seed, generations) for x in designs])
    return replace(found, history=tuple(history))


def _last(problem: Problem) -> str:
    """What the least violated design misses, or why the last one did not run."""
    space, n = problem.space, len(problem.minimise)
    if not space.seen:
        return f"the last failure: {space.failed[-1].message}"
    held = problem.forms(np.eye(n + len(problem.subject_to))[0])
    best = min(space.seen, key=lambda e: violation(held, e.values))  # type: ignore[arg-type]
    assert best.values is not None
    missed = {m: problem.subject_to[m].violation(float(y)) for m, y in zip(problem.subject_to, best.values[n:], strict=True)}
    told = ", ".join(f"'{m}' ({problem.subject_to[m]}) by {x:.4g}" for m, x in missed.items() if x > 0.0)
    return f"the least violated, {space.shown(best.x)}, misses {told}"


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


__all__ = ["breeding_of", "evolved"]
