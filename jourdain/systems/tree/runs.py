"""Runs of a tree in joint coordinates: all of them with loops projected, by generalised-α, or independent ones ("reduced", "closed")."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError
from ...solvers import ADAPTIVE
from ...solvers.native_function import NativeFunction
from ...solvers.ode.events import Event, EventRecord
from ...solvers.ode.integrate import integrate
from ...solvers.ode.trajectory import Trajectory
from ...symbolic.expr import Expr
from ..callbacks import ended
from ..ode_run import OdeRun
from ..run import Outcome, Restart, Settings
from ..state import State, split_state
from .projected import NativeSystem

if TYPE_CHECKING:
    from ..inputs import Inputs
    from .between import BetweenSteps
    from .independent import Choice, IndependentSystem
    from .reduced import ReducedSystem
    from .system import TreeSystem

#: Steps of a run in which nothing is integrated, where none are asked for.
PRESCRIBED_STEPS = 200


class ProjectedRun(OdeRun):
    """All coordinates of the tree; after each step they are put back onto the constraints."""

    kind = "projected"
    system: TreeSystem

    def __init__(
        self, system: TreeSystem, start: State, span: tuple[float, float], inputs: Inputs, settings: Settings, *,
        watch: Sequence[Expr | tuple[Expr, int]] = (),
    ) -> None:  # fmt: skip
        super().__init__(system, start, span, inputs, settings)
        self.watch = tuple(watch)

    def native_side(self) -> NativeSystem:
        """The native functions; those of an ended run are used again where inputs stay as they are."""
        u = self.inputs.initial
        if self.inputs.repeat:
            return NativeSystem.with_constant_inputs(self.system, u, self.start)
        return NativeSystem(self.system, u, signals=self.inputs.signals, start=self.start)

    def march(
        self, first: Any, span: tuple[float, float], by: Callable[..., Any] = integrate, more: Sequence[Event] = (), **changes: Any
    ) -> Any:
        """The integration; one that an earlier run has made ready with the same settings is used again."""
        if by is not integrate or more or changes or self.watch:
            return super().march(first, span, by, more, **changes)
        return self.run_kept((), span, first, lambda how: super(ProjectedRun, self).march(first, span, how))

    def outcome(self, trajectory: Trajectory) -> Outcome:
        """The native functions are kept for the next run."""
        found = super().outcome(trajectory)
        if self.watch:
            found = replace(found, about={**found.about, **self.watched(trajectory)})
        if self.inputs.repeat and trajectory.status != "failed":
            self.native.release()
        return found


class PrescribedRun(ProjectedRun):
    """Every coordinate follows from the drives, and there are no further states: one number that rests is integrated instead, so that events,
    samples and memories act as in all runs."""

    kind = "prescribed"

    def first(self) -> np.ndarray:
        """The number that rests."""
        return np.zeros(1)

    def march(
        self, first: Any, span: tuple[float, float], by: Callable[..., Any] = integrate, more: Sequence[Event] = (), **changes: Any
    ) -> Any:
        """Equal steps, as long as asked for."""
        from ...solvers.adapter import at_rest

        native, control = self.native, self.control()
        step = min(control["max_step"], control["step"] or (span[1] - span[0]) / PRESCRIBED_STEPS)
        return by(
            NativeFunction(at_rest.address, np.zeros(3, dtype=np.uintp)), span, first, "dopri5", events=[*self.acting_events(), *more],
            samples=self.inputs.samples(span, native.u, self.model_state), **self.inputs.renewing(native),
            **(control | {"step": step, "max_step": step} | changes),
        )  # fmt: skip

    def _check_method(self) -> None:
        pass  # there is nothing to integrate


class IndependentRun(OdeRun):
    """Independent coordinates only; the others follow by closing the loops.  Closed forms are left for others near dead points."""

    keeps_constraints = True
    system: TreeSystem
    native: IndependentSystem

    def __init__(
        self, system: TreeSystem, start: State, span: tuple[float, float], inputs: Inputs, settings: Settings, chosen: Mapping[str, Any]
    ) -> None:
        super().__init__(system, start, span, inputs, settings)
        self.chosen = {k: v for k, v in chosen.items() if v is not None}
        self.keeps_energy = settings.method in ADAPTIVE
        self._check_method()
        # full states between steps are found from those at the steps, which are kept then
        self._inner = replace(settings, times=None, dense=True) if settings.keeps_interpolant else settings
        self._runs: list[Trajectory] = []
        self._choices: list[list[Choice]] = []
        self._switches = 0
        #: Where the present native functions begin, with which inputs and which independent coordinates.
        self._from, self._u = start, inputs.initial
        self._watching = False
        from .crossing import Crossing  # here and below: what loops need loads with the first run that has them

        self._crossing = Crossing(system, start, span[1], settings.method, self._control_from, inputs)

    def choose(self, start: State, chosen: Mapping[str, Any], u: np.ndarray) -> Any:
        """The native functions for a choice of independent coordinates at a state."""
        raise NotImplementedError

    def control(self) -> dict[str, Any]:
        """As for all runs, with the full state as output."""
        return self._control_from(self.native.start.t) | {"output": self.native.output, "output_size": self.native.n}

    def _control_from(self, t: float) -> dict[str, Any]:
        """Step control and output from a time on: times already passed and steps already taken are left out."""
        from .crossing import left_to_do

        s = self._inner
        return left_to_do(super().control() | {"t_eval": s.times, "dense": s.keeps_interpolant}, self._runs, t)

    def model_state(self, t: float, x: np.ndarray) -> State:
        """The full state of an independent one."""
        return split_state(self.system, self.native.expand(t, x), t)

    def go(self, restart: Restart | None = None) -> Outcome:
        """Runs to the end; a closed form that comes near a dead point is left for another one."""
        try:
            return self._go(restart)
        except KeyboardInterrupt:  # between two legs
            if not self._runs:
                raise
            self.native = self._native_of_last
            return self.outcome(replace(self._joined(), status="interrupted", message=""))

    def _go(self, restart: Restart | None) -> Outcome:
        fits = restart is not None and self.fits(restart)
        if fits:
            assert restart is not None
            self.resume_inputs(restart)
        crossing = self._crossing
        passage = None if fits else crossing.begin(self._from, self._u)
        while True:
            if passage is not None:
                self._add(passage.across, passage.native)
                if passage.onward is None:
                    return self.outcome(self._joined())
                self._from, self._u = passage.onward, passage.native.u[: self.system.nu].copy()
            resumed = fits and restart is not None
            first = self.begin(restart.memory["independent"] if restart is not None and resumed else None)
            if restart is not None and resumed and self._recall(restart, self._u):
                first = restart.inner
            fits = False
            last = ended(self.native, self.march(first, (self._from.t, self.span[1])))
            self._add(last, self.native)
            if last.cause is not None:
                return self.outcome(self._joined())
            choosing = hasattr(self.native, "branches") and not self._watching and "independent" not in self.chosen
            passage = crossing.passage(self.native, last, choosing=choosing)
            if passage is not None:
                self._runs[-1] = passage.before
                self._switches += 1 + self.native.switches
                continue
            if not self.goes_on(last):
                return self.outcome(self._joined())

    def begin(self, independent: Sequence[str] | None = None) -> Any:
        """The native functions where the run is; the independent state there."""
        chosen = self.chosen if independent is None else {**self.chosen, "independent": independent}
        self.native = self.choose(self._from, chosen, self._u)
        if len(self.native.x0) == 0:
            raise InputError(
                f"simulate '{self.system.model.name}': every coordinate follows from the drives, there are none to choose as independent; use "
                "reduction='projected', or system.kinematics(times)"
            )
        self._first = list(self.native.independent)
        self._crossing.watch(self.native, self._from)
        self._watching = self._watch(self._from)
        return self.native.x0

    def goes_on(self, trajectory: Trajectory) -> bool:
        """A closed form that comes near a dead point is left for another one."""
        near = self._watching and trajectory.status == "failed" and "status -7 " in trajectory.message
        if not (near and trajectory.restart.t > self._from.t):
            return False
        self._u = self.native.u[: self.system.nu].copy()
        self._from = self.model_state(trajectory.restart.t, trajectory.restart.x)
        self._switches += 1 + self.native.switches
        return True

    def portable(self, saved: Callable[[str], Any]) -> dict[str, Any]:
        """Where its present coordinates begin, and which they are."""
        start = saved("_from")
        return {"from": (start.x, start.t), "u": saved("_u"), "independent": saved("_first")}

    def take(self, data: Mapping[str, Any]) -> Any:
        """Those coordinates, where it is in others."""
        if data["independent"] == self._first:
            return None
        self._from, self._u = split_state(self.system, *data["from"]), data["u"]
        return self.begin(data["independent"])

    def _add(self, run: Trajectory, native: Any) -> None:
        """One more leg, and the native side it was made with."""
        self.native = self._native_of_last = native
        self._runs.append(run)
        if self._inner.keeps_interpolant:
            self._choices.append(native.choices())

    def _watch(self, start: State) -> bool:
        """Whether the run stops near a dead point of its closed form, to choose another one."""
        from .closed_form import GOOD_MARGIN

        native: Any = self.native
        if "independent" in self.chosen or not hasattr(native, "branches") or not native.margin(start.t, native.x0) > 2.0 * GOOD_MARGIN:
            return False
        native.branches.least_margin[0] = GOOD_MARGIN
        return True

    def fits(self, restart: Restart | None) -> bool:
        """Also the independent coordinates must be those that are asked for."""
        if restart is None or not super().fits(restart) or not restart.memory["native"]:
            return False
        return self.chosen.get("independent") in (None, restart.memory["independent"], list(restart.memory["independent"]))

    def _recall(self, restart: Restart, u: np.ndarray) -> bool:
        """Gives the native side the memory of the earlier run, with the inputs of this one."""
        native: Any = self.native
        if not native.remember(restart.memory["native"]):
            return False
        native.u[: self.system.nu] = u
        return True

    def memory(self, u: np.ndarray) -> dict[str, Any]:
        """Also the independent coordinates and the arrays of the native side."""
        native: Any = self.native
        own = {name: array.copy() for name, array in native.memory().items()}
        return super().memory(u) | {"independent": tuple(native.independent), "native": own}

    def final(self, trajectory: Trajectory) -> Any:
        """The model's last state."""
        if trajectory.status == "failed":
            return trajectory.y[-1] if len(trajectory.y) else self.start.x
        return self.native.expand(trajectory.restart.t, trajectory.restart.x)

    def explain(self, trajectory: Trajectory) -> str:
        """What a failure means for the mechanism."""
        native: Any = self.native
        return str(native.explain(trajectory))

    def outcome(self, trajectory: Trajectory) -> Outcome:
        """With the independent coordinates and how often they were changed."""
        native: Any = self.native
        facts = {"independent": list(native.independent), "switches": self._switches + native.switches, "closure": native.closure()}
        found = super().outcome(trajectory)
        restart = None if trajectory.status == "failed" else found.restart
        return replace(found, restart=restart, about={**found.about, **facts})

    def rows(self, trajectory: Trajectory) -> Any:
        """Full states at the steps, or at the times asked for."""
        full = self.between(trajectory)
        if full is None or self.settings.times is None:
            return trajectory.y
        return full(self._kept(trajectory))

    def _kept(self, trajectory: Trajectory) -> np.ndarray:
        times = np.asarray(self.settings.times, dtype=float)
        return times[times <= trajectory.restart.t]

    def between(self, trajectory: Trajectory) -> BetweenSteps | None:
        """Full states at any times."""
        from .between import BetweenSteps

        pieces = [(r.segments, c) for r, c in zip(self._runs, self._choices, strict=False) if r.segments is not None]
        t, x = self._steps
        return BetweenSteps(self.system, t, x, pieces) if pieces else None

    def event_states(self, trajectory: Trajectory, records: Sequence[EventRecord]) -> tuple[np.ndarray, np.ndarray]:
        """Full states are the output of the native side; passages through singular positions have all coordinates themselves."""
        return super().event_states(
            trajectory, [replace(e, x_before=e.y_before, x_after=e.y_after) if e.y_before.size else e for e in records]
        )

    def _joined(self) -> Trajectory:
        """All runs as one trajectory of the full state; at the times asked for, if full states between steps are known."""
        from .crossing import joined

        runs = self._runs
        whole = replace(joined([replace(r, x=r.y) for r in runs]), segments=None)
        self._steps = whole.t, whole.x
        if self._inner is not self.settings and self.settings.times is not None and any(r.segments is not None for r in runs):
            whole = replace(whole, t=self._kept(whole))
        return whole


class ReducedRun(IndependentRun):
    """Loops closed by Newton; the independent coordinates may change in flight."""

    kind = "reduced"

    def __init__(
        self, system: TreeSystem, start: State, span: tuple[float, float], inputs: Inputs, settings: Settings, *,
        independent: Sequence[str] | None = None, criterion: str | None = None, repartition: bool | int | None = None,
    ) -> None:  # fmt: skip
        super().__init__(
            system, start, span, inputs, settings, {"independent": independent, "criterion": criterion, "repartition": repartition}
        )

    def choose(self, start: State, chosen: Mapping[str, Any], u: np.ndarray) -> ReducedSystem:
        """Newton's method for the loops at a state."""
        from .reduced import ReducedSystem

        if self.inputs.steady:
            return ReducedSystem.for_constant_inputs(self.system, start, u, **chosen)
        return ReducedSystem(self.system, start, u, self.inputs.signals, **chosen)

    def outcome(self, trajectory: Trajectory) -> Outcome:
        """The native functions are kept for the next run."""
        from .reduced import ReducedSystem

        found = super().outcome(trajectory)
        if isinstance(self.native, ReducedSystem) and trajectory.status != "failed":
            self.native.release()
        return found


class ClosedRun(IndependentRun):
    """Loops solved in closed form as far as they have one, the others by Newton."""

    kind = "closed"

    def __init__(
        self, system: TreeSystem, start: State, span: tuple[float, float], inputs: Inputs, settings: Settings, *,
        independent: Sequence[str] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(system, start, span, inputs, settings, {"independent": independent})

    def choose(self, start: State, chosen: Mapping[str, Any], u: np.ndarray) -> Any:
        """Closed forms of the loops at a state."""
        from .closed_form import closed_native

        return closed_native(self.system, start, u, self.inputs.signals, **chosen)


#: What becomes of the constraints of a tree, with the kind of run.
REDUCTIONS: dict[str, type[OdeRun]] = {"projected": ProjectedRun, "reduced": ReducedRun, "closed": ClosedRun}

__all__ = ["REDUCTIONS", "ClosedRun", "ProjectedRun", "ReducedRun"]
