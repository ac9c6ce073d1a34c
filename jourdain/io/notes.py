"""What a reader of foreign files leaves out is said by name, in ``model.notes``, and printed once."""

from __future__ import annotations

import warnings
from collections.abc import Iterable

from ..model.model import Model

#: How many notes the warning quotes; all are in ``model.notes``.
QUOTED = 8


class LeftOut(UserWarning):
    """A file says something that the model read from it does not hold."""


def tell(model: Model, left_out: Iterable[str] = (), stacklevel: int = 3) -> None:
    """Adds to ``model.notes`` what has been left out, and warns once of all the model's notes; called at the end of a read."""
    model.notes += [note for note in dict.fromkeys(left_out) if note not in model.notes]
    if not model.notes:
        return
    more = len(model.notes) - QUOTED
    lines = [f"model '{model.name}' (model.notes):", *model.notes[:QUOTED], *([f"… and {more} more in model.notes"] if more > 0 else [])]
    warnings.warn("\n  - ".join(lines), LeftOut, stacklevel=stacklevel)


__all__ = ["LeftOut", "tell"]
