"""Plane polygons and the triangulation of extruded and revolved ones."""

from __future__ import annotations

import math

import numpy as np


def arc(radius: float, start: float, end: float, segments: int, centre: tuple[float, float] = (0.0, 0.0)) -> np.ndarray:
    """Return segments + 1 points on a circular arc between two angles in rad, as an (n, 2) array."""
    angle = np.linspace(start, end, segments + 1)
    return np.column_stack([centre[0] + radius * np.cos(angle), centre[1] + radius * np.sin(angle)])


def signed_area(polygon: np.ndarray) -> float:
    """Return the area of a polygon, positive when it runs counter-clockwise (shoelace formula)."""
    p = polygon - polygon[0]
    q = np.roll(p, -1, axis=0)
    return 0.5 * float(np.sum(p[:, 0] * q[:, 1] - p[:, 1] * q[:, 0]))


def polygon_defect(polygon: np.ndarray) -> str | None:
    """Say why a closed polygon is not simple, or return None when it is."""
    n = len(polygon)
    if n < 3:
        return f"{n} points do not enclose an area; give at least 3"
    following = np.roll(polygon, -1, axis=0)
    repeated = np.flatnonzero((polygon == following).all(axis=1))
    if repeated.size:
        k = int(repeated[0])
        return f"points {k} and {(k + 1) % n} coincide at {_text(polygon[k])}; leave one out (it closes by itself)"
    edge = following - polygon
    for i in range(n):
        before = edge[i - 1]
        if _cross(before, edge[i]) == 0 and float(before @ edge[i]) < 0:
            return f"the outline turns back on itself at point {i} {_text(polygon[i])}; leave that point out"
        later = np.arange(i + 2, n if i else n - 1)
        meets = later[_segments_meet(polygon[i], following[i], polygon[later], following[later])]
        if meets.size:
            return (
                f"it intersects itself: edge {i} from {_text(polygon[i])} to {_text(following[i])} meets edge "
                f"{meets[0]} from {_text(polygon[meets[0]])} to {_text(following[meets[0]])}; reorder the points"
            )
    if signed_area(polygon) == 0:
        return "it encloses no area; move the points off one line"
    return None


def _text(point: np.ndarray) -> str:
    return f"({point[0]:.6g}, {point[1]:.6g})"


def _cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    result: np.ndarray = a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
    return result


def _segments_meet(a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray) -> np.ndarray:
    """Tell which of the closed segments c[k] d[k] have a point in common with the closed segment a b."""
    side_c, side_d = np.sign(_cross(b - a, c - a)), np.sign(_cross(b - a, d - a))
    side_a, side_b = np.sign(_cross(d - c, a - c)), np.sign(_cross(d - c, b - c))
    boxes_meet = np.all((np.minimum(c, d) <= np.maximum(a, b)) & (np.maximum(c, d) >= np.minimum(a, b)), axis=-1)
    meet: np.ndarray = (side_c * side_d <= 0) & (side_a * side_b <= 0) & boxes_meet
    return meet


def polygon_contains(polygon: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Tell which points of an (n, 2) array lie in a simple polygon (even-odd rule)."""
    x, y = points[:, 0], points[:, 1]
    inside = np.zeros(len(points), bool)
    for (x0, y0), (x1, y1) in zip(polygon, np.roll(polygon, -1, axis=0), strict=True):
        if y0 != y1:
            crosses = (y0 > y) != (y1 > y)
            inside ^= crosses & (x < x0 + (y - y0) * ((x1 - x0) / (y1 - y0)))
    return inside


def triangulate(polygon: np.ndarray) -> np.ndarray:
    """Cut a simple counter-clockwise polygon into triangles of its own corners by clipping ears."""
    left = list(range(len(polygon)))
    triangles = []
    while len(left) > 3:
        for k in range(len(left)):
            ear = (left[k - 1], left[k], left[(k + 1) % len(left)])
            if _is_ear(polygon, ear, left):
                triangles.append(ear)
                del left[k]
                break
        else:
            raise ArithmeticError("no ear found: the polygon is not simple and counter-clockwise")
    triangles.append((left[0], left[1], left[2]))
    return np.array(triangles)


def _is_ear(polygon: np.ndarray, ear: tuple[int, int, int], left: list[int]) -> bool:
    a, b, c = polygon[list(ear)]
    if _cross(b - a, c - a) <= 0:
        return False
    others = polygon[[i for i in left if i not in ear]]
    blocks = (_cross(b - a, others - a) >= 0) & (_cross(c - b, others - b) >= 0) & (_cross(a - c, others - c) >= 0)
    return not blocks.any()


def extrude(polygon: np.ndarray, length: float) -> tuple[np.ndarray, np.ndarray]:
    """Triangulate the prism over a counter-clockwise polygon from z = −length/2 to length/2."""
    n = len(polygon)
    low = np.column_stack([polygon, np.full(n, -length / 2)])
    high = np.column_stack([polygon, np.full(n, length / 2)])
    cap = triangulate(polygon)
    i = np.arange(n)
    j = (i + 1) % n
    sides = np.concatenate([np.column_stack([i, j, j + n]), np.column_stack([i, j + n, i + n])])
    return np.concatenate([low, high]), np.concatenate([cap[:, ::-1], cap + n, sides])


def revolve(profile: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Triangulate the solid swept by a counter-clockwise (r, z) polygon about the z axis in n segments."""
    angle = 2 * math.pi * np.arange(n) / n
    ring = np.column_stack([np.cos(angle), np.sin(angle)])
    rings, vertices, count = [], [], 0
    for r, z in profile:
        points = np.column_stack([r * ring, np.full(n, z)]) if r > 0 else np.array([[0.0, 0.0, z]])
        rings.append(count + (np.arange(n) if r > 0 else np.zeros(n, int)))
        vertices.append(points)
        count += len(points)
    faces = []
    for k, (r, _) in enumerate(profile):
        low, high = rings[k], rings[(k + 1) % len(profile)]
        next_low, next_high = np.roll(low, -1), np.roll(high, -1)
        if r > 0:
            faces.append(np.column_stack([low, next_low, next_high]))
        if profile[(k + 1) % len(profile)][0] > 0:
            faces.append(np.column_stack([low, next_high, high]))
    return np.concatenate(vertices), np.concatenate(faces)
