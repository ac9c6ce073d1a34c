"""What a freedom of a link answers: its column S of the motion subspace, in the forms that recursions need it in.

A sort of freedom is known by what one unit of its rate does to the link.  Formalisms ask for products with S and never
look at S itself, so that a unit vector costs nothing.  One coordinate may be a freedom of several links (a screw, the
amplitude of a mode), and several coordinates of one link; the ratio of each is then a function of position.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

from ....symbolic.expr import Expr
from ....symbolic.vectors import AXES, Inertia, Matrix, Vector
from .motion import Field, LinkMotion, Wrench

#: A linear map of vectors given in the link's own axes: their components in other axes, or their rates.
Map = Callable[[Vector], Vector]


class Freedom(ABC):
    """A velocity coordinate that moves a link: its index and the ratio of transmission.

    All answers are for one unit of the link's motion; the ratio is left to the caller.
    """

    __slots__ = ("index", "ratio")

    def __init__(self, index: int, ratio: Expr) -> None:
        self.index = index
        self.ratio = ratio

    # -- forces ---------------------------------------------------------------------------------------------------

    @abstractmethod
    def project(self, force: Vector, moment: Vector) -> Expr:
        """Sᵀ{F; N}: the share of a wrench about the link's origin, in the link's axes."""

    @abstractmethod
    def along(self, turned: Map, force: Vector, moment: Vector) -> Expr:
        """The same in other axes."""

    @abstractmethod
    def change(self, force: Vector, moment: Vector) -> Wrench:
        """How a wrench that moves with the link changes, seen from the link before, when the link moves by one unit."""

    # -- velocities and accelerations -----------------------------------------------------------------------------

    @abstractmethod
    def velocities(self, turned: Map, arm: Vector) -> tuple[Vector, Vector]:
        """Velocity of a point at ``arm`` from the link's origin and angular velocity, in the axes that vectors are turned to."""

    @abstractmethod
    def moved(self, a: Vector, alpha: Vector, by: Expr) -> tuple[Vector, Vector]:
        """Acceleration of the link's origin and angular acceleration with ``by`` units of the freedom's more."""

    @abstractmethod
    def by_position(self, axes: LinkMotion, acceleration: Vector) -> Field:
        """Field of one unit of displacement; ``axes`` is the motion of the link's axes, ``acceleration`` that of its origin."""

    @abstractmethod
    def by_rate(self, change: Map) -> Field:
        """Field of one unit of rate; ``change`` gives the rates of a vector fixed before the joint and behind it, added."""

    @abstractmethod
    def by_acceleration(self) -> Field:
        """Field of one unit of acceleration."""

    # -- inertia --------------------------------------------------------------------------------------------------

    @abstractmethod
    def asked(self, m: Expr, s: Vector, I: Inertia) -> Wrench:
        """What one unit of acceleration asks of a rigid mass with the moments m, s, I."""

    @abstractmethod
    def articulated(self, A: Inertia, B: Matrix, C: Inertia, force: Vector, moment: Vector) -> tuple[Vector, Vector, Expr, Expr]:
        """U = {A, B; Bᵀ, C}·S (two vectors), Sᵀ U and Sᵀ of the bias force of an articulated body."""

    @abstractmethod
    def reading(self, P: Vector, E: Matrix) -> Vector:
        """The freedom's own force as a linear function of the x of a :class:`Field`, from 2P and 2(tr D − Dᵀ) of what it carries."""


class AxisFreedom(Freedom):
    """A freedom along or about a coordinate axis 0, 1, 2 of the link."""

    __slots__ = ("axis",)

    def __init__(self, index: int, axis: int, ratio: Expr) -> None:
        super().__init__(index, ratio)
        self.axis = axis

    @property
    def unit(self) -> Vector:
        """The axis in the link's own axes."""
        return AXES[self.axis]


__all__ = ["AxisFreedom", "Freedom", "Map"]
