"""Runs in the energy-consistent engine as users ask for them: inputs, output times, going on, sweeps; joint coordinates from poses."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jourdain as jd
from jourdain import library
from jourdain.analysis.simulate import Controller
from jourdain.errors import InputError
from jourdain.results.channel import Channel
from jourdain.systems.assembled.runs import translated
from jourdain.systems.descriptor.poses import UnreachablePose, tree_states


def pendulum(called: bool = False, damping: float = 0.05) -> jd.Model:
    """A damped pendulum with a torque that comes from outside, or from Python."""
    m = jd.Model("pendulum")
    bob = m.body("bob", mass=1.0, com=(0, 0, -0.5), inertia=(0.02, 0.02, 0.01))
    hinge = m.revolute("hinge", m.ground, bob, axis="y", damping=damping)
    if called:
        torque = m.callback("law", lambda x, v, t: -0.5 * np.tanh(3 * x) - 0.1 * v + 0.1 * t, [hinge.position, hinge.velocity, m.time])
    else:
        torque = m.input("torque", 0.0, unit="N m")
    m.force(hinge, lambda x, v, t: torque)
    return m


INPUTS: dict[str, Any] = {
    "a number": {"torque": 0.7},
    "a function": {"torque": lambda t: jd.sin(3 * t)},
    "a table": {"torque": ([0, 0.5, 1.0], [0, 1.0, -1.0])},
    "a controller": {"torque": Controller(lambda s: -2 * s["hinge.angle"] - 0.3 * s["hinge.angle_rate"], 0.05)},
    "a callback": None,
}


@pytest.mark.filterwarnings("ignore:model 'pendulum'. 'law' run in Python")
@pytest.mark.parametrize("kind", INPUTS)
def test_inputs_act_as_in_the_tree_engine(kind):
    inputs, called = INPUTS[kind], kind == "a callback"
    start = {"hinge.angle": 1.0}
    reference = pendulum(called).compile().simulate(start, 1.0, rtol=1e-11, atol=1e-12, inputs=inputs)
    directors = pendulum(called).compile(formulation="directors")
    errors = []
    for h in (0.01, 0.005):
        sol = directors.simulate(start, 1.0, step=h, inputs=inputs)
        errors.append(abs(sol["hinge.angle"][-1] - reference["hinge.angle"][-1]))
        books = sol["step.energy.total"] + sol["step.energy.dissipated"] - sol["step.energy.supplied"]
        assert np.ptp(books) < 1e-13
    assert errors[0] / errors[1] == pytest.approx(4.0, abs=0.1)
    name = next(iter(directors.model.inputs))
    assert sol[name][1:] == pytest.approx(reference.at(sol.t[1:], side="left")[name], abs=0.02)


def test_controllers_with_schemes_that_carry_accelerations():
    start, inputs = {"hinge.angle": 1.0}, INPUTS["a controller"]
    reference = pendulum(damping=0.0).compile().simulate(start, 1.0, rtol=1e-11, atol=1e-12, inputs=inputs)
    directors = pendulum(damping=0.0).compile(formulation="directors")
    errors = [
        abs(
            directors.simulate(start, 1.0, step=h, inputs=inputs, method="generalized-alpha", rho=0.9)["hinge.angle"][-1]
            - reference["hinge.angle"][-1]
        )
        for h in (0.01, 0.005)
    ]
    assert errors[0] / errors[1] == pytest.approx(4.0, abs=0.3)


def test_output_times_and_going_on():
    system = library.double_pendulum().compile()
    directors = library.double_pendulum().compile(formulation="directors")
    start = {"shoulder.angle": 1.0, "elbow.angle": 0.5}
    times = np.array([0.0, 0.123, 0.777, 1.0])
    fine = directors.simulate(start, 1.0, step=0.005)
    asked = directors.simulate(start, 1.0, step=0.005, times=times)
    assert asked.t == pytest.approx(times)
    exact = system.simulate(start, 1.0, rtol=1e-11, atol=1e-12).at(times)
    for name in system.coordinate_names:
        twice = directors.simulate(start, 1.0, step=0.0025, times=times)
        assert (4 * twice[name] - asked[name]) / 3 == pytest.approx(exact[name], abs=2e-7)  # both of second order
        assert asked[name][-1] == pytest.approx(fine[name][-1], abs=1e-9)
    assert asked["shoulder.angle_rate"][1] == pytest.approx(exact["shoulder.angle_rate"][1], abs=1e-3)
    assert len(directors.simulate(start, 1.0, step=0.005, outputs=11).t) == 11
    half = directors.simulate(start, 0.5, step=0.005)
    rest = directors.simulate(half, 0.5, step=0.005)
    assert rest.t[0] == pytest.approx(0.5)
    assert rest["elbow.angle"][-1] == pytest.approx(fine["elbow.angle"][-1], abs=1e-5)
    with pytest.raises(InputError, match="output times must lie between 0 and 1 s"):
        directors.simulate(start, 1.0, step=0.05, times=[2.0])


def test_sweeps_and_parameters():
    directors = library.pendulum().compile(formulation="directors")
    system = library.pendulum().compile()
    swept = {"parameters": {"length": [0.5, 1.0, 2.0]}, "outputs": ["hinge.angle"], "progress": False}
    table = directors.sweep({"hinge.angle": 0.1}, 1.0, step=0.005, **swept)
    assert not table.failures
    assert table["hinge.angle"] == pytest.approx(system.sweep({"hinge.angle": 0.1}, 1.0, **swept)["hinge.angle"], abs=5e-5)
    values = system.parameter_vector.copy()
    values[system.model.parameter_set.names.index("length")] = 2.0
    sol = directors.simulate({"hinge.angle": 0.1}, 1.0, step=0.005, parameters=values)
    assert sol["hinge.angle"][-1] == pytest.approx(table["hinge.angle"][2], abs=1e-12)
    assert directors.parameters["length"] == 1.0


# -- joint coordinates from poses -------------------------------------------------------------------------------------


def rows_of(system: jd.System, t: np.ndarray, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    p, R, twist, w, _, _ = system.function("bodies_motion")(t[:, None], q, v)
    return tree_states(system, system.state().with_values(q=q[0], v=v[0], t=float(t[0])), t, p, R, twist, w)


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 10_000))
def test_joint_coordinates_come_back_from_wild_poses(seed):
    m = jd.Model("wild")
    bodies = [m.body(f"b{i}", mass=1.0, inertia=(0.1, 0.1, 0.1)) for i in range(4)]
    m.revolute("a", m.ground.at(0, 0, 0.2), bodies[0], axis=(0.6, 0, 0.8))
    m.prismatic("b", bodies[0].at(0.3, 0, 0), bodies[1], axis="y")
    m.spherical("c", bodies[1].at(0, 0.2, 0.1), bodies[2])
    m.universal("d", bodies[2].at(0.1, 0, 0.4), bodies[3], axes=("x", "z"))
    system = m.compile()
    rng = np.random.default_rng(seed)
    q = system.configuration.random(rng, size=6)
    q[:, system.coordinate_names.index("d.angle2")] *= 0.4  # away from the singular positions of the cross
    found = rows_of(system, np.arange(6.0), q, 0.0 * rng.normal(size=(6, system.nv)))
    p, R, *_ = system.function("bodies_motion")(np.arange(6.0)[:, None], q, np.zeros((6, system.nv)))
    own, turned, *_ = system.function("bodies_motion")(np.arange(6.0)[:, None], found[:, : system.nq], np.zeros((6, system.nv)))
    assert np.abs(own - p).max() < 1e-8
    assert np.abs(turned - R).max() < 1e-8


def test_turns_are_counted_by_the_rates():
    system = library.pendulum().compile()
    t = np.linspace(0.0, 2.0, 9)
    q, v = 1.0 + 30.0 * t + 4.0 * t**2, 30.0 + 8.0 * t  # more than a turn from row to row
    found = rows_of(system, t, q[:, None], v[:, None])
    assert found[:, 0] == pytest.approx(q, abs=1e-9)
    assert found[:, 1] == pytest.approx(v, abs=1e-9)


def test_poses_that_no_joint_allows_are_named():
    system = library.double_pendulum().compile()
    start = system.state()
    p, R, v, w, _, _ = system.function("bodies_motion")(np.zeros((1, 1)), start.q[None], start.v[None])
    p = p.copy()
    p[0, 1, 0] += 0.3
    with pytest.raises(UnreachablePose, match=r"at t = 0 s; joint 'elbow' is off by"):
        tree_states(system, start, np.zeros(1), p, R, v, w)


def test_a_run_that_left_its_joints_is_not_lost():
    directors = library.double_pendulum().compile(formulation="directors")
    start = directors.state({"shoulder.angle": 0.3})
    raw = directors.assembled(start).simulate(0.2, 0.02)
    name = list(directors.model.bodies)[1]
    apart = raw.with_channels(**{f"{name}.position": Channel(raw[f"{name}.position"] + [0.3, 0.0, 0.0], "m")})
    with pytest.warns(UserWarning, match="joint 'elbow' is off by .*the solution has the bodies' poses"):
        assert translated(directors, start, apart)[f"{name}.position"].shape == (11, 3)


# -- inverse dynamics of assembled systems ----------------------------------------------------------------------------


def two_links() -> Any:
    m = jd.Model("two links")
    a = m.body("a", mass=1.0, com=(0, 0, -0.3), inertia=(0.01, 0.02, 0.01))
    b = m.body("b", mass=0.5, com=(0, 0.1, -0.2), inertia=(0.01, 0.02, 0.01))
    m.revolute("first", m.ground, a, axis="y", damping=0.1)
    m.revolute("second", a.at(0, 0, -0.6), b, axis="x", damping=0.2)
    return m.compile(formulation="directors")


def test_forces_of_prescribed_coordinates():
    directors = two_links()
    courses = {"first": lambda t: 0.5 * (1 - jd.cos(2 * t)), "second": lambda t: -0.3 * jd.sin(t) ** 3}
    system = directors.assembled({})
    errors = []
    for h in (0.02, 0.01):
        sol = system.inverse_dynamics({f"{n}.angle": f for n, f in courses.items()}, 1.0, h)
        exact = directors.reference.inverse_dynamics_along(courses, times=sol.t)
        errors.append([np.abs(sol[f"{n}.angle.actuator"] - exact[n]).max() for n in courses])
    assert np.array(errors[0]) / errors[1] == pytest.approx([4.0, 4.0], abs=0.4)
    assert sol.channel("first.angle.actuator").unit == "N m"
    assert np.abs(sol["energy.residual"]).max() < 1e-12
    assert system.simulate(0.1, 0.01)["first.angle"][-1] == 0.0  # the system itself is not driven


@pytest.mark.parametrize(
    ("motions", "message"),
    [
        ({}, "name at least one coordinate"),
        ({"third": 0.0}, "there are no coordinates 'third'; there are a, b, first.angle"),
        ({"a": 0.0}, r"'a' has 12 coordinates; name one of a\[0\]"),
        ({"first.angle": lambda t: 1 + t}, "'first.angle' starts at 0, its motion with 1"),
        ({"first.angle": lambda t: t}, "starts with the rate 0, its motion with 1"),
        ({"first.angle": lambda t: float(t)}, "cannot be followed symbolically"),
    ],
)
def test_motions_that_cannot_be_followed_are_refused(motions, message):
    with pytest.raises(InputError, match=message):
        two_links().assembled({}).inverse_dynamics(motions, 1.0, 0.01)


def test_the_order_in_which_controllers_are_given_does_not_matter():
    m = jd.Model("two inputs")
    hinge = m.revolute("hinge", m.ground, m.body("arm", mass=1.0, com=(0.1, 0, 0), inertia=(0.02, 0.03, 0.04)), axis="y")
    first, second = m.input("first"), m.input("second")
    m.force(hinge, lambda x, v, t: first - 3.0 * second)
    system = m.compile(formulation="directors")
    laws = {"first": Controller(lambda s: 0.2, 0.1), "second": Controller(lambda s: -0.1, 0.1)}
    ends = [system.simulate({}, 0.5, inputs=dict(given))["hinge.angle"][-1] for given in (laws.items(), reversed(laws.items()))]
    assert (
        ends[0] == ends[1] == pytest.approx(system.simulate({}, 0.5, inputs={"first": 0.2, "second": -0.1})["hinge.angle"][-1], abs=1e-11)
    )


METHODS: dict[str, dict[str, float]] = {
    "energy-momentum": {}, "midpoint": {}, "variational": {}, "trapezoidal": {}, "newmark": {}, "hht": {"alpha": -0.2},
    "generalized-alpha": {"rho": 0.6}, "backward-euler": {},
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:model 'pendulum'. 'law' run in Python")
@pytest.mark.parametrize("method", METHODS)
def test_a_callback_is_the_same_law_written_in_symbols(method: str) -> None:
    """It is called where the scheme evaluates forces, so that a step of any scheme is that with the law itself, and keeps its order."""
    law = lambda x, v, t: -0.5 * jd.tanh(3 * x) - 0.1 * v + 0.1 * t
    m = pendulum()
    m.force(m.joints["hinge"], law)
    options = {"step": 0.02, "method": method, **METHODS[method]}
    start = {"hinge.angle": 1.0, "hinge.angle_rate": -0.4}
    expected = m.compile(formulation="directors").simulate(start, 0.4, **options)
    found = pendulum(called=True).compile(formulation="directors").simulate(start, 0.4, **options)
    assert found["hinge.angle"] == pytest.approx(expected["hinge.angle"], abs=1e-10)
    assert found["hinge.angle_rate"] == pytest.approx(expected["hinge.angle_rate"], abs=1e-8)


def test_a_solution_travels_with_its_restart() -> None:
    """Pickled and read again it has its channels, the engine's own, and goes on as if it had never stopped."""
    s = pendulum().compile(formulation="directors")
    sol = s.simulate({"hinge.angle": 0.5}, 0.2, step=0.01)
    again = pickle.loads(pickle.dumps(sol))
    assert np.array_equal(again["hinge.angle"], sol["hinge.angle"])
    assert np.array_equal(again.assembled["energy.total"], sol.assembled["energy.total"])
    assert np.array_equal(s.simulate(again, 0.1, step=0.01)["hinge.angle"], s.simulate(sol, 0.1, step=0.01)["hinge.angle"])
