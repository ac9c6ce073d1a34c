"""Rows of many coupled loops: whether they are (nearly) dependent, and shortest solutions; by sparse factors of A Aᵀ where there are many."""

from __future__ import annotations

from typing import Any

import numpy as np

#: Matrices with fewer rows are taken as dense ones.
LARGE = 128
#: Rounds of the power method and of the inverse iteration.
ROUNDS = 8


def loses_rank(A: Any, tolerance: float) -> bool:
    """Whether the smallest singular value of the rows of A (an array, or a sparse matrix) is below ``tolerance`` (1e-7 or more) times the largest.

    >>> A = np.eye(150, 160)
    >>> A[3, 3] = 1e-6
    >>> loses_rank(A, 1e-5), loses_rank(A, 1e-7)
    (True, False)
    """
    if 0 in A.shape:
        return False
    if min(A.shape) < LARGE or A.shape[0] > A.shape[1]:
        sigma = np.linalg.svd(whole(A), compute_uv=False)
        return bool(sigma[-1] <= tolerance * sigma[0])
    least, most = _extreme_squares(A)
    return bool(least <= tolerance**2 * most)


def whole(A: Any) -> np.ndarray:
    """The matrix as an array."""
    return A if isinstance(A, np.ndarray) else np.asarray(A.toarray())


def _extreme_squares(A: Any) -> tuple[float, float]:
    """Squares of the smallest and of the largest singular value, by inverse and direct iteration on A Aᵀ."""
    gram = _gram(A)
    x = y = np.random.default_rng(0).normal(size=A.shape[0])
    for _ in range(ROUNDS):
        x = gram @ (x / np.linalg.norm(x))
    most = float(np.linalg.norm(x))
    factors = _factors(gram)
    if factors is None:
        return 0.0, most
    for _ in range(ROUNDS):
        y = factors.solve(y / np.linalg.norm(y))
    return 1.0 / max(float(np.linalg.norm(y)), 1e-300), most


def _gram(A: Any) -> Any:
    from scipy.sparse import csr_matrix

    rows = csr_matrix(A)
    return (rows @ rows.T).tocsc()


def _factors(gram: Any) -> Any:
    """Factors of A Aᵀ, a little shifted (zero pivots are what rounding makes of them); None where there are none."""
    from scipy.sparse import identity
    from scipy.sparse.linalg import splu

    shift = 1e-15 * float(gram.diagonal().max())
    try:
        return splu(gram + shift * identity(gram.shape[0], format="csc"), permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0,
                    options={"SymmetricMode": True})  # fmt: skip
    except RuntimeError:
        return None


def shortest_solution(A: Any, b: np.ndarray) -> np.ndarray:
    """The shortest x of those with the least |A x − b|; directions below 1e-10 of the largest are left alone.  A is an array or a sparse matrix.

    >>> shortest_solution(np.array([[1.0, 1.0]]), np.array([2.0]))
    array([1., 1.])
    """
    large = min(A.shape) >= LARGE and A.shape[0] <= A.shape[1] and abs(A).sum(axis=1).min() > 0.0
    factors = _factors(_gram(A)) if large else None
    if factors is not None:
        x, rest, size = np.zeros(A.shape[1]), b, float(abs(A).max())
        for _ in range(3):
            x = x + A.T @ factors.solve(rest)
            rest = b - A @ x
        if np.abs(rest).max() <= 1e-12 * (np.abs(b).max() + size * np.abs(x).max()):
            return x
    return np.asarray(np.linalg.lstsq(whole(A), b, rcond=1e-10)[0])


__all__ = ["LARGE", "loses_rank", "shortest_solution", "whole"]
