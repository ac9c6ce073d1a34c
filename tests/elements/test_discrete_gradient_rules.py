"""Discrete gradients: directionality, consistency, equivariance (test T1 of the energy-consistent scheme)."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jourdain.elements.discrete.discrete_gradient import degree, discrete_gradient, gonzalez, midpoint, quotient, term_value
from jourdain.elements.element import Composite
from jourdain.errors import ModelError
from jourdain.symbolic import evaluate, gradient, sin, sqrt, symbols

N = 3
x, y, z = (symbols([f"{c}{i}" for i in range(N)], "position") for c in "xyz")


def square(v):
    return v[0] * v[0] + v[1] * v[1] + v[2] * v[2]


def lennard_jones(r2):
    s = 1.0 / r2
    return s**6 - s**3


QUADRATIC = 2.0 * z[0] * z[1] - 3.0 * z[2] * z[2] + z[0]
TERMS = {
    "quadratic": QUADRATIC,
    "quartic": Composite(lambda p: p * p + 0.3 * p, (QUADRATIC,)),
    "lennard-jones": Composite(lennard_jones, (square(z),)),
    "several": Composite(lambda a, b: a * a * b + sin(a), (square(z), z[0] * z[1] + 2.0)),
    "with quotient": Composite(sqrt, (square(z),), lambda a, b: 1.0 / (sqrt(a) + sqrt(b))),
}
points = st.lists(st.floats(-2.0, 2.0), min_size=2 * N, max_size=2 * N).filter(
    lambda p: min(np.square(p[:N]).sum(), np.square(p[N:]).sum()) > 0.3
)


def values(a, b):
    return dict(zip(x, a, strict=True)) | dict(zip(y, b, strict=True))


def at(term, p):
    return float(evaluate(term_value(term), dict(zip(z, p, strict=True))))


@pytest.mark.parametrize("name", TERMS)
@settings(max_examples=40, deadline=None)
@given(points)
def test_directionality(name, p):
    a, b = np.array(p[:N]), np.array(p[N:])
    g = np.array(evaluate(discrete_gradient(TERMS[name], z, x, y), values(a, b)), float)
    fa, fb = at(TERMS[name], a), at(TERMS[name], b)
    assert abs(g @ (b - a) - (fb - fa)) < 1e-12 * (1.0 + abs(fa) + abs(fb) + np.abs(g) @ np.abs(b - a))


@pytest.mark.parametrize("name", TERMS)
def test_consistency_for_small_steps(name):
    """No NaN down to coinciding points, and the distance to the mid-point gradient falls with the square of the step."""
    rng = np.random.default_rng(1)
    a, direction = rng.uniform(0.6, 1.2, N), rng.normal(size=N)
    term = TERMS[name]
    exact = gradient(term_value(term), z)
    errors = []
    for size in (1e-1, 1e-2, 1e-5, 1e-8, 1e-12, 0.0):
        b = a + size * direction
        g = np.array(evaluate(discrete_gradient(term, z, x, y), values(a, b)), float)
        middle = np.array(evaluate(exact, dict(zip(z, 0.5 * (a + b), strict=True))), float)
        assert np.all(np.isfinite(g))
        errors.append(np.abs(g - middle).max() / np.abs(middle).max())
    assert errors[1] <= 0.03 * errors[0] + 1e-13
    assert max(errors[2:]) < 1e-8


def test_quadratic_is_the_midpoint_gradient():
    exact = gradient(QUADRATIC, z)
    rng = np.random.default_rng(2)
    a, b = rng.normal(size=(2, N))
    g = np.array(evaluate(discrete_gradient(QUADRATIC, z, x, y), values(a, b)), float)
    assert np.allclose(g, evaluate(exact, dict(zip(z, 0.5 * (a + b), strict=True))), atol=1e-14)


def test_equivariance_only_in_invariants():
    """∇̄f is orthogonal to rotations of the mid-point in invariants; the plain formula in coordinates is not."""
    rng = np.random.default_rng(3)
    a, b = rng.uniform(0.5, 1.5, (2, N))
    axis = rng.normal(size=3)
    turned = np.cross(axis, 0.5 * (a + b))
    in_invariants = np.array(evaluate(discrete_gradient(TERMS["lennard-jones"], z, x, y), values(a, b)), float)
    plain = np.array(evaluate(gonzalez(term_value(TERMS["lennard-jones"]), z, x, y), values(a, b)), float)
    assert abs(in_invariants @ turned) < 1e-13 * np.linalg.norm(in_invariants)
    assert abs(plain @ turned) > 1e-3 * np.linalg.norm(plain)
    fa, fb = at(TERMS["lennard-jones"], a), at(TERMS["lennard-jones"], b)
    assert abs(plain @ (b - a) - (fb - fa)) < 1e-12


@pytest.mark.parametrize("gap", [0.0, 1e-14, 1e-9, 1e-5, 2.9e-4 * 2, 6.1e-4, 1e-2, 1.0])
def test_quotient_is_accurate_on_both_sides_of_its_switch(gap):
    import mpmath

    (a, b) = symbols("a b", "position")
    left, right = 0.7, 0.7 + gap
    with mpmath.workdps(60):
        f = lambda r: mpmath.mpf(r) ** -6 - mpmath.mpf(r) ** -3
        exact = float((f(right) - f(left)) / (mpmath.mpf(right) - mpmath.mpf(left))) if right != left else float(
            -6 * mpmath.mpf(left) ** -7 + 3 * mpmath.mpf(left) ** -4
        )  # fmt: skip
    assert float(evaluate(quotient(lennard_jones, a, b), {a: left, b: right})) == pytest.approx(exact, rel=1e-11)


def test_degrees():
    p = symbols("p")[0]
    assert degree(p * z[0] * z[1] + sin(p), z) == 2
    assert degree((z[0] + 1.0) ** 3, z) == 3
    assert degree(z[0] / p, z) == 1
    assert degree(p / z[0], z) == np.inf
    assert degree(sqrt(p) + 0.0 * z[0], z) == 0


def test_higher_degree_asks_for_invariants():
    with pytest.raises(ModelError, match="Composite"):
        discrete_gradient(z[0] * z[1] * z[2], z, x, y, "spring")
    assert len(midpoint(x, y)) == N
