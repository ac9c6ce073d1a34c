"""The recursive system: joint coordinates of the model's tree, loops as constraints."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ...collector import no_collection
from ...errors import InputError
from ...formalisms.equations import Equations
from ...formalisms.functions.registry import choose_form, derive
from ...formalisms.tree.tree import Tree
from ...model.fingerprint import fingerprint
from ...model.model import Model
from ...native.code import cached_array, cached_code
from ...native.function import Function
from ...reals import reals
from ...solvers import AUTO
from ...solvers.constraints.plan import fronts_of, rows_of
from ...solvers.linear.sparse_rows import LARGE
from ...solvers.native_function import NativeFunction
from ...symbolic.expr import ZERO
from ...symbolic.function import SymbolicFunction
from ...symbolic.graph import Operations, evaluate
from ..compiled import Wrenches
from ..configuration import Configuration
from ..constraints import by_entries
from ..found_inputs import find_inputs
from ..pushed import pushed_inputs, pushed_system, touches_rigidly
from ..run import make_run
from ..start import check_belongs, named_state, own_state
from ..state import State
from ..system import System
from .projected import NativeSystem
from .redundancy import redundant_rows

if TYPE_CHECKING:
    from ...results.solution import Solution
    from ..inputs import Inputs
    from ..run import Run, Settings
    from .looped import LoopedTree


class TreeSystem(System):
    """A model made executable in the joint coordinates of its tree; functions are derived and compiled when first used.

    ``reduction`` says what becomes of loops in ``simulate``: "projected" (default), "reduced" or "closed".

    >>> import jourdain as jd
    >>> m = jd.Model("pendulum")
    >>> bob = m.body("bob", mass=2.0, com=(0, 0, -0.5))
    >>> hinge = m.revolute("hinge", m.ground, bob, axis="y")
    >>> s = m.compile()
    >>> s.mass_matrix([0.3])
    array([[0.5]])
    """

    formulation = "recursive"

    def __init__(self, model: Model, form: str = "auto", reduction: str = "projected") -> None:
        self.model, self.reduction = model, _known_reduction(reduction)
        self.options = {"form": form, "reduction": reduction}
        with no_collection():
            self._equations = Equations(model)
            #: "straight" (line) or "looped" code for the dynamics of the tree.
            self.form = choose_form(self._equations, form)
        self._configuration = Configuration(self._equations.tree.coordinates, [*self.model.joints.values()])
        self._parameters = model.parameter_set.values()
        self._functions: dict[Any, Function] = {}
        #: Memory of ended runs, for the next ones.
        self._idle: dict[Any, Any] = {}
        self._symbolic: dict[Any, SymbolicFunction] = {}
        for one in (model, model.whole or model):
            one._locked = True  # only now: a model that could not be compiled is mended and compiled again

    @property
    def reference(self) -> TreeSystem:
        """Itself."""
        return self

    @cached_property
    def packed(self) -> bool:
        """Whether there are so many constraints, each with few velocities, that their matrices are kept by their entries: what is eliminated
        as a whole is read from whole matrices."""
        if len(self._equations.rows) < LARGE or self.formulation != "recursive":
            return False
        return bool(fronts_of(rows_of(self.places("constraint_velocities", "J", packed=True), len(self._equations.rows), self.nv)))

    @property
    def equations_of_motion(self) -> Equations:
        """Symbols, tree and constraints."""
        return self._equations

    @property
    def configuration(self) -> Configuration:
        """Layout of positions and velocities."""
        return self._configuration

    @property
    def parameter_vector(self) -> np.ndarray:
        """Present parameter values in order."""
        return self._parameters

    def set_parameters(self, *given: Any, **changes: Any) -> None:
        """Changes parameter values; nothing is compiled again."""
        self._by_name(given)
        values = self.model.parameter_set.values(changes, self._parameters)
        self.equations_of_motion.check_parameters(values)
        for told in self.model.parameter_set.outside(changes, values):
            warnings.warn(f"set_parameters '{self.model.name}': {told}", RuntimeWarning, stacklevel=3)
        self._take(values)

    def _take(self, values: np.ndarray) -> None:
        """Gives parameter values to everything compiled; where none changes, what ended runs have left serves the next ones."""
        if np.array_equal(values, self._parameters):
            return
        self._parameters = values
        for f in self._functions.values():
            if f.signature.parameters:
                f.set_parameters(values)
        self.__dict__.pop("looped", None)  # runs with the old values may still read its numbers

    def copy(self, parameters: np.ndarray | None = None) -> TreeSystem:
        """The same system with constants, workspaces and parameters of its own, for another thread or other values."""
        new = object.__new__(type(self))
        values = self._parameters if parameters is None else reals(parameters, f"'{self.model.name}': parameters")
        if np.shape(values) != self._parameters.shape:
            raise InputError(f"'{self.model.name}': {np.size(values)} values are given for its {len(self._parameters)} parameters")
        if parameters is not None:
            self.equations_of_motion.check_parameters(values)
        new.__dict__.update(self.__dict__, _functions={}, _idle={}, _parameters=np.array(values, dtype=float))
        new.__dict__.pop("looped", None)
        return new

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_idle": {}}  # it holds addresses, which mean nothing elsewhere

    # -- functions ------------------------------------------------------------------------------------------------

    def symbolic(self, name: str, **options: Any) -> SymbolicFunction:
        """The equations behind a function."""
        key = (name, *sorted(options.items()))
        if key not in self._symbolic:
            with no_collection():
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

    def places(self, name: str, result: str, **options: Any) -> np.ndarray:
        """Where a result of a function may be other than zero, counted row by row."""

        def derived() -> np.ndarray:
            (found,) = (r for r in self.symbolic(name, **options).outputs if r.name == result)
            if found.places is not None:
                return np.array(found.places, dtype=np.int64)
            return np.array([k for k, e in enumerate(found.expressions) if e is not ZERO], dtype=np.int64)

        return cached_array((self.fingerprint, "places", name, result, *map(str, sorted(options.items()))), derived)

    @cached_property
    def fingerprint(self) -> str:
        """Hash of the model's equations: the name under which compiled code is kept and results are labelled."""
        return fingerprint(self.model)

    @cached_property
    def looped(self) -> LoopedTree:
        """The tree's dynamics as native loops over links (large trees)."""
        from .looped import LoopedTree

        with no_collection():
            return LoopedTree(self.bare_tree, self._parameters)

    @cached_property
    def bare_tree(self) -> Tree:
        """The tree with every link in its own axes and inertias where they are."""
        with no_collection():
            return Tree(self.model, regroup=False, share=False)

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
        """φ = M a + c: generalised forces that give the accelerations of the bare tree: loads and contacts are those of ``inverse_dynamics_along``."""
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

    def tree_accelerations(self, q: Any, v: Any, tau: Any, t: float = 0.0, out: Any = None) -> np.ndarray:
        """v̇ = M⁻¹(τ − c) of the bare tree: the model's loads and loops not included."""
        if self.form == "looped":
            return self.looped.accelerations(q, v, tau, t, out=out)  # type: ignore[no-any-return]
        return self._timed(self.function("forward_dynamics"), (q, v, tau), t, out)  # type: ignore[no-any-return]

    def forward_dynamics(
        self, q: Any, v: Any, tau: Any, t: float = 0.0, out: Any = None, *, z: Any = None, inputs: Mapping[str, float] | None = None
    ) -> np.ndarray:
        """v̇ under generalised forces τ besides all loads, with all loops: M v̇ = τ + loads − c + Jᵀλ, J v̇ = g."""
        tau = np.full(self.nv, tau) if isinstance(tau, int | float) else tau
        if not self.constraints and not self._loaded:
            return self.tree_accelerations(q, v, tau, t, out)
        z = self.state().z if z is None else z
        given = (("q", q, self.nq), ("v", v, self.nv), ("tau", tau, self.nv), ("z", z, self.nz))
        q, v, tau, z = (self.configuration.array(x, size, f"forward_dynamics '{self.model.name}': {n}") for n, x, size in given)
        shape = np.broadcast_shapes(q.shape[:-1], v.shape[:-1], tau.shape[:-1])
        parts = (q, v, z)
        x = np.concatenate([np.broadcast_to(a, (*shape, a.shape[-1])) for a in parts], axis=-1).reshape(-1, self.nq + self.nv + self.nz)
        clock, u = np.full(len(x), float(t)), np.tile(self.input_values(inputs), (len(x), 1))
        find_inputs(self.reference, clock, x, u)
        from ..outputs.reactions import constrained_accelerations

        a, _ = constrained_accelerations(self, clock, x, u, np.broadcast_to(tau, (*shape, self.nv)).reshape(-1, self.nv))
        found = a.reshape(*shape, self.nv)
        if out is None:
            return found
        if not isinstance(out, np.ndarray) or out.shape != found.shape:
            raise InputError(f"forward_dynamics '{self.model.name}': out must be an array of the shape {found.shape}")
        out[...] = found
        return np.asarray(out)

    @cached_property
    def _loaded(self) -> bool:
        """Whether any load acts on the tree."""
        return any(e is not ZERO for e in self.equations_of_motion.generalised_forces)

    def energy(self, q: Any, v: Any, t: float = 0.0) -> np.ndarray:
        """Kinetic and potential energy (gravity and springs), J, with user states and inputs as the model has them."""
        f = self.function("energy")
        present = {"z": lambda: self.state().z, "u": self.input_values}
        return f(np.array([t]), q, v, *(present[n]() for n in list(f.inputs)[3:]))  # type: ignore[no-any-return]

    # -- states ---------------------------------------------------------------------------------------------------

    def state(self, given: State | Mapping[str, Any] | None = None, velocities: Mapping[str, Any] | None = None, t: float = 0.0) -> State:
        """A state from named positions and velocities, the rest as in ``model.initial`` or zero; loops are not closed (see :meth:`assemble`)."""
        found = own_state(self, given) if isinstance(given, State) else named_state(self, given, velocities, t)
        if self.model.switches:
            from ..phases import check_phase

            check_phase(self, found.memory)
        return found

    def orientation_checks(self, q: np.ndarray, t: float = 0.0) -> dict[str, float]:
        """For closures that hold orientations: a number that is negative when the frames are turned by π."""
        eq = self.equations_of_motion
        checks = eq.orientation_checks
        if not checks:
            return {}
        values = dict(zip(eq.q, q, strict=True)) | dict(zip(eq.p, self._parameters, strict=True)) | {eq.t: t}
        return dict(zip(checks, (float(x) for x in evaluate(list(checks.values()), values)), strict=True))

    # -- what it is -----------------------------------------------------------------------------------------------

    @property
    def unknowns(self) -> list[str]:
        """Names of the coordinates."""
        return self.coordinate_names

    @property
    def constraints(self) -> list[str]:
        """Names of the constraint equations."""
        return [r.name for r in self.equations_of_motion.rows]

    @property
    def operations(self) -> Operations:
        """Operations of one evaluation."""
        return self.function("descriptor" if self.constraints else "state_derivative").signature.operations

    def dof(self, state: Any = None) -> int:
        """Degrees of freedom by the rank of the constraints."""
        if state is not None and not self.constraints:
            self._state(state)  # refused where it is none of this system
        return self.nv - len(self.constraints) + (len(redundant_rows(self.reference, self._state(state))) if self.constraints else 0)

    # -- what it computes at an instant ---------------------------------------------------------------------------

    def _solved(self, given: Any, inputs: Mapping[str, float] | None) -> tuple[State, np.ndarray, np.ndarray]:
        """The state, v̇ and λ."""
        from ..outputs.reactions import constrained_accelerations

        s = self._state(given)
        own, u = self._acting(s, inputs)
        a, lam = constrained_accelerations(own, np.array([s.t]), s.x[None], u[None])
        return s, a[0], lam[0]

    def _acting(self, state: State, inputs: Mapping[str, float] | None) -> tuple[TreeSystem, np.ndarray]:
        """Equations with all that acts at a state as inputs, and these: forces of rigid contacts are found by their laws."""
        u = self.inputs_at(state, inputs)
        if not touches_rigidly(self.model):
            return self, u
        from .contact.events import forces_at

        return pushed_system(self), pushed_inputs(self, u[None], forces_at(self, state, inputs))[0]

    def accelerations(self, state: Any = None, inputs: Mapping[str, float] | None = None) -> np.ndarray:
        """v̇ at a (closed) state, with all loads and loops."""
        if self.constraints or touches_rigidly(self.model):
            return self._solved(state, inputs)[1]
        s = self._state(state)
        rates = np.zeros(self.nq + self.nv + self.nz)
        NativeSystem(self, self.inputs_at(s, inputs)).rhs(s.t, s.x, rates)
        return rates[self.nq : self.nq + self.nv]

    def multipliers(self, state: Any = None, inputs: Mapping[str, float] | None = None) -> dict[str, float]:
        """Constraint multipliers by row, with the sign of M v̇ = f + Jᵀλ."""
        return dict(zip(self.constraints, self._solved(state, inputs)[2].tolist(), strict=True))

    def reactions(self, state: Any = None, inputs: Mapping[str, float] | None = None) -> Wrenches:
        """Force and torque (world axes) on the child of each joint and the second frame of each closure."""
        from ..outputs.reactions import constrained_accelerations, reactions_at

        s = self._state(state)
        own, u = self._acting(s, inputs)
        a, lam = constrained_accelerations(own, np.array([s.t]), s.x[None], u[None])
        return reactions_at(own, s, a[0], lam[0], u)

    # -- how it runs ----------------------------------------------------------------------------------------------

    def run(self, start: State, span: tuple[float, float], inputs: Inputs, settings: Settings, options: Mapping[str, Any]) -> Run:
        """A run of the kind that the method and ``reduction`` ask for."""
        reduction, rest = self.reduction, options
        if "reduction" in options:
            reduction, rest = _known_reduction(options["reduction"]), {n: x for n, x in options.items() if n != "reduction"}
        if self.model.whole is not None and not self.constraints:  # loops that have let go
            reduction = "projected"
        kind = _kind_of_run(reduction, str(settings.method))
        if kind.kind not in SET_VALUED and touches_rigidly(self.model):
            from .contact.events import ContactEventRun, set_valued

            if kind.kind != "projected":
                why = f"reduction '{reduction}'" if reduction != "projected" else f"method '{settings.method}'"
                raise InputError(
                    f"simulate '{self.model.name}': {set_valued(self.model)} has a set-valued law, which {why} does not know; use reduction='projected' with "
                    "method='moreau' and step=, or with an adaptive method that is not for stiff systems"
                )
            kind = ContactEventRun
        if not start.x.size and settings.method in (AUTO, *self.methods):
            from .runs import PrescribedRun

            kind = PrescribedRun
        return make_run(kind, self, start, span, inputs, settings, rest)

    def drift(self, solution: Solution) -> tuple[float, float]:
        """Largest errors of the constraints along a solution."""
        if solution.system is not None:
            check_belongs(self.reference, solution.system, "solution")
        if not self.constraints:
            return 0.0, 0.0
        clock = solution.t[:, None]
        q, v = (np.column_stack([solution[n] for n in names]) for names in (self.coordinate_names, self.velocity_names))
        options = by_entries(self)
        h = self.function("constraints", **options)(clock, q)[0] if self.equations_of_motion.holonomic else np.zeros((1, 0))
        f = self.function("constraint_velocities", **options)
        extra = {"z": np.zeros(self.nz), "u": self.input_values()}
        w = f(clock, q, v, *(extra[n] for n in list(f.inputs)[3:]))[0]
        return float(np.abs(h).max(initial=0.0)), float(np.abs(w).max(initial=0.0))

    def evaluation(self, state: Any = None) -> tuple[NativeFunction, np.ndarray]:
        """The native right-hand side and a state for it."""
        s = self._state(state)
        return NativeSystem(self, start=s).rhs, s.x


#: Kinds of runs that solve for contacts in each step.
SET_VALUED = ("moreau", "nonsmooth generalised-α")


@cache
def _kind_of_run(reduction: str, method: str) -> type[Run]:
    """The kind of run that a method and what becomes of the loops ask for."""
    from ...solvers import ALPHA_METHODS
    from .runs import REDUCTIONS

    if method == "moreau" and reduction == "projected":
        from .contact.moreau import MoreauRun

        return MoreauRun
    if method == "nonsmooth-generalized-alpha" and reduction == "projected":
        from .contact.alpha import NonsmoothAlphaRun

        return NonsmoothAlphaRun
    if method in ALPHA_METHODS and reduction == "projected":
        from .alpha import AlphaRun

        return AlphaRun
    return REDUCTIONS[reduction]


def _known_reduction(word: str) -> str:
    """A word for what becomes of loops, or an error with all of them."""
    words = ("projected", "reduced", "closed")
    if word not in words:
        raise InputError(f"reduction '{word}' is unknown to trees; use one of {', '.join(map(repr, words))}")
    return word


__all__ = ["TreeSystem"]
