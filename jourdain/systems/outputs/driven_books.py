"""Energy that drives and moving constraints supply in runs with set-valued laws of contact.

Forces of drives follow from the motion: Q = M v̇ − f − Jᵀλ with the forces of contacts among f.  In fixed steps velocities jump within a step, and the
step's own balance is taken: mean accelerations (v₁ − v₀)/h and mean forces at its middle.  From event to event the motion is smooth between the rows, so
that powers are integrated; in an impact drives have given what velocities gained and contacts took.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol

import numpy as np

from ...errors import InputError
from ...results.channel import Channel
from ..pushed import pushed_inputs, pushed_system
from .energy_balance import gauss
from .reactions import constrained_accelerations

if TYPE_CHECKING:
    from ..compiled import Compiled
    from .solution import StateTable

#: Forces of contacts (channels) at times and states of a run.
Pushes = Callable[[np.ndarray, np.ndarray], Mapping[str, Channel]]


class Driven(Protocol):
    """Energy (J) supplied up to each row of a table, with the channels of the run's contacts; ``find`` gives states between rows."""

    def __call__(
        self, table: StateTable, contacts: Mapping[str, Channel], find: Callable[[np.ndarray], np.ndarray] | None
    ) -> np.ndarray: ...


def _power(system: Compiled, t: np.ndarray, x: np.ndarray, u: np.ndarray, a: np.ndarray, lam: np.ndarray) -> np.ndarray:
    nq, nv = system.nq, system.nv
    found: np.ndarray = system.function("supplied_power")(t[:, None], x[:, :nq], x[:, nq : nq + nv], a, x[:, nq + nv :], u, lam)[:, 0]
    return found


def supplied_in_steps(every_step: bool) -> Driven:
    """That of a run in fixed steps, whose forces are means over the step before a row."""

    def supplied(table: StateTable, contacts: Mapping[str, Channel], find: Callable[[np.ndarray], np.ndarray] | None) -> np.ndarray:
        model, t, x, nq, nv = table.system.model, table.t, table.rows, table.system.nq, table.system.nv
        if not every_step:
            raise InputError(
                f"'{model.name}': what its drives supply is known where every step is kept; simulate without times= and outputs= to read energy.error"
            )
        total, k, system = np.zeros(len(t)), np.flatnonzero(np.diff(t) > 0), pushed_system(table.system)
        h, c = (t[k + 1] - t[k])[:, None], table.system.configuration
        middle, mean = 0.5 * (x[k] + x[k + 1]), (x[k + 1, nq : nq + nv] - x[k, nq : nq + nv]) / h
        for row, at in enumerate(k.tolist()):
            middle[row, :nq] = c.integrate(x[at, :nq], 0.5 * c.difference(x[at, :nq], x[at + 1, :nq]))
        times = t[k] + 0.5 * h[:, 0]
        u = pushed_inputs(
            table.system, table.inputs_at(times, middle), {n: Channel(ch.values[k + 1], ch.unit, "") for n, ch in contacts.items()}
        )
        M, f, J, _, _ = system.function("descriptor")(times[:, None], middle, u)
        left = (M @ mean[..., None])[..., 0] - f
        lam = (np.linalg.pinv(np.swapaxes(J, 1, 2), rcond=1e-12) @ left[..., None])[..., 0] if J.shape[1] else np.zeros((len(k), 0))
        total[k + 1] = h[:, 0] * _power(system, times, middle, u, mean, lam)
        return np.cumsum(total)

    return supplied


def supplied_between(pushes: Pushes) -> Driven:
    """That of a run from event to event, whose forces are known at any instant."""

    def supplied(table: StateTable, contacts: Mapping[str, Channel], find: Callable[[np.ndarray], np.ndarray] | None) -> np.ndarray:
        assert find is not None
        system, t, c = pushed_system(table.system), table.t, table.system.configuration
        total, k, (nodes, weights) = np.zeros(len(t)), np.flatnonzero(np.diff(t) > 0), gauss()
        h = t[k + 1] - t[k]
        times = (t[k][:, None] + h[:, None] * nodes).ravel()
        inside = find(times)[:, : table.rows.shape[1]]
        inside[:, : c.nq] = c.normalise(inside[:, : c.nq])
        u = pushed_inputs(table.system, table.inputs_at(times, inside), pushes(times, inside))
        power = _power(system, times, inside, u, *constrained_accelerations(system, times, inside, u))
        total[k + 1] = h * (power.reshape(len(k), -1) @ weights)
        return np.cumsum(total)

    return supplied


__all__ = ["Driven", "supplied_between", "supplied_in_steps"]
