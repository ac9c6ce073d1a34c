"""Models with flexible bodies in scenes: surfaces and nodes are where the equations put them; modes, states, pages, command."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import jourdain as jd
from jourdain import structures
from jourdain.cli import main
from jourdain.errors import InputError
from jourdain.io.model_files.model_file import save_model
from jourdain.structures import STEEL, circle
from jourdain.view import model_scene, page_html, scene_of_modes, state_scene
from jourdain.view.rotation import matrix_from_quaternion
from jourdain.view.tracks import unpack
from tests.io.flexible_models import arm, framed, slider_crank


@pytest.fixture(scope="module")
def swing() -> jd.Solution:
    return arm().compile().simulate({"hinge": 0.3, "link.mode1": 0.01}, t=0.1, rtol=1e-8)


def test_nodes_of_the_surface_are_where_the_equations_put_them(swing: jd.Solution) -> None:
    """Places at nodes by the view, and frames at the same nodes by compiled kinematics, at every sample."""
    scene = swing.scene(fine=0)
    scene.check()
    surface = scene.body("link").surface
    assert surface is not None and surface.places is not None
    part = swing.system.model.bodies["link"].part
    for name in ("start", "middle", "end"):
        frame = swing.frame(f"link.{name}")
        number = part.part.names[name]
        ring = np.flatnonzero((surface.places == number) & (np.abs(surface.vertices[:, 0] - part.part.nodes[number, 0]) < 1e-12))
        for i in (0, len(swing.t) // 2, len(swing.t) - 1):
            t = float(swing.t[i])
            there = scene.place("link", surface.nodes[name].position, name, t)
            np.testing.assert_allclose(there, frame.position[i], atol=1e-12)
            p, q = scene.pose("link", t)
            corners = surface.deformed(scene.amplitudes("link", t))[ring] @ matrix_from_quaternion(q).T + p
            np.testing.assert_allclose(corners.mean(axis=0), frame.position[i], atol=1e-12)
    (link,) = scene.links
    assert link.nodes == (None, "middle")


def test_pages_stay_small(swing: jd.Solution) -> None:
    """Shapes are kept once: a page of twice as many samples grows by its tracks alone, never by vertices."""
    from jourdain.view.page import pack

    few, many = (pack(swing.scene(fine=n, stress="von mises")) for n in (100, 2000))
    surface = next(b["surface"] for b in few.data["bodies"] if b["name"] == "link")
    assert len(few.data["blocks"]) == len(many.data["blocks"])
    blocks = unpack(few.data["blocks"], few.tracks)
    n = len(blocks[surface["vertices"]])
    assert blocks[surface["shapes"]].shape == (n, 3 * 3)
    amplitudes = few.data["runs"][0]["amplitudes"]["link"]
    assert 3 < blocks[amplitudes].shape[1] <= 12  # three modes, and what loads add to the colours
    assert len(many.tracks) - len(few.tracks) < 120_000
    np.testing.assert_allclose(
        blocks[surface["shapes"]][:, 3:6], swing.scene(fine=0).body("link").surface.shapes[:, :, 1], rtol=1e-6, atol=1e-9
    )


def test_colours_by_body_or_for_all(swing: jd.Solution) -> None:
    assert swing.scene(stress={"link": "Von Mises"}).body("link").surface.shown == "von mises"
    assert swing.scene(stress="strain").body("link").surface.shown == "strain"
    assert swing.scene().body("link").surface.shown is None
    with pytest.raises(InputError, match="stress: 'weight' is no flexible body of 'arm'; there is link"):
        swing.scene(stress={"weight": "strain"})
    with pytest.raises(InputError, match="stress of 'link': 'heat' is not known on this surface; there is displacement"):
        swing.scene(stress={"link": "heat"})
    with pytest.raises(InputError, match="exaggeration -1.0 is not a number from 0 on"):
        page_html(swing.scene(exaggerate=-1.0))


def test_colours_have_the_static_share_of_loads() -> None:
    """One mode of a cantilever with a weight at its tip: the page shows the stress that recover finds, the modes alone 3 % more."""
    st, m = jd.structures, jd.Model("cantilever")
    part = st.beam((0, 0, 0), (1, 0, 0), st.rectangle(0.02, 0.02), st.STEEL, elements=8)
    beam = m.flexible_body("beam", part, frame="tangent", at="start", modes=1, bending="z")
    m.fixed("clamp", m.ground, beam.node("start"))
    m.fixed("grip", beam.node("end"), m.body("weight", mass=2.0, inertia=(1e-3,) * 3))
    s = m.compile()
    sol = s.simulate(s.equilibrium().state, t=0.01)
    largest = {}
    for static in (True, False):
        scene = sol.scene(stress="von mises", static=static)
        surface, track = scene.body("beam").surface, np.asarray(scene.runs[0].amplitudes["beam"])
        largest[static] = surface.field("von mises").values(track.T).max()
        assert surface.shapes.shape[2] == 1 and surface.field("displacement").rows.shape[2] == 1
    assert largest[True] == pytest.approx(s.recover(sol, "beam").von_mises.max(), rel=1e-9)
    assert largest[False] > 1.02 * largest[True]


def test_paths_of_nodes_that_the_model_does_not_use(swing: jd.Solution) -> None:
    """A node may be traced that no joint holds on to; the compiled model is left as it is."""
    scene = swing.scene(trace=["link.end", "link.node 5", "weight"], fine=0)
    scene.check()
    assert [(p.name, p.node) for p in scene.points] == [("link.end", "end"), ("link.node 5", "node 5"), ("weight", None)]
    part = swing.system.model.bodies["link"].part
    t = float(swing.t[-1])
    p, q = scene.pose("link", t)
    expected = matrix_from_quaternion(q) @ part.node_positions(scene.amplitudes("link", t))[5] + p
    np.testing.assert_allclose(scene.place("link", part.part.nodes[5], "node 5", t), expected, atol=1e-12)
    with pytest.raises(InputError, match="no node is named 'nowhere'"):
        swing.scene(trace=["link.nowhere"])


def test_a_rigid_part_is_traced_by_the_same_names() -> None:
    sol = framed(rigid=True).compile().simulate(None, t=0.01)
    scene = sol.scene(trace=["one.side", "one.node 2"])
    scene.check()
    assert [(p.body, p.node) for p in scene.points] == [("one", None)] * 2
    np.testing.assert_allclose(scene.points[1].position, (0.4, 0.3, 0))


def test_arrows_start_at_deformed_nodes() -> None:
    m = arm()
    s = m.compile()
    sol = s.simulate({"hinge": 0.3, "link.mode1": 0.03}, t=0.01, rtol=1e-8)
    scene = sol.scene(forces=["grip"], fine=0)
    foot = np.asarray(scene.runs[0].arrows["grip.reaction"][0])
    frame = sol.frame("weight")  # fixed to the node, where the joint is
    np.testing.assert_allclose(foot, frame.position, atol=1e-4)


def test_states_and_models_show_how_they_bend() -> None:
    s = arm().compile()
    scene = state_scene(s, s.state({"link.mode2": 0.02}))
    np.testing.assert_allclose(scene.body("link").rest, [0.004, 0.02, 0.0])
    crank = model_scene(slider_crank())
    assert {(j.name, j.body, j.node) for j in crank.joints} >= {("wrist", "rod", "end"), ("pin", "crank", None)}
    rigid = model_scene(framed(rigid=True))
    assert rigid.body("one").surface is not None and not np.any(rigid.body("one").rest)


def test_modes_of_a_system_bend_its_bodies() -> None:
    """A cantilever clamped to the ground: its first mode of the system is the first shape of the body."""
    m = jd.Model("mast", gravity=(0, 0, 0))
    part = structures.beam((0, 0, 0), (0, 0, 2), circle(0.03), STEEL, elements=6, up=(1, 0, 0))
    mast = m.flexible_body("mast", part, frame="tangent", modes=4)
    m.fixed("foot", m.ground, mast.node("start"))
    modes = m.compile().modal()
    scene = scene_of_modes(modes, "strain")
    scene.check()
    assert scene.body("mast").surface.shown == "strain" and len(scene.modes) == 4
    bending = np.abs(np.asarray(scene.modes[0].amplitudes["mast"]))
    assert bending.max() > 100 * np.sort(bending)[-3]  # within the first pair of shapes
    # βL = 1.8751: ω = β² √(EI / ρA)
    section = circle(0.03)
    exact = (1.875104 / 2.0) ** 2 * np.sqrt(STEEL.E * section.Iy / (STEEL.density * section.area)) / (2 * np.pi)
    assert scene.modes[0].frequency == pytest.approx(exact, rel=1e-4)


def test_pages_of_parts_and_of_modes(tmp_path: Path) -> None:
    part = structures.beam((0, 0, 0), (1, 0, 0), circle(0.02), STEEL, elements=4)
    part.save_page(tmp_path / "part.html", modes=3)
    part.reduce(modes=2, frame="pinned").save_page(tmp_path / "pinned.html", stress=None)
    modes = slider_crank().compile()
    modes.modal(modes.assemble()).save_page(tmp_path / "modes.html", stress="von mises")
    for name in ("part", "pinned", "modes"):
        assert "<!doctype html>" in (tmp_path / f"{name}.html").read_text()[:20]


def test_the_command_simulates_and_shows_flexible_models(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = tmp_path / "crank.toml"
    save_model(slider_crank(), model)
    assert main(["info", str(model)]) == 0
    told = capsys.readouterr().out
    assert "rod (2 modes, pinned)" in told and "rod.K[" not in told and "rod.mode2" in told
    assert main(["simulate", str(model), "-t", "0.002", "-o", str(tmp_path / "run.npz")]) == 0
    assert "rod.K[" not in capsys.readouterr().out
    page = tmp_path / "crank.html"
    assert main(["view", str(model), "-t", "0.002", "--stress", "von mises", "--exaggerate", "10", "-o", str(page)]) == 0
    text = page.read_text()
    assert '"exaggeration":10.0' in text and '"shown":"von mises"' in text
    again = tmp_path / "again.html"
    assert main(["view", str(tmp_path / "run.npz"), "--model", str(model), "--stress", "rod=strain", "-o", str(again)]) == 0
    assert '"shown":"strain"' in again.read_text()
    assert main(["view", str(model), "--stress", "heat", "-o", str(page)]) != 0
    assert "'heat' is not known" in capsys.readouterr().err
