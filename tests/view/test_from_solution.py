"""Scenes from models and solutions: bodies are where the solution says, shapes are invented sensibly, modes move."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import jourdain as jd
from jourdain.errors import InputError
from jourdain.view import Scene, model_scene, scene_of, scene_of_modes, state_scene
from jourdain.view.chromium import Browser
from jourdain.view.rotation import matrix_from_quaternion
from jourdain.view.scenes.default_shapes import Numbers, equivalent_box

Show = Callable[[Scene], Path]


def double_pendulum() -> jd.Model:
    m = jd.Model("spatial double pendulum")
    l = m.parameter("l", 0.5)
    upper = m.body("upper", mass=1.0, com=(0, 0, -l / 2), inertia=(0.02, 0.02, 0.001))
    lower = m.body("lower", mass=0.5, com=(0, 0, -l / 2), inertia=(0.01, 0.01, 0.001))
    lower.frame("tip", (0, 0, -l))
    m.universal("shoulder", m.ground.at(0.1, 0, 1), upper, axes=("x", "y"))
    m.spherical("elbow", upper.at(0, 0, -l), lower)
    return m


def four_bar() -> jd.Model:
    m = jd.Model("four-bar")
    bodies = [m.body(n, mass=1.0, com=(l / 2, 0, 0), inertia=(0, 0.01, 0.01)) for n, l in (("a", 0.1), ("b", 0.3), ("c", 0.25))]
    m.revolute("motor", m.ground, bodies[0], axis="y")
    m.revolute("pin", bodies[0].at(0.1, 0, 0), bodies[1], axis="y")
    m.revolute("bearing", m.ground.at(0.28, 0, 0), bodies[2], axis="y")
    m.close("closing", bodies[1].at(0.3, 0, 0), bodies[2].at(0.25, 0, 0), "revolute", axis="y")
    m.spring("spring", m.ground.at(0, 0, 0.4), bodies[2].at(0.1, 0, 0), stiffness=10.0, length=0.3)
    return m


def spatial_run() -> jd.Solution:
    return double_pendulum().compile().simulate({"shoulder.angle1": 0.8, "shoulder.angle2": -0.5, "elbow.orientation.omega_x": 3.0}, t=2.0)


# --- tracks ------------------------------------------------------------------------------------------------------


def test_tracks_are_the_frames_of_the_solution() -> None:
    sol = spatial_run()
    scene = sol.scene()
    for body in ("upper", "lower"):
        motion = sol.frame(body)
        for i in range(0, len(sol), 7):
            p, q = scene.pose(body, sol.t[i])
            assert np.allclose(p, motion.position[i], atol=1e-13)
            assert np.allclose(matrix_from_quaternion(q), motion.rotation[i], atol=1e-13)


def test_a_run_read_from_a_file_is_shown_with_its_model(tmp_path: Path) -> None:
    system = double_pendulum().compile()
    system.set_parameters(l=0.8)
    sol = system.simulate({"shoulder.angle1": 0.8}, t=1.0)
    sol.save(tmp_path / "run.npz")
    again = jd.load_solution(tmp_path / "run.npz")
    with pytest.raises(InputError, match="--model"):
        again.scene()
    fresh = double_pendulum().compile()
    scene = again.scene(system=fresh)
    assert np.allclose(scene.pose("lower", 1.0)[0], sol.frame("lower").position[-1], atol=1e-13)
    assert fresh.parameters["l"] == 0.5, "looking at a run changes no parameter of the system"


def test_values_before_and_after_an_event_are_both_kept() -> None:
    m = jd.Model("ball")
    height = m.prismatic("height", m.ground, m.body("ball", mass=1.0), axis="z")
    m.event("impact", height.position, direction=-1, jump={height.velocity: -0.8 * height.velocity})
    sol = m.compile().simulate({"height": 1.0}, t=2.0)
    assert np.any(np.diff(sol.t) == 0.0)
    scene = sol.scene(plots=["height.displacement_rate"], fine=0)
    (run,) = scene.runs
    assert len(run.times) == len(run.channels[0].values) == len(sol)
    scene.check()
    smooth = sol.scene(plots=["height.displacement_rate"])
    assert len(smooth.runs[0].times) > 400 > len(sol)
    for t in np.linspace(0.0, 0.44, 9):  # it falls on a parabola, however long the steps were
        assert smooth.pose("ball", t)[0][2] == pytest.approx(1 - 4.905 * t**2, abs=1e-4)


def test_arrows_traces_and_options() -> None:
    sol = spatial_run()
    scene = sol.scene(trace=["lower.tip"], forces=["elbow"], follow="upper", name="other", fine=0)
    scene.check()
    origin, vector = scene.runs[0].arrows["elbow.reaction"]
    assert np.allclose(origin, sol.frame("lower").position, atol=1e-13)  # the lower body's origin is the elbow
    assert np.array_equal(vector, sol["elbow.reaction"])
    assert (scene.points[0].body, scene.follow, scene.name) == ("lower", "upper", "other")
    with pytest.raises(InputError, match="'colour' is unknown"):
        sol.scene(colour="red")
    with pytest.raises(InputError, match="no joint or contact 'knee'"):
        sol.scene(forces=["knee"])


def test_several_runs_are_ghosts() -> None:
    system = double_pendulum().compile()
    runs = [system.simulate({"shoulder.angle1": a}, t=1.0) for a in (0.5, 0.6)]
    scene = scene_of(runs)
    assert [r.name for r in scene.runs] == ["run 1", "run 2"]
    assert np.allclose(scene.pose("lower", 1.0, run=1)[0], runs[1].frame("lower").position[-1], atol=1e-13)


# --- what is invented --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [(1.0, 2.0, 3.0), (0.2, 0.2, 0.01)])
def test_the_equivalent_box_of_a_box_is_itself(size: tuple[float, float, float]) -> None:
    m = jd.Model("box")
    body = m.body("box", shape=jd.box(*size, density=1000.0).at(0.3, 0.2, 0.1))
    edges, axes = equivalent_box(body, Numbers(m))
    assert np.allclose(np.abs(axes.T @ np.diag(size) @ axes), np.diag(edges), rtol=1e-12)


def test_what_slides_is_a_block_that_hides_nothing() -> None:
    """A Scotch yoke whose inertias are those of balls larger than its crank of 0.1 m."""
    m = jd.Model("scotch yoke")
    crank, yoke, block = (
        m.body("crank", 1.0, inertia=(0.01,) * 3),
        m.body("yoke", 1.0, inertia=(0.01,) * 3),
        m.body("block", 0.1, inertia=(1e-3,) * 3),
    )
    m.revolute("main", m.ground, crank, axis="y")
    m.prismatic("guide", m.ground, yoke, axis="x")
    m.prismatic("slot", yoke, block, axis="z")
    m.revolute("pin", crank.at(0.1, 0, 0), block, axis="y")
    scene = state_scene(s := m.compile(), s.assemble())
    for name in ("yoke", "block"):
        (box,) = (shape for shape in scene.body(name).shapes if shape.kind == "box")
        assert np.ptp(box.triangles()[0], axis=0).max() <= 0.04 + 1e-12


@pytest.mark.parametrize(("com", "thick"), [(1.0, 0.13), (0.0, 0.32)])
def test_a_last_link_is_as_thin_as_the_others(com: float, thick: float) -> None:
    """A stick of an excavator, whose inertia is that of a cylinder with a radius of 0.3 m; a roller that turns about its middle keeps its radius."""
    m = jd.Model("excavator")
    boom, stick = (
        m.body("boom", 500.0, com=(1.5, 0, 0), inertia=(50, 400, 400)),
        m.body("stick", 200.0, com=(com, 0, 0), inertia=(10, 80, 80)),
    )
    m.revolute("foot", m.ground, boom, axis="-y")
    m.revolute("elbow", boom.at(3, 0, 0), stick, axis="-y")
    (shape,) = (s for s in model_scene(m).body("stick").shapes if s.kind == "cylinder" and np.ptp(s.triangles()[0], axis=0).max() > 1.0)
    assert np.ptp(shape.triangles()[0], axis=0)[1] / 2.0 == pytest.approx(thick, rel=0.5)


def test_every_body_is_seen_and_rods_reach_their_joints() -> None:
    system = four_bar().compile()
    scene = state_scene(system, system.assemble({"motor": 0.5}, guess={"bearing": -1.5}))
    scene.check()
    for name, length in (("a", 0.1), ("b", 0.3), ("c", 0.25)):
        vertices = np.concatenate([shape.triangles()[0] for shape in scene.body(name).shapes])
        assert vertices[:, 0].min() < 0 and vertices[:, 0].max() > length
    assert {j.name for j in scene.joints} == {"motor", "pin", "bearing", "closing"}
    assert [(link.name, link.kind) for link in scene.links] == [("spring", "spring")]
    assert scene.body("ground").shapes, "bearings stand on the ground"
    tip = np.asarray(scene.body("b").position) + matrix_from_quaternion(scene.body("b").quaternion) @ [0.3, 0, 0]
    end = np.asarray(scene.body("c").position) + matrix_from_quaternion(scene.body("c").quaternion) @ [0.25, 0, 0]
    assert np.allclose(tip, end, atol=1e-12)


@pytest.mark.parametrize(("gravity", "up"), [((0, 0, -9.81), "z"), ((0, -9.81, 0), "y"), ((0, 0, 9.81), "-z"), ((0, 0, 0), "z")])
def test_up_is_against_gravity(gravity: tuple[float, float, float], up: str) -> None:
    m = jd.Model("pendulum", gravity=gravity)
    m.revolute("hinge", m.ground, m.body("bob", mass=1.0, com=(0, 0, -1)), axis="x")
    assert model_scene(m).up == up


def test_a_plane_model_without_gravity_stands_upright() -> None:
    m = jd.Model("crank", gravity=(0, 0, 0))
    m.revolute("hinge", m.ground, m.body("bob", mass=1.0, com=(1, 0, 0)), axis="z")
    assert model_scene(m).up == "y"


def test_given_shapes_are_drawn_as_they_are() -> None:
    m = jd.Model("solids")
    body = m.body("part", shape=[jd.box(1, 2, 3, density=1.0, colour="#ff0000"), jd.torus(0.5, 0.1, density=1.0).at(0, 0, 2)])
    m.free("float", m.ground, body)
    box, ring = model_scene(m).body("part").shapes
    assert (box.kind, box.colour, ring.kind) == ("box", "#ff0000", "torus")
    assert np.allclose(ring.position, (0, 0, 2))


@pytest.mark.parametrize("name", ["andrews", "benchmark_bicycle", "bricard", "flyball_governor", "n_four_bar", "rolling_disk", "rssr"])
def test_every_model_of_the_library_can_be_seen(name: str) -> None:
    from jourdain import library

    model = getattr(library, name)()
    scene = model_scene(model)
    scene.check()
    massive = [b.name for b in model.bodies.values() if not (hasattr(b.mass, "is_number") and b.mass.is_number and float(b.mass) == 0)]
    assert all(scene.body(n).shapes for n in massive)


# --- modes -------------------------------------------------------------------------------------------------------


def test_modes_displace_bodies_as_their_shapes_say() -> None:
    m = jd.Model("two masses", gravity=(0, 0, 0))
    first, second = m.body("first", mass=1.0), m.body("second", mass=1.0)
    m.joint_spring(m.prismatic("one", m.ground, first, axis="x"), 1.0)
    m.joint_spring(m.prismatic("two", first.at(1, 0, 0), second, axis="x"), 1.0)
    modes = m.compile().modal()
    scene = scene_of_modes(modes)
    scene.check()
    assert len(scene.modes) == 2
    for mode, found in zip(scene.modes, modes.modes, strict=True):
        one, two = found.shape
        assert np.allclose(mode.displacements["first"][0], (one, 0, 0), atol=1e-14)
        assert np.allclose(mode.displacements["second"][0], (one + two, 0, 0), atol=1e-14)
        assert mode.frequency == pytest.approx(abs(found.eigenvalue) / (2 * np.pi))


# --- in the browser ----------------------------------------------------------------------------------------------


@pytest.mark.browser
def test_bodies_in_the_page_are_where_the_solution_says(browser: Browser, show: Show) -> None:
    sol = spatial_run()
    show(sol.scene(trace=["lower.tip"], forces=["elbow"]))
    for t in (0.0, 0.37, 1.0, 1.234, 2.0):
        browser.evaluate(f"jourdain.time({t})")
        i = int(np.argmin(np.abs(sol.t - t)))
        browser.evaluate(f"jourdain.time({float(sol.t[i])!r})")
        for body in ("upper", "lower"):
            data = browser.evaluate(f"jourdain.pose({body!r})")
            motion = sol.frame(body)
            assert np.abs(np.array(data["position"]) - motion.position[i]).max() < 1e-6
            assert np.abs(matrix_from_quaternion(data["quaternion"]) - motion.rotation[i]).max() < 1e-6
    assert browser.messages == []


@pytest.mark.browser
def test_modes_move_in_the_page(browser: Browser, show: Show) -> None:
    m = jd.Model("oscillator", gravity=(0, 0, 0))
    m.joint_spring(m.prismatic("slide", m.ground, m.body("mass", mass=1.0), axis="x"), 100.0)
    show(scene_of_modes(m.compile().modal()))
    for phase, amplitude in ((0.0, 0.3), (1.0, 0.2), (3.0, 0.3)):
        browser.evaluate(f"jourdain.mode(0, {phase}, {amplitude})")
        place = browser.evaluate("jourdain.pose('mass')")["position"]
        assert np.allclose(place, (amplitude * np.cos(phase), 0, 0), atol=1e-9)
    assert browser.messages == []
