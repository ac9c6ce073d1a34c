"""The complete car: counts, two formulations, free fall, energy, equilibrium, straight running, step steer, steady turns."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import jourdain as jd
from jourdain.library import car as lib
from jourdain.library import road as roads
from jourdain.systems.tree.projected import NativeSystem

LOOSE = {f"{c}.{n}": 0.0 for c in ("FL", "FR") for n in ("stiffness", "damping", "preload")} | {
    f"{c}.{n}": 0.0 for c in ("RL", "RR") for n in ("stiffness", "damping")
}


@cache
def bare(rods: str = "removed"):
    return lib.car(tyres=None, rods=rods).compile()


@cache
def standing():
    return lib.car().compile()


@cache
def on_a_circle():
    return lib.car(steering=0.002, path="circle").compile()


@cache
def stepped(relaxation: bool = False):
    """A step of 1 mm at the rack, run until it has settled."""
    s = lib.car(steering=lambda t: jd.step(t, 0.5, 0.6, 0.0, 0.001), cruise=True, relaxation=relaxation).compile()
    start = s.assemble({}, velocities=lib.rolling(20.0))
    return s, s.simulate(start, 7.0, rtol=1e-6, atol=1e-8, times=np.linspace(0.0, 7.0, 701))


def rates(system, state) -> np.ndarray:
    native = NativeSystem(system)
    out = np.zeros(native.n)
    assert native.rhs(0.0, state.x, out) == 0
    return out


def random_state(system, seed: int, turn: float = 0.02, rate: float = 0.5):
    rng = np.random.default_rng(seed)
    guess = {n: float(x) for n, x in zip(system.coordinate_names, rng.normal(scale=turn, size=system.nq), strict=True)}
    state = system.assemble({}, guess=guess)
    return system.assemble(state, velocities={n: float(rng.normal(scale=rate)) for n in state.report.independent})


@pytest.mark.parametrize(("rods", "coordinates", "constraints"), [("removed", 32, 18), ("massless", 32, 18), ("bodies", 56, 42)])
def test_coordinates_and_constraints(rods, coordinates, constraints):
    s = bare(rods)
    state = s.assemble({})
    J = s.function("constraints")(np.array([0.0]), state.q)[1]
    assert (s.nv, len(J), np.linalg.matrix_rank(J)) == (coordinates, constraints, constraints)
    assert state.report.freedoms == 14 and not state.report.redundant


def test_bodies_and_joints_are_those_of_the_published_car():
    m = lib.car(tyres=None, rods="bodies")
    kinds = [j.kind for j in m.joints.values()]
    rods = kinds.count("universal")
    balls = 2 * rods + kinds.count("spherical") + sum(c.kind == "ball" for c in m.constraints.values()) - rods
    assert len(m.bodies) + 1 == 26 and rods == 12
    assert (kinds.count("revolute"), kinds.count("prismatic"), balls) == (6, 2, 28)
    # Grübler with the spins of the rods about their own axes taken out
    assert 6 * 25 - 5 * 6 - 5 * 2 - 3 * 28 - 12 == 14


@pytest.mark.parametrize("rods", ["removed", "bodies"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_reduced_accelerations_solve_the_equations_with_multipliers(rods, seed):
    s = bare(rods)
    state = random_state(s, seed)
    M, f, J, g, _ = s.function("descriptor")(np.array([0.0]), state.x, s.input_values())
    m, n = J.shape
    expected = np.linalg.solve(np.block([[M, -J.T], [J, np.zeros((m, m))]]), np.concatenate([f, g]))[:n]
    found = rates(s, state)[s.nq : s.nq + n]
    np.testing.assert_allclose(found, expected, atol=1e-9 * np.abs(expected).max())


def test_free_fall():
    s = lib.car(tyres=None).compile()
    s.set_parameters(**LOOSE)
    a = dict(zip(s.velocity_names, rates(s, s.assemble({}))[s.nq :], strict=True))
    assert a.pop("chassis.z_rate") == pytest.approx(-9.81, abs=1e-10)
    assert max(abs(x) for x in a.values()) < 1e-9


def test_energy_is_kept_without_dampers_and_loops_stay_closed():
    s = lib.car(tyres=None).compile()
    s.set_parameters(**{f"{c}.damping": 0.0 for c in lib.CORNERS})
    sol = s.simulate(random_state(s, 5), 0.3, method="dop853", rtol=1e-10, atol=1e-12)
    e = sol["energy.total"]
    assert np.ptp(e) < 1e-8 * np.abs(e).max()
    q = np.column_stack([sol[n] for n in s.coordinate_names])
    assert np.abs(s.function("constraints")(sol.t[:, None], q)[0]).max() < 1e-12


def test_static_equilibrium_leaves_place_and_heading_free():
    s = standing()
    e = s.equilibrium(s.assemble({}))
    assert set(e.held) == {"chassis.x", "chassis.y", "chassis.rz", *(f"{c}.spin.angle" for c in lib.CORNERS)}
    assert e.residual < 1e-6 and e.stable
    assert abs(e["chassis.z"]) < 2e-4 and abs(e["chassis.rx"]) < 1e-9
    y = dict(zip(s.model.outputs, s.function("outputs")(np.array([0.0]), e.state.x, s.input_values()), strict=True))
    weight = 9.81 * float(s.model.parameter_set.evaluate(s.model.mass))
    assert sum(y[f"{c}.tyre.Fz"] for c in lib.CORNERS) == pytest.approx(weight, rel=1e-9)
    assert y["FL.tyre.Fz"] == pytest.approx(y["FR.tyre.Fz"], rel=1e-9)


def test_a_symmetric_car_runs_straight_and_slows_down_by_its_resistances():
    s = standing()
    sol = s.simulate(s.assemble({}, velocities=lib.rolling(25.0)), 4.0, rtol=1e-7, atol=1e-9)
    for name in ("chassis.y", "chassis.rz", "chassis.rx"):
        assert np.abs(sol[name]).max() < 1e-8
    late = sol.t > 2.0
    slope = np.polyfit(sol.t[late], sol["speed"][late], 1)[0]
    speed = float(np.mean(sol["speed"][late]))
    mass = float(s.model.parameter_set.evaluate(s.model.mass))
    drag = 0.5 * lib.AIR_DENSITY * 0.66 * speed**2 + 0.01 * mass * 9.81
    assert slope == pytest.approx(-drag / (mass + 4 * 1.0 / 0.312**2), rel=2e-2)


def test_a_bump_on_one_side_moves_the_car_and_leaves_the_loops_closed():
    s = lib.car(road=roads.bump(0.05, 3.0, 0.8, lower=0.0), cruise=True).compile()
    sol = s.simulate(s.assemble({}, velocities=lib.rolling(20.0)), 1.0, rtol=1e-6, atol=1e-8)
    assert sol["FL.tyre.Fz"].max() > 1.5 * sol["FR.tyre.Fz"].max()
    assert 0.002 < np.abs(sol["chassis.rx"]).max() < 0.1
    q = np.column_stack([sol[n] for n in s.coordinate_names])
    assert np.abs(s.function("constraints")(sol.t[:, None], q)[0]).max() < 1e-12


def axle_stiffness(data: dict[str, float], axle: str) -> float:
    """Lateral force of an axle over its mean slip angle."""
    force = data[f"{axle}L.tyre.Fy"] + data[f"{axle}R.tyre.Fy"]
    return -force / (0.5 * (data[f"{axle}L.tyre.alpha"] + data[f"{axle}R.tyre.alpha"]))


def test_step_steer_settles_at_the_steady_turn_and_near_the_bicycle():
    s, sol = stepped()
    end = {n: float(sol[n][-1]) for n in (*s.model.outputs, "chassis.rz_rate", "chassis.rx")}
    settled = sol.t > 6.5
    assert np.ptp(sol["chassis.rz_rate"][settled]) < 2e-5
    before = sol.t < 0.5
    assert np.abs(sol["chassis.rz_rate"][before]).max() < 1e-9
    assert end["chassis.rz_rate"] > 0 and end["chassis.rx"] > 0 and end["FR.tyre.Fz"] > end["FL.tyre.Fz"]
    # steer angle of the front axle that its slip angles and the motion imply, against the bicycle with the same stiffnesses
    speed, rate = end["speed"], end["chassis.rz_rate"]
    front = -0.5 * (end["FL.tyre.alpha"] + end["FR.tyre.alpha"]) + end["sideslip"] + 1.35 * rate / speed
    rear = -0.5 * (end["RL.tyre.alpha"] + end["RR.tyre.alpha"]) + end["sideslip"] - 1.35 * rate / speed
    mass = float(s.model.parameter_set.evaluate(s.model.mass))
    stiffness = axle_stiffness(end, "F"), axle_stiffness(end, "R")
    sum_of = lambda n: sum(end[f"{c}.tyre.{n}"] for c in lib.CORNERS)
    trail = -sum_of("Mz") / sum_of("Fy")  # the aligning moments act as if both axles' forces were this much further back
    b = 2.7 * (end["FL.tyre.Fz"] + end["FR.tyre.Fz"]) / sum_of("Fz")
    estimate = lib.bicycle_estimate(mass, 2.7 - b - trail, b + trail, stiffness, speed, front - rear)
    assert 0.01 < trail < 0.04
    # unequal longitudinal forces left and right add a yaw moment that the bicycle does not know
    assert rate == pytest.approx(estimate["yaw_rate"], rel=0.03)
    assert 0.005 < front < 0.009 and abs(rear) < 0.001
    # the same turn as an equilibrium on a circle
    turn = on_a_circle()
    e = lib.steady_turn(turn, speed / rate, speed)
    assert e["steering"] == pytest.approx(0.001, rel=2e-3)
    assert e["chassis.rx"] == pytest.approx(end["chassis.rx"], rel=2e-3)


def test_steady_turn_both_ways_round_and_by_simulation():
    s = on_a_circle()
    radius, speed = 120.0, 20.0
    e = lib.steady_turn(s, radius, speed)
    assert e.residual < 1e-6
    try:
        s.set_parameters(steering=e["steering"])
        spins = [f"{c}.spin.angle" for c in lib.CORNERS]
        start = {"chassis.y": -110.0, "chassis.rz_rate": 0.175, "chassis.rz2": 0.02, **{f"{n}_rate": speed / 0.312 for n in spins}}
        held = {"chassis.rz": "chassis.rz_rate"} | {n: f"{n}_rate" for n in spins}
        back = s.equilibrium(start, kind="dynamic", exchange=held, inputs=e.inputs, steady=[*lib.STEADY, *(f"{n}_rate" for n in spins)])
        assert back["chassis.y"] == pytest.approx(-radius, rel=1e-8)
        assert back["chassis.rz_rate"] == pytest.approx(speed / radius, rel=1e-8)
        sol = s.simulate(e.state, 3.0, inputs=e.inputs, rtol=1e-8)
        np.testing.assert_allclose(sol["chassis.y"], -radius, rtol=1e-8)
        np.testing.assert_allclose(sol["chassis.rx"], e["chassis.rx"], rtol=1e-6)
        mass = float(s.model.parameter_set.evaluate(s.model.mass))
        inward = sum(sol[f"{c}.tyre.Fy"][-1] for c in lib.CORNERS)
        assert inward == pytest.approx(mass * speed**2 / radius, rel=0.01)
    finally:
        s.set_parameters(steering=0.002)


def test_relaxation_delays_the_response_and_leaves_the_steady_turn():
    (_, a), (_, b) = stepped(), stepped(relaxation=True)
    times = a.t
    assert b["chassis.rz_rate"][-1] == pytest.approx(a["chassis.rz_rate"][-1], rel=2e-3)
    half = 0.5 * a["chassis.rz_rate"][-1]
    first, later = (times[np.argmax(x["chassis.rz_rate"] > half)] for x in (a, b))
    assert 0.005 < later - first < 0.06


def test_steering_by_an_input_reaches_the_same_turn():
    s = lib.car(steering="input", cruise=True).compile()
    assert s.assemble({}).report.freedoms == 15
    sol = s.simulate(s.assemble({}, velocities=lib.rolling(20.0)), 5.0, rtol=1e-6, inputs={"steering": 0.001})
    assert sol["chassis.rz_rate"][-1] == pytest.approx(stepped()[1]["chassis.rz_rate"][-1], rel=0.05)
    assert 0.0 < 0.001 - sol["rack.displacement"][-1] < 5e-5


def test_braking_and_driving():
    s = standing()
    start = s.assemble({}, velocities=lib.rolling(20.0))
    slow, fast = (s.simulate(start, 1.0, rtol=1e-6, inputs=u)["speed"][-1] for u in ({"brake": 1500.0}, {"drive": 800.0}))
    mass = float(s.model.parameter_set.evaluate(s.model.mass)) + 4 / 0.312**2
    assert slow - fast == pytest.approx(-(1500.0 + 800.0) / 0.312 / mass, rel=0.05)


def test_bad_choices_are_named():
    with pytest.raises(jd.ModelError, match="steering 'wheel' is unknown"):
        lib.car(steering="wheel")
    with pytest.raises(jd.ModelError, match="tyres 'square' are unknown"):
        lib.car(tyres="square")
    with pytest.raises(jd.ModelError, match="path 'line' is unknown; use 'free' or 'circle'"):
        lib.car(path="line")
