"""Forward kinematics of any frame relative to any link: pose, velocity, acceleration, Jacobian.

Everything is built on demand and shared: the rotation and position of a link relative to an ancestor are products along
the chain between them, so that what two frames have in common is never multiplied out (loops are closed in the frame of
their youngest common ancestor, where trivial equations vanish).
"""

from __future__ import annotations

from functools import cached_property

from ...model.bodies import Body, Frame
from ...model.topology import Topology
from ...symbolic.expr import ONE, TWO, ZERO, Expr
from ...symbolic.vectors import IDENTITY, NULL, AxisTurn, Matrix, Turn, Vector
from .links import STILL, Freedom, Link, LinkMotion, Map
from .rods import rods_with_mass
from .tree import Placement, Tree

GROUND = -1


class Kinematics:
    """Kinematic expressions of a tree, computed when asked for and kept; links are taken with their own axes."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self._turns: dict[tuple[int, int], list[Turn]] = {}
        self._rotations: dict[tuple[int, int], Matrix] = {}
        self._positions: dict[tuple[int, int], Vector] = {}
        self._rates: dict[tuple[int, int], tuple[Vector, Vector]] = {}
        self._accelerations: dict[tuple[int, int, bool], LinkMotion] = {}

    @cached_property
    def topology(self) -> Topology:
        """Which bodies hang on which."""
        return self.tree.model.topology

    # -- links ----------------------------------------------------------------------------------------------------

    def link_turns(self, link: int, base: int = GROUND) -> list[Turn]:
        """Rotations from the base's axes to the link's, those about one axis in a row taken together."""
        if link == base:
            return []
        found = self._turns.get((link, base))
        if found is None:
            this = self.tree.links[link]
            found = list(self.link_turns(this.parent, base))
            for turn in this.own_turns:
                last = found[-1] if found else None
                if (
                    isinstance(last, AxisTurn)
                    and isinstance(turn, AxisTurn)
                    and last.axis == turn.axis
                    and last.angle is not None
                    and turn.angle is not None
                ):
                    found[-1] = AxisTurn.by(turn.axis, last.angle + turn.angle)
                else:
                    found.append(turn)
            self._turns[(link, base)] = found
        return found

    def link_rotation(self, link: int, base: int = GROUND) -> Matrix:
        """Rotation: the link's axes to the base's."""
        found = self._rotations.get((link, base))
        if found is None:
            turns = self.link_turns(link, base)
            if not turns:
                return IDENTITY
            before = self._before_last(link, base, len(turns))
            last = turns[-1]
            found = last.matrix() if before is IDENTITY else _product(before, last)
            self._rotations[(link, base)] = found
        return found

    def _before_last(self, link: int, base: int, count: int) -> Matrix:
        """Product of all turns but the last: an ancestor's rotation where it is one, so that it is shared."""
        this = link
        while this != base:
            this = self.tree.links[this].parent
            if this == base:
                break
            turns = self.link_turns(this, base)
            if len(turns) == count - 1 and all(a is b for a, b in zip(turns, self.link_turns(link, base), strict=False)):
                return self.link_rotation(this, base)
        total = IDENTITY
        for turn in self.link_turns(link, base)[: count - 1]:
            total = turn.matrix() if total is IDENTITY else _product(total, turn)
        return total

    def turned(self, link: int, v: Vector, base: int = GROUND) -> Vector:
        """Components in the base's axes of a vector given in the link's own axes."""
        if v.is_zero or link == base:
            return v
        return _apply(self.link_rotation(link, base), v)

    def turning(self, link: int, base: int = GROUND) -> Map:
        """:meth:`turned` as a function of vectors of a link."""
        return lambda v: self.turned(link, v, base)

    def link_position(self, link: int, base: int = GROUND) -> Vector:
        """Position of the link's origin in the base's axes."""
        if link == base:
            return NULL
        found = self._positions.get((link, base))
        if found is None:
            this = self.tree.links[link]
            found = self.link_position(this.parent, base) + self.arm(this, base)
            self._positions[(link, base)] = found
        return found

    def arm(self, link: Link, base: int) -> Vector:
        """From the parent's origin to the link's, in the base's axes."""
        return self.turned(link.parent, link.own_d, base) + self.turned(link.index, link.slide, base)

    def link_rates(self, link: int, base: int = GROUND) -> tuple[Vector, Vector]:
        """Angular velocity and velocity of the origin relative to the base, in the base's axes."""
        if link == base:
            return NULL, NULL
        found = self._rates.get((link, base))
        if found is None:
            this = self.tree.links[link]
            omega, v = self.link_rates(this.parent, base)
            v = v + omega.cross(self.arm(this, base))
            own = this.relative()
            found = (omega + self.turned(link, own.omega, base), v + self.turned(link, own.velocity, base))
            self._rates[(link, base)] = found
        return found

    def link_acceleration(self, link: int, base: int = GROUND, acceleration: bool = True) -> LinkMotion:
        """Angular acceleration and acceleration of the origin relative to the base, in the base's axes."""
        if link == base:
            return STILL
        key = (link, base, acceleration)
        found = self._accelerations.get(key)
        if found is None:
            this = self.tree.links[link]
            before = self.link_acceleration(this.parent, base, acceleration)
            w, w_dot, u, u_dot = (self.turned(link, x, base) for x in this.relative(acceleration))
            origin = before.acceleration + before.at(self.arm(this, base)) + u_dot + before.omega.cross(u) * TWO
            found = LinkMotion(before.omega + w, before.omega_dot + before.omega.cross(w) + w_dot, origin)
            self._accelerations[key] = found
        return found

    # -- frames ---------------------------------------------------------------------------------------------------

    def common(self, *frames: Frame | Body) -> int:
        """Youngest common ancestor link of some frames."""
        chains = [list(reversed(self.tree.ancestors(self.place(f).link))) for f in frames]
        ancestor = GROUND
        for level in zip(*chains, strict=False):
            if any(x != level[0] for x in level):
                break
            ancestor = level[0]
        return ancestor

    def place(self, frame: Frame | Body) -> Placement:
        """Link, position and rotation of a frame in the link's own axes."""
        return self.tree.place(frame if isinstance(frame, Frame) else frame.origin)

    def rotation(self, frame: Frame | Body, base: int = GROUND) -> Matrix:
        """Rotation of the frame: its axes to the base's."""
        at = self.place(frame)
        R = self.link_rotation(at.link, base) if at.link != base else IDENTITY
        return at.rotation if R is IDENTITY else (R if at.rotation.is_identity else R @ at.rotation)

    def _lever(self, frame: Frame | Body, base: int) -> tuple[int, Vector]:
        at = self.place(frame)
        return at.link, self.turned(at.link, at.position, base)

    def position(self, frame: Frame | Body, base: int = GROUND) -> Vector:
        """Position of the frame's origin in the base's axes."""
        link, lever = self._lever(frame, base)
        return self.link_position(link, base) + lever

    def velocity(self, frame: Frame | Body, base: int = GROUND) -> Vector:
        """Velocity of the origin relative to the base, in the base's axes."""
        link, lever = self._lever(frame, base)
        omega, v = self.link_rates(link, base)
        return v + omega.cross(lever)

    def angular_velocity(self, frame: Frame | Body, base: int = GROUND) -> Vector:
        """Angular velocity relative to the base, in the base's axes."""
        return self.link_rates(self.place(frame).link, base)[0]

    def acceleration(self, frame: Frame | Body, base: int = GROUND, acceleration: bool = True) -> Vector:
        """Acceleration of the origin; with ``acceleration=False`` the part J̇v that does not depend on accelerations."""
        link, lever = self._lever(frame, base)
        motion = self.link_acceleration(link, base, acceleration)
        return motion.acceleration + motion.at(lever)

    def angular_acceleration(self, frame: Frame | Body, base: int = GROUND, acceleration: bool = True) -> Vector:
        """Angular acceleration in the base's axes."""
        return self.link_acceleration(self.place(frame).link, base, acceleration).omega_dot

    def jacobian(self, frame: Frame | Body, base: int = GROUND) -> tuple[list[Vector], list[Vector]]:
        """Columns ∂v/∂(rates) and ∂ω/∂(rates) of a frame's motion relative to the base, in the base's axes."""
        translation, rotation = [NULL] * self.tree.nv, [NULL] * self.tree.nv
        point = self.position(frame, base)
        link = self.place(frame).link
        while link != base and link >= 0:
            this = self.tree.links[link]
            for freedom in this.freedoms:
                t, r = self._column(this, freedom, point, base)
                translation[freedom.index] = translation[freedom.index] + t
                rotation[freedom.index] = rotation[freedom.index] + r
            link = this.parent
        return translation, rotation

    def _column(self, link: Link, freedom: Freedom, point: Vector, base: int) -> tuple[Vector, Vector]:
        turned = self.turning(link.index, base)
        if freedom.ratio is not ONE:
            return freedom.velocities(lambda v: turned(v) * freedom.ratio, point - self.link_position(link.index, base))
        return freedom.velocities(turned, point - self.link_position(link.index, base))

    def wrench_on_link(self, frame: Frame | Body, force: Vector, torque: Vector, base: int = GROUND) -> tuple[int, Vector, Vector]:
        """A force at a frame's origin and a torque (base's axes) as a wrench about the link's origin, in its frame of expression.

        ``base`` is the link itself or one before it.
        """
        at = self.place(frame)
        if at.link < 0:
            return at.link, force, torque
        link = self.tree.links[at.link]
        if base >= 0 and link.root != base and link.root in self.tree.ancestors(base):
            R = self.link_rotation(base, link.root)
            force, torque = R @ force, R @ torque
        elif link.root != base:
            R = self.link_rotation(link.root, base)
            if R is not IDENTITY:
                force, torque = R.T @ force, R.T @ torque
        arm = at.position if link.angle is None else link.angle.out(at.position)
        return at.link, force, torque + arm.cross(force)


def _apply(R: Matrix, v: Vector) -> Vector:
    return v if R is IDENTITY else R @ v


def _product(R: Matrix, turn: Turn) -> Matrix:
    """R times a further turn: a turn about a coordinate axis mixes two columns only."""
    return Matrix(tuple(turn.into(row) for row in R.rows))  # type: ignore[arg-type]


def centre_of_mass(kinematics: Kinematics) -> tuple[Expr, Vector]:
    """Total mass and first moment of all bodies about the world's origin (from bodies and rods, not the regrouped links)."""
    from ..modal_inertia import deformed_moments

    tree = kinematics.tree
    mass, moment = ZERO, NULL
    for body in tree.model.bodies.values():
        if body.mass is ZERO:
            continue
        p, R = kinematics.position(body), kinematics.rotation(body)
        m, s, _ = deformed_moments(body)
        mass = mass + m
        moment = moment + p * m + _apply(R, s)
    for rod in rods_with_mass(tree.model):
        assert rod.inertia is not None
        a, b = rod.inertia.weights
        mass = mass + rod.inertia.mass
        moment = moment + kinematics.position(rod.a) * a + kinematics.position(rod.b) * b
    return mass, moment
