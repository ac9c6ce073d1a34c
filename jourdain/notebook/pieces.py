"""Pieces of HTML that every front end of notebooks shows without scripts, style sheets or a network: tables, captions, folds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

import numpy as np

#: Most rows of a table; the rest is counted.
MOST_ROWS = 40
_CELL = "padding:2px 10px;border:0"
_LEFT, _RIGHT = f"{_CELL};text-align:left", f"{_CELL};text-align:right;font-variant-numeric:tabular-nums"


def number(x: object, digits: int = 6) -> str:
    """A number as text, with a minus sign that is as wide as a plus."""
    if isinstance(x, (bool, np.bool_)) or not isinstance(x, (int, float, np.integer, np.floating)):
        return str(x)
    return "–" if np.isnan(x) else f"{x + 0.0:.{digits}g}".replace("-", "−")  # minus zero is zero


def table(head: Sequence[str], rows: Iterable[Sequence[object]], marked: Sequence[int] = ()) -> str:
    """Columns under names; numbers stand at the right, ``marked`` rows are bold."""
    lines = list(rows)
    right = [any(isinstance(row[j], (int, float, np.number)) and not isinstance(row[j], bool) for row in lines) for j in range(len(head))]
    styles = [_RIGHT if r else _LEFT for r in right]
    titles = "".join(f'<th style="{s};opacity:.7">{escape(name)}</th>' for name, s in zip(head, styles, strict=True))

    def row(i: int, cells: Sequence[object]) -> str:
        weight = ";font-weight:bold" if i in marked else ""
        return "".join(f'<td style="{s}{weight}">{escape(number(x))}</td>' for x, s in zip(cells, styles, strict=True))

    body = "".join(f"<tr>{row(i, cells)}</tr>" for i, cells in enumerate(lines[:MOST_ROWS]))
    more = note(f"… and {len(lines) - MOST_ROWS} more") if len(lines) > MOST_ROWS else ""
    return f'<table style="border-collapse:collapse;font-size:90%"><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table>{more}'


def matrix(title: str, rows: Sequence[str], columns: Sequence[str], values: np.ndarray) -> str:
    """A matrix with names at its rows and columns."""
    lines = [(name, *(float(x) for x in line)) for name, line in zip(rows, np.asarray(values), strict=True)]
    return table((title, *columns), lines)


def caption(title: str, rest: str = "") -> str:
    """The first line of what is shown."""
    more = f' <span style="opacity:.7">{escape(rest)}</span>' if rest else ""
    return f"<div><b>{escape(title)}</b>{more}</div>"


def note(text: str) -> str:
    """A line that should be read."""
    return f'<div style="opacity:.7;font-size:90%">{escape(text)}</div>'


def fold(title: str, inside: str, shown: bool = False) -> str:
    """What can be opened and closed."""
    return f'<details{" open" if shown else ""}><summary style="cursor:pointer">{escape(title)}</summary>{inside}</details>'


def text(words: str) -> str:
    """Text in columns, as ``print`` gives it."""
    return f'<pre style="line-height:1.35;overflow-x:auto">{escape(words)}</pre>'


def whole(*parts: str) -> str:
    """All parts below each other."""
    return f'<div class="jourdain" style="max-width:60em;overflow-x:auto">{"".join(parts)}</div>'
