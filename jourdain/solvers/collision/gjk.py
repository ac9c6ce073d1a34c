"""The distance between two convex shapes by Gilbert, Johnson and Keerthi (1988), with the improvements of van den Bergen (1999).

The difference of all points of a and b is a convex set, and the distance between a and b is that from the origin to this set.  A simplex of up to
four of its points is moved towards the origin: the point nearest to the origin is found on the simplex, corners that do not
carry it are dropped, and the farthest point of the set in the direction of the origin is added.  Where the simplex contains the origin, the
shapes overlap.
"""

from __future__ import annotations

from typing import Any

from ...native.kernel import hot, jit
from .supports import support
from .vectors import cross, dot, minus, plus, put, times, unit, vector

#: What the search ends with.
APART, FAR, OVERLAPPING = 0, 1, 2
ROUNDS = 96


@hot
def difference(scene: Any, a: int, b: int, pb: Any, d: Any, skin: float) -> Any:
    """Farthest point of a − b in direction d (with a skin around the set), and the points on a and b."""
    qa = support(scene, a, (0.0, 0.0, 0.0), d)
    qb = support(scene, b, pb, (-d[0], -d[1], -d[2]))
    w = plus(minus(qa, qb), skin, unit(d)) if skin > 0.0 else minus(qa, qb)
    return w, qa, qb


@hot
def _keep(S: Any, k: int, i: int, share: float) -> None:
    """Moves row i of the simplex to row k with its share of the nearest point."""
    if k != i:
        for c in range(9):
            S[k, c] = S[i, c]
    S[k, 9] = share


@jit
def _inside(S: Any) -> bool:
    """Whether the origin lies in the tetrahedron of four rows."""
    a, b, c, d = vector(S, 0, 0), vector(S, 1, 0), vector(S, 2, 0), vector(S, 3, 0)
    whole = dot(minus(a, d), cross(minus(b, d), minus(c, d)))
    s = 1.0 if whole > 0.0 else -1.0
    # volumes of the four tetrahedra with the origin in place of a corner
    va, vb, vc = dot(d, cross(c, b)), dot(d, cross(a, c)), dot(d, cross(b, a))
    vd = dot(a, cross(b, c))
    return whole != 0.0 and s * va > 0.0 and s * vb > 0.0 and s * vc > 0.0 and s * vd > 0.0


@jit
def _nearest(S: Any, n: int, last: float) -> Any:
    """Nearest point to the origin on the simplex of n rows, the last of which is new; keeps the rows that carry it and says how many.

    Every corner, edge and face with the new row is tried: no case depends on the sign of something that rounding could turn.  Where none comes
    nearer than the square ``last``, the old rows stay as they are, and the number is zero.
    """
    d = vector(S, n - 1, 0)
    best, kind, ki, kj = dot(d, d), 1, 0, 0
    s1, s2 = 0.0, 0.0
    v = d
    for i in range(n - 1):
        e = minus(vector(S, i, 0), d)
        ee = dot(e, e)
        t = -dot(d, e) / ee if ee > 0.0 else 0.0
        if 0.0 < t < 1.0:
            q = plus(d, t, e)
            if dot(q, q) < best:
                best, kind, ki, s1, v = dot(q, q), 2, i, t, q
        for j in range(i + 1, n - 1):
            f = minus(vector(S, j, 0), d)
            normal = cross(e, f)
            nn = dot(normal, normal)
            if not nn > 1e-28 * ee * dot(f, f):
                continue
            # shares by areas of triangles that the projection of the origin makes with the edges
            t1, t2 = -dot(cross(d, f), normal) / nn, -dot(cross(e, d), normal) / nn
            if t1 > 0.0 and t2 > 0.0 and t1 + t2 < 1.0:
                q = times(dot(normal, d) / nn, normal)
                if dot(q, q) < best:
                    best, kind, ki, kj, s1, s2, v = dot(q, q), 3, i, j, t1, t2, q
    if not best < last:
        return 0, v
    if kind == 1:
        _keep(S, 0, n - 1, 1.0)
    elif kind == 2:
        _keep(S, 0, ki, s1)
        _keep(S, 1, n - 1, 1.0 - s1)
    else:
        _keep(S, 0, ki, s1)
        _keep(S, 1, kj, s2)
        _keep(S, 2, n - 1, 1.0 - s1 - s2)
    return kind, v


@jit
def _holds(S: Any, n: int, w: Any) -> bool:
    """Whether a point is a corner of the simplex already."""
    found = False
    for i in range(n):
        found = found or (S[i, 0] == w[0] and S[i, 1] == w[1] and S[i, 2] == w[2])
    return found


@jit
def gjk(scene: Any, a: int, b: int, pb: Any, start: Any, skin: float, target: Any, far: float, tiny: float) -> Any:
    """The vector from ``target`` to the nearest point of a − b, and how the search ended.

    It ends early where the distance is certainly above ``far``, and with OVERLAPPING where it is below ``tiny``.  The corners with their
    shares of the nearest point are the rows of ``scene.simplex`` (point, point of a, point of b, share); their number is the last result.
    """
    S = scene.simplex
    v = start if dot(start, start) > 0.0 else (1.0, 0.0, 0.0)
    n, status, last = 0, APART, 1e300
    for _ in range(ROUNDS):
        w, qa, qb = difference(scene, a, b, pb, (-v[0], -v[1], -v[2]), skin)
        w = minus(w, target)
        vv, vw = dot(v, v), dot(v, w)
        if vw > 0.0 and vw * vw > far * far * vv:
            status = FAR
            break
        if n > 0 and (vv - vw <= 1e-15 * vv or _holds(S, n, w)):
            break
        put(S, n, 0, w)
        put(S, n, 3, qa)
        put(S, n, 6, qb)
        n += 1
        if n == 4 and _inside(S):
            status = OVERLAPPING
            break
        kept, nearer = _nearest(S, n, last)
        if kept == 0:  # rounding alone would move it now
            n -= 1
            break
        n, v = kept, nearer
        last = dot(v, v)
        if last <= tiny * tiny:
            status = OVERLAPPING
            break
    return status, v, n


@jit
def witness(scene: Any, n: int) -> Any:
    """The points on a and b that carry the nearest point."""
    S = scene.simplex
    qa, qb = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    for i in range(n):
        qa, qb = plus(qa, S[i, 9], vector(S, i, 3)), plus(qb, S[i, 9], vector(S, i, 6))
    return qa, qb


__all__ = ["APART", "FAR", "OVERLAPPING", "difference", "gjk", "witness"]
