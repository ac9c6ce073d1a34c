"""Equations of motion of a whole model: tree, loads, constraints and user states put together.

q̇ = N(q) v,   M(q) v̇ + c(q, v) = Q(t, q, v, z, u) + Jᵀλ,   h(q, t) = 0,   w(q, v, t) = 0,   ż = f
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..errors import InputError, JourdainError, ModelError
from ..model.bodies import Frame
from ..model.constraints import Closure, Equation
from ..model.joints import Coordinate, Joint
from ..model.model import Model
from ..model.sensors import Sensor
from ..symbolic.derivatives import jvp, sparse_jacobian
from ..symbolic.expr import HALF, KINDS, ONE, PARAMETER, ZERO, Expr, add, mul, neg, sub
from ..symbolic.functions import minimum, tanh
from ..symbolic.graph import count, evaluate, free_symbols, substitute, topological
from ..symbolic.vectors import NULL, Vector
from .loads import act, measured
from .loops.closure_rates import ClosureRates
from .loops.loop_closure import RelativePose, closure_rows, cut_joint_closure, measured_coordinate
from .tree.kinematics import Kinematics
from .tree.links import Wrench
from .tree.tree import Tree, prescribed_rates
from .unknowns import Elimination, eliminate

#: Speed over which the dry friction constant of a joint is smoothed, rad/s or m/s.
FRICTION_SPEED = 1e-3
#: A constraint that no motion changes holds if it is below this.
HOLDS = 1e-12
#: Values of all symbols, and how many, at which a row that holds by itself is seen to do so.
ANYWHERE, SAMPLES = (0.2, 1.2), 2


@dataclass(frozen=True)
class Row:
    """One scalar constraint: its name, the expression, and whether it constrains velocities only.

    ``velocity`` is what stands for ḣ, where it is simpler and the same on the constraint (None: ḣ itself).
    """

    name: str
    expression: Expr
    nonholonomic: bool
    velocity: Expr | None = None


class Equations:
    """Everything a model says, as expressions of t, q, v, a, z (user states), u (inputs) and p (parameters).

    ``freed=True`` takes driven and locked coordinates as free ones.
    """

    def __init__(self, model: Model, freed: bool = False) -> None:
        self.model = model
        self.tree = Tree(model, freed=freed)
        self.kinematics = Kinematics(self.tree)
        self.q, self.v, self.a = self.tree.q, self.tree.v, self.tree.a
        self.t = model.time
        self.u = tuple(i.symbol for i in model.inputs.values())
        self.z = tuple(s.symbol for s in model.states.values())
        self.p = model.parameter_set.symbols

    # -- configuration --------------------------------------------------------------------------------------------

    @cached_property
    def position_rates(self) -> list[Expr]:
        """q̇ = N(q) v."""
        rates: list[Expr] = []
        for c in self.tree.coordinates:
            rates += quaternion_rates(c) if c.is_quaternion else list(c.v)
        return rates

    @property
    def flow(self) -> dict[Expr, Expr]:
        """Directions of a total time derivative at constant velocities: q → N v, t → 1."""
        return {**dict(zip(self.q, self.position_rates, strict=True)), self.t: ONE}

    # -- readings -------------------------------------------------------------------------------------------------

    def resolve(self, expressions: Sequence[Expr]) -> list[Expr]:
        """Expressions with sensors, link lengths, prescribed and cut coordinates replaced by what they stand for."""
        self._sense_late()
        return substitute(expressions, self.readings)

    def _sense_late(self) -> None:
        """Adds what sensors are asked for the first time after compilation."""
        for reading, (sensor, quantity, index) in self.model._readings.items():
            if reading not in self.readings:
                self.readings[reading] = self._sense(sensor, quantity)[index]

    @cached_property
    def readings(self) -> dict[Expr, Expr]:
        """What each reading stands for, and each unknown."""
        return {**self._measured, **self._eliminated(self._measured)}

    def _eliminated(self, readings: Mapping[Expr, Expr]) -> dict[Expr, Expr]:
        """What the algebraic unknowns stand for."""
        self.elimination = Elimination({}, {}, {})
        if self.model.unknowns:
            self.elimination = eliminate(self.model, readings)
        return self.elimination.values

    @property
    def sought(self) -> list[str]:
        """Names of the unknowns that Newton's method finds."""
        self.readings  # noqa: B018 - eliminates them
        return list(self.elimination.residuals)

    @cached_property
    def _measured(self) -> dict[Expr, Expr]:
        """What sensors, link lengths, prescribed and cut coordinates stand for."""
        known: dict[Expr, Expr] = {}
        for c in self.tree.prescribed:
            assert c.motion is not None
            known[c.q[0]], known[c.v[0]], known[c.a[0]] = prescribed_rates(self.t, c.motion)
        for joint in self.tree.cuts:
            self._measure_cut(joint, known)
        for load in self.model.loads.values():
            known.update(zip(load.readings.values(), measured(load, self), strict=True))
        cache: dict[tuple[str, str], list[Expr]] = {}
        for reading, (sensor, quantity, index) in self.model._readings.items():
            key = (sensor.name, quantity)
            if key not in cache:
                cache[key] = self._sense(sensor, quantity)
            known[reading] = cache[key][index]
        return known

    def _measure_cut(self, joint: Joint, known: dict[Expr, Expr]) -> None:
        if joint.kind in ("revolute", "prismatic"):
            c = joint.coordinates[0]
            position, _ = measured_coordinate(self.kinematics, joint)
            known[c.q[0]] = position
            known[c.v[0]] = jvp([position], self.flow)[0]

    def _sense(self, sensor: Sensor, quantity: str) -> list[Expr]:
        """Entries of a sensor's quantity, in the axes of its reference frame and as seen from it."""
        k = self.kinematics
        frame, reference = sensor.frame, sensor.reference
        if reference.body.is_ground and reference.is_origin:
            if quantity == "rotation":
                return k.rotation(frame).entries
            return list(getattr(k, quantity)(frame))
        base = k.common(frame, reference)
        R = k.rotation(reference, base)
        if quantity == "rotation":
            return (R.T @ k.rotation(frame, base)).entries
        d = k.position(frame, base) - k.position(reference, base)
        if quantity == "position":
            return list(R.T @ d)
        omega = k.angular_velocity(reference, base)
        turning = k.angular_velocity(frame, base) - omega
        if quantity == "angular_velocity":
            return list(R.T @ turning)
        relative = k.velocity(frame, base) - k.velocity(reference, base) - omega.cross(d)
        if quantity == "velocity":
            return list(R.T @ relative)
        alpha = k.angular_acceleration(reference, base)
        if quantity == "angular_acceleration":
            return list(R.T @ (k.angular_acceleration(frame, base) - alpha - omega.cross(turning)))
        carried = alpha.cross(d) + omega.cross(omega.cross(d)) + omega.cross(relative) * 2.0
        return list(R.T @ (k.acceleration(frame, base) - k.acceleration(reference, base) - carried))

    # -- loads ----------------------------------------------------------------------------------------------------

    @cached_property
    def _loads(self) -> tuple[list[Expr], dict[int, Wrench]]:
        joint_forces = [ZERO] * self.tree.nv
        wrenches: dict[int, Wrench] = {}
        self._drive_forces(joint_forces, wrenches)
        for load in self.model.loads.values():
            act(load, self, joint_forces, wrenches)
        return joint_forces, wrenches

    @property
    def joint_forces(self) -> list[Expr]:
        """Forces of the laws at joints, one for each velocity."""
        return self._loads[0]

    @property
    def wrenches(self) -> dict[int, Wrench]:
        """Resultant of links and frame loads on each link, about its origin, in its axes."""
        return self._loads[1]

    def add_joint_force(self, joint: Joint, c: Coordinate, force: Expr, forces: list[Expr], wrenches: dict[int, Wrench]) -> None:
        """A force on a coordinate of a joint, on both bodies where the joint closes a loop."""
        index = self.tree._velocity_index.get(id(c))
        if index is not None:
            forces[index] = add(forces[index], force)
        elif c.motion is None:
            self._cut_force(joint, force, wrenches)

    def add_mode_force(self, c: Coordinate, force: Expr, forces: list[Expr]) -> None:
        """A force on the amplitude of a mode."""
        index = self.tree._velocity_index[id(c)]
        forces[index] = add(forces[index], force)

    def _cut_force(self, joint: Joint, force: Expr, wrenches: dict[int, Wrench]) -> None:
        """A force along or a torque about the axis of a joint that closes a loop, on both bodies."""
        _, axis = measured_coordinate(self.kinematics, joint)
        base = self.kinematics.common(joint.parent, joint.child)
        f, n = (axis * force, NULL) if joint.kind == "prismatic" else (NULL, axis * force)
        self.add_wrench(joint.child, f, n, base, wrenches)
        self.add_wrench(joint.parent, -f, -n, base, wrenches)

    def _drive_forces(self, forces: list[Expr], wrenches: dict[int, Wrench]) -> None:
        """Damping, friction and stiffness constants declared with the joints."""
        for joint in self.model.joints.values():
            drive = joint.drive
            if drive.damping is ZERO and drive.friction is ZERO and drive.stiffness is ZERO:
                continue
            c = joint.coordinates[0]
            x, v = self.resolve([c.q[0], c.v[0]])
            total = add(mul(drive.damping, v), mul(drive.friction, tanh(v / FRICTION_SPEED)))
            total = add(total, mul(drive.stiffness, sub(x, drive.rest)))
            self.add_joint_force(joint, c, neg(total), forces, wrenches)

    def add_wrench(self, frame: Frame, force: Vector, torque: Vector, base: int, wrenches: dict[int, Wrench]) -> None:
        """A force at a frame's origin and a torque, in the axes of a link, on the link that carries the frame."""
        link, f, n = self.kinematics.wrench_on_link(frame, force, torque, base)
        if link >= 0:
            before = wrenches.get(link, (NULL, NULL))
            wrenches[link] = (before[0] + f, before[1] + n)

    @cached_property
    def generalised_forces(self) -> list[Expr]:
        """Q(t, q, v, z, u): all loads projected on the coordinates."""
        projected = project_wrenches(self.tree, self.wrenches)
        return [add(a, b) for a, b in zip(self.joint_forces, projected, strict=True)]

    @cached_property
    def state_rates(self) -> list[Expr]:
        """ż of the user's states."""
        missing = [s.name for s in self.model.states.values() if s.rate is None]
        if missing:
            raise ModelError(f"state '{missing[0]}' has no differential equation; give it with m.rate(state, expression)")
        return self.resolve([s.rate for s in self.model.states.values() if s.rate is not None])

    @cached_property
    def explicit_state_rates(self) -> list[Expr]:
        """ż where accelerations are not known before it: a rate that reads them is refused."""
        for name, rate in zip(self.model.states, self.state_rates, strict=True):
            if rate.deps & KINDS["acceleration"]:
                raise ModelError(
                    f"state '{name}': its rate reads accelerations, which are found after it unless the system is a tree in recursive or "
                    "semi-recursive form; filter a velocity instead, as m.derivative(name, sensor.velocity[0], frequency) does"
                )
        return self.state_rates

    @cached_property
    def memory_updates(self) -> list[Expr]:
        """What the memories become when a step is accepted."""
        missing = [m.name for m in self.model.memories.values() if m.update is None]
        if missing:
            raise ModelError(f"memory '{missing[0]}' is never renewed; give m.update(memory, expression), or use an input")
        return self.resolve([m.update for m in self.model.memories.values() if m.update is not None])

    @cached_property
    def potential(self) -> Expr:
        """Potential energy of springs (gravity apart)."""
        total = ZERO
        for load in self.model.loads.values():
            total = add(total, load.potential)
        for joint in self.model.joints.values():
            if joint.drive.stiffness is not ZERO:
                x = sub(joint.coordinates[0].q[0], joint.drive.rest)
                total = add(total, mul(HALF, mul(joint.drive.stiffness, mul(x, x))))
        return self.resolve([total])[0]

    # -- constraints ----------------------------------------------------------------------------------------------

    @cached_property
    def closures(self) -> list[Closure]:
        """Loop closures: cut joints first, then those the user declared."""
        declared = [c for c in self.model.constraints.values() if isinstance(c, Closure)]
        return [*(cut_joint_closure(j) for j in self.tree.cuts), *declared]

    def closure_wrench(self, closure: Closure, multipliers: Mapping[str, Expr]) -> tuple[int, Vector, Vector]:
        """Force at the second frame's origin and torque on it for multipliers by row name, with the link of their axes.

        The first frame's body feels exactly the opposite wrench.
        """
        force, torque = NULL, NULL
        for i, part in enumerate(closure_rows(self.kinematics, closure)):
            lam = multipliers.get(f"{closure.name}[{i + 1}]")
            if lam is not None:
                force, torque = force + part.force * lam, torque + part.torque * lam
        return self.kinematics.common(closure.a, closure.b), force, torque

    @cached_property
    def rows(self) -> list[Row]:
        """All scalar constraints that do not hold by themselves, holonomic ones first."""
        found: list[Row] = []
        for closure in self.closures:
            for i, part in enumerate(closure_rows(self.kinematics, closure)):
                self._add_row(found, f"{closure.name}[{i + 1}]", part.h, False, part.velocity)
        for item in self.model.constraints.values():
            if isinstance(item, Equation):
                self._refuse_unknowns(item)
                self._add_row(found, item.name, self.resolve([item.expression])[0], item.nonholonomic)
        found = self._without_idle(found)
        return [r for r in found if not r.nonholonomic] + [r for r in found if r.nonholonomic]

    def _without_idle(self, found: list[Row]) -> list[Row]:
        """Rows without those of joints and closures that hold by themselves but for rounding, as between frames turned by numbers: they would be divided by it.

        What vanishes at random values of everything vanishes everywhere.  Rows of rods are squares of lengths, which may be as small.
        """
        owners = {*self.model.joints, *(c.name for c in self.closures if c.kind != "rod")}
        asked = [r for r in found if r.name.rpartition("[")[0] in owners]
        if not asked:
            return found
        rng = np.random.default_rng(0)
        values = {s: rng.uniform(*ANYWHERE, SAMPLES) for s in free_symbols([r.expression for r in asked])}
        largest = [np.abs(h).max() for h in evaluate([r.expression for r in asked], values)]
        idle = {r.name for r, h in zip(asked, largest, strict=True) if h < HOLDS}
        return [r for r in found if r.name not in idle]

    def _refuse_unknowns(self, item: Equation) -> None:
        """Constraints hold positions and velocities, which no unknown can move."""
        own = {w.symbol: name for name, w in self.model.unknowns.items()}
        named = [own[s] for s in free_symbols([item.expression]) if s in own]
        if named:
            raise ModelError(
                f"constraint '{item.name}' speaks of the unknown '{named[0]}'; let a force law do so, or make it part of its equation"
            )

    @cached_property
    def declared_rows(self) -> list[str]:
        """Names of all scalar constraints in the order of the closures and equations, those that hold by themselves included."""
        found = [f"{c.name}[{i + 1}]" for c in self.closures for i in range(len(closure_rows(self.kinematics, c)))]
        return found + [c.name for c in self.model.constraints.values() if isinstance(c, Equation)]

    @cached_property
    def idle_rows(self) -> list[str]:
        """Names of constraints that hold by themselves, such as those of a second hinge on the axis of a first.

        They restrict no motion, but their multipliers may be anything: what their joints transmit is not determined.
        """
        used = {r.name for r in self.rows}
        return [name for name in self.declared_rows if name not in used]

    def _add_row(self, found: list[Row], name: str, e: Expr, nonholonomic: bool, velocity: Expr | None = None) -> None:
        if e is ZERO or (e.is_number and abs(float(e)) < HOLDS):
            return
        if e.is_number:
            raise ModelError(f"constraint '{name}' cannot be met: it reads {float(e):g} = 0 whatever the position")
        if not e.deps & ~PARAMETER:
            self._check_condition(name, e, self.model.parameter_set.values(), ModelError)
            self.conditions[name] = e
            return
        found.append(Row(name, e, nonholonomic, velocity))

    @cached_property
    def conditions(self) -> dict[str, Expr]:
        """Rows that depend on parameters alone, by name, found with the others: no motion can meet them, the values must."""
        return {}

    def check_parameters(self, values: Sequence[float] | np.ndarray) -> None:
        """Raises an error if the parameters contradict a constraint that depends on nothing else."""
        self.rows  # noqa: B018 - finds the conditions
        for name, e in self.conditions.items():
            self._check_condition(name, e, values, InputError)

    def _check_condition(self, name: str, e: Expr, values: Sequence[float] | np.ndarray, error: type[JourdainError]) -> None:
        residual = float(evaluate([e], dict(zip(self.p, values, strict=True)))[0])
        if abs(residual) >= HOLDS:
            involved = set(free_symbols([e]))
            used = ", ".join(f"{p} = {x:g}" for p, x in zip(self.p, values, strict=True) if p in involved)
            raise error(
                f"constraint '{name}' depends on parameters alone and cannot be met: it reads {residual:g} = 0 with {used}; "
                "give values with which it holds"
            )

    @cached_property
    def orientation_checks(self) -> dict[str, Expr]:
        """Smallest product of equal axes for closures that hold an orientation: 1 when met, −1 when turned by π."""
        found: dict[str, Expr] = {}
        for closure in self.closures:
            if closure.kind in ("body", "fixed", "prismatic"):
                pose = RelativePose(self.kinematics, closure.a, closure.b)
                x, y, z = (pose.A.column(i).dot(pose.B.column(i)) for i in range(3))
                found[closure.name] = minimum(minimum(x, y), z)
        return found

    @property
    def holonomic(self) -> int:
        """Number of holonomic rows."""
        return sum(not r.nonholonomic for r in self.rows)

    @cached_property
    def constraint_velocities(self) -> list[Expr]:
        """J v + ∂h/∂t for holonomic rows, w itself for nonholonomic ones."""
        rates = iter(jvp([r.expression for r in self.rows if not r.nonholonomic and r.velocity is None], self.flow))
        return [r.expression if r.nonholonomic else next(rates) if r.velocity is None else r.velocity for r in self.rows]

    @cached_property
    def constraint_jacobian(self) -> dict[tuple[int, int], Expr]:
        """Non-zero entries of J = ∂(constraint velocity)/∂v."""
        return self._constraint_rates[0]

    @cached_property
    def constraint_accelerations(self) -> list[Expr]:
        """The part of the constraints' acceleration that does not depend on v̇: J v̇ + this = 0."""
        return self._constraint_rates[1]

    @cached_property
    def _constraint_rates(self) -> tuple[dict[tuple[int, int], Expr], list[Expr]]:
        """J and the velocity terms by the way with fewer operations: differentiation of the graph or unit joint velocities."""
        if not self.rows:
            return {}, []
        ways = [self.rates_by_differentiation]
        if self.closures and isinstance(self.tree, Tree):
            ways.append(self.rates_by_unit_velocities)
        return min(ways, key=lambda way: count(e for e in topological([*way[0].values(), *way[1]]) if e.deps & ~PARAMETER).flops)

    @cached_property
    def rates_by_differentiation(self) -> tuple[dict[tuple[int, int], Expr], list[Expr]]:
        """J and the velocity terms of all rows by differentiating them."""
        return sparse_jacobian(self.constraint_velocities, self.v), jvp(self.constraint_velocities, self.flow)

    @cached_property
    def rates_by_unit_velocities(self) -> tuple[dict[tuple[int, int], Expr], list[Expr]]:
        """J and the velocity terms, those of closures by unit joint velocities (García de Jalón et al. 2003)."""
        # a rod whose length changes in time has further terms, which differentiation gives
        still = [c for c in self.closures if not (isinstance(c.data, Expr) and c.data.deps & KINDS["time"])]
        by_name = {f"{c.name}[{i + 1}]": r for c in still for i, r in enumerate(ClosureRates(self.kinematics, c).rows())}
        J: dict[tuple[int, int], Expr] = {}
        rates = [ZERO] * len(self.rows)
        others = []
        for i, row in enumerate(self.rows):
            if row.name in by_name:
                slopes, rates[i] = by_name[row.name]
                J |= {(i, j): slopes[j] for j in sorted(slopes) if slopes[j] is not ZERO}
            else:
                others.append(i)
        if others:
            velocities = [self.constraint_velocities[i] for i in others]
            J |= {(others[k], j): e for (k, j), e in sparse_jacobian(velocities, self.v).items()}
            for i, e in zip(others, jvp(velocities, self.flow), strict=True):
                rates[i] = e
        return J, rates


def quaternion_rates(c: Coordinate) -> list[Expr]:
    """ė = ½ e ∘ (0, ω) for a unit quaternion (scalar first) and the angular velocity in child axes."""
    e0, e1, e2, e3 = c.q
    x, y, z = (mul(HALF, w) for w in c.v)
    return [
        neg(add(add(mul(e1, x), mul(e2, y)), mul(e3, z))),
        add(mul(e0, x), sub(mul(e2, z), mul(e3, y))),
        add(mul(e0, y), sub(mul(e3, x), mul(e1, z))),
        add(mul(e0, z), sub(mul(e1, y), mul(e2, x))),
    ]


def project_wrenches(tree: Tree, wrenches: Mapping[int, Wrench]) -> list[Expr]:
    """Generalised forces Σ Jᵀ(F, N) of wrenches on links, by one sweep inwards."""
    forces = [ZERO] * tree.nv
    totals: dict[int, Wrench] = dict(wrenches)
    for link in reversed(tree.links):
        if link.index not in totals:
            continue
        link.add_forces(forces, *totals[link.index])
        if link.parent >= 0:
            f, n = link.inwards(*totals[link.index])
            before = totals.get(link.parent, (NULL, NULL))
            totals[link.parent] = (before[0] + f, before[1] + n)
    return forces
