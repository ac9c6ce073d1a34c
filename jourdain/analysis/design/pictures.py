"""Pictures of fronts."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from ...results.plots import axis_label
from ...results.style import COLOURS, finish, house_style, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .front import Front


#: Designs nearer to one of the front than this part of what it spans lie under its mark.
UNDER = 0.01


def pairs(front: Front, file: Any = None, show: bool = False) -> Figure:
    """A front in the plane of each pair of criteria, dominated designs pale, the knee marked."""
    names, y, knee = list(front.problem.minimise), front.values, front.knee
    planes, units = list(combinations(range(len(names)), 2)), front.problem.space.units
    labels = [axis_label(n, units.get(n) or "") for n in names]
    pale = _seen_beside(y, np.array([[*d.criteria.values()] for d in front.dominated]).reshape(-1, len(names)))
    with house_style():
        figure = new_figure(5.2 * len(planes), 4.2, show)
        for place, (i, j) in enumerate(planes, 1):
            axes = figure.add_subplot(1, len(planes), place)
            if len(pale):
                axes.plot(pale[:, i], pale[:, j], ".", color="0.75", label="dominated")
            axes.plot(y[:, i], y[:, j], "o-" if len(names) == 2 else "o", ms=4, lw=1.0, color=COLOURS[0], label="front")
            at = list(knee.criteria.values())
            axes.plot(at[i], at[j], "D", ms=8, color=COLOURS[1], label="knee")
            axes.margins(0.05)
            axes.set_xlabel(labels[i])
            axes.set_ylabel(labels[j])
            axes.legend()
        figure.axes[0].set_title(f"{front.problem.analysis.system.model.name}: {len(front)} designs ({front.method})")
        return finish(figure, file, show)


def _seen_beside(front: np.ndarray, others: np.ndarray) -> np.ndarray:
    """The rows that do not lie under one of the front."""
    gaps = np.abs(others[:, None] - front) / np.maximum(np.ptp(front, axis=0), 1e-300)
    return np.asarray(others[(gaps > UNDER).any(axis=2).all(axis=1)])


__all__ = ["pairs"]
