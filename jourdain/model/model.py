"""The model: what the user describes, checked as it grows and locked once compiled."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..collector import no_collection
from ..errors import ModelError, nearest
from ..shown import Shown
from ..symbolic.expr import KINDS, ZERO, Expr, symbol
from ..symbolic.graph import free_symbols
from ..symbolic.vectors import Vector
from .assigned import Assigned, Named
from .bodies import Body, Frame, check_mass_properties, drawable, other_model, shape_mass
from .constraints import Closure, ConstraintMethods, Equation
from .contact.methods import ContactMethods
from .control import ControlMethods
from .dimensions import natural_units
from .elastic.methods import FlexibleMethods
from .environment import EnvironmentMethods
from .events import EventMethods, ModelEvent
from .instruments import InstrumentMethods
from .joints import MANY_ROTORS, Coordinate, Drive, Joint, Motion, joint_motions, law_units, mimic, parse_limits
from .loads import Callback, Input, Load, LoadMethods, Output, UserState
from .memories import Memory, MemoryMethods
from .parameters import Parameters
from .sensors import Sensor
from .switches import SwitchMethods
from .unknowns import Unknown, UnknownMethods
from .values import colour_of, traced, value, vector

if TYPE_CHECKING:
    import os

    from ..structures.parts.sections import Material
    from ..systems.system import System
    from .contact.contacts import Contact, Rope
    from .contact.laws import Rigid
    from .topology import Topology

#: Methods by the words of other programs.
OTHER_WORDS = {
    "prescribe": "drive", "motion": "drive", "actuate": "drive", "hinge": "revolute", "pin": "revolute", "slider": "prismatic", "slide": "prismatic",
    "weld": "fixed", "fix": "fixed", "rigid": "fixed", "ball": "spherical", "floating": "free", "link": "body", "add_body": "body",
    "rigid_body": "body", "actuator": "motor", "marker": "frame", "add_joint": "joint", "loop": "close", "measure": "output",
    "joint_force": "force", "joint_torque": "force", "add_force": "load", "point_force": "load", "external_force": "load",
    "apply_force": "load", "spherical_joint": "spherical", "revolute_joint": "revolute", "prismatic_joint": "prismatic", "point_on_line": "point_on_curve",
    "tree": "describe", "limit": "stop", "limits": "stop", "joint_limits": "stop", "add_spring": "spring", "add_damper": "damper",
}  # fmt: skip


class Model(
    Assigned, Shown, LoadMethods, MemoryMethods, UnknownMethods, ConstraintMethods, ContactMethods, EventMethods, SwitchMethods, EnvironmentMethods, FlexibleMethods,
    InstrumentMethods, ControlMethods,
):  # fmt: skip
    """A mechanical system: bodies, joints, loads, parameters.

    >>> m = Model("pendulum", gravity=(0, 0, -9.81))
    >>> l = m.parameter("l", 0.5, unit="m")
    >>> bob = m.body("bob", mass=2.0, com=(0, 0, -l))
    >>> hinge = m.revolute("hinge", m.ground, bob, axis="y")
    >>> print(m)
    pendulum
    ground
    └─ bob  [hinge: revolute (angle)]
    """

    called = "model"
    instead: ClassVar = {
        name: "give jd.Model(name, gravity=(x, y, z)), or set the parameters of the compiled system: s.set_parameters(gravity_z=-1.62)"
        for name in ("gravity", "g")
    }
    #: Arguments that people give to a method and that belong to another one.
    elsewhere: ClassVar = {
        f"contact.{name}": f"law=jd.contact.{law}({name}=…)"
        for law, names in {"rigid": ("friction", "restitution", "static"), "hunt_crossley": ("stiffness", "damping")}.items()
        for name in names
    }

    def __init__(self, name: str, gravity: Any = (0.0, 0.0, -9.81)) -> None:
        if not isinstance(name, str) or not name:
            raise ModelError(f"a model needs a name, got {name!r}; write Model('pendulum')")
        self.name = name
        self._parameters = Parameters()
        self.bodies: dict[str, Body] = Named("body")
        self.joints: dict[str, Joint] = Named("joint")
        self.loads: dict[str, Load] = {}
        self.constraints: dict[str, Closure | Equation] = {}
        self.contacts: dict[str, Contact] = {}
        #: Laws of joints that cannot go on at their limits.
        self.rigid_stops: dict[str, Rigid] = {}
        self.ropes: dict[str, Rope] = {}
        self.dry_friction: dict[str, tuple[Expr, Expr]] = {}
        self.materials: dict[str, Material] = {}
        self.inputs: dict[str, Input] = Named("input")
        self.callbacks: dict[str, Callback] = {}
        self.memories: dict[str, Memory] = {}
        self.unknowns: dict[str, Unknown] = {}
        self.states: dict[str, UserState] = {}
        self.outputs: dict[str, Output] = {}
        self.sensors: dict[str, Sensor] = Named("sensor")
        self.events: dict[str, ModelEvent] = Named("event")
        self.switches: dict[str, Memory] = {}
        self._readings: dict[Expr, tuple[Sensor, str, int]] = {}
        self.time: Expr = symbol("t", "time")
        natural_units[self.time] = "s"
        self._locked = False
        #: What an importer could not take over, in words.
        self.notes: list[str] = []
        #: Elements of a foreign file that have no counterpart in the model, by kind (see jourdain.io).
        self.imported: dict[str, list[Any]] = {}
        #: Expressions with a name of their own in the model's file.
        self.expressions: dict[str, Expr] = {}
        #: Initial coordinates, velocities and states by name: SI numbers or text with a unit.
        self.initial: dict[str, Any] = {}
        #: Names in ``initial`` whose values only say where to begin when loops are closed (dependent coordinates of a foreign file).
        self.guesses: list[str] = []
        #: Bodies whose mass properties no body can have, taken from a foreign file as they stand: they are not checked.
        self.unphysical: list[str] = []
        #: Analyses to run, by name: the verb under "verb" and its options.
        self.analyses: dict[str, dict[str, Any]] = {}
        #: Criteria and design problems of a model file, by name, as they are written there.
        self.criteria: dict[str, dict[str, Any]] = {}
        self.problems: dict[str, dict[str, Any]] = {}
        #: Channels to keep in results; empty for all.
        self.keep: list[str] = []
        self.ground = Body(self, "ground")
        self.gravity = self._gravity(gravity)

    def _gravity(self, given: Any) -> Vector:
        g = vector(given, "gravity", "m/s²")
        named = [
            self._parameters.add(f"gravity_{c}", float(e), "m/s²", description="gravity") if e.is_number and e is not ZERO else e
            for c, e in zip("xyz", g, strict=True)
        ]
        return Vector(*named)

    # -- what is declared -----------------------------------------------------------------------------------------

    def parameter(self, name: str, value: Any, unit: str = "", bounds: tuple[Any, Any] = (None, None), description: str = "") -> Expr:
        """A named parameter; the symbol returned may stand wherever a number may."""
        self._unlocked(f"parameter '{name}'")
        return self._parameters.add(name, value, unit, bounds, description)

    def parameters(self, unit: str = "", /, **values: Any) -> list[Expr]:
        """Several parameters at once, of one unit if it is given: ``r, l = m.parameters("m", r=0.04, l="130 mm")``."""
        return [self.parameter(name, v, unit) for name, v in values.items()]

    @property
    def parameter_set(self) -> Parameters:
        """All parameters with values, units and bounds."""
        return self._parameters

    def body(
        self, name: str, mass: Any = None, com: Any = (0, 0, 0), inertia: Any = None, about: str = "com", shape: Any = None,
        colour: str | None = None, color: str | None = None,
    ) -> Body:  # fmt: skip
        """A rigid body from numbers (see :meth:`Body.add_mass`) or from solids with density; both add up."""
        self._unlocked(f"body '{name}'")
        self._new_name(name, "body", self.bodies)
        body = Body(self, name)
        body.colour = colour_of(colour, color, f"body '{name}'")
        if mass is not None or inertia is not None:
            body.add_mass(0.0 if mass is None else mass, com, inertia, about)
        elif not vector(com, f"body '{name}': com", "m").is_zero:
            raise ModelError(
                f"body '{name}': com= is where mass= is, which is not given; shapes with a density have their own centre of mass"
            )
        for solid in [] if shape is None else (shape if isinstance(shape, (list, tuple)) else [shape]):
            body.shapes.append(drawable(body, solid))
            if getattr(solid, "density", None) is not None or mass is None:
                shape_mass(body, solid)
        self.bodies[name] = body
        return body

    @property
    def coordinates(self) -> list[Coordinate]:
        """The coordinates of all joints and the amplitudes of flexible bodies, each once."""
        found = {id(c): c for joint in self.joints.values() for c in joint.coordinates}
        found |= {id(c): c for body in self.bodies.values() for c in body.modes}
        return list(found.values())

    @property
    def all_bodies(self) -> list[Body]:
        """Ground and bodies."""
        return [self.ground, *self.bodies.values()]

    @property
    def mass(self) -> Expr:
        """Mass of all bodies and rods in kg."""
        total: Expr = ZERO
        for body in self.bodies.values():
            total = total + body.mass
        for item in self.constraints.values():
            if isinstance(item, Closure) and item.inertia is not None:
                total = total + item.inertia.mass
        return total

    # -- joints ---------------------------------------------------------------------------------------------------

    def joint(self, kind: str, name: str, parent: Body | Frame, child: Body | Frame, **options: Any) -> Joint:
        """A joint of any kind by name; the methods below are its short forms."""
        self._unlocked(f"joint '{name}'")
        self._new_name(name, "joint", self.joints)
        what = f"joint '{name}'"
        given = dict(options)
        unit = {"revolute": "rad", "helical": "rad", "prismatic": "m"}.get(kind)
        limits = parse_limits(options.pop("limits", None), what, unit)
        drive = _parse_drive(options, what, unit, kind)
        cut = options.pop("cut", None)
        follow = options.pop("mimic", None)
        motions = joint_motions(name, kind, options)
        unknown = set(options) - _OPTIONS[kind]
        if unknown:
            raise ModelError(
                f"{what}: unknown option '{sorted(unknown)[0]}'; a {kind} joint takes {', '.join(sorted(_OPTIONS[kind] | _COMMON))}"
            )
        if follow is not None:
            motions = self._following(motions, follow, what)
        a, b = self._frame(parent, what), self._frame(child, what)
        if a.body is b.body:
            raise ModelError(f"{what} connects the body '{a.body.name}' with itself")
        joint = Joint(name, kind, a, b, motions, limits, drive, cut, given)
        joint.require_axes()
        if limits != (None, None) and unit is None:
            raise ModelError(f"{what}: limits need a joint of one freedom (revolute, prismatic or helical), not a {kind} one")
        if drive != Drive() and sum(len(c.v) for c in joint.coordinates) != 1:
            _check_rotors(joint, what)
        self.joints[name] = joint
        return joint

    def fixed(self, name: str, parent: Body | Frame, child: Body | Frame, **options: Any) -> Joint:
        """A rigid connection."""
        return self.joint("fixed", name, parent, child, **options)

    def revolute(self, name: str, parent: Body | Frame, child: Body | Frame, axis: Any = "z", **options: Any) -> Joint:
        """A hinge: coordinate ``name.angle`` in rad about ``axis`` of the parent's frame."""
        return self.joint("revolute", name, parent, child, axis=axis, **options)

    def prismatic(self, name: str, parent: Body | Frame, child: Body | Frame, axis: Any = "z", **options: Any) -> Joint:
        """A slider: coordinate ``name.displacement`` in m along ``axis`` of the parent's frame."""
        return self.joint("prismatic", name, parent, child, axis=axis, **options)

    def helical(self, name: str, parent: Body | Frame, child: Body | Frame, pitch: Any, axis: Any = "z", **options: Any) -> Joint:
        """A screw: coordinate ``name.angle``; it advances ``pitch`` m in a turn."""
        return self.joint("helical", name, parent, child, pitch=pitch, axis=axis, **options)

    def cylindrical(self, name: str, parent: Body | Frame, child: Body | Frame, axis: Any = "z", **options: Any) -> Joint:
        """Sliding along and turning about one axis: ``name.displacement``, ``name.angle``."""
        return self.joint("cylindrical", name, parent, child, axis=axis, **options)

    def universal(self, name: str, parent: Body | Frame, child: Body | Frame, axes: Any = ("x", "y"), **options: Any) -> Joint:
        """Two turns about axes of the parent and of the child: ``name.angle1``, ``name.angle2``."""
        return self.joint("universal", name, parent, child, axes=axes, **options)

    def planar(self, name: str, parent: Body | Frame, child: Body | Frame, plane: str = "xy", **options: Any) -> Joint:
        """Motion in a plane: two displacements named by their axes and ``name.angle``."""
        return self.joint("planar", name, parent, child, plane=plane, **options)

    def spherical(self, name: str, parent: Body | Frame, child: Body | Frame, orientation: str = "quaternion", **options: Any) -> Joint:
        """A ball joint, by a quaternion or by a sequence of three axes such as "zxz"."""
        return self.joint("spherical", name, parent, child, orientation=orientation, **options)

    def free(self, name: str, parent: Body | Frame, child: Body | Frame, orientation: str = "quaternion", **options: Any) -> Joint:
        """Six freedoms: x, y, z along the parent's axes, then the orientation."""
        return self.joint("free", name, parent, child, orientation=orientation, **options)

    def sequence(self, name: str, parent: Body | Frame, child: Body | Frame, sequence: Iterable[str], **options: Any) -> Joint:
        """Any sequence of elementary motions, such as ["Tx", "Rz", "Ry"]."""
        return self.joint("sequence", name, parent, child, sequence=tuple(sequence), **options)

    # -- prescribed motion ----------------------------------------------------------------------------------------

    def drive(self, joint: Joint, motion: Callable[[Expr], Any] | Any, coordinate: str | None = None) -> None:
        """Prescribes a coordinate as a function of time, q = f(t); its rates are derived."""
        c = self._prescribable(joint, coordinate)
        what = f"drive of '{c.names[0]}'"
        given = traced(motion, what, self.time) if callable(motion) else motion
        e = value(given, what, c.unit)
        if e.deps & ~(KINDS["parameter"] | KINDS["time"]):
            raise ModelError(f"{what}: {e} must depend on time and parameters alone; use m.gear(...) or m.constraint(...) to couple joints")
        c.motion = e
        c.nature = "driven"

    def lock(self, joint: Joint, position: Any = 0.0, coordinate: str | None = None) -> None:
        """Holds a coordinate at a value (rad or m)."""
        c = self._prescribable(joint, coordinate)
        what = f"lock of '{c.names[0]}'"
        e = value(position, what, c.unit)
        if e.deps & ~KINDS["parameter"]:
            raise ModelError(f"{what}: {e} must depend on parameters alone; use m.drive(...) for a motion in time")
        c.motion = e
        c.nature = "locked"

    def _prescribable(self, joint: Joint, coordinate: str | None) -> Coordinate:
        self._joint(joint, "prescribed motion")
        self._unlocked(f"prescribed motion of '{joint.name}'")
        only = joint.coordinates[0] if len(joint.coordinates) == 1 else None
        c = (only or joint._single()) if coordinate is None else joint.coordinate(coordinate)
        if c.is_quaternion:
            raise ModelError(
                f"joint '{joint.name}': a quaternion cannot be prescribed by a function; use an orientation sequence such as 'xyz'"
            )
        for name in (*c.names, *c.velocity_names):  # what is prescribed starts where its motion says
            self.initial.pop(name, None)
            self.guesses = [n for n in self.guesses if n != name]
        return c

    # -- whole model ----------------------------------------------------------------------------------------------

    @property
    def topology(self) -> Topology:
        """Tree and loops as they follow from the joints."""
        from .topology import spanning_tree

        return spanning_tree(self)

    def check(self) -> None:
        """Physical checks of every body with the present parameter values (those in ``unphysical`` apart).

        Of a body that its joints let turn about one axis alone the inertia about that axis is enough, as in ``inertia=(0, 0, I)``.
        """
        for name, error in self.mass_faults().items():
            if name not in self.unphysical and not self._completed(self.bodies[name]):
                raise error

    def _completed(self, body: Body) -> bool:
        """Whether what was left out of a body's inertia does nothing; then it is that of a plate."""
        from ..formalisms.planar import plate

        try:
            more = plate(self, body)
        except ModelError:  # other faults, told in their turn
            return False
        if more is not None:
            body.inertia = body.inertia + more
        return more is not None

    def mass_faults(self) -> dict[str, ModelError]:
        """Bodies whose mass properties are impossible with the present parameter values, and what is wrong."""
        items = list(self.bodies.values())
        flat = [e for b in items for e in (b.mass, *b.moment, *b.inertia.entries)]
        self._check_parameters(items)
        numbers = np.array([float(x) for x in self._parameters.evaluate(flat)]).reshape(-1, 10)
        found: dict[str, ModelError] = {}
        well: set[bytes] = set()  # many bodies may be alike
        for body, row in zip(items, numbers, strict=True):
            if (alike := row.tobytes()) in well:
                continue
            xx, yy, zz, xy, xz, yz = row[4:]
            try:
                check_mass_properties(body.name, row[0], row[1:4], np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))
            except ModelError as error:
                found[body.name] = error
            else:
                well.add(alike)
        return found

    def _check_parameters(self, bodies: Iterable[Body]) -> None:
        own = set(self._parameters.symbols)
        for body in bodies:
            entries = (body.mass, *body.moment, *body.inertia.entries)
            for s in () if all(e.is_number for e in entries) else free_symbols(entries):
                if s not in own:
                    raise ModelError(
                        f"body '{body.name}': its mass properties depend on {s}, which is not a parameter of the model '{self.name}'"
                    )

    def compile(self, check: bool = True, formulation: str | None = "recursive", **options: Any) -> System:
        """The compiled system, on which every analysis is a verb; the model is locked from now on.

        formulation: "recursive" (joint coordinates), or the same model in other coordinates: "semi-recursive", "cartesian", "natural",
            "directors" (the energy-consistent engine).
        options: of the formulation; ``reduction`` says what becomes of constraints in every one of them ("recursive": "projected",
            "reduced", "closed"; "semi-recursive": "partition", "range-space", "null-space", "augmented-lagrangian"; "directors": "none",
            "projection", "bodies", "joints"; "cartesian", "natural": "kkt", "qr", "svd" …), ``rotation`` the coordinates of rotations
            ("cartesian"), ``point`` the point that velocities refer to ("semi-recursive"), ``form`` "straight" or "looped" code.
        check: False leaves out the physical checks of masses and inertias.
        """
        from ..systems.formulations import formulate

        if not isinstance(check, (bool, np.bool_)):
            raise ModelError(
                f"compile '{self.name}': check = {check!r} is neither True nor False; name a formulation as formulation={check!r}"
            )
        self.settle_order()
        with no_collection():
            if check:
                self.check()
            if formulation != "directors":  # whose elements need no modes
                for joint in self.joints.values():
                    if joint.kind == "fixed":
                        joint.child.body.told_of_clamp(joint.child)
            return formulate(self, formulation or "recursive", **options)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the model as a file that :func:`jourdain.load_model` reads back to the same equations."""
        from ..io.model_files.model_file import save_model

        save_model(self, path)

    def include(
        self, other: Model, prefix: str, attach: Body | Frame | None = None, mirror: str | None = None,
        parameters: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        """Copies another model into this one, its names behind ``prefix.``, its ground at the frame ``attach``.

        See :func:`jourdain.model.include.include` for ``mirror`` and ``parameters``.
        """
        from .include import include

        include(self, other, prefix, attach, mirror, parameters)

    def frame(self, path: str) -> Frame:
        """A frame by its path "body" or "body.frame"."""
        bodies = {b.name: b for b in self.all_bodies}
        if path in bodies:
            return bodies[path].origin
        for dot in (i for i, letter in enumerate(path) if letter == "."):  # names may contain dots themselves
            head, tail = path[:dot], path[dot + 1 :]
            if head in bodies and (found := bodies[head].find(tail)) is not None:
                return found
        known = [b.name for b in self.all_bodies] + [f.path for b in self.all_bodies for f in b.frames.values()]
        near = nearest(path, known, 3)
        told = f"did you mean {', '.join(near)}?" if near else f"'{self.name}' has {', '.join(known[:12])}{' …' if len(known) > 12 else ''}"
        raise ModelError(f"there is no body or frame '{path}'; {told}")

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            raise AttributeError(self._unknown(name))

    def _unknown(self, name: str) -> str:
        """What to say about a name that a model does not have: a verb of compiled systems, or what is called otherwise here."""
        told = f"a model has no '{name}'"
        if name.startswith("_"):
            return told
        from ..results.elsewhere import meant
        from ..results.solution import Solution
        from ..systems.system import System

        kinds = {"_parameters": "parameter_set"} | {kind: kind for kind in ("bodies", "joints", "inputs", "outputs")}
        if kind := next((word for own, word in kinds.items() if name in vars(self).get(own, ())), None):
            return f"{told} of its own; it is m.{kind}['{name}']"
        if name.partition("_")[0] in ("remove", "delete", "del"):
            return f"{told}: nothing is taken out of a model again; describe it anew without that part, in a function that makes the model"
        if meant(name) != name and meant(name) not in dir(type(self)):
            name = meant(name)
        if hasattr(Solution, name) and not hasattr(System, name):
            return f"{told}: ask the solution of a run, sol = m.compile().simulate(…), for sol.{name}"
        if hasattr(System, name):
            return f"{told}: ask the compiled system, s = m.compile(), for s.{name}"
        own = OTHER_WORDS.get(name)
        near = [own] if own else nearest(name, [n for n in dir(type(self)) if not n.startswith("_")], 3)
        return f"{told}; did you mean {' or '.join(f'm.{n}' for n in near)}?" if near else told

    def describe(self) -> str:
        """The tree, the coordinates and which formalism will be used and why."""
        from ..formalisms.describe import describe

        return describe(self)

    def __str__(self) -> str:
        from .topology import tree_text

        return tree_text(self)

    def __repr__(self) -> str:
        return f"<Model {self.name}: {len(self.bodies)} bodies, {len(self.joints)} joints, {len(self._parameters.listed)} parameters>"

    # -- guards ---------------------------------------------------------------------------------------------------

    def _frame(self, given: Body | Frame, what: str) -> Frame:
        if isinstance(given, str):
            return self.frame(given)
        frame = given.origin if isinstance(given, Body) else given
        if not isinstance(frame, Frame):
            raise ModelError(f"{what}: {given!r} is neither a body nor a frame; use body, body.at(x, y, z) or body.frame(...)")
        if frame.body.model is not self:
            raise ModelError(f"{what}: '{frame.path}' belongs to {other_model(frame.body.model, self)}")
        return frame

    def _joint(self, given: Joint, what: str) -> Joint:
        if not isinstance(given, Joint):
            place = isinstance(given, (Body, Frame)) and what == "force"
            more = "; a force at a point is m.load(name, frame, force=(x, y, z))" if place else ""
            raise ModelError(f"{what}: {given!r} is not a joint; give the object that m.revolute(...) and the like return{more}")
        if self.joints.get(given.name) is not given:
            other = ", which has another joint of that name" if given.name in self.joints else ""
            raise ModelError(f"{what}: joint '{given.name}' does not belong to the model '{self.name}'{other}")
        return given

    def _following(self, motions: tuple[Motion, ...], follow: Any, what: str) -> tuple[Motion, ...]:
        """The motions coupled to another joint's coordinate, for gears and mimic joints in the tree."""
        given = follow if isinstance(follow, tuple) else (follow,)
        if not 1 <= len(given) <= 3:
            raise ModelError(f"{what}: mimic has {len(given)} entries; give a joint or (joint, ratio, offset)")
        leader, ratio, offset = (*given, 1.0, 0.0)[:3] if len(given) != 2 else (*given, 0.0)
        self._joint(leader, f"{what}: mimic")
        if len(motions) != 1 or len(leader.motions) != 1 or motions[0].kind == "S" or leader.motions[0].kind == "S":
            raise ModelError(f"{what}: only joints of one freedom can follow another (leader '{leader.name}')")
        return (
            mimic(
                motions[0],
                leader.motions[0],
                value(ratio, f"{what}: ratio of mimic"),
                value(offset, f"{what}: offset of mimic", motions[0].coordinate.unit),
            ),
        )

    def _new_name(self, name: str, kind: str, existing: dict[str, Any]) -> None:
        article = "an" if kind[0] in "aeiou" else "a"
        if not name or not isinstance(name, str):
            raise ModelError(f"{article} {kind} needs a name, got {name!r}")
        if kind == "body" and name == "ground":
            raise ModelError("the body 'ground' is there already: it is m.ground, and the table [ground] in a model file")
        if name in existing:
            raise ModelError(f"there is {article} {kind} '{name}' already; names must be unique")

    def _unlocked(self, what: str) -> None:
        if self._locked:
            raise ModelError(
                f"{what}: the model '{self.name}' is compiled and locked; change it before compile(), or change parameter values"
            )


_COMMON = {"limits", "rotor_inertia", "gear_ratio", "damping", "friction", "stiffness", "rest", "cut", "mimic"}
_OPTIONS: dict[str, set[str]] = {
    "fixed": set(), "revolute": {"axis"}, "prismatic": {"axis"}, "helical": {"axis", "pitch"}, "cylindrical": {"axis"},
    "universal": {"axes"}, "planar": {"plane"}, "spherical": {"orientation"}, "free": {"orientation"}, "sequence": {"sequence"},
}  # fmt: skip


def _check_rotors(joint: Joint, what: str) -> None:
    """Refuses drives of joints of several freedoms, but for the rotor inertia of balls and free joints that turn by a quaternion.

    By ½ J ω² it is the same about all axes, so that it stands on the diagonal for angular velocities, and for no other rates.
    """
    rotor = replace(Drive(), rotor_inertia=joint.drive.rotor_inertia, gear_ratio=joint.drive.gear_ratio)
    if joint.kind not in MANY_ROTORS or joint.drive != rotor:
        raise ModelError(f"{what}: rotor inertia, damping, friction and stiffness need a joint of one freedom")
    if not any(c.is_quaternion for c in joint.coordinates):
        raise ModelError(f"{what}: a rotor inertia about all axes needs orientation='quaternion', not '{joint.options['orientation']}'")


def _parse_drive(options: dict[str, Any], what: str, unit: str | None, kind: str) -> Drive:
    names = ("rotor_inertia", "gear_ratio", "damping", "friction", "stiffness", "rest")
    # of a free joint it is a number for travel (kg) and turning (kg m²) alike
    units = {"rotor_inertia": {"spherical": "kg m^2", "free": "1"}.get(kind)} if unit is None else law_units(unit)
    if unit == "m" and "gear_ratio" in options:
        units["rotor_inertia"] = "kg m^2"  # of a motor that turns gear_ratio rad for a metre
    given = {n: value(options.pop(n), f"{what}: {n}", units.get(n)) for n in names if n in options}
    for n, e in given.items():
        if n not in ("gear_ratio", "rest") and e.is_number and float(e) < 0:
            raise ModelError(f"{what}: {n} = {float(e):g} is negative")
    return Drive(**given)
