"""Rotations, placements and mass properties as numbers, for the importers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

#: Entries this close to 0 or ±1 come from an angle such as π/2 written with all its digits.
ROUNDING = 4e-16


def clean(R: Any) -> np.ndarray:
    """A rotation with the rounding errors of cos π/2, sin π, … removed."""
    R = np.array(R, dtype=float)
    R[np.abs(R) < ROUNDING] = 0.0
    near = np.abs(np.abs(R) - 1.0) < ROUNDING
    R[near] = np.sign(R[near])
    return R


def about(axis: int, angle: float) -> np.ndarray:
    """Rotation about the axis x (0), y (1) or z (2)."""
    c, s = np.cos(angle), np.sin(angle)
    i, j = (axis + 1) % 3, (axis + 2) % 3
    R = np.eye(3)
    R[i, i] = R[j, j] = c
    R[j, i], R[i, j] = s, -s
    return R


def from_rpy(rpy: Sequence[float] | np.ndarray) -> np.ndarray:
    """Roll, pitch, yaw about fixed axes x, y, z: R = Rz(yaw) Ry(pitch) Rx(roll)."""
    return clean(about(2, rpy[2]) @ about(1, rpy[1]) @ about(0, rpy[0]))


def from_quaternion(q: Sequence[float] | np.ndarray) -> np.ndarray:
    """Rotation of a quaternion, scalar first, of any length but zero."""
    e = np.asarray(q, dtype=float)
    w, x, y, z = e / np.linalg.norm(e)
    return clean([
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ])  # fmt: skip


def from_axis_angle(axis: np.ndarray, angle: float) -> np.ndarray:
    """Rotation about an axis of any length but zero."""
    n = axis / np.linalg.norm(axis)
    return from_quaternion([np.cos(angle / 2), *(np.sin(angle / 2) * n)])


def z_to(direction: np.ndarray) -> np.ndarray:
    """The smallest rotation that takes the z axis to a direction."""
    n = direction / np.linalg.norm(direction)
    c = n[2]
    cross = np.array([-n[1], n[0], 0.0])
    s = float(np.linalg.norm(cross))
    if s < 1e-10:
        return np.eye(3) if c > 0 else np.diag([1.0, -1.0, -1.0])
    return from_axis_angle(cross, float(np.arctan2(s, c)))


@dataclass(frozen=True)
class Pose:
    """A placement by numbers: rotation R to the outer axes and position p in the outer frame (m)."""

    R: np.ndarray
    p: np.ndarray

    @staticmethod
    def identity() -> Pose:
        """No displacement."""
        return Pose(np.eye(3), np.zeros(3))

    def __matmul__(self, inner: Pose) -> Pose:
        return Pose(clean(self.R @ inner.R), self.p + self.R @ inner.p)

    @property
    def inverse(self) -> Pose:
        """The outer frame seen from this one."""
        return Pose(self.R.T, -self.R.T @ self.p)

    @property
    def position(self) -> tuple[float, float, float]:
        """Position as plain numbers."""
        x, y, z = (float(c) for c in self.p)
        return x, y, z

    @property
    def matrix(self) -> tuple[tuple[float, ...], ...] | None:
        """Rotation as plain numbers, None for no rotation."""
        if np.array_equal(self.R, np.eye(3)):
            return None
        return tuple(tuple(float(c) for c in row) for row in self.R)


@dataclass
class Inertial:
    """Mass (kg), centre of mass (m) and inertia about it (kg·m²), in the axes of the body's frame."""

    mass: float
    com: np.ndarray
    inertia: np.ndarray

    def placed(self, pose: Pose) -> Inertial:
        """The same mass seen from the frame in which this one has the pose given."""
        return Inertial(self.mass, pose.p + pose.R @ self.com, pose.R @ self.inertia @ pose.R.T)


def together(parts: Sequence[Inertial]) -> Inertial:
    """Several masses as one; massless parts count with their inertia."""
    mass = sum(p.mass for p in parts)
    com = sum((p.mass * p.com for p in parts), np.zeros(3))
    com = com / mass if mass > 0 else com
    inertia = np.zeros((3, 3))
    for p in parts:
        d = p.com - com
        inertia = inertia + p.inertia + p.mass * (d @ d * np.eye(3) - np.outer(d, d))
    return Inertial(float(mass), com, inertia)


__all__ = [
    "Inertial", "Pose", "about", "clean", "from_axis_angle", "from_quaternion", "from_rpy", "together", "z_to",
]  # fmt: skip
