"""Contacts in a headless browser: who touches whom under the mouse; equal bodies are drawn together."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import jourdain as jd
from jourdain.view import Body, Run, Scene, Track
from jourdain.view.chromium import Browser
from jourdain.view.shape import box, sphere

pytestmark = pytest.mark.browser
Show = Callable[[Scene], Path]


def test_the_body_under_the_mouse_tells_whom_it_touches(browser: Browser, show: Show) -> None:
    m = jd.Model("stack")
    m.ground.shapes.append(jd.plane())
    for k in range(2):
        m.free(f"f{k}", m.ground, m.body(f"b{k}", shape=jd.box(0.2, 0.2, 0.1, density=500.0)))
        m.initial[f"f{k}.z"] = 0.05 + 0.1 * k
    m.contact("touch", law=jd.contact.rigid(friction=0.5))
    show(m.compile().simulate({}, 0.05, "moreau", step=1e-3).scene(forces=["touch"]))
    browser.evaluate("jourdain.time(0.05)")
    browser.hover(*browser.evaluate("jourdain.screen('b1')"))
    browser.wait("jourdain.touches().length === 1")
    (found,) = browser.evaluate("jourdain.touches()")
    assert found["other"] == "b0"
    np.testing.assert_allclose(found["force"], [0, 0, 0.2 * 0.2 * 0.1 * 500.0 * 9.81], atol=1e-2)
    np.testing.assert_allclose([p[2] for p in found["points"]], [0.1] * 4, atol=1e-5)
    text = browser.evaluate("document.getElementById('touches').innerText")
    assert "b1" in text and "b0" in text and " N" in text
    browser.hover(2, 2)
    browser.wait("document.getElementById('touches').hidden")
    assert browser.messages == []


def test_bodies_without_an_arrow_tell_whom_they_touch_by_name(browser: Browser, show: Show, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the most arrows a body had nothing to tell under the mouse."""
    monkeypatch.setattr("jourdain.view.scenes.contact_arrows.MOST", 4)
    m = jd.Model("row")
    m.ground.shapes.append(jd.plane())
    for k in range(2):
        m.free(f"f{k}", m.ground, m.body(f"b{k}", shape=jd.box(0.2, 0.2, 0.1, density=500.0)))
        m.initial |= {f"f{k}.z": 0.05, f"f{k}.x": 0.4 * k}
    m.contact("touch", law=jd.contact.rigid(friction=0.5))
    with pytest.warns(RuntimeWarning, match="4 of 8 points"):
        show(m.compile().simulate({}, 0.05, "moreau", step=1e-3).scene(forces=["touch"]))
    for body, told in (("b0", " N"), ("b1", "no arrow")):
        browser.hover(*browser.evaluate(f"jourdain.screen('{body}')"))
        browser.wait(f"document.getElementById('touches').innerText.includes('{body}')")
        text = browser.evaluate("document.getElementById('touches').innerText")
        assert "ground" in text and told in text
    assert browser.messages == []


def test_a_thousand_bodies_are_a_few_calls(browser: Browser, show: Show) -> None:
    t = np.linspace(0.0, 1.0, 5)
    shapes = [box(0.6, 0.5, 0.4), sphere(0.3)]
    turn = np.tile([1.0, 0.0, 0.0, 0.0], (5, 1))
    tracks = {f"b{k}": Track(np.array([k % 10, k // 10 % 10, k // 100]) + 0.1 * t[:, None], turn) for k in range(1000)}
    show(Scene("many", [Body(name, [shapes[k % 2]]) for k, name in enumerate(tracks)], runs=[Run(t, tracks)]))
    browser.evaluate("jourdain.layer('edges', true)")
    browser.evaluate("jourdain.picture(0.5)")
    stats = browser.evaluate("jourdain.stats()")
    assert stats["bodies"] == 1000
    assert stats["calls"] < 20
    np.testing.assert_allclose(browser.evaluate("jourdain.pose('b999')")["position"], [9.05, 9.05, 9.05], atol=1e-4)
    assert browser.messages == []
