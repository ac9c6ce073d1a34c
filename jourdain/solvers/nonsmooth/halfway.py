"""Half the way from rows of J to what impulses do: Y = L⁻ᵀJᵀ, with which W = J M⁻¹Jᵀ = YᵀY and M⁻¹Jᵀ p = L⁻¹ Y p.

Mass matrices are M = LᵀL of trees (:mod:`..linear.inwards`), in which Y has numbers on the way from a contact to the root alone, and M⁻¹ = B Bᵀ of bodies that nothing holds:
L⁻¹ = B.  Constraints are not heeded.
"""

from __future__ import annotations

from typing import Any

from ...native.kernel import hot, jit
from ..linear.inwards import to_root_three, to_tips


@hot
def body_halfway(B: Any, J: Any, i: int, y: Any) -> None:
    """y = Bᵀ J of a body that nothing holds, from place i on."""
    s, a, b, c, d, e, f = B[0], J[i], J[i + 1], J[i + 2], J[i + 3], J[i + 4], J[i + 5]
    y[i], y[i + 1], y[i + 2] = s * a, s * b, s * c
    y[i + 3] = (B[3] * a + B[9] * b + B[15] * c) + (B[21] * d + B[27] * e + B[33] * f)
    y[i + 4] = (B[4] * a + B[10] * b + B[16] * c) + (B[28] * e + B[34] * f)
    y[i + 5] = (B[5] * a + B[11] * b + B[17] * c) + B[35] * f


@hot
def _body_onwards(B: Any, x: Any, i: int, y: Any, j: int) -> None:
    """Adds B x, x from place i on, to y from place j on."""
    s, a, b, c = B[0], x[i + 3], x[i + 4], x[i + 5]
    y[j] += s * x[i] + (B[3] * a + B[4] * b + B[5] * c)
    y[j + 1] += s * x[i + 1] + (B[9] * a + B[10] * b + B[11] * c)
    y[j + 2] += s * x[i + 2] + (B[15] * a + B[16] * b + B[17] * c)
    y[j + 3] += B[21] * a
    y[j + 4] += B[27] * a + B[28] * b
    y[j + 5] += B[33] * a + B[34] * b + B[35] * c


@jit
def respond_halfway(s: Any, parts: Any) -> None:
    """Y of all contacts."""
    stride = parts.stride
    for k in range(s.count):
        for side in (0, 1):
            c = s.part[2 * k + side]
            if c < 0:
                continue
            at, M = (6 * k + side) * stride, parts.M[parts.masses[c] :]
            if parts.inverse[c] != 0:
                for row in (0, 1, 2):
                    body_halfway(M, s.J, at + 2 * stride * row, s.Y)
                s.top[2 * k + side] = 6
                continue
            n, x, y, z = parts.first[c + 1] - parts.first[c], s.Y[at:], s.Y[at + 2 * stride :], s.Y[at + 4 * stride :]
            for i in range(n):
                x[i], y[i], z[i] = s.J[at + i], s.J[at + 2 * stride + i], s.J[at + 4 * stride + i]
            s.top[2 * k + side] = to_root_three(M, n, x, y, z)


@jit
def push_halfway(s: Any, parts: Any, p: Any, rows: int, v: Any) -> None:
    """v += L⁻¹ Y p, ``rows`` of every contact (1: the normal alone)."""
    x, stride = s.pushed, parts.stride
    for i in range(x.size):
        x[i] = 0.0
    for k in range(s.count):
        for row in range(rows):
            impulse = p[rows * k + row]
            for side in (0, 1):
                c = s.part[2 * k + side]
                if impulse != 0.0 and c >= 0:
                    to, y = x[parts.first[c] :], s.Y[(6 * k + 2 * row + side) * stride :]
                    for i in range(s.top[2 * k + side]):
                        to[i] += y[i] * impulse
    for c in range(parts.first.size - 1):
        first, n, M = parts.first[c], parts.first[c + 1] - parts.first[c], parts.M[parts.masses[c] :]
        if parts.inverse[c] != 0:
            _body_onwards(M, x, first, v, parts.member[first])
        else:
            own = x[first:]
            to_tips(M, n, own)
            for i in range(n):
                v[parts.member[first + i]] += own[i]
