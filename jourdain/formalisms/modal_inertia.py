"""Inertia of a flexible body in its floating frame, as a function of the modal amplitudes e.

With the velocity v of the frame's origin and its angular velocity ω, in the frame's axes, the kinetic energy is

    T = ½ m v·v + v·(ω × s) + v·ṡ + ½ ω·J ω + ω·D ė + ½ ė·M ė

with the first moment s(e) and the inertia J(e) as polynomials of second order in e, the coupling D(e) and M(e) of first.  Everything else follows
from Hamel's equations F = Ṗ + ω × P, N = L̇ + ω × L + v × P and Lagrange's for e, so that energy and momenta are those of T whatever the
numbers; what a linear theory leaves out are terms of the polynomials, never terms of the equations.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add as plus
from weakref import WeakKeyDictionary

from ..model.bodies import Body
from ..model.elastic.curved import MovingVector
from ..model.elastic.flexible import FlexibleBody
from ..symbolic.expr import HALF, TWO, ZERO, Expr, add, mul, sub
from ..symbolic.vectors import Inertia, Vector, scalar_product, steiner


class ModalInertia:
    """The moments of one body at the amplitudes e with the rates ė."""

    def __init__(self, body: FlexibleBody) -> None:
        data = body.data
        self.data = data
        self.e = [c.q[0] for c in body.modes]
        self.rates = [c.v[0] for c in body.modes]
        self.mass = data.mass
        #: ∂s/∂e_i, ∂J/∂e_i and the columns D_i
        self.s_by = [first + _sum(row, self.e) for first, row in zip(data.s1, data.s2, strict=True)]
        self.J_by = [first + _sum_inertias(row, self.e) for first, row in zip(data.J1, data.J2, strict=True)]
        self.D = [first + self._by_D1(i, self.e) for i, first in enumerate(data.D0)]
        # a polynomial of second order is its constant, with half of each slope's constant and half of the slope
        halves = [mul(HALF, e) for e in self.e]
        self.s = data.s0 + _sum([a + b for a, b in zip(data.s1, self.s_by, strict=True)], halves)
        self.J = data.J0 + _sum_inertias([a + b for a, b in zip(data.J1, self.J_by, strict=True)], halves)
        self.s_rate = _sum(self.s_by, self.rates)
        #: the modes' own mass matrix
        self.M = data.M
        if data.M1:
            self.M = [
                [add(entry, scalar_product([slice_[i][j] for slice_ in data.M1], self.e)) for j, entry in enumerate(row)]
                for i, row in enumerate(data.M)
            ]

    def _by_D1(self, i: int, x: Sequence[Expr]) -> Vector:
        """Σ_j ∂_j D_i x_j."""
        return _sum(self.data.D1[i], x)

    # -- momenta and energy ---------------------------------------------------------------------------------------

    @property
    def inner_momentum(self) -> tuple[Vector, Vector]:
        """ṡ and D ė: the momentum and the angular momentum about the frame's origin of the deformation alone."""
        return self.s_rate, _sum(self.D, self.rates)

    def double_energy(self, v: Vector, omega: Vector) -> Expr:
        """Twice the part of T with rates of the amplitudes: 2 v·ṡ + 2 ω·D ė + ė·M ė."""
        p, h = self.inner_momentum
        inner = scalar_product([self._row(i, self.rates) for i in range(len(self.e))], self.rates)
        return add(mul(TWO, add(v.dot(p), omega.dot(h))), inner)

    # -- forces ---------------------------------------------------------------------------------------------------

    def wrench(self, omega: Vector, rates2: Sequence[Expr]) -> tuple[Vector, Vector]:
        """What the deformation asks for beyond F = m a + U s, N = J ω̇ + ω × J ω + s × a: s̈ + 2ω × ṡ and D ë + Ḋ ė + J̇ ω + ω × D ė."""
        n = range(len(self.e))
        force = _sum(self.s_by, rates2) + _sum([_sum(self.data.s2[i], self.rates) for i in n], self.rates)
        force = force + omega.cross(self.s_rate) * TWO
        J_rate = _sum_inertias(self.J_by, self.rates)
        moment = _sum(self.D, rates2)
        if self.data.G:  # else Ḋ ė vanishes
            moment = moment + _sum([self._by_D1(i, self.rates) for i in n], self.rates)
        return force, moment + J_rate @ omega + omega.cross(_sum(self.D, self.rates))

    def forces(self, omega: Vector, omega_dot: Vector, acceleration: Vector, rates2: Sequence[Expr]) -> list[Expr]:
        """Rows of the amplitudes: s_i·a + D_i·ω̇ + (M ë + Ṁ ė − ½ ė·(∂M/∂e) ė)_i + Σ ė_j ω·(∂_j D_i − ∂_i D_j) − ½ ω·(∂_i J) ω."""
        found = []
        for i in range(len(self.e)):
            turning = _sum(self.data.G[i], self.rates) if self.data.G else self._by_D1(i, self.rates) * TWO
            row = add(self.s_by[i].dot(acceleration), self.D[i].dot(omega_dot))
            row = add(row, add(add(self._row(i, rates2), self._inner_bias(i)), omega.dot(turning)))
            found.append(sub(row, mul(HALF, _quadratic(self.J_by[i], omega))))
        return found

    def _row(self, i: int, x: Sequence[Expr]) -> Expr:
        return scalar_product(self.M[i], x)

    def _inner_bias(self, i: int) -> Expr:
        """(Ṁ ė)_i − ½ ė·(∂M/∂e_i) ė."""
        if not self.data.M1:
            return ZERO
        M1, rates, n = self.data.M1, self.rates, range(len(self.e))
        along = scalar_product([scalar_product(M1[k][i], rates) for k in n], rates)
        return sub(along, mul(HALF, scalar_product([scalar_product(M1[i][j], rates) for j in n], rates)))


class CompleteInertia(ModalInertia):
    """The same by fields that are orthonormal in the mass, Σ |c_k v + ω × ρ_k + ρ̇_k|² as the whole kinetic energy: each is a point of unit mass that
    takes part in translations by c_k."""

    def __init__(self, body: FlexibleBody) -> None:
        self.data, self.mass = body.data, body.data.mass
        self.e, self.rates = [c.q[0] for c in body.modes], [c.v[0] for c in body.modes]
        fields = self._polynomials() if body.curved is None else body.curved.moving_fields()
        self.c = [c for c, _ in fields]
        #: ρ_k, ∂ρ_k/∂e_i, ρ̇_k and ρ̈_k without ë
        self.rho, self.by = [d.value for _, d in fields], [d.by for _, d in fields]
        self.rho_rate, self.bent = [d.rate for _, d in fields], [d.bias for _, d in fields]
        n = range(len(self.e))
        self.s, self.s_rate = _sum(self.rho, self.c), _sum(self.rho_rate, self.c)
        self.s_by = [_sum([by[i] for by in self.by], self.c) for i in n]
        self.J = reduce(plus, (steiner(r, r) for r in self.rho))
        self.D = [reduce(plus, (r.cross(by[i]) for r, by in zip(self.rho, self.by, strict=True))) for i in n]
        upper = [[reduce(add, (by[i].dot(by[j]) for by in self.by)) if j >= i else ZERO for j in n] for i in n]
        self.M = [[upper[min(i, j)][max(i, j)] for j in n] for i in n]

    def _polynomials(self) -> list[tuple[Expr, MovingVector]]:
        """Fields of second order in the amplitudes."""
        halves, found = [mul(HALF, e) for e in self.e], []
        for c, start, first, second in self.data.fields or ():
            by = [a + _sum(row, self.e) for a, row in zip(first, second, strict=True)]
            rho = start + _sum([a + b for a, b in zip(first, by, strict=True)], halves)
            bent = _sum([_sum(row, self.rates) for row in second], self.rates)
            found.append((c, MovingVector(rho, by, _sum(by, self.rates), bent)))
        return found

    def _relative(self, omega: Vector, rates2: Sequence[Expr]) -> list[Vector]:
        """Relative and Coriolis' accelerations, ρ̈_k + 2ω × ρ̇_k."""
        return [_sum(by, rates2) + bent + omega.cross(rate) * TWO for by, bent, rate in zip(self.by, self.bent, self.rho_rate, strict=True)]

    def wrench(self, omega: Vector, rates2: Sequence[Expr]) -> tuple[Vector, Vector]:
        """Σ c_k h_k and Σ ρ_k × h_k of the relative accelerations h."""
        h = self._relative(omega, rates2)
        return _sum(h, self.c), reduce(plus, (r.cross(x) for r, x in zip(self.rho, h, strict=True)))

    def forces(self, omega: Vector, omega_dot: Vector, acceleration: Vector, rates2: Sequence[Expr]) -> list[Expr]:
        """Rows of the amplitudes: s_i·a + D_i·ω̇ + Σ ∂_iρ_k·(h_k + ω × (ω × ρ_k))."""
        h = [x + omega.cross(omega.cross(r)) for x, r in zip(self._relative(omega, rates2), self.rho, strict=True)]
        found = []
        for i in range(len(self.e)):
            row = add(self.s_by[i].dot(acceleration), self.D[i].dot(omega_dot))
            found.append(reduce(add, (by[i].dot(x) for by, x in zip(self.by, h, strict=True)), row))
        return found


_KNOWN: WeakKeyDictionary[FlexibleBody, ModalInertia] = WeakKeyDictionary()


def modal_inertia(body: FlexibleBody) -> ModalInertia:
    """The inertia of a flexible body, derived once: kinematics, energy, momentum and every formulation ask for it."""
    found = _KNOWN.get(body)
    if found is None:
        found = _KNOWN[body] = ModalInertia(body) if body.part.fields is None else CompleteInertia(body)
    return found


def deformed_moments(body: Body) -> tuple[Expr, Vector, Inertia]:
    """Mass, first moment and inertia of a body about its origin, as it stands deformed."""
    if not isinstance(body, FlexibleBody):
        return body.mass, body.moment, body.inertia
    modal = modal_inertia(body)
    return modal.mass, modal.s, modal.J


def _sum(vectors: Sequence[Vector], factors: Sequence[Expr]) -> Vector:
    return Vector(*(scalar_product(row, factors) for row in zip(*vectors, strict=True)))


def _sum_inertias(tensors: Sequence[Inertia], factors: Sequence[Expr]) -> Inertia:
    return Inertia(*(scalar_product(row, factors) for row in zip(*(I.entries for I in tensors), strict=True)))


def _quadratic(I: Inertia, w: Vector) -> Expr:
    """ω·I ω with the products of rates shared by all I."""
    x, y, z = w
    total = add(add(mul(I.xx, mul(x, x)), mul(I.yy, mul(y, y))), mul(I.zz, mul(z, z)))
    return add(total, mul(TWO, add(add(mul(I.xy, mul(x, y)), mul(I.xz, mul(x, z))), mul(I.yz, mul(y, z)))))


__all__ = ["ModalInertia", "deformed_moments", "modal_inertia"]
