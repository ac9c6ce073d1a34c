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


def by_entries(system: Compiled | Dynamics) -> dict[str, bool]:
    """The option by which functions of many constraints give the entries of their Jacobian alone."""
    return {"packed": True} if system.packed else {}


class SparseConstraints:
    """h, J ("constraints") or w, J ("constraint_velocities") of many constraints, J as a sparse matrix."""

    def __init__(self, system: Any, name: str) -> None:
        self._f = system.function(name, packed=True)
        self.inputs = self._f.inputs
        places, n, m = system.places(name, "J", packed=True), system.nv, next(iter(self._f.outputs.values()))[0]
        self._shape, self._columns, self._begin = (m, n), places % n, np.searchsorted(places, n * np.arange(m + 1))

    def __call__(self, *args: np.ndarray) -> tuple[np.ndarray, Any]:
        """Residuals and Jacobian in one state."""
        from scipy.sparse import csr_matrix

        residual, values = self._f(*args)
        return residual, csr_matrix((values, self._columns, self._begin), shape=self._shape)


def constraint_function(system: Compiled | Dynamics, name: str) -> Any:
    """The function "constraints" or "constraint_velocities" of one state; of many constraints J is a sparse matrix."""
    if not system.packed:
        return system.function(name)
    owner: Any = getattr(system, "reference", system)
    known = owner._idle.setdefault("sparse constraints", {})
    if name not in known:
        known[name] = SparseConstraints(owner, name)
    return known[name]


def jacobian(system: Compiled | Dynamics, q: np.ndarray, t: float) -> np.ndarray:
    """Jacobian of all constraints at zero velocity."""
    J = jacobian_at(system, q, t)
    return np.asarray(J.toarray() if system.packed else J)


def jacobian_at(system: Compiled | Dynamics, q: np.ndarray, t: float) -> Any:
    """The same; of many constraints as a sparse matrix."""
    if not system.equations_of_motion.rows:
        return np.zeros((0, system.nv))
    f = constraint_function(system, "constraint_velocities")
    return f(np.array([t]), q, np.zeros(system.nv), *(np.zeros(n) for n in list(f.inputs.values())[3:]))[1]


def velocity_column(system: Compiled, name: str) -> int:
    """Index of the velocity that belongs to a position."""
    c = system.configuration
    i = c.index(name)
    for iq, _ in c.quaternions:
        if iq <= i < iq + 4:
            raise InputError(
                f"'{name}' is part of a quaternion and cannot be fixed alone; give all four of them, or use an orientation sequence such as 'xyz'"
            )
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
    """What :meth:`Start.at` finds, by an object that is kept with the system; of many constraints by sparse factors."""
    if system.packed:
        return _look_by_entries(system, state)
    idle: list[Start] = system._idle.setdefault("starts", [])
    try:  # another thread may have taken the last one
        start = idle.pop()
    except IndexError:
        start = Start(system)
    found = start.at(system, state)
    idle.append(start)
    return found


def _look_by_entries(system: Dynamics, state: State) -> tuple[bool, list[float]]:
    from ..solvers.constraints.start import SINGULAR
    from ..solvers.linear.sparse_rows import loses_rank

    clock, further = np.array([state.t]), {"z": state.z, "u": system.input_values()}
    h = constraint_function(system, "constraints")(clock, state.q)[0] if system.equations_of_motion.holonomic else np.zeros(1)
    f = constraint_function(system, "constraint_velocities")
    w, J = f(clock, state.q, state.v, *(further[n] for n in list(f.inputs)[3:]))
    return not loses_rank(J, SINGULAR), [float(np.abs(e).max(initial=0.0)) for e in (h, w, state.v)]


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
        h, _ = constraint_function(system, "constraints")(np.array([state.t]), state.q)
        i = int(np.argmax(np.abs(h)))
        if abs(h[i]) > tolerance:
            raise InputError(
                f"'{system.model.name}': the state does not meet the constraint {rows[i].name} (off by {h[i]:.3g}); "
                f"{_not_yet(system, rows[i].name) or advice}"
            )
    f = constraint_function(system, "constraint_velocities")
    extra = {"z": state.z, "u": system.input_values()}
    w, J = f(np.array([state.t]), state.q, state.v, *(extra[n] for n in list(f.inputs)[3:]))
    i = int(np.argmax(np.abs(w)))
    if abs(w[i]) > tolerance * (1.0 + float(np.abs(state.v).max(initial=0.0))):
        raise InputError(f"'{system.model.name}': the velocities break the constraint {rows[i].name} (off by {w[i]:.3g}); {advice}")
    from .tree.branches import SINGULAR, check_branch, loses_rank

    if loses_rank(J, SINGULAR):
        check_branch(system, state)


def _not_yet(system: Compiled, row: str) -> str:
    """What to write where an event engages what holds at the start already."""
    model, name = system.model.whole or system.model, row.partition("[")[0]
    event = next((e.name for e in model.events.values() if e.switches.get(name)), None)
    if event is None:
        return ""
    held = f"m.{'joints' if name in model.joints else 'constraints'}['{name}']"
    return f"if it holds from the event '{event}' on only, say m.release({held}) before m.compile()"


__all__ = ["by_entries", "check_closed", "constraint_function", "jacobian", "jacobian_at", "look_at_start", "velocity_column"]
