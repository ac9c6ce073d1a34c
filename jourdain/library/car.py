"""A complete passenger car: McPherson front, five-link rear, springs, dampers, anti-roll bars, tyres, steering, drive and brakes.

Topology of the car of García de Jalón et al. (2003): 26 bodies with the ground (12 of them rods), 36 joints (6 revolute, 2 prismatic,
28 spherical), 14 freedoms.  That source publishes no data: all numbers here are proposed ones, chosen so that the design position
is in static equilibrium.  Axes x forward, y left, z up; SI units.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..errors import ModelError
from ..model.joints import Joint
from ..model.model import Model
from ..model.shapes import box, cylinder, tube
from ..model.tyres import Road, Tyre, TyreLaw, linear_tyre, magic_formula, tyre
from ..symbolic.expr import Expr
from ..symbolic.functions import atan2, sqrt, tanh
from .suspensions import Corner, FiveLink, McPherson, Placed, Point, Side, Solid, add_five_link, add_mcpherson

if TYPE_CHECKING:
    from ..analysis.equilibrium import Equilibrium
    from ..systems.system import System

#: Density of air, kg/m³.
AIR_DENSITY = 1.225
#: Motions of the chassis joint by the name of the path.
PATHS = {"free": ("Tx", "Ty", "Tz", "Rz", "Ry", "Rx"), "circle": ("Rz", "Ty", "Tz", "Rz", "Ry", "Rx")}
#: Velocities of the chassis on a circle.
STEADY = tuple(f"chassis.{c}_rate" for c in ("rz", "y", "z", "rz2", "ry", "rx"))
#: Corners in order: front left, front right, rear left, rear right.
CORNERS = ("FL", "FR", "RL", "RR")


@dataclass(frozen=True)
class CarData:
    """Numbers of the car; stiffnesses in N/m, dampings in N s/m, the front anti-roll bar in N m/rad at the arms."""

    wheelbase: float = 2.7
    reference: Point = (0.0, 0.0, 0.5)
    chassis: Solid = field(default_factory=lambda: Solid(1300.0, inertia=(400.0, 1600.0, 1800.0)))
    front: McPherson = field(default_factory=lambda: McPherson(preload=3383.4))
    rear: FiveLink = field(default_factory=lambda: FiveLink(free_length=0.56034))
    rack_mass: float = 3.0
    #: stiffness and damping that hold a free rack at the input's position
    rack_stiffness: float = 1e7
    rack_damping: float = 3e4
    front_bar: float = 1800.0
    rear_bar: float = 6000.0
    tyre_radius: float = 0.3179
    tyre_stiffness: float = 200e3
    tyre_damping: float = 300.0
    rolling_resistance: float = 0.01
    #: relaxation lengths of κ and tan α
    relaxation: tuple[float, float] = (0.15, 0.5)
    #: drag coefficient times frontal area, m²
    drag_area: float = 0.66
    brake_front: float = 0.65


@dataclass(frozen=True)
class Car:
    """The model of a car with its parts at hand."""

    model: Model
    data: CarData
    corners: dict[str, Corner]
    tyres: dict[str, Tyre]
    rack: Joint | None


def car(
    steering: Callable[[Expr], Any] | float | str | None = None, tyres: str | None = "magic", road: Road | None = None,
    rods: str = "removed", relaxation: bool = False, cruise: bool = False, data: CarData | None = None, path: str = "free",
) -> Model:  # fmt: skip
    """A car on a road with shapes to look at; see :func:`build_car` for the arguments and the parts, without shapes.

    >>> print(car(tyres=None).compile())
    <System car: 32 velocities, 18 constraints, 16 parameters>
    """
    built = build_car(steering, tyres, road, rods, relaxation, cruise, data, path)
    hull = built.model.bodies["chassis"]
    hull.shapes += [box(3.6, 0.7, 0.1).at(-0.05, 0, -0.18), box(0.9, 1.1, 0.3).at(1.5, 0, 0.2), box(1.9, 1.3, 0.6).at(-0.1, 0, 0.45)]
    hull.colour = "#4269d0"
    radius = built.data.tyre_radius
    for corner in built.corners.values():
        corner.wheel.shapes += [tube(outer=radius, inner=0.2, length=0.19, axis="y", colour="#2b2b2b"), cylinder(0.2, 0.05, axis="y")]
    return built.model


def build_car(
    steering: Callable[[Expr], Any] | float | str | None = None, tyres: str | None = "magic", road: Road | None = None,
    rods: str = "removed", relaxation: bool = False, cruise: bool = False, data: CarData | None = None, path: str = "free",
) -> Car:  # fmt: skip
    """The car with its corners and tyres.

    ``steering`` is the rack's displacement in m, positive for a turn to the left: None (tie rods held by the chassis), a number
    (the parameter ``steering``), a function of time (a driven rack), or "input" (a fifteenth freedom held by a spring at the
    input ``steering``).  ``tyres`` is "magic",
    "linear" or None (no tyres: the car falls).  ``rods`` as in :data:`jourdain.library.suspensions.RODS`: 32 coordinates and 18
    constraints with rods removed, 56 and 42 with "bodies".  ``cruise`` adds a drive torque gain·(target − speed) with the
    parameters ``cruise.speed`` (m/s) and ``cruise.gain`` (N m s/m).  Inputs ``drive`` and ``brake`` are torques in N m of all
    driven (front) and braked wheels together.  Drive and brake torques react on the carriers.

    ``path`` chooses the coordinates of the joint ``chassis``: "free" (x, y, z, yaw rz, pitch ry, roll rx) or "circle": the angle rz
    about a centre on the ground, the place y on the ray from it (−radius in a left turn), z, the heading rz2 from the tangent, ry
    and rx.  On a circle a steady turn is an equilibrium: y, rz2 and the rate of rz do not change.
    """
    data = data or CarData()
    if path not in PATHS:
        raise ModelError(f"car: path '{path}' is unknown; use {' or '.join(map(repr, PATHS))}")
    m = Model("car")
    mass = m.parameter("chassis.mass", data.chassis.mass, unit="kg")
    body = m.body("chassis", mass=mass, com=data.chassis.com, inertia=data.chassis.inertia)
    m.sequence("chassis", m.ground.at(*data.reference), body, PATHS[path])
    chassis = Placed(body, data.reference)
    rack_joint, rack = _rack(m, chassis, data, steering)
    front, rear = (data.wheelbase / 2, 0.0, 0.0), (-data.wheelbase / 2, 0.0, 0.0)
    corners = {
        "FL": add_mcpherson(m, "FL", chassis, data.front, Side(1, front), rods, rack),
        "FR": add_mcpherson(m, "FR", chassis, data.front, Side(-1, front), rods, rack),
        "RL": add_five_link(m, "RL", chassis, data.rear, Side(1, rear), rods),
        "RR": add_five_link(m, "RR", chassis, data.rear, Side(-1, rear), rods),
    }
    anti_roll_bar(m, "front.bar", corners["FL"], corners["FR"], m.parameter("front.bar", data.front_bar))
    anti_roll_bar(m, "rear.bar", corners["RL"], corners["RR"], m.parameter("rear.bar", data.rear_bar))
    if tyres is None:
        return Car(m, data, corners, {}, rack_joint)
    mounted = _tyres(m, corners, data, tyres, road, relaxation)
    _drive(m, body, corners, data, cruise)
    return Car(m, data, corners, mounted, rack_joint)


def _rack(m: Model, chassis: Placed, data: CarData, steering: Any) -> tuple[Joint | None, Placed]:
    """The body that holds the tie rods' inner ends."""
    if steering is None:
        return None, chassis
    place = (data.wheelbase / 2 + data.front.tie_rod.inner[0], 0.0, data.front.tie_rod.inner[2])
    free = isinstance(steering, str)
    if free and steering != "input":
        raise ModelError(f"car: steering '{steering}' is unknown; use None, a rack displacement in m, a function of time, or 'input'")
    bar = m.body("rack", mass=data.rack_mass)
    joint = m.prismatic("rack", chassis.at(place), bar, axis="-y")
    if free:
        target = m.input("steering", 0.0, unit="m")
        m.force(joint, lambda x, v, t: data.rack_stiffness * (target - x) - data.rack_damping * v, name="rack.servo")
    elif callable(steering):
        m.drive(joint, steering)
    else:
        m.lock(joint, m.parameter("steering", steering, unit="m"))
    return joint, Placed(bar, place)


def anti_roll_bar(m: Model, name: str, left: Corner, right: Corner, stiffness: Any) -> None:
    """A torsion bar between the travels of two wheels: potential ½k(left − right)², felt by the suspensions and the chassis."""
    a, b = left.travel, right.travel
    twist = left.sense * a.q[0] - right.sense * b.q[0]
    joints = {c.names[0]: j for j in m.joints.values() for c in j.coordinates}
    for label, c, sign in (("left", a, -left.sense), ("right", b, right.sense)):
        short = c.names[0].removeprefix(joints[c.names[0]].name + ".")
        load = m.force(joints[c.names[0]], sign * stiffness * twist, coordinate=short, name=f"{name}.{label}")
        if label == "left":
            load.potential = 0.5 * stiffness * twist * twist


def _tyres(m: Model, corners: dict[str, Corner], data: CarData, kind: str, road: Road | None, relaxation: bool) -> dict[str, Tyre]:
    laws: dict[str, Callable[[Model], TyreLaw]] = {"magic": magic_formula, "linear": linear_tyre}
    if kind not in laws:
        raise ModelError(f"car: tyres '{kind}' are unknown; use 'magic', 'linear' or None")
    law = laws[kind](m)
    radius = m.parameter("tyre.radius", data.tyre_radius, "m")
    k, d = m.parameter("tyre.stiffness", data.tyre_stiffness, "N/m"), m.parameter("tyre.damping", data.tyre_damping, "N s/m")
    resistance = m.parameter("tyre.rolling_resistance", data.rolling_resistance)
    lengths = None
    if relaxation:
        lengths = tuple(m.parameters("m", **{"tyre.relaxation_x": data.relaxation[0], "tyre.relaxation_y": data.relaxation[1]}))
    found = {}
    for name, corner in corners.items():
        found[name] = tyre(
            m, f"{name}.tyre", corner.wheel, radius, k, law, damping=d, road=road, rolling_resistance=resistance,
            relaxation=lengths,  # type: ignore[arg-type]
        )  # fmt: skip
        found[name].outputs(m)
    return found


def _drive(m: Model, chassis: Any, corners: dict[str, Corner], data: CarData, cruise: bool) -> None:
    """Drive and brake torques, aerodynamic drag, and the outputs speed (m/s) and sideslip (rad)."""
    s = m.sensor("chassis", chassis)
    ahead, aside = s.rotation.column(0), s.rotation.column(1)
    speed = s.velocity.dot(ahead)
    torque = m.input("drive", 0.0, unit="N m")
    if cruise:
        gain, target = m.parameter("cruise.gain", 500.0, "N s"), m.parameter("cruise.speed", 20.0, "m/s")
        torque = torque + gain * (target - speed)
    brake = m.input("brake", 0.0, unit="N m")
    for name, corner in corners.items():
        share = data.brake_front if name[0] == "F" else 1.0 - data.brake_front
        law = -0.5 * share * brake * tanh(corner.spin.velocity / 0.5)
        m.force(corner.spin, law + 0.5 * torque if name[0] == "F" else law, name=f"{name}.torque")
    air = 0.5 * AIR_DENSITY * m.parameter("drag_area", data.drag_area, unit="m²")
    m.load("drag", chassis, force=s.velocity * (-air * sqrt(s.velocity.dot(s.velocity) + 1e-12)))
    m.output("speed", speed, unit="m/s")
    m.output("sideslip", atan2(s.velocity.dot(aside), speed), unit="rad")


def rolling(speed: float, data: CarData | None = None) -> dict[str, float]:
    """Velocities of a car that rolls straight ahead at a speed (m/s), for ``assemble(velocities=…)``."""
    data = data or CarData()
    # close to the radius of free rolling, R₀ − δ/3 with a deflection δ of about 18 mm
    turning = speed / (data.tyre_radius - 0.006)
    return {"chassis.x": speed} | {f"{name}.spin.angle": turning for name in CORNERS}


def steady_turn(system: System, radius: float, speed: float) -> Equilibrium:
    """A steady left turn (radius > 0) at a speed, with the rack position and the drive torque it needs (parameter ``steering``,
    input ``drive``); the system is a car with ``path="circle"`` and a number as ``steering``.
    """
    held = {"chassis.rz": "drive", "chassis.y": "steering"} | {f"{c}.spin.angle": f"{c}.spin.angle_rate" for c in CORNERS}
    rates = {f"{c}.spin.angle_rate": speed / (system.parameters["tyre.radius"] - 0.006) for c in CORNERS}
    start = {"chassis.y": -radius, "chassis.rz_rate": speed / radius, **rates}
    return system.equilibrium(start, kind="dynamic", exchange=held, steady=[*STEADY, *rates])


def bicycle_estimate(
    mass: float, front: float, rear: float, cornering: tuple[float, float], speed: float, angle: float
) -> dict[str, float]:
    """Steady turn of the linear bicycle model: yaw rate (rad/s), sideslip (rad) and lateral acceleration (m/s²).

    r = V δ/(l + K V²) with the understeer coefficient K = m/l·(b/C_f − a/C_r) (s²·rad/m·m), a and b the distances (m) of the axles
    from the centre of mass, C the axles' cornering stiffnesses (N/rad), δ the steer angle (rad).

    >>> round(bicycle_estimate(1500.0, 1.35, 1.35, (120e3, 120e3), 20.0, 0.01)["yaw_rate"], 12)
    0.074074074074
    """
    length = front + rear
    understeer = mass / length * (rear / cornering[0] - front / cornering[1])
    rate = speed * angle / (length + understeer * speed**2)
    sideslip = rate * (rear / speed - mass * front * speed / (length * cornering[1]))
    return {"yaw_rate": rate, "sideslip": sideslip, "lateral_acceleration": rate * speed}


__all__ = [
    "AIR_DENSITY", "CORNERS", "PATHS", "STEADY", "Car", "CarData", "anti_roll_bar", "bicycle_estimate", "build_car", "car", "rolling",
    "steady_turn",
]  # fmt: skip
