"""Inverse kinematics: positions of a mechanism that bring frames to given places and orientations.

Weighted least squares by damped Gauss–Newton steps in the free directions of the constraints, with joint limits as an active
set; the orientation's error is the rotation vector of R R*ᵀ in world axes, with its exact derivative.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import InputError, SolverError
from ..model.values import rotation as rotation_value
from ..model.values import vector
from ..reals import reals
from ..shown import Shown
from ..systems.constraints import velocity_column
from ..systems.state import State
from ..systems.tree.partition import null_space
from .assemble import close_positions
from .equations.residual import close_loops
from .tables import File, bars, write_record

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..systems.system import System


@dataclass(frozen=True)
class Target:
    """Where a frame should be: a position (m), an orientation (rotation matrix), or both, in world axes."""

    frame: str
    position: np.ndarray | None
    rotation: np.ndarray | None
    position_weight: float = 1.0
    rotation_weight: float = 1.0


@dataclass(frozen=True)
class Pose(Shown):
    """What inverse kinematics found: a state at rest and the errors that remain."""

    state: State
    #: distance (m) and angle (rad) off the target, by frame
    errors: dict[str, tuple[float, float]]
    reached: bool
    iterations: int
    starts: int
    at_limits: list[str] = field(default_factory=list)

    def __getitem__(self, name: str) -> float:
        return self.state[name]

    def plot(self, file: File | None = None, show: bool = False) -> Figure:
        """Distance of every frame from its target as bars."""
        return bars({n: d for n, (d, _) in self.errors.items()}, "distance from the target [m]", file, show)

    def save(self, path: File) -> None:
        """Positions and remaining errors as JSON."""
        names = self.state.system.coordinate_names
        position = dict(zip(names, self.state.q.tolist(), strict=True))
        errors = {n: {"distance": float(d), "angle": float(a)} for n, (d, a) in self.errors.items()}
        write_record(path, {"position": position, "errors": errors, "reached": bool(self.reached), "at_limits": self.at_limits})

    def __str__(self) -> str:
        head = "reached" if self.reached else "NOT reached; the nearest position"
        lines = [f"targets {head} ({self.iterations} iterations, {self.starts} starts)"]
        lines += [f"  {n}: {d:.3e} m, {a:.3e} rad off" for n, (d, a) in self.errors.items()]
        if self.at_limits:
            lines.append(f"  at their limits: {', '.join(self.at_limits)}")
        return "\n".join([*lines, str(self.state)])


def inverse_kinematics(
    system: System,
    targets: Mapping[str, Any],
    x0: State | Mapping[str, Any] | None = None,
    fixed: Mapping[str, Any] | None = None,
    limits: bool | Mapping[str, tuple[float, float]] = True,
    starts: int = 10,
    tolerance: float = 1e-9,
    seed: int = 0,
    iterations: int = 200,
) -> Pose:
    """Positions near ``x0`` that bring frames (by path) to targets, loops closed and joint limits kept.

    A target is a position (three numbers), a rotation (3×3), a 4×4 matrix, or a dict with "position", "rotation", "weight",
    "position_weight", "rotation_weight".  ``fixed`` coordinates keep their values.  If the targets are not reached from ``x0``
    other starting points are tried (``starts`` in all); the nearest position is given when none reaches them.

    >>> import jourdain as jd
    >>> m = jd.Model("arm")
    >>> arm = m.body("arm", mass=1.0)
    >>> hinge = m.revolute("hinge", m.ground, arm, axis="z")
    >>> tip = arm.frame("tip", position=(1, 0, 0))
    >>> found = m.compile().inverse_kinematics({"arm.tip": (0.6, 0.8, 0)})
    >>> round(found["hinge.angle"], 6)
    0.927295
    """
    if not isinstance(targets, Mapping):
        raise InputError(
            f"inverse_kinematics: targets = {targets!r} must give targets by the paths of frames, such as {{'hand': (x, y, z)}}"
        )
    wanted = [_target(system, path, given) for path, given in targets.items()]
    if not wanted:
        raise InputError("inverse_kinematics: give at least one target, such as {'hand': (x, y, z)}")
    start = x0 if isinstance(x0, State) else system.state(x0)
    start = start.with_values(q=system.configuration.pack(fixed or {}, start.q), v=np.zeros(system.nv))
    held = {velocity_column(system, n) for n in fixed or {}}
    search = _Search(system, wanted, _limits(system, limits), held, start.t, tolerance, iterations)
    rng = np.random.default_rng(seed)
    best: tuple[float, np.ndarray, int] | None = None
    failure: SolverError | None = None
    tried = 0
    for tried in range(1, starts + 1):
        q = start.q if tried == 1 else search.random(rng, start.q)
        try:
            q, cost, count = search.run(q)
        except SolverError as error:
            failure = error
            continue
        if best is None or cost < best[0]:
            best = (cost, q, count)
        if search.reached(q):
            break
    if best is None:
        raise failure or SolverError("inverse_kinematics: no start could be assembled")
    return search.pose(best[1], start, best[2], tried)


def _target(system: System, path: str, given: Any) -> Target:
    system.model.frame(path)
    what = f"target of '{path}'"
    if isinstance(given, Mapping) and not set(given) <= {"rpy", "quaternion", "matrix"}:
        unknown = set(given) - {"position", "rotation", "weight", "position_weight", "rotation_weight"}
        if unknown:
            raise InputError(f"{what}: unknown entry '{min(unknown)}'; use position, rotation, weight, position_weight, rotation_weight")
        common = float(given.get("weight", 1.0))
        p, R = given.get("position"), given.get("rotation")
        weights = tuple(float(given.get(k, common)) for k in ("position_weight", "rotation_weight"))
        if p is None and R is None:
            raise InputError(f"{what}: give a position, a rotation, or both")
    elif np.shape(given) == (4, 4):
        T = reals(given, what)
        p, R, weights = T[:3, 3], T[:3, :3], (1.0, 1.0)
    elif np.shape(given) == (3,) and not isinstance(given, Mapping):
        p, R, weights = given, None, (1.0, 1.0)
    else:
        p, R, weights = None, given, (1.0, 1.0)
    if min(weights) < 0:
        raise InputError(f"{what}: weights must not be negative, got {weights}")
    position = None if p is None else np.array([float(e) for e in vector(p, what, "m")])
    rotation = None if R is None else np.array([float(e) for e in rotation_value(_plain(R), what).entries]).reshape(3, 3)
    return Target(path, position, rotation, *weights)


def _plain(R: Any) -> Any:
    return R.tolist() if isinstance(R, np.ndarray) else R


def _limits(system: System, given: bool | Mapping[str, tuple[float, float]]) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper limits along the velocities."""
    low, high = np.full(system.nv, -np.inf), np.full(system.nv, np.inf)
    if given is False:
        return low, high
    index = {n: j for j, n in enumerate(system.velocity_names)}
    for joint in system.model.joints.values():
        if (
            len(joint.coordinates) == 1
            and joint.coordinates[0].velocity_names[0] in index
            and joint.motions[0].coordinate is joint.coordinates[0]
        ):
            j = index[joint.coordinates[0].velocity_names[0]]
            a, b = joint.limits
            low[j], high[j] = -np.inf if a is None else a, np.inf if b is None else b
    if isinstance(given, Mapping):
        for name, (a, b) in given.items():
            j = velocity_column(system, name)
            low[j], high[j] = float(a), float(b)
    return low, high


class _Search:
    """Least squares from one start."""

    def __init__(
        self,
        system: System,
        targets: list[Target],
        limits: tuple[np.ndarray, np.ndarray],
        held: set[int],
        t: float,
        tolerance: float,
        iterations: int,
    ) -> None:
        self.system, self.targets, self.held, self.t = system, targets, held, t
        self.low, self.high = limits
        self.tolerance, self.iterations = tolerance, iterations
        self.functions = [system.function("frame_pose", path=x.frame) for x in targets]
        c = system.configuration
        self.scalar_q, self.scalar_v = c._scalar_q, c._scalar_v

    # -- errors ---------------------------------------------------------------------------------------------------

    def errors(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Weighted errors and their Jacobian."""
        parts, rows = [], []
        for x, f in zip(self.targets, self.functions, strict=True):
            p, R, J = f(np.array([self.t]), q)
            if x.position is not None:
                parts.append(x.position_weight * (p - x.position))
                rows.append(x.position_weight * J[:3])
            if x.rotation is not None:
                e = rotation_vector(R @ x.rotation.T)
                parts.append(x.rotation_weight * e)
                rows.append(x.rotation_weight * (inverse_left_jacobian(e) @ J[3:]))
        return np.concatenate(parts), np.vstack(rows)

    def offsets(self, q: np.ndarray) -> dict[str, tuple[float, float]]:
        """Distance and angle off each target."""
        found = {}
        for x, f in zip(self.targets, self.functions, strict=True):
            p, R, _ = f(np.array([self.t]), q)
            d = 0.0 if x.position is None else float(np.linalg.norm(p - x.position))
            a = 0.0 if x.rotation is None else float(np.linalg.norm(rotation_vector(R @ x.rotation.T)))
            found[x.frame] = (d, a)
        return found

    def reached(self, q: np.ndarray) -> bool:
        """Whether all targets (of positive weight) are met."""
        limits = {x.frame: (x.position_weight > 0, x.rotation_weight > 0) for x in self.targets}
        return all(
            (d <= 10 * self.tolerance or not limits[n][0]) and (a <= 10 * self.tolerance or not limits[n][1])
            for n, (d, a) in self.offsets(q).items()
        )

    # -- steps ----------------------------------------------------------------------------------------------------

    def random(self, rng: np.random.Generator, q0: np.ndarray) -> np.ndarray:
        """A random start within the limits, held coordinates as they are."""
        c = self.system.configuration
        q = c.random(rng)
        for i, j in zip(self.scalar_q, self.scalar_v, strict=True):
            if np.isfinite(self.low[j]) and np.isfinite(self.high[j]):
                q[i] = rng.uniform(self.low[j], self.high[j])
            if j in self.held:
                q[i] = q0[i]
        return q

    def _clipped(self, q: np.ndarray) -> np.ndarray:
        q = q.copy()
        for i, j in zip(self.scalar_q, self.scalar_v, strict=True):
            if j not in self.held:
                q[i] = min(max(q[i], self.low[j]), self.high[j])
        return q

    def _at(self, q: np.ndarray, tolerance: float = 1e-12) -> tuple[set[int], set[int]]:
        lower = {int(j) for i, j in zip(self.scalar_q, self.scalar_v, strict=True) if q[i] <= self.low[j] + tolerance}
        upper = {int(j) for i, j in zip(self.scalar_q, self.scalar_v, strict=True) if q[i] >= self.high[j] - tolerance}
        return lower, upper

    def run(self, q: np.ndarray) -> tuple[np.ndarray, float, int]:
        """Positions of (locally) least error from a start; loops closed at every step."""
        q = self._closed(self._clipped(q), set())
        e, J = self.errors(q)
        damping = 1e-6
        for k in range(self.iterations):
            if np.abs(e).max() < 0.01 * self.tolerance:
                return q, float(e @ e), k
            trial: np.ndarray | None = None
            for _ in range(25):
                step, active = self._step(q, e, J, damping)
                if np.abs(step).max(initial=0.0) < 1e-15:
                    return q, float(e @ e), k
                trial = self._trial(q, step, active)
                if trial is not None:
                    e1, J1 = self.errors(trial)
                    if e1 @ e1 < e @ e * (1 - 1e-12) or self._flatter(q, active, (e, J), (e1, J1)):
                        break
                    trial = None
                damping = max(1e-9, 8.0 * damping)
            if trial is None:
                return q, float(e @ e), k
            q, e, J, damping = trial, e1, J1, 0.1 * damping
        return q, float(e @ e), self.iterations

    def _step(self, q: np.ndarray, e: np.ndarray, J: np.ndarray, damping: float) -> tuple[np.ndarray, set[int]]:
        """Damped step in the directions that constraints and active limits leave free."""
        lower, upper = self._at(q)
        active = set(self.held)
        scale = float(np.linalg.norm(J)) ** 2 / max(1, J.shape[1])
        for _ in range(2 * self.system.nv + 1):
            Z = self._free_directions(q, active)
            A = J @ Z
            y = (
                np.linalg.solve(A.T @ A + max(damping, 1e-14) * max(scale, 1e-12) * np.eye(A.shape[1]), -A.T @ e)
                if A.shape[1]
                else np.zeros(0)
            )
            step = Z @ y
            longest = np.abs(step).max(initial=0.0)
            step = step * min(1.0, 0.7 / longest) if longest > 0 else step
            leaving = {j for j in lower if step[j] < 0} | {j for j in upper if step[j] > 0}
            if leaving <= active:
                return step, active
            active |= leaving
        return np.zeros(self.system.nv), active

    def _flatter(
        self, q: np.ndarray, active: set[int], before: tuple[np.ndarray, np.ndarray], after: tuple[np.ndarray, np.ndarray]
    ) -> bool:
        """Near the least error its change drowns in round-off: the slope tells whether a step was good."""
        (e, J), (e1, J1) = before, after
        if e1 @ e1 > e @ e * (1 + 1e-13):
            return False
        Z = self._free_directions(q, active)
        return bool(np.linalg.norm(Z.T @ (J1.T @ e1)) < 0.5 * np.linalg.norm(Z.T @ (J.T @ e)))

    def _free_directions(self, q: np.ndarray, active: set[int]) -> np.ndarray:
        free = [j for j in range(self.system.nv) if j not in active]
        Z = np.zeros((self.system.nv, 0))
        if not free:
            return Z
        if not self.system.equations_of_motion.holonomic:
            basis = np.eye(len(free))
        else:
            _, H = self.system.function("constraints")(np.array([self.t]), q)
            basis = null_space(H[:, free])
        Z = np.zeros((self.system.nv, basis.shape[1]))
        Z[free] = basis
        return Z

    def _trial(self, q: np.ndarray, step: np.ndarray, active: set[int]) -> np.ndarray | None:
        """The position after a step, stopped at limits, with closed loops; None if they cannot be closed within limits."""
        trial = self.system.configuration.integrate(q, step)
        clipped = self._clipped(trial)
        try:
            closed = self._closed(clipped, active)
        except SolverError:
            return None
        lower, upper = self._at(closed, -1e-9)
        return None if lower | upper else closed

    def _closed(self, q: np.ndarray, active: set[int]) -> np.ndarray:
        if not self.system.equations_of_motion.holonomic:
            return q
        stuck = self._at(q)
        held = sorted(self.held | active | stuck[0] | stuck[1])
        try:
            return np.asarray(close_positions(self.system, q, held, np.ones(self.system.nv), self.t)[0])
        except SolverError:
            return self._clipped(close_loops(self.system, q, sorted(self.held), self.t))

    def pose(self, q: np.ndarray, start: State, iterations: int, starts: int) -> Pose:
        """The result."""
        lower, upper = self._at(q, 1e-9)
        names = [self.system.velocity_names[j].removesuffix("_rate") for j in sorted(lower | upper)]
        state = State(self.system, self.system.configuration.normalise(q), np.zeros(self.system.nv), start.z, start.t)
        return Pose(state, self.offsets(q), self.reached(q), iterations, starts, names)


def rotation_vector(R: np.ndarray) -> np.ndarray:
    """Rotation vector (angle times axis, angle ≤ π) of a rotation matrix."""
    axis = 0.5 * np.array([R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]])
    sine, cosine = float(np.linalg.norm(axis)), 0.5 * (float(np.trace(R)) - 1.0)
    angle = float(np.arctan2(sine, cosine))
    if sine > 1e-8:
        return np.asarray(axis * (angle / sine))
    if cosine > 0:
        return axis
    S = 0.5 * (R + np.eye(3))
    k = int(np.argmax(np.diag(S)))
    return np.asarray(angle * S[:, k] / np.sqrt(S[k, k]))


def inverse_left_jacobian(e: np.ndarray) -> np.ndarray:
    """ė = J⁻¹(e) ω for the rotation vector e of a rotation with angular velocity ω in world axes."""
    angle = float(np.linalg.norm(e))
    hat = np.array([[0.0, -e[2], e[1]], [e[2], 0.0, -e[0]], [-e[1], e[0], 0.0]])
    if angle < 1e-4:
        factor = 1.0 / 12.0 + angle**2 / 720.0
    else:
        half = 0.5 * angle
        factor = (1.0 - half * np.cos(half) / np.sin(half)) / angle**2
    return np.asarray(np.eye(3) - 0.5 * hat + factor * hat @ hat)
