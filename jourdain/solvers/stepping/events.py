"""Events of an assembled system in its native march: guards at the ends of a step, and the step done again up to the first zero.

The schemes are one-step methods, so the state at an event is a true state of the scheme: energy and momenta are kept across it.
A multiplier is a mean over its step; the value at the end of the step is extrapolated from the step before.
"""

from __future__ import annotations

import math
from typing import Any

from ...native.call import address as at
from ...native.call import call
from ...native.kernel import hot, jit, kernel
from ..ode.frame import EPS
from . import frame as ap
from .frame import Clock, Count, Frame
from .kernels import extent
from .march import attempt

#: Part of the coordinates' size; an event that is nearer to the end of a step is taken there.
NEAR = 1e-8
#: By how much more than a step a sixteenth as long a step must take a guard from its zero.
GROWS = 4.0
#: Value of a guard that has crossed zero together with another one, whose event comes first: still on its old side, to fire at once.
PENDING = 1e-300


@jit
def _multiplier(frame: Frame, k: int, final: bool) -> float:
    """A multiplier at the end of the present step, or as far as it is known at its start."""
    clock = frame.clock
    last = frame.lam.last[k]
    if not final:
        return last if clock.t_rate1 > -math.inf else math.nan
    now = frame.lam.now[k] / frame.scheme.kappa
    if clock.t_rate1 == -math.inf:
        return now
    half = 0.5 * clock.h
    return now + (now - last) * half / (clock.t + half - clock.t_rate1)


@jit
def _guards(frame: Frame, final: bool, target: Any) -> None:
    """Values of all guards at the end (or start) of the present step."""
    vec = frame.vec
    clock, args, x = frame.clock, frame.args, frame.event_x
    q, v = (vec.q1, vec.v1) if final else (vec.q0, vec.v0)
    value = frame.y
    for e in range(len(frame.events)):
        event = frame.events[e]
        if event.guard == 0:
            target[e] = _multiplier(frame, event.multiplier, final) if event.multiplier >= 0 else math.nan
            continue
        n = event.size
        index = frame.event_gather[event.gather :]
        x[0] = clock.t + clock.h if final else clock.t
        for i in range(n):
            x[1 + i], x[1 + n + i] = q[index[i]], v[index[i]]
        args[0], args[1], args[2], args[3] = at(x), at(value), at(frame.constants), at(frame.event_work)
        call(event.guard, frame.args)
        target[e] = value[0]
        if value[0] != value[0]:
            frame.count.no_number = e + 1


@jit
def _step_to(frame: Frame, clock: Clock, count: Count, h: float) -> int:
    """The step done again with another length, and the guards at its end."""
    clock.h = h
    status = attempt(frame, clock, count)
    if status == ap.OK:
        _guards(frame, True, frame.guards.after)
    return status


@hot
def _passes(frame: Frame, e: int) -> bool:
    """Whether a guard is past its zero at the end of the present step, in a direction that counts."""
    direction, side = frame.events[e].direction, frame.guards.side[e]
    return side != 0.0 and (direction == 0 or direction == -side) and frame.guards.after[e] * side <= 0.0


@jit
def _crossed(frame: Frame, lo: float, hi: float) -> Any:
    """The guard that seems to be the first to cross zero between lo and hi (−1: none), and about when."""
    low, final, side = frame.guards.low, frame.guards.after, frame.guards.side
    found, where = -1, math.inf
    for e in range(len(frame.events)):
        if _passes(frame, e):
            a, b = low[e] * side[e], final[e] * side[e]
            t = lo + (hi - lo) * (a / (a - b) if a > 0.0 else 0.5)
            if t < where:
                found, where = e, t
    return found, where


@hot
def _leaves(frame: Frame, e: int) -> bool:
    """Whether a guard has left its zero by more than rounding: in steps each sixteen times as long as the last it goes ever farther, twice in turn."""
    guards = frame.guards
    way, last = guards.after[e] - guards.low[e], guards.high[e]
    guards.high[e] = way
    guards.grown[e] = guards.grown[e] + 1.0 if way * last > 0.0 and abs(way) > GROWS * abs(last) else 0.0
    return guards.grown[e] >= 2.0 and abs(guards.after[e]) > 4.0 * abs(guards.low[e])  # type: ignore[no-any-return]


@jit
def _leave_zero(frame: Frame, clock: Clock, count: Count) -> Any:
    """Sides of guards that start at zero (their event has just been): where they go first within the step; status and when that is known."""
    guards = frame.guards
    start, low, final, side = guards.before, guards.low, guards.after, guards.side
    h, open_, since = clock.h, 0, 0.0
    for e in range(len(frame.events)):
        side[e] = 1.0 if start[e] > 0.0 else -1.0 if start[e] < 0.0 else 0.0
        low[e], guards.high[e], guards.grown[e] = start[e], 0.0, 0.0
        open_ += 1 if start[e] == 0.0 else 0
    if open_ == 0:
        return ap.OK, since
    _guards(frame, False, low)
    tiny = _tiny(frame, clock)
    for k in range(36, -4, -4):
        if _step_to(frame, clock, count, h * 0.5**k) != ap.OK:  # too short for the present pivots: a longer one tells as much
            continue
        for e in range(len(frame.events)):
            told = clock.h >= tiny or frame.events[e].of_rates == 0  # rates of a shorter step are rounding
            if told and side[e] == 0.0 and start[e] == 0.0 and _leaves(frame, e):
                side[e], since = 1.0 if final[e] > 0.0 else -1.0, clock.h
                open_ -= 1
        if open_ == 0:
            break
    if since > 0.0 and since == clock.h:
        for e in range(len(frame.events)):
            low[e] = final[e]
    else:
        since = 0.0
    return _step_to(frame, clock, count, h), since


@jit
def _pending(frame: Frame, clock: Clock, count: Count) -> Any:
    """A guard that crossed zero together with that of the last event and still goes on (−1: none), and the status of the step."""
    start, low, final = frame.guards.before, frame.guards.low, frame.guards.after
    h, waiting, found = clock.h, False, -1
    for e in range(len(frame.events)):
        waiting = waiting or abs(start[e]) == PENDING
    if not waiting:
        return found, ap.OK
    _guards(frame, False, low)
    status = _step_to(frame, clock, count, h / 256.0)
    for e in range(len(frame.events)):
        if abs(start[e]) == PENDING:
            if (final[e] - low[e]) * start[e] < 0.0:
                found = e
            else:  # an action has turned it back
                start[e] = low[e]
    return found, (status if status != ap.OK else _step_to(frame, clock, count, h))


@jit
def _tiny(frame: Frame, clock: Clock) -> float:
    """A step so short that it is not worth while: nothing moves by more than NEAR of its size, and rates, which constraints tie to
    differences of rounded positions, would lose digits."""
    if frame.lam.now.size == 0:
        return 0.0
    speed, longest = extent(frame, frame.vec.v0), 1e-5 * clock.step
    return min(longest, NEAR * clock.size / speed) if speed > 0.0 else longest


@kernel
def watch(address: int) -> int:
    """Looks for events in the step that has been found: OK when there are none; EVENT when the step now ends at the first one (FIRED says
    which); AT_ONCE when that is where it starts; or why a shorter step could not be done.  Events next to an end of the step are taken there."""
    frame = Frame.at(address)
    clock, count = frame.clock, frame.count
    low, final, high = frame.guards.low, frame.guards.after, frame.guards.high
    _guards(frame, True, final)
    fired, status = _pending(frame, clock, count)
    if fired >= 0:
        count.fired = fired
        return ap.AT_ONCE
    if status != ap.OK:
        return status
    status, lo = _leave_zero(frame, clock, count)
    if status != ap.OK:
        return status
    hi = clock.h
    fired, t = _crossed(frame, lo, hi)
    if fired < 0:
        return ap.OK
    gap = max(8.0 * EPS * max(abs(clock.t), abs(clock.t + hi)), 1e-14 * hi)
    there, whole, tiny = True, hi, max(gap, _tiny(frame, clock))
    if frame.guards.before[fired] == 0.0:  # it leaves zero and comes back: that cannot be left out
        tiny = gap
    for e in range(len(frame.events)):
        high[e] = final[e]
    for k in range(120):
        if hi - lo <= gap or hi <= tiny or lo >= whole - tiny:
            break
        trial = t if k % 3 != 2 else 0.5 * (lo + hi)
        trial = min(max(trial, lo + 0.5 * gap), hi - 0.5 * gap)
        status = _step_to(frame, clock, count, trial)
        if status != ap.OK:
            return status
        found, where = _crossed(frame, lo, trial)
        there = found >= 0
        for e in range(len(frame.events)):
            if there:
                high[e] = final[e]
            else:
                low[e] = final[e]
        if there:
            fired, t, hi = found, where, trial
        else:
            lo = trial
            t = lo + (hi - lo) * (low[fired] / (low[fired] - high[fired]) if low[fired] != high[fired] else 0.5)
    count.fired = fired
    # a multiplier is known to second order only: no tiny step is worth while for it
    if hi <= tiny or (frame.events[fired].guard == 0 and hi <= 1e-3 * clock.step):
        return ap.AT_ONCE
    if lo >= whole - tiny:
        there, hi = hi == whole and there, whole
    if not there and _step_to(frame, clock, count, hi) != ap.OK:
        return ap.DIVERGED
    for e in range(len(frame.events)):
        if e != fired and _passes(frame, e):
            final[e] = PENDING * frame.guards.side[e]
    return ap.EVENT


@kernel
def arm(address: int) -> int:
    """Guards at the state; those with an event to come keep their side."""
    frame = Frame.at(address)
    start, now = frame.guards.before, frame.guards.low
    _guards(frame, False, now)
    for e in range(len(frame.events)):
        if abs(start[e]) != PENDING:
            start[e] = now[e]
    return 0
