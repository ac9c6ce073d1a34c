"""Triangles of the shapes: closed, outward, and with the volume of the solid."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from jourdain.errors import InputError
from jourdain.view.shape import Shape, box, capsule, cone, cylinder, mesh, prism, revolved, sphere, torus, triangulate, tube

STAR = [(0, 0.4), (0.1, 0.12), (0.4, 0.12), (0.16, -0.06), (0.25, -0.36)]
STAR += [(0, -0.18), (-0.25, -0.36), (-0.16, -0.06), (-0.4, 0.12), (-0.1, 0.12)]

SOLIDS = [
    (box(1, 2, 3), 6.0),
    (cylinder(0.5, 2), np.pi * 0.25 * 2),
    (tube(0.5, 0.3, 2), np.pi * (0.25 - 0.09) * 2),
    (sphere(0.7), 4 / 3 * np.pi * 0.343),
    (capsule(0.3, 1), np.pi * 0.09 + 4 / 3 * np.pi * 0.027),
    (cone(0.5, 0.2, 1.5), np.pi * 1.5 / 3 * (0.25 + 0.1 + 0.04)),
    (cone(0.5, 0.0, 1.5), np.pi * 1.5 / 3 * 0.25),
    (torus(1.0, 0.2), 2 * np.pi**2 * 0.04),
    (revolved([(0.2, -0.2), (0.4, -0.2), (0.3, 0.2)]), 2 * np.pi * 0.3 * 0.04),
    (revolved([(0, 0.5), (0.4, 0.5), (0.4, -0.5), (0, -0.5)]), np.pi * 0.16),
]


def volume(shape: Shape) -> float:
    vertices, faces = shape.triangles()
    a, b, c = vertices[faces].transpose(1, 0, 2)
    return float(np.sum(np.einsum("ij,ij->i", a, np.cross(b, c))) / 6)


@pytest.mark.parametrize(("shape", "expected"), SOLIDS, ids=lambda item: getattr(item, "kind", ""))
def test_volume_of_the_triangles_is_that_of_the_solid(shape: Shape, expected: float) -> None:
    # circles are polygons of 32 (and 16) edges: the area of a regular n-gon is (n/2π) sin(2π/n) of the circle's
    assert volume(shape) == pytest.approx(expected, rel=0.045)
    assert volume(shape) <= expected * (1 + 1e-12)


def test_a_prism_has_the_shoelace_area_whichever_way_it_turns() -> None:
    x, y = np.array(STAR).T
    area = abs(np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y)) / 2
    for polygon in (STAR, STAR[::-1]):
        assert volume(prism(polygon, 0.5)) == pytest.approx(0.5 * area, rel=1e-12)


@pytest.mark.parametrize("shape", [s for s, _ in SOLIDS] + [prism(STAR, 1)], ids=lambda s: s.kind)
def test_every_edge_has_two_sides(shape: Shape) -> None:
    vertices, faces = shape.triangles()
    _, index = np.unique(np.round(vertices, 9), axis=0, return_inverse=True)
    corners = index.reshape(-1)[faces]
    corners = corners[[len(set(face)) == 3 for face in corners]]
    edges = Counter((int(a), int(b)) for f in corners for a, b in ((f[0], f[1]), (f[1], f[2]), (f[2], f[0])))
    assert all(count == 1 and edges[(b, a)] == 1 for (a, b), count in edges.items())


def test_pose_turns_then_shifts() -> None:
    quarter = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])
    vertices, _ = box(2, 4, 6, R=quarter, p=(10, 0, 0)).triangles()
    assert np.allclose([vertices.min(axis=0), vertices.max(axis=0)], [[8, -1, -3], [12, 1, 3]])


def test_triangulation_of_a_concave_polygon_covers_it_once() -> None:
    points = np.array(STAR[::-1])
    triangles = points[triangulate(points)]
    u, v = triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]
    areas = 0.5 * (u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0])
    assert np.all(areas > 0)
    x, y = points.T
    assert np.sum(areas) == pytest.approx(np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y) / 2, rel=1e-12)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"kind": "blob"}, "shape 'blob' is unknown"),
        ({"kind": "box", "lx": 1, "ly": 1}, "give lx, ly, lz"),
        ({"kind": "sphere", "radius": -1}, "radius = -1 is not a positive length"),
        ({"kind": "prism", "polygon": [(0, 0), (1, 0)], "length": 1}, "polygon of shape"),
    ],
)
def test_bad_shapes_are_named(data: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Shape.from_dict(data)


def test_a_mesh_keeps_its_triangles() -> None:
    vertices, faces = box(1, 1, 1).triangles()
    assert volume(mesh(vertices, faces)) == pytest.approx(1.0)
