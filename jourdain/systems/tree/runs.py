"""Runs in independent coordinates ("reduced", "closed"): changes of coordinates, full states between steps, exact restart."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...errors import InputError
from ...results.solution import Solution
from ...solvers import STIFF
from ...solvers.ode.events import Samples
from ...solvers.ode.integrate import integrate
from ...solvers.ode.trajectory import Checkpoint, Segments, Trajectory
from ..state import State
from .alpha import ALPHA_METHODS
from .closed_form import GOOD_MARGIN, closed_native
from .crossing import Crossing, joined
from .independent import Choice, split_state
from .reduced import ReducedSystem

if TYPE_CHECKING:
    from .system import System

FORMULATIONS: dict[str, Callable[..., Any]] = {"reduced": ReducedSystem, "closed": closed_native}
#: Newton steps that close the loops between steps, from a cubic through the states at both ends.
CLOSING = 8


@dataclass(frozen=True)
class IndependentCheckpoint(Checkpoint):
    """The end of a run in independent coordinates: ``x`` is the full state, ``inner`` the method's memory."""

    formulation: str = ""
    independent: tuple[str, ...] = ()
    inner: Checkpoint | None = field(default=None, repr=False)
    native: dict[str, np.ndarray] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class FullTrajectory(Trajectory):
    """A run whose interpolant gives full states."""

    full: Callable[[np.ndarray], np.ndarray] | None = field(default=None, repr=False)

    def at(self, t: ArrayLike) -> NDArray[np.float64]:
        """The full state at any time(s) covered."""
        if self.full is None:
            raise InputError("trajectory: no interpolant was kept; simulate with dense=True")
        return self.full(np.asarray(t, dtype=np.float64))


def simulate_independent(
    system: System, start: State, span: tuple[float, float], method: str, formulation: str, inputs: Mapping[str, Any],
    choice: Mapping[str, Any], dense: bool = False, restart: Any = None, **options: Any,
) -> Solution:  # fmt: skip
    """Simulates in independent coordinates; ``choice`` holds independent=, criterion=, repartition= of the formulation."""
    from ...analysis.simulate import SimulationError, solution_of, sort_inputs

    _check(method, formulation, choice)
    constants, signals, controllers = sort_inputs(system, inputs)
    run = _Run(system, span, method, formulation, {k: v for k, v in choice.items() if v is not None}, options, dense)
    run.go(start, system.input_values(constants), signals, controllers, restart)
    trajectory, native, last = run.trajectory(), run.native, run.runs[-1]
    message = native.explain(last) if last.status == "failed" else last.message
    metadata = {
        "model": system.model.name, "method": method, "rtol": options.get("rtol"), "atol": options.get("atol"),
        "parameters": system.parameters, "status": last.status, "message": message, "formulation": formulation,
        "independent": list(native.independent), "switches": run.switches + native.switches, "closure": native.closure(),
    }  # fmt: skip
    solution = solution_of(system, trajectory.t, trajectory.x, metadata, trajectory, native.inputs_at)
    solution.restart = run.checkpoint()
    if last.status in ("failed", "max_steps"):
        raise SimulationError(f"simulate '{system.model.name}': {message}", solution)
    return solution


def _check(method: str, formulation: str, choice: Mapping[str, Any]) -> None:
    if formulation not in FORMULATIONS:
        raise InputError(f"formulation '{formulation}' is not known; use 'projected', {', '.join(map(repr, FORMULATIONS))}")
    if method in ALPHA_METHODS:
        raise InputError(f"method '{method}' works on all coordinates with multipliers; use formulation='projected' with it")
    given = {k for k, v in choice.items() if v is not None}
    if formulation == "closed" and {"criterion", "repartition"} & given:
        raise InputError("formulation='closed' chooses anew at dead points only: criterion= and repartition= are for 'reduced'")


class _Run:
    """One simulation: a run for each choice of coordinates of closed forms, joined in the end."""

    def __init__(
        self, system: System, span: tuple[float, float], method: str, formulation: str, chosen: dict[str, Any],
        options: Mapping[str, Any], dense: bool,
    ) -> None:  # fmt: skip
        self.system, self.span, self.method, self.formulation = system, span, method, formulation
        self.chosen, self.dense = chosen, dense
        self.times = options.get("t_eval")
        # full states between steps are found from those at the steps, which are kept then
        self.options = {**options, "t_eval": None} if dense else dict(options)
        self.runs: list[Trajectory] = []
        self.choices: list[list[Choice]] = []
        self.switches = 0
        self.native: Any = None

    def go(self, start: State, u: np.ndarray, signals: Any, controllers: Mapping[str, Any], restart: Any) -> None:
        """Runs to the end; a closed form that comes near a dead point is left for another one."""
        system, held = self.system, list[tuple[float, np.ndarray]]()
        fits = self._fits(restart)
        crossing = Crossing(system, start, self.span[1], self.method, self._options, signals, controllers, held)
        passage = None if fits else crossing.begin(start, u)
        while True:
            if passage is not None:
                self._add(passage.across, passage.native)
                if passage.onward is None:
                    return
                start, u = passage.onward, passage.native.u[: system.nu].copy()
            chosen = {**self.chosen, "independent": restart.independent} if fits else self.chosen
            native = FORMULATIONS[self.formulation](system, start, u, signals, **chosen)
            if len(native.x0) == 0:
                raise InputError(f"simulate '{system.model.name}': every coordinate follows from the drives; use system.kinematics(times)")
            native.held = held
            crossing.watch(native, start)
            watching = "independent" not in self.chosen and hasattr(native, "branches")
            if watching and native.margin(start.t, native.x0) > 2.0 * GOOD_MARGIN:
                native.branches.least_margin[0] = GOOD_MARGIN
            else:
                watching = False
            first: Any = restart.inner if fits and self._resume(native, restart, u) else native.x0
            fits = False
            samples = [native.on_full_state(c.samples(system, native, name, self.span)) for name, c in controllers.items()]
            self._add(self._integrate(native, (start.t, self.span[1]), samples, first), native)
            if native.callbacks is not None and native.callbacks.error is not None:
                raise native.callbacks.error
            last = self.runs[-1]
            passage = crossing.passage(
                native, last, choosing=hasattr(native, "branches") and not watching and "independent" not in self.chosen
            )
            if passage is not None:
                self.runs[-1] = passage.before
                self.switches += 1 + native.switches
                continue
            if not (watching and last.status == "failed" and "status -7 " in last.message and last.restart.t > start.t):
                return
            u = native.u[: system.nu].copy()
            start = split_state(system, native.expand(last.restart.t, last.restart.x), last.restart.t)
            self.switches += 1 + native.switches

    def _add(self, run: Any, native: Any) -> None:
        """One more run, and the system it was made with."""
        self.native = native
        self.runs.append(run)
        if self.dense:
            self.choices.append(native.choices())

    def _options(self, t: float) -> dict[str, Any]:
        """Options of the solver from a time on: times already passed and steps already taken are left out."""
        times = self.options.get("t_eval")
        if times is not None:
            times = np.asarray(times, dtype=float)
            times = times[times > t] if self.runs else times
        left = self.options["max_steps"] - sum(r.stats.steps for r in self.runs)
        return {**self.options, "t_eval": times, "max_steps": left, "dense": self.dense}

    def _fits(self, restart: Any) -> bool:
        """Whether a checkpoint is one of the same kind at the start of this run."""
        if not isinstance(restart, IndependentCheckpoint) or restart.inner is None or not restart.native:
            return False
        same = (restart.formulation, restart.inner.method, restart.t) == (self.formulation, self.method, self.span[0])
        return same and self.chosen.get("independent") in (None, restart.independent, list(restart.independent))

    def _resume(self, native: Any, restart: IndependentCheckpoint, u: np.ndarray) -> bool:
        """Gives the native system the memory of the earlier run, with the inputs of this one."""
        if not native.remember(restart.native):
            return False
        native.u[: self.system.nu] = u
        return True

    def _integrate(self, native: Any, span: tuple[float, float], samples: Sequence[Samples], first: Any) -> Trajectory:
        """One run; times already passed are left out."""
        derivatives = native.derivatives() if self.method in STIFF else {}
        return integrate(
            native.rhs, span, first, self.method, switch=native.switch, output=native.output, output_size=native.n,
            events=native.events(), samples=samples, positions=native.positions, **derivatives, **self._options(span[0]),
        )  # fmt: skip

    def checkpoint(self) -> IndependentCheckpoint | None:
        """The end of the run, to go on from."""
        last, native = self.runs[-1], self.native
        if last.status == "failed":
            return None
        X = native.expand(last.restart.t, last.restart.x)
        memory = {name: array.copy() for name, array in native.memory().items()}
        label = f"{self.method} ({self.formulation})"
        return IndependentCheckpoint(label, last.restart.t, X, {}, self.formulation, tuple(native.independent), last.restart, memory)

    def trajectory(self) -> Trajectory:
        """All runs as one trajectory of the full state."""
        runs = self.runs
        whole = joined([replace(r, x=r.y) for r in runs])
        t, x = whole.t, whole.x
        pieces = [(r.segments, c) for r, c in zip(runs, self.choices, strict=False) if r.segments is not None]
        if not pieces:
            return whole
        between = BetweenSteps(self.system, t, x, pieces)
        if self.times is not None:
            t = np.asarray(self.times, dtype=float)
            t = t[t <= whole.t[-1]]
            x = between(t)
        kept = {f.name: getattr(whole, f.name) for f in fields(whole)} | {"t": t, "x": x, "y": x, "segments": pieces[-1][0]}
        return FullTrajectory(**kept, full=between)


class BetweenSteps:
    """Full states at any times: the independent ones from the method's interpolant, the others by closing the loops."""

    def __init__(self, system: System, t: np.ndarray, x: np.ndarray, pieces: Sequence[tuple[Segments, list[Choice]]]) -> None:
        self.system, self.t, self.x, self.pieces = system, t, x, pieces

    def __call__(self, times: np.ndarray) -> np.ndarray:
        """Full states, one row for each time (in one more dimension than the times)."""
        shape, t = times.shape, np.atleast_1d(times).ravel()
        lo, hi = float(self.t[0]), float(self.t[-1])
        slack = 1e-12 * max(abs(lo), abs(hi))
        if t.size and (t.min() < lo - slack or t.max() > hi + slack):
            raise InputError(f"trajectory: t from {t.min():g} to {t.max():g} s leaves [{lo:g}, {hi:g}] s")
        X = self._guess(t)
        for i, (segments, choices) in enumerate(self.pieces):
            until = self.pieces[i + 1][0].start[0] if i + 1 < len(self.pieces) else np.inf
            begins = [c[0] for c in choices]
            here = np.flatnonzero((t < until) & ((t >= segments.start[0]) | (i == 0)))
            if not len(here):
                continue
            # a choice holds from the beginning of a step
            step = np.clip(np.searchsorted(segments.start, t[here], side="right") - 1, 0, len(segments.start) - 1)
            which = np.clip(np.searchsorted(begins, segments.start[step], side="right") - 1, 0, None)
            values = segments.at(t[here])
            for k in np.unique(which):
                rows = here[which == k]
                X[rows] = self._closed(t[rows], X[rows], values[which == k], choices[k])
        return X.reshape(*shape, -1)

    def _guess(self, t: np.ndarray) -> np.ndarray:
        """Cubics through positions and velocities at both ends of a step."""
        c, nq, nv = self.system.configuration, self.system.nq, self.system.nv
        if len(self.t) < 2:
            return np.repeat(self.x[:1], len(t), axis=0)
        k = np.clip(np.searchsorted(self.t, t, side="right") - 1, 0, len(self.t) - 2)
        h = self.t[k + 1] - self.t[k]
        s = ((t - self.t[k]) / np.where(h > 0, h, 1.0))[:, None]
        a, b = self.x[k], self.x[k + 1]
        da, db = (h[:, None] * c.rate(r[:, :nq], r[:, nq : nq + nv]) for r in (a, b))
        X = (1 - s) * a + s * b
        X[:, :nq] += s * (1 - s) * ((1 - s) * (da - (b - a)[:, :nq]) - s * (db - (b - a)[:, :nq]))
        X[:, :nq] = c.normalise(X[:, :nq])
        return X

    def _closed(self, t: np.ndarray, X: np.ndarray, x: np.ndarray, choice: Choice) -> np.ndarray:
        """Rows with given independent values: dependent positions by Newton, then dependent velocities."""
        s, eq = self.system, self.system.equations_of_motion
        _, positions, velocities = choice
        nq, nv, clock = s.nq, s.nv, t[:, None]
        q, v = X[:, :nq].copy(), np.zeros((len(t), nv))
        q[:, positions] = x[:, : len(positions)]
        q = s.configuration.normalise(q)
        v[:, velocities] = x[:, len(positions) : len(positions) + len(velocities)]
        place = dict(zip(s.configuration._scalar_v.tolist(), s.configuration._scalar_q.tolist(), strict=True))
        dependent = [j for j in range(nv) if j not in set(velocities)]
        whole = len(positions) == nq  # dependent velocities close positions that are all carried along
        columns = dependent if whole else [j for j in range(nv) if j in place and place[j] not in set(positions)]
        for _ in range(CLOSING if columns and eq.holonomic else 0):
            h, J = s.function("constraints")(clock, q)
            step = (np.linalg.pinv(J[:, :, columns]) @ h[..., None])[..., 0]
            turn = np.zeros((len(t), nv))
            turn[:, columns] = -step
            q = s.configuration.integrate(q, turn)
            if np.abs(step).max(initial=0.0) < 1e-13:
                break
        f = s.function("constraint_velocities")
        extra = [np.zeros(n) if name != "u" else s.input_values() for name, n in list(f.inputs.items())[3:]]
        columns = dependent
        for _ in range(1 if eq.holonomic == len(eq.rows) else 2):
            w, J = f(clock, q, v, *extra)
            v[:, columns] -= (np.linalg.pinv(J[:, :, columns]) @ w[..., None])[..., 0]
        return np.hstack([q, v, x[:, len(positions) + len(velocities) :]])


__all__ = ["IndependentCheckpoint", "simulate_independent"]
