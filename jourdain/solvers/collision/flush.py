"""Contacts with an edge beyond which another shape goes on at the same height: nothing strikes there.

A block that slides over tiles laid side by side is apart from the next tile along its way until it is above it, and the nearest points are on two edges.  Along the normal of the
tile's upper face the two neither penetrate nor are apart, so that one slides onto the other.
"""

from __future__ import annotations

from typing import Any

from ...native.kernel import hot, jit
from .records import BOX, CONE, CYLINDER, PLANE, POLYHEDRON
from .supports import rounding, support
from .vectors import axis, dot, inward, minus, outward, vector

#: Products of normals that are nearly the same: what curves strikes an edge so, deep enough along the face beside it to be no matter of height.
SAME = 1.0 - 1e-6


@hot
def _apart_along(scene: Any, a: int, b: int, f: Any) -> float:
    """How far two convex shapes are apart along a direction, whichever lies beyond the other; negative where they overlap."""
    back, pa, pb = (-f[0], -f[1], -f[2]), vector(scene.world, a, 9), vector(scene.world, b, 9)
    over = dot(f, minus(support(scene, a, pa, back), support(scene, b, pb, f)))
    under = dot(f, minus(support(scene, b, pb, back), support(scene, a, pa, f)))
    return max(over, under) - rounding(scene, a) - rounding(scene, b)  # type: ignore[no-any-return]


@hot
def _is_convex(scene: Any, i: int) -> bool:
    """Whether a shape is no half-space, ring or surface of triangles, whose own edges know their neighbours."""
    return PLANE < scene.solids[i].kind <= POLYHEDRON  # type: ignore[no-any-return]


@hot
def _faces(scene: Any, i: int) -> int:
    """How many directions a shape has flat faces in."""
    kind = scene.solids[i].kind
    if kind == BOX:
        return 3
    if kind == POLYHEDRON:
        return scene.hulls[scene.solids[i].hull].faces  # type: ignore[no-any-return]
    return 1 if CYLINDER <= kind <= CONE else 0


@hot
def _normal(scene: Any, i: int, k: int) -> Any:
    """The normal of a flat face, or of two that are opposite."""
    s = scene.solids[i]
    if s.kind == POLYHEDRON:
        return outward(scene.world, i, vector(scene.face_planes, scene.hulls[s.hull].first_face + k, 0))
    return axis(scene.world, i, k if s.kind == BOX else 2)


@hot
def _holds(scene: Any, i: int, k: int, point: Any, tolerance: float) -> bool:
    """Whether a point is on such a face; of faces in pairs it need not be asked."""
    s = scene.solids[i]
    if s.kind != POLYHEDRON:
        return True
    face = scene.hulls[s.hull].first_face + k
    local = inward(scene.world, i, minus(point, vector(scene.world, i, 9)))
    return abs(dot(local, vector(scene.face_planes, face, 0)) - scene.face_planes[face, 3]) <= tolerance  # type: ignore[no-any-return]


@jit
def is_flush(scene: Any, contact: Any, tolerance: float) -> bool:
    """Whether shapes that do not penetrate are flush along a face that the contact does not stand on; places are those that the scene has last been asked for."""
    n = (contact.nx, contact.ny, contact.nz)
    if contact.gap < -tolerance or not (_is_convex(scene, contact.shape_a) and _is_convex(scene, contact.shape_b)):
        return False
    for side in (0, 1):
        i = contact.shape_a if side == 0 else contact.shape_b
        point = (contact.ax, contact.ay, contact.az) if side == 0 else (contact.bx, contact.by, contact.bz)
        for k in range(_faces(scene, i)):
            f = _normal(scene, i, k)
            if (
                abs(dot(n, f)) < SAME
                and _holds(scene, i, k, point, tolerance)
                and abs(_apart_along(scene, contact.shape_a, contact.shape_b, f)) <= tolerance
            ):
                return True
    return False


__all__ = ["is_flush"]
