"""Band factors against dense algebra."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from jourdain.solvers.linear.band import band_factor, band_solve


def banded(A: np.ndarray, b: int) -> np.ndarray:
    n = len(A)
    a = np.zeros(n * (3 * b + 1))
    for i in range(n):
        for j in range(max(0, i - b), min(n, i + b + 1)):
            a[3 * b * i + j + b] = A[i, j]
    return a


@given(st.integers(0, 10**6), st.integers(1, 30), st.integers(0, 8))
def test_random_bands(seed: int, n: int, b: int) -> None:
    """Diagonals without dominance, some of them zero, so that rows must be exchanged."""
    rng = np.random.default_rng(seed)
    A = np.where(np.abs(np.subtract.outer(np.arange(n), np.arange(n))) <= b, rng.normal(size=(n, n)), 0.0)
    if b:
        A[np.arange(0, n, 2), np.arange(0, n, 2)] = 0.0
    a, pivots = banded(A, b), np.zeros(n, np.int64)
    right = rng.normal(size=n)
    told = band_factor(a, n, b, pivots)
    condition = np.linalg.cond(A)
    if told != 0:
        assert condition > 1e12
        return
    x = right.copy()
    band_solve(a, n, b, pivots, x)
    if condition < 1e10:
        np.testing.assert_allclose(
            x, np.linalg.solve(A, right), rtol=1e-14 * max(10.0, condition), atol=1e-14 * condition * np.abs(x).max()
        )


def test_singular_matrices_name_the_pivot() -> None:
    A = np.diag([1.0, 2.0, 0.0, 1.0])
    assert band_factor(banded(A, 1), 4, 1, np.zeros(4, np.int64)) == 3
