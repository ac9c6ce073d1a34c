"""Events of assembled systems: guards watched in the native march, and what happens at their zeros.

The step that passes an event is done again with the length that ends there, so that the state at the event is one of the scheme and energy is
kept across it.  Actions may stop the run, change velocities (as an impact does), release or insert elements and change constants; the
equations of each set of elements are prepared once.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ...elements.discrete.schemes import Scheme
from ...elements.element import Element, Symbols, symbols_of
from ...errors import InputError, ModelError, SolverError
from ...native.function import Function, compile_function
from ...solvers.stepping import frame as ap
from ...symbolic.expr import LOGICAL, Expr, as_expr
from ...symbolic.function import Argument, Result, SymbolicFunction
from ...symbolic.graph import free_symbols
from ..callbacks import Named
from .march import give, prepared
from .massless import balanced
from .program import Handle, Program

if TYPE_CHECKING:
    from ...solvers.stepping.run import Rows, Run
    from .system import AssembledSystem

Guard = Callable[[Symbols], Expr]
#: So many events within so small a part of the span are an accumulation.
MANY, CLOSE = 14, 1e-8


@dataclass(frozen=True)
class AssembledEvent:
    """A guard over some coordinates, or a multiplier ("element.row"), whose zero crossing is an event.

    ``guard(s)`` is an expression of coordinates (``s.block``), rates (``s.velocity.block``) and time (``s.t``).
    """

    name: str
    guard: Guard | str
    blocks: Mapping[str, Handle]
    direction: int = 0
    terminal: bool = False
    action: Callable[[Moment], None] | None = None

    @property
    def element(self) -> Element:
        """The blocks it speaks of, as those of an element."""
        made = Element()
        made.blocks = {b: h.size for b, h in self.blocks.items()}
        return made

    def expression(self) -> tuple[Symbols, Expr]:
        """The guard in symbols of its blocks."""
        assert not isinstance(self.guard, str)
        s = symbols_of(self.element)
        try:
            value = as_expr(self.guard(s))
        except AttributeError as error:
            known = ", ".join(self.blocks) or "none"
            raise ModelError(
                f"event '{self.name}': its guard uses '{error.name}'; its blocks are {known}: event(…, blocks={{…}})"
            ) from None
        if value.op in LOGICAL:
            raise ModelError(f"event '{self.name}': its guard {value} is a condition; give an expression that crosses zero")
        return s, value

    @property
    def of_rates(self) -> bool:
        """Whether the guard speaks of rates."""
        if isinstance(self.guard, str):
            return False
        s, value = self.expression()
        rates = {e.id for b in self.blocks for e in getattr(s.velocity, b)}
        return any(e.id in rates for e in free_symbols([value]))

    def function(self) -> Function:
        """The compiled guard, of (t, coordinates, rates)."""
        (s, value), blocks = self.expression(), self.blocks
        q = tuple(e for b in blocks for e in getattr(s, b))
        v = tuple(e for b in blocks for e in getattr(s.velocity, b))
        return compile_function(
            SymbolicFunction("guard", (Argument("x", (s.t, *q, *v)),), (Result("guard", (value,), (1,)),), f"event {self.name}")
        )


@dataclass
class Moment:
    """The state at an event, for an action to look at and to change.

    ``q`` and ``v`` hold all coordinates and rates of the system; :meth:`of` gives those of one block.  Velocities that are set here, or that
    inserted constraints forbid, are brought onto the constraints by an impact (the nearest ones in the metric of the masses).
    """

    system: AssembledSystem
    event: str
    t: float
    q: np.ndarray
    v: np.ndarray
    inactive: set[str]
    numbers: dict[str, dict[str, Any]]
    stopped: bool = False

    def of(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates and rates of a block, to read and to write."""
        h = next((h for h in self.system.handles if h.name == name), None)
        if h is None:
            raise InputError(f"event '{self.event}': there are no coordinates '{name}' in system '{self.system.name}'")
        return self.q[h.offset : h.offset + h.size], self.v[h.offset : h.offset + h.size]

    def stop(self) -> None:
        """Ends the run here."""
        self.stopped = True

    def remove(self, *elements: str) -> None:
        """Takes elements out: their forces and constraints end."""
        self.inactive |= {self._known(n) for n in elements}

    def insert(self, *elements: str) -> None:
        """Puts elements in (those added with ``active=False`` or removed before); this event then rests until they are removed again."""
        self.inactive -= {self._known(n) for n in elements}

    def change(self, element: str, **constants: Any) -> None:
        """New values of an element's constants."""
        self.numbers.setdefault(self._known(element), {}).update(
            {name: np.asarray(value, float).tolist() for name, value in constants.items()}
        )

    def _known(self, element: str) -> str:
        if not any(i.name == element for i in self.system.instances):
            raise InputError(f"event '{self.event}': there is no element '{element}' in system '{self.system.name}'")
        return element


@dataclass
class EventRun:
    """Events of one run: the tables of guards, the acting equations, what has happened."""

    system: AssembledSystem
    events: Sequence[AssembledEvent]
    scheme: Scheme
    reduction: str
    servo: str
    run: Run
    acting: AssembledSystem
    program: Program
    inactive: set[str]
    numbers: dict[str, dict[str, Any]] = field(default_factory=dict)
    records: list[tuple[float, str]] = field(default_factory=list)
    #: Coordinates and rates before and after each of them.
    states: list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]] = field(default_factory=list)
    multiplier_names: list[str] = field(default_factory=list)
    failure: str = ""

    def __post_init__(self) -> None:
        from ...solvers.stepping.events import watch

        self.functions = [None if isinstance(e.guard, str) else e.function() for e in self.events]
        gather = [[h.offset + i for h in e.blocks.values() for i in range(h.size)] for e in self.events]
        self._gather = np.array([i for part in gather for i in part] or [0], np.int64)
        self._sizes, self._starts = [len(g) for g in gather], np.cumsum([0, *map(len, gather)])
        self._of_rates = [e.of_rates for e in self.events]
        self._table = ap.Event.table([(0,) * 6] * len(self.events))
        self._x = np.zeros(1 + 2 * max(self._sizes, default=0))
        self.run.guards = self._guards = ap.Guards(len(self.events))
        self._work = np.zeros(max([1, *(f.signature.workspace for f in self.functions if f is not None)]))
        frame = self.run.frame
        frame.events, frame.event_gather, frame.event_x, frame.event_work = self._table, self._gather, self._x, self._work
        frame.guards, frame.watch = self._guards, watch.address
        self.ever_inactive = set(self.inactive)
        #: Events that have inserted constraints rest while these act: their guards stay at zero.
        self.suspended: dict[int, set[str]] = {}
        self._resumed: list[int] = []
        #: Events that have been at this very state: they are passed, though their guards may not be quite at zero.
        self._passed: list[int] = []
        self.run.events = self._act
        self._adopted()
        self._arm()

    def _adopted(self) -> None:
        """Tables that belong to the present equations."""
        names = {n: i for i, n in enumerate(self.program.multiplier_names)}
        for k, (e, f) in enumerate(zip(self.events, self.functions, strict=True)):
            place = names.get(e.guard, -1) if isinstance(e.guard, str) else -1
            address = 0 if f is None or k in self.suspended else f.address
            self._table.array[k] = (address, self._sizes[k], self._starts[k], place, e.direction, self._of_rates[k])
        for n in names:
            if n not in self.multiplier_names:
                self.multiplier_names.append(n)
        places = {n: i for i, n in enumerate(self.multiplier_names)}
        self.run.multiplier_columns = np.array([places[n] for n in names], np.int64)

    def _arm(self) -> None:
        from ...solvers.stepping.events import arm

        arm.call(self.run.address)
        self._guards.before[self._resumed + self._passed] = 0.0
        self._resumed = []

    # -- what happens -------------------------------------------------------------------------------------------------

    def _act(self, rows: Rows) -> bool:
        """Acts at the event that has fired; whether the run goes on."""
        run, fired = self.run, self.run.count.fired
        event, t = self.events[fired], run.clock.t
        if not self.records or self.records[-1][0] != t:
            self._passed = []
        self.records.append((t, event.name))
        span, same = run.clock.t_end - self.records[0][0] + 1e-300, [x for x, name in self.records if name == event.name]
        if len(same) > MANY and t - same[-MANY] < CLOSE * span:
            self.failure = (
                f"simulate '{self.system.name}': event '{event.name}' fires again and again at t = {t:.9g} s (Zeno); "
                "let its action put the system to rest, or make it terminal"
            )
            return False
        q, v, numbers = run.vec.q0.copy(), run.vec.v0.copy(), {n: dict(c) for n, c in self.numbers.items()}
        moment = Moment(self.system, event.name, t, q.copy(), v.copy(), set(self.inactive), numbers)
        if event.action is not None:
            with Named(f"the action of event '{event.name}'", t):
                event.action(moment)
                self._go_on(moment, rows)
            if not (np.array_equal(moment.q, q) and np.array_equal(moment.v, v)):
                self._passed = []
        self.states.append((q, v, run.vec.q0.copy(), run.vec.v0.copy()))
        self._passed.append(fired)
        self._arm()
        return not (event.terminal or moment.stopped)

    def _go_on(self, moment: Moment, rows: Rows) -> None:
        """Takes over what an action has changed."""
        run, before = self.run, float(self.run.book[ap.TOTAL])
        other = moment.inactive != self.inactive or moment.numbers != self.numbers
        moved = not (np.array_equal(moment.q, run.vec.q0) and np.array_equal(moment.v, run.vec.v0))
        if not (other or moved):
            return
        if not np.all(np.isfinite(moment.q) & np.isfinite(moment.v)):
            raise SolverError(f"simulate '{self.system.name}': the action of event '{moment.event}' gives a state that is not finite")
        inserted = self.inactive - moment.inactive
        acting = self.system.variant(frozenset(moment.inactive), moment.numbers) if other else self.acting
        if inserted or moved:
            old_rows = set(self.acting.equations.row_names)
            moment.q, moment.v = acting.start.after_impact(run.vec.v0, moment.q, moment.v, moment.t, old_rows, self.system.name)
        moment.q, moment.v = balanced(acting.equations, moment.q, moment.v, moment.t, self.system.name, self._history())
        run.vec.q0 = run.vec.q1 = moment.q
        run.vec.v0 = moment.v
        if other:
            self._switch(acting, moment)
        if self.scheme.has_acceleration:
            run.vec.a0 = run.vec.d0 = acting.equations.accelerations(moment.q, moment.v, moment.t, self._history())[0]
        run.clock.t_rate1 = run.clock.t_rate2 = -np.inf
        sums = run.book[3:5].copy()
        run.begin()
        run.book[3:5] = sums
        run.book[3] += before - run.book[ap.TOTAL]  # what an impact takes counts as dissipated
        run.add_state(rows)

    def _switch(self, acting: AssembledSystem, moment: Moment) -> None:
        """The equations of another set of elements, or of other constants."""
        run, history, forces = self.run, self._history(), dict(zip(self.program.multiplier_names, self.run.lam.last, strict=True))
        z, program = prepared(acting, self.scheme, self.reduction, self.servo, moment.q, moment.v, moment.t)
        for name, part in _history_places(program).items():
            if name in history:
                z[part] = history[name]
        give(acting, run, program, self.reduction, z)
        run.lam.last[:] = [forces.get(n, 0.0) for n in program.multiplier_names]
        self.acting, self.program = acting, program
        inserted = self.inactive - moment.inactive
        self.inactive, self.numbers = moment.inactive, moment.numbers
        if inserted:
            self.suspended[run.count.fired] = inserted
        self._resumed = [k for k, names in self.suspended.items() if names & self.inactive]
        for k in self._resumed:
            del self.suspended[k]
        self.ever_inactive |= self.inactive
        self._adopted()

    def _history(self) -> dict[str, np.ndarray]:
        return {name: self.run.z.start[part].copy() for name, part in _history_places(self.program).items()}


def _history_places(program: Program) -> dict[str, slice]:
    """Where the internal variables of each instance stand."""
    found, at = {}, 0
    for group in program.groups:
        size = sum(group.kernels.step.element.history.values())
        for i in group.members if size else ():
            found[program.instances[i].name] = slice(at, at + size)
            at += size
    return found


def checked_event(
    system: AssembledSystem, name: str, guard: Guard | str, blocks: Mapping[str, Handle] | None, direction: int, terminal: bool,
    action: Callable[[Moment], None] | None, others: Sequence[AssembledEvent],
) -> AssembledEvent:  # fmt: skip
    """An event, or why it cannot be one."""
    if any(e.name == name for e in others):
        raise ModelError(f"system '{system.name}': event '{name}' exists already; choose another name")
    if direction not in (-1, 0, 1):
        raise ModelError(f"event '{name}': direction {direction!r} is unknown; use 1 (rising), -1 (falling) or 0 (both)")
    if isinstance(guard, str):
        instance, _, row = guard.rpartition(".")
        if not any(i.name == instance and row in i.element.rows() for i in system.instances):
            raise ModelError(f"event '{name}': there is no multiplier '{guard}' in system '{system.name}'; name it 'element.row'")
    if action is not None and not callable(action):
        raise ModelError(f"event '{name}': action {action!r} cannot be called; give a function of the moment")
    made = AssembledEvent(name, guard, dict(blocks or {}), direction, terminal, action)
    for b, h in made.blocks.items():
        if not isinstance(h, Handle):
            raise ModelError(f"event '{name}': block '{b}' is given {h!r}; give what coordinates(…) returned")
    if not isinstance(guard, str):
        made.expression()
    return made


__all__ = ["AssembledEvent", "EventRun", "Moment", "checked_event"]
