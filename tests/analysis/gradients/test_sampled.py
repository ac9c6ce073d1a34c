"""Filtered accelerations and moving averages: the standards' own numbers, closed forms, and derivatives by both methods."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.signal import freqz

import jourdain as jd
from jourdain import criteria as cr
from jourdain.analysis.gradients.sampled import channel_class, slopes, value, weighting


@pytest.mark.parametrize(("name", "known"), [
    ("Wk", {0.5: 0.418, 1.0: 0.482, 2.0: 0.531, 4.0: 0.967, 6.3: 1.054, 8.0: 1.036, 16.0: 0.768, 31.5: 0.405}),
    ("Wd", {0.5: 0.853, 1.0: 1.011, 2.0: 0.890, 4.0: 0.512, 8.0: 0.253}),
])  # fmt: skip
def test_weightings_are_those_of_the_standard(name: str, known: dict[float, float]) -> None:
    """ISO 2631-1, table 3."""
    f = np.array(list(known))
    gain = np.prod([np.abs(freqz(b, a, worN=2 * np.pi * f / 2000.0)[1]) for b, a in weighting(name, 2000.0)], axis=0)
    assert gain == pytest.approx(list(known.values()), rel=0.01)


@pytest.mark.parametrize("frequency_class", [60, 180, 600])
def test_channel_classes_lie_in_the_corridor(frequency_class: int) -> None:
    """SAE J211-1: within 0.5 dB up to the class, −1 … −4 dB at its 5/3, below −20 dB at 3.5 times."""
    rate = 20.0 * frequency_class
    b, a = channel_class(frequency_class, rate)
    f = frequency_class * np.array([0.1, 0.5, 1.0, 1.65, 3.5])
    decibel = 40 * np.log10(np.abs(freqz(b, a, worN=2 * np.pi * f / rate)[1]))
    assert np.abs(decibel[:2]).max() < 0.5 and -1.0 < decibel[2] <= 0.5 and -4.0 < decibel[3] < -1.0 and decibel[4] < -20.0


def oscillator() -> jd.System:
    m = jd.Model("oscillator", gravity=(0, 0, 0))
    x = m.prismatic("x", m.ground, m.body("mass", mass=m.parameter("m", 1.0)), axis="x")
    m.joint_spring(x, m.parameter("k", 4000.0), damping=m.parameter("c", 8.0))
    return m.compile()


CRITERIA = {
    "average": cr.moving_average("abs(x.displacement_acc)", "3 ms"), "crash": cr.cfc("x.displacement_acc", 180), "ride": cr.iso2631("x.displacement_acc"),
    "slow": cr.cfc("x.displacement_acc", 60), "sustained": cr.sustained("x.displacement_rate", "3 ms"),
}  # fmt: skip


def test_derivatives_by_both_methods_and_differences() -> None:
    run = jd.Analysis(oscillator(), "simulate", {"x.displacement_rate": 2.0}, t=0.3, rtol=1e-10, atol=1e-12)
    wrt = ["m", "k", "c", "x.displacement_rate"]
    adjoint, forward, other = (run.gradient(CRITERIA, wrt, method=m) for m in ("adjoint", "forward", "differences"))
    scale = np.abs(forward.matrix).max(axis=1, keepdims=True)
    assert (np.abs(adjoint.matrix - forward.matrix) / scale).max() < 1e-12
    assert (np.abs(other.matrix - forward.matrix) / scale).max() < 1e-6
    assert forward["ride", "x.displacement_rate"] == pytest.approx(forward.values["ride"] / 2.0, rel=1e-8)  # linear in the start


def test_closed_forms() -> None:
    """The mean of sin over the best window of length w is (2/ωw) sin(ωw/2); a sine well below the class passes."""
    s, w, omega = oscillator(), 0.02, np.sqrt(4000.0)
    run = jd.Analysis(s, "simulate", {"x.displacement_rate": 1.0}, t=0.5, rtol=1e-11, atol=1e-13)
    asked = {"a": cr.moving_average("x.displacement", w), "c": cr.sustained("x.displacement", w), "b": cr.cfc("x.displacement_acc", 600)}
    found = run.evaluate(asked, {"c": 0.0})
    assert found["c"] == pytest.approx(2 / (omega * w) * np.sin(omega * w / 2), rel=3e-4)
    assert found["a"] == pytest.approx(2 / (omega * w) * np.sin(omega * w / 2) / omega, rel=3e-4)
    assert found["b"] == pytest.approx(omega, rel=2e-3)


@pytest.mark.parametrize("c", list(CRITERIA.values()), ids=list(CRITERIA))
def test_slopes_by_samples(c: cr.Criterion) -> None:
    rng = np.random.default_rng(1)
    y, d = rng.normal(size=400), rng.normal(size=400)
    assert slopes(c, y) @ d == pytest.approx((value(c, y + 1e-4 * d) - value(c, y - 1e-4 * d)) / 2e-4, rel=1e-6)


def test_bad_input() -> None:
    with pytest.raises(jd.InputError, match="no channel class 100"):
        cr.cfc("a", 100)
    with pytest.raises(jd.InputError, match="no weighting 'Wz'"):
        cr.iso2631("a", "Wz")
    run = jd.Analysis(oscillator(), "simulate", {}, t=0.002)
    with pytest.raises(jd.InputError, match="too short"):
        run.evaluate({"a": CRITERIA["average"]})
