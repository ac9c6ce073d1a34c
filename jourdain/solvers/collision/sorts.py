"""Which entry point looks at a pair of kinds."""

from __future__ import annotations

from typing import Any

from .meetings import ball, boxes, capsules, convex, on_plane
from .records import BOX, CAPSULE, CONE, CYLINDER, ELLIPSOID, MESH, PLANE, POLYHEDRON, SPHERE, TORUS
from .rings import ring, ring_on_surface
from .triangles import on_surface, surface_on_plane

_CONVEX = (CAPSULE, BOX, CYLINDER, CONE, ELLIPSOID, POLYHEDRON)
#: Entry points by kinds, the smaller first.
SORTS: dict[tuple[int, int], Any] = {
    **{(PLANE, k): on_plane for k in (SPHERE, *_CONVEX, TORUS)},
    (PLANE, MESH): surface_on_plane,
    **{(SPHERE, k): ball for k in (SPHERE, *_CONVEX, TORUS)},
    **{(first, second): convex for i, first in enumerate(_CONVEX) for second in _CONVEX[i:]},
    (CAPSULE, CAPSULE): capsules,
    (BOX, BOX): boxes,
    **{(k, TORUS): ring for k in (*_CONVEX, TORUS)},
    **{(k, MESH): on_surface for k in (SPHERE, *_CONVEX)},
    (TORUS, MESH): ring_on_surface,
}
