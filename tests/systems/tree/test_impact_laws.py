"""Laws of impact of rigid surfaces: Newton, Poisson and Stronge, restitution by speed, static friction, the convex cone."""

from __future__ import annotations

import functools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jourdain as jd
from jourdain.contact.coefficient import RestitutionTable
from jourdain.contact.jumps import rigid_impacts
from jourdain.errors import InputError

G = 9.81


def two_balls(law: Any, y: float = 0.03, spin: float = 30.0) -> jd.Solution:
    m = jd.Model("two", gravity=(0, 0, 0))
    for name, radius in (("a", 0.05), ("b", 0.1)):
        m.free(name, m.ground, m.body(name, shape=jd.sphere(radius, density=1000.0)))
    m.contact("touch", law=law)
    start = {"a.x": -0.2, "a.y": y, "a.x_rate": 2.0, "b.x_rate": -0.5, "a.orientation.omega_z": spin}
    return m.compile().simulate(start, 0.2, method="moreau", step=1e-3)


@pytest.mark.parametrize("e", [0.0, 0.6, 1.0])
def test_the_three_laws_are_one_without_friction(e: float) -> None:
    runs = [two_balls(jd.contact.rigid(0.0, e, law=law)) for law in ("newton", "poisson", "stronge")]
    for name in ("a.x_rate", "a.y_rate", "b.x_rate"):
        np.testing.assert_allclose([r[name][-1] for r in runs], runs[0][name][-1], atol=1e-9)


@functools.cache
def rod(law: str) -> jd.System:
    m = jd.Model("rod", gravity=(0, 0, 0))
    m.ground.shapes.append(jd.plane())
    m.parameter("mu", 0.5)
    m.parameter("e", 0.5)
    body = m.body("rod", shape=jd.capsule(0.01, 1.0, density=1000.0))
    m.free("f", m.ground, body, orientation="xyz")
    p = m.parameter_set
    m.contact("floor", body, m.ground, law=jd.contact.rigid(p.symbol("mu"), p.symbol("e"), law=law))
    return m.compile()


def struck(law: str, mu: float, e: float, angle: float, vx: float) -> tuple[float, float, float]:
    """Energy lost, normal and total impulse of a rod that strikes the floor aslant."""
    s = rod(law)
    s.set_parameters(mu=mu, e=e)
    z = 0.5 * math.cos(angle) + 0.01 + 1e-3
    sol = s.simulate({"f.z": z, "f.ry": angle, "f.z_rate": -1.0, "f.x_rate": vx}, 0.01, method="moreau", step=1e-3)
    mass = float(s.model.bodies["rod"].mass)
    return sol["energy.total"][0] - sol["energy.total"][-1], mass * (sol["f.z_rate"][-1] + 1.0), sol["energy.total"][0]


@settings(max_examples=25, deadline=None)
@given(st.floats(0.0, 1.5), st.floats(0.0, 1.0), st.floats(0.05, 1.3), st.floats(-3.0, 3.0))
def test_energy_never_grows_under_poisson_and_stronge(mu: float, e: float, angle: float, vx: float) -> None:
    for law in ("poisson", "stronge"):
        lost, _, first = struck(law, mu, e, angle, vx)
        assert lost >= -1e-9 * first


def test_newton_may_gain_energy_where_the_others_lose_some() -> None:
    """A rod with friction (Kane & Levinson 1985): the reason for the other laws."""
    lost = {law: struck(law, 0.8, 0.9, 0.6, 0.5)[0] for law in ("newton", "poisson", "stronge")}
    assert lost["newton"] < -0.01
    assert lost["poisson"] > lost["stronge"] > 0.0


def test_poisson_multiplies_the_impulse_of_compression() -> None:
    compression = struck("poisson", 0.8, 1e-9, 0.6, 0.5)[1]
    for e in (0.3, 0.9):
        np.testing.assert_allclose(struck("poisson", 0.8, e, 0.6, 0.5)[1], (1 + e) * compression, rtol=1e-6)


def on_feet(law: str, mu: float, e: float, seed: int, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """A body whose feet all strike a floor: M⁻¹, J (normal and two tangents a foot), velocities before and after."""
    rng = np.random.default_rng(seed)
    mass, inertia, radius = float(np.exp(rng.normal())), rng.uniform(0.5, 1.0, 3) * 2e-3, 0.02
    feet = np.c_[rng.normal(size=(count, 2)) * 0.1, [-0.1] * count]
    m = jd.Model("feet", gravity=(0, 0, 0))
    m.ground.shapes.append(jd.plane())
    body = m.body("b", mass=mass, inertia=tuple(inertia))
    body.shapes.extend(jd.sphere(radius).at(*foot) for foot in feet)
    m.free("f", m.ground, body)
    m.contact("c", law=jd.contact.rigid(mu, e, law=law))
    rows = np.array([[0.0, 0, 1], [1, 0, 0], [0, 1, 0]])
    J = np.vstack([np.hstack([rows, np.cross(foot - [0, 0, radius], rows)]) for foot in feet])
    v = np.r_[rng.normal(size=2), -1.0, rng.normal(size=3)]
    v[2] -= max(0.0, (J @ v)[::3].max() + 0.1)
    names = [*(f"f.{c}_rate" for c in "xyz"), *(f"f.orientation.omega_{c}" for c in "xyz")]
    sol = m.compile().simulate({"f.z": 0.1 + radius, **dict(zip(names, v, strict=True))}, 1e-9, method="moreau", step=1e-9)
    assert sol.metadata["status"] == "finished"
    return np.diag(1.0 / np.r_[[mass] * 3, inertia]), J, v, np.array([sol[n][-1] for n in names])


@pytest.mark.parametrize("law", ["newton", "poisson", "stronge"])
def test_an_elastic_ball_comes_back_from_the_ceiling(law: str) -> None:
    """Weight brakes it within the step of the impact: as a gain of energy by that little, it halved the rebound by Stronge's law."""
    m = jd.Model("ceiling")
    m.ground.shapes.append(jd.plane("-z"))
    m.free("f", m.ground, m.body("b", shape=jd.sphere(0.05, density=1000.0)))
    m.contact("c", law=jd.contact.rigid(restitution=1.0, law=law))
    sol = m.compile().simulate({"f.z": -0.3, "f.z_rate": 3.0}, 0.15, method="moreau", step=1e-3)
    np.testing.assert_allclose(sol["energy.total"][-1], sol["energy.total"][0], atol=0.01 * sol["energy.kinetic"][0])
    assert sol["f.z_rate"][-1] < -2.4


@pytest.mark.parametrize("seed", [1, 3, 5, 7, 9, 11])
def test_poisson_holds_where_friction_holds_the_foot(seed: int) -> None:
    """The impulse that a speed takes is (W⁻¹)_NN there, up to many times 1/W_NN: the rebound was lost, or its law missed by half, without a word."""
    mu, e = 3.0, 0.6
    weight, J, v, after = on_feet("poisson", mu, e, seed, 1)
    W, u = J @ weight @ J.T, J @ v
    p, compressed = np.linalg.solve(W, J @ (after - v)), np.linalg.solve(W, -u)
    if np.hypot(*compressed[1:]) < mu * compressed[0]:  # it sticks in compression
        np.testing.assert_allclose(p[0], (1.0 + e) * compressed[0], rtol=1e-6)
    energy = [0.5 * x @ np.linalg.solve(weight, x) for x in (v, after)]
    assert energy[1] <= energy[0] * (1.0 + 1e-9)
    assert np.hypot(*p[1:]) <= mu * p[0] * (1.0 + 1e-9)


@pytest.mark.parametrize("law", ["poisson", "stronge"])
@pytest.mark.parametrize("seed", range(4))
def test_feet_that_are_redundant_rebound_together(law: str, seed: int) -> None:
    """Of four feet impulses are open, speeds are not: the laws are met by what moves the body."""
    weight, J, v, after = on_feet(law, 0.0, 0.7, seed, 4)
    poisson = rigid_impacts(np.linalg.inv(weight), J[::3].T, v, 0.7)
    np.testing.assert_allclose(after, poisson.velocity, atol=5e-6)
    assert (J @ after)[::3].min() > -1e-6


def test_restitution_may_depend_on_the_speed() -> None:
    """A table as that of the fast scale, and any function."""
    speed = np.geomspace(0.05, 5.0, 9)
    table = RestitutionTable(speed, 0.9 - 0.2 * np.log10(speed / 0.05), speed, speed, 0.0)
    ma, mb = 0.05**3, 0.1**3
    for e in (table, lambda v: 0.8 - 0.1 * v):
        sol = two_balls(jd.contact.rigid(0.0, e), y=0.0)
        mean = (2.0 * ma - 0.5 * mb) / (ma + mb)
        np.testing.assert_allclose(sol["a.x_rate"][-1], mean - float(e(2.5)) * mb / (ma + mb) * 2.5, atol=1e-9)


def slope(law: Any, angle: float) -> jd.System:
    m = jd.Model("slope", gravity=(G * math.sin(angle), 0.0, -G * math.cos(angle)))
    m.ground.shapes.append(jd.plane())
    block = m.body("block", shape=jd.box(0.2, 0.2, 0.1, density=1000.0))
    m.free("f", m.ground, block)
    m.contact("floor", block, m.ground, law=law)
    return m.compile()


def test_static_friction_holds_what_rests_and_lets_slide_what_slides() -> None:
    s = slope(jd.contact.rigid(0.2, static=0.5), 0.35)
    assert abs(s.simulate({"f.z": 0.05}, 0.5, method="moreau", step=1e-3)["f.x_rate"]).max() < 1e-9
    sol = s.simulate({"f.z": 0.05, "f.x_rate": 0.5}, 0.5, method="moreau", step=1e-3)
    np.testing.assert_allclose(sol["f.x_rate"][-1] - 0.5, 0.5 * G * (math.sin(0.35) - 0.2 * math.cos(0.35)), rtol=1e-6)


def test_the_convex_cone_lifts_what_slides_and_says_how_fast() -> None:
    exact, convex = (
        slope(jd.contact.rigid(0.3, cone=cone), 0.6).simulate({"f.z": 0.05, "f.x_rate": 1.0}, 0.05, method="moreau", step=1e-3)
        for cone in ("exact", "convex")
    )
    assert exact["f.z"].max() < 0.05 + 1e-9
    assert convex["f.z"].max() > 0.05 + 1e-5
    opening = convex["contacts.opening"]
    np.testing.assert_allclose(opening[1], 0.3 * convex["f.x_rate"][1], rtol=0.05)
    assert "contacts.opening" not in exact.names


def test_files_keep_the_law_of_impact(tmp_path: Path) -> None:
    m = jd.Model("ball")
    m.ground.shapes.append(jd.plane())
    m.free("f", m.ground, m.body("ball", shape=jd.sphere(0.05, density=1000.0)))
    m.contact("floor", law=jd.contact.rigid(0.3, 0.5, law="stronge", static=0.4, cone="convex"))
    m.save(tmp_path / "ball.toml")
    assert jd.load_model(tmp_path / "ball.toml").contacts["floor"].law == m.contacts["floor"].law


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"law": "huygens"}, "law = 'huygens' is unknown; use one of 'newton', 'poisson', 'stronge'"),
        ({"cone": "linear"}, "cone = 'linear' is unknown"),
        ({"friction": 0.5, "static": 0.3}, "static = 0.3 must not be smaller than friction = 0.5"),
        ({"friction": -0.1}, "friction = -0.1 must not be negative"),
        ({"restitution": 1.1}, "restitution = 1.1 must lie between 0"),
    ],
)
def test_laws_that_there_are_not_are_refused(options: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError, match=told):
        jd.contact.rigid(**options)


# -- stops of joints ----------------------------------------------------------------------------------------------


def swinging(e: float) -> jd.System:
    m = jd.Model("pendulum")
    arm = m.body("arm", mass=1.0, com=(0, 0, -0.5), inertia=(0.05, 0.05, 0.01))
    m.revolute("hinge", m.ground, arm, axis="-y", limits=(0.0, 2.0))
    m.stops(law=jd.contact.rigid(restitution=e))
    return m.compile()


def test_a_joint_rebounds_from_its_limit_as_by_an_event() -> None:
    exact = jd.Model("pendulum")
    arm = exact.body("arm", mass=1.0, com=(0, 0, -0.5), inertia=(0.05, 0.05, 0.01))
    hinge = exact.revolute("hinge", exact.ground, arm, axis="-y")
    exact.event("strike", hinge.position, direction=-1, jump={hinge.velocity: -0.7 * hinge.velocity})
    wanted = exact.compile().simulate({"hinge.angle": 1.0}, 1.4, rtol=1e-10, outputs=141)
    errors = []
    for step in (2e-3, 1e-3, 5e-4):
        sol = swinging(0.7).simulate({"hinge.angle": 1.0}, 1.4, method="moreau", step=step)
        assert sol["hinge.angle"].min() > -1e-6
        errors.append(float(np.abs(np.interp(wanted.t, sol.t, sol["hinge.angle"]) - wanted["hinge.angle"]).mean()))
    assert errors[0] > 1.5 * errors[1] > 2.25 * errors[2]
    assert errors[2] < 2e-3


def test_a_joint_rests_on_its_limit() -> None:
    m = jd.Model("slider")
    body = m.body("body", mass=2.0, inertia=(0.1, 0.1, 0.1))
    m.prismatic("z", m.ground, body, axis="z", limits=(-0.1, None))
    m.stops(law=jd.contact.rigid())
    s = m.compile()
    sol = s.simulate({}, 1.0, method="moreau", step=1e-3)
    np.testing.assert_allclose(sol["z.displacement"][-1], -0.1, atol=1e-9)
    np.testing.assert_allclose(sol["contacts.dissipated"][-1], 2.0 * G * 0.1, rtol=1e-2)
    assert sol.contacts.at(0.9)[0].contact == "stop"
    np.testing.assert_allclose(sol.contacts.at(0.9)[0].force[0], 2.0 * G, rtol=1e-8)
    exact = s.simulate({}, 1.0)
    np.testing.assert_allclose(exact["z.displacement"][-1], -0.1, atol=1e-12)
    np.testing.assert_allclose(exact["contacts.dissipated"][-1], 2.0 * G * 0.1, rtol=1e-9)
    with pytest.raises(InputError, match="formulation 'semi-recursive' knows no rigid stops"):
        m.compile(formulation="semi-recursive")


# -- dry friction in joints, and loads that follow velocities ------------------------------------------------------


def slider(**law: float) -> Any:
    m = jd.Model("slider", gravity=(0, 0, 0))
    joint = m.prismatic("x", m.ground, m.body("body", mass=2.0), axis="x")
    m.joint_spring(joint, stiffness=50.0)
    m.friction(joint, **law)
    m.force(joint, m.input("push", 0.0, "N"), name="pushed")
    return m.compile()


def test_swings_against_dry_friction_lose_the_same_each_time() -> None:
    """Every half swing is shorter by 2F/k, until the spring is weaker than friction."""
    s = slider(coulomb=3.0, smoothing=0.0)
    run = s.simulate({"x": 1.0}, t=6.0, method="moreau", step=1e-3)
    for k in range(1, 8):
        place = round(k * np.pi / 5.0 / 1e-3)
        np.testing.assert_allclose(run["x.displacement"][place], (-1) ** k * (1.0 - 0.12 * k), atol=2e-5)
    np.testing.assert_allclose(run["x.displacement"][-1], 0.04, atol=1e-5)
    assert np.abs(run["x.displacement_rate"][-500:]).max() < 1e-13
    np.testing.assert_allclose(run["x.dry_friction"][-1], 50.0 * run["x.displacement"][-1], rtol=1e-9)
    np.testing.assert_allclose(run["contacts.dissipated"][-1], 25.0 * (1.0 - run["x.displacement"][-1] ** 2), rtol=1e-5)
    np.testing.assert_allclose(run["x.displacement_acc"][-1], 0.0, atol=1e-9)
    smooth = slider(coulomb=3.0, smoothing=1e-6).simulate({"x": 1.0}, t=2.0, method="radau")
    np.testing.assert_allclose(run.at(2.0)["x.displacement"], smooth["x.displacement"][-1], atol=2e-3)


def test_dry_friction_holds_up_to_its_static_bound() -> None:
    s = slider(coulomb=2.0, static=3.0, smoothing=0.0)
    held = s.simulate({}, t=1.0, method="moreau", step=1e-3, inputs={"push": 2.999})
    assert np.abs(held["x.displacement"]).max() < 1e-14
    loose = s.simulate({}, t=0.05, method="moreau", step=1e-4, inputs={"push": 3.001})
    np.testing.assert_allclose(loose["x.displacement_rate"][-1], 1.001 / 2.0 * 0.05, rtol=2e-2)


def test_what_knows_no_dry_friction_says_so() -> None:
    s = slider(coulomb=3.0, smoothing=0.0)
    with pytest.raises(InputError, match="the friction of joint 'x' has a set-valued law, which method 'radau' does not know"):
        s.simulate({"x": 1.0}, t=1.0, method="radau")
    with pytest.raises(InputError, match="joint 'x' has dry friction without smoothing"):
        s.modal()
    with pytest.raises(InputError, match="formulation 'semi-recursive' knows no dry friction without smoothing"):
        s.model.compile(formulation="semi-recursive")
    with pytest.raises(jd.ModelError, match="static = 1 must not be smaller than coulomb = 3"):
        slider(coulomb=3.0, static=1.0, smoothing=0.0)


@pytest.mark.parametrize("step", [1e-2, 1e-3])
def test_a_damper_does_not_see_what_contacts_hold(step: float) -> None:
    m = jd.Model("damped")
    block = m.body("block", shape=jd.box(0.2, 0.2, 0.1, density=1000.0))
    m.free("f", m.ground, block)
    m.contact("floor", block, m.ground, law=jd.contact.rigid(friction=0.5))
    m.link("damper", m.ground.frame("top", (0, 0, 1.0)), block, law=lambda z, rate, t: 50.0 * rate)
    run = m.compile().simulate({"f.z": 0.05}, 0.1, method="moreau", step=step)
    np.testing.assert_allclose(run["floor.block.force"][1:, 2], 4.0 * G, rtol=1e-12)
