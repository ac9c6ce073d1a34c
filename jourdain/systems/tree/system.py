"""The compiled system: one object with the dynamics as functions and every analysis as a verb."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError
from ...formalisms.equations import Equations
from ...formalisms.functions.registry import choose_form, derive
from ...model.fingerprint import fingerprint
from ...model.model import Model
from ...model.values import number
from ...native.function import Function, cached_code
from ...symbolic.function import SymbolicFunction
from ...symbolic.graph import evaluate
from ..configuration import Configuration
from ..state import State
from ..verbs import LinearVerbs

if TYPE_CHECKING:
    from ...analysis.assemble import AssembledState
    from ...analysis.continuation import Branch
    from ...analysis.equilibrium import Equilibrium
    from ...analysis.inverse_dynamics import ActuatorForces, StaticForces
    from ...analysis.inverse_kinematics import Pose
    from ...analysis.kinematics import Motion
    from ...analysis.linearise import LinearSystem
    from ...analysis.mobility import Mobility
    from ...analysis.sweep import SweepResult
    from ...analysis.symbolic_linearise import SymbolicLinearSystem
    from ...results.solution import Solution
    from .closure import ClosureReport
    from .looped import LoopedTree


@contextmanager
def _no_collection() -> Iterator[None]:
    """Derivation makes many small objects that all stay: the cyclic collector would only walk over them."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


class System(LinearVerbs):
    """A model made executable.

    Functions are derived and compiled when first used.  Arrays: ``q`` positions (nq), ``v`` velocities (nv), ``a``
    accelerations; the state is x = (q, v, z) with the user's states z.

    >>> import jourdain as jd
    >>> m = jd.Model("pendulum")
    >>> bob = m.body("bob", mass=2.0, com=(0, 0, -0.5))
    >>> hinge = m.revolute("hinge", m.ground, bob, axis="y")
    >>> s = m.compile()
    >>> s.mass_matrix([0.3])
    array([[0.5]])
    """

    def __init__(self, model: Model, form: str = "auto") -> None:
        self.model = model
        with _no_collection():
            self.equations_of_motion = Equations(model)
            #: "straight" (line) or "looped" code for the dynamics of the tree.
            self.form = choose_form(self.equations_of_motion, form)
        tree = self.equations_of_motion.tree
        self.configuration = Configuration(tree.coordinates)
        self.nq, self.nv, self.nz = len(tree.q), tree.nv, len(model.states)
        self.nu = len(model.inputs)
        self._parameters = model.parameter_set.values()
        self._functions: dict[Any, Function] = {}
        #: Memory of ended runs, for the next ones.
        self._idle: dict[Any, Any] = {}
        self._symbolic: dict[Any, SymbolicFunction] = {}
        model._locked = True  # only now: a model that could not be compiled is mended and compiled again

    def copy(self, parameters: np.ndarray | None = None) -> System:
        """The same system with constants, workspaces and parameters of its own, for another thread or other values."""
        new = object.__new__(type(self))
        values = self._parameters if parameters is None else parameters
        if np.shape(values) != self._parameters.shape:
            raise InputError(f"'{self.model.name}': {np.size(values)} values are given for its {len(self._parameters)} parameters")
        new.__dict__.update(self.__dict__, _functions={}, _idle={}, _parameters=np.array(values, dtype=float))
        return new

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_idle": {}}  # it holds addresses, which mean nothing elsewhere

    # -- functions ------------------------------------------------------------------------------------------------

    def symbolic(self, name: str, **options: Any) -> SymbolicFunction:
        """The equations behind a function."""
        key = (name, *sorted(options.items()))
        if key not in self._symbolic:
            with _no_collection():
                self._symbolic[key] = derive(self.equations_of_motion, name, **options)
        return self._symbolic[key]

    def function(self, name: str, **options: Any) -> Function:
        """A compiled function by name: "inverse_dynamics", "mass_matrix", "frame" …"""
        key = (name, *sorted(options.items()))
        found = self._functions.get(key)
        if found is None:
            code = cached_code((self.fingerprint, *map(str, key)), lambda: self.symbolic(name, **options))
            used = self._parameters if code.signature.parameters else ()
            found = Function(code, used, lambda: self.symbolic(name, **options))
            self._functions[key] = found
        return found

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the model's equations: the name under which compiled code is kept and results are labelled."""
        return fingerprint(self.model)

    @cached_property
    def looped(self) -> LoopedTree:
        """The tree's dynamics as native loops over links (large trees)."""
        from .looped import LoopedTree

        return LoopedTree(self.model, self._parameters)

    def _timed(self, f: Function, arrays: tuple[Any, ...], t: float, out: Any) -> Any:
        """Adds the time (and zero user states and present inputs) where the function asks for them."""
        missing = list(f.signature.inputs)[len(arrays) :]
        extra = []
        for name, size in missing:
            if name == "t":
                extra.append(np.array([t]))
            elif name == "u":
                extra.append(self.input_values())
            else:
                extra.append(np.zeros(size))
        return f(*arrays, *extra, out=out)

    def inverse_dynamics(self, q: Any, v: Any, a: Any, t: float = 0.0, out: Any = None) -> np.ndarray:
        """φ = M a + c: generalised forces that give the accelerations (loads not included)."""
        if self.form == "looped":
            return self.looped.inverse_dynamics(q, v, a, t, out=out)  # type: ignore[no-any-return]
        return self._timed(self.function("inverse_dynamics"), (q, v, a), t, out)  # type: ignore[no-any-return]

    def mass_matrix(self, q: Any, t: float = 0.0, out: Any = None) -> np.ndarray:
        """M(q)."""
        if self.form == "looped":
            return self.looped.mass_matrix(q, t, out=out)  # type: ignore[no-any-return]
        return self._timed(self.function("mass_matrix"), (q,), t, out)  # type: ignore[no-any-return]

    def bias(self, q: Any, v: Any, t: float = 0.0, out: Any = None) -> np.ndarray:
        """c(q, v): Coriolis, centrifugal and gravity forces."""
        if self.form == "looped":
            return self.looped.bias(q, v, t, out=out)  # type: ignore[no-any-return]
        return self._timed(self.function("bias"), (q, v), t, out)  # type: ignore[no-any-return]

    def forward_dynamics(self, q: Any, v: Any, tau: Any, t: float = 0.0, out: Any = None) -> np.ndarray:
        """v̇ = M⁻¹(τ − c) of the tree (loads and loops not included)."""
        if self.form == "looped":
            return self.looped.accelerations(q, v, tau, t, out=out)  # type: ignore[no-any-return]
        return self._timed(self.function("forward_dynamics"), (q, v, tau), t, out)  # type: ignore[no-any-return]

    def energy(self, q: Any, v: Any, t: float = 0.0) -> np.ndarray:
        """Kinetic and potential energy (gravity and springs), J."""
        f = self.function("energy")
        q, v = np.asarray(q, dtype=float), np.asarray(v, dtype=float)
        return f(np.array([t]), q, v, *(np.zeros(n) for _, n in list(f.signature.inputs)[3:]))  # type: ignore[no-any-return]

    # -- states and analyses --------------------------------------------------------------------------------------

    def state(self, given: State | Mapping[str, Any] | None = None, velocities: Mapping[str, Any] | None = None, t: float = 0.0) -> State:
        """A state from named positions and velocities (the rest zero); loops are not closed (see :meth:`assemble`)."""
        if isinstance(given, State):
            return given
        if given is not None and not isinstance(given, Mapping):
            raise InputError(f"'{self.model.name}': {given!r} is no state; give values by the names of coordinates, or a State")
        values = dict(given or {})
        c = self.configuration
        rates = {n: values.pop(n) for n in list(values) if n in c.velocity_names} | dict(velocities or {})
        own = {n: values.pop(n) for n in list(values) if n in self.model.states}
        z = [number(own.get(n, item.initial), f"state '{n}'") for n, item in self.model.states.items()]
        return State(self, c.pack(values), c.pack_velocities(rates), np.array(z, dtype=float), t)

    def assemble(self, fixed: Mapping[str, Any] | State | None = None, **options: Any) -> AssembledState:
        """Closes the loops; see :func:`jourdain.analysis.assemble.assemble`."""
        from ...analysis.assemble import assemble

        return assemble(self, fixed, **options)

    def assembly_modes(self, fixed: Mapping[str, Any], **options: Any) -> dict[str, State]:
        """The different ways to close the loops with the same fixed coordinates, by name."""
        from ...analysis.assemble import assembly_modes

        return assembly_modes(self, fixed, **options)

    def mobility(self, state: State | None = None) -> Mobility:
        """Degrees of freedom, counted and by rank, redundant equations, singular positions; see :mod:`jourdain.analysis.mobility`."""
        from ...analysis.mobility import mobility

        return mobility(self, state)

    def redundant(self, state: Any = None) -> list[str]:
        """Names of constraints that follow from others around a closed state; see :mod:`jourdain.systems.tree.redundancy`."""
        from .redundancy import redundant_names

        return redundant_names(self, self.assemble({}) if state is None else self.state(state))

    def indeterminate(self, state: Any = None, inputs: Mapping[str, float] | None = None) -> list[str]:
        """Joints and closures whose reactions rigid bodies do not determine; see :func:`jourdain.analysis.reactions.indeterminate`."""
        from ...analysis.reactions import indeterminate

        return indeterminate(self, self.assemble({}) if state is None else self.state(state), self.input_values(inputs))

    def closure_report(self, independent: Sequence[str] | None = None, state: State | None = None) -> ClosureReport:
        """How the loops are closed, in closed form or by Newton, and why; see :func:`jourdain.systems.tree.closure.closure_report`."""
        from .closure import closure_report

        return closure_report(self, independent, state)

    def orientation_checks(self, q: np.ndarray, t: float = 0.0) -> dict[str, float]:
        """For closures that hold orientations: a number that is negative when the frames are turned by π."""
        eq = self.equations_of_motion
        checks = eq.orientation_checks
        if not checks:
            return {}
        values = dict(zip(eq.q, q, strict=True)) | dict(zip(eq.p, self._parameters, strict=True)) | {eq.t: t}
        return dict(zip(checks, (float(x) for x in evaluate(list(checks.values()), values)), strict=True))

    def simulate(
        self, x0: State | Solution | Mapping[str, Any] | None, t: float | Sequence[float], method: str = "dopri5", **options: Any
    ) -> Solution:
        """Motion from a state over ``t`` seconds; see :func:`jourdain.analysis.simulate.simulate`."""
        from ...analysis.simulate import simulate

        return simulate(self, x0, t, method, **options)

    def sweep(self, x0: Any, t: float | Sequence[float], **options: Any) -> SweepResult:
        """Many simulations with other parameters, states or inputs; see :func:`jourdain.analysis.sweep.sweep`."""
        from ...analysis.sweep import sweep

        return sweep(self, x0, t, **options)

    def equilibrium(self, x0: Any = None, **options: Any) -> Equilibrium:
        """Static or dynamic equilibrium near a state; see :func:`jourdain.analysis.equilibrium.equilibrium`."""
        from ...analysis.equilibrium import equilibrium

        return equilibrium(self, x0, **options)

    def equilibria(self, parameter: str, span: tuple[float, float], x0: Any = None, **options: Any) -> Branch:
        """All equilibria on a curve over a parameter; see :func:`jourdain.analysis.continuation.equilibria`."""
        from ...analysis.continuation import equilibria

        return equilibria(self, parameter, span, x0, **options)

    def linearise(self, state: Any = None, **options: Any) -> LinearSystem:
        """A, B, C, D about a state or an equilibrium; see :func:`jourdain.analysis.linearise.linearise`."""
        from ...analysis.linearise import linearise

        return linearise(self, state, **options)

    def symbolic_linearisation(self, at: Mapping[str, Any] | None = None, **options: Any) -> SymbolicLinearSystem:
        """M, G, K … as expressions; see :func:`jourdain.analysis.symbolic_linearise.symbolic_linearisation`."""
        from ...analysis.symbolic_linearise import symbolic_linearisation

        return symbolic_linearisation(self, at, **options)

    def inverse_dynamics_along(self, motion: Any, actuators: Sequence[str] | None = None, **options: Any) -> ActuatorForces:
        """Actuator forces for a motion; see :func:`jourdain.analysis.inverse_dynamics.inverse_dynamics_along`."""
        from ...analysis.inverse_dynamics import inverse_dynamics_along

        return inverse_dynamics_along(self, motion, actuators, **options)

    def static_forces(self, state: Any = None, actuators: Sequence[str] | None = None, **options: Any) -> StaticForces:
        """Forces that hold a state at rest; see :func:`jourdain.analysis.inverse_dynamics.static_forces`."""
        from ...analysis.inverse_dynamics import static_forces

        return static_forces(self, state, actuators, **options)

    def kinematics(self, times: Any, motion: Mapping[str, Any] | None = None, x0: Any = None, **options: Any) -> Motion:
        """Motion of a mechanism whose drivers are given; see :func:`jourdain.analysis.kinematics.kinematics`."""
        from ...analysis.kinematics import kinematics

        return kinematics(self, times, motion, x0, **options)

    def inverse_kinematics(self, targets: Mapping[str, Any], x0: Any = None, **options: Any) -> Pose:
        """Positions that bring frames to targets; see :func:`jourdain.analysis.inverse_kinematics.inverse_kinematics`."""
        from ...analysis.inverse_kinematics import inverse_kinematics

        return inverse_kinematics(self, targets, x0, **options)

    # -- parameters and inputs ------------------------------------------------------------------------------------

    @property
    def parameter_vector(self) -> np.ndarray:
        """Present parameter values in order."""
        return self._parameters

    @property
    def parameters(self) -> dict[str, float]:
        """Present parameter values by name."""
        return dict(zip(self.model.parameter_set.names, self._parameters.tolist(), strict=True))

    def set_parameters(self, **changes: Any) -> None:
        """Changes parameter values; nothing is compiled again."""
        names = self.model.parameter_set.names
        merged = dict(zip(names, self._parameters, strict=True)) | changes
        self._parameters = self.model.parameter_set.values(merged)
        for f in self._functions.values():
            if f.signature.parameters:
                f.set_parameters(self._parameters)
        if self.form == "looped":
            self.looped.set_parameters(self._parameters)

    def input_values(self, values: Mapping[str, float] | None = None) -> np.ndarray:
        """Inputs in order, with some replaced."""
        known = {n: i.value for n, i in self.model.inputs.items()}
        for name, value in (values or {}).items():
            if name not in known:
                raise InputError(f"there is no input '{name}'; the model has {', '.join(known) or 'none'}")
            known[name] = float(value)
        return np.array(list(known.values()), dtype=float)

    # -- information ----------------------------------------------------------------------------------------------

    @property
    def coordinate_names(self) -> list[str]:
        """Names of the positions q in order."""
        return self.configuration.position_names

    @property
    def velocity_names(self) -> list[str]:
        """Names of the velocities v in order."""
        return self.configuration.velocity_names

    def equations(self, form: str = "text") -> str:
        """The equations of motion in closed form, as "text" or "latex" (small systems)."""
        from ...formalisms.explicit import explicit_equations

        result = explicit_equations(self.model)
        return result.latex() if form == "latex" else result.text()

    def __repr__(self) -> str:
        loops = f", {len(self.equations_of_motion.rows)} constraints" if self.equations_of_motion.rows else ""
        return f"<System {self.model.name}: {self.nv} velocities{loops}, {len(self._parameters)} parameters>"
