"""Factors in dense blocks against SciPy: meshes, patterns without symmetry, saddle points, matrices that no diagonal serves."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import splu, spsolve

from jourdain.solvers.linear.block_lu import BlockLU, factors_of
from jourdain.solvers.linear.multifrontal import eliminate_front, shape_of
from jourdain.solvers.linear.sparse_lu import OK, SINGULAR, SingularMatrix, SparseLU

from .test_sparse_lu import canonical, changed, saddle


def mesh(rng, *cells, freedoms=3, symmetric=False):
    """A matrix on a grid of nodes, each coupled to its neighbours by full blocks."""
    lines = [sp.diags([1.0, 1.0, 1.0], [-1, 0, 1], shape=(n, n)) for n in cells]
    graph = lines[0]
    for line in lines[1:]:
        graph = sp.kron(graph, line)
    A = canonical(sp.kron(graph, np.ones((freedoms, freedoms))))
    A.data = rng.uniform(-1.0, 1.0, A.data.size)
    A = A + A.T if symmetric else A
    return canonical(A + sp.diags(np.asarray(np.abs(A).sum(axis=0)).ravel()))


def blocks(A, columns=None):
    lu = factors_of(A.indptr.astype(np.int64), A.indices.astype(np.int64), A.data, columns)
    assert isinstance(lu, BlockLU)
    return lu


@pytest.mark.parametrize("cells", [(6, 6, 6), (40, 3, 3), (30, 30), (9, 5, 4)])
def test_meshes_and_new_values_on_the_same_pattern(cells):
    rng = np.random.default_rng(1)
    A = mesh(rng, *cells)
    lu = blocks(A)
    assert np.array_equal(np.sort(lu.columns), np.arange(lu.size)) and np.array_equal(lu.rows, lu.columns)  # no search was needed
    b = rng.normal(size=lu.size)
    for _ in range(3):
        B = changed(A, rng, 0.05)
        assert lu.factorise(B.data) == OK
        assert np.abs(lu.solve(b) - spsolve(B, b)).max() < 1e-14 * np.abs(b).max()
        assert lu.defect(B.data, b) < 1e-14


def test_entries_of_the_factors_are_those_of_the_elimination_tree():
    """Without joining, fill is that of SciPy's SuperLU in the same order."""
    rng = np.random.default_rng(2)
    A = mesh(rng, 12, 12, 3, symmetric=True)
    i, j = A.nonzero()
    shape = shape_of(i.astype(np.int64), j.astype(np.int64), A.shape[0])
    lu = splu(A, permc_spec="NATURAL", diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    exact = lu.L.nnz + lu.U.nnz - A.shape[0]
    assert exact <= shape.fill < 1.3 * exact
    assert np.array_equal(shape.first[[0, -1]], [0, A.shape[0]]) and np.all(shape.widths > 0)


def test_saddle_points_take_pivots_from_a_search():
    rng = np.random.default_rng(3)
    K = mesh(rng, 7, 7, 4)
    n, m = K.shape[0], 40
    G = sp.random(m, n, 0.01, random_state=rng, format="lil")
    G[np.arange(m), rng.choice(n, m, replace=False)] = rng.uniform(1.0, 2.0, m)
    A = canonical(sp.bmat([[None, G], [G.T, K]]))
    columns = np.arange(n + m)  # multipliers first: their diagonal is zero
    lu = factors_of(A.indptr.astype(np.int64), A.indices.astype(np.int64), A.data, columns)
    b = rng.normal(size=n + m)
    assert lu.factorise(A.data) == OK
    expected = spsolve(A, b)
    assert np.abs(lu.refined(A.data, b) - expected).max() < 1e-11 * np.abs(expected).max()


def test_patterns_without_symmetry():
    rng = np.random.default_rng(4)
    n = 400
    A = sp.random(n, n, 0.01, random_state=rng, format="lil")
    A[np.arange(n), rng.permutation(n)] = rng.uniform(3.0, 4.0, n)
    A = canonical(A)
    lu = factors_of(A.indptr.astype(np.int64), A.indices.astype(np.int64), A.data)
    b = rng.normal(size=n)
    assert lu.factorise(A.data) == OK
    assert lu.defect(A.data, b) < 1e-10


def test_what_is_singular_is_told():
    rng = np.random.default_rng(5)
    A = mesh(rng, 6, 6, 6)
    lu = blocks(A)
    assert lu.factorise(np.zeros(A.data.size)) == SINGULAR
    assert lu.factorise(np.where(np.arange(A.data.size) == 7, np.nan, A.data)) == SINGULAR
    assert lu.factorise(A.data) == OK
    with pytest.raises(SingularMatrix):
        factors_of(A.indptr.astype(np.int64), A.indices.astype(np.int64), np.where(A.indices == 5, 0.0, A.data))


def test_small_matrices_stay_with_entries():
    A = saddle(np.random.default_rng(6), 20, 12)
    assert type(factors_of(A.indptr.astype(np.int64), A.indices.astype(np.int64), A.data)) is SparseLU


@pytest.mark.parametrize(("size", "width"), [(1, 1), (5, 3), (17, 16), (40, 33), (71, 71), (50, 1)])
def test_fronts_are_eliminated_as_by_rows(size, width):
    """[A B; C D] → L, U of A, and D − C A⁻¹ B."""
    rng = np.random.default_rng(size)
    F = rng.normal(size=(size, size)) + size * np.eye(size)
    f = F.copy().ravel()
    largest = eliminate_front(f, size, width)
    found = f.reshape(size, size)
    L, U = np.tril(found[:width, :width], -1) + np.eye(width), np.triu(found[:width, :width])
    assert np.allclose(L @ U, F[:width, :width], atol=1e-13 * size)
    assert np.allclose(L @ found[:width, width:], F[:width, width:], atol=1e-13 * size)
    assert np.allclose(found[width:, :width] @ U, F[width:, :width], atol=1e-13 * size)
    rest = F[width:, width:] - F[width:, :width] @ np.linalg.solve(F[:width, :width], F[:width, width:])
    assert np.allclose(found[width:, width:], rest, atol=1e-12 * size)
    assert largest == pytest.approx(np.abs(np.concatenate([np.tril(found[:, :width], -1)])).max(initial=0.0))
