"""Pairs of shapes: gaps against coal and against brute force, symmetry, invariance, consistency of points, normals and gaps."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from jourdain.solvers.collision import Placed, Scene

from .shapes import CONVEX, SIZES, coal_distance, coal_shape, pose, rotation, two

PAIRS = [*itertools.combinations_with_replacement(CONVEX, 2)]
EVERY = [*itertools.combinations_with_replacement((*CONVEX, "torus"), 2)]


def apart(rng: np.random.Generator, reach: float = 0.25) -> np.ndarray:
    """Two poses near each other."""
    a = pose(rotation(rng), rng.normal(size=3))
    return np.array([a, pose(rotation(rng), a[9:] + rng.normal(size=3) * reach)])


def farthest(kind: str, x: np.ndarray, d: np.ndarray) -> np.ndarray:
    """The point of a shape that lies farthest in a direction, written down a second time."""
    R, p, s = x[:9].reshape(3, 3), x[9:], SIZES[kind]
    u = R.T @ d
    rho = np.hypot(u[0], u[1])
    ring = np.array([u[0], u[1], 0.0]) / rho if rho > 0 else np.zeros(3)
    z = np.array([0.0, 0.0, 1.0])
    if kind == "sphere":
        q = s[0] * u / np.linalg.norm(u)
    elif kind == "capsule":
        q = s[0] * u / np.linalg.norm(u) + np.sign(u[2]) * s[1] / 2 * z
    elif kind == "box":
        q = np.sign(u) * np.array(s) / 2
    elif kind == "cylinder":
        q = s[0] * ring + np.sign(u[2]) * s[1] / 2 * z
    elif kind == "cone":
        q = max(s[0] * ring - s[2] / 2 * z, s[1] * ring + s[2] / 2 * z, key=lambda c: c @ u)
    elif kind == "ellipsoid":
        q = np.array(s) ** 2 * u / np.linalg.norm(np.array(s) * u)
    else:
        q = s[0][np.argmax(s[0] @ u)]
    return p + R @ q


def separation(first: str, a: np.ndarray, second: str, b: np.ndarray, n: np.ndarray) -> float:
    n = n / np.linalg.norm(n)
    return float(n @ (farthest(first, a, -n) - farthest(second, b, n)))


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_gaps_before_touching_are_those_of_coal(first: str, second: str) -> None:
    rng = np.random.default_rng(1)
    scene, theirs = two(first, second), (coal_shape(first), coal_shape(second))
    compared = 0
    for _ in range(60):
        x = apart(rng, 0.4)
        d = coal_distance(theirs[0], x[0], theirs[1], x[1])
        if d > 0.0:
            found = scene.contacts(x, margin=3.0)
            assert found["gap"].min() == pytest.approx(d, abs=2e-7)  # what coal's own tolerance leaves
            compared += 1
    assert compared > 10


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_gap_is_the_largest_separation_over_all_directions(first: str, second: str) -> None:
    """s(n) along the reported normal is the reported gap to rounding, and no direction separates better: not one of many, nor one found from
    the best of them by an optimiser."""
    rng = np.random.default_rng(2)
    scene = two(first, second)
    directions = rng.normal(size=(400, 3))
    for _ in range(8):
        x = apart(rng)
        found = scene.contacts(x, margin=3.0)
        k = int(np.argmin(found["gap"]))
        gap, n = float(found["gap"][k]), found["normal"][k]
        size = 1e-9 if {first, second} & {"cylinder", "cone", "ellipsoid"} else 1e-13
        assert separation(first, x[0], second, x[1], n) == pytest.approx(gap, abs=size)
        tried = [separation(first, x[0], second, x[1], d) for d in directions]
        best = minimize(
            lambda d: -separation(first, x[0], second, x[1], d), directions[int(np.argmax(tried))], method="Nelder-Mead",
            options={"xatol": 1e-9, "fatol": 1e-12, "maxiter": 600},
        )  # fmt: skip
        assert -best.fun <= gap + size


@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_aligned_shapes_deep_in_each_other(first: str, second: str) -> None:
    """Axes along axes, middles on a lattice and on each other: no direction separates better than the one found."""
    rng = np.random.default_rng(3)
    quarter = [np.eye(3), np.array([[0, 0, 1], [0, 1, 0], [-1, 0, 0.0]]), np.array([[1, 0, 0], [0, 0, -1], [0, 1, 0.0]])]
    scene = two(first, second)
    for _ in range(50):
        x = np.array([pose(quarter[rng.integers(3)], (0, 0, 0)), pose(quarter[rng.integers(3)], rng.integers(-1, 2, 3) * 0.1)])
        gap = scene.contacts(x, 0.0)["gap"].min(initial=1.0)
        tried = np.vstack([rng.normal(size=(60, 3)), np.eye(3), -np.eye(3)])
        assert max(separation(first, x[0], second, x[1], d) for d in tried) <= gap + 1e-13


@pytest.mark.parametrize(("first", "second"), EVERY)
def test_points_normals_and_gaps_fit_together(first: str, second: str) -> None:
    rng = np.random.default_rng(4)
    sizes: dict[str, Any] = {**SIZES, "torus": (0.25, 0.08)}
    scene = Scene([Placed(0, (first, sizes[first])), Placed(1, (second, sizes[second]))])
    for _ in range(30):
        found = scene.contacts(apart(rng), margin=0.3)
        assert np.abs(np.linalg.norm(found["normal"], axis=1) - 1.0).max(initial=0.0) < 1e-14
        along = np.einsum("ij,ij->i", found["normal"], found["point_a"] - found["point_b"])
        assert np.abs(along - found["gap"]).max(initial=0.0) < 1e-14
        aside = found["point_a"] - found["point_b"] - found["gap"][:, None] * found["normal"]
        assert np.abs(aside).max(initial=0.0) < 1e-9
        assert (found["gap"] <= 0.3).all()
        assert len(np.unique(found["feature"])) == len(found)


@pytest.mark.parametrize(("first", "second"), EVERY)
def test_order_of_shapes_does_not_matter(first: str, second: str) -> None:
    rng = np.random.default_rng(5)
    sizes: dict[str, Any] = {**SIZES, "torus": (0.25, 0.08)}
    shapes = [Placed(0, (first, sizes[first])), Placed(1, (second, sizes[second]))]
    one, other = Scene(shapes), Scene(shapes[::-1])
    for _ in range(30):
        x = apart(rng)
        a, b = one.contacts(x, 0.2), other.contacts(x, 0.2)
        if first == second:  # the shapes change their parts in the calculation
            assert a["gap"].min(initial=1.0) == pytest.approx(b["gap"].min(initial=1.0), abs=1e-9)
            continue
        assert (a["feature"] == b["feature"]).all()
        assert (a["gap"] == b["gap"]).all()
        assert (a["normal"] == -b["normal"]).all()
        assert (a["point_a"] == b["point_b"]).all()
        assert (a["body_a"] == b["body_b"]).all()


@pytest.mark.parametrize(("first", "second"), EVERY)
def test_motion_of_the_whole_scene_changes_nothing(first: str, second: str) -> None:
    rng = np.random.default_rng(6)
    sizes: dict[str, Any] = {**SIZES, "torus": (0.25, 0.08)}
    scene = Scene([Placed(0, (first, sizes[first])), Placed(1, (second, sizes[second]))])
    exact = not {first, second} & {"cylinder", "cone", "ellipsoid", "torus"}
    for _ in range(20):
        x = apart(rng)
        Q, shift = rotation(rng), rng.normal(size=3)
        moved = np.array([pose(Q @ row[:9].reshape(3, 3), Q @ row[9:] + shift) for row in x])
        a, b = scene.contacts(x, 0.2), scene.contacts(moved, 0.2)
        k, j = (int(np.argmin(f["gap"])) if len(f) else -1 for f in (a, b))
        if k < 0 or j < 0:
            assert min(a["gap"].min(initial=1.0), b["gap"].min(initial=1.0)) > 0.2 - 1e-9
            continue
        assert a["gap"][k] == pytest.approx(b["gap"][j], abs=1e-12 if exact else 1e-10)
        if a["gap"][k] > -0.02:  # deep shapes may have two ways out that are as good
            assert Q @ a["normal"][k] == pytest.approx(b["normal"][j], abs=1e-10 if exact else 1e-4)


@pytest.mark.parametrize("swapped", [False, True])
def test_an_ellipsoid_touches_a_face_at_its_farthest_point(swapped: bool) -> None:
    """To rounding: where a distance is least says a place to half of its digits alone."""
    rng, axes = np.random.default_rng(4), np.array(SIZES["ellipsoid"])
    floor = pose(rotation(rng), rng.normal(size=3))
    up, R0, p0 = floor[:9].reshape(3, 3)[:, 2], floor[:9].reshape(3, 3), floor[9:]
    kinds = [("box", (3.0, 3.0, 1.0)), ("ellipsoid", SIZES["ellipsoid"])]
    scene = Scene([Placed(k, kind) for k, kind in enumerate(kinds[::-1] if swapped else kinds)])
    for gap in (0.0, 1e-9, -1e-9, 1e-4, -1e-3):
        R = rotation(rng)
        u = axes * (R.T @ up)
        reach, place = float(np.linalg.norm(u)), p0 + R0 @ [*rng.uniform(-1.0, 1.0, 2), 0.5]
        poses = [floor, pose(R, place + (reach + gap) * up)]
        (found,) = scene.contacts(np.array(poses[::-1] if swapped else poses), 0.01)
        lowest = poses[1][9:] - R @ (axes * u) / reach
        own, other = (found[f"point_{side}"] for side in ("ab" if found["body_a"] == (0 if swapped else 1) else "ba"))
        np.testing.assert_allclose(own, lowest, atol=1e-14)
        np.testing.assert_allclose(other, lowest - gap * up, atol=1e-14)


def test_same_poses_give_the_same_bits_whatever_was_asked_before() -> None:
    rng = np.random.default_rng(7)
    scene = Scene([Placed(i, (kind, SIZES[kind])) for i, kind in enumerate((*CONVEX, *CONVEX))])
    x = np.array([pose(rotation(rng), rng.normal(size=3) * 0.5) for _ in range(2 * len(CONVEX))])
    first = scene.contacts(x, 0.1)
    scene.contacts(x[::-1].copy(), 0.3)
    again = scene.contacts(x, 0.1)
    assert first.tobytes() == again.tobytes()
    keys = [(c["shape_a"], c["shape_b"], c["feature"]) for c in first]
    assert keys == sorted(keys)
    assert len(first) > 30
