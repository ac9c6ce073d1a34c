"""Design problems against closed forms, and what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import jourdain as jd
from jourdain import criteria as cr
from jourdain.analysis.design.front import hypervolume, undominated
from jourdain.library import plane_vehicle


def oscillator() -> jd.Model:
    """m = 1, x(0) = 0, v(0) = 1: ∫ẍ² = c/2 + k/(2c), ∫x² = 1/(2ck), ∫ẋ² = 1/(2c)."""
    m = jd.Model("oscillator", gravity=(0, 0, 0))
    k = m.parameter("k", 1.0, "N/m", bounds=(0.3, 4.0))
    c = m.parameter("c", 1.5, "N s/m", bounds=(0.5, 3.0))
    m.parameter("idle", 1.0, "kg", bounds=(0.5, 2.0))
    joint = m.prismatic("x", m.ground, m.body("mass", mass=1.0), axis="x")
    m.joint_spring(joint, k, damping=c)
    return m


SHAKE, SWAY, SPEED = cr.integral("x.displacement_acc^2"), cr.integral("x.displacement^2"), cr.integral("x.displacement_rate^2")


@pytest.fixture(scope="module")
def swing() -> jd.Analysis:
    return jd.Analysis(oscillator().compile(), "simulate", {"x.displacement_rate": 1.0}, t=80.0, rtol=1e-10, atol=1e-12)


@pytest.fixture(scope="module")
def rest() -> jd.Analysis:
    """A mass at rest: criteria are expressions of parameters."""
    m = jd.Model("plane", gravity=(0, 0, 0))
    for name in "ab":
        m.parameter(name, 3.0, "m", bounds=(-5.0, 5.0))
    m.joint_spring(m.prismatic("x", m.ground, m.body("mass", mass=1.0), axis="x"), 1.0)
    return jd.Analysis(m.compile(), "simulate", {}, t=0.01)


EXTRA = {"ipopt": "ipyopt", "mma": "nlopt", "direct": "nlopt", "cma-es": "cma"}


@pytest.mark.parametrize("method", ["slsqp", "trust-constr", "l-bfgs-b", "tnc", "cobyqa", "nelder-mead", *EXTRA])
def test_the_weighted_sum_has_its_closed_optimum(swing: jd.Analysis, method: str) -> None:
    pytest.importorskip(EXTRA.get(method, "scipy"))
    best = jd.Problem(swing, ["k", "c"], {"shake": SHAKE, "sway": SWAY}).optimise({"shake": 0.5, "sway": 0.5}, method=method)
    c = 4.0**0.25  # with k = c²/2: f = ¾c + c⁻³
    assert best.values["c"] == pytest.approx(c, rel=2e-4) and best.values["k"] == pytest.approx(c**2 / 2, rel=5e-4)
    assert best.objective == pytest.approx(0.5 * (0.75 * c + c**-3), rel=1e-7)
    assert best.feasible and best.kkt < 2e-3 and best.units == {"k": "N/m", "c": "N s/m"} and not best.active


@pytest.mark.parametrize("method", ["epsilon", "nbi", "weighted"])
def test_the_front_of_the_oscillator(swing: jd.Analysis, method: str, tmp_path: Path) -> None:
    front = jd.Problem(swing, ["k", "c"], {"shake": SHAKE, "sway": SWAY}).pareto(method=method, points=9)
    inside = [d for d in front if not {"k", "c"} & {*d.active}]
    assert len(front) >= 8 and len(inside) >= 4
    for d in inside:
        f1, f2 = d.criteria.values()
        assert f1 == pytest.approx(0.75 * f2 ** (-1 / 3), rel=1e-6)
        assert d.kkt < 1e-3
        if method != "weighted":  # the trade-off is the slope of the front
            assert d.multipliers["sway"] == pytest.approx(0.25 * f2 ** (-4 / 3), rel=1e-2)
    assert (np.diff(front.values[:, 0]) > 0).all() and (np.diff(front.values[:, 1]) < 0).all()
    assert front.knee in front.designs and front.hypervolume() > 0.0
    assert f"front of {len(front)} designs" in str(front) and "knee" in str(front)
    axes = front.plot(file=tmp_path / "front.png").axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("shake [m^2/s^3]", "sway [m^2 s]")
    assert (tmp_path / "front.png").stat().st_size > 1000


def test_the_hypervolume_of_many_points_is_that_below_the_curve(swing: jd.Analysis) -> None:
    front = jd.Problem(swing, ["k", "c"], {"shake": SHAKE, "sway": SWAY}).pareto(points=25)
    f2 = np.linspace(*sorted((front.utopia["sway"], front.nadir["sway"])), 20001)
    below = np.trapezoid(front.nadir["shake"] - 0.75 * f2 ** (-1 / 3), f2)
    assert 0.8 * below < front.hypervolume() < 1.001 * below


def test_evolution_comes_within_a_hundredth_of_the_hypervolume() -> None:
    """f₁ = ¾ f₂^(−1/3) between k = 0.3 and 4 N/m; the same by threads, and constraints are kept."""
    pytest.importorskip("pymoo")
    swing = jd.Analysis(oscillator().compile(), "simulate", {"x.displacement_rate": 1.0}, t=40.0, rtol=1e-7)
    p = jd.Problem(swing, ["k", "c"], {"shake": SHAKE, "sway": SWAY})
    front = p.pareto("nsga2", population=100, generations=20, seed=1)
    low, high = np.sqrt(2 * 0.3), np.sqrt(2 * 4.0)  # c at the ends
    f2 = np.geomspace(high**-3, low**-3, 20001)
    exact = float(np.trapezoid(0.75 * high - 0.75 * f2 ** (-1 / 3), f2))
    assert front.hypervolume({"shake": 0.75 * high, "sway": low**-3}) == pytest.approx(exact, rel=0.01)
    small = {"population": 16, "generations": 6, "seed": 2}
    held = jd.Problem(swing, ["k", "c"], {"shake": SHAKE, "sway": SWAY}, {"speed": SPEED <= 0.4})
    one, two = held.pareto("nsga2", **small), held.pareto("nsga2", **small, workers=2)
    assert one.values.tobytes() == two.values.tobytes() and "nsga2" in str(one)
    assert all(d.constraints["speed"] <= 0.4 * (1 + 2e-6) for d in one)


@pytest.mark.parametrize("method", ["slsqp", "trust-constr", "cobyqa", "ipopt"])
def test_multipliers_of_a_quadratic(rest: jd.Analysis, method: str) -> None:
    """min (a−2)² + (b−1)² with a + b ≤ 1, b ≥ 0.5 m: a = b = ½, λ = 3 for the line, μ = 2 for the bound; equality likewise."""
    pytest.importorskip(EXTRA.get(method, "scipy"))
    f = cr.final("(a - 2)^2 + (b - 1)^2 + 1")
    p = jd.Problem(rest, {"a": None, "b": ("500 mm", 5.0)}, {"f": f}, {"line": cr.final("a + b") <= 1.0, "far": cr.final("a - b") <= 7.0})
    best = p.optimise(method=method)
    assert best.values == pytest.approx({"a": 0.5, "b": 0.5}, abs=2e-5) and best.criteria["f"] == pytest.approx(3.5, abs=1e-4)
    assert best.active == ["line", "b"] and best.kkt < 1e-4
    assert best.multipliers["line"] == pytest.approx(3.0, abs=1e-3) and best.multipliers["b"] == pytest.approx(2.0, abs=1e-3)
    text = str(best)
    assert "at its bound, multiplier 2" in text and "active, multiplier 3" in text and "a    = 0.5" in text
    equal = jd.Problem(rest, ["a", "b"], {"f": f}, {"line": cr.final("a + b").equals(1.0)}).optimise(method=method)
    assert equal.values == pytest.approx({"a": 1.0, "b": 0.0}, abs=2e-4)
    assert equal.multipliers["line"] == pytest.approx(-2.0, abs=1e-3)  # f* = (s − 3)²/2 + 1


def test_a_constraint_of_a_motion(swing: jd.Analysis) -> None:
    """min ∫ẍ² with ∫x² ≤ 0.3: on the front; applied, the system has the design."""
    own = jd.Analysis(swing.system.copy(), "simulate", {"x.displacement_rate": 1.0}, t=80.0, rtol=1e-10, atol=1e-12)
    best = jd.Problem(own, ["k", "c"], {"shake": SHAKE}, {"sway": SWAY <= 0.3}).optimise(start={"k": 0.4, "c": "0.6 N s/m"})
    assert best.criteria["shake"] == pytest.approx(0.75 * 0.3 ** (-1 / 3), rel=1e-6) and best.active == ["sway"]
    assert best.multipliers["sway"] == pytest.approx(0.25 * 0.3 ** (-4 / 3), rel=1e-3) and best.kkt < 1e-4
    best.apply()
    assert own.system.parameters["c"] == best.values["c"] and own.evaluate({"sway": SWAY})["sway"] == pytest.approx(0.3, rel=1e-6)
    assert best.run().t[-1] == 80.0


def test_what_gradients_do_not_carry_goes_by_differences_and_says_so(rest: jd.Analysis) -> None:
    m = oscillator()
    m.force(m.joints["x"], m.input("F"), name="nothing")
    idle = {"F": jd.Controller(lambda state: 0.0, 30.0)}  # a law in Python has no derivative
    slow = jd.Analysis(m.compile(), "simulate", {"x.displacement_rate": 1.0}, t=60.0, rtol=1e-8, inputs=idle)
    best = jd.Problem(slow, ["c"], {"shake": SHAKE}).optimise()
    assert best.values["c"] == pytest.approx(1.0, rel=1e-4) and any("differences" in n for n in best.notes)


def test_verbs_without_time(rest: jd.Analysis) -> None:
    still = jd.Analysis(rest.system, "equilibrium", {})
    best = jd.Problem(still, ["a", "b"], {"f": cr.value("(a - 2)^2 + (b - 1)^2 + 1")}, {"line": cr.value("a + b").equals(1.0)}).optimise()
    assert best.values == pytest.approx({"a": 1.0, "b": 0.0}, abs=1e-5) and best.kkt < 1e-4


@pytest.mark.parametrize("method", ["slsqp", "trust-constr", "l-bfgs-b", "tnc", "cobyqa", "nelder-mead"])
def test_designs_that_cannot_run_are_passed_by(method: str) -> None:
    """√(1.5 − c) has no value for c > 1.5."""
    swing = jd.Analysis(oscillator().compile(), "simulate", {"x.displacement_rate": 1.0}, t=20.0, rtol=1e-8)
    c = cr.integral("(x.displacement^2 + sqrt(1.5 - c)*(0.9*t - c*t)^2)*exp(-t)")
    grid = min(swing.evaluate({"f": c}, {"c": x})["f"] for x in np.linspace(0.6, 1.3, 15))
    for start in (0.6, 1.2, 2.9):
        best = jd.Problem(swing, ["c"], {"f": c}).optimise(start={"c": start}, method=method)
        assert best.feasible and best.criteria["f"] <= grid + 1e-9, (start, str(best))
    assert "c = 2.9" in best.failed[0] and "not finite" in best.failed[0] and "could not run" in str(best)
    with pytest.raises(jd.SolverError, match=r"neither the first design nor 32 others .* criterion 'f' .* is not finite, at t = 0 s"):
        jd.Problem(swing, {"c": (2.0, 3.0)}, {"f": c}).optimise(method=method)


def test_a_problem_sees_the_present_parameters() -> None:
    """After another k the least ∫ẍ² is at c = √k; the next start is the design that was applied."""
    s = oscillator().compile()
    p = jd.Problem(jd.Analysis(s, "simulate", {"x.displacement_rate": 1.0}, t=60.0, rtol=1e-9), ["c"], {"shake": SHAKE})
    p.optimise().apply()
    assert s.parameters["c"] == pytest.approx(1.0, rel=1e-4) and p.optimise().evaluations["iterations"] <= 2
    s.set_parameters(k=2.25)
    assert p.optimise().values["c"] == pytest.approx(1.5, rel=1e-4)


def test_an_initial_value_is_a_variable() -> None:
    swing = jd.Analysis(oscillator().compile(), "simulate", {"x.displacement_rate": 1.0}, t=2.0)
    far = jd.Problem(swing, {"x.displacement": (-3, 3)}, {"miss": cr.final("(x.displacement - 0.2)^2")}).optimise()
    assert far.run()["x.displacement"][-1] == pytest.approx(0.2, abs=1e-3)
    with pytest.raises(jd.InputError, match="initial values only"):
        far.apply()


def test_infeasible_constraints_tell_the_least_violated(rest: jd.Analysis) -> None:
    p = jd.Problem(rest, ["a", "b"], {"f": cr.final("a^2 + b^2")}, {"sum": cr.final("a + b") >= 12.0, "gap": cr.final("a - b") <= 9.0})
    best = p.optimise()
    assert not best.feasible and np.isnan(best.kkt) and not best.active and best.values == pytest.approx({"a": 5.0, "b": 5.0})
    assert "no design meets all constraints; the least violated misses 'sum' (12 <= final a + b) by 2" in best.message
    with pytest.raises(jd.InputError, match="not applied: no design meets"):
        best.apply()


REFUSED = [
    (lambda a: jd.Problem(a, {"c": (3.0, 1.0)}, SHAKE), r"variable 'c': the bounds 3 and 1 N s/m are crossed"),
    (lambda a: jd.Problem(a, ["k", "kk"], SHAKE), "there is no variable 'kk'"),
    (lambda a: jd.Problem(a, ["k", "k"], SHAKE), "named twice"),
    (lambda a: jd.Problem(a, [1], SHAKE), "variable 1 is not a name"),
    (lambda a: jd.Problem(a, ["k"], {"f": SHAKE}).optimise(tolerance=0), "must lie between 0 and 1"),
    (lambda a: jd.Problem(a, "k", SHAKE), "must be a list of names"),
    (lambda a: jd.Problem(a, {"k": 3.0}, SHAKE), "not a pair"),
    (lambda a: jd.Problem(a, ["k"], {"f": SHAKE}, {"g": SWAY}), "constraint 'g': .* is none"),
    (lambda a: jd.Problem(a, ["k"], {"f": SHAKE}, {"f": SWAY <= 1.0}), "'f' names a criterion and a constraint"),
    (lambda a: jd.Problem(a, ["idle"], {"f": SHAKE}).optimise(), r"criterion 'f' \(.*\) depends on none of the variables idle"),
    (lambda a: jd.Problem(a, ["k"], {"f": SHAKE, "g": SWAY}).optimise(), "2 criteria need weights"),
    (lambda a: jd.Problem(a, ["k"], {"fast": SHAKE}).optimise({"fats": 1.0}), "no criterion 'fats'.*fast"),
    (lambda a: jd.Problem(a, ["k"], {"f": SHAKE}).optimise({"f": -1.0}), "not negative"),
    (lambda a: jd.Problem(a, ["k"], {"f": SHAKE}).optimise({"f": 0.0}), "all are zero"),
    (lambda a: jd.Problem(a, ["k"], {"f": SHAKE}).optimise(method="slsq"), "no optimiser 'slsq'; did you mean slsqp"),
    (lambda a: jd.Problem(a, ["k"], {"f": SHAKE}).optimise(start={"c": 1.0}), "'c' is no variable of the problem"),
    (lambda a: jd.Problem(a, ["k"], {"f": SHAKE}).optimise(start={"k": 9.0}), "k = 9 lies outside its bounds"),
    (lambda a: jd.Problem(a, ["k"], {"f": SHAKE}, {"g": SWAY <= 1.0}).optimise(method="l-bfgs-b"), "takes bounds of variables only"),
    (lambda a: jd.Problem(a, ["k"], {"f": cr.final("x.displacment")}).optimise(), "cannot be evaluated: .*x.displac"),
    (lambda a: jd.Problem(a, ["k"], {"f": SHAKE}).pareto(), "one criterion .* has no front"),
    (lambda a: jd.Problem(a, ["k"], {"f": SHAKE, "g": SWAY}).pareto("nbj"), "method 'nbj' is unknown; did you mean nbi"),
    (lambda a: jd.Problem(a, ["k"], {"f": SHAKE, "g": SWAY}).pareto("nbi", optimiser="l-bfgs-b"), "poses constraints"),
    (lambda a: jd.Problem(a, ["k"], {"f": SHAKE, "g": SWAY}).pareto(samples=-1), "must not be negative"),
    (lambda a: jd.Problem(a, ["k"], {"f": SHAKE, "g": SWAY}).pareto(points=1), "at least 2"),
    (
        lambda a: jd.Problem(a, ["k"], {"f": SHAKE, "g": SWAY}).pareto("nsga2", population=2),
        "population = 2 must be a whole number from 4 on",
    ),
    (lambda a: jd.Problem(a, {"x.displacement": None}, {"f": SHAKE, "g": SWAY}).pareto("nsga2"), "'x.displacement' lacks one"),
]


@pytest.mark.parametrize("i", range(len(REFUSED)))
def test_what_is_refused(swing: jd.Analysis, i: int) -> None:
    ask, message = REFUSED[i]
    with pytest.raises(jd.InputError, match=message):
        ask(swing)


def test_three_criteria(rest: jd.Analysis) -> None:
    """Squares of distances to three corners: the front is their triangle."""
    f = {n: cr.final(f"(a - {x})^2 + (b - {y})^2") for n, x, y in (("p", 0, 0), ("q", 2, 0), ("r", 0, 2))}
    for method in ("weighted", "nbi", "epsilon"):
        front = jd.Problem(rest, ["a", "b"], f).pareto(method=method, points=10, samples=4)
        assert len(front) >= 6
        for d in front:
            a, b = d.values["a"], d.values["b"]
            assert a > -1e-3 and b > -1e-3 and a + b < 2 + 1e-3


def test_a_front_of_two_branches_is_not_behind_a_grid() -> None:
    """The dampers of the plane vehicle: soft ones, and front dampers at their bound."""
    bump = jd.Analysis(plane_vehicle(damper="cubic").compile(), "simulate", {}, t=4.0)
    criteria = {"comfort": cr.integral("t^2*driver.acceleration.z^2"), "travel": cr.integral("(front.travel/0.08)^6")}
    front = jd.Problem(bump, ["d_F", "d_R"], criteria).pareto("nbi", points=8)
    assert {"d_F"} in [{*d.active} & {"d_F", "d_R"} for d in front] and any(d.values["d_F"] < 7e4 for d in front)
    for x in np.linspace(4e4, 1e5, 7):
        for y in np.linspace(2e4, 1e5, 7):
            seen = np.array([*bump.evaluate(criteria, {"d_F": x, "d_R": y}).values()])
            assert not (seen < front.values * (1 - 1e-4)).all(axis=1).any(), (x, y)


def test_volumes_and_dominance_against_counting() -> None:
    rng = np.random.default_rng(3)
    y = rng.random((30, 3))
    grid = rng.random((200_000, 3)) * 1.1
    counted = 1.1**3 * np.mean([(y <= g).all(axis=1).any() for g in grid[:20_000]])
    assert hypervolume(y, np.full(3, 1.1)) == pytest.approx(counted, abs=0.02)
    kept = y[undominated(y)]
    assert hypervolume(kept, np.full(3, 1.1)) == pytest.approx(hypervolume(y, np.full(3, 1.1)), rel=1e-12)
    assert not any(((kept <= p).all(axis=1) & (kept < p).any(axis=1)).any() for p in kept)


def test_what_other_parameters_do_to_an_optimum(swing: jd.Analysis) -> None:
    """shake = c/2 + k/(2c) has its least √k at c = √k; held by sway = 1/(2kc) ≤ s it is 1/(4ks) + k² s (envelope theorem)."""
    shake, sway = cr.integral("x.displacement_acc^2"), cr.integral("x.displacement^2")
    k = swing.system.parameters["k"]
    free = jd.Problem(swing, {"c": (0.3, 4.0)}, {"shake": shake}).optimise()
    assert free.sensitivity(["k"])["k"] == pytest.approx(0.5 / np.sqrt(k), rel=1e-6)
    s = 0.3
    held = jd.Problem(swing, {"c": (0.3, 4.0)}, {"shake": shake}, {"sway": sway <= s}).optimise()
    assert held.sensitivity(["k"])["k"] == pytest.approx(-0.25 / (k**2 * s) + 2 * k * s, rel=1e-5)
    assert held.multiplier_units == {"sway": "1/s^4"} and "multiplier" in str(held) and "1/s^4" in str(held)
    low = jd.Problem(swing, {"c": (0.3, 4.0)}, {"sway": sway}, {"shake": shake <= 1.25}).optimise()  # c = 1.25 + √(1.25² − k)
    root = np.sqrt(1.25**2 - k)
    exact = -0.5 / (k**2 * (1.25 + root)) + 0.5 / (k * (1.25 + root) ** 2) * 0.5 / root
    assert low.sensitivity(["k"])["k"] == pytest.approx(exact, rel=1e-5)
    with pytest.raises(jd.InputError, match="'c' is a variable of the problem"):
        held.sensitivity(["c"])


def test_bounds_have_the_units_of_their_criteria(swing: jd.Analysis) -> None:
    shake, reach = {"shake": cr.integral("x.displacement_acc^2")}, cr.largest("x.displacement")
    for bound in (reach <= "3 kg", reach >= "3 kg", reach.between("1 mm", "2 s")):
        with pytest.raises(jd.ModelError, match=r"constraint 'reach' .* should be in 'm' or a like unit"):
            jd.Problem(swing, ["c"], shake, {"reach": bound}).optimise()
    assert jd.Problem(swing, ["c"], shake, {"reach": reach <= "4 m"}).optimise().feasible


def test_what_is_no_number_is_told_with_its_time(swing: jd.Analysis) -> None:
    when = {"a": cr.integral("sqrt(5 - t)")}
    with pytest.raises(
        jd.SolverError, match=r"criterion 'a' \(integral of sqrt\(5 - t\)\) is not finite, at t = 5\.\d+ s for the first time"
    ):
        swing.evaluate(when)
    root = {"a": cr.integral("sqrt(c - 0.55)*x.displacement^2")}
    best = jd.Problem(swing, {"c": (0.3, 4.0)}, root).optimise(start={"c": 0.4})
    assert any("simulate at c = 0.4: criterion 'a'" in m and "t = 0" in m for m in best.failed)


def test_variables_that_follow_others_keep_their_bounds() -> None:
    m = jd.Model("oscillator", gravity=(0, 0, 0))
    k, c = m.parameter("k", 1.0, "N/m", bounds=(0.5, 2.0)), m.parameter("c", 1.0, "N s/m", bounds=(0.3, 4.0))
    m.joint_spring(m.prismatic("x", m.ground, m.body("mass", mass=1.0), axis="x"), k, damping=c)
    swing = jd.Analysis(m.compile(), "simulate", {"x.displacement_rate": 1.0}, t=60.0, rtol=1e-8)
    sway = {"sway": cr.integral("x.displacement^2")}  # 1/(2kc): the least at the largest k and c
    for method in ("slsqp", "cobyqa"):
        best = jd.Problem(swing, {"c": (0.3, 4.0), "k": "0.8*c"}, sway).optimise(method=method)
        assert best.values["c"] == pytest.approx(2.5, rel=1e-5)
    best = jd.Problem(swing, {"c": (0.3, 4.0), "k": "0.8*c"}, sway).optimise()
    assert best.multipliers["bounds of k"] == pytest.approx(
        1.25 * 2 / (2 * 2.5**3 * 0.8), rel=1e-4
    )  # d(1/(1.6 c²)) = 2/(1.6 c³) dc, dc = 1.25 dk
    none = jd.Problem(swing, {"c": (0.3, 4.0), "k": "-2*c"}, sway).optimise()
    assert not none.feasible and "'bounds of k' (0.5 <= variable k <= 2) by 1.1" in none.message
    inside = jd.Problem(swing, {"c": (0.7, 2.4), "k": "0.8*c"}, sway)  # it cannot leave them: optimisers without constraints serve
    assert not inside.subject_to and inside.optimise(method="l-bfgs-b").values["c"] == pytest.approx(2.4)
    with pytest.raises(jd.InputError, match="takes bounds of variables only"):
        jd.Problem(swing, {"c": (0.3, 4.0), "k": "0.8*c"}, sway).optimise(method="l-bfgs-b")


def test_designs_under_a_mark_of_the_front_are_not_drawn_as_dominated() -> None:
    from jourdain.analysis.design.pictures import _seen_beside

    front = np.array([[0.0, 2.0], [1.0, 1.0], [2.0, 0.0]])
    assert _seen_beside(front, np.array([[1.0, 1.001], [1.5, 1.5]])).tolist() == [[1.5, 1.5]]
    assert _seen_beside(front, np.zeros((0, 2))).shape == (0, 2)
