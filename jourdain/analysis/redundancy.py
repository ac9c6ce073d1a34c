"""Constraints that follow from others wherever the mechanism moves, told apart from those lost in a singular position only.

A mechanism such as Bricard's has more equations than it needs.  Which rows are left out is decided once: near the constraints a
redundant row looks independent by the amount of their violation, and deciding anew at each instant would mistake that for a
constraint.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..errors import SolverError
from .assemble import close_positions, jacobian
from .partition import RANK_TOLERANCE, null_space, partition
from .state import State

if TYPE_CHECKING:
    from .system import System

#: Closed positions around the given one in which the rank is looked at, and how far they are away (rad, m).
SAMPLES = 4
DISTANCE = 0.1


def redundant_rows(system: System, state: State) -> list[int]:
    """Indices of constraints that are redundant in the given closed position and around it."""
    J = jacobian(system, state.q, state.t)
    if _rank(J) == len(J):
        return []
    nearby = [J for J in _nearby_jacobians(system, state, J) if len(J)]
    if not nearby:
        return []
    best = max(nearby, key=_rank)
    return partition(best).redundant if _rank(best) < len(best) else []


def _rank(J: np.ndarray) -> int:
    singular = np.linalg.svd(J, compute_uv=False) if J.size else np.zeros(0)
    return int(np.sum(singular > RANK_TOLERANCE * singular[0])) if len(singular) else 0


def _nearby_jacobians(system: System, state: State, J: np.ndarray) -> list[np.ndarray]:
    """Jacobians in closed positions reached by small allowed motions."""
    allowed = null_space(J)
    if allowed.shape[1] == 0:
        return [J]
    rng = np.random.default_rng(0)
    found = []
    for _ in range(SAMPLES):
        direction = allowed @ rng.normal(size=allowed.shape[1])
        step = DISTANCE * direction / np.linalg.norm(direction)
        try:
            q, *_ = close_positions(system, system.configuration.integrate(state.q, step), [], np.ones(system.nv), state.t)
        except SolverError:
            continue
        found.append(jacobian(system, q, state.t))
    return found
