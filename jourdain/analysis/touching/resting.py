"""Rigid contacts that rest closed in a state, for searches among the states near it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...errors import InputError
from ...systems.pushed import touches_rigidly
from ...systems.tree.contact.instant import RigidContacts, Touching
from ...systems.tree.partition import null_space

if TYPE_CHECKING:
    from ...systems.state import State
    from ...systems.tree.system import TreeSystem

#: Normal speeds up to this (m/s) are none.
SLOW = 1e-9


def _resting(system: TreeSystem, state: State) -> tuple[RigidContacts, Touching]:
    """Contacts and stops that are closed and stay so: dry friction in joints has no gap."""
    rigid = RigidContacts(system, brakes=True)
    found = rigid.closed(state.t, state.q)
    speed = found.J[:, 0] @ state.v + found.drift[:, 0]
    return rigid, found.only(np.flatnonzero(~found.brakes & (np.abs(speed) <= SLOW)))


def along_contacts(system: TreeSystem, state: State) -> np.ndarray:
    """Directions (columns over all velocities) that keep the gaps of resting contacts."""
    _, found = _resting(system, state)
    return null_space(found.J[:, 0]) if len(found) else np.eye(system.nv)


def refuse_resting(system: TreeSystem, state: State, what: str) -> None:
    """Raises an error where rigid contacts push on what is to follow its loads."""
    if not touches_rigidly(system.model):
        return
    rigid, found = _resting(system, state)
    if len(found):
        a, b = rigid.bodies(found.key[0])
        pair = f"the stop of joint '{a}'" if found.stop[0] else f"the contact of '{a}' and '{b}'"
        raise InputError(
            f"{what}: {pair} is closed in this state, so that its force loads the modes; use equilibrium, which finds both, or start where nothing touches"
        )


__all__ = ["along_contacts", "refuse_resting"]
