"""Equilibrium, small motions and forces along a motion, computed by the elements of the energy-consistent engine.

    M ẍ + f(x, ẋ, t) + Ḡᵀλ = 0        projected on the free motions X Z of the model's joints

The positions and motions that are asked about, and those that are found, are in the joint coordinates of the reference system.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError, SolverError
from ...formalisms.equations import Equations
from ...formalisms.functions.drive_forces import drive_force_names
from ...formalisms.functions.registry import derive
from ...symbolic.expr import Expr
from ...symbolic.graph import evaluate
from ...systems.assembled.from_model import DirectorAssembly
from ...systems.assembled.instant import Instant
from ...systems.assembled.joint_coordinates import DirectorMotion, skew
from ...systems.constraints import velocity_column
from ...systems.descriptor.poses import tree_accelerations, tree_states
from ...systems.state import State
from ..equilibrium import Entry, Equilibrium, starting_point
from ..equilibrium import equilibrium as tree_equilibrium
from ..inverse_dynamics import LEFT_OVER, Actuator, ActuatorForces, StaticForces, as_motion, find_actuators, inputs_along, underactuated
from ..linearise import ORDER, Basis, LinearSystem, assembled, named_outputs, reference
from .balance import coordinate_label
from .residual import Point, Residual, Split, close_loops, closed_state, least_multipliers, outer, split, temporary_parameters

if TYPE_CHECKING:
    from ...systems.assembled.directors import DirectorSystem
    from ...systems.tree.system import TreeSystem


@dataclass
class Place:
    """The engine's equations at a point of the tree: coordinates, rates, accelerations, mass, rows and forces."""

    point: Point
    x: np.ndarray
    xd: np.ndarray
    xdd: np.ndarray
    now: Instant

    @property
    def need(self) -> np.ndarray:
        """M ẍ + f: what constraints and actuators must supply."""
        return np.asarray(self.now.mass @ self.xdd + self.now.force)


#: Sums below this part of what their terms could give are zero: a double eigenvalue zero would be split by the root of it.
ROUNDING = 256.0 * float(np.finfo(float).eps)


class DirectorEngine:
    """The elements of a model asked at points of its tree; ``held`` inputs may be differentiated by and changed."""

    def __init__(self, formulation: DirectorSystem, start: State, inputs: Mapping[str, float], held: Sequence[str] = ()) -> None:
        self.system: TreeSystem = formulation.reference
        also = [n for n in formulation.model.memories if n not in held]
        self.built = DirectorAssembly(formulation.own, start, inputs, [*held, *also])
        self.motion = DirectorMotion(self.built)
        self.equations = self.built.system.equations
        self.residual = Residual(self.system)
        self.offsets = {h.name: h.offset for h in self.built.system.handles}
        self.rows = [f"{instance}.{row}" for instance, row in self.equations.row_names]
        self._inner = self.equations.inside_bodies
        #: Coordinates with mass and forces.
        self.free = self.equations.free & ~self.equations.first

    def place(self, point: Point) -> Place:
        """The equations at a point."""
        x, xd, xdd = self.motion.at(point)
        return Place(point, x, xd, xdd, self.equations.at(x, xd, point.t))

    def solved(self, point: Point) -> tuple[Point, np.ndarray]:
        """The point with the accelerations of its motion and the tree's multipliers; the multipliers of the engine."""
        x, xd, _ = self.motion.at(point)
        a, lam = self.equations.accelerations(x, xd, point.t)
        v, w = self.motion.accelerations(x, a)
        still = point.with_values(a=tree_accelerations(self.system, point.state(self.system), v, w), lam=0.0 * point.lam)
        return still.with_values(lam=least_multipliers(self.residual.jacobian(point), self.residual.values(still)["r"])), lam

    def multipliers(self, place: Place, acting: np.ndarray | float = 0.0) -> np.ndarray:
        """λ of least norm that, with generalised forces ``acting``, balances a motion."""
        if not place.now.acting.shape[0]:
            return np.zeros(0)
        rows = place.now.acting[:, self.free].toarray()
        right = (acting - place.need)[self.free]
        return np.asarray(np.linalg.lstsq(rows.T, right, rcond=1e-12)[0])

    def named(self, lam: np.ndarray) -> dict[str, Any]:
        """Multipliers of joints and closures by element and row (those inside bodies left out)."""
        return {name: x for name, x, inner in zip(self.rows, lam.T, self._inner, strict=True) if not inner}

    # -- small motions --------------------------------------------------------------------------------------------

    def dynamics(self, point: Point, lam: np.ndarray, parts: Split) -> Callable[[Basis], tuple[np.ndarray, dict[str, np.ndarray]]]:
        """M_r and the changes of the projected forces about a point."""
        place = self.place(point)
        K, C = self.equations.tangent(place.x, place.xd, point.t, lam)

        def of(basis: Basis) -> tuple[np.ndarray, dict[str, np.ndarray]]:
            X = self.motion.rates(point, parts.Zv)
            force = {}
            for kind in ORDER:
                dx, dv, da = self.motion.changes(point, basis.dq[kind], basis.dv[kind], basis.da[kind])
                if kind == "z":
                    dx[self.motion.states] = np.eye(self.system.nz)
                terms = ((K, dx), (C, dv), (place.now.mass, da))
                force[kind] = X.T @ sum(A @ d for A, d in terms)
                size = np.abs(X).T @ sum(abs(A) @ np.abs(d) for A, d in terms)
                force[kind][np.abs(force[kind]) < ROUNDING * size] = 0.0
            for j, name in enumerate(self.system.model.inputs):
                if (block := f"input {name}") in self.offsets:
                    force["u"][:, j] += X.T @ K[:, self.offsets[block]].toarray().ravel()
            return X.T @ (place.now.mass @ X), force

        return of

    # -- forces ---------------------------------------------------------------------------------------------------

    def drive_forces(self, place: Place, lam: np.ndarray) -> dict[str, float]:
        """Forces of driven and locked joints: the multiplier of their row, or what the rows of their joint transmit along the coordinate."""
        eq = self.system.equations_of_motion
        found = {}
        for (label, _), c in zip(drive_force_names(eq), eq.tree.prescribed, strict=True):
            joints = [j.name for j in eq.model.joints.values() if any(x is c for x in j.coordinates)]
            servo = [k for k, (name, _) in enumerate(self.equations.row_names) if name in {f"{j}.drive" for j in joints}]
            if servo:
                found[label] = -float(lam[servo].sum())
                continue
            own = [k for k, (name, _) in enumerate(self.equations.row_names) if name in joints]
            found[label] = -float((place.now.rows[own] @ self._released(c, place)) @ lam[own])
        return found

    def _released(self, c: Any, place: Place) -> np.ndarray:
        """Rates of the bodies for a unit rate of a prescribed coordinate, all others at rest."""
        eq = self.system.equations_of_motion
        freed = Equations(eq.model, freed=True)
        table = next(r for r in derive(freed, "bodies_motion").outputs if r.name == "J")
        column = freed.tree._velocity_index[id(c)]
        motion = eq.resolve([s for p in eq.tree.prescribed for s in (p.q[0], p.v[0])])
        values = self.motion.known(place.point)
        values |= dict(zip((s for p in eq.tree.prescribed for s in (p.q[0], p.v[0])), evaluate(motion, values), strict=True))
        twist = np.array(evaluate(list(table.expressions[column :: table.shape[1]]), values), dtype=float).reshape(-1, 6)
        x = np.zeros(self.motion.n)
        for k, at in enumerate(self.motion.bodies):
            d = place.x[at + 3 : at + 12].reshape(3, 3)
            x[at : at + 12] = np.concatenate([twist[k, :3], np.cross(twist[k, 3:], d).ravel()])
        return x

    def actuated(self, place: Place, items: Sequence[Actuator]) -> np.ndarray:
        """Generalised forces (columns) of a unit of each joint actuator: equal and opposite wrenches on the joint's two bodies."""
        E = np.zeros((self.motion.n, len(items)))
        p, R, _, _, J, _ = self.system.function("bodies_motion")(np.array([place.point.t]), place.point.q, place.point.v)
        for k, item in enumerate(items):
            if not item.is_input:
                self._motor(E[:, k], item.index, p, R, J)
        return E

    def _motor(self, force: np.ndarray, column: int, p: np.ndarray, R: np.ndarray, J: np.ndarray) -> None:
        """Adds the wrench that works on one velocity of a joint and on no other of its own."""
        c = self.system.configuration
        names = list(self.system.model.bodies)
        owner = next(x for x in c.coordinates if c.velocity_names[column] in x.velocity_names)
        used = [j for j in self.system.model.joints.values() if any(x is owner for x in j.coordinates)]
        if len(used) > 1:
            if owner.names[0] in self.offsets:  # a coordinate of several joints stands for itself
                force[self.offsets[owner.names[0]]] = 1.0
                return
            raise InputError(f"actuator '{owner.names[0]}' moves several joints; name one that moves one joint")
        joint = used[0]
        columns = [c.velocity_names.index(n) for x in joint.coordinates if x.motion is None for n in x.velocity_names]
        child = names.index(joint.child.body.name)
        arm = R[child] @ self.built.numbers(joint.child.position)
        S = J[6 * child : 6 * child + 6][:, columns].copy()
        S[:3] -= skew(arm) @ S[3:]
        size = np.linalg.norm(S, axis=0)
        S = S / size
        wrench = S @ np.linalg.solve(S.T @ S, np.eye(len(columns)))[:, columns.index(column)] / size[columns.index(column)]
        point = p[child] + arm
        for body, sign in ((joint.child.body, 1.0), (joint.parent.body, -1.0)):
            if body.is_ground:
                continue
            k, at = names.index(body.name), self.offsets[body.name]
            torque = wrench[3:] + np.cross(point - p[k], wrench[:3])
            force[at : at + 3] += sign * wrench[:3]
            force[at + 3 : at + 12] += sign * 0.5 * np.cross(torque, R[k].T).ravel()

    def needed(self, point: Point, items: Sequence[Actuator], start: np.ndarray) -> tuple[Place, np.ndarray, np.ndarray]:
        """Forces of least norm of actuators for a motion, and multipliers; inputs may act nonlinearly (Newton from ``start``)."""
        driven = [k for k, x in enumerate(items) if x.is_input]
        tau = np.array(start, dtype=float) if driven else np.zeros(len(items))
        free = self.free
        for _ in range(20 if driven else 1):
            u = point.u.copy()
            u[[items[k].index for k in driven]] = tau[driven]
            place = self.place(point.with_values(u=u))
            E = self.actuated(place, items)
            if driven:
                K, _ = self.equations.tangent(place.x, place.xd, point.t, np.zeros(len(self.rows)))
                for k in driven:
                    E[:, k] = -K[:, self.offsets[f"input {items[k].name}"]].toarray().ravel()
            Z = self._free_motions(place)
            joints = [k for k in range(len(items)) if k not in driven]
            need = place.need - E[:, joints] @ tau[joints]
            A, b = Z.T @ E[free], Z.T @ need[free]
            total = np.linalg.lstsq(A, b + A @ tau, rcond=1e-10)[0] if len(items) else np.zeros(0)
            step, tau = total - tau, total
            if np.abs(step).max(initial=0.0) <= 1e-13 * (1.0 + np.abs(tau).max(initial=0.0)):
                break
        left = b - A @ step
        limit = LEFT_OVER * (1.0 + np.abs(b).max(initial=0.0) + np.abs(tau).max(initial=0.0))
        if np.abs(left).max(initial=0.0) > limit:
            raise SolverError(underactuated(self.system, point, self._joint_rates(place, Z), A, left, items))
        acting = E @ tau if not driven else place.need - need + E @ step
        return place, tau, self.multipliers(place, acting)

    def _free_motions(self, place: Place) -> np.ndarray:
        """Orthonormal free motions of the engine's own constraints (columns)."""
        from scipy.linalg import null_space

        rows = place.now.rows[:, self.free].toarray()
        return np.asarray(null_space(rows, rcond=1e-9) if rows.size else np.eye(rows.shape[1]))

    def _joint_rates(self, place: Place, Z: np.ndarray) -> np.ndarray:
        """Velocities of the tree that belong to free motions of the engine."""
        full = np.zeros((self.motion.n, Z.shape[1]))
        full[self.free] = Z
        return np.asarray(np.linalg.lstsq(self.motion.rates(place.point, np.eye(self.system.nv)), full, rcond=1e-10)[0])


class DirectorResidual(Residual):
    """The equations of a tree with forces of the engine's elements: r = Xᵀ(M ẍ + f) − Jᵀλ; slopes for Newton's method are the tree's."""

    def __init__(
        self, formulation: DirectorSystem, system: TreeSystem, parameters: Sequence[str] = (), extra: Mapping[str, Expr] | None = None
    ) -> None:
        super().__init__(system, parameters, extra)
        self.formulation = formulation
        self._engine: tuple[np.ndarray, DirectorEngine] | None = None

    def engine(self, point: Point) -> DirectorEngine:
        """The engine with the present parameters."""
        present = self.system.parameter_vector
        if self._engine is None or not np.array_equal(self._engine[0], present):
            numbers = dict(zip(self.system.model.inputs, point.u.tolist(), strict=True))
            made = DirectorEngine(self.formulation, point.state(self.system), numbers, list(numbers))
            self._engine = present.copy(), made
        return self._engine[1]

    def values(self, point: Point) -> dict[str, np.ndarray]:
        """As in the tree, with the engine's forces."""
        found = super().values(point)
        engine = self.engine(point)
        force = engine.motion.rates(point, np.eye(self.system.nv)).T @ engine.place(point).need
        return found | {"r": force - (self.jacobian(point).T @ point.lam if self.rows else 0.0)}

    def drive_forces(self, point: Point) -> dict[str, float]:
        """Forces of driven and locked joints by the engine's multipliers."""
        engine = self.engine(point)
        place = engine.place(point)
        return engine.drive_forces(place, engine.multipliers(place))


# -- verbs ------------------------------------------------------------------------------------------------------------


def linearise(
    formulation: DirectorSystem, state: Any = None, inputs: Sequence[str] | None = None, outputs: Sequence[str] | Mapping[str, Expr] | None = None,
    u: Mapping[str, float] | None = None, preferred: Sequence[str] = (),
) -> LinearSystem:  # fmt: skip
    """The linear system about a state with mass, damping and stiffness of the engine's elements."""
    system = formulation.reference
    inputs = system.model.outer_inputs if inputs is None else list(inputs)
    system.check_inputs(inputs)
    named = named_outputs(system, outputs)
    with temporary_parameters(system, getattr(state, "exchanged_parameters", None)):
        start, values = reference(system, state, u)
        engine = DirectorEngine(formulation, start, dict(zip(system.model.inputs, values.tolist(), strict=True)), inputs)
        residual = Residual(system, extra={n: e for n, e in named.items() if isinstance(e, Expr)})
        point, lam = engine.solved(residual.point(start, values))
        J = residual.jacobian(point)
        parts = split(system, J, preferred=[velocity_column(system, n) for n in preferred])
        return assembled(residual, point, J, parts, inputs, named, engine.dynamics(point, lam, parts))


def equilibrium(
    formulation: DirectorSystem, x0: Any = None, inputs: Mapping[str, float] | None = None, iterations: int = 40
) -> Equilibrium:
    """A static equilibrium: the engine relaxes to a stable one near the state, then Newton's method makes it exact.

    Where drives move (centrifugal forces), Newton's method starts from the state itself.
    """
    system = formulation.reference
    start, u = starting_point(system, x0, inputs, "static")
    start = start.with_values(v=np.zeros(system.nv))
    numbers = dict(zip(system.model.inputs, u.tolist(), strict=True))
    _, _, moving, turning, _, _ = system.function("bodies_motion")(np.array([start.t]), start.q, start.v)
    steps, method = 0, "Newton"
    if not (np.any(moving) or np.any(turning)):
        start, steps = _relaxed(formulation, start, numbers)
        method = "relaxation, Newton"
    engine = DirectorEngine(formulation, start, numbers)
    point, parts, taken = _balanced(engine, engine.residual.point(start, u), iterations)
    return _found(formulation, engine, point, parts, steps + taken, method)


def balance(formulation: DirectorSystem, x0: Any, **options: Any) -> Equilibrium:
    """Equilibrium with exchanged variables, further equations or steady motion, by Newton's method on the engine's forces."""
    found = tree_equilibrium(formulation.reference, x0, make=partial(DirectorResidual, formulation), **options)
    return replace(found, system=formulation)


def _relaxed(formulation: DirectorSystem, start: State, inputs: Mapping[str, float]) -> tuple[State, int]:
    """The stable equilibrium to which the engine's implicit steps lead, with drives held in place."""
    system = DirectorAssembly(formulation.own, start, inputs, frozen=True).system
    found = system.equilibrium()
    offsets = [h.offset for h in system.handles[: len(formulation.model.bodies)]]
    p = np.array([[found.q[at : at + 3] for at in offsets]])
    R = np.array([[found.q[at + 3 : at + 12].reshape(3, 3).T for at in offsets]])
    rest = np.zeros_like(p)
    q = tree_states(formulation.reference, start, np.array([start.t]), p, R, rest, rest)[0, : formulation.reference.nq]
    return start.with_values(q=q), found.steps


def _balanced(engine: DirectorEngine, point: Point, iterations: int) -> tuple[Point, Split, int]:
    """Newton's method on the projected forces, loops closed after every step."""
    system = engine.system
    moved = np.inf
    for taken in range(iterations + 1):
        J = engine.residual.jacobian(point)
        parts = split(system, J)
        place = engine.place(point)
        lam = engine.multipliers(place)
        d = engine.residual.derivatives(point, "qvz")
        basis = Basis(system, point, J, parts, d)
        _, force = engine.dynamics(point, lam, parts)(basis)
        F = np.concatenate([engine.motion.rates(point, parts.Zv).T @ place.need, -place.now.force[engine.motion.states]])
        slopes = np.block([[force["q"], force["z"]], [basis.change(d, "f", "q"), d["fz"]]])
        step = -np.linalg.lstsq(slopes, F, rcond=1e-10)[0] if F.size else np.zeros(0)
        left = F + slopes @ step
        if np.abs(left).max(initial=0.0) > 1e-6 * (1.0 + np.abs(place.now.force).max(initial=0.0)):
            k = int(np.argmax(np.abs(left)))
            name = [*(coordinate_label(system, j) for j in parts.velocity.independent), *system.model.states][k]
            raise SolverError(
                f"equilibrium '{system.model.name}': nothing balances the force {left[k]:.4g} along '{name}'; start elsewhere or change the loads"
            )
        moved = float(np.abs(step).max(initial=0.0))
        if moved <= 1e-12:
            return point, parts, taken
        step *= min(1.0, 0.3 / moved)
        n = len(step) - system.nz
        q = system.configuration.integrate(point.q, parts.Zq @ step[:n])
        point = point.with_values(
            z=point.z + step[n:], q=close_loops(system, q, (), point.t) if system.equations_of_motion.holonomic else q
        )
        if moved <= 1e-9 and taken:
            return point, parts, taken + 1
    raise SolverError(
        f"equilibrium '{system.model.name}': Newton's method still moves by {moved:.3g} after {iterations} steps; start nearer to it"
    )


def _found(formulation: DirectorSystem, engine: DirectorEngine, point: Point, parts: Split, iterations: int, method: str) -> Equilibrium:
    system, c = engine.system, engine.system.configuration
    place = engine.place(point)
    lam = engine.multipliers(place)
    F = engine.motion.rates(point, parts.Zv).T @ place.need
    labels = [coordinate_label(system, j) for j in parts.velocity.independent]
    independent = {coordinate_label(system, j) for j in parts.position.independent}
    roles = [
        "found" if n in independent or any(x.startswith(n.rsplit(".e", 1)[0] + ".omega") for x in independent) else "dependent"
        for n in c.position_names
    ]
    entries = [Entry(n, float(x), unit, role) for n, x, unit, role in zip(c.position_names, point.q, c.units, roles, strict=True)]
    entries += [Entry(n, float(x), s.unit, "found") for (n, s), x in zip(system.model.states.items(), point.z, strict=True)]
    return Equilibrium(
        formulation, "static", point.state(system), outer(system, point.u), {}, entries,
        {f"force along '{n}'": float(x) for n, x in zip(labels, F, strict=True)}, {n: float(x) for n, x in engine.named(lam).items()},
        engine.drive_forces(place, lam), system.parameters, iterations, method, [],
    )  # fmt: skip


def inverse_dynamics_along(
    formulation: DirectorSystem, motion: Any, actuators: Sequence[str] | None = None, times: Any = None, x0: Any = None,
    inputs: Mapping[str, float] | None = None,
) -> ActuatorForces:  # fmt: skip
    """Forces of actuators along a motion, from the engine's equations at its instants."""
    system = formulation.reference
    path = as_motion(system, motion, times, x0)
    items = find_actuators(system, actuators)
    u = inputs_along(system, motion, path, inputs)
    engine = _engine(formulation, path.state(0), u[0], items)
    forces, lams, drives = np.zeros((len(path.t), len(items))), [], []
    tau = np.zeros(len(items))
    for k in range(len(path.t)):
        point = Point(float(path.t[k]), path.q[k], path.v[k], path.a[k], path.z, u[k].copy(), np.zeros(len(engine.residual.rows)))
        place, tau, lam = engine.needed(point, items, tau)
        forces[k] = tau
        lams.append(lam)
        drives.append(engine.drive_forces(place, lam))
    table = {n: np.array([d[n] for d in drives]) for n in drives[0]}
    return ActuatorForces(path, items, forces, engine.named(np.array(lams)), table)


def static_forces(
    formulation: DirectorSystem, state: Any = None, actuators: Sequence[str] | None = None, inputs: Mapping[str, float] | None = None
) -> StaticForces:
    """Forces of actuators (every joint by default) that hold a state at rest, from the engine's equations."""
    system = formulation.reference
    start = closed_state(system, state)
    rest = start.with_values(v=np.zeros(system.nv))
    items = find_actuators(system, [coordinate_label(system, j) for j in range(system.nv)] if actuators is None else actuators)
    u = system.inputs_at(start, inputs)
    engine = _engine(formulation, rest, u, items)
    point = engine.residual.point(rest, u)
    place, tau, lam = engine.needed(point, items, np.zeros(len(items)))
    f = system.function("loads")
    loads = f(*(point.arrays()[n] for n in f.inputs))
    return StaticForces(
        rest, {x.name: float(force) for x, force in zip(items, tau, strict=True)}, {x.name: x.unit for x in items},
        {n: float(x) for n, x in engine.named(lam).items()}, engine.drive_forces(place, lam),
        {coordinate_label(system, j): float(loads[j]) for j in range(system.nv)},
    )  # fmt: skip


def _engine(formulation: DirectorSystem, start: State, u: np.ndarray, items: Sequence[Actuator]) -> DirectorEngine:
    numbers = dict(zip(formulation.model.inputs, u.tolist(), strict=True))
    return DirectorEngine(formulation, start, numbers, [x.name for x in items if x.is_input])


__all__ = ["DirectorEngine", "equilibrium", "inverse_dynamics_along", "linearise", "static_forces"]
