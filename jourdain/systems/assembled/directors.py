"""Any model in the energy-consistent engine: bodies by directors, joints as pairs, loads by potentials and laws.

``model.compile(formulation="directors")`` marches with schemes that keep energy and momenta exactly, in large steps; equilibrium, small
motions and forces along a motion are computed by the engine's elements, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...elements.discrete.schemes import NAMES
from ...errors import InputError
from ...formalisms.coordinates.directors import directors
from ...results.solution import Solution
from ..descriptor.system import DescriptorSystem
from ..pushed import touches_rigidly
from ..run import make_run
from ..start import check_belongs
from ..state import State
from ..verbs import verb
from .from_model import DirectorAssembly, JointElements
from .system import REDUCTIONS, AssembledSystem

if TYPE_CHECKING:
    from ...analysis.equilibrium import Equilibrium
    from ...analysis.inverse_dynamics import ActuatorForces, StaticForces
    from ...analysis.linearise import LinearSystem
    from ...symbolic.expr import Expr
    from ..inputs import Inputs
    from ..run import Run, Settings
    from ..tree.system import TreeSystem
    from .flexible.parts import Part


#: For how many sets of inputs the elements are kept.
MOST_KEPT = 8


class DirectorSystem(DescriptorSystem):
    """A model with bodies by directors, in the energy-consistent engine.

    Accelerations, multipliers and reactions at an instant are those of the director coordinates with all constraints; motion, equilibrium,
    small motions and forces along a motion are computed by the engine's elements; positions alone (``assemble``, ``kinematics``) are a matter
    of joint coordinates and the same in every formulation.

    ``reduction`` says what becomes of constraints in a run: "none", "projection", "bodies" (the internal ones of bodies are eliminated) or
    "joints" (also those of a spanning tree of the pairs).
    """

    method = "energy-momentum"
    methods = NAMES

    def __init__(self, reference: TreeSystem, reduction: str = "none", **options: Any) -> None:
        if reduction not in REDUCTIONS:
            raise InputError(f"formulation 'directors': reduction '{reduction}' is unknown; use one of {', '.join(REDUCTIONS)}")
        super().__init__(reference, "directors", directors, **options)
        self.reduction = self.options["reduction"] = reduction
        #: Assembled systems of ended runs by what is written into their elements.
        self._idle: dict[Any, list[DirectorAssembly]] = {}
        #: Parts of large deformation that the bodies carry.
        self.parts: Sequence[Part] = ()

    def assembled(
        self, state: Any = None, inputs: Mapping[str, float] | None = None, elements: JointElements | None = None
    ) -> AssembledSystem:
        """The assembled system at a state (by default zero, loops closed), to look at its elements, its report and its schemes."""
        start = self.assemble({}) if state is None else self.state(state)
        return DirectorAssembly(self.own, start, inputs, elements=elements, parts=self.parts).system

    def elements_at(
        self, start: State, inputs: Inputs, elements: JointElements | None = None, stepped: Sequence[str] = ()
    ) -> DirectorAssembly:
        """The model's elements for a run: those of an ended run where they fit, else new ones; ``stepped`` inputs change from step to step."""
        changing = [*inputs.set_on_the_way, *stepped]
        held = {n: float(x) for n, x in zip(self.model.inputs, inputs.initial, strict=True) if n in changing}
        idle = [] if stepped else self._idle.get(self._key(inputs, elements), [])
        if idle:
            try:  # another thread may have taken the last one
                built = idle.pop()
                built.hold(held)
                built.move_to(start)
                return built
            except IndexError:
                pass
        return DirectorAssembly(self.own, start, {**inputs.given, **held}, changing, elements=elements, parts=self.parts)

    def keep(self, built: DirectorAssembly, inputs: Inputs, elements: JointElements | None = None) -> None:
        """Lets another run use the elements of an ended one."""
        if len(self._idle) >= MOST_KEPT:  # inputs that change from run to run would fill the memory
            del self._idle[next(iter(self._idle))]
        self._idle.setdefault(self._key(inputs, elements), []).append(built)

    def _key(self, inputs: Inputs, elements: JointElements | None) -> Any:
        """What is written into the elements: parameters, numbers and signals of inputs, which ones are held, elements of joints."""
        numbers = tuple(sorted(inputs.constants.items()))
        made = tuple((n, id(x)) for n, x in (elements or {}).items())  # the assembly holds on to them
        return self.parameter_vector.tobytes(), numbers, tuple(inputs.signals.items()), tuple(inputs.set_on_the_way), made

    def run(self, start: State, span: tuple[float, float], inputs: Inputs, settings: Settings, options: Mapping[str, Any]) -> Run:
        """A march of the engine, or Moreau's steps in the same coordinates."""
        if (special := self.contact_run(str(settings.method))) is not None:
            return make_run(special, self, start, span, inputs, settings, options)
        from .runs import DirectorRun

        return make_run(DirectorRun, self, start, span, inputs, settings, options)

    def assembly(
        self, start: State, inputs: Mapping[str, Any] | None = None, outputs: Mapping[str, Expr] | None = None
    ) -> DirectorAssembly:
        """The model's elements at a state, with servo constraints for some outputs."""
        return DirectorAssembly(self.own, start, inputs, outputs=outputs, parts=self.parts)

    def told(self, start: State, raw: Solution, inputs_at: Any = None) -> Solution:
        """A run of the assembled system in the language of the model."""
        from .runs import translated

        return translated(self, start, raw, inputs_at)

    @verb
    def track(
        self, outputs: Mapping[str, Any], x0: Any, t: float | Sequence[float], step: float = 1e-2, method: str | None = None,
        inputs: Mapping[str, Any] | None = None, adjust: bool = False, inversion: str = "causal", before: float | None = None,
        after: float | None = None, limits: Mapping[str, float] | None = None, effort: float | None = None, **options: Any,
    ) -> Solution:  # fmt: skip
        """The motion in which outputs follow what is prescribed, with the inputs that bring it about; see :func:`jourdain.analysis.track.track`."""
        from ...analysis.track import track

        return track(self, outputs, x0, t, step, method, inputs, adjust, inversion, before, after, limits, effort, **options)

    # -- analyses -------------------------------------------------------------------------------------------------

    @property
    def _found_by_tree(self) -> bool:
        """Whether forces are found by the tree: analyses about a state know contacts and callbacks in joint coordinates."""
        return bool(self.model.contacts or self.model.callbacks) or touches_rigidly(self.model)

    @verb
    def equilibrium(
        self, x0: Any = None, unknowns: Sequence[str] | None = None, exchange: Mapping[str, str] | None = None,
        equations: Mapping[str, Expr] | Sequence[Expr] | None = None, kind: str = "static", extra: Sequence[str] = (),
        inputs: Mapping[str, float] | None = None, accelerations: Mapping[str, Any] | None = None, steady: Sequence[str] | None = None,
        continuation: str | tuple[str, float] | None = "gravity", iterations: int = 80,
    ) -> Equilibrium:  # fmt: skip
        """Equilibrium by the forces of the engine's elements; see :func:`jourdain.analysis.equilibrium.equilibrium` for the options.

        Without options but ``inputs`` the engine relaxes to a stable equilibrium near the state, then Newton's method makes it exact.
        Exchanged variables, further equations and steady motions (kind "dynamic") are found by Newton's method alone.
        """
        if self._found_by_tree:
            return super().equilibrium(
                x0, unknowns, exchange, equations, kind, extra, inputs, accelerations, steady, continuation, iterations
            )
        from ...analysis.equations.by_elements import balance, equilibrium

        plain = unknowns is None and not exchange and not equations and not extra and not accelerations and steady is None
        if kind == "static" and plain and continuation == "gravity":
            return equilibrium(self, x0, inputs, iterations)
        return balance(
            self, x0, unknowns=unknowns, exchange=exchange, equations=equations, kind=kind, extra=extra, inputs=inputs,
            accelerations=accelerations, steady=steady, continuation=continuation, iterations=iterations,
        )  # fmt: skip

    @verb
    def linearise(
        self, state: Any = None, inputs: Sequence[str] | None = None, outputs: Sequence[str] | Mapping[str, Expr] | None = None,
        u: Mapping[str, float] | None = None, preferred: Sequence[str] = (), contacts: Mapping[str, str] | None = None,
    ) -> LinearSystem:  # fmt: skip
        """A, B, C, D about a state, with mass, damping and stiffness of the engine's elements; see :func:`jourdain.analysis.linearise.linearise`."""
        if self._found_by_tree or contacts:
            return super().linearise(state, inputs, outputs, u, preferred, contacts)
        from ...analysis.equations.by_elements import linearise

        return linearise(self, state, inputs, outputs, u, preferred)

    @verb
    def inverse_dynamics_along(
        self, motion: Any, actuators: Sequence[str] | None = None, times: Any = None, x0: Any = None,
        inputs: Mapping[str, float] | None = None,
    ) -> ActuatorForces:  # fmt: skip
        """Actuator forces for a motion, by the engine's elements; see :func:`jourdain.analysis.inverse_dynamics.inverse_dynamics_along`.

        Multipliers are those of the engine's rows ("joint.row").
        """
        if self._found_by_tree:
            return super().inverse_dynamics_along(motion, actuators, times, x0, inputs)
        from ...analysis.equations.by_elements import inverse_dynamics_along

        return inverse_dynamics_along(self, motion, actuators, times, x0, inputs)

    @verb
    def static_forces(
        self, state: Any = None, actuators: Sequence[str] | None = None, inputs: Mapping[str, float] | None = None
    ) -> StaticForces:
        """Forces that hold a state, by the engine's elements; see :func:`jourdain.analysis.inverse_dynamics.static_forces`."""
        if self._found_by_tree:
            return super().static_forces(state, actuators, inputs)
        from ...analysis.equations.by_elements import static_forces

        return static_forces(self, state, actuators, inputs)

    def drift(self, solution: Solution) -> tuple[float, float]:
        """Largest violation of the constraints along a solution of this formulation; velocities meet them in the mean over a step."""
        if solution.metadata.get("method") == "moreau":
            return super().drift(solution)
        if "step.constraints.violation" not in solution:
            raise InputError("this solution was not simulated in directors; its constraint errors are not known")
        if solution.system is not None:
            check_belongs(self.reference, solution.system, "solution")
        return float(solution["step.constraints.violation"].max()), 0.0


__all__ = ["DirectorSystem"]
