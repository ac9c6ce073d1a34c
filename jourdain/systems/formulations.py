"""One model, many formulations: each compiled by a word, all answering in one language.

``model.compile(formulation="cartesian", rotation="euler-parameters", reduction="qr")`` gives a :class:`FormulatedSystem`.  States are
those of the recursive system ``reference``; accelerations come back as v̇ of its tree, reactions as the force and torque on each
joint's child, simulations as solutions with the usual channels.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from importlib import import_module
from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np

from ..analysis.assemble import check_closed
from ..analysis.reactions import (
    Wrenches,
    constrained_accelerations,
    indeterminate,
    reactions_at,
    reactions_of_accelerations,
    share_reactions,
)
from ..errors import InputError
from ..formalisms.coordinates.descriptor import Descriptor
from ..results.solution import Solution
from ..solvers.constraints.reductions import independent_rows, multipliers
from ..solvers.native_function import NativeFunction
from ..symbolic.graph import Operations
from .descriptor.system import DescriptorSystem, tree_accelerations
from .state import State
from .tree.projected import NativeSystem
from .tree.redundancy import redundant_names, redundant_rows
from .tree.system import System
from .verbs import LinearVerbs

if TYPE_CHECKING:
    from ..analysis.assemble import AssembledState
    from ..analysis.continuation import Branch
    from ..analysis.equilibrium import Equilibrium
    from ..analysis.inverse_dynamics import ActuatorForces, StaticForces
    from ..analysis.inverse_kinematics import Pose
    from ..analysis.kinematics import Motion
    from ..analysis.linearise import LinearSystem
    from ..analysis.mobility import Mobility
    from ..analysis.sweep import SweepResult
    from ..model.model import Model
    from .configuration import Configuration

#: Formulations by name: where a :class:`FormulatedSystem` or a function (model, **options) → Descriptor is found.
FORMULATIONS: dict[str, str] = {
    "recursive": "jourdain.systems.formulations:Recursive",
    "cartesian": "jourdain.formalisms.coordinates.cartesian:cartesian",
    "natural": "jourdain.systems.descriptor.natural:Natural",
    "directors": "jourdain.systems.assembled.directors:Directors",
    "semi-recursive": "jourdain.systems.tree.semi_recursive:SemiRecursive",
}


def formulate(model: Model | System, formulation: str, **options: Any) -> FormulatedSystem:
    """A model in a formulation by name; a compiled system may be given to share it as the reference."""
    if formulation not in FORMULATIONS:
        raise InputError(f"formulation '{formulation}' is unknown; use one of {', '.join(FORMULATIONS)}")
    module, name = FORMULATIONS[formulation].split(":")
    try:
        made = getattr(import_module(module), name)
    except ModuleNotFoundError as e:
        if e.name != module:
            raise
        raise InputError(f"formulation '{formulation}' is not part of this installation") from None
    reference = model if isinstance(model, System) else System(model)
    if isinstance(made, type) and issubclass(made, FormulatedSystem):
        found: FormulatedSystem = made(reference, **options)
    else:
        found = DescriptorFormulation(reference, formulation, made, **options)
    found._options = options
    return found


class FormulatedSystem(LinearVerbs, ABC):
    """The common protocol of all formulations of a model."""

    #: The word by which it was compiled.
    formulation: str
    #: The method of :meth:`simulate` when none is named.
    method = "dopri5"
    #: The options with which it was compiled.
    _options: dict[str, Any]

    def __init__(self, reference: System) -> None:
        self.reference = reference
        self.model = reference.model

    # -- what it is -----------------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def unknowns(self) -> list[str]:
        """Names of the coordinates."""

    @property
    @abstractmethod
    def constraints(self) -> list[str]:
        """Names of the constraint equations."""

    @property
    @abstractmethod
    def operations(self) -> Operations:
        """Operations of one evaluation of the equations' terms (linear algebra apart)."""

    @abstractmethod
    def dof(self, state: Any = None) -> int:
        """Degrees of freedom by the rank of the constraints at a state (a random closed one by default)."""

    def redundant(self, state: Any = None) -> list[str]:
        """Names of constraints that follow from the others at a state."""
        return []

    def indeterminate(self, state: Any = None, inputs: Mapping[str, float] | None = None) -> list[str]:
        """Joints and closures whose reactions rigid bodies do not determine; see :func:`jourdain.analysis.reactions.indeterminate`."""
        return indeterminate(self.reference, self._state(state), self.reference.input_values(inputs))

    def describe(self) -> str:
        """One line: coordinates, equations, operations."""
        return f"{self.formulation}: {len(self.unknowns)} coordinates, {len(self.constraints)} constraints, {self.operations.flops} + and ×"

    # -- what it computes -----------------------------------------------------------------------------------------

    @abstractmethod
    def accelerations(self, state: Any, inputs: Mapping[str, float] | None = None) -> np.ndarray:
        """v̇ of the reference tree at one of its (closed) states, with inputs by name (the model's own values otherwise)."""

    @abstractmethod
    def multipliers(self, state: Any, inputs: Mapping[str, float] | None = None) -> dict[str, float]:
        """Constraint multipliers by row, with the sign of M ẍ = Q + Jᵀλ (of least norm where rows are redundant)."""

    @abstractmethod
    def reactions(self, state: Any, inputs: Mapping[str, float] | None = None) -> Wrenches:
        """Force and torque (world axes) on the child of each joint at its frame, and on the second frame of each closure.

        Where constraints are redundant the share of least norm (:mod:`jourdain.systems.tree.self_stress`); :meth:`indeterminate` names the joints.
        """

    @abstractmethod
    def simulate(self, state: Any, t: float | Sequence[float], **options: Any) -> Solution:
        """Motion from a state of the reference system."""

    @abstractmethod
    def drift(self, solution: Solution) -> tuple[float, float]:
        """Largest position and velocity errors of the constraints along a solution of this formulation."""

    @abstractmethod
    def evaluation(self, state: Any) -> tuple[NativeFunction, np.ndarray]:
        """The native right-hand side with a state to call it at."""

    # -- analyses -------------------------------------------------------------------------------------------------
    #
    # The verbs of a compiled system, with its arguments and results.  Unless a formulation says otherwise, they are answered by the
    # reference system, the recursive formulation of the same model.

    def equilibrium(self, x0: Any = None, **options: Any) -> Equilibrium:
        """Equilibrium near a state, found by the reference system; see :func:`jourdain.analysis.equilibrium.equilibrium`."""
        return self.reference.equilibrium(x0, **options)

    def equilibria(self, parameter: str, span: tuple[float, float], x0: Any = None, **options: Any) -> Branch:
        """Equilibria on a curve over a parameter, by the reference system; see :func:`jourdain.analysis.continuation.equilibria`."""
        return self.reference.equilibria(parameter, span, x0, **options)

    def linearise(self, state: Any = None, **options: Any) -> LinearSystem:
        """A, B, C, D about a state, found by the reference system; see :func:`jourdain.analysis.linearise.linearise`."""
        return self.reference.linearise(state, **options)

    def inverse_dynamics_along(self, motion: Any, actuators: Sequence[str] | None = None, **options: Any) -> ActuatorForces:
        """Actuator forces for a motion, found by the reference system; see :func:`jourdain.analysis.inverse_dynamics.inverse_dynamics_along`."""
        return self.reference.inverse_dynamics_along(motion, actuators, **options)

    def static_forces(self, state: Any = None, actuators: Sequence[str] | None = None, **options: Any) -> StaticForces:
        """Forces that hold a state, found by the reference system; see :func:`jourdain.analysis.inverse_dynamics.static_forces`."""
        return self.reference.static_forces(state, actuators, **options)

    def inverse_dynamics(self, q: Any, v: Any, a: Any, t: float = 0.0) -> np.ndarray:
        """φ = M a + c of the reference system's tree at states or arrays of them (loads not included); see :meth:`System.inverse_dynamics`."""
        return self.reference.inverse_dynamics(q, v, a, t)

    def kinematics(self, times: Any, motion: Mapping[str, Any] | None = None, x0: Any = None, **options: Any) -> Motion:
        """Motion of a driven mechanism, found by the reference system; see :func:`jourdain.analysis.kinematics.kinematics`."""
        return self.reference.kinematics(times, motion, x0, **options)

    def inverse_kinematics(self, targets: Mapping[str, Any], x0: Any = None, **options: Any) -> Pose:
        """Positions that reach targets, by the reference system; see :func:`jourdain.analysis.inverse_kinematics.inverse_kinematics`."""
        return self.reference.inverse_kinematics(targets, x0, **options)

    def sweep(self, x0: Any, t: float | Sequence[float], **options: Any) -> SweepResult:
        """Many runs of :meth:`simulate` with other parameters, states or inputs; see :func:`jourdain.analysis.sweep.sweep`."""
        from ..analysis.sweep import sweep

        return sweep(self, x0, t, **{"method": self.method, **options})

    # -- states, names and parameters: those of the reference system --------------------------------------------------

    def state(self, given: Any = None, velocities: Mapping[str, Any] | None = None, t: float = 0.0) -> State:
        """A state from named positions and velocities; see :meth:`System.state`."""
        return self.reference.state(given, velocities, t)

    def assemble(self, fixed: Any = None, **options: Any) -> AssembledState:
        """A state with closed loops; see :func:`jourdain.analysis.assemble.assemble`."""
        return self.reference.assemble(fixed, **options)

    def mobility(self, state: State | None = None) -> Mobility:
        """Degrees of freedom of the reference system, counted and by rank; see :mod:`jourdain.analysis.mobility`."""
        return self.reference.mobility(state)

    @property
    def configuration(self) -> Configuration:
        """Layout of positions and velocities."""
        return self.reference.configuration

    @property
    def coordinate_names(self) -> list[str]:
        """Names of the positions of states and solutions."""
        return self.reference.coordinate_names

    @property
    def velocity_names(self) -> list[str]:
        """Names of the velocities of states and solutions."""
        return self.reference.velocity_names

    @property
    def parameters(self) -> dict[str, float]:
        """Present parameter values by name."""
        return self.reference.parameters

    @property
    def parameter_vector(self) -> np.ndarray:
        """Present parameter values in order."""
        return self.reference.parameter_vector

    @property
    def fingerprint(self) -> str:
        """Hash of the model's equations and the formulation."""
        return f"{self.reference.fingerprint} {self.formulation}"

    def set_parameters(self, **changes: Any) -> None:
        """Changes parameter values."""
        self.reference.set_parameters(**changes)

    def input_values(self, values: Mapping[str, float] | None = None) -> np.ndarray:
        """Inputs in order, with some replaced."""
        return self.reference.input_values(values)

    def copy(self, parameters: np.ndarray | None = None) -> FormulatedSystem:
        """The same formulation with parameters and workspaces of its own, for another thread or other values."""
        return formulate(self.reference.copy(parameters), self.formulation, **self._options)

    # -- cost -----------------------------------------------------------------------------------------------------

    def time_per_evaluation(self, state: Any = None) -> float:
        """Seconds for one evaluation of ẋ = f(t, x) in native code, the smallest of several rounds."""
        from ..solvers.ode.timing import seconds_per_call

        start = self._state(state)
        rhs, x = self.evaluation(start)
        return seconds_per_call(rhs, start.t, x)

    def _state(self, given: Any) -> State:
        if given is None:
            rng = np.random.default_rng(0)
            if not self.reference.equations_of_motion.rows:
                return State(self.reference, self.reference.configuration.random(rng), rng.normal(size=self.reference.nv), self._z(), 0.0)
            return self.reference.assemble({})
        return self.reference.state(given)

    def _z(self) -> np.ndarray:
        return self.reference.state().z


class Recursive(FormulatedSystem):
    """The recursive formulation itself (joint coordinates of the tree, loops as constraints), in the common protocol."""

    formulation = "recursive"

    @property
    def unknowns(self) -> list[str]:
        """Names of the coordinates."""
        return self.reference.coordinate_names

    @property
    def constraints(self) -> list[str]:
        """Names of the constraint equations."""
        return [r.name for r in self.reference.equations_of_motion.rows]

    @property
    def operations(self) -> Operations:
        """Operations of one evaluation."""
        name = "descriptor" if self.constraints else "state_derivative"
        return self.reference.function(name).signature.operations

    def dof(self, state: Any = None) -> int:
        """Degrees of freedom by the rank of the constraints."""
        return self.reference.nv - len(self.constraints) + len(redundant_rows(self.reference, self._state(state)))

    def redundant(self, state: Any = None) -> list[str]:
        """Names of redundant constraints, those that hold by themselves (and are no rows) included."""
        return redundant_names(self.reference, self._state(state))

    def _solved(self, state: Any, inputs: Mapping[str, float] | None = None) -> tuple[State, np.ndarray, np.ndarray]:
        s = self._state(state)
        a, lam = constrained_accelerations(self.reference, np.array([s.t]), s.x[None], self.reference.input_values(inputs)[None])
        return s, a[0], lam[0]

    def accelerations(self, state: Any, inputs: Mapping[str, float] | None = None) -> np.ndarray:
        """v̇ of the tree."""
        return self._solved(state, inputs)[1]

    def multipliers(self, state: Any, inputs: Mapping[str, float] | None = None) -> dict[str, float]:
        """Constraint multipliers by row."""
        return dict(zip(self.constraints, self._solved(state, inputs)[2].tolist(), strict=True))

    def reactions(self, state: Any, inputs: Mapping[str, float] | None = None) -> Wrenches:
        """Force and torque on the child of each joint and the second frame of each closure."""
        return reactions_at(self.reference, *self._solved(state, inputs), self.reference.input_values(inputs))

    def simulate(self, state: Any, t: float | Sequence[float], **options: Any) -> Solution:
        """Motion from a state."""
        return self.reference.simulate(state, t, **options)

    def drift(self, solution: Solution) -> tuple[float, float]:
        """Largest errors of the constraints along a solution."""
        s, c = self.reference, self.reference.configuration
        if not self.constraints:
            return 0.0, 0.0
        clock = solution.t[:, None]
        q, v = (np.column_stack([solution[n] for n in names]) for names in (c.position_names, c.velocity_names))
        h = s.function("constraints")(clock, q)[0] if s.equations_of_motion.holonomic else np.zeros((1, 0))
        f = s.function("constraint_velocities")
        extra = {"z": np.zeros(s.nz), "u": s.input_values()}
        w = f(clock, q, v, *(extra[n] for n in list(f.inputs)[3:]))[0]
        return float(np.abs(h).max(initial=0.0)), float(np.abs(w).max(initial=0.0))

    def evaluation(self, state: Any) -> tuple[NativeFunction, np.ndarray]:
        """The native right-hand side and a state for it."""
        s = self._state(state)
        return NativeSystem(self.reference, start=s).rhs, s.x


class DescriptorFormulation(FormulatedSystem):
    """A formulation given by its :class:`Descriptor`.

    ``reduction`` names the way to accelerations (see :data:`jourdain.solvers.constraints.reductions.REDUCTIONS`); other options go to the
    formulation.
    """

    def __init__(self, reference: System, formulation: str, make: Any, reduction: str = "kkt", **options: Any) -> None:
        from ..solvers.constraints.reductions import reduction as known

        super().__init__(reference)
        takes = list(signature(make).parameters)[1:]
        for name in set(options) - set(takes):
            raise InputError(f"formulation '{formulation}' has no option '{name}'; it takes {', '.join(['reduction', *takes])}")
        self.formulation, self.reduction = formulation, reduction
        self._reduce = known(reduction)
        self.descriptor: Descriptor = make(reference.model, **options)
        self._key = " ".join([self.descriptor.name, *(f"{k}={v}" for k, v in sorted(options.items()))])
        self.system = DescriptorSystem(reference, self.descriptor, self._key)
        self._last: tuple[State, State, np.ndarray, np.ndarray] | None = None
        #: parameters and inputs of the last answer
        self._last_given = np.zeros(0), np.zeros(0)

    @property
    def unknowns(self) -> list[str]:
        """Names of x."""
        return list(self.descriptor.labels)

    @property
    def constraints(self) -> list[str]:
        """Names of the constraint equations."""
        return [r.name for r in self.descriptor.constraints]

    @property
    def operations(self) -> Operations:
        """Operations of the non-zero terms of M, J, f and g."""
        return self.system.symbolic("sparse_terms").operations()

    def describe(self) -> str:
        """One line: coordinates, equations, density, operations."""
        n = len(self.unknowns)
        dense = (self.descriptor.mass_pattern.sum() + 2 * self.descriptor.jacobian_pattern.sum()) / max(1, (n + len(self.constraints)) ** 2)
        return f"{super().describe()}, {100 * dense:.0f} % of the augmented matrix filled, reduction '{self.reduction}'"

    def dof(self, state: Any = None) -> int:
        """Degrees of freedom by the rank of the constraints."""
        return len(self.unknowns) - len(self.system.kept_rows(self._own(self._state(state)))[0])

    def redundant(self, state: Any = None) -> list[str]:
        """Names of constraints that follow from the others at a state."""
        return [self.constraints[i] for i in self.system.kept_rows(self._own(self._state(state)))[1]]

    def _own(self, state: State) -> State:
        self.system.refresh()
        return self.system.state_of(state)

    def _solved(self, given: Any, inputs: Mapping[str, float] | None = None) -> tuple[State, State, np.ndarray, np.ndarray]:
        """The state in both languages, ẍ, and λ for all rows (of least norm where some are redundant)."""
        state, u = self._state(given), self.reference.input_values(inputs)
        p = self.reference.parameter_vector
        if self._last is not None and self._last[0] is state and self._last_given[0] is p and np.array_equal(self._last_given[1], u):
            return self._last
        own = self._own(state)
        M, J, f, g = self.system.terms(own, u)
        kept, redundant = independent_rows(J)
        a, lam = self._reduce(M, J[kept], f, g[kept])
        if redundant:
            lam = multipliers(M, J, f, a)
        self._last, self._last_given = (state, own, a, lam), (p, u)
        return self._last

    def accelerations(self, state: Any, inputs: Mapping[str, float] | None = None) -> np.ndarray:
        """v̇ of the reference tree."""
        state, own, a, _ = self._solved(state, inputs)
        *_, vd, wd = self.system.function("bodies")(np.array([own.t]), own.q, own.v, a)
        return tree_accelerations(self.reference, state, vd, wd)

    def multipliers(self, state: Any, inputs: Mapping[str, float] | None = None) -> dict[str, float]:
        """Constraint multipliers by row."""
        return dict(zip(self.constraints, self._solved(state, inputs)[3].tolist(), strict=True))

    def reactions(self, state: Any, inputs: Mapping[str, float] | None = None) -> Wrenches:
        """Force and torque on the child of each joint and the second frame of each closure.

        Coordinates in a plane know nothing of forces across it: there they follow from the accelerations.
        """
        state, own, a, lam = self._solved(state, inputs)
        u = self.reference.input_values(inputs)
        if self.descriptor.normal is not None:
            return reactions_of_accelerations(self.reference, state, u, self.accelerations(state, inputs))
        table = self.system.function("transmitted")(np.array([own.t]), own.q, own.v, a, lam)
        names = [*self.model.joints, *(c.name for c in self.descriptor.equations.closures)]
        return share_reactions(self.reference, state, u, dict(zip(names, table, strict=True)))

    def simulate(self, state: Any, t: float | Sequence[float], **options: Any) -> Solution:
        """Motion from a state of the reference system; see :func:`jourdain.systems.descriptor.runs.simulate_descriptor`."""
        from .descriptor.runs import simulate_descriptor

        start = self.reference.state(state)
        check_closed(self.reference, start)
        self.system.refresh()
        return simulate_descriptor(self.system, self.formulation, start, t, **options)

    def drift(self, solution: Solution) -> tuple[float, float]:
        """Largest position and velocity errors of the constraints along a solution of this formulation."""
        from .descriptor.runs import drift

        return drift(self.system, solution)

    def evaluation(self, state: Any) -> tuple[NativeFunction, np.ndarray]:
        """The native right-hand side and a state for it."""
        own = self._own(self._state(state))
        return NativeSystem(self.system, start=own).rhs, own.x  # type: ignore[arg-type]


__all__ = ["FORMULATIONS", "DescriptorFormulation", "FormulatedSystem", "Recursive", "formulate"]
