"""Second derivatives of steps without events: changes of weights in one direction, forward over adjoint.

Weights walked back through K = f(X) are X̄ = f_xᵀK̄.  In a direction in which states change by dX and constants by dc their own changes are
dX̄ = f_xᵀdK̄ + (f_xx dX + f_xc dc)ᵀK̄: the pull of dK̄, as of any weights, and the *bend* of K̄.  So the walk back is done for K̄ and for dK̄ side by side, and
what both end in is the gradient and the product of the Hessian with the direction.  Both ends of all steps are fixed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...native.call import address as at
from ...native.call import call
from ...native.kernel import jit, kernel
from ...native.record import Floats, Matrix, Record
from ..linear.dense import lu_solve_transposed
from .explicit import Scheme, Stages, combine
from .field import Field, Readings, pull_rate, pull_reading, push_rate
from .put_back import pull_projection, push_projection, spare, strike
from .walk import AT_END, Leg, guess, inner_step, push_step, take_step, value_at


class Second(Record):
    """What the second walk has beside a leg, whose ``history`` has the changes of the states: changes of weights, a row a criterion."""

    leg: Leg
    xbar: Matrix
    weights: Matrix
    point_weights: Matrix
    cbar: Matrix
    rbar: Matrix
    vbar: Matrix
    # changes of the stages of a step, weights of their rates, and the changes of those of states and rates
    dx: Floats
    dk: Floats
    sigma: Floats
    back: Floats
    kbar: Floats
    # of one point
    point: Floats
    end: Floats
    ratebar: Floats
    weight: Floats
    row: Floats
    lambar: Floats
    dlambar: Floats


@jit
def bend_map(field: Field, function: int, args: Any, t: Any, x: Any, w: Any, dx: Any, dc: Any, xbar: Any, cbar: Any) -> int:
    """Adds how the weights that w of a map gives the state and the constants change with these."""
    change, bar, c = field.change, field.bar, field.cbar
    change[0] = 0.0
    for i in range(field.n):
        change[1 + i] = dx[i]
    args[0], args[1], args[3], args[4], args[5], args[6], args[7] = at(t), at(x), at(w), at(change), at(dc), at(bar), at(c)
    status = call(function, args)
    for i in range(field.n):
        xbar[i] += bar[1 + i]
    for i in range(field.nc):
        cbar[i] += c[i]
    return status


@jit
def _bend_rate(field: Field, t: Any, x: Any, w: Any, dx: Any, dc: Any, xbar: Any, cbar: Any) -> int:
    return bend_map(field, field.bend.function, field.bend.args, t, x, w, dx, dc, xbar, cbar)


@jit
def _bend_reading(
    field: Field, readings: Readings, t: Any, x: Any, f: Any, w: Any, dx: Any, df: Any, dr: Any, xbar: Any, fbar: Any, cbar: Any
) -> int:
    """The same for functions F(t, x, a, λ); changes of λ are what the push of the rate has just found, and λ itself stands in the readings."""
    args, change, bar, c, n, nv, m = readings.bend.args, readings.change, readings.bar, readings.cbar, field.n, field.nv, field.m
    change[0] = 0.0
    for i in range(n):
        change[1 + i] = dx[i]
    for i in range(nv):
        change[1 + n + i] = df[field.first + i]
    for i in range(m):
        change[1 + n + nv + i] = field.dlam[i]
    args[0], args[1], args[3], args[4] = at(t), at(x), at(f[field.first :]), at(readings.lam)
    args[5], args[6], args[7], args[8], args[9] = at(w), at(change), at(dr), at(bar), at(c)
    status = call(readings.bend.function, args)
    for i in range(n):
        xbar[i] += bar[1 + i]
    for i in range(nv):
        fbar[field.first + i] += bar[1 + n + i]
    for i in range(m):
        field.lambar[i] += bar[1 + n + nv + i]
    for i in range(readings.nc):
        cbar[i] += c[i]
    return status


@jit
def _take_multipliers(field: Field, out: Any) -> None:
    """Weights of multipliers that were found, which are put aside."""
    for i in range(field.m):
        out[i] = field.lambar[i]
        field.lambar[i] = 0.0


@jit
def _put_multipliers(field: Field, given: Any) -> None:
    for i in range(field.m):
        field.lambar[i] = given[i]


@jit
def _weigh(
    s: Second, readings: Readings, t: Any, x: Any, k: Any, dx: Any, dk: Any, w: Any, dw: Any, dr: Any, back: Any, kbar: Any, rbar: Any,
    dback: Any, dkbar: Any, drbar: Any,
) -> int:  # fmt: skip
    """Weights of F at a point, and their changes, as those of state, rate and (put aside) multipliers."""
    field = s.leg.field
    status = 0
    if field.m > 0 and readings.forces == 1:
        status = push_rate(field, t, x, s.leg.still, dx, s.leg.dc[0], s.row)
    if status == 0:
        status, _ = pull_reading(field, readings, t, x, k, w, back, kbar, rbar)
    _take_multipliers(field, s.lambar)
    if status == 0:
        status, _ = pull_reading(field, readings, t, x, k, dw, dback, dkbar, drbar)
    if status == 0:
        status = _bend_reading(field, readings, t, x, k, w, dx, dk, dr, dback, dkbar, drbar)
    _take_multipliers(field, s.dlambar)
    return status


@jit
def _back(s: Second, t: Any, x: Any, w: Any, dw: Any, dx: Any, back: Any, cbar: Any, dback: Any, dcbar: Any) -> int:
    """Weights w of a rate, and their changes, as those of the state; those of multipliers that were put aside go with them."""
    field = s.leg.field
    _put_multipliers(field, s.lambar)
    status = _bend_rate(field, t, x, w, dx, s.leg.dc[0], dback, dcbar)
    if status == 0:
        status, _ = pull_rate(field, t, x, w, back, cbar)
    _put_multipliers(field, s.dlambar)
    if status == 0:
        status, _ = pull_rate(field, t, x, dw, dback, dcbar)
    for i in range(field.m):
        s.lambar[i] = 0.0
        s.dlambar[i] = 0.0
    return status


@jit
def _change_stages(s: Second, scheme: Scheme, st: Stages, h: float, dxa: Any) -> int:
    """Changes of states and rates of the stages of a step that begins with dxa, and of its end."""
    leg, n, S = s.leg, s.leg.field.n, scheme.s
    for i in range(n):
        s.end[i] = dxa[i]
    status = push_step(leg.field, leg.none, scheme, st, h, leg.still, leg.still, s.end, leg.dc[0], leg.dr[0], leg.part)
    for q in range(S * n):
        s.dk[q] = st.right[q] if scheme.implicit == 1 else st.dk[q]
    for i in range(S):
        combine(s.dx[i * n : i * n + n], dxa, h, scheme.a[i * S :], S, s.dk, n)
    return status


@jit
def _weigh_stages(s: Second, scheme: Scheme, st: Stages, h: float, xbar: Any, dxbar: Any) -> None:
    n = s.leg.field.n
    for i in range(scheme.s):
        for q in range(n):
            st.xbar[i * n + q] = 0.0
            s.back[i * n + q] = 0.0
            st.kbar[i * n + q] = h * scheme.b[i] * xbar[q]
            s.kbar[i * n + q] = h * scheme.b[i] * dxbar[q]


@jit
def _weigh_integrand(s: Second, readings: Readings, scheme: Scheme, st: Stages, i: int, h: float, r: int) -> int:
    n = s.leg.field.n
    for j in range(readings.count):
        st.weight[j] = h * scheme.b[i] * s.leg.weights[r][j]
        s.weight[j] = h * scheme.b[i] * s.weights[r][j]
    a, b = i * n, i * n + n
    return _weigh(
        s, readings, st.t[i:], st.x[a:b], st.k[a:b], s.dx[a:b], s.dk[a:b], st.weight, s.weight, s.leg.dr[0], st.xbar[a:b], st.kbar[a:b],
        s.leg.rbar[r], s.back[a:b], s.kbar[a:b], s.rbar[r],
    )  # fmt: skip


@jit
def _bend_explicit(s: Second, readings: Readings, scheme: Scheme, st: Stages, h: float, r: int, xbar: Any, dxbar: Any) -> int:
    """Walks weights and their changes back through a step whose stages, with their changes, are known."""
    field, n, S = s.leg.field, s.leg.field.n, scheme.s
    _weigh_stages(s, scheme, st, h, xbar, dxbar)
    for i in range(S - 1, -1, -1):
        a, b = i * n, i * n + n
        status = 0
        field.known[0] = at(st.k[a:])
        if readings.count > 0 and scheme.b[i] != 0.0:
            status = _weigh_integrand(s, readings, scheme, st, i, h, r)
        if status == 0:
            status = _back(
                s, st.t[i:], st.x[a:b], st.kbar[a:b], s.kbar[a:b], s.dx[a:b], st.xbar[a:b], s.leg.cbar[r], s.back[a:b], s.cbar[r]
            )
        field.known[0] = 0
        if status != 0:
            return status
        for j in range(i):
            factor = h * scheme.a[i * S + j]
            if factor != 0.0:
                for q in range(n):
                    st.kbar[j * n + q] += factor * st.xbar[a + q]
                    s.kbar[j * n + q] += factor * s.back[a + q]
        for q in range(n):
            xbar[q] += st.xbar[a + q]
            dxbar[q] += s.back[a + q]
    return 0


@jit
def _through_stages(scheme: Scheme, st: Stages, h: float, n: int, kbar: Any, back: Any) -> None:
    """Weights of the rates of all stages that belong to each other in a ring, in ``right``."""
    for j in range(scheme.s):
        for q in range(n):
            total = kbar[j * n + q]
            for i in range(scheme.s):
                total += h * scheme.a[i * scheme.s + j] * back[i * n + q]
            st.right[j * n + q] = total
    lu_solve_transposed(st.matrix, scheme.s * n, st.pivots, st.right)


@jit
def _bend_implicit(s: Second, readings: Readings, scheme: Scheme, st: Stages, h: float, r: int, xbar: Any, dxbar: Any) -> int:
    """The same where stages belong to each other: σ = K̄ + h Aᵀ(X̄ + Jᵀσ), dσ = dK̄ + h Aᵀ(dX̄ + Jᵀdσ + (dJ)ᵀσ)."""
    field, n, S = s.leg.field, s.leg.field.n, scheme.s
    _weigh_stages(s, scheme, st, h, xbar, dxbar)
    status = 0
    for i in range(S):
        a, b = i * n, i * n + n
        if readings.count > 0 and status == 0:
            status = _weigh_integrand(s, readings, scheme, st, i, h, r)
            if status == 0 and field.m > 0 and readings.forces == 1:
                status = _back(
                    s, st.t[i:], st.x[a:b], st.nothing, st.nothing, s.dx[a:b], st.xbar[a:b], s.leg.cbar[r], s.back[a:b], s.cbar[r]
                )
    _through_stages(scheme, st, h, n, st.kbar, st.xbar)
    for q in range(S * n):
        s.sigma[q] = st.right[q]
    for i in range(S):
        a, b = i * n, i * n + n
        if status == 0:
            status = _bend_rate(field, st.t[i:], st.x[a:b], s.sigma[a:b], s.dx[a:b], s.leg.dc[0], s.back[a:b], s.cbar[r])
        if status == 0:
            status, _ = pull_rate(field, st.t[i:], st.x[a:b], s.sigma[a:b], st.xbar[a:b], s.leg.cbar[r])
    _through_stages(scheme, st, h, n, s.kbar, s.back)
    for i in range(S):
        a, b = i * n, i * n + n
        if status == 0:
            status, _ = pull_rate(field, st.t[i:], st.x[a:b], st.right[a:b], s.back[a:b], s.cbar[r])
        for q in range(n):
            xbar[q] += st.xbar[a + q]
            dxbar[q] += s.back[a + q]
    return status


@jit
def _bend_step(s: Second, readings: Readings, scheme: Scheme, st: Stages, h: float, r: int, xbar: Any, dxbar: Any) -> int:
    if scheme.implicit == 1:
        return _bend_implicit(s, readings, scheme, st, h, r, xbar, dxbar)
    return _bend_explicit(s, readings, scheme, st, h, r, xbar, dxbar)


@jit
def _bend_projection(s: Second, t: Any, x: Any, dx: Any, r: int, xbar: Any, dxbar: Any) -> int:
    """Walks weights and their changes back over the projection that gave x, which changes by dx."""
    field, leg = s.leg.field, s.leg
    if field.project_pull.function == 0:
        return 0
    status, _ = pull_projection(field, t, x, dxbar, s.cbar[r])
    args = field.project_bend.args
    if status == 0:
        status = bend_map(field, field.project_bend.function, args, t, x, xbar, dx, leg.dc[0], dxbar, s.cbar[r])
    if status == 0:
        status, _ = pull_projection(field, t, x, xbar, leg.cbar[r])
    return status


@jit
def _before_projection(field: Field, dx: Any) -> None:
    """Takes the change of a state before its projection."""
    for j in range(field.nv):
        field.impulse_change[j] = -dx[field.first + j]
    for i in range(field.first):
        field.shift_change[i] = -dx[i]


@jit
def _behind_projection(field: Field, dx: Any) -> None:
    """How Δq and Δv of a projection change, from the changes of the state before and behind it."""
    for j in range(field.nv):
        field.impulse_change[j] += dx[field.first + j]
    for i in range(field.first):
        field.shift_change[i] += dx[i]


@jit
def _bend_value(s: Second, p: int, r: int, t: Any, x: Any, dx: Any, xbar: Any, dxbar: Any) -> int:
    """Adds the weights that the values at a point give its state, and their changes; its rates stand in ``rate``."""
    leg, n, count = s.leg, s.leg.field.n, s.leg.values.count
    w, dw = leg.point_weights[p][r * count :], s.point_weights[p][r * count :]
    used = 0.0
    for j in range(count):
        used += abs(w[j]) + abs(dw[j])
    if used == 0.0:
        return 0
    for i in range(n):
        leg.ratebar[i] = 0.0
        s.ratebar[i] = 0.0
    status = push_rate(leg.field, t, x, leg.still, dx, leg.dc[0], leg.drate)
    if status == 0:
        status = _weigh(
            s, leg.values, t, x, leg.rate, dx, leg.drate, w, dw, leg.dv[0], xbar, leg.ratebar, leg.vbar[r], dxbar, s.ratebar, s.vbar[r]
        )
    if status == 0:
        status = _back(s, t, x, leg.ratebar, s.ratebar, dx, xbar, leg.cbar[r], dxbar, s.cbar[r])
    return status


@jit
def _bend_inner(s: Second, k: int, p: int) -> int:
    """Weights of a value within step k, and their changes."""
    leg, n, tp = s.leg, s.leg.field.n, s.leg.point_t[p]
    h = tp - leg.t[k]
    status = inner_step(leg, k, tp)
    if status == 0:
        status = value_at(leg, p, leg.one, leg.inner.end)
    if status == 0:
        status = _change_stages(s, leg.scheme, leg.inner, h, leg.history[k])
    strike(leg.field, leg.open, leg.inner.end, leg.rate, 0.0)
    _before_projection(leg.field, s.end)
    if status == 0:
        status = push_projection(leg.field, leg.one, leg.inner.end, leg.still, s.end, leg.dc[0])
    _behind_projection(leg.field, s.end)
    for r in range(leg.criteria):
        for i in range(n):
            leg.back[i] = 0.0
            s.point[i] = 0.0
        if status == 0:
            status = _bend_value(s, p, r, leg.one, leg.inner.end, s.end, leg.back, s.point)
        if status == 0:
            status = _bend_projection(s, leg.one, leg.inner.end, s.end, r, leg.back, s.point)
        if status == 0:
            status = _bend_step(s, leg.none, leg.scheme, leg.inner, h, r, leg.back, s.point)
        for i in range(n):
            leg.xbar[r][i] += leg.back[i]
            s.xbar[r][i] += s.point[i]
    spare(leg.field)
    return status


@kernel
def bend_back(address: int) -> int:
    """Weights of a leg and their changes walked back to its beginning."""
    s = Second.at(address)
    leg = s.leg
    scheme, st = leg.scheme, leg.stages
    p = leg.point_last - 1
    begin = leg.point_first
    for k in range(leg.last - 1, leg.first - 1, -1):
        ta, tb, place = leg.t[k], leg.t[k + 1], k - leg.first
        while p >= begin and leg.point_step[p] == place and leg.point_kind[p] == AT_END:
            status = value_at(leg, p, leg.t[k + 1 :], leg.x[k + 1])
            for r in range(leg.criteria):
                if status == 0:
                    status = _bend_value(s, p, r, leg.t[k + 1 :], leg.x[k + 1], leg.history[k + 1], leg.xbar[r], s.xbar[r])
            if status != 0:
                return status
            p -= 1
        guess(leg, st, k)
        status = take_step(leg.field, leg.integrands, scheme, st, ta, tb, leg.x[k])
        if status == 0:
            status = _change_stages(s, scheme, st, tb - ta, leg.history[k])
        strike(leg.field, st.end, leg.x[k + 1], leg.rate, 0.0)
        _before_projection(leg.field, s.end)
        _behind_projection(leg.field, leg.history[k + 1])
        for r in range(leg.criteria):
            if status == 0:
                status = _bend_projection(s, leg.t[k + 1 :], leg.x[k + 1], leg.history[k + 1], r, leg.xbar[r], s.xbar[r])
            if status == 0:
                status = _bend_step(s, leg.integrands, scheme, st, tb - ta, r, leg.xbar[r], s.xbar[r])
        spare(leg.field)
        while status == 0 and p >= begin and leg.point_step[p] == place:
            status = _bend_inner(s, k, p)
            p -= 1
        if status != 0:
            return status
    return 0


def second_of(leg: Leg) -> Second:
    """Memory beside a leg that does not depend on its steps."""
    n, S, m = leg.field.n, leg.scheme.s, max(1, leg.field.m)
    sizes = {name: S * n for name in ("dx", "dk", "sigma", "back", "kbar")} | {name: n for name in ("point", "end", "ratebar", "row")}
    sizes |= {"weight": max(1, leg.integrands.count), "lambar": m, "dlambar": m}
    return Second(leg=leg, **{name: np.zeros(max(1, size)) for name, size in sizes.items()})


__all__ = ["Second", "bend_back", "bend_map", "second_of"]
