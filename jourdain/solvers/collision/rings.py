"""A torus (a wheel, a ring) against other shapes: a sphere carried along its centre line.

The distance from the centre line is sampled at sections all around and made least between them, so that a wheel finds every place at which it
touches: both sides of a groove, a kerb and the road.  Where it does not change (a ring that lies flat), eight fixed sections carry; beside a place at which
a ring that leans touches, and rolls, there is none.
"""

from __future__ import annotations

from math import cos, pi, sin, sqrt
from typing import Any

from ...native.kernel import jit, kernel
from .curvature import curvature
from .nearest import nearest
from .records import TORUS, World, between, emit
from .supports import CIRCLE, HALF, LEANS, RIM
from .triangles import ball_on, box_in_surface, from_triangle, load, next_triangle, unite_contacts
from .vectors import axis, dot, outward, plus, unit

#: Sections at which the distance is sampled, three between those that always count, and the angle from one to the next as cosine and sine.
SECTIONS = 3 * RIM
STEP = (cos(2.0 * pi / SECTIONS), sin(2.0 * pi / SECTIONS))
#: Slopes below this do not change the distance; numbers of fixed sections begin after those of places found.
STEEP, FIXED = 1e-9, 16


@jit
def _ring_point(scene: Any, pb: Any, x: float, y: float) -> Any:
    """A point of the centre line of the torus (the second shape, or the first where the second is a surface) and the tangent there."""
    torus, p = (scene.b, pb) if scene.solids[scene.b].kind == TORUS else (scene.a, (0.0, 0.0, 0.0))
    return plus(p, scene.solids[torus].x, outward(scene.world, torus, (x, y, 0.0))), outward(scene.world, torus, (-y, x, 0.0))


@jit
def _slope(scene: Any, pb: Any, normal: Any, x: float, y: float) -> Any:
    """Distance of a point of the centre line from the other shape, and how it changes along the line."""
    c, t = _ring_point(scene, pb, x, y)
    if scene.triangle > 0:
        d, n, _part = from_triangle(scene, c, normal)
        return d, dot(n, t)
    d, n = nearest(scene, scene.a, (0.0, 0.0, 0.0), c)
    return d, dot(n, t)


@jit
def _leans(scene: Any, pb: Any, normal: Any, x: float, y: float) -> float:
    """Sine of the angle between the axis of the torus and the direction to the other shape at a section."""
    torus, (c, _t) = (scene.b if scene.triangle == 0 else scene.a), _ring_point(scene, pb, x, y)
    n = from_triangle(scene, c, normal)[1] if scene.triangle > 0 else nearest(scene, scene.a, (0.0, 0.0, 0.0), c)[1]
    along = dot(n, axis(scene.world, torus, 2))
    return sqrt(max(0.0, 1.0 - along * along))


@jit
def _least_between(scene: Any, pb: Any, normal: Any, x0: float, y0: float, x1: float, y1: float) -> Any:
    """Direction in which the slope vanishes between two directions, by bisection of the angle."""
    x, y = x0, y0
    for _ in range(54):
        x, y = x0 + x1, y0 + y1
        k = 1.0 / sqrt(x * x + y * y)
        x, y = k * x, k * y
        _d, slope = _slope(scene, pb, normal, x, y)
        if slope > 0.0:
            x1, y1 = x, y
        else:
            x0, y0 = x, y
    return x, y


@jit
def _contact(scene: Any, pb: Any, x: float, y: float, feature: int, least: bool) -> None:
    """A contact with a convex shape at the section by direction (x, y): the point of the torus that looks at shape a, and what is nearest to it there.

    Where the distance is least along the centre line, or does not change, the normal lies in the section, and distance and depth follow from the
    centre of the section; at others the nearest point is sought again, as long as that centre is outside shape a.
    """
    a, b = scene.a, scene.b
    r = scene.solids[b].y
    c, t = _ring_point(scene, pb, x, y)
    d, n = nearest(scene, a, (0.0, 0.0, 0.0), c)
    if not least:
        leans = _leans(scene, pb, n, x, y)
        if leans > LEANS and abs(dot(n, t)) < HALF[1] * leans:
            return
    q = plus(c, -r, n)
    if least or abs(dot(n, t)) < STEEP:
        d -= r
    elif d > 0.0:
        q = plus(c, -r, unit(plus(n, -dot(n, t), t)))
        d, n = nearest(scene, a, (0.0, 0.0, 0.0), q)
    else:
        return
    if d <= scene.near:
        on_a, back = plus(q, -d, n), (-n[0], -n[1], -n[2])
        emit(scene, on_a, q, back, feature, curvature(scene, a, (0.0, 0.0, 0.0), on_a, n), curvature(scene, b, pb, q, back))


@jit
def _on_triangle(scene: Any, pb: Any, normal: Any, x: float, y: float, feature: int, least: bool) -> None:
    """A contact with the present triangle at a section, likewise; sections between least distances are left to their neighbours."""
    _d, slope = _slope(scene, pb, normal, x, y)
    if least or abs(slope) < STEEP:
        c, _t = _ring_point(scene, pb, x, y)
        hull = scene.hulls[scene.solids[scene.b].hull]
        ball_on(scene, hull, scene.triangle - 1, normal, c, scene.solids[scene.a].y, feature)


@jit
def _around(scene: Any, pb: Any, normal: Any, tube: float, ring_radius: float) -> None:
    """Goes around the centre line from section to section; the distance is least between two of them, or at one."""
    x0, y0 = STEP[0], -STEP[1]
    _, before = _slope(scene, pb, normal, x0 * STEP[0] + y0 * STEP[1], y0 * STEP[0] - x0 * STEP[1])
    d0, slope0 = _slope(scene, pb, normal, x0, y0)
    x, y, minima = 1.0, 0.0, 0
    for k in range(SECTIONS):
        if k % 3 == 0:
            x, y = CIRCLE[k // 3][0], CIRCLE[k // 3][1]
            if scene.triangle > 0:
                _on_triangle(scene, pb, normal, x, y, FIXED + k, False)
            else:
                _contact(scene, pb, x, y, FIXED + k, False)
        else:
            x, y = x * STEP[0] - y * STEP[1], y * STEP[0] + x * STEP[1]
        d, slope = _slope(scene, pb, normal, x, y)
        at_section = abs(slope0) <= STEEP and before < -STEEP and slope > STEEP and _leans(scene, pb, normal, x0, y0) > LEANS
        if (slope0 < -STEEP or at_section) and slope > STEEP and min(d0, d) - tube <= scene.near + 0.3 * ring_radius:
            xm, ym = x0, y0
            if not at_section:
                xm, ym = _least_between(scene, pb, normal, x0, y0, x, y)
            if scene.triangle > 0:
                _on_triangle(scene, pb, normal, xm, ym, minima, True)
            else:
                _contact(scene, pb, xm, ym, minima, True)
            minima += 1
        x0, y0, d0, before, slope0 = x, y, d, slope0, slope


@kernel
def ring(address: int) -> int:
    """Any shape but a half-space and a surface, and a torus."""
    scene = World.at(address)
    torus = scene.solids[scene.b]
    _around(scene, between(scene), (0.0, 0.0, 1.0), torus.y, torus.x)
    return 0


@kernel
def ring_on_surface(address: int) -> int:
    """A torus and a surface of triangles."""
    scene = World.at(address)
    pb, torus, hull = between(scene), scene.solids[scene.a], scene.hulls[scene.solids[scene.b].hull]
    box_in_surface(scene, pb)
    depth, t, first = 1, 0, scene.count
    scene.stack[0] = 1
    while t >= 0:
        t, depth = next_triangle(scene, hull, depth)
        if t >= 0:
            _around(scene, pb, load(scene, hull, t, pb), torus.y, torus.x)
    unite_contacts(scene, first)
    scene.triangle = 0
    return 0
