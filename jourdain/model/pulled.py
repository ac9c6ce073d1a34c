"""A model whose bodies can be pulled: at a point of one body a spring and a damper to a place in the world, both given by inputs.

The point of a body that bends moves with its modes, by shapes that are inputs, too; what it does to them is Φᵀ F.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..symbolic.expr import ZERO, Expr
from ..symbolic.vectors import NULL, Vector
from .elastic.flexible import FlexibleBody
from .load_sorts import FrameLoad, Load, ModeForces
from .sensors import Sensor

if TYPE_CHECKING:
    from .bodies import Body, Frame
    from .include import Copy
    from .joints import Coordinate
    from .model import Model

#: Inputs that all bodies share: where the spring ends in the world, where it holds the body (its own frame), how stiff and how damped it is.
SHARED = {
    **{f"pull.target.{i}": "m" for i in "xyz"}, **{f"pull.point.{i}": "m" for i in "xyz"}, "pull.stiffness": "N/m", "pull.damping": "N s/m",
}  # fmt: skip


def pull_input(body: str) -> str:
    """The input that is 1 while a body is pulled."""
    return f"pull.on.{body}"


def shape_input(axis: str, mode: int) -> str:
    """The input that says how far the point of a body that bends moves along an axis with a mode."""
    return f"pull.shape.{axis}.{mode}"


def can_be_pulled(model: Model, bending: bool = True) -> list[Body]:
    """Bodies but beams of exact kinematics, whose points do not move linearly with their amplitudes; without ``bending`` those alone that do not bend."""
    return [b for b in model.bodies.values() if not isinstance(b, FlexibleBody) or (bending and b.curved is None)]


def shape_inputs(model: Model, bending: bool = True) -> list[str]:
    """Inputs of shapes for the body with the most modes."""
    most = max((len(b.modes) for b in can_be_pulled(model, bending) if isinstance(b, FlexibleBody)), default=0)
    return [shape_input(axis, k) for axis in "xyz" for k in range(most)]


@dataclass
class PullOfModes(ModeForces):
    """What the spring does to the amplitudes of a body."""

    title = "pull at a body that bends"
    name: str
    body: FlexibleBody
    forces: tuple[Expr, ...]
    potential: Expr = ZERO
    kind: str = "pull"
    given: dict[str, Any] = field(default_factory=dict)

    @property
    def laws(self) -> tuple[Expr, ...]:
        """A force for each mode."""
        return self.forces

    @property
    def signature(self) -> tuple[Expr | Frame | Coordinate | str | None, ...]:
        """Modes and forces."""
        return *self.body.modes, *self.forces

    def copied(self, copy: Copy, name: str) -> Load:
        """With the forces of the copy."""
        body = copy.model.bodies[copy.name(self.body.name)]
        assert isinstance(body, FlexibleBody)
        return PullOfModes(name, body, tuple(copy.expr(f) for f in self.forces))


def pulled(model: Model, bending: bool = True) -> Model:
    """The same model, its bodies, joints and parameters shared, with a spring at every body that inputs switch on."""
    new: Any = copy(model)
    new._locked = False
    new.loads, new.inputs, new.sensors, new._readings = dict(model.loads), dict(model.inputs), dict(model.sensors), dict(model._readings)
    u = {name: new.input(name, 0.0, unit) for name, unit in SHARED.items()}
    shapes = {name: new.input(name) for name in shape_inputs(model, bending)}
    target, point = (Vector(*(u[f"pull.{what}.{i}"] for i in "xyz")) for what in ("target", "point"))
    for body in can_be_pulled(model, bending):
        on = new.input(pull_input(body.name))
        s = Sensor(new, f"pull.{body.name}", body.origin, model.ground.origin)
        new.sensors[s.name] = s
        place, speed, phi = point, NULL, []
        if isinstance(body, FlexibleBody):
            phi = [Vector(*(shapes[shape_input(axis, k)] for axis in "xyz")) for k in range(len(body.modes))]
            for c, shape in zip(body.modes, phi, strict=True):
                place, speed = place + shape * c.q[0], speed + shape * c.v[0]
        arm = s.rotation @ place
        reach, rate = target - s.position - arm, s.velocity + s.angular_velocity.cross(arm) + s.rotation @ speed
        force = Vector(*(on * (u["pull.stiffness"] * reach[i] - u["pull.damping"] * rate[i]) for i in range(3)))
        turns = body.origin.turns
        torque = arm.cross(force) if turns else Vector(ZERO, ZERO, ZERO)
        new.loads[f"pull.{body.name}"] = FrameLoad(f"pull.{body.name}", body.origin, force, torque, None, None)
        if isinstance(body, FlexibleBody):
            modal = tuple((s.rotation @ shape).dot(force) for shape in phi)
            new.loads[f"pull.{body.name}.modes"] = PullOfModes(f"pull.{body.name}.modes", body, modal)
    return new  # type: ignore[no-any-return]


def pull_values(
    body: str, point: Sequence[float], target: Sequence[float], stiffness: float, damping: float, shape: Any = ()
) -> dict[str, float]:
    """Inputs that pull a body at a point of its undeformed shape, which moves by ``shape`` (3, m) with its modes."""
    found = {
        f"pull.{what}.{i}": float(x) for what, place in (("target", target), ("point", point)) for i, x in zip("xyz", place, strict=True)
    }
    found |= {shape_input(axis, k): float(x) for axis, row in zip("xyz", shape, strict=False) for k, x in enumerate(row)}
    return found | {"pull.stiffness": stiffness, "pull.damping": damping, pull_input(body): 1.0}


__all__ = ["SHARED", "can_be_pulled", "pull_input", "pull_values", "pulled", "shape_inputs"]
