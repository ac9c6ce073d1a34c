"""Natural coordinates: points and vectors shared by bodies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...formalisms.coordinates.natural import natural
from ..compiled import Wrenches
from ..reactions import reactions_of_accelerations
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
        s, *_ = self._solved(state, inputs)
        found = reactions_of_accelerations(self.reference, s.t, s.x, self.input_values(inputs), self.accelerations(s, inputs))
        return {name: (w[:3], w[3:]) for name, w in found.items()}

    def indeterminate(self, state: Any = None) -> list[str]:
        """Joints whose reactions are not determined, as the Cartesian formulation finds them."""
        from ..formulations import formulate

        cartesian = formulate(self.reference, "cartesian")
        assert isinstance(cartesian, DescriptorSystem)
        return cartesian.indeterminate(state)


__all__ = ["NaturalSystem"]
