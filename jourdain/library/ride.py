"""Oscillators and plane vehicles over a bump: linear models whose solutions are known exactly."""

from __future__ import annotations

from typing import Any

from ..model.joints import Joint
from ..model.model import Model
from ..model.shapes import box, cylinder
from ..symbolic.expr import Expr
from ..symbolic.functions import sin, where


def half_sine_bump(m: Model, name: str, height: Any, length: Any, speed: Any, start: Any) -> Expr:
    """Height of the road under an axle at time t: a half sine met at ``start`` s; its kinks are events of the model."""
    after = m.time - start
    passage = length / speed
    m.event(f"{name}.begins", after)
    m.event(f"{name}.ends", after - passage)
    inside = where(after > 0, where(after < passage, 1.0, 0.0), 0.0)
    return inside * height * sin(3.141592653589793 * after / passage)


def quarter_car(
    body: float = 300.0, wheel: float = 40.0, spring: float = 18000.0, damper: float = 1200.0, tyre: float = 180000.0,
    height: float = 0.05, length: float = 0.5, speed: float = 10.0, start: float = 0.1,
) -> Model:  # fmt: skip
    """A quarter car over a half-sine bump (benchmark B11); displacements from static equilibrium, the tyre may pull.

    ``wheel.displacement`` is the wheel's height, ``suspension.displacement`` the body's above the wheel; outputs ``z_s``, ``z_u``,
    ``road`` and ``tyre_force``.
    """
    m = Model("quarter car", gravity=(0, 0, 0))
    ms, mu = m.parameters("kg", body=body, wheel=wheel)
    (k, kt), c = m.parameters("N/m", spring=spring, tyre=tyre), m.parameter("damper", damper, "N s/m")
    H, L = m.parameters("m", height=height, length=length)
    v, t0 = m.parameter("speed", speed, "m/s"), m.parameter("start", start, "s")
    hub, chassis = m.body("wheel", mass=mu), m.body("body", mass=ms)
    # drawn apart: both displacements are counted from rest, where the bodies' frames are in one place
    hub.shapes.append(cylinder(0.3, 0.2, axis="y", colour="#2b2f36"))
    chassis.shapes.append(box(1.0, 0.6, 0.25).at(0, 0, 0.75))
    zu = m.prismatic("wheel", m.ground, hub, axis="z")
    travel = m.prismatic("suspension", hub, chassis, axis="z")
    m.joint_spring(travel, k, damping=c)
    road = half_sine_bump(m, "bump", H, L, v, t0)
    force = kt * (road - zu.position)
    m.force(zu, force, name="tyre")
    m.output("road", road, unit="m")
    m.output("tyre_force", force, unit="N")
    m.output("z_u", zu.position, unit="m")
    m.output("z_s", zu.position + travel.position, unit="m")
    return m


def half_car(
    body: float = 600.0, inertia: float = 900.0, wheels: tuple[float, float] = (40.0, 40.0), front: float = 1.2, rear: float = 1.5,
    springs: tuple[float, float] = (18000.0, 20000.0), dampers: tuple[float, float] = (1200.0, 1300.0),
    tyres: tuple[float, float] = (180000.0, 180000.0), height: float = 0.05, length: float = 0.5, speed: float = 10.0, start: float = 0.1,
) -> Model:  # fmt: skip
    """A half car over a half-sine bump (benchmark B11), linear in the pitch; displacements from static equilibrium.

    The joint ``body`` has the height z and the pitch ry (positive nose-down, axles ``front`` and ``rear`` m from the centre of
    mass); ``wheel1`` is the front wheel, ``wheel2`` the rear one, which meets the bump (a + b)/v later.
    """
    m = Model("half car", gravity=(0, 0, 0))
    mb, I = m.parameter("body", body, "kg"), m.parameter("inertia", inertia, "kg m^2")
    a, b = m.parameters("m", front=front, rear=rear)
    H, L = m.parameters("m", height=height, length=length)
    v, t0 = m.parameter("speed", speed, "m/s"), m.parameter("start", start, "s")
    chassis = m.body("body", mass=mb, inertia=(I, I, I))
    bounce = m.sequence("body", m.ground, chassis, ["Tz", "Ry"])
    for i, arm, meets in ((1, -a, t0), (2, b, t0 + (a + b) / v)):
        k, kt = m.parameters("N/m", **{f"spring{i}": springs[i - 1], f"tyre{i}": tyres[i - 1]})
        c = m.parameter(f"damper{i}", dampers[i - 1], "N s/m")
        hub = m.body(f"wheel{i}", mass=m.parameter(f"wheel{i}", wheels[i - 1], unit="kg"))
        zu = m.prismatic(f"wheel{i}", m.ground, hub, axis="z")
        road = half_sine_bump(m, f"bump{i}", H, L, v, meets)
        m.force(zu, kt * (road - zu.position), name=f"tyre{i}")
        _strut(m, bounce, zu, arm, k, c, f"strut{i}")
    return m


def _strut(m: Model, bounce: Joint, wheel: Joint, arm: Any, k: Any, c: Any, name: str) -> None:
    """Spring and damper between the body's corner at z + arm·θ and a wheel."""
    z, pitch = bounce.coordinate("z"), bounce.coordinate("ry")
    stretch = z.q[0] + arm * pitch.q[0] - wheel.position
    rate = z.v[0] + arm * pitch.v[0] - wheel.velocity
    force = -k * stretch - c * rate
    m.force(bounce, force, coordinate="z", name=f"{name}.lift")
    m.force(bounce, arm * force, coordinate="ry", name=f"{name}.pitch")
    m.force(wheel, -force, name=f"{name}.wheel")


def bathe_oscillator(
    k1: float = 1e7, k2: float = 1.0, masses: tuple[float, float] = (1.0, 1.0), frequency: float = 1.2, amplitude: float = 1.0
) -> Model:
    """Bathe and Noh's stiff oscillator (benchmark B10): a massless node driven by sin ωt, springs k₁, k₂ and two masses in a row.

    ``stiff.displacement`` and ``soft.displacement`` are the springs' elongations; outputs ``u2``, ``u3`` and the driving force
    ``R`` = k₁(u₁ − u₂).
    """
    m = Model("stiff oscillator", gravity=(0, 0, 0))
    K1, K2 = m.parameters("N/m", k1=k1, k2=k2)
    w, A = m.parameter("frequency", frequency, "rad/s"), m.parameter("amplitude", amplitude, "m")
    node, second, third = m.body("node"), m.body("mass2", mass=masses[0]), m.body("mass3", mass=masses[1])
    driven = m.prismatic("node", m.ground, node, axis="x")
    m.drive(driven, lambda t: A * sin(w * t))
    stiff = m.prismatic("stiff", node, second, axis="x")
    soft = m.prismatic("soft", second, third, axis="x")
    m.joint_spring(stiff, K1)
    m.joint_spring(soft, K2)
    u2 = driven.position + stiff.position
    m.output("u2", u2, unit="m")
    m.output("u3", u2 + soft.position, unit="m")
    m.output("v2", driven.velocity + stiff.velocity, unit="m/s")
    m.output("v3", driven.velocity + stiff.velocity + soft.velocity, unit="m/s")
    m.output("R", -K1 * stiff.position, unit="N")
    return m


def spring_pendulum(mass: float = 1.0, stiffness: float = 1e6, length: float = 1.0, gravity: float = 9.81) -> Model:
    """A point mass on a massless spring in the xy plane, y up (benchmark B10); the joint ``mass`` has its x and y.

    The spring from the origin is free at ``length``; its force is the output ``spring_force`` (N, positive in tension).
    """
    m = Model("spring pendulum", gravity=(0, -gravity, 0))
    M, k, L = m.parameter("mass", mass, "kg"), m.parameter("stiffness", stiffness, "N/m"), m.parameter("length", length, "m")
    bob = m.body("bob", mass=M)
    m.sequence("mass", m.ground, bob, ["Tx", "Ty"])
    spring = m.spring("spring", m.ground, bob, stiffness=k, length=L)
    m.output("spring_force", k * (spring.length - L), unit="N")
    return m
