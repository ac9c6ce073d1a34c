"""Natural coordinates: points and vectors shared by bodies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...formalisms.coordinates.natural import natural
from ..compiled import Wrenches
from ..outputs.reactions import reactions_of_accelerations
from ..pushed import touches_rigidly
from .system import DescriptorSystem

if TYPE_CHECKING:
    from ..tree.system import TreeSystem


class NaturalSystem(DescriptorSystem):
    """A model in natural coordinates.

    Joints that are met by sharing points and vectors have no multipliers: their reactions follow from the accelerations.
    """

    def __init__(self, reference: TreeSystem, **options: Any) -> None:
        super().__init__(reference, "natural", natural, **options)

    def reactions(self, state: Any = None, inputs: Mapping[str, float] | None = None) -> Wrenches:
        """Force and torque on the child of each joint and the second frame of each closure."""
        if touches_rigidly(self.model):
            return super().reactions(state, inputs)
        s, *_ = self._solved(state, inputs)
        return reactions_of_accelerations(self.reference, s, self.inputs_at(s, inputs), self.accelerations(s, inputs))


__all__ = ["NaturalSystem"]
