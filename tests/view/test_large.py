"""Ten minutes of a hundred bodies at 60 Hz: under 20 MB, within 1e-6 of the scene's size, and playable."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from jourdain.view import Body, Run, Scene, Track, page_html
from jourdain.view.camera import extent
from jourdain.view.chromium import Browser
from jourdain.view.shape import box, capsule, sphere

pytestmark = [pytest.mark.slow, pytest.mark.browser]


def wander(rng: np.random.Generator, t: np.ndarray, columns: int) -> np.ndarray:
    """Sums of five tones up to 3 Hz with random amplitudes and phases, one column each."""
    frequency = rng.uniform(0.1, 3.0, (columns, 5, 1))
    amplitude = rng.uniform(0, 1, (columns, 5, 1)) / (1 + frequency**2)
    phase = rng.uniform(0, 2 * np.pi, (columns, 5, 1))
    waves: np.ndarray = np.sum(amplitude * np.sin(2 * np.pi * frequency * t + phase), axis=1).T
    return waves


def test_a_hundred_bodies_for_ten_minutes(browser: Browser, rng: np.random.Generator, tmp_path: Path) -> None:
    t = np.arange(36000) / 60
    tracks = {}
    for k in range(100):
        motion = wander(rng, t, 7)
        tracks[f"body {k}"] = Track(motion[:, :3] + [k % 10, k // 10, 2.0], motion[:, 3:] + [3.0, 0, 0, 0])
    shapes = [box(0.5, 0.3, 0.2), sphere(0.25), capsule(0.12, 0.4)]
    scene = Scene("large", [Body(name, [shapes[k % 3]]) for k, name in enumerate(tracks)], runs=[Run(t, tracks)])
    page = page_html(scene)
    assert len(page) < 20e6
    path = tmp_path / "large.html"
    path.write_text(page)
    browser.messages.clear()
    browser.open(path.as_uri())
    stats = browser.evaluate("jourdain.stats()")
    assert stats["tolerance"] == 1e-6 and stats["samples"] == 36000
    bound = 1e-6 * extent(scene).size
    for sample in rng.integers(0, len(t), 12):
        browser.evaluate(f"jourdain.time({float(t[sample])!r})")
        for name in ("body 0", "body 42", "body 99"):
            pose = browser.evaluate(f"jourdain.pose({name!r})")
            track = tracks[name]
            assert np.max(np.abs(np.asarray(track.positions)[sample] - pose["position"])) <= bound
            assert np.max(np.abs(np.asarray(track.quaternions)[sample] - pose["quaternion"])) <= 1e-6
    browser.evaluate("jourdain.play()")
    browser.wait("jourdain.stats().fps > 0 && jourdain.stats().frames > 20")
    assert browser.messages == []
