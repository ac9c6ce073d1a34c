"""Independent coordinates with loops closed in closed form: all of them, or those that have one, the others by Newton."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError, SolverError
from ...formalisms.functions.reduced import closed_form, mixed_system
from ...formalisms.loops.closed_form import ClosedForm
from ...native.function import Function
from ...solvers.native_function import NativeFunction, address
from ...solvers.ode.events import Switch
from ...symbolic.expr import Expr
from ..state import State, split_state
from .closure import best_closed_form, choices, full_names, independent_columns, names_of, read, values_at
from .independent import Choice, IndependentSystem, dead_point
from .reduced import Layout, ReducedSystem
from .redundancy import redundant_rows

if TYPE_CHECKING:
    from .system import TreeSystem

#: A step that ends nearer to a dead point (square of the sine of the angle that vanishes there) is the last one for given
#: independent coordinates, and the reason to take others when they are chosen by the program.
LEAST_MARGIN, GOOD_MARGIN = 1e-4, 1e-2


class Branches:
    """Signs of the roots and reference angles of a closed form, kept behind the inputs in u and followed along the motion."""

    def __init__(self, native: IndependentSystem, form: ClosedForm, key: Mapping[str, Any]) -> None:
        self.native, self.form, self.key = native, form, dict(key)
        native.u = np.concatenate([native.u, self._read(native.start)])
        if native.u.size == 0:
            native.u = np.zeros(1)
        self.least_margin = np.array([LEAST_MARGIN])
        self.angles, self.margins = np.zeros(max(1, len(form.references))), np.ones(max(1, len(form.branches)))

    def _read(self, state: State) -> np.ndarray:
        return choices(self.form, values_at(self.native.system, state, self.native._parameters))

    def moved(self, t: float, X: np.ndarray) -> None:
        """Takes those of another closed position."""
        found = self._read(split_state(self.native.system, X, t))
        if len(found):
            self.native.u[len(self.native.u) - len(found) :] = found

    @property
    def full_state(self) -> Function:
        """The full state with the solved angles and the margins."""
        return self.native._function("closed_full_state", **self.key)

    def expansion(self) -> NativeFunction:
        """The full state; angles and margins are not kept."""
        return self.native.wrap(self.full_state, np.zeros_like(self.angles), np.zeros_like(self.margins))

    def expansion_of_steps(self) -> NativeFunction:
        """The full state, angles and margins for :meth:`followed`."""
        return self.native.wrap(self.full_state, self.angles, self.margins)

    def following(self, states: int) -> NativeFunction | None:
        """The solved angles of a state become the references of the next one, so that they run on over whole turns."""
        f, X = self.full_state, np.zeros(states)
        memory = (self.native.u, X, self.angles, self.margins, *self.native._memory(f))
        return self._follow(f.address, np.array([0, 0, *map(address, memory)], dtype=np.int64), memory, f)

    def followed(self) -> NativeFunction | None:
        """The same where :meth:`expansion_of_steps` has been called for the state."""
        return self._follow(0, np.zeros(2, dtype=np.int64))

    def _follow(self, function: int, pointers: np.ndarray, *keep: object) -> NativeFunction | None:
        from ...solvers.constraints.repartition import Following, follow

        angles, roots, u = len(self.form.references), len(self.form.branches), self.native.u
        if not self.form.choices:
            return None
        args = Following(
            function=function, args=pointers, angles=self.angles[:angles], references=u[u.size - angles :], margins=self.margins[:roots],
            least=self.least_margin,
        )  # fmt: skip
        return NativeFunction.of(follow.address, args, self.angles, self.margins, u, *keep)

    def margin(self) -> float:
        """Distance of the nearest dead point when last looked at: 1 far, 0 at it."""
        return float(np.nan_to_num(self.margins, nan=-1.0).min()) if self.form.branches else 1.0

    def dead_point(self, t: float, q: np.ndarray, independent: Sequence[str]) -> str:
        """The root that vanishes in words."""
        s = self.native.system
        steps = [step for step in self.form.steps if step.branch is not None]
        names = [n.removesuffix("_rate") for n in s.velocity_names]
        worst = steps[int(np.argmin(np.nan_to_num(self.margins, nan=-1.0)))] if steps else self.form.steps[0]
        row = s.equations_of_motion.rows[worst.rows[0]].name
        return (
            f"{dead_point(s, t, q, names[worst.coordinates[0]], row)}; another independent coordinate than "
            f"{', '.join(independent)} may pass it, or reduction='reduced', which changes coordinates in flight"
        )

    def rows(self) -> list[str]:
        """Constraints solved in closed form."""
        return [self.native.system.equations_of_motion.rows[i].name for step in self.form.steps for i in step.rows]


class ClosedFormSystem(IndependentSystem):
    """Loops solved in closed form: one straight-line function, the same independent coordinates throughout."""

    def __init__(
        self, system: TreeSystem, start: State, names: Sequence[str], form: ClosedForm, u: np.ndarray | None = None,
        signals: Mapping[Expr, Expr] | None = None, parameters: np.ndarray | None = None,
    ) -> None:  # fmt: skip
        super().__init__(system, start, u, signals, parameters)
        self.independent, self.form = list(names), form
        self._key: dict[str, Any] = {"independent": tuple(names)}
        self.branches = Branches(self, form, self._key)
        index = _kept_positions(system, form.dependent)
        nq, nv = system.nq, system.nv
        self._index = np.array([*index, *(nq + j for j in form.independent), *range(nq + nv, self.n)], dtype=int)
        self.positions = len(index)
        self.rhs = self.wrap(self._function("closed_state_derivative", **self._key))
        self.full, self.full_of_steps = self.branches.expansion(), self.branches.expansion_of_steps()
        self.x0 = self.restrict(start.x)
        self._following, followed = self.branches.following(self.n), self.branches.followed()
        self.switch = None if followed is None else Switch(followed, followed)
        if form.steps and all(step.branch is not None for step in form.steps):
            self.margins_tell = self.branches.margins[: len(form.branches)]
        gap = np.abs(self.expand(start.t, self.x0)[:nq] - start.q).max()
        if not gap < 1e-6:
            raise SolverError(f"simulate '{system.model.name}': the start is not closed (off by {gap:.3g}); use system.assemble first")
        self.call_python()

    def margin(self, t: float, x: np.ndarray) -> float:
        """Distance of the nearest dead point: 1 far, 0 at it."""
        if self._following is None:
            return 1.0
        self._following(t, np.ascontiguousarray(x), np.zeros(1))
        return self.branches.margin()

    def derivatives(self) -> dict[str, NativeFunction]:
        """∂f/∂x and ∂f/∂t for implicit methods."""
        return {
            "jacobian": self.wrap(self._function("closed_state_jacobian", **self._key)),
            "time_derivative": self.wrap(self._function("closed_state_time_derivative", **self._key)),
        }

    def restrict(self, X: np.ndarray) -> np.ndarray:
        """The independent part of a full state."""
        return X[self._index].copy()

    def choices(self) -> list[Choice]:
        """The independent coordinates from the start on."""
        return [(self.start.t, self._index[: self.positions].tolist(), list(self.form.independent))]

    def memory(self) -> dict[str, np.ndarray]:
        """Inputs, signs of the roots and reference angles."""
        return {"u": self.u}

    def moved(self, t: float, X: np.ndarray) -> None:
        """Takes the branches and reference angles of another closed position."""
        self.branches.moved(t, X)

    def dead_point(self, t: float, x: np.ndarray) -> str:
        """Why the motion cannot go on: the root that vanishes."""
        self.margin(t, x)
        return self.branches.dead_point(t, self.expand(t, x)[: self.system.nq], self.independent)

    def closure(self) -> dict[str, list[str]]:
        """Which constraints are closed how."""
        return {"closed form": self.branches.rows()}


class MixedSystem(ReducedSystem):
    """Some loops solved in closed form; between the coordinates that remain, loops are closed by Newton."""

    def __init__(
        self, system: TreeSystem, start: State, names: Sequence[str], form: ClosedForm, u: np.ndarray | None = None,
        signals: Mapping[Expr, Expr] | None = None, parameters: np.ndarray | None = None,
    ) -> None:  # fmt: skip
        IndependentSystem.__init__(self, system, start, u, signals, parameters)
        kept = [j for j in range(system.nv) if j not in form.solved]
        rows = tuple(sorted(i for step in form.steps for i in step.rows))
        self._key: dict[str, Any] = {"independent": tuple(names_of(system, kept)), "rows": rows}
        self.branches = Branches(self, closed_form(system.equations_of_motion, self._key["independent"], rows), self._key)
        self._prepare(self._remaining(kept, start), start, independent_columns(system, start, names), True)
        self.call_python()

    def _remaining(self, kept: Sequence[int], start: State) -> Layout:
        """Coordinates and constraints that the closed form leaves."""
        s, eq = self.system, self.system.equations_of_motion
        mixed = mixed_system(eq, self._key["independent"], self._key["rows"])
        J = mixed.jacobian()
        pattern = np.array([[not e.is_number or float(e) != 0.0 for e in row] for row in J]).reshape(len(J), len(kept))
        rank = len(J) - len(redundant_rows(s, start))
        q = _kept_positions(s, mixed.form.dependent)
        names = ("mixed_constraints", "mixed_constraint_velocities", "mixed_terms", "mixed_drift")
        functions: list[Function] = [self._function(n, **self._key) for n in names]
        return Layout(q, list(kept), mixed.remaining, len(J), (rank, rank), pattern, *functions)

    def _jacobian(self, start: State) -> np.ndarray:
        q, v = start.q[self.layout.q], start.v[self.layout.v]
        f = self.layout.velocities
        return np.array(f(np.array([start.t]), q, v, self.u[: f.inputs["u"]])[1])

    def _complete(self, start: State) -> None:
        """The full state by the closed form after Newton, and the angles followed after each step."""
        from ...solvers.constraints.repartition import DecideAndFollow, decide_and_follow
        from ...solvers.ode.frame import Arguments

        part = np.zeros(len(self.layout.q) + len(self.layout.v) + self.system.nz)
        self._part, self.jacobian_in_place = self.full, None
        self.full = self._of_expansion(self.branches.expansion(), self.full, part)
        self._following = self.branches.following(self.n)
        if self._following is not None and self.switch is not None:
            judge, follow = self.switch.decide, self._following
            both = DecideAndFollow(
                decide=judge.address, decide_args=Arguments.at(judge.args), X=address(self.record.X), follow=follow.address,
                follow_args=Arguments.at(follow.args),
            )  # fmt: skip
            self.switch = Switch(NativeFunction.of(decide_and_follow.address, both, judge, follow), self.switch.remap)

    def margin(self, t: float, x: np.ndarray) -> float:
        """Distance of the nearest dead point of the closed forms: 1 far, 0 at it."""
        if self._following is None:
            return 1.0
        part = np.zeros(len(self.layout.q) + len(self.layout.v) + self.system.nz)
        self._part(t, np.ascontiguousarray(x), part)
        self._following(t, part, np.zeros(1))
        return self.branches.margin()

    def moved(self, t: float, X: np.ndarray) -> None:
        """Takes note of a jump to another closed position."""
        self.branches.moved(t, X)
        super().moved(t, X)

    def _position(self) -> np.ndarray:
        """All positions of the last closed place."""
        f = self.branches.full_state
        x = np.concatenate([self.record.memory.q, np.zeros(len(self.layout.v) + self.system.nz)])
        return np.array(f(np.array([self.start.t]), x, self.u[: f.inputs["u"]])[0])[: self.system.nq]

    def dead_point(self, t: float, x: np.ndarray) -> str:
        """Why the motion cannot go on."""
        if self.branches.margin() < self.branches.least_margin[0]:
            return self.branches.dead_point(t, self._position(), self.independent)
        return super().dead_point(t, x)

    def closure(self) -> dict[str, list[str]]:
        """Which constraints are closed how."""
        return {"closed form": self.branches.rows(), **super().closure()}


def _kept_positions(system: TreeSystem, dependent: Sequence[int]) -> list[int]:
    """Places in q of the coordinates that do not belong to dependent velocity columns."""
    owners = [c for c in system.configuration.coordinates for _ in c.v]
    gone = {id(owners[j]) for j in dependent}
    return [i for i, c in enumerate(c for c in system.configuration.coordinates for _ in c.q) if id(c) not in gone]


def closed_native(
    system: TreeSystem, start: State, u: np.ndarray | None = None, signals: Mapping[Expr, Expr] | None = None,
    independent: Sequence[str] | None = None, parameters: np.ndarray | None = None,
) -> ClosedFormSystem | MixedSystem:  # fmt: skip
    """Loops in closed form as far as they have one, the others by Newton."""
    eq = system.equations_of_motion
    if not eq.rows:
        raise InputError(f"simulate '{system.model.name}': it has no loops or constraints; use reduction='projected'")
    if independent is None:
        names, form, reading = best_closed_form(system, start)
    else:
        independent_columns(system, start, independent)
        names = full_names(system, independent)
        form = closed_form(eq, names)
        reading = read(system, form, start)
    if not form.complete and not form.steps:
        raise InputError(f"simulate '{system.model.name}': no closed form of the loops: {form.reason}; use reduction='reduced'")
    if reading.vanishing:
        raise InputError(
            f"simulate '{system.model.name}': the root that closes '{reading.vanishing}' vanishes in this position, so that "
            "velocities cannot be found from it; use reduction='reduced', or start elsewhere"
        )
    kind = ClosedFormSystem if form.complete else MixedSystem
    return kind(system, start, names, form, u, signals, parameters)


__all__ = ["GOOD_MARGIN", "ClosedFormSystem", "MixedSystem", "closed_native"]
