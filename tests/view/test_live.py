"""Live view: the motion, forces and diagrams of a run that is watched, in the server's messages and in the browser."""

from __future__ import annotations

import json

import numpy as np
import pytest

import jourdain as jd
from jourdain.errors import InputError
from jourdain.view import Arrow, Body, Point, Scene, serve, watch
from jourdain.view.chromium import Browser
from jourdain.view.shape import sphere


def pendulum() -> jd.System:
    m = jd.Model("pendulum")
    bob = m.body("bob", mass=1.0, com=(0, 0, -0.5))
    bob.frame("end", (0, 0, -0.5))
    m.revolute("hinge", m.ground, bob, axis="y")
    return m.compile()


def test_a_watched_run_is_the_run() -> None:
    s = pendulum()
    seen: list[str] = []
    sol, server = watch(
        s, {"hinge": 1.0}, 1.0, plots=["hinge.angle"], trace=["bob.end"], forces=["hinge"], open_browser=False,
        on_start=lambda server: seen.append(server.url),
    )  # fmt: skip
    with server:
        messages = [json.loads(e.split("data: ", 1)[1]) for e in server.events() if e.startswith("id:")]
    assert seen == [server.url] and messages
    alone = s.simulate({"hinge": 1.0}, t=1.0)
    assert sol.t[-1] == pytest.approx(1.0, abs=1e-12)
    assert sol["hinge.angle"][-1] == pytest.approx(alone["hinge.angle"][-1], abs=1e-6)
    times = np.concatenate([m["times"] for m in messages])
    assert np.all(np.diff(times) > 0) and set(times) <= set(sol.t)
    angles = np.concatenate([m["channels"]["hinge.angle"] for m in messages])
    np.testing.assert_allclose(angles, sol.at(times)["hinge.angle"], atol=1e-12)
    force = np.concatenate([m["arrows"]["hinge.reaction"] for m in messages])[:, 3:]
    np.testing.assert_allclose(force, sol.at(times)["hinge.reaction"], atol=1e-6)


def test_a_terminal_event_ends_the_watching() -> None:
    m = jd.Model("fall")
    slide = m.prismatic("slide", m.ground, m.body("ball", mass=1.0), axis="z")
    m.event("floor", slide.position + 1.0, direction=-1, terminal=True)
    sol, server = watch(m.compile(), {"slide": 0.0}, 5.0, open_browser=False)
    server.close()
    assert sol.t[-1] == pytest.approx(np.sqrt(2 / 9.81), abs=1e-9)


def test_what_cannot_be_watched_is_named() -> None:
    s = pendulum()
    with pytest.raises(InputError, match="resample the solution afterwards"):
        watch(s, {}, 1.0, outputs=11, open_browser=False)
    with pytest.raises(InputError, match="must be positive"):
        watch(s, {}, 1.0, pace=0.0, open_browser=False)


@pytest.mark.browser
def test_forces_traces_and_room_grow_with_the_motion(browser: Browser) -> None:
    scene = Scene("live", [Body("ball", [sphere(0.2)])], points=[Point("middle", "ball")], arrows=[Arrow("push")])
    with serve(scene, open_browser=False, live=True) as server:
        browser.messages.clear()
        server.append([0.0, 0.1], {"ball": (np.zeros((2, 3)), [[1, 0, 0, 0]] * 2)}, arrows={"push": (np.zeros((2, 3)), [[0, 0, 1]] * 2)})
        browser.open(server.url)
        browser.wait("jourdain.time() > 0.09")
        before = np.linalg.norm(browser.evaluate("jourdain.camera().position"))
        t = np.linspace(0.2, 2.0, 10)
        way = np.outer(t, [3.0, 0, 0])
        for k in range(len(t)):
            server.append(t[k], {"ball": (way[k], [1, 0, 0, 0])}, arrows={"push": (way[k], [0, 0, 10.0])})
        server.finish()
        browser.wait("jourdain.time() > 1.99 && document.querySelector('#bar .live').hidden")
        browser.wait(f"Math.hypot(...jourdain.camera().position) > {1.3 * before}")
        assert browser.evaluate("jourdain.counts().traces") == 1
        low, high = (browser.evaluate(f"jourdain.arrow('push').{k}") for k in ("foot", "tip"))
        np.testing.assert_allclose(low, [6, 0, 0], atol=1e-9)
        assert high[2] > 0.01
    assert browser.messages == []


@pytest.mark.browser
def test_bodies_that_swing_far_from_their_origins_stay_in_view(browser: Browser) -> None:
    scene = Scene("swing", [Body("bob", [sphere(0.1, p=(0, 0, -1.0))])], points=[Point("bob", "bob", (0, 0, -1.0))])
    with serve(scene, open_browser=False, live=True) as server:
        browser.messages.clear()
        server.append(0.0, {"bob": (np.zeros(3), [1, 0, 0, 0])})
        browser.open(server.url)
        browser.wait("jourdain.time() === 0")
        before = browser.evaluate("Math.hypot(...jourdain.camera().position.map((x, i) => x - jourdain.camera().target[i]))")
        for t in np.linspace(0.1, 1.0, 10):
            angle = np.pi * t  # from below to above, about the origin, which stays
            server.append(t, {"bob": (np.zeros(3), [np.cos(angle / 2), 0, np.sin(angle / 2), 0])})
        server.finish()
        browser.wait("jourdain.time() > 0.99 && document.querySelector('#bar .live').hidden")
        after = browser.evaluate("Math.hypot(...jourdain.camera().position.map((x, i) => x - jourdain.camera().target[i]))")
        assert after > 1.5 * before
    assert browser.messages == []
