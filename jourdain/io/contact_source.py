"""Contacts in exported source: laws of surfaces that give way as loads, between shapes whose points of contact have a closed form.

A sphere touches a half-space or a sphere in one point, a capsule a half-space by its two end spheres, a box by its corners.  With the gap g and the normal n (towards the
first body) the point lies in the middle between the surfaces, and the law reads depth −g, its rate, sliding, rolling and spinning there, as in a run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import InputError
from ..model.contact.contacts import BodyShape, apart
from ..model.contact.loads import TouchLoad
from ..model.contact.methods import refuse_contacts, touches
from ..model.contact.penalty_laws import Penalty, Point
from ..model.sensors import Sensor
from ..symbolic.expr import HALF, ONE, ZERO, Expr, as_expr
from ..symbolic.functions import maximum, sqrt, where
from ..symbolic.vectors import IDENTITY, Matrix, Vector
from ..systems.tree.system import TreeSystem

if TYPE_CHECKING:
    from ..model.contact.contacts import Contact
    from ..model.model import Model
    from ..systems.system import System

#: What may touch what.
KNOWN = "spheres, capsules and boxes on half-spaces, and spheres on spheres"


class _Moving(NamedTuple):
    """The motion of a body in the world's axes."""

    origin: Vector
    rotation: Matrix
    velocity: Vector
    turning: Vector

    def at(self, local: Any) -> Vector:
        return self.origin + self.rotation @ Vector.of([as_expr(e) for e in local])

    def speed(self, point: Vector) -> Vector:
        return self.velocity + self.turning.cross(point - self.origin)


class _Spot(NamedTuple):
    """Where two surfaces may touch: gap, normal towards the first body, the point in the middle, and the sum of curvatures."""

    gap: Expr
    normal: Vector
    point: Vector
    curvature: Expr
    #: Whether it may act where the gap is closed: of boxes the corners of the face that looks down alone.
    acts: Expr


def with_contact_loads(system: System, what: str) -> System:
    """The system of the same model with symbolic loads in the place of contacts; those that have no closed form are refused by name."""
    model = system.model
    remedy = "export the model without m.contact(…)"
    refuse_contacts(model, what, remedy, rigid_only=True)
    if not touches(model):
        return system
    own = system.reference
    new: Any = copy(model)
    found, memories = model.found_inputs, model.point_memories
    new.inputs = {n: i for n, i in model.inputs.items() if n not in found | memories}
    new.memories = {n: i for n, i in model.memories.items() if n not in memories}
    new.loads = {n: load for n, load in model.loads.items() if not isinstance(load, TouchLoad)}
    new.contacts, new.sensors, new._readings = {}, dict(model.sensors), dict(model._readings)
    for contact in model.contacts.values():
        _add(new, model, contact, what)
    made = TreeSystem(new, **own.options)
    made._take(own.parameter_vector)
    return made


def _add(new: Any, model: Model, contact: Contact, what: str) -> None:
    """Gives the new model the loads of a contact."""
    law, title = contact.law, f"{what}: contact '{contact.name}' of '{model.name}'"
    assert isinstance(law, Penalty)
    if law.remembers:
        raise InputError(
            f"{title} remembers (bristles, or the speed at which bodies met), which source has no place for; take a law without a memory"
        )
    forces: dict[str, tuple[Vector, Vector]] = {}
    for a, b in _pairs(model, contact):
        for spot in _spots(new, a, b, title):
            for side, (force, torque) in zip((a, b), _wrenches(new, law, spot, a, b), strict=True):
                if not side.body.is_ground:
                    before = forces.get(side.body.name, (Vector(ZERO, ZERO, ZERO), Vector(ZERO, ZERO, ZERO)))
                    forces[side.body.name] = before[0] + force, before[1] + torque
    for name, (force, torque) in forces.items():
        label = f"{contact.name}.{name}"
        new.loads[label] = TouchLoad(label, model.bodies[name].origin, force, torque, None, None, kind="touch")


def _pairs(model: Model, contact: Contact) -> Iterator[tuple[BodyShape, BodyShape]]:
    """Shapes that may touch, the flat one second; where a later contact names a pair, it acts instead."""
    left_out, later = apart(model, contact), list(model.contacts.values())
    later = later[later.index(contact) + 1 :]
    others = contact.a if contact.b is None else contact.b
    done: set[frozenset[BodyShape]] = set()
    for a, b in product(contact.a, others):
        pair = frozenset((a, b))
        if a.body is b.body or pair in done or frozenset((a.body.name, b.body.name)) in left_out:
            continue
        done.add(pair)
        if any(_names(c, a, b) and frozenset((a.body.name, b.body.name)) not in apart(model, c) for c in later):
            continue
        yield (b, a) if a.shape.kind == "plane" else (a, b)


def _names(contact: Contact, a: BodyShape, b: BodyShape) -> bool:
    """Whether a contact is between two shapes."""
    one, other = set(contact.a), set(contact.a if contact.b is None else contact.b)
    return (a in one and b in other) or (b in one and a in other)


def _moving(new: Any, s: BodyShape) -> _Moving:
    """The motion of a shape's body; the ground rests."""
    if s.body.is_ground:
        none = Vector(ZERO, ZERO, ZERO)
        return _Moving(none, IDENTITY, none, none)
    name = f"{s.body.name}.touching"
    if name not in new.sensors:
        new.sensors[name] = Sensor(new, name, s.body.origin, new.ground.origin)
    m = new.sensors[name]
    return _Moving(m.position, m.rotation, m.velocity, m.angular_velocity)


def _spots(new: Any, a: BodyShape, b: BodyShape, title: str) -> Iterator[_Spot]:
    """Where two shapes may touch."""
    first, second = _moving(new, a), _moving(new, b)
    if b.shape.kind == "plane" and a.shape.kind in ("sphere", "capsule", "box"):
        pose = b.shape.placement @ b.shape._symmetric_form()
        normal = second.rotation @ Vector.of([as_expr(row[2]) for row in pose.rotation])
        base = second.at(pose.position)
        down = _down(a, first, normal)
        for local, radius, signs in _points(a):
            centre = first.at(local)
            gap = normal.dot(centre - base) - radius
            acts = down(signs) if signs else -gap > 0.0
            yield _Spot(gap, normal, centre - (radius + HALF * gap) * normal, ZERO if radius is ZERO else ONE / radius, acts)
        return
    if (a.shape.kind, b.shape.kind) == ("sphere", "sphere"):
        (p, r), (q, s) = ((m.at(x.shape.placement.position), as_expr(x.shape.radius)) for m, x in ((first, a), (second, b)))
        way = p - q
        distance = sqrt(maximum(way.dot(way), 1e-300))
        normal, gap = way * (ONE / distance), distance - r - s
        yield _Spot(gap, normal, p - (r + HALF * gap) * normal, ONE / r + ONE / s, -gap > 0.0)
        return
    raise InputError(
        f"{title}: '{a.name}' ({a.shape.kind}) and '{b.name}' ({b.shape.kind}) touch by a search that source does not have; it knows {KNOWN}"
    )


def _down(s: BodyShape, moving: _Moving, normal: Vector) -> Callable[[Sequence[float]], Expr]:
    """Whether a corner (by its signs) is one of the face that looks down."""
    pose = s.shape.placement @ (s.shape._symmetric_form() if s.shape.kind != "sphere" else type(s.shape.placement)())
    columns = [moving.rotation @ Vector.of([as_expr(row[k]) for row in pose.rotation]) for k in range(3)]
    up = [normal.dot(c) for c in columns]
    size = [maximum(e, -e) for e in up]

    def acts(signs: Sequence[float]) -> Expr:
        x, y, z = (where(sign * e < 0.0, 1.0, 0.0) for sign, e in zip(signs, up, strict=True))
        rest = where(size[1] >= size[2], y, z)
        return where(size[0] >= maximum(size[1], size[2]), x, rest) > 0.5

    return acts


def _points(s: BodyShape) -> Iterator[tuple[Any, Expr, tuple[float, ...]]]:
    """Spheres, or corners of radius zero with their signs, that are all that of a shape can touch a half-space, in the body's axes."""
    shape = s.shape
    pose = shape.placement @ (shape._symmetric_form() if shape.kind != "sphere" else type(shape.placement)())
    if shape.kind == "sphere":
        yield shape.placement.position, as_expr(shape.radius), ()
        return
    if shape.kind == "capsule":
        ends, radius = [(0.0, 0.0, side * shape.length / 2) for side in (-1.0, 1.0)], as_expr(shape.radius)
    else:
        edges = (shape.lx, shape.ly, shape.lz)
        ends, radius = [tuple(0.5 * s * e for s, e in zip(signs, edges, strict=True)) for signs in product((-1.0, 1.0), repeat=3)], ZERO
    for corner, end in zip(product((-1.0, 1.0), repeat=3), ends, strict=False):
        turned = [sum((as_expr(e) * x for e, x in zip(row, end, strict=True)), ZERO) for row in pose.rotation]
        yield [as_expr(p) + t for p, t in zip(pose.position, turned, strict=True)], radius, corner if shape.kind == "box" else ()


def _wrenches(new: Any, law: Penalty, spot: _Spot, a: BodyShape, b: BodyShape) -> list[tuple[Vector, Vector]]:
    """Forces and torques about the origins of both bodies."""
    first, second = _moving(new, a), _moving(new, b)
    slide, turn = first.speed(spot.point) - second.speed(spot.point), first.turning - second.turning
    rate, spin = -slide.dot(spot.normal), turn.dot(spot.normal)
    slip, roll = slide + rate * spot.normal, turn - spin * spot.normal
    depth = maximum(-spot.gap, 0.0)
    f = law.forces(Point(depth, rate, ZERO, spot.curvature), tuple(slip), (ZERO, ZERO, ZERO), spin, tuple(roll))
    closed = where(spot.acts, -spot.gap, -1.0) > 0.0
    force = f.normal * spot.normal + Vector.of(f.friction if len(f.friction) == 3 else [ZERO] * 3)
    torque = f.spin * spot.normal + Vector.of(f.roll if len(f.roll) == 3 else [ZERO] * 3)
    force, torque = (Vector.of([where(closed, e, 0.0) for e in v]) for v in (force, torque))
    found = []
    for m, sign in ((first, 1.0), (second, -1.0)):
        own = sign * force
        found.append((own, (spot.point - m.origin).cross(own) + sign * torque))
    return found


__all__ = ["with_contact_loads"]
