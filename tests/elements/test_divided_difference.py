"""Difference quotients by rules: against the quotient itself for large steps, against the derivative for tiny ones."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from jourdain.elements.discrete.divided_difference import discrete_gradient_by_rules, divided_difference
from jourdain.symbolic import evaluate, symbols
from jourdain.symbolic.derivatives import gradient
from jourdain.symbolic.functions import absolute, asin, atan, cos, cosh, exp, log, maximum, minimum, sin, sinh, sqrt, tan, tanh, where

x, y, z, a, b = symbols("x y z a b")

LAWS = {
    "cubic": x * x * x - 2.0 * x, "inverse": 1.0 / x, "root": sqrt(x), "sine": sin(x * x), "cosine": cos(2.0 * x), "exp": exp(-x * x),
    "log": log(x), "power 2.5": x**2.5, "power 1.37": x**1.37, "tan": tan(0.5 * x), "tanh": tanh(x), "sinh": sinh(x), "cosh": cosh(x),
    "atan": atan(x), "asin": asin(x / 3.0), "Lennard-Jones": x**-12 - x**-6, "ratio": sin(x) / (1.0 + x * x),
}  # fmt: skip


def value(e: object, **at: float) -> float:
    names = {"x": x, "a": a, "b": b}
    return float(evaluate(e, {names[k]: v for k, v in at.items()}))


@pytest.mark.parametrize("name", LAWS)
def test_large_steps(name: str) -> None:
    f, q = LAWS[name], divided_difference(LAWS[name], x, a, b)
    rng = np.random.default_rng(1)
    for x0, x1 in rng.uniform(0.6, 2.6, (50, 2)):
        change = value(f, x=x1) - value(f, x=x0)
        scale = abs(value(f, x=x1)) + abs(value(f, x=x0))
        assert abs(value(q, a=x0, b=x1) * (x1 - x0) - change) < 4e-15 * scale + 1e-16


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("step", [0.0, 1e-12, 1e-8, 1e-5])
def test_tiny_steps_lose_no_digits(name: str, step: float) -> None:
    f = LAWS[name]
    slope, third = gradient(f, [x])[0], gradient(gradient(gradient(f, [x])[0], [x])[0], [x])[0]
    x0, x1 = 1.3, 1.3 + step
    mean = 0.5 * (x0 + x1)
    exact = value(slope, x=mean) + value(third, x=mean) * step**2 / 24.0
    assert value(divided_difference(f, x, a, b), a=x0, b=x1) == pytest.approx(exact, rel=2e-14, abs=1e-15)


def test_quotient_of_a_wide_range_of_differences_is_smooth() -> None:
    q = divided_difference(sin(x), x, a, b)
    for step in np.logspace(-9, 0.4, 60):
        exact = np.cos(1.0 + step / 2) * np.sin(step / 2) / (step / 2)
        assert value(q, a=1.0, b=1.0 + step) == pytest.approx(exact, rel=3e-15)


def test_branches() -> None:
    wall = where(x > 1.0, (x - 1.0) ** 2.5, 0.0)
    q = divided_difference(wall, x, a, b)
    assert value(q, a=0.2, b=0.9) == 0.0
    assert value(q, a=0.5, b=1.5) == pytest.approx(0.5**2.5 / 1.0, rel=1e-15)
    assert value(q, a=1.5, b=0.5) == pytest.approx(0.5**2.5 / 1.0, rel=1e-15)
    assert value(q, a=1.25, b=1.25) == pytest.approx(2.5 * 0.25**1.5, rel=1e-14)
    for f in (maximum(x, 1.0) * x, minimum(x, 1.0), absolute(x - 1.0)):
        for x0, x1 in ((0.3, 0.7), (0.3, 1.9), (1.9, 0.3), (1.2, 1.9)):
            assert value(divided_difference(f, x, a, b), a=x0, b=x1) == pytest.approx(
                (value(f, x=x1) - value(f, x=x0)) / (x1 - x0), rel=1e-13
            )


def test_exact_for_polynomials_in_fractions() -> None:
    q = divided_difference(x**4, x, a, b)
    x0, x1 = Fraction(13, 8), Fraction(13, 8) + Fraction(1, 2**30)
    exact = (x1**4 - x0**4) / (x1 - x0)
    assert abs(Fraction(value(q, a=float(x0), b=float(x1))) / exact - 1) < Fraction(1, 2**51)


def test_several_variables() -> None:
    f = exp(-x * x) * cos(y) + z * z * sqrt(1.0 + x * z) / (2.0 + y)
    ends = [symbols("x0 y0 z0"), symbols("x1 y1 z1")]
    g = discrete_gradient_by_rules(f, [x, y, z], *ends)
    rng = np.random.default_rng(2)
    for step in (1.0, 1e-3, 1e-9):
        for _ in range(20):
            p0 = rng.uniform(0.1, 1.0, 3)
            p1 = p0 + step * rng.uniform(-0.5, 0.5, 3) * p0
            at = dict(zip(ends[0] + ends[1], [*p0, *p1], strict=True))
            slope = np.array([float(v) for v in evaluate(g, at)])
            change = float(evaluate(f, dict(zip([x, y, z], p1, strict=True)))) - float(evaluate(f, dict(zip([x, y, z], p0, strict=True))))
            assert slope @ (p1 - p0) == pytest.approx(change, abs=1e-15)
            middle = [float(v) for v in evaluate(gradient(f, [x, y, z]), dict(zip([x, y, z], 0.5 * (p0 + p1), strict=True)))]
            assert slope == pytest.approx(middle, abs=2.0 * step**2 + 1e-14)


def test_branches_of_several_variables_are_refused() -> None:
    with pytest.raises(ValueError, match="outer law"):
        discrete_gradient_by_rules(where(x > y, x, y), [x, y], symbols("p q"), symbols("r s"))
