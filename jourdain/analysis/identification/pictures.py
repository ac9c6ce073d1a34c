"""Pictures of fits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...results.plots import axis_label
from ...results.style import COLOURS, finish, house_style, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .fit import Fit


def comparison(fit: Fit, file: Any = None, show: bool = False) -> Figure:
    """Data and model of every column, residuals below, a colour a record."""
    columns = list(fit.noise)
    with house_style():
        figure = new_figure(7.0, 3.4 * len(columns), show)
        grid = figure.add_gridspec(2 * len(columns), 1, height_ratios=[3, 1] * len(columns))
        for i, column in enumerate(columns):
            top, below = figure.add_subplot(grid[2 * i]), figure.add_subplot(grid[2 * i + 1])
            for k, (record, rest) in enumerate(zip(fit.records, fit.residuals, strict=True)):
                t, y, colour = record.times[column], record.values[column], COLOURS[k % len(COLOURS)]
                top.plot(t, y, ".", ms=3, color=colour, alpha=0.5)
                top.plot(t, y - rest[column], "-", lw=1.2, color=colour)
                below.plot(t, rest[column], ".", ms=3, color=colour)
            below.axhspan(-fit.noise[column], fit.noise[column], color="0.9")
            top.set_ylabel(column)
            below.set_ylabel("residual")
            below.set_xlabel("time [s]")
        figure.axes[0].set_title(f"{fit.system.model.name}: {fit.samples} samples")
        return finish(figure, file, show)


def ellipse(fit: Fit, first: str, second: str, level: float, file: Any = None, show: bool = False) -> Figure:
    """The region of two unknowns at a level, and the box of their single intervals."""
    from scipy.stats import chi2
    from scipy.stats import f as fisher

    names = list(fit.values)
    i, j = names.index(first), names.index(second)
    C = fit.covariance[np.ix_([i, j], [i, j])]
    size = np.sqrt(float(chi2.ppf(level, 2) if fit.known else 2.0 * fisher.ppf(level, 2, max(1, fit.samples - fit.rank))))
    angle = np.linspace(0.0, 2.0 * np.pi, 181)
    lengths, turn = np.linalg.eigh(C)  # not by Cholesky: unknowns that nearly replace each other leave no width
    rim = size * (turn * np.sqrt(np.maximum(lengths, 0.0))) @ np.array([np.cos(angle), np.sin(angle)])
    at, box = (fit.values[first], fit.values[second]), fit.intervals(level)
    with house_style():
        figure = new_figure(5.2, 4.4, show)
        axes = figure.add_subplot()
        axes.fill(at[0] + rim[0], at[1] + rim[1], color=COLOURS[0], alpha=0.2)
        axes.plot(at[0] + rim[0], at[1] + rim[1], color=COLOURS[0], label=f"{level:.0%} of both")
        (a, b), (c, d) = box[first], box[second]
        axes.plot([a, b, b, a, a], [c, c, d, d, c], "--", lw=1.0, color="0.5", label=f"{level:.0%} of each")
        axes.plot(*at, "D", color=COLOURS[1], label="estimate")
        axes.set_xlabel(axis_label(first, fit.units[first]))
        axes.set_ylabel(axis_label(second, fit.units[second]))
        axes.ticklabel_format(useOffset=False)
        axes.locator_params(axis="x", nbins=5)
        axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)
        return finish(figure, file, show)


__all__ = ["comparison", "ellipse"]
