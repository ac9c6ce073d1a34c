"""Rigid contacts as expressions: gaps, velocities of contact, forces of closed contacts and impulses of impacts with an active set that is held.

A contact has three rows u = J v + drift: the normal one, which is the rate of the gap, and two tangents.  Closed contacts hold some of their rows:

    M v̇ = f + D λ,   J v̇ + γ = 0,

with D = Jᵀ where they stick and D = J_Nᵀ − μ (d₁ J₁ᵀ + d₂ J₂ᵀ) where they slide along d (F. Pfeiffer and C. Glocker, *Multibody Dynamics with
Unilateral Contacts*, 1996, ch. 5).  Impulses p of an impact solve the same rows with u_N⁺ = −e u_N⁻.  Where loops are closed, M⁻¹ is that of motions that
keep them closed, M⁻¹ − M⁻¹J_Lᵀ(J_L M⁻¹J_Lᵀ)⁻¹J_L M⁻¹.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from ..model.bodies import Frame
from ..symbolic.derivatives import jacobian, jvp
from ..symbolic.expr import ONE, ZERO, Expr, add, constant, div, mul, neg, sub
from ..symbolic.functions import sqrt
from ..symbolic.graph import substitute
from ..symbolic.vectors import Matrix, Vector
from .equations import Equations
from .functions.dynamics import tree_accelerations
from .loops.elimination import solve_dense
from .tree.acceleration_loads import effective_mass_matrix

#: What a closed contact does: nothing but press, hold all its rows, slide, or in an impact slide along a way that the impact finds.
SMOOTH, STICKS, SLIDES, FINDS = "smooth", "sticks", "slides", "finds"


@dataclass(frozen=True)
class Ball:
    """A ball on a frame, or a point of it (radius 0)."""

    frame: Frame
    centre: Vector
    radius: Expr


@dataclass(frozen=True)
class Face:
    """A plane on a frame: a point of it, and its axes, the third of which is the normal."""

    frame: Frame
    point: Vector
    axes: Matrix


@dataclass(frozen=True, eq=False)
class Touching:
    """A contact of two bodies: its gap, the velocity of the first relative to the second along normal and tangents, these tangents, and its law."""

    gap: Expr
    velocity: tuple[Expr, Expr, Expr]
    tangents: tuple[Vector, Vector]
    friction: Expr
    static: Expr
    restitution: Expr

    @property
    def ways(self) -> list[int]:
        """Tangents along which it can move."""
        return [r for r in (1, 2) if self.velocity[r] is not ZERO]


@dataclass(frozen=True)
class Grip:
    """What a closed contact does: where it slides, along (d₁, d₂) of its tangents, or (None) along its velocity."""

    contact: int
    how: str
    direction: tuple[Expr, Expr] | None = None


class ContactRows:
    """Rows of all contacts of a tree with what they do to its velocities, where loops stay closed."""

    def __init__(self, eq: Equations, links: Sequence[int] = ()) -> None:
        """``links`` are the independent ones of the constraints that close loops: they hold whatever contacts do."""
        self.eq, self.contacts, self.links = eq, list[Touching](), list(links)
        self._rows: dict[tuple[int, int], list[Expr]] = {}
        self._drifts: dict[tuple[int, int], Expr] = {}

    # -- geometry -------------------------------------------------------------------------------------------------

    def _at(self, frame: Frame, point: Vector) -> Vector:
        k = self.eq.kinematics
        return k.position(frame) + k.rotation(frame) @ point

    def _moves(self, frame: Frame, point: Vector) -> Vector:
        """The velocity of a point of a frame, given in the world."""
        k = self.eq.kinematics
        return k.velocity(frame) + k.angular_velocity(frame).cross(point - k.position(frame))

    def on_face(self, ball: Ball, face: Face) -> tuple[Expr, Vector, Matrix]:
        """Gap, the point of contact (in the middle of the gap), and the axes (normal first) of a ball on a plane."""
        R = self.eq.kinematics.rotation(face.frame) @ face.axes
        normal, centre = R.column(2), self._at(ball.frame, ball.centre)
        gap = sub(normal.dot(centre - self._at(face.frame, face.point)), ball.radius)
        return gap, centre - normal * add(ball.radius, div(gap, constant(2.0))), Matrix((normal, R.column(0), R.column(1)))

    def on_ball(self, a: Ball, b: Ball, beside: int) -> tuple[Expr, Vector, Matrix]:
        """The same of two balls; ``beside`` is the axis of the world that is nearest to a tangent."""
        d = self._at(a.frame, a.centre) - self._at(b.frame, b.centre)
        length = sqrt(d.dot(d))
        normal = d * div(ONE, length)
        axis = Vector.of([1.0 if i == beside else 0.0 for i in range(3)])
        first = axis - normal * axis.dot(normal)
        first = first * div(ONE, sqrt(first.dot(first)))
        gap = sub(sub(length, a.radius), b.radius)
        return (
            gap,
            self._at(b.frame, b.centre) + normal * add(b.radius, div(gap, constant(2.0))),
            Matrix((normal, first, normal.cross(first))),
        )

    def velocities(self, a: Frame, b: Frame, point: Vector, axes: Matrix) -> tuple[Expr, Expr, Expr]:
        """u of a point of contact."""
        n, s, t = axes
        u = self._moves(a, point) - self._moves(b, point)
        return n.dot(u), s.dot(u), t.dot(u)

    # -- rows -----------------------------------------------------------------------------------------------------

    def row(self, contact: int, r: int) -> list[Expr]:
        """J of a row."""
        if (contact, r) not in self._rows:
            self._rows[contact, r] = jacobian([self.contacts[contact].velocity[r]], list(self.eq.v))[0]
        return self._rows[contact, r]

    def _drift(self, contact: int, r: int) -> Expr:
        """γ of a row: u̇ without accelerations."""
        if (contact, r) not in self._drifts:
            self._drifts[contact, r] = jvp([self.contacts[contact].velocity[r]], self.eq.flow)[0]
        return self._drifts[contact, r]

    @cached_property
    def closing(self) -> list[list[Expr]]:
        """J of the constraints."""
        J, n = self.eq.constraint_jacobian if self.links else {}, len(self.eq.v)
        return [[J.get((i, j), ZERO) for j in range(n)] for i in self.links]

    @cached_property
    def free(self) -> list[Expr]:
        """Accelerations without contacts: M v̇ = f + Jᵀλ, J v̇ + γ = 0."""
        a = tree_accelerations(self.eq, self.eq.joint_forces, loads=True)
        if not self.links:
            return a
        return self._closed(a, [self.eq.constraint_accelerations[i] for i in self.links])

    def _responses(self, columns: Sequence[Sequence[Expr]]) -> list[list[Expr]]:
        """M⁻¹ times columns, a row each, with the impulses that keep loops closed."""
        return [self._closed(y, [ZERO] * len(self.links)) for y in self._loose_responses(columns)]

    def _loose_responses(self, columns: Sequence[Sequence[Expr]]) -> list[list[Expr]]:
        found = solve_dense([list(row) for row in effective_mass_matrix(self.eq)], [list(e) for e in zip(*columns, strict=True)])
        return [list(e) for e in zip(*found, strict=True)]

    def _closed(self, a: Sequence[Expr], drift: Sequence[Expr]) -> list[Expr]:
        """a − M⁻¹Jᵀ(J M⁻¹Jᵀ)⁻¹(J a + γ)."""
        if not self.links:
            return list(a)
        Y, W = self._of_closing
        force = [e for (e,) in solve_dense(W, [[add(dot(j, a), g)] for j, g in zip(self.closing, drift, strict=True)])]
        return [sub(e, dot([y[i] for y in Y], force)) for i, e in enumerate(a)]

    @cached_property
    def _of_closing(self) -> tuple[list[list[Expr]], list[list[Expr]]]:
        """M⁻¹Jᵀ (a row a constraint) and J M⁻¹Jᵀ."""
        Y = self._loose_responses(self.closing)
        return Y, [[dot(j, y) for y in Y] for j in self.closing]

    def _pushes(self, grips: Sequence[Grip], rows: Sequence[tuple[int, int]]) -> list[list[Expr]]:
        """Columns of D: what the force of a row does, friction of sliding contacts with their normal ones."""
        found = []
        for g, r in rows:
            grip = grips[g]
            column = list(self.row(grip.contact, r))
            if grip.how == SLIDES and r == 0:
                contact, (a, b) = self.contacts[grip.contact], self._direction(grip)
                for part, way in ((a, 1), (b, 2)):
                    if part is not ZERO and contact.velocity[way] is not ZERO:
                        rub = mul(contact.friction, part)
                        column = [sub(c, mul(rub, e)) for c, e in zip(column, self.row(grip.contact, way), strict=True)]
            found.append(column)
        return found

    def _direction(self, grip: Grip) -> tuple[Expr, Expr]:
        if grip.direction is not None:
            return grip.direction
        _, a, b = self.contacts[grip.contact].velocity
        over = div(ONE, sqrt(add(mul(a, a), mul(b, b))))
        return mul(a, over), mul(b, over)

    def held(self, grips: Sequence[Grip], rows: Sequence[tuple[int, int]]) -> tuple[list[Expr], list[Expr]]:
        """Accelerations with closed contacts, and the forces of their rows (number of the grip, row)."""
        if not rows:
            return self.free, []
        J = [self.row(grips[g].contact, r) for g, r in rows]
        Y = self._responses(self._pushes(grips, rows))
        A = [[dot(j, y) for y in Y] for j in J]
        b = [[neg(add(dot(j, self.free), self._drift(grips[g].contact, r)))] for j, (g, r) in zip(J, rows, strict=True)]
        force = [e for (e,) in solve_dense(A, b)]
        return [add(a, dot([y[i] for y in Y], force)) for i, a in enumerate(self.free)], force

    # -- impacts --------------------------------------------------------------------------------------------------

    def struck(
        self, grips: Sequence[Grip], rows: Sequence[tuple[int, int]], bounce: Sequence[Expr], known: Sequence[Expr]
    ) -> list[Expr]:  # fmt: skip
        """Velocities after an impact; ``bounce`` says e of each grip (0 where it does not strike).

        Contacts that slide along a direction that the impact itself finds obey μ p_N u_T⁺ + p_T ‖u_T⁺‖ = 0: one step of Newton's method from their
        ``known`` impulses, which has the exact derivative.
        """
        J = [self.row(grips[g].contact, r) for g, r in rows]
        Y = self._responses(self._pushes(grips, rows))
        before = [self.contacts[grips[g].contact].velocity[r] for g, r in rows]
        W = [[dot(j, y) for y in Y] for j in J]
        after = [add(u, dot(w, known)) for u, w in zip(before, W, strict=True)]
        residual, slope = list[Expr](), list[list[Expr]]()
        for i, (g, r) in enumerate(rows):
            grip = grips[g]
            if r == 0:
                residual.append(add(after[i], mul(bounce[g], before[i])))
                slope.append(list(W[i]))
            elif grip.how == FINDS:
                n, one, two = (rows.index((g, k)) for k in range(3))
                speed, mu = sqrt(add(mul(after[one], after[one]), mul(after[two], after[two]))), self.contacts[grip.contact].friction
                residual.append(add(mul(mul(mu, known[n]), after[i]), mul(known[i], speed)))
                turned = [div(add(mul(after[one], a), mul(after[two], b)), speed) for a, b in zip(W[one], W[two], strict=True)]
                parts = [add(mul(mul(mu, known[n]), w), mul(known[i], d)) for w, d in zip(W[i], turned, strict=True)]
                parts[n], parts[i] = add(parts[n], mul(mu, after[i])), add(parts[i], speed)
                slope.append(parts)
            else:
                residual.append(after[i])
                slope.append(list(W[i]))
        p = [sub(k, e) for k, (e,) in zip(known, solve_dense(slope, [[e] for e in residual]), strict=True)]
        return [add(v, dot([y[i] for y in Y], p)) for i, v in enumerate(self.eq.v)]

    def projected(self, v: Sequence[Expr], grips: Sequence[Grip], rows: Sequence[tuple[int, int]]) -> list[Expr]:
        """Velocities whose rows are held: v − M⁻¹Jᵀ(J M⁻¹Jᵀ)⁻¹u."""
        if not rows:
            return list(v)
        change = [sub(a, b) for a, b in zip(v, self.eq.v, strict=True)]
        u = [add(self.contacts[grips[g].contact].velocity[r], dot(self.row(grips[g].contact, r), change)) for g, r in rows]
        return [sub(e, x) for e, x in zip(v, self._taking(grips, rows, u), strict=True)]

    def shifted(self, grips: Sequence[Grip], rows: Sequence[tuple[int, int]]) -> list[Expr]:
        """Positions whose gaps (normal rows) are closed by a shift of the least inertia, to first order."""
        shift = [neg(e) for e in self._taking(grips, rows, [self.contacts[grips[g].contact].gap for g, _ in rows])]
        moved = substitute(self.eq.position_rates, dict(zip(self.eq.v, shift, strict=True)))
        return [add(q, e) for q, e in zip(self.eq.q, moved, strict=True)]

    def _taking(self, grips: Sequence[Grip], rows: Sequence[tuple[int, int]], u: Sequence[Expr]) -> list[Expr]:
        """M⁻¹Jᵀ(J M⁻¹Jᵀ)⁻¹u."""
        J = [self.row(grips[g].contact, r) for g, r in rows]
        Y = self._responses(J)
        p = [x for (x,) in solve_dense([[dot(j, y) for y in Y] for j in J], [[e] for e in u])]
        return [dot([y[i] for y in Y], p) for i in range(len(self.eq.v))]


def dot(a: Sequence[Expr], b: Sequence[Expr]) -> Expr:
    """Σ aᵢ bᵢ."""
    total = ZERO
    for x, y in zip(a, b, strict=True):
        total = add(total, mul(x, y))
    return total


__all__ = ["FINDS", "SLIDES", "SMOOTH", "STICKS", "Ball", "ContactRows", "Face", "Grip", "Touching"]
