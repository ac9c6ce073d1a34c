"""The page in a headless browser: bodies are where the data says, and the controls do what they say."""

from __future__ import annotations

import io
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jourdain.errors import SolverError
from jourdain.view import Body, Channel, Inline, Plot, Point, Run, Scene, Track, page_html
from jourdain.view.chromium import Browser
from jourdain.view.rotation import matrix_from_quaternion, product, quaternion_from_vector
from jourdain.view.server import serve
from jourdain.view.shape import box, cylinder, mesh, prism, revolved, sphere, tube

pytestmark = pytest.mark.browser
Show = Callable[[Scene], Path]


def pose(browser: Browser, name: str) -> tuple[np.ndarray, np.ndarray]:
    data = browser.evaluate(f"jourdain.pose({name!r})")
    return np.array(data["position"]), np.array(data["quaternion"])


def assert_pose(browser: Browser, name: str, position: Any, quaternion: Any, tolerance: float = 1e-6) -> None:
    p, q = pose(browser, name)
    assert np.max(np.abs(p - position)) < tolerance
    assert np.max(np.abs(matrix_from_quaternion(q) - matrix_from_quaternion(quaternion))) < tolerance


def pixels(browser: Browser) -> np.ndarray:
    image = pytest.importorskip("PIL.Image").open(io.BytesIO(browser.screenshot()))
    return np.asarray(image.convert("RGB"), dtype=float)


def settle(browser: Browser) -> None:
    browser.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))")


def test_bodies_are_where_the_data_says(browser: Browser, show: Show, scene: Scene) -> None:
    path = show(scene)
    assert path.as_uri().startswith("file://")
    for t in (0.0, 1.0, 2.3456, 3.21, 4.999, 5.0):
        browser.evaluate(f"jourdain.time({t})")
        for body in ("stand", "block", "pendulum", "post"):
            assert_pose(browser, body, *scene.pose(body, t))
    assert browser.messages == []


def test_long_tracks_that_were_thinned_are_right_too(browser: Browser, show: Show, rng: np.random.Generator) -> None:
    t = np.arange(3000) / 60
    hop = np.abs(np.sin(2 * t))
    positions = np.column_stack([np.sin(0.9 * t), np.cos(0.31 * t), hop])
    turn = np.column_stack([0.2 * t, np.sin(t), 0 * t])
    scene = Scene("long", [Body("ball", [sphere(0.1)])], runs=[Run(t, {"ball": Track(positions, quaternion_from_vector(turn))})])
    show(scene)
    for k in [0, 1, 2, 2997, 2998, 2999, *rng.integers(0, 3000, 25)]:
        browser.evaluate(f"jourdain.time({float(t[k])!r})")
        assert_pose(browser, "ball", positions[k], quaternion_from_vector(turn[k]))


def test_events_are_marks_on_the_time_line(browser: Browser, show: Show, scene: Scene) -> None:
    scene.runs[0].events = [(1.25, "hit"), (2.5, "top"), (2.5, "latch"), (5.0, "end")]
    show(scene)
    marks = browser.evaluate("[...document.querySelectorAll('#bar .marks i')].map((m) => [m.title, m.getBoundingClientRect().x + 3])")
    assert [title for title, _ in marks] == ["hit at 1.25 s", "top, latch at 2.5 s", "end at 5 s"]
    box = browser.evaluate("(({ x, width }) => [x, width])(document.querySelector('#bar input.time').getBoundingClientRect())")
    assert [x for _, x in marks] == pytest.approx([box[0] + 7 + u * (box[1] - 14) for u in (0.25, 0.5, 1.0)], abs=1.0)
    browser.evaluate("document.querySelectorAll('#bar .marks i')[1].click()")
    assert browser.evaluate("jourdain.time()") == 2.5


def test_play_pause_scrub_and_keys(browser: Browser, show: Show, scene: Scene) -> None:
    show(scene)
    stats = "jourdain.stats()"
    browser.evaluate("jourdain.play()")
    browser.wait("jourdain.time() > 0.05")
    assert browser.evaluate(stats)["playing"]
    browser.evaluate("jourdain.pause()")
    stopped = browser.evaluate("jourdain.time()")
    settle(browser)
    assert browser.evaluate("jourdain.time()") == stopped
    browser.key(" ")
    browser.wait(f"jourdain.stats().playing && jourdain.time() !== {stopped}")
    browser.key(" ")
    assert not browser.evaluate(stats)["playing"]
    browser.key("Home")
    assert browser.evaluate("jourdain.time()") == 0.0
    times = np.asarray(scene.runs[0].times)
    for key, sample in (("ArrowRight", 1), ("ArrowRight", 2), ("ArrowLeft", 1), ("End", -1), ("ArrowRight", -1)):
        browser.key(key)
        assert browser.evaluate("jourdain.time()") == times[sample]
    browser.evaluate(
        "(() => { const s = document.querySelector('#bar input.time'); s.value = 2.5;s.dispatchEvent(new Event('input')); })()"
    )
    assert browser.evaluate("jourdain.time()") == pytest.approx(2.5, abs=1e-9)
    assert_pose(browser, "block", *scene.pose("block", browser.evaluate("jourdain.time()")))
    browser.evaluate("document.querySelector('#bar .main').click()")
    browser.wait("jourdain.stats().playing")
    assert browser.messages == []


def test_the_picture_shows_the_scene_and_moves(browser: Browser, show: Show, scene: Scene) -> None:
    show(scene)
    browser.evaluate("jourdain.picture(0)")
    settle(browser)
    first = pixels(browser)
    browser.evaluate("jourdain.time(1.3)")
    settle(browser)
    second = pixels(browser)
    saturation = np.ptp(first, axis=2)
    assert np.mean(saturation > 40) > 0.005
    assert np.std(first) > 5
    assert np.mean(np.abs(first - second).max(axis=2) > 30) > 0.002


def test_a_click_shows_the_body_and_escape_hides_it(browser: Browser, show: Show) -> None:
    show(Scene("one", [Body("cube", [box(1, 1, 1)], info={"mass": 12.5, "inertia": [[1, 0, 0], [0, 2, 0], [0, 0, 3]]})]))
    settle(browser)
    browser.click(480, 300)
    card = "document.getElementById('card')"
    browser.wait(f"!{card}.hidden")
    text = browser.evaluate(f"{card}.textContent")
    assert "cube" in text and "mass" in text and "12.5" in text
    browser.key("Escape")
    assert browser.evaluate(f"{card}.hidden")


def test_the_spring_stretches_between_its_anchors(browser: Browser, show: Show, scene: Scene) -> None:
    show(scene)
    for t in (0.0, 0.9, 2.2):
        browser.evaluate(f"jourdain.time({t}); jourdain.draw()")
        span = browser.evaluate("jourdain.link('spring')")
        ends = np.stack([scene.pose("block", t)[0], [0, 0, 0.05]])
        assert np.all(np.array(span["low"]) >= ends.min(axis=0) - 0.105)
        assert np.all(np.array(span["high"]) <= ends.max(axis=0) + 0.105)
        assert np.linalg.norm(np.array(span["high"]) - span["low"]) > 0.95 * np.linalg.norm(ends[1] - ends[0])


def test_the_run_can_be_exchanged_with_its_ghost(browser: Browser, show: Show, scene: Scene) -> None:
    show(scene)
    browser.evaluate("jourdain.time(2); jourdain.run(1)")
    assert_pose(browser, "block", *scene.pose("block", 2.0, run=1))


def test_a_mode_moves_as_its_amplitudes_say(browser: Browser, show: Show, scene: Scene) -> None:
    show(scene)
    body = scene.body("block")
    shift, turn = (np.asarray(part) for part in scene.modes[0].displacements["block"])
    for phase, amplitude in ((0.0, 1.0), (1.1, 0.7), (4.0, 2.0)):
        browser.evaluate(f"jourdain.mode(0, {phase}, {amplitude})")
        wave = amplitude * np.exp(1j * phase)
        quaternion = product(quaternion_from_vector((turn * wave).real), body.quaternion)
        assert_pose(browser, "block", np.asarray(body.position) + (shift * wave).real, quaternion, 1e-12)
    assert browser.messages == []


def test_the_camera_follows_a_body(browser: Browser, show: Show, scene: Scene) -> None:
    show(scene)
    browser.evaluate("jourdain.follow('block')")
    for t in (0.0, 1.5, 3.0):
        browser.evaluate(f"jourdain.time({t})")
        target = browser.evaluate("jourdain.camera()")["target"]
        assert np.allclose(target, scene.pose("block", t)[0], atol=1e-5)


def test_layers_themes_and_diagrams_make_no_complaint(browser: Browser, show: Show, scene: Scene) -> None:
    show(scene)
    assert browser.evaluate("document.querySelectorAll('#plots figure').length") == 2
    layers = "bodies edges joints links forces traces ghosts frames names ground shadows"
    for on in ("false", "true"):
        for layer in layers.split():
            browser.evaluate(f"jourdain.layer('{layer}', {on})")
        browser.evaluate("jourdain.draw()")
    browser.evaluate("jourdain.theme('dark')")
    browser.key("d")
    settle(browser)
    assert browser.evaluate("document.getElementById('plots').hidden")
    assert browser.evaluate("document.body.dataset.theme") == "dark"
    assert browser.messages == []


@pytest.mark.parametrize("up", ["y", "-z"])
def test_every_shape_is_drawn_whichever_way_is_up(browser: Browser, show: Show, up: str) -> None:
    vertices, faces = tube(0.4, 0.2, 0.5).triangles()
    shapes = [
        cylinder(0.3, 0.6), prism([(0, 0), (1, 0), (0, 1)], 0.3), mesh(vertices, faces),
        revolved([(0, -0.3), (0.3, -0.3), (0, 0.3)]), tube(0.3, 0.2, 0.5),
    ]  # fmt: skip
    bodies = [Body(f"{k} {s.kind}", [s], position=(k, 0, 0)) for k, s in enumerate(shapes)]
    show(Scene("shapes", bodies, up=up, points=[Point("p", "0 cylinder")]))
    settle(browser)
    assert browser.evaluate("jourdain.stats()")["triangles"] > 100
    assert browser.messages == []


@pytest.mark.parametrize("times", [[], [0.0], [0.0, 1.0, 1.0, 2.0], [-1.0, -0.5]], ids=str)
def test_odd_runs_are_shown(browser: Browser, show: Show, times: list[float]) -> None:
    positions = np.column_stack([np.arange(len(times)), np.zeros((len(times), 2))])
    tracks = {"ball": Track(positions)} if times else {}
    scene = Scene("odd", [Body("ball", [sphere(0.1)]), Body("empty")], runs=[Run(times, tracks)])
    show(scene)
    browser.evaluate("jourdain.play(); jourdain.pause()")
    for t in times:
        browser.evaluate(f"jourdain.time({t})")
        assert_pose(browser, "ball", *scene.pose("ball", t))
    assert browser.messages == []


def test_an_empty_scene_is_shown(browser: Browser, show: Show) -> None:
    show(Scene("nothing"))
    assert browser.evaluate("jourdain.stats()")["bodies"] == 0
    assert browser.messages == []


def test_live_motion_arrives(browser: Browser) -> None:
    scene = Scene("live", [Body("ball", [sphere(0.2)])])
    with serve(scene, open_browser=False, live=True) as server:
        server.append([0.0, 0.1], {"ball": ([[0, 0, 1], [0, 0, 0.9]], [[1, 0, 0, 0]] * 2)}, {"height": [1.0, 0.9]})
        browser.messages.clear()
        browser.open(server.url)
        browser.wait("jourdain.time() > 0.09")
        assert_pose(browser, "ball", [0, 0, 0.9], [1, 0, 0, 0], 1e-12)
        server.append(0.2, {"ball": ([0, 0, 0.6], quaternion_from_vector([1.0, 0, 0]))}, {"height": 0.6})
        browser.wait("jourdain.time() > 0.19")
        assert_pose(browser, "ball", [0, 0, 0.6], quaternion_from_vector([1.0, 0, 0]), 1e-12)
        assert browser.evaluate("document.querySelectorAll('#plots figure').length") == 1
        server.finish()
        browser.wait("document.querySelector('#bar .live').hidden")
        browser.evaluate("jourdain.time(0.15)")
        assert_pose(browser, "ball", [0, 0, 0.75], quaternion_from_vector([0.5, 0, 0]), 1e-9)
    assert browser.messages == []


def test_a_busy_page_gets_the_turns_it_needs(browser: Browser, show: Show, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page that has the processor for moments only, as on a busy machine: what comes late by the clock is awaited, what never comes is not."""
    show(Scene("nothing"))
    monkeypatch.setattr(browser, "timeout", 0.5)  # 25 looks
    slow = "const end = performance.now() + 100; while (performance.now() < end); window.turns = (window.turns || 0) + 1;"
    browser.evaluate(f"window.slow = setInterval(() => {{ {slow} }}, 1) && 0")
    browser.wait("window.turns >= 8")  # 0.8 s at least
    browser.evaluate("clearInterval(window.slow)")
    with pytest.raises(SolverError, match="'1 > 2' did not become true"):
        browser.wait("1 > 2")
    with pytest.raises(SolverError, match="nothing is not defined"):
        browser.wait("nothing.here")


def test_the_notebook_frame_shows_the_page(browser: Browser, scene: Scene, tmp_path: Path) -> None:
    path = tmp_path / "notebook.html"
    path.write_text("<!doctype html><meta charset=utf-8>" + Inline(scene)._repr_html_(), encoding="utf-8")
    browser.go(path.as_uri())
    browser.wait("document.querySelector('iframe')?.contentWindow?.jourdain !== undefined")
    inner = "document.querySelector('iframe').contentWindow.jourdain"
    place = browser.evaluate(f"{inner}.pause(); {inner}.time(0); {inner}.pose('block').position")
    assert np.allclose(place, scene.pose("block", 0.0)[0], atol=1e-6)


def diagrams(*values: tuple[str, np.ndarray]) -> Scene:
    t = np.linspace(0.0, 1.0, 40)
    track = Track(np.column_stack([t, 0 * t, 0 * t]), np.tile([1.0, 0, 0, 0], (40, 1)))
    channels = [Channel(name, x, "N" if name == "huge" else "m") for name, x in values]
    body = Body("ball", [sphere(0.2)], info={"mass": 2.5})
    return Scene("diagrams", [body], runs=[Run(t, {"ball": track}, channels=channels)], plots=[Plot([name]) for name, _ in values])


def test_ticks_have_enough_digits_and_noise_is_no_diagram(browser: Browser, show: Show) -> None:
    u = np.linspace(-1.0, 1.0, 40)
    show(
        diagrams(
            ("near", -0.6981 + 2e-6 * u), ("noise", 1e-18 * np.sin(40 * u)), ("wide", 250.0 * u), ("tiny", 3e-7 * u), ("huge", 4e7 + 10 * u)
        )
    )
    browser.resize((1200, 1500))
    browser.wait("jourdain.ticks().every((t) => t.length > 1)")
    told = browser.evaluate("jourdain.ticks()")
    browser.resize((960, 600), ratio=0.5)
    for texts in told:
        assert len(set(texts)) == len(texts), texts
    near, noise, wide, _, _ = ([float(x.replace("−", "-")) for x in texts] for texts in told)
    assert max(near) - min(near) < 1e-5 and all(abs(x + 0.6981) < 1e-5 for x in near)
    assert max(noise) >= 100.0  # a flat line on the scale of what else is measured in m
    assert told[2][0].startswith("−") and wide == sorted(wide) and all(x == round(x) for x in wide)


def test_a_page_starts_moving_unless_it_is_told_not_to(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(page_html(diagrams()), encoding="utf-8")
    browser.go(path.as_uri())
    browser.wait("window.jourdain && jourdain.time() > 0.01")
    browser.go("about:blank")
    browser.open(path.as_uri())
    settle(browser)
    assert browser.evaluate("jourdain.time()") == 0.0


def test_the_card_has_units(browser: Browser, show: Show) -> None:
    show(diagrams())
    browser.evaluate("jourdain.select('ball')")
    text = browser.evaluate("document.getElementById('card').innerText")
    assert "2.5 kg" in text and ", 0, 0 m" in text


@pytest.mark.parametrize("width", [360, 390, 480, 820])
def test_nothing_overlaps_on_a_phone(browser: Browser, show: Show, scene: Scene, width: int) -> None:
    browser.resize((width, 700))
    try:
        show(scene)
        for plots in (False, True):
            if plots:
                browser.key("d")
            settle(browser)
            boxes = browser.evaluate(
                "[...document.querySelectorAll('#bar > *, #tools, #head h1, #plots figure, #plots > select')].filter((e) => e.offsetWidth && !e.hidden)"
                ".map((e) => { const b = e.getBoundingClientRect(); return [e.className || e.id || e.tagName, b.left, b.top, b.right, b.bottom]; })"
            )
            bar = browser.evaluate("(({ left, right }) => [left, right])(document.getElementById('bar').getBoundingClientRect())")
            for i, (name, left, top, right, bottom) in enumerate(boxes):
                assert right <= width + 0.5, (name, right)
                for other, l2, t2, r2, b2 in boxes[:i]:
                    apart = left >= r2 - 0.5 or l2 >= right - 0.5 or top >= b2 - 0.5 or t2 >= bottom - 0.5
                    assert apart, (name, other)
            assert 0 <= bar[0] < bar[1] <= width
    finally:
        browser.resize((960, 600), ratio=0.5)


def test_the_wheel_glides_to_where_it_would_have_jumped(browser: Browser, show: Show, scene: Scene) -> None:
    """A notch is spread over frames, and the whole of it arrives: 0.95 for each hundred units."""
    show(scene)
    browser.evaluate("jourdain.pause()")
    far = "(() => { const c = jourdain.camera(); return Math.hypot(...c.position.map((x, i) => x - c.target[i])); })()"
    settle(browser)
    before = browser.evaluate(far)
    found = browser.evaluate(
        """new Promise((done) => {
          const canvas = document.querySelector("canvas"), box = canvas.getBoundingClientRect(), seen = [];
          const far = () => { const c = jourdain.camera(); return Math.hypot(...c.position.map((x, i) => x - c.target[i])); };
          canvas.dispatchEvent(new WheelEvent("wheel", {
            deltaY: -600, clientX: box.x + box.width / 2, clientY: box.y + box.height / 2, bubbles: true, cancelable: true }));
          const look = () => { seen.push(far()); seen.length < 90 ? requestAnimationFrame(look) : done(seen); };
          look();
        })"""
    )
    assert found[0] == pytest.approx(before)
    assert len({round(x, 9) for x in found}) > 4
    assert all(after <= x * (1 + 1e-12) for x, after in itertools.pairwise(found))
    assert found[-1] == pytest.approx(before * 0.95**6, rel=1e-3)
    assert browser.messages == []
