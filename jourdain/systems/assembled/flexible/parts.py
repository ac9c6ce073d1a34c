"""Flexible parts of a model as nonlinear elements: where they stand, and what solids and beams make of their structures."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ....elements.interpolation import Interpolation, hexahedron, tetrahedron
from ....elements.solid import Solid
from ....errors import InputError
from .interfaces import RigidSide, Seat, Seats

if TYPE_CHECKING:
    from ....model.elastic.flexible import FlexibleBody
    from ....model.model import Model
    from ....structures.parts.solids import SolidElements
    from ..program import Handle
    from ..system import AssembledSystem

Numbers = Callable[[Any], np.ndarray]
INTERPOLATIONS: dict[int, Callable[[], Interpolation]] = {
    4: tetrahedron, 8: hexahedron, 10: lambda: tetrahedron(10), 20: lambda: hexahedron(20),
}  # fmt: skip


@dataclass(frozen=True)
class Part(ABC):
    """A flexible body as elements, with the seats of those of its nodes that rigid bodies carry."""

    body: FlexibleBody
    seats: Mapping[str, Seat]
    coupling: str = "null space"

    @property
    def name(self) -> str:
        """The name of the body."""
        return self.body.name

    @property
    def what(self) -> str:
        """The part in messages."""
        return f"flexible body '{self.name}'"

    @abstractmethod
    def check(self) -> None:
        """Raises what is wrong with the structure."""

    @abstractmethod
    def nodes_of(self, name: str) -> np.ndarray:
        """Nodes that an interface, or a named node, stands for."""

    @abstractmethod
    def add(self, system: AssembledSystem, handles: Mapping[str, Handle], numbers: Numbers) -> None:
        """Adds nodes and elements, undeformed, where the first of the bodies that carry the part puts it."""

    @abstractmethod
    def state_of(self, size: int, node: int, frame: np.ndarray, rates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates and rates of a node's block from the frame (4 × 3: origin, axes) of the structure there and its rates."""

    def watch(self, system: AssembledSystem) -> None:  # noqa: B027 (most parts have none)
        """Adds the events of the part, before a run."""

    def move(self, system: AssembledSystem, handles: Mapping[str, Handle], numbers: Numbers, q: np.ndarray, v: np.ndarray) -> None:
        """Puts the nodes into a state, undeformed."""
        frames, rates = self.placed(handles, numbers, q, v)
        self.meets(frames, handles, numbers, q, v)
        for h in system.handles:
            owner, _, number = h.name.rpartition(".")
            if owner == self.name and number.isdecimal():
                part, k = slice(h.offset, h.offset + h.size), int(number)
                q[part], found = self.state_of(h.size, k, frames[k], rates[k])
                v[part] = 0.0 if h.fixed else found

    def pose(self, seat: Seat, handles: Mapping[str, Handle], numbers: Numbers, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, ...]:
        """Origin and axes (columns) of the undeformed structure by one seat, and their rates."""
        place, turn = numbers(seat.frame.position), numbers(seat.frame.rotation.entries).reshape(3, 3)
        at, axes = numbers(seat.position), numbers(seat.axes.entries).reshape(3, 3)
        turn = turn @ axes.T
        place = place - turn @ at
        if seat.frame.body.is_ground:
            return place, turn, np.zeros(3), np.zeros((3, 3))
        offset = handles[seat.frame.body.name].offset
        x, rate = q[offset : offset + 12].reshape(4, 3), v[offset : offset + 12].reshape(4, 3)
        return x[0] + place @ x[1:], x[1:].T @ turn, rate[0] + place @ rate[1:], rate[1:].T @ turn

    def placed(
        self, handles: Mapping[str, Handle], numbers: Numbers, q: np.ndarray, v: np.ndarray, which: int = 0
    ) -> tuple[np.ndarray, np.ndarray]:
        """Frames of the nodes (nodes × 4 × 3: origin, axes of the structure) and their rates as of a rigid body with one of the seats."""
        x, R, rate, turning = self.pose(list(self.seats.values())[which], handles, numbers, q, v)
        nodes = self.body.part.part.nodes
        frames = np.empty((len(nodes), 4, 3))
        rates = np.empty_like(frames)
        frames[:, 0], rates[:, 0] = x + nodes @ R.T, rate + nodes @ turning.T
        frames[:, 1:], rates[:, 1:] = R.T, turning.T
        return frames, rates

    def meets(self, frames: np.ndarray, handles: Mapping[str, Handle], numbers: Numbers, q: np.ndarray, v: np.ndarray) -> None:
        """Refuses bodies that stand elsewhere than the nodes they carry."""
        for k, (name, seat) in enumerate(self.seats.items()):
            nodes = self.nodes_of(name)
            gap = float(np.abs(self.placed(handles, numbers, q, v, k)[0] - frames)[nodes].max())
            if gap > 1e-6 * max(1.0, float(np.abs(frames).max())):
                raise InputError(
                    f"{self.what}: its undeformed interface '{name}' is {gap:.3g} m away from '{seat.frame.body.name}', which holds it; "
                    "start where the part fits"
                )

    def refuse_damping(self) -> None:
        """Modes' damping is not that of elements."""
        if np.any(self.body.part.damping):
            raise InputError(
                f"{self.what}: damping of modes has no counterpart in nonlinear elements; leave it out, or use another formulation"
            )


class SolidPart(Part):
    """A flexible body whose structure is of solid elements."""

    @property
    def elements(self) -> SolidElements:
        """The elements of the structure."""
        from ....structures.parts.solids import SolidElements

        found = self.body.part.part.elements[0]
        assert isinstance(found, SolidElements)
        return found

    def check(self) -> None:
        """Damping, material and interfaces."""
        self.refuse_damping()
        self.material()
        for name in self.seats:
            self.nodes_of(name)

    def material(self) -> dict[str, float]:
        """Lamé's constants and density; the density is that of the whole mass over the volume."""
        group, part = self.elements, self.body.part.part
        law, first, shear = group.law, group.law[0, 1], group.law[3, 3]
        isotropic = np.zeros((6, 6))
        isotropic[:3, :3] = first + 2.0 * shear * np.eye(3)
        isotropic[3:, 3:] = shear * np.eye(3)
        if np.abs(law - isotropic).max() > 1e-9 * np.abs(law).max():
            raise InputError(f"{self.what}: its law is not isotropic; formulation 'directors' knows Lamé's constants")
        density = part.mass / group.volumes.sum()
        scalar = np.zeros(part.M.shape[0] // 3)
        shares = self.solid.interpolation.masses(part.nodes[group.nodes]).sum(axis=2) * density
        np.add.at(scalar, group.nodes, shares)
        if np.abs(np.asarray(part.M.sum(axis=0)).ravel() - np.repeat(scalar, 3)).max() > 1e-6 * scalar.max():
            raise InputError(
                f"{self.what}: its structure has masses beside those of its elements; make them bodies of the model, fixed to the same body"
            )
        return {"lame": float(first), "shear": float(shear), "density": float(density)}

    @property
    def solid(self) -> Solid:
        """The type of element: enhanced where the linear one has incompatible modes."""
        interpolation = INTERPOLATIONS[self.elements.nodes.shape[1]]()
        return Solid(interpolation, enhanced=interpolation.bubbles is not None)

    def nodes_of(self, name: str) -> np.ndarray:
        """Nodes of a rigid interface."""
        found = self.body.part.part.interfaces.get(name)
        if found is None or found.kind != "rigid":
            raise InputError(
                f"{self.what}: its point '{name}' is no rigid interface of nodes; name one with structure.interface(name, nodes)"
            )
        return found.nodes

    def state_of(self, size: int, node: int, frame: np.ndarray, rates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Its place."""
        return frame[0], rates[0]

    def add(self, system: AssembledSystem, handles: Mapping[str, Handle], numbers: Numbers) -> None:
        """A mesh whose interfaces bodies carry."""
        frames, rates = self.placed(handles, numbers, system.q0, system.v0)
        self.meets(frames, handles, numbers, system.q0, system.v0)
        attach, fixed = [], []
        for name, seat in self.seats.items():
            nodes = self.nodes_of(name)
            if seat.frame.body.is_ground:
                fixed += nodes.tolist()
            else:
                attach.append((handles[seat.frame.body.name], nodes))
        system.mesh(
            self.solid, self.name, self.body.part.part.nodes, self.elements.nodes, at=frames[:, 0], velocities=rates[:, 0], fixed=fixed, attach=attach,
            gravity=numbers(self.body.model.gravity), coupling=self.coupling, **self.material(),
        )  # fmt: skip


def separated(model: Model, coupling: str) -> tuple[Model, list[Part]]:
    """The model of the rigid bodies alone, and the parts they carry; raises what a part of large deformation cannot have."""
    side = RigidSide(model)
    parts: list[Part] = []
    for seats in side.seats.values():
        parts.append(_kind(seats)(seats.body, seats.nodes, coupling))
        parts[-1].check()
    return side.rigid, parts


def _kind(seats: Seats) -> type[Part]:
    """What makes elements of a structure."""
    from ....structures.parts.beams import BeamElements, CableElements
    from ....structures.parts.solids import SolidElements
    from .beam_parts import BeamPart
    from .cable_parts import CablePart

    groups: Sequence[Any] = seats.body.part.part.elements
    if len(groups) == 1 and isinstance(groups[0], SolidElements) and groups[0].gradients.shape[3] == 3:
        return SolidPart
    if len(groups) == 1 and isinstance(groups[0], CableElements):
        return CablePart
    if groups and all(isinstance(g, BeamElements) for g in groups):
        return BeamPart
    kinds = ", ".join(type(g).__name__ for g in groups) or "matrices alone"
    raise InputError(
        f"flexible body '{seats.body.name}': formulation 'directors' makes nonlinear elements of solids in space (jd.structures.block, solid) and of beams "
        f"(beam, cable, framework), but this structure has {kinds}; use recursive, cartesian or semi-recursive, or rigid=True"
    )


__all__ = ["Part", "SolidPart", "separated"]
