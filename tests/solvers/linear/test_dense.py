"""Small dense factorisations against numpy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jourdain.solvers.linear import dense

SIZES = st.integers(1, 9)
SEEDS = st.integers(0, 2**32 - 1)
few = settings(max_examples=40, deadline=None)


@few
@given(SIZES, SEEDS, st.booleans())
def test_lu_solves(n, seed, is_complex):
    random = np.random.default_rng(seed)
    a, b = random.normal(size=(n, n)), random.normal(size=n)
    if is_complex:
        a, b = a + 1j * random.normal(size=(n, n)), b + 1j * random.normal(size=n)
    lu, x, pivots = a.ravel().copy(), b.copy(), np.zeros(n, dtype=np.int64)
    assert dense.lu_factor(lu, n, pivots) == 0
    dense.lu_solve(lu, n, pivots, x)
    assert a @ x == pytest.approx(b, abs=1e-12 * np.linalg.cond(a) + 1e-12)
    x[:] = b
    dense.lu_solve_transposed(lu, n, pivots, x)
    assert a.T @ x == pytest.approx(b, abs=1e-12 * np.linalg.cond(a) + 1e-12)


def test_lu_names_the_singular_pivot():
    a = np.array([1.0, 2, 3, 2, 4, 6, 1, 0, 1])
    assert dense.lu_factor(a, 3, np.zeros(3, dtype=np.int64)) == 3
    assert dense.lu_factor(np.array([np.nan]), 1, np.zeros(1, dtype=np.int64)) == 1


@few
@given(SIZES, SIZES, st.integers(0, 9), SEEDS)
def test_full_pivoting_finds_the_rank(m, n, rank, seed):
    random = np.random.default_rng(seed)
    rank = min(m, n, rank)
    a = random.normal(size=(m, rank)) @ random.normal(size=(rank, n))
    lu, rows, columns = a.ravel().copy(), np.zeros(m, dtype=np.int64), np.zeros(n, dtype=np.int64)
    assert dense.lu_full(lu, m, n, rows, columns, 1e-9) == np.linalg.matrix_rank(a, tol=1e-9) == rank
    factors = lu.reshape(m, n)
    lower = np.tril(factors[:, :rank], -1) + np.eye(m, rank)
    upper = np.triu(factors[:rank])
    assert lower @ upper == pytest.approx(a[np.ix_(rows, columns)], abs=1e-9)
    assert sorted(rows) == list(range(m)) and sorted(columns) == list(range(n))


@few
@given(SIZES, SEEDS)
def test_cholesky(n, seed):
    random = np.random.default_rng(seed)
    root = random.normal(size=(n, n))
    a, b = root @ root.T + 0.1 * np.eye(n), random.normal(size=n)
    factor, x = a.ravel().copy(), b.copy()
    assert dense.cholesky(factor, n) == 0
    assert np.tril(factor.reshape(n, n)) == pytest.approx(np.linalg.cholesky(a), abs=1e-10)
    dense.cholesky_solve(factor, n, x)
    assert a @ x == pytest.approx(b, abs=1e-9)
    a[-1, -1] = -1.0
    assert dense.cholesky(a.ravel().copy(), n) == n


@few
@given(SIZES, SEEDS)
def test_symmetric_factors_and_their_least_pivot(n, seed):
    random = np.random.default_rng(seed)
    root = random.normal(size=(n, n)) * (random.random((n, n)) < 0.6)
    a, b = root @ root.T + 0.1 * np.eye(n), random.normal(size=n)
    factor, x = a.ravel().copy(), b.copy()
    assert dense.symmetric_factor(factor, n, 0.0)
    upper = np.triu(factor.reshape(n, n))
    assert upper.T @ (upper / np.diag(upper)[:, None]) == pytest.approx(a, abs=1e-10)
    dense.symmetric_solve(factor, n, x)
    assert a @ x == pytest.approx(b, abs=1e-9)
    least = np.diag(upper).min()
    assert dense.symmetric_factor(a.ravel().copy(), n, 0.999 * least)
    assert not dense.symmetric_factor(a.ravel().copy(), n, 1.001 * least)
