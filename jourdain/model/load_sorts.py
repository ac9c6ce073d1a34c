"""Sorts of loads: a force at a joint, a tension along a line, a wrench at a frame; each answers for itself.

A load says what its law is made of, which frames and joints it touches, which readings it brings with it, how it is copied into another
model and how it is drawn.  What it does to a mechanism is said once in :mod:`jourdain.formalisms.loads`, how it stands in a model file in
:mod:`jourdain.io.model_files.load_tables`.  Everything else asks, so that a new sort of load is a class here and an entry in these two places.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from ..symbolic.expr import ZERO, Expr, signed, symbol
from ..symbolic.vectors import Vector
from .bodies import Body, Frame
from .dimensions import natural_units
from .joints import Coordinate, Joint

if TYPE_CHECKING:
    from .include import Copy


class Load(ABC):
    """What every load has: its name, potential energy, the kind of its law, and the constants of a law of a known kind as given."""

    name: str
    potential: Expr
    kind: str
    given: dict[str, Any]
    #: what it is, in a word or two
    title: ClassVar[str]
    #: whether it comes with its body and is none of the user's
    of_body: ClassVar[bool] = False
    #: readings that the load brings with it, by the kind of their symbols; their names are ``load.reading``
    reading_kinds: ClassVar[dict[str, str]] = {}

    @property
    @abstractmethod
    def laws(self) -> tuple[Expr, ...]:
        """Components of the law."""

    @property
    def readings(self) -> dict[str, Expr]:
        """Symbols that stand for what the load measures."""
        return {}

    @property
    def joints(self) -> tuple[Joint, ...]:
        """Joints whose coordinates it acts on."""
        return ()

    @property
    def frames(self) -> tuple[Frame, ...]:
        """Points at which it acts on bodies."""
        return ()

    @property
    def line(self) -> tuple[str, tuple[Frame, ...]]:
        """How it is drawn: a style and the points of a line, none for a load that has no line."""
        return "", ()

    @property
    @abstractmethod
    def signature(self) -> tuple[Expr | Frame | Coordinate | str | None, ...]:
        """Everything besides name and potential that equations depend on."""

    @abstractmethod
    def copied(self, copy: Copy, name: str) -> Load:
        """The load in another model, mirrored if need be."""


class ModeForces(Load):
    """Generalised forces on the amplitudes of a body, one component of the law for each."""

    body: Body


@dataclass
class JointForce(Load):
    """A generalised force on one coordinate, positive in its direction (N or N m)."""

    title = "force at a joint"
    name: str
    joint: Joint
    coordinate: Coordinate
    force: Expr
    potential: Expr = ZERO
    kind: str = "joint"
    #: Constants of a law of a known kind, as given.
    given: dict[str, Any] = field(default_factory=dict, compare=False)

    @property
    def laws(self) -> tuple[Expr, ...]:
        """The force."""
        return (self.force,)

    @property
    def joints(self) -> tuple[Joint, ...]:
        """The joint."""
        return (self.joint,)

    @property
    def line(self) -> tuple[str, tuple[Frame, ...]]:
        """A spring along a slider."""
        drawn = self.joint.kind == "prismatic" and self.potential is not ZERO
        return ("spring", (self.joint.parent, self.joint.child)) if drawn else ("", ())

    @property
    def signature(self) -> tuple[Expr | Frame | Coordinate | str | None, ...]:
        """Joint, coordinate, force."""
        return self.joint.name, self.coordinate, self.force

    def copied(self, copy: Copy, name: str) -> JointForce:
        """On the joint's copy; a law whose coordinate turns over is no longer of a known kind."""
        joint = copy.model.joints[copy.name(self.joint.name)]
        place = [c is self.coordinate for c in self.joint.coordinates].index(True)
        sign = copy.signs[self.coordinate.q[0]]
        given = {k: copy.any(e) for k, e in self.given.items()} if sign > 0 else {}
        kind = self.kind if given else "joint"
        force = signed(sign, copy.expr(self.force))
        return JointForce(name, joint, joint.coordinates[place], force, copy.expr(self.potential), kind, given)


@dataclass
class LinkForce(Load):
    """A tension along the line through two or more points, positive when it pulls them together (N)."""

    title = "force along a line"
    reading_kinds: ClassVar[dict[str, str]] = {"length": "position", "rate": "velocity"}
    name: str
    points: tuple[Frame, ...]
    length: Expr
    rate: Expr
    tension: Expr
    potential: Expr = ZERO
    #: The kind of law, or how the line is drawn.
    kind: str = "link"
    #: Constants of a law of a known kind, as given.
    given: dict[str, Any] = field(default_factory=dict, compare=False)
    #: The one direction, in the axes of a frame, along which the two points move against each other: the length is then signed.
    along: Vector | None = None
    axes: Frame | None = None

    @classmethod
    def symbols(cls, name: str) -> tuple[Expr, Expr]:
        """New symbols for the length and its rate."""
        length, rate = (symbol(f"{name}.{key}", kind) for key, kind in cls.reading_kinds.items())
        natural_units[length], natural_units[rate] = "m", "m/s"
        return length, rate

    @property
    def laws(self) -> tuple[Expr, ...]:
        """The tension."""
        return (self.tension,)

    @property
    def readings(self) -> dict[str, Expr]:
        """Length and its rate."""
        return {"length": self.length, "rate": self.rate}

    @property
    def frames(self) -> tuple[Frame, ...]:
        """All points."""
        return self.points

    @property
    def line(self) -> tuple[str, tuple[Frame, ...]]:
        """Through the points."""
        return self.kind, self.points

    @property
    def signature(self) -> tuple[Expr | Frame | Coordinate | str | None, ...]:
        """Points, readings, tension."""
        direction = () if self.along is None else (*self.along, self.axes)
        return *self.points, self.length, self.rate, self.tension, *direction

    def copied(self, copy: Copy, name: str) -> LinkForce:
        """Between the copies of its points."""
        points = tuple(copy.frame(p) for p in self.points)
        given = {k: copy.any(e) for k, e in self.given.items()}
        length, rate = copy.new[self.length], copy.new[self.rate]
        along = None if self.along is None else copy.mirror.vector(copy.vector(self.along))
        axes = None if self.axes is None else copy.frame(self.axes)
        return LinkForce(name, points, length, rate, copy.expr(self.tension), copy.expr(self.potential), self.kind, given, along, axes)


@dataclass
class FrameLoad(Load):
    """A force at a frame's origin and a torque, in the axes of another frame (None: the world's)."""

    title = "force and torque at a frame"
    name: str
    frame: Frame
    force: Vector
    torque: Vector
    axes: Frame | None
    #: The frame that feels the opposite wrench (None: the ground).
    reaction: Frame | None = None
    potential: Expr = ZERO
    kind: str = "wrench"
    #: Constants of a law of a known kind, as given.
    given: dict[str, Any] = field(default_factory=dict, compare=False)

    @property
    def laws(self) -> tuple[Expr, ...]:
        """Force and torque."""
        return *self.force, *self.torque

    @property
    def frames(self) -> tuple[Frame, ...]:
        """The frame."""
        return (self.frame,)

    @property
    def signature(self) -> tuple[Expr | Frame | Coordinate | str | None, ...]:
        """Frames, force, torque."""
        return self.frame, self.axes, self.reaction, *self.force, *self.torque

    def copied(self, copy: Copy, name: str) -> FrameLoad:
        """At the frame's copy; forces turn over as vectors do, torques as rotations."""
        force, torque = copy.mirror.vector(copy.vector(self.force)), copy.mirror.turning(copy.vector(self.torque))
        axes, reaction = (None if f is None else copy.frame(f) for f in (self.axes, self.reaction))
        return FrameLoad(name, copy.frame(self.frame), force, torque, axes, reaction, copy.expr(self.potential))


__all__ = ["FrameLoad", "JointForce", "LinkForce", "Load"]
