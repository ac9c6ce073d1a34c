"""The memory of one integration: arrays owned by Python, seen by native code through the frame."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jourdain.solvers.native_function import NativeFunction, address
from jourdain.solvers.ode import frame as fr
from jourdain.solvers.ode import progress as pr
from jourdain.solvers.ode.events import Event, EventRecord, Samples, Switch
from jourdain.solvers.ode.method import Method
from jourdain.solvers.ode.trajectory import Checkpoint, Segments, Statistics

EVENT_ROOM = 64
LARGEST_BUFFER = 1 << 21
MEMORY = ("clock", "x", "x_old", "f", "count", "work", "ints", "past_t", "past_x", "past_f")

Array = NDArray[np.float64]


class _Layout:
    """Where the arrays of a run lie in one block of memory, and what its head holds at the start: the same for all runs with n states."""

    def __init__(self, method: Method, n: int) -> None:
        self.coefs = (method.degree + 1) * n
        sizes = {
            "frame": (fr.SELF, fr.FRAME_SIZE), "clock": (fr.CLOCK, fr.CLOCK_SIZE), "count": (fr.COUNT, fr.COUNT_SIZE),
            "progress": (fr.PROGRESS, pr.PROGRESS_SIZE), "stops": (fr.STOPS, 1), "owners": (fr.OWNERS, 1),
            "constants": (fr.CONST, method.constants.size), "ints": (fr.INTS, method.integers.size + method.integer_work(n)),
            "x": (fr.X, n), "x_old": (fr.X_OLD, n), "f": (fr.F, n), "tol": (fr.TOL, n + 1), "probe": (fr.PROBE, n),
            "coef": (fr.COEF, self.coefs), "work": (fr.WORK, max(method.work(n), 2 * n)), "past_t": (fr.PAST_T, method.past),
            "past_x": (fr.PAST_X, method.past * n), "past_f": (fr.PAST_F, method.past * n),
        }  # fmt: skip
        ends = np.cumsum([max(size, 1) for _, size in sizes.values()])
        self.size = int(ends[-1])
        self.parts = {name: slice(int(end) - max(size, 1), int(end)) for (name, (_, size)), end in zip(sizes.items(), ends, strict=True)}
        self.slots = np.array([slot for slot, _ in sizes.values()])
        self.offsets = np.array([8 * part.start for part in self.parts.values()])
        self.head = np.zeros(self.parts["x"].start, dtype=np.int64)
        self._fill(method, n)

    def _fill(self, method: Method, n: int) -> None:
        whole = {name: self.head[part] for name, part in self.parts.items() if part.stop <= self.head.size}
        frame, count, progress = whole["frame"], whole["count"], whole["progress"]
        frame[fr.STEP], frame[fr.DENSE] = method.step, method.dense
        whole["constants"][: method.constants.size] = method.constants.view(np.int64)
        whole["ints"][: method.integers.size] = method.integers
        whole["owners"][0] = -1
        count[fr.N], count[fr.ADAPTIVE] = n, method.adaptive
        count[fr.RESTART] = count[fr.BEGIN] = 1
        count[fr.BAD] = progress[pr.FIRED] = progress[pr.FORGET] = -1
        progress[pr.LAST_FIRED], progress[pr.RESTEP] = -1, method.one_step
        progress[pr.COEFS], progress[pr.EVENT_LIMIT] = self.coefs, EVENT_ROOM
        whole["clock"].view(np.float64)[fr.T_LAST] = -np.inf


def _layout(method: Method, n: int) -> _Layout:
    found: _Layout | None = method.layouts.get(n)
    if found is None:
        found = method.layouts[n] = _Layout(method, n)
    return found


class Session:
    """Buffers, bindings and bookkeeping of one call of `integrate`."""

    def __init__(self, method: Method, n: int) -> None:
        self.method, self.n = method, n
        layout = _layout(method, n)
        doubles = np.zeros(layout.size)
        words = doubles.view(np.int64)
        #: All memory of the method and the march.
        self.block = doubles
        words[: layout.head.size] = layout.head
        self.address = base = address(doubles)
        at = layout.parts
        self.frame, self.count, self.progress = words[at["frame"]], words[at["count"]], words[at["progress"]]
        self.frame[layout.slots] = layout.offsets + base
        self.clock, self.work, self.ints, self.stops = doubles[at["clock"]], doubles[at["work"]], words[at["ints"]], doubles[at["stops"]]
        self.x, self.x_old, self.f, self.tol = doubles[at["x"]], doubles[at["x_old"]], doubles[at["f"]], doubles[at["tol"]]
        self.past_t, self.past_x, self.past_f = doubles[at["past_t"]], doubles[at["past_x"]], doubles[at["past_f"]]
        self.owners = words[at["owners"]]
        self.coefs = layout.coefs
        self._stage = base + 8 * (at["clock"].start + fr.STAGE_T)
        self.kept: list[Any] = []
        self.rows: list[tuple[Array, Array, Array]] = []
        self.spans: list[tuple[Array, Array]] = []
        self.records: list[EventRecord] = []
        self.events: Sequence[Event] = ()
        self.samples: Sequence[Samples] = ()

    def _place(self, slot: int, array: NDArray[Any]) -> NDArray[Any]:
        self.frame[slot] = array.ctypes.data
        self.kept.append(array)
        return array

    def _double(self, slot: int, size: int) -> Array:
        return self._place(slot, np.zeros(max(size, 1)))

    def _integer(self, slot: int, size: int) -> NDArray[np.int64]:
        return self._place(slot, np.zeros(max(size, 1), dtype=np.int64))

    def bind(self, function: NativeFunction) -> tuple[int, int]:
        """Return the address of a function and of its own copy of the arguments, with the clock in slot 0."""
        args = function.args.view(np.int64).copy() if function.args.size >= 3 else np.zeros(3, dtype=np.int64)
        args[0] = self._stage
        self.kept += [args, function]
        return function.address, address(args)

    def set_hook(self, slot: int, function: NativeFunction | None) -> None:
        """Put a function, if there is one, into a pair of slots."""
        if function is not None:
            self.frame[slot], self.frame[slot + 1] = self.bind(function)

    def set_switch(self, switch: Switch | None) -> None:
        """Bind the coordinate switch."""
        if switch is not None:
            from jourdain.solvers.ode.switch import switch as kernel

            self.frame[fr.SWITCHER] = kernel.address
            self.set_hook(fr.DECIDE, switch.decide)
            self.set_hook(fr.REMAP, switch.remap)

    def set_events(self, events: Sequence[Event], probes: int) -> None:
        """Lay out the tables of guards."""
        self.events = events
        if not events:
            return
        from jourdain.solvers.ode.guards import watch as kernel

        self.frame[fr.WATCHER] = kernel.address
        watched = sum(event.size for event in events)
        table = self._integer(fr.GUARDS, pr.GUARD_ROW * len(events))
        watch = self._integer(fr.WATCH, 2 * watched)
        self._integer(fr.SIGN, watched)
        self._double(fr.G, 2 * watched)
        offset = 0
        for e, event in enumerate(events):
            mode = pr.RESTARTS if event.restart else pr.RECORD_ONLY
            mode = pr.STOPS_THERE if event.terminal else mode
            action = (0, 0)
            if isinstance(event.action, NativeFunction):
                action = self.bind(event.action)
            elif event.action is not None:
                mode = pr.ASKS_PYTHON
            table[pr.GUARD_ROW * e : pr.GUARD_ROW * (e + 1)] = (*self.bind(event.guard), offset, mode, *action)
            for c, direction in enumerate(event.directions):
                watch[2 * (offset + c) : 2 * (offset + c) + 2] = direction, e
            offset += event.size
        room = EVENT_ROOM + watched * (probes + 1)
        self.event_t, self.event_x = self._double(fr.EVENT_T, room), self._double(fr.EVENT_X, 2 * self.n * room)
        self.event_which = self._integer(fr.EVENT_WHICH, 2 * room)
        self.progress[pr.N_GUARDS], self.progress[pr.WATCHED] = len(events), watched
        self.progress[pr.PROBES], self.progress[pr.EVENT_LIMIT] = probes, room

    def set_stops(self, samples: Sequence[Samples], t0: float, t1: float) -> None:
        """Merge all sample times within the span into one list of stops that ends with t1."""
        self.samples = samples
        direction = 1.0 if t1 >= t0 else -1.0
        self.clock[fr.DIRECTION] = direction
        self.stops[0] = t1
        if not samples:
            return
        stops = [(direction * t1, len(samples), -1)]
        sampler = self._integer(fr.SAMPLERS, 2 * len(samples))
        for k, sample in enumerate(samples):
            if isinstance(sample.action, NativeFunction):
                sampler[2 * k : 2 * k + 2] = self.bind(sample.action)
            for t in np.atleast_1d(np.asarray(sample.times, dtype=np.float64)):
                if direction * t0 <= direction * t <= direction * t1:
                    stops.append((direction * float(t), k, k))
        stops.sort()
        self._double(fr.STOPS, len(stops))[:] = [direction * t for t, _, _ in stops]
        self.owners = self._integer(fr.OWNERS, len(stops))
        self.owners[:] = [owner for _, _, owner in stops]

    def set_output(self, t_eval: Array | None, dense: bool, n_y: int) -> None:
        """Allocate the rows: exactly those asked for, or a buffer for every step."""
        self.progress[pr.N_Y], self.n_y = n_y, n_y
        self.progress[pr.KEEP_DENSE], self.progress[pr.EVERY_STEP] = dense, t_eval is None
        if t_eval is not None:
            self._place(fr.T_EVAL, t_eval)
            self.progress[pr.EVALS] = t_eval.size
        self._allocate_rows(256 if t_eval is None else t_eval.size)

    def _allocate_rows(self, rows: int) -> None:
        n, self.room = self.n, max(rows, 4)
        self.row_t = np.zeros(self.room)
        self.row_x, self.row_y = np.zeros((self.room, n)), np.zeros((self.room, self.n_y))
        self.frame[fr.ROW_T], self.frame[fr.ROW_X] = address(self.row_t), address(self.row_x)
        if self.n_y:
            self.frame[fr.ROW_Y] = address(self.row_y)
        self.progress[pr.ROW_LIMIT] = self.room
        self.step_room = self.room if self.progress[pr.EVERY_STEP] else 1 << 40
        if self.progress[pr.KEEP_DENSE]:
            self.step_room = min(self.room, max(64, LARGEST_BUFFER // max(self.coefs, 1)))
            self.spans_room = np.zeros((self.step_room, 4))
            self.coef_room = np.zeros((self.step_room, self.coefs))
            self.frame[fr.SEGMENT], self.frame[fr.SEGMENT_COEF] = address(self.spans_room), address(self.coef_room)

    def collect(self) -> None:
        """Move what the kernel has written out of its buffers, and enlarge them while they are small."""
        self.collect_events()
        k, segments = int(self.progress[pr.ROWS]), int(self.progress[pr.SEGMENTS])
        if segments:
            self.spans.append((self.spans_room[:segments].copy(), self.coef_room[:segments].copy()))
            self.progress[pr.SEGMENTS] = 0
        if k and self.progress[pr.EVERY_STEP]:
            self.rows.append((self.row_t[:k].copy(), self.row_x[:k].copy(), self.row_y[:k, : self.n_y].copy()))
            self.progress[pr.ROWS] = 0
            if 2 * k > self.room and 2 * self.room * max(self.n, self.coefs) < LARGEST_BUFFER:
                self._allocate_rows(4 * self.room)

    def collect_events(self) -> None:
        """Move the events that the kernel has noted out of its buffer."""
        if not self.progress[pr.EVENTS]:
            return
        states = self.event_x.reshape(-1, 2, self.n) if self.n else self.event_x.reshape(1, 1, 1)
        for k in range(int(self.progress[pr.EVENTS])):
            e, component = (int(i) for i in self.event_which[2 * k : 2 * k + 2])
            before, after = states[k].copy()
            self.records.append(EventRecord(float(self.event_t[k]), self.events[e].name, component, before, after))
        self.progress[pr.EVENTS] = 0

    def jump(self, action: Callable[[float, Array], Any]) -> None:
        """Let a Python action change the state; the method starts afresh from it."""
        new = action(float(self.clock[fr.T]), self.x)
        if new is not None:
            self.x[:] = np.asarray(new, dtype=np.float64)
        self.count[fr.FRESH], self.count[fr.RESTART], self.count[fr.BEGIN] = 0, 1, 1

    def act_at_sample(self) -> None:
        """Run the Python action of the sample just reached."""
        sample = self.samples[int(self.owners[self.progress[pr.STOP]])]
        self.progress[pr.STOP] += 1
        if not isinstance(sample.action, NativeFunction):
            self.jump(sample.action)

    def act_at_event(self) -> bool:
        """Run the Python action of the event just recorded; return whether it ends the integration."""
        component = int(self.progress[pr.FIRED])
        record = self.records.pop()
        owner = [event for event in self.events for _ in range(event.size)]
        event = owner[component]
        if event.action is not None and not isinstance(event.action, NativeFunction):
            self.jump(event.action)
        self.records.append(EventRecord(record.t, record.name, record.component, record.x_before, self.x.copy()))
        self.progress[pr.FORGET] = component
        return event.terminal

    def save(self) -> Checkpoint:
        """Everything that the method remembers; the run has ended, so its arrays are handed over."""
        return Checkpoint(self.method.name, float(self.clock[fr.T]), self.x, {name: getattr(self, name) for name in MEMORY})

    def load(self, checkpoint: Checkpoint) -> None:
        """Take over the memory of an earlier integration; its statistics start from zero."""
        if not checkpoint.memory:
            self.x[:], self.clock[fr.T] = checkpoint.x, checkpoint.t
            return
        for name in MEMORY:
            getattr(self, name)[:] = checkpoint.memory[name]
        self.count[fr.STEPS : fr.N_EVENTS + 1] = 0
        self.count[fr.BAD_STATUS] = 0
        self.count[fr.BEGIN] = 1

    def statistics(self, wall_time: float) -> Statistics:
        """Return the work done so far."""
        c = self.count.tolist()
        return Statistics(c[fr.STEPS], c[fr.REJECTED], c[fr.N_RHS], c[fr.N_JAC], c[fr.N_LU], c[fr.N_EVENTS], wall_time)

    def output(self) -> tuple[Array, Array, Array]:
        """Return all rows."""
        if not self.progress[pr.EVERY_STEP]:
            k = int(self.progress[pr.ROWS])
            return self.row_t[:k], self.row_x[:k], self.row_y[:k, : self.n_y]
        if not self.rows:
            return np.zeros(0), np.zeros((0, self.n)), np.zeros((0, self.n_y))
        t, x, y = (np.concatenate(parts) for parts in zip(*self.rows, strict=True))
        return t, x, y

    def segments(self) -> Segments | None:
        """Return all interpolants, if they were kept."""
        if not self.spans:
            return None
        span = np.concatenate([span for span, _ in self.spans])
        coefficients = np.concatenate([coef for _, coef in self.spans]).reshape(len(span), -1, self.n)
        return Segments(span[:, 0], span[:, 1], span[:, 2], span[:, 3], coefficients)
