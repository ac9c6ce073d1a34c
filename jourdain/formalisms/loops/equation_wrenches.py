"""What the force of a constraint that is given as an equation does to bodies: the wrenches of its multiplier.

The multiplier λ of h = 0 works along δh (that of w(q, v, t) = 0 along ∂w/∂v δq).  Where the equation reads a sensor or the length of a link, that is a
force and a torque between the frames that are measured: λ ∂h/∂p at the measured point and λ Σ Rⱼ × ∂h/∂Rⱼ over the columns of its rotation, in the
axes of the reference, on which the opposite acts.  What it reads of joint coordinates acts within the joints, as a motor between parent and child does.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, cast

from ...model.bodies import Frame
from ...model.constraints import Equation
from ...symbolic.derivatives import gradient
from ...symbolic.expr import ZERO, Expr, div, mul
from ...symbolic.graph import free_symbols
from ...symbolic.vectors import NULL, Vector
from ..loads import segments
from .loop_closure import measured_coordinate

if TYPE_CHECKING:
    from ...model.load_sorts import LinkForce
    from ...model.sensors import Sensor
    from ..equations import Equations


class FrameWrench(NamedTuple):
    """A force (world axes) at the origin of ``at`` and a torque, on the body that carries ``on``."""

    on: Frame
    at: Frame
    force: Vector
    torque: Vector


def equation_wrenches(eq: Equations, item: Equation, multiplier: Expr) -> list[FrameWrench]:
    """The wrenches on bodies of an equation's multiplier; what it reads of joints of the tree is none."""
    read = free_symbols([item.expression])
    slopes = dict(zip(read, (mul(multiplier, e) for e in eq.resolve(gradient(item.expression, read))), strict=True))
    found = [*_of_sensors(eq, item, slopes), *_of_links(eq, item, slopes), *_of_cut_joints(eq, item, slopes)]
    return [w for w in found if not (w.force.is_zero and w.torque.is_zero)]


def _of_sensors(eq: Equations, item: Equation, slopes: dict[Expr, Expr]) -> Iterator[FrameWrench]:
    by_sensor: dict[str, tuple[Sensor, dict[tuple[str, int], Expr]]] = {}
    for reading, slope in slopes.items():
        if reading in eq.model._readings:
            sensor, quantity, index = eq.model._readings[reading]
            by_sensor.setdefault(sensor.name, (sensor, {}))[1][quantity, index] = slope
    for sensor, parts in by_sensor.values():

        def entries(quantity: str, count: int, parts: dict[tuple[str, int], Expr] = parts) -> Sequence[Expr]:
            return [parts.get((quantity, i), ZERO) for i in range(count)]

        if item.nonholonomic:
            force, torque = Vector(*entries("velocity", 3)), Vector(*entries("angular_velocity", 3))
        else:
            force, torque = Vector(*entries("position", 3)), _of_rotation(eq, sensor, entries("rotation", 9))
        R = eq.kinematics.rotation(sensor.reference)
        force, torque = R @ force, R @ torque
        yield FrameWrench(sensor.frame, sensor.frame, force, torque)
        yield FrameWrench(sensor.reference, sensor.frame, -force, -torque)


def _of_rotation(eq: Equations, sensor: Sensor, slopes: Sequence[Expr]) -> Vector:
    """Σ Rⱼ × Gⱼ over the columns of R and of the slopes G by its entries: δR = δθ × R."""
    if all(e is ZERO for e in slopes):
        return NULL
    R = eq.resolve([sensor.reading("rotation", i) for i in range(9)])
    columns = [[Vector(*(M[3 * i + j] for i in range(3))) for j in range(3)] for M in (R, slopes)]
    return sum((r.cross(g) for r, g in zip(*columns, strict=True)), NULL)


def _of_links(eq: Equations, item: Equation, slopes: dict[Expr, Expr]) -> Iterator[FrameWrench]:
    for load in eq.model.loads.values():
        reading = load.readings.get("rate" if item.nonholonomic else "length")
        slope = slopes.get(reading) if reading is not None else None
        if slope is None:
            continue
        for (a, b), segment in zip(pairwise(load.frames), segments(cast("LinkForce", load), eq), strict=True):
            push = _in_world(eq, segment.base, segment.d * div(slope, segment.size))
            yield FrameWrench(a, a, -push, NULL)
            yield FrameWrench(b, b, push, NULL)


def _of_cut_joints(eq: Equations, item: Equation, slopes: dict[Expr, Expr]) -> Iterator[FrameWrench]:
    for joint in eq.tree.cuts:
        if joint.kind not in ("revolute", "prismatic"):
            continue
        c = joint.coordinates[0]
        slope = slopes.get(c.v[0] if item.nonholonomic else c.q[0])
        if slope is None:
            continue
        _, axis = measured_coordinate(eq.kinematics, joint)
        along = _in_world(eq, eq.kinematics.common(joint.parent, joint.child), axis * slope)
        f, n = (along, NULL) if joint.kind == "prismatic" else (NULL, along)
        yield FrameWrench(joint.child, joint.child, f, n)
        yield FrameWrench(joint.parent, joint.child, -f, -n)


def _in_world(eq: Equations, base: int, v: Vector) -> Vector:
    return eq.kinematics.turned(base, v) if base >= 0 else v


__all__ = ["FrameWrench", "equation_wrenches"]
