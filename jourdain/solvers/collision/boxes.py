"""Two boxes by separating axes (Gottschalk, Lin and Manocha 1996): three normals of each and nine products of edges."""

from __future__ import annotations

from math import sqrt
from typing import Any

from ...native.kernel import hot, jit
from .vectors import axis, cross, dot

#: A product of edges must separate by so much more (part of the size) than a face to be preferred.
EDGE_HANDICAP = 1e-9
NEVER = -1e300


@hot
def _face(best: float, n: Any, l: Any, distance: float, own: float, other: float) -> Any:
    """The better of what was found and a face with normal l: half the widths of both boxes along it, and how far apart their middles are."""
    separation = abs(distance) - own - other
    if separation > best:
        sign = -1.0 if distance > 0.0 else 1.0
        return separation, (sign * l[0], sign * l[1], sign * l[2])
    return best, n


@hot
def _edges(best: float, n: Any, handicap: float, k: Any, l: Any, t1: float, t2: float, c1: float, c2: float, width: float) -> Any:
    """The same for the product of edge k of a and edge l of b, which has the components −c₂ and c₁ along the other edges of a; t₁, t₂ are those of the distance,
    ``width`` is half of both boxes along the product, times its length."""
    square, distance = c1 * c1 + c2 * c2, t2 * c1 - t1 * c2
    length = sqrt(square)
    # parallel edges: faces say it
    if square >= 1e-12 and abs(distance) - width > (best + handicap) * length:
        scale = (-1.0 if distance > 0.0 else 1.0) / length
        m = cross(k, l)
        return (abs(distance) - width) / length, (scale * m[0], scale * m[1], scale * m[2])
    return best, n


@jit
def box_axes(scene: Any, a: int, b: int, pb: Any, near: float) -> Any:
    """The largest separation of two boxes along one of the fifteen axes, and that axis from b to a; looks no further beyond ``near``."""
    R, p, q = scene.world, scene.solids[a], scene.solids[b]
    a0, a1, a2, b0, b1, b2 = axis(R, a, 0), axis(R, a, 1), axis(R, a, 2), axis(R, b, 0), axis(R, b, 1), axis(R, b, 2)
    px, py, pz, qx, qy, qz = p.x, p.y, p.z, q.x, q.y, q.z
    # edges of b by those of a
    c00, c01, c02, c10, c11, c12 = dot(a0, b0), dot(a0, b1), dot(a0, b2), dot(a1, b0), dot(a1, b1), dot(a1, b2)
    c20, c21, c22 = dot(a2, b0), dot(a2, b1), dot(a2, b2)
    d00, d01, d02, d10, d11, d12, d20, d21, d22 = abs(c00), abs(c01), abs(c02), abs(c10), abs(c11), abs(c12), abs(c20), abs(c21), abs(c22)
    t0, t1, t2 = dot(a0, pb), dot(a1, pb), dot(a2, pb)
    best, n = _face(NEVER, (0.0, 0.0, 1.0), a0, t0, px, qx * d00 + qy * d01 + qz * d02)
    best, n = _face(best, n, a1, t1, py, qx * d10 + qy * d11 + qz * d12)
    best, n = _face(best, n, a2, t2, pz, qx * d20 + qy * d21 + qz * d22)
    best, n = _face(best, n, b0, dot(b0, pb), qx, px * d00 + py * d10 + pz * d20)
    best, n = _face(best, n, b1, dot(b1, pb), qy, px * d01 + py * d11 + pz * d21)
    best, n = _face(best, n, b2, dot(b2, pb), qz, px * d02 + py * d12 + pz * d22)
    if best > near:
        return best, n
    least = EDGE_HANDICAP * (p.size + q.size)
    best, n = _edges(best, n, least, a0, b0, t1, t2, c10, c20, py * d20 + pz * d10 + qy * d02 + qz * d01)
    best, n = _edges(best, n, least, a0, b1, t1, t2, c11, c21, py * d21 + pz * d11 + qx * d02 + qz * d00)
    best, n = _edges(best, n, least, a0, b2, t1, t2, c12, c22, py * d22 + pz * d12 + qx * d01 + qy * d00)
    best, n = _edges(best, n, least, a1, b0, t2, t0, c20, c00, px * d20 + pz * d00 + qy * d12 + qz * d11)
    best, n = _edges(best, n, least, a1, b1, t2, t0, c21, c01, px * d21 + pz * d01 + qx * d12 + qz * d10)
    best, n = _edges(best, n, least, a1, b2, t2, t0, c22, c02, px * d22 + pz * d02 + qx * d11 + qy * d10)
    best, n = _edges(best, n, least, a2, b0, t0, t1, c00, c10, px * d10 + py * d00 + qy * d22 + qz * d21)
    best, n = _edges(best, n, least, a2, b1, t0, t1, c01, c11, px * d11 + py * d01 + qx * d22 + qz * d20)
    best, n = _edges(best, n, least, a2, b2, t0, t1, c02, c12, px * d12 + py * d02 + qx * d21 + qy * d20)
    return best, n
