"""What surrounds the bodies: air, a central gravity field; and electric motors at joints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..errors import ModelError
from ..symbolic.expr import HALF, ZERO, Expr, mul, neg
from ..symbolic.functions import sqrt
from .bodies import Body, Frame
from .joints import Joint
from .values import unit_axis, value, values, vector

if TYPE_CHECKING:
    from .loads import FrameLoad, JointForce
    from .sensors import Sensor


class EnvironmentMethods:
    """The part of a model that declares air, gravity fields and motors."""

    if TYPE_CHECKING:

        def _frame(self, given: Any, what: str) -> Frame: ...
        def sensor(self, name: str, frame: Body | Frame, relative_to: Body | Frame | None = None) -> Sensor: ...
        def load(
            self, name: str, frame: Body | Frame, force: Any = ..., torque: Any = ..., axes: Any = ..., reaction: Any = ...
        ) -> FrameLoad: ...
        def state(self, name: str, initial: Any = 0.0, unit: str = "") -> Expr: ...
        def rate(self, state: Expr, expression: Any) -> None: ...
        def force(self, joint: Joint, law: Any, coordinate: str | None = None, name: str | None = None) -> JointForce: ...

    def aerodynamics(
        self, name: str, frame: Body | Frame, drag: Any, lift: Any = 0.0, area: Any = 1.0, density: Any = 1.225,
        wind: Any = (0, 0, 0), up: Any = "z",
    ) -> FrameLoad:  # fmt: skip
        """Drag −½ρ c_D A |w| w against and lift ½ρ c_L A |w| (w × s) normal to the wind w felt at a frame.

        w is the velocity of the frame relative to the air, s the frame's side axis such that straight flight along x with
        ``up`` = z is lifted along z (s = up × x of the frame).
        """
        what = f"aerodynamics '{name}'"
        rho, A, cd, cl = values(what, ("density", density, "kg/m^3"), ("area", area, "m^2"), ("drag", drag, "1"), ("lift", lift, "1"))
        k = mul(HALF, rho) * A
        s = self.sensor(f"{name}.sensor", frame)
        w = s.velocity - vector(wind, f"{what}: wind", "m/s")
        speed = sqrt(w.dot(w) + 1e-12)
        force = w * neg(k * cd * speed)
        if cl is not ZERO:
            upwards = s.rotation @ unit_axis(up, what)
            side = upwards.cross(s.rotation.column(0))
            force = force + w.cross(side) * (k * cl * speed)
        return self.load(name, frame, force=force)

    def drag(
        self, name: str, frame: Body | Frame, coefficient: Any, area: Any = 1.0, density: Any = 1.225, wind: Any = (0, 0, 0)
    ) -> FrameLoad:
        """Drag alone: ½ρ c A |w| w against the motion relative to the air."""
        item = self.aerodynamics(name, frame, coefficient, area=area, density=density, wind=wind)
        what = f"aerodynamics '{name}'"
        item.kind = "drag"
        given = ("coefficient", coefficient, "1"), ("area", area, "m^2"), ("density", density, "kg/m^3")
        item.given = dict(zip((n for n, _, _ in given), values(what, *given), strict=True))
        item.given["wind"] = list(vector(wind, what, "m/s"))
        return item

    def attraction(self, name: str, body: Body, mu: Any, centre: Any = (0, 0, 0)) -> FrameLoad:
        """Newton's gravity of a centre on a body, −μ m r/|r|³ at its centre of mass (μ = G M, m³/s²); tides are left out."""
        what = f"attraction '{name}'"
        if body.mass is ZERO:
            raise ModelError(f"{what}: body '{body.name}' has no mass to attract")
        inverse = 1.0 / body.mass
        com = Frame(body, body.moment * inverse, body.origin.rotation)
        r = self.sensor(f"{name}.sensor", com).position - vector(centre, f"{what}: centre", "m")
        distance = sqrt(r.dot(r))
        return self.load(name, com, force=r * neg(value(mu, f"{what}: mu", "m^3/s^2") * body.mass / (distance * distance * distance)))

    def motor(
        self, joint: Joint, voltage: Any, constant: Any, resistance: Any, inductance: Any = 0.0, ratio: Any = 1.0,
        name: str | None = None,
    ) -> JointForce:  # fmt: skip
        """A direct-current motor at a joint through a gear: torque n·K·i with L di/dt = u − R i − K n ω.

        ``voltage`` u (V) is an input, a number or an expression; ``constant`` K in N m/A (= V s/rad), ``ratio`` n turns of
        the motor for one of the joint.  Without inductance the current follows at once.
        """
        label = name or f"{joint.name}.motor"
        what = f"motor '{label}'"
        given = ("voltage", voltage, "V"), ("constant", constant, "N m/A"), ("resistance", resistance, "ohm"), ("ratio", ratio, "1")
        u, k, r, n = values(what, *given)
        if r.is_number and float(r) <= 0:
            raise ModelError(f"{what}: resistance {float(r):g} Ω must be positive")
        l = value(inductance, f"{what}: inductance", "H")
        if l.is_zero:
            current = (u - k * n * joint.velocity) / r
        else:
            current = self.state(f"{label}.current", 0.0, unit="A")
            self.rate(current, (u - r * current - k * n * joint.velocity) / l)
        return self.force(joint, n * k * current, name=label)
