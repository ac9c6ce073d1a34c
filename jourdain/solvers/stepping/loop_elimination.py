"""Elimination of the multipliers of closed loops from the dense system of a step in joint coordinates.

Variable reduction, P^oc = [1; −B] (Uhlar, eqs. 5.98–5.104); which rates depend on the others is chosen by pivots.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...native.call import doubles, integers
from ...native.kernel import jit
from ..linear.dense import lu_factor, lu_full, lu_solve, lu_solve_transposed
from . import joint_space as sp


@jit
def _choose_dependent(js: Any) -> None:
    """Chooses the rates that depend on the others by full pivoting of the scaled rows of closure."""
    nw, m, extra = js[sp.N_W], js[sp.N_CLOSURE], js[sp.N_CLOSURE] + js[sp.N_SERVO]
    gb, g = doubles(js[sp.GB], nw * extra), doubles(js[sp.GX], nw * m)
    rows, columns = integers(js[sp.DEPENDENT], nw), integers(js[sp.PIVOTS], nw + extra)
    for l in range(m):
        largest = 1e-300
        for j in range(nw):
            largest = max(largest, abs(gb[j * extra + l]))
        for j in range(nw):
            g[j * m + l] = gb[j * extra + l] / largest
    lu_full(g, nw, m, rows, columns, 0.0)


@jit
def _factor_dependent(js: Any) -> float:
    """Factors of the dependent part of the scaled rows of closure; the ratio of its smallest to its largest pivot."""
    nw, m, extra = js[sp.N_W], js[sp.N_CLOSURE], js[sp.N_CLOSURE] + js[sp.N_SERVO]
    gb, g = doubles(js[sp.GB], nw * extra), doubles(js[sp.GD], m * m)
    chosen, pivots, scale = integers(js[sp.DEPENDENT], nw), integers(js[sp.PIVOTS], m), doubles(js[sp.ROW_SCALE], m)
    for l in range(m):
        largest = 1e-300
        for j in range(nw):
            largest = max(largest, abs(gb[j * extra + l]))
        scale[l] = 1.0 / largest
        for a in range(m):
            g[a * m + l] = gb[chosen[a] * extra + l] * scale[l]
    if lu_factor(g, m, pivots) != 0:
        return 0.0
    smallest, largest = np.inf, 0.0
    for k in range(m):
        smallest, largest = min(smallest, abs(g[k * m + k])), max(largest, abs(g[k * m + k]))
    return smallest / largest


@jit
def dependent_rates(js: Any, between_steps: bool) -> bool:
    """The dependent set and its factors; a new set between steps when the pivots have got small, in a step only when they vanish."""
    state = doubles(js[sp.STATE], sp.STATE_SIZE)
    if js[sp.N_CLOSURE] == 0:
        return True
    if state[sp.CHOSEN] == 1.0:
        state[sp.RATIO] = _factor_dependent(js)
        limit = state[sp.LIMIT] * state[sp.CHOSEN_RATIO] if between_steps else 1e-12
        if state[sp.RATIO] > limit:
            return True
        if state[sp.LIMIT] == 0.0:
            return state[sp.RATIO] > 0.0
        state[sp.SWITCHES] += 1.0
    _choose_dependent(js)
    state[sp.CHOSEN] = 1.0
    state[sp.RATIO] = state[sp.CHOSEN_RATIO] = _factor_dependent(js)
    return state[sp.RATIO] > 0.0


@jit
def eliminate(js: Any) -> None:
    """The dense matrix: balance of independent rates, rows of closure, rows of servo constraints, for (w, inputs).

    GX gets the rows of −B of P^oc, one for every independent rate: Ḡ_D⁻¹ ḡ_i.
    """
    nw, m, s = js[sp.N_W], js[sp.N_CLOSURE], js[sp.N_SERVO]
    extra, size = m + s, nw + s
    a, gb, ct = doubles(js[sp.A], nw * nw), doubles(js[sp.GB], nw * extra), doubles(js[sp.CT], extra * nw)
    chosen, gd = integers(js[sp.DEPENDENT], nw), doubles(js[sp.GD], m * m)
    pivots, scale = integers(js[sp.PIVOTS], m), doubles(js[sp.ROW_SCALE], m)
    for k in range(nw - m):
        i, line, y = chosen[m + k], doubles(js[sp.FINAL] + 8 * k * size, size), doubles(js[sp.GX] + 8 * k * m, m)
        for l in range(m):
            y[l] = scale[l] * gb[i * extra + l]
        lu_solve_transposed(gd, m, pivots, y)
        for c in range(nw):
            line[c] = a[i * nw + c]
        for c in range(s):
            line[nw + c] = gb[i * extra + m + c]
        for l in range(m):
            d, factor = chosen[l], y[l]
            for c in range(nw):
                line[c] -= factor * a[d * nw + c]
            for c in range(s):
                line[nw + c] -= factor * gb[d * extra + m + c]
    for k in range(extra):
        line = doubles(js[sp.FINAL] + 8 * (nw - m + k) * size, size)
        for c in range(size):
            line[c] = ct[k * nw + c] if c < nw else 0.0


@jit
def right_side(js: Any) -> None:
    """The negative residual of the dense system."""
    nw, m, extra = js[sp.N_W], js[sp.N_CLOSURE], js[sp.N_CLOSURE] + js[sp.N_SERVO]
    rhs, b, chosen = doubles(js[sp.RHS], nw + extra), doubles(js[sp.W], nw + extra), integers(js[sp.DEPENDENT], nw)
    for k in range(nw - m):
        total, y = rhs[chosen[m + k]], doubles(js[sp.GX] + 8 * k * m, m)
        for l in range(m):
            total -= y[l] * rhs[chosen[l]]
        b[k] = -total
    for k in range(extra):
        b[nw - m + k] = -rhs[nw + k]


@jit
def closure_multipliers(js: Any) -> Any:
    """Increments of the multipliers of closure after the solution: −Ḡ_D⁻ᵀ (A_D w + B_D u + r_D)."""
    nw, m, s = js[sp.N_W], js[sp.N_CLOSURE], js[sp.N_SERVO]
    a, gb, rhs = doubles(js[sp.A], nw * nw), doubles(js[sp.GB], nw * (m + s)), doubles(js[sp.RHS], nw)
    w, x, scale = doubles(js[sp.W], nw + s), doubles(js[sp.GX] + 8 * (nw + s) * m, m), doubles(js[sp.ROW_SCALE], m)
    for l in range(m):
        d = integers(js[sp.DEPENDENT], nw)[l]
        total = rhs[d]
        for c in range(nw):
            total += a[d * nw + c] * w[c]
        for c in range(s):
            total += gb[d * (m + s) + m + c] * w[nw + c]
        x[l] = -total
    lu_solve(doubles(js[sp.GD], m * m), m, integers(js[sp.PIVOTS], m), x)
    for l in range(m):
        x[l] *= scale[l]
    return x
