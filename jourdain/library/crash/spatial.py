"""Trains in space: cars on bogies, end frames that push and slide, anti-climbers, wheels that may leave the rail.

The least that shows overriding (one car climbs onto the next) and zig-zag buckling (cars leave the line to both sides in turn), and what stops them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from ...model.bodies import Body
from ...model.model import Model
from ...model.shapes import box
from ...symbolic.expr import Expr
from ...symbolic.functions import absolute, maximum, minimum, sqrt, tanh, where
from .crush import CrushDevice, crush_device
from .device import positive


@dataclass(frozen=True)
class CarData:
    """A car in space (SI units): masses, sizes, suspension, wheels on rails."""

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


#: End of a car: three steps, then the survival cell.
END = crush_device(levels=[1.5e6, 2.0e6, 3.0e6], ends=[0.2, 0.6, 1.2], stiffness=6e7, bottoming=3e7, name="end frame")


def spatial_train(
    cars: int = 2, speed: Any = "40 km/h", anti_climbers: bool = True, lift: Any = 0.06, shift: Any = 0.0, end: CrushDevice = END, data: CarData | None = None,
    ramp: float = 0.4, face: float = 0.25, ribs: float = 3e7, gravity: float = 9.81,
) -> Model:  # fmt: skip
    """A rake of cars on bogies that runs into a wall; every car is free in all directions.

    lift, shift: how much higher, and how far to the side, the end of each second car meets its neighbour (m), the imperfection that grows.
    Ends push by the device ``end`` at a left and a right side buffer, each a contact pair of faces ``face`` m high: a pair whose faces have
    passed each other pushes no more.  Where faces are beside each other by e, what is crushed forms a ramp, and the force leans by e/``ramp``.
    anti_climbers: ribs that hold faces where they first touch, with the stiffness ``ribs`` (N/m) as far as half of the axial force.

    Channels: ``interface1.climb`` (m, how far the ends have moved vertically), ``interface1.sway``, ``car1.lifted``: the highest wheel above its rail (m).
    """
    d = data or CarData()
    n = cars if isinstance(cars, int) and cars >= 1 else int(positive(cars, "spatial_train: cars", "1"))
    v = positive(speed, "spatial_train: speed", "m/s", "without speed there is no collision")
    up, aside = positive(lift, "spatial_train: lift", "m", zero=True), positive(shift, "spatial_train: shift", "m", zero=True)
    m = Model("train in space", gravity=(0.0, 0.0, -gravity))
    bodies = [_car(m, f"car{i}", d, -(n - i) * (d.length + 1.0) - 0.5 * d.length, v, gravity) for i in range(1, n + 1)]
    for i in range(1, n):
        odd = 1.0 if i % 2 else -1.0
        _interface(m, f"interface{i}", bodies[i - 1], bodies[i], d, end, (odd * aside, odd * up), anti_climbers, ramp, face, ribs)
    nose = m.sensor("nose", bodies[-1].at(0.5 * d.length, 0.0, 0.0))
    force = end.act(m, "front", nose.x, nose.velocity.x)
    m.load("front", bodies[-1].at(0.5 * d.length, 0.0, 0.0), force=(-force, 0.0, 0.0))
    return m


def _car(m: Model, name: str, d: CarData, x: float, speed: float, g: float) -> Body:
    """A car body free in space on two bogies that move up and down and turn under it, each with four wheels."""
    I = [d.mass / 12.0 * s for s in (d.width**2 + d.height**2, d.length**2 + d.height**2, d.length**2 + d.width**2)]
    car = m.body(name, mass=d.mass, inertia=tuple(I), com=(0.0, 0.0, 0.5), colour="#4a7fb0" if int(name[3:]) % 2 else "#8fb3d5")
    car.shapes.append(box(d.length, d.width, d.height).at(0.0, 0.0, 0.5 * d.height))
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


def _interface(
    m: Model, name: str, rear: Body, front: Body, d: CarData, end: CrushDevice, off: tuple[float, float], ribbed: bool, ramp: float, face: float, ribs: float
) -> None:  # fmt: skip
    """Two ends that meet at side buffers; half of a device each."""
    half = _half(end)
    climb: Any = 0.0
    sway: Any = 0.0
    for hand, side in (("left", d.buffers), ("right", -d.buffers)):
        label = f"{name}.{hand}"
        a, b = rear.at(0.5 * d.length, side, 0.0), front.at(-0.5 * d.length, side + off[0], off[1])
        s = m.sensor(f"{label}.sensor", b, relative_to=a)
        f = half.act(m, label, 1.0 - s.x, -s.velocity.x)
        there = where(absolute(s.z) < face, where(absolute(s.y) < 2.0 * face, 1.0, 0.0), 0.0)
        push = f * there
        lean = push / ramp
        forces: list[Any] = [push, lean * s.y, lean * s.z]
        slide = sqrt(s.velocity.y**2 + s.velocity.z**2 + 1e-4)
        for i, (e, v) in enumerate(((s.y, s.velocity.y), (s.z, s.velocity.z)), 1):
            hold = -0.1 * push * v / slide
            if ribbed:
                met = m.memory(f"{label}.met_{'yz'[i - 1]}", off[i - 1], unit="m")
                m.update(met, where(f > 0.0, met, e))
                limit = 1.5 * push
                hold = hold + minimum(maximum(-ribs * (e - met) - 0.02 * ribs * v, -limit), limit)
            forces[i] = forces[i] + hold
        m.load(label, b, force=forces, axes=a, reaction=a)
        climb, sway = climb + 0.5 * s.z, sway + 0.5 * s.y
        m.output(f"{label}.passed", 1.0 - there, unit="1")
    m.output(f"{name}.climb", climb - off[1], unit="m")
    m.output(f"{name}.sway", sway - off[0], unit="m")


def _half(end: CrushDevice) -> CrushDevice:
    """A device with half of the force."""
    return replace(
        end, levels=tuple(0.5 * f for f in end.levels), stiffness=tuple(0.5 * k for k in end.stiffness),
        bottoming=None if end.bottoming is None else 0.5 * end.bottoming,
    )  # fmt: skip


__all__ = ["CarData", "END", "spatial_train"]
