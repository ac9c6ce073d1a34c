"""Surfaces of triangles: which edges stick out, what lies beside them, and a tree of boxes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import InputError

#: Edges that bend by less than this angle (rad) count as flat: nothing can catch on them.
FLAT = 1e-6


@dataclass(frozen=True)
class Surface:
    """Triangles seen from outside counter-clockwise; edge k of a triangle goes from its corner k to the next.

    ``beyond`` is the triangle on the other side of an edge (−1: none); ``sharp`` is 1 where the edge bends outwards or ends the surface, −1 where it
    bends inwards, 0 where it is flat; ``away`` is the direction in the plane of that other triangle away from it at the edge.  A vertex is
    ``outstanding`` unless all its edges are flat, and ``owner`` is its first triangle.  Neighbours of vertex v are ring[ring_from[v] : ring_from[v + 1]].
    """

    vertices: np.ndarray
    triangles: np.ndarray
    normals: np.ndarray
    beyond: np.ndarray
    sharp: np.ndarray
    away: np.ndarray
    outstanding: np.ndarray
    owner: np.ndarray
    ring_from: np.ndarray
    ring: np.ndarray
    nodes: np.ndarray
    leaf: np.ndarray


def surface(vertices: np.ndarray, triangles: np.ndarray) -> Surface:
    """A surface from vertices (n, 3) and triangles (m, 3); triangles without area are left out."""
    corners = vertices[triangles]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    area = np.linalg.norm(normals, axis=1)
    good = area > 1e-14 * float(np.ptp(vertices, axis=0).max()) ** 2
    if not good.any():
        raise InputError("mesh: it has no triangles of non-zero size, so nothing can touch it")
    triangles, corners, normals = triangles[good], corners[good], normals[good] / area[good, None]
    beyond, sharp, away = _edges(triangles, corners, normals)
    outstanding = np.zeros(len(vertices), np.int64)
    np.maximum.at(outstanding, triangles.ravel(), np.abs(sharp))
    np.maximum.at(outstanding, np.roll(triangles, -1, axis=1).ravel(), np.abs(sharp))
    owner = np.full(len(vertices), len(triangles), np.int64)
    np.minimum.at(owner, triangles.ravel(), np.repeat(np.arange(len(triangles)), 3))
    ring_from, ring = _rings(len(vertices), triangles)
    nodes, leaf = _tree(corners)
    return Surface(vertices, triangles, normals, beyond, sharp, away, outstanding, owner, ring_from, ring, nodes, leaf)


def _edges(triangles: np.ndarray, corners: np.ndarray, normals: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Beyond every edge, whether it is sharp, and the direction away from the other triangle."""
    start, end = triangles.ravel(), np.roll(triangles, -1, axis=1).ravel()
    side = np.roll(corners, -1, axis=1) - corners
    out = np.cross(side, normals[:, None]).reshape(-1, 3)
    out /= np.linalg.norm(out, axis=1)[:, None]
    where = {(a, b): k for k, (a, b) in enumerate(zip(start.tolist(), end.tolist(), strict=True))}
    other = np.array([where.get((b, a), -1) for a, b in zip(start.tolist(), end.tolist(), strict=True)], np.int64)
    beyond = np.where(other >= 0, other // 3, -1)
    own = np.repeat(normals, 3, axis=0)
    bend = np.einsum("ij,ij->i", normals[beyond], out)  # sine of the angle by which the other normal leans outwards
    same = np.einsum("ij,ij->i", normals[beyond], own)
    angle = np.where(beyond < 0, 1.0, np.arctan2(bend, same))
    sharp = np.where(np.abs(angle) > FLAT, np.sign(angle), 0.0)
    away = np.where((other >= 0)[:, None], out[other], 0.0)
    return beyond.astype(np.int64), sharp.astype(np.int64), away


def _rings(n: int, triangles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Vertices that share an edge with a vertex."""
    pairs = np.concatenate([triangles[:, [i, j]] for i in range(3) for j in range(3) if i != j])
    pairs = np.unique(pairs, axis=0)
    return np.searchsorted(pairs[:, 0], np.arange(n + 1)).astype(np.int64), pairs[:, 1].astype(np.int64)


def _tree(corners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Boxes of triangles in the order of Morton's curve, united two by two: node k has the children 2k and 2k + 1."""
    low, high = corners.min(axis=1), corners.max(axis=1)
    middle = low + high
    width = np.where(np.ptp(middle, axis=0) > 0, np.ptp(middle, axis=0), 1.0)
    cell = ((middle - middle.min(axis=0)) / width * 1023).astype(np.int64)
    key = np.zeros(len(cell), np.int64)
    for bit in range(10):
        for axis in range(3):
            key |= ((cell[:, axis] >> bit) & 1) << (3 * bit + axis)
    order = np.argsort(key, kind="stable")
    leaves = 1 << max(0, int(np.ceil(np.log2(len(order)))))
    nodes = np.empty((2 * leaves, 6))
    nodes[:, :3], nodes[:, 3:] = np.inf, -np.inf
    nodes[leaves : leaves + len(order), :3], nodes[leaves : leaves + len(order), 3:] = low[order], high[order]
    for k in range(leaves - 1, 0, -1):
        nodes[k, :3], nodes[k, 3:] = np.minimum(nodes[2 * k, :3], nodes[2 * k + 1, :3]), np.maximum(nodes[2 * k, 3:], nodes[2 * k + 1, 3:])
    leaf = np.full(2 * leaves, -1, np.int64)
    leaf[leaves : leaves + len(order)] = order
    return nodes, leaf


def height_field(heights: Any, lx: float, ly: float) -> tuple[np.ndarray, np.ndarray]:
    """Vertices and triangles of a height field over −lx/2 … lx/2 and −ly/2 … ly/2: heights[i, j] at the i-th x and the j-th y.

    >>> [a.shape for a in height_field(np.zeros((3, 4)), 1.0, 2.0)]
    [(12, 3), (12, 3)]
    """
    z = np.asarray(heights, float)
    if z.ndim != 2 or min(z.shape) < 2 or not np.isfinite(z).all():
        raise InputError(f"height field: heights of shape {z.shape} are needed as finite numbers (nx, ny), at least two along each axis")
    nx, ny = z.shape
    x, y = np.meshgrid(np.linspace(-lx / 2, lx / 2, nx), np.linspace(-ly / 2, ly / 2, ny), indexing="ij")
    vertices = np.stack([x, y, z], axis=-1).reshape(-1, 3)
    i, j = (k.ravel() for k in np.meshgrid(np.arange(nx - 1), np.arange(ny - 1), indexing="ij"))
    a, b, c, d = i * ny + j, (i + 1) * ny + j, (i + 1) * ny + j + 1, i * ny + j + 1
    return vertices, np.concatenate([np.column_stack([a, b, c]), np.column_stack([a, c, d])])
