"""A solution with more samples where an integrator took long steps, so that lines drawn through them look like the motion."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from jourdain.results.channel import Array
    from jourdain.results.solution import Solution


def refined(solution: Solution, count: int = 400) -> Solution:
    """The solution with interpolated samples between its own, no two further apart than the run's length / ``count``.

    Its own samples stay, both of them at events.  Without an interpolant or derivatives nothing is added.

    >>> from jourdain.results import Channel, Solution
    >>> fall = {"z": Channel([0.0, -1.0], "m"), "v": Channel([0.0, -2.0], "m/s")}
    >>> refined(Solution([0.0, 1.0], fall, derivatives={"z": "v"}), 4)["z"]
    array([ 0.    , -0.0625, -0.25  , -0.5625, -1.    ])
    """
    t = solution.t
    if len(t) < 2 or t[-1] == t[0] or (solution.dense is None and not solution.derivatives):
        return solution
    steps = np.diff(t)
    pieces = np.ceil(steps / (t[-1] - t[0]) * count - 1e-9).astype(int)
    before = np.repeat(np.arange(len(steps)), np.maximum(pieces - 1, 0))
    if not before.size:
        return solution
    turn = np.concatenate([np.arange(1, n) for n in pieces if n > 1])
    between = t[before] + steps[before] * turn / pieces[before]
    sample = solution.at(between)

    def rows(name: str) -> Array:
        return np.insert(solution[name], before + 1, sample[name], axis=0)

    return _with_its_frames(solution)._derive(np.insert(t, before + 1, between), rows, None)


def _with_its_frames(solution: Solution) -> Solution:
    """The solution, without frames where it lacks the coordinates to compute them at other times."""
    needed = [*solution.system.coordinate_names, *solution.system.velocity_names] if solution.system is not None else []
    if solution.frame_provider is None or all(name in solution for name in needed):
        return solution
    bare = copy(solution)
    bare.frame_provider = None
    return bare


__all__ = ["refined"]
