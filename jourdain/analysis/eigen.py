"""Eigenvalues of a linear system with its rigid motions taken out first.

A rigid motion is a double zero that round-off splits by its square root, which may exceed slow eigenvalues of a stiff system.
The null space of A is found by its rank instead, and the rest of the matrix acts on the quotient space.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

#: Singular values of the scaled matrix below this count as zero.
NULL = 1e-9


@dataclass(frozen=True)
class Spectrum:
    """Eigenvalues other than zero with their vectors (columns), the null space of A, and how often zero occurs."""

    values: np.ndarray
    vectors: np.ndarray
    null: np.ndarray
    zeros: int

    @property
    def all_values(self) -> np.ndarray:
        """All eigenvalues, zeros first."""
        return np.concatenate([np.zeros(self.zeros, dtype=complex), self.values])


def spectrum(A: np.ndarray) -> Spectrum:
    """Eigenvalues and vectors of A, found with positions and velocities in scales of their own, so that q̇ = v is no small row beside −M⁻¹K."""
    if not len(A):
        return Spectrum(np.zeros(0, dtype=complex), np.zeros((0, 0), dtype=complex), np.zeros((0, 0)), 0)
    from scipy.linalg import matrix_balance

    balanced, (scales, _) = matrix_balance(A, permute=False, separate=True)
    found = _spectrum(balanced)
    vectors = scales[:, None] * found.vectors
    vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=0), 1e-300)
    null = np.linalg.qr(scales[:, None] * found.null)[0] if found.null.shape[1] else found.null
    return Spectrum(found.values, vectors, null, found.zeros)


def _spectrum(A: np.ndarray) -> Spectrum:
    n = len(A)
    scale = float(np.abs(A).sum(axis=1).max())
    U = first = _null(A, scale)
    while U.shape[1] < n:
        Q = _complement(U)
        more = _null(Q.T @ A @ Q, scale)
        if not more.shape[1]:
            break
        U = np.hstack([U, Q @ more])
    Q = _complement(U)
    if not Q.shape[1]:
        return Spectrum(np.zeros(0, dtype=complex), np.zeros((n, 0), dtype=complex), first, n)
    values, w = np.linalg.eig(Q.T @ A @ Q)
    values, w = values.astype(complex), w.astype(complex)
    vectors = Q @ w
    zeros = U.shape[1]
    if zeros:
        # A (U y + Q w) = λ (U y + Q w) with A U = U N, N nilpotent
        N, coupling = U.T @ A @ U, U.T @ A @ Q @ w
        for k, value in enumerate(values):
            vectors[:, k] += U @ np.linalg.solve(value * np.eye(zeros) - N, coupling[:, k])
    return Spectrum(values, vectors, first, zeros)


def _null(A: np.ndarray, scale: float) -> np.ndarray:
    """Orthonormal basis of the null space; rows are compared with their own size, but not below a thousandth of the largest."""
    if not A.size:
        return np.zeros((len(A), 0))
    rows = np.maximum(np.linalg.norm(A, axis=1), 1e-3 * scale) if scale > 0 else np.ones(len(A))
    _, s, vt = np.linalg.svd(A / rows[:, None])
    return np.asarray(vt[s <= NULL].T)


def _complement(U: np.ndarray) -> np.ndarray:
    """Orthonormal basis of what U leaves."""
    n, k = U.shape
    if k == 0:
        return np.eye(n)
    full, _ = np.linalg.qr(U, mode="complete")
    return np.asarray(full[:, k:])


def growing(values: np.ndarray) -> np.ndarray:
    """Which eigenvalues have a positive real part beyond round-off."""
    if not len(values):
        return np.zeros(0, dtype=bool)
    size = np.abs(values)
    return np.asarray(values.real > 1e-8 * size + 1e-12 * float(size.max()))
