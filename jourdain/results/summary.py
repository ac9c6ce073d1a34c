"""A solution printed: model, method, span, and a line for each channel with unit, smallest, largest and last value."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from jourdain.results.channel import Channel
from jourdain.results.columns import in_columns

if TYPE_CHECKING:
    from jourdain.results.solution import Solution

_MOST_ROWS = 40
_COLUMNS = ("channel", "unit", "min", "max", "final", "")


def amount(count: int, one: str, more: str = "") -> str:
    """A number of things in words: 1 body, 2 bodies."""
    return f"{count} {one if count == 1 else more or f'{one}s'}"


def duration(seconds: float) -> str:
    """A time as people say it: 1.2 ms, 3.4 s."""
    return f"{seconds:.3g} s" if seconds >= 1.0 else f"{1e3 * seconds:.3g} ms"


def heading(sol: Solution) -> str:
    """One line: model, method, time span, samples and the statistics that are numbers."""
    parts = [str(sol.metadata[key]) for key in ("model", "method") if key in sol.metadata]
    parts.append(f"{sol.t[0]:g} … {sol.t[-1]:g} s" if len(sol) else "no samples")
    parts.append(amount(len(sol), "sample"))
    numbers = {key: x for key, x in sol.statistics.items() if isinstance(x, (int, float)) and not isinstance(x, bool)}
    parts += [f"{key} {value:g}" for key, value in numbers.items() if key not in ("events", "wall_time")]
    if "wall_time" in numbers:
        parts.append(f"took {duration(numbers['wall_time'])}")
    if len(sol.events):
        parts.append(repr(sol.events).strip("<>"))
    return " · ".join(parts)


def _row(name: str, channel: Channel) -> tuple[str, ...]:
    if not channel.computed:
        return name, channel.unit, "–", "–", "on demand", channel.brief
    x = channel.samples
    if x.size == 0:
        return name, channel.unit, "–", "–", "–", channel.description
    last = x[-1]
    if np.ndim(last) == 0:
        final = f"{last:.6g}" if x.dtype.kind != "b" else str(bool(last))
    elif last.size <= 4:
        final = "(" + ", ".join(f"{value:.4g}" for value in last.ravel()) + ")"
    else:
        final = "×".join(map(str, last.shape)) + " array"
    low, high = (f"{float(f(x)):.6g}" for f in (np.min, np.max))
    return name, channel.unit, low, high, final, channel.description


def rows(sol: Solution) -> list[tuple[str, ...]]:
    """The lines of the table: name, unit, min, max, final, description."""
    return [_row(name, sol.channel(name)) for name in sol.names[:_MOST_ROWS]]


def _rest(sol: Solution) -> str:
    more = f"… and {len(sol.names) - _MOST_ROWS} more: see sol.names" if len(sol.names) > _MOST_ROWS else ""
    note = f"note: {sol.metadata['note']}" if sol.metadata.get("note") else ""
    return "\n".join(filter(None, [more, note]))


def plain_summary(sol: Solution) -> str:
    """The summary as plain text."""
    table = [_COLUMNS, *rows(sol)]
    return "\n".join([heading(sol), in_columns(table, right=[2, 3, 4]), *filter(None, [_rest(sol)])])


def rich_summary(sol: Solution) -> Any:
    """The summary as a table for a ``rich`` console."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(title=heading(sol), title_justify="left", box=SIMPLE_HEAD, caption=_rest(sol) or None, pad_edge=False)
    for column, justify, style in zip(_COLUMNS, "llrrrl", ("bold", "cyan", "", "", "green", "dim"), strict=True):
        table.add_column(column, justify="right" if justify == "r" else "left", style=style, overflow="fold")
    for row in rows(sol):
        table.add_row(*map(Text, row))
    return table


def summary(sol: Solution) -> str:
    """The summary, coloured on a terminal if ``rich`` is there, plain otherwise."""
    if not sys.stdout.isatty():
        return plain_summary(sol)
    try:
        from rich.console import Console
    except ImportError:
        return plain_summary(sol)
    console = Console()
    with console.capture() as capture:
        console.print(rich_summary(sol))
    return capture.get().rstrip("\n")
