"""Contacts of a model: which surfaces may touch, and by which law; ropes that do not give way."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from ...errors import ModelError, nearest
from ...symbolic.expr import KINDS, Expr
from ...symbolic.graph import free_symbols
from ..bodies import Body, Frame, other_model
from ..constraints import Closure
from ..values import value
from .laws import Rigid, rigid
from .loads import LONG, SHORT, declare_touch, slot_count, wrench_names
from .penalty_laws import Penalty

if TYPE_CHECKING:
    from ..model import Model


@dataclass(frozen=True)
class BodyShape:
    """A shape of a body: what contacts are declared between."""

    body: Body
    index: int

    @property
    def shape(self) -> Any:
        """The solid."""
        return self.body.surfaces[self.index]

    @property
    def name(self) -> str:
        """Its own name, or the body's name, with the number of the shape where there are several."""
        own = self.body.collision_names[self.index] if self.body.collision else self.body.name
        several = len(self.body.surfaces) > 1 and (not self.body.collision or self.body.collision_names.count(own) > 1)
        return f"{own}.{self.index + 1}" if several else own

    def fits(self, pattern: str) -> bool:
        """Whether the name of its body, or its own, fits a pattern with * and ?."""
        names = [self.body.name, *(self.body.collision_names[self.index : self.index + 1])]
        return any(fnmatchcase(n, pattern) for n in names)

    @property
    def carrier(self) -> Frame:
        """The frame that moves it: the body's own, or a node where the body bends."""
        return self.body.carrier(self.index)

    @property
    def mover(self) -> str:
        """The name of its carrier."""
        return self.body.name if not self.body.modes else self.carrier.path

    def __hash__(self) -> int:
        return hash((id(self.body), self.index))


@dataclass(frozen=True)
class Contact:
    """Shapes of one side against those of the other, or (``b`` None) all of one list against each other, with their law."""

    name: str
    a: tuple[BodyShape, ...]
    b: tuple[BodyShape, ...] | None
    law: Rigid | Penalty
    #: Pairs of bodies that never touch.
    exclude: frozenset[frozenset[str]]

    @property
    def shapes(self) -> tuple[BodyShape, ...]:
        """All shapes that take part, each once."""
        return tuple(dict.fromkeys((*self.a, *(self.b or ()))))

    @property
    def bodies(self) -> list[Body]:
        """Bodies that take part, except the ground."""
        return list({id(s.body): s.body for s in self.shapes if not s.body.is_ground}.values())

    @property
    def carriers(self) -> dict[str, Frame]:
        """Frames on which its forces act, by name: rigid bodies' own, nodes of those that bend; none of the ground."""
        return {name: s.carrier for name, s in {s.mover: s for s in self.shapes if not s.body.is_ground}.items()}

    @property
    def gives_way(self) -> bool:
        """Whether its surfaces give way, so that forces follow from where bodies are."""
        return isinstance(self.law, Penalty)

    @property
    def memory_names(self) -> list[str]:
        """Names of its memories, point by point."""
        words = LONG if isinstance(self.law, Penalty) and self.law.bristles else SHORT
        return [f"{self.name}.point{k + 1}.{word}" for k in range(slot_count(self)) for word in words]

    @property
    def input_names(self) -> list[str]:
        """Names of the inputs that the run finds: wrenches on its bodies."""
        return [name for carrier in self.carriers for name in wrench_names(self, carrier)]


def shapes_of(model: Model, pattern: str = "*") -> list[BodyShape]:
    """Shapes whose names, or those of their bodies, fit a pattern with * and ?, for :meth:`Model.contact`."""
    every = [BodyShape(b, i) for b in model.all_bodies for i in range(len(b.surfaces))]
    found = [s for s in every if s.fits(pattern)]
    if not found:
        if pattern in (b.name for b in model.all_bodies):
            raise ModelError(
                f"body '{pattern}' has no shape that could touch; give m.body('{pattern}', shape=jd.sphere(…)) or body.add_collision(…)"
            )
        names = [n for b in model.all_bodies if b.surfaces for n in (b.name, *b.collision_names)]
        near = nearest(pattern, names, 3)
        raise ModelError(f"no body with shapes fits '{pattern}'" + (f"; did you mean {', '.join(near)}?" if near else ""))
    return found


def declare(
    model: Model, name: str, a: Any = None, b: Any = None, law: Rigid | Penalty | None = None, exclude: Iterable[Sequence[Body | str]] = ()
) -> Contact:  # fmt: skip
    """A contact of a model (:meth:`Model.contact` tells the arguments)."""
    what = f"contact '{name}'"
    if law is not None and not isinstance(law, (Rigid, Penalty)):
        raise ModelError(f"{what}: law = {law!r} is no law of contact; give jd.contact.rigid(friction=0.5) or jd.contact.hertz(…)")
    if law is not None:
        _check_parameters(model, law, what)
    first = _side(model, a, what, everything=b is None)
    second = None if b is None else _side(model, b, what)
    pairs = frozenset(_excluded(model, pair, what) for pair in exclude)
    found = Contact(name, first, second, law or rigid(), pairs)
    if len({id(s.body) for s in found.shapes}) < 2:
        raise ModelError(f"{what}: all its shapes are of '{found.shapes[0].body.name}', which cannot touch itself")
    check_apart(found, model)
    if isinstance(found.law, Rigid) and found.law.along is not None:
        _check_sides(found, what)
    if isinstance(found.law, Penalty):
        _check_curved(found, found.law, what)
        declare_touch(model, found)
    return found


def _check_parameters(model: Model, law: Rigid | Penalty, what: str) -> None:
    """Refuses laws with parameters of another model."""
    read: list[Expr] = []
    law.mapped(lambda e: read.append(e) or e)  # type: ignore[func-returns-value]
    own = set(model.parameter_set.symbols)
    for s in free_symbols(read):
        if s.deps & KINDS["parameter"] and s not in own:
            raise ModelError(f"{what}: its law depends on {s}, which is not a parameter of the model '{model.name}'")


def _side(model: Model, given: Any, what: str, everything: bool = False) -> tuple[BodyShape, ...]:
    if given is None:
        if not everything:
            raise ModelError(f"{what}: b is given without a; give both sides, or none for every shape against every other")
        found = tuple(shapes_of(model))
    else:
        items = list(given) if isinstance(given, (list, tuple)) else [given]
        found = tuple(s for item in items for s in _shapes_of(model, item, what))
    if not found:
        raise ModelError(f"{what}: a side of it has no shapes; give bodies shapes: m.body(…, shape=jd.sphere(0.05, density=1000))")
    return found


def _shapes_of(model: Model, item: Any, what: str) -> list[BodyShape]:
    if isinstance(item, BodyShape):
        _own(model, item.body, what)
        return [item]
    body = _body(model, item, what)
    if body.is_ground and not body.surfaces:
        from ..shapes import plane

        body.shapes.append(plane())  # a floor: the half-space z ≤ 0
    if not body.surfaces:
        remedy = (
            f"m.body('{body.name}', shape=jd.sphere(…))"
            if not body.modes
            else "body.add_collision(jd.sphere(…), node=…), or body.add_skin(…)"
        )
        raise ModelError(f"{what}: body '{body.name}' has no shape; give it one: {remedy}")
    return [BodyShape(body, i) for i in range(len(body.surfaces))]


def _body(model: Model, given: Any, what: str) -> Body:
    if isinstance(given, str):
        known = {b.name: b for b in model.all_bodies}
        if given not in known:
            near = nearest(given, list(known), 3)
            raise ModelError(f"{what}: there is no body '{given}'" + (f"; did you mean {', '.join(near)}?" if near else ""))
        return known[given]
    if not isinstance(given, Body):
        raise ModelError(f"{what}: {given!r} is neither a body nor m.shapes(…)")
    return _own(model, given, what)


def _own(model: Model, body: Body, what: str) -> Body:
    if body.model is not model:
        raise ModelError(f"{what}: body '{body.name}' belongs to {other_model(body.model, model)}")
    return body


def _excluded(model: Model, pair: Sequence[Body | str], what: str) -> frozenset[str]:
    if isinstance(pair, str) or not isinstance(pair, Collection) or len(pair) != 2:
        raise ModelError(f"{what}: exclude = [{pair!r}] must hold pairs of bodies: exclude=[(hand, arm)]")
    return frozenset(_body(model, item, what).name for item in pair)


def may_touch(model: Model, a: Iterable[BodyShape], b: Iterable[BodyShape]) -> bool:
    """Whether some shape of one side is of a body that moves against some of the other."""
    group = {name: i for i, names in enumerate(_rigid_groups(model)) for name in names}
    return len({group[s.body.name] for side in (a, b) for s in side}) > 1


def check_apart(contact: Contact, model: Model) -> None:
    """Refuses a contact between bodies that are all fixed to each other."""
    if contact.b is not None and not may_touch(model, contact.a, contact.b):
        a, b = next((a, b) for a in contact.a for b in contact.b if a.body is not b.body)
        raise ModelError(
            f"contact '{contact.name}': '{a.body.name}' and '{b.body.name}' are fixed to each other and cannot touch; leave it out, or join them by a joint that moves"
        )


def _check_sides(contact: Contact, what: str) -> None:
    """Refuses friction that differs by direction where it is not clear whose direction that is."""
    both = set(contact.a) if contact.b is None else set(contact.a) & set(contact.b)
    if both:
        raise ModelError(
            f"{what}: '{next(iter(both)).name}' is of both sides, so that friction along an axis of side of= has no meaning; give both sides: m.contact(name, a, b, …)"
        )


#: Shapes that are curved wherever they are touched.
CURVED = ("sphere", "capsule", "ellipsoid", "torus")


def _check_curved(contact: Contact, law: Penalty, what: str) -> None:
    """Refuses Hertz's stiffness from curvatures where there may be none."""
    if not law.normal.by_shape or "radius" in law.normal.given:
        return
    sides = (contact.a, contact.a if contact.b is None else contact.b)
    flat = [[s for s in side if s.shape.kind not in CURVED] for side in sides]
    both = [s for s in flat[0] for other in flat[1] if s.body is not other.body]
    if both:
        raise ModelError(
            f"{what}: '{both[0].name}' ({both[0].shape.kind}) may touch another flat face, edge or corner, where Hertz's law has no curvature; give "
            "radius= (m) to stand for it, or stiffness="
        )


def apart(model: Model, contact: Contact) -> set[frozenset[str]]:
    """Pairs of bodies that the contact leaves out: those excluded, those fixed to each other, and neighbours in all-against-all contacts."""
    groups = _rigid_groups(model)
    found = {frozenset((x, y)) for names in groups for x in names for y in names if x != y}
    if contact.b is None:
        group = {name: names for names in groups for name in names}
        for a, b in _joined(model):  # what is fixed to a neighbour is a neighbour
            found |= {frozenset((x, y)) for x in group[a] for y in group[b] if x != y}
    return found | contact.exclude


def _joined(model: Model) -> list[tuple[str, str]]:
    """Bodies that a joint or a closure connects; the ground is nobody's neighbour, since everything may fall on it."""
    frames = [(j.parent, j.child) for j in model.joints.values() if j.kind != "free"]
    frames += [(c.a, c.b) for c in model.constraints.values() if isinstance(c, Closure) and c.kind != "rod"]
    return [(a.body.name, b.body.name) for a, b in frames if not (a.body.is_ground or b.body.is_ground)]


def _rigid_groups(model: Model) -> list[list[str]]:
    """Rigid bodies that are fixed to each other or to the ground."""
    group = {b.name: [b.name] for b in model.all_bodies}
    for joint in model.joints.values():
        a, b = group[joint.parent.body.name], group[joint.child.body.name]
        if (
            joint.kind == "fixed" and a is not b and not (joint.parent.body.modes or joint.child.body.modes)
        ):  # what bends comes back to what holds it
            a += b
            group |= dict.fromkeys(b, a)
    return list({id(names): names for names in group.values()}.values())


@dataclass(frozen=True)
class Rope:
    """A rope of constant length ℓ between two points: 0 ≤ ℓ − ‖r_b − r_a‖ ⟂ T ≥ 0, with a law of impact where it becomes taut."""

    name: str
    a: Frame
    b: Frame
    length: Expr
    law: Rigid


def declare_rope(model: Model, name: str, points: tuple[Frame, ...], length: Any, law: Any) -> Rope:
    """A rope of a model that does not give way (:meth:`Model.rope` tells the arguments)."""
    what = f"rope '{name}'"
    if not isinstance(law, Rigid):
        raise ModelError(f"{what}: law = {law!r} must be jd.contact.rigid(restitution=…); elastic ropes have stiffness= instead")
    if len(points) != 2:
        raise ModelError(
            f"{what}: a rope that does not give way has two points, not {len(points)}; over pulleys give stiffness= in the place of law="
        )
    bends = next((p.body.name for p in points if p.body.modes), None)
    if bends is not None:
        raise ModelError(f"{what}: '{bends}' bends, where a rope must give way; give stiffness= in the place of law=")
    if points[0].body is points[1].body:
        raise ModelError(f"{what}: both its points are of '{points[0].body.name}'")
    if str(law.friction) != "0" or law.resists:
        raise ModelError(f"{what}: a rope has no friction; give jd.contact.rigid(restitution=…) alone")
    z = value(length, f"{what}: length", "m")
    if z.deps & ~KINDS["parameter"]:
        raise ModelError(f"{what}: length = {z} must be a number or depend on parameters alone")
    if z.is_number and not float(z) > 0.0:
        raise ModelError(f"{what}: length = {float(z):g} must be positive")
    return Rope(name, points[0], points[1], z, law)


__all__ = ["BodyShape", "Contact", "Rope", "apart", "check_apart", "declare", "declare_rope", "may_touch", "shapes_of"]
