"""Structures as tables of a model file, and back; what a body's ``flexible`` says of its reduction."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from inspect import Parameter, signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ModelError
from ...model.elastic.flexible import FlexibleBody, PartBody, RigidPart
from ...model.values import value
from ...structures.ritz import RitzBody

if TYPE_CHECKING:
    from ...structures import Material, ReducedStructure, Structure
    from .reader import ModelReader
    from .writer import ModelWriter

Table = Mapping[str, Any]

_COMMON = ("names", "interfaces")
_MADE = ("theory", "up", "offset", *_COMMON)
#: Keys of a structure by kind: those that it must and those that it may have.
KINDS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "beam": (("start", "end", "section", "material"), ("elements", *_MADE)),
    "cable": (("start", "end", "section", "material"), ("elements", "up", "viscosity", *_COMMON)),
    "framework": (("nodes", "members", "section", "material"), _MADE),
    "block": (("size", "cells", "material"), ("origin", "element", *_COMMON)),
    "sheet": (("size", "cells", "thickness", "material"), ("origin", *_COMMON)),
    "solid": (("nodes", "connectivity", "material"), ("thickness", *_COMMON)),
    "truss": (("nodes", "members", "EA"), ("masses", "mass_per_length", "area", *_COMMON)),
    "truss_box": ((), ("count", "spacing", "EA", "mass", *_COMMON)),
    "lattice_rod": (("count",), ("spacing", "EA", "EI", "mass_per_length", *_COMMON)),
    "ritz_beam": (
        ("length", "section", "material"),
        (
            "bending",
            "torsion",
            "shear",
            "order",
            "functions",
            "rotary",
            "softening",
            "damping",
            "elements",
            "patches",
            "extension",
            "stations",
        ),
    ),
    "file": (("file",), ("digest", *_COMMON)),
}
#: Nodes that a file holds itself.
MOST_NODES = 2000
#: Words of files for arguments of generators that have another name there.
_ARGUMENTS = {("block", "element"): "kind", ("truss", "members"): "bars", ("solid", "connectivity"): "elements"}
_COUNTED = {"truss_box": "cells", "lattice_rod": "nodes"}
KEYS: dict[str, tuple[str, str]] = {
    "kind": ("text", "beam, cable, framework, block, sheet, solid, truss, truss_box, lattice_rod, ritz_beam or file"),
    "start": ("vector", "where the beam or cable starts, in m, in the part's coordinates"),
    "end": ("vector", "where it ends"),
    "nodes": ("rows", "positions of the nodes in m"),
    "members": ("rows", "pairs of numbers of nodes, from 0: beams of a framework, bars of a truss"),
    "connectivity": ("rows", "numbers of the nodes of each solid element, from 0, in Abaqus' order: 4 (in the plane), 4, 8, 10 or 20 nodes"),
    "masses": ("amounts", "masses at the nodes of a truss in kg, one or one a node"),
    "area": ("amounts", "areas of the bars of a truss in m², for stresses"),
    "section": ("section", "{circle = diameter, inner = diameter}, {rectangle = [width, height]} {area, Iy, Iz, torsion, …} or {taper = [section, section]}; of a framework one or one a member"),
    "material": ("material", "steel, aluminium or {E = Pa, nu = Poisson's ratio, density = kg/m³}"),
    "elements": ("integer", "number of equal elements of a beam (default: 10; of a ritz_beam, for its picture and section forces: 16)"),
    "size": ("numbers", "edges of a block (three) or a sheet (two) in m"),
    "cells": ("numbers", "numbers of elements along the edges"),
    "origin": ("numbers", "where its corner is"),
    "element": ("text", "elements of a block: hex8 (default), hex20, tet4 or tet10"),
    "thickness": ("value", "thickness of a sheet or of plane elements in m"),
    "count": ("integer", "cells of a truss_box, nodes of a lattice_rod"),
    "spacing": ("value", "distance of nodes in m"),
    "EA": ("amounts", "axial stiffness in N; of a truss one or one a bar"),
    "EI": ("value", "bending stiffness in N m²"),
    "mass": ("value", "mass at each node in kg"),
    "viscosity": ("value", "of a cable: its tension for a rate of strain, in N s (default: 0)"),
    "mass_per_length": ("amounts", "mass per length in kg/m; of a truss one or one a bar"),
    "length": ("value", "length in m of a beam along x from the origin"),
    "bending": ("numbers", "numbers of functions for bending along y and z (default: 3, 0)"),
    "torsion": ("integer", "number of functions for torsion"),
    "shear": ("numbers", "numbers of functions for shear along y and z"),
    "extension": ("integer", "number of functions for stretching"),
    "stations": ("integer", "of order exact: places at which rotations are found (default: as many as it takes)"),
    "order": ("order", "2 (default): places to second order in the amplitudes; 1: linear; exact: turns of any size"),
    "functions": ("text", "clamped-free (default) or polynomials"),
    "rotary": ("bool", "whether sections have rotary inertia (default: true)"),
    "softening": ("bool", "false: order 1 without the softening of rotation"),
    "damping": ("damping", "ratio of critical damping, one for each function, or {mass = …, stiffness = …}"),
    "patches": ("patches", "piezoelectric patches whose stiffness and mass the beam has: tables of span, face, thickness, width, E, nu, density, pair"),
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
    "gauges": (
        "gauges",
        "strain gauges on a beam: tables of at (m) and curvature (x, y or z); expressions call their numbers body.gauge1[0] …",
    ),
    "sliders": ("sliders", "what slides along a cable: tables of name, point, at (m), damping, friction, stiffness, coefficient, speed"),
}
SLIDER: dict[str, tuple[str, str]] = {
    "name": ("text", "name of the way along the cable"),
    "point": ("frame", "what slides: a frame of a rigid body"),
    "at": ("value", "where it starts, in m from the cable's start"),
    "damping": ("value", "viscous friction in N s/m (default: 0)"),
    "friction": ("value", "largest dry friction in N (default: 0)"),
    "stiffness": ("value", "by which dry friction sticks, in N/m (default: 1e4)"),
    "coefficient": ("value", "of friction by the normal force (default: 0)"),
    "speed": ("value", "below which that friction is smooth, in m/s (default: 1e-3)"),
}
GAUGE: dict[str, tuple[str, str]] = {
    "at": ("value", "place along the beam in m"),
    "curvature": ("text", "axis of the curvature: x (twist), y or z (default)"),
}
PATCH: dict[str, tuple[str, str]] = {
    "span": ("limits", "from where to where along the beam in m"),
    "face": ("text", "y (default), -y, z or -z"),
    "thickness": ("value", "in m"),
    "width": ("value", "in m (default: that of the face)"),
    "E": ("value", "in Pa"),
    "nu": ("value", "Poisson's ratio"),
    "density": ("value", "in kg/m³"),
    "pair": ("bool", "with a second one on the other side"),
}
#: Units of numbers that are no lengths.
_UNITS = {
    "E": "Pa", "density": "kg/m³", "area": "m²", "Iy": "m⁴", "Iz": "m⁴", "torsion": "m⁴", "EA": "N", "mass": "kg", "mass_per_length": "kg/m",
    "viscosity": "N*s",
} | dict.fromkeys(("nu", "up", "shear_y", "shear_z", "EI"))  # fmt: skip
_SLIDER_UNITS = {"at": "m", "damping": "N*s/m", "friction": "N", "stiffness": "N/m", "coefficient": "", "speed": "m/s"}
_NAMED_MATERIALS = {"steel": "STEEL", "aluminium": "ALUMINIUM"}


# --- from tables -------------------------------------------------------------------------------------------------


def structure_of(reader: ModelReader, name: str, item: Table) -> Structure | ReducedStructure:
    """The structure that a table describes; a beam by Ritz functions is a reduced one."""
    from ... import structures

    kind = item["kind"]
    if kind == "file":
        part = _from_file(reader, item)
        part.name = name
    else:
        made: Any = getattr(structures, kind)(name=name, **_arguments(reader, kind, item))
        if kind == "ritz_beam":  # reduced already, its points are places on it
            patches = [structures.Patch(**_patch(reader, given)) for given in item.get("patches", ())]
            return structures.with_patches(made, patches) if patches else made  # type: ignore[no-any-return]
        part = made
    part.names.update({n: part.node(i) for n, i in item.get("names", {}).items()})
    for point, given in item.get("interfaces", {}).items():
        more = {k: given[k] for k in ("kind", "rotation", "weights") if k in given}
        if "position" in given:
            more["position"] = _numbers(reader, given["position"], "position")
        part.interface(point, given["nodes"], **more)
    return part


def _arguments(reader: ModelReader, kind: str, item: Table) -> dict[str, Any]:
    """The arguments of a generator."""
    found: dict[str, Any] = {}
    for key, given in item.items():
        if key in ("kind", "patches", *_COMMON):
            continue
        if key == "section":
            if kind != "framework" and isinstance(given, list):
                raise ModelError("a beam has one section; a framework may have one a member")
            found[key] = [_section(reader, s) for s in given] if isinstance(given, list) else _section(reader, given)
        elif key == "material":
            found[key] = _material(reader, given)
        elif key in ("members", "connectivity"):
            found[_ARGUMENTS.get((kind, key), key)] = [tuple(_whole(i, key) for i in row) for row in given]
        elif key in ("cells", "bending", "shear"):
            found[key] = tuple(_whole(n, key) for n in given)
        elif key == "count":
            found[_COUNTED[kind]] = given
        elif isinstance(given, list) and key not in ("nodes", "damping"):
            found[key] = _numbers(reader, given, key)
        elif KEYS[key][0] in ("value", "amounts"):
            found[key] = _number(reader, given, key)
        else:
            found[_ARGUMENTS.get((kind, key), key)] = given
    return found


def _patch(reader: ModelReader, given: Table) -> dict[str, Any]:
    found = {k: x if PATCH[k][0] in ("text", "bool") else _number(reader, x, k) for k, x in given.items() if k != "span"}
    return found | {"span": tuple(_numbers(reader, given["span"], "span"))}


def _whole(given: Any, key: str) -> int:
    if given != int(given):
        raise ModelError(f"{key} = {given!r} must be whole numbers")
    return int(given)


def _from_file(reader: ModelReader, item: Table) -> Structure:
    from ... import structures

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


def _section(reader: ModelReader, given: Table) -> Any:
    from ... import structures

    if "circle" in given:
        return structures.circle(*(_number(reader, given[k], k) for k in ("circle", "inner") if k in given))
    if "rectangle" in given:
        return structures.rectangle(*_numbers(reader, given["rectangle"], "rectangle"))
    if "taper" in given:
        return structures.taper(*(_section(reader, end) for end in given["taper"]))
    numbers: dict[str, Any] = {k: e if k == "round" else _number(reader, e, k) for k, e in given.items()}
    return structures.Section(**numbers)


def _material(reader: ModelReader, given: Any) -> Material:
    from ... import structures

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
    gauges = given.pop("gauges", ())
    given.pop("sliders", None)
    body = reader.model.flexible_body(name, part, colour=item.get("colour"), **given)
    for gauge in gauges:
        body.gauge(_number(reader, gauge["at"], "at"), gauge.get("curvature", "z"))
    return body


def sliders_of(reader: ModelReader, name: str, item: Table) -> None:
    """What slides along the cable of a table with ``flexible``, when all bodies are there."""
    body = reader.model.bodies[name]
    for given in item["flexible"].get("sliders", ()):
        if not isinstance(body, FlexibleBody):
            raise ModelError(f"body '{name}': nothing slides along it, for it does not bend")
        numbers = {k: value(reader.value(e), k, _SLIDER_UNITS[k]) for k, e in given.items() if k in _SLIDER_UNITS}
        body.slide(given["name"], reader.frame(given["point"]), **numbers)


# --- to tables ---------------------------------------------------------------------------------------------------


class StructureTables:
    """The structures of a model under the names that its file gives them."""

    def __init__(self, writer: ModelWriter) -> None:
        self.writer = writer
        self.names: dict[int, str] = {}
        self.tables: dict[str, dict[str, Any]] = {}
        for body in writer.model.bodies.values():
            if isinstance(body, PartBody) and id(_described(body)) not in self.names:
                self._add(_described(body), body.name)

    def _add(self, part: Structure | RitzBody, body: str) -> None:
        name, count = part.name, 1
        while name in self.tables:
            count += 1
            name = f"{part.name}{count}"
        self.names[id(part)] = name
        self.tables[name] = _structure_table(part, f"structure '{name}' of the body '{body}'", self.writer.folder)

    def flexible(self, body: PartBody) -> dict[str, Any]:
        """What ``flexible`` says of a body."""
        reduced = body.part
        item: dict[str, Any] = {"structure": self.names[id(_described(body))]}
        if isinstance(reduced, RitzBody):
            later = (reduced.recipe or {}).get("later_damping")
            item |= {} if later is None else {"damping": _plain(later)}
        else:
            if reduced.options is None:
                raise ModelError(
                    f"body '{body.name}': its reduction was not made by part.reduce(...), and a file cannot tell how it was made"
                )
            item |= {k: _plain(v) for k, v in reduced.options.items() if v is not None}
        _check_numbers(body)
        if isinstance(body, FlexibleBody) and body.gauges:
            item["gauges"] = [{"at": g.at, "curvature": g.curvature} for g in body.gauges]
        if isinstance(body, FlexibleBody) and body.sliders:
            usual = {"damping": 0.0, "friction": 0.0, "stiffness": 1e4, "coefficient": 0.0, "speed": 1e-3}
            item["sliders"] = [
                {"name": x.name, "point": self.writer.frame(x.frame), "at": x.at}
                | {k: getattr(x, k) for k, u in usual.items() if getattr(x, k) != u}
                for x in body.sliders.values()
            ]
        if item.get("frame") == "mean axes":
            del item["frame"]
        item |= {"rigid": True} if isinstance(body, RigidPart) else {}
        lost = sorted(set(item) - set(FLEXIBLE))
        if lost:
            raise ModelError(f"body '{body.name}': a file cannot say '{lost[0]}' of its reduction; it knows {', '.join(FLEXIBLE)}")
        return {k: item[k] for k in FLEXIBLE if k in item}


def _check_numbers(body: PartBody) -> None:
    """Refuses a reduced part whose numbers are not those that its description gives again."""
    part = body.part
    if isinstance(part, RitzBody):
        again = _made_again(part)
    else:
        options = dict(part.options or {})
        stiffening = options.pop("stiffening", False)
        again = part.part.reduce(**{k: v for k, v in options.items() if v is not None})
        again = again.stiffened() if stiffening else again
    for name in ("mass", "s0", "J0", "D0", "M_ee", "stiffness", "damping"):
        a, b = (np.asarray(getattr(x, name), float) for x in (part, again))
        if a.shape != b.shape or np.abs(a - b).max(initial=0.0) > 1e-8 * max(np.abs(b).max(initial=0.0), 1e-300):
            raise ModelError(
                f"body '{body.name}': its {name} is not what its reduction gives; a file tells how a part is made, not numbers that were changed later"
            )


def _described(body: PartBody) -> Structure | RitzBody:
    """What the file describes of a body: its structure, or the beam by Ritz functions itself."""
    return body.part if isinstance(body.part, RitzBody) else body.part.part


def _structure_table(part: Structure | RitzBody, what: str, folder: Path | None) -> dict[str, Any]:
    recipe = {k: v for k, v in (part.recipe or {}).items() if k != "later_damping"}
    if not recipe and isinstance(part, RitzBody):
        raise ModelError(f"{what}: its numbers were changed after jd.structures.ritz_beam(...), which a file cannot tell")
    if not recipe:
        raise ModelError(f"{what}: it was made of matrices or by a function; keep it beside the model first: part.save('{part.name}.npz')")
    if recipe["kind"] in ("solid", "truss", "framework") and len(recipe["nodes"]) > MOST_NODES:
        count = len(recipe["nodes"])
        raise ModelError(
            f"{what}: {count} nodes are too many for a model file; keep it beside the model first: part.save('{part.name}.npz')"
        )
    if recipe["kind"] == "file":
        recipe["file"], recipe["digest"] = _relative(recipe["file"], folder, what), _digest(recipe["file"])
    else:
        usual = _usual(recipe["kind"])
        recipe = {k: v for k, v in recipe.items() if k not in usual or _plain(v) != _plain(usual[k])}
        if "section" in recipe:
            given = recipe["section"]
            recipe["section"] = [_section_table(s) for s in given] if isinstance(given, list) else _section_table(given)
        if "material" in recipe:
            recipe["material"] = _material_table(recipe["material"])
        recipe = {_TOLD.get((recipe["kind"], k), k): v for k, v in recipe.items()}
        if "patches" in recipe:
            recipe["patches"] = [{k: v for k, v in asdict(p).items() if v is not None and v is not False} for p in recipe["patches"]]
    if isinstance(part, RitzBody):
        return {k: _plain(v) for k, v in recipe.items()}
    again = _made_again(part)
    names = {n: i for n, i in part.names.items() if again.names.get(n) != i}
    table = {k: _plain(v) for k, v in recipe.items()} | ({"names": names} if names else {})
    points = {n: _interface_table(part, i) for n, i in part.interfaces.items() if n not in again.interfaces}
    return table | ({"interfaces": points} if points else {})


#: Words of files for arguments of generators, by kind.
_TOLD = {
    ("block", "element_kind"): "element",
    ("truss_box", "cells"): "count",
    ("lattice_rod", "nodes"): "count",
    ("truss", "bars"): "members",
    ("solid", "elements"): "connectivity",
}


def _usual(kind: str) -> dict[str, Any]:
    """Arguments of a generator that are not told where they are what they are without being given."""
    from ... import structures

    return {n: p.default for n, p in signature(getattr(structures, kind)).parameters.items() if p.default is not Parameter.empty}


def _made_again(part: Structure | RitzBody) -> Any:
    """What the recipe alone gives, without what was named later."""
    from ... import structures

    recipe = dict(part.recipe or {})
    kind, patches, later = recipe.pop("kind"), recipe.pop("patches", ()), recipe.pop("later_damping", None)
    if kind == "ritz_beam":
        beam = structures.with_patches(structures.ritz_beam(**recipe), patches)
        return beam if later is None else beam.with_damping(later)
    if kind == "file":
        return structures.read(recipe["file"])
    if "element_kind" in recipe:
        recipe["kind"] = recipe.pop("element_kind")
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


def _section_table(section: Any) -> dict[str, Any]:
    """A section by its sizes where these give it again, otherwise by its numbers."""
    from ...structures.parts.sections import Taper, word_of

    if isinstance(section, Taper):
        return {"taper": [_section_table(section.start), _section_table(section.end)]}
    found = word_of(section)
    if found is not None:
        word, sizes = found
        return {word: sizes if len(sizes) > 1 else sizes[0]}
    usual = {f.name: f.default for f in fields(section)}
    return {k: v for k, v in asdict(section).items() if v != usual[k]}


def _material_table(material: Material) -> Any:
    from ... import structures

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


__all__ = [
    "FLEXIBLE",
    "GAUGE",
    "INTERFACE",
    "KEYS",
    "KINDS",
    "PATCH",
    "SLIDER",
    "StructureTables",
    "flexible_body_of",
    "sliders_of",
    "structure_of",
]
