"""Eigenvalues of a linear system with its rigid motions taken out first.

A rigid motion is a double zero that round-off splits by its square root, which may exceed slow eigenvalues of a stiff system.
The null space of A is found by its rank instead, and the rest of the matrix acts on the quotient space.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

#: Singular values of the scaled matrix below this count as zero.
NULL = 1e-11


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


def spectrum(A: np.ndarray, positions: int = 0, velocities: int = 0) -> Spectrum:
    """Eigenvalues and vectors of A, whose states are so many positions, velocities and others.

    Parts without influence on each other are looked at by themselves: what is slow in one is not compared with what is fast in another.
    """
    n = len(A)
    if not n:
        return Spectrum(np.zeros(0, dtype=complex), np.zeros((0, 0), dtype=complex), np.zeros((0, 0)), 0)
    from scipy.sparse.csgraph import connected_components

    count, part = connected_components(A != 0.0, directed=False)
    found = []
    for k in range(count):
        some = np.flatnonzero(part == k)
        q, v = int((some < positions).sum()), int((some < positions + velocities).sum())
        found.append((some, _scaled(A[np.ix_(some, some)], q, v - q)))
    values = np.concatenate([f.values for _, f in found])
    vectors, null = (np.hstack([_placed(n, some, getattr(f, x)) for some, f in found]) for x in ("vectors", "null"))
    return Spectrum(values, vectors, null, sum(f.zeros for _, f in found))


def _placed(n: int, some: np.ndarray, columns: np.ndarray) -> np.ndarray:
    found = np.zeros((n, columns.shape[1]), dtype=columns.dtype)
    found[some] = columns
    return found


def _scaled(A: np.ndarray, positions: int, velocities: int) -> Spectrum:
    """Velocities in a unit of their own, so that q̇ = v is no small row beside −M⁻¹K; one for all of them, for units of each would raise what rounding leaves
    in the rows of rigid motions."""
    v = slice(positions, positions + velocities)
    rates, forces = (float(np.abs(block).max(initial=0.0)) for block in (A[:positions, v], A[v, :positions]))
    scales = np.ones(len(A))
    scales[v] = np.sqrt(forces / rates) if forces > 0.0 and rates > 0.0 else 1.0
    found = _spectrum(A / scales[:, None] * scales)
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
    """Orthonormal basis of the null space; rows are compared with their own size, but not below a hundredth of the largest."""
    if not A.size:
        return np.zeros((len(A), 0))
    rows = np.maximum(np.linalg.norm(A, axis=1), 1e-2 * scale) if scale > 0 else np.ones(len(A))
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
