"""The rigid side of a model with parts of large deformation: what joints, loads and sensors hold on to.

A node (or interface) that is fixed to a rigid body belongs to that body.  Any other one that something holds on to becomes a body without
mass of its own, the section of a beam or the patch of a solid; relative to the first point of the part it is free, and the elements of the part carry
and pull it.  So pairs, angles, loads, sensors, closures and servo constraints find bodies at both ends, and need no word for deformable ones.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ....errors import InputError
from ....model.bodies import Body, Frame
from ....model.contact.loads import TouchLoad
from ....model.elastic.flexible import FlexibleBody
from ....model.joints import Joint, joint_motions
from ....model.sensors import QUANTITIES
from ....symbolic.vectors import IDENTITY, Matrix, Vector

if TYPE_CHECKING:
    from ....model.model import Model


@dataclass(frozen=True)
class Seat:
    """Where a node of a part sits: a frame of a rigid body (or the ground), and the place and axes of the undeformed structure that lie there."""

    frame: Frame
    position: Vector
    axes: Matrix

    def of(self, position: Vector, rotation: Matrix, name: str | None = None) -> Frame:
        """The frame on the rigid body at a place of the structure."""
        turn = self.frame.rotation @ self.axes.T
        return Frame(self.frame.body, self.frame.position + turn @ (position - self.position), turn @ rotation, name)


@dataclass
class Seats:
    """A flexible body and the seats of its nodes by name; the first is the one from which it is placed."""

    body: FlexibleBody
    nodes: dict[str, Seat] = field(default_factory=dict)


class RigidSide:
    """The model without its flexible bodies: what held on to them holds on to rigid bodies that carry their nodes."""

    def __init__(self, model: Model) -> None:
        self.model, self.rigid = model, copy(model)
        flexible = [b for b in model.bodies.values() if isinstance(b, FlexibleBody)]
        self.seats = {b.name: Seats(b) for b in flexible}
        self._names = {b.name for b in flexible}
        modes = {n for b in flexible for c in b.modes for n in (*c.names, *c.velocity_names)}
        rigid = self.rigid
        rigid.bodies = {n: b for n, b in model.bodies.items() if n not in self._names}
        rigid.initial = {n: x for n, x in model.initial.items() if n not in modes}
        kept = self._held()
        rigid.joints = {}
        for joint in kept:
            rigid.joints[joint.name] = replace(
                joint, parent=self.moved(joint.parent, joint.name), child=self.moved(joint.child, joint.name)
            )
        self._contacts()
        elastic = {f"{n}.elasticity" for n in self._names}
        touch = {n for n, x in model.loads.items() if isinstance(x, TouchLoad)} - {
            f"{c.name}.{mover}" for c in rigid.contacts.values() for mover in c.carriers
        }
        rigid.loads = {n: self._renewed(x, n) for n, x in model.loads.items() if n not in elastic | touch}
        rigid.constraints = {n: self._renewed(x, n) for n, x in model.constraints.items()}
        self._sensors()
        self._free()

    def _contacts(self) -> None:
        """Contacts of rigid bodies among themselves; those of nodes are elements beside the parts'."""
        model, rigid = self.model, self.rigid
        rigid.contacts = {}
        for name, c in model.contacts.items():
            a, b = (None if side is None else tuple(s for s in side if s.body.name not in self._names) for side in (c.a, c.b))
            left = replace(c, a=a or (), b=b)
            moving = {s.body.name for s in left.shapes if not s.body.is_ground}
            if a and (b or (b is None and len({s.body.name for s in a}) > 1)) and moving:
                rigid.contacts[name] = left
        kept = rigid.found_inputs
        rigid.inputs = {n: x for n, x in model.inputs.items() if n not in model.found_inputs or n in kept}

    def _held(self) -> list[Joint]:
        """Seats by fixed joints; the joints that remain."""
        kept = []
        for joint in self.model.joints.values():
            sides = [f for f in (joint.child, joint.parent) if isinstance(f.body, FlexibleBody)]
            if joint.kind != "fixed" or not sides:
                kept.append(joint)
                continue
            own = sides[0]
            other = joint.parent if own is joint.child else joint.child
            seats, node = self.seats[own.body.name], self._node(own, joint.name)
            if node in seats.nodes:
                kept.append(joint)  # a second body at the same node
                continue
            seats.nodes[node] = Seat(self.moved(other, joint.name), own.position, own.rotation)
        return kept

    def _node(self, frame: Frame, what: str) -> str:
        if frame.node is None:
            raise InputError(
                f"flexible body '{frame.body.name}': '{what}' holds on to its floating frame; in formulation 'directors' hold on to a node: body.node(name)"
            )
        return str(frame.node)

    def moved(self, frame: Frame, what: str) -> Frame:
        """A frame, or on a flexible body the one of the rigid body that has its node."""
        if not isinstance(frame.body, FlexibleBody):
            return frame
        seats, node = self.seats[frame.body.name], self._node(frame, what)
        if node not in seats.nodes:
            frame.require_turns(f"'{what}'")
            name = f"{frame.body.name}.{node}"
            if name in self.rigid.bodies:
                raise InputError(f"flexible body '{frame.body.name}': a body has the name of its node '{name}'; rename it")
            point = frame.body.part.point(frame.node)
            made = Body(self.rigid, name)
            made.colour = frame.body.colour
            self.rigid.bodies[name] = made
            seats.nodes[node] = Seat(made.origin, Vector.of(point.position), IDENTITY)
        return seats.nodes[node].of(frame.position, frame.rotation, frame.name)

    def _renewed(self, thing: Any, what: str) -> Any:
        """A load, closure or sensor with its frames on rigid bodies."""
        change: Callable[[Any], Any] = lambda x: self.moved(x, what) if isinstance(x, Frame) else self._joint(x)
        found = {}
        for name, x in vars(thing).items():
            if isinstance(x, (Frame, Joint)):
                found[name] = change(x)
            elif isinstance(x, (tuple, list)) and any(isinstance(e, (Frame, Joint)) for e in x):
                found[name] = type(x)(change(e) for e in x)
            elif isinstance(x, dict) and any(isinstance(e, Frame) for e in x.values()):
                found[name] = {k: change(e) for k, e in x.items()}
        if all(found[n] is vars(thing)[n] for n in found):
            return thing
        made = copy(thing)
        vars(made).update(found)
        return made

    def _joint(self, x: Any) -> Any:
        return self.rigid.joints.get(x.name, x) if isinstance(x, Joint) else x

    def _sensors(self) -> None:
        """Sensors with all their readings, because expressions may ask for them when the model is compiled."""
        made = {}
        for name, sensor in self.model.sensors.items():
            for quantity, (count, *_) in QUANTITIES.items():
                for i in range(count):
                    sensor.reading(quantity, i)
            made[name] = self._renewed(sensor, name)
        self.rigid.sensors = made
        self.rigid._readings = {s: (made.get(x.name, x), q, i) for s, (x, q, i) in self.model._readings.items()}

    def _free(self) -> None:
        """Bodies that only a part reaches are free relative to the seat from which the part itself is reached, which becomes its first."""
        for seats in self.seats.values():
            if not seats.nodes:
                raise InputError(
                    f"flexible body '{seats.body.name}': nothing holds it; in formulation 'directors' fix it to bodies (attach={{'root': hub}}) or give its nodes joints"
                )
        reached, waiting = {self.rigid.ground.name}, list(self.seats.values())
        while True:
            self._spread(reached)
            found = next((s for s in waiting if any(x.frame.body.name in reached for x in s.nodes.values())), None)
            if found is None:
                return
            waiting.remove(found)
            first = next(n for n, x in found.nodes.items() if x.frame.body.name in reached)
            found.nodes = {first: found.nodes[first]} | found.nodes
            for node, seat in found.nodes.items():
                if seat.frame.body.name not in reached:
                    self._float(found.nodes[first], seat, f"{found.body.name}.{node}")
                    reached.add(seat.frame.body.name)

    def _spread(self, reached: set[str]) -> None:
        """Adds the bodies that joints reach from others."""
        joints, size = list(self.rigid.joints.values()), -1
        while size != len(reached):
            size = len(reached)
            for j in joints:
                pair = {j.parent.body.name, j.child.body.name}
                if pair & reached:
                    reached |= pair

    def _float(self, first: Seat, seat: Seat, name: str) -> None:
        """A free joint from one seat of a part to the body of another, at rest where the part is undeformed."""
        if name in self.rigid.joints:
            name = f"{name}.free"
        motions = joint_motions(name, "free", {"orientation": "quaternion"})
        self.rigid.joints[name] = Joint(name, "free", first.of(seat.position, seat.axes), seat.frame, motions)


__all__ = ["RigidSide", "Seat", "Seats"]
