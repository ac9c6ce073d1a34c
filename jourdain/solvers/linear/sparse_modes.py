"""Modes of linear systems with constraints, M ẍ + C ẋ + K x + Gᵀλ = 0, G x = 0: all of small ones, the slowest of large ones.

Small systems are projected on the null space of G.  Of large ones the sparse saddle-point matrix is factorised at a shift, and Lanczos or
Arnoldi iterations with its inverse find the eigenvalues next to it (Lehoucq, Sorensen & Yang 1998).  Such iterations may miss copies of
multiple eigenvalues; what was found is therefore deflated and the search repeated until nothing slower turns up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eig, eigh, null_space, qr
from scipy.sparse import bmat, csc_matrix, csr_matrix, identity

from ...errors import SolverError

#: Eigenvalues of the inverse below this part of the largest one belong to constraints.
NEGLIGIBLE = 1e-12


@dataclass(frozen=True)
class ConstrainedVibration:
    """M ẍ + C ẋ + K x + Gᵀλ = 0, G x = 0; first-order coordinates have their rates in C and no mass."""

    mass: csr_matrix
    damp: csr_matrix
    stiff: csr_matrix
    rows: csr_matrix

    @property
    def conservative(self) -> bool:
        """Whether there is no damping and stiffness is symmetric."""
        small = 1e-14 * max(1e-300, _largest(self.mass))
        return _largest(self.damp) <= small and _largest(self.stiff - self.stiff.T) <= 1e-9 * max(1e-300, _largest(self.stiff))

    def all_modes(self) -> tuple[np.ndarray, np.ndarray]:
        """All eigenvalues with Im ≥ 0 (1/s), and shapes, by dense matrices in the null space of the rows."""
        rows = self.rows.toarray()
        Z = null_space(rows, rcond=1e-10) if rows.size else np.eye(rows.shape[1])
        mass, damp, stiff = (Z.T @ A.toarray() @ Z for A in (self.mass, self.damp, self.stiff))
        if self.conservative:
            squares, vectors = eigh(0.5 * (stiff + stiff.T), mass)
            values = np.sqrt(0j - squares)
        else:
            values, vectors = _damped(mass, damp, stiff)
        return values, Z @ vectors

    def slowest(self, count: int, name: str) -> tuple[np.ndarray, np.ndarray]:
        """The ``count`` eigenvalues nearest zero with Im ≥ 0 (1/s), and shapes; fewer when there are not so many."""
        from scipy.sparse.linalg import ArpackError

        try:
            return self._slowest_conservative(count) if self.conservative else self._slowest_damped(count)
        except ArpackError as error:
            raise SolverError(f"modes of '{name}': the iteration for {count} modes does not converge ({error}); ask for fewer") from None

    def _inverse(self, shift: float) -> Callable[[np.ndarray], np.ndarray]:
        """x of (K + σ C + σ² M) x + Gᵀμ = f, G x = 0, as a function of f.

        Rows that depend on others are allowed: the zero block is replaced by one so small that constraints are 1e13 times as stiff as springs.
        """
        from scipy.sparse.linalg import splu

        A = self.stiff + shift * self.damp + shift * shift * self.mass
        n, m = A.shape[0], self.rows.shape[0]
        size = max(_largest(A), 1e-300)
        G = self.rows * size
        factors = splu(csc_matrix(bmat([[A, G.T], [G, -1e-13 * size * identity(m)]]) if m else A))
        nothing = np.zeros(m)
        return lambda f: factors.solve(np.concatenate([f, nothing]))[:n]

    def _shift(self) -> float:
        """A rate below those of the modes wanted (1/s), from a few inverse iterations towards the slowest one."""
        largest = max(_largest(self.stiff), 1e-12 * _largest(self.mass))
        start = 1e-2 * np.sqrt(largest / _largest(self.mass)) if self.mass.nnz else 1e-2
        solve, x = self._inverse(start), _random(self.mass.shape[0])
        for _ in range(4):
            x = solve(self.mass @ x + self.damp @ x)
            x /= np.linalg.norm(x)
        inertia = abs(x @ (self.mass @ x))
        slowest = np.sqrt(abs(x @ (self.stiff @ x)) / inertia) if inertia > 0.0 else start
        return float(0.3 * slowest if 1e-2 * start < slowest < start else 0.1 * start)

    def _slowest_conservative(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        from scipy.sparse.linalg import LinearOperator, eigsh

        shift, n = self._shift(), self.mass.shape[0]
        solve = self._inverse(shift)
        squares, shapes = np.zeros(0), np.zeros((n, 0))

        def deflated(f: np.ndarray) -> np.ndarray:
            x = solve(f)
            return x - shapes @ (shapes.T @ (self.mass @ x))

        wanted = count
        while True:
            inverse = LinearOperator((n, n), deflated, dtype=float)
            found, vectors = eigsh(self.stiff, min(wanted, n - 2), self.mass, -shift * shift, v0=deflated(_random(n)), OPinv=inverse)
            vectors = np.column_stack([deflated(self.mass @ x) for x in vectors.T])  # onto the constraints, massless coordinates too
            size = np.sqrt(np.abs(np.einsum("ij,ij->j", vectors, self.mass @ vectors)))
            distance, limit = np.abs(found + shift * shift), np.inf if squares.size < count else np.abs(squares + shift * shift).max()
            new = distance < min((1.0 - 1e-9) * limit, shift * shift / NEGLIGIBLE)
            squares, shapes = np.append(squares, found[new]), np.hstack([shapes, vectors[:, new] / size[new]])
            order = np.argsort(np.abs(squares + shift * shift))[:count]
            squares, shapes = squares[order], shapes[:, order]
            if not new.any() or (wanted < count and not new.all()) or 4 * squares.size > n:
                return np.sqrt(0j - squares), shapes
            wanted = 2 if wanted == count else 2 * wanted

    def _slowest_damped(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """By the inverse of the first-order form: from (x, v) to (x', x + σ x') with Q(σ) x' + Gᵀμ = −(C + σ M) x − M v."""
        from scipy.sparse.linalg import LinearOperator, eigs

        shift, n = self._shift(), self.mass.shape[0]
        solve, by_x = self._inverse(shift), self.damp + shift * self.mass
        basis = np.zeros((2 * n, 0))

        def apply(y: np.ndarray) -> np.ndarray:
            x = -solve(by_x @ y[:n] + self.mass @ y[n:])
            return np.concatenate([x, y[:n] + shift * x])

        def deflated(y: np.ndarray) -> np.ndarray:
            y = apply(y)
            return y - basis @ (basis.T @ y)

        wanted, limit = 2 * count + 2, 0.0
        while True:
            operator = LinearOperator((2 * n, 2 * n), deflated, dtype=float)
            nearest, vectors = eigs(operator, min(wanted, 2 * n - 2), v0=deflated(deflated(_random(2 * n))))
            if np.abs(nearest).max() <= (1.0 + 1e-9) * limit:
                break
            basis = qr(np.hstack([basis, vectors.real, vectors.imag]), mode="economic", pivoting=True)
            basis = basis[0][:, np.abs(np.diag(basis[1])) > 1e-8 * np.abs(basis[1][0, 0])]
            nu, inside = eig(basis.T @ np.column_stack([apply(y) for y in basis.T]))
            kept = np.abs(nu) > NEGLIGIBLE**0.5 * np.abs(nu).max()
            nu, inside = nu[kept], inside[:, kept]
            limit = float(np.sort(np.abs(nu))[::-1][: 2 * count][-1]) if nu.size >= 2 * count else 0.0
            wanted = 4
            if nu.size < 2 * count:
                break
        values = shift + 1.0 / nu
        kept = values.imag >= 0.0
        return values[kept], (basis @ inside)[:n, kept]


def _random(n: int) -> np.ndarray:
    return np.random.default_rng(1).normal(size=n)


def _largest(A: csr_matrix) -> float:
    return float(abs(A).max()) if A.nnz else 0.0


def _damped(mass: np.ndarray, damp: np.ndarray, stiff: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Finite eigenvalues with Im ≥ 0 and shapes of M λ² + C λ + K."""
    n = len(mass)
    A = np.block([[np.zeros((n, n)), np.eye(n)], [-stiff, -damp]])
    B = np.block([[np.eye(n), np.zeros((n, n))], [np.zeros((n, n)), mass]])
    with np.errstate(divide="ignore", invalid="ignore"):
        values, vectors = eig(A, B)
    kept = np.isfinite(values) & (values.imag >= 0.0) & (np.abs(values) < 1e13)
    return values[kept], vectors[:n, kept]
