"""Discrete gradients of quadratic, quartic and Lennard-Jones functions: directionality, limits, symmetry (and what breaks it)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from jourdain.elements.discrete.discrete_gradient import discrete_gradient, gonzalez
from jourdain.elements.element import Composite, Term
from jourdain.symbolic import evaluate, symbols
from jourdain.symbolic.derivatives import gradient
from jourdain.symbolic.expr import Expr

X, X0, X1 = (symbols(f"{p}1 {p}2 {p}3", "position") for p in "xyz")
SQUARE = X[0] * X[0] + X[1] * X[1] + X[2] * X[2]
A = np.array([[2.0, 0.3, -0.4], [0.3, 1.0, 0.7], [-0.4, 0.7, -1.5]])
QUADRATIC = sum((0.5 * A[i, j] * X[i] * X[j] for i in range(3) for j in range(3)), 0.2 * X[0] - X[2])


def lennard_jones(r2: Expr) -> Expr:
    return 64.8 * ((0.5 / r2**3) ** 2 - 0.5 / r2**3)


def quartic(r2: Expr) -> Expr:
    return 0.7 * r2 * r2


#: As the engine forms them: a quadratic term, functions of one invariant; and one of several invariants.
TERMS: dict[str, Term] = {
    "quadratic": QUADRATIC,
    "quartic": Composite(quartic, (SQUARE,)),
    "Lennard-Jones": Composite(lennard_jones, (SQUARE,)),
    "several invariants": Composite(lambda p, q: p * p * q + 0.3 * q**3, (SQUARE, X[0] + 2.0 * X[1] * X[2])),
}
INVARIANT = ("quartic", "Lennard-Jones")


def value_of(term: Term) -> Expr:
    return term.value() if isinstance(term, Composite) else term


def numbers(expressions: list[Expr], x0: np.ndarray, x1: np.ndarray) -> np.ndarray:
    return np.array(evaluate(expressions, dict(zip(X0, x0, strict=True)) | dict(zip(X1, x1, strict=True))), float)


def at(e: Expr, x: np.ndarray) -> Any:
    return float(evaluate(e, dict(zip(X, x, strict=True))))


def ends(seed: int, step: float = 0.6) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x0 = rng.normal(size=3)
    x0 *= rng.uniform(0.9, 1.4) / np.linalg.norm(x0)
    return x0, x0 + step * rng.uniform(-0.5, 0.5, 3)


@pytest.mark.parametrize("name", TERMS)
def test_directionality(name: str) -> None:
    """∇̄f·(y − x) = f(y) − f(x), also for Gonzalez' formula in the coordinates themselves."""
    f = value_of(TERMS[name])
    for forms in (discrete_gradient(TERMS[name], X, X0, X1), gonzalez(f, X, X0, X1)):
        for seed in range(30):
            x0, x1 = ends(seed)
            size = max(abs(at(f, x0)), abs(at(f, x1)), 1.0)
            assert abs(numbers(forms, x0, x1) @ (x1 - x0) - at(f, x1) + at(f, x0)) < 1e-12 * size


def test_of_quadratic_functions_it_is_the_gradient_at_the_mean() -> None:
    for forms in (discrete_gradient(QUADRATIC, X, X0, X1), gonzalez(QUADRATIC, X, X0, X1)):
        x0, x1 = ends(3)
        assert numbers(forms, x0, x1) == pytest.approx(A @ (0.5 * (x0 + x1)) + [0.2, 0.0, -1.0], abs=1e-14)


@pytest.mark.parametrize("name", INVARIANT)
def test_only_the_form_in_invariants_is_orthogonal_to_rotations(name: str) -> None:
    """∇̄f·(ξ × z) = 0 at the mean z; Gonzalez' plain formula has a moment there."""
    equivariant, plain = discrete_gradient(TERMS[name], X, X0, X1), gonzalez(value_of(TERMS[name]), X, X0, X1)
    moments = {True: 0.0, False: 0.0}
    for seed in range(20):
        x0, x1 = ends(seed)
        for kept, form in ((True, equivariant), (False, plain)):
            g = numbers(form, x0, x1)
            moments[kept] = max(moments[kept], float(np.abs(np.cross(0.5 * (x0 + x1), g)).max()) / max(1.0, np.abs(g).max()))
    assert moments[True] < 1e-13
    assert moments[False] > 1e-3


@pytest.mark.parametrize("name", TERMS)
def test_limit_of_small_steps(name: str) -> None:
    """∇̄f − ∇f(mean) falls as the square of the step, without NaN down to 1e-12 and at no step at all."""
    f = value_of(TERMS[name])
    form, slope = discrete_gradient(TERMS[name], X, X0, X1), gradient(f, X)
    x0, away = ends(7)
    direction = (away - x0) / np.linalg.norm(away - x0)
    for step in (1e-1, 1e-2, 1e-3, 1e-4, 1e-6, 1e-8, 1e-10, 1e-12, 0.0):
        x1 = x0 + step * direction
        exact = np.array([at(g, 0.5 * (x0 + x1)) for g in slope])
        error = np.abs(numbers(form, x0, x1) - exact).max()
        size = np.abs(exact).max()
        assert error < 60.0 * size * step**2 + 1e-10 * size, step
        if step in (1e-1, 1e-2) and name != "quadratic":
            assert error > 1e-3 * size * step**2  # it is not the mid-point gradient
