"""Actuator forces against forward simulation, virtual work and closed forms; over- and under-actuation."""

from __future__ import annotations

import numpy as np
import pytest

import jourdain as jd
from tests.analysis.mechanisms import FOUR_BAR_GUESS, GRAVITY, four_bar, pendulum, right_hand_side


def test_pendulum_closed_form(tmp_path):
    m, hinge = pendulum(0.5, 2.0)
    m.joint_spring(hinge, 3.0, damping=0.4)
    s = m.compile()
    t = np.linspace(0.0, 2.0, 21)
    found = s.inverse_dynamics_along({"hinge": lambda t: 0.7 * jd.sin(3 * t)}, times=t)
    x, v, a = 0.7 * np.sin(3 * t), 2.1 * np.cos(3 * t), -6.3 * np.sin(3 * t)
    np.testing.assert_allclose(found["hinge"], 0.5 * a + 2 * GRAVITY * 0.5 * np.sin(x) + 3 * x + 0.4 * v, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found.power[:, 0], found["hinge"] * v, atol=1e-12)
    found.plot(file=tmp_path / "forces.png")
    assert (tmp_path / "forces.png").stat().st_size > 1000
    assert "hinge.angle.actuator" in found.solution and "hinge.angle" in str(found)


def test_loop_torque_reproduces_the_motion():
    """The motor torque found along a motion, fed to the right-hand side, gives the accelerations of that motion."""
    s = four_bar()
    t = np.linspace(0.0, 0.4, 9)
    motion = s.kinematics(t, {"A": lambda t: 0.8 + 5.0 * t + 3 * t**2}, guess={"A.angle": 0.8, **FOUR_BAR_GUESS})
    by_input = s.inverse_dynamics_along(motion, ["motor"])
    by_joint = s.inverse_dynamics_along(motion, ["A"])
    np.testing.assert_allclose(by_input["motor"], by_joint["A"], rtol=1e-10)
    for k, x in enumerate(t):
        rhs = right_hand_side(s, {"motor": float(by_input["motor"][k])})
        xdot = rhs(float(x), np.concatenate([motion.q[k], motion.v[k]]))
        np.testing.assert_allclose(xdot[s.nq :], motion.a[k], atol=1e-8)
    # the same work whichever joint drives: τ_A v_A = τ_C v_C with all other forces equal
    by_c = s.inverse_dynamics_along(motion, ["C"])
    np.testing.assert_allclose(by_c.power[:, 0], by_joint.power[:, 0], rtol=1e-8)


def test_energy_balance_of_a_driven_loop():
    """Power of the motor = rate of kinetic and potential energy + losses."""
    s = four_bar(spring=False)
    t = np.linspace(0.0, 0.5, 501)
    motion = s.kinematics(t, {"A": lambda t: 0.8 + 6.0 * t}, guess={"A.angle": 0.8, **FOUR_BAR_GUESS})
    found = s.inverse_dynamics_along(motion, ["A"])
    E = np.array([s.energy(q, v).sum() for q, v in zip(motion.q, motion.v, strict=True)])
    supplied = found.power[:, 0] - 0.05 * motion["A.angle_rate"] ** 2
    from scipy.integrate import simpson

    assert simpson(supplied, x=t) == pytest.approx(E[-1] - E[0], rel=1e-7)


def test_multipliers_are_forces_on_the_bodies():
    """A hanging four-bar at rest: the cut joint's force balances the rocker's weight about its hinge."""
    s = four_bar(spring=False)
    state = s.assemble({"A.angle": 0.8}, guess=FOUR_BAR_GUESS)
    found = s.static_forces(state, ["A"])
    M = 1.5 * GRAVITY * 0.3 * np.cos(state["C.angle"])  # moment of the rocker's weight about C
    force = np.array([found["loop[1]"], found["loop[3]"]])
    arm = 0.6 * np.array([np.cos(state["C.angle"]), np.sin(state["C.angle"])])
    moment = arm[0] * force[1] - arm[1] * force[0]
    assert abs(moment) == pytest.approx(M, rel=1e-10)
    assert "loop[1]" in str(found) and "N m" in str(found)


def test_overactuated_takes_the_least_norm():
    s = four_bar()
    state = s.assemble({"A.angle": 0.8}, guess=FOUR_BAR_GUESS)
    single = s.static_forces(state, ["A"])["A"]
    both = s.static_forces(state, ["A", "B", "C"])
    tau = np.array([both[n] for n in "ABC"])
    # directions of the joints for a unit of A
    J = s.function("constraint_velocities")(np.zeros(1), state.q, np.zeros(3))[1]
    z = np.linalg.svd(J)[2][-1]
    z = z / z[0]
    assert tau @ z == pytest.approx(single, rel=1e-10)
    np.testing.assert_allclose(tau, single * z / (z @ z), rtol=1e-9)


def test_underactuated_motion_is_refused_and_a_possible_one_is_not():
    m = jd.Model("cart and pole")
    cart = m.body("cart", mass=2.0)
    pole = m.body("pole", mass=0.5, com=(0, 0, -0.4))
    slide = m.prismatic("cart", m.ground, cart, axis="x")
    m.revolute("pole", cart, pole, axis="y")
    push = m.input("push", 3.0)
    m.force(slide, push)
    s = m.compile()
    t = np.linspace(0.0, 1.0, 11)
    with pytest.raises(jd.SolverError, match=r"under-actuated.*1 of 2 degrees.*'pole.angle'"):
        s.inverse_dynamics_along({"cart": lambda t: t**2, "pole": 0.0}, ["push"], times=t)
    solution = s.simulate({"pole": 0.3}, 1.0, rtol=1e-11, atol=1e-12, outputs=401)
    q = np.column_stack([solution["cart.displacement"], solution["pole.angle"]])
    v = np.column_stack([solution["cart.displacement_rate"], solution["pole.angle_rate"]])
    rhs = right_hand_side(s)
    a = np.array([rhs(0.0, np.concatenate(x))[2:] for x in zip(q, v, strict=True)])
    found = s.inverse_dynamics_along((solution.t, q, v, a), ["push"])
    np.testing.assert_allclose(found["push"], 3.0, rtol=1e-9)


def test_solution_of_a_simulation_gives_back_its_input():
    m, hinge = pendulum(1.0, 1.0)
    tau = m.input("tau", 2.0)
    m.force(hinge, lambda x, v, t: tau - 0.1 * v)
    s = m.compile()
    solution = s.simulate({"hinge": 0.2}, 2.0, rtol=1e-12, atol=1e-13, outputs=401)
    found = s.inverse_dynamics_along(solution)
    np.testing.assert_allclose(found["tau"], 2.0, atol=1e-6)


def test_inputs_that_act_nonlinearly():
    m, hinge = pendulum(1.0, 1.0)
    u = m.input("u", 1.0)
    m.force(hinge, lambda x, v, t: u**3 + u)
    s = m.compile()
    found = s.static_forces({"hinge": 0.5}, ["u"])
    assert found["u"] ** 3 + found["u"] == pytest.approx(GRAVITY * np.sin(0.5), rel=1e-12)


def test_static_forces_of_an_arm_are_the_bias_at_rest(rng):
    m = jd.Model("arm")
    a, b = m.body("a", mass=1.0, com=(0.2, 0.1, 0)), m.body("b", mass=2.0, com=(0.3, 0, 0.1))
    m.universal("u", m.ground, a)
    m.free("f", a.at(0.5, 0, 0), b)
    s = m.compile()
    q = s.configuration.random(rng)
    found = s.static_forces(s.state().with_values(q=q))
    np.testing.assert_allclose(list(found.actuators.values()), s.bias(q, np.zeros(8)), atol=1e-12)


def test_bad_input():
    m, _ = pendulum()
    s = m.compile()
    with pytest.raises(jd.InputError, match="no actuated coordinate or input 'knee'"):
        s.static_forces({}, ["knee"])
    with pytest.raises(jd.InputError, match="give times="):
        s.inverse_dynamics_along({"hinge": lambda t: t})
    with pytest.raises(jd.InputError, match=r"q must have the shape \(2, 1\)"):
        s.inverse_dynamics_along((np.zeros(2), np.zeros((2, 2)), np.zeros((2, 1)), np.zeros((2, 1))))
