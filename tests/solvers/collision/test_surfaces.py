"""Surfaces of triangles: against planes, boxes and brute force; nothing catches on edges inside a flat surface."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial import ConvexHull

import jourdain as jd
from jourdain.errors import InputError
from jourdain.solvers.collision import Placed, Scene
from jourdain.solvers.collision.surfaces import height_field

from .shapes import CONVEX, SIZES, pose, rotation

E = np.eye(3)


def cube(lx: float, ly: float, lz: float, at: Any = (0.0, 0.0, 0.0)) -> tuple[np.ndarray, np.ndarray]:

    vertices, faces = jd.box(lx, ly, lz).tessellate()
    return vertices + np.asarray(at), faces


def together(*parts: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    start, vertices, faces = 0, [], []
    for v, f in parts:
        vertices.append(v)
        faces.append(f + start)
        start += len(v)
    return np.concatenate(vertices), np.concatenate(faces)


@pytest.mark.parametrize("kind", CONVEX)
def test_a_flat_surface_is_a_plane(kind: str) -> None:
    """Same least gap, all normals upright, wherever the shape lies over the triangles and however it is turned."""
    rng = np.random.default_rng(1)
    field = ("height field", (np.zeros((9, 12)), 4.0, 4.0))
    shape = (kind, SIZES[kind])
    surface, plane = (Scene([Placed(-1, ground), Placed(0, shape)]) for ground in (field, ("plane", ())))
    for k in range(120):
        R = rotation(rng)
        place = rng.uniform(-1.2, 1.2, 2) if k % 3 else rng.integers(-2, 3, 2) * [0.5, 4 / 11]
        height = -plane.contacts([pose(R, (*place, 0.0))], 5.0)["gap"].min()
        for depth in (1e-3, -1e-3, 1e-6, -0.02):
            x = [pose(R, (*place, height + depth))]
            found = surface.contacts(x, 2e-3)
            assert found["gap"].min(initial=1.0) == pytest.approx(depth, abs=1e-12)
            assert np.abs(found["normal"] - [0, 0, -1]).max() < 1e-12
            assert np.abs(found["point_a"][:, 2]).max() < 1e-12


@pytest.mark.parametrize("kind", ["box", "polyhedron", "cylinder"])
def test_what_lies_flat_on_triangles_has_the_patch_of_a_plane(kind: str) -> None:
    from .shapes import CUBE

    rng = np.random.default_rng(2)
    size = {"box": (0.5, 0.3, 0.4), "polyhedron": (0.2 * CUBE,), "cylinder": (0.2, 0.4)}[kind]
    scenes = [Scene([Placed(-1, g), Placed(0, (kind, size))]) for g in (("height field", (np.zeros((9, 12)), 4.0, 4.0)), ("plane", ()))]
    for _ in range(40):
        c, s = np.cos(a := rng.uniform(0, 6)), np.sin(a)
        x = [pose([[c, -s, 0], [s, c, 0], [0, 0, 1]], (*rng.uniform(-1, 1, 2), 0.2 - 1e-4))]
        on_triangles, on_plane = (np.array(sorted(map(tuple, np.round(s.contacts(x, 1e-3)["point_b"], 9)))) for s in scenes)
        assert on_triangles == pytest.approx(on_plane, abs=1e-8)


def test_a_sphere_on_bumpy_ground_against_all_triangles() -> None:
    rng = np.random.default_rng(3)
    vertices, triangles = height_field(0.15 * rng.normal(size=(12, 12)), 3.0, 3.0)
    scene = Scene([Placed(-1, ("mesh", (vertices, triangles))), Placed(0, ("sphere", (0.3,)))])
    corners = vertices[triangles]
    for _ in range(60):
        p = np.array([*rng.uniform(-1, 1, 2), rng.uniform(0.2, 0.6)])
        d = min(_distance(p, *c) for c in corners)
        found = scene.contacts([pose(E, p)], 0.05)
        if d - 0.3 > 0.05:
            assert len(found) == 0
        elif d > 0.02:
            assert found["gap"].min() == pytest.approx(d - 0.3, abs=1e-12)
        for c in found:  # every normal is one of the surface: the sphere moved along it is as near as it says
            assert min(_distance(p, *t) for t in corners) <= c["gap"] + 0.3 + 1e-12


def _distance(p: np.ndarray, a: np.ndarray, b: np.ndarray, c: np.ndarray) -> float:
    """From a triangle, by the plane where the foot is inside and by the three edges where not."""
    n = np.cross(b - a, c - a)
    inside = all(np.cross(q - o, p - o) @ n >= 0 for o, q in ((a, b), (b, c), (c, a)))
    if inside:
        return abs(float((p - a) @ n)) / float(np.linalg.norm(n))
    return min(
        float(np.linalg.norm(p - o - np.clip((p - o) @ (q - o) / ((q - o) @ (q - o)), 0, 1) * (q - o))) for o, q in ((a, b), (b, c), (c, a))
    )


@pytest.mark.parametrize("kind", ["sphere", "capsule", "box", "polyhedron", "cylinder", "ellipsoid"])
def test_boxes_as_triangles_are_boxes(kind: str) -> None:
    """Two boxes in one mesh, which is not convex, against the two boxes: the same least gap from outside, down to a small depth."""
    rng = np.random.default_rng(4)
    one, other = ((1.0, 0.8, 0.6), (-1.2, 0.0, 0.0)), ((0.7, 0.9, 1.1), (1.2, 0.1, 0.2))
    mesh = together(cube(*one[0], one[1]), cube(*other[0], other[1]))
    shape = Placed(1, (kind, SIZES[kind]))
    triangles = Scene([Placed(0, ("mesh", mesh)), shape])
    boxes = Scene([Placed(0, ("box", one[0]), position=one[1]), Placed(0, ("box", other[0]), position=other[1]), shape])
    assert triangles.kinds[0] == 9
    touching = 0
    for _ in range(150):
        Q = rotation(rng)
        x = np.array([pose(Q, (0.3, 0.2, 0.1)), pose(rotation(rng), Q @ (rng.normal(size=3) * [1.5, 0.6, 0.6]))])
        theirs = boxes.contacts(x, 0.1)["gap"].min(initial=1.0)
        if theirs > -0.01:
            found = triangles.contacts(x, 0.1)
            assert found["gap"].min(initial=1.0) == pytest.approx(theirs, abs=1e-9 if theirs > 0 else 2e-5)
            touching += theirs < 0.1
    assert touching > 10


@pytest.mark.parametrize("kind", ["cylinder", "ellipsoid", "cone", "polyhedron"])
def test_what_goes_a_little_into_an_edge_is_a_little_deep(kind: str) -> None:
    """Every triangle around an edge or a corner sees what overlaps it there; those that do not speak for it told the depth below their own plane, centimetres."""
    rng, seen = np.random.default_rng(5), 0
    mesh = together(cube(0.6, 0.5, 0.4), cube(0.1, 0.1, 0.1, (9.0, 0.0, 0.0)))  # not convex: triangles
    surface = Scene([Placed(-1, ("mesh", mesh)), Placed(0, (kind, SIZES[kind]))])
    solid = Scene([Placed(-1, ("box", (0.6, 0.5, 0.4))), Placed(0, (kind, SIZES[kind]))])
    for _ in range(60):
        R, way = rotation(rng), rng.normal(size=3)
        way /= np.linalg.norm(way)
        low, high = 0.0, 2.0
        for _ in range(50):
            middle = 0.5 * (low + high)
            found = solid.contacts([pose(R, middle * way)], 0.1)["gap"]
            low, high = (middle, high) if found.min(initial=1.0) < 0.0 else (low, middle)
        for depth in (1e-6, 1e-4, 2e-3):
            x = [pose(R, (high - depth) * way)]
            expected, found = solid.contacts(x, 1e-9), surface.contacts(x, 1e-9)
            assert len(found) > 0
            assert -10.0 * depth < found["gap"].min() < expected["gap"].min() + 0.05 * depth
            seen += 1
    assert seen == 180


def test_a_block_in_a_corner_touches_both_walls() -> None:
    import jourdain as jd

    corner = jd.prism([(0, 0), (2, 0), (2, 0.2), (0.2, 0.2), (0.2, 2), (0, 2)], 1.0)
    scene = Scene([Placed(-1, corner), Placed(0, ("box", (0.4, 0.4, 0.4)))])
    found = scene.contacts([pose(E, (0.4 - 1e-4, 0.4 - 2e-4, 0.0))], 1e-3)
    up, side = found[found["normal"][:, 1] < -0.5], found[found["normal"][:, 0] < -0.5]
    assert len(up) == len(side) == 4
    assert len(found) == 8
    assert up["gap"] == pytest.approx(np.full(4, -2e-4), abs=1e-14)
    assert side["gap"] == pytest.approx(np.full(4, -1e-4), abs=1e-14)


def test_a_mesh_lies_on_a_plane_by_its_corners() -> None:
    mesh = together(cube(1.0, 1.0, 0.2), cube(0.2, 0.2, 1.0, (0.3, 0.3, 0.6)))
    found = Scene([Placed(-1, ("plane", ())), Placed(0, ("mesh", mesh))]).contacts([pose(E, (0, 0, 0.1 + 1e-3))], 0.01)
    assert len(found) == 4
    assert found["gap"] == pytest.approx(np.full(4, 1e-3), abs=1e-15)
    assert np.abs(found["point_b"][:, :2]) == pytest.approx(np.full((4, 2), 0.5), abs=1e-14)


def star(seed: int, corners: int) -> tuple[np.ndarray, np.ndarray]:
    """A closed surface with corners at random distances of 0.05 to 0.15 from its middle."""
    k = np.arange(corners) + 0.5
    polar, turn = np.arccos(1.0 - 2.0 * k / corners), np.pi * (1.0 + 5.0**0.5) * k
    p = np.stack([np.cos(turn) * np.sin(polar), np.sin(turn) * np.sin(polar), np.cos(polar)], 1)
    hull = ConvexHull(p)
    outward = (
        np.einsum(
            "ki,ki->k",
            np.cross(p[hull.simplices[:, 1]] - p[hull.simplices[:, 0]], p[hull.simplices[:, 2]] - p[hull.simplices[:, 0]]),
            hull.equations[:, :3],
        )
        > 0
    )
    faces = np.where(outward[:, None], hull.simplices, hull.simplices[:, [0, 2, 1]])
    return p * np.random.default_rng(seed).uniform(0.05, 0.15, corners)[:, None], faces


@pytest.mark.parametrize("corners", [14, 200])
def test_corners_that_touch_or_come_next_are_found_however_far_one_looks(corners: int) -> None:
    """Of many corners those that touch have to be in the patch, whatever else is near: a closed contact that came and went took its force with it."""
    rng, (vertices, faces) = np.random.default_rng(7), star(3, corners)
    scene = Scene([Placed(-1, ("plane", ())), Placed(0, ("mesh", (vertices, faces)))])
    for _ in range(40):
        turn = rotation(rng)
        heights = np.sort((vertices @ turn.T)[:, 2])
        found = scene.contacts([pose(turn, (0.0, 0.0, -heights[2]))], 1.0)  # two corners below the floor, the third on it
        np.testing.assert_allclose(np.sort(found["gap"])[:3], heights[:3] - heights[2], atol=1e-15)


def test_a_capsule_beside_a_cylinder_touches_at_two_points() -> None:
    """However little it is turned: one more point in the middle would be one more spring."""
    scene = Scene([Placed(0, ("cylinder", (0.1, 0.5))), Placed(1, ("capsule", (0.05, 0.4)))])
    for angle in (0.0, 1e-12, 1e-9, 1e-7, 1e-5, 1e-4):
        c, s = np.cos(angle), np.sin(angle)
        turn = np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])
        found = scene.contacts([pose(E, (0, 0, 0)), pose(turn, (0.1499, 0, 0))], 0.01)
        assert len(found) == 2
        np.testing.assert_allclose(found["gap"], -1e-4, atol=1e-9)


def test_a_convex_mesh_is_a_polyhedron() -> None:
    scene = Scene([Placed(0, ("mesh", cube(1, 1, 1))), Placed(1, ("mesh", cube(1, 1, 1)))])
    assert scene.kinds.tolist() == [7, 7]
    assert len(scene.contacts([pose(E, (0, 0, 0)), pose(E, (0, 0, 1.001))], 0.01)) == 4


def test_surfaces_against_each_other_are_refused() -> None:
    mesh = ("mesh", together(cube(1, 1, 1), cube(1, 1, 1, (3, 0, 0))))
    with pytest.raises(InputError, match="shapes 0 and 1: no contact is known for a mesh and a mesh"):
        Scene([Placed(0, mesh), Placed(1, mesh)])
    x = [pose(E, (0, 0, 0)), pose(E, (0, 0, 0.5))]
    assert len(Scene([Placed(0, mesh), Placed(1, mesh)], exclude=[(0, 1)]).contacts(x)) == 0
    assert len(Scene([Placed(0, mesh, against=2), Placed(1, mesh, against=2)]).contacts(x)) == 0


def test_a_wheel_on_triangles_is_a_wheel_on_a_plane() -> None:
    rng = np.random.default_rng(6)
    wheel = Placed(0, ("torus", (0.3, 0.1)))
    surface, plane = (Scene([Placed(-1, g), wheel]) for g in (("height field", (np.zeros((9, 12)), 4.0, 4.0)), ("plane", ())))
    for k in range(40):
        R = rotation(rng)
        place = rng.uniform(-1.2, 1.2, 2) if k % 3 else rng.integers(-2, 3, 2) * [0.5, 4 / 11]
        height = -plane.contacts([pose(R, (*place, 0.0))], 5.0)["gap"].min()
        for depth in (1e-3, -1e-3, -0.02):
            found = surface.contacts([pose(R, (*place, height + depth))], 2e-3)
            assert found["gap"].min(initial=1.0) == pytest.approx(depth, abs=1e-12)
            assert np.abs(found["normal"] - [0, 0, -1]).max() < 1e-12
    flat = surface.contacts([pose(E, (0.03, 0.02, 0.1 + 1e-4))], 1e-3)
    assert len(flat) == 8
    assert flat["gap"] == pytest.approx(np.full(8, 1e-4), abs=1e-14)


def test_a_wheel_at_a_kerb_touches_road_and_kerb() -> None:
    import jourdain as jd

    # the outline of a prism along y lies in (z, x): the road is at x = 0 for z > 0, the kerb at x = 0.1 for z < 0
    step = jd.prism([(-2, -1), (2, -1), (2, 0), (0, 0), (0, 0.1), (-2, 0.1)], 4.0, axis="y")
    scene = Scene([Placed(-1, step), Placed(0, jd.torus(0.3, 0.1, axis="y"))])
    z = np.sqrt(0.4**2 - 0.3**2)
    found = scene.contacts([pose(E, (0.4, 0.0, z))], 1e-6)
    assert found["gap"] == pytest.approx(np.zeros(2), abs=1e-9)
    assert sorted(np.round(found["point_b"][:, [0, 2]], 6).tolist()) == sorted([[0.0, round(float(z), 6)], [0.1, 0.0]])


@pytest.mark.parametrize("depth", [1e-6, 1e-4, 1e-3])
@pytest.mark.parametrize("shift", [(0.0, 0.0), (0.01, -0.02), (0.05, 0.03)])
def test_walls_of_a_hole_do_not_push_aside_what_lies_under_their_edges(depth: float, shift: tuple[float, float]) -> None:
    """A plate with a hole on a box: edges and corners of the walls are those of the face below, whichever triangle speaks for them."""
    plate = jd.box(0.3, 0.3, 0.1) - jd.box(0.05, 0.05, 0.1)
    pair = Scene([Placed(-1, jd.box(0.2, 0.16, 0.12)), Placed(0, plate)])
    found = pair.contacts(np.r_[np.eye(3).ravel(), np.array([*shift, 0.11 - depth])][None], 0.0)
    assert len(found) >= 4
    np.testing.assert_allclose(found["gap"], -depth, atol=1e-9)
    np.testing.assert_allclose(np.abs(found["normal"][:, 2]), 1.0, atol=1e-9)
