"""Polyhedra and surfaces of a scene, one after the other in common arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...native.record import Table
from .hulls import Convex
from .records import Hull
from .surfaces import Surface


class Rows:
    """Collects polyhedra and surfaces; one that is used again takes no more room."""

    def __init__(self) -> None:
        self.most_corners = 8
        self._numbers: dict[int, int] = {}
        self._kept: list[Convex | Surface] = []
        self._hulls: list[tuple[int, ...]] = []
        self._parts: dict[str, list[np.ndarray]] = {}
        self._corners = 0

    def _put(self, name: str, rows: Any, kind: Any, *width: int) -> int:
        """Appends rows to an array; where they begin."""
        parts = self._parts.setdefault(name, [np.zeros((0, *width), kind)])
        first = sum(map(len, parts))
        parts.append(np.asarray(rows, kind).reshape(-1, *width))
        return first

    def add(self, hull: Convex | Surface | None) -> int:
        """The number of a polyhedron or surface; −1 of none."""
        if hull is None:
            return -1
        if id(hull) not in self._numbers:
            self._numbers[id(hull)] = len(self._hulls)
            self._kept.append(hull)
            self._hulls.append(self._convex(hull) if isinstance(hull, Convex) else self._surface(hull))
        return self._numbers[id(hull)]

    def _convex(self, hull: Convex) -> tuple[int, ...]:
        n = len(hull.vertices)
        start = self._put("vertices", hull.vertices, float, 3)
        self._put("outstanding", np.ones(n), np.int64)
        self._put("vertex_owner", np.zeros(n), np.int64)
        first = self._put("face_planes", hull.planes, float, 4)
        for corners in hull.faces:
            self._put("face_corners", [self._corners, len(corners)], np.int64)
            self._put("corners", [start + c for c in corners], np.int64)
            self._corners += len(corners)
            self.most_corners = max(self.most_corners, len(corners))
        return start, n, first, len(hull.planes), 0, 0, 0, 0

    def _surface(self, hull: Surface) -> tuple[int, ...]:
        start = self._put("vertices", hull.vertices, float, 3)
        self._put("outstanding", hull.outstanding, np.int64)
        self._put("vertex_owner", hull.owner, np.int64)
        self._put("triangles", hull.triangles.ravel(), np.int64)
        first = self._put("triangle_normals", hull.normals, float, 3)
        self._put("beyond", hull.beyond, np.int64)
        self._put("sharp", hull.sharp, np.int64)
        self._put("away", hull.away, float, 3)
        ring_from, ring = self._put("ring_from", hull.ring_from, np.int64), self._put("ring", hull.ring, np.int64)
        node = self._put("nodes", hull.nodes, float, 6)
        self._put("node_triangle", hull.leaf, np.int64)
        return start, len(hull.vertices), first, len(hull.triangles), ring_from, ring, node, len(hull.nodes)

    def arrays(self) -> dict[str, Any]:
        """The arrays by their names in the record of a scene."""
        widths = {"vertices": 3, "face_planes": 4, "triangle_normals": 3, "away": 3, "nodes": 6}
        whole = (
            "outstanding",
            "vertex_owner",
            "face_corners",
            "corners",
            "triangles",
            "beyond",
            "sharp",
            "ring_from",
            "ring",
            "node_triangle",
        )
        found: dict[str, Any] = {name: np.concatenate([*self._parts.get(name, []), np.zeros((0, w))]) for name, w in widths.items()}
        found |= {name: np.concatenate([*self._parts.get(name, []), np.zeros(0, np.int64)]) for name in whole}
        return found | {"hulls": Table(Hull, np.array(self._hulls, Hull.dtype()) if self._hulls else np.zeros(0, Hull.dtype()))}
