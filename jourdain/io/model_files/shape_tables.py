"""Shapes as tables of a model file, and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import InputError
from ...model import shapes
from ...model.shapes import Difference, Mesh, Placement, Shape, Union
from ...model.shapes.mass import IDENTITY, ORIGIN, is_number
from ...symbolic.expr import Expr

#: Largest mesh file, in bytes.
MAX_MESH = 200_000_000

_CLASSES: dict[str, Any] = {
    c.kind: c
    for c in (
        shapes.Box, shapes.Cylinder, shapes.Tube, shapes.Sphere, shapes.Capsule, shapes.Cone, shapes.Torus, shapes.Prism, shapes.Revolved,
        shapes.Ellipsoid, shapes.Plane,
    )
}  # fmt: skip

#: What was given, what it is, and a unit of its dimension → a value.
Reader = Callable[[Any, str, str], Any]
#: Units of dimensions that are no lengths.
UNITS = {"angle": "rad", "density": "kg/m^3", "scale": "1"}


def shape_of(table: Mapping[str, Any], read: Reader, rotation: Callable[[Any], Any], file: Callable[[str], Path]) -> Shape:
    """The shape a table describes; ``read`` gives values, ``rotation`` matrices, ``file`` the path of a mesh."""
    kind = table["kind"]
    shape: Shape
    if kind == "union":
        shape = shapes.union(*(shape_of(part, read, rotation, file) for part in table["parts"]))
    elif kind == "difference":
        shape = shapes.difference(*(shape_of(table[k], read, rotation, file) for k in ("base", "tool")))
    elif kind == "mesh":
        shape = _mesh_of(table, read, file)
    else:
        keys = {f.name for f in fields(_CLASSES[kind])} - {"placement", "density", "colour"}
        shape = _CLASSES[kind](**{k: _entry(table[k], k, read) for k in keys if k in table})
    if "density" in table:
        shape = shape.with_density(read(table["density"], "density", UNITS["density"]))
    if "colour" in table:
        shape = shape.coloured(table["colour"])
    position = tuple(read(e, "position", "m") for e in table.get("position", ORIGIN))
    matrix = rotation(table["rotation"]) if "rotation" in table else IDENTITY
    if position == ORIGIN and matrix is IDENTITY:
        return shape
    return replace(shape, placement=Placement(position, matrix) @ shape.placement)  # type: ignore[arg-type]


def _entry(given: Any, key: str, read: Reader) -> Any:
    if key in ("axis", "anchor"):
        return given
    if isinstance(given, list):
        return tuple(tuple(read(e, key, "m") for e in row) for row in given)
    return read(given, key, UNITS.get(key, "m"))


def _mesh_of(table: Mapping[str, Any], read: Reader, file: Callable[[str], Path]) -> Mesh:
    scale = read(table.get("scale", 1.0), "scale", UNITS["scale"])
    options = {k: table[k] for k in ("repair", "display_only") if k in table}
    if "file" in table:
        path = file(table["file"])
        if path.stat().st_size > MAX_MESH:
            raise InputError(f"mesh '{table['file']}' has {path.stat().st_size} bytes, more than {MAX_MESH}")
        found = shapes.mesh(path, scale=scale, **options)
    elif "vertices" in table and "faces" in table:
        found = shapes.mesh((table["vertices"], table["faces"]), scale=scale, **options)
    else:
        raise InputError("a mesh needs its file, or vertices and faces")
    return replace(found, note=table["note"]) if "note" in table else found


def table_of(shape: Shape, write: Callable[[Any], Any], folder: Path | None) -> dict[str, Any]:
    """The table of a shape; ``write`` spells values, meshes inside ``folder`` are named by their file."""
    table: dict[str, Any] = {"kind": shape.kind}
    if isinstance(shape, Union):
        table["parts"] = [table_of(part, write, folder) for part in shape.parts]
    elif isinstance(shape, Difference):
        table |= {"base": table_of(shape.base, write, folder), "tool": table_of(shape.tool, write, folder)}
    elif isinstance(shape, Mesh):
        table |= _mesh_table(shape, write, folder)
    elif shape.kind in _CLASSES:
        for f in fields(shape):
            given = getattr(shape, f.name)
            if f.name not in ("placement", "density", "colour") and (f.name not in ("axis", "anchor") or given != f.default):
                table[f.name] = _written(given, write)
    else:
        raise InputError(f"a shape of kind '{shape.kind}' cannot be written to a file")
    if not isinstance(shape, (Union, Difference)):
        if shape.density is not None:  # type: ignore[attr-defined]
            table["density"] = write(shape.density)  # type: ignore[attr-defined]
        if shape.colour is not None:  # type: ignore[attr-defined]
            table["colour"] = shape.colour  # type: ignore[attr-defined]
    if any(not (is_number(e) and e == 0.0) for e in shape.placement.position):
        table["position"] = [write(e) for e in shape.placement.position]
    if not _is_identity(shape.placement.rotation):
        table["rotation"] = [[write(e) for e in row] for row in shape.placement.rotation]
    return table


def _is_identity(matrix: Any) -> bool:
    return all(is_number(e) and e == (i == j) for i, row in enumerate(matrix) for j, e in enumerate(row))


def _written(given: Any, write: Callable[[Any], Any]) -> Any:
    if isinstance(given, str):
        return given
    if isinstance(given, tuple):
        return [[write(e) for e in row] for row in given]
    return write(given)


def _mesh_table(shape: Mesh, write: Callable[[Any], Any], folder: Path | None) -> dict[str, Any]:
    table: dict[str, Any] = {}
    name = _inside(shape.source, folder)
    if name is not None and folder is not None and _same_mesh(folder / name, shape):
        table["file"] = name
    else:
        table |= {"vertices": shape.vertices.tolist(), "faces": shape.faces.tolist()}
    if isinstance(shape.scale, Expr) or shape.scale != 1.0:
        table["scale"] = write(shape.scale)
    if shape.unscaled is None:
        table["display_only"] = True
    if shape.note:
        table["note"] = shape.note
    return table


def _inside(source: str | None, folder: Path | None) -> str | None:
    if source is None or folder is None:
        return None
    try:
        return Path(source).resolve().relative_to(folder.resolve()).as_posix()
    except (ValueError, OSError):
        return None


def _same_mesh(path: Path, shape: Mesh) -> bool:
    """Whether reading the file anew gives the same surface."""
    try:
        found = shapes.mesh(path, display_only=True)
    except (InputError, OSError):
        return False
    return np.array_equal(found.vertices, shape.vertices) and np.array_equal(found.faces, shape.faces)


__all__ = ["shape_of", "table_of"]
