"""What touches what along a solution with contacts by penalty: points, forces, depths at any kept instant."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ...errors import InputError
from ...results.touches import Touch, Touches
from ...shown import Shown
from ...solvers.penalty.touch import FRICTION, NORMAL, apply_law, law_between, look, world_force
from ..touching import touching_at

if TYPE_CHECKING:
    from ...results.solution import Solution
    from ..tree.system import TreeSystem

#: Sliding below this speed (m/s) is told as rest.
RESTS = 1e-3


class TouchTable(Shown):
    """Contacts of a run: ``at(t)`` gives those at the last kept instant up to t, ``summary()`` what happened in all of it."""

    def __init__(self, solution: Solution, system: TreeSystem) -> None:
        self._solution, self._system = solution, system

    def at(self, t: float) -> Touches:
        """The points that touch, with the force on the first body (N)."""
        sol, s = self._solution, self._system
        if not sol.t[0] <= t <= sol.t[-1]:
            raise InputError(f"contacts: t = {t:g} s is outside of the run, {sol.t[0]:g} to {sol.t[-1]:g} s")
        k = int(np.searchsorted(sol.t, t, side="right")) - 1
        x = np.array([sol[n][k] for n in (*s.coordinate_names, *s.velocity_names, *s.model.states)])
        u = np.array([sol[n][k] for n in s.model.inputs])
        return Touches(self._touches(float(sol.t[k]), x, u))

    def _touches(self, t: float, x: np.ndarray, u: np.ndarray) -> Iterator[Touch]:
        found = touching_at(self._system, u, len(x))
        c, clock, names = found.record, np.array([t]), list(self._system.model.contacts)
        for i in range(look(c, clock.ctypes.data, x.ctypes.data, 0.0)):
            contact = c.found[i]
            number = law_between(c, contact)
            if number < 0 or contact.gap >= 0.0:
                continue
            _, px, py, pz, _ = apply_law(c, contact, number)
            slides = float(np.hypot(*c.read[4:6])) > RESTS
            yield Touch(
                names[number], found.body_of(contact.shape_a), found.body_of(contact.shape_b), np.array([px, py, pz]), c.axes[:3].copy(),
                float(contact.gap), np.array(world_force(c, NORMAL, FRICTION)), "slip" if slides else "stick",
            )  # fmt: skip

    def summary(self) -> str:
        """Points at most, the deepest penetration, and the energy that contacts hold and took."""
        sol = self._solution
        acting, depth, held, taken = (sol[f"contacts.{n}"] for n in ("acting", "depth", "stored", "dissipated"))
        return (
            f"{int(acting.max(initial=0.0))} contacts at most, {int(acting[-1])} at the end; deepest penetration {depth.max(initial=0.0):.3g} m; "
            f"energy held {held[-1]:.3g} J, taken {taken[-1]:.6g} J"
        )

    def __repr__(self) -> str:
        return f"<contacts: {self.summary()}>"


__all__ = ["TouchTable"]
