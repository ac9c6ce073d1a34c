"""Small tables and pictures of analyses: columns of numbers under names as CSV, records as JSON, bars, eigenvalues."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure

File = str | os.PathLike[str]


def write_columns(path: File, columns: Mapping[str, Any]) -> None:
    """Columns of equal length as CSV with a header; complex ones become two, ``name.re`` and ``name.im``."""
    flat: dict[str, Any] = {}
    for name, column in columns.items():
        values = np.asarray(column)
        if np.iscomplexobj(values):
            flat[f"{name}.re"], flat[f"{name}.im"] = values.real, values.imag
        else:
            flat[name] = values
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(flat)
    writer.writerows(zip(*(list(c.tolist()) for c in flat.values()), strict=True))
    from ..results.whole_file import write_whole

    write_whole(path, text.getvalue())


def write_record(path: File, record: Mapping[str, Any]) -> None:
    """Names with numbers, texts, lists and tables of them as JSON."""
    from ..results.whole_file import write_whole

    write_whole(path, json.dumps(record, indent=1, ensure_ascii=False))


def bars(values: Mapping[str, float], label: str, file: File | None, show: bool) -> Figure:
    """One horizontal bar for each name."""
    from ..results.style import finish, house_style, new_figure

    with house_style():
        figure = new_figure(6.4, 1.2 + 0.32 * len(values), show)
        axes = figure.subplots()
        axes.barh(list(values), list(values.values()))
        axes.invert_yaxis()
        axes.set_xlabel(label)
        return finish(figure, file, show)


def eigenvalue_plot(values: np.ndarray, title: str, file: File | None, show: bool) -> Figure:
    """Eigenvalues in the complex plane, those that grow in another colour."""
    from ..results.style import COLOURS, finish, house_style, new_figure
    from .eigen import growing

    with house_style():
        figure = new_figure(5.6, 4.6, show)
        axes = figure.subplots()
        grow = growing(values)
        axes.axvline(0.0, color="grey", lw=0.8)
        for some, colour in ((~grow, COLOURS[0]), (grow, COLOURS[1])):
            axes.plot(values[some].real, values[some].imag, "x", color=colour, mew=1.6, ls="")
        axes.set_xlabel("Re λ [1/s]")
        axes.set_ylabel("Im λ [1/s]")
        axes.set_title(title)
        return finish(figure, file, show)
