"""Linear systems against differences of the simulated right-hand side, hand-written matrices and closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jourdain as jd
from jourdain.analysis.equations.residual import Point, Residual
from jourdain.analysis.linearise import linearise
from jourdain.formalisms.tree.derivatives import recursive_derivatives
from tests.analysis.mechanisms import FOUR_BAR_GUESS, central_differences, four_bar, pendulum, reduced_rates, spatial_loop
from tests.formalisms.strategies import error, matrix_of, random_state, random_trees, values


def agree(system, state, u=None, tolerance=2e-7):
    linear = linearise(system, state, u=u)
    rates = reduced_rates(system, linear, state.x, state.t, u)
    expected = central_differences(rates, len(linear.states))
    np.testing.assert_allclose(linear.A, expected, rtol=tolerance, atol=tolerance * max(1.0, np.abs(expected).max()))
    if system.nu:
        for j, name in enumerate(linear.inputs):
            values = dict(zip(system.model.inputs, system.input_values(u), strict=True))
            up = reduced_rates(system, linear, state.x, state.t, values | {name: values[name] + 0.5})
            down = reduced_rates(system, linear, state.x, state.t, values | {name: values[name] - 0.5})
            zero = np.zeros(len(linear.states))
            np.testing.assert_allclose(linear.B[:, j], up(zero) - down(zero), atol=1e-8)
    return linear


@settings(max_examples=12)
@given(random_trees(max_bodies=4), st.integers(0, 10**6))
def test_derivatives_equal_the_recursive_ones(model, seed):
    """Tangents of the graph against the analytic recursion for ∂φ/∂q, ∂φ/∂v and M, another algorithm altogether."""
    system = model.compile(check=False)
    tree = system.equations_of_motion.tree
    q, v, a = random_state(tree, np.random.default_rng(seed))
    residual = Residual(system)
    point = Point(0.7, q, v, a, np.zeros(0), np.zeros(0), np.zeros(0))
    found = residual.derivatives(point)
    expected = [matrix_of(table, values(model, tree, q, v, a, 0.7)) for table in recursive_derivatives(tree)]
    for key, matrix in zip(("rq", "rv", "ra"), expected, strict=True):
        assert error(found[key], matrix, 1.0) < 1e-11


def test_tree_with_springs_and_time(rng):
    m = jd.Model("arm")
    first = m.body("first", mass=2.0, com=(0.1, 0.2, -0.4), inertia=(0.1, 0.2, 0.15, 0.01, 0.0, 0.02))
    second = m.body("second", mass=1.0, com=(0.0, 0.1, -0.3), inertia=(0.05, 0.04, 0.03))
    a = m.universal("a", m.ground, first)
    b = m.prismatic("b", first.at(0, 0, -0.8), second, axis=(1, 2, 2))
    tau = m.input("tau")
    m.force(b, lambda x, v, t: -30 * x - 2 * v - 5 * x**3 + tau * jd.cos(t))
    m.spring("s", m.ground.at(1, 0, 0), second, stiffness=20.0, length=0.3)
    assert a
    s = m.compile()
    for _ in range(3):
        q, v = rng.normal(size=3), rng.normal(size=3)
        agree(s, s.state().with_values(q=q, v=v, t=0.7), {"tau": 3.0})


def test_loop_in_motion():
    s = four_bar()
    state = s.assemble({"A.angle": 0.8}, guess=FOUR_BAR_GUESS, velocities={"A": 3.0})
    linear = agree(s, state, {"motor": 2.0})
    assert len(linear.states) == 2
    assert linear.outputs == ["power", "height"]
    # power = motor · rate of the crank, at motor = 2 and rate 3
    j = linear.states.index("A.angle_rate") if "A.angle_rate" in linear.states else None
    if j is not None:
        assert linear.C[0, j] == pytest.approx(2.0)
    assert linear.D[0, 0] == pytest.approx(3.0)


def test_independent_coordinate_can_be_chosen():
    s = four_bar()
    state = s.assemble({"A.angle": 0.8}, guess=FOUR_BAR_GUESS)
    eigen = []
    for name in ("A", "B", "C"):
        linear = linearise(s, state, preferred=[name], u={"motor": 0.0})
        assert linear.states[0] == f"{name}.angle"
        eigen.append(linear)
    # outputs are the same transfer functions whatever coordinate was chosen only at equilibrium; D never changes
    np.testing.assert_allclose(eigen[0].D, eigen[1].D)


def test_quaternion_body_tumbling(rng):
    m = jd.Model("body on springs")
    body = m.body("body", mass=3.0, inertia=(0.3, 0.2, 0.4), com=(0.05, 0.0, 0.02))
    m.free("free", m.ground, body)
    for i, (x, y, z) in enumerate([(1, 0, 0), (0, 1, 0), (0, 0, 1), (-1, -1, 0.3)]):
        m.spring(
            f"s{i}", m.ground.at(2 * x, 2 * y, 2 * z), body.at(0.3 * x, 0.2 * y, 0.4 * z), stiffness=50.0 + 10 * i, length=0.5, damping=1.0
        )
    s = m.compile()
    q = s.configuration.random(rng)
    agree(s, s.state().with_values(q=q, v=rng.normal(size=6)))


def test_ball_joint_loop_with_quaternion(rng):
    s = spatial_loop().compile()
    state = s.assemble({"arm.angle": 0.2}, velocities={"arm": 0.5, "ball.orientation.omega_x": 1.0})
    linear = agree(s, state, tolerance=1e-6)
    assert linear.dof == 3


def test_turns_of_quaternions_have_names_of_their_own():
    """Each state, and each output, has one name and one row; a law of the states of a quaternion is refused, and not read from its angular velocities."""
    m = jd.Model("top")
    top = m.body("top", mass=1.0, inertia=(0.1, 0.2, 0.3))
    m.spherical("ball", m.ground, top.at(0, 0, 0.5))
    m.load("motors", top, torque=[m.input(f"motor_{x}", unit="N m") for x in "xyz"])
    s = m.compile()
    linear = s.linearise(s.state().with_values(v=np.array([0.3, -0.2, 0.9])))
    turns, speeds = ([f"ball.orientation.{kind}_{x}" for x in "xyz"] for kind in ("turn", "omega"))
    assert linear.states == [*turns, *speeds] == linear.outputs
    assert linear.C.tolist() == np.eye(6).tolist()
    read = s.linearise(outputs=["ball.orientation.omega_y", "ball.orientation.turn_z"])
    assert read.C.tolist() == np.eye(6)[[4, 2]].tolist()
    spun = np.array([[0, 0.9, 0.2], [-0.9, 0, 0.3], [-0.2, -0.3, 0]])  # d(turn)/dt = δω − ω × turn in the axes of the body
    np.testing.assert_allclose(linear.A[:3], np.hstack([spun, np.eye(3)]), atol=1e-12)
    with pytest.raises(jd.InputError, match=r"'ball.orientation.turn_x' is no number that can be read"):
        s.linearise().lqr(np.eye(6), np.eye(3)).laws()


def test_nonholonomic_sleigh():
    m = jd.Model("sleigh")
    body = m.body("sleigh", mass=2.0, com=(0.3, 0, 0), inertia=(0.1, 0.2, 0.3))
    m.planar("plane", m.ground, body, plane="xy")
    blade = m.sensor("blade", body)
    R, v = blade.rotation, blade.velocity
    m.nonholonomic("knife", R[0, 1] * v[0] + R[1, 1] * v[1])
    s = m.compile()
    state = s.assemble({"plane.angle": 0.4}, velocities={"plane.angle": 0.7, "plane.x": 1.0})
    linear = agree(s, state)
    assert len(linear.states) == 5


def test_pid_pendulum_is_the_hand_written_closed_loop():
    kp, ki, kd, g, l, mass = 40.0, 15.0, 6.0, 9.81, 0.8, 1.3
    m, hinge = pendulum(l, mass)
    target = m.input("target")
    e = m.state("integral")
    m.rate(e, target - hinge.position)
    # upright: the pendulum stands on its hinge at angle π
    m.force(hinge, lambda x, v, t: kp * (target - x) + ki * e - kd * v)
    s = m.compile()
    linear = linearise(s, {"hinge": np.pi, "integral": 0.0}, u={"target": np.pi}, outputs=["hinge.angle", "integral"])
    inertia = mass * l**2
    A = np.array([[0, 1, 0], [(mass * g * l - kp) / inertia, -kd / inertia, ki / inertia], [-1, 0, 0]])
    np.testing.assert_allclose(linear.A, A, rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(linear.B[:, 0], [0, kp / inertia, 1])
    np.testing.assert_allclose(linear.C, [[1, 0, 0], [0, 0, 1]])


def test_forces_that_depend_on_accelerations_add_inertia():
    m, hinge = pendulum(1.0, 1.0)
    m.force(hinge, lambda x, v, t: -0.5 * hinge.acceleration)
    linear = linearise(m.compile(), {"hinge": 0.0})
    assert linear.M[0, 0] == pytest.approx(1.5, rel=1e-14)
    assert linear.A[1, 0] == pytest.approx(-9.81 / 1.5, rel=1e-14)


def test_symbolic_linearisation_of_a_pendulum():
    m, hinge = pendulum(1.0, 2.0)
    k = m.parameter("k", 3.0)
    m.force(hinge, lambda x, v, t: -k * x)
    s = m.compile()
    found = s.symbolic_linearisation({"hinge": 0.0})
    gravity = m.parameter_set["gravity_z"].symbol
    assert jd.evaluate(found["K"][0][0], {k: 3.0, gravity: -9.81}) == pytest.approx(3.0 + 2 * 9.81)
    assert float(found["M"][0][0]) == pytest.approx(2.0)


def test_transfer_function_and_expressions_as_outputs():
    m, hinge = pendulum(1.0, 1.0)
    tau = m.input("tau")
    m.force(hinge, lambda x, v, t: tau - 0.2 * v)
    s = m.compile()
    linear = linearise(s, {}, outputs={"twice": 2.0 * hinge.position + tau})
    f = np.array([0.1, 0.5, 2.0])
    w = 2 * np.pi * f
    expected = 2.0 / (9.81 - w**2 + 0.2j * w) + 1.0
    np.testing.assert_allclose(linear.response(f)[:, 0, 0], expected, rtol=1e-12)


def test_open_loops_are_refused():
    s = four_bar()
    with pytest.raises(jd.InputError, match=r"loop.*assemble"):
        linearise(s, s.state({"A.angle": 0.3}))
    with pytest.raises(jd.InputError, match="no input 'nothing'"):
        linearise(s, s.assemble({"A.angle": 0.8}, guess=FOUR_BAR_GUESS), inputs=["nothing"])


def test_python_control_takes_it():
    control = pytest.importorskip("control")
    m, hinge = pendulum(1.0, 1.0)
    tau = m.input("tau")
    m.force(hinge, lambda x, v, t: tau - 0.2 * v)
    linear = m.compile().linearise({}, outputs=["hinge"])
    found = linear.to_control()
    w = 1.7
    assert complex(control.evalfr(found, 1j * w)) == pytest.approx(1.0 / (9.81 - w**2 + 0.2j * w), rel=1e-12)
    assert found.state_labels == ["hinge_angle", "hinge_angle_rate"]


def test_saved_matrices(tmp_path):
    m, _ = pendulum(1.0, 1.0)
    linear = m.compile().linearise({})
    linear.save(tmp_path / "linear.npz")
    data = np.load(tmp_path / "linear.npz")
    np.testing.assert_array_equal(data["A"], linear.A)
    assert data["states"].tolist() == linear.states
