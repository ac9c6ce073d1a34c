"""Where a model starts: its initial values (``model.initial``), under those that a user gives."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import InputError
from ..model.values import number, seconds
from ..results.sample import Sample
from .state import State

if TYPE_CHECKING:
    from .system import System


class Initial(NamedTuple):
    """Values by name, sorted into positions, velocities, the user's states and memories; positions have their full names."""

    positions: dict[str, Any]
    rates: dict[str, Any]
    states: dict[str, Any]
    memories: dict[str, float]


def initial_values(system: System, given: Mapping[str, Any] | None = None) -> Initial:
    """Values by name (those of the model if none are given), sorted.

    A velocity is known by its own name; a joint's name is enough for a position where the joint has one coordinate.
    """
    own = given is None
    values = system.model.initial if own else dict(given or {})
    c, states = system.configuration, system.model.states
    found = Initial({}, {}, {}, {})
    for name, x in values.items():
        if name in states:
            found.states[name] = x
        elif name in system.model.memories or name in system.model.unknowns:
            found.memories.update(memories_in(system, {name: x}))
        elif name in c.velocity_place:
            found.rates[name] = x
        else:
            try:
                place = c.position_names[c.index(name)]
            except InputError as error:
                reason = str(error)
                raise InputError(f"initial values of '{system.model.name}': {reason}" if own else reason) from None
            if place in found.positions:
                raise InputError(
                    f"'{system.model.name}': coordinate '{place}' is given twice, by its joint's name and by its own; leave one out"
                )
            found.positions[place] = x
    return found


def replaced(system: System, values: Mapping[str, Any], others: Mapping[str, Any]) -> dict[str, Any]:
    """Values by name with others before them, whether a coordinate is called by its own name or by its joint's."""
    joints, c = system.model.joints, system.configuration

    def own(name: str) -> str:
        return c.position_names[c.index(name)] if name in joints else name

    told = {own(n) for n in others}
    return {n: x for n, x in values.items() if own(n) not in told} | dict(others)


def named_state(system: System, given: Mapping[str, Any] | None, velocities: Mapping[str, Any] | None, t: float) -> State:
    """A state from named values; what is not named is as the model's initial values say, otherwise zero."""
    if given is not None and given.__class__ is not dict and not isinstance(given, Mapping):
        raise InputError(f"'{system.model.name}': {given!r} is no state; give values by the names of coordinates, or a State")
    if isinstance(given, Sample):
        raise InputError(
            f"'{system.model.name}': what sol.at(t) gives holds every channel and is no start; "
            "give sol.final_state(i), the state of the run's sample i, or the values that are wanted by name"
        )
    c = system.configuration
    t = seconds(t, f"state of '{system.model.name}': t")
    changed = initial_values(system, given or {})
    q, v, states, memory = None, None, changed.states, changed.memories
    if system.model.initial:
        start = initial_values(system)
        q, v, states = c.pack(start.positions), c.pack_velocities(start.rates), start.states | states
        memory = start.memories | memory
    rates = {**changed.rates, **velocities} if velocities else changed.rates
    return State(system, c.pack(changed.positions, q), c.pack_velocities(rates, v), user_states(system, states), t, memory)


def own_state(system: System, state: State) -> State:
    """The state, if it is one of this system: of its model, or of one with the same coordinates and states in the same order."""
    check_belongs(system, state.system, "state")
    return state


def _other_model(system: System, other: Any) -> str:
    same = other.model.name == system.model.name
    return f"another model that is called '{other.model.name}', too" if same else f"'{other.model.name}'"


def check_belongs(system: System, other: Any, what: str) -> None:
    """Refuses a state or a solution of a system with other coordinates."""
    if other is system or (other.model is system.model and other.configuration is system.configuration):
        return
    names = [(s.coordinate_names, s.velocity_names, list(s.model.states)) for s in (system, other)]
    if names[0] != names[1]:
        mine, theirs = (list(chain(*n)) for n in names)
        strange, missing = ([n for n in a if n not in b] for a, b in ((theirs, mine), (mine, theirs)))
        why = f"it has '{strange[0]}'" if strange else f"it lacks '{missing[0]}'" if missing else "its coordinates have another order"
        raise InputError(
            f"'{system.model.name}': the {what} given is one of {_other_model(system, other)} ({why}); give one of this system, or values by name"
        )


def memories_in(system: System, values: Mapping[str, Any]) -> dict[str, float]:
    """The values that are those of memories, or guesses of unknowns."""
    known = {*system.model.memories, *system.model.unknowns}
    return {n: number(x, f"'{n}'", system.model.inputs[n].unit or None) for n, x in values.items() if n in known}


def user_states(system: System, values: Mapping[str, Any]) -> np.ndarray:
    """The user's states z, with some replaced by name."""
    states = system.model.states
    return np.array([number(values.get(n, item.initial), f"state '{n}'") for n, item in states.items()], dtype=float)


__all__ = ["Initial", "check_belongs", "initial_values", "memories_in", "named_state", "own_state", "replaced", "user_states"]
