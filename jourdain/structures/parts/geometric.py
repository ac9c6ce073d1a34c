"""Geometric stiffening: how the stresses of inertia and of loads at points stiffen or soften a reduced body."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError
from ..load_cases import LoadCases, load_cases
from .dofs import Array

if TYPE_CHECKING:
    from ..reduced import ReducedStructure


@dataclass(frozen=True, eq=False)
class GeometricStiffness:
    """K_g = Σ amplitude × matrix over the unit loads of :class:`LoadCases`; K + K_g acts on the elastic coordinates.

    Linear in the stresses of the undeformed body (Wallrapp & Schwertassek 1991).
    """

    cases: LoadCases
    matrices: Array  #: (c, m, m)

    def matrix(self, **amplitudes: Any) -> Array:
        """K_g for accelerations, angular velocity and loads; arguments of :meth:`LoadCases.amplitudes`."""
        return np.einsum("c,cij->ij", self.cases.amplitudes(**amplitudes), self.matrices)

    def of(self, name: str) -> Array:
        """The matrix of one unit load by its name, e.g. "omegazz" or "end.fx"."""
        return self.matrices[self.cases.names.index(name)]


def geometric_stiffness(body: ReducedStructure, points: Iterable[Any] | None = None) -> GeometricStiffness:
    """Geometric stiffness matrices of a body; `points` (all, unless given) are those that forces act on."""
    part = body.part
    if not part.elements:
        raise InputError(
            f"{part.name}: it has matrices and no elements, so that geometric stiffness is not known; make the part by a generator, or leave it out"
        )
    cases = load_cases(body, points)
    size = len(part.dofs)
    largest = np.abs(cases.displacements).max(axis=0, initial=0.0)
    matrices = np.zeros((len(cases.names), body.modes, body.modes))
    for k in np.flatnonzero(largest > 0):
        for group in part.elements:
            matrices[k] += body.shapes.T @ (group.geometric(cases.displacements[:, k], size) @ body.shapes)
    return GeometricStiffness(cases, 0.5 * (matrices + np.swapaxes(matrices, 1, 2)))
