"""Trains in space: cars on bogies, side buffers that touch, push and slide, anti-climbers, wheels that may leave the rail.

The least that shows overriding (one car climbs onto the next) and zig-zag buckling (cars leave the line to both sides in turn), and what stops them.
Buffers are contact pairs: domed heads, each a body on a plunger that is crushed, and a law of contact between those that meet.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ...model.bodies import Body
from ...model.contact.penalty_laws import bristle, hunt_crossley, regularised
from ...model.model import Model
from ...model.shapes import box, cylinder, ellipsoid
from ...symbolic.expr import Expr
from ...symbolic.functions import absolute, maximum, minimum, tanh, where
from .crush import CrushDevice, crush_device
from .device import positive


@dataclass(frozen=True)
class CarData:
    """A car in space (SI units): masses (that of the car with its four heads), sizes, suspension, wheels on rails, side buffers."""

    mass: float = 34e3
    bogie: float = 3e3
    length: float = 20.0
    width: float = 2.8
    height: float = 2.6
    pivots: float = 14.0
    axles: float = 2.5
    floor: float = 1.1
    gauge: float = 1.5
    secondary: float = 1.2e6
    secondary_damping: float = 6e4
    yaw: float = 2e5
    wheel: float = 4e7
    wheel_damping: float = 0.05
    tread: float = 0.05
    clearance: float = 0.008
    flange: float = 0.028
    flange_slope: float = 2.0
    friction: float = 0.3
    buffers: float = 0.875
    head: float = 300.0
    plunger: float = 0.5


#: End of a car: three steps, then the survival cell.
END = crush_device(levels=[1.5e6, 2.0e6, 3.0e6], ends=[0.2, 0.6, 1.2], stiffness=6e7, bottoming=3e7, name="end frame")
#: Heads against heads and the wall: stiffness (N/m) and loss (s/m); friction of smooth heads; grip of ribs, over the normal force.
HEADS, LOSS, SMOOTH, GRIP = 2e8, 0.1, 0.1, 1.5
#: Underframes that lie on each other after overriding (N/m), their height, and how far behind the ends of a car they begin (m).
FRAMES, THICK, BEHIND = 3e7, 0.16, 1.2
#: What is drawn open at the ends of a car (m): overriding cars lie over each other by some metres.
OPEN = 2.5
#: What holds a head that comes out of its plunger, over the first level.
HOLDS = 0.05


def spatial_train(
    cars: int = 2, speed: Any = "40 km/h", anti_climbers: bool = True, lift: Any = 0.06, shift: Any = 0.0, end: CrushDevice = END, data: CarData | None = None,
    ramp: float = 0.4, face: float = 0.25, ribs: float = 3e7, gravity: float = 9.81,
) -> Model:  # fmt: skip
    """A rake of cars on bogies that runs into a wall; every car is free in all directions.

    lift, shift: how much higher, and how far to the side, the end of each second car meets its neighbour (m), the imperfection that grows.
    Each end of a car has a left and a right side buffer: a head on a plunger that half of the device ``end`` holds.  Heads touch heads and the wall as shapes
    of the contact engine (contacts ``interface1`` …, ``wall``).  They are domes ``face`` m across: two of them that meet beside each other by e lean their force by e/``ramp``, and those that have passed
    each other touch no more; then one underframe slides upon the other (``frames1`` …).
    anti_climbers: ribs that hold heads where they first touch, with the stiffness ``ribs`` (N/m) as far as 1.5 times the normal force.

    Channels: ``interface1.climb`` (m, how far the ends have moved vertically), ``interface1.sway``, ``interface1.left.passed``; ``car1.nose.left.crush``, ``.force`` and ``.energy`` of
    the device behind each head; ``interface1.car1.nose.left.Fx`` … of the contacts (also ``wall``, ``frames1``); ``car1.lifted``: the highest wheel above its rail (m).
    """
    d = data or CarData()
    n = cars if isinstance(cars, int) and cars >= 1 else int(positive(cars, "spatial_train: cars", "1"))
    v = positive(speed, "spatial_train: speed", "m/s", "without speed there is no collision")
    up, aside = positive(lift, "spatial_train: lift", "m", zero=True), positive(shift, "spatial_train: shift", "m", zero=True)
    across, lean = positive(face, "spatial_train: face", "m"), positive(ramp, "spatial_train: ramp", "m")
    m = Model("train in space", gravity=(0.0, 0.0, -gravity))
    pitch = d.length + 2.0 * d.plunger
    bodies = [_car(m, f"car{i}", d, -(n - i + 0.5) * pitch, v, gravity) for i in range(1, n + 1)]
    dome = across * across / (2.0 * lean), across / 2.0
    half = _half(end)
    off = [(sign * aside, sign * up) for sign in (1.0 if i % 2 else -1.0 for i in range(1, n))]
    for body, apart in zip(bodies, [(0.0, 0.0), *off], strict=True):
        _buffers(m, body, d, half, dome, -1.0, apart)
        _buffers(m, body, d, half, dome, 1.0, (0.0, 0.0))
    for i, apart in enumerate(off, 1):
        _interface(m, i, across, apart)
    m.ground.add_collision(box(1.0, 20.0, 10.0).at(0.5, 0.0, d.floor), "wall")
    rub = bristle(GRIP, ribs, 0.005 * ribs) if anti_climbers else regularised(SMOOTH, 0.01)
    law = hunt_crossley(stiffness=HEADS, damping=LOSS, exponent=1.0, friction=rub)
    m.contact("wall", m.shapes(f"car{n}.nose.head"), m.shapes("wall"), law=law)
    frames = hunt_crossley(stiffness=FRAMES, damping=LOSS, exponent=1.0, friction=regularised(d.friction, 0.05))
    for i in range(1, n):
        m.contact(f"frames{i}", m.shapes(f"car{i}.frame"), m.shapes(f"car{i + 1}.frame"), law=frames)
        m.contact(f"interface{i}", m.shapes(f"car{i}.nose.head"), m.shapes(f"car{i + 1}.tail.head"), law=law)
    return m


def _car(m: Model, name: str, d: CarData, x: float, speed: float, g: float) -> Body:
    """A car body free in space on two bogies that move up and down and turn under it, each with four wheels."""
    I = [d.mass / 12.0 * s for s in (d.width**2 + d.height**2, d.length**2 + d.height**2, d.length**2 + d.width**2)]
    car = m.body(
        name, mass=d.mass - 4.0 * d.head, inertia=tuple(I), com=(0.0, 0.0, 0.5), colour="#4a7fb0" if int(name[3:]) % 2 else "#8fb3d5"
    )
    # only underframes touch: ends above them are drawn open, so that what has climbed is seen to lie on the other's underframe
    car.shapes.append(box(d.length, d.width, THICK, colour="#6b737b").at(0.0, 0.0, 0.0))
    car.shapes.append(box(d.length - 2.0 * OPEN, d.width, d.height - THICK).at(0.0, 0.0, 0.5 * (d.height + THICK)))
    car.add_collision(box(d.length - 2.0 * BEHIND, d.width, THICK), f"{name}.frame")
    m.sequence(name, m.ground.at(x, 0.0, d.floor), car, ["Tx", "Ty", "Tz", "Rz", "Ry", "Rx"])
    m.initial[f"{name}.x_rate"] = speed
    weight = (d.mass + 2.0 * d.bogie) * g
    lifted: Any = -1.0
    for side, place in (("rear", -0.5 * d.pivots), ("front", 0.5 * d.pivots)):
        bogie = m.body(
            f"{name}.{side}",
            mass=d.bogie,
            inertia=(2e3, 3e3, 4e3),
            shape=box(d.axles + 0.8, d.gauge + 0.3, 0.4).at(0, 0, -0.55),
            colour="#555555",
        )
        hang = m.sequence(f"{name}.{side}", car.at(place, 0.0, 0.0), bogie, ["Tz", "Rz"])
        z, turn = hang.coordinate("z"), hang.coordinate("rz")
        m.force(hang, -0.5 * d.mass * g - d.secondary * z.q[0] - d.secondary_damping * z.v[0], coordinate="z", name=f"{name}.{side}.spring")
        m.force(hang, -d.yaw * turn.q[0] - 0.05 * d.yaw * turn.v[0], coordinate="rz", name=f"{name}.{side}.yaw")
        for axle, along in (("1", -0.5 * d.axles), ("2", 0.5 * d.axles)):
            for hand, sense in (("left", 1.0), ("right", -1.0)):
                at = bogie.at(along, 0.5 * sense * d.gauge, -d.floor)
                lifted = maximum(lifted, _wheel(m, f"{name}.{side}.{hand}{axle}", at, d, sense, weight / 8.0))
    m.output(f"{name}.lifted", lifted, unit="m")
    return car


def _wheel(m: Model, name: str, at: Any, d: CarData, sense: float, weight: float) -> Expr:
    """A wheel on its rail: a cone of the tread, a flange beyond the clearance, nothing beyond its tip; it only pushes.  Its height above the rail."""
    s = m.sensor(name, at)
    y = sense * (s.y - sense * 0.5 * d.gauge)  # towards the flange
    tip = d.clearance + d.flange / d.flange_slope
    rise = d.tread * minimum(maximum(y, -0.05), d.clearance) + d.flange_slope * minimum(
        maximum(y - d.clearance, 0.0), d.flange / d.flange_slope
    )
    slope = where(y < d.clearance, where(y > -0.05, d.tread, 0.0), where(y < tip, d.flange_slope, 0.0))
    depth = rise - s.z + weight / d.wheel
    push = maximum(d.wheel * maximum(depth, 0.0) * (1.0 - d.wheel_damping * s.velocity.z), 0.0)
    rub = -d.friction * push * tanh(s.velocity.y / 0.05)
    m.load(name, at, force=(0.0, rub - sense * slope * push, push))
    return s.z - rise - weight / d.wheel


def _buffers(
    m: Model, car: Body, d: CarData, device: CrushDevice, dome: tuple[float, float], sense: float, off: tuple[float, float]
) -> None:
    """The two side buffers of an end, ahead (+1) or behind (−1): heads that slide along the car and push its device in."""
    end = "nose" if sense > 0.0 else "tail"
    deep, radius = dome
    for hand, side in (("left", d.buffers), ("right", -d.buffers)):
        name = f"{car.name}.{end}.{hand}"
        shape = ellipsoid(deep, radius, radius, colour="#e4572e")
        head = m.body(name, mass=d.head, inertia=(3.0, 2.0, 2.0), shape=shape)
        stem = cylinder(0.5 * radius, d.plunger - deep, axis="x", colour="#9aa0a6")
        head.shapes.append(stem.at(-0.5 * sense * (d.plunger - deep), 0.0, 0.0))
        head.add_collision(ellipsoid(deep, radius, radius), f"{car.name}.{end}.head")
        place = car.at(sense * (0.5 * d.length + d.plunger - deep), side + off[0], off[1])
        slide = m.sequence(name, place, head, ["Tx"])
        x = slide.coordinate("x")
        force = device.act(m, name, -sense * x.q[0], -sense * x.v[0])
        m.force(slide, sense * force, coordinate="x", name=f"{name}.device")


def _interface(m: Model, i: int, face: float, off: tuple[float, float]) -> None:
    """How far two ends have moved beside each other, and whether their heads have passed."""
    climb: Any = 0.0
    sway: Any = 0.0
    for hand in ("left", "right"):
        a, b = m.bodies[f"car{i}.nose.{hand}"], m.bodies[f"car{i + 1}.tail.{hand}"]
        s = m.sensor(f"interface{i}.{hand}.sensor", b, relative_to=a)
        m.output(f"interface{i}.{hand}.passed", where(absolute(s.z) < face, where(absolute(s.y) < face, 0.0, 1.0), 1.0), unit="1")
        climb, sway = climb + 0.5 * s.z, sway + 0.5 * s.y
    m.output(f"interface{i}.climb", climb - off[1], unit="m")
    m.output(f"interface{i}.sway", sway - off[0], unit="m")


def _half(end: CrushDevice) -> CrushDevice:
    """A device with half of the force, that holds what comes out of it."""
    return replace(
        end, traction=HOLDS * 0.5 * end.levels[0] if end.traction == 0.0 else 0.5 * end.traction, levels=tuple(0.5 * f for f in end.levels), stiffness=tuple(0.5 * k for k in end.stiffness),
        bottoming=None if end.bottoming is None else 0.5 * end.bottoming,
    )  # fmt: skip


__all__ = ["CarData", "END", "spatial_train"]
