"""The equations of a system at a point, with all their first derivatives and the split into independent motions.

Everything that analyses about a state (equilibrium, linearisation, inverse dynamics) share: positions, velocities and
accelerations that meet the constraints, multipliers, and matrices ∂(r, h, w, g, ż, y)/∂(q, v, v̇, z, u, p).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError, SolverError
from ...formalisms.functions.drive_forces import drive_force_names
from ...formalisms.functions.linearisation import expressions, expressions_tangent
from ...formalisms.tree.acceleration_loads import loads_need_acceleration
from ...model.contact.methods import touches
from ...native.function import Function, compile_function
from ...symbolic.expr import Expr
from ...systems.found_inputs import called_slopes, find_inputs
from ...systems.state import State
from ...systems.touching import wrench_slopes
from ...systems.tree.partition import Partition, partition
from ..assemble import close_positions

if TYPE_CHECKING:
    from ...systems.system import System

#: Constraints off by more than this (m, rad) mean that a given state does not close the loops.
CLOSED = 1e-7


@dataclass(frozen=True)
class Point:
    """An instant of a motion: time, positions, velocities, accelerations, user states, inputs, multipliers."""

    t: float
    q: np.ndarray
    v: np.ndarray
    a: np.ndarray
    z: np.ndarray
    u: np.ndarray
    lam: np.ndarray

    def arrays(self) -> dict[str, np.ndarray]:
        """The arrays by the names the compiled functions use."""
        return {"t": np.array([self.t]), "q": self.q, "v": self.v, "a": self.a, "z": self.z, "u": self.u, "lam": self.lam}

    def with_values(self, **changes: Any) -> Point:
        """A copy with some arrays replaced."""
        return replace(self, **changes)

    def state(self, system: System) -> State:
        """The state (q, v, z) of this point."""
        memory = {
            n: float(x)
            for n, x in zip(system.model.inputs, self.u, strict=False)  # forces of rigid contacts stand behind
            if n in system.model.memories or n in system.model.unknowns
        }
        return State(system, self.q, self.v, self.z, self.t, memory)


@contextmanager
def temporary_parameters(system: System, values: Mapping[str, float] | None = None) -> Iterator[None]:
    """Other parameter values while the block runs; the old ones come back afterwards."""
    before = system.parameters
    try:
        if values:
            system.set_parameters(**values)
        yield
    finally:
        if system.parameters != before:
            system.set_parameters(**before)


class Residual:
    """Values and derivatives of a system's implicit equations, and of further expressions ``e`` of the user."""

    def __init__(self, system: System, parameters: Sequence[str] = (), extra: Mapping[str, Expr] | None = None) -> None:
        self.system = self.owner = system
        self.parameters = tuple(parameters)
        for name in parameters:
            system.model.parameter_set[name]
        self.extra = dict(extra or {})
        self.rows = [row.name for row in system.equations_of_motion.rows]
        s, m = system, len(self.rows)
        #: Rows of positions, before those of velocities alone.
        self.holonomic = s.equations_of_motion.holonomic
        self.sizes = {
            "r": s.nv,
            "h": self.holonomic,
            "w": m,
            "g": m,
            "f": s.nz,
            "y": len(s.model.outputs),
            "e": len(self.extra),
            "c": len(s.equations_of_motion.tree.prescribed),
        }
        self.widths = {"q": s.nv, "v": s.nv, "a": s.nv, "z": s.nz, "u": s.nu, "l": m, "p": len(self.parameters)}
        self._empty = not any(n for k, n in self.sizes.items() if k != "e")
        self._extra_value: Function | None = None
        self._extra_tangent: Function | None = None
        if self.extra:
            eq, given = system.equations_of_motion, list(self.extra.values())
            p: Any = system.parameter_vector if eq.p else None
            self._extra_value = compile_function(expressions(eq, given), p)
            self._extra_tangent = compile_function(expressions_tangent(eq, given, self.parameters), p)

    # -- values and derivatives -----------------------------------------------------------------------------------

    def _named(self, f: Function, arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        if f.signature.parameters and (f is self._extra_value or f is self._extra_tangent):
            f.set_parameters(self.system.parameter_vector)
        found = f(*(arrays[name] for name in f.inputs))
        return dict(zip(f.outputs, (found,) if len(f.outputs) == 1 else found, strict=True))

    def values(self, point: Point) -> dict[str, np.ndarray]:
        """r, h, w, g, f, y, c and e at a point."""
        self._find_inputs(point)
        found = {name: np.zeros(n) for name, n in self.sizes.items()}
        if not self._empty:
            found |= self._named(self.system.function("residual"), point.arrays())
        if self._extra_value is not None:
            found |= self._named(self._extra_value, point.arrays())
        bad = [name for name, x in found.items() if not np.all(np.isfinite(x))]
        if bad:
            raise SolverError(f"'{self.system.model.name}': the equations are not finite at this position ({self._bad(found, bad[0])})")
        return found

    def _find_inputs(self, point: Point) -> None:
        """Puts what follows from a point (unknowns, values of callbacks, forces of contacts that give way) among its inputs."""
        find_inputs(self.system.reference, np.array([point.t]), np.concatenate([point.q, point.v, point.z])[None], point.u[None])

    def _bad(self, found: Mapping[str, np.ndarray], name: str) -> str:
        i = int(np.flatnonzero(~np.isfinite(found[name]))[0])
        labels = {"r": self.system.velocity_names, "f": list(self.system.model.states), "y": list(self.system.model.outputs)}
        labels["c"] = [n for n, _ in drive_force_names(self.system.equations_of_motion)]
        return f"{labels.get(name, self.rows)[i]}" if i < len(labels.get(name, self.rows)) else name

    def derivatives(self, point: Point, wrt: str = "qvazup") -> dict[str, np.ndarray]:
        """Matrices by names such as "rq" = ∂r/∂q (positions along the velocities)."""
        self._find_inputs(point)
        tangents = [] if self._empty else [self.system.function("residual_tangent", parameters=self.parameters)]
        if self._extra_tangent is not None:
            tangents.append(self._extra_tangent)
        arrays = point.arrays() | {f"d{k}": np.zeros(n) for k, n in self.widths.items()}
        found = {o + k: np.zeros((m, n)) for o, m in self.sizes.items() for k, n in self.widths.items()}
        follow = bool(self.system.model.callbacks) or touches(self.system.model)
        for kind in dict.fromkeys(wrt + "u" if follow else wrt):
            direction = arrays[f"d{kind}"]
            for j in range(self.widths[kind]):
                direction[j] = 1.0
                for f in tangents:
                    for output, column in self._named(f, arrays).items():
                        found[output + kind][:, j] = column
                direction[j] = 0.0
        if follow:
            self._add_found(point, wrt, found)
        return found

    def _add_found(self, point: Point, wrt: str, found: dict[str, np.ndarray]) -> None:
        """Adds what follows from the change of contact forces and values of callbacks where anything else changes."""
        s = self.system.reference
        by_input = {o: found[o + "u"].copy() for o in self.sizes}
        slopes = []
        if s.model.callbacks:
            slopes.append(called_slopes(s, point.state(s), point.u))
        if touches(s.model):
            places, by_q, by_v = wrench_slopes(s, point.t, point.q, point.v, point.z, point.u)
            slopes.append((places, {"q": by_q, "v": by_v}))
        for places, by in slopes:
            by["p"] = self._by_parameters(point, places)
            for kind in set(by) & set(wrt):
                for o in self.sizes:
                    found[o + kind] += by_input[o][:, places] @ by[kind]

    def _by_parameters(self, point: Point, places: np.ndarray) -> np.ndarray:
        out = np.zeros((len(places), len(self.parameters)))
        for j, name in enumerate(self.parameters):
            value = self.system.parameters[name]
            step, sides = 1e-6 * max(abs(value), 1e-9), []
            for side in (1.0, -1.0):
                with temporary_parameters(self.system, {name: value + side * step}):
                    u = point.u[None].copy()
                    find_inputs(self.system.reference, np.array([point.t]), np.concatenate([point.q, point.v, point.z])[None], u)
                    sides.append(u[0, places])
            out[:, j] = (sides[0] - sides[1]) / (2.0 * step)
        return out

    def drive_forces(self, point: Point) -> dict[str, float]:
        """λ_c of every driven or locked coordinate by name (N, N m), with the multipliers of the point."""
        names = [name for name, _ in drive_force_names(self.system.equations_of_motion)]
        return dict(zip(names, self.values(point)["c"].tolist(), strict=True)) if names else {}

    # -- points ---------------------------------------------------------------------------------------------------

    def point(self, state: State, inputs: Mapping[str, float] | np.ndarray | None = None) -> Point:
        """A state with inputs, accelerations and multipliers still zero."""
        u = inputs if isinstance(inputs, np.ndarray) else self.system.inputs_at(state, inputs)
        zeros = np.zeros(self.system.nv)
        return Point(state.t, state.q.copy(), state.v.copy(), zeros, state.z.copy(), np.array(u, dtype=float), np.zeros(len(self.rows)))

    def jacobian(self, point: Point) -> np.ndarray:
        """J of all constraints."""
        if not self.rows:
            return np.zeros((0, self.system.nv))
        f = self.system.function("constraint_velocities")
        arrays = point.arrays()
        return np.array(f(*(arrays[n] for n in f.inputs))[1])

    def force_directions(self, point: Point) -> np.ndarray:
        """F of the forces Fᵀλ of constraints: J, but for friction that follows the forces of constraints."""
        return self.jacobian(point)

    def solve_motion(self, point: Point) -> Point:
        """Accelerations and multipliers of the actual motion (constraints redundant or not)."""
        J, F = self.jacobian(point), self.force_directions(point)
        n, m = self.system.nv, len(self.rows)
        start = point.with_values(a=np.zeros(n), lam=np.zeros(m))
        for _ in range(3 if self._force_needs_acceleration else 1):
            M = self.derivatives(start, "a")["ra"]
            values = self.values(start)
            K = np.block([[M, -F.T], [J, np.zeros((m, m))]])
            rhs = -np.concatenate([values["r"], values["g"]])
            step = _solve(K, rhs, m == 0)
            if step is None:
                raise SolverError(f"'{self.system.model.name}': the mass matrix is singular: {self._massless(M, J)}")
            start = start.with_values(a=start.a + step[:n], lam=start.lam + step[n:])
        return start

    @property
    def _force_needs_acceleration(self) -> bool:
        return loads_need_acceleration(self.system.equations_of_motion)

    def _massless(self, M: np.ndarray, J: np.ndarray) -> str:
        Z = independent_basis(J, partition(J))
        _, _, vt = np.linalg.svd(Z.T @ M @ Z)
        name = self.system.velocity_names[int(np.argmax(np.abs(Z @ vt[-1])))].removesuffix("_rate")
        return f"nothing with mass moves with '{name}'; give the body behind it mass or lock the joint"


def _solve(K: np.ndarray, rhs: np.ndarray, square: bool) -> np.ndarray | None:
    """Solution of the saddle-point system; redundant constraints give the multipliers of least norm."""
    if K.shape[0] == 0:
        return np.zeros(0)
    scale = 1.0 / np.sqrt(np.maximum(np.abs(K).max(axis=1), 1e-300))
    A = scale[:, None] * K * scale
    if square and np.linalg.cond(A) > 1e14:
        return None
    y, *_ = np.linalg.lstsq(A, scale * rhs, rcond=1e-13)
    if np.abs(A @ y - scale * rhs).max() > 1e-6 * (1.0 + np.abs(scale * rhs).max()):
        return None
    return np.asarray(scale * y)


# --- independent motions -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Split:
    """Independent and dependent directions of positions (holonomic rows) and of velocities (all rows)."""

    position: Partition
    velocity: Partition
    Zq: np.ndarray
    Zv: np.ndarray

    @property
    def condition(self) -> float:
        """Near zero where the partition is badly conditioned."""
        return min(self.position.condition, self.velocity.condition)


def split(
    system: System, J: np.ndarray, preferred: Sequence[int] = (), steady: Sequence[int] | None = None, holonomic: int | None = None
) -> Split:
    """The split at a position with the constraint Jacobian J, whose first rows (the model's by default) are ``holonomic``.

    ``preferred`` positions are independent if they can be; where rolling constrains velocities further, ``steady`` velocities
    are (all independent positions' by default).
    """
    n = system.equations_of_motion.holonomic if holonomic is None else holonomic
    position = partition(J[:n], preferred)
    velocity = position if n == len(J) else partition(J, steady or position.independent)
    return Split(position, velocity, independent_basis(J[:n], position), independent_basis(J, velocity))


def independent_basis(J: np.ndarray, parts: Partition) -> np.ndarray:
    """Z with J Z = 0 and unit rows at the independent columns (one column for each)."""
    Z = np.zeros((J.shape[1], len(parts.independent)))
    Z[parts.independent, np.arange(len(parts.independent))] = 1.0
    if parts.dependent:
        Z[parts.dependent] = dependent_change(J, parts, J[:, parts.independent])
    return Z


def dependent_change(J: np.ndarray, parts: Partition, change: np.ndarray) -> np.ndarray:
    """Change of the dependent columns that makes up for a change of the constraints: −J_v⁻¹ change."""
    if not parts.dependent:
        return np.zeros((0, *change.shape[1:]))
    return np.asarray(-np.linalg.solve(J[np.ix_(parts.active, parts.dependent)], change[parts.active]))


def least_multipliers(J: np.ndarray, force: np.ndarray) -> np.ndarray:
    """Multipliers of least norm with Jᵀλ = force (unique where no constraint is redundant)."""
    if not len(J):
        return np.zeros(0)
    return np.asarray(np.linalg.lstsq(J.T, force, rcond=1e-10)[0])


def spin_terms(system: System, v: np.ndarray) -> np.ndarray:
    """S with d(δq)/dt = δv − S δq: zero but for quaternions, where δθ̇ = δω − ω × δθ in the child's axes."""
    S = np.zeros((system.nv, system.nv))
    for _, j in system.configuration.quaternions:
        x, y, z = v[j : j + 3]
        S[j : j + 3, j : j + 3] = [[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]]
    return S


def closed_state(system: System, given: State | Mapping[str, Any] | None, guess: bool = False) -> State:
    """A state with closed loops: named values are assembled, a state is checked.

    With ``guess`` values that cannot all be kept, or a state that is not closed, are where closing starts.
    """
    if not isinstance(given, State):
        if system.equations_of_motion.rows and (given is None or isinstance(given, Mapping)):
            return _assembled(system, dict(given or {}), guess)
        return system.state(given)
    if system.equations_of_motion.holonomic:
        h, _ = system.function("constraints")(np.array([given.t]), given.q)
        i = int(np.argmax(np.abs(h)))
        if abs(h[i]) > CLOSED and guess:
            return given.with_values(q=close_loops(system, given.q, (), given.t))
        if abs(h[i]) > CLOSED:
            name = system.equations_of_motion.rows[i].name
            raise InputError(
                f"'{system.model.name}': the state does not close the loops ({name} is off by {h[i]:.3g}); use assemble() first"
            )
    return given


def _assembled(system: System, given: dict[str, Any], guess: bool) -> State:
    own = {n: given.pop(n) for n in list(given) if n in {*system.model.states, *system.model.memories, *system.model.unknowns}}
    named = system.state(own)
    try:
        return system.assemble(given).with_values(z=named.z, memory=named.memory)
    except SolverError:
        if not guess:
            raise
    rates = {n: given.pop(n) for n in list(given) if n in system.velocity_names}
    return system.assemble(guess=given, velocities=rates).with_values(z=named.z, memory=named.memory)


def outer(system: System, u: np.ndarray) -> dict[str, float]:
    """Inputs from outside by name; memories are part of states."""
    known = dict(zip(system.model.inputs, u.tolist(), strict=False))  # forces of rigid contacts stand behind
    return {n: known[n] for n in system.model.outer_inputs}


def close_loops(system: System, q: np.ndarray, held: Sequence[int], t: float) -> np.ndarray:
    """Positions with closed loops and held columns."""
    return np.asarray(close_positions(system, q, held, np.ones(system.nv), t)[0])
