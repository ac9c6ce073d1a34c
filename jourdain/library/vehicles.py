"""The plane vehicle with a driver of Bestle, Eberhard and Schiehlen, over a bump: a model for the design of suspensions."""

from __future__ import annotations

from typing import Any

from ..errors import ModelError
from ..model.bodies import Body, Frame
from ..model.model import Model
from ..model.shapes import box, cylinder, sphere
from ..symbolic.expr import Expr
from ..symbolic.functions import cos, where

_TURN = 2.0 * 3.141592653589793
#: Of each law of the dampers: unit, first values front and rear, largest value.
DAMPERS: dict[str, tuple[str, tuple[float, float], float]] = {
    "linear": ("N s/m", (2500.0, 2800.0), 2e4),
    "cubic": ("N s^3/m^3", (4000.0, 4500.0), 1e5),
}
#: Height of the springs' upper ends above the axles at rest, m.
STRUT = 0.4


def plane_vehicle(damper: str = "cubic", height: float = 0.1, length: float = 3.0, speed: float = 20.0, active: float = 0.0) -> Model:
    """A car of four bodies in the plane with the coordinates y = (x, z, α, φ, w, z_S) of W. Schiehlen, *Symbolic Computations in Multibody
    Systems*, Fig. 15: the body's place and pitch, the front axle on a swing arm, the rear one on a guide, the driver on a seat.

    It drives with ``speed`` (m/s) over a bump of ``height`` and ``length`` (m), from static equilibrium.  Springs (34) and dampers (35),
    or with ``damper="cubic"`` (36), act between P on the body and Q on the axle, and beside them an active element (37), the skyhook
    damper d_A ż_P.  The design p = (d_F, d_R, c_F, c_R, h_3, d_A) are parameters with bounds.  The source gives no data: all numbers
    are proposed ones, both sides of the car together.  Outputs: ``front.travel``, ``rear.travel`` (z_P − z_Q from rest, m), ``front.tyre``,
    ``rear.tyre`` (z_Q − z_R from rest, m); sensor ``driver``.
    """
    if damper not in DAMPERS:
        raise ModelError(f"plane_vehicle: damper '{damper}' is unknown; there are {' and '.join(DAMPERS)}")
    unit, (first, second), most = DAMPERS[damper]
    m = Model("plane vehicle")
    d_F = m.parameter("d_F", first, unit, (0.02 * first, most), "front damper")
    d_R = m.parameter("d_R", second, unit, (0.02 * second, most), "rear damper")
    c_F = m.parameter("c_F", 36e3, "N/m", (8e3, 2e5), "front spring")
    c_R = m.parameter("c_R", 40e3, "N/m", (8e3, 2e5), "rear spring")
    h_3 = m.parameter("h_3", 0.25, "m", (0.05, 0.6), "height of the body's centre of mass above the axles")
    d_A = m.parameter("d_A", active, "N s/m", (0.0, 2e4), "skyhook damper")
    axle_F, axle_R, mass, driver = m.parameters("kg", m_F=80.0, m_R=90.0, m_3=1200.0, m_S=80.0)
    J, (a, b, arm) = m.parameter("J_3", 1800.0, "kg m^2"), m.parameters("m", a=1.2, b=1.5, arm=0.45)
    c_T, c_S, d_S = m.parameter("c_T", 360e3, "N/m"), m.parameter("c_S", 9e3, "N/m"), m.parameter("d_S", 500.0, "N s/m")
    H, L = m.parameter("bump_height", height, "m"), m.parameter("bump_length", length, "m")

    hull = [box(4.2, 1.5, 0.5).at(-0.1, 0, 0.4), box(0.04, 1.3, 0.3).at(0.55, 0, 0.78)]
    car = m.body("body", mass=mass, com=(0, 0, h_3), inertia=(J, J, J), shape=hull, colour="#4269d0")
    m.sequence("body", m.ground, car, ["Tx", "Tz", "Ry"])
    wheel = cylinder(0.3, 0.2, axis="y")
    front = m.body("front_axle", mass=axle_F, com=(arm, 0, 0), inertia=(2.0, 2.0, 2.0), shape=wheel.at(0.45, -0.8, 0), colour="#3d444d")
    rear = m.body("rear_axle", mass=axle_R, shape=wheel.at(0, -0.8, 0), colour="#3d444d")
    m.revolute("swing", car.frame("pivot", (a - arm, 0, 0)), front, axis="y")
    m.prismatic("guide", car.frame("guide", (-b, 0, 0)), rear, axis="z")
    man = m.body(
        "driver", mass=driver, shape=[sphere(0.13).at(0, -0.35, 0.62), cylinder(0.17, 0.5, axis="z").at(0, -0.35, 0.25)], colour="#efb118"
    )
    seat = m.prismatic("seat", car.frame("seat", (0.1, 0, 0.3)), man, axis="z")
    m.sensor("driver", man)

    g = 9.81
    weights = {"front": ((mass + driver) * b + driver * 0.1) * g / (a + b), "rear": ((mass + driver) * a - driver * 0.1) * g / (a + b)}
    m.joint_spring(seat, c_S, damping=d_S)
    m.force(seat, driver * g, name="seat.preload")
    wheels: dict[str, tuple[Any, ...]] = {
        "front": (car.frame("P_front", (a, 0, STRUT)), front.frame("Q", (arm, 0, 0)), c_F, d_F, axle_F),
        "rear": (car.frame("P_rear", (-b, 0, STRUT)), rear, c_R, d_R, axle_R),
    }
    for name, (P, Q, c, d, axle) in wheels.items():
        _strut(m, name, P, Q, weights[name], c, d, d_A, damper)
        _tyre(m, name, Q, weights[name] + axle * g, c_T, lambda x: _bump(x - (a + 1.0), H, L))
    m.initial["body.x_rate"] = speed
    return m


def _strut(m: Model, name: str, P: Frame, Q: Body | Frame, weight: Expr, c: Expr, d: Expr, d_A: Expr, damper: str) -> None:
    """Spring, damper and active element between the body and an axle."""
    upper = m.sensor(f"{name}.P", P)

    def tension(z: Expr, rate: Expr, t: Expr) -> Expr:
        law = d * rate if damper == "linear" else d * rate**3
        return c * (z - STRUT) + law + d_A * upper.velocity[2] - weight

    strut = m.link(name, Q, P, law=tension)
    m.output(f"{name}.travel", strut.length - STRUT, unit="m")


def _tyre(m: Model, name: str, Q: Body | Frame, load: Expr, c: Expr, road: Any) -> None:
    """The vertical spring of a tyre that may pull."""
    hub = m.sensor(f"{name}.Q", Q)
    squeeze = hub.z - road(hub.x)
    m.load(f"{name}.road", Q, force=(0, 0, load - c * squeeze))
    m.output(f"{name}.tyre", squeeze, unit="m")


def _bump(x: Expr, height: Expr, length: Expr) -> Expr:
    """One period of a raised cosine."""
    return where(x > 0, where(x < length, 0.5 * height * (1.0 - cos(_TURN * x / length)), 0.0), 0.0)


__all__ = ["plane_vehicle"]
