"""The model as a chain of elementary links: the form every recursive formalism works on.

Each link moves by one rotation, translation or free rotation relative to its parent.  Fixed connections are merged,
joint axes are laid along a coordinate axis of the link, and consecutive links that turn about parallel axes are written in
one common frame (the *frame of expression*, that of the first of them), in which the later ones stand turned by a sum
of angles: no rotation is nested in another.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...errors import ModelError
from ...model.bodies import Body, Frame
from ...model.joints import Coordinate, Motion
from ...model.model import Model
from ...symbolic.derivatives import jvp
from ...symbolic.expr import HALF, ONE, ZERO, Expr, add, mul, neg, sub
from ...symbolic.vectors import (
    AXES,
    IDENTITY,
    NO_INERTIA,
    NULL,
    AxisTurn,
    Inertia,
    Matrix,
    MatrixTurn,
    Turn,
    Vector,
    quaternion_rotation,
    steiner,
    turn_of,
)
from .rods import Coupling, take_up_rods


class Freedom:
    """A velocity coordinate that moves a link: its index, the axis 0, 1, 2 and the ratio of transmission."""

    __slots__ = ("axis", "index", "ratio")

    def __init__(self, index: int, axis: int, ratio: Expr) -> None:
        self.index = index
        self.axis = axis
        self.ratio = ratio


class Link:
    """One elementary link; vectors are written in its frame of expression."""

    __slots__ = (
        "angle", "axis", "children", "d", "displacement", "freedoms", "index", "inertia", "kind", "mass", "moment", "name", "own_d",
        "own_inertia", "own_moment", "own_turns", "parent", "rate", "rate2", "root", "spin", "spin2", "total", "turns",
    )  # fmt: skip
    index: int
    name: str
    children: list[int]
    freedoms: list[Freedom]
    #: mass, first moment and inertia about the origin in the frame of expression, and the latter two in the own axes
    mass: Expr
    moment: Vector
    inertia: Inertia
    own_moment: Vector
    own_inertia: Inertia
    #: −1 for the ground
    parent: int
    #: "R" rotation, "T" translation, "S" free rotation
    kind: str
    axis: int
    #: rotations from the parent's frame of expression to this one, outermost first
    turns: list[Turn]
    #: orientation of the link in its frame of expression (None: aligned)
    angle: AxisTurn | None
    #: the angle itself
    total: Expr
    #: the link whose own axes are the frame of expression
    root: int
    #: rotations from the parent's own axes to this link's own axes, and the joint's origin in the parent's own axes
    own_turns: list[Turn]
    own_d: Vector
    #: position of the joint's origin from the parent's origin, in the parent's frame of expression
    d: Vector
    #: θ, θ̇, θ̈ of a rotation or translation
    displacement: Expr
    rate: Expr
    rate2: Expr
    #: relative angular velocity and its derivative of a free rotation
    spin: Vector
    spin2: Vector

    def into(self, v: Vector) -> Vector:
        """Components in this link's frame of expression of a vector given in the parent's."""
        for turn in self.turns:
            v = turn.into(v)
        return v

    def out(self, v: Vector) -> Vector:
        """Components in the parent's frame of expression of a vector given in this link's."""
        for turn in reversed(self.turns):
            v = turn.out(v)
        return v

    def out_inertia(self, inertia: Inertia) -> Inertia:
        """A tensor of this link's frame in the parent's."""
        for turn in reversed(self.turns):
            inertia = turn.out_inertia(inertia)
        return inertia

    @property
    def slide(self) -> Vector:
        """Displacement of a translation, in this link's frame of expression."""
        if self.kind != "T":
            return NULL
        e = [ZERO, ZERO, ZERO]
        e[self.axis] = self.displacement
        return Vector(*e)


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
        self._quaternions: dict[int, Coordinate] = {}
        self._constant_turns: dict[int, Turn | None] = {}
        self._share = share
        topology = model.topology
        self.cuts = topology.cuts
        for branch in topology.branches:
            for c in branch.joint.coordinates:
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
            if any(m.kind == "S" for m in motions):
                raise ModelError(
                    f"joint '{name}' is reached from its child '{a.body.name}'; declare it from '{a.body.name}' to '{b.body.name}'"
                )
            motions = [Motion(m.kind, m.axis, m.coordinate, neg(m.ratio), neg(m.offset)) for m in reversed(motions)]
        place = self.places[a.body.name]
        link, R, p = place.link, _times(place.rotation, a.rotation), place.position + _turned(place.rotation, a.position)
        for motion in motions:
            aligned, k, sign = _align(motion.axis)
            turn = self._turn(_times(R, aligned)) if aligned is not None else self._turn(R)
            link = self._add_link(name, link, turn, p, motion, k, sign)
            R, p = (IDENTITY, NULL) if aligned is None else (aligned.T, NULL)
        R = _times(R, b.rotation.T)
        p = p - _turned(R, b.position)
        self.places[body.name] = Placement(link, p, R)
        if link >= 0:
            self._add_inertia(self.links[link], body, p, R)

    def _turn(self, R: Matrix) -> Turn | None:
        return None if R is IDENTITY else turn_of(R)

    def _add_link(self, name: str, parent: int, turn: Turn | None, d: Vector, motion: Motion, k: int, sign: int) -> int:
        link = Link()
        link.index = len(self.links)
        link.name = name
        link.parent = parent
        link.kind = motion.kind
        link.axis = k
        link.turns = [] if turn is None else [turn]
        link.d = d
        link.children = []
        link.mass, link.own_moment, link.own_inertia = ZERO, NULL, NO_INERTIA
        link.displacement = link.rate = link.rate2 = ZERO
        link.spin = link.spin2 = NULL
        link.freedoms = []
        c = motion.coordinate
        if motion.kind == "S":
            link.spin, link.spin2 = Vector(*c.v), Vector(*c.a)
            first = self._velocity_index[id(c)]
            self._quaternions[link.index] = c
            link.freedoms = [Freedom(first + j, j, ONE) for j in range(3)]
        else:
            ratio, offset = (motion.ratio, motion.offset) if sign > 0 else (neg(motion.ratio), neg(motion.offset))
            free = c.motion is None or self._freed
            theta, rate, rate2 = (c.q[0], c.v[0], c.a[0]) if free else prescribed_rates(self.model.time, c.motion)  # type: ignore[arg-type]
            link.displacement, link.rate, link.rate2 = add(mul(ratio, theta), offset), mul(ratio, rate), mul(ratio, rate2)
            if free:
                link.freedoms = [Freedom(self._velocity_index[id(c)], k, ratio)]
        self.links.append(link)
        self._constant_turns[link.index] = turn
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
        constant_turn = self._constant_turns[link.index]
        link.angle, link.total, link.root = None, ZERO, link.index
        link.own_d = link.d
        if before is not None:
            link.d = before.out(link.d)
        own = _own_turn(link, self)
        link.own_turns = _present(constant_turn, own)
        shared = self._share and parent is not None and link.kind == "R" and parent.kind == "R"
        if shared and parent is not None and parent.axis == link.axis and constant_turn is None:
            link.root = parent.root
            link.total = add(parent.total, link.displacement)
            link.turns = []
            link.angle = AxisTurn.by(link.axis, link.total)
        else:
            link.turns = _present(before, constant_turn, own)
        link.moment, link.inertia = link.own_moment, link.own_inertia
        if link.angle is not None:
            link.moment, link.inertia = link.angle.out(link.moment), link.angle.out_inertia(link.inertia)

    # -- frames ---------------------------------------------------------------------------------------------------

    def place(self, frame: Frame) -> Placement:
        """A frame on its link, in the link's own axes."""
        body = self.places[frame.body.name]
        return Placement(body.link, body.position + _turned(body.rotation, frame.position), _times(body.rotation, frame.rotation))

    def ancestors(self, index: int) -> list[int]:
        """The link and all links before it, outermost first."""
        chain = []
        while index >= 0:
            chain.append(index)
            index = self.links[index].parent
        return chain


def _own_turn(link: Link, tree: Tree) -> Turn | None:
    """The rotation that the joint itself makes."""
    if link.kind == "R":
        return AxisTurn.by(link.axis, link.displacement)
    if link.kind == "T":
        return None
    c = next(c for c in tree.coordinates if c.is_quaternion and tree._velocity_index[id(c)] == link.freedoms[0].index)
    return MatrixTurn(quaternion_rotation(*c.q))


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

    A body with mass m, first moment along the axis and inertia diag(J, J, 0) about an axis looks the same however it is
    turned about that axis; a pure inertia looks the same however it is displaced; a point mass at a ball joint however
    it is turned (Khalil and Gautier's base parameters, written as a shift of inertia).
    """
    for link in reversed(tree.links):
        m, s, I = link.mass, link.own_moment, link.own_inertia
        if link.kind == "R":
            k = link.axis
            i, j = (k + 1) % 3, (k + 2) % 3
            diagonal = [I.xx, I.yy, I.zz]
            shared = tree._share and link.parent >= 0 and tree.links[link.parent].kind == "R" and tree.links[link.parent].axis == k
            J = mul(HALF, add(diagonal[i], diagonal[j])) if shared and tree._constant_turns[link.index] is None else diagonal[j]
            along = [ZERO, ZERO, ZERO]
            along[k] = s[k]
            xx, yy, zz = (ZERO if axis == k else J for axis in range(3))
            moved = (m, Vector(*along), Inertia(xx, yy, zz, ZERO, ZERO, ZERO))
        elif link.kind == "T":
            moved = (ZERO, NULL, I)
        else:
            moved = (m, NULL, NO_INERTIA)
        link.mass = sub(m, moved[0])
        link.own_moment = s - moved[1]
        link.own_inertia = I - moved[2]
        if link.parent >= 0:
            _add_to_parent(tree, link, *moved)


def _add_to_parent(tree: Tree, link: Link, m: Expr, s: Vector, I: Inertia) -> None:
    parent = tree.links[link.parent]
    turn = tree._constant_turns[link.index]
    if turn is not None:
        s, I = turn.out(s), turn.out_inertia(I)
    if not link.d.is_zero:
        I = I + steiner(s * 2.0 + link.d * m, link.d)
        s = s + link.d * m
    parent.mass = add(parent.mass, m)
    parent.own_moment = parent.own_moment + s
    parent.own_inertia = parent.own_inertia + I


__all__ = ["AXES", "Freedom", "Link", "Placement", "Tree", "prescribed_rates", "regroup_inertias"]
