"""Contacts of trees that have no loops over their links (bodies that bend, rods with mass): rows from compiled functions of (t, x)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from ....errors import InputError
from ....formalisms.functions.touching import touching_frames
from ....model.bodies import Body
from ....model.elastic.bending import flexible_bodies
from ....native.function import Function
from ....symbolic.expr import KINDS
from ..link_sweeps import Hook
from .contacts import TreeContacts
from .rows import Framed
from .rows import TreeContacts as NativeRows

if TYPE_CHECKING:
    from ..system import TreeSystem


def needs_frames(system: TreeSystem) -> bool:
    """Whether a tree has bodies that bend, rods with mass or loads that follow accelerations, which loops over links do not know."""
    model = system.model
    heavy = any(getattr(c, "inertia", None) is not None for c in model.constraints.values())
    return heavy or bool(flexible_bodies(model)) or any(e.deps & KINDS["acceleration"] for load in model.loads.values() for e in load.laws)


class FramedContacts(TreeContacts):
    """Rows of contacts from the Jacobians of frames: of rigid bodies their own, of those that bend their nodes."""

    bend = True
    #: Whether coordinates are those of an absolute formulation.
    absolute = False

    def _take_tree(self) -> None:
        s = self.system
        self._frames = tuple(touching_frames(self.model, gives_way=False))
        self._poses, self._motion = (s.function(name, frames=self._frames) for name in ("rigid_poses", "rigid_motion"))
        for f in (self._poses, self._motion):
            if "u" in f.inputs:
                raise InputError(
                    f"simulate '{self.model.name}': positions or masses of bodies in contact depend on inputs; give them as parameters"
                )

        self.stiffness, self.damping = self._elastic()

    def _elastic(self) -> tuple[np.ndarray, np.ndarray]:
        """K and C of the forces −K e − C ė of bodies that bend, over all velocities."""
        nv, names = self.system.nv, self.system.velocity_names
        K, C = np.zeros((2, nv, nv))
        for body in flexible_bodies(self.model):
            own = [names.index(c.velocity_names[0]) for c in body.modes if c.velocity_names[0] in names]
            kept = [i for i, c in enumerate(body.modes) if c.velocity_names[0] in names]
            for matrix, rows in ((K, body.data.K), (C, body.data.C)):
                matrix[np.ix_(own, own)] = self._numbers([e for row in rows for e in row]).reshape(len(rows), -1)[np.ix_(kept, kept)]
        return K.ravel(), C.ravel()

    def _moving(self) -> dict[str, Body]:
        return {name: frame.body for name, frame in touching_frames(self.model, gives_way=False).items()}

    def _connected(self) -> Iterator[list[int]]:
        """Velocities that the mass matrix couples, and those that move one body."""
        nv = self.system.nv
        for i, j in zip(*np.divmod(self._places_of("M"), nv), strict=True):
            yield [int(i), int(j)]
        yield from (list(map(int, columns)) for columns in self._columns() if len(columns))

    def _columns(self) -> list[np.ndarray]:
        """Velocities that move each body."""
        nv = self.system.nv
        body, column = np.divmod(self._places_of("J"), 6 * nv)
        return [np.unique(column[body == b] % nv) for b in range(len(self.movers))]

    def _places_of(self, result: str) -> np.ndarray:
        return self.system.places("rigid_motion", result, frames=self._frames)

    def _free_velocities(self) -> list[int]:
        return []

    def _arguments(self, f: Function, *arrays: np.ndarray) -> np.ndarray:
        """Words of a native call whose time and state are set by the caller."""
        given = {"t": np.zeros(1), "x": np.zeros(1)}
        work, constants = np.zeros(max(1, f.signature.workspace)), f.constants.copy()
        words = f.arguments(*(given[n] for n in f.inputs), *arrays, workspace=work)
        words[-2] = constants.ctypes.data if constants.size else 0
        self._keep += [f, work, constants, *arrays]
        return words

    def _rows(self) -> NativeRows:
        n, nv = max(1, len(self.movers)), self.system.nv
        pose, J, drift, M = np.zeros(12 * n), np.zeros(6 * n * nv), np.zeros(6 * n), np.zeros(nv * nv)
        poses, motion = self._arguments(self._poses, pose), self._arguments(self._motion, J, drift, M)
        part = [int(self.parts.part_of[c[0]]) if len(c) else -1 for c in self._columns()]
        framed = Framed(
            poses=Hook(function=self._poses.address, args=poses.view(np.int64)), pose=pose, J=J, drift=drift, M=M,
            motion=Hook(function=self._motion.address, args=motion.view(np.int64)), part=np.array(part or [-1], np.int64), K=self.stiffness,
            C=self.damping, absolute=int(self.absolute),
        )  # fmt: skip
        return NativeRows(motion=Hook(), framed=framed, **self._common_rows())

    def poses_at(self, q: np.ndarray, t: float) -> np.ndarray:
        """Rotations and origins of all that moves with shapes, twelve numbers a row."""
        x = np.concatenate([q, np.zeros(self.system.nv + self.system.nz)])
        return np.asarray(self._poses(np.array([t]), x)).reshape(-1, 12)


__all__ = ["FramedContacts", "needs_frames"]
