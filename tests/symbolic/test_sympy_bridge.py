"""Exchange with SymPy, both ways."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings

import jourdain.symbolic as S
from jourdain.errors import InputError
from jourdain.symbolic.sympy_bridge import from_sympy, to_sympy
from tests.symbolic.trees import OutOfDomainError, build, direct, trees, values

sympy = pytest.importorskip("sympy", reason="sympy is not installed")


@settings(max_examples=40)
@given(tree=trees(2), x=values(2))
def test_there_and_back(tree, x):
    try:
        _, error = direct(tree, x)
        symbols = S.symbols("x0 x1")
        e = build(tree, symbols)
    except (OutOfDomainError, InputError):
        assume(False)
    assume(len(S.topological([e])) < 25)  # SymPy is slow
    theirs = to_sympy(e)
    try:  # SymPy folds what is complex or infinite in a branch that is not taken
        back = from_sympy(theirs, {"x0": symbols[0], "x1": symbols[1]})
    except InputError:
        assume(False)
    at = dict(zip(symbols, x))
    got, value = float(S.evaluate(back, at)), float(S.evaluate(e, at))
    assume(np.isfinite(got))
    assert got == pytest.approx(value, rel=1e-9, abs=1e-9 + 1e6 * error)


def test_to_sympy():
    x, y = S.symbols("x y")
    X, Y = sympy.symbols("x y", real=True)
    cases = {
        x * S.sin(y) ** 2 / 2: X * sympy.sin(Y) ** 2 / 2,
        S.sqrt(x) - 1: sympy.sqrt(X) - 1,
        S.atan2(x, y): sympy.atan2(X, Y),
        x**y: X**Y,
        abs(x): sympy.Abs(X),
        S.minimum(x, y): sympy.Min(X, Y),
        x < y: sympy.Piecewise((1, X < Y), (0, True)),
        S.where((x < y) & ~(x < 0), x, y): sympy.Piecewise((X, (X < Y) & ~(X < 0)), (Y, True)),
        x / 3: X / 3,
        S.floor(x): sympy.floor(X),
        0.1 * x: sympy.Rational(1, 10) * X,
    }
    for ours, theirs in cases.items():
        assert sympy.simplify(to_sympy(ours) - theirs) == 0, ours
    a = sympy.Symbol("a")
    assert to_sympy(x * y, {x: a, y: "b"}) == a * sympy.Symbol("b", real=True)
    assert to_sympy(2.0) == 2 and isinstance(to_sympy(2.0), sympy.Integer)


def test_derivatives_agree_with_sympy(rng):
    x, y = S.symbols("x y")
    X, Y = sympy.symbols("x y", real=True)
    e = S.sin(x * y) * S.exp(-x) / (1 + y**2) + S.atan2(x, y) ** 3
    for ours, theirs in ((x, X), (y, Y)):
        mine = S.gradient(e, [ours])[0]
        function = sympy.lambdify((X, Y), sympy.diff(to_sympy(e), theirs))
        for a, b in rng.uniform(0.2, 2.0, (5, 2)):
            assert float(S.evaluate(mine, {x: a, y: b})) == pytest.approx(function(a, b), rel=1e-12)


def test_from_sympy():
    x, y = S.symbols("x y")
    X, Y, t = sympy.symbols("X Y t")
    given_symbols = {X: x, "Y": y}
    grid = np.array([-1.5, -0.5, 0.0, 0.5, 1.5])
    cases = [
        (sympy.Piecewise((X**2, X < 0), (3 * X, X <= 1), (7, True)), np.array([2.25, 0.25, 0.0, 1.5, 7.0])),
        (sympy.Heaviside(X), np.heaviside(grid, 0.5)),
        (sympy.Heaviside(X, 1), np.heaviside(grid, 1.0)),
        (sympy.Min(X, Y, 0.25), np.minimum(grid, 0.25)),
        (sympy.Max(X, Y), np.maximum(grid, 1.0)),
        (sympy.Piecewise((1, sympy.Eq(X, 0)), (0, True)), (grid == 0.0) * 1.0),
        (sympy.Abs(X), np.abs(grid)),
        (sympy.Piecewise((1, sympy.Ne(X, 0) & (X > -1)), (0, True)), ((grid != 0) & (grid > -1)) * 1.0),
        (sympy.ceiling(X), np.ceil(grid)),
        (sympy.Mod(X, 2), np.mod(grid, 2.0)),
        (sympy.sign(X), np.sign(grid)),
        (sympy.pi * X + sympy.Rational(1, 3), np.pi * grid + 1 / 3),
        (sympy.exp(X) * sympy.E, np.exp(grid + 1)),
        (X**2 / Y - sympy.sqrt(Y), grid**2 - 1),
        (sympy.sec(X), 1 / np.cos(grid)),
        (sympy.Piecewise((1, (X >= 0) | (X < -1)), (2, True)), np.where((grid >= 0) | (grid < -1), 1.0, 2.0)),
    ]
    for theirs, expected in cases:
        got = np.broadcast_to(S.evaluate(from_sympy(theirs, given_symbols), {x: grid, y: 1.0}), grid.shape)
        np.testing.assert_allclose(got, expected, rtol=1e-15, atol=1e-15, err_msg=str(theirs))
    angle = sympy.Function("q")(t)
    assert from_sympy(sympy.sin(angle) * angle.diff(t), {angle: x, angle.diff(t): y}) is S.sin(x) * y
    assert from_sympy(3, {}) == 3


def test_tables_go_by_name():
    x = S.symbol("x")
    gas = S.table([0.0, 1.0, 2.0], [1.0, 3.0, 2.0], name="gas")
    theirs = to_sympy(2 * gas(x))
    assert theirs == 2 * sympy.Function("gas")(sympy.Symbol("x", real=True))
    assert from_sympy(theirs, {"x": x, "gas": gas}) is 2 * gas(x)
    assert "Derivative" in str(to_sympy(S.jvp([gas(x)], {x: 1})[0]))


def test_messages():
    X = sympy.Symbol("X")
    with pytest.raises(InputError, match=r"symbol 'X'.*known: Y"):
        from_sympy(X + 1, {"Y": S.symbol("y")})
    with pytest.raises(InputError, match="'I' is not a finite real number"):
        from_sympy(sympy.sqrt(-4) * X, {"X": S.symbol("x")})
    with pytest.raises(InputError, match="gamma"):
        from_sympy(sympy.gamma(X), {"X": S.symbol("x")})
