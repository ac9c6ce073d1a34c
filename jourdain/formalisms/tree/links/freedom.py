"""What a freedom of a link answers: its column S of the motion subspace, in the forms that recursions need it in.

A sort of freedom is known by what one unit of its rate does to the link.  Formalisms ask for products with S and never
look at S itself, so that a unit vector costs nothing.  A freedom of an elastic link (the amplitude of a mode) answers the same
questions with the mode's displacement and rotation at the frame: ``project`` is then Φₜᵀ f + Φᵣᵀ n, the modal share of a wrench.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from ....symbolic.expr import Expr
from ....symbolic.vectors import AXES, Inertia, Matrix, Vector
from .motion import Field, Wrench


class Freedom(ABC):
    """A velocity coordinate that moves a link: its index, the axis 0, 1, 2 of the link, and the ratio of transmission.

    All answers are for one unit along the axis; the ratio is left to the caller.
    """

    __slots__ = ("axis", "index", "ratio")

    def __init__(self, index: int, axis: int, ratio: Expr) -> None:
        self.index = index
        self.axis = axis
        self.ratio = ratio

    @property
    def unit(self) -> Vector:
        """The axis in the link's own axes."""
        return AXES[self.axis]

    # -- forces ---------------------------------------------------------------------------------------------------

    @abstractmethod
    def project(self, force: Vector, moment: Vector) -> Expr:
        """Sᵀ{F; N}: the share of a wrench about the link's origin, in the link's axes."""

    @abstractmethod
    def along(self, u: Vector, force: Vector, moment: Vector) -> Expr:
        """The same in any axes, in which the freedom's axis is u."""

    @abstractmethod
    def change(self, force: Vector, moment: Vector) -> Wrench:
        """How a wrench that moves with the link changes, seen from the link before, when the link moves by one unit."""

    # -- velocities and accelerations -----------------------------------------------------------------------------

    @abstractmethod
    def velocities(self, u: Vector, arm: Vector) -> tuple[Vector, Vector]:
        """Velocity of a point at ``arm`` from the link's origin, and angular velocity; u is the axis in the same axes."""

    @abstractmethod
    def moved(self, a: Vector, alpha: Vector, by: Expr) -> tuple[Vector, Vector]:
        """Acceleration of the link's origin and angular acceleration with ``by`` units of the freedom's more."""

    @abstractmethod
    def by_position(self, rate: Vector, rate2: Vector, acceleration: Vector) -> Field:
        """Field of one unit of displacement, from ė and ë of the axis and the acceleration of the link's origin."""

    @abstractmethod
    def by_rate(self, change: Vector) -> Field:
        """Field of one unit of rate; ``change`` is the rate of e before the joint and behind it, added."""

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


__all__ = ["Freedom"]
