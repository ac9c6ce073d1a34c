"""Derivatives of one step of an explicit Runge–Kutta method, x_b = S(t_a, t_b, x_a, c), and of the quadrature that goes with it.

Kᵢ = f(t_a + cᵢh, x_a + h Σⱼ aᵢⱼKⱼ), x_b = x_a + h Σ bᵢKᵢ, I += h Σ bᵢF(tᵢ, Xᵢ, Kᵢ): the integrals are what further states of the run without a part in
its error control would be.  Both ends of the step are variables, so that events that move them need no other formula.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...native.call import address as at
from ...native.kernel import hot, jit
from ...native.lanes import aligned
from ...native.record import Floats, Integers, Record
from ..ode.methods.tableaus import Tableau
from .field import Field, Readings, evaluate_stage, pull_reading, pull_stage, push_rate, push_reading, read


class Scheme(Record):
    """A tableau: s stages, nodes c, the square of a row by row, weights b; ``implicit`` where stages follow from each other in a ring."""

    s: int
    implicit: int
    c: Floats
    a: Floats
    b: Floats


class Stages(Record):
    """The stages of one step: times, states, rates, integrands; their changes in the directions of all lanes, or their weights."""

    t: Floats
    x: Floats
    k: Floats
    y: Floats
    end: Floats  # x_b
    dt: Floats
    dh: Floats
    dx: Floats
    dk: Floats
    dy: Floats
    xbar: Floats
    kbar: Floats
    weight: Floats
    # of implicit stages: a first guess of their rates, Jacobians, the matrix of all stages with its pivots, and two rows of all stages
    guess: Floats
    jacobian: Floats
    matrix: Floats
    pivots: Integers
    right: Floats
    last: Floats
    nothing: Floats


def scheme_of(tableau: Tableau) -> Scheme:
    """The tableau as kernels read it."""
    s = tableau.stages
    a = np.zeros((s, s))
    for i, row in enumerate(tableau.a):
        a[i + 1, : i + 1] = row
    return Scheme(s=s, implicit=0, c=np.array(tableau.c, dtype=float), a=a.ravel(), b=np.array(tableau.b, dtype=float))


def stages_of(scheme: Scheme, n: int, count: int, nc: int, lanes: int = 1) -> Stages:
    """Memory for the stages."""
    s = scheme.s
    m = s * n if scheme.implicit else 1
    more = {"guess": n, "jacobian": m * n, "matrix": m * m, "right": m, "last": m, "nothing": max(1, n, nc)}
    rows = {name: np.zeros(max(1, s * n)) for name in ("x", "k", "xbar", "kbar")}
    wide = {"dt": lanes, "dh": lanes, "dx": s * n * lanes, "dk": s * n * lanes, "dy": max(1, count) * lanes}
    return Stages(
        t=np.zeros(s), y=np.zeros(max(1, s * count)), end=np.zeros(n), weight=np.zeros(max(1, count)), **rows,
        pivots=np.zeros(m, dtype=np.int64), **{name: aligned(max(1, size)) for name, size in wide.items()},
        **{name: np.zeros(size) for name, size in more.items()},
    )  # fmt: skip


@hot
def combine(target: Any, base: Any, h: float, weights: Any, stages: int, k: Any, n: int) -> None:
    """target = base + h Σⱼ weightsⱼ kⱼ, in the order of the run."""
    for i in range(n):
        target[i] = base[i]
    for j in range(stages):
        factor = h * weights[j]
        if factor != 0.0:
            row = j * n
            for i in range(n):
                target[i] += factor * k[row + i]


@jit
def take_explicit(field: Field, readings: Readings, scheme: Scheme, st: Stages, ta: float, tb: float, xa: Any) -> int:
    """The stages of a step and its end; integrands at the stages."""
    return take_stages(field, readings, scheme, st, ta, tb, xa, 0)


@jit
def take_stages(field: Field, readings: Readings, scheme: Scheme, st: Stages, ta: float, tb: float, xa: Any, first: int) -> int:
    """The same from a stage on, by the rates of those before it."""
    n, s, h = field.n, scheme.s, tb - ta
    for i in range(first, s):
        x, k = st.x[i * n : i * n + n], st.k[i * n : i * n + n]
        st.t[i] = ta + scheme.c[i] * h
        combine(x, xa, h, scheme.a[i * s :], i, st.k, n)
        status = evaluate_stage(field, i, st.t[i:], x, k)
        if status == 0 and readings.count > 0 and scheme.b[i] != 0.0:
            status = read(field, readings, st.t[i:], x, k)
            for j in range(readings.count):
                st.y[i * readings.count + j] = readings.y[j]
        if status != 0:
            return status
    combine(st.end, xa, h, scheme.b, s, st.k, n)
    return 0


@jit
def integrals(readings: Readings, scheme: Scheme, st: Stages, h: float, total: Any) -> None:
    """Adds the quadrature of the step."""
    for i in range(scheme.s):
        for j in range(readings.count):
            if scheme.b[i] != 0.0:
                total[j] += h * scheme.b[i] * st.y[i * readings.count + j]


@hot
def between(scheme: Scheme, st: Stages, i: int, dta: Any, lanes: int) -> None:
    """How the time of stage i changes with both ends of the step."""
    for k in range(lanes):
        st.dt[k] = dta[k] + scheme.c[i] * st.dh[k]


@hot
def lengthen(row: Any, weight: float, k: Any, st: Stages, n: int, lanes: int) -> None:
    """row += weight · dh ⊗ k: what a change of the step's length adds."""
    for q in range(n):
        for j in range(lanes):
            row[q * lanes + j] += weight * st.dh[j] * k[q]


@hot
def changes_length(st: Stages, dta: Any, dtb: Any, lanes: int) -> bool:
    """How the length of the step changes in all directions; whether it does in any."""
    most = 0.0
    for k in range(lanes):
        st.dh[k] = dtb[k] - dta[k]
        most = max(most, abs(st.dh[k]))
    return most > 0.0


@hot
def add_readings(readings: Readings, st: Stages, i: int, b: float, h: float, moves: bool, lanes: int, total: Any) -> None:
    """Adds the changes of the integrands at stage i to those of the integrals."""
    for j in range(readings.count * lanes):
        total[j] += b * h * st.dy[j]
    if moves:
        for j in range(readings.count):
            for k in range(lanes):
                total[j * lanes + k] += b * st.dh[k] * st.y[i * readings.count + j]


@jit
def push_explicit(
    field: Field, readings: Readings, scheme: Scheme, st: Stages, h: float, dta: Any, dtb: Any, dx: Any, dc: Any, dr: Any, total: Any
) -> int:
    """Carries the directions of all lanes through a step whose stages are known: dx in place, changes of the integrals added to ``total``."""
    n, s, lanes = field.n, scheme.s, field.lanes
    w = n * lanes
    moves = changes_length(st, dta, dtb, lanes)
    for i in range(s):
        row, da = st.dx[i * w : i * w + w], st.dk[i * w : i * w + w]
        combine(row, dx, h, scheme.a[i * s :], i, st.dk, w)
        if moves:
            for j in range(i):
                if scheme.a[i * s + j] != 0.0:
                    lengthen(row, scheme.a[i * s + j], st.k[j * n :], st, n, lanes)
        between(scheme, st, i, dta, lanes)
        x, k = st.x[i * n : i * n + n], st.k[i * n : i * n + n]
        field.known[0] = at(k)
        status = push_rate(field, st.t[i:], x, st.dt, row, dc, da)
        if status == 0 and readings.count > 0 and scheme.b[i] != 0.0:
            status = push_reading(field, readings, st.t[i:], x, k, st.dt, row, da, dr, st.dy)
            add_readings(readings, st, i, scheme.b[i], h, moves, lanes, total)
        field.known[0] = 0
        if status != 0:
            return status
    for i in range(s):
        b = scheme.b[i]
        if b != 0.0:
            for q in range(w):
                dx[q] += h * b * st.dk[i * w + q]
            if moves:
                lengthen(dx, b, st.k[i * n :], st, n, lanes)
    return 0


@jit
def weigh_stages(scheme: Scheme, st: Stages, h: float, xbar: Any, n: int) -> float:
    """Weights of the end as those of the rates of all stages, states of stages without any yet; returns the weight of the step's length."""
    hbar = 0.0
    for i in range(scheme.s):
        b = scheme.b[i]
        for q in range(n):
            st.xbar[i * n + q] = 0.0
            st.kbar[i * n + q] = h * b * xbar[q]
            hbar += b * xbar[q] * st.k[i * n + q]
    return hbar


@jit
def weigh_reading(
    field: Field, readings: Readings, scheme: Scheme, st: Stages, i: int, h: float, weights: Any, back: Any, kbar: Any, rbar: Any
) -> Any:
    """Walks weights of the integrals back to stage i; returns the status and the weights of its time and of the step's length."""
    hbar, n, count = 0.0, field.n, readings.count
    for j in range(count):
        st.weight[j] = h * scheme.b[i] * weights[j]
        hbar += scheme.b[i] * weights[j] * st.y[i * count + j]
    status, early = pull_reading(field, readings, st.t[i:], st.x[i * n : i * n + n], st.k[i * n : i * n + n], st.weight, back, kbar, rbar)
    return status, early, hbar


@jit
def pull_explicit(
    field: Field, readings: Readings, scheme: Scheme, st: Stages, h: float, weights: Any, xbar: Any, cbar: Any, rbar: Any
) -> Any:
    """Walks weights of the end, and of the integrals, back to the start of a step whose stages are known: xbar in place, those of constants added.

    Returns the status and the weights of both ends in time.
    """
    n, s, count = field.n, scheme.s, readings.count
    ta, hbar = 0.0, weigh_stages(scheme, st, h, xbar, n)
    for i in range(s - 1, -1, -1):
        back, kbar = st.xbar[i * n : i * n + n], st.kbar[i * n : i * n + n]
        early = 0.0
        if count > 0 and scheme.b[i] != 0.0:
            status, early, length = weigh_reading(field, readings, scheme, st, i, h, weights, back, kbar, rbar)
            if status != 0:
                return status, 0.0, 0.0
            hbar += length
        field.known[0] = at(st.k[i * n :])
        status, late = pull_stage(field, i, st.t[i:], st.x[i * n : i * n + n], kbar, back, cbar)
        field.known[0] = 0
        if status != 0:
            return status, 0.0, 0.0
        ta += early + late
        hbar += (early + late) * scheme.c[i]
        for j in range(i):
            a = scheme.a[i * s + j]
            if a != 0.0:
                for q in range(n):
                    st.kbar[j * n + q] += h * a * back[q]
                    hbar += a * back[q] * st.k[j * n + q]
        for q in range(n):
            xbar[q] += back[q]
    return 0, ta - hbar, hbar


__all__ = [
    "Scheme",
    "Stages",
    "add_readings",
    "between",
    "changes_length",
    "combine",
    "integrals",
    "lengthen",
    "pull_explicit",
    "push_explicit",
    "scheme_of",
    "stages_of",
    "take_explicit",
    "take_stages",
    "weigh_reading",
    "weigh_stages",
]
