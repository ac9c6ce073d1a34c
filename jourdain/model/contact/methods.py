"""The part of a model that declares contacts; what they are is loaded with the first one (:mod:`jourdain.model.contact.contacts`)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ...errors import InputError
from ..bodies import Body
from ..values import number

if TYPE_CHECKING:
    from ...structures.parts.sections import Material
    from ..load_sorts import Load
    from ..loads import Input
    from ..memories import Memory
    from ..model import Model
    from .contacts import BodyShape, Contact
    from .laws import Rigid
    from .penalty_laws import Penalty


class ContactMethods:
    """The part of a model that declares contacts."""

    contacts: dict[str, Contact]
    materials: dict[str, Material]
    bodies: dict[str, Body]
    ground: Body
    loads: dict[str, Load]
    inputs: dict[str, Input]
    memories: dict[str, Memory]

    if TYPE_CHECKING:

        def _unlocked(self, what: str) -> None: ...
        def _new_name(self, name: str, kind: str, existing: dict[str, Any]) -> None: ...

    def material(self, name: str, E: Any, nu: Any, density: Any = 0.0) -> Material:
        """An elastic material with a name, for laws of contact: Young's modulus (Pa), Poisson's ratio, density (kg/m³)."""
        self._unlocked(f"material '{name}'")
        self._new_name(name, "material", self.materials)
        from ...structures.parts.sections import Material

        what = f"material '{name}'"
        units = (("E", E, "Pa"), ("nu", nu, "1"), ("density", density, "kg/m³"))
        self.materials[name] = Material(*(number(x, f"{what}: {word}", unit) for word, x, unit in units))
        return self.materials[name]

    def shapes(self, pattern: str = "*") -> list[BodyShape]:
        """Shapes whose names, or those of their bodies, fit a pattern with * and ?, for :meth:`contact`."""
        from .contacts import shapes_of

        return shapes_of(self, pattern)  # type: ignore[arg-type]

    def contact(
        self, name: str, a: Any = None, b: Any = None, law: Rigid | Penalty | None = None, exclude: Iterable[Sequence[Body | str]] = ()
    ) -> Contact:  # fmt: skip
        """Lets shapes touch: those of ``a`` against those of ``b``, or all of ``a`` (of the whole model, if it is not given) against each other.

        a, b: a body, a list of bodies or of ``m.shapes("*_foot")``, the ground (a floor z = 0 where it has no shape).
        law: ``jd.contact.rigid(friction=…, restitution=…)``, or one of surfaces that give way, ``jd.contact.hertz(…)``, ``hunt_crossley(…)`` ….
        exclude: pairs of bodies that do not touch.  Bodies fixed to each other never do; where all of a list touch each other, neighbours
            that a joint connects do not either (the ground apart).  Where two contacts name the same pair of shapes, the later law acts.
        """
        from .contacts import declare

        self._unlocked(f"contact '{name}'")
        self._new_name(name, "contact", self.contacts)
        self.contacts[name] = declare(self, name, a, b, law, exclude)  # type: ignore[arg-type]
        return self.contacts[name]

    @property
    def found_inputs(self) -> set[str]:
        """Names of the inputs that contacts set."""
        return {n for c in self.contacts.values() for n in c.input_names}

    @property
    def point_memories(self) -> set[str]:
        """Names of the memories of contacts."""
        return {n for c in self.contacts.values() for n in c.memory_names}

    def settle_order(self) -> None:
        """Puts what contacts brought behind all that was declared after them, as a reader of files makes it."""
        brought = self.found_inputs | self.point_memories | {n for n, load in self.loads.items() if load.kind == "touch"}
        named: tuple[dict[str, Any], ...] = (self.inputs, self.memories, self.loads)
        for items in named:
            for name in [n for n in items if n in brought] if brought else ():
                items[name] = items.pop(name)


def refuse_contacts(model: Model, what: str, remedy: str = "use simulate with method='moreau'", rigid_only: bool = False) -> None:
    """Raises an error where something does not know contacts, or only those whose surfaces give way."""
    for joint in model.rigid_stops:
        raise InputError(f"{what} knows no rigid stops, but joint '{joint}' of '{model.name}' has one; {remedy}")
    for rope in model.ropes:
        raise InputError(
            f"{what} knows no ropes that do not give way, but '{model.name}' has '{rope}'; {remedy}, or give the rope stiffness="
        )
    for joint in model.dry_friction:
        raise InputError(
            f"{what} knows no dry friction without smoothing, but joint '{joint}' of '{model.name}' has it; {remedy}, or give smoothing="
        )
    for contact in model.contacts.values():
        if not (rigid_only and contact.gives_way):
            which = "rigid contacts" if rigid_only else "contacts"
            raise InputError(f"{what} knows no {which}, but '{model.name}' has '{contact.name}'; {remedy}")


def touches(model: Model) -> bool:
    """Whether a model has contacts whose surfaces give way."""
    return any(c.gives_way for c in model.contacts.values())


def contact_digest(model: Model) -> str:
    """What equations of motion do not say of contacts: shapes, sides and laws, as a hash; empty where there are none."""
    if not (model.contacts or model.rigid_stops or model.dry_friction or model.ropes):
        return ""
    told = [f"{name} {law!r}" for name, law in (*model.rigid_stops.items(), *model.dry_friction.items())]
    for r in model.ropes.values():
        told.append(f"{r.name} {r.a.body.name} {r.a.position!r} {r.b.body.name} {r.b.position!r} {r.length!r} {r.law!r}")
    for c in model.contacts.values():
        sides = [[(s.body.name, repr(s.shape.primitive())) for s in side] for side in (c.a, c.b or ())]
        told.append(f"{c.name} {c.law!r} {sides} {sorted(map(sorted, c.exclude))}")
    return hashlib.sha256("\n".join(told).encode()).hexdigest()[:16]


__all__ = ["ContactMethods", "contact_digest", "refuse_contacts", "touches"]
