"""Loops, links, external forces and sensors of a ROBOTRAN file put into the model."""

from __future__ import annotations

from ..model.model import Model
from .mbs_data import Cut, ForcePoint, Link

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
        model.link(link.name, a, b, law=model.input(f"{link.name}.tension", unit="N"))
        return
    force = [model.input(f"{link.name}.{c}", unit="N") for c in COMPONENTS[:3]]
    model.load(link.name, b, force=force, axes=a, reaction=a)


def _force(model: Model, point: ForcePoint) -> None:
    w = [model.input(f"{point.name}.{c}", unit="N" if c.startswith("f") else "N m") for c in COMPONENTS]
    model.load(point.name, model.frame(point.frame), force=w[:3], torque=w[3:])
