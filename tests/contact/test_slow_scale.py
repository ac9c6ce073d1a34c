"""Spec 05, T17–T22: rigid impacts with computed restitution, spectra, identification."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

import jourdain as jd

C = jd.contact

BALL = C.ball(0.015, E=210e9, nu=0.3, density=7780.0)
ROD = C.rod(1.0, 0.01, E=70.5e9, nu=0.33, density=2710.0)
MASSES = {"rod": 0.85137, "plate": 0.86840, "cylinder": 0.83479, "beam": 0.82707}
PUBLISHED = {"rod": 0.625, "plate": 0.967, "cylinder": 1.0, "beam": 0.3482}


@pytest.mark.parametrize("name", MASSES)
def test_T17_velocities_after(name: str) -> None:
    m1, m2, v0, e = BALL.mass, MASSES[name], 0.3, PUBLISHED[name]
    hit = C.rigid_impacts(np.diag([m1, m2]), [[-1.0], [1.0]], [v0, 0.0], e)
    v1, v2 = hit.velocity
    assert_allclose(m1 * v1 + m2 * v2, m1 * v0, rtol=1e-14)
    assert_allclose(v2 - v1, e * v0, rtol=1e-13)
    assert_allclose(hit.energy_lost, (1 - e**2) * m2 / (m1 + m2) * 0.5 * m1 * v0**2, rtol=1e-12, atol=1e-16)
    newton, poisson, stronge = C.three_coefficients(hit.gap_rates[0][0], hit.gap_rates[2][0], 1 / m1 + 1 / m2, hit.impulse[0])
    assert_allclose([newton, poisson, stronge], e, rtol=1e-10)
    if name == "rod":
        assert_allclose(v2, 0.0558, rtol=1e-3)


def test_T17_restitution_speaks_of_the_same() -> None:
    """Restitution of a fast model, put into a rigid impact, gives its impulse back."""
    e = jd.restitution(BALL, ROD, 0.3, "waves")
    hit = C.rigid_impacts(np.diag([BALL.mass, ROD.mass]), [[-1.0], [1.0]], [0.3, 0.0], e.value)
    assert_allclose(hit.impulse[0], e.impulse, rtol=1e-12)
    assert_allclose(hit.velocity, e.speeds, rtol=1e-12)
    assert_allclose(hit.energy_lost, e.energy_in_waves, rtol=1e-7)


def chain(n: int) -> np.ndarray:
    """Directions of the contacts of a row of bodies."""
    W = np.zeros((n, n - 1))
    W[np.arange(n - 1), np.arange(n - 1)] = -1
    W[np.arange(1, n), np.arange(n - 1)] = 1
    return W


def test_T18_row_of_balls() -> None:
    """Touching balls struck at once: momentum is kept, energy too with e = 1, and the laws of complementarity hold."""
    hit = C.rigid_impacts(np.eye(5), chain(5), [1.0, 0, 0, 0, 0], 1.0)
    assert hit.residual < 1e-10
    assert_allclose(hit.velocity.sum(), 1.0, rtol=1e-12)
    assert (np.diff(hit.velocity) >= -1e-12).all()  # nobody passes the next
    apart = C.rigid_impacts(np.eye(2), chain(2), [1.0, 0.0], 1.0)  # one after the other, the balls hand the velocity on
    assert_allclose(apart.velocity, [0.0, 1.0], atol=1e-14)


def test_T18_block_on_two_supports() -> None:
    """A block falls flat on two supports: both carry half; tilted, the velocities follow from both impulses."""
    m, J, half = 2.0, 0.03, 0.1
    W = np.array([[1.0, 1.0], [-half, half]])
    flat = C.rigid_impacts(np.diag([m, J]), W, [-1.0, 0.0], 0.5)
    assert_allclose(flat.impulse, 1.5 * m / 2, rtol=1e-12)
    assert_allclose(flat.velocity, [0.5, 0.0], atol=1e-14)
    rocking = C.rigid_impacts(np.diag([m, J]), W, [0.0, 1.0], 0.0)  # about the middle: the right rises, the left is struck
    assert rocking.residual < 1e-10
    assert rocking.impulse[1] == 0 < rocking.impulse[0]


@given(st.integers(0, 10_000))
@settings(max_examples=60, deadline=None)
def test_T18_random_impacts(seed: int) -> None:
    """Complementarity, no gain of energy, and Poisson's law of one contact where the others do not take part."""
    rng = np.random.default_rng(seed)
    n, c = int(rng.integers(2, 8)), int(rng.integers(1, 6))
    a = rng.standard_normal((n, n))
    M, W, u = a @ a.T + 0.1 * np.eye(n), rng.standard_normal((n, c)), rng.standard_normal(n)
    e = rng.uniform(0, 1, c)
    hit = C.rigid_impacts(M, W, u, e)
    assert hit.residual < 1e-9
    assert (hit.compression >= 0).all()
    assert (hit.expansion >= e * hit.compression - 1e-12).all()
    assert_allclose(hit.velocity, u + np.linalg.solve(M, W @ hit.impulse), rtol=1e-8, atol=1e-10)
    if c == 1:
        G = float(W[:, 0] @ np.linalg.solve(M, W[:, 0]))
        gamma = float(W[:, 0] @ u)
        assert_allclose(hit.impulse[0], max(-(1 + e[0]) * gamma / G, 0.0), rtol=1e-8, atol=1e-12)


# -- T19, T21: the slow run ------------------------------------------------------------------------------------------


def pendulums(e: object, rod: float = ROD.mass, ball: float = BALL.mass, drag: float = 0.0) -> jd.Model:
    """Ball and rod on wires of 0.2 m, moving along x; where they meet, velocities jump by the impulse (1 + e) m_r γ."""
    m = jd.Model("ball and rod")
    one = m.prismatic("ball", m.ground, m.body("ball", mass=ball), axis="x")
    two = m.prismatic("rod", m.ground, m.body("rod", mass=rod), axis="x")
    for joint, mass in ((one, ball), (two, rod)):
        m.joint_spring(joint, stiffness=mass * 9.81 / 0.2, damping=drag if joint is two else 0.0)
    approach = one.velocity - two.velocity
    coefficient = e(jd.maximum(approach, 1e-9)) if callable(e) else e
    p = (1 + coefficient) * approach * ball * rod / (ball + rod)
    m.event(
        "strike",
        one.position - two.position,
        direction=1,
        jump={one.velocity: one.velocity - p / ball, two.velocity: two.velocity + p / rod},
    )
    return m


def test_T19_slow_scale() -> None:
    """The rod swings with the published velocity and period; the fast solution moves as the rigid one in the mean of a round trip."""
    system = pendulums(0.625).compile()
    sol = system.simulate({"ball.displacement": -1e-6, "ball.displacement_rate": 0.3}, t=0.4, rtol=1e-11, atol=1e-13)
    assert_allclose(np.abs(sol["rod.displacement_rate"]).max(), 0.0558, rtol=1e-3)
    m = jd.Model("rod alone")
    m.joint_spring(slide := m.prismatic("rod", m.ground, m.body("rod", mass=ROD.mass), axis="x"), stiffness=ROD.mass * 9.81 / 0.2)
    m.event("through", slide.position, direction=1, jump={slide.velocity: slide.velocity})
    swing = m.compile().simulate({"rod.displacement": 0.01}, t=2.0, rtol=1e-11, atol=1e-13, outputs=None)
    assert_allclose(np.diff(swing.t[:-1][np.diff(swing.t) == 0]), 0.897, rtol=1e-3)
    fast = jd.restitution(BALL, ROD, 0.3, "waves")
    T = ROD.round_trip
    for x in (0.0, 0.3, 1.0):
        start = fast.duration + ROD.round_trip
        mean = (fast.history.b.displacement(x, start + T) - fast.history.b.displacement(x, start)) / T
        assert_allclose(mean, fast.speeds[1], rtol=1e-6)


def test_T19_the_slow_run_asks_the_fast_model() -> None:
    """Three impacts of pendulums in one run, each with e(v) of its own speed, against fast runs at these speeds."""
    table = jd.restitution(BALL, ROD, 0.3, "waves").table(0.02, 0.5)
    sol = pendulums(table).compile().simulate({"ball.displacement": -0.03}, t=1.2, rtol=1e-11, atol=1e-13)
    t = sol.t
    before = np.flatnonzero(np.diff(t) == 0)
    v1, v2 = sol["ball.displacement_rate"], sol["rod.displacement_rate"]
    hits = [i for i in before if v1[i] > v2[i]]
    assert len(hits) >= 3
    for i in hits:
        approach = v1[i] - v2[i]
        e = jd.restitution(BALL, ROD, float(approach), "waves").value
        assert_allclose((v2[i + 1] - v1[i + 1]) / approach, e, atol=1e-4)
        assert_allclose(BALL.mass * v1[i] + ROD.mass * v2[i], BALL.mass * v1[i + 1] + ROD.mass * v2[i + 1], rtol=1e-9)


def test_T21_bouncing_ball() -> None:
    """Constant e: arrivals follow a geometric series."""
    m = jd.Model("bouncing")
    slide = m.prismatic("fall", m.ground, m.body("ball", mass=1.0), axis="z")
    e, h = 0.8, 1.0
    m.event("floor", slide.position, direction=-1, jump={slide.velocity: -e * slide.velocity})
    sol = m.compile().simulate({"fall.displacement": h}, t=3.9, rtol=1e-12, atol=1e-13, outputs=None)
    times = sol.t[:-1][np.diff(sol.t) == 0]
    first = np.sqrt(2 * h / 9.81)
    exact = first + 2 * first * np.array([e * (1 - e**k) / (1 - e) for k in range(20)])
    exact = exact[exact < 3.9]
    assert len(exact) >= 8
    assert_allclose(times[: len(exact)], exact, rtol=0, atol=1e-9)


# -- T20, T22: signals -----------------------------------------------------------------------------------------------

GAUGED = C.rod(1.0, 0.01, E=71.08e9, nu=0.33, density=2710.0, viscosity=3.6914e-8, suspension=0.2, drag=0.162)


@pytest.fixture(scope="module")
def run():
    return C.strike(BALL, GAUGED, 0.28, 10.0, modes=100, relative=None)


def test_T20_spectra_of_windows(run) -> None:
    t, v = run.sampled(1.0, 100e3)
    f, early = C.power_spectrum(t, v, begin=1e-3)
    assert_allclose(f[1], 25.0, rtol=1e-9)
    for i in range(1, 9):
        near = (f > 2560.7 * i - 300) & (f < 2560.7 * i + 300)
        assert abs(f[near][np.argmax(early[near])] - 2560.7 * i) <= 25
    f, late = C.power_spectrum(t, v, begin=0.8)
    peak = late[np.abs(f - 2560.7) < 60].max()
    others = late[f > 4000]
    assert 10 * np.log10(others.max() / peak) < -60
    second = early[np.abs(f - 2 * 2560.7) < 60].max() / early[np.abs(f - 2560.7) < 60].max()
    assert 10 * np.log10(second) > -20  # which was there at first


def test_T20_density_is_power() -> None:
    """The density of a sine between two lines integrates to its mean square."""
    t = np.arange(0, 0.04, 1e-5)
    f, s = C.power_spectrum(t, 3 * np.sin(2 * np.pi * 1012.0 * t))
    assert_allclose(s.sum() * f[1], 4.5, rtol=2e-3)


def test_T22_identification(run) -> None:
    t, v = run.sampled(1.0, 20e3)
    found = C.identify_damping(t, v, GAUGED, begin=0.2)
    assert_allclose(found.viscosity, 3.6914e-8, rtol=0.01)
    assert_allclose(found.drag, 0.162, rtol=0.01)
    noisy = v + 1e-4 * np.random.default_rng(1).standard_normal(len(v))
    found = C.identify_damping(t, noisy, GAUGED, begin=0.2)
    assert_allclose([found.viscosity, found.drag], [3.6914e-8, 0.162], rtol=0.01)


def test_sound_of_a_rod(tmp_path) -> None:
    """The tone of the rod is at c/2L and its harmonics; the file is what was written."""
    import wave

    rod = C.rod(1.0, 0.01, E=70.5e9, density=2710.0, viscosity=1.5e-8)
    e = jd.restitution(BALL, rod, 0.3, modes=40)
    y = C.sound(e.history.b, at=1.0, seconds=0.5)
    f, s = C.power_spectrum(np.arange(len(y)) / 44100, y, begin=0.1, window=0.2)
    strongest = f[np.argmax(s)]
    assert abs(strongest / 2550 - round(strongest / 2550)) < 0.01
    assert s[f > 21_500].max() < 1e-6 * s.max()
    frequency, size = C.ringing(e, rod)
    assert_allclose(frequency[np.argsort(frequency)][:3], 2550.2 * np.arange(1, 4), rtol=1e-4)
    assert (np.diff(size) <= 0).all()
    C.write_wav(tmp_path / "rod.wav", y)
    with wave.open(str(tmp_path / "rod.wav")) as file:
        assert (file.getframerate(), file.getnchannels(), file.getnframes()) == (44100, 1, len(y))
        data = np.frombuffer(file.readframes(len(y)), "<i2")
    assert_allclose(data / np.abs(data).max(), y / np.abs(y).max(), atol=1e-4)
