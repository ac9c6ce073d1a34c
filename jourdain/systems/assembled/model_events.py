"""Events of a model in the energy-consistent engine: guards in the engine's coordinates, jumps in those of the tree."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ...elements.of_model import OfModel
from ...errors import InputError
from ...symbolic.expr import HALF, KINDS, ONE, ZERO, Expr
from ...symbolic.functions import where
from ..state import State

if TYPE_CHECKING:
    from ...model.events import ModelEvent
    from .events import Moment
    from .from_model import DirectorAssembly
    from .runs import Acting


def declare_events(built: DirectorAssembly, acting: Acting) -> None:
    """Gives the model's events to its assembled system."""
    for item in built.model.events.values():
        (guard,) = (built.numeric(e) for e in built.eq.resolve([_watched(built, item)]))
        if guard.deps & KINDS["acceleration"]:
            raise InputError(
                f"event '{item.name}': its guard speaks of accelerations, which the energy-consistent engine has not; use another formulation"
            )
        element = OfModel(built.layout, [guard])
        blocks = {b: built.handles[h] for b, h in element.attached.items()}
        action = _jump(built, item.name, acting) if item.jump else None
        built.system.event(item.name, _value(element, guard), blocks, item.direction, item.terminal, action)


def _watched(built: DirectorAssembly, item: ModelEvent) -> Expr:
    """The guard; where all that the event does is done it stays away from zero, as it may be a constraint that holds."""
    if not built.switched or not item.switches_alone:
        return item.guard
    engaged = {name: memory.symbol for name, memory in built.model.switches.items()}
    to_do: Expr = ZERO
    for name, holds in item.switches.items():
        to_do = to_do + (ONE - engaged[name] if holds else engaged[name])
    return where(to_do > HALF, item.guard, ONE)


def _value(element: OfModel, guard: Expr) -> Callable[[Any], Expr]:
    return lambda s: element.written([guard], s, s.t, s.velocity)[0]


def _jump(built: DirectorAssembly, name: str, acting: Acting) -> Callable[[Moment], None]:
    """Changes of the tree's state and of memories, as changes of the engine's coordinates and rates."""
    switched = built.model.events[name].switches if built.switched else {}
    own, reference = built.own, built.own.reference
    f, nq, nv = reference.function("jump", event=name), reference.nq, reference.nv

    def action(moment: Moment) -> None:
        before = acting.tree_state(moment.q, moment.v, moment.t)
        values = {"t": np.array([moment.t]), "x": before.x, "u": acting.inputs_at(before, moment.q)}
        x = np.atleast_1d(f(*(values[n] for n in f.inputs)))
        after = State(reference, x[:nq], x[nq : nq + nv], x[nq + nv :], moment.t)
        old, new = own.state_of(before), own.state_of(after)
        moment.q[: old.q.size] += new.q - old.q
        moment.v[: old.v.size] += new.v - old.v
        for state, z in zip(built.model.states, after.z, strict=True):
            moment.of(f"state {state}")[0][:] = z
        if built.model.memories:
            held = acting.inputs.memories_after(name, before, values["u"])
            for memory, value in zip(built.model.memories, held, strict=True):
                moment.of(f"input {memory}")[0][:] = value
            acting.changed(moment.t, held)
        for held_name, holds in switched.items():
            (moment.insert if holds else moment.remove)(*built.switched[held_name])

    return action


__all__ = ["declare_events"]
