"""Runs from event to event of rigid contacts that can be differentiated: a rate for every set of closed contacts, guards and impacts between them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ....formalisms.closed_contacts import FINDS, STICKS
from ....formalisms.tree.acceleration_loads import with_accelerations
from ....solvers.sensitivity.field import Field
from ....solvers.sensitivity.modes import map_by_mode
from ....symbolic.expr import ZERO, Expr, add, mul, sub, symbol
from ....symbolic.functions import sqrt
from ....systems.inputs import Inputs
from ....systems.sensitivity import RESULTS, Derived
from ..constrained_runs import Constrained
from ..runs import Differentiable, NotCarried
from .history import History, Instant, State, grips_of
from .places import Places

if TYPE_CHECKING:
    from ....results.solution import Solution

#: What begins the names of instants at which the active set is found anew.
CONTACTS = "contacts "
#: Slots of the functions of a rate that callers fill.
SLOTS = {"value": 4, "push": 6, "pull": 6}


class Striking(Differentiable):
    """A mechanism with rigid contacts: the mode of a piece says which of them are closed, and what they do."""

    def __init__(self, system: Any, inputs: Inputs, method: str, start: Any, history: History, modes: list[tuple[State, ...]]) -> None:
        self.history, self.modes = history, modes
        super().__init__(system, inputs, method, start, own=False)

    def follow(self, solution: Solution) -> None:
        """Takes what contacts did in a run."""
        if solution is not self.history.solution:
            self.history = History(self.history.places, solution)

    def told(self) -> list[str]:
        """Where derivatives hold with the same contacts, impacts or start alone."""
        return self.history.notes

    @property
    def places(self) -> Places:
        """Contacts that may be met."""
        return self.history.places

    # -- rates ----------------------------------------------------------------------------------------------------

    def _laws_of(self, states: tuple[State, ...]) -> list[Expr]:
        """ẋ with closed contacts."""
        eq = self.eq
        a, _ = self._held(states)
        return self.signalled([*eq.position_rates, *a, *with_accelerations(eq, eq.state_rates, a), *([ZERO] * len(self.held))])

    def _held(self, states: tuple[State, ...]) -> tuple[list[Expr], list[Expr]]:
        """Accelerations, and forces of the rows of closed contacts."""
        return self.places.rows.held(grips_of(states), self.places.selected[states, False] if states else [])

    def _expressions_beside(self) -> list[Expr]:
        self._laws = [self._laws_of(states) for states in self.modes]
        return [*super()._expressions_beside(), *(e for laws in self._laws for e in laws)]

    def _derive(self, laws: Sequence[Expr], symbols: Sequence[Expr], shared: Sequence[Expr] | None) -> None:
        super()._derive(laws, symbols, shared)
        self.mode = np.zeros(1, np.int64)
        self._moded = [self._derived("rates", laws, symbols, shared, active=self.active) for laws in self._laws]

    @property
    def _beside(self) -> tuple[Derived, ...]:
        return (*super()._beside, *self._moded)

    def _new_record(self, m: int, nc: int, keep: list[Any]) -> None:
        super()._new_record(m, nc, keep)
        self.record.mode = self.mode

    def _take_native(self) -> None:
        super()._take_native()
        self._by_mode("value")
        self.record.slot = 3

    def need(self, word: str) -> None:
        """Compiles push or pull of the rates of all modes, if they are not yet."""
        super().need(word)
        self._by_mode(word)

    def _by_mode(self, word: str) -> None:
        made = [f.map(word, self.u, RESULTS[word]) for f in self._moded]
        found, kept = map_by_mode([m for m, _ in made], self.mode, SLOTS[word])
        setattr(self.record, word, found)
        self.keep += [*kept, *(k for _, k in made)]

    def widen(self, wide: Field, lanes: int) -> list[Any]:
        """The same with several directions at once."""
        kept = super().widen(wide, lanes)
        made = [f.lanes_map(self.u, lanes) for f in self._moded]
        wide.push, more = map_by_mode([m for m, _ in made], self.mode, SLOTS["push"])
        return [*kept, *more, *(k for _, k in made)]

    def check_force(self, what: str, force: str) -> None:
        """Forces that joints transmit have contact forces in them, which their expressions do not know."""
        raise NotCarried(
            f"gradient of '{self.system.model.name}': {what} reads '{force}' beside rigid contacts, whose forces it transmits; that is not carried yet: let it "
            f"read accelerations or places, or read sol['{force.rpartition('.')[0] or force}'] of a run"
        )

    # -- instants -------------------------------------------------------------------------------------------------

    def instants(self) -> list[tuple[float, str, bool]]:
        """What the contacts did when, by name, and whether anything changed."""
        return [(i.t, f"{CONTACTS}{k}", not i.same) for k, i in enumerate(self.history.instants) if k]

    def mode_at(self, t: float) -> int:
        """The number of the mode of a piece that begins at an instant."""
        last = [i for i in self.history.instants if i.t <= t][-1]
        return self.modes.index(last.states)

    def _instant(self, event: str) -> tuple[Instant, tuple[State, ...]] | None:
        """What happened at an instant, and the states before it."""
        if not event.startswith(CONTACTS):
            return None
        k = int(event.removeprefix(CONTACTS))
        return self.history.instants[k], self.history.instants[k - 1].states

    def acts(self, event: str) -> bool:
        """Whether something jumps at an instant."""
        return super().acts(event) if self._instant(event) is None else self._jumps(event)

    def crosses(self, event: str) -> bool:
        """Whether the instant moves with the design."""
        found = self._instant(event)
        return super().crosses(event) if found is None else found[0].guard is not None

    def found_again(self, event: str | None) -> bool:
        """Whether the state behind an event is found from that before it."""
        if event is None or self._instant(event) is None:
            return super().found_again(event)
        return self._jumps(event)

    @property
    def steps_end_anywhere(self) -> bool:
        """What contacts do is found first."""
        return False

    @property
    def moves_events(self) -> bool:
        """Events are those of the run, whose steps these are."""
        return False

    def guard(self, event: str, symbols: Sequence[Expr]) -> Derived:
        """The guard of an event: a gap that closes, a force that ends, friction that is too small, or sliding that ends."""
        found = self._instant(event)
        if found is None:
            return super().guard(event, symbols)
        instant, before = found
        assert instant.guard is not None
        key = (*instant.guard, before if instant.guard[0] in ("lift", "slip") else None, *(s.id for s in symbols))
        if key not in self._events:
            self._events[key] = self._derived("guard", [self._guard_expression(instant.guard, before)], symbols)
        return self._events[key]

    def _guard_expression(self, guard: tuple[str, int], before: tuple[State, ...]) -> Expr:
        word, number = guard
        contact = self.places.rows.contacts[number]
        if word == "gap":
            return contact.gap
        if word == "stop":
            _, a, b = contact.velocity
            return (
                a if len(contact.ways) == 1 and contact.ways[0] == 1 else b if len(contact.ways) == 1 else sqrt(add(mul(a, a), mul(b, b)))
            )
        rows = self.places.selected[before, False]
        place = [n for n, *_ in before].index(number)
        wanted = [(place, r) for r in (0, *(contact.ways if word == "slip" else ()))]
        if self._redundant_rows(before) or any(w not in rows for w in wanted):
            raise NotCarried(
                f"gradient of '{self.system.model.name}': what ends is the force of contact '{self.places.names[number]}', which others that touch at "
                "the same time leave undetermined; use method='differences'"
            )
        _, force = self._held(before)
        normal, *along = (force[rows.index(w)] for w in wanted)
        if word == "lift":
            return normal
        square = ZERO
        for e in along:
            square = add(square, mul(e, e))
        return sub(mul(contact.static, normal), sqrt(square))

    def _redundant_rows(self, states: tuple[State, ...]) -> bool:
        wanted = sum(1 + (len(self.places.rows.contacts[n].ways) if how == STICKS else 0) for n, how, _ in states)
        return len(self.places.selected[states, False]) < wanted

    def _jumps(self, event: str) -> bool:
        found = self._instant(event)
        assert found is not None
        instant, before = found
        if instant.impulse is not None:
            return True
        old, new = (self._held_rows(s) for s in (before, instant.states))
        return not new <= old

    def _held_rows(self, states: tuple[State, ...]) -> set[tuple[int, int]]:
        return {(states[g][0], r) for g, r in self.places.selected[states, False]}

    def jump(self, event: str, symbols: Sequence[Expr]) -> Derived | None:
        """The state after an impact, and behind it on the rows that are held from then on."""
        found = self._instant(event)
        if found is None:
            return super().jump(event, symbols)
        if not self._jumps(event):
            return None
        instant, _ = found
        key = ("struck", instant.impulse, instant.states, *(s.id for s in symbols))
        if key not in self._events:
            v, known = self._struck(instant)
            v = self.places.rows.projected(v, grips_of(instant.states), self.places.selected[instant.states, False])
            after = [*self.eq.q, *v, *self.eq.z, *self.held]
            arrays = {**self.arrays, "u": (*self.arrays["u"], *known)}
            self._events[key] = self._derived("struck", after, symbols, arrays=arrays)
        return self._events[key]

    def _struck(self, instant: Instant) -> tuple[list[Expr], list[Expr]]:
        """Velocities after the impact, and the symbols of impulses from which they are found."""
        impulse = instant.impulse
        if impulse is None or not impulse.states:
            return list(self.eq.v), []
        rows = self.places.selected[impulse.states, True]
        known = [symbol(f"impulse_{i}", "input") for i in range(len(rows))] if self._finds(instant) else []
        contacts = self.places.rows.contacts
        bounce = [contacts[n].restitution if strikes else ZERO for (n, *_), strikes in zip(impulse.states, impulse.strikes, strict=True)]
        return self.places.rows.struck(grips_of(impulse.states), rows, bounce, known or [ZERO] * len(rows)), known

    @staticmethod
    def _finds(instant: Instant) -> bool:
        return instant.impulse is not None and any(how == FINDS for _, how, _ in instant.impulse.states)

    def inputs_of(self, event: str) -> np.ndarray:
        """Inputs with the impulses of an impact behind them."""
        found = self._instant(event)
        if found is None or not self._finds(found[0]):
            return super().inputs_of(event)
        instant = found[0]
        assert instant.impulse is not None
        rows = self.places.selected[instant.impulse.states, True]
        return self._inputs_with(event, [instant.known[g][r] for g, r in rows])

    # -- start ----------------------------------------------------------------------------------------------------

    def start_changes(self, wrt: Sequence[str], initial: Sequence[tuple[int, int]], by: np.ndarray, symbols: Sequence[Expr]) -> np.ndarray:
        """Changes of the first state; contacts that are closed stay so: what opens gaps or lets them slip is taken away."""
        found = super().start_changes(wrt, initial, by, symbols)
        states = self.history.instants[0].states
        if not states:
            return found
        for word, outputs in zip(("q", "v"), self._closed_start(states), strict=True):
            key = ("closed", word, states, *(s.id for s in symbols))
            if key not in self._events:
                self._events[key] = self._derived("start", outputs, symbols)
            f = self._events[key]
            changes, dc = np.column_stack([np.zeros(len(wrt)), found]), by @ self.wide_slopes(f, symbols).T
            at = np.array([self.start.t]), self.first(), self.u[: len(self.eq.u)]
            found = np.array([f.push(*at, d, c) for d, c in zip(changes, dc, strict=True)])
        return found

    def _closed_start(self, states: tuple[State, ...]) -> tuple[list[Expr], list[Expr]]:
        """The first state with closed gaps, and with velocities that keep them."""
        eq, places, grips = self.eq, self.places, grips_of(states)
        rows = places.selected[states, False]
        normal = [(g, r) for g, r in rows if r == 0]
        moved = places.rows.shifted(grips, normal)
        v = places.rows.projected(list(eq.v), grips, rows)
        return [*moved, *eq.v, *eq.z, *self.held], [*eq.q, *v, *eq.z, *self.held]


class StrikingLinked(Striking, Constrained):
    """The same with quaternions, or with loops that stay closed: their forces are eliminated from the rates of all modes."""

    def _kept_stages(self) -> int:
        """Rates are those of modes."""
        return 0


__all__ = ["Striking", "StrikingLinked"]
