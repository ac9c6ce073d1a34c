"""Linear interpolations x = Σ Nₐ xₐ between the nodes of an element, as numbers: values and slopes at quadrature points."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from ..errors import ModelError


@dataclass(frozen=True, eq=False)
class Interpolation:
    """Nₐ (points × nodes), ∂Nₐ/∂ξ (points × nodes × 3) and weights at the quadrature points of the reference element."""

    name: str
    values: np.ndarray
    slopes: np.ndarray
    weights: np.ndarray

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return int(self.values.shape[1])

    @property
    def points(self) -> int:
        """Number of quadrature points."""
        return int(self.weights.size)

    def at(self, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """∂Nₐ/∂X (elements × points × nodes × 3) and volumes of the points (elements × points) for nodes at ``places``.

        >>> gradients, volumes = hexahedron().at(np.array([[[0, 0, 0], [2, 0, 0], [2, 1, 0], [0, 1, 0], [0, 0, 1], [2, 0, 1], [2, 1, 1], [0, 1, 1]]]))
        >>> float(volumes.sum().round(12))
        2.0
        """
        jacobian = np.einsum("gad,eai->egid", self.slopes, np.asarray(places, float))
        determinant = np.linalg.det(jacobian)
        bad = np.flatnonzero((determinant <= 0.0).any(axis=1))
        if bad.size:
            raise ModelError(
                f"{self.name}: element {bad[0]} is turned inside out or has no volume (det ∂X/∂ξ = {determinant[bad[0]].min():.3g}); "
                "number its nodes so that the first face is seen counter-clockwise from the second"
            )
        return np.einsum("gad,egdi->egai", self.slopes, np.linalg.inv(jacobian)), determinant * self.weights


@cache
def hexahedron() -> Interpolation:
    """Eight nodes, the lower face counter-clockwise and then the upper one; 2 × 2 × 2 points of Gauss."""
    corners = np.array([(-1, -1, -1), (1, -1, -1), (1, 1, -1), (-1, 1, -1), (-1, -1, 1), (1, -1, 1), (1, 1, 1), (-1, 1, 1)], float)
    factors = 1.0 + corners[None] * (corners / np.sqrt(3.0))[:, None]
    slopes = [corners[:, d] * np.prod(np.delete(factors, d, axis=2), axis=2) / 8.0 for d in range(3)]
    return Interpolation("hexahedron", factors.prod(axis=2) / 8.0, np.stack(slopes, axis=2), np.ones(8))


@cache
def tetrahedron() -> Interpolation:
    """Four nodes, the fourth above the first three, which are counter-clockwise seen from it; four points, exact to second degree."""
    a, b = 0.5854101966249685, 0.1381966011250105
    values = np.full((4, 4), b) + (a - b) * np.eye(4)
    slopes = np.array([(-1.0, -1.0, -1.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)])
    return Interpolation("tetrahedron", values, np.tile(slopes, (4, 1, 1)), np.full(4, 1.0 / 24.0))


__all__ = ["Interpolation", "hexahedron", "tetrahedron"]
