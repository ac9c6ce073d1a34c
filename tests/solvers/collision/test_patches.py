"""Patches in poses that meet by design: faces on faces, edges on edges, shapes that just touch."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from jourdain.solvers.collision import Placed, Scene

from .shapes import CUBE, SIZES, pose, rotation

E = np.eye(3)


def turned(axis: int, angle: float) -> np.ndarray:
    c, s = np.cos(angle), np.sin(angle)
    i, j = (axis + 1) % 3, (axis + 2) % 3
    R = np.eye(3)
    R[i, i], R[i, j], R[j, i], R[j, j] = c, -s, s, c
    return R


def scene(*shapes: Any) -> Scene:
    return Scene([Placed(i, s) for i, s in enumerate(shapes)])


BOXES = {"box": ("box", (2.0, 2.0, 2.0)), "polyhedron": ("polyhedron", (CUBE,))}


@pytest.mark.parametrize("gap", [0.0, 1e-3, -1e-3, 1e-8, -1e-8, 1e-12])
@pytest.mark.parametrize(("first", "second"), [*itertools.product(BOXES, BOXES)])
@pytest.mark.parametrize("shift", [(0.0, 0.0), (0.5, 0.0), (0.25, -0.75), (1.0, 1.0)])
def test_cubes_face_on_face(first: str, second: str, gap: float, shift: tuple[float, float]) -> None:
    """Four corners of the common rectangle, whatever frame the pair is in, at any gap down to rounding."""
    rng = np.random.default_rng(1)
    pair = scene(BOXES[first], BOXES[second])
    for k in range(4):
        Q = np.eye(3) if k == 0 else rotation(rng)
        x = np.array([pose(Q, (0, 0, 0)), pose(Q, Q @ [*shift, -2.0 - gap])])
        found = pair.contacts(x, margin=0.01)
        assert len(found) == 4
        assert np.abs(found["gap"] - gap).max() < 2e-15
        assert np.abs(found["normal"] - Q[:, 2]).max() < 1e-14
        points = np.array(sorted(map(tuple, np.round(found["point_a"] @ Q, 9))))
        low, high = np.maximum(-1, np.array(shift) - 1), np.minimum(1, np.array(shift) + 1)
        assert points == pytest.approx(np.array(sorted((a, b, -1.0) for a in (low[0], high[0]) for b in (low[1], high[1]))), abs=1e-8)


@pytest.mark.parametrize("kind", [*BOXES])
def test_cube_turned_on_a_cube_makes_an_octagon(kind: str) -> None:
    pair = scene(BOXES[kind], BOXES[kind])
    found = pair.contacts([pose(E, (0, 0, 0)), pose(turned(2, np.pi / 4), (0, 0, 2.0))], margin=0.01)
    assert len(found) == 8
    radius = np.linalg.norm(found["point_a"][:, :2], axis=1)
    assert radius == pytest.approx(np.full(8, 1.0 / np.cos(np.pi / 8)), rel=1e-12)
    assert np.abs(found["gap"]).max() < 1e-15


@pytest.mark.parametrize("gap", [1e-3, 0.0, -1e-3, 1e-9, -1e-9])
@pytest.mark.parametrize(("first", "second"), [*itertools.product(BOXES, BOXES)])
def test_edges_that_cross(first: str, second: str, gap: float) -> None:
    """Two cubes on their edges, at right angles: one point, the normal that of both edges."""
    r = np.sqrt(2.0)
    for angle in (np.pi / 2, 1.0, 0.3):
        low, high = pose(turned(0, np.pi / 4), (0, 0, 0)), pose(turned(2, angle) @ turned(0, np.pi / 4), (0, 0, 2 * r + gap))
        found = scene(BOXES[first], BOXES[second]).contacts([low, high], margin=2e-3)
        k = int(np.argmin(found["gap"]))
        assert found["gap"][k] == pytest.approx(gap, abs=2e-15)
        assert found["normal"][k] == pytest.approx([0, 0, -1], abs=1e-12)
        assert found["point_a"][k] == pytest.approx([0, 0, r], abs=1e-9)


@pytest.mark.parametrize("gap", [1e-3, 1e-7, 0.0, -1e-3])
@pytest.mark.parametrize("kind", ["box", "polyhedron", "cylinder", "cone", "capsule"])
def test_flat_ends_on_a_plane_and_on_a_box(kind: str, gap: float) -> None:
    sizes: dict[str, Any] = {**SIZES, "box": (0.5, 0.5, 0.5), "polyhedron": (0.25 * CUBE,)}
    half = {"box": 0.25, "polyhedron": 0.25, "cylinder": 0.25, "cone": 0.25, "capsule": 0.35}[kind]
    least = {"box": 4, "polyhedron": 4, "cylinder": 8, "cone": 8, "capsule": 1}[kind]
    for ground, top in ((("plane", ()), 0.0), (("box", (3.0, 3.0, 1.0)), 0.5)):
        found = scene(ground, (kind, sizes[kind])).contacts([pose(E, (0, 0, 0)), pose(E, (0.1, 0.2, top + half + gap))], margin=0.01)
        assert len(found) == least, (ground, kind)
        assert np.abs(found["gap"] - gap).max() < 1e-15
        assert found["normal"] == pytest.approx(np.tile([0.0, 0.0, -1.0], (least, 1)), abs=1e-14)
        assert found["point_a"][:, 2] == pytest.approx(np.full(least, top), abs=1e-14)
        middle = found["point_a"][:, :2].mean(axis=0)
        assert middle == pytest.approx([0.1, 0.2], abs=1e-12)


@pytest.mark.parametrize("gap", [1e-3, 1e-7, 0.0, -1e-3])
@pytest.mark.parametrize("kind", ["capsule", "cylinder"])
def test_lying_on_the_side(kind: str, gap: float) -> None:
    """Both ends of the line carry: on a plane, a box, and another one that is parallel."""
    r, length = SIZES[kind]
    lying = turned(1, np.pi / 2)
    for ground, below in ((("plane", ()), 0.0), (("box", (3.0, 3.0, 1.0)), 0.5), ((kind, SIZES[kind]), r)):
        x = [pose(lying if ground[0] == kind else E, (0, 0, 0)), pose(lying, (0.05, 0.0, below + r + gap))]
        found = scene(ground, (kind, SIZES[kind])).contacts(x, margin=0.01)
        assert len(found) == 2
        assert np.abs(found["gap"] - gap).max() < 1e-14
        ends = np.sort(found["point_b"][:, 0])
        assert ends == pytest.approx([0.05 - length / 2, (length / 2) + (0.05 if ground[0] != kind else 0.0)], abs=1e-9)


def test_a_wheel_stands_on_one_point_and_lies_on_eight() -> None:
    for ground, top in ((("plane", ()), 0.0), (("box", (3.0, 3.0, 1.0)), 0.5)):
        wheel = scene(ground, ("torus", (0.3, 0.1)))
        standing = wheel.contacts([pose(E, (0, 0, 0)), pose(turned(1, np.pi / 2), (0, 0, top + 0.4 - 1e-4))], margin=1e-3)
        assert np.abs(standing["gap"] + 1e-4).min() < 1e-15
        k = int(np.argmin(standing["gap"]))
        assert standing["point_b"][k] == pytest.approx([0, 0, top - 1e-4], abs=1e-9)
        lying = wheel.contacts([pose(E, (0, 0, 0)), pose(E, (0, 0, top + 0.1 + 1e-4))], margin=1e-3)
        assert len(lying) == 8
        assert lying["gap"] == pytest.approx(np.full(8, 1e-4), abs=1e-15)
        assert np.linalg.norm(lying["point_b"][:, :2], axis=1) == pytest.approx(np.full(8, 0.3), abs=1e-14)
        tilt = 0.2
        leaning = wheel.contacts([pose(E, (0, 0, 0)), pose(turned(1, tilt), (0, 0, top + 0.1 + 0.3 * np.sin(tilt)))], margin=1e-3)
        assert leaning["gap"].min() == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("kind", ["box", "cylinder", "cone", "ellipsoid", "polyhedron", "torus", "capsule", "sphere"])
def test_on_a_plane_the_least_gap_is_the_lowest_point(kind: str) -> None:
    """Against many points of the surface: none is lower, and one is nearly as low."""
    import jourdain as jd

    rng = np.random.default_rng(8)
    sizes: dict[str, Any] = {**SIZES, "torus": (0.25, 0.08)}
    if kind == "ellipsoid":
        unit = jd.sphere(1.0).tessellate(200)[0]
        points = unit * sizes[kind]
    elif kind == "polyhedron":
        points = sizes[kind][0]
    else:
        points = getattr(jd, kind)(*sizes[kind]).tessellate(200)[0]
    pair = Scene([Placed(-1, ("plane", ()), rotation=turned(0, 0.3)), Placed(0, (kind, sizes[kind]))])
    up = turned(0, 0.3)[:, 2]
    for _ in range(20):
        R = rotation(rng)
        lowest = (points @ R.T @ up).min()
        x = pose(R, up * (0.01 - lowest) + rng.normal() * turned(0, 0.3)[:, 0])
        found = pair.contacts([x], margin=0.5)
        assert 0.01 - 3e-4 <= found["gap"].min() <= 0.01 + 1e-14
        surface = np.einsum("ij,j->i", found["point_b"], up)
        assert surface == pytest.approx(found["gap"], abs=1e-14)


def test_features_stay_while_a_block_slides_and_rocks() -> None:
    """Numbers of corners do not change as long as the same corners touch."""
    pair = scene(("box", (3.0, 3.0, 1.0)), ("box", (0.5, 0.3, 0.4)))
    seen = set()
    for k in range(200):
        t = 0.01 * k
        R = turned(2, 0.3 * t) @ turned(0, 1e-3 * np.sin(20 * t))
        found = pair.contacts([pose(E, (0, 0, 0)), pose(R, (0.3 * np.sin(t), 0.2 * t, 0.7 + 1e-3))], margin=0.01)
        seen.add(tuple(found["feature"]))
    assert len(seen) == 1
    assert len(next(iter(seen))) == 4


@pytest.mark.parametrize("first", ["box", "polyhedron", "cylinder", "ellipsoid", "cone", "capsule", "torus"])
@pytest.mark.parametrize("second", ["box", "cylinder", "polyhedron", "sphere"])
def test_gap_is_continuous_along_a_motion(first: str, second: str) -> None:
    """From apart to penetrating, turning all the way: the gap changes no faster than the shapes move."""
    sizes: dict[str, Any] = {**SIZES, "torus": (0.25, 0.08)}
    pair = scene((first, sizes[first]), (second, sizes[second]))
    rng = np.random.default_rng(3)
    for _ in range(2):
        R0, R1, along = rotation(rng), rotation(rng), rotation(rng)[0]
        last, steps = None, 500
        for k in range(steps):
            t = k / steps
            R = R1 @ turned(1, 1.5 * t)
            found = pair.contacts([pose(R0, (0, 0, 0)), pose(R, along * (1.2 - 1.1 * t))], margin=2.0)
            gap = found["gap"].min()
            if gap < -0.07:
                break
            if last is not None:
                assert abs(gap - last) <= (1.1 + 1.5 * 0.8) / steps + 1e-8
            last = gap
        assert last is not None and last < 0.0


def test_an_edge_across_the_end_of_a_cylinder_ends_on_the_circle() -> None:
    """Seen along the normal an edge of a box leaves the end of a cylinder on its rim, not on a polygon in it; lengths of what they share from circle and line."""
    r, offset = 0.1, 0.083
    pair = scene(("box", (0.4, 0.6, 0.5)), ("cylinder", (r, 0.3)))
    for angle in np.linspace(0.0, 0.7, 5):
        found = pair.contacts(np.array([pose(E, (0.0, 0.0, 0.0)), pose(turned(2, angle), (0.2 + offset, 0.01, 0.4 + 1e-5))]), 1e-3)
        on_edge = found["point_a"][np.abs(found["point_a"][:, 0] - 0.2) < 1e-9]
        assert found["gap"] == pytest.approx(1e-5, abs=1e-12)
        assert np.ptp(on_edge[:, 1]) == pytest.approx(2.0 * np.sqrt(r**2 - offset**2), abs=1e-12)
