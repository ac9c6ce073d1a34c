"""The semi-recursive formulation as a compiled system: ``model.compile(formulation="semi-recursive")``.

``reduction`` chooses what becomes of closed loops, ``point`` the point that velocities refer to (see
:mod:`jourdain.formalisms.coordinates.semi_recursive`):

* "partition": independent coordinates by full pivoting, second velocity transformation; loops closed by Newton at every evaluation;
* "range-space", "null-space": multipliers by (Φ M⁻¹ Φᵀ) λ = …, or by an orthonormal null space of Φ_z; positions and velocities are put
  back onto the constraints after each step;
* "augmented-lagrangian": index 3, trapezoidal rule in fixed steps, projections of velocities and accelerations.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError
from ...formalisms.coordinates.semi_recursive import REFERENCES
from ...native.function import Function
from ...solvers import AUGMENTED_LAGRANGIAN
from ...solvers.constraints.reductions import REDUCTIONS, multipliers
from ...solvers.native_function import NativeFunction
from ...symbolic.function import SymbolicFunction
from ..run import make_run
from ..state import State
from .closure import order_of_elimination
from .projected import NativeSystem
from .reduced_by import ReducedBy
from .redundancy import redundant_rows
from .system import TreeSystem

if TYPE_CHECKING:
    from ..inputs import Inputs
    from ..run import Run, Settings

#: Ways to treat loops, with the numerical reduction of each.
LOOPS = {"partition": "partition", "range-space": "range-space", "null-space": "qr", "augmented-lagrangian": "augmented-lagrangian"}
#: Functions of a system that have a semi-recursive counterpart of the same form.
TERMS = ("mass_matrix", "descriptor", "reduced_terms", "constraint_drift", "constraints", "state_derivative")


class SemiRecursiveSystem(TreeSystem):
    """A tree whose terms come from the semi-recursive formulation; all analyses work on it.

    >>> from jourdain.library.suspensions import five_link_suspension
    >>> f = five_link_suspension().compile(formulation="semi-recursive")
    >>> len(f.unknowns), len(f.constraints), f.dof()
    (8, 5, 3)
    """

    formulation = "semi-recursive"
    factors_mass = True

    def __init__(
        self,
        system: TreeSystem,
        reduction: str = "partition",
        point: str = "origin",
        loops: str | None = None,
        reference: str | None = None,
    ) -> None:
        self.__dict__.update(system.copy().__dict__, form="straight")
        self._tree = system
        reduction, point = _renamed(reduction, loops, "loops", "reduction"), _renamed(point, reference, "reference", "point")
        if reduction not in LOOPS:
            raise InputError(f"semi-recursive: reduction '{reduction}' is unknown; use one of {', '.join(LOOPS)}")
        if point not in REFERENCES:
            raise InputError(f"semi-recursive: point '{point}' is unknown; use one of {', '.join(REFERENCES)}")
        self.reduction, self.point = reduction, point
        self.options = {"reduction": reduction, "point": point}

    @property
    def reference(self) -> TreeSystem:
        """The recursive system of the same model and parameters."""
        return self._tree

    @property
    def parameter_vector(self) -> np.ndarray:
        """Present parameter values: those of the reference."""
        if self._tree.parameter_vector is not self._parameters:
            self._take(self._tree.parameter_vector)
        return self._parameters

    def set_parameters(self, *values: Any, **changes: Any) -> None:
        """Changes parameter values; nothing is compiled again."""
        self._tree.set_parameters(*values, **changes)

    def copy(self, parameters: np.ndarray | None = None) -> SemiRecursiveSystem:
        """The same system with constants, workspaces and parameters of its own."""
        return SemiRecursiveSystem(self._tree.copy(parameters), **self.options)

    @property
    def fingerprint(self) -> str:  # type: ignore[override]
        """Hash of the model's equations: terms of other names do not collide."""
        return self._tree.fingerprint

    # -- functions ------------------------------------------------------------------------------------------------

    def _named(self, name: str, options: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        own = f"semi_recursive_{name}" if name in TERMS and not options else name
        return own, {**options, "reference": self.point} if own.startswith("semi_recursive_") else options

    def symbolic(self, name: str, **options: Any) -> SymbolicFunction:
        """The equations behind a function."""
        name, options = self._named(name, options)
        return super().symbolic(name, **options)

    def function(self, name: str, **options: Any) -> Function:
        """A compiled function by name."""
        _ = self.parameter_vector  # takes over the reference's
        name, options = self._named(name, options)
        return super().function(name, **options)

    def straight_line(self, state: Any) -> Function:
        """z̈(t, x, u) of a closed state in one straight line, dependent coordinates by full pivoting at this state (42)–(50)."""
        order = order_of_elimination(self.reference, self._state(state), None) if self.constraints else ()
        return self.function("semi_recursive_accelerations", order=order)

    # -- what it is and computes ----------------------------------------------------------------------------------

    def describe(self) -> str:
        """One line: coordinates, equations, operations, loops, point of reference."""
        loops = f", loops by '{self.reduction}'" if self.constraints else ""
        return f"{super().describe()}{loops}, velocities at '{self.point}'"

    def _solved(self, given: Any, inputs: Mapping[str, float] | None) -> tuple[State, np.ndarray, np.ndarray]:
        s = self._state(given)
        M, f, J, g, _ = self.function("descriptor")(np.array([s.t]), s.x, self.inputs_at(s, inputs))
        redundant = redundant_rows(self.reference, s)
        kept = [i for i in range(len(J)) if i not in redundant]
        a, lam = REDUCTIONS[LOOPS[self.reduction]](M, J[kept], f, g[kept]) if len(J) else (np.linalg.solve(M, f), np.zeros(0))
        return s, np.asarray(a), multipliers(M, J, f, a) if redundant else np.asarray(lam)

    # -- how it runs ----------------------------------------------------------------------------------------------

    @property
    def methods(self) -> tuple[str, ...]:
        """Names of methods; generalised-α with closed loops takes reduction="projected"."""
        if not self.constraints:
            return super().methods
        return (AUGMENTED_LAGRANGIAN,) if self.reduction == AUGMENTED_LAGRANGIAN else (*super().methods, AUGMENTED_LAGRANGIAN)

    @property
    def method(self) -> str:  # type: ignore[override]
        """The method where none is named."""
        return self.methods[0] if len(self.methods) == 1 else TreeSystem.method

    def run(self, start: State, span: tuple[float, float], inputs: Inputs, settings: Settings, options: Mapping[str, Any]) -> Run:
        """A run of the kind that ``reduction`` asks for; an open chain has nothing to reduce."""
        from ..descriptor.runs import AugmentedLagrangianRun
        from .multiplier_run import MultiplierRun
        from .runs import ReducedRun

        own = State(self, start.q, start.v, start.z, start.t)
        reduction, rest = options.get("reduction", self.reduction), {n: x for n, x in options.items() if n != "reduction"}
        if reduction in ("projected", "reduced", "closed") and "reduction" in options:
            return super().run(own, span, inputs, settings, options)
        if reduction not in LOOPS:
            raise InputError(f"semi-recursive: reduction '{reduction}' is unknown; use one of {', '.join([*LOOPS, 'projected', 'closed'])}")
        if not self.constraints:
            return super().run(own, span, inputs, settings, {**rest, "reduction": "projected"})
        if reduction == AUGMENTED_LAGRANGIAN and settings.method not in (AUGMENTED_LAGRANGIAN, TreeSystem.method):
            raise InputError(
                f"simulate '{self.model.name}': reduction='{reduction}' is a method of its own and takes no method '{settings.method}'; "
                f"choose one of {AUGMENTED_LAGRANGIAN}"
            )
        if AUGMENTED_LAGRANGIAN in (reduction, settings.method):
            return make_run(
                AugmentedLagrangianRun, self, own, span, inputs, settings, rest, dynamics=self, own=own, tangent="semi_recursive_tangents",
                translate=lambda t, rows: rows,
            )  # fmt: skip
        if reduction == "partition":
            return make_run(ReducedRun, self, own, span, inputs, settings, rest)
        return make_run(MultiplierRun, self, own, span, inputs, settings, rest, reduction=reduction)

    def evaluation(self, state: Any = None) -> tuple[NativeFunction, np.ndarray]:
        """The native right-hand side and a state for it: with the partition from the independent coordinates, loops closed by Newton."""
        s = self._state(state)
        if not self.constraints or self.reduction == "augmented-lagrangian":
            return NativeSystem(self, start=s).rhs, s.x
        if self.reduction == "partition":
            from .reduced import ReducedSystem

            native = ReducedSystem(self, State(self, s.q, s.v, s.z, s.t))
            return native.rhs, native.x0
        return MultiplierSystem(self, self.reduction, s).rhs, s.x


class MultiplierSystem(ReducedBy):
    """Right-hand side with multipliers by range space or null space."""

    def __init__(self, system: SemiRecursiveSystem, reduction: str, start: State, u: np.ndarray | None = None, signals: Any = None) -> None:
        super().__init__(LOOPS[reduction], system, u, signals=signals, start=start)

    def _constrained(self) -> NativeFunction:
        if self.reduction == "range-space" and not self._redundant:  # rows left out for good may be the ones needed later
            return self.wrap(self._function("semi_recursive_range_space"))
        return super()._constrained()


def _renamed(value: str, older: str | None, old: str, new: str) -> str:
    """The value of an option under its present name, or under its older one."""
    if older is None:
        return value
    warnings.warn(f"semi-recursive: {old}='{older}' is now written {new}='{older}'", DeprecationWarning, stacklevel=6)
    return older


__all__ = ["LOOPS", "MultiplierSystem", "SemiRecursiveSystem"]
