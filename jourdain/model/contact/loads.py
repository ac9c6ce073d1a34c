"""What contacts by penalty are to a model: a force and a torque on every body, as inputs that the run finds, and memories of its points."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any, ClassVar

from ...symbolic.expr import Expr, symbol
from ...symbolic.vectors import Vector
from ..load_sorts import FrameLoad, JointForce, LinkForce
from ..loads import Input

if TYPE_CHECKING:
    from ..model import Model
    from ..shapes import Shape
    from .contacts import BodyShape, Contact

#: Components of the wrench on a body about its origin, in the world's axes, with their units.
COMPONENTS = {"Fx": "N", "Fy": "N", "Fz": "N", "Mx": "N m", "My": "N m", "Mz": "N m"}
#: What a point remembers: pair of shapes and feature, approach speed; with bristles their deflection, and the points that are in touch on both bodies.
SHORT = ("pair", "feature", "approach")
LONG = (*SHORT, *(f"{word}_{c}" for word in ("bristle", "on_a", "on_b") for c in "xyz"))
#: Points in which shapes of a kind touch others, at most; others have eight.
POINTS = {"sphere": 1, "capsule": 2, "ellipsoid": 2, "plane": 8}


class TouchLoad(FrameLoad):
    """The wrench of a contact on a body; it comes with the contact."""

    title = "force of a contact"
    of_body: ClassVar[bool] = True


def declare_touch(model: Model, contact: Contact) -> None:
    """Gives a model the inputs, loads and memories of a contact by penalty."""
    assert contact.gives_way
    for mover, frame in contact.carriers.items():
        label = f"{contact.name}.{mover}"
        model._new_name(label, "load", model.loads)
        symbols = [model.input(f"{label}.{c}", 0.0, unit) for c, unit in COMPONENTS.items()]
        model.loads[label] = TouchLoad(label, frame, Vector(*symbols[:3]), Vector(*symbols[3:]), None, None, kind="touch")
    for name in contact.memory_names:
        model.memory(name, 0.0, update=lambda m: m)


def pushed(model: Model) -> Model:
    """The model with what rigid contacts and stops do as inputs, behind its own: equations for reactions, and for analyses about a state."""
    new: Any = copy(model)
    new.inputs, new.loads = dict(model.inputs), dict(model.loads)
    new.contacts, new.rigid_stops, new.ropes = {n: c for n, c in model.contacts.items() if c.gives_way}, {}, {}

    def entry(name: str, unit: str) -> Expr:
        new.inputs[name] = Input(name, symbol(name, "input"), 0.0, unit)
        return new.inputs[name].symbol

    for contact in model.contacts.values():
        for mover, frame in contact.carriers.items() if not contact.gives_way else ():
            label = f"{contact.name}.{mover}"
            wrench = [entry(f"{label}.{c}", unit) for c, unit in COMPONENTS.items()]
            new.loads[label] = TouchLoad(label, frame, Vector(*wrench[:3]), Vector(*wrench[3:]), None, None, kind="touch")
    for name in model.rigid_stops:
        joint, label = model.joints[name], stop_name(name)
        force = entry(label, "N" if joint.coordinates[0].unit == "m" else "N m")
        new.loads[label] = JointForce(label, joint, joint.coordinates[0], force, kind="rigid stop")
    for rope in model.ropes.values():
        tension = entry(tension_name(rope.name), "N")
        new.loads[rope.name] = LinkForce(rope.name, (rope.a, rope.b), *LinkForce.symbols(rope.name), tension, kind="rigid rope")
    for name in model.dry_friction:
        joint, label = model.joints[name], dry_name(name)
        force = entry(label, "N" if joint.coordinates[0].unit == "m" else "N m")
        new.loads[label] = JointForce(label, joint, joint.coordinates[0], force, kind="dry friction")
    new.dry_friction = {}
    return new  # type: ignore[no-any-return]


def dry_name(joint: str) -> str:
    """The name of the force of dry friction in a joint."""
    return f"{joint}.dry_friction"


def stop_name(joint: str) -> str:
    """The name of the force of a joint's rigid stop."""
    return f"{joint}.stop"


def tension_name(rope: str) -> str:
    """The name of the force in a rope that does not give way."""
    return f"{rope}.tension"


def wrench_names(contact: Contact, mover: str) -> list[str]:
    """The inputs that are the wrench of a contact on a body, or on a node of one that bends."""
    return [f"{contact.name}.{mover}.{c}" for c in COMPONENTS] if contact.gives_way else []


def slot_count(contact: Contact) -> int:
    """Points of a contact for which there is a memory."""
    if not (contact.gives_way and contact.law.remembers):  # type: ignore[union-attr]
        return 0
    a, b = [_points(s) for s in contact.a], None if contact.b is None else [_points(s) for s in contact.b]
    most = 8 * len(contact.shapes)
    if b is None:
        total = sum(min(x, y) for i, x in enumerate(a) for y in a[:i])
    else:
        total = sum(min(x, y) for x in a for y in b)
    return min(total, most)


def _points(s: BodyShape) -> int:
    return _points_of(s.shape)


def _points_of(shape: Shape) -> int:
    parts = getattr(shape, "parts", ())
    return sum(_points_of(p) for p in parts) if parts and shape.kind == "union" else POINTS.get(shape.kind, 8)


__all__ = [
    "COMPONENTS",
    "LONG",
    "SHORT",
    "TouchLoad",
    "declare_touch",
    "dry_name",
    "pushed",
    "slot_count",
    "stop_name",
    "tension_name",
    "wrench_names",
]
