"""Many criteria: designs of which none is better than another in all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError, SolverError, nearest
from ...shown import Shown
from .optimum import Optimum
from .scalarised import FEASIBLE, Forms, violation
from .search import Wanted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ...solvers.optimisers import Method
    from ..workers import Crew
    from .problem import Problem

METHODS = ("epsilon", "weighted", "nbi", "nsga2")
#: Designs are the same where their criteria differ by less, as part of the spread.
SAME = 1e-4


@dataclass(frozen=True, eq=False)
class Front(Shown):
    """Designs that are not dominated, sorted by the first criterion: ``front[i]``, ``front.values`` (a row a design), ``front.knee``."""

    problem: Problem = field(repr=False)
    method: str
    designs: Sequence[Optimum] = field(repr=False)
    #: Dominated designs that were removed, and those that ended without meeting their constraints.
    dominated: Sequence[Optimum] = field(default=(), repr=False)
    infeasible: Sequence[Optimum] = field(default=(), repr=False)
    #: Values of the criteria on the front of every generation of an evolution (a row a design).
    history: Sequence[np.ndarray] = field(default=(), repr=False)

    def __len__(self) -> int:
        return len(self.designs)

    def __getitem__(self, i: int) -> Optimum:
        return self.designs[i]

    @property
    def values(self) -> np.ndarray:
        """Values of the criteria, a row a design."""
        return np.array([_values(d) for d in self.designs])

    @property
    def utopia(self) -> dict[str, float]:
        """The least value of each criterion on the front."""
        return dict(zip(self.problem.minimise, map(float, self.values.min(axis=0)), strict=True))

    @property
    def nadir(self) -> dict[str, float]:
        """The largest value of each criterion on the front."""
        return dict(zip(self.problem.minimise, map(float, self.values.max(axis=0)), strict=True))

    def hypervolume(self, reference: Mapping[str, float] | None = None) -> float:
        """The volume of what the front dominates, up to a reference point (the nadir by default), in units of the criteria."""
        given = self.nadir | dict(reference or {})
        strange = [n for n in given if n not in self.problem.minimise]
        if strange:
            raise InputError(f"hypervolume: there is no criterion '{strange[0]}'; the front has {', '.join(self.problem.minimise)}")
        return hypervolume(self.values, np.array([given[n] for n in self.problem.minimise]))

    def hypervolumes(self, reference: Mapping[str, float] | None = None) -> np.ndarray:
        """The hypervolume of the front of every generation, up to one reference point (the largest values of the last front by default)."""
        if not self.history:
            raise InputError(f"hypervolumes: a front by '{self.method}' has no generations; pareto('nsga2') has")
        given = self.nadir | dict(reference or {})
        return np.array([hypervolume(y, np.array([given[n] for n in self.problem.minimise])) for y in self.history])

    @property
    def knee(self) -> Optimum:
        """The design furthest below the plane through the ends of the front, with criteria scaled from utopia to nadir."""
        low, high = self.values.min(axis=0), self.values.max(axis=0)
        scaled = (self.values - low) / np.where(high > low, high - low, 1.0)
        return self.designs[int(np.argmin(scaled.sum(axis=1)))]

    def plot(self, file: Any = None, show: bool = False) -> Figure:
        """The front with its knee; of more than two criteria each pair."""
        from .pictures import pairs

        return pairs(self, file, show)

    def save_page(self, path: Any, play: bool = True, **options: Any) -> Any:
        """A page with all designs, brushed over criteria and variables; with ``play`` a click shows a design in motion (pages in a folder beside it)."""
        from ...view.front_page import save_front_page

        return save_front_page(self, path, play, **options)

    def __str__(self) -> str:
        names, variables = list(self.problem.minimise), [v.name for v in self.problem.variables]
        lines = [
            f"{self.problem.analysis.system.model.name}: front of {len(self)} designs ({self.method}; {len(self.dominated)} dominated, "
            f"{len(self.infeasible)} infeasible)",
            "  " + " ".join(f"{n:>12}" for n in (*names, *variables)),
        ]
        for d in self.designs:
            knee = "  knee" if d is self.knee else ""
            lines.append("  " + " ".join(f"{x:12.6g}" for x in (*d.criteria.values(), *d.values.values())) + knee)
        return "\n".join(lines)


def undominated(values: np.ndarray, tolerance: float = 1e-9) -> np.ndarray:
    """Which rows no other row dominates; of rows that are equal within a tolerance of the spread the first stays.

    >>> undominated(np.array([[1.0, 3.0], [2.0, 2.0], [2.0, 3.0], [1.0, 3.0]]))
    array([ True,  True, False, False])
    """
    gap = tolerance * np.ptp(values, axis=0)
    kept = np.ones(len(values), dtype=bool)
    for i, y in enumerate(values):
        no_worse = (values <= y + gap).all(axis=1)
        better = (values < y - gap).any(axis=1)
        same = no_worse & ~better & (np.arange(len(values)) < i) & kept
        kept[i] = not (no_worse & better).any() and not same.any()
    return kept


def hypervolume(values: np.ndarray, reference: np.ndarray) -> float:
    """The volume between points and a reference that they are better than, slice by slice along the last criterion.

    >>> hypervolume(np.array([[1.0, 2.0], [2.0, 1.0]]), np.array([3.0, 3.0]))
    3.0
    """
    inside = values[(values < reference).all(axis=1)]
    if not len(inside):
        return 0.0
    if inside.shape[1] == 1:
        return float(reference[0] - inside.min())
    inside = inside[np.argsort(inside[:, -1], kind="stable")]
    heights = np.diff(np.append(inside[:, -1], reference[-1]))
    return float(sum(h * hypervolume(inside[: i + 1, :-1], reference[:-1]) for i, h in enumerate(heights) if h > 0.0))


def lattice(count: int, points: int) -> np.ndarray:
    """Evenly spread weights with the sum one, at least as many as asked for.

    >>> lattice(2, 3).tolist()
    [[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]]
    """
    from math import comb

    parts = 1
    while comb(parts + count - 1, count - 1) < points:
        parts += 1
    bars = np.array(list(combinations(range(parts + count - 1), count - 1))).reshape(-1, count - 1)
    edges = np.hstack([np.full((len(bars), 1), -1), bars, np.full((len(bars), 1), parts + count - 1)])
    return (np.diff(edges, axis=1) - 1)[::-1] / parts


class Family:
    """The front by a family of problems with one objective each.

    A front may have branches, and one that is followed from point to point can lie behind another: each point starts from the nearest one
    known, and from the best for it of all designs that have run, among them samples of the whole space.  Points are solved in rounds that halve the
    gaps between those before, whatever the number of workers: what a point knows does not depend on who solves it.
    """

    def __init__(self, problem: Problem, method: str, points: int, optimiser: str, tolerance: float, limit: int, crew: Crew | None) -> None:
        self.problem, self.method, self.points, self.crew = problem, method, points, crew
        self.settings = (optimiser, tolerance, limit)
        self.count = len(problem.minimise)
        self.held = problem.forms(np.eye(self.count + len(problem.subject_to))[0])

    def front(self, start: np.ndarray, samples: int) -> Front:
        """All points, from the best designs known."""
        problem, unit = self.problem, np.eye(self.count + len(self.problem.subject_to))
        problem.space.look_around(samples, self.crew)
        found = self._ends(start, unit)
        table = np.array([_values(e) for e in found])  # a row an end
        low, spread = table.min(axis=0), np.ptp(table, axis=0)
        if not (spread > 1e-9 * np.abs(table).max(axis=0)).all():
            return sorted_front(problem, self.method, found)  # one design is best in a criterion and in all others
        family = _family(problem, self.method, self.points, table, low, spread)
        with problem.progress.pieces("points", len(family)) as tick:
            for wave in rounds(len(family)):
                found += self._round([family[k] for k in wave], found, spread, start)
                for _ in wave:
                    tick()
        return sorted_front(problem, self.method, found, SAME)

    def _ends(self, start: np.ndarray, unit: np.ndarray) -> list[Optimum]:
        """The least of each criterion: the better one of two searches, from the best design that has run and from the present one."""
        starts = [(i, x) for i in range(self.count) for x in (self._best_seen(lambda y, i=i: y[i], start), start)]  # type: ignore[misc]
        wanted = [(i, x) for k, (i, x) in enumerate(starts) if k % 2 == 0 or (x != starts[k - 1][1]).any()]
        solved = self._solve([(self.problem.forms(unit[i]), unit[i], x) for i, x in wanted])
        found = []
        for i, name in enumerate(self.problem.minimise):
            ends = [d for (k, _), d in zip(wanted, solved, strict=True) if k == i]
            best = min(ends, key=lambda d: (not d.feasible, d.objective))
            if not best.feasible:
                raise SolverError(f"pareto: the least '{name}' was not found: {best.message}")
            found.append(best)
        return found

    def _round(
        self, wave: Sequence[tuple[Forms, np.ndarray, np.ndarray]], found: Sequence[Optimum], spread: np.ndarray, start: np.ndarray
    ) -> list[Optimum]:
        """Points that start from designs known before them; of two starts that lead to one design it is taken once."""
        searches, owners = [], []
        for k, (forms, a, aim) in enumerate(wave):
            known = min((d for d in found if d.feasible), key=lambda d: float(np.linalg.norm((_values(d) - aim) / spread)))
            seen = self._best_seen(lambda y, aim=aim: float(np.max((y[: self.count] - aim) / spread)), start)  # type: ignore[misc]
            first = self.problem.space.scaled(known.values)
            for x in (first, seen) if (seen != first).any() else (first,):
                searches.append((forms, a, x))
                owners.append(k)
        solved = self._solve(searches, range(1, self.count) if self.method != "weighted" else ())
        new: list[Optimum] = []
        for i, d in enumerate(solved):
            again = i > 0 and owners[i] == owners[i - 1]
            if not again or (np.abs(_values(d) - _values(solved[i - 1])) > SAME * spread).any():
                new.append(d)
        return new

    def _solve(self, searches: Sequence[tuple[Forms, np.ndarray, np.ndarray]], traded: Sequence[int] = ()) -> list[Optimum]:
        problem, (optimiser, tolerance, limit) = self.problem, self.settings
        wanted = [
            (Wanted(f, f if f.tau is None else problem.forms(a), x, optimiser, tolerance, limit), a) for f, a, x in searches
        ]  # fmt: skip
        return problem.solved_all(wanted, traded, self.crew)

    def _best_seen(self, merit: Callable[[np.ndarray], float], start: np.ndarray) -> np.ndarray:
        """The design with the least merit of all that have run and keep the constraints."""
        kept = [e for e in self.problem.space.seen if e.values is not None and violation(self.held, e.values) <= FEASIBLE]
        return min(kept, key=lambda e: merit(e.values)).x if kept else start  # type: ignore[arg-type]


def rounds(count: int) -> list[list[int]]:
    """Numbers in rounds that halve the gaps between those before.

    >>> rounds(7)
    [[3], [1, 5], [0, 2, 4, 6]]
    """
    found, gaps = [], [(0, count)]
    while gaps:
        wave = [(low + high) // 2 for low, high in gaps]
        found.append(wave)
        gaps = [pair for (low, high), m in zip(gaps, wave, strict=True) for pair in ((low, m), (m + 1, high)) if pair[1] > pair[0]]
    return found if count else []


def _values(design: Optimum) -> np.ndarray:
    return np.array(list(design.criteria.values()))


def _family(
    problem: Problem, method: str, points: int, table: np.ndarray, low: np.ndarray, spread: np.ndarray
) -> list[tuple[Forms, np.ndarray, np.ndarray]]:
    """Forms, objective and the values aimed at, for each point between the ends."""
    count = len(low)
    width = count + len(problem.subject_to)
    unit = np.eye(width)
    inner = [b for b in lattice(count, points) if b.max() < 1.0]
    if method == "weighted":
        weighted = [np.concatenate([b / spread, np.zeros(width - count)]) for b in inner]
        return [(problem.forms(a), a, b @ table) for a, b in zip(weighted, inner, strict=True)]
    if method == "epsilon":
        bounds = [b @ table for b in inner] if count == 2 else [low + spread * c for c in _grid(count, points)]
        rows = np.eye(width)[1:count] / spread[1:, None]
        free = np.full(count - 1, -np.inf)
        return [(problem.forms(unit[0]).with_rows(rows, free, y[1:] / spread[1:]), unit[0], y) for y in bounds]
    hull = [b @ table for b in inner]
    normal = -((table - low) / spread).sum(axis=0)  # quasi-normal: from the hull towards utopia, in scaled criteria
    # As bounds, not equations: a normal that misses the front still ends on it.
    rows, free, held = np.eye(width)[:count] / spread[:, None], np.full(count, -np.inf), problem.forms(unit[0])
    goals = [Forms(np.zeros(width), rows, free, y / spread, (-1.0, -normal)) for y in hull]
    return [(g.with_rows(held.B, held.row_lower, held.row_upper), unit[0], y) for g, y in zip(goals, hull, strict=True)]


def _grid(count: int, points: int) -> np.ndarray:
    """Bounds on all criteria but the first, from utopia to nadir without its ends; the first is free."""
    side = max(2, round(points ** (1.0 / (count - 1))))
    axes = np.meshgrid(*[np.arange(1, side + 1) / (side + 1)] * (count - 1), indexing="ij")
    return np.column_stack([np.full(side ** (count - 1), 0.5), *(x.ravel() for x in axes)])


def check(problem: Problem, method: str, points: int, solver: Method) -> None:
    """Refuses what makes no front."""
    if method not in METHODS:
        near = nearest(str(method), METHODS, 1)
        raise InputError(f"pareto: method '{method}' is unknown; " + (f"did you mean {near[0]}?" if near else f"use {', '.join(METHODS)}"))
    if len(problem.minimise) < 2 and method != "nsga2":  # evolution towards one criterion gives its best design
        raise InputError(f"pareto: one criterion ({next(iter(problem.minimise))}) has no front; use optimise()")
    if int(points) < 2:
        raise InputError(f"pareto: points = {points} must be at least 2")
    if method in ("epsilon", "nbi") and not solver.constraints:
        raise InputError(
            f"pareto: method '{method}' poses constraints, which optimiser '{solver.name}' does not take; use slsqp or trust-constr"
        )


def told_apart(values: np.ndarray, same: float) -> np.ndarray:
    """Which rows stay where of rows that differ by less than a part of the spread in every criterion one is taken: the ends of the front first.

    >>> told_apart(np.array([[0.0, 2.0], [1.0, 1.0 + 1e-6], [1.0 + 1e-6, 1.0], [2.0, 0.0]]), 1e-4)
    array([ True,  True, False,  True])
    """
    gap, kept = same * np.ptp(values, axis=0), np.zeros(len(values), dtype=bool)
    for i in dict.fromkeys([*np.argmin(values, axis=0).tolist(), *range(len(values))]):
        kept[i] = not (np.abs(values[kept] - values[i]) < gap).all(axis=1).any()
    return kept


def sorted_front(problem: Problem, method: str, found: Sequence[Optimum], same: float = 0.0) -> Front:
    """The designs that are not dominated; of those that are nearly the same, as searches from several starts find them, one."""
    kept = sorted((d for d in found if d.feasible), key=lambda d: list(d.criteria.values()))
    values = np.array([_values(d) for d in kept])
    best = undominated(values)
    if same:
        best[best] = told_apart(values[best], same)
    of = {True: [d for d, b in zip(kept, best, strict=True) if b], False: [d for d, b in zip(kept, best, strict=True) if not b]}
    return Front(problem, method, of[True], of[False], [d for d in found if not d.feasible])


__all__ = ["Family", "Front", "check", "rounds", "sorted_front", "hypervolume", "lattice", "undominated"]
