"""method="auto": an explicit and an implicit method in turns, by the steps' own estimate."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import jourdain as jd
from jourdain.library import n_four_bar, slider_crank, stiff_governor


def damped(rate: float = 1e5) -> jd.Model:
    """A mass in honey, moved by an input; after some ten seconds the honey is gone."""
    m = jd.Model("honey", gravity=(0, 0, 0))
    rail = m.prismatic("rail", m.ground, m.body("a", mass=1.0), axis="x")
    push = m.input("push", 1.0, unit="N")
    m.force(rail, lambda x, v, t: (0.1 + 0.5 * rate * (1.0 - jd.tanh(5.0 * (t - 8.0)))) * (jd.sin(t) - v) + push)
    return m


def after_start(sol: jd.Solution) -> list[dict[str, object]]:
    """The turns that a run took; without a trial of implicit steps at its start that was given up."""
    turns: list[dict[str, object]] = sol.metadata["turns"]
    given_up = len(turns) > 2 and turns[1]["t"] == 0.0 and turns[1]["left"] == "it took more work"
    return turns[2:] if given_up else turns


WAYS = [{}, {"formulation": "cartesian"}, {"formulation": "natural"}, {"formulation": "semi-recursive"}]


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_stiff_stretches_are_run_implicitly_and_others_explicitly(way: dict[str, str]) -> None:
    s = damped().compile(**way)
    start = {"rail.displacement_rate": 1.0}
    sol = s.simulate(start, t=40.0, method="auto", inputs={"push": lambda t: jd.cos(t)})
    turns = [(turn["method"], turn.get("left", "")) for turn in after_start(sol)]
    assert turns[:3] == [("dopri5", "stiff"), ("radau", "no longer stiff"), ("dopri5", "")]
    assert after_start(sol)[2]["t"] > 8.0 and sol.metadata["method"] == "auto"
    assert sol.statistics["steps"] < 3000
    exact = s.simulate(start, t=40.0, method="radau", rtol=1e-10, atol=1e-12, inputs={"push": lambda t: jd.cos(t)})
    times = np.linspace(0.0, 40.0, 41)
    for name in ("rail.displacement", "rail.displacement_rate"):
        assert sol.at(times)[name] == pytest.approx(exact.at(times)[name], abs=2e-6)
    assert sol["energy.error"][-1] == pytest.approx(0.0, abs=1e-3 * np.abs(sol["energy.supplied"]).max())


@pytest.mark.parametrize("method", [None, "auto"])
@pytest.mark.parametrize("way", [{}, {"reduction": "reduced"}, {"formulation": "cartesian"}, {"formulation": "semi-recursive"}], ids=str)
def test_what_is_not_stiff_is_the_explicit_run(way: dict[str, str], method: str | None) -> None:
    s = n_four_bar(1).compile(**way)
    start = s.assemble({s.coordinate_names[0]: 1.0}, velocities={s.velocity_names[0]: 2.0})
    auto, plain = s.simulate(start, t=1.0, method=method), s.simulate(start, t=1.0, method="dopri5")
    assert np.array_equal(auto.t, plain.t)
    assert all(np.array_equal(auto[n], plain[n]) for n in s.coordinate_names)
    assert auto.metadata["method"] == "dopri5" and "turns" not in auto.statistics


def hard_spring() -> jd.Model:
    m = jd.Model("hard spring", gravity=(0, 0, 0))
    rail = m.prismatic("rail", m.ground, m.body("mass", mass=1.0), axis="x")
    m.joint_spring(rail, stiffness=m.parameter("k", 1e9, unit="N/m"), damping=1e5)
    m.force(rail, lambda x, v, t: 1e3 * jd.sin(2.0 * t))
    return m


def test_the_default_leaves_explicit_steps_where_they_are_held_up() -> None:
    s = hard_spring().compile()
    sol = s.simulate(t=5.0)
    assert [turn["method"] for turn in sol.statistics["turns"]] == ["dopri5", "radau"]
    assert sol.statistics["steps"] < 300
    assert sol["rail.displacement"][-1] == pytest.approx(1e-6 * np.sin(10.0), rel=1e-3)
    assert s.sweep(None, 5.0, parameters={"k": [1e9, 2e9]}, outputs=["rail.displacement"], progress=False)[
        "rail.displacement"
    ] == pytest.approx([1e-6 * np.sin(10.0), 5e-7 * np.sin(10.0)], rel=1e-3)
    with pytest.raises(jd.InputError, match=r"found by methods in turns; simulate it with one, as method='dopri5'"):
        s.simulate(t=5.0, steps=sol)
    with pytest.raises(jd.SimulationError, match="150 steps reached"):
        s.simulate(t=5.0, max_steps=150, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("rtol", [1e-4, 1e-6, 1e-8])
def test_what_decays_fast_is_implicit_from_the_start(rtol: float) -> None:
    """By counts: four differences of f are all that the default takes more than "radau" where it takes the first step."""
    s = hard_spring().compile()
    auto, implicit = (s.simulate(t=5.0, method=method, rtol=rtol, atol=1e-2 * rtol) for method in ("auto", "radau"))
    assert [turn["t"] for turn in auto.statistics["turns"]] == [0.0, 0.0]
    assert auto.statistics["rhs"] <= implicit.statistics["rhs"] + 6 and auto.statistics["steps"] == implicit.statistics["steps"]


def test_what_vibrates_is_not_implicit_from_the_start() -> None:
    s = jd.library.spring_pendulum(stiffness=1e6).compile()
    sol = s.simulate({"mass.x": 1.0}, 1.0)
    assert all(turn["t"] > 0.0 for turn in sol.statistics.get("turns", [])[1:])


def work(sol: jd.Solution, n: int) -> float:
    """The work of a run in evaluations: implicit stages cost about two with their solutions, Jacobians and factors by the number of states."""
    st = sol.statistics
    return float(
        st["rhs"] * (2.0 if st["factorizations"] else 1.0) + st["jacobians"] * (2.0 + 0.3 * n) + st["factorizations"] * (1.0 + 0.01 * n**2)
    )


@pytest.mark.parametrize("rtol", [1e-4, 1e-6, 1e-8])
@pytest.mark.parametrize("name", ["A01", "A05", "B10p", "hard spring"])
def test_work_of_the_better_method(name: str, rtol: float) -> None:
    """By counts: turns cost little more than the better method alone, whichever that is."""
    from benchmarks.problems import PROBLEMS

    if name == "hard spring":
        s = hard_spring().compile()
        start, end = s.state({}), 5.0
    else:
        p = PROBLEMS[name]
        s, start, end = p.system, p.system.state(p.start(p.system)), float(p.times[-1] - p.times[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        auto, explicit, implicit = (s.simulate(start, end, m, rtol=rtol, atol=1e-2 * rtol, outputs=2) for m in ("auto", "dopri5", "radau"))
    n = len(start.x)
    # some counts at the limit of stability and the beginning of implicit steps are what nobody who knows the problem would do
    assert work(auto, n) < 1.1 * min(work(explicit, n), work(implicit, n)) + 800.0
    if "turns" not in auto.statistics:
        assert all(np.array_equal(auto[x], explicit[x]) for x in s.coordinate_names)


def test_an_undamped_vibration_does_not_bring_explicit_steps_back() -> None:
    """Implicit steps damp what explicit ones would have to follow: that it cannot be seen any more is no reason to return."""
    m = jd.library.spring_pendulum(stiffness=1e6)
    s = m.compile()
    for rtol in (1e-4, 1e-6):
        sol = s.simulate({"mass.x": 1.0}, 5.0, rtol=rtol, atol=1e-2 * rtol)
        assert [turn["method"] for turn in sol.statistics["turns"]] == ["dopri5", "radau"]
        exact = s.simulate({"mass.x": 1.0}, 5.0, "radau", rtol=1e-11, atol=1e-13)
        for x in s.coordinate_names:
            assert sol[x][-1] == pytest.approx(exact[x][-1], abs=100.0 * rtol)


def test_a_probe_that_does_not_pay_leaves_no_trace() -> None:
    """A long run that is not stiff is that of the explicit method to the last bit; what was tried is counted."""
    m = jd.Model("long")
    m.revolute("hinge", m.ground, m.body("bob", mass=1.0, com=(0, 0, -1.0)), axis="y")
    s = m.compile()
    auto, plain = (s.simulate({"hinge.angle": 2.0}, 400.0, method) for method in ("auto", "dopri5"))
    assert auto.metadata["method"] == "dopri5" and "turns" not in auto.statistics
    assert np.array_equal(auto.t, plain.t) and np.array_equal(auto["hinge.angle"], plain["hinge.angle"])
    assert plain.statistics["rhs"] < auto.statistics["rhs"] < 1.05 * plain.statistics["rhs"]
    assert plain.statistics["factorizations"] == 0 < auto.statistics["factorizations"]


def test_pieces_between_two_instants_that_are_kept() -> None:
    """Stiff at first, then not: the pieces in the middle have no rows of their own."""
    m = jd.Model("stiff for a while", gravity=(0, 0, 0))
    rail = m.prismatic("rail", m.ground, m.body("mass", mass=1.0), axis="x")
    m.force(rail, lambda x, v, t: -1e5 * v * (1.0 - jd.tanh(40.0 * (t - 1.0))) / 2.0 - 400.0 * x)
    s = m.compile()
    start, times = s.state({"rail.displacement": 1.0}), np.array([0.0, 3.0])
    every = s.simulate(start, 3.0)
    turned = [turn["method"] for turn in after_start(every)]
    assert turned[:2] == ["dopri5", "radau"] and turned[-1] == "dopri5" and len(turned) < 7
    for _ in range(2):
        few = s.simulate(start, 3.0, times=times, dense=True)
        assert few.statistics["turns"] == every.statistics["turns"]
        for name in ("rail.displacement", "rail.displacement_rate"):
            np.testing.assert_array_equal(few[name], every[name][[0, -1]])
            np.testing.assert_array_equal(few.at([0.5, 1.5])[name], every.at([0.5, 1.5])[name])
        assert len(s.simulate(start, 3.0, times=times)["energy.dissipated"]) == 2


def test_a_run_with_little_left_to_do_keeps_its_method() -> None:
    s = hard_spring().compile()
    assert s.simulate(t=0.005).metadata["method"] == "dopri5"


@pytest.mark.parametrize(
    "way",
    [{}, {"reduction": "reduced"}, {"reduction": "closed"}, *WAYS[1:], {"formulation": "semi-recursive", "reduction": "null-space"}],
    ids=str,
)
def test_closed_loops_take_turns_in_every_formulation(way: dict[str, str]) -> None:
    m = slider_crank()
    m.force(m.joints["crank"], lambda q, v, t: 20.0 * (5.0 - v))
    s = m.compile(**way)
    sol = s.simulate(s.assemble({"crank.angle": 0.3}), t=2.0)
    assert [turn["method"] for turn in after_start(sol)] == ["dopri5", "radau"]
    exact = m.compile().simulate(m.compile().assemble({"crank.angle": 0.3}), t=2.0, method="radau", rtol=1e-11, atol=1e-13)
    for name in ("crank.angle", "piston.displacement", "crank.angle_rate"):
        assert sol[name][-1] == pytest.approx(exact[name][-1], abs=1e-7)


def test_what_implicit_steps_cannot_do_is_done_explicitly(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(self: object) -> None:
        raise jd.InputError("no derivatives")

    s = hard_spring().compile()
    monkeypatch.setattr("jourdain.systems.tree.projected.NativeSystem.derivatives", broken)
    auto = s.simulate(t=1.0)
    assert [turn["method"] for turn in auto.metadata["turns"]] == ["dopri5", "radau", "dopri5"]
    assert auto.metadata["turns"][1]["left"] == "no derivatives"
    assert auto["rail.displacement"][-1] == pytest.approx(1e-6 * np.sin(2.0), rel=1e-3)


def test_laws_called_in_python_have_no_derivatives() -> None:
    m = jd.Model("called", gravity=(0, 0, 0))
    rail = m.prismatic("rail", m.ground, m.body("mass", mass=1.0), axis="x")
    m.force(rail, m.callback("law", lambda v, t: -2e3 * v + 1e3 * np.sin(t), [rail.velocity, m.time]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        sol = m.compile().simulate(t=2.0)
    assert sol.metadata["method"] == "dopri5"


def test_gradients_walk_along_explicit_steps() -> None:
    m = hard_spring()
    plan = jd.Analysis(m.compile(), "simulate", t=0.05)
    found = plan.gradient({"end": jd.criteria.final("rail.displacement")}, wrt=["k"], method="forward")
    assert found["end", "k"] == pytest.approx(-1e-15 * np.sin(0.1), rel=1e-2)
    assert plan.run().metadata["method"] == "auto" and plan.keeping_steps().run().metadata["method"] == "dopri5"


def test_penalty_contacts_of_runs_in_turns_are_told() -> None:
    m = jd.Model("ball")
    m.ground.shapes.append(jd.plane())
    ball = m.body("ball", shape=jd.sphere(0.05, density=1000.0))
    m.free("free", m.ground, ball)
    m.contact("floor", ball, m.ground, law=jd.contact.kelvin_voigt(stiffness=1e7, damping=1e4))
    sol = m.compile().simulate({"free.z": 0.05}, t=1.0)
    assert [turn["method"] for turn in sol.statistics["turns"]][:2] == ["dopri5", "radau"]
    (touch,) = sol.contacts.at(0.9)
    assert np.linalg.norm(touch.force) == pytest.approx(9.81 * 1000.0 * 4.0 / 3.0 * np.pi * 0.05**3, rel=1e-6)


def test_the_same_bits_from_run_to_run_and_across_a_restart() -> None:
    s, start = (
        stiff_governor().compile(),
        {
            "slide": 0.5,
            "right": np.pi / 6,
            "left": np.pi / 6,
            "shaft.angle_rate": 2.0 * np.pi,
        },
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        one, two = (s.simulate(start, t=10.0, method="auto") for _ in range(2))
        half = s.simulate(start, t=5.0, method="auto")
        rest = s.simulate(half, t=5.0, method="auto")
        exact = s.simulate(start, t=10.0, method="radau", rtol=1e-11, atol=1e-13)
    assert len(one.metadata["turns"]) > 1
    assert np.array_equal(one.t, two.t)
    name = s.coordinate_names[0]
    assert np.array_equal(one[name], two[name])
    assert rest[name][-1] == pytest.approx(exact[name][-1], abs=1e-5)
    assert one[name][-1] == pytest.approx(exact[name][-1], abs=1e-5)


def test_controllers_memories_and_events_go_on_from_turn_to_turn() -> None:
    m = damped()
    rail = m.joints["rail"]
    m.memory("far", 0.0, lambda before: jd.maximum(before, rail.position))
    m.event("passed", rail.position - 1.0, direction=1)
    s = m.compile()
    asked: list[float] = []

    def law(state: jd.State) -> float:
        asked.append(state.t)
        return float(np.cos(state.t))

    sol = s.simulate({}, t=15.0, method="auto", inputs={"push": jd.Controller(law, period=0.01)})
    turned = [turn["method"] for turn in after_start(sol)]
    assert turned[:2] == ["dopri5", "radau"] and turned[-1] == "dopri5" and len(turned) < 7
    assert asked == pytest.approx(0.01 * np.arange(1500), abs=1e-9)
    assert sol["far"][-1] == pytest.approx(sol["rail.displacement"].max(), abs=1e-6)
    assert [e.name for e in sol.events][:1] == ["passed"]
    assert np.all(np.diff(sol["far"]) >= 0.0)


def test_where_there_are_no_turns_to_take_it_is_refused() -> None:
    with pytest.raises(jd.InputError, match=r"'auto' changes between 'dopri5' and 'radau', which the formulation 'directors' has not"):
        damped().compile(formulation="directors").simulate({}, t=1.0, method="auto")
    s = damped().compile()
    with pytest.raises(jd.InputError, match="steps= cannot be given with method='auto'"):
        s.simulate({}, t=1.0, method="auto", steps=[0.0, 1.0])
    with pytest.raises(jd.InputError, match="auto"):
        s.stepper({}, step=1e-3, method="auto")
