"""The look of our figures: calm, legible, and colours that colour-blind readers can tell apart (Okabe and Ito)."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jourdain.errors import InputError
from jourdain.results.exchange import need
from jourdain.results.whole_file import make_whole
from jourdain.shown import in_notebook

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#4D4D4D")
LINES = ("-", "--", "-.", ":")
INK, PALE = "#333333", "#D9D9D9"

RC: dict[str, Any] = {
    "figure.dpi": 110,
    "savefig.dpi": 160,
    "figure.facecolor": "white",
    "font.size": 10.0,
    "font.family": "sans-serif",
    "axes.titlesize": 11.0,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelcolor": INK,
    "axes.edgecolor": "#8C8C8C",
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.formatter.use_mathtext": True,
    "axes.formatter.limits": (-4, 5),
    "axes.xmargin": 0.01,
    "grid.color": PALE,
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.6,
    "lines.solid_capstyle": "round",
    "legend.frameon": True,
    "legend.framealpha": 0.85,
    "legend.edgecolor": "none",
    "legend.facecolor": "white",
    "legend.fontsize": 9.0,
    "xtick.color": INK,
    "ytick.color": INK,
    "text.color": INK,
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
}


def line_style(number: int) -> dict[str, Any]:
    """Colour and dash of the line of that number: seven colours, then the same with other dashes."""
    return {"color": COLOURS[number % len(COLOURS)], "linestyle": LINES[number // len(COLOURS) % len(LINES)]}


@contextmanager
def house_style() -> Iterator[Any]:
    """Matplotlib with our settings, the user's own left as they were."""
    matplotlib = need("matplotlib", "plot", "a plot")
    with matplotlib.rc_context(RC):
        yield matplotlib


def new_figure(width: float, height: float, show: bool = False) -> Figure:
    """An empty figure (inches), without a window unless it is to be shown."""
    size: dict[str, Any] = {"figsize": (width, height), "layout": "constrained"}
    if show and not in_notebook():
        import matplotlib.pyplot as plt  # only pyplot can open windows

        return plt.figure(**size)
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    _teach_notebook(Figure)
    figure = Figure(**size)
    FigureCanvasAgg(figure)
    return figure


def _teach_notebook(kind: type) -> None:
    """Notebooks draw figures once their kernel knows how, which it learns from the first that pyplot makes: ours come without pyplot."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if shell is not None and not any(kind in f.type_printers for f in shell.display_formatter.formatters.values()):
        from IPython.core.pylabtools import select_figure_formats

        select_figure_formats(shell, {"png"})


def finish(figure: Figure, file: str | os.PathLike[str] | None, show: bool) -> Figure:
    """Save and show the figure if asked, and return it."""
    if file is not None:
        target = Path(file)
        known = figure.canvas.get_supported_filetypes()
        if target.suffix and target.suffix[1:].lower() not in known:
            raise InputError(
                f"picture '{file}': a plot is no '{target.suffix}'; write .png, .svg or .pdf (also .{', .'.join(sorted(known))})"
            )
        make_whole(target if target.suffix else target.with_suffix(".png"), figure.savefig)
    if show and in_notebook():
        _show_in_cell(figure)
    elif show:
        import matplotlib.pyplot as plt

        plt.show()
    return figure


def _show_in_cell(figure: Figure) -> None:
    """Shows a figure once its cell has run, unless it is the value of the cell, which shows itself."""
    from IPython.display import display

    events = sys.modules["IPython"].get_ipython().events

    def after(result: Any) -> None:
        events.unregister("post_run_cell", after)
        if result.result is not figure:
            display(figure)  # type: ignore[no-untyped-call]

    events.register("post_run_cell", after)
