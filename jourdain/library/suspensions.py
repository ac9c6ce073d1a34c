"""Wheel suspensions with loops: five-link, McPherson and double wishbone, alone on a test rig or as corners of a car.

Design position in axes x forward, y left, z up (m, kg, N).  Topologies of the five-link and McPherson suspensions as in García de
Jalón et al., *A Fast and Simple Semi-Recursive Formulation for Multi-Rigid-Body Systems* (2003), which publishes no data: all
numbers here are proposed ones, typical of a middle-class car.  Every corner is described for the left side; ``Side(-1)`` mirrors it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ModelError
from ..model.bodies import Body, Frame
from ..model.joints import Coordinate, Joint
from ..model.model import Model
from ..symbolic.expr import Expr
from ..symbolic.functions import asin, atan2, maximum

if TYPE_CHECKING:
    from ..systems.system import System

Point = tuple[float, float, float]
Place = Sequence[float] | np.ndarray

#: How a rod with two ball joints enters: as a body on a universal joint with one ball cut; or removed and replaced by one equation
#: of constant distance, with its exact inertia ("removed") or without mass ("massless").
RODS = ("removed", "massless", "bodies")


@dataclass(frozen=True)
class Rod:
    """A straight uniform rod between a point of the chassis and one of the carrier, both in the design position."""

    name: str
    inner: Point
    outer: Point
    mass: float

    @property
    def length(self) -> float:
        """Distance of the ball joints, m."""
        return float(np.linalg.norm(np.subtract(self.outer, self.inner)))


@dataclass(frozen=True)
class Solid:
    """Mass, centre of mass (from the body's reference point) and principal inertias about it."""

    mass: float
    com: Point = (0.0, 0.0, 0.0)
    inertia: Point = (0.0, 0.0, 0.0)


WHEEL = Solid(19.0, inertia=(0.55, 1.0, 0.55))


@dataclass(frozen=True)
class FiveLink:
    """Data of a five-link suspension, left side; ``spring`` holds chassis and carrier points of the spring and damper."""

    centre: Point = (0.0, 0.74, 0.30)
    rods: tuple[Rod, ...] = (
        Rod("upper_front", (0.20, 0.42, 0.42), (0.03, 0.66, 0.43), 0.8),
        Rod("upper_rear", (-0.06, 0.40, 0.43), (-0.02, 0.66, 0.45), 0.8),
        Rod("lower_front", (0.26, 0.40, 0.22), (0.04, 0.68, 0.19), 1.2),
        Rod("lower_rear", (-0.03, 0.24, 0.21), (-0.02, 0.69, 0.18), 1.5),
        Rod("toe", (-0.17, 0.28, 0.24), (-0.14, 0.68, 0.22), 0.8),
    )
    carrier: Solid = Solid(14.0, (0.0, -0.05, 0.0), (0.25, 0.22, 0.15))
    wheel: Solid = WHEEL
    spring: tuple[Point, Point] = ((-0.03, 0.50, 0.62), (-0.02, 0.60, 0.20))
    stiffness: float = 28000.0
    damping: float = 1800.0
    free_length: float = 0.581844476


@dataclass(frozen=True)
class McPherson:
    """Data of a McPherson suspension, left side; ``pivot`` lies on the arm's axis (x), ``slide`` on the strut's axis."""

    centre: Point = (0.0, 0.75, 0.30)
    pivot: Point = (-0.02, 0.36, 0.20)
    arm: Solid = Solid(4.0, (0.0, 0.17, -0.01), (0.05, 0.02, 0.06))
    ball: Point = (0.0, 0.70, 0.18)
    top: Point = (-0.05, 0.56, 0.88)
    strut: Solid = Solid(3.0, (0.0, 0.0, -0.1), (0.05, 0.05, 0.005))
    slide: Point = (0.0, 0.64, 0.23)
    carrier: Solid = Solid(15.0, inertia=(0.25, 0.20, 0.20))
    wheel: Solid = WHEEL
    tie_rod: Rod = Rod("tie", (-0.15, 0.34, 0.22), (-0.13, 0.70, 0.21), 0.9)
    stiffness: float = 25000.0
    damping: float = 1500.0
    #: force of the compressed spring in the design position, N
    preload: float = 3700.0


@dataclass(frozen=True)
class DoubleWishbone:
    """Data of a double wishbone suspension, left side; both arms turn about axes along x."""

    centre: Point = (0.0, 0.75, 0.30)
    lower_pivot: Point = (0.0, 0.36, 0.20)
    lower_ball: Point = (0.01, 0.70, 0.18)
    lower_arm: Solid = Solid(4.5, (0.0, 0.17, -0.01), (0.05, 0.03, 0.07))
    upper_pivot: Point = (-0.02, 0.44, 0.46)
    upper_ball: Point = (-0.02, 0.66, 0.48)
    upper_arm: Solid = Solid(2.5, (0.0, 0.11, 0.01), (0.015, 0.01, 0.02))
    carrier: Solid = Solid(14.0, (0.0, -0.05, 0.0), (0.25, 0.22, 0.15))
    wheel: Solid = WHEEL
    tie_rod: Rod = Rod("tie", (-0.14, 0.36, 0.23), (-0.12, 0.70, 0.215), 0.9)
    spring: tuple[Point, Point] = ((0.0, 0.52, 0.68), (0.0, 0.56, 0.19))
    stiffness: float = 45000.0
    damping: float = 3000.0
    #: tension-free length such that the design position carries a quarter of a car of about 1.7 t
    free_length: float = 0.62


@dataclass(frozen=True)
class Corner:
    """One wheel with its suspension as part of a model."""

    name: str
    carrier: Body
    wheel: Body
    spin: Joint
    #: coordinate that measures the travel of the wheel, and what one unit of upward travel adds to it (+1 or −1)
    travel: Coordinate
    sense: float
    #: compression of spring or strut, for stops and anti-roll bars
    strut: Joint | None = None


class Side:
    """Points of a corner placed in a model: mirrored for the right side, moved to where the corner sits."""

    def __init__(self, side: int, offset: Place = (0.0, 0.0, 0.0)) -> None:
        if side not in (1, -1):
            raise ModelError(f"a suspension's side is 1 (left) or −1 (right), got {side!r}")
        self.sign = side
        self.offset = np.asarray(offset, dtype=float)

    def world(self, p: Place) -> np.ndarray:
        """A point of the design position in the world."""
        return np.array([p[0], self.sign * p[1], p[2]]) + self.offset

    def mirror(self, p: Place) -> tuple[float, float, float]:
        """A vector mirrored for this side."""
        return (p[0], self.sign * p[1], p[2])


class Placed:
    """A body whose frame stands parallel to the world's at a known place in the design position."""

    def __init__(self, body: Body, origin: Place) -> None:
        self.body = body
        self.origin = np.asarray(origin, dtype=float)

    def at(self, p: Place, rotation: Any = None) -> Frame:
        """The frame at a point given by its place in the world in the design position."""
        x, y, z = (float(e) for e in np.asarray(p) - self.origin)
        return self.body.at(x, y, z, rotation)


def _solid(m: Model, name: str, data: Solid, side: Side) -> Body:
    return m.body(name, mass=data.mass, com=side.mirror(data.com), inertia=data.inertia)


def add_rod(m: Model, name: str, rod: Rod, inner: Placed, outer: Placed, side: Side, rods: str) -> None:
    """A rod between two bodies in one of the ways of :data:`RODS`."""
    if rods not in RODS:
        raise ModelError(f"rod '{name}': '{rods}' is unknown; use one of {', '.join(RODS)}")
    a, b = side.world(rod.inner), side.world(rod.outer)
    if rods != "bodies":
        m.rod(name, inner.at(a), outer.at(b), rod.length, mass=rod.mass if rods == "removed" else None)
        return
    across = rod.mass * rod.length**2 / 12
    bar = m.body(name, mass=rod.mass, com=(rod.length / 2, 0, 0), inertia=(0, across, across))
    m.universal(f"{name}.inner", inner.at(a, rotation=along(b - a)), bar, axes=("z", "y"))
    m.close(f"{name}.outer", bar.at(rod.length, 0, 0), outer.at(b), "ball")


def along(direction: Place) -> list[list[float]]:
    """A rotation whose x axis points along a direction."""
    x = np.asarray(direction, dtype=float)
    x = x / np.linalg.norm(x)
    y = np.cross(np.eye(3)[int(np.argmin(np.abs(x)))], x)
    y /= np.linalg.norm(y)
    return np.column_stack([x, y, np.cross(x, y)]).tolist()  # type: ignore[no-any-return]


def _wheel(m: Model, name: str, data: Solid, bearing: Body | Frame) -> tuple[Body, Joint]:
    wheel = m.body(f"{name}.wheel", mass=data.mass, com=data.com, inertia=data.inertia)
    return wheel, m.revolute(f"{name}.spin", bearing, wheel, axis="y")


def add_five_link(
    m: Model, name: str, chassis: Placed, data: FiveLink | None = None, side: Side | None = None, rods: str = "removed",
    carried_by: Placed | None = None,
) -> Corner:  # fmt: skip
    """A five-link corner on a chassis: the carrier floats (x, y, z, then turns about z, y, x), five rods hold it.

    ``carried_by`` is the body its floating joint starts from, the chassis by default: then the loops of different corners share
    no coordinate and are eliminated one by one.
    """
    data, side = data or FiveLink(), side or Side(1)
    base, centre = carried_by or chassis, side.world(data.centre)
    carrier = _solid(m, f"{name}.carrier", data.carrier, side)
    placed = Placed(carrier, centre)
    floating = m.sequence(f"{name}.float", base.at(centre), carrier, ["Tx", "Ty", "Tz", "Rz", "Ry", "Rx"])
    for rod in data.rods:
        add_rod(m, f"{name}.{rod.name}", rod, chassis, placed, side, rods)
    k, c = m.parameter(f"{name}.stiffness", data.stiffness, "N/m"), m.parameter(f"{name}.damping", data.damping, "N s/m")
    length = m.parameter(f"{name}.free_length", data.free_length, "m")
    a, b = (side.world(p) for p in data.spring)
    m.spring(f"{name}.spring", chassis.at(a), placed.at(b), stiffness=k, damping=c, length=length)
    wheel, spin = _wheel(m, name, data.wheel, carrier)
    return Corner(name, carrier, wheel, spin, floating.coordinate("z"), 1.0)


def add_mcpherson(
    m: Model, name: str, chassis: Placed, data: McPherson | None = None, side: Side | None = None, rods: str = "removed",
    rack: Placed | None = None,
) -> Corner:  # fmt: skip
    """A McPherson corner: lower arm on a hinge along x, strut on a ball joint, carrier sliding on it, ball and tie rod cut.

    ``rack`` is the body that holds the tie rod's inner end, the chassis by default (no steering).
    """
    data, side = data or McPherson(), side or Side(1)
    pivot, ball, top = (side.world(p) for p in (data.pivot, data.ball, data.top))
    arm = _solid(m, f"{name}.arm", data.arm, side)
    hinge = m.revolute(f"{name}.arm", chassis.at(pivot), arm, axis="x")
    strut = _solid(m, f"{name}.strut", data.strut, side)
    m.spherical(f"{name}.top", chassis.at(top), strut, orientation="xyz")
    carrier = _solid(m, f"{name}.carrier", data.carrier, side)
    centre = side.world(data.centre)
    upwards = top - side.world(data.slide)
    slide = m.prismatic(f"{name}.slide", Placed(strut, top).at(centre), carrier, axis=tuple(upwards / np.linalg.norm(upwards)))
    placed = Placed(carrier, centre)
    m.close(f"{name}.ball", Placed(arm, pivot).at(ball), placed.at(ball), "ball")
    add_rod(m, f"{name}.{data.tie_rod.name}", data.tie_rod, rack or chassis, placed, side, rods)
    k, c = m.parameter(f"{name}.stiffness", data.stiffness, "N/m"), m.parameter(f"{name}.damping", data.damping, "N s/m")
    preload = m.parameter(f"{name}.preload", data.preload, "N")
    spring = m.force(slide, lambda x, v, t: -preload - k * x - c * v, name=f"{name}.spring")
    spring.potential = preload * slide.position + 0.5 * k * slide.position**2
    wheel, spin = _wheel(m, name, data.wheel, carrier)
    return Corner(name, carrier, wheel, spin, hinge.coordinates[0], float(side.sign), slide)


def add_double_wishbone(
    m: Model, name: str, chassis: Placed, data: DoubleWishbone | None = None, side: Side | None = None, rods: str = "removed",
    rack: Placed | None = None,
) -> Corner:  # fmt: skip
    """A double wishbone corner: carrier on a ball joint of the lower arm, upper ball joint and tie rod cut."""
    data, side = data or DoubleWishbone(), side or Side(1)
    low, high = side.world(data.lower_pivot), side.world(data.upper_pivot)
    lower_ball, upper_ball = side.world(data.lower_ball), side.world(data.upper_ball)
    lower, upper = _solid(m, f"{name}.lower", data.lower_arm, side), _solid(m, f"{name}.upper", data.upper_arm, side)
    hinge = m.revolute(f"{name}.lower", chassis.at(low), lower, axis="x")
    m.revolute(f"{name}.upper", chassis.at(high), upper, axis="x")
    carrier = m.body(f"{name}.carrier")
    centre = side.world(data.centre)
    from_ball = np.add(side.mirror(data.carrier.com), centre - lower_ball)
    carrier.add_mass(data.carrier.mass, tuple(from_ball), data.carrier.inertia)
    m.spherical(f"{name}.ball", Placed(lower, low).at(lower_ball), carrier, orientation="zxy")
    placed = Placed(carrier, lower_ball)
    m.close(f"{name}.upper_ball", Placed(upper, high).at(upper_ball), placed.at(upper_ball), "ball")
    add_rod(m, f"{name}.{data.tie_rod.name}", data.tie_rod, rack or chassis, placed, side, rods)
    k, c = m.parameter(f"{name}.stiffness", data.stiffness, "N/m"), m.parameter(f"{name}.damping", data.damping, "N s/m")
    length = m.parameter(f"{name}.free_length", data.free_length, "m")
    a, b = (side.world(p) for p in data.spring)
    m.spring(f"{name}.spring", chassis.at(a), Placed(lower, low).at(b), stiffness=k, damping=c, length=length)
    wheel, spin = _wheel(m, name, data.wheel, placed.at(centre))
    return Corner(name, carrier, wheel, spin, hinge.coordinates[0], float(side.sign))


# -- one corner on a test rig -----------------------------------------------------------------------------------------


def _rig(name: str, mass: float) -> tuple[Model, Placed]:
    """A model with a frame that slides vertically."""
    m = Model(name)
    frame = m.body("frame", mass=m.parameter("frame_mass", mass, unit="kg"))
    m.prismatic("frame", m.ground, frame, axis="z")
    return m, Placed(frame, (0.0, 0.0, 0.0))


def _stand(m: Model, corner: Corner, radius: float, road: Any) -> None:
    """A vertical tyre spring of 200 kN/m under the wheel's centre; ``road`` gives the road's height from time."""
    k, R0 = m.parameter("tyre_stiffness", 200e3, unit="N/m"), m.parameter("tyre_radius", radius, unit="m")
    s = m.sensor("wheel_centre", corner.wheel)
    level: Expr | float = 0.0 if road is None else road(m.time) if callable(road) else road
    force = k * maximum(R0 - (s.z - level), 0.0)
    m.load("tyre", corner.wheel, force=(0, 0, force))
    m.output("tyre.Fz", force, unit="N")
    outputs(m, corner)


def outputs(m: Model, corner: Corner) -> None:
    """Camber −asin a_z and heading atan2(−a_x, a_y) of the spin axis a as outputs (rad), with the wheel centre's place."""
    s = m.sensor(f"{corner.name}.axis", corner.wheel)
    a = s.rotation.column(1)
    m.output(f"{corner.name}.camber", -asin(a.z), unit="rad")
    m.output(f"{corner.name}.heading", atan2(-a.x, a.y), unit="rad")
    for c, e in zip("xyz", s.position, strict=True):
        m.output(f"{corner.name}.centre.{c}", e, unit="m")


def curves(
    system: System, name: str, coordinate: str, values: Sequence[float], fixed: Mapping[str, float] | None = None
) -> dict[str, np.ndarray]:
    """Kinematics of a corner over a coordinate of its travel, other coordinates ``fixed``: camber, heading (rad), x, y, z (m).

    >>> s = five_link_suspension().compile()
    >>> c = curves(s, "rear", "rear.float.z", [-0.04, 0.04], {"frame.displacement": 0.0})
    >>> np.degrees(c["camber"]).round(4)
    array([ 0.9132, -1.3984])
    """
    outputs_of = system.function("outputs")
    names = list(system.model.outputs)
    columns = {c: names.index(f"{name}.{c}") for c in ("camber", "heading", "centre.x", "centre.y", "centre.z")}
    rows, guess = [], None
    for x in values:
        guess = system.assemble({coordinate: x, **(fixed or {})}, guess=guess)
        rows.append(outputs_of(np.array([0.0]), guess.x, system.input_values()))
    return {c.removeprefix("centre."): np.array([row[i] for row in rows]) for c, i in columns.items()}


def five_link_suspension(
    rods: str = "removed", carried_by: str = "ground", road: Any = None, data: FiveLink | None = None, mass: float = 380.0
) -> Model:
    """A five-link rear suspension with its frame, wheel and tyre spring (three freedoms): all zero is static equilibrium.

    8 coordinates and 5 constraints with ``rods`` "removed" or "massless", 18 and 15 with "bodies"; "removed" and "bodies" are the same
    mechanics.  The carrier's coordinates start from the "ground" or the "frame" (``carried_by``).  ``road`` is the road's height (m), a
    number or a function of time.

    >>> print(five_link_suspension().compile())
    <System five-link suspension: 8 velocities, 5 constraints, 7 parameters>
    """
    m, frame = _rig("five-link suspension", mass)
    if carried_by not in ("ground", "frame"):
        raise ModelError(f"five-link suspension: carried_by '{carried_by}' is unknown; use 'ground' or 'frame'")
    base = Placed(m.ground, (0.0, 0.0, 0.0)) if carried_by == "ground" else frame
    corner = add_five_link(m, "rear", frame, data, rods=rods, carried_by=base)
    _stand(m, corner, 0.320507805, road)
    return m


def mcpherson_suspension(rods: str = "removed", road: Any = None, data: McPherson | None = None, mass: float = 380.0) -> Model:
    """A McPherson suspension with its frame, wheel and tyre spring: 7 coordinates, 4 constraints, three freedoms.

    >>> print(mcpherson_suspension().compile())
    <System McPherson suspension: 7 velocities, 4 constraints, 7 parameters>
    """
    m, frame = _rig("McPherson suspension", mass)
    corner = add_mcpherson(m, "front", frame, data, rods=rods)
    _stand(m, corner, 0.320507805, road)
    return m


def double_wishbone_suspension(rods: str = "removed", road: Any = None, data: DoubleWishbone | None = None, mass: float = 380.0) -> Model:
    """A double wishbone suspension with its frame, wheel and tyre spring: 7 coordinates, 4 constraints, three freedoms."""
    m, frame = _rig("double wishbone suspension", mass)
    corner = add_double_wishbone(m, "front", frame, data, rods=rods)
    _stand(m, corner, 0.320507805, road)
    return m


__all__ = [
    "RODS", "WHEEL", "Corner", "DoubleWishbone", "FiveLink", "McPherson", "Placed", "Rod", "Side", "Solid", "add_double_wishbone",
    "add_five_link", "add_mcpherson", "add_rod", "along", "curves", "double_wishbone_suspension", "five_link_suspension",
    "mcpherson_suspension", "outputs",
]  # fmt: skip
