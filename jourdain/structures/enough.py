"""How many modes are enough for loads of a certain frequency at certain points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError
from ..shown import Shown
from .eigen import lowest_modes
from .parts.dofs import COMPONENTS, Array
from .parts.points import motion_of
from .reduction import Space, boundary, massless

if TYPE_CHECKING:
    from .structure import Structure

#: Modes up to so many times the highest frequency of the loads answer dynamically.
MARGIN = 2.0


@dataclass(frozen=True, eq=False)
class Enough(Shown):
    """Which free-free modes loads need: how many lie below twice their frequency, and what share of the static compliance these carry."""

    frequency: float  #: Hz, highest of the loads
    modes: int  #: number of modes below twice the frequency
    frequencies: Array  #: Hz, of the modes looked at
    share: dict[str, dict[str, float]]  #: of each point's elastic compliance against x, y, z, rx, ry, rz that these modes carry, 0 … 1
    modes_of: dict[str, list[int]]  #: numbers (from 1) of the modes that each point feels, strongest first

    def __str__(self) -> str:
        lines = [f"{self.modes} modes lie below {MARGIN:g} × {self.frequency:g} Hz"]
        for point, shares in self.share.items():
            felt = ", ".join(str(k) for k in self.modes_of[point][:6]) or "none"
            told = ", ".join(f"{c} {100 * x:.0f} %" for c, x in shares.items())
            lines.append(f"  {point} feels modes {felt}; they carry of its static compliance: {told}")
        if any(x < 0.95 for shares in self.share.values() for x in shares.values()):
            lines.append("  where the share is small and a joint or load acts, add static shapes: kind='attachment' or 'craig-bampton'")
        return "\n".join(lines)


def enough(part: Structure, frequency: float, at: Any = None) -> Enough:
    """Modes needed for loads up to a frequency (Hz) at points (all named ones, unless given), seen on the part free in space."""
    if isinstance(frequency, bool) or not isinstance(frequency, int | float | np.number) or not 0.0 < frequency < np.inf:
        raise InputError(f"{part.name}: enough: frequency = {frequency!r} Hz must be a positive number, the highest frequency of the loads")
    part.require_sound()
    space = Space.of(part)
    relieved = space.relieved()
    most = space.size - space.R.shape[1] - massless(space.M)
    limit = (2 * np.pi * MARGIN * frequency) ** 2
    count = min(10, most)
    while True:
        square, modes = lowest_modes(relieved, space.K, space.M, count, most, part.name)
        if square[-1] > limit or count == most:
            break
        count = min(2 * count, most)
    below = int((square <= limit).sum())
    chosen = [at] if isinstance(at, str | int) else list(at) if at is not None else list(part.interfaces or part.names)
    share, felt = {}, {}
    for p in chosen:
        name = motion_of(part, p).name
        loads = boundary(space, [p]).toarray().T
        static = np.einsum("nc,nc->c", loads, relieved.solve(loads))
        each = (modes[:, :below].T @ loads) ** 2 / square[:below, None]
        part_of = each / np.maximum(static, 1e-300)
        there = np.flatnonzero(np.diff(motion_of(part, p).operator.indptr))
        share[name] = {COMPONENTS[c]: float(x) for c, x in zip(there, part_of.sum(axis=0))}
        strength = part_of.max(axis=1, initial=0.0)
        felt[name] = [int(k) + 1 for k in np.argsort(-strength) if strength[k] > 0.01]
    return Enough(frequency, below, np.sqrt(square) / (2 * np.pi), share, felt)
