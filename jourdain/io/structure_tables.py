"""Structures as tables of a model file, and back; what a body's ``flexible`` says of its reduction."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import JourdainError, ModelError
from ..model.flexible import FlexibleBody, PartBody, RigidPart
from ..model.values import value

if TYPE_CHECKING:
    from ..structures import Material, Section, Structure
    from .model_reader import ModelReader
    from .model_writer import ModelWriter

Table = Mapping[str, Any]

_COMMON = ("names", "interfaces")
_MADE = ("theory", "up", "offset", *_COMMON)
#: Keys of a structure by kind: those that it must and those that it may have.
KINDS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "beam": (("start", "end", "section", "material"), ("elements", *_MADE)),
    "framework": (("nodes", "members", "section", "material"), _MADE),
    "file": (("file",), ("digest", *_COMMON)),
}
KEYS: dict[str, tuple[str, str]] = {
    "kind": ("text", "beam, framework or file"),
    "start": ("vector", "where the beam starts, in m, in the part's coordinates"),
    "end": ("vector", "where it ends"),
    "nodes": ("rows", "positions of the nodes in m"),
    "members": ("rows", "pairs of numbers of nodes, from 0"),
    "section": ("section", "{circle = diameter, inner = diameter}, {rectangle = [width, height]} or {area, Iy, Iz, torsion, …}; of a framework one or one a member"),
    "material": ("material", "steel, aluminium or {E = Pa, nu = Poisson's ratio, density = kg/m³}"),
    "elements": ("integer", "number of equal elements of a beam (default: 10)"),
    "theory": ("text", "euler-bernoulli (default), rayleigh or timoshenko"),
    "up": ("vector", "a direction in the local x–z plane of the sections (default: 0, 0, 1)"),
    "offset": ("vector", "where the axis is relative to the nodes, in local components"),
    "file": ("file", "file of the part (.npz) in the model's folder, written by part.save(…)"),
    "digest": ("text", "hash of that file; an error if it was changed"),
    "names": ("integers", "numbers of nodes that have names of their own"),
    "interfaces": ("interfaces", "points that stand for several nodes: tables of nodes, kind, position, rotation, weights"),
}  # fmt: skip
INTERFACE: dict[str, tuple[str, str]] = {
    "nodes": ("points_of_part", "numbers of nodes, or the name of a set"),
    "kind": ("text", "rigid (default) or average"),
    "position": ("vector", "where its frame is (default: the nodes' mean)"),
    "rotation": ("rows", "axes of its frame, in columns of a 3×3 matrix"),
    "weights": ("numbers", "shares of the nodes in an average"),
}
FLEXIBLE: dict[str, tuple[str, str]] = {
    "structure": ("text", "name of the structure"),
    "frame": ("text", "floating frame: mean axes (default), tangent, pinned, nodal-fixed or principal axes"),
    "modes": ("integer", "number of natural modes"),
    "kind": ("text", "reduction: free-free, fixed, craig-bampton, guyan or attachment"),
    "at": ("points_of_part", "points that the frame follows"),
    "fixed": ("points_of_part", "points that are held in fixed modes"),
    "interfaces": ("points_of_part", "points of static shapes"),
    "bending": ("axis", "the one direction in which a straight part bends"),
    "damping": ("damping", "ratio of critical damping, one for each mode, or {mass = …, stiffness = …}"),
    "normalise": ("text", "largest (default) or mass"),
    "stiffening": ("bool", "true: stresses of inertia and of forces at nodes stiffen or soften the body"),
    "rigid": ("bool", "true: the modes are left out"),
}
#: Units of numbers that are no lengths.
_UNITS = {"E": "Pa", "density": "kg/m³", "area": "m²", "Iy": "m⁴", "Iz": "m⁴", "torsion": "m⁴"} | dict.fromkeys(
    ("nu", "up", "shear_y", "shear_z")
)
_NAMED_MATERIALS = {"steel": "STEEL", "aluminium": "ALUMINIUM"}


# --- from tables -------------------------------------------------------------------------------------------------


def structure_of(reader: ModelReader, name: str, item: Table) -> Structure:
    """The structure that a table describes."""
    from .. import structures

    kind = item["kind"]
    if kind == "file":
        part = _from_file(reader, item)
        part.name = name
    else:
        options: dict[str, Any] = {k: item[k] for k in ("elements", "theory") if k in item}
        options |= {k: _numbers(reader, item[k], k) for k in ("up", "offset") if k in item}
        material = _material(reader, item["material"])
        given = item["section"]
        section = [_section(reader, s) for s in given] if isinstance(given, list) else _section(reader, given)
        if kind == "beam":
            if isinstance(section, list):
                raise ModelError("a beam has one section; a framework may have one a member")
            start, end = (_numbers(reader, item[k], k) for k in ("start", "end"))
            part = structures.beam(start, end, section, material, name=name, **options)
        else:
            members = [(int(a), int(b)) for a, b in item["members"]]
            part = structures.framework(item["nodes"], members, section, material, name=name, **options)
    part.names.update({n: part.node(i) for n, i in item.get("names", {}).items()})
    for point, given in item.get("interfaces", {}).items():
        more = {k: given[k] for k in ("kind", "rotation", "weights") if k in given}
        if "position" in given:
            more["position"] = _numbers(reader, given["position"], "position")
        part.interface(point, given["nodes"], **more)
    return part


def _from_file(reader: ModelReader, item: Table) -> Structure:
    from .. import structures

    path = reader.file(item["file"])
    if "digest" in item and item["digest"] != (found := _digest(path)):
        raise ModelError(
            f"its file '{item['file']}' was changed: its digest is {found}, not {item['digest']}; take the key 'digest' away to accept it"
        )
    part = structures.read(path)
    part.recipe = {"kind": "file", "file": path}
    return part


def _digest(path: Path) -> str:
    """A hash of a file's content."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def _number(reader: ModelReader, given: Any, key: str) -> float:
    e = value(reader.value(given), key, _UNITS.get(key, "m"))
    if not e.is_number:
        raise ModelError(f"{key} = {given!r} depends on a parameter; structures are made of numbers")
    return float(e)


def _numbers(reader: ModelReader, given: Sequence[Any], key: str) -> list[float]:
    return [_number(reader, e, key) for e in given]


def _section(reader: ModelReader, given: Table) -> Section:
    from .. import structures

    if "circle" in given:
        return structures.circle(*(_number(reader, given[k], k) for k in ("circle", "inner") if k in given))
    if "rectangle" in given:
        return structures.rectangle(*_numbers(reader, given["rectangle"], "rectangle"))
    numbers: dict[str, Any] = {k: e if k == "round" else _number(reader, e, k) for k, e in given.items()}
    return structures.Section(**numbers)


def _material(reader: ModelReader, given: Any) -> Material:
    from .. import structures

    if isinstance(given, str):
        if given not in _NAMED_MATERIALS:
            raise ModelError(f"material '{given}' is unknown; use {', '.join(_NAMED_MATERIALS)} or {{E = …, nu = …, density = …}}")
        return getattr(structures, _NAMED_MATERIALS[given])  # type: ignore[no-any-return]
    return structures.Material(**{k: _number(reader, e, k) for k, e in given.items()})


def flexible_body_of(reader: ModelReader, name: str, item: Table) -> PartBody:
    """The body of a table with ``flexible``."""
    given = dict(item["flexible"])
    wrong = [k for k in ("mass", "com", "inertia", "about", "axes", "moment", "masses") if k in item]
    if wrong:
        raise ModelError(f"body '{name}': '{wrong[0]}' has no place beside 'flexible'; its mass is that of the structure")
    part = reader.structures.get(given.pop("structure"))
    if part is None:
        known = ", ".join(reader.structures) or "none"
        raise ModelError(f"body '{name}': there is no structure '{item['flexible']['structure']}'; there is {known}")
    return reader.model.flexible_body(name, part, colour=item.get("colour"), **given)


# --- to tables ---------------------------------------------------------------------------------------------------


class StructureTables:
    """The structures of a model under the names that its file gives them."""

    def __init__(self, writer: ModelWriter) -> None:
        self.writer = writer
        self.names: dict[int, str] = {}
        self.tables: dict[str, dict[str, Any]] = {}
        for body in writer.model.bodies.values():
            if isinstance(body, PartBody) and id(body.part.part) not in self.names:
                self._add(body.part.part, body.name)

    def _add(self, part: Structure, body: str) -> None:
        name, count = part.name, 1
        while name in self.tables:
            count += 1
            name = f"{part.name}{count}"
        self.names[id(part)] = name
        self.tables[name] = _structure_table(part, f"structure '{name}' of the body '{body}'", self.writer.folder)

    def flexible(self, body: PartBody) -> dict[str, Any]:
        """What ``flexible`` says of a body."""
        reduced = body.part
        if reduced.options is None:
            raise ModelError(f"body '{body.name}': its reduction was not made by part.reduce(...), and a file cannot tell how it was made")
        if isinstance(body, FlexibleBody) and body.gauges:
            raise ModelError(
                f"body '{body.name}': a file cannot say its {len(body.gauges)} strain gauges; leave them out of the model that is saved"
            )
        item: dict[str, Any] = {"structure": self.names[id(reduced.part)]}
        item |= {k: _plain(v) for k, v in reduced.options.items() if v is not None}
        if item.get("frame") == "mean axes":
            del item["frame"]
        item |= {"rigid": True} if isinstance(body, RigidPart) else {}
        lost = sorted(set(item) - set(FLEXIBLE))
        if lost:
            raise ModelError(f"body '{body.name}': a file cannot say '{lost[0]}' of its reduction; it knows {', '.join(FLEXIBLE)}")
        return {k: item[k] for k in FLEXIBLE if k in item}


def _structure_table(part: Structure, what: str, folder: Path | None) -> dict[str, Any]:
    recipe = dict(part.recipe or {})
    if not recipe:
        raise ModelError(f"{what}: it was made of matrices or by a function; keep it beside the model first: part.save('{part.name}.npz')")
    if recipe["kind"] == "file":
        recipe["file"], recipe["digest"] = _relative(recipe["file"], folder, what), _digest(recipe["file"])
    else:
        usual = {"theory": "euler-bernoulli", "up": (0, 0, 1), "offset": (0, 0, 0)}
        recipe = {k: v for k, v in recipe.items() if k not in usual or _plain(v) != _plain(usual[k])}
        given = recipe["section"]
        recipe["section"] = [_section_table(s) for s in given] if isinstance(given, list) else _section_table(given)
        recipe["material"] = _material_table(recipe["material"])
    again = _made_again(part)
    names = {n: i for n, i in part.names.items() if again.names.get(n) != i}
    table = {k: _plain(v) for k, v in recipe.items()} | ({"names": names} if names else {})
    points = {n: _interface_table(part, i) for n, i in part.interfaces.items() if n not in again.interfaces}
    return table | ({"interfaces": points} if points else {})


def _made_again(part: Structure) -> Structure:
    """What the recipe alone gives, without what was named later."""
    from .. import structures

    recipe = dict(part.recipe or {})
    kind = recipe.pop("kind")
    if kind == "file":
        return structures.read(recipe["file"])
    return getattr(structures, kind)(**recipe)  # type: ignore[no-any-return]


def _relative(path: Path, folder: Path | None, what: str) -> str:
    if not path.is_file():
        raise ModelError(f"{what} was kept in '{path}', which is gone; save it again: part.save(...)")
    if folder is None:
        raise ModelError(f"{what} is kept in the file '{path.name}'; save the model as a file beside it")
    try:
        return path.resolve().relative_to(folder.resolve()).as_posix()
    except ValueError:
        raise ModelError(f"{what} is kept in '{path}', outside the model's folder; save the part there: part.save(...)") from None


def _section_table(section: Section) -> dict[str, Any]:
    """A section by its sizes where these give it again, otherwise by its numbers."""
    from .. import structures

    width, height = 2 * section.half_y, 2 * section.half_z
    for word, sizes in (("circle", (width,)), ("rectangle", (width, height))):
        try:
            if getattr(structures, word)(*sizes) == section:
                return {word: list(sizes) if len(sizes) > 1 else sizes[0]}
        except JourdainError:
            continue
    usual = {f.name: f.default for f in fields(section)}
    return {k: v for k, v in asdict(section).items() if v != usual[k]}


def _material_table(material: Material) -> Any:
    from .. import structures

    found = [word for word, name in _NAMED_MATERIALS.items() if getattr(structures, name) == material]
    return found[0] if found else asdict(material)


def _interface_table(part: Structure, interface: Any) -> dict[str, Any]:
    item: dict[str, Any] = {"nodes": interface.nodes.tolist(), "kind": interface.kind}
    uniform = np.ones(len(interface.nodes)) / len(interface.nodes)
    if not np.array_equal(interface.weights, uniform):
        item["weights"] = interface.weights.tolist()
    if not np.array_equal(interface.position, interface.weights @ part.nodes[interface.nodes]):
        item["position"] = interface.position.tolist()
    if not np.array_equal(interface.rotation, np.eye(3)):
        item["rotation"] = interface.rotation.tolist()
    return item


def _plain(given: Any) -> Any:
    """Arrays and tuples as lists, NumPy's numbers as Python's; reals as reals, so that equal data give equal text."""
    if isinstance(given, np.ndarray | np.generic):
        return _plain(given.tolist())
    if isinstance(given, Mapping):
        return {k: _plain(v) for k, v in given.items()}
    if isinstance(given, list | tuple | range):
        return [_plain(v) for v in given]
    return given


__all__ = ["FLEXIBLE", "INTERFACE", "KEYS", "KINDS", "StructureTables", "flexible_body_of", "structure_of"]
