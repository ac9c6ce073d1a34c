"""Derivatives of one step of an explicit Runge–Kutta method, x_b = S(t_a, t_b, x_a, c), and of the quadrature that goes with it.

Kᵢ = f(t_a + cᵢh, x_a + h Σⱼ aᵢⱼKⱼ), x_b = x_a + h Σ bᵢKᵢ, I += h Σ bᵢF(tᵢ, Xᵢ, Kᵢ): the integrals are what further states of the run without a part in
its error control would be.  Both ends of the step are variables, so that events that move them need no other formula.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...native.kernel import hot, jit
from ...native.record import Floats, Integers, Record
from ..ode.tableaus import Tableau
from .field import Field, Readings, evaluate, pull_rate, pull_reading, push_rate, push_reading, read


class Scheme(Record):
    """A tableau: s stages, nodes c, the square of a row by row, weights b; ``implicit`` where stages follow from each other in a ring."""

    s: int
    implicit: int
    c: Floats
    a: Floats
    b: Floats


class Stages(Record):
    """The stages of one step: times, states, rates, integrands; their changes in one direction, or their weights."""

    t: Floats
    x: Floats
    k: Floats
    y: Floats
    end: Floats  # x_b
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


def stages_of(scheme: Scheme, n: int, count: int, nc: int) -> Stages:
    """Memory for the stages."""
    s = scheme.s
    m = s * n if scheme.implicit else 1
    more = {"guess": n, "jacobian": m * n, "matrix": m * m, "right": m, "last": m, "nothing": max(1, n, nc)}
    rows = {name: np.zeros(max(1, s * n)) for name in ("x", "k", "dx", "dk", "xbar", "kbar")}
    return Stages(
        t=np.zeros(s), y=np.zeros(max(1, s * count)), dy=np.zeros(max(1, count)), end=np.zeros(n), weight=np.zeros(max(1, count)), **rows,
        pivots=np.zeros(m, dtype=np.int64), **{name: np.zeros(size) for name, size in more.items()},
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
    n, s, h = field.n, scheme.s, tb - ta
    for i in range(s):
        x, k = st.x[i * n : i * n + n], st.k[i * n : i * n + n]
        st.t[i] = ta + scheme.c[i] * h
        combine(x, xa, h, scheme.a[i * s :], i, st.k, n)
        status = evaluate(field, st.t[i:], x, k)
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


@jit
def push_explicit(
    field: Field, readings: Readings, scheme: Scheme, st: Stages, h: float, dta: float, dtb: float, dx: Any, dc: Any, dr: Any, total: Any
) -> int:
    """Carries one direction through a step whose stages are known: dx in place, changes of the integrals added to ``total``."""
    n, s, dh, count = field.n, scheme.s, dtb - dta, readings.count
    for i in range(s):
        row, da = st.dx[i * n : i * n + n], st.dk[i * n : i * n + n]
        for q in range(n):
            row[q] = dx[q]
        for j in range(i):
            a = scheme.a[i * s + j]
            if a != 0.0:
                for q in range(n):
                    row[q] += h * a * st.dk[j * n + q] + dh * a * st.k[j * n + q]
        dt = dta + scheme.c[i] * dh
        x, k = st.x[i * n : i * n + n], st.k[i * n : i * n + n]
        status = push_rate(field, st.t[i:], x, dt, row, dc, da)
        if status == 0 and count > 0 and scheme.b[i] != 0.0:
            status = push_reading(field, readings, st.t[i:], x, k, dt, row, da, dr, st.dy)
            for j in range(count):
                total[j] += scheme.b[i] * (h * st.dy[j] + dh * st.y[i * count + j])
        if status != 0:
            return status
    for i in range(s):
        b = scheme.b[i]
        if b != 0.0:
            for q in range(n):
                dx[q] += h * b * st.dk[i * n + q] + dh * b * st.k[i * n + q]
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
        status, late = pull_rate(field, st.t[i:], st.x[i * n : i * n + n], kbar, back, cbar)
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
    "combine",
    "integrals",
    "pull_explicit",
    "push_explicit",
    "scheme_of",
    "stages_of",
    "take_explicit",
    "weigh_reading",
    "weigh_stages",
]
