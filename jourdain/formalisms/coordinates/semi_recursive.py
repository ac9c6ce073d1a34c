"""The semi-recursive formulation of García de Jalón, Álvarez, de Ribera, Rodríguez and Funes (2003), step by step.

Velocities Z_i = {ṡ_i; ω_i} of all bodies refer to one point, the global origin O: then twists and inertias of different bodies add
without being carried from point to point, and the topology is all in the Boolean path matrix T.

    Z = T R_d ż                                       (29)    R_d = diag(b_i)
    Ż = T R_d z̈ + T d                                 (30)    d_i: what velocities alone contribute
    Mz z̈ = Qz,  Mz = R_dᵀ M^S R_d,  Qz = R_dᵀ Tᵀ(Q̄ − M̄ T d)   (31)–(35)
    Φ(z, t) = 0,  Φ_z z̈ = −Φ̇_z ż − Φ̇_t               (36)–(41), (51)–(52)
    z̈ = R_z z̈ⁱ + z̈₀,  R_zᵀ Mz R_z z̈ⁱ = R_zᵀ(Qz − Mz z̈₀)        (42)–(50)

Ż is taken as the acceleration of the material point of the body that is at O (the reading in which eqs. 19 and 56–58 hold as printed);
the sign of Q̄ in eq. 26 is the one that eqs. 25 and 31 ask for.  Removed rods keep their exact inertia (53)–(63).

With ``reference`` "cg" or "body" the velocities refer to each body's centre of mass or the origin of its frame (22)–(23); the unit blocks
of T become shifts B_i, which is the decoupled natural orthogonal complement N = N_l N_d (Saha).  All three give the same Mz and Qz.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from ...errors import InputError
from ...model.bodies import Frame
from ...model.model import Model
from ...symbolic.expr import ONE, TWO, ZERO, Expr, add, div, mul, sub
from ...symbolic.vectors import IDENTITY, NO_INERTIA, NULL, Inertia, MatrixTurn, Vector, steiner
from ..equations import Equations
from ..tree.kinematics import Kinematics
from ..tree.links import Link, LinkMotion, Relative, Wrench, inertial_moment
from ..tree.links.flexible import FlexibleLink
from ..tree.newton_euler import reflected_inertias
from ..tree.rods import Coupling
from ..tree.tree import Tree

#: Points the velocities of the bodies may refer to.
REFERENCES = ("origin", "cg", "body")


@dataclass(frozen=True)
class Column:
    """b_i of one freedom: velocity of the reference point and angular velocity for a unit rate."""

    velocity: Vector
    omega: Vector
    index: int
    ratio: Expr

    def power(self, force: Vector, moment: Vector) -> Expr:
        """b_iᵀ{F; N}."""
        return mul(self.ratio, add(self.velocity.dot(force), self.omega.dot(moment)))


class RigidInertia(NamedTuple):
    """M̄ = [m1 −s̃; s̃ I] about the reference point, in world axes (26)."""

    mass: Expr
    moment: Vector
    inertia: Inertia

    def __add__(self, o: RigidInertia) -> RigidInertia:  # type: ignore[override]
        return RigidInertia(add(self.mass, o.mass), self.moment + o.moment, self.inertia + o.inertia)

    def times(self, v: Vector, omega: Vector) -> Wrench:
        """M̄{v; ω}."""
        return v * self.mass + omega.cross(self.moment), self.moment.cross(v) + self.inertia @ omega

    def shifted(self, d: Vector) -> RigidInertia:
        """Bᵀ M̄ B: the same about a point −d away."""
        if d.is_zero:
            return self
        return RigidInertia(self.mass, self.moment + d * self.mass, self.inertia + steiner(self.moment * TWO + d * self.mass, d))


class SemiRecursive(Equations):
    """Mz, Qz, Φ_z and Φ̇_z ż of a model as expressions, by the semi-recursive formulation.

    Bodies are the elementary links of the tree (compound joints are rows of R and P joints with massless bodies between them).  What a
    joint cannot feel of a body's inertia is moved to the body before it, unless ``regroup`` is False or the centre of mass the reference.

    >>> m = Model("pendulum")
    >>> bob = m.body("bob", mass=2.0, com=(0, 0, -0.5))
    >>> hinge = m.revolute("hinge", m.ground, bob, axis="y")
    >>> SemiRecursive(m).mass_matrix
    [[0.5]]
    """

    def __init__(self, model: Model, reference: str = "origin", regroup: bool = True) -> None:
        if reference not in REFERENCES:
            raise InputError(f"semi-recursive: reference '{reference}' is unknown; use one of {', '.join(REFERENCES)}")
        super().__init__(model)
        self.reference = reference
        if reference == "cg" or not regroup:
            self.tree = Tree(model, regroup=False)
            self.kinematics = Kinematics(self.tree)
        self.links: list[Link] = self.tree.links

    # -- topology -------------------------------------------------------------------------------------------------

    @cached_property
    def path_matrix(self) -> np.ndarray:
        """T (24), bodies numbered from the leaves to the root: T[i, j] where joint j is on the path from body i to the ground."""
        n = len(self.links)
        T = np.zeros((n, n), dtype=bool)
        for i in range(n):
            T[n - 1 - i, [n - 1 - j for j in self.tree.ancestors(i)]] = True
        return T

    def path(self, link: int, base: int = -1) -> list[int]:
        """Links from a body down to the ground, or to a link before it (not included)."""
        chain = self.tree.ancestors(link)
        return chain if base < 0 else chain[: chain.index(base)]

    # -- positions ------------------------------------------------------------------------------------------------

    @cached_property
    def points(self) -> list[Vector]:
        """The reference point of each body."""
        k = self.kinematics
        if self.reference == "origin":
            return [NULL] * len(self.links)
        if self.reference == "body":
            return [k.link_position(i) for i in range(len(self.links))]
        return [
            k.link_position(i) + k.turned(i, link.own_moment * div(ONE, link.mass) if link.mass is not ZERO else NULL)
            for i, link in enumerate(self.links)
        ]

    def _step(self, link: Link) -> Vector:
        """From the parent's reference point to the body's."""
        before = self.points[link.parent] if link.parent >= 0 else NULL
        return NULL if self.reference == "origin" else self.points[link.index] - before

    @cached_property
    def columns(self) -> list[list[Column]]:
        """b_i of every joint: {u × (ρ − P); u} for R, {u; 0} for P."""
        k, found = self.kinematics, []
        for link in self.links:
            arm = self.points[link.index] - k.link_position(link.index)
            turned = k.turning(link.index)
            found.append([Column(*f.velocities(turned, arm), f.index, f.ratio) for f in link.freedoms])
        return found

    # -- velocities -----------------------------------------------------------------------------------------------

    @cached_property
    def omegas(self) -> list[Vector]:
        """ω_i by the recursion (20)."""
        found: list[Vector] = []
        for link in self.links:
            before = found[link.parent] if link.parent >= 0 else NULL
            found.append(before + self._relative(link).omega)
        return found

    def _relative(self, link: Link) -> Relative:
        """u ż, and u z̈ where the motion is prescribed."""
        return Relative(*(self.kinematics.turned(link.index, x) for x in link.relative(acceleration=False)))

    @cached_property
    def bias(self) -> list[LinkMotion]:
        """T d (30) by the recursion (21) with z̈ = 0: Ż_i = B_i Ż_p + d_i, begun with −g so that weight is an inertial force."""
        found: list[LinkMotion] = []
        ground = LinkMotion(NULL, NULL, -self.model.gravity)
        for link in self.links:
            before = found[link.parent] if link.parent >= 0 else ground
            a, alpha = self._bias_step(link, before)
            at = before.acceleration + before.omega_dot.cross(self._step(link))
            found.append(LinkMotion(self.omegas[link.index], before.omega_dot + alpha, at + a))
        return found

    def _bias_step(self, link: Link, before: LinkMotion) -> tuple[Vector, Vector]:
        """d_i: for R with a = ω_p × u ż: {ω_p×(ω_p×(P − ρ_p)) + ω_i×(ω_i×(ρ_i − P)) + a×(ρ_i − P); a}, for P {… + 2ω_p × u ż; 0}."""
        there = self.points[link.parent] if link.parent >= 0 else NULL
        origin = self.kinematics.link_position(link.index)
        return link.point_bias(before.omega, self._relative(link), there, origin, self.points[link.index])

    # -- inertia --------------------------------------------------------------------------------------------------

    @cached_property
    def inertias(self) -> list[RigidInertia]:
        """M̄_i about the reference point (26), the point masses α of removed rods included (60)."""
        found = []
        for i, link in enumerate(self.links):
            R = self.kinematics.link_rotation(i)
            s, I = link.own_moment, link.own_inertia
            if R is not IDENTITY:
                s, I = self.kinematics.turned(i, s), MatrixTurn(R).out_inertia(I)
            found.append(RigidInertia(link.mass, s, I).shifted(self.kinematics.link_position(i) - self.points[i]))
        return found

    @cached_property
    def couplings(self) -> list[tuple[int, Coupling]]:
        """M̄_jk = β G_j G_kᵀ of the removed rods (59) about the reference points, with the body that carries both ends."""
        k, found = self.kinematics, []
        for c in self.tree.couplings:
            A, B = (k.link_rotation(i) for i in (c.a, c.b))
            p, q = (k.link_position(i) - (self.points[i] if i >= 0 else NULL) for i in (c.a, c.b))
            found.append((self._carrier(c.a, c.b), c.placed(A, B, p, q)))
        return found

    def _carrier(self, a: int, b: int) -> int:
        others = set(self.tree.ancestors(b))
        return next((i for i in self.tree.ancestors(a) if i in others), -1)

    @cached_property
    def composites(self) -> list[RigidInertia]:
        """M^S by backward accumulation (33); where both ends of a rod are carried it holds M̄_jk + M̄_kj (62)–(63)."""
        totals = list(self.inertias)
        for base, c in self.couplings:
            if base >= 0:
                p, q = (self.points[i] - self.points[base] for i in (c.a, c.b))
                m, s, I = c.placed(IDENTITY, IDENTITY, p, q).inertia()
                totals[base] = totals[base] + RigidInertia(m, s, I)
        for link in reversed(self.links):
            if link.parent >= 0:
                totals[link.parent] = totals[link.parent] + totals[link.index].shifted(self._step(link))
        return totals

    @cached_property
    def mass_matrix(self) -> list[list[Expr]]:
        """Mz[i, j] = b_iᵀ M_i^S b_j for j on the path of i, zero on different branches (32); rods couple the paths of their ends."""
        n = self.tree.nv
        M = [[ZERO] * n for _ in range(n)]
        for link in self.links:
            for b in self.columns[link.index]:
                force, moment = self.composites[link.index].times(b.velocity, b.omega)
                self._project(link.index, link.index, b, force, moment, M)
        for flexible in self.tree.flexible.values():
            self._add_modes(flexible, M)
        for base, c in self.couplings:
            for i in self.path(c.b, base):
                for b in self.columns[i]:
                    self._couple(c, i, b, M)
            for i in self.path(c.a, base) if base >= 0 else []:
                for b in self.columns[i]:
                    self._couple(c.swapped, i, b, M, base)
        for i, inertia in reflected_inertias(self.tree).items():
            M[i][i] = add(M[i][i], inertia)
        return M

    def _add_modes(self, link: FlexibleLink, M: list[list[Expr]]) -> None:
        """Columns of a flexible body's modes: {∂s/∂e_i; D_i} on the path, and the block of the modes themselves."""
        for b, freedom in zip(self.columns[link.index], link.freedoms, strict=True):
            self._project(link.index, link.index, b, *self._about_point(link, *freedom.asked(ZERO, NULL, NO_INERTIA)), M)
        link.add_inner_masses(M)

    def _about_point(self, link: Link, force: Vector, moment: Vector) -> Wrench:
        """A wrench about a link's origin in its axes as one about its reference point in the world's."""
        k = self.kinematics
        force, moment = k.turned(link.index, force), k.turned(link.index, moment)
        return force, moment + (k.link_position(link.index) - self.points[link.index]).cross(force)

    def _inner_terms(self, link: FlexibleLink) -> tuple[Wrench, list[Expr]]:
        """What the deformation of a flexible body asks for without accelerations: on its frame, and on its modes."""
        R, motion = self.kinematics.link_rotation(link.index).T, self.bias[link.index]
        origin = motion.acceleration + motion.at(self.kinematics.link_position(link.index) - self.points[link.index])
        omega, omega_dot, a = R @ motion.omega, R @ motion.omega_dot, R @ origin
        still = [ZERO] * len(link.freedoms)
        return self._about_point(link, *link.modal.wrench(omega, still)), link.modal.forces(omega, omega_dot, a, still)

    def _couple(self, c: Coupling, i: int, b: Column, M: list[list[Expr]], start: int = -1) -> None:
        """b_jᵀ M̄_ab b_i for every j on the path of a (from ``start`` on), i a joint beyond the common body on the path of b."""
        if c.a < 0:
            return
        v, D = b.velocity + b.omega.cross(self.points[c.b] - self.points[i]), c.dyad
        force, moment = v * c.mass + b.omega.cross(c.moment_b), c.moment_a.cross(v)
        if not b.omega.is_zero:
            moment = moment + b.omega * add(add(D[0, 0], D[1, 1]), D[2, 2]) - D.T @ b.omega
        self._project(c.a, None, b, force, moment, M, start)

    def _project(self, start: int, own: int | None, b: Column, force: Vector, moment: Vector, M: list[list[Expr]], first: int = -1) -> None:
        """Entries of column b from a wrench on a body: b_jᵀ{F; N} for j on the path (from ``first`` on, where it is given)."""
        i = start
        active = first < 0
        while i >= 0:
            active = active or i == first
            if active:
                for other in self.columns[i]:
                    if i == own and other.index > b.index:
                        continue
                    value = mul(b.ratio, other.power(force, moment))
                    row, column = other.index, b.index
                    M[row][column] = add(M[row][column], value)
                    if row != column:
                        M[column][row] = M[row][column]
                    elif i != own:
                        M[row][row] = add(M[row][row], value)
            moment = moment + self._step(self.links[i]).cross(force)
            i = self.links[i].parent

    # -- forces ---------------------------------------------------------------------------------------------------

    def add_wrench(self, frame: Frame, force: Vector, torque: Vector, base: int, wrenches: dict[int, Wrench]) -> None:
        """A force at r adds {F; r × F} to Q̄_i, about the reference point."""
        link = self.kinematics.place(frame).link
        if link < 0:
            return
        if base >= 0:
            force, torque = self.kinematics.turned(base, force), self.kinematics.turned(base, torque)
        if not force.is_zero:
            torque = torque + (self.kinematics.position(frame) - self.points[link]).cross(force)
        before = wrenches.get(link, (NULL, NULL))
        wrenches[link] = (before[0] + force, before[1] + torque)

    @cached_property
    def generalised_forces(self) -> list[Expr]:
        """Q(t, z, ż) of all loads."""
        return self._accumulate(dict(self.wrenches), self.joint_forces)

    @cached_property
    def forces(self) -> list[Expr]:
        """Qz = R_dᵀ Tᵀ(Q̄ − M̄ T d) + τ (31), (34)–(35): loads less what velocities and weight ask for, (58) of rods included."""
        totals: dict[int, Wrench] = {}
        for i, (own, motion) in enumerate(zip(self.inertias, self.bias, strict=True)):
            force, moment = self.wrenches.get(i, (NULL, NULL))
            force = force - motion.acceleration * own.mass - motion.at(own.moment)
            moment = moment - inertial_moment(own.inertia, motion) - own.moment.cross(motion.acceleration)
            totals[i] = (force, moment)
        ground = LinkMotion(NULL, NULL, -self.model.gravity)
        for _, c in self.couplings:
            for i, coupling, motion in ((c.a, c, self.bias[c.b]), (c.b, c.swapped, self.bias[c.a] if c.a >= 0 else ground)):
                if i >= 0:
                    f, n = coupling.asked_of_a(IDENTITY, motion)
                    totals[i] = (totals[i][0] - f, totals[i][1] - n)
        at_joints = list(self.joint_forces)
        for link in self.tree.flexible.values():
            (f, n), rows = self._inner_terms(link)
            totals[link.index] = (totals[link.index][0] - f, totals[link.index][1] - n)
            for freedom, row in zip(link.freedoms, rows, strict=True):
                at_joints[freedom.index] = sub(at_joints[freedom.index], row)
        return self._accumulate(totals, at_joints)

    def _accumulate(self, totals: dict[int, Wrench], joint_forces: Sequence[Expr]) -> list[Expr]:
        """b_iᵀ F_i^S + τ_i with F^S summed from the leaves (34)."""
        found = list(joint_forces)
        for link in reversed(self.links):
            if link.index not in totals:
                continue
            force, moment = totals[link.index]
            for b in self.columns[link.index]:
                found[b.index] = add(found[b.index], b.power(force, moment))
            if link.parent >= 0:
                before = totals.get(link.parent, (NULL, NULL))
                totals[link.parent] = (before[0] + force, before[1] + moment + self._step(link).cross(force))
        return found

    # -- constraints ----------------------------------------------------------------------------------------------

    @cached_property
    def constraint_jacobian(self) -> dict[tuple[int, int], Expr]:
        """Non-zero entries of Φ_z: closures by unit joint velocities (39)–(41), other equations by differentiation."""
        return self.rates_by_unit_velocities[0]

    @cached_property
    def constraint_accelerations(self) -> list[Expr]:
        """Φ̇_z ż + Φ̇_t: accelerations of the constraints with z̈ = 0 (51)–(52)."""
        return self.rates_by_unit_velocities[1]


__all__ = ["REFERENCES", "Column", "RigidInertia", "SemiRecursive"]
