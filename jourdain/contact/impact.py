"""One impact on the fast scale: what two bodies did from the first touch to the last, whichever model computed it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ..errors import InputError
from ..structures.parts.dofs import Array

if TYPE_CHECKING:
    from .bodies import FastBody
    from .laws import NormalForce

#: Most contacts of one impact that are told apart; further ones are counted with the last.
MOST_CONTACTS = 64


class Motion(Protocol):
    """The motion of a body, along the blow, during the impact and after it."""

    def displacement(self, x: Any, t: Any) -> Array: ...
    def velocity(self, x: Any, t: Any) -> Array: ...
    def strain(self, x: Any, t: Any) -> Array: ...


@dataclass(frozen=True)
class Contact:
    """One of the contacts of an impact: begin and end (s), impulse (N s)."""

    begin: float
    end: float
    impulse: float


@dataclass(frozen=True, eq=False)
class Impact:
    """What a fast model found.

    Args:
        time, force, indentation: history of the contact. contacts: each with begin, end and impulse.
        impulse: of all contacts. energy: left in waves and vibrations of both bodies (J). finished: whether the bodies parted for good.
        a, b: motions of the bodies.
    """

    time: Array
    force: Array
    indentation: Array
    contacts: tuple[Contact, ...]
    impulse: float
    energy: float
    finished: bool
    steps: int
    a: Motion
    b: Motion


@dataclass(frozen=True)
class Pair:
    """Two bodies that meet: a comes with a speed (m/s), b waits."""

    a: FastBody
    b: FastBody
    speed: float
    law: NormalForce

    @property
    def mobility(self) -> float:
        """G = 1/m₁ + 1/m₂ of the rigid bodies."""
        return 1 / self.a.effective_mass + 1 / self.b.effective_mass

    @property
    def rigid_duration(self) -> float:
        """How long rigid bodies would touch: the scale of time."""
        return self.law.rigid_impact(1 / self.mobility, self.speed)[1]


def contacts_of(rows: Array, number: int, apart: float = 0.0) -> tuple[Contact, ...]:
    """Contacts that a time loop booked; those less than a time `apart` count as one."""
    found: list[Contact] = []
    for begin, end, impulse in rows[: min(number, len(rows))].tolist():
        if found and begin - found[-1].end < apart:
            begin, impulse = found[-1].begin, impulse + found.pop().impulse
        found.append(Contact(begin, end, impulse))
    return tuple(found)


@dataclass(frozen=True, eq=False)
class RigidMotion:
    """A body without waves: its velocity falls by the impulse of the force."""

    time: Array
    position: Array
    before: float
    after: float

    def displacement(self, x: Any, t: Any) -> Array:
        t = np.asarray(t, float)
        inside = np.interp(t, self.time, self.position)
        return inside + self.after * np.maximum(t - self.time[-1], 0.0) + np.zeros(np.shape(x))

    def velocity(self, x: Any, t: Any) -> Array:
        rates = np.gradient(self.position, self.time, edge_order=2)
        t = np.asarray(t, float)
        return np.where(t > self.time[-1], self.after, np.interp(t, self.time, rates)) + np.zeros(np.shape(x))

    def strain(self, x: Any, t: Any) -> Array:
        raise InputError("strain: this body is rigid in this model; take model='finite elements' for what happens inside")
