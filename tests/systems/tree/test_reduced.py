"""Simulation in independent coordinates: agreement of all ways, switching in flight, dead points, events, inputs."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import jourdain as jd
from jourdain.library import mechanisms, nonholonomic
from jourdain.solvers.ode.integrate import integrate
from jourdain.systems.outputs.reactions import constrained_accelerations
from jourdain.systems.tree.partition import normal_criterion, projective_criterion
from jourdain.systems.tree.reduced import ReducedSystem

TIGHT: dict[str, Any] = {"rtol": 1e-11, "atol": 1e-12}


@cache
def four_bar() -> Any:
    return mechanisms.four_bar().compile()


def spinning(speed: float = 12.0) -> Any:
    """The four-bar with its crank in fast rotation, which is not sensitive."""
    return four_bar().assemble({"crank": 1.0}, guess={"coupler": -0.5, "rocker": 1.5}, velocities={"crank": speed})


@cache
def reference(method: str = "dop853") -> Any:
    return four_bar().simulate(spinning(), 2.0, method, rtol=1e-13, atol=1e-14, outputs=41)


def table(s: Any, sol: Any) -> np.ndarray:
    return np.column_stack([sol[n] for n in (*s.coordinate_names, *s.velocity_names)])


# --- all ways --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["dopri5", "dop853", "adams"])
@pytest.mark.parametrize("formulation", ["projected", "reduced", "closed"])
def test_all_ways_give_the_same_motion(formulation: str, method: str) -> None:
    s = four_bar()
    sol = s.simulate(spinning(), 2.0, method, outputs=41, reduction=formulation, **TIGHT)
    np.testing.assert_allclose(table(s, sol), table(s, reference()), atol=2e-7)
    assert np.ptp(sol["energy.total"]) < 1e-7
    for name in ("loop.1.multiplier", "crank.angle_acc"):
        np.testing.assert_allclose(sol[name], reference()[name], atol=1e-5 * np.abs(reference()[name]).max())


def test_multipliers_agree_with_the_reduced_accelerations() -> None:
    """λ from M v̇ = f + Jᵀλ with v̇ of the reduced equations equals λ of the equations with multipliers."""
    s = four_bar()
    sol = s.simulate(spinning(), 0.5, "dop853", outputs=6, reduction="closed")
    x, t = table(s, sol), sol.t
    _, lam = constrained_accelerations(s, t, x, np.zeros((len(t), 0)))
    native = ReducedSystem(s, spinning())
    M, f, J, _, _ = s.function("descriptor")(t[:, None], x, np.zeros((len(t), 0)))
    space = np.zeros(2)
    for k in range(len(t)):
        native.moved(t[k], x[k])
        assert native.rhs(t[k], native.restrict(x[k]), space) == 0
        Z = np.linalg.svd(J[k])[2][-1]
        a0 = np.linalg.lstsq(J[k], s.function("constraint_drift")(t[k : k + 1], x[k], [])[:], rcond=None)[0]
        column = s.coordinate_names.index(native.independent[0])
        a = a0 + Z * (space[1] - a0[column]) / Z[column]
        expected = np.linalg.lstsq(J[k].T, M[k] @ a - f[k], rcond=None)[0]
        np.testing.assert_allclose(lam[k], expected, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(M[k] @ a - f[k] - J[k].T @ expected, 0.0, atol=1e-9 * np.abs(f[k]).max())


def test_penalty_limit() -> None:
    """The loop held by a stiff spring instead: the difference goes down with the stiffness, to nothing."""
    s = four_bar()
    start = spinning(6.0)
    exact = table(s, s.simulate(start, 0.3, "dop853", outputs=7, reduction="closed", **TIGHT))[:, :3]
    errors = []
    for stiffness in (4e4, 1.6e5):
        m = mechanisms.four_bar()
        del m.constraints["loop"]
        a, b = m.bodies["coupler"].at(0.8, 0, 0), m.bodies["rocker"].at(0.7, 0, 0)
        m.bushing("gap", a, b, stiffness=(stiffness, stiffness, 0, 0, 0, 0))
        free = m.compile()
        sol = free.simulate(free.state().with_values(q=start.q, v=start.v), 0.3, "dop853", rtol=1e-9, outputs=7)
        errors.append(np.abs(table(free, sol)[:, :3] - exact).max())
    assert errors[1] < 0.35 * errors[0] and errors[1] < 1e-3


def test_andrews_squeezer() -> None:
    s = mechanisms.andrews().compile()
    guess = {"beta": -0.0617, "gamma": 0.4553, "Phi": 0.2227, "delta": 0.4874, "Omega": -0.2227, "epsilon": 1.2305}
    x = s.assemble({"Theta": 0.0}, guess=guess)
    certain = {"beta.angle": 15.8107711951537071, "Theta.angle": -15.7563710584118395, "gamma.angle": 0.0408222401196458049,
               "epsilon.angle": 1.04808074104193787, "Omega.angle_rate": -19.2933741050320408}  # fmt: skip
    for formulation in ("closed", "reduced"):
        sol = s.simulate(x, 0.03, "dop853", rtol=1e-12, atol=1e-13, times=[0.03], reduction=formulation)
        for name, value in certain.items():
            assert sol[name][-1] == pytest.approx(value, rel=1e-8), (formulation, name)


@pytest.mark.parametrize("formulation", ["reduced", "closed"])
def test_governor_with_two_freedoms_and_an_input(formulation: str) -> None:
    s = mechanisms.flyball_governor().compile()
    x = s.assemble({"sleeve": -0.3}, guess={"left": 0.7, "right": 0.7}, velocities={"shaft": 10.0})
    options: dict[str, Any] = {"inputs": {"torque": lambda t: 0.5 * jd.sin(3.0 * t)}, "outputs": 21}
    sol = s.simulate(x, 1.0, "dop853", reduction=formulation, **options, **TIGHT)
    np.testing.assert_allclose(table(s, sol), table(s, s.simulate(x, 1.0, "dop853", **options, **TIGHT)), atol=1e-7)
    np.testing.assert_allclose(sol["torque"], 0.5 * np.sin(3.0 * sol.t), atol=1e-15)


# --- change of coordinates in flight ---------------------------------------------------------------------------------


@pytest.mark.parametrize("every", [3, 7, 20])
def test_forced_switching_changes_nothing(every: int) -> None:
    s = four_bar()
    options: dict[str, Any] = {"reduction": "reduced", "rtol": 1e-9, "atol": 1e-11, "outputs": 41}
    plain = s.simulate(spinning(), 2.0, "adams", repartition=False, **options)
    often = s.simulate(spinning(), 2.0, "adams", repartition=every, **options)
    assert plain.metadata["switches"] == 0 and often.metadata["switches"] > 0.3 * often.statistics["steps"] / every
    assert often.statistics["rhs"] <= 1.1 * plain.statistics["rhs"]
    assert often.statistics["rejected"] <= plain.statistics["rejected"] + 0.1 * plain.statistics["steps"]
    error = np.abs(table(s, plain) - table(s, reference())).max()
    assert np.abs(table(s, often) - table(s, reference())).max() < 10.0 * max(error, 1e-7)


def test_step_and_order_stay_at_a_switch() -> None:
    s = four_bar()
    sizes = {}
    for every in (False, 5):
        sol = s.simulate(spinning(), 1.0, "adams", reduction="reduced", repartition=every, rtol=1e-9, atol=1e-11)
        sizes[every] = np.diff(sol.t)[20:]
    assert sizes[5].min() > 0.5 * sizes[False].min()
    assert np.median(sizes[5]) > 0.9 * np.median(sizes[False])


@pytest.mark.parametrize("method", ["dopri5", "dop853", "adams", "rk4"])
def test_one_step_methods_switch_as_well(method: str) -> None:
    s = four_bar()
    step = {"step": 2e-4} if method == "rk4" else TIGHT
    sol = s.simulate(spinning(), 2.0, method, reduction="reduced", repartition=4, outputs=41, **step)
    assert sol.metadata["switches"] > 5
    np.testing.assert_allclose(table(s, sol), table(s, reference()), atol=1e-6)


def test_a_bad_choice_is_left_before_its_dead_point() -> None:
    s = four_bar()
    sol = s.simulate(spinning(), 2.0, "adams", reduction="reduced", independent=["rocker"], outputs=41, **TIGHT)
    assert 1 <= sol.metadata["switches"] <= 3 and sol.metadata["independent"] != ["rocker.angle"]
    np.testing.assert_allclose(table(s, sol), table(s, reference()), atol=1e-7)


def test_closed_form_takes_other_coordinates_at_dead_points() -> None:
    """No link of this four-bar turns fully: each coordinate has dead points, and the motion passes them."""
    s = mechanisms.four_bar(crank=0.6, rocker=0.7, coupler=0.5).compile()
    x = s.assemble({"crank": 0.8}, guess={"coupler": -1.0, "rocker": 1.9})
    expected = table(s, s.simulate(x, 1.5, "dop853", outputs=16, rtol=1e-12, atol=1e-13))
    for formulation in ("closed", "reduced"):
        sol = s.simulate(x, 1.5, "dop853", outputs=16, reduction=formulation, **TIGHT)
        assert sol.metadata["switches"] >= 1 and len(sol.t) == 16
        np.testing.assert_allclose(table(s, sol), expected, atol=1e-6)


def test_projective_criterion() -> None:
    s = four_bar()
    for row in table(s, reference()):
        x = s.state().with_values(q=row[:3], v=row[3:])
        _, J = s.function("constraints")(np.zeros(1), x.q)
        M = s.mass_matrix(x.q)
        np.testing.assert_allclose(projective_criterion(J, M) + normal_criterion(J, M), 1.0, atol=1e-12)
    chosen = ReducedSystem(s, x, criterion="projective")
    assert chosen.independent == [s.coordinate_names[int(np.argmax(projective_criterion(J, M)))]]


# --- dead points -----------------------------------------------------------------------------------------------------


def test_dead_points_name_time_position_and_joint() -> None:
    s = four_bar()
    for options in ({"reduction": "reduced", "repartition": False}, {"reduction": "closed"}):
        with pytest.raises(RuntimeError, match=r"dead point or lock-up at t = 0\.2.* s: '\w+\.angle' .*rocker\.angle = ") as raised:
            s.simulate(spinning(), 2.0, "adams", independent=["rocker"], **options)
        done = raised.value.solution
        assert 0.1 < done.t[-1] < 0.3
        assert np.abs(s.function("constraints")(done.t[:, None], table(s, done)[:, :3])[0]).max() < 1e-12


def test_lock_up_of_a_driven_linkage() -> None:
    m = mechanisms.four_bar(crank=0.6, rocker=0.5, coupler=0.5)
    block = m.body("block", mass=1.0)
    slide = m.prismatic("slide", m.bodies["rocker"].at(0.2, 0, 0), block, axis="x")
    m.joint_spring(slide, 100.0)
    m.drive(m.joints["crank"], lambda t: 1.0 + 0.5 * t)
    s = m.compile()
    x = s.assemble({}, guess={"coupler": -1.0, "rocker": 1.9})
    reach = np.arccos((1.0 + 0.36 - 1.0) / (2 * 0.6))  # coupler and rocker in line
    for formulation in ("reduced", "closed"):
        with pytest.raises(RuntimeError, match="lock-up") as raised:
            s.simulate(x, 2.0, reduction=formulation)
        assert raised.value.solution.t[-1] == pytest.approx(2.0 * (reach - 1.0), abs=1e-3)


# --- whatever else a model holds -------------------------------------------------------------------------------------


@pytest.mark.parametrize("formulation", ["reduced", "closed"])
def test_events_and_jumps(formulation: str) -> None:
    m = mechanisms.four_bar()
    crank = m.joints["crank"]
    m.event("top", jd.sin(m.joints["rocker"].position - 2.0), direction=1, jump={crank.velocity: 0.9 * crank.velocity})
    s = m.compile()
    x = s.assemble({"crank": 1.0}, guess={"coupler": -0.5, "rocker": 1.5}, velocities={"crank": 12.0})
    sol = s.simulate(x, 1.0, "dop853", reduction=formulation, independent=["crank"], outputs=21, **TIGHT)
    assert sol.statistics["events"] >= 1
    v = table(s, sol)[:, s.nq :]
    w, _ = s.function("constraint_velocities")(sol.t[:, None], table(s, sol)[:, : s.nq], v)
    assert np.abs(w).max() < 1e-11
    expected = s.simulate(x, 1.0, "dop853", outputs=21, **TIGHT)
    assert sol.statistics["events"] == expected.statistics["events"]
    np.testing.assert_allclose(table(s, sol), table(s, expected), atol=1e-6)


@pytest.mark.parametrize("formulation", ["reduced", "closed"])
def test_sampled_controller_sees_the_full_state(formulation: str) -> None:
    from jourdain.analysis.simulate import Controller

    m = mechanisms.four_bar()
    m.force(m.joints["crank"], m.input("motor", 0.0))
    m.state("work", 0.0)
    m.rate(m.states["work"].symbol, m.inputs["motor"].symbol * m.joints["crank"].velocity)
    s = m.compile()
    x = s.assemble({"crank": 1.0}, guess={"coupler": -0.5, "rocker": 1.5}, velocities={"crank": 12.0})
    control = {"motor": Controller(lambda state: -0.3 * state["rocker.angle_rate"], 0.02)}
    sol = s.simulate(x, 0.5, "dop853", reduction=formulation, inputs=control, outputs=11, **TIGHT)
    expected = s.simulate(x, 0.5, "dop853", inputs=control, outputs=11, **TIGHT)
    np.testing.assert_allclose(table(s, sol), table(s, expected), atol=1e-7)
    np.testing.assert_allclose(sol["work"], expected["work"], atol=1e-7)
    np.testing.assert_allclose(sol["motor"], expected["motor"], atol=1e-7)
    np.testing.assert_allclose(sol["energy.total"] - sol["work"], sol["energy.total"][0], atol=1e-7)


def test_rolling_has_more_positions_than_velocities() -> None:
    s = nonholonomic.rolling_disk().compile()
    x = s.assemble(
        {"disk.rx": 1.2, "disk.rz": 0.3},
        guess={"disk.z": 0.1},
        velocities={"disk.rz_rate": 1.0, "disk.rx_rate": 0.2, "spin.angle_rate": -8.0},
    )
    expected = table(s, s.simulate(x, 1.0, "dop853", outputs=11, **TIGHT))
    for every in (True, 5):
        sol = s.simulate(x, 1.0, "dop853", reduction="reduced", repartition=every, outputs=11, **TIGHT)
        np.testing.assert_allclose(table(s, sol), expected, atol=1e-7)


def test_redundant_constraints() -> None:
    s = mechanisms.bricard().compile()
    x = s.assemble({"P1": 0.3}, guess={"P2": -0.25, "P3": 0.3, "P4": -0.25, "P5": 0.3})
    expected = table(s, s.simulate(x, 0.8, "dop853", outputs=9, **TIGHT))
    sol = s.simulate(x, 0.8, "dop853", reduction="reduced", outputs=9, **TIGHT)
    np.testing.assert_allclose(table(s, sol), expected, atol=1e-6)


def test_quaternions_stay_independent() -> None:
    m = jd.Model("top on a rod", gravity=(0, 0, -9.81))
    top = m.body("top", mass=1.0, com=(0, 0, 0.1), inertia=(0.01, 0.012, 0.004))
    slider = m.body("slider", mass=0.5)
    m.spherical("pivot", m.ground, top)
    m.prismatic("rail", m.ground.at(0.1, 0, 0), slider, axis="z")
    m.rod("link", top.at(0.1, 0, 0.1), slider, 0.6)
    s = m.compile()
    x = s.assemble({}, guess={"rail": 0.7}, velocities={"pivot.orientation.omega_z": 3.0})
    expected = table(s, s.simulate(x, 1.0, "dop853", outputs=6, **TIGHT))
    for method in ("dop853", "adams"):
        for formulation in ("reduced", "closed"):
            sol = s.simulate(x, 1.0, method, reduction=formulation, outputs=6, **TIGHT)
            np.testing.assert_allclose(table(s, sol), expected, atol=1e-7)


def ball_and_rod() -> Any:
    """A body on a ball joint, held by a rod: one part of its angular velocity follows from the others."""
    m = jd.Model("ball and rod", gravity=(0, 0, -9.81))
    b = m.body("b", mass=2.0, com=(0.1, 0, -0.5), inertia=(0.2, 0.25, 0.1))
    m.spherical("p", m.ground, b)
    m.rod("r", m.ground.at(1, 0, -1), b.at(0, 0, -1), 1.0)
    return m


@pytest.mark.parametrize(("method", "options"), [
    ("dopri5", {"rtol": 1e-9}), ("dop853", TIGHT), ("adams", TIGHT), ("rk4", {"step": 1e-3}), ("dop853", {**TIGHT, "repartition": 5}),
])  # fmt: skip
@pytest.mark.parametrize("semi_recursive", [False, True])
def test_a_quaternion_in_a_loop(semi_recursive: bool, method: str, options: dict[str, Any]) -> None:
    m = ball_and_rod()
    s = m.compile()
    x = s.assemble({}, velocities={"p.orientation.omega_x": 2.0, "p.orientation.omega_z": 1.0})
    expected = s.simulate(x, 3.0, "dop853", rtol=1e-12, atol=1e-13, outputs=31)
    run = m.compile(formulation="semi-recursive") if semi_recursive else s
    sol = run.simulate(x, 3.0, method=method, reduction="reduced", outputs=31, **options)
    assert len(sol.metadata["independent"]) == 2 and sol.metadata["switches"] >= 1
    np.testing.assert_allclose(table(s, sol), table(s, expected), atol=5e-8)
    assert np.abs(s.function("constraints")(sol.t[:, None], table(s, sol)[:, :4])[0]).max() < 1e-14
    assert np.ptp(sol["energy.total"]) < 5e-8


def test_a_quaternion_in_a_loop_between_steps_and_by_name() -> None:
    s = ball_and_rod().compile()
    report = s.closure_report()
    assert report.method == "Newton" and len(report.independent) == 2 and "quaternion" in report.reason
    x = s.assemble({}, velocities={"p.orientation.omega_x": 2.0, "p.orientation.omega_z": 1.0})
    names = ["p.orientation.omega_x", "p.orientation.omega_z"]
    sol = s.simulate(x, 0.3, "dop853", reduction="reduced", independent=names, repartition=False, **TIGHT)
    assert sol.metadata["independent"] == names
    times = np.linspace(0.0, 0.3, 50)
    q = np.column_stack([sol.at(times)[n] for n in s.coordinate_names])
    assert np.abs(s.function("constraints")(times[:, None], q)[0]).max() < 1e-13
    with pytest.raises(jd.InputError, match=r"independent could be p\.orientation\.omega"):
        s.simulate(x, 0.3, reduction="reduced", independent=[*names, "p.orientation.omega_y"])
    with pytest.raises(
        jd.InputError, match="no closed form of the loops: 'p.orientation.e0' is part of a quaternion; use reduction='reduced'"
    ):
        s.simulate(x, 0.3, reduction="closed")


@pytest.mark.parametrize("method", ["radau", "rosenbrock"])
def test_closed_form_serves_implicit_methods(method: str) -> None:
    s = four_bar()
    sol = s.simulate(spinning(), 0.5, method, reduction="closed", rtol=1e-9, atol=1e-11, outputs=11)
    np.testing.assert_allclose(table(s, sol), table(s, reference())[:11], atol=1e-5)


@pytest.mark.parametrize("formulation", ["reduced", "closed"])
def test_parameters_of_one_run(formulation: str) -> None:
    s, other = four_bar(), mechanisms.four_bar(density=2.5, gravity=4.0).compile()
    options: dict[str, Any] = {"reduction": formulation, "outputs": 5, **TIGHT}
    sol = s.simulate(spinning(), 0.5, "dop853", parameters=other.parameter_vector, **options)
    start = other.state().with_values(q=spinning().q, v=spinning().v)
    np.testing.assert_allclose(table(s, sol), table(s, other.simulate(start, 0.5, "dop853", **options)), atol=1e-10)


def test_angles_run_on_over_whole_turns_at_rare_outputs() -> None:
    s = four_bar()
    expected = s.simulate(spinning(40.0), 3.0, "dop853", times=[0.0, 3.0], rtol=1e-12)
    for formulation in ("reduced", "closed"):
        sol = s.simulate(spinning(40.0), 3.0, "dop853", times=[0.0, 3.0], reduction=formulation, rtol=1e-11)
        assert sol["coupler.angle"][-1] < -100.0
        np.testing.assert_allclose(table(s, sol), table(s, expected), atol=1e-4)


def test_what_cannot_be_reduced_is_said() -> None:
    s = four_bar()
    with pytest.raises(ValueError, match="'projected', 'reduced', 'closed'"):
        s.simulate(spinning(), 1.0, reduction="minimal")
    with pytest.raises(ValueError, match="no loops"):
        p = mechanisms.pendulum().compile()
        p.simulate({}, 1.0, reduction="reduced")
    with pytest.raises(ValueError, match="kinematics"):
        d = mechanisms.rssr(speed=5.0).compile()
        d.simulate(d.assemble({}), 1.0, reduction="reduced")
    with pytest.raises(ValueError, match="cannot be the independent"):
        s.simulate(spinning(), 1.0, reduction="reduced", independent=["crank", "rocker"])


def test_positions_are_closed_to_rounding() -> None:
    s = four_bar()
    native = ReducedSystem(s, spinning())
    done = integrate(native.rhs, (0.0, 2.0), native.x0, "adams", rtol=1e-6, switch=native.switch, output=native.full, output_size=native.n)
    h, _ = s.function("constraints")(done.t[:, None], done.y[:, :3])
    w, _ = s.function("constraint_velocities")(done.t[:, None], done.y[:, :3], done.y[:, 3:])
    assert np.abs(h).max() < 1e-14 and np.abs(w).max() < 1e-12
