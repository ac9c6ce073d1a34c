"""Runs with multipliers by range space or null space."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ...solvers import ADAPTIVE
from ...solvers.ode.events import Event
from ...solvers.ode.integrate import integrate
from ...solvers.ode.trajectory import Trajectory
from ..ode_run import OdeRun
from ..run import Settings
from ..state import State
from .crossing import Crossing, left_to_do, nearing, with_passages
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
        self.projection = self.keeps_constraints = projection
        self.keeps_energy = projection and settings.method in ADAPTIVE
        self._legs: list[Trajectory] = []

    def native_side(self) -> NativeSystem:
        """The native functions with the multipliers' way."""
        native = MultiplierSystem(self.system, self.kind, self.start, self.inputs.initial, self.inputs.signals)
        if not self.projection:
            native.project = None
        return native

    def march(
        self, first: Any, span: tuple[float, float], by: Callable[..., Any] = integrate, more: Sequence[Event] = (), **changes: Any
    ) -> Any:
        """The integration; singular positions, where multipliers cannot be found, are passed in another way (an open run ends there)."""
        crossing = Crossing(self.system, self.start, span[1], self.settings.method, self._from, self.inputs)
        if by is not integrate:
            return super().march(first, span, by, [*more, *nearing(crossing, self.native)], **changes)
        self._legs = crossing.legs

        def leg(first: Any, t: float, near: list[Event]) -> Trajectory:
            found: Trajectory = super(MultiplierRun, self).march(first, (t, span[1]), by, [*more, *near], **{**self._from(t), **changes})
            return found

        return with_passages(crossing, self.native, self.start, first, leg)

    def _from(self, t: float) -> dict[str, Any]:
        """Step control and output from a time on: times already passed and steps already taken are left out."""
        return left_to_do(self.control(), self._legs, t)


__all__ = ["MultiplierRun"]
