"""Design problems: which variables of an analysis make criteria least within constraints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError, JourdainError, SolverError, nearest
from ..model.values import number
from ..solvers.optimisers import Found, Method, method_named
from .criteria import Constraint, Criterion, named
from .design.optimum import Optimum, conditions
from .design.scalarised import FEASIBLE, Forms, Scalarised, least_violated, violation
from .design.space import Space, variables_of

if TYPE_CHECKING:
    from .design.front import Front
    from .planned import Analysis

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

    def _fresh(self) -> Space:
        """No designs looked at yet: the system may have got other parameters since the last ones."""
        return Space(self.analysis, self.variables, self.minimise | {n: c.criterion for n, c in self.subject_to.items()})

    # -- one objective ----------------------------------------------------------------------------------------------

    def optimise(
        self, weights: Mapping[str, float] | None = None, method: str = "slsqp", start: Mapping[str, Any] | None = None,
        tolerance: float = 1e-10, limit: int = 200,
    ) -> Optimum:  # fmt: skip
        """The design with the least weighted sum of the criteria.

        method: "slsqp" and "trust-constr" take constraints and use gradients, "l-bfgs-b" and "tnc" bounds only; "cobyqa" takes constraints
            and "nelder-mead" bounds without gradients.
        start: values of variables to begin with; the others begin with their present ones, moved into the bounds.
        tolerance: of the optimiser, for objective and variables scaled to one.
        """
        a, solver, x = self._weighted(weights), self._solver(method, tolerance), self._begin(start)
        return self.solved(self.forms(a), a, solver, x, tolerance, limit, since=(0, 0, 0))

    def pareto(
        self, method: str = "epsilon", points: int = 20, optimiser: str = "slsqp", start: Mapping[str, Any] | None = None,
        samples: int = 32, tolerance: float = 1e-8, limit: int = 200,
    ) -> Front:  # fmt: skip
        """Designs of which none is better than another in every criterion.

        method: "weighted" sums (find convex parts only), "epsilon" (the first criterion with bounds on the others), or "nbi"
            (normal-boundary intersection, evenly spread).
        samples: designs spread over the space that are run first, so that no branch of the front is missed for want of a start.
        """
        from .design.front import check, front_of

        solver = self._solver(optimiser, tolerance)
        check(self, method, points, solver)
        if int(samples) < 0:
            raise InputError(f"pareto: samples = {samples} must not be negative")
        return front_of(self, method, points, solver, self._begin(start), int(samples), tolerance, limit)

    def forms(self, a: np.ndarray) -> Forms:
        """The objective a·y with the constraints of the problem."""
        first, size = len(self.minimise), np.array([self.sizes[n] for n in self.subject_to])
        B = np.eye(len(a))[first:] / size[:, None]
        lower, upper = (np.array([getattr(c, side) for c in self.subject_to.values()]) / size for side in ("lower", "upper"))
        return Forms(a, B, lower, upper)

    def solved(
        self,
        forms: Forms,
        a: np.ndarray,
        solver: Method,
        start: np.ndarray,
        tolerance: float,
        limit: int,
        traded: Sequence[int] = (),
        since: tuple[int, int, int] | None = None,
    ) -> Optimum:
        """The optimum of forms; where it misses constraints, a design that misses them least, and from there once more."""
        space, iterations = self.space, 0
        since = space.counts if since is None else since
        kept = forms if forms.tau is None else self.forms(a)

        def solve(which: Forms, x: np.ndarray) -> Found:
            nonlocal iterations
            found = solver.solve(Scalarised(space, which, x, solver.gradients), tolerance, limit)
            iterations += found.iterations
            return found

        def missed(x: np.ndarray) -> float:
            y = space.at(x).values
            return np.inf if y is None else violation(kept, y)

        n = len(start)
        found = solve(forms, start)
        x = found.x[:n]
        if missed(x) > FEASIBLE:
            closest = min(space.seen, key=lambda e: missed(e.x))
            assert closest.values is not None
            x = closest.x
            if missed(x) > 0.0:
                x = solve(least_violated(kept, closest.values), x).x[:n]
            if missed(x) <= FEASIBLE:
                found = solve(forms, x)
                x = found.x[:n] if missed(found.x[:n]) <= FEASIBLE else x
        return self._optimum(kept, a, solver, replace(found, x=x, iterations=iterations), since, traded)

    def _optimum(
        self, forms: Forms, a: np.ndarray, solver: Method, found: Found, since: tuple[int, int, int], traded: Sequence[int]
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
        counts = {"runs": space.runs - since[0], "gradients": space.gradients - since[1], "iterations": found.iterations}
        return Optimum(
            self, space.named(found.x), {v.name: v.unit for v in self.variables}, float(a @ y), dict(zip(self.minimise, map(float, y), strict=False)),
            held, feasible, found.converged or kkt < STATIONARY, kkt, multipliers, solver.name, message, counts,
            tuple(e.message for e in space.failed[since[2] :]), tuple(space.notes),
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
        return solver

    def _begin(self, start: Mapping[str, Any] | None) -> np.ndarray:
        """The first design, checked: it runs, and every criterion depends on a variable."""
        self.space = self._fresh()
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
