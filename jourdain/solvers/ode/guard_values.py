"""Guard functions g(t, x) of events, and those that go beyond zero and come back within a step, of which its ends show nothing.

A parabola through the beginning, the middle and the end of a step says where a guard comes nearest to zero; where that may be beyond it, the place is
sought.  Such steps are those of motions that are easy to integrate: a thrown ball is a parabola, and meets a wall above it twice within one step.
"""

from __future__ import annotations

import math
from typing import Any

from jourdain.native.kernel import jit
from jourdain.solvers.ode.frame import GUARD_NAN, Clock, Count, Frame, Progress
from jourdain.solvers.ode.progress import hook, point

#: A guard is looked at more closely whose parabola comes nearer to zero than this part of what it is at the ends.
NEAR = 0.25
#: What is beyond zero by less than this part of what a guard is at the ends is rounding.
NO_DIP = 1e-12
#: Places of the search, which shrinks by the golden ratio.
SEARCHED, GOLDEN = 20, 0.3819660112501051


@jit
def guards_of(frame: Frame, clock: Clock, count: Count, i: int, t: float, x: Any, behind: int) -> int:
    """Evaluate the guards of source i at (t, x) into `g`, so many places behind their own."""
    source = frame.sources[i]
    return hook(frame, clock, count, source.function, source.args, t, x, frame.g[source.offset + behind :])


@jit
def all_guards(frame: Frame, clock: Clock, count: Count, t: float, x: Any) -> int:
    """Evaluate all guards at (t, x) into `g`."""
    for i in range(len(frame.sources)):
        status = guards_of(frame, clock, count, i, t, x, 0)
        if status != 0:
            return status
        first = frame.sources[i].offset
        for c in range(first, first + frame.sources[i].size):
            if frame.g[c] != frame.g[c]:
                clock.t_bad = t
                count.bad = frame.watch[c].event
                return GUARD_NAN
    return 0


@jit
def guard_at(frame: Frame, clock: Clock, count: Count, progress: Progress, c: int, t: float) -> float:
    """Return guard component c at time t of the last step; NaN if it cannot be had."""
    source = frame.guards[frame.watch[c].event].source
    if point(frame, clock, count, progress, t) != 0:
        return math.nan
    if guards_of(frame, clock, count, source, t, frame.probe, len(frame.watch)) != 0:
        return math.nan
    return frame.g[len(frame.watch) + c]


@jit
def note_beginning(frame: Frame) -> None:
    """Keep the guards where a step begins, or a part of it."""
    m = len(frame.watch)
    for c in range(m):
        frame.g[2 * m + c] = frame.g[c]


@jit
def _nearest(a: float, b: float, e: float) -> float:
    """Where the parabola through a, b, e at 0, ½, 1 comes near to zero inside, or beyond it; -1 where it does not."""
    slope, curvature = 4.0 * b - 3.0 * a - e, 2.0 * (a - 2.0 * b + e)
    if not (curvature > 0.0 and slope < 0.0 and slope + 2.0 * curvature > 0.0):
        return -1.0
    if a - 0.25 * slope * slope / curvature > NEAR * min(a, e):
        return -1.0
    return -0.5 * slope / curvature


@jit
def _beyond(frame: Frame, clock: Clock, count: Count, progress: Progress, c: int, side: int, lo: float, hi: float, u: float) -> float:
    """Return a time between lo and hi when guard c is beyond zero, sought from the part u on; hi if none is found."""
    low, high = 0.0, 1.0
    beyond = -max(NO_DIP * min(abs(frame.g[c]), abs(frame.g[2 * len(frame.watch) + c])), _rounding_of(frame, c))
    least = side * guard_at(frame, clock, count, progress, c, lo + u * (hi - lo))
    for _ in range(SEARCHED):
        if least <= beyond:
            return lo + u * (hi - lo)
        if high - u > u - low:
            other = u + GOLDEN * (high - u)
        else:
            other = u - GOLDEN * (u - low)
        value = side * guard_at(frame, clock, count, progress, c, lo + other * (hi - lo))
        if value < least:
            if other > u:
                low = u
            else:
                high = u
            u, least = other, value
        elif other > u:
            high = other
        else:
            low = other
    return hi


@jit
def _rounding_of(frame: Frame, c: int) -> float:
    """How far beyond zero a guard may lie by rounding, where that is known."""
    clear = frame.watch[c].clear
    return clear if clear < math.inf else 0.0


@jit
def _is_looked_into(frame: Frame, c: int) -> bool:
    """Whether a guard is looked at within steps: one that is patient where it is known what is rounding of it."""
    return frame.guards[frame.watch[c].event].patient == 0 or frame.watch[c].clear < math.inf


@jit
def first_dip(frame: Frame, clock: Clock, count: Count, progress: Progress, lo: float, hi: float) -> float:
    """Return the earliest time seen at which a guard is beyond zero that is on its side at lo and at hi; hi if there is none.

    Guards that are patient (those of contacts) may lie beyond zero by rounding: of these only gaps are looked at, beyond what is rounding of them.
    """
    m, g, sign, middle = len(frame.watch), frame.g, frame.sign, lo + 0.5 * (hi - lo)
    placed = False
    for i in range(len(frame.sources)):
        if frame.sources[i].patient == 0 or _is_looked_into(frame, frame.sources[i].offset):
            if not placed and point(frame, clock, count, progress, middle) != 0:
                return hi
            placed = True
            if guards_of(frame, clock, count, i, middle, frame.probe, 3 * m) != 0:
                return hi
    until = hi
    for c in range(m):
        side = sign[c]
        first, half, last = side * g[2 * m + c], side * g[3 * m + c], side * g[c]
        if first > 0.0 and last > 0.0 and _is_looked_into(frame, c):
            t = middle
            if half > -_rounding_of(frame, c):
                u = _nearest(first, half, last)
                t = hi if u < 0.0 else _beyond(frame, clock, count, progress, c, side, lo, hi, u)
            if abs(t - lo) < abs(until - lo):
                until = t
    return until


__all__ = ["all_guards", "first_dip", "guard_at", "guards_of", "note_beginning"]
