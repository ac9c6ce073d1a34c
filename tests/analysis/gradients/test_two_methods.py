"""Adjoint = forward to rounding = differences of runs with the same steps: trees, loops, methods, criteria, starts and inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jourdain as jd
from jourdain import criteria as cr
from jourdain import library
from jourdain.analysis.gradients.runs import NotCarried


def agree(run: jd.Analysis, criteria: Mapping[str, Any], wrt: list[str], exact: float = 1e-12, close: float = 1e-6) -> Any:
    """Both methods and differences give the same, each entry measured by its size or a small elasticity."""
    forward, adjoint = (run.gradient(criteria, wrt, method=m) for m in ("forward", "adjoint"))
    other = run.gradient(criteria, wrt, method="differences")
    sizes = np.array([max(abs(x), 1e-3) for x in forward.variables.values()])
    values = np.array([max(abs(x), 1e-9) for x in forward.values.values()])[:, None]
    most = np.maximum(1e-3 * values, 0.03 * np.abs(forward.matrix * sizes).max(axis=1, keepdims=True))
    scale = np.maximum(np.abs(forward.matrix), most / sizes)
    assert np.isfinite(forward.matrix).all()
    assert (np.abs(adjoint.matrix - forward.matrix) / scale).max() < exact
    assert (np.abs(other.matrix - forward.matrix) / scale).max() < close
    for name in criteria:
        assert adjoint.values[name] == pytest.approx(forward.values[name], rel=1e-12, abs=1e-14)
        assert other.values[name] == pytest.approx(forward.values[name], rel=1e-12, abs=1e-14)
    return forward


DESIGN = ["d_F", "d_R", "c_F", "c_R", "h_3", "d_A"]
RIDE = {
    "comfort": cr.integral("t^2*driver.acceleration.z^2"),
    "safety": cr.integral("front.tyre^2 + rear.tyre^2"),
    "travel": cr.integral("(front.travel/s0)^6", s0=0.08),
    "stroke": cr.largest("abs(front.travel)"),
    "rms": cr.rms("driver.acceleration.z"),
    "pin": cr.mean("swing.reaction.x^2"),
    "mid": cr.at(0.4, "driver.acceleration.z"),
    "last": cr.final("driver.z"),
}


@pytest.mark.parametrize("damper", ["cubic", "linear"])
def test_the_vehicle_with_fixed_end(damper: str) -> None:
    """Spec 15 §4.1: every criterion by every design variable."""
    run = jd.Analysis(library.plane_vehicle(damper, active=400.0).compile(), "simulate", {}, t=2.0)
    agree(run, RIDE, [*DESIGN, "travel.s0", "body.x_rate"])


def test_the_vehicle_with_an_event_at_its_end() -> None:
    """The same until 30 m are driven; an event that only marks an instant is on the way."""
    m = library.plane_vehicle(active=400.0)
    m.event("calm", m.sensors["driver"].velocity[2] + 0.02, direction=1)
    m.event("end", m.joints["body"].coordinate("x").q[0] - m.parameter("way", 30.0, "m"), terminal=True)
    run = jd.Analysis(m.compile(), "simulate", {}, t=4.0, rtol=1e-10, atol=1e-12)
    assert run.run().metadata["status"] == "event"
    agree(run, RIDE | {"time": cr.end_time(), "calm": cr.event_time("calm")}, [*DESIGN, "way"], close=2e-6)


def test_all_parameters_of_the_vehicle() -> None:
    s = library.plane_vehicle(active=400.0).compile()
    run = jd.Analysis(s, "simulate", {}, t=1.0)
    agree(run, {"comfort": RIDE["comfort"]}, [p.name for p in s.model.parameter_set.listed], close=5e-6)


@pytest.mark.parametrize("method", ["euler", "heun", "rk4", "bs32", "dopri5", "dop853"])
def test_every_explicit_method(method: str) -> None:
    step = {"step": 0.01} if method in ("euler", "heun", "rk4") else {}
    run = jd.Analysis(library.double_pendulum().compile(), "simulate", {"shoulder.angle": 0.4}, t=0.5, method=method, **step)
    names = run.system.coordinate_names
    agree(
        run,
        {"end": cr.final(names[1]), "work": cr.integral(f"{names[0]}_acc^2 + t"), "at": cr.at(0.123, names[0])},
        ["m1", "l1", "l2", names[0]],
    )


LOOPS: dict[str, tuple[Callable[[], jd.Model], dict[str, float], list[str]]] = {
    "slider-crank": (library.slider_crank, {"crank.angle": 0.5, "crank.angle_rate": 3.0}, ["crank_length", "rod_length", "piston_mass"]),
    "four-bar": (library.four_bar, {"crank.angle": 0.5, "crank.angle_rate": 2.0}, ["crank", "coupler", "rocker", "crank.angle", "crank.angle_rate"]),
    "rssr": (library.rssr, {}, ["crank_length", "coupler_length", "pivot_x"]),
    "chaplygin": (library.chaplygin_sleigh, {"sleigh.x_rate": 0.7, "sleigh.angle_rate": 1.5}, ["mass", "inertia", "distance"]),
    "five-link": (library.five_link_suspension, {"frame.displacement_rate": 0.5}, ["frame_mass", "rear.stiffness", "tyre_stiffness"]),
}  # fmt: skip


@pytest.mark.parametrize("name", LOOPS)
def test_loops_and_nonholonomic_constraints(name: str) -> None:
    make, start, wrt = LOOPS[name]
    s = make().compile()
    from jourdain.systems.outputs.reactions import multiplier_channel

    row = multiplier_channel(s.equations_of_motion.rows[0].name)
    q, v = s.coordinate_names[0], s.velocity_names[-1]
    run = jd.Analysis(s, "simulate", start, t=0.2, rtol=1e-10, atol=1e-12)
    criteria = {
        "end": cr.final(f"'{q}'"), "work": cr.integral(f"'{v}'^2"), "force": cr.integral(f"'{row}'^2"), "last": cr.final(f"'{row}'"),
        "acc": cr.integral(f"'{s.equations_of_motion.a[0].name}'^2"),
    }  # fmt: skip
    agree(run, criteria, wrt, exact=1e-10, close=3e-6)


def test_a_start_given_as_a_state_keeps_its_independent_coordinates() -> None:
    s = library.four_bar().compile()
    state = s.assemble({"crank.angle": 0.4}, velocities={"crank.angle_rate": 2.0})
    run = jd.Analysis(s, "simulate", state, t=0.2, rtol=1e-10, atol=1e-12)
    start = run.start({"coupler": s.parameters["coupler"] + 0.01})
    assert start["crank.angle"] == pytest.approx(0.4, abs=1e-14) and start["rocker.angle"] != pytest.approx(state["rocker.angle"], abs=1e-4)
    agree(run, {"end": cr.final("rocker.angle")}, ["coupler", "ground", "crank.angle"], exact=1e-10)


@pytest.mark.parametrize("make", [library.heavy_top, library.free_body])
def test_quaternions(make: Callable[[], jd.Model]) -> None:
    s = make().compile()
    rng = np.random.default_rng(3)
    state = jd.State(s.reference, s.configuration.random(rng), rng.normal(size=s.nv), np.zeros(0))
    run = jd.Analysis(s, "simulate", state, t=0.5, rtol=1e-10, atol=1e-12)
    wrt = [p.name for p in s.model.parameter_set.listed if p.value][:4] + s.velocity_names[-2:]
    agree(run, {"end": cr.final(f"'{s.velocity_names[0]}'"), "turn": cr.integral(f"'{s.coordinate_names[-1]}'^2")}, wrt, close=3e-6)


@pytest.mark.parametrize("seed", [7, 8])
def test_constants_that_join_sums_when_they_are_made_anew(seed: int) -> None:
    """Chains of ball joints at odd places: their derivatives ended in a bare error."""
    random, m = np.random.default_rng(seed), jd.Model("chain")
    last: Any = m.ground
    for i in range(3):
        com = tuple(random.normal(scale=0.1, size=3).round(3))
        body = m.body(f"b{i}", mass=m.parameter(f"m{i}", 0.5 + 0.3 * i), inertia=(0.03, 0.04, 0.05), com=com)
        at = last.at(*random.normal(scale=0.2, size=3).round(3)) if i else last
        if i == 1:
            m.revolute(f"j{i}", at, body, axis="y")
        else:
            m.spherical(f"j{i}", at, body)
        last = body
    run = jd.Analysis(m.compile(), "simulate", {"j1.angle": 0.3, "j1.angle_rate": 0.5}, t=0.1, rtol=1e-10, atol=1e-12)
    agree(run, {"end": cr.final("j1.angle"), "way": cr.integral("j1.angle_rate^2")}, ["m0", "m1", "m2", "j1.angle"], close=3e-6)


def train_with_a_loose_body() -> jd.Model:
    """A body that tumbles beside a chain whose accelerations have other constants than its balance has."""
    m = jd.Model("train")
    cart = m.body("cart", mass=m.parameter("heavy", 2.0), inertia=(0.02, 0.03, 0.04))
    arm = m.body("arm", mass=0.5, com=(0.02, 0.01, -0.4), inertia=(0.03, 0.033, 0.004))
    wheel = m.body("wheel", mass=0.7, com=(0.1, 0.0, 0.0), inertia=(0.01, 0.02, 0.02))
    bob = m.body("bob", mass=0.3, com=(0.15, 0.0, 0.02), inertia=(0.001, 0.004, 0.004))
    m.joint_spring(m.prismatic("rail", m.ground, cart, axis="x"), stiffness=m.parameter("k", 40.0))
    m.revolute("hinge", cart, arm, axis="y")
    m.drive(m.revolute("driven", arm, wheel, axis="x"), lambda t: 0.6 * jd.sin(4.0 * t))
    m.revolute("swing", wheel.at(0.1, 0.2, 0.0), bob, axis="y")
    m.free("fly", cart, m.body("loose", mass=0.8, com=(0.02, 0.03, 0.01), inertia=(0.02, 0.03, 0.045)))
    return m


@pytest.mark.parametrize("method", ["dopri5", "radau"])
def test_constants_of_accelerations_beside_quaternions(method: str) -> None:
    s = train_with_a_loose_body().compile()
    run = jd.Analysis(s, "simulate", {"hinge": 0.7, "rail": 0.1}, t=0.1, method=method, rtol=1e-10, atol=1e-12)
    agree(run, {"end": cr.final("hinge.angle"), "loose": cr.final("fly.x_rate")}, ["heavy", "k", "hinge.angle"], close=3e-6)


def servo() -> jd.Model:
    """A state of the user's own, inputs as numbers and as functions of time, a driven joint and an event by time."""
    m = jd.Model("servo")
    arm = m.body("arm", mass=1.5, com=(0, 0, -0.3), inertia=(0.02, 0.02, 0.02))
    table = m.body("table", mass=1.0)
    slide = m.prismatic("slide", m.ground, table, axis="x")
    A = m.parameter("A", 0.1, "m")
    m.drive(slide, lambda t: A * jd.sin(3.0 * t))
    hinge = m.revolute("hinge", table, arm, axis="y")
    lag = m.state("lag", 0.1)
    u, push = m.input("u", 0.5), m.input("push", 0.2)
    tau = m.parameter("tau", 0.2, "s")
    m.rate(lag, (u * hinge.position - lag) / tau)
    m.force(hinge, -m.parameter("gain", 4.0) * lag + push)
    m.event("late", m.time - m.parameter("when", 0.33, "s"), jump={lag: 0.5 * lag})
    return m


def test_states_inputs_drives_and_signals() -> None:
    inputs = {"u": lambda t: 1.0 + 0.3 * jd.cos(2.0 * t), "push": 0.4}
    run = jd.Analysis(servo().compile(), "simulate", {"hinge.angle": 0.3}, t=0.8, inputs=inputs, rtol=1e-10, atol=1e-12)
    criteria = {
        "end": cr.final("lag"),
        "work": cr.integral("u*hinge.angle^2 + push*lag"),
        "acc": cr.rms("hinge.angle_acc"),
        "x": cr.final("hinge.angle"),
    }
    agree(run, criteria, ["A", "tau", "gain", "when", "lag", "hinge.angle", "hinge.angle_rate"])


def test_least_squares_and_norms() -> None:
    run = jd.Analysis(library.pendulum().compile(), "simulate", {"hinge.angle": 0.4}, t=1.0)
    times = np.linspace(0.0, 1.0, 23)
    criteria = {
        "fit": cr.least_squares("hinge.angle", times, 0.35 * np.cos(3.0 * times), weights=1.0 + times),
        "norm": cr.largest("hinge.angle", smooth=8),
        "odd": cr.largest("hinge.angle_rate", smooth=3),
        "least": cr.smallest("hinge.angle"),
    }
    agree(run, criteria, ["length", "hinge.angle", "hinge.angle_rate"])


def remembering() -> tuple[jd.Model, Any, Any, Any]:
    """An oscillator whose spring is drawn by one memory and whose load is another's square; the first begins at a parameter."""
    m = jd.Model("oscillator with memories", gravity=(0, 0, 0))
    z = m.prismatic("z", m.ground, m.body("mass", mass=m.parameter("m", 2.0)), axis="z")
    mean, swing = m.memory("mean", 2.0 * m.parameter("start", 0.4)), m.memory("swing", 0.1)
    m.force(z, -m.parameter("k", 160.0) * (z.position - 0.2 * mean) - 0.5 * z.velocity + swing**2 + m.input("u", 0.5))
    m.output("seen", mean * z.position + swing)
    return m, z, mean, swing


REMEMBERED = {
    "end": cr.final("seen"),
    "mid": cr.at(0.4042, "seen"),
    "work": cr.integral("mean*z.displacement_acc + swing^2"),
}


@pytest.mark.parametrize(
    "options",
    [{"method": "rk4", "step": 0.01}, {"rtol": 1e-9, "atol": 1e-11}, {"method": "heun", "step": 0.01}, {"method": "radau", "rtol": 1e-6}],
)
def test_memories_are_carried_from_step_to_step(options: dict[str, Any]) -> None:
    """Two memories that feed each other and the force at every step."""
    m, z, mean, swing = remembering()
    gain = m.parameter("gain", 0.3)
    m.update(mean, 0.9 * mean + gain * z.position + 0.1 * swing * m.time)
    m.update(swing, swing - 0.2 * gain * z.velocity * mean)
    run = jd.Analysis(m.compile(), "simulate", {"z.displacement": 0.3}, t=0.8, **options)
    agree(run, REMEMBERED, ["gain", "start", "m", "k", "z.displacement", "z.displacement_rate"])


@pytest.mark.parametrize("options", [{"method": "rk4", "step": 0.01}, {"rtol": 1e-10, "atol": 1e-12}])
def test_memories_that_events_set_and_turns_keep(options: dict[str, Any]) -> None:
    """Memories that events alone set: one reads both and makes a velocity jump, one keeps the place of a turn."""
    m, z, mean, swing = remembering()
    m.update(mean, mean)
    m.update(swing, swing)
    when = m.time - m.parameter("when", 0.333, "s")
    m.event("half", when, jump={mean: 0.5 * mean + swing * z.position, z.velocity: 0.8 * z.velocity + 0.1 * swing})
    m.event("turn", z.velocity, jump={swing: 1.0 - z.position * mean})
    run = jd.Analysis(m.compile(), "simulate", {"z.displacement": 0.3, "z.displacement_rate": -0.05}, t=0.8, **options)
    criteria = REMEMBERED | {"turn": cr.event_time("turn"), "low": cr.smallest("z.displacement")}
    wrt = ["start", "m", "k", "when", "z.displacement", "z.displacement_rate"]
    forward, adjoint = (run.gradient(criteria, wrt, method=method) for method in ("forward", "adjoint"))
    assert np.abs(forward.matrix - adjoint.matrix).max() < 1e-12 * np.abs(forward.matrix).max()
    fine = jd.Analysis(
        run.system, "simulate", {"z.displacement": 0.3, "z.displacement_rate": -0.05}, t=0.8, rtol=1e-13, atol=1e-14, max_step=0.01
    )
    for name in wrt:
        value = forward.variables[name]
        up, down = (fine.evaluate(criteria, {name: value + h}) for h in (1e-5, -1e-5))
        for n in criteria:
            assert forward[n, name] == pytest.approx((up[n] - down[n]) / 2e-5, rel=1e-4, abs=2e-5), (n, name)


def test_memories_given_with_the_start_do_not_follow_parameters() -> None:
    m = jd.Model("one", gravity=(0, 0, 0))
    z = m.prismatic("z", m.ground, m.body("mass", mass=1.0), axis="z")
    held = m.memory("held", m.parameter("first", 2.0), update=lambda x: x)
    m.force(z, -held * z.position)
    s = m.compile()
    for start, slope in (
        ({"z.displacement": 1.0}, -np.sin(np.sqrt(2.0)) / (2.0 * np.sqrt(2.0))),
        ({"z.displacement": 1.0, "held": 2.0}, 0.0),
    ):
        run = jd.Analysis(s, "simulate", start, t=1.0, rtol=1e-11, atol=1e-13)
        for method in ("forward", "adjoint"):
            g = run.gradient({"x": cr.final("z.displacement")}, ["first"], method=method)
            assert g["x", "first"] == pytest.approx(slope, rel=1e-8, abs=1e-12)


@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_random_trees(seed: int) -> None:
    rng = np.random.default_rng(seed)
    m = jd.Model("random", gravity=tuple(rng.normal(size=3) * 5))
    bodies, joints = [m.ground], []
    for i in range(int(rng.integers(1, 5))):
        mass = m.parameter(f"m{i}", float(rng.uniform(0.5, 2.0)))
        body = m.body(f"b{i}", mass=mass, com=tuple(rng.normal(size=3) * 0.3), inertia=tuple(rng.uniform(0.5, 1.0, 3)))
        parent = bodies[int(rng.integers(len(bodies)))]
        place = parent.frame(f"f{i}", tuple(rng.normal(size=3) * 0.5))
        make = m.revolute if rng.random() < 0.6 else m.prismatic
        joints.append(make(f"j{i}", place, body, axis=tuple(rng.normal(size=3))))
        bodies.append(body)
        m.joint_spring(joints[-1], m.parameter(f"k{i}", float(rng.uniform(5, 20))), damping=m.parameter(f"d{i}", float(rng.uniform(0, 1))))
    s = m.compile()
    start = {n: float(rng.normal() * 0.3) for n in (*s.coordinate_names, *s.velocity_names)}
    run = jd.Analysis(s, "simulate", start, t=0.6)
    criteria = {"a": cr.final(s.coordinate_names[-1]), "b": cr.integral(f"{s.velocity_names[0]}^2*(1 + t)"), "c": cr.rms("j0.reaction.x")}
    names = [*(f"{w}{i}" for i in range(len(joints)) for w in "mkd"), *s.coordinate_names]
    agree(run, criteria, [str(n) for n in rng.permutation(names)[:5]], close=5e-6)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"inputs": {"u": jd.Controller(lambda s: 0.0, 0.1)}}, "controller of 'u'"),
    ],
)
def test_what_is_not_carried_is_refused_by_name(change: dict[str, Any], told: str) -> None:
    m = library.four_bar()
    m.force(m.joints["crank"], m.input("u", 0.1), name="u")
    run = jd.Analysis(m.compile(), "simulate", {"crank.angle": 0.5}, t=0.1, **change)
    with pytest.raises(NotCarried, match=told):
        run.gradient({"x": cr.final("crank.angle")}, ["crank"])
    assert np.isfinite(run.evaluate({"x": cr.final("crank.angle")})["x"])


@pytest.mark.parametrize("formulation", ["recursive", "cartesian"])
def test_starts_that_depend_on_others_where_the_loop_was_assembled(formulation: str) -> None:
    """Whichever coordinate is named is the independent one, however the start was found; the derivative by it was zero."""
    m = jd.Model("four-bar")
    a, b, c = (m.body(n, mass=0.1, com=(l / 2, 0, 0), inertia=(0, 1e-3, 1e-3)) for n, l in (("a", 0.1), ("b", 0.3), ("c", 0.25)))
    m.revolute("motor", m.ground, a, axis="y")
    m.revolute("pin", a.at(0.1, 0, 0), b, axis="y")
    m.revolute("bearing", m.ground.at(0.28, 0, 0), c, axis="y")
    m.revolute("closing", b.at(0.3, 0, 0), c.at(0.25, 0, 0), axis="y")
    run = jd.Analysis(m.compile(formulation=formulation), "simulate", {}, t=0.1, rtol=1e-10, atol=1e-12)
    end = {"end": cr.final("bearing.angle")}
    for name in ("motor", "bearing.angle_rate"):
        now = run.value_of(name)
        ahead, behind = (run.run({name: now + h})["bearing.angle"][-1] for h in (1e-5, -1e-5))
        for method in ("forward", "adjoint"):
            found = run.gradient(end, [name], method=method)["end"][0]
            assert found == pytest.approx((ahead - behind) / 2e-5, rel=1e-5) and abs(found) > 1e-3
    with pytest.raises(jd.InputError, match="cannot all change on their own"):
        run.gradient(end, ["motor", "pin"])
