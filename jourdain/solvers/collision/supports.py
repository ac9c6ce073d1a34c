"""What a convex shape looks like from a direction: its farthest point, and the face around that point.

Spheres and capsules are rounded: a point or a segment, and a radius around it; here they answer for the point or segment alone, so
that distances between them stay exact when they penetrate by less than their radii.
"""

from __future__ import annotations

from math import cos, pi, sin, sqrt
from typing import Any

from ...native.kernel import hot, jit
from .records import BOX, CAPSULE, CONE, CYLINDER, ELLIPSOID, MESH, POLYHEDRON, TORUS
from .vectors import axis, cross, inward, minus, outward, plus, unit, vector

#: Corners of the polygon that stands for a circle in a patch.
RIM = 8
#: Directions of these corners.
CIRCLE = tuple((cos(2.0 * pi * k / RIM), sin(2.0 * pi * k / RIM)) for k in range(RIM))
#: Half the angle between two of them, as cosine and sine.
HALF = (cos(pi / RIM), sin(pi / RIM))
#: A rim that leans by more than this (sine) touches at its lowest point, and rolls: that point takes the place of the corner nearest to it.
LEANS = 0.05
#: Numbers of features of circles: corners of the rims of both ends, ends of the line of the side, and the farthest point of a rim that leans.
LOW_RIM, HIGH_RIM, SIDE, FARTHEST = 0, RIM, 2 * RIM, 2 * RIM + 2


@hot
def rounding(scene: Any, i: int) -> float:
    """The radius around the core of a shape."""
    return scene.solids[i].radius  # type: ignore[no-any-return]


@jit
def _local_support(scene: Any, i: int, d: Any) -> Any:
    """The farthest point in the shape's own axes."""
    s = scene.solids[i]
    x, y, z = d[0], d[1], d[2]
    if s.kind == BOX:
        return (s.x if x >= 0.0 else -s.x), (s.y if y >= 0.0 else -s.y), (s.z if z >= 0.0 else -s.z)
    if s.kind == CAPSULE:
        return 0.0, 0.0, (s.y if z >= 0.0 else -s.y)
    if s.kind == POLYHEDRON:
        hull, best, value = scene.hulls[s.hull], 0, -1e300
        for k in range(hull.first_vertex, hull.first_vertex + hull.vertices):
            along = x * scene.vertices[k, 0] + y * scene.vertices[k, 1] + z * scene.vertices[k, 2]
            if along > value:
                best, value = k, along
        return vector(scene.vertices, best, 0)
    if s.kind == ELLIPSOID:
        size = sqrt(x * x * s.x * s.x + y * y * s.y * s.y + z * z * s.z * s.z)
        scale = 1.0 / size if size > 0.0 else 0.0
        return x * s.x * s.x * scale, y * s.y * s.y * scale, z * s.z * s.z * scale
    if s.kind == CYLINDER or s.kind == CONE:
        out, half = sqrt(x * x + y * y), s.y if s.kind == CYLINDER else s.z
        low, high = s.x, s.x if s.kind == CYLINDER else s.y
        top = high * out + z * half >= low * out - z * half
        r = high if top else low
        scale = r / out if out > 0.0 else 0.0
        return scale * x, scale * y, (half if top else -half)
    if s.kind == TORUS:
        out = sqrt(x * x + y * y)
        scale = s.x / out if out > 0.0 else 0.0
        return scale * x, scale * y, 0.0
    return 0.0, 0.0, 0.0


@jit
def support(scene: Any, i: int, p: Any, d: Any) -> Any:
    """The point of a shape's core that lies farthest in direction d; its origin is at p."""
    if scene.solids[i].kind == MESH:
        c = scene.corner
        best, value = 0, c[0] * d[0] + c[1] * d[1] + c[2] * d[2]
        for k in range(1, scene.flat):
            along = c[3 * k] * d[0] + c[3 * k + 1] * d[1] + c[3 * k + 2] * d[2]
            if along > value:
                best, value = k, along
        return c[3 * best], c[3 * best + 1], c[3 * best + 2]
    return plus(p, 1.0, outward(scene.world, i, _local_support(scene, i, inward(scene.world, i, d))))


@hot
def _corner(rows: Any, k: int, q: Any, code: int) -> None:
    """Corner k of a face: a point and the number of its feature."""
    rows[k, 0], rows[k, 1], rows[k, 2], rows[k, 3] = q[0], q[1], q[2], float(code)


@jit
def _box_face(scene: Any, i: int, p: Any, d: Any, rows: Any) -> int:
    """The face of a box whose normal is nearest to d; a corner's number has a bit for each positive coordinate."""
    s, local = scene.solids[i], inward(scene.world, i, d)
    x, y, z = abs(local[0]), abs(local[1]), abs(local[2])
    k = 0 if x >= y and x >= z else 1 if y >= z else 2
    positive = (local[0] if k == 0 else local[1] if k == 1 else local[2]) > 0.0
    for c in range(4):
        u, v = c == 1 or c == 2, c >= 2
        bx, by, bz = positive, u, v
        if k == 1:
            bx, by, bz = v, positive, u
        elif k == 2:
            bx, by, bz = u, v, positive
        q = ((s.x if bx else -s.x), (s.y if by else -s.y), (s.z if bz else -s.z))
        _corner(rows, c, plus(p, 1.0, outward(scene.world, i, q)), int(bx) + 2 * int(by) + 4 * int(bz))
    return 4


@jit
def hull_face(scene: Any, i: int, d: Any) -> int:
    """The face of a polyhedron whose normal is nearest to a direction in its own axes."""
    hull, best, value = scene.hulls[scene.solids[i].hull], 0, -2.0
    for k in range(hull.first_face, hull.first_face + hull.faces):
        along = scene.face_planes[k, 0] * d[0] + scene.face_planes[k, 1] * d[1] + scene.face_planes[k, 2] * d[2]
        if along > value:
            best, value = k, along
    return best


@jit
def _hull_face(scene: Any, i: int, p: Any, d: Any, rows: Any) -> int:
    f = hull_face(scene, i, inward(scene.world, i, d))
    first, n = scene.face_corners[2 * f], min(scene.face_corners[2 * f + 1], rows.shape[0])
    start = scene.hulls[scene.solids[i].hull].first_vertex
    for c in range(n):
        k = scene.corners[first + c]
        _corner(rows, c, plus(p, 1.0, outward(scene.world, i, vector(scene.vertices, k, 0))), k - start)
    return n


@jit
def _turned_face(scene: Any, i: int, p: Any, d: Any, rows: Any) -> int:
    """An end of a cylinder or cone as a polygon, or the line of its side that is nearest to d."""
    s, local = scene.solids[i], inward(scene.world, i, d)
    half = s.y if s.kind == CYLINDER else s.z
    low, high = s.x, s.x if s.kind == CYLINDER else s.y
    out = sqrt(local[0] * local[0] + local[1] * local[1])
    slant = sqrt(4.0 * half * half + (low - high) * (low - high))
    side = (2.0 * half * out + (low - high) * local[2]) / slant
    if side > abs(local[2]):
        x, y = local[0] / out, local[1] / out
        ends = ((low * x, low * y, -half), (high * x, high * y, half))
        _corner(rows, 0, plus(p, 1.0, outward(scene.world, i, ends[0])), SIDE)
        _corner(rows, 1, plus(p, 1.0, outward(scene.world, i, ends[1])), SIDE + 1)
        return 2
    top = local[2] > 0.0
    r, z = (high, half) if top else (low, -half)
    for c in range(RIM):
        k = c if top else RIM - 1 - c
        x, y, code = CIRCLE[k][0], CIRCLE[k][1], (HIGH_RIM if top else LOW_RIM) + k
        if out > LEANS and x * local[0] + y * local[1] >= HALF[0] * out:
            x, y, code = local[0] / out, local[1] / out, FARTHEST + (1 if top else 0)
        _corner(rows, c, plus(p, 1.0, outward(scene.world, i, (r * x, r * y, z))), code)
    return RIM


@jit
def face(scene: Any, i: int, p: Any, d: Any, rows: Any) -> int:
    """The face of a shape's core that looks in direction d, as corners in order with their numbers; how many there are."""
    s = scene.solids[i]
    if s.kind == BOX:
        return _box_face(scene, i, p, d, rows)
    if s.kind == POLYHEDRON:
        return _hull_face(scene, i, p, d, rows)
    if s.kind == CYLINDER or s.kind == CONE:
        return _turned_face(scene, i, p, d, rows)
    if s.kind == CAPSULE:
        z = axis(scene.world, i, 2)
        _corner(rows, 0, plus(p, -s.y, z), 0)
        _corner(rows, 1, plus(p, s.y, z), 1)
        return 2
    if s.kind == MESH:
        c = scene.corner
        for k in range(scene.flat):
            _corner(rows, k, (c[3 * k], c[3 * k + 1], c[3 * k + 2]), scene.corner_code[k])
        return scene.flat  # type: ignore[no-any-return]
    _corner(rows, 0, support(scene, i, p, d), 0)
    return 1


@jit
def face_normal(rows: Any, n: int) -> Any:
    """Unit normal of a polygon by Newell's sum."""
    first = vector(rows, 0, 0)
    total = (0.0, 0.0, 0.0)
    for k in range(1, n - 1):
        total = plus(total, 1.0, cross(minus(vector(rows, k, 0), first), minus(vector(rows, k + 1, 0), first)))
    return unit(total)


__all__ = ["CIRCLE", "HALF", "LEANS", "RIM", "face", "face_normal", "rounding", "support"]
