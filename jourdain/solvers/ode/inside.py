"""Guards looked at inside a few steps of an ended integration, in one native call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from jourdain.native.call import address as at
from jourdain.native.call import call, integers
from jourdain.native.kernel import jit, kernel
from jourdain.native.record import Floats, Matrix, Record, Table
from jourdain.solvers.native_function import address
from jourdain.solvers.ode.events import Event, sources
from jourdain.solvers.ode.frame import Frame, Hook
from jourdain.solvers.ode.trajectory import Segments

#: Steps that are looked at between their ends, and where.
LOOKS, INSIDE = 8, (0.0, 0.31, 0.57, 0.83, 1.0)


class Look(Record):
    """Interpolants of all steps, the guards, how many values each has, the parts of a step, and room for a time, a state and values."""

    spans: Matrix  # start, end, centre and size
    coefficients: Matrix
    guards: Table[Hook]
    sizes: Floats
    parts: Floats
    t: Floats
    x: Floats
    values: Matrix
    looks: int
    steps: int


@jit
def _state(a: Look, step: int, t: float) -> None:
    """The state at an instant, to the right of a jump."""
    spans, x = a.spans, a.x
    k = step
    while k + 1 < a.steps and spans[k + 1][0] <= t:
        k += 1
    span, coef, n = spans[k], a.coefficients[k], x.size
    s = (t - span[2]) / span[3]
    last = coef.size // n - 1
    for i in range(n):
        value = coef[last * n + i]
        for power in range(last - 1, -1, -1):
            value = value * s + coef[power * n + i]
        x[i] = value


@jit
def _there_and_back(values: Any, size: int) -> bool:
    """Whether a component changes its sign more than once."""
    for i in range(size):
        side, changes = 0.0, 0
        for j in range(len(values)):
            value = values[j][i]
            if value * side < 0.0:
                changes += 1
            if value > 0.0:
                side = 1.0
            if value < 0.0:
                side = -1.0
        if changes > 1:
            return True
    return False


@jit
def _asked(a: Look, k: int, g: int) -> bool:
    """The values of a guard within step k; whether it can be asked there."""
    start, end = a.spans[k][0], a.spans[k][1]
    args = integers(a.guards[g].args, 3)
    args[0], args[1] = at(a.t), at(a.x)
    good = True
    for j in range(a.parts.size):
        a.t[0] = start + (end - start) * a.parts[j]
        _state(a, k, a.t[0])
        args[2] = at(a.values[j])
        good = good and call(a.guards[g].function, args) == 0
    return good


@jit
def _looked(a: Look, i: int) -> int:
    """The step of a look."""
    return (a.steps - 1) * i // (a.looks - 1)


@kernel
def look(address: int) -> int:
    """1 where a guard changes its sign there and back within a step; steps where it cannot be asked are left out."""
    a = Look.at(address)
    for i in range(a.looks):
        for g in range(len(a.guards)):
            if _asked(a, _looked(a, i), g) and _there_and_back(a.values, int(a.sizes[g])):
                return 1
    return 0


@jit
def _crossings(values: Any, c: int, direction: int) -> int:
    """How often a component crosses zero in its direction, where it crosses it more than once."""
    side, up, down = 0.0, 0, 0
    for j in range(len(values)):
        value = values[j][c]
        if value * side < 0.0:
            up += 1 if value > 0.0 else 0
            down += 1 if value < 0.0 else 0
        if value != 0.0:
            side = 1.0 if value > 0.0 else -1.0
    if up + down < 2:
        return 0
    return (up if direction >= 0 else 0) + (down if direction <= 0 else 0)


@jit
def passes_over(a: Look, frame: Frame) -> bool:
    """Whether a guard changes its sign more often within a step than its event was seen by the march that has filled the frame."""
    for i in range(a.looks):
        k, offset = _looked(a, i), 0
        start, end = a.spans[k][0], a.spans[k][1]
        for g in range(len(a.guards)):
            size = int(a.sizes[g])
            if _asked(a, k, g):
                for c in range(size):
                    w = frame.watch[offset + c]
                    seen = 0
                    for m in range(frame.progress.events):
                        t = frame.event_t[m]
                        seen += 1 if frame.event_which[2 * m] == w.event and not (t < start or t > end) else 0
                    if _crossings(a.values, c, w.direction) > seen:
                        return True
            offset += size
    return False


class Guards:
    """The guards of events, made ready to be looked at."""

    def __init__(self, events: Sequence[Event], n: int) -> None:
        self.n, self._kept = n, list[Any]()
        hooks, sizes = [], []
        for row in sources(events):
            guard = row[0].guard
            args = np.zeros(max(3, guard.args.size), dtype=np.int64)
            args[: guard.args.size] = guard.args.view(np.int64)
            self._kept += [args, guard]
            hooks.append((guard.address, address(args)))
            sizes.append(sum(event.size for event in row))
        self.record = Look(
            guards=Hook.table(hooks), sizes=np.array(sizes, dtype=float), parts=np.array(INSIDE), t=np.zeros(1), x=np.zeros(n),
            values=np.zeros((len(INSIDE), max(sizes))), looks=LOOKS,
        )  # fmt: skip

    def cross_inside(self, segments: Segments) -> bool:
        """Whether one of them changes its sign there and back within one of the steps that are looked at."""
        record = self.record
        record.spans, record.coefficients = segments.tables
        record.steps = len(record.spans)
        return bool(look.call(record.address))


__all__ = ["INSIDE", "LOOKS", "Guards", "Look", "passes_over"]
