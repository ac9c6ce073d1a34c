"""The primitive shapes the viewer draws, each with a pose in its body's frame, and their triangles.

Shapes of revolution have the axis z and are centred at their origin; lengths in m.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jourdain.errors import InputError
from jourdain.view.rotation import Array, matrix_from_quaternion, normalised, quaternion_from_matrix

SIZES: dict[str, tuple[str, ...]] = {
    "box": ("lx", "ly", "lz"),
    "cylinder": ("radius", "length"),
    "tube": ("outer", "inner", "length"),
    "sphere": ("radius",),
    "capsule": ("radius", "length"),
    "cone": ("r1", "r2", "length"),
    "torus": ("major", "minor"),
    "prism": ("polygon", "length"),
    "revolved": ("profile",),
    "mesh": ("vertices", "faces"),
}
SEGMENTS = 32

Faces = NDArray[np.int64]


@dataclass
class Shape:
    """One primitive: its kind, its sizes by name, its pose in the body's frame, colour and opacity."""

    kind: str
    sizes: dict[str, Any]
    position: ArrayLike = (0.0, 0.0, 0.0)
    quaternion: ArrayLike = (1.0, 0.0, 0.0, 0.0)
    colour: str | None = None
    opacity: float = 1.0
    _triangles: tuple[Array, Faces] | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.kind not in SIZES:
            raise InputError(f"shape '{self.kind}' is unknown; choose one of {', '.join(SIZES)}")
        if set(self.sizes) != set(SIZES[self.kind]):
            raise InputError(f"{self.kind}: give {', '.join(SIZES[self.kind])}, not {', '.join(self.sizes)}")
        for name, value in self.sizes.items():
            self.sizes[name] = _size(self.kind, name, value)
        self.position = np.asarray(self.position, dtype=float).reshape(3)
        rotation = np.asarray(self.quaternion, dtype=float)
        self.quaternion = quaternion_from_matrix(rotation) if rotation.shape == (3, 3) else normalised(rotation)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Shape:
        """A shape from a mapping such as {"kind": "box", "lx": 1, "ly": 1, "lz": 1, "p": …, "R": …, "colour": …}."""
        rest = dict(data)
        kind = str(rest.pop("kind", ""))
        pose: dict[str, Any] = {
            "position": rest.pop("p", rest.pop("position", (0.0, 0.0, 0.0))),
            "quaternion": rest.pop("R", rest.pop("quaternion", (1.0, 0.0, 0.0, 0.0))),
        }
        colour, opacity = rest.pop("colour", None), float(rest.pop("opacity", 1.0))
        return cls(kind, rest, colour=colour, opacity=opacity, **pose)

    def triangles(self) -> tuple[Array, Faces]:
        """Vertices (n, 3) in the body's frame and faces (m, 3), outward; made once, then kept."""
        if self._triangles is None:
            vertices, faces = _TESSELLATE[self.kind](**self.sizes)
            rotation = matrix_from_quaternion(self.quaternion)
            self._triangles = (vertices @ rotation.T + np.asarray(self.position), faces)
        return self._triangles

    def to_dict(self) -> dict[str, Any]:
        """Plain data for the page."""
        sizes = {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in self.sizes.items()}
        return {
            "kind": self.kind,
            "sizes": sizes,
            "position": np.asarray(self.position).tolist(),
            "quaternion": np.asarray(self.quaternion).tolist(),
            "colour": self.colour,
            "opacity": self.opacity,
        }


def _size(kind: str, name: str, value: Any) -> Any:
    if name in ("polygon", "profile"):
        points = np.asarray(value, dtype=float)
        if points.ndim != 2 or points.shape[1] != 2 or len(points) < (3 if name == "polygon" else 2):
            raise InputError(f"{kind}: {name} of shape {points.shape} is not a list of points (n, 2)")
        return points
    if name == "vertices":
        return np.asarray(value, dtype=float).reshape(-1, 3)
    if name == "faces":
        return np.asarray(value, dtype=np.int64).reshape(-1, 3)
    number = float(value)
    may_vanish = name in ("r1", "r2", "inner") or (kind, name) == ("capsule", "length")
    if not np.isfinite(number) or number < 0 or (number == 0 and not may_vanish):
        raise InputError(f"{kind}: {name} = {value!r} is not a positive length")
    return number


def _shape(kind: str, sizes: dict[str, Any], pose: dict[str, Any]) -> Shape:
    return Shape.from_dict({"kind": kind, **sizes, **pose})


def box(lx: float, ly: float, lz: float, **pose: Any) -> Shape:
    """A cuboid with edges lx, ly, lz along the axes; pose: p, R (or quaternion), colour, opacity as for every shape."""
    return _shape("box", {"lx": lx, "ly": ly, "lz": lz}, pose)


def cylinder(radius: float, length: float, **pose: Any) -> Shape:
    """A circular cylinder about z."""
    return _shape("cylinder", {"radius": radius, "length": length}, pose)


def tube(outer: float, inner: float, length: float, **pose: Any) -> Shape:
    """A hollow cylinder about z with outer and inner radius."""
    if inner >= outer:
        raise InputError(f"tube: inner radius {inner} is not smaller than the outer radius {outer}")
    return _shape("tube", {"outer": outer, "inner": inner, "length": length}, pose)


def sphere(radius: float, **pose: Any) -> Shape:
    """A ball."""
    return _shape("sphere", {"radius": radius}, pose)


def capsule(radius: float, length: float, **pose: Any) -> Shape:
    """A cylinder of the given length about z with half balls at its ends."""
    return _shape("capsule", {"radius": radius, "length": length}, pose)


def cone(r1: float, r2: float, length: float, **pose: Any) -> Shape:
    """A truncated cone about z with radius r1 at −length/2 and r2 at +length/2."""
    return _shape("cone", {"r1": r1, "r2": r2, "length": length}, pose)


def torus(major: float, minor: float, **pose: Any) -> Shape:
    """A ring about z: a circle of radius minor at the distance major from the axis."""
    return _shape("torus", {"major": major, "minor": minor}, pose)


def prism(polygon: ArrayLike, length: float, **pose: Any) -> Shape:
    """A polygon (n, 2) in the plane xy extruded over −length/2 … +length/2 along z."""
    return _shape("prism", {"polygon": polygon, "length": length}, pose)


def revolved(profile: ArrayLike, **pose: Any) -> Shape:
    """A profile of points (r, z), (n, 2), turned about z; the last point is joined to the first."""
    return _shape("revolved", {"profile": profile}, pose)


def mesh(vertices: ArrayLike, faces: ArrayLike, **pose: Any) -> Shape:
    """Triangles: vertices (n, 3) and faces (m, 3) of vertex numbers from zero, counter-clockwise from outside."""
    return _shape("mesh", {"vertices": vertices, "faces": faces}, pose)


def _tessellate_box(lx: float, ly: float, lz: float) -> tuple[Array, Faces]:
    square = np.array([[-lx, -ly], [lx, -ly], [lx, ly], [-lx, ly]]) / 2
    return _tessellate_prism(square, lz)


def _tessellate_prism(polygon: Array, length: float) -> tuple[Array, Faces]:
    ring = polygon if _signed_area(polygon) > 0 else polygon[::-1]
    n = len(ring)
    low = np.column_stack([ring, np.full(n, -length / 2)])
    high = np.column_stack([ring, np.full(n, length / 2)])
    caps = triangulate(ring)
    i = np.arange(n)
    j = (i + 1) % n
    sides = np.concatenate([np.column_stack([i, j, j + n]), np.column_stack([i, j + n, i + n])])
    return np.concatenate([low, high]), np.concatenate([sides, caps[:, ::-1], caps + n])


def _tessellate_revolved(profile: Array) -> tuple[Array, Faces]:
    return _turned(profile if _signed_area(profile) >= 0 else profile[::-1], closed=True)


def _turned(profile: Array, closed: bool = False) -> tuple[Array, Faces]:
    angles = 2 * np.pi * np.arange(SEGMENTS) / SEGMENTS
    r, z = profile.T
    x, y = np.outer(r, np.cos(angles)), np.outer(r, np.sin(angles))
    vertices = np.stack([x, y, np.repeat(z[:, None], SEGMENTS, axis=1)], axis=-1).reshape(-1, 3)
    rows = np.arange(len(profile) if closed else len(profile) - 1)[:, None] * SEGMENTS
    above = (rows + SEGMENTS) % (len(profile) * SEGMENTS)
    i, j = np.arange(SEGMENTS), (np.arange(SEGMENTS) + 1) % SEGMENTS
    a, b, c, d = rows + i, rows + j, above + j, above + i
    faces = np.concatenate([np.stack([a, b, c], -1).reshape(-1, 3), np.stack([a, c, d], -1).reshape(-1, 3)])
    corners = vertices[faces]
    area = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
    return vertices, faces[area > 1e-14 * max(float(np.max(np.abs(profile))), 1e-300) ** 2]


def _tessellate_cone(r1: float, r2: float, length: float) -> tuple[Array, Faces]:
    h = length / 2
    return _turned(np.array([[0, -h], [r1, -h], [r2, h], [0, h]]))


def _tessellate_cylinder(radius: float, length: float) -> tuple[Array, Faces]:
    return _tessellate_cone(radius, radius, length)


def _tessellate_tube(outer: float, inner: float, length: float) -> tuple[Array, Faces]:
    h = length / 2
    return _turned(np.array([[inner, -h], [outer, -h], [outer, h], [inner, h]]), closed=True)


def _tessellate_capsule(radius: float, length: float) -> tuple[Array, Faces]:
    angles = np.linspace(-np.pi / 2, np.pi / 2, 17)
    shift = np.where(angles < 0, -length / 2, length / 2)
    profile = np.column_stack([radius * np.cos(angles), radius * np.sin(angles) + shift])
    profile[[0, -1], 0] = 0.0
    return _turned(np.insert(profile, 8, [radius, -length / 2], axis=0) if length else profile)


def _tessellate_sphere(radius: float) -> tuple[Array, Faces]:
    return _tessellate_capsule(radius, 0.0)


def _tessellate_torus(major: float, minor: float) -> tuple[Array, Faces]:
    angles = 2 * np.pi * np.arange(16) / 16
    return _turned(np.column_stack([major + minor * np.cos(angles), minor * np.sin(angles)]), closed=True)


def _tessellate_mesh(vertices: Array, faces: Faces) -> tuple[Array, Faces]:
    return vertices, faces


_TESSELLATE: dict[str, Callable[..., tuple[Array, Faces]]] = {
    "box": _tessellate_box,
    "cylinder": _tessellate_cylinder,
    "tube": _tessellate_tube,
    "sphere": _tessellate_sphere,
    "capsule": _tessellate_capsule,
    "cone": _tessellate_cone,
    "torus": _tessellate_torus,
    "prism": _tessellate_prism,
    "revolved": _tessellate_revolved,
    "mesh": _tessellate_mesh,
}


def _signed_area(polygon: Array) -> float:
    x, y = polygon.T
    return float(0.5 * np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y))


def triangulate(polygon: Array) -> Faces:
    """Triangles (n − 2, 3) of a simple counter-clockwise polygon by cutting ears.

    >>> len(triangulate(np.array([[0, 0], [2, 0], [2, 2], [1, 0.5], [0, 2]])))
    3
    """
    left = list(range(len(polygon)))
    triangles = []
    while len(left) > 3:
        ear = next((k for k in range(len(left)) if _is_ear(polygon, left, k)), 0)
        triangles.append([left[ear - 1], left[ear], left[(ear + 1) % len(left)]])
        del left[ear]
    return np.array(triangles + [left], dtype=np.int64)


def _is_ear(polygon: Array, left: list[int], k: int) -> bool:
    corners = (left[k - 1], left[k], left[(k + 1) % len(left)])
    a, b, c = polygon[list(corners)]
    if _turn(a, b, c) <= 0:
        return False
    others = polygon[[i for i in left if i not in corners]]
    inside = (_turn(a, b, others) >= 0) & (_turn(b, c, others) >= 0) & (_turn(c, a, others) >= 0)
    return not bool(np.any(inside))


def _turn(a: Array, b: Array, c: Array) -> Any:
    return (b[0] - a[0]) * (c[..., 1] - a[1]) - (b[1] - a[1]) * (c[..., 0] - a[0])
