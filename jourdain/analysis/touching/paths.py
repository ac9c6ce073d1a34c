"""Positions in which rigid contacts hold a system, over a parameter: as far as it stands, and the value at which it begins to slide, tip or fall.

Coulomb's law holds a whole set of positions, so that there is no curve to follow as there is without friction: each position follows from the one before
(Coulomb's law in displacements), as in a slow change of the parameter.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...errors import SolverError
from ..equilibrium import Equilibrium

#: To what part of the span the end of standing is found, and how far beyond it what happens there is looked at, in parts of a step.
END, CLEAR = 1e-11, 1e-4


def follow(
    held: Callable[[float, Equilibrium], Equilibrium],
    first: Equilibrium,
    value: float,
    limit: float,
    step: float,
    far: float,
    points: int,
    name: str,
) -> tuple[list[Equilibrium], str]:
    """Equilibria from a value of a parameter to a limit in steps of at most ``step``, in which no coordinate goes farther than ``far``; and why they end."""
    found: list[Equilibrium] = []
    last, length, fails, ending = first, step, None, False
    least = END * max(abs(limit - value), abs(limit))
    while len(found) < points:
        if value == limit:
            return found, f"'{name}' leaves the span"
        ahead = value + np.sign(limit - value) * min(length, abs(limit - value))
        try:
            now = held(float(ahead), last)
            if length > 1e-3 * step and np.abs(now.system.configuration.difference(last.state.q, now.state.q)).max(initial=0.0) > far:
                length *= 0.5
                continue
        except SolverError as error:
            length = 0.5 * abs(ahead - value)
            fails = error if fails is None or length > CLEAR * step else fails
            if length <= least:
                return found, f"it stands up to '{name}' = {value:.12g}: {fails}"
            continue
        if ending:  # only the last of the positions on the way to the end of standing is told
            found.pop()
        found.append(now)
        ending = fails is not None
        value, last = float(ahead), now
        length = min(step, 2.0 * length) if fails is None else length
    return found, f"{points} points were found"


__all__ = ["follow"]
