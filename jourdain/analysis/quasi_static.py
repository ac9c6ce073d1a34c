"""A start without vibration: modes that stand where the loads of the motion hold them.

Stiff modes follow their loads slowly, e(t) with ë ≈ 0; a run that begins elsewhere rings on for ever without damping.  The amplitudes are those
at which their accelerations vanish at the present motion of all else, the rates those by which these amplitudes change along it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import SolverError
from ..model.elastic.flexible import FlexibleBody
from ..systems.modes import chosen_modes
from ..systems.state import State
from .equations.closed_states import ClosedStates, slopes
from .touching.resting import refuse_resting

if TYPE_CHECKING:
    from ..systems.system import System

#: Steps of Newton's method, and how small the last one is against the amplitudes.
ITERATIONS, SMALL = 30, 1e-11
#: Rates are differences over this part of a radian of the slowest mode.
PART = 0.05
#: The rates act on the loads again (Coriolis' accelerations); so many times they are found anew.
PASSES = 3


def quasi_static(system: System, state: Any = None, modes: str | Sequence[str] = "*", inputs: Any = None) -> State:
    """The state with the amplitudes of modes where their loads hold them (ë = 0), and with the rates of these amplitudes along the motion.

    All other independent coordinates and velocities stay; loops are closed again.
    """
    what = f"quasi_static '{system.model.name}'"
    given = system.state(state)
    refuse_resting(system.reference, given, what)
    chosen = chosen_modes(system.model, modes, what)
    states = ClosedStates(system, given, [f"{n}_rate" for n in chosen], what)
    n = states.first
    search = _Search(system.reference, states, n, inputs, what)
    motion = given.v[states.columns].copy()
    motion[:n] = 0.0
    delta = PART / _slowest(system, chosen)
    e = search.found(np.zeros(n), motion, np.zeros(len(motion)), given.t)
    for _ in range(PASSES):
        here = states.at(search.moved(e, motion, 0.0), motion)
        change = system.reference.accelerations(here, inputs)[states.columns]
        change[:n] = 0.0
        ahead, behind = (
            search.found(e, motion + sign * delta * change, sign * delta * motion + 0.5 * delta**2 * change, given.t + sign * delta)
            for sign in (1.0, -1.0)
        )
        motion[:n] = (ahead - behind) / (2.0 * delta)
        e = search.found(e, motion, np.zeros(len(motion)), given.t)
    return states.at(search.moved(e, np.zeros(len(motion)), 0.0), motion)


class _Search:
    """Newton's method for the displacements of the first n independent coordinates at which their accelerations vanish."""

    def __init__(self, system: Any, states: ClosedStates, n: int, inputs: Any, what: str) -> None:
        self.system, self.states, self.n, self.inputs, self.what = system, states, n, inputs, what
        self.size = 1e-6 * max(1.0, float(np.abs(states.state.q[: system.nq]).max(initial=0.0)))

    def moved(self, e: np.ndarray, others: np.ndarray, time: float) -> np.ndarray:
        """Displacements of all independent coordinates."""
        found = time * others
        found[: self.n] = e
        return found

    def found(self, e: np.ndarray, rates: np.ndarray, others: np.ndarray, t: float) -> np.ndarray:
        """Displacements e with no acceleration of their own, at given velocities, displacements of the other coordinates and time."""

        def accelerations(x: np.ndarray) -> np.ndarray:
            place = others.copy()
            place[: self.n] = x
            at = self.states.at(place, rates, t)
            return np.asarray(self.system.accelerations(at, self.inputs))[self.states.columns[: self.n]]

        a = accelerations(e)
        for _ in range(ITERATIONS):
            J = slopes(accelerations, e, a, np.full(self.n, self.size))
            try:
                step = np.linalg.solve(J, a)
            except np.linalg.LinAlgError:
                break
            if not np.isfinite(step).all():
                break
            e = e - step
            a = accelerations(e)
            if np.abs(step).max() <= SMALL * max(np.abs(e).max(), 1e-6):
                return e
        name = self.states.names[int(np.argmax(np.abs(a)))].removesuffix("_rate")
        raise SolverError(
            f"{self.what}: no amplitudes are found at t = {t:g} s at which the modes are at rest ('{name}' still has {np.abs(a).max():.3g} m/s²); "
            "is a mode without stiffness, or the motion faster than the modes?"
        )


def _slowest(system: System, chosen: Sequence[str]) -> float:
    """The lowest frequency (rad/s) of the bodies whose modes are chosen."""
    bodies = [b for b in system.model.bodies.values() if isinstance(b, FlexibleBody) and any(n.startswith(f"{b.name}.") for n in chosen)]
    return max(1e-6, min(float(b.part.frequencies.min()) for b in bodies))


__all__ = ["quasi_static"]
