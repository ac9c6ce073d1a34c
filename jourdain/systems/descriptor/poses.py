"""Between bodies' poses and joint coordinates: the motion of all bodies of a tree, and the tree's states that follow from poses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...formalisms.coordinates.descriptor import BodyMotion
from ..outputs.solution import NoJointCoordinates
from ..state import State

if TYPE_CHECKING:
    from ..tree.system import TreeSystem


def body_motion(reference: TreeSystem, state: State) -> BodyMotion:
    """Poses and twists of all bodies with the joint coordinates, from a state of the recursive system."""
    p, R, v, w, _, _ = reference.function("bodies_motion")(np.array([state.t]), state.q, state.v)
    eq, c = reference.equations_of_motion, reference.configuration
    coordinates = dict(zip(c.position_names, state.q.tolist(), strict=True))
    rates = dict(zip(c.velocity_names, state.v.tolist(), strict=True))
    values = dict(zip(eq.p, reference.parameter_vector.tolist(), strict=True))
    cut = [item for joint in eq.tree.cuts for item in joint.coordinates if item.motion is None and item.q[0] in eq.readings]
    if cut:
        from ...symbolic.graph import evaluate

        known = {**values, **dict(zip(eq.q, state.q, strict=True)), **dict(zip(eq.v, state.v, strict=True)), eq.t: state.t}
        known |= dict(zip(eq.z, state.z, strict=True)) | dict(zip(eq.u, reference.input_values(), strict=True))
        read = evaluate([eq.readings[s] for item in cut for s in (item.q[0], item.v[0])], known)
        for i, item in enumerate(cut):
            coordinates[item.names[0]], rates[item.velocity_names[0]] = float(read[2 * i]), float(read[2 * i + 1])
    return BodyMotion(p, R, v, w, coordinates, rates, state.t, values)


def tree_accelerations(reference: TreeSystem, state: State, vd: np.ndarray, wd: np.ndarray) -> np.ndarray:
    """v̇ of the reference tree from the accelerations of all bodies (least squares; exact for consistent ones)."""
    *_, J, bias = reference.function("bodies_motion")(np.array([state.t]), state.q, state.v)
    return _least_squares(J, np.column_stack([vd, wd]).ravel() - bias)


def _least_squares(J: np.ndarray, right: np.ndarray) -> np.ndarray:
    """min |J v − right| with columns brought to length one, refined once."""
    if J.shape[1] == 0:
        return np.zeros(0)
    scale = 1.0 / np.maximum(np.linalg.norm(J, axis=0), 1e-300)
    Q, U = np.linalg.qr(J * scale)
    if np.abs(np.diag(U)).min(initial=1.0) < 1e-12:
        return scale * np.linalg.lstsq(J * scale, right, rcond=1e-12)[0]
    solution = np.linalg.solve(U, Q.T @ right)
    solution += np.linalg.solve(U, Q.T @ (right - (J * scale) @ solution))
    return np.asarray(scale * solution)


#: Poses missed by more than this part of the model's extent (and of a radian) are sought from other guesses, and in the end refused.
REACHED, REFUSED = 1e-5, 1e-2


class UnreachablePose(NoJointCoordinates):
    """Bodies stand where no joint coordinates put them: joints have play, or a run has left its constraints."""


def tree_states(
    reference: TreeSystem, start: State, t: np.ndarray, p: np.ndarray, R: np.ndarray, v: np.ndarray, w: np.ndarray,
    counted: Mapping[str, np.ndarray] | None = None, drifting: bool = False,
) -> np.ndarray:  # fmt: skip
    """Rows (q, v) of the reference tree that follow from body poses and twists at given times, by continuation from ``start``.

    Gauss–Newton on all poses from the extrapolated configuration; where that fails, joint by joint from several angles.  Turns of angles
    are counted by the mean of the rates at both ends of a step, so that a joint may turn by any angle between two samples as long as this
    mean is right to half a turn; ``counted`` gives angles whose turns are known already.  Of a ``drifting`` run, whose
    constraints do not hold, the nearest coordinates are taken.
    """
    return _Reader(reference, start, drifting).rows(t, p, R, v, w, counted or {})


class _Reader:
    """Joint coordinates from body poses, one sample after the other."""

    def __init__(self, reference: TreeSystem, start: State, drifting: bool) -> None:
        self.reference, self.start = reference, start
        self.enough = np.inf if drifting else REACHED
        self.f, self.configuration = reference.function("bodies_motion"), reference.configuration
        self.still = np.zeros(reference.nv)
        names = list(reference.model.bodies)
        tree = reference.equations_of_motion.tree
        cut = {id(j) for j in tree.cuts}
        c = reference.configuration
        columns = {n: i for i, n in enumerate(c.velocity_names)}
        #: For every body the joint that carries it, the body it is carried by, and the joint's free velocities.
        self.joints = {
            names.index(j.child.body.name): (
                j.name, -1 if j.parent.body.is_ground else names.index(j.parent.body.name),
                [columns[n] for x in j.coordinates for n in x.velocity_names if n in columns],
            )
            for j in reference.model.joints.values() if id(j) not in cut and not j.child.body.is_ground
        }  # fmt: skip
        self.turns = self._periodic()

    def _periodic(self) -> list[tuple[int, int]]:
        """Position and velocity index of angles whose full turn changes no pose."""
        clock = np.array([self.start.t])
        at = self.f(clock, self.start.q, self.still)
        found = []
        c = self.configuration
        for i, j in zip(c._scalar_q.tolist(), c._scalar_v.tolist(), strict=True):
            if c.units[i] == "rad":
                q = self.start.q.copy()
                q[i] += 2.0 * np.pi
                turned = self.f(clock, q, self.still)
                if max(float(np.abs(turned[k] - at[k]).max(initial=0.0)) for k in (0, 1)) < 1e-9 * (1.0 + np.abs(at[0]).max(initial=0.0)):
                    found.append((i, j))
        return found

    def rows(
        self, t: np.ndarray, p: np.ndarray, R: np.ndarray, v: np.ndarray, w: np.ndarray, counted: Mapping[str, np.ndarray]
    ) -> np.ndarray:
        """One row (q, v) for every time."""
        from ...solvers.constraints.pose_reader import read_samples

        known = {i: counted[n] for i, n in enumerate(self.configuration.position_names) if n in counted}
        table = np.array([known.get(i, np.full(len(t), np.nan)) for i, _ in self.turns]).reshape(-1)
        nq, nv = self.reference.nq, self.reference.nv
        rows = np.empty((len(t), nq + nv))
        q, rate, before = self.start.q.copy(), self.start.v.copy(), self.start.t
        size = max(1e-3, float(np.ptp(p.reshape(-1, 3), axis=0).max(initial=0.0)) if p.size else 1.0)
        memory = _Memory(self, len(p[0]) if len(p) else 0)
        given = Samples(*(np.ascontiguousarray(x, dtype=float).reshape(-1) for x in (t, p, R, v, w)))
        k, enough = 0 if nv else len(t), min(self.enough, REFUSED)
        while k < len(t):
            k = read_samples(
                k, float(before), memory.found, given, memory.quaternions, memory.turns, table, size, enough, q, rate, rows.reshape(-1),
                memory.work,
            )  # fmt: skip
            if k < len(t):  # a pose far from the one before
                step = t[k] - (t[k - 1] if k else self.start.t)
                q, rate = self._far(float(t[k]), step, [x[k] for x in (p, R, v, w)], q, rate, table[k :: len(t)], size)
                rows[k, :nq], rows[k, nq:] = q, rate
                before, k = t[k], k + 1
        return rows

    def _far(
        self, now: float, step: float, given: Sequence[np.ndarray], last: np.ndarray, rate: np.ndarray, counted: np.ndarray, size: float
    ) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
        """q and v of one sample (p, R, v, ω) sought from several guesses; turns are counted as between near ones."""
        p, R, v, w = given
        q = self._position(now, p, R, self.configuration.integrate(last, step * rate), last, size)
        _, _, driven_v, driven_w, J, _ = self.f(np.array([now]), q, self.still)
        found = _least_squares(J, np.column_stack([v - driven_v, w - driven_w]).ravel())
        for (i, j), known in zip(self.turns, counted, strict=True):
            expected = last[i] + 0.5 * step * (rate[j] + found[j]) if np.isnan(known) else known
            q[i] += 2.0 * np.pi * round((expected - q[i]) / (2.0 * np.pi))
        return q, found

    def _position(self, now: float, p: np.ndarray, R: np.ndarray, predicted: np.ndarray, last: np.ndarray, size: float) -> np.ndarray:
        best, least = predicted, np.inf
        for guess in (lambda: predicted, lambda: last, lambda: self._by_joints(now, p, R, last, size)):
            q = self._fitted(now, p, R, guess(), None)
            miss = self._miss(now, p, R, q, size)
            if miss < least:
                best, least = q, miss
            if least < self.enough:
                return best
        if least < REFUSED:
            return best
        raise UnreachablePose(self._unreached(now, p, R, best, size))

    def _error(self, now: float, p: np.ndarray, R: np.ndarray, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Displacement and rotation left for every body (6 columns), and the Jacobian."""
        pq, Rq, _, _, J, _ = self.f(np.array([now]), q, self.still)
        return np.column_stack([p - pq, _rotation_between(Rq, R)]), J

    def _miss(self, now: float, p: np.ndarray, R: np.ndarray, q: np.ndarray, size: float) -> float:
        error, _ = self._error(now, p, R, q)
        return float(np.abs(error / np.repeat([size, 1.0], 3)).max(initial=0.0))

    def _fitted(self, now: float, p: np.ndarray, R: np.ndarray, q: np.ndarray, part: tuple[slice, list[int]] | None) -> np.ndarray:
        """Gauss–Newton on all poses, or on those of one body by the velocities of its joint."""
        for _ in range(25):
            error, J = self._error(now, p, R, q)
            step = np.zeros(self.reference.nv)
            if part is None:
                step = _least_squares(J, error.ravel())
            else:
                step[part[1]] = _least_squares(J[part[0]][:, part[1]], error.ravel()[part[0]])
            largest = float(np.abs(step).max(initial=0.0))
            q = self.configuration.normalise(self.configuration.integrate(q, step * min(1.0, 2.0 / max(largest, 1e-300))))
            if largest < 1e-10:
                break
        return q

    def _by_joints(self, now: float, p: np.ndarray, R: np.ndarray, q: np.ndarray, size: float) -> np.ndarray:
        """Joint by joint from the ground on, each from several angles; what is nearest is kept."""
        done: set[int] = {-1}
        waiting = dict(self.joints)
        while waiting:
            ready = [b for b, (_, parent, _) in waiting.items() if parent in done]
            if not ready:
                break
            for b in ready:
                _, _, columns = waiting.pop(b)
                done.add(b)
                rows = slice(6 * b, 6 * b + 6)
                tried = []
                for turn in (0.0, 2.0, -2.0) if columns else ():
                    moved = np.zeros(self.reference.nv)
                    moved[columns] = turn
                    guess = self._fitted(now, p, R, self.configuration.integrate(q, moved), (rows, columns))
                    error, _ = self._error(now, p, R, guess)
                    tried.append((float(np.abs(error[b] / np.repeat([size, 1.0], 3)).max()), guess))
                    if tried[-1][0] < REACHED:
                        break
                if tried:
                    q = min(tried, key=lambda x: x[0])[1]
        return q

    def _unreached(self, now: float, p: np.ndarray, R: np.ndarray, q: np.ndarray, size: float) -> str:
        pq, Rq, *_ = self.f(np.array([now]), q, self.still)
        worst, name = -1.0, "?"
        for b, (joint, parent, _) in self.joints.items():
            gap, turn = p[b] - pq[b], _rotation_between(Rq[b : b + 1], R[b : b + 1])[0]
            if parent >= 0:
                around = _rotation_between(Rq[parent : parent + 1], R[parent : parent + 1])[0]
                gap = gap - (p[parent] - pq[parent]) - np.cross(around, pq[b] - pq[parent])
                turn = turn - around
            off = float(np.linalg.norm(gap) / size + np.linalg.norm(turn))
            if off > worst:
                worst, name, distance, angle = off, joint, float(np.linalg.norm(gap)), float(np.linalg.norm(turn))
        return (
            f"'{self.reference.model.name}': no joint coordinates put the bodies where they are at t = {now:g} s; joint '{name}' is off by "
            f"{distance:.3g} m and {angle:.3g} rad"
        )


class Samples(NamedTuple):
    """Times, and positions, rotations, velocities and angular velocities of all bodies, each as one row of numbers."""

    t: np.ndarray
    p: np.ndarray
    R: np.ndarray
    v: np.ndarray
    w: np.ndarray


class TreeMotion(NamedTuple):
    """The compiled motion of the tree's bodies as native code calls it: address and arguments, and what they point to."""

    address: int
    args: int
    time: np.ndarray
    q: np.ndarray
    p: np.ndarray
    R: np.ndarray
    v: np.ndarray
    w: np.ndarray
    J: np.ndarray


class _Memory:
    """What :func:`.read_samples` reads and writes."""

    def __init__(self, reader: _Reader, bodies: int) -> None:
        from ...solvers.constraints.pose_reader import memory_size

        c, f = reader.configuration, reader.f
        time, q = np.zeros(1), np.zeros(c.nq)
        outputs = [np.zeros(shape) for _, shape in f.signature.outputs]
        self._arguments = f.arguments(time, q, reader.still, *outputs)
        self._bias = outputs[5]  # not read, but written by every call
        flat = [x.reshape(-1) for x in outputs[:5]]
        self.found = TreeMotion(f.address, self._arguments.ctypes.data, time, q, *flat)
        self.quaternions = np.array([i for pair in c.quaternions for i in pair], dtype=np.int64)
        self.turns = np.array([i for pair in reader.turns for i in pair], dtype=np.int64)
        self.work = np.zeros(memory_size(bodies, c.nq, c.nv))


def _rotation_between(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Rotation vectors (world axes) that turn the rotations A into B."""
    D = B @ np.swapaxes(A, 1, 2)
    sine = 0.5 * np.stack([D[:, 2, 1] - D[:, 1, 2], D[:, 0, 2] - D[:, 2, 0], D[:, 1, 0] - D[:, 0, 1]], axis=1)
    size = np.linalg.norm(sine, axis=1)
    angle = np.arctan2(size, 0.5 * (np.trace(D, axis1=1, axis2=2) - 1.0))
    return np.asarray(sine * np.where(size > 1e-12, angle / np.maximum(size, 1e-300), 1.0)[:, None])


__all__ = ["UnreachablePose", "body_motion", "tree_accelerations", "tree_states"]
