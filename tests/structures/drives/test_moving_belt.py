"""A belt that moves along itself: frequencies, gradients of its energy, the three ways to count bending."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from jourdain.structures.drives.moving_belt import BENDING, moving_belt
from jourdain.structures.drives.splines import HierarchicalSplines, SpanSplines, quadrature

F, MASS, V, L = 5000.0, 1.5, 20.0, 0.155


def test_T4_frequencies_of_a_moving_string() -> None:
    belt = moving_belt(SpanSplines(L, 24), MASS)
    c = math.sqrt(F / MASS)
    expected = np.arange(1, 4) * (c**2 - V**2) / (2 * L * c)
    assert abs(expected[0] - 163.893) < 5e-4
    assert_allclose(belt.frequencies(F, V)[:3], expected, rtol=1e-5)
    D = belt.D(V)
    assert_allclose(D, -D.T, atol=1e-15 * np.abs(D).max())
    assert belt.frequencies(F, c)[0] < 1e-3 * expected[0]  # divergence


def test_T4_bending_stiffness() -> None:
    EI, n = 40.0, np.arange(1, 4)
    belt = moving_belt(SpanSplines(L, 24), MASS, EI)
    expected = (n * math.pi / L) ** 2 / (2 * math.pi) * np.sqrt((EI + F * L**2 / (n**2 * math.pi**2)) / MASS)
    assert_allclose(belt.frequencies(F)[:3], expected, rtol=1e-4)


@pytest.mark.parametrize("bending", BENDING)
def test_T5_gradient_of_the_energy(bending: str) -> None:
    """C q + b is the gradient of V − T₀ written down anew, with curvature in second order."""
    length, EI, v = 0.6, 7.0, 12.0
    rng = np.random.default_rng(5)
    basis = HierarchicalSplines(length, 12, [[(0.1, 0.4)]])
    kap = np.where
    s, weight = quadrature(basis, [0.2, 0.4])
    curvature = kap((s > 0.2) & (s < 0.4), 18.0, 0.0)

    def energy(q: np.ndarray) -> float:
        w, w1, w2 = (basis.matrix(s, d) @ q for d in range(3))
        first = (curvature - w * curvature**2 - w2) ** 2
        second = curvature**2 * w**2 * curvature**2 + 0.5 * w1**2 * curvature**2 + 2 * w * w2 * curvature**2  # κ (κ₂) of second order
        density = {
            "first_order": first,
            "printed": first + 2 * second,
            "arc_length": first
            + 2 * second
            + (w * curvature) * (curvature**2 - 2 * curvature * (w * curvature**2 + w2))
            + curvature**2 * w1**2 / 2,
        }[bending]
        potential = 0.5 * weight @ (F * (w1**2 + 2 * w * curvature) + EI * density)
        kinetic = 0.5 * MASS * weight @ ((v * w1) ** 2 + (1 + w * curvature) ** 2 * v**2)
        return float(potential - kinetic)

    belt = moving_belt(basis, MASS, EI, lambda x: kap((x > 0.2) & (x < 0.4), 18.0, 0.0), bending, [0.2, 0.4])
    for _ in range(3):
        q, d = rng.standard_normal((2, basis.size)) * 1e-3
        slope = (energy(q + d) - energy(q - d)) / 2
        assert abs((belt.C(F, v) @ q + belt.b(F, v)) @ d - slope) < 1e-9 * abs(slope) + 1e-12


def test_T5_curvature_of_second_order_is_that_of_the_curve() -> None:
    """κ r = 1 − u − u″ + u² + u′²/2 + 2 u u″ against the curve itself: the error is of third order."""
    t = np.linspace(0, 2 * math.pi, 4001)
    errors = []
    for size in (1e-2, 5e-3):
        u, u1, u2 = size * np.cos(3 * t), -3 * size * np.sin(3 * t), -9 * size * np.cos(3 * t)
        R = 1 + u
        exact = (R**2 + 2 * u1**2 - R * u2) / (R**2 + u1**2) ** 1.5
        errors.append(np.abs(exact - (1 - u - u2 + u**2 + u1**2 / 2 + 2 * u * u2)).max())
    assert 7 < errors[0] / errors[1] < 9


@pytest.mark.parametrize(
    ("bending", "factor"),
    [
        ("first_order", lambda n: (n * n - 1) ** 2),
        ("printed", lambda n: n**4 - 5 * n * n + 3),
        ("arc_length", lambda n: n**4 - 2.5 * n * n + 1),
    ],
)
def test_T5_harmonics_of_a_circle(bending: str, factor) -> None:
    r, EI = 0.06, 3.0
    basis = HierarchicalSplines(2 * math.pi * r, 96, degree=5)
    belt = moving_belt(basis, MASS, EI, 1 / r, bending)
    s, weight = quadrature(basis)
    W = basis.matrix(s)
    for n in range(1, 6):
        w = np.cos(n * s / r)
        q = np.linalg.solve(belt.ww, W.T @ (weight * w))
        assert abs(q @ belt.bent @ q / (q @ belt.ww @ q) - EI * factor(n) / r**4) < 1e-6 * EI * n**4 / r**4


def test_T6_force_on_a_circular_arc() -> None:
    """A belt on a rigid circle needs (F − m̄v²)/r per length: half a circle carries 2 (F − m̄v²)."""
    r, v = 0.054, 25.0
    basis = HierarchicalSplines(2 * math.pi * r, 40)
    belt = moving_belt(basis, MASS, 0.0, 1 / r)
    per_length = np.linalg.solve(belt.ww, belt.b(F, v))  # contact force that holds w = 0
    s, weight = quadrature(basis, [math.pi * r])
    force = basis.matrix(s) @ per_length
    assert_allclose(force, (F - MASS * v * v) / r, rtol=1e-12)
    half = s < math.pi * r
    assert abs((weight * force * np.sin(s / r))[half].sum() - 2 * (F - MASS * v * v)) < 1e-9 * F
