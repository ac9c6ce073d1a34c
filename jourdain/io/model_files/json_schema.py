"""The JSON schema of model files, made from the same description that checks them; editors complete and check by it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from . import structure_tables
from .schema import BODY, FORMAT, GROUND, INCLUDE, SECTIONS, SHAPE_COMMON, SHAPE_KEYS, SHAPES, TOP, VERBS, VERSION, Kind, Section
from .schema_types import SECTION_KEYS

#: The published schema.
SCHEMA_FILE = Path(__file__).with_name("model.schema.json")

_NUMBER: dict[str, Any] = {"type": "number"}
_VALUE: dict[str, Any] = {"type": ["number", "string"]}


def _array(items: Any, least: int | None = None, most: int | None = None) -> dict[str, Any]:
    found = {"type": "array", "items": items}
    if least is not None:
        found["minItems"] = least
    return found if most is None else found | {"maxItems": most}


def _exactly(items: Any, n: int) -> dict[str, Any]:
    return _array(items, n, n)


_AXIS = {"anyOf": [{"type": "string", "enum": ["x", "y", "z", "-x", "-y", "-z"]}, _exactly(_VALUE, 3)]}
_MATRIX = _exactly(_exactly(_VALUE, 3), 3)
_TURN = {"type": "array", "prefixItems": [_AXIS, _VALUE], "minItems": 2, "maxItems": 2}
_MAPPING = {"type": "object", "additionalProperties": _VALUE}


def _numbered(keys: Iterable[str], required: Iterable[str]) -> dict[str, Any]:
    return {"type": "object", "properties": dict.fromkeys(keys, _VALUE), "required": [*required], "additionalProperties": False}


_POINT = {"anyOf": [{"type": ["string", "integer"]}, _exactly(_NUMBER, 3)]}
_UNIFORM = {"anyOf": [
    _numbered(("circle", "inner"), ("circle",)),
    {"type": "object", "properties": {"rectangle": _exactly(_VALUE, 2)}, "required": ["rectangle"], "additionalProperties": False},
    {
        "type": "object", "properties": {k: {"type": "boolean"} if k == "round" else _VALUE for k in sorted(SECTION_KEYS)},
        "required": ["area", "Iy", "Iz", "torsion"], "additionalProperties": False,
    },
]}  # fmt: skip
_TAPER = {"type": "object", "properties": {"taper": _exactly(_UNIFORM, 2)}, "required": ["taper"], "additionalProperties": False}
_SECTION = {"anyOf": [*_UNIFORM["anyOf"], _TAPER]}
_MATERIAL = {"anyOf": [{"type": "string"}, _numbered(("E", "nu", "density"), ("E", "nu", "density"))]}
_TYPES: dict[str, Any] = {
    "text": {"type": "string", "minLength": 1},
    "file": {"type": "string", "minLength": 1},
    "texts": _array({"type": "string"}),
    "pairs": _array(_array({"type": "string"})),
    "bool": {"type": "boolean"},
    "integer": {"type": "integer"},
    "quantity": _VALUE,
    "value": _VALUE,
    "vector": _exactly(_VALUE, 3),
    "value6": {"anyOf": [_VALUE, _exactly(_VALUE, 6)]},
    "force": {"anyOf": [_VALUE, _exactly(_VALUE, 3)]},
    "axis": _AXIS,
    "axes": _exactly(_AXIS, 2),
    "rotation": {"$ref": "#/$defs/rotation"},
    "about": {"enum": ["com", "origin"]},
    "inertia": {"anyOf": [_exactly(_VALUE, 3), _exactly(_VALUE, 6), _MATRIX]},
    "limits": _exactly(_VALUE, 2),
    "numbers": _array(_NUMBER),
    "variables": {"anyOf": [_array({"type": "string"}, 1), {"type": "object", "additionalProperties": _exactly(_VALUE, 2)}]},
    "bounds": {"type": "object", "additionalProperties": {"type": "string"}},
    "amounts": {"anyOf": [_VALUE, _array(_VALUE)]},
    "order": {"enum": [1, 2, "exact"]},
    "rows": _array(_array(_NUMBER)),
    "nested": {"type": "array"},
    "points2": _array(_exactly(_VALUE, 2)),
    "frame": {"$ref": "#/$defs/frame"},
    "points": _array({"$ref": "#/$defs/frame"}, 2),
    "frames": {"type": "object", "additionalProperties": {"$ref": "#/$defs/placement"}},
    "masses": _array({"$ref": "#/$defs/mass"}),
    "shape": {"$ref": "#/$defs/shape"},
    "shapes": _array({"$ref": "#/$defs/shape"}),
    "mimic": {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/mimic"}]},
    "values": _MAPPING,
    "quantities": _MAPPING,
    "ground": {"$ref": "#/$defs/ground"},
    "flexible": {"$ref": "#/$defs/flexible"},
    "gauges": _array({"$ref": "#/$defs/gauge"}),
    "sliders": _array({"$ref": "#/$defs/slider"}),
    "patches": _array({"$ref": "#/$defs/patch"}),
    "interfaces": {"type": "object", "additionalProperties": {"$ref": "#/$defs/interface"}},
    "integers": {"type": "object", "additionalProperties": {"type": "integer"}},
    "section": {"anyOf": [_SECTION, _array(_SECTION, 1)]},
    "material": _MATERIAL,
    "materials": {"anyOf": [_MATERIAL, _exactly(_MATERIAL, 2)]},
    "damping": {"anyOf": [_NUMBER, _array(_NUMBER), {"type": "object", "properties": {"mass": _NUMBER, "stiffness": _NUMBER}}]},
    "points_of_part": {"anyOf": [_POINT, _array(_POINT)]},
    "variants": {"type": "object", "additionalProperties": {"type": "object"}},
    "includes": _array({"$ref": "#/$defs/include"}),
    "creation": {"type": "object", "properties": {"order": _array({"type": "string"})}, "additionalProperties": False},
}


def _typed(kind: str, text: str) -> dict[str, Any]:
    return {**_TYPES[kind], "description": text} if text else dict(_TYPES[kind])


def _object(
    keys: Mapping[str, tuple[str, str]],
    required: tuple[str, ...] = (),
    kinds: Mapping[str, Kind] | None = None,
    common: tuple[str, ...] = (),
) -> dict[str, Any]:
    properties = {name: _typed(*entry) for name, entry in keys.items()}
    found: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
    if required:
        found["required"] = list(required)
    if kinds:
        properties["kind"] = {"enum": list(kinds), "description": keys["kind"][1]}
        found["allOf"] = [
            {
                "if": {"properties": {"kind": {"const": name}}, "required": ["kind"]},
                "then": {
                    "required": ["kind", *(k for k in kind.required if k != "kind")],
                    "propertyNames": {"enum": list(dict.fromkeys(("kind", *kind.required, *kind.optional, *common)))},
                },
            }
            for name, kind in kinds.items()
        ]
    return found


def _section(section: Section) -> dict[str, Any]:
    if section.one == "analysis":
        item: dict[str, Any] = {"type": "object", "properties": {"verb": {"enum": list(VERBS)}}, "required": ["verb"]}
    else:
        item = _object(section.keys, section.required, section.kinds)
    if section.short is not None:
        item = {"anyOf": [_typed(section.short[1], ""), item]}
    return {"type": "object", "description": section.text, "additionalProperties": item}


def json_schema() -> dict[str, Any]:
    """The schema as data.

    >>> json_schema()["properties"]["version"]
    {'const': 1, 'description': 'version of the format: 1'}
    """
    properties: dict[str, Any] = {name: _typed(*entry) for name, entry in TOP.items()}
    properties["format"] = {"const": FORMAT, "description": TOP["format"][1]}
    properties["version"] = {"const": VERSION, "description": TOP["version"][1]}
    properties |= {name: _section(section) for name, section in SECTIONS.items()}
    placement = {"position": ("vector", "position in m"), "rotation": ("rotation", "rotation")}
    rotation = {"anyOf": [
        _TURN, _array(_TURN, 1), _MATRIX,
        *({"type": "object", "properties": {k: t}, "required": [k], "additionalProperties": False}
          for k, t in (("rpy", _exactly(_VALUE, 3)), ("quaternion", _exactly(_VALUE, 4)), ("matrix", _MATRIX))),
    ]}  # fmt: skip
    frame = _object({"body": ("text", "body"), "frame": ("text", "named frame on it"), **placement}, ("body",))
    mass = {k: BODY[k] for k in ("mass", "com", "inertia", "about", "axes")}
    mimic = {"joint": ("text", "joint followed"), "ratio": ("value", "factor"), "offset": ("value", "offset")}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Jourdain model file",
        "type": "object",
        "required": ["format", "version"],
        "properties": properties,
        "additionalProperties": False,
        "$defs": {
            "rotation": rotation,
            "frame": {"anyOf": [{"type": "string"}, frame]},
            "placement": _object(placement),
            "mass": _object(mass),
            "ground": _object(GROUND),
            "flexible": _object(structure_tables.FLEXIBLE, ("structure",)),
            "interface": _object(structure_tables.INTERFACE, ("nodes",)),
            "gauge": _object(structure_tables.GAUGE, ("at",)),
            "slider": _object(structure_tables.SLIDER, ("name", "point", "at")),
            "patch": _object(structure_tables.PATCH, ("span",)),
            "mimic": _object(mimic, ("joint",)),
            "include": _object(INCLUDE, ("file", "prefix")),
            "shape": _object({"kind": ("text", "kind of shape"), **SHAPE_KEYS}, ("kind",), SHAPES, SHAPE_COMMON),
        },
    }


def schema_text() -> str:
    """The schema as the published file has it."""
    return json.dumps(json_schema(), indent=1, ensure_ascii=False) + "\n"


__all__ = ["SCHEMA_FILE", "json_schema", "schema_text"]
