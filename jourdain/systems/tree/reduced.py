"""Independent coordinates with loops closed by Newton: which coordinates are independent may change in flight."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError, SolverError
from ...native.function import Function
from ...solvers.native_function import NativeFunction
from ...solvers.ode.events import Switch
from ...symbolic.expr import Expr
from ..constraints import jacobian
from ..state import State
from .closure import independent_columns, names_of, weights
from .independent import Choice, IndependentSystem, lock_up
from .redundancy import redundant_rows

if TYPE_CHECKING:
    from .system import TreeSystem


@dataclass(frozen=True)
class Layout:
    """The coordinates and constraints that Newton's method works on: all of a system's, or those that a closed form leaves."""

    #: places in q and v of the system
    q: list[int]
    v: list[int]
    #: constraints by number, how many of them are holonomic and how many (of these, of all) are not redundant
    rows: list[int]
    holonomic: int
    rank: tuple[int, int]
    pattern: np.ndarray
    #: compiled functions: position, velocity and acceleration level of the constraints, and the terms of the equations
    constraints: Function
    velocities: Function
    terms: Function
    drift: Function

    @property
    def quaternions(self) -> int:
        """How many positions more than velocities there are: one for each quaternion."""
        return len(self.q) - len(self.v)


class ReducedSystem(IndependentSystem):
    """Loops closed by Newton; the independent coordinates may change in flight.

    ``repartition``: True watches the choice, False keeps it, a number forces a change after so many steps.
    """

    #: What was asked for where it may serve another run.
    _chosen: Mapping[str, Any] | None = None

    def __init__(
        self, system: TreeSystem, start: State, u: np.ndarray | None = None, signals: Mapping[Expr, Expr] | None = None,
        independent: Sequence[str] | None = None, criterion: str = "pivoting", repartition: bool | int = True,
        parameters: np.ndarray | None = None,
    ) -> None:  # fmt: skip
        super().__init__(system, start, u, signals, parameters)
        if self.u.size == 0:
            self.u = np.zeros(1)
        self._made_for, self._asked = system.parameter_vector, (independent, criterion)
        self._prepare(self._whole(start), start, independent_columns(system, start, independent, criterion), repartition)
        self.call_python()

    @staticmethod
    def for_constant_inputs(system: TreeSystem, start: State, u: np.ndarray, **chosen: Any) -> ReducedSystem:
        """An object for a run whose inputs stay as they are: that of an ended run where it fits, else a new one."""
        idle: list[ReducedSystem] = system._idle.setdefault("reduced", [])
        try:  # another thread may have taken the last one
            native = idle.pop()
        except IndexError:
            native = None
        if native is None or not native._fits(start, chosen):
            native = ReducedSystem(system, start, u, **chosen)
            native._chosen = chosen
        else:
            native.u[: system.nu] = u
            native._again(start)
        return native

    def _fits(self, start: State, chosen: Mapping[str, Any]) -> bool:
        """Whether a run from another start would make the same object."""
        same = self._made_for is self.system.parameter_vector and self._chosen == chosen
        return same and self._left_out == redundant_rows(self.system, start)

    def _again(self, start: State) -> None:
        """Begins at another state with nothing remembered."""
        self._integers[:], self._numbers[:], self.record.log.count, self.start = 0, 0.0, 0, start
        self._begin(start, independent_columns(self.system, start, *self._asked))
        self.x0 = self.restrict(self.expand(start.t, self.restrict(start.x)))

    def release(self) -> None:
        """Keeps the object for another run by :meth:`for_constant_inputs`; nothing may refer to it any more."""
        if self._chosen is not None:
            self.system._idle["reduced"].append(self)

    def _whole(self, start: State) -> Layout:
        """All coordinates and constraints."""
        s, eq = self.system, self.system.equations_of_motion
        self._left_out = redundant = redundant_rows(s, start)
        rank = eq.holonomic - sum(i < eq.holonomic for i in redundant), len(eq.rows) - len(redundant)
        pattern = np.zeros((len(eq.rows), s.nv), dtype=bool)
        for i, j in eq.constraint_jacobian:
            pattern[i, j] = True
        names = ("constraints", "constraint_velocities", "reduced_terms", "constraint_drift")
        functions = (self._function(n) for n in names)
        return Layout(list(range(s.nq)), list(range(s.nv)), list(range(len(eq.rows))), eq.holonomic, rank, pattern, *functions)

    def _prepare(self, layout: Layout, start: State, independent: Sequence[int], repartition: bool | int) -> None:
        """Memory and native functions for a layout; ``independent`` are columns of the whole system."""
        from ...solvers.constraints import reduced as r
        from ...solvers.constraints.repartition import decide, remap

        self.layout = layout
        c = self.system.configuration
        angles = [item.unit == "rad" for item in c.coordinates for _ in item.v]
        turns = [(layout.q.index(i), layout.v.index(j)) for i, j in c.quaternions]
        sizes = len(layout.q), len(layout.v), self.system.nz, layout.holonomic
        every = (0 if repartition else -1) if isinstance(repartition, bool) else int(repartition)
        plan = r.make_plan(*sizes, turns, layout.pattern, [angles[j] for j in layout.v], layout.rank, every)
        keep: list[object] = [self.u]
        functions = {
            "position": (layout.constraints, 2),
            "velocity": (layout.velocities, 3),
            "terms": (layout.terms, 2),
            "drift": (layout.drift, 2),
        }
        compiled = {name: self.compiled(f, inputs, keep) for name, (f, inputs) in functions.items()}
        #: The system as kernels read it, and what changes from step to step.
        self.record, self._integers, self._numbers = r.make_reduced(plan, self.u, **compiled)
        self._begin(start, [layout.v.index(j) for j in independent if j in layout.v])
        self._args = r.Call(system=self.record)
        native = [NativeFunction.of(f.address, self._args, keep) for f in (r.reduced_state_derivative, r.full_state, decide, remap)]
        self.rhs, self.full, self.switch = native[0], native[1], Switch(native[2], native[3])
        self.jacobian_in_place = self.record.velocity.J
        self._complete(start)
        self.positions = plan.nqu
        self.x0 = self.restrict(self.expand(start.t, self.restrict(start.x)))

    def _complete(self, start: State) -> None:
        """What must be added before the first expansion, for layouts that are not the whole system."""

    def _jacobian(self, start: State) -> np.ndarray:
        """J in the coordinates of the layout."""
        return jacobian(self.system, start.q, start.t)

    def _begin(self, start: State, independent: Sequence[int]) -> None:
        """The first choice, and the first closed position to remember."""
        from ...solvers.constraints.repartition import choose

        s, record = self.system, self.record
        plan, memory, choice = record.plan, record.memory, record.choice
        memory.q[:], memory.scale[:] = start.q[self.layout.q], 1.0 / weights(s, start)[self.layout.v]
        J = np.ascontiguousarray(self._jacobian(start)).ravel()
        allowed = plan.eligible.copy()
        allowed[list(independent)] = 0
        if choose(J, plan, memory.scale, allowed, allowed, choice, record.work, record.marks) < 0:
            names = ", ".join(names_of(s, [self.layout.v[j] for j in independent]))
            raise SolverError(
                f"simulate '{s.model.name}': the start is a singular position (or {names} cannot be "
                "independent there); start elsewhere or use reduction='projected'"
            )
        self._first = start.t, [*choice.positions.tolist(), *choice.velocities.tolist()]
        self._note_position(start.t)

    def _note_position(self, t: float) -> None:
        """Forgets earlier positions but the last closed one."""
        memory, progress = self.record.memory, self.record.progress
        memory.ring_t[0], memory.ring_q[0] = t, memory.q
        progress.steps, progress.t = 1, t

    @property
    def switches(self) -> int:  # type: ignore[override]
        """How often the independent coordinates were changed."""
        return self.record.log.count

    def choices(self) -> list[Choice]:
        """Which coordinates were independent from which time on."""
        log, nqu = self.record.log, self.sizes[0]
        if self.switches > len(log.t):
            raise InputError(f"the independent coordinates changed {self.switches} times, too often for an interpolant; use dense=False")
        changes = zip(log.t.tolist(), log.choices[: self.switches].astype(int).tolist(), strict=False)
        return [(t, [self.layout.q[i] for i in c[:nqu]], [self.layout.v[j] for j in c[nqu:]]) for t, c in [self._first, *changes]]

    def memory(self) -> dict[str, np.ndarray]:
        """The choice with the positions that Newton's method starts from."""
        return {"choice": self._integers, "positions": self._numbers, "jacobian": self.record.velocity.J, "u": self.u}

    @property
    def independent(self) -> list[str]:  # type: ignore[override]
        """Present independent coordinates."""
        return names_of(self.system, [self.layout.v[j] for j in self.record.choice.velocities])

    def restrict(self, X: np.ndarray) -> np.ndarray:
        """The independent part of a full state."""
        s, choice = self.system, self.record.choice
        q, v = X[: s.nq][self.layout.q], X[s.nq : s.nq + s.nv][self.layout.v]
        return np.concatenate([q[choice.positions], v[choice.velocities], X[s.nq + s.nv :]])

    def moved(self, t: float, X: np.ndarray) -> None:
        """Takes note of a jump to another closed position."""
        self.record.memory.q[:] = X[: self.system.nq][self.layout.q]
        self.record.progress.tangent = self.record.progress.expanded = 0
        self._note_position(t)

    @property
    def sizes(self) -> tuple[int, int]:
        """How many positions and how many velocities are independent."""
        plan = self.record.plan
        return plan.nqu, plan.nvu

    def derivatives(self) -> dict[str, NativeFunction]:
        """∂ẋ/∂x and ∂ẋ/∂t of the independent state by the chain rule."""
        from .alpha import independent_derivatives

        self._redundant = redundant_rows(self.system, self.start)
        return independent_derivatives(self)

    def _position(self) -> np.ndarray:
        """All positions of the last closed place."""
        return self.record.memory.q.copy()

    def dead_point(self, t: float, x: np.ndarray) -> str:
        """Why the motion cannot go on: the joint whose direction the constraints lose."""
        return lock_up(self.system, t, self._position(), self.independent[0] if self.independent else self.system.coordinate_names[0])

    def closure(self) -> dict[str, Any]:
        """Which constraints are closed how."""
        return {"Newton": [self.system.equations_of_motion.rows[i].name for i in self.layout.rows]}


__all__ = ["Layout", "ReducedSystem"]
