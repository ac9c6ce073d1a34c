"""Constraints of a system at a state: their Jacobian, the velocities that belong to positions, and whether they are met."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from ..solvers.native_function import address

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


class Start:
    """The constraints of a system as native code looks at them where a run starts, with memory of its own; one object for one thread."""

    def __init__(self, system: Dynamics) -> None:
        from ..solvers.constraints import start

        eq, m, n = system.equations_of_motion, len(system.equations_of_motion.rows), system.nv
        velocity = system.function("constraint_velocities")
        self._given = given = {name: np.zeros(size) for name, size in velocity.signature.inputs}
        self._t, self._q, self._v, self._found = given["t"], given["q"], given["v"], np.zeros(3)
        h, w, J, slopes = np.zeros(eq.holonomic), np.zeros(m), np.zeros((m, n)), np.zeros((eq.holonomic, n))
        args = velocity.arguments(*given.values(), w, J)
        L, lists = start.room(m, n)
        self._look = start.Look(
            velocity=velocity.address, velocity_args=address(args), h=h, w=w, J=J.ravel(), v=self._v, L=L, lists=lists,
            found=self._found,
        )  # fmt: skip
        self._keep: list[Any] = [velocity, args]
        if eq.holonomic:
            position = system.function("constraints")
            args = position.arguments(self._t, self._q, h, slopes)
            self._look.position, self._look.position_args = position.address, address(args)
            self._keep += [position, args, slopes]
        # the interpreter's lock is held, for the functions' own work spaces are used
        self._call, self._address = start.look.locked_call, self._look.address

    def at(self, system: Dynamics, state: State) -> tuple[bool, list[float]]:
        """Whether constraints are independent for certain at a state; the largest residuals of positions and of velocities, and velocity."""
        self._t[0], self._q[:], self._v[:] = state.t, state.q, state.v
        if len(self._given) > 3:
            further = {"z": state.z, "u": system.input_values()}
            for name in list(self._given)[3:]:
                self._given[name][:] = further[name]
        return self._call(self._address) == 0, self._found.tolist()


def look_at_start(system: Dynamics, state: State) -> tuple[bool, list[float]]:
    """What :meth:`Start.at` finds, by an object that is kept with the system."""
    idle: list[Start] = system._idle.setdefault("starts", [])
    try:  # another thread may have taken the last one
        start = idle.pop()
    except IndexError:
        start = Start(system)
    found = start.at(system, state)
    idle.append(start)
    return found


def check_closed(system: Compiled, state: State, tolerance: float = 1e-6) -> None:
    """Refuses a state whose loops are open or whose velocities would open them, at once or in the next instant."""
    if not system.equations_of_motion.rows:
        return
    independent, (h, w, v) = look_at_start(system.reference, state)
    if not (independent and h <= tolerance and w <= tolerance * (1.0 + v)):
        _check_closely(system, state, tolerance)


def _check_closely(system: Compiled, state: State, tolerance: float) -> None:
    """Says which constraint is not met, or what is wrong in a singular position."""
    rows = system.equations_of_motion.rows
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


__all__ = ["check_closed", "jacobian", "look_at_start", "velocity_column"]
