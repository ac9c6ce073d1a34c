"""Two solutions, one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from jourdain.errors import InputError
from jourdain.model.units import convert
from jourdain.results.books import counted_on
from jourdain.results.channel import Array
from jourdain.results.frames import FrameMotion

if TYPE_CHECKING:
    from jourdain.results.solution import Dense, Solution


def concatenated(first: Solution, second: Solution) -> Solution:
    """`Solution.concatenate`."""
    if len(second) and len(first) and second.t[0] < first.t[-1]:
        raise InputError(
            f"cannot append a solution that begins at {second.t[0]:g} s to one that ends at {first.t[-1]:g} s; take other.between(…) first"
        )
    if different := set(first.names) ^ set(second.names):
        shown = ", ".join(map(repr, sorted(different)[:5]))
        raise InputError(f"only one of the two solutions has {shown}; use select(…) on the channels of both")

    def rows(name: str) -> Array:
        mine, its = first.channel(name), second.channel(name)
        following = convert(its.samples, its.unit, mine.unit) if mine.unit != its.unit else its.samples
        return np.concatenate([mine.samples, counted_on(name, following, mine.samples[-1]) if len(first) else following])

    def frames(name: str) -> FrameMotion:
        following = second.frame(name)
        return first.frame(name).map(lambda field, x: np.concatenate([x, getattr(following, field)]))

    metadata = dict(first.metadata)
    if second.metadata != first.metadata:
        metadata["continued"] = [*metadata.get("continued", []), second.metadata]
    both = first.frame_provider is not None and second.frame_provider is not None
    return first._derive(
        np.concatenate([first.t, second.t]), rows, frames if both else None,
        metadata=metadata, statistics=added(first.statistics, second.statistics), dense=_joined_dense(first, second),
        events=lambda: first.events + second.events,
    )  # fmt: skip


def added(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """Statistics of two runs: numbers add up."""
    total = dict(second) | first
    for key in first.keys() & second.keys():
        numbers = all(isinstance(x[key], (int, float)) and not isinstance(x[key], bool) for x in (first, second))
        if numbers:
            total[key] = first[key] + second[key]
    return total


def _joined_dense(first: Solution, second: Solution) -> Dense | None:
    if first.dense is None or second.dense is None or not len(first):
        return None
    one, two, border = first.dense, second.dense, first.t[-1]

    def dense(times: NDArray[np.float64]) -> dict[str, Array]:
        early = times <= border
        if early.all() or not early.any():
            return dict((one if early.all() else two)(times))
        a, b = one(times[early]), two(times[~early])
        joined = {}
        for name in a.keys() & b.keys():
            values = np.empty((times.size, *np.shape(a[name])[1:]))
            values[early], values[~early] = a[name], b[name]
            joined[name] = values
        return joined

    return dense
