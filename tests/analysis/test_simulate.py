"""Simulations that are interrupted, restarted, sampled, and that fail with words a user can act on."""

from __future__ import annotations

import os
import signal
import threading

import numpy as np
import pytest

import jourdain as jd
from jourdain.analysis.simulate import SimulationError
from jourdain.library.mechanisms import double_pendulum, heavy_top, slider_crank
from jourdain.systems.tree.projected import NativeSystem

TIGHT = {"method": "dop853", "rtol": 1e-12, "atol": 1e-13}
LEVEL = {"shoulder.angle": np.pi / 2}


@pytest.fixture(scope="module")
def pendulum():
    return double_pendulum().compile()


def mass_on_a_rail(law, name="push"):
    m = jd.Model("rail", gravity=(0, 0, 0))
    x = m.prismatic("x", m.ground, m.body("block", mass=1.0), axis="x")
    m.joint_spring(x, stiffness=4.0)
    m.force(x, law, name=name)
    return m.compile()


# -- dense output, times ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["dopri5", "dop853", "adams"])
def test_values_between_steps_come_from_the_method(pendulum, method):
    sol = pendulum.simulate(LEVEL, 2.0, method=method, rtol=1e-9, atol=1e-11)
    times = np.linspace(0.03, 1.97, 23)
    reference = pendulum.simulate(LEVEL, 2.0, times=times, **TIGHT)
    sample = sol.at(times)
    for name in (*pendulum.coordinate_names, *pendulum.velocity_names, "energy.kinetic"):
        assert np.abs(sample[name] - reference[name]).max() < 2e-6, name
    assert np.abs(sample["shoulder.angle_acc"] - reference["shoulder.angle_acc"]).max() < 1e-4


def test_outputs_and_times_give_exactly_those_samples(pendulum):
    sol = pendulum.simulate(LEVEL, 1.0, outputs=11)
    assert np.array_equal(sol.t, np.linspace(0, 1, 11))
    sol = pendulum.simulate(LEVEL, 1.0, times=[0.25, 0.5])
    assert sol.t.tolist() == [0.25, 0.5]


def test_statistics_are_printed(pendulum):
    sol = pendulum.simulate(LEVEL, 0.1)
    assert sol.statistics["steps"] > 3
    assert f"steps {sol.statistics['steps']}" in str(sol)


# -- restart and interruption -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("method", "options"), [
    ("dopri5", {}), ("adams", {}), ("radau", {}), ("generalized-alpha", {"step": 0.01}), ("rk4", {"step": 0.01}),
])  # fmt: skip
def test_going_on_from_a_solution(pendulum, method, options):
    whole = pendulum.simulate(LEVEL, 1.0, method=method, **options)
    first = pendulum.simulate(LEVEL, 0.5, method=method, **options)
    second = pendulum.simulate(first, 0.5, method=method, **options)
    assert second.t[0] == 0.5
    assert second.t[-1] == 1.0
    tolerance = 1e-12 if options else 1e-6
    for name in pendulum.coordinate_names:
        assert abs(second[name][-1] - whole[name][-1]) < tolerance, name
    joined = first + second
    assert joined.t[-1] == 1.0


def test_going_on_begins_where_the_run_ended_not_at_the_last_sample(pendulum):
    first = pendulum.simulate(LEVEL, 0.5, times=[0.1, 0.3])
    second = pendulum.simulate(first, 0.5, outputs=2)
    assert second.t.tolist() == [0.5, 1.0]
    whole = pendulum.simulate(LEVEL, 1.0)
    assert second["elbow.angle"][-1] == pytest.approx(whole["elbow.angle"][-1], abs=1e-6)


def test_going_on_with_another_method_from_the_final_state(pendulum):
    first = pendulum.simulate(LEVEL, 0.5, **TIGHT)
    state = first.final_state()
    assert state.t == 0.5
    assert state["elbow.angle"] == first["elbow.angle"][-1]
    second = pendulum.simulate(state, 0.5, method="radau", rtol=1e-10, atol=1e-12)
    whole = pendulum.simulate(LEVEL, 1.0, **TIGHT)
    assert second["elbow.angle"][-1] == pytest.approx(whole["elbow.angle"][-1], abs=1e-7)
    middle = first.final_state(3)
    assert middle.t == first.t[3]


def test_an_interruption_carries_what_is_done(pendulum):
    timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt, match=r"'double pendulum': interrupted at t = .* s; what was done is in \.solution") as caught:
        pendulum.simulate(LEVEL, 1e7, rtol=1e-10, times=np.arange(0, 1e7, 1e4), max_steps=10**12)
    timer.cancel()
    sol = caught.value.solution
    assert sol.metadata["status"] == "interrupted"
    assert 0.0 < sol.restart.t < 1e7
    more = pendulum.simulate(sol, (sol.restart.t, sol.restart.t + 1.0), rtol=1e-10)
    assert more.t[-1] == sol.restart.t + 1.0


# -- failures ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("method", "options"), [("dopri5", {}), ("generalized-alpha", {"step": 0.01}), ("radau", {})])
def test_not_a_number_names_law_time_and_state_and_keeps_the_solution(method, options):
    s = mass_on_a_rail(lambda x, v, t: jd.sqrt(1.0 - t))
    with pytest.raises(SimulationError, match="law 'push' gives nan at t = ") as caught:
        s.simulate({"x.displacement": 0.1}, 3.0, method=method, **options)
    message = str(caught.value)
    assert "x.displacement = " in message
    sol = caught.value.solution
    assert 0.9 < sol.t[-1] <= 1.0
    assert sol["x.displacement"][0] == 0.1


def test_a_bad_law_of_the_state_is_found_by_looking_ahead():
    s = mass_on_a_rail(lambda x, v, t: 1e-3 * jd.log(x), name="logarithm")
    with pytest.raises(SimulationError, match="law 'logarithm' gives") as caught:
        s.simulate({"x.displacement": 0.5}, 3.0)
    assert caught.value.solution.t[-1] == pytest.approx(np.pi / 4, abs=1e-2)  # cos 2t reaches zero


def test_bad_rate_of_a_user_state_is_named():
    m = jd.Model("rate", gravity=(0, 0, 0))
    m.prismatic("x", m.ground, m.body("block", mass=1.0), axis="x")
    z = m.state("z", 1.0)
    m.rate(z, jd.sqrt(2.0 - m.time))
    with pytest.raises(SimulationError, match=r"rate of state 'z' gives nan at t = 2\.\d+ s"):
        m.compile().simulate({}, 5.0, method="rk4", step=0.3)


@pytest.mark.parametrize("by_parameter", [False, True])
def test_singular_mass_matrix_names_joint_and_body(by_parameter):
    m = jd.Model("massless", gravity=(0, 0, -9.81))
    arm = m.body("arm", mass=1.0, com=(0.5, 0, 0))
    ghost = m.body("ghost", mass=m.parameter("mg", 1.0)) if by_parameter else m.body("ghost")
    m.revolute("shoulder", m.ground, arm, axis="y")
    m.prismatic("slide", arm, ghost, axis="x")
    s = m.compile(check=False)
    if by_parameter:
        s.set_parameters(mg=0.0)
    with pytest.raises(jd.JourdainError, match="singular: joint 'slide' moves body 'ghost' without"):
        s.simulate({}, 1.0)


def test_too_few_steps_is_an_error_with_the_part_done(pendulum):
    with pytest.raises(SimulationError, match="max_steps") as caught:
        pendulum.simulate(LEVEL, 10.0, max_steps=20)
    assert 10 < len(caught.value.solution) < 30


# -- stiff methods for everything -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def crank():
    s = slider_crank().compile()
    return s, s.assemble({s.coordinate_names[0]: 0.7}, velocities={s.coordinate_names[0]: 2.0})


def test_jacobian_of_a_constrained_system_against_differences(crank):
    """∂ẋ/∂x v along motions the constraints allow, by central differences of the native right-hand side."""
    s, x0 = crank
    native = NativeSystem(s, start=x0)
    jacobian = native.derivatives()["jacobian"]
    table = np.zeros((native.n, native.n))
    assert jacobian(0.0, x0.x, table) == 0
    rng = np.random.default_rng(4)
    for _ in range(4):
        d, h = rng.normal(size=native.n), 1e-6
        up, down = np.zeros(native.n), np.zeros(native.n)
        native.rhs(0.0, x0.x + h * d, up)
        native.rhs(0.0, x0.x - h * d, down)
        assert np.allclose(table @ d, (up - down) / (2 * h), rtol=1e-6, atol=1e-6 * np.abs(up).max())


@pytest.mark.parametrize("method", ["radau", "rosenbrock"])
def test_stiff_methods_on_loops(crank, method):
    s, x0 = crank
    reference = s.simulate(x0, 0.5, **TIGHT)
    sol = s.simulate(x0, 0.5, method=method, rtol=1e-9, atol=1e-11)
    for name in (*s.coordinate_names, *s.velocity_names):
        assert abs(sol[name][-1] - reference[name][-1]) < 1e-6, name
    assert sol.statistics["jacobians"] > 0


def test_radau_takes_few_steps_on_a_stiff_loop():
    """A slider-crank behind a very stiff spring and damper: explicit steps are bound by stability, implicit ones are not."""
    m = jd.Model("stiff crank", gravity=(0, -9.81, 0))
    crank = m.body("crank", mass=1.0, com=(0.1, 0, 0), inertia=(0, 0.01, 0.01))
    rod, piston, probe = (
        m.body("rod", mass=1.0, com=(0.25, 0, 0), inertia=(0, 0.02, 0.02)),
        m.body("piston", mass=2.0),
        m.body("probe", mass=0.01),
    )
    m.revolute("A", m.ground, crank, axis="z")
    m.revolute("B", crank.at(0.2, 0, 0), rod, axis="z")
    m.prismatic("S", m.ground, piston, axis="x")
    p = m.prismatic("P", piston, probe, axis="x")
    m.joint_spring(p, stiffness=1e6, damping=1e3)
    m.close("pin", rod.at(0.5, 0, 0), piston, "ball")
    s = m.compile()
    x0 = s.assemble({"A.angle": 0.7})
    implicit = s.simulate(x0, 1.0, method="radau", rtol=1e-6)
    explicit = s.simulate(x0, 1.0, method="dopri5", rtol=1e-6)
    assert implicit.statistics["steps"] < 0.02 * explicit.statistics["steps"]
    assert implicit["A.angle"][-1] == pytest.approx(explicit["A.angle"][-1], abs=1e-5)


def test_radau_on_a_quaternion():
    s = heavy_top().compile()
    x0 = s.state({}, {"pivot.orientation.omega_z": 12.0, "pivot.orientation.omega_x": 1.0})
    reference, sol = s.simulate(x0, 1.0, **TIGHT), s.simulate(x0, 1.0, method="radau", rtol=1e-9, atol=1e-11)
    for name in s.coordinate_names:
        assert sol[name][-1] == pytest.approx(reference[name][-1], abs=1e-6)


def test_python_callbacks_are_refused_by_name_where_derivatives_are_needed():
    m = jd.Model("callback", gravity=(0, 0, 0))
    x = m.prismatic("x", m.ground, m.body("block", mass=1.0), axis="x")
    m.force(x, m.callback("law", lambda q: -float(q), [x.position]))
    s = m.compile()
    with pytest.warns(UserWarning, match="Python"), pytest.raises(jd.InputError, match="Python callback"):
        s.simulate({"x.displacement": 1.0}, 1.0, method="generalized-alpha", step=0.1)


def test_other_parameters_for_one_run_leave_the_system_alone():
    s = double_pendulum().compile()
    before = s.parameters
    p = s.model.parameter_set.values({"l1": 0.5})
    sol = s.simulate(LEVEL, 1.0, parameters=p, **TIGHT)
    assert s.parameters == before
    other = double_pendulum(lengths=(0.5, 1.0)).compile()
    reference = other.simulate(LEVEL, 1.0, **TIGHT)
    assert sol["elbow.angle"][-1] == pytest.approx(reference["elbow.angle"][-1], abs=1e-12)
    assert np.abs(sol["energy.total"] - sol["energy.total"][0]).max() < 1e-9


def test_open_loops_are_refused() -> None:
    system = slider_crank().compile()
    with pytest.raises(jd.InputError, match=r"the state does not meet the constraint .* \(off by .*\); close it first: system.assemble"):
        system.simulate(None, 0.1)
    closed = system.assemble()
    moving = closed.with_values(v=np.ones(system.nv))
    with pytest.raises(jd.InputError, match=r"the velocities break the constraint .* \(off by .*\); close it first"):
        system.simulate(moving, 0.1)
