"""Bodies in rows by interior points: redundant contacts, the equations over the bodies, and where the method is not taken."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jourdain.solvers.complementarity.interior import interior
from jourdain.solvers.complementarity.laws import project, residual
from jourdain.solvers.complementarity.over_bodies import WIDEST, factor_bodies, order_bodies, solve_bodies
from jourdain.solvers.complementarity.problem import Problem
from jourdain.solvers.complementarity.solve import solution
from tests.solvers.complementarity.problems import Scene, box_on_plane, contact_rows, frame, random_scene, rigid, row_of_boxes


def inside(problem: Problem, p: np.ndarray, mu: float) -> bool:
    """Whether all impulses are in their cones."""
    each = p.reshape(-1, 3)
    return bool(np.all(np.hypot(each[:, 1], each[:, 2]) <= mu * each[:, 0] + 1e-15))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 12), st.sampled_from([0.0, 0.1, 0.3, 0.6]))
def test_rows_of_boxes_with_redundant_corners(seed: int, n: int, mu: float) -> None:
    """The law of every contact is met by impulses inside the cones, from nothing and from far away."""
    problem = row_of_boxes(n, seed, mu).problem("bodies")
    assert order_bodies(problem) and problem.over.size == 6 * n and problem.over.band == (5 if n == 1 else 11)
    p = np.random.default_rng(seed).uniform(0.0, 3.0, 3 * problem.blocks)
    project(problem, p)
    start = residual(problem, p)[0]
    done, found, _ = interior(problem, p, 1e-5)
    assert done > 0 and found == residual(problem, p)[0] and inside(problem, p, mu)
    # with much friction a problem may have several solutions, and steps may end between them; other methods go on then
    assert found <= 1e-5 or (mu > 0.1 and found < start)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 6))
def test_velocities_are_those_of_other_methods(seed: int, n: int) -> None:
    """Without friction velocities are unique, however corners share the load: equal to those by pivots and sweeps on a matrix."""
    scene = row_of_boxes(n, seed, 0.0)
    W, w = scene.W, scene.w
    problem = scene.problem("bodies")
    p = np.zeros(3 * problem.blocks)
    order_bodies(problem)
    assert interior(problem, p, 1e-6)[1] <= 1e-6
    other = solution(scene.problem("dense"), tolerance=1e-10)
    np.testing.assert_allclose(W @ p + w, W @ other + w, atol=1e-4)
    assert np.abs(scene.J.T @ (p - other)).max() <= 1e-4


@pytest.mark.parametrize("seed", range(3))
def test_equations_over_bodies(seed: int) -> None:
    """(1 + Rᵀ K J) y = Rᵀ x and x − K J y solve (1 + K W) d = x, a matrix as wide as all rows."""
    rng, scene = np.random.default_rng(seed), row_of_boxes(5, seed, 0.4)
    problem = scene.problem("bodies")
    m, n = 3 * problem.blocks, problem.blocks
    assert order_bodies(problem)
    problem.over.K[:] = rng.normal(size=(n, 9)) * 0.1 + [1, 0, 0, 0, 1, 0, 0, 0, 1]
    x = rng.normal(size=m)
    K = np.zeros((m, m))
    for i in range(n):
        K[3 * i : 3 * i + 3, 3 * i : 3 * i + 3] = problem.over.K[i].reshape(3, 3)
    wanted = np.linalg.solve(np.eye(m) + K @ scene.W, x)
    assert factor_bodies(problem)
    solve_bodies(problem, x)
    y = problem.over.y.reshape(-1, 6)[problem.over.place]
    np.testing.assert_allclose(x - K @ scene.J @ y.ravel(), wanted, rtol=0, atol=1e-10 * np.abs(wanted).max())


def ring_of_spheres(n: int) -> Scene:
    """Every sphere in touch with every other: no narrow band."""
    scene = Scene([rigid(1.0, 0.1)] * n, np.zeros((n, 6)))
    for i in range(n):
        for j in range(i):
            angle = 2 * np.pi * (i + 2 * j) / n
            scene.add("contact", (j, i), contact_rows(frame(np.array([np.cos(angle), np.sin(angle), 0.1])), np.ones(3), np.ones(3)), 0.3)
    return scene


def test_where_it_is_not_taken() -> None:
    """Other laws, compliance, convex cones, other forms and wide bands are for other methods."""
    assert order_bodies(box_on_plane(np.ones(6)).problem("bodies"))
    assert not order_bodies(box_on_plane(np.ones(6)).problem("dense"))
    assert not order_bodies(box_on_plane(np.ones(6)).problem("bodies", relaxed=True))
    assert not order_bodies(box_on_plane(np.ones(6)).problem("bodies", compliance=np.full(12, 0.1)))
    mixed = random_scene(3, 3, 9)
    assert len(set(mixed.laws)) > 1 and not order_bodies(mixed.problem("bodies"))
    wide = ring_of_spheres(WIDEST // 6 + 3).problem("bodies")
    assert not order_bodies(wide)


@pytest.mark.parametrize("mu", [0.1, 0.5])
def test_boxes_far_apart_are_solved_together(mu: float) -> None:
    """Two rows that do not touch are two parts of one band; the solution of either is that of the row alone."""
    one = row_of_boxes(3, 5, mu)
    two = Scene([*one.inverse], one.v)
    two.inverse, two.v = np.concatenate([one.inverse, one.inverse]), np.vstack([one.v, one.v])
    for shift in (0, 3):
        for law, pair, J in zip(one.laws, one.pairs, one.rows, strict=True):
            two.add(law, (pair[0] + shift if pair[0] >= 0 else -1, pair[1] + shift), J, mu)
    found = []
    for scene in (one, two):
        problem = scene.problem("bodies")
        p = np.zeros(3 * problem.blocks)
        assert order_bodies(problem) and interior(problem, p, 1e-6)[1] <= 1e-6
        found.append(scene.J.T @ p)
    np.testing.assert_allclose(found[1], np.concatenate([found[0]] * 2), atol=1e-3)
