"""The signed distance of a point from a shape, with the outward normal there: closed forms (Ericson 2005, 5.1; Eberly for the ellipsoid).

Points are given in the shape's own axes.  Inside a shape the distance is negative, and the normal is that of the nearest point of the surface.
"""

from __future__ import annotations

from math import copysign, sqrt
from typing import Any

from ...native.kernel import hot, jit
from .records import BOX, CAPSULE, CONE, CYLINDER, ELLIPSOID, POLYHEDRON, SPHERE, TORUS
from .vectors import dot, inward, length, minus, outward, plus, times, unit, vector


@hot
def _sign(x: float) -> float:
    return 1.0 if x >= 0.0 else -1.0


@jit
def _from_box(x: float, y: float, z: float, s: Any) -> Any:
    ox, oy, oz = abs(x) - s.x, abs(y) - s.y, abs(z) - s.z
    if ox <= 0.0 and oy <= 0.0 and oz <= 0.0:
        if ox >= oy and ox >= oz:
            return ox, (_sign(x), 0.0, 0.0)
        if oy >= oz:
            return oy, (0.0, _sign(y), 0.0)
        return oz, (0.0, 0.0, _sign(z))
    v = (copysign(max(ox, 0.0), x), copysign(max(oy, 0.0), y), copysign(max(oz, 0.0), z))
    return length(v), unit(v)


@jit
def _from_capsule(x: float, y: float, z: float, s: Any) -> Any:
    v = (x, y, z - min(s.y, max(-s.y, z)))
    size = length(v)
    return size - s.x, (unit(v) if size > 0.0 else (1.0, 0.0, 0.0))


@jit
def _section(r: float, z: float, low: float, high: float, half: float) -> Any:
    """Signed distance and normal (radial, axial) in the half plane of a solid of revolution with a trapezium as its section."""
    dr, dz = high - low, 2.0 * half
    slant = sqrt(dr * dr + dz * dz)
    nr, nz = dz / slant, -dr / slant
    side = nr * (r - low) + nz * (z + half)
    ends = abs(z) - half
    if side <= 0.0 and ends <= 0.0:
        if side >= ends:
            return side, nr, nz
        return ends, 0.0, _sign(z)
    t = min(1.0, max(0.0, ((r - low) * dr + (z + half) * dz) / (slant * slant)))
    sr, sz = r - (low + t * dr), z - (t * dz - half)
    radius = high if z > 0.0 else low
    er, ez = max(0.0, r - radius), z - copysign(half, z)
    outside_side, outside_end = sr * sr + sz * sz, er * er + ez * ez
    if side <= 0.0 or (ends > 0.0 and outside_end < outside_side):
        sr, sz, outside_side = er, ez, outside_end
    size = sqrt(outside_side)
    return size, (sr / size if size > 0.0 else nr), (sz / size if size > 0.0 else nz)


@jit
def _from_turned(x: float, y: float, z: float, low: float, high: float, half: float) -> Any:
    r = sqrt(x * x + y * y)
    d, nr, nz = _section(r, z, low, high, half)
    return d, ((nr * x / r, nr * y / r, nz) if r > 0.0 else (nr, 0.0, nz))


@jit
def _from_torus(x: float, y: float, z: float, s: Any) -> Any:
    r = sqrt(x * x + y * y)
    ux, uy = (x / r, y / r) if r > 0.0 else (1.0, 0.0)
    v = (x - s.x * ux, y - s.x * uy, z)
    size = length(v)
    return size - s.y, (unit(v) if size > 0.0 else (0.0, 0.0, 1.0))


@jit
def _from_ellipsoid(x: float, y: float, z: float, s: Any) -> Any:
    """Nearest point by the largest root t of Σ (a x/(t + a²))² = 1 with a² scaled by the least semi-axis; bisection ends at rounding."""
    least = min(s.x, s.y, s.z)
    a, b, c = s.x / least, s.y / least, s.z / least
    px, py, pz = abs(x) / least, abs(y) / least, abs(z) / least
    # nearest points lie in the same octant; a point in a plane of symmetry inside is moved out of it by less than rounding
    tiny = 1e-15 * max(a, b, c)
    px, py, pz = max(px, tiny), max(py, tiny), max(pz, tiny)
    aa, bb, cc = a * a, b * b, c * c
    # t + a² = τ + (a² − 1): τ keeps its digits for points near the middle plane, where t is nearly −1
    da, db, dc = (a - 1.0) * (a + 1.0), (b - 1.0) * (b + 1.0), (c - 1.0) * (c + 1.0)
    low = max(px * a - da, py * b - db, pz * c - dc)
    high = sqrt(aa * px * px + bb * py * py + cc * pz * pz)
    t = high
    for _ in range(1100):
        t = 0.5 * (low + high)
        if t <= low or t >= high:
            break
        u, v, w = a * px / (t + da), b * py / (t + db), c * pz / (t + dc)
        if u * u + v * v + w * w > 1.0:
            low = t
        else:
            high = t
    qx, qy, qz = aa * px / (t + da), bb * py / (t + db), cc * pz / (t + dc)
    n = unit((qx / aa, qy / bb, qz / cc))
    d = (px - qx) * n[0] + (py - qy) * n[1] + (pz - qz) * n[2]
    return d * least, (copysign(n[0], x), copysign(n[1], y), copysign(n[2], z))


@jit
def on_triangle(p: Any, a: Any, b: Any, c: Any) -> Any:
    """Point of a triangle nearest to p, and which part it is on: 0 the inside, 1–3 the edges ab, bc, ca, 4–6 the corners a, b, c."""
    ab, ac, ap = minus(b, a), minus(c, a), minus(p, a)
    d1, d2 = dot(ab, ap), dot(ac, ap)
    if d1 <= 0.0 and d2 <= 0.0:
        return a, 4
    bp = minus(p, b)
    d3, d4 = dot(ab, bp), dot(ac, bp)
    if d3 >= 0.0 and d4 <= d3:
        return b, 5
    vc = d1 * d4 - d3 * d2
    if vc <= 0.0 and d1 >= 0.0 and d3 <= 0.0:
        return plus(a, d1 / (d1 - d3), ab), 1
    cp = minus(p, c)
    d5, d6 = dot(ab, cp), dot(ac, cp)
    if d6 >= 0.0 and d5 <= d6:
        return c, 6
    vb = d5 * d2 - d1 * d6
    if vb <= 0.0 and d2 >= 0.0 and d6 <= 0.0:
        return plus(a, d2 / (d2 - d6), ac), 3
    va = d3 * d6 - d5 * d4
    if va <= 0.0 and d4 - d3 >= 0.0 and d5 - d6 >= 0.0:
        return plus(b, (d4 - d3) / ((d4 - d3) + (d5 - d6)), minus(c, b)), 2
    whole = 1.0 / (va + vb + vc)
    return plus(plus(a, vb * whole, ab), vc * whole, ac), 0


@jit
def _from_hull(scene: Any, q: Any, s: Any) -> Any:
    """The largest distance from a plane inside; outside the nearest point of the faces that are seen."""
    hull, P = scene.hulls[s.hull], scene.face_planes
    depth, n = -1e300, (0.0, 0.0, 1.0)
    for f in range(hull.first_face, hull.first_face + hull.faces):
        d = dot(q, vector(P, f, 0)) - P[f, 3]
        if d > depth:
            depth, n = d, vector(P, f, 0)
    if depth <= 0.0:
        return depth, n
    best, v = 1e300, (0.0, 0.0, 0.0)
    for f in range(hull.first_face, hull.first_face + hull.faces):
        if dot(q, vector(P, f, 0)) > P[f, 3]:
            first = scene.face_corners[2 * f]
            a = vector(scene.vertices, scene.corners[first], 0)
            for k in range(1, scene.face_corners[2 * f + 1] - 1):
                b, c = vector(scene.vertices, scene.corners[first + k], 0), vector(scene.vertices, scene.corners[first + k + 1], 0)
                on, _part = on_triangle(q, a, b, c)
                away = minus(q, on)
                if dot(away, away) < best:
                    best, v = dot(away, away), away
    if sqrt(best) <= 1e-12 * s.size + depth:  # over a face: its own normal, which does not fade where the point touches it
        return depth, n
    return sqrt(best), times(1.0 / sqrt(best), v)


@jit
def nearest(scene: Any, i: int, p: Any, q: Any) -> Any:
    """Signed distance of the point q from shape i with its origin at p, and the outward normal; all in the world's axes."""
    s, local = scene.solids[i], inward(scene.world, i, minus(q, p))
    x, y, z = local[0], local[1], local[2]
    d, n = 0.0, (0.0, 0.0, 1.0)
    if s.kind == SPHERE:
        d, n = length(local) - s.x, unit(local)
    elif s.kind == CAPSULE:
        d, n = _from_capsule(x, y, z, s)
    elif s.kind == BOX:
        d, n = _from_box(x, y, z, s)
    elif s.kind == CYLINDER:
        d, n = _from_turned(x, y, z, s.x, s.x, s.y)
    elif s.kind == CONE:
        d, n = _from_turned(x, y, z, s.x, s.y, s.z)
    elif s.kind == ELLIPSOID:
        d, n = _from_ellipsoid(x, y, z, s)
    elif s.kind == TORUS:
        d, n = _from_torus(x, y, z, s)
    elif s.kind == POLYHEDRON:
        d, n = _from_hull(scene, local, s)
    else:
        d = z
    return d, outward(scene.world, i, n)
