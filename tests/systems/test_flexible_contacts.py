"""Contacts of bodies that bend: shapes at nodes, laws that give way and rigid ones, against closed forms, other formulations and rigid limits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jourdain as jd
from jourdain.errors import InputError, ModelError
from jourdain.systems.tree.contact import framed as framed_contacts

ST = jd.structures
E, RHO, L, AREA = 70e9, 2700.0, 1.0, 1e-4
C = np.sqrt(E / RHO)


def rod(law: Any, modes: int = 20) -> jd.System:
    """A rod that strikes a wall with its end; its section is so stiff in bending that the lowest modes are waves along it."""
    m = jd.Model("rod", gravity=(0, 0, 0))
    section = ST.Section(AREA, Iy=400 * AREA, Iz=400 * AREA, torsion=4e6 * AREA)
    body = m.flexible_body("rod", ST.beam((0, 0, 0), (L, 0, 0), section, ST.Material(E, 0.3, RHO), elements=80), modes=modes)
    m.prismatic("slide", m.ground, body, axis="x")
    body.add_collision(jd.sphere(0.01), node="end")
    m.ground.shapes.append(jd.plane("-x").at(L + 0.01, 0, 0))
    m.contact("wall", body, m.ground, law=law)
    return m.compile(check=False)


START = {"slide.displacement": 0.0, "slide.displacement_rate": 1.0}


def contact_time(sol: jd.Solution) -> float:
    on = sol.t[np.abs(sol["wall.rod.force"][:, 0]) > 0.0]
    return float(on[-1] - on[0])


def test_a_rod_stays_on_a_wall_until_the_wave_is_back() -> None:
    """2L/c, the impulse 2mv and no loss, with a stiff spring between."""
    sol = rod(jd.contact.linear(1e9), 40).simulate(START, 6e-4, method="dop853", rtol=1e-7, atol=1e-9)
    assert abs(contact_time(sol) / (2 * L / C) - 1.0) < 0.01
    impulse = -np.trapezoid(sol["wall.rod.force"][:, 0], sol.t)
    assert abs(impulse / (2 * RHO * AREA * L) - 1.0) < 0.01
    assert np.abs(sol["energy.error"]).max() < 1e-5 * sol["energy.kinetic"][0]
    np.testing.assert_array_equal(sol["wall.rod.force"], sol["wall.rod.end.force"])


@pytest.mark.parametrize("modes", [10, 20])
def test_a_rigid_wall_takes_the_energy_of_the_mass_that_it_meets(modes: int) -> None:
    """Newton's law stops the mass that n modes have at the end, 1/(1/m + Σ φᵢ²/mᵢ); the rest comes back after 2L/c, and steps have order two."""
    s = rod(jd.contact.rigid(), modes)
    part: Any = s.model.bodies["rod"].part  # type: ignore[attr-defined]
    phi = part.point("end").phi_t[0]
    met = 1.0 / (1.0 / part.mass + phi @ np.linalg.solve(part.M_ee, phi))
    assert abs(met / part.mass * (1 + 2 * modes) - 1.0) < 0.05  # free waves all have φ² / mᵢ = 2 / m at the end
    errors, losses = [], []
    for h in (1e-6, 5e-7):
        sol = s.simulate(START, 6e-4, method="moreau", step=h)
        losses.append(abs(sol["contacts.dissipated"][-1] / (0.5 * met) - 1.0))
        assert abs(contact_time(sol) / (2 * L / C) - 1.0) < 0.03
        errors.append(abs(sol["energy.error"][-1]))
    assert losses[1] < 3e-3 and 3.8 < losses[0] / losses[1] < 4.2
    assert 3.8 < errors[0] / errors[1] < 4.2


def test_fast_modes_bound_no_step() -> None:
    """Elastic forces are those of the implicit midpoint rule: a free vibration keeps its energy in steps far beyond the shortest period."""
    s = rod(jd.contact.rigid(), 40)
    fastest = np.pi * 40 * C / L
    h = 50.0 / fastest
    sol = s.simulate(
        {"slide.displacement": -1.0, "slide.displacement_rate": 0.1, "rod.mode1": 1e-4, "rod.mode40": 1e-7},
        1000 * h,
        method="moreau",
        step=h,
    )
    assert sol["contacts.acting"].max() == 0
    assert np.abs(sol["energy.error"]).max() < 1e-9 * (sol["energy.kinetic"] + sol["energy.potential"])[0]


def test_events_and_steps_give_the_same_impact() -> None:
    s = rod(jd.contact.rigid(), 4)
    start = START | {"slide.displacement": -1e-5}
    exact = s.simulate(start, 6e-4, method="dop853", rtol=1e-10, atol=1e-12)
    assert abs(exact.contacts.impacts[0].t - 1e-5) < 1e-14
    assert abs(exact["energy.error"][-1]) < 1e-9
    errors = []
    for h in (1e-6, 2.5e-7):
        sol = s.simulate(start, 6e-4, method="moreau", step=h)
        errors.append(abs(sol["slide.displacement_rate"][-1] - exact["slide.displacement_rate"][-1]))
    assert errors[1] < 0.4 * errors[0] + 1e-6 and errors[1] < 1e-2


# -- a ball on a cantilever ---------------------------------------------------------------------------------------


def ball_on_beam(law: Any, rigid: bool = False, stiffness: float = 2e11, modes: int = 2, nodes: int = 0, gravity: float = 9.81) -> jd.Model:
    m = jd.Model("board", gravity=(0.0, 0.0, -gravity))
    part = ST.beam((0, 0, 0), (0.5, 0, 0), ST.rectangle(0.03, 0.01), ST.Material(stiffness, 0.3, 7800.0), elements=10)
    beam = m.flexible_body("beam", part, modes=modes, rigid=rigid, kind="craig-bampton", frame="tangent")
    m.fixed("clamp", m.ground, beam.node("start"))
    if nodes:
        beam.add_skin(0.01, [(x, 0, 0) for x in np.linspace(0.0, 0.5, nodes)])
    else:
        beam.add_collision(jd.box(0.04, 0.1, 0.02), node="end")
    ball = m.body("ball", shape=jd.sphere(0.03, density=7800.0))
    m.prismatic("fall", m.ground, ball, axis="z")
    ball.shapes[0] = ball.shapes[0].at(0.5 if not nodes else 0.43, 0, 0)
    m.contact("hit", beam, ball, law=law)
    return m


HEIGHT = 0.04 + 1e-3


@pytest.mark.parametrize(
    ("way", "run"),
    [
        ({}, {"method": "dopri5"}), ({}, {"method": "radau"}), ({"formulation": "cartesian"}, {"method": "dopri5"}),
        ({"formulation": "semi-recursive"}, {"method": "dopri5"}), ({}, {"method": "generalized-alpha", "step": 5e-6}),
    ],
    ids=str,
)  # fmt: skip
def test_every_formulation_has_the_same_ball_on_a_board(way: dict[str, Any], run: dict[str, Any]) -> None:
    law = jd.contact.hertz(stiffness=5e7, friction=0.2)
    exact = ball_on_beam(law).compile().simulate({"fall.displacement": HEIGHT}, 0.03, method="dop853", rtol=1e-10, atol=1e-12)
    assert exact["contacts.depth"].max() > 1e-5
    tight = {} if "step" in run else {"rtol": 1e-9, "atol": 1e-11}
    sol = ball_on_beam(law).compile(**way).simulate({"fall.displacement": HEIGHT}, 0.03, **run, **tight)
    for name in ("fall.displacement", "fall.displacement_rate"):
        assert abs(sol[name][-1] - exact[name][-1]) < (2e-4 if "step" in run else 1e-6)
    assert np.abs(sol["energy.error"]).max() < (1e-4 if "step" in run else 1e-6)


@pytest.mark.parametrize(
    ("formulation", "law"), [("natural", jd.contact.hertz(stiffness=5e7)), ("directors", jd.contact.rigid())], ids=["natural", "directors"]
)
def test_others_refuse_by_name(formulation: str, law: Any) -> None:
    with pytest.raises(InputError, match="'beam' of 'board' is flexible|knows no (rigid )?contacts"):
        ball_on_beam(law).compile(formulation=formulation)


@pytest.mark.parametrize("law", [jd.contact.linear(1e7), jd.contact.rigid()], ids=["linear", "rigid"])
def test_a_ball_that_rests_bends_the_board_by_its_weight(law: Any) -> None:
    """m g L³ / 3 E I, and the board's own weight (so little that the tilt of the surface does not move the point of contact)."""
    g = 0.00981
    s = ball_on_beam(law, gravity=g).compile()
    at = s.equilibrium({"fall.displacement": HEIGHT - 1e-3})
    mass, inertia = 4 / 3 * np.pi * 0.03**3 * 7800.0, 0.03 * 0.01**3 / 12
    part: Any = s.model.bodies["beam"].part  # type: ignore[attr-defined]
    end = part.point("end").phi_t[2] @ np.array([at.state[n] for n in s.coordinate_names if n.startswith("beam.")])
    own = 7800.0 * 0.03 * 0.01 * g * 0.5**4 / (8 * 2e11 * inertia)
    np.testing.assert_allclose(-end, mass * g * 0.5**3 / (3 * 2e11 * inertia) + own, rtol=1e-6)


def test_a_stiff_board_is_a_rigid_one() -> None:
    rigid = ball_on_beam(jd.contact.rigid(restitution=0.5), rigid=True).compile()
    exact = rigid.simulate({"fall.displacement": HEIGHT}, 0.03, method="moreau", step=1e-4)
    gaps = []
    for stiffness in (2e13, 2e15):
        s = ball_on_beam(jd.contact.linear(1e9), stiffness=stiffness).compile()
        soft = s.simulate({"fall.displacement": HEIGHT}, 0.02, method="dop853", rtol=1e-8, atol=1e-10)
        gaps.append(abs(np.abs(soft["fall.displacement_rate"]).max() / np.sqrt(2 * 9.81e-3) - 1.0))
    assert exact["fall.displacement"].min() > HEIGHT - 1e-3 - 1e-4
    assert gaps[1] < 0.05


def test_a_skin_is_touched_between_nodes() -> None:
    """The force is where the ball is; more nodes change the motion less and less."""
    law, ends = jd.contact.hertz(stiffness=5e7), []
    for nodes in (3, 6, 11):
        s = ball_on_beam(law, modes=4, nodes=nodes).compile()
        sol = s.simulate({"fall.displacement": HEIGHT}, 0.03, method="dop853", rtol=1e-8, atol=1e-10)
        assert sol["hit.beam.force"][:, 2].min() < -50.0
        np.testing.assert_allclose(sol["hit.beam.force"], -sol["hit.ball.force"], atol=1e-9)
        assert np.abs(sol["energy.error"]).max() < 1e-6
        ends.append(float(sol["fall.displacement_rate"][-1]))
    assert abs(ends[2] - ends[1]) < 0.7 * abs(ends[1] - ends[0])


# -- rows by compiled functions -----------------------------------------------------------------------------------


@pytest.mark.parametrize("closed", [False, True])
def test_rows_of_frames_are_those_of_links(closed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rigid model by both: legs on a floor, a driven joint, a free box, with and without a loop."""

    def model() -> jd.Model:
        m = jd.Model("walker")
        m.ground.shapes.append(jd.plane())
        trunk = m.body("trunk", shape=jd.box(0.4, 0.2, 0.1, density=500.0))
        m.free("free", m.ground, trunk)
        for k, x in enumerate((-0.15, 0.15)):
            leg = m.body(f"leg{k}", shape=jd.capsule(0.03, 0.2, density=800.0).at(0, 0, -0.1))
            hip = m.revolute(f"hip{k}", trunk.at(x, 0, -0.05), leg, axis="y")
            if k and not closed:
                m.drive(hip, lambda t: 0.3 * jd.sin(9.0 * t))
        if closed:
            m.close("bar", m.bodies["leg0"].at(0, 0, -0.1), m.bodies["leg1"].at(0, 0, -0.1), "rod", length=0.3)
        m.free("other", m.ground, m.body("box", shape=jd.box(0.1, 0.1, 0.1, density=900.0)))
        m.contact("all", law=jd.contact.rigid(friction=0.6, restitution=0.1))
        return m

    start = {"free.z": 0.31, "other.z": 0.45, "other.x": 0.02, "hip0.angle": 0.05, "free.x_rate": 0.3}
    if closed:
        start.pop("hip0.angle")
    by_links = model().compile().simulate(start, 0.12, method="moreau", step=2e-3)
    monkeypatch.setattr(framed_contacts, "needs_frames", lambda system: True)
    by_frames = model().compile().simulate(start, 0.12, method="moreau", step=2e-3)
    assert by_links["contacts.acting"].max() >= 2
    for name in ("free.z", "hip0.angle", "other.z", "free.x_rate"):
        np.testing.assert_allclose(by_frames[name], by_links[name], atol=1e-6)


def test_rods_with_mass_may_touch() -> None:
    """A pendulum whose rod is a heavy link between two bodies comes to rest on a floor with its whole weight."""
    m = jd.Model("rods")
    m.ground.shapes.append(jd.plane())
    a, b = (m.body(n, shape=jd.sphere(0.05, density=1000.0)) for n in "ab")
    m.prismatic("za", m.ground, a, axis="z")
    m.free("zb", m.ground, b)
    m.rod("bar", a, b, length=0.3, mass=2.0)
    m.contact("floor", [a, b], m.ground, law=jd.contact.rigid())
    sol = m.compile().simulate({"za.displacement": 0.06, "zb.z": 0.06, "zb.x": 0.3}, 0.5, method="moreau", step=1e-3)
    weight = 9.81 * (2.0 + 2 * 4 / 3 * np.pi * 0.05**3 * 1000.0)
    assert abs(sol["floor.a.force"][-1, 2] + sol["floor.b.force"][-1, 2] - weight) < 1e-6


# -- files, copies, messages --------------------------------------------------------------------------------------


def test_files_and_copies_keep_shapes_at_nodes(tmp_path: Path) -> None:
    m = ball_on_beam(jd.contact.rigid(), nodes=3)
    m.save(tmp_path / "board.toml")
    again = jd.load_model(tmp_path / "board.toml")
    whole = jd.Model("whole")
    whole.include(m, "one")
    start = {"fall.displacement": HEIGHT}
    wanted = m.compile().simulate(start, 0.02, method="moreau", step=1e-4)
    for s, prefix in ((again.compile(), ""), (whole.compile(), "one.")):
        sol = s.simulate({f"{prefix}{n}": x for n, x in start.items()}, 0.02, method="moreau", step=1e-4)
        np.testing.assert_allclose(sol[f"{prefix}hit.{prefix}ball.force"], wanted["hit.ball.force"], rtol=1e-9, atol=1e-6)


def test_messages() -> None:
    m = ball_on_beam(jd.contact.rigid())
    beam: Any = m.bodies["beam"]
    with pytest.raises(ModelError, match="moves with one of its nodes; give node="):
        beam.add_collision(jd.sphere(0.1))
    with pytest.raises(ModelError, match="two nodes or more and a positive radius"):
        beam.add_skin(0.01, ["end"])
    with pytest.raises(ModelError, match="two nodes in a row are at the same place"):
        beam.add_skin(0.01, ["end", "end"])
    bare = jd.Model("bare")
    part = ST.beam((0, 0, 0), (0.3, 0, 0), ST.circle(0.01), ST.STEEL, elements=4)
    other = bare.flexible_body("beam", part, modes=2)
    with pytest.raises(ModelError, match=r"'beam' has no shape; give it one: body\.add_collision"):
        bare.contact("floor", other, bare.ground)
