"""Runs with multipliers by range space or null space."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..ode_run import OdeRun
from ..run import Settings
from ..state import State
from .projected import NativeSystem
from .semi_recursive import MultiplierSystem, SemiRecursiveSystem

if TYPE_CHECKING:
    from ..inputs import Inputs


class MultiplierRun(OdeRun):
    """All coordinates of the tree with multipliers found at every evaluation; ``projection`` puts them back onto the constraints."""

    kind = "multiplier"
    system: SemiRecursiveSystem

    def __init__(
        self, system: SemiRecursiveSystem, start: State, span: tuple[float, float], inputs: Inputs, settings: Settings, *, reduction: str,
        projection: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(system, start, span, inputs, settings)
        self.kind = reduction
        self.projection = projection

    def native_side(self) -> NativeSystem:
        """The native functions with the multipliers' way."""
        native = MultiplierSystem(self.system, self.kind, self.start, self.inputs.initial, self.inputs.signals)
        if not self.projection:
            native.project = None
        return native


__all__ = ["MultiplierRun"]
