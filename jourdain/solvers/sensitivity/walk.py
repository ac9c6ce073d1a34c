"""Walks along steps of a run without an event inside, in native code: forwards with changes in many directions, and back with weights of many criteria.

A value at an instant is that of a step of the method that ends there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...native.call import address as at
from ...native.call import call
from ...native.kernel import hot, jit
from ...native.lanes import aligned
from ...native.record import Floats, Integers, Matrix, Record
from .explicit import Scheme, Stages, integrals, pull_explicit, push_explicit, stages_of, take_explicit, take_stages
from .field import Field, Readings, evaluate, evaluate_stage, pull_map, pull_rate, pull_reading, push_map, push_rate, push_reading, read
from .implicit import pull_implicit, push_implicit, take_implicit
from .put_back import project, pull_projection, push_projection, spare, strike

#: Where a value is read: at the beginning of a leg, with which its instant moves, within a step, or at its end.
AT_BEGIN, INSIDE, AT_END = -1, 0, 1
#: Part of a leg by which its first stage is looked at later at least: steps behind a jump may be as short as rounding.
BEHIND = 1e-9
#: Part by which the rate there differs from that on the surface itself if this one is of the other side.
TURNED = 1e-3


class Leg(Record):
    """Steps from t[first] to t[last] with the states x at them; values at instants (sorted by their steps); what is carried along or back.

    Only the first and the last instant move, or, if the leg is ``stretched``, all between them in proportion: where slopes of a law are infinite at an
    end, errors of steps that keep their places change far more than the errors themselves, and not those of steps that move with it.

    ``dx`` and ``xbar`` hold a row for each group of directions or each criterion, at the end of the leg or at its beginning; ``dta`` changes and
    ``tabar`` weights of the first instant, ``dtb`` changes of the last; ``dp`` and ``rows`` parts of constants of rate, integrands and values.
    """

    first: int
    last: int
    stretched: int
    field: Field
    integrands: Readings
    values: Readings
    scheme: Scheme
    stages: Stages
    inner: Stages
    t: Floats
    x: Matrix
    #: Whether states are written anew on the way forwards.
    anew: int
    #: How long before its end (an event) the last step stops, as that of the run does so that no stage looks beyond the event.
    margin: float
    #: By which part of the first step its first stage is looked at later: there it lies where a law bends or jumps, whose slopes are those behind it.
    nudge: float
    #: Whether memories are renewed at the end of the last step, too; where an event is, that belongs to what the event does.
    renews: int
    # values at instants, those from ``point_first`` to ``point_last``; their steps count from ``origin``
    origin: int
    point_first: int
    point_last: int
    point_step: Integers
    point_kind: Integers
    point_t: Floats
    point_y: Matrix
    # forwards: a row a group of directions, which stand side by side in it
    groups: int
    dta: Floats
    dtb: Floats
    dx: Matrix
    dc: Matrix
    dr: Matrix
    dv: Matrix
    total: Floats
    dtotal: Matrix
    #: Changes of the state at all steps in the first direction, where they are kept.
    keeps: int
    history: Matrix
    point_dy: Matrix  # a row a point: group by group
    begins: Floats
    finishes: Floats
    still: Floats
    # back: a row a criterion
    criteria: int
    xbar: Matrix
    weights: Matrix
    point_weights: Matrix  # a row a point: criterion by criterion
    cbar: Matrix
    rbar: Matrix
    vbar: Matrix
    tabar: Floats
    # of one point
    rate: Floats
    drate: Floats
    ratebar: Floats
    one: Floats
    late: Floats
    #: The end of a step to an instant before it is put back onto constraints.
    open: Floats
    #: The rate on the surface itself where a leg begins.
    begun: Floats
    back: Floats
    part: Floats
    none: Readings
    largest: Matrix  # of each weight of the state on the way


@jit
def take_step(field: Field, readings: Readings, scheme: Scheme, st: Stages, ta: float, tb: float, xa: Any) -> int:
    """The stages of a step and its end; integrands at the stages."""
    if scheme.implicit == 1:
        return take_implicit(field, readings, scheme, st, ta, tb - ta, xa)
    return take_explicit(field, readings, scheme, st, ta, tb, xa)


@jit
def push_step(
    field: Field, readings: Readings, scheme: Scheme, st: Stages, h: float, dta: Any, dtb: Any, dx: Any, dc: Any, dr: Any, total: Any
) -> int:
    """Carries the directions of all lanes through a step whose stages are known: dx in place, changes of the integrals added to ``total``."""
    if scheme.implicit == 1:
        return push_implicit(field, readings, scheme, st, h, dta, dtb, dx, dc, dr, total)
    return push_explicit(field, readings, scheme, st, h, dta, dtb, dx, dc, dr, total)


@jit
def pull_step(field: Field, readings: Readings, scheme: Scheme, st: Stages, h: float, weights: Any, xbar: Any, cbar: Any, rbar: Any) -> Any:
    """Walks weights back through a step whose stages are known; the status and the weights of both ends in time."""
    status, begin, end = 0, 0.0, 0.0
    if scheme.implicit == 1:
        status, begin, end = pull_implicit(field, readings, scheme, st, h, weights, xbar, cbar, rbar)
    else:
        status, begin, end = pull_explicit(field, readings, scheme, st, h, weights, xbar, cbar, rbar)
    return status, begin, end


@jit
def guess(leg: Leg, st: Stages, k: int) -> None:
    """The mean rate of a step as the run took it, from which implicit stages are sought."""
    for i in range(leg.field.n):
        st.guess[i] = (leg.x[k + 1][i] - leg.x[k][i]) / (leg.t[k + 1] - leg.t[k])


@jit
def _before(field: Field, x: Any, begin: Any) -> None:
    """The point x at the end of a step as it was before its memories were renewed: those of its beginning."""
    for i in range(field.n):
        field.before[i] = x[i] if i < field.n - field.held else begin[i]


@jit
def _renew(field: Field, t: Any, x: Any) -> int:
    """New memories of x, found in the point ``before``."""
    args = field.renew.args
    args[0], args[1], args[3] = at(t), at(field.before), at(x[field.n - field.held :])
    return call(field.renew.function, args)


@jit
def _push_renewal(field: Field, t: Any, dt: Any, dx: Any, dc: Any) -> int:
    """Carries a direction over the renewal of memories in the point ``before``."""
    return push_map(field, field.renew_push, t, field.before, dt, dx, dc, dx[(field.n - field.held) * field.lanes :])


@jit
def _pull_renewal(field: Field, t: Any, xbar: Any, cbar: Any) -> Any:
    """Walks weights back over the renewal of memories in the point ``before``; the status and the weight of time."""
    first = field.n - field.held
    for i in range(field.held):
        field.heldbar[i] = xbar[first + i]
        xbar[first + i] = 0.0
    status, early = pull_map(field, field.renew_pull, t, field.before, field.heldbar, xbar, cbar)
    return status, early


@jit
def value_at(leg: Leg, p: int, t: Any, x: Any) -> int:
    """Reads the values at a point."""
    status = evaluate(leg.field, t, x, leg.rate)
    if status == 0:
        status = read(leg.field, leg.values, t, x, leg.rate)
    out = leg.point_y[p]
    for j in range(leg.values.count):
        out[j] = leg.values.y[j]
    return status


@jit
def _push_value(leg: Leg, p: int, d: int, t: Any, x: Any, dt: Any, dx: Any) -> int:
    """Changes of the values at a point in the directions of group d; its rates stand in ``rate``."""
    status = push_rate(leg.field, t, x, dt, dx, leg.dc[d], leg.drate)
    out = leg.point_dy[p]
    count = leg.values.count * leg.field.lanes
    if status == 0:
        status = push_reading(leg.field, leg.values, t, x, leg.rate, dt, dx, leg.drate, leg.dv[d], out[d * count : d * count + count])
    return status


@jit
def _pull_value(leg: Leg, p: int, r: int, t: Any, x: Any, xbar: Any) -> Any:
    """Adds the weights that the values at a point give its state; the status and the weight of time."""
    n, count, weights = leg.field.n, leg.values.count, leg.point_weights[p]
    used = 0.0
    for j in range(count):
        used += abs(weights[r * count + j])
    if used == 0.0:
        return 0, 0.0
    for i in range(n):
        leg.ratebar[i] = 0.0
    status, early = pull_reading(
        leg.field, leg.values, t, x, leg.rate, weights[r * count : r * count + count], xbar, leg.ratebar, leg.vbar[r]
    )
    late = 0.0
    if status == 0:
        status, late = pull_rate(leg.field, t, x, leg.ratebar, xbar, leg.cbar[r])
    return status, early + late


@jit
def _nudge(leg: Leg, readings: Readings, st: Stages, first: bool, h: float) -> int:
    """Lets the first stage of the leg be a little behind its place: rate, integrands and slopes there are those of the side on which the run goes on, while on the
    surface itself rounding chooses, and a rate of the other side would be multiplied with the change of the step's length; values are led back from two places."""
    n = leg.field.n
    if not first or leg.nudge == 0.0:
        return 0
    late = max(leg.nudge * h, BEHIND * (leg.t[leg.last] - leg.t[leg.first]))
    leg.late[0] = st.t[0] + 2.0 * late
    for i in range(n):
        leg.begun[i] = st.k[i]
        leg.open[i] = st.x[i] + 2.0 * late * st.k[i]
    st.t[0] += late
    for i in range(n):
        st.x[i] += late * st.k[i]
    status = evaluate(leg.field, leg.late, leg.open, leg.rate)
    if status == 0 and readings.count > 0:
        status = read(leg.field, readings, leg.late, leg.open, leg.rate)
        for j in range(readings.count):
            st.y[j] = -readings.y[j]
    if status == 0:
        status = evaluate_stage(leg.field, 0, st.t, st.x[:n], st.k[:n])
    if status == 0 and readings.count > 0:
        status = read(leg.field, readings, st.t, st.x[:n], st.k[:n])
        for j in range(readings.count):
            st.y[j] += 2.0 * readings.y[j]
    change, size = 0.0, 0.0
    for i in range(n):
        found = 2.0 * st.k[i] - leg.rate[i]
        change, size = max(change, abs(found - leg.begun[i])), max(size, abs(found))
        st.k[i] = found
    if status == 0 and change > TURNED * size:  # the others have begun with a rate of the other side
        status = take_stages(leg.field, readings, leg.scheme, st, leg.t[leg.first], leg.t[leg.first] + h, leg.x[leg.first], 1)
    return status


@jit
def inner_step(leg: Leg, k: int, t: float) -> int:
    """A step from the beginning of step k to an instant inside it."""
    guess(leg, leg.inner, k)
    status = take_step(leg.field, leg.none, leg.scheme, leg.inner, leg.t[k], t, leg.x[k])
    leg.one[0] = t
    if status == 0:
        status = _nudge(leg, leg.none, leg.inner, k == leg.first, t - leg.t[k])
    if status == 0:
        for i in range(leg.field.n):
            leg.open[i] = leg.inner.end[i]
        status = project(leg.field, leg.one, leg.inner.end)
    return status


@jit
def _tail(leg: Leg, t: float) -> int:
    """The tiny rest of the last step up to an event, by its last rate: rate and integrands where it begins."""
    leg.late[0] = t
    status = evaluate(leg.field, leg.late, leg.stages.end, leg.rate)
    if status == 0:
        status = read(leg.field, leg.integrands, leg.late, leg.stages.end, leg.rate)
    for j in range(leg.integrands.count):
        leg.total[j] += leg.margin * leg.integrands.y[j]
    return status


@jit
def _push_tail(leg: Leg, d: int, dtb: Any) -> int:
    """Carries the directions of group d over the rest before an event."""
    dx, x, rest = leg.dx[d], leg.stages.end, leg.margin
    status = push_rate(leg.field, leg.late, x, dtb, dx, leg.dc[d], leg.drate)
    if status == 0 and leg.integrands.count > 0:
        status = push_reading(leg.field, leg.integrands, leg.late, x, leg.rate, dtb, dx, leg.drate, leg.dr[d], leg.part)
        for j in range(leg.integrands.count * leg.field.lanes):
            leg.dtotal[d][j] += rest * leg.part[j]
    for i in range(leg.field.n * leg.field.lanes):
        dx[i] += rest * leg.drate[i]
    return status


@jit
def _pull_tail(leg: Leg, r: int) -> int:
    """Walks weights back over the rest before an event."""
    xbar, x = leg.xbar[r], leg.stages.end
    for i in range(leg.field.n):
        leg.ratebar[i] = leg.margin * xbar[i]
    if leg.integrands.count > 0:
        for j in range(leg.integrands.count):
            leg.part[j] = leg.margin * leg.weights[r][j]
        status, _ = pull_reading(leg.field, leg.integrands, leg.late, x, leg.rate, leg.part, xbar, leg.ratebar, leg.rbar[r])
        if status != 0:
            return status
    status, _ = pull_rate(leg.field, leg.late, x, leg.ratebar, xbar, leg.cbar[r])
    return status


@jit
def _write(leg: Leg, k: int, rest: float) -> int:
    """The end of a step as it was found here."""
    end = leg.x[k + 1]
    for i in range(leg.field.n):
        end[i] = leg.stages.end[i]
        if rest > 0.0:
            end[i] += rest * leg.rate[i]
    return project(leg.field, leg.t[k + 1 :], end)


@hot
def _early(leg: Leg, k: int) -> float:
    """How far instant k moves with the first of the leg."""
    if k == leg.first:
        return 1.0
    if leg.stretched == 0 or k == leg.last:
        return 0.0
    return (leg.t[leg.last] - leg.t[k]) / (leg.t[leg.last] - leg.t[leg.first])  # type: ignore[no-any-return]


@hot
def _late(leg: Leg, k: int) -> float:
    """How far instant k moves with the last of the leg."""
    if k == leg.last:
        return 1.0
    if leg.stretched == 0 or k == leg.first:
        return 0.0
    return (leg.t[k] - leg.t[leg.first]) / (leg.t[leg.last] - leg.t[leg.first])  # type: ignore[no-any-return]


@hot
def _ends(leg: Leg, d: int, step: int) -> None:
    """How both ends of a step change in the directions of group d."""
    lanes = leg.field.lanes
    for k in range(lanes):
        a, b = leg.dta[d * lanes + k], leg.dtb[d * lanes + k]
        leg.begins[k] = _early(leg, step) * a + _late(leg, step) * b
        leg.finishes[k] = _early(leg, step + 1) * a + _late(leg, step + 1) * b


@jit
def walk_forwards(leg: Leg) -> int:
    """Values of all integrals and instants of a leg, and their changes in all directions."""
    field, scheme, st, n, lanes = leg.field, leg.scheme, leg.stages, leg.field.n, leg.field.lanes
    field.keeping = 0
    p = leg.point_first
    points = leg.point_last
    for k in range(leg.first, leg.last):
        ta, tb, place = leg.t[k], leg.t[k + 1], k - leg.origin
        h = tb - ta
        first, last = k == leg.first, k == leg.last - 1
        while p < points and first and leg.point_kind[p] == AT_BEGIN:
            status = value_at(leg, p, leg.t[k:], leg.x[k])
            for d in range(leg.groups):
                if status == 0:
                    _ends(leg, d, k)
                    status = _push_value(leg, p, d, leg.t[k:], leg.x[k], leg.begins, leg.dx[d])
            if status != 0:
                return status
            p += 1
        while p < points and leg.point_step[p] == place and leg.point_kind[p] == INSIDE:
            tp = leg.point_t[p]
            status = inner_step(leg, k, tp)
            if status == 0:
                status = value_at(leg, p, leg.one, leg.inner.end)
            for d in range(leg.groups):
                if status == 0:
                    for i in range(n * lanes):
                        leg.back[i] = leg.dx[d][i]
                    _ends(leg, d, k)
                    status = push_step(
                        field, leg.none, scheme, leg.inner, tp - ta, leg.begins, leg.still, leg.back, leg.dc[d], leg.dr[d], leg.total
                    )
                if status == 0:
                    strike(field, leg.open, leg.inner.end, leg.rate, 0.0)
                    status = push_projection(field, leg.one, leg.inner.end, leg.still, leg.back, leg.dc[d])
                    spare(field)
                if status == 0:
                    status = _push_value(leg, p, d, leg.one, leg.inner.end, leg.still, leg.back)
            if status != 0:
                return status
            p += 1
        rest = leg.margin if last else 0.0
        h -= rest
        guess(leg, st, k)
        status = take_step(field, leg.integrands, scheme, st, ta, tb - rest, leg.x[k])
        if status != 0:
            return status
        integrals(leg.integrands, scheme, st, h, leg.total)
        status = _nudge(leg, leg.integrands, st, first, h)
        if status != 0:
            return status
        if rest > 0.0:
            status = _tail(leg, tb - rest)
        if leg.anew == 1:
            status = _write(leg, k, rest)
            if status != 0:
                return status
        if leg.groups > 0:
            strike(field, st.end, leg.x[k + 1], leg.rate, rest)
        renews = field.held > 0 and (leg.renews == 1 or not last)
        if renews:
            _before(field, leg.x[k + 1], leg.x[k])
            if leg.anew == 1:
                status = _renew(field, leg.t[k + 1 :], leg.x[k + 1])
                if status != 0:
                    return status
        for d in range(leg.groups):
            _ends(leg, d, k)
            status = push_step(
                field, leg.integrands, scheme, st, h, leg.begins, leg.finishes, leg.dx[d], leg.dc[d], leg.dr[d], leg.dtotal[d]
            )
            if status == 0 and rest > 0.0:
                status = _push_tail(leg, d, leg.finishes)
            if status == 0:
                status = push_projection(field, leg.t[k + 1 :], leg.x[k + 1], leg.finishes, leg.dx[d], leg.dc[d])
            if status == 0 and renews:
                status = _push_renewal(field, leg.t[k + 1 :], leg.finishes, leg.dx[d], leg.dc[d])
            if status != 0:
                return status
        spare(field)
        if leg.keeps == 1:
            for i in range(n):
                leg.history[k + 1][i] = leg.dx[0][i]
        while p < points and leg.point_step[p] == place:
            status = value_at(leg, p, leg.t[k + 1 :], leg.x[k + 1])
            for d in range(leg.groups):
                _ends(leg, d, k)
                if status == 0:
                    status = _push_value(leg, p, d, leg.t[k + 1 :], leg.x[k + 1], leg.finishes, leg.dx[d])
            if status != 0:
                return status
            p += 1
    return 0


@jit
def walk_back(leg: Leg) -> int:
    """Weights of the end of a leg, of its integrals and of its instants walked back to its beginning; values of both on the way."""
    field, scheme, st, n = leg.field, leg.scheme, leg.stages, leg.field.n
    field.keeping = 1
    p = leg.point_last - 1
    begin = leg.point_first
    for k in range(leg.last - 1, leg.first - 1, -1):
        ta, tb, place = leg.t[k], leg.t[k + 1], k - leg.origin
        h = tb - ta
        first, last = k == leg.first, k == leg.last - 1
        early_part, late_part = _early(leg, k), _early(leg, k + 1)
        while p >= begin and leg.point_step[p] == place and leg.point_kind[p] == AT_END:
            status = value_at(leg, p, leg.t[k + 1 :], leg.x[k + 1])
            for r in range(leg.criteria):
                if status == 0:
                    status, _ = _pull_value(leg, p, r, leg.t[k + 1 :], leg.x[k + 1], leg.xbar[r])
            if status != 0:
                return status
            p -= 1
        rest = leg.margin if last else 0.0
        h -= rest
        guess(leg, st, k)
        status = take_step(field, leg.integrands, scheme, st, ta, tb - rest, leg.x[k])
        if status != 0:
            return status
        integrals(leg.integrands, scheme, st, h, leg.total)
        status = _nudge(leg, leg.integrands, st, first, h)
        if status != 0:
            return status
        if rest > 0.0:
            status = _tail(leg, tb - rest)
        strike(field, st.end, leg.x[k + 1], leg.rate, rest)
        renews = field.held > 0 and (leg.renews == 1 or not last)
        if renews:
            _before(field, leg.x[k + 1], leg.x[k])
        for r in range(leg.criteria):
            renewed, closed = 0.0, 0.0
            if status == 0 and renews:
                status, renewed = _pull_renewal(field, leg.t[k + 1 :], leg.xbar[r], leg.cbar[r])
            if status == 0:
                status, closed = pull_projection(field, leg.t[k + 1 :], leg.x[k + 1], leg.xbar[r], leg.cbar[r])
            if status == 0 and rest > 0.0:
                status = _pull_tail(leg, r)
            if status != 0:
                return status
            status, early, late = pull_step(field, leg.integrands, scheme, st, h, leg.weights[r], leg.xbar[r], leg.cbar[r], leg.rbar[r])
            if status != 0:
                return status
            leg.tabar[r] += early_part * early + late_part * (late + closed + renewed)
        spare(field)
        while p >= begin and leg.point_step[p] == place and leg.point_kind[p] == INSIDE:
            tp = leg.point_t[p]
            status = inner_step(leg, k, tp)
            if status == 0:
                status = value_at(leg, p, leg.one, leg.inner.end)
            for r in range(leg.criteria):
                for i in range(n):
                    leg.back[i] = 0.0
                if status == 0:
                    status, _ = _pull_value(leg, p, r, leg.one, leg.inner.end, leg.back)
                if status == 0:
                    strike(field, leg.open, leg.inner.end, leg.rate, 0.0)
                    status, _ = pull_projection(field, leg.one, leg.inner.end, leg.back, leg.cbar[r])
                    spare(field)
                if status == 0:
                    status, early, _ = pull_step(
                        field, leg.none, scheme, leg.inner, tp - ta, leg.weights[r], leg.back, leg.cbar[r], leg.rbar[r]
                    )
                    leg.tabar[r] += early_part * early
                for i in range(n):
                    leg.xbar[r][i] += leg.back[i]
            if status != 0:
                return status
            p -= 1
        while p >= begin and first and leg.point_kind[p] == AT_BEGIN:
            status = value_at(leg, p, leg.t[k:], leg.x[k])
            for r in range(leg.criteria):
                if status == 0:
                    status, moved = _pull_value(leg, p, r, leg.t[k:], leg.x[k], leg.xbar[r])
                    leg.tabar[r] += moved
            if status != 0:
                return status
            p -= 1
        for r in range(leg.criteria):
            for i in range(n):
                leg.largest[r][i] = max(leg.largest[r][i], abs(leg.xbar[r][i]))
    return 0


def new_leg(field: Field, scheme: Scheme, integrands: Readings, values: Readings, none: Readings) -> Leg:
    """A leg with the memory that does not depend on its steps."""
    n, lanes = field.n, field.lanes
    wide = {"drate": n, "back": n, "part": max(1, integrands.count), "begins": 1, "finishes": 1, "still": 1}
    return Leg(
        field=field, scheme=scheme, integrands=integrands, values=values, none=none, anew=0, keeps=0, nudge=0.0, stretched=0, origin=0, stages=stages_of(scheme, n, integrands.count, field.nc, lanes),
        inner=stages_of(scheme, n, 0, field.nc, lanes), one=np.zeros(1), late=np.zeros(1), open=np.zeros(n), begun=np.zeros(n), rate=np.zeros(n), ratebar=np.zeros(n),
        **{name: aligned(size * lanes) for name, size in wide.items()},
    )  # fmt: skip


__all__ = [
    "AT_BEGIN",
    "AT_END",
    "BEHIND",
    "INSIDE",
    "Leg",
    "guess",
    "inner_step",
    "new_leg",
    "push_step",
    "take_step",
    "value_at",
    "walk_back",
    "walk_forwards",
]
