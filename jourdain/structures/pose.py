"""Where a floating frame is when positions and velocities of the nodes are given, and back; from one frame to another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import SolverError
from .frames import conditions
from .parts.dofs import Array, skew

if TYPE_CHECKING:
    from .structure import Structure


@dataclass(frozen=True, eq=False)
class Pose:
    """A floating frame and what is seen from it: r and A (body → inertial components), v and ω, deflections and their rates.

    All but r and A are in body components: nodes move with R(b) (v, ω) + δ′.
    """

    r: Array
    A: Array
    deflection: Array  #: δ (n,)
    velocity: Array  #: v (3,) of the origin
    omega: Array  #: ω (3,)
    rate: Array  #: δ′ (n,)


def turned(part: Structure, A: Array, field: Array) -> Array:
    """Nodal vectors (n, …) with every node's components turned by A; translations and rotations alike, nodes in the plane as such."""
    table = part.dofs.table
    out = np.zeros_like(field, dtype=float)
    for first in (0, 3):
        rows = table[:, first : first + 3]
        there = rows >= 0
        vectors = np.where(there.reshape(*there.shape, *([1] * (field.ndim - 1))), field[rows], 0.0)
        moved = np.einsum("ab,nb...->na...", A, vectors)
        out[rows[there]] = moved[there]
    return out


def positions_of(part: Structure, deflection: Array) -> Array:
    """b = s + δ of the nodes, (n, 3)."""
    b = part.nodes.copy()
    moves = part.dofs.components < 3
    b[part.dofs.nodes[moves], part.dofs.components[moves]] += deflection[moves]
    return b


def node_motion(part: Structure, pose: Pose) -> tuple[Array, Array]:
    """Positions (n, 3) and rates of all degrees of freedom (n,), in inertial components (rotations of nodes stay relative to the body)."""
    b = positions_of(part, pose.deflection)
    rate = part.dofs.rigid_motions(b) @ np.concatenate([pose.velocity, pose.omega]) + pose.rate
    return pose.r + b @ pose.A.T, turned(part, pose.A, rate)


def frame_of(part: Structure, positions: ArrayLike, rates: ArrayLike | None = None, frame: str = "mean axes", at: Any = None) -> Pose:
    """The pose of a floating frame on given positions (n, 3) and rates (n,) of translational nodes: B(Aᵀ(d − r) − s) = 0 by Newton's method.

    The start is the rotation that fits best (weighted Procrustes); for mean axes of lumped masses this is the answer already (Eckart).
    """
    d = np.asarray(positions, float)
    B = conditions(part, frame, at)
    r, A = best_fit(part, d)
    moves = part.dofs.components < 3
    columns = part.dofs.rigid_columns
    s = part.nodes[part.dofs.nodes[moves], part.dofs.components[moves]]
    for _ in range(50):
        b = (d - r) @ A
        deflection = np.zeros(len(part.dofs))
        deflection[moves] = b[part.dofs.nodes[moves], part.dofs.components[moves]] - s
        R = part.dofs.rigid_motions(b)[:, columns]
        step = np.zeros(6)
        step[columns] = np.linalg.solve(B @ R, B @ deflection)
        if np.abs(step).max() < 1e-14 * max(1.0, float(np.abs(part.nodes).max())):
            break
        r = r + A @ step[:3]
        A = A @ rotation(step[3:])
    else:
        raise SolverError(f"{part.name}: the frame '{frame}' was not found in 50 steps; the deflections are too large for it")
    twist = np.zeros(6)
    rate = np.zeros(len(part.dofs))
    if rates is not None:
        body = turned(part, A.T, np.asarray(rates, float))
        twist[columns] = np.linalg.solve(B @ R, B @ body)
        rate = body - R @ twist[columns]
    return Pose(r, A, deflection, twist[:3], twist[3:], rate)


def changed(part: Structure, pose: Pose, frame: str, at: Any = None) -> Pose:
    """The same motion of the nodes seen from another frame."""
    positions, rates = node_motion(part, pose)
    return frame_of(part, positions, rates, frame, at)


def best_fit(part: Structure, d: Array) -> tuple[Array, Array]:
    """r and A that minimise Σ m |d − r − A s|²: singular values of Σ m (d − r)(s − c)ᵀ (Kabsch)."""
    mass = np.zeros(len(part.nodes))
    np.add.at(mass, part.dofs.nodes[part.dofs.components == 0], np.abs(part.M.diagonal()[part.dofs.components == 0]))
    mass /= mass.sum()
    centre, at = mass @ part.nodes, mass @ d
    U, _, V = np.linalg.svd((mass[:, None] * (d - at)).T @ (part.nodes - centre))
    A = U @ np.diag([1.0, 1.0, np.linalg.det(U @ V)]) @ V
    if part.dofs.planar:
        angle = np.arctan2(*np.sum(mass[:, None] * cross_and_dot(part.nodes - centre, d - at), axis=0))
        A = rotation(np.array([0.0, 0.0, angle]))
    return at - A @ centre, A


def cross_and_dot(a: Array, b: Array) -> Array:
    return np.column_stack([a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0], a[:, 0] * b[:, 0] + a[:, 1] * b[:, 1]])


def rotation(vector: ArrayLike) -> Array:
    """exp of the skew matrix of a rotation vector (Rodrigues)."""
    v = np.asarray(vector, float)
    angle = float(np.linalg.norm(v))
    if angle < 1e-300:
        return np.eye(3)
    K = skew(v / angle)
    return np.asarray(np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K)
