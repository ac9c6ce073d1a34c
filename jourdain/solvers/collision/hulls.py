"""Convex polyhedra: corners, and faces as planes with their corners in order."""

from __future__ import annotations

from dataclasses import dataclass

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
    size = float(np.abs(vertices).max())
    groups: list[tuple[np.ndarray, set[int]]] = []
    for equation, simplex in zip(found.equations, found.simplices, strict=True):
        plane = np.append(equation[:3], -equation[3])
        for other, corners in groups:
            if np.abs(plane[:3] - other[:3]).max() < FLAT and abs(plane[3] - other[3]) < FLAT * size:
                corners.update(place[int(k)] for k in simplex)
                break
        else:
            groups.append((plane, {place[int(k)] for k in simplex}))
    ordered = [(plane, _around(vertices, plane[:3], sorted(corners))) for plane, corners in groups]
    return Convex(vertices, np.array([_refined(vertices, p, c) for p, c in ordered]), tuple(c for _, c in ordered))


def _around(vertices: np.ndarray, normal: np.ndarray, corners: list[int]) -> tuple[int, ...]:
    """Corners of a face in order about its normal, without those inside its edges."""
    points = vertices[corners]
    u = points[np.argmax(np.linalg.norm(points - points[0], axis=1))] - points[0]
    u = u / np.linalg.norm(u)
    v = np.cross(normal, u)
    middle = points.mean(axis=0)
    angle = np.arctan2((points - middle) @ v, (points - middle) @ u)
    ring = [corners[k] for k in np.argsort(angle, kind="stable")]
    return tuple(ring)


def _refined(vertices: np.ndarray, plane: np.ndarray, corners: tuple[int, ...]) -> np.ndarray:
    """The plane through the corners to rounding: normal by Newell's sum, distance of the outermost corner."""
    points = vertices[list(corners)]
    normal = np.cross(points, np.roll(points, -1, axis=0)).sum(axis=0)
    normal /= np.linalg.norm(normal)
    return np.append(normal if normal @ plane[:3] > 0 else plane[:3], (points @ normal).max())
