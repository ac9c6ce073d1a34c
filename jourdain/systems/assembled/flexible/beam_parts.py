"""Beams and frameworks of a model as geometrically exact beams by directors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ....elements.beam import Beam, BeamNode, section_of
from ....errors import InputError
from .parts import Numbers, Part

if TYPE_CHECKING:
    from ....structures.parts.beams import BeamElements
    from ....structures.parts.sections import Section
    from ..program import Handle
    from ..system import AssembledSystem


class BeamPart(Part):
    """A flexible body whose structure is of beams: nodes are sections, each a block of twelve coordinates.

    Two equal members in line become one element of three nodes, all others elements of two.  The directors of a node's block are the axes of the
    structure, or those of the body that has the node; each element turns them into its own.
    """

    def check(self) -> None:
        """Damping, offsets, other masses."""
        from ....structures.parts.beams import end_levers

        self.refuse_damping()
        part, total = self.body.part.part, 0.0
        for g in self._groups:
            if np.abs(g.levers - end_levers(g.axes, np.zeros(3))).max() > 1e-12 * max(1.0, float(np.abs(part.nodes).max())):
                raise InputError(
                    f"{self.what}: its axis has an offset from its nodes, which director beams do not know; put the nodes on the axis"
                )
            total += sum(self._section(g, e)["inertia"][0, 0] * g.lengths[e] for e in range(len(g.nodes)))
        if abs(part.mass - total) > 1e-6 * total:
            raise InputError(
                f"{self.what}: its structure has masses beside those of its elements; make them bodies of the model, fixed to its nodes"
            )
        for name in self.seats:
            self.nodes_of(name)

    @property
    def _groups(self) -> list[BeamElements]:
        return list(self.body.part.part.elements)  # type: ignore[arg-type]

    def nodes_of(self, name: str) -> np.ndarray:
        """The node."""
        if (found := self.body.part.part.interfaces.get(name)) is not None:
            if len(found.nodes) != 1:
                raise InputError(f"{self.what}: interface '{name}' stands for {len(found.nodes)} nodes of a beam; hold on to one of them")
            return found.nodes
        digits = name.removeprefix("node ")
        return np.array([int(digits) if digits.isdecimal() and digits != name else self.body.part.part.node(name)])

    def state_of(self, size: int, node: int, frame: np.ndarray, rates: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Origin and directors."""
        return frame.ravel(), rates.ravel()

    def add(self, system: AssembledSystem, handles: Mapping[str, Handle], numbers: Numbers) -> None:
        """Sections and the elements between them."""
        frames, rates = self.placed(handles, numbers, system.q0, system.v0)
        self.meets(frames, handles, numbers, system.q0, system.v0)
        nodes, carried = self._sections(system, handles, numbers, frames, rates)
        gravity = numbers(self.body.model.gravity)
        kinds: dict[int, tuple[list[str], list[dict[str, Handle]], list[dict[str, Any]]]] = {}
        X = self.body.part.part.nodes
        for k, (which, axes, section) in enumerate(self._elements()):
            n = len(which)
            sections = np.concatenate([X[which][:, None], np.broadcast_to(axes.T, (n, 3, 3))], axis=1)
            turned = np.zeros((n, 4, 4))
            turned[:, 0] = carried[which, 0]
            turned[:, 1:] = np.einsum("ij,njk->nik", axes.T, carried[which, 1:])
            given = Beam(n).numbers(sections, turned, section["inertia"])
            names, blocks, rows = kinds.setdefault(n, ([], [], []))
            names.append(f"{self.name}.e{k}")
            blocks.append({f"node{i}": nodes[j] for i, j in enumerate(which)})
            rows.append({**given, "stiffness": section["stiffness"].ravel(), "gravity": gravity})
        for n, (names, blocks, rows) in kinds.items():
            system.check_new([], names)
            element = Beam(n)
            system.add_instances(element, names, blocks, {c: np.array([row[c] for row in rows]) for c in element.constants})

    def _sections(
        self, system: AssembledSystem, handles: Mapping[str, Handle], numbers: Numbers, frames: np.ndarray, rates: np.ndarray
    ) -> tuple[list[Handle], np.ndarray]:
        """Blocks of the nodes, and origin and axes of the structure there from the vectors of the blocks (nodes × 4 × 4)."""
        carried = np.tile(np.eye(4), (len(frames), 1, 1))
        found: dict[int, Handle] = {}
        clamped = set()
        for name, seat in self.seats.items():
            node = int(self.nodes_of(name)[0])
            if seat.frame.body.is_ground:
                clamped.add(node)
                continue
            found[node] = handles[seat.frame.body.name]
            at = found[node].offset
            body = system.q0[at : at + 12].reshape(4, 3)
            carried[node, 0, 1:] = np.linalg.solve(body[1:].T, frames[node, 0] - body[0])
            carried[node, 1:, 1:] = frames[node, 1:] @ np.linalg.inv(body[1:])
        for k in range(len(frames)):
            if k not in found:
                held = k in clamped
                found[k] = system.coordinates(f"{self.name}.{k}", 12, frames[k].ravel(), None if held else rates[k].ravel(), fixed=held)
                if not held:
                    system.add(BeamNode(), f"{self.name}.{k}.section", {"body": found[k]})
        return [found[k] for k in range(len(frames))], carried

    def _section(self, group: BeamElements, e: int) -> dict[str, np.ndarray]:
        """Stiffness and inertia of a length, the mean of both ends of a tapered member."""
        a, b = (section_of(s, group.material) for s in group.sections[e])
        return {n: 0.5 * (a[n] + b[n]) for n in a}

    def _elements(self) -> Iterator[tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]]:
        """Nodes, axes and section of each element."""
        for g in self._groups:
            e = 0
            while e < len(g.nodes):
                if e + 1 < len(g.nodes) and self._in_line(g, e):
                    yield np.array([*g.nodes[e], g.nodes[e + 1, 1]]), g.axes[e], self._section(g, e)
                    e += 2
                else:
                    yield g.nodes[e], g.axes[e], self._section(g, e)
                    e += 1

    def outlines(self) -> Iterator[tuple[np.ndarray, np.ndarray, Section]]:
        """Nodes, axes and first section of each element, to be drawn."""
        sections = {int(g.nodes[e, 0]): g.sections[e][0] for g in self._groups for e in range(len(g.nodes))}
        for nodes, axes, _ in self._elements():
            yield nodes, axes, sections[int(nodes[0])]

    def _in_line(self, g: BeamElements, e: int) -> bool:
        """Whether a member and the next one are halves of one."""
        uniform = g.sections[e][0] == g.sections[e][1] == g.sections[e + 1][0] == g.sections[e + 1][1]
        straight = np.abs(g.axes[e] - g.axes[e + 1]).max() < 1e-12 and abs(g.lengths[e] / g.lengths[e + 1] - 1.0) < 1e-9
        return bool(uniform and straight and g.nodes[e, 1] == g.nodes[e + 1, 0])


__all__ = ["BeamPart"]
