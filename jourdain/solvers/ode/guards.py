"""The search for events: zeros of guard functions g(t, x) along the interpolant of a step, taken in order of time.

A guard whose side is unknown (it starts at zero, or its action has just run) is followed until it leaves zero, so an
event does not fire again at once; events that accumulate end the integration.
"""

from __future__ import annotations

import math
from typing import Any

from jourdain.native.call import call, doubles, integers, words
from jourdain.native.kernel import jit, kernel
from jourdain.solvers.ode.frame import (
    BEGIN,
    DIRECTION,
    EPS,
    ERROR_OLD,
    EVENT,
    EVENT_T,
    EVENT_WHICH,
    EVENT_X,
    FRESH,
    GUARDS,
    H_USED,
    N_EVENTS,
    PROBE,
    PROGRESS,
    PROJECT,
    RESTART,
    SELF,
    SIGN,
    STEP,
    STEPS,
    T_BOUND,
    T_EVENT,
    T_LAST,
    T_OLD,
    TERMINAL,
    WATCH,
    X_OLD,
    ZENO,
    G,
    H,
    N,
    T,
    X,
    view,
)
from jourdain.solvers.ode.progress import (
    ACTION,
    ACTION_ARGS,
    ARM,
    ASKS_PYTHON,
    EVENTS,
    FIRED,
    FORGET,
    GUARD,
    GUARD_ARGS,
    GUARD_ROW,
    HAVE_DENSE,
    LAST_FIRED,
    MODE,
    N_GUARDS,
    OFFSET,
    PROBES,
    PROGRESS_SIZE,
    RECORD_ONLY,
    RESTEP,
    SCAN,
    STOPS_THERE,
    TASK,
    WATCHED,
    ZENO_RUN,
    hook,
    point,
)

CLOSE_EVENTS = 1e-8
UNRESOLVED_EVENTS = 1e-11
ZENO_EVENTS = 14
PENDING = 2
APPROACH = 1e-7


@jit
def _guards(frame: Any, clock: Any, count: Any, progress: Any, t: float, x: int, which: int) -> int:
    """Evaluate the guards at (t, x) into G; all of them when `which` is negative."""
    table = words(frame[GUARDS], GUARD_ROW * progress[N_GUARDS])
    for e in range(progress[N_GUARDS]):
        if which < 0 or which == e:
            row = GUARD_ROW * e
            out = frame[G] + 8 * table[row + OFFSET]
            if which >= 0:
                out += 8 * progress[WATCHED]
            status = hook(frame, clock, count, table[row + GUARD], table[row + GUARD_ARGS], t, x, out)
            if status != 0:
                return status
    return 0


@jit
def _guard_at(frame: Any, clock: Any, count: Any, progress: Any, c: int, t: float) -> float:
    """Return guard component c at time t of the last step; NaN if it cannot be had."""
    event = integers(frame[WATCH], 2 * progress[WATCHED])[2 * c + 1]
    if point(frame, clock, count, progress, t) != 0:
        return math.nan
    if _guards(frame, clock, count, progress, t, frame[PROBE], event) != 0:
        return math.nan
    return doubles(frame[G], 2 * progress[WATCHED])[progress[WATCHED] + c]


@jit
def _side_after(frame: Any, clock: Any, count: Any, progress: Any, c: int, lo: float, hi: float) -> Any:
    """Return the side to which guard c leaves zero after lo, and a time when it is there (0 if it stays)."""
    start = _guard_at(frame, clock, count, progress, c, lo)
    for k in range(44, 0, -4):
        t = lo + (hi - lo) * 0.5**k
        value = _guard_at(frame, clock, count, progress, c, t)
        if t != lo and abs(value) > 4.0 * abs(start):
            return (1 if value > 0.0 else -1), t
    return 0, lo


@jit
def _root(frame: Any, clock: Any, count: Any, progress: Any, c: int, side: int, a: float, b: float, gb: float) -> float:
    """Return the first representable time past the zero of guard c in [a, b] by safeguarded secants."""
    ga = _guard_at(frame, clock, count, progress, c, a)
    for k in range(200):
        gap = 0.5 * max(4.0 * EPS * max(abs(a), abs(b)), 1e-15 * abs(clock[H_USED]))
        if abs(b - a) <= 2.0 * gap:
            break
        middle = a + 0.5 * (b - a)
        t = middle
        if k % 3 != 2 and ga != gb:
            t = a + (b - a) * (ga / (ga - gb))
            if abs(t - a) < gap:
                t = a + math.copysign(gap, b - a)
            elif abs(b - t) < gap:
                t = b - math.copysign(gap, b - a)
        if not ((t - a) * (b - t) > 0.0):
            t = middle
        g = _guard_at(frame, clock, count, progress, c, t)
        if g * side > 0.0:
            a, ga = t, g
        else:
            b, gb = t, g
    return b


@jit
def _earliest(frame: Any, clock: Any, count: Any, progress: Any, lo: float, hi: float) -> Any:
    """Return the guard component that crosses zero first in (lo, hi], when, and from which side; -1 if none."""
    m = progress[WATCHED]
    watch, sign, g = integers(frame[WATCH], 2 * m), integers(frame[SIGN], m), doubles(frame[G], 2 * m)
    found, until, found_side = -1, hi, 0
    for c in range(m):
        side, left = sign[c], lo
        if side == 0:
            side, left = _side_after(frame, clock, count, progress, c, lo, until)
        if side == 0 or (watch[2 * c] != 0 and watch[2 * c] != -side):
            continue
        value = g[c] if until == hi else _guard_at(frame, clock, count, progress, c, until)
        if value * side <= 0.0:
            until = _root(frame, clock, count, progress, c, side, left, until, value)
            found, found_side = c, side
    return found, until, found_side


@jit
def _record_event(frame: Any, clock: Any, count: Any, progress: Any, c: int, t: float) -> int:
    """Append an event with the state before it."""
    n, k = count[N], progress[EVENTS]
    watch = integers(frame[WATCH], 2 * progress[WATCHED])
    status = point(frame, clock, count, progress, t)
    if status != 0:
        return status
    event = watch[2 * c + 1]
    which = integers(frame[EVENT_WHICH] + 16 * k, 2)
    which[0] = event
    which[1] = c - words(frame[GUARDS], GUARD_ROW * progress[N_GUARDS])[GUARD_ROW * event + OFFSET]
    doubles(frame[EVENT_T] + 8 * k, 1)[0] = t
    probe, kept = doubles(frame[PROBE], n), doubles(frame[EVENT_X] + 16 * n * k, 2 * n)
    for i in range(n):
        kept[i] = probe[i]
        kept[n + i] = probe[i]
    progress[EVENTS] = k + 1
    count[N_EVENTS] += 1
    return 0


@jit
def _step_to(frame: Any, clock: Any, count: Any, progress: Any, t: float) -> int:
    """Repeat the last step from its start, but only as far as t, and evaluate the guards there."""
    n, bound, proposed, error = count[N], clock[T_BOUND], clock[H], clock[ERROR_OLD]
    x, x_old = doubles(frame[X], n), doubles(frame[X_OLD], n)
    for i in range(n):
        x[i] = x_old[i]
    clock[T], clock[T_BOUND], clock[H] = clock[T_OLD], t, t - clock[T_OLD]
    count[FRESH] = 0
    count[RESTART] = 1
    status = call(frame[STEP], frame[SELF])
    clock[T_BOUND], clock[H], clock[ERROR_OLD] = bound, proposed, error
    count[STEPS] -= 1
    progress[HAVE_DENSE] = 0
    if status == 0 and frame[PROJECT] != 0:
        status = hook(frame, clock, count, frame[PROJECT], frame[PROJECT + 1], clock[T], frame[X], frame[X])
        count[FRESH] = 0
    if status == 0:
        status = _guards(frame, clock, count, progress, clock[T], frame[X], -1)
    return status


@jit
def _approach(frame: Any, clock: Any, count: Any, progress: Any, c: int, side: int) -> int:
    """End the step just before the event, so that no stage looks beyond it, and extrapolate over the tiny rest.

    A law may be discontinuous at the event. If the shorter step ends well before it, that is left to the next step.
    """
    start, g = clock[T_OLD], doubles(frame[G], progress[WATCHED])
    sign = integers(frame[SIGN], progress[WATCHED])
    for _ in range(4):
        t = clock[T_EVENT]
        if abs(t - start) <= 64.0 * EPS * abs(t):
            return 0
        margin = math.copysign(max(APPROACH * abs(t - start), 8.0 * EPS * abs(t)), t - start)
        status = _step_to(frame, clock, count, progress, t - margin)
        if status != 0:
            return status
        if g[c] * side > 0.0:
            break
        left = start
        if sign[c] == 0:
            left = _side_after(frame, clock, count, progress, c, start, clock[T])[1]
        clock[T_EVENT] = _root(frame, clock, count, progress, c, side, left, clock[T], g[c])
    else:
        return 0
    end = clock[T]
    for _ in range(12):
        beyond = end + margin
        value = _guard_at(frame, clock, count, progress, c, beyond)
        if value * side <= 0.0 and (clock[T_BOUND] - beyond) * clock[DIRECTION] >= 0.0:
            clock[T_EVENT] = _root(frame, clock, count, progress, c, side, end, beyond, value)
            return 0
        margin *= 2.0
    progress[FIRED] = -1
    for k in range(progress[WATCHED]):
        if g[k] != 0.0:
            sign[k] = 1 if g[k] > 0.0 else -1
    return 0


@jit
def _scan(frame: Any, clock: Any, count: Any, progress: Any) -> int:
    """Look for events in the last step; FIRED becomes the component at which the step must be cut, or stays -1."""
    m, pieces, lo = progress[WATCHED], progress[PROBES] + 1, clock[T_OLD]
    sign, g, watch = integers(frame[SIGN], m), doubles(frame[G], 2 * m), integers(frame[WATCH], 2 * m)
    table = words(frame[GUARDS], GUARD_ROW * progress[N_GUARDS])
    for k in range(pieces):
        hi = clock[T]
        if k + 1 < pieces:
            hi = clock[T_OLD] + (clock[T] - clock[T_OLD]) * (k + 1) / pieces
        status = point(frame, clock, count, progress, hi)
        if status == 0:
            status = _guards(frame, clock, count, progress, hi, frame[PROBE], -1)
        if status != 0:
            return status
        while True:
            c, t, side = _earliest(frame, clock, count, progress, lo, hi)
            if c < 0:
                break
            if table[GUARD_ROW * watch[2 * c + 1] + MODE] != RECORD_ONLY:
                progress[FIRED] = c
                clock[T_EVENT] = t
                return _approach(frame, clock, count, progress, c, side) if progress[RESTEP] == 1 else 0
            status = _record_event(frame, clock, count, progress, c, t)
            if status != 0:
                return status
            sign[c] = -side
            lo = t
        for c in range(m):
            if g[c] != 0.0:
                sign[c] = 1 if g[c] > 0.0 else -1
        lo = hi
    return 0


@jit
def _mark_pending(frame: Any, clock: Any, count: Any, progress: Any, t: float) -> None:
    """Mark the guards that have crossed together with the one that fired, so that they fire next."""
    m = progress[WATCHED]
    sign, g, watch = integers(frame[SIGN], m), doubles(frame[G], m), integers(frame[WATCH], 2 * m)
    if _guards(frame, clock, count, progress, t, frame[PROBE], -1) != 0:
        return
    for c in range(m):
        crossed = g[c] * sign[c] < 0.0 and (watch[2 * c] == 0 or watch[2 * c] == -sign[c])
        if crossed and c != progress[FIRED]:
            sign[c] *= PENDING


@jit
def _accumulates(clock: Any, progress: Any, t: float) -> bool:
    """Say whether events follow each other ever closer, below what the clock can resolve."""
    gap, scale = abs(t - clock[T_LAST]), max(abs(t), abs(clock[T_BOUND] - t))
    again = progress[LAST_FIRED] == progress[FIRED]
    clock[T_LAST] = t
    progress[LAST_FIRED] = progress[FIRED]
    if gap > CLOSE_EVENTS * scale:
        progress[ZENO_RUN] = 0
        return False
    progress[ZENO_RUN] += 6 if again and gap <= UNRESOLVED_EVENTS * scale else 1
    return progress[ZENO_RUN] > ZENO_EVENTS + 4 * progress[WATCHED]


@jit
def _cut(frame: Any, clock: Any, count: Any, progress: Any) -> int:
    """End the step at the event, act there if the action is native, and return 0 to go on."""
    n, t = count[N], clock[T_EVENT]
    event = integers(frame[WATCH], 2 * progress[WATCHED])[2 * progress[FIRED] + 1]
    table = words(frame[GUARDS], GUARD_ROW * progress[N_GUARDS])
    status = _record_event(frame, clock, count, progress, progress[FIRED], t)
    if status != 0:
        return status
    _mark_pending(frame, clock, count, progress, t)
    x, probe = doubles(frame[X], n), doubles(frame[PROBE], n)
    for i in range(n):
        x[i] = probe[i]
    clock[T] = t
    count[FRESH] = 0
    count[RESTART] = 1
    count[BEGIN] = 1
    if _accumulates(clock, progress, t):
        return ZENO
    mode, action = table[GUARD_ROW * event + MODE], table[GUARD_ROW * event + ACTION]
    if action != 0:
        args = table[GUARD_ROW * event + ACTION_ARGS]
        status = hook(frame, clock, count, action, args, t, frame[X], frame[X])
        after = doubles(frame[EVENT_X] + 16 * n * (progress[EVENTS] - 1) + 8 * n, n)
        for i in range(n):
            after[i] = x[i]
        progress[FORGET] = progress[FIRED]
        if status != 0:
            return status
    if mode == ASKS_PYTHON:
        return EVENT
    return TERMINAL if mode == STOPS_THERE else 0


@jit
def _arm(frame: Any, clock: Any, count: Any, progress: Any) -> int:
    """Note on which side of zero each guard starts; unknown (0) where it is zero or has just fired and acted."""
    m = progress[WATCHED]
    status = _guards(frame, clock, count, progress, clock[T], frame[X], -1)
    sign, g = integers(frame[SIGN], m), doubles(frame[G], m)
    for c in range(m):
        if abs(sign[c]) == PENDING:
            sign[c] //= PENDING
            continue
        sign[c] = (1 if g[c] > 0.0 else -1) if g[c] != 0.0 and c != progress[FORGET] else 0
    progress[FORGET] = -1
    return status


@kernel
def watch(address: int) -> int:
    """Do the TASK of the moment: arm the guards, scan the last step, or cut it at the event found."""
    frame, clock, count = view(address)
    progress = integers(frame[PROGRESS], PROGRESS_SIZE)
    if progress[TASK] == ARM:
        return _arm(frame, clock, count, progress)
    if progress[TASK] == SCAN:
        return _scan(frame, clock, count, progress)
    return _cut(frame, clock, count, progress)
