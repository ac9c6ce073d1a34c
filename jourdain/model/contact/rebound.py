"""Which loss a law F = K δⁿ (1 + λ δ̇) needs for a coefficient of restitution.

Along an impact m v dv = −K δⁿ (1 + λ v) dδ, so that ∫ v dv/(1 + λ v) is the same for the speeds before and after whatever K, n and m are.  With d = λ v₀:

    d − ln(1 + d) = −e d − ln(1 − e d).

With s = ln((1 + d)/(1 − e d)) that is e (s − 1 + e⁻ˢ) = 1 − (1 + s) e⁻ˢ and 1 + d = s/(1 − e⁻ˢ): Newton's method in s, from s ≈ (1 − e)(1 + 2e)/e, which is right
to 8 % for all e.  Near e = 1, where s = 0 is a double root, ln e = −s/3 + s³/405 − … takes its place.
"""

from __future__ import annotations

from typing import Any

from ...symbolic.expr import Expr, as_expr
from ...symbolic.functions import exp, log, minimum, where

#: Above this e the series holds to 1e-10; below, Newton's steps to rounding.
NEAR, STEPS = 0.99, 4


def loss_number(restitution: Any) -> Expr:
    """d = λ v₀ with which bodies that meet at v₀ part at e v₀, 0 < e ≤ 1.

    >>> loss_number(0.5), loss_number(1.0)
    (1.432750533271375, 0)
    """
    e = as_expr(restitution)
    s = -3.0 * log(e)
    s = s * (1.0 + s * s / 135.0)
    return where(e > NEAR, s / 2.0 + s * s / 12.0 - s**4 / 720.0, _by_newton(minimum(e, NEAR)))


def _by_newton(e: Expr) -> Expr:
    s = (1.0 - e) * (1.0 + 2.0 * e) / e
    for _ in range(STEPS):
        t = exp(-s)
        s = s - (e * (s - 1.0 + t) - 1.0 + (1.0 + s) * t) / (e * (1.0 - t) - s * t)
    return s / (1.0 - exp(-s)) - 1.0


__all__ = ["loss_number"]
