"""What rigid contacts did in a run, instant by instant: which of them were closed, stuck or slid, and by which guard and jump that changed.

The active set is held: a change of the design moves the instants at which it changes and what happens at them, and never the order of these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ....formalisms.closed_contacts import FINDS, SLIDES, SMOOTH, STICKS, Grip
from ....solvers.nonsmooth import closed
from ....symbolic.expr import ZERO, Expr, constant
from ....symbolic.graph import evaluate
from ..runs import NotCarried
from .places import Places

if TYPE_CHECKING:
    from ....results.solution import Solution
    from ....systems.tree.contact.table import Active, Struck

#: Impulses below this part of the largest are none; friction up to this part of its bound sticks.
NONE, FULL = 1e-10, 1.0 - 1e-7
#: Rows that depend on others by less than this part are none of their own.
INDEPENDENT = 1e-9
#: What a contact does: its number, how, and the direction in its tangents where that is given.
State = tuple[int, str, tuple[float, float] | None]


@dataclass(frozen=True)
class Impulse:
    """Contacts that push at an impact, which of them strike (with their e), and the impulses that the run has found."""

    states: tuple[State, ...]
    strikes: tuple[bool, ...]


@dataclass(eq=False)
class Instant:
    """An instant at which the active set is found anew: states of closed contacts behind it, what says when it is, and the impact."""

    t: float
    states: tuple[State, ...]
    #: ("gap" | "lift" | "slip" | "stop", number of the contact), None where nothing depends on the instant.
    guard: tuple[str, int] | None = None
    impulse: Impulse | None = None
    #: Impulses of the rows of the impact.
    known: list[tuple[float, float, float]] = field(default_factory=list)
    #: Whether states before it go on as they are.
    same: bool = False


class History:
    """The instants of a run."""

    def __init__(self, places: Places, solution: Solution) -> None:
        self.places, self.solution = places, solution
        run = solution.contacts._run
        self.contacts = run.contacts
        self.notes: list[str] = []
        self.instants: list[Instant] = []
        eq = places.eq
        states = solution.states
        assert states is not None
        for k, active in enumerate(run._history):
            row = max(0, int(np.searchsorted(solution.t, active.t, side="right")) - 1)
            x = np.asarray(states[row], dtype=float)
            at = dict(zip((*eq.q, *eq.v, *eq.z), x[: len(eq.q) + len(eq.v) + len(eq.z)].tolist(), strict=True))
            at |= {eq.t: float(active.t), **dict(zip(eq.p, places.system.parameter_vector, strict=True))}
            self._add(active, at, k == 0)
        if self.instants[0].states:
            names = ", ".join(dict.fromkeys(f"'{places.names[n]}'" for n, *_ in self.instants[0].states))
            self.notes.append(
                f"contacts that are closed at the start ({names}) stay so: what would open them or let them slip is taken from changes of the start"
            )
        for t, pair in run.rests:
            self.notes.append(
                f"impacts of {pair} follow ever faster and end at t = {t:.9g} s: derivatives hold with as many of them as the run took"
            )

    def _add(self, active: Active, at: dict[Expr, float], first: bool) -> None:
        name = self.places.system.model.name
        if active.shocked:
            raise NotCarried(
                f"gradient of '{name}': impulses without an impact at t = {active.t:.9g} s (Painlevé) are not carried; use method='differences'"
            )
        numbers = [self._number(active, i, at) for i in range(len(active.slides))]
        states = tuple(
            self._state(n, int(s), active.along[3 * i : 3 * i + 3], at) for i, (n, s) in enumerate(zip(numbers, active.slides, strict=True))
        )
        found = Instant(float(active.t), states)
        select(self.places, states, at)
        struck = active.struck
        if struck is not None:
            if first:
                raise NotCarried(
                    f"gradient of '{name}': bodies meet with an impact at the very start, which is not carried; start before it or behind it"
                )
            touching = [
                self.places.number(self.contacts, *args, at) for args in zip(struck.key, struck.point, struck.axes[:, 0], strict=True)
            ]
            found.impulse, found.known = self._impulse(struck, touching, at)
            select(self.places, found.impulse.states, at, impact=True)
            self._guard_of_impact(found, struck, touching)
        elif not first:
            found.guard = self._guard(self.instants[-1].states, states)
        found.same = not first and struck is None and states == self.instants[-1].states
        self.instants.append(found)

    def _number(self, active: Active, i: int, at: dict[Expr, float]) -> int:
        return self.places.number(self.contacts, active.key[3 * i : 3 * i + 3], active.point[i], active.axes[i, 0], at)

    def _in_tangents(self, number: int, vector: np.ndarray, at: dict[Expr, float]) -> np.ndarray:
        """A vector of the world, as the first body of a contact feels it, along its tangents."""
        tangents = self.places.rows.contacts[number].tangents
        axes = np.array([float(x) for x in evaluate([*tangents[0], *tangents[1]], dict(at))]).reshape(2, 3)
        return self.places.turned[number] * (axes @ vector)

    def _state(self, number: int, slides: int, along: np.ndarray, at: dict[Expr, float]) -> State:
        contact = self.places.rows.contacts[number]
        if not contact.ways or (contact.friction is ZERO and contact.static is ZERO):
            return number, SMOOTH, None
        if slides == closed.STICKS:
            return number, STICKS, None
        way = self._in_tangents(number, along, at)
        if len(contact.ways) == 1:
            return number, SLIDES, _one_way(contact.ways[0], way)
        return number, SLIDES, (float(way[0]), float(way[1])) if slides == closed.BEGINS else None

    def _impulse(self, struck: Struck, touching: Sequence[int], at: dict[Expr, float]) -> tuple[Impulse, list[tuple[float, float, float]]]:
        states: list[State] = []
        strikes: list[bool] = []
        known: list[tuple[float, float, float]] = []
        largest = float(np.abs(struck.p).max(initial=0.0))
        for i, number in enumerate(touching):
            p, u, contact = struck.p[3 * i : 3 * i + 3], struck.u[3 * i : 3 * i + 3], self.places.rows.contacts[number]
            if p[0] <= NONE * largest:
                continue
            push = self._in_tangents(number, p[1:] @ struck.axes[i, 1:], at)
            moves = float(np.hypot(u[1], u[2])) > 1e-9
            mu, rest = (float(evaluate([e], at)[0]) for e in (contact.friction, contact.static))
            bound, size = (mu if moves else rest) * p[0], float(np.hypot(*push))
            if not contact.ways or bound == 0.0:
                states.append((number, SMOOTH, None))
            elif size < FULL * bound:
                states.append((number, STICKS, None))
            elif len(contact.ways) == 1:
                states.append((number, SLIDES, _one_way(contact.ways[0], -push)))
            else:
                states.append((number, FINDS, None))
            strikes.append(bool(u[0] < 0.0 and struck.restitution[i] > 0.0))
            known.append((float(p[0]), float(push[0]), float(push[1])))
        return Impulse(tuple(states), tuple(strikes)), known

    def _guard_of_impact(self, found: Instant, struck: Struck, touching: Sequence[int]) -> None:
        """Gaps of contacts that were open close; of several at once one says when."""
        before = {n for n, *_ in self.instants[-1].states}
        slow = 1e-6 * float(np.abs(struck.u).max(initial=0.0))
        new = [i for i, n in enumerate(touching) if n not in before and struck.u[3 * i] < -slow]
        if not new:
            return
        first = max(new, key=lambda i: -struck.u[3 * i])
        found.guard = "gap", touching[first]
        if len({touching[i] for i in new}) > 1:
            names = ", ".join(f"'{self.places.names[touching[i]]}'" for i in new)
            self.notes.append(
                f"{len(new)} contacts ({names}) strike at once at t = {found.t:.9g} s: derivatives are one-sided, those with the same contacts at once"
            )

    def _guard(self, before: Sequence[State], after: Sequence[State]) -> tuple[str, int] | None:
        """What has ended the states before an instant without an impact."""
        was, now = ({n: (how, way) for n, how, way in s} for s in (before, after))
        for n in now.keys() - was.keys():
            return "gap", n
        for n in was.keys() - now.keys():
            return "lift", n
        for n, (how, way) in was.items():
            if how == STICKS and now[n][0] == SLIDES:
                return "slip", n
            if how == SLIDES and (now[n][0] == STICKS or _against(way, now[n][1])):
                return "stop", n
        return None


def _against(way: tuple[float, float] | None, other: tuple[float, float] | None) -> bool:
    """Whether two directions that are given are opposite."""
    return way is not None and other is not None and float(np.dot(way, other)) < 0.0


def _one_way(way: int, vector: np.ndarray) -> tuple[float, float]:
    sign = 1.0 if vector[way - 1] >= 0.0 else -1.0
    return (sign, 0.0) if way == 1 else (0.0, sign)


def grips_of(states: Sequence[State]) -> list[Grip]:
    """States of contacts as the equations take them."""
    return [Grip(n, how, None if way is None else (constant(way[0]), constant(way[1]))) for n, how, way in states]


def select(places: Places, states: tuple[State, ...], at: dict[Expr, float], impact: bool = False) -> None:
    """Finds the rows that contacts hold where they are met for the first time."""
    if (states, impact) not in places.selected:
        grips = grips_of(states)
        wanted = _rows_wanted(places, grips, impact)
        places.selected[states, impact] = _independent(places, grips, wanted, at)


def _rows_wanted(places: Places, grips: Sequence[Grip], impact: bool = False) -> list[tuple[int, int]]:
    """Rows that contacts hold, normal ones first."""
    found = [(g, 0) for g in range(len(grips))]
    for g, grip in enumerate(grips):
        if grip.how == STICKS or (impact and grip.how == FINDS):
            found += [(g, r) for r in places.rows.contacts[grip.contact].ways]
    return found


def _independent(places: Places, grips: Sequence[Grip], wanted: Sequence[tuple[int, int]], at: dict[Expr, Any]) -> list[tuple[int, int]]:
    """Those rows that do not follow from the ones before them, nor from closed loops, in a position."""
    basis: list[np.ndarray] = []

    def is_new(e: Sequence[Expr]) -> bool:
        row = np.array([float(x) for x in evaluate(list(e), at)])
        rest = row.copy()
        for _ in range(2):
            for b in basis:
                rest = rest - (b @ rest) * b
        size = float(np.linalg.norm(rest))
        if size <= INDEPENDENT * max(1e-300, float(np.linalg.norm(row))):
            return False
        basis.append(rest / size)
        return True

    for row in places.rows.closing:
        is_new(row)
    return [(g, r) for g, r in wanted if is_new(places.rows.row(grips[g].contact, r))]


__all__ = ["History", "Impulse", "Instant", "State", "grips_of"]
