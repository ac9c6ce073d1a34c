"""Memory kept from run to run: what a run gives never depends on the runs before it."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import jourdain as jd
from jourdain import library
from jourdain.solvers.ode.methods.tableaus import DORMAND_PRINCE


def spring_mass() -> jd.Model:
    m = jd.Model("spring and mass", gravity=(0, 0, 0))
    push = m.input("push", 0.0, unit="N")
    slide = m.prismatic("slide", m.ground, m.body("block", mass=2.0), axis="x")
    m.force(slide, lambda x, v, t: push - 8.0 * x)
    return m


def four_bar_state(system, angle: float):
    return system.assemble({"A0": angle}, velocities={"A0": -1.0})


def test_parameters_changed_between_runs_count():
    s = library.pendulum().compile()
    first = s.simulate({"hinge.angle": 0.3}, 2.0)["hinge.angle"][-1]
    s.set_parameters(length=2.0)
    changed = s.simulate({"hinge.angle": 0.3}, 2.0)["hinge.angle"][-1]
    fresh = library.pendulum().compile()
    fresh.set_parameters(length=2.0)
    assert changed == fresh.simulate({"hinge.angle": 0.3}, 2.0)["hinge.angle"][-1] != first
    s.set_parameters(length=1.0)
    assert s.simulate({"hinge.angle": 0.3}, 2.0)["hinge.angle"][-1] == first


def test_inputs_are_those_of_the_run():
    """x = F/k (1 − cos ωt) with ω = 2 rad/s."""
    s = spring_mass().compile()
    runs = {push: s.simulate({}, 1.0, rtol=1e-10, inputs={"push": push}) for push in (8.0, 0.0, -4.0)}
    for push, sol in runs.items():
        assert sol["slide.displacement"][-1] == pytest.approx(push / 8 * (1 - np.cos(2.0)), abs=1e-9)
        np.testing.assert_array_equal(sol["push"], push)
        np.testing.assert_array_equal(sol.at(0.3)["push"], push)
    assert s.simulate({}, 1.0)["slide.displacement"][-1] == 0.0


def test_metadata_read_late_are_those_of_the_run():
    s = library.pendulum().compile()
    sol = s.simulate({"hinge.angle": 0.3}, 0.5)
    before = s.parameters
    s.set_parameters(length=3.0)
    assert sol.metadata["parameters"] == before
    assert sol.statistics["steps"] > 0


def test_a_run_is_the_same_whatever_ran_before():
    s = library.n_four_bar(8).compile()  # its sixteen constraints are eliminated front by front
    a, b = four_bar_state(s, 0.2), four_bar_state(s, -0.7)
    runs = [s.simulate(x, 1.0)["A0.angle"] for x in (a, b, a)]
    fresh = library.n_four_bar(8).compile()
    np.testing.assert_array_equal(runs[0], runs[2])
    np.testing.assert_array_equal(runs[1], fresh.simulate(four_bar_state(fresh, -0.7), 1.0)["A0.angle"])


def linkage() -> jd.System:
    return library.n_four_bar(2).compile(reduction="reduced")


def test_independent_coordinates_remember_nothing_of_another_run():
    s = linkage()
    a, b = four_bar_state(s, 0.2), four_bar_state(s, -0.7)
    options = {"repartition": 5, "outputs": 7}  # the choice changes on the way
    runs = [s.simulate(x, 1.0, **options) for x in (a, b, a)]
    fresh = linkage()
    np.testing.assert_array_equal(runs[0]["A0.angle"], runs[2]["A0.angle"])
    np.testing.assert_array_equal(runs[1]["A0.angle"], fresh.simulate(four_bar_state(fresh, -0.7), 1.0, **options)["A0.angle"])
    assert len(s._idle["reduced"]) == 1 and runs[0].metadata["switches"] > 0
    s.set_parameters(length=1.3)
    changed = linkage()
    changed.set_parameters(length=1.3)
    ends = [x.simulate(four_bar_state(x, 0.2), 1.0, **options)["A0.angle"] for x in (s, changed)]
    np.testing.assert_array_equal(*ends)
    other = s.simulate(four_bar_state(s, 0.2), 1.0, independent=["A1"], repartition=False)
    assert other.metadata["independent"] == ["A1.angle"]


def test_a_full_state_belongs_to_its_inputs():
    """Two wheels in friction, the difference of their rates an input that jumps: the same instant and independent state, another velocity."""
    m = jd.Model("driven pair", gravity=(0, 0, 0))
    slip = m.input("slip", 0.3)
    a = m.revolute("a", m.ground, m.body("first", mass=1.0, inertia=(0.1, 0.1, 0.1)), axis="z")
    b = m.revolute("b", m.ground.at(1, 0, 0), m.body("second", mass=1.0, inertia=(0.1, 0.1, 0.1)), axis="z")
    m.nonholonomic("tie", b.velocity - 0.5 * a.velocity - slip)
    s = m.compile()
    start = s.assemble({"a": 0.2}, velocities={"a": 1.0})
    assert start["b.angle_rate"] == pytest.approx(0.8, abs=1e-12)
    controller = jd.Controller(lambda x: 0.3 if x.t < 0.25 else 0.4, 0.1)
    run = s.simulate(start, 0.5, reduction="reduced", independent=["a"], inputs={"slip": controller}, times=[0.1, 0.29, 0.31, 0.5])
    np.testing.assert_allclose(run["b.angle_rate"] - 0.5 * run["a.angle_rate"], [0.3, 0.3, 0.4, 0.4], atol=1e-12)


def test_solutions_keep_their_rows_when_memory_is_used_again():
    s = library.pendulum().compile()
    first = s.simulate({"hinge.angle": 0.3}, 1.0)
    kept = first.restart.x.copy()
    rows = first["hinge.angle"].copy()
    s.simulate({"hinge.angle": -1.3}, 1.0)
    np.testing.assert_array_equal(first["hinge.angle"], rows)
    np.testing.assert_array_equal(first.restart.x, kept)
    whole = s.simulate({"hinge.angle": 0.3}, 2.0)["hinge.angle"][-1]
    assert s.simulate(first, 1.0)["hinge.angle"][-1] == pytest.approx(whole, abs=1e-7)


def test_a_pickled_system_leaves_its_addresses_behind():
    s = library.n_four_bar(2).compile()
    start = four_bar_state(s, 0.2)
    end = s.simulate(start, 0.5)["A0.angle"][-1]
    again = pickle.loads(pickle.dumps(s))
    assert again._idle == {}
    assert again.simulate(four_bar_state(again, 0.2), 0.5)["A0.angle"][-1] == end


@pytest.mark.parametrize("reduction", ["projected", "reduced", "closed"])
def test_one_system_on_several_threads(reduction):
    s = library.n_four_bar(2).compile(reduction=reduction)
    starts = [four_bar_state(s, angle) for angle in np.linspace(-0.5, 0.5, 8)]
    alone = [s.simulate(x, 1.0)["A0.angle"][-1] for x in starts]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda x: s.simulate(x, 1.0)["A0.angle"][-1], starts * 3)) == alone * 3


def swing_with_stop() -> jd.Model:
    """A pendulum that strikes a wall, driven by an input; a mark is noted on the way."""
    m = jd.Model("swing with stop")
    push = m.input("push", 0.0, unit="N m")
    bob = m.body("bob", mass=1.0, com=(0, 0, -1))
    hinge = m.revolute("hinge", m.ground, bob, axis="y")
    m.force(hinge, lambda q, v, t: push - 0.1 * v)
    angle, rate = hinge.position, hinge.velocity
    m.event("wall", angle + 0.3, direction=-1, jump={rate: -0.6 * rate})
    m.event("end", angle - 1.5, direction=1, terminal=True)
    return m


def counting_swing() -> jd.Model:
    """A pendulum that its largest angle brakes, which a memory notes."""
    m = jd.Model("counting swing")
    hinge = m.revolute("hinge", m.ground, m.body("bob", mass=1.0, com=(0, 0, -1)), axis="y")
    top = m.memory("top", 0.0, lambda top: jd.maximum(top, hinge.position))
    m.force(hinge, lambda q, v, t: -(0.5 + top) * v)
    m.event("below", hinge.position, direction=-1)
    return m


#: Settings of runs, one after the other in any order.
SETTINGS = [
    {}, {"rtol": 1e-5}, {"rtol": 1e-11, "atol": 1e-13}, {"method": "dop853"}, {"method": "adams"}, {"method": "rosenbrock"}, {"method": "radau"},
    {"method": "rk4", "step": 0.02}, {"method": "heun", "step": 0.01}, {"method": "heun", "step": 0.02}, {"step": 1e-4}, {"max_step": 0.005},
    {"outputs": 9}, {"outputs": 300}, {"times": [0.1, 0.5]}, {"outputs": 9, "dense": True}, {"dense": False},
    {"method": DORMAND_PRINCE}, {"rtol": np.float64(1e-6)}, {"method": "generalized-alpha", "step": 0.01}, {"method": "generalized-alpha"},
    {"method": "generalized-alpha", "step": 0.01, "rho": 0.5}, {"method": "hht", "step": 0.02, "outputs": 9},
]  # fmt: skip
MODELS = {
    "pendulum": (library.pendulum, {"hinge.angle": 0.7}),
    "free body": (lambda: library.free_body(gravity=1.0), {}),
    "swing": (swing_with_stop, {"hinge.angle": 1.0}),
    "four-bar": (library.four_bar, None),
    "counting swing": (counting_swing, {"hinge.angle": 0.7}),
}


def told(solution) -> list[np.ndarray]:
    """Everything that a run has given, as arrays."""
    names = [n for n in solution.names if n.rpartition(".")[2] in ("angle", "angle_rate", "displacement", "push", "q0", "wx", "top")]
    work = [solution.statistics[n] for n in ("steps", "rejected", "rhs", "events")]
    inner = solution.restart.inner
    between = [solution.at(0.37 * solution.t[-1])[n] for n in names]
    memory = inner.part("work") if inner.memory is not None else np.zeros(0)
    return [solution.t, *(solution[n] for n in names), np.array(work), np.array(between), solution.restart.x, inner.x, memory]


@pytest.mark.parametrize("name", MODELS)
def test_any_order_of_settings_gives_what_a_fresh_system_gives(name):
    build, given = MODELS[name]
    s = build().compile()
    start = s.assemble({"crank.angle": 0.9}, velocities={"crank.angle_rate": 3.0}) if given is None else s.state(given)
    rng = np.random.default_rng(7)
    found = []
    for k in rng.integers(0, len(SETTINGS), 60):
        options = dict(SETTINGS[k])
        if name == "swing":
            options["inputs"] = {"push": float(rng.choice([0.0, 0.5, -0.5]))}
        span = float(rng.choice([0.6, 1.1]))
        with np.errstate(all="ignore"):
            found.append((k, dict(options), span, s.simulate(start, span, **options)))
        if rng.random() < 0.2:  # and one that goes on in between
            options.pop("times", None)
            s.simulate(found[-1][-1], 0.2, **options)
    assert len({k for k, *_ in found}) > 12
    for _, options, span, solution in found:
        fresh = s.copy().simulate(start, span, **options)
        for got, expected in zip(told(solution), told(fresh), strict=True):
            np.testing.assert_array_equal(got, expected, err_msg=str(options))


def test_settings_that_change_between_runs_take_effect():
    s = library.pendulum().compile()
    start = s.state({"hinge.angle": 1.0})
    loose, tight, loose_again = (s.simulate(start, 3.0, rtol=rtol) for rtol in (1e-4, 1e-10, 1e-4))
    assert loose.statistics["steps"] == loose_again.statistics["steps"] < tight.statistics["steps"] / 2
    assert np.diff(s.simulate(start, 3.0, max_step=0.01).t).max() < 0.01001 < np.diff(s.simulate(start, 3.0).t).max()
    with pytest.raises(jd.SimulationError, match="5 steps"):
        s.simulate(start, 3.0, max_steps=5)
    assert s.simulate(start, 3.0).t[-1] == 3.0
    np.testing.assert_array_equal(s.simulate(start, 3.0, outputs=4).t, [0.0, 1.0, 2.0, 3.0])
    first = s.simulate(start, 1.0)
    s.simulate(start, 1.0, max_step=0.01)
    bounded = s.simulate(first, 2.0, max_step=0.01)  # the memory of a run goes on under the settings of the next
    assert np.diff(bounded.t).max() < 0.01001 < np.diff(s.simulate(first, 2.0).t).max()


def test_events_that_were_pending_at_the_end_of_a_run_are_forgotten():
    """Two guards cross together, one ends the run; the next run starts on the other side of both."""
    m = jd.Model("marks", gravity=(0, 0, 0))
    slide = m.prismatic("slide", m.ground, m.body("block", mass=1.0), axis="x")
    m.event("mark", slide.position**3 - 1.3, jump={slide.velocity: 0.5 * slide.velocity})
    m.event("end", slide.position**3 - 1.3, terminal=True)
    s = m.compile()
    up, beyond = s.state({}, {"slide.displacement": 1.0}), s.state({"slide.displacement": 1.5}, {"slide.displacement": 1.0})
    assert s.simulate(up, 3.0).t[-1] == pytest.approx(1.3 ** (1 / 3))
    assert s.simulate(beyond, 3.0).final["slide.displacement"] == pytest.approx(4.5)


def test_many_settings_are_not_all_kept():
    s = library.pendulum().compile()
    start = s.state({"hinge.angle": 1.0})
    for rtol in np.geomspace(1e-9, 1e-4, 40):
        s.simulate(start, 0.5, rtol=float(rtol))
    (native,) = s._idle["native"]
    assert 1 <= len(native.drives) <= 32
    s.simulate(start, 2000.0, rtol=1e-12, method="dop853")
    assert all(drive.session.is_small for drive in native.drives.values())


@pytest.mark.parametrize("closed", [False, True], ids=["free", "closed loop"])
def test_books_of_large_systems_are_made_by_parts(closed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Mass matrices at all rows of a run of hundreds of bodies would fill the memory: rows in parts, or accelerations without matrices, give the same books."""
    from jourdain.systems.outputs import reactions

    def books() -> np.ndarray:
        m = jd.Model("pair", gravity=(0, 0, -9.81))
        bodies = [m.body(f"b{i}", mass=1.0 + i, inertia=(0.1, 0.1, 0.1)) for i in range(2)]
        hinges = [
            m.revolute(f"h{i}", m.ground.at(float(i), 0.0, 0.0), b.frame("top", position=(0, 0, 1)), axis="y") for i, b in enumerate(bodies)
        ]
        m.force(hinges[0], lambda q, v, t: -0.3 * v)
        if closed:
            m.rod("rod", bodies[0], bodies[1], length=1.0)
        sol = m.compile().simulate({"h0": 0.4, "h1": 0.4}, 0.3, method="rk4", step=0.01, outputs=31)
        return np.array([sol["energy.dissipated"], sol["energy.error"]])

    whole = books()
    monkeypatch.setattr(reactions, "MOST_NUMBERS", 20)
    assert books() == pytest.approx(whole, abs=1e-12)


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads the memory of a process on Linux")
def test_the_work_of_an_implicit_method_is_not_touched_before_it_is_used() -> None:
    """The default method has room for a Jacobian and its factors, 289 MB with 3 000 states; runs that never need them do not occupy it."""
    from jourdain.solvers import load_method
    from jourdain.solvers.ode.session import Session

    def resident() -> float:
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6

    method = load_method("auto")
    Session(method, 3)
    before = resident()
    session = Session(method, 3000)
    assert session.block.nbytes > 2e8
    assert resident() - before < 20.0
