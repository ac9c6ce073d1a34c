"""What touched what in a run: the contacts of any step, found again from the states that were kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ....errors import InputError
from ....results.touches import Touch, Touches
from ....shown import Shown
from ....solvers.nonsmooth.contact_set import DRY

if TYPE_CHECKING:
    from ....results.solution import Solution
    from ...run import Outcome
    from .contacts import TreeContacts
    from .events import ContactEventRun

#: Deeper overlaps at the start (m, rad) are told: joints beyond their stops; bodies are apart by then.
TOLD = 1e-6


@dataclass(frozen=True)
class Struck:
    """An impact: all contacts that touched (keys, points, normals), how each was pushed (u before it and the impulse p, in its axes) and what u_N⁺ = −e u_N⁻ took for e."""

    key: np.ndarray
    point: np.ndarray
    axes: np.ndarray
    u: np.ndarray
    p: np.ndarray
    restitution: np.ndarray


@dataclass(frozen=True)
class Active:
    """The closed contacts from a time on, where they touch (points, axes), and the impact with which that began."""

    t: float
    key: np.ndarray
    slides: np.ndarray
    along: np.ndarray
    point: np.ndarray
    axes: np.ndarray
    struck: Struck | None
    #: Whether impulses without an impact (Painlevé) began it.
    shocked: bool = False


class WhatTouched(Shown):
    """Contacts of a run: ``at(t)`` gives those of an instant, ``summary()`` what happened in all of it."""

    _solution: Solution

    def _row(self, t: float) -> int:
        """The last row of the solution that is not after an instant of the run."""
        sol = self._solution
        if not sol.t[0] <= t <= sol.t[-1]:
            raise InputError(f"contacts: t = {t:g} s is outside of the run, {sol.t[0]:g} to {sol.t[-1]:g} s")
        return int(np.searchsorted(sol.t, t, side="right") - 1)

    def summary(self) -> str:
        """What happened, in a line."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"<contacts: {self.summary()}>"


class ContactTable(WhatTouched):
    """Contacts of a run in fixed steps: ``at(t)`` gives those of the step that holds t."""

    def __init__(
        self, solution: Solution, again: Callable[[Solution, int], tuple[TreeContacts, float]], apart: float | None = None,
        noted: Callable[[], tuple[TreeContacts, Outcome, np.ndarray]] | None = None,
    ) -> None:  # fmt: skip
        self._solution, self._again, self._noted = solution, again, noted
        #: The end of a first step that moves bodies apart which overlap at the start.
        self._apart = apart
        #: The step that was looked at last, and its contacts.
        self._last: tuple[int, Touches] | None = None

    def at(self, t: float) -> Touches:
        """The contacts of the step that holds an instant; the run must have kept every step."""
        sol = self._solution
        if not sol.metadata.get("every_step", False):
            raise InputError("contacts: the solution has not kept every step; simulate it without times= and outputs=")
        self._row(t)
        begin = max(t, np.nextafter(sol.t[0], np.inf))  # at the start, those of the first step
        k = int(np.clip(np.searchsorted(sol.t, begin, side="left") - 1, 0, len(sol.t) - 2))
        if self._last is None or self._last[0] != k:
            contacts, h = self._again(sol, k)
            self._last = k, Touches(_touches(contacts, h))
        return self._last[1]

    def summary(self) -> str:
        """Pairs, the deepest penetration, the largest residual of the laws and the energy that contacts took."""
        sol = self._solution
        depth, residual, acting, taken = (sol[f"contacts.{n}"] for n in ("depth", "residual", "acting", "dissipated"))
        own, told = depth, ""
        if self._apart is not None:
            first = sol.t <= self._apart
            own, most = depth[~first], float(depth[first].max(initial=0.0))
            told = f" ({most:.3g} m at the start, pushed apart)" if most > TOLD else ""
        return (
            f"{int(acting.max(initial=0.0))} contacts at most, {int(acting[-1])} at the end; deepest penetration {own.max(initial=0.0):.3g} m{told}; "
            f"laws met to {residual.max(initial=0.0):.3g} m/s; energy taken {taken[-1]:.6g} J"
        )


def _touches(contacts: TreeContacts, h: float) -> Any:
    """The contacts that the last step has left in memory."""
    record = contacts.record
    s, p, u, friction = record.contacts, record.laws.p, record.laws.problem.u, record.laws.problem.coefficient
    for k in np.flatnonzero(s.sort[: s.count] < DRY).tolist():
        axes, impulse = s.axes[9 * k : 9 * k + 9].reshape(3, 3), p[3 * k : 3 * k + 3]
        pull = float(np.hypot(*(impulse[1:] / np.maximum(friction[k], 1e-300))))
        slides = float(np.hypot(u[3 * k + 1], u[3 * k + 2])) > 1e-9 or (pull > 0.0 and pull >= impulse[0] * (1.0 - 1e-9))
        a, b = (contacts.body_of(int(s.key[3 * k + i])) for i in (0, 1))
        yield Touch(
            contacts.law_name(int(s.law[k])), a, b, s.point[3 * k : 3 * k + 3].copy(), axes[0].copy(), float(s.gap[k]),
            impulse @ axes / h, "open" if impulse[0] <= 0.0 else "slip" if slides else "stick",
        )  # fmt: skip


@dataclass(frozen=True)
class Impact:
    """One contact in an impact: the impulse on ``body_a`` (N s), its place, and the normal speeds (m/s) before and after."""

    t: float
    contact: str
    body_a: str
    body_b: str
    impulse: np.ndarray
    point: np.ndarray
    before: float
    after: float

    def __str__(self) -> str:
        impulse = ", ".join(f"{x:.6g}" for x in self.impulse)
        return (
            f"{self.t:.12g} s: {self.body_a} on {self.body_b} ({self.contact}), ({impulse}) N s, {self.before:.6g} to {self.after:.6g} m/s"
        )


class EventContacts(WhatTouched):
    """Contacts of a run with events: ``impacts``, and ``at(t)`` with those that are closed."""

    def __init__(self, solution: Solution, run: ContactEventRun) -> None:
        self._solution, self._run = solution, run
        #: Every contact of every impact.
        self.impacts = tuple(run.impacts)
        #: When accumulating impacts have ended in rest, and between whom.
        self.rests = tuple(run.rests)

    def at(self, t: float) -> Touches:
        """The contacts that are closed at the last row of the solution not after an instant."""
        sol, s = self._solution, self._run.system
        k = self._row(t)
        names = [*s.coordinate_names, *s.velocity_names, *s.model.states]
        return self._run.touches(float(sol.t[k]), np.array([*(sol[n][k] for n in names), 0.0]))

    def summary(self) -> str:
        """Impacts, closed contacts and the energy that contacts took."""
        sol = self._solution
        closed_ones, taken = sol["contacts.acting"], sol["contacts.dissipated"]
        return (
            f"{len({i.t for i in self.impacts})} impacts; {int(closed_ones.max(initial=0.0))} contacts closed at most, {int(closed_ones[-1])} at the end; "
            f"energy taken {taken[-1]:.6g} J"
        )


__all__ = ["ContactTable", "EventContacts", "Impact", "WhatTouched"]
