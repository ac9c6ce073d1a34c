"""Plots of solutions: over time, phase planes, spectra, several runs in one.

Every function returns the Matplotlib figure, saves it if given ``file`` (.png, .svg, .pdf) and opens a window only with
``show=True``. Plots of eigenvalues and modes are in :mod:`jourdain.results.modal_plots`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jourdain.errors import InputError, short
from jourdain.model.units import UnitError, unit
from jourdain.results.channel import Array, component_names, unknown
from jourdain.results.events import EventTable
from jourdain.results.modal_plots import campbell, mode_table, root_locus
from jourdain.results.refine import refined
from jourdain.results.solution import Solution
from jourdain.results.style import finish, house_style, line_style, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["plot", "phase", "spectrum", "compare", "mode_table", "root_locus", "campbell"]

File = str | os.PathLike[str] | None
Unit = str | Mapping[str, str] | None
_MOST_LINES = 60
#: Lines that a plot without names shows; of more it shows the coordinates.
_MOST_UNNAMED = 16
#: Events whose names are written into a plot.
_MOST_NAMES = 12
#: Events that are lines through a plot; of more each is a short stroke at its lower edge, which hides no curve.
_MOST_EVENT_LINES, _STROKE = 40, 0.04
#: Lines that are nowhere farther apart than this share of the axis cannot be told apart; whole numbers up to this range are counts.
_SAME, _MOST_COUNTED = 2e-3, 1e4
#: What changes by less than this share of itself is drawn as the constant it is, on an axis of this share of it to both sides.
_CONSTANT, _ABOUT = 1e-7, 0.1


def expand(sol: Solution, names: Sequence[str]) -> list[str]:
    """Scalar channel names for names, glob patterns and vector channels; no name at all means every channel, of many the coordinates alone."""
    found: list[str] = []
    for name in names:
        if isinstance(name, Solution):
            raise InputError(
                "a plot shows one solution; several runs in one are jourdain.results.plots.compare([sol, other], 'hinge.angle')"
            )
        if not isinstance(name, str):
            raise InputError(
                f"{short(name)} is no name of a channel; names follow one another: sol.plot('hinge.angle', 'hinge.angle_rate')"
            )
    for name in names or ["*"]:
        matches = [name] if name in sol else sol.names(name)
        if not matches:
            sol.channel(name)  # a component, or an error that names the nearest
            matches = [name]
        for match in matches:
            shape = sol[match].shape[1:]
            vector = [f"{match}.{axis}" for axis in "xyz"] if shape == (3,) else component_names(match, shape)
            found += vector if shape else [match]
    found = list(dict.fromkeys(found))
    if not names and len(found) > _MOST_UNNAMED:
        found = [name for name in getattr(sol.system, "coordinate_names", ()) if name in sol] or found
    if len(found) > _MOST_LINES:
        raise InputError(f"{len(found)} lines are too many for one plot (at most {_MOST_LINES}); name the channels to plot")
    if not found:
        raise unknown("channel", " ".join(names) or "*", sol.names)
    return found


def _shown_unit(sol: Solution, name: str, wanted: Unit) -> str:
    """The unit in which a channel is drawn: the wanted one if it is given for the channel or fits it."""
    own = sol.channel(name).unit
    if isinstance(wanted, Mapping):
        return wanted.get(name) or wanted.get(sol.locate(name)[0]) or own
    return wanted if wanted is not None and _fits(own, wanted) else own


def _fits(own: str, wanted: str) -> bool:
    dimension = unit(wanted).dimension
    try:
        return unit(own).dimension == dimension
    except UnitError:  # a channel may have a unit of its own making
        return False


def quantity_label(symbol: str) -> str:
    """Text for an axis: what the unit measures and the unit, e.g. "angle [deg]"."""
    try:
        known = unit(symbol)
    except UnitError:
        return f"[{symbol}]"
    named = known.quantity_name if any(known.dimension) else ""
    if " or " in named:
        named = "energy" if "J" in symbol or "Wh" in symbol else "torque"
    return f"{named} [{symbol}]".strip() if symbol not in ("", "1") else named


def axis_label(name: str, symbol: str) -> str:
    """Text for the axis of one channel, e.g. "crank.angle [deg]"."""
    return f"{name} [{symbol}]" if symbol not in ("", "1") else name


def draw(axes: Axes, t: Array, values: Array, **style: Any) -> None:
    """A line; states of type int and bool as steps."""
    steps: dict[str, Any] = {"drawstyle": "steps-post"} if values.dtype.kind != "f" else {}
    axes.plot(t, values, **steps, **style)


def tell_apart(axes: Axes) -> None:
    """Dashes for lines that lie on an earlier one, which they would hide, and whole numbers on the axis of what is counted."""
    from matplotlib.ticker import MaxNLocator

    lines = axes.get_lines()
    data = [np.asarray(line.get_ydata(), float) for line in lines]
    every = np.concatenate(data)
    every = every[np.isfinite(every)]
    if not len(every):
        return
    largest = float(np.abs(every).max())
    if every.max() - every.min() < _CONSTANT * largest:
        middle = 0.5 * float(every.max() + every.min())
        axes.set_ylim(middle - _ABOUT * largest, middle + _ABOUT * largest)
    near = _SAME * (every.max() - every.min())
    hidden = [
        sum(one.shape == other.shape and bool(np.all(np.abs(one - other) <= near)) for other in data[:k]) for k, one in enumerate(data)
    ]
    for line, deep in zip(lines, hidden, strict=True):
        if deep:
            line.set_linestyle((0.0, (8.0 / deep, 8.0 * (2.0 - 1.0 / deep))))
    if near > 0.0 and np.array_equal(every, np.round(every)) and every.max() - every.min() < _MOST_COUNTED:
        axes.yaxis.set_major_locator(MaxNLocator("auto", integer=True))


def place_legend(axes: Axes, count: int) -> None:
    """A legend that hides nothing: beside the axes."""
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), ncols=1 + count // 16, fontsize=9 if count <= 4 else 8)


def mark_events(every: Sequence[Axes], events: EventTable) -> None:
    """Events as thin lines at their instants, with their names above where there is room for them, as short strokes where they are many."""
    instants = np.unique(events.t)
    height, style = (1.0, (0, (2, 3))) if len(instants) <= _MOST_EVENT_LINES else (_STROKE, "-")
    for axes in every:
        for t in instants:
            axes.axvline(t, 0.0, height, color="0.55", linewidth=0.7, linestyle=style, zorder=0.5)  # type: ignore[arg-type]
    if 0 < len(events) <= _MOST_NAMES:
        for t in np.unique(events.t):
            named = ", ".join(dict.fromkeys(e.name for e in events if e.t == t))
            every[0].annotate(
                named, (t, 1.0), xycoords=("data", "axes fraction"), xytext=(2, -3), textcoords="offset points", rotation=90, va="top",
                fontsize=7, color="0.4",
            )  # fmt: skip


def plot(
    sol: Solution,
    *names: str,
    unit: Unit = None,
    file: File = None,
    title: str | None = None,
    show: bool = False,
    events: bool = True,
) -> Figure:
    """Channels over time: one axis for each unit, one above the other, with a common time axis and the ``events`` marked.

    ``names`` may be glob patterns; vector channels give a line for each component; without names a plot shows every channel, of
    many the coordinates alone. ``unit`` is a unit for all channels
    that it fits ("deg"), or a unit by channel name.
    """
    sol = refined(sol)
    groups: dict[str, list[str]] = {}
    for name in expand(sol, names):
        groups.setdefault(_shown_unit(sol, name, unit), []).append(name)
    if isinstance(unit, str) and unit not in groups:
        raise InputError(f"unit {unit!r} fits none of the channels plotted, which are in {', '.join(map(repr, groups))}")
    with house_style():
        figure = new_figure(8.0, 1.2 + 2.4 * len(groups), show)
        every = figure.subplots(len(groups), 1, sharex=True, squeeze=False)[:, 0]
        for axes, (symbol, members) in zip(every, groups.items(), strict=True):
            for number, name in enumerate(members):
                values = sol[name, symbol] if symbol != sol.channel(name).unit else sol[name]
                draw(axes, sol.t, values, label=name, **line_style(number))
            tell_apart(axes)
            axes.set_ylabel(axis_label(members[0], symbol) if len(members) == 1 else quantity_label(symbol))
            if len(members) > 1:
                place_legend(axes, len(members))
        if events:
            mark_events(every.tolist(), sol.events)
        figure.align_ylabels(every)
        every[-1].set_xlabel("time [s]")
        heading = sol.metadata.get("model", "") if title is None else title
        if heading:
            every[0].set_title(str(heading))
        return finish(figure, file, show)


def phase(sol: Solution, x: str, y: str, *, unit: Unit = None, file: File = None, title: str | None = None, show: bool = False) -> Figure:
    """One channel against another, with the start and the end marked."""
    symbols = [_shown_unit(sol, name, unit) for name in (x, y)]
    values = [sol[name, s] if s != sol.channel(name).unit else sol[name] for name, s in zip((x, y), symbols, strict=True)]
    if any(v.ndim != 1 for v in values):
        raise InputError(f"phase({x!r}, {y!r}): a vector channel cannot be drawn; name a component such as '{x}.x'")
    with house_style():
        figure = new_figure(5.6, 5.0, show)
        axes = figure.subplots()
        axes.plot(*values, **line_style(0))
        for index, face, label in ((0, "white", "start"), (-1, line_style(0)["color"], "end")):
            marker = {"marker": "o", "mfc": face, "mec": line_style(0)["color"], "ls": "", "label": label}
            axes.plot(values[0][index], values[1][index], **marker)
        axes.set_xlabel(axis_label(x, symbols[0]))
        axes.set_ylabel(axis_label(y, symbols[1]))
        axes.set_title(title or "")
        place_legend(axes, 2)
        return finish(figure, file, show)


def amplitude_spectrum(sol: Solution, name: str, samples: int | None = None) -> tuple[Array, Array]:
    """Frequencies (Hz) and one-sided amplitudes of a channel, by a Hann window and the FFT on evenly spaced samples.

    The window's gain is taken out, so a sine of amplitude A on a bin shows A. The mean is removed first.
    """
    if len(sol) < 4 or sol.t[-1] <= sol.t[0]:
        raise InputError(f"spectrum of {name!r}: the solution has {len(sol)} samples; at least 4 at different times are needed")
    n = samples or len(sol)
    t = sol.t[0] + (sol.t[-1] - sol.t[0]) * np.arange(n) / n
    values = np.asarray(sol.at(t)[name], float)
    if values.ndim != 1:
        raise InputError(f"spectrum: {name!r} is a vector; name a component such as '{name}.x'")
    window = 0.5 - 0.5 * np.cos(2.0 * np.pi * np.arange(n) / n)
    amplitude = 2.0 * np.abs(np.fft.rfft((values - values.mean()) * window)) / window.sum()
    return np.fft.rfftfreq(n, (sol.t[-1] - sol.t[0]) / n), amplitude


def spectrum(
    sol: Solution,
    *names: str,
    unit: Unit = None,
    log: bool = True,
    max_frequency: float | None = None,
    file: File = None,
    title: str | None = None,
    show: bool = False,
) -> Figure:
    """Amplitude spectra of channels over frequency (Hz)."""
    with house_style():
        figure = new_figure(8.0, 4.0, show)
        axes = figure.subplots()
        scalars = expand(sol, names)
        symbols = [_shown_unit(sol, name, unit) for name in scalars]
        if len(set(symbols)) > 1:
            raise InputError(f"spectrum: the channels have the units {sorted(set(symbols))}; plot one unit at a time")
        for number, name in enumerate(scalars):
            frequency, amplitude = amplitude_spectrum(sol, name)
            own = sol.channel(name).unit
            factor = 1.0 if own == symbols[number] else sol.channel(name).factor_to(symbols[number])
            shown = (frequency > 0.0) & (frequency <= (max_frequency or np.inf))
            axes.plot(frequency[shown], factor * amplitude[shown], label=name, **line_style(number))
        axes.set_yscale("log" if log else "linear")
        axes.set_xlim(0.0, max_frequency)
        axes.set_xlabel("frequency [Hz]")
        axes.set_ylabel(axis_label(f"amplitude of {scalars[0]}" if len(scalars) == 1 else "amplitude", symbols[0]))
        axes.set_title(title or "")
        if len(scalars) > 1:
            place_legend(axes, len(scalars))
        return finish(figure, file, show)


def compare(
    solutions: Sequence[Solution],
    name: str,
    labels: Sequence[str] | None = None,
    *,
    unit: str | None = None,
    file: File = None,
    title: str | None = None,
    show: bool = False,
) -> Figure:
    """One channel of several runs in one plot, all in the unit of the first unless ``unit`` is given."""
    if not solutions:
        raise InputError(f"compare {name!r}: no solutions were given")
    texts = [str(label) for label in labels] if labels is not None else [f"run {i + 1}" for i in range(len(solutions))]
    if len(texts) != len(solutions):
        raise InputError(f"compare {name!r}: {len(solutions)} solutions but {len(texts)} labels; give one label each")
    symbol = unit or solutions[0].channel(name).unit
    with house_style():
        figure = new_figure(8.0, 4.0, show)
        axes = figure.subplots()
        for number, (sol, label) in enumerate(zip(solutions, texts, strict=True)):
            values = sol[name, symbol] if symbol != sol.channel(name).unit else sol[name]
            if values.ndim != 1:
                raise InputError(f"compare: {name!r} is a vector; name a component such as '{name}.x'")
            draw(axes, sol.t, values, label=label, **line_style(number))
        tell_apart(axes)
        axes.set_xlabel("time [s]")
        axes.set_ylabel(axis_label(name, symbol))
        axes.set_title(title or "")
        place_legend(axes, len(solutions))
        return finish(figure, file, show)
