"""Maps of a hexapod over planes of its workspace: stiffness, singular surfaces, compliances; and its reach over the joint angle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError
from ...results.style import finish, house_style, new_figure
from .geometry import Hexapod

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False)
class Map:
    """Values over a plane of the workspace: ``values[j, i]`` at ``first[i]`` and ``second[j]`` along the axes ``names`` (m)."""

    names: tuple[str, str]
    first: np.ndarray
    second: np.ndarray
    values: np.ndarray
    title: str

    def plot(self, file: Any = None, show: bool = False, log: bool = False) -> Figure:
        """The map in colours, with the line where it is zero."""
        with house_style():
            figure = new_figure(5.6, 4.6, show)
            axes = figure.subplots()
            shown = np.log10(np.maximum(np.abs(self.values), 1e-12)) if log else self.values
            mesh = axes.pcolormesh(self.first, self.second, shown, shading="gouraud", cmap="viridis")
            figure.colorbar(mesh, ax=axes, label=("log₁₀ " if log else "") + self.title)
            if not log and shown.min() < 0 < shown.max():
                axes.contour(self.first, self.second, shown, levels=[0.0], colors="w", linewidths=1.2)
            axes.set_xlabel(f"{self.names[0]} [m]")
            axes.set_ylabel(f"{self.names[1]} [m]")
            axes.locator_params(nbins=5)
            axes.set_aspect("equal")
            return finish(figure, file, show)


def hexapod_map(
    machine: Hexapod, plane: str = "z", at: float = 0.0, of: str | tuple[int, int] = "stiffness", extent: float = 0.2, points: int = 41
) -> Map:
    """A map over the plane ``plane`` = ``at`` (m): the least principal "stiffness" k*, the "determinant" whose zeros are singular, the "reach" (1 where the tool may go), or an entry (i, j) of the compliance."""
    if plane not in ("x", "y", "z"):
        raise InputError(f"hexapod_map: there is no plane {plane!r}; use 'x', 'y' or 'z'")
    axis = np.linspace(-extent, extent, points)
    free = [i for i in range(3) if "xyz"[i] != plane]
    p = np.full((points, points, 3), float(at))
    p[..., free[0]], p[..., free[1]] = np.meshgrid(axis, axis)
    if isinstance(of, tuple):
        values, title = machine.compliance(p)[..., of[0], of[1]], f"compliance {of}"
    elif of == "stiffness":
        values, title = machine.principal(p)[..., 0], "least principal stiffness k*"
    elif of == "determinant":
        values, title = machine.determinant(p), "determinant D [m⁹]"
    elif of == "reach":
        values, title = machine.admissible(p).astype(float), "reach"
    else:
        raise InputError(
            f"hexapod_map: there is no map of {of!r}; use 'stiffness', 'determinant', 'reach' or the place (i, j) of a compliance"
        )
    return Map(("xyz"[free[0]], "xyz"[free[1]]), axis, axis, values, title)


__all__ = ["Map", "hexapod_map"]
