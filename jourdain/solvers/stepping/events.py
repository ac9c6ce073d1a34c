"""Events of an assembled system in its native march: guards at the ends of a step, and the step done again up to the first zero.

The schemes are one-step methods, so the state at an event is a true state of the scheme: energy and momenta are kept across it.
A multiplier is a mean over its step; the value at the end of the step is extrapolated from the step before.
"""

from __future__ import annotations

import math
from typing import Any

from ...native.call import call, doubles, integers, words
from ...native.kernel import hot, jit, kernel
from ..ode.frame import EPS
from . import frame as ap
from .frame import FRAME
from .kernels import extent, row, table
from .march import attempt

#: Part of the coordinates' size; an event that is nearer to the end of a step is taken there.
NEAR = 1e-8
#: Value of a guard that has crossed zero together with another one, whose event comes first: still on its old side, to fire at once.
PENDING = 1e-300


@hot
def _values(frame: Any, which: int) -> Any:
    """One of the vectors of guards: BEFORE, AFTER, LOW, HIGH or SIDE."""
    n = frame[ap.N_EVENTS]
    return doubles(frame[ap.F_GUARDS] + 8 * n * which, n)


@jit
def _multiplier(frame: Any, k: int, final: bool) -> float:
    """A multiplier at the end of the present step, or as far as it is known at its start."""
    clock, m = doubles(frame[ap.F_CLOCK], ap.CLOCK_SIZE), frame[ap.N_MULTIPLIERS]
    last = doubles(frame[ap.F_LAM], m)[k]
    if not final:
        return last if clock[ap.T_RATE1] > -math.inf else math.nan
    now = doubles(frame[ap.F_LAM] + 8 * m * ap.NOW, m)[k] / doubles(frame[ap.F_SCHEME], ap.SCHEME_SIZE)[ap.KAPPA]
    if clock[ap.T_RATE1] == -math.inf:
        return now
    half = 0.5 * clock[ap.H]
    return now + (now - last) * half / (clock[ap.T] + half - clock[ap.T_RATE1])


@jit
def _guards(frame: Any, final: bool, target: Any) -> None:
    """Values of all guards at the end (or start) of the present step."""
    clock, args, x = doubles(frame[ap.F_CLOCK], ap.CLOCK_SIZE), words(frame[ap.F_ARGS], 8), doubles(frame[ap.F_EVENT_X], 1)
    q, v = row(frame, ap.Q1 if final else ap.Q0), row(frame, ap.V1 if final else ap.V0)
    value = doubles(frame[ap.F_Y], 1)
    for e in range(frame[ap.N_EVENTS]):
        event = table(frame, ap.F_EVENTS, e, ap.EVENT_COLUMNS)
        if event[ap.E_ADDRESS] == 0:
            target[e] = _multiplier(frame, event[ap.E_MULTIPLIER], final) if event[ap.E_MULTIPLIER] >= 0 else math.nan
            continue
        n = event[ap.E_SIZE]
        x = doubles(frame[ap.F_EVENT_X], 1 + 2 * n)
        index = integers(frame[ap.F_EVENT_GATHER] + 8 * event[ap.E_GATHER], n)
        x[0] = clock[ap.T] + clock[ap.H] if final else clock[ap.T]
        for i in range(n):
            x[1 + i], x[1 + n + i] = q[index[i]], v[index[i]]
        args[0], args[1], args[2], args[3] = frame[ap.F_EVENT_X], frame[ap.F_Y], frame[ap.F_CONSTANTS], frame[ap.F_EVENT_WORK]
        call(event[ap.E_ADDRESS], frame[ap.F_ARGS])
        target[e] = value[0]


@jit
def _step_to(address: int, frame: Any, clock: Any, count: Any, h: float) -> int:
    """The step done again with another length, and the guards at its end."""
    clock[ap.H] = h
    status = attempt(address, frame, clock, count)
    if status == ap.OK:
        _guards(frame, True, _values(frame, ap.AFTER))
    return status


@hot
def _passes(frame: Any, e: int) -> bool:
    """Whether a guard is past its zero at the end of the present step, in a direction that counts."""
    direction, side = table(frame, ap.F_EVENTS, e, ap.EVENT_COLUMNS)[ap.E_DIRECTION], _values(frame, ap.SIDE)[e]
    return side != 0.0 and (direction == 0 or direction == -side) and _values(frame, ap.AFTER)[e] * side <= 0.0


@jit
def _crossed(frame: Any, lo: float, hi: float) -> Any:
    """The guard that seems to be the first to cross zero between lo and hi (−1: none), and about when."""
    low, final, side = _values(frame, ap.LOW), _values(frame, ap.AFTER), _values(frame, ap.SIDE)
    found, where = -1, math.inf
    for e in range(frame[ap.N_EVENTS]):
        if _passes(frame, e):
            a, b = low[e] * side[e], final[e] * side[e]
            t = lo + (hi - lo) * (a / (a - b) if a > 0.0 else 0.5)
            if t < where:
                found, where = e, t
    return found, where


@jit
def _leave_zero(address: int, frame: Any, clock: Any, count: Any) -> Any:
    """Sides of guards that start at zero (their event has just been): where they go first within the step; status and when that is known."""
    start, low, final, side = _values(frame, ap.BEFORE), _values(frame, ap.LOW), _values(frame, ap.AFTER), _values(frame, ap.SIDE)
    h, open_, since = clock[ap.H], 0, 0.0
    for e in range(frame[ap.N_EVENTS]):
        side[e] = 1.0 if start[e] > 0.0 else -1.0 if start[e] < 0.0 else 0.0
        low[e] = start[e]
        open_ += 1 if start[e] == 0.0 else 0
    if open_ == 0:
        return ap.OK, since
    _guards(frame, False, low)
    for k in range(36, 0, -4):
        if _step_to(address, frame, clock, count, h * 0.5**k) != ap.OK:  # too short for the present pivots: a longer one tells as much
            continue
        for e in range(frame[ap.N_EVENTS]):
            if side[e] == 0.0 and start[e] == 0.0 and abs(final[e]) > 4.0 * abs(low[e]):
                side[e], since = 1.0 if final[e] > 0.0 else -1.0, clock[ap.H]
                open_ -= 1
        if open_ == 0:
            break
    if since > 0.0 and since == clock[ap.H]:
        for e in range(frame[ap.N_EVENTS]):
            low[e] = final[e]
    else:
        since = 0.0
    return _step_to(address, frame, clock, count, h), since


@jit
def _pending(address: int, frame: Any, clock: Any, count: Any) -> Any:
    """A guard that crossed zero together with that of the last event and still goes on (−1: none), and the status of the step."""
    start, low, final = _values(frame, ap.BEFORE), _values(frame, ap.LOW), _values(frame, ap.AFTER)
    h, waiting, found = clock[ap.H], False, -1
    for e in range(frame[ap.N_EVENTS]):
        waiting = waiting or abs(start[e]) == PENDING
    if not waiting:
        return found, ap.OK
    _guards(frame, False, low)
    status = _step_to(address, frame, clock, count, h / 256.0)
    for e in range(frame[ap.N_EVENTS]):
        if abs(start[e]) == PENDING:
            if (final[e] - low[e]) * start[e] < 0.0:
                found = e
            else:  # an action has turned it back
                start[e] = low[e]
    return found, (status if status != ap.OK else _step_to(address, frame, clock, count, h))


@jit
def _tiny(frame: Any, clock: Any) -> float:
    """A step so short that it is not worth while: nothing moves by more than NEAR of its size, and rates, which constraints tie to
    differences of rounded positions, would lose digits."""
    if frame[ap.N_MULTIPLIERS] == 0:
        return 0.0
    speed, longest = extent(frame, ap.V0), 1e-5 * clock[ap.STEP]
    return min(longest, NEAR * clock[ap.SIZE] / speed) if speed > 0.0 else longest


@kernel
def watch(address: int) -> int:
    """Looks for events in the step that has been found: OK when there are none; EVENT when the step now ends at the first one (FIRED says
    which); AT_ONCE when that is where it starts; or why a shorter step could not be done.  Events next to an end of the step are taken there."""
    frame = words(address, FRAME)
    clock, count = doubles(frame[ap.F_CLOCK], ap.CLOCK_SIZE), integers(frame[ap.F_COUNT], ap.COUNT_SIZE)
    low, final, high = _values(frame, ap.LOW), _values(frame, ap.AFTER), _values(frame, ap.HIGH)
    _guards(frame, True, final)
    fired, status = _pending(address, frame, clock, count)
    if fired >= 0:
        count[ap.FIRED] = fired
        return ap.AT_ONCE
    if status != ap.OK:
        return status
    status, lo = _leave_zero(address, frame, clock, count)
    if status != ap.OK:
        return status
    hi = clock[ap.H]
    fired, t = _crossed(frame, lo, hi)
    if fired < 0:
        return ap.OK
    gap = max(8.0 * EPS * max(abs(clock[ap.T]), abs(clock[ap.T] + hi)), 1e-14 * hi)
    there, whole, tiny = True, hi, max(gap, _tiny(frame, clock))
    if _values(frame, ap.BEFORE)[fired] == 0.0:  # it leaves zero and comes back: that cannot be left out
        tiny = gap
    for e in range(frame[ap.N_EVENTS]):
        high[e] = final[e]
    for k in range(120):
        if hi - lo <= gap or hi <= tiny or lo >= whole - tiny:
            break
        trial = t if k % 3 != 2 else 0.5 * (lo + hi)
        trial = min(max(trial, lo + 0.5 * gap), hi - 0.5 * gap)
        status = _step_to(address, frame, clock, count, trial)
        if status != ap.OK:
            return status
        found, where = _crossed(frame, lo, trial)
        there = found >= 0
        for e in range(frame[ap.N_EVENTS]):
            if there:
                high[e] = final[e]
            else:
                low[e] = final[e]
        if there:
            fired, t, hi = found, where, trial
        else:
            lo = trial
            t = lo + (hi - lo) * (low[fired] / (low[fired] - high[fired]) if low[fired] != high[fired] else 0.5)
    count[ap.FIRED] = fired
    # a multiplier is known to second order only: no tiny step is worth while for it
    if hi <= tiny or (table(frame, ap.F_EVENTS, fired, ap.EVENT_COLUMNS)[ap.E_ADDRESS] == 0 and hi <= 1e-3 * clock[ap.STEP]):
        return ap.AT_ONCE
    if lo >= whole - tiny:
        there, hi = hi == whole and there, whole
    if not there and _step_to(address, frame, clock, count, hi) != ap.OK:
        return ap.DIVERGED
    for e in range(frame[ap.N_EVENTS]):
        if e != fired and _passes(frame, e):
            final[e] = PENDING * _values(frame, ap.SIDE)[e]
    return ap.EVENT


@kernel
def arm(address: int) -> int:
    """Guards at the state; those with an event to come keep their side."""
    frame = words(address, FRAME)
    start, now = _values(frame, ap.BEFORE), _values(frame, ap.LOW)
    _guards(frame, False, now)
    for e in range(frame[ap.N_EVENTS]):
        if abs(start[e]) != PENDING:
            start[e] = now[e]
    return 0
