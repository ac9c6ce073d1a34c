"""Mean curvatures of surfaces at a contact, for Hertz's law."""

from __future__ import annotations

from math import sqrt
from typing import Any

from ...native.kernel import jit
from .records import CAPSULE, CONE, CYLINDER, ELLIPSOID, SPHERE, TORUS
from .vectors import inward, minus

#: Normals this near to the side of a solid of revolution belong to it.
ON_SIDE = 1e-9


@jit
def curvature(scene: Any, i: int, p: Any, q: Any, n: Any) -> float:
    """Mean of the principal curvatures (1/m) at a point q of a shape at p with the outward normal n; zero where flat, at edges and corners."""
    s = scene.solids[i]
    if s.kind == SPHERE:
        return 1.0 / s.x  # type: ignore[no-any-return]
    if s.kind != CAPSULE and s.kind != CYLINDER and s.kind != CONE and s.kind != ELLIPSOID and s.kind != TORUS:
        return 0.0
    x, y, z = inward(scene.world, i, minus(q, p))
    m = inward(scene.world, i, n)
    if s.kind == CAPSULE:
        return (0.5 if abs(m[2]) < ON_SIDE else 1.0) / s.x  # type: ignore[no-any-return]
    out = sqrt(x * x + y * y)
    if s.kind == CYLINDER:
        return 0.5 / s.x if abs(m[2]) < ON_SIDE else 0.0  # type: ignore[no-any-return]
    if s.kind == CONE:
        slant = sqrt(4.0 * s.z * s.z + (s.x - s.y) * (s.x - s.y))
        side = abs(m[2] - (s.x - s.y) / slant) < ON_SIDE and out > 0.0
        return s.z / (slant * out) if side else 0.0  # type: ignore[no-any-return]
    if s.kind == TORUS:
        rho = sqrt(m[0] * m[0] + m[1] * m[1])
        inner = rho if out >= s.x else -rho
        return 0.5 * (1.0 / s.y + inner / out)  # type: ignore[no-any-return]
    # 2H = tr(∇∇f)/|∇f| − ∇f·∇∇f ∇f/|∇f|³ with f = ½ Σ (x/a)²
    a, b, c = 1.0 / (s.x * s.x), 1.0 / (s.y * s.y), 1.0 / (s.z * s.z)
    g = (x * a, y * b, z * c)
    gg = g[0] * g[0] + g[1] * g[1] + g[2] * g[2]
    return 0.5 * (a + b + c - (a * g[0] * g[0] + b * g[1] * g[1] + c * g[2] * g[2]) / gg) / sqrt(gg)
