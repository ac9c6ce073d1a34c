"""Runs against records: what the model gives at the instants of the data, with exact derivatives, one piece a worker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError
from ..design import criteria as cr
from ..design.criteria import Criterion
from ..gradients.expressions import expressions_of
from ..gradients.measure import Motion
from ..gradients.runs import NotCarried

if TYPE_CHECKING:
    from ..design.planned import Analysis

#: Relative step of differences, where a run has no exact derivatives.
STEP = 1e-5
#: The same where steps cannot be repeated.
FREE_STEP = 1e-3


@dataclass(eq=False)
class Piece:
    """One run, from the start of an experiment or of a segment: expressions at instants, and its end where the next segment begins."""

    analysis: Analysis
    criteria: Mapping[str, Criterion]
    #: Its own variables, with their names among all unknowns.
    variables: Mapping[str, str]
    #: Channels whose last value is compared with the next segment.
    ends: Sequence[str] = ()


@dataclass
class Answer:
    """Values of each criterion at its instants, their derivatives by the piece's variables, and what should be known."""

    values: list[np.ndarray]
    slopes: list[np.ndarray]
    notes: list[str] = field(default_factory=list)


@dataclass
class Pieces:
    """The task of a worker: a piece at values of its variables."""

    pieces: Sequence[Piece]

    def __call__(self, job: tuple[int, Mapping[str, float]]) -> Answer:
        k, values = job
        piece = self.pieces[k]
        own = {v: values[name] for v, name in piece.variables.items()}
        try:
            return _exact(piece, own)
        except NotCarried as reason:
            return _by_differences(piece, own, str(reason))


def _exact(piece: Piece, own: Mapping[str, float]) -> Answer:
    from ..gradients.simulated import Simulated

    run = Simulated(piece.analysis, piece.criteria, list(own), own)
    run.forward()
    return Answer([v.copy() for v in run.sampled[0]], [s.copy() for s in run.sampled[1]], list(run.notes))


def _by_differences(piece: Piece, own: Mapping[str, float], reason: str) -> Answer:
    """Central differences of runs with the same steps."""
    plan = piece.analysis.keeping_steps()
    first = plan.run(own)
    values = _read(first, piece.criteria)
    again, step = plan.keeping_steps(steps=np.asarray(first.t)), STEP
    try:
        again.run(own)
    except InputError:  # a method that chooses its steps itself: they are noise, and the step of differences is wide
        again, step = plan, FREE_STEP
    columns = []
    for name, x in own.items():
        h = step * (abs(x) or 1.0)
        up, down = (_read(again.run({**own, name: x + e}), piece.criteria) for e in (h, -h))
        columns.append([(a - b) / (2.0 * h) for a, b in zip(up, down, strict=True)])
    slopes = [np.column_stack([c[i] for c in columns]) if columns else np.zeros((len(v), 0)) for i, v in enumerate(values)]
    return Answer(values, slopes, [f"derivatives by differences: {reason}"])


def _read(solution: Any, criteria: Mapping[str, Criterion]) -> list[np.ndarray]:
    motion = Motion(solution, expressions_of(solution.system, criteria))
    instants = [np.array([motion.span[1]]) if c.kind == "final" else c.options["times"] for c in criteria.values()]
    return [motion.read(name, t) for name, t in zip(criteria, instants, strict=True)]


def compared(expression: Any, times: np.ndarray, values: np.ndarray) -> Criterion:
    """What is read at the instants of a column."""
    return cr.least_squares(expression, times, values)


__all__ = ["Answer", "Piece", "Pieces", "compared"]
