"""Forces of muscles that share a joint's moment: every optimiser finds the same, the closed form (spec 07, C21 to C23, T15)."""

from __future__ import annotations

import numpy as np
import pytest

import jourdain as jd
from jourdain import criteria as cr

ARMS, STRONGEST, MOMENT = np.array([0.04, 0.025, 0.055]), np.array([900.0, 600.0, 1500.0]), 40.0
EXTRA = {"ipopt": "ipyopt", "mma": "nlopt"}


def problem(power: int, equation: bool) -> jd.Problem:
    """Activations a in [0, 1] with Σ r F₀ a = M, or at least M where the method takes no equations; the least Σ aᵖ."""
    m = jd.Model("joint", gravity=(0, 0, 0))
    for i in range(3):
        m.parameter(f"a{i}", 0.3, bounds=(0.0, 1.0))
    m.prismatic("x", m.ground, m.body("mass", mass=1.0), axis="x")
    still = jd.Analysis(m.compile(), "simulate", {}, t=0.01)
    cost = cr.final(" + ".join(f"a{i}^{power}" for i in range(3)))
    moment = cr.final(" + ".join(f"{float(r * f / MOMENT)!r}*a{i}" for i, (r, f) in enumerate(zip(ARMS, STRONGEST, strict=True))))
    return jd.Problem(still, ["a0", "a1", "a2"], {"cost": cost}, {"moment": moment.equals(1.0) if equation else moment >= 1.0})


@pytest.mark.parametrize("power", [2, 3])
@pytest.mark.parametrize("method", ["slsqp", "trust-constr", "cobyqa", "ipopt", "mma"])
def test_every_optimiser_gives_the_closed_form(method: str, power: int) -> None:
    """p aᵖ⁻¹ = λ r F₀: a ∝ (r F₀)^(1/(p−1)); forces to 1e-4 of F₀, multiplier and KKT residual with them."""
    pytest.importorskip(EXTRA.get(method, "scipy"))
    g = ARMS * STRONGEST / MOMENT
    a = g ** (1 / (power - 1))
    a /= a @ g
    assert a.max() < 1.0
    best = problem(power, method != "mma").optimise(method=method, tolerance=1e-10)
    assert best.feasible and np.abs(np.array(list(best.values.values())) - a).max() < 1e-4
    assert best.kkt < 1e-4
    assert abs(best.multipliers["moment"]) == pytest.approx(power * a[0] ** (power - 1) / g[0], rel=1e-3)
