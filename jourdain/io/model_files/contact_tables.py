"""Laws of contact and materials of a model file: tables to laws, and laws to tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ...errors import ModelError
from ...model.contact import penalty_laws as laws
from ...model.contact.laws import MET, SPEED, Rigid, rigid
from ...model.contact.penalty_laws import APPROACH, DEPTH, RATE, Friction, Penalty
from ...structures.parts.sections import Material
from ...symbolic.expr import ZERO
from ...symbolic.graph import free_symbols, substitute, topological
from .expression_writer import ExpressionWriter
from .load_tables import local_law
from .names import ModelNames

if TYPE_CHECKING:
    from .reader import ModelReader
    from .writer import ModelWriter

Table = Mapping[str, Any]

#: What each law of surfaces that give way is made by, and the keys that it has beside those of friction and resistance.
_ELASTIC = ("stiffness", "material", "radius")
_BY_RESTITUTION = (*_ELASTIC, "restitution", "exponent", "slowest")
KINDS: dict[str, tuple[Callable[..., Penalty], tuple[str, ...]]] = {
    "linear": (laws.linear, ("stiffness",)), "kelvin-voigt": (laws.kelvin_voigt, ("stiffness", "damping")), "hertz": (laws.hertz, _ELASTIC),
    "hunt-crossley": (laws.hunt_crossley, (*_BY_RESTITUTION, "damping")), "lankarani-nikravesh": (laws.lankarani_nikravesh, _BY_RESTITUTION),
    "flores": (laws.flores, _BY_RESTITUTION), "own": (laws.own, ("force",)),
}  # fmt: skip
#: Keys of friction and resistance by their names in laws; bristles have the last two.
_FRICTION = {"friction": "mu", "static_friction": "static", "stribeck": "stribeck", "friction_speed": "speed"}
_BRISTLE = {"bristle_stiffness": "stiffness", "bristle_damping": "damping"}
_RESISTANCE = ("rolling", "spinning", "turning")
_PLACE = ("a", "b", "exclude", "law")
#: What laws of the user's own read, by their names in a file.
_OWN = {DEPTH: "self.depth", RATE: "self.rate", APPROACH: "self.approach"}
_SPEED = "self.speed"
_RIGID = (
    "friction", "restitution", "static_friction", "impact", "cone", "along", "of", "friction_across", "static_friction_across", "rolling", "spinning",
)  # fmt: skip
WORDS = ("rigid", *KINDS)


def read_law(reader: ModelReader, item: Table) -> Rigid | Penalty:
    """The law that a table describes."""
    word = item.get("law", "rigid")
    if word not in WORDS:
        raise ModelError(f"law '{word}' is unknown; use one of {', '.join(WORDS)}")
    make, own = (laws.linear, _RIGID) if word == "rigid" else KINDS[word]
    taken = {*_PLACE, *own} | ({*_FRICTION, *_BRISTLE, *_RESISTANCE} if word != "rigid" else set())
    for key in item:
        if key not in taken:
            raise ModelError(f"law '{word}' has no '{key}'; it has {', '.join(k for k in sorted(taken) if k not in _PLACE)}")
    if word == "rigid":
        return read_rigid(reader, item)
    values: dict[str, Any] = {k: reader.value(item[k]) for k in own if k in item and k not in ("material", "force")}
    if "material" in item:
        given = item["material"]
        found = [read_material(reader, m) for m in (given if isinstance(given, list) else [given])]
        values["material"] = found if len(found) > 1 else found[0]
    if word == "own":
        if "force" not in item:
            raise ModelError("law 'own' needs force, an expression of self.depth, self.rate and self.approach")
        force = local_law(reader, item["force"], {name: e for e, name in _OWN.items()})
        values["law"] = lambda depth, rate, approach: force
    values |= {k: reader.value(item[k]) for k in _RESISTANCE if k in item}
    for key in own:
        if key in ("restitution",) and word in ("lankarani-nikravesh", "flores") and key not in item:
            raise ModelError(f"law '{word}' needs {key}")
        if word in ("linear", "kelvin-voigt") and key not in item:
            raise ModelError(f"law '{word}' needs {key}")
    return make(**values, friction=_read_friction(reader, item))


def read_rigid(reader: ModelReader, item: Table) -> Rigid:
    """The law of surfaces that do not give way, of a stop or of a rope."""
    values: dict[str, Any] = {k: reader.value(item[k]) for k in ("friction", "rolling", "spinning") if k in item}
    if "restitution" in item:
        e = local_law(reader, item["restitution"], {_SPEED: MET})
        values["restitution"] = (lambda speed: e) if SPEED in free_symbols([e]) else e
    if "static_friction" in item:
        values["static"] = reader.value(item["static_friction"])
    for word, key in (("friction", "friction_across"), ("static", "static_friction_across")):
        if key in item:
            values[word] = (values.get(word, ZERO), reader.value(item[key]))
    return rigid(**values, law=item.get("impact", "newton"), **{k: item[k] for k in ("cone", "along", "of") if k in item})


def _read_friction(reader: ModelReader, item: Table) -> Friction:
    bristles = [k for k in _BRISTLE if k in item]
    names = _FRICTION | (_BRISTLE if bristles else {})
    given = {names[k]: reader.value(item[k]) for k in names if k in item}
    given.setdefault("mu", ZERO)
    if not bristles:
        return laws.regularised(**given)
    if "speed" in given or "stiffness" not in given:
        raise ModelError("friction by bristles has bristle_stiffness, perhaps bristle_damping, and no friction_speed")
    return laws.bristle(**given)


def read_material(reader: ModelReader, given: Any) -> Material:
    """A material by its name in the file, or by its numbers."""
    if isinstance(given, str) and given in reader.model.materials:
        return reader.model.materials[given]
    from .structure_tables import _material

    try:
        return _material(reader, given)
    except ModelError as error:
        known = ", ".join(reader.model.materials)
        raise ModelError(f"{error}" + (f"; the file has {known}" if known else "; declare it under [materials]")) from None


def law_table(law: Rigid | Penalty, writer: ModelWriter) -> dict[str, Any]:
    """The keys of a law."""
    if isinstance(law, Rigid):
        known = {} if law.friction is ZERO else {"friction": writer.value(law.friction)}
        if law.restitution is not ZERO:
            known["restitution"] = _by_speed(law, writer) if law.by_speed else writer.value(law.restitution)
        more = {"static_friction": law.static, "friction_across": law.across, "static_friction_across": law.static_across}
        known |= {k: writer.value(e) for k, e in more.items() if e is not None}
        known |= {k: writer.value(e) for k, e in (("rolling", law.rolling), ("spinning", law.spinning)) if e is not ZERO}
        known |= {} if law.along is None else {"along": list(law.along), "of": law.of}
        return known | {k: word for k, word, usual in (("impact", law.law, "newton"), ("cone", law.cone, "exact")) if word != usual}
    item: dict[str, Any] = {"law": law.kind}
    own, normal = KINDS[law.kind][1], law.normal
    if normal.law is not None:
        spell = ModelNames(writer.model).speller()
        item["force"] = ExpressionWriter(lambda s: _OWN.get(s) or spell(s), {}, {}).text(normal.law)
    if normal.materials is not None:
        both = [material_word(m, writer) for m in normal.materials]
        item["material"] = both[0] if both[0] == both[1] else both
    item |= {k: writer.value(e) for k, e in normal.given.items() if k in own}
    if law.friction is not None:
        names = _FRICTION | _BRISTLE
        item |= {k: writer.value(law.friction.given[n]) for k, n in names.items() if n in law.friction.given}
    item |= {k: writer.value(e) for k, e in (("rolling", law.rolling), ("spinning", law.spinning)) if e is not ZERO}
    if law.rolling is not ZERO or law.spinning is not ZERO:
        item["turning"] = writer.value(law.turning)
    return item


def _by_speed(law: Rigid, writer: ModelWriter) -> str:
    """Restitution that depends on the speed at which bodies meet, as it was written."""
    (e,) = substitute([law.unbounded], {MET: SPEED})
    if any(node.op == "table" for node in topological([e])):
        raise ModelError(
            "restitution by a table cannot be written to a model file; write an expression of self.speed, or keep the model in Python"
        )
    spell = ModelNames(writer.model).speller()
    return ExpressionWriter(lambda s: _SPEED if s is SPEED else spell(s), {}, {}).text(e)


def material_word(material: Material, writer: ModelWriter) -> Any:
    """A material by its name in the model, or its numbers."""
    from .structure_tables import _material_table

    named = [name for name, m in writer.model.materials.items() if m == material]
    word = named[0] if named else _material_table(material)
    return asdict(material) if not named and isinstance(word, str) and word in writer.model.materials else word


__all__ = ["KINDS", "WORDS", "law_table", "material_word", "read_law", "read_material", "read_rigid"]
