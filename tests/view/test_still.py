"""One instant of a scene: coils between their ends, traces of points, arrows to scale."""

from __future__ import annotations

import numpy as np
import pytest

from jourdain.view import Arrow, Body, Link, Run, Scene
from jourdain.view.rotation import matrix_from_quaternion
from jourdain.view.still import arrows, coil, links, traces


def test_a_coil_runs_between_its_ends_at_its_radius(rng: np.random.Generator) -> None:
    for _ in range(20):
        a, b = rng.normal(size=(2, 3))
        points = coil(a, b, 0.1, 7)
        axis = (b - a) / np.linalg.norm(b - a)
        along = (points - a) @ axis
        away = np.linalg.norm(points - a - np.outer(along, axis), axis=1)
        assert np.array_equal(points[0], a) and np.array_equal(points[-1], b)
        assert np.all(np.diff(along) > 0)
        assert np.max(away) == pytest.approx(0.1, rel=1e-12)


def test_a_trace_is_the_path_of_its_point(scene: Scene) -> None:
    ((name, path),) = traces(scene, 2.0)
    times = np.asarray(scene.runs[0].times)
    assert name == "bob" and len(path) == np.count_nonzero(times <= 2.0)
    for k in (0, 50, len(path) - 1):
        position, quaternion = scene.pose("pendulum", float(times[k]))
        assert np.allclose(path[k], position + matrix_from_quaternion(quaternion) @ [0, 0, -1], atol=1e-13)


def test_the_longest_arrow_takes_three_tenths_of_the_model() -> None:
    vectors = np.array([[0.0, 0, 5], [0, 0, 20]])
    run = Run([0, 1], {}, arrows={"f": (np.zeros((2, 3)), vectors)})
    scene = Scene("s", [Body("a", position=(0, 0, 0)), Body("b", position=(0, 3, 4))], arrows=[Arrow("f")], runs=[run])
    ((foot, tip),) = arrows(scene, 1.0)
    assert np.allclose(tip - foot, [0, 0, 0.3 * 5.0])
    ((foot, tip),) = arrows(scene, 0.5)
    assert np.allclose(tip - foot, [0, 0, 0.3 * 5.0 * 12.5 / 20])


def test_a_link_follows_its_track_or_its_anchors(scene: Scene) -> None:
    line = np.arange(18.0).reshape(2, 3, 3)
    belt = Scene("s", [Body("a")], links=[Link("l", "belt")], runs=[Run([0, 1], {}, links={"l": line})])
    assert np.allclose(links(belt, 0.25)[0][1], 0.75 * line[0] + 0.25 * line[1])
    spring = links(scene, 1.3)[0][1]
    assert np.allclose(spring[[0, -1]], [scene.pose("block", 1.3)[0], [0, 0, 0.05]])
