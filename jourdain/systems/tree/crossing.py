"""Singular positions on the way of a run in independent coordinates: seen before and after each step, crossed in all coordinates.

Where branches of the motion meet no choice of independent coordinates tells them apart, but the motion itself does: its velocities are
continuous.  A run therefore stops where the constraints are about to lose rank, or goes back by a step that has ended on another branch
(:mod:`jourdain.solvers.constraints.continuity`), and goes on in all coordinates, which carry on along their own tangent, until the
position is clear of the singular one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ...solvers import EXPLICIT, STIFF
from ...solvers.native_function import NativeFunction
from ...solvers.ode.events import Event, Switch
from ...solvers.ode.integrate import integrate
from ...solvers.ode.trajectory import Segments, Trajectory
from ..callbacks import ended
from ..state import State, split_state
from .closure import weights
from .independent import Choice, IndependentSystem, lock_up
from .projected import NativeSystem
from .redundancy import redundant_rows

if TYPE_CHECKING:
    from ...solvers.constraints.continuity import Expansion
    from ..inputs import Inputs
    from .system import TreeSystem

#: Clearance (smallest pivot of the constraints in the metric of the masses) below which a position counts as near a singular one: at
#: most this, and no more than this part of what is usual for the mechanism.  Independent coordinates are taken up again this much above it.
NEAR, PART, ABOVE = 0.1, 0.2, 1.5
#: Error allowed on a passage: small enough that nothing has to be put back onto the constraints where they hardly hold.
METHOD, RTOL, ATOL = "dop853", 1e-12, 1e-13
#: How many times the step that went wrong is gone in all coordinates before another look, where no singular position is met.
STRETCH = 4.0
#: In how many places around the start the lengths of the constraints' rows are looked at.
PLACES = 8
#: Status of a projection that cannot close the loops.
LOCKED = 3
#: Names of the events that end a passage and a run before it.
PASSED, NEARING = "clear of the singular position", "near a singular position"


class Scales:
    """What is usual for a mechanism: a unit of each velocity, lengths of the rows of its constraints, their clearance.

    A row may vanish in a singular position: these are values in some places, closed or not, the same for every run.
    """

    def __init__(self, system: TreeSystem, redundant: Sequence[int]) -> None:
        start = State(system, system.state().q, np.zeros(system.nv), np.zeros(system.nz))
        velocity = 1.0 / weights(system, start)
        steps = np.random.default_rng(0).uniform(-1.0, 1.0, (PLACES, system.nv))
        q = np.vstack([start.q, system.configuration.integrate(start.q, steps)])
        f = system.function("constraint_velocities")
        zeros = [np.zeros((len(q), n)) for n in list(f.inputs.values())[2:]]
        lengths = np.abs(f(np.full((len(q), 1), start.t), q, *zeros)[1] * velocity).max(axis=(0, 2))
        rows = np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 1e-9 * lengths.max())
        self.redundant, self.near = list(redundant), 0.0
        #: Those that look at single states.
        self.idle: list[Watch] = []
        self.units = np.concatenate([velocity, rows])
        found = [clearance(system, replace(start, q=place), self) for place in q]
        self.near = min(NEAR, PART * float(np.median(found)))
        self.clear = ABOVE * self.near

    @staticmethod
    def of(system: TreeSystem, start: State) -> Scales:
        """Those of a system, found once for its parameters."""
        redundant, p = redundant_rows(system, start), system.parameter_vector
        known = system._idle.get("scales")
        if known is None or known[0] is not p or known[1].redundant != redundant:
            known = system._idle["scales"] = p, Scales(system, redundant)
        found: Scales = known[1]
        return found


def clearance(system: TreeSystem, state: State, scales: Scales) -> float:
    """How far a state is from a singular position."""
    try:  # another thread may have taken the last one
        watch = scales.idle.pop()
    except IndexError:
        native = IndependentSystem(system, state, None, None, None)
        native.u = np.zeros(max(1, system.nu))
        watch = Watch(native, scales)
    found = watch.clearance_at(state.t, state.x)
    scales.idle.append(watch)
    return found


class Watch:
    """The check of :mod:`jourdain.solvers.constraints.continuity` on the full states of one native system."""

    def __init__(self, native: NativeSystem, scales: Scales) -> None:
        from ...solvers.constraints.continuity import Watching, make_watched, watch

        system, configuration = native.system, native.system.configuration
        self._expansion: Expansion | None = None
        native._redundant = scales.redundant
        place = np.full(system.nv, -1, dtype=np.int64)
        place[configuration._scalar_v] = configuration._scalar_q
        self._keep: list[object] = [native.u]
        compiled = [
            native.compiled(native._function(name), inputs, self._keep)
            for name, inputs in (("constraint_velocities", 3), ("constraint_drift", 2))
        ]
        self._record = make_watched(native._plan(), scales.units, scales.near, place, *compiled)
        self._function = NativeFunction.of(watch.address, Watching(watched=self._record), self._keep)

    def renew(self, t: float, X: np.ndarray) -> int:
        """Makes a state the one that the next is compared with, whatever was before."""
        self._record.anchor.valid = 0
        if self._expansion is not None:  # the same independent state may be closed in another way
            self._expansion.valid = 0
        return self.look(t, X)

    def memory(self) -> list[np.ndarray]:
        """Arrays that change from step to step."""
        r = self._record
        return [r.anchor.words, r.clock, r.state, r.earlier]

    def look(self, t: float, X: np.ndarray) -> int:
        """The check of one state."""
        return self._function(t, np.ascontiguousarray(X), np.zeros(1))

    def clearance_at(self, t: float, X: np.ndarray) -> float:
        """How far a state is from a singular position: the smallest pivot."""
        found = np.zeros(1)
        self._measure(t, np.ascontiguousarray(X), found)
        return float(found[0])

    @cached_property
    def _measure(self) -> NativeFunction:
        """The clearance as a function."""
        return self.guard(0.0)

    @property
    def clearance(self) -> float:
        """How far the last good state is from a singular position."""
        return self.clearance_at(*self.last)

    @property
    def last(self) -> tuple[float, np.ndarray]:
        """Time and full state of the last good step."""
        return self._record.anchor.t, self._record.state.copy()

    def guard(self, clearance: float) -> NativeFunction:
        """A function of full states that rises through zero where the clearance exceeds a value."""
        from ...solvers.constraints.continuity import ClearanceGuard, clearance_guard

        return NativeFunction.of(clearance_guard.address, ClearanceGuard(watched=self._record, limit=clearance), self._keep)

    def projection(self, project: NativeFunction) -> NativeFunction:
        """A projection that is left out too near to a singular position."""
        from ...solvers.constraints.continuity import ProjectWhenClear, project_when_clear
        from ...solvers.ode.frame import Arguments

        args = ProjectWhenClear(watched=self._record, projection=project.address, projection_args=Arguments.at(project.args))
        return NativeFunction.of(project_when_clear.address, args, self._keep, project)

    def attach(self, native: IndependentSystem) -> None:
        """Lets a system in independent coordinates be watched after each step, and what it puts out as well."""
        from ...solvers.constraints.continuity import DecideAndWatch, Expansion, WatchedOutput, decide_and_watch, watched_output
        from ...solvers.ode.frame import Arguments

        switch, full, record = native.switch, native.full_of_steps or native.full, self._record
        if native.jacobian_in_place is not None:
            record.here = native.jacobian_in_place
        if native.margins_tell is not None:
            record.margins = native.margins_tell
        x, u, X = np.zeros(len(native.x0)), np.zeros_like(native.u), np.zeros(native.n)
        self._expansion = expansion = Expansion(function=full.address, args=Arguments.at(full.args.copy()), x=x, u=u, given_u=native.u, X=X)
        args = DecideAndWatch(expansion=expansion, watched=record)
        if switch is not None:
            args.judge, args.judge_args = switch.decide.address, Arguments.at(switch.decide.args)
        decide = NativeFunction.of(decide_and_watch.address, args, self._keep, switch, full)
        native.switch = Switch(decide, decide if switch is None else switch.remap)
        native.output = NativeFunction.of(watched_output.address, WatchedOutput(expansion=expansion, watched=record), self._keep, full)


class FullSystem(NativeSystem):
    """All coordinates for the time of a passage, with what a run asks of a system in independent coordinates."""

    system: TreeSystem
    independent: tuple[str, ...] = ()
    switches = 0

    def __init__(self, *args: Any, inputs: Inputs, **options: Any) -> None:
        super().__init__(*args, **options)
        self.inputs = inputs

    def expand(self, t: float, X: np.ndarray) -> np.ndarray:
        """The full state, which it is."""
        return X[: self.n].copy()

    def choices(self) -> list[Choice]:
        """All coordinates, always."""
        return [(-np.inf, list(range(self.system.nq)), list(range(self.system.nv)))]

    def memory(self) -> dict[str, np.ndarray]:
        """None: a run that ends on a passage is taken up from its state."""
        return {}

    def closure(self) -> dict[str, list[str]]:
        """No constraint is solved; all are projected on."""
        return {"projection": [row.name for row in self.system.equations_of_motion.rows]}

    def explain(self, trajectory: Trajectory) -> str:
        """What a failure means for the mechanism."""
        from ..diagnose import explain_failure

        t, x = trajectory.restart.t, trajectory.restart.x
        if _status(trajectory.message) == LOCKED or "fell below" in trajectory.message:
            fastest = int(np.argmax(np.abs(x[self.system.nq :][: self.system.nv])))
            return lock_up(self.system, t, x[: self.system.nq], self.system.velocity_names[fastest].removesuffix("_rate"))
        return explain_failure(self, trajectory, self.inputs)


@dataclass(frozen=True)
class Passage:
    """A way through a singular position in all coordinates, and the run before it as far as that was right."""

    system: TreeSystem
    native: FullSystem
    across: Trajectory
    before: Any = None
    #: whether the passage ended where independent coordinates can be taken up again
    clear: bool = True

    @property
    def onward(self) -> State | None:
        """Where to go on; None where the run is over."""
        restart = self.across.restart
        return split_state(self.system, restart.x.copy(), restart.t) if self.clear else None


class Crossing:
    """Passages through singular positions for one run."""

    def __init__(
        self, system: TreeSystem, start: State, end: float, method: str, options: Callable[[float], dict[str, Any]], inputs: Inputs
    ) -> None:
        """``options`` gives those of the solver from a time on."""
        self.system, self.end, self.method, self.options, self.inputs = system, end, method, options, inputs
        self._start = start
        #: what was gone so far
        self.legs: list[Trajectory] = []
        #: how often in a row a passage met no singular position
        self._needless = 0

    @cached_property
    def scales(self) -> Scales:
        """What is usual for the mechanism."""
        return Scales.of(self.system, self._start)

    def watch(self, native: IndependentSystem, start: State) -> None:
        """Watches a system in independent coordinates from a state on."""
        if native.watch is None:  # else it was used before
            native.watch = Watch(native, self.scales)
            native.watch.attach(native)
        native.watch.renew(start.t, start.x)

    def begin(self, start: State, u: np.ndarray) -> Passage | None:
        """The way out of a singular position in which a run begins, if it does."""
        if not self.system.equations_of_motion.rows:
            return None
        return self.across(start, u) if clearance(self.system, start, self.scales) < self.scales.near else None

    def across(self, start: State, u: np.ndarray) -> Passage:
        """The way through a singular position from a state near it."""
        native = self._native(start, u)
        return self._across(native, Watch(native, self.scales), start, self.end)

    def passage(self, native: IndependentSystem, last: Trajectory, choosing: bool = False) -> Passage | None:
        """The way on after a run that failed at a singular position; None where none is the cause.

        With ``choosing`` a dead point of the independent coordinates counts as well: others can be chosen after it.
        """
        from ...solvers.constraints.continuity import OFF_BRANCH
        from ...solvers.constraints.reduced import NEAR_DEAD_POINT

        watch, code = native.watch, _status(last.message)
        if last.status != "failed" or watch is None:
            return None
        if code == NEAR_DEAD_POINT:  # said before the step was looked at
            code = watch.look(last.restart.t, native.expand(last.restart.t, last.restart.x)) or code
        near = watch.clearance < self.scales.clear
        if not (_singular(code, last.message, near) or (choosing and code == NEAR_DEAD_POINT)):
            return None
        t, X = watch.last
        start, until = split_state(self.system, X, t), self.end
        if code in (OFF_BRANCH, NEAR_DEAD_POINT) and not near:  # no singular position in sight
            step = max(last.restart.t - t, (last.restart.t - native.start.t) / max(last.stats.steps, 1))
            until = min(self.end, t + STRETCH * 2.0**self._needless * step)
        self.inputs.rewind(t, native.u)
        full = self._native(start, native.u[: self.system.nu])
        found = self._across(full, Watch(full, self.scales), start, until)
        self._needless = self._needless + 1 if found.across.status == "finished" else 0
        return replace(found, before=until_time(last, t))

    def _native(self, start: State, u: np.ndarray) -> FullSystem:
        return FullSystem(self.system, u, signals=self.inputs.signals, start=start, redundant=self.scales.redundant, inputs=self.inputs)

    def _across(self, native: FullSystem, watch: Watch, start: State, until: float) -> Passage:
        """A run in all coordinates until the position is clear, or for a while."""
        state_of: Callable[[float, np.ndarray], State] = lambda t, x: split_state(self.system, x, t)
        samples = self.inputs.samples((start.t, until), native.u, state_of)
        passed = Event(watch.guard(self.scales.clear), 1, True, name=PASSED)
        options = self.options(start.t) | {"rtol": RTOL, "atol": ATOL, "step": None}
        if options["t_eval"] is not None:
            options["t_eval"] = options["t_eval"][options["t_eval"] <= until]
        assert native.project is not None  # there are constraints
        method = self.method if self.method in STIFF else METHOD
        derivatives: dict[str, Any] = {n: native.finding(f) for n, f in native.derivatives().items()} if method in STIFF else {}
        done = integrate(
            native.rhs, (start.t, until), start.x, method, project=watch.projection(native.project), positions=self.system.nq,
            events=[*self.inputs.setting_memories(native.events(), native.u, state_of), passed], samples=samples,
            **self.inputs.renewing(native), **derivatives, **options,
        )  # fmt: skip
        done = ended(native, done)
        clear = done.status == "event" and done.events[-1].name == PASSED
        if clear:
            done = replace(done, stats=replace(done.stats, events=done.stats.events - 1), events=done.events[:-1])
        clear = clear or (done.status == "finished" and until < self.end)
        return Passage(self.system, native, replace(done, y=done.x), clear=clear)


def nearing(crossing: Crossing, native: NativeSystem) -> list[Event]:
    """The event that ends a run in all coordinates near a singular position."""
    if not crossing.system.equations_of_motion.rows:
        return []
    return [Event(Watch(native, crossing.scales).guard(crossing.scales.near), -1, True, name=NEARING)]


def with_passages(
    crossing: Crossing, native: NativeSystem, start: State, first: Any, leg: Callable[[Any, float, list[Event]], Trajectory]
) -> Trajectory:
    """Runs in all coordinates whose way to solve for accelerations fails in singular positions, which are passed in another.

    ``leg`` integrates from a state or checkpoint and a time on, with one more event that ends it near a singular position.
    """
    system, runs = crossing.system, crossing.legs
    if not system.equations_of_motion.rows:
        return leg(first, start.t, [])
    near = nearing(crossing, native)
    try:
        passage = crossing.begin(start, native.u[: system.nu])
        while True:
            if passage is not None:
                runs.append(passage.across)
                native.u[: system.nu] = passage.native.u[: system.nu]
                if passage.onward is None:
                    break
                start = passage.onward
                first = start.x
            runs.append(leg(first, start.t, near))
            last = runs[-1]
            if last.status != "event" or last.events[-1].name != NEARING:
                break
            passage = crossing.across(split_state(system, last.restart.x, last.restart.t), native.u[: system.nu])
    except KeyboardInterrupt:  # between two legs
        if not runs:
            raise
        runs[-1] = replace(runs[-1], status="interrupted", message="")
    return joined(runs)


def left_to_do(control: dict[str, Any], legs: Sequence[Trajectory], t: float) -> dict[str, Any]:
    """Step control and output of a run from a time on: times that earlier legs have passed and steps they have taken are left out."""
    times = None if control["t_eval"] is None else np.asarray(control["t_eval"], dtype=float)
    if times is not None and legs:
        times = times[times > t]
    return control | {"t_eval": times, "max_steps": control["max_steps"] - sum(leg.stats.steps for leg in legs)}


def joined(runs: Sequence[Trajectory]) -> Trajectory:
    """Runs one after the other as one; an instant that ends one and begins the next stands once."""
    if len(runs) == 1 and all(e.name != NEARING for e in runs[0].events):
        return replace(runs[0], y=runs[0].x)
    skip = [0 if k == 0 or len(r.t) == 0 or len(runs[k - 1].t) == 0 or r.t[0] > runs[k - 1].t[-1] else 1 for k, r in enumerate(runs)]
    t, x = (np.concatenate([getattr(r, name)[s:] for r, s in zip(runs, skip, strict=True)]) for name in ("t", "x"))
    totals = {f.name: sum(getattr(r.stats, f.name) for r in runs) for f in fields(runs[0].stats)}
    found = [e for r in runs for e in r.events]
    events = tuple(e for e in found if e.name != NEARING)
    totals["events"] -= len(found) - len(events)
    return replace(
        runs[-1], t=t, x=x, y=x, stats=type(runs[0].stats)(**totals), events=events, segments=_segments(runs), turns=_turns(runs)
    )


def _turns(runs: Sequence[Trajectory]) -> list[Mapping[str, Any]]:
    """Turns of methods of all runs, where any has taken one."""
    if not any(r.turns for r in runs):
        return []
    each = (r.turns or [{"t": float(r.t[0]), "method": EXPLICIT}] for r in runs if r.turns or len(r.t))
    return [turn for turns in each for turn in turns]


def _segments(runs: Sequence[Trajectory]) -> Segments | None:
    """The interpolants of all runs, if all have the same unknowns; polynomials of lower degree are filled with zeros."""
    parts = [r.segments for r in runs if r.segments is not None]
    if not parts or len({p.coefficients.shape[2] for p in parts}) > 1:
        return None
    degree = max(p.coefficients.shape[1] for p in parts)
    filled = [np.pad(p.coefficients, ((0, 0), (0, degree - p.coefficients.shape[1]), (0, 0))) for p in parts]
    start, end, centre, h = (np.concatenate([getattr(p, n) for p in parts]) for n in ("start", "end", "centre", "h"))
    return Segments(start, end, centre, h, np.concatenate(filled))


def until_time(run: Trajectory, t: float) -> Trajectory:
    """What was done up to a time."""
    rows = run.t <= t
    segments = run.segments
    if segments is not None:
        kept = segments.start < t
        segments = Segments(*(getattr(segments, n)[kept] for n in ("start", "end", "centre", "h", "coefficients"))) if kept.any() else None
    events = tuple(e for e in run.events if e.t <= t)
    stats = replace(run.stats, events=run.stats.events - len(run.events) + len(events))
    return replace(run, t=run.t[rows], x=run.x[rows], y=run.y[rows], stats=stats, events=events, segments=segments)


def _status(message: str) -> int | None:
    """The status of a native function in a solver's message."""
    found = re.search(r"returned status (-?\d+) ", message)
    return int(found[1]) if found else None


def _singular(code: int | None, message: str, near: bool) -> bool:
    """Whether a failure is that of independent coordinates at a singular position."""
    from ...solvers.constraints import continuity as c
    from ...solvers.constraints import reduced as r

    stuck = code in (r.NOT_CLOSED, r.SINGULAR, r.NEAR_DEAD_POINT) or "not finite" in message or "fell below" in message
    return code in (c.NEAR_SINGULAR, c.OFF_BRANCH) or (stuck and near)


__all__ = ["Crossing", "Passage", "Watch", "joined", "left_to_do", "nearing", "with_passages"]
