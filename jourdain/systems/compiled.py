"""The compiled form of a model: names, parameters, inputs, states, functions, and the answers at one instant."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..errors import InputError, short
from ..model.contact.methods import refuse_contacts
from ..model.values import number
from ..shown import Formulas, Shown
from ..solvers import ALPHA_METHODS, AUTO, METHODS
from ..symbolic.graph import evaluate
from .found_inputs import find_inputs
from .start import check_belongs

if TYPE_CHECKING:
    from ..formalisms.equations import Equations
    from ..model.model import Model
    from ..native.function import Function
    from ..results.solution import Solution
    from ..solvers.native_function import NativeFunction
    from ..symbolic.function import SymbolicFunction
    from ..symbolic.graph import Operations
    from .configuration import Configuration
    from .inputs import Inputs
    from .run import Run, Settings
    from .state import State
    from .system import System
    from .tree.system import TreeSystem

#: Force and torque by joint.
Wrenches = dict[str, tuple[np.ndarray, np.ndarray]]


class Compiled(Shown, ABC):
    """What every compiled system has, whatever its formulation.

    Arrays: ``q`` positions (nq), ``v`` velocities (nv), ``a`` accelerations; the state is x = (q, v, z) with the user's states z.  They are
    those of the joint coordinates of the model's tree; ``reference`` is the recursive system that speaks them natively (a tree is its own).
    """

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            from ..results.elsewhere import meant
            from ..results.solution import Solution

            told = f"a compiled system has no '{name}'"
            if not name.startswith("_") and hasattr(Solution, meant(name)) and not hasattr(type(self), meant(name)):
                told += f": ask the solution of a run, sol = s.simulate(…), for sol.{meant(name)}"
            elif not name.startswith("_") and (model := vars(self).get("model")) is not None:
                if name in model.parameter_set:
                    told += f" of its own; the value is s.parameters['{name}'], and s.set_parameters({name}=…) changes it"
                elif hasattr(model, name):
                    told += f": ask its model for s.model.{name}"
            raise AttributeError(told, name=name, obj=self)

    #: The word by which it was compiled.
    formulation: str
    #: The method of ``simulate`` where none is named.
    method: ClassVar[str] = AUTO
    #: Whether one run goes through phases in which joints let go, instead of one run a phase.
    goes_through_phases: ClassVar[bool] = False
    model: Model
    #: Options with which it was compiled.
    options: dict[str, Any]

    @property
    def methods(self) -> tuple[str, ...]:
        """Names of methods that ``simulate`` takes."""
        return (*METHODS, *ALPHA_METHODS)

    # -- names, sizes, parameters, inputs -------------------------------------------------------------------------

    @property
    @abstractmethod
    def reference(self) -> TreeSystem:
        """The recursive system of the same model and parameters."""

    @property
    def equations_of_motion(self) -> Equations:
        """Symbols, tree and constraints of the model in joint coordinates."""
        return self.reference.equations_of_motion

    @property
    def configuration(self) -> Configuration:
        """Layout of positions and velocities."""
        return self.reference.configuration

    @property
    def nq(self) -> int:
        """Number of positions."""
        return self.configuration.nq

    @property
    def nv(self) -> int:
        """Number of velocities."""
        return self.configuration.nv

    @property
    def nz(self) -> int:
        """Number of the user's states."""
        return len(self.model.states)

    @property
    def nu(self) -> int:
        """Number of inputs."""
        return len(self.model.inputs)

    @property
    def coordinate_names(self) -> list[str]:
        """Names of the positions q in order."""
        return self.configuration.position_names

    @property
    def velocity_names(self) -> list[str]:
        """Names of the velocities v in order."""
        return self.configuration.velocity_names

    @property
    def parameter_vector(self) -> np.ndarray:
        """Present parameter values in order."""
        return self.reference.parameter_vector

    @property
    def parameters(self) -> dict[str, float]:
        """Present parameter values by name."""
        return {p.name: x for p, x in zip(self.model.parameter_set, self.parameter_vector.tolist(), strict=True) if not p.data}

    def set_parameters(self, *given: Any, **changes: Any) -> None:
        """Changes parameter values; nothing is compiled again."""
        self._by_name(given)
        self.reference.set_parameters(**changes)

    def _by_name(self, values: Sequence[Any]) -> None:
        if values:
            name = next(iter(self.model.parameter_set.names), "l")
            raise InputError(
                f"set_parameters '{self.model.name}': values are given by name, as {name}=…, or as **{{'{name}': …}}; got {values[0]!r}"
            )

    def input_values(self, values: Mapping[str, float] | None = None) -> np.ndarray:
        """Inputs in order, with some replaced; memories as they are at the start of a run."""
        known = {n: i.value for n, i in self.model.inputs.items()}
        if not (known or values):
            return np.empty(0)
        if self.model.memories:
            first: dict[str, Any] = {n: m.initial for n, m in self.model.memories.items()}
            open_ = [n for n, e in first.items() if not e.is_number]
            if open_:
                now = dict(zip(self.model.parameter_set.symbols, self.parameter_vector, strict=True))
                first |= dict(zip(open_, evaluate([first[n] for n in open_], now), strict=True))
            known |= {n: float(e) for n, e in first.items()}
        for name, value in (values or {}).items():
            if not isinstance(name, str) or name not in known:
                raise InputError(f"there is no input '{name}'; the model has {', '.join(known) or 'none'}")
            known[name] = number(value, f"input '{name}'", self.model.inputs[name].unit or None)
        return np.array(list(known.values()), dtype=float)

    def check_inputs(self, names: Iterable[str]) -> None:
        """Refuses names that are no inputs, and those of unknowns, callbacks and contacts, which nobody can choose."""
        names = list(names)
        if wrong := [name for name in names if not isinstance(name, str)]:
            raise InputError(f"{short(wrong[0])} is no name of an input; the model has {', '.join(self.model.inputs) or 'none'}")
        self.input_values(dict.fromkeys(names, 0.0))
        for name in names:
            if name in self.model.unknowns:
                raise InputError(f"'{self.model.name}': '{name}' is an unknown, which its equation determines; it is no input to choose")
            for c in self.model.callbacks.values():
                if name in c.inputs:
                    raise InputError(f"'{self.model.name}': '{name}' is set by the callback '{c.name}'; it is no input to choose")
            if self.model.contacts and name in self.model.found_inputs:
                raise InputError(
                    f"'{self.model.name}': '{name}' is the force of a contact, which follows from where bodies are; it is no input to choose"
                )

    def inputs_at(self, state: State, values: Mapping[str, float] | None = None) -> np.ndarray:
        """Inputs in order that act at a state: memories as it holds them, some replaced by values, those that follow from the state found."""
        if state.system is not self.reference:
            check_belongs(self.reference, getattr(state.system, "reference", state.system), "state")  # type: ignore[arg-type]
        self.check_inputs(values or ())
        u = self.input_values({**state.memory, **(values or {})})
        find_inputs(self.reference, np.array([state.t]), state.x[None], u[None])
        return u

    @property
    def fingerprint(self) -> str:
        """Hash of the model's equations and the formulation: the name under which results are kept."""
        return f"{self.reference.fingerprint} {self.formulation}"

    def phase(self, *released: str) -> System:
        """The system while joints and constraints of these names, and no others, have let go; every verb answers for it."""
        from .phases import phase

        return phase(self, released)  # type: ignore[arg-type]

    @abstractmethod
    def copy(self, parameters: np.ndarray | None = None) -> System:
        """The same system with constants, workspaces and parameters of its own, for another thread or other values."""

    # -- states ---------------------------------------------------------------------------------------------------

    def state(self, given: State | Mapping[str, Any] | None = None, velocities: Mapping[str, Any] | None = None, t: float = 0.0) -> State:
        """A state from named positions and velocities (the rest zero); loops are not closed (see ``assemble``)."""
        return self.reference.state(given, velocities, t)

    # -- functions of the tree ------------------------------------------------------------------------------------

    def symbolic(self, name: str, **options: Any) -> SymbolicFunction:
        """The equations behind a function of the joint coordinates."""
        return self.reference.symbolic(name, **options)

    def to_casadi(self, name: str = "state_derivative", **options: Any) -> Any:
        """A function of the joint coordinates as a ``casadi.Function``, parameters among its inputs: "state_derivative" is ẋ(t, x, u, p) of a tree, and of loops there are
        "mass_matrix", "applied_forces", "constraints", "descriptor" and all others of :meth:`symbolic`."""
        from ..symbolic.casadi_bridge import to_casadi

        refuse_contacts(self.model, "to_casadi", "take the model without them")
        return to_casadi(self.symbolic(name, **options))

    @property
    def packed(self) -> bool:
        """Whether there are so many constraints that their matrices are kept by their entries."""
        return self.reference.packed

    def function(self, name: str, **options: Any) -> Function:
        """A compiled function of the joint coordinates by name: "inverse_dynamics", "mass_matrix", "frame" …"""
        return self.reference.function(name, **options)

    def inverse_dynamics(self, q: Any, v: Any, a: Any, t: float = 0.0, out: Any = None) -> np.ndarray:
        """φ = M a + c: generalised forces that give the accelerations of the bare tree: loads, loops and contacts are those of ``inverse_dynamics_along``."""
        return self.reference.inverse_dynamics(q, v, a, t, out)

    def mass_matrix(self, q: Any, t: float = 0.0, out: Any = None) -> np.ndarray:
        """M(q) of the joint coordinates."""
        return self.reference.mass_matrix(q, t, out)

    def bias(self, q: Any, v: Any, t: float = 0.0, out: Any = None) -> np.ndarray:
        """c(q, v): Coriolis, centrifugal and gravity forces."""
        return self.reference.bias(q, v, t, out)

    def forward_dynamics(
        self, q: Any, v: Any, tau: Any, t: float = 0.0, out: Any = None, *, z: Any = None, inputs: Mapping[str, float] | None = None
    ) -> np.ndarray:
        """v̇ under generalised forces τ besides all loads, with all loops: M v̇ = τ + loads − c + Jᵀλ, J v̇ = g."""
        return self.reference.forward_dynamics(q, v, tau, t, out, z=z, inputs=inputs)

    def tree_accelerations(self, q: Any, v: Any, tau: Any, t: float = 0.0, out: Any = None) -> np.ndarray:
        """v̇ = M⁻¹(τ − c) of the bare tree: the model's loads and loops not included."""
        return self.reference.tree_accelerations(q, v, tau, t, out)

    def energy(self, q: Any, v: Any, t: float = 0.0) -> np.ndarray:
        """Kinetic and potential energy (gravity and springs), J."""
        return self.reference.energy(q, v, t)

    def equations(self, form: str = "text") -> str:
        """The equations of motion in closed form, as "text" or "latex" (small systems); notebooks typeset either."""
        from ..formalisms.explicit import explicit_equations

        if form not in ("text", "latex"):
            raise InputError(f"equations of '{self.model.name}': form '{form}' is unknown; use 'text' or 'latex'")
        result = explicit_equations(self.model)
        latex = result.latex()
        return Formulas(latex if form == "latex" else result.text(), latex)

    # -- what it is -----------------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def unknowns(self) -> list[str]:
        """Names of the coordinates in which the formulation computes."""

    @property
    @abstractmethod
    def constraints(self) -> list[str]:
        """Names of its constraint equations."""

    @property
    @abstractmethod
    def operations(self) -> Operations:
        """Operations of one evaluation of the equations' terms (linear algebra apart)."""

    @abstractmethod
    def dof(self, state: Any = None) -> int:
        """Degrees of freedom by the rank of the constraints at a state (a closed one by default)."""

    def redundant(self, state: Any = None) -> list[str]:
        """Names of the model's constraints that follow from the others around a state, those that hold by themselves (and are no rows)
        included: the same in every formulation."""
        from .tree.redundancy import redundant_names

        return redundant_names(self.reference, self._state(state))

    def dependent(self, state: Any = None) -> list[str]:
        """Those of its own ``constraints`` that follow from the others at a state."""
        return [name for name in self.redundant(state) if name in self.constraints]

    def indeterminate(self, state: Any = None, inputs: Mapping[str, float] | None = None) -> list[str]:
        """Joints and closures whose reactions rigid bodies do not determine; see :func:`jourdain.systems.outputs.reactions.indeterminate`."""
        from .outputs.reactions import indeterminate

        s = self._state(state)
        return indeterminate(self.reference, s, self.inputs_at(s, inputs))

    def describe(self) -> str:
        """One line: coordinates, equations, operations."""
        return f"{self.formulation}: {len(self.unknowns)} coordinates, {len(self.constraints)} constraints, {self.operations.flops} + and ×"

    # -- what it computes at an instant ---------------------------------------------------------------------------

    @abstractmethod
    def accelerations(self, state: Any = None, inputs: Mapping[str, float] | None = None) -> np.ndarray:
        """v̇ at a (closed) state, with all loads and loops."""

    @abstractmethod
    def multipliers(self, state: Any = None, inputs: Mapping[str, float] | None = None) -> dict[str, float]:
        """Constraint multipliers by row, with the sign of M ẍ = Q + Jᵀλ."""

    @abstractmethod
    def reactions(self, state: Any = None, inputs: Mapping[str, float] | None = None) -> Wrenches:
        """Force and torque (world axes) on the child of each joint at its frame, and on the second frame of each closure.

        Where constraints are redundant the share of least norm (:mod:`jourdain.systems.tree.self_stress`); :meth:`indeterminate` names the joints.
        """

    # -- how it runs ----------------------------------------------------------------------------------------------

    @abstractmethod
    def run(self, start: State, span: tuple[float, float], inputs: Inputs, settings: Settings, options: Mapping[str, Any]) -> Run:
        """One run: the kind that the method and the options ask for; see :mod:`jourdain.systems.run`."""

    @abstractmethod
    def drift(self, solution: Solution) -> tuple[float, float]:
        """Largest position and velocity errors of the constraints along a solution of this formulation."""

    @abstractmethod
    def evaluation(self, state: Any = None) -> tuple[NativeFunction, np.ndarray]:
        """The native right-hand side ẋ = f(t, x) with a state to call it at."""

    def time_per_evaluation(self, state: Any = None) -> float:
        """Seconds for one evaluation of ẋ = f(t, x) in native code, the smallest of several rounds."""
        from ..solvers.ode.timing import seconds_per_call

        start = self._state(state)
        rhs, x = self.evaluation(start)
        return seconds_per_call(rhs, start.t, x)

    def _state(self, given: Any) -> State:
        """A state, or without one a closed state (of an open tree: a random one)."""
        if given is not None:
            return self.state(given)
        from .state import State

        if self.equations_of_motion.rows:
            from ..analysis.assemble import assemble

            return assemble(self.reference, {})
        rng = np.random.default_rng(0)
        return State(self.reference, self.configuration.random(rng), rng.normal(size=self.nv), self.state().z, 0.0)

    def __repr__(self) -> str:
        loops = f", {len(self.constraints)} constraints" if self.constraints else ""
        way = "" if self.formulation == "recursive" else f" ({self.formulation})"
        return f"<System {self.model.name}{way}: {self.nv} velocities{loops}, {len(self.parameters)} parameters>"


__all__ = ["Compiled", "Wrenches"]
