"""Elements whose coordinates are vectors: inertia, and unknowns of vectors that belong to bodies: components in the plane, and null spaces
q̇ = P ν of bodies by directors.

Vectors come body by body (origin, then directors) and then node by node, always with three components.  The turn of a body acts on its directors
as ḋ = ω × d, so that rows are Σ dₖ × rₖ with the directors where forces act, and columns those of e × dₖ with the directors at the end.
"""

from __future__ import annotations

from typing import Any

from ...native.kernel import hot, jit


@hot
def _turned(axis: int, d: Any, r: Any) -> float:
    """(e × d)·r."""
    if axis == 0:
        return d[1] * r[2] - d[2] * r[1]
    if axis == 1:
        return d[2] * r[0] - d[0] * r[2]
    return d[0] * r[1] - d[1] * r[0]


@hot
def inertial(vectors: int, carried: int, dimension: int, mass: Any, weights: Any, q1: Any, v: Any, y: Any) -> None:
    """Kinetic energy, energy of the weight and momenta; the first ``carried`` vectors belong to bodies, whose directors do not shift."""
    for b in range(vectors):
        p0, p1, p2 = 0.0, 0.0, 0.0
        for c in range(vectors):
            m = mass[b * vectors + c]
            p0 += m * v[3 * c]
            p1 += m * v[3 * c + 1]
            p2 += m * v[3 * c + 2]
        q, u = q1[3 * b :], v[3 * b :]
        y[0] += 0.5 * (p0 * u[0] + p1 * u[1] + p2 * u[2])
        y[1] -= weights[3 * b] * q[0] + weights[3 * b + 1] * q[1] + weights[3 * b + 2] * q[2]
        if b >= carried or b % (dimension + 1) == 0:
            y[5] += p0
            y[6] += p1
            y[7] += p2
        y[8] += q[1] * p2 - q[2] * p1
        y[9] += q[2] * p0 - q[0] * p2
        y[10] += q[0] * p1 - q[1] * p0


@hot
def balance(vectors: int, kappa: float, mass: Any, weights: Any, excess: Any, r: Any, K: Any, tangent: bool) -> None:
    """M (q₁ − q₀ − w) − κ weight and its derivative, with which the sums of an element begin."""
    n = 3 * vectors
    if tangent:
        for c in range(n * n):
            K[c] = 0.0
    for b in range(vectors):
        for i in range(3):
            r[3 * b + i] = -kappa * weights[3 * b + i]
            for c in range(vectors):
                r[3 * b + i] += mass[b * vectors + c] * excess[3 * c + i]
                if tangent:
                    K[(3 * b + i) * n + 3 * c + i] = mass[b * vectors + c]


@jit
def reduced_residual(dimension: int, vectors: int, bodies: Any, projected: int, acting: Any, r: Any, y: Any) -> None:
    """Pᵀ r, without third components in the plane; of projected balances zeros fill the places of the constraints."""
    d, first, o = dimension, 0 if dimension == 3 else 2, 0
    for b in range(bodies.size):
        v = b * (d + 1)
        for i in range(d):
            y[o + i] = r[3 * v + i]
        if bodies[b] == 0:
            for k in range(1, d + 1):
                for i in range(d):
                    y[o + d * k + i] = r[3 * (v + k) + i]
            o += d * (d + 1)
            continue
        o += d
        for axis in range(first, 3):
            y[o] = 0.0
            for k in range(1, d + 1):
                y[o] += _turned(axis, acting[3 * (v + k) :], r[3 * (v + k) :])
            o += 1
        if projected == 1:
            for _ in range(d * (d + 1) // 2):
                y[o] = 0.0
                o += 1
    for v in range(bodies.size * (d + 1), vectors):
        for i in range(d):
            y[o] = r[3 * v + i]
            o += 1


@jit
def compressed(dimension: int, vectors: int, bodies: Any, projected: int, unknowns: int, end: Any, K: Any, C: Any) -> None:
    """K P: derivatives by the unknowns, a row for each component of the vectors."""
    d, n, first = dimension, 3 * vectors, 0 if dimension == 3 else 2
    for a in range(n):
        row, out, o = K[n * a :], C[unknowns * a :], 0
        for b in range(bodies.size):
            v = b * (d + 1)
            for i in range(d):
                out[o + i] = row[3 * v + i]
            o += d
            if bodies[b] == 0 or projected == 1:
                for k in range(1, d + 1):
                    for i in range(d):
                        out[o] = row[3 * (v + k) + i]
                        o += 1
                continue
            for axis in range(first, 3):
                out[o] = 0.0
                for k in range(1, d + 1):
                    out[o] += _turned(axis, end[3 * (v + k) :], row[3 * (v + k) :])
                o += 1
        for v in range(bodies.size * (d + 1), vectors):
            for i in range(d):
                out[o] = row[3 * v + i]
                o += 1


@jit
def reduced_matrix(
    dimension: int, vectors: int, bodies: Any, projected: int, unknowns: int, acting: Any, end: Any, theta: float, r: Any, C: Any, y: Any
) -> None:
    """Pᵀ K P with the change of Pᵀ r through the directors where forces act."""
    d, N, first, o = dimension, unknowns, 0 if dimension == 3 else 2, 0
    for b in range(bodies.size):
        v, begin = b * (d + 1), o
        plain = d * (d + 1) if bodies[b] == 0 else d
        for k in range(plain):
            for c in range(N):
                y[N * (o + k) + c] = C[N * (3 * (v + k // d) + k % d) + c]
        o += plain
        if bodies[b] == 0:
            continue
        for axis in range(first, 3):
            one, two = (axis + 1) % 3, (axis + 2) % 3
            for c in range(N):
                y[N * o + c] = 0.0
            for k in range(1, d + 1):
                e, f, s = acting[3 * (v + k) :], end[3 * (v + k) :], r[3 * (v + k) :]
                for c in range(N):  # (e × column) along the axis
                    y[N * o + c] += e[one] * C[N * (3 * (v + k) + two) + c] - e[two] * C[N * (3 * (v + k) + one) + c]
                if projected == 1:
                    if one < d:
                        y[N * o + begin + d * k + one] += theta * s[two]
                    if two < d:
                        y[N * o + begin + d * k + two] -= theta * s[one]
                else:  # (ω × d) × r = d (ω·r) − ω (d·r)
                    for other in range(first, 3):
                        y[N * o + begin + d + other - first] += theta * f[axis] * s[other]
                    y[N * o + begin + d + axis - first] -= theta * (f[0] * s[0] + f[1] * s[1] + f[2] * s[2])
            o += 1
        if projected == 1:
            for k in range(d * (d + 1) // 2 * N):
                y[N * o + k] = 0.0
            o += d * (d + 1) // 2
    for v in range(bodies.size * (d + 1), vectors):
        for i in range(d):
            for c in range(N):
                y[N * o + c] = C[N * (3 * v + i) + c]
            o += 1
