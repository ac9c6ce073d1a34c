"""Rank and shortest solutions of many rows by sparse factors, against singular values."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jourdain.solvers.linear.sparse_rows import LARGE, loses_rank, shortest_solution


def chain(seed: int, loops: int) -> np.ndarray:
    """Rows of loops in a row: two rows on two own columns and one shared with the next."""
    rng = np.random.default_rng(seed)
    J = np.zeros((2 * loops, 3 * loops + 1))
    for i in range(loops):
        J[2 * i : 2 * i + 2, 3 * i : 3 * i + 4] = rng.normal(size=(2, 4))
    return J


@given(st.integers(0, 10_000), st.integers(LARGE // 2, 100), st.sampled_from([0.0, 1e-7, 1e-6, 1e-4, 1e-3, 1.0]))
@settings(max_examples=80, deadline=None)
def test_nearly_dependent_rows_are_found(seed: int, loops: int, size: float) -> None:
    J = chain(seed, loops)
    k = int(np.random.default_rng(seed).integers(1, len(J)))
    J[k] = J[k - 1] + size * J[k]  # as good as the row before where size is small
    sigma = np.linalg.svd(J, compute_uv=False)
    ratio = sigma[-1] / sigma[0]
    if not 0.5e-5 < ratio < 2e-5:  # where it is neither one nor the other
        assert loses_rank(J, 1e-5) == (ratio <= 1e-5)


@pytest.mark.parametrize("rows", [1, 5, 200])
def test_rows_of_all_sizes(rows: int) -> None:
    assert not loses_rank(np.eye(rows, rows + 3), 1e-5)
    assert not loses_rank(np.zeros((0, rows)), 1e-5)
    repeated = np.vstack([np.eye(rows, rows + 3), np.eye(1, rows + 3)])
    assert loses_rank(repeated, 1e-5)


@given(st.integers(0, 10_000), st.integers(LARGE // 2, 90), st.sampled_from([0.0, 1e-6, 1e-3, 1.0]))
@settings(max_examples=40, deadline=None)
def test_shortest_solutions_are_those_of_the_pseudoinverse(seed: int, loops: int, size: float) -> None:
    J = chain(seed, loops)
    J[7] = J[6] + size * J[7]
    b = J @ np.random.default_rng(seed).normal(size=J.shape[1])
    expected = np.linalg.lstsq(J, b, rcond=1e-10)[0]
    found = shortest_solution(J, b)
    np.testing.assert_allclose(J @ found, b, atol=1e-10 * np.abs(b).max())
    assert np.linalg.norm(found) <= (1.0 + 1e-6) * np.linalg.norm(expected) + 1e-9
    contradiction = b + (np.arange(len(b)) == 7)
    if size == 0.0:  # least squares then
        np.testing.assert_allclose(shortest_solution(J, contradiction), np.linalg.lstsq(J, contradiction, rcond=1e-10)[0], atol=1e-7)
