"""The scene: interpolation between samples, and messages that name what is wrong."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest
from scipy.spatial.transform import Rotation, Slerp

from jourdain.errors import InputError
from jourdain.view import Body, Camera, Joint, Link, Mode, Point, Run, Scene, Track, default_camera
from jourdain.view.camera import extent, ground_height, up_vector
from jourdain.view.rotation import matrix_from_quaternion
from jourdain.view.shape import box


def test_pose_between_samples_is_linear_and_spherical(scene: Scene) -> None:
    run = scene.runs[0]
    times, track = np.asarray(run.times), run.bodies["block"]
    quaternions = np.asarray(track.quaternions)
    slerp = Slerp(times, Rotation.from_quat(quaternions[:, [1, 2, 3, 0]]))
    for t in (0.0, 0.0123, 2.3456, 4.999, 5.0, 7.0):
        position, quaternion = scene.pose("block", t)
        expected = [np.interp(t, times, np.asarray(track.positions)[:, k]) for k in range(3)]
        assert np.allclose(position, expected, atol=1e-14)
        assert np.allclose(matrix_from_quaternion(quaternion), slerp(min(t, 5.0)).as_matrix(), atol=1e-12)


def test_a_body_without_track_rests() -> None:
    scene = Scene("rest", [Body("a", position=(1, 2, 3), quaternion=(0, 2, 0, 0))], runs=[Run([0, 1], {})])
    position, quaternion = scene.pose("a", 0.5)
    assert position.tolist() == [1, 2, 3] and quaternion.tolist() == [0, 1, 0, 0]


def bad(**parts: object) -> Callable[[], None]:
    return lambda: Scene("s", **{"bodies": [Body("a")], **parts}).check()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Joint("knee", axis=(0, 0, 0)), "joint 'knee': axis (0, 0, 0) has no direction"),
        (lambda: Joint("knee", "hinge"), "joint 'knee': kind 'hinge' is unknown"),
        (lambda: Link("s", "rubber"), "link 's': kind 'rubber' is unknown"),
        (lambda: Body("a", position=(0, np.nan, 0)), "body 'a': position"),
        (lambda: Track(np.zeros((3, 2))), "track: positions: shape (3, 2) is not (nt, 3)"),
        (lambda: Track([[0, 0, 0], [0, np.inf, 0]]), "sample 1 is not finite"),
        (lambda: Run([0, 1, 0.5]), "times must be finite and must not decrease"),
        (lambda: Run([0, 1], {"a": Track(np.zeros((3, 3)))}), "body 'a' has 3 samples for 2 times"),
        (lambda: Mode("m", {"a": ((1, 2), (0, 0, 0))}), "mode 'm', body 'a'"),
        (bad(up="w"), "up 'w' is unknown"),
        (bad(bodies=[Body("a"), Body("a")]), "body 'a' is given twice"),
        (bad(points=[Point("p", "b")]), "point 'p' refers to body 'b'"),
        (bad(links=[Link("l", a=("b", (0, 0, 0)))]), "link 'l' refers to body 'b'"),
        (bad(runs=[Run([0], {"b": Track(np.zeros((1, 3)))})]), "track of body 'b', which is not in the scene"),
        (bad(follow="c"), "follow refers to body 'c'"),
        (lambda: Scene("s").body("x"), "no body 'x'"),
    ],
)
def test_errors_name_the_object(make: Callable[[], object], message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        make()


@pytest.mark.parametrize("up", ["x", "y", "z", "-z"])
def test_the_default_camera_sees_every_corner(up: str, rng: np.random.Generator) -> None:
    for span in ([4, 3, 2], [4, 0.1, 3], [0.1, 2, 2], [1, 1, 9]):
        shift = rng.normal(size=3) * 5
        scene = Scene("box", [Body("b", [box(*span)], position=shift)], up=up)
        camera = default_camera(scene, aspect=1.5)
        position, target = np.asarray(camera.position), np.asarray(camera.target)
        view = (position - target) / np.linalg.norm(position - target)
        right = np.cross(up_vector(scene), view)
        right /= np.linalg.norm(right)
        vertices = scene.bodies[0].shapes[0].triangles()[0] + shift - position
        depth = -vertices @ view
        tangent = np.tan(np.radians(camera.fov) / 2)
        assert np.all(depth > 0)
        assert np.all(np.abs(vertices @ right) < 1.5 * tangent * depth)
        assert np.all(np.abs(vertices @ np.cross(view, right)) < tangent * depth)
        assert position @ up_vector(scene) > target @ up_vector(scene)


def test_extent_holds_the_motion_and_a_journey_is_followed() -> None:
    positions = np.column_stack([np.linspace(0, 300, 50), np.zeros(50), np.ones(50)])
    scene = Scene("drive", [Body("car", [box(4, 2, 1)])], runs=[Run(np.arange(50), {"car": Track(positions)})])
    space = extent(scene)
    assert np.allclose(space.low, [-2, -1, 0.5]) and np.allclose(space.high, [302, 1, 1.5])
    assert space.is_journey
    assert np.linalg.norm(np.asarray(default_camera(scene).position)) < 50
    assert ground_height(scene, space) < 0.5


def test_a_given_camera_is_kept() -> None:
    camera = Camera((1, 2, 3))
    assert default_camera(Scene("s", camera=camera)) is camera
