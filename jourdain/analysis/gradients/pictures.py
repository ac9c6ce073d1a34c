"""Pictures of gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...results.style import COLOURS, INK, finish, house_style, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .gradient import Gradient


def bars(g: Gradient, file: Any = None, show: bool = False) -> Figure:
    """Elasticities as bars, a group a variable and a colour a criterion."""
    names, variables, e = list(g.values), list(g.variables), g.elasticities
    with house_style():
        figure = new_figure(7.0, 1.2 + (0.2 * len(names) + 0.15) * len(variables), show)
        axes = figure.add_subplot()
        thickness = 0.8 / len(names)
        for i, name in enumerate(names):
            places = np.arange(len(variables)) + (i - 0.5 * (len(names) - 1)) * thickness
            axes.barh(places, e[i], 0.92 * thickness, label=name, color=COLOURS[i % len(COLOURS)])
        axes.axvline(0.0, color=INK, lw=0.8)
        axes.set_yticks(range(len(variables)), variables)
        axes.grid(visible=False, axis="y")
        axes.invert_yaxis()
        axes.set_xlabel("elasticity: % of the criterion for 1 % of the variable")
        axes.set_title(f"{g.analysis.system.model.name}: {g.analysis.verb}")
        axes.legend()
        return finish(figure, file, show)


__all__ = ["bars"]
