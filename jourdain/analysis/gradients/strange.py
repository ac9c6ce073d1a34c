"""Criteria that are no numbers: which, and from when on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import JourdainError, SolverError
from ...results.solution import Solution
from .expressions import expressions_of
from .measure import Motion

if TYPE_CHECKING:
    from ..design.criteria import Criterion


def finite(values: Mapping[str, float], criteria: Mapping[str, Criterion], result: Any) -> dict[str, float]:
    """Values of criteria, refused where one is not finite, with the instant from which its expression is none."""
    for name, y in values.items():
        if not np.isfinite(y):
            raise SolverError(f"criterion '{name}' ({criteria[name]}) is not finite{_when(result, name, criteria[name])}")
    return dict(values)


def finite_slopes(matrix: np.ndarray, criteria: Mapping[str, Criterion], wrt: Sequence[str]) -> np.ndarray:
    """Derivatives, refused where one is not finite."""
    for i, j in np.argwhere(~np.isfinite(matrix)):
        name = list(criteria)[i]
        raise SolverError(
            f"the derivative of criterion '{name}' ({criteria[name]}) by '{wrt[j]}' is not finite: something that is read on the way has no finite slope, as a root "
            "at zero; keep the motion away from there, or smooth it"
        )
    return matrix


def _when(result: Any, name: str, c: Criterion) -> str:
    if not isinstance(result, Solution) or result.system is None or c.expression is None:
        return ""
    try:
        motion = Motion(result, expressions_of(result.system, {name: c}))
        times = np.unique(np.concatenate([motion.begin, 0.5 * (motion.begin + motion.end), motion.end]))
        bad = np.flatnonzero(~np.isfinite(motion.read(name, times)))
    except JourdainError:
        return ""
    return f", at t = {times[bad[0]]:.6g} s for the first time" if bad.size else ""


__all__ = ["finite", "finite_slopes"]
