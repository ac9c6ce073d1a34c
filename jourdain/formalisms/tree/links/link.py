"""The elementary link: what every sort has in common, and the questions that formalisms put to it.

A sort of link is one file with one class (:mod:`.rotation`, :mod:`.translation`, :mod:`.ball`), after the joint types of
RigidBodyDynamics.jl.  Formalisms ask and never compare sorts.  A link answers

* *place*: ``turns`` and ``own_turn``, ``d`` and ``slide``: how its frame stands in the parent's;
* *motion*: ``relative`` to the parent, and what follows: ``motion``, ``bias``, ``carried``;
* *freedoms*: a :class:`~.freedom.Freedom` for each velocity coordinate that moves it, which answers all products with S;
* *forces*: ``inwards`` hands a wrench to the parent, ``add_forces`` takes its share for the coordinates;
* *inertia*: ``inertial_wrench``, ``moments``, ``unfelt``;
* *numbers*: ``positions``, ``velocities``, ``remembered``, ``recalled``: what loops over arrays of links need.

A sort must say what stands as abstract here; the rest follows for any rigid link from ``own_turn``, ``slide`` and ``relative``, and is
said again only where a sort can do it in fewer steps.

**Bodies that bend** are two sorts of links.  *The body* (:mod:`.flexible`): a link whose frame is the floating frame, without motion of its
own and with inertia of 6 + m rows; its moments depend on the amplitudes, its freedoms move mass and not the frame.  *A node on the body*: links without
mass along and about coordinate axes, displaced by polynomials of the amplitudes (:meth:`.AxisLink.follow`), whose freedoms share the coordinates of the
body as those of a screw do.  Every wrench at a node passes their ``add_forces`` on its way inwards, so that the modal share Φₜᵀ f + Φᵣᵀ n arises for
loads, loops and outer bodies alike.  The node by which a body hangs is the same row of links backwards.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from ....symbolic.expr import TWO, ZERO, Expr, add, mul
from ....symbolic.vectors import NO_INERTIA, NULL, AxisTurn, Inertia, Turn, Vector
from .freedom import Freedom
from .motion import LinkMotion, MassMoments, Relative, Wrench, inertial_moment


class Link(ABC):
    """One elementary link; vectors are written in its frame of expression."""

    __slots__ = (
        "angle", "axis", "children", "constant_turn", "d", "freedoms", "index", "inertia", "mass", "moment", "name", "own_d", "own_inertia",
        "own_moment", "own_turns", "parent", "root", "total", "transmission", "turns",
    )  # fmt: skip
    #: the letter of the sort in elementary motions of joints and in names of functions
    letter: ClassVar[str]
    #: numbers of position and velocity coordinates of the joint
    positions: ClassVar[int] = 1
    velocities: ClassVar[int] = 1
    #: whether the same motion the other way round is of the same sort
    reversible: ClassVar[bool] = True
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
    #: ratio and offset of the displacement
    transmission: tuple[Expr, Expr]
    #: the coordinate axis along which the joint's axis lies
    axis: int
    #: how the joint's frame stands turned in the parent's own axes
    constant_turn: Turn | None
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

    def __init__(self, index: int, name: str, parent: int, axis: int, turn: Turn | None, d: Vector) -> None:
        self.index, self.name, self.parent, self.axis = index, name, parent, axis
        self.constant_turn, self.turns, self.d = turn, [] if turn is None else [turn], d
        self.children, self.freedoms = [], []
        self.mass, self.own_moment, self.own_inertia = ZERO, NULL, NO_INERTIA
        self.angle, self.total, self.root = None, ZERO, index

    @abstractmethod
    def move(self, q: Sequence[Expr], v: Sequence[Expr], a: Sequence[Expr], ratio: Expr, offset: Expr, first: int | None) -> None:
        """Lets the link follow a coordinate: displacement ratio·q + offset; ``first`` is the index of its velocity (None: prescribed)."""

    # -- place ----------------------------------------------------------------------------------------------------

    @abstractmethod
    def own_turn(self) -> Turn | None:
        """The rotation that the joint itself makes."""

    @property
    def slide(self) -> Vector:
        """From the joint's place on the parent to the link's origin, in this link's frame of expression."""
        return NULL

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

    def continues(self, parent: Link) -> bool:
        """Whether the link turns on about its parent's axis, where that has the same direction: the two share a frame of expression."""
        return False

    def join(self, parent: Link) -> None:
        """Takes the frame of expression of a parent whose turn the link continues."""
        raise NotImplementedError(f"a link of sort {self.letter} has a frame of its own")

    @property
    def turning_axes(self) -> tuple[int, ...]:
        """Own axes about which the joint turns the link."""
        return ()

    @property
    def sliding_axes(self) -> tuple[int, ...]:
        """Own axes along which the joint displaces the link."""
        return ()

    @property
    def prescribed(self) -> list[Expr]:
        """Displacement, rate and acceleration where time alone gives them."""
        raise NotImplementedError(f"joint '{self.name}': a link of sort {self.letter} cannot be driven")

    # -- motion ---------------------------------------------------------------------------------------------------

    @abstractmethod
    def relative(self, acceleration: bool = True) -> Relative:
        """Motion seen from the parent; with ``acceleration=False`` accelerations of free coordinates are taken as zero."""

    def motion(self, before: LinkMotion, acceleration: bool = True) -> LinkMotion:
        """Motion of the link from its parent's."""
        omega, omega_dot = self.into(before.omega), self.into(before.omega_dot)
        own, slide = self.relative(acceleration), self.slide
        alpha = omega_dot + omega.cross(own.omega) + own.omega_dot
        origin = self.into(before.acceleration + before.at(self.d))
        if not slide.is_zero:
            carried = LinkMotion(omega, omega_dot, origin).at(slide)
            origin = origin + (own.acceleration + omega.cross(own.velocity) * TWO + carried)
        return LinkMotion(omega + own.omega, alpha, origin)

    def bias(self, omega: Vector) -> tuple[Vector, Vector]:
        """Acceleration (of the origin, angular) that the link has beyond its parent's, which turns at ω, when the joint does not
        accelerate."""
        own, slide = self.relative(acceleration=False), self.slide
        a, omega = self.into(omega.cross(omega.cross(self.d))), self.into(omega)
        if not slide.is_zero:
            a = a + omega.cross(own.velocity) * TWO + omega.cross(omega.cross(slide)) + own.acceleration
        return a, omega.cross(own.omega) + own.omega_dot

    def point_bias(self, omega: Vector, own: Relative, before: Vector, origin: Vector, point: Vector) -> tuple[Vector, Vector]:
        """The bias of a point of the link beyond that of a point ``before`` of the parent, all in common axes."""
        alpha, after = omega.cross(own.omega) + own.omega_dot, omega + own.omega
        a = omega.cross(omega.cross(origin - before)) + after.cross(after.cross(point - origin)) + alpha.cross(point - origin)
        if not own.velocity.is_zero:
            a = a + omega.cross(own.velocity) * TWO + own.acceleration
        return a, alpha

    def carried(self, a: Vector, alpha: Vector) -> tuple[Vector, Vector]:
        """Accelerations (of the origin, angular) of the link fixed to a parent that has these."""
        a, alpha, slide = self.into(a + alpha.cross(self.d)), self.into(alpha), self.slide
        return (a if slide.is_zero else a + alpha.cross(slide)), alpha

    def axes_motion(self, own: LinkMotion, before: LinkMotion) -> LinkMotion:
        """Motion of the body in which the freedoms' axes are fixed, in the link's axes; where it is either, that of the link."""
        return own

    # -- forces ---------------------------------------------------------------------------------------------------

    def inwards(self, force: Vector, moment: Vector) -> Wrench:
        """A wrench about the link's origin as one about its parent's, in the parent's axes."""
        slide = self.slide
        if not slide.is_zero:
            moment = moment + slide.cross(force)
        f = self.out(force)
        return f, self.out(moment) + self.d.cross(f)

    def add_forces(self, forces: list[Expr], force: Vector, moment: Vector) -> None:
        """Adds to each coordinate's force its share Sᵀ{F; N} of a wrench about the link's origin."""
        for freedom in self.freedoms:
            forces[freedom.index] = add(forces[freedom.index], mul(freedom.ratio, freedom.project(force, moment)))

    def driving_force(self, force: Vector, moment: Vector) -> Expr:
        """The share of a wrench along the joint's own motion where that is prescribed."""
        raise NotImplementedError(f"joint '{self.name}': a link of sort {self.letter} cannot be driven")

    # -- inertia --------------------------------------------------------------------------------------------------

    @property
    def moments(self) -> MassMoments:
        """Mass, first moment and inertia about the origin."""
        return self.mass, self.moment, self.inertia

    def inertial_wrench(self, motion: LinkMotion) -> Wrench:
        """F = m a + U s and N = I ω̇ + ω × I ω + s × a that the link's own mass asks for."""
        force = motion.acceleration * self.mass + motion.at(self.moment)
        return force, inertial_moment(self.inertia, motion) + self.moment.cross(motion.acceleration)

    @abstractmethod
    def unfelt(self, continued: bool) -> MassMoments:
        """The part of the own mass that the joint cannot feel (own axes); ``continued`` where the parent turns about the same axis."""

    # -- numbers --------------------------------------------------------------------------------------------------

    @abstractmethod
    def remembered(self) -> list[Expr]:
        """The numbers from which :meth:`recalled` finds the joint's place again, at most nine."""

    @abstractmethod
    def recalled(self, numbers: Sequence[Expr]) -> Turn | None:
        """Puts the link to the place that numbers hold; the rotation that the joint makes there."""


__all__ = ["Link"]
