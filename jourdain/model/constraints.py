"""Constraints beyond the tree: loop closures, transmissions, curves and surfaces, free equations, rolling."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from ..errors import ModelError
from ..symbolic.expr import ZERO, Expr
from ..symbolic.functions import sqrt
from .bodies import Body, Frame
from .joints import Joint, axis_pair
from .sensors import Sensor
from .values import traced, unit_axis, value, values

if TYPE_CHECKING:
    from .loads import LinkForce

#: Closures by name; a joint that closes a loop has its own kind.
CLOSURES = ("ball", "body", "rod", "spherical", "fixed", "revolute", "prismatic", "cylindrical", "universal", "planar", "parallel")

#: Whose equations a closure has: see :func:`jourdain.formalisms.loops.loop_closure.closure_rows`.
CONVENTIONS = ("jourdain", "robotran")


@dataclass(frozen=True)
class RodInertia:
    """Exact inertia of a straight rod in the accelerations of its ends: the force it asks at a is α_a r̈_a + β r̈_b, at b β r̈_a + α_b r̈_b.

    A uniform rod has α = m/3 and β = m/6 (García de Jalón et al. 2003, eq. 53); the spin about its own axis has no inertia.
    """

    #: α_a, β, α_b in kg
    at_a: Expr
    coupling: Expr
    at_b: Expr

    @property
    def mass(self) -> Expr:
        """α_a + 2β + α_b."""
        return self.at_a + 2.0 * self.coupling + self.at_b

    @property
    def weights(self) -> tuple[Expr, Expr]:
        """Share of the mass that hangs on each end."""
        return self.at_a + self.coupling, self.coupling + self.at_b


@dataclass
class Closure:
    """Two frames held together as by a joint; multipliers act on the second frame's body, opposite on the first."""

    name: str
    kind: str
    a: Frame
    b: Frame
    #: axis (revolute, prismatic, cylindrical), pair of axes (universal), normal (planar), length (rod)
    data: Any = None
    #: axis, axes, length and mass as given
    options: dict[str, Any] = field(default_factory=dict, compare=False)
    #: inertia of a rod with mass at its ends, None for a massless one and other closures
    inertia: RodInertia | None = None
    #: whose equations: "jourdain" (the second frame seen from the first) or "robotran" (the first seen from the second)
    convention: str = "jourdain"
    #: directions x, y, z of the common ancestor in which the points need not coincide ("robotran" alone)
    ignore: tuple[str, ...] = ()


@dataclass
class Equation:
    """h(q, t) = 0 (holonomic) or w(q, v, t) = 0 (nonholonomic) given as an expression."""

    name: str
    expression: Expr
    nonholonomic: bool = False


class ConstraintMethods:
    """The part of a model that declares constraints."""

    name: str
    time: Expr
    joints: dict[str, Joint]
    constraints: dict[str, Closure | Equation]

    if TYPE_CHECKING:

        def _unlocked(self, what: str) -> None: ...
        def _frame(self, given: Any, what: str) -> Frame: ...
        def _new_name(self, name: str, kind: str, existing: dict[str, Any]) -> None: ...
        def sensor(self, name: str, frame: Body | Frame, relative_to: Body | Frame | None = None) -> Sensor: ...

    def close(
        self, name: str, a: Body | Frame, b: Body | Frame, kind: str = "ball", axis: Any = "z", axes: Any = ("x", "y"), length: Any = None,
        mass: Any = None, centre: Any = None, inertia: Any = None, convention: str = "jourdain", ignore: Sequence[str] = (),
    ) -> Closure:  # fmt: skip
        """Closes a loop between two frames as a joint of the given kind would: "ball" (3 equations; 2 in a plane),
        "body" (6), "rod" of a ``length`` (1), "revolute" (5), "prismatic" (5), "cylindrical" (4), "universal" (4), "planar" (3),
        "parallel" (2).  A rod may have a ``mass`` (see :meth:`rod`).

        ``convention="robotran"`` writes the equations of a ball, body or rod as ROBOTRAN does, with the sign, scale and axes its
        multipliers have; ``ignore`` names directions "x", "y", "z" of the common ancestor in which such a ball or body is not held.
        """
        self._unlocked(f"closure '{name}'")
        self._new_name(name, "constraint", self.constraints)
        what = f"closure '{name}'"
        if kind not in CLOSURES:
            raise ModelError(f"{what}: kind '{kind}' is unknown; use one of {', '.join(CLOSURES)}")
        data: Any = None
        options: dict[str, Any] = {}
        if kind == "rod":
            if length is None:
                raise ModelError(f"{what}: a rod needs its length= in m")
            data = value(length, what + ": length", "m")
            options["length"] = data
            if data.is_number and float(data) <= 0:
                raise ModelError(f"{what}: the rod's length {float(data):g} m must be positive")
            given = {"mass": mass, "centre": centre, "inertia": inertia}
            options |= {n: value(e, f"{what}: {n}", ROD_UNITS[n]) for n, e in given.items() if e is not None}
        elif kind in ("revolute", "prismatic", "cylindrical", "planar", "parallel"):
            data = unit_axis(axis, what)
            options["axis"] = axis
        elif kind == "universal":
            data = axis_pair(axes, what)
            options["axes"] = axes
        elif mass is not None:
            raise ModelError(f"{what}: only a rod has a mass=; give the mass to a body")
        matter = _rod_inertia(what, data, mass, centre, inertia) if kind == "rod" else None
        ignore = tuple(ignore)
        if convention != "jourdain" or ignore:
            _check_convention(what, kind, convention, ignore)
            options |= {"convention": convention} | ({"ignore": tuple(ignore)} if ignore else {})
        item = Closure(name, kind, self._frame(a, what), self._frame(b, what), data, options, matter, convention, tuple(ignore))
        if item.a.body is item.b.body:
            raise ModelError(f"{what} connects the body '{item.a.body.name}' with itself")
        if kind not in ("ball", "spherical", "rod"):
            for frame in (item.a, item.b):
                frame.require_turns(what)
        self.constraints[name] = item
        return item

    def rod(
        self, name: str, a: Body | Frame, b: Body | Frame, length: Any, mass: Any = None, centre: Any = None, inertia: Any = None
    ) -> Closure:
        """A straight rod of constant length with ball joints at both ends (one equation), massless or with a ``mass`` in kg.

        Its inertia is exact: that of a slender uniform rod, or with the centre of mass at the fraction ``centre`` of the length from a
        and the ``inertia`` in kg m² about a transverse axis through it.  The rod is no body and adds no coordinate.

        >>> from jourdain import Model
        >>> m = Model("pendulum of a rod")
        >>> cart = m.body("cart", mass=1.0)
        >>> slide = m.prismatic("cart", m.ground, cart, axis="x")
        >>> m.rod("rod", m.ground.at(0, 0, 1), cart, 1.0, mass=3.0).inertia.at_b
        1
        """
        return self.close(name, a, b, "rod", length=length, mass=mass, centre=centre, inertia=inertia)

    def constraint(self, name: str, expression: Any) -> Equation:
        """A holonomic equation h(q, t) = 0 given as an expression of joint positions, sensors and time."""
        return self._equation(name, expression, False)

    def nonholonomic(self, name: str, expression: Any) -> Equation:
        """An equation w(q, v, t) = 0 linear in the velocities, such as rolling without slip."""
        return self._equation(name, expression, True)

    def _equation(self, name: str, expression: Any, nonholonomic: bool) -> Equation:
        self._unlocked(f"constraint '{name}'")
        self._new_name(name, "constraint", self.constraints)
        e = value(expression, f"constraint '{name}'")
        if e.is_number:
            raise ModelError(f"constraint '{name}': the expression {float(e):g} does not depend on any coordinate")
        item = Equation(name, e, nonholonomic)
        self.constraints[name] = item
        return item

    # -- transmissions and curves ---------------------------------------------------------------------------------

    def gear(self, name: str, a: Joint, b: Joint, ratio: Any, phase: Any = 0.0) -> Equation:
        """Couples two joints: x_b = ratio·x_a + phase (a gear pair, a belt, a rack with ratio in m/rad)."""
        first, second = (j._single().unit for j in (a, b))
        n, offset = values(f"gear '{name}'", ("ratio", ratio, f"{second}/{first}"), ("phase", phase, second))
        return self.constraint(name, b.position - n * a.position - offset)

    def rack(self, name: str, pinion: Joint, rack: Joint, radius: Any, offset: Any = 0.0) -> Equation:
        """Rack and pinion: displacement = radius·angle + offset."""
        return self.gear(name, pinion, rack, radius, offset)

    def screw(self, name: str, angle: Joint, displacement: Joint, pitch: Any) -> Equation:
        """A screw between an angle and a displacement: pitch m for a turn."""
        return self.gear(name, angle, displacement, value(pitch, f"screw '{name}': pitch", "m") / (2.0 * 3.141592653589793))

    def pulley(self, name: str, *points: Body | Frame, length: Any) -> Equation:
        """A rope of constant length over several points (inextensible)."""
        frames = [self._frame(p, f"pulley '{name}'") for p in points]
        if len(frames) < 2:
            raise ModelError(f"pulley '{name}' needs at least two points")
        total: Any = -value(length, f"pulley '{name}': length", "m")
        for i, (a, b) in enumerate(pairwise(frames)):
            d = self.sensor(f"{name}.segment{i + 1}", b, a).position
            total = total + sqrt(d.dot(d))
        return self.constraint(name, total)

    def point_on_curve(
        self, name: str, frame: Body | Frame, curve: Callable[[Expr], Any], parameter: Joint, on: Body | Frame | None = None
    ) -> list[Equation]:
        """A point on a curve p(s) fixed on a body; the arc parameter s is the coordinate of an auxiliary joint."""
        target = traced(curve, f"curve of '{name}'", parameter.position)
        s = self.sensor(f"{name}.sensor", frame, on)
        return [self.constraint(f"{name}.{c}", s.position[i] - target[i]) for i, c in enumerate("xyz") if target[i] is not None]

    def point_on_surface(
        self, name: str, frame: Body | Frame, surface: Callable[[Expr, Expr, Expr], Any], on: Body | Frame | None = None
    ) -> Equation:
        """A point on a surface f(x, y, z) = 0 fixed on a body (a cam, a road, a cavity)."""
        s = self.sensor(f"{name}.sensor", frame, on)
        return self.constraint(name, traced(surface, f"surface of '{name}'", s.x, s.y, s.z))

    def rope_length(self, link: LinkForce, length: Any) -> Equation:
        """Holds the length of a link constant (or a function of time)."""
        return self.constraint(f"{link.name}.constant_length", link.length - value(length, f"length of '{link.name}'", "m"))


#: Units of what is known of a rod besides its length.
ROD_UNITS = {"mass": "kg", "centre": "1", "inertia": "kg m^2"}


def _check_convention(what: str, kind: str, convention: str, ignore: Sequence[str]) -> None:
    if convention not in CONVENTIONS:
        raise ModelError(f"{what}: convention '{convention}' is unknown; use one of {', '.join(CONVENTIONS)}")
    if convention == "robotran" and kind not in ("ball", "body", "rod"):
        raise ModelError(f"{what}: ROBOTRAN has no cut of kind '{kind}'; use 'ball', 'body' or 'rod', or leave convention= out")
    if ignore and (convention != "robotran" or kind == "rod"):
        raise ModelError(f"{what}: ignore={tuple(ignore)!r} is for a ball or body of convention='robotran'")
    for axis in ignore:
        if axis not in ("x", "y", "z"):
            raise ModelError(f"{what}: ignore names the direction '{axis}'; use 'x', 'y', 'z'")


def _rod_inertia(what: str, length: Expr, mass: Any, centre: Any, inertia: Any) -> RodInertia | None:
    """α_b = I_a/l², β = mξ − I_a/l², α_a = m − 2mξ + I_a/l² with I_a about the first end, ξ the place of the centre of mass."""
    m = value(0.0 if mass is None else mass, what + ": mass", "kg")
    if m is ZERO:
        if centre is not None or inertia is not None:
            raise ModelError(f"{what}: a rod with centre= or inertia= needs its mass= in kg")
        return None
    if m.is_number and float(m) < 0:
        raise ModelError(f"{what}: the rod's mass {float(m):g} kg is negative")
    if centre is None and inertia is None:
        return RodInertia(m / 3.0, m / 6.0, m / 3.0)
    xi = value(0.5 if centre is None else centre, what + ": centre", "1")
    if xi.is_number and not 0.0 <= float(xi) <= 1.0:
        raise ModelError(f"{what}: the centre of mass at {float(xi):g} of the length lies beyond the rod's ends; use 0 to 1")
    own = m / 12.0 if inertia is None else value(inertia, what + ": inertia", "kg m^2") / (length * length)
    far = own + m * xi * xi
    return RodInertia(m - 2.0 * m * xi + far, m * xi - far, far)
