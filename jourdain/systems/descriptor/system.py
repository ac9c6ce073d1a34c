"""A model in absolute coordinates: M ẍ = Q + Jᵀλ, J ẍ = g, in the coordinates x of a descriptor, answering in joint coordinates."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError
from ...formalisms.coordinates.descriptor import Descriptor
from ...results.solution import Solution
from ...solvers import ALPHA_METHODS, AUGMENTED_LAGRANGIAN
from ...solvers.constraints.reductions import independent_rows, multipliers, reduction
from ...solvers.native_function import NativeFunction
from ...symbolic.graph import Operations
from ..compiled import Wrenches
from ..outputs.reactions import reactions_of_accelerations, share_reactions
from ..pushed import pushed_inputs, pushed_system, touches_rigidly
from ..run import make_run
from ..start import check_belongs
from ..state import State, split_state
from ..system import System
from .dynamics import DescriptorDynamics
from .poses import tree_accelerations

if TYPE_CHECKING:
    from ..inputs import Inputs
    from ..run import Run, Settings
    from ..tree.system import TreeSystem


class DescriptorSystem(System):
    """A formulation given by its :class:`Descriptor`.

    ``reduction`` names the way to accelerations (see :data:`jourdain.solvers.constraints.reductions.REDUCTIONS`); other options go to the
    formulation.  ``own`` are its dynamics in x.
    """

    def __init__(
        self, reference: TreeSystem, formulation: str, make: Callable[..., Descriptor], reduction: str = "partition", **options: Any
    ) -> None:
        takes = list(signature(make).parameters)[1:]
        for name in set(options) - set(takes):
            raise InputError(f"formulation '{formulation}' has no option '{name}'; it takes {', '.join(['reduction', *takes])}")
        self._reference, self.model = reference, reference.model
        self.formulation, self.reduction, self.options = formulation, reduction, {"reduction": reduction, **options}
        self._reduce = _known(reduction)
        self.descriptor: Descriptor = make(reference.model, **options)
        key = " ".join([self.descriptor.name, *(f"{k}={v}" for k, v in sorted(options.items()))])
        self.own = DescriptorDynamics(reference, self.descriptor, key, reduction=reduction)
        self._twin: System | None = None
        self._last: tuple[Any, tuple[State, State, np.ndarray, np.ndarray]] | None = None

    @property
    def reference(self) -> TreeSystem:
        """The recursive system of the same model and parameters."""
        return self._reference

    def copy(self, parameters: np.ndarray | None = None) -> System:
        """The same formulation with parameters and workspaces of its own, for another thread or other values."""
        from ..formulations import formulate

        return formulate(self.reference.copy(parameters), self.formulation, **self.options)

    def __reduce__(self) -> tuple[Any, ...]:
        from ..formulations import formulate

        return partial(formulate, self.reference, self.formulation, **self.options), ()  # what it has derived, it derives again

    # -- what it is -----------------------------------------------------------------------------------------------

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
        return self.own.symbolic("sparse_terms").operations()

    def describe(self) -> str:
        """One line: coordinates, equations, density, operations."""
        n = len(self.unknowns)
        dense = (self.descriptor.mass_pattern.sum() + 2 * self.descriptor.jacobian_pattern.sum()) / max(1, (n + len(self.constraints)) ** 2)
        return f"{super().describe()}, {100 * dense:.0f} % of the augmented matrix filled, reduction '{self.reduction}'"

    def dof(self, state: Any = None) -> int:
        """Degrees of freedom by the rank of the constraints."""
        return len(self.unknowns) - len(self.own.kept_rows(self._own(state))[0])

    def dependent(self, state: Any = None) -> list[str]:
        """Those of its own rows that follow from the others at a state."""
        return [self.constraints[i] for i in self.own.kept_rows(self._own(state))[1]]

    def _own(self, given: Any) -> State:
        return self.own.state_of(self._state(given))

    # -- what it computes at an instant ---------------------------------------------------------------------------

    def _solved(self, given: Any, inputs: Mapping[str, float] | None) -> tuple[State, State, np.ndarray, np.ndarray]:
        """The state in both languages, ẍ, and λ for all rows (of least norm where some are redundant)."""
        state = self._state(given)
        u = self.inputs_at(state, inputs)
        key = (state, u.tobytes(), self.parameter_vector)
        if self._last is not None and self._last[0][0] is state and self._last[0][1] == key[1] and self._last[0][2] is key[2]:
            return self._last[1]
        own = self.own.state_of(state)
        M, J, f, g = self.own.terms(own, u)
        kept, redundant = independent_rows(J)
        a, lam = self._reduce(M, J[kept], f, g[kept])
        if redundant:
            lam = multipliers(M, J, f, a)
        found = (state, own, np.asarray(a), np.asarray(lam))
        self._last = key, found
        return found

    def _pushed(self, given: Any, inputs: Mapping[str, float] | None) -> tuple[DescriptorSystem, State, dict[str, float]]:
        """The same formulation with forces of rigid contacts as inputs, a state of it, and all inputs, these forces found by their laws."""
        from ..formulations import formulate
        from ..tree.contact.events import forces_at

        state, tree = self._state(given), pushed_system(self)
        if self._twin is None or self._twin.reference is not tree:
            self._twin = formulate(tree, self.formulation, **self.options)
        u = pushed_inputs(self, self.inputs_at(state, inputs)[None], forces_at(self.reference, state, inputs))[0]
        return self._twin, split_state(tree, state.x, state.t), dict(zip(tree.model.inputs, u.tolist(), strict=True))  # type: ignore[return-value]

    def accelerations(self, state: Any = None, inputs: Mapping[str, float] | None = None) -> np.ndarray:
        """v̇ of the joint coordinates at a (closed) state, with all loads and loops."""
        if touches_rigidly(self.model):
            twin, there, given = self._pushed(state, inputs)
            return twin.accelerations(there, given)
        model_state, own, a, _ = self._solved(state, inputs)
        *_, vd, wd = self.own.function("bodies")(np.array([own.t]), own.q, own.v, a)
        return tree_accelerations(self.reference, model_state, vd, wd)

    def multipliers(self, state: Any = None, inputs: Mapping[str, float] | None = None) -> dict[str, float]:
        """Constraint multipliers by row, with the sign of M ẍ = Q + Jᵀλ."""
        if touches_rigidly(self.model):
            twin, there, given = self._pushed(state, inputs)
            return twin.multipliers(there, given)
        return dict(zip(self.constraints, self._solved(state, inputs)[3].tolist(), strict=True))

    def reactions(self, state: Any = None, inputs: Mapping[str, float] | None = None) -> Wrenches:
        """Force and torque on the child of each joint and the second frame of each closure.

        Coordinates in a plane know nothing of forces across it: there they follow from the accelerations.
        """
        if touches_rigidly(self.model):
            twin, there, given = self._pushed(state, inputs)
            return twin.reactions(there, given)
        model_state, own, a, lam = self._solved(state, inputs)
        u = self.inputs_at(model_state, inputs)
        if self.descriptor.normal is not None:
            return reactions_of_accelerations(self.reference, model_state, u, self.accelerations(model_state, inputs))
        f = self.own.function("transmitted")
        extra = {"z": own.z, "u": u}
        table = f(np.array([own.t]), own.q, own.v, a, lam, *(extra[n] for n in list(f.inputs)[5:]))
        names = [*self.model.joints, *(c.name for c in self.descriptor.equations.closures)]
        return share_reactions(self.reference, model_state, u, dict(zip(names, table, strict=True)))

    # -- how it runs ----------------------------------------------------------------------------------------------

    @property
    def methods(self) -> tuple[str, ...]:
        """Names of methods; rotation vectors, which are exchanged in flight, have no accelerations to keep."""
        return (*super().methods, AUGMENTED_LAGRANGIAN)

    def run(self, start: State, span: tuple[float, float], inputs: Inputs, settings: Settings, options: Mapping[str, Any]) -> Run:
        """A run in x: index 1, generalised-α, or the augmented Lagrangian of index 3."""
        from .runs import AugmentedLagrangianRun, DescriptorAlphaRun, DescriptorRun

        if (special := self.contact_run(str(settings.method))) is not None:
            return make_run(special, self, start, span, inputs, settings, options)
        if settings.method == AUGMENTED_LAGRANGIAN:
            own = self.own.state_of(start)
            return make_run(
                AugmentedLagrangianRun, self, start, span, inputs, settings, options, dynamics=self.own, own=own, tangent="tangent",
                translate=lambda t, rows: lambda: self.own.joint_rows(start, t, rows),
            )  # fmt: skip
        kind = DescriptorAlphaRun if settings.method in ALPHA_METHODS else DescriptorRun
        return make_run(kind, self, start, span, inputs, settings, options)

    def contact_run(self, method: str) -> type[Run] | None:
        """The kind of run of models with contacts, where the method asks for one; set-valued laws refuse all others."""
        if method != "moreau" and not touches_rigidly(self.model):
            return None
        from .contacts import moreau_run

        return moreau_run(self, method)

    def drift(self, solution: Solution) -> tuple[float, float]:
        """Largest |h| and largest velocity residual of the constraints along a solution of this formulation."""
        names = [f"x.{n}" for n in (*self.own.coordinate_names, *self.own.velocity_names)]
        if any(n not in solution for n in names):
            raise InputError("this solution was not simulated in these coordinates; its constraint errors are not known")
        if solution.system is not None:
            check_belongs(self.reference, solution.system, "solution")
        if not self.constraints:
            return 0.0, 0.0
        rows = np.column_stack([solution[n] for n in names])
        z = np.column_stack([solution[n] for n in self.model.states]) if self.model.states else np.zeros((len(rows), 0))
        return self.own.drift(solution.t, rows, z)

    def evaluation(self, state: Any = None) -> tuple[NativeFunction, np.ndarray]:
        """The native right-hand side and a state for it."""
        own = self._own(state)
        return self.own.native(own).rhs, own.x


#: The reduction of that name, or an error with all of them.
_known = reduction

__all__ = ["DescriptorSystem"]
