"""Contacts whose surfaces give way: every formulation and method, laws against closed forms, memories, derivatives, books, files, and what refuses."""

from __future__ import annotations

import functools
import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.optimize import brentq

import jourdain as jd
from jourdain.errors import InputError, JourdainError, ModelError
from jourdain.model.contact.rebound import loss_number
from jourdain.systems.tree.projected import NativeSystem

from .test_every_way import WAYS, Way, four_bar, start

G = 9.81


# -- every formulation and method ---------------------------------------------------------------------------------


def four_bar_on_a_block(law: Any) -> jd.Model:
    """The coupler of a four-bar linkage falls on a block of the ground."""
    m = four_bar()
    m.bodies["coupler"].shapes.append(jd.sphere(0.03).at(0.25, 0, 0))
    m.ground.shapes.append(jd.box(2, 2, 0.2).at(0.3, 0, 0.13))
    m.contact("block", m.bodies["coupler"], m.ground, law=law)
    return m


LAWS = {
    "hertz": lambda: jd.contact.hertz(stiffness=2e4, friction=0.3),
    "flores": lambda: jd.contact.flores(0.7, stiffness=2e4),
    "bristle": lambda: jd.contact.linear(5e3, friction=jd.contact.bristle(0.3, 2e3, 5.0)),
}
#: How much further from the exact numbers a law is: memories are those at the ends of steps.
FURTHER = {"hertz": 20.0, "flores": 400.0, "bristle": 400.0}


@functools.cache
def exact(law: str) -> jd.Solution:
    s = four_bar_on_a_block(LAWS[law]()).compile()
    return s.simulate(start(s), 0.48, rtol=1e-10, atol=1e-12, max_step=1e-4 if law != "hertz" else None)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("way", WAYS, ids=str)
def test_every_way_gives_the_same_motion_or_refuses(way: Way, law: str) -> None:
    m = four_bar_on_a_block(LAWS[law]())
    if "augmented-lagrangian" in str(way):
        with pytest.raises(InputError, match="takes inputs as numbers"):
            s = m.compile(formulation=way.formulation, **way.compiled)
            s.simulate(start(s), 0.48, **way.run)
        return
    s = m.compile(formulation=way.formulation, **way.compiled)
    sol = s.simulate(start(s), 0.48, **way.run)
    wanted = exact(law)
    assert wanted["contacts.depth"].max() > 0.01
    for name in ("crank.angle", "rocker.angle"):
        assert abs(sol[name][-1] - wanted[name][-1]) < FURTHER[law] * way.near
    assert abs(sol["energy.error"][-1]) < 2e-3 * wanted["energy.kinetic"].max()
    np.testing.assert_allclose(sol["contacts.dissipated"][-1], wanted["contacts.dissipated"][-1], atol=0.02)


@pytest.mark.parametrize("formulation", ["recursive", "cartesian"])
def test_derivatives_of_implicit_methods_hold_the_stiffness_of_contacts(formulation: str) -> None:
    """∂ẋ/∂x against differences of ẋ, free bodies and loops."""
    m = jd.Model("two")
    m.ground.shapes.append(jd.plane())
    law = jd.contact.hunt_crossley(stiffness=3e5, damping=0.2, friction=0.4, rolling=0.01, spinning=0.01)
    for k in range(2):
        m.free(f"f{k}", m.ground, m.body(f"b{k}", shape=jd.sphere(0.05, density=1000.0)), orientation="xyz")
    m.contact("all", law=law)
    free = m.compile(formulation=formulation)
    given = {"f0.z": 0.0495, "f1.z": 0.0492, "f1.x": 0.098, "f1.y": 0.01, "f0.x_rate": 0.3, "f1.z_rate": -0.2, "f0.ry_rate": 1.0}
    names = {n.removesuffix("_rate") for n in given}
    assert names <= set(free.coordinate_names), free.coordinate_names
    loop = four_bar_on_a_block(LAWS["hertz"]()).compile(formulation=formulation)
    touching = exact("hertz")
    k = int(touching["contacts.depth"].argmax())
    closed = loop.state({n: float(touching[n][k]) for n in (*loop.coordinate_names, *loop.velocity_names)})
    for s, state in ((free, free.state(given)), (loop, closed)):
        own: Any = s if formulation == "recursive" else s.own  # type: ignore[attr-defined]
        x = (state if formulation == "recursive" else own.state_of(state)).x.copy()
        at = state if formulation == "recursive" else own.state_of(state)
        native = NativeSystem(own, start=at)
        n = len(x)
        found, out = np.zeros(n * n), np.zeros(n)
        native.finding(native.derivatives()["jacobian"])(0.0, x, found)
        native.rhs(0.0, x, out)
        differences = np.zeros((n, n))
        for j in range(n):
            h = 2e-7
            up, down = np.zeros(n), np.zeros(n)
            native.rhs(0.0, x + h * np.eye(n)[j], up)
            native.rhs(0.0, x - h * np.eye(n)[j], down)
            differences[:, j] = (up - down) / (2 * h)
        np.testing.assert_allclose(found.reshape(n, n), differences, atol=2e-5 * np.abs(differences).max())


# -- laws ---------------------------------------------------------------------------------------------------------


def ball_at(law: Any, speed: float, gravity: float = 0.0, **shape: Any) -> tuple[jd.System, dict[str, float]]:
    m = jd.Model("ball", gravity=(0.0, 0.0, -gravity))
    m.ground.shapes.append(jd.plane())
    ball = m.body("ball", shape=jd.sphere(0.05, density=1000.0))
    m.prismatic("z", m.ground, ball, axis="z")
    m.contact("floor", ball, m.ground, law=law)
    return m.compile(), {"z.displacement": 0.0501, "z.displacement_rate": -speed}


def coefficient(law: Any, speed: float, **exact: float) -> float:
    s, x = ball_at(law, speed)
    sol = s.simulate(x, 0.05, **({"rtol": 1e-9, "atol": 1e-11, "max_step": 2e-5} | exact))
    assert sol["z.displacement"][-1] > 0.05
    assert abs(sol["energy.error"][-1]) < 1e-6 * sol["energy.kinetic"][0]
    return float(sol["z.displacement_rate"][-1] / speed)


@pytest.mark.parametrize("exponent", [1.0, 1.5])
@pytest.mark.parametrize("e", [0.2, 0.5, 0.9, 0.995, 1.0])
def test_bodies_part_at_the_restitution_that_is_asked_for(e: float, exponent: float) -> None:
    law = jd.contact.hunt_crossley(stiffness=1e6, restitution=e, exponent=exponent)
    np.testing.assert_allclose(coefficient(law, 0.7, rtol=1e-10, atol=1e-13, max_step=1e-4), e, rtol=0.0, atol=1e-7)


@pytest.mark.parametrize("e", [0.1, 0.3, 0.7, 0.9, 0.99, 0.9901, 1.0 - 1e-6, 1.0])
def test_the_loss_of_a_restitution_by_quadrature(e: float) -> None:
    """∫₀¹ u du/(1 + d u) = ∫₀ᵉ u du/(1 − d u), the work of Hunt and Crossley's law on the way in and out."""
    d = float(loss_number(e))
    came, left = (quad(lambda u, s=s: u / (1.0 + s * d * u), 0.0, end, epsabs=1e-15, epsrel=1e-13)[0] for s, end in ((1.0, 1.0), (-1.0, e)))
    np.testing.assert_allclose(left, came, rtol=2e-9 if e > 0.9 else 1e-10)


def test_the_restitution_may_be_a_parameter() -> None:
    m = jd.Model("ball", gravity=(0.0, 0.0, 0.0))
    m.free("f", m.ground, m.body("ball", shape=jd.sphere(0.05, density=1000.0)))
    e = m.parameter("e", 0.9)
    m.contact("floor", m.bodies["ball"], m.ground, law=jd.contact.hunt_crossley(stiffness=1e6, restitution=e))
    s = m.compile()
    for value in (0.3, 1.0):
        s.set_parameters(e=value)
        sol = s.simulate({"f.z": 0.0501, "f.z_rate": -0.5}, 0.05, rtol=1e-9, atol=1e-12, max_step=1e-4)
        np.testing.assert_allclose(sol["f.z_rate"][-1] / 0.5, value, atol=1e-6)


@pytest.mark.parametrize("e", [0.5, 0.9])
@pytest.mark.parametrize("kind", ["lankarani_nikravesh", "flores"])
def test_rebound_is_that_of_the_law_in_closed_form(kind: str, e: float) -> None:
    """m v dv = −K δⁿ (1 + λ v) dδ: v₀/λ − ln(1 + λ v₀)/λ² is the same for v₀ and −v₁, whatever K, n and m are."""
    speed = 0.7
    loss = {"lankarani_nikravesh": 0.75 * (1 - e * e), "flores": 1.6 * (1 - e) / e}[kind]  # times δ̇⁻
    root = brentq(lambda r: (loss - math.log1p(loss)) - (-loss * r - math.log1p(-loss * r)), 1e-9, min(1.0, (1 - 1e-12) / loss), xtol=1e-14)
    law = getattr(jd.contact, kind)(stiffness=1e6, restitution=e)
    np.testing.assert_allclose(coefficient(law, speed), root, atol=2e-5)
    if e == 0.9:  # both are made for this
        assert abs(root - e) < 0.02


def test_kelvin_and_voigt_part_where_the_force_vanishes() -> None:
    mass, K, zeta = 4 / 3 * math.pi * 0.05**3 * 1000.0, 1e5, 0.2
    omega = math.sqrt(K / mass)
    damped = math.sqrt(1 - zeta**2)
    phase = math.atan2(2 * zeta * damped, 2 * zeta**2 - 1)
    wanted = math.exp(-zeta / damped * phase)
    np.testing.assert_allclose(coefficient(jd.contact.kelvin_voigt(K, 2 * zeta * mass * omega), 0.5), wanted, atol=1e-5)


def test_hertz_stiffness_comes_from_materials_and_curvatures() -> None:
    """Largest indentation and duration of an impact without loss (spec 05 eqs. 7, 8)."""
    steel = jd.structures.STEEL
    s, x = ball_at(jd.contact.hertz(steel), 0.3)
    surface = jd.contact.Surface(steel.E, steel.nu, (20.0, 20.0))
    K = jd.contact.hertz_stiffness(surface, jd.contact.Surface(steel.E, steel.nu))
    depth, duration = jd.contact.NormalForce(K).rigid_impact(float(s.model.bodies["ball"].mass), 0.3)
    sol = s.simulate(x, 1e-4 / 0.3 + 2 * duration, rtol=1e-10, atol=1e-14, max_step=duration / 200)
    np.testing.assert_allclose(sol["contacts.depth"].max(), depth, rtol=2e-4)
    np.testing.assert_allclose(sol["z.displacement_rate"][-1], 0.3, rtol=1e-6)
    acting = sol.t[sol["contacts.acting"] > 0]
    np.testing.assert_allclose(acting[-1] - acting[0], duration, rtol=2e-2)


def test_a_law_of_ones_own_is_the_same_as_the_one_it_copies() -> None:
    own = jd.contact.own(lambda depth, rate, approach: 1e5 * depth + 30.0 * rate)
    np.testing.assert_allclose(coefficient(own, 0.5), coefficient(jd.contact.kelvin_voigt(1e5, 30.0), 0.5), atol=1e-8)


def block_on_slope(angle: float, friction: Any) -> jd.System:
    m = jd.Model("slope", gravity=(G * math.sin(angle), 0.0, -G * math.cos(angle)))
    m.ground.shapes.append(jd.plane())
    block = m.body("block", shape=jd.box(0.2, 0.2, 0.1, density=1000.0))
    m.free("f", m.ground, block)
    law = jd.contact.hunt_crossley(stiffness=1e5, exponent=1.0, damping=2.0, friction=friction)
    m.contact("floor", block, m.ground, law=law)
    return m.compile()


def test_bristles_hold_without_creeping_where_regularised_friction_creeps() -> None:
    held, creeps = jd.contact.bristle(0.5, 2e4, 400.0), jd.contact.regularised(0.5, 1e-2)
    at = {"f.z": 0.05 - 1e-4}
    rest = block_on_slope(0.3, held).simulate(at, 6.0, method="radau", rtol=1e-6, atol=1e-9)
    late = rest.t > 3.0
    assert np.ptp(rest["f.x"][late]) < 1e-8
    assert abs(rest["f.x"][-1]) < 2e-3
    moving = block_on_slope(0.3, creeps).simulate(at, 6.0, method="radau", rtol=1e-6, atol=1e-9)
    late = moving.t > 3.0
    assert np.ptp(moving["f.x"][late]) > 1e-3


def test_a_block_slides_with_the_friction_that_is_given() -> None:
    sol = block_on_slope(0.6, jd.contact.bristle(0.3, 2e4, 50.0)).simulate({"f.z": 0.05 - 1e-3}, 1.0, rtol=1e-6, atol=1e-9, max_step=2e-3)
    a = G * (math.sin(0.6) - 0.3 * math.cos(0.6))
    half = int(np.searchsorted(sol.t, 0.5))
    np.testing.assert_allclose((sol["f.x_rate"][-1] - sol["f.x_rate"][half]) / (sol.t[-1] - sol.t[half]), a, rtol=2e-3)


def test_static_friction_is_larger_than_that_of_sliding() -> None:
    """With tan α between μ and μ₀ a block at rest stays, and one that slides goes on."""
    friction = jd.contact.bristle(0.2, 2e4, 200.0, static=0.5, stribeck=0.02)
    at = {"f.z": 0.05 - 1e-4}
    s = block_on_slope(0.35, friction)
    assert abs(s.simulate(at, 1.0, method="radau", rtol=1e-6)["f.x_rate"][-1]) < 1e-6
    a = G * (math.sin(0.35) - 0.2 * math.cos(0.35))
    sol = s.simulate({**at, "f.x_rate": 0.5}, 1.0, rtol=1e-6, max_step=2e-3)
    np.testing.assert_allclose(sol["f.x_rate"][-1] - 0.5, a, rtol=5e-3)


def test_rolling_and_spinning_end_by_their_resistance() -> None:
    """A ball that rolls is slowed by ρ g/(7/5 r) …, one that spins on the spot by σ m g/(2/5 m r²)."""
    m = jd.Model("ball")
    m.ground.shapes.append(jd.plane())
    ball = m.body("ball", shape=jd.sphere(0.05, density=1000.0))
    m.free("f", m.ground, ball)
    law = jd.contact.hunt_crossley(
        stiffness=1e5, exponent=1.0, damping=1.0, friction=jd.contact.regularised(0.6, 1e-4), rolling=1e-3, spinning=5e-4
    )
    m.contact("floor", ball, m.ground, law=law)
    s = m.compile()
    mass = float(ball.mass)
    rest = 0.05 - mass * G / 1e5
    sol = s.simulate({"f.z": rest, "f.x_rate": 1.0, "f.orientation.omega_y": 20.0}, 1.0, rtol=1e-7, max_step=1e-2)
    np.testing.assert_allclose(1.0 - sol["f.x_rate"][-1], 1e-3 / 0.05 * G / 1.4, rtol=2e-2)
    sol = s.simulate({"f.z": rest, "f.orientation.omega_z": 20.0}, 1.0, rtol=1e-7, max_step=1e-2)
    np.testing.assert_allclose(20.0 - sol["f.orientation.omega_z"][-1], 5e-4 * G / (0.4 * 0.05**2), rtol=1e-3)


def test_stiffer_surfaces_tend_to_the_rigid_ones() -> None:
    """A ball thrown flat on a floor with friction: the end of sliding and 5/7 of the speed, error falling with the depth."""
    rigid, errors = 5.0 / 7.0, []
    for K in (1e4, 1e5, 1e6):
        m = jd.Model("ball")
        m.ground.shapes.append(jd.plane())
        ball = m.body("ball", shape=jd.sphere(0.05, density=1000.0))
        m.free("f", m.ground, ball)
        m.contact(
            "floor",
            ball,
            m.ground,
            law=jd.contact.hunt_crossley(stiffness=K, exponent=1.0, damping=1.0, friction=jd.contact.regularised(0.5, 1e-5)),
        )
        sol = m.compile().simulate({"f.z": 0.05, "f.x_rate": 1.0}, 0.6, rtol=1e-8, atol=1e-10)
        errors.append(abs(float(sol["f.x_rate"][-1]) - rigid))
    assert errors[0] > 3.0 * errors[1] > 9.0 * errors[2]
    assert errors[2] < 2e-4


# -- many bodies --------------------------------------------------------------------------------------------------


@functools.cache
def three_in_space() -> jd.System:
    m = jd.Model("three", gravity=(0, 0, 0))
    for name, shape in (
        ("ball", jd.sphere(0.1, density=1000.0)),
        ("box", jd.box(0.2, 0.16, 0.12, density=800.0)),
        ("rod", jd.capsule(0.05, 0.3, density=900.0)),
    ):
        m.free(name, m.ground, m.body(name, shape=shape))
    m.contact("all", law=jd.contact.flores(0.6, stiffness=2e4, exponent=1.0, friction=jd.contact.bristle(0.4, 1e4, 5.0)))
    return m.compile()


def momenta(s: jd.System, sol: jd.Solution, k: int) -> np.ndarray:
    total = np.zeros(6)
    for name, body in s.model.bodies.items():
        state = s.state({n: float(sol[n][k]) for n in (*s.coordinate_names, *s.velocity_names)})
        frame = s.function("frame", path=name)
        position, R, v, *_ = frame(state.q, state.v, np.zeros(s.nv))
        mass = float(body.mass)
        xx, yy, zz, xy, xz, yz = (float(e) for e in body.inertia.entries)
        I = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        total[:3] += mass * v[:3]
        total[3:] += np.cross(position, mass * v[:3]) + R @ I @ R.T @ v[3:]
    return total


@settings(max_examples=8, deadline=None)
@given(st.lists(st.floats(-1.0, 1.0), min_size=12, max_size=12))
def test_momenta_are_kept_and_books_close(x: list[float]) -> None:
    s = three_in_space()
    given = {
        "ball.x": -0.35,
        "ball.y": 0.02 * x[0],
        "rod.x": 0.4,
        "rod.z": 0.02 * x[1],
        "ball.x_rate": 1.0 + 0.5 * x[2],
        "rod.x_rate": -1.0 + 0.5 * x[3],
    }
    given |= {f"{b}.orientation.omega_{c}": 2.0 * x[4 + i] for i, (b, c) in enumerate((b, c) for b in ("ball", "rod") for c in "xyz")}
    sol = s.simulate(given, 0.6, rtol=1e-8, atol=1e-10)
    assert sol["contacts.acting"].max() > 0
    before, after = momenta(s, sol, 0), momenta(s, sol, -1)
    np.testing.assert_allclose(after, before, atol=1e-6 * (1.0 + np.abs(before).max()))
    forces = sum(sol[f"all.{b}.force"] for b in s.model.bodies)
    np.testing.assert_allclose(forces, 0.0, atol=1e-9 * np.abs(sol["all.ball.force"]).max(initial=1.0))
    assert abs(sol["energy.error"][-1]) < 1e-4 * sol["energy.kinetic"][0]
    assert sol["contacts.dissipated"][-1] > -1e-6


def test_giving_way_and_rigid_contacts_act_in_one_run() -> None:
    """A ball on a rigid floor holds another by an elastic layer: the floor feels both weights."""
    m = jd.Model("stack")
    m.ground.shapes.append(jd.plane())
    bodies = []
    for k in range(2):
        bodies.append(m.body(f"b{k}", shape=jd.sphere(0.05, density=1000.0)))
        m.prismatic(f"z{k}", m.ground, bodies[k], axis="z")
    m.contact("floor", bodies[0], m.ground, law=jd.contact.rigid())
    m.contact("layer", bodies[0], bodies[1], law=jd.contact.linear(1e4))
    m.joint_spring(m.joints["z1"], 0.0, damping=20.0)
    sol = m.compile().simulate({"z0.displacement": 0.05, "z1.displacement": 0.15}, 2.0, method="moreau", step=1e-3)
    weight = float(bodies[0].mass) * G
    np.testing.assert_allclose(sol["floor.b0.force"][-1, 2], 2.0 * weight, rtol=1e-6)
    np.testing.assert_allclose(sol["layer.b1.force"][-1], [0, 0, weight], atol=1e-6 * weight)
    np.testing.assert_allclose(sol["layer.b0.force"][-1], [0, 0, -weight], atol=1e-6 * weight)


def test_driven_bodies_push() -> None:
    """A body that is driven against a ball: ∂ẋ/∂t holds the change of the force."""
    m = jd.Model("piston", gravity=(0, 0, 0))
    wall = m.body("wall", shape=jd.box(0.1, 0.4, 0.4, density=1000.0))
    m.prismatic("drive", m.ground, wall, axis="x")
    m.drive(m.joints["drive"], lambda t: 0.1 * jd.sin(3.0 * t))
    ball = m.body("ball", shape=jd.sphere(0.05, density=1000.0))
    m.prismatic("x", m.ground, ball, axis="x")
    m.contact("push", wall, ball, law=jd.contact.hunt_crossley(stiffness=2e3, exponent=1.0, damping=1.0))
    s = m.compile()
    found = [
        s.simulate({"x.displacement": 0.1}, 1.0, **run)["x.displacement"][-1]
        for run in ({"rtol": 1e-10}, {"method": "radau", "rtol": 1e-9}, {"method": "rosenbrock2", "step": 2e-4})
    ]
    np.testing.assert_allclose(found, found[0], atol=2e-5)


def test_a_table_tells_who_touches_whom_and_where() -> None:
    s = block_on_slope(0.2, 0.5)
    sol = s.simulate({"f.z": 0.05 - 1e-4}, 0.5)
    touches = sol.contacts.at(0.5)
    assert len(touches) == 4
    assert {t.body_a for t in touches} | {t.body_b for t in touches} == {"block", "ground"}
    total = sum(t.force * (1 if t.body_a == "block" else -1) for t in touches)
    np.testing.assert_allclose(total, sol["floor.block.force"][-1], atol=1e-9)
    assert "4 contacts at most" in sol.contacts.summary()
    with pytest.raises(InputError, match="outside of the run"):
        sol.contacts.at(2.0)


# -- memories, restarts, files ------------------------------------------------------------------------------------


def test_a_run_goes_on_as_if_it_had_never_stopped() -> None:
    s = three_in_space()
    given = {
        "ball.x": -0.35,
        "rod.x": 0.4,
        "ball.x_rate": 1.2,
        "rod.x_rate": -0.8,
        "rod.orientation.omega_y": 1.0,
        "ball.orientation.omega_z": 2.0,
    }
    whole = s.simulate(given, 0.4, method="rk4", step=5e-4)
    parts = s.simulate(s.simulate(given, 0.19, method="rk4", step=5e-4), (0.19, 0.4), method="rk4", step=5e-4)
    for name in (*s.coordinate_names, "all.point1.approach", "all.point1.bristle_x"):
        assert whole[name][-1] == parts[name][-1], name
    stepper = s.stepper(s.state(given), step=5e-4, method="rk4", outputs=["ball.x"])
    for _ in range(800):
        stepper.advance()
    assert float(stepper.state["ball.x"]) == whole["ball.x"][-1]


def test_files_and_sub_models_keep_the_law(tmp_path: Path) -> None:
    m = jd.Model("laws")
    m.ground.shapes.append(jd.plane())
    k, steel = m.parameter("k", 2e5, "N/m"), m.material("steel", 200e9, 0.28, 7800.0)
    laws = [
        jd.contact.linear(k), jd.contact.kelvin_voigt(k, 10.0, friction=0.2), jd.contact.hertz((steel, jd.structures.STEEL)),
        jd.contact.hertz(steel, friction=jd.contact.bristle(0.4, 1e5, 10.0, static=0.5)), jd.contact.flores(0.5, stiffness=1e6, exponent=1.2),
        jd.contact.hunt_crossley(stiffness=1e6, damping=0.3, rolling=0.01), jd.contact.lankarani_nikravesh(0.9, material=steel, spinning=0.01),
        jd.contact.own(lambda d, r, a: k * d * (1 + 0.2 * jd.tanh(r)) + 3 * d**2 / jd.maximum(a, 0.1)), jd.contact.rigid(0.2, 0.3),
    ]  # fmt: skip
    for i, law in enumerate(laws):
        body = m.body(f"b{i}", shape=jd.sphere(0.05, density=1000.0))
        m.free(f"f{i}", m.ground, body)
        m.contact(f"floor{i}", body, m.ground, law=law)
    m.output("push", 2.0 * m.inputs["floor0.b0.Fz"].symbol)
    m.save(tmp_path / "laws.toml")
    again = jd.load_model(tmp_path / "laws.toml")
    assert list(again.inputs) == list(m.inputs)
    for name, contact in m.contacts.items():
        mine, other = contact.law, again.contacts[name].law
        assert str(mine) == str(other), name
        if contact.gives_way:
            assert {w: float(e) for w, e in mine.constants().items() if e.is_number} == {
                w: float(e) for w, e in other.constants().items() if e.is_number
            }
            assert mine.normal.materials == other.normal.materials
    del m.contacts["floor8"], again.contacts["floor8"]
    runs = [x.compile().simulate({f"f{i}.z": 0.06 for i in range(9)}, 0.1, rtol=1e-6) for x in (m, again)]
    np.testing.assert_array_equal(runs[0]["push"], runs[1]["push"])

    part, whole = jd.Model("part"), jd.Model("whole")
    balls = [part.body(f"b{i}", shape=jd.sphere(0.05, density=1000.0)) for i in range(2)]
    for i, b in enumerate(balls):
        part.free(f"f{i}", part.ground, b)
    part.contact("pair", *balls, law=jd.contact.flores(0.5, stiffness=1e5))
    whole.include(part, "p")
    at = {"p.f0.z": 0.1, "p.f0.z_rate": -1.0}
    sol = whole.compile().simulate(at, 0.1)
    assert sol["p.pair.p.b0.force"][:, 2].max() > 1.0


# -- what refuses -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: jd.contact.hertz(stiffness=1e6, friction=-0.1), "friction mu = -0.1 must not be negative"),
        (lambda: jd.contact.flores(1.2, stiffness=1e6), "restitution = 1.2 must lie between 0"),
        (lambda: jd.contact.flores(0.0, stiffness=1e6), "restitution = 0 must lie between 0"),
        (lambda: jd.contact.hertz(), "give either stiffness= .* or material="),
        (lambda: jd.contact.hunt_crossley(stiffness=1e6), "either damping= .* or restitution="),
        (lambda: jd.contact.linear(-1.0), "stiffness = -1 must be positive"),
        (lambda: jd.contact.hunt_crossley(stiffness=1.0, damping=0.1, exponent=0.5), "exponent = 0.5 must be at least 1"),
        (lambda: jd.contact.hertz(material="steel"), "must be one or a pair of"),
        (lambda: jd.contact.own(3.0), "is not a function of depth"),
        (lambda: jd.contact.bristle(0.3, 0.0), "friction stiffness = 0 must be positive"),
    ],
)
def test_laws_that_no_surface_has_are_refused(make: Any, told: str) -> None:
    with pytest.raises(JourdainError, match=told):
        make()


def test_models_refuse_what_they_cannot_do() -> None:
    m = jd.Model("m")
    m.ground.shapes.append(jd.plane())
    box = m.body("box", shape=jd.box(0.1, 0.1, 0.1, density=1000.0))
    ball = m.body("ball", shape=jd.sphere(0.1, density=1000.0))
    m.free("f", m.ground, box)
    m.fixed("on", box, ball)
    with pytest.raises(ModelError, match="'box' .*box.* may touch another flat face"):
        m.contact("floor", box, m.ground, law=jd.contact.hertz(jd.structures.STEEL))
    with pytest.raises(ModelError, match="'box' and 'ball' are fixed to each other"):
        m.contact("both", box, ball, law=jd.contact.linear(1e5))
    bad = m.parameter("bad", -1.0)
    m.contact("floor", box, m.ground, law=jd.contact.linear(bad))
    s = m.compile()
    with pytest.raises(InputError, match="stiffness = -1 must be positive"):
        s.simulate({}, 0.1)
    s.set_parameters(bad=1e5)
    with pytest.raises(InputError, match=r"'floor.box.Fz' is the force of a contact"):
        s.simulate({}, 0.1, inputs={"floor.box.Fz": 1.0})
    with pytest.raises(InputError, match="symbolic_linearisation knows no contacts"):
        s.symbolic_linearisation()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        a = s.accelerations({"f.z": 0.05 - 1e-3})
    mass = sum(float(b.mass) for b in (box, ball))
    np.testing.assert_allclose(a[2] if len(a) == 6 else a[-1], 4 * 1e5 * 1e-3 / mass - G, rtol=1e-9)


def test_results_are_kept_apart_by_laws_and_shapes() -> None:
    """Equations are the same whatever the law: what is kept under a system's name must not be."""
    from jourdain.model.contact.methods import contact_digest

    def digest(K: float, radius: float) -> str:
        m = jd.Model("ball")
        ball = m.body("ball", mass=1.0, inertia=(1, 1, 1), shape=jd.sphere(radius))
        m.free("f", m.ground, ball)
        m.contact("floor", ball, m.ground, law=jd.contact.linear(K))
        return contact_digest(m)

    assert digest(1e5, 0.05) == digest(1e5, 0.05)
    assert len({digest(1e5, 0.05), digest(2e5, 0.05), digest(1e5, 0.06)}) == 3
    assert contact_digest(jd.Model("none")) == ""


@pytest.mark.parametrize("formulation", ["recursive", "semi-recursive", "cartesian"])
def test_bristles_stand_upright_before_they_touch(formulation: str) -> None:
    """A ball that comes down straight on a rough floor, far from the origin: near its landing nothing draws it aside."""
    m = jd.Model("landing", gravity=(0, 0, -9.81))
    ball = m.body("ball", mass=1.0, inertia=(0.004,) * 3)
    ball.add_collision(jd.sphere(0.1), "ball")
    m.sequence("free", m.ground.at(3.0, 2.0, 0.102), ball, ["Tx", "Ty", "Tz"])
    m.contact(
        "floor",
        m.shapes("ball"),
        m.ground,
        law=jd.contact.hunt_crossley(stiffness=1e5, damping=0.2, exponent=1.0, friction=jd.contact.bristle(1.0, 1e5, 10.0)),
    )
    for options in ({}, {"max_step": 1e-3}, {"method": "rk4", "step": 2e-4}):
        sol = m.compile(formulation=formulation).simulate(None, 0.2, **options)
        assert sol["contacts.acting"].max() == 1.0
        assert max(np.abs(sol[f"free.{x}"]).max() for x in "xy") < 1e-12
