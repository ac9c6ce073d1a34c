"""The mean-value point of a constraint along a step, q_n + βΔq with DΦ(q_n + βΔq)·Δq = ΔΦ (García Orden & Goicolea, eqs. 30–33)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...symbolic.derivatives import gradient
from ...symbolic.expr import HALF, ZERO, Expr, as_expr, symbol
from ...symbolic.functions import where
from ...symbolic.graph import substitute

#: Relative square of the step below which no correction is made.
NEAR = 1e-10


def mean_value_gradient(phi: Expr, x: Sequence[Expr], start: Sequence[Expr], end: Sequence[Expr], bisections: int = 24) -> list[Expr]:
    """DΦ(q_n + βΔq) with DΦ(q_n + βΔq)·Δq = Φ₁ − Φ₀ (eqs. 31–32).

    What is missing to the equality (a root that the search did not see, between two kinks of Φ) is added along Δq.
    """
    beta = mean_value_beta(phi, x, start, end, bisections)
    slope = substitute(gradient(phi, x), {v: a + beta * (b - a) for v, a, b in zip(x, start, end, strict=True)})
    (before,), (after,) = (substitute([phi], dict(zip(x, p, strict=True))) for p in (start, end))
    defect, step2, size = after - before, ZERO, ZERO
    for g, a, b in zip(slope, start, end, strict=True):
        defect, step2, size = defect - g * (b - a), step2 + (b - a) ** 2, size + a * a + b * b
    apart = step2 > NEAR * size
    factor = where(apart, defect / where(apart, step2, 1.0), ZERO)
    return [g + factor * (b - a) for g, a, b in zip(slope, start, end, strict=True)]


def mean_value_beta(phi: Expr, x: Sequence[Expr], start: Sequence[Expr], end: Sequence[Expr], bisections: int = 24) -> Expr:
    """β in [0, 1] with Ψ(β) = DΦ(q_n + βΔq)·Δq − ΔΦ = 0: the root nearest to ½ that bisection from a scan finds, then Newton.

    Bisection has no derivative with respect to the coordinates (its points are fixed fractions); the two Newton steps at the
    end give value and derivative of the root.
    """
    b = symbol("beta", "position")
    along = substitute([phi], {v: p + b * (q - p) for v, p, q in zip(x, start, end, strict=True)})[0]
    (rate,) = gradient(along, [b])
    (curvature,) = gradient(rate, [b])
    change = substitute([along], {b: 1.0})[0] - substitute([along], {b: 0.0})[0]

    def psi(value: Expr) -> Expr:
        return substitute([rate], {b: value})[0] - change

    low, high = _bracket(psi)
    sign = psi(low)
    for _ in range(bisections):
        middle = HALF * (low + high)
        same = sign * psi(middle) > 0.0
        low, high = where(same, middle, low), where(same, high, middle)
    beta = HALF * (low + high)
    for _ in range(2):
        slope = substitute([curvature], {b: beta})[0]
        step = psi(beta) / where(slope * slope > 0.0, slope, 1.0)
        beta = beta - where(slope * slope > 0.0, step, 0.0)
    return beta


def _bracket(psi: Callable[[Expr], Expr], pieces: int = 8) -> tuple[Expr, Expr]:
    """The piece of [0, 1] nearest to ½ over which Ψ changes sign (the whole interval if none does)."""
    edges = [k / pieces for k in range(pieces + 1)]
    values = [psi(as_expr(e)) for e in edges]
    low, high = as_expr(0.0), as_expr(1.0)
    for k in sorted(range(pieces), key=lambda k: -abs(edges[k] + edges[k + 1] - 1.0)):
        here = values[k] * values[k + 1] <= 0.0
        low, high = where(here, edges[k], low), where(here, edges[k + 1], high)
    return low, high
