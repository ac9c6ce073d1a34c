"""Design problems: which variables of an analysis make criteria least within constraints."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError, JourdainError, SolverError, nearest
from ...model.values import number
from ...results.store import Store
from ...solvers.optimisers import Found, Method, method_named
from ...told import told
from ..workers import Failed, Workers, crew_for, results
from .criteria import Constraint, Criterion, named
from .kept import kept_in
from .optimum import AT_ROW, Optimum, conditions
from .progress import Progress, Watch, watched
from .scalarised import FEASIBLE, Forms, violation
from .search import Effort, Searched, Searches, Wanted, search
from .space import Evaluated, Space, variables_of
from .studied import Linked, Scenarios, Studied
from .together import Together

if TYPE_CHECKING:
    from ...view.server import Server
    from ..workers import Crew
    from .front import Front
    from .indices import Indices
    from .planned import Analysis

StoreLike = Store | str | os.PathLike[str] | None

#: Designs that are tried where the first cannot run.
TRIALS = 32

#: A residual of the conditions of Karush, Kuhn and Tucker that counts as converged, whatever the optimiser says.
STATIONARY = 1e-6
#: Part of the objective within which searches have ended as well as the best of them.
SAME = 1e-4
#: A residual beyond which a search that calls itself converged has stopped on a slope, and is told so.
SLOPING = 0.05


@told
class Problem:
    """Variables of an analysis, criteria to minimise, constraints to keep.

    analysis: an analysis, one in several scenarios (:class:`.Scenarios`), or several by name, ``{"bump": bump, "modes": modes}``: criteria then are called
        "bump.comfort" and "modes.first".
    variables: names of parameters and initial values, with the bounds of the parameters; or names with bounds, ``{"c": (10, "5 kN s/m")}``, with choices,
        ``{"plies": range(3, 9), "bore": {0.02, 0.025, 0.04}}``, or with expressions of others, ``{"c_R": "0.8*c_F"}``.
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
        self, analysis: Analysis | Studied | Mapping[str, Any], variables: Sequence[str] | Mapping[str, Any], minimise: Any,
        subject_to: Mapping[str, Constraint] | None = None,
    ) -> None:  # fmt: skip
        if isinstance(analysis, Mapping):
            analysis = Together(analysis)
        laws = {n: x for n, x in variables.items() if isinstance(x, str)} if isinstance(variables, Mapping) else {}
        free = {n: x for n, x in variables.items() if n not in laws} if isinstance(variables, Mapping) else variables
        if laws and not free:
            told = ", ".join(f"{n} = {x}" for n, x in laws.items())
            raise InputError(f"problem: all variables follow others ({told}); at least one must be free, with bounds")
        self.variables = variables_of(analysis, free)
        self.analysis: Any = Linked(analysis, laws, [v.name for v in self.variables]) if laws else analysis
        self.minimise: dict[str, Criterion] = named(minimise)
        self.subject_to: dict[str, Constraint] = dict(subject_to or {})
        for name, c in self.subject_to.items():
            if not isinstance(c, Constraint):
                raise InputError(f"constraint '{name}': {c!r} is none; write jd.criteria.largest('…') <= '120 mm', >=, .equals or .between")
            if name in self.minimise:
                raise InputError(f"problem: '{name}' names a criterion and a constraint; rename one of them")
        #: Whether designs are judged by the largest of several criteria: their worst scenarios.
        self.worst = isinstance(analysis, Scenarios) and analysis.by == "worst"
        self.criteria = list(self.minimise)
        if isinstance(analysis, Scenarios) and self.worst:
            self.minimise = analysis.in_scenarios(self.minimise)
            scoped = {n: analysis.in_scenarios({n: c.criterion}) for n, c in self.subject_to.items()}
            self.subject_to = {m: replace(self.subject_to[n], criterion=c) for n, of in scoped.items() for m, c in of.items()}
        if isinstance(self.analysis, Linked):
            self.subject_to |= self.analysis.constraints(self.variables)
        #: Sizes of constraints, by which they are scaled: of their bounds, or of their values at the start where these are zero.
        self.sizes = {n: max(abs(b) for b in (c.lower, c.upper, 0.0) if np.isfinite(b)) for n, c in self.subject_to.items()}
        #: How the present study goes, and the live page of the last one that was watched (``problem.page.close()`` ends it).
        self.progress = Progress(self, "problem")
        self.page: Server | None = None
        self.space = self._fresh()

    @property
    def minimize(self) -> dict[str, Criterion]:
        """Another spelling of ``minimise``."""
        return self.minimise

    def _fresh(self, store: StoreLike = None) -> Space:
        """No designs looked at yet, but those of a store: the system may have got other parameters since the last ones."""
        criteria = self.minimise | {n: c.criterion for n, c in self.subject_to.items()}
        space = Space(self.analysis, self.variables, criteria, kept_in(store, self.analysis, self.variables, criteria))
        space.heard = self.progress.hear if self.progress.wanted else None
        return space

    # -- one objective ----------------------------------------------------------------------------------------------

    def optimise(
        self, weights: Mapping[str, float] | None = None, method: str = "slsqp", start: Mapping[str, Any] | None = None,
        tolerance: float = 1e-10, limit: int = 200, store: StoreLike = None, form: str | None = None, goals: Mapping[str, Any] | None = None,
        order: Sequence[str] | None = None, slack: float | Mapping[str, float] = 1e-3, margin: Mapping[str, Any] | None = None, starts: int = 1,
        workers: Workers = None, seed: int | None = None, watch: Watch = False,
    ) -> Optimum:  # fmt: skip
        """The best design by one objective of the criteria.

        form: "sum", the least weighted sum; "relative", the same with each criterion as part of its value at the start; "minmax", the least of the largest weighted criterion (that of scenarios by="worst"); "goal", the least τ with y ≤ goal + weight × τ, weights
            being the sizes of the goals unless given; "lexicographic", one criterion after the other in ``order``, each kept within ``slack`` of its best (a part
            of it, for all or by name) and ``margin`` (by name, in its own unit: for criteria whose best is zero).
        method: "slsqp", "trust-constr", "ipopt" and "mma" take constraints and use gradients, "l-bfgs-b" and "tnc" bounds only; "cobyqa" takes constraints
            without gradients, "nelder-mead", "cma-es" and "direct" bounds.  Choices need "direct", "cma-es", or :meth:`enumerate`.
        start: values of variables to begin with; the others begin with their present ones, moved into the bounds.
        starts: how many searches, from the start and from designs spread over the space; the best is given.
        workers: where the searches from several starts are done, or with one start the generations of "cma-es" (:mod:`jourdain.analysis.workers`); the
            result is the same to the last bit.
        seed: of the random numbers of "cma-es" (1 unless given).
        tolerance: of the optimiser, for objective and variables scaled to one.
        store: a store or its file; designs that have run are kept there at once, and the same call goes on where it was cut short.
        watch: True opens a page of the running study in the browser (on this machine only); a function, such as ``print``, gets its address instead.
        """
        solver = self._solver(method, tolerance)
        self._check_choices(solver)
        form = form or ("minmax" if self.worst else "goal" if goals else "lexicographic" if order else "sum")
        if seed is not None and (not solver.random or isinstance(seed, bool) or not isinstance(seed, int) or seed < 1):
            told = "must be a whole number from 1 on" if solver.random else f"is for 'cma-es'; '{method}' draws no random numbers"
            raise InputError(f"optimise: seed = {seed!r} {told}")
        with watched(self, f"optimise by {method}", watch), crew_for(workers) as crew:
            x = self._begin(start, store)
            effort = Effort(method, tolerance, limit, seed or 1, starts, crew)
            if form == "lexicographic":
                best = self._in_order(list(order or self.minimise), x, self._spared(slack, margin), effort)
            else:
                best = self._best_of(*self._objective(form, weights, goals, x), x, effort)
        spent = {**best.evaluations, "runs": self.space.runs, "gradients": self.space.gradients}
        return replace(best, evaluations=spent, failed=tuple(e.message for e in self.space.failed))

    optimize = optimise

    def _objective(
        self, form: str, weights: Mapping[str, float] | None, goals: Mapping[str, Any] | None, x: np.ndarray
    ) -> tuple[Forms, np.ndarray]:
        """The forms of an objective, and the weights by which optima are compared and told."""
        if form == "sum":
            a = self._weighted(weights)
            return self.forms(a), a
        if form not in ("relative", "minmax", "goal"):
            raise InputError(f"optimise: form = {form!r} is unknown; use 'sum', 'relative', 'minmax', 'goal' or 'lexicographic'")
        n = len(self.minimise)
        y = self.space.at(x).values
        assert y is not None
        if form == "relative":
            a = self._weighted(weights)
            none = [m for m, value, w in zip(self.minimise, y, a, strict=False) if value == 0.0 and w]
            if none:
                raise InputError(
                    f"optimise: criterion '{none[0]}' is zero at the start, of which there are no parts; use form='sum', or another start"
                )
            a[:n] /= np.where(a[:n] > 0.0, np.abs(y[:n]), 1.0)
            return self.forms(a), a
        if form == "goal":
            aims = self._numbers("goals", goals or {}, None)
            w = self._numbers("weights", weights, {m: abs(g) or 1.0 for m, g in aims.items()})
            target, size = np.array(list(aims.values())), np.array([w[m] for m in aims])
        else:
            w = self._numbers("weights", weights, dict.fromkeys(self._judged(), 1.0))
            target = np.zeros(n)
            size = np.array([1.0 / max(w[self._of(m)], 1e-300) for m in self.minimise])
        if not (size > 0).all():
            raise InputError("optimise: weights of a min–max or goal form must be positive")
        scale = float(np.max(np.abs((y[:n] - target) / size))) or 1.0
        base = self.forms(np.zeros(len(y)))
        B = np.vstack([np.eye(n, len(y)) / (size * scale)[:, None], base.B])
        lower = np.concatenate([np.full(n, -np.inf), base.row_lower])
        upper = np.concatenate([target / (size * scale), base.row_upper])
        tau = (1.0, np.concatenate([-np.ones(n), np.zeros(len(base.B))]))
        first = float(np.max((y[:n] - target) / (size * scale)))
        return Forms(np.zeros(len(y)), B, lower, upper, tau, first, tau_size=scale), np.concatenate([1.0 / size, np.zeros(len(y) - n)])

    def _judged(self) -> list[str]:
        """Criteria as they were given."""
        return self.criteria

    def _of(self, name: str) -> str:
        return name.rsplit(" in ", 1)[0] if self.worst else name

    def _numbers(self, word: str, given: Mapping[str, Any] | None, default: dict[str, float] | None) -> dict[str, float]:
        """A number for every criterion."""
        if given is None and default is not None:
            return default
        for n in given or {}:
            if n not in self._judged():
                near = nearest(n, self._judged(), 1) or self._judged()
                raise InputError(f"{word}: there is no criterion '{n}' to minimise; did you mean {near[0]}?")
        missing = [n for n in self._judged() if n not in (given or {})]
        if missing:
            raise InputError(f"{word}: criterion '{missing[0]}' has none")
        return {n: number((given or {})[n], f"{word} of '{n}'") for n in self._judged()}

    def _best_of(self, forms: Forms, a: np.ndarray, x: np.ndarray, effort: Effort) -> Optimum:
        """The best of searches from several starts; with one the only one."""
        if not isinstance(effort.starts, int) or effort.starts < 1:
            raise InputError(f"optimise: starts = {effort.starts!r} must be a whole number from 1 on")
        self.progress.judge(forms, a)
        kept = self.forms(a) if forms.tau is not None else forms
        wanted = Wanted(forms, kept, x, effort.optimiser, effort.tolerance, effort.limit, effort.seed)
        if effort.starts == 1:
            return self._told(self.solved(wanted, a, crew=effort.crew), forms)
        places = [x, *(p for p in self.space.spread(effort.starts - 1, x) if self.space.at(p).values is not None)]
        optima = self.solved_all([(replace(wanted, start=p), a) for p in places], crew=effort.crew)
        told = [self._told(o, forms) for o in optima]
        best = min(told, key=lambda o: (not o.feasible, o.objective))
        near = sum(o.feasible == best.feasible and abs(o.objective - best.objective) <= SAME * abs(best.objective) for o in told)
        return replace(best, notes=(*best.notes, f"the best of {len(told)} searches, of which {near} ended here or as well as here"))

    def _told(self, best: Optimum, forms: Forms) -> Optimum:
        """An optimum with what its form makes of the criteria; the conditions of a sum do not tell of the largest."""
        if forms.tau is None:
            return best
        y = np.array([*best.criteria.values(), *best.constraints.values()])
        n = len(self.minimise)
        tau = float(np.max(forms.B[:n] @ y - forms.row_upper[:n]))
        largest = [m for m, r in zip(self.minimise, forms.B[:n] @ y - forms.row_upper[:n], strict=True) if r > tau - 1e-6 * abs(tau)]
        note = f"the largest: {', '.join(largest)}"
        return replace(
            best, objective=tau * forms.tau_size, kkt=np.nan, multipliers={}, weights={}, converged=best.feasible, notes=(*best.notes, note)
        )

    def _spared(self, slack: float | Mapping[str, float], margin: Mapping[str, Any] | None) -> dict[str, tuple[float, float]]:
        """By how much each criterion may grow at later levels: a part of its best, and an amount."""
        parts = slack if isinstance(slack, Mapping) else dict.fromkeys(self.minimise, slack)
        for word, given in (("slack", parts), ("margin", margin or {})):
            for n, x in given.items():
                if n not in self.minimise:
                    raise InputError(f"{word}: there is no criterion '{n}' to minimise; there are {', '.join(self.minimise)}")
                if not number(x, f"{word} of '{n}'") >= 0.0:
                    raise InputError(f"{word}: '{n}' has {x!r}; what a criterion may lose must not be negative")
        return {n: (float(parts.get(n, 0.0)), number((margin or {}).get(n, 0.0), f"margin of '{n}'")) for n in self.minimise}

    def _in_order(self, order: list[str], x: np.ndarray, spared: Mapping[str, tuple[float, float]], effort: Effort) -> Optimum:
        """One criterion after the other; those that were minimised may lose a little."""
        for n in order:
            if n not in self.minimise:
                raise InputError(f"order: there is no criterion '{n}' to minimise; there are {', '.join(self.minimise)}")
        best, rows = None, list[tuple[np.ndarray, float]]()
        for n in order:
            k = list(self.minimise).index(n)
            a = np.eye(len(self.minimise) + len(self.subject_to))[k]
            forms = self.forms(a)
            if rows:
                B, upper = np.array([r for r, _ in rows]), np.array([u for _, u in rows])
                forms = forms.with_rows(B, np.full(len(B), -np.inf), upper)
            best = self._best_of(forms, a, x, effort)
            y, (part, amount) = best.criteria[n], spared[n]
            size = self.space.size_of(a, np.array([*best.criteria.values(), *best.constraints.values()])) or 1.0
            rows.append((a / size, (y + part * abs(y) + amount) / size))
            x = self.space.scaled(best.values)
        assert best is not None
        return self._inherited(best, order, rows, x)

    def _inherited(self, best: Optimum, order: list[str], rows: list[tuple[np.ndarray, float]], x: np.ndarray) -> Optimum:
        """The last optimum with the conditions of its own level: earlier criteria that hold it back are constraints with multipliers."""
        places = [list(self.minimise).index(n) for n in order]
        y = np.array([*best.criteria.values(), *best.constraints.values()])
        held = [k for k, (row, upper) in zip(places[:-1], rows, strict=False) if row @ y >= upper - AT_ROW * max(1.0, abs(upper))]
        kkt, multipliers = conditions(self, self.space, x, np.eye(len(y))[places[-1]], held)
        names = list(self.minimise)
        told = [f"{names[k]} is {'active' if k in held else 'idle'}" for k in places[:-1]]
        # without weights: what held criteria may lose follows their own optima, which the envelope theorem does not know
        return replace(
            best, kkt=kkt, multipliers=multipliers, weights={}, notes=(*best.notes, f"held from earlier levels: {', '.join(told)}")
        )

    def _check_choices(self, solver: Method) -> None:
        chosen = [v.name for v in self.variables if v.values]
        if chosen and solver.gradients:
            raise InputError(
                f"variable '{chosen[0]}' is a choice, and optimiser '{solver.name}' goes by gradients; use problem.enumerate(), or method='direct' or 'cma-es'"
            )

    def enumerate(self, most: int = 1000, **options: Any) -> list[Optimum]:
        """The best design for each combination of choices, best first; further options are those of :meth:`optimise`."""
        from .choices import enumerated

        return enumerated(self, most, options)

    def pareto(
        self, method: str = "epsilon", points: int = 20, optimiser: str = "slsqp", start: Mapping[str, Any] | None = None,
        samples: int = 32, tolerance: float = 1e-8, limit: int = 200, workers: Workers = None, store: StoreLike = None, progress: bool = True,
        population: int = 60, generations: int = 50, seed: int = 1, crossover: tuple[float, float] | None = None,
        mutation: tuple[float | None, float] | None = None, bits: int | None = None, watch: Watch = False,
    ) -> Front:  # fmt: skip
        """Designs of which none is better than another in every criterion.

        method: "weighted" sums (find convex parts only), "epsilon" (the first criterion with bounds on the others), or "nbi"
            (normal-boundary intersection, evenly spread); "nsga2" is evolution without gradients: ``generations`` of a ``population``, the same for
            the same ``seed``.  Of one criterion it gives the best design.
        crossover, mutation: of evolution, (probability, index of the distribution): (0.9, 15) of a pair and (None, 20) of a variable, None being 1/n.
        bits: of evolution, designs as rows of so many bits a variable, crossed at one point, single bits turned over.
        samples: designs spread over the space that are run first, so that no branch of the front is missed for want of a start.
        workers: see :mod:`jourdain.analysis.workers`; the front is the same to the last bit.
        store: a store or its file, with which the same call goes on where it was cut short.
        watch: True opens a page of the running study in the browser, a function such as ``print`` gets its address (see :meth:`optimise`).
        """
        from .front import Family, check

        solver = self._solver(optimiser, tolerance)
        if method != "nsga2":
            self._check_choices(solver)
            bred = [n for n, x in (("crossover", crossover), ("mutation", mutation), ("bits", bits)) if x is not None]
            if bred:
                raise InputError(f"pareto: {bred[0]} belongs to method 'nsga2', not to '{method}'")
        check(self, method, points, solver)
        if int(samples) < 0:
            raise InputError(f"pareto: samples = {samples} must not be negative")
        with watched(self, f"front by {method}", watch, progress), crew_for(workers) as crew:
            x = self._begin(start, store)
            if method == "nsga2":
                from .evolution import breeding_of, evolved

                return evolved(self, x, population, generations, seed, crew, breeding_of(crossover, mutation, bits))
            return Family(self, method, points, solver.name, tolerance, limit, crew).front(x, int(samples))

    def sensitivity(
        self,
        method: str = "sobol",
        samples: int = 256,
        seed: int = 1,
        workers: Workers = None,
        store: StoreLike = None,
        watch: Watch = False,
    ) -> Indices:
        """How much each variable matters over the whole space: "sobol" (shares of the variance) or "morris" (elementary effects); ``samples`` of base points."""
        from .indices import indices

        with watched(self, f"indices by {method}", watch), crew_for(workers) as crew:
            self.space = self._fresh(store)
            return indices(self, method, samples, seed, crew)

    def forms(self, a: np.ndarray) -> Forms:
        """The objective a·y with the constraints of the problem."""
        first, size = len(self.minimise), np.array([self.sizes[n] for n in self.subject_to])
        B = np.eye(len(a))[first:] / size[:, None]
        lower, upper = (np.array([getattr(c, side) for c in self.subject_to.values()]) / size for side in ("lower", "upper"))
        return Forms(a, B, lower, upper)

    def solved(self, wanted: Wanted, a: np.ndarray, traded: Sequence[int] = (), crew: Crew | None = None) -> Optimum:
        """The optimum of one search for the objective a·y."""
        space = self.space
        runs, gradients, failed = space.counts
        found = search(space, wanted, crew)
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
        notes = list(space.notes)
        if feasible and found.converged and kkt > SLOPING:
            notes.append(
                f"the objective still slopes here (KKT residual {kkt:.1e}): a bend of it, or the edge of designs that cannot run; try starts=8"
            )
        return Optimum(
            self, space.named(found.x), {v.name: v.unit for v in self.variables}, float(a @ y), dict(zip(self.minimise, map(float, y), strict=False)),
            held, feasible, found.converged or kkt < STATIONARY, kkt, multipliers, solver, message, spent,
            tuple(e.message for e in failed), tuple(notes), dict(zip(self.minimise, map(float, a), strict=False)),
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
        self._measure(found)
        for name, c in self.subject_to.items():
            c.check(name, space.units.get(name))
        return found.x

    def _measure(self, first: Evaluated) -> None:
        """Sizes of constraints whose bounds are zero, by their values at a design."""
        assert first.values is not None
        for name, y in zip(self.subject_to, first.values[len(self.minimise) :], strict=True):
            self.sizes[name] = self.sizes[name] or abs(float(y)) or 1.0

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
