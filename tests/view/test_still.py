"""One instant of a scene: coils between their ends, traces of points, arrows to scale."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from jourdain.view import Arrow, Body, Link, Point, Run, Scene, Track
from jourdain.view.camera import default_camera
from jourdain.view.rotation import matrix_from_quaternion
from jourdain.view.shape import box, sphere
from jourdain.view.still import arrows, coil, links, still_camera, traces


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


def test_a_still_looks_at_its_instant_where_something_flies_far():
    times = np.linspace(0.0, 1.0, 11)
    frame = Body("frame", [box(2.0, 1.0, 2.0)])
    stone = Body("stone", [sphere(0.1)])
    near = np.column_stack([np.zeros(11), np.zeros(11), 0.1 * times])
    far = np.column_stack([8.0 * times**2, np.zeros(11), np.zeros(11)])
    scene = Scene("throw", [frame, stone], runs=[Run(times, {"frame": Track(near), "stone": Track(far)})])
    whole = default_camera(scene)
    away = {t: np.linalg.norm(np.subtract(c.position, c.target)) for t in (0.0, 0.5) if (c := still_camera(scene, t, 16 / 9)) is not None}
    usual = np.linalg.norm(np.subtract(whole.position, whole.target))
    assert max(away[0.0], away[0.5]) < 0.7 * usual
    assert still_camera(scene, 1.0, 16 / 9) is None  # there the whole motion is seen
    traced = replace(scene, points=[Point("end", "stone", (0.0, 0.0, 0.0))])
    assert still_camera(traced, 1.0, 16 / 9) is None
    swings = replace(scene, runs=[Run(times, {"frame": Track(near), "stone": Track(0.2 * far)})])
    assert still_camera(swings, 0.0, 16 / 9) is None  # stills of one machine are seen from one place
    assert still_camera(replace(scene, follow="stone"), 0.0, 16 / 9) is None
    flies = replace(scene, runs=[Run(times, {"frame": Track(near), "stone": Track(10.0 * far)})])
    late = still_camera(flies, 1.0, 16 / 9)  # 80 m away: the frame is looked at
    assert late is not None and np.linalg.norm(np.subtract(late.position, late.target)) < 1.2 * away[0.0]
    assert np.linalg.norm(np.subtract(late.target, (0.0, 0.0, 0.1))) < 0.5
