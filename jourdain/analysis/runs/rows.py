"""Many short runs of one system in one native loop, with the bits of single runs: what sweeps and criteria of many designs share.

Rows of parameters and starts go in; Python is asked by nothing between them.  What a single run asks Python for is left to single runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import JourdainError
from ...solvers.native_function import address
from ...solvers.ode.drive import SLOW_STEPS
from ...solvers.ode.ended import STIFF
from ...solvers.ode.frame import FINISHED
from ...solvers.ode.inside import Guards, Look
from ...solvers.ode.integrate import ready
from ...solvers.ode.march import march
from ...solvers.sensitivity.rows import Rows, run_rows
from ...symbolic.graph import free_symbols
from ...systems.audit import KNOWN, Limits
from ...systems.inputs import Inputs
from ...systems.tree.contact.afresh import afresh, begin_afresh, laws_missed
from ...systems.tree.contact.moreau import MoreauRun
from ...systems.tree.runs import ProjectedRun
from ...systems.tree.system import TreeSystem
from ..simulate import check_arrives, settings_of, span_of

if TYPE_CHECKING:
    from ...native.function import Function
    from ...solvers.ode.session import Session
    from ...systems.state import State
    from ...systems.system import System

#: Runs that one call of the loop does before Python is asked for Ctrl-C, and steps of one of them beyond which it is looked at alone.
AT_ONCE, MOST_STEPS = 256, 20_000
#: Options with which final states are those of a plain run, by method.
PLAIN = frozenset(("rtol", "atol", "max_step", "max_steps", "progress"))
MOREAU = frozenset(("step", "tolerance", "max_iterations", "max_steps", "progress"))
#: Fixed steps after which Python is asked for Ctrl-C.
STEPS = 256


def plain_options(method: Any) -> frozenset[str]:
    """Options with which final states by a method are those of a plain run."""
    return MOREAU if method == "moreau" else PLAIN


def why_not_plain(system: System, method: Any = None) -> str:
    """What acts in runs of a system besides its equations, events and the rigid contacts that a method steps with; nothing where Python need not look at them."""
    m = system.model
    if type(system) is not TreeSystem:
        return f"the {system.formulation} formulation"
    rigid = {"contacts": m.contacts, "rigid stops": m.rigid_stops, "dry friction": m.dry_friction, "ropes": m.ropes}
    if method == "moreau":
        rigid = {
            "contacts that give way": [c for c in m.contacts.values() if c.gives_way],
            "closed loops with contacts": system.equations_of_motion.rows,
        }
    parts = {
        **rigid, "joints that let go": m.switches, "Python callbacks": m.callbacks, "memories": m.memories, "algebraic unknowns": m.unknowns,
        "conditions of parameters": system.equations_of_motion.conditions, "bodies that bend": [b for b in m.bodies.values() if b.bends],
    }  # fmt: skip
    return next((what for what, found in parts.items() if found), "")


def moving_loops(system: System) -> set[str]:
    """Names of parameters that change closed positions and velocities."""
    eq = system.reference.equations_of_motion
    names = [*(["constraints"] if eq.holonomic else []), *(["constraint_velocities"] if eq.rows else [])]
    return {e.name for n in names for e in free_symbols(list(system.reference.symbolic(n).expressions))}


def new_rows(session: Session, functions: Iterable[tuple[Function, np.ndarray]], parameters: int, limits: Limits, keep: list[Any]) -> Rows:
    """The record of runs by a session, which compiled functions with their constants belong to; ``keep`` owns what it refers to.

    A session of joints with limits keeps all steps, and has room for their rows.
    """
    p = np.zeros(max(1, parameters))
    addresses, args = [], []
    for f, constants in functions:
        if f.signature.parameters:
            work = np.zeros(max(1, f.signature.workspace))
            addresses.append(f.prepare_address)
            args.append(np.array([address(p), address(constants), address(work)], np.int64))
            keep += [constants, work, f]
    looks = Look(looks=0)
    if session.events:
        guards = Guards(session.events, session.n)
        looks = guards.record
        looks.spans, looks.coefficients = session.spans_room, session.coef_room
        keep.append(guards)
    keep += [p, *args, session]
    none = np.zeros((1, 1))
    return Rows(
        before=0, after=0, looked_args=np.zeros(0, np.int64), at_once=0, left=0, begun=0, more=0, stiff=STIFF,
        march=march.address, walk=0, frame=session.address, changing=session._changing, prepared=session._changing.copy(), x=session.x, p=p, row_t=session.row_t,
        bounded=limits.places, least=limits.low, most=limits.high, prepare=np.array(addresses, np.int64), prepare_args=np.array([address(a) for a in args], np.int64), look=looks, parameters=none, starts=none,
        wanted=np.zeros(0), status=np.zeros(1, np.int64), ends=np.zeros(1), finals=none, totals=none, values=none, extrema=none, times=none,
    )  # fmt: skip


def grant(drive: Any, most: int) -> int:
    """Lets runs take as many steps as they can before a single run would look whether it is stiff; how many they may take besides."""
    session = drive.session
    room = min(session.step_room, most)
    session.progress.steps_left = min(room, drive.to_tell or room)
    return max(0, room - session.progress.steps_left) if drive.to_tell == SLOW_STEPS else 0


def run_all(r: Rows, parameters: np.ndarray, starts: np.ndarray) -> None:
    """Does all rows."""
    n = len(parameters)
    r.parameters, r.starts, r.status, r.finals = parameters, starts, np.zeros(n, np.int64), np.zeros((n, starts.shape[1]))
    for first in range(0, n, AT_ONCE):
        r.first, r.last, r.begun = first, min(n, first + AT_ONCE), 0
        while run_rows.call(r.address) != 0:
            pass  # here Python hears Ctrl-C


class Finals:
    """Final states of runs of one system over one span."""

    def __init__(self, system: TreeSystem, start: State, span: tuple[float, float], method: str | None, options: Mapping[str, Any]) -> None:
        self.system, self.span, self.touching = system, span, method == "moreau"
        self._moving: set[str] | None = None
        settings, rest = settings_of(system, span, method, options)
        step = settings.step
        if self.touching:  # each start is looked at by itself
            check_arrives(system.model.name, step, span)
            rest = {**rest, "overlap": "push apart"}
        limits = Limits(system)
        times = None if limits.joints else np.array([span[1]])  # whether limits are kept is asked of all steps
        run: Any = system.run(start, span, Inputs(system, None), replace(settings, times=times, dense=bool(system.model.events)), rest)
        self.carried = type(run) is (MoreauRun if self.touching else ProjectedRun)
        if not self.carried:
            return
        run.native = native = run.native_side()
        drive = run.march(run.first(), span, ready, native_actions=True)
        short = not limits.joints or not self.touching or step is None or abs(span[1] - span[0]) < (MOST_STEPS - 8) * step
        self.carried = (self.touching or native.by_constants) and hasattr(drive, "session") and short
        if not self.carried:
            return
        session, self._keep = drive.session, list[Any]([native, drive])
        if session.dense or limits.joints:
            session._allocate_rows(MOST_STEPS)
        more = grant(drive, MOST_STEPS)
        self.record = new_rows(session, [] if self.touching else native._copies, len(system.parameter_vector), limits, self._keep)
        self.record.more = 0 if self.touching else more
        if self.touching:
            self._begin_with_contacts(run, session)
        self.places = {p.name: i for i, p in enumerate(system.model.parameter_set)}
        self.base = system.parameter_vector.copy()
        self.within = [p.bounds for p in system.model.parameter_set]

    def _begin_with_contacts(self, run: MoreauRun, session: Session) -> None:
        """Lets every run forget the one before and look at its own start; however many steps it takes, it says nothing of them."""
        looked = afresh(run.contacts, self.span[0], session.x)
        self.record.before, self.record.after, self.record.looked_args = begin_afresh.address, laws_missed.address, looked.words
        self.record.at_once = 0 if session.events else STEPS
        self._keep += [run, looked]

    @classmethod
    def of(cls, system: System, start: State, t: Any, method: str | None, options: Mapping[str, Any]) -> Finals | None:
        """The loop for runs like that from a start; None where they are not plain."""
        if (
            not isinstance(system, TreeSystem)
            or why_not_plain(system, method)
            or not plain_options(method).issuperset(options)
            or start.memory
        ):
            return None
        try:
            found = cls(system, start, span_of(system.model.name, start.t, t), method, options)
        except JourdainError:  # single runs tell what is wrong
            return None
        return found if found.carried else None

    def carries(self, parameters: Iterable[str], starts: int) -> bool:
        """Whether runs with other values of these parameters, from so many starts, differ in numbers only: closed loops are where they were, contacts are those of the same bodies."""
        parameters = list(parameters)
        if self.touching:
            return not parameters
        if not self.system.equations_of_motion.rows:
            return True
        if self._moving is None:
            self._moving = moving_loops(self.system)
        return starts == 1 and self._moving.isdisjoint(parameters)

    def rows(self, sets: Sequence[Mapping[str, float]]) -> tuple[np.ndarray, np.ndarray]:
        """Parameters in rows, and which lie within their bounds: others are told of."""
        p, well = np.zeros((len(sets), max(1, self.base.size))), np.ones(len(sets), bool)
        p[:, : self.base.size] = self.base
        for i, one in enumerate(sets):
            for name, x in one.items():
                place = self.places[name]
                p[i, place] = x
                low, high = self.within[place]
                well[i] &= not ((low is not None and x < low) or (high is not None and x > high)) and np.isfinite(x)
        return p, well

    def after(self, sets: Sequence[Mapping[str, float]], starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Final states in rows, and which runs need not be looked at alone."""
        p, well = self.rows(sets)
        x = np.zeros((len(starts), self.record.x.size))  # what contacts book begins at zero
        x[:, : starts.shape[1]] = starts
        run_all(self.record, p, x)
        found = self.record.finals[:, : starts.shape[1]]
        turned = np.abs(found[:, : self.system.nq]).max(axis=1, initial=0.0) >= KNOWN
        return found, well & (self.record.status == FINISHED) & ~turned


__all__ = ["AT_ONCE", "Finals", "moving_loops", "new_rows", "plain_options", "run_all", "why_not_plain"]
