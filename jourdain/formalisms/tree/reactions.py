"""Forces and torques that joints transmit, body by body from the tips to the ground (d'Alembert).

The wrench of a joint is what the parent exerts on the child: with it, gravity and the forces from outside, the bodies
beyond move as they do.  It holds everything that passes through the joint, also along its free directions (there it is
the force of springs and actuators, less what a rotor's inertia takes).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ...errors import InputError
from ...model.bodies import Body, Frame
from ...model.elastic.flexible import FlexibleBody
from ...model.model import Model
from ...model.topology import Branch
from ...model.values import vector
from ...symbolic.expr import ZERO, Expr, add, mul, neg
from ...symbolic.vectors import IDENTITY, NULL, Vector
from ..equations import Equations
from .kinematics import GROUND, Kinematics
from .links import Link, LinkMotion, Wrench, inertial_moment
from .newton_euler import link_motions
from .rods import rod_end_forces, rods_with_mass
from .tree import Placement, Tree, prescribed_rates

Axes = Literal["world", "parent", "child"]


@dataclass(frozen=True)
class Reaction:
    """Force (N) and torque (N·m) on the joint's child by its parent, about the origin of the joint's child frame."""

    force: Vector
    torque: Vector


def joint_reactions(
    model: Model, axes: Axes = "world", external: Mapping[str, tuple[Any, Any]] | None = None,
    acceleration: bool = True, loads: bool = True,
) -> dict[str, Reaction]:  # fmt: skip
    """Wrench of every joint of the tree by name, as functions of q, v, a (and t where motion is prescribed).

    Components are along the world's axes, or those of the joint's frame on the "parent" or on the "child".
    The model's loads act on the bodies (``loads=False`` leaves them out); ``external`` gives for bodies a further force
    at the body's origin and a torque (world axes), such as the forces of joints that close loops.  Fixed joints are
    included.  ``acceleration=False`` takes a = 0.

    >>> m = Model("mass on the ground")
    >>> w = m.parameter("m", 2.0)
    >>> foot = m.fixed("foot", m.ground, m.body("block", mass=w, com=(0.1, 0, 0)))
    >>> joint_reactions(m)["foot"].force
    (0, 0, -m*gravity_z)
    """
    if axes not in ("world", "parent", "child"):
        raise InputError(f"axes '{axes}' of reactions are unknown; use 'world', 'parent' or 'child'")
    kinematics = Kinematics(Tree(model, regroup=False))
    found: dict[str, Reaction] = {}
    for branch, (far, near) in _transmitted(kinematics, external, acceleration, loads):
        found[branch.joint.name] = _as_reaction(kinematics, branch, far, near, axes)
    return {name: found[name] for name in model.joints if name in found}


def driving_forces(model: Model, external: Mapping[str, tuple[Any, Any]] | None = None, loads: bool = True) -> dict[str, Expr]:
    """Generalised force (N or N·m) that keeps each driven or locked coordinate on its motion, by coordinate name.

    It works on the coordinate as a motor between parent and child would, the rotor's inertia included; what springs and
    laws at the same joint contribute is part of it.
    """
    tree = Tree(model, regroup=False)
    kinematics = Kinematics(tree)
    forces = {c.names[0]: ZERO for c in tree.prescribed}
    for branch, (far, _) in _transmitted(kinematics, external, True, loads):
        motions = branch.joint.motions[::-1] if branch.reverse else branch.joint.motions
        links = _crossed(tree, branch)
        force, moment = far
        for link, motion in zip(links, reversed(motions), strict=True):
            name = motion.coordinate.names[0]
            if motion.coordinate.motion is not None:
                forward = branch.reverse == any(c == -1.0 for c in motion.axis)
                ratio = motion.ratio if forward else neg(motion.ratio)
                forces[name] = add(forces[name], mul(ratio, link.driving_force(force, moment)))
            force, moment = link.inwards(force, moment)
        for motion, inertia in branch.joint.rotors:
            if motion.coordinate.motion is not None:
                _, _, rate2 = prescribed_rates(model.time, motion.coordinate.motion)
                name = motion.coordinate.names[0]
                forces[name] = add(forces[name], mul(mul(inertia, mul(motion.ratio, motion.ratio)), rate2))
    return forces


# --- the walk inwards --------------------------------------------------------------------------------------------


def _transmitted(
    kinematics: Kinematics, external: Mapping[str, tuple[Any, Any]] | None, acceleration: bool, loads: bool
) -> list[tuple[Branch, tuple[Wrench, Wrench]]]:
    """For every branch the wrench on all that lies beyond, seen from the link behind and from that before the joint."""
    tree = kinematics.tree
    totals = _body_wrenches(kinematics, external or {}, acceleration)
    if loads:
        for name, (f, n) in body_loads(tree.model).items():
            totals[name] = (totals[name][0] - f, totals[name][1] - n)
    found = []
    for branch in reversed(tree.model.topology.branches):
        first, last = tree.sides[branch.joint.name]
        far = _inwards(tree.between(tree.places[branch.body.name].link, last), totals[branch.body.name])
        near = _inwards(_crossed(tree, branch), far)
        before = _inner_body(branch).name
        if before in totals:
            f, n = _to_body(tree, before, first, near)
            totals[before] = (totals[before][0] + f, totals[before][1] + n)
        found.append((branch, (far, near)))
    return found


def _body_wrenches(kinematics: Kinematics, external: Mapping[str, tuple[Any, Any]], acceleration: bool) -> dict[str, Wrench]:
    """Force and moment each body needs for its motion against gravity and outside forces, about its link's origin."""
    tree = kinematics.tree
    motions = link_motions(tree, acceleration=acceleration)
    ground = LinkMotion(NULL, NULL, -tree.model.gravity)
    needed: dict[str, Wrench] = {}
    for body in tree.model.bodies.values():
        link = tree.places[body.name].link
        needed[body.name] = _inertial_wrench(tree, body, motions[link] if link >= 0 else ground)
    for rod in rods_with_mass(tree.model):
        for frame, force in zip((rod.a, rod.b), rod_end_forces(kinematics, rod, acceleration), strict=True):
            if not frame.body.is_ground:
                f, n = _on_link(kinematics, frame, force, NULL)
                needed[frame.body.name] = (needed[frame.body.name][0] + f, needed[frame.body.name][1] + n)
    for name, (force, torque) in external.items():
        if name not in needed:
            raise InputError(f"external force on '{name}': there is no such body; the bodies are {', '.join(needed)}")
        what = f"external force on '{name}'"
        f, n = _on_link(kinematics, tree.model.bodies[name].origin, vector(force, what), vector(torque, what))
        needed[name] = (needed[name][0] - f, needed[name][1] - n)
    return needed


def _on_link(kinematics: Kinematics, frame: Frame, force: Vector, torque: Vector, base: int = GROUND) -> Wrench:
    """A force at a frame and a torque (base's axes) about the origin of the link (or ground) that carries the frame's body."""
    link, f, n = kinematics.wrench_on_link(frame, force, torque, base)
    if link < 0:
        return f, n + kinematics.place(frame).position.cross(f)
    return _to_body(kinematics.tree, frame.body.name, link, (f, n))


class _LoadsByBody(Equations):
    """The equations with loads kept for each body, where bodies fixed to each other are one link."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.by_body: dict[str, Wrench] = {}

    def add_wrench(self, frame: Frame, force: Vector, torque: Vector, base: int, wrenches: dict[int, Wrench]) -> None:
        if not frame.body.is_ground:
            f, n = _on_link(self.kinematics, frame, force, torque, base)
            before = self.by_body.get(frame.body.name, (NULL, NULL))
            self.by_body[frame.body.name] = (before[0] + f, before[1] + n)


def body_loads(model: Model) -> dict[str, Wrench]:
    """Resultant of the model's loads on each body, about its link's origin in the link's frame of expression."""
    equations = _LoadsByBody(model)
    _ = equations.wrenches
    return equations.by_body


def _inertial_wrench(tree: Tree, body: Body, motion: LinkMotion) -> Wrench:
    """Newton–Euler of one body: F = m a + U s, N = I ω̇ + ω × Iω + s × a in its axes, then about the link's origin."""
    place = expressed_place(tree, body.origin)
    if isinstance(body, FlexibleBody):
        return tree.links[place.link].inertial_wrench(motion)
    R, p = place.rotation, place.position
    inside = R.T
    own = LinkMotion(inside @ motion.omega, inside @ motion.omega_dot, inside @ (motion.acceleration + motion.at(p)))
    force = R @ (own.acceleration * body.mass + own.at(body.moment))
    moment = R @ (inertial_moment(body.inertia, own) + body.moment.cross(own.acceleration))
    return force, moment + p.cross(force)


def expressed_place(tree: Tree, frame: Frame) -> Placement:
    """Where a frame stands on its link, in the link's frame of expression."""
    place = tree.place(frame)
    angle = tree.links[place.link].angle if place.link >= 0 else None
    if angle is None:
        return place
    return Placement(place.link, angle.out(place.position), angle.matrix() @ place.rotation)


def _inner_body(branch: Branch) -> Body:
    return branch.joint.child.body if branch.reverse else branch.joint.parent.body


def _crossed(tree: Tree, branch: Branch) -> list[Link]:
    """Links of a joint from the far side to the near side (none for a fixed joint)."""
    first, last = tree.sides[branch.joint.name]
    return tree.between(last, first)


def _inwards(links: list[Link], wrench: Wrench) -> Wrench:
    for link in links:
        wrench = link.inwards(*wrench)
    return wrench


def _to_body(tree: Tree, body: str, link: int, wrench: Wrench) -> Wrench:
    """A wrench at a link that carries a frame of a body, about the origin of the body's own link: the two differ where a body bends."""
    own = tree.places[body].link
    if link < own:  # the node by which a flexible body hangs
        return _outwards(tree.between(own, link), wrench)
    return _inwards(tree.between(link, own), wrench)


def _outwards(links: list[Link], wrench: Wrench) -> Wrench:
    """The same wrench about the origin of the outermost of the links."""
    force, moment = wrench
    for link in reversed(links):
        force, moment = link.into(force), link.into(moment - link.d.cross(force))
        moment = moment - link.slide.cross(force)
    return force, moment


# --- point, sign and axes ----------------------------------------------------------------------------------------


def _as_reaction(kinematics: Kinematics, branch: Branch, far: Wrench, near: Wrench, axes: Axes) -> Reaction:
    """The wrench beyond a joint as that on its child by its parent, about the child frame's origin."""
    tree, joint = kinematics.tree, branch.joint
    child, parent = expressed_place(tree, joint.child), expressed_place(tree, joint.parent)
    force, moment = near if branch.reverse else far
    torque = moment - child.position.cross(force)
    if branch.reverse:  # the child is the inner body: what acts on it is the opposite
        force, torque = -force, -torque
    if axes == "child":
        return Reaction(*(_along(child, x) for x in (force, torque)))
    if axes == "world":
        R = kinematics.link_rotation(tree.links[child.link].root) if child.link != GROUND else IDENTITY
        return Reaction(R @ force, R @ torque)
    links = _crossed(tree, branch)
    for link in reversed(links) if branch.reverse else links:
        force, torque = ((link.into if branch.reverse else link.out)(x) for x in (force, torque))
    return Reaction(_along(parent, force), _along(parent, torque))


def _along(place: Placement, v: Vector) -> Vector:
    return v if place.rotation.is_identity else place.rotation.T @ v


__all__ = ["Reaction", "driving_forces", "expressed_place", "joint_reactions"]
