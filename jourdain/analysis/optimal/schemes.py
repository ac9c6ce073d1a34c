"""Schemes of collocation: where in an interval states and equations are looked at, and how they are tied together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...errors import InputError


@dataclass(frozen=True, eq=False)
class Scheme:
    """An interval [0, 1] of length h with states at ``nodes`` and at its end, which belongs to the next one, and equations at three ``points``.

    Each row is Σ number × state at a node − h Σ number × rate at a point = 0.
    """

    name: str
    nodes: tuple[float, ...]
    points: tuple[float, float, float]
    #: Nodes at which the points are.
    at: tuple[int, int, int]
    #: Weights of the points in integrals.
    weights: tuple[float, float, float]
    rows: tuple[tuple[Mapping[int, float], Mapping[int, float]], ...]
    #: Whether neighbours share a point, so that inputs at nodes are one variable.
    shares: bool
    #: States between nodes are cubics through nodes, or (False) through both ends with the rates there.
    through_nodes: bool

    @cached_property
    def _cubics(self) -> np.ndarray:
        """Coefficients of the cubics that are one at one node and zero at others, lowest power first."""
        return np.linalg.inv(np.vander([*self.nodes, 1.0], increasing=True))

    @cached_property
    def quadratics(self) -> np.ndarray:
        """Coefficients of the quadratics that are one at one point and zero at others (powers × points)."""
        return np.linalg.inv(np.vander(self.points, increasing=True))

    def inputs(self, s: float) -> np.ndarray:
        """Parts of the values at points of what is at s between them."""
        found: np.ndarray = s ** np.arange(3) @ self.quadratics
        return found

    def states(self, s: float, nodes: np.ndarray, ends: tuple[np.ndarray, np.ndarray], h: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """States and their rates at s of intervals, from the states at nodes (intervals × nodes × states) and, where they count, rates at both ends."""
        if self.through_nodes:
            powers, slopes = s ** np.arange(4), np.array([0.0, 1.0, 2.0 * s, 3.0 * s**2])
            return np.einsum("j,kjn->kn", powers @ self._cubics, nodes), np.einsum("j,kjn->kn", slopes @ self._cubics, nodes) / h
        a, b, (fa, fb) = nodes[:, 0], nodes[:, -1], ends
        x = (1 - s) ** 2 * (1 + 2 * s) * a + s**2 * (3 - 2 * s) * b + h * (s * (1 - s) ** 2 * fa - s**2 * (1 - s) * fb)
        return x, (6 * s * (s - 1) * (a - b)) / h + (1 - s) * (1 - 3 * s) * fa + s * (3 * s - 2) * fb


#: Hermite and Simpson in separated form (J. T. Betts, *Practical Methods for Optimal Control*, 2nd ed., §4.7): x_c = (x_a + x_b)/2 + h (f_a − f_b)/8,
#: x_b − x_a = h (f_a + 4 f_c + f_b)/6.  Order four.
HERMITE_SIMPSON = Scheme(
    "hermite-simpson", (0.0, 0.5), (0.0, 0.5, 1.0), (0, 1, 2), (1 / 6, 4 / 6, 1 / 6),
    (({2: 1.0, 0: -1.0}, {0: 1 / 6, 1: 4 / 6, 2: 1 / 6}), ({1: 1.0, 0: -0.5, 2: -0.5}, {0: 1 / 8, 2: -1 / 8})),
    shares=True, through_nodes=False,
)  # fmt: skip


def _radau() -> Scheme:
    """Radau IIA with three stages (E. Hairer and G. Wanner, *Solving Ordinary Differential Equations II*, §IV.5): X_i = x_a + h Σ a_ij f_j.  Order five, stiffly accurate."""
    c = np.array([(4.0 - np.sqrt(6.0)) / 10.0, (4.0 + np.sqrt(6.0)) / 10.0, 1.0])
    powers = np.arange(3)
    A = (c[:, None] ** (powers + 1) / (powers + 1)) @ np.linalg.inv(np.vander(c, increasing=True))
    rows = tuple(({i + 1: 1.0, 0: -1.0}, dict(enumerate(A[i].tolist()))) for i in range(3))
    one, two, three = c.tolist()
    return Scheme(
        "radau", (0.0, one, two), (one, two, three), (1, 2, 3), (A[2, 0], A[2, 1], A[2, 2]), rows, shares=False, through_nodes=True
    )


RADAU = _radau()
SCHEMES = {s.name: s for s in (HERMITE_SIMPSON, RADAU)}


def scheme_of(name: str, what: str) -> Scheme:
    """A scheme by name."""
    if name not in SCHEMES:
        raise InputError(f"{what}: scheme = {name!r} is unknown; use one of {', '.join(map(repr, SCHEMES))}")
    return SCHEMES[name]


__all__ = ["HERMITE_SIMPSON", "RADAU", "SCHEMES", "Scheme", "scheme_of"]
