"""Boolean combinations: exact sums and cut-outs of parts, and general ones by way of triangulations."""

from __future__ import annotations

import itertools
import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, ClassVar, Self

import numpy as np

from ...errors import InputError, ModelError
from .base import Shape, Triangulation, drawn_pose, plain
from .mass import MassProperties, Placement, Scalar
from .meshes import Mesh, MissingPackageError, checked_properties, polyhedron_properties
from .profiles import Prism
from .solids import Box

SAMPLES = 4096


class ApproximateShapeWarning(UserWarning):
    """Mass properties come from a triangulated curved surface and are not exact."""


@dataclass(frozen=True)
class Compound(Shape):
    """A shape made of others."""

    def numeric(self, evaluate: Callable[[Any], float] = float) -> Self:
        """Return the compound with numbers in place of symbols; how its parts lie to each other is checked then."""
        result = super().numeric(evaluate)
        if not self.is_numeric:
            result._check()
        return result

    @abstractmethod
    def _check(self) -> None:
        """Raise where numeric parts do not lie as the exact formulas suppose."""


@dataclass(frozen=True)
class Union(Compound):
    """Parts side by side, each with its own density; volumes, masses and moments add."""

    kind: ClassVar[str] = "union"

    parts: tuple[Shape, ...]

    @property
    def uniform_density(self) -> Scalar | None:
        densities = [part.uniform_density for part in self.parts]
        if all(density is densities[0] or density == densities[0] for density in densities):
            return densities[0]
        raise ModelError(
            f"union of {_names(self.parts)}: its parts differ in density ({', '.join(map(str, densities))}); "
            "cut from the part concerned before uniting, or call .with_density(rho) first"
        )

    @property
    def exact(self) -> bool:
        return all(part.exact for part in self.parts)

    def _own_volume(self) -> MassProperties:
        return reduce(MassProperties.__add__, (part.volume_properties() for part in self.parts))

    def _own_mass(self) -> MassProperties:
        return reduce(MassProperties.__add__, (part.mass_properties() for part in self.parts))

    def _own_triangulation(self, n: int) -> Triangulation:
        return _joined([part.tessellate(n) for part in self.parts])

    def _own_contains(self, points: np.ndarray) -> np.ndarray:
        return np.logical_or.reduce([part.contains(points) for part in self.parts])

    def _drawing(self) -> dict[str, Any]:
        parts = [part.primitive() for part in self.parts]
        return {"kind": "group", "parts": parts, **drawn_pose(self.placement), "colour": None}

    def coloured(self, colour: str) -> Self:
        """Return the union with all its parts painted in a colour given as "#rrggbb"."""
        return replace(self, parts=tuple(part.coloured(colour) for part in self.parts))

    def with_density(self, density: Scalar) -> Self:
        """Return the union with all its parts made of a material of the density given in kg/m³."""
        return replace(self, parts=tuple(part.with_density(density) for part in self.parts))

    def _check(self) -> None:
        for a, b in itertools.combinations([part for part in self.parts if part.is_numeric], 2):
            point = _common_point(a, b)
            if point is not None:
                raise ModelError(
                    f"union of {a.kind} and {b.kind}: they overlap, e.g. at {_text(point)}, and the overlap would be "
                    "counted twice; give union(a, b, overlap=shape), or use union(a, b, by='mesh')"
                )


@dataclass(frozen=True)
class Difference(Compound):
    """A base with a tool, which lies inside it, cut out; volumes and moments subtract."""

    kind: ClassVar[str] = "difference"

    base: Shape
    tool: Shape

    @property
    def uniform_density(self) -> Scalar | None:
        return self.base.uniform_density

    @property
    def exact(self) -> bool:
        return self.base.exact and self.tool.exact

    def _own_volume(self) -> MassProperties:
        return self.base.volume_properties() - self.tool.volume_properties()

    def _own_mass(self) -> MassProperties:
        whole = self.base.mass_properties()
        return whole - self.tool.volume_properties().times(self.base.uniform_density)

    def _own_triangulation(self, n: int) -> Triangulation:
        """Return the cut surface where manifold3d is there, else the base's and the tool's turned inside out."""
        try:
            return _triangles(_manifold(replace(self, placement=Placement()), n))
        except MissingPackageError:
            vertices, faces = self.tool.tessellate(n)
            return _joined([self.base.tessellate(n), (vertices, faces[:, ::-1])])

    def _own_contains(self, points: np.ndarray) -> np.ndarray:
        return self.base.contains(points) & ~self.tool.contains(points)

    def _drawing(self) -> dict[str, Any]:
        vertices, faces = self._own_triangulation(48)
        colour = next((solid.get("colour") for solid in _leaves(self.base.primitive())), None)
        drawn = {"kind": "mesh", "vertices": plain(vertices), "faces": faces.tolist()}
        return {**drawn, **drawn_pose(self.placement), "colour": colour}

    def coloured(self, colour: str) -> Self:
        """Return the shape painted in a colour given as "#rrggbb"."""
        return replace(self, base=self.base.coloured(colour))

    def with_density(self, density: Scalar) -> Self:
        """Return the shape made of a material of the density given in kg/m³."""
        return replace(self, base=self.base.with_density(density))

    def _check(self) -> None:
        if not self.is_numeric:
            return
        outside = _point_outside(self.tool, self.base)
        if outside is not None:
            raise ModelError(
                f"difference: the {self.tool.kind} is not inside the {self.base.kind}, e.g. at {_text(outside)}, so "
                "more would be subtracted than is there; shorten or move it (flush faces are fine), or use "
                "difference(a, b, by='mesh')"
            )
        if self.volume <= 1e-14 * self.base.volume:
            raise ModelError(f"difference: nothing is left of the {self.base.kind}; make the {self.tool.kind} smaller")


def union(*parts: Shape, overlap: Shape | None = None, by: str = "parts", n: int = 96) -> Union | Mesh:
    """Return several shapes as one.

    by="parts" (exact, symbolic, any densities): the parts may touch but not overlap; numeric parts are checked by
    sampling. Two parts that do overlap may be united exactly when their common shape is given as `overlap`: it is
    then left to the first part. by="mesh": any position, through triangulations with n segments around a circle
    (package manifold3d); one density; inexact for curved parts, about which a warning and `shape.exact` tell.

    >>> from jourdain.model.shapes import box
    >>> angle = union(box(0.1, 0.01, 0.02, 1000.0), box(0.01, 0.05, 0.02, 1000.0).at(0.0, 0.03, 0.0))
    >>> round(angle.mass, 12)
    0.03
    """
    _check_operands("union", parts, by)
    if by == "mesh":
        if overlap is not None:
            raise InputError("union: overlap is only used with by='parts'; leave it out for by='mesh'")
        return _by_mesh("union", parts, n)
    if overlap is not None:
        if len(parts) != 2:
            raise InputError(f"union: overlap is for two parts, {len(parts)} are given; unite them step by step")
        _check_operands("union", (*parts, overlap), by)
        difference(parts[0], overlap)
        parts = (parts[0], difference(parts[1], overlap))
    result = Union(parts)
    result._check()
    return result


def difference(base: Shape, tool: Shape, *, by: str = "parts", n: int = 96) -> Difference | Mesh:
    """Return the base with the tool cut out of it.

    by="parts" (exact, symbolic): the tool must lie inside the base, flush faces included; numeric shapes are checked
    by sampling. The tool's density does not matter. by="mesh": any position, see `union`.

    >>> from jourdain.model.shapes import box, cylinder
    >>> drilled = difference(box(0.1, 0.1, 0.02, 7850.0), cylinder(0.02, 0.02))
    >>> round(drilled.mass, 6)
    1.372708
    """
    _check_operands("difference", (base, tool), by)
    if by == "mesh":
        return _by_mesh("difference", (base, tool), n)
    result = Difference(base, tool)
    result._check()
    return result


def intersection(*parts: Shape, n: int = 96) -> Mesh:
    """Return what several shapes have in common, through triangulations (package manifold3d), see `union`.

    It has the density of the first part; it is exact where all parts have plane faces only.
    """
    _check_operands("intersection", parts, "mesh")
    return _by_mesh("intersection", parts, n)


def _check_operands(operation: str, parts: tuple[Shape, ...], by: str) -> None:
    if by not in ("parts", "mesh"):
        raise InputError(f"{operation}: by = {by!r} is not known; use 'parts' or 'mesh'")
    if len(parts) < 2:
        raise InputError(f"{operation}: {len(parts)} shape given; give at least two")
    for part in parts:
        if not isinstance(part, Shape):
            raise InputError(f"{operation}: {part!r} is not a shape; make one with box(...), cylinder(...), mesh(...)")


def _names(parts: tuple[Shape, ...]) -> str:
    return ", ".join(part.kind for part in parts[:-1]) + " and " + parts[-1].kind


def _text(point: np.ndarray) -> str:
    return "(" + ", ".join(f"{c:.4g}" for c in point) + ")"


def _joined(pieces: list[Triangulation]) -> Triangulation:
    starts = np.cumsum([0] + [len(vertices) for vertices, _ in pieces[:-1]])
    faces = [faces + start for (_, faces), start in zip(pieces, starts, strict=True)]
    return np.concatenate([vertices for vertices, _ in pieces]), np.concatenate(faces)


def _leaves(drawing: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for part in drawing.get("parts", ()):
        yield from _leaves(part)
    if "parts" not in drawing:
        yield drawing


# ---- how shapes lie to each other, by sampling --------------------------------------------------------------------


def _samples(shape: Shape, cost: int) -> np.ndarray:
    """Return points of a shape: spread evenly through it and just below its surface."""
    vertices, faces = shape.tessellate(32)
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    # additive recurrence with powers of the root of x⁴ = x + 1: evenly spread and the same every time
    step = 1.2207440846057596 ** -np.arange(1.0, 4.0)
    through = low + (high - low) * ((0.5 + np.arange(1, SAMPLES + 1)[:, None] * step) % 1.0)
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    normals = np.cross(b - a, c - a)
    corner_normals = np.zeros_like(vertices)
    for k in range(3):
        np.add.at(corner_normals, faces[:, k], normals)
    depth = 1e-6 * float((high - low).max())
    below = np.concatenate([_inset((a + b + c) / 3, normals, depth), _inset(vertices, corner_normals, depth)])
    points = np.concatenate([_thinned(through, cost), _thinned(below, cost)])
    inside: np.ndarray = points[shape.contains(points)]
    return inside


def _inset(points: np.ndarray, normals: np.ndarray, depth: float) -> np.ndarray:
    length = np.linalg.norm(normals, axis=1, keepdims=True)
    return points - depth * normals / np.where(length > 0, length, 1.0)


def _thinned(points: np.ndarray, cost: int) -> np.ndarray:
    limit = max(32, 2_000_000 // max(cost, 1))
    return points[:: -(-len(points) // limit)]


def _cost(shape: Shape) -> int:
    """Return the number of mesh faces in a shape, which the time of `contains` grows with."""
    if isinstance(shape, Mesh):
        return len(shape.faces)
    if isinstance(shape, Union):
        return sum(_cost(part) for part in shape.parts)
    if isinstance(shape, Difference):
        return _cost(shape.base) + _cost(shape.tool)
    return 0


def _common_point(a: Shape, b: Shape) -> np.ndarray | None:
    boxes = [(v.min(axis=0), v.max(axis=0)) for v in (shape.tessellate(32)[0] for shape in (a, b))]
    (low_a, high_a), (low_b, high_b) = boxes
    # the triangulation is inscribed: its box may be smaller than the shape's by 1 − cos(π/32) of a radius
    slack = 0.005 * max(float((high_a - low_a).max()), float((high_b - low_b).max()))
    if (low_a > high_b + slack).any() or (low_b > high_a + slack).any():
        return None
    cost = _cost(a) + _cost(b)
    for one, other in ((a, b), (b, a)):
        points = _samples(one, cost)
        common = points[other.contains(points)] if len(points) else points
        if len(common):
            return common[0]
    return None


def _point_outside(inner: Shape, outer: Shape) -> np.ndarray | None:
    points = _samples(inner, _cost(inner) + _cost(outer))
    outside = points[~outer.contains(points)] if len(points) else points
    return outside[0] if len(outside) else None


# ---- general booleans through triangulations -------------------------------------------------------------------------


def _by_mesh(operation: str, parts: tuple[Shape, ...], n: int) -> Mesh:
    for part in parts:
        part._need_numbers(f"{operation} by mesh")
    density = Union(parts).uniform_density if operation == "union" else parts[0].uniform_density
    manifolds = [_manifold(part, n) for part in parts]
    combine = {"union": "__add__", "difference": "__sub__", "intersection": "__xor__"}[operation]
    vertices, faces = _triangles(reduce(lambda a, b: getattr(a, combine)(b), manifolds))
    if len(faces) == 0:
        raise ModelError(f"{operation} of {_names(parts)}: nothing is left; check where the shapes lie")
    label = f"{operation} of {_names(parts)}"
    note = _statement(label, parts, n)
    if note:
        warnings.warn(note, ApproximateShapeWarning, stacklevel=3)
    properties = checked_properties(None, vertices, faces)
    colour = next((solid.get("colour") for solid in _leaves(parts[0].primitive())), None)
    return Mesh(vertices, faces, unscaled=properties, note=note, density=density, colour=colour)


def _statement(label: str, parts: tuple[Shape, ...], n: int) -> str:
    """Say how inexact a combination by mesh is, or return an empty text where all faces are plane."""
    curved = [part for part in parts if not has_plane_faces(part)]
    if curved:
        volumes = [(part.volume, polyhedron_properties(*_triangles(_manifold(part, n))).mass) for part in curved]
        error = max(abs(triangulated / exact - 1) for exact, triangulated in volumes)
        return (
            f"{label}: curved surfaces were triangulated with n = {n} segments around a circle, so mass properties are "
            f"not exact (volumes of the parts are off by up to {error:.1e}); a larger n is closer, error ~ 1/n²"
        )
    if all(part.exact for part in parts):
        return ""
    return f"{label}: mass properties are not exact, because those of a part are not"


def has_plane_faces(shape: Shape) -> bool:
    """Tell whether triangles are the shape itself."""
    if isinstance(shape, Union):
        return all(has_plane_faces(part) for part in shape.parts)
    if isinstance(shape, Difference):
        return has_plane_faces(shape.base) and has_plane_faces(shape.tool)
    return isinstance(shape, (Box, Prism, Mesh))


def _manifold(shape: Shape, n: int, outer: Placement | None = None) -> Any:
    """Return a shape as a manifold3d object in the outer frame."""
    outer = outer or Placement()
    own = outer @ shape.placement
    if isinstance(shape, Union):
        return reduce(lambda a, b: a + b, (_manifold(part, n, own) for part in shape.parts))
    if isinstance(shape, Difference):
        return _manifold(shape.base, n, own) - _manifold(shape.tool, n, own)
    try:
        import manifold3d
    except ImportError:
        raise MissingPackageError("manifold3d", "combining shapes by mesh") from None
    vertices, faces = shape.tessellate(n)
    solid = manifold3d.Manifold(manifold3d.Mesh64(np.ascontiguousarray(outer.outward(vertices)), np.ascontiguousarray(faces, np.uint64)))
    if solid.status() != manifold3d.Error.NoError:
        problem = solid.status().name
        raise ModelError(f"{shape.kind}: its surface is not a manifold ({problem}), so it cannot be combined")
    return solid


def _triangles(solid: Any) -> Triangulation:
    result = solid.to_mesh64()
    vertices = np.array(result.vert_properties, float)[:, :3]
    return vertices, np.array(result.tri_verts, dtype=np.int64)
