"""Sliders between two moving bodies: hydraulic cylinders, whose barrel is thicker than the rod, and rails on which others slide."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...model.bodies import Body as ModelBody
from ...model.bodies import Frame
from ...model.joints import Joint
from ...model.model import Model
from ..rotation import Array, matrix_from_quaternion
from ..scene import Track
from ..shape import Shape, cylinder, sphere
from .default_shapes import ROD, Numbers, aligned, joint_axis, rail

#: Radii of barrel and rod relative to those of an invented link; lengths relative to the shortest distance of their eyes.
BARREL, PISTON, LONG = 1.7, 0.8, 0.9
#: Joints that an eye can be.
HINGES = ("revolute", "universal", "spherical")


def telescopes(
    model: Model, number: Numbers, size: float, tracks: Mapping[str, Track]
) -> tuple[dict[str, list[Shape]], dict[str, list[Shape]]]:
    """Shapes that take the place of invented ones, and rails that are added to them, by body."""
    instead: dict[str, list[Shape]] = {}
    beside: dict[str, list[Shape]] = {}
    for joint in model.joints.values():
        a, b = joint.parent.body, joint.child.body
        axis = joint_axis(joint, number) if joint.kind in ("prismatic", "cylindrical") else None
        if axis is None or a.is_ground or not {a.name, b.name} <= tracks.keys() or a.shapes:
            continue
        travel = _travel(joint, axis, number, tracks)
        eyes = (
            _eye(model, joint, joint.parent, axis, number, size),
            _eye(model, joint, joint.child, _other_axis(joint, number), number, size),
        )
        if eyes[0] is not None and eyes[1] is not None and not b.shapes:
            # along the axis from the eye of the barrel to that of the rod
            reach = travel - eyes[0] + eyes[1]
            toward = 1.0 if reach.mean() > 0 else -1.0
            short, far = float(np.abs(reach).min()), float(np.abs(reach).max())
            if np.all(reach * toward > 0) and short > 0.3 * size:
                barrel, piston = LONG * short, min(0.97 * short, far - 0.6 * LONG * short)
                instead[a.name] = _tube(joint.parent, eyes[0], toward * axis, axis, barrel, BARREL * ROD * size, number)
                back = _other_axis(joint, number)
                instead[b.name] = _tube(joint.child, eyes[1], -toward * back, back, piston, PISTON * ROD * size, number)
                continue
        p = number.vector(joint.parent.position)  # a rail begins at its body, where that stands beside the slider
        beside.setdefault(a.name, []).append(rail(p, axis, min(0.0, float(travel.min())), max(0.0, float(travel.max())), size))
    return instead, beside


def _other_axis(joint: Joint, number: Numbers) -> Array:
    """The axis of a slider in the frame of its child."""
    axis = number.matrix(joint.child.rotation) @ number.vector(joint.motions[-1].axis)
    return np.asarray(axis / np.linalg.norm(axis))


def _travel(joint: Joint, axis: Array, number: Numbers, tracks: Mapping[str, Track]) -> Array:
    """Displacements of a slider along a motion."""
    a, b = (tracks[f.body.name] for f in (joint.parent, joint.child))
    Ra, Rb = (matrix_from_quaternion(np.asarray(t.quaternions)) for t in (a, b))
    end = np.asarray(b.positions) + Rb @ number.vector(joint.child.position)
    local = np.einsum("tji,tj->ti", Ra, end - np.asarray(a.positions)) - number.vector(joint.parent.position)
    return np.asarray(local @ axis)


def _eye(model: Model, slider: Joint, frame: Frame, axis: Array, number: Numbers, size: float) -> float | None:
    """Where on the axis, from a slider's frame, the one other joint of a body is; None where that is no hinge, is elsewhere, or is not alone."""
    origin = number.vector(frame.position)
    others = _frames(model, frame.body, slider)
    slides = any(j is not slider and j.kind not in HINGES and frame.body in (j.parent.body, j.child.body) for j in model.joints.values())
    if len(others) != 1 or slides:
        return None
    d = number.vector(others[0].position) - origin
    along = float(d @ axis)
    return along if float(np.linalg.norm(d - along * axis)) < 1e-6 * size else None


def _frames(model: Model, body: ModelBody, without: Joint) -> list[Frame]:
    found = [f for j in model.joints.values() if j is not without for f in (j.parent, j.child) if f.body is body]
    ends = [f for c in model.constraints.values() for f in (getattr(c, "a", None), getattr(c, "b", None))]
    return found + [f for f in ends if f is not None and f.body is body]


def _tube(frame: Frame, eye: float, direction: Array, axis: Array, length: float, radius: float, number: Numbers) -> list[Shape]:
    """A straight tube from an eye in a direction, with the eye."""
    start = number.vector(frame.position) + eye * axis
    return [cylinder(radius, length, p=start + 0.5 * length * direction, R=aligned(direction)), sphere(1.15 * radius, p=start)]


__all__ = ["telescopes"]
