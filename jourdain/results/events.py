"""Events that happened during a run: when, which, the state before and after, and what they did."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from jourdain.errors import InputError
from jourdain.results.channel import Array, unknown
from jourdain.results.columns import in_columns
from jourdain.shown import Shown

if TYPE_CHECKING:
    import pandas

#: What an event may do.
JUMP, ACTION, END = "jump", "action", "end of the run"
#: Lines of a printed table, and changes told in one of them.
_MOST_ROWS, _MOST_CHANGES = 40, 3


@dataclass(frozen=True)
class Occurrence(Shown):
    """An event that happened at ``t`` (s); ``before`` and ``after`` give the state by name.

    ``did`` says what it was for: "jump" (it sets the state), "action" (of a function), "end of the run", or nothing where it only marks
    the instant.
    """

    name: str
    t: float
    before: Mapping[str, Any]
    after: Mapping[str, Any]
    did: str = ""

    @property
    def changes(self) -> dict[str, tuple[Any, Any]]:
        """What is otherwise afterwards, beyond rounding, by name: (before, after)."""
        return {n: (x, self.after[n]) for n, x in self.before.items() if not np.allclose(x, self.after[n], rtol=1e-9, atol=1e-12)}

    @property
    def told(self) -> str:
        """The first changes in words."""
        found = [f"{n} {_number(a)} → {_number(b)}" for n, (a, b) in self.changes.items()]
        rest = [f"… {len(found) - _MOST_CHANGES} more"] if len(found) > _MOST_CHANGES else []
        return ", ".join([*found[:_MOST_CHANGES], *rest])

    def __str__(self) -> str:
        return "; ".join(filter(None, [f"{self.name} at {self.t:.9g} s", self.did, self.told]))


class EventTable(Shown, Sequence[Occurrence]):
    """The events of a run in order of time: ``sol.events[0].after["hinge.angle_rate"]``, ``sol.events["bounce"].t``.

    ``known`` names further events that might have happened; ``names`` are those that did, one for each.

    >>> sol_events = EventTable([Occurrence("bounce", 0.5, {"v": -3.0}, {"v": 2.4}, "jump"), Occurrence("top", 0.7, {"v": 0.0}, {"v": 0.0})])
    >>> print(sol_events["bounce"])
    t [s]  event   what  change
      0.5  bounce  jump  v -3 → 2.4
    """

    def __init__(
        self, occurrences: Iterable[Occurrence] | Callable[[], Iterable[Occurrence]] = (), known: Iterable[str] = (),
        happened: tuple[Sequence[float], Sequence[str]] | None = None,
    ) -> None:  # fmt: skip
        """Occurrences may be a function, called when they are first read; then ``happened`` gives their instants and names."""
        self._given = occurrences if callable(occurrences) else tuple(occurrences)
        if happened is None:
            happened = [e.t for e in self._rows], [e.name for e in self._rows]
        self._times, self.names = happened[0], tuple(happened[1])
        self._known = tuple(dict.fromkeys((*known, *self.names)))

    @cached_property
    def _rows(self) -> tuple[Occurrence, ...]:
        return tuple(self._given() if callable(self._given) else self._given)

    @property
    def t(self) -> Array:
        """Their instants (s)."""
        return np.array(self._times, dtype=float)

    @overload
    def __getitem__(self, key: int) -> Occurrence: ...
    @overload
    def __getitem__(self, key: str | slice) -> EventTable: ...
    def __getitem__(self, key: int | str | slice) -> Occurrence | EventTable:
        if isinstance(key, str):
            if key not in self._known:
                raise unknown("event", key, self._known)
            return EventTable((e for e in self._rows if e.name == key), [key])
        if isinstance(key, slice):
            return EventTable(self._rows[key], self._known)
        try:
            return self._rows[key]
        except TypeError:
            raise InputError(f"events: {key!r} is neither a name nor a number; known are {', '.join(self._known) or 'none'}") from None
        except IndexError:
            raise IndexError(f"there is no event number {key}; {len(self)} happened") from None

    def __iter__(self) -> Iterator[Occurrence]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self.names)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EventTable) and self._rows == other._rows

    __hash__ = None  # type: ignore[assignment]

    def __contains__(self, key: object) -> bool:
        return key in self.names if isinstance(key, str) else key in self._rows

    def __add__(self, other: EventTable) -> EventTable:
        return EventTable((*self._rows, *other._rows), (*self._known, *other._known))

    def between(self, t0: float, t1: float) -> EventTable:
        """Those in t0 ≤ t ≤ t1 (s)."""
        return EventTable((e for e in self._rows if t0 <= e.t <= t1), self._known)

    # -- as other things -----------------------------------------------------------------------------------------------

    def to_pandas(self) -> pandas.DataFrame:
        """A table with columns t, event, did, and for each state "before.…" and "after.…"."""
        from jourdain.results.exchange import need

        rows = [
            {"t": e.t, "event": e.name, "did": e.did} | {f"before.{n}": x for n, x in e.before.items()} | {f"after.{n}": x for n, x in e.after.items()}
            for e in self._rows
        ]  # fmt: skip
        return need("pandas", "files", "to_pandas").DataFrame(rows, columns=None if rows else ["t", "event", "did"])

    def plain(self) -> dict[str, Any]:
        """Plain data, for files."""
        rows = [{"name": e.name, "t": e.t, "before": dict(e.before), "after": dict(e.after), "did": e.did} for e in self._rows]
        return {"known": list(self._known), "happened": rows}

    @classmethod
    def of(cls, data: Mapping[str, Any]) -> EventTable:
        """From plain data."""
        rows = data.get("happened", ())
        found = (Occurrence(str(r["name"]), float(r["t"]), dict(r["before"]), dict(r["after"]), str(r["did"])) for r in rows)
        return cls(found, map(str, data.get("known", ())))

    def __repr__(self) -> str:
        counts = {n: self.names.count(n) for n in dict.fromkeys(self.names)}
        told = ", ".join(f"{n} ×{k}" if k > 1 else n for n, k in counts.items())
        return f"<{len(self)} events{': ' if told else ''}{told}>"

    def __str__(self) -> str:
        if not self._rows:
            declared = (
                f": {', '.join(self._known)} did not happen"
                if self._known
                else " are declared (m.event); impacts are in sol.contacts.impacts"
            )
            return f"no events{declared}"
        table = [("t [s]", "event", "what", "change"), *((f"{e.t:.9g}", e.name, e.did, e.told) for e in self._rows[:_MOST_ROWS])]
        return "\n".join([in_columns(table, right=[0]), *([f"… and {len(self) - _MOST_ROWS} more"] if len(self) > _MOST_ROWS else [])])


def _number(x: Any) -> str:
    return f"{x:.6g}" if np.ndim(x) == 0 else "(" + ", ".join(f"{c:.4g}" for c in x) + ")"


__all__ = ["ACTION", "END", "JUMP", "EventTable", "Occurrence"]
