"""Input shapers: what they leave of a vibration by their formula and by simulation, and the published numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import jourdain as jd
from jourdain.model.shapers import SHAPERS

frequencies, ratios = st.floats(0.1, 50.0), st.floats(0.0, 0.3)


@given(frequency=frequencies, damping=ratios, kind=st.sampled_from(["ZV", "ZVD", "ZVDD"]))
def test_no_vibration_is_left_nor_its_derivatives(frequency: float, damping: float, kind: str) -> None:
    shaper = jd.input_shaper(kind, frequency, damping)
    assert sum(shaper.amplitudes) == pytest.approx(1.0, abs=1e-14)
    assert shaper.residual(frequency, damping) < 1e-14
    h = 1e-3  # V ~ hⁿ with n zeros at the frequency
    at = shaper.residual(frequency * np.array([1 + h, 1 + 2 * h]), damping)
    assert at[1] / at[0] == pytest.approx(2.0 ** (len(kind) - 1), rel=0.02)


@given(frequency=frequencies, damping=ratios, tolerance=st.floats(0.01, 0.2))
def test_extra_insensitive_ones_keep_within_their_tolerance(frequency: float, damping: float, tolerance: float) -> None:
    shaper = jd.input_shaper("EI", frequency, damping, tolerance=tolerance)
    assert sum(shaper.amplitudes) == pytest.approx(1.0, abs=1e-12) and min(shaper.amplitudes) > 0
    assert shaper.residual(frequency, damping) == pytest.approx(tolerance, rel=1e-8)
    calm = shaper.residual(frequency * np.linspace(0.95, 1.05, 201), damping)
    assert calm.max() <= tolerance * (1 + 1e-8), "the vibration at the frequency is the largest about it"
    assert shaper.insensitivity(frequency, tolerance, damping) > jd.input_shaper("ZVD", frequency, damping).insensitivity(
        frequency, tolerance, damping
    )


def test_published_numbers() -> None:
    """Singhose, Seering & Singer (1994): widths at 5 % of ZV, ZVD and EI; their fit of damped EI shapers, good to half a percent."""
    widths = [jd.input_shaper(kind, 1.0).insensitivity(1.0) for kind in ("ZV", "ZVD", "EI")]
    assert widths == pytest.approx([0.0637, 0.2869, 0.3994], abs=2e-4)
    V = 0.05
    for z in (0.02, 0.1, 0.2):
        first = 0.24968 + 0.24962 * V + 0.80008 * z + 1.23328 * V * z + 0.49599 * z**2 + 3.17316 * V * z**2
        last = 0.25149 + 0.21474 * V - 0.83249 * z + 1.41498 * V * z + 0.85181 * z**2 - 4.90094 * V * z**2
        shaper = jd.input_shaper("EI", 1.0, z)
        assert shaper.amplitudes[0] == pytest.approx(first, abs=2e-3) and shaper.amplitudes[2] == pytest.approx(last, abs=2e-3)
        assert shaper.times[1] * np.sqrt(1 - z**2) == pytest.approx(0.5, abs=0.02)


def oscillator(frequency: float, damping: float) -> jd.System:
    """A unit mass on a spring whose other end is commanded."""
    m = jd.Model("oscillator", gravity=(0, 0, 0))
    slide = m.prismatic("slide", m.ground, m.body("mass", mass=1.0), axis="x")
    w, command = 2 * np.pi * frequency, m.input("command")
    m.force(slide, lambda x, v, t: w**2 * (command - x) - 2 * damping * w * v)
    return m.compile()


@pytest.mark.parametrize("kind", SHAPERS)
@pytest.mark.parametrize("off", [1.0, 0.85])
def test_what_a_simulation_leaves_is_what_the_shaper_says(kind: str, off: float) -> None:
    """Amplitude √(x² + …) e^{ζωt} after the last impulse, as a share of that after a plain step."""
    zeta, f = 0.05, 2.0
    s, shaper = oscillator(off * f, zeta), jd.input_shaper(kind, f, zeta)
    w = 2 * np.pi * off * f
    steps = list(zip(shaper.times, shaper.amplitudes, strict=True))
    x, v, reached = 0.0, 0.0, 0.0
    for i, (since, amplitude) in enumerate(steps):  # from jump to jump, so that none lies within a step
        reached += amplitude
        until = steps[i + 1][0] if i + 1 < len(steps) else since + 0.01
        sol = s.simulate({"slide": x, "slide.displacement_rate": v}, t=(since, until), inputs={"command": reached}, rtol=1e-11, atol=1e-13)
        x, v = sol["slide.displacement"][-1], sol["slide.displacement_rate"][-1]
        end = until
    y = x - 1.0
    left = np.hypot(y, (v + zeta * w * y) / (w * np.sqrt(1 - zeta**2))) * np.exp(zeta * w * (end - shaper.times[-1]))
    plain = 1 / np.sqrt(1 - zeta**2)  # after a step at the last instant
    assert left / plain == pytest.approx(shaper.residual(off * f, zeta), abs=1e-9)
    command = shaper(1.0)
    whole = s.simulate({}, t=end, inputs={"command": command}, rtol=1e-9, atol=1e-11)
    assert whole["slide.displacement"][-1] == pytest.approx(x, abs=1e-6)


def test_commands_are_numbers_functions_and_tables() -> None:
    shaper = jd.input_shaper("ZV", 2.0)
    t = jd.symbol("t", "time")
    ramp, by_table, step = shaper(lambda t: 3.0 * t)(t), shaper(([-10.0, 10.0], [-30.0, 30.0]))(t), shaper(4.0)(t)
    assert jd.evaluate(ramp, {t: 0.7}) == pytest.approx(0.5 * 3.0 * 0.7 + 0.5 * 3.0 * 0.45)
    assert jd.evaluate(by_table, {t: 0.7}) == pytest.approx(float(jd.evaluate(ramp, {t: 0.7})))
    assert [float(jd.evaluate(step, {t: x})) for x in (-0.1, 0.0, 0.2, 0.3)] == [0.0, 2.0, 2.0, 4.0]


def test_two_modes_by_two_shapers() -> None:
    both = jd.input_shaper("ZV", 1.3, 0.02) * jd.input_shaper("ZVD", 4.1, 0.01)
    assert both.residual(1.3, 0.02) < 1e-14 and both.residual(4.1, 0.01) < 1e-14
    assert sum(both.amplitudes) == pytest.approx(1.0) and list(both.times) == sorted(both.times)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("ZX", 1.0), "'ZX' is unknown; there are ZV, ZVD, ZVDD, EI"), (("ZV", 0.0), "frequency 0 Hz must be positive"),
        (("ZV", 1.0, 1.2), "damping 1.2 must be a ratio"), (("EI", 1.0, 0.1, 2.0), "tolerance 2 must be between 0 and 1"),
        (("ZV", "3 m"), "Hz"),
    ],
)  # fmt: skip
def test_wrong_ones_are_told(arguments: tuple, told: str) -> None:
    with pytest.raises(jd.JourdainError, match=told):
        jd.input_shaper(*arguments)
