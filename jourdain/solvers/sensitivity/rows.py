"""Many short runs in one native loop: rows of parameters and starts in; integrals, values at instants, extrema and times of events out."""

from __future__ import annotations

from ...native.call import call, words
from ...native.kernel import jit, kernel
from ...native.record import Address, Floats, Integers, Matrix, Record
from ..ode.frame import EPS, FINISHED, PAUSED, TERMINAL, Frame
from ..ode.guards import APPROACH
from ..ode.inside import Look, passes_over
from .extrema import Sought, seek
from .path import Path
from .walk import AT_END, INSIDE

#: Why a run must be looked at alone, besides what a march returns: its events are not one after the other, a guard may have been missed, it ends
#: before an instant that is asked for, an event has not happened so often; what must be so at its start or at its end is not.
TOGETHER, MISSED, BEYOND, NEVER, UNFIT = 101, 102, 103, 104, 105


class Rows(Record):
    """Runs ``first`` to ``last`` of a table, one after the other in the memory of one integration and one walk (0: last states alone are wanted).

    ``changing`` is what a run changes in the memory of the integration, ``prepared`` what is there before it; functions of parameters take theirs from ``p``.
    """

    first: int
    last: int
    march: Address
    walk: Address
    frame: Address
    changing: Integers
    prepared: Integers
    x: Floats
    p: Floats
    prepare: Integers
    prepare_args: Integers
    #: What sets back what steps remember besides and looks at the start, and what looks at the end (0: nothing): 0 where all is well.
    before: Address
    after: Address
    looked_args: Integers
    #: Steps after which Python is asked for Ctrl-C (0: after all runs), those of them that are left, and whether run ``first`` has begun.
    at_once: int
    left: int
    begun: int
    #: Steps that a run may take besides those after which a stiff one has something to say, and what makes it stiff.
    more: int
    stiff: int
    row_t: Floats
    #: Places in the state that are to stay between bounds at all ends of steps, which are kept in rows then.
    bounded: Integers
    least: Floats
    most: Floats
    path: Path
    parameters: Matrix
    starts: Matrix
    #: Instants of values, in their order; those that are the end of the run, whenever that is.
    wanted: Floats
    final: Integers
    #: Whether values make sense only for runs of the whole length.
    whole: int
    sought: Sought
    #: What looks at guards inside steps, if there are events.
    look: Look
    #: Events whose times are wanted, and which of its times.
    timed: Integers
    counts: Integers
    #: FINISHED, or why a run must be looked at alone; when it ended.
    status: Integers
    ends: Floats
    #: Last states.
    finals: Matrix
    totals: Matrix
    values: Matrix
    extrema: Matrix
    times: Matrix


@jit
def _begin(r: Rows, frame: Frame, i: int) -> int:
    """Parameters and start of run i."""
    for j in range(r.p.size):
        r.p[j] = r.parameters[i][j]
    for k in range(r.changing.size):
        r.changing[k] = r.prepared[k]
    for j in range(r.x.size):
        r.x[j] = r.starts[i][j]
    for j in range(frame.sign.size):
        frame.sign[j] = 0
    for j in range(frame.g.size):
        frame.g[j] = 0.0
    for k in range(r.prepare.size):
        status = call(r.prepare[k], words(r.prepare_args[k], 3))
        if status != 0:
            return status
    return UNFIT if r.before != 0 and call(r.before, r.looked_args) != 0 else 0


@jit
def _piece(path: Path, t: Floats, count: int, first: int, last: int, event: bool) -> None:
    """One more piece of the path; an event at its end keeps stages before it, and those of the next piece behind it."""
    path.first[count], path.last[count], path.margin[count] = first, last, 0.0
    path.renews[count] = 0 if event else 1
    if count == 0:
        path.nudge[0] = 0.0
    if event:
        width = t[last] - t[last - 1]
        path.margin[count] = min(max(APPROACH * width, 8.0 * EPS * abs(t[last])), 0.5 * width)
    if count + 1 < path.nudge.size:
        path.nudge[count + 1] = APPROACH if event else 0.0


@jit
def _divide(r: Rows, frame: Frame, terminal: bool) -> int:
    """The pieces of a run between its events: 0, or why it must be looked at alone."""
    path, t, last = r.path, r.row_t, frame.progress.rows - 1
    count, first, events = 0, 0, frame.progress.events
    for k in range(last):
        if t[k + 1] != t[k]:
            continue
        if k == first or count + 2 > path.first.size or count >= events or frame.event_t[count] != t[k]:
            return TOGETHER
        _piece(path, t, count, first, k, True)
        count += 1
        first = k + 1
    if first == last or events != count + (1 if terminal else 0):
        return TOGETHER
    for k in range(1, events):
        if not frame.event_t[k] > frame.event_t[k - 1]:
            return TOGETHER
    _piece(path, t, count, first, last, terminal)
    path.begin, path.end = 0, count + 1
    return 0


@jit
def _place(r: Rows, last: int) -> int:
    """The steps in which values are read, of a run with so many of them."""
    path = r.path
    leg = path.leg
    k, i, end = 0, 0, r.row_t[last]
    path.points[0] = 0
    for j in range(r.wanted.size):
        t = end if r.final[j] == 1 else r.wanted[j]
        if t > end:
            return BEYOND
        leg.point_t[j] = t
        while k < last - 1 and r.row_t[k + 1] < t:
            k += 1
        while path.last[i] <= k:
            i += 1
            path.points[i] = j
        leg.point_step[j] = k - path.first[i]
        leg.point_kind[j] = AT_END if t == r.row_t[k + 1] else INSIDE
    while i + 1 <= path.end:
        i += 1
        path.points[i] = r.wanted.size
    return 0


@jit
def _time(r: Rows, frame: Frame, i: int) -> int:
    """Times of events."""
    for j in range(r.timed.size):
        left, found = r.counts[j], 0
        for k in range(frame.progress.events):
            if frame.event_which[2 * k] == r.timed[j] and left > 0:
                left -= 1
                r.times[i][j] = frame.event_t[k]
                found = 1 if left == 0 else 0
        if found == 0:
            return NEVER
    return 0


@jit
def _leaves_bounds(r: Rows, frame: Frame) -> bool:
    """Whether a state at the end of some step is out of its bounds."""
    for k in range(frame.progress.rows if r.bounded.size > 0 else 0):
        x = frame.row_x[k]
        for j in range(r.bounded.size):
            if x[r.bounded[j]] < r.least[j] or x[r.bounded[j]] > r.most[j]:
                return True
    return False


@jit
def _full(r: Rows, frame: Frame) -> bool:
    """Whether a run has more steps than there are rows for."""
    return r.bounded.size > 0 and frame.progress.rows + 2 > frame.progress.row_limit  # type: ignore[no-any-return]


@jit
def _measure(r: Rows, frame: Frame, i: int, terminal: bool) -> int:
    """What is asked for of a run that has come to its end."""
    if _leaves_bounds(r, frame):
        return UNFIT
    if r.after != 0 and call(r.after, r.looked_args) != 0:
        return UNFIT
    if r.look.looks > 0 and not terminal:
        r.look.steps = frame.progress.segments
        if passes_over(r.look, frame):
            return MISSED
    for j in range(r.x.size):
        r.finals[i][j] = r.x[j]
    if r.walk == 0:
        return 0 if not terminal else BEYOND
    if terminal and r.whole == 1:
        return BEYOND
    path, last = r.path, frame.progress.rows - 1
    leg = path.leg
    r.ends[i] = r.row_t[last]
    status = _divide(r, frame, terminal)
    if status == 0:
        status = _place(r, last)
    if status == 0:
        status = _time(r, frame, i)
    if status != 0:
        return status
    for j in range(leg.integrands.count):
        leg.total[j] = 0.0
    status = call(r.walk, path)
    if status == 0 and r.sought.which.size > 0:
        status = seek(r.sought)
    for j in range(leg.integrands.count):
        r.totals[i][j] = leg.total[j]
    for j in range(r.wanted.size):
        for k in range(leg.values.count):
            r.values[i][j * leg.values.count + k] = leg.point_y[j][k]
    for j in range(r.sought.which.size):
        r.extrema[i][j] = r.sought.value[j]
    return status


@kernel
def run_rows(address: int) -> int:
    """Runs and walks all rows; 1 where steps are left to do after Python has been asked."""
    r = Rows.at(address)
    frame = Frame.at(r.frame)
    r.left = r.at_once
    for i in range(r.first, r.last):
        status = 0 if r.begun == 1 else _begin(r, frame, i)
        if status == 0:
            if r.at_once > 0:
                frame.progress.steps_left = r.left
            status = call(r.march, frame)
            if status == PAUSED and r.more > 0 and frame.count.stiff < r.stiff:
                frame.progress.steps_left = r.more
                status = call(r.march, frame)
            if r.at_once > 0:
                r.left = frame.progress.steps_left
        r.first, r.begun = i, 1 if r.at_once > 0 and status == PAUSED and not _full(r, frame) else 0
        if r.begun == 1:
            return 1
        terminal = status == TERMINAL
        if terminal or status == FINISHED:
            found = _measure(r, frame, i, terminal)
            status = FINISHED if found == 0 else found
        r.status[i] = status
    return 0


__all__ = ["BEYOND", "MISSED", "NEVER", "TOGETHER", "UNFIT", "Rows", "run_rows"]
