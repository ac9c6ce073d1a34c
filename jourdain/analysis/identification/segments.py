"""Multiple shooting: a record in segments with starts of their own, which continuity pulls together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...errors import InputError
from ..design import criteria as cr
from ..design.planned import Analysis
from ..workers import Failed
from .records import Record
from .runs import Answer, Piece, Pieces, compared

if TYPE_CHECKING:
    from .identify import _Search

#: Weights of the gaps between segments, one after the other, in parts of the spread of a state.
PULLS = (1.0, 30.0, 1000.0)


class Segments:
    """The segments of all records, with the unknowns of their starts."""

    def __init__(self, search: _Search, count: int) -> None:
        self.search = search
        s = search.plans[0].system
        if count < 2:
            raise InputError(f"identify: segments = {count} must be at least 2")
        if s.equations_of_motion.rows:
            raise InputError("identify: starts of segments must be free, which loops do not leave them; use shooting='single'")
        self.states = [*s.coordinate_names, *s.velocity_names, *s.model.states]
        self.start: dict[str, float] = dict(search.values)
        self.scales: dict[str, float] = {}
        self.parts: list[tuple[Piece, Record]] = []
        #: Pairs of a piece and the names of the starts of the next one.
        self.joints: list[tuple[int, list[str]]] = []
        for k, record in enumerate(search.records):
            self._cut(k, record, count)
        self.task = Pieces([piece for piece, _ in self.parts])

    def _cut(self, k: int, record: Record, count: int) -> None:
        search = self.search
        plan, own = search.plans[k], search.table.of[k]
        edges = np.linspace(*record.span, count + 1)
        guess = self._guess(k, record, edges)
        for i in range(count):
            low, high = edges[i], edges[i + 1]
            times, values = (
                {c: d[c][_inside(record.times[c], low, high, i == 0)] for c in search.columns} for d in (record.times, record.values)
            )
            part = Record(record.name, times, values)
            criteria = {c: compared(e, part.times[c], part.values[c]) for c, e in search.columns.items() if len(part.times[c])}
            if len(criteria) < len(search.columns):
                raise InputError(f"identify: {record.name} has no samples between {low:g} and {high:g} s; take fewer than {count} segments")
            names = {v: name for v, name in own.items() if plan.variable(v)[0] == "parameter"} if i else dict(own)
            if i:
                for n in self.states:
                    label = f"{n} at {low:.6g} s ({k + 1})"
                    self.start[label] = float(guess[n][i])
                    names[f"initial:{n}"] = label
                self.joints.append((len(self.parts) - 1, [names[f"initial:{n}"] for n in self.states]))
            ends = {f"end of {n}": cr.final(n) for n in self.states} if i < count - 1 else {}
            begin = {n: float(guess[n][i]) for n in self.states} if i else plan.args[0]
            run = Analysis(plan.system, "simulate", begin, **{**plan.kwargs, "t": (low, high)})
            self.parts.append((Piece(run, {**criteria, **ends}, names), part))

    def _guess(self, k: int, record: Record, edges: np.ndarray) -> dict[str, np.ndarray]:
        """States at the edges: of the data where a column is a coordinate or a rate, else of the first guess, or of the start."""
        search, s = self.search, self.search.plans[k].system
        plan = search.plans[k]
        own = {v: search.values[name] for v, name in search.table.of[k].items()}
        start = plan.start(own)
        found = {n: np.full(len(edges), x) for n, x in zip(self.states, start.x, strict=True)}
        named = {e: c for c, e in search.columns.items() if isinstance(e, str)}
        for q, v in zip(s.coordinate_names, s.velocity_names, strict=False):
            for n, measured, order in ((q, q, 0), (v, v, 0), (v, q, 1)):
                if measured in named and not (order and v in named):
                    t, y = record.times[named[measured]], record.values[named[measured]]
                    found[n] = np.interp(edges, t, _slope(t, y) if order else y)
        for n in self.states:
            self.scales[n] = max(self.scales.get(n, 0.0), float(np.std(found[n])) or abs(float(found[n][0])) or 1.0)
        return found

    def solved(self) -> dict[str, float]:
        """Values of the unknowns after all pulls."""
        search, names = self.search, list(self.start)
        table = search.table
        bounds = [table.lower.get(n, -np.inf) for n in names], [table.upper.get(n, np.inf) for n in names]
        x = np.clip([self.start[n] for n in names], *bounds)
        for pull in PULLS:
            x = search.solve(names, x, bounds, lambda values, pull=pull: self._rows(values, names, pull)).x
        values = dict(zip(names, map(float, x), strict=True))
        return {n: values[n] for n in search.values}

    def _rows(self, values: dict[str, float], names: list[str], pull: float) -> tuple[np.ndarray, np.ndarray] | str:
        search = self.search
        found = search.answers(self.task, values)
        residuals, slopes, answers = [], [], []
        for answer, (piece, part) in zip(found, self.parts, strict=True):
            if isinstance(answer, Failed):
                return answer.message
            answers.append(answer)
            r, J = search.rows(answer, part, piece.variables, names, values)
            residuals.append(r)
            slopes.append(J)
        for k, labels in self.joints:
            r, J = self._gap(answers[k], self.parts[k][0], labels, names, values)
            residuals.append(pull * r)
            slopes.append(pull * J)
        return np.concatenate(residuals), np.vstack(slopes)

    def _gap(
        self, answer: Answer, piece: Piece, labels: list[str], names: list[str], values: dict[str, float]
    ) -> tuple[np.ndarray, np.ndarray]:
        """End of a segment − start of the next, by the spread of each state."""
        first = len(self.search.columns)
        scale = np.array([self.scales[n] for n in self.states])
        r = np.array([answer.values[first + i][0] - values[label] for i, label in enumerate(labels)])
        J = np.zeros((len(labels), len(names)))
        for j, label in enumerate(piece.variables.values()):
            J[:, names.index(label)] += [answer.slopes[first + i][0, j] for i in range(len(labels))]
        for i, label in enumerate(labels):
            J[i, names.index(label)] -= 1.0
        return r / scale, J / scale[:, None]


def _inside(t: np.ndarray, low: float, high: float, first: bool) -> np.ndarray:
    return np.asarray(((t >= low) if first else (t > low)) & (t <= high))


def _slope(t: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The slope of noisy data: of a parabola through the nine samples about each."""
    from scipy.signal import savgol_filter

    window = min(9, len(y) - (1 - len(y) % 2))
    smooth = savgol_filter(y, window, 2) if window > 3 else y
    return np.asarray(np.gradient(smooth, t))


__all__ = ["Segments"]
