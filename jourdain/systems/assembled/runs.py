"""Runs of a model in the energy-consistent engine: inputs on the way, output times, and the solution in the model's own words."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ...analysis.assemble import check_closed
from ...analysis.simulate import Controller, SimulationError, end_of, instants_of, solution_of, sort_inputs, span_of
from ...elements.schemes import scheme
from ...errors import InputError, SolverError
from ...results.channel import Channel
from ...results.solution import Solution
from ...symbolic.expr import Expr
from ...symbolic.graph import evaluate
from ..callbacks import checked
from ..descriptor.system import UnreachablePose, tree_states
from ..state import State
from .from_model import DirectorAssembly, JointElements
from .model_events import declare_events

if TYPE_CHECKING:
    from ...solvers.stepping.run import Rows
    from .directors import Directors

#: Iterations by which the values of callbacks and the step they act in are made to agree.
AGREEMENTS = 30


def simulate(
    formulation: Directors, x0: Any, t: float | Sequence[float], step: float, method: str, inputs: Mapping[str, Any] | None, times: Any,
    outputs: int | None, parameters: np.ndarray | None, elements: JointElements | None, options: dict[str, Any],
) -> Solution:  # fmt: skip
    """A run of the assembled system of a model as a solution of its reference system; see :meth:`Directors.simulate`."""
    if parameters is not None:
        formulation = formulation.copy(parameters)  # type: ignore[assignment]
    system, model = formulation.reference, formulation.model
    start = end_of(system, x0) if isinstance(x0, Solution) else system.state(x0)
    check_closed(system, start)
    span = span_of(model.name, start.t, t)
    start = start.with_values(t=span[0])
    wanted = instants_of(model.name, span, times, outputs)
    constants, signals, controllers = sort_inputs(system, inputs or {})
    called = [n for c in model.callbacks.values() for n in c.inputs]
    given = {n: x for n, x in (inputs or {}).items() if n not in controllers and n not in called}
    formulation.system.refresh()
    built = DirectorAssembly(formulation.system, start, given, [*controllers, *called], elements=elements)
    acting = Acting(formulation, built, start, constants, signals, controllers, method)
    held = acting if controllers or called else None
    if model.events:
        declare_events(built, acting.tree_state, acting.inputs_at)

    def made(raw: Solution) -> Solution:
        return translated(formulation, start, raw, acting.inputs_at, wanted)

    try:
        return made(built.system.simulate(span[1], step, method, start=span[0], held=held, **options))
    except SimulationError as error:
        raise SimulationError(str(error), made(error.solution)) from None


class Acting:
    """The inputs of a run: numbers, signals of time, and those set on the way by sampled controllers and callbacks.

    A controller's value is held from sample to sample.  A callback's is that of the middle of each step, found together with the step.
    """

    def __init__(
        self, formulation: Directors, built: DirectorAssembly, start: State, constants: Mapping[str, float], signals: Mapping[Expr, Expr],
        controllers: Mapping[str, Controller], method: str,
    ) -> None:  # fmt: skip
        self.system, self.built, self.state = formulation.reference, built, start
        self.signals, self.controllers = signals, controllers
        self.initial = self.system.input_values(constants)
        self.places = {n: h.offset for n in self.system.model.inputs for h in built.system.handles if h.name == f"input {n}"}
        self.history: list[tuple[float, dict[str, float]]] = []
        self.accelerated = scheme(method).has_acceleration
        self.callbacks = list(self.system.model.callbacks.values())
        self.arguments = [[built.numeric(e) for e in built.eq.resolve(list(c.arguments))] for c in self.callbacks]
        for name, c in controllers.items():
            if not c.period > 0:
                raise InputError(f"controller of '{name}': the period {c.period} s must be positive")
        if self.callbacks:
            names = ", ".join(repr(c.name) for c in self.callbacks)
            warnings.warn(
                f"model '{self.system.model.name}': {names} run in Python at every step, which is far slower than laws written with jourdain's functions",
                stacklevel=5,
            )

    # -- the march ------------------------------------------------------------------------------------------------

    def march(self, run: Any, progress: bool) -> tuple[Rows, int]:
        """From sample to sample (with callbacks: from step to step), inputs set between."""
        from ...solvers.stepping import frame as ap
        from ...solvers.stepping.run import Rows

        if run.joints is not None and self.callbacks:
            raise InputError(f"simulate '{self.system.model.name}': callbacks need reduction 'none' or 'bodies'")
        now, end, step = run.clock.t, run.clock.t_end, run.clock.step
        every, begun = run.count.every, now
        rows, reason = Rows(), ap.FINISHED
        due = {name: 0 for name in self.controllers}
        while now < end - 1e-9 * step and reason == ap.FINISHED:
            for name, c in self.controllers.items():
                if begun + due[name] * c.period <= now + 1e-9 * step:
                    self._sample(run, name, c, now)
                    due[name] += 1
            target = min([end, *(begun + due[n] * c.period for n, c in self.controllers.items())])
            target = min(target, now + step) if self.callbacks else target
            part, reason = self._agreed(run, now, target, step) if self.callbacks else self._segment(run, now, target, step)
            first = 1 if rows.t else 0
            rows.add(*(block[first:] for block in part.joined()))
            now = run.clock.t
        if every > 1:
            joined = rows.joined()
            kept = sorted({*range(0, len(joined[0]), every), len(joined[0]) - 1})
            rows = Rows()
            rows.add(*(block[kept] for block in joined))
        return rows, reason

    def _segment(self, run: Any, now: float, target: float, step: float) -> tuple[Rows, int]:
        run.set_time(now, target, step)
        run.count.grid = 0
        return run.march()  # type: ignore[no-any-return]

    def _set(self, run: Any, values: Mapping[str, float]) -> None:
        for name, value in values.items():
            run.vec.q0[self.places[name]] = run.vec.q1[self.places[name]] = value

    def tree_state(self, q: np.ndarray, v: np.ndarray, now: float) -> State:
        """The state of the reference system that belongs to coordinates and rates of the engine."""
        row = np.zeros(0)
        if self.system.model.bodies:
            bodies = [h.offset for h in self.built.system.handles[: len(self.system.model.bodies)]]
            d, dd = (np.array([x[at + 3 : at + 12].reshape(3, 3) for at in bodies]) for x in (q, v))
            p, pd = (np.array([[x[at : at + 3] for at in bodies]]) for x in (q, v))
            spin = 0.5 * np.cross(d, dd).sum(axis=1)[None]
            row = tree_states(self.system, self.state, np.array([now]), p, d.swapaxes(1, 2)[None], pd, spin)[0]
        z = np.array([q[h.offset] for n in self.system.model.states for h in self.built.system.handles if h.name == f"state {n}"])
        self.state = State(self.system, row[: self.system.nq], row[self.system.nq :], z, now)
        return self.state

    def _sample(self, run: Any, name: str, controller: Controller, now: float) -> None:
        self.tree_state(run.vec.q0, run.vec.v0, now)
        value = float(controller.law(self.state))
        if not np.isfinite(value):
            raise SolverError(f"controller of '{name}' gave {value} at t = {now:g} s")
        self._set(run, {name: value})
        self.history.append((now, {name: value}))
        if self.accelerated:
            run.vec.a0 = run.vec.d0 = self.built.system.equations.accelerations(run.vec.q0, run.vec.v0, now)[0]

    def _agreed(self, run: Any, now: float, target: float, step: float) -> tuple[Rows, int]:
        """One step, or what is left of it before an event, with callbacks that see its middle: repeated until their values do not change."""
        from ...solvers.stepping import frame as ap

        saved = run.save()
        before = run.vec.q0.copy()
        values = self._called(before, run.vec.v0, now, before)
        act, run.events = run.events, None  # an event acts when the step that leads to it is found
        for k in range(AGREEMENTS):
            if k:
                run.restore(saved)
            self._set(run, values)
            rows, reason = self._segment(run, now, target, step)
            after, h = run.vec.q0, run.clock.t - now
            if reason not in (ap.FINISHED, ap.EVENT) or h <= 0.0:
                break
            found = self._called(0.5 * (before + after), (after - before) / h, now + 0.5 * h, after)
            change = max(abs(found[n] - values[n]) / (1.0 + abs(found[n])) for n in found)
            values = found
            if change < 1e-12:
                break
        else:
            raise SolverError(
                f"simulate '{self.system.model.name}': callbacks and motion do not agree at t = {now:g} s; take a smaller step"
            )
        self.history.append((now, values))
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
            values |= dict(zip(item.inputs, checked(item, t, np.atleast_1d(item.function(*numbers))).tolist(), strict=True))
        return values

    # -- what was done --------------------------------------------------------------------------------------------

    def inputs_at(self, t: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """The inputs that acted at some times; those set on the way count from just after their instant."""
        values = np.tile(self.initial, (len(t), 1))
        eq = self.system.equations_of_motion
        parameters = dict(zip(eq.p, self.system.parameter_vector, strict=True))
        for i, (name, item) in enumerate(self.system.model.inputs.items()):
            if item.symbol in self.signals:
                values[:, i] = evaluate([self.signals[item.symbol]], {**parameters, eq.t: t})[0]
            for k, (since, given) in enumerate(x for x in self.history if name in x[1]):
                values[t > since if k else t >= since, i] = given[name]
        return values


# -- the solution -----------------------------------------------------------------------------------------------------


def translated(
    formulation: Directors, start: State, raw: Solution, inputs_at: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None,
    times: Any = None,
) -> Solution:  # fmt: skip
    """The assembled system's run in the language of the reference system, at its own times or others.

    A run whose poses no joint coordinates describe comes back as it is, with the bodies' poses, and a warning.
    """
    model, system = formulation.model, formulation.reference
    if times is not None:
        raw = _resampled(raw, list(model.bodies), np.atleast_1d(np.asarray(times, dtype=float)))
    rows = np.zeros((len(raw.t), 0))
    if model.bodies:
        try:
            counted = {n: raw[n] for n in system.coordinate_names if n in raw and raw[n].ndim == 1}
            rows = tree_states(system, start, raw.t, *_motion(raw, list(model.bodies)), counted=counted)
        except UnreachablePose as error:
            warnings.warn(f"{error}; the solution has the bodies' poses instead of joint coordinates", stacklevel=4)
            return raw
    rows = np.column_stack([rows, *(raw[f"state {z}"] for z in model.states)])
    about = {"model": model.name, "formulation": "directors", **raw.metadata}
    solution = solution_of(system, raw.t, rows, about, inputs_at=inputs_at)
    own = [n for n in raw.names if n.split(".")[0] in ("energy", "momentum", "constraints", "newton")]
    extra = {f"step.{n}": Channel(raw[n], raw.channel(n).unit, raw.channel(n).description) for n in own}
    found = solution.with_channels(**extra)
    found.assembled = raw  # type: ignore[attr-defined]
    return found


def _motion(raw: Solution, bodies: Sequence[str]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    p, R, v, w = (np.stack([raw[f"{n}.{k}"] for n in bodies], axis=1) for k in ("position", "rotation", "velocity", "angular_velocity"))
    return p, R, v, w


def _resampled(raw: Solution, bodies: Sequence[str], times: np.ndarray) -> Solution:
    """A run at other times: poses by cubics through positions and rates between events, made rotations again.

    A run that a terminal event has ended gives the times up to there, and that of the event.
    """
    if raw.metadata.get("status") == "event":
        times = np.append(times[times < raw.t[-1]], raw.t[-1])
    if times.size == 0 or times.min() < raw.t[0] - 1e-12 or times.max() > raw.t[-1] + 1e-9:
        raise InputError(f"simulate: the output times must lie between {raw.t[0]:g} and {raw.t[-1]:g} s")
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


__all__ = ["Acting", "simulate", "translated"]
