"""(c I − J) x = b with rows q̇ = v taken out, against a dense solution."""

from __future__ import annotations

import numpy as np
import pytest

from jourdain.solvers.linear.shifted import leading, shifted_factor, shifted_solve


def second_order(m: int, n: int, rng: np.random.Generator) -> np.ndarray:
    """A random J of n states whose first m rows are q̇ = v."""
    J = rng.normal(size=(n, n))
    J[:m] = np.eye(m, n, m)
    return J


@pytest.mark.parametrize(("m", "n"), [(0, 3), (1, 2), (3, 6), (4, 11), (20, 40)])
@pytest.mark.parametrize("c", [3.7, 250.0, 2.1 + 5.3j])
def test_solutions_are_those_of_the_whole_system(m: int, n: int, c: complex) -> None:
    rng = np.random.default_rng(m + n)
    J, kind = second_order(m, n, rng), type(c)
    b = rng.normal(size=n).astype(kind)
    expected = np.linalg.solve(c * np.eye(n) - J, b)
    lu, pivots = np.zeros(n * n, kind), np.zeros(n, dtype=np.int64)
    assert leading(J.ravel(), n) == m
    assert shifted_factor(J.ravel(), n, m, c, lu, pivots) == 0
    shifted_solve(J.ravel(), n, m, c, lu, pivots, b)
    np.testing.assert_allclose(b, expected, rtol=1e-11, atol=1e-13)


def test_other_rows_are_left_alone() -> None:
    rng = np.random.default_rng(0)
    J = second_order(3, 6, rng)
    assert leading(J.ravel(), 6) == 3
    for i, j, value in ((0, 3, 0.5), (1, 0, 1e-300), (2, 5, 0.0), (2, 4, 1.0)):  # q̇ = N(q) v, a drive, a quaternion
        other = J.copy()
        other[i, j] = value
        assert leading(other.ravel(), 6) == 0
    assert leading(np.zeros(16), 4) == 0
    assert leading(np.eye(3, 3, 2).ravel(), 3) == 0  # more positions than velocities
