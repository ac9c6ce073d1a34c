"""The result of a run: times, named channels with units, frames, metadata; interpolation, slices, files and plots."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from jourdain.errors import InputError
from jourdain.model.units import UnitError
from jourdain.results.channel import Array, Channel, UnknownChannelError, as_channel, check_name, unknown
from jourdain.results.elsewhere import not_there
from jourdain.results.events import EventTable
from jourdain.results.frames import FRAME_FIELDS, FRAME_UNITS, FrameChannels, FrameMotion, FrameProvider, as_motion
from jourdain.results.interpolation import Side
from jourdain.results.metadata import plain
from jourdain.results.sample import Final, Names, Sample, resampled, rows_between, seconds
from jourdain.shown import Shown, in_notebook

if TYPE_CHECKING:
    from pathlib import Path

    import pandas
    import xarray
    from matplotlib.figure import Figure

Dense = Callable[[NDArray[np.float64]], Mapping[str, Array]]
"""Dense output: times (n,) → values (n, …) of the channels it knows, by name."""

#: What a solution whose parts are made later has not at first.
_LATER = ("_given", "_events", "dense", "frame_provider", "restart", "raw", "touching")
_AXES = {"x": 0, "y": 1, "z": 2}
_COMPONENT = re.compile(r"(.+)\[([0-9]+(?:,[0-9]+)*)\]")


class Solution(Shown):
    """Times and named channels of a run.

    Times increase strictly, except at events, where a repeated time carries the values before and after the event.
    Between samples a channel follows the ``dense`` output if that covers it, else the cubic Hermite polynomial if its
    derivative is a channel (``derivatives={"crank.angle": "crank.speed"}``), else a straight line; int and bool
    channels hold their last sample.  Channels, metadata, statistics and derivatives may be functions of no argument: they are
    called and checked when first needed.

    >>> sol = Solution([0.0, 1.0], {"crank.angle": Channel([0.0, 3.0], "rad")}, {"model": "engine"})
    >>> sol.at(0.5)["crank.angle"]
    np.float64(1.5)
    """

    #: What the method remembers at the end, to go on from there: ``system.simulate(solution, …)``.
    restart: Any
    #: The run in the words of the engine that computed it, where these are others than the model's, or a function that gives it.
    raw: Solution | Callable[[], Solution] | None
    #: What touched what, of a run with contacts.
    touching: Any
    #: Makes all that is read later.
    _whole: Callable[[], Solution]

    @property
    def contacts(self) -> Any:
        """What touched what in a run with contacts: ``contacts.at(t)``, ``contacts.summary()``."""
        if self.touching is None:
            raise InputError(
                "this solution knows no contacts; they belong to the run of a model with m.contact(…), not to its file or to parts of it"
            )
        return self.touching

    @property
    def assembled(self) -> Solution:
        """The run of the assembled system behind a solution in directors."""
        if self.raw is None:
            raise InputError("this solution was not computed by an assembled system")
        return self.raw() if callable(self.raw) else self.raw

    def __init__(
        self,
        t: ArrayLike,
        channels: Mapping[str, Any] | Callable[[], Mapping[str, Any]],
        metadata: Mapping[str, Any] | Callable[[], Mapping[str, Any]] | None = None,
        statistics: Mapping[str, Any] | Callable[[], Mapping[str, Any]] | None = None,
        system: Any = None,
        *,
        derivatives: Mapping[str, str] | Callable[[], Mapping[str, str]] | None = None,
        dense: Dense | None = None,
        frame_provider: FrameProvider | None = None,
        events: EventTable | Callable[[], EventTable] | None = None,
    ) -> None:
        self.t = _checked_times(t)
        self._given: dict[str, Any] = {"_channels": channels, "metadata": metadata, "statistics": statistics, "derivatives": derivatives}
        self.system = system
        self.dense = dense
        self.frame_provider = frame_provider
        self._events = events
        self.restart = self.raw = self.touching = None
        if not (callable(channels) and callable(metadata) and callable(statistics) and callable(derivatives)):
            for name in [n for n, given in self._given.items() if not callable(given)]:
                getattr(self, name)  # checked now

    @classmethod
    def later(cls, t: NDArray[np.float64], whole: Callable[[], Solution], system: Any) -> Solution:
        """A solution of which only the times are known yet: whatever else is read first makes the whole."""
        found = cls.__new__(cls)
        t.setflags(write=False)
        found.t, found.system, found._whole = t, system, whole
        return found

    def __getattr__(self, name: str) -> Any:
        whole = self.__dict__.get("_whole")
        if whole is None or name not in _LATER:
            raise AttributeError(not_there(self, name))
        for made, x in whole().__dict__.items():
            self.__dict__.setdefault(made, x)
        self.__dict__.pop("_whole", None)
        return self.__dict__[name]

    def _part(self, name: str) -> Any:
        """What was given for a part, computed if it is a function; it is let go of."""
        given = self._given[name]
        found = (given() if callable(given) else given) or {}
        del self._given[name]
        return found

    @cached_property
    def _channels(self) -> dict[str, Channel]:
        channels = {check_name(name): as_channel(name, given) for name, given in self._part("_channels").items()}
        for name, channel in channels.items():
            try:
                channel.expect(self.t.size)
            except InputError as error:
                raise InputError(f"channel {name!r}: {error}") from None
        return channels

    @cached_property
    def metadata(self) -> dict[str, Any]:
        """What the run was: model, method, tolerances, parameters, how it ended."""
        known: dict[str, Any] = plain(self._part("metadata"), "metadata")
        return known

    @cached_property
    def statistics(self) -> dict[str, Any]:
        """The work that was done."""
        known: dict[str, Any] = plain(self._part("statistics"), "statistics")
        return known

    @cached_property
    def derivatives(self) -> dict[str, str]:
        """Channels whose derivative is a channel too."""
        return self._checked_derivatives(self._part("derivatives"))

    @cached_property
    def events(self) -> EventTable:
        """The events that happened: a table of name, time, state before and after, and what each did."""
        given, self._events = self._events, None
        found = given() if callable(given) else given
        return EventTable() if found is None else found

    @property
    def states(self) -> Array | None:
        """Rows (q, v, z) of the run's states, where it was found as such, without the table of channels."""
        table = getattr(self.frame_provider, "table", None)
        return None if table is None or len(table.t) != len(self.t) else np.asarray(table.rows)

    @cached_property
    def names(self) -> Names:
        """Names of the channels, sorted, and the paths of frames whose motion can be read."""
        found = Names(sorted(self._channels))
        found.motions = self._frame_channels
        return found

    def _checked_derivatives(self, derivatives: Mapping[str, str]) -> dict[str, str]:
        for name, slope in derivatives.items():
            channel, rate = self.channel(name), self.channel(slope)
            if channel.unit and rate.unit:
                try:
                    rate.factor_to(f"({channel.unit})/s")
                except UnitError as error:
                    raise InputError(f"channel {slope!r} cannot be the derivative of {name!r}: {error}") from None
            if channel.computed and rate.computed and channel.values.shape != rate.values.shape:
                raise InputError(
                    f"channel {slope!r} of shape {rate.values.shape} cannot be the derivative of {name!r} of shape {channel.values.shape}"
                )
        return dict(derivatives)

    # -- access ------------------------------------------------------------------------------------------------------

    def channel(self, name: str) -> Channel:
        """The channel of that name, or a component of a vector channel ("rod.force.x", "rod.force[0]", "R[0,2]")."""
        if name == "t":
            return Channel(self.t, "s", "time")
        whole, index = self.locate(name)
        found = self._channels[whole] if whole in self._channels else self._frame_channels[whole]
        return found.component(index) if index else found

    def locate(self, name: str) -> tuple[str, tuple[int, ...]]:
        """The channel that holds ``name`` and the index of the component meant, () for the whole channel.

        Motions of frames and readings of sensors count as channels: "coupler.end.velocity", and "coupler.end.x" of a position.
        """
        found = self._where(name)
        if found is None:
            raise self._none(str(name))
        return found

    def _where(self, name: str) -> tuple[str, tuple[int, ...]] | None:
        """What :meth:`locate` gives, None where there is nothing of that name."""
        if name in self._channels:
            return name, ()
        head, index = self._split(str(name))
        if not index or head not in self._channels:
            return self._frame_channels.locate(str(name), head, index)
        shape = self._channels[head].samples.shape[1:]
        whole = len(index) == len(shape) and all(i < n for i, n in zip(index, shape, strict=True))
        return (head, index) if whole else None

    @staticmethod
    def _split(name: str) -> tuple[str, tuple[int, ...]]:
        """A name before its component, and the index of that: () where the name has none."""
        head, _, axis = name.rpartition(".")
        if match := _COMPONENT.fullmatch(name):
            return match[1], tuple(map(int, match[2].split(",")))
        return head, (_AXES[axis],) if axis in _AXES else ()

    def _none(self, name: str) -> UnknownChannelError:
        """The error for a name that is none."""
        head, index = self._split(name)
        if index and head in self._channels:
            shape = self._channels[head].samples.shape[1:]
            return UnknownChannelError(f"channel {head!r} has samples of shape {shape}, there is no component {name!r}")
        return self._absent(name) or unknown("channel", name, self._frame_channels.near(name) or [*self._channels, "t"])

    def _absent(self, name: str) -> UnknownChannelError | None:
        """The error for a coordinate of the model that the system has not."""
        why = getattr(getattr(self.system, "configuration", None), "why_absent", None)
        if why is None or not (reason := why(name)):
            return None
        if "has no coordinates" in reason:
            return UnknownChannelError(f"channel {reason}")
        return UnknownChannelError(
            f"channel {name!r} is not in the solution: its joint closes a loop and has no coordinate of its own; m.output(…, joint.position) "
            "measures it"
        )

    @cached_property
    def _frame_channels(self) -> FrameChannels:
        return FrameChannels(self)

    def knows(self, name: str) -> bool:
        """Whether there is a channel of that name, or a frame or sensor whose motion it is part of."""
        try:
            return self._where(name) is not None
        except UnknownChannelError:
            return False

    def rate_of(self, name: str) -> str | None:
        """The channel that is the derivative of another one, if there is one."""
        return self.derivatives.get(name) or (None if name in self._channels else self._frame_channels.rate_of(name))

    def __getitem__(self, key: str | tuple[str, str]) -> Array:
        if isinstance(key, tuple):
            name, target = key
            return self.channel(name).to(target)
        return self.channel(key).values

    def __contains__(self, name: object) -> bool:
        return name in self._channels

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return int(self.t.size)

    def frame(self, name: str) -> FrameMotion:
        """Motion of a frame: ``.position`` (nt, 3), ``.rotation`` (nt, 3, 3), ``.velocity`` (nt, 3), ``.quaternion``.

        It comes from the frame provider, or from channels "name.position", "name.rotation", "name.velocity".
        """
        kept = {field: f"{name}.{field}" for field in FRAME_FIELDS if f"{name}.{field}" in self}
        if {"position", "rotation"} <= set(kept):
            return as_motion(name, {field: self[channel] for field, channel in kept.items()}, len(self))
        if self.frame_provider is None:
            frames = {channel.removesuffix(".rotation") for channel in self.names("*.rotation")}
            raise unknown("frame", name, frames)
        return as_motion(name, self.frame_provider(name), len(self))

    @property
    def final(self) -> dict[str, Any]:
        """The last value of every channel."""
        return Final({name: self[name][-1] for name in self.names})

    def final_state(self, index: int = -1) -> Any:
        """The state of the system at the end (or at another sample), to simulate from, draw or linearise about."""
        from jourdain.systems.state import state_of

        return state_of(self, index)

    def at(self, t: ArrayLike, side: Side = "right") -> Sample:
        """Interpolated values at time(s) ``t`` (s), by channel name; at an event, those after it unless side="left"."""
        return Sample(self, t, side)

    # -- derived solutions -------------------------------------------------------------------------------------------

    def _derive(
        self,
        t: Array,
        rows: Callable[[str], Array],
        frame_provider: FrameProvider | None,
        names: list[str] | None = None,
        **changes: Any,
    ) -> Solution:
        channels = {}
        for name in self.names if names is None else names:
            old = self._channels[name]
            # a lazy channel stays lazy; one that is there already is cheap to carry over now
            values = rows(name) if old.computed else (lambda name=name: rows(name))
            channels[name] = old.like(values)
        settings: dict[str, Any] = {
            "metadata": self.metadata,
            "statistics": self.statistics,
            "system": self.system,
            "derivatives": {a: b for a, b in self.derivatives.items() if a in channels and b in channels},
            "dense": self.dense,
            "events": lambda: self.events,
        } | changes
        new = Solution(t, channels, **settings)
        # at the same times frames are where they were, whichever channels are left
        rebind = getattr(self.frame_provider, "rebind", None) if t is not self.t else None
        new.frame_provider = rebind(new) if rebind is not None else frame_provider
        return new

    def _row_frames(self, rows: Any) -> FrameProvider | None:
        return None if self.frame_provider is None else lambda name: self.frame(name).map(lambda _, x: x[rows])

    def resample(self, times: ArrayLike | int, side: Side = "right") -> Solution:
        """The solution at other times (s), or at that many evenly spaced ones.

        Frames are computed anew if the frame provider can be rebound; otherwise positions follow cubic Hermite
        polynomials and rotations turn at constant rate between samples.
        """
        found = resampled(self, times, side)
        found.touching = self.touching  # contacts are looked up in the run itself
        return found

    def between(self, t0: float | str, t1: float | str) -> Solution:
        """The part of the solution in t0 ≤ t ≤ t1 (s), with interpolated ends if these are no samples.

        At an event at t0 it begins after the event, at one at t1 it ends before it, so that parts add up to the whole; in the table of
        events it is one of the earlier part.
        """
        a, b = seconds(t0), seconds(t1)
        if not a <= b:
            raise InputError(f"between({t0!r}, {t1!r}): the first time is not before the second; swap them")
        found = rows_between(self, a, b)
        first = a if a <= self.t[0] else math.nextafter(a, math.inf)
        found._events = lambda: self.events.between(first, b)
        return found

    def select(self, *patterns: str) -> Solution:
        """The solution with only the channels that match the glob patterns."""
        names = self.names(*patterns)
        if not names:
            raise unknown("channel", " ".join(patterns), self._channels)
        found = self._derive(self.t, lambda name: self.channel(name).samples, self.frame_provider, names)
        found.touching = self.touching
        return found

    def with_channels(self, **channels: Any) -> Solution:
        """The solution with further channels; for names with dots use ``with_channels(**{"rod.force": …})``."""
        new = Solution(
            self.t, self._channels | channels, self.metadata, self.statistics, self.system,
            derivatives=self.derivatives, dense=self.dense, events=lambda: self.events,
        )  # fmt: skip
        rebind = getattr(self.frame_provider, "rebind", None) if channels.keys() & self._channels.keys() else None
        new.frame_provider = rebind(new) if rebind is not None else self.frame_provider
        new.touching = self.touching
        return new

    def with_frames(self, *names: str) -> Solution:
        """The solution with the motion of the frames kept as channels, so that it is saved to files with the rest."""
        channels: dict[str, Channel] = {}
        for name in names:
            motion = self.frame(name)
            for field, field_unit in FRAME_UNITS.items():
                if (values := getattr(motion, field)) is not None:
                    words = f"{field.replace('_', ' ')} of frame {name}"
                    channels[f"{name}.{field}"] = Channel(values, field_unit, words)
        return self.with_channels(**channels)

    def concatenate(self, other: Solution) -> Solution:
        """This solution followed by another that begins when it ends or later; both must have the same channels.

        Both samples at a common time are kept, as at an event. Numbers in the statistics add up; metadata of the
        second, where different, is kept under "continued".
        """
        from jourdain.results.joined import concatenated

        return concatenated(self, other)

    def __add__(self, other: Solution) -> Solution:
        return self.concatenate(other) if isinstance(other, Solution) else NotImplemented

    # -- exchange, files, plots --------------------------------------------------------------------------------------

    def to_numpy(self, *patterns: str) -> dict[str, Array]:
        """Arrays by name, with the time under "t"."""
        return {"t": self.t} | {name: self[name] for name in self.names(*patterns)}

    def to_pandas(self, *patterns: str) -> pandas.DataFrame:
        """A pandas DataFrame indexed by time, a column for each scalar component, units in ``.attrs["units"]``."""
        from jourdain.results.exchange import to_pandas

        return to_pandas(self, *patterns)

    def to_xarray(self, *patterns: str) -> xarray.Dataset:
        """An xarray Dataset over "t", with units and descriptions as attributes."""
        from jourdain.results.exchange import to_xarray

        return to_xarray(self, *patterns)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write to a file by suffix: .npz, .parquet, .h5, .csv or .mat; read back with :func:`load_solution`."""
        from jourdain.results.files import save_solution

        save_solution(self, path)

    def plot(self, *names: str, **options: Any) -> Figure:
        """Channels over time, one axis for each unit; see :func:`jourdain.results.plots.plot`."""
        from jourdain.results import plots

        return plots.plot(self, *names, **options)

    # -- seeing ------------------------------------------------------------------------------------------------------

    def scene(self, plots: Any = (), **options: Any) -> Any:
        """The motion as a scene for the viewer; see :func:`jourdain.view.scenes.from_solution.scene_of`.

        The methods below take the same options: ``trace`` (frames), ``forces`` (joints), ``follow`` (a body), ``camera``; of flexible
        bodies ``stress`` (what colours them) and ``exaggerate``.
        """
        from jourdain.view.scenes.from_solution import scene_of

        return scene_of(self, plots, **options)

    def view(self, plots: Any = (), **options: Any) -> Any:
        """Opens the motion in the browser (served on this machine only), and the handle closes it; in a notebook it is shown in the cell.

        ``theme`` is "light", "dark" or "auto"; ``height`` (px) is that of the cell.
        """
        from jourdain.view import Inline, serve

        own, rest = _scene_options(options)
        height = rest.pop("height", None)
        if in_notebook() and not {"port", "open_browser"} & rest.keys():
            return Inline(self.scene(plots, **own), height or Inline.height, **rest)
        return serve(self.scene(plots, **own), **rest)

    def save_page(self, path: str | Path, plots: Any = (), **options: Any) -> None:
        """Writes one self-contained page that shows the motion."""
        from jourdain.view import save_page

        own, rest = _scene_options(options)
        save_page(self.scene(plots, **own), path, **rest)

    def save_picture(self, path: str | Path, t: float | None = None, **options: Any) -> None:
        """Writes a picture of the mechanism at a time (the end by default)."""
        from jourdain.view import save_picture

        own, rest = _scene_options(options)
        when = float(self.t[-1]) if t is None else t
        save_picture(self.scene(**own, at=when), path, t=when, **rest)

    def save_movie(self, path: str | Path, **options: Any) -> None:
        """Writes a movie (.mp4 or .gif)."""
        from jourdain.view import save_movie

        own, rest = _scene_options(options)
        save_movie(self.scene(**own), path, **rest)

    def save_vtu(self, path: str | Path, body: str, times: Any = None) -> Any:
        """Writes a flexible body's motion for ParaView: ``path.pvd`` and a .vtu for each instant; see :func:`jourdain.view.vtu.save_vtu`."""
        from jourdain.view.vtu import save_vtu

        return save_vtu(self, path, body, times)

    # -- printing ----------------------------------------------------------------------------------------------------

    def __str__(self) -> str:
        from jourdain.results.summary import summary

        return summary(self)

    def __rich__(self) -> Any:
        from jourdain.results.summary import rich_summary

        return rich_summary(self)

    def __repr__(self) -> str:
        span = f"{self.t[0]:g}…{self.t[-1]:g} s" if len(self) else "empty"
        return f"<Solution {self.metadata.get('model', '')!s} {span}, {len(self)} samples, {len(self.names)} channels>"

    def __getstate__(self) -> dict[str, Any]:
        # functions of the run (dense output, frames, the compiled system) stay behind; channels travel as arrays
        parts = {n: getattr(self, n) for n in ("_channels", "metadata", "statistics", "derivatives", "events")}
        raw = None if self.raw is None else self.assembled
        own = {n: x for n, x in self.__dict__.items() if n != "_frame_channels"}
        return own | parts | {"_events": None, "dense": None, "frame_provider": None, "system": None, "raw": raw}


def _scene_options(options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Options of the scene and those of the page, picture or movie."""
    own = {"trace", "forces", "system", "fine", "camera", "follow", "ground", "up", "name", "stress", "exaggerate", "static"}
    return {k: v for k, v in options.items() if k in own}, {k: v for k, v in options.items() if k not in own}


def _checked_times(t: ArrayLike) -> NDArray[np.float64]:
    times = np.array(t, float)
    times.setflags(write=False)
    last = times.size - 1
    if times.ndim == 1 and last >= 0 and math.isfinite(times.item(last) - times.item(0)):
        if np.count_nonzero(times[1:] >= times[:-1]) == last:
            return times  # nothing that is not a number passes this comparison
    if times.ndim != 1:
        raise InputError(f"times have shape {times.shape}; give one row of times (nt,)")
    if not np.isfinite(times).all():
        raise InputError(f"time number {int(np.argmin(np.isfinite(times)))} is not finite; leave such samples out")
    if (back := times[1:] < times[:-1]).any():
        i = int(np.argmax(back))
        raise InputError(f"time goes back from {times[i]:g} s to {times[i + 1]:g} s (sample {i + 1}); sort by time")
    return times
