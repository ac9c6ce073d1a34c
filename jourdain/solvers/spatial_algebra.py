"""Vectors, rotations and inertias as tuples of numbers, inlined into the native recursions over links.

A rotation E is nine numbers row by row and maps components of a link's axes to those of its parent; a symmetric tensor
is xx, yy, zz, xy, xz, yz.
"""

from __future__ import annotations

from typing import Any

from jourdain.solvers.frame import hot


@hot
def vector(x: Any, i: int) -> Any:
    """Three numbers of an array from place i on."""
    return x[i], x[i + 1], x[i + 2]


@hot
def six(x: Any, i: int) -> Any:
    """Six numbers of an array from place i on."""
    return x[i], x[i + 1], x[i + 2], x[i + 3], x[i + 4], x[i + 5]


@hot
def nine(x: Any, i: int) -> Any:
    """Nine numbers of an array from place i on."""
    return x[i], x[i + 1], x[i + 2], x[i + 3], x[i + 4], x[i + 5], x[i + 6], x[i + 7], x[i + 8]


@hot
def put(x: Any, i: int, v: Any) -> None:
    """Write a vector."""
    x[i], x[i + 1], x[i + 2] = v


@hot
def put_six(x: Any, i: int, v: Any) -> None:
    """Write a symmetric tensor."""
    x[i], x[i + 1], x[i + 2], x[i + 3], x[i + 4], x[i + 5] = v


@hot
def put_nine(x: Any, i: int, v: Any) -> None:
    """Write a matrix."""
    x[i], x[i + 1], x[i + 2], x[i + 3], x[i + 4], x[i + 5], x[i + 6], x[i + 7], x[i + 8] = v


@hot
def plus(a: Any, b: Any) -> Any:
    """a + b."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@hot
def plus_six(a: Any, b: Any) -> Any:
    """a + b."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3], a[4] + b[4], a[5] + b[5]


@hot
def plus_nine(a: Any, b: Any) -> Any:
    """a + b."""
    return (
        a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3], a[4] + b[4], a[5] + b[5], a[6] + b[6], a[7] + b[7], a[8] + b[8]
    )  # fmt: skip


@hot
def minus(a: Any, b: Any) -> Any:
    """a − b."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@hot
def times(k: float, a: Any) -> Any:
    """k a."""
    return k * a[0], k * a[1], k * a[2]


@hot
def dot(a: Any, b: Any) -> float:
    """a · b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@hot
def cross(a: Any, b: Any) -> Any:
    """a × b."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@hot
def along(axis: int, x: float) -> Any:
    """x times the unit vector of an axis."""
    return (x if axis == 0 else 0.0), (x if axis == 1 else 0.0), (x if axis == 2 else 0.0)


@hot
def pick(v: Any, axis: int) -> float:
    """The component of v along an axis."""
    return v[0] if axis == 0 else (v[1] if axis == 1 else v[2])


@hot
def outwards(E: Any, v: Any) -> Any:
    """Eᵀ v: from the parent's axes to the link's."""
    return (
        E[0] * v[0] + E[3] * v[1] + E[6] * v[2],
        E[1] * v[0] + E[4] * v[1] + E[7] * v[2],
        E[2] * v[0] + E[5] * v[1] + E[8] * v[2],
    )


@hot
def inwards(E: Any, v: Any) -> Any:
    """E v: from the link's axes to the parent's."""
    return (
        E[0] * v[0] + E[1] * v[1] + E[2] * v[2],
        E[3] * v[0] + E[4] * v[1] + E[5] * v[2],
        E[6] * v[0] + E[7] * v[1] + E[8] * v[2],
    )


@hot
def product(A: Any, B: Any) -> Any:
    """A B of two matrices."""
    return (
        A[0] * B[0] + A[1] * B[3] + A[2] * B[6], A[0] * B[1] + A[1] * B[4] + A[2] * B[7], A[0] * B[2] + A[1] * B[5] + A[2] * B[8],
        A[3] * B[0] + A[4] * B[3] + A[5] * B[6], A[3] * B[1] + A[4] * B[4] + A[5] * B[7], A[3] * B[2] + A[4] * B[5] + A[5] * B[8],
        A[6] * B[0] + A[7] * B[3] + A[8] * B[6], A[6] * B[1] + A[7] * B[4] + A[8] * B[7], A[6] * B[2] + A[7] * B[5] + A[8] * B[8],
    )  # fmt: skip


@hot
def by_transpose(A: Any, E: Any) -> Any:
    """A Eᵀ."""
    return (
        A[0] * E[0] + A[1] * E[1] + A[2] * E[2], A[0] * E[3] + A[1] * E[4] + A[2] * E[5], A[0] * E[6] + A[1] * E[7] + A[2] * E[8],
        A[3] * E[0] + A[4] * E[1] + A[5] * E[2], A[3] * E[3] + A[4] * E[4] + A[5] * E[5], A[3] * E[6] + A[4] * E[7] + A[5] * E[8],
        A[6] * E[0] + A[7] * E[1] + A[8] * E[2], A[6] * E[3] + A[7] * E[4] + A[8] * E[5], A[6] * E[6] + A[7] * E[7] + A[8] * E[8],
    )  # fmt: skip


@hot
def full(S: Any) -> Any:
    """The matrix of a symmetric tensor."""
    return S[0], S[3], S[4], S[3], S[1], S[5], S[4], S[5], S[2]


@hot
def turned(E: Any, S: Any) -> Any:
    """E S Eᵀ of a symmetric tensor."""
    H = product(E, full(S))
    return (
        H[0] * E[0] + H[1] * E[1] + H[2] * E[2],
        H[3] * E[3] + H[4] * E[4] + H[5] * E[5],
        H[6] * E[6] + H[7] * E[7] + H[8] * E[8],
        H[0] * E[3] + H[1] * E[4] + H[2] * E[5],
        H[0] * E[6] + H[1] * E[7] + H[2] * E[8],
        H[3] * E[6] + H[4] * E[7] + H[5] * E[8],
    )


@hot
def applied(S: Any, v: Any) -> Any:
    """S v of a symmetric tensor."""
    return (
        S[0] * v[0] + S[3] * v[1] + S[4] * v[2], S[3] * v[0] + S[1] * v[1] + S[5] * v[2], S[4] * v[0] + S[5] * v[1] + S[2] * v[2],
    )  # fmt: skip


@hot
def shifted(I: Any, m: float, s: Any, d: Any) -> Any:
    """Inertia about a point −d away of mass m with first moment s (Steiner): I + (d·w)1 − ½(d wᵀ + w dᵀ), w = 2s + m d."""
    w = (2.0 * s[0] + m * d[0], 2.0 * s[1] + m * d[1], 2.0 * s[2] + m * d[2])
    x, y, z = d[0] * w[0], d[1] * w[1], d[2] * w[2]
    return (
        I[0] + y + z, I[1] + x + z, I[2] + x + y,
        I[3] - 0.5 * (d[0] * w[1] + d[1] * w[0]), I[4] - 0.5 * (d[0] * w[2] + d[2] * w[0]), I[5] - 0.5 * (d[1] * w[2] + d[2] * w[1]),
    )  # fmt: skip


@hot
def quaternion_rotation(e: Any, i: int) -> Any:
    """Rotation of the unit quaternion (scalar first) at place i of an array."""
    w, x, y, z = e[i], e[i + 1], e[i + 2], e[i + 3]
    return (
        1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y),
        2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x),
        2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y),
    )  # fmt: skip
