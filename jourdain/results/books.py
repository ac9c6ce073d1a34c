"""Channels that count from the start of a run: joined runs go on counting."""

from __future__ import annotations

from jourdain.results.channel import Array

#: Energies (J) of a run so far: of the model, and by the own books of a scheme.
BOOKS = ("energy.dissipated", "energy.supplied", "energy.error", "contacts.dissipated", "step.energy.dissipated", "step.energy.supplied")


def counted_on(name: str, rows: Array, before: float) -> Array:
    """Rows of a channel that follow a run: what counts from nothing goes on from where that run ended."""
    return rows + before if name in BOOKS and len(rows) and rows[0] == 0.0 else rows


__all__ = ["BOOKS", "counted_on"]
