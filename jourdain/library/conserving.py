"""Examples of the energy-consistent engine, with the data of their sources.

From S. Uhlar's thesis on energy-consistent time integration: the dumbbell (chapter 2), the pair with a motor (Sec. 5.1.1), the screw
pair (5.1.2), oscillators with viscous, viscoelastic and plastic elements (5.4), pendulums with friction in the joint (5.4.2, 5.4.8), the
ball on a turning plate (5.5.3) and the two-wheeled robot (5.5.4); closed loops stand in :mod:`.manipulators` and :mod:`.conserving_loops`.
From García Orden & Goicolea's chapter on clearances: pendulums with cavities (7.1) and with play in a revolute joint (7.2).  Each function
returns an :class:`~jourdain.systems.assembled.system.AssembledSystem`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..elements.augmentation import JointAngle, PlanarJointAngle, Screw, WheelSpin, Yaw
from ..elements.carriers import Bar, Ground, Particle, Tetrahedron
from ..elements.clearance import Cavity, RevoluteClearance, SphericalClearance, blob
from ..elements.dissipation import Plastic, Viscoelastic, Viscous
from ..elements.pairs import Cylindrical, PlanarRevolute, Revolute
from ..elements.points import ParallelAxes, PointBody
from ..elements.potentials import CoordinatePotential, Penalty, PointMass, PointPotential
from ..elements.rigid import DirectorBody, PlanarBody
from ..elements.rolling import BallOnPlate, RollingSphere
from ..elements.servo import CoordinateServo, point_to_point
from ..errors import InputError
from ..symbolic.expr import ZERO, Expr
from ..systems.assembled.system import AssembledSystem
from .manipulators import hat_motor

GRAVITY = 9.81


def _lennard_jones(r: Expr, c: Any) -> Expr:
    x = (c.size / r) ** 6
    return c.strength * (x * x - x)


def dumbbell() -> AssembledSystem:
    """Two unit masses in the plane that attract and repel each other by a 12-6 potential (thesis E1): energy 8.8 J, just below escape."""
    s = AssembledSystem("dumbbell")
    a = s.coordinates("first", 2, (0.0, 1.0), (5.0, 0.0), unit="m")
    b = s.coordinates("second", 2, (0.0, 0.0), (-5.0, 0.0), unit="m")
    for name, block in (("first", a), ("second", b)):
        s.add(PointMass(2), f"mass.{name}", {"x": block}, {"mass": 1.0})
    law = PointPotential(Particle(2), Particle(2), _lennard_jones, {"size": 1, "strength": 1}, dimension=2)
    s.add(law, "bond", {"a": a, "b": b}, {"size": 0.5 ** (1.0 / 6.0), "strength": 4.0 * 16.2})
    return s


def pair_with_motor(folded: bool = False, form: str = "robust", torque: float = 5.0) -> AssembledSystem:
    """Two planar bars joined by a hinge with a motor on the joint angle (thesis E2); stretched or folded at the start."""
    s = AssembledSystem("pair with motor")
    qa = PlanarBody.coordinates_of()
    qb = PlanarBody.coordinates_of((0.0, 0.0) if folded else (0.0, 1.0), math.pi)
    a, b = s.coordinates("first", 6, qa), s.coordinates("second", 6, qb)
    angle = s.coordinates("angle", 1, math.pi, unit="rad")
    s.add(PlanarBody(), "inertia.first", {"body": a}, PlanarBody.numbers(1.1, 0.004 + 0.0917))
    s.add(PlanarBody(), "inertia.second", {"body": b}, PlanarBody.numbers(2.0, 0.0073 + 0.1667))
    hinge, turn = PlanarRevolute(), PlanarJointAngle(form=form)
    s.add(hinge, "hinge", {"a": a, "b": b}, hinge.place((0.0, 0.5), None, qa, qb))
    s.add(turn, "turn", {"a": a, "b": b, "angle": angle}, turn.place(None, qa, qb, angle=math.pi))
    s.add(hat_motor(), "motor", {"x": angle}, {"peak": torque, "rise": 0.25, "fall": 0.5})
    return s


def screw_pair(pitch_per_turn: float = 20.0, form: str = "robust") -> AssembledSystem:
    """A nut that flies with its spindle (thesis E3): masses 3 and 4, the nut turns 3.5 times a second."""
    s = AssembledSystem("screw pair")
    pitch = pitch_per_turn / (2.0 * math.pi)
    rate = 2.0 * math.pi * 3.5
    v, omega = np.array([150.0, 10.0, 0.0]), 2.0 * math.pi * 0.2 * np.array([1.0, 1.0, 0.0])
    arm, axis = np.array([0.0, 0.0, -30.0]), np.array([0.0, 0.0, 1.0])
    qa, qb = DirectorBody.coordinates_of(), DirectorBody.coordinates_of(arm)
    a = s.coordinates("spindle", 12, qa, DirectorBody.rates_of(qa, v, omega))
    b = s.coordinates("nut", 12, qb, DirectorBody.rates_of(qb, v + np.cross(omega, arm) + pitch * rate * axis, omega + rate * axis))
    u, angle = s.coordinates("displacement", 1, 0.0, pitch * rate, unit="m"), s.coordinates("angle", 1, 0.0, rate, unit="rad")
    s.add(DirectorBody(), "inertia.spindle", {"body": a}, DirectorBody.numbers(3.0, (1636.0, 1636.0, 72.0)))
    s.add(DirectorBody(), "inertia.nut", {"body": b}, DirectorBody.numbers(4.0, (96.0, 96.0, 96.0)))
    screw = Screw(form=form)
    s.add(
        screw, "screw", {"a": a, "b": b, "displacement": u, "angle": angle}, screw.place(arm, axis, qa, qb, pitch_per_turn=pitch_per_turn)
    )
    return s


def _oscillator(name: str, mass: float, q0: float = 0.0) -> tuple[AssembledSystem, Any]:
    s = AssembledSystem(name)
    x = s.coordinates("x", 1, q0, unit="m")
    s.add(PointMass(1), "mass", {"x": x}, {"mass": mass})
    return s, x


def damped_oscillator() -> AssembledSystem:
    """Spring and dashpot in parallel (thesis E6): m = 5 kg, c = 50 N/m, d = 1.5 N s/m, released at 1 m."""
    s, x = _oscillator("damped oscillator", 5.0, 1.0)
    s.add(CoordinatePotential(), "spring", {"x": x}, {"stiffness": 50.0, "rest": 0.0})
    s.add(Viscous(), "dashpot", {"x": x}, {"damping": 1.5})
    return s


def _quartic(x: Expr, c: Any) -> Expr:
    return 0.5 * c.quartic * x**4


def _weight(x: Expr, c: Any) -> Expr:
    return -c.weight * x


def viscoelastic_oscillator() -> AssembledSystem:
    """A mass of 5 kg falls onto a viscoelastic element with a quartic spring (thesis E8)."""
    s, x = _oscillator("viscoelastic oscillator", 5.0)
    s.add(CoordinatePotential(_weight, {"weight": 1}), "weight", {"x": x}, {"weight": 5.0 * GRAVITY})
    s.add(Viscoelastic(_quartic, {"quartic": 1}), "absorber", {"x": x}, {"quartic": 100.0, "branch": 50.0, "viscosity": 35.0})
    return s


def friction_oscillator() -> AssembledSystem:
    """A mass of 100 kg on an elasto-plastic friction element under a hat force of 300 N (thesis E10)."""
    s, x = _oscillator("friction oscillator", 100.0)
    s.add(Plastic(), "friction", {"x": x}, {"stiffness": 20000.0, "limit": 100.0})
    s.add(hat_motor(), "load", {"x": x}, {"peak": 300.0, "rise": 1.0, "fall": 2.0})
    return s


def _pendulum(name: str, mass: float, inertia: float, arm: float, start: float) -> tuple[AssembledSystem, Any]:
    """Planar pendulum on the ground with its angle from the vertical as a coordinate."""
    s = AssembledSystem(name)
    q = PlanarBody.coordinates_of((arm * math.sin(start), -arm * math.cos(start)), start)
    body, angle = s.coordinates("body", 6, q), s.coordinates("angle", 1, start, unit="rad")
    s.add(PlanarBody(), "inertia", {"body": body}, PlanarBody.numbers(mass, inertia, gravity=(0.0, -GRAVITY)))
    hinge, turn = PlanarRevolute(a=Ground(2)), PlanarJointAngle(a=Ground(2))
    s.add(hinge, "hinge", {"b": body}, hinge.place((0.0, 0.0), None, b=q))
    s.add(turn, "turn", {"b": body, "angle": angle}, turn.place(None, b=q, angle=start))
    return s, angle


def pendulum_with_viscous_joint() -> AssembledSystem:
    """A rod of 0.3 m and 2 kg hung at its end, viscous friction 0.1 N m s in the joint, released horizontally (thesis E7)."""
    s, angle = _pendulum("pendulum with viscous joint", 2.0, 0.015 + 5e-5, 0.15, 0.5 * math.pi)
    s.add(Viscous(), "friction", {"x": angle}, {"damping": 0.1})
    return s


def pendulum_with_plastic_joint(damping: float = 0.0) -> AssembledSystem:
    """A bar of 50 kg with stick-slip friction of 45 N m in its joint, released horizontally (thesis E9); 150 N m s damps sticking."""
    s, angle = _pendulum("pendulum with plastic joint", 50.0, 0.0104 + 1.0417, 0.2, 0.5 * math.pi)
    numbers = {"stiffness": 50000.0, "limit": 45.0}
    if damping:
        s.add(Plastic(dashpot=True), "friction", {"x": angle}, {**numbers, "damping": damping})
    else:
        s.add(Plastic(), "friction", {"x": angle}, numbers)
    return s


def _turning(t: Expr, c: Any) -> Expr:
    return c.spin * t


def ball_on_plate(form: str = "momentum", driven: bool = True) -> AssembledSystem:
    """A ball of radius 0.5 m rolls from the middle of a plate that turns at 2 rad/s, starting at 1 m/s along y (thesis E13).

    ``driven`` plates keep their speed; others, discs of 5 kg and 3 m radius, turn freely after the start.
    """
    s = AssembledSystem("ball on plate")
    radius, spin, thickness = 0.5, 2.0, 0.2
    v = np.array([0.0, 1.0, 0.0])
    up = np.array([0.0, 0.0, 1.0])
    qa = DirectorBody.coordinates_of((0.0, 0.0, radius))
    qb = DirectorBody.coordinates_of((0.0, 0.0, -0.5 * thickness))
    ball = s.coordinates("ball", 12, qa, DirectorBody.rates_of(qa, v, np.cross(up, v) / radius))
    plate = s.coordinates("plate", 12, qb, DirectorBody.rates_of(qb, omega=spin * up))
    angle = s.coordinates("angle", 1, 0.0, spin, unit="rad")
    s.add(DirectorBody(), "inertia.ball", {"body": ball}, DirectorBody.numbers(1.0, [0.4 * radius**2] * 3))
    across = 5.0 * (3.0**2 / 4.0 + thickness**2 / 12.0)
    s.add(DirectorBody(), "inertia.plate", {"body": plate}, DirectorBody.numbers(5.0, (across, across, 5.0 * 3.0**2 / 2.0)))
    hinge, turn = Revolute(a=Ground()), JointAngle(a=Ground())
    s.add(hinge, "bearing", {"b": plate}, hinge.place((0.0, 0.0, 0.0), up, b=qb))
    s.add(turn, "turn", {"b": plate, "angle": angle}, turn.place(up, b=qb))
    s.add(BallOnPlate(form), "contact", {"a": ball, "b": plate}, {"radius": radius, "normal": up})
    if driven:
        s.add(CoordinateServo(_turning, {"spin": 1}), "drive", {"x": angle}, {"spin": spin})
    return s


def plate_path(t: Any) -> np.ndarray:
    """The ball's path on the turning plate (x, y): a circle of radius 1.75 m, period 10.9956 s (thesis eq. 5.239)."""
    t = np.asarray(t, float)
    turn = 2.0 / 7.0 * 2.0
    return np.stack([(np.cos(turn * t) - 1.0) / turn, np.sin(turn * t) / turn], axis=-1)


#: Data of the robot: wheel radius and half track (m), mass of a wheel (kg) and its Euler tensor (kg m²).
WHEEL_RADIUS, HALF_TRACK, WHEEL_MASS, WHEEL_EULER = 0.55, 0.358, 0.2, (0.0151, 0.0151, 0.0156)


class SegmentMotion:
    """A sequence of rest-to-rest motions of equal duration, as the motion of a servo."""

    def __init__(self, increments: Sequence[float], duration: float) -> None:
        self.increments, self.duration = tuple(float(i) for i in increments), float(duration)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SegmentMotion) and vars(other) == vars(self)

    def __hash__(self) -> int:
        return hash((self.increments, self.duration))

    def __call__(self, t: Expr, c: Any) -> Expr:
        total = ZERO
        for k, step in enumerate(self.increments):
            total = total + point_to_point(t, k * self.duration, (k + 1) * self.duration, 0.0, step)
        return total


def two_wheeled_robot(drives: Sequence[float], turns: Sequence[float], duration: float = 2.0) -> AssembledSystem:
    """Two wheels on an axle follow segments of driving ``drives`` (m) and turning on the spot ``turns`` (rad), each of one duration (E14).

    Segment k drives forward by drives[k] and turns by turns[k] at the same time (one of them usually 0).
    """
    if len(drives) != len(turns):
        raise InputError(f"two-wheeled robot: {len(drives)} drives and {len(turns)} turns; give one of each for every segment")
    s = AssembledSystem("two-wheeled robot")
    radius, track = WHEEL_RADIUS, HALF_TRACK
    e1, e2, e3 = WHEEL_EULER
    up = (0.0, 0.0, 1.0)
    wheels, starts = [], []
    for name, side in (("left", 1.0), ("right", -1.0)):
        q = DirectorBody.coordinates_of((0.0, side * track, 0.0))
        wheel, spin = s.coordinates(name, 12, q), s.coordinates(f"{name}.spin", 1, 0.0, unit="rad")
        s.add(DirectorBody(), f"inertia.{name}", {"body": wheel}, DirectorBody.numbers(WHEEL_MASS, (e2 + e3, e1 + e3, e1 + e2)))
        s.add(RollingSphere(), f"rolling.{name}", {"a": wheel}, {"radius": radius, "normal": up})
        s.add(WheelSpin(), f"angle.{name}", {"a": wheel, "angle": spin}, {"spoke": (1, 0, 0), "axle": (0, 1, 0), "vertical": up})
        steps = [(d - side * track * w) / radius for d, w in zip(drives, turns, strict=True)]
        s.add(CoordinateServo(SegmentMotion(steps, duration)), f"motor.{name}", {"x": spin})
        wheels.append(wheel)
        starts.append(q)
    axle = Cylindrical()
    s.add(axle, "axle", {"a": wheels[0], "b": wheels[1]}, axle.place((0.0, 0.0, 0.0), (0.0, 1.0, 0.0), *starts))
    yaw = s.coordinates("yaw", 1, 0.0, unit="rad")
    s.add(Yaw(), "heading", {"a": wheels[0], "angle": yaw}, {"direction": (0, 1, 0), "zero": (0, 1, 0), "quarter": (-1, 0, 0)})
    return s


def cavity_pendulum(
    blob_axis: str = "y",
    form: str = "gonzalez",
    two_spheres: bool = False,
    clearance: bool = True,
    alpha: float = 1e12,
    damping: float = 0.0,
) -> AssembledSystem:
    """Double pendulum of two slender bars (1 m, 1 kg, g = 10 m/s²) that hangs in a cavity at O and is joined by one at A (case 7.1).

    ``blob_axis`` is the long axis of the blob at O, ``form`` the form of its force; ``two_spheres`` puts a sphere there too;
    without ``clearance`` the joints are perfect (shared points).  Both bars start horizontal and at right angles, at rest.
    """
    s = AssembledSystem("cavity pendulum")
    O, A, B = np.zeros(3), np.array([1.0, 0.0, 0.0]), np.array([1.0, 1.0, 0.0])
    bar = PointBody(Bar(), "penalty")
    numbers = [bar.numbers(x, 1.0, 1.0 / 12.0, gravity=(0.0, 0.0, -10.0), alpha=alpha) for x in ((O, A), (A, B))]
    o = s.coordinates("O", 3, O, fixed=not clearance, unit="m")
    a1 = s.coordinates("A", 3, A, unit="m")
    a2 = s.coordinates("A2", 3, A, unit="m") if clearance else a1
    b = s.coordinates("B", 3, B, unit="m")
    s.add(bar, "first", {"p0": o, "p1": a1}, numbers[0])
    s.add(bar, "second", {"p0": a2, "p1": b}, numbers[1])
    if not clearance:
        return s
    loss = damping > 0.0
    ball = {"radius": 0.04, "stiffness": 1e7, **({"damping": damping} if loss else {})}
    s.add(SphericalClearance(Particle(), Particle(), 1.5, dissipation=loss), "joint", {"a": a1, "b": a2}, ball)
    if two_spheres:
        s.add(SphericalClearance(Ground(), Particle(), 1.5, dissipation=loss), "support", {"b": o}, {**ball, "point_a": O})
        return s
    if blob_axis not in ("x", "y", "z"):
        raise InputError(f"cavity pendulum: blob axis '{blob_axis}' is unknown; choose x, y or z")
    frame = np.roll(np.eye(3), {"y": 0, "z": -1, "x": 1}[blob_axis], axis=0)
    cavity = Cavity(blob, {"scale": 3, "offset": 1}, Ground(), Particle(), exponent=4.0, form=form, dissipation=loss)
    shape = {"point_a": O, "frame_a": frame.ravel(), "scale": (50.0, 50.0, 50.0), "offset": 1.1, "stiffness": 1e7}
    s.add(cavity, "support", {"b": o}, {**shape, **({"damping": damping} if loss else {})})
    return s


def prism_pendulum(play: float | None = 0.2, alpha: float = 1e12) -> AssembledSystem:
    """Double pendulum of two prisms (1 × 0.1 × 0.02 m, 1 kg) by seven points: O turns about y, A about z (case 7.2).

    ``play`` is the angular clearance of A (rad), None for a perfect joint (parallel axes by a penalty).
    """
    s = AssembledSystem("prism pendulum")
    x = {
        "O": (0.0, 0.0, 0.0), "O2": (0.0, 0.1, 0.0), "A": (1.0, 0.0, 0.0), "T": (0.5, 0.0, 0.1), "B": (1.0, 1.0, 0.0), "S": (1.1, 0.5, 0.0),
        "U": (1.0, 0.5, 0.1),
    }  # fmt: skip
    p = {k: s.coordinates(k, 3, v, fixed=k in ("O", "O2"), unit="m") for k, v in x.items()}
    body = PointBody(Tetrahedron(), "penalty")
    length, width, thick = (0.1**2 + 0.02**2) / 12.0, (1.0 + 0.02**2) / 12.0, (1.0 + 0.1**2) / 12.0
    inertia = {"first": (length, width, thick), "second": (width, length, thick)}
    centre = {"first": (0.5, 0.0, 0.0), "second": (1.0, 0.5, 0.0)}
    points = {"first": ("O", "O2", "A", "T"), "second": ("A", "B", "S", "U")}
    for k, names in points.items():
        numbers = body.numbers([x[n] for n in names], 1.0, inertia[k], centre[k], (0.0, 0.0, -10.0), alpha)
        s.add(body, k, {f"p{i}": p[n] for i, n in enumerate(names)}, numbers)
    blocks = {f"a{i}": p[n] for i, n in enumerate(points["first"])} | {f"b{i}": p[n] for i, n in enumerate(points["second"])}
    ends = [[x[n] for n in names] for names in points.values()]
    if play is None:
        joint: Any = Penalty(ParallelAxes(Tetrahedron(), Tetrahedron()))
        constants = {**ParallelAxes(Tetrahedron(), Tetrahedron()).place(x["A"], (0, 0, 1), *ends), "alpha": alpha}
    else:
        joint = RevoluteClearance(Tetrahedron(), Tetrahedron(), angular=2.0)
        constants = {**joint.place(x["A"], (0, 0, 1), *ends), "angular_play": play, "angular_stiffness": 1e7}
    s.add(joint, "joint", blocks, constants)
    return s
