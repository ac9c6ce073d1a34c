"""Under-actuated systems whose load or tip follows a prescribed motion, for the energy-consistent engine.

Cranes in coordinates without rotations after P. Betsch, M. Quasem & S. Uhlar (overhead and rotary crane; the latter is also pictured in
Uhlar's thesis, Fig. 7.8) and W. Blajer & K. Kołodziejczyk; the spring-coupled masses and the arm with a passive joint after R. Seifried.  Inputs
do not act on the outputs directly: simulate with ``servo="projected"``.  Multipliers "servo.input.1" … are minus the forces of the drives.
All are at rest in equilibrium at the start.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..elements.augmentation import PlanarJointAngle
from ..elements.carriers import Ground
from ..elements.dissipation import Viscous
from ..elements.element import Element, Names, Symbols, Term
from ..elements.pairs import PlanarRevolute, Rows
from ..elements.potentials import CoordinatePotential, PointMass
from ..elements.rigid import PlanarBody
from ..elements.servo import OutputServo, point_to_point
from ..symbolic.expr import Expr
from ..systems.assembled.program import Handle
from ..systems.assembled.system import AssembledSystem

GRAVITY = 9.81


class Spring(Element):
    """Linear spring between two masses on a line: ½ k (x₂ − x₁ − ℓ)²."""

    blocks = {"first": 1, "second": 1}  # noqa: RUF012
    constants = {"stiffness": 1, "length": 1}  # noqa: RUF012

    def potential(self, s: Symbols) -> Sequence[Term]:
        """Quadratic in the stretch."""
        return (0.5 * s.stiffness * (s.second[0] - s.first[0] - s.length) ** 2,)


class Load(Element):
    """A particle with weight along its last coordinate."""

    def __init__(self, dimension: int = 3) -> None:
        self.dimension = dimension
        self.blocks = {"x": dimension}
        self.constants = {"mass": 1, "gravity": 1}

    def mass(self, s: Symbols) -> dict[tuple[str, int, str, int], Expr]:
        """m on the diagonal."""
        return {("x", i, "x", i): s.mass for i in range(self.dimension)}

    def potential(self, s: Symbols) -> Sequence[Term]:
        """m g z."""
        return (s.mass * s.gravity * s.x[self.dimension - 1],)


class Rope(Element):
    """Straight rope from a trolley at height 0 to a load, of a length that the winch sets: |load − trolley|² = ℓ²."""

    def __init__(self, dimension: int = 3) -> None:
        self.dimension = dimension
        self.blocks = {"trolley": dimension - 1, "load": dimension, "length": 1}

    def constraints(self, s: Symbols) -> Rows:
        """One row."""
        terms: list[Term] = [(a - b) ** 2 for a, b in zip(s.load[:-1], s.trolley, strict=True)]
        return [("rope", (*terms, s.load[-1] ** 2, -(s.length[0] ** 2)))]


class Slide(Element):
    """A trolley on the first director of a turning bridge, its distance r from the axis as a coordinate: d₂·x = 0, d₁·x = r."""

    blocks = {"bridge": 6, "trolley": 2, "radius": 1}  # noqa: RUF012

    def constraints(self, s: Symbols) -> Rows:
        """Two rows."""
        x, d1, d2 = s.pair("trolley"), s.pair("bridge", 1), s.pair("bridge", 2)
        return [("side", (d2.dot(x),)), ("radius", (d1.dot(x) - s.radius[0],))]


def straight(p: Names, t: Expr, c: Symbols) -> Sequence[Expr]:
    """A load from ``first`` to ``last`` on a line, from rest to rest within ``duration``."""
    return [x - point_to_point(t, 0.0, c.duration, a, b) for x, a, b in zip(p.load, c.first, c.last, strict=True)]


def _reached(p: Names, t: Expr, c: Symbols) -> Sequence[Expr]:
    return [p.second[0] - point_to_point(t, 0.0, c.duration, c.place, c.goal)]


def _swung(p: Names, t: Expr, c: Symbols) -> Sequence[Expr]:
    return [p.shoulder[0] + c.share * p.elbow[0] - point_to_point(t, 0.0, c.duration, 0.0, c.turn)]


def spring_masses(
    masses: tuple[float, float] = (1.0, 2.0), stiffness: float = 50.0, distance: float = 1.0, duration: float = 2.0
) -> AssembledSystem:
    """Two masses on a line joined by a spring: the first is driven, the second moves by ``distance`` from rest to rest (index 5).

    The drive's force is (m₁ + m₂) γ̈ + m₁ m₂/k γ⁗.
    """
    s = AssembledSystem("spring-coupled masses")
    first, second = s.coordinates("first", 1, 0.0, unit="m"), s.coordinates("second", 1, 0.5, unit="m")
    s.add(PointMass(1), "mass.first", {"x": first}, {"mass": masses[0]})
    s.add(PointMass(1), "mass.second", {"x": second}, {"mass": masses[1]})
    s.add(Spring(), "spring", {"first": first, "second": second}, {"stiffness": stiffness, "length": 0.5})
    servo = OutputServo({"first": 1, "second": 1}, _reached, [("first", 0)], {"place": 1, "goal": 1, "duration": 1})
    s.add(servo, "servo", {"first": first, "second": second}, {"place": 0.5, "goal": 0.5 + distance, "duration": duration})
    return s


def overhead_crane(
    first: Sequence[float] = (0.0, -4.0), last: Sequence[float] = (4.0, -2.0), duration: float = 3.0, trolley: float = 10.0, winch: float = 10.0,
    load: float = 100.0, gravity: float = GRAVITY, girder: float = 50.0,
) -> AssembledSystem:  # fmt: skip
    """Overhead crane in the plane (two numbers in ``first`` and ``last``) or in space (three): drives of trolley (and girder) and winch.

    ``trolley``, ``girder`` and ``load`` are masses (kg), ``winch`` the winch's inertia divided by the square of its radius (kg).
    """
    n = len(first)
    s = AssembledSystem("overhead crane")
    q = np.array(first, float)
    cart = s.coordinates("trolley", n - 1, q[:-1], unit="m")
    length, hook = s.coordinates("length", 1, -q[-1], unit="m"), s.coordinates("load", n, q, unit="m")
    s.add(PointMass(n - 1), "mass.trolley", {"x": cart}, {"mass": trolley})
    if n == 3:
        s.add(GirderMass(), "mass.girder", {"x": cart}, {"mass": girder})
    s.add(PointMass(1), "mass.winch", {"x": length}, {"mass": winch})
    s.add(Load(n), "mass.load", {"x": hook}, {"mass": load, "gravity": gravity})
    s.add(Rope(n), "rope", {"trolley": cart, "load": hook, "length": length})
    drives = [*(("trolley", i) for i in range(n - 1)), ("length", 0)]
    servo = OutputServo({"trolley": n - 1, "length": 1, "load": n}, straight, drives, {"first": n, "last": n, "duration": 1})
    s.add(servo, "servo", {"trolley": cart, "length": length, "load": hook}, {"first": first, "last": last, "duration": duration})
    return s


class GirderMass(Element):
    """A girder that moves with the first coordinate of its trolley."""

    blocks = {"x": 2}  # noqa: RUF012
    constants = {"mass": 1}  # noqa: RUF012

    def mass(self, s: Symbols) -> dict[tuple[str, int, str, int], Expr]:
        """m on the first coordinate."""
        return {("x", 0, "x", 0): s.mass}


def rotary_crane(
    first: Sequence[float] = (5.0, 0.0, -5.0), last: Sequence[float] = (-2.0, 4.0, -3.0), duration: float = 8.0, bridge: float = 480.0,
    trolley: float = 10.0, winch: float = 10.0, load: float = 100.0, gravity: float = GRAVITY,
) -> AssembledSystem:  # fmt: skip
    """Rotary crane: a bridge turns about the vertical, a trolley runs along it, a winch lifts the load; three drives for five freedoms.

    ``bridge`` is its moment of inertia (kg m²), ``trolley`` and ``load`` are masses (kg), ``winch`` as in :func:`overhead_crane`.  The bridge is a
    planar body by directors; its angle and the trolley's distance from the axis are coordinates on which the drives act.
    """
    s = AssembledSystem("rotary crane")
    q = np.array(first, float)
    angle, reach = math.atan2(q[1], q[0]), math.hypot(q[0], q[1])
    directors = PlanarBody.coordinates_of((0.0, 0.0), angle)
    boom = s.coordinates("bridge", 6, directors)
    slew, radius = s.coordinates("slewing", 1, angle, unit="rad"), s.coordinates("radius", 1, reach, unit="m")
    cart, length = s.coordinates("trolley", 2, q[:2], unit="m"), s.coordinates("length", 1, -q[2], unit="m")
    hook = s.coordinates("load", 3, q, unit="m")
    s.add(PlanarBody(), "mass.bridge", {"body": boom}, PlanarBody.numbers(1.0, bridge))
    hinge, turn = PlanarRevolute(a=Ground(2)), PlanarJointAngle(a=Ground(2))
    s.add(hinge, "hinge", {"b": boom}, hinge.place((0.0, 0.0), None, None, directors))
    s.add(turn, "turn", {"b": boom, "angle": slew}, turn.place(None, None, directors, angle=angle))
    s.add(PointMass(2), "mass.trolley", {"x": cart}, {"mass": trolley})
    s.add(Slide(), "slide", {"bridge": boom, "trolley": cart, "radius": radius})
    s.add(PointMass(1), "mass.winch", {"x": length}, {"mass": winch})
    s.add(Load(3), "mass.load", {"x": hook}, {"mass": load, "gravity": gravity})
    s.add(Rope(3), "rope", {"trolley": cart, "load": hook, "length": length})
    blocks = {"slewing": slew, "radius": radius, "length": length, "load": hook}
    sizes = {"first": 3, "last": 3, "duration": 1}
    servo = OutputServo({b: h.size for b, h in blocks.items()}, straight, [(b, 0) for b in ("slewing", "radius", "length")], sizes)
    s.add(servo, "servo", blocks, {"first": first, "last": last, "duration": duration})
    return s


def passive_arm(
    share: float = 0.2, turn: float = 1.0, duration: float = 1.5, stiffness: float = 50.0, damping: float = 0.25, length: float = 1.0,
    masses: tuple[float, float] = (2.0, 2.0),
) -> AssembledSystem:  # fmt: skip
    """Two-link arm in a horizontal plane with a motor in the shoulder and an elastic joint without a drive in the elbow.

    The output is the angle shoulder + ``share`` · elbow.  The motor acts on it directly (index 3), and one freedom stays free: with a small
    share it is a damped vibration, with a large one (towards the tip) it runs away (see :meth:`AssembledSystem.servo_report`).
    """
    s = AssembledSystem("arm with a passive joint")
    links: list[tuple[Handle, np.ndarray]] = []
    for k, name in enumerate(("upper", "lower")):
        q = PlanarBody.coordinates_of(((k + 0.5) * length, 0.0), 0.0)
        handle = s.coordinates(name, 6, q)
        s.add(PlanarBody(), f"mass.{name}", {"body": handle}, PlanarBody.numbers(masses[k], masses[k] * length**2 / 12.0))
        links.append((handle, q))
    (upper, qu), (lower, ql) = links
    shoulder, elbow = s.coordinates("shoulder", 1, 0.0, unit="rad"), s.coordinates("elbow", 1, 0.0, unit="rad")
    fixed, free = PlanarRevolute(a=Ground(2)), PlanarRevolute()
    s.add(fixed, "hinge.shoulder", {"b": upper}, fixed.place((0.0, 0.0), None, None, qu))
    s.add(free, "hinge.elbow", {"a": upper, "b": lower}, free.place((length, 0.0), None, qu, ql))
    outer, inner = PlanarJointAngle(a=Ground(2)), PlanarJointAngle()
    s.add(outer, "angle.shoulder", {"b": upper, "angle": shoulder}, outer.place(None, None, qu))
    s.add(inner, "angle.elbow", {"a": upper, "b": lower, "angle": elbow}, inner.place(None, qu, ql))
    s.add(CoordinatePotential(), "spring", {"x": elbow}, {"stiffness": stiffness, "rest": 0.0})
    s.add(Viscous(), "damper", {"x": elbow}, {"damping": damping})
    servo = OutputServo({"shoulder": 1, "elbow": 1}, _swung, [("shoulder", 0)], {"share": 1, "turn": 1, "duration": 1})
    s.add(servo, "servo", {"shoulder": shoulder, "elbow": elbow}, {"share": share, "turn": turn, "duration": duration})
    return s


__all__ = ["Load", "Rope", "Slide", "Spring", "overhead_crane", "passive_arm", "rotary_crane", "spring_masses", "straight"]
