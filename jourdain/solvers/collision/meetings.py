"""Narrow phase: what becomes of a pair of shapes, one entry point for a sort of pair.

Entry points are called by address, so that a scene compiles the sorts that it has and no others.  Points are seen from the origin of the
first shape, so that contacts are as exact far from the world's origin as near it.
"""

from __future__ import annotations

from math import sqrt
from typing import Any

from ...native.kernel import hot, jit, kernel
from .boxes import box_axes
from .curvature import curvature
from .directions import polished
from .epa import epa
from .gjk import APART, FAR, gjk, witness
from .nearest import nearest
from .patches import FIELD, finish, gather, lay
from .records import CYLINDER, ELLIPSOID, TORUS, World, between, emit
from .supports import CIRCLE, HALF, LEANS, RIM, face, rounding, support
from .vectors import across, axis, cross, dot, inward, length, minus, outward, plus, times, unit, vector

#: Distances below this part of the size are not divided by.
TOUCHING = 1e-6
#: A patch represents the gap where its least distance is so near to it.
REACHED = 1e-9
#: The point of a rim that lies farthest in the direction of a contact is the one in touch where it is so near to it.
BESIDE = 1e-4


@jit
def _ring_on_plane(scene: Any, pb: Any, m: Any) -> None:
    """A torus on a half-space: its lowest point, and the lowest points of eight sections, but for the one beside it where the torus leans."""
    b = scene.b
    s = scene.solids[b]
    local = inward(scene.world, b, m)
    out = sqrt(local[0] * local[0] + local[1] * local[1])
    x, y = (-local[0] / out, -local[1] / out) if out > 0.0 else (1.0, 0.0)
    low = plus(plus(pb, s.x, outward(scene.world, b, (x, y, 0.0))), -s.y, m)
    if dot(low, m) > scene.near:
        return
    n = (-m[0], -m[1], -m[2])
    tilted = out > 1e-9
    if tilted:
        emit(scene, plus(low, -dot(low, m), m), low, n, 0, 0.0, curvature(scene, b, pb, low, n))
    for k in range(RIM):
        if out > LEANS and x * CIRCLE[k][0] + y * CIRCLE[k][1] >= HALF[0]:
            continue
        radial = outward(scene.world, b, (CIRCLE[k][0], CIRCLE[k][1], 0.0))
        tangent = outward(scene.world, b, (-CIRCLE[k][1], CIRCLE[k][0], 0.0))
        down = unit(plus(times(dot(m, tangent), tangent), -1.0, m))
        q = plus(plus(pb, s.x, radial), s.y, down)
        if dot(q, m) <= scene.near and not (tilted and length(minus(q, low)) < 1e-7 * s.size):
            emit(scene, plus(q, -dot(q, m), m), q, n, 1 + k, 0.0, curvature(scene, b, pb, q, down))


@kernel
def on_plane(address: int) -> int:
    """A half-space and any shape: the face that looks down, and the lowest point where it is none of its corners."""
    scene = World.at(address)
    pb, m, b, near = between(scene), axis(scene.world, scene.a, 2), scene.b, scene.near
    if scene.solids[b].kind == TORUS:
        _ring_on_plane(scene, pb, m)
        return 0
    n = (-m[0], -m[1], -m[2])
    r, rows, least, count = rounding(scene, b), scene.face_b, 1e300, 0
    low = plus(support(scene, b, pb, n), -r, m)
    if dot(low, m) > near:
        return 0
    u = across(n)
    v = cross(n, u)
    for k in range(face(scene, b, pb, n, rows)):
        q = vector(rows, k, 0)
        h = dot(q, m) - r
        least = min(least, h)
        if h <= near:
            lay(scene.patch, count, dot(q, u), dot(q, v), 0.0, dot(q, n), 1 + int(rows[k, 3]))
            count += 1
    finish(scene, pb, n, count)
    if least > dot(low, m) + REACHED * scene.solids[b].size:
        emit(scene, plus(low, -dot(low, m), m), low, n, 0, 0.0, curvature(scene, b, pb, low, n))
    return 0


@kernel
def ball(address: int) -> int:
    """A sphere and any shape but a surface."""
    scene = World.at(address)
    pb, r = between(scene), scene.solids[scene.a].x
    d, n = nearest(scene, scene.b, pb, (0.0, 0.0, 0.0))
    if d - r <= scene.near:
        on_b = times(-d, n)
        emit(scene, times(-r, n), on_b, n, 0, 1.0 / r, curvature(scene, scene.b, pb, on_b, n))
    return 0


@hot
def _clamped(x: float, most: float) -> float:
    return min(most, max(-most, x))


@jit
def _between_lines(scene: Any, p: Any, s: float, t: float, feature: int) -> float:
    """A contact between the points s and t of the axes of two capsules; its gap."""
    a, b = scene.solids[scene.a], scene.solids[scene.b]
    u, w = axis(scene.world, scene.a, 2), axis(scene.world, scene.b, 2)
    ca, cb = times(s, u), plus(p, t, w)
    v = minus(ca, cb)
    d, n = length(v), unit(v)
    if d < 1e-12 * (a.size + b.size):  # axes that cross
        n = unit(cross(u, w)) if length(cross(u, w)) > 1e-9 else across(u)
    if feature >= 0 and d - a.x - b.x <= scene.near:
        qa, qb = plus(ca, -a.x, n), plus(cb, b.x, n)
        ka = curvature(scene, scene.a, (0.0, 0.0, 0.0), qa, (-n[0], -n[1], -n[2]))
        emit(scene, qa, qb, n, feature, ka, curvature(scene, scene.b, p, qb, n))
    return d


@kernel
def capsules(address: int) -> int:
    """Two capsules: the nearest points of their axes, and every end that lies beside the other axis (Ericson 2005, 5.1.9)."""
    scene = World.at(address)
    p, u, w = between(scene), axis(scene.world, scene.a, 2), axis(scene.world, scene.b, 2)
    ha, hb = scene.solids[scene.a].y, scene.solids[scene.b].y
    uw, up, wp = dot(u, w), dot(u, p), dot(w, p)
    square = max(0.0, 1.0 - uw * uw)
    s = _clamped((up - uw * wp) / square, ha) if square > 1e-14 else 0.0
    t = _clamped(uw * s - wp, hb)
    s = _clamped(uw * t + up, ha)
    t = _clamped(uw * s - wp, hb)
    d = _between_lines(scene, p, s, t, -1)
    size, least = scene.solids[scene.a].size + scene.solids[scene.b].size, 1e300
    for k in range(4):  # the ends, where their nearest points are not ends of the other axis (once, where both are)
        if k < 2:
            sk = -ha if k == 0 else ha
            free = uw * sk - wp
            tk = _clamped(free, hb)
            beside = abs(free) <= hb
        else:
            tk = -hb if k == 2 else hb
            free = uw * tk + up
            sk = _clamped(free, ha)
            beside = abs(free) < ha
        if beside:
            least = min(least, _between_lines(scene, p, sk, tk, 1 + k))
    if d < least - REACHED * size or least == 1e300:
        _between_lines(scene, p, s, t, 0)
    return 0


@jit
def _alone(scene: Any, i: int, p: Any, q: Any, d: Any, size: float) -> Any:
    """Whether one point of a curved shape lies farthest in direction d, and that point: a distance is least to half of the digits of a nearest point q."""
    k = scene.solids[i].kind
    if k < CYLINDER or k > ELLIPSOID:
        return False, q
    farthest = support(scene, i, p, d)
    if k == ELLIPSOID or length(minus(farthest, q)) < BESIDE * size:
        return True, farthest
    return False, q


@jit
def settle(scene: Any, pb: Any, n: Any, s: float, qa: Any, qb: Any, size: float) -> None:
    """Emits the patch along n, and the nearest points where the patch does not reach them."""
    a, b = scene.a, scene.b
    ra, rb = rounding(scene, a), rounding(scene, b)
    if s - ra - rb > scene.near:
        return
    count, least = gather(scene, a, b, pb, n, scene.near + ra + rb, size)
    finish(scene, pb, n, count)
    if least > s + REACHED * size:
        alone, qa = _alone(scene, a, (0.0, 0.0, 0.0), qa, (-n[0], -n[1], -n[2]), size)
        if not alone:
            alone, qb = _alone(scene, b, pb, qb, n, size)
            if alone:
                qa = plus(qb, dot(minus(qa, qb), n), n)
        middle = 0.5 * (dot(qa, n) + dot(qb, n))
        on_a, on_b = plus(qa, middle + 0.5 * s - ra - dot(qa, n), n), plus(qb, middle - 0.5 * s + rb - dot(qb, n), n)
        aside = minus(on_a, on_b)
        on_b = plus(on_b, 1.0, plus(aside, -dot(aside, n), n))
        ka = curvature(scene, a, (0.0, 0.0, 0.0), on_a, (-n[0], -n[1], -n[2]))
        emit(scene, on_a, on_b, n, scene.triangle << (2 * FIELD), ka, curvature(scene, b, pb, on_b, n))


@jit
def convex_direction(scene: Any, a: int, b: int, pb: Any, far: float, size: float) -> Any:
    """Whether two convex cores are within ``far``, the contact normal, the signed gap along it and the nearest points."""
    status, v, rows = gjk(scene, a, b, pb, (-pb[0], -pb[1], -pb[2]), 0.0, (0.0, 0.0, 0.0), far, TOUCHING * size)
    if status == FAR:
        return False, v, 0.0, v, v
    if status == APART:
        qa, qb = witness(scene, rows)
        n, s = polished(scene, a, b, pb, unit(v), size, False)
        return s <= far, n, s, qa, qb
    _found, n, qa, qb = epa(scene, a, b, pb, size)
    n, s = polished(scene, a, b, pb, n, size, True)
    return s <= far, n, s, qa, qb


@kernel
def convex(address: int) -> int:
    """Two convex shapes by distance or depth, with the patch around it."""
    scene = World.at(address)
    a, b, pb = scene.a, scene.b, between(scene)
    size = min(scene.solids[a].size, scene.solids[b].size)
    near, n, s, qa, qb = convex_direction(scene, a, b, pb, scene.near + rounding(scene, a) + rounding(scene, b), size)
    if near:
        settle(scene, pb, n, s, qa, qb, size)
    return 0


@kernel
def boxes(address: int) -> int:
    """Two boxes: an axis, then the patch; where the patch does not reach the separation, corners or edges are nearest, and GJK finds them."""
    scene = World.at(address)
    a, b, pb = scene.a, scene.b, between(scene)
    size = min(scene.solids[a].size, scene.solids[b].size)
    s, n = box_axes(scene, a, b, pb, scene.near)
    if s > scene.near:
        return 0
    count, least = gather(scene, a, b, pb, n, scene.near, size)
    if least <= s + REACHED * size:
        finish(scene, pb, n, count)
        return 0
    qa, qb = support(scene, a, (0.0, 0.0, 0.0), (-n[0], -n[1], -n[2])), support(scene, b, pb, n)
    if s > 0.0:
        status, v, rows = gjk(scene, a, b, pb, n, 0.0, (0.0, 0.0, 0.0), scene.near, TOUCHING * size)
        if status == FAR:
            return 0
        if status == APART:
            qa, qb = witness(scene, rows)
            n, s = unit(v), length(v)
    settle(scene, pb, n, s, qa, qb, size)
    return 0
