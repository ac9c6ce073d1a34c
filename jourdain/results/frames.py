"""The motion of a frame over time: origin, orientation, velocity."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from jourdain.errors import InputError
from jourdain.results.channel import Array

FrameProvider = Callable[[str], Any]
"""Maps a frame's name to its motion: a :class:`FrameMotion`, or a mapping or tuple of its arrays in that order.

A provider with a method ``rebind(solution)`` is asked for a provider of the resampled solution; without it, frames of a
resampled solution are interpolated.
"""


@dataclass(frozen=True)
class FrameMotion:
    """Motion of a frame, world components: position (nt, 3) m, rotation (nt, 3, 3) frame → world, velocity (nt, 3) m/s.

    ``angular_velocity`` (nt, 3) rad/s, in world components, may be absent (None), and so may the velocity.
    """

    position: Array
    rotation: Array
    velocity: Array | None = None
    angular_velocity: Array | None = None

    @property
    def quaternion(self) -> Array:
        """Unit quaternions (nt, 4), scalar first, with signs chosen so that they vary continuously."""
        from scipy.spatial.transform import Rotation

        if len(self.rotation) == 0:
            return np.zeros((0, 4))
        q = np.roll(Rotation.from_matrix(self.rotation).as_quat(canonical=True), 1, axis=1)
        flips = np.sum(q[1:] * q[:-1], axis=1) < 0.0
        signs = np.concatenate([[1.0], np.where(np.cumsum(flips) % 2, -1.0, 1.0)])
        continuous: Array = q * signs[:, None]
        return continuous

    def map(self, rows: Callable[[str, Array], Array]) -> FrameMotion:
        """The motion whose arrays are ``rows(field, array)``."""
        fields = {name: getattr(self, name) for name in _SHAPES}
        mapped: dict[str, Any] = {name: None if x is None else rows(name, x) for name, x in fields.items()}
        return FrameMotion(**mapped)


_SHAPES: dict[str, tuple[int, ...]] = {"position": (3,), "rotation": (3, 3), "velocity": (3,), "angular_velocity": (3,)}
FRAME_FIELDS = tuple(_SHAPES)


def as_motion(name: str, given: Any, length: int) -> FrameMotion:
    """A checked :class:`FrameMotion` with read-only arrays from what a provider returned for frame ``name``."""
    if isinstance(given, FrameMotion):
        given = {field: getattr(given, field) for field in _SHAPES}
    if not isinstance(given, Mapping):
        given = dict(zip(_SHAPES, given, strict=False))
    arrays: dict[str, Any] = {}
    for field, shape in _SHAPES.items():
        value = given.get(field)
        if value is None and field not in ("position", "rotation"):
            arrays[field] = None
            continue
        array = np.array(value, float)
        if array.shape != (length, *shape):
            raise InputError(f"frame {name!r}: {field} has shape {array.shape}, expected {(length, *shape)}")
        array.flags.writeable = False
        arrays[field] = array
    return FrameMotion(**arrays)
