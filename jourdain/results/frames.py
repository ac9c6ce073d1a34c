"""The motion of a frame over time: origin, orientation, velocity."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from jourdain.errors import InputError, nearest
from jourdain.results.channel import Array, Channel, UnknownChannelError

if TYPE_CHECKING:
    from jourdain.results.solution import Solution

FrameProvider = Callable[[str], Any]
"""Maps a frame's name to its motion: a :class:`FrameMotion`, or a mapping or tuple of its arrays in that order.

A provider with a method ``rebind(solution)`` is asked for a provider of the resampled solution; without it, frames of a
resampled solution are interpolated.
"""


@dataclass(frozen=True)
class FrameMotion:
    """Motion of a frame, world components: position (nt, 3) m, rotation (nt, 3, 3) frame → world, velocity (nt, 3) m/s.

    ``angular_velocity`` (nt, 3) rad/s, in world components, may be absent (None), and so may the velocity; accelerations are there where they
    were asked for.
    """

    position: Array
    rotation: Array
    velocity: Array | None = None
    angular_velocity: Array | None = None
    acceleration: Array | None = None
    angular_acceleration: Array | None = None

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


#: What is known of the motion of a frame, with units.
FRAME_UNITS = {
    "position": "m", "rotation": "", "velocity": "m/s", "angular_velocity": "rad/s", "acceleration": "m/s^2", "angular_acceleration": "rad/s^2",
}  # fmt: skip
_SHAPES: dict[str, tuple[int, ...]] = {name: (3, 3) if name == "rotation" else (3,) for name in FRAME_UNITS}
FRAME_FIELDS = tuple(_SHAPES)
ACCELERATIONS = FRAME_FIELDS[-2:]


class FrameChannels:
    """Motions of frames as channels of a solution, by path: "rod.end.velocity", "rod.end.x"; each is computed once."""

    def __init__(self, solution: Solution) -> None:
        self._solution = solution
        self._made: dict[str, Channel] = {}

    def __getitem__(self, name: str) -> Channel:
        if name not in self._made:
            (path, field), provider = frame_field(name), self._solution.frame_provider
            accelerated = getattr(provider, "accelerated", None) if field in ACCELERATIONS else None
            motion = self._solution.frame(path) if accelerated is None else accelerated(path)
            for f, unit in FRAME_UNITS.items():
                if (values := getattr(motion, f)) is not None:
                    self._made[f"{path}.{f}"] = Channel(values, unit, f"{f.replace('_', ' ')} of {path}")
        if name not in self._made:
            raise UnknownChannelError(f"channel {name!r} is not in the solution, which has no {field.replace('_', ' ')} of frames")
        return self._made[name]

    def locate(self, name: str, head: str, index: tuple[int, ...]) -> tuple[str, tuple[int, ...]] | None:
        """The channel that holds ``name`` and the component meant, None where there is no such frame; ``head`` and ``index`` are its parts."""
        for path, component in ((name, ()), (head, index)):
            frame, field = frame_field(path)
            if (path == frame and not component) or not self._is_frame(frame):
                continue
            shape = _SHAPES[field]
            if component and (len(component) != len(shape) or any(i > 2 for i in component)):
                raise UnknownChannelError(f"channel '{frame}.{field}' has samples of shape {shape}, there is no component {name!r}")
            return f"{frame}.{field}", component
        if self._is_frame(name):
            raise UnknownChannelError(
                f"'{name}' is a frame; its channels are {', '.join(f'{name}.{f}' for f in FRAME_FIELDS)} and {name}.x …"
            )
        return None

    @property
    def paths(self) -> list[str]:
        """Bodies, frames and sensors whose motion can be read, where what provides it can tell."""
        listed = getattr(self._solution.frame_provider, "paths", None)
        return [] if listed is None else list(listed())

    def near(self, name: str) -> list[str]:
        """Motions that may have been meant by a name that is no channel: of frames called so, or of nearly that path."""
        head, _, field = name.rpartition(".")
        paths = self.paths if head else []
        meant = [p for p in paths if p.rpartition(".")[2] == head] or nearest(head, paths, 2, 0.8)
        fields = [field] if field in ("x", "y", "z") else nearest(field, (*FRAME_FIELDS, "x", "y", "z"), 2, 0.4) or ["position"]
        return [f"{p}.{f}" for p in meant for f in fields]

    def rate_of(self, name: str) -> str | None:
        """The channel that is the derivative of another one."""
        path, field = frame_field(name)
        rates = {"position": "velocity", "velocity": "acceleration", "angular_velocity": "angular_acceleration"}
        known = field == "position" or hasattr(self._solution.frame_provider, "accelerated")
        return f"{path}.{rates[field]}" if field in rates and known else None

    def _is_frame(self, path: str) -> bool:
        if f"{path}.position" in self._solution:
            return True
        knows = getattr(self._solution.frame_provider, "knows", None)
        return bool(path) and knows is not None and bool(knows(path))


def frame_field(name: str) -> tuple[str, str]:
    """Frame and field of a path: ("rod.end", "velocity") of "rod.end.velocity", the position of a path without a field."""
    head, _, field = name.rpartition(".")
    return (head, field) if field in _SHAPES and head else (name, "position")


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
