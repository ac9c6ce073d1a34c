"""Analytic derivatives of inverse and forward dynamics in order n·depth.

A coordinate that changes moves the bodies it carries rigidly, so that the change of the forces follows from composite
quantities alone (Carpentier and Mansard 2018; Singh, Russo and Wensing 2022).  It is written here with vectors of three
in the frames of the links.  Let a rotation about e through the joint's origin O carry the points ρ = r − O; seen
with these bodies their accelerations change by

    ë × ρ + 2 ė × ρ̇ − e × a_O       with ė = ω × e,  ë = ω̇ × e + ω × (ω × e)   (ω of the body before the joint)

for a unit change of the angle, and by (ω + ω_j) × e × ρ + 2 e × ρ̇ for a unit change of its rate (ω_j: behind the
joint); for a translation along e by ë and by 2ė.  Velocities ρ̇ are taken relative to the joint's own origin: no linear
velocity enters, as in Newton and Euler's recursion.  Summed over the carried mass, 2x × ρ̇ gives the force x × 2P and
the moment 2(tr D − Dᵀ)x with P = ∫ρ̇ dm and D = ∫ρ ρ̇ᵀ dm, which pass from link to link like first and second moments.

For quaternions the derivative is taken along a rotation increment in the axes of the child, that is along the velocity:
∂φ/∂q here is ∂φ/∂q·N(q) with q̇ = N(q) v.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ..symbolic.derivatives import jvp, sparse_jacobian
from ..symbolic.expr import HALF, ONE, PARAMETER, TWO, ZERO, Expr, add, mul, neg, sub
from ..symbolic.graph import count, topological
from ..symbolic.vectors import AXES, NULL, AxisTurn, Inertia, Matrix, Turn, Vector
from .composite_body import composite_inertias, mass_matrix
from .mass_factor import SparseFactor
from .newton_euler import LinkMotion, Wrench, inverse_dynamics, link_motions, link_wrenches, reflected_inertias, relative_spin
from .tree import Freedom, Link, Tree

Table = list[list[Expr]]


# --- composite momenta -------------------------------------------------------------------------------------------


@dataclass
class Momentum:
    """2P = 2∫ρ̇ dm and 2D = 2∫ρ ρ̇ᵀ dm of a link with all it carries, ρ and ρ̇ relative to the link's origin."""

    P: Vector
    D: Matrix

    def acting(self, x: Vector) -> Wrench:
        """Force and moment of the accelerations 2x × ρ̇: x × 2P and 2(tr D − Dᵀ)x."""
        rows = self.D.rows
        trace = add(add(rows[0].x, rows[1].y), rows[2].z)
        if x is AXES[0] or x is AXES[1] or x is AXES[2]:
            return x.cross(self.P), _minus_trace(self.D.rows[AXES.index(x)], AXES.index(x), self.D)
        columns = [_minus_trace(rows[k], k, self.D) for k in range(3)]
        del trace
        return x.cross(self.P), columns[0] * x.x + columns[1] * x.y + columns[2] * x.z

    def seen_by(self, axis: int) -> Vector:
        """The moment's component along an axis as a linear function of x: 2(tr D − D)e."""
        return _minus_trace(self.D.column(axis), axis, self.D)


def _minus_trace(row: Vector, k: int, D: Matrix) -> Vector:
    """tr(D) e_k − row, with the k-th diagonal entry cancelled."""
    i, j = (k + 1) % 3, (k + 2) % 3
    entries = [neg(e) for e in row]
    entries[k] = add(D[i, i], D[j, j])
    return Vector(*entries)
