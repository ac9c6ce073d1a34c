"""Events that happened in a run as a table in the words of the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..results.events import END, JUMP, EventTable, Occurrence

if TYPE_CHECKING:
    from .inputs import Inputs
    from .run import Happened
    from .system import System


def event_table(system: System, inputs: Inputs, found: Happened | None) -> EventTable:
    """Events with the states of the model, user states and memories before and after."""
    items = system.model.events
    if found is None:
        return EventTable((), items)
    names = [*system.coordinate_names, *system.velocity_names, *system.model.states]
    rows: list[Occurrence] = []
    for t, name, *pair in zip(found.t, found.names, *found.states(), strict=True):
        states = [dict(zip(names, x.tolist(), strict=True)) for x in (pair if items[name].jump else [pair[0]] * 2)]
        if inputs.memories:
            held = inputs.at(np.array([t, t]), np.array(pair))[:, inputs.memory_places].tolist()
            states = [s | dict(zip(inputs.memories, x, strict=True)) for s, x in zip(states, held, strict=True)]
        did = ", ".join([JUMP] * bool(items[name].jump) + [END] * items[name].terminal)
        rows.append(Occurrence(name, float(t), states[0], states[1], did))
    return EventTable(rows, items)


__all__ = ["event_table"]
