"""Runs by the methods of :mod:`jourdain.solvers.ode` on a native right-hand side, whatever the coordinates."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import NoneType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..errors import InputError
from ..solvers import ALPHA_METHODS, AUTO, EXPLICIT, METHODS, OTHER_METHODS, STIFF, STIFF_BY
from ..solvers.ode.events import Event, EventRecord
from ..solvers.ode.integrate import again, integrate, ready
from .audit import passed_over
from .callbacks import Named, ended
from .run import Happened, Outcome, Restart, Run
from .state import State, split_state

if TYPE_CHECKING:
    from ..solvers.ode.trajectory import Trajectory
    from ..symbolic.expr import Expr
    from .stepper import OdeEngine
    from .tree.projected import NativeSystem


#: Integrations with different settings that one native system keeps ready, and the most memory of all of them (numbers).
MOST_KEPT, MOST_NUMBERS = 32, 1 << 21


#: What cannot change.
PLAIN = frozenset((str, float, int, bool, NoneType, np.float64))


def is_plain(values: tuple[Any, ...]) -> bool:
    """Whether all are words, numbers or nothing, which cannot change."""
    return all(x.__class__ in PLAIN for x in values)


class OdeRun(Run):
    """A run whose native side gives ẋ = f(t, x) in its own coordinates, and perhaps a projection, a switch of coordinates and derivatives.

    Kinds say what native side they have (:meth:`native_side`), where it starts (:meth:`first`), and how its states are those of the
    model (:meth:`model_state`, :meth:`rows`).
    """

    native: NativeSystem
    #: Whether the state of the method changes where inputs jump (it holds accelerations).
    renews: ClassVar[bool] = False
    #: Whether states of the model are found by continuation, so that an open run notes the points it passes.
    follows: ClassVar[bool] = False
    #: Expressions at whose zeros steps end, each perhaps with the direction in which it crosses.
    watch: tuple[Expr | tuple[Expr, int], ...] = ()

    def native_side(self) -> NativeSystem:
        """The native functions of the run, with its inputs."""
        raise NotImplementedError

    @property
    def stiff_by(self) -> str:
        """What to try, in words, where the problem looks stiff."""
        return STIFF_BY

    @property
    def integrator(self) -> str:
        """The name of what integrates."""
        return self.settings.method

    def first(self) -> np.ndarray:
        """The state from which the method starts."""
        return self.start.x

    def model_state(self, t: float, x: np.ndarray) -> State:
        """The model's state that belongs to a state of the run."""
        return split_state(self.system, x, t)

    def rows(self, trajectory: Trajectory) -> Any:
        """States of the model in rows, or a function that gives them."""
        return trajectory.x

    def between(self, trajectory: Trajectory) -> Callable[[np.ndarray], np.ndarray] | None:
        """States of the model at any times, where the interpolant was kept."""
        return trajectory.at if trajectory.segments is not None else None

    def final(self, trajectory: Trajectory) -> Any:
        """The model's last state (q, v, z), or a function that finds it."""
        s = self.system
        return trajectory.restart.x[: s.nq + s.nv + s.nz]

    def explain(self, trajectory: Trajectory) -> str:
        """What a failure means for the mechanism."""
        from .diagnose import explain_failure

        return explain_failure(self.native, trajectory, self.inputs, self.settings.step or 0.0, self.stiff_by)

    def told(self, trajectory: Trajectory) -> str:
        """How a run ended, in the words of the model."""
        if trajectory.status != "failed":
            return trajectory.message
        return self.native.lost() or self.explain(trajectory)

    def begin(self) -> Any:
        """Makes the native functions; what the method starts from."""
        self.native = self.native_side()
        self._check_method()
        return self.first()

    def goes_on(self, trajectory: Trajectory) -> bool:
        """Whether a run that came to a stop goes on from there in other coordinates; then :meth:`begin` makes their functions."""
        return False

    def renewed(self, t: float, x: np.ndarray) -> np.ndarray:
        """The state of the method after a jump of the inputs."""
        return x

    def follow(self, t: float, x: np.ndarray) -> None:
        """Notes a point that an open run has passed."""

    def portable(self, saved: Callable[[str], Any]) -> dict[str, Any]:
        """Plain data of an open run for another process; ``saved`` gives attributes as they were."""
        return {}

    def take(self, data: Mapping[str, Any]) -> Any:
        """Takes over plain data of a run like this one; the state to enter from where it is now in other coordinates, else None."""
        return None

    def compiled_channels(self) -> set[str]:
        """Channels that may be functions of time, state, inputs and accelerations of the native side."""
        s, m = self.system, self.system.model
        rates = {e.name for c in s.configuration.coordinates for e in c.a}
        energies = {"energy.kinetic", "energy.potential", "energy.total"}
        return {"t", *s.coordinate_names, *s.velocity_names, *m.states, *m.inputs, *m.outputs} | energies | rates

    # -- the run --------------------------------------------------------------------------------------------------

    def open(self, step: float, inputs: Sequence[str], outputs: Sequence[str]) -> OdeEngine:
        """The run held open."""
        from .stepper import OdeEngine

        return OdeEngine(self, step, inputs, outputs)

    def go(self, restart: Restart | None = None) -> Outcome:
        """Integrates to the end, or as far as it goes."""
        resumed = self.fits(restart)
        if resumed:
            assert restart is not None
            self.resume_inputs(restart)
        first = self.begin()
        if restart is not None and resumed:
            first = self.resumed(restart)
        return self.outcome(ended(self.native, self.march(first, self.span)))

    def resumed(self, restart: Restart) -> Any:
        """What the method goes on from."""
        fresh = restart.inner is None or restart.inner.method != self.integrator  # a passage has a method of its own
        return self.first() if fresh else restart.inner

    def march(
        self, first: Any, span: tuple[float, float], by: Callable[..., Any] = integrate, more: Sequence[Event] = (), **changes: Any
    ) -> Any:
        """The integration from a state or a checkpoint over a span; ``by`` may only prepare it, with ``more`` events and ``changes`` of its
        control."""
        native = self.native
        return by(
            native.rhs, span, first, self.settings.method, project=native.project, positions=native.positions, quaternions=native.quaternions, switch=native.switch,
            events=[*self.acting_events(), *more], samples=self.inputs.samples(span, native.u, self.model_state),
            **self.inputs.renewing(native), **self.derivatives(),
            **(self.control() | changes),
        )  # fmt: skip

    def run_kept(
        self, more: tuple[Any, ...], span: tuple[float, float], first: Any, prepare: Callable[[Callable[..., Any]], Any]
    ) -> Trajectory:  # fmt: skip
        """The integration that an earlier run with the same settings has made ready, or the one that ``prepare`` makes; it is kept for the next.

        ``more`` is what it depends on beyond the settings; ``prepare`` takes :func:`.integrate` or :func:`.ready`.
        """
        s, drives = self.settings, self.native.drives
        key = (*s.control, *more)
        if not self.inputs.repeat or s.steps is not None or not is_plain(key):
            return prepare(integrate)  # type: ignore[no-any-return]
        drive = drives.pop(key, None)
        if drive is not None:
            again(drive, span, first, s.times, s.keeps_interpolant, s.max_steps)
            if drive.session.memories is not None:
                drive.session.memories.renew(self.inputs.renewed)
        else:
            drive = prepare(ready)
            if not hasattr(drive, "session"):
                return drive  # type: ignore[no-any-return]
            if drive.session.is_small:
                drive.session.keep()
        found = drive.run(s.progress)
        if drive.session.is_small:
            while drives and (len(drives) >= MOST_KEPT or sum(d.session.size for d in drives.values()) > MOST_NUMBERS):
                del drives[next(iter(drives))]  # the one that has not been used for longest
            drives[key] = drive
        return found

    def control(self) -> dict[str, Any]:
        """Step control and output as the methods take them."""
        s = self.settings
        return {
            "rtol": s.rtol, "atol": s.atol, "step": s.step, "max_step": s.max_step, "max_steps": s.max_steps, "steps": s.steps,
            "t_eval": s.times, "dense": s.keeps_interpolant, "progress": s.progress,
        }  # fmt: skip

    def derivatives(self) -> Mapping[str, Any]:
        """∂f/∂x and ∂f/∂t where the method needs them; of methods in turns, what makes ∂f/∂x when it is needed."""
        if self.settings.method == AUTO:
            return {"later": lambda: self.native.finding(self.native.derivatives()["jacobian"])}
        if self.settings.method not in STIFF:
            return {}
        return {name: self.native.finding(f) for name, f in self.native.derivatives().items()}

    def events(self) -> list[Event]:
        """The model's events as the methods take them, and zeros of what is watched."""
        found = self.native.events()
        return [*found, *self.native.watching(self.watch)] if self.watch else found

    def watched(self, trajectory: Trajectory) -> dict[str, Any]:
        """When watched expressions were zero, each with its number, to be told of a run."""
        if not self.watch:
            return {}
        return {"watched": [(e.t, int(e.name.removeprefix("watch "))) for e in trajectory.events if e.name.startswith("watch ")]}

    def acting_events(self) -> list[Event]:
        """The model's events, memories set by their jumps included."""
        return self.inputs.setting_memories(self.events(), self.native.u, self.model_state)

    def _check_method(self) -> None:
        method, name = self.settings.method, self.system.model.name
        if not isinstance(method, str) or method in METHODS or method == AUTO:
            return
        if method in ALPHA_METHODS:
            raise InputError(
                f"simulate '{name}': method '{method}' works on all coordinates with multipliers, not in {self.kind} runs; use "
                "reduction='projected' with it"
            )
        own = OTHER_METHODS.get(method.lower().replace("-", "").replace("_", ""))
        meant = f"did you mean '{own}'? " if own else ""
        raise InputError(
            f"simulate '{name}': method '{method}' is unknown to {self.kind} runs; {meant}choose one of {', '.join((AUTO, *self.system.methods))}"
        )

    # -- what it gave ---------------------------------------------------------------------------------------------

    def outcome(self, trajectory: Trajectory) -> Outcome:
        """What the trajectory is for the model, with what is needed to go on."""
        message = trajectory.message if trajectory.cause is not None else self.told(trajectory)
        status = trajectory.status
        if self.system.model.events and self.inputs.steady and status == "finished":
            missed = self._missed(trajectory)
            status, message = ("doubtful", missed) if missed else (status, message)
        return self.gave(trajectory, status, message, self.native.u)

    def _missed(self, trajectory: Trajectory) -> str:
        """Which event of the model was passed over, in words."""
        if trajectory.segments is None or not self.native.guards_cross_inside(trajectory.segments, self._own_events):
            return ""
        return passed_over(self._own_events(), trajectory)

    def _own_events(self) -> list[Event]:
        return [e for e in self.events() if e.name in self.system.model.events]

    def gave(self, trajectory: Trajectory, status: str, message: str, u: np.ndarray) -> Outcome:
        """The trajectory as states of the model, and the inputs at its end."""
        inner = trajectory.restart
        restart = Restart(self.kind, self.settings.method, inner.t, self.final(trajectory), inner, self.memory(u))
        turns: dict[str, Any] = {"turns": list(trajectory.turns)} if trajectory.turns else {}
        about = turns or ({"method": EXPLICIT} if self.settings.method == AUTO else {})
        return Outcome(
            trajectory.t, self.rows(trajectory), status, message, lambda: vars(trajectory.stats) | turns, self.between(trajectory),
            restart, cause=trajectory.cause, events=self.happened(trajectory), about=about,
        )  # fmt: skip

    def happened(self, trajectory: Trajectory) -> Happened | None:
        """The model's events."""
        records = [e for e in trajectory.events if e.name in self.system.model.events]
        if not records:
            return None
        return Happened([e.t for e in records], [e.name for e in records], lambda: self.event_states(trajectory, records))

    def event_states(self, trajectory: Trajectory, records: Sequence[EventRecord]) -> tuple[np.ndarray, np.ndarray]:
        """States (q, v, z) of the model before and after events."""
        s = self.system
        before, after = (np.array(x)[:, : s.nq + s.nv + s.nz] for x in ([e.x_before for e in records], [e.x_after for e in records]))
        return before, after


class ModelJumps:
    """Jumps of the model's events for runs in other coordinates: to the model's state, through the jump, and back."""

    def __init__(self, run: OdeRun, back: Callable[[State], np.ndarray]) -> None:
        self.run, self.back = run, back

    def events(self, found: list[Event]) -> list[Event]:
        """Events with the actions that the model gives them."""
        items = self.run.system.model.events
        return [replace(e, action=self._action(e.name)) if items[e.name].jump else e for e in found]

    def _action(self, name: str) -> Callable[[float, np.ndarray], np.ndarray]:
        system = self.run.system
        f = system.function("jump", event=name)

        def action(t: float, x: np.ndarray) -> np.ndarray:
            before = self.run.model_state(t, x)
            u = self.run.inputs.at(np.array([t]), before.x[None])[0]
            known = {"t": np.array([t]), "x": before.x, "u": u}
            with Named(f"the jump of event '{name}'", t):
                return self.back(split_state(system, np.atleast_1d(f(*(known[n] for n in f.inputs))), t))

        return action


__all__ = ["ModelJumps", "OdeRun"]
