"""What each sort of load does to a mechanism: the forces it puts where, what its readings stand for, its power.

One group of functions for a sort, chosen by the type of the load; the equations of every formulation ask here.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..errors import ModelError
from ..model.load_sorts import FrameLoad, JointForce, LinkForce, Load, ModeForces
from ..symbolic.expr import ONE, ZERO, Expr, add, div, mul, neg
from ..symbolic.functions import sqrt
from ..symbolic.graph import evaluate
from ..symbolic.vectors import NULL, Vector
from .tree.kinematics import GROUND, Kinematics
from .tree.links import Wrench
from .tree.tree import Tree

if TYPE_CHECKING:
    from .equations import Equations


@singledispatch
def act(load: Load, eq: Equations, forces: list[Expr], wrenches: dict[int, Wrench]) -> None:
    """Adds what a load does to the forces of coordinates and the wrenches on links (or bodies)."""
    raise ModelError(f"load '{load.name}': what a {type(load).__name__} does is not known to formalisms; register it with act and power")


@singledispatch
def power(load: Load, eq: Equations, laws: Sequence[Expr]) -> Expr:
    """Power (W) of a load whose law is replaced by ``laws``."""
    raise ModelError(f"load '{load.name}': the power of a {type(load).__name__} is not known to formalisms; register it with act and power")


@singledispatch
def measured(load: Load, eq: Equations) -> tuple[Expr, ...]:
    """What the load's readings stand for, in their order."""
    return ()


# --- forces at joints --------------------------------------------------------------------------------------------


@act.register(JointForce)
def _(load: JointForce, eq: Equations, forces: list[Expr], wrenches: dict[int, Wrench]) -> None:
    eq.add_joint_force(load.joint, load.coordinate, eq.resolve([load.force])[0], forces, wrenches)


@power.register(JointForce)
def _(load: JointForce, eq: Equations, laws: Sequence[Expr]) -> Expr:
    return mul(*eq.resolve([laws[0], load.coordinate.v[0]]))


# --- forces on modes ----------------------------------------------------------------------------------------------


@act.register(ModeForces)
def _(load: ModeForces, eq: Equations, forces: list[Expr], wrenches: dict[int, Wrench]) -> None:
    for c, force in zip(load.body.modes, eq.resolve(load.laws), strict=True):
        eq.add_mode_force(c, force, forces)


@power.register(ModeForces)
def _(load: ModeForces, eq: Equations, laws: Sequence[Expr]) -> Expr:
    total = ZERO
    for c, force in zip(load.body.modes, eq.resolve(laws), strict=True):
        total = add(total, mul(force, c.v[0]))
    return total


# --- tensions along lines ----------------------------------------------------------------------------------------


class Segment(NamedTuple):
    """A straight piece of a link: its direction d/size, its length and the difference of velocities, in the axes of a common ancestor."""

    base: int
    d: Vector
    size: Expr
    length: Expr
    velocity: Vector


def segments(load: LinkForce, eq: Equations) -> list[Segment]:
    """The straight pieces of a link."""
    k, found = eq.kinematics, []
    for a, b in pairwise(load.points):
        base = k.common(a, b) if load.axes is None else k.common(a, b, load.axes)
        d = k.position(b, base) - k.position(a, base)
        w = k.velocity(b, base) - k.velocity(a, base)
        if load.along is None or load.axes is None:
            length = sqrt(d.dot(d))
            found.append(Segment(base, d, length, length, w))
        else:  # d is along n, so that the turning of n adds nothing to the rate
            _check_along(load, eq)
            n = k.rotation(load.axes, base) @ load.along
            found.append(Segment(base, n, ONE, n.dot(d), w))
    return found


def _check_along(load: LinkForce, eq: Equations) -> None:
    """Raises an error if the two points of a link can lie apart across its direction, at any of some random positions."""
    tree = eq.tree if isinstance(eq.tree, Tree) else Tree(eq.model)
    k = Kinematics(tree)
    assert load.axes is not None and load.along is not None
    a, b = load.points
    base = k.common(a, b, load.axes)
    across = (k.position(b, base) - k.position(a, base)).cross(k.rotation(load.axes, base) @ load.along)
    if across.is_zero:
        return
    known = dict(zip(eq.model.parameter_set.symbols, eq.model.parameter_set.values(), strict=True))
    places = np.random.default_rng(0).uniform(-1.0, 1.0, (4, len(tree.q)))
    distance = max(np.abs(evaluate(list(across), {**known, eq.model.time: 0.0, **dict(zip(tree.q, q, strict=True))})).max() for q in places)
    if distance > 1e-9:
        raise ModelError(
            f"link '{load.name}': its points can lie {distance:g} m apart across the direction along= of '{load.axes.path}'; "
            "leave along= and axes= out for a length without sign"
        )


@measured.register(LinkForce)
def _(load: LinkForce, eq: Equations) -> tuple[Expr, ...]:
    total, rate = ZERO, ZERO
    for segment in segments(load, eq):
        total = add(total, segment.length)
        rate = add(rate, div(segment.d.dot(segment.velocity), segment.size))
    return total, rate


@act.register(LinkForce)
def _(load: LinkForce, eq: Equations, forces: list[Expr], wrenches: dict[int, Wrench]) -> None:
    tension = eq.resolve([load.tension])[0]
    for (a, b), segment in zip(pairwise(load.points), segments(load, eq), strict=True):
        pull = segment.d * div(tension, segment.size)
        eq.add_wrench(a, pull, NULL, segment.base, wrenches)
        eq.add_wrench(b, -pull, NULL, segment.base, wrenches)


@power.register(LinkForce)
def _(load: LinkForce, eq: Equations, laws: Sequence[Expr]) -> Expr:
    return neg(mul(*eq.resolve([laws[0], load.rate])))


# --- wrenches at frames ------------------------------------------------------------------------------------------


@act.register(FrameLoad)
def _(load: FrameLoad, eq: Equations, forces: list[Expr], wrenches: dict[int, Wrench]) -> None:
    k = eq.kinematics
    force, torque = Vector(*eq.resolve(list(load.force))), Vector(*eq.resolve(list(load.torque)))
    frames = [load.frame] + [f for f in (load.axes, load.reaction) if f is not None]
    base = GROUND if load.axes is None else k.common(*frames)
    if load.axes is not None:
        R = k.rotation(load.axes, base)
        force, torque = R @ force, R @ torque
    eq.add_wrench(load.frame, force, torque, base, wrenches)
    if load.reaction is not None:
        arm = k.position(load.frame, base) - k.position(load.reaction, base)
        eq.add_wrench(load.reaction, -force, -(torque + arm.cross(force)), base, wrenches)


@power.register(FrameLoad)
def _(load: FrameLoad, eq: Equations, laws: Sequence[Expr]) -> Expr:
    k = eq.kinematics
    values = eq.resolve(laws)
    force, torque = Vector(*values[:3]), Vector(*values[3:])
    if load.axes is not None:
        R = k.rotation(load.axes)
        force, torque = R @ force, R @ torque
    v, w = k.velocity(load.frame), k.angular_velocity(load.frame)
    if load.reaction is not None:
        w_r = k.angular_velocity(load.reaction)
        v = v - k.velocity(load.reaction) - w_r.cross(k.position(load.frame) - k.position(load.reaction))
        w = w - w_r
    return add(force.dot(v), torque.dot(w))


__all__ = ["act", "measured", "power"]
