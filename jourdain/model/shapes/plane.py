"""The half-space: a floor or a wall without end, for contacts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NoReturn

import numpy as np

from ...errors import ModelError
from .base import ALONG, Solid, Triangulation, check_axis, check_positive
from .mass import MassProperties, Placement, Scalar, diagonal, multiply


@dataclass(frozen=True)
class Plane(Solid):
    """All that lies behind a plane through the origin; what is in front of it, in the direction of the axis, is free."""

    kind: ClassVar[str] = "plane"

    axis: str = "z"
    extent: Scalar = 2.0

    def _check(self) -> None:
        check_axis(self.kind, self.axis.removeprefix("-"))
        check_positive(self.kind, "extent", self.extent)
        if self.density is not None:
            self._no_mass()

    def _no_mass(self) -> NoReturn:
        raise ModelError("plane: a half-space has no end, hence no volume and no mass; put it on the ground, or use a box")

    def _symmetric_form(self) -> Placement:
        rotation = ALONG[self.axis[-1]]
        return Placement(rotation=multiply(rotation, diagonal(1.0, -1.0, -1.0)) if self.axis.startswith("-") else rotation)

    def _symmetric_volume(self) -> MassProperties:
        self._no_mass()

    def _own_mass(self) -> MassProperties:
        self._no_mass()

    def _dimensions(self) -> dict[str, Any]:
        return {"extent": self.extent}

    def _symmetric_triangulation(self, n: int) -> Triangulation:
        half = float(self.extent) / 2
        return half * np.array([[-1.0, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]]), np.array([[0, 1, 2], [0, 2, 3]])

    def _symmetric_contains(self, points: np.ndarray) -> np.ndarray:
        inside: np.ndarray = points[:, 2] <= 0.0
        return inside


def plane(axis: str = "z", extent: Scalar = 2.0, *, colour: str | None = None) -> Plane:
    """Return the half-space z ≤ 0, or that behind another axis ("x", "-x", …): a floor or wall without end, drawn as a square of width `extent` (m).

    >>> plane().contains([[5.0, 7.0, -1.0], [0.0, 0.0, 0.1]]).tolist()
    [True, False]
    """
    return Plane(axis, extent, colour=colour)
