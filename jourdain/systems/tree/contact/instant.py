"""Rigid contacts and stops in a position as rows of all velocities, for what is asked about an instant."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from ....errors import InputError, SolverError
from ....model.contact.loads import dry_name
from ....solvers.native_function import NativeFunction
from ....solvers.nonsmooth.contact_set import DRY, ROLL, ContactSet, Parts
from ....solvers.nonsmooth.records import NO_ROOM
from ...pushed import wrench_columns
from .contacts import TreeContacts
from .rows import DRY_JOINTS, ROPES, STOPS, contact_rows

if TYPE_CHECKING:
    from ..system import TreeSystem

#: Gaps up to this part of the smallest shape are closed.
CLOSED = 1e-7


def rows_of(s: ContactSet, parts: Parts, source: np.ndarray, which: np.ndarray, nv: int) -> np.ndarray:
    """J (or M⁻¹Jᵀ, by ``source``) of contacts over all velocities, three rows each."""
    J, stride = np.zeros((3 * len(which), nv)), int(parts.stride)
    for r, k in enumerate(which.tolist()):
        for side in (0, 1):
            c = int(s.part[2 * k + side])
            if c >= 0:
                members = parts.member[parts.first[c] : parts.first[c + 1]]
                for row in (0, 1, 2):
                    at = (6 * k + 2 * row + side) * stride
                    J[3 * r + row, members] += source[at : at + len(members)]
    return J


@dataclass(frozen=True)
class Touching:
    """Contacts in a position: u = J v + d for each (normal and two tangents; of stops the first alone)."""

    key: np.ndarray  # (n, 3)
    law: np.ndarray
    gap: np.ndarray
    point: np.ndarray  # (n, 3)
    axes: np.ndarray  # (n, 3, 3): normal from b to a, tangents
    arm: np.ndarray  # (n, 2, 3)
    J: np.ndarray  # (n, 3, nv)
    drift: np.ndarray  # (n, 3)
    sort: np.ndarray

    def __len__(self) -> int:
        return len(self.gap)

    def only(self, which: np.ndarray) -> Touching:
        """Some of them."""
        return Touching(*(x[which] for x in (self.key, self.law, self.gap, self.point, self.axes, self.arm, self.J, self.drift, self.sort)))

    @property
    def stop(self) -> np.ndarray:
        """Which of them are one force by a number: ends of joints, ropes, dry friction in joints."""
        return self.key[:, 0] >= STOPS

    @property
    def brakes(self) -> np.ndarray:
        """Which of them are dry friction in joints."""
        return np.asarray(self.sort == DRY)


def joined(first: Touching, second: Touching, places: np.ndarray) -> Touching:
    """Both in one, in the order that ``places`` of them tell."""
    order = np.argsort(places)
    return Touching(*(np.concatenate([getattr(x, f.name) for x in (first, second)])[order] for f in fields(Touching)))


class RigidContacts:
    """The rigid contacts and stops of a system with its present parameters, asked position by position."""

    def __init__(self, system: TreeSystem, brakes: bool = False, couples: bool = False) -> None:
        for joint in system.model.dry_friction if not brakes else ():
            raise InputError(
                f"'{system.model.name}': joint '{joint}' has dry friction without smoothing, which simulate and equilibrium know and this analysis does not; give smoothing="
            )
        #: Contacts that resist rolling or spinning; ``couples`` says that the caller does without.
        self.resisting = [c.name for c in system.model.contacts.values() if not c.gives_way and c.law.resists]  # type: ignore[union-attr]
        if self.resisting and not couples:
            raise InputError(
                f"'{system.model.name}': contact '{self.resisting[0]}' resists rolling or spinning, which simulate and equilibrium know and this analysis does not; "
                "leave rolling= and spinning= out, or take a law of surfaces that give way"
            )
        self.system, self.contacts = system, TreeContacts.made(system)
        self.size = self.contacts.slack / 0.01
        record = self.contacts.record.impacts
        #: Coefficients by law, along the first tangent and along the second; of dry friction in joints its bound.
        self.friction, self.static = np.c_[record.friction, record.across], np.c_[record.static, record.static_across]
        self._columns, self._stops = wrench_columns(system), {}
        first = len(system.model.inputs) + 6 * len(self._columns)
        joints = (*system.model.rigid_stops, *system.model.ropes, *(dry_name(n) for n in system.model.dry_friction))
        self._stops = {name: first + i for i, name in enumerate(joints)}

    def find(self, t: float, q: np.ndarray) -> Touching:
        """All contacts whose gaps are small, in the order of shapes and features."""
        rows = self.contacts.rows
        while True:
            x = np.concatenate([q, np.zeros(self.system.nv + self.system.nz)])
            status = NativeFunction.of(contact_rows.address, rows, self)(t, x, x)
            if status != NO_ROOM:
                break
            self.contacts.raise_room(2 * self.contacts.room)
            rows = self.contacts.rows
        if status != 0:
            raise SolverError(f"'{self.system.model.name}': the contacts cannot be found in this position (status {status})")
        s, n = rows.contacts, int(rows.contacts.count)
        without_couples = np.flatnonzero(s.sort[:n] < ROLL)
        J = rows_of(s, self.contacts.parts, s.J, np.arange(n), self.system.nv).reshape(n, 3, self.system.nv)
        found = Touching(
            s.key[: 3 * n].reshape(n, 3), s.law[:n], s.gap[:n], s.point[: 3 * n].reshape(n, 3), s.axes[: 9 * n].reshape(n, 3, 3),
            s.arm[: 6 * n].reshape(n, 2, 3), J, s.drift[: 3 * n].reshape(n, 3), s.sort[:n],
        )  # fmt: skip
        return found.only(without_couples)

    def closed(self, t: float, q: np.ndarray) -> Touching:
        """Those that touch."""
        found = self.find(t, q)
        return found.only(np.flatnonzero(found.gap <= CLOSED * self.size))

    def same(self, t: float, q: np.ndarray, key: np.ndarray) -> Touching:
        """Those of known keys in a position nearby, in their order."""
        found = self.find(t, q)
        place = {tuple(k): i for i, k in enumerate(found.key.tolist())}
        lost = [k for k in key.tolist() if tuple(k) not in place]
        if lost:
            a, b = self.bodies(np.array(lost[0]))
            c = self.contacts
            law = c.law_name(int(c.pairs.law[tuple(c.pairs.group[c.scene.source[shape]] for shape in lost[0][:2])]))
            raise SolverError(
                f"'{self.system.model.name}': contact '{law}' of '{a}' and '{b}' is an edge of what is smooth: a point of it ends nearby, so that small motions have no "
                f"derivatives; say that it sticks or is open, contacts={{'{law}.{b if b != self.system.model.ground.name else a}': 'sticking'}}, or move the bodies off the edge"
            )
        return found.only(np.array([place[tuple(k)] for k in key.tolist()], dtype=int))

    def name(self, law: int) -> str:
        """The name of a contact, or "stop"."""
        return self.contacts.law_name(law)

    def bodies(self, key: np.ndarray) -> tuple[str, str]:
        """The two bodies of a contact; the joint, twice, of a stop."""
        return self.contacts.body_of(int(key[0])), self.contacts.body_of(int(key[1]))

    def write(self, u: np.ndarray, found: Touching, force: np.ndarray) -> None:
        """Adds forces (n, 3: normal and tangents) to the wrenches among the inputs of the pushed system."""
        for k in range(len(found)):
            if found.stop[k]:
                name, sign = self._single(int(found.key[k, 0]))
                u[self._stops[name]] += sign * force[k, 0]
                continue
            f, contact = force[k] @ found.axes[k], self.name(int(found.law[k]))
            for side in (0, 1):
                place = self._columns.get((contact, self.contacts.mover_of(int(found.key[k, side]))))
                if place is not None:
                    sign = 1.0 - 2.0 * side
                    u[place : place + 3] += sign * f
                    u[place + 3 : place + 6] += sign * np.cross(found.arm[k, side], f)

    def _single(self, key: int) -> tuple[str, float]:
        """Which input is the force of a stop, a rope or dry friction, and its sign there."""
        if key >= DRY_JOINTS:
            return dry_name(self.contacts.name_of(key)), 1.0
        if key >= ROPES:
            return self.contacts.name_of(key), 1.0
        name, _, _, sign, *_ = self.contacts.stops[key - STOPS]
        return name, sign


__all__ = ["RigidContacts", "Touching", "joined", "rows_of"]
