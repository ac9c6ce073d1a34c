"""The direction of a contact made exact.

For convex shapes the separation in a direction n, s(n) = min n·x over a − max n·y over b, is largest where n is the contact normal, and is the signed
gap there.  A direction that is nearly right is therefore polished by comparing values of s: with the normals of the two faces that look at each other, with
the products of edges that cross, and, for curved shapes, with Newton's steps, free or across an edge.  This needs no distance to divide by, so
that normals are as good for shapes that just touch as for others.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

from ...native.kernel import jit
from .records import CYLINDER, ELLIPSOID
from .supports import face, face_normal, support
from .vectors import across, cross, dot, length, minus, plus, unit, vector

#: Within this part of the size a face's normal is preferred to others.
TIE = 1e-10
#: Steps about an edge and free ones, shortenings of a step, and the angle over which slopes are compared (rad).
NEWTON, ASCENTS, HALVINGS, DIFFERENCE = 8, 30, 4, 1e-5


@jit
def separation(scene: Any, a: int, b: int, pb: Any, n: Any) -> Any:
    """s(n), and the difference of the points that decide it."""
    w = minus(support(scene, a, (0.0, 0.0, 0.0), (-n[0], -n[1], -n[2])), support(scene, b, pb, n))
    return dot(w, n), w


@jit
def _better(scene: Any, a: int, b: int, pb: Any, n: Any, s: float, candidate: Any, handicap: float) -> Any:
    """The candidate where its separation is larger (or smaller by no more than a handicap)."""
    t, _w = separation(scene, a, b, pb, candidate)
    if t > s - handicap:
        return candidate, t
    return n, s


@jit
def _along_faces(scene: Any, a: int, b: int, pb: Any, n: Any, s: float, size: float) -> Any:
    """Tries the normals of the faces that look at each other."""
    for_a = face(scene, a, (0.0, 0.0, 0.0), (-n[0], -n[1], -n[2]), scene.face_a)
    if for_a > 2:
        m = face_normal(scene.face_a, for_a)
        if dot(m, n) < 0.0:
            m = (-m[0], -m[1], -m[2])
        if dot(m, n) > 0.5:
            n, s = _better(scene, a, b, pb, n, s, m, TIE * size)
    for_b = face(scene, b, pb, n, scene.face_b)
    if for_b > 2:
        m = face_normal(scene.face_b, for_b)
        if dot(m, n) < 0.0:
            m = (-m[0], -m[1], -m[2])
        if dot(m, n) > 0.5:
            n, s = _better(scene, a, b, pb, n, s, m, TIE * size)
    return n, s


@jit
def _along_edges(scene: Any, a: int, b: int, pb: Any, n: Any, s: float, size: float) -> Any:
    """Tries the products of edges of both faces that are nearly across n."""
    A, B = scene.face_a, scene.face_b
    for_a, for_b = face(scene, a, (0.0, 0.0, 0.0), (-n[0], -n[1], -n[2]), A), face(scene, b, pb, n, B)
    start = n
    for i in range(for_a if for_a > 2 else for_a - 1):
        e = minus(vector(A, (i + 1) % for_a, 0), vector(A, i, 0))
        if abs(dot(e, start)) > 0.01 * length(e):
            continue
        for j in range(for_b if for_b > 2 else for_b - 1):
            f = minus(vector(B, (j + 1) % for_b, 0), vector(B, j, 0))
            m = cross(e, f)
            if abs(dot(f, start)) > 0.01 * length(f) or not length(m) > 1e-3 * length(e) * length(f):
                continue
            m = unit(m)
            if dot(m, start) < 0.0:
                m = (-m[0], -m[1], -m[2])
            n, s = _better(scene, a, b, pb, n, s, m, -TIE * size)
    return n, s


@jit
def _newton(scene: Any, a: int, b: int, pb: Any, n: Any, s: float, size: float) -> Any:
    """Newton's steps on the unit sphere: with w(n) the difference of the supporting points, the slope is its part across n, and the
    second derivative that of w across n minus s.  Where that does not lead upwards, a step along the slope, shortened until it does."""
    for _ in range(ASCENTS):
        s0, w = separation(scene, a, b, pb, n)
        u = across(n)
        v = cross(n, u)
        g0, g1 = dot(w, u), dot(w, v)
        if sqrt(g0 * g0 + g1 * g1) <= 1e-14 * size:
            break
        _, wu = separation(scene, a, b, pb, unit(plus(n, DIFFERENCE, u)))
        _, wv = separation(scene, a, b, pb, unit(plus(n, DIFFERENCE, v)))
        du, dv = minus(wu, w), minus(wv, w)
        h00, h11 = dot(du, u) / DIFFERENCE - s0, dot(dv, v) / DIFFERENCE - s0
        h01 = 0.5 * (dot(du, v) + dot(dv, u)) / DIFFERENCE
        determinant = h00 * h11 - h01 * h01
        x, y = g0 / (abs(h00) + abs(h01) + size), g1 / (abs(h11) + abs(h01) + size)
        if determinant > 0.0 and h00 < 0.0:
            x, y = -(h11 * g0 - h01 * g1) / determinant, -(h00 * g1 - h01 * g0) / determinant
        shorten = min(1.0, 0.2 / sqrt(x * x + y * y + 1e-300))
        better = False
        for _k in range(HALVINGS):
            trial = unit(plus(plus(n, shorten * x, u), shorten * y, v))
            t, _w = separation(scene, a, b, pb, trial)
            if t > s:
                n, s, better = trial, t, True
                break
            shorten *= 0.5
        if not better:
            break
    return n, s


@jit
def _along_ridge(scene: Any, a: int, b: int, pb: Any, n: Any, s: float, e: Any, size: float) -> Any:
    """Tries directions across an edge e of one shape: the best of them by Newton's steps about the edge, for another shape that is curved."""
    e = unit(e)
    m = unit(plus(n, -dot(n, e), e))
    t, w = separation(scene, a, b, pb, m)
    for _ in range(NEWTON):
        u = cross(e, m)
        _t, wu = separation(scene, a, b, pb, unit(plus(m, DIFFERENCE, u)))
        slope, bend = dot(w, u), dot(minus(wu, w), u) / DIFFERENCE - t
        if not (bend < 0.0 and abs(slope) > 1e-15 * size and abs(slope) < -0.1 * bend):
            break
        trial = unit(plus(m, -slope / bend, u))
        r, wr = separation(scene, a, b, pb, trial)
        if not r > t:
            break
        m, t, w = trial, r, wr
    if t > s:
        return m, t
    return n, s


@jit
def _along_ridges(scene: Any, a: int, b: int, pb: Any, n: Any, s: float, size: float) -> Any:
    """Tries every edge of the faces that look at each other, as far as it is nearly across n."""
    for_a = face(scene, a, (0.0, 0.0, 0.0), (-n[0], -n[1], -n[2]), scene.face_a)
    for_b = face(scene, b, pb, n, scene.face_b)
    for k in range(for_a + for_b):
        rows, count, i = (scene.face_a, for_a, k) if k < for_a else (scene.face_b, for_b, k - for_a)
        if i + 1 < count or count > 2:
            e = minus(vector(rows, (i + 1) % count, 0), vector(rows, i, 0))
            if abs(dot(e, n)) < 1e-3 * length(e):
                n, s = _along_ridge(scene, a, b, pb, n, s, e, size)
    return n, s


@jit
def polished(scene: Any, a: int, b: int, pb: Any, n: Any, size: float, rough: bool) -> Any:
    """A direction with the largest separation near n, and that separation; ``rough`` where n is not known to many digits."""
    s, _w = separation(scene, a, b, pb, n)
    m, s = _along_faces(scene, a, b, pb, n, s, size)
    if rough:
        m, s = _along_edges(scene, a, b, pb, m, s, size)
    ka, kb = scene.solids[a].kind, scene.solids[b].kind
    curved = CYLINDER <= ka <= ELLIPSOID or CYLINDER <= kb <= ELLIPSOID  # with the cone between them
    if curved and m[0] == n[0] and m[1] == n[1] and m[2] == n[2]:
        m, s = _newton(scene, a, b, pb, m, s, size)
        m, s = _along_ridges(scene, a, b, pb, m, s, size)
    return m, s
