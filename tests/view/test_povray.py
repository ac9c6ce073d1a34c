"""POV-Ray export: motion data that read back to the same poses, and a scene the ray tracer accepts and shows alike."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from jourdain.errors import InputError
from jourdain.view import Body, Camera, Scene
from jourdain.view.povray import povray_scene, read_motion, save_povray
from jourdain.view.rotation import matrix_from_quaternion
from jourdain.view.shape import box, mesh, prism, revolved, sphere, torus, tube

with_povray = pytest.mark.skipif(shutil.which("povray") is None, reason="POV-Ray is not installed")


def test_18_T14_motion_file_reads_back_to_the_poses(scene: Scene, tmp_path: Path) -> None:
    times = [0.0, 0.7, 3.3333, 5.0]
    save_povray(scene, tmp_path, times)
    arrays = read_motion((tmp_path / "motion.inc").read_text())
    assert len(arrays) == len(scene.bodies)
    for body, rows in zip(scene.bodies, arrays.values(), strict=True):
        for t, row in zip(times, rows, strict=True):
            position, quaternion = scene.pose(body.name, t)
            assert np.array_equal(row[:3], position)
            rotation = Rotation.from_rotvec(row[3:6] * np.radians(row[6])).as_matrix()
            assert np.allclose(rotation, matrix_from_quaternion(quaternion), atol=1e-14)


def render(folder: Path, file: str) -> np.ndarray:
    image = pytest.importorskip("PIL.Image")
    done = subprocess.run(
        ["povray", file, "+W160", "+H120", "-D", "+FN", "+Oout.png", "-A"],
        cwd=folder, capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-1500:]
    with image.open(next(folder.glob("out*.png"))) as picture:
        return np.asarray(picture.convert("RGB"), dtype=float)


@with_povray
def test_the_ray_tracer_puts_bodies_where_the_camera_formula_says(tmp_path: Path) -> None:
    camera = Camera((4.0, -6.0, 3.0), (0, 0, 0.5), 40.0)
    place = np.array([1.2, 0.4, 1.1])
    scene = Scene("ball", [Body("ball", [sphere(0.25, colour="#ff0000")], position=place)], ground=-1.0)
    (tmp_path / "ball.pov").write_text(povray_scene(scene, 0.0, camera, aspect=160 / 120))
    picture = render(tmp_path, "ball.pov")
    red = np.argwhere(picture[:, :, 0] - picture[:, :, 1:].max(axis=2) > 60)
    view = np.asarray(camera.position) - camera.target
    view /= np.linalg.norm(view)
    right = np.cross([0, 0, 1], view)
    right /= np.linalg.norm(right)
    offset = place - camera.position
    scale = 60 / np.tan(np.radians(20)) / -(offset @ view)
    expected = [60 - scale * (offset @ np.cross(view, right)), 80 + scale * (offset @ right)]
    assert np.allclose(red.mean(axis=0), expected, atol=1.5)


@with_povray
def test_a_picture_of_the_sequence_is_the_still_of_that_time(scene: Scene, tmp_path: Path) -> None:
    """Axis and angle of the sequence against the matrices of the still; neither needs a file of POV-Ray's own."""
    moment, still, movie = 1.7, tmp_path / "still", tmp_path / "movie"
    still.mkdir()
    (still / "scene.pov").write_text(povray_scene(scene, moment, aspect=160 / 120))
    save_povray(scene, movie, [moment], size=(160, 120))
    files = [still / "scene.pov", movie / "scene.pov"]
    assert re.findall(r"#include\s+(\S+)", "".join(file.read_text() for file in files)) == ['"motion.inc"']
    for file in files:
        file.write_text(file.read_text().replace(" jitter ", " "))  # by chance, and so different in each picture
    one, other = render(still, "scene.pov"), render(movie, "movie.ini")
    assert np.abs(one - other).max() <= 2 and np.ptp(one) > 100


@with_povray
def test_the_ray_tracer_accepts_every_shape_and_a_sequence(scene: Scene, tmp_path: Path) -> None:
    vertices, faces = box(0.5, 0.5, 0.5).triangles()
    shapes = [prism([(0, 0), (1, 0), (0, 1)], 0.3), torus(0.3, 0.1), mesh(vertices, faces)]
    shapes += [revolved([(0, -0.3), (0.3, -0.3), (0, 0.3)]), tube(0.3, 0.0, 0.2)]
    scene.bodies.append(Body("Teil ä", shapes, position=(-1, 0, 1)))
    save_povray(scene, tmp_path, [0.0, 1.0], size=(160, 120))
    picture = render(tmp_path, "movie.ini")
    assert len(list(tmp_path.glob("out*.png"))) == 2
    assert np.mean(np.ptp(picture, axis=2) > 30) > 0.005


def test_bad_requests_are_named(scene: Scene, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="at least one time"):
        save_povray(scene, tmp_path, [])
    with pytest.raises(InputError, match="colour 'red'"):
        povray_scene(Scene("s", [Body("b", [sphere(1)], colour="red")]), 0.0)
