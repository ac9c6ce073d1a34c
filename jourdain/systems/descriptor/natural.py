"""Natural coordinates in the common protocol of formulations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...analysis.reactions import reactions_of_accelerations
from ...formalisms.coordinates.natural import natural
from ..formulations import DescriptorFormulation, Wrenches
from ..tree.system import System


class Natural(DescriptorFormulation):
    """A model in natural coordinates.

    Joints that are met by sharing points and vectors have no multipliers: their reactions follow from the accelerations.
    """

    def __init__(self, reference: System, **options: Any) -> None:
        super().__init__(reference, "natural", natural, **options)

    def reactions(self, state: Any, inputs: Mapping[str, float] | None = None) -> Wrenches:
        """Force and torque on the child of each joint and the second frame of each closure."""
        s, *_ = self._solved(state, inputs)
        return reactions_of_accelerations(self.reference, s, self.reference.input_values(inputs), self.accelerations(s, inputs))


__all__ = ["Natural"]
