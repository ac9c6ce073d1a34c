"""Forms of an objective, scenarios, links, choices and many starts, on an oscillator with ∫ẍ² = c/2 + k/(2c) and ∫x² = 1/(2c) at k = 1."""

from __future__ import annotations

import pickle
import re
from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq

import jourdain as jd
from jourdain import criteria as cr

SHAKE, SWAY = cr.integral("x.displacement_acc^2"), cr.integral("x.displacement^2")


@pytest.fixture(scope="module")
def swing() -> jd.Analysis:
    m = jd.Model("oscillator", gravity=(0, 0, 0))
    c, k = m.parameter("c", 0.6, "N s/m", bounds=(0.3, 4.0)), m.parameter("k", 1.0, "N/m", bounds=(0.5, 5.0))
    x = m.prismatic("x", m.ground, m.body("mass", mass=1.0), axis="x")
    m.joint_spring(x, k, damping=c)
    return jd.Analysis(m.compile(), "simulate", {"x.displacement_rate": 1.0}, t=60.0, rtol=1e-9, atol=1e-11)


def two(swing: Any) -> jd.Problem:
    return jd.Problem(swing, ["c"], {"shake": SHAKE, "sway": SWAY})


def test_the_least_of_the_largest(swing: jd.Analysis) -> None:
    """Shake = 3 sway at c = √2."""
    best = two(swing).optimise(weights={"shake": 1.0, "sway": 3.0}, form="minmax")
    assert best.values["c"] == pytest.approx(np.sqrt(2), rel=1e-6) and best.objective == pytest.approx(1.5 / np.sqrt(2), rel=1e-6)
    assert "shake, sway" in best.notes[-1]


def test_criteria_as_parts_of_their_first_values(swing: jd.Analysis) -> None:
    """Least w₁ ψ₁/ψ̄₁ + w₂ ψ₂/ψ̄₂ with the values ψ̄ of c = 0.6: c² = 1 + w₂ ψ̄₁/(w₁ ψ̄₂); what is zero at the start has no parts."""
    shake, sway = 0.3 + 0.5 / 0.6, 0.5 / 0.6
    best = two(swing).optimise({"shake": 0.7, "sway": 0.3}, form="relative")
    c = np.sqrt(1.0 + 0.3 * shake / (0.7 * sway))
    assert best.values["c"] == pytest.approx(c, rel=1e-6)
    assert best.objective == pytest.approx(0.7 * (c / 2 + 0.5 / c) / shake + 0.3 * 0.5 / c / sway, rel=1e-7)
    zero = jd.Problem(swing, ["c"], {"none": cr.final("(c - 0.6)^2"), "shake": SHAKE})
    with pytest.raises(jd.InputError, match="'none' is zero at the start"):
        zero.optimise({"none": 1.0}, form="relative")


def test_goals(swing: jd.Analysis) -> None:
    best = two(swing).optimise(goals={"shake": 1.0, "sway": 0.3})
    c = brentq(lambda c: c / 2 + 1 / (2 * c) - 1 - (1 / (2 * c) - 0.3) / 0.3, 1.0, 3.0)
    assert best.values["c"] == pytest.approx(c, rel=1e-5)


def test_one_criterion_after_the_other(swing: jd.Analysis) -> None:
    best = two(swing).optimise(order=["shake", "sway"], slack=0.01)
    assert best.values["c"] == pytest.approx(1.01 + np.sqrt(1.01**2 - 1), rel=1e-4)


@pytest.mark.parametrize(
    ("options", "c"), [({}, 2.5), ({"spread": 2.0}, 5.5), ({"by": "worst"}, 4.0), ({"weights": {"soft": 3.0, "hard": 1.0}}, 1.75)]
)
def test_scenarios(swing: jd.Analysis, options: dict[str, Any], c: float) -> None:
    """k = 1 and 4: mean c/2 + 2.5/(2c), its deviation 1.5/(2c), the worst c/2 + 4/(2c)."""
    both = jd.Scenarios(swing, {"soft": {"k": 1.0}, "hard": {"k": "4 N/m"}}, **options)
    best = jd.Problem(both, ["c"], {"shake": SHAKE}).optimise()
    assert best.values["c"] == pytest.approx(np.sqrt(c), rel=1e-5) and best.feasible
    assert set(best.run()) == {"soft", "hard"}


def test_constraints_hold_in_every_scenario(swing: jd.Analysis) -> None:
    """∫x² = 1/(2ck) ≤ 0.3 in the soft one, too: c = 5/3, where the mean alone would allow less."""
    both = jd.Scenarios(swing, {"soft": {"k": 1.0}, "hard": {"k": 4.0}}, by="worst")
    best = jd.Problem(both, {"c": (0.3, 1.9)}, {"stroke": cr.largest("x.displacement")}, {"sway": SWAY <= 0.3}).optimise()
    assert best.constraints["sway in soft"] <= 0.3 + 1e-6 and best.constraints["sway in hard"] == pytest.approx(
        best.constraints["sway in soft"] / 4, rel=1e-6
    )


def test_parts_of_what_the_design_gives(swing: jd.Analysis) -> None:
    about = jd.Scenarios(swing, {"more": {"c": "+50 %"}, "less": {"c": "-50%"}})
    best = jd.Problem(about, ["c"], {"shake": SHAKE}).optimise()
    assert best.values["c"] == pytest.approx(np.sqrt(4 / 3), rel=1e-5)
    g, h = about.gradient({"s": SHAKE}, ["c"], values={"c": 1.2}), 1e-5
    ends = [about.evaluate({"s": SHAKE}, {"c": 1.2 + s * h})["s"] for s in (1, -1)]
    assert g.matrix[0, 0] == pytest.approx((ends[0] - ends[1]) / (2 * h), rel=1e-4)
    assert pickle.loads(pickle.dumps(about)).evaluate({"s": SHAKE}, {"c": 1.2}) == about.evaluate({"s": SHAKE}, {"c": 1.2})


def test_a_variable_that_follows_another(swing: jd.Analysis) -> None:
    """k = c² + 1: shake = c + 1/(2c)."""
    best = jd.Problem(swing, {"c": (0.3, 4.0), "k": "c^2 + 1"}, {"shake": SHAKE}).optimise()
    assert best.values["c"] == pytest.approx(np.sqrt(0.5), rel=1e-5) and best.kkt < 1e-5
    before = swing.system.parameters
    try:
        best.apply()
        assert swing.system.parameters["k"] == pytest.approx(1.5, rel=1e-4)
    finally:
        swing.system.set_parameters(**before)


def test_choices(swing: jd.Analysis) -> None:
    problem = jd.Problem(swing, {"k": {4.0, 1.0}, "c": (0.3, 4.0)}, {"shake": SHAKE})
    best, second = problem.enumerate()
    assert best.values == pytest.approx({"k": 1.0, "c": 1.0}, rel=1e-5) and second.values == pytest.approx({"k": 4.0, "c": 2.0}, rel=1e-5)
    alone = jd.Problem(swing, {"c": {0.5, 0.9, 1.3}}, {"shake": SHAKE})
    assert [o.values["c"] for o in alone.enumerate()] == [0.9, 1.3, 0.5]
    assert alone.optimise(method="direct", limit=60).values["c"] == 0.9
    with pytest.raises(jd.InputError, match="'k' is a choice, and optimiser 'slsqp' goes by gradients"):
        problem.optimise()
    with pytest.raises(jd.InputError, match="at least two"):
        jd.Problem(swing, {"c": range(1, 2)}, {"shake": SHAKE})


@pytest.mark.parametrize(
    ("options", "merit"),
    [
        ({"weights": {"shake": 1.0, "sway": 3.0}}, lambda f, g: f + 3 * g),
        ({"form": "minmax"}, max),
        ({"form": "minmax", "weights": {"shake": 0.5, "sway": 3.0}}, lambda f, g: max(0.5 * f, 3 * g)),
        ({"goals": {"shake": 0.8, "sway": 0.5}}, lambda f, g: max((f - 0.8) / 0.8, (g - 0.5) / 0.5)),
    ],
)
def test_combinations_of_choices_are_sorted_by_the_objective(swing: jd.Analysis, options: dict[str, Any], merit: Any) -> None:
    """With choices alone nothing is searched, and the objective still counts: shake = c/2 + k/(2c), sway = 1/(2kc)."""
    problem = jd.Problem(
        swing, {"c": {0.5, 1.0, 2.0}, "k": {1.0, 4.0}}, {"shake": SHAKE, "sway": SWAY}, {"still": cr.final("x.displacement") <= 0.0}
    )
    found = problem.enumerate(**options)
    exact = sorted((merit(c / 2 + k / (2 * c), 1 / (2 * k * c)), c, k) for c in (0.5, 1.0, 2.0) for k in (1.0, 4.0))
    good = [o for o in found if o.feasible]
    assert [o.objective for o in good] == sorted(o.objective for o in good)
    by = {(o.values["c"], o.values["k"]): o.objective for o in found}
    assert by == pytest.approx({(c, k): f for f, c, k in exact}, rel=1e-5)
    with pytest.raises(jd.InputError, match="nothing is left to be searched; 'method' has no meaning"):
        problem.enumerate(method="slsqp")


def test_choices_in_evolution(swing: jd.Analysis) -> None:
    pytest.importorskip("pymoo")
    front = jd.Problem(swing, {"c": {0.5, 1.0, 2.0, 4.0}}, {"shake": SHAKE, "sway": SWAY}).pareto(
        "nsga2", population=8, generations=3, progress=False
    )
    assert {front[i].values["c"] for i in range(len(front))} <= {1.0, 2.0, 4.0}


def test_many_starts_find_the_best_of_many_valleys(swing: jd.Analysis) -> None:
    wavy = cr.integral("sin(6*c) + 0.3*(c - 1)^2")
    value = lambda c: 60 * (np.sin(6 * c) + 0.3 * (c - 1) ** 2)
    grid = np.linspace(0.3, 4.0, 100001)
    problem = jd.Problem(swing, ["c"], {"wavy": wavy})
    best = problem.optimise(starts=12, start={"c": 3.9})
    assert best.objective == pytest.approx(value(grid).min(), rel=1e-6)
    alone = problem.optimise(start={"c": 3.9})
    assert alone.objective > best.objective + 1.0 and "local optimum" in str(alone)
    assert re.search(r"the best of 12 searches, of which [1-9]\d? ended", str(best))
    assert problem.optimise(starts=12, start={"c": 3.9}, workers=2).values == best.values


def test_a_generation_is_shared_among_workers(swing: jd.Analysis) -> None:
    """The same bits by one and by two, and another seed goes another way."""
    pytest.importorskip("cma")
    problem = jd.Problem(swing, ["c"], {"shake": SHAKE})
    ask = {"method": "cma-es", "limit": 1, "tolerance": 1e-3}
    one, two, other = problem.optimise(**ask, seed=2), problem.optimise(**ask, seed=2, workers=2), problem.optimise(**ask, seed=3)
    assert one.values == two.values != other.values and one.evaluations == two.evaluations


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda s: two(s).optimise({"shake": 1.0}, seed=2), "seed = 2 is for 'cma-es'; 'slsqp' draws no random numbers"),
        (lambda s: two(s).optimise({"shake": 1.0}, method="cma-es", seed=0), "seed = 0 must be a whole number from 1 on"),
        (lambda s: two(s).optimise(order=["shake", "sway"], slack={"shaek": 0.1}), "slack: there is no criterion 'shaek'"),
        (lambda s: two(s).optimise(order=["shake", "sway"], margin={"sway": -1.0}), "must not be negative"),
        (lambda s: jd.Scenarios(s, {}), "at least one"),
        (lambda s: jd.Scenarios(s, {"a": {"kk": 1.0}}), "no variable 'kk'"),
        (lambda s: jd.Scenarios(s, {"a": {"k": 1.0}}, by="best"), "'mean' or 'worst'"),
        (lambda s: jd.Scenarios(s, {"a": {"k": 1.0}}, weights={"b": 1.0}), "weights"),
        (lambda s: jd.Problem(s, {"c": (0.3, 4.0), "k": "2*d"}, {"shake": SHAKE}), "'d' is no other variable"),
        (lambda s: two(s).optimise(form="best"), "form = 'best' is unknown"),
        (lambda s: two(s).optimise(goals={"shake": 1.0}), "'sway' has none"),
        (lambda s: two(s).optimise(order=["shaek"]), "no criterion 'shaek'"),
        (lambda s: two(s).optimise(weights={"shake": 1.0}, starts=0), "starts = 0"),
    ],
)
def test_bad_input(swing: jd.Analysis, make: Any, told: str) -> None:
    with pytest.raises(jd.InputError, match=told):
        make(swing)


@pytest.mark.parametrize("criterion", [cr.frequency, cr.damping_ratio, cr.eigenvalue])
@pytest.mark.parametrize("index", [1.7, True])
def test_numbers_of_modes_are_whole(criterion: Any, index: Any) -> None:
    """1.7 was mode 1."""
    with pytest.raises(jd.InputError, match="must be a whole number, 0 for the first"):
        criterion(index)


def test_the_instant_of_a_criterion_comes_first() -> None:
    with pytest.raises(jd.InputError, match="the instant comes first: at"):
        cr.at("x.displacement", 0.5)  # type: ignore[arg-type]
    assert cr.at("0.5 s", "x").options["t"] == 0.5


def test_variables_that_all_follow_others_are_refused(swing: jd.Analysis) -> None:
    with pytest.raises(jd.InputError, match=r"all variables follow others \(c = k \+ 1, k = c - 1\)"):
        jd.Problem(swing, {"c": "k + 1", "k": "c - 1"}, {"shake": cr.integral("x.displacement^2")})
