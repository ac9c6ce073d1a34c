"""Systems that roll or slide on a blade: constraints on velocities that no position can express."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import ModelError
from ..model.bodies import Body, Frame
from ..model.model import Model
from ..symbolic.expr import Expr
from ..symbolic.functions import cos, sin, sqrt
from ..symbolic.vectors import AXES, Vector


def chaplygin_sleigh(mass: float = 2.0, inertia: float = 0.3, distance: float = 0.25) -> Model:
    """A sleigh on a plane with a knife edge that cannot move sideways (benchmark B5).

    The joint ``sleigh`` places the blade: x, y and the heading ``angle``; the centre of mass lies ``distance`` m ahead of it,
    ``inertia`` (kg m²) is about the centre of mass.
    """
    m = Model("Chaplygin sleigh")
    M, I, a = m.parameter("mass", mass, "kg"), m.parameter("inertia", inertia, "kg m^2"), m.parameter("distance", distance, "m")
    body = m.body("body", mass=M, com=(a, 0, 0), inertia=(I / 2, I / 2, I))
    sleigh = m.planar("sleigh", m.ground, body)
    x, y, heading = sleigh.coordinates
    theta, vx, vy = heading.q[0], x.v[0], y.v[0]
    m.nonholonomic("blade", cos(theta) * vy - sin(theta) * vx)
    m.output("v", cos(theta) * vx + sin(theta) * vy, unit="m/s")
    return m


def _lowest(axle: Vector) -> Vector:
    """Unit vector in a wheel's plane from its contact up to its hub; ``axle`` is the unit normal of the plane."""
    scale = 1.0 / sqrt(1.0 - axle.z * axle.z)
    return Vector(-axle.z * axle.x * scale, -axle.z * axle.y * scale, (1.0 - axle.z * axle.z) * scale)


def rolling_wheel(m: Model, name: str, wheel: Body | Frame, carrier: Body | Frame, radius: Any, axis: str = "y") -> None:
    """Lets a thin wheel roll without slip on the plane z = 0: one equation of position and two of velocity.

    ``wheel`` is the wheel's hub, ``carrier`` a frame that does not spin, whose ``axis`` is the axle.
    """
    hub, frame = m.sensor(f"{name}.hub", wheel), m.sensor(f"{name}.carrier", carrier)
    R, j = frame.rotation, "xyz".index(axis)
    up = _lowest(Vector(R[0, j], R[1, j], R[2, j]))
    slip = hub.velocity - hub.angular_velocity.cross(up * radius)
    m.constraint(f"{name}.contact", hub.z - radius * up.z)
    m.nonholonomic(f"{name}.slip_x", slip.x)
    m.nonholonomic(f"{name}.slip_y", slip.y)


def rolling_disk(mass: float = 0.5, radius: float = 0.1, gravity: float = 9.81, upright: bool = False) -> Model:
    """A thin uniform disk that rolls on the plane z = 0 (benchmark B5).

    The joint ``disk`` places the centre: x, y, z, the heading ``rz`` and the inclination ``rx`` of its plane to the ground
    (π/2 upright); ``spin.angle`` turns about its normal.  ``upright`` holds it upright by a further ideal constraint.
    """
    m = Model("rolling disk", gravity=(0, 0, -gravity))
    M, r = m.parameter("mass", mass, unit="kg"), m.parameter("radius", radius, unit="m")
    plane = m.body("plane")
    disk = m.body("disk", mass=M, inertia=(M * r**2 / 4, M * r**2 / 4, M * r**2 / 2))
    place = m.sequence("disk", m.ground, plane, ["Tx", "Ty", "Tz", "Rz", "Rx"])
    spin = m.revolute("spin", plane, disk, axis="z")
    rolling_wheel(m, "rolling", disk, plane, r, axis="z")
    heading, lean = place.coordinate("rz"), place.coordinate("rx")
    m.output("omega2", heading.v[0] * sin(lean.q[0]), unit="rad/s")
    m.output("omega3", heading.v[0] * cos(lean.q[0]) + spin.velocity, unit="rad/s")
    if upright:
        m.constraint("upright", lean.q[0] - 1.5707963267948966)
    return m


def ball_on_plate(radius: float = 0.5, mass: float = 1.0, spin: float | None = 2.0) -> Model:
    """A homogeneous ball that rolls on a horizontal plate turning about the vertical through the origin (Uhlar, Sec. 5.5.3).

    The joint ``ball`` places the ball's centre, ``plate.angle`` is the turn of the plate, driven at ``spin`` (rad/s; None: it turns
    freely).  On a driven plate the ball goes round on a circle at 2/7 of the plate's speed, whatever its mass.
    """
    m = Model("ball on plate", gravity=(0, 0, 0))
    r, M = m.parameter("radius", radius, unit="m"), m.parameter("mass", mass, unit="kg")
    ball = m.body("ball", mass=M, inertia=[0.4 * M * r**2] * 3)
    plate = m.body("plate", mass=5.0, inertia=(1.0, 1.0, 2.0))
    m.free("ball", m.ground, ball)
    turn = m.revolute("plate", m.ground, plate, axis="z")
    if spin is not None:
        m.drive(turn, lambda t: spin * t)
    of_ball, of_plate, up = m.sensor("of_ball", ball), m.sensor("of_plate", plate), AXES[2] * r
    arm = of_ball.position - up - of_plate.position
    slip = of_ball.velocity - of_ball.angular_velocity.cross(up) - of_plate.velocity - of_plate.angular_velocity.cross(arm)
    for axis, e in zip("xyz", slip, strict=True):
        m.nonholonomic(f"slip_{axis}", e)
    return m


#: The benchmark bicycle (Meijaard, Papadopoulos, Ruina and Schwab, 2007); their axes: x forward, z down from the rear contact.
BICYCLE: dict[str, float] = {
    "w": 1.02, "c": 0.08, "lam": 0.3141592653589793,
    "rR": 0.3, "mR": 2.0, "IRxx": 0.0603, "IRyy": 0.12,
    "xB": 0.3, "zB": -0.9, "mB": 85.0, "IBxx": 9.2, "IBxz": 2.4, "IByy": 11.0, "IBzz": 2.8,
    "xH": 0.9, "zH": -0.7, "mH": 4.0, "IHxx": 0.05892, "IHxz": -0.00756, "IHyy": 0.06, "IHzz": 0.00708,
    "rF": 0.35, "mF": 3.0, "IFxx": 0.1405, "IFyy": 0.28,
}  # fmt: skip


def _bicycle_bodies(m: Model, p: Mapping[str, Expr]) -> tuple[Body, Body, Body, Body]:
    """Rear frame, front frame and wheels; z is up here, so products of inertia xz change their sign."""
    frame = m.body("frame", mass=p["mB"], com=(p["xB"], 0, -p["zB"]), inertia=(p["IBxx"], p["IByy"], p["IBzz"], 0.0, -p["IBxz"], 0.0))
    fork = m.body(
        "fork", mass=p["mH"], com=(p["xH"] - p["w"] - p["c"], 0, -p["zH"]),
        inertia=(p["IHxx"], p["IHyy"], p["IHzz"], 0.0, -p["IHxz"], 0.0),
    )  # fmt: skip
    rear = m.body("rear", mass=p["mR"], inertia=(p["IRxx"], p["IRyy"], p["IRxx"]))
    front = m.body("front", mass=p["mF"], inertia=(p["IFxx"], p["IFyy"], p["IFxx"]))
    return frame, fork, rear, front


def benchmark_bicycle(gravity: float = 9.81, **changes: float) -> Model:
    """The Whipple–Carvallo bicycle, nonlinear, with knife-edge wheels rolling on z = 0 (benchmark B14); x forward, z up.

    The joint ``frame`` places the rear frame: x, y, z, yaw ``rz``, roll ``rx``, pitch ``ry``, all zero when it stands upright with
    the rear contact at the origin; ``steer.angle``; ``rear.angle`` and ``front.angle`` turn the wheels (forward rolling is positive).
    Data of :data:`BICYCLE` may be given by name.
    """
    unknown = set(changes) - set(BICYCLE)
    if unknown:
        raise ModelError(f"benchmark_bicycle: there is no datum '{sorted(unknown)[0]}'; there are {', '.join(BICYCLE)}")
    m = Model("benchmark bicycle", gravity=(0, 0, -gravity))
    p = {name: m.parameter(name, changes.get(name, value)) for name, value in BICYCLE.items()}
    frame, fork, rear, front = _bicycle_bodies(m, p)
    m.sequence("frame", m.ground, frame, ["Tx", "Ty", "Tz", "Rz", "Rx", "Ry"])
    tilt = ("y", -p["lam"])
    m.revolute("steer", frame.at(p["w"] + p["c"], 0, 0, rotation=tilt), fork.at(rotation=tilt), axis="z")
    m.revolute("rear", frame.at(0, 0, p["rR"]), rear, axis="y")
    m.revolute("front", fork.at(-p["c"], 0, p["rF"]), front, axis="y")
    rolling_wheel(m, "rear_wheel", rear, frame, p["rR"])
    rolling_wheel(m, "front_wheel", front, fork, p["rF"])
    return m
