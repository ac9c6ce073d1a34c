"""Many short runs in one native loop: the bits of single runs, and single runs where these are needed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import jourdain as jd
from jourdain import criteria as cr
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


def test_runs_that_python_must_look_at_are_none_of_it() -> None:
    for change in ("event", "stop", "sought", "times"):
        m = pendulum()
        if change == "event":
            m.event("down", m.joints["hinge"].position)
        criteria = {"x": cr.largest("hinge.angle")} if change == "sought" else {"x": cr.final("hinge.angle")}
        options: dict[str, Any] = {"step": 0.01, "method": "rk4"} if change == "stop" else {}
        run = jd.Analysis(m.compile(), "simulate", {"hinge.angle": 1.0}, t=0.2, **options)
        assert (Many.of(run, criteria) is None) == (change != "times"), change


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
