"""Rotations as the viewer keeps them: unit quaternions, scalar first, that map body components to world components."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jourdain.errors import InputError

Array = NDArray[np.float64]


def matrix_from_quaternion(quaternion: ArrayLike) -> Array:
    """Rotation matrices (…, 3, 3) of quaternions (…, 4): R = (e0² − e·e) I + 2 e eᵀ + 2 e0 ê, made unit first.

    >>> bool(np.allclose(matrix_from_quaternion([1, 0, 0, 0]), np.eye(3)))
    True
    """
    unit = normalised(quaternion)
    w, x, y, z = np.moveaxis(unit, -1, 0)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def quaternion_from_matrix(matrix: ArrayLike) -> Array:
    """Unit quaternions (…, 4) of rotation matrices (…, 3, 3) from the largest column of S = 4 p pᵀ (Spurrier).

    >>> quaternion_from_matrix(np.diag([1.0, -1.0, -1.0])).tolist()
    [0.0, 1.0, 0.0, 0.0]
    """
    r = np.asarray(matrix, dtype=float)
    if r.shape[-2:] != (3, 3):
        raise InputError(f"rotation matrix: shape {r.shape} is not (…, 3, 3)")
    flat = r.reshape(-1, 3, 3)
    (a, b, c), (d, e, f), (g, h, i) = flat.transpose(1, 2, 0)
    s = np.array(
        [
            [1 + a + e + i, h - f, c - g, d - b],
            [h - f, 1 + a - e - i, b + d, c + g],
            [c - g, b + d, 1 - a + e - i, f + h],
            [d - b, c + g, f + h, 1 - a - e + i],
        ]
    ).transpose(2, 0, 1)
    largest = np.argmax(np.diagonal(s, axis1=1, axis2=2), axis=1)
    quaternion = normalised(s[np.arange(len(s)), :, largest])
    quaternion[quaternion[:, 0] < 0] *= -1
    return quaternion.reshape(r.shape[:-2] + (4,))


def quaternion_from_vector(vector: ArrayLike) -> Array:
    """Unit quaternions (…, 4) of rotation vectors (…, 3) in rad: (cos θ/2, u sin θ/2)."""
    v = np.asarray(vector, dtype=float)
    angle = np.linalg.norm(v, axis=-1, keepdims=True)
    return np.concatenate([np.cos(angle / 2), 0.5 * np.sinc(angle / (2 * np.pi)) * v], axis=-1)


def product(p: ArrayLike, q: ArrayLike) -> Array:
    """Quaternion product p q (…, 4): the rotation q followed by the rotation p."""
    a, b = np.asarray(p, dtype=float), np.asarray(q, dtype=float)
    scalar = a[..., :1] * b[..., :1] - np.sum(a[..., 1:] * b[..., 1:], axis=-1, keepdims=True)
    vector = a[..., :1] * b[..., 1:] + b[..., :1] * a[..., 1:] + np.cross(a[..., 1:], b[..., 1:])
    return np.concatenate([scalar, vector], axis=-1)


def axis_angle(quaternion: ArrayLike) -> tuple[Array, Array]:
    """Axis (…, 3) and angle (…) in [0, 2π] of quaternions; the axis of no rotation is x."""
    unit = normalised(quaternion)
    sine = np.linalg.norm(unit[..., 1:], axis=-1)
    turned = sine > 1e-15
    axis = np.where(turned[..., None], unit[..., 1:] / np.where(turned, sine, 1.0)[..., None], [1.0, 0.0, 0.0])
    return axis, 2 * np.arctan2(sine, unit[..., 0])


def normalised(quaternion: ArrayLike) -> Array:
    """Quaternions (…, 4) of length one; raises when one has no direction."""
    q = np.array(quaternion, dtype=float)
    if q.shape[-1:] != (4,):
        raise InputError(f"quaternion: shape {q.shape} is not (…, 4), scalar first")
    length = np.linalg.norm(q, axis=-1, keepdims=True)
    if not np.all(length > 1e-12) or not np.all(np.isfinite(length)):
        raise InputError("quaternion: length zero or not finite; give unit quaternions (w, x, y, z)")
    unit: Array = q / length
    return unit


def continuous(quaternions: ArrayLike) -> Array:
    """The same rotations (n, 4) with signs chosen so that neighbours have a positive dot product."""
    unit = normalised(quaternions)
    flips = np.sum(unit[1:] * unit[:-1], axis=1) < 0
    sign = np.concatenate([[1.0], np.where(np.cumsum(flips) % 2 == 1, -1.0, 1.0)])
    same: Array = unit * sign[: len(unit), None]
    return same
