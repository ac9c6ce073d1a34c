"""What a run looks at where it starts, and accelerations of many states: native code against dense linear algebra."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from jourdain.solvers.constraints.balance import balance, memory_size
from jourdain.solvers.constraints.start import SINGULAR, independent, room
from jourdain.systems.outputs.reactions import _least_norm
from jourdain.systems.tree.branches import loses_rank


def certain(J: np.ndarray) -> bool:
    m, n = J.shape
    return independent(J.ravel().copy(), m, n, *room(m, n))


@given(st.integers(0, 10**6), st.integers(1, 9), st.integers(0, 6), st.floats(-9.0, 0.0))
def test_rows_are_independent_for_certain_or_it_is_left_open(seed, m, more, smallest):
    """σ from 1 down to 10^smallest: never certain where singular values say otherwise, always where they are far from it."""
    rng = np.random.default_rng(seed)
    n = m + more
    u, v = (np.linalg.qr(rng.normal(size=(k, k)))[0] for k in (m, n))
    sigma = np.sort(10.0 ** (smallest * rng.uniform(size=m)))[::-1]
    sigma[0], sigma[-1] = 1.0, 10.0**smallest if m > 1 else 1.0
    J = rng.lognormal() * (u * sigma) @ v[:m]
    if certain(J):
        assert not loses_rank(J, SINGULAR)
    elif n >= m:
        assert sigma[-1] <= 1.01 * m * SINGULAR * sigma[0]


@given(st.integers(0, 10**6), st.integers(1, 12), st.integers(0, 6), st.floats(0.1, 0.6))
def test_sparse_rows_are_judged_as_full_ones(seed, m, more, filled):
    rng = np.random.default_rng(seed)
    J = rng.normal(size=(m, m + more)) * (rng.uniform(size=(m, m + more)) < filled)
    sigma = np.linalg.svd(J, compute_uv=False)
    if certain(J):
        assert not loses_rank(J, SINGULAR)
    else:
        assert sigma[-1] <= 1.01 * m * SINGULAR * sigma[0]


def test_more_rows_than_columns_zero_rows_and_no_numbers_are_left_open():
    assert not certain(np.random.default_rng(0).normal(size=(4, 3)))
    assert not certain(np.array([[1.0, 0.0], [0.0, 0.0]]))
    assert not certain(np.array([[1.0, np.nan]]))
    assert not certain(np.zeros((1, 2)))


@given(st.integers(0, 10**6), st.integers(1, 8), st.integers(0, 5), st.booleans())
def test_accelerations_in_rows(seed, n, m, repeated):
    m = min(m, n)
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(5, n, n))
    M, f, J, g = A @ np.swapaxes(A, 1, 2) + 0.1 * np.eye(n), rng.normal(size=(5, n)), rng.normal(size=(5, m, n)), rng.normal(size=(5, m))
    if repeated and m > 1:
        J[3, -1], g[3, -1] = -2.0 * J[3, 0], -2.0 * g[3, 0]
    a, lam, left = np.zeros((5, n)), np.zeros((5, m)), np.zeros(5, dtype=np.int64)
    count = balance(M.reshape(5, -1), f, J.reshape(5, -1), g, a, lam, np.empty(memory_size(n, m)), left)
    assert (3 in left[:count]) >= (repeated and m > 1)
    expected = _least_norm(M, f, J, g, np.ones(m))
    for k in set(range(5)) - set(left[:count].tolist()):
        scale = np.linalg.cond(M[k]) * (np.linalg.cond(J[k] @ np.linalg.solve(M[k], J[k].T)) if m else 1.0)
        size = max(np.abs(np.linalg.solve(M[k], x)).max(initial=0.0) for x in (f[k], J[k].T @ expected[1][k]))  # a is their difference
        np.testing.assert_allclose(a[k], expected[0][k], rtol=1e-14 * scale, atol=1e-14 * scale * size)
        np.testing.assert_allclose(lam[k], expected[1][k], rtol=1e-14 * scale, atol=1e-14 * scale * np.abs(expected[1][k]).max(initial=0.0))
