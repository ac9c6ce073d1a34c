"""What steps with rigid contacts take over from the step before, handed from run to run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ...ode_run import OdeRun
from ...run import Restart

if TYPE_CHECKING:
    from .contacts import TreeContacts


class WarmRun(OdeRun):
    """A run whose steps begin with the impulses of the last one: laws may leave forces open, and which are found depends on where the search begins."""

    contacts: TreeContacts

    def double_room(self) -> None:
        """Makes room for twice as many contacts."""
        known = self.touching()
        self.contacts.raise_room(2 * self.contacts.room)
        self.note_warm()
        self.take_up(*known)

    def note_warm(self) -> None:
        """Takes note of the memory of the contacts."""
        s = self.contacts.record.contacts
        #: What a step takes over from the one before, for steppers that go back.
        self._warm = s, s.old_key, s.old_impulse, s.old_speed

    def memory(self, u: np.ndarray) -> dict[str, Any]:
        """Also what contacts did in the last step, from which the next one begins to search."""
        return super().memory(u) | {"touching": self.touching()}

    def touching(self) -> tuple[np.ndarray, ...]:
        """Keys, impulses and speeds of the contacts of the last step; its end, its length, the sum over its velocities and what contacts did to them."""
        s, *arrays = self._warm
        last = self.contacts.record.last
        return *(x[: 3 * s.old_count].copy() for x in arrays), np.array([last.t, last.h, last.sum, *last.pushed])

    def take_up(self, keys: np.ndarray, impulses: np.ndarray, speeds: np.ndarray, step: np.ndarray) -> None:
        """Goes on from such a memory."""
        while len(keys) > self._warm[1].size:
            self.double_room()
        s, *arrays = self._warm
        s.old_count = len(keys) // 3
        for own, given in zip(arrays, (keys, impulses, speeds), strict=True):
            own[: len(keys)] = given
        last = self.contacts.record.last
        last.t, last.h, last.sum = map(float, step[:3])
        last.pushed[:] = step[3:] if len(step) == 3 + last.pushed.size else 0.0  # kept by earlier versions: the times alone

    def portable(self, saved: Callable[[str], Any]) -> dict[str, Any]:
        """What contacts did in the last step."""
        return {"touching": self.touching()}

    def take(self, data: Mapping[str, Any]) -> Any:
        """Those of another process."""
        self.take_up(*data["touching"])

    def resumed(self, restart: Restart) -> Any:
        """Goes on with the impulses of the last step."""
        self.take_up(*restart.memory["touching"])
        return super().resumed(restart)


__all__ = ["WarmRun"]
