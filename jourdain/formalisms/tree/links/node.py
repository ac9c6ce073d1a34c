"""A node of a flexible body as one link without mass, displaced and turned by functions of the amplitudes; or back, for the node by which it hangs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add as plus

from ....model.elastic.deformation import Deformation
from ....symbolic.expr import ONE, TWO, ZERO, Expr, add
from ....symbolic.vectors import Inertia, Matrix, Turn, Vector, turn_of
from .flexible import BendingFreedom, BendingLink
from .freedom import Map
from .motion import Relative, Wrench


class NodeFreedom(BendingFreedom):
    """An amplitude that moves the link's origin along t and turns it about r, own axes."""

    __slots__ = ("r", "t")

    def __init__(self, index: int, t: Vector, r: Vector) -> None:
        super().__init__(index, ONE)
        self.t, self.r = t, r

    def project(self, force: Vector, moment: Vector) -> Expr:
        """t·F + r·N."""
        return add(self.t.dot(force), self.r.dot(moment))

    def along(self, turned: Map, force: Vector, moment: Vector) -> Expr:
        """The same in other axes."""
        return add(turned(self.t).dot(force), turned(self.r).dot(moment))

    def velocities(self, turned: Map, arm: Vector) -> tuple[Vector, Vector]:
        """{t + r × ρ; r}."""
        r = turned(self.r)
        return turned(self.t) + r.cross(arm), r

    def moved(self, a: Vector, alpha: Vector, by: Expr) -> tuple[Vector, Vector]:
        """Both accelerations more."""
        return a + self.t * by, alpha + self.r * by

    def asked(self, m: Expr, s: Vector, I: Inertia) -> Wrench:
        """{m t + r × s; s × t + I r}."""
        return self.t * m + self.r.cross(s), s.cross(self.t) + I @ self.r

    def articulated(self, A: Inertia, B: Matrix, C: Inertia, force: Vector, moment: Vector) -> tuple[Vector, Vector, Expr, Expr]:
        """U = {A t + B r; Bᵀ t + C r}, Sᵀ U, Sᵀ of the bias."""
        U, W = A @ self.t + B @ self.r, B.T @ self.t + C @ self.r
        return U, W, add(self.t.dot(U), self.r.dot(W)), self.project(force, moment)


class NodeLink(BendingLink):
    """A node in its body's floating frame, or that frame seen from the node by which the body hangs."""

    __slots__ = ("_slide", "_turn", "own")
    letter = "N"
    #: motion with and without accelerations of the amplitudes
    own: tuple[Relative, Relative]

    def take(self, bent: Deformation, rates2: Sequence[Expr], first: int, inverse: bool) -> None:
        """Follows a node; the first amplitude has the velocity index ``first``."""
        R, u, v, w = bent.rotation, bent.shift, bent.velocity, bent.omega
        self.transmission = (ONE, ZERO)
        columns = list(zip(bent.by, bent.turns, strict=True))

        def total(bias: Vector, parts: Sequence[Vector]) -> Vector:
            return reduce(plus, (x * a for x, a in zip(parts, rates2, strict=True)), bias)

        accelerations = [(bent.bias, bent.omega_bias), (total(bent.bias, bent.by), total(bent.omega_bias, bent.turns))]
        if inverse:  # seen from the node's axes, which turn at w
            self._turn, self._slide = turn_of(R.T), -u
            columns = [(r.cross(u) - t, -r) for t, r in columns]
            turning = w.cross(v) * TWO - w.cross(w.cross(u))
            motions = [Relative(-w, -alpha, w.cross(u) - v, alpha.cross(u) + turning - a) for a, alpha in accelerations]
        else:
            inside: Matrix = R.T
            self._turn, self._slide = turn_of(R), inside @ u
            columns = [(inside @ t, inside @ r) for t, r in columns]
            motions = [Relative(inside @ w, inside @ alpha, inside @ v, inside @ a) for a, alpha in accelerations]
        self.own = (motions[0], motions[1])
        self.freedoms = [NodeFreedom(first + i, t, r) for i, (t, r) in enumerate(columns) if not (t.is_zero and r.is_zero)]

    def move(self, q: Sequence[Expr], v: Sequence[Expr], a: Sequence[Expr], ratio: Expr, offset: Expr, first: int | None) -> None:
        """A node has no joint of its own."""
        raise NotImplementedError("a node is moved by the amplitudes of its body")

    def own_turn(self) -> Turn | None:
        """That of the section."""
        return self._turn

    @property
    def slide(self) -> Vector:
        """The displacement."""
        return self._slide

    @property
    def turning_axes(self) -> tuple[int, ...]:
        """Those about which an amplitude turns it."""
        return tuple(k for k in range(3) if any(not f.r[k].is_number for f in self.freedoms if isinstance(f, NodeFreedom)))

    @property
    def sliding_axes(self) -> tuple[int, ...]:
        """Those along which an amplitude displaces it."""
        return tuple(k for k in range(3) if any(not f.t[k].is_number for f in self.freedoms if isinstance(f, NodeFreedom)))

    def relative(self, acceleration: bool = True) -> Relative:
        """By the amplitudes."""
        return self.own[acceleration]


__all__ = ["NodeFreedom", "NodeLink"]
