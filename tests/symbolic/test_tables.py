"""Look-up tables: against SciPy's splines, derivatives against differences, continuity, the ends, and the messages."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.interpolate import CubicSpline, RegularGridInterpolator

import jourdain.symbolic as S
from jourdain.errors import InputError

grids = st.lists(st.floats(0.05, 2.0), min_size=1, max_size=12).map(lambda steps: np.cumsum([-1.0, *steps]))


@settings(max_examples=30)
@given(x=grids, seed=st.integers(0, 10**6))
def test_spline_is_the_natural_cubic_spline(x, seed):
    y = np.random.default_rng(seed).standard_normal(len(x))
    s = S.symbol("s")
    f = S.table(x, y)(s)
    inside = np.linspace(x[0], x[-1], 57)
    derivatives = [f]
    for _ in range(3):
        derivatives.append(S.jvp([derivatives[-1]], {s: 1})[0])
    reference = CubicSpline(x, y, bc_type="natural") if len(x) > 2 else None
    for order in range(3):
        got = np.broadcast_to(S.evaluate(derivatives[order], {s: inside}), inside.shape)
        if reference is None:
            expected = [np.interp(inside, x, y), np.full(57, np.diff(y)[0] / np.diff(x)[0]), np.zeros(57)][order]
        else:
            expected = reference(inside, order)
        scale = np.max(np.abs(y)) / np.min(np.diff(x)) ** order
        np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-11 * scale)


@settings(max_examples=30)
@given(x=grids, seed=st.integers(0, 10**6))
def test_linear_table_is_interp(x, seed):
    y = np.random.default_rng(seed).standard_normal(len(x))
    s = S.symbol("s")
    at = np.linspace(x[0] - 1, x[-1] + 1, 61)
    got = S.evaluate(S.table(x, y, kind="linear")(s), {s: at})
    np.testing.assert_allclose(got, np.interp(at, x, y), rtol=1e-12, atol=1e-13)


def test_ends_are_held_or_extended():
    x, y = [0.0, 1.0, 2.0], [1.0, 2.0, 5.0]
    s = S.symbol("s")
    at = {s: np.array([-1.0, 3.0])}
    held, extended = S.table(x, y)(s), S.table(x, y, extrapolate="extend")(s)
    np.testing.assert_array_equal(S.evaluate(held, at), [1.0, 5.0])
    np.testing.assert_array_equal(S.evaluate(S.jvp([held], {s: 1})[0], at), [0.0, 0.0])
    reference = CubicSpline(x, y, bc_type="natural")
    np.testing.assert_allclose(S.evaluate(extended, at), reference([-1.0, 3.0]), rtol=1e-13)
    np.testing.assert_allclose(S.evaluate(S.jvp([extended], {s: 1})[0], at), reference([-1.0, 3.0], 1), rtol=1e-13)
    fourth = extended
    for _ in range(4):
        [fourth] = S.jvp([fourth], {s: 1})
    np.testing.assert_array_equal(S.evaluate(fourth, at), [0.0, 0.0])


@pytest.mark.parametrize("kind", ["linear", "spline"])
def test_two_variables(kind, rng):
    x, y = np.array([0.0, 0.5, 1.5, 2.0]), np.array([-1.0, 0.0, 0.7, 1.0, 3.0])
    z = rng.standard_normal((4, 5))
    a, b = S.symbols("a b")
    f = S.table(x, y, z, kind=kind)(a, b)
    pa, pb = rng.uniform(0.05, 1.95, 40), rng.uniform(-0.95, 2.95, 40)
    at = {a: pa, b: pb}
    if kind == "linear":
        expected = RegularGridInterpolator((x, y), z)(np.column_stack([pa, pb]))
    else:  # a spline along y of the splines along x: the tensor product, built the other way round
        columns = CubicSpline(x, z, bc_type="natural")(pa)
        expected = [CubicSpline(y, column, bc_type="natural")(q) for column, q in zip(columns, pb)]
    np.testing.assert_allclose(S.evaluate(f, at), expected, rtol=1e-12, atol=1e-13)
    h = 1e-6
    keep = np.min(np.abs(pa[:, None] - x), axis=1) > h
    keep &= np.min(np.abs(pb[:, None] - y), axis=1) > h
    for s in (a, b):
        up, down = ({**at, s: at[s] + d} for d in (h, -h))
        difference = (S.evaluate(f, up) - S.evaluate(f, down)) / (2 * h)
        got = np.broadcast_to(S.evaluate(S.gradient(f, [s])[0], at), pa.shape)
        np.testing.assert_allclose(got[keep], difference[keep], rtol=1e-6, atol=1e-7)
    [mixed] = S.second_directional([f], {a: 1}, {b: 1})
    assert mixed is S.second_directional([f], {b: 1}, {a: 1})[0]
    for i, j in ((0, 0), (2, 3), (3, 4)):
        assert float(S.evaluate(f, {a: x[i], b: y[j]})) == pytest.approx(z[i, j], rel=1e-13)
    outside = {a: np.array([-1.0, 5.0]), b: np.array([-9.0, 9.0])}
    np.testing.assert_allclose(S.evaluate(f, outside), [z[0, 0], z[-1, -1]], rtol=1e-12)
    np.testing.assert_array_equal(S.evaluate(S.gradient(f, [a])[0], outside), [0.0, 0.0])


def test_spline_is_twice_continuously_differentiable(rng):
    x = np.cumsum(rng.uniform(0.1, 1.0, 9))
    s = S.symbol("s")
    f = S.table(x, rng.standard_normal(9))(s)
    g = S.jvp([f], {s: 1})[0]
    k = S.jvp([g], {s: 1})[0]
    for e in (f, g, k):
        left, right = (S.evaluate(e, {s: x[1:-1] + d}) for d in (-1e-10, 1e-10))
        np.testing.assert_allclose(left, right, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(S.evaluate(k, {s: x[[0, -1]]}), 0.0, atol=1e-10)


def test_large_table_and_identity_by_content():
    x = np.linspace(0.0, 10.0, 4001)
    s = S.symbol("s")
    first, second = S.table(x, np.sin(x)), S.table(x.copy(), np.sin(x))
    assert first(s) is second(s) and first(s) is not S.table(x, np.cos(x))(s)
    assert abs(float(S.evaluate(first(s), {s: 5.00123})) - np.sin(5.00123)) < 1e-11


def test_csv_file(tmp_path):
    path = tmp_path / "gas.csv"
    path.write_text("# pressure\nx,p\n0.0,1.0\n0.5,3.0\n1.0,2.0\n")
    s = S.symbol("s")
    f = S.table(path, kind="linear")
    assert f.name == "gas" and float(S.evaluate(f(s), {s: 0.25})) == 2.0
    path.write_text("1,2,3\n4,5,6\n")
    with pytest.raises(InputError, match="two columns"):
        S.table(path)
    with pytest.raises(InputError, match="does not exist"):
        S.table(tmp_path / "missing.csv")


def test_messages():
    cases = [
        (lambda: S.table([0.0, 2.0, 1.0], [1, 2, 3], name="gas"), r"gas.*x\[1\] = 2 ≥ x\[2\] = 1"),
        (lambda: S.table([0.0], [1.0]), "at least two"),
        (lambda: S.table([0.0, 1.0], [1.0]), "shape"),
        (lambda: S.table([0.0, np.nan], [1.0, 2.0]), "finite"),
        (lambda: S.table([0.0, 1.0], [1.0, np.inf]), "finite"),
        (lambda: S.table([0, 1], [0, 1], kind="cubic"), "'linear' or 'spline'"),
        (lambda: S.table([0, 1], [0, 1], extrapolate="no"), "'hold' or 'extend'"),
        (lambda: S.table([0, 1], [0, 1])(S.symbol("a"), S.symbol("b")), "takes 1 argument"),
    ]
    for make, message in cases:
        with pytest.raises(InputError, match=message):
            make()
