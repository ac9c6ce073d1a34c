"""Events that happened in a run as a table in the words of the model."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ...results.events import END, JUMP, EventTable, Occurrence
from .solution import Then

if TYPE_CHECKING:
    from ...model.events import ModelEvent
    from ..inputs import Inputs
    from ..run import Happened
    from ..system import System


def event_table(system: System, inputs: Inputs, found: Happened | None) -> EventTable:
    """Events, and when they are read the states of the model, user states and memories before and after."""
    items = (system.model.whole or system.model).events
    if found is None:
        return EventTable((), items)
    return EventTable(Then(system)(partial(_occurrences, system, inputs, found)), items, (found.t, found.names))


def _occurrences(system: System, inputs: Inputs, found: Happened) -> list[Occurrence]:
    items = (system.model.whole or system.model).events
    names = [*system.coordinate_names, *system.velocity_names, *system.model.states]
    rows: list[Occurrence] = []
    for t, name, *pair in zip(found.t, found.names, *found.states(), strict=True):
        states = [dict(zip(names, x.tolist(), strict=True)) for x in (pair if items[name].jump else [pair[0]] * 2)]
        if inputs.memories:
            held = inputs.at(np.array([t, t]), np.array(pair))[:, inputs.memory_places].tolist()
            states = [s | dict(zip(inputs.memories, x, strict=True)) for s, x in zip(states, held, strict=True)]
        did = ", ".join(_did(items[name]))
        rows.append(Occurrence(name, float(t), states[0], states[1], did))
    return rows


def _did(event: ModelEvent) -> list[str]:
    """What an event is for, in words."""
    told = [JUMP] * (len(event.jump) > len(event.switches))
    told += [f"{'engages' if holds else 'releases'} {name}" for name, holds in event.switches.items()]
    return told + [END] * event.terminal


__all__ = ["event_table"]
