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
def _reach(scene: Any, i: int, l: Any) -> float:
    """Half the width of a box along a unit vector."""
    s, R = scene.solids[i], scene.world
    return s.x * abs(dot(l, axis(R, i, 0))) + s.y * abs(dot(l, axis(R, i, 1))) + s.z * abs(dot(l, axis(R, i, 2)))  # type: ignore[no-any-return]


@jit
def box_axes(scene: Any, a: int, b: int, pb: Any, near: float) -> Any:
    """The largest separation of two boxes along one of the fifteen axes, and that axis from b to a; looks no further beyond ``near``."""
    R, best, n = scene.world, NEVER, (0.0, 0.0, 1.0)
    size = scene.solids[a].size + scene.solids[b].size
    for k in range(6):
        box, other = (a, b) if k < 3 else (b, a)
        s = scene.solids[box]
        c = k if k < 3 else k - 3
        own = s.x if c == 0 else s.y if c == 1 else s.z
        l = axis(R, box, c)
        distance = dot(l, pb)
        separation = abs(distance) - own - _reach(scene, other, l)
        if separation > best:
            sign = -1.0 if distance > 0.0 else 1.0
            best, n = separation, (sign * l[0], sign * l[1], sign * l[2])
    if best > near:
        return best, n
    for i in range(3):
        for j in range(3):
            l = cross(axis(R, a, i), axis(R, b, j))
            square = dot(l, l)
            if square < 1e-12:  # parallel edges: faces say it
                continue
            scale = 1.0 / sqrt(square)
            l = (scale * l[0], scale * l[1], scale * l[2])
            distance = dot(l, pb)
            separation = abs(distance) - _reach(scene, a, l) - _reach(scene, b, l)
            if separation > best + EDGE_HANDICAP * size:
                sign = -1.0 if distance > 0.0 else 1.0
                best, n = separation, (sign * l[0], sign * l[1], sign * l[2])
                if best > near:
                    return best, n
    return best, n
