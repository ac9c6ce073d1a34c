"""A hand in the live view: the spring of the mouse in every formulation, commands of the page, and the mouse itself in a browser."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import jourdain as jd
from jourdain.errors import InputError
from jourdain.model.pulled import pull_values, pulled
from jourdain.view import play
from jourdain.view.chromium import Browser
from jourdain.view.play import Hand
from jourdain.view.server import Server


def cart() -> jd.Model:
    """A cart on a rail with a pendulum, a motor and a spring."""
    m = jd.Model("cart")
    wagon, bob = m.body("wagon", mass=2.0, inertia=(0.1, 0.1, 0.1)), m.body("bob", mass=0.7, com=(0, 0, -0.5), inertia=(0.05, 0.06, 0.02))
    rail = m.prismatic("rail", m.ground, wagon, axis="x")
    m.revolute("hinge", wagon, bob, axis="y")
    m.force(rail, m.input("motor", 0.0, "N"))
    m.joint_spring(rail, stiffness=20.0, damping=1.0)
    return m


@pytest.mark.parametrize("formulation", ["recursive", "semi-recursive", "cartesian", "natural", "directors"])
def test_the_spring_of_the_mouse_is_a_bushing(formulation: str) -> None:
    by_hand = cart()
    held = by_hand.bodies["bob"].at(0.1, 0, -0.4)
    by_hand.bushing("mouse", by_hand.ground.at(0.6, 0, -0.2), held, (30.0,) * 3 + (0,) * 3, (2.0,) * 3 + (0,) * 3)
    options = {"step": 1e-3} if formulation == "directors" else {"rtol": 1e-9, "atol": 1e-10}
    start = {"rail": 0.1, "hinge": 0.4}
    wanted = by_hand.compile(formulation=formulation).simulate(start, t=0.5, **options)
    model = cart()
    model.compile()
    springs = pulled(model).compile(formulation=formulation)
    found = springs.simulate(start, t=0.5, inputs=pull_values("bob", (0.1, 0, -0.4), (0.6, 0, -0.2), 30.0, 2.0), **options)
    for name in ("rail.displacement", "hinge.angle"):
        assert found[name][-1] == pytest.approx(wanted[name][-1], abs=1e-9 if formulation != "directors" else 1e-8)
    assert [*model.inputs] == ["motor"] and not any(
        n.startswith("pull") for n in (*model.loads, *model.sensors)
    )  # the model itself is as it was


def arm(**options: Any) -> jd.Model:
    """A pendulum that bends, hung at one of its nodes, with its middle known."""
    st = jd.structures
    m = jd.Model("arm")
    part = st.beam((0, 0, 0), (1, 0, 0), st.rectangle(0.01, 0.02), st.Material(1e9, 0.3, 1000.0), elements=4)
    link = m.flexible_body("link", part, modes=3, damping=0.02, **options)
    m.revolute("hinge", m.ground, link.node("start"), axis="y")
    link.node("end")
    return m


@pytest.mark.parametrize("frame", ["mean axes", "tangent"])
@pytest.mark.parametrize("formulation", ["recursive", "semi-recursive", "cartesian"])
def test_a_body_that_bends_is_pulled_at_a_point_that_moves_with_its_modes(formulation: str, frame: str) -> None:
    """As by a bushing at the node there; the spring pulls along the pendulum, too, and bends it by Φᵀ F."""
    by_hand = arm(frame=frame)
    by_hand.bushing(
        "mouse", by_hand.ground.at(0.9, 0.1, 0.3), by_hand.bodies["link"].node("end"), (30.0,) * 3 + (0,) * 3, (2.0,) * 3 + (0,) * 3
    )
    start = {"hinge": 0.2, "link.mode1": 0.01}
    wanted = by_hand.compile(formulation=formulation).simulate(start, t=0.1, rtol=1e-9, atol=1e-11)
    model = arm(frame=frame)
    point = model.bodies["link"].part.points["end"]  # type: ignore[attr-defined]
    inputs = pull_values("link", point.position, (0.9, 0.1, 0.3), 30.0, 2.0, point.phi_t)
    found = pulled(model).compile(formulation=formulation).simulate(start, t=0.1, rtol=1e-9, atol=1e-11, inputs=inputs)
    for name in ("hinge.angle", "link.mode1", "link.mode2", "link.mode3"):
        assert found[name][-1] == pytest.approx(wanted[name][-1], abs=1e-8)


def test_a_vertex_of_a_body_that_bends_is_held() -> None:
    from jourdain.view.scenes.from_structure import surface_of

    s = arm().compile()
    h = Hand(s, [], True)
    surface = surface_of(s.model.bodies["link"].part)  # type: ignore[attr-defined]
    vertex = int(np.argmax(surface.vertices[:, 0]))
    h.hear({"command": "pull", "body": "link", "point": [0, 0, 0], "target": [1, 2, 3], "vertex": vertex})
    assert h.values["pull.point.x"] == pytest.approx(1.0) and h.values["pull.on.link"] == 1.0
    assert [h.values[f"pull.shape.z.{k}"] for k in range(3)] == pytest.approx(surface.shapes[vertex, 2])
    with pytest.raises(InputError, match="vertex = None is none of the"):
        h.hear({"command": "pull", "body": "link", "point": [0, 0, 0], "target": [1, 2, 3]})
    sol, server = play(s, {"hinge": 0.3}, 0.1, open_browser=False, pace=50.0)
    server.close()
    assert sol["link.mode1"][-1] == pytest.approx(s.simulate({"hinge": 0.3}, t=0.1)["link.mode1"][-1], abs=1e-7)


def test_springs_that_pull_nothing_change_nothing() -> None:
    model = cart()
    alone, springs = model.compile(), pulled(model).compile()
    start = {"rail": 0.1, "hinge": 0.4}
    assert springs.simulate(start, t=1.0)["hinge.angle"][-1] == pytest.approx(alone.simulate(start, t=1.0)["hinge.angle"][-1], abs=1e-12)


def hand(**more: Any) -> Hand:
    s = cart().compile()
    return Hand(s, [{"name": "motor", "unit": "N", "low": -5.0, "high": 5.0, "value": 0.0}], True, **more)


def test_commands_of_the_page() -> None:
    h = hand()
    h.hear({"values": {"motor": 3.0}})
    assert h.values["motor"] == 3.0
    h.hear({"values": {"motor": 99.0}})
    assert h.values["motor"] == 5.0  # a slider does not leave its ends
    h.hear({"command": "pull", "body": "bob", "point": [0, 0, -1], "target": [1, 2, 3]})
    assert h.values["pull.on.bob"] == 1.0 and h.values["pull.on.wagon"] == 0.0 and h.values["pull.target.y"] == 2.0
    h.hear({"command": "pull", "body": "wagon", "point": [0, 0, 0], "target": [1, 0, 0]})
    assert h.values["pull.on.bob"] == 0.0 and h.values["pull.on.wagon"] == 1.0
    h.hear({"command": "let go"})
    assert not any(x for n, x in h.values.items() if n.startswith("pull")) and h.values["motor"] == 5.0
    assert "stands still" in h.hear({"command": "pause"})["note"] and h.paused
    h.hear({"command": "step"})
    assert h.wait() and h._steps == 0
    h.hear({"command": "pause"})
    assert h.wait()
    h.hear({"command": "end"})
    assert not h.wait()


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ({"command": "fly"}, "no command 'fly'"),
        ({"command": "pull", "body": "moon", "point": [0, 0, 0], "target": [0, 0, 0]}, "'moon' cannot be pulled"),
        ({"command": "pull", "body": "bob", "point": [0, 0], "target": [0, 0, 0]}, "three numbers"),
        ({"command": "pull", "body": "bob", "point": [0, 0, 0], "target": [0, 0, float("nan")]}, "no finite number"),
        ({"command": "pull", "body": "bob", "point": [0, 0, True], "target": [0, 0, 0]}, "no finite number"),
        ({"values": {"brake": 1.0}}, "no inputs"),
        ({"values": {"motor": "fast"}}, "no finite number"),
        ({"values": [1]}, "no inputs"),
    ],
)
def test_what_makes_no_sense_is_refused(question: Any, told: str) -> None:
    with pytest.raises(InputError, match=told):
        hand().hear(question)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"inputs": ["moter"]}, "no input 'moter'"), ({"inputs": {"motor": (2, 1)}}, "second end"), ({"t": 0.0}, "must be positive"),
        ({"pace": -1.0}, "must be positive"), ({"times": [0, 1]}, "leave out times"), ({"t": "5 kg"}, "kg"),
    ],
)  # fmt: skip
def test_bad_options_of_play_are_refused(options: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError, match=told):
        play(cart().compile(), **{"t": 1.0, "open_browser": False} | options)


def test_a_played_run_that_nobody_touches_is_the_run() -> None:
    s = cart().compile()
    sol, server = play(s, s.state({"hinge": 0.4}), 0.4, inputs={"motor": (-5, 5)}, pace=4.0, open_browser=False)
    server.close()
    alone = s.simulate({"hinge": 0.4}, t=0.4)
    assert sol.t[-1] == pytest.approx(0.4, abs=1e-12)
    assert sol["hinge.angle"][-1] == pytest.approx(alone["hinge.angle"][-1], abs=1e-6)


@pytest.mark.browser
def test_the_mouse_pulls_a_body_and_buttons_stop_time(browser: Browser) -> None:
    m = jd.Model("puck", gravity=(0, 0, 0))
    puck = m.body("puck", mass=1.0, inertia=(0.1,) * 3, shape=jd.box(0.5, 0.5, 0.5))
    slide = m.prismatic("slide", m.ground, puck, axis="x")
    m.force(slide, m.input("wind", 0.0, "N"))
    m.joint_spring(slide, 0.0, damping=0.2)
    s, open_page, done = m.compile(), threading.Event(), []

    def on_start(server: Server) -> None:
        done.append(server)
        open_page.set()

    def work() -> None:
        done.append(play(s, {}, 300.0, inputs={"wind": (-3, 3)}, open_browser=False, on_start=on_start, plots=["slide.displacement"]))

    runner = threading.Thread(target=work)
    runner.start()
    assert open_page.wait(120)
    browser.messages.clear()
    browser.open(done[0].url)
    browser.wait("jourdain.stats().samples > 3")
    assert abs(browser.evaluate("jourdain.pose('puck').position[0]")) < 1e-9  # nothing moves it yet
    box = browser.evaluate(
        "(({ x, y, width, height }) => [x + width / 2, y + height / 2])(document.getElementById('canvas').getBoundingClientRect())"
    )
    camera = browser.evaluate("jourdain.camera().position")

    def mouse(kind: str, x: float, y: float, **more: Any) -> None:
        browser.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    mouse("mousePressed", *box, button="left", buttons=1, clickCount=1)
    mouse("mouseMoved", box[0] + 120, box[1], button="left", buttons=1)
    browser.wait("Math.abs(jourdain.pose('puck').position[0]) > 0.05")
    direction = np.sign(browser.evaluate("jourdain.pose('puck').position[0]"))
    assert browser.evaluate("jourdain.camera().position") == pytest.approx(camera)  # the camera stays while a body is held
    mouse("mouseReleased", box[0] + 120, box[1], button="left", clickCount=1)
    buttons = "[...document.querySelectorAll('#controls .buttons button')]"
    browser.evaluate(f"{buttons}.find((b) => b.textContent.startsWith('pause')).click()")
    browser.wait("jourdain.controls().note.includes('stands still')")
    browser.wait("(window.seen ??= []).push(jourdain.stats().samples) > 25 && window.seen.at(-1) === window.seen.at(-20)")
    still = browser.evaluate("jourdain.stats().end")
    browser.evaluate(f"{buttons}.find((b) => b.textContent === 'step').click()")
    browser.wait(f"jourdain.stats().end > {still}")
    assert browser.evaluate("jourdain.stats().end") - still == pytest.approx(1 / 30, abs=1e-3)
    browser.evaluate(f"jourdain.set('wind', {-3 * direction})")
    browser.evaluate(f"{buttons}.find((b) => b.textContent.startsWith('pause')).click()")
    browser.wait("!jourdain.controls().note")
    here = browser.evaluate("jourdain.pose('puck').position[0]")
    browser.wait(f"{direction} * (jourdain.pose('puck').position[0] - {here}) < -0.02")  # the wind blows it back
    browser.evaluate(f"{buttons}.find((b) => b.textContent === 'end').click()")
    runner.join(120)
    assert not runner.is_alive() and browser.messages == []
    sol, server = done[1]
    server.close()
    assert len(sol) > 5 and np.abs(sol["slide.displacement"]).max() > 0.05
