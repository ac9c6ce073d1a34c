"""Closed-loop machines of the energy-consistent engine, with the data of S. Uhlar's thesis on energy-consistent time integration.

The free-floating planar 3-RRR manipulator (Sec. 5.2) and the radio telescope driven by a spindle (Sec. 5.3.3).  Where the thesis does not
give the geometry, it is chosen so that all published lengths, masses and angles are met.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ..analysis.assembled_system import AssembledSystem
from ..formalisms.elements.augmentation import JointAngle, PlanarJointAngle, Screw
from ..formalisms.elements.carriers import Ground
from ..formalisms.elements.element import Symbols
from ..formalisms.elements.pairs import Freedom, Pair, PlanarRevolute, Revolute, Rows, numbers
from ..formalisms.elements.potentials import CoordinateForce
from ..formalisms.elements.rigid import DirectorBody, PlanarBody
from ..formalisms.elements.servo import CoordinateServo, hat, polynomial9, ramp_cruise_ramp
from ..symbolic.expr import Expr
from ..symbolic.vectors import AXES, NULL

GRAVITY = 9.81

#: Angles of the first links against the base, of the second against the first links, of the end platform against the first leg (rad).
FIRST_LINKS = (-1.340040319, 0.754354783, 2.848749885)
SECOND_LINKS = 2.555907111


def _torque(t: Expr, x: Expr, v: Expr, c: Any) -> Expr:
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
        motor = CoordinateForce(_torque, {"peak": 1, "rise": 1, "fall": 1})
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


def radio_telescope(turn: float = 2.0 * math.pi) -> AssembledSystem:
    """Radio telescope (E5): a platform turns about the vertical, a spindle with a nut on the platform lifts the dish.

    ``turn`` (rad) is the whole rotation of the spindle in the first 2 s; the platform speeds up until 2 s, cruises at 0.44π rad/s and rests
    at 4 s.  The inputs ``drive.platform.input`` and ``drive.spindle.input`` are u of the thesis; the motors' torques are −u.
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
    closure = PointOnLine()
    s.add(closure, "closure", {"a": body["platform"], "b": body["nut"]}, closure.place(B, hinge_axis, q["platform"], q["nut"]))
    s.add(CoordinateServo(_platform_motion, {"speed": 1}), "drive.platform", {"x": angle}, {"speed": 2.0 * math.pi * 0.22})
    s.add(CoordinateServo(_spindle_motion, {"turn": 1}), "drive.spindle", {"x": turned}, {"turn": turn})
    return s


__all__ = ["PointOnLine", "planar_manipulator", "radio_telescope"]
