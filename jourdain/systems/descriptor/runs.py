"""Runs in the coordinates of a descriptor: index 1 with projection or Baumgarte's stabilisation, or index 3 with an augmented
Lagrangian; the time loop is native in all cases."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError
from ...solvers import AUGMENTED_LAGRANGIAN
from ...solvers.native_function import NativeFunction
from ...solvers.ode.events import Event, EventRecord, Switch
from ...solvers.ode.trajectory import Trajectory
from ...symbolic.expr import Expr
from ..ode_run import ModelJumps, OdeRun
from ..run import Outcome, Run, Settings, among_steps
from ..state import State, split_state
from ..tree.alpha import AlphaMarch
from ..tree.projected import NativeSystem
from .dynamics import DescriptorDynamics

if TYPE_CHECKING:
    from ..inputs import Inputs
    from .system import DescriptorSystem

#: α = β of Baumgarte's stabilisation (1/s) where none are given.
BAUMGARTE = 20.0
STABILISATIONS = ("projection", "baumgarte", "none")
#: Points noted before the joint coordinates are found along them.
LONGEST_TRAIL = 256


class DescriptorRun(OdeRun):
    """x and ẋ of a descriptor, kept on its constraints by projection or by Baumgarte's terms."""

    kind = "descriptor"
    system: DescriptorSystem
    own: State
    follows = True

    def __init__(
        self, system: DescriptorSystem, start: State, span: tuple[float, float], inputs: Inputs, settings: Settings, *,
        stabilisation: str = "projection", alpha: float | None = None, beta: float | None = None, reduction: str | None = None,
        watch: Sequence[Expr | tuple[Expr, int]] = (),
    ) -> None:  # fmt: skip
        super().__init__(system, start, span, inputs, settings)
        self.watch = tuple(watch)
        if stabilisation not in STABILISATIONS:
            raise InputError(f"stabilisation '{stabilisation}' is unknown; use one of {', '.join(STABILISATIONS)}")
        if stabilisation != "baumgarte" and not (alpha is None and beta is None):
            raise InputError(f"alpha and beta belong to stabilisation='baumgarte', not to '{stabilisation}'; leave them out")
        self.kind = f"{system.formulation} ({stabilisation})"
        self.stabilisation, self.reduction = stabilisation, reduction or system.reduction
        self.dynamics: DescriptorDynamics = system.own
        if stabilisation == "baumgarte":
            first = BAUMGARTE if alpha is None else alpha
            self.dynamics = system.own.stabilised(first, first if beta is None else beta)
        self.own = system.own.state_of(start)
        self._last = start
        #: Points passed since then.
        self._trail: list[tuple[float, np.ndarray]] = []

    def native_side(self) -> NativeSystem:
        """The native functions of the descriptor."""
        native = self.dynamics.native(self.own, self.inputs.initial, self.inputs.signals, self.reduction)
        if self.stabilisation != "projection":
            native.project = None
        native.switch = self._exchange()
        return native

    def _exchange(self) -> Switch | None:
        """Rotation vectors change their chart in flight."""
        charts = self.dynamics.descriptor.charts
        if not charts:
            return None
        from ...solvers.constraints.rotation_chart import exchange

        return exchange([chart[0] for chart in charts], self.dynamics.nq)

    def first(self) -> np.ndarray:
        """The descriptor's state at the start."""
        return self.own.x

    def control(self) -> dict[str, Any]:
        """Every step is kept: turns of joints are counted from step to step, whatever the output."""
        return super().control() | {"t_eval": None, "dense": self.settings.keeps_interpolant or self.settings.times is not None}

    def compiled_channels(self) -> set[str]:
        """Those of the model itself: joint coordinates follow from the bodies' poses, and outputs too where these drift apart."""
        m = self.system.model
        return {"t", *m.states, *m.inputs} | (set(m.outputs) if self.stabilisation == "projection" else set())

    def events(self) -> list[Event]:
        """The model's events, whose jumps are those of the model's state, and zeros of what is watched."""
        found = ModelJumps(self, self._back).events(self.native.events(jumps=False))
        return [*found, *self.native.watching(self.watch)] if self.watch else found

    @cached_property
    def _onto_loops(self) -> NativeFunction | None:
        """The projection of the model's states: where loops share points, the descriptor's own would see one side of an open loop only."""
        return NativeSystem(self.system.reference, self.inputs.initial, start=self.start).project

    def _back(self, state: State) -> np.ndarray:
        """The descriptor's state of a state of the model, which is put onto its constraints."""
        s, row = self.system, state.x.copy()
        if self._onto_loops is not None:
            self._onto_loops(state.t, row, row)
        self._last = split_state(s.reference, row, state.t)
        return s.own.state_of(self._last).x

    def follow(self, t: float, x: np.ndarray) -> None:
        """Notes a point, so that turns of joints are counted."""
        self._trail.append((t, x.copy()))
        if len(self._trail) >= LONGEST_TRAIL:
            self._catch_up()

    def _catch_up(self) -> None:
        """The model's state at the last point noted, by continuation along the trail."""
        t, x = (np.array(part) for part in zip(*self._trail, strict=True))
        s, row = self.system, self.dynamics.joint_rows(self._last, t, x)[-1]
        self._last, self._trail = split_state(s.reference, row, float(t[-1])), []

    def portable(self, saved: Callable[[str], Any]) -> dict[str, Any]:
        """The last state of the model and the points since then."""
        last = saved("_last")
        return {"last": (last.x, last.t), "trail": saved("_trail")}

    def take(self, data: Mapping[str, Any]) -> Any:
        """The same."""
        self._last, self._trail = split_state(self.system.reference, *data["last"]), list(data["trail"])

    def model_state(self, t: float, x: np.ndarray) -> State:
        """The model's state that belongs to x, near the last one that was asked for."""
        if self._trail:
            self._catch_up()
        row = self.dynamics.joint_rows(self._last, np.array([t]), x[None])[0]
        s = self.system
        self._last = split_state(s.reference, row, t)
        return self._last

    # -- what it gave ---------------------------------------------------------------------------------------------

    def outcome(self, trajectory: Trajectory) -> Outcome:
        """States of the model, found when they are read; the unknowns themselves are channels behind ``x.``."""
        times = self.settings.times
        kept = trajectory.t if times is None else _covered(np.asarray(times, dtype=float), trajectory)
        own = trajectory.x if times is None else trajectory.at(kept)
        found = super().outcome(trajectory)
        about = {**found.about, "stabilisation": self.stabilisation, "reduction": self.reduction, **self.watched(trajectory)}
        return replace(found, t=kept, channels=lambda: self.system.own.channels(own), about=about)

    def rows(self, trajectory: Trajectory) -> Callable[[], np.ndarray]:
        """Joint coordinates from the bodies' poses, by continuation along all steps."""
        times = self.settings.times
        if times is None:
            return lambda: self.dynamics.joint_rows(self.start, trajectory.t, trajectory.x)
        return lambda: self._at(trajectory, _covered(np.asarray(times, dtype=float), trajectory))

    def _at(self, trajectory: Trajectory, times: np.ndarray) -> np.ndarray:
        grid = np.union1d(trajectory.t, times)
        return self.dynamics.joint_rows(self.start, grid, trajectory.at(grid))[np.searchsorted(grid, times)]

    def event_states(self, trajectory: Trajectory, records: Sequence[EventRecord]) -> tuple[np.ndarray, np.ndarray]:
        """By continuation along all steps."""
        states = (trajectory.x, [e.x_before for e in records], [e.x_after for e in records])
        (t, x), before, after = among_steps(trajectory.t, [e.t for e in records], states)
        rows = self.dynamics.joint_rows(self.start, t, x)
        return rows[before], rows[after]

    def between(self, trajectory: Trajectory) -> Callable[[np.ndarray], np.ndarray] | None:
        """States of the model at any times."""
        if trajectory.segments is None or not self.settings.keeps_interpolant:
            return None
        return lambda times: self._at(trajectory, times)

    def final(self, trajectory: Trajectory) -> Callable[[], np.ndarray]:
        """The model's last state."""
        return lambda: self.dynamics.joint_rows(self.start, trajectory.t, trajectory.x)[-1]

    def explain(self, trajectory: Trajectory) -> str:
        """The solver's message in the words of the descriptor."""
        from ..diagnose import named

        return f"in {self.system.formulation} coordinates: {named(self.dynamics, trajectory.message)}"


class DescriptorAlphaRun(AlphaMarch, DescriptorRun):
    """Generalised-α and its relatives on the equations of the descriptor with their multipliers."""

    def begin(self) -> Any:
        """The native functions and the start; rotation vectors are refused."""
        if self.system.descriptor.charts:
            raise InputError(
                f"simulate '{self.system.model.name}': method '{self.settings.method}' keeps accelerations of the coordinates, which jump where "
                "rotation vectors are exchanged; compile with rotation='euler-parameters', or use 'radau'"
            )
        return super().begin()

    def outcome(self, trajectory: Trajectory) -> Outcome:
        """It solves for the multipliers itself and uses no reduction."""
        return replace(super().outcome(trajectory), about=self.watched(trajectory))


def _covered(times: np.ndarray, trajectory: Trajectory) -> np.ndarray:
    return times[times <= trajectory.t[-1]]


class AugmentedLagrangianRun(Run):
    """Index 3: the trapezoidal rule in fixed steps of ``step`` seconds, constraints ``penalty`` times stiffer than inertia over a step, and
    mass-orthogonal projections of velocities and accelerations (Cuadrado et al. 1997)."""

    kind = AUGMENTED_LAGRANGIAN
    honours = frozenset({"step", "times", "outputs"})

    def __init__(
        self, system: Any, start: State, span: tuple[float, float], inputs: Inputs, settings: Settings, *, penalty: float = 1e5,
        dynamics: Any, own: State, translate: Callable[[np.ndarray, np.ndarray], Any], tangent: str = "tangent",
    ) -> None:  # fmt: skip
        super().__init__(system, start, span, inputs, settings)
        if not inputs.steady:
            raise InputError(f"simulate '{system.model.name}': method '{AUGMENTED_LAGRANGIAN}' takes inputs as numbers; use another method")
        self.penalty, self.dynamics, self.own, self.translate, self.tangent = penalty, dynamics, own, translate, tangent

    def go(self, restart: Any = None) -> Outcome:
        """Marches to the end."""
        from .index3 import augmented_lagrangian_run

        charts = [c[0] for c in self.dynamics.descriptor.charts] if isinstance(self.dynamics, DescriptorDynamics) else []
        t, rows, status, message = augmented_lagrangian_run(
            self.dynamics, self.own, self.span, self.settings.step, self.penalty, self.inputs.initial, self.settings.times,
            tangent=self.tangent, charts=charts,
        )  # fmt: skip
        own = self.dynamics
        channels = (lambda: own.channels(rows)) if isinstance(own, DescriptorDynamics) else None
        about = {"step": self.settings.step, "penalty": self.penalty}
        return Outcome(t, self.translate(t, rows), status, message, channels=channels, about=about)


__all__ = ["STABILISATIONS", "AugmentedLagrangianRun", "DescriptorAlphaRun", "DescriptorRun"]
