"""Modes as motions: where bodies are at each phase, and pictures, movies and ray-traced scenes of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import jourdain as jd
from jourdain.errors import InputError
from jourdain.view import Body, Mode, Scene, povray_scene, save_movie, save_picture, scene_of_modes, vibration
from jourdain.view.camera import extent
from jourdain.view.rotation import matrix_from_quaternion, product, quaternion_from_vector
from jourdain.view.shape import box
from jourdain.view.vibration import PERIOD, natural_amplitude


@pytest.fixture
def swaying() -> Scene:
    turned = quaternion_from_vector((0.3, 0.2, -0.5))
    part = ((0.1, 0.05j, 0.0), (0.0, 0.0, 0.2 + 0.1j))
    bodies = [Body("block", [box(1, 2, 3)], position=(1, 2, 3), quaternion=turned), Body("base", [box(4, 4, 0.1)])]
    return Scene("bench", bodies, modes=[Mode("sway", {"block": part}, frequency=3.0)])


@pytest.mark.parametrize("phase", [0.0, 0.7, np.pi / 2, 4.0])
def test_bodies_are_where_amplitude_and_phase_say(swaying: Scene, phase: float) -> None:
    shown = vibration(swaying, 1, amplitude=0.5)
    run = shown.runs[0]
    k = int(np.argmin(np.abs(np.asarray(run.times) - phase / (2 * np.pi) * PERIOD)))
    turn = np.exp(2j * np.pi * run.times[k] / PERIOD)  # type: ignore[index]
    shift, spin = (np.real(turn * np.array(x)) * 0.5 for x in swaying.modes[0].displacements["block"])
    p, q = shown.pose("block", float(run.times[k]))  # type: ignore[index]
    np.testing.assert_allclose(p, np.array([1, 2, 3]) + shift, atol=1e-14)
    wanted = product(quaternion_from_vector(spin), swaying.bodies[0].quaternion)
    np.testing.assert_allclose(matrix_from_quaternion(q), matrix_from_quaternion(wanted), atol=1e-14)
    np.testing.assert_array_equal(shown.pose("base", 0.3)[0], np.zeros(3))
    np.testing.assert_allclose(shown.pose("block", 0.3, run=1)[0], (1, 2, 3))


def test_amplitude_is_a_share_of_the_model(swaying: Scene) -> None:
    size = extent(swaying)
    shown = vibration(swaying, 1, scale=2.0)
    reach = np.max(np.linalg.norm(np.asarray(shown.runs[0].bodies["block"].positions) - [1, 2, 3], axis=1))
    assert 0 < reach <= 0.16 * size.model_size * (1 + 1e-12)
    still = Mode("nothing", {"block": (np.zeros(3), np.zeros(3))})
    assert natural_amplitude(still, size) == 1.0


def test_a_mode_that_is_not_there_is_named(swaying: Scene) -> None:
    for number in (0, 2):
        with pytest.raises(InputError, match=f"no mode {number}; it has 1"):
            vibration(swaying, number)


def test_pictures_movies_and_ray_tracing_show_a_mode(swaying: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("matplotlib")
    image = pytest.importorskip("PIL.Image")
    monkeypatch.setattr("jourdain.view.picture.find_chromium", lambda: None)
    monkeypatch.setattr("jourdain.view.picture._told", {"chromium"})
    save_picture(swaying, tmp_path / "rest.png", size=(160, 90))
    save_picture(swaying, tmp_path / "mode.png", size=(160, 90), mode=1)
    rest, mode = (np.asarray(image.open(tmp_path / f"{n}.png").convert("L"), dtype=float) for n in ("rest", "mode"))
    assert np.abs(rest - mode).max() > 20
    save_movie(swaying, tmp_path / "mode.gif", size=(80, 46), fps=4, mode=1)
    with image.open(tmp_path / "mode.gif") as movie:
        assert movie.n_frames == round(2 * PERIOD * 4)
    assert povray_scene(vibration(swaying, 1), 0.0) != povray_scene(swaying, 0.0)


def test_modes_of_a_system_close_their_circle() -> None:
    m = jd.Model("oscillator", gravity=(0, 0, 0))
    slide = m.prismatic("slide", m.ground, m.body("mass", mass=1.0), axis="x")
    m.joint_spring(slide, stiffness=100.0)
    shown = vibration(scene_of_modes(m.compile().modal()), 1, amplitude=0.1)
    track = np.asarray(shown.runs[0].bodies["mass"].positions)
    np.testing.assert_allclose(track[0], track[-1], atol=1e-15)
    np.testing.assert_allclose(track[:, 0], 0.1 * np.cos(2 * np.pi * np.asarray(shown.runs[0].times) / PERIOD), atol=1e-14)
