"""Constraints of a system at a state: their Jacobian, the velocities that belong to positions, and whether they are met."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..errors import InputError

if TYPE_CHECKING:
    from .compiled import Compiled
    from .dynamics import Dynamics
    from .state import State


def jacobian(system: Compiled | Dynamics, q: np.ndarray, t: float) -> np.ndarray:
    """Jacobian of all constraints at zero velocity."""
    if not system.equations_of_motion.rows:
        return np.zeros((0, system.nv))
    f = system.function("constraint_velocities")
    _, J = f(np.array([t]), q, np.zeros(system.nv), *(np.zeros(n) for n in list(f.inputs.values())[3:]))
    return np.asarray(J)


def velocity_column(system: Compiled, name: str) -> int:
    """Index of the velocity that belongs to a position."""
    c = system.configuration
    i = c.index(name)
    for iq, _ in c.quaternions:
        if iq <= i < iq + 4:
            raise InputError(f"'{name}' is part of a quaternion and cannot be fixed alone; use an orientation sequence such as 'xyz'")
    return i - sum(iq < i for iq, _ in c.quaternions)


def check_closed(system: Compiled, state: State, tolerance: float = 1e-6) -> None:
    """Refuses a state whose loops are open or whose velocities would open them, at once or in the next instant."""
    rows = system.equations_of_motion.rows
    if not rows:
        return
    advice = "close it first: system.assemble({...}, velocities={...})"
    if system.equations_of_motion.holonomic:
        h, _ = system.function("constraints")(np.array([state.t]), state.q)
        i = int(np.argmax(np.abs(h)))
        if abs(h[i]) > tolerance:
            raise InputError(f"'{system.model.name}': the state does not meet the constraint {rows[i].name} (off by {h[i]:.3g}); {advice}")
    f = system.function("constraint_velocities")
    extra = {"z": state.z, "u": system.input_values()}
    w, J = f(np.array([state.t]), state.q, state.v, *(extra[n] for n in list(f.inputs)[3:]))
    i = int(np.argmax(np.abs(w)))
    if abs(w[i]) > tolerance * (1.0 + float(np.abs(state.v).max(initial=0.0))):
        raise InputError(f"'{system.model.name}': the velocities break the constraint {rows[i].name} (off by {w[i]:.3g}); {advice}")
    from .tree.branches import SINGULAR, check_branch, loses_rank

    if loses_rank(J, SINGULAR):
        check_branch(system, state)


__all__ = ["check_closed", "jacobian", "velocity_column"]
