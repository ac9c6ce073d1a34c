"""Energy books against closed forms, and their balance on drives, loops, friction, inputs, moving constraints and impacts."""

from __future__ import annotations

import numpy as np
import pytest

import jourdain as jd
from jourdain.library.mechanisms import bouncing_ball

TIGHT = {"method": "dop853", "rtol": 1e-11, "atol": 1e-13}


def slider(name: str = "block", mass: float = 2.0) -> tuple[jd.Model, jd.Joint]:
    m = jd.Model(name, gravity=(0, 0, 0))
    block = m.body("block", mass=mass)
    return m, m.prismatic("x", m.ground, block, axis="x")


def test_damped_oscillator_against_its_closed_form():
    m, x = slider()
    m.joint_spring(x, stiffness=50.0, damping=0.8)
    sol = m.compile().simulate({"x.displacement": 0.3}, 4.0, **TIGHT)
    delta, omega = 0.2, np.sqrt(25.0 - 0.04)
    position = 0.3 * np.exp(-delta * sol.t) * (np.cos(omega * sol.t) + delta / omega * np.sin(omega * sol.t))
    speed = -0.3 * np.exp(-delta * sol.t) * 25.0 / omega * np.sin(omega * sol.t)
    lost = 25.0 * 0.09 - 25.0 * position**2 - speed**2
    assert np.abs(sol["energy.dissipated"] - lost).max() < 1e-10
    assert np.abs(sol["energy.supplied"]).max() == 0.0
    assert np.abs(sol["energy.error"]).max() < 1e-10


def test_coulomb_friction_takes_force_times_distance():
    m, x = slider()
    m.friction(x, coulomb=3.0, smoothing=1e-6)
    s = m.compile()
    sol = s.simulate({"x.displacement_rate": 2.0}, 1.0, **TIGHT)  # it comes to rest after 4/3 s only
    assert sol["energy.dissipated"][-1] == pytest.approx(3.0 * sol["x.displacement"][-1], rel=1e-12)
    assert sol["energy.dissipated"][-1] == pytest.approx(3.0 * (2.0 - 0.75), rel=1e-9)
    assert np.abs(sol["energy.error"]).max() < 1e-10


def test_a_law_of_position_and_velocity_is_split():
    m, x = slider()
    m.force(x, lambda q, v, t: -40.0 * q - 0.5 * v + jd.sin(3 * t))
    sol = m.compile().simulate({"x.displacement": 0.2}, 3.0, **TIGHT)
    fine = sol.at(np.linspace(0, 3, 6001))
    force_free = -40.0 * fine["x.displacement"] + np.sin(3 * fine.t)
    supplied = np.trapezoid(force_free * fine["x.displacement_rate"], fine.t)
    assert sol["energy.supplied"][-1] == pytest.approx(supplied, abs=1e-6)
    assert sol["energy.dissipated"][-1] == pytest.approx(np.trapezoid(0.5 * fine["x.displacement_rate"] ** 2, fine.t), abs=1e-6)
    assert np.abs(sol["energy.error"]).max() < 1e-10


def test_constant_input_supplies_torque_times_angle():
    m = jd.Model("wheel", gravity=(0, 0, 0))
    wheel = m.body("wheel", mass=1.0, inertia=(0.1, 0.1, 0.2))
    hinge = m.revolute("hinge", m.ground, wheel, axis="z", damping=0.05)
    m.force(hinge, m.input("torque", 0.0, unit="N m"))
    sol = m.compile().simulate({}, 3.0, inputs={"torque": 0.7}, **TIGHT)
    assert np.allclose(sol["energy.supplied"], 0.7 * sol["hinge.angle"], atol=1e-10)
    assert sol["energy.dissipated"][-1] > 0.1
    assert np.abs(sol["energy.error"]).max() < 1e-10


def driven_pendulum() -> jd.Model:
    m = jd.Model("shaken pendulum", gravity=(0, -9.81, 0))
    base, bob = m.body("base", mass=3.0), m.body("bob", mass=1.5, com=(0, -0.4, 0), inertia=(0.02, 0.02, 0.02))
    m.drive(m.prismatic("shaker", m.ground, base, axis="x"), lambda t: 0.2 * jd.sin(4 * t))
    m.revolute("hinge", base, bob, axis="z", damping=0.1)
    return m


def test_driven_joint_supplies_what_the_energy_gains():
    sol = driven_pendulum().compile().simulate({"hinge.angle": 0.5}, 3.0, **TIGHT)
    assert np.abs(sol["energy.supplied"]).max() > 0.5  # the drive does visible work
    assert np.abs(sol["energy.error"]).max() < 1e-9


def loop_with_driven_crank(as_constraint: bool) -> jd.Model:
    m = jd.Model("pump", gravity=(0, -9.81, 0))
    crank = m.body("crank", mass=1.0, com=(0.1, 0, 0), inertia=(0, 0.01, 0.01))
    rod, piston = m.body("rod", mass=1.0, com=(0.25, 0, 0), inertia=(0, 0.02, 0.02)), m.body("piston", mass=2.0)
    A = m.revolute("A", m.ground, crank, axis="z")
    m.revolute("B", crank.at(0.2, 0, 0), rod, axis="z")
    S = m.prismatic("S", m.ground, piston, axis="x", damping=20.0)
    m.close("pin", rod.at(0.5, 0, 0), piston, "ball")
    if as_constraint:
        m.constraint("speed", A.position - 3.0 * m.time - 0.1 * jd.sin(2 * m.time))
    else:
        m.drive(A, lambda t: 3.0 * t + 0.1 * jd.sin(2 * t))
    assert S is not None
    return m


@pytest.mark.parametrize("as_constraint", [False, True])
def test_driven_loop_balances_both_ways(as_constraint: bool):
    m = loop_with_driven_crank(as_constraint)
    s = m.compile()
    if as_constraint:
        x0 = s.assemble({"A.angle": 0.0}, velocities={"A.angle": 3.2})
    else:
        x0 = s.assemble()
    sol = s.simulate(x0, 1.0, **TIGHT)
    assert sol["energy.dissipated"][-1] > 1.0
    assert np.abs(sol["energy.error"]).max() < 1e-8


def test_impacts_take_the_restitution_loss():
    ball = bouncing_ball(mass=2.0, restitution=0.8).compile()
    sol = ball.simulate({"height.displacement": 1.0}, 2.0, **TIGHT)  # three impacts
    assert sol["energy.dissipated"][-1] == pytest.approx(2.0 * 9.81 * (1.0 - 0.8**6), rel=1e-9)
    assert np.abs(sol["energy.error"]).max() < 1e-9


def test_books_without_dense_output_follow_the_samples():
    m, x = slider()
    m.joint_spring(x, stiffness=50.0, damping=0.8)
    s = m.compile()
    coarse, fine = (np.abs(s.simulate({"x.displacement": 0.3}, 2.0, outputs=n, **TIGHT)["energy.error"]).max() for n in (41, 81))
    assert fine < 1e-5
    assert coarse / fine > 2**3.5  # cubic Hermite states: fourth order in the spacing


def test_lugre_friction_is_dissipation():
    m, x = slider()
    m.lugre(x, coulomb=2.0, static=3.0, stribeck=0.05, stiffness=2000.0, damping=5.0, viscous=0.1)
    sol = m.compile().simulate({"x.displacement_rate": 1.0}, 0.5, **TIGHT)
    assert np.abs(sol["energy.supplied"]).max() < 1e-12
    assert sol["energy.dissipated"][-1] == pytest.approx(1.0 - sol["energy.kinetic"][-1], abs=1e-8)
