"""Criteria at many designs: short runs of one analysis in a native loop, with the same bits as one by one.

Events of the model with their jumps, closed loops that no variable moves and extrema that are sought are found there, too.  What a single run asks Python
for (samples, memories, contacts, loops that are closed anew, anything to tell) is left to single runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import JourdainError
from ...solvers.ode.frame import FINISHED
from ...solvers.ode.integrate import ready
from ...solvers.sensitivity.extrema import new_sought
from ...solvers.sensitivity.path import forwards
from ...solvers.sensitivity.rows import Rows
from ...systems.audit import Limits
from ...systems.inputs import Inputs
from ...systems.tree.runs import ProjectedRun
from ...systems.tree.system import TreeSystem
from ..runs.rows import grant, new_rows, run_all, why_not_plain
from ..simulate import settings_of, span_of
from .blocks import PLACES
from .constrained_runs import Constrained
from .prepared import Prepared, compiled_for
from .runs import Differentiable
from .sampled import SAMPLED
from .walks import Piece, Points, placed

if TYPE_CHECKING:
    from ..design.criteria import Criterion
    from ..design.planned import Analysis

#: Steps of a run and pieces between its events beyond which it is looked at alone.
MOST_STEPS, MOST_PIECES = 8000, 64
#: Options with which runs are plain.
PLAIN = frozenset((*PLACES, "rtol", "atol", "max_step", "max_steps", "dense", "times", "outputs", "progress"))


class Many:
    """One analysis with its criteria, ready for rows of designs (in this thread)."""

    def __init__(self, plan: Analysis, criteria: Mapping[str, Criterion], code: Prepared, drive: Any, span: tuple[float, float]) -> None:
        self.plan, self.criteria, self.code, self.span, self._drive = plan, dict(criteria), code, span, drive
        self.system = plan.system
        self.terminal = any(e.terminal for e in self.system.model.events.values())
        self._places = {p.name: i for i, p in enumerate(self.system.model.parameter_set)}
        self._starts = {n: i for i, n in enumerate([*self.system.coordinate_names, *self.system.velocity_names, *self.system.model.states])}
        self._order()
        self._keep: list[Any] = []
        self._points: Points | None = None
        self.record = self._record()

    # -- when -----------------------------------------------------------------------------------------------------

    @classmethod
    def of(cls, analysis: Analysis, criteria: Mapping[str, Criterion]) -> Many | None:
        """The loop of an analysis; None where its runs are not plain."""
        kept: dict[Any, Many | None] = analysis._own.__dict__.setdefault("many", {})
        key = tuple((n, id(c)) for n, c in criteria.items())
        found = kept.get(key)
        if key not in kept or (found is not None and found._base is not analysis.system.reference.parameter_vector):
            found = kept[key] = cls._made(analysis, criteria)
        return found

    @classmethod
    def _made(cls, analysis: Analysis, criteria: Mapping[str, Criterion]) -> Many | None:
        plan = analysis.keeping_steps()
        given = dict(zip(PLACES, plan.args, strict=False)) | plan.kwargs
        system = plan.system
        if analysis.verb != "simulate" or type(system) is not TreeSystem or not PLAIN.issuperset(given) or why_not_plain(system):
            return None
        if any(c.parts for c in criteria.values()):
            return None
        try:
            solution = plan.run({})
            code = compiled_for(plan, system, solution, {}, criteria, [])
        except (JourdainError, ArithmeticError):  # single runs tell what is wrong, or are measured
            return None
        run = code.run
        if type(run) not in (Differentiable, Constrained) or not run.own or run.scheme.implicit or run.held or run.touched is not None:
            return None
        code.begin(plan, {}, criteria)
        if not run.native.by_constants or solution.metadata["status"] not in ("finished", "event") or len(solution.t) > MOST_STEPS:
            return None
        start = plan.start()
        span = span_of(system.model.name, start.t, given["t"])
        options = {n: x for n, x in given.items() if n not in (*PLACES, "dense", "times", "outputs", "progress")}
        settings, rest = settings_of(system, span, given.get("method"), {**options, "dense": bool(system.model.events)})
        inner = system.run(start, span, Inputs(system, None), settings, rest)
        if type(inner) is not ProjectedRun or settings.method != run.method:
            return None
        inner.native = run.native
        drive = inner.march(start.x, span, ready, native_actions=True)
        return cls(plan, criteria, code, drive, span) if hasattr(drive, "session") else None

    def carries(self, variables: Sequence[str]) -> bool:
        """Whether designs of these variables all start alike: where loops are closed, no variable moves them."""
        if not (self.system.equations_of_motion.rows or self.system.configuration.quaternions):
            return True
        kinds = [self.plan.variable(n) for n in variables]
        moving = bool(self.system.equations_of_motion.rows) and self.plan.moves_loops([own for _, own in kinds])
        return not moving and all(kind == "parameter" for kind, _ in kinds)

    # -- records --------------------------------------------------------------------------------------------------

    def _order(self) -> None:
        """Instants of all values, in the order in which a walk meets them."""
        from .primitives import locate

        self._start = self.plan.start()
        self._base = self.system.reference.parameter_vector
        locate(self.code.primitives, self, seek=False)
        items = self.code.primitives.items
        self._sought = self.code.primitives.sought
        self._timed = [i for i in items if i.criterion.kind == "event_time"]
        times = [np.asarray(i.times, dtype=float) for i in items]
        item = np.repeat(np.arange(len(items)), [len(x) for x in times])
        number, wanted = (np.concatenate([np.zeros(0), *x]) for x in ([np.arange(len(t)) for t in times], times))
        order = np.lexsort((number, item, wanted))
        item, number, self._wanted = item[order], number[order].astype(int), np.ascontiguousarray(wanted[order])
        #: Each criterion with the places of its values among all, and their numbers.
        self._readings = [(one, np.flatnonzero(item == i), number[item == i]) for i, one in enumerate(items)]
        self._final = np.array([items[i].criterion.kind == "final" for i in item], dtype=np.int64)

    def _record(self) -> Rows:
        session, code = self._drive.session, self.code
        session._allocate_rows(MOST_STEPS)
        more = grant(self._drive, MOST_STEPS)
        run, sought, items = code.run, self._sought, code.primitives.items
        self._attach()
        functions = (*run.native._copies, *((f.value, f.value.constants) for f in code.readings if f is not None))
        r = new_rows(session, functions, len(code.expressions.parameter_values()), Limits(self.system), self._keep)
        r.more = more
        events = [e.name for e in session.events]
        r.walk, r.path, r.wanted, r.final = forwards.address, code.walks.path, self._wanted, self._final
        r.whole = int(any(i.criterion.kind in SAMPLED for i in items))
        signs = [1.0 if i.criterion.kind == "largest" else -1.0 for i in sought]
        r.sought = new_sought(code.walks.path, [i.value for i in sought], signs, MOST_STEPS)
        r.timed = np.array([events.index(i.criterion.options["event"]) for i in self._timed], np.int64)
        r.counts = np.array([i.criterion.options["count"] for i in self._timed], np.int64)
        return r

    # -- rows -----------------------------------------------------------------------------------------------------

    def evaluate(self, designs: Sequence[Mapping[str, float]]) -> list[dict[str, float] | None]:
        """Criteria at designs of the same variables; None where one must be looked at alone."""
        names = list(designs[0])
        table, well = self.table(names, np.array([[d[n] for n in names] for d in designs], dtype=float))
        return [dict(zip(self.criteria, row, strict=True)) if ok else None for row, ok in zip(table.tolist(), well.tolist(), strict=True)]

    def table(self, names: Sequence[str], given: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Criteria (designs × criteria) at values of variables (designs × variables), and which designs need not be looked at alone."""
        totals, values, r = self._run(*self._rows(names, given))
        nothing = np.zeros(0)
        found = np.zeros((len(given), len(self._readings)))
        for column, (item, mine, number) in enumerate(self._readings):
            kind = item.criterion.kind
            if kind == "integral":
                found[:, column] = totals[:, item.integrand]
            elif item.integrand >= 0:
                both = zip(totals[:, item.integrand].tolist(), (r.ends - self.span[0]).tolist(), strict=True)
                found[:, column] = [item.of(total, nothing, T, 0.0) for total, T in both]
            elif item in self._sought:
                found[:, column] = r.extrema[:, self._sought.index(item)]
            elif kind == "end_time":
                found[:, column] = r.ends
            elif kind == "event_time":
                found[:, column] = r.times[:, self._timed.index(item)]
            else:
                y = np.zeros((len(given), len(number)))
                y[:, number] = values[:, mine, item.value]
                found[:, column] = y[:, 0] if kind in ("final", "at") else [item.of(0.0, row, 0.0, 0.0) for row in y]
        return found, np.isfinite(given).all(axis=1) & (r.status == FINISHED) & np.isfinite(found).all(axis=1)

    def _rows(self, names: Sequence[str], given: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Parameters and starts of designs; what is not finite is left as it was."""
        p = np.tile(self.code.expressions.parameter_values(self._base), (len(given), 1))
        x = np.tile(self._start.x, (len(given), 1))
        for name, column in zip(names, given.T, strict=True):
            kind, own = self.plan.variable(name)
            target, place = (p, self._places[own]) if kind == "parameter" else (x, self._starts[own])
            target[:, place] = np.where(np.isfinite(column), column, target[:, place])
        return p, x

    def _run(self, parameters: np.ndarray, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray, Rows]:
        r, leg, n = self.record, self.code.walks.path.leg, len(parameters)
        count = max(1, leg.values.count)
        totals, values = np.zeros((n, max(1, leg.integrands.count))), np.zeros((n, max(1, len(self._wanted) * count)))
        r.totals, r.values, r.ends = totals, values, np.full(n, self.span[1])
        r.extrema, r.times = np.zeros((n, max(1, len(self._sought)))), np.zeros((n, max(1, len(self._timed))))
        self._attach()
        run_all(r, parameters, starts)
        self._give_back()
        return totals, values.reshape(n, -1, count) if len(self._wanted) else values.reshape(n, -1, 1), r

    def _attach(self) -> None:
        """Lays the walk anew, where a single run of this thread has used it since."""
        walks, session = self.code.walks, self._drive.session
        if self._points is not None and walks.points is self._points:
            return
        pieces = [Piece(0, 2)] * (MOST_PIECES if self.system.model.events else 1)
        points = placed(np.linspace(*self.span, 3), pieces, [np.asarray(i.times, dtype=float) for i in self.code.primitives.items])
        t = np.linspace(*self.span, 3)
        self._points = points
        walks.lay(pieces, points, t, self.code.symbols)
        walks.put(walks.path, session.row_t, session.row_x)
        walks.begin(walks.path)

    def _give_back(self) -> None:
        """Lets single runs find their own constants again."""
        self.code._at = None
        native = self.code.run.native
        native._made_for = None


__all__ = ["Many"]
