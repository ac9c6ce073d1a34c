"""What is kept of a run that was interrupted, so that its files are written about at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from jourdain.results.solution import Solution

#: Most samples at which all channels are found; longer runs keep their states, from which the others follow.
SHORT = 5_000
#: Most numbers of a table.
MOST_NUMBERS = 4_000_000


def what_is_kept(sol: Solution, most: int = MOST_NUMBERS) -> tuple[Solution, str]:
    """An interrupted run as it is written, and what of it that is in words.

    Forces, reactions and energies of millions of samples take longer than the run itself: of a long run states and outputs that are known
    are kept, at every sample or, where these are more than so many numbers, at every second, third … of them, the last included.
    """
    if len(sol) <= SHORT:
        return sol, "what was done is kept"
    known = set(getattr(sol.system, "coordinate_names", ())) | set(getattr(sol.system, "velocity_names", ()))
    names = [n for n in sol.names if n in known or sol._channels[n].computed]
    columns = 1 + sum(max(1, int(np.prod(sol.channel(n).samples.shape[1:]))) for n in names)
    every = -(-len(sol) * columns // most)
    rows = np.append(np.arange(0, len(sol) - 1, every), len(sol) - 1)
    said = f"its states are kept, at one in {every} of {len(sol)} samples" if every > 1 else f"its states are kept ({len(sol)} samples)"
    return sol._derive(sol.t[rows], lambda name: sol.channel(name).samples[rows], sol._row_frames(rows), names, dense=None), said
