"""The types of values in a model file: a test for each, and what an error says is needed."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any


def is_number(value: Any) -> bool:
    """A finite number; whole ones must fit a float."""
    return type(value) in (int, float) and abs(value) < 1.7e308


def _is_value(value: Any) -> bool:
    return isinstance(value, str) or is_number(value)


def _is_values(value: Any, *lengths: int) -> bool:
    return isinstance(value, list) and len(value) in lengths and all(map(_is_value, value))


def _is_axis(value: Any) -> bool:
    return isinstance(value, str) or _is_values(value, 3)


def _is_turn(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and _is_axis(value[0]) and _is_value(value[1])


def _is_matrix(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 3 and all(_is_values(row, 3) for row in value)


def _is_rotation(value: Any) -> bool:
    if isinstance(value, dict):
        return (set(value) == {"rpy"} and _is_values(value["rpy"], 3)) or (set(value) == {"quaternion"} and _is_values(value["quaternion"], 4)) or (
            set(value) == {"matrix"} and _is_matrix(value["matrix"])
        )  # fmt: skip
    return _is_turn(value) or _is_matrix(value) or (isinstance(value, list) and len(value) > 0 and all(map(_is_turn, value)))


def _is_limit(value: Any) -> bool:
    return isinstance(value, str) or is_number(value) or (isinstance(value, float) and math.isinf(value))


def _is_numbers(value: Any) -> bool:
    return isinstance(value, list) and all(map(is_number, value))


def _is_nested(value: Any, depth: int = 6) -> bool:
    if isinstance(value, list):
        return depth > 0 and all(_is_nested(entry, depth - 1) for entry in value)
    return is_number(value)


def _is_point_of_part(value: Any) -> bool:
    """A node by name, number or position."""
    return (
        isinstance(value, str) or type(value) is int or (_is_numbers(value) and len(value) == 3 and not all(type(e) is int for e in value))
    )


def _is_section(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    if "circle" in value:
        return set(value) <= {"circle", "inner"} and all(map(_is_value, value.values()))
    if "rectangle" in value:
        return set(value) == {"rectangle"} and _is_values(value["rectangle"], 2)
    if "taper" in value:
        ends = value["taper"]
        return (
            set(value) == {"taper"} and isinstance(ends, list) and len(ends) == 2 and all(_is_section(e) and "taper" not in e for e in ends)
        )
    return {"area", "Iy", "Iz", "torsion"} <= set(value) <= SECTION_KEYS and all(
        isinstance(v, bool) if k == "round" else _is_value(v) for k, v in value.items()
    )


def _is_material(value: Any) -> bool:
    return isinstance(value, str) or (
        isinstance(value, dict) and set(value) == {"E", "nu", "density"} and all(map(_is_value, value.values()))
    )


def _is_material_word(value: Any) -> bool:
    return _is_material(value) and value != ""


def _is_damping(value: Any) -> bool:
    return (
        is_number(value)
        or _is_numbers(value)
        or (isinstance(value, dict) and set(value) <= {"mass", "stiffness"} and all(map(is_number, value.values())))
    )


#: Numbers of a cross section.
SECTION_KEYS = {"area", "Iy", "Iz", "torsion", "shear_y", "shear_z", "half_y", "half_z", "torsion_radius", "round"}
_ROTATION = '["z", angle], a list of such pairs, a 3×3 matrix, {rpy = […]} or {quaternion = […]}'


def _is_variables(v: Any) -> bool:
    if isinstance(v, dict):
        return all(isinstance(e, list) and len(e) == 2 and all(map(_is_limit, e)) for e in v.values())
    return isinstance(v, list) and len(v) > 0 and all(isinstance(e, str) for e in v)


SIMPLE: dict[str, tuple[Callable[[Any], bool], str]] = {
    "text": (lambda v: isinstance(v, str) and v != "", "a text"),
    "file": (lambda v: isinstance(v, str) and v != "", "the name of a file"),
    "texts": (lambda v: isinstance(v, list) and all(isinstance(e, str) for e in v), "a list of texts"),
    "bool": (lambda v: isinstance(v, bool), "true or false"),
    "integer": (lambda v: type(v) is int and abs(v) < 2**31, "a whole number"),
    "quantity": (_is_value, 'a number or a text with a unit such as "5 mm"'),
    "value": (_is_value, 'a number, a text with a unit such as "5 mm" or an expression'),
    "vector": (lambda v: _is_values(v, 3), "a list of three values"),
    "value6": (lambda v: _is_value(v) or _is_values(v, 6), "a value, or six of a bushing"),
    "force": (lambda v: _is_value(v) or _is_values(v, 3), "an expression, or three components"),
    "axis": (_is_axis, "x, y, z, -x, … or three components"),
    "axes": (lambda v: isinstance(v, list) and len(v) == 2 and all(map(_is_axis, v)), "a list of two axes"),
    "rotation": (_is_rotation, _ROTATION),
    "about": (lambda v: v in ("com", "origin"), '"com" or "origin"'),
    "inertia": (lambda v: _is_values(v, 3, 6) or _is_matrix(v), "three or six values or a 3×3 matrix"),
    "limits": (lambda v: isinstance(v, list) and len(v) == 2 and all(map(_is_limit, v)), "a pair [lower, upper], -inf or inf for none"),
    "numbers": (_is_numbers, "a list of numbers"),
    "variables": (_is_variables, 'a list of names, or names with bounds such as {c = [10, "5 kN s/m"]}'),
    "bounds": (lambda v: isinstance(v, dict) and all(isinstance(e, str) for e in v.values()), 'a table such as {stroke = "<= 120 mm"}'),
    "amounts": (lambda v: _is_value(v) or (isinstance(v, list) and all(map(_is_value, v))), "a value, or a list of values"),
    "order": (lambda v: v == "exact" or (type(v) is int and v in (1, 2)), '1, 2 or "exact"'),
    "rows": (lambda v: isinstance(v, list) and all(map(_is_numbers, v)), "a list of rows of numbers"),
    "nested": (_is_nested, "nested lists of numbers"),
    "section": (
        lambda v: _is_section(v) or (isinstance(v, list) and len(v) > 0 and all(map(_is_section, v))),
        "{circle = …}, {rectangle = [width, height]}, {area = …, Iy = …, Iz = …, torsion = …} or {taper = [section, section]}",
    ),
    "material": (_is_material, '"steel", "aluminium" or {E = …, nu = …, density = …}'),
    "materials": (
        lambda v: _is_material_word(v) or (isinstance(v, list) and len(v) == 2 and all(map(_is_material_word, v))),
        "the name of a material, {E = …, nu = …, density = …}, or a pair of such",
    ),
    "damping": (_is_damping, "a number, a list of numbers or {mass = …, stiffness = …}"),
    "points_of_part": (
        lambda v: _is_point_of_part(v) or (isinstance(v, list) and all(map(_is_point_of_part, v))),
        "a node by name, number or position, or a list of such",
    ),
    "points2": (lambda v: isinstance(v, list) and all(_is_values(row, 2) for row in v), "a list of pairs"),
}  # fmt: skip


def shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"


__all__ = ["SIMPLE", "is_number", "shown"]
