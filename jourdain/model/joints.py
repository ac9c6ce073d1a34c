"""Joints: every one is a chain of elementary motions (rotation, translation, free rotation) with named coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from ..errors import ModelError
from ..symbolic.expr import ONE, ZERO, Expr, add, as_expr, constant, mul, symbol
from ..symbolic.vectors import AXES, Vector
from ..told import told
from .assigned import Assigned
from .bodies import Frame
from .dimensions import natural_units
from .values import number, unit_axis, value


@dataclass
class Coordinate:
    """A block of the configuration: one number with its rate, or a unit quaternion with an angular velocity.

    ``q`` are the position symbols, ``v`` the velocity and ``a`` the acceleration symbols; for a quaternion (scalar
    first) v is the angular velocity in the axes of the child.
    """

    names: tuple[str, ...]
    velocity_names: tuple[str, ...]
    unit: str
    q: tuple[Expr, ...]
    v: tuple[Expr, ...]
    a: tuple[Expr, ...]
    nature: str = "free"
    #: Prescribed motion θ(t) of a driven or locked coordinate.
    motion: Expr | None = None

    @property
    def is_quaternion(self) -> bool:
        """Whether this block is a unit quaternion."""
        return len(self.q) == 4


def scalar_coordinate(path: str, unit: str) -> Coordinate:
    """A coordinate of one number."""
    rate = f"{path}_rate"
    q, v, a = symbol(path, "position"), symbol(rate, "velocity"), symbol(f"{path}_acc", "acceleration")
    natural_units[q], natural_units[v], natural_units[a] = unit, f"{unit}/s", f"{unit}/s^2"
    return Coordinate((path,), (rate,), unit, (q,), (v,), (a,))


def quaternion_coordinate(path: str) -> Coordinate:
    """A unit quaternion, scalar first, with the angular velocity in child axes."""
    names = tuple(f"{path}.e{i}" for i in range(4))
    rates = tuple(f"{path}.omega_{c}" for c in "xyz")
    return Coordinate(
        names, rates, "", tuple(symbol(n, "position") for n in names), tuple(symbol(n, "velocity") for n in rates),
        tuple(symbol(f"{path}.alpha_{c}", "acceleration") for c in "xyz"),
    )  # fmt: skip


@dataclass(frozen=True)
class Motion:
    """An elementary motion of a joint: kind "R" (rotation), "T" (translation) or "S" (free rotation).

    The displacement is ``ratio``·q + ``offset`` of its coordinate.
    """

    kind: str
    axis: Vector
    coordinate: Coordinate
    ratio: Expr = ONE
    offset: Expr = ZERO


#: Joints of several freedoms whose rotor inertia is one number for all of them: ½ J ω² of the turning, and ½ J v² of the travel of a free joint.
MANY_ROTORS = ("spherical", "free")


@dataclass
class Drive:
    """Constants of the drive at a joint of one freedom; balls and free joints have a rotor inertia alone."""

    rotor_inertia: Expr = ZERO
    gear_ratio: Expr = ONE
    damping: Expr = ZERO
    friction: Expr = ZERO
    stiffness: Expr = ZERO
    rest: Expr = ZERO

    @property
    def reflected_inertia(self) -> Expr:
        """Rotor inertia seen at the joint, n²·J."""
        return mul(mul(self.gear_ratio, self.gear_ratio), self.rotor_inertia)


def law_units(unit: str) -> dict[str, str]:
    """Units of what laws at a coordinate in ``unit`` (rad or m) are made of."""
    force, inertia, ratio = {"rad": ("N m", "kg m^2", "1"), "m": ("N", "kg", "rad/m")}[unit]
    return {
        "force": force, "stiffness": f"{force}/{unit}", "damping": f"{force} s/{unit}", "rest": unit, "velocity": f"{unit}/s",
        "rotor_inertia": inertia, "friction": force, "gear_ratio": ratio,
    }  # fmt: skip


@told
@dataclass
class Joint(Assigned):
    """A joint between a frame on the parent and a frame on the child body."""

    called = "joint"
    instead: ClassVar = {
        "damping": "give m.joint_spring(joint, 0, damping=…)", "stiffness": "give m.joint_spring(joint, …)", "friction": "give m.dry_friction(…)",
        "force": "give m.force(joint, …)", "torque": "give m.torque(joint, …)", "angle": "starts are given to s.simulate, a motion to m.drive(joint, …)",
    }  # fmt: skip

    name: str
    kind: str
    parent: Frame
    child: Frame
    motions: tuple[Motion, ...]
    limits: tuple[float | None, float | None] = (None, None)
    drive: Drive = field(default_factory=Drive)
    #: Whether the user asked that this joint close a loop (True), be in the tree (False), or leaves the choice (None).
    cut: bool | None = None
    #: Options as they were given: axis, pitch, limits, mimic …
    options: dict[str, Any] = field(default_factory=dict, compare=False)

    @property
    def coordinates(self) -> list[Coordinate]:
        """The coordinates that move this joint, each once."""
        seen: list[Coordinate] = []
        for motion in self.motions:
            if not any(c is motion.coordinate for c in seen):
                seen.append(motion.coordinate)
        return seen

    @property
    def rotors(self) -> list[tuple[Motion, Expr]]:
        """The motions that carry an inertia of the joint's own, n²J: that of its drive, or every one of a ball or free joint."""
        inertia = self.drive.reflected_inertia
        if inertia is ZERO:
            return []
        return [(m, inertia) for m in (self.motions if self.kind in MANY_ROTORS else self.motions[-1:])]

    def _single(self) -> Coordinate:
        cs = self.coordinates
        if len(cs) != 1 or cs[0].is_quaternion:
            names = ", ".join(n for c in cs for n in c.names) or "none"
            raise ModelError(f"joint '{self.name}' ({self.kind}) has the coordinates {names}; name one of them")
        return cs[0]

    @property
    def position(self) -> Expr:
        """Position symbol of a joint of one freedom (rad or m)."""
        return self._single().q[0]

    @property
    def velocity(self) -> Expr:
        """Velocity symbol of a joint of one freedom."""
        return self._single().v[0]

    @property
    def acceleration(self) -> Expr:
        """Acceleration symbol of a joint of one freedom."""
        return self._single().a[0]

    def _motion_symbols(self) -> dict[str, Expr]:
        """Positions, velocities and accelerations by the names of their channels, without the joint's: angle, angle_rate, angle_acc."""
        blocks = [c for c in self.coordinates if not c.is_quaternion]
        return {e.name.removeprefix(f"{self.name}."): e for c in blocks for e in (*c.q, *c.v, *c.a)}

    def __getattr__(self, name: str) -> Expr:
        """The symbol of a channel of this joint: ``hinge.angle`` stands for what results call "hinge.angle"."""
        # asked by copies that are not yet filled
        if name.startswith("_") or name in self.__dataclass_fields__ or "motions" not in self.__dict__:
            raise AttributeError(name)
        known = self._motion_symbols()
        if name in known:
            return known[name]
        raise AttributeError(
            f"joint '{self.name}' ({self.kind}) has no '{name}'; its motion is called {', '.join(known) or 'nothing: it has none'}"
        )

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._motion_symbols()]

    def coordinate(self, name: str) -> Coordinate:
        """A coordinate by its short name, such as "x" or "angle"."""
        for c in self.coordinates:
            if f"{self.name}.{name}" in c.names or f"{self.name}.{name}" == c.names[0].rsplit(".e0", 1)[0]:
                return c
        known = ", ".join(n.removeprefix(self.name + ".") for c in self.coordinates for n in c.names)
        raise ModelError(f"joint '{self.name}' has no coordinate '{name}'; it has {known or 'none'}")

    def require_axes(self) -> None:
        """An error where the joint holds on to axes of a node that has none: a ball asks for places alone, a slot for the axes it slides along."""
        what, kinds = f"joint '{self.name}'", [m.kind for m in self.motions]
        turns = [k for k, kind in enumerate(kinds) if kind != "T"]
        free = "S" in kinds or len(turns) >= 3
        slides = (len(kinds[: turns[0]]), len(kinds[turns[-1] + 1 :])) if free else (1, 1)
        between = free and "T" in kinds[turns[0] : turns[-1]]
        for frame, count in zip((self.parent, self.child), slides, strict=True):
            if between or count in (1, 2):
                frame.require_turns(what)

    def __repr__(self) -> str:
        return f"<Joint {self.name}: {self.kind} {self.parent.path} → {self.child.path}>"


def elementary(path: str, letter: str, axis: Vector, short: str) -> Motion:
    """One rotation ("R") or translation ("T") with its own coordinate."""
    return Motion(letter, axis, scalar_coordinate(f"{path}.{short}", "rad" if letter == "R" else "m"))


def parse_sequence(name: str, sequence: Sequence[str]) -> tuple[Motion, ...]:
    """Motions from names such as ["Tx", "Rz"]; coordinates are called x, y, z and rx, ry, rz."""
    motions = []
    used: dict[str, int] = {}
    for given in sequence:
        item = str(given)
        letter, axis = item[:1].upper(), item[1:].lower()
        axis = {"1": "x", "2": "y", "3": "z"}.get(axis, axis)
        if letter not in ("R", "T") or axis not in ("x", "y", "z"):
            raise ModelError(f"joint '{name}': motion '{item}' is unknown; use Tx, Ty, Tz, Rx, Ry, Rz")
        short = axis if letter == "T" else "r" + axis
        used[short] = used.get(short, 0) + 1
        label = short if used[short] == 1 else f"{short}{used[short]}"
        motions.append(elementary(name, letter, unit_axis(axis, f"joint '{name}'"), label))
    return tuple(motions)


def rotation_motions(name: str, orientation: str) -> tuple[Motion, ...]:
    """Free rotation by a "quaternion" or by three turns about moving axes, such as "xyz" or "zxz"."""
    if orientation == "quaternion":
        return (Motion("S", AXES[2], quaternion_coordinate(f"{name}.orientation")),)
    letters = str(orientation).lower()
    if len(letters) != 3 or any(c not in "xyz" for c in letters) or letters[0] == letters[1] or letters[1] == letters[2]:
        raise ModelError(f"joint '{name}': orientation '{orientation}' is unknown; use 'quaternion' or three axes such as 'xyz', 'zxz'")
    return parse_sequence(name, ["R" + c for c in letters])


def joint_motions(name: str, kind: str, options: dict[str, Any]) -> tuple[Motion, ...]:
    """The elementary motions of a joint kind."""
    what = f"joint '{name}'"
    if kind == "fixed":
        return ()
    if kind in ("revolute", "prismatic", "helical", "cylindrical"):
        axis = unit_axis(options.get("axis", "z"), what)
        if kind == "revolute":
            return (elementary(name, "R", axis, "angle"),)
        if kind == "prismatic":
            return (elementary(name, "T", axis, "displacement"),)
        if kind == "cylindrical":
            return (elementary(name, "T", axis, "displacement"), elementary(name, "R", axis, "angle"))
        turn = elementary(name, "R", axis, "angle")
        pitch = _pitch(options.get("pitch"), what)
        advance = mul(pitch, constant(1.0 / (2.0 * 3.141592653589793)))
        return (Motion("T", axis, turn.coordinate, advance), turn)
    if kind == "universal":
        first, second = axis_pair(options.get("axes", ("x", "y")), what)
        return (elementary(name, "R", first, "angle1"), elementary(name, "R", second, "angle2"))
    if kind == "planar":
        plane = options.get("plane", "xy")
        normal = {"xy": "Rz", "yx": "Rz", "xz": "Ry", "zx": "Ry", "yz": "Rx", "zy": "Rx"}.get(plane)
        if normal is None:
            raise ModelError(f"{what}: plane '{plane}' is unknown; use 'xy', 'xz' or 'yz'")
        x, y, turn = parse_sequence(name, [f"T{plane[0]}", f"T{plane[1]}", normal])
        return (x, y, Motion("R", turn.axis, scalar_coordinate(f"{name}.angle", "rad")))
    if kind == "spherical":
        return rotation_motions(name, options.get("orientation", "quaternion"))
    if kind == "free":
        return parse_sequence(name, ["Tx", "Ty", "Tz"]) + rotation_motions(name, options.get("orientation", "quaternion"))
    if kind == "sequence":
        if options.get("sequence") is None:
            raise ModelError(f"{what}: give its sequence= of motions, such as ['Tx', 'Rz']")
        return parse_sequence(name, options["sequence"])
    raise ModelError(f"{what}: kind '{kind}' is unknown; use one of {', '.join(KINDS)}")


#: Joint kinds by name.
KINDS = (
    "fixed", "revolute", "prismatic", "helical", "cylindrical", "universal", "planar", "spherical", "free", "sequence",
)  # fmt: skip


def _pitch(given: Any, what: str) -> Expr:
    if given is None or (isinstance(given, str) and "/" in given):
        raise ModelError(f"{what}: pitch {given!r} is not an advance in a turn; give pitch= in m, such as 0.005 or '5 mm'")
    return value(given, what + ": pitch", "m")


def axis_pair(axes: Any, what: str) -> tuple[Vector, Vector]:
    """The two axes of a universal joint; they must differ in direction."""
    if not isinstance(axes, (list, tuple, str)) or len(axes) != 2:
        raise ModelError(f"{what}: axes {axes!r} are not two axes; give axes=('x', 'y') or two vectors")
    first, second = (unit_axis(a, what) for a in axes)
    normal = first.cross(second)
    if all(e.is_number and abs(float(e)) < 1e-9 for e in normal):
        raise ModelError(f"{what}: axes {axes!r} are parallel; the two turns would be one")
    return first, second


def parse_limits(limits: Any, what: str, unit: str | None = None) -> tuple[float | None, float | None]:
    """Lower and upper limit of a coordinate; ``unit`` is that of the coordinate."""
    if limits is None:
        return (None, None)
    if isinstance(limits, str) or not hasattr(limits, "__len__") or len(limits) != 2:
        raise ModelError(f"{what}: limits {limits!r} are not a pair; give limits=(lower, upper), None for no limit")
    low, high = (None if b is None else number(b, what + ": limit", unit) for b in limits)
    if low is not None and high is not None and low > high:
        raise ModelError(f"{what}: the lower limit {low:g} is above the upper limit {high:g}")
    return low, high


def mimic(motion: Motion, leader: Motion, ratio: Any, offset: Any) -> Motion:
    """A motion that follows another: displacement = ratio·(displacement of the leader) + offset."""
    ratio, offset = as_expr(ratio), add(as_expr(offset), mul(as_expr(ratio), leader.offset))
    return Motion(motion.kind, motion.axis, leader.coordinate, mul(ratio, leader.ratio), offset)


__all__ = [
    "KINDS", "Coordinate", "Drive", "Joint", "Motion", "axis_pair", "joint_motions", "mimic", "parse_limits", "parse_sequence",
]  # fmt: skip
