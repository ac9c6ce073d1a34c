"""The struts of a hexapod machine tool in numbers: kinematics, stiffness, singular positions, self-stress, workspace.

L. Kübler, C. Henninger, P. Eberhard, *Multi-Criteria Optimization of a Hexapod Machine* (eqs. 11–17, sect. 5).  The chapter gives no geometry; the default numbers are those that reproduce
its results within 4 %.  It speaks of eigenvalues of the Jacobian ∂Θ/∂y, which is not symmetric and has complex ones: here singular values are meant.  Rotations come first:
rows and columns are (α, β, γ, x, y, z).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from ...errors import InputError, SolverError

#: Signs of the joints' planes, and by how much of ζ each joint of a variant is turned.
SIDES = np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0])
VARIANTS: dict[str, tuple[float, ...]] = {
    "current": (0,) * 6, "I": (1,) * 6, "II": tuple(SIDES), "III": (0, 1, -1, 0, 1, -1),
}  # fmt: skip
#: A principal stiffness below this part of the largest is none.
SINGULAR = 1e-10


class Deflection(NamedTuple):
    """What a load does to the tool at rest: displacements (…, 3) m, the turn γ about the tool's axis (rad), and the whole rotation."""

    displacement: np.ndarray
    turn: np.ndarray
    rotation: np.ndarray


@dataclass(frozen=True)
class Hexapod:
    """Six struts between tool joints A_i on a circle ``R`` and base joints B_i on a circle ``Rb`` (m), three in front and three behind.

    A_i = (R cos(θ_i + δ_i), R sin(θ_i + δ_i), σ_i h) on the tool carrier and B_i = (Rb cos θ_i, Rb sin θ_i, σ_i (h + e dz)) with θ_i = θ₀ + 60° (i − 1); the
    ``variant`` says which joints the angle ``zeta`` (rad) turns: "current" none, "I" all, "II" front and back against each other, "III" four of them.

    >>> Hexapod(variant="I", zeta=1.44).stiffness([0, 0, 0]).shape
    (6, 6)
    """

    variant: str = "current"
    zeta: float = 0.0
    R: float = 0.125
    Rb: float = 0.735
    h: float = 0.325
    dz: float = 0.498
    e: float = -1.0
    theta: float = 0.5 * np.pi
    #: Stiffness of a strut with both its joints, N/m.
    k: float = 1.02e6

    def __post_init__(self) -> None:
        if self.variant not in VARIANTS:
            raise InputError(f"hexapod: there is no variant {self.variant!r}; there are {', '.join(VARIANTS)}")

    def with_values(self, **changes: Any) -> Hexapod:
        """The same with other values."""
        return replace(self, **changes)

    @property
    def azimuths(self) -> np.ndarray:
        """θ_i."""
        return self.theta + np.pi / 3.0 * np.arange(6)

    @property
    def tool_joints(self) -> np.ndarray:
        """A_i in the frame of the tool carrier."""
        turned = self.azimuths + self.zeta * np.array(VARIANTS[self.variant], dtype=float)
        return np.column_stack([self.R * np.cos(turned), self.R * np.sin(turned), SIDES * self.h])

    @property
    def base_joints(self) -> np.ndarray:
        """B_i."""
        a = self.azimuths
        return np.column_stack([self.Rb * np.cos(a), self.Rb * np.sin(a), SIDES * (self.h + self.e * self.dz)])

    # -- kinematics -----------------------------------------------------------------------------------------------

    def _struts(self, p: Any, rotation: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """Arms a_i = R A_i and strut vectors from base to tool (…, 6, 3)."""
        place = np.asarray(p, dtype=float)[..., None, :]
        arms = self.tool_joints if rotation is None else np.einsum("...ij,kj->...ki", np.asarray(rotation, dtype=float), self.tool_joints)
        d = place + arms - self.base_joints
        return np.broadcast_to(arms, d.shape), d

    def lengths(self, p: Any, rotation: Any = None) -> np.ndarray:
        """Lengths of the struts where the tool is at p (…, 3) with a rotation (none by default)."""
        return np.asarray(np.linalg.norm(self._struts(p, rotation)[1], axis=-1))

    def inverse_kinematics(self, p: Any, rotation: Any = None) -> np.ndarray:
        """Travels Θ_i of the actuators from the central position."""
        return self.lengths(p, rotation) - self.lengths(np.zeros(3))

    def forward_kinematics(self, travels: Any, p: Any = (0, 0, 0), rotation: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """Place and rotation of the tool for travels of the actuators, near a guess (Newton's method)."""
        target = np.asarray(travels, dtype=float) + self.lengths(np.zeros(3))
        at, turn = np.array(p, dtype=float), np.eye(3) if rotation is None else np.array(rotation, dtype=float)
        for _ in range(40):
            off = self.lengths(at, turn) - target
            step = np.linalg.lstsq(self.jacobian(at, turn), -off, rcond=1e-13)[0]
            at, turn = at + step[3:], rotation_of(step[:3]) @ turn
            if np.abs(step).max() < 1e-15:
                break
        if np.abs(self.lengths(at, turn) - target).max() > 1e-10:
            raise SolverError(f"hexapod: no position of the tool near {np.round(p, 3).tolist()} has these travels")
        return at, turn

    def jacobian(self, p: Any, rotation: Any = None) -> np.ndarray:
        """∂s/∂(φ, p) (…, 6, 6), φ small rotations about the world's axes: rows (a_i × u_i, u_i)."""
        a, d = self._struts(p, rotation)
        u = d / np.linalg.norm(d, axis=-1, keepdims=True)
        return np.concatenate([np.cross(a, u), u], axis=-1)

    # -- stiffness ------------------------------------------------------------------------------------------------

    def stiffness(self, p: Any, rotation: Any = None, tension: Any = None) -> np.ndarray:
        """K = k JᵀJ (…, 6, 6), and with ``tension`` N_i of the struts Σ N_i ∂²s_i beside it."""
        J = self.jacobian(p, rotation)
        K = self.k * np.swapaxes(J, -1, -2) @ J
        return K if tension is None else K + self._of_tension(p, rotation, np.broadcast_to(np.asarray(tension, dtype=float), (6,)))

    def _of_tension(self, p: Any, rotation: Any, tension: np.ndarray) -> np.ndarray:
        """Σ N_i ∂²s_i by small rotations and displacements."""
        a, d = self._struts(p, rotation)
        s = np.linalg.norm(d, axis=-1)[..., None, None]
        u = d / s[..., 0]
        G = np.concatenate([-_cross(a), np.broadcast_to(np.eye(3), (*a.shape, 3))], axis=-1)
        across = np.eye(3) - u[..., :, None] * u[..., None, :]
        H = np.swapaxes(G, -1, -2) @ across @ G / s
        both = u[..., :, None] * a[..., None, :]
        H[..., :3, :3] += 0.5 * (both + np.swapaxes(both, -1, -2)) - np.sum(u * a, axis=-1)[..., None, None] * np.eye(3)
        return np.asarray(np.sum(tension[:, None, None] * H, axis=-3))

    def compliance(self, p: Any, rotation: Any = None) -> np.ndarray:
        """K⁻¹; where a motion is free, infinite on the diagonal of what takes part in it, and not a number between two such."""
        K = self.stiffness(p, rotation)
        sizes, V = np.linalg.eigh(0.5 * (K + np.swapaxes(K, -1, -2)))
        free = sizes < SINGULAR * sizes[..., -1:]
        C = (V * np.where(free, 0.0, 1.0 / np.where(free, 1.0, sizes))[..., None, :]) @ np.swapaxes(V, -1, -2)
        part = (np.abs(V) * free[..., None, :]).max(axis=-1) > 1e-7
        both = part[..., :, None] & part[..., None, :]
        return np.where(both, np.where(np.eye(6) > 0, np.inf, np.nan), C)

    def principal(
        self, p: Any, rotation: Any = None, force: float = 1.0, torque: float = 1.0, way: float = 1e-6, angle: float = 1e-6
    ) -> np.ndarray:
        """Principal stiffnesses k* (…, 6), ascending, of K without units by reference values; they depend on the length ``way/angle``."""
        rows, columns = np.repeat([1.0 / torque, 1.0 / force], 3), np.repeat([angle, way], 3)
        K = rows[:, None] * self.stiffness(p, rotation) * columns
        found = np.linalg.eigvalsh(0.5 * (K + np.swapaxes(K, -1, -2)))
        return np.where(found < SINGULAR * found[..., -1:], 0.0, found)

    # -- singular positions and self-stress -----------------------------------------------------------------------

    def freest(self, p: Any, rotation: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """The smallest singular value of the Jacobian, and the motion (φ, p) that belongs to it; with its rotation of length 1."""
        _, s, vt = np.linalg.svd(self.jacobian(p, rotation))
        motion = vt[..., -1, :]
        turn = np.linalg.norm(motion[..., :3], axis=-1, keepdims=True)
        return s[..., -1], np.where(turn > 1e-9, motion / np.maximum(turn, 1e-300), motion)

    def determinant(self, p: Any) -> np.ndarray:
        """D(p) = det of rows (A_i × (p − B_i), p + A_i − B_i), without rotation: its zeros are the singular surfaces."""
        a, d = self._struts(p)
        return np.asarray(np.linalg.det(np.concatenate([np.cross(a, d), d], axis=-1)))

    def domains(self, extent: float = 0.2, points: int = 20) -> int:
        """How many regions of a cube |x|, |y|, |z| ≤ ``extent`` singular surfaces leave; 0 where every point is singular.

        Cells are joined where the sign of the determinant is one on both sides (an even number of ``points`` keeps them off the planes of symmetry).
        """
        from scipy.ndimage import label

        axis = np.linspace(-extent, extent, points + points % 2)
        D = self.determinant(np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), axis=-1))
        if np.abs(D).max() < 1e-12 * self.R**3 * self.Rb**3:
            return 0
        return sum(int(label(D * sign > 0.0)[1]) for sign in (1.0, -1.0))

    def self_stress(self, p: Any = (0, 0, 0), rotation: Any = None) -> np.ndarray:
        """Tensions of the struts that hold each other (states × 6, each of norm 1): Jᵀ N = 0."""
        u, s, _ = np.linalg.svd(self.jacobian(p, rotation))
        return np.asarray(u[:, s < 1e-9 * s[0]].T)

    # -- workspace ------------------------------------------------------------------------------------------------

    def pivots(self, p: Any, turned: bool = False) -> np.ndarray:
        """Angles of the struts in the plane of the machine against the radial direction of their tool joints, or (``turned``) against the strut in the middle."""
        a, d = self._struts(p)
        out = np.broadcast_to(a if not turned else -self._struts(np.zeros(3))[1], d.shape)
        angle = np.arctan2(-d[..., 1], -d[..., 0]) - np.arctan2(out[..., 1], out[..., 0])
        return np.asarray(np.mod(angle + np.pi, 2.0 * np.pi) - np.pi)

    def admissible(self, p: Any, stroke: float = 0.4, pivot: float = np.radians(40.0), turned: bool = False) -> np.ndarray:
        """Whether struts reach p within half a stroke to both sides and joints within their pivot angle."""
        travel = self.inverse_kinematics(p)
        slack = 1e-12
        return (np.abs(travel) <= 0.5 * stroke + slack).all(axis=-1) & (np.abs(self.pivots(p, turned)) <= pivot + slack).all(axis=-1)

    def radius(
        self, stroke: float = 0.4, pivot: float = np.radians(40.0), turned: bool = False, most: float = 0.6, rays: int = 360
    ) -> float:
        """The largest circle about the centre, in the plane of the machine, of which every point can be reached: rays, then bisection."""
        angles = 2.0 * np.pi / rays * np.arange(rays)
        way = np.column_stack([np.cos(angles), np.sin(angles), np.zeros(rays)])
        if not self.admissible(np.zeros(3), stroke, pivot, turned):
            return 0.0
        steps = np.linspace(0.0, most, 61)
        inside = self.admissible(steps[:, None, None] * way, stroke, pivot, turned)
        last = np.where(inside.all(axis=0), len(steps) - 1, np.argmin(inside, axis=0) - 1)
        low, high = steps[last], steps[np.minimum(last + 1, len(steps) - 1)]
        for _ in range(45):
            middle = 0.5 * (low + high)
            good = self.admissible(middle[:, None] * way, stroke, pivot, turned)
            low, high = np.where(good, middle, low), np.where(good, high, middle)
        return float(low.min())

    def pivot_radius(self, pivot: float = np.radians(40.0)) -> float:
        """The same of variant I by the pivot angle alone, in closed form: w sin(δ − ζ − χ)."""
        x, y = self.Rb - self.R * np.cos(self.zeta), self.R * np.sin(self.zeta)
        return max(0.0, float(np.hypot(x, y) * np.sin(pivot - self.zeta - np.arctan2(y, x))))

    # -- statics --------------------------------------------------------------------------------------------------

    def deflection(self, p: Any, force: Any = (0, 0, 0), torque: Any = (0, 0, 0), steps: int = 10) -> Deflection:
        """Where loads (world axes, at the tool) push the tool from targets p (…, 3) that the actuators hold: large displacements, loads in ``steps``."""
        target = np.atleast_2d(np.asarray(p, dtype=float))
        rest = self.lengths(target)
        at, turn = target.copy(), np.broadcast_to(rotation_of(np.array([0.0, 0.0, 0.02 * np.sign(np.asarray(torque, float)[2])])), (len(target), 3, 3)).copy()  # fmt: skip
        for part in np.linspace(0.0, 1.0, steps + 1)[1:]:
            load = part * np.concatenate([np.asarray(torque, dtype=float), np.asarray(force, dtype=float)])
            for _ in range(60):
                step = self._towards_balance(at, turn, rest, load)
                at, turn = at + step[:, 3:], rotation_of(step[:, :3]) @ turn
                if np.abs(step).max() < 1e-13:
                    break
            else:
                raise SolverError(f"hexapod {self.variant}: no balance is found under {part:g} of the load")
        shape = np.shape(p)[:-1]
        angle = np.arctan2(-turn[:, 0, 1], turn[:, 0, 0])
        return Deflection((at - target).reshape(*shape, 3), angle.reshape(shape), turn.reshape(*shape, 3, 3))

    def _towards_balance(self, at: np.ndarray, turn: np.ndarray, rest: np.ndarray, load: np.ndarray) -> np.ndarray:
        """A step of Newton's method for forces and torques of the struts, not longer than a fifth of a radian."""
        a, d = self._struts(at, turn)
        s = np.linalg.norm(d, axis=-1)[..., None]
        u, N = d / s, self.k * (s[..., 0] - rest)[..., None]
        f = N * u
        along = self.k * u[..., :, None] * u[..., None, :]
        Kf = along + (N / s)[..., None] * (np.eye(3) - u[..., :, None] * u[..., None, :])
        G = np.concatenate([-_cross(a), np.broadcast_to(np.eye(3), (*a.shape, 3))], axis=-1)
        df = Kf @ G
        dl = _cross(a) @ df
        dl[..., :3] += _cross(f) @ _cross(a)  # d(a) × f = −f × (φ × a)
        K = np.concatenate([dl.sum(axis=-3), df.sum(axis=-3)], axis=-2)
        held = np.concatenate([np.cross(a, f).sum(axis=-2), f.sum(axis=-2)], axis=-1)
        step = np.linalg.solve(K, (load - held)[..., None])[..., 0]
        return np.asarray(step / np.maximum(1.0, np.abs(step).max(axis=-1, keepdims=True) / 0.2))


def rotation_of(vector: np.ndarray) -> np.ndarray:
    """The rotation by vectors (…, 3): Rodrigues' formula."""
    angle = np.linalg.norm(vector, axis=-1)[..., None, None]
    W = _cross(np.asarray(vector, dtype=float))
    small = angle < 1e-8
    safe = np.where(small, 1.0, angle)
    first = np.where(small, 1.0 - angle**2 / 6.0, np.sin(safe) / safe)
    second = np.where(small, 0.5 - angle**2 / 24.0, (1.0 - np.cos(safe)) / safe**2)
    return np.eye(3) + first * W + second * W @ W


def _cross(a: np.ndarray) -> np.ndarray:
    """Matrices of a × (…)."""
    x, y, z = np.moveaxis(a, -1, 0)
    o = np.zeros_like(x)
    return np.stack([np.stack([o, -z, y], -1), np.stack([z, o, -x], -1), np.stack([-y, x, o], -1)], -2)


__all__ = ["VARIANTS", "Deflection", "Hexapod", "rotation_of"]
