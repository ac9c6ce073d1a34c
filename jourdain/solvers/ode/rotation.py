"""Unit quaternions (scalar first, angular velocity in body axes) inside native loops: exponential, rate, tangent of the exponential."""

from __future__ import annotations

import math
from typing import Any

from ...native.kernel import jit


@jit
def turn(q: Any, iq: int, x: float, y: float, z: float, out: Any) -> None:
    """out = q ∘ exp(rotation vector), normalised."""
    half = 0.5 * math.sqrt(x * x + y * y + z * z)
    c = math.cos(half)
    s = 0.5 * (math.sin(half) / half if half > 1e-8 else 1.0 - half * half / 6.0)
    x, y, z = s * x, s * y, s * z
    e0, e1, e2, e3 = q[iq], q[iq + 1], q[iq + 2], q[iq + 3]
    n0 = e0 * c - (e1 * x + e2 * y + e3 * z)
    n1 = e1 * c + e0 * x + e2 * z - e3 * y
    n2 = e2 * c + e0 * y + e3 * x - e1 * z
    n3 = e3 * c + e0 * z + e1 * y - e2 * x
    scale = 1.0 / math.sqrt(n0 * n0 + n1 * n1 + n2 * n2 + n3 * n3)
    out[iq], out[iq + 1], out[iq + 2], out[iq + 3] = scale * n0, scale * n1, scale * n2, scale * n3


@jit
def displaced(q: Any, nq: int, turns: Any, d: Any, scale: float, out: Any) -> None:
    """out = q ∘ exp(scale·d) of nq positions, ``turns`` the first position and first velocity of each quaternion among them, in order."""
    iq, iv, k, n = 0, 0, 0, turns.size // 2
    while iq < nq:
        if k < n and turns[2 * k] == iq:
            turn(q, iq, scale * d[iv], scale * d[iv + 1], scale * d[iv + 2], out)
            iq, iv, k = iq + 4, iv + 3, k + 1
        else:
            out[iq] = q[iq] + scale * d[iv]
            iq, iv = iq + 1, iv + 1


@jit
def nearest_rotation(R: Any) -> None:
    """Turns nine numbers near a rotation matrix into the nearest one: R ← ½ R (3 − RᵀR), which squares what is missing."""
    for _ in range(7):
        a, b, c = R[0] * R[0] + R[3] * R[3] + R[6] * R[6], R[1] * R[1] + R[4] * R[4] + R[7] * R[7], R[2] * R[2] + R[5] * R[5] + R[8] * R[8]
        d, e, f = R[0] * R[1] + R[3] * R[4] + R[6] * R[7], R[0] * R[2] + R[3] * R[5] + R[6] * R[8], R[1] * R[2] + R[4] * R[5] + R[7] * R[8]
        for i in (0, 3, 6):
            x, y, z = R[i], R[i + 1], R[i + 2]
            R[i] = 0.5 * ((3.0 - a) * x - d * y - e * z)
            R[i + 1] = 0.5 * ((3.0 - b) * y - d * x - f * z)
            R[i + 2] = 0.5 * ((3.0 - c) * z - e * x - f * y)


@jit
def quaternion_rate(q: Any, iq: int, x: float, y: float, z: float, out: Any) -> None:
    """out = ½ q ∘ (0, ω)."""
    e0, e1, e2, e3 = q[iq], q[iq + 1], q[iq + 2], q[iq + 3]
    x, y, z = 0.5 * x, 0.5 * y, 0.5 * z
    out[iq] = -(e1 * x + e2 * y + e3 * z)
    out[iq + 1] = e0 * x + e2 * z - e3 * y
    out[iq + 2] = e0 * y + e3 * x - e1 * z
    out[iq + 3] = e0 * z + e1 * y - e2 * x


@jit
def position_rates(nq: int, count: int, turns: Any, q: Any, v: Any, out: Any) -> None:
    """q̇ = N(q) v."""
    iq, iv, k = 0, 0, 0
    while iq < nq:
        if k < count and turns[2 * k] == iq:
            quaternion_rate(q, iq, v[iv], v[iv + 1], v[iv + 2], out)
            iq, iv, k = iq + 4, iv + 3, k + 1
        else:
            out[iq] = v[iv]
            iq, iv = iq + 1, iv + 1


@jit
def tangent_column(theta: Any, iv: int, j: int) -> Any:
    """Column j of T(θ): the rotation increment (body axes) of exp(θ) for a change of θ."""
    x, y, z = theta[iv], theta[iv + 1], theta[iv + 2]
    square = x * x + y * y + z * z
    angle = math.sqrt(square)
    if angle > 1e-4:
        b, c = (1.0 - math.cos(angle)) / square, (angle - math.sin(angle)) / (square * angle)
    else:
        b, c = 0.5 - square / 24.0, 1.0 / 6.0 - square / 120.0
    d = (1.0 if j == 0 else 0.0, 1.0 if j == 1 else 0.0, 1.0 if j == 2 else 0.0)
    c1 = (y * d[2] - z * d[1], z * d[0] - x * d[2], x * d[1] - y * d[0])
    c2 = (y * c1[2] - z * c1[1], z * c1[0] - x * c1[2], x * c1[1] - y * c1[0])
    return d[0] - b * c1[0] + c * c2[0], d[1] - b * c1[1] + c * c2[1], d[2] - b * c1[2] + c * c2[2]
