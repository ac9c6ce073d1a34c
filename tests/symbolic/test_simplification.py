"""Simplification: value kept to rounding on random formulas, and each rule seen in the structure."""

from __future__ import annotations

import math
import operator

import numpy as np
import pytest
from hypothesis import assume, given, settings

import jourdain.symbolic as S
from jourdain.errors import InputError
from jourdain.symbolic.expr import ONE, ZERO, binary, neg
from tests.symbolic.trees import OutOfDomainError, build, direct, trees, values


@settings(max_examples=150)
@given(tree=trees(3), x=values(3))
def test_simplified_value_is_the_direct_value(tree, x):
    try:
        expected, error = direct(tree, x)
    except OutOfDomainError:
        assume(False)
    symbols = S.symbols("x0 x1 x2")
    try:
        e = build(tree, symbols)
    except InputError:
        assume(False)  # a constant part is undefined or too large: refused when built
    got = float(S.evaluate(e, dict(zip(symbols, x))))
    assert abs(got - expected) <= 64.0 * error + 1e-300


@settings(max_examples=60)
@given(tree=trees(3), x=values(3))
def test_order_of_symbols_does_not_change_the_value(tree, x):
    try:
        expected, error = direct(tree, x)
    except OutOfDomainError:
        assume(False)
    symbols = S.symbols("x2 x1 x0")[::-1]
    try:
        e = build(tree, symbols)
    except InputError:
        assume(False)
    assert abs(float(S.evaluate(e, dict(zip(symbols, x)))) - expected) <= 64.0 * error + 1e-300


@settings(max_examples=40)
@given(tree=trees(3))
def test_equal_formulas_are_one_object(tree):
    symbols = S.symbols("x0 x1 x2")
    try:
        first = build(tree, symbols)
    except InputError:
        assume(False)
    assert build(tree, symbols) is first


@pytest.fixture
def xyz():
    return S.symbols("x y z")


def test_neutral_and_absorbing_elements(xyz):
    x, y, _ = xyz
    assert x + 0 is x and 0 + x is x and x - 0 is x and x * 1 is x and x / 1 is x
    assert x * 0 is ZERO and 0 / x is ZERO and (0 - x) is neg(x)
    assert x**1 is x and x**0 is ONE and S.where(ONE, x, y) is x and S.where(x > 0, y, y) is y


def test_constants_fold(xyz):
    x, _, _ = xyz
    assert (S.constant(2) + 3).data == 5.0
    assert 2 * (3 * x) is 6 * x and 1 + (2 + x) is 3 + x and (x + 1) - 1 is x
    assert (S.sin(S.constant(0.5))).data == math.sin(0.5)
    assert x / 4 is 0.25 * x and (2 * x) / (4 * x) == 0.5
    assert (S.maximum(2.0, 3.0)).data == 3.0 and (S.constant(2) < 3) is ONE


def test_signs_are_pulled_out(xyz):
    x, y, z = xyz
    assert neg(neg(x)) is x and (-x) * (-y) is x * y and (-x) * y is -(x * y) and (-x) / y is -(x / y)
    assert x - (-y) is x + y and (-x) - y is -(x + y) and (-x) + (-y) is -(x + y) and (-x) + y is y - x
    assert (x - y) is -(y - x) and -2.0 * x is -(2 * x) and -3.0 / x is -(3 / x) and x / -y is -(x / y)
    assert S.sin(-x) is -S.sin(x) and S.cos(-x) is S.cos(x) and S.atan(y - x) is -S.atan(x - y) and abs(-z) is abs(z)


def test_order_is_canonical(xyz):
    x, y, z = xyz
    assert x * y is y * x and x + y is y + x and S.minimum(x, y) is S.minimum(y, x)
    assert (x + y) * z is z * (y + x) and (x * y).id > max(x.id, y.id)


def test_exact_cancellation(xyz):
    x, y, z = xyz
    assert x - x is ZERO and (x + y) - x is y and x - (x + y) is -y and (x - y) + y is x
    assert (x - y) - x is -y and x - (x - y) is y and (x + y) - (z + x) is y - z and (x - y) - (x - z) is z - y
    assert x / x is ONE and (x * y) / x is y and (x / y) * y is x and x + x is 2 * x and 3 * x - 2 * x is x


def test_squares_and_powers(xyz):
    x, y, _ = xyz
    square = x * x
    assert x**2 is square and (x * y) * x is y * square and S.sqrt(x) * S.sqrt(x) is x and S.sqrt(square) is abs(x)
    assert x**4 is square * square and x**0.5 is S.sqrt(x) and x**-1 is 1 / x and x**-0.5 is 1 / S.sqrt(x)
    assert (x**1.5).op == "mul" and x**-2 is 1 / square


def test_sine_and_cosine_squares(xyz):
    x, y, z = xyz
    s, c = S.sin(x), S.cos(x)
    assert s * s + c * c is ONE and c**2 + s**2 is ONE and 3 * s**2 + 3 * c**2 == 3
    assert y * s**2 + y * c**2 is y and (y * z) * (s * s) + (c * c) * (y * z) is y * z
    assert 1 - s * s is c * c and 1 - c * c is s * s and 2 - 2 * c**2 is 2 * (s * s)


def test_sums_of_angles(xyz):
    x, y, _ = xyz
    sx, cx, sy, cy = S.sin(x), S.cos(x), S.sin(y), S.cos(y)
    assert sx * cy + cx * sy is S.sin(x + y) and sx * cy - cx * sy is S.sin(x - y) and cx * sy - sx * cy is S.sin(y - x)
    assert cx * cy - sx * sy is S.cos(x + y) and sx * sy - cx * cy is -S.cos(x + y)
    assert cx * cy + sx * sy is S.cos(x - y) and cy * cx + sy * sx is S.cos(y - x)


def test_difference_of_sums_of_angles_cancels():
    a, b, c = S.symbols("a b c", "position")
    x, y = a + b + c, a
    assert S.cos(x) * S.cos(y) + S.sin(x) * S.sin(y) is S.cos(b + c)
    assert S.sin(x) * S.cos(y) - S.cos(x) * S.sin(y) is S.sin(b + c)
    assert S.sin(y) * S.cos(x) - S.cos(y) * S.sin(x) is -S.sin(b + c)
    assert S.cos(x) * S.cos(a + b) + S.sin(x) * S.sin(a + b) is S.cos(c)


def test_planar_chain_has_no_nested_rotations():
    q = S.symbols([f"q{i}" for i in range(10)], "position")
    rotation = np.array([[ONE, ZERO], [ZERO, ONE]], dtype=object)
    total = ZERO
    for angle in q:
        s, c = S.sin(angle), S.cos(angle)
        rotation = rotation @ np.array([[c, -s], [s, c]], dtype=object)
        total = total + angle
        assert rotation[0, 0] is S.cos(total) and rotation[1, 0] is S.sin(total)
        assert rotation[0, 1] is -S.sin(total) and rotation[1, 1] is S.cos(total)
    counts = S.operations(list(rotation.flat))
    assert (counts.adds, counts.mults, counts.functions) == (9, 0, 2)


def test_logic(xyz):
    x, y, z = xyz
    a, b = x < y, y < z
    assert (a & a) is a and (a & ONE) is a and (a & ZERO) is ZERO and (a | ONE) is ONE and (a | ZERO) is a
    assert S.where(~a, x, y) is S.where(a, y, x) and (x < x) is ZERO and (x <= x) is ONE
    # A number is true when it is not zero, and the conjunction is 0 or 1 even then.
    assert float(S.evaluate(binary("and", ONE, x), {x: 3.0})) == 1.0
    assert float(S.evaluate(binary("or", x, x), {x: 3.0})) == 1.0
    grid = np.array([0.0, 1.0, 2.0])
    truth = S.evaluate((a & b) | ~(x < z), {x: grid, y: 1.0, z: 1.5})
    np.testing.assert_array_equal(truth, [1.0, 0.0, 1.0])


def test_undefined_constants_are_refused(xyz):
    x, _, _ = xyz
    two, huge = S.constant(-2.0), S.constant(1e300)
    undefined = [lambda: x / 0, lambda: S.sqrt(-1.0), lambda: S.log(-2.0), lambda: S.exp(1e6), lambda: two**0.3]
    undefined += [lambda: S.constant(math.nan), lambda: x + math.inf, lambda: huge * 1e300]
    for bad in undefined:
        with pytest.raises(InputError):
            bad()


def test_truth_of_an_expression_points_to_where(xyz):
    x, y, _ = xyz
    for use in (lambda: bool(x < y), lambda: max(x, y), lambda: 0 < x < 1, lambda: x and y):
        with pytest.raises(TypeError, match="where"):
            use()
    with pytest.raises(TypeError, match="no number yet"):
        math.sin(x)
    with pytest.raises(TypeError):
        x + "text"


def test_arrays_of_numpy(xyz):
    x, y, _ = xyz
    vector = np.array([x, y], dtype=object)
    assert (2 * vector)[1] is 2 * y and (x * np.array([1.0, 2.0]))[1] is 2 * x and np.sin(x) is S.sin(x)
    assert (vector @ vector) is x * x + y * y and S.sin(vector)[0] is S.sin(x) and np.float64(2.0) * x is 2 * x
    assert x + np.array(3.0) is x + 3 and np.array(y, dtype=object)[()] * x is x * y
    for op in (operator.add, operator.sub, operator.mul, operator.truediv):
        assert op(x, np.array([y], dtype=object))[0] is op(x, y)
        assert op(np.array([y], dtype=object), x)[0] is op(y, x)


def test_smooth_step():
    x = S.symbol("x")
    f = S.step(x, 1.0, 3.0, 2.0, 6.0)
    d1 = S.jvp([f], {x: 1})
    d2 = S.jvp(d1, {x: 1})
    at = np.array([0.0, 1.0, 2.0, 3.0, 4.0])
    np.testing.assert_allclose(S.evaluate(f, {x: at}), [2, 2, 4, 6, 6], rtol=1e-15)
    np.testing.assert_allclose(S.evaluate(d1[0], {x: at})[[0, 1, 3, 4]], 0.0, atol=1e-15)
    np.testing.assert_allclose(S.evaluate(d2[0], {x: at}), 0.0, atol=1e-14)
