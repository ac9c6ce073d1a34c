"""``compile(formulation="semi-recursive")``: every way with loops, reactions, trajectories, drift, order of convergence."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import jourdain as jd
from jourdain.formalisms.coordinates.semi_recursive import REFERENCES
from jourdain.library import mechanisms, suspensions
from jourdain.systems.formulations import formulate
from jourdain.systems.tree.semi_recursive import LOOPS
from tests.formalisms.tree.test_rods import crank_and_rocker

#: t: crank angle and rate, rocker angle and rate of test system S4
TRAJECTORY = {
    0.1: (1.5519366, 8.8911647, -0.4201024, 7.4197408),
    0.25: (3.0050602, 21.2066220, 0.5750770, 4.7630476),
    0.5: (7.2830835, 29.8201675, -0.7157210, 4.2111009),
    1.0: (14.2847300, 7.8297260, -0.2744081, 7.0868440),
}
NAMES = ("crank.angle", "crank.angle_rate", "rocker.angle", "rocker.angle_rate")


@cache
def rssr():
    s = crank_and_rocker("rod", mass=0.9).compile()
    return s, s.assemble({"crank.angle": 0.0}, guess={"rocker.angle": -0.4}, velocities={"crank.angle": 12.0})


@cache
def five_link(rods: str = "removed"):
    s = suspensions.five_link_suspension(rods).compile()
    given = {"rear.spin.angle": 0.2, "rear.float.z": 0.03, "frame.displacement": -0.02}
    return s, s.assemble(given, velocities={"rear.spin.angle": 3.0, "rear.float.z": 0.4, "frame.displacement": -0.1})


@pytest.mark.parametrize("rods", ["removed", "bodies"])
@pytest.mark.parametrize("loops", LOOPS)
def test_ways_with_loops_and_reactions_agree_with_the_recursive_formulation(loops, rods):
    s, state = five_link(rods)
    recursive, own = formulate(s, "recursive"), formulate(s, "semi-recursive", reduction=loops)
    expected = recursive.accelerations(state)
    np.testing.assert_allclose(own.accelerations(state), expected, atol=1e-9 * np.abs(expected).max())
    tolerance = 1e-7 if loops == "augmented-lagrangian" else 1e-9
    for name, (force, torque) in recursive.reactions(state).items():
        f, n = own.reactions(state)[name]
        np.testing.assert_allclose(f, force, atol=tolerance * 1e4)
        np.testing.assert_allclose(n, torque, atol=tolerance * 1e4)
    lam = recursive.multipliers(state)
    assert own.multipliers(state) == pytest.approx(lam, rel=1e-6, abs=1e-4)


@pytest.mark.parametrize("loops", ["range-space", "null-space"])
@pytest.mark.parametrize("rods", ["removed", "bodies"])
def test_native_right_hand_sides(loops, rods):
    s, state = five_link(rods)
    f = formulate(s, "semi-recursive", reduction=loops, point="body")
    rhs, x = f.evaluation(state)
    out = np.zeros_like(x)
    assert rhs(0.0, x, out) == 0
    expected = formulate(s, "recursive").accelerations(state)
    np.testing.assert_allclose(out[s.nq : s.nq + s.nv], expected, atol=1e-9 * np.abs(expected).max())
    np.testing.assert_allclose(out[: s.nq], state.v)


@pytest.mark.parametrize("reference", REFERENCES)
def test_second_velocity_transformation_in_one_straight_line(reference):
    s, state = five_link()
    f = formulate(s, "semi-recursive", point=reference)
    a = f.straight_line(state)(np.array([0.0]), state.x, s.input_values())
    expected = formulate(s, "recursive").accelerations(state)
    np.testing.assert_allclose(a, expected, atol=1e-9 * np.abs(expected).max())


def test_redundant_constraints():
    """Bricard's mechanism: five equations of which four are independent."""
    s = mechanisms.bricard().compile()
    state = s.assemble({})
    state = s.assemble(state, velocities={state.report.independent[0]: 1.0})
    expected = formulate(s, "recursive").accelerations(state)
    for loops in LOOPS:
        f = formulate(s, "semi-recursive", reduction=loops)
        assert f.dof(state) == 1 and len(f.redundant(state)) == 1
        np.testing.assert_allclose(f.accelerations(state), expected, atol=1e-8)
    for loops in ("range-space", "null-space"):
        rhs, x = formulate(s, "semi-recursive", reduction=loops).evaluation(state)
        out = np.zeros_like(x)
        assert rhs(0.0, x, out) == 0
        np.testing.assert_allclose(out[s.nq :], expected, atol=1e-8)


def test_an_open_chain_and_a_wrong_word():
    m = jd.Model("arm")
    a, b = m.body("a", mass=1.0, com=(0.5, 0, 0)), m.body("b", mass=1.0, com=(0.5, 0, 0), inertia=(0.01, 0.02, 0.02))
    m.spherical("shoulder", m.ground, a)
    m.revolute("elbow", a.at(1, 0, 0), b, axis="z")
    a.add_mass(0.0, inertia=(0.01, 0.02, 0.02))
    s = m.compile()
    state = s.state({"elbow.angle": 0.4}, velocities={"elbow.angle": 1.0, "shoulder.orientation.omega_x": 0.3})
    f = formulate(s, "semi-recursive")
    np.testing.assert_allclose(f.accelerations(state), formulate(s, "recursive").accelerations(state), atol=1e-10)
    one, two = (x.simulate(state, 1.0, rtol=1e-9) for x in (f, formulate(s, "recursive")))
    assert one["elbow.angle"][-1] == pytest.approx(two["elbow.angle"][-1], abs=1e-7)
    with pytest.raises(jd.InputError, match="reduction 'cut' is unknown; use one of partition"):
        formulate(s, "semi-recursive", reduction="cut")


# --- motion ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loops", ["partition", "range-space", "null-space"])
def test_trajectory_of_the_rssr(loops):
    s, state = rssr()
    f = formulate(s, "semi-recursive", reduction=loops)
    sol = f.simulate(state, 1.0, rtol=1e-10, atol=1e-12, times=[0.0, *TRAJECTORY])
    for k, (t, expected) in enumerate(TRAJECTORY.items(), 1):
        assert sol.t[k] == pytest.approx(t)
        np.testing.assert_allclose([sol[n][k] for n in NAMES], expected, atol=1e-5)
    energy = sol["energy.total"]
    assert np.ptp(energy) < 1e-8 * energy[0] and energy[0] == pytest.approx(4.734953017173, abs=1e-10)
    assert f.drift(sol)[0] < 1e-12


def test_the_partition_changes_at_dead_points():
    """A slider-crank that begins with its piston as the independent coordinate turns through both dead centres."""
    s = mechanisms.slider_crank(gravity=9.81).compile()
    start = s.assemble({"crank.angle": 1.0}, guess={"rod.angle": -1.3, "piston.displacement": 0.17}, velocities={"crank.angle": 30.0})
    sol = formulate(s, "semi-recursive").simulate(start, 1.0, independent=["piston.displacement"], rtol=1e-9, atol=1e-11)
    assert sol.metadata["switches"] >= 1
    assert sol["crank.angle"][-1] > 4 * np.pi
    energy = sol["energy.total"]
    assert np.ptp(energy) < 1e-6 * np.abs(energy).max()


@pytest.mark.parametrize("kind", ["ball", "revolute"])
def test_a_four_bar_cut_at_a_revolute_joint_or_a_ball_with_redundant_rows(kind):
    def built():
        m = jd.Model("four-bar in space")
        turned = m.ground.at(0, 0, 0, rotation=[("x", 0.5), ("y", 0.3)])
        bars = {
            n: m.body(n, mass=l, com=(l / 2, 0, 0), inertia=(0, l**3 / 12, l**3 / 12)) for n, l in (("a", 0.35), ("b", 0.8), ("c", 0.7))
        }
        m.revolute("a", turned, bars["a"], axis="z")
        m.revolute("b", bars["a"].at(0.35, 0, 0), bars["b"], axis="z")
        m.revolute("c", m.ground.at(*_turned((1.0, 0, 0)), rotation=[("x", 0.5), ("y", 0.3)]), bars["c"], axis="z")
        m.close("pin", bars["b"].at(0.8, 0, 0), bars["c"].at(0.7, 0, 0), kind, axis="z")
        return m

    s = built().compile()
    state = s.assemble({"a.angle": 1.0}, guess={"b.angle": -0.5, "c.angle": 1.5}, velocities={"a.angle": 2.0})
    expected = formulate(s, "cartesian").accelerations(state)
    for loops in LOOPS:
        np.testing.assert_allclose(formulate(s, "semi-recursive", reduction=loops).accelerations(state), expected, atol=1e-9)


def _turned(p):
    x, y = (np.array([[1, 0, 0], [0, np.cos(0.5), -np.sin(0.5)], [0, np.sin(0.5), np.cos(0.5)]]),
            np.array([[np.cos(0.3), 0, np.sin(0.3)], [0, 1, 0], [-np.sin(0.3), 0, np.cos(0.3)]]))  # fmt: skip
    return tuple(float(e) for e in x @ y @ np.array(p))


def test_multipliers_without_projection_drift():
    s, state = rssr()
    f = formulate(s, "semi-recursive", reduction="range-space")
    loose, held = (f.simulate(state, 1.0, rtol=1e-6, atol=1e-8, projection=p) for p in (False, True))
    assert f.drift(loose)[0] > 1e-7 > 1e-12 > f.drift(held)[0]


def test_augmented_lagrangian_converges_with_order_two_and_stays_on_the_constraints():
    s, state = rssr()
    f = formulate(s, "semi-recursive", reduction="augmented-lagrangian")
    end = np.array(TRAJECTORY[0.1])
    errors = []
    for n in (200, 400, 800):
        sol = f.simulate(state, 0.1, step=0.1 / n)
        errors.append(np.abs([sol[x][-1] for x in NAMES] - end)[[0, 2]].max())
        h, w = f.drift(sol)
        assert h < 1e-9 and w < 1e-9
    slopes = np.log2(np.array(errors[:-1]) / errors[1:])
    assert np.all(np.abs(slopes - 2.0) < 0.1)


def test_frequency_of_the_parallelogram():
    """0.73631545 Hz with the rod's mass, 0.8634 Hz without (small oscillations)."""
    for mass, expected in ((3.0, 0.73631545), (None, 0.8634)):
        m = jd.Model("parallelogram")
        bars = [m.body(f"crank{i}", mass=1.0, com=(0, 0, -0.25), inertia=(1 / 48, 1 / 48, 0)) for i in (1, 2)]
        for i, bar in enumerate(bars, 1):
            m.revolute(f"crank{i}", m.ground.at(0.8 * (i - 1), 0, 0), bar, axis="-y")
        m.rod("coupler", bars[0].at(0, 0, -0.5), bars[1].at(0, 0, -0.5), 0.8, mass=mass)
        f = m.compile(formulation="semi-recursive", reduction="null-space")
        start = f.reference.assemble({"crank1.angle": 0.005}, guess={"crank2.angle": 0.005})
        sol = f.simulate(start, 2.0, rtol=1e-10, atol=1e-13, times=np.linspace(0, 2, 2001))
        x = sol["crank1.angle"]
        down = np.flatnonzero((x[:-1] > 0) & (x[1:] <= 0))
        crossings = sol.t[down] + (sol.t[1] - sol.t[0]) * x[down] / (x[down] - x[down + 1])
        assert 1.0 / np.diff(crossings)[0] == pytest.approx(expected, abs=1e-4)


def test_parameters_follow_the_reference():
    s = suspensions.five_link_suspension().compile()
    state = s.assemble({})
    f = formulate(s, "semi-recursive")
    s.set_parameters(frame_mass=200.0)
    np.testing.assert_allclose(f.accelerations(state), formulate(s, "recursive").accelerations(state), atol=1e-8)


def test_time_and_operations():
    s, state = five_link()
    for loops in ("partition", "range-space", "null-space"):
        f = formulate(s, "semi-recursive", reduction=loops)
        assert 0.0 < f.time_per_evaluation(state) < 1e-2
        assert f.operations.flops > 500 and "semi-recursive: 8 coordinates, 5 constraints" in f.describe()


def _damped_chain(n: int) -> jd.Model:
    """Bars with dampers, a motor with a lagging torque at the first hinge, and a parameter for all masses."""
    m = jd.Model(f"chain of {n}")
    mass, torque = m.parameter("mass", 0.3), m.input("torque")
    lag = m.state("lag", 0.1)
    m.rate(lag, 5.0 * (torque - lag))
    before = m.ground
    for i in range(n):
        bar = m.body(f"b{i}", mass=mass, inertia=(0.1, 0.1, 0.1), com=(0.1, 0, 0))
        hinge = m.revolute(f"j{i}", before, bar, axis="y" if i % 9 else "x")
        m.joint_spring(hinge, 0.2, damping=0.05)
        if not i:
            m.force(hinge, lambda x, v, t: lag)
        before = bar.at(0.2, 0, 0)
    return m


def test_a_long_chain_is_factored_by_a_kernel():
    """From 36 joints on the mass matrix is not factored by written-out code; runs are those of the recursive formulation."""
    recursive, own = (_long(formulation) for formulation in ("recursive", "semi-recursive"))
    for mass in (0.3, 0.5):
        ends = []
        for system in (recursive, own):
            system.set_parameters(mass=mass)
            sol = system.simulate({"j3": 0.4, "j9": -0.3}, 0.05, inputs={"torque": 0.7}, rtol=1e-9, atol=1e-11)
            ends.append(sol.final_state().x)
        np.testing.assert_allclose(ends[1], ends[0], rtol=0, atol=3e-7 * np.abs(ends[0]).max())


@cache
def _long(formulation: str):
    return _damped_chain(37).compile(formulation=formulation)


def test_what_is_factored_by_a_kernel():
    """Long paths, not many joints: where most entries of the mass matrix are zero, code without them is the shorter one."""
    from jourdain.systems.tree.projected import NativeSystem

    def by_factors(lengths: list[int]) -> bool:
        m = jd.Model("branches")
        for k, length in enumerate(lengths):
            before = m.ground
            for i in range(length):
                body = m.body(f"b{k}_{i}", mass=1.0, inertia=(0.1, 0.1, 0.1))
                m.revolute(f"j{k}_{i}", before, body, axis="y")
                before = body.at(0.2, 0, 0)
        return NativeSystem(m.compile(formulation="semi-recursive"))._by_factors

    assert not by_factors([12])
    assert not by_factors([4] * 12)
    assert by_factors([36])
