"""Static condensation to master nodes, and constrained modes as they are seen from mean axes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.linalg as sl

from ..errors import InputError
from .parts.dofs import Array, Dofs
from .reduction import Space, fixed_modes
from .statics import selection
from .structure import Structure

if TYPE_CHECKING:
    from numpy.typing import NDArray


def condensed(part: Structure, masters: Any) -> Structure:
    """Guyan's condensation (Nikravesh (34)–(37)): the part with its master nodes alone, M_G and K_G carried by the static shapes.

    Statics under loads on masters stay exact, mass and undeformed inertia too; frequencies rise.  M_G is not of the form μ ⊗ I₃ any more, but the
    condensed part keeps where its mass is, so that reductions of it are as exact as those of the part.
    """
    nodes = part.nodes_of(masters)
    rows = part.dofs.of(nodes)
    space = Space.of(part)
    if space.T.shape[0] != space.T.shape[1]:
        raise InputError(f"{part.name}: condense a part before it gets rigid interfaces")
    held = space.held(selection(rows, len(part.dofs)))
    T = held.prescribed(np.eye(len(rows)))
    number = np.full(len(part.nodes), -1)
    number[nodes] = np.arange(len(nodes))
    dofs = Dofs(number[part.dofs.nodes[rows]], part.dofs.components[rows], len(nodes))
    field = part.field.through(T)
    names = {n: int(number[i]) for n, i in part.names.items() if number[i] >= 0}
    return Structure(
        part.nodes[nodes], T.T @ (part.M @ T), T.T @ (part.K @ T), dofs, field=field, names=names, name=f"{part.name}, condensed"
    )


@dataclass(frozen=True, eq=False)
class ConstrainedModes:
    """Modes with boundary degrees of freedom held, and as they are seen from mean axes: ψ = φ − R ρ."""

    squares: Array  #: ω² (m,)
    held: Array  #: φ (n, m), zero at the boundary
    seen: Array  #: ψ (n, m)
    motions: Array  #: ρ (r, m), translation and rotation of the mean axes


def constrained_modes(part: Structure, boundary: NDArray[np.int64], count: int) -> ConstrainedModes:
    """Constrained modes by projection: ρ = (Rᵀ M R)⁻¹ Rᵀ M φ."""
    space = Space.of(part)
    squares, phi = fixed_modes(space, space.held(selection(boundary, len(part.dofs))), count)
    R = part.rigid[:, part.dofs.rigid_columns]
    MR = part.M @ R
    rho = np.linalg.solve(R.T @ MR, MR.T @ phi)
    return ConstrainedModes(squares, phi, phi - R @ rho, rho)


def mean_axis_pencil(part: Structure, boundary: NDArray[np.int64]) -> tuple[Array, Array]:
    """Stiffness and mass of the pencil (50): rigid motions, deflections, multipliers of mean axes and of the boundary, at b = s."""
    n, nb = len(part.dofs), len(boundary)
    R = part.rigid[:, part.dofs.rigid_columns]
    r = R.shape[1]
    M = part.M.toarray()
    D = R.T @ M
    E = np.zeros((nb, n))
    E[np.arange(nb), boundary] = 1.0
    zero = np.zeros
    mass = np.block([
        [R.T @ M @ R, zero((r, n)), zero((r, r)), R[boundary].T],
        [M @ R, M, D.T, E.T],
        [zero((r, r)), D, zero((r, r)), zero((r, nb))],
        [R[boundary], E, zero((nb, r)), zero((nb, nb))],
    ])  # fmt: skip
    stiffness = np.zeros_like(mass)
    stiffness[r : r + n, r : r + n] = part.K.toarray()
    return stiffness, mass


def pencil_modes(part: Structure, boundary: NDArray[np.int64]) -> tuple[Array, Array, Array, int]:
    """ω², ψ, ρ of the pencil's non-zero eigenvalues, sorted, and the number of its zeros."""
    stiffness, mass = mean_axis_pencil(part, boundary)
    values, vectors = sl.eig(np.linalg.solve(mass, stiffness))
    n, r = len(part.dofs), len(part.dofs.rigid_columns)
    scale = np.abs(values).max()
    kept = np.flatnonzero(np.abs(values) > 1e-6 * scale)
    order = kept[np.argsort(values[kept].real)]
    x = vectors[:, order].real
    return values[order].real, x[r : r + n], x[:r], len(values) - len(kept)
