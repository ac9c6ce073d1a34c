"""Channels of a solution: states, inputs, energies, outputs and reactions, computed when they are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ...model.contact.methods import touches
from ...results.channel import Channel
from ..prescribed import prescribed_channels
from ..pushed import pushed_inputs, pushed_system, refuse_between, touches_rigidly
from .energy_balance import energy_channels
from .reactions import constrained_accelerations, reaction_channels

if TYPE_CHECKING:
    from ..compiled import Compiled
    from ..system import System
    from .driven_books import Driven
    from .solution import Between, StateTable

#: Energy books of a step close where this part of the energy is left at most.
CLOSES = 1e-9


def channels_of(
    table: StateTable, between: Between | None, more: Mapping[str, Channel], driven: Driven | None = None
) -> dict[str, Channel]:  # fmt: skip
    """Channels by name of the states of a table; ``between`` gives states at any times, ``more`` are those of the way it was computed, ``driven`` tells
    what drives supplied in runs with set-valued laws."""
    system, t, x, then = table.system, table.t, table.rows, table.then
    made = prescribed_channels(system, t, then.parameters) | _state_channels(system, x)
    for i, (name, item) in enumerate(system.model.inputs.items()):
        made[name] = Channel(table.inputs[:, i], item.unit, _meaning(system, name))

    def acting() -> tuple[Compiled, np.ndarray]:
        if not touches_rigidly(system.model):
            return system, table.inputs
        if "contacts.dissipated" not in more:
            refuse_between(system)
        return pushed_system(system), pushed_inputs(system, table.inputs, more)

    made |= _lazy_channels(system, t, x, table.inputs, cache(acting))
    taken = (lambda: more["contacts.dissipated"].values) if "contacts.dissipated" in more else None
    stored = None
    if touches(system.model):
        from ..touching import touching_channels

        made |= touching_channels(system.reference, t, x, table.inputs)
        stored = lambda: made["contacts.stored"].values
    given = None if driven is None else lambda: driven(table, more, between)
    scheme = _books_of_steps(more)
    made |= energy_channels(
        system, t, x, table.inputs, lambda: made["energy.total"].values, between, table.inputs_at, taken, stored, given, scheme
    )
    return {name: channel.within(then) for name, channel in (made | dict(more)).items()}


def of_contact_forces(system: System) -> set[str]:
    """Channels that follow from forces of rigid contacts, which a run knows at its rows alone; between these they are interpolated."""
    if not touches_rigidly(system.model):
        return set()
    outputs = system.model.outputs if "a" in system.function("outputs").inputs else ()
    nothing = np.zeros((0, system.nq + system.nv + system.nz))
    return {*outputs, *reaction_channels(system, nothing[:, 0], nothing, lambda: (system, nothing))}


def _books_of_steps(more: Mapping[str, Channel]) -> Callable[[], tuple[np.ndarray, np.ndarray]] | None:
    """What a scheme dissipated and was supplied with, where its own books close in every step."""
    dissipated, supplied, residual, total = (more.get(f"step.energy.{n}") for n in ("dissipated", "supplied", "residual", "total"))
    if dissipated is None or supplied is None or residual is None or total is None:
        return None
    if residual.values.max(initial=0.0) > CLOSES * np.abs(total.values).max(initial=0.0):
        return None
    return lambda: (dissipated.values, supplied.values)


def _state_channels(system: System, x: np.ndarray) -> dict[str, Channel]:
    """Positions, velocities and user states."""
    rate_units = {"rad": "rad/s", "m": "m/s", "": "rad/s"}
    c = system.configuration
    columns = [(name, unit, "position") for name, unit in zip(c.position_names, c.units, strict=True)]
    units = {name: rate_units[coordinate.unit] for coordinate in c.coordinates for name in coordinate.velocity_names}
    columns += [(name, units[name], "velocity") for name in c.velocity_names]
    columns += [(name, state.unit, "user state") for name, state in system.model.states.items()]
    return {name: Channel.column(x, i, unit, kind) for i, (name, unit, kind) in enumerate(columns)}


def _meaning(system: System, name: str) -> str:
    """What sets an input."""
    return "memory" if name in system.model.memories else "algebraic unknown" if name in system.model.unknowns else "input"


def _lazy_channels(
    system: System, t: np.ndarray, x: np.ndarray, inputs: np.ndarray, acting: Callable[[], tuple[Compiled, np.ndarray]]
) -> dict[str, Channel]:
    nq, nv = system.nq, system.nv
    q, v = x[:, :nq], x[:, nq : nq + nv]
    kept: dict[str, np.ndarray] = {}

    def energy(index: int) -> Any:
        def compute() -> np.ndarray:
            if "energy" not in kept:
                f = system.function("energy")
                extra = {"z": x[:, nq + nv :], "u": inputs}
                kept["energy"] = f(t[:, None], q, v, *(extra[n] for n in list(f.inputs)[3:]))
            e = kept["energy"]
            return e[:, index] if index < 2 else e[:, 0] + e[:, 1]

        return compute

    channels = {
        "energy.kinetic": Channel(energy(0), "J", "kinetic energy"),
        "energy.potential": Channel(energy(1), "J", "potential energy of gravity and springs"),
        "energy.total": Channel(energy(2), "J", "kinetic and potential energy"),
    }

    def output(index: int) -> Any:
        def compute() -> np.ndarray:
            if "outputs" not in kept:
                f = system.function("outputs")
                s, u = acting() if "a" in f.inputs else (system, inputs)
                accelerations = [constrained_accelerations(s, t, x, u)[0]] if "a" in f.inputs else []
                kept["outputs"] = f(t[:, None], x, inputs, *accelerations)
            return kept["outputs"][:, index]

        return compute

    for i, item in enumerate(system.model.outputs.values()):
        channels[item.name] = Channel(output(i), item.unit, "output")
    return channels | reaction_channels(system, t, x, acting)
