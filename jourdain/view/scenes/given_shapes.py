"""Shapes that a model gives its bodies, as shapes of a scene."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ...model.bodies import drawable
from ...model.shapes import ellipsoid
from ..rotation import matrix_from_quaternion
from ..shape import SEGMENTS, Shape

if TYPE_CHECKING:
    from ...model.bodies import Body
    from .default_shapes import Numbers

_DIMENSIONS = {"ring_radius": "major", "tube_radius": "minor"}


def given_shapes(body: Body, number: Numbers) -> list[Shape]:
    """The shapes that are drawn for a body."""
    shapes: list[Shape] = []
    for solid in body.shapes:
        shapes += drawn(drawable(body, solid).numeric(number).primitive())
    return shapes


def drawn(drawing: dict[str, Any]) -> list[Shape]:
    """A primitive of the model room as shapes of the scene (groups opened, names of dimensions translated)."""
    data = dict(drawing)
    p, R = np.asarray(data.pop("position", (0, 0, 0)), float), np.asarray(data.pop("rotation", np.eye(3)), float)
    colour = data.pop("colour", None)
    if data["kind"] == "group":
        found = []
        for part in data["parts"]:
            for shape in drawn(part):
                place = {"p": p + R @ np.asarray(shape.position), "R": R @ matrix_from_quaternion(shape.quaternion)}
                found.append(Shape.from_dict({**_as_dict(shape), **place}))
        return found
    if "painted" in data:
        return [shape for part in _by_colour(drawing) for shape in drawn(part)]
    if data["kind"] == "ellipsoid":
        vertices, faces = ellipsoid(data.pop("a"), data.pop("b"), data.pop("c")).tessellate(SEGMENTS)
        data |= {"kind": "mesh", "vertices": vertices, "faces": faces}
    elif data["kind"] == "plane":  # a thin slab below it
        width = data.pop("extent")
        data |= {"kind": "box", "size": (width, width, 0.004 * width)}
        p = p - 0.002 * width * R[:, 2]
    if data["kind"] == "box":
        data["lx"], data["ly"], data["lz"] = data.pop("size")
    renamed = {_DIMENSIONS.get(k, k): v for k, v in data.items()}
    return [Shape.from_dict({**renamed, "p": p, "R": R, **({"colour": colour} if colour else {})})]


def _by_colour(drawing: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A mesh of several colours as one for each."""
    plain = {k: v for k, v in drawing.items() if k != "painted"}
    vertices, faces = np.asarray(drawing["vertices"]), np.asarray(drawing["faces"])
    ends = np.cumsum([count for _, count in drawing["painted"]])
    for (colour, _), part in zip(drawing["painted"], np.split(faces, ends[:-1]), strict=True):
        used, compact = np.unique(part, return_inverse=True)
        yield {**plain, "vertices": vertices[used], "faces": compact.reshape(-1, 3), "colour": colour}


def _as_dict(shape: Shape) -> dict[str, Any]:
    return {"kind": shape.kind, **shape.sizes, **({"colour": shape.colour} if shape.colour else {})}


__all__ = ["drawn", "given_shapes"]
