"""How a node of a body that bends moves in the body's floating frame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...symbolic.derivatives import jvp, sparse_jacobian
from ...symbolic.expr import ZERO, Expr
from ...symbolic.vectors import AXES, IDENTITY, NULL, Matrix, Vector, axis_rotation


@dataclass(frozen=True)
class Deformation:
    """Displacement and rotation of a node, their slopes by the amplitudes, their rates, and second rates without those of the amplitudes.

    All are in the axes of the floating frame, turns as angular velocities are.  Where the node turns by Cardan angles about x, y, z these are
    ``angles``.
    """

    shift: Vector
    rotation: Matrix
    by: Sequence[Vector]
    turns: Sequence[Vector]
    velocity: Vector
    omega: Vector
    bias: Vector = NULL
    omega_bias: Vector = NULL
    angles: Sequence[Expr] | None = None


def cardan_deformation(shift: Sequence[Expr], angles: Sequence[Expr], e: Sequence[Expr], rates: Sequence[Expr]) -> Deformation:
    """A node displaced and turned by functions of the amplitudes."""
    flow = dict(zip(e, rates, strict=True))
    slopes, turning = sparse_jacobian(shift, e), sparse_jacobian(angles, e)
    R, omega = IDENTITY, NULL
    turns = [NULL] * len(e)
    for a, (axis, angle, rate) in enumerate(zip(AXES, angles, jvp(angles, flow), strict=True)):
        if angle is not ZERO:
            unit = R @ axis
            omega = omega + unit * rate
            turns = [w + unit * turning.get((a, i), ZERO) for i, w in enumerate(turns)]
            R = R @ axis_rotation(list(axis), angle)
    by = [Vector(*(slopes.get((a, i), ZERO) for a in range(3))) for i in range(len(e))]
    return Deformation(Vector(*shift), R, by, turns, Vector(*jvp(shift, flow)), omega, angles=angles)


__all__ = ["Deformation", "cardan_deformation"]
