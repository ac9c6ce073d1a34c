"""Degrees of freedom of nodes: which component of which node, and the rigid motions of them all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import InputError

Array = NDArray[np.float64]

#: Components of a node: three displacements and three small rotations.
COMPONENTS = ("x", "y", "z", "rx", "ry", "rz")
#: What a number of degrees of freedom a node means when nothing else is said.
USUAL = {2: (0, 1), 3: (0, 1, 2), 6: (0, 1, 2, 3, 4, 5)}


def skew(v: ArrayLike) -> Array:
    """The matrix ṽ with ṽ w = v × w; for an array of vectors an array of matrices."""
    v = np.asarray(v, float)
    out = np.zeros((*v.shape, 3))
    out[..., 2, 1], out[..., 0, 2], out[..., 1, 0] = v[..., 0], v[..., 1], v[..., 2]
    out[..., 1, 2], out[..., 2, 0], out[..., 0, 1] = -v[..., 0], -v[..., 1], -v[..., 2]
    return out


@dataclass(frozen=True, eq=False)
class Dofs:
    """The degrees of freedom of a structure in the order of its matrices: node and component (0 … 5 for x, y, z, rx, ry, rz) of each."""

    nodes: NDArray[np.int64]
    components: NDArray[np.int64]
    count: int  #: number of nodes

    def __len__(self) -> int:
        return len(self.nodes)

    @cached_property
    def table(self) -> NDArray[np.int64]:
        """The row of component c of node i in the matrices at ``table[i, c]``, −1 where the node has no such degree of freedom."""
        table = np.full((self.count, 6), -1, dtype=np.int64)
        table[self.nodes, self.components] = np.arange(len(self))
        return table

    @property
    def planar(self) -> bool:
        """Whether nodes move in the x–y plane only."""
        return not np.isin(self.components, (2, 3, 4)).any()

    @property
    def rotations(self) -> bool:
        """Whether any node has a rotation."""
        return bool((self.components > 2).any())

    @property
    def rigid_columns(self) -> list[int]:
        """Those of the six rigid motions (translations x, y, z, rotations about x, y, z) that the nodes can follow."""
        return [0, 1, 5] if self.planar else [0, 1, 2, 3, 4, 5]

    def rigid_motions(self, positions: ArrayLike) -> Array:
        """R(b) = [Î, −b̃̂; 0, Î] (Nikravesh (7), with rotations): the rates of all degrees of freedom for unit velocity and angular velocity."""
        b = np.asarray(positions, float)[self.nodes]
        motions = np.zeros((len(self), 6))
        moves = self.components < 3
        rows = np.arange(len(self))
        motions[rows[moves], self.components[moves]] = 1.0
        motions[moves, 3:] = np.take_along_axis(-skew(b[moves]), self.components[moves][:, None, None], axis=1)[:, 0]
        motions[rows[~moves], self.components[~moves]] = 1.0
        return motions

    def of(self, nodes: Sequence[int] | NDArray[Any], components: Sequence[int] = range(6)) -> NDArray[np.int64]:
        """Rows of the given components of the given nodes, those that there are, node by node."""
        rows = self.table[np.asarray(nodes, dtype=np.int64)][:, list(components)].ravel()
        return rows[rows >= 0]

    def label(self, row: int) -> str:
        return f"{COMPONENTS[self.components[row]]} of node {self.nodes[row]}"


def dofs_of(count: int, size: int, given: object) -> Dofs:
    """The degrees of freedom that a user gives: None (as many as fit), names of components for every node, or (node, component) pairs."""
    if given is None:
        each = size // count if count else 0
        if each not in USUAL or each * count != size:
            raise InputError(
                f"matrices of size {size} do not fit {count} nodes: 2, 3 or 6 degrees of freedom a node need {2 * count}, {3 * count} "
                f"or {6 * count}; give dofs=, a list of (node, component)"
            )
        given = [COMPONENTS[c] for c in USUAL[each]]
    words: list[Any] = list(given)  # type: ignore[call-overload]
    if words and all(isinstance(w, str) for w in words):
        unknown = [w for w in words if w not in COMPONENTS]
        if unknown:
            raise InputError(f"dofs: '{unknown[0]}' is no component; there are {', '.join(COMPONENTS)}")
        components = np.tile([COMPONENTS.index(w) for w in words], count)
        nodes = np.repeat(np.arange(count), len(words))
    else:
        pairs = np.array([(i, COMPONENTS.index(c) if isinstance(c, str) else c) for i, c in words], dtype=np.int64).reshape(-1, 2)
        nodes, components = pairs[:, 0], pairs[:, 1]
        outside = (nodes < 0) | (nodes >= count) | (components < 0) | (components > 5)
        if outside.any():
            k = int(np.argmax(outside))
            raise InputError(
                f"dofs: entry {k} is ({nodes[k]}, {components[k]}), but nodes go from 0 to {count - 1} and components from 0 to 5"
            )
    if len(nodes) != size:
        raise InputError(f"matrices of size {size} do not fit {len(nodes)} degrees of freedom; one row a degree of freedom is needed")
    taken, first = np.unique(nodes * 6 + components, return_index=True)
    if len(taken) < len(nodes):
        k = int(np.setdiff1d(np.arange(len(nodes)), first)[0])
        raise InputError(f"dofs: {COMPONENTS[components[k]]} of node {nodes[k]} is named twice")
    return Dofs(nodes.astype(np.int64), components.astype(np.int64), count)
