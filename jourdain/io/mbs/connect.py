"""Loops, links, external forces and sensors of a ROBOTRAN file put into the model."""

from __future__ import annotations

from ...model.bodies import Body, Frame
from ...model.model import Model
from ...symbolic.expr import ZERO
from .data import Cut, ForcePoint, Link

CLOSURES = {"ball": "ball", "rod": "rod", "solid": "body"}
COMPONENTS = ("fx", "fy", "fz", "tx", "ty", "tz")


def connect(model: Model) -> None:
    """Adds closures, links, force points and sensors from the records in ``model.imported``."""
    for cut in model.imported["cuts"]:
        _close(model, cut)
    for link in model.imported["links"]:
        _link(model, link)
    for point in model.imported["forces"]:
        _force(model, point)
    for sensor in model.imported["sensors"]:
        if sensor.name not in model.sensors:
            model.sensor(sensor.name, model.frame(sensor.frame))


def _close(model: Model, cut: Cut) -> None:
    a, b = model.frame(cut.first), model.frame(cut.second)
    model.close(cut.name, a, b, CLOSURES[cut.kind], length=cut.length, convention="robotran", ignore=cut.ignore)


def _link(model: Model, link: Link) -> None:
    a, b = model.frame(link.first), model.frame(link.second)
    if not link.spatial:
        ancestor = model.topology.common(a.body, b.body)
        axis = one_axis(model, a, b, ancestor)
        model.link(link.name, a, b, law=model.input(f"{link.name}.tension", unit="N"), along=axis, axes=None if axis is None else ancestor)
        return
    force = [model.input(f"{link.name}.{c}", unit="N") for c in COMPONENTS[:3]]
    model.load(link.name, b, force=force, axes=a, reaction=a)


def one_axis(model: Model, a: Frame, b: Frame, ancestor: Body) -> str | None:
    """The only axis of the common ancestor along which two points can lie apart; ROBOTRAN's distance Z is then the signed coordinate.

    As in its generated code this is read from what the file has: coordinates that are not zero, and joints whatever their values.
    """
    apart = _components(model, a, ancestor) | _components(model, b, ancestor)
    return "xyz"[apart.pop()] if len(apart) == 1 else None


def _components(model: Model, frame: Frame, ancestor: Body) -> set[int]:
    """Which components of a point's position in an ancestor's axes can differ from zero."""
    joints = {j.child.body.name: j for j in model.joints.values()}
    found = {k for k, e in enumerate(frame.position) if e is not ZERO}
    body = frame.body
    while body is not ancestor:
        joint = joints[body.name]
        for motion in joint.motions:
            axis = next(k for k, e in enumerate(motion.axis) if e is not ZERO)
            if motion.kind == "T":
                found.add(axis)
            elif found - {axis}:
                found |= {0, 1, 2} - {axis}
        found |= {k for k, e in enumerate(joint.parent.position) if e is not ZERO}
        body = joint.parent.body
    return found


def _force(model: Model, point: ForcePoint) -> None:
    w = [model.input(f"{point.name}.{c}", unit="N" if c.startswith("f") else "N m") for c in COMPONENTS]
    model.load(point.name, model.frame(point.frame), force=w[:3], torque=w[3:])
