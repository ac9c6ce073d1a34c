"""Many short runs in one native loop: the bits of single runs, and single runs where these are needed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jourdain as jd
from jourdain import criteria as cr
from jourdain import library
from jourdain.analysis.design.search import Looks
from jourdain.analysis.gradients.many import Many


def pendulum() -> jd.Model:
    m = jd.Model("pendulum")
    rod = m.body("rod", mass=m.parameter("mass", 1.0, bounds=(0.2, 3.0)), com=(0, 0, -0.5), inertia=(0.02, 0.02, 0.02))
    hinge = m.revolute("hinge", m.ground, rod, axis="y")
    m.force(hinge, -m.parameter("d", 0.3, bounds=(0.0, 2.0)) * hinge.velocity)
    lag = m.state("lag", 0.0)
    m.rate(lag, m.parameter("k", 2.0, bounds=(0.5, 4.0)) * (hinge.position - lag))
    return m


CRITERIA = {
    "way": cr.integral("w*hinge.angle_rate^2", w=2.0), "size": cr.rms("hinge.angle"), "end": cr.final("lag"), "mid": cr.at(0.123, "hinge.angle"),
    "push": cr.mean("hinge.angle_acc^2"), "fit": cr.least_squares("hinge.angle", [0.05, 0.2, 0.4], [0.9, 0.7, 0.2]), "top": cr.largest("hinge.angle_rate", smooth=8),
}  # fmt: skip


def designs(count: int, seed: int = 1) -> list[dict[str, float]]:
    rng = np.random.default_rng(seed)
    return [
        {"mass": float(m), "d": float(d), "k": float(k), "hinge.angle": float(a)} for m, d, k, a in rng.uniform(0.5, 1.5, size=(count, 4))
    ]


@pytest.mark.parametrize("options", [{}, {"method": "dop853", "rtol": 1e-10}, {"method": "adams"}, {"max_step": 0.01}, {"method": "bs32"}])
def test_the_bits_of_single_runs(options: dict[str, Any]) -> None:
    run = jd.Analysis(pendulum().compile(), "simulate", {"hinge.angle": 1.0}, t=0.4, **options)
    loop = Many.of(run, CRITERIA)
    given = designs(12)
    if options.get("method") == "adams":  # whose steps are walked along by another method
        assert loop is None
        return
    assert loop is not None
    found = loop.evaluate(given)
    assert found == [run.evaluate(CRITERIA, d) for d in given]
    assert loop.evaluate(given[::-1]) == found[::-1] and run.evaluate(CRITERIA, given[3]) == found[3]
    assert run.evaluate(CRITERIA) == Many.of(run, CRITERIA).evaluate([{"mass": 1.0}])[0]  # type: ignore[union-attr]


def test_other_parameters_of_the_system_are_taken() -> None:
    s = pendulum().compile()
    run = jd.Analysis(s, "simulate", {"hinge.angle": 1.0}, t=0.4)
    before = Many.of(run, CRITERIA)
    assert before is not None
    first = before.evaluate([{"d": 0.5}])
    s.set_parameters(mass=2.0)
    after = Many.of(run, CRITERIA)
    assert after is not before and after is not None
    assert after.evaluate([{"d": 0.5}]) == [run.evaluate(CRITERIA, {"d": 0.5})] != first


def ball() -> jd.Model:
    m = jd.Model("ball")
    z = m.prismatic("z", m.ground, m.body("ball", mass=m.parameter("mass", 1.0)), axis="z")
    m.force(z, -m.parameter("drag", 0.1) * z.velocity)
    m.event("hit", z.position, direction=-1, jump={z.velocity: -m.parameter("e", 0.8) * z.velocity})
    m.event("fast", z.velocity + m.parameter("most", 9.0), direction=-1, terminal=True)
    m.event("top", z.velocity, direction=-1)
    return m


FALLS = {
    "up": cr.largest("z.displacement_rate"), "low": cr.smallest("z.displacement"), "high": cr.largest("z.displacement"), "push": cr.largest("abs(z.displacement_acc)"),
    "second": cr.event_time("hit", count=2), "way": cr.integral("abs(z.displacement_rate)"), "size": cr.mean("z.displacement^2"), "end": cr.final("z.displacement"),
    "when": cr.end_time(),
}  # fmt: skip


def thrown(count: int, most: float = 9.0) -> list[dict[str, float]]:
    rng = np.random.default_rng(3)
    return [
        {"e": float(e), "drag": float(d), "z.displacement": float(h), "z.displacement_rate": float(v), "most": most}
        for e, d, h, v in rng.uniform((0.85, 0.0, 0.3, 0.0), (0.95, 0.4, 0.8, 1.0), size=(count, 4))
    ]


def single(run: jd.Analysis, criteria: Any, design: dict[str, float]) -> dict[str, float] | None:
    try:
        return run.evaluate(criteria, design)
    except jd.JourdainError:
        return None


def test_events_jumps_and_extrema_have_the_bits_of_single_runs() -> None:
    run = jd.Analysis(ball().compile(), "simulate", {"z.displacement": 1.0}, t=1.5)
    loop = Many.of(run, FALLS)
    assert loop is not None
    given = thrown(16)
    found = loop.evaluate(given)
    assert found == [run.evaluate(FALLS, d) for d in given] and loop.evaluate(given[::-1]) == found[::-1]
    assert len({round(f["second"], 3) for f in found if f}) > 10


def test_runs_that_an_event_ends_and_those_that_miss_one() -> None:
    """Ends before an instant that is asked for, and events that do not happen, are left to single runs, which tell them."""
    run = jd.Analysis(ball().compile(), "simulate", {"z.displacement": 1.0}, t=1.5)
    ends = {n: FALLS[n] for n in ("up", "way", "size", "end", "when")}
    given = thrown(16, most=3.2)
    loop = Many.of(run, ends)
    assert loop is not None
    found = loop.evaluate(given)
    assert found == [run.evaluate(ends, d) for d in given] and 3 < sum(f["when"] < 1.5 for f in found if f) < 16
    asked = {"mid": cr.at(1.1, "z.displacement"), "second": cr.event_time("hit", count=2)}
    loop = Many.of(run, asked)
    assert loop is not None
    found = loop.evaluate(given)
    assert found == [single(run, asked, d) for d in given] and 0 < sum(f is None for f in found) < 16


def test_a_guard_that_may_be_passed_over_is_looked_at_alone() -> None:
    m = pendulum()
    m.event("blink", jd.sin(m.parameter("w", 1.0) * m.time - 0.3))
    run = jd.Analysis(m.compile(), "simulate", {"hinge.angle": 1.0}, t=0.4, max_step=0.1)
    criteria = {"way": CRITERIA["way"]}
    slow, fast = [{"w": 3.0}, {"w": 8.0}], [{"w": 900.0}]
    loop = Many.of(run, criteria)
    assert loop is not None and loop.evaluate(slow) == [run.evaluate(criteria, d) for d in slow]
    with pytest.warns(RuntimeWarning, match="passed over"):
        run.evaluate(criteria, fast[0])
    assert loop.evaluate([*slow, *fast])[2] is None


def test_closed_loops_that_no_variable_moves() -> None:
    m = library.four_bar()
    crank = m.joints["crank"]
    m.force(crank, -m.parameter("k", 3.0) * crank.position - m.parameter("c", 0.2) * crank.velocity)
    m.event("turn", crank.velocity, jump={crank.velocity: 0.9 * crank.velocity + 0.3})
    run = jd.Analysis(m.compile(), "simulate", {"crank.angle": 1.0}, t=0.5)
    criteria = {
        "way": cr.integral("crank.angle_rate^2"), "big": cr.largest("rocker.angle"), "low": cr.smallest("coupler.angle_rate"), "acc": cr.rms("crank.angle_acc"),
    }  # fmt: skip
    loop = Many.of(run, criteria)
    assert loop is not None and loop.carries(["k", "c"])
    assert not loop.carries(["k", "crank.angle"]) and not loop.carries(["coupler"])  # a start, and the length of a link
    given = [{"k": float(k), "c": float(c)} for k, c in np.random.default_rng(2).uniform((1.0, 0.05), (5.0, 1.0), size=(6, 2))]
    found = loop.evaluate(given)
    assert found == [run.evaluate(criteria, d) for d in given] and loop.evaluate(given[::-1]) == found[::-1]


def test_runs_that_python_must_look_at_are_none_of_it() -> None:
    for change in ("memory", "fixed step", "controller", "nothing"):
        m = pendulum()
        hinge = m.joints["hinge"]
        if change == "memory":
            m.memory("most", 0.0, update=lambda most: jd.maximum(most, hinge.position))
        options: dict[str, Any] = {"step": 0.01, "method": "rk4"} if change == "fixed step" else {}
        if change == "controller":
            m.force(hinge, m.input("push"))
            options = {"inputs": {"push": jd.Controller(hinge.position, 10.0)}}
        run = jd.Analysis(m.compile(), "simulate", {"hinge.angle": 1.0}, t=0.2, **options)
        assert (Many.of(run, {"x": cr.final("hinge.angle")}) is None) == (change != "nothing"), change


def test_studies_have_the_same_designs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fronts with the loop, by threads, and without it; runs that fail are told alike."""
    m = pendulum()
    hinge = m.joints["hinge"]
    m.force(hinge, 0.01 / (m.parameter("gap", 0.5, bounds=(-1.0, 1.0)) - hinge.position))  # singular where the pendulum passes the gap

    def front(workers: int | None) -> list[Any]:
        run = jd.Analysis(m.compile(), "simulate", {"hinge.angle": 0.4}, t=0.5, max_steps=300)
        problem = jd.Problem(run, ["mass", "d", "gap"], minimise={"way": CRITERIA["way"], "end": cr.final("hinge.angle^2")})
        found = problem.pareto(method="nsga2", population=12, generations=2, seed=2, workers=workers)
        return [np.asarray(found.values).tolist(), sorted(e.message for e in problem.space.failed)]

    loop, threads = front(None), front(2)
    used: list[int] = []
    original = Looks.many
    monkeypatch.setattr(Looks, "many", lambda self, jobs: used.append(len(jobs)))
    single = front(None)
    assert used and original is not Looks.many
    assert loop == threads == single and loop[1]


def test_runs_of_thousands_of_steps_stay_in_the_loop_unless_they_are_stiff() -> None:
    """After 2 000 steps a run by an explicit method says whether it is stiff; others go on in the loop, with the bits of single runs."""
    run = jd.Analysis(pendulum().compile(), "simulate", {"hinge.angle": 1.0}, t=12.0, method="dopri5", max_step=0.004)
    chosen = {n: CRITERIA[n] for n in ("way", "end", "mid")}
    loop, given = Many.of(run, chosen), designs(3)
    assert loop is not None and len(run.run(given[0]).t) > 3000
    assert loop.evaluate(given) == [run.evaluate(chosen, d) for d in given]
    m = jd.Model("honey", gravity=(0, 0, 0))
    slide = m.prismatic("x", m.ground, m.body("b", mass=1.0), axis="x")
    m.joint_spring(slide, 1.0, damping=m.parameter("c", 1.0, "N s/m"))
    sinking = jd.Analysis(m.compile(), "simulate", {"x.displacement": 1.0}, t=4.0, method="dopri5")
    end = {"end": cr.final("x.displacement")}
    several = Many.of(sinking, end)
    assert several is not None
    found = several.evaluate([{"c": 1.0}, {"c": 4000.0}, {"c": 2.0}])
    with pytest.warns(RuntimeWarning, match="stability of 'dopri5' demands"):
        assert sinking.evaluate(end, {"c": 4000.0})["end"] == pytest.approx(np.exp(-4.0 / 4000.0), rel=1e-6)
    assert found == [sinking.evaluate(end, {"c": 1.0}), None, sinking.evaluate(end, {"c": 2.0})]
