"""A model of rigid bodies and solids of large deformation in the energy-consistent engine (Uhlar, ch. 6: BHEMC and RHEMC by ``reduction``)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ....errors import InputError
from ....results.channel import Channel
from ....results.solution import Solution
from ...run import SimulationError, SimulationInterrupted
from ...tree.system import TreeSystem
from ..directors import DirectorSystem
from ..runs import resampled
from .parts import separated

if TYPE_CHECKING:
    from ....model.model import Model
    from ...state import State
    from ...system import System
    from .parts import Part

#: What asks for the equations of the whole model, or for its motion in joint coordinates.
REFUSED = (
    "accelerations", "multipliers", "reactions", "inverse_dynamics", "mass_matrix", "bias", "forward_dynamics", "tree_accelerations",
    "energy", "equations", "function", "symbolic", "dof", "redundant", "dependent", "indeterminate", "stepper", "sweep", "mobility",
    "equilibrium", "equilibria", "inverse_dynamics_along", "static_forces", "recover", "linearise", "symbolic_linearisation", "modal",
    "frequency_response", "root_locus", "drift", "evaluation", "time_per_evaluation",
)  # fmt: skip


class HybridSystem(DirectorSystem):
    """Rigid bodies by directors and nonlinear solids whose interface nodes they carry.

    States are the joint coordinates of the rigid bodies, and parts start undeformed; nodes are channels of the solution ("blade.17").  The
    equations of the whole are those of :meth:`assembled`, which has equilibrium, modes and reports of its own.
    """

    goes_through_phases = True

    def __init__(self, reference: TreeSystem, parts: Sequence[Part], **options: Any) -> None:
        super().__init__(reference, **options)
        self.parts = parts

    def copy(self, parameters: np.ndarray | None = None) -> System:
        """The same with parameters and workspaces of its own, for another thread or other values."""
        return HybridSystem(self.reference.copy(parameters), self.parts, **self.options)

    def simulate(self, x0: Any, t: Any, method: str | None = None, **options: Any) -> Solution:  # type: ignore[override]
        """Simulates in time; see :func:`jourdain.analysis.simulate.simulate`.  Channels are those of the engine, and joint coordinates."""
        if isinstance(x0, Solution) and (x0.restart is None or x0.restart.method != (method or self.method)):
            remedy = "start from a state" if x0.restart is None else f"it goes on by the method '{x0.restart.method}' with which it ended"
            raise InputError(f"simulate '{self.model.name}': this solution does not tell how its parts are deformed; {remedy}")
        from ....analysis.simulate import released_at

        acting = self.phase(*released_at(self, x0)) if self.model.switches else self
        try:
            return acting._with_parts(super(HybridSystem, acting).simulate(x0, t, method, **options))
        except (SimulationError, SimulationInterrupted) as error:
            error.solution = acting._with_parts(error.solution)
            raise

    def phase(self, *released: str) -> HybridSystem:
        """The system while joints and constraints of some names have let go."""
        if frozenset(released) == self.model.released:
            return self
        kept: dict[Any, HybridSystem] = self.reference._idle.setdefault("phases", {})
        key = (frozenset(released), tuple(sorted(self.options.items())))
        if key not in kept:
            kept[key] = HybridSystem(TreeSystem(_phase(self.model, released)), self.parts, **self.options)
        other = kept[key]
        if not np.array_equal(other.parameter_vector, self.parameter_vector):
            other.reference._take(self.parameter_vector)
        return other

    def told(self, start: State, raw: Solution, inputs_at: Any = None) -> Solution:
        """A run of the assembled system, with the channels of the engine and joint coordinates."""
        return self._with_parts(super().told(start, raw, inputs_at))

    def _with_parts(self, found: Solution) -> Solution:
        def channels() -> Mapping[str, Channel]:
            raw = found.assembled
            if len(raw.t) != len(found.t) or (raw.t != found.t).any():
                raw = resampled(raw, list(self.model.bodies), found.t)
            names = [n for n in (*self.coordinate_names, *self.velocity_names, *self.model.inputs) if n in found and n not in raw]
            return {n: raw.channel(n) for n in raw.names} | {n: found.channel(n) for n in names} | self._pushes(raw, found)

        made = Solution(
            found.t, channels, found.metadata, found.statistics, self, frame_provider=found.frame_provider, events=lambda: found.events
        )
        made.raw, made.restart = found.raw, found.restart
        return made

    def _pushes(self, raw: Solution, found: Solution) -> dict[str, Channel]:
        """Forces of contacts on rigid bodies, from each other and from nodes."""
        told: dict[str, Channel] = {}
        for contact in self.model.contacts.values():
            for name in (f"{contact.name}.{body}.force" for body in contact.carriers):
                own, others = found.channel(name), raw.channel(name) if name in raw else None
                told[name] = own if others is None else Channel(lambda a=own, b=others: a.values + b.values, "N", own.description)  # type: ignore[misc]
        return told


def hybrid(model: Model, coupling: str = "null space", **options: Any) -> HybridSystem:
    """A model with solids that rigid bodies hold; by ``coupling`` "null space" nodes on bodies have no coordinates, by "constraints" they have,
    with a row for each."""
    rigid, parts = separated(model.whole or model, coupling)
    made = HybridSystem(TreeSystem(_phase(rigid, model.released)), parts, **options)
    model._locked = True  # its bodies are those of the compiled system
    return made


def _phase(rigid: Model, released: Iterable[str]) -> Model:
    """A phase of the rigid side whose events do not end a run: the engine itself removes and inserts what lets go and holds."""
    if not rigid.switches:
        return rigid
    found = rigid.phase(released)
    found.events = (rigid.whole or rigid).events
    return found


def _refused(name: str) -> Any:
    def verb(self: HybridSystem, *arguments: Any, **options: Any) -> Any:
        raise InputError(
            f"model '{self.model.name}': '{name}' is not known of a model with parts of large deformation ('{self.parts[0].name}'); "
            "system.assembled() has equilibrium, modal and report, the formulation 'recursive' small deformations"
        )

    return verb


for _name in REFUSED:
    setattr(HybridSystem, _name, _refused(_name))

__all__ = ["HybridSystem", "hybrid"]
