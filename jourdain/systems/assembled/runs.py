"""Runs of a model in the energy-consistent engine: inputs on the way, output times, and the states in the model's own words."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ...elements.discrete.schemes import scheme
from ...errors import InputError, SolverError
from ...results.channel import Channel
from ...results.solution import Solution
from ...solvers.memory_log import MemoryLog, collect
from ...symbolic.expr import Expr
from ...symbolic.graph import evaluate
from ..callbacks import called
from ..descriptor.poses import tree_states
from ..outputs.solution import solution_of
from ..run import Happened, Outcome, Restart, Run, Settings, among_steps
from ..state import State
from .from_model import DirectorAssembly, JointElements
from .march import March, Marched
from .memories import attach_memories
from .model_events import declare_events

if TYPE_CHECKING:
    from ...solvers.stepping.run import Rows
    from ..inputs import Inputs
    from .directors import DirectorSystem
    from .stepping import DirectorEngine

#: Iterations by which the values of callbacks and the step they act in are made to agree.
AGREEMENTS = 30
#: Step (s) where none is given.
STEP = 1e-2


class DirectorRun(Run):
    """A march of the model's elements; the states of the joint coordinates are found when they are read."""

    kind = "directors"
    honours = frozenset({"step", "times", "outputs", "progress", "rtol", "atol"})
    system: DirectorSystem

    def __init__(
        self, system: DirectorSystem, start: State, span: tuple[float, float], inputs: Inputs, settings: Settings, *,
        elements: JointElements | None = None, reduction: str | None = None, tolerance: float | None = None, adaptive: bool | None = None,
        every: int | None = None, max_iterations: int | None = None, linear_solver: str | None = None, rho: float | None = None,
        alpha: float | None = None, beta: float | None = None, gamma: float | None = None,
    ) -> None:  # fmt: skip
        super().__init__(system, start, span, inputs, settings)
        self.elements = elements
        #: Where elements are put together: the start, or in a run that goes on that of the first, where deformed parts fit their bodies.
        self.origin = start
        chosen = {
            "reduction": system.reduction if reduction is None else reduction, "tolerance": tolerance, "adaptive": adaptive, "every": every,
            "max_iterations": max_iterations, "linear_solver": linear_solver, "rho": rho, "alpha": alpha, "beta": beta, "gamma": gamma,
        }  # fmt: skip
        given = {n: getattr(settings, n) for n in ("rtol", "atol") if n in settings.given}
        self.options: dict[str, Any] = {n: x for n, x in chosen.items() if x is not None} | given

    def built(self, stepped: Sequence[str] = ()) -> tuple[DirectorAssembly, Acting]:
        """The assembled system of the model with what acts on it; ``stepped`` are inputs that change from step to step."""
        inputs, model = self.inputs, self.system.model
        built = self.system.elements_at(self.origin, inputs, self.elements, stepped)
        acting = Acting(self, built)
        built.system.forget_events()
        built.system.inactive = set(built.resting)
        for part in self.system.parts:
            part.watch(built.system)
        if model.events:
            declare_events(built, acting)
        return built, acting

    def open(self, step: float, inputs: Sequence[str], outputs: Sequence[str]) -> DirectorEngine:
        """The march held open."""
        from .stepping import DirectorEngine

        return DirectorEngine(self, step, inputs, outputs)

    def go(self, restart: Restart | None = None) -> Outcome:
        """Marches to the end, or as far as it goes."""
        resumed = restart is not None and self.fits(restart)
        if restart is not None and resumed:
            self.resume_inputs(restart)
            if (first := restart.memory.get("origin")) is not None:
                self.origin = first.with_values(t=self.span[0])
        inputs, settings = self.inputs, self.settings
        built, acting = self.built()
        memory = restart.memory.get("march") if restart is not None and resumed else None
        if memory is not None:
            built.system.inactive = {str(n) for n in memory["inactive"]}
        step = STEP if settings.step is None else settings.step
        march = March(built.system, self.span[1], step, settings.method, start=self.span[0], memory=memory, **self.options)
        if memory is None:
            acting.begin(march.run, self.span[0])
        found = march.go(settings.progress, acting if inputs.set_on_the_way else None)
        if not inputs.set_on_the_way:
            march.leave()
        self.system.keep(built, inputs, self.elements)
        return self.outcome(found, acting.values)

    def outcome(self, found: Marched, u: np.ndarray) -> Outcome:
        """The engine's run; joint coordinates are found when they are read."""
        status = "failed" if found.wrong else str(found.about["status"])
        told = JointLanguage(self.system, self.start, found.rows[0], status, lambda: found.solution, self.settings.times)
        restart = None
        if status != "failed":
            memory = self.memory(u) | {"march": found.memory} | ({"origin": self.origin} if self.system.parts else {})
            restart = Restart(self.kind, self.settings.method, float(found.rows[0][-1]), lambda: told.last, None, memory)
        about = {n: x for n, x in found.about.items() if n not in ("model", "method", "status")}
        return Outcome(
            told.t, lambda: told.rows, status, found.wrong.removeprefix(f"simulate '{found.system.name}': "), lambda: found.statistics, None,
            restart, told.channels, about, told.poses, lambda: found.solution, cause=found.cause, events=_happened(found, told),
        )  # fmt: skip


def _happened(found: Marched, told: JointLanguage) -> Happened | None:
    """The events of a march in the model's words."""
    known = (told.system.model.whole or told.system.model).events
    events = [(record, x) for record, x in found.events if record[1] in known]  # parts have events of their own
    if not events:
        return None
    times, names = zip(*(record for record, _ in events), strict=True)
    (t, q, v, *_), before = found.rows, [x for _, x in events]

    def states() -> tuple[np.ndarray, np.ndarray]:
        tables = [(x, [s[k] for s in before], [s[k + 2] for s in before]) for k, x in enumerate((q, v))]
        joined, first, last = among_steps(t, times, *tables)
        rows = told.states(found.motion(*joined))
        return rows[first], rows[last]

    return Happened(times, names, states)


class Acting:
    """The inputs of a run: numbers, signals of time, and those set on the way by sampled controllers and callbacks.

    A controller's value is held from sample to sample, a memory from step to step.  A callback's is that of the place in each step where the
    scheme evaluates forces (its middle, or its end), found together with the step.
    """

    def __init__(self, run: DirectorRun, built: DirectorAssembly) -> None:
        self.system, self.built, self.state, self.inputs = run.system.reference, built, run.start, run.inputs
        #: Inputs as they are.
        self.values = self.inputs.initial.copy()
        self.places = {n: h.offset for n in self.system.model.inputs for h in built.system.handles if h.name == f"input {n}"}
        #: Changes of memories that are not collected yet.
        self.log: MemoryLog | None = None
        self.scheme = scheme(run.settings.method, **{n: x for n, x in run.options.items() if n in ("rho", "alpha", "beta", "gamma")})
        self.callbacks = list(self.system.model.callbacks.values())
        self.arguments = [[built.numeric(e) for e in built.eq.resolve(list(c.arguments))] for c in self.callbacks]
        if self.callbacks:
            names = ", ".join(repr(c.name) for c in self.callbacks)
            warnings.warn(
                f"model '{self.system.model.name}': {names} run in Python at every step, which is far slower than laws written with jourdain's functions",
                stacklevel=5,
            )

    def attach(self, run: Any) -> None:
        """Lets a run renew the model's memories."""
        attach_memories(run, self.built)
        run.noted, self.log = self.inputs.renewed, run.memories

    # -- the march ------------------------------------------------------------------------------------------------

    def march(self, run: Any, progress: bool) -> tuple[Rows, int]:
        """From sample to sample (with callbacks: from step to step), inputs set between."""
        from ...solvers.interruption import Interruption
        from ...solvers.stepping import frame as ap
        from ...solvers.stepping.run import Rows

        self.attach(run)
        if run.joints is not None and self.callbacks:
            raise InputError(f"simulate '{self.system.model.name}': callbacks need reduction 'none' or 'bodies'")
        now, end, step = run.clock.t, run.clock.t_end, run.clock.step
        every, begun = run.count.every, now
        rows, reason = Rows(), ap.FINISHED
        due = {name: list(self.inputs.sampling_instants(name, (begun, end))) for name in self.inputs.controllers}
        with Interruption() as interruption:
            while now < end - 1e-9 * step and reason == ap.FINISHED:
                try:
                    part, reason = self._part(run, now, end, step, due)
                except KeyboardInterrupt:
                    part, reason = Rows(), 0
                except Exception as error:  # of a law in Python: what was done before it is kept
                    part, reason, run.error = Rows(), ap.FAILED, error
                if part:
                    rows.add(*(block[1 if rows else 0 :] for block in part.joined()))
                now = run.clock.t
                if interruption.heard:
                    reason = 0
        if not rows:
            run.add_state(rows)
        if run.memories is not None:
            self.remember(run)
            collect(run.memories, run.noted)
        if every > 1:
            joined = rows.joined()
            kept = sorted({*range(0, len(joined[0]), every), len(joined[0]) - 1})
            rows = Rows()
            rows.add(*(block[kept] for block in joined))
        return rows, reason

    def _part(self, run: Any, now: float, end: float, step: float, due: Mapping[str, list[float]]) -> tuple[Rows, int]:
        """To the next sample, or with callbacks by a step, after the controllers that are due."""
        for name, instants in due.items():
            if instants and instants[0] <= now + 1e-9 * step:
                self._sample(run, name, now)
                del instants[0]
        target = min([end, *(instants[0] for instants in due.values() if instants)])
        if self.callbacks:
            return self.agreed(run, now, min(target, now + step), step)
        return self._segment(run, now, target, step)

    def _segment(self, run: Any, now: float, target: float, step: float) -> tuple[Rows, int]:
        run.set_time(now, target, step)
        run.count.grid = 0
        return run.march()  # type: ignore[no-any-return]

    def begin(self, run: Any, now: float) -> None:
        """Callbacks at the start of a run that goes on from no other."""
        if self.callbacks:
            self.jump(run, self._called(run.vec.q0, run.vec.v0, now, run.vec.q0), now)

    def jump(self, run: Any, values: Mapping[str, float], now: float) -> None:
        """New inputs from an instant on, with the accelerations that belong to them."""
        self._set(run, values)
        if self.scheme.has_acceleration:
            run.vec.a0 = run.vec.d0 = self.built.system.equations.accelerations(run.vec.q0, run.vec.v0, now)[0]

    def _set(self, run: Any, values: Mapping[str, float]) -> None:
        names = list(self.system.model.inputs)
        for name, value in values.items():
            self.values[names.index(name)] = value
            run.vec.q0[self.places[name]] = run.vec.q1[self.places[name]] = value

    def inputs_at(self, state: State, q: np.ndarray) -> np.ndarray:
        """All inputs at a state, memories as they stand in the coordinates."""
        found = self.inputs.at(np.array([state.t]), state.x[None])[0]
        for name, place in zip(self.inputs.memories, self.inputs.memory_places, strict=True):
            found[place] = q[self.places[name]]
        return found

    def changed(self, t: float, memories: np.ndarray) -> None:
        """Takes note of memories that an event has set."""
        if self.log is not None:
            collect(self.log, self.inputs.renewed)
        self.inputs.set_memories(t, memories, self.values)

    def remember(self, run: Any) -> None:
        """Takes note of the memories as they are."""
        for name, place in zip(self.inputs.memories, self.inputs.memory_places, strict=True):
            self.values[place] = run.vec.q0[self.places[name]]

    def tree_state(self, q: np.ndarray, v: np.ndarray, now: float) -> State:
        """The state of the reference system that belongs to coordinates and rates of the engine."""
        return self.tree_state_along(np.array([now]), q[None], v[None])

    def tree_state_along(self, t: np.ndarray, qs: np.ndarray, vs: np.ndarray) -> State:
        """The last state of the reference system along some points of the engine, by continuation from the last one asked for."""
        row, q, now = np.zeros(0), qs[-1], float(t[-1])
        if self.system.model.bodies:
            bodies = [h.offset for h in self.built.system.handles[: len(self.system.model.bodies)]]
            d, dd = (np.stack([x[:, at + 3 : at + 12].reshape(-1, 3, 3) for at in bodies], axis=1) for x in (qs, vs))
            p, pd = (np.stack([x[:, at : at + 3] for at in bodies], axis=1) for x in (qs, vs))
            spin = 0.5 * np.cross(d, dd).sum(axis=2)
            row = tree_states(self.system, self.state, t, p, d.swapaxes(2, 3), pd, spin)[-1]
        z = np.array([q[h.offset] for n in self.system.model.states for h in self.built.system.handles if h.name == f"state {n}"])
        self.state = State(self.system, row[: self.system.nq], row[self.system.nq :], z, now)
        return self.state

    def _sample(self, run: Any, name: str, now: float) -> None:
        self.remember(run)
        state = self.inputs.remembering(self.tree_state(run.vec.q0, run.vec.v0, now), self.values)
        self.jump(run, {name: self.inputs.sampled(name, state)}, now)

    def agreed(self, run: Any, now: float, target: float, step: float) -> tuple[Rows, int]:
        """One step, or what is left of it before an event, with callbacks that see where forces are evaluated: repeated until their values do
        not change."""
        from ...solvers.stepping import frame as ap

        saved = run.save()
        before, rates = run.vec.q0.copy(), run.vec.v0.copy()
        values = self._called(before, rates, now, before)
        at_end, theta = self.scheme.evaluation == "end", self.scheme.theta
        act, run.events = run.events, None  # an event acts when the step that leads to it is found
        for k in range(AGREEMENTS):
            if k:
                run.restore(saved)
            self._set(run, values)
            rows, reason = self._segment(run, now, target, step)
            after, h = run.vec.q0, run.clock.t - now
            if reason not in (ap.FINISHED, ap.EVENT) or h <= 0.0:
                break
            moving = rates + theta * (run.vec.v0 - rates) if at_end else (after - before) / h
            found = self._called(before + theta * (after - before), moving, now + theta * h, after)
            change = max(abs(found[n] - values[n]) / (1.0 + abs(found[n])) for n in found)
            values = found
            if change < 1e-12:
                break
        else:
            raise SolverError(
                f"simulate '{self.system.model.name}': callbacks and motion do not agree at t = {now:g} s; take a smaller step"
            )
        run.events = act
        if reason == ap.EVENT and act is not None and act(rows):
            reason = ap.FINISHED
        return rows, reason

    def _called(self, q: np.ndarray, v: np.ndarray, t: float, held: np.ndarray) -> dict[str, float]:
        known: dict[Expr, Any] = {self.system.model.time: t}
        for name, x, rates in self.built.layout.blocks:
            at = self.built.handles[name].offset
            source = held if name.startswith("input ") else q
            known |= dict(zip(x, source[at : at + len(x)], strict=True)) | dict(zip(rates, v[at : at + len(rates)], strict=True))
        values: dict[str, float] = {}
        for item, arguments in zip(self.callbacks, self.arguments, strict=True):
            numbers = [float(a) for a in evaluate(arguments, known)]
            values |= dict(zip(item.inputs, called(item, t, numbers).tolist(), strict=True))
        return values


# -- the states in the model's words ----------------------------------------------------------------------------------


class JointLanguage:
    """A run of the assembled system of a model in the model's joint coordinates, at its own times or others."""

    def __init__(
        self, system: DirectorSystem, start: State, t: np.ndarray, status: str, raw: Callable[[], Solution], times: Any = None
    ) -> None:  # fmt: skip
        self.system, self.start, self._raw = system, start, raw
        self._times = None if times is None else np.asarray(times, dtype=float)
        self.t = t if self._times is None else _kept_times(t, status, self._times)

    @cached_property
    def kept(self) -> Solution:
        """The engine's run at the times asked for."""
        return self._raw() if self._times is None else resampled(self._raw(), list(self.system.model.bodies), self.t)

    @cached_property
    def rows(self) -> np.ndarray:
        """States (q, v, z) at all times."""
        return self.states(self.kept)

    @cached_property
    def last(self) -> np.ndarray:
        """The state at the end of the run, whichever times were asked for."""
        return self.rows[-1] if self._times is None else self.states(self._raw())[-1]

    def states(self, run: Solution) -> np.ndarray:
        """States (q, v, z) of a run of the engine, or of the motion alone."""
        model, reference = self.system.model, self.system.reference
        rows = np.zeros((len(run.t), 0))
        if model.bodies:
            counted = {n: run[n] for n in reference.coordinate_names if n in run and run[n].ndim == 1}
            rows = tree_states(reference, self.start, run.t, *_motion(run, list(model.bodies)), counted=counted)
        return np.column_stack([rows, *(run[f"state {z}"] for z in model.states)])

    def channels(self) -> dict[str, Channel]:
        """The scheme's own channels, behind ``step.``: energies at the ends of steps, balance, momenta, violation of constraints, iterations."""
        run = self.kept
        own = [n for n in run.names if n.split(".")[0] in ("energy", "momentum", "constraints", "newton")]
        return {f"step.{n}": Channel(run[n], run.channel(n).unit, run.channel(n).description) for n in own}

    def poses(self) -> dict[str, Channel]:
        """All channels of the engine, for runs whose poses no joint coordinates describe."""
        return {n: self.kept.channel(n) for n in self.kept.names}


def translated(
    system: DirectorSystem, start: State, raw: Solution, inputs_at: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None
) -> Solution:
    """A run of the assembled system in the language of the model; ``inputs_at`` gives the inputs that acted."""
    told = JointLanguage(system, start, raw.t, str(raw.metadata["status"]), lambda: raw)
    about = {"formulation": "directors", **raw.metadata, "model": system.model.name}
    found = solution_of(system, raw.t, lambda: told.rows, about, raw.statistics, inputs_at, own=told.channels, instead=told.poses)
    found.raw = raw
    return found


def _motion(raw: Solution, bodies: Sequence[str]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    p, R, v, w = (np.stack([raw[f"{n}.{k}"] for n in bodies], axis=1) for k in ("position", "rotation", "velocity", "angular_velocity"))
    return p, R, v, w


def _kept_times(t: np.ndarray, status: str, times: np.ndarray) -> np.ndarray:
    """The times asked for that a run has reached; one that a terminal event has ended gives that of the event, too."""
    if status == "event":
        return np.append(times[times < t[-1]], t[-1])
    return np.clip(times[times <= t[-1] + 1e-9], t[0], t[-1])


def resampled(raw: Solution, bodies: Sequence[str], times: np.ndarray) -> Solution:
    """A run at other times: poses by cubics through positions and rates between events, made rotations again."""
    found = raw.resample(times)
    channels: dict[str, Channel] = {}
    for n in bodies:
        p, R, v, w = (raw[f"{n}.{k}"] for k in ("position", "rotation", "velocity", "angular_velocity"))
        rates = np.cross(w[:, None, :], R.swapaxes(1, 2)).swapaxes(1, 2)
        (place, velocity), (turn, turning) = (_between_events(raw.t, x, xd, times) for x, xd in ((p, v), (R, rates)))
        U, _, Vt = np.linalg.svd(turn)
        rotation = U @ Vt
        spin = turning @ rotation.swapaxes(1, 2)
        omega = 0.5 * np.stack([spin[:, 2, 1] - spin[:, 1, 2], spin[:, 0, 2] - spin[:, 2, 0], spin[:, 1, 0] - spin[:, 0, 1]], axis=1)
        new = (place, rotation, velocity, omega)
        for k, x in zip(("position", "rotation", "velocity", "angular_velocity"), new, strict=True):
            channels[f"{n}.{k}"] = Channel(x, raw.channel(f"{n}.{k}").unit)
    return found.with_channels(**channels)


def _between_events(t: np.ndarray, x: np.ndarray, rate: np.ndarray, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Values and rates at some times by cubics that do not reach over events, where rows share their time."""
    from scipy.interpolate import CubicHermiteSpline

    breaks = np.flatnonzero(np.diff(t) == 0.0) + 1
    piece = np.searchsorted(t[breaks], times, side="right")
    values = np.empty((len(times), *x.shape[1:]))
    rates = np.empty_like(values)
    for k, (a, b) in enumerate(pairwise([0, *breaks, len(t)])):
        here = piece == k
        if here.any():
            spline = CubicHermiteSpline(t[a:b], x[a:b], rate[a:b]) if b > a + 1 else None
            values[here] = x[a] if spline is None else spline(times[here])
            rates[here] = rate[a] if spline is None else spline(times[here], 1)
    return values, rates


__all__ = ["DirectorRun", "resampled", "translated"]
