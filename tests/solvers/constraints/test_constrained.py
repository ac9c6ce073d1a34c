"""Block elimination, reduced accelerations and projections against dense linear algebra on random systems."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jourdain.solvers.constraints.accelerations import listed_accelerations, reduced_accelerations
from jourdain.solvers.constraints.elimination import Elimination, eliminate, elimination, particular
from jourdain.solvers.constraints.plan import blocks, make_plan
from jourdain.solvers.constraints.projection import least_norm_by_blocks


def random_system(
    seed: int, sizes: list[tuple[int, int]], alone: int, redundant: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """J with blocks of (rows, columns) on scattered velocities, right-hand side g, mass matrix, force."""
    rng = np.random.default_rng(seed)
    n, m = sum(k for _, k in sizes) + alone, sum(k for k, _ in sizes)
    order = rng.permutation(n)
    J, row, column = np.zeros((m, n)), 0, 0
    for rows, columns in sizes:
        block = rng.normal(size=(rows, columns))
        if redundant and rows > 1:
            block[-1] = block[0] - 2.0 * block[1 % (rows - 1)]
        J[np.ix_(range(row, row + rows), order[column : column + columns])] = block
        row, column = row + rows, column + columns
    A = rng.normal(size=(n, n))
    return J, J @ rng.normal(size=n), A @ A.T + n * np.eye(n), rng.normal(size=n)


def memory(J: np.ndarray) -> Elimination:
    m, n = J.shape
    return elimination(make_plan(n, n, 0, m, [np.flatnonzero(row).tolist() for row in J]))


systems = st.tuples(
    st.integers(0, 10_000),
    st.lists(st.tuples(st.integers(1, 4), st.integers(4, 6)), min_size=1, max_size=4),
    st.integers(0, 5),
    st.booleans(),
)


@given(systems)
@settings(max_examples=60, deadline=None)
def test_accelerations_by_lists_solve_the_augmented_system(given_system):
    seed, sizes, alone, redundant = given_system
    J, g, M, f = random_system(seed, sizes, alone, redundant)
    m, n = J.shape
    e = memory(J)
    a = np.zeros(n)
    free = eliminate(J.ravel(), g, e)
    assert free == n - np.linalg.matrix_rank(J)
    assert listed_accelerations(M.ravel(), f, e, free, a) == 0
    augmented = np.block([[M, J.T], [J, np.zeros((m, m))]])
    expected = np.linalg.lstsq(augmented, np.concatenate([f, g]), rcond=1e-12)[0][:n]
    np.testing.assert_allclose(a, expected, rtol=1e-6, atol=1e-8)


@given(systems)
@settings(max_examples=60, deadline=None)
def test_full_null_space_and_lists_say_the_same(given_system):
    seed, sizes, alone, redundant = given_system
    J, g, M, f = random_system(seed, sizes, alone, redundant)
    n, e = J.shape[1], memory(J)
    free, space = eliminate(J.ravel(), g, e), e.space
    basis, a0 = np.zeros((n, free)), space.a0.copy()
    for j in range(n):
        members = space.members[space.begin[j] :][: space.count[j]]
        basis[j, members] = space.Z[j * n : j * n + len(members)]
    scale = 1.0 + np.abs(basis).max(initial=0.0)
    assert np.abs(J @ basis).max(initial=0.0) < 1e-12 * scale * n
    assert np.abs(J @ a0 - g).max() < 1e-11 * (1.0 + np.abs(a0).max()) * n
    independent = np.flatnonzero(space.number >= 0)
    np.testing.assert_array_equal(basis[independent], np.eye(free))
    a, b = np.zeros(n), np.zeros(n)
    assert reduced_accelerations(M.ravel(), f, basis.ravel(), a0, n, free, e.ZM, e.reduced, a) == 0
    assert listed_accelerations(M.ravel(), f, e, free, b) == 0
    np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-10 * scale)
    particular(-2.0 * g, e)
    np.testing.assert_allclose(space.a0, -2.0 * a0, rtol=1e-12, atol=1e-13 * scale)


@given(systems)
@settings(max_examples=40, deadline=None)
def test_least_norm_by_blocks_is_the_pseudoinverse(given_system):
    seed, sizes, alone, _ = given_system
    J, g, _, _ = random_system(seed, sizes, alone, False)
    m, n = J.shape
    if np.linalg.cond(J) > 1e2:  # rows that nearly repeat one another are skipped on purpose
        return
    e, d = memory(J), np.zeros(n)
    for rows in (m, m - 1):
        least_norm_by_blocks(J.ravel(), g, rows, e.plan, e.work, d)
        np.testing.assert_allclose(d, np.linalg.pinv(J[:rows]) @ g[:rows], rtol=1e-9, atol=1e-10)


def test_a_singular_reduced_mass_matrix_is_reported():
    J = np.array([[1.0, -1.0, 0.0]])
    e, M = memory(J), np.diag([1.0, 1.0, 0.0])
    free = eliminate(J.ravel(), np.zeros(1), e)
    assert listed_accelerations(M.ravel(), np.ones(3), e, free, np.zeros(3)) != 0


@pytest.mark.parametrize("pattern", [np.eye(3, dtype=bool), np.ones((2, 4), dtype=bool)])
def test_blocks_share_neither_rows_nor_columns(pattern):
    groups = blocks([np.flatnonzero(row).tolist() for row in pattern])
    rows, columns = [r for g, _ in groups for r in g], [k for _, g in groups for k in g]
    assert sorted(rows) == list(range(pattern.shape[0]))
    assert len(columns) == len(set(columns))
