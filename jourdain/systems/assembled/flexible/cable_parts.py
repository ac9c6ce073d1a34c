"""Cables of a model: places and slopes of nodes, ends on bodies, and bodies that slide along them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ....elements.cable import Cable, CableSeat, StillDirections
from ....elements.carriers import Directors, Ground
from ....elements.dissipation import Plastic, Viscous
from ....elements.element import Element
from ....errors import InputError, ModelError
from ....model.contact.loads import TouchLoad
from ....symbolic.expr import ZERO
from .beam_parts import BeamPart
from .cables import CableLine, add_slider, watch_boundaries
from .parts import Numbers

if TYPE_CHECKING:
    from ....model.elastic.flexible import Slider
    from ....structures.parts.sections import Section
    from ..program import Handle
    from ..system import AssembledSystem

#: Joints that hold the place of a cable's node and leave its direction free.
HINGES = ("ball", "spherical")


@dataclass(frozen=True)
class CablePart(BeamPart):
    """A flexible body that is a cable: nodes are places and slopes, blocks of six coordinates.

    Bodies to which nodes are fixed hold place and direction; a point that joints or loads hold on to is a body without mass that keeps its directions, since a
    cable transmits no moments to it.
    """

    #: Coordinates of what slides along it, by assembled system (as built).
    _ways: dict[int, dict[str, Handle]] = field(default_factory=dict, compare=False)

    def check(self) -> None:
        """As of beams, and nothing that turns with a node."""
        super().check()
        model = self.body.model
        for joint in model.joints.values():
            if self.body in (joint.parent.body, joint.child.body) and joint.kind not in (*HINGES, "fixed", "free"):
                raise InputError(
                    f"{self.what}: joint '{joint.name}' is {joint.kind}, but a cable transmits no moments; use m.spherical, or fix the node to a body"
                )
        for load in model.loads.values():
            frames = getattr(load, "frames", ())
            torque = getattr(load, "torque", ())
            if isinstance(load, TouchLoad):
                continue
            if any(f.body is self.body for f in frames) and any(e is not ZERO for e in torque):
                raise InputError(
                    f"{self.what}: load '{load.name}' has a torque, but a cable's node takes none; fix the node to a body and load that"
                )

    @property
    def slope(self) -> np.ndarray:
        """The direction of the undeformed cable in its structure."""
        return np.asarray(self._groups[0].axes[0][:, 0])

    @property
    def piece(self) -> float:
        """The length (m) of a piece before deformation."""
        return float(self._groups[0].lengths[0])

    def state_of(self, size: int, node: int, frame: np.ndarray, rates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Place and slope."""
        q, v = (np.concatenate([x[0], self.slope @ x[1:]]) for x in (frame, rates))
        return q, v

    def add(self, system: AssembledSystem, handles: Mapping[str, Handle], numbers: Numbers) -> None:
        """Nodes, pieces between them, ends and sliders."""
        frames, rates = self.placed(handles, numbers, system.q0, system.v0)
        self.meets(frames, handles, numbers, system.q0, system.v0)
        nodes = [
            system.coordinates(f"{self.name}.{k}", 6, *self.state_of(6, k, x, v), unit="m")
            for k, (x, v) in enumerate(zip(frames, rates, strict=True))
        ]
        section, material = self._groups[0].sections[0][0], self._groups[0].material
        constants = {
            "length": self.piece, "axial": material.E * section.area, "bending": material.E * section.Iy,
            "mass_per_length": material.density * section.area, "gravity": numbers(self.body.model.gravity),
            **({"viscosity": viscosity} if (viscosity := float(getattr(self._groups[0], "viscosity", 0.0))) else {}),
        }  # fmt: skip
        for k in range(len(nodes) - 1):
            system.add(Cable(3, viscosity > 0.0), f"{self.name}.e{k}", {"node0": nodes[k], "node1": nodes[k + 1]}, constants)
        for name in self.seats:
            self._seat(system, name, nodes, frames, handles)
        line = CableLine(self.name, nodes, self.piece)
        self._ways[id(system)] = {n: self._slider(system, x, line, handles, numbers) for n, x in self.body.sliders.items()}

    def _seat(self, system: AssembledSystem, name: str, nodes: list[Handle], frames: np.ndarray, handles: Mapping[str, Handle]) -> None:
        """Holds a node on a body: a real one clamps it, a point of its own pins it."""
        k, body = int(self.nodes_of(name)[0]), self.seats[name].frame.body
        point, axes = frames[k, 0], self._groups[0].axes[0][:, 1:].T @ frames[k, 1:]
        held = f"{self.name}.{name}.seat"
        if body.is_ground:
            system.add(CableSeat(Ground(), True), held, {"node": nodes[k]}, {"point": point, "across": axes.ravel()})
            return
        handle = handles[body.name]
        x = system.q0[handle.offset : handle.offset + 12].reshape(4, 3)
        inverse = np.linalg.inv(x[1:])
        own = body.name == f"{self.name}.{name}"
        given: dict[str, Any] = {"point": (point - x[0]) @ inverse} | ({} if own else {"across": (axes @ inverse).ravel()})
        system.add(CableSeat(Directors(), not own), held, {"body": handle, "node": nodes[k]}, given)
        if own:
            system.add(StillDirections(), f"{self.name}.{name}.still", {"body": handle}, {"frame": x[1:].ravel()})

    def _slider(
        self, system: AssembledSystem, item: Slider, line: CableLine, handles: Mapping[str, Handle], numbers: Numbers
    ) -> Handle:  # fmt: skip
        friction: tuple[Element, Mapping[str, Any]] | None = None
        if item.friction:
            given = {"stiffness": item.stiffness, "limit": item.friction}
            friction = (Plastic(dashpot=bool(item.damping)), given | ({"damping": item.damping} if item.damping else {}))
        elif item.damping:
            friction = (Viscous(), {"damping": item.damping})
        try:
            return add_slider(
                system,
                item.name,
                line,
                handles[item.frame.body.name],
                item.at,
                numbers(item.frame.position),
                friction,
                item.coefficient,
                item.speed,
            )
        except ModelError as error:
            raise InputError(f"{self.what}: {error}") from None

    def outlines(self) -> Iterator[tuple[np.ndarray, np.ndarray, Section]]:
        """Nodes, axes and section of each piece, to be drawn."""
        (g,) = self._groups
        for e in range(len(g.nodes)):
            yield g.nodes[e], g.axes[e], g.sections[e][0]

    def watch(self, system: AssembledSystem) -> None:
        """Events of what slides along it."""
        nodes = [h for h in system.handles if h.name.rpartition(".")[0] == self.name and h.name.rpartition(".")[2].isdecimal()]
        for name, along in self._ways[id(system)].items():
            watch_boundaries(system, name, CableLine(self.name, nodes, self.piece), along)

    def move(self, system: AssembledSystem, handles: Mapping[str, Handle], numbers: Numbers, q: np.ndarray, v: np.ndarray) -> None:
        """Nodes undeformed, sliders where they start."""
        super().move(system, handles, numbers, q, v)
        for name, along in self._ways[id(system)].items():
            q[along.offset] = self.body.sliders[name].at


__all__ = ["CablePart"]
