"""An independent way to every number of a tree: dense NumPy, twists and wrenches about the WORLD origin.

Nothing is shared with the formalisms of the package but the description of the model. A twist is (ω, v_O) and a wrench
(n_O, f), both in world axes about the world origin O, so that every quantity of the whole system lives in one frame
and bodies need no transformations of inertia between them. The text is written to be checked by eye, not to be fast.

    tree = ReferenceTree(model)
    M = tree.mass_matrix(q)
    tau = tree.inverse_dynamics(q, v, a)

Coordinates run as in ``model.topology.branches`` and, within a joint, as in ``joint.coordinates``; a coordinate shared
by several joints (mimic) stands where it is met first; driven and locked ones are left out (give ``t``). A quaternion
(scalar first) has four entries in q and three in v and a: the angular velocity in the axes of the joint's child.
Joints that close loops are ignored. Damping, friction and stiffness of joints are not part of these functions; the
reflected inertia of rotors is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from jourdain.model import Coordinate, Frame, Model, Motion
from jourdain.model.bodies import Body
from jourdain.model.topology import Branch
from jourdain.symbolic.expr import Expr
from jourdain.symbolic.graph import evaluate

Array = np.ndarray


def skew(v: Array) -> Array:
    """ṽ with ṽ x = v × x."""
    return np.array([[0.0, -v[2], v[1]], [v[2], 0.0, -v[0]], [-v[1], v[0], 0.0]])


def motion_cross(twist: Array) -> Array:
    """V× on twists: rate of a twist that is fixed in a body moving with V."""
    w, v = skew(twist[:3]), skew(twist[3:])
    return np.block([[w, np.zeros((3, 3))], [v, w]])


def force_cross(twist: Array) -> Array:
    """V×* on wrenches, −(V×)ᵀ."""
    return -motion_cross(twist).T


def rotation_about(axis: Array, angle: float) -> Array:
    """Rodrigues' formula for a unit axis."""
    n = skew(axis)
    return np.eye(3) + np.sin(angle) * n + (1.0 - np.cos(angle)) * n @ n


def rotation_of_quaternion(e: Array) -> Array:
    """Rotation of a unit quaternion, scalar first: R = 1 + 2 e₀ ẽ + 2 ẽẽ."""
    n = skew(e[1:])
    return np.eye(3) + 2.0 * e[0] * n + 2.0 * n @ n


@dataclass
class Pose:
    """Rotation to world axes and position in the world."""

    R: Array
    p: Array

    def __matmul__(self, other: Pose) -> Pose:
        return Pose(self.R @ other.R, self.p + self.R @ other.p)

    def inverse(self) -> Pose:
        """The pose of the outer frame seen from this one."""
        return Pose(self.R.T, -self.R.T @ self.p)


@dataclass
class State:
    """Everything the recursion finds for a state: by body name poses, twists, accelerations and Jacobians."""

    pose: dict[str, Pose]
    twist: dict[str, Array]
    acceleration: dict[str, Array]
    jacobian: dict[str, Array]


class ReferenceTree:
    """Kinematics and dynamics of the tree part of a model, with numbers only."""

    def __init__(self, model: Model, parameters: Mapping[str, float] | None = None) -> None:
        self.model = model
        self.parameters = dict(parameters or {})
        self.branches: tuple[Branch, ...] = model.topology.branches
        self.coordinates: list[Coordinate] = []
        for branch in self.branches:
            for c in branch.joint.coordinates:
                if c.nature == "free" and not any(c is known for known in self.coordinates):
                    self.coordinates.append(c)
        self.nq = sum(len(c.q) for c in self.coordinates)
        self.nv = sum(len(c.v) for c in self.coordinates)
        self.gravity = self._numbers(model.gravity)
        self._fixed = {id(f): Pose(*self._frame_numbers(f)) for b in self.branches for f in (b.joint.parent, b.joint.child)}
        self._axes = {id(m): self._numbers(m.axis) for b in self.branches for m in b.joint.motions}
        self._lines = {id(m): self._numbers((m.ratio, m.offset)) for b in self.branches for m in b.joint.motions}
        self._mass = {b.name: self._mass_numbers(b) for b in model.bodies.values()}

    # ---- numbers of the description -----------------------------------------------------------------------------

    def _numbers(self, expressions: Sequence[Expr]) -> Array:
        return np.array([float(x) for x in self.model.parameter_set.evaluate(list(expressions), self.parameters)])

    def _frame_numbers(self, frame: Frame) -> tuple[Array, Array]:
        return self._numbers(frame.rotation.entries).reshape(3, 3), self._numbers(list(frame.position))

    def _mass_numbers(self, body: Body) -> tuple[float, Array, Array]:
        """Mass, first moment and inertia about the body's origin."""
        m, sx, sy, sz, xx, yy, zz, xy, xz, yz = self._numbers([body.mass, *body.moment, *body.inertia.entries])
        return m, np.array([sx, sy, sz]), np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])

    # ---- states -------------------------------------------------------------------------------------------------

    def neutral(self) -> Array:
        """The configuration with every coordinate 0 and every quaternion 1."""
        return np.concatenate([np.zeros(0)] + [np.eye(4)[0] if c.is_quaternion else np.zeros(1) for c in self.coordinates])

    def random_state(self, rng: np.random.Generator, scale: float = 1.0) -> tuple[Array, Array, Array]:
        """Random q (unit quaternions), v and a."""
        parts = [np.zeros(0)]
        for c in self.coordinates:
            x = rng.normal(size=len(c.q))
            parts.append(x / np.linalg.norm(x) if c.is_quaternion else scale * x)
        return np.concatenate(parts), scale * rng.normal(size=self.nv), scale * rng.normal(size=self.nv)

    def position_rate(self, q: Array, v: Array) -> Array:
        """q̇ = N(q) v; for a quaternion ė = ½ e ∘ (0, ω) with ω in child axes."""
        rates, i, j = [np.zeros(0)], 0, 0
        for c in self.coordinates:
            if c.is_quaternion:
                e, w = q[i : i + 4], v[j : j + 3]
                rates.append(0.5 * np.concatenate([[-e[1:] @ w], e[0] * w + np.cross(e[1:], w)]))
            else:
                rates.append(v[j : j + 1])
            i, j = i + len(c.q), j + len(c.v)
        return np.concatenate(rates)

    def _of_coordinate(self, c: Coordinate, x: Array, counts: str) -> tuple[int, Array] | None:
        """Place and values of a free coordinate in q ("q") or in v and a ("v")."""
        start = 0
        for known in self.coordinates:
            size = len(getattr(known, counts))
            if known is c:
                return start, x[start : start + size]
            start += size
        return None

    def _prescribed(self, c: Coordinate, t: float) -> tuple[float, float, float]:
        """θ(t) and its two derivatives for a driven or locked coordinate."""
        from jourdain.symbolic.derivatives import jacobian

        time = self.model.time
        theta = c.motion
        assert theta is not None
        rate = jacobian([theta], [time])[0][0]
        second = jacobian([rate], [time])[0][0]
        values = dict(zip(self.model.parameter_set.symbols, self.model.parameter_set.values(self.parameters), strict=True))
        p, r, s = evaluate([theta, rate, second], {**values, time: t})
        return float(p), float(r), float(s)

    # ---- kinematics ---------------------------------------------------------------------------------------------

    def kinematics(self, q: Array, v: Array | None = None, a: Array | None = None, t: float = 0.0) -> State:
        """Poses, twists, acceleration twists d/dt(ω, v_O) and Jacobians of all bodies, from the ground outwards."""
        q, v, a = (np.zeros(n) if x is None else np.asarray(x, float) for x, n in ((q, self.nq), (v, self.nv), (a, self.nv)))
        if q.shape != (self.nq,) or v.shape != (self.nv,) or a.shape != (self.nv,):
            raise ValueError(f"q, v, a of shapes {q.shape}, {v.shape}, {a.shape}; ({self.nq},) and ({self.nv},) are needed")
        ground = self.model.ground.name
        s = State(
            {ground: Pose(np.eye(3), np.zeros(3))},
            {ground: np.zeros(6)},
            {ground: np.zeros(6)},
            {ground: np.zeros((6, self.nv))},
        )
        for branch in self.branches:
            joint = branch.joint
            near, far = (joint.child, joint.parent) if branch.reverse else (joint.parent, joint.child)
            pose = s.pose[near.body.name] @ self._fixed[id(near)]
            V, A, J = s.twist[near.body.name], s.acceleration[near.body.name], s.jacobian[near.body.name]
            for m in reversed(joint.motions) if branch.reverse else joint.motions:
                pose, S, nu, nudot, ratios = self._elementary(m, pose, branch.reverse, q, v, a, t)
                # S is fixed in the frames on both sides of the motion, so dS/dt = V × S; V may be that of either side
                A = A + S @ nudot + motion_cross(V) @ S @ nu
                V = V + S @ nu
                J = J + S @ ratios
            name = branch.body.name
            s.pose[name] = pose @ self._fixed[id(far)].inverse()
            s.twist[name], s.acceleration[name], s.jacobian[name] = V, A, J
        return s

    def _elementary(
        self, m: Motion, pose: Pose, reverse: bool, q: Array, v: Array, a: Array, t: float
    ) -> tuple[Pose, Array, Array, Array, Array]:
        """The pose beyond one motion, the twist basis S (6×k), its speeds and accelerations, and ∂speeds/∂v (k×nv).

        Walked in reverse the same motion takes one back from the child's side, with the opposite twist.
        """
        free = self._of_coordinate(m.coordinate, q, "q")
        ratios = np.zeros((len(m.coordinate.v), self.nv))
        ratio, offset = self._lines[id(m)]
        if free is None:
            position, speed, acceleration = (np.array([x]) for x in self._prescribed(m.coordinate, t))
        else:
            position = free[1]
            start, speed = self._of_coordinate(m.coordinate, v, "v") or (0, v)
            acceleration = a[start : start + len(speed)]
            ratios[:, start : start + len(speed)] = ratio * np.eye(len(speed))
        speed, acceleration = ratio * speed, ratio * acceleration
        sign = -1.0 if reverse else 1.0
        axis = self._axes[id(m)]
        if m.kind == "T":
            step = Pose(np.eye(3), axis * (ratio * position[0] + offset))
        elif m.kind == "R":
            step = Pose(rotation_about(axis, ratio * position[0] + offset), np.zeros(3))
        else:
            step = Pose(rotation_of_quaternion(position), np.zeros(3))
        beyond = pose @ (step.inverse() if reverse else step)
        if m.kind == "T":
            S = np.concatenate([np.zeros(3), pose.R @ axis])[:, None]
        else:
            # child axes carry a quaternion's angular velocity; the axis of a plain rotation is the same on both sides
            turning = (pose.R if reverse else beyond.R) @ (np.eye(3) if m.kind == "S" else axis[:, None])
            S = np.vstack([turning, np.cross(pose.p, turning.T).T])
        return beyond, sign * S, speed, acceleration, ratios

    def _frame(self, path: str | Frame | Body) -> Frame:
        if isinstance(path, str):
            return self.model.frame(path)
        return path.origin if isinstance(path, Body) else path

    def frame_pose(self, path: str | Frame | Body, q: Array, t: float = 0.0) -> tuple[Array, Array]:
        """Rotation (to world axes) and position of a frame."""
        frame = self._frame(path)
        pose = self.kinematics(q, t=t).pose[frame.body.name] @ Pose(*self._frame_numbers(frame))
        return pose.R, pose.p

    def frame_velocity(self, path: str | Frame | Body, q: Array, v: Array, t: float = 0.0) -> tuple[Array, Array]:
        """Angular velocity and velocity of the frame's origin, world axes."""
        frame = self._frame(path)
        s = self.kinematics(q, v, t=t)
        p = (s.pose[frame.body.name] @ Pose(*self._frame_numbers(frame))).p
        V = s.twist[frame.body.name]
        return V[:3], V[3:] + np.cross(V[:3], p)

    def frame_acceleration(self, path: str | Frame | Body, q: Array, v: Array, a: Array, t: float = 0.0) -> tuple[Array, Array]:
        """Angular acceleration and acceleration of the frame's origin (without gravity), world axes."""
        frame = self._frame(path)
        s = self.kinematics(q, v, a, t)
        p = (s.pose[frame.body.name] @ Pose(*self._frame_numbers(frame))).p
        V, A = s.twist[frame.body.name], s.acceleration[frame.body.name]
        return A[:3], A[3:] + np.cross(A[:3], p) + np.cross(V[:3], V[3:] + np.cross(V[:3], p))

    def frame_jacobian(self, path: str | Frame | Body, q: Array, t: float = 0.0) -> Array:
        """∂(ω, velocity of the frame's origin)/∂v, world axes, 6×nv."""
        frame = self._frame(path)
        s = self.kinematics(q, t=t)
        p = (s.pose[frame.body.name] @ Pose(*self._frame_numbers(frame))).p
        J = s.jacobian[frame.body.name]
        return np.vstack([J[:3], J[3:] - skew(p) @ J[:3]])

    # ---- dynamics -----------------------------------------------------------------------------------------------

    def spatial_inertia(self, body: str, pose: Pose) -> Array:
        """6×6 inertia of a body about the world origin in world axes."""
        m, s, I = self._mass[body]
        s, I = pose.R @ s, pose.R @ I @ pose.R.T
        p = pose.p
        first = s + m * p
        # ∫ −(p̃ + r̃)² dm with ∫ r dm = s
        second = I - skew(p) @ skew(s) - skew(s) @ skew(p) - m * skew(p) @ skew(p)
        return np.block([[second, skew(first)], [-skew(first), m * np.eye(3)]])

    def _rotors(self) -> Array:
        """Reflected rotor inertias seen at the coordinates, nv values."""
        J = np.zeros(self.nv)
        for branch in self.branches:
            joint = branch.joint
            inertia = self._numbers([joint.drive.reflected_inertia])[0]
            if inertia:
                for motion in joint.motions if joint.kind in ("spherical", "free") else joint.motions[-1:]:
                    place = self._of_coordinate(motion.coordinate, np.zeros(self.nv), "v")
                    if place is not None:
                        J[place[0] : place[0] + len(motion.coordinate.v)] += inertia * self._lines[id(motion)][0] ** 2
        return J

    def mass_matrix(self, q: Array, t: float = 0.0) -> Array:
        """M = Σ Jᵀ I J over the bodies, plus reflected rotor inertias."""
        s = self.kinematics(q, t=t)
        M = np.diag(self._rotors())
        for name in self._mass:
            J = s.jacobian[name]
            M = M + J.T @ self.spatial_inertia(name, s.pose[name]) @ J
        return M

    def inverse_dynamics(
        self, q: Array, v: Array, a: Array, t: float = 0.0, wrenches: Mapping[str, tuple[Array, Array]] | None = None
    ) -> Array:
        """Joint forces φ(q, v, a): Newton–Euler for each body, projected by its Jacobian (Jourdain's principle).

        ``wrenches`` gives for body names an external force at the body's origin and a torque, both in world axes.
        """
        s = self.kinematics(q, v, a, t)
        weight = np.concatenate([np.zeros(3), self.gravity])
        tau = self._rotors() * np.asarray(a, float)
        for name in self._mass:
            I, V = self.spatial_inertia(name, s.pose[name]), s.twist[name]
            F = I @ (s.acceleration[name] - weight) + force_cross(V) @ I @ V
            if wrenches and name in wrenches:
                force, torque = (np.asarray(x, float) for x in wrenches[name])
                F = F - np.concatenate([torque + np.cross(s.pose[name].p, force), force])
            tau = tau + s.jacobian[name].T @ F
        return tau

    def bias(self, q: Array, v: Array, t: float = 0.0) -> Array:
        """c(q, v): what is left of φ at zero acceleration."""
        return self.inverse_dynamics(q, v, np.zeros(self.nv), t)

    def forward_dynamics(self, q: Array, v: Array, tau: Array, t: float = 0.0) -> Array:
        """Accelerations M⁻¹(τ − c)."""
        return np.linalg.solve(self.mass_matrix(q, t), tau - self.bias(q, v, t))

    # ---- sums over the system -----------------------------------------------------------------------------------

    def kinetic_energy(self, q: Array, v: Array, t: float = 0.0) -> float:
        """½ Σ Vᵀ I V, plus that of the rotors."""
        s = self.kinematics(q, v, t=t)
        bodies = sum(s.twist[n] @ self.spatial_inertia(n, s.pose[n]) @ s.twist[n] for n in self._mass)
        return 0.5 * float(bodies + self._rotors() @ np.asarray(v, float) ** 2)

    def potential_energy(self, q: Array, t: float = 0.0) -> float:
        """−Σ m g·r of the centres of mass."""
        s = self.kinematics(q, t=t)
        return -sum(float(self.gravity @ (m * s.pose[n].p + s.pose[n].R @ first)) for n, (m, first, _) in self._mass.items())

    def momentum(self, q: Array, v: Array, t: float = 0.0) -> tuple[Array, Array]:
        """Linear momentum and angular momentum about the world origin."""
        s = self.kinematics(q, v, t=t)
        h = sum((self.spatial_inertia(n, s.pose[n]) @ s.twist[n] for n in self._mass), np.zeros(6))
        return h[3:], h[:3]

    @property
    def total_mass(self) -> float:
        """Mass of all bodies."""
        return float(sum(m for m, _, _ in self._mass.values()))

    def centre_of_mass(self, q: Array, t: float = 0.0) -> Array:
        """Centre of mass of all bodies in the world."""
        s = self.kinematics(q, t=t)
        first = sum((m * s.pose[n].p + s.pose[n].R @ c for n, (m, c, _) in self._mass.items()), np.zeros(3))
        return first / self.total_mass
