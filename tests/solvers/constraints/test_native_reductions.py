"""Native reductions against those of NumPy and the augmented system, on random systems with and without redundant rows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jourdain.solvers.constraints import native_reductions as native
from jourdain.solvers.constraints.reductions import REDUCTIONS, kkt
from jourdain.solvers.linear.units import plain


def system(seed: int, n: int, m: int, massless: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """M (singular where asked, but not on the constraints), J with rows of different lengths, f, g."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n, n))
    M, J = A @ A.T + np.eye(n), rng.normal(size=(m, n)) * 10.0 ** rng.uniform(-1, 1, size=(m, 1))
    if massless:
        M[0, :] = M[:, 0] = 0.0
    return M, J, rng.normal(size=n), rng.normal(size=m)


def solved(way: str, M: np.ndarray, J: np.ndarray, f: np.ndarray, g: np.ndarray) -> np.ndarray:
    m, n = J.shape
    a = np.zeros(n)
    work, pivots = np.zeros(native.work_size(n, m)), np.zeros(n + m, dtype=np.int64)
    given = [x.copy().ravel() for x in (M, f, J, g)]
    assert native.solution(native.WAYS[way], *given, m, n, work, pivots, a) == 0
    return a


@pytest.mark.parametrize("way", list(native.WAYS))
@given(st.integers(0, 10_000), st.integers(2, 8), st.integers(1, 5), st.booleans())
@settings(max_examples=40, deadline=None)
def test_native_accelerations_are_those_of_numpy(way: str, seed: int, n: int, m: int, massless: bool) -> None:
    M, J, f, g = system(seed, n, min(m, n - 1), massless)
    unit = J / np.linalg.norm(J, axis=1, keepdims=True)
    if np.linalg.svd(unit)[1][-1] < 1e-2 or (massless and np.abs(unit[:, 0]).max() < 0.1):
        return
    expected, found = kkt(M, J, f, g).a, solved(way, M, J, f, g)
    size = max(1.0, float(np.abs(expected).max()))
    np.testing.assert_allclose(found, expected, rtol=0, atol=(1e-4 if way == "penalty" else 1e-9) * size)
    if way == "penalty":  # the same penalty on both sides, and the same error
        np.testing.assert_allclose(found, REDUCTIONS[way](M, J, f, g).a, rtol=0, atol=1e-6 * size)


@given(st.integers(0, 10_000), st.integers(1, 3))
@settings(max_examples=40, deadline=None)
def test_redundant_rows_are_left_out(seed: int, more: int) -> None:
    rng = np.random.default_rng(seed)
    M, J, f, g = system(seed, 7, 4, False)
    J /= np.linalg.norm(J, axis=1, keepdims=True)
    if np.linalg.svd(J)[1][-1] < 5e-2:
        return
    mix = rng.normal(size=(more, 4))
    order = rng.permutation(4 + more)
    every, right = np.vstack([J, mix @ J])[order], np.concatenate([g, mix @ g])[order]
    rows = 4 + more
    flat, work = every.copy().ravel(), np.zeros(native.work_size(7, rows))
    assert native.independent_rows(flat, right, np.arange(rows), 4, 7, plain(rows, 7), work) == 4
    kept = flat.reshape(rows, 7)[:4]
    np.testing.assert_allclose(kkt(M, kept, f, right[:4]).a, kkt(M, J, f, g).a, atol=1e-8 * max(1.0, np.abs(kkt(M, J, f, g).a).max()))


def test_singular_values_are_found() -> None:
    _, J, _, g = system(3, 8, 5, False)
    flat, right = J.copy().ravel(), g.copy()
    native.diagonalise_rows(flat, right, 5, 8)
    turned = flat.reshape(5, 8)
    np.testing.assert_allclose(np.sort(np.linalg.norm(turned, axis=1))[::-1], np.linalg.svd(J)[1], rtol=1e-13)
    gram = turned @ turned.T
    assert np.abs(gram - np.diag(np.diag(gram))).max() < 1e-12 * gram.max()
    assert np.linalg.norm(right) == pytest.approx(np.linalg.norm(g), rel=1e-14)


@pytest.mark.parametrize("turn", [1e-1, 1e-3, 2e-5, 1e-7, 0.0])
@pytest.mark.parametrize("seed", range(4))
def test_a_mass_matrix_of_euler_parameters_is_singular_however_rounding_hides_it(turn: float, seed: int) -> None:
    """M = 4 GᵀJG has no mass along e; near the identity its first row is almost zero, and pivots after it are rounding."""
    rng = np.random.default_rng(seed)
    e = np.array([1.0, *(turn * rng.normal(size=3))])
    e /= np.linalg.norm(e)
    G = np.array([[-e[1], e[0], e[3], -e[2]], [-e[2], -e[3], e[0], e[1]], [-e[3], e[2], -e[1], e[0]]])
    M = 4.0 * G.T @ np.diag([0.02, 0.03, 0.025]) @ G
    J, f, g = np.vstack([2.0 * e, [0.1, 1.0, 0.3, -0.2]]), rng.normal(size=4), rng.normal(size=2)
    exact = np.linalg.solve(np.block([[M, -J.T], [J, np.zeros((2, 2))]]), np.concatenate([f, g]))[:4]
    np.testing.assert_allclose(solved("range-space", M, J, f, g), exact, rtol=1e-9, atol=1e-9)
