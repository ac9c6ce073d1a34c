"""Vectors of three numbers as tuples, and poses (rotation row by row, then origin) as rows of twelve numbers, inside kernels."""

from __future__ import annotations

from math import sqrt
from typing import Any

from ...native.kernel import hot


@hot
def dot(a: Any, b: Any) -> float:
    """a·b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]  # type: ignore[no-any-return]


@hot
def cross(a: Any, b: Any) -> Any:
    """a × b."""
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


@hot
def minus(a: Any, b: Any) -> Any:
    """a − b."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@hot
def plus(a: Any, s: float, b: Any) -> Any:
    """a + s b."""
    return a[0] + s * b[0], a[1] + s * b[1], a[2] + s * b[2]


@hot
def times(s: float, a: Any) -> Any:
    """s a."""
    return s * a[0], s * a[1], s * a[2]


@hot
def length(a: Any) -> float:
    """|a|."""
    return sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2])


@hot
def unit(a: Any) -> Any:
    """a/|a|; the z axis where a vanishes."""
    size = sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2])
    s = 1.0 / size if size > 0.0 else 0.0
    return s * a[0], s * a[1], s * a[2] if size > 0.0 else 1.0


@hot
def across(n: Any) -> Any:
    """A unit vector perpendicular to a unit vector."""
    x, y, z = abs(n[0]), abs(n[1]), abs(n[2])
    if x <= y and x <= z:
        return unit((0.0, -n[2], n[1]))
    if y <= z:
        return unit((n[2], 0.0, -n[0]))
    return unit((-n[1], n[0], 0.0))


@hot
def vector(rows: Any, i: int, at: int) -> Any:
    """Three numbers in a row of a matrix."""
    return rows[i, at], rows[i, at + 1], rows[i, at + 2]


@hot
def put(rows: Any, i: int, at: int, v: Any) -> None:
    """Writes three numbers into a row of a matrix."""
    rows[i, at], rows[i, at + 1], rows[i, at + 2] = v[0], v[1], v[2]


@hot
def axis(pose: Any, i: int, k: int) -> Any:
    """Axis k of the frame in a row of poses."""
    return pose[i, k], pose[i, 3 + k], pose[i, 6 + k]


@hot
def origin(pose: Any, i: int) -> Any:
    """Origin of the frame in a row of poses."""
    return pose[i, 9], pose[i, 10], pose[i, 11]


@hot
def outward(pose: Any, i: int, v: Any) -> Any:
    """R v: from the frame's to the world's axes."""
    return (
        pose[i, 0] * v[0] + pose[i, 1] * v[1] + pose[i, 2] * v[2],
        pose[i, 3] * v[0] + pose[i, 4] * v[1] + pose[i, 5] * v[2],
        pose[i, 6] * v[0] + pose[i, 7] * v[1] + pose[i, 8] * v[2],
    )


@hot
def inward(pose: Any, i: int, v: Any) -> Any:
    """Rᵀ v: from the world's to the frame's axes."""
    return (
        pose[i, 0] * v[0] + pose[i, 3] * v[1] + pose[i, 6] * v[2],
        pose[i, 1] * v[0] + pose[i, 4] * v[1] + pose[i, 7] * v[2],
        pose[i, 2] * v[0] + pose[i, 5] * v[1] + pose[i, 8] * v[2],
    )
