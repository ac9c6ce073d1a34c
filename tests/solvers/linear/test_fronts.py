"""Elimination front by front against dense linear algebra on chains, rings and nets of loops."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jourdain.solvers.constraints.accelerations import constrained_solution
from jourdain.solvers.constraints.elimination import Elimination, elimination
from jourdain.solvers.constraints.plan import blocks, make_plan
from jourdain.solvers.constraints.projection import shortest_solution
from jourdain.solvers.linear import fronts

eliminate_by_fronts = fronts.eliminate_by_fronts


def loops(seed: int, count: int, kind: str, repeated: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """J of loops with two rows on two own columns and columns shared with neighbours; and the right-hand side of a solution."""
    rng = np.random.default_rng(seed)
    pairs = [(i, i + 1) for i in range(count - 1)]
    if kind == "ring":
        pairs.append((count - 1, 0))
    elif kind == "net":
        pairs += [tuple(rng.choice(count, 2, replace=False)) for _ in range(count // 3)]
    n = 2 * count + len(pairs)
    J = np.zeros((2 * count, n))
    for i in range(count):
        columns = [2 * i, 2 * i + 1, *(2 * count + k for k, pair in enumerate(pairs) if i in pair)]
        J[2 * i : 2 * i + 2, columns] = rng.normal(size=(2, len(columns)))
    if repeated:  # a row of the middle says what its neighbours say
        J = np.vstack([J, J[count - 2] - 2.0 * J[count]])
    J = J[:, rng.permutation(n)][rng.permutation(len(J))]
    return J, J @ rng.normal(size=n)


def memory(J: np.ndarray) -> Elimination:
    m, n = J.shape
    return elimination(make_plan(n, n, 0, m, [np.flatnonzero(row).tolist() for row in J]))


@pytest.fixture(scope="module", autouse=True)
def always_split():
    """Split also where it does not pay."""
    before, fronts.LARGEST_FRONT = fronts.LARGEST_FRONT, 1.0
    yield
    fronts.LARGEST_FRONT = before


nets = st.tuples(st.integers(0, 10_000), st.integers(8, 24), st.sampled_from(["chain", "ring", "net"]))


@given(nets, st.booleans())
@settings(max_examples=60, deadline=None)
def test_accelerations_solve_the_augmented_system(net, repeated):
    J, g = loops(*net, repeated)
    m, n = J.shape
    rng = np.random.default_rng(net[0])
    A = rng.normal(size=(n, n))
    M, f = A @ A.T + n * np.eye(n), rng.normal(size=n)
    e, a = memory(J), np.zeros(n)
    assert len(e.plan.fronts.each) > 0
    assert constrained_solution(M.ravel(), f, J.ravel().copy(), g.copy(), e, a) == 0
    augmented = np.block([[M, J.T], [J, np.zeros((m, m))]])
    expected = np.linalg.lstsq(augmented, np.concatenate([f, g]), rcond=1e-13)[0][:n]
    np.testing.assert_allclose(a, expected, rtol=1e-7, atol=1e-8)


@given(nets)
@settings(max_examples=40, deadline=None)
def test_shortest_solution_is_the_pseudoinverse(net):
    J, g = loops(*net)
    if np.linalg.cond(J) > 50:  # rows that nearly repeat one another are skipped on purpose
        return
    m, e = len(J), memory(J)
    for rows in (m, m - 3):
        shortest_solution(J.ravel(), g, rows, e)
        np.testing.assert_allclose(e.space.a0, np.linalg.pinv(J[:rows]) @ g[:rows], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", ["chain", "ring", "net"])
def test_free_velocities_are_as_many_as_the_rank_leaves(kind):
    J, g = loops(5, 12, kind)
    J[[3, 7]] = 0.0  # a singular position: two rows vanish
    g[[3, 7]] = 0.0
    m, n = J.shape
    e = memory(loops(5, 12, kind)[0])
    space = e.space
    free = eliminate_by_fronts(J.ravel(), e.plan.entries, g, m, e.plan.fronts, 1e-5, False, e.walk, space)
    assert free == n - np.linalg.matrix_rank(J)
    basis = np.zeros((n, free))
    for j in range(n):
        members, length = space.begin[j], space.count[j]
        basis[j, space.members[members : members + length]] = space.Z[space.row[j] : space.row[j] + length]
    np.testing.assert_allclose(J @ basis, 0.0, atol=1e-11 * np.abs(basis).max())
    np.testing.assert_allclose(J @ space.a0, g, atol=1e-10 * np.abs(space.a0).max())


def test_a_chain_is_walked_from_one_end_to_the_other():
    J, _ = loops(1, 20, "chain")
    pattern = [np.flatnonzero(row).tolist() for row in J]
    groups = blocks(pattern)
    found = fronts.make_fronts(pattern, groups, [False] * len(groups))
    assert len(found) == 20
    columns = [set(own) for _, own in found]
    assert all(len(a & b) == 1 for a, b in pairwise(columns))


def test_small_blocks_and_those_with_redundant_rows_stay_whole():
    for size, whole in ((4, False), (20, True)):
        pattern = [np.flatnonzero(row).tolist() for row in loops(2, size, "chain")[0]]
        assert fronts.make_fronts(pattern, blocks(pattern), [whole]) == []
