"""Surfaces that deform: vertices that follow a few amplitudes, and quantities on them that do so too.

A vertex is at p + s Σ φ_k e_k in its body's frame, with amplitudes e and the exaggeration s; shapes φ are kept once, and a motion is a
track of amplitudes.  A field is linear in the amplitudes, too: rows · e, a component, or with a metric Q the positive √(rᵀ Q r), which
makes the length of a vector, or von Mises' stress of a tensor.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jourdain.errors import InputError
from jourdain.view.rotation import Array, matrix_from_quaternion, quaternion_from_vector

#: Colours from low to high: of values that are not negative, and of those of either sign.
SEQUENTIAL = ("#35327a", "#3b5f9e", "#2f8d96", "#5bb57e", "#b5d05c", "#f4d64a", "#f2913d", "#d6452f")
DIVERGING = ("#2b5fa5", "#6b9fd1", "#b7d1e6", "#eceff1", "#f1c3ad", "#dd7a5e", "#b0342f")

Faces = NDArray[np.int64]


@dataclass
class Field:
    """A quantity at every vertex: rows (n, c, k) times k amplitudes; one component with a sign, or several and a metric (c, c)."""

    name: str
    unit: str
    rows: Array
    metric: Array | None = None

    def __post_init__(self) -> None:
        if self.rows.ndim != 3 or (self.metric is None and self.rows.shape[1] != 1):
            raise InputError(
                f"field '{self.name}': rows of shape {self.rows.shape} are not (vertices, 1, amplitudes); several need a metric"
            )
        if self.metric is not None and self.metric.shape != (self.rows.shape[1],) * 2:
            raise InputError(f"field '{self.name}': a metric of shape {self.metric.shape} does not fit {self.rows.shape[1]} components")

    def values(self, amplitudes: Array) -> Array:
        """Values (n,) at amplitudes (k,), or (n, t) at k rows of amplitudes (k, t)."""
        found = np.tensordot(self.rows, amplitudes[: self.rows.shape[2]], axes=1)
        if self.metric is None:
            return np.asarray(found[:, 0])
        return np.sqrt(np.maximum(np.einsum("na...,ab,nb...->n...", found, self.metric, found), 0.0))

    def range(self, amplitudes: Array) -> tuple[float, float]:
        """What colours stand for over amplitudes (t, k): zero to the largest, or as far below zero as above."""
        largest = float(np.abs(self.values(amplitudes.T)).max(initial=0.0)) if amplitudes.size else 0.0
        return (0.0 if self.metric is not None else -largest), largest


@dataclass
class Node:
    """A point that things are fastened to: place, displacement (3, k) and turn (3, k) of each amplitude, in the body's frame.

    Where it turns far its rotation is I + axes e, columns y and z made orthonormal, instead of that of a rotation vector.
    """

    position: Array
    shift: Array
    turn: Array
    axes: Array | None = None  #: (3, 3, k)

    def moved(self, point: Array, amplitudes: Array, scale: float = 1.0) -> Array:
        """Where a point fixed to the node is in the body's frame."""
        e = scale * amplitudes[: self.shift.shape[1]]
        return np.asarray(self.position + self.shift @ e + self.rotation(e) @ (point - self.position))

    def rotation(self, e: Array) -> Array:
        """The node's axes (columns) in the body's frame at amplitudes (k,)."""
        if self.axes is None:
            return np.asarray(matrix_from_quaternion(quaternion_from_vector(self.turn @ e[: self.turn.shape[1]])))
        y, z = (np.eye(3) + self.axes @ e)[:, 1:].T
        y = y / np.linalg.norm(y)
        x = np.cross(y, z)
        x = x / np.linalg.norm(x)
        return np.column_stack([x, y, np.cross(x, y)])

    def combined(self, first: int, combination: Array) -> Node:
        """With combinations of the amplitudes from a number on, in their place."""
        axes = None if self.axes is None else _combined(self.axes, first, combination)
        return replace(self, shift=_combined(self.shift, first, combination), axes=axes)


@dataclass
class Surface:
    """Triangles (and lines) of a body that bends."""

    vertices: Array  #: (n, 3), undeformed
    shapes: Array  #: (n, 3, k) displacement of a unit of each amplitude
    faces: Faces  #: (m, 3), seen from both sides
    lines: Faces = field(default_factory=lambda: np.zeros((0, 2), dtype=np.int64))
    fields: list[Field] = field(default_factory=list)
    shown: str | None = None  #: the field that colours it
    smooth: bool = False  #: whether its faces approximate a curved surface
    labels: list[str] = field(default_factory=list)  #: names of places, for who clicks on the surface
    places: NDArray[np.int64] | None = None  #: (n,) the label of each vertex
    nodes: dict[str, Node] = field(default_factory=dict)

    def __post_init__(self) -> None:
        n = len(self.vertices)
        if self.vertices.shape != (n, 3) or self.shapes.shape[:2] != (n, 3):
            raise InputError(f"surface: {self.vertices.shape} vertices and {self.shapes.shape} shapes do not fit")
        for what, index in (("faces", self.faces), ("lines", self.lines)):
            if len(index) and (index.min() < 0 or index.max() >= n):
                raise InputError(f"surface: its {what} name vertices that there are not")
        if self.shown is not None:
            self.show(self.shown)

    @property
    def amplitudes(self) -> int:
        """Number k of amplitudes that move it."""
        return self.shapes.shape[2]

    def show(self, name: str) -> None:
        """Chooses the field that colours it."""
        self.shown = self.field(name).name

    def field(self, name: str) -> Field:
        """The field of that name (capitals, spaces and hyphens do not matter)."""
        wanted = _plain(name)
        for one in self.fields:
            if _plain(one.name) == wanted:
                return one
        raise InputError(f"'{name}' is not known on this surface; there is {', '.join(f.name for f in self.fields)}")

    def deformed(self, amplitudes: Array, scale: float = 1.0) -> Array:
        """Vertices (n, 3) in the body's frame."""
        return np.asarray(self.vertices + scale * self.shapes @ amplitudes[: self.amplitudes])

    def combined(self, first: int, combination: Array) -> Surface:
        """With combinations (k, n) of the k amplitudes from number ``first`` on, in their place."""
        shapes = _combined(self.shapes, first, combination)
        fields = [replace(f, rows=shapes if f.rows is self.shapes else _combined(f.rows, first, combination)) for f in self.fields]
        nodes = {name: node.combined(first, combination) for name, node in self.nodes.items()}
        return replace(self, shapes=shapes, fields=fields, nodes=nodes)


def _combined(rows: Array, first: int, combination: Array) -> Array:
    """Columns of the last axis from ``first`` on combined; rows that end before it know none of them."""
    if rows.shape[-1] <= first:
        return rows
    return np.concatenate([rows[..., :first], rows[..., first:] @ combination], axis=-1)


def principal(shapes: Array, tracks: list[Array], negligible: float) -> tuple[Array, list[Array]]:
    """Few combinations (k, n) of k shapes (…, k), and tracks (t, n) of their amplitudes, that show what tracks (t, k) show.

    They are the principal components of the tracks, each weighed by the size of its shape; those below a part of the largest are left out.
    """
    size = np.linalg.norm(shapes.reshape(-1, shapes.shape[-1]), axis=0)
    _, values, vectors = np.linalg.svd(np.concatenate(tracks) * size, full_matrices=False)
    kept = vectors[values > negligible * max(float(values.max(initial=0.0)), 1e-300)]
    return (kept / np.where(size > 0.0, size, 1.0)).T, [(track * size) @ kept.T for track in tracks]


def _plain(name: str) -> str:
    return name.lower().replace("-", " ").replace("_", " ").strip()


def coloured(values: Array, low: float, high: float, stops: tuple[str, ...]) -> Array:
    """Colours (n, 3) in 0 … 1 of values between low and high."""
    table = np.array([[int(stop[i : i + 2], 16) for i in (1, 3, 5)] for stop in stops]) / 255.0
    u = np.clip((values - low) / (high - low), 0.0, 1.0) if high > low else np.full(len(values), 0.5)
    at = np.linspace(0.0, 1.0, len(stops))
    return np.column_stack([np.interp(u, at, table[:, k]) for k in range(3)])


def stops_of(one: Field) -> tuple[str, ...]:
    """The scale of colours of a field."""
    return DIVERGING if one.metric is None else SEQUENTIAL


def amplitudes_of(given: Any, surface: Surface, what: str) -> Array:
    """A track (nt, k) of amplitudes; raises with the name of the thing otherwise."""
    array = np.asarray(given, dtype=float)
    if array.ndim != 2 or array.shape[1] < surface.amplitudes or not np.all(np.isfinite(array)):
        raise InputError(f"{what}: amplitudes of shape {array.shape} are not finite (nt, {surface.amplitudes})")
    return array


__all__ = ["DIVERGING", "SEQUENTIAL", "Field", "Node", "Surface", "amplitudes_of", "coloured", "principal", "stops_of"]
