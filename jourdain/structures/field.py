"""Where the mass of a structure is and how it moves with the degrees of freedom: the source of all integrals over the body."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from .parts.dofs import Array, Dofs, skew


@dataclass(frozen=True, eq=False)
class MassField:
    """Points x_p that carry mass, u_p = N_p δ their displacements and w_pq their scalar masses: M = Nᵀ (w ⊗ I₃) N + remainder.

    Solid elements and lumped masses are exactly of the form μ ⊗ I₃ at their nodes ("properly constructed", Nikravesh §3); elements
    with rotations are so at their integration points.  The remainder is what no displacement explains: rotary inertia of sections, or
    what a matrix from a file has beyond its translational blocks.
    """

    positions: Array  #: (p, 3)
    shape: sp.csr_array  #: N, (3 p, n), component within point
    weights: sp.csc_array  #: w, (p, p)
    remainder: sp.csc_array | None  #: (n, n)

    def sampled(self, shapes: Array) -> Array:
        """Displacements (p, 3, m) of the points in the shapes (n, m)."""
        return np.asarray(self.shape @ shapes).reshape(len(self.positions), 3, shapes.shape[1])

    def weighed(self, fields: Array) -> Array:
        """w times vector fields (p, …)."""
        return np.asarray(self.weights @ fields.reshape(len(fields), -1)).reshape(fields.shape)

    def through(self, coordinates: sp.sparray | Array) -> MassField:
        """The field in other coordinates, δ = T q."""
        remainder = None if self.remainder is None else sp.csc_array(coordinates.T @ self.remainder @ coordinates)
        return MassField(self.positions, sp.csr_array(self.shape @ coordinates), self.weights, remainder)

    def mass_matrix(self) -> sp.csc_array:
        mass = sp.csc_array(self.shape.T @ sp.kron(self.weights, np.eye(3), format="csc") @ self.shape)
        return mass if self.remainder is None else sp.csc_array(mass + self.remainder)


def nodal_field(positions: Array, dofs: Dofs, mass: sp.csc_array) -> MassField:
    """The field of a mass matrix alone: w is the mean of its translational blocks, the rest is remainder."""
    n, size = len(positions), len(dofs)
    moves = np.flatnonzero(dofs.components < 3)
    rows = 3 * dofs.nodes[moves] + dofs.components[moves]
    shape = sp.csr_array((np.ones(len(moves)), (rows, moves)), shape=(3 * n, size))
    known = [c for c in range(3) if (dofs.components == c).any()]
    blocks = []
    for c in known:
        here = np.flatnonzero(dofs.components == c)
        spread = sp.csr_array((np.ones(len(here)), (dofs.nodes[here], here)), shape=(n, size))
        blocks.append(spread @ mass @ spread.T)
    weights = sp.csc_array(sum(blocks[1:], blocks[0]) / len(blocks))
    plain = MassField(positions, shape, weights, None)
    remainder = sp.csc_array(mass - plain.mass_matrix())
    remainder.eliminate_zeros()
    small = 1e-13 * abs(mass).max() if mass.nnz else 0.0
    if not remainder.nnz or abs(remainder).max() <= small:
        return plain
    return MassField(positions, shape, weights, remainder)


def rigid_inertia(field: MassField, rigid: Array, about: Array) -> tuple[float, Array, Array]:
    """Mass, first moment and inertia tensor about a point: the blocks of Rᵀ M R, with the remainder's share where nodes can follow."""
    x = field.positions - about
    lumped = field.weights @ np.ones(len(x))
    mass = float(lumped.sum())
    first = lumped @ x
    second = x.T @ field.weighed(x)
    inertia = np.trace(second) * np.eye(3) - second
    if field.remainder is not None:
        rest = rigid.T @ (field.remainder @ rigid)
        mass += float(np.trace(rest[:3, :3])) / 3.0
        cross = rest[:3, 3:]  # −(m c)~
        first = first + 0.5 * np.array([cross[1, 2] - cross[2, 1], cross[2, 0] - cross[0, 2], cross[0, 1] - cross[1, 0]])
        inertia = inertia + rest[3:, 3:]
    return mass, first, 0.5 * (inertia + inertia.T)


@dataclass(frozen=True, eq=False)
class Invariants:
    """Integrals of the shapes over the body, from which the mass matrix of a floating body follows at every e (Shabana, ch. 5).

    With b = s + Σ φ_i e_i:  first moment s0 + s1 e,  J(e) = ∫ b̃ᵀ b̃ = J0 + Σ e_i (J1_i + J1_iᵀ) + Σ e_i e_j J2_ij,
    D(e) = ∫ b̃ φ = D0 + Σ e_j D1_j.
    """

    mass: float
    s0: Array
    s1: Array
    J0: Array
    J1: Array
    J2: Array
    D0: Array
    D1: Array
    M_ee: Array


def invariants(field: MassField, rigid: Array, shapes: Array, linear: Array | None = None) -> Invariants:
    """All integrals for shapes (n, m); `rigid` are the rigid motions R(s) of the degrees of freedom about the origin.

    `linear` (n, 3, 3), where the field is not exact, are the degrees of freedom of the displacements x_a e_b: ∫ s_a φ_b dm is then exact too.
    """
    m = shapes.shape[1]
    mass, s0, J0 = rigid_inertia(field, rigid, np.zeros(3))
    x = field.positions
    phi = field.sampled(shapes)
    wx, wphi = field.weighed(x), field.weighed(phi)
    s1 = wphi.sum(axis=0)
    # Outer integrals ∫ a bᵀ dm; a~ᵀ b~ = (a·b) I − b aᵀ.
    x_phi = np.einsum("pa,pbi->iab", wx, phi)
    if linear is not None:
        x_phi = np.einsum("nab,ni->iab", linear, field.mass_matrix() @ shapes)
    flat = phi.reshape(3 * len(x), m)
    M_ee = flat.T @ wphi.reshape(3 * len(x), m)
    outer = np.einsum("pai,pbj->ijab", wphi, phi, optimize=True)
    eye = np.eye(3)
    J1 = np.einsum("iaa->i", x_phi)[:, None, None] * eye - np.swapaxes(x_phi, 1, 2)
    J2 = np.einsum("ijaa->ij", outer)[:, :, None, None] * eye - np.swapaxes(outer, 2, 3)
    D0 = np.einsum("abc,ibc->ai", LEVI, x_phi)
    D1 = np.einsum("abc,jkbc->jak", LEVI, outer)
    if field.remainder is not None:
        rest = field.remainder @ shapes
        s1 = s1 + rigid[:, :3].T @ rest
        D0 = rigid[:, 3:].T @ rest + (D0 if linear is None else rigid[:, 3:].T @ ((field.mass_matrix() - field.remainder) @ shapes))
        M_ee = M_ee + shapes.T @ rest
    return Invariants(mass, s0, s1, J0, J1, J2, D0, D1, 0.5 * (M_ee + M_ee.T))


#: ε_abc of the cross product.
LEVI = np.stack([skew(e) for e in np.eye(3)], axis=1)
