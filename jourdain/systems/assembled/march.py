"""One run of an assembled system: from its start to a march that is ready, and what the march has given."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ...elements.discrete.schemes import Scheme, scheme
from ...errors import InputError, SolverError
from ...results.events import ACTION, END, EventTable, Occurrence
from ...results.solution import Solution
from ...solvers.linear.sparse_lu import SingularMatrix
from ...solvers.stepping import frame as ap
from ...solvers.stepping.run import Rows, Run
from .audit import BROKEN, LIMIT, audit, come_apart, failed
from .channels import channels_of, motion_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .events import EventRun
    from .program import Handle, Instance, Program
    from .servo import ServoStart
    from .system import AssembledSystem

LINEAR_SOLVERS = ("own", "library")
SERVOS = ("direct", "projected")
#: Entries of a matrix up to which a run's memory is kept for the next.
MOST_KEPT = 100_000
_STATUS = {ap.FINISHED: "finished", ap.EVENT: "event", 0: "interrupted"}


class Held(Protocol):
    """What marches a run piece by piece and sets fixed coordinates between the pieces."""

    def march(self, run: Any, progress: bool) -> tuple[Rows, int]:
        """Rows of output and the reason of the end."""


class March:
    """A run ready to march, its program and its events; the options are those of :meth:`.AssembledSystem.simulate`."""

    def __init__(
        self, system: AssembledSystem, end: float, step: float, method: str = "energy-momentum", reduction: str = "none", *, start: float = 0.0,
        tolerance: float = 1e-12, adaptive: bool = False, rtol: float | None = None, atol: float | None = None, every: int = 1,
        max_iterations: int = 20, linear_solver: str = "own", servo: str = "direct", memory: Any = None, **coefficients: float,
    ) -> None:  # fmt: skip
        self._begun, self.system, self._servo = time.perf_counter(), system, servo
        chosen = scheme(method, **coefficients)
        if linear_solver not in LINEAR_SOLVERS or (linear_solver == "library" and reduction == "joints"):
            raise InputError(
                f"system '{system.name}': linear_solver '{linear_solver}' is not available with reduction '{reduction}'; "
                "choose 'own', or 'library' with reduction 'none' or 'bodies'"
            )
        if servo == "projected":
            from .servo import even_step

            step = even_step(system.name, end - start, step, adaptive)
        self._about = {"model": system.name, "method": method, "reduction": reduction, "step": step, "tolerance": tolerance}
        acting = system.acting
        self.run, self.program = new_run(acting, chosen, reduction, start, end, step, every, tolerance, max_iterations, servo)
        if linear_solver == "library":
            self.run.use_library()
        self._control_steps(adaptive, rtol, atol, step)
        if memory is not None:
            self.run.recall(memory)
        self.run.begin()
        self.events: EventRun | None = None
        if system.events:
            from .events import EventRun

            self.events = EventRun(system, system.events, chosen, reduction, servo, self.run, acting, self.program, set(system.inactive))

    def _control_steps(self, adaptive: bool, rtol: float | None, atol: float | None, step: float) -> None:
        """Lets the steps follow their error when ``adaptive``."""
        if adaptive:
            rtol, atol = 1e-5 if rtol is None else rtol, 1e-7 if atol is None else atol
            if not (rtol >= 0.0 and atol >= 0.0 and rtol + atol > 0.0):
                raise InputError(
                    f"system '{self.system.name}': rtol = {rtol:g} and atol = {atol:g} must be positive (one of them may be 0)"
                )
            self.run.set_adaptive(rtol, atol, 0.01 * step)
        elif rtol is not None or atol is not None:
            raise InputError(
                f"system '{self.system.name}': rtol and atol choose steps when adaptive=True; steps of {step:g} s have no use for them"
            )

    def go(self, progress: bool = False, held: Held | None = None) -> Marched:
        """Marches to the end, or as far as it goes."""
        rows, reason = self.run.march(progress) if held is None else held.march(self.run, progress)
        t, q, v, lam, book = rows.joined()
        if len(t) > 1 and self._servo == "direct":
            lam[0] = lam[1]  # multipliers are means over a step; the first row shows those of the first step
        about, statistics = self._about | {"status": _STATUS.get(reason, "failed")}, self.run.statistics(time.perf_counter() - self._begun)
        system, names, left_out = self.system, self.program.multiplier_names, frozenset(self.system.inactive)
        resting = set(self.system.inactive) if self.events is None else self.events.inactive
        if self.events is not None:
            names, left_out = self.events.multiplier_names, frozenset(self.events.ever_inactive)
            about["events"], statistics["events"] = self.events.records, len(self.events.records)
        found = Marched(
            system, (t, q, v, lam, book), about, statistics, self.run.remember() | {"inactive": np.array(sorted(resting), str)}, tuple(system.handles), tuple(system.instances), names, left_out,
            self.run.error, events=[] if self.events is None else list(zip(self.events.records, self.events.states, strict=False)),
        )  # fmt: skip
        found.wrong = self._wrong(found, str(about["status"]))
        return found

    def leave(self) -> None:
        """Gives the memory of the run to the next one of the same equations; nothing may use this march any more."""
        if self.events is None and self.run.plain and self.run.values.size <= MOST_KEPT and not self.program.ended:
            self.program.ended.append(self.run)

    def _wrong(self, found: Marched, status: str) -> str:
        """Why a run has failed, or broken what it must keep; nothing otherwise."""
        name, program, acting = self.system.name, self.program, self.system.acting
        if self.events is not None:
            program, acting = self.events.program, self.events.acting
            if self.events.failure:
                return self.events.failure
            if self.run.count.no_number:
                guard = self.system.events[self.run.count.no_number - 1].name
                return f"simulate '{name}': the guard of event '{guard}' is not a number on the way"
        if status == "failed":
            from .report import failure

            return failure(name, self.run, program)
        t, q, v, _, book = found.rows
        if book[:, ap.ASTRAY].max() > LIMIT:
            return failed(name, found.audited(), book[:, ap.ASTRAY], t)
        return come_apart(name, acting.equations, book[:, ap.VIOLATION], t, q, v) if book[:, ap.VIOLATION].max() > BROKEN else ""


@dataclass
class Marched:
    """What a march has given: times, coordinates, rates, multipliers and books in ``rows``; ``wrong`` says why it is worth nothing."""

    system: AssembledSystem
    rows: tuple[np.ndarray, ...]
    about: dict[str, Any]
    statistics: dict[str, Any]
    memory: dict[str, np.ndarray]
    handles: Sequence[Handle]
    instances: Sequence[Instance]
    multiplier_names: Sequence[str]
    left_out: frozenset[str]
    #: what a user's function raised, if that is why the run ended
    cause: BaseException | None = None
    wrong: str = ""
    #: ((time, name), (q, v before, q, v after)) of the events
    events: Sequence[tuple[tuple[float, str], tuple[np.ndarray, ...]]] = ()

    def audited(self) -> dict[str, Any]:
        """What the elements that have always acted audit."""
        return audit([i for i in self.instances if i.name not in self.left_out], self.rows[1])

    @cached_property
    def solution(self) -> Solution:
        """Named channels, made when they are asked for."""
        t, *rows = self.rows
        channels = lambda: channels_of(self.handles, self.instances, self.multiplier_names, *rows) | self.audited()
        found = Solution(t, channels, lambda: self.about, lambda: self.statistics, self.system, derivatives=dict, events=self._table)
        found.restart = self.memory
        return found

    def motion(self, t: np.ndarray, q: np.ndarray, v: np.ndarray) -> Solution:
        """Other coordinates and rates as channels."""
        return Solution(t, motion_of(self.handles, self.instances, q, v))

    def _table(self) -> EventTable:
        """The events with coordinates and rates by block."""
        kinds = {e.name: ", ".join([ACTION] * (e.action is not None) + [END] * e.terminal) for e in self.system.events}

        def named(q: np.ndarray, v: np.ndarray) -> dict[str, Any]:
            parts = {h.name: slice(h.offset, h.offset + h.size) for h in self.handles}
            return {n: q[p].tolist() for n, p in parts.items()} | {f"{n}.rate": v[p].tolist() for n, p in parts.items()}

        found = (Occurrence(name, t, named(*x[:2]), named(*x[2:]), kinds.get(name, "")) for (t, name), x in self.events)
        return EventTable(found, kinds)


def new_run(
    system: AssembledSystem, chosen: Scheme, reduction: str, start: float, end: float, step: float, every: int, tolerance: float, iterations: int,
    servo: str = "direct",
) -> tuple[Run, Program]:  # fmt: skip
    """A run at its initial state, ready to march, and its program."""
    try:
        timed = step > 0.0 and np.isfinite(end - start + step) and end > start
    except TypeError:
        timed = False
    if not timed:
        raise InputError(f"system '{system.name}': step {step} s and span {start} … {end} s must be positive and finite numbers")
    if not (every >= 1 and tolerance > 0.0 and iterations >= 1) or every != int(every):
        raise InputError(
            f"system '{system.name}': every = {every}, tolerance = {tolerance:g} and max_iterations = {iterations} must be positive, every a whole number"
        )
    q, v = system.start.consistent(system.q0, system.v0, start, system.name)
    first = _servo_start(system, servo, chosen, q, v, start)
    if first is not None:
        q, v = first.q, first.v
    z, program = prepared(system, chosen, reduction, servo, q, v, start)
    try:
        run = program.ended.pop()
        run.renew(chosen.coefficients, q, v, z, tolerance, iterations)
    except IndexError:
        run = Run(program.plan, (program.starts, program.indices), program.columns, chosen.coefficients, q, v, z, tolerance, iterations)
    run.set_time(start, end, step, every)
    if first is not None:
        run.vec.v0, run.vec.a0, run.vec.d0 = first.rates(chosen, step)
        run.lam.last[:] = [first.multipliers.get(name, 0.0) for name in program.multiplier_names]
    elif chosen.has_acceleration:
        run.vec.a0 = run.vec.d0 = system.equations.accelerations(q, v, start)[0]
    _factorise(system, run, program, reduction, first is not None)
    return run, program


def prepared(
    system: AssembledSystem, chosen: Scheme, reduction: str, servo: str, q: np.ndarray, v: np.ndarray, t: float
) -> tuple[np.ndarray, Program]:
    """Internal variables at a state and the program of a scheme; rows that depend on others at the first state are left out."""
    if system.dropped is None:
        system.dropped = system.start.redundant(q, v, t)
    program = system.program(chosen, reduction, servo)
    return program.initial_history(q), program


def give(system: AssembledSystem, run: Run, program: Program, reduction: str, z: np.ndarray) -> None:
    """Lets a run go on with a program of a system."""
    run.adopt(program.plan, (program.starts, program.indices), program.columns, z)
    _factorise(system, run, program, reduction)


def _factorise(system: AssembledSystem, run: Run, program: Program, reduction: str, loaded: bool = False) -> None:
    """What solves the steps of a run: joint coordinates, or pivots of the sparse matrix (with multipliers when ``loaded``)."""
    if reduction == "joints":
        from .joints import JointSpace

        JointSpace(program).attach(run)
        return
    run.matrix()
    if loaded:  # without tension a rope would steer nothing
        run.lam.now = run.scheme.kappa * run.lam.last
        run.matrix()
    try:
        run.analyse()
    except SingularMatrix as error:
        raise SolverError(
            f"system '{system.name}': the equations do not determine '{program.unknown_names[error.column]}'; "
            "is it free of mass and of forces, or constrained twice?"
        ) from None
    run.use_library_again()


def _servo_start(system: AssembledSystem, servo: str, chosen: Scheme, q: np.ndarray, v: np.ndarray, t: float) -> ServoStart | None:
    """The consistent start of a projected run; refuses servo constraints that the scheme cannot solve."""
    if servo not in SERVOS:
        raise InputError(f"system '{system.name}': servo '{servo}' is unknown; choose one of {', '.join(SERVOS)}")
    if servo == "projected":
        from .servo import check_projection

        return check_projection(system, chosen, t)
    if system.equations.has_servo:
        from .servo import check_actuation

        check_actuation(system, q, v, t, chosen.name)
    return None


__all__ = ["Held", "March", "Marched", "give", "new_run", "prepared"]
