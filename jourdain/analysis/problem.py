"""Design problems: which variables of an analysis make criteria least within constraints."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError, JourdainError, SolverError, nearest
from ..model.values import number
from ..results.store import Store
from ..solvers.optimisers import Found, Method, method_named
from .criteria import Constraint, Criterion, named
from .design.kept import kept_in
from .design.optimum import Optimum, conditions
from .design.scalarised import FEASIBLE, Forms, violation
from .design.search import Searched, Searches, Wanted, search
from .design.space import Evaluated, Space, variables_of
from .workers import Failed, Workers, crew_for, results

if TYPE_CHECKING:
    from .design.front import Front
    from .planned import Analysis
    from .workers import Crew

StoreLike = Store | str | os.PathLike[str] | None

#: Designs that are tried where the first cannot run.
TRIALS = 32

#: A residual of the conditions of Karush, Kuhn and Tucker that counts as converged, whatever the optimiser says.
STATIONARY = 1e-6


class Problem:
    """Variables of an analysis, criteria to minimise, constraints to keep.

    variables: names of parameters and initial values, with the bounds of the parameters; or names with bounds, ``{"c": (10, "5 kN s/m")}``.
    minimise: criteria by name, or one alone.
    subject_to: constraints by name, such as ``{"stroke": jd.criteria.largest("abs(travel)") <= "120 mm"}``.

    >>> import jourdain as jd
    >>> m = jd.Model("oscillator", gravity=(0, 0, 0))
    >>> c = m.parameter("c", 0.3, "N s/m", bounds=(0.1, 3.0))
    >>> slide = m.prismatic("x", m.ground, m.body("mass", mass=1.0), axis="x")
    >>> _ = m.joint_spring(slide, 1.0, damping=c)
    >>> swing = jd.Analysis(m.compile(), "simulate", {"x.displacement_rate": 1.0}, t=60.0)
    >>> best = Problem(swing, ["c"], {"shake": jd.criteria.integral("x.displacement_acc^2")}).optimise()
    >>> round(best.values["c"], 4)
    1.0
    """

    def __init__(
        self, analysis: Analysis, variables: Sequence[str] | Mapping[str, Any], minimise: Any,
        subject_to: Mapping[str, Constraint] | None = None,
    ) -> None:  # fmt: skip
        self.analysis = analysis
        self.variables = variables_of(analysis, variables)
        self.minimise: dict[str, Criterion] = named(minimise)
        self.subject_to: dict[str, Constraint] = dict(subject_to or {})
        for name, c in self.subject_to.items():
            if not isinstance(c, Constraint):
                raise InputError(f"constraint '{name}': {c!r} is none; write jd.criteria.largest('…') <= '120 mm', >=, .equals or .between")
            if name in self.minimise:
                raise InputError(f"problem: '{name}' names a criterion and a constraint; rename one of them")
        #: Sizes of constraints, by which they are scaled: of their bounds, or of their values at the start where these are zero.
        self.sizes = {n: max(abs(b) for b in (c.lower, c.upper, 0.0) if np.isfinite(b)) for n, c in self.subject_to.items()}
        self.space = self._fresh()

    def _fresh(self, store: StoreLike = None) -> Space:
        """No designs looked at yet, but those of a store: the system may have got other parameters since the last ones."""
        criteria = self.minimise | {n: c.criterion for n, c in self.subject_to.items()}
        return Space(self.analysis, self.variables, criteria, kept_in(store, self.analysis, self.variables, criteria))

    # -- one objective ----------------------------------------------------------------------------------------------

    def optimise(
        self, weights: Mapping[str, float] | None = None, method: str = "slsqp", start: Mapping[str, Any] | None = None,
        tolerance: float = 1e-10, limit: int = 200, store: StoreLike = None,
    ) -> Optimum:  # fmt: skip
        """The design with the least weighted sum of the criteria.

        method: "slsqp" and "trust-constr" take constraints and use gradients, "l-bfgs-b" and "tnc" bounds only; "cobyqa" takes constraints
            and "nelder-mead" bounds without gradients.
        start: values of variables to begin with; the others begin with their present ones, moved into the bounds.
        tolerance: of the optimiser, for objective and variables scaled to one.
        store: a store or its file; designs that have run are kept there at once, and the same call goes on where it was cut short.
        """
        a, solver, x = self._weighted(weights), self._solver(method, tolerance), self._begin(start, store)
        best = self.solved(Wanted(self.forms(a), self.forms(a), x, solver.name, tolerance, limit), a)
        spent = {**best.evaluations, "runs": self.space.runs, "gradients": self.space.gradients}
        return replace(best, evaluations=spent, failed=tuple(e.message for e in self.space.failed))

    def pareto(
        self, method: str = "epsilon", points: int = 20, optimiser: str = "slsqp", start: Mapping[str, Any] | None = None,
        samples: int = 32, tolerance: float = 1e-8, limit: int = 200, workers: Workers = None, store: StoreLike = None, progress: bool = True,
        population: int = 60, generations: int = 50, seed: int = 1,
    ) -> Front:  # fmt: skip
        """Designs of which none is better than another in every criterion.

        method: "weighted" sums (find convex parts only), "epsilon" (the first criterion with bounds on the others), or "nbi"
            (normal-boundary intersection, evenly spread); "nsga2" is evolution without gradients: ``generations`` of a ``population``, the same for
            the same ``seed``.
        samples: designs spread over the space that are run first, so that no branch of the front is missed for want of a start.
        workers: see :mod:`jourdain.analysis.workers`; the front is the same to the last bit.
        store: a store or its file, with which the same call goes on where it was cut short.
        """
        from .design.front import Family, check

        solver = self._solver(optimiser, tolerance)
        check(self, method, points, solver)
        if int(samples) < 0:
            raise InputError(f"pareto: samples = {samples} must not be negative")
        with crew_for(workers) as crew:
            x = self._begin(start, store)
            if method == "nsga2":
                from .design.evolution import evolved

                return evolved(self, x, population, generations, seed, crew, progress)
            return Family(self, method, points, solver.name, tolerance, limit, crew, progress).front(x, int(samples))

    def forms(self, a: np.ndarray) -> Forms:
        """The objective a·y with the constraints of the problem."""
        first, size = len(self.minimise), np.array([self.sizes[n] for n in self.subject_to])
        B = np.eye(len(a))[first:] / size[:, None]
        lower, upper = (np.array([getattr(c, side) for c in self.subject_to.values()]) / size for side in ("lower", "upper"))
        return Forms(a, B, lower, upper)

    def solved(self, wanted: Wanted, a: np.ndarray, traded: Sequence[int] = ()) -> Optimum:
        """The optimum of one search for the objective a·y."""
        space = self.space
        runs, gradients, failed = space.counts
        found = search(space, wanted)
        counts = space.runs - runs, space.gradients - gradients
        return self._optimum(wanted.kept, a, wanted.optimiser, found, counts, space.failed[failed:], traded)

    def solved_all(
        self, wanted: Sequence[tuple[Wanted, np.ndarray]], traded: Sequence[int] = (), crew: Crew | None = None
    ) -> list[Optimum]:
        """The optima of searches that do not know of each other, in their order; what they saw is known afterwards."""
        space = self.space
        near = crew is None or crew.same_machine
        task = Searches(self.analysis, self.variables, space.criteria, space.keep if near else None, space.designs)
        found: dict[int, Searched | Failed] = dict(results(task, [w for w, _ in wanted], crew=crew))
        optima = []
        for i, (w, a) in enumerate(wanted):
            one = found[i]
            if isinstance(one, Failed):
                raise SolverError(f"problem: a search from {space.shown(w.start)} failed: {one.message}")
            space.learn(one.seen)
            if space.keep is not None:
                space.keep.save([(e, e.slopes is not None) for e in one.seen])
            space.failed += one.failed
            space.notes += [n for n in one.notes if n not in space.notes]
            space.runs, space.gradients = space.runs + one.counts[0], space.gradients + one.counts[1]
            optima.append(self._optimum(w.kept, a, w.optimiser, one.found, one.counts, one.failed, traded))
        return optima

    def _optimum(
        self,
        forms: Forms,
        a: np.ndarray,
        solver: str,
        found: Found,
        counts: tuple[int, int],
        failed: Sequence[Evaluated],
        traded: Sequence[int],
    ) -> Optimum:
        space = self.space
        kkt, multipliers = conditions(self, space, found.x, a, traded)
        y = space.at(found.x).values
        assert y is not None
        first = len(self.minimise)
        held = dict(zip(self.subject_to, map(float, y[first:]), strict=True))
        feasible = violation(forms, y) <= FEASIBLE
        message = found.message
        if not feasible:
            broken = [
                f"'{n}' ({self.subject_to[n]}) by {self.subject_to[n].violation(v):.4g}"
                for n, v in held.items()
                if self.subject_to[n].violation(v) > FEASIBLE * self.sizes[n]
            ]
            kkt, multipliers = np.nan, {}
            message = "no design meets all constraints; the least violated misses " + (", ".join(broken) or "a bound on a criterion")
        spent = {"runs": counts[0], "gradients": counts[1], "iterations": found.iterations}
        return Optimum(
            self, space.named(found.x), {v.name: v.unit for v in self.variables}, float(a @ y), dict(zip(self.minimise, map(float, y), strict=False)),
            held, feasible, found.converged or kkt < STATIONARY, kkt, multipliers, solver, message, spent,
            tuple(e.message for e in failed), tuple(space.notes),
        )  # fmt: skip

    # -- what is given ----------------------------------------------------------------------------------------------

    def _weighted(self, weights: Mapping[str, float] | None) -> np.ndarray:
        names = list(self.minimise)
        if weights is None:
            if len(names) > 1:
                raise InputError(f"problem: {len(names)} criteria need weights={{{names[0]!r}: …}} to be one, or use pareto()")
            weights = {names[0]: 1.0}
        for n, w in weights.items():
            if n not in self.minimise:
                near = nearest(n, names, 1) or names
                raise InputError(f"weights: there is no criterion '{n}' to minimise; did you mean {near[0]}?")
            if not (isinstance(w, (int, float)) and np.isfinite(w) and w >= 0.0):
                raise InputError(f"weights: '{n}' has {w!r}; a weight must be finite and not negative")
        if not any(weights.values()):
            raise InputError("weights: all are zero; give at least one criterion a positive weight")
        return np.array([float(weights.get(n, 0.0)) for n in names] + [0.0] * len(self.subject_to))

    def _solver(self, name: str, tolerance: float) -> Method:
        solver = method_named(name)
        if not 0.0 < tolerance < 1.0:
            raise InputError(f"optimiser '{name}': tolerance = {tolerance!r} must lie between 0 and 1")
        if self.subject_to and not solver.constraints:
            raise InputError(f"optimiser '{name}' takes bounds of variables only; use slsqp, trust-constr or cobyqa with constraints")
        equal = [n for n, c in self.subject_to.items() if c.equality]
        if equal and not solver.equations:
            raise InputError(
                f"optimiser '{name}' takes no equations, and constraint '{equal[0]}' ({self.subject_to[equal[0]]}) is one; use slsqp or ipopt"
            )
        return solver

    def _begin(self, start: Mapping[str, Any] | None, store: StoreLike = None) -> np.ndarray:
        """The first design, checked: it runs, and every criterion depends on a variable."""
        self.space = self._fresh(store)
        values = {v.name: float(np.clip(self.analysis.value_of(v.name), v.lower, v.upper)) for v in self.variables}
        for name, given in (start or {}).items():
            v = next((v for v in self.variables if v.name == name), None)
            if v is None:
                near = nearest(name, values, 1)
                raise InputError(
                    f"start: '{name}' is no variable of the problem; "
                    + (f"did you mean {near[0]}?" if near else f"it has {', '.join(values)}")
                )
            values[name] = number(given, f"start of '{name}'", v.unit or None)
            if not v.lower <= values[name] <= v.upper:
                raise InputError(f"start: {name} = {values[name]:g} lies outside its bounds {v.lower:g} and {v.upper:g}")
        x = self._running(self.space.scaled(values))
        self._check_dependence(x)
        return x

    def _running(self, x: np.ndarray) -> np.ndarray:
        """A design that runs: the given one, or where a run fails another within the bounds."""
        space = self.space
        if space.keep is None or space.keep.find(x, slopes=True) is None:
            try:
                space.run(x, slopes=False)
            except SolverError:
                pass
            except JourdainError as error:
                raise InputError(f"problem: the first design, {space.shown(x)}, cannot be evaluated: {error}") from error
        found = space.at(x, slopes=True)
        if found.values is None:
            other = next((e for e in (space.at(u, slopes=True) for u in space.spread(TRIALS, x)) if e.values is not None), None)
            if other is None:
                raise SolverError(f"problem: neither the first design nor {TRIALS} others within the bounds run; {found.message}")
            found = other
        assert found.values is not None
        for name, y in zip(self.subject_to, found.values[len(self.minimise) :], strict=True):
            self.sizes[name] = self.sizes[name] or abs(float(y)) or 1.0
        return found.x

    def _check_dependence(self, x: np.ndarray) -> None:
        """Refuses a criterion whose gradient is zero here and at another design."""
        space = self.space
        slopes = space.at(x, slopes=True).slopes
        still = [i for i, row in enumerate(slopes if slopes is not None else []) if not row.any()]
        if not still:
            return
        other = space.at(np.where(x + 0.1 <= space.upper, x + 0.0731, x - 0.0731), slopes=True).slopes
        for i in still:
            if other is not None and not other[i].any():
                name = list(space.criteria)[i]
                raise InputError(
                    f"criterion '{name}' ({space.criteria[name]}) depends on none of the variables {', '.join(v.name for v in self.variables)}"
                )


__all__ = ["Problem"]
