"""Fields over a path coordinate: values at stations of a line that runs through named sections, with units.

>>> fields = PathFields([0.0, 1.0, 2.0], [("arc", 0.0, 1.5), ("span", 1.5, 3.0)], {"P": Channel([0.0, -2.0, -1.0], "kN")})
>>> fields["P", "N"], fields.section("span", "P")
(array([    0., -2000., -1000.]), array([-1.]))
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError, nearest
from .channel import Channel
from .style import finish, house_style, line_style, new_figure
from .whole_file import write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]


class PathFields(Mapping[Any, Any]):
    """Named fields at stations s (m) of a path; where a field has no meaning it is not a number.

    Args:
        sections: (name, begin, end) in the order of the path.
    """

    def __init__(self, s: ArrayLike, sections: Sequence[tuple[str, float, float]], fields: Mapping[str, Channel], title: str = "") -> None:
        self.s: Array = np.asarray(s, float)
        self.sections = tuple((str(n), float(a), float(b)) for n, a, b in sections)
        self.channels = dict(fields)
        self.title = title
        for name, channel in self.channels.items():
            if channel.values.shape[-1] != self.s.size:
                raise InputError(f"field {name!r} has {channel.values.shape[-1]} values for {self.s.size} stations")

    def channel(self, name: str) -> Channel:
        """A field with its unit and description."""
        if name not in self.channels:
            close = nearest(name, self.channels)
            raise InputError(
                f"there is no field {name!r}{f'; did you mean {close[0]!r}?' if close else ';'} Fields: {', '.join(self.channels)}"
            )
        return self.channels[name]

    def __getitem__(self, name: str | tuple[str, str]) -> Array:
        """Values of a field, or ``fields["P", "kN"]`` in another unit."""
        if isinstance(name, tuple):
            return np.asarray(self.channel(name[0]).to(name[1]))
        return np.asarray(self.channel(name).values)

    def __iter__(self) -> Iterator[str]:
        return iter(self.channels)

    def __len__(self) -> int:
        return len(self.channels)

    def inside(self, section: str) -> NDArray[np.bool_]:
        """Which stations belong to a section."""
        for name, a, b in self.sections:
            if name == section:
                return np.asarray((self.s >= a - 1e-12) & (self.s < b - 1e-12))
        raise InputError(f"there is no section {section!r}; there are {', '.join(repr(n) for n, _, _ in self.sections)}")

    def section(self, section: str, name: str) -> Array:
        """Values of a field in one section."""
        return np.asarray(self[name][..., self.inside(section)])

    def to_csv(self, file: str | os.PathLike[str]) -> None:
        """Writes s and all fields of one row as columns, units in the head."""
        names = [n for n in self.channels if self[n].ndim == 1]
        head = ",".join(["s [m]", *(f"{n} [{self.channels[n].unit}]" for n in names)])
        text = io.StringIO()
        np.savetxt(text, np.column_stack([self.s, *(self[n] for n in names)]), delimiter=",", header=head, comments="", fmt="%.9g")
        write_whole(file, text.getvalue())

    def plot(self, *names: str, file: str | os.PathLike[str] | None = None, title: str | None = None, show: bool = False) -> Figure:
        """Fields one above the other along the path, sections side by side."""
        return plot_fields([(self, "")], names or list(self.channels), file, self.title if title is None else title, show)


def plot_fields(
    runs: Sequence[tuple[PathFields, str]],
    names: Sequence[str],
    file: str | os.PathLike[str] | None = None,
    title: str = "",
    show: bool = False,
) -> Figure:
    """Fields of several runs in one figure: a row a field, a line a run; sections are stretched to those of the first run."""
    first = runs[0][0]
    with house_style():
        figure = new_figure(8.0, 1.0 + 1.9 * len(names), show)
        every = figure.subplots(len(names), 1, sharex=True, squeeze=False)[:, 0]
        for axes, name in zip(every, names, strict=True):
            for number, (fields, label) in enumerate(runs):
                values = np.atleast_2d(fields[name])
                for row, line in enumerate(values):
                    style = line_style(number) | ({"alpha": 0.4 + 0.6 * row / len(values), "linewidth": 0.9} if len(values) > 1 else {})
                    seen = _without_turns(line) if fields.channel(name).unit == "rad" else line
                    axes.plot(_stretched(fields, first) * 1e3, seen, label=label if row == 0 else None, **style)
            unit = first.channel(name).unit
            axes.set_ylabel(f"{name} [{unit}]" if unit not in ("", "1") else name)
            for _, a, _ in first.sections[1:]:
                axes.axvline(a * 1e3, color="0.6", linewidth=0.8)
        for name, a, b in first.sections:
            every[0].annotate(
                name,
                (500 * (a + b), 1.02),
                xycoords=("data", "axes fraction"),
                ha="center",
                fontsize=8,
                color="0.35",
                annotation_clip=False,
            )
        if len(runs) > 1:
            every[0].legend(loc="best", fontsize=8)
        every[-1].set_xlabel("path coordinate s [mm]")
        figure.align_ylabels(every)
        if title:
            figure.suptitle(title, fontsize=11, fontweight="bold", x=0.01, ha="left")
        return finish(figure, file, show)


def _without_turns(angle: Array) -> Array:
    """An angle with a gap where it begins anew, a turn away: no line leads there."""
    seen = np.array(angle)
    seen[1:][np.abs(np.diff(angle)) > np.pi] = np.nan
    return seen


def _stretched(fields: PathFields, first: PathFields) -> Array:
    """Stations with sections as long as those of another path."""
    own = [fields.sections[0][1], *(b for _, _, b in fields.sections)]
    other = [first.sections[0][1], *(b for _, _, b in first.sections)]
    return np.interp(fields.s, own, other)
