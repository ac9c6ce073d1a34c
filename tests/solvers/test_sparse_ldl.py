"""Sparse LDLᵀ against dense linear algebra: definite and quasi-definite matrices, orderings, lost pivots."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jourdain.errors import InputError, SolverError
from jourdain.solvers.sparse_ldl import SparseLDL

matrices = st.tuples(st.integers(0, 10_000), st.integers(1, 25), st.floats(0.02, 0.5))


def lower(A: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Entries of a symmetric matrix in any order, some in the upper triangle, one of the diagonal in two parts."""
    i, j = np.nonzero(np.tril(A))
    order = rng.permutation(len(i))
    i, j = i[order], j[order]
    swap = rng.random(len(i)) < 0.5
    i, j = np.where(swap, j, i), np.where(swap, i, j)
    values = A[i, j]
    k = int(np.flatnonzero(i == j)[0])
    i, j, values = np.append(i, i[k]), np.append(j, j[k]), np.append(values, 0.25 * values[k])
    values[k] *= 0.75
    return i, j, values


@given(matrices)
@settings(max_examples=60, deadline=None)
def test_definite_matrices(given_matrix):
    seed, n, density = given_matrix
    rng = np.random.default_rng(seed)
    B = np.where(rng.random((n, n)) < density, rng.normal(size=(n, n)), 0.0)
    A = B @ B.T + 0.1 * np.eye(n)
    i, j, values = lower(A, rng)
    f, b = SparseLDL(n, i, j), rng.normal(size=n)
    assert f.factor(values) == 0
    np.testing.assert_allclose(A @ f.solve(b), b, rtol=1e-10, atol=1e-11)
    assert (f.factors[:n] > 0).all()


@given(matrices, st.sampled_from([0.0, 1e-10, 1.0]))
@settings(max_examples=60, deadline=None)
def test_equations_with_multipliers(given_matrix, softness):
    """[M Jᵀ; J −ε]: pivots have known signs; with ε = 0 lost ones are replaced and refinement repairs the solution."""
    seed, n, density = given_matrix
    rng = np.random.default_rng(seed)
    m = n // 3
    J = np.where(rng.random((m, n)) < density, rng.normal(size=(m, n)), 0.0)
    J[np.arange(m), np.arange(m)] = 3.0  # full rank
    A = np.block([[np.diag(rng.uniform(1, 5, n)), J.T], [J, -softness * np.eye(m)]])
    full = A.copy()
    full[np.arange(n, n + m), np.arange(n, n + m)] = -1.0  # the diagonal belongs to the pattern
    i, j = np.nonzero(np.tril(full))
    f = SparseLDL(n + m, i, j, signs=[1] * n + [-1] * m)
    f.factor(A[i, j])
    b = rng.normal(size=n + m)
    np.testing.assert_allclose(A @ f.solve(b), b, rtol=1e-8, atol=1e-8)


def test_a_chain_gives_no_fill_and_an_arrow_is_turned_round():
    n = 50
    chain = SparseLDL(n, [*range(n), *range(1, n)], [*range(n), *range(n - 1)])
    assert chain.fill == n - 1
    arrow = SparseLDL(n, [*range(n), *range(1, n)], [*range(n), *[0] * (n - 1)])
    assert arrow.fill == n - 1
    assert SparseLDL(n, [*range(n), *range(1, n)], [*range(n), *[0] * (n - 1)], order=range(n)).fill == n * (n - 1) // 2


def test_minimum_degree_on_a_grid_beats_the_natural_order():
    k = 12
    node = lambda r, c: k * r + c
    edges = [(node(r, c), node(r, c + 1)) for r in range(k) for c in range(k - 1)] + [
        (node(r, c), node(r + 1, c)) for r in range(k - 1) for c in range(k)
    ]
    rows, columns = [*range(k * k), *(b for _, b in edges)], [*range(k * k), *(a for a, _ in edges)]
    assert SparseLDL(k * k, rows, columns).fill < 0.6 * SparseLDL(k * k, rows, columns, order=range(k * k)).fill


def test_a_singular_matrix_names_the_unknown():
    f = SparseLDL(2, [0, 1, 1], [0, 0, 1], order=[0, 1])
    with pytest.raises(SolverError, match="unknown 1"):
        f.factor([1.0, 1.0, 1.0])


def test_bad_patterns_are_refused():
    with pytest.raises(InputError, match="from 0 to 1"):
        SparseLDL(2, [0, 2], [0, 0])
    with pytest.raises(InputError, match="once"):
        SparseLDL(2, [0, 1], [0, 1], order=[0, 0])
