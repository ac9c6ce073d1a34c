"""Contacts by penalty of bodies by directors: energy and momenta to rounding, what is lost is booked, and the motion is that of joint coordinates."""

from __future__ import annotations

import math
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import pytest

import jourdain as jd
from jourdain.errors import InputError

G = 9.81
SHAPES: dict[str, Any] = {
    "sphere": jd.sphere(0.05, density=1e3),
    "box": jd.box(0.1, 0.08, 0.06, density=1e3),
    "capsule": jd.capsule(0.1, 0.03, density=1e3),
    "cylinder": jd.cylinder(0.04, 0.1, density=1e3),
    "cone": jd.cone(0.05, 0.02, 0.1, density=1e3),
    "ellipsoid": jd.ellipsoid(0.06, 0.04, 0.05, density=1e3),
    "torus": jd.torus(0.06, 0.02, density=1e3),
}


def two(a: str, b: str, law: Any) -> tuple[jd.Model, dict[str, float]]:
    """Two bodies that meet in space, turned and turning at random."""
    rng = np.random.default_rng(1000 + list(SHAPES).index(a) * 7 + list(SHAPES).index(b))
    m = jd.Model("two", gravity=(0, 0, 0))
    start = {"a.x": -0.1, "b.x": 0.1, "a.x_rate": 0.6, "b.x_rate": -0.6, "a.y": 0.01, "b.z": 0.012}
    for n, s in (("a", a), ("b", b)):
        m.free(n, m.ground, m.body(f"body_{n}", shape=SHAPES[s]))
        e = rng.normal(size=4)
        start |= {f"{n}.orientation.e{i}": float(x) for i, x in enumerate(e / np.linalg.norm(e))}
        start |= {f"{n}.orientation.omega_{c}": float(w) for c, w in zip("xyz", rng.normal(size=3), strict=True)}
    m.contact("touch", law=law)
    return m, start


@pytest.mark.parametrize(("a", "b"), list(combinations_with_replacement(SHAPES, 2)))
def test_every_shape_keeps_energy_and_momenta(a: str, b: str) -> None:
    m, start = two(a, b, jd.contact.hertz(stiffness=2e6))
    sol = m.compile(formulation="directors").simulate(start, 0.3, step=1e-3)
    assert sol["contacts.depth"].max() > 1e-4  # they did meet
    total = sol["step.energy.total"]
    assert np.ptp(total + sol["step.energy.dissipated"]) < 1e-9 * total[0]
    assert np.ptp(total) < (1e-9 if "cone" not in (a, b) else 1e-6) * total[0]  # the normal jumps at the edge of a cone
    for word in ("linear", "angular"):
        p = sol[f"step.momentum.{word}"]
        assert np.abs(p - p[0]).max() < 1e-12


@pytest.mark.parametrize(("a", "b"), [("sphere", "sphere"), ("box", "capsule"), ("cone", "torus")])
def test_what_is_lost_is_booked_and_is_that_of_joint_coordinates(a: str, b: str) -> None:
    m, start = two(a, b, jd.contact.hunt_crossley(stiffness=2e6, damping=0.3, friction=0.3))
    exact = m.compile().simulate(start, 0.3, rtol=1e-9, atol=1e-11)
    s, errors = m.compile(formulation="directors"), []
    for h in (4e-4, 1e-4):
        sol = s.simulate(start, 0.3, step=h)
        balance = sol["step.energy.total"] + sol["step.energy.dissipated"]
        assert np.ptp(balance) < 1e-8 * balance[0]
        assert np.diff(sol["step.energy.dissipated"]).min() > -1e-12
        errors.append(abs(sol["step.energy.dissipated"][-1] - exact["contacts.dissipated"][-1]))
    assert errors[0] < 0.03 * exact["contacts.dissipated"][-1]
    assert errors[1] < 0.3 * errors[0]


@pytest.mark.parametrize("method", ["energy-momentum", "midpoint"])
@pytest.mark.parametrize("kept", [{}, {"outputs": 31}])
def test_energy_books_are_those_of_the_steps(method: str, kept: dict[str, int]) -> None:
    """A contact that lasts some steps has no powers between them that could be integrated: one booking, whichever rows are kept."""
    m, start = two("sphere", "sphere", jd.contact.hunt_crossley(stiffness=2e6, damping=0.3, friction=0.3))
    sol = m.compile(formulation="directors").simulate(start, 0.3, method, step=1e-3, **kept)
    for name in ("energy.dissipated", "contacts.dissipated"):
        np.testing.assert_allclose(sol[name], sol["step.energy.dissipated"], atol=1e-15)
    assert sol["contacts.dissipated"][-1] > 1e-3 * sol["energy.kinetic"][0]
    # kinetic energy by rates of joints is that of directors whose rates keep their constraints to the order of the step alone
    joints = sol["energy.total"] + sol["contacts.stored"] - sol["step.energy.total"]
    assert np.abs(sol["energy.error"] - joints).max() < 1e-12 * sol["energy.kinetic"][0]
    assert np.abs(joints).max() < 1e-6 * sol["energy.kinetic"][0]


def bouncing(law: Any) -> jd.Model:
    m = jd.Model("ball")
    m.ground.shapes.append(jd.plane())
    m.free("f", m.ground, m.body("ball", shape=jd.sphere(0.05, density=1e3)))
    m.contact("floor", law=law)
    return m


BALL = {"f.z": 0.2, "f.x_rate": 1.0, "f.orientation.omega_x": 3.0}


@pytest.mark.parametrize("reduction", ["none", "projection", "bodies", "joints"])
def test_steps_tend_to_the_run_in_joint_coordinates_with_order_two(reduction: str) -> None:
    m = bouncing(jd.contact.hertz(stiffness=1e6))
    exact = m.compile().simulate(BALL, 0.5, rtol=1e-10, atol=1e-12)["f.z"][-1]
    s = m.compile(formulation="directors", reduction=reduction)
    errors = []
    for h in (1e-3, 5e-4, 2.5e-4):
        sol = s.simulate(BALL, 0.5, step=h)
        errors.append(abs(sol["f.z"][-1] - exact))
        assert np.ptp(sol["step.energy.total"]) < 1e-12
    assert errors[-1] < 2e-5
    assert 3.5 < errors[0] / errors[1] < 4.5 and 3.5 < errors[1] / errors[2] < 4.5


@pytest.mark.parametrize("method", ["midpoint", "trapezoidal", "generalized-alpha", "hht", "newmark", "backward-euler"])
def test_other_schemes_tend_to_the_same_motion(method: str) -> None:
    m = bouncing(jd.contact.hertz(stiffness=1e6, friction=0.2))
    exact = m.compile().simulate(BALL, 0.3, rtol=1e-10, atol=1e-12)["f.z"][-1]
    s = m.compile(formulation="directors")
    errors = [abs(s.simulate(BALL, 0.3, method, step=h)["f.z"][-1] - exact) for h in (4e-4, 1e-4)]
    assert errors[1] < 0.35 * errors[0]
    assert errors[1] < (2e-5 if method != "backward-euler" else 2e-2)


def test_a_scheme_that_knows_no_contacts_says_so() -> None:
    with pytest.raises(InputError, match="'variational' knows no contacts"):
        bouncing(jd.contact.linear(1e5)).compile(formulation="directors").simulate(BALL, 0.1, "variational", step=1e-3)


def test_bristles_hold_a_block_without_creeping() -> None:
    m = jd.Model("slope", gravity=(G * math.sin(0.3), 0.0, -G * math.cos(0.3)))
    m.ground.shapes.append(jd.plane())
    m.free("f", m.ground, m.body("block", shape=jd.box(0.2, 0.1, 0.1, density=1e3)))
    m.contact("floor", law=jd.contact.kelvin_voigt(1e5, 500.0, friction=jd.contact.bristle(0.5, 1e5, 300.0)))
    sol = m.compile(formulation="directors").simulate({"f.z": 0.0498}, 2.0, step=2e-3)
    late = sol.t > 1.5
    assert np.ptp(sol["f.x"][late]) < 1e-9
    weight = 2.0 * G * np.array([-math.sin(0.3), 0.0, math.cos(0.3)])
    np.testing.assert_allclose(sol["floor.block.force"][-1], weight, atol=1e-5)


def test_a_linkage_with_a_law_of_ones_own_strikes_a_wall() -> None:
    """Nothing is known of the energy of such a law: its work is booked as lost, and comes back."""
    m = jd.Model("pendulum")
    m.ground.shapes.append(jd.plane("x"))
    arms = [m.body(n, mass=1.0, com=(0, 0, -0.1), inertia=(0.01, 0.01, 0.002)) for n in ("upper", "lower")]
    arms[1].shapes.append(jd.sphere(0.02).at(0, 0, -0.2))
    m.revolute("first", m.ground.at(0.05, 0, 0), arms[0], axis="y")
    m.revolute("second", arms[0].at(0, 0, -0.2), arms[1], axis="y")
    m.contact("wall", arms[1], m.ground, law=jd.contact.own(lambda d, rate, approach: 5e4 * d * (1.0 + 0.2 * rate)))
    start = {"first.angle": -0.6, "second.angle": 0.1}
    exact = m.compile().simulate(start, 0.5, rtol=1e-10, atol=1e-12)
    assert exact["contacts.depth"].max() > 1e-3
    for reduction in ("none", "joints"):
        s, errors = m.compile(formulation="directors", reduction=reduction), []
        for h in (1e-3, 2.5e-4):
            sol = s.simulate(start, 0.5, step=h)
            errors.append(abs(sol["first.angle"][-1] - exact["first.angle"][-1]))
            assert np.ptp(sol["step.energy.total"] + sol["step.energy.dissipated"]) < 1e-10
        assert errors[1] < 0.2 * errors[0] and errors[1] < 1e-3


def test_a_ball_bounces_down_a_roof_of_triangles_and_keeps_its_energy() -> None:
    """Two slopes that meet in a ridge."""
    top = [(-0.6, -0.3, 0.0), (0.6, -0.3, 0.0), (0.6, 0.3, 0.0), (-0.6, 0.3, 0.0), (0.0, -0.3, 0.2), (0.0, 0.3, 0.2)]
    cells = [(0, 4, 3), (4, 5, 3), (4, 1, 5), (1, 2, 5), (0, 1, 4), (2, 3, 5), (0, 3, 1), (1, 3, 2)]
    m = jd.Model("roof")
    m.ground.shapes.append(jd.mesh((np.array(top), np.array(cells)), repair=True))
    m.free("f", m.ground, m.body("ball", shape=jd.sphere(0.05, density=1e3)))
    m.contact("floor", law=jd.contact.linear(2e4))
    sol = m.compile(formulation="directors").simulate({"f.z": 0.35, "f.x": 0.05, "f.y_rate": 0.1}, 0.5, step=1e-3)
    assert sol["contacts.depth"].max() > 1e-4
    assert np.ptp(sol["step.energy.total"]) < 1e-10


def test_runs_go_on_and_are_held_open() -> None:
    m = bouncing(jd.contact.flores(0.7, stiffness=1e6, friction=jd.contact.bristle(0.3, 1e4, 10.0)))
    s = m.compile(formulation="directors")
    whole = s.simulate(BALL, 0.4, step=1e-3)
    parts = s.simulate(s.simulate(BALL, 0.2, step=1e-3), (0.2, 0.4), step=1e-3)
    assert whole["floor.point1.approach"].max() > 0.5
    for name in ("f.z", "f.x", "f.orientation.omega_y", "floor.point1.approach"):
        np.testing.assert_allclose(parts[name][-1], whole[name][-1], rtol=0, atol=1e-10)
    stepper = s.stepper(s.state(BALL), step=1e-3)
    for _ in range(400):
        stepper.advance()
    np.testing.assert_allclose(float(stepper.state["f.z"]), whole["f.z"][-1], atol=1e-10)


def test_what_passes_within_a_step_is_not_missed() -> None:
    """A fast ball and a thin wall: steps are cut where it would be through."""
    m = jd.Model("shot", gravity=(0, 0, 0))
    m.ground.shapes.append(jd.box(0.02, 1.0, 1.0))
    m.free("f", m.ground, m.body("ball", shape=jd.sphere(0.02, density=1e3)))
    m.contact("wall", law=jd.contact.linear(1e7))
    sol = m.compile(formulation="directors").simulate({"f.x": -0.5, "f.x_rate": 50.0}, 0.02, step=5e-3)
    assert sol["f.x_rate"][-1] < -49.0
    assert np.ptp(sol["step.energy.total"]) < 1e-9
