"""What a stepper remembers at an instant, to go back to it: in its own objects, or as plain data in another process."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..native.record import Record, Rows, Table

if TYPE_CHECKING:
    from .stepper import Stepper


@dataclass(frozen=True, eq=False)
class Token:
    """Everything a stepper remembers at an instant; :meth:`Stepper.restore` goes back to it bit for bit.

    A pickled token holds plain data, belongs to no stepper, and says how the one was made that saved it.
    """

    owner: Stepper | None = field(repr=False)
    t: float
    memory: Any = field(repr=False)
    made_by: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def __reduce__(self) -> tuple[Any, ...]:
        if self.owner is None:
            return Token, (None, self.t, self.memory, self.made_by)
        return Token, (None, self.t, self.owner.portable(self.memory), self.owner.made)


class Snapshot:
    """The attributes of some objects as they are, arrays and lists by copies, to be put back into the very same objects and arrays."""

    def __init__(self, objects: Iterable[Any]) -> None:
        self._attributes = [(o, {n: _copied(x) for n, x in vars(o).items()}) for o in objects]
        arrays = {id(a): a for o, _ in self._attributes for x in vars(o).values() for a in _arrays_in(x)}
        self._arrays = [(a, a.copy()) for a in arrays.values()]
        records = [r for o, _ in self._attributes for x in vars(o).values() for r in _records_in(x)]
        self._records = [(r, r.copy()) for r in records]

    def attribute(self, owner: Any, name: str) -> Any:
        """An attribute of one of the objects as it was."""
        value = next(attributes[name] for o, attributes in self._attributes if o is owner)
        return next((copy for array, copy in self._arrays if array is value), value)

    def restore(self) -> None:
        """Puts everything back."""
        for o, attributes in self._attributes:
            vars(o).update({n: _copied(x) for n, x in attributes.items()})
        for record, copy in self._records:
            record.restore(copy)
        for array, copy in self._arrays:
            array[...] = copy


def _copied(x: Any) -> Any:
    """A list, dictionary or set of its own; anything else as it is."""
    return x.copy() if isinstance(x, (list, dict, set)) else x


def _records_in(x: Any) -> list[Any]:
    """Records, with those they refer to and the arrays behind them."""
    if isinstance(x, Record):
        return [x, *(r for part in x.referred for r in _records_in(part))]
    return [x] if isinstance(x, Rows) else []


def _arrays_in(x: Any) -> list[np.ndarray]:
    if isinstance(x, Record):
        return [a for part in x.referred for a in _arrays_in(part)]
    x = x.array if isinstance(x, Table) else x
    parts = [x] if isinstance(x, np.ndarray) else x if isinstance(x, (list, tuple)) else x.values() if isinstance(x, dict) else ()
    return [a for a in parts if isinstance(a, np.ndarray) and a.flags.writeable]


__all__ = ["Snapshot", "Token"]
