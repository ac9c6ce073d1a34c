"""A model whose bodies can be pulled: at a point of one body a spring and a damper to a place in the world, both given by inputs."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import TYPE_CHECKING, Any

from ..symbolic.expr import ZERO
from ..symbolic.vectors import Vector
from .flexible import FlexibleBody, PartBody
from .loads import FrameLoad
from .sensors import Sensor

if TYPE_CHECKING:
    from .bodies import Body
    from .model import Model

#: Inputs that all bodies share: where the spring ends in the world, where it holds the body (its own frame), how stiff and how damped it is.
SHARED = {
    **{f"pull.target.{i}": "m" for i in "xyz"}, **{f"pull.point.{i}": "m" for i in "xyz"}, "pull.stiffness": "N/m", "pull.damping": "N s/m",
}  # fmt: skip


def pull_input(body: str) -> str:
    """The input that is 1 while a body is pulled."""
    return f"pull.on.{body}"


def can_be_pulled(model: Model) -> list[Body]:
    """Rigid bodies: a flexible one has no point whose place is that of its frame alone."""
    return [b for b in model.bodies.values() if not isinstance(b, (FlexibleBody, PartBody))]


def pulled(model: Model) -> Model:
    """The same model, its bodies, joints and parameters shared, with a spring at every rigid body that inputs switch on."""
    new: Any = copy(model)
    new._locked = False
    new.loads, new.inputs, new.sensors, new._readings = dict(model.loads), dict(model.inputs), dict(model.sensors), dict(model._readings)
    u = {name: new.input(name, 0.0, unit) for name, unit in SHARED.items()}
    target, point = (Vector(*(u[f"pull.{what}.{i}"] for i in "xyz")) for what in ("target", "point"))
    for body in can_be_pulled(model):
        on = new.input(pull_input(body.name))
        s = Sensor(new, f"pull.{body.name}", body.origin, model.ground.origin)
        new.sensors[s.name] = s
        arm = s.rotation @ point
        reach, rate = target - s.position - arm, s.velocity + s.angular_velocity.cross(arm)
        force = Vector(*(on * (u["pull.stiffness"] * reach[i] - u["pull.damping"] * rate[i]) for i in range(3)))
        turns = body.origin.turns
        torque = arm.cross(force) if turns else Vector(ZERO, ZERO, ZERO)
        new.loads[f"pull.{body.name}"] = FrameLoad(f"pull.{body.name}", body.origin, force, torque, None, None)
    return new  # type: ignore[no-any-return]


def pull_values(body: str, point: Sequence[float], target: Sequence[float], stiffness: float, damping: float) -> dict[str, float]:
    """Inputs that pull a body."""
    found = {
        f"pull.{what}.{i}": float(x) for what, place in (("target", target), ("point", point)) for i, x in zip("xyz", place, strict=True)
    }
    return found | {"pull.stiffness": stiffness, "pull.damping": damping, pull_input(body): 1.0}


__all__ = ["SHARED", "can_be_pulled", "pull_input", "pull_values", "pulled"]
