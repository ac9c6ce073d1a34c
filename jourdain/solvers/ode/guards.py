"""The search for events: zeros of guard functions g(t, x) along the interpolant of a step, taken in order of time.

A guard whose side is unknown (it starts at zero, or has just fired and its action has left it there) is followed until it leaves zero, so an
event does not fire again at once; events that accumulate end the integration.
"""

from __future__ import annotations

import math
from typing import Any

from jourdain.native.call import call
from jourdain.native.kernel import jit, kernel
from jourdain.solvers.ode.frame import EPS, EVENT, RENEWED, TERMINAL, ZENO, Clock, Count, Frame, Progress, view
from jourdain.solvers.ode.guard_values import all_guards, first_dip, guard_at, guards_of, note_beginning
from jourdain.solvers.ode.progress import ARM, ASKS_PYTHON, CARRY, MOST_DIPS, RECORD_ONLY, SCAN, STOPS_THERE, hook, point

CLOSE_EVENTS = 1e-8
UNRESOLVED_EVENTS = 1e-11
ZENO_EVENTS = 14
PENDING = 2
APPROACH = 1e-7
#: An action has moved its own guard from zero where it changed it by more than this part of what it was within the step before.
MOVED = 1e-3
#: A guard was not at zero where it begins constant to the first of these, and is not less than the second of what it becomes.
CONSTANT, REAL = 1e-3, 1e-2
#: Times, ever farther beyond a zero, at which a guard is looked at that is zero in a whole neighbourhood.
LATER = 12
#: Part of what is no rounding that may be rounding.
ROUNDING = 1e-4


@jit
def _begins_off_zero(frame: Frame, clock: Clock, count: Count, progress: Progress, c: int, lo: float, hi: float, start: float) -> bool:
    """Whether the value of guard c at lo is more than rounding."""
    if start == 0.0:
        return False
    most = abs(start)
    for k in range(44, 0, -4):
        value = guard_at(frame, clock, count, progress, c, lo + (hi - lo) * 0.5**k)
        if k > 32 and not abs(value - start) <= CONSTANT * abs(start):
            return False
        most = max(most, abs(value))
    return abs(start) >= REAL * most


@jit
def _side_after(frame: Frame, clock: Clock, count: Count, progress: Progress, c: int, lo: float, hi: float) -> Any:
    """Return the side to which guard c leaves zero after lo, and a time when it is there (0 if it stays).

    What is seen first may be rounding, of any sign: it counts where it has grown 16 times later, or where nothing else is seen.
    """
    start = guard_at(frame, clock, count, progress, c, lo)
    if _begins_off_zero(frame, clock, count, progress, c, lo, hi, start):
        return (1 if start > 0.0 else -1), lo
    before, since, value, t = 0.0, lo, 0.0, lo
    for k in range(44, 0, -4):
        t = lo + (hi - lo) * 0.5**k
        value = guard_at(frame, clock, count, progress, c, t)
        if before * value > 0.0 and abs(value) > 2.0 * abs(before):
            return (1 if before > 0.0 else -1), since
        before, since = value if t != lo and abs(value) > 4.0 * abs(start) else 0.0, t
    if before != 0.0:
        return (1 if before > 0.0 else -1), since
    return 0, lo


@jit
def _rounding(frame: Frame, c: int) -> float:
    """What a guard may be by rounding where its event says it, else nothing."""
    clear = frame.watch[c].clear
    return ROUNDING * clear if clear < math.inf and frame.watch[c].direction != 0 else 0.0


@jit
def _leaves_zero(frame: Frame, clock: Clock, count: Count, progress: Progress, c: int, lo: float, hi: float) -> Any:
    """Return the side to which guard c of unknown side leaves zero after lo, a time when it is there, and how far beyond zero it must be to fire.

    Where an event says what is rounding, its action leaves guards on the side from which they fall or rise; those that are not seen to leave zero
    fire when they are beyond it by more than rounding.
    """
    tiny = _rounding(frame, c)
    if tiny == 0.0:
        side, left = _side_after(frame, clock, count, progress, c, lo, hi)
        return side, left, 0.0
    side = -frame.watch[c].direction
    for k in range(44, 0, -4):
        t = lo + (hi - lo) * 0.5**k
        if side * guard_at(frame, clock, count, progress, c, t) > tiny:
            return side, t, 0.0
    return side, lo, tiny


@jit
def _root(
    frame: Frame, clock: Clock, count: Count, progress: Progress, c: int, side: int, shift: float, a: float, b: float, gb: float
) -> float:
    """Return the first representable time past the zero of guard c, moved by ``shift`` (gb with it), in [a, b] by safeguarded secants."""
    ga = guard_at(frame, clock, count, progress, c, a) + shift
    for k in range(200):
        gap = 0.5 * max(4.0 * EPS * max(abs(a), abs(b)), 1e-15 * abs(clock.h_used))
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
        g = guard_at(frame, clock, count, progress, c, t) + shift
        if g * side > 0.0:
            a, ga = t, g
        else:
            b, gb = t, g
    passes = gb == 0.0 and frame.guards[frame.watch[c].event].passes == 1
    return _beyond(frame, clock, count, progress, c, side, shift, b) if passes else b


@jit
def _beyond(frame: Frame, clock: Clock, count: Count, progress: Progress, c: int, side: int, shift: float, zero: float) -> float:
    """Return a time next to a ``zero`` of guard c at which it is beyond it: a law that changes there would else begin the next step on its old side."""
    gap = max(EPS * abs(zero), 1e-16 * abs(clock.h_used))
    for _ in range(LATER):
        t = zero + math.copysign(gap, clock.t_bound - zero)
        if (clock.t_bound - t) * clock.direction < 0.0:
            break
        if (guard_at(frame, clock, count, progress, c, t) + shift) * side < 0.0:
            return t
        gap *= 2.0
    return zero


@jit
def _look_at_middle(frame: Frame, clock: Clock, count: Count, progress: Progress, lo: float, hi: float) -> bool:
    """Whether guards of unknown side were evaluated in the middle of (lo, hi], behind those at its end.

    Many guards may rest at zero (the rates of what does not move yet): one look at all of them costs as much as one look at one.
    """
    sign, rests, middle = frame.sign, False, lo + 0.5 * (hi - lo)
    for c in range(len(frame.watch)):
        rests = rests or (sign[c] == 0 and frame.g[c] == 0.0)
    if not rests or point(frame, clock, count, progress, middle) != 0:
        return False
    status = 0
    for i in range(len(frame.sources)):
        if status == 0:
            status = guards_of(frame, clock, count, i, middle, frame.probe, len(frame.watch))
    return status == 0


@jit
def _earliest(frame: Frame, clock: Clock, count: Count, progress: Progress, lo: float, hi: float) -> Any:
    """Return the guard component that crosses zero first in (lo, hi], when, and from which side; -1 if none."""
    watch, sign, g = frame.watch, frame.sign, frame.g
    found, until, found_side = -1, hi, 0
    looked = _look_at_middle(frame, clock, count, progress, lo, hi)
    for c in range(len(watch)):
        side, left, tiny = sign[c], lo, 0.0
        if side == 0:
            if frame.guards[watch[c].event].rests == 1 or (looked and g[c] == 0.0 and g[len(watch) + c] == 0.0):
                continue  # it stays at zero, or counts as if it did
            side, left, tiny = _leaves_zero(frame, clock, count, progress, c, lo, until)
        if side == 0 or (watch[c].direction != 0 and watch[c].direction != -side):
            continue
        value = side * tiny + (g[c] if until == hi else guard_at(frame, clock, count, progress, c, until))
        if value * side <= 0.0:
            until = _root(frame, clock, count, progress, c, side, side * tiny, left, until, value)
            found, found_side, clock.fired_shift = c, side, side * tiny
    return found, until, found_side


@jit
def _record_event(frame: Frame, clock: Clock, count: Count, progress: Progress, c: int, t: float) -> int:
    """Append an event with the state before it."""
    n, k = count.n, progress.events
    status = point(frame, clock, count, progress, t)
    if status != 0:
        return status
    event = frame.watch[c].event
    which = frame.event_which[2 * k :]
    which[0] = event
    which[1] = c - frame.guards[event].offset
    frame.event_t[k] = t
    probe, kept = frame.probe, frame.event_x[k]
    for i in range(n):
        kept[i] = probe[i]
        kept[n + i] = probe[i]
    progress.events = k + 1
    count.n_events += 1
    if frame.output == 0:
        return 0
    out = frame.event_y[k]
    half = out.size // 2
    status = hook(frame, clock, count, frame.output, frame.output_args, t, frame.probe, out)
    for i in range(half):
        out[half + i] = out[i]
    return status


@jit
def _step_to(frame: Frame, clock: Clock, count: Count, progress: Progress, t: float) -> int:
    """Repeat the last step from its start, but only as far as t, and evaluate the guards there."""
    n, bound, proposed, error = count.n, clock.t_bound, clock.h, clock.error_old
    x, x_old = frame.x, frame.x_old
    for i in range(n):
        x[i] = x_old[i]
    clock.t, clock.t_bound, clock.h = clock.t_old, t, t - clock.t_old
    count.fresh = 0
    count.restart = 1
    status = call(frame.step, frame)
    clock.t_bound, clock.h, clock.error_old = bound, proposed, error
    count.steps -= 1
    progress.have_dense = 0
    if status == 0 and frame.project != 0:
        status = hook(frame, clock, count, frame.project, frame.project_args, clock.t, frame.x, frame.x)
        count.fresh = 0
    if status == 0:
        status = all_guards(frame, clock, count, clock.t, frame.x)
    return status


@jit
def _approach(frame: Frame, clock: Clock, count: Count, progress: Progress, c: int, side: int) -> int:
    """End the step just before the event, so that no stage looks beyond it, and extrapolate over the tiny rest.

    A law may be discontinuous at the event. If the shorter step ends well before it, that is left to the next step.
    """
    start, g = clock.t_old, frame.g
    sign = frame.sign
    whole = abs(clock.t - start)
    least = clock.shortest * whole
    for _ in range(4):
        t = clock.t_event
        if abs(t - start) <= max(64.0 * EPS * abs(t), least):
            return 0
        margin = math.copysign(max(APPROACH * abs(t - start), 8.0 * EPS * abs(t)), t - start)
        status = _step_to(frame, clock, count, progress, t - margin)
        if status != 0:
            return status
        shift = clock.fired_shift
        if (g[c] + shift) * side > 0.0:
            break
        left = start
        if sign[c] == 0 and shift == 0.0:
            left = _leaves_zero(frame, clock, count, progress, c, start, clock.t)[1]
        clock.t_event = _root(frame, clock, count, progress, c, side, shift, left, clock.t, g[c] + shift)
    else:
        return 0
    end = clock.t
    for _ in range(12):
        beyond = end + margin
        value = guard_at(frame, clock, count, progress, c, beyond) + clock.fired_shift
        if value * side <= 0.0 and (clock.t_bound - beyond) * clock.direction >= 0.0:
            clock.t_event = _root(frame, clock, count, progress, c, side, clock.fired_shift, end, beyond, value)
            return 0
        margin *= 2.0
    progress.fired = -1
    if count.adaptive == 1:  # a step as long as this would see the same event again, in front of every short one
        clock.h = math.copysign(min(abs(clock.h), 0.25 * whole), clock.h)
    _take_sides(frame)
    return 0


@jit
def _take_sides(frame: Frame) -> None:
    """Note on which side guards are; those of unknown side that may be rounding stay unknown."""
    sign, g = frame.sign, frame.g
    for c in range(len(frame.watch)):
        if g[c] != 0.0 and (sign[c] != 0 or abs(g[c]) > _rounding(frame, c)):
            sign[c] = 1 if g[c] > 0.0 else -1
    note_beginning(frame)


@jit
def _scan(frame: Frame, clock: Clock, count: Count, progress: Progress) -> int:
    """Look for events in the last step; `fired` becomes the component at which the step must be cut, or stays -1."""
    pieces, lo, dips = progress.probes + 1, clock.t_old, 0
    sign, watch = frame.sign, frame.watch
    k = 0
    while k < pieces:
        end = clock.t
        if k + 1 < pieces:
            end = clock.t_old + (clock.t - clock.t_old) * (k + 1) / pieces
        hi = end
        status = _guards_inside(frame, clock, count, progress, hi)
        if status == 0 and dips < MOST_DIPS and frame.renewer == 0:  # memories turn laws round at such places, over and over
            hi = first_dip(frame, clock, count, progress, lo, end)
            if hi != end:
                dips += 1
                status = _guards_inside(frame, clock, count, progress, hi)
        if status != 0:
            return status
        while True:
            c, t, side = _earliest(frame, clock, count, progress, lo, hi)
            if c < 0:
                break
            if frame.guards[watch[c].event].mode != RECORD_ONLY:
                progress.fired = c
                clock.t_event = t
                return _approach(frame, clock, count, progress, c, side) if progress.restep == 1 else 0
            status = _record_event(frame, clock, count, progress, c, t)
            if status != 0:
                return status
            sign[c] = -side
            lo = t
        _take_sides(frame)
        lo = hi
        if hi == end:
            k += 1
    return 0


@jit
def _guards_inside(frame: Frame, clock: Clock, count: Count, progress: Progress, t: float) -> int:
    """Evaluate all guards at a time of the last step."""
    status = point(frame, clock, count, progress, t)
    return all_guards(frame, clock, count, t, frame.probe) if status == 0 else status


@jit
def _mark_pending(frame: Frame, clock: Clock, count: Count, progress: Progress, t: float) -> None:
    """Mark the guards that have crossed together with the one that fired, so that they fire next."""
    sign, g, watch = frame.sign, frame.g, frame.watch
    if all_guards(frame, clock, count, t, frame.probe) != 0:
        return
    for c in range(len(watch)):
        crossed = g[c] * sign[c] < 0.0 and (watch[c].direction == 0 or watch[c].direction == -sign[c])
        if crossed and c != progress.fired:
            sign[c] *= PENDING


@jit
def _note_fired(frame: Frame, clock: Clock, count: Count, progress: Progress, t: float) -> None:
    """Keep the guard that fires as it is before its action, and its size within the step, or one of the usual length where that was cut short."""
    c, start = progress.fired, clock.t_old
    size = max(
        abs(guard_at(frame, clock, count, progress, c, start)), abs(guard_at(frame, clock, count, progress, c, start + 0.5 * (t - start)))
    )
    clock.fired_size = size * max(1.0, abs(clock.h) / max(abs(t - start), EPS * abs(clock.h)))
    clock.fired_value = guard_at(frame, clock, count, progress, c, t)


@jit
def _accumulates(clock: Clock, progress: Progress, watched: int, t: float) -> bool:
    """Say whether events follow each other ever closer, below what the clock can resolve."""
    gap, scale = abs(t - clock.t_last), max(abs(t), abs(clock.t_bound - t))
    again = progress.last_fired == progress.fired
    clock.t_last = t
    progress.last_fired = progress.fired
    if gap > CLOSE_EVENTS * scale:
        progress.zeno_run = 0
        return False
    progress.zeno_run += 6 if again and gap <= UNRESOLVED_EVENTS * scale else 1
    return progress.zeno_run > ZENO_EVENTS + 4 * watched


@jit
def _cut(frame: Frame, clock: Clock, count: Count, progress: Progress, renews: bool) -> int:
    """End the step at the event, renew memories, act there if the action is native, and return 0 to go on."""
    n, t = count.n, clock.t_event
    guard = frame.guards[frame.watch[progress.fired].event]
    status = _record_event(frame, clock, count, progress, progress.fired, t)
    if status != 0:
        return status
    _mark_pending(frame, clock, count, progress, t)
    _note_fired(frame, clock, count, progress, t)
    x, probe = frame.x, frame.probe
    for i in range(n):
        x[i] = probe[i]
    clock.t = t
    count.fresh = 0
    count.restart = 1
    count.begin = 1
    if guard.patient == 0 and _accumulates(clock, progress, len(frame.watch), t):
        return ZENO
    renewed = 0
    if renews and frame.renewer != 0:
        renewed = call(frame.renewer, frame)
        if renewed != 0 and renewed != RENEWED:
            return renewed
    if guard.action != 0:
        status = hook(frame, clock, count, guard.action, guard.action_args, t, x, x)
        after = frame.event_x[progress.events - 1][n:]
        for i in range(n):
            after[i] = x[i]
        progress.forget = progress.fired
        if status == 0 and frame.output != 0:
            out = frame.event_y[progress.events - 1]
            status = hook(frame, clock, count, frame.output, frame.output_args, t, x, out[out.size // 2 :])
        if status != 0:
            return status
    if guard.mode == ASKS_PYTHON:
        return EVENT
    return TERMINAL if guard.mode == STOPS_THERE else renewed


@jit
def _arm(frame: Frame, clock: Clock, count: Count, progress: Progress) -> int:
    """Note on which side of zero each guard starts; unknown (0) where it is zero, or has just fired and its action has not moved it."""
    status = all_guards(frame, clock, count, clock.t, frame.x)
    sign, g = frame.sign, frame.g
    for c in range(sign.size):
        if abs(sign[c]) == PENDING:
            sign[c] //= PENDING
            continue
        if _rounding(frame, c) > 0.0:
            known = abs(g[c]) > frame.watch[c].clear
        else:
            known = c != progress.forget or abs(g[c] - clock.fired_value) > MOVED * clock.fired_size
        sign[c] = (1 if g[c] > 0.0 else -1) if known and g[c] != 0.0 else 0
    progress.forget = -1
    note_beginning(frame)
    return status


@jit
def _carry(frame: Frame, clock: Clock, count: Count, progress: Progress) -> int:
    """Let guards that renewed memories have carried over zero fire at this instant."""
    status = all_guards(frame, clock, count, clock.t, frame.x)
    if status != 0:
        return status
    sign, g, watch = frame.sign, frame.g, frame.watch
    for c in range(len(watch)):
        side = sign[c]
        if side == 0 or g[c] * side > 0.0 or (watch[c].direction != 0 and watch[c].direction != -side):
            continue
        if frame.guards[watch[c].event].mode != RECORD_ONLY:
            progress.fired = c
            clock.t_event = clock.t
            return _cut(frame, clock, count, progress, False)
        status = _record_event(frame, clock, count, progress, c, clock.t)
        if status != 0:
            return status
    _take_sides(frame)
    return 0


@kernel
def watch(address: int) -> int:
    """Do the task of the moment: arm the guards, scan the last step, cut it at the event found, or look at guards after a renewal."""
    frame, clock, count = view(address)
    progress = frame.progress
    if progress.task == ARM:
        return _arm(frame, clock, count, progress)
    if progress.task == SCAN:
        return _scan(frame, clock, count, progress)
    if progress.task == CARRY:
        return _carry(frame, clock, count, progress)
    return _cut(frame, clock, count, progress, True)
