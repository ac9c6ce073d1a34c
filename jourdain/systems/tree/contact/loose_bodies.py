"""Bodies that nothing holds: three slides from the ground and a ball, in closed form instead of four links.

With the velocity ẋ of the body's origin in the world's axes and ω in its own, first moment m c and inertia I about the origin,

    m a + ω̇ × m c + ω × (ω × m c) = Rᵀf + F,    I ω̇ + ω × I ω + m c × a = τ + T,    a = Rᵀ(ẍ − g),

where f, τ are generalised forces and F, T a wrench in the body's axes.
"""

from __future__ import annotations

import math
from typing import Any

from ....native.kernel import hot, jit


@hot
def turned(q: Any, at: int) -> Any:
    """The rotation (body's to world's axes) of the quaternion at ``at``, row by row."""
    e0, e1, e2, e3 = q[at], q[at + 1], q[at + 2], q[at + 3]
    return (
        1.0 - 2.0 * (e2 * e2 + e3 * e3), 2.0 * (e1 * e2 - e0 * e3), 2.0 * (e1 * e3 + e0 * e2),
        2.0 * (e1 * e2 + e0 * e3), 1.0 - 2.0 * (e1 * e1 + e3 * e3), 2.0 * (e2 * e3 - e0 * e1),
        2.0 * (e1 * e3 - e0 * e2), 2.0 * (e2 * e3 + e0 * e1), 1.0 - 2.0 * (e1 * e1 + e2 * e2),
    )  # fmt: skip


@hot
def _cross(a: Any, b: Any) -> Any:
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@hot
def _outwards(R: Any, a: Any) -> Any:
    return R[0] * a[0] + R[1] * a[1] + R[2] * a[2], R[3] * a[0] + R[4] * a[1] + R[5] * a[2], R[6] * a[0] + R[7] * a[1] + R[8] * a[2]


@hot
def _inwards(R: Any, a: Any) -> Any:
    return R[0] * a[0] + R[3] * a[1] + R[6] * a[2], R[1] * a[0] + R[4] * a[1] + R[7] * a[2], R[2] * a[0] + R[5] * a[1] + R[8] * a[2]


@hot
def _times(S: Any, a: Any) -> Any:
    """A symmetric matrix (xx, yy, zz, xy, xz, yz) times a vector."""
    return S[0] * a[0] + S[3] * a[1] + S[4] * a[2], S[3] * a[0] + S[1] * a[1] + S[5] * a[2], S[4] * a[0] + S[5] * a[1] + S[2] * a[2]


@hot
def inverse_inertia(link: Any) -> Any:
    """I_c⁻¹ about the centre of mass (xx, yy, zz, xy, xz, yz), the centre c, and 1/m; 1/m = 0 where there is no inertia."""
    m = link.mass
    over = 1.0 / m if m > 0.0 else 0.0
    c = (link.moment_0 * over, link.moment_1 * over, link.moment_2 * over)
    a = link.inertia_0 - m * (c[1] * c[1] + c[2] * c[2])
    b = link.inertia_1 - m * (c[0] * c[0] + c[2] * c[2])
    d = link.inertia_2 - m * (c[0] * c[0] + c[1] * c[1])
    e, f, g = link.inertia_3 + m * c[0] * c[1], link.inertia_4 + m * c[0] * c[2], link.inertia_5 + m * c[1] * c[2]
    x, y, z = b * d - g * g, f * g - d * e, e * g - b * f
    determinant = a * x + e * y + f * z
    size = max(a, b, d)
    if not (m > 0.0 and determinant > 1e-39 * size * size * size):
        return (0.0, 0.0, 0.0, 0.0, 0.0, 0.0), c, 0.0
    one = 1.0 / determinant
    return (x * one, (a * d - f * f) * one, (a * b - e * e) * one, y * one, z * one, (e * f - a * g) * one), c, over


@hot
def response(R: Any, inverse: Any, c: Any, over: float, f: Any, t: Any) -> Any:
    """Accelerations (world's and body's axes) by a force in the body's axes at the origin and a moment."""
    ct = _cross(c, f)
    w = _times(inverse, (t[0] - ct[0], t[1] - ct[1], t[2] - ct[2]))
    wc = _cross(w, c)
    return _outwards(R, (f[0] * over - wc[0], f[1] * over - wc[1], f[2] * over - wc[2])), w


@jit
def loose_acceleration(link: Any, q: Any, v: Any, u: Any, push: Any, wrench: Any, gravity: Any, a: Any) -> bool:
    """ẍ and ω̇ of one body from its coordinates, generalised forces, a force in the world's axes and a wrench in its own; False without inertia."""
    R, w = turned(q, 3), (v[3], v[4], v[5])
    inverse, c, over = inverse_inertia(link)
    moment = (link.moment_0, link.moment_1, link.moment_2)
    f, spin = _inwards(R, (u[0] + push[0], u[1] + push[1], u[2] + push[2])), _cross(w, _cross(w, moment))
    I = (link.inertia_0, link.inertia_1, link.inertia_2, link.inertia_3, link.inertia_4, link.inertia_5)
    gyro = _cross(w, _times(I, w))
    f = (f[0] + wrench[0] - spin[0], f[1] + wrench[1] - spin[1], f[2] + wrench[2] - spin[2])
    t = (u[3] + wrench[3] - gyro[0], u[4] + wrench[4] - gyro[1], u[5] + wrench[5] - gyro[2])
    x, turn = response(R, inverse, c, over, f, t)
    a[0], a[1], a[2] = x[0] + gravity[0], x[1] + gravity[1], x[2] + gravity[2]
    a[3], a[4], a[5] = turn[0], turn[1], turn[2]
    return over > 0.0


@jit
def loose_factor(link: Any, q: Any, B: Any) -> bool:
    """B (36 numbers) with M⁻¹ = B Bᵀ of one body at its coordinates: v = B v′ with v′ = (√m ẋ_c, C⁻¹ω), I_c⁻¹ = C Cᵀ, so that its energy is ½ v′²."""
    inverse, c, over = inverse_inertia(link)
    if not over > 0.0:
        return False
    R, a = turned(q, 3), math.sqrt(inverse[0])
    b, d = inverse[3] / a, inverse[4] / a
    e = math.sqrt(max(inverse[1] - b * b, 0.0))  # of thin rods rounding alone may be left
    f = (inverse[5] - d * b) / e if e > 0.0 else 0.0
    g = math.sqrt(max(inverse[2] - d * d - f * f, 0.0))
    for i in range(36):
        B[i] = 0.0
    B[0] = B[7] = B[14] = math.sqrt(over)
    B[21], B[27], B[28], B[33], B[34], B[35] = a, b, e, d, f, g
    if c[0] != 0.0 or c[1] != 0.0 or c[2] != 0.0:  # ẋ = ẋ_c + R (c × ω)
        x, y, z = _outwards(R, _cross(c, (a, b, d))), _outwards(R, _cross(c, (0.0, e, f))), _outwards(R, _cross(c, (0.0, 0.0, g)))
        B[3], B[9], B[15], B[4], B[10], B[16], B[5], B[11], B[17] = x[0], x[1], x[2], y[0], y[1], y[2], z[0], z[1], z[2]
    return True


@jit
def loose_poses(q: Any, size: int, rows: Any) -> None:
    """Poses of the four links of one body, each a rotation and a place, in rows of ``size`` numbers."""
    for i in range(3 * size):
        rows[i] = 0.0
    for k in range(3):
        at = size * k
        rows[at] = rows[at + 4] = rows[at + 8] = 1.0
        for i in range(k + 1):
            rows[at + 9 + i] = q[i]
    R, own = turned(q, 3), rows[3 * size :]
    own[0], own[1], own[2], own[3], own[4], own[5], own[6], own[7], own[8] = R
    own[9], own[10], own[11] = q[0], q[1], q[2]


__all__ = ["inverse_inertia", "loose_acceleration", "loose_factor", "loose_poses", "turned"]
