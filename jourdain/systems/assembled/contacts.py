"""Contacts by penalty of a model's bodies by directors: one element with the native loops of :mod:`jourdain.solvers.penalty.conserving`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ...elements.discrete.schemes import EVALUATIONS
from ...elements.element import Reduction
from ...elements.vectors import VectorElement, VectorStep
from ...errors import InputError
from ...model.contact.loads import slot_count
from ...model.contact.penalty_laws import Penalty
from ...results.channel import Channel
from ...solvers.adapter import at_rest
from ...solvers.native_function import NativeFunction
from ...solvers.penalty import conserving as native
from ...solvers.stepping import frame as ap
from ...solvers.stepping.solid import Call
from ..touching import Among, Touching
from .program import Instance, Kernels

if TYPE_CHECKING:
    from ...solvers.stepping.run import Run
    from .from_model import DirectorAssembly
    from .program import Handle


class TouchStep(VectorStep):
    """Rates of schemes that evaluate forces at the end of a step are their own."""

    def __init__(self, element: VectorElement, evaluation: str, reduced: Mapping[str, Reduction], projected: bool) -> None:
        super().__init__(element, evaluation, reduced, projected)
        self.uses_rate = evaluation == "end"  # type: ignore[misc]


@dataclass(frozen=True)
class TouchKernels(Kernels):
    """The native loops of the contacts of one assembled system."""

    shared: ClassVar[bool] = True

    @property
    def workspace(self) -> int:
        """Numbers that a call needs for itself."""
        assert isinstance(self.medium, native.Held)
        return int(self.medium.work)

    def constants(self, which: int, numbers: Sequence[np.ndarray]) -> np.ndarray:
        """There are none: laws have their own."""
        return np.zeros((len(numbers), 1))


class Contacts(VectorElement):
    """Contacts of a model whose surfaces give way: all of its rigid bodies', or those of one ``contact`` among some carriers, whose coordinates are ``handles``."""

    def __init__(
        self, built: DirectorAssembly, among: Among | None = None, handles: Mapping[str, Handle] | None = None, contact: str | None = None
    ) -> None:
        #: The contact that it is a part of, and which of its carriers are nodes of parts.
        self.contact, self.nodes = contact, () if among is None else among.nodes
        model, system = built.model if among is None else among.model, built.own.reference
        self._u = np.zeros(max(1, len(model.inputs)))
        still = NativeFunction(at_rest.address, np.zeros(3, dtype=np.uintp))
        self._touching = Touching(system, still, self._u, 1, lambda f: f.constants, system.parameter_vector, among)
        self._names = list(self._touching.bodies)
        self._handles = {n: built.handles[n] for n in self._names} if handles is None else dict(handles)
        self._stores = [isinstance(c.law, Penalty) and c.law.normal.law is None for c in model.contacts.values()]
        self._slots = [n for n in model.memories if n in model.point_memories] if among is None else list(_slots_of(among, contact))
        self._places = [list(model.inputs).index(n) for n in self._slots]
        self._made: dict[Any, Kernels] = {}
        self._coordinates, self._memory = np.zeros(max(1, len(self._slots))), np.arange(len(self._slots))
        self.blocks = {f"body{i}": self._handles[n].size for i, n in enumerate(self._names)}
        self.bodies = list(self.blocks.values()).count(native.BODY)  # they come before points

    @property
    def key(self) -> tuple[Any, ...]:
        """Its own: it has memory."""
        return type(self), id(self)

    @property
    def attached(self) -> dict[str, Any]:
        """The coordinates of the bodies."""
        return {f"body{i}": self._handles[n] for i, n in enumerate(self._names)}

    def kernels(self, evaluation: str, reduced: Mapping[str, Reduction], projected: bool) -> Kernels:
        """The native loops for an evaluation of forces."""
        if evaluation == "start":
            raise InputError(
                "the method 'variational' knows no contacts whose surfaces give way; take 'energy-momentum', 'midpoint' or 'generalized-alpha'"
            )
        key = (evaluation, tuple(sorted((b, id(r)) for b, r in reduced.items())), projected)
        if key not in self._made:
            step = TouchStep(self, evaluation, reduced, projected)
            functions = (native.touch_residual, native.touch_tangent, native.touch_audit)
            self._made[key] = TouchKernels(
                step, functions, ((), tuple(step.tangent_entries), ()), self._held(step, evaluation, reduced, projected)
            )
        return self._made[key]

    def _held(self, step: VectorStep, evaluation: str, reduced: Mapping[str, Reduction], projected: bool) -> native.Held:
        n, count, width = self.size, len(self._names), np.array(list(self.blocks.values()), np.int64)
        found = native.Held(
            touch=self._touching.record, stores=np.array(self._stores, np.int64), bodies=np.array([b in reduced for b in list(self.blocks)[: self.bodies]], np.int64),
            first=np.cumsum(width) - width, width=width, size=n,
            projected=int(projected), unknowns=len(step.unknowns), inputs=ap.SCALARS + 4 * n, work=5 * n + 2 * n * n,
            evaluation=EVALUATIONS.index(evaluation), lever=10.0 * self._touching.record.near, slot=np.array(self._places, np.int64),
            memory=np.asarray(self._memory, np.int64), coordinates=self._coordinates, reciprocal=np.zeros(9 * count), total=np.zeros(6 * count),
            direction=np.zeros(6 * count), active=np.zeros(count, np.int64), marks=np.zeros(count, np.int64),
            kept=np.zeros(12 * count + 4),
        )  # fmt: skip
        return found

    def attach(self, run: Run, built: DirectorAssembly, before: Contacts | None = None) -> bool:
        """Lets contacts read the memories of points among the coordinates of a run, and renew them, after others that remember; whether they do remember."""
        if not self._slots:
            return False
        self.read(run.vec.q0, np.array([built.handles[f"input {n}"].offset for n in self._slots], np.int64))
        first = np.array([h.offset for h in self._handles.values()], np.int64)
        assert run.memories is not None
        held = next(k.medium for k in self._made.values())
        shares = before is not None and before.contact == self.contact
        self._points = native.Points(
            held=held, q=run.vec.q0, v=run.vec.v0, first=first, new=run.memories.new, own=np.zeros(2 * self.size), shares=int(shares),
            taken=np.zeros(len(self._stores), np.int64),
        )  # fmt: skip
        if before is None:
            run.frame.memories.points, run.frame.memories.points_args = native.renew_points.address, self._points.address
        else:
            before._points.after = self._points.address
        return True

    def read(self, coordinates: np.ndarray, places: np.ndarray | None = None) -> None:
        """Lets contacts read memories of points among some coordinates, at the same places unless others are given."""
        self._coordinates, self._memory = coordinates, self._memory if places is None else places
        for kernels in self._made.values():
            assert isinstance(kernels.medium, native.Held)
            kernels.medium.coordinates, kernels.medium.memory = self._coordinates, self._memory

    @property
    def shapes(self) -> int:
        """How many shapes it has."""
        return len(self._touching.scene.kinds)

    @property
    def remembers(self) -> bool:
        """Whether its points have memories."""
        return bool(self._slots)

    @property
    def carriers(self) -> dict[str, Handle]:
        """Coordinates of what touches, by name."""
        return dict(self._handles)

    def lost(self) -> str:
        """What went wrong with the contacts, in words."""
        return self._touching.lost()


def _slots_of(among: Among, contact: str | None) -> Iterator[str]:
    """Memories of the points of a contact that nodes of parts share."""
    found = among.model.contacts[str(contact)]
    if slot_count(found):
        yield from found.memory_names[among.taken[found.name] * len(found.memory_names) // slot_count(found) :]


class ContactForces:
    """The contacts at an instant, with the interface of :class:`.AtRest`."""

    def __init__(self, members: Sequence[Instance]) -> None:
        (member,) = members
        assert isinstance(member.element, Contacts)
        self.members, self.element = members, member.element
        self.kernels = self.element.kernels("end", {}, False)
        self.index = np.array([[h.offset + i for b in self.element.blocks for h in (member.blocks[b],) for i in range(h.size)]])
        self.masses = np.zeros((1, self.element.size, self.element.size))

    def forces(self, q: np.ndarray, v: np.ndarray | None = None, slopes: bool = True) -> tuple[np.ndarray, np.ndarray]:
        """Forces (against motion) and, where asked for, their derivative by the coordinates."""
        n = self.element.size
        x, r, K, w = np.zeros(ap.SCALARS + 4 * n), np.zeros((1, n)), np.zeros((1, n, n)), np.zeros(self.kernels.workspace)
        x[:4] = 1.0, 0.0, 1.0, 1.0
        x[ap.SCALARS : ap.SCALARS + 2 * n] = np.tile(q[self.index[0]], 2)
        if v is not None:
            x[ap.SCALARS + 3 * n : ap.SCALARS + 4 * n] = v[self.index[0]]
        if self.element.remembers and len(q) > len(self.index[0]):
            self.element.read(np.ascontiguousarray(q))  # memories as they are there
        constants, medium = np.zeros(1), self.kernels.medium
        assert medium is not None
        given = (x, r, K, constants, w) if slopes else (x, r, constants, w, w)
        places = dict(zip(("x", "y", "third", "fourth", "fifth"), (a.ctypes.data for a in given), strict=True))
        self.kernels.functions[int(slopes)].call(Call(**places, medium=medium.address).address)
        return r, K


def contact_force_channels(instances: Sequence[Instance], q: np.ndarray, v: np.ndarray) -> dict[str, Channel]:
    """Forces on nodes and on what touches them, by contact; on a part those of all its nodes together."""
    shares: dict[str, list[tuple[ContactForces, int]]] = {}
    for instance in instances:
        element = instance.element
        if isinstance(element, Contacts) and element.contact is not None:
            at, found = 0, ContactForces([instance])
            for name, handle in element.carriers.items():
                whole = name.partition(".")[0] if name in element.nodes else name
                for who in dict.fromkeys((name, whole)):
                    shares.setdefault(f"{element.contact}.{who}.force", []).append((found, at))
                at += handle.size

    def force(parts: list[tuple[ContactForces, int]]) -> np.ndarray:
        total = np.zeros((len(q), 3))
        for found, at in parts:
            for row in range(len(q)):
                total[row] -= found.forces(q[row], v[row], slopes=False)[0][0, at : at + 3]
        return total

    return {name: Channel(partial(force, parts), "N", "contact force") for name, parts in shares.items()}


__all__ = ["ContactForces", "Contacts", "contact_force_channels"]
