"""Time-stepping schemes of assembled systems by name, reduced to one form of step.

Every scheme solves M (q₁ − q₀ − w) = κ f̄ − Ḡᵀ Λ with the constraints at q₁, for q₁ and the scaled multipliers Λ = κ λ; the matrix of this
form does not degrade as h → 0.  They differ in the displacement w without forces, in κ, and in where forces and constraint
gradients are evaluated:

* energy-momentum: discrete gradients between q₀ and q₁ (Gonzalez 1996; Betsch & Uhlar), w = h v₀, κ = h²/2;
* midpoint: gradients at the mid-point; variational: the same with constraint gradients at q₀ and velocities projected (momentum form
  of the discrete Euler–Lagrange equations of the mid-point Lagrangian; the projection is that of RATTLE);
* backward-euler, newmark, trapezoidal, hht, generalized-alpha: gradients at q₁ (HHT: forces and rows at q₀ + (1 + α)(q₁ − q₀)), with
  accelerations as part of the state (Chung & Hulbert 1993 for generalized-alpha).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from ...errors import InputError

NAMES = ("energy-momentum", "midpoint", "trapezoidal", "backward-euler", "newmark", "hht", "generalized-alpha", "variational")

#: Where forces and rows are evaluated: discrete gradients, mid-point, mid-point with rows at the start, end of the step.
EVALUATIONS = ("discrete", "midpoint", "start", "end")


@dataclass(frozen=True)
class Scheme:
    """A scheme with its coefficients; β = 0 marks schemes without accelerations in the state."""

    name: str
    evaluation: str
    order: int = 2
    theta: float = 0.5
    beta: float = 0.0
    gamma: float = 0.0
    alpha_m: float = 0.0
    alpha_f: float = 0.0

    @cached_property
    def has_acceleration(self) -> bool:
        """Whether accelerations are part of the state."""
        return self.beta > 0.0

    @cached_property
    def coefficients(self) -> tuple[float, ...]:
        """The numbers the native loop needs: evaluation, θ, β, γ, α_m, α_f."""
        return float(EVALUATIONS.index(self.evaluation)), self.theta, self.beta, self.gamma, self.alpha_m, self.alpha_f


#: Coefficients of schemes that have some, with their usual values (β of Newmark follows from γ).
COEFFICIENTS: dict[str, dict[str, float]] = {
    "newmark": {"gamma": 0.5, "beta": 0.0},
    "hht": {"alpha": -0.1},
    "generalized-alpha": {"rho": 0.8},
}


@cache
def scheme(name: str, **coefficients: float) -> Scheme:
    """The scheme of a name: γ, β of "newmark", α of "hht" (−0.3 … 0), ρ∞ of "generalized-alpha" (0 … 1).

    >>> scheme("hht", alpha=-0.1).gamma
    0.6
    """
    usual = COEFFICIENTS.get(name, {})
    for given in coefficients:
        if given not in usual and name in NAMES:
            raise InputError(f"'{given}' is no option, and no coefficient of method '{name}', which takes {', '.join(usual) or 'none'}")
    values = {**usual, **coefficients}
    if name in ("energy-momentum", "midpoint", "variational"):
        return Scheme(name, {"energy-momentum": "discrete", "midpoint": "midpoint", "variational": "start"}[name])
    if name == "backward-euler":
        return Scheme(name, "end", 1, theta=1.0)
    if name == "trapezoidal":
        return Scheme(name, "end", 2, 1.0, 0.25, 0.5)
    if name == "newmark":
        gamma = values["gamma"]
        b = coefficients.get("beta", 0.25 * (0.5 + gamma) ** 2)
        _check(b > 0.0 and gamma >= 0.5, name, f"γ = {gamma:g}, β = {b:g}", "take γ ≥ 1/2 and β > 0")
        return Scheme(name, "end", 2 if gamma == 0.5 else 1, 1.0, b, gamma)
    if name == "hht":
        alpha = values["alpha"]
        _check(-1.0 / 3.0 <= alpha <= 0.0, name, f"α = {alpha:g}", "take −1/3 ≤ α ≤ 0")
        return Scheme(name, "end", 2, 1.0 + alpha, 0.25 * (1.0 - alpha) ** 2, 0.5 * (1.0 - 2.0 * alpha))
    if name == "generalized-alpha":
        rho = values["rho"]
        _check(0.0 <= rho <= 1.0, name, f"ρ∞ = {rho:g}", "take 0 ≤ ρ∞ ≤ 1")
        am, af = (2.0 * rho - 1.0) / (rho + 1.0), rho / (rho + 1.0)
        g = 0.5 - am + af
        return Scheme(name, "end", 2, 1.0, 0.25 * (0.5 + g) ** 2, g, am, af)
    raise InputError(f"method '{name}' is unknown; choose one of {', '.join(NAMES)}")


def _check(good: Any, name: str, value: str, remedy: str) -> None:
    if not good:
        raise InputError(f"method '{name}': {value} is outside its range; {remedy}")
