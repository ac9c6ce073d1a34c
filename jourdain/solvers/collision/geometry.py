"""From shapes of models to the shapes that contacts are found for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

import numpy as np

from ...errors import InputError
from ...model.shapes.base import Shape
from ...model.shapes.booleans import Difference, has_plane_faces
from ...model.shapes.meshes import MissingPackageError, polyhedron_properties
from ...model.shapes.tessellation import extrude
from .hulls import Convex, convex_hull
from .records import BOX, CAPSULE, CONE, CYLINDER, ELLIPSOID, MESH, PLANE, POLYHEDRON, SPHERE, TORUS
from .surfaces import Surface, height_field, surface

_ORIGIN, _IDENTITY = np.zeros(3), np.eye(3)
_NOT_KNOWN = (
    "{}: contacts of this shape are not known; give the body a shape for contacts that has no holes, "
    "or jd.mesh(shape.tessellate(48)), whose flat triangles stand for the surface"
)


@dataclass(frozen=True)
class Piece:
    """One shape: kind, sizes (halves of lengths), its pose, the radius around its core, a radius that encloses it, corners and faces."""

    kind: int
    sizes: tuple[float, float, float]
    size: float
    rounding: float = 0.0
    hull: Convex | Surface | None = None
    position: np.ndarray = field(default_factory=lambda: _ORIGIN)
    rotation: np.ndarray = field(default_factory=lambda: _IDENTITY)

    def placed(self, position: Any, rotation: Any) -> Piece:
        """The piece in a frame around its own."""
        R, p = np.asarray(rotation, float), np.asarray(position, float)
        return Piece(self.kind, self.sizes, self.size, self.rounding, self.hull, p + R @ self.position, R @ self.rotation)


def pieces(number: int, shape: Any) -> list[Piece]:
    """What a shape of a model, or a pair (kind, sizes), is made of."""
    if isinstance(shape, Shape):
        _check_holes(shape)
        return list(_drawn(shape.primitive()))
    try:
        kind, sizes = shape
    except (TypeError, ValueError):
        raise InputError(f"shape {number}: {shape!r} is neither a shape such as jd.box(…) nor a pair (kind, sizes)") from None
    if kind not in _MAKERS:
        raise InputError(f"shape {number}: contacts are not found for the kind {kind!r}; choose one of {', '.join(_MAKERS)}")
    try:
        made: Piece = _MAKERS[kind](*sizes)
    except TypeError:
        raise InputError(f"shape {number}: sizes {sizes} do not fit a {kind}; it takes {_MAKERS[kind].__doc__}") from None
    if not all(np.isfinite(made.sizes)) or min(made.sizes) < 0.0 or (kind != "plane" and not made.size > 0.0):
        raise InputError(f"shape {number}: a {kind} has positive sizes ({_MAKERS[kind].__doc__}), not {sizes}")
    return [made]


def _check_holes(shape: Shape) -> None:
    """Raises where something is cut out that has curved faces, since only its triangles are known, or where its triangles cannot be had."""
    for part in getattr(shape, "parts", ()):
        _check_holes(part)
    if isinstance(shape, Difference):
        if not has_plane_faces(shape):
            raise InputError(_NOT_KNOWN.format(shape.kind))
        if find_spec("manifold3d") is None:  # drawings leave the faces of base and tool over the hole then
            raise MissingPackageError("manifold3d", "finding contacts of a shape with a hole")


def _drawn(drawing: dict[str, Any]) -> Iterator[Piece]:
    """Pieces of a drawing of a shape, with their poses."""
    kind, pose = drawing["kind"], (drawing["position"], drawing["rotation"])
    if kind == "group":
        for part in drawing["parts"]:
            for piece in _drawn(part):
                yield piece.placed(*pose)
        return
    names = _DIMENSIONS.get(kind)
    if names is None:
        raise InputError(_NOT_KNOWN.format(kind))
    sizes = [drawing[name] for name in names]
    yield _MAKERS[kind](*(sizes[0] if kind == "box" else sizes)).placed(*pose)


def _plane() -> Piece:
    """nothing"""
    return Piece(PLANE, (0.0, 0.0, 0.0), 0.0)


def _sphere(radius: float) -> Piece:
    """a radius"""
    return Piece(SPHERE, (radius, 0.0, 0.0), radius, radius)


def _capsule(radius: float, length: float) -> Piece:
    """a radius and the length of the cylinder"""
    return Piece(CAPSULE, (radius, length / 2, 0.0), length / 2 + radius, radius)


def _box(lx: float, ly: float, lz: float) -> Piece:
    """three lengths"""
    half = (lx / 2, ly / 2, lz / 2)
    return Piece(BOX, half, float(np.linalg.norm(half)))


def _cylinder(radius: float, length: float) -> Piece:
    """a radius and a length"""
    return Piece(CYLINDER, (radius, length / 2, 0.0), float(np.hypot(radius, length / 2)))


def _cone(r1: float, r2: float, length: float) -> Piece:
    """the radii of both ends and a length"""
    return Piece(CONE, (r1, r2, length / 2), float(np.hypot(max(r1, r2), length / 2)))


def _ellipsoid(a: float, b: float, c: float) -> Piece:
    """three semi-axes"""
    return Piece(ELLIPSOID, (a, b, c), max(a, b, c))


def _torus(ring_radius: float, tube_radius: float) -> Piece:
    """the radius of the centre line and that of the tube"""
    return Piece(TORUS, (ring_radius, tube_radius, 0.0), ring_radius + tube_radius, tube_radius)


def _polyhedron(vertices: Any) -> Piece:
    """the corners (n, 3) of its convex hull"""
    return _hull_of(np.asarray(vertices, float).reshape(-1, 3).tobytes())


@lru_cache(maxsize=256)
def _hull_of(data: bytes) -> Piece:
    """The piece of a polyhedron, once for all that have the same corners."""
    points = np.frombuffer(data).reshape(-1, 3)
    centre = (points.min(axis=0) + points.max(axis=0)) / 2
    hull = convex_hull(points - centre)
    return Piece(POLYHEDRON, *_extent(hull.vertices), hull=hull, position=centre)


def _extent(vertices: np.ndarray) -> tuple[tuple[float, float, float], float]:
    """Half the lengths of the box around the origin that holds vertices, and the radius of the sphere."""
    x, y, z = np.abs(vertices).max(axis=0).tolist()
    return (x, y, z), float(np.linalg.norm(vertices, axis=1).max())


def _mesh(vertices: Any, faces: Any) -> Piece:
    """corners (n, 3) and triangles (m, 3), counter-clockwise from outside"""
    points, triangles = np.asarray(vertices, float).reshape(-1, 3), np.asarray(faces, np.int64).reshape(-1, 3)
    if not len(triangles) or triangles.min() < 0 or triangles.max() >= len(points) or not np.isfinite(points).all():
        raise InputError(f"mesh: {len(triangles)} triangles with corners among {len(points)} points; give at least one, and finite points")
    return _surface_of(points.tobytes(), triangles.tobytes())


@lru_cache(maxsize=64)
def _surface_of(corners: bytes, faces: bytes) -> Piece:
    """The piece of a mesh, likewise."""
    points, triangles = np.frombuffer(corners).reshape(-1, 3), np.frombuffer(faces, np.int64).reshape(-1, 3)
    if _is_convex(points, triangles):
        return _polyhedron(points[np.unique(triangles)])
    centre = (points.min(axis=0) + points.max(axis=0)) / 2
    found = surface(points - centre, triangles)
    return Piece(MESH, *_extent(found.vertices), hull=found, position=centre)


def _is_convex(points: np.ndarray, triangles: np.ndarray) -> bool:
    """Whether a surface encloses as much as its convex hull."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        whole = float(ConvexHull(points[np.unique(triangles)]).volume)
    except QhullError:
        return False
    return abs(float(polyhedron_properties(points, triangles).mass) - whole) < 1e-9 * whole


def _height_field(heights: Any, lx: float, ly: float) -> Piece:
    """heights (nx, ny) and the lengths along x and y that they cover"""
    return _mesh(*height_field(heights, lx, ly))


def _prism(polygon: Any, length: float) -> Piece:
    """a polygon (n, 2) and a length"""
    return _mesh(*extrude(np.asarray(polygon, float), length))


_MAKERS: dict[str, Any] = {
    "plane": _plane,
    "sphere": _sphere,
    "capsule": _capsule,
    "box": _box,
    "cylinder": _cylinder,
    "cone": _cone,
    "ellipsoid": _ellipsoid,
    "torus": _torus,
    "polyhedron": _polyhedron,
    "mesh": _mesh,
    "height field": _height_field,
    "prism": _prism,
}
#: Names of sizes in the drawing of a shape.
_DIMENSIONS: dict[str, tuple[str, ...]] = {
    "plane": (),
    "sphere": ("radius",),
    "capsule": ("radius", "length"),
    "box": ("size",),
    "cylinder": ("radius", "length"),
    "cone": ("r1", "r2", "length"),
    "ellipsoid": ("a", "b", "c"),
    "torus": ("ring_radius", "tube_radius"),
    "mesh": ("vertices", "faces"),
    "prism": ("polygon", "length"),
}
