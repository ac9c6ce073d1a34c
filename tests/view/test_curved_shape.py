"""Beams of second order and of exact kinematics in scenes: drawn where their sections are, in pages, pictures, modes and the live view."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import jourdain as jd
from jourdain.view import Scene, page_html, scene_of_modes, state_scene, watch
from jourdain.view.chromium import Browser
from jourdain.view.scenes.curved_shape import all_amplitudes, curve_of
from jourdain.view.scenes.from_structure import structure_scene, surface_of

st = jd.structures
SORTS = {"plane": {"bending": (3, 0), "shear": (1, 0), "extension": 1}, "space": {"bending": (1, 1), "torsion": 1}}
RNG = np.random.default_rng(5)


def beam(order: int | str = "exact", **options: object) -> st.ReducedStructure:
    return st.ritz_beam(1.0, st.rectangle(0.01, 0.02), st.STEEL, order=order, **options)  # type: ignore[arg-type]


def whip() -> jd.System:
    """A beam with a body welded to its end, bent far."""
    m = jd.Model("whip", gravity=(0, 0, 0))
    body = m.flexible_body("beam", beam(stations=10, **SORTS["space"]), damping=0.05)
    m.revolute("hinge", m.ground, body.node("start"), axis="z")
    m.fixed("weld", body.node("end"), m.body("tip", mass=0.1, inertia=(1e-4,) * 3))
    return m.compile()


@pytest.fixture(scope="module")
def flung() -> jd.Solution:
    s = whip()
    return s.simulate(s.state({"beam.y1": 0.5, "beam.z1": 0.3, "beam.twist1": 0.4}, {"hinge.angle_rate": 5.0}), t=0.03, rtol=1e-6)


def true_places(part: st.ReducedStructure, e: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Points of sections by the kinematics of the structure."""
    f = part.fields
    stations = f.turned(e)  # type: ignore[union-attr]
    sections = {float(x): f.place(f.line.reach(float(x)), e, stations)[:2] for x in np.unique(points[:, 0])}  # type: ignore[union-attr]
    poses = [sections[float(p[0])] for p in points]
    return np.array([x + R @ [0.0, p[1], p[2]] for (x, R), p in zip(poses, points, strict=True)])


@pytest.mark.parametrize("sort", SORTS)
def test_surfaces_are_linear_in_numbers_of_the_amplitudes(sort: str) -> None:
    """Exact beams: places and axes of the structure; order 2 in the third order of the amplitudes; slopes by differences."""
    exact, second = beam(**SORTS[sort]), beam(2, **SORTS[sort])
    points = np.column_stack([np.linspace(0, 1, 9), RNG.normal(size=(9, 2)) * 0.01])
    e = 0.3 * RNG.normal(size=exact.modes) / np.arange(1, exact.modes + 1)
    curve = curve_of(exact)
    assert curve is not None
    np.testing.assert_allclose(points + curve.shapes(points) @ all_amplitudes(exact, e), true_places(exact, e, points), atol=2e-5)
    R = exact.fields.place(exact.fields.line.reach(0.7), e)[1]  # type: ignore[union-attr]
    np.testing.assert_allclose((np.eye(3) + curve.axes(0.7) @ all_amplitudes(exact, e))[:, 1:], R[:, 1:], atol=3e-4)
    missed = []
    for small in (0.05 * e, 0.025 * e):
        other = curve_of(second)
        assert other is not None
        x = points + other.shapes(points) @ all_amplitudes(second, small)
        A = np.eye(3) + other.axes(0.7) @ all_amplitudes(second, small)
        true = exact.fields.place(exact.fields.line.reach(0.7), small)[1]  # type: ignore[union-attr]
        missed.append((np.abs(x - true_places(exact, small, points)).max(), np.abs(A - true)[:, 1:].max()))
    for a, b in zip(*missed, strict=True):
        assert np.log2(a / b) == pytest.approx(3.0, abs=0.35)
    for part in (exact, second):
        slopes, made = curve_of(part).slopes(e), curve_of(part).more  # type: ignore[union-attr]
        for i, d in enumerate(1e-6 * np.eye(part.modes)):
            np.testing.assert_allclose(slopes[:, i], (made(e + d) - made(e - d)) / 2e-6, atol=2e-8)
    assert curve_of(beam(1, bending=(1, 0))) is None


def test_a_run_is_drawn_where_the_beam_is(flung: jd.Solution) -> None:
    """Few shapes for the whole run, to a thousandth of its thickness; nodes as the compiled kinematics have them."""
    scene = flung.scene(fine=0, trace=["beam.x=0.6"])
    scene.check()
    part = flung.system.model.bodies["beam"].part  # type: ignore[union-attr]
    surface, track = scene.body("beam").surface, np.asarray(scene.runs[0].amplitudes["beam"])
    assert surface is not None and 3 < surface.amplitudes <= 20
    assert surface.amplitudes < surface_of(part).amplitudes
    frame, far = flung.frame("beam.end"), 0.0
    for i in (0, len(flung.t) // 3, len(flung.t) - 1):
        true = true_places(part, track[i, :3], surface.vertices)
        np.testing.assert_allclose(surface.deformed(track[i]), true, atol=2e-5)
        far = max(far, np.abs(surface.vertices - true).max())
        t = float(flung.t[i])
        np.testing.assert_allclose(scene.place("beam", (1.0, 0, 0), "end", t), frame.position[i], atol=2e-5)
        arm = np.array([0.0, 0.03, -0.02])
        place = scene.place("beam", arm + [1.0, 0, 0], "end", t)
        np.testing.assert_allclose(place, frame.position[i] + frame.rotation[i] @ arm, atol=3e-5)
        middle = surface.nodes["x=0.6"].moved(np.array([0.6, 0, 0]), track[i])
        np.testing.assert_allclose(middle, true_places(part, track[i, :3], np.array([[0.6, 0, 0]]))[0], atol=2e-5)
    assert far > 0.3
    assert len(page_html(flung.scene(fine=0, stress="von mises"))) < 1.1 * len(page_html(flung.scene(fine=0))) < 700_000


def test_states_and_modes_about_a_bent_beam() -> None:
    """A mode moves the surface by its slope where the beam is, not at zero."""
    s = whip()
    part = s.model.bodies["beam"].part  # type: ignore[union-attr]
    e = np.array([0.4, 0.2, 0.3])
    state = s.state({"beam.y1": e[0], "beam.z1": e[1], "beam.twist1": e[2]})
    body = state_scene(s, state).body("beam")
    assert body.surface is not None
    np.testing.assert_allclose(body.surface.deformed(body.rest), true_places(part, e, body.surface.vertices), atol=2e-5)
    modes = s.modal(state)
    scene = scene_of_modes(modes)
    scene.check()
    shape = np.asarray(scene.modes[-1].amplitudes["beam"])
    h = 1e-5 / np.abs(shape[:3]).max()
    moved = [true_places(part, e + sign * h * shape[:3].real, body.surface.vertices) for sign in (1, -1)]
    np.testing.assert_allclose(body.surface.shapes @ shape.real * h, (moved[0] - moved[1]) / 2.0, atol=1e-9)
    structure_scene(part).check()


def test_exaggeration_scales_displacements() -> None:
    part = beam(bending=(1, 0))
    surface, e = surface_of(part), all_amplitudes(part, np.array([0.5]))
    once, twice = (surface.deformed(e, scale) - surface.vertices for scale in (1.0, 2.0))
    np.testing.assert_allclose(twice, 2.0 * once)


def pieces(**options: object) -> tuple[jd.Solution, list[dict], Scene]:
    """A watched run: its solution, what the page heard, and the scene of its start."""
    s = whip()
    start = s.state({"beam.y1": 0.3}, {"hinge.angle_rate": 3.0})
    sol, server = watch(s, start, 0.02, open_browser=False, rtol=1e-6, **options)  # type: ignore[arg-type]
    with server:
        heard = [json.loads(e.split("data: ", 1)[1]) for e in server.events() if e.startswith("id:")]
    return sol, heard, sol.scene(fine=0, pieces=True)


def test_live_pieces_mean_the_same() -> None:
    sol, heard, scene = pieces()
    rows = np.concatenate([m["amplitudes"]["beam"] for m in heard])
    surface = scene.body("beam").surface
    part = sol.system.model.bodies["beam"].part  # type: ignore[union-attr]
    assert surface is not None and rows.shape[1] == surface.amplitudes
    for row in rows[:: max(len(rows) // 3, 1)]:
        np.testing.assert_allclose(surface.deformed(row), true_places(part, row[:3], surface.vertices), atol=2e-5)


def test_live_colours_have_the_static_share() -> None:
    """Piece by piece as in a page of the whole run."""
    part = st.beam((0, 0, 0), (1, 0, 0), st.rectangle(0.01, 0.01), st.STEEL, elements=4)
    m = jd.Model("arm")
    link = m.flexible_body("link", part, frame="tangent", at="start", modes=1, damping=0.02)
    m.revolute("hinge", m.ground, link.node("start"), axis="y")
    m.load("push", link.node("end"), force=(0, 0, 4.0))
    s = m.compile()
    sol, server = watch(s, {"hinge": 0.1}, 0.05, stress="von mises", open_browser=False, rtol=1e-8)
    with server:
        heard = [json.loads(e.split("data: ", 1)[1]) for e in server.events() if e.startswith("id:")]
    rows, times = (np.concatenate([m[k] if k == "times" else m[k]["link"] for m in heard]) for k in ("amplitudes", "times"))
    first = sol.scene(fine=0, pieces=True, stress="von mises").body("link").surface
    whole = sol.scene(fine=0, stress="von mises")
    assert first is not None and whole.body("link").surface is not None
    found = first.field("von mises").values(rows.T)
    few = whole.body("link").surface.field("von mises")  # type: ignore[union-attr]
    expected = np.array([few.values(whole.amplitudes("link", float(t))) for t in times]).T
    np.testing.assert_allclose(found, expected, atol=1e-3 * expected.max())
    alone = first.field("von mises").values(np.where(np.arange(rows.shape[1]) < 1, rows, 0.0).T)
    assert np.abs(found - alone).max() > 0.05 * found.max()


@pytest.mark.browser
def test_pages_draw_the_same(browser: Browser, show: Callable[[Scene], Path], flung: jd.Solution) -> None:
    scene = flung.scene(fine=0)
    show(scene)
    body = scene.body("beam")
    assert body.surface is not None
    for t in flung.t[[0, len(flung.t) // 2, -1]]:
        browser.evaluate(f"jourdain.time({t})")
        vertices = np.reshape(browser.evaluate("jourdain.surface('beam')")["vertices"], (-1, 3))
        np.testing.assert_allclose(vertices, body.surface.deformed(scene.amplitudes("beam", float(t))), atol=5e-5)
        arm = [0.1, 0.2, -0.1]
        place = scene.place("beam", np.add([1.0, 0, 0], arm), "end", float(t))
        np.testing.assert_allclose(browser.evaluate(f"jourdain.node('beam', 'end', {arm})"), place, atol=5e-5)
    assert browser.messages == []
