"""Pictures of fronts."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

from ...results.style import COLOURS, finish, house_style, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .front import Front


def pairs(front: Front, file: Any = None, show: bool = False) -> Figure:
    """A front in the plane of each pair of criteria, dominated designs pale, the knee marked."""
    names, y, knee = list(front.problem.minimise), front.values, front.knee
    planes, units = list(combinations(range(len(names)), 2)), front.problem.space.units
    labels = [f"{n} in {units[n]}" if units.get(n) else n for n in names]
    with house_style():
        figure = new_figure(5.2 * len(planes), 4.2, show)
        for place, (i, j) in enumerate(planes, 1):
            axes = figure.add_subplot(1, len(planes), place)
            if front.dominated:
                pale = [[*d.criteria.values()] for d in front.dominated]
                axes.plot([p[i] for p in pale], [p[j] for p in pale], ".", color="0.75", label="dominated")
            axes.plot(y[:, i], y[:, j], "o-" if len(names) == 2 else "o", ms=4, lw=1.0, color=COLOURS[0], label="front")
            at = list(knee.criteria.values())
            axes.plot(at[i], at[j], "D", ms=8, color=COLOURS[1], label="knee")
            axes.margins(0.05)
            axes.set_xlabel(labels[i])
            axes.set_ylabel(labels[j])
            axes.legend()
        figure.suptitle(f"{front.problem.analysis.system.model.name}: {len(front)} designs ({front.method})")
        return finish(figure, file, show)


__all__ = ["pairs"]
