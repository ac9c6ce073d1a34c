"""Sparse LU with a fixed pattern against SciPy and dense algebra, saddle points included."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.linalg import spsolve

from jourdain.errors import InputError
from jourdain.solvers.linear.sparse_lu import DEGRADED, OK, SINGULAR, SingularMatrix, SparseLU, order


def random_matrix(rng, n, density=0.15):
    A = sp.random(n, n, density, random_state=rng, format="lil")
    A[np.arange(n), rng.permutation(n)] = rng.uniform(1.0, 2.0, n)
    return canonical(A)


def saddle(rng, n, m, massless=0):
    """[M Gᵀ; G 0] with some massless coordinates that constraints determine."""
    mass = rng.uniform(0.5, 2.0, n)
    mass[:massless] = 0.0
    G = sp.random(m, n, 0.2, random_state=rng, format="lil")
    G[np.arange(m), np.arange(m)] = rng.uniform(1.0, 2.0, m)
    return canonical(sp.bmat([[sp.diags(mass), G.T], [G, None]]))


def canonical(A):
    A = sp.csc_matrix(A)
    A.sum_duplicates()
    A.sort_indices()
    return A


def factors(A, **options):
    return SparseLU(A.indptr, A.indices, A.data, **options)


def changed(A, rng, amount):
    B = A.copy()
    B.data = A.data * rng.uniform(1.0 - amount, 1.0 + amount, A.data.size)
    return B


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 40))
def test_random_patterns(seed, n):
    rng = np.random.default_rng(seed)
    A = random_matrix(rng, n)
    try:
        lu = factors(A)
    except SingularMatrix:
        assert np.linalg.cond(A.toarray()) > 1e10
        return
    assert lu.factorise(A.data) in (OK, DEGRADED)
    b = rng.normal(size=n)
    size = np.linalg.cond(A.toarray())
    assert np.abs(A @ lu.solve(b) - b).max() < 1e-13 * max(10.0, size)
    assert np.abs(A @ lu.refined(A.data, b) - b).max() < 1e-13 * max(10.0, size)


@pytest.mark.parametrize("massless", [0, 6])
def test_saddle_points_and_new_values_on_the_same_pattern(massless):
    rng = np.random.default_rng(4)
    for n, m in ((8, 7), (40, 25), (150, 60)):
        A = saddle(rng, n, m, massless)
        lu = factors(A)
        b = rng.normal(size=n + m)
        for _ in range(5):
            B = changed(A, rng, 0.2)
            assert lu.factorise(B.data) == OK
            expected = spsolve(B, b)
            assert np.allclose(lu.refined(B.data, b), expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


def test_factors_equal_the_permuted_matrix():
    rng = np.random.default_rng(5)
    A = saddle(rng, 20, 12)
    lu = factors(A)
    lu.factorise(A.data)
    n = lu.size
    L = sp.csc_matrix((lu.lx, lu.li, lu.lp), shape=(n, n)) + sp.eye(n)
    U = sp.csc_matrix((lu.ux, lu.ui, lu.up), shape=(n, n)) + sp.diags(lu.pivots)
    scaled = sp.diags(lu.row_scale) @ A @ sp.diags(lu.column_scale)
    assert np.allclose((L @ U).toarray(), scaled.toarray()[np.ix_(lu.rows, lu.columns)], atol=1e-12)


def test_badly_scaled_matrix():
    rng = np.random.default_rng(6)
    A = saddle(rng, 30, 15)
    scales = 10.0 ** rng.uniform(-6, 6, A.shape[0])
    B = canonical(sp.diags(scales) @ A @ sp.diags(scales))
    lu = factors(B)
    lu.factorise(B.data)
    exact = rng.normal(size=A.shape[0]) / scales
    assert np.allclose(lu.refined(B.data, B @ exact) * scales, exact * scales, rtol=1e-8)


def test_growth_and_zero_pivots_are_reported():
    A = canonical(np.array([[2.0, 1.0], [1.0, 3.0]]))
    lu = factors(A, columns=np.array([0, 1]))
    assert lu.factorise(np.array([1e-12, 1.0, 1.0, 3.0])) == DEGRADED
    assert lu.factorise(np.array([0.0, 1.0, 1.0, 3.0])) == SINGULAR
    assert lu.factorise(A.data) == OK
    assert np.allclose(A @ lu.solve(np.array([1.0, 2.0])), [1.0, 2.0])


def test_factors_that_are_worth_nothing_have_a_large_defect():
    """Two pivots, each just large enough to pass, spoil each other; with pivots of its own the same matrix is solved to rounding."""
    pattern = canonical(np.array([[9.0, 0, 1], [1, 9, 0], [1, 1, 9]]))
    e = 1.1e-8
    A = np.array([[e, 0, 1], [1, e, 0], [1, 0.9, 0.3]])
    values, b = A.T[A.T != 0.0], np.array([1.0, 2.0, 3.0])
    assert np.linalg.cond(A) < 100.0
    lu = factors(pattern, columns=np.arange(3))
    assert lu.factorise(values) == OK
    assert lu.defect(values, b) > 1e-3
    anew = SparseLU(pattern.indptr, pattern.indices, values, np.arange(3))
    assert anew.factorise(values) == OK
    assert anew.defect(values, b) < 1e-14


def test_singular_and_not_finite_matrices_are_refused():
    with pytest.raises(SingularMatrix):
        factors(canonical(np.array([[1.0, 2.0], [2.0, 4.0]])))
    with pytest.raises(InputError, match="not finite"):
        SparseLU(np.array([0, 1]), np.array([0]), np.array([np.nan]))


def test_fill_of_a_chain_is_linear():
    """The order keeps groups together and eliminates a chain from its ends."""
    fills = []
    for n in (20, 40):
        blocks = [[None] * n for _ in range(n)]
        for i in range(n):
            blocks[i][i] = 4.0 * np.eye(3)
            if i:
                blocks[i][i - 1] = blocks[i - 1][i] = np.ones((3, 3))
        A = canonical(sp.bmat(blocks))
        columns = order(A.indptr, A.indices, np.repeat(np.arange(n), 3))
        assert sorted(columns) == list(range(3 * n))
        fills.append(SparseLU(A.indptr, A.indices, A.data, columns).fill)
    assert fills[1] < 2.1 * fills[0]
    assert fills[0] < 20 * 30


def test_fill_beyond_the_first_guess_of_room():
    """An arrow eliminated from its point fills the whole matrix."""
    n = 60
    A = sp.lil_matrix(sp.identity(n) * 100.0)
    A[0, :], A[:, 0] = 1.0, 1.0
    A = canonical(A)
    lu = factors(A, columns=np.arange(n))
    assert lu.fill > 4 * A.nnz + n
    assert lu.factorise(A.data) == OK
    b = np.arange(n, dtype=float)
    assert lu.solve(b) == pytest.approx(spsolve(A, b), rel=1e-12)
