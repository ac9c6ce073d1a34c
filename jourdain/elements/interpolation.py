"""Linear interpolations x = Σ Nₐ xₐ between the nodes of an element, as numbers: values and slopes at quadrature points."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from ..errors import ModelError

Rule = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Nₐ (points × nodes), ∂Nₐ/∂ξ (points × nodes × dimension) and weights at the quadrature points of the reference element."""


@dataclass(frozen=True, eq=False)
class Interpolation:
    """A reference element: the rule of its forces and that of its mass; ``bubbles`` are ∂/∂ξ (points × modes × dimension) of the further
    displacements from which enhanced strains are made, and ``centre`` the slopes of Nₐ in the middle (nodes × dimension)."""

    name: str
    forces: Rule
    mass: Rule
    bubbles: np.ndarray | None = None
    centre: np.ndarray | None = None

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        return int(self.forces[0].shape[1])

    @property
    def points(self) -> int:
        """Number of quadrature points of the forces."""
        return int(self.forces[2].size)

    @property
    def dimension(self) -> int:
        """2 in the plane, else 3."""
        return int(self.forces[1].shape[2])

    def at(self, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """∂Nₐ/∂X (elements × points × nodes × dimension) and volumes of the points (elements × points) for nodes at ``places``.

        >>> gradients, volumes = hexahedron().at(np.array([[[0, 0, 0], [2, 0, 0], [2, 1, 0], [0, 1, 0], [0, 0, 1], [2, 0, 1], [2, 1, 1], [0, 1, 1]]]))
        >>> float(volumes.sum().round(12))
        2.0
        """
        jacobian, volumes = self._mapped(self.forces, places)
        return np.einsum("gad,egdi->egai", self.forces[1], np.linalg.inv(jacobian)), volumes

    def masses(self, places: np.ndarray) -> np.ndarray:
        """∫ Nₐ N_b (elements × nodes × nodes)."""
        N = self.mass[0]
        return np.asarray(np.einsum("eg,ga,gb->eab", self._mapped(self.mass, places)[1], N, N, optimize=True))

    def enhanced(self, places: np.ndarray) -> np.ndarray:
        """Strains (elements × points × 6 × modes) beside those of the nodes: of the bubbles, mapped as in the middle and scaled by |J₀|/|J|, so
        that they vanish in the mean (Simo & Rifai 1990; Taylor, Beresford & Wilson 1976)."""
        assert self.bubbles is not None and self.centre is not None
        X = np.asarray(places, float)
        middle = np.einsum("ad,eai->eid", self.centre, X)
        scale = np.linalg.det(middle)[:, None] / np.linalg.det(np.einsum("gad,eai->egid", self.forces[1], X))
        slopes = np.einsum("gmd,edi,eg->egmi", self.bubbles, np.linalg.inv(middle), scale)
        count, points, bubbles, d = slopes.shape
        found = np.zeros((count, points, 6, bubbles, d))
        for i in range(d):
            found[:, :, i, :, i] = slopes[..., i]
        for k, (i, j) in enumerate(((0, 1), (1, 2), (0, 2))):
            if max(i, j) < d:
                found[:, :, 3 + k, :, i], found[:, :, 3 + k, :, j] = slopes[..., j], slopes[..., i]
        return found.reshape(count, points, 6, bubbles * d)

    def _mapped(self, rule: Rule, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """∂X/∂ξ and volumes of the points of a rule."""
        jacobian = np.einsum("gad,eai->egid", rule[1], np.asarray(places, float))
        determinant = np.linalg.det(jacobian)
        bad = np.flatnonzero((determinant <= 0.0).any(axis=1))
        if bad.size:
            order = "counter-clockwise" if self.dimension == 2 else "so that the first face is seen counter-clockwise from the second"
            raise ModelError(
                f"{self.name}: element {bad[0]} is turned inside out or has no volume (det ∂X/∂ξ = {determinant[bad[0]].min():.3g}); "
                f"number its nodes {order}"
            )
        return jacobian, determinant * rule[2]


def _interpolation(name: str, nodes: int, dimension: int) -> Interpolation:
    """The reference element of linear structures, with its rules."""
    from ..structures.parts.solids import KINDS

    kind: Any = KINDS[nodes, dimension]
    (x, w), (mass_x, mass_w) = kind.stiffness_points, kind.mass_points
    bubbles = centre = None
    if kind.bubbles:
        bubbles = np.zeros((len(x), dimension, dimension))
        for a in range(dimension):
            bubbles[:, a, a] = -2.0 * x[:, a]
        centre = kind.shape(np.zeros((1, dimension)))[1][0]
    return Interpolation(name, (*kind.shape(x), w), (*kind.shape(mass_x), mass_w), bubbles, centre)


@cache
def quadrilateral() -> Interpolation:
    """Four nodes in the plane, counter-clockwise; 2 × 2 points of Gauss."""
    return _interpolation("quadrilateral", 4, 2)


@cache
def hexahedron(nodes: int = 8) -> Interpolation:
    """Eight nodes, the lower face counter-clockwise and then the upper one, or twenty with the middles of the edges (lower, upper, upright);
    2 × 2 × 2 points of Gauss, or 3 × 3 × 3."""
    return _interpolation("hexahedron", _one_of("hexahedron", nodes, (8, 20)), 3)


@cache
def tetrahedron(nodes: int = 4) -> Interpolation:
    """Four nodes, the first three counter-clockwise seen from the fourth, with one point; or ten, with the middles of the edges 12, 23, 31,
    14, 24, 34, and four points."""
    found = _interpolation("tetrahedron", _one_of("tetrahedron", nodes, (4, 10)), 3)
    if nodes == 4:
        return found
    from ..structures.parts.solids import KINDS

    a, b = 0.5854101966249685, 0.1381966011250105  # exact to second degree, as strains of straight-sided elements are linear
    x = np.full((4, 3), b) + (a - b) * np.vstack([np.zeros(3), np.eye(3)])
    return Interpolation(found.name, (*KINDS[10, 3].shape(x), np.full(4, 1.0 / 24.0)), found.mass)


def _one_of(name: str, nodes: int, known: tuple[int, ...]) -> int:
    if nodes not in known:
        raise ModelError(f"{name} of {nodes!r} nodes: there are those of {' and '.join(map(str, known))}")
    return nodes


__all__ = ["Interpolation", "hexahedron", "quadrilateral", "tetrahedron"]
