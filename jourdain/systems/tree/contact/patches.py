"""Bodies that touch by a whole patch and keep doing so: rows of its points nearby, where the search would find other points.

Three points or more of one pair, not in a line, leave two flat faces no motion but sliding along each other.  Small motions then need no search: points go with
the first body, axes with the second, and the set of forces and of motions is that of the patch wherever its corners go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ....formalisms.functions.touching import touching_frames

if TYPE_CHECKING:
    from ..system import TreeSystem
    from .instant import RigidContacts, Touching

#: Points nearer to a line than this part of their distances span no patch.
FLAT = 1e-6


def patches(contacts: RigidContacts, found: Touching, smooth: np.ndarray) -> np.ndarray:
    """Which contacts are points of patches; ``smooth`` are those whose forces do not depend on which point is which (they stick, or have no friction)."""
    members: dict[tuple[str, str], list[int]] = {}
    for k in np.flatnonzero(smooth & ~found.stop):
        a, b = (contacts.contacts.mover_of(int(shape)) for shape in found.key[k, :2])
        members.setdefault((a, b), []).append(int(k))
    held = np.zeros(len(found), bool)
    for own in members.values():
        points = found.point[own] - found.point[own].mean(axis=0)
        spread = np.linalg.svd(points, compute_uv=False)
        even = np.linalg.norm(found.axes[own, 0] - found.axes[own[0], 0], axis=1).max() < FLAT
        held[own] = len(own) >= 3 and even and spread[1] > FLAT * spread[0]
    return held


class Patches:
    """Points of patches as they were in one position, and their rows in others nearby."""

    def __init__(self, system: TreeSystem, contacts: RigidContacts, t: float, q: np.ndarray, first: Touching) -> None:
        frames = tuple(touching_frames(system.model, gives_way=False))
        self._system, self._first = system, first
        self._poses, self._motion = (system.function(name, frames=frames) for name in ("rigid_poses", "rigid_motion"))
        place = {name: i for i, name in enumerate(frames)}
        #: Numbers of both bodies; −1 where nothing moves.
        self._bodies = np.array([[place.get(contacts.contacts.mover_of(int(shape)), -1) for shape in key[:2]] for key in first.key])
        pose = self._posed(t, q)
        R, p = pose
        a, b = self._bodies.T
        self._in_a = np.einsum("kji,kj->ki", R[a], first.point - p[a])
        self._in_b = np.einsum("kji,kj->ki", R[b], first.point - p[b])
        self._axes = np.einsum("kji,krj->kri", R[b], first.axes)

    def _posed(self, t: float, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rotations and origins of all bodies, the ground's last."""
        given = {"t": np.array([t]), "x": self._state(q)}
        found = np.asarray(self._poses(*(given[n] for n in self._poses.inputs))).reshape(-1, 12)
        still = np.r_[np.eye(3).ravel(), np.zeros(3)]
        every = np.vstack([found, still])
        return every[:, :9].reshape(-1, 3, 3), every[:, 9:]

    def _state(self, q: np.ndarray) -> np.ndarray:
        return np.concatenate([q, np.zeros(self._system.nv + self._system.nz)])

    def at(self, t: float, q: np.ndarray) -> Touching:
        """The same points in a position nearby."""
        from .instant import Touching

        nv, first, (R, p), (a, b) = self._system.nv, self._first, self._posed(t, q), self._bodies.T
        given = {"t": np.array([t]), "x": self._state(q)}
        J, drift, _ = self._motion(*(given[n] for n in self._motion.inputs))
        J = np.concatenate([np.reshape(J, (-1, 6, nv)), np.zeros((1, 6, nv))])
        drift = np.concatenate([np.reshape(drift, (-1, 6)), np.zeros((1, 6))])
        point = p[a] + np.einsum("kij,kj->ki", R[a], self._in_a)
        axes = np.einsum("kij,krj->kri", R[b], self._axes)
        other = p[b] + np.einsum("kij,kj->ki", R[b], self._in_b)
        arm = np.stack([np.where((side >= 0)[:, None], point - p[side], 0.0) for side in (a, b)], axis=1)
        # of each point and axis: a unit force there as a wrench on either body
        rows, speeds = np.zeros((len(first), 3, nv)), np.zeros((len(first), 3))
        for side, sign in ((0, 1.0), (1, -1.0)):
            body = self._bodies[:, side]
            wrench = sign * np.concatenate([axes, np.cross(arm[:, side, None, :], axes)], axis=2)
            rows += np.einsum("krw,kwi->kri", wrench, J[body])
            speeds += np.einsum("krw,kw->kr", wrench, drift[body])
        gap = first.gap + np.einsum("ki,ki->k", axes[:, 0], point - other)
        return Touching(first.key, first.law, gap, point, axes, arm, rows, speeds, first.sort)


__all__ = ["Patches", "patches"]
