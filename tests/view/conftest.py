"""Scenes with a motion known in closed form, and one headless browser for all tests of the view."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from jourdain.view import Arrow, Body, Channel, Frame, Joint, Link, Mode, Plot, Point, Run, Scene, Track, page_html
from jourdain.view.chromium import Browser, find_chromium
from jourdain.view.rotation import quaternion_from_vector
from jourdain.view.shape import box, capsule, cone, cylinder, sphere, torus, tube


def make_scene(samples: int = 301, ghost: bool = True) -> Scene:
    """A tumbling block and a pendulum with a spring, a force, a trace, channels and a mode; a second run as ghost."""
    t = np.linspace(0.0, 5.0, samples)

    def run(phase: float, name: str) -> Run:
        turn = np.column_stack([np.sin(t + phase), 2.0 * t, np.cos(0.7 * t)])
        place = np.column_stack([np.cos(t + phase), 1.5 * np.sin(2 * t), 1.5 + 0.3 * np.sin(3 * t)])
        swing = np.column_stack([np.zeros_like(t), 0.8 * np.cos(3 * t + phase), np.zeros_like(t)])
        force = np.column_stack([np.zeros_like(t), 10 * np.sin(t), 5 * np.cos(t)])
        return Run(
            t,
            {
                "block": Track(place, quaternion_from_vector(turn)),
                "pendulum": Track(np.tile([2.0, 0.0, 2.0], (len(t), 1)), quaternion_from_vector(swing)),
            },
            name=name,
            arrows={"push": (place, force)},
            channels=[Channel("swing", swing[:, 1], "rad"), Channel("push", force[:, 1], "N")],
        )

    return Scene(
        "test bench",
        bodies=[
            Body("stand", [box(3, 2, 0.1)], colour="#9aa4b0"),
            Body("block", [box(0.6, 0.4, 0.3), cone(0.2, 0.05, 0.3, p=(0, 0, 0.3))], info={"mass": 2.5}),
            Body("pendulum", [capsule(0.05, 1.0, p=(0, 0, -0.5)), sphere(0.2, p=(0, 0, -1)), torus(0.2, 0.03)]),
            Body("post", [cylinder(0.05, 2, p=(2, 0, 1)), tube(0.12, 0.06, 0.2)]),
        ],
        points=[Point("bob", "pendulum", (0, 0, -1))],
        links=[Link("spring", "spring", ("block", (0, 0, 0)), (None, (0, 0, 0.05)), radius=0.1)],
        arrows=[Arrow("push")],
        frames=[Frame("ground")],
        joints=[Joint("hinge", "revolute", "pendulum", axis=(0, 1, 0))],
        runs=[run(0.0, "first"), run(0.3, "second")] if ghost else [run(0.0, "first")],
        modes=[Mode("sway", {"block": ((0.1, 0.05j, 0), (0, 0, 0.2 + 0.1j))}, frequency=3.0, damping=0.02)],
        plots=[Plot(["swing"], "angle"), Plot(["push"], x="swing")],
    )


@pytest.fixture
def scene() -> Scene:
    return make_scene()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if find_chromium() is None:
        pytest.skip("Chromium is not installed")
    with Browser((960, 600)) as running:
        running.resize((960, 600), ratio=0.5)  # a quarter of the pixels: they are all drawn by the processor
        yield running


@pytest.fixture(scope="session")
def show(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Callable[[Scene], Path]:
    """Open a scene's page from disk in the browser, with an empty list of messages."""

    def open_page(scene: Scene) -> Path:
        path = tmp_path_factory.mktemp("page") / "scene.html"
        path.write_text(page_html(scene, theme="light"), encoding="utf-8")
        browser.messages.clear()
        browser.open(path.as_uri())
        return path

    return open_page
