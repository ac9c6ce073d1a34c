"""Points of a structure that joints, loads and sensors hold on to: nodes, patches of nodes, averages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from ..statics import selection
from .dofs import Array, skew

if TYPE_CHECKING:
    from ..structure import Interface, Structure


@dataclass(frozen=True, eq=False)
class Motion:
    """How a point follows the degrees of freedom: displacement and small rotation (6, n), in the part's axes."""

    name: str
    position: Array
    rotation: Array
    operator: sp.csr_array
    turns: bool  #: whether a rotation of the point is defined


def motion_of(part: Structure, which: Any) -> Motion:
    """The motion of a node or interface, by name, number or position."""
    if isinstance(which, str) and which in part.interfaces:
        return interface_motion(part, part.interfaces[which])
    node = part.node(which)
    rows = part.dofs.table[node]
    there = np.flatnonzero(rows >= 0)
    operator = sp.csr_array((np.ones(len(there)), (there, rows[there])), shape=(6, len(part.dofs)))
    turns = bool((rows[3:] >= 0).all()) or (part.dofs.planar and rows[5] >= 0)
    return Motion(str(which) if isinstance(which, str) else f"node {node}", part.nodes[node], np.eye(3), operator, turns)


def interface_motion(part: Structure, interface: Interface) -> Motion:
    """The rigid motion nearest to that of the nodes, in the weighted mean; exact for rigid patches."""
    dofs = part.dofs
    if len(interface.nodes) == 1:
        alone = motion_of(part, int(interface.nodes[0]))
        arm = interface.position - alone.position
        lever = dofs_lever(arm)
        return Motion(interface.name, interface.position, interface.rotation, sp.csr_array(lever @ alone.operator), alone.turns)
    columns = dofs.rigid_columns
    rigid = dofs.rigid_motions(part.nodes - interface.position)[:, columns]
    share = np.zeros(len(part.nodes))
    share[interface.nodes] = np.sqrt(interface.weights)
    size = float(np.linalg.norm(part.nodes[interface.nodes] - interface.position, axis=1).max())
    for components in (range(3), range(6)):
        rows = dofs.of(interface.nodes, components)
        scale = share[dofs.nodes[rows]] * np.where(dofs.components[rows] < 3, 1.0, size)
        weighed = scale[:, None] * rigid[rows]
        units = np.array([1.0 if c < 3 else size for c in columns])
        if np.linalg.matrix_rank(weighed / units, tol=1e-6) == len(columns):
            break
    fit = np.zeros((6, len(rows)))
    fit[columns] = np.linalg.pinv(weighed / units) * scale / units[:, None]
    operator = sp.csr_array(fit @ selection(rows, len(dofs)))
    return Motion(interface.name, interface.position, interface.rotation, operator, True)


def dofs_lever(arm: Array) -> Array:
    """From the motion of a point to that of another fixed to it."""
    lever = np.eye(6)
    lever[:3, 3:] = -skew(arm)
    return lever
