"""Values of a solution at given times, its names, its last values; solutions at other times, and parts of them."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from jourdain.errors import InputError, short
from jourdain.reals import NotReal, real, reals
from jourdain.results import interpolation
from jourdain.results.channel import Array, part, unknown
from jourdain.results.frames import FRAME_FIELDS, FrameChannels, FrameMotion
from jourdain.results.interpolation import Places, Side

if TYPE_CHECKING:
    from jourdain.results.solution import Solution


def instant(given: Any) -> Any:
    """Seconds from a text such as "500 ms"; all else as it is."""
    if not isinstance(given, str):
        return given
    from jourdain.model import values

    return values.instant(given, f"the time {given!r} is not a number of seconds, nor a text with a unit")


def seconds(given: Any) -> float:
    """One time from a number, or from a text such as "500 ms"."""
    try:
        return real(instant(given))
    except NotReal as error:
        raise InputError(f"the time {short(given)} is not a number of seconds ({error})") from None


class Names(tuple[str, ...]):
    """Channel names, sorted; call with glob patterns to filter: ``sol.names("crank.*")``.

    Patterns find motions of bodies, frames and sensors, too ("rod.tip.velocity"), which are computed when they are read; ``frames`` are the paths of these.
    """

    motions: FrameChannels | None = None

    @property
    def frames(self) -> list[str]:
        """Paths of the bodies, frames and sensors whose motion can be read."""
        return [] if self.motions is None else self.motions.paths

    def __call__(self, *patterns: str) -> list[str]:
        if not patterns:
            return list(self)
        known = (*self, *(name for path in self.frames for field in FRAME_FIELDS if (name := f"{path}.{field}") not in self))
        return [name for name in known if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)]


class Final(dict[str, Any]):
    """The last value of every channel, by name; a name that is not there is told as by the solution."""

    def __missing__(self, name: str) -> Any:
        raise unknown("channel", name, self)


class Sample(Mapping[str, Array]):
    """Values of every channel at given times, interpolated when asked for: ``sol.at(0.3)["crank.angle"]``."""

    def __init__(self, solution: Solution, times: ArrayLike, side: Side) -> None:
        self._solution = solution
        times = instant(times)
        try:
            self.t = reals(times, "the time")
        except InputError:
            raise InputError(f"the time {short(times)} is not a number of seconds, nor an array of them") from None
        self._shape = self.t.shape
        self._places = Places(solution.t, self.t.ravel(), side)
        self._dense: Mapping[str, Array] | None = None

    def __getitem__(self, name: str) -> Any:
        if name == "t":
            return self.t[()]
        whole, index = self._solution.locate(name)
        if whole in self._solution:
            self._solution.channel(whole).read(index)
        return self.unread(name)

    def unread(self, name: str) -> Any:
        """The values, without telling that they are read."""
        whole, index = self._solution.locate(name)
        values = part(self._interpolate(whole), index)
        return values.reshape(self._shape + values.shape[1:])[()]

    def columns(self, names: Sequence[str]) -> Array:
        """Channels of numbers side by side: ``sol.at(t)["a"], sol.at(t)["b"], …`` at once, fast where they are states or inputs."""
        together = getattr(self._dense_values(), "columns", None)
        inside = None if together is None else together(names)
        if inside is None:
            return np.column_stack([np.ravel(self[n]) for n in names]) if names else np.zeros((self.t.size, 0))
        if not self._places.exact.any():
            return np.asarray(inside)
        ends = np.column_stack([self._solution.channel(n).samples for n in names])[self._places.lower]
        return np.where(self._places.exact[:, None], ends, inside)

    def _interpolate(self, name: str) -> Array:
        channel, places = self._solution.channel(name), self._places
        values = channel.samples
        if values.dtype.kind != "f":
            return interpolation.hold(places, values)
        if channel.description == "memory" and self._solution.dense is None:  # it jumps from step to step
            return interpolation.hold(places, values)
        if name in self._dense_values():
            inside = np.asarray(self._dense_values()[name], float)
            exact = places.exact.reshape(places.exact.shape + (1,) * (values.ndim - 1))
            return np.where(exact, values[places.lower], inside)
        slope = self._solution.rate_of(name)
        if slope is None:
            return interpolation.linear(places, values)
        rate = self._solution.channel(slope)
        factor = rate.factor_to(f"({channel.unit})/s") if channel.unit else 1.0
        return interpolation.hermite(places, values, factor * rate.values)

    def _dense_values(self) -> Mapping[str, Array]:
        if self._dense is None:
            dense = self._solution.dense
            self._dense = {} if dense is None else dense(self._places.times)
        return self._dense

    def __iter__(self) -> Iterator[str]:
        return iter(self._solution.names)

    def __len__(self) -> int:
        return len(self._solution.names)


def resampled(sol: Solution, times: ArrayLike | int, side: Side = "right") -> Solution:
    """`Solution.resample`."""
    if isinstance(times, (int, np.integer)):
        if times < 1:
            raise InputError(f"resample: {times} samples are too few; give at least 1, or times")
        times = np.linspace(sol.t[0], sol.t[-1], int(times))
    given = np.atleast_1d(reals(times, "resample: times"))
    if given.ndim != 1 or not given.size:
        raise InputError(f"resample: times = {short(times)} must be a row of times, or how many")
    sample = sol.at(given, side)

    def frames(name: str) -> FrameMotion:
        motion, places = sol.frame(name), Places(sol.t, sample.t, side)

        def rows(field: str, x: Array) -> Array:
            if field == "rotation":
                return interpolation.rotation(places, x)
            if field == "position" and motion.velocity is not None:
                return interpolation.hermite(places, x, motion.velocity)
            return interpolation.linear(places, x)

        return motion.map(rows)

    return sol._derive(sample.t, sample.unread, None if sol.frame_provider is None else frames)


def rows_between(sol: Solution, t0: float, t1: float) -> Solution:
    """Rows in t0 ≤ t ≤ t1, with interpolated ends where these are no samples."""
    first, last = Places(sol.t, np.array([t0]), "right"), Places(sol.t, np.array([t1]), "left")
    low = 0 if t0 <= sol.t[0] else int(first.lower[0]) + (not first.exact[0])
    high = len(sol) if t1 >= sol.t[-1] else int(last.lower[0]) + 1
    if low >= high:
        return resampled(sol, [t0, t1] if t0 < t1 else [t0])
    head, tail = ([] if first.exact[0] else [t0]), ([] if last.exact[0] else [t1])
    if not head and not tail:
        return sol._derive(sol.t[low:high], lambda name: sol.channel(name).samples[low:high], sol._row_frames(slice(low, high)))
    ends = resampled(sol, head + tail)
    split = len(head)

    def join(edge: Array, inside: Array) -> Array:
        return np.concatenate([edge[:split], inside[low:high], edge[split:]])

    def rows(name: str) -> Array:
        return join(ends.channel(name).samples, sol.channel(name).samples)

    def frames(name: str) -> FrameMotion:
        edge = ends.frame(name)
        return sol.frame(name).map(lambda field, x: join(getattr(edge, field), x))

    t = np.concatenate([head, sol.t[low:high], tail])
    return sol._derive(t, rows, None if sol.frame_provider is None else frames)
