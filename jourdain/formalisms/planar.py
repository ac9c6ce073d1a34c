"""Bodies that turn about one axis only: of their inertia one number is asked for."""

from __future__ import annotations

import numpy as np

from ..model.bodies import Body
from ..model.model import Model
from ..symbolic.expr import HALF, ZERO, add, constant, div, mul
from ..symbolic.graph import substitute
from ..symbolic.vectors import Inertia, Matrix, Vector, steiner
from .tree.kinematics import Kinematics
from .tree.tree import Tree

#: Directions that differ by less (rad) are one.
PARALLEL = 1e-9


def turning_axis(model: Model, body: Body) -> np.ndarray | None:
    """The direction, in body axes, about which alone the joints between a body and the ground let it turn; zero: it does not turn; None: it turns
    otherwise.

    Rotations about parallel axes leave their common direction where it is, so that positions at zero coordinates tell it.
    """
    tree = Tree(model, freed=True)
    k, zero = Kinematics(tree), dict.fromkeys(tree.q, ZERO)

    def at_rest(frame: object) -> np.ndarray:
        entries = substitute(k.rotation(frame).entries, zero)  # type: ignore[arg-type]
        return np.array([float(x) for x in model.parameter_set.evaluate(list(entries))]).reshape(3, 3)

    found: np.ndarray | None = None
    branches = {branch.body.name: branch for branch in model.topology.branches}
    name = body.name
    while name in branches:
        branch = branches[name]
        for motion in branch.joint.motions:
            if motion.kind == "T":
                continue
            if motion.kind != "R":
                return None
            axis = at_rest(branch.joint.parent) @ np.array([float(x) for x in model.parameter_set.evaluate(list(motion.axis))])
            if found is not None and np.linalg.norm(np.cross(found, axis)) > PARALLEL:
                return None
            found = axis if found is None else found
        name = (branch.joint.child if branch.reverse else branch.joint.parent).body.name
    return np.zeros(3) if found is None else at_rest(body.origin).T @ found


def plate(model: Model, body: Body) -> Inertia | None:
    """What makes the inertia that of a plate, for a body of which only that about its axis of turning is given, (0, 0, I): it does nothing.

    None where more is given, or where the body can turn about other axes.
    """
    axis = turning_axis(model, body)
    if axis is None:
        return None
    moment, mass = body.moment, body.mass
    central = body.inertia if mass is ZERO else body.inertia - steiner(moment, Vector(*(div(e, mass) for e in moment)))
    numbers = [float(x) for x in model.parameter_set.evaluate(list(central.entries))]
    xx, yy, zz, xy, xz, yz = numbers
    J = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    if not axis.any():
        axis = np.linalg.eigh(J)[1][:, 2]
    about = float(axis @ J @ axis)
    if about <= 0.0 or np.abs(J - about * np.outer(axis, axis)).max() > PARALLEL * about:
        return None
    half = mul(HALF, add(add(central.xx, central.yy), central.zz))
    across = np.eye(3) - np.outer(axis, axis)
    across[np.abs(across) < PARALLEL] = 0.0
    return Inertia.of(Matrix.of([[mul(constant(float(x)), half) for x in row] for row in across]))


__all__ = ["plate", "turning_axis"]
