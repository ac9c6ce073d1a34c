"""Position equations of loop closures, written in the frame of the youngest common ancestor of the two frames.

There the rows that hold by themselves (the third one of a planar loop) vanish symbolically and are dropped.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...errors import ModelError
from ...model.bodies import Frame
from ...model.constraints import Closure
from ...model.joints import Joint
from ...symbolic.expr import HALF, ZERO, Expr, mul, sub
from ...symbolic.functions import atan2
from ...symbolic.vectors import AXES, NULL, Matrix, Vector
from ..tree.kinematics import Kinematics


def perpendiculars(n: Vector) -> tuple[Vector, Vector]:
    """Two unit vectors normal to a unit axis and to each other, right-handed: their product is the axis."""
    along = n.coordinate_axis
    if along is not None:
        k, sign = along
        return AXES[(k + sign) % 3], AXES[(k - sign) % 3]
    if not all(e.is_number for e in n):
        raise ModelError(f"a closure's axis of parameters, {n}, is not supported: turn the frame instead (body.at(..., rotation=…))")
    axis = np.array([float(e) for e in n])
    u = np.cross(axis, np.eye(3)[int(np.argmin(np.abs(axis)))])
    u /= np.linalg.norm(u)
    return Vector.of(u), Vector.of(np.cross(axis, u))


class RelativePose:
    """Difference of position and the axes of two frames, in the axes of their youngest common ancestor."""

    def __init__(self, kinematics: Kinematics, a: Frame, b: Frame) -> None:
        base = kinematics.common(a, b)
        self.base = base
        self.A: Matrix = kinematics.rotation(a, base)
        self.B: Matrix = kinematics.rotation(b, base)
        self.d: Vector = kinematics.position(b, base) - kinematics.position(a, base)


class RowParts(NamedTuple):
    """One scalar equation of a closure with the force and torque on the second frame that a unit multiplier means.

    ``velocity`` is what vanishes with ḣ on the constraint and is simpler than it (None: ḣ itself).
    """

    h: Expr
    force: Vector
    torque: Vector
    velocity: Expr | None = None


def closure_rows(kinematics: Kinematics, closure: Closure) -> list[RowParts]:
    """All rows of a closure (those that hold by themselves included), in the common ancestor's axes.

    They are products of the second frame's position and axes with the first's, or ROBOTRAN's if the closure's convention says so.
    """
    pose = RelativePose(kinematics, closure.a, closure.b)
    if closure.convention == "robotran":
        return robotran_rows(kinematics, pose, closure)
    if closure.kind == "rod":
        # scaled so that the multiplier is the force along the rod
        length = closure.data
        return [RowParts(mul(HALF, (pose.d.dot(pose.d) - length * length) / length), pose.d * (1.0 / length), NULL)]
    return joint_rows(pose, closure.kind, closure.data)


def robotran_rows(kinematics: Kinematics, pose: RelativePose, closure: Closure) -> list[RowParts]:
    """Rows of the program ROBOTRAN (Modeling Multibody Systems with ROBOTRAN, 2024, section 3.2.3, and the code it generates).

    With E the axes of the youngest common ancestor body: ball E^T(x_1 − x_2); rod ½(|x_1 − x_2|² − l²); body those of a ball and
    (A B^T)_32, (A B^T)_13, (A B^T)_21, the small rotation of the first frame against the second, whose rate is taken as E^T(ω_1 − ω_2).
    So λ is the force and torque of the second body on the first, that of a rod the compressive force divided by the length.
    """
    if closure.kind == "rod":
        return [RowParts(mul(HALF, pose.d.dot(pose.d) - closure.data * closure.data), pose.d, NULL)]
    E = ancestor_axes(kinematics, pose.base, closure)
    rows = [_along(pose, -e) for c, e in zip("xyz", E, strict=True) if c not in closure.ignore]
    if closure.kind == "body":
        spin = kinematics.angular_velocity(closure.a, pose.base) - kinematics.angular_velocity(closure.b, pose.base)
        A, B = ([R.T @ e for e in E] for R in (pose.A, pose.B))
        rows += [RowParts(A[(k + 2) % 3].dot(B[(k + 1) % 3]), NULL, -e, e.dot(spin)) for k, e in enumerate(E)]
    return rows


def ancestor_axes(kinematics: Kinematics, base: int, closure: Closure) -> tuple[Vector, ...]:
    """Axes of the youngest common ancestor body of both frames, in the axes of the base."""
    R = kinematics.rotation(kinematics.topology.common(closure.a.body, closure.b.body), base)
    return AXES if R.is_identity else tuple(R.column(i) for i in range(3))


def joint_rows(pose: RelativePose, kind: str, data: object) -> list[RowParts]:
    """Rows that hold two frames together as a joint of the given kind does."""
    coincident = [_along(pose, e) for e in AXES]
    if kind in ("ball", "spherical"):
        return coincident
    if kind in ("body", "fixed"):
        return coincident + _same_axes(pose)
    if kind == "universal":
        assert isinstance(data, tuple)
        first, second = data
        return [*coincident, _normal(pose.A @ first, pose.B @ second, first.dot(second))]
    assert isinstance(data, Vector)
    n_b = pose.B @ data
    u, w = (pose.A @ e for e in perpendiculars(data))
    aligned = [_normal(u, n_b), _normal(w, n_b)]
    if kind == "revolute":
        return coincident + aligned
    if kind == "prismatic":
        return [_along(pose, u), _along(pose, w), *_same_axes(pose)]
    if kind == "cylindrical":
        return [_along(pose, u), _along(pose, w), *aligned]
    if kind == "planar":
        return [_along(pose, pose.A @ data), *aligned]
    if kind == "parallel":
        return aligned
    raise ModelError(f"a loop cannot be closed by a joint of kind '{kind}'; cut another joint of the loop (cut=True)")


def _along(pose: RelativePose, e: Vector) -> RowParts:
    """No distance along a direction."""
    return RowParts(e.dot(pose.d), e, NULL)


def _normal(a: Vector, b: Vector, cosine: Expr = ZERO) -> RowParts:
    """An axis of the first frame normal (or at another angle) to one of the second: a·b = cos, with the torque b × a on the second."""
    return RowParts(sub(a.dot(b), cosine), NULL, b.cross(a))


def _same_axes(pose: RelativePose) -> list[RowParts]:
    """Three products of different axes: zero when both frames have the same orientation (or are turned by π)."""
    return [_normal(pose.A.column(i), pose.B.column((i + 1) % 3)) for i in range(3)]


def cut_joint_closure(joint: Joint) -> Closure:
    """The closure that replaces a joint taken out of the tree."""
    axes = [m.axis for m in joint.motions]
    data: object = None
    if joint.kind in ("revolute", "prismatic", "cylindrical"):
        data = axes[0]
    elif joint.kind == "universal":
        data = tuple(axes)
    elif joint.kind == "planar":
        data = axes[2]
    elif joint.kind not in ("fixed", "spherical"):
        raise ModelError(
            f"joint '{joint.name}' ({joint.kind}) closes a loop, which is not possible for this kind; cut another joint of the loop with cut=True"
        )
    return Closure(joint.name, joint.kind, joint.parent, joint.child, data)


def measured_coordinate(kinematics: Kinematics, joint: Joint) -> tuple[Expr, Vector]:
    """Position of a cut revolute or prismatic joint read from the two frames, and its axis in the common frame."""
    pose = RelativePose(kinematics, joint.parent, joint.child)
    motion = joint.motions[0]
    axis = pose.A @ motion.axis
    if joint.kind == "prismatic":
        return axis.dot(pose.d), axis
    if joint.kind == "revolute":
        u, w = perpendiculars(motion.axis)
        turned = pose.B @ u
        return atan2((pose.A @ w).dot(turned), (pose.A @ u).dot(turned)), axis
    raise ModelError(
        f"the coordinates of joint '{joint.name}' ({joint.kind}) are not available because it closes a loop; pin it to the tree with cut=False"
    )


__all__ = [
    "RelativePose", "RowParts", "ancestor_axes", "closure_rows", "cut_joint_closure", "joint_rows", "measured_coordinate", "perpendiculars",
    "robotran_rows",
]  # fmt: skip
