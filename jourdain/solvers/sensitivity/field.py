"""What the derivatives of a run are made of: a rate of change and integrands, with their linear maps, as native code calls them.

Changes in ``lanes`` directions stand side by side (entry i of direction l at i · lanes + l), so that one call of a push in SIMD lanes carries all of them; with
one lane that is a plain row.

A map is the address of a compiled function and the pointers of its arguments.  Those of a rate f begin alike, whether it is one expression or
found by elimination: value (t, x, f), push (t, x, u, (dt, dx), dc, df), pull (t, x, u, w, (t̄, x̄), c̄), bend, how the pull of
weights w changes along a direction, (t, x, u, w, (dt, dx), dc, (t̄, x̄), c̄).  Maps of integrands F(t, x, a, λ), which
may speak of accelerations and multipliers: value (t, x, u, a, λ, F), push (t, x, u, a, λ, d, dc, dF), pull (t, x, u, a, λ, w, bar, c̄), bend (t, x, u, a, λ, w, d, dc, bar, c̄).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...native.call import address as at
from ...native.call import call
from ...native.kernel import hot, jit
from ...native.record import Address, Floats, Integers, Record
from ..native_function import NativeFunction


class Map(Record):
    """A compiled function with the pointers of its arguments."""

    function: Address
    args: Integers


class Field(Record):
    """ẋ = f(t, x): n states, accelerations from ``first`` on, ``nv`` of them; ``multipliers`` of them λ; constants ``nc``."""

    n: int
    first: int
    nv: int
    m: int
    nc: int
    #: The last ``held`` of the states are memories: constant within a step, renewed at its end.
    held: int
    #: The argument of ``value`` that receives the rate.
    slot: int
    #: Directions that one push carries.
    lanes: int
    #: Which of several rates holds, where they change from piece to piece.
    mode: Integers
    value: Map
    push: Map
    pull: Map
    bend: Map
    #: Rates at the stages of a step that is walked back (while ``keeping``), which leave at a point of their own what pulls need besides: slots (t, x, u, f), point;
    #: the points of all stages, that a pull takes in its last slot.  0 where there are none.
    keep: Map
    points: Integers
    keeping: int
    #: New values of the memories at (t, x): slots (t, x, u, new), push and pull as those of the rate; 0 where there are none.
    renew: Map
    renew_push: Map
    renew_pull: Map
    #: A point as it was just before its renewal, and weights of new values.
    before: Floats
    heldbar: Floats
    #: Multipliers at (t, x) with rates: slots (t, x, u, f, λ); 0 where there are none.
    balance: Map
    #: The projection after a step, in place: value (t, x, x), push, pull and bend as those of the rate, of (t, x); 0 where there is none.
    project: Map
    project_push: Map
    project_pull: Map
    project_bend: Map
    #: What the impulse of the projection behind a jump changes velocities by; zeros elsewhere.
    impulse: Floats
    #: What a projection moves positions by; zeros where that is nothing.
    shift: Floats
    #: How both change along the direction of a Hessian.
    impulse_change: Floats
    shift_change: Floats
    #: Where rates at the point of a push or pull stand, if they are known: 0 if not.
    known: Integers
    #: Changes and weights of one point: (dt, dx).
    change: Floats
    bar: Floats
    cbar: Floats
    #: Changes of the multipliers that the last push found, and weights of them for the next pull.
    dlam: Floats
    lambar: Floats


class Readings(Record):
    """``count`` functions F(t, x, a, λ) with ``nc`` constants."""

    count: int
    nc: int
    forces: int  # whether they speak of λ
    value: Map
    push: Map
    pull: Map
    bend: Map
    y: Floats
    lam: Floats
    change: Floats
    bar: Floats
    cbar: Floats


def map_of(f: NativeFunction | None, slots: int) -> Map:
    """A native function whose first slots callers set."""
    if f is None:
        return Map(function=0, args=np.zeros(max(slots, 1), dtype=np.int64))
    return Map(function=f.address, args=f.args.view(np.int64).copy())


@hot
def evaluate(field: Field, t: Any, x: Any, f: Any) -> int:
    """f = f(t, x)."""
    args = field.value.args
    args[0], args[1], args[field.slot] = at(t), at(x), at(f)
    return call(field.value.function, args)


@jit
def evaluate_stage(field: Field, i: int, t: Any, x: Any, f: Any) -> int:
    """f = f(t, x) at stage i of a step, kept for its pull."""
    if field.keeping == 0 or field.keep.function == 0:
        return evaluate(field, t, x, f)
    args = field.keep.args
    args[0], args[1], args[3], args[4] = at(t), at(x), at(f), field.points[i]
    return call(field.keep.function, args)


@jit
def multipliers(field: Field, readings: Readings, t: Any, x: Any, f: Any) -> int:
    """λ at (t, x) where rates are f, into the row of the readings."""
    if field.m == 0 or readings.forces == 0:
        return 0
    args = field.balance.args
    args[0], args[1], args[3], args[4] = at(t), at(x), at(f), at(readings.lam)
    return call(field.balance.function, args)


@jit
def read(field: Field, readings: Readings, t: Any, x: Any, f: Any) -> int:
    """F(t, x, a, λ) into ``y`` at a point with rates f."""
    if readings.count == 0:
        return 0
    status = multipliers(field, readings, t, x, f)
    args = readings.value.args
    args[0], args[1], args[3], args[4], args[5] = at(t), at(x), at(f[field.first :]), at(readings.lam), at(readings.y)
    return status if status != 0 else call(readings.value.function, args)


@jit
def push_map(field: Field, m: Map, t: Any, x: Any, dt: Any, dx: Any, dc: Any, out: Any) -> int:
    """What a map of the field (its rate, a renewal, a projection) changes at (t, x) with time, state and constants."""
    change, args, lanes = field.change, m.args, field.lanes
    for k in range(lanes):
        change[k] = dt[k]
    for i in range(field.n * lanes):
        change[lanes + i] = dx[i]
    args[0], args[1], args[3], args[4], args[5] = at(t), at(x), at(change), at(dc), at(out)
    return call(m.function, args)


@jit
def pull_map(field: Field, m: Map, t: Any, x: Any, w: Any, xbar: Any, cbar: Any) -> Any:
    """Adds the weights that w of a map gives the state and the constants; returns the status and the weight of time."""
    args, bar, c = m.args, field.bar, field.cbar
    args[0], args[1], args[3], args[4], args[5] = at(t), at(x), at(w), at(bar), at(c)
    status = call(m.function, args)
    for i in range(field.n):
        xbar[i] += bar[1 + i]
    for i in range(field.nc):
        cbar[i] += c[i]
    return status, bar[0]


@jit
def push_rate(field: Field, t: Any, x: Any, dt: Any, dx: Any, dc: Any, df: Any) -> int:
    """df for changes of time, state and constants."""
    return push_map(field, field.push, t, x, dt, dx, dc, df)


@jit
def pull_rate(field: Field, t: Any, x: Any, w: Any, xbar: Any, cbar: Any) -> Any:
    """Adds the weights that w of f gives the state and the constants; returns the status and the weight of time."""
    status, early = pull_map(field, field.pull, t, x, w, xbar, cbar)
    return status, early


@jit
def pull_stage(field: Field, i: int, t: Any, x: Any, w: Any, xbar: Any, cbar: Any) -> Any:
    """The same at stage i of a step."""
    args, kept = field.pull.args, field.keeping == 1 and field.keep.function != 0
    home = args[6] if kept else 0
    if kept:
        args[6] = field.points[i]
    status, early = pull_map(field, field.pull, t, x, w, xbar, cbar)
    if kept:
        args[6] = home
    return status, early


@jit
def push_reading(field: Field, readings: Readings, t: Any, x: Any, f: Any, dt: Any, dx: Any, df: Any, dc: Any, dy: Any) -> int:
    """dF for changes of time, state, rates and constants; those of λ are what the push of the rate has just found."""
    change, args, n, nv, lanes = readings.change, readings.push.args, field.n, field.nv, field.lanes
    status = multipliers(field, readings, t, x, f)
    if status != 0:
        return status
    for k in range(lanes):
        change[k] = dt[k]
    for i in range(n * lanes):
        change[lanes + i] = dx[i]
    first, place = field.first * lanes, (1 + n) * lanes
    for i in range(nv * lanes):
        change[place + i] = df[first + i]
    place += nv * lanes
    for i in range(field.m * lanes):
        change[place + i] = field.dlam[i]
    args[0], args[1], args[3], args[4] = at(t), at(x), at(f[field.first :]), at(readings.lam)
    args[5], args[6], args[7] = at(change), at(dc), at(dy)
    return call(readings.push.function, args)


@jit
def pull_reading(field: Field, readings: Readings, t: Any, x: Any, f: Any, w: Any, xbar: Any, fbar: Any, cbar: Any) -> Any:
    """Adds the weights that w of F gives state, rates and constants; returns the status and the weight of time."""
    args, bar, c, n, nv = readings.pull.args, readings.bar, readings.cbar, field.n, field.nv
    status = multipliers(field, readings, t, x, f)
    if status != 0:
        return status, 0.0
    args[0], args[1], args[3], args[4] = at(t), at(x), at(f[field.first :]), at(readings.lam)
    args[5], args[6], args[7] = at(w), at(bar), at(c)
    status = call(readings.pull.function, args)
    for i in range(n):
        xbar[i] += bar[1 + i]
    for i in range(nv):
        fbar[field.first + i] += bar[1 + n + i]
    for i in range(field.m):
        field.lambar[i] += bar[1 + n + nv + i]
    for i in range(readings.nc):
        cbar[i] += c[i]
    return status, bar[0]


__all__ = [
    "Field",
    "Map",
    "Readings",
    "evaluate",
    "evaluate_stage",
    "map_of",
    "multipliers",
    "pull_map",
    "pull_rate",
    "pull_reading",
    "pull_stage",
    "push_map",
    "push_rate",
    "push_reading",
    "read",
]
