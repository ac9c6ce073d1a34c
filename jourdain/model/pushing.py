"""Forces that push and never pull: stops, ropes, tyres, contacts; and Coulomb's direction without its jump."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..symbolic.expr import ONE, ZERO, Expr, as_expr
from ..symbolic.functions import maximum, sqrt, where


def pressed(depth: Expr, exponent: Any) -> Expr:
    """δⁿ where δ > 0, else 0; the power is formed of a harmless number where it is not used, so that its slope stays finite."""
    if isinstance(exponent, (int, float)) and exponent == 1:
        return maximum(depth, 0.0)
    return where(depth > 0.0, where(depth > 0.0, depth, ONE) ** as_expr(exponent), ZERO)


def pushing(depth: Expr, rate: Expr, stiffness: Any, hysteresis: Any = ZERO, damping: Any = ZERO, exponent: Any = 1) -> Expr:
    """max(0, K δⁿ + C δⁿ δ̇ + D δ̇) where δ > 0, else 0."""
    force = pressed(depth, exponent) * (stiffness + hysteresis * rate)
    if as_expr(damping) is not ZERO:
        force = force + where(depth > 0.0, damping * rate, ZERO)
    lossless = as_expr(damping) is ZERO and as_expr(hysteresis) is ZERO
    return force if lossless else maximum(force, 0.0)


def stored(depth: Expr, stiffness: Any, exponent: Any = 1) -> Expr:
    """The elastic energy K δⁿ⁺¹/(n + 1)."""
    return stiffness * pressed(depth, exponent + 1) / (exponent + 1)


def smooth_sign(components: Sequence[Expr], speed: Any) -> list[Expr]:
    """v/√(v² + v*²): Coulomb's direction, regularised over the speed v*."""
    size = sqrt(sum((c * c for c in components), as_expr(speed) * speed))
    return [c / size for c in components]


__all__ = ["pressed", "pushing", "smooth_sign", "stored"]
