"""What MuJoCo computes of the drawn position: the inertia that a joint feels, and springs and dampers that follow from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..model_files.placement import Inertial, Pose


@dataclass(frozen=True)
class Freedom:
    """A velocity of a body against the one that carries it: about or along a direction through a point, both in its frame; with its armature."""

    body: str
    turns: bool
    axis: np.ndarray
    position: np.ndarray
    armature: float = 0.0


class AtRest:
    """Bodies as drawn: who hangs on whom in which pose, and their masses."""

    def __init__(
        self, poses: Mapping[str, tuple[str, Pose]], masses: Mapping[str, Inertial], ground: str, freedoms: Sequence[Freedom]
    ) -> None:
        world: dict[str, Pose] = {ground: Pose.identity()}
        above: dict[str, frozenset[str]] = {ground: frozenset()}
        for name, (parent, pose) in poses.items():  # parents come first
            world[name], above[name] = world[parent] @ pose, above[parent] | {name}
        self.freedoms = freedoms
        n = len(freedoms)
        M = np.diag([f.armature for f in freedoms])
        axes = [world[f.body].R @ (f.axis / np.linalg.norm(f.axis)) for f in freedoms]
        points = [world[f.body].p + world[f.body].R @ f.position for f in freedoms]
        for name, mass in masses.items():
            own = mass.placed(world[name])
            moving = [i for i in range(n) if freedoms[i].body in above[name]]
            turn = np.array([axes[i] if freedoms[i].turns else np.zeros(3) for i in moving]).reshape(-1, 3)
            speed = np.array([np.cross(axes[i], own.com - points[i]) if freedoms[i].turns else axes[i] for i in moving]).reshape(-1, 3)
            M[np.ix_(moving, moving)] += turn @ own.inertia @ turn.T + own.mass * speed @ speed.T
        #: Inertia that each freedom feels while all others are free to move, 1/(M⁻¹)ᵢᵢ.
        self.felt = 1.0 / np.diag(np.linalg.inv(M)) if n else np.zeros(0)


def spring_and_damper(given: Sequence[float], inertia: float) -> tuple[float, float]:
    """Stiffness and damping of a joint with a time constant τ (s) and a damping ratio ζ: c = I/(τ ζ)², d = 2 I/τ."""
    time, ratio = given
    return inertia / (time * ratio) ** 2, 2.0 * inertia / time


__all__ = ["AtRest", "Freedom", "spring_and_damper"]
