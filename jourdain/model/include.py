"""Sub-models: a copy of one model inside another, displaced, mirrored and with other parameters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..errors import ModelError
from ..symbolic.expr import ZERO, Expr, signed, symbol
from ..symbolic.graph import substitute
from ..symbolic.vectors import Vector
from .bodies import Body, Frame, MassGiven, shape_mass
from .constraints import Closure
from .contact.contacts import BodyShape
from .contact.loads import TouchLoad
from .elastic.flexible import FlexibleBody, PartBody, RigidPart
from .joints import Joint
from .mirror import Mirror, mapped_shape
from .shapes.mass import Placement
from .units import quantity
from .values import value

if TYPE_CHECKING:
    from .loads import Input
    from .model import Model


def include(
    model: Model, other: Model, prefix: str, attach: Body | Frame | None = None, mirror: str | None = None,
    parameters: Mapping[str, Any] | None = None,
) -> None:  # fmt: skip
    """Copies ``other`` into ``model`` with names ``prefix.name``; its ground becomes the frame ``attach``.

    Joints, closures, links and points on the sub-model's ground move to ``attach``; sensors relative to the ground's
    own frame and loads in world axes stay with the world.  ``mirror="y"`` takes the mirror image along that axis:
    joints turn so that mirrored motions have the same coordinates where their kind allows it, and laws see the
    mirrored motion as if it were the original.  ``parameters`` gives values (numbers stay parameters of the copy) or
    expressions of the including model.
    """
    model._unlocked(f"sub-model '{prefix}'")
    if other is model:
        raise ModelError(f"sub-model '{prefix}': a model cannot include itself; make a copy of it")
    if other.callbacks:
        raise ModelError(
            f"sub-model '{prefix}': its callback '{next(iter(other.callbacks))}' cannot be copied; write the law as an expression"
        )
    if not prefix or not isinstance(prefix, str):
        raise ModelError(f"sub-model '{other.name}' needs a prefix for its names, got {prefix!r}")
    frame = model.ground.origin if attach is None else model._frame(attach, f"sub-model '{prefix}'")
    Copy(model, other, prefix, frame, Mirror(mirror)).run(parameters or {})


class Copy:
    """A sub-model on its way into another model: what its names, symbols, frames and vectors become there."""

    def __init__(self, model: Model, other: Model, prefix: str, attach: Frame, mirror: Mirror) -> None:
        self.model, self.other, self.prefix, self.attach, self.mirror = model, other, prefix, attach, mirror
        #: What each symbol of the sub-model becomes.
        self.new: dict[Expr, Expr] = {}
        self.signs: dict[Expr, int] = {}

    def run(self, parameters: Mapping[str, Any]) -> None:
        """Copies everything."""
        self._parameters(parameters)
        self._channels()
        self._bodies()
        self._sliders()
        for joint in self.other.joints.values():
            self._joint(joint)
        self._prescribed()
        self._sensors()
        self._loads()
        for constraint in self.other.constraints.values():
            self._constraint(constraint)
        self._rest()

    # -- helpers --------------------------------------------------------------------------------------------------

    def name(self, name: str) -> str:
        """The name of a copy."""
        return f"{self.prefix}.{name}"

    def expr(self, e: Expr) -> Expr:
        """An expression with its symbols replaced."""
        return substitute([e], self.new)[0]

    def vector(self, v: Iterable[Expr]) -> Vector:
        """A vector with its symbols replaced."""
        return Vector(*substitute(list(v), self.new))

    def any(self, given: Any) -> Any:
        """A value as given, with its symbols replaced."""
        return self.expr(given) if isinstance(given, Expr) else given

    def _become(self, old: Expr, new: Expr, sign: int = 1) -> None:
        self.new[old] = signed(sign, new)
        self.signs[old] = sign

    def frame(self, frame: Frame) -> Frame:
        """The copy of a frame."""
        ground = frame.body is self.other.ground
        if not ground and frame.name is not None and frame.body.frames.get(frame.name) is frame:
            return self._body_of(frame).frames[frame.name]
        position, rotation = self._pose(frame)
        if not ground:
            copy = Frame(self._body_of(frame), position, rotation)
            copy.node = frame.node
            if frame.base is not None and frame.node is not None:
                base, step, turn = frame.base
                copy.base = self.frame(base), self.vector(step), turn
            return copy
        a = self.attach
        return Frame(a.body, a.position + a.rotation @ position, a.rotation @ rotation)

    def _pose(self, frame: Frame) -> tuple[Vector, Any]:
        R = frame.rotation
        entries = substitute(R.entries, self.new)
        turned = type(R).of([entries[0:3], entries[3:6], entries[6:9]])
        return self.mirror.vector(self.vector(frame.position)), self.mirror.matrix(turned)

    def _body_of(self, frame: Frame) -> Body:
        return self.model.bodies[self.name(frame.body.name)]

    # -- parameters and channels ----------------------------------------------------------------------------------

    def _parameters(self, given: Mapping[str, Any]) -> None:
        for name in given:
            self.other.parameter_set[name]  # an error that suggests names
        weight = {e: g for e, g in zip(self.other.gravity, self.model.gravity, strict=True) if not e.is_number}
        for p in self.other.parameter_set.listed:
            what = f"sub-model '{self.prefix}': parameter '{p.name}'"
            e = value(given[p.name], what, p.unit or None) if p.name in given else None
            if e is not None and not e.is_number:
                self._become(p.symbol, e)
            elif e is None and p.symbol in weight:
                self._become(p.symbol, weight[p.symbol])
            else:
                number = p.value if e is None else float(e)
                self._become(p.symbol, self.model.parameter(self.name(p.name), number, p.unit, p.bounds, p.description))

    def _channels(self) -> None:
        self._become(self.other.time, self.model.time)
        apart = self.other.found_inputs | self.other.point_memories  # they come with their contacts
        for i in self.other.inputs.values():
            if i.name not in apart:
                self._become(i.symbol, self._channel(i))
        for s in self.other.states.values():
            self._become(s.symbol, self.model.state(self.name(s.name), s.initial, s.unit))

    def _channel(self, item: Input) -> Expr:
        name, memories, unknowns = self.name(item.name), self.other.memories, self.other.unknowns
        if item.name in memories:
            return self.model.memory(name, self.expr(memories[item.name].initial), unit=item.unit)
        if item.name in unknowns:
            return self.model.unknown(name, unknowns[item.name].guess, unit=item.unit)
        return self.model.input(name, item.value, item.unit)

    # -- bodies ---------------------------------------------------------------------------------------------------

    def _bodies(self) -> None:
        for body in self.other.bodies.values():
            if isinstance(body, PartBody):
                self._flexible(body)
            else:
                self._fill(self.model.body(self.name(body.name), colour=body.colour), body)
        for p in self.other.parameter_set:
            if p.data and (new := self.model.parameter_set.symbol(self.name(p.name))) is not None:
                self._become(p.symbol, new)
        for name, frame in self.other.ground.frames.items():
            copy = self.frame(frame)
            self.attach.body.frame(self.name(name), copy.position, copy.rotation)
        for shape in self.other.ground.shapes:
            moved = self.mirror.shape(mapped_shape(shape, self.expr))
            R = tuple(tuple(_plain(e) for e in row) for row in self.attach.rotation)
            at = Placement(tuple(_plain(e) for e in self.attach.position), R)  # type: ignore[arg-type]
            self.attach.body.shapes.append(replace(moved, placement=at @ moved.placement))

    def _flexible(self, body: PartBody) -> None:
        """The same structure again, with the nodes and frames that are used."""
        if self.mirror.axis is not None:
            raise ModelError(
                f"sub-model '{self.prefix}': the flexible body '{body.name}' cannot be mirrored, for its structure is not; describe the "
                "mirrored part as a structure of its own, in a model that is included as it is"
            )
        copy = self.model.flexible_body(self.name(body.name), body.part, rigid=isinstance(body, RigidPart), colour=body.colour)
        copy.shapes = [mapped_shape(s, self.expr) for s in body.shapes]
        copy.collision = [mapped_shape(s, self.expr) for s in body.collision]
        copy.collision_names = [self.name(n) for n in body.collision_names]
        for node in body.nodes:
            copy.node(node)
        if isinstance(body, FlexibleBody) and isinstance(copy, FlexibleBody):
            for c, new in zip(body.modes, copy.modes, strict=True):
                for old, now in zip((*c.q, *c.v, *c.a), (*new.q, *new.v, *new.a), strict=True):
                    self._become(old, now)
            copy.collision_nodes = list(body.collision_nodes)
        for name, frame in body.frames.items():
            if name not in body.nodes:
                copy.frame(name, self.vector(frame.position), self._pose(frame)[1])

    def _sliders(self) -> None:
        """What slides along cables, when all bodies are there."""
        for body in self.other.bodies.values():
            for item in body.sliders.values() if isinstance(body, FlexibleBody) else ():
                cable = self.model.bodies[self.name(body.name)]
                assert isinstance(cable, FlexibleBody)
                cable.slide(
                    self.name(item.name),
                    self.frame(item.frame),
                    item.at,
                    item.damping,
                    item.friction,
                    item.stiffness,
                    item.coefficient,
                    item.speed,
                )

    def _fill(self, copy: Body, body: Body) -> None:
        solids = {id(s): self.mirror.shape(mapped_shape(s, self.expr)) for s in body.shapes}
        copy.shapes = list(solids.values())
        copy.collision = [self.mirror.shape(mapped_shape(s, self.expr)) for s in body.collision]
        copy.collision_names = [self.name(n) for n in body.collision_names]
        for entry in body.contributions:
            if isinstance(entry, MassGiven):
                copy.add_given(self._mass(entry))
            else:
                shape_mass(copy, solids.get(id(entry)) or self.mirror.shape(mapped_shape(entry, self.expr)))
        if not body.contributions:
            copy.mass, copy.moment = self.expr(body.mass), self.mirror.vector(self.vector(body.moment))
            copy.inertia = self.mirror.inertia(type(body.inertia)(*substitute(list(body.inertia.entries), self.new)))
        for name, frame in body.frames.items():
            position, rotation = self._pose(frame)
            copy.frame(name, position, rotation)

    def _mass(self, given: MassGiven) -> MassGiven:
        inertia = self.mirror.inertia(type(given.inertia)(*substitute(list(given.inertia.entries), self.new)))
        entries = substitute(given.rotation.entries, self.new)
        R = self.mirror.matrix(type(given.rotation).of([entries[0:3], entries[3:6], entries[6:9]]))
        com = self.mirror.vector(self.vector(given.com))
        return MassGiven(self.expr(given.mass), com, inertia, given.about, R)

    # -- joints ---------------------------------------------------------------------------------------------------

    def _axis(self, given: Any) -> Any:
        """An axis of rotation, turned over as rotations are, in the form it was given in."""
        signs = self.mirror.turning_signs
        if isinstance(given, str):
            k = "xyz".index(given[-1].lower())
            return given if signs[k] > 0 else (given[1:] if given[0] == "-" else f"-{given.lstrip('+')}")
        return [signed(s, self.expr(value(e, "axis"))) for s, e in zip(signs, given, strict=True)]

    def _joint(self, joint: Joint) -> None:
        options = {k: self.any(e) for k, e in joint.options.items()}
        mirrored = self.mirror.axis is not None
        if "axis" in options:
            options["axis"] = self._axis(joint.options["axis"])
            if joint.kind == "prismatic" and mirrored:
                options["axis"] = _opposite(options["axis"])
        if "axes" in options:
            options["axes"] = tuple(self._axis(a) for a in joint.options["axes"])
        if joint.kind == "helical" and mirrored:
            options["pitch"] = -value(options["pitch"], f"joint '{joint.name}'", "m")
        signs = _coordinate_signs(joint, self.mirror)
        if options.get("mimic") is not None:
            options["mimic"] = self._mimic(options["mimic"], signs[0])
        if signs and signs[0] < 0 and len(signs) == 1:
            low, high = joint.limits
            options["limits"] = (None if high is None else -high, None if low is None else -low)
            if "rest" in options:
                options["rest"] = -value(options["rest"], f"joint '{joint.name}'")
        copy = self.model.joint(joint.kind, self.name(joint.name), self.frame(joint.parent), self.frame(joint.child), **options)
        if options.get("mimic") is not None:
            return
        for c, new, sign in zip(joint.coordinates, copy.coordinates, signs, strict=True):
            if not c.is_quaternion:
                for old, now in zip((*c.q, *c.v, *c.a), (*new.q, *new.v, *new.a), strict=True):
                    self._become(old, now, sign)
                continue
            turning = self.mirror.turning_signs
            signs_of = (1, *turning, *turning, *turning)
            for old, now, sign_of in zip((*c.q, *c.v, *c.a), (*new.q, *new.v, *new.a), signs_of, strict=True):
                self._become(old, now, sign_of)

    def _mimic(self, given: Any, own: int) -> Any:
        leader, ratio, offset = (*(given if isinstance(given, tuple) else (given,)), 1.0, 0.0)[:3]
        if isinstance(given, tuple) and len(given) == 2:
            offset = 0.0
        sign = _coordinate_signs(leader, self.mirror)[0] * own
        what = f"joint '{leader.name}'"
        factor = signed(sign, self.expr(value(ratio, what)))
        return self.model.joints[self.name(leader.name)], factor, signed(own, self.expr(value(offset, what)))

    def _prescribed(self) -> None:
        done: set[int] = set()
        for joint in self.other.joints.values():
            for c in joint.coordinates:
                if c.motion is None or id(c) in done or not c.names[0].startswith(joint.name + "."):
                    continue
                done.add(id(c))
                copy = self.model.joints[self.name(joint.name)]
                motion = signed(self.signs[c.q[0]], self.expr(c.motion))
                prescribe = self.model.lock if c.nature == "locked" else self.model.drive
                prescribe(copy, motion, c.names[0].removeprefix(joint.name + "."))

    # -- sensors and loads ----------------------------------------------------------------------------------------

    def _sensors(self) -> None:
        for sensor in self.other.sensors.values():
            r = sensor.reference
            world = r.body is self.other.ground and r.is_origin and r.name is None
            self.model.sensor(self.name(sensor.name), self.frame(sensor.frame), None if world else self.frame(r))
        s, w = self.mirror.signs, self.mirror.turning_signs
        for reading, (sensor, kind, i) in self.other._readings.items():
            sign = w[i] if kind.startswith("angular") else s[i // 3] * s[i % 3] if kind == "rotation" else s[i]
            self._become(reading, self.model.sensors[self.name(sensor.name)].reading(kind, i), sign)

    def _loads(self) -> None:
        for load in self.other.loads.values():
            for key, reading in load.readings.items():
                self._become(reading, symbol(f"{self.name(load.name)}.{key}", load.reading_kinds[key]))
        for load in self.other.loads.values():
            if isinstance(load, TouchLoad):
                continue
            name = self.name(load.name) if load.of_body else self.model._load_name(self.name(load.name), "")
            self.model.loads[name] = load.copied(self, name)

    # -- the rest -------------------------------------------------------------------------------------------------

    def _constraint(self, item: Any) -> None:
        name = self.name(item.name)
        if not isinstance(item, Closure):
            declare = self.model.nonholonomic if item.nonholonomic else self.model.constraint
            declare(name, self.expr(item.expression))
            return
        options = dict(item.options)
        if "axis" in options:
            options["axis"] = self._axis(options["axis"])
        if "axes" in options:
            options["axes"] = tuple(self._axis(a) for a in options["axes"])
        for key in ("length", "mass", "centre", "inertia"):
            if key in options:
                options[key] = self.any(options[key])
        self.model.close(name, self.frame(item.a), self.frame(item.b), item.kind, **options)

    def _shape_of(self, s: BodyShape, contact: str) -> BodyShape:
        if s.body.is_ground:
            raise ModelError(
                f"sub-model '{self.prefix}': its contact '{contact}' is with the ground, which is another one here; declare it in '{self.model.name}'"
            )
        return BodyShape(self.model.bodies[self.name(s.body.name)], s.index)

    def _rest(self) -> None:
        m, other = self.model, self.other
        for state in other.states.values():
            if state.rate is not None:
                m.rate(self.new[state.symbol], self.expr(state.rate))
        for name, material in other.materials.items():
            m.materials[self.name(name)] = material
        m.dry_friction |= {self.name(name): (self.expr(a), self.expr(b)) for name, (a, b) in other.dry_friction.items()}
        m.ropes |= {
            self.name(r.name): replace(r, name=self.name(r.name), a=self.frame(r.a), b=self.frame(r.b), length=self.expr(r.length), law=r.law.mapped(self.expr))
            for r in other.ropes.values()
        }  # fmt: skip
        m.rigid_stops |= {self.name(name): law.mapped(self.expr) for name, law in other.rigid_stops.items()}
        for contact in other.contacts.values():
            law = contact.law.mapped(self.expr)
            a, b = (None if side is None else [self._shape_of(s, contact.name) for s in side] for side in (contact.a, contact.b))
            copy = m.contact(self.name(contact.name), a, b, law, [[self.name(n) for n in pair] for pair in contact.exclude])
            for old, new in zip(contact.input_names, copy.input_names, strict=True):
                self._become(other.inputs[old].symbol, m.inputs[new].symbol)
        own = other.point_memories
        for memory in other.memories.values():
            if memory.update is not None and memory.name not in own:
                m.update(self.new[memory.symbol], self.expr(memory.update))
        for unknown in other.unknowns.values():
            if unknown.equation is not None:
                m.equation(self.new[unknown.symbol], self.expr(unknown.equation))
        for output in other.outputs.values():
            m.output(self.name(output.name), self.expr(output.expression), output.unit)
        for event in other.events.values():
            jump = {}
            for target, e in event.jump.items():
                sign = self.signs[target]
                jump[signed(sign, self.new[target])] = signed(sign, self.expr(e))
            held = [(m.joints.get(self.name(n)) or m.constraints[self.name(n)], holds) for n, holds in event.switches.items()]
            release, engage = ([x for x, holds in held if holds is wanted] for wanted in (False, True))
            m.event(self.name(event.name), self.expr(event.guard), event.direction, event.terminal, jump, release, engage)
        m.adopt_switches()
        for name, e in other.expressions.items():
            m.expressions[self.name(name)] = self.expr(e)
        opposite = {s.name for s, sign in self.signs.items() if sign < 0}
        only = {j.name: j.coordinates[0].names[0] for j in other.joints.values() if len(j.coordinates) == 1}  # the joint's name is enough
        for name, start in other.initial.items():
            m.initial[self.name(name)] = -quantity(start) if only.get(name, name) in opposite else start
        m.keep += [self.name(name) for name in other.keep]
        m.guesses += [self.name(name) for name in other.guesses]
        m.unphysical += [self.name(name) for name in other.unphysical]
        m.notes += [f"{self.prefix}: {note}" for note in other.notes]


def _coordinate_signs(joint: Joint, mirror: Mirror) -> list[int]:
    """For each coordinate: +1 if the mirrored motion has the same value, −1 if the opposite one."""
    if mirror.axis is None or joint.kind in ("revolute", "prismatic", "helical", "universal"):
        return [1] * len(joint.coordinates)
    if joint.kind == "cylindrical":  # one axis for both: it follows the rotation
        return [-1, 1]
    signs = {}
    for motion in joint.motions:
        if motion.kind == "S":
            signs[id(motion.coordinate)] = 1
            continue
        k = [e is not ZERO for e in motion.axis].index(True)
        signs[id(motion.coordinate)] = (mirror.turning_signs if motion.kind == "R" else mirror.signs)[k]
    return [signs[id(c)] for c in joint.coordinates]


def _opposite(axis: Any) -> Any:
    if isinstance(axis, str):
        return axis[1:] if axis[0] == "-" else f"-{axis.lstrip('+')}"
    return [-e for e in axis]


def _plain(e: Expr) -> Any:
    return float(e) if e.is_number else e


__all__ = ["Copy", "include"]
