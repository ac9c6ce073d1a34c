"""One contact alone, solved exactly: u = W p + q with Coulomb's law and a positive (semi-)definite block W.

Open: p = 0 where q_n ≥ 0.  Sticking: p = −W⁻¹q where that is in the cone.  Sliding: u_n = 0 and u_T = −α p_T with α > 0, so that

    p_T(α) = −(S + α)⁻¹ (q_T − W_Tn q_n/W_nn),   p_n(α) = −(q_n + W_nT p_T)/W_nn,   S = W_TT − W_Tn W_nT/W_nn,

and ‖p_T(α)‖ = μ p_n(α) is one equation for α (a quartic: Bonnefon & Daviet 2011).  It is written μ p_n/‖p_T‖ = 1, which is nearly linear in α
as in trust regions (Moré & Sorensen 1983), and solved by Newton's method inside a bracket: at 0 the left side is below 1, for α → ∞ above.
"""

from __future__ import annotations

import math
from typing import Any

from ...native.kernel import hot, jit

#: Most iterations of the scalar equation; Newton's method takes about three, halving the bracket alone would need these.
SCALAR_ITERATIONS = 100
ROUNDING = 4e-16
#: Steps below this part of α are the last; differences below the second part are rounding.
NEAR, EVEN = 1e-9, 1e-14
#: Velocities and friction below these are none: squares of what larger ones give do not vanish.
NOTHING, SMOOTH = 1e-100, 1e-30


@jit
def slide(n: float, g1: float, g2: float, l1: float, l2: float, mu: float, qn: float, a1: float, a2: float, guess: float) -> Any:
    """Impulse of a sliding contact in principal tangents; a = q_T − g q_n/W_nn."""
    low, high, alpha = 0.0, math.inf, guess
    t1, t2, t = 0.0, 0.0, 1.0
    if l1 - l2 <= EVEN * l1 and abs(g1) + abs(g2) <= EVEN * n:  # no direction is distinguished: spheres
        t = mu * qn / (n * math.sqrt(a1 * a1 + a2 * a2))
        return -qn / n, t * a1, t * a2
    for _ in range(SCALAR_ITERATIONS):
        d1, d2 = 1.0 / (l1 + alpha), 1.0 / (l2 + alpha)
        t1, t2 = -a1 * d1, -a2 * d2
        t = math.sqrt(t1 * t1 + t2 * t2)
        pn = -(qn + g1 * t1 + g2 * t2) / n
        h = mu * pn - t
        # derivatives with respect to α
        dt = -(t1 * t1 * d1 + t2 * t2 * d2) / t
        dn = (g1 * t1 * d1 + g2 * t2 * d2) / n
        slope = mu * (dn - pn * dt / t)  # of μ p_n/t, times t
        if h < 0.0:
            low = alpha
        else:
            high = alpha
        step = -h / slope if slope > 0.0 else math.inf
        after = alpha + step
        if abs(h) <= ROUNDING * t or abs(step) <= ROUNDING * alpha:
            break
        if abs(step) <= NEAR * alpha and low < after < high:  # Newton's method doubles the digits
            t1, t2 = -a1 / (l1 + after), -a2 / (l2 + after)
            t = math.sqrt(t1 * t1 + t2 * t2)
            break
        if not low < after < high:
            if high == math.inf:
                after = 4.0 * alpha + l1
            else:
                after = math.sqrt(low * high) if low > 0.0 else 0.25 * high
            if not low < after < high:
                break
        alpha = after
    t1, t2 = t1 / t, t2 / t
    pn = -qn / (n + mu * (g1 * t1 + g2 * t2))
    return pn, mu * pn * t1, mu * pn * t2


@hot
def coulomb(at: Any, qn: float, q1: float, q2: float, along: float, square: float) -> Any:
    """Impulse of the contact ``at`` (a Local) in principal tangents; −u·p and p² of the tangents tell where the search for α begins."""
    n, over, g1, g2, mu = at.normal, at.over, at.g1, at.g2, at.mu
    if not (qn < -NOTHING and n > 0.0):
        return 0.0, 0.0, 0.0
    if mu <= SMOOTH:
        return -qn * over, 0.0, 0.0
    a1, a2 = q1 - g1 * (qn * over), q2 - g2 * (qn * over)
    t1, t2 = -a1 * at.over1, -a2 * at.over2
    pn = -(qn + g1 * t1 + g2 * t2) * over
    bound = mu * pn
    if pn >= 0.0 and t1 * t1 + t2 * t2 <= bound * bound:
        return pn, t1, t2
    guess = min(along / square, 1e8 * at.l1) if along > 0.0 and square > 0.0 else 0.0
    return slide(n, g1, g2, at.l1, at.l2, mu, qn, a1, a2, guess if guess > 0.0 or at.l2 > 0.0 else at.l1)
