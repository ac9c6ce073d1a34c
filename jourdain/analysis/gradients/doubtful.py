"""Events whose derivatives hold in a small neighbourhood or on one side only: told by warnings."""

from __future__ import annotations

import itertools
import warnings
from typing import TYPE_CHECKING

import numpy as np

from .runs import GradientWarning

if TYPE_CHECKING:
    from ...solvers.sensitivity.path import Path
    from .simulated import Simulated

#: A guard that crosses zero slower than this part of what its terms could do, or of how it has moved on its way there, is called grazing.
GRAZING, SLOW = 1e-6, 1e-3
#: Events nearer to each other than this part of the run happen at once: rounding decides which of them comes first.
AT_ONCE = 1e-9


def tell_of_guards(walk: Simulated, path: Path) -> None:
    """Tells of events that graze."""
    for i, piece in enumerate(walk.pieces):
        speed, scale = abs(float(path.speed[i])), float(path.scale[i])
        usual = _usual(walk, i) if piece.event in walk.run.events else 0.0
        if piece.event is not None and speed > 0.0 and (speed < GRAZING * scale or speed < SLOW * usual):
            told = f"its terms at {scale:.2g}" if speed < GRAZING * scale else f"by {usual:.2g} on the way there"
            _warn(
                walk,
                f"event '{piece.event}' at t = {walk.t[piece.last]:.9g} s grazes (its guard moves at {speed:.2g}, {told}): derivatives beyond it are large and hold "
                "in a small neighbourhood only",
            )


def _usual(walk: Simulated, i: int) -> float:
    """How fast the guard of the event behind piece i has moved in the middle."""
    piece = walk.pieces[i]
    t, rows = walk.t, (piece.first, (piece.first + piece.last) // 2)
    if walk.blocks is not None or piece.event is None or not t[piece.last] > t[rows[1]] > t[rows[0]]:
        return 0.0
    f, u = walk.run.guard(piece.event, walk.symbols), walk.run.given(piece.event)
    return max(abs(float(np.ravel(f.value(t[k : k + 1], walk.x[k], u))[0])) / float(t[piece.last] - t[k]) for k in rows)


def tell_of_order(walk: Simulated) -> None:
    """Tells of events that change something at once: in a changed design they come one after the other, in either order."""
    ended = [(float(walk.t[p.last]), p.event) for p in walk.pieces if p.event is not None and p.goes_on]
    ends = [(t, n) for t, n in ended if n in walk.run.events and walk.run.acts(n)]
    near = AT_ONCE * (walk.span[1] - walk.span[0])
    for (before, one), (after, other) in itertools.pairwise(ends):
        if one != other and after - before <= near:
            told = (
                f"events '{one}' and '{other}' happen at once at t = {after:.9g} s: derivatives are those of designs in which they follow each other in this order, and "
                "one-sided"
            )
            walk.notes.append(told)
            _warn(walk, told)


def _warn(walk: Simulated, told: str) -> None:
    warnings.warn(f"gradient of '{walk.system.model.name}': {told}", GradientWarning, stacklevel=6)


__all__ = ["AT_ONCE", "tell_of_guards", "tell_of_order"]
