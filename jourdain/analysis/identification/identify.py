"""Identification: unknown parameters, starts, offsets and gains from measurements, by least squares with exact derivatives.

Residuals are (gain·y(t; p) + offset − data)/σ at every sample.  Their Jacobian is that of the steps of the run itself (forward derivatives), so
Gauss and Newton's method converges as it should (SciPy's ``least_squares``), and the covariance σ²(JᵀJ)⁻¹ is that of the minimum.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError, SolverError, nearest
from ...model.values import number
from ...results.store import Store
from ..design import criteria as cr
from ..design.planned import Analysis
from ..gradients.expressions import expressions_of
from ..gradients.units import state_unit, units_in_run
from ..workers import Crew, Failed, Workers, crew_for, results
from .first_guess import guess
from .fit import Fit, told, whiteness
from .kept import KeptRuns
from .records import Record, records_of
from .runs import Answer, Piece, Pieces, compared

if TYPE_CHECKING:
    from ...systems.system import System

StoreLike = Store | str | os.PathLike[str] | None

SHOOTING = ("single", "multiple")
#: How often the noise of columns is estimated anew.
PASSES = 3
#: An unknown that must grow to this (SI) to have the effect of the others has none but that of rounding.
NONE = 1e12
#: Relative tolerance of runs that give none.
RTOL = 1e-8


def identify(
    system: System, data: Any, columns: Mapping[str, Any], unknowns: Sequence[str] | Mapping[str, Any], x0: Any = None, *,
    shooting: str = "single", segments: int = 8, sigma: Mapping[str, Any] | None = None, gaps: str = "refuse", workers: Workers = None,
    limit: int = 100, store: StoreLike = None, **options: Any,
) -> Fit:  # fmt: skip
    """Estimates of unknowns from records.

    data: a csv file, a table (pandas), arrays by name or a solution, or a list of these (experiments, each with its own sampling).
    columns: what the model says to a column, an expression as in criteria: ``{"angle_rad": "hinge.angle"}``.
    unknowns: parameters, initial values (of every experiment its own: ``hinge.angle (2)``), ``"offset:column"`` and ``"gain:column"``; or these with
        bounds, ``{"d": (0, 1)}``.  They begin with their present values; starts that ``x0`` does not name and a column measures begin where its record does.
    x0: the start, or a list of starts, one a record; a run begins with the first sample.
    shooting: "single" or "multiple": the record in segments whose starts are unknown, too, and are pulled together, before the run as a whole;
        it converges from much further away.
    sigma: standard deviations of the noise by column; estimated where they are not given.
    store: a store or its file; runs are kept there at once, and the same call goes on where it was cut short.
    Further options are those of ``simulate``.
    """
    columns = dict(columns) if isinstance(columns, Mapping) else {}
    if not columns:
        raise InputError("identify: columns says which column of the data is which quantity, such as {'angle_rad': 'hinge.angle'}")
    if shooting not in SHOOTING:
        near = nearest(str(shooting), SHOOTING, 1)
        raise InputError(
            f"identify: shooting = '{shooting}' is unknown; " + (f"did you mean {near[0]}?" if near else f"use {', '.join(SHOOTING)}")
        )
    expressions_of(system, {c: cr.final(e) for c, e in columns.items()})
    _check_options(shooting, segments, limit, options)
    starts = list(x0) if isinstance(x0, (list, tuple)) else [x0]
    units = _units_of(system, columns, starts[0] if starts else None)
    records = records_of(data, columns, units, gaps)
    starts = starts if isinstance(x0, (list, tuple)) else starts * len(records)
    if len(starts) != len(records):
        raise InputError(f"identify: {len(starts)} starts for {len(records)} records; give one, or as many")
    plans = [Analysis(system, "simulate", s, t=r.span, **options) for s, r in zip(starts, records, strict=True)]
    table = _Unknowns(system, plans, unknowns, columns, records)
    noise = {c: number((sigma or {})[c], f"sigma of '{c}'", units[c] or None) if c in (sigma or {}) else None for c in columns}
    wrong = [c for c, x in noise.items() if x is not None and not x > 0.0]
    if wrong:
        raise InputError(f"identify: sigma of '{wrong[0]}' = {noise[wrong[0]]:g} must be positive; leave it out to have it estimated")
    strange = [c for c in sigma or {} if c not in columns]
    if strange:
        raise InputError(f"identify: sigma names '{strange[0]}', which is no column; there are {', '.join(columns)}")
    kept = None if store is None else KeptRuns(store if isinstance(store, Store) else Store(store))
    with crew_for(workers) as crew:
        search = _Search(table, columns, records, plans, noise, crew, limit, kept)
        if shooting == "multiple":
            search.by_segments(int(segments))
        return search.fit(shooting)


def _check_options(shooting: str, segments: Any, limit: Any, options: Mapping[str, Any]) -> None:
    """Refuses what no search can take."""
    if "t" in options:
        raise InputError("identify: t is not given here; a run begins with the first sample of its record and ends with the last")
    asked = {"limit": (limit, 1)} | ({"segments": (segments, 2)} if shooting == "multiple" else {})
    for name, (x, least) in asked.items():
        if isinstance(x, bool) or not isinstance(x, (int, np.integer)) or x < least:
            raise InputError(f"identify: {name} = {x!r} must be a whole number from {least} on")


def _units_of(system: System, columns: Mapping[str, Any], start: Any) -> dict[str, str]:
    """Units of what columns are compared with: of coordinates and rates, of other texts by the channels of a run; "" where none is known."""
    found = {c: state_unit(system, e) if isinstance(e, str) else "" for c, e in columns.items()}
    rest = {c: cr.final(e) for c, e in columns.items() if not found[c] and isinstance(e, str)}
    return found | ({c: u or "" for c, u in units_in_run(system, start, rest).items()} if rest else {})


class _Unknowns:
    """Names of unknowns with starts and bounds; what belongs to which experiment and which column."""

    def __init__(
        self, system: System, plans: Sequence[Analysis], given: Sequence[str] | Mapping[str, Any], columns: Mapping[str, Any],
        records: Sequence[Record],
    ) -> None:  # fmt: skip
        if isinstance(given, str) or not len(given):
            raise InputError(f"identify: unknowns = {given!r} must be a list of names, or names with bounds such as {{'d': (0, 1)}}")
        bounds: Mapping[str, Any] = given if isinstance(given, Mapping) else dict.fromkeys(given)
        if len(bounds) < len(given):
            raise InputError(f"identify: an unknown is named twice in {', '.join(given)}")
        self.start: dict[str, float] = {}
        self.lower: dict[str, float] = {}
        self.upper: dict[str, float] = {}
        self.units: dict[str, str] = {}
        #: For each experiment its variables with their names here.
        self.of: list[dict[str, str]] = [{} for _ in plans]
        #: Those whose values may well be zero, so that these are no measure of them: starts, offsets, gains, parameters that begin with zero.
        self.near_zero: set[str] = set()
        self.scales: dict[str, tuple[str, str]] = {}
        scaled = {str(name).partition(":")[2] for name in bounds}
        for name, pair in bounds.items():
            kind, colon, column = str(name).partition(":")
            if colon and kind in ("offset", "gain"):
                if column not in columns:
                    raise InputError(f"identify: '{name}' names no column of the data; there are {', '.join(columns)}")
                self.scales[name] = (kind, column)
                self.near_zero.add(name)
                self._add(name, 0.0 if kind == "offset" else 1.0, "", pair, (-np.inf, np.inf))
                continue
            what, own = plans[0].variable(name)
            if what == "parameter":
                p = system.model.parameter_set[own]
                low, high = p.bounds
                self._add(
                    name, float(system.parameters[own]), p.unit, pair, (-np.inf if low is None else low, np.inf if high is None else high)
                )
                if not self.start[name]:
                    self.near_zero.add(name)
                for own_names in self.of:
                    own_names[name] = name
                continue
            for k, plan in enumerate(plans):
                label = name if len(plans) == 1 else f"{name} ({k + 1})"
                seen = guess(plan, own, records[k], columns, scaled)
                self._add(label, plan.value_of(name) if seen is None else seen, state_unit(system, own), pair, (-np.inf, np.inf))
                self.of[k][name] = label
                self.near_zero.add(label)

    def _add(self, name: str, value: float, unit: str, pair: Any, known: tuple[float, float]) -> None:
        if pair is not None and (isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2):
            raise InputError(f"unknown '{name}': bounds {pair!r} are not a pair; give (lower, upper), None for no bound")
        ends = (
            known if pair is None
            else tuple(k if b is None else number(b, f"unknown '{name}': bound", unit or None) for b, k in zip(pair, known, strict=True))
        )  # fmt: skip
        if not ends[0] < ends[1]:
            raise InputError(
                f"unknown '{name}': the bounds {ends[0]:g} and {ends[1]:g} {unit} are crossed or equal; the lower must be less"
            )
        self.start[name], self.units[name] = float(np.clip(value, ends[0], ends[1])), unit
        self.lower[name], self.upper[name] = ends


class _Search:
    """The least squares of a table of unknowns against records."""

    def __init__(
        self, table: _Unknowns, columns: Mapping[str, Any], records: Sequence[Record], plans: Sequence[Analysis],
        noise: Mapping[str, float | None], crew: Crew | None, limit: int, kept: KeptRuns | None = None,
    ) -> None:  # fmt: skip
        self.table, self.columns, self.records, self.plans, self.crew, self.limit = table, columns, records, plans, crew, limit
        self.given, self.kept = noise, kept
        self.sigma = {c: s or self._spread(c) for c, s in noise.items()}
        self.values = dict(table.start)
        self.notes: list[str] = list(dict.fromkeys(n for r in records for n in r.notes))
        self.runs = 0
        criteria = [{c: compared(e, r.times[c], r.values[c]) for c, e in columns.items()} for r in records]
        self.task = Pieces([Piece(p, k, v) for p, k, v in zip(plans, criteria, table.of, strict=True)])

    def _spread(self, column: str) -> float:
        return float(np.std(np.concatenate([r.values[column] for r in self.records]))) or 1.0

    def answers(self, task: Pieces, values: Mapping[str, float]) -> list[Answer | Failed]:
        """All pieces at values of the unknowns, in their order."""
        found: dict[int, Answer | Failed] = {}
        if self.kept is not None:
            found = {k: a for k, piece in enumerate(task.pieces) if (a := self.kept.find(piece, values)) is not None}
        left = [k for k in range(len(task.pieces)) if k not in found]
        self.runs += len(left)
        for i, answer in results(task, [(k, values) for k in left], crew=self.crew):
            found[left[i]] = answer
            if self.kept is not None and not isinstance(answer, Failed):
                self.kept.save(task.pieces[left[i]], values, answer)
        return [found[k] for k in range(len(task.pieces))]

    def rows(
        self, answer: Answer, record: Record, own: Mapping[str, str], names: Sequence[str], values: Mapping[str, float]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Weighted residuals of one piece and their derivatives by all unknowns."""
        residuals, slopes = [], []
        for i, column in enumerate(self.columns):
            y, gain, offset = answer.values[i], values.get(f"gain:{column}", 1.0), values.get(f"offset:{column}", 0.0)
            r, J = gain * y + offset - record.values[column], np.zeros((len(y), len(names)))
            for j, (_, label) in enumerate(own.items()):
                if label in names:
                    J[:, names.index(label)] += gain * answer.slopes[i][:, j]
            for label, what in ((f"gain:{column}", y), (f"offset:{column}", 1.0)):
                if label in names:
                    J[:, names.index(label)] += what
            residuals.append(r / self.sigma[column])
            slopes.append(J / self.sigma[column])
        return np.concatenate(residuals), np.vstack(slopes)

    def solve(self, names: Sequence[str], start: np.ndarray, bounds: Any, system_of: Any) -> Any:
        """SciPy's least squares on residuals and Jacobian from one evaluation each."""
        from scipy.optimize import least_squares

        kept: dict[bytes, tuple[np.ndarray, np.ndarray]] = {}
        size = 0

        def at(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            nonlocal size
            key = x.tobytes()
            if key not in kept:
                kept.clear()
                found = system_of(dict(zip(names, map(float, x), strict=True)))
                if isinstance(found, str):
                    if not size:
                        raise SolverError(f"identify: the first guess cannot run: {found}")
                    found = np.full(size, np.inf), np.zeros((size, len(names)))
                kept[key] = found
                size = len(found[0])
            return kept[key]

        scale = np.maximum(np.abs(start), 1e-3 * np.max(np.abs(start), initial=1.0))
        first = at(start)[1]
        scale = np.where(np.linalg.norm(first, axis=0) > 0, 1.0 / np.maximum(np.linalg.norm(first, axis=0), 1e-300), scale)
        return least_squares(
            lambda x: at(x)[0],
            start,
            lambda x: at(x)[1],
            bounds,
            x_scale=scale,
            method="trf",
            xtol=1e-12,
            ftol=1e-12,
            gtol=1e-12,
            max_nfev=self.limit,
        )

    def whole(self, values: Mapping[str, float]) -> tuple[np.ndarray, np.ndarray] | str:
        """Residuals and Jacobian of all records, or why there are none."""
        names = list(self.table.start)
        found = self.answers(self.task, values)
        for one in found:
            if isinstance(one, Failed):
                return one.message
            self.notes += [n for n in one.notes if n not in self.notes]
        rows = [self.rows(a, r, own, names, values) for a, r, own in zip(found, self.records, self.table.of, strict=True)]  # type: ignore[arg-type]
        return np.concatenate([r for r, _ in rows]), np.vstack([J for _, J in rows])

    def fit(self, shooting: str) -> Fit:
        """The minimum; the noise of columns is taken from the residuals and the minimum sought again, until both agree."""
        names = list(self.table.start)
        bounds = [self.table.lower[n] for n in names], [self.table.upper[n] for n in names]
        rest: list[dict[str, np.ndarray]] = []
        estimated = [c for c, s in self.given.items() if s is None]
        for turn in range(PASSES if len(self.columns) > 1 and estimated else 1):
            if turn:
                for c in estimated:
                    self.sigma[c] = float(np.sqrt(np.mean(np.concatenate([r[c] for r in rest]) ** 2))) or self.sigma[c]
            inside = np.clip([self.values[n] for n in names], *bounds)
            found = self.solve(names, inside, bounds, self.whole)
            self.values = dict(zip(names, map(float, found.x), strict=True))
            rest = self._by_column(found.fun)
        r, J = found.fun, found.jac
        C, rank, untold = told(J, self._sizes(J), names)
        freedom = max(1, len(r) - rank)
        if estimated:
            C = C * (float(r @ r) / freedom)
        noise = {c: float(np.sqrt(np.mean(np.concatenate([x[c] for x in rest]) ** 2) * len(r) / freedom)) for c in self.columns}
        at_bounds = [
            n for n, x, low, high in zip(names, found.x, *bounds, strict=True) if min(abs(x - low), abs(x - high)) < 1e-9 * max(1.0, abs(x))
        ]
        notes = [*self.notes, *(f"'{n}' lies at its bound: errors do not know of it" for n in at_bounds)]
        return Fit(
            self.plans[0].system, f"{shooting} shooting", self.values, self.table.units, C, rank, untold, noise, rest,
            {c: self._whiteness(c, [x[c] for x in rest]) for c in self.columns}, len(r), self.runs, bool(found.success), self.records, tuple(notes), not estimated,
        )  # fmt: skip

    def _whiteness(self, column: str, residuals: Sequence[np.ndarray]) -> float:
        """The least over the records; NaN where residuals are but the errors of the runs."""
        tolerance = max(float(p.kwargs.get("rtol") or RTOL) for p in self.plans)
        rest = float(np.sqrt(np.mean(np.concatenate(residuals) ** 2)))
        return np.nan if rest <= 10.0 * tolerance * self._spread(column) else min(whiteness(r) for r in residuals)

    def _sizes(self, J: np.ndarray) -> np.ndarray:
        """Sizes of the unknowns, of which changes are parts: of their values, found and at first; of those that may be zero what has as much effect as the others."""
        table, effects = self.table, np.linalg.norm(J, axis=0)
        sizes = np.array([max(abs(x), abs(table.start[n])) for n, x in self.values.items()])
        largest = float((sizes * effects).max(initial=0.0)) or 1.0
        same = largest / np.maximum(effects, largest / NONE)
        zero = np.array([n in table.near_zero for n in self.values]) & (same < NONE)
        sizes = np.where(zero, np.maximum(sizes, same), sizes)
        return np.where(sizes > 0.0, sizes, 1.0)

    def _by_column(self, residuals: np.ndarray) -> list[dict[str, np.ndarray]]:
        """Data − model in the units of the columns, a record each."""
        found, at = [], 0
        for record in self.records:
            one = {}
            for c in self.columns:
                n = len(record.times[c])
                one[c], at = -residuals[at : at + n] * self.sigma[c], at + n
            found.append(one)
        return found

    # -- multiple shooting ----------------------------------------------------------------------------------------

    def by_segments(self, count: int) -> None:
        """Better values of the unknowns: segments with starts of their own, pulled together step by step (after Bock, 1981)."""
        from .segments import Segments

        self.values = Segments(self, count).solved()


__all__ = ["identify"]
