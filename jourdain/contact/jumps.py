"""Impacts of rigid bodies: velocities jump, positions stay (spec 05 eqs. 50–55; Pfeiffer & Glocker 1996)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import nnls

from ..errors import InputError
from ..structures.parts.dofs import Array


@dataclass(frozen=True, eq=False)
class RigidImpact:
    """What an impact changed: velocities, impulses of compression and expansion (N s), gap velocities before, between and after."""

    velocity: Array
    compression: Array
    expansion: Array
    gap_rates: tuple[Array, Array, Array]
    energy_lost: float
    residual: float  #: largest violation of the complementarity, relative to the largest gap velocity and impulse

    @property
    def impulse(self) -> Array:
        return self.compression + self.expansion


def rigid_impacts(M: ArrayLike, W: ArrayLike, velocity: ArrayLike, restitution: ArrayLike) -> RigidImpact:
    """Frictionless impacts at several contacts at once, by Poisson's law in two complementarity problems.

    Compression: γ_C = G Λ_C + γ⁻ ≥ 0 ⟂ Λ_C ≥ 0.  Expansion: γ_E = G Λ_E + γ_C ≥ 0 ⟂ Λ_E − e Λ_C ≥ 0, with G = WᵀM⁻¹W.  In the metric of the
    kinetic energy both are projections onto the velocities allowed (Moreau), so that non-negative least squares solve them exactly.

    Args:
        M: mass matrix (n, n). W: directions of the contacts (n, c), gap velocities are γ = Wᵀ u.
        velocity: u before. restitution: e, one or one a contact.

    Example:
        >>> hit = rigid_impacts(np.diag([1.0, 1.0]), [[-1.0], [1.0]], [1.0, 0.0], 1.0)
        >>> hit.velocity.round(12)
        array([0., 1.])
    """
    mass = np.atleast_2d(np.asarray(M, float))
    directions = np.asarray(W, float)
    u = np.asarray(velocity, float)
    if mass.shape != (len(u), len(u)) or directions.ndim != 2 or len(directions) != len(u):
        raise InputError(
            f"rigid_impacts: M {mass.shape}, W {directions.shape} and {len(u)} velocities do not fit; W has a column for each contact"
        )
    e = np.broadcast_to(np.asarray(restitution, float), (directions.shape[1],))
    if not ((e >= -1) & (e <= 1)).all():
        raise InputError(f"rigid_impacts: restitution {e.tolist()} must be at most 1 (and at least −1)")
    try:
        L = np.linalg.cholesky(mass)
    except np.linalg.LinAlgError:
        raise InputError("rigid_impacts: M is not positive definite; every body needs a mass") from None
    A = np.linalg.solve(L, directions)  # M = L Lᵀ, G = AᵀA, and L⁻¹M u is u in this metric
    x = L.T @ u
    squeezed, _ = nnls(A, -x) if directions.shape[1] else (np.zeros(0), 0.0)
    after_compression = x + A @ squeezed
    released = after_compression + A @ (e * squeezed)
    further, _ = nnls(A, -released) if directions.shape[1] else (np.zeros(0), 0.0)
    end = released + A @ further
    rates = A.T @ x, A.T @ after_compression, A.T @ end
    size = max(np.abs(rates[0]).max(initial=0.0), 1e-300) * max(np.abs(squeezed).max(initial=0.0), 1e-300)
    products = np.abs(np.concatenate([rates[1] * squeezed, rates[2] * further])).max(initial=0.0) / size
    negative = max(-min(rates[1].min(initial=0.0), rates[2].min(initial=0.0)), 0.0) / max(np.abs(rates[0]).max(initial=0.0), 1e-300)
    lost = 0.5 * float(x @ x - end @ end)
    return RigidImpact(np.linalg.solve(L.T, end), squeezed, e * squeezed + further, rates, lost, float(max(products, negative)))


def three_coefficients(before: float, after: float, mobility: float, impulse: float) -> tuple[float, float, float]:
    """Newton's −γ⁺/γ⁻, Poisson's Λ_E/Λ_C and Stronge's √(work of restitution / work of compression) of one contact.

    The gap velocity grows linearly with the impulse, γ = γ⁻ + G Λ, from γ⁻ = `before` to `after`; compression ends where it is zero.
    """
    compression = -before / mobility
    restored = impulse - compression

    def work(start: float, end: float) -> float:
        return before * (end - start) + 0.5 * mobility * (end**2 - start**2)

    return -after / before, restored / compression, float(np.sqrt(-work(compression, impulse) / work(0.0, compression)))
