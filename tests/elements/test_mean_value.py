"""Vector constraints by penalty: mean-value point, force, consistent tangent and limits (García Orden & Goicolea, eqs. 30–33)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import brentq

from jourdain.elements.carriers import Directors, Ground, Particle
from jourdain.elements.clearance import Cavity, blob
from jourdain.elements.discrete.mean_value import mean_value_beta
from jourdain.elements.element import Element
from jourdain.elements.points import angle_cosine, angle_sine, coplanarity
from jourdain.elements.potentials import VectorPenalty
from jourdain.symbolic import evaluate
from jourdain.symbolic.derivatives import gradient, jacobian
from jourdain.symbolic.graph import substitute
from tests.elements.readings import Reading, cubic_beta

POINTS = {f"x{k}": 3 for k in (1, 2, 3, 4)}
LAWS: dict[str, tuple[Any, dict[str, int], dict[str, float]]] = {
    "coplanarity": (coplanarity, {}, {}),
    "small angle": (angle_sine, {"sine": 1}, {"sine": 0.4}),
    "large angle": (angle_cosine, {"cosine": 1}, {"cosine": 0.3}),
}
ALPHA = 7.0


def reading(name: str, seed: int = 3, step: float = 0.4, form: str = "beta") -> Reading:
    law, sizes, numbers = LAWS[name]
    rng = np.random.default_rng(seed)
    q0 = rng.normal(size=12)
    return Reading(VectorPenalty(POINTS, law, sizes, form), q0, q0 + step * rng.normal(size=12), {**numbers, "alpha": ALPHA})


def forces_of_ends(r: Reading) -> list[Any]:
    """Resisting forces as expressions of the ends, with the constants as numbers."""
    f = list(r.element.internal(r.s).forces.values()) if getattr(r.element, "form", "") == "beta" else r.potential_expressions()
    fixed = {k: float(v) for k, v in r.values.items() if k not in {*r.x0, *r.x1, *r.flat(r.s.mid)} and np.ndim(v) == 0}
    middle = {m: 0.5 * (a + b) for m, a, b in zip(r.flat(r.s.mid), r.x0, r.x1, strict=True)}
    return substitute(substitute(f, middle), fixed)


def phi_of(r: Reading) -> Any:
    fixed = {k: float(v) for k, v in r.values.items() if k not in {*r.x0, *r.x1} and np.ndim(v) == 0}
    return substitute([r.element.value(r.s, r.s)], fixed)[0]


@pytest.mark.parametrize("name", LAWS)
def test_tangent_is_the_printed_one_with_the_derivative_of_beta(name: str) -> None:
    """K = −α/2 [DΦ_β ⊗ DΦ₁ + 2βΦ̄ D²Φ_β] − αΦ̄ (D²Φ_β Δq) ⊗ dβ/dq₁ (eq. 33 completed), by complete second derivatives."""
    r = reading(name)
    phi = phi_of(r)
    first = gradient(phi, r.x)
    second = [gradient(g, r.x) for g in first]

    def at(expressions: Any, q: np.ndarray) -> np.ndarray:
        return np.array([float(v) for v in evaluate(list(expressions), dict(zip(r.x, q, strict=True)))])

    dq = r.q1 - r.q0
    value = lambda q: at([phi], q)[0]
    psi = lambda b: at(first, r.q0 + b * dq) @ dq - (value(r.q1) - value(r.q0))
    grid = np.linspace(0.0, 1.0, 41)
    signs = [psi(b) for b in grid]
    roots = [brentq(psi, a, b, xtol=1e-15) for a, b, s, t in zip(grid, grid[1:], signs, signs[1:], strict=False) if s * t < 0.0]
    beta = float(r.numbers([mean_value_beta(r.element.value(r.s, r.s), r.x, r.x0, r.x1)])[0])
    assert min(abs(beta - root) for root in roots) < 1e-12
    assert abs(psi(beta)) < 1e-12 * max(1.0, np.abs(at(first, r.q0) * dq).max())
    q = r.q0 + beta * dq
    slope, H = at(first, q), np.array([at(row, q) for row in second])
    mean = 0.5 * (value(r.q0) + value(r.q1))
    force = ALPHA * mean * slope
    ends = dict(zip(r.x0, r.q0, strict=True)) | dict(zip(r.x1, r.q1, strict=True))
    f = forces_of_ends(r)
    assert np.array(evaluate(f, ends), float) == pytest.approx(force, rel=1e-9, abs=1e-11)
    rate = (at(first, r.q1) - slope - beta * H @ dq) / (dq @ H @ dq)
    K = 0.5 * ALPHA * (np.outer(slope, at(first, r.q1)) + 2.0 * beta * mean * H) + ALPHA * mean * np.outer(H @ dq, rate)
    tangent = np.array([[float(v) for v in evaluate(row, ends)] for row in jacobian(f, r.x1)])
    assert tangent == pytest.approx(K, abs=1e-7 * np.abs(K).max())


@pytest.mark.parametrize("name", LAWS)
def test_limit_of_no_step(name: str) -> None:
    """f → αΦ DΦ and K → α/2 [DΦ ⊗ DΦ + Φ D²Φ], linearly in the step."""
    base = reading(name)
    phi = phi_of(base)
    first = gradient(phi, base.x)
    second = [gradient(g, base.x) for g in first]
    here = dict(zip(base.x, base.q0, strict=True))
    value, slope = float(evaluate(phi, here)), np.array(evaluate(first, here), float)
    H = np.array([[float(v) for v in evaluate(row, here)] for row in second])
    f, limit = forces_of_ends(base), (ALPHA * value * slope, 0.5 * ALPHA * (np.outer(slope, slope) + value * H))
    J = jacobian(f, base.x1)
    direction = base.q1 - base.q0
    differences = []
    for step in (1e-2, 1e-3, 0.0):
        ends = dict(zip(base.x0, base.q0, strict=True)) | dict(zip(base.x1, base.q0 + step * direction, strict=True))
        found = np.array(evaluate(f, ends), float), np.array([[float(v) for v in evaluate(row, ends)] for row in J])
        differences.append([np.abs(a - b).max() for a, b in zip(found, limit, strict=True)])
    (force, tangent), (near_force, near_tangent), (zero_force, zero_tangent) = differences
    assert near_force == pytest.approx(0.1 * force, rel=0.1)
    assert near_tangent == pytest.approx(0.1 * tangent, rel=0.2)
    assert zero_force < 1e-13 * max(1.0, np.abs(limit[0]).max())
    assert zero_tangent < 1e-7 * max(1.0, np.abs(limit[1]).max())  # β is ½ to the bisection's width only


def test_closed_form_of_cubic_constraints() -> None:
    """β of coplanarity from its coefficients along the step equals the root found by bracketing."""
    for seed in range(12):
        r = reading("coplanarity", seed)
        grid = np.array([0.0, 1 / 3, 2 / 3, 1.0])
        values = [float(r.numbers([coplanarity(r.s)], r.q0 + g * (r.q1 - r.q0))[0]) for g in grid]
        a = np.linalg.solve(np.vander(grid, 4, increasing=True), values)
        closed = float(cubic_beta(a[2], a[3]))
        if not 0.0 < closed < 1.0:
            continue
        found = float(r.numbers([mean_value_beta(coplanarity(r.s), r.x, r.x0, r.x1)])[0])
        psi = lambda b, a=a: a[1] + 2 * a[2] * b + 3 * a[3] * b * b - a[1] - a[2] - a[3]
        assert abs(psi(closed)) < 1e-12 * np.abs(a).max()
        assert abs(psi(found)) < 1e-12 * np.abs(a).max()
        if not (psi(0.0) * psi(1.0) > 0.0):
            assert found == pytest.approx(closed, abs=1e-10)


BLOB = {"scale": [0.8, 0.7, 0.6], "offset": 1.1, "stiffness": 40.0, "point_a": [0.0, 0.0, 0.0], "frame_a": np.eye(3).ravel()}
WALLS: dict[str, tuple[Element, dict[str, Any]]] = {
    "fixed wall": (Cavity(blob, {"scale": 3, "offset": 1}, Ground(), Particle(), exponent=4.0, form="beta"), BLOB),
    "moving wall": (Cavity(blob, {"scale": 3, "offset": 1}, Directors(), Particle(), exponent=2.5, form="beta"), BLOB),
}


@pytest.mark.parametrize("name", WALLS)
def test_tangent_at_walls(name: str) -> None:
    """Entering, staying at and leaving a wall: tangents of the mean-value form against central differences."""
    element, constants = WALLS[name]
    compared = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        q0 = rng.normal(size=element.size)
        r = Reading(element, q0, q0 + 0.5 * rng.normal(size=element.size), constants)
        f = forces_of_ends(r)
        ends = dict(zip(r.x0, r.q0, strict=True))
        found = lambda q, f=f, ends=ends, r=r: np.array(evaluate(f, ends | dict(zip(r.x1, q, strict=True))), float)
        if np.abs(found(r.q1)).max() < 1e-3:
            continue
        exact = np.array([[float(v) for v in evaluate(row, ends | dict(zip(r.x1, r.q1, strict=True)))] for row in jacobian(f, r.x1)])
        differences = np.stack([(found(r.q1 + 1e-6 * e) - found(r.q1 - 1e-6 * e)) / 2e-6 for e in np.eye(element.size)], axis=1)
        assert np.abs(exact - differences).max() < 1e-6 * max(1.0, np.abs(exact).max())
        compared += 1
        if compared == 3:
            break
    assert compared == 3
