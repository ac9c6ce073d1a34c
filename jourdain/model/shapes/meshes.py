"""Solids bounded by triangles: mass properties by surface integrals, checks of closedness, files."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from ...errors import InputError, ModelError
from ...reals import reals
from .base import Solid, Triangulation, check_positive
from .mass import MassProperties, Matrix, Scalar, product, scale, scale_matrix
from .mesh_repair import consistent, filled, merged, merged_within

FORMATS = (".stl", ".obj", ".ply", ".glb", ".dae")


class MissingPackageError(InputError, ImportError):
    """An optional package is needed and not installed."""

    def __init__(self, package: str, purpose: str) -> None:
        super().__init__(f'{purpose} needs the package {package}; install it with: pip install "jourdain[mesh]"')


def polyhedron_properties(vertices: Any, faces: Any) -> MassProperties:
    """Return volume (as mass at density 1), centroid and second moments of a closed triangulated surface.

    The divergence theorem turns the volume integrals into a sum over the tetrahedra that the faces span with one
    point; a tetrahedron (0, a, b, c) of volume V has ∫x xᵀ dV = V/20 (a aᵀ + b bᵀ + c cᵀ + s sᵀ), s = a + b + c.
    Faces run counter-clockwise seen from outside; an inside-out surface has a negative volume.

    >>> corner = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
    >>> round(6 * polyhedron_properties(corner, [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]).mass, 12)
    1.0
    """
    points = reals(vertices, "polyhedron: vertices")
    triangles = points[np.asarray(faces)]
    # the middle as apex keeps the cancellation between the tetrahedra small for bodies far from the origin
    apex = (triangles.min(axis=(0, 1)) + triangles.max(axis=(0, 1))) / 2
    volume, centre, second = _tetrahedra(triangles - apex)
    if volume != 0:
        apex = apex + centre
        volume, centre, second = _tetrahedra(triangles - apex)
        second -= volume * np.outer(centre, centre)
    return MassProperties(volume, _vector(apex + centre), _matrix(second))


def _tetrahedra(triangles: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """Return volume, centroid and second moments about the origin."""
    a, b, c = triangles[:, 0], triangles[:, 1], triangles[:, 2]
    volumes = np.einsum("ij,ij->i", a, np.cross(b, c)) / 6
    summed = a + b + c
    volume = float(volumes.sum())
    first = volumes @ summed / 4
    second = sum((np.einsum("i,ij,ik->jk", volumes, v, v) for v in (a, b, c, summed)), np.zeros((3, 3))) / 20
    return volume, first / volume if volume else first, (second + second.T) / 2


def _vector(v: np.ndarray) -> tuple[float, float, float]:
    return (float(v[0]), float(v[1]), float(v[2]))


def _matrix(a: np.ndarray) -> Matrix:
    return (_vector(a[0]), _vector(a[1]), _vector(a[2]))


@dataclass(frozen=True, eq=False)
class Mesh(Solid):
    """A solid bounded by triangles; vertices are multiplied by `scale`."""

    kind: ClassVar[str] = "mesh"

    vertices: np.ndarray
    faces: np.ndarray
    scale: Scalar = 1.0
    unscaled: MassProperties | None = field(default=None, kw_only=True, repr=False)
    source: str | None = field(default=None, kw_only=True)
    note: str = field(default="", kw_only=True)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mesh):
            return NotImplemented
        return np.array_equal(self.vertices, other.vertices) and np.array_equal(self.faces, other.faces) and self._rest() == other._rest()

    def __hash__(self) -> int:
        return hash((self.vertices.tobytes(), self.faces.tobytes(), self._rest()))

    def _rest(self) -> tuple[Any, ...]:
        return (self.scale, self.density, self.colour, self.placement, self.source, self.note, self.unscaled is None)

    @property
    def exact(self) -> bool:
        return not self.note

    def _check(self) -> None:
        check_positive(self.kind, "scale", self.scale)

    def _symmetric_volume(self) -> MassProperties:
        if self.unscaled is None:
            raise ModelError(f"{_named(self.source)}: loaded for display only, so it has no volume or mass")
        unit, s = self.unscaled, self.scale
        return MassProperties(product(unit.mass, s**3), scale(s, unit.com), scale_matrix(s**5, unit.second))

    def _dimensions(self) -> dict[str, Any]:
        return {"vertices": self.vertices * self.scale}

    def _drawing(self) -> dict[str, Any]:
        return {**super()._drawing(), "faces": self.faces.tolist()}

    def _symmetric_triangulation(self, n: int) -> Triangulation:
        return self.vertices * float(self.scale), self.faces.copy()

    def _symmetric_contains(self, points: np.ndarray) -> np.ndarray:
        return winding_numbers(self.vertices[self.faces] * self.scale, points) > 0.5


def winding_numbers(triangles: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return how often a closed surface winds around each point: solid angle / 4π (van Oosterom and Strackee)."""
    result = np.empty(len(points))
    chunk = max(1, 200_000 // max(1, len(triangles)))
    for k in range(0, len(points), chunk):
        r = triangles[None] - points[k : k + chunk, None, None]
        length = np.linalg.norm(r, axis=-1)
        a, b, c = r[:, :, 0], r[:, :, 1], r[:, :, 2]
        la, lb, lc = length[..., 0], length[..., 1], length[..., 2]
        determinant = np.einsum("pij,pij->pi", a, np.cross(b, c))
        ab, bc, ca = (np.einsum("pij,pij->pi", u, v) for u, v in ((a, b), (b, c), (c, a)))
        result[k : k + chunk] = np.arctan2(determinant, la * lb * lc + ab * lc + bc * la + ca * lb).sum(axis=1)
    return result / (2 * np.pi)


def mesh(
    source: str | os.PathLike[str] | tuple[Any, Any], density: Scalar | None = None, scale: Scalar = 1.0, *,
    repair: bool = False, display_only: bool = False, colour: str | None = None, color: str | None = None,
) -> Mesh:  # fmt: skip
    """Return a solid bounded by triangles, from a file (STL, OBJ, PLY, GLB, DAE) or a pair (vertices, faces).

    Coordinates times `scale` are in m (scale=0.001 for a file in mm); density in kg/m³. The surface must be closed,
    with all faces counter-clockwise seen from outside, and its separate shells must not contain each other except
    as cavities; crossings of a shell with itself are not looked for. With repair=True nearly equal vertices are
    merged, faces turned and simple holes filled; with display_only=True nothing is checked and there is no mass.
    Without a colour of its own a mesh has that which covers most of it in its file (DAE).

    >>> corner = ([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)])
    >>> round(mesh(corner, density=6000.0, scale=0.1).mass, 12)
    1.0
    """
    name: str | None = None
    if isinstance(source, (str, os.PathLike)):
        name = os.fspath(source)
        vertices, faces, painted = _read(Path(name))
        colour = painted if colour is None and color is None else colour
    else:
        vertices, faces = _arrays(source)
    vertices, faces = merged(vertices, faces)
    if repair and len(faces):
        vertices, faces = _repaired(vertices, faces)
    unscaled = None if display_only else checked_properties(name, vertices, faces)
    for array in (vertices, faces):
        array.flags.writeable = False
    return Mesh(vertices, faces, scale, unscaled=unscaled, source=name, density=density, colour=colour, color=color)


def _named(name: str | None) -> str:
    return f"mesh {Path(name).name!r}" if name else "mesh"


def _read(path: Path) -> tuple[np.ndarray, np.ndarray, str | None]:
    """Vertices, triangles and the colour of a file."""
    if path.suffix.lower() not in FORMATS:
        raise InputError(f"mesh {path.name!r}: format {path.suffix!r} is not read; convert it to STL, OBJ, PLY, GLB or DAE")
    if not path.is_file():
        raise InputError(f"mesh {path.name!r}: there is no file {str(path)!r}; check the path")
    if path.suffix.lower() == ".dae":
        from ...io.collada import read_collada

        drawn = read_collada(path)
        return *_arrays((drawn.vertices, drawn.faces), path.name), next((c for c, _ in drawn.painted), None)
    try:
        import trimesh
    except ImportError:
        raise MissingPackageError("trimesh", f"reading {path.name!r}") from None
    options = {"skip_materials": True} if path.suffix.lower() == ".obj" else {}
    try:
        loaded = trimesh.load_scene(path, **options).to_mesh()
    except Exception as error:
        raise InputError(f"mesh {path.name!r}: the file cannot be read ({error}); export it again") from error
    return *_arrays((loaded.vertices, loaded.faces), path.name), None


def _arrays(source: Sequence[Any], name: str | None = None) -> Triangulation:
    try:
        given_vertices, given_faces = source
        vertices, faces = np.array(given_vertices, float), np.array(given_faces)
    except (TypeError, ValueError):
        raise InputError(f"{_named(name)}: give a file name or a pair (vertices, faces) of arrays of numbers") from None
    if vertices.ndim != 2 or vertices.shape[1] != 3:
        raise InputError(f"{_named(name)}: vertices have shape {vertices.shape}; (n, 3) is needed")
    if faces.ndim != 2 or faces.shape[1] != 3 or not np.issubdtype(faces.dtype, np.integer):
        raise InputError(
            f"{_named(name)}: faces of shape {faces.shape} and type {faces.dtype}; (m, 3) whole numbers are needed: "
            "cut other polygons into triangles"
        )
    if not np.isfinite(vertices).all():
        bad = int(np.flatnonzero(~np.isfinite(vertices).all(axis=1))[0])
        raise InputError(f"{_named(name)}: vertex {bad} = {vertices[bad]} is not finite; correct or remove it")
    if faces.size and (faces.min() < 0 or faces.max() >= len(vertices)):
        raise InputError(
            f"{_named(name)}: faces name vertices {faces.min()} … {faces.max()}, but there are {len(vertices)} (counted from 0)"
        )
    return vertices, faces.astype(np.int64)


def _repaired(vertices: np.ndarray, faces: np.ndarray) -> Triangulation:
    """Return the surface with near vertices joined, holes closed, shells outward and cavities inward."""
    size = float(np.ptp(vertices, axis=0).max())
    vertices, faces = merged_within(vertices, faces, 1e-6 * size)
    faces = filled(consistent(faces))
    shells = [_outward(vertices, shell) for shell in split_shells(vertices, faces)]
    for k, shell in enumerate(shells):
        if _depth(vertices, shells, k, around=abs) % 2 == 1:
            shells[k] = shell[:, ::-1]
    return vertices, np.concatenate(shells)


def _outward(vertices: np.ndarray, faces: np.ndarray) -> np.ndarray:
    return faces if polyhedron_properties(vertices, faces).mass > 0 else faces[:, ::-1]


def split_shells(vertices: np.ndarray, faces: np.ndarray) -> list[np.ndarray]:
    """Return the faces of each connected piece of a surface."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    links = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]]])
    graph = coo_array((np.ones(len(links)), links.T), shape=(len(vertices), len(vertices)))
    count, label = connected_components(graph, directed=False)
    order = np.argsort(label[faces[:, 0]], kind="stable")
    splits = np.searchsorted(label[faces[order, 0]], np.arange(1, count))
    return [faces[part] for part in np.split(order, splits)]


def _depth(vertices: np.ndarray, shells: list[np.ndarray], k: int, around: Callable[[float], float] = float) -> int:
    """Return how often the other shells wind around shell k; with around=abs cavities count as shells do."""
    point = vertices[shells[k][0, 0]]
    depth = 0
    for j, shell in enumerate(shells):
        triangles = vertices[shell]
        if j != k and (triangles.min(axis=(0, 1)) < point).all() and (point < triangles.max(axis=(0, 1))).all():
            depth += round(around(float(winding_numbers(triangles, point[None])[0])))
    return depth


def checked_properties(name: str | None, vertices: np.ndarray, faces: np.ndarray) -> MassProperties:
    """Return the properties of a surface, or raise where it is open, inconsistently turned, inside out or flat."""
    if len(faces) == 0:
        raise ModelError(f"{_named(name)}: it has no triangles of non-zero size; export it as a solid")
    _check_edges(name, vertices, faces)
    properties = polyhedron_properties(vertices, faces)
    size = float(np.ptp(vertices, axis=0).max())
    if abs(properties.mass) <= 1e-14 * size**3:
        raise ModelError(f"{_named(name)}: the surface is closed but encloses no volume; export it as a solid")
    if properties.mass < 0:
        raise ModelError(
            f"{_named(name)}: the surface is inside out (volume {properties.mass:.6g}); reverse every face or use mesh(..., repair=True)"
        )
    _check_shells(name, vertices, faces)
    return properties


def _check_edges(name: str | None, vertices: np.ndarray, faces: np.ndarray) -> None:
    """Raise unless every edge is run through equally often in both directions."""
    edges = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    forward = np.where(edges[:, 0] < edges[:, 1], 1, -1)
    undirected, index, count = np.unique(np.sort(edges, axis=1), axis=0, return_inverse=True, return_counts=True)
    balance = np.bincount(index.reshape(-1), weights=forward, minlength=len(undirected))
    for bad, what, remedy in (
        (count % 2 == 1, "the surface is open: {n} edges lack a second face", "close it in the CAD program"),
        (balance != 0, "neighbouring faces are turned against each other at {n} edges", "turn all faces outwards"),
    ):
        if bad.any():
            start, end = vertices[undirected[bad][0]]
            raise ModelError(
                f"{_named(name)}: {what.format(n=int(bad.sum()))}, the first from {_text(start)} to {_text(end)}; "
                f"volume and mass need a closed, outward surface: {remedy}, or try mesh(..., repair=True), or "
                "mesh(..., display_only=True) to draw it without mass"
            )


def _text(point: np.ndarray) -> str:
    return "(" + ", ".join(f"{c:.6g}" for c in point) + ")"


def _check_shells(name: str | None, vertices: np.ndarray, faces: np.ndarray) -> None:
    """Raise unless outward shells lie outside all others and inward shells (cavities) inside exactly one."""
    shells = split_shells(vertices, faces)
    for k, shell in enumerate(shells):
        outward = len(shells) == 1 or polyhedron_properties(vertices, shell).mass > 0
        if _depth(vertices, shells, k) != (0 if outward else 1):
            problem = "lies inside another one, so that space is counted twice" if outward else "is inside out"
            raise ModelError(
                f"{_named(name)}: of its {len(shells)} shells the one at {_text(vertices[shell[0, 0]])} {problem}; "
                "unite the shells or turn the cavity's faces, or try mesh(..., repair=True)"
            )
