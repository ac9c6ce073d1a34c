"""The direction in which overlapping convex shapes are separated soonest: a polytope expanded inside a − b (van den Bergen 2001).

A polytope of points of a − b around the origin grows by the farthest point of a − b beyond its nearest face, until there is none.  Two things keep
degenerate poses (faces on faces, edges on edges, shapes that just touch) away: a thin skin around a − b, so that it has an inside
and the origin lies in it, and a target beside the origin by a tenth of the skin in no particular direction.  The skin changes the
separation in all directions by the same amount, hence no direction; what the shift changes is removed by polishing
(:mod:`.directions`).
"""

from __future__ import annotations

from typing import Any

from ...native.kernel import hot, jit
from .gjk import OVERLAPPING, difference, gjk
from .vectors import cross, dot, minus, plus, put, unit, vector

#: Direction of the shift of the target.
ASIDE = (0.0543, 0.0761, 0.0357)
#: Thickness of the skin and accuracy, as parts of the size of the shapes.
SKIN, ENOUGH = 1e-5, 1e-10


@hot
def _corners(scene: Any, f: int) -> Any:
    c = scene.epa_corners
    return c[3 * f], c[3 * f + 1], c[3 * f + 2]


@jit
def _add_face(scene: Any, f: int, i: int, j: int, k: int) -> None:
    """Face f through three points, its normal away from the origin; one without area is never the nearest."""
    p = vector(scene.epa_points, i, 0)
    normal = cross(minus(vector(scene.epa_points, j, 0), p), minus(vector(scene.epa_points, k, 0), p))
    size, n = dot(normal, normal), unit(normal)
    distance = dot(n, p)
    if distance < 0.0:
        n, distance = (-n[0], -n[1], -n[2]), -distance
    put(scene.epa_faces, f, 0, n)
    scene.epa_faces[f, 3] = distance if size > 0.0 else 1e300
    scene.epa_corners[3 * f], scene.epa_corners[3 * f + 1], scene.epa_corners[3 * f + 2] = i, j, k


@jit
def _toggle(edges: Any, n: int, i: int, j: int) -> int:
    """Adds an edge to the rim of a hole, or takes it away where both its faces are gone."""
    for e in range(n):
        if (edges[2 * e] == i and edges[2 * e + 1] == j) or (edges[2 * e] == j and edges[2 * e + 1] == i):
            edges[2 * e], edges[2 * e + 1] = edges[2 * n - 2], edges[2 * n - 1]
            return n - 1
    if 2 * n + 1 < edges.size:
        edges[2 * n], edges[2 * n + 1] = i, j
    return n + 1


@jit
def _open(scene: Any, faces: int, w: Any) -> Any:
    """Takes away the faces that a point sees; number of faces left and of edges around the hole."""
    F, C, rim, f = scene.epa_faces, scene.epa_corners, 0, 0
    while f < faces:
        if F[f, 3] < 1e300 and dot(vector(F, f, 0), w) > F[f, 3] * (1.0 + 1e-13):
            i, j, k = _corners(scene, f)
            rim = _toggle(scene.epa_edges, rim, i, j)
            rim = _toggle(scene.epa_edges, rim, j, k)
            rim = _toggle(scene.epa_edges, rim, k, i)
            faces -= 1
            for c in range(4):
                F[f, c] = F[faces, c]
            for c in range(3):
                C[3 * f + c] = C[3 * faces + c]
        else:
            f += 1
    return faces, rim


@jit
def _start(scene: Any) -> int:
    """Four faces from the simplex around the target."""
    for i in range(4):
        for c in range(9):
            scene.epa_points[i, c] = scene.simplex[i, c]
    _add_face(scene, 0, 0, 1, 2)
    _add_face(scene, 1, 0, 1, 3)
    _add_face(scene, 2, 0, 2, 3)
    _add_face(scene, 3, 1, 2, 3)
    return 4


@jit
def _witness(scene: Any, f: int) -> Any:
    """Points on a and b under the projection of the target on a face."""
    P, (i, j, k) = scene.epa_points, _corners(scene, f)
    n, p, q, r = vector(scene.epa_faces, f, 0), vector(P, i, 0), vector(P, j, 0), vector(P, k, 0)
    t = dot(n, p)
    o = (t * n[0], t * n[1], t * n[2])
    whole = dot(n, cross(minus(q, p), minus(r, p)))
    s1 = dot(n, cross(minus(q, o), minus(r, o))) / whole
    s2 = dot(n, cross(minus(r, o), minus(p, o))) / whole
    s3 = 1.0 - s1 - s2
    qa = plus(plus(plus((0.0, 0.0, 0.0), s1, vector(P, i, 3)), s2, vector(P, j, 3)), s3, vector(P, k, 3))
    qb = plus(plus(plus((0.0, 0.0, 0.0), s1, vector(P, i, 6)), s2, vector(P, j, 6)), s3, vector(P, k, 6))
    return qa, qb


@jit
def epa(scene: Any, a: int, b: int, pb: Any, size: float) -> Any:
    """Whether it worked, the normal from b to a in which overlapping shapes separate soonest, and the points on a and b there."""
    skin = SKIN * size
    target = (skin * ASIDE[0], skin * ASIDE[1], skin * ASIDE[2])
    status, _v, n = gjk(scene, a, b, pb, (1.0, 0.3, 0.2), skin, target, 1e300, 0.0)
    if status != OVERLAPPING or n < 4:
        return False, unit((-pb[0], -pb[1], -pb[2])), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    faces, points, best = _start(scene), 4, 0
    F, most = scene.epa_faces, scene.epa_faces.shape[0]
    while True:
        best = 0
        for f in range(1, faces):
            if F[f, 3] < F[best, 3]:
                best = f
        normal = vector(F, best, 0)
        if points >= scene.epa_points.shape[0]:
            break
        w, qa, qb = difference(scene, a, b, pb, normal, skin)
        w = minus(w, target)
        if dot(w, normal) - F[best, 3] <= ENOUGH * size:
            break
        put(scene.epa_points, points, 0, w)
        put(scene.epa_points, points, 3, qa)
        put(scene.epa_points, points, 6, qb)
        faces, rim = _open(scene, faces, w)
        if rim < 3 or faces + rim > most or 2 * rim > scene.epa_edges.size:
            return False, (-normal[0], -normal[1], -normal[2]), qa, qb
        for e in range(rim):
            _add_face(scene, faces, scene.epa_edges[2 * e], scene.epa_edges[2 * e + 1], points)
            faces += 1
        points += 1
    qa, qb = _witness(scene, best)
    return True, (-normal[0], -normal[1], -normal[2]), qa, qb
