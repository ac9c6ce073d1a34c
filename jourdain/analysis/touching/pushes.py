"""Forces of rigid contacts along a given motion, for inverse dynamics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...errors import SolverError
from ...systems.pushed import touches_rigidly
from ...systems.tree.contact.instant import RigidContacts
from ..equations.balance import coordinate_label
from ..equations.residual import Point, Residual
from .active_set import Pushing, pushing
from .holding import Cones

if TYPE_CHECKING:
    from ...systems.system import System
    from ..inverse_dynamics import Actuator

#: Largest part of the needed force (relative) that may be left over before a motion counts as impossible.
LEFT_OVER = 1e-6


class ContactPushes:
    """Forces of rigid contacts along a motion: inside their cones, with least norm where several would do."""

    def __init__(self, system: System) -> None:
        self.system, self.contacts = system, RigidContacts(system.reference)
        self._now: tuple[Pushing, np.ndarray] | None = None

    @staticmethod
    def of(system: System) -> ContactPushes | None:
        """Those of a system that has any."""
        return ContactPushes(system) if touches_rigidly(system.model) else None

    def at(self, residual: Residual, point: Point, items: Sequence[Actuator]) -> Point:
        """The point with the forces of contacts among its inputs that, with the actuators, bring about its accelerations."""
        state = point.state(self.system)
        found = pushing(self.system, self.contacts, state, point.a)
        d = residual.derivatives(point, "au")
        E = np.zeros((self.system.nv, len(items)))
        for k, x in enumerate(items):
            E[:, k] = -d["ru"][:, x.index] if x.is_input else np.eye(self.system.nv)[x.index]
        free = np.column_stack([E, residual.jacobian(point).T])
        cones = Cones(found.directions, found.friction, free, d["ra"], found.slides)
        held = cones.hold(residual.values(point)["r"], left=LEFT_OVER)
        if not held.stands:
            raise SolverError(self._lost(point, held.left, found))
        self._now = found, found.forces(held.force)
        u = point.u.copy()
        self.contacts.write(u, found.found, self._now[1])
        return point.with_values(u=u)

    def net(self) -> dict[str, np.ndarray]:
        """Net forces on bodies in the world's axes, as they were found last."""
        assert self._now is not None
        total: dict[str, np.ndarray] = {}
        found, force = self._now[0].found, self._now[1]
        for k in np.flatnonzero(~found.stop):
            f, contact = force[k] @ found.axes[k], self.contacts.name(int(found.law[k]))
            for side, body in enumerate(self.contacts.bodies(found.key[k])):
                if body != self.system.model.ground.name:
                    name = f"{contact}.{body}.force"
                    total[name] = total.get(name, np.zeros(3)) + (1.0 - 2.0 * side) * f
        return total

    def _lost(self, point: Point, left: np.ndarray, found: Pushing) -> str:
        j = int(np.argmax(np.abs(left)))
        pairs = {tuple(f"'{b}'" for b in self.contacts.bodies(key)) for key in found.found.key}
        told = ", ".join(" on ".join(p) for p in sorted(pairs)) or "no contact is closed"
        return (
            f"inverse dynamics '{self.system.model.name}' at t = {point.t:g} s: no forces of contacts inside their cones, with those of the actuators, bring "
            f"about this motion; what is left accelerates '{coordinate_label(self.system, j)}' by {left[j]:.4g} ({told})"
        )


__all__ = ["ContactPushes"]
