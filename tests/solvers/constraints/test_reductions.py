"""Reductions of the descriptor form against each other and against closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from jourdain.errors import InputError, SolverError
from jourdain.solvers.constraints import reductions as r


def system(seed: int, n: int = 9, m: int = 5, massless: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """A random system; coordinates without mass are held by the constraints."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(n, n))
    M = A @ A.T + np.eye(n)
    if massless:
        M[:massless] = M[:, :massless] = 0.0
    J = rng.normal(size=(m, n))
    if massless:
        J[:massless, :massless] += 5.0 * np.eye(massless)
    return M, J, rng.normal(size=n), rng.normal(size=m)


@given(seed=st.integers(0, 10_000), massless=st.integers(0, 3), name=st.sampled_from([n for n in r.REDUCTIONS if n != "penalty"]))
@settings(max_examples=80, deadline=None)
def test_all_solve_the_same_equations(seed: int, massless: int, name: str) -> None:
    M, J, f, g = system(seed, massless=massless)
    a, lam = r.reduction(name)(M, J, f, g)
    size = 1.0 + np.abs(a).max() + np.abs(lam).max()
    assert np.abs(M @ a - f - J.T @ lam).max() < 1e-8 * size
    assert np.abs(J @ a - g).max() < 1e-9 * size


def test_penalty_approaches_the_constraints() -> None:
    M, J, f, g = system(3)
    exact = r.kkt(M, J, f, g)
    errors = [np.abs(r.penalty(M, J, f, g, alpha).a - exact.a).max() for alpha in (1e2, 1e4, 1e6)]
    assert errors[1] / errors[0] == pytest.approx(1e-2, rel=0.2) and errors[2] / errors[1] == pytest.approx(1e-2, rel=0.2)


def test_gauss_principle() -> None:
    """The accelerations are nearest to M⁻¹f in the metric of M among those the constraints allow (Udwadia and Kalaba)."""
    M, J, f, g = system(4)
    L = np.linalg.cholesky(M)
    free = np.linalg.solve(M, f)
    W = J @ np.linalg.inv(L).T
    expected = free + np.linalg.solve(L.T, np.linalg.pinv(W) @ (g - J @ free))
    assert np.allclose(r.null_space(M, J, f, g, "svd").a, expected, atol=1e-11)


@pytest.mark.parametrize("name", list(r.BASES))
def test_bases(name: str) -> None:
    _, J, _, g = system(5)
    Z, a0 = r.BASES[name](J, g)
    assert Z.shape == (9, 4) and np.linalg.matrix_rank(Z) == 4
    assert np.abs(J @ Z).max() < 1e-12 and np.abs(J @ a0 - g).max() < 1e-12
    if name in ("qr", "svd", "gram-schmidt"):
        assert np.abs(Z.T @ Z - np.eye(4)).max() < 1e-12
    if name in ("qr", "svd"):
        assert np.allclose(a0, np.linalg.pinv(J) @ g)  # the shortest


def test_gram_schmidt_changes_little() -> None:
    _, J, _, g = system(6)
    Z = r.gram_schmidt(J, g).Z
    moved = r.gram_schmidt(J + 1e-4 * np.random.default_rng(0).normal(size=J.shape), g, Z).Z
    assert np.abs(moved - Z).max() < 1e-2


def test_full_pivoting_takes_the_largest() -> None:
    J = np.array([[0.1, 2.0, 0.0], [3.0, 0.1, 0.2]])
    assert sorted(r.full_pivoting(J)) == [0, 1]
    with pytest.raises(SolverError, match="rank 1 of 2"):
        r.full_pivoting(np.array([[1.0, 2.0], [2.0, 4.0]]))


def test_redundant_rows() -> None:
    _, J, _, _ = system(7)
    kept, redundant = r.independent_rows(np.vstack([J, J[0] - 2.0 * J[3]]))
    assert len(kept) == 5 and len(redundant) == 1 and redundant[0] in (0, 3, 5)
    assert r.independent_rows(J) == (list(range(5)), [])


def test_sparse_matrices() -> None:
    M, J, f, g = system(8)
    a, lam = r.kkt_sparse(csr_array(M), csr_array(J), f, g)
    assert np.allclose(a, r.kkt(M, J, f, g).a) and np.allclose(lam, r.range_space(M, J, f, g).lam)


def test_baumgarte_decays_critically() -> None:
    """ë = −2α ė − α² e has the solution (1 + αt) e^(−αt) from e = 1, ė = 0."""
    alpha, e, v, h = 5.0, 1.0, 0.0, 1e-4
    for _ in range(10_000):
        a = float(r.baumgarte(np.zeros(1), np.array([v]), np.array([e]), alpha, alpha)[0])
        v += h * a
        e += h * v
    assert e == pytest.approx((1 + alpha) * np.exp(-alpha), rel=1e-2)


def test_projection_of_positions_is_the_nearest_point() -> None:
    """On an ellipse in the metric of M the projection moves along M⁻¹Jᵀ."""
    M = np.diag([2.0, 5.0])

    def ellipse(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.array([x[0] ** 2 + 4 * x[1] ** 2 - 4.0]), np.array([[2 * x[0], 8 * x[1]]])

    start = np.array([1.7, 0.9])
    x = r.project_positions(M, ellipse, start)
    h, J = ellipse(x)
    assert abs(h[0]) < 1e-12
    force = M @ (x - start)
    assert abs(force[0] * J[0, 1] - force[1] * J[0, 0]) < 1e-4
    angles = np.linspace(0, 2 * np.pi, 200_001)
    points = np.column_stack([2 * np.cos(angles), np.sin(angles)])
    distance = np.einsum("ij,jk,ik->i", points - start, M, points - start)
    assert np.linalg.norm(points[np.argmin(distance)] - x) < 1e-3


def test_projection_of_velocities_is_an_impulse() -> None:
    M, J, _, _ = system(9)
    v = np.random.default_rng(1).normal(size=9)
    new = r.project_velocities(M, J, v, J @ v)
    assert np.abs(J @ new).max() < 1e-12
    Z = r.orthogonal(J, np.zeros(5)).Z
    assert np.abs(Z.T @ M @ (new - v)).max() < 1e-11  # no momentum changes along what is allowed


def test_errors_name_the_remedy() -> None:
    with pytest.raises(InputError, match="reduction 'cholesky' is unknown"):
        r.reduction("cholesky")
    M, J, f, g = np.diag([1.0, 1.0, 0.0]), np.array([[1.0, 0.0, 0.0]]), np.ones(3), np.ones(1)
    with pytest.raises(SolverError, match="lacks mass"):
        r.null_space(M, J, f, g)
    with pytest.raises(SolverError, match="singular"):
        r.kkt(M, J, f, g)
