"""Repair of triangulated surfaces: joining vertices, turning faces consistently, closing simple holes."""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise

import numpy as np


def merged(vertices: np.ndarray, faces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Join equal vertices, drop unused ones and faces with two equal corners (files store each face by itself)."""
    unique, index = np.unique(vertices + 0.0, axis=0, return_inverse=True)
    faces = index.reshape(-1)[faces]
    a, b, c = faces.T
    faces = faces[(a != b) & (b != c) & (c != a)]
    used, compact = np.unique(faces, return_inverse=True)
    return unique[used], compact.reshape(-1, 3)


def merged_within(vertices: np.ndarray, faces: np.ndarray, tolerance: float) -> tuple[np.ndarray, np.ndarray]:
    """Join vertices closer to each other than a tolerance in m, and drop faces that then occur twice."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components
    from scipy.spatial import cKDTree

    pairs = cKDTree(vertices).query_pairs(tolerance, output_type="ndarray")
    graph = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(len(vertices), len(vertices)))
    _, group = connected_components(graph, directed=False)
    _, first = np.unique(group, return_index=True)
    vertices, faces = merged(vertices[first], group[faces])
    _, single = np.unique(np.sort(faces, axis=1), axis=0, return_index=True)
    return vertices, faces[np.sort(single)]


def consistent(faces: np.ndarray) -> np.ndarray:
    """Turn faces so that neighbours run through their common edge in opposite directions, shell by shell."""
    neighbours: dict[tuple[int, int], list[tuple[int, bool]]] = defaultdict(list)
    for k, face in enumerate(faces.tolist()):
        for a, b in _edges(face):
            neighbours[min(a, b), max(a, b)].append((k, a < b))
    turned: dict[int, bool] = {}
    for seed in range(len(faces)):
        if seed in turned:
            continue
        turned[seed] = False
        waiting = [seed]
        while waiting:
            k = waiting.pop()
            for a, b in _edges(faces[k].tolist()):
                sharing = neighbours[min(a, b), max(a, b)]
                if len(sharing) == 2:
                    other, forward = sharing[0] if sharing[1][0] == k else sharing[1]
                    if other not in turned:
                        turned[other] = turned[k] ^ ((a < b) == forward)
                        waiting.append(other)
    flip = np.array([turned[k] for k in range(len(faces))], bool)
    result = faces.copy()
    result[flip] = result[flip, ::-1]
    return result


def _edges(face: list[int]) -> tuple[tuple[int, int], ...]:
    a, b, c = face
    return (a, b), (b, c), (c, a)


def filled(faces: np.ndarray) -> np.ndarray:
    """Close every hole by a fan of triangles over its rim; exact where the rim is plane."""
    edges = {edge for face in faces.tolist() for edge in _edges(face)}
    following: dict[int, list[int]] = defaultdict(list)
    for a, b in sorted(edges):
        if (b, a) not in edges:
            following[b].append(a)
    patches = []
    for start in list(following):
        while following[start]:
            rim = [start]
            while following[rim[-1]]:
                rim.append(following[rim[-1]].pop())
                if rim[-1] == start:
                    break
            patches += [(start, b, c) for b, c in pairwise(rim[1:-1])]
    return np.concatenate([faces, np.array(patches, faces.dtype).reshape(-1, 3)])
