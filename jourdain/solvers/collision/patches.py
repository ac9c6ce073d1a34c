"""Patches: where the faces of two convex shapes lie over each other, seen along the contact normal.

The faces that look at each other are projected along the normal.  What they have in common is a convex polygon, whose corners are corners of
one face over the other, and crossings of two edges (Ericson 2005, 5.5, does the same by cutting off half-planes one after the other); all are
found directly, so that each carries the number of the corners or edges that make it and keeps it as long as these do.
Segments are faces with two corners, round shapes faces with one.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

from ...native.kernel import hot, jit
from .curvature import curvature
from .records import CONE, CYLINDER, MOST_POINTS, emit
from .supports import face, rounding
from .vectors import across, axis, cross, dot, plus, vector

#: Points nearer to each other than this part of the size are one; a corner counts as lying over a segment within the second.
SAME, BESIDE = 1e-7, 1e-3
#: Bits of a feature: a triangle of a surface, then a corner (or an edge) of a, then of b.
FIELD = 21
EDGE = 1 << 20
#: Edges that are rims of ends of cylinders and cones; the number of an end and that of a crossing are added.
RIM_EDGE = EDGE + 900 * 1024
#: Gaps up to which points of a patch touch, and are near those that do, and what counts as equal, in parts of the shapes' size.
TOUCHING, NEAR, EQUAL = 1e-6, 1e-2, 1e-9


@jit
def _seen(rows: Any, count: int, u: Any, v: Any, n: Any) -> float:
    """Coordinates along u, v and n in columns 4 to 6; twice the signed area in the plane of u and v."""
    for k in range(count):
        q = vector(rows, k, 0)
        rows[k, 4], rows[k, 5], rows[k, 6] = dot(q, u), dot(q, v), dot(q, n)
    area = 0.0
    for k in range(1, count - 1):
        x1, y1 = rows[k, 4] - rows[0, 4], rows[k, 5] - rows[0, 5]
        x2, y2 = rows[k + 1, 4] - rows[0, 4], rows[k + 1, 5] - rows[0, 5]
        area += x1 * y2 - x2 * y1
    return area


@jit
def _over(rows: Any, count: int, area: float, x: float, y: float, size: float) -> bool:
    """Whether a point lies over a face."""
    if count > 2:
        sign = 1.0 if area > 0.0 else -1.0
        for k in range(count):
            j = k + 1 if k + 1 < count else 0
            ex, ey = rows[j, 4] - rows[k, 4], rows[j, 5] - rows[k, 5]
            out = sign * (ex * (y - rows[k, 5]) - ey * (x - rows[k, 4]))
            if out < 0.0 and out * out > SAME * SAME * size * size * (ex * ex + ey * ey):
                return False
        return True
    ex, ey = rows[1, 4] - rows[0, 4], rows[1, 5] - rows[0, 5]
    px, py = x - rows[0, 4], y - rows[0, 5]
    ee, along, aside = ex * ex + ey * ey, ex * px + ey * py, ex * py - ey * px
    slack = SAME * size * sqrt(ee)
    return ee > 0.0 and -slack <= along <= ee + slack and aside * aside <= BESIDE * BESIDE * size * size * ee


@jit
def _height(rows: Any, count: int, area: float, x: float, y: float) -> float:
    """Coordinate along n of a face over a point."""
    if count > 2:
        mx, my = 0.0, 0.0
        for k in range(1, count - 1):
            x1, y1, z1 = rows[k, 4] - rows[0, 4], rows[k, 5] - rows[0, 5], rows[k, 6] - rows[0, 6]
            x2, y2, z2 = rows[k + 1, 4] - rows[0, 4], rows[k + 1, 5] - rows[0, 5], rows[k + 1, 6] - rows[0, 6]
            mx += y1 * z2 - y2 * z1
            my += z1 * x2 - z2 * x1
        return rows[0, 6] - (mx * (x - rows[0, 4]) + my * (y - rows[0, 5])) / area  # type: ignore[no-any-return]
    ex, ey = rows[1, 4] - rows[0, 4], rows[1, 5] - rows[0, 5]
    t = min(1.0, max(0.0, (ex * (x - rows[0, 4]) + ey * (y - rows[0, 5])) / (ex * ex + ey * ey)))
    return rows[0, 6] + t * (rows[1, 6] - rows[0, 6])  # type: ignore[no-any-return]


@hot
def lay(patch: Any, k: int, x: float, y: float, ha: float, hb: float, code: int) -> None:
    """Point k of a patch: where it is along u and v, where a and b are along n, and the numbers of its features."""
    patch[k, 0], patch[k, 1], patch[k, 2], patch[k, 3], patch[k, 4] = x, y, ha, hb, float(code)


@jit
def _add(patch: Any, count: int, x: float, y: float, ha: float, hb: float, code_a: int, code_b: int, size: float) -> int:
    """Adds a point of the patch unless it is there already."""
    for k in range(count):
        dx, dy = patch[k, 0] - x, patch[k, 1] - y
        if dx * dx + dy * dy <= SAME * SAME * size * size:
            return count
    if count >= patch.shape[0]:
        return count
    lay(patch, count, x, y, ha, hb, (code_a << FIELD) | code_b)
    return count + 1


@hot
def _edge(rows: Any, i: int, j: int) -> int:
    p, q = int(rows[i, 3]), int(rows[j, 3])
    return EDGE + ((min(p, q) * 1024 + max(p, q)) & (EDGE - 1))


@jit
def _disc(scene: Any, i: int, p: Any, d: Any, u: Any, v: Any, n: Any) -> Any:
    """The end of a cylinder or cone that looks in direction d, seen along n: radius (0: there is none), place and height of its centre, what takes
    places beside it to coordinates in its plane, how its height grows with those, and the number of its rim."""
    s = scene.solids[i]
    if s.kind != CYLINDER and s.kind != CONE:
        return 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0
    e1, e2, z = axis(scene.world, i, 0), axis(scene.world, i, 1), axis(scene.world, i, 2)
    half, top = (s.y if s.kind == CYLINDER else s.z), dot(d, z) > 0.0
    c = plus(p, half if top else -half, z)
    a11, a12, a21, a22 = dot(e1, u), dot(e2, u), dot(e1, v), dot(e2, v)
    det = a11 * a22 - a12 * a21
    r = s.y if top and s.kind == CONE else s.x
    return (
        (r if abs(det) > 1e-9 else 0.0),
        dot(c, u),
        dot(c, v),
        dot(c, n),
        a22 / det,
        -a12 / det,
        -a21 / det,
        a11 / det,
        dot(e1, n),
        dot(e2, n),
        RIM_EDGE + (2 if top else 0),
    )


@jit
def _inside(disc: Any, x: float, y: float, size: float) -> bool:
    """Whether a point lies over a disc."""
    dx, dy = x - disc[1], y - disc[2]
    a, b = disc[4] * dx + disc[5] * dy, disc[6] * dx + disc[7] * dy
    return a * a + b * b <= disc[0] * (disc[0] + SAME * size)  # type: ignore[no-any-return]


@jit
def _cross_rim(patch: Any, count: int, disc: Any, is_a: bool, rows: Any, corners: int, near: float, size: float) -> int:
    """Adds the points at which edges of a face cross a rim, seen along n: the true circle, so that no edge comes to touch it beside the patch."""
    for i in range(corners if corners > 2 else corners - 1):
        k = i + 1 if i + 1 < corners else 0
        first, last = (i, k) if rows[i, 3] < rows[k, 3] else (k, i)
        x, y, h = rows[first, 4], rows[first, 5], rows[first, 6]
        ex, ey, eh = rows[last, 4] - x, rows[last, 5] - y, rows[last, 6] - h
        dx, dy = x - disc[1], y - disc[2]
        a, b, da, db = disc[4] * dx + disc[5] * dy, disc[6] * dx + disc[7] * dy, disc[4] * ex + disc[5] * ey, disc[6] * ex + disc[7] * ey
        square, along = da * da + db * db, a * da + b * db
        root = along * along - square * (a * a + b * b - disc[0] * disc[0])
        if not (root > 0.0 and square > 0.0):
            continue
        for way in (0, 1):
            t = (-along + (sqrt(root) if way == 1 else -sqrt(root))) / square
            if t < 0.0 or t > 1.0:
                continue
            own, other = disc[3] + disc[8] * (a + t * da) + disc[9] * (b + t * db), h + t * eh
            ha, hb = (own, other) if is_a else (other, own)
            if ha - hb <= near:
                rim, edge = disc[10] + way, _edge(rows, first, last)
                code_a, code_b = (rim, edge) if is_a else (edge, rim)
                count = _add(patch, count, x + t * ex, y + t * ey, ha, hb, code_a, code_b, size)
    return count


@jit
def gather(scene: Any, a: int, b: int, pb: Any, n: Any, near: float, size: float) -> Any:
    """Points of the patch with a distance up to ``near`` along n, in rows of ``scene.patch``; how many, and the least distance."""
    A, B, patch, count = scene.face_a, scene.face_b, scene.patch, 0
    ca = face(scene, a, (0.0, 0.0, 0.0), (-n[0], -n[1], -n[2]), A)
    cb = face(scene, b, pb, n, B)
    if ca < 2 or cb < 2:  # a round shape: nothing but the nearest points
        return 0, 1e300
    u = across(n)
    v = cross(n, u)
    area_a, area_b = _seen(A, ca, u, v, n), _seen(B, cb, u, v, n)
    flat = 1e-9 * size * size
    if (ca > 2 and abs(area_a) < flat) or (cb > 2 and abs(area_b) < flat):
        return 0, 1e300
    disc_a, disc_b = _disc(scene, a, (0.0, 0.0, 0.0), (-n[0], -n[1], -n[2]), u, v, n), _disc(scene, b, pb, n, u, v, n)
    convex = scene.triangle == 0  # triangles of a surface share edges: what they cut from a rim is united by its corners
    round_a, round_b = convex and ca > 2 and disc_a[0] > 0.0, convex and cb > 2 and disc_b[0] > 0.0
    for i in range(ca):
        if _inside(disc_b, A[i, 4], A[i, 5], size) if round_b else _over(B, cb, area_b, A[i, 4], A[i, 5], size):
            h = _height(B, cb, area_b, A[i, 4], A[i, 5])
            if A[i, 6] - h <= near:
                count = _add(patch, count, A[i, 4], A[i, 5], A[i, 6], h, 1 + int(A[i, 3]), 0, size)
    for j in range(cb):
        if _inside(disc_a, B[j, 4], B[j, 5], size) if round_a else _over(A, ca, area_a, B[j, 4], B[j, 5], size):
            h = _height(A, ca, area_a, B[j, 4], B[j, 5])
            if h - B[j, 6] <= near:
                count = _add(patch, count, B[j, 4], B[j, 5], h, B[j, 6], 0, 1 + int(B[j, 3]), size)
    lines = ca == 2 and cb == 2 and count > 1  # side by side: their ends are the patch, wherever they cross
    if round_a != round_b:
        count = _cross_rim(patch, count, disc_a if round_a else disc_b, round_a, B if round_a else A, cb if round_a else ca, near, size)
    for i in range(0 if lines or round_a != round_b else ca if ca > 2 else ca - 1):
        k = i + 1 if i + 1 < ca else 0
        ex, ey = A[k, 4] - A[i, 4], A[k, 5] - A[i, 5]
        for j in range(cb if cb > 2 else cb - 1):
            m = j + 1 if j + 1 < cb else 0
            fx, fy = B[m, 4] - B[j, 4], B[m, 5] - B[j, 5]
            px, py = B[j, 4] - A[i, 4], B[j, 5] - A[i, 5]
            det = ex * fy - ey * fx
            if not abs(det) > 1e-9 * (abs(ex) + abs(ey)) * (abs(fx) + abs(fy)):
                continue
            s, t = (px * fy - py * fx) / det, (px * ey - py * ex) / det
            if s < 0.0 or s > 1.0 or t < 0.0 or t > 1.0:
                continue
            ha, hb = A[i, 6] + s * (A[k, 6] - A[i, 6]), B[j, 6] + t * (B[m, 6] - B[j, 6])
            if ha - hb <= near:
                count = _add(patch, count, A[i, 4] + s * ex, A[i, 5] + s * ey, ha, hb, _edge(A, i, k), _edge(B, j, m), size)
    least = 1e300
    for k in range(count):
        least = min(least, patch[k, 2] - patch[k, 3])
    return count, least


@jit
def _choose(scene: Any, count: int) -> int:
    """Marks as many points as a patch may have: those that touch, then those near them, each time the deepest and then always the one farthest from all marked; then the lowest.

    Points that touch come first whatever else is looked at, and of equal ones the first: a contact that is closed stays in the patch while the shapes move.
    """
    patch, taken, best = scene.patch, scene.taken, 0
    for k in range(count):
        taken[k] = 1 if count <= MOST_POINTS else 0
    if count <= MOST_POINTS:
        return count
    size = scene.solids[scene.a].size + scene.solids[scene.b].size
    for k in range(count):
        patch[k, 5] = 1e300
        if patch[k, 2] - patch[k, 3] < patch[best, 2] - patch[best, 3] - EQUAL * size:
            best = k
    least = max(0.0, patch[best, 2] - patch[best, 3])
    for _ in range(MOST_POINTS):
        taken[best] = 1
        x, y, rank, far, following = patch[best, 0], patch[best, 1], 3, -1e300, 0
        for k in range(count):
            dx, dy, gap = patch[k, 0] - x, patch[k, 1] - y, patch[k, 2] - patch[k, 3]
            patch[k, 5] = min(patch[k, 5], dx * dx + dy * dy)
            if taken[k] == 1:
                continue
            own = 0 if gap <= least + TOUCHING * size else 1 if gap <= least + NEAR * size else 2
            reach = patch[k, 5] if own < 2 else -gap
            if own < rank or (own == rank and reach > far + EQUAL * abs(far)):
                rank, far, following = own, reach, k
        best = following
    return MOST_POINTS


@jit
def finish(scene: Any, pb: Any, n: Any, count: int) -> None:
    """Emits the points of a patch; the round parts of the shapes lie around their cores along the normal."""
    a, b, patch = scene.a, scene.b, scene.patch
    ra, rb = rounding(scene, a), rounding(scene, b)
    u = across(n)
    v = cross(n, u)
    _choose(scene, count)
    for k in range(count):
        if scene.taken[k] == 1:
            q = plus(plus((0.0, 0.0, 0.0), patch[k, 0], u), patch[k, 1], v)
            qa, qb = plus(q, patch[k, 2] - ra, n), plus(q, patch[k, 3] + rb, n)
            ka = curvature(scene, a, (0.0, 0.0, 0.0), qa, (-n[0], -n[1], -n[2]))
            emit(scene, qa, qb, n, int(patch[k, 4]) | (scene.triangle << (2 * FIELD)), ka, curvature(scene, b, pb, qb, n))


__all__ = ["EDGE", "FIELD", "finish", "gather", "lay"]
