"""Searches: one objective on a space of designs, from one start or from several; each may run at another worker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...solvers.optimisers import Found, method_named
from .scalarised import FEASIBLE, Forms, Scalarised, least_violated, violation
from .space import Evaluated, Space, Variable

if TYPE_CHECKING:
    from ..workers import Crew
    from .criteria import Criterion
    from .kept import Kept
    from .planned import Analysis


@dataclass(frozen=True)
class Wanted:
    """One search: forms, the forms that a result must keep, where to begin, tolerance and limit of iterations."""

    forms: Forms
    kept: Forms
    start: np.ndarray
    optimiser: str
    tolerance: float
    limit: int
    seed: int = 1


@dataclass(frozen=True)
class Effort:
    """How much is done for an optimum: by which optimiser, from how many starts, and by whom."""

    optimiser: str
    tolerance: float
    limit: int
    seed: int
    starts: int
    crew: Crew | None


@dataclass(frozen=True)
class Searched:
    """Where a search ended, and the designs that it looked at, as another space can take them."""

    found: Found
    #: Runs and gradients that it took.
    counts: tuple[int, int]
    seen: Sequence[Evaluated]
    failed: Sequence[Evaluated]
    notes: Sequence[str]


def search(space: Space, wanted: Wanted, crew: Crew | None = None) -> Found:
    """The optimum of forms; where it misses constraints, a design that misses them least, and from there once more.

    Workers do the runs of optimisers that ask for many at once.
    """
    solver, iterations = method_named(wanted.optimiser), 0

    def solve(which: Forms, x: np.ndarray) -> Found:
        nonlocal iterations
        found = solver.solve(Scalarised(space, which, x, solver.gradients, wanted.seed, crew), wanted.tolerance, wanted.limit)
        iterations += found.iterations
        return found

    def missed(x: np.ndarray) -> float:
        y = space.at(x).values
        return np.inf if y is None else violation(wanted.kept, y)

    n = len(wanted.start)
    found = solve(wanted.forms, wanted.start)
    x = found.x[:n]
    if missed(x) > FEASIBLE:
        closest = min(space.seen, key=lambda e: missed(e.x))
        assert closest.values is not None
        x = closest.x
        if missed(x) > 0.0:
            x = solve(least_violated(wanted.kept, closest.values), x).x[:n]
        if missed(x) <= FEASIBLE:
            found = solve(wanted.forms, x)
            x = found.x[:n] if missed(found.x[:n]) <= FEASIBLE else x
    return replace(found, x=x, iterations=iterations)


@dataclass
class Searches:
    """The task of a worker: a search on a space of its own, which knows the designs that all searches know."""

    analysis: Analysis
    variables: Sequence[Variable]
    criteria: Mapping[str, Criterion]
    keep: Kept | None
    known: Sequence[Evaluated]

    def __call__(self, wanted: Wanted) -> Searched:
        space = Space(self.analysis, self.variables, self.criteria, self.keep)
        space.learn(self.known)
        before = len(space.designs)
        found = search(space, wanted)
        space.at(found.x, slopes=True)  # for the conditions of an optimum
        return Searched(found, (space.runs, space.gradients), space.designs[before:], space.failed, space.notes)


@dataclass
class Looks:
    """The task of a worker: a design, run with or without derivatives."""

    analysis: Analysis
    variables: Sequence[Variable]
    criteria: Mapping[str, Criterion]

    def __call__(self, job: tuple[np.ndarray, bool]) -> tuple[Evaluated, list[str]]:
        space = Space(self.analysis, self.variables, self.criteria)
        return space.at(*job), space.notes

    def many(self, jobs: Sequence[tuple[np.ndarray, bool]]) -> list[Any] | None:
        """The same of many designs in one native loop; None where these are not for one."""
        from ..gradients.many import Many
        from ..workers import attempt
        from .planned import Analysis

        if type(self.analysis) is not Analysis or any(slopes for _, slopes in jobs):
            return None
        owned = {f"{n}.{k}" for n, c in self.criteria.items() for k in c.constants}
        names = [v.name for v in self.variables]
        loop = None if owned & {*names} else Many.of(self.analysis, self.criteria)
        if loop is None or not loop.carries(names):
            return None
        space = Space(self.analysis, self.variables, self.criteria)
        table, well = loop.table(names, space.all_named(np.array([x for x, _ in jobs], dtype=float)))
        return [
            (Evaluated(np.array(job[0], dtype=float), y), []) if ok else attempt(self, job)
            for job, y, ok in zip(jobs, table, well.tolist(), strict=True)
        ]

    # -- as tables of numbers, to be sent -------------------------------------------------------------------------

    @staticmethod
    def packed_jobs(jobs: Sequence[tuple[np.ndarray, bool]]) -> Any:
        """Designs without derivatives in rows."""
        return jobs if any(slopes for _, slopes in jobs) else np.array([x for x, _ in jobs], dtype=float)

    @staticmethod
    def unpacked_jobs(sent: Any) -> Sequence[tuple[np.ndarray, bool]]:
        """The same as jobs."""
        return [(x, False) for x in sent] if isinstance(sent, np.ndarray) else sent

    @staticmethod
    def packed_results(found: list[Any]) -> Any:
        """Values in rows, of designs that have nothing else to tell."""
        plain = all(isinstance(r, tuple) and r[0].values is not None and r[0].slopes is None and not r[1] for r in found)
        return np.array([e.values for e, _ in found]) if plain else found

    @staticmethod
    def unpacked_results(jobs: Sequence[tuple[np.ndarray, bool]], found: Any) -> list[Any]:
        """The same as results."""
        if not isinstance(found, np.ndarray):
            return list(found)
        return [(Evaluated(np.array(x, dtype=float), y), []) for (x, _), y in zip(jobs, found, strict=True)]


__all__ = ["Effort", "Looks", "Searched", "Searches", "Wanted", "search"]
