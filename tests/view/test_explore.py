"""Sliders: what a page is told when they move, in the program and in a browser; what the server refuses."""

from __future__ import annotations

import html
import http.client
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jourdain as jd
from jourdain.errors import InputError
from jourdain.library import four_bar, pendulum
from jourdain.view.chromium import Browser
from jourdain.view.explore import Explorer
from jourdain.view.page import page_html
from jourdain.view.server import MOST_ASKED
from jourdain.view.tracks import unpack


def explorer(**options: Any) -> Explorer:
    return Explorer(pendulum().compile(), ["length", "hinge.angle"], {"hinge.angle": 0.3}, 2.0, **options)


def channel(answer: dict[str, Any], name: str) -> np.ndarray:
    """Values of a channel as the page reads them."""
    import base64

    scene = answer["scene"]
    blocks = unpack(scene["blocks"], base64.b64decode(answer["tracks"]))
    return blocks[next(c for c in scene["runs"][0]["channels"] if c["name"] == name)["block"]][:, 0]


def test_answers_are_the_motion_of_the_values() -> None:
    e = explorer()
    found = e.answer({"values": {"length": 2.0, "hinge.angle": 0.5}})
    s = pendulum().compile()
    s.set_parameters(length=2.0)
    run = s.simulate({"hinge.angle": 0.5}, t=2.0)
    angle = channel(found, "hinge.angle")
    assert angle[0] == pytest.approx(0.5, abs=1e-6) and angle[-1] == pytest.approx(run["hinge.angle"][-1], abs=1e-6)
    energy = channel(found, "energy.total")
    assert np.ptp(energy) < 1e-5 * abs(energy).max()
    z = s.equilibrium({"hinge.angle": 0.5}).eigenvalues
    assert sorted(im for _, im, _ in found["eigenvalues"]) == pytest.approx(sorted(z.imag), rel=1e-9)
    assert s.parameters["length"] == 2.0 and e.system.parameters["length"] == 1.0  # the system itself keeps its values


def test_a_closed_loop_stays_closed_while_its_links_change() -> None:
    s = four_bar().compile()
    start = s.assemble({"crank": 0.5}, guess={"rocker": 2.0})
    e = Explorer(s, ["coupler", "crank.angle"], start, 0.5)
    for length in (0.8, 0.9, 1.0):
        run = e.run({"coupler": length, "crank.angle": 0.7})
        assert run["crank.angle"][0] == pytest.approx(0.7, abs=1e-9)
        assert max(run.system.drift(run)) < 1e-6
    assert "error" in e.answer({"values": {"coupler": 9.0, "crank.angle": 0.7}})  # it cannot be put together


def test_sliders_have_units_and_ends() -> None:
    m = jd.Model("slide", gravity=(0, 0, 0))
    k, free = m.parameter("k", 40.0, "N/m", bounds=(10.0, 90.0)), m.parameter("free", 0.0, "m")
    m.joint_spring(m.prismatic("x", m.ground, m.body("mass", mass=1.0), axis="x"), stiffness=k, rest=free)
    e = Explorer(m.compile(), None, {"x": 0.1}, 1.0)
    assert [(s.name, s.unit, s.low, s.high, s.value) for s in e.sliders] == [
        ("k", "N/m", 10.0, 90.0, 40.0), ("free", "m", -1.0, 1.0, 0.0), ("x.displacement", "m", pytest.approx(0.02), pytest.approx(0.3), 0.1),
    ]  # fmt: skip
    given = Explorer(m.compile(), {"k": ("20 N/m", "0.06 kN/m"), "x.displacement_rate": (-1, 1)}, {"x": 0.1}, "1 s")
    assert [(s.low, s.high) for s in given.sliders] == [(20.0, 60.0), (-1.0, 1.0)] and given.sliders[1].unit == "m/s"


@pytest.mark.parametrize("formulation", ["recursive", "cartesian", "directors"])
def test_a_tree_without_a_start_can_be_lifted(formulation: str) -> None:
    m = pendulum()
    e = Explorer(m.compile(formulation=formulation), None, None, 0.1)
    assert [s.name for s in e.sliders] == [p.name for p in m.parameter_set.listed if "gravity" not in p.name] + ["hinge.angle"]
    assert e.run({"hinge.angle": 0.3})["hinge.angle"][0] == pytest.approx(0.3, abs=1e-6)


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        (["lenght"], "did you mean length"),
        ({"length": (2.0, 1.0)}, "second end"),
        ({"length": ("1 kg", "2 kg")}, "kg"),
        ([], "no parameters"),
    ],
)
def test_bad_sliders_are_refused(parameters: Any, told: str) -> None:
    with pytest.raises(InputError, match=told):
        Explorer(pendulum().compile(), parameters, {"hinge.angle": 0.3}, 1.0)


@pytest.mark.parametrize("formulation", ["recursive", "semi-recursive", "cartesian", "natural", "directors"])
def test_every_formulation_explores(formulation: str) -> None:
    s = pendulum().compile(formulation=formulation)
    options = {"step": 0.002} if formulation == "directors" else {}
    found = Explorer(s, ["length", "hinge.angle"], {"hinge.angle": 0.3}, 0.5, **options).answer(
        {"values": {"length": 1.5, "hinge.angle": 0.4}}
    )
    reference = pendulum().compile()
    reference.set_parameters(length=1.5)
    exact = reference.simulate({"hinge.angle": 0.4}, t=0.5)["hinge.angle"][-1]
    assert channel(found, "hinge.angle")[-1] == pytest.approx(exact, abs=2e-5), found.get("error")


def embedded(data: Any) -> str:
    """JSON that may stand inside a script element."""
    return json.dumps(data).replace("</", "<\\/")


def asked(url: str, body: bytes, headers: dict[str, str], path: str = "ask") -> tuple[int, bytes]:
    host, _, token = url.removeprefix("http://").partition("/")
    connection = http.client.HTTPConnection(host, timeout=60)
    connection.request("POST", f"/{token}{path}", body, headers)
    reply = connection.getresponse()
    return reply.status, reply.read()


def test_only_the_page_itself_may_ask() -> None:
    e = explorer()
    server = e.system.explore(["length"], {"hinge.angle": 0.3}, 0.2, open_browser=False)
    with server:
        own = server.url[: server.url.index("/", 8)]
        good = {"Content-Type": "application/json", "Origin": own}
        question = json.dumps({"values": {"length": 2.0}}).encode()
        status, reply = asked(server.url, question, good)
        assert status == 200 and "scene" in json.loads(reply)
        assert asked(server.url, question, good | {"Origin": "http://evil.example"})[0] == 403
        assert asked(server.url, question, {"Content-Type": "application/json"})[0] == 403  # a program that says no origin
        assert asked(server.url, question, good | {"Host": "evil.example"})[0] == 403
        assert asked(server.url, question, good | {"Content-Type": "text/plain"})[0] == 415
        assert asked(own + "/wrong/", question, good)[0] == 404
        assert asked(server.url, b"", good | {"Content-Length": str(MOST_ASKED + 1)})[0] == 413
        for nonsense in (b"", b"[1]", b"{", b'{"values": {"mass": 1}}', b'{"values": 3}', b'{"values": {"length": "x"}}', b"[" * 100_000):
            status, reply = asked(server.url, nonsense, good)
            assert status == 200 and json.loads(reply)["error"]
        status, reply = asked(server.url, b'{"values": {"length": NaN}}', good)
        assert status == 200 and "error" in json.loads(reply)


@pytest.mark.browser
def test_a_slider_moves_motion_diagrams_energy_and_eigenvalues(browser: Browser) -> None:
    s = pendulum().compile()
    with s.explore(["length", "hinge.angle"], {"hinge.angle": 0.3}, 2.0, open_browser=False) as server:
        browser.messages.clear()
        browser.open(server.url)
        state = browser.evaluate("jourdain.controls()")
        assert state["values"] == {"length": 1.0, "hinge.angle": 0.3} and len(state["eigenvalues"]) == 2
        before = browser.evaluate("jourdain.time(0); jourdain.pose('bob')")["quaternion"]
        near = np.linalg.norm(browser.evaluate("jourdain.camera().position"))
        slider = "document.querySelector('#controls input[aria-label=\"length\"]')"
        browser.evaluate(f"(() => {{ const x = {slider}; x.value = 2; x.dispatchEvent(new Event('input')); }})()")
        browser.wait("jourdain.controls().answers > 0")
        after = browser.evaluate("jourdain.controls()")
        assert after["values"]["length"] == 2.0 and not after["failed"] and "ms for 2 s" in after["note"]
        assert max(im for _, im, _ in after["eigenvalues"]) == pytest.approx(np.sqrt(9.81 / 2), rel=1e-6)
        assert np.linalg.norm(browser.evaluate("jourdain.camera().position")) > 1.3 * near  # twice as long it would leave the window
        s.set_parameters(length=2.0)
        run = s.simulate({"hinge.angle": 0.3}, t=2.0)
        body = next(iter(s.model.bodies))
        for t in (0.0, 1.1, 2.0):
            place = browser.evaluate(f"jourdain.time({t}); jourdain.pose({body!r})")
            assert np.allclose(place["position"], run.scene().pose(body, t)[0], atol=1e-5)
        legend = browser.evaluate("[...document.querySelectorAll('#plots figcaption em')].map((e) => e.textContent)")
        assert legend == ["hinge.angle", "energy.kinetic", "energy.potential", "energy.total"]
        browser.evaluate("document.querySelector('#controls .buttons button:last-child').click()")
        browser.wait("jourdain.controls().values.length === 1 && jourdain.controls().answers > 1")
        assert browser.evaluate("jourdain.time(0); jourdain.pose('bob')")["quaternion"] == pytest.approx(before, abs=1e-6)
        assert browser.messages == []


@pytest.mark.browser
def test_a_frame_in_a_notebook_asks_the_page_around_it(browser: Browser, tmp_path: Path) -> None:
    """The widget's own script, with a kernel that answers from what was computed beforehand."""
    from jourdain.notebook.sliders import CARRIER

    e = explorer()
    inner, answer = e.page("parent", "light"), e.answer({"values": {"length": 2.0, "hinge.angle": 0.3}})
    code = CARRIER.replace("export default", "const widget =")
    outer = f"""<!doctype html><meta charset=utf-8><div id=el></div><script type=application/json id=page>{embedded(inner)}</script>
<script type=application/json id=answer>{embedded(answer)}</script><script>{code}
const read = (id) => JSON.parse(document.getElementById(id).textContent), listeners = [];
window.asked = [];
const model = {{ get: (n) => n === "page" ? read("page") : 480, on: (_, f) => listeners.push(f), off() {{}},
  send: (m) => {{ window.asked.push(m); for (const f of listeners) f({{ answer: m.ask, value: read("answer") }}); }} }};
widget.render({{ model, el: document.getElementById("el") }});</script>"""
    path = tmp_path / "notebook.html"
    path.write_text(outer, encoding="utf-8")
    browser.messages.clear()
    browser.go(path.as_uri())
    frame = "document.querySelector('iframe').contentWindow"
    browser.wait(f"{frame}.jourdain !== undefined")
    browser.evaluate(f"{frame}.jourdain.set('length', 2)")
    browser.wait(f"{frame}.jourdain.controls().answers === 1")
    assert browser.evaluate("window.asked[0].value") == {"values": {"length": 2, "hinge.angle": 0.3}}
    found = browser.evaluate(f"{frame}.jourdain.controls().eigenvalues")
    assert max(im for _, im, _ in found) == pytest.approx(np.sqrt(9.81 / 2), rel=1e-6)
    assert browser.messages == []


def test_the_command_serves_sliders(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "jourdain.cli",
        "explore",
        "jourdain.library:pendulum",
        "length",
        "-t",
        "1",
        "--set",
        "hinge.angle=0.4",
    ]
    environment = os.environ | {"BROWSER": "true"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        try:
            url = re.match(r"http://127\.0\.0\.1:\d+/[\w-]+/", line)
            assert url, line + (process.stderr.read() if process.stderr else "")
            own = url[0][: url[0].index("/", 8)]
            status, reply = asked(url[0], b'{"values": {"length": 1.3}}', {"Content-Type": "application/json", "Origin": own})
            assert status == 200 and channel(json.loads(reply), "hinge.angle")[0] == pytest.approx(0.4, abs=1e-6)
        finally:
            process.terminate()


def test_a_page_without_controls_has_none() -> None:
    page = page_html(explorer().scene(explorer().run()))
    assert '"controls":null' in html.unescape(page)


def test_sliders_of_a_loop_whose_start_is_not_given() -> None:
    """A start value that depends on others in the assembled position takes the place of these."""
    m = jd.Model("four-bar")
    a, b, c = (m.body(n, mass=0.1, com=(l / 2, 0, 0), inertia=(0, 1e-3, 1e-3)) for n, l in (("a", 0.1), ("b", 0.3), ("c", 0.25)))
    m.revolute("motor", m.ground, a, axis="y")
    m.revolute("pin", a.at(0.1, 0, 0), b, axis="y")
    m.revolute("bearing", m.ground.at(0.28, 0, 0), c, axis="y")
    m.revolute("closing", b.at(0.3, 0, 0), c.at(0.25, 0, 0), axis="y")
    s = m.compile()
    for name in ("motor", "pin.angle"):
        e = Explorer(s, [name], None, 0.1)
        now = e.sliders[0].value
        for turn in (-0.1, 0.1):
            run = e.run({name: now + turn})
            assert run[name if "." in name else f"{name}.angle"][0] == pytest.approx(now + turn, abs=1e-9)


def test_a_server_tells_where_its_page_is() -> None:
    server = pendulum().compile().explore(["length"], {"hinge": 0.1}, t=0.1, open_browser=False)
    assert server.url in repr(server) and "close()" in repr(server)
    server.close()
    assert "closed" in repr(server)
