"""One free elastic body in its floating frame, in all the forms of its equations that the literature prints: for study.

Nikravesh, "Understanding Mean-Axis Conditions as Floating Reference Frames"; equation numbers are his.  Everything is in body components:
d″ = R(b) (a, α) + δ″ + w,  w = ω̃ω̃ b + 2 ω̃ δ′.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import solve_ivp

from ..errors import InputError, SolverError
from .frames import NODAL, conditions, frame_name
from .parts.dofs import Array, skew
from .pose import Pose, node_motion, positions_of

if TYPE_CHECKING:
    from .structure import Structure

FORMS = {
    "consistent": "rows of virtual work; the elastic force acts on deflections alone, conditions by multipliers (33), or by the modes",
    "elastic moment": "(32), (23) or (44) as printed: K δ stands in the rigid rows too, where it is a moment from nowhere",
    "no multipliers": "(32) with K δ left out of the rigid rows, conditions left to themselves: they are violated",
}


@dataclass(frozen=True, eq=False)
class Motion:
    """A run of a :class:`FloatingBody`: states over time."""

    t: Array
    states: list[Pose]
    body: FloatingBody

    @cached_property
    def positions(self) -> Array:
        """(times, nodes, 3)."""
        return np.array([node_motion(self.body.part, s)[0] for s in self.states])

    @property
    def energy(self) -> Array:
        return np.array([self.body.energy(s) for s in self.states])

    @property
    def angular_momentum(self) -> Array:
        """About the centre of mass, inertial components, (times, 3)."""
        return np.array([self.body.momentum(s)[1] for s in self.states])

    @property
    def deflection(self) -> Array:
        """The largest component of nodal deflections at each time."""
        return np.array([np.abs(s.deflection).max() for s in self.states])


class FloatingBody:
    """A free elastic body with translational nodes whose equations may be chosen; see :data:`FORMS`.

    Args:
        frame: "mean axes" (Buckens, Eckart), "tisserand" (mean axes in the velocities, (26)), "pinned" or "nodal-fixed" with `at`.
        form: "consistent", "elastic moment" or "no multipliers".
        modes: number of free-free modes (mean axes); None keeps all nodal deflections.
        grounded: (node, component) pairs whose places are held in inertial space (47).
        force: f(t, positions, rates) gives nodal forces (n, 3) in inertial components. gravity: acceleration, inertial components.
    """

    def __init__(
        self,
        part: Structure,
        frame: str = "mean axes",
        form: str = "consistent",
        modes: int | None = None,
        at: Any = None,
        grounded: Sequence[tuple[int, int]] = (),
        force: Callable[[float, Array, Array], Array] | None = None,
        gravity: ArrayLike = (0, 0, 0),
    ) -> None:
        if part.dofs.rotations:
            raise InputError(
                f"{part.name}: the forms for study are written for nodes without rotations; take a truss or solid, or part.reduce(…)"
            )
        if form not in FORMS:
            raise InputError(f"form '{form}' is unknown; there are {', '.join(FORMS)}")
        self.tisserand = frame == "tisserand"
        self.frame = "tisserand" if self.tisserand else frame_name(frame)
        if modes is not None and self.frame != "mean axes":
            raise InputError(
                f"{part.name}: free-free modes with frame '{self.frame}' describe motions that the frame forbids; take frame='mean axes'"
            )
        if form == "no multipliers" and (self.frame in NODAL or modes is not None):
            raise InputError("form 'no multipliers' belongs to mean axes with nodal deflections")
        self.part, self.form, self.force, self.gravity = part, form, force, np.asarray(gravity, float)
        self.columns = part.dofs.rigid_columns
        self.M, self.K = part.M.toarray(), part.K.toarray()
        self.B = np.zeros((0, len(part.dofs))) if self.tisserand else conditions(part, frame, at)
        self.shapes = part.reduce(modes, normalise="mass").shapes if modes is not None else np.eye(len(part.dofs))
        self.modal = modes is not None
        self.ground = [int(part.dofs.table[i, c]) for i, c in grounded]
        if grounded and (form != "consistent" or min(self.ground) < 0):
            raise InputError(f"{part.name}: grounded = {list(grounded)} needs form='consistent' and degrees of freedom that there are")

    # equations

    @cached_property
    def places(self) -> Any:
        """Places of the degrees of freedom among the components of all nodes, node by node."""
        return 3 * self.part.dofs.nodes + self.part.dofs.components

    def nodal(self, field: Array) -> Array:
        """A vector of degrees of freedom as vectors (n, 3) of nodes."""
        vectors = np.zeros(3 * len(self.part.nodes))
        vectors[self.places] = field
        return vectors.reshape(-1, 3)

    @cached_property
    def lever(self) -> Array:
        """R(b) is linear in b: the change of its columns of rotation, (n · columns, n)."""
        turns = [c for c in self.columns if c > 2]
        unit = np.eye(len(self.part.dofs))
        return np.array([self.part.dofs.rigid_motions(self.nodal(e))[:, turns].ravel() for e in unit]).T

    def rigid_motions(self, deflection: Array) -> Array:
        """R(s + δ)."""
        R = self.part.rigid[:, self.columns].copy()
        first = sum(c < 3 for c in self.columns)
        R[:, first:] += (self.lever @ deflection).reshape(len(R), -1)
        return R

    def bias(self, pose: Pose) -> Array:
        """w of all degrees of freedom."""
        W = skew(pose.omega)
        b, rate = self.part.nodes + self.nodal(pose.deflection), self.nodal(pose.rate)
        return np.asarray((b @ (W @ W).T + 2 * rate @ W.T).ravel()[self.places])

    def loads(self, t: float, pose: Pose) -> Array:
        """Nodal forces in body components."""
        part = self.part
        f = self.M @ (part.rigid[:, :3] @ (pose.A.T @ self.gravity)) if self.gravity.any() else np.zeros(len(part.dofs))
        if self.force is not None:
            nodal = np.asarray(self.force(t, *node_motion(part, pose)), float) @ pose.A
            f = f + nodal[part.dofs.nodes, part.dofs.components]
        return f

    def accelerations(self, t: float, pose: Pose) -> tuple[Array, Array]:
        """(a, α) (3 in the plane, else 6) and δ″ (or the modes' accelerations)."""
        R = self.rigid_motions(pose.deflection)
        w = self.bias(pose)
        free = self.loads(t, pose) - self.M @ w
        elastic = self.K @ pose.deflection
        if self.form == "consistent":
            return self.constrained(pose, R, w, free, elastic)
        g = free - elastic
        if self.frame in NODAL:  # (23): all rows of M d″ = g, columns of the free deflections
            u = np.flatnonzero(np.abs(self.B).sum(axis=0) == 0)
            if len(g) - len(u) != len(self.columns):
                raise InputError("(23) as printed needs conditions on single degrees of freedom: put the axis node on a coordinate axis")
            solution = np.linalg.solve(np.hstack([self.M @ R, self.M[:, u]]), g)
            rate = np.zeros(len(g))
            rate[u] = solution[len(self.columns) :]
            return solution[: len(self.columns)], rate
        rigid_load = g if self.form == "elastic moment" else free
        a = np.linalg.solve(R.T @ self.M @ R, R.T @ rigid_load)
        S = self.shapes
        return a, np.linalg.solve(S.T @ self.M @ S, S.T @ (g - self.M @ R @ a))

    def constrained(self, pose: Pose, R: Array, w: Array, free: Array, elastic: Array) -> tuple[Array, Array]:
        """The full symmetric system (18), (20) with conditions D δ″ = γ and grounded nodes (47)."""
        S, k = self.shapes, len(self.columns)
        L = np.hstack([R, S])
        mass = L.T @ self.M @ L
        load = np.concatenate([R.T @ free, S.T @ (free - elastic)])
        D, gamma = self.condition_rows(pose, R)
        rows = np.vstack([np.hstack([np.zeros((len(D), k)), D @ S]), L[self.ground]])
        right = np.concatenate([gamma, -w[self.ground]])
        size = np.linalg.norm(rows, axis=1)
        rows, right = rows / size[:, None], right / size
        system = np.block([[mass, rows.T], [rows, np.zeros((len(rows), len(rows)))]])
        solution = np.linalg.solve(system, np.concatenate([load, right]))
        return solution[:k], solution[k : k + S.shape[1]]

    def condition_rows(self, pose: Pose, R: Array) -> tuple[Array, Array]:
        """D and γ of D δ″ = γ; Tisserand's D = R(b)ᵀ M moves with the body."""
        if self.modal:
            return np.zeros((0, len(self.M))), np.zeros(0)
        if not self.tisserand:
            return self.B, np.zeros(len(self.B))
        moving = self.rigid_motions(pose.rate) - self.part.rigid[:, self.columns]
        return R.T @ self.M, -(moving.T @ self.M @ pose.rate)

    # states

    def pack(self, pose: Pose) -> Array:
        q = (
            [pose.deflection, pose.rate]
            if not self.modal
            else [self.shapes.T @ self.M @ pose.deflection, self.shapes.T @ self.M @ pose.rate]
        )
        return np.concatenate([pose.r, quaternion(pose.A), pose.velocity, pose.omega, *q])

    def unpack(self, y: Array) -> Pose:
        q = y[3:7] / np.linalg.norm(y[3:7])
        n = (len(y) - 13) // 2
        return Pose(y[:3], matrix(q), self.shapes @ y[13 : 13 + n], y[7:10], y[10:13], self.shapes @ y[13 + n :])

    def derivative(self, t: float, y: Array) -> Array:
        pose = self.unpack(y)
        rigid, elastic = self.accelerations(t, pose)
        twist = np.zeros(6)
        twist[self.columns] = rigid
        n = (len(y) - 13) // 2
        # a is the acceleration of the origin; its velocity in body components turns with the frame.
        return np.concatenate(
            [
                pose.A @ pose.velocity,
                quaternion_rate(y[3:7], pose.omega),
                twist[:3] - skew(pose.omega) @ pose.velocity,
                twist[3:],
                y[13 + n :],
                elastic,
            ]
        )

    def simulate(self, start: Pose, t: ArrayLike, rtol: float = 1e-12, method: str = "DOP853") -> Motion:
        """Integrates from a start to given times."""
        times = np.asarray(t, float)
        found = solve_ivp(self.derivative, (times[0], times[-1]), self.pack(start), method, times, rtol=rtol, atol=rtol)
        if not found.success:
            raise SolverError(f"{self.part.name}: the run ended at t = {found.t[-1]:.6g} s: {found.message}")
        return Motion(times, [self.unpack(y) for y in found.y.T], self)

    # books

    def energy(self, pose: Pose) -> float:
        """½ d′ᵀ M d′ + ½ δᵀ K δ − gravity's work."""
        b = positions_of(self.part, pose.deflection)
        rate = self.part.dofs.rigid_motions(b) @ np.concatenate([pose.velocity, pose.omega]) + pose.rate
        d = pose.r + b @ pose.A.T
        moves = d[self.part.dofs.nodes, self.part.dofs.components]
        weight = float(moves @ self.M @ (self.part.rigid[:, :3] @ self.gravity))
        return float(0.5 * rate @ self.M @ rate + 0.5 * pose.deflection @ self.K @ pose.deflection) - weight

    def deformation_energy(self, pose: Pose) -> float:
        """½ δ′ᵀ M δ′, which mean axes make least (24)."""
        return float(0.5 * pose.rate @ self.M @ pose.rate)

    def momentum(self, pose: Pose) -> tuple[Array, Array]:
        """Momentum, and angular momentum about the centre of mass; inertial components."""
        b = positions_of(self.part, pose.deflection)
        R = self.part.dofs.rigid_motions(b)
        impulse = self.M @ (R @ np.concatenate([pose.velocity, pose.omega]) + pose.rate)
        P, H = R[:, :3].T @ impulse, R[:, 3:].T @ impulse
        lumped = self.M @ self.part.rigid[:, :3]
        centre = (
            np.array(
                [lumped[:, c] @ (b[self.part.dofs.nodes, self.part.dofs.components] * (self.part.dofs.components == c)) for c in range(3)]
            )
            / self.part.mass
        )
        return pose.A @ P, pose.A @ (H - np.cross(centre, P))


def matrix(q: Array) -> Array:
    """Rotation matrix of a unit quaternion, scalar first."""
    v = skew(q[1:])
    return np.asarray(np.eye(3) + 2 * q[0] * v + 2 * v @ v)


def quaternion(A: Array) -> Array:
    """Unit quaternion of a rotation matrix, by its largest component."""
    t = np.array([np.trace(A), A[0, 0], A[1, 1], A[2, 2]])
    k = int(np.argmax(t))
    if k == 0:
        q = np.array([1 + t[0], A[2, 1] - A[1, 2], A[0, 2] - A[2, 0], A[1, 0] - A[0, 1]])
    else:
        i, j, m = k - 1, k % 3, (k + 1) % 3
        q = np.zeros(4)
        q[0] = A[m, j] - A[j, m]
        q[1 + i] = 1 + A[i, i] - A[j, j] - A[m, m]
        q[1 + j] = A[i, j] + A[j, i]
        q[1 + m] = A[i, m] + A[m, i]
    return q / np.linalg.norm(q)


def quaternion_rate(q: Array, omega: Array) -> Array:
    """q̇ = ½ q ⊗ (0, ω) with ω in body components."""
    return 0.5 * np.concatenate([[-q[1:] @ omega], q[0] * omega + skew(q[1:]) @ omega])
