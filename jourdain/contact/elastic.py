"""Elastic bodies by matrices, as fast models take them: stiffness, mass, the degree of freedom that is struck, and natural modes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import ceil, pi

import numpy as np
import scipy.linalg as sl
import scipy.sparse as sp
import scipy.sparse.linalg as sla
from numpy.typing import NDArray

from ..errors import InputError
from ..structures.parts.dofs import Array
from ..structures.parts.elements import assemble
from ..structures.parts.sections import Material
from ..structures.parts.solids import KINDS, mapped

#: Up to so many degrees of freedom all modes are found by dense matrices.
DENSE = 900


@dataclass(frozen=True, eq=False)
class Elastic:
    """Stiffness and mass of a free elastic body; positive in the direction of the blow.

    Args:
        K, M: matrices. lumped: masses of a diagonal mass matrix.
        struck: the degree of freedom at the point of contact. rigid: rigid motions (n, r).
        places: positions of nodes. along: degree of freedom of each node in the direction of the blow (−1: none).
    """

    name: str
    K: sp.csr_array
    M: sp.csr_array
    lumped: Array
    struck: int
    rigid: Array
    places: Array
    along: NDArray[np.int64]
    yielding: float = 0.0  #: how far the grid gives way (m/N) under a force at the node alone, beside what the body does as a whole

    @cached_property
    def mobility(self) -> float:
        """G = 1/effective mass of the rigid body at the point of contact, cᵀR (RᵀMR)⁻¹ Rᵀc."""
        at = self.rigid[self.struck]
        return float(at @ np.linalg.solve(self.rigid.T @ (self.M @ self.rigid), at))

    def modes(self, count: int | None, cutoff: float) -> tuple[Array, Array]:
        """Angular frequencies and mass-normalised elastic modes (n, k): the lowest `count`, or all below `cutoff` (Hz)."""
        n, r = self.K.shape[0], self.rigid.shape[1]
        if count is not None and count > n - r:
            raise InputError(
                f"{self.name}: modes = {count} are asked for, but its grid has only {n - r} elastic ones; refine it or ask for fewer"
            )
        if n <= DENSE:
            square, shapes = sl.eigh(self.K.toarray(), self.M.toarray())
        else:
            square, shapes = self._lowest(r + (count if count is not None else 40), None if count is not None else cutoff)
        omega = np.sqrt(np.maximum(square[r:], 0.0))
        kept = np.arange(len(omega)) < count if count is not None else omega <= 2 * pi * cutoff
        return omega[kept], shapes[:, r:][:, kept]

    def _lowest(self, count: int, cutoff: float | None) -> tuple[Array, Array]:
        n = self.K.shape[0]
        scale = self.K.diagonal().max() / self.M.diagonal().max() * 1e-7  # rigid motions make K singular: a small negative shift
        factor = sla.splu(sp.csc_matrix(self.K + scale * self.M))
        inverse = sla.LinearOperator((n, n), matvec=factor.solve, dtype=float)
        start = np.random.default_rng(0).standard_normal(n)
        while True:
            count = min(count, n - 2)
            square, shapes = sla.eigsh(self.K, count, self.M, sigma=-scale, OPinv=inverse, v0=start)
            order = np.argsort(square)
            square, shapes = square[order], shapes[:, order]
            if cutoff is None or square[-1] > (2 * pi * cutoff) ** 2 or count == n - 2:
                return square, shapes
            count = max(count + 20, ceil(1.2 * count * (2 * pi * cutoff) ** 2 / square[-1]))  # modes of plates grow as f²

    def node(self, place: Array) -> int:
        """The degree of freedom, along the blow, of the node nearest to a place."""
        there = np.flatnonzero(self.along >= 0)
        return int(self.along[there[np.argmin(np.linalg.norm(self.places[there, : len(place)] - place, axis=1))]])


def highest_frequency(K: sp.csr_array, inverse_mass: Array) -> float:
    """The largest ω of lumped masses, a little above, by Lanczos' method: central differences are stable for h < 2/ω."""
    root = np.sqrt(inverse_mass)
    scaled = sp.csr_array(sp.diags_array(root) @ K @ sp.diags_array(root))
    start = np.random.default_rng(0).standard_normal(K.shape[0])
    return 1.01 * float(np.sqrt(sla.eigsh(scaled, 1, which="LA", v0=start, tol=1e-4, return_eigenvectors=False)[0]))


def lumped_by_scaling(M: sp.csr_array, translations: list[Array]) -> Array:
    """Diagonal of M scaled so that translations keep the whole mass (Hinton, Rock & Zienkiewicz 1976); `translations` are 0/1 vectors."""
    diagonal = M.diagonal()
    scale = np.ones(len(diagonal))
    total = float(translations[0] @ (M @ translations[0]))
    factor = 1.0
    for one in translations:
        factor = total / float(diagonal[one > 0].sum())
        scale[one > 0] = factor
    scale[~np.any([t > 0 for t in translations], axis=0)] = factor
    return diagonal * scale


def revolved_solid(name: str, nodes: Array, cells: NDArray[np.int64], material: Material, mass: float) -> Elastic:
    """A body of revolution about z of four-node rings: displacements u_r, u_z; strains ε_r, ε_z, ε_θ = u_r/r, γ_rz.

    Node 0 is struck, along z.  The density is such that the grid has the body's `mass`.
    """
    kind = KINDS[4, 2]
    x, w = kind.stiffness_points
    N, dN = kind.shape(x)
    gradients, det = mapped(nodes, cells, dN, name)
    r = np.einsum("gn,en->eg", N, nodes[cells][:, :, 0])
    volume = 2 * pi * r * det * w
    B = np.zeros((*volume.shape, 4, 4, 2))
    B[..., 0, :, 0] = gradients[..., 0]
    B[..., 1, :, 1] = gradients[..., 1]
    B[..., 2, :, 0] = N[None] / r[..., None]
    B[..., 3, :, 0] = gradients[..., 1]
    B[..., 3, :, 1] = gradients[..., 0]
    B = B.reshape(*volume.shape, 4, 8)
    E, nu = material.E, material.nu
    law = np.zeros((4, 4))
    law[:3, :3] = E / ((1 + nu) * (1 - 2 * nu)) * ((1 - 2 * nu) * np.eye(3) + nu)
    law[3, 3] = material.G
    stiffness = np.einsum("eg,egsa,st,egtb->eab", volume, B, law, B, optimize=True)
    rows = (2 * cells[:, :, None] + np.arange(2)).reshape(len(cells), 8)
    K = assemble(2 * len(nodes), rows, stiffness)
    mu = assemble(len(nodes), cells, mass / volume.sum() * np.einsum("eg,gi,gj->eij", volume, N, N, optimize=True))
    axis = 2 * np.flatnonzero(nodes[:, 0] < 1e-12 * nodes[:, 0].max())  # u_r = 0 on the axis
    return held(name, sp.csr_array(K), mu, nodes, axis, along=1, struck=0)


def point_compliance(size: tuple[float, float], material: Material, cells: int = 16) -> float:
    """How far (m/N) the node of a half-space of equal rings of size (r, z) gives way to a force on it; it grows as 1/size.

    The grid around the node is solved with Boussinesq's displacements on its outer sides.
    """
    from .meshes import cylinder_section

    r, z = size[0] * np.arange(cells + 1.0), size[1] * np.arange(cells + 1.0)
    nodes, table = cylinder_section(r[-1], z[-1], r, z)
    e = revolved_solid("half-space", nodes, table, material, 1.0)
    outer = (nodes[:, 0] > r[-1] * (1 - 1e-9)) | (nodes[:, 1] > z[-1] * (1 - 1e-9))
    x, y = nodes[outer].T
    R, nu = np.hypot(x, y), material.nu
    known = np.zeros(e.K.shape[0])
    known[e.along[outer]] = (y**2 / R**3 + 2 * (1 - nu) / R) / (4 * pi * material.G)
    off_axis = outer & (nodes[:, 0] > 0)
    radial = e.along[off_axis] - 1  # u_r and u_z of a node follow each other
    x, y = nodes[off_axis].T
    R = np.hypot(x, y)
    known[radial] = (x * y / R**3 - (1 - 2 * nu) * x / (R * (R + y))) / (4 * pi * material.G)
    free = np.setdiff1d(np.arange(len(known)), np.concatenate([e.along[outer], radial]))
    load = np.zeros(len(known))
    load[e.struck] = 1.0
    answer = sla.spsolve(sp.csc_matrix(e.K[free][:, free]), (load - e.K @ known)[free])
    return float(answer[np.searchsorted(free, e.struck)])


def held(
    name: str, K: sp.csr_array, mu: sp.csc_array, nodes: Array, fixed: NDArray[np.int64], along: int, struck: int, sign: float = 1.0
) -> Elastic:
    """A plane or revolved body with some degrees of freedom held; `along` is the component of the blow, `sign` its sense."""
    n = 2 * len(nodes)
    free = np.setdiff1d(np.arange(n), fixed)
    number = np.full(n, -1, dtype=np.int64)
    number[free] = np.arange(len(free))
    M = sp.csr_array(sp.kron(mu, np.eye(2), format="csr"))[free][:, free]
    masses = np.repeat(np.asarray(mu.sum(axis=1)).ravel(), 2)[free]
    turned = np.where(np.arange(n) % 2 == along, sign, 1.0)[free]
    flip = sp.diags_array(turned)
    rigid = (np.arange(n) % 2 == along).astype(float)[free]
    own = number[2 * np.arange(len(nodes)) + along]
    return Elastic(
        name,
        sp.csr_array(flip @ K[free][:, free] @ flip),
        sp.csr_array(flip @ M @ flip),
        masses,
        int(own[struck]),
        rigid[:, None],
        nodes,
        own,
    )
