"""Second derivatives: closed forms, symmetry, differences of exact gradients with the same steps, products of Gauss and Newton, refusals."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import jourdain as jd
from jourdain import criteria as cr
from jourdain import library
from jourdain.analysis.gradients.runs import NotCarried
from jourdain.analysis.gradients.simulated import GradientWarning

from .test_closed_forms import TIGHT, oscillator, slider


def agree(run: jd.Analysis, criteria: dict[str, Any], wrt: list[str], symmetric: float = 1e-10, close: float = 1e-6) -> Any:
    """Symmetric, equal to differences of gradients, and products are those of the matrix; the gradient is that of the adjoint."""
    h, other = (run.hessian(criteria, wrt, method=m) for m in ("exact", "differences"))
    g = run.gradient(criteria, wrt, method="adjoint")
    assert np.abs(h.gradient - g.matrix).max() <= 1e-13 * np.abs(g.matrix).max()
    sizes = np.array([max(abs(x), 1e-3) for x in h.variables.values()])
    d = np.random.default_rng(len(wrt)).normal(size=len(wrt)) * sizes
    along = run.hessian(criteria, wrt, direction=dict(zip(wrt, d, strict=True)))
    for name in criteria:
        m, n = (x[name] * sizes * sizes[:, None] for x in (h, other))
        most = np.abs(m).max()
        assert most > 0.0 and np.isfinite(m).all()
        assert np.abs(m - m.T).max() < symmetric * most
        assert np.abs(m - n).max() < close * most
        assert along[name] == pytest.approx(h[name] @ d, abs=max(1e-12, symmetric) * np.abs(h[name] @ np.diag(np.abs(d))).max())
    return h


def test_free_vibration() -> None:
    """x₀ cos(√(k/m) t) by k, m and x₀."""
    m, z = slider()
    m.joint_spring(z, m.parameter("k", 50.0, "N/m"))
    run = jd.Analysis(m.compile(), "simulate", {"z.displacement": 0.3}, t=2.0, **TIGHT)
    h = run.hessian({"end": cr.final("z.displacement")}, ["k", "m", "z.displacement"])["end"]
    k, mass, x0, t = 50.0, 2.0, 0.3, 2.0
    w = np.sqrt(k / mass)
    slopes = np.array([w / (2 * k), -w / (2 * mass)])
    bends = np.array([[-w / (4 * k * k), -w / (4 * k * mass)], [-w / (4 * k * mass), 3 * w / (4 * mass * mass)]])
    assert h[:2, :2] == pytest.approx(x0 * (-t * t * np.cos(w * t) * np.outer(slopes, slopes) - t * np.sin(w * t) * bends), rel=1e-8)
    assert h[2, :2] == pytest.approx(-t * np.sin(w * t) * slopes, rel=1e-8)
    assert abs(h[2, 2]) < 1e-10


def test_the_comfort_integral_of_an_oscillator() -> None:
    """∫ẍ² dt = c/2 + k/(2c): also of a criterion that is made of it and its logarithm."""
    m, z = slider()
    k, c = m.parameter("k", 4.0), m.parameter("c", 3.0)
    m.joint_spring(z, 2.0 * k, damping=2.0 * c)
    run = jd.Analysis(m.compile(), "simulate", {"z.displacement_rate": 1.0}, t=40.0, **TIGHT)
    f = cr.integral("z.displacement_acc^2")
    h = run.hessian({"f": f, "log": cr.combined("log(f)*s", f=f, s=cr.combined("2*f", f=f))}, ["k", "c"])
    wanted = np.array([[0.0, -1 / 18.0], [-1 / 18.0, 4 / 27.0]])
    assert h["f"] == pytest.approx(wanted, rel=1e-8, abs=1e-9)
    value, slope = 3.0 / 2 + 4.0 / 6, np.array([1 / 6.0, 0.5 - 4.0 / 18])  # 2 f log f: 2 (log f + 1) f″ + 2/f f′f′ᵀ
    assert h["log"] == pytest.approx(2 * (np.log(value) + 1) * wanted + 2 / value * np.outer(slope, slope), rel=1e-8)


@pytest.mark.parametrize("method", ["euler", "heun", "rk4", "bs32", "dopri5", "dop853", "radau", "adams"])
def test_every_method(method: str) -> None:
    """Steps as they were taken; those of methods that are not walked along by others at their instants."""
    step = {"step": 0.02} if method in ("euler", "heun", "rk4") else {}
    run = jd.Analysis(library.double_pendulum().compile(), "simulate", {"shoulder.angle": 0.4}, t=0.4, method=method, **step)
    q = run.system.coordinate_names
    criteria = {"end": cr.final(q[1]), "work": cr.integral(f"{q[0]}_acc^2 + t*s", s=2.0), "at": cr.at(0.123, q[0]), "rms": cr.rms(q[1]), "norm": cr.largest(q[0], smooth=8)}  # fmt: skip
    agree(run, criteria, ["m1", "l1", "l2", q[0], "work.s"])


LOOPS: dict[str, tuple[Callable[[], jd.Model], dict[str, float], list[str]]] = {
    "four-bar": (library.four_bar, {"crank.angle": 0.5, "crank.angle_rate": 2.0}, ["crank", "coupler", "crank.angle", "crank.angle_rate"]),
    "rssr": (library.rssr, {}, ["crank_length", "coupler_length", "pivot_x"]),
    "chaplygin": (library.chaplygin_sleigh, {"sleigh.angle_rate": 1.5, "sleigh.x_rate": 0.7}, ["mass", "inertia", "distance"]),
}  # fmt: skip


@pytest.mark.parametrize("method", ["dopri5", "radau"])
@pytest.mark.parametrize("name", LOOPS)
def test_loops_and_nonholonomic_constraints(name: str, method: str) -> None:
    """Criteria with multipliers and accelerations; dependent initial values follow."""
    from jourdain.systems.outputs.reactions import multiplier_channel

    make, start, wrt = LOOPS[name]
    s = make().compile()
    row = multiplier_channel(s.equations_of_motion.rows[0].name)
    run = jd.Analysis(s, "simulate", start, t=0.1, rtol=1e-10, atol=1e-12, method=method)
    criteria = {
        "end": cr.final(f"'{s.velocity_names[0]}'"), "force": cr.integral(f"'{row}'^2"), "last": cr.final(f"'{row}'"),
        "acc": cr.integral(f"'{s.equations_of_motion.a[0].name}'^2"), "mid": cr.at(0.0456, f"'{s.velocity_names[-1]}'"),
    }  # fmt: skip
    agree(run, criteria, wrt)


@pytest.mark.parametrize("options", [{"formulation": "cartesian"}, {"reduction": "reduced"}])
def test_other_coordinates_and_reductions(options: dict[str, Any]) -> None:
    """Walked along in joint coordinates at the instants of the run."""
    run = jd.Analysis(library.four_bar().compile(**options), "simulate", {"crank.angle": 0.5, "crank.angle_rate": 2.0}, t=0.1, rtol=1e-9)
    h = agree(run, {"end": cr.final("rocker.angle")}, ["coupler", "crank.angle"])
    assert any("joint coordinates" in note for note in h.notes)


@pytest.mark.parametrize("method", ["dopri5", "radau"])
def test_quaternions(method: str) -> None:
    s = library.heavy_top().compile()
    rng = np.random.default_rng(3)
    state = jd.State(s.reference, s.configuration.random(rng), rng.normal(size=s.nv), np.zeros(0))
    run = jd.Analysis(s, "simulate", state, t=0.2, rtol=1e-10, atol=1e-12, method=method)
    wrt = [p.name for p in s.model.parameter_set.listed if p.value][:2] + s.velocity_names[-1:]
    agree(run, {"end": cr.final(f"'{s.velocity_names[0]}'"), "turn": cr.integral(f"'{s.coordinate_names[-1]}'^2")}, wrt)


def test_products_of_gauss_and_newton() -> None:
    """JᵀWJ with J by forward gradients of the values; where they fit the data it is the Hessian."""
    run = jd.Analysis(oscillator().compile(), "simulate", {"z.displacement": 0.3}, t=1.0)
    times, wrt = np.linspace(0.05, 1.0, 9), ["m", "k", "c", "z.displacement"]
    rows = run.gradient({f"y{i}": cr.at(t, "z.displacement") for i, t in enumerate(times)}, wrt, method="forward")
    y, weights = np.array(list(rows.values.values())), 1.0 + times
    J = rows.matrix
    far = {"fit": cr.least_squares("z.displacement", times, y + 0.1, weights=weights)}
    near = {"fit": cr.least_squares("z.displacement", times, y, weights=weights)}
    wanted = J.T @ np.diag(weights) @ J
    for criteria in (far, near):
        h = run.hessian(criteria, wrt, method="gauss-newton")
        assert h["fit"] == pytest.approx(wanted, rel=1e-11, abs=1e-14)
        assert h.gradient == pytest.approx(run.gradient(criteria, wrt, method="adjoint").matrix, rel=1e-12, abs=1e-14)
    assert run.hessian(near, wrt)["fit"] == pytest.approx(wanted, rel=1e-10, abs=1e-13)
    agree(run, far, wrt)
    assert np.abs(run.hessian(far, wrt)["fit"] - wanted).max() > 0.01 * np.abs(wanted).max()


def test_at_other_values_and_in_the_words_of_the_model() -> None:
    run = jd.Analysis(oscillator().compile(), "simulate", {"z.displacement": 0.3}, t=1.0)
    criteria = {"end": cr.final("z.displacement")}
    there = run.hessian(criteria, ["k", "c"], values={"k": 80.0})
    m = oscillator()
    m.parameter_set["k"].value = 80.0
    here = jd.Analysis(m.compile(), "simulate", {"z.displacement": 0.3}, t=1.0).hessian(criteria, ["k", "c"])
    assert there["end"] == pytest.approx(here["end"], rel=1e-9)
    assert there.variables["k"] == 80.0 and run.system.parameters["k"] == 50.0
    here.check()
    assert "Hessian of mass" in str(here) and "k " in str(here)


def test_a_law_that_bends_is_told() -> None:
    m, z = slider()
    k = m.parameter("k", 50.0)
    m.force(z, -k * jd.maximum(z.position, 0.0) - 10.0 * z.position)
    run = jd.Analysis(m.compile(), "simulate", {"z.displacement": 0.3}, t=2.0)
    with pytest.warns(GradientWarning, match="bends where"):
        run.hessian({"end": cr.final("z.displacement")}, ["k"])
    m, z = slider()
    k = m.parameter("k", 50.0)
    m.force(z, -k * abs(z.position) * z.position)
    smooth = jd.Analysis(m.compile(), "simulate", {"z.displacement": 0.3}, t=2.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error", GradientWarning)
        smooth.hessian({"end": cr.final("z.displacement")}, ["k"], direction=[1.0])


def test_what_is_not_carried_is_refused_by_name() -> None:
    end = {"x": cr.final("z.displacement")}
    run = jd.Analysis(oscillator().compile(), "simulate", {"z.displacement": 0.3}, t=1.0)
    with pytest.raises(NotCarried, match=r"'x' \(largest z.displacement\) move"):
        run.hessian({"x": cr.largest("z.displacement")}, ["k"])
    with pytest.raises(NotCarried, match="no sum of squares"):
        run.hessian(end, ["k"], method="gauss-newton")
    with pytest.raises(jd.InputError, match="'kk', which is no variable here; there is k"):
        run.hessian(end, ["k", "c"], direction={"kk": 1.0})
    for wrong, why in (
        ([1.0], "must have 2 finite numbers, one for each of k, c"),
        ([1.0, np.nan], "must have 2 finite numbers"),
        ("k", "no real numbers"),
    ):
        with pytest.raises(jd.InputError, match=why):
            run.hessian(end, ["k", "c"], direction=wrong)
    with pytest.raises(jd.InputError, match="method 'newton' is unknown"):
        run.hessian(end, ["k"], method="newton")
    with pytest.raises(jd.InputError, match="no criterion 'y'; it has x"):
        run.hessian(end, ["k"])["y"]
    m = oscillator()
    m.event("low", m.joints["z"].coordinate("displacement").q[0] + 0.1)
    with pytest.raises(NotCarried, match="'low' happens on the way"):
        jd.Analysis(m.compile(), "simulate", {"z.displacement": 0.3}, t=1.0).hessian(end, ["k"])
    m = oscillator()
    m.force(m.joints["z"], m.memory("held", 1.0, update=lambda x: x), name="push")
    with pytest.raises(NotCarried, match="sampled laws .'held'"):
        jd.Analysis(m.compile(), "simulate", {"z.displacement": 0.3}, t=1.0).hessian(end, ["k"])
    with pytest.raises(NotCarried, match="of modal differentiate"):
        jd.Analysis(oscillator().compile(), "modal", {}).hessian({"f": cr.frequency(0)}, ["k"])
