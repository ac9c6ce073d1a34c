"""Elements whose coordinates are vectors and whose equations native loops know: solids, beams.

What they declare in symbols is what tests compare; the engine's tables need their sizes alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..symbolic.expr import ONE, Expr
from .discrete.stepping import ElementStep
from .element import Element, Reduction


class VectorElement(Element):
    """Base: ``dimension`` components a vector; the first blocks are ``bodies`` of an origin and directors each, the others are points."""

    dimension = 3
    bodies = 0

    @property
    def vectors(self) -> int:
        """Number of vectors that the coordinates are."""
        return self.size // self.dimension

    @property
    def moving(self) -> np.ndarray:
        """1 for vectors that shift with the element as a whole, 0 for directors."""
        d, carried = self.dimension, self.bodies * (self.dimension + 1)
        return np.array([1.0, *[0.0] * d] * self.bodies + [1.0] * (self.vectors - carried))

    def kernels(self, evaluation: str, reduced: Mapping[str, Reduction], projected: bool) -> Any:
        """Native loops of an element that has a memory of its own; those of a type are kept for all its instances."""
        return None

    @property
    def viscous(self) -> str:
        """The name of its viscosity, if it has one."""
        return ""


class VectorStep(ElementStep):
    """What the engine's tables need: nothing is derived, all entries are there."""

    uses_excess, uses_rate = True, False

    def __init__(self, element: VectorElement, evaluation: str, reduced: Mapping[str, Reduction], projected: bool) -> None:
        self.element, self.evaluation, self.reduced, self.projected = element, evaluation, dict(reduced), projected
        self.row_names, self.holonomic, self.rolling, self.servo, self.internal = [], [], [], [], None
        self.packing = self._pack()

    @property
    def tangent_entries(self) -> dict[tuple[int, int], Expr]:  # type: ignore[override]
        """All places."""
        n = len(self.unknowns)
        return dict.fromkeys(((i, j) for i in range(n) for j in range(n)), ONE)


__all__ = ["VectorElement", "VectorStep"]
