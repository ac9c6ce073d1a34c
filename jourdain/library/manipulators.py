"""Closed-loop machines of the energy-consistent engine.

The free-floating planar 3-RRR manipulator and the radio telescope driven by a spindle have the data of S. Uhlar's thesis on
energy-consistent time integration (Secs. 5.2 and 5.3.3); where the thesis does not give the geometry, it is chosen so that all published
lengths, masses and angles are met.  The Stewart platform is one of common proportions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ..elements.augmentation import JointAngle, JointDisplacement, PlanarJointAngle, Screw
from ..elements.carriers import Ground, right_handed_frame
from ..elements.element import Symbols
from ..elements.pairs import Freedom, Pair, PlanarRevolute, Prismatic, Revolute, Rows, Spherical, Universal, numbers
from ..elements.potentials import CoordinateForce, CoordinatePotential
from ..elements.rigid import DirectorBody, PlanarBody
from ..elements.servo import CoordinateServo, hat, polynomial9, ramp_cruise_ramp
from ..symbolic.expr import Expr
from ..symbolic.vectors import AXES, NULL
from ..systems.assembled.system import AssembledSystem

GRAVITY = 9.81

#: Angles of the first links against the base (rad).
FIRST_LINKS = (-1.340040319, 0.754354783, 2.848749885)


def hat_motor() -> CoordinateForce:
    """A force on a coordinate that rises and falls linearly: constants ``peak`` (N or N m), and ``rise`` and ``fall`` (s), when it is there and over."""
    return CoordinateForce(_peak_hat, {"peak": 1, "rise": 1, "fall": 1})


def _peak_hat(t: Expr, x: Expr, v: Expr, c: Any) -> Expr:
    return c.peak * hat(t, c.rise, c.fall)


def _vertex(side: float, leg: int) -> np.ndarray:
    angle = math.radians((210.0, 330.0, 90.0)[leg])
    return side / math.sqrt(3.0) * np.array([math.cos(angle), math.sin(angle)])


def _leg_angles(leg: int) -> tuple[float, float]:
    """Angles of both links of a leg in the plane, from the places of its ends and the lengths 0.4 m and 0.6 m."""
    a, b = 0.4, 0.6
    reach = _vertex(0.4, leg) - _vertex(1.0, leg)
    d = float(np.hypot(*reach))
    inner = math.acos((a * a + d * d - b * b) / (2.0 * a * d))
    first = math.atan2(reach[1], reach[0]) - inner
    knee = a * np.array([math.cos(first), math.sin(first)])
    return first, math.atan2(*(reach - knee)[::-1])


def planar_manipulator(factor: float = 1.0, peaks: Sequence[float] = (-36.0, -24.0, 20.0)) -> AssembledSystem:
    """Free-floating planar 3-RRR manipulator (E4): a base of 1 m and an end platform of 0.4 m joined by three legs of two links.

    Motors between base and first links give hat torques of ``factor`` times ``peaks`` (N m) that end after 0.5 s.  Angles are ``angle1`` …
    ``angle3``; hinges 1–3 join base and links, 4–6 the links, 7–9 links and end platform.
    """
    s = AssembledSystem("3-RRR manipulator")
    data = {**{f"link{i + 1}": (3.0, 0.04) for i in range(3)}, **{f"link{i + 4}": (4.0, 0.12) for i in range(3)}}
    q = {"base": PlanarBody.coordinates_of(), "platform": PlanarBody.coordinates_of()}
    places: dict[int, np.ndarray] = {}
    angles: list[tuple[float, float]] = []
    for leg in range(3):
        first, second = _leg_angles(leg)
        start = _vertex(1.0, leg)
        knee = start + 0.4 * np.array([math.cos(first), math.sin(first)])
        end = knee + 0.6 * np.array([math.cos(second), math.sin(second)])
        q[f"link{leg + 1}"] = PlanarBody.coordinates_of(0.5 * (start + knee), first)
        q[f"link{leg + 4}"] = PlanarBody.coordinates_of(0.5 * (knee + end), second)
        places |= {leg + 1: start, leg + 4: knee, leg + 7: end}
        angles.append((first, FIRST_LINKS[leg]))
    numbers_of = {"base": (4.0, 0.12), "platform": (8.0, 0.0816), **data}
    body = {name: s.coordinates(name, 6, q[name]) for name in numbers_of}
    for name, (mass, inertia) in numbers_of.items():
        s.add(PlanarBody(), f"inertia.{name}", {"body": body[name]}, PlanarBody.numbers(mass, inertia))
    for leg in range(3):
        chain = ("base", f"link{leg + 1}", f"link{leg + 4}", "platform")
        for k, (a, b) in enumerate(pairwise(chain)):
            number = leg + 1 + 3 * k
            hinge = PlanarRevolute()
            s.add(hinge, f"hinge{number}", {"a": body[a], "b": body[b]}, hinge.place(places[number], None, q[a], q[b]))
    for leg in range(3):
        link, (exact, wanted) = f"link{leg + 1}", angles[leg]
        value = exact + 2.0 * math.pi * round((wanted - exact) / (2.0 * math.pi))
        angle, turn = s.coordinates(f"angle{leg + 1}", 1, value, unit="rad"), PlanarJointAngle()
        s.add(
            turn, f"turn{leg + 1}", {"a": body["base"], "b": body[link], "angle": angle}, turn.place(None, q["base"], q[link], angle=value)
        )
        motor = hat_motor()
        s.add(motor, f"motor{leg + 1}", {"x": angle}, {"peak": factor * peaks[leg], "rise": 0.25, "fall": 0.5})
    return s


class PointOnLine(Pair):
    """The point of body b stays on a line of body a through its point along n: m₁·Δp = m₂·Δp = 0."""

    framed_at_a_only = True

    def constraints(self, s: Symbols) -> Rows:
        """Two rows."""
        gap, axes = self._gap_and_axes(s, s)
        return [(f"lateral.{k + 1}", (axes[k].dot(gap),)) for k in range(2)]

    def freedoms(self, s: Symbols) -> list[Freedom]:
        """Translation along m₁ × m₂, rotation about any axis through the point of b."""
        _, axes = self._gap_and_axes(s, s.mid)
        return [(NULL, axes[0].cross(axes[1])), *((e, NULL) for e in AXES)]

    def _gap_and_axes(self, s: Symbols, p: Any) -> tuple[Any, Any]:
        gap = self.b.point(p, "b", numbers(s, "point_b")) - self.a.point(p, "a", numbers(s, "point_a"))
        return gap, self.a.axes(p, "a", numbers(s, "frame_a"))


def _spindle_motion(t: Expr, c: Any) -> Expr:
    return c.turn * polynomial9(t / 2.0)


def _platform_motion(t: Expr, c: Any) -> Expr:
    return ramp_cruise_ramp(t, 2.0, 3.0, 4.0, c.speed)


def radio_telescope(turn: float = 2.0 * math.pi, ball: bool = False) -> AssembledSystem:
    """Radio telescope (E5): a platform turns about the vertical, a spindle with a nut on the platform lifts the dish.

    ``turn`` (rad) is the whole rotation of the spindle in the first 2 s; the platform speeds up until 2 s, cruises at 0.44π rad/s and rests
    at 4 s.  With ``ball`` a whole ball joint closes the loop, whose row across the plane of the mechanism is redundant.  The inputs ``drive.platform.input`` and ``drive.spindle.input`` are u of the thesis; the motors' torques are −u.
    """
    s = AssembledSystem("radio telescope")
    e1, e3 = np.eye(3)[0], np.eye(3)[2]
    hinge_axis = np.array([0.0, -1.0, 0.0])

    def frame(x: np.ndarray) -> np.ndarray:
        return np.column_stack([x, np.cross(hinge_axis, x), hinge_axis])

    A = -17.5 * e1
    B = A + 13.11623124 * e1
    chord = np.array([math.cos(math.pi / 6.0), 0.0, math.sin(math.pi / 6.0)])
    C = A + 35.0 * chord
    spindle = (C - B) / np.linalg.norm(C - B)
    data = {
        "platform": (np.zeros(3), frame(e1), 3.0, (35.0, 1.0, 35.0)), "dish": (A + 17.5 * chord, frame(chord), 4.0, (35.0, 1.0, 35.0)),
        "spindle": (C - 30.0 * spindle, frame(spindle), 1.0, (60.0, 1.0, 1.0)), "nut": (B, frame(spindle), 1.0, (10.0, 10.0, 10.0)),
    }  # fmt: skip
    q = {name: DirectorBody.coordinates_of(place, R) for name, (place, R, _, _) in data.items()}
    body = {name: s.coordinates(name, 12, q[name]) for name in data}
    for name, (_, _, mass, sides) in data.items():
        e = mass * np.square(sides) / 12.0
        inertia = (e[1] + e[2], e[0] + e[2], e[0] + e[1])
        s.add(DirectorBody(), f"inertia.{name}", {"body": body[name]}, DirectorBody.numbers(mass, inertia, gravity=(0.0, 0.0, -GRAVITY)))
    ground, turning = Revolute(a=Ground()), JointAngle(a=Ground())
    angle = s.coordinates("platform.angle", 1, 0.0, unit="rad")
    s.add(ground, "bearing", {"b": body["platform"]}, ground.place(np.zeros(3), e3, b=q["platform"]))
    s.add(turning, "turn", {"b": body["platform"], "angle": angle}, turning.place(e3, b=q["platform"]))
    for name, a, b, place in (("dish hinge", "platform", "dish", A), ("spindle hinge", "dish", "spindle", C)):
        hinge = Revolute()
        s.add(hinge, name, {"a": body[a], "b": body[b]}, hinge.place(place, hinge_axis, q[a], q[b]))
    screw, turned = Screw(), s.coordinates("spindle.angle", 1, 0.0, unit="rad")
    blocks = {"a": body["spindle"], "b": body["nut"], "displacement": s.coordinates("advance", 1, 0.0, unit="m"), "angle": turned}
    s.add(screw, "screw", blocks, screw.place(B, -spindle, q["spindle"], q["nut"], pitch_per_turn=20.0))
    closure = Spherical() if ball else PointOnLine()
    place = closure.place(B, None if ball else hinge_axis, q["platform"], q["nut"])
    s.add(closure, "closure", {"a": body["platform"], "b": body["nut"]}, place)
    s.add(CoordinateServo(_platform_motion, {"speed": 1}), "drive.platform", {"x": angle}, {"speed": 2.0 * math.pi * 0.22})
    s.add(CoordinateServo(_spindle_motion, {"turn": 1}), "drive.spindle", {"x": turned}, {"turn": turn})
    return s


def _stewart_corners(radius: float, half_angle: float, turned: float) -> np.ndarray:
    """Six points in three couples about the directions ``turned`` + 120° k, ``half_angle`` (rad) to either side."""
    angles = [turned + 2.0 * math.pi / 3.0 * k + sign * half_angle for k in range(3) for sign in (-1.0, 1.0)]
    return np.array([[radius * math.cos(a), radius * math.sin(a), 0.0] for a in angles])


def stewart_platform(
    base_radius: float = 1.0, platform_radius: float = 0.6, height: float = 1.2, half_angle: float = math.radians(12.0),
    mass: float = 40.0, leg_masses: tuple[float, float] = (4.0, 2.0), stiffness: float = 2.0e4, velocity: Sequence[float] = (0.0, 0.0, 0.0),
    omega: Sequence[float] = (0.0, 0.0, 0.0),
) -> AssembledSystem:  # fmt: skip
    """Stewart platform: six legs, each a cylinder on a universal joint, a rod that slides in it, and a ball joint at the platform.

    Thirteen bodies with 6 freedoms in five loops.  Base and platform are hexagons of the given radii (m), corners ``half_angle`` (rad) to
    either side of three directions, those of the platform 60° from the base's; lengths ``length1`` … ``length6`` (m) of the legs are
    coordinates, on which springs of ``stiffness`` (N/m) hold platform and legs against gravity in the start position.
    ``velocity`` and ``omega`` are rates of the platform at the start.

    >>> stewart_platform().report(0.01, reduction="joints")["freedoms"]
    6
    """
    s, gravity = AssembledSystem("Stewart platform"), (0.0, 0.0, -GRAVITY)
    centre, v, w = np.array([0.0, 0.0, height]), np.asarray(velocity, float), np.asarray(omega, float)
    low = _stewart_corners(base_radius, half_angle, 0.0)
    # a leg joins the corners of base and platform that are nearest to each other
    high = centre + np.roll(_stewart_corners(platform_radius, half_angle, math.pi / 3.0), 1, axis=0)
    q = DirectorBody.coordinates_of(centre)
    platform = s.coordinates("platform", 12, q, DirectorBody.rates_of(q, v, w))
    flat = 0.25 * mass * platform_radius**2
    s.add(DirectorBody(), "inertia.platform", {"body": platform}, DirectorBody.numbers(mass, (flat, flat, 2.0 * flat), gravity=gravity))
    lengths = np.linalg.norm(high - low, axis=1)
    for k, (a, b, length) in enumerate(zip(low, high, lengths, strict=True), start=1):
        axis = (b - a) / length
        tip = v + np.cross(w, b - centre)
        turn, slide = np.cross(axis, tip) / length, float(axis @ tip)
        frame = right_handed_frame(axis).T
        parts = {}
        for part, weight, offset, rate in (("cylinder", leg_masses[0], 0.25 * length, 0.0), ("rod", leg_masses[1], 0.75 * length, slide)):
            at = DirectorBody.coordinates_of(a + offset * axis, frame)
            rates = DirectorBody.rates_of(at, np.cross(turn, offset * axis) + rate * axis, turn)
            parts[part] = s.coordinates(f"{part}{k}", 12, at, rates), at
            across = weight * (0.25 * length**2) / 12.0
            numbers_of = DirectorBody.numbers(weight, (across, across, 0.02 * across), gravity=gravity)
            s.add(DirectorBody(), f"inertia.{part}{k}", {"body": parts[part][0]}, numbers_of)
        (cylinder, qc), (rod, qr) = parts["cylinder"], parts["rod"]
        cross, slider, ball, measure = Universal(a=Ground()), Prismatic(), Spherical(), JointDisplacement()
        tangent = np.cross((0.0, 0.0, 1.0), axis)
        s.add(cross, f"cross{k}", {"b": cylinder}, cross.place(a, tangent, b=qc, normal=np.cross(axis, tangent)))
        s.add(slider, f"slider{k}", {"a": cylinder, "b": rod}, slider.place(a, axis, qc, qr))
        s.add(ball, f"ball{k}", {"a": rod, "b": platform}, ball.place(b, None, qr, q))
        extent = s.coordinates(f"length{k}", 1, length, slide, unit="m")
        numbers_of = measure.place(a, axis, qc, qr)
        numbers_of["point_b"] = numbers_of["point_b"] + length * np.array([0.0, 0.0, 1.0])
        s.add(measure, f"measure{k}", {"a": cylinder, "b": rod, "displacement": extent}, numbers_of)
        # virtual work of raising the platform: centres of cylinder and rod stay at a quarter of the length from base and platform
        lean = 0.25 * (1.0 - axis[2] ** 2)
        thrust = GRAVITY * (mass / 6.0 + lean * leg_masses[0] + (1.0 - lean) * leg_masses[1]) / axis[2]
        s.add(CoordinatePotential(), f"spring{k}", {"x": extent}, {"stiffness": stiffness, "rest": length + thrust / stiffness})
    return s


__all__ = ["PointOnLine", "planar_manipulator", "radio_telescope", "stewart_platform"]
