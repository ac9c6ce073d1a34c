"""The hexapod in time: tool carrier and struts as bodies on elastic joints, driven along a path, under the loads of machining."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import ModelError
from ...model.bodies import Body, Frame
from ...model.model import Model
from ...model.shapes import cylinder
from ...symbolic.expr import Expr
from ...symbolic.functions import cos, sin, sqrt, where
from .geometry import SIDES, VARIANTS, Hexapod

#: Length (m), masses (kg) of plunger and quill, damping of a joint (N s/m).
LENGTH, PLUNGER, QUILL, DAMPING = 0.5, 20.0, 25.0, 2e3
#: Mass and moments of inertia of the tool carrier.
TOOL_MASS, TOOL_INERTIA = 150.0, (5.9, 5.9, 1.2)
#: Radius of the circle (m), and when it begins and ends: run-up and run-down take a second each.
CIRCLE, BEGIN, END = 0.1, 2.0, 7.0
#: The part of the circle with constant speed.
STATIONARY = (3.0, 6.0)


def hexapod_machine(
    shape: Hexapod | None = None, struts: str = "bodies", force: Any = (0.0, 0.0, 0.0), torque: float = 1000.0, path: str = "circle"
) -> Model:
    """The machine tool of Kübler, Henninger and Eberhard with its joint angle ``zeta`` as a parameter.

    struts: "bodies": a plunger of five freedoms and a quill slaved to it by its actuator for each strut, in elastic joints at both ends (36 freedoms); "springs": six
        springs whose free lengths the actuators set, which is the same at rest (6 freedoms).
    path: "circle": to (−0.1, 0, 0) m from 1 to 2 s, then a circle of 0.1 m until 7 s with the loads; "rest": the centre, without loads.

    Actuators follow the inverse kinematics of the path without feedback; what loads do is the result.  Outputs: ``turn`` (γ, rad) and ``away.x``, ``away.y``,
    ``away.z`` (m) from the path.  Gravity is left out, as in the source.
    """
    given = shape or Hexapod("I", 1.44)
    if struts not in ("bodies", "springs"):
        raise ModelError(f"hexapod_machine: struts {struts!r} are unknown; use 'bodies' or 'springs'")
    if path not in ("circle", "rest"):
        raise ModelError(f"hexapod_machine: path {path!r} is unknown; use 'circle' or 'rest'")
    m = Model("hexapod machine", gravity=(0, 0, 0))
    zeta = m.parameter("zeta", given.zeta, "rad", (0.0, 0.5 * np.pi), "angle by which tool joints are turned")
    k = m.parameter("k", given.k, "N/m", (1e5, 1e11), "stiffness of a strut with both its joints")
    d = m.parameter("d", DAMPING, "N s/m", (0.0, 1e7), "damping of a joint")
    tool = m.body("tool", mass=TOOL_MASS, inertia=TOOL_INERTIA, shape=[cylinder(0.1, 0.65, axis="z"), cylinder(0.02, 0.2, axis="z").at(0, 0, -0.42)], colour="#4269d0")  # fmt: skip
    m.sequence("tool", m.ground, tool, ["Tx", "Ty", "Tz", "Rx", "Ry", "Rz"])
    p, rate = _path(m.time) if path == "circle" else ((0.0,) * 3, (0.0,) * 3)
    on = _rise((m.time - BEGIN) / 0.2) if path == "circle" else 0.0
    m.load("machining", tool, force=tuple(on * f for f in force), torque=(0.0, 0.0, on * torque))
    for i, (turn, theta, side) in enumerate(zip(VARIANTS[given.variant], given.azimuths.tolist(), SIDES.tolist(), strict=True)):
        a = (given.R * cos(theta + turn * zeta), given.R * sin(theta + turn * zeta), side * given.h)
        b = tuple(given.base_joints[i].tolist())
        ends = tool.frame(f"joint{i + 1}", a), m.ground.frame(f"base{i + 1}", b)
        (_strut if struts == "bodies" else _spring)(m, i + 1, ends, a, b, p, rate, k, d)
    for axis, x in zip("xyz", p, strict=True):
        m.output(f"away.{axis}", m.joints["tool"].coordinate(axis).q[0] - x, "m")
    m.output("turn", m.joints["tool"].coordinate("rz").q[0], "rad")
    return m


def _rise(s: Expr) -> Expr:
    """From 0 to 1 while s goes from 0 to 1, twice continuously differentiable."""
    inside = s**3 * (10.0 - 15.0 * s + 6.0 * s**2)
    return where(s < 0.0, 0.0, where(s < 1.0, inside, 1.0))


def _path(t: Expr) -> tuple[tuple[Expr, ...], tuple[Any, ...]]:
    """Place and velocity of the tool that the actuators aim at."""
    speed = 0.5 * np.pi
    s, late = t - BEGIN, END - t
    run = s**4 * (2.5 - 3.0 * s + s**2)
    down = late**4 * (2.5 - 3.0 * late + late**2)
    angle = where(s < 0.0, 0.0, where(s < 1.0, speed * run, where(late > 1.0, speed * (s - 0.5), where(late > 0.0, 2.0 * np.pi - speed * down, 2.0 * np.pi))))  # fmt: skip
    turning = where(s < 0.0, 0.0, where(s < 1.0, speed * _rise(s), where(late > 1.0, speed, speed * _rise(late))))
    out = CIRCLE * _rise(t - 1.0)
    moving = where(t < 1.0, 0.0, where(t < 2.0, 30.0 * CIRCLE * (t - 1.0) ** 2 * (2.0 - t) ** 2, 0.0))
    place = (-out * cos(angle), -out * sin(angle), 0.0 * t)
    return place, (-moving * cos(angle) + out * turning * sin(angle), -moving * sin(angle) - out * turning * cos(angle), 0.0)


def _length(a: Any, b: Any, p: Any) -> tuple[Expr, list[Expr]]:
    """The length of a strut where the tool is at p without rotation, and its direction from base to tool."""
    d = [x + y - z for x, y, z in zip(p, a, b, strict=True)]
    s = sqrt(sum((e * e for e in d[1:]), d[0] * d[0]))
    return s, [e / s for e in d]


def _spring(m: Model, i: int, ends: tuple[Frame, Frame], a: Any, b: Any, p: Any, rate: Any, k: Expr, d: Expr) -> None:
    """A strut as one spring whose free length the actuator sets; its damper is that of two joints in series."""
    free, u = _length(a, b, p)
    speed = sum((x * v for x, v in zip(u[1:], rate[1:], strict=True)), u[0] * rate[0])
    m.link(f"strut{i}", *ends, law=lambda z, dz, t: k * (z - free) + 0.5 * d * (dz - speed))


def _strut(m: Model, i: int, ends: tuple[Frame, Frame], a: Any, b: Any, p: Any, rate: Any, k: Expr, d: Expr) -> None:
    """Plunger and quill: x along the strut, from base to tool; elastic joints of twice the stiffness at both ends."""
    s0, u = _length(a, b, (0.0, 0.0, 0.0))
    level = sqrt(u[0] * u[0] + u[1] * u[1])
    v = [-u[1] / level, u[0] / level, 0.0 * u[0]]
    w = [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]]
    middle = [x - 0.5 * LENGTH * y for x, y in zip(a, u, strict=True)]
    frame = m.ground.frame(f"strut{i}", middle, rotation=[[u[r], v[r], w[r]] for r in range(3)])
    plunger = _rod(m, f"plunger{i}", PLUNGER, 0.03, "#9498a0")
    quill = _rod(m, f"quill{i}", QUILL, 0.045, "#3d444d")
    m.sequence(f"strut{i}", frame, plunger, ["Tx", "Ty", "Tz", "Rz", "Ry"])
    actuator = m.prismatic(f"actuator{i}", plunger.frame("back", (LENGTH - s0, 0, 0)), quill, axis=(-1, 0, 0))
    m.drive(actuator, _length(a, b, p)[0] - s0)
    stiff, damp = (2.0 * k,) * 3 + (0.0,) * 3, (d,) * 3 + (0.0,) * 3
    m.bushing(f"tool joint{i}", ends[0], plunger.frame("inner", (0.5 * LENGTH, 0, 0)), stiff, damp)
    m.bushing(f"base joint{i}", ends[1], quill.frame("outer", (-0.5 * LENGTH, 0, 0)), stiff, damp)


def _rod(m: Model, name: str, mass: float, radius: float, colour: str) -> Body:
    across = mass * LENGTH**2 / 12.0
    return m.body(
        name, mass=mass, inertia=(0.5 * mass * radius**2, across, across), shape=cylinder(radius, LENGTH, axis="x"), colour=colour
    )


__all__ = ["STATIONARY", "hexapod_machine"]
