"""Inputs that follow from a state, as runs find them: what Python callbacks give, algebraic unknowns, forces of contacts that give way."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..model.contact.methods import touches

if TYPE_CHECKING:
    from .state import State
    from .tree.system import TreeSystem

#: Weights of differences of order four at so many steps, and the step in parts of what is changed (rounding and what is left out are alike).
DIFFERENCE = ((-2, 1.0 / 12.0), (-1, -8.0 / 12.0), (1, 8.0 / 12.0), (2, -1.0 / 12.0))
STEP = 1e-3


def find_inputs(system: TreeSystem, t: np.ndarray, x: np.ndarray, u: np.ndarray, gone: bool = False) -> None:
    """Writes them at times and states (in rows) into rows of inputs; with ``gone`` a callback that gives no value leaves NaN."""
    if system.model.callbacks:
        from .callbacks import call

        call(system, t, x, u, gone)
    if system.model.unknowns:
        from .unknowns import find_unknowns

        find_unknowns(system, t, x, u)
    if touches(system.model):
        from .touching import find_forces

        find_forces(system, t, x, u)


def called_slopes(system: TreeSystem, state: State, u: np.ndarray) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Which inputs callbacks set, and their derivatives along the velocities, by velocities, user states and inputs (differences of order four)."""
    from .callbacks import call

    model, c = system.model, system.configuration
    names = list(model.inputs)
    places = np.array([names.index(n) for item in model.callbacks.values() for n in item.inputs], dtype=int)
    found: dict[str, np.ndarray] = {}
    for kind, start in (("q", np.zeros(system.nv)), ("v", state.v), ("z", state.z), ("u", u[: system.nu])):
        found[kind] = np.zeros((len(places), len(start)))
        for j in range(len(start)):
            step = STEP * max(1.0, abs(start[j]))
            for times, weight in DIFFERENCE:
                moved = np.array(start, dtype=float)
                moved[j] += times * step
                there = {"q": c.integrate(state.q, moved) if kind == "q" else state.q, "v": state.v, "z": state.z, "u": u} | (
                    {} if kind == "q" else {kind: moved}
                )
                row = np.array(there["u"], dtype=float)[None]
                call(system, np.array([state.t]), np.concatenate([there["q"], there["v"], there["z"]])[None], row)
                found[kind][:, j] += weight / step * row[0, places]
    return places, found


__all__ = ["called_slopes", "find_inputs"]
