"""The semi-recursive formulation as a compiled system: ``model.compile(formulation="semi-recursive")``.

``loops`` chooses what becomes of closed loops, ``reference`` the point that velocities refer to (see
:mod:`jourdain.formalisms.coordinates.semi_recursive`):

* "partition": independent coordinates by full pivoting, second velocity transformation; loops closed by Newton at every evaluation;
* "range-space", "null-space": multipliers by (Φ M⁻¹ Φᵀ) λ = …, or by an orthonormal null space of Φ_z; positions and velocities are put
  back onto the constraints after each step;
* "augmented-lagrangian": index 3, trapezoidal rule in fixed steps, projections of velocities and accelerations.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...errors import InputError
from ...formalisms.coordinates.semi_recursive import REFERENCES
from ...native.function import Function
from ...results.solution import Solution
from ...solvers.constraints.reductions import REDUCTIONS, multipliers
from ...solvers.native_function import NativeFunction, address
from ...symbolic.function import SymbolicFunction
from ...symbolic.graph import Operations
from ..formulations import Recursive, Wrenches
from ..state import State
from .closure import order_of_elimination
from .projected import NativeSystem
from .redundancy import redundant_rows
from .system import System

#: Ways to treat loops, with the numerical reduction of each.
LOOPS = {"partition": "partition", "range-space": "range-space", "null-space": "qr", "augmented-lagrangian": "augmented-lagrangian"}
#: Functions of a system that have a semi-recursive counterpart of the same form.
TERMS = ("mass_matrix", "descriptor", "reduced_terms", "constraint_drift", "constraints", "state_derivative")


class SemiRecursiveSystem(System):
    """A compiled system whose terms come from the semi-recursive formulation; all analyses work on it."""

    point: str

    @staticmethod
    def of(system: System, point: str) -> SemiRecursiveSystem:
        """The same system with the other terms."""
        new = object.__new__(SemiRecursiveSystem)
        new.__dict__.update(system.copy().__dict__, point=point, form="straight")
        return new

    def _named(self, name: str, options: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        own = f"semi_recursive_{name}" if name in TERMS and not options else name
        return own, {**options, "reference": self.point} if own.startswith("semi_recursive_") else options

    def symbolic(self, name: str, **options: Any) -> SymbolicFunction:
        """The equations behind a function."""
        name, options = self._named(name, options)
        return super().symbolic(name, **options)

    def function(self, name: str, **options: Any) -> Function:
        """A compiled function by name."""
        name, options = self._named(name, options)
        return super().function(name, **options)


class _Multipliers(NativeSystem):
    """Right-hand side with multipliers by range space or null space."""

    def __init__(self, system: SemiRecursiveSystem, loops: str, start: State) -> None:
        self.loops = loops
        super().__init__(system, start=start)

    def _constrained(self) -> NativeFunction:
        if self.loops == "range-space":
            return self.wrap(self._function("semi_recursive_range_space", redundant=tuple(self._redundant)))  # type: ignore[arg-type]
        from ...solvers.constraints.null_space import null_space_state_derivative

        s, f = self.system, self._function("descriptor")
        keep: list[object] = [f, self.u]
        pointers = self._pointers(f, 2, keep)
        pointers[2] = address(self.u)
        rows = len(s.equations_of_motion.rows)
        kept = np.array([i for i in range(rows) if i not in self._redundant], dtype=np.int64)
        m = len(kept)
        scratch = np.zeros(m * s.nv + (s.nv - m) ** 2 + 1)
        words = [0, 0, 0, s.nq, s.nv, s.nz, address(kept), m, rows, f.address, address(pointers), address(scratch)]
        return NativeFunction(null_space_state_derivative.address, np.array(words, dtype=np.uintp), (keep, pointers, kept, scratch))


class SemiRecursive(Recursive):
    """The semi-recursive formulation in the common protocol.

    >>> from jourdain.library.suspensions import five_link_suspension
    >>> f = five_link_suspension().compile(formulation="semi-recursive")
    >>> len(f.unknowns), len(f.constraints), f.dof()
    (8, 5, 3)
    """

    formulation = "semi-recursive"

    def __init__(self, system: System, loops: str = "partition", reference: str = "origin") -> None:
        super().__init__(system)
        if loops not in LOOPS:
            raise InputError(f"semi-recursive: loops='{loops}' is unknown; use one of {', '.join(LOOPS)}")
        if reference not in REFERENCES:
            raise InputError(f"semi-recursive: reference '{reference}' is unknown; use one of {', '.join(REFERENCES)}")
        self.loops, self.point = loops, reference
        self._system = SemiRecursiveSystem.of(system, reference)

    @property
    def system(self) -> SemiRecursiveSystem:
        """The compiled system, with the reference's parameters."""
        if not np.array_equal(self._system.parameter_vector, self.reference.parameter_vector):
            self._system.set_parameters(**self.reference.parameters)
        return self._system

    @property
    def operations(self) -> Operations:
        """Operations of one evaluation of the terms (of ẋ for an open chain)."""
        return self.system.function("descriptor" if self.constraints else "state_derivative").signature.operations

    def describe(self) -> str:
        """One line: coordinates, equations, operations, loops, reference point."""
        loops = f", loops by '{self.loops}'" if self.constraints else ""
        return f"{super().describe()}{loops}, velocities at '{self.point}'"

    def _solved(self, state: Any) -> tuple[State, np.ndarray, np.ndarray]:
        s = self._state(state)
        M, f, J, g, _ = self.system.function("descriptor")(np.array([s.t]), s.x, self.reference.input_values())
        redundant = redundant_rows(self.reference, s)
        kept = [i for i in range(len(J)) if i not in redundant]
        a, lam = REDUCTIONS[LOOPS[self.loops]](M, J[kept], f, g[kept]) if len(J) else (np.linalg.solve(M, f), np.zeros(0))
        return s, a, multipliers(M, J, f, a) if redundant else lam

    def reactions(self, state: Any) -> Wrenches:
        """Force and torque on the child of each joint and the second frame of each closure."""
        from ...formalisms.functions.tree import reaction_names

        s, a, lam = self._solved(state)
        f = self.reference.function("reactions", axes="world")
        table = f(np.array([s.t]), s.q, s.v, a, s.z, self.reference.input_values(), lam)
        return {name: (row[:3], row[3:]) for name, row in zip(reaction_names(self.reference.equations_of_motion), table, strict=True)}

    # -- time -----------------------------------------------------------------------------------------------------

    def evaluation(self, state: Any) -> tuple[NativeFunction, np.ndarray]:
        """The native right-hand side and a state for it: with the partition from the independent coordinates, loops closed by Newton."""
        s = self._state(state)
        if not self.constraints:
            return NativeSystem(self.system, start=s).rhs, s.x
        if self.loops == "partition":
            from .reduced import ReducedSystem

            native = ReducedSystem(self.system, State(self.system, s.q, s.v, s.z, s.t))
            return native.rhs, native.x0
        if self.loops == "augmented-lagrangian":
            return NativeSystem(self.system, start=s).rhs, s.x
        return _Multipliers(self.system, self.loops, s).rhs, s.x

    def straight_line(self, state: Any) -> Function:
        """z̈(t, x, u) of a closed state in one straight line, dependent coordinates by full pivoting at this state (42)–(50)."""
        s = self._state(state)
        order = order_of_elimination(self.reference, s, None) if self.constraints else ()
        return self.system.function("semi_recursive_accelerations", order=order)

    def simulate(self, state: Any, t: float | Sequence[float], **options: Any) -> Solution:
        """Motion from a closed state.

        Options are those of :meth:`System.simulate`; for the range and null space ``method``, ``rtol``, ``atol``, ``step``, ``times``,
        ``outputs`` and ``projection`` (True: back onto the constraints after each step); for the augmented Lagrangian ``step`` (s),
        ``penalty`` (how many times stiffer than inertia over a step) and ``times`` on the grid of steps.
        """
        from ...analysis.simulate import span_of

        start = self.reference.state(state)
        own = State(self.system, start.q, start.v, start.z, start.t)
        if self.constraints and self.loops != "partition":
            run = self._penalised if self.loops == "augmented-lagrangian" else self._with_multipliers
            return run(own, span_of(self.model.name, start.t, t), **options)
        if self.constraints:
            options.setdefault("formulation", "reduced")
        return self.system.simulate(own, t, **options)

    def _with_multipliers(
        self, start: State, span: tuple[float, float], method: str = "dopri5", rtol: float = 1e-8, atol: float = 1e-10,
        step: float | None = None, times: Any = None, outputs: int | None = None, projection: bool = True,
    ) -> Solution:  # fmt: skip
        from ...analysis.simulate import SimulationError, instants_of, solution_of
        from .crossing import integrate_with_passages

        native = _Multipliers(self.system, self.loops, start)
        times = instants_of(self.model.name, span, times, outputs)
        project = native.project if projection else None
        trajectory = integrate_with_passages(native, span, start, method, project, times, rtol=rtol, atol=atol, step=step, dense=False)
        about = {"method": method, "rtol": rtol, "atol": atol, "status": trajectory.status, "message": trajectory.message}
        solution = solution_of(self.system, trajectory.t, trajectory.x, self._about(about), trajectory)
        if trajectory.status in ("failed", "max_steps"):
            raise SimulationError(f"simulate '{self.model.name}': {trajectory.message}", solution)
        return solution

    def _penalised(self, start: State, span: tuple[float, float], step: float = 1e-3, penalty: float = 1e5, times: Any = None) -> Solution:
        from ...analysis.simulate import solution_of
        from ..descriptor.index3 import augmented_lagrangian_run

        s = self.system
        t, x = augmented_lagrangian_run(s, start, span, step, penalty, s.input_values(), times, tangent="semi_recursive_tangents")
        about = {"method": "augmented_lagrangian", "step": step, "penalty": penalty, "status": "finished", "message": ""}
        return solution_of(s, t, x, self._about(about))

    def _about(self, more: dict[str, Any]) -> dict[str, Any]:
        named = {"model": self.model.name, "formulation": self.formulation, "loops": self.loops, "reference": self.point}
        return named | {"parameters": self.reference.parameters} | more


__all__ = ["LOOPS", "SemiRecursive", "SemiRecursiveSystem"]
