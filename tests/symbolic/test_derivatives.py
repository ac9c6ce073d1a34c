"""Derivatives against the complex step, forward against reverse, second derivatives, sparsity, and branches."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import jourdain.symbolic as S
from jourdain.errors import InputError
from tests.symbolic.trees import OutOfDomainError, build, direct, trees, values

H = 1e-30
COMPLEX_OPS = {
    "add",
    "sub",
    "mul",
    "div",
    "neg",
    "pow",
    "sqrt",
    "exp",
    "log",
    "sin",
    "cos",
    "tan",
    "asin",
    "acos",
    "atan",
    "sinh",
    "cosh",
    "tanh",
    "const",
    "symbol",
}


def complex_step(e, symbols, x, direction):
    """Directional derivative by a step along the imaginary axis: no subtraction, hence exact to rounding."""
    at = {s: complex(v, H * d) for s, v, d in zip(symbols, x, direction)}
    return S.evaluate(e, at, check=False).imag / H


@settings(max_examples=80)
@given(tree=trees(3, smooth=True), x=values(3), d=st.lists(st.floats(-2, 2), min_size=3, max_size=3))
def test_forward_and_reverse_against_the_complex_step(tree, x, d):
    d = [v if abs(v) > 1e-3 else 0.0 for v in d]
    try:
        direct(tree, x)
        symbols = S.symbols("x0 x1 x2")
        e = build(tree, symbols)
        [forward] = S.jvp([e], dict(zip(symbols, d)))
        reverse = S.gradient(e, symbols)
    except (OutOfDomainError, InputError):
        assume(False)
    assume({n.op for n in S.topological([e])} <= COMPLEX_OPS)
    at = dict(zip(symbols, x))
    parts = np.array([complex_step(e, symbols, x, row) for row in np.eye(3)])
    nodes = S.topological([e, forward, *reverse])
    size = max(float(np.max(np.abs(v))) for v in S.evaluate(nodes, at))
    assume(np.isfinite(size) and size < 1e8 and np.all(np.isfinite(parts)))
    tolerance = 1e-12 * max(size, 1.0) ** 2
    gradient = np.array([float(g) for g in S.evaluate(reverse, at)])
    np.testing.assert_allclose(gradient, parts, rtol=1e-10, atol=tolerance)
    np.testing.assert_allclose(float(S.evaluate(forward, at)), parts @ d, rtol=1e-10, atol=10 * tolerance)


UNARY = {
    "sqrt": (0.1, 3),
    "exp": (-2, 2),
    "log": (0.1, 3),
    "sin": (-3, 3),
    "cos": (-3, 3),
    "tan": (-1, 1),
    "asin": (-0.9, 0.9),
    "acos": (-0.9, 0.9),
    "atan": (-3, 3),
    "sinh": (-2, 2),
    "cosh": (-2, 2),
    "tanh": (-2, 2),
}


@pytest.mark.parametrize("op", UNARY)
def test_every_function_to_second_order(op, rng):
    x = S.symbol("x")
    f = getattr(S, op)(x)
    first = S.gradient(f, [x])[0]
    second = S.second_directional([f], {x: 1}, {x: 1})[0]
    at = rng.uniform(*UNARY[op], 20)
    step = at + 1j * H
    np.testing.assert_allclose(S.evaluate(first, {x: at}), S.evaluate(f, {x: step}).imag / H, rtol=2e-14)
    np.testing.assert_allclose(S.evaluate(second, {x: at}), S.evaluate(first, {x: step}).imag / H, rtol=1e-13, atol=1e-14)


def test_powers_and_two_argument_functions(rng):
    x, y = S.symbols("x y")
    a, b = rng.uniform(0.3, 2.0, (2, 20))
    at = {x: a, y: b}
    for f in (x**y, x**2.7, 2.0**y, x**-1.5, x / y, (x * y) ** 7):
        for s in (x, y):
            got = np.broadcast_to(S.evaluate(S.gradient(f, [s])[0], at), a.shape)
            step = {k: v + (1j * H if k is s else 0j) for k, v in at.items()}
            expected = np.broadcast_to(S.evaluate(f, step), a.shape).imag / H
            np.testing.assert_allclose(got, expected, rtol=1e-13, atol=1e-14)
    gy, gx = S.evaluate(S.gradient(S.atan2(y, x), [y, x]), at)
    np.testing.assert_allclose(gy, a / (a**2 + b**2), rtol=1e-14)
    np.testing.assert_allclose(gx, -b / (a**2 + b**2), rtol=1e-14)


def test_branches_have_the_derivative_of_the_branch_taken():
    x, y = S.symbols("x y")
    at = {x: np.array([-1.0, 0.5, 2.0]), y: 1.0}
    cases = {
        S.minimum(x, y): [1, 1, 0],
        S.maximum(x, y): [0, 0, 1],
        S.absolute(x): [-1, 1, 1],
        S.sign(x): [0, 0, 0],
        S.floor(x): [0, 0, 0],
        S.where(x < y, x * x, 3 * x): [-2, 1, 3],
        S.clip(x, 0.0, 1.0): [0, 1, 0],
    }
    for f, expected in cases.items():
        for derivative in (S.gradient(f, [x])[0], S.jvp([f], {x: 1})[0]):
            np.testing.assert_array_equal(np.broadcast_to(S.evaluate(derivative, at), 3), expected)


def test_a_branch_not_taken_does_not_spoil_the_gradient():
    x = S.symbol("x")
    f = S.where(x > 0, S.sqrt(x) * 3, 0.0) + S.where(x < 0, 0.0, S.log(x))
    for derivative in (S.gradient(f, [x])[0], S.jvp([f], {x: 1})[0], S.jacobian([f], [x])[0][0]):
        assert float(S.evaluate(derivative, {x: -1.0})) == 0.0
        assert float(S.evaluate(derivative, {x: 4.0})) == pytest.approx(0.75 + 0.25, rel=1e-15)


def test_jacobian_sparsity_and_transposed_product(rng):
    x = S.symbols([f"x{i}" for i in range(6)])
    f = [x[0] * x[1], S.sin(x[2]) + x[2] * x[5], S.constant(4.0), x[3] - x[3], x[4] ** 3 * x[0], S.floor(x[1])]
    sparse = S.sparse_jacobian(f, x)
    assert set(sparse) == {(0, 0), (0, 1), (1, 2), (1, 5), (4, 0), (4, 4)}
    at = dict(zip(x, rng.uniform(0.5, 2.0, 6)))
    dense = np.array([[float(v) for v in S.evaluate(row, at)] for row in S.jacobian(f, x)])
    assert np.array_equal(dense != 0.0, [[(i, j) in sparse for j in range(6)] for i in range(6)])
    w, d = rng.standard_normal((2, 6))
    backward = np.array([float(v) for v in S.evaluate(S.vjp(f, list(w), x), at)])
    forward = np.array([float(v) for v in S.evaluate(S.jvp(f, dict(zip(x, d))), at)])
    np.testing.assert_allclose(backward, w @ dense, rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(forward, dense @ d, rtol=1e-13, atol=1e-14)


def test_second_derivative_is_symmetric_and_matches_the_hessian(rng):
    x = S.symbols("a b c")
    f = S.sin(x[0] * x[1]) * S.exp(x[2]) / (1 + x[0] ** 2)
    hessian = S.jacobian(S.gradient(f, x), x)
    at = dict(zip(x, rng.uniform(0.2, 1.0, 3)))
    matrix = np.array([[float(v) for v in S.evaluate(row, at)] for row in hessian])
    np.testing.assert_allclose(matrix, matrix.T, rtol=1e-13)
    u, w = rng.standard_normal((2, 3))
    second = S.second_directional([f], dict(zip(x, u)), dict(zip(x, w)))[0]
    np.testing.assert_allclose(float(S.evaluate(second, at)), u @ matrix @ w, rtol=1e-12)


@pytest.mark.parametrize("power", [1.5, 2.5, 3.5, 4.5, 6.5])
def test_half_powers_have_finite_derivatives_at_zero(power: float) -> None:
    """Contact laws k·max(d, 0)^(n + ½) are differentiated twice where there is no contact."""
    (x,) = S.symbols("x", "position")
    law = S.gradient(7.0 * S.maximum(2.0 * x - 1.0, 0.0) ** power, [x])[0]
    for order, factor in ((1, power), (2, power * (power - 1.0))):
        for place in (0.2, 0.5):
            if power - order > 0.0:
                assert S.evaluate([law], {x: place})[0] == 0.0
        assert S.evaluate([law], {x: 0.8})[0] == pytest.approx(7.0 * factor * 2.0**order * 0.6 ** (power - order), rel=1e-14)
        law = S.gradient(law, [x])[0]
