"""Runs of trees with contacts by Moreau's time-stepping."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ....errors import InputError
from ....results.channel import Channel
from ....solvers.nonsmooth import moreau
from ....solvers.nonsmooth.notes import NOTED
from ....solvers.nonsmooth.records import ACTING, DEPTH, DISSIPATED, ITERATIONS, NO_NUMBER, NO_ROOM, OPENING, RESIDUAL, Noted
from ....solvers.ode.events import Event
from ....solvers.ode.integrate import integrate
from ....solvers.ode.trajectory import Checkpoint, Trajectory
from ....symbolic.expr import Expr
from ...inputs import Inputs
from ...ode_run import OdeRun
from ...outputs.driven_books import supplied_in_steps
from ...pushed import touches_rigidly
from ...run import DEFAULTS, Outcome, Restart, Settings
from ...state import State, split_state
from ..crossing import joined
from ..runs import ProjectedRun
from .contacts import SWEEPS, TOLERANCE, TreeContacts
from .instant import rows_of
from .passing import TOO_FAST
from .table import ContactTable
from .warm import WarmRun

if TYPE_CHECKING:
    from ....results.solution import Solution


#: Runs are done once more to look at their books as long as all their steps have no more numbers than this.
MOST_NUMBERS = 2e7


class MoreauMarch(WarmRun):
    """Fixed steps in which impacts, rest and sliding of all contacts are found together, in any coordinates: rows are (q, v, z, forces, books)."""

    kind = "moreau"
    honours = frozenset(DEFAULTS) - {"rtol", "atol", "max_step", "steps"}
    #: Where the run starts in its own coordinates.
    own: State
    #: The last step of a solution that was taken once more, and what it leaves for the next.
    _left: tuple[Solution, int, tuple[np.ndarray, ...], tuple[np.ndarray, np.ndarray]] | None = None
    #: Coordinates, velocities and states of a solution in rows.
    looked_at: tuple[Solution, np.ndarray] | None = None
    #: From which the run went on.
    _restart: Restart | None = None

    def __init__(
        self, system: Any, start: State, span: tuple[float, float], inputs: Inputs, settings: Settings, *,
        tolerance: float = TOLERANCE, max_iterations: int = SWEEPS, overlap: str | None = None,
    ) -> None:  # fmt: skip
        super().__init__(system, start, span, inputs, settings)
        self.kind = MoreauMarch.kind
        if settings.step is None:
            raise InputError(f"simulate '{system.model.name}': method 'moreau' needs step= in seconds, such as step=1e-3")
        if overlap not in (None, "push apart"):
            raise InputError(f"simulate '{system.model.name}': overlap = {overlap!r} is unknown; it may be 'push apart'")
        if not (system.model.contacts or touches_rigidly(system.model)):
            raise InputError(
                f"simulate '{system.model.name}': method 'moreau' is for contacts, and there are none; declare some by m.contact(…)"
            )
        self._control = float(tolerance), int(max_iterations)
        self._apart = span[0] + 1.5 * settings.step if overlap is not None else None
        self.contacts = self.contacts_of_run()
        self.contacts.begin(*self._control)
        self.note_warm()
        #: Whether bodies that overlap at the start are refused; what a run has left another one goes on from.
        self._refuses = overlap is None

    def contacts_of_run(self) -> TreeContacts:
        """The contacts in the coordinates of the run, whose start is ``own``."""
        raise NotImplementedError

    def first(self) -> np.ndarray:
        """The state, with nothing booked yet."""
        return np.r_[self.own.x, np.zeros(self.contacts.size - len(self.own.x))]

    def _check_method(self) -> None:
        pass  # the system chose this kind of run by the method

    def march(
        self, first: Any, span: tuple[float, float], by: Callable[..., Any] = integrate, more: Sequence[Event] = (), **changes: Any
    ) -> Any:
        """The integration; where contacts find no room, it goes on with twice as much."""
        if self._refuses and not isinstance(first, Checkpoint):
            self.contacts.refuse_overlaps(self.own, ", or let overlap='push apart' do it")
        self._refuses = False
        done: list[Trajectory] = []
        while True:
            found = self._march(first, span, by, more, **changes)
            if not isinstance(found, Trajectory) or found.status != "failed" or f"status {NO_ROOM} " not in found.message:
                break
            done.append(found)
            first, span = found.restart, (found.restart.t, span[1])
            self.double_room()
        return joined([*done, found]) if done else found

    def _march(self, first: Any, span: tuple[float, float], by: Callable[..., Any], more: Sequence[Event], **changes: Any) -> Any:
        native, control = self.native, self.control() | changes
        self.contacts.close(native)
        for word in ("rtol", "atol", "max_step", "steps"):
            control.pop(word)
        if control["t_eval"] is not None:
            control["t_eval"] = [t for t in control["t_eval"] if t >= span[0]]
        return by(
            native.rhs, span, first, moreau.method(), jacobian=self.contacts.native(), project=self.contacts.projection(native.project),
            switch=self.contacts.switch(native.switch), events=[*self.acting_events(), *more], samples=self.inputs.samples(span, native.u, self.model_state),
            **self.inputs.renewing(native, self.renewed), **control,
        )  # fmt: skip

    def outcome(self, trajectory: Trajectory) -> Outcome:
        """Forces and books are channels; laws that were not met are said."""
        found = super().outcome(trajectory)
        more = found.channels or dict
        channels = lambda: {**contact_channels(self.contacts, self._kept_rows(found.t, trajectory)), **more()}
        driven = supplied_in_steps(self.settings.times is None)
        found = replace(
            found, channels=channels, contacts=lambda solution: ContactTable(solution, self._again, self._apart, self.noted), driven=driven
        )
        found = told_of_laws(found, self.contacts, self._control[1])
        self.unsettled = int(self.contacts.record.worst.unsettled)
        self.contacts.release()
        return found

    def go(self, restart: Restart | None = None) -> Outcome:
        self._restart = restart
        return super().go(restart)

    def with_every_step(self, outcome: Outcome) -> Outcome | None:
        """The run done once more; not where functions of the user would be called again, or where there is no room for all steps."""
        steps, given = int(outcome.statistics().get("steps", 0)), self.inputs
        asks = given.callbacks or any(not isinstance(c.law, Expr) for c in given.controllers.values())
        if asks or steps * self.contacts.size > MOST_NUMBERS:
            return None
        memory = dict(zip(self.system.model.inputs, given.initial.tolist(), strict=True))
        inputs = Inputs(self.system, given.given, {n: memory[n] for n in (*given.memories, *given.unknowns)})
        tolerance, limit = self._control
        settings, apart = replace(self.settings, times=None, dense=False, progress=False), None if self._apart is None else "push apart"
        run = type(self)(self.system, self.start, self.span, inputs, settings, tolerance=tolerance, max_iterations=limit, overlap=apart)
        return run.go(self._restart)

    def _kept_rows(self, t: np.ndarray, trajectory: Trajectory) -> np.ndarray:
        """Rows at the times that are kept."""
        return trajectory.x if len(t) == len(trajectory.t) else trajectory.at(t)

    def noted(self, room: int = 4096) -> tuple[TreeContacts, Outcome, np.ndarray]:
        """Does the run once more and notes what contacts did in every step (:mod:`....solvers.nonsmooth.notes`); the contacts and the outcome with it."""
        while True:
            self.contacts = self.contacts_of_run()
            self.contacts.begin(*self._control)
            self.note_warm()
            notes = Noted(rows=np.zeros((room, NOTED)))
            self.contacts.record.noted = notes
            found = self.go()
            lost = self.contacts.record.noted is not notes  # more contacts than there was room for: this room is kept
            if notes.count <= room and not lost:
                self.contacts.record.noted = Noted(rows=np.zeros((0, NOTED)))
                return self.contacts, found, notes.rows[: notes.count]
            room = max(room, int(notes.count)) + 1

    def _again(self, solution: Solution, k: int) -> tuple[TreeContacts, float]:
        """Takes step k of a solution of this run once more, with what the one before it leaves; the contacts as that step leaves them."""
        prepared: Callable[[MoreauMarch], None] = lambda run: None
        last = k - 1
        while last >= 0 and solution.t[last] == solution.t[last + 1]:
            last -= 1  # inputs were sampled between, or something happened
        if last >= 0:
            known = self._left
            if known is None or known[0] is not solution or known[1] != last:
                before = self._one_step(solution, last)
                known = solution, last, before.touching(), before._last_rows()  # the next one may get the same memory
            prepared = lambda run: run.take_up(*_as_it_was(run, *known[2:]))
        run = self._one_step(solution, k, prepared)
        self._left = solution, k, run.touching(), run._last_rows()
        return run.contacts, float(run.settings.step or 0.0)

    def _one_step(self, solution: Solution, k: int, prepared: Callable[[MoreauMarch], None] = lambda run: None) -> MoreauMarch:
        """Step k of a solution of this run, from its own states."""
        state, known, span, settings = step_again(self, solution, k)
        tolerance, limit = self._control
        run = type(self)(
            self.system, state, span, Inputs(self.system, *known), settings, tolerance=tolerance, max_iterations=limit, overlap="push apart"
        )
        prepared(run)
        run.go()
        return run

    def _last_rows(self) -> tuple[np.ndarray, np.ndarray]:
        """J and d of the contacts of the last step."""
        contacts = self.contacts.record
        s, parts = contacts.contacts, contacts.parts
        return rows_of(s, parts, s.J, np.arange(s.count), contacts.nv), s.drift[: 3 * s.count].copy()


def _as_it_was(run: MoreauMarch, touching: tuple[np.ndarray, ...], rows: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, ...]:
    """What a step remembers of the one before it: speeds and their sum with the velocities that a run has kept, which those of a step taken alone differ from."""
    keys, impulses, _, step = touching
    J, drift = rows
    v = run.own.v
    return keys, impulses, J @ v + drift, np.array([run.span[0], step[1], (1.0 + np.arange(len(v)) % 7) @ v, *step[3:]])


def step_again(run: OdeRun, solution: Solution, k: int) -> tuple[State, list[dict[str, Any]], tuple[float, float], Settings]:
    """State, inputs and memories, span and settings to take step k of a solution once more.

    What is held along a step is told by the row at its end: where a controller is asked, two rows share an instant.
    """
    s, t, end = run.system, float(solution.t[k]), float(solution.t[k + 1])
    if (known := getattr(run, "looked_at", None)) is None or known[0] is not solution:
        names = [*s.coordinate_names, *s.velocity_names, *s.model.states]
        known = run.looked_at = solution, np.column_stack([solution[n] for n in names])  # type: ignore[attr-defined]
    state = split_state(s, known[1][k].copy(), t)
    changing = {e.name for e in run.inputs.signals}
    given: dict[str, Any] = {n: run.inputs.given[n] if n in changing else float(solution[n][k + 1]) for n in s.model.outer_inputs}
    memories = {n: float(solution[n][k]) for n in s.model.memories}
    return state, [given, memories], (t, end), replace(run.settings, step=end - t, times=None, progress=False)


class MoreauRun(MoreauMarch, ProjectedRun):
    """Those of a tree in joint coordinates."""

    def contacts_of_run(self) -> TreeContacts:
        self.own = self.start
        return TreeContacts.of(self.system)


def told_of_laws(found: Outcome, contacts: TreeContacts, limit: int) -> Outcome:
    """The outcome of a run with what is to be said of laws that were not met."""
    worst = contacts.record.worst
    if f"status {TOO_FAST} " in found.message:
        found = replace(found, message="bodies move by hundreds of times their thickness within a step; take a smaller step=")
    if worst.residual > 0.0:
        a, b = (contacts.name_of(i) for i in (worst.shape_a, worst.shape_b))
        if f"status {NO_NUMBER} " in found.message:
            told = (
                f"the restitution between '{a}' and '{b}' is not a number at {worst.speed:.6g} m/s (t = {worst.t:.6g} s); "
                "give a restitution= that has a value at every speed"
            )
            found = replace(found, message=told)
        elif found.status == "finished":
            told = (
                f"the law of contact between '{a}' and '{b}' is missed by {worst.residual:.3g} m/s at t = {worst.t:.6g} s with at most "
                f"{limit} iterations; take a smaller step, or more max_iterations="
            )
            found = replace(found, status="doubtful", message=told)
    return found


def contact_channels(contacts: TreeContacts, x: np.ndarray) -> dict[str, Channel]:
    """Net forces of each contact on its bodies (means over the step before), and the books of all contacts."""
    found = contacts.wrench_channels(x, contacts.first_place)
    books = x[:, contacts.books :]
    found["contacts.dissipated"] = Channel(books[:, DISSIPATED].copy(), "J", "energy taken by contacts")
    found["contacts.depth"] = Channel(books[:, DEPTH].copy(), "m", "deepest penetration before it is taken away")
    found["contacts.residual"] = Channel(books[:, RESIDUAL].copy(), "m/s", "residual of the contact laws")
    found["contacts.acting"] = Channel(books[:, ACTING].copy(), "", "contacts that act")
    found["contacts.iterations"] = Channel(books[:, ITERATIONS].copy(), "", "iterations for the contact laws")
    if contacts.record.laws.problem.relaxed:
        found["contacts.opening"] = Channel(books[:, OPENING].copy(), "m/s", "speed at which convex cones open sliding contacts, at most")
    return found


__all__ = ["MoreauMarch", "MoreauRun", "contact_channels", "step_again", "told_of_laws"]
