"""Floating frames: six conditions on the deflections δ that say which motion of the body is called rigid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InputError
from .parts.dofs import Array
from .parts.points import motion_of

if TYPE_CHECKING:
    from .structure import Structure

FRAMES = ("mean axes", "tangent", "pinned", "nodal-fixed", "principal axes")
#: Frames that follow single nodes.
NODAL = ("tangent", "pinned", "nodal-fixed")
OTHER_NAMES = {"mean-axes": "mean axes", "buckens": "mean axes", "eckart": "mean axes", "principal": "principal axes", "clamped": "tangent"}


def frame_name(frame: str) -> str:
    name = OTHER_NAMES.get(frame.lower(), frame.lower())
    if name == "tisserand":
        raise InputError(
            "frame 'tisserand': its condition on rotations is not integrable, so that elastic coordinates cannot fulfil it; take 'mean axes', "
            "which agrees with it to first order, or jd.structures.FloatingBody(part, frame='tisserand') for a study"
        )
    if name not in FRAMES:
        raise InputError(f"frame '{frame}' is unknown; there are {', '.join(FRAMES)}")
    return name


def conditions(part: Structure, frame: str, at: Any = None) -> Array:
    """B (6, n), in the plane (3, n): the frame's conditions B δ = 0, linear in small deflections.

    "mean axes": R(s)ᵀ M δ = 0 (Buckens; Nikravesh (29) with s for b).  "tangent": a node or interface stays with the frame.
    "pinned": the frame's origin is at one node and its x axis goes through another.  "nodal-fixed": three nodes by the 3-2-1 rule
    (Nikravesh (21)).  "principal axes": centre of mass and products of inertia stay zero, to first order.
    """
    name = frame_name(frame)
    if name == "mean axes":
        return np.asarray(part.M @ part.rigid[:, part.dofs.rigid_columns]).T
    if name == "principal axes":
        return principal_conditions(part)
    if name == "tangent":
        return tangent_conditions(part, at)
    return line_conditions(part, name, at)


def tangent_conditions(part: Structure, at: Any) -> Array:
    point = at if at is not None else (next(iter(part.interfaces), None) or next(iter(part.names), 0))
    motion = motion_of(part, point)
    if not motion.turns:
        raise InputError(f"frame 'tangent': {part.name} has no rotation at {point!r}; choose an interface of several nodes with at=")
    return motion.operator.toarray()[part.dofs.rigid_columns]


def line_conditions(part: Structure, name: str, at: Any) -> Array:
    """Origin at the first point, x axis through the second; turning about x is held by the third, or by the first's own rotation."""
    points = list(at) if at is not None else default_points(part, name)
    needed = 2 if name == "pinned" or part.dofs.planar else 3
    if len(points) not in (needed, 3):
        raise InputError(f"frame '{name}': at= needs {needed} points of {part.name}, not {len(points)}")
    motions = [motion_of(part, p) for p in points]
    origin, end = motions[0].position, motions[1].position
    axis = direction(end - origin, f"frame '{name}': points {points[0]!r} and {points[1]!r} of {part.name} are at one place")
    if part.dofs.planar:
        across = np.array([-axis[1], axis[0], 0.0])
        return np.vstack([motions[0].operator[:2].toarray(), across @ motions[1].operator[:3].toarray()])
    if len(points) == 3:
        beside = np.cross(axis, motions[2].position - origin)
        normal = direction(beside, f"frame '{name}': points {points!r} of {part.name} lie on a line; choose a third beside it")
        last = normal @ motions[2].operator[:3].toarray()
    elif motions[0].turns:
        normal = direction(np.cross(axis, np.eye(3)[int(np.argmin(np.abs(axis)))]), "")
        last = axis @ motions[0].operator[3:].toarray()
    else:
        raise InputError(f"frame 'pinned': {part.name} has no rotation at {points[0]!r}; give a third point, beside the line, with at=")
    second = motions[1].operator[:3].toarray()
    return np.vstack([motions[0].operator[:3].toarray(), np.cross(normal, axis) @ second, normal @ second, last])


def default_points(part: Structure, name: str) -> Sequence[Any]:
    """Two named points, and for three any node far from their line."""
    known: list[Any] = [*part.interfaces, *part.names]
    points = ["start", "end"] if {"start", "end"} <= set(known) else known[:2]
    if len(points) < 2:
        points = [0, int(np.argmax(np.linalg.norm(part.nodes - part.nodes[0], axis=1)))]
    if name == "nodal-fixed" and not part.dofs.planar:
        a, b = (motion_of(part, p).position for p in points)
        points.append(int(np.argmax(np.linalg.norm(np.cross(part.nodes - a, b - a), axis=1))))
    return points


def principal_conditions(part: Structure) -> Array:
    """∫ u dm = 0 and ∫ (x_a u_b + x_b u_a) dm = 0, a ≠ b, in the principal axes of the undeformed body."""
    moments, axes = np.linalg.eigh(part.inertia)
    close = np.diff(moments) < 1e-6 * moments[-1]
    if close.any() and not part.dofs.planar:
        raise InputError(
            f"frame 'principal axes': {part.name} has equal principal moments {tuple(float(f'{m:.6g}') for m in moments)}, so that the axes are not "
            "defined; take 'mean axes'"
        )
    field = part.field
    x = (field.positions - part.com) @ axes
    weighed = field.weighed(x)
    total = field.weights @ np.ones(len(x))
    rows = [np.outer(total, e).ravel() for e in np.eye(3)]
    for a, b in ((1, 2), (0, 2), (0, 1)):
        rows.append((np.outer(weighed[:, a], axes[:, b]) + np.outer(weighed[:, b], axes[:, a])).ravel())
    all_rows = np.asarray(field.shape.T @ np.array(rows).T).T
    if not part.dofs.planar:
        return all_rows
    _, values, keep = np.linalg.svd(all_rows / np.maximum(np.abs(all_rows).max(axis=1, keepdims=True), 1e-300), full_matrices=False)
    return np.asarray(keep[values > 1e-9][:3])


def seen_from(part: Structure, B: ArrayLike, shapes: Array) -> tuple[Array, Array]:
    """Shapes with the rigid motion taken out that violates B, and that motion ρ (6, m): ψ = φ − R ρ, B ψ = 0."""
    columns = part.dofs.rigid_columns
    R = part.rigid[:, columns]
    B = np.asarray(B, float)
    held = B @ R
    scale = np.outer(np.linalg.norm(held, axis=1), np.linalg.norm(held, axis=0))
    if np.linalg.cond(held / np.sqrt(np.maximum(scale, 1e-300))) > 1e12:
        raise InputError(f"{part.name}: the frame's conditions do not hold all rigid motions; choose other points with at=")
    rho = np.zeros((6, shapes.shape[1]))
    rho[columns] = np.linalg.solve(held, B @ shapes)
    return shapes - part.rigid @ rho, rho


def direction(v: Array, message: str) -> Array:
    length = float(np.linalg.norm(v))
    if length < 1e-12:
        raise InputError(message)
    return v / length
