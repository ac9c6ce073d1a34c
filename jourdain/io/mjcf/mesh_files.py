"""Mesh files as MuJoCo reads them: of an OBJ file the first object, its polygons cut by the shorter diagonal; MSH files of its own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...errors import InputError
from ...model.shapes import mesh
from ..xml_reader import plain_float

#: The largest file that is read (bytes).
MOST = 500_000_000
#: Corners that are looked at to cut the polygons of a file: so many, and so many for each corner there is.
LOOKS, LOOKS_EACH = 10_000_000, 200


def has_polygons(path: Path) -> bool:
    """Whether the faces of an OBJ file have more than four corners, which MuJoCo cuts into triangles in a way of its own."""
    if path.suffix.lower() != ".obj":
        return False
    return any(line.startswith("f ") and len(line.split()) > 5 for line in path.read_text(encoding="utf-8", errors="replace").splitlines())


def read_mesh(path: Path) -> tuple[np.ndarray, np.ndarray | None]:
    """Vertices and triangles of a file; None for faces that it leaves to the convex hull."""
    suffix = path.suffix.lower()
    if suffix in (".obj", ".msh") and path.is_file():
        if path.stat().st_size > MOST:
            raise InputError(f"mesh '{path.name}': it is larger than {MOST // 1_000_000} MB")
        return _first_object(path) if suffix == ".obj" else _msh(path)
    raw = mesh(path, display_only=True)
    return raw.vertices, raw.faces


def _first_object(path: Path) -> tuple[np.ndarray, np.ndarray | None]:
    """All vertices, and the faces of the first object or group that has some."""
    vertices: list[list[float]] = []
    polygons: list[list[int]] = []
    ended = False
    for k, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
        words = line.split()
        if not words:
            continue
        try:
            if words[0] == "v":
                x, y, z = map(plain_float, words[1:4])
                vertices.append([x, y, z])
            elif words[0] in ("o", "g"):
                ended = ended or bool(polygons)
            elif words[0] == "f" and not ended:
                places = [int(word.split("/")[0]) for word in words[1:]]
                polygons.append([i - 1 if i > 0 else len(vertices) + i for i in places])
        except ValueError:
            raise InputError(f"mesh '{path.name}', line {k}: {line.strip()[:60]!r} is not understood") from None
    points = np.array(vertices, dtype=float).reshape(-1, 3)
    if not polygons and len(points) > 3:
        return points, None
    if not polygons or any(not 0 <= i < len(points) for polygon in polygons for i in polygon):
        raise InputError(f"mesh '{path.name}': it has no faces and too few vertices for a hull, or faces of vertices that it has not")
    looks = _Looks(path, LOOKS + LOOKS_EACH * sum(map(len, polygons)))
    return points, np.array([triangle for polygon in polygons for triangle in _cut(points, polygon, looks)], dtype=int)


@dataclass
class _Looks:
    """How many corners may still be looked at: polygons of many corners that wind take the cube of their number."""

    path: Path
    left: int

    def count(self, polygon: np.ndarray) -> None:
        self.left -= len(polygon)
        if self.left < 0:
            raise InputError(
                f"mesh '{self.path.name}': a polygon of {len(polygon)} corners or more takes too long to cut; save it as triangles"
            )


def _cut(points: np.ndarray, polygon: list[int], looks: _Looks) -> list[list[int]]:
    """Triangles of a polygon: a quadrilateral by the shorter diagonal, others by ears."""
    if len(polygon) <= 3:
        return [polygon] if len(polygon) == 3 else []
    if len(polygon) == 4:
        a, b, c, d = polygon
        shorter = np.sum((points[c] - points[a]) ** 2) < np.sum((points[d] - points[b]) ** 2)
        return [[a, b, c], [a, c, d]] if shorter else [[a, b, d], [b, c, d]]
    x = points[polygon]
    normal = np.cross(x, np.roll(x, -1, axis=0)).sum(axis=0)
    left, found = np.array(polygon), []
    while len(left) > 3:
        k = _ear(points, left, normal, looks)
        found.append([int(left[k - 1]), int(left[k]), int(left[(k + 1) % len(left)])])
        left = np.delete(left, k)
    return [*found, left.tolist()]


def _ear(points: np.ndarray, polygon: np.ndarray, normal: np.ndarray, looks: _Looks) -> int:
    """The first corner that is convex and whose triangle holds no other corner; the first of all if there is none."""
    looks.count(polygon)
    x = points[polygon]
    before, after = np.roll(x, 1, axis=0), np.roll(x, -1, axis=0)
    for k in np.flatnonzero(np.cross(x - before, after - x) @ normal > 0.0).tolist():
        looks.count(polygon)
        corner = polygon[[k - 1, k, (k + 1) % len(polygon)]]
        others = x[~np.isin(polygon, corner)]
        sides = zip(points[corner], points[np.roll(corner, -1)], strict=True)
        if not np.all([np.cross(q - p, others - p) @ normal > 0.0 for p, q in sides], axis=0).any():
            return k
    return 0


def _msh(path: Path) -> tuple[np.ndarray, np.ndarray | None]:
    """MuJoCo's own format: numbers of vertices, normals, texture coordinates and faces, then these."""
    data = path.read_bytes()
    if len(data) < 16:
        raise InputError(f"mesh '{path.name}': it is shorter than the head of an MSH file")
    counts = np.frombuffer(data, dtype="<i4", count=4).astype(int)
    sizes = counts * (12, 12, 8, 12)
    if (counts < 0).any() or counts[0] < 4 or 16 + sizes.sum() != len(data):
        raise InputError(
            f"mesh '{path.name}': its head tells {counts.tolist()} vertices, normals, texture coordinates and faces, which do not fit"
        )
    vertices = np.frombuffer(data, dtype="<f4", count=3 * counts[0], offset=16).reshape(-1, 3).astype(float)
    if not counts[3]:
        return vertices, None
    faces = np.frombuffer(data, dtype="<i4", count=3 * counts[3], offset=16 + int(sizes[:3].sum())).reshape(-1, 3).astype(int)
    if faces.min() < 0 or faces.max() >= len(vertices):
        raise InputError(f"mesh '{path.name}': faces of vertices that it has not")
    return vertices, faces


__all__ = ["has_polygons", "read_mesh"]
