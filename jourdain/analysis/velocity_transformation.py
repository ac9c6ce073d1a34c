"""Between joint coordinates and Cartesian ones: ẋ = S q̇ and q̇ = R ẋ, with R S = I (Lee et al. 2001, eqs. 3 and 15).

Forces go the other way: Q = Sᵀ F are the generalised forces of Cartesian ones, and F = Rᵀ Q is what generalised forces do to bodies: a torque at
a joint is +τ on one body and −τ on the other, with their modal shares.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ..model.elastic.flexible import FlexibleBody

if TYPE_CHECKING:
    from ..model.bodies import Frame
    from ..systems.state import State
    from ..systems.system import System


@dataclass(frozen=True)
class VelocityTransformation:
    """S and R at a state.  ẋ has for each body the velocity of its origin and its angular velocity, in world axes, and the rates of its modes."""

    S: np.ndarray = field(repr=False)  #: (rows, columns)
    R: np.ndarray = field(repr=False)  #: (columns, rows)
    rows: tuple[str, ...]  #: names of ẋ, such as "rod.vx", "rod.wz", "rod.mode1_rate"
    columns: tuple[str, ...]  #: names of q̇


def velocity_transformation(system: System, state: State) -> VelocityTransformation:
    """S by the recursion of velocities, R joint by joint: the relative velocity of the two bodies along the joint's own motions."""
    tree = system.reference
    f = tree.function("velocity_transformation")
    values = {"t": np.array([state.t]), "q": state.q}
    S, frames, places, origins = (np.asarray(part) for part in f(*(values[n] for n in f.inputs)))
    bodies = list(tree.model.bodies.values())
    modes = [len(b.modes) if isinstance(b, FlexibleBody) else 0 for b in bodies]
    starts = np.concatenate([[0], np.cumsum([6 + m for m in modes])])
    first = {b.name: int(k) for b, k in zip(bodies, starts, strict=False)}
    links = tree.equations_of_motion.tree
    column, n = {}, 0
    for c in links.coordinates:
        column[id(c)] = range(n, n + len(c.v))
        n += len(c.v)
    R = np.zeros((n, len(S)))
    for body, m in zip(bodies, modes, strict=True):
        if isinstance(body, FlexibleBody):
            rows = range(first[body.name] + 6, first[body.name] + 6 + m)
            R[[column[id(c)][0] for c in body.modes], rows] = 1.0

    def moved(frame: Frame, k: int) -> np.ndarray:
        """The motion (6, rows) of a frame by that of its body: v + ω × s + C ė."""
        G = np.zeros((6, len(S)))
        body = frame.body
        if body.is_ground:
            return G
        i = first[body.name]
        arm = places[k] - origins[bodies.index(body)]
        G[:, i : i + 6] = _lever(arm)
        if isinstance(body, FlexibleBody):
            own = [column[id(c)][0] for c in body.modes]
            G[:, i + 6 : i + 6 + len(own)] = frames[6 * k : 6 * k + 6, own] - _lever(arm) @ S[i : i + 6, own]
        return G

    known: set[int] = set()
    for j, branch in enumerate(tree.model.topology.branches):
        joint = branch.joint
        own = [i for c in joint.coordinates if id(c) in column and id(c) not in known for i in column[id(c)]]
        known |= {id(c) for c in joint.coordinates}
        if own:
            D = moved(joint.child, 2 * j + 1) - _lever(places[2 * j + 1] - places[2 * j]) @ moved(joint.parent, 2 * j)
            R[own] = np.linalg.pinv(D @ S[:, own]) @ D
    names = [
        [*(f"{b.name}.{x}" for x in ("vx", "vy", "vz", "wx", "wy", "wz")), *(c.velocity_names[0] for c in getattr(b, "modes", ()))]
        for b in bodies
    ]
    return VelocityTransformation(S, R, tuple(x for part in names for x in part), tuple(tree.configuration.velocity_names))


def _lever(arm: np.ndarray) -> np.ndarray:
    """From the velocities (v, ω) of a point to those of another, fixed to it at an arm."""
    x, y, z = arm
    found = np.eye(6)
    found[:3, 3:] = [[0.0, z, -y], [-z, 0.0, x], [y, -x, 0.0]]
    return found


__all__ = ["VelocityTransformation", "velocity_transformation"]
