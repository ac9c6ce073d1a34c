"""Forces where two bodies touch, as numbers: the normal force of an indentation, and regularised friction (spec 05 eqs. 7, 9, 59)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import InputError, short
from ..reals import reals
from ..symbolic import Expr, absolute, exp, sign


@dataclass(frozen=True)
class NormalForce:
    """F = max(0, K δⁿ + D δ̇) while δ > 0 (eq. 7): Hertz for n = 3/2, D = 0; Kelvin–Voigt for n = 1.

    Args:
        stiffness: K, N/mⁿ. exponent: n ≥ 1. damping: D ≥ 0, N s/m.
    """

    stiffness: float
    exponent: float = 1.5
    damping: float = 0.0

    def __post_init__(self) -> None:
        for name in ("stiffness", "exponent", "damping"):
            if reals(getattr(self, name), f"NormalForce: {name}").ndim:
                raise InputError(f"NormalForce: {name} = {short(getattr(self, name))} must be one number")
        for name, good, wanted in (
            ("stiffness", self.stiffness > 0, "positive"),
            ("exponent", self.exponent >= 1, "at least 1"),
            ("damping", self.damping >= 0, "zero or positive"),
        ):
            if not (good and np.isfinite(getattr(self, name))):
                raise InputError(f"NormalForce: {name} = {getattr(self, name):g} must be {wanted}")

    def __call__(self, indentation: Any, rate: Any = 0.0) -> Any:
        """The force at indentations δ (m) and their rates (m/s)."""
        depth = np.maximum(indentation, 0.0)
        return np.where(depth > 0, np.maximum(self.stiffness * depth**self.exponent + self.damping * np.asarray(rate), 0.0), 0.0)[()]

    def rigid_impact(self, mass: float, speed: float) -> tuple[float, float]:
        """Largest indentation and duration of the impact of a rigid reduced mass, without damping.

        δ^{n+1} = (n + 1) m v² / 2K, and t = 2 √π Γ(1 + 1/(n+1)) / Γ(1/2 + 1/(n+1)) δ/v; for Hertz's law t = 2.9432 δ/v.
        """
        from math import gamma, pi, sqrt

        n = self.exponent
        depth = ((n + 1) * mass * speed**2 / (2 * self.stiffness)) ** (1 / (n + 1))
        return depth, 2 * sqrt(pi) * gamma(1 + 1 / (n + 1)) / gamma(0.5 + 1 / (n + 1)) * depth / speed

    def largest_slope(self, mass: float, speed: float) -> float:
        """dF/dδ (N/m) at the largest indentation of a rigid impact."""
        return self.exponent * self.stiffness * self.rigid_impact(mass, speed)[0] ** (self.exponent - 1)


def regularised_friction(v: Any, normal: Any, mu: float, speed: float) -> Any:
    """F_t = −μ sign(v) (1 − e^{−|v|/v*}) F_N (eq. 9), of numbers, arrays or symbols.

    Args:
        v: sliding velocity, m/s. normal: F_N, N. mu: coefficient of friction. speed: v*, small against the largest sliding velocity.
    """
    if not mu >= 0:
        raise InputError(f"regularised_friction: mu = {mu:g} must not be negative")
    if not speed > 0:
        raise InputError(
            f"regularised_friction: speed = {speed:g} m/s must be positive; a thousandth of the largest sliding velocity serves"
        )
    if isinstance(v, Expr) or isinstance(normal, Expr):
        return -mu * sign(v) * (1.0 - exp(-absolute(v) / speed)) * normal
    return mu * np.sign(v) * np.expm1(-np.abs(v) / speed) * normal
