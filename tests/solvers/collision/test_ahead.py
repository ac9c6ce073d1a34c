"""Looking ahead: times of impact against closed forms and against small steps, and margins that let nothing through."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from jourdain.solvers.collision import Placed, Scene

from .shapes import CONVEX, SIZES, pose, rotation

E = np.eye(3)


def later(x: np.ndarray, v: np.ndarray, t: float) -> np.ndarray:
    return np.array(
        [
            pose(Rotation.from_rotvec(w[:3] * t).as_matrix() @ row[:9].reshape(3, 3), row[9:] + w[3:] * t)
            for row, w in zip(x, v, strict=True)
        ]
    )


def test_balls_against_the_closed_form() -> None:
    rng = np.random.default_rng(1)
    scene = Scene([Placed(0, ("sphere", (0.2,))), Placed(1, ("sphere", (0.3,)))])
    hits = 0
    for _ in range(60):
        x = np.array([pose(E, rng.normal(size=3)), pose(E, 2.0 * rng.normal(size=3))])
        v = 0.5 * rng.normal(size=(2, 6))
        v[1, 3:] += x[0, 9:] - x[1, 9:]
        d, u = x[1, 9:] - x[0, 9:], v[1, 3:] - v[0, 3:]
        a, b, c = u @ u, d @ u, d @ d - 0.25
        if c <= 1e-3:
            continue
        exact = (-b - np.sqrt(b * b - a * c)) / a if b < 0 and b * b > a * c else np.inf
        t, i, j = scene.time_of_impact(x, v, 3.0, tolerance=1e-9)
        if exact < 3.0:
            hits += 1
            assert exact - 1e-3 < t <= exact + 1e-12
            assert np.linalg.norm(d + u * t) - 0.5 <= 1e-9
            assert (i, j) == (0, 1)
        else:
            assert (t, i, j) == (3.0, -1, -1)
    assert hits > 5


@pytest.mark.parametrize("first", CONVEX)
@pytest.mark.parametrize("second", ["box", "cylinder", "polyhedron"])
def test_first_touch_of_turning_shapes(first: str, second: str) -> None:
    """At the time found the gap is within the tolerance, and at no time before."""
    rng = np.random.default_rng(2)
    scene = Scene([Placed(0, (first, SIZES[first])), Placed(1, (second, SIZES[second]))])
    hits = 0
    for _ in range(6):
        x = np.array([pose(rotation(rng), (0, 0, 0)), pose(rotation(rng), 1.5 * rotation(rng)[0])])
        v = np.concatenate([2.0 * rng.normal(size=(2, 3)), 0.3 * rng.normal(size=(2, 3))], axis=1)
        v[1, 3:] -= 2.0 * x[1, 9:]
        t, i, _ = scene.time_of_impact(x, v, 1.0, tolerance=1e-6)
        if i < 0:
            continue
        hits += 1
        assert 0.0 < scene.contacts(later(x, v, t), 1.0)["gap"].min() <= 1e-6 * (1 + 1e-6)
        assert all(scene.contacts(later(x, v, s), 2.0)["gap"].min() > 0.0 for s in np.linspace(0, t, 25))
    assert hits >= 3


def test_a_bullet_does_not_pass_through_a_sheet() -> None:
    sheets = [
        ("box", (2.0, 2.0, 1e-4)),
        ("height field", (np.zeros((3, 3)), 2.0, 2.0)),
        ("plane", ()),
    ]
    for sheet in sheets:
        scene = Scene([Placed(-1, sheet), Placed(0, ("box", (0.02, 0.03, 0.01)))])
        x, v = [pose(E, (0.1, 0.05, 3.0))], [[30.0, 40.0, 10.0, 5.0, 0.0, -900.0]]
        t, a, b = scene.time_of_impact(x, v, 0.01, tolerance=1e-6)
        assert (a, b) == (0, 1)
        assert 2.97 / 900 < t < 3.0 / 900
        assert len(scene.contacts(x, 0.01)) == 0
        assert len(scene.contacts_ahead(x, v, 0.01)) > 0


def test_margins_ahead_hold_everything_that_comes() -> None:
    """Pairs that touch at any time of a step are among those found at its start."""
    rng = np.random.default_rng(4)
    kinds = [*CONVEX, *CONVEX]
    scene = Scene([Placed(i, (k, SIZES[k])) for i, k in enumerate(kinds)])
    touched = 0
    for _ in range(5):
        x = np.array([pose(rotation(rng), rng.uniform(-1, 1, 3) * 1.5) for _ in kinds])
        v = rng.normal(size=(len(kinds), 6)) * 3.0
        ahead = {(int(c["shape_a"]), int(c["shape_b"])) for c in scene.contacts_ahead(x, v, 0.2)}
        seen = set()
        for t in np.linspace(0, 0.2, 21):
            seen |= {(int(c["shape_a"]), int(c["shape_b"])) for c in scene.contacts(later(x, v, t), 0.0)}
        assert seen <= ahead
        touched += len(seen)
    assert touched > 15
    assert scene.contacts(x, 0.0).tobytes() == scene.contacts(x, 0.0).tobytes()


def test_what_rests_is_left_out() -> None:
    scene = Scene([Placed(-1, ("plane", ())), Placed(0, ("box", (1.0, 1.0, 1.0))), Placed(1, ("sphere", (0.1,)))])
    x, v = [pose(E, (0, 0, 0.5)), pose(E, (0, 0, 2.0))], [[0.0] * 6, [0, 0, 0, 0, 0, -1.0]]
    t, a, b = scene.time_of_impact(x, v, 2.0)
    assert (a, b) == (1, 2)
    assert t == pytest.approx(0.9, abs=2e-6)
