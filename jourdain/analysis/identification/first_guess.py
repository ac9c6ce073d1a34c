"""First guesses of unknown starts from the records themselves: a coordinate that was measured begins where its record does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ...systems.system import System
    from ..design.planned import Analysis
    from .records import Record

#: Samples at the beginning of a record through which a parabola is laid.
SAMPLES = 9


def guess(plan: Analysis, own: str, record: Record, columns: Mapping[str, Any], scaled: set[str]) -> float | None:
    """The value of a coordinate or rate at the start of a record, if that measures it; None where it does not, or where a start was given.

    ``scaled`` are columns with unknown offsets or gains: they do not tell the coordinate itself.
    """
    if own in _given(plan):
        return None
    measured = {e: c for c, e in columns.items() if isinstance(e, str) and c not in scaled}
    if own in measured:
        return _at_start(record, measured[own])[0]
    position = _position_of(plan.system, own)
    return _at_start(record, measured[position])[1] if position in measured else None


def _given(plan: Analysis) -> set[str]:
    """Names of starts that the caller gave; all of a state."""
    start = plan.args[0] if plan.args else plan.kwargs.get("x0")
    if start is None:
        return set()
    names = start if isinstance(start, Mapping) else [*plan.system.coordinate_names, *plan.system.velocity_names]
    return {plan.variable(n)[1] for n in names}


def _position_of(system: System, velocity: str) -> str | None:
    for k in system.configuration.coordinates:
        if velocity in k.velocity_names and not k.is_quaternion:
            return str(k.names[list(k.velocity_names).index(velocity)])
    return None


def _at_start(record: Record, column: str) -> tuple[float, float]:
    """Value and slope at the start of a record, by a parabola through its first samples."""
    t, y = record.times[column][:SAMPLES], record.values[column][:SAMPLES]
    begin = record.span[0]
    fit = np.polynomial.Polynomial.fit(t - begin, y, min(2, len(t) - 1))
    return float(fit(0.0)), float(fit.deriv()(0.0))


__all__ = ["guess"]
