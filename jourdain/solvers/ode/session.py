"""The memory of one integration: arrays owned by Python, seen by native code through the frame."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from jourdain.errors import InputError, SolverError
from jourdain.native.kernel_types import View
from jourdain.solvers import STIFF_BY, load_method
from jourdain.solvers.kept import Kept
from jourdain.solvers.memory_log import collect
from jourdain.solvers.native_function import NativeFunction, address
from jourdain.solvers.ode import frame as fr
from jourdain.solvers.ode import progress as pr
from jourdain.solvers.ode.events import Event, EventRecord, Samples, Switch, sources
from jourdain.solvers.ode.frame import REFUSED, STIFF
from jourdain.solvers.ode.method import Method
from jourdain.solvers.ode.trajectory import Checkpoint, Segments

if TYPE_CHECKING:
    from jourdain.solvers.ode.memories import Renewals
    from jourdain.solvers.unknowns import Search

EVENT_ROOM = 64
LARGEST_BUFFER = 1 << 21
#: Memory (numbers) of a session that is worth keeping for another run.
SMALL = 1 << 18

#: Rows, their limit, segments and events.
#: Turns of methods that are noted, functions that both methods call, and counts at the limit of stability after which the explicit method is left.
LOG, BOTH, LEAST = 128, ("rhs", "dfdt"), 32
FILLED = slice(fr.Progress.struct.fields["rows"][0], fr.Progress.struct.fields["events"][0] + 1)
STAGE = fr.Clock.struct.fields["stage_t"][0]

Array = NDArray[np.float64]


class _Layout:
    """Where the arrays of a run lie in one block of memory, and what it holds at the start: the same for all runs with n states.

    What is set once for a run comes first, then what the march changes, and from ``memory`` on what the method remembers.
    """

    def __init__(self, method: Method, n: int) -> None:
        self.coefs = (method.degree + 1) * n
        sizes = {
            "frame": fr.Frame.struct.words, "constants": method.constants.size, "tol": n + 1, "owners": 1, "stops": 1, "probe": n,
            "coef": self.coefs, "progress": fr.Progress.struct.words, "clock": fr.Clock.struct.words, "count": fr.Count.struct.words,
            "ints": method.integers.size + method.integer_work(n), "x": n, "x_old": n, "f": n, "work": max(method.work(n), 2 * n),
            "past_t": method.past, "past_x": method.past * n, "past_f": method.past * n,
        }  # fmt: skip
        if method.pair is not None:  # the second frame comes after the first, turns are part of the memory
            frames = {"frame": sizes.pop("frame"), "implicit": fr.Frame.struct.words}
            sizes = frames | sizes | {"turns": fr.Turns.struct.words, "turn_t": LOG, "turn_why": LOG}
        ends = np.cumsum([max(size, 1) for size in sizes.values()])
        self.parts = {name: slice(int(end) - max(size, 1), int(end)) for (name, size), end in zip(sizes.items(), ends, strict=True)}
        self.changing, self.memory = self.parts["progress"].start, self.parts["clock"].start
        #: Parts of that memory.
        self.remembered = {n: slice(p.start - self.memory, p.stop - self.memory) for n, p in self.parts.items() if p.start >= self.memory}
        self.words = np.zeros(int(ends[-1]), dtype=np.int64)
        # where the frame refers to the other parts, and their sizes
        fields, referred = fr.Frame.struct.fields, [name for name in sizes if name != "frame"]
        self.slots = np.array([fields[name][0] for name in referred])
        self.offsets = np.array([8 * self.parts[name].start for name in referred])
        for name in referred:
            at, type = fields[name]
            if isinstance(type, View):
                self.words[at + 1] = sizes[name]
        self._fill(method, n)

    def fresh(self) -> NDArray[np.int64]:
        """What it holds at the start, as memory of a run's own; work, which an implicit method has the square of the states of, is not touched before it is used."""
        words, work = np.zeros(self.words.size, dtype=np.int64), self.parts["work"]
        words[: work.start], words[work.stop :] = self.words[: work.start], self.words[work.stop :]
        return words

    def _fill(self, method: Method, n: int) -> None:
        whole = {name: self.words[part] for name, part in self.parts.items()}
        frame, count, progress = fr.Frame.at(whole["frame"]), fr.Count.at(whole["count"]), fr.Progress.at(whole["progress"])
        frame.step, frame.dense = method.step, method.dense
        whole["constants"][: method.constants.size] = method.constants.view(np.int64)
        whole["ints"][: method.integers.size] = method.integers
        whole["owners"][0] = -1
        count.n, count.adaptive = n, method.adaptive
        count.restart = count.begin = 1
        count.bad = progress.fired = progress.forget = progress.last_fired = -1
        progress.restep, progress.event_limit = method.one_step, EVENT_ROOM
        if method.pair is not None:
            frame.turner, frame.explicit_step, frame.explicit_dense = method.turner, method.pair[0].step, method.pair[0].dense
            turns = fr.Turns.at(whole["turns"])
            turns.least, turns.pause = LEAST, 1.0
        clock = fr.Clock.at(whole["clock"])
        clock.t_last, clock.shortest = -np.inf, method.shortest


def _layout(method: Method, n: int) -> _Layout:
    found: _Layout | None = method.layouts.get(n)
    if found is None:
        found = method.layouts[n] = _Layout(method, n)
    return found


class Session:
    """Buffers, bindings and bookkeeping of one call of `integrate`, or of several one after the other."""

    def __init__(self, method: Method, n: int) -> None:
        self.method, self.n = method, n
        self._layout = layout = _layout(method, n)
        self._words = words = layout.fresh()
        #: All memory of the method and the march.
        self.block = doubles = words.view(np.float64)
        self.address = base = address(doubles)
        #: Where its parts lie.
        self.parts = at = layout.parts
        frame = words[at["frame"]]
        frame[layout.slots] = layout.offsets + base
        self.frame, self.clock = fr.Frame.at(frame), fr.Clock.at(words[at["clock"]])
        #: The frame of the implicit one of two methods.
        self.implicit = self._second(frame) if method.pair is not None else None
        self.count, self.progress = fr.Count.at(words[at["count"]]), fr.Progress.at(words[at["progress"]])
        self.x, self.tol, self.stops, self.owners = doubles[at["x"]], doubles[at["tol"]], doubles[at["stops"]], words[at["owners"]]
        self.coefs = layout.coefs
        self._changing, self.remembered = words[layout.changing :], layout.remembered
        #: What the method remembers.
        self.memory = words[layout.memory :]
        self._filled = self.progress.words[FILLED]
        self._stage = base + 8 * (at["clock"].start + STAGE)
        self._prepared: NDArray[np.int64] | None = None
        self.kept: list[Any] = []
        #: Sides of zero on which guards are, and their values.
        self.guarded: list[np.ndarray] = []
        self.events: Sequence[Event] = ()
        self.samples: Sequence[Samples] = ()
        self.memories: Renewals | None = None
        self.unknowns: Search | None = None
        self.output_function: NativeFunction | None = None
        self._nothing_yet()

    def _second(self, first: NDArray[np.int64]) -> fr.Frame:
        """The frame of the implicit one of two methods, with the same memory but constants, integers and work of its own behind the other's."""
        assert self.method.pair is not None
        explicit = self.method.pair[0]
        words = self._words[self.parts["implicit"]]
        words[:] = first
        found, n = fr.Frame.at(words), self.n
        found.step = found.dense = 0  # compiled when they are needed
        found.constants = self.block[self.parts["constants"]][explicit.constants.size :]
        found.ints = self._words[self.parts["ints"]][explicit.integers.size + explicit.integer_work(n) :]
        found.work = self.block[self.parts["work"]][explicit.work(n) :]
        return found

    def _nothing_yet(self) -> None:
        #: Rows and interpolants that are no longer in the buffers.
        self.rows: Kept | None = None
        self.spans: Kept | None = None
        self.records: list[EventRecord] = []
        #: What an action in Python raised.
        self.error: Exception | None = None
        #: Why there is no Jacobian.
        self.refused = ""
        #: What to try, in words, where the problem looks stiff.
        self.stiff_by = STIFF_BY

    # -- one run after the other ----------------------------------------------------------------------------------

    def keep(self) -> None:
        """Notes everything that changes as it is now, before the first run."""
        self._prepared = self._changing.copy()

    def renew(self) -> None:
        """Everything as it was noted, for another run."""
        assert self._prepared is not None
        self._changing[:] = self._prepared
        for array in self.guarded:
            array[:] = 0
        self._nothing_yet()

    # -- what a run is made of ------------------------------------------------------------------------------------

    def bind(self, function: NativeFunction) -> tuple[int, int]:
        """Return the address of a function and of its own copy of the arguments, with the clock in slot 0."""
        args = function.args.view(np.int64).copy() if function.args.size >= 3 else np.zeros(3, dtype=np.int64)
        args[0] = self._stage
        self.kept += [args, function]
        return function.address, address(args)

    def set_hook(self, name: str, function: NativeFunction | None) -> None:
        """Put a function, if there is one, and its arguments into the frame."""
        if function is not None:
            found, args = self.bind(function)
            for frame in (self.frame, self.implicit) if self.implicit is not None and name in BOTH else (self.frame,):
                setattr(frame, name, found)
                setattr(frame, f"{name}_args", args)

    def set_switch(self, switch: Switch | None) -> None:
        """Bind the coordinate switch."""
        if switch is not None:
            from jourdain.solvers.ode.switch import switch as kernel

            self.frame.switcher = kernel.address
            self.set_hook("decide", switch.decide)
            self.set_hook("remap", switch.remap)

    def set_events(self, events: Sequence[Event], probes: int, native_actions: bool = False) -> None:
        """Lay out the tables of guards; with ``native_actions`` those in Python that have a native form are done by that."""
        self.events = events
        if not events:
            return
        from jourdain.solvers.ode.guards import watch as kernel

        frame, offset = self.frame, 0
        guards: list[tuple[int, ...]] = []
        places = self._set_sources(events)
        watch: list[tuple[int, int, float]] = []
        for e, event in enumerate(events):
            mode = pr.RESTARTS if event.restart else pr.RECORD_ONLY
            mode = pr.STOPS_THERE if event.terminal else mode
            action = (0, 0)
            acts = getattr(event.action, "native", event.action) if native_actions else event.action
            if isinstance(acts, NativeFunction):
                action = self.bind(acts)
            elif acts is not None:
                mode = pr.ASKS_PYTHON
            guards.append((places[e], offset, mode, *action, int(event.patient), int(event.rests), int(event.passes)))
            watch += [(direction, e, event.clear if c == 0 else np.inf) for c, direction in enumerate(event.directions)]
            offset += event.size
        room = EVENT_ROOM + offset * (probes + 2 + pr.MOST_DIPS)
        frame.watcher, frame.guards, frame.watch = kernel.address, fr.Guard.table(guards), fr.Watched.table(watch)
        frame.sign, frame.g = self.guarded = [np.zeros(offset, dtype=np.int64), np.zeros(4 * offset)]
        frame.event_t = self.event_t = np.zeros(room)
        frame.event_x = self.event_x = np.zeros((room, 2 * self.n))
        frame.event_which = self.event_which = np.zeros(2 * room, dtype=np.int64)
        self.progress.probes, self.progress.event_limit = probes, room - offset  # a renewal may add events to those of a step

    def _set_sources(self, events: Sequence[Event]) -> list[int]:
        """Lay out the functions that give guards; which of them is that of each event."""
        rows, offset, places = [], 0, []
        for i, row in enumerate(sources(events)):
            size = sum(event.size for event in row)
            rows.append((*self.bind(row[0].guard), offset, size, int(row[0].patient)))
            places += [i] * len(row)
            offset += size
        self.frame.sources = fr.GuardSource.table(rows)
        return places

    def set_memories(self, memories: Renewals) -> None:
        """Bind the renewal of memories."""
        self._renew()
        self.memories = memories
        self.frame.memories = memories.prepare(self.n, self.method.past > 0)
        self.set_hook("renewal", memories.function)

    def _renew(self) -> None:
        from jourdain.solvers.ode.memories import renew

        self.frame.renewer = renew.address

    def set_unknowns(self, unknowns: Search) -> None:
        """Bind what is done about algebraic unknowns at accepted points."""
        self._renew()
        self.unknowns = unknowns
        self.frame.settled = unknowns.record.log
        self.set_hook("settle", unknowns.settling())

    def start(self, x0: Array | Checkpoint, t0: float, t1: float, step: float | None) -> None:
        """Where the run begins and ends, and its (first) step."""
        clock = self.clock
        if isinstance(x0, Checkpoint):
            self.load(x0)
            if step is not None and not self.method.adaptive and step != abs(clock.h):
                clock.h = math.copysign(step, t1 - t0)
                self.count.fresh, self.count.restart, self.count.begin = 0, 1, 1  # the method starts afresh
        else:
            self.x[:], clock.t = x0, t0
            if step is not None:
                clock.h = math.copysign(step, t1 - t0)
        clock.direction = 1.0 if t1 >= t0 else -1.0
        self.stops[0], self.begun = t1, t0

    def set_samples(self, samples: Sequence[Samples], t0: float, t1: float) -> None:
        """Merge all sample times within the span into one list of stops that ends with t1."""
        self.samples = samples
        if not samples:
            return
        direction = self.clock.direction
        stops = [(direction * t1, len(samples), -1)]
        samplers = [self.bind(s.action) if isinstance(s.action, NativeFunction) else (0, 0) for s in samples]
        for k, sample in enumerate(samples):
            for t in np.atleast_1d(np.asarray(sample.times, dtype=np.float64)):
                if direction * t0 <= direction * t <= direction * t1:
                    stops.append((direction * float(t), k, k))
        stops.sort()
        self.frame.samplers = fr.Hook.table(samplers)
        self.frame.stops = np.array([direction * t for t, _, _ in stops])
        self.frame.owners = self.owners = np.array([owner for _, _, owner in stops], dtype=np.int64)

    def set_output(self, t_eval: Array | None, dense: bool, n_y: int) -> None:
        """Allocate the rows: exactly those asked for, or a buffer for every step."""
        self.n_y, self.dense, self.times, self.every_step = n_y, dense, t_eval, t_eval is None
        progress = self.progress
        progress.keep_dense, progress.every_step = dense, self.every_step
        progress.evals = 0 if t_eval is None else t_eval.size
        if t_eval is not None:
            self.frame.t_eval = t_eval
        self._allocate_rows(256 if t_eval is None else t_eval.size)
        if self.events:
            self.event_y = np.zeros((len(self.event_t), 2 * n_y))
            if n_y:
                self.frame.event_y = self.event_y

    def _allocate_rows(self, rows: int) -> None:
        frame, n, self.room = self.frame, self.n, max(rows, 4)
        frame.row_t = self.row_t = np.zeros(self.room)
        frame.row_x = self.row_x = np.zeros((self.room, n))
        self.row_y = np.zeros((self.room, self.n_y))
        if self.n_y:
            frame.row_y = self.row_y
        self.progress.row_limit = self.room
        if self._prepared is not None:
            fr.Progress.at(self._prepared).row_limit = self.room
        #: Its memory (numbers), and whether all this is worth keeping for another run.
        self.size = self.block.size + self.room * (1 + n + self.n_y + self.coefs)
        self.is_small = self.size < SMALL
        self.step_room = self.room if self.every_step else 1 << 40
        if self.dense:
            self.step_room = min(self.room, max(64, LARGEST_BUFFER // max(self.coefs, 1)))
            frame.segment = self.spans_room = np.zeros((self.step_room, 4))
            frame.segment_coef = self.coef_room = np.zeros((self.step_room, self.coefs))

    @property
    def room_left(self) -> int:
        """Steps for which the buffers have room; none where events, memories or unknowns are noted, which are read at once."""
        k, _, segments, events = self._filled.tolist()
        return (
            0
            if events or self.memories is not None or self.unknowns is not None
            else self.step_room - max(k if self.every_step else 0, segments)
        )

    def collect(self) -> None:
        """Move what the kernel has written out of its buffers, and enlarge them while they are small."""
        k, _, segments, _ = self._filled.tolist()
        self.collect_noted()
        self._collect_spans(segments)
        if self.every_step:
            self._collect_rows(k)
            if 2 * k > self.room and 2 * self.room * max(self.n, self.coefs) < LARGEST_BUFFER:
                self._allocate_rows(4 * self.room)

    def collect_noted(self) -> None:
        """Move events, memories and unknowns out of their buffers."""
        if self.progress.events:
            self.collect_events()
        if self.memories is not None:
            collect(self.memories.record.log, self.memories.noted)
        if self.unknowns is not None:
            collect(self.unknowns.record.log, self.unknowns.noted)

    def _collect_rows(self, k: int) -> None:
        if k:
            self.progress.rows = 0
            self.rows = Kept() if self.rows is None else self.rows
            self.rows.add(self.row_t[:k].copy(), self.row_x[:k].copy(), self.row_y[:k].copy())

    def _collect_spans(self, k: int) -> None:
        if k:
            self.progress.segments = 0
            self.spans = Kept() if self.spans is None else self.spans
            self.spans.add(self.spans_room[:k].copy(), self.coef_room[:k].copy())

    def collect_events(self) -> None:
        """Move the events that the kernel has noted out of its buffer."""
        n = self.progress.events
        if not n:
            return
        kept = (self.event_x[:n].copy(), self.event_y[:n].copy())  # one copy for all: records look into it
        states, outputs = (rows.reshape(n, 2, rows.shape[1] // 2) for rows in kept)
        which, names = self.event_which[: 2 * n].tolist(), [event.name for event in self.events]
        each = zip(self.event_t[:n].tolist(), which[::2], which[1::2], states, outputs, strict=True)
        self.records += [EventRecord(t, names[e], part, x[0], x[1], y[0], y[1]) for t, e, part, x, y in each]
        self.progress.events = 0

    def jump(self, action: Callable[[float, Array], Any], name: str) -> None:
        """Let a Python action change the state, or its first components where others are a method's books; the method starts afresh from it."""
        new = action(self.clock.t, self.x)
        if new is not None:
            changed = np.asarray(new, dtype=np.float64)
            if not np.isfinite(changed).all():
                raise SolverError(f"the jump of '{name}' at t = {self.clock.t:.9g} s gives numbers that are not finite")
            self.x[: changed.size] = changed
        self.count.fresh, self.count.restart, self.count.begin = 0, 1, 1

    def act_at_sample(self) -> None:
        """Run the Python action of the sample just reached."""
        sample = self.samples[int(self.owners[self.progress.stop])]
        self.progress.stop += 1
        if not isinstance(sample.action, NativeFunction):
            self.jump(sample.action, sample.name)

    def act_at_renewal(self) -> None:
        """Give the method the rates that belong to the renewed memories."""
        assert self.memories is not None and self.memories.after is not None
        self.jump(self.memories.after, "memories")

    def act_at_event(self) -> bool:
        """Run the Python action of the event just recorded; return whether it ends the integration."""
        component = self.progress.fired
        record = self.records[-1]
        owner = [event for event in self.events for _ in range(event.size)]
        event = owner[component]
        if event.action is not None and not isinstance(event.action, NativeFunction):
            self.jump(event.action, event.name)
        after = record.y_before.copy()
        if self.output_function is not None and self.output_function(record.t, self.x, after) != 0:
            raise SolverError(f"the output cannot be had after event '{record.name}' at t = {record.t:.9g} s")
        self.records[-1] = replace(record, x_after=self.x.copy(), y_after=after)
        self.progress.forget = component
        return event.terminal

    def load(self, checkpoint: Checkpoint) -> None:
        """Take over the memory of an earlier integration; its statistics start from zero."""
        if checkpoint.memory is None:
            self.x[:], self.clock.t = checkpoint.x, checkpoint.t
            return
        h_max, positions, c = self.clock.h_max, self.count.positions, self.count
        self.memory[:] = checkpoint.memory
        self.clock.h_max, c.positions = h_max, positions
        if self.implicit is not None:
            self._resume_turns()
        c.steps = c.rejected = c.n_rhs = c.n_jac = c.n_lu = c.n_events = c.bad_status = 0
        c.begin = 1

    def _resume_turns(self) -> None:
        """Counters begin at zero with a new run, and with them what is measured by them."""
        c, turns = self.count, self.frame.turns
        turns.look -= c.steps
        turns.until -= c.n_rhs
        turns.long_rhs -= c.n_rhs
        turns.mark_rhs, turns.mark_jac, turns.mark_lu = turns.mark_rhs - c.n_rhs, turns.mark_jac - c.n_jac, turns.mark_lu - c.n_lu
        turns.begun, turns.number = turns.implicit, 0

    def provide(self, later: Callable[[], NativeFunction]) -> None:
        """Gives the implicit one of two methods its native functions, then its Jacobian; where there is none, the explicit one goes on to the end."""
        assert self.implicit is not None and self.method.pair is not None
        if self.implicit.step == 0:
            found = load_method(self.method.pair[1].name)
            self.implicit.step, self.implicit.dense = found.step, found.dense
            return
        try:
            self.set_hook("jac", later())
        except InputError as error:
            self.refused, turns = str(error), self.frame.turns
            for k, why in ((0, STIFF), (1, REFUSED)) if turns.implicit == 0 else ((0, REFUSED),):
                at = min(turns.number + k, LOG - 1)
                self.frame.turn_t[at], self.frame.turn_why[at] = self.clock.t, why
            turns.number += 2 - turns.implicit
            turns.implicit, turns.held = 0, 1

    def output(self) -> tuple[Array, Array, Array]:
        """All rows of a run that has ended."""
        if self.rows is not None:
            self._collect_rows(self.progress.rows)
            t, x, y = self.rows.joined()
            return t, x, y
        k = self.progress.rows  # in the buffers, where other runs may write
        return self.row_t[:k].copy(), self.row_x[:k].copy(), self.row_y[:k].copy() if self.n_y else self.row_y[:k]

    def segments(self) -> Segments | None:
        """All interpolants of a run that has ended, if they were kept."""
        k = self.progress.segments
        if self.spans is not None:
            self._collect_spans(k)
            return Segments.of(self.spans.pieces(), self.n)
        return Segments.of([(self.spans_room[:k].copy(), self.coef_room[:k].copy())], self.n) if k else None
