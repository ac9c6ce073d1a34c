"""The contacts of an instant: who touches whom, where, and with which force."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, overload

import numpy as np

from ..errors import InputError
from ..shown import Shown
from .channel import unknown
from .columns import in_columns

if TYPE_CHECKING:
    import pandas

#: Columns of a table.
HEAD = ("contact", "body", "on", "point [m]", "normal", "gap [m]", "force [N]", "state")
#: Lines of a printed table.
_MOST_ROWS = 40


@dataclass(frozen=True)
class Touch(Shown):
    """One contact: the force on ``body_a`` (N, in a run of fixed steps its mean over the step), where it acts (m), the normal from b to a, and the gap (m)."""

    contact: str
    body_a: str
    body_b: str
    point: np.ndarray
    normal: np.ndarray
    gap: float
    force: np.ndarray
    #: "stick", "slip" or "open".
    state: str

    def __str__(self) -> str:
        return (
            f"{self.contact}: {self.body_a} on {self.body_b} at ({_numbers(self.point)}) m, force ({_numbers(self.force)}) N, "
            f"gap {self.gap:.3g} m, {self.state}"
        )


class Touches(Shown, Sequence[Touch]):
    """The contacts of an instant: ``touches[0].force``, ``touches["ball7"]`` for those of a body or of a contact; printed as a table.

    >>> def touch(body, force):
    ...     return Touch("floor", body, "ground", np.zeros(3), np.array([0.0, 0.0, 1.0]), 0.0, np.array(force), "stick")
    >>> touches = Touches([touch("ball", (0.0, 0.0, 9.81)), touch("cup", (1.0, 0.0, 2.5))])
    >>> print(touches["cup"])
    contact  body  on      point [m]  normal     gap [m]  force [N]    state
    floor    cup   ground  (0, 0, 0)  (0, 0, 1)        0  (1, 0, 2.5)  stick
    """

    def __init__(self, touches: Iterable[Touch] = ()) -> None:
        self._all = tuple(touches)

    @property
    def names(self) -> tuple[str, ...]:
        """The contacts and bodies that touch."""
        return tuple(dict.fromkeys(n for t in self._all for n in (t.contact, t.body_a, t.body_b)))

    @overload
    def __getitem__(self, key: int) -> Touch: ...
    @overload
    def __getitem__(self, key: str | slice) -> Touches: ...
    def __getitem__(self, key: int | str | slice) -> Touch | Touches:
        if isinstance(key, str):
            if key not in self.names:
                raise unknown("contact or touching body", key, self.names)
            return Touches(t for t in self._all if key in (t.contact, t.body_a, t.body_b))
        if isinstance(key, slice):
            return Touches(self._all[key])
        try:
            return self._all[key]
        except TypeError:
            raise InputError(f"contacts: {key!r} is neither a name nor a number; there are {', '.join(self.names) or 'none'}") from None
        except IndexError:
            raise IndexError(f"there is no contact number {key}; {len(self)} touch") from None

    def __len__(self) -> int:
        return len(self._all)

    def to_pandas(self) -> pandas.DataFrame:
        """A table with columns contact, body_a, body_b, state, gap and the components of point, normal and force."""
        from .exchange import need

        columns: dict[str, list[object]] = {n: [getattr(t, n) for t in self._all] for n in ("contact", "body_a", "body_b", "state", "gap")}
        for name in ("point", "normal", "force"):
            columns |= {f"{name}.{c}": [float(getattr(t, name)[i]) for t in self._all] for i, c in enumerate("xyz")}
        return need("pandas", "files", "to_pandas").DataFrame(columns)

    def __repr__(self) -> str:
        return f"<{len(self)} contacts>" if len(self) != 1 else "<1 contact>"

    def __str__(self) -> str:
        if not self._all:
            return "no contacts"
        rest = [f"… and {len(self) - _MOST_ROWS} more"] if len(self) > _MOST_ROWS else []
        return "\n".join([in_columns([HEAD, *(cells(t) for t in self._all[:_MOST_ROWS])], right=[5]), *rest])


def cells(t: Touch) -> tuple[str, ...]:
    """The line of a contact in tables."""
    point, normal, force = (f"({_numbers(x, digits)})" for x, digits in ((t.point, 4), (t.normal, 3), (t.force, 5)))
    return t.contact, t.body_a, t.body_b, point, normal, f"{t.gap + 0.0:.3g}", force, t.state


def _numbers(x: np.ndarray, digits: int = 6) -> str:
    """Components with so many digits of the largest; what is below them is rounding."""
    floor = float(np.abs(x).max(initial=0.0)) * 1e-12
    return ", ".join(f"{0.0 if abs(c) <= floor else c:.{digits}g}" for c in x.tolist())


__all__ = ["HEAD", "Touch", "Touches", "cells"]
