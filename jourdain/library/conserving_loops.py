"""Closed loops with dissipation and prescribed motions, for the energy-consistent engine.

From S. Uhlar's thesis on energy-consistent time integration: the double-wishbone suspension with a viscoelastic absorber (Sec. 5.4.5)
and the planar 3-RPR manipulator that draws a figure eight with friction in its joints (5.4.10).  Masses and inertias are the thesis'; it
prints neither the places of the joints nor the absorber's numbers, the road and the size of the eight, which are chosen here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..elements.augmentation import Length, PlanarJointAngle
from ..elements.carriers import Ground
from ..elements.dissipation import Plastic, Viscoelastic
from ..elements.element import Names, Symbols
from ..elements.pairs import Pair, PlanarPrismatic, PlanarRevolute, Revolute, Spherical
from ..elements.rigid import DirectorBody, PlanarBody
from ..elements.servo import OutputServo, polynomial9, ramp_cruise_ramp
from ..results.solution import Solution
from ..symbolic.expr import Expr
from ..symbolic.functions import cos, sin
from ..systems.assembled.program import Handle
from ..systems.assembled.system import AssembledSystem

GRAVITY = 9.81

#: Bodies of the suspension: centre of mass (m) at the start, mass (kg) and Euler tensor (kg m²) along vertical, driving direction, axle.
SUSPENSION_BODIES = {
    "lower": ((0.0, 0.4, 0.0), 2.0, (0.0004, 0.0417, 0.1067)),
    "carrier": ((0.0, 0.8, 0.25), 2.5, (0.0521, 0.0521, 0.0021)),
    "upper": ((0.0, 0.55, 0.5), 2.0, (0.0004, 0.0417, 0.0417)),
    "wheel": ((0.0, 1.1, 0.25), 10.0, (2.133, 2.133, 0.2083)),
}
#: Hinges of the arms on the chassis and on the carrier, wheel bearing, ends of the absorber on chassis and lower arm (m).
SUSPENSION_POINTS = {
    "inner lower": (0.0, 0.0, 0.0), "outer lower": (0.0, 0.8, 0.0), "inner upper": (0.0, 0.3, 0.5), "outer upper": (0.0, 0.8, 0.5),
    "bearing": (0.0, 0.85, 0.25), "top": (0.0, 0.2, 0.6), "foot": (0.0, 0.4, 0.0),
}  # fmt: skip
#: Stiffness of the absorber's spring and of its Maxwell branch (N/m), viscosity of the branch (N s/m).
ABSORBER = {"stiffness": 2000.0, "branch": 2000.0, "viscosity": 500.0}


class RandomRoad:
    """Band-limited noise as a motion: harmonics of random phase between two frequencies (Hz), faded in over ``rise`` seconds.

    Its largest value is ``amplitude`` (m) within ten seconds; four derivatives vanish at t = 0.
    """

    def __init__(
        self, amplitude: float = 0.05, seed: int = 1, band: tuple[float, float] = (0.4, 3.0), count: int = 12, rise: float = 1.0
    ) -> None:
        rng = np.random.default_rng(seed)
        self.rise = rise
        self.frequencies = tuple((2.0 * math.pi * np.sort(rng.uniform(*band, count))).tolist())
        self.phases = tuple(rng.uniform(0.0, 2.0 * math.pi, count).tolist())
        self.size = 1.0
        self.size = amplitude / float(np.abs(self.noise(np.linspace(0.0, 10.0, 4001))).max())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RandomRoad) and vars(other) == vars(self)

    def __hash__(self) -> int:
        return hash((self.rise, self.frequencies, self.phases, self.size))

    def noise(self, t: Any) -> Any:
        """The harmonics' sum (m), of numbers or of an expression of time."""
        harmonic = cos if isinstance(t, Expr) else np.cos
        return self.size * sum(harmonic(w * t + p) for w, p in zip(self.frequencies, self.phases, strict=True))

    def __call__(self, t: Expr) -> Expr:
        return polynomial9(t / self.rise) * self.noise(t)


class _WheelHeight:
    """The wheel's height above that at the start follows a road."""

    def __init__(self, road: RandomRoad) -> None:
        self.road = road

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _WheelHeight) and other.road == self.road

    def __hash__(self) -> int:
        return hash(self.road)

    def __call__(self, p: Names, t: Expr, c: Symbols) -> Sequence[Expr]:
        return [p.wheel[2] - c.start - self.road(t)]


def double_wishbone(road: RandomRoad | None = None) -> AssembledSystem:
    """Two arms, carrier and wheel on a standing chassis with a viscoelastic absorber on the lower arm (thesis E11).

    Two freedoms: spin of the wheel and stroke of the linkage.  Without ``road`` it drops under its weight; with it the wheel's height is
    prescribed, and the multiplier "road.input.1" is minus the vertical force of the road on the wheel (N).
    """
    s = AssembledSystem("double wishbone")
    axes = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])  # directors: up, ahead, along the axle
    ahead, axle, place = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), SUSPENSION_POINTS
    h: dict[str, Handle] = {}
    q: dict[str, np.ndarray] = {}
    for name, (centre, mass, euler) in SUSPENSION_BODIES.items():
        q[name] = DirectorBody.coordinates_of(centre, axes)
        h[name] = s.coordinates(name, 12, q[name])
        numbers = DirectorBody.numbers(mass, sum(euler) - np.array(euler), gravity=(0.0, 0.0, -GRAVITY))
        s.add(DirectorBody(), f"inertia.{name}", {"body": h[name]}, numbers)

    def join(name: str, pair: Pair, point: str, a: str | None, b: str, axis: Any = ahead) -> None:
        blocks = {"b": h[b]} if a is None else {"a": h[a], "b": h[b]}
        s.add(pair, name, blocks, pair.place(place[point], axis, None if a is None else q[a], q[b]))

    join("lower hinge", Revolute(a=Ground()), "inner lower", None, "lower")
    join("upper hinge", Revolute(a=Ground()), "inner upper", None, "upper")
    join("lower joint", Revolute(), "outer lower", "lower", "carrier")
    join("upper joint", Spherical(), "outer upper", "upper", "carrier")
    join("bearing", Revolute(), "bearing", "carrier", "wheel", axle)
    compression = s.coordinates("compression", 1, 0.0, unit="m")
    strut = Length(a=Ground(), compression=True)
    ends = {"point_a": place["top"], "point_b": strut.b.locate(q["lower"], place["foot"])}
    constants = {**ends, "free_length": math.dist(place["top"], place["foot"])}
    s.add(strut, "strut", {"b": h["lower"], "length": compression}, constants)
    s.add(Viscoelastic(), "absorber", {"x": compression}, ABSORBER)
    if road is not None:
        height = OutputServo({"wheel": 12}, _WheelHeight(road), [("wheel", 2)], {"start": 1})
        s.add(height, "road", {"wheel": h["wheel"]}, {"start": SUSPENSION_BODIES["wheel"][0][2]})
    return s


def absorber_force(sol: Solution) -> np.ndarray:
    """Tension of the suspension's absorber (N, mean over the step that ends at each instant), from the multiplier of its length.

    The compression u has no mass: the absorber's force balances the constraint (p_b − p_a)² − (ℓ − u)² = 0 alone.
    """
    length = math.dist(SUSPENSION_POINTS["top"], SUSPENSION_POINTS["foot"]) - sol["compression"]
    mean = np.concatenate([length[:1], 0.5 * (length[1:] + length[:-1])])
    return np.asarray(2.0 * mean * sol["strut.length"])


#: Sizes of the figure eight across and along (m), instants at which it has sped up, slows down and rests (s), cruising rate (rad/s).
EIGHT = {"across": 0.1, "along": 0.05, "cruises": 1.0, "slows": 2.0, "rests": 3.0, "speed": math.pi}
#: Friction of the driven joints: stiffness (N m/rad), limit (N m), dashpot (N m s/rad).
FRICTION = {"stiffness": 350.0, "limit": 50.0, "damping": 10.0}
#: Mass (kg) and moment of inertia (kg m²) of the bodies of the manipulator, and length of a leg's part or side of a platform (m).
RPR_BODIES = {
    "cylinder": (3.0, 0.04, 0.25), "rod": (4.0, 0.12, 0.35), "platform": (3.0, 0.0816, 0.4), "base": (8.0, 0.2, 1.0),
}  # fmt: skip


def _eight(p: Names, t: Expr, c: Symbols) -> Sequence[Expr]:
    w = ramp_cruise_ramp(t, c.cruises, c.slows, c.rests, c.speed)
    return [p.platform[0] - c.centre[0] - c.across * sin(w), p.platform[1] - c.centre[1] - c.along * sin(2.0 * w), p.platform[3]]


def rpr_manipulator(friction: bool = True) -> AssembledSystem:
    """Planar 3-RPR manipulator floating freely whose upper platform draws a figure eight without turning (thesis E12).

    The three inputs act on the angles of the legs against the base, with enhanced elasto-plastic friction there; the outputs are the place and
    the heading of the platform, so that inputs and outputs stand at different coordinates and three of six freedoms are prescribed.
    The multipliers "servo.input.1" … are minus the motors' torques (N m).
    """
    s = AssembledSystem("3-RPR manipulator")
    centre = np.array([0.0, math.sqrt(3.0) / 6.0])

    def body(name: str, kind: str, place: np.ndarray, angle: float = 0.0) -> tuple[Handle, np.ndarray]:
        q = PlanarBody.coordinates_of(place, angle)
        handle = s.coordinates(name, 6, q)
        s.add(PlanarBody(), f"inertia.{name}", {"body": handle}, PlanarBody.numbers(*RPR_BODIES[kind][:2]))
        return handle, q

    def join(
        name: str, pair: Pair, place: np.ndarray, a: tuple[Handle, np.ndarray], b: tuple[Handle, np.ndarray], axis: Any = None
    ) -> None:
        s.add(pair, name, {"a": a[0], "b": b[0]}, pair.place(place, axis, a[1], b[1]))

    base, platform = body("base", "base", centre), body("platform", "platform", centre)
    angles = {}
    for k, corner in enumerate(np.radians([210.0, 330.0, 90.0])):
        out = np.array([math.cos(corner), math.sin(corner)])
        foot, head = (centre + RPR_BODIES[kind][2] / math.sqrt(3.0) * out for kind in ("base", "platform"))
        angle = math.remainder(corner + math.pi, 2.0 * math.pi)
        cylinder = body(f"cylinder{k + 1}", "cylinder", foot - 0.5 * RPR_BODIES["cylinder"][2] * out, angle)
        rod = body(f"rod{k + 1}", "rod", head + 0.5 * RPR_BODIES["rod"][2] * out, angle)
        join(f"hip{k + 1}", PlanarRevolute(), foot, base, cylinder)
        join(f"slide{k + 1}", PlanarPrismatic(), foot, cylinder, rod, -out)
        join(f"ankle{k + 1}", PlanarRevolute(), head, rod, platform)
        drive, turn = s.coordinates(f"angle{k + 1}", 1, angle, unit="rad"), PlanarJointAngle()
        s.add(turn, f"turn{k + 1}", {"a": base[0], "b": cylinder[0], "angle": drive}, turn.place(None, base[1], cylinder[1], angle=angle))
        if friction:
            s.add(Plastic(dashpot=True), f"friction{k + 1}", {"x": drive}, FRICTION)
        angles[f"angle{k + 1}"] = drive
    sizes = {"centre": 2, **dict.fromkeys(EIGHT, 1)}
    servo = OutputServo({"platform": 6, **dict.fromkeys(angles, 1)}, _eight, [(name, 0) for name in angles], sizes)
    s.add(servo, "servo", {"platform": platform[0], **angles}, {"centre": centre, **EIGHT})
    return s


__all__ = ["ABSORBER", "EIGHT", "FRICTION", "RandomRoad", "absorber_force", "double_wishbone", "rpr_manipulator"]
