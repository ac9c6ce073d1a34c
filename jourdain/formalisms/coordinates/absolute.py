"""Bodies with poses of their own: the loads, closures, sensors and laws of a model in absolute coordinates.

Every joint becomes a set of constraint rows between two bodies.  A joint coordinate that a law, an equation or a drive speaks of is
kept as a coordinate of its own (a *mixed* coordinate), tied to the bodies by rows: angles count turns, joint forces and rotor inertias
act on it directly, and the multipliers of its rows are what the joint transmits.

M ẍ = Q + Jᵀλ,   h(x, t) = 0,   w(x, ẋ, t) = 0        (many textbooks write −λ for λ)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from ...errors import InputError, ModelError
from ...model.bodies import Body, Frame
from ...model.constraints import Closure, Equation
from ...model.elastic.flexible import FlexibleBody
from ...model.joints import Coordinate, Drive, Joint, Motion
from ...model.model import Model
from ...model.topology import Topology
from ...symbolic.derivatives import jvp, sparse_jacobian
from ...symbolic.expr import ONE, TWO, ZERO, Expr, add, mul, neg, sub, symbol
from ...symbolic.functions import cos, sin
from ...symbolic.graph import free_symbols
from ...symbolic.vectors import IDENTITY, NULL, Matrix, Vector, axis_rotation, quaternion_rotation
from ..equations import Equations, Row
from ..loops.loop_closure import RelativePose, RowParts, closure_rows, cut_joint_closure, joint_rows, perpendiculars
from ..modal_inertia import deformed_moments
from ..tree.kinematics import GROUND
from ..tree.links import Wrench


@dataclass(frozen=True)
class BodyPose:
    """Where a body is and how it moves, as expressions of x and ẋ in world axes.

    ``position`` and ``velocity`` are those of the body's point ``reference`` (body axes, from the body's origin; the origin itself
    by default); ``rotation`` maps body axes to the world's.
    """

    position: Vector
    rotation: Matrix
    velocity: Vector
    angular_velocity: Vector
    reference: Vector = NULL

    def arm(self, frame: Frame) -> Vector:
        """From the reference point to a frame's origin, in world axes."""
        step = (frame.position if frame.node is None else node_pose(frame).position) - self.reference
        return NULL if step.is_zero else self.rotation @ step


GROUND_POSE = BodyPose(NULL, IDENTITY, NULL, NULL)


class JointPart(NamedTuple):
    """One row between two frames with the force at ``b``'s origin and the torque on ``b``'s body that a unit multiplier means.

    World axes; the body of ``a`` feels exactly the opposite wrench.
    """

    row: Row
    owner: str
    a: Frame
    b: Frame
    force: Vector
    torque: Vector


class AbsoluteKinematics:
    """The interface of :class:`~jourdain.formalisms.tree.kinematics.Kinematics` for bodies with poses of their own.

    Everything is written in world axes: the common base of any two frames is the ground.  ``flow`` are the directions of a time
    derivative, x → ẋ, ẋ → ẍ, t → 1.
    """

    def __init__(self, model: Model, poses: Mapping[str, BodyPose], flow: Mapping[Expr, Expr]) -> None:
        self.model = model
        self.poses = {model.ground.name: GROUND_POSE, **poses}
        self.index = {model.ground.name: GROUND, **{name: i for i, name in enumerate(poses)}}
        self._flow = dict(flow)
        missing = [b.name for b in model.bodies.values() if b.name not in self.poses]
        if missing:
            raise ModelError(f"body '{missing[0]}' has no pose; give one for each of {', '.join(model.bodies)}")

    @cached_property
    def topology(self) -> Topology:
        """Which bodies hang on which."""
        return self.model.topology

    def pose(self, frame: Frame | Body) -> BodyPose:
        """Pose of the body that carries a frame."""
        return self.poses[(frame.body if isinstance(frame, Frame) else frame).name]

    def common(self, *frames: Frame | Body) -> int:
        """The ground, whatever the frames."""
        return GROUND

    def turned(self, link: int, v: Vector, base: int = GROUND) -> Vector:
        """A vector given in the axes of the (common) ground, as it is."""
        return v

    def rotation(self, frame: Frame | Body, base: int = GROUND) -> Matrix:
        """Rotation: the frame's axes to the world's."""
        R = self.pose(frame).rotation
        if isinstance(frame, Frame) and frame.node is not None:
            R = R @ node_pose(frame).rotation
        if isinstance(frame, Body) or frame.rotation.is_identity:
            return R
        return frame.rotation if R is IDENTITY else R @ frame.rotation

    def position(self, frame: Frame | Body, base: int = GROUND) -> Vector:
        """Position of the frame's origin."""
        pose = self.pose(frame)
        return pose.position + pose.arm(_frame(frame))

    def velocity(self, frame: Frame | Body, base: int = GROUND) -> Vector:
        """Velocity of the frame's origin."""
        pose = self.pose(frame)
        v = pose.velocity + pose.angular_velocity.cross(pose.arm(_frame(frame)))
        if isinstance(frame, Frame) and frame.node is not None:
            v = v + pose.rotation @ node_pose(frame).velocity
        return v

    def angular_velocity(self, frame: Frame | Body, base: int = GROUND) -> Vector:
        """Angular velocity."""
        pose = self.pose(frame)
        if isinstance(frame, Frame) and frame.node is not None:
            return pose.angular_velocity + pose.rotation @ node_pose(frame).angular_velocity
        return pose.angular_velocity

    def acceleration(self, frame: Frame | Body, base: int = GROUND, acceleration: bool = True) -> Vector:
        """Acceleration of the origin; ``acceleration=False`` leaves out what depends on ẍ."""
        return self._rate(self.velocity(frame), acceleration)

    def angular_acceleration(self, frame: Frame | Body, base: int = GROUND, acceleration: bool = True) -> Vector:
        """Angular acceleration; ``acceleration=False`` leaves out what depends on ẍ."""
        return self._rate(self.angular_velocity(frame), acceleration)

    def _rate(self, v: Vector, acceleration: bool) -> Vector:
        flow = self._flow
        if not acceleration:
            flow = {s: d for s, d in flow.items() if not (d.op == "symbol" and d.data[1] == "acceleration")}
        return Vector(*jvp(list(v), flow))

    def wrench_on_link(self, frame: Frame | Body, force: Vector, torque: Vector, base: int = GROUND) -> tuple[int, Vector, Vector]:
        """A force at a frame's origin and a torque as a wrench on the body's number, about its reference point, in world axes."""
        body = frame.body if isinstance(frame, Frame) else frame
        return self.index[body.name], force, torque + self.pose(frame).arm(_frame(frame)).cross(force)


def _frame(frame: Frame | Body) -> Frame:
    return frame if isinstance(frame, Frame) else frame.origin


def node_pose(frame: Frame) -> BodyPose:
    """Place and motion by the modes of a frame at a node of a flexible body, seen from the floating frame; the rotation is the node's turn."""
    body = frame.body
    assert isinstance(body, FlexibleBody) and frame.node is not None
    bent = body.deformation(frame.node)
    node = body.frames[frame.node].position
    offset = bent.rotation @ (frame.position - node)
    return BodyPose(node + bent.shift + offset, bent.rotation, bent.velocity + bent.omega.cross(offset), bent.omega)


class MixedCoordinates:
    """What :class:`Equations` asks of a tree: the coordinates, here those of bodies (x) and the joints' kept among them.

    ``body_x`` and ``body_xd`` are the symbols of the bodies' coordinates and rates; joint coordinates follow behind them.  The symbols
    of a joint coordinate are its own; a quaternion's rates are new symbols.
    """

    def __init__(self, model: Model, body_x: Sequence[Expr], body_xd: Sequence[Expr]) -> None:
        self.model = model
        self.cuts: tuple[Joint, ...] = ()
        kept = _kept_coordinates(model)
        self.prescribed = _unique(c for j in model.joints.values() for c in j.coordinates if c.motion is not None)
        self.coordinates = [c for c in kept if c.motion is None]
        self.coordinates += [c for b in model.bodies.values() if isinstance(b, FlexibleBody) for c in b.modes]
        x, xd, xdd = list(body_x), list(body_xd), [symbol(f"{s.name}_rate", "acceleration") for s in body_xd]
        self.body_count = len(x)
        for c in self.coordinates:
            x += c.q
            if c.is_quaternion:
                xd += [symbol(f"{n}_rate", "velocity") for n in c.names]
                xdd += [symbol(f"{n}_acc", "acceleration") for n in c.names]
            else:
                xd += c.v
                xdd += c.a
        self.q, self.v, self.a = tuple(x), tuple(xd), tuple(xdd)
        self._number()

    def _number(self) -> None:
        """Where each joint coordinate stands."""
        self._velocity_index: dict[int, int] = {}
        self.quaternions: dict[int, int] = {}
        at = self.body_count
        for c in self.coordinates:
            self._velocity_index[id(c)] = at
            if c.is_quaternion:
                self.quaternions[id(c)] = at
            at += len(c.q)
        self._known = {id(c) for c in self.coordinates}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._number()  # they are other objects in another process

    @property
    def nv(self) -> int:
        """Number of coordinates, equal to that of rates."""
        return len(self.v)

    def keeps(self, c: Coordinate) -> bool:
        """Whether a joint coordinate is among the unknowns or prescribed."""
        return c.motion is not None or id(c) in self._known


def _unique(coordinates: Iterator[Coordinate]) -> list[Coordinate]:
    found: dict[int, Coordinate] = {}
    for c in coordinates:
        found.setdefault(id(c), c)
    return list(found.values())


#: Joints whose free motion has no rows that do without the coordinate.
_CHAINS = ("helical", "sequence")
#: Joints of one motion, closed by their own rows and one more for the coordinate.
_SINGLE = ("revolute", "prismatic")


def _kept_coordinates(model: Model) -> list[Coordinate]:
    """Joint coordinates that laws, equations, drives, couplings or the kind of joint speak of."""
    used = {s.id for s in free_symbols(list(_laws(model)))}
    count: dict[int, int] = {}
    for joint in model.joints.values():
        for c in joint.coordinates:
            count[id(c)] = count.get(id(c), 0) + 1
    kept: list[Coordinate] = []
    for joint in model.joints.values():
        wanted = joint.kind in _CHAINS or joint.drive != Drive() or any(count[id(c)] > 1 or c.motion is not None for c in joint.coordinates)
        wanted = wanted or any(s.id in used for c in joint.coordinates for s in (*c.q, *c.v, *c.a))
        wanted = wanted or any(joint is j for load in model.loads.values() for j in load.joints)
        wanted = wanted or joint.name in model.rigid_stops or joint.name in model.dry_friction
        if wanted:
            kept += joint.coordinates
    return _unique(iter(kept))


def _laws(model: Model) -> Iterator[Expr]:
    """All expressions in which a joint coordinate may stand (outputs apart: they are read afterwards)."""
    for load in model.loads.values():
        yield from (*load.laws, load.potential)
    for item in model.constraints.values():
        if isinstance(item, Equation):
            yield item.expression
    yield from (s.rate for s in model.states.values() if s.rate is not None)
    yield from (m.update for m in model.memories.values() if m.update is not None)
    yield from (w.equation for w in model.unknowns.values() if w.equation is not None)
    for event in model.events.values():
        yield event.guard
    for callback in model.callbacks.values():
        yield from callback.arguments


class AbsoluteEquations(Equations):
    """Everything a model says, in coordinates x of the bodies (and joint coordinates where laws need them).

    ``body_x``, ``body_xd`` are the bodies' coordinates with their rates, ``poses`` the bodies' poses in them, ``internal`` the rows that
    hold within bodies (normalised Euler parameters, constant lengths).  Subclasses say otherwise how joints are closed by
    :meth:`joint_parts`.
    """

    def __init__(
        self, model: Model, body_x: Sequence[Expr], body_xd: Sequence[Expr], poses: Mapping[str, BodyPose], internal: Sequence[Row] = ()
    ) -> None:
        self.model = model
        self.mixed = MixedCoordinates(model, body_x, body_xd)
        self.tree: Any = self.mixed  # type: ignore[assignment]
        self.q, self.v, self.a = self.mixed.q, self.mixed.v, self.mixed.a
        self.t = model.time
        self.u = tuple(i.symbol for i in model.inputs.values())
        self.z = tuple(s.symbol for s in model.states.values())
        self.p = model.parameter_set.symbols
        self.poses = dict(poses)
        self.internal = list(internal)
        self._on_nodes: list[tuple[Frame, Vector, Vector]] = []
        self.kinematics: Any = AbsoluteKinematics(model, self.poses, {**self.flow, **dict(zip(self.v, self.a, strict=True))})  # type: ignore[assignment]

    @cached_property
    def position_rates(self) -> list[Expr]:
        """ẋ."""
        return list(self.v)

    @cached_property
    def readings(self) -> dict[Expr, Expr]:
        """What each reading stands for: prescribed motions, angular velocities of joint quaternions, lengths, sensors."""
        known = dict(self._measured)
        for c in self.mixed.coordinates:
            if c.is_quaternion:
                first = self.mixed.quaternions[id(c)]
                e, ed, edd = Quaternion.of(c.q), Quaternion.of(self.v[first : first + 4]), Quaternion.of(self.a[first : first + 4])
                known.update(zip(c.v, e.body_rate(ed), strict=True))
                known.update(zip(c.a, e.body_rate(edd), strict=True))
        return known | self._eliminated(known)

    # -- forces ---------------------------------------------------------------------------------------------------

    def add_joint_force(self, joint: Joint, c: Coordinate, force: Expr, forces: list[Expr], wrenches: dict[int, Wrench]) -> None:
        if c.motion is None:
            index = self.mixed._velocity_index[id(c)]
            forces[index] = add(forces[index], force)

    def add_wrench(self, frame: Frame, force: Vector, torque: Vector, base: int, wrenches: dict[int, Wrench]) -> None:
        """On the body; what a node of a flexible one passes on to the modes is kept for :attr:`generalised_forces`."""
        super().add_wrench(frame, force, torque, base, wrenches)
        if frame.node is not None:
            self._on_nodes.append((frame, force, torque))

    @cached_property
    def _mode_forces(self) -> list[Expr]:
        """Φₜᵀ f + Φᵣᵀ n of all wrenches at nodes, by the virtual power of the amplitudes."""
        _ = self.wrenches
        total = [ZERO] * len(self.v)
        for frame, force, torque in self._on_nodes:
            modes = [c.v[0] for c in frame.body.modes]  # type: ignore[attr-defined]
            velocities = [*self.kinematics.velocity(frame), *self.kinematics.angular_velocity(frame)]
            for (i, j), e in sparse_jacobian(velocities, modes).items():
                index = self.mixed._velocity_index[id(frame.body.modes[j])]  # type: ignore[attr-defined]
                total[index] = add(total[index], mul(e, (*force, *torque)[i]))
        return total

    @cached_property
    def body_wrenches(self) -> dict[str, Wrench]:
        """Gravity and loads on each body: force and torque about the reference point of its pose, world axes."""
        names = list(self.poses)
        found = {names[i]: w for i, w in self.wrenches.items()}
        g = self.model.gravity
        for name, pose in self.poses.items():
            body = self.model.bodies[name]
            force, torque = found.get(name, (NULL, NULL))
            lever = deformed_moments(body)[1] - pose.reference * body.mass
            found[name] = (force + g * body.mass, torque if lever.is_zero else torque + (pose.rotation @ lever).cross(g))
        return found

    def pose_jacobian(self, name: str) -> dict[tuple[int, int], Expr]:
        """Non-zero ∂(v, ω)/∂ẋ of a body: rows 0–2 the velocity of its reference point, 3–5 its angular velocity (world axes)."""
        pose = self.poses[name]
        return sparse_jacobian([*pose.velocity, *pose.angular_velocity], self.v)

    @cached_property
    def generalised_forces(self) -> list[Expr]:
        """Q(t, x, ẋ, z, u) of all loads and gravity by their virtual power."""
        total = [add(f, m) for f, m in zip(self.joint_forces, self._mode_forces, strict=True)]
        for name, (force, torque) in self.body_wrenches.items():
            wrench = (*force, *torque)
            for (i, j), e in self.pose_jacobian(name).items():
                if wrench[i] is not ZERO:
                    total[j] = add(total[j], mul(e, wrench[i]))
        return total

    @cached_property
    def rotor_inertias(self) -> dict[int, Expr]:
        """Rotor inertia n²J on the diagonal of the mass matrix, by index of the joint coordinate."""
        found: dict[int, Expr] = {}
        for joint in self.model.joints.values():
            for motion, inertia in joint.rotors:
                if motion.coordinate.is_quaternion:
                    raise InputError(
                        f"joint '{joint.name}': a rotor inertia about all axes is known to joint coordinates alone; use formulation='recursive' or 'semi-recursive'"
                    )
                index = self.mixed._velocity_index.get(id(motion.coordinate))
                if index is not None:
                    found[index] = add(found.get(index, ZERO), mul(mul(motion.ratio, motion.ratio), inertia))
        return found

    # -- constraints ----------------------------------------------------------------------------------------------

    @cached_property
    def closures(self) -> list[Closure]:
        """Closures the user declared; joints are rows of their own."""
        return [c for c in self.model.constraints.values() if isinstance(c, Closure)]

    @cached_property
    def parts(self) -> list[JointPart]:
        """Rows of all joints and closures with the wrenches of their multipliers."""
        found = [part for joint in self.model.joints.values() for part in self.joint_parts(joint)]
        for closure in self.closures:
            found += named_parts(closure.name, closure.a, closure.b, closure_rows(self.kinematics, closure))
        return found

    def joint_parts(self, joint: Joint) -> list[JointPart]:
        """Rows that hold the two bodies of a joint together."""
        return named_parts(joint.name, joint.parent, joint.child, self._joint_rows(joint))

    def _joint_rows(self, joint: Joint) -> list[RowParts]:
        kept = any(self.mixed.keeps(c) for c in joint.coordinates)
        if joint.kind == "free" and not kept:
            return []
        if kept and joint.kind not in _SINGLE:
            return self._chain_rows(joint)
        rows = closure_rows(self.kinematics, cut_joint_closure(joint))
        return [*rows, self._tie(joint)] if kept else rows

    def _tie(self, joint: Joint) -> RowParts:
        """Ties the coordinate of a hinge or slider to the bodies: sin(θ − φ) = 0 with the measured θ, or n·d − φ = 0."""
        pose = RelativePose(self.kinematics, joint.parent, joint.child)
        motion = joint.motions[0]
        displacement = self.displacement(motion)
        axis = pose.A @ motion.axis
        if joint.kind == "prismatic":
            return RowParts(sub(axis.dot(pose.d), displacement), axis, NULL)
        u, w = perpendiculars(motion.axis)
        turned = pose.B @ u
        sine, cosine = (pose.A @ w).dot(turned), (pose.A @ u).dot(turned)
        return RowParts(sub(mul(sine, cos(displacement)), mul(cosine, sin(displacement))), NULL, axis)

    def displacement(self, motion: Motion) -> Expr:
        """Displacement ratio·q + offset of an elementary motion, prescribed ones as functions of time."""
        return self.resolve([add(mul(motion.ratio, motion.coordinate.q[0]), motion.offset)])[0]

    def _chain_rows(self, joint: Joint) -> list[RowParts]:
        """Six rows: the child stands where the joint's motions, one after the other, bring it."""
        R = self.kinematics.rotation(joint.parent)
        p = self.kinematics.position(joint.parent)
        for motion in joint.motions:
            if motion.kind == "T":
                p = p + R @ (motion.axis * self.displacement(motion))
            elif motion.kind == "R":
                R = R @ axis_rotation(motion.axis, self.displacement(motion))  # type: ignore[arg-type]
            else:
                R = R @ quaternion_rotation(*motion.coordinate.q)
        reached = _Reached(R, self.kinematics.rotation(joint.child), self.kinematics.position(joint.child) - p)
        return joint_rows(reached, "fixed", None)  # type: ignore[arg-type]

    @cached_property
    def rows(self) -> list[Row]:
        """All scalar constraints that do not hold by themselves, holonomic ones first."""
        found = [*self.internal]
        for c in self.mixed.coordinates:
            if c.is_quaternion:
                norm = Quaternion.of(c.q).norm
                found.append(Row(f"{c.names[0].removesuffix('.e0')}.norm", mul(TWO, sub(norm, ONE)) * 0.25, False))
        for part in self.parts:
            self._add_row(found, part.row.name, part.row.expression, False)
        for item in self.model.constraints.values():
            if isinstance(item, Equation):
                self._add_row(found, item.name, self.resolve([item.expression])[0], item.nonholonomic)
        found = self._without_idle(found)
        return [r for r in found if not r.nonholonomic] + [r for r in found if r.nonholonomic]

    def transmitted(self, multipliers: Mapping[str, Any]) -> dict[str, Wrench]:
        """Force and torque (world axes) on the child of each joint and on the second frame of each closure, from multipliers by row."""
        found: dict[str, Wrench] = {name: (NULL, NULL) for name in (*self.model.joints, *(c.name for c in self.closures))}
        for part in self.parts:
            lam = multipliers.get(part.row.name)
            if lam is not None:
                force, torque = found[part.owner]
                found[part.owner] = (force + part.force * lam, torque + part.torque * lam)
        return found


class _Reached:
    """Relative pose of a child and the place its joint's coordinates say."""

    def __init__(self, A: Matrix, B: Matrix, d: Vector) -> None:
        self.base, self.A, self.B, self.d = GROUND, A, B, d


def named_parts(owner: str, a: Frame, b: Frame, rows: Sequence[RowParts]) -> list[JointPart]:
    """Rows named ``owner[1]``, ``owner[2]`` … between two frames."""
    return [JointPart(Row(f"{owner}[{i + 1}]", r.h, False), owner, a, b, r.force, r.torque) for i, r in enumerate(rows)]


class Quaternion(NamedTuple):
    """Euler parameters e₀, e as expressions (scalar first)."""

    w: Expr
    x: Expr
    y: Expr
    z: Expr

    @staticmethod
    def of(values: Sequence[Expr]) -> Quaternion:
        """From four expressions."""
        return Quaternion(*values)

    @property
    def norm(self) -> Expr:
        """Square of the length."""
        return add(add(mul(self.w, self.w), mul(self.x, self.x)), add(mul(self.y, self.y), mul(self.z, self.z)))

    def body_rate(self, rate: Quaternion) -> Vector:
        """ω′ = 2 G(e) ė in body axes, G = [−e, e₀1 − ẽ]; with ë in place of ė the angular acceleration."""
        columns = self.body_columns()
        return sum((c * r for c, r in zip(columns[1:], rate[1:], strict=True)), columns[0] * rate.w)  # type: ignore[arg-type]

    def body_columns(self) -> list[Vector]:
        """Columns of 2 G(e)."""
        w, x, y, z = (mul(TWO, e) for e in self)
        return [
            Vector(neg(x), neg(y), neg(z)), Vector(w, neg(z), y), Vector(z, w, neg(x)), Vector(neg(y), x, w),
        ]  # fmt: skip

    def world_columns(self) -> list[Vector]:
        """Columns of 2 E(e), ω = 2 E ė in world axes."""
        w, x, y, z = (mul(TWO, e) for e in self)
        return [
            Vector(neg(x), neg(y), neg(z)), Vector(w, z, neg(y)), Vector(neg(z), w, x), Vector(y, neg(x), w),
        ]  # fmt: skip

    def world_rate(self, rate: Quaternion) -> Vector:
        """ω = 2 E(e) ė in world axes."""
        columns = self.world_columns()
        return sum((c * r for c, r in zip(columns[1:], rate[1:], strict=True)), columns[0] * rate.w)  # type: ignore[arg-type]


__all__ = [
    "GROUND_POSE",
    "AbsoluteEquations",
    "AbsoluteKinematics",
    "BodyPose",
    "JointPart",
    "MixedCoordinates",
    "Quaternion",
    "named_parts",
]
