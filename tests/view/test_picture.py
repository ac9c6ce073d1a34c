"""Pictures and movies: of the right size, not blank, with and without a browser."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from jourdain.errors import InputError, SolverError
from jourdain.view import Body, Camera, Run, Scene, Track, darkroom
from jourdain.view import picture as picture_module
from jourdain.view.chromium import Browser, find_chromium
from jourdain.view.darkroom import close_browser
from jourdain.view.picture import save_movie, save_picture
from jourdain.view.shape import sphere

Image = pytest.importorskip("PIL.Image")


def with_browser(test: Callable[..., None]) -> Callable[..., None]:
    """A test that draws by Chromium."""
    missing = pytest.mark.skipif(find_chromium() is None, reason="Chromium is not installed")
    return pytest.mark.browser(missing(test))


def pixels(path: Path) -> np.ndarray:
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB"), dtype=float)


@pytest.fixture
def without_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(picture_module, "find_chromium", lambda: None)
    monkeypatch.setattr(picture_module, "_told", {"chromium"})


@pytest.mark.browser
@with_browser
def test_picture_has_its_size_and_depends_on_time_and_camera(scene: Scene, tmp_path: Path) -> None:
    near = Camera((2, -3, 2.5), (1, 0, 1.2))
    first = pixels(save_picture(scene, tmp_path / "a.png", size=(480, 320)))
    close = pixels(save_picture(scene, tmp_path / "b.jpg", t=1.0, camera=near, size=(480, 320)))
    assert first.shape == close.shape == (320, 480, 3)
    assert np.mean(np.ptp(first, axis=2) > 40) > 0.005
    # the same bodies seen from nearer fill more of the picture
    assert np.mean(np.ptp(close, axis=2) > 40) > 1.2 * np.mean(np.ptp(first, axis=2) > 40)


@pytest.mark.browser
@with_browser
def test_movie_as_mp4_has_its_frames(scene: Scene, tmp_path: Path) -> None:
    ffmpeg = pytest.importorskip("imageio_ffmpeg")
    path = save_movie(scene, tmp_path / "run.mp4", fps=10, end=0.7, size=(321, 240))
    count, duration = ffmpeg.count_frames_and_secs(str(path))
    assert count == 8 and duration == pytest.approx(0.8, abs=0.05)
    probe = subprocess.run([ffmpeg.get_ffmpeg_exe(), "-i", str(path)], capture_output=True, text=True, check=False)
    assert re.search(r"320x240", probe.stderr)


def test_plain_pictures_need_no_browser(scene: Scene, tmp_path: Path, without_browser: None) -> None:
    first = pixels(save_picture(scene, tmp_path / "a.png", size=(400, 300)))
    other = pixels(save_picture(scene, tmp_path / "b.png", t=1.0, size=(400, 300)))
    assert first.shape == (300, 400, 3)
    assert np.mean(np.ptp(first, axis=2) > 40) > 0.005
    assert np.mean(np.abs(first - other).max(axis=2) > 30) > 0.005


def test_movie_as_gif_has_its_frames(scene: Scene, tmp_path: Path, without_browser: None) -> None:
    path = save_movie(scene, tmp_path / "run.gif", fps=5, speed=2.0, end=1.2, size=(160, 120))
    with Image.open(path) as image:
        assert image.n_frames == 4 and image.size == (160, 120)
        assert image.info["duration"] == 200


def test_the_missing_browser_is_mentioned_once(scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(picture_module, "find_chromium", lambda: None)
    monkeypatch.setattr(picture_module, "_told", set())
    with pytest.warns(UserWarning, match="no Chromium found") as caught:
        save_picture(scene, tmp_path / "a.png", size=(80, 60))
        save_picture(scene, tmp_path / "b.png", size=(80, 60))
    assert len(caught) == 1


def test_bad_requests_are_named(scene: Scene, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"write \.png or \.jpg"):
        save_picture(scene, tmp_path / "a.bmp")
    with pytest.raises(InputError, match=r"write \.mp4 or \.gif"):
        save_movie(scene, tmp_path / "a.avi")
    with pytest.raises(InputError, match="has no run"):
        save_movie(Scene("still"), tmp_path / "a.gif")


@with_browser
def test_one_browser_takes_all_pictures_and_none_leaves_a_trace(scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Browser] = []

    class Counted(Browser):
        def __init__(self, size: tuple[int, int]) -> None:
            super().__init__(size)
            started.append(self)

    close_browser()
    monkeypatch.setattr(darkroom, "Browser", Counted)
    other = Scene("ball", bodies=[Body("ball", [sphere(0.4)], colour="#c94f4f")], up="y")
    size = (240, 160)
    first = pixels(save_picture(scene, tmp_path / "a.png", t=1.0, size=size))
    ball = pixels(save_picture(other, tmp_path / "b.png", size=size, theme="dark"))
    save_picture(scene, tmp_path / "c.png", mode=1, size=(200, 200))
    save_movie(other_run(), tmp_path / "d.gif", fps=2, end=0.5, size=(100, 80))
    again = pixels(save_picture(scene, tmp_path / "e.png", t=1.0, size=size))
    assert len(started) == 1
    assert np.array_equal(first, again) and ball.mean() < 0.6 * first.mean()
    started[0]._process.kill()  # one that died is replaced, after the picture that it failed
    started[0]._process.wait()
    with pytest.raises((SolverError, OSError)):
        save_picture(scene, tmp_path / "f.png", t=1.0, size=size)
    assert np.array_equal(pixels(save_picture(scene, tmp_path / "g.png", t=1.0, size=size)), first) and len(started) == 2
    close_browser()


def other_run() -> Scene:
    t = np.linspace(0, 1, 5)
    track = Track(np.column_stack([t, 0 * t, 0 * t]), np.tile([1.0, 0, 0, 0], (5, 1)))
    return Scene("run", bodies=[Body("ball", [sphere(0.2)])], runs=[Run(t, {"ball": track})])


@with_browser
def test_a_page_can_be_lent_to_another_program(scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    close_browser()
    own = pixels(save_picture(scene, tmp_path / "own.png", t=1.0, size=(480, 320)))
    close_browser()
    with darkroom.lent_page() as more:
        monkeypatch.setenv(darkroom.LENT, more[darkroom.LENT])
        monkeypatch.setattr(darkroom, "with_viewer", None)  # no browser of its own
        lent = [pixels(save_picture(scene, tmp_path / f"{k}.png", t=1.0, size=(480, 320))) for k in range(2) if close_browser() is None]
        close_browser()
    assert all(np.abs(p - own).max() <= 2.0 for p in lent)
    monkeypatch.undo()
    monkeypatch.setenv(darkroom.LENT, more[darkroom.LENT])  # which is there no more
    assert save_picture(scene, tmp_path / "again.png", size=(480, 320)).exists()
    close_browser()
