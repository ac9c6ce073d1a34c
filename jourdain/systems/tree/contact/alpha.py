"""Runs of trees with rigid contacts by the nonsmooth generalised-α scheme: implicit steps for joints, loops and bodies that bend, jumps for contacts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ....errors import InputError
from ....results.channel import Channel
from ....solvers.native_function import NativeFunction
from ....solvers.nonsmooth import alpha
from ....solvers.nonsmooth.records import BOOKS, NO_ROOM
from ....solvers.ode.events import Event
from ....solvers.ode.integrate import integrate
from ....solvers.ode.trajectory import Checkpoint, Trajectory
from ...inputs import Inputs
from ...outputs.driven_books import supplied_in_steps
from ...pushed import touches_rigidly
from ...run import Outcome, Settings
from ...state import State
from ..alpha import AlphaRun
from .contacts import SWEEPS, TOLERANCE, TreeContacts
from .moreau import contact_channels, step_again, told_of_laws
from .table import ContactTable
from .warm import WarmRun

if TYPE_CHECKING:
    from ....results.solution import Solution
    from ..system import TreeSystem

#: The name of the method.
NONSMOOTH = "nonsmooth-generalized-alpha"


class NonsmoothAlphaRun(WarmRun, AlphaRun):
    """Generalised-α in fixed steps, after each of which velocities jump by the laws of the contacts, and penetrations are taken away."""

    kind = "nonsmooth generalised-α"
    honours = AlphaRun.honours - {"rtol", "atol", "max_step"}
    scheme = "generalized-alpha"

    def __init__(
        self, system: TreeSystem, start: State, span: tuple[float, float], inputs: Inputs, settings: Settings, *, rho: float | None = None,
        tolerance: float = TOLERANCE, max_iterations: int = SWEEPS,
    ) -> None:  # fmt: skip
        super().__init__(system, start, span, inputs, settings, rho=rho)
        self.kind = NonsmoothAlphaRun.kind
        name = system.model.name
        if settings.step is None:
            raise InputError(f"simulate '{name}': method '{NONSMOOTH}' needs step= in seconds, such as step=1e-3")
        if not touches_rigidly(system.model):
            raise InputError(
                f"simulate '{name}': method '{NONSMOOTH}' is for rigid contacts, and there are none; declare some by m.contact(…)"
            )
        if system.model.events:
            raise InputError(
                f"simulate '{name}': method '{NONSMOOTH}' knows no events, but '{name}' has '{next(iter(system.model.events))}'; use method='moreau'"
            )
        self._control = float(tolerance), int(max_iterations)
        #: Steps whose forces can be noted.
        self.room = 0
        self.contacts = TreeContacts.of(system)
        self.contacts.begin(*self._control)
        self.note_warm()

    def march(
        self, first: Any, span: tuple[float, float], by: Callable[..., Any] = integrate, more: Sequence[Event] = (), **changes: Any
    ) -> Any:
        """The integration; where contacts find no room, it begins again with twice as much."""
        if not isinstance(first, Checkpoint):  # what a run has left another one goes on from
            self.contacts.refuse_overlaps(self.start)
        known, n = self.touching(), len(self.start.x)
        self._before = np.array((first.x if isinstance(first, Checkpoint) else first)[:n])
        while True:
            found = super().march(first, span, by, more, **changes)
            if int(self.jumps.rows[0]) > self.room:
                self.room = int(self.jumps.rows[0])  # steps were cut more often than by samples
            elif not isinstance(found, Trajectory) or found.status != "failed" or f"status {NO_ROOM} " not in found.message:
                return found
            else:
                self.double_room()
            self.take_up(*known)

    def projection(self) -> NativeFunction | None:
        """Constraints, then contacts."""
        self.contacts.close(self.native)
        contacts, n = self.contacts, len(self.start.x)
        sampled = sum(len(self.inputs.sampling_instants(name, self.span)) for name in self.inputs.controllers)
        steps = self.room = max(self.room, int(np.ceil((self.span[1] - self.span[0]) / float(self.settings.step or 1.0))) + sampled + 8)
        project = self.native.project
        self.jumps = alpha.Jumps(
            project=0 if project is None else project.address, project_args=np.zeros(3, np.int64) if project is None else project.own_arguments(),
            moreau=contacts.record, t_last=self.span[0], before=self._before.copy(), booked=np.zeros(contacts.size), free=np.zeros(n),
            rows=np.zeros(1, np.int64), log_t=np.zeros(steps), log=np.zeros((steps, contacts.size - n)),
        )  # fmt: skip
        return NativeFunction.of(alpha.jump_after.address, self.jumps, project, contacts)

    def outcome(self, trajectory: Trajectory) -> Outcome:
        """Forces and books of contacts are channels beside those of the scheme; laws that were not met are said."""
        found = super().outcome(trajectory)
        more = found.channels
        assert more is not None

        def channels() -> dict[str, Channel]:
            done, n = int(self.jumps.rows[0]), len(self.start.x)
            t = np.r_[self.span[0], self.jumps.log_t[:done]]
            log = np.vstack([np.zeros(self.contacts.size - n), self.jumps.log[:done]])
            at = np.clip(np.searchsorted(t, found.t - 1e-12 * abs(self.span[1])), 0, done)
            rows = np.hstack([np.zeros((len(at), n)), log[at]])
            assert rows.shape[1] == self.contacts.books + BOOKS
            return {**contact_channels(self.contacts, rows), **more()}

        self.contacts.release()
        driven = supplied_in_steps(self.settings.times is None)
        found = replace(found, channels=channels, contacts=lambda solution: ContactTable(solution, self._again), driven=driven)
        return told_of_laws(found, self.contacts, self._control[1])

    def _again(self, solution: Solution, k: int) -> tuple[TreeContacts, float]:
        """Takes step k of a solution of this run once more; the contacts as that step leaves them."""
        state, known, span, settings = step_again(self, solution, k)
        run = NonsmoothAlphaRun(self.system, state, span, Inputs(self.system, *known), settings, rho=self.rho)
        run.go()
        return run.contacts, float(settings.step or 0.0)


__all__ = ["NONSMOOTH", "NonsmoothAlphaRun"]
