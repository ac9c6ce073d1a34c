"""Identification: known truths are found again within their errors; what data cannot tell is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jourdain as jd
from jourdain.analysis.identification.kept import KeptRuns

TRUE = {"k": 4.0, "c": 0.3}


def oscillator() -> jd.Model:
    m = jd.Model("oscillator", gravity=(0, 0, 0))
    k = m.parameter("k", 2.5, "N/m", bounds=(0.1, 20.0))
    c = m.parameter("c", 0.1, "N s/m", bounds=(0.0, 3.0))
    mass = m.parameter("mass", 1.0, "kg", bounds=(0.1, 5.0))
    joint = m.prismatic("x", m.ground, m.body("cart", mass=mass), axis="x")
    m.joint_spring(joint, k, damping=c)
    return m


def truth(t: np.ndarray, x: float = 1.0, v: float = 0.0, k: float = 4.0, c: float = 0.3) -> np.ndarray:
    """Free motion of a mass of 1 kg in closed form."""
    w = np.sqrt(k - c**2 / 4)
    return np.exp(-c * t / 2) * (x * np.cos(w * t) + (v + c * x / 2) / w * np.sin(w * t))


@pytest.fixture(scope="module")
def s() -> jd.System:
    return oscillator().compile()


START = {"x.displacement": 1.0}
T = np.linspace(0.0, 6.0, 121)


def test_without_noise_the_truth_is_found(s: jd.System) -> None:
    fit = s.identify({"t": T, "x": truth(T)}, {"x": "x.displacement"}, ["k", "c"], START, rtol=1e-11, atol=1e-13)
    assert fit.values == pytest.approx(TRUE, rel=1e-8) and fit.converged and fit.rank == 2 and not fit.untold
    assert s.parameters["k"] == 2.5
    own = oscillator().compile()
    own.identify({"t": T, "x": truth(T)}, {"x": "x.displacement"}, ["k", "c"], START).apply()
    assert own.parameters["k"] == pytest.approx(4.0, rel=1e-5)


def test_covariance_is_that_of_the_closed_form(s: jd.System) -> None:
    rng = np.random.default_rng(1)
    y = truth(T) + 0.01 * rng.normal(size=len(T))
    fit = s.identify(
        {"t": T, "x": y}, {"x": "x.displacement"}, ["k", "c", "x.displacement", "x.displacement_rate"], START, sigma={"x": 0.01}
    )
    at = np.array([fit.values[n] for n in ("x.displacement", "x.displacement_rate", "k", "c")])
    h = 1e-6
    J = np.column_stack([(truth(T, *(at + h * e)) - truth(T, *(at - h * e))) / (2 * h) for e in np.eye(4)])
    C = np.linalg.inv(J.T @ J) * 0.01**2
    order = [2, 3, 0, 1]
    assert fit.covariance == pytest.approx(C[np.ix_(order, order)], rel=1e-4)
    assert fit.noise["x"] == pytest.approx(0.01, rel=0.2) and fit.whiteness["x"] > 0.01
    text = str(fit)
    assert "±" in text and "rank 4 of 4" in text and "noise (p =" in text
    free = s.identify({"t": T, "x": y}, {"x": "x.displacement"}, ["k", "c", "x.displacement", "x.displacement_rate"], START)
    assert free.values == pytest.approx(fit.values, rel=1e-6)
    assert free.errors["k"] == pytest.approx(fit.errors["k"] * free.noise["x"] / 0.01, rel=1e-6)


def test_what_the_data_cannot_tell_is_named(s: jd.System) -> None:
    """Of a free motion only k/m and c/m are seen."""
    fit = s.identify({"t": T, "x": truth(T)}, {"x": "x.displacement"}, ["k", "c", "mass"], START)
    assert fit.rank == 2 and len(fit.untold) == 1
    weights = np.array(list(fit.untold[0].values()))
    assert weights / weights[0] == pytest.approx([1.0, 1.0, 1.0], rel=1e-4)  # all grow together
    assert all(np.isinf(e) for e in fit.errors.values())
    assert fit.values["k"] / fit.values["mass"] == pytest.approx(4.0, rel=1e-5)
    assert "not told apart: +1 k +1 c +1 mass" in str(fit) and "not told by the data" in str(fit)


def test_unknowns_that_are_zero_are_told() -> None:
    """A force that is not there, an offset that is none, a start at rest: clean data tell them, though their values are no measure of their size."""
    m = oscillator()
    m.force(m.joints["x"], m.parameter("push", 0.0, "N"))
    unknowns = ["k", "c", "push", "x.displacement", "x.displacement_rate"]
    s = m.compile()
    fit = s.identify({"t": T, "x": truth(T)}, {"x": "x.displacement"}, unknowns)
    assert fit.rank == 5 and not fit.untold and all(0.0 < e < 1e-6 for e in fit.errors.values())
    assert max(abs(fit.values[n]) for n in ("push", "x.displacement_rate")) < 1e-7
    assert np.isnan(fit.whiteness["x"]) and "as small as the tolerance of the runs" in str(fit)
    both = s.identify({"t": T, "x": truth(T)}, {"x": "x.displacement"}, ["k", "c", "push", "offset:x", "gain:x"], START)
    # a constant push moves the rest as an offset does, and the distance from there as a gain does
    assert both.rank == 4 and len(both.untold) == 1
    assert {n for n, e in both.errors.items() if np.isinf(e)} == {"push", "offset:x", "gain:x"}


def test_units_at_the_ends_of_names() -> None:
    """Degrees under the name angle_deg were taken for radians."""
    m = jd.Model("pendulum")
    length = m.parameter("length", 0.8, "m", bounds=(0.1, 3.0))
    m.revolute("hinge", m.ground, m.body("bob", mass=1.0, com=(0, 0, -length)), axis="y")
    s, t = m.compile(), np.linspace(0.0, 3.0, 61)
    angle = jd.Analysis(s, "simulate", {"hinge.angle": 1.2}, t=3.0, times=t).run({"length": 1.1})["hinge.angle"]
    data = {"t_ms": 1e3 * t, "angle_deg": np.degrees(angle), "angle_in": angle}
    fit = s.identify(data, {"angle_deg": "hinge.angle"}, ["length", "hinge.angle"])
    assert fit.values == pytest.approx({"length": 1.1, "hinge.angle": 1.2}, rel=1e-6)
    assert any("'angle_deg' is read in deg" in n for n in fit.notes) and any("'t_ms' is read in ms" in n for n in fit.notes)
    assert s.identify(data, {"angle_in": "hinge.angle"}, ["length", "hinge.angle"]).values["length"] == pytest.approx(1.1, rel=1e-6)


@pytest.mark.parametrize("workers", [None, 2])
def test_experiments_with_their_own_sampling_starts_offset_and_gain(s: jd.System, workers) -> None:
    rng = np.random.default_rng(2)
    t1, t2 = np.sort(rng.uniform(0, 5, 80)), np.linspace(1.0, 4.0, 31)
    records = [{"time": t1, "volts": 3.0 + 2.0 * truth(t1 - t1[0], 1.0)}, {"time": t2, "volts": 3.0 + 2.0 * truth(t2 - 1.0, -0.5, 1.0)}]
    fit = s.identify(
        records, {"volts": "x.displacement"}, ["k", "c", "offset:volts", "x.displacement", "x.displacement_rate"],
        [{"x.displacement": 0.8}, {"x.displacement": -0.2, "x.displacement_rate": 0.5}], workers=workers, rtol=1e-10, atol=1e-12,
    )  # fmt: skip
    # starts are in volts: twice as far
    wanted = {"k": 4.0, "c": 0.3, "offset:volts": 3.0, "x.displacement (1)": 2.0, "x.displacement (2)": -1.0}
    assert {n: fit.values[n] for n in wanted} == pytest.approx(wanted, rel=1e-6)
    assert fit.values["x.displacement_rate (2)"] == pytest.approx(2.0, rel=1e-6)
    gain = s.identify(
        records,
        {"volts": "x.displacement"},
        ["k", "c", "offset:volts", "gain:volts"],
        [START, {"x.displacement": -0.5, "x.displacement_rate": 1.0}],
    )
    assert gain.values["gain:volts"] == pytest.approx(2.0, rel=1e-5) and gain.values["offset:volts"] == pytest.approx(3.0, rel=1e-5)


def test_two_columns_are_weighed_by_their_noise(s: jd.System) -> None:
    rng = np.random.default_rng(3)
    v = np.gradient(truth(np.linspace(0, 6, 12001)), 6 / 12000)[::100]
    data = {"t": T, "x": truth(T) + 1e-4 * rng.normal(size=121), "v": v + 0.3 * rng.normal(size=121)}
    fit = s.identify(data, {"x": "x.displacement", "v": "x.displacement_rate"}, ["k", "c"], START)
    assert fit.values == pytest.approx(TRUE, rel=1e-3)  # ten times worse if both counted alike
    assert fit.noise["x"] == pytest.approx(1e-4, rel=0.3) and fit.noise["v"] == pytest.approx(0.3, rel=0.3)


def test_multiple_shooting_converges_where_single_shooting_does_not() -> None:
    """A pendulum that nearly stands up, over ten swings: with a length twice too large all phases are lost."""
    m = jd.Model("pendulum")
    length, damping = m.parameter("length", 1.1, "m", bounds=(0.1, 3.0)), m.parameter("damping", 0.003, "N m s", bounds=(0.0, 1.0))
    hinge = m.revolute("hinge", m.ground, m.body("bob", mass=1.0, com=(0, 0, -length)), axis="y")
    m.joint_spring(hinge, 0.0, damping=damping)
    s, t = m.compile(), np.linspace(0.0, 30.0, 601)
    y = s.simulate({"hinge.angle": 3.0}, 30.0, times=t)["hinge.angle"] + 0.01 * np.random.default_rng(0).normal(size=601)
    s.set_parameters(length=2.0, damping=0.02)
    ask = ({"t": t, "a": y}, {"a": "hinge.angle"}, ["length", "damping"], {"hinge.angle": 3.0})
    far, near = s.identify(*ask), s.identify(*ask, shooting="multiple", segments=20)
    assert abs(far.values["length"] - 1.1) > 0.5
    assert near.values["length"] == pytest.approx(1.1, abs=4 * near.errors["length"]) and near.noise["a"] == pytest.approx(0.01, rel=0.1)
    assert near.values["damping"] == pytest.approx(0.003, abs=4 * near.errors["damping"])
    s.set_parameters(**near.values)
    assert s.identify(*ask).values == pytest.approx(near.values, rel=1e-7)


def test_intervals_of_few_samples(s: jd.System, tmp_path: Path) -> None:
    """Student's t where the noise is estimated; the normal distribution where it is given."""
    t = np.linspace(0.0, 3.0, 6)
    y = truth(t) + 0.02 * np.random.default_rng(4).normal(size=6)
    widths = {}
    for sigma in (None, {"x": 0.02}):
        fit = s.identify({"t": t, "x": y}, {"x": "x.displacement"}, ["k", "c"], START, sigma=sigma)
        low, high = fit.intervals(0.95)["k"]
        widths[sigma is None] = 0.5 * (high - low) / fit.errors["k"]
        fit.plot_ellipse("k", "c", file=tmp_path / "both.png")
    assert widths[True] == pytest.approx(2.7764, rel=1e-4) and widths[False] == pytest.approx(1.9600, rel=1e-4)
    lost = s.identify({"t": T, "x": truth(T)}, {"x": "x.displacement"}, ["k", "c", "mass"], START)
    with pytest.raises(jd.InputError, match="'k' is not told by the data"):
        lost.plot_ellipse("k", "mass")
    with pytest.raises(jd.InputError, match="name two unknowns"):
        fit.plot_ellipse("k", "k")


def test_a_wrong_model_has_residuals_that_are_no_noise(s: jd.System) -> None:
    fit = s.identify({"t": T, "x": truth(T)}, {"x": "x.displacement"}, ["k"], START)  # c stays 0.1
    assert fit.whiteness["x"] < 1e-6 and "NOT noise" in str(fit)


def test_implicit_methods_have_exact_derivatives(s: jd.System) -> None:
    fit = s.identify({"t": T, "x": truth(T)}, {"x": "x.displacement"}, ["k", "c"], START, method="radau", rtol=1e-9)
    assert fit.values == pytest.approx(TRUE, rel=1e-7) and not any("differences" in n for n in fit.notes)


def test_what_gradients_do_not_carry_goes_by_differences_and_says_so() -> None:
    m = oscillator()
    m.force(m.joints["x"], m.input("F"), name="nothing")
    idle = {"F": jd.Controller(lambda state: 0.0, 3.0)}  # a law in Python has no derivative
    fit = m.compile().identify({"t": T, "x": truth(T)}, {"x": "x.displacement"}, ["k", "c"], START, rtol=1e-9, inputs=idle)
    assert fit.values == pytest.approx(TRUE, rel=1e-5) and any("differences" in n for n in fit.notes)


def test_records_of_every_kind(s: jd.System, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    known = oscillator().compile()
    known.set_parameters(**TRUE)
    sol = known.simulate(START, 6.0, times=T)
    file = tmp_path / "swing.csv"
    file.write_text(
        "# bench 3\ntime [ms],x [mm],note\n"
        + "\n".join(f"{1e3 * a!r},{1e3 * b!r},1" for a, b in zip(sol.t.tolist(), sol["x.displacement"].tolist(), strict=True))
    )
    table = pandas.DataFrame({"x": sol["x.displacement"]}, index=pandas.Index(T, name="t"))
    for data, column in ((sol, "x.displacement"), (file, "x"), (str(file), "x"), (table, "x")):
        fit = s.identify(data, {column: "x.displacement"}, ["k", "c"], START)
        assert fit.values == pytest.approx(TRUE, rel=1e-5), column
    fit.plot(file=tmp_path / "a.png")
    fit.plot_ellipse("k", "c", file=tmp_path / "b.png")
    assert (tmp_path / "b.png").stat().st_size > 1000


@pytest.mark.parametrize("expression", ["2*x.displacement", "x.displacement*where(t < 0, 0, 2)", "spot.position.x*2"])
def test_units_of_columns_count_whatever_they_are_compared_with(expression: str) -> None:
    m = oscillator()
    m.sensor("spot", m.bodies["cart"])
    data = {"t [ms]": 1e3 * T, "x [mm]": 2e3 * truth(T), "remark": ["fine"] * len(T)}
    fit = m.compile().identify(data, {"x": expression}, ["k", "c"], START)
    assert fit.values == pytest.approx(TRUE, rel=1e-5)


def written(folder: Path, text: str) -> Path:
    file = folder / "record.csv"
    file.write_text(text)
    return file


DATA = {"t": T, "x": truth(T)}
REFUSED = [
    (lambda s, p: s.identify(DATA, {"y": "x.displacement"}, ["k"]), "there is no column 'y'; .*x"),
    (lambda s, p: s.identify(DATA, {"x": "x.displacment"}, ["k"]), "x.displac"),
    (lambda s, p: s.identify(DATA, {"x": "x.displacement"}, ["kk"]), "there is no variable 'kk'"),
    (lambda s, p: s.identify(DATA, {"x": "x.displacement"}, {"k": (3, 1)}), "unknown 'k': the bounds 3 and 1 N/m are crossed"),
    (lambda s, p: s.identify(DATA, {"x": "x.displacement"}, ["k", "k"]), "named twice"),
    (lambda s, p: s.identify(DATA, {"x": "x.displacement"}, ["gain:y"]), "'gain:y' names no column"),
    (lambda s, p: s.identify({"x": truth(T)}, {"x": "x.displacement"}, ["k"]), "no column of time"),
    (lambda s, p: s.identify({"t": T, "x [kg]": truth(T)}, {"x": "x.displacement"}, ["k"]), "column 'x' is in kg"),
    (
        lambda s, p: s.identify({"t": T, "x": np.where(T > 3, np.nan, truth(T))}, {"x": "x.displacement"}, ["k"]),
        r"60 gaps, the first at t = 3.05 s; .*gaps='skip'",
    ),
    (lambda s, p: s.identify({"t": T[::-1], "x": truth(T)}, {"x": "x.displacement"}, ["k"]), "time does not grow"),
    (lambda s, p: s.identify({"t": T, "x": truth(T)[1:]}, {"x": "x.displacement"}, ["k"]), "120 values for 121 instants"),
    (lambda s, p: s.identify(DATA, {"x": "x.displacement"}, ["k"], shooting="singel"), "did you mean single"),
    (lambda s, p: s.identify(DATA, {"x": "x.displacement"}, ["k"], sigma={"z": 1}), "sigma names 'z'"),
    (lambda s, p: s.identify(p / "none.csv", {"x": "x.displacement"}, ["k"]), "cannot be read"),
    (lambda s, p: s.identify(42, {"x": "x.displacement"}, ["k"]), "is a int"),
    (lambda s, p: s.identify([DATA, DATA], {"x": "x.displacement"}, ["k"], [{}]), "1 starts for 2 records"),
    (lambda s, p: s.identify(DATA, {"x": "x.displacement"}, ["k"], shooting="multiple", segments=1), "segments = 1"),
    (lambda s, p: s.identify(DATA, {"x": "x.displacement"}, ["k"], shooting="multiple", segments=2.5), "segments = 2.5 must be"),
    (lambda s, p: s.identify({"t": T, "x [kg]": truth(T)}, {"x": "2*x.displacement"}, ["k"]), r"'x' is in kg.*compared with \(m\)"),
    (lambda s, p: s.identify({"t": T, "x [foo]": truth(T)}, {"x": "2*x.displacement"}, ["k"]), "'x' is in 'foo', which is no unit"),
    (lambda s, p: s.identify({"t": T, "x": ["a"] * len(T)}, {"x": "x.displacement"}, ["k"]), "column 'x' has entries that are no numbers"),
    (lambda s, p: s.identify(DATA, {"x": "x.displacement"}, ["k"], sigma={"x": 0.0}), "sigma of 'x' = 0 must be positive"),
    (lambda s, p: s.identify(DATA, {"x": "x.displacement"}, ["k"], limit=0), "limit = 0 must be a whole number from 1 on"),
    (lambda s, p: s.identify(DATA, {"x": "x.displacement"}, ["k"], t=3.0), "t is not given here"),
    (lambda s, p: s.identify(DATA, {"x": "x.displacement"}, ["k"], shooting="multiple", segments=500), "no samples between"),
    (lambda s, p: s.identify(DATA | {"x [mm]": 1e3 * truth(T)}, {"x": "x.displacement"}, ["k"]), "there are two columns 'x'"),
    (lambda s, p: s.identify(written(p, "t,x,x\n0,1,2\n1,1,2\n2,1,2\n"), {"x": "x.displacement"}, ["k"]), "there are two columns 'x'"),
]


@pytest.mark.parametrize("i", range(len(REFUSED)))
def test_what_is_refused(s: jd.System, i: int, tmp_path: Path) -> None:
    ask, message = REFUSED[i]
    with pytest.raises(jd.InputError, match=message):
        ask(s, tmp_path)


def test_gaps_may_be_left_out(s: jd.System) -> None:
    y = np.where((T > 2) & (T < 3), np.nan, truth(T))
    fit = s.identify({"t": T, "x": y}, {"x": "x.displacement"}, ["k", "c"], START, gaps="skip")
    assert fit.values == pytest.approx(TRUE, rel=1e-5) and fit.samples == np.isfinite(y).sum()


def covered(s: jd.System, seeds: range) -> dict[str, int]:
    hits = dict.fromkeys(("k", "c", "x.displacement"), 0)
    t = np.linspace(0.0, 4.0, 30)
    wanted = {**TRUE, "x.displacement": 1.0}
    for seed in seeds:
        y = truth(t) + 0.05 * np.random.default_rng(seed).normal(size=len(t))
        found = s.identify({"t": t, "x": y}, {"x": "x.displacement"}, ["k", "c", "x.displacement"], START).intervals()
        for n, x in wanted.items():
            hits[n] += found[n][0] <= x <= found[n][1]
    return hits


def test_intervals_cover_the_truth(s: jd.System) -> None:
    """Of 40 intervals of 95 % fewer than 33 hold the truth with a probability of 3e-4."""
    assert min(covered(s, range(40)).values()) >= 33


@pytest.mark.slow
def test_intervals_of_500_seeds(s: jd.System) -> None:
    for name, hits in covered(s, range(500)).items():
        assert 0.92 <= hits / 500 <= 0.98, (name, hits)


@pytest.mark.parametrize("both", [False, True])
def test_starts_begin_where_their_records_do(s: jd.System, both: bool) -> None:
    """Without a start the model rests, and no parameter matters there: the record tells where to begin."""
    rng = np.random.default_rng(3)
    first = {"t": T, "x": truth(T, 1.0, 0.4) + 0.005 * rng.normal(size=T.size)}
    second = {"t": T[::2] + 1.0, "x": truth(T[::2], -0.5, -1.0) + 0.005 * rng.normal(size=T[::2].size)}
    unknowns = ["k", "c", "x.displacement", "x.displacement_rate"]
    fit = s.identify([first, second] if both else first, {"x": "x.displacement"}, unknowns)
    expected = TRUE | ({"x.displacement (1)": 1.0, "x.displacement_rate (1)": 0.4, "x.displacement (2)": -0.5, "x.displacement_rate (2)": -1.0} if both
                       else {"x.displacement": 1.0, "x.displacement_rate": 0.4})  # fmt: skip
    assert fit.converged and fit.rank == len(expected)
    assert all(abs(fit.values[n] - x) < 4 * fit.errors[n] for n, x in expected.items())
    assert fit.units["x.displacement_rate (1)" if both else "x.displacement_rate"] == "m/s"


@pytest.mark.parametrize(("shooting", "workers"), [("single", None), ("single", 2), ("multiple", None)])
def test_an_interrupted_fit_goes_on(
    s: jd.System, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shooting: str, workers: int | None
) -> None:
    """Cut short after some runs, the same call ends with the same bits and runs none of these again; other data are another study."""
    record = {"t": T, "x": truth(T) + 0.01 * np.sin(50 * T)}

    def fit(store: Path | None, data: Any = record) -> Any:
        unknowns = {"k": (0.1, 20.0), "c": None, "x.displacement": None}
        return s.identify(data, {"x": "x.displacement"}, unknowns, START, shooting=shooting, segments=3, workers=workers, store=store)

    whole, store = fit(None), tmp_path / "fit.db"
    saved, save = [], KeptRuns.save

    def some(self: KeptRuns, *args: Any) -> None:
        save(self, *args)
        saved.append(args)
        if len(saved) == 5:
            raise KeyboardInterrupt

    monkeypatch.setattr(KeptRuns, "save", some)
    with pytest.raises(KeyboardInterrupt):
        fit(store)
    again = fit(store)
    assert again.values == whole.values and again.covariance.tobytes() == whole.covariance.tobytes()
    assert again.runs <= whole.runs - 5 and fit(store).runs == 0
    assert fit(store, {"t": T, "x": truth(T)}).runs > 0
