"""Closed states near one of them, by the displacements and velocities of independent coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...errors import InputError
from ...systems.constraints import jacobian
from ...systems.modes import mode_names
from ...systems.state import State
from ...systems.tree.partition import partition
from ..assemble import assemble_velocities, close_positions

if TYPE_CHECKING:
    from ...systems.system import System


class ClosedStates:
    """States near a closed one; ``first`` names velocities that come first among the independent ones."""

    def __init__(self, system: System, state: State, first: Sequence[str], what: str) -> None:
        self.system, self.state = system.reference, state
        names = self.system.velocity_names
        wanted = [names.index(n) for n in first]
        modes = [names.index(f"{n}_rate") for n in mode_names(system.model)]  # loops are closed by the joints, where that is possible
        parts = partition(jacobian(self.system, state.q, state.t), preferred=[*wanted, *(j for j in modes if j not in wanted)])
        free = [j for j in wanted if j not in parts.dependent]  # loops of plane joints bind what bends out of the plane
        if wanted and not free:
            raise InputError(
                f"{what}: the loops of '{system.model.name}' bind '{first[0].removesuffix('_rate')}', which cannot be chosen freely"
            )
        #: how many of those named first are independent
        self.first = len(free)
        #: velocity columns: those named first, then the others
        self.columns = [*free, *(j for j in sorted(parts.independent) if j not in free)]
        self.names = [names[j] for j in self.columns]

    def at(self, moved: np.ndarray, rates: np.ndarray, t: float | None = None) -> State:
        """The state with independent coordinates displaced from the first state, at given independent velocities."""
        s, t = self.system, self.state.t if t is None else t
        step = np.zeros(s.nv)
        step[self.columns] = moved
        q = s.configuration.integrate(self.state.q, step)
        if s.equations_of_motion.holonomic:
            q = close_positions(s, q, self.columns, np.ones(s.nv), t)[0]
        v = assemble_velocities(s, q, dict(zip(self.names, rates.tolist(), strict=True)), t, self.state.v)
        return self.state.with_values(q=q, v=v, t=t)


def slopes(f: object, x: np.ndarray, at: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Central differences of a function f(x) with these step sizes; ``at`` is f(x)."""
    J = np.empty((len(at), len(x)))
    for k, h in enumerate(sizes):
        step = np.zeros(len(x))
        step[k] = h
        J[:, k] = (f(x + step) - f(x - step)) / (2.0 * h)  # type: ignore[operator]
    return J


__all__ = ["ClosedStates", "slopes"]
