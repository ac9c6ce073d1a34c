"""Natural coordinates in the common protocol of formulations."""

from __future__ import annotations

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

    def reactions(self, state: Any) -> Wrenches:
        """Force and torque on the child of each joint and the second frame of each closure."""
        s, *_ = self._solved(state)
        found = reactions_of_accelerations(self.reference, s.t, s.x, self.reference.input_values(), self.accelerations(s))
        return {name: (w[:3], w[3:]) for name, w in found.items()}

    def indeterminate(self, state: Any = None) -> list[str]:
        """Joints whose reactions are not determined, as the Cartesian formulation finds them."""
        from ..formulations import formulate

        cartesian = formulate(self.reference, "cartesian")
        assert isinstance(cartesian, DescriptorFormulation)
        return cartesian.indeterminate(state)


__all__ = ["Natural"]
