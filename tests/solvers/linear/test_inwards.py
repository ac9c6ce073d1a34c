"""Factors of mass matrices of trees from the tips inwards, against numpy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jourdain.solvers.linear import inwards

few = settings(max_examples=40, deadline=None)


def tree(random: np.random.Generator, n: int) -> tuple[np.ndarray, list[set[int]]]:
    """The mass matrix of a random tree of n velocities, and for each the velocities it is carried by, itself included."""
    carried = list[set[int]]()
    for i in range(n):
        carried.append({i} | (carried[random.integers(i)] if i and random.random() < 0.8 else set()))
    M = np.zeros((n, n))
    for own in carried:  # every link has a mass of its own, felt by what carries it
        J = np.zeros((3, n))
        J[:, sorted(own)] = random.normal(size=(3, len(own)))
        M += J.T @ J
    return M + 0.1 * np.eye(n), carried


@few
@given(st.integers(1, 14), st.integers(0, 2**32 - 1))
def test_factors_solve_and_keep_the_zeros_between_branches(n, seed):
    random = np.random.default_rng(seed)
    M, carried = tree(random, n)
    factor = M.ravel().copy()
    assert inwards.factor_inwards(factor, n) == 0
    L = np.tril(factor.reshape(n, n))
    assert all(L[i, j] == 0.0 for i in range(n) for j in range(i) if j not in carried[i])
    np.fill_diagonal(L, 1.0 / np.diag(L))
    np.testing.assert_allclose(L.T @ L, M, atol=1e-10)
    b = random.normal(size=n)
    x, half = b.copy(), b.copy()
    inwards.solve_inwards(factor, n, x)
    assert M @ x == pytest.approx(b, abs=1e-8)
    inwards.to_root(factor, n, half)
    assert half @ half == pytest.approx(b @ x, rel=1e-8)  # bᵀM⁻¹b


@few
@given(st.integers(1, 14), st.integers(0, 2**32 - 1))
def test_three_at_once_stay_on_the_way_to_the_root(n, seed):
    random = np.random.default_rng(seed)
    M, carried = tree(random, n)
    factor = M.ravel().copy()
    inwards.factor_inwards(factor, n)
    tip = int(random.integers(n))
    three = np.zeros((3, n))
    three[:, sorted(carried[tip])] = random.normal(size=(3, len(carried[tip])))
    alone = three.copy()
    assert inwards.to_root_three(factor, n, *three) == tip + 1
    for row in alone:
        inwards.to_root(factor, n, row)
    assert np.array_equal(three, alone)
    assert not three[:, sorted(set(range(n)) - carried[tip])].any()


def test_a_failed_pivot_is_named():
    assert inwards.factor_inwards(np.diag([1.0, -1.0, 2.0]).ravel(), 3) == 2
    assert inwards.factor_inwards(np.array([np.nan]), 1) == 1
    assert inwards.to_root_three(np.eye(2).ravel(), 2, *np.zeros((3, 2))) == 0
