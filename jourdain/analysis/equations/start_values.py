"""Where a planned simulation starts: values by name, loops closed, independent coordinates held when parameters change."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from ...systems.constraints import jacobian
from ...systems.start import initial_values
from ...systems.state import State
from ...systems.tree.partition import partition
from ..assemble import AssembledState, assemble

if TYPE_CHECKING:
    from ...systems.system import System


def closed_start(system: System, given: State | Mapping[str, Any] | None) -> State:
    """A state with closed loops: one given as it is, or named values held and the others found; memories are as they are named."""
    if isinstance(given, State):
        return given
    values = initial_values(system, given or {})
    names = {**values.positions, **values.rates}
    found = assemble(system.reference, names)
    z = system.state(values.states).z if values.states else found.z
    return found.with_values(z=z, memory=values.memories)


def closed_again(system: System, base: State, changes: Mapping[str, float]) -> State:
    """The start of a run with other parameters or initial values: independent coordinates and velocities as they were, or as changed.

    Coordinates that are changed count as independent ones, in the place of others.
    """
    s = system.reference
    names = independent_names(base.system, base, {n.removesuffix("_rate") for n in changes} - s.model.states.keys())
    rates = {n: r for n, r in zip((x.removesuffix("_rate") for x in s.velocity_names), s.velocity_names, strict=True)}
    fixed = {n: changes.get(n, base[n]) for n in names}
    speeds = {rates[n]: changes.get(rates[n], base[rates[n]]) for n in names if n in rates}
    strange = [n for n in changes if n not in fixed and n not in speeds and n not in s.model.states]
    fixed |= {n: changes[n] for n in strange if n in s.coordinate_names}
    speeds |= {n: changes[n] for n in strange if n in s.velocity_names}
    near = State(s, base.q, base.v, base.z, base.t)
    found = assemble(s, fixed, guess=near, velocities=speeds, t=base.t)
    z = base.z.copy()
    for i, n in enumerate(s.model.states):
        z[i] = changes.get(n, z[i])
    return found.with_values(z=z, memory=base.memory)


def independent_names(system: Any, state: State, changed: Collection[str] = ()) -> list[str]:
    """Independent coordinates of a closed state: those that assembling found, or by elimination, where ``changed`` ones are not among them with these."""
    names = [n.removesuffix("_rate") for n in system.velocity_names]
    if isinstance(state, AssembledState) and state.report is not None:
        found = [n for n in state.report.independent if n in system.coordinate_names]
        if set(found).issuperset(changed):
            return found
    parts = partition(jacobian(system.reference, state.q, state.t), preferred=[j for j, n in enumerate(names) if n in changed])
    return [names[j] for j in parts.independent if names[j] in system.coordinate_names]


__all__ = ["closed_again", "closed_start", "independent_names"]
