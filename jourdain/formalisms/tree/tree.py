"""The model as a chain of elementary links: the form every recursive formalism works on.

Each link moves by one rotation, translation or free rotation relative to its parent.  Fixed connections are merged,
joint axes are laid along a coordinate axis of the link, and consecutive links that turn about parallel axes are written in
one common frame (the *frame of expression*, that of the first of them), in which the later ones stand turned by a sum
of angles: no rotation is nested in another.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ModelError
from ...model.bodies import Body, Frame
from ...model.elastic.bending import is_flexible
from ...model.joints import Coordinate, Motion
from ...model.model import Model
from ...symbolic.derivatives import jvp
from ...symbolic.expr import ONE, ZERO, Expr, add, neg, sub
from ...symbolic.vectors import IDENTITY, NO_INERTIA, NULL, Inertia, Matrix, Turn, Vector, steiner, turn_of
from .links import SORTS, AxisLink, Link, Rotation, Translation
from .rods import Coupling, take_up_rods

if TYPE_CHECKING:
    from ...model.elastic.flexible import FlexibleBody
    from .links.flexible import FlexibleLink


class Placement:
    """Where a body's frame stands: on which link, and position and rotation in the link's own axes."""

    __slots__ = ("link", "position", "rotation")

    def __init__(self, link: int, position: Vector, rotation: Matrix) -> None:
        self.link = link
        self.position = position
        self.rotation = rotation


class Tree:
    """Links in order (parents first), coordinates, and the place of every body.

    ``regroup=True`` moves inertial parameters that a joint cannot feel to the link before it (base parameters after
    Khalil and Gautier): joint forces stay the same with fewer operations, reaction forces do not.
    ``freed=True`` takes driven and locked coordinates as free ones.
    """

    def __init__(self, model: Model, regroup: bool = True, share: bool = True, freed: bool = False) -> None:
        self.model = model
        self._freed = freed
        self.links: list[Link] = []
        self.places: dict[str, Placement] = {model.ground.name: Placement(-1, NULL, IDENTITY)}
        self.coordinates: list[Coordinate] = []
        self.prescribed: list[Coordinate] = []
        self._velocity_index: dict[int, int] = {}
        self._velocities = 0
        self._registered: set[int] = set()
        self._share = share
        #: floating frames by body
        self.flexible: dict[str, FlexibleLink] = {}
        #: nodes of flexible bodies, by body and node
        self._nodes: dict[tuple[str, str], Placement] = {}
        #: for each joint of the tree the link on which it begins and the last of its own
        self.sides: dict[str, tuple[int, int]] = {}
        topology = model.topology
        self.cuts = topology.cuts
        for branch in topology.branches:
            for c in branch.joint.coordinates:
                self._register(c)
            if is_flexible(branch.body):
                for c in branch.body.modes:
                    self._register(c)
            self._attach(branch.joint.parent, branch.joint.child, branch.joint.motions, branch.body, branch.reverse, branch.joint.name)
        for joint in topology.cuts:
            for c in joint.coordinates:
                c.nature = "cut" if c.nature == "free" else c.nature
        for link in self.links:
            if link.parent >= 0:
                self.links[link.parent].children.append(link.index)
        #: couplings of the rods with mass between links
        self.couplings: list[Coupling] = take_up_rods(self)
        if regroup:
            regroup_inertias(self)
        for link in self.links:
            self._express(link)

    # -- coordinates ----------------------------------------------------------------------------------------------

    def _register(self, c: Coordinate) -> None:
        if id(c) in self._registered:
            return
        self._registered.add(id(c))
        if c.motion is not None and not self._freed:
            self.prescribed.append(c)
            return
        self._velocity_index[id(c)] = self._velocities
        self._velocities += len(c.v)
        self.coordinates.append(c)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        at = np.cumsum([0, *(len(c.v) for c in self.coordinates)]).tolist()
        self._velocity_index = {id(c): i for c, i in zip(self.coordinates, at, strict=False)}  # they are other objects in another process
        self._registered = {id(c) for c in (*self.coordinates, *self.prescribed)}

    @property
    def q(self) -> tuple[Expr, ...]:
        """Position symbols."""
        return tuple(s for c in self.coordinates for s in c.q)

    @property
    def v(self) -> tuple[Expr, ...]:
        """Velocity symbols."""
        return tuple(s for c in self.coordinates for s in c.v)

    @property
    def a(self) -> tuple[Expr, ...]:
        """Acceleration symbols."""
        return tuple(s for c in self.coordinates for s in c.a)

    @property
    def nv(self) -> int:
        """Number of velocities."""
        return sum(len(c.v) for c in self.coordinates)

    # -- construction ---------------------------------------------------------------------------------------------

    def _attach(self, a: Frame, b: Frame, motions: Sequence[Motion], body: Body, reverse: bool, name: str) -> None:
        """Adds the links of one joint and places the body behind it."""
        if reverse:
            a, b = b, a
            if not all(SORTS[m.kind].reversible for m in motions):
                raise ModelError(
                    f"joint '{name}' is reached from its child '{a.body.name}'; declare it from '{a.body.name}' to '{b.body.name}'"
                )
            motions = [Motion(m.kind, m.axis, m.coordinate, neg(m.ratio), neg(m.offset)) for m in reversed(motions)]
        place = self.place(a)
        first, link, R, p = place.link, place.link, place.rotation, place.position
        for motion in motions:
            aligned, k, sign = _align(motion.axis)
            turn = self._turn(_times(R, aligned)) if aligned is not None else self._turn(R)
            link = self._add_link(name, link, turn, p, motion, k, sign)
            R, p = (IDENTITY, NULL) if aligned is None else (aligned.T, NULL)
        self.sides[name] = (first, link)
        R = _times(R, b.rotation.T)
        if is_flexible(body):
            self._attach_flexible(body, b, link, R, p)
            return
        p = p - _turned(R, b.position)
        self.places[body.name] = Placement(link, p, R)
        if link >= 0:
            self._add_inertia(self.links[link], body, p, R)

    def _attach_flexible(self, body: FlexibleBody, b: Frame, link: int, R: Matrix, p: Vector) -> None:
        """The floating frame of a body that hangs by one of its frames (its axes turned by R, b's origin at p of a link), and its nodes."""
        from .links.flexible import FlexibleLink

        origin = b.position
        if b.node is not None:
            node = body.frames[b.node]
            p = p - _turned(R, b.position - node.position)
            self._nodes[body.name, b.node] = Placement(link, p, R)
            link, R, p = self._deform(body, b.node, link, R, p, inverse=True)
            origin = node.position
        frame = FlexibleLink(len(self.links), body.name, link, 0, self._turn(R), p - _turned(R, origin))
        frame.take(body, self._velocity_index[id(body.modes[0])])
        frame.transmission = (ONE, ZERO)
        self.links.append(frame)
        self.flexible[body.name] = frame
        self.places[body.name] = Placement(frame.index, NULL, IDENTITY)
        for name in body.used_nodes:
            if (body.name, name) not in self._nodes:
                end, turn, at = self._deform(body, name, frame.index, IDENTITY, body.frames[name].position)
                self._nodes[body.name, name] = Placement(end, at, turn)

    def _deform(self, body: FlexibleBody, node: str, link: int, R: Matrix, p: Vector, inverse: bool = False) -> tuple[int, Matrix, Vector]:
        """Links without mass for the displacement of a node by the modes and its turns about x, y, z (or back), begun at a place of a link.

        Small turns are taken as Cardan angles, which differ from other choices in the second order that a linear theory neglects; rates
        and accelerations are those of these angles exactly, so that no energy is lost.  Nodes that turn in another way are one link.
        """
        bent, first = body.deformation(node), self._velocity_index[id(body.modes[0])]
        q, v, a = ([getattr(c, part)[0] for c in body.modes] for part in "qva")
        if bent.angles is None:
            from .links.node import NodeLink

            one = NodeLink(len(self.links), f"{body.name}.{node}", link, 0, self._turn(R), p)
            one.take(bent, a, first, inverse)
            self.links.append(one)
            return one.index, IDENTITY, NULL
        steps: list[tuple[type[AxisLink], int, Expr]] = [(Translation, k, x) for k, x in enumerate(bent.shift)]
        steps += [(Rotation, k, x) for k, x in enumerate(bent.angles)]
        if inverse:
            steps = [(sort, k, neg(x)) for sort, k, x in reversed(steps)]
        for sort, k, displacement in steps:
            if displacement is ZERO:
                continue
            this = sort(len(self.links), f"{body.name}.{node}", link, k, self._turn(R), p)
            this.follow(displacement, q, v, a, first)
            self.links.append(this)
            link, R, p = this.index, IDENTITY, NULL
        return link, R, p

    def _turn(self, R: Matrix) -> Turn | None:
        return None if R is IDENTITY else turn_of(R)

    def _add_link(self, name: str, parent: int, turn: Turn | None, d: Vector, motion: Motion, k: int, sign: int) -> int:
        link = SORTS[motion.kind](len(self.links), name, parent, k, turn, d)
        c = motion.coordinate
        free = c.motion is None or self._freed
        q, v, a = (c.q, c.v, c.a) if free else ((x,) for x in prescribed_rates(self.model.time, c.motion))  # type: ignore[arg-type]
        ratio, offset = (motion.ratio, motion.offset) if sign > 0 else (neg(motion.ratio), neg(motion.offset))
        link.move(q, v, a, ratio, offset, self._velocity_index[id(c)] if free else None)
        self.links.append(link)
        return link.index

    def _add_inertia(self, link: Link, body: Body, p: Vector, R: Matrix) -> None:
        if body.mass is ZERO and body.inertia.is_zero:
            return
        moment, inertia = body.moment, body.inertia
        if R is not IDENTITY:
            turn = turn_of(R)
            if turn is not None:
                moment, inertia = turn.out(moment), turn.out_inertia(inertia)
        if not p.is_zero:
            inertia = inertia + steiner(moment * 2.0 + p * body.mass, p)
            moment = moment + p * body.mass
        link.mass = add(link.mass, body.mass)
        link.own_moment = link.own_moment + moment
        link.own_inertia = link.own_inertia + inertia

    def add_point_mass(self, link: int, mass: Expr, p: Vector) -> None:
        """A point mass on a link (none on the ground), at a place in its own axes."""
        if link >= 0:
            this = self.links[link]
            this.mass = add(this.mass, mass)
            this.own_moment = this.own_moment + p * mass
            this.own_inertia = this.own_inertia + steiner(p * mass, p)

    def _express(self, link: Link) -> None:
        """Chooses the frame of expression and writes the link's constants in it."""
        parent = self.links[link.parent] if link.parent >= 0 else None
        before = parent.angle if parent is not None else None
        link.own_d = link.d
        if before is not None:
            link.d = before.out(link.d)
        own = link.own_turn()
        link.own_turns = _present(link.constant_turn, own)
        if parent is not None and self.continued(link):
            link.join(parent)
        else:
            link.turns = _present(before, link.constant_turn, own)
        link.moment, link.inertia = link.own_moment, link.own_inertia
        if link.angle is not None:
            link.moment, link.inertia = link.angle.out(link.moment), link.angle.out_inertia(link.inertia)

    def continued(self, link: Link) -> bool:
        """Whether a link turns on about the axis of its parent, in one frame of expression with it."""
        return self._share and link.parent >= 0 and link.constant_turn is None and link.continues(self.links[link.parent])

    # -- frames ---------------------------------------------------------------------------------------------------

    def place(self, frame: Frame) -> Placement:
        """A frame on its link, in the link's own axes."""
        if frame.node is not None:
            node = self._nodes[frame.body.name, frame.node]
            offset = frame.position - frame.body.frames[frame.node].position
            return Placement(node.link, node.position + _turned(node.rotation, offset), _times(node.rotation, frame.rotation))
        body = self.places[frame.body.name]
        return Placement(body.link, body.position + _turned(body.rotation, frame.position), _times(body.rotation, frame.rotation))

    @property
    def coupled(self) -> bool:
        """Whether there is inertia that is not a link's own: rods between links, modes of bodies."""
        return bool(self.couplings or self.flexible)

    def between(self, outer: int, inner: int) -> list[Link]:
        """Links from an outer one inwards, up to an inner one that is not included."""
        links = []
        while outer != inner:
            links.append(self.links[outer])
            outer = self.links[outer].parent
        return links

    def ancestors(self, index: int) -> list[int]:
        """The link and all links before it, outermost first."""
        chain = []
        while index >= 0:
            chain.append(index)
            index = self.links[index].parent
        return chain


def _present(*turns: Turn | None) -> list[Turn]:
    return [t for t in turns if t is not None]


def _times(A: Matrix, B: Matrix) -> Matrix:
    if A is IDENTITY:
        return B
    if B is IDENTITY:
        return A
    product: Matrix = A @ B
    return IDENTITY if product.is_identity else product


def _turned(R: Matrix, v: Vector) -> Vector:
    return v if R is IDENTITY else R @ v


def _align(axis: Vector) -> tuple[Matrix | None, int, int]:
    """Coordinate axis 0, 1, 2 and sign along which a joint axis lies, with a constant rotation where it lies skew."""
    along = axis.coordinate_axis
    if along is not None:
        return None, *along
    if all(e.is_number for e in axis):
        n = np.array([float(e) for e in axis])
        helper = np.eye(3)[int(np.argmin(np.abs(n)))]
        x = np.cross(helper, n)
        x /= np.linalg.norm(x)
        return Matrix.of(np.column_stack([x, np.cross(n, x), n])), 2, 1
    raise ModelError(f"a joint axis of parameters, {axis}, is not supported: turn the joint's frame instead (body.at(..., rotation=…))")


def prescribed_rates(time: Expr, motion: Expr) -> tuple[Expr, Expr, Expr]:
    """θ(t) with its first and second derivative."""
    rate = jvp([motion], {time: ONE})[0]
    return motion, rate, jvp([rate], {time: ONE})[0]


def regroup_inertias(tree: Tree) -> None:
    """Moves to the parent what a joint cannot feel, from the tips inwards.

    Each sort of link says what its joint cannot feel (Khalil and Gautier's base parameters, written as a shift of inertia).
    """
    for link in reversed(tree.links):
        m, s, I = moved = link.unfelt(tree.continued(link))
        if m is ZERO and s is NULL and I is NO_INERTIA:
            continue
        link.mass = sub(link.mass, m)
        link.own_moment = link.own_moment - s
        link.own_inertia = link.own_inertia - I
        if link.parent >= 0:
            _add_to_parent(tree, link, *moved)


def _add_to_parent(tree: Tree, link: Link, m: Expr, s: Vector, I: Inertia) -> None:
    parent = tree.links[link.parent]
    turn = link.constant_turn
    if turn is not None:
        s, I = turn.out(s), turn.out_inertia(I)
    if not link.d.is_zero:
        I = I + steiner(s * 2.0 + link.d * m, link.d)
        s = s + link.d * m
    parent.mass = add(parent.mass, m)
    parent.own_moment = parent.own_moment + s
    parent.own_inertia = parent.own_inertia + I


__all__ = ["Placement", "Tree", "prescribed_rates", "regroup_inertias"]
