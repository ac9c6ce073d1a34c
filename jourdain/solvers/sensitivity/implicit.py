"""Derivatives of one step of an implicit Runge–Kutta method by the theorem on implicit functions.

Stages Kᵢ = f(t_a + cᵢh, x_a + h Σⱼ aᵢⱼKⱼ) are found anew to rounding, whatever the run was content with.  Their changes solve
dKᵢ − h Jᵢ Σⱼ aᵢⱼ dKⱼ = Jᵢ (dx + dh Σⱼ aᵢⱼKⱼ) + ∂f, and weights of them go back through the transposed matrix, with the same factors.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...native.kernel import jit
from ..linear.dense import lu_factor, lu_solve, lu_solve_transposed
from .explicit import Scheme, Stages, add_readings, between, changes_length, combine, weigh_reading, weigh_stages
from .field import Field, Readings, evaluate, pull_rate, push_rate, push_reading, read

#: Iterations for the stages of a step; what is returned where they do not come to rest, or their matrix is singular.
ITERATIONS = 60
NOT_FOUND = 90


def radau_scheme() -> Scheme:
    """Radau IIA of order 5 (Hairer & Wanner, Solving ODEs II, table IV.5.6)."""
    r = np.sqrt(6.0)
    a = [
        [(88 - 7 * r) / 360, (296 - 169 * r) / 1800, (-2 + 3 * r) / 225],
        [(296 + 169 * r) / 1800, (88 + 7 * r) / 360, (-2 - 3 * r) / 225],
        [(16 - r) / 36, (16 + r) / 36, 1 / 9],
    ]
    return Scheme(s=3, implicit=1, c=np.array([(4 - r) / 10, (4 + r) / 10, 1.0]), a=np.array(a).ravel(), b=np.array(a[2]))


@jit
def _factorise(field: Field, scheme: Scheme, st: Stages, h: float) -> int:
    """Jacobians of the stages, a column a direction, and the factors of I − h A ⊗ J."""
    n, s = field.n, scheme.s
    m = s * n
    unit, column = st.dx[:n], st.dk[:n]
    for j in range(n):
        unit[j] = 0.0
    for i in range(s):
        for j in range(n):
            unit[j] = 1.0
            status = push_rate(field, st.t[i:], st.x[i * n : i * n + n], st.nothing, unit, st.nothing, column)
            unit[j] = 0.0
            if status != 0:
                return status
            for q in range(n):
                st.jacobian[(i * n + q) * n + j] = column[q]
    for i in range(s):
        for q in range(n):
            row = (i * n + q) * m
            for k in range(s):
                factor = h * scheme.a[i * s + k]
                for j in range(n):
                    st.matrix[row + k * n + j] = -factor * st.jacobian[(i * n + q) * n + j]
            st.matrix[row + i * n + q] += 1.0
    return 0 if lu_factor(st.matrix, m, st.pivots) == 0 else NOT_FOUND


@jit
def _evaluate(field: Field, scheme: Scheme, st: Stages, xa: Any, h: float) -> int:
    """States of the stages from their rates, and what is missing of these: f(Xᵢ) − Kᵢ in ``right``."""
    n, s = field.n, scheme.s
    for i in range(s):
        x, rate = st.x[i * n : i * n + n], st.right[i * n : i * n + n]
        combine(x, xa, h, scheme.a[i * s :], s, st.k, n)
        status = evaluate(field, st.t[i:], x, rate)
        if status != 0:
            return status
        for q in range(n):
            rate[q] -= st.k[i * n + q]
    return 0


@jit
def _correct(st: Stages, m: int, h: float) -> float:
    """One step of Newton's method; how far it moves the states, as a part of the largest."""
    lu_solve(st.matrix, m, st.pivots, st.right)
    most = size = 0.0
    for q in range(m):
        st.k[q] += st.right[q]
        size = max(size, abs(h * st.right[q]))
        most = max(most, abs(st.x[q]))
    return size / (most + 1e-300)


@jit
def find_stages(field: Field, scheme: Scheme, st: Stages, ta: float, h: float, xa: Any) -> int:
    """Rates of all stages to rounding, from the guess; the factors at the end are those of the stages."""
    n, s = field.n, scheme.s
    for i in range(s):
        st.t[i] = ta + scheme.c[i] * h
        for q in range(n):
            st.k[i * n + q] = st.guess[q]
    status = _evaluate(field, scheme, st, xa, h)
    if status == 0:
        status = _factorise(field, scheme, st, h)
    last = 1e300
    for _ in range(ITERATIONS):
        if status != 0:
            return status
        size = _correct(st, s * n, h)
        if not size < 1e300:
            return NOT_FOUND
        status = _evaluate(field, scheme, st, xa, h)
        if status != 0:
            return status
        if size == 0.0 or (size < 1e-9 and size > 0.5 * last):
            return _factorise(field, scheme, st, h)
        if size > 0.1 * last:
            status = _factorise(field, scheme, st, h)
        last = size
    return NOT_FOUND


@jit
def take_implicit(field: Field, readings: Readings, scheme: Scheme, st: Stages, ta: float, h: float, xa: Any) -> int:
    """The stages of a step and its end; integrands at the stages."""
    n, s = field.n, scheme.s
    status = find_stages(field, scheme, st, ta, h, xa)
    for i in range(s):
        if status == 0 and readings.count > 0:
            status = read(field, readings, st.t[i:], st.x[i * n : i * n + n], st.k[i * n : i * n + n])
            for j in range(readings.count):
                st.y[i * readings.count + j] = readings.y[j]
    combine(st.end, xa, h, scheme.b, s, st.k, n)
    return status


@jit
def push_implicit(
    field: Field, readings: Readings, scheme: Scheme, st: Stages, h: float, dta: Any, dtb: Any, dx: Any, dc: Any, dr: Any, total: Any
) -> int:
    """Carries one direction through a step whose stages are known: dx in place, changes of the integrals added to ``total``."""
    n, s = field.n, scheme.s
    moves = changes_length(st, dta, dtb, 1)
    for i in range(s):
        row = st.dx[i * n : i * n + n]
        combine(row, dx, st.dh[0], scheme.a[i * s :], s, st.k, n)
        between(scheme, st, i, dta, 1)
        status = push_rate(field, st.t[i:], st.x[i * n : i * n + n], st.dt, row, dc, st.right[i * n : i * n + n])
        if status != 0:
            return status
    lu_solve(st.matrix, s * n, st.pivots, st.right)
    for i in range(s):
        row = st.dx[i * n : i * n + n]
        between(scheme, st, i, dta, 1)
        combine(st.last, row, h, scheme.a[i * s :], s, st.right, n)
        if readings.count > 0:
            x, k, da = st.x[i * n : i * n + n], st.k[i * n : i * n + n], st.right[i * n : i * n + n]
            status = 0
            if readings.forces == 1:
                status = push_rate(field, st.t[i:], x, st.dt, st.last, dc, st.dk)
            if status == 0:
                status = push_reading(field, readings, st.t[i:], x, k, st.dt, st.last, da, dr, st.dy)
            if status != 0:
                return status
            add_readings(readings, st, i, scheme.b[i], h, moves, 1, total)
    for i in range(s):
        for q in range(n):
            dx[q] += scheme.b[i] * (h * st.right[i * n + q] + st.dh[0] * st.k[i * n + q])
    return 0


@jit
def pull_implicit(
    field: Field, readings: Readings, scheme: Scheme, st: Stages, h: float, weights: Any, xbar: Any, cbar: Any, rbar: Any
) -> Any:
    """Walks weights of the end, and of the integrals, back to the start of a step whose stages are known: xbar in place, those of constants added.

    Returns the status and the weights of both ends in time.
    """
    n, s, count = field.n, scheme.s, readings.count
    ta, hbar = 0.0, weigh_stages(scheme, st, h, xbar, n)
    for i in range(s):
        if count > 0:
            back, kbar = st.xbar[i * n : i * n + n], st.kbar[i * n : i * n + n]
            status, early, length = weigh_reading(field, readings, scheme, st, i, h, weights, back, kbar, rbar)
            late = 0.0
            if status == 0 and readings.forces == 1:  # weights of multipliers go to the state of this stage at once
                status, late = pull_rate(field, st.t[i:], st.x[i * n : i * n + n], st.nothing, back, cbar)
            if status != 0:
                return status, 0.0, 0.0
            ta += early + late
            hbar += length + (early + late) * scheme.c[i]
    for j in range(s):
        for q in range(n):
            total = st.kbar[j * n + q]
            for i in range(s):
                total += h * scheme.a[i * s + j] * st.xbar[i * n + q]
            st.right[j * n + q] = total
    lu_solve_transposed(st.matrix, s * n, st.pivots, st.right)
    for i in range(s):
        back = st.xbar[i * n : i * n + n]
        status, late = pull_rate(field, st.t[i:], st.x[i * n : i * n + n], st.right[i * n : i * n + n], back, cbar)
        if status != 0:
            return status, 0.0, 0.0
        ta += late
        hbar += late * scheme.c[i]
        for q in range(n):
            xbar[q] += back[q]
        for j in range(s):
            a = scheme.a[i * s + j]
            for q in range(n):
                hbar += a * back[q] * st.k[j * n + q]
    return 0, ta - hbar, hbar


__all__ = ["NOT_FOUND", "pull_implicit", "push_implicit", "radau_scheme", "take_implicit"]
