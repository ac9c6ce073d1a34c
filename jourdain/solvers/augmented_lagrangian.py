"""Index-3 augmented Lagrangian with the trapezoidal rule and mass-orthogonal projections (Bayo and Ledesma 1996, Cuadrado et al. 1997).

Unknown is the displacement Δ of a step: ż = 2Δ/h − ż_n, z̈ = 4Δ/h² − 4ż_n/h − z̈_n.  Newton on

    g = (h²/4)(M z̈ + Φ_zᵀ(αΦ + λ) − Q),   tangent W + (h²/4) Φ_zᵀ α Φ_z,   W = M + (h/2)C + (h²/4)K,

with λ ← λ + αΦ after each iteration; then velocities and accelerations are projected with the same matrix,
(W + (h²/4)Φ_zᵀαΦ_z) ż = W ż* − (h²/4)Φ_zᵀαΦ_t, and so are accelerations with Φ̇_z ż + Φ̇_t.  λ has the sign of M z̈ + Φ_zᵀλ = Q.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..errors import InputError, SolverError

Array = np.ndarray

#: Size of the penalty term relative to the mass matrix: errors of the constraints shrink by about this factor with each iteration.
DOMINANCE = 1e6


class Terms(NamedTuple):
    """What the equations say at (t, z, ż)."""

    M: Array
    Q: Array
    K: Array
    C: Array
    phi: Array
    jacobian: Array
    #: Φ_t and Φ̇_z ż + Φ̇_t
    phi_t: Array
    drift: Array


@dataclass
class Steps:
    """A motion in fixed steps with what it took."""

    t: Array
    q: Array
    v: Array
    a: Array
    lam: Array
    iterations: int


def integrate_augmented_lagrangian(
    terms: Callable[[float, Array, Array], Terms], displace: Callable[[Array, Array], Array], span: tuple[float, float], q: Array, v: Array,
    a: Array, step: float, alpha: float | None = None, tolerance: float = 1e-11, iterations: int = 100,
) -> Steps:  # fmt: skip
    """Fixed steps from a closed state with its accelerations; ``displace(q, Δ)`` gives positions from displacements.

    The penalty α is chosen so that (h²/4)Φ_zᵀαΦ_z is :data:`DOMINANCE` times the mass matrix in size, where it is not given.
    """
    if not step > 0.0 or (alpha is not None and not alpha > 0.0):
        raise InputError(f"augmented Lagrangian: step {step} s and penalty {alpha} must be positive")
    count = max(1, round((span[1] - span[0]) / step))
    h = (span[1] - span[0]) / count
    first = terms(span[0], q, v)
    if alpha is None:
        alpha = DOMINANCE * 4.0 / h**2 * float(np.trace(first.M)) / max(float(np.sum(first.jacobian**2)), 1e-300)
    lam = np.zeros(len(first.phi))
    times = span[0] + h * np.arange(count + 1)
    rows: list[tuple[Array, Array, Array, Array]] = [(q, v, a, lam)]
    total = 0
    for t in times[1:]:
        *new, used = _step(terms, displace, float(t), *rows[-1], h, alpha, tolerance, iterations)
        rows.append((new[0], new[1], new[2], new[3]))
        total += used
    Q, V, A, L = (np.array(column) for column in zip(*rows, strict=True))
    return Steps(times, Q, V, A, L, total)


def _step(
    terms: Callable[[float, Array, Array], Terms], displace: Callable[[Array, Array], Array], t: float, q0: Array, v0: Array, a0: Array,
    lam: Array, h: float, alpha: float, tolerance: float, iterations: int,
) -> tuple[Array, Array, Array, Array, int]:  # fmt: skip
    delta = h * v0 + 0.5 * h * h * a0
    s = 0.25 * h * h
    for used in range(1, iterations + 1):
        v, a = 2.0 / h * delta - v0, 4.0 / h**2 * delta - 4.0 / h * v0 - a0
        x = terms(t, displace(q0, delta), v)
        W = x.M + 0.5 * h * x.C + s * x.K
        if used > 1:  # the multipliers take over what the penalty carries once a step of Newton has been made
            lam = lam + alpha * x.phi
        residual = s * (x.M @ a + x.jacobian.T @ (alpha * x.phi + lam) - x.Q)
        change = np.linalg.solve(W + s * alpha * x.jacobian.T @ x.jacobian, -residual)
        delta = delta + change
        if np.abs(change).max(initial=0.0) < tolerance * (1.0 + np.abs(delta).max(initial=0.0)):
            break
    else:
        raise SolverError(
            f"augmented Lagrangian: no convergence at t = {t:g} s in {iterations} iterations; use a larger penalty or a smaller step"
        )
    from scipy.linalg import lu_factor

    q, v, a = displace(q0, delta), 2.0 / h * delta - v0, 4.0 / h**2 * delta - 4.0 / h * v0 - a0
    x = terms(t, q, v)
    W = x.M + 0.5 * h * x.C + s * x.K
    weight = s * alpha * x.jacobian.T
    tangent = W + weight @ x.jacobian
    factors = lu_factor(tangent)
    v = _projected(factors, W, weight, x.jacobian, v, x.phi_t)
    return q, v, _projected(factors, W, weight, x.jacobian, a, terms(t, q, v).drift), lam, used


def _projected(factors: tuple[Array, Array], W: Array, weight: Array, J: Array, y: Array, rest: Array) -> Array:
    """J y + rest = 0 in the metric of W; a finite penalty leaves a part of the error, so that it is repeated until nothing is left."""
    from scipy.linalg import lu_solve

    for _ in range(30):
        y = lu_solve(factors, W @ y - weight @ rest)
        if np.abs(J @ y + rest).max(initial=0.0) < 1e-12 * (1.0 + np.abs(y).max(initial=0.0)):
            break
    return y


__all__ = ["Steps", "Terms", "integrate_augmented_lagrangian"]
