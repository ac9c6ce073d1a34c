"""Convex polyhedra: corners, and faces as planes with their corners in order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import InputError

#: Facets whose planes agree to this part are one face.
FLAT = 1e-9


@dataclass(frozen=True)
class Convex:
    """Corners (n, 3), planes (m, 4) as outward normal and distance, and the corners of every face counter-clockwise from outside."""

    vertices: np.ndarray
    planes: np.ndarray
    faces: tuple[tuple[int, ...], ...]


def convex_hull(points: np.ndarray) -> Convex:
    """The convex hull of points by Quickhull (Barber, Dobkin and Huhdanpaa 1996), with triangles of one plane united.

    >>> len(convex_hull(np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], float)).faces)
    6
    """
    from scipy.spatial import ConvexHull, QhullError

    if not np.isfinite(points).all() or len(points) < 4:
        raise InputError(f"polyhedron: {len(points)} corners do not make a solid; give at least four that are finite")
    try:
        found = ConvexHull(points)
    except QhullError:
        raise InputError("polyhedron: its corners lie in a plane; give at least four that do not") from None
    kept = np.unique(found.simplices)
    vertices = points[kept]
    place = {int(old): new for new, old in enumerate(kept)}
    faces = []
    for facets in _flat(found, float(np.abs(vertices).max())):
        corners = sorted({place[int(k)] for k in found.simplices[facets].ravel()})
        faces.append(_around(vertices, found.equations[facets[0], :3], corners))
    return Convex(vertices, np.array([_plane(vertices, corners) for corners in faces]), tuple(faces))


def _flat(hull: Any, size: float) -> list[np.ndarray]:
    """Facets that lie in one plane with neighbours, together."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n = len(hull.simplices)
    f, g = np.repeat(np.arange(n), 3), hull.neighbors.ravel()
    off = np.abs(hull.equations[f] - hull.equations[g]) / [1.0, 1.0, 1.0, size]
    same = off.max(axis=1) < FLAT
    _, label = connected_components(coo_array((np.ones(same.sum()), (f[same], g[same])), shape=(n, n)), directed=False)
    order = np.argsort(label, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(label[order])) + 1)


def _around(vertices: np.ndarray, normal: np.ndarray, corners: list[int]) -> tuple[int, ...]:
    """Corners of a face in order about its normal."""
    points = vertices[corners] - vertices[corners].mean(axis=0)
    u = points[0] / np.linalg.norm(points[0])
    angle = np.arctan2(points @ np.cross(normal, u), points @ u)
    return tuple(corners[k] for k in np.argsort(angle, kind="stable"))


def _plane(vertices: np.ndarray, corners: tuple[int, ...]) -> np.ndarray:
    """The plane through the corners to rounding: normal by Newell's sum, distance of the outermost corner."""
    points = vertices[list(corners)]
    normal = np.cross(points, np.roll(points, -1, axis=0)).sum(axis=0)
    normal /= np.linalg.norm(normal)
    return np.append(normal, (points @ normal).max())
