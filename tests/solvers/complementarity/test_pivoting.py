"""Linear complementarity problems against the enumeration of all active sets, and what is said where there is no solution."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import jourdain as jd
from jourdain.solvers.complementarity.build import dense_problem
from jourdain.solvers.complementarity.pivoting import RAY, SOLVED, lemke, pivoting, principal_pivoting
from jourdain.solvers.complementarity.problem import linear_room
from tests.solvers.complementarity.problems import positive


def every_solution(A: np.ndarray, q: np.ndarray) -> list[np.ndarray]:
    """z of all 2ⁿ active sets that fit."""
    found = []
    for chosen in product([False, True], repeat=len(q)):
        s, z = np.flatnonzero(chosen), np.zeros(len(q))
        if len(s):
            inside = A[np.ix_(s, s)]
            if np.linalg.matrix_rank(inside, 1e-10) < len(s):
                continue
            z[s] = np.linalg.solve(inside, -q[s])
        if min(z.min(), (A @ z + q).min()) > -1e-10:
            found.append(z)
    return found


def room(A: np.ndarray, q: np.ndarray, equations: tuple[int, ...] = ()) -> object:
    s = linear_room(len(q))
    s.A, s.q, s.symmetric = A.ravel().copy(), q.copy(), int(np.array_equal(A, A.T))
    s.equation[list(equations)] = 1
    return s


@given(st.integers(0, 10**6), st.integers(1, 8), st.booleans(), st.floats(0.0, 6.0))
def test_positive_definite_problems_have_the_one_solution(seed: int, n: int, symmetric: bool, digits: float) -> None:
    rng = np.random.default_rng(seed)
    A = positive(rng, n, 10.0**digits)
    A = 0.5 * (A + A.T)
    if not symmetric:
        skew = rng.normal(size=(n, n))
        A = A + skew - skew.T
    q = rng.normal(size=n)
    (expected,) = [z for k, z in enumerate(every_solution(A, q)) if k == 0]
    for guess in (None, rng.normal(size=n), expected):
        found = jd.complementarity(A, q, start=guess)
        np.testing.assert_allclose(found.z, expected, atol=1e-8 * max(1.0, np.abs(expected).max()))
        np.testing.assert_allclose(found.w, A @ found.z + q, atol=1e-12 * np.abs(A).max() * max(1.0, np.abs(expected).max()))
    assert found.iterations == 1 or not symmetric or n == 0


@given(st.integers(0, 10**6), st.integers(1, 8))
def test_lemke_and_principal_pivots_agree(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    A, q = positive(rng, n, 100.0), rng.normal(size=n)
    first, second = room(A, q), room(A, q)
    assert principal_pivoting(first) == SOLVED and lemke(second) == SOLVED
    np.testing.assert_allclose(first.z, second.z, atol=1e-10)


@given(st.integers(0, 10**6), st.integers(2, 8), st.integers(1, 4))
def test_semi_definite_problems_are_solved_or_have_no_solution(seed: int, n: int, rank: int) -> None:
    rng = np.random.default_rng(seed)
    G, q = rng.normal(size=(n, rank)), rng.normal(size=n)
    A = G @ G.T
    try:
        found = jd.complementarity(A, q)
    except jd.SolverError as error:
        assert "ray" in str(error)
        from scipy.optimize import linprog

        assert linprog(np.zeros(n), A_ub=-A, b_ub=q - 1e-9).status == 2  # no z ≥ 0 makes A z + q ≥ 0
        return
    size = max(1.0, np.abs(A).max() * np.abs(found.z).max())
    assert np.abs(np.minimum(found.z, found.w)).max() < 1e-8 * size and found.z.min() >= 0.0


def test_degenerate_problems_do_not_cycle() -> None:
    """Equal rows and zeros in q: every pivot is a tie."""
    for n in range(2, 9):
        A = np.ones((n, n))
        for q in (-np.ones(n), np.zeros(n), -np.arange(n, dtype=float), np.r_[-1.0, np.zeros(n - 1)]):
            s = room(A, q)
            assert lemke(s) == SOLVED
            assert np.abs(np.minimum(s.z, s.w)).max() < 1e-12
            found = jd.complementarity(A, q)
            assert np.abs(np.minimum(found.z, found.w)).max() < 1e-12


def test_a_cyclic_p_matrix() -> None:
    """All principal minors positive, the symmetric part singular; by symmetry of the problem every pivot is a tie."""
    A = np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 2.0], [2.0, 0.0, 1.0]])
    q = -np.ones(3)
    np.testing.assert_allclose(jd.complementarity(A, q).z, 1.0 / 3.0, atol=1e-14)
    s = room(A, q)
    assert lemke(s) == SOLVED
    np.testing.assert_allclose(s.z, 1.0 / 3.0, atol=1e-14)


def test_painleve_matrices_end_with_words() -> None:
    """A rod that jams: W_nn − μ W_nT < 0.  Two solutions, or none; never a hang."""
    with pytest.raises(jd.SolverError, match="ray termination"):
        jd.complementarity([[-1.0]], [-1.0])
    found = jd.complementarity([[-1.0]], [1.0])
    assert float(found.z[0]) in (0.0, 1.0)
    s = room(np.array([[-1.0]]), np.array([-1.0]))
    assert lemke(s) == RAY


@given(st.integers(0, 10**6), st.integers(1, 40))
def test_any_matrix_ends_with_a_solution_or_words(seed: int, n: int) -> None:
    rng = np.random.default_rng(seed)
    A, q = rng.normal(size=(n, n)), rng.normal(size=n)
    try:
        found = jd.complementarity(A, q)
    except jd.SolverError as error:
        assert "no solution" in str(error)
        return
    assert np.abs(np.minimum(found.z, found.w)).max() < 1e-7 * max(1.0, np.abs(A).max() * found.z.max())
    np.testing.assert_allclose(found.w, A @ found.z + q, atol=1e-11 * max(1.0, np.abs(found.z).max()))


@pytest.mark.parametrize("A, q, start, words", [
    (np.eye(3), np.zeros(2), None, r"shape \(3, 3\)"), (np.eye(2), np.zeros((2, 1)), None, r"shape \(2, 1\)"),
    (np.diag([1.0, np.nan]), np.zeros(2), None, r"A\[1, 1\]"), (np.eye(2), [0.0, np.inf], None, r"q\[1\]"),
    (np.eye(2), np.zeros(2), np.zeros(3), "start"), ([["a"]], [0.0], None, "A is not an array of real"), (np.eye(1), [1j], None, "q is not"),
])  # fmt: skip
def test_wrong_input_is_named(A: object, q: object, start: object, words: str) -> None:
    with pytest.raises(jd.InputError, match=words):
        jd.complementarity(A, q, start=start)


def test_no_unknowns_and_nothing_to_do() -> None:
    assert jd.complementarity(np.zeros((0, 0)), []).z.size == 0
    found = jd.complementarity(np.eye(3), [1.0, 0.0, 2.0])
    assert not found.z.any() and found.w.tolist() == [1.0, 0.0, 2.0]


def test_a_large_problem_from_a_near_one() -> None:
    rng = np.random.default_rng(3)
    G = rng.normal(size=(150, 150))
    A, q = G @ G.T / 150.0 + 0.1 * np.eye(150), rng.normal(size=150)
    cold = jd.complementarity(A, q)
    warm = jd.complementarity(A, q + 1e-3 * rng.normal(size=150), start=cold.z)
    assert warm.iterations <= 4 and np.abs(np.minimum(warm.z, warm.w)).max() < 1e-12


@given(st.integers(0, 10**6), st.integers(1, 5), st.integers(0, 3))
def test_equations_among_the_rows(seed: int, n: int, equations: int) -> None:
    """Eliminating the bilateral rows by hand gives the same; redundant equations are allowed."""
    rng = np.random.default_rng(seed)
    m = n + equations
    W, w = positive(rng, m, 30.0), rng.normal(size=m)
    laws = ["unilateral"] * n + ["bilateral"] * equations
    problem = dense_problem(W, w, laws)
    p = np.zeros(m)
    _, found, _ = pivoting(problem, p, 0.0, 1000)
    assert found < 1e-11 * max(1.0, np.abs(W @ p).max())
    a, b = slice(0, n), slice(n, m)
    inverse = np.linalg.inv(W[b, b])
    (expected, *_) = every_solution(W[a, a] - W[a, b] @ inverse @ W[b, a], w[a] - W[a, b] @ inverse @ w[b])
    np.testing.assert_allclose(p[a], expected, atol=1e-9)
    s = room(W, w, tuple(range(n, m)))
    assert lemke(s) == SOLVED
    np.testing.assert_allclose(s.z[a], expected, atol=1e-9)


def test_redundant_equations() -> None:
    """The same joint twice, and a stop: impulses of the joints are shared somehow, the motion is the same."""
    J = np.array([[1.0, 1.0], [0.0, 1.0], [0.0, 1.0]])
    problem = dense_problem(J @ J.T, J @ [-1.0, 0.5], ["unilateral", "bilateral", "bilateral"])
    p = np.zeros(3)
    _, found, _ = pivoting(problem, p, 1e-12, 100)
    assert found < 1e-14
    np.testing.assert_allclose(p[0], 1.0, atol=1e-14)
