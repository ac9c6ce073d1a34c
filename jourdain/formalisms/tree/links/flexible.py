"""The floating frame of a body with modes: no joint, but inertia of 6 + m rows.

What hangs on the body hangs on links without mass behind this one, whose freedoms share the amplitudes: translations and turns by sums of
modes (:meth:`.AxisLink.follow`), forwards for frames that the body carries, backwards for the frame by which it hangs itself.  So every
wrench passes the modes on its way inwards, and its modal share Φₜᵀ f + Φᵣᵀ n arises without a word about it in joints, loops or loads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....model.elastic.flexible import FlexibleBody
from ....symbolic.expr import ONE, ZERO, Expr, add
from ....symbolic.vectors import NO_INERTIA, NULL, Inertia, Matrix, Turn, Vector
from ...modal_inertia import ModalInertia, modal_inertia
from .freedom import Freedom, Map
from .link import Link
from .motion import Field, LinkMotion, MassMoments, Relative, Wrench


class FlexibleMotion(LinkMotion):
    """Motion of a floating frame with the accelerations of the amplitudes."""

    __slots__ = ("rates2",)

    def __init__(self, frame: LinkMotion, rates2: Sequence[Expr]) -> None:
        super().__init__(frame.omega, frame.omega_dot, frame.acceleration)
        self.rates2 = rates2


class BendingFreedom(Freedom):
    """An amplitude; recursions that differentiate link by link know rigid bodies only."""

    __slots__ = ()

    def _of_rigid_bodies(self) -> NotImplementedError:
        return NotImplementedError("this recursion knows rigid bodies only; trees with flexible ones are differentiated as graphs")

    def change(self, force: Vector, moment: Vector) -> Wrench:
        """Of rigid bodies only."""
        raise self._of_rigid_bodies()

    def by_position(self, axes: LinkMotion, acceleration: Vector) -> Field:
        """Of rigid bodies only."""
        raise self._of_rigid_bodies()

    def by_rate(self, change: Map) -> Field:
        """Of rigid bodies only."""
        raise self._of_rigid_bodies()

    def by_acceleration(self) -> Field:
        """Of rigid bodies only."""
        raise self._of_rigid_bodies()

    def reading(self, P: Vector, E: Matrix) -> Vector:
        """Of rigid bodies only."""
        raise self._of_rigid_bodies()


class ModeFreedom(BendingFreedom):
    """The amplitude of a mode: it moves the mass of the body, not its frame."""

    __slots__ = ("inertia", "mode")

    def __init__(self, index: int, inertia: ModalInertia, mode: int) -> None:
        super().__init__(index, ONE)
        self.inertia, self.mode = inertia, mode

    def project(self, force: Vector, moment: Vector) -> Expr:
        """Nothing: the frame stands still."""
        return ZERO

    def along(self, turned: Map, force: Vector, moment: Vector) -> Expr:
        """Nothing."""
        return ZERO

    def velocities(self, turned: Map, arm: Vector) -> tuple[Vector, Vector]:
        """None."""
        return NULL, NULL

    def moved(self, a: Vector, alpha: Vector, by: Expr) -> tuple[Vector, Vector]:
        """The same."""
        return a, alpha

    def asked(self, m: Expr, s: Vector, I: Inertia) -> Wrench:
        """{∂s/∂e_i; D_i}, of the body alone: what it carries has freedoms of its own."""
        return self.inertia.s_by[self.mode], self.inertia.D[self.mode]

    def articulated(self, A: Inertia, B: Matrix, C: Inertia, force: Vector, moment: Vector) -> tuple[Vector, Vector, Expr, Expr]:
        """Nothing: the amplitudes are a block of their own."""
        return NULL, NULL, ZERO, ZERO


class BendingLink(Link):
    """A link of a body that bends: nothing rigid is moved past it, and loops over links do not know it."""

    def unfelt(self, continued: bool) -> MassMoments:
        """Nothing is moved past a body that bends."""
        return ZERO, NULL, NO_INERTIA

    def remembered(self) -> list[Expr]:
        """The looped form is of rigid bodies."""
        raise NotImplementedError("loops over links know rigid bodies only")

    def recalled(self, numbers: Sequence[Expr]) -> Turn | None:
        """The looped form is of rigid bodies."""
        raise NotImplementedError("loops over links know rigid bodies only")


class FlexibleLink(BendingLink):
    """The floating frame of a flexible body."""

    __slots__ = ("modal", "rates2")
    letter = "F"
    modal: ModalInertia
    rates2: list[Expr]

    def take(self, body: FlexibleBody, first: int) -> None:
        """The inertia of a body whose first amplitude has the velocity index ``first``."""
        self.modal = modal_inertia(body)
        self.rates2 = [c.a[0] for c in body.modes]
        self.mass, self.own_moment, self.own_inertia = self.modal.mass, self.modal.s, self.modal.J
        self.freedoms = [ModeFreedom(first + i, self.modal, i) for i in range(len(body.modes))]

    def move(self, q: Sequence[Expr], v: Sequence[Expr], a: Sequence[Expr], ratio: Expr, offset: Expr, first: int | None) -> None:
        """A floating frame has no joint of its own."""
        raise NotImplementedError("a floating frame is moved by the links before it")

    def own_turn(self) -> Turn | None:
        """None."""
        return None

    def relative(self, acceleration: bool = True) -> Relative:
        """None."""
        return Relative(NULL, NULL, NULL, NULL)

    def motion(self, before: LinkMotion, acceleration: bool = True) -> LinkMotion:
        """That of the frame, with the amplitudes' accelerations."""
        return FlexibleMotion(super().motion(before, acceleration), self.rates2 if acceleration else [ZERO] * len(self.rates2))

    def inertial_wrench(self, motion: LinkMotion) -> Wrench:
        """That of the body as it stands deformed, with the terms of ė and ë."""
        assert isinstance(motion, FlexibleMotion)
        force, moment = super().inertial_wrench(motion)
        more, turning = self.modal.wrench(motion.omega, motion.rates2)
        return force + more, moment + turning

    def add_inner_forces(self, forces: list[Expr], motion: LinkMotion) -> None:
        """Adds the rows of the amplitudes."""
        assert isinstance(motion, FlexibleMotion)
        rows = self.modal.forces(motion.omega, motion.omega_dot, motion.acceleration, motion.rates2)
        for freedom, row in zip(self.freedoms, rows, strict=True):
            forces[freedom.index] = add(forces[freedom.index], row)

    def add_inner_masses(self, M: Any) -> None:
        """Adds the block of the amplitudes to a mass matrix."""
        for a, row in zip(self.freedoms, self.modal.M, strict=True):
            for b, entry in zip(self.freedoms, row, strict=True):
                M[a.index][b.index] = add(M[a.index][b.index], entry)


__all__ = ["BendingFreedom", "BendingLink", "FlexibleLink", "FlexibleMotion", "ModeFreedom"]
