"""Curvatures of surfaces at a contact, for Hertz's law."""

from __future__ import annotations

from math import pi, sqrt
from typing import Any

from ...native.kernel import jit
from .records import CAPSULE, CONE, CYLINDER, ELLIPSOID, SPHERE, TORUS
from .vectors import inward, minus

#: Normals this near to the side of a solid of revolution belong to it.
ON_SIDE = 1e-9
#: The smallest ratio A/B of curvatures that is still an ellipse.
SMALLEST_RATIO = 1e-6
PI = pi


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


@jit
def _bent(world: Any, i: int, x: float, y: float, z: float, axes: Any) -> Any:
    """Curvatures (1/m) of shape i at a point of the world along the two tangents of ``axes``, and between them."""
    s = world.solids[i]
    if s.kind == SPHERE:
        return 1.0 / s.x, 0.0, 1.0 / s.x
    if s.kind != CAPSULE and s.kind != CYLINDER and s.kind != CONE and s.kind != ELLIPSOID and s.kind != TORUS:
        return 0.0, 0.0, 0.0
    place = world.world
    q = inward(place, i, (x - place[i, 9], y - place[i, 10], z - place[i, 11]))
    m, t, w = (
        inward(place, i, (axes[0], axes[1], axes[2])),
        inward(place, i, (axes[3], axes[4], axes[5])),
        inward(place, i, (axes[6], axes[7], axes[8])),
    )
    if s.kind == ELLIPSOID:
        a, b, c = 1.0 / (s.x * s.x), 1.0 / (s.y * s.y), 1.0 / (s.z * s.z)
        over = 1.0 / sqrt(a * a * q[0] * q[0] + b * b * q[1] * q[1] + c * c * q[2] * q[2])
        return (
            over * (a * t[0] * t[0] + b * t[1] * t[1] + c * t[2] * t[2]),
            over * (a * t[0] * w[0] + b * t[1] * w[1] + c * t[2] * w[2]),
            over * (a * w[0] * w[0] + b * w[1] * w[1] + c * w[2] * w[2]),
        )
    rho, out = sqrt(m[0] * m[0] + m[1] * m[1]), sqrt(q[0] * q[0] + q[1] * q[1])
    along, around = 0.0, 0.0  # along the axis of revolution (or a circle of the torus), and around it
    if s.kind == CAPSULE:
        around = 1.0 / s.x
        along = 0.0 if abs(m[2]) < ON_SIDE else around
    elif s.kind == CYLINDER:
        around = 1.0 / s.x if abs(m[2]) < ON_SIDE else 0.0
    elif s.kind == CONE:
        slant = sqrt(4.0 * s.z * s.z + (s.x - s.y) * (s.x - s.y))
        around = 2.0 * s.z / (slant * out) if rho > 0.0 and out > 0.0 and abs(abs(m[2]) - abs(s.x - s.y) / slant) < ON_SIDE else 0.0
    elif out > 0.0:
        along, around = 1.0 / s.y, (rho if out >= s.x else -rho) / out
    if rho <= ON_SIDE or along == around:
        return around, 0.0, around
    ex, ey = -m[1] / rho, m[0] / rho  # around the axis
    a, b = ex * t[0] + ey * t[1], ex * w[0] + ey * w[1]
    more = around - along
    return along + more * a * a, more * a * b, along + more * b * b


@jit
def _ellipse(k: float) -> Any:
    """Of an ellipse of contact with axes in the ratio k: A/B, and π q_k, by arithmetic-geometric means of K and E (m = 1 − k²)."""
    a, b, total, power = 1.0, k, 1.0 - k * k, 1.0
    while abs(a - b) > 1e-15 * a:
        a, b, c = 0.5 * (a + b), sqrt(a * b), 0.5 * (a - b)
        power *= 2.0
        total += power * c * c
    K = 0.5 * PI / a
    difference = 0.5 * K * total  # K − E
    E, m = K - difference, 1.0 - k * k
    D = difference / m
    return k * k * D / (K - D), PI * sqrt(k * D + (K - D) / k) * 0.5 * k / ((k * K) * sqrt(k * K)), E


@jit
def patch_curvature(world: Any, contact: Any, axes: Any) -> float:
    """The sum of mean curvatures of a round patch that would be as stiff as the ellipse of contact: (A + B)/(π q_k)².

    Lines (A = 0) and saddles have no ellipse, and count as round.
    """
    mean = contact.curvature_a + contact.curvature_b
    first, second = world.solids[contact.shape_a].kind, world.solids[contact.shape_b].kind
    if first <= SPHERE and second <= SPHERE:
        return mean  # type: ignore[no-any-return]
    a1, b1, c1 = _bent(world, contact.shape_a, contact.ax, contact.ay, contact.az, axes)
    a2, b2, c2 = _bent(world, contact.shape_b, contact.bx, contact.by, contact.bz, axes)
    a, b, c = a1 + a2, b1 + b2, c1 + c2
    total, spread = a + c, sqrt((a - c) * (a - c) + 4.0 * b * b)
    ratio = (total - spread) / (total + spread) if total + spread > 0.0 else 1.0
    if ratio < SMALLEST_RATIO or ratio > 1.0 - 1e-9 or abs(0.5 * total - mean) > 1e-6 * abs(mean):
        return mean  # type: ignore[no-any-return]
    low, high = 1e-4, 1.0 - 1e-9
    for _ in range(60):
        k = sqrt(low * high)
        if _ellipse(k)[0] < ratio:
            low = k
        else:
            high = k
    factor = _ellipse(sqrt(low * high))[1]
    return mean / (factor * factor)  # type: ignore[no-any-return]
