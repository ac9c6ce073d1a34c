"""Mass properties of foreign files that no body can have."""

from __future__ import annotations

from ..model.model import Model


def accept_unphysical(model: Model) -> list[str]:
    """Takes such mass properties as they stand, so that the model compiles, and says in a note of which bodies."""
    faults = model.mass_faults()
    model.unphysical += faults
    if not faults:
        return []
    first = str(next(iter(faults.values()))).split("; ")[0]
    return [f"mass properties that no body can have are taken as they stand: {', '.join(map(repr, faults))} ({first})"]


__all__ = ["accept_unphysical"]
