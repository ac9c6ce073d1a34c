"""Any model in the energy-consistent engine: bodies by directors, joints as pairs, loads by potentials and laws.

``model.compile(formulation="directors")`` answers every question of the common protocol in directors; its :meth:`Directors.simulate`
marches with schemes that keep energy and momenta exactly, in large steps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError
from ...formalisms.coordinates.directors import directors
from ...results.solution import Solution
from ..formulations import DescriptorFormulation
from ..state import State
from ..tree.system import System
from .from_model import DirectorAssembly, JointElements
from .system import REDUCTIONS, AssembledSystem

if TYPE_CHECKING:
    from ...analysis.equilibrium import Equilibrium
    from ...analysis.inverse_dynamics import ActuatorForces, StaticForces
    from ...analysis.linearise import LinearSystem


class Directors(DescriptorFormulation):
    """A model with bodies by directors, in the energy-consistent engine.

    Verbs, arguments and results are those of a compiled system, in its joint coordinates; what they say is computed by the engine's elements.
    """

    method = "energy-momentum"

    def __init__(self, reference: System, **options: Any) -> None:
        if options.get("reduction") in REDUCTIONS:
            raise InputError(f"reduction '{options['reduction']}' is chosen with a run: simulate(…, reduction='{options['reduction']}')")
        super().__init__(reference, "directors", directors, **options)

    def assembled(
        self, state: Any = None, inputs: Mapping[str, float] | None = None, elements: JointElements | None = None
    ) -> AssembledSystem:
        """The assembled system at a state (by default zero, loops closed), to look at its elements, its report and its schemes."""
        start = self.reference.assemble({}) if state is None else self.reference.state(state)
        return DirectorAssembly(self.system, start, inputs, elements=elements).system

    def simulate(  # type: ignore[override]
        self, x0: Any, t: float | Sequence[float], step: float = 1e-2, method: str = "energy-momentum", inputs: Mapping[str, Any] | None = None,
        times: Any = None, outputs: int | None = None, parameters: np.ndarray | None = None,
        elements: JointElements | None = None, **options: Any,
    ) -> Solution:  # fmt: skip
        """Motion from a state of the reference system (or the end of a solution) in steps of ``step`` seconds.

        ``method`` is one of the schemes of :meth:`AssembledSystem.simulate` ("energy-momentum", "variational", "generalized-alpha" …), to which
        further options go (``reduction``, ``tolerance``, ``adaptive`` …).  ``inputs``, ``times``, ``outputs`` and ``parameters`` are as in
        :func:`jourdain.analysis.simulate.simulate`: inputs may be numbers, functions or tables of time, or sampled controllers; output at
        given times is interpolated between the steps.  The solution has the usual channels, and those of the scheme behind ``step.``
        (energies at the ends of steps, balance, momenta, violation of constraints, iterations).  ``elements`` adds laws with an exact balance
        to hinges and sliders, an element of one coordinate with its constants (or a list of such pairs) by joint:

        >>> import jourdain as jd
        >>> from jourdain.library import pendulum
        >>> directors = pendulum().compile(formulation="directors")
        >>> brake = {"hinge": (jd.elements.Plastic(), {"stiffness": 1e3, "limit": 0.5})}
        >>> sol = directors.simulate({"hinge.angle": 1.0}, 2.0, elements=brake)
        >>> books = sol["step.energy.total"] + sol["step.energy.dissipated"]
        >>> bool(abs(books - books[0]).max() < 1e-11)
        True
        """
        from .runs import simulate

        return simulate(self, x0, t, step, method, inputs, times, outputs, parameters, elements, options)

    def track(
        self, outputs: Mapping[str, Any], state: Any, t: float | Sequence[float], step: float = 1e-2, method: str | None = None,
        inputs: Mapping[str, Any] | None = None, adjust: bool = False, **options: Any,
    ) -> Solution:  # fmt: skip
        """The motion in which outputs follow what is prescribed, with the inputs that bring it about; see :func:`.servo_tracking.track`."""
        from ...analysis.track import track

        return track(self, outputs, state, t, step, method, inputs, adjust, **options)

    # -- analyses -------------------------------------------------------------------------------------------------

    def equilibrium(self, x0: Any = None, **options: Any) -> Equilibrium:
        """Equilibrium by the forces of the engine's elements; see :func:`jourdain.analysis.equilibrium.equilibrium` for the options.

        Without options but ``inputs`` the engine relaxes to a stable equilibrium near the state, then Newton's method makes it exact.
        Exchanged variables, further equations and steady motions (kind "dynamic") are found by Newton's method alone.
        """
        from .point_equations import balance, equilibrium

        if options.get("kind", "static") == "static" and set(options) <= {"inputs", "iterations", "kind"}:
            return equilibrium(self, x0, **{n: x for n, x in options.items() if n != "kind"})
        return balance(self, x0, **options)

    def linearise(self, state: Any = None, **options: Any) -> LinearSystem:
        """A, B, C, D about a state, with mass, damping and stiffness of the engine's elements; see :func:`jourdain.analysis.linearise.linearise`."""
        from .point_equations import linearise

        return linearise(self, state, **options)

    def inverse_dynamics_along(self, motion: Any, actuators: Sequence[str] | None = None, **options: Any) -> ActuatorForces:
        """Actuator forces for a motion, by the engine's elements; see :func:`jourdain.analysis.inverse_dynamics.inverse_dynamics_along`.

        Multipliers are those of the engine's rows ("joint.row").
        """
        from .point_equations import inverse_dynamics_along

        return inverse_dynamics_along(self, motion, actuators, **options)

    def static_forces(self, state: Any = None, actuators: Sequence[str] | None = None, **options: Any) -> StaticForces:
        """Forces that hold a state, by the engine's elements; see :func:`jourdain.analysis.inverse_dynamics.static_forces`."""
        from .point_equations import static_forces

        return static_forces(self, state, actuators, **options)

    def drift(self, solution: Solution) -> tuple[float, float]:
        """Largest violation of the constraints along a solution of this formulation; velocities meet them in the mean over a step."""
        if "step.constraints.violation" not in solution:
            raise InputError("this solution was not simulated in directors; its constraint errors are not known")
        return float(solution["step.constraints.violation"].max()), 0.0

    def _translated(self, start: State, raw: Solution, inputs_at: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None) -> Solution:
        """The assembled system's run in the language of the reference system; ``inputs_at`` gives the inputs at some times."""
        from .runs import translated

        return translated(self, start, raw, inputs_at)


__all__ = ["Directors"]
