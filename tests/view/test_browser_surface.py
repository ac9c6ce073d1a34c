"""Flexible bodies in a headless browser: vertices, colours and nodes are where Python says; sliders and probe do what they say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from jourdain.view import Scene
from jourdain.view.chromium import Browser
from jourdain.view.scenes.surface import stops_of
from jourdain.view.server import serve
from jourdain.view.still import skin
from tests.view.test_surface import bending_scene

pytestmark = pytest.mark.browser
Show = Callable[[Scene], Path]


def linear(colours: np.ndarray) -> np.ndarray:
    """sRGB to linear light, as the page keeps colours."""
    return np.where(colours <= 0.04045, colours / 12.92, ((colours + 0.055) / 1.055) ** 2.4)


def shown(browser: Browser, name: str = "bar") -> tuple[np.ndarray, np.ndarray, dict]:
    data = browser.evaluate(f"jourdain.surface({name!r})")
    return np.reshape(data["vertices"], (-1, 3)), np.reshape(data["colours"], (-1, 3)), data["field"]


def test_the_surface_deforms_and_is_coloured_as_python_says(browser: Browser, show: Show) -> None:
    scene = bending_scene()
    body = scene.bodies[0]
    show(scene)
    assert body.surface is not None
    for t in (0.0, 0.31, 0.777, 1.0):
        browser.evaluate(f"jourdain.time({t})")
        vertices, colours, field = shown(browser)
        expected, paint = skin(scene, body, t)
        assert np.abs(vertices - expected).max() < 3e-6
        assert field["name"] == "von mises" and field["high"] == pytest.approx(scene.field_range("von mises")[1], rel=1e-6)
        # a table of 256 colours, mixed in linear light between the stops
        stops = linear(np.array([[int(c[i : i + 2], 16) for i in (1, 3, 5)] for c in stops_of(body.surface.field("von mises"))]) / 255)
        u = body.surface.field("von mises").values(scene.amplitudes("bar", t)) / field["high"]
        mixed = np.column_stack([np.interp(u, np.linspace(0, 1, len(stops)), stops[:, k]) for k in range(3)])
        assert np.abs(colours - mixed).max() < 0.02
        assert paint is not None
        for node in ("start", "end"):
            place = scene.place("bar", body.surface.nodes[node].position, node, t)
            assert np.abs(np.array(browser.evaluate(f"jourdain.node('bar', {node!r})")) - place).max() < 3e-6
        rope = browser.evaluate("jourdain.link('rope')")
        end = scene.place("bar", body.surface.nodes["end"].position, "end", t)
        assert np.all(np.array(rope["low"]) < end + 0.02) and np.all(np.array(rope["high"]) > end - 0.02)
    assert browser.messages == []


def test_sliders_and_choices(browser: Browser, show: Show) -> None:
    scene = bending_scene()
    show(scene)
    browser.evaluate("jourdain.time(0.4)")
    surface = scene.bodies[0].surface
    assert surface is not None
    e = scene.amplitudes("bar", 0.4)
    for times in (0.0, 1.0, 25.0):
        browser.evaluate(f"jourdain.exaggerate({times})")
        assert np.abs(shown(browser)[0] - surface.deformed(e, times)).max() < 3e-6 * max(1.0, times)
        assert browser.evaluate("document.querySelector('#legend output').textContent").startswith("×")
    browser.evaluate("const s = document.querySelector('#legend input'); s.value = 2; s.oninput()")
    assert np.abs(shown(browser)[0] - surface.deformed(e, 10.0)).max() < 3e-5
    options = browser.evaluate("[...document.querySelectorAll('#legend option')].map((o) => o.value)")
    assert options == ["", *(f.name for f in surface.fields)]
    browser.evaluate("const c = document.querySelector('#legend select'); c.value = 'Mz'; c.onchange()")
    field = shown(browser)[2]
    assert field["name"] == "Mz" and field["low"] == -field["high"]
    assert browser.evaluate("document.querySelector('#legend .bar b').textContent") == "Mz [N m]"
    browser.evaluate("jourdain.colour(null)")
    assert shown(browser)[2] is None and browser.evaluate("document.querySelector('#legend .bar')") is None
    assert browser.messages == []


def test_the_probe_tells_the_value_at_a_node(browser: Browser, show: Show) -> None:
    scene = bending_scene()
    show(scene)
    surface = scene.bodies[0].surface
    assert surface is not None and surface.places is not None
    browser.evaluate("jourdain.time(0.4)")
    e = scene.amplitudes("bar", 0.4)
    for name in ("von mises", "strain", "displacement"):
        browser.evaluate(f"jourdain.colour({name!r})")
        for vertex in (0, 17, len(surface.vertices) - 1):
            told = browser.evaluate(f"jourdain.probe('bar', {vertex})")
            assert told["value"] == pytest.approx(
                surface.field(name).values(e)[vertex], rel=1e-4, abs=1e-5 * surface.field(name).range(e[None])[1]
            )
            assert told["place"] == surface.labels[surface.places[vertex]] and told["unit"] == surface.field(name).unit
    # a click where the middle of the bar is seen opens the card with the value there
    click = """(() => { const canvas = document.getElementById('canvas'), box = canvas.getBoundingClientRect();
      for (let y = 2; y < box.height; y += 3) for (let x = 2; x < box.width; x += 3) {
        const at = { clientX: box.left + x, clientY: box.top + y, button: 0, bubbles: true, pointerId: 1 };
        canvas.dispatchEvent(new PointerEvent('pointerdown', at)); canvas.dispatchEvent(new PointerEvent('pointerup', at));
        if (!document.getElementById('card').hidden) return document.getElementById('card').textContent;
      } return ''; })()"""
    assert "displacement at node" in browser.evaluate(click)


def test_a_mode_bends_the_surface(browser: Browser, show: Show) -> None:
    scene = bending_scene()
    show(scene)
    surface = scene.bodies[0].surface
    assert surface is not None
    for phase in (0.0, 1.0, 2.5):
        browser.evaluate(f"jourdain.mode(0, {phase}, 0.05)")
        e = np.zeros(surface.amplitudes)
        e[0] = 0.05 * np.cos(phase)
        assert np.abs(shown(browser)[0] - surface.deformed(e)).max() < 3e-6
    assert shown(browser)[2]["high"] > 0


def test_the_same_colour_is_the_same_value_on_all_bodies(browser: Browser, show: Show) -> None:
    """Two bars of which one bends twice as much, in a motion and in a mode."""
    scene = bending_scene()
    first = scene.bodies[0]
    assert first.surface is not None
    scene.bodies.append(replace(first, name="other", surface=replace(first.surface)))
    run, mode = scene.runs[0], scene.modes[0]
    run.bodies["other"], run.amplitudes["other"] = run.bodies["bar"], 2.0 * np.asarray(run.amplitudes["bar"])
    mode.amplitudes["other"] = 2.0 * np.asarray(mode.amplitudes["bar"])
    show(scene)
    browser.evaluate("jourdain.time(0.3)")
    one, two = shown(browser)[2], shown(browser, "other")[2]
    assert one == two and one["high"] == pytest.approx(scene.field_range("von mises")[1])
    browser.evaluate("jourdain.mode(0, 0.0, 0.02)")
    one, two = shown(browser)[2], shown(browser, "other")[2]
    natural = browser.evaluate("JSON.parse(document.getElementById('scene').textContent).modes[0].amplitude")
    largest = first.surface.field("von mises").values(2.0 * natural * np.real(mode.amplitudes["bar"])).max()
    assert one == two and one["high"] == pytest.approx(largest, rel=1e-4)


def test_live_surfaces_grow_with_the_run(browser: Browser) -> None:
    scene = bending_scene()
    surface = scene.bodies[0].surface
    assert surface is not None
    run = scene.runs[0]
    times, e = np.asarray(run.times), np.asarray(run.amplitudes["bar"])
    track = run.bodies["bar"]
    with serve(scene, open_browser=False, live=True) as server:
        browser.open(server.url)
        later = times[1:] + 1.0
        server.append(later, {"bar": (np.asarray(track.positions)[1:], np.asarray(track.quaternions)[1:])}, amplitudes={"bar": 3.0 * e[1:]})
        server.finish()
        browser.evaluate(
            "new Promise((done) => { const look = () => (jourdain.stats().samples === 81 ? done(0) : setTimeout(look, 20)); look(); })"
        )
        browser.evaluate(f"jourdain.time({float(later[20])})")
        vertices, _, field = shown(browser)
        assert np.abs(vertices - surface.deformed(3.0 * e[21], scene.exaggeration)).max() < 3e-5
        assert field["high"] >= surface.field("von mises").values(3.0 * e[21]).max() * (1 - 1e-5)
