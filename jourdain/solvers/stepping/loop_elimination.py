"""Elimination of the multipliers of closed loops from the dense system of a step in joint coordinates.

Variable reduction, P^oc = [1; −B] (Uhlar, eqs. 5.98–5.104); which rates depend on the others is chosen by pivots.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...native.kernel import jit
from ..linear.dense import lu_factor, lu_full, lu_solve, lu_solve_transposed
from .joint_space import JointFrame


@jit
def _choose_dependent(js: JointFrame) -> None:
    """Chooses the rates that depend on the others by full pivoting of the scaled rows of closure."""
    nw, m, extra = js.n_w, js.n_closure, js.n_closure + js.n_servo
    gb, g = js.gb, js.gx
    rows, columns = js.dependent, js.pivots
    for l in range(m):
        largest = 1e-300
        for j in range(nw):
            largest = max(largest, abs(gb[j * extra + l]))
        for j in range(nw):
            g[j * m + l] = gb[j * extra + l] / largest
    lu_full(g, nw, m, rows, columns, 0.0)


@jit
def _factor_dependent(js: JointFrame) -> float:
    """Factors of the dependent part of the scaled rows of closure; the ratio of its smallest to its largest pivot."""
    nw, m, extra = js.n_w, js.n_closure, js.n_closure + js.n_servo
    gb, g = js.gb, js.gd
    chosen, pivots, scale = js.dependent, js.pivots, js.row_scale
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
def dependent_rates(js: JointFrame, between_steps: bool) -> bool:
    """The dependent set and its factors; a new set between steps when the pivots have got small, in a step only when they vanish."""
    state = js.state
    if js.n_closure == 0:
        return True
    if state.chosen == 1:
        state.ratio = _factor_dependent(js)
        limit = state.limit * state.chosen_ratio if between_steps else 1e-12
        if state.ratio > limit:
            return True
        if state.limit == 0.0:
            return state.ratio > 0.0
        state.switches += 1
    _choose_dependent(js)
    state.chosen = 1
    state.ratio = state.chosen_ratio = _factor_dependent(js)
    return state.ratio > 0.0


@jit
def eliminate(js: JointFrame) -> None:
    """The dense matrix: balance of independent rates, rows of closure, rows of servo constraints, for (w, inputs).

    GX gets the rows of −B of P^oc, one for every independent rate: Ḡ_D⁻¹ ḡ_i.
    """
    nw, m, s = js.n_w, js.n_closure, js.n_servo
    extra, size = m + s, nw + s
    a, gb, ct = js.a, js.gb, js.ct
    chosen, gd = js.dependent, js.gd
    pivots, scale = js.pivots, js.row_scale
    for k in range(nw - m):
        i, line, y = chosen[m + k], js.final[k * size :], js.gx[k * m :]
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
        line = js.final[(nw - m + k) * size :]
        for c in range(size):
            line[c] = ct[k * nw + c] if c < nw else 0.0


@jit
def right_side(js: JointFrame) -> None:
    """The negative residual of the dense system."""
    nw, m, extra = js.n_w, js.n_closure, js.n_closure + js.n_servo
    rhs, b, chosen = js.rhs, js.w, js.dependent
    for k in range(nw - m):
        total, y = rhs[chosen[m + k]], js.gx[k * m :]
        for l in range(m):
            total -= y[l] * rhs[chosen[l]]
        b[k] = -total
    for k in range(extra):
        b[nw - m + k] = -rhs[nw + k]


@jit
def closure_multipliers(js: JointFrame) -> Any:
    """Increments of the multipliers of closure after the solution: −Ḡ_D⁻ᵀ (A_D w + B_D u + r_D)."""
    nw, m, s = js.n_w, js.n_closure, js.n_servo
    a, gb, rhs = js.a, js.gb, js.rhs
    w, x, scale = js.w, js.gx[(nw + s) * m :], js.row_scale
    for l in range(m):
        d = js.dependent[l]
        total = rhs[d]
        for c in range(nw):
            total += a[d * nw + c] * w[c]
        for c in range(s):
            total += gb[d * (m + s) + m + c] * w[nw + c]
        x[l] = -total
    lu_solve(js.gd, m, js.pivots, x)
    for l in range(m):
        x[l] *= scale[l]
    return x
