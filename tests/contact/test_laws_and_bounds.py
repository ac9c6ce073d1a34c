"""Spec 05, T1–T7: contact laws and response bounds."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg as sl
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.special import ellipe, ellipkm1

import jourdain as jd

C = jd.contact

STEEL_BALL = {"E": 210e9, "nu": 0.3, "density": 7780.0}
ALUMINIUM = {"E": 70.5e9, "nu": 0.33, "density": 2710.0}


def ball(**more: float):
    return C.ball(0.015, **{**STEEL_BALL, **more})


def rod(**more: float):
    return C.rod(1.0, 0.01, **{**ALUMINIUM, **more})


# -- T1: Hertz's stiffness -------------------------------------------------------------------------------------------


def test_T1_sphere_on_plane() -> None:
    """K = (4/3) E* √R."""
    R, modulus = 0.015, 1 / ((1 - 0.3**2) / 210e9 + (1 - 0.33**2) / 70.5e9)
    assert_allclose(C.hertz_stiffness(ball(), rod()), 4 / 3 * modulus * np.sqrt(R), rtol=1e-12)
    two = C.hertz_stiffness(C.Surface(210e9, 0.3, (1 / 0.02, 1 / 0.02)), C.Surface(70.5e9, 0.33, (1 / 0.06, 1 / 0.06)))
    assert_allclose(two, 4 / 3 * modulus * np.sqrt(1 / (1 / 0.02 + 1 / 0.06)), rtol=1e-12)


TABLE = {1.0: 0.318310, 0.9: 0.318604, 0.8: 0.319631, 0.7: 0.321687, 0.6: 0.325244, 0.5: 0.331098, 0.4: 0.340717, 0.3: 0.357182,
         0.2: 0.388443, 0.1: 0.465563, 0.05: 0.577384}  # fmt: skip


@pytest.mark.parametrize(("ratio", "expected"), TABLE.items())
def test_T1_curvature_factor(ratio: float, expected: float) -> None:
    assert_allclose(C.curvature_factor(ratio), expected, rtol=2e-6)


def test_T1_goldsmith() -> None:
    assert abs(C.curvature_factor(0.4) / 0.3414 - 1) < 0.003


@given(st.floats(1e-3, 0.999))
@settings(max_examples=40, deadline=None)
def test_T1_by_legendre_integrals(k: float) -> None:
    """The same curve in the axes' ratio k, by another pair of elliptic integrals."""
    m = 1 - k * k
    K, E = ellipkm1(k * k), ellipe(m)
    A, B = k / m * (K - E), k / m * (E / k**2 - K)
    q = np.sqrt(A + B) * 3 / (4 * np.pi) * (2 / 3 * np.pi * k) / (k * K) ** 1.5
    assert_allclose(C.curvature_factor(A / B), q, rtol=1e-8)


def test_T1_bodies_of_the_table() -> None:
    """K of Table 1, and crossed cylinders of one radius, which touch in a circle as a sphere on a plane."""
    plate = C.plate(0.2, 0.0051, E=72.55e9, density=2710.0)
    beam = C.beam(0.9765, 0.01, E=67.7e9, density=2696.0)
    assert_allclose(C.hertz_stiffness(ball(), rod()), 9.621e9, rtol=1e-4)
    assert_allclose(C.hertz_stiffness(ball(), plate), 9.653e9, rtol=1e-4)
    assert_allclose(C.hertz_stiffness(ball(), beam), 7.567e9, rtol=0.0025)  # the source's factor is 0.2 % larger
    crossed = C.hertz_stiffness(C.Surface(2e11, 0.3, (10.0, 0.0)), C.Surface(2e11, 0.3, (10.0, 0.0)), angle=np.pi / 2)
    assert_allclose(crossed, C.hertz_stiffness(C.Surface(2e11, 0.3, (10.0, 10.0)), C.Surface(2e11, 0.3)), rtol=1e-12)


# -- T2, T3: rigid masses --------------------------------------------------------------------------------------------


def test_T2_hertz_impact_of_rigid_masses() -> None:
    e = jd.restitution(ball(), rod(), 0.3, "rigid")
    K, m = C.hertz_stiffness(ball(), rod()), 1 / (1 / ball().mass + 1 / rod().mass)
    depth = (5 * m * 0.3**2 / (4 * K)) ** 0.4
    assert_allclose(e.value, 1.0, atol=1e-6)
    assert_allclose(e.history.indentation.max(), depth, rtol=1e-6)
    assert_allclose(e.duration, 2.94328 * depth / 0.3, rtol=2e-6)
    assert_allclose([e.duration, e.largest_force], [163.8e-6, 656.4], rtol=3e-4)


def test_T2_second_order() -> None:
    """Halving the step divides the error of the duration by four, at least."""
    errors = []
    exact = C.NormalForce(C.hertz_stiffness(ball(), rod())).rigid_impact(1 / (1 / ball().mass + 1 / rod().mass), 0.3)[1]
    for steps in (100, 200, 400):
        errors.append(abs(jd.restitution(ball(), rod(), 0.3, "rigid", steps=steps).duration - exact))
    assert errors[0] / errors[2] > 10


@pytest.mark.parametrize("zeta", [0.05, 0.2, 0.5])
@pytest.mark.parametrize("model", ["rigid", "modes", "waves"])
def test_T3_kelvin_voigt(zeta: float, model: str) -> None:
    """The contact ends where the force is zero, before the spring is relaxed; every model of two balls knows it."""
    m = ball().mass / 2
    K = 1e6
    law = C.NormalForce(K, 1.0, 2 * zeta * np.sqrt(K * m))
    e = jd.restitution(ball(), ball(), 0.3, model, law=law, steps=8000)
    root = np.sqrt(1 - zeta**2)
    angle = np.pi - 2 * np.arcsin(zeta)
    assert_allclose(e.value, np.exp(-zeta * angle / root), atol=1e-6)
    assert_allclose(e.duration, angle / (root * np.sqrt(K / m)), rtol=1e-6)


# -- T4: friction ----------------------------------------------------------------------------------------------------


def test_T4_regularised_friction() -> None:
    v = np.linspace(-2, 2, 401)
    F = C.regularised_friction(v, 10.0, 0.2, 1e-3)
    assert_allclose(F, -F[::-1], atol=1e-15)
    assert_allclose(F[-1], -2.0, rtol=1e-12)
    small = 1e-9
    assert_allclose(C.regularised_friction(small, 10.0, 0.2, 1e-3) / small, -0.2 * 10.0 / 1e-3, rtol=1e-6)
    x = jd.symbol("x")
    assert_allclose([jd.evaluate(C.regularised_friction(x, 10.0, 0.2, 1e-3), {x: w}) for w in (-0.002, 0.0, 0.0005)],
                    C.regularised_friction(np.array([-0.002, 0.0, 0.0005]), 10.0, 0.2, 1e-3), rtol=1e-12)  # fmt: skip


# -- T5–T7: response bounds ------------------------------------------------------------------------------------------


def draw(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.random.Generator]:
    """A random damped system of 2 to 20 coordinates; every third is strongly damped."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 21))

    def definite() -> np.ndarray:
        a = rng.standard_normal((n, n))
        return a @ a.T / n + 0.05 * np.eye(n)

    return definite(), (10.0 if seed % 3 == 0 else 0.3) * definite(), 20 * definite(), rng


def first_order(M: np.ndarray, D: np.ndarray, K: np.ndarray) -> np.ndarray:
    n = len(M)
    return np.block([[np.zeros((n, n)), np.eye(n)], [-np.linalg.solve(M, K), -np.linalg.solve(M, D)]])


def test_T5_decay_rate() -> None:
    """No eigenvalue decays more slowly than the bound, in 500 systems."""
    for seed in range(500):
        M, D, K, _ = draw(seed)
        mu = C.decay_rate(M, D, K)
        assert mu > 0
        assert np.linalg.eigvals(first_order(M, D, K)).real.max() <= -mu + 1e-10


def test_T6_bounds_hold() -> None:
    """Displacements and velocities of 200 random systems stay within their bounds at all times."""
    for seed in range(200):
        M, D, K, rng = draw(seed)
        y, v = rng.standard_normal(len(M)), rng.standard_normal(len(M))
        bounds = C.ResponseBounds(M, D, K, y, v)
        step = sl.expm(first_order(M, D, K) * 0.07)
        x = np.concatenate([y, v])
        for k in range(120):
            assert (np.abs(x[: len(M)]) <= bounds.displacement(0.07 * k) * (1 + 1e-9)).all()
            assert (np.abs(x[len(M) :]) <= bounds.velocity(0.07 * k) * (1 + 1e-9)).all()
            x = step @ x


def test_T6_one_mass_touches_its_envelope() -> None:
    xi, omega = 0.3, 5.0
    bounds = C.ResponseBounds([[1.0]], [[2 * xi * omega]], [[omega**2]], [1.0], [0.5])
    t = np.linspace(0, 6, 200_001)
    wd = omega * np.sqrt(1 - xi**2)
    y = np.exp(-xi * omega * t) * (np.cos(wd * t) + (0.5 + xi * omega) / wd * np.sin(wd * t))
    ratio = np.abs(y) / np.exp(-xi * omega * t) / (bounds.displacement(1.0)[0] / np.exp(-xi * omega))
    assert_allclose(ratio.max(), 1.0, rtol=1e-6)


def test_T6_the_printed_bound_fails() -> None:
    """With K⁻¹ instead of K′⁻¹ in the second term of (19), as printed, the one-mass oscillator leaves its bound."""
    xi, omega = 0.3, 5.0
    bounds = C.ResponseBounds([[1.0]], [[2 * xi * omega]], [[omega**2]], [1.0], [0.5])
    block = bounds.blocks[0]
    t = np.linspace(0, 6, 20_001)
    wd = omega * np.sqrt(1 - xi**2)
    y = np.exp(-xi * omega * t) * (np.cos(wd * t) + (0.5 + xi * omega) / wd * np.sin(wd * t))
    printed = np.minimum(
        np.sqrt(2 * block.flexibility * block.energy), np.exp(-block.mu * t) * np.sqrt(2 * block.flexibility * block.shifted_energy)
    )
    assert (np.abs(y) > printed * (1 + 1e-3)).any()
    assert (np.abs(y) <= bounds.displacement(t)[:, 0] * (1 + 1e-12)).all()


@pytest.mark.parametrize("damping", [1e3, 1e6, 1e8, 1e12])
def test_T6_bounds_hold_where_a_mode_creeps(damping: float) -> None:
    """μ = 2k/(d + √(d² − 4k)): as ½[d − √(d² − 4k)] it was too large by rounding, K′ negative, and the bound zero, so that the mode was dropped at once."""
    bounds = C.ResponseBounds([[1.0]], [[damping]], [[1.0]], [1.0], [0.0])
    slow = 2.0 / (damping + np.sqrt(damping**2 - 4.0))
    t = np.array([0.0, 0.5, 1.0, 5.0]) / slow
    assert (np.exp(-slow * t) <= bounds.displacement(t)[:, 0] * (1 + 1e-9)).all()
    assert_allclose(bounds.rate, slow, rtol=2e-6)
    assert 1.0 - 1e-5 <= float(bounds.below(1e-3)[0]) * slow / np.log(1e3) < 1.06


def test_T6_independent_parts_have_their_own_rates() -> None:
    bounds = C.ResponseBounds(np.eye(2), np.diag([0.1, 4.0]), np.diag([9.0, 100.0]), [1.0, 1.0], [0.0, 0.0])
    assert_allclose(bounds.rate, [0.05, 2.0])
    assert_allclose(bounds.displacement(bounds.below(1e-3)[1])[1], 1e-3, rtol=1e-12)


@pytest.mark.parametrize("force", ["step", "sine"])
def test_T7_forced_bound(force: str) -> None:
    for seed in range(60):
        M, D, K, rng = draw(seed)
        n = len(M)
        y, v, b = (rng.standard_normal(n) for _ in range(3))
        bounds = C.ResponseBounds(M, D, K, y, v)
        A = first_order(M, D, K)
        omega = float(rng.uniform(0.5, 20))
        # the force is the output of a system of its own: one exponential moves both exactly
        generator = np.zeros((2, 2)) if force == "step" else np.array([[0.0, omega], [-omega, 0.0]])
        drive = np.zeros((2 * n, 2))
        drive[n:, 0] = np.linalg.solve(M, b)
        step = sl.expm(0.05 * np.block([[A, drive], [np.zeros((2, 2 * n)), generator]]))
        x = np.concatenate([y, v, [1.0, 0.0]])
        for k in range(120):
            assert (np.abs(x[:n]) <= bounds.forced(0.05 * k, b) * (1 + 1e-9)).all()
            x = step @ x


@pytest.mark.parametrize("given", [np.datetime64("2020-01-01"), "1", 1j, [1.0, 2.0]], ids=["date", "text", "complex", "list"])
@pytest.mark.parametrize("name", ["stiffness", "exponent", "damping"])
def test_numbers_of_a_normal_force_are_numbers(name: str, given: object) -> None:
    with pytest.raises(jd.errors.InputError, match=f"NormalForce: {name} = .*(are no real numbers|must be one number)"):
        C.NormalForce(**{"stiffness": 1.0, name: given})
