"""The order of elimination: the tree it follows, and fill that grows with the size of chains, rings and lattices."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.conserving_hinges import SHAPES
from jourdain.solvers.linear.order import Tree, elimination_order
from jourdain.solvers.linear.sparse_lu import OK, SingularMatrix, SparseLU


def saddle(links, bodies, size, rows, rng, fixed=0):
    """[M Gᵀ; G 0] of bodies of ``size`` coordinates, ``rows`` rows for each link of bodies, ``fixed`` rows that hold the first body."""
    G = sp.lil_matrix((len(links) * rows + fixed, bodies * size))
    for k, link in enumerate(links):
        for b in link:
            G[k * rows : (k + 1) * rows, b * size : (b + 1) * size] = rng.normal(size=(rows, size))
    if fixed:
        G[-fixed:, :size] = rng.normal(size=(fixed, size))
    K = sp.csc_matrix(sp.bmat([[sp.diags(rng.uniform(0.5, 2.0, bodies * size)), G.T], [G, None]]))
    K.sort_indices()
    groups = np.concatenate([np.repeat(np.arange(bodies), size), bodies + np.repeat(np.arange(len(links)), rows), np.zeros(fixed, int)])
    return K, groups


def test_every_body_of_a_chain_owns_the_joint_to_the_one_before():
    links = [(i, i + 1) for i in range(6)]
    K, groups = saddle(links, 7, 6, 5, np.random.default_rng(1), fixed=5)
    tree = Tree(groups, 42, K.indptr, K.indices)
    assert tree.owner == {7 + k: k + 1 for k in range(6)}
    assert tree.parents == {0: (), **{k + 1: (k,) for k in range(6)}}
    assert tree.closing == []


def test_the_joint_that_closes_a_ring_comes_last():
    links = [(i, (i + 1) % 7) for i in range(7)]
    K, groups = saddle(links, 7, 6, 5, np.random.default_rng(2), fixed=5)
    tree = Tree(groups, 42, K.indptr, K.indices)
    (closing,) = tree.closing
    assert tree.loop(closing) | {0} == set(range(7))
    columns = elimination_order(K.indptr, K.indices, groups, 42)
    assert set(groups[columns[-5:]]) <= {closing, 0}


def test_two_constraints_between_the_same_bodies_stand_together():
    K, groups = saddle([(0, 1), (0, 1)], 2, 6, 2, np.random.default_rng(3), fixed=6)
    assert Tree(groups, 12, K.indptr, K.indices).owner == {2: 1, 3: 1}


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 9), st.integers(0, 5), st.integers(1, 3))
def test_random_networks_are_ordered_and_solved(seed, bodies, loops, rows):
    rng = np.random.default_rng(seed)
    links = [(int(rng.integers(i)), i) for i in range(1, bodies)]
    links += [tuple(map(int, rng.choice(bodies, min(bodies, int(rng.integers(2, 4))), replace=False))) for _ in range(loops)]
    K, groups = saddle(links, bodies, 6, rows, rng, fixed=int(rng.integers(0, 4)))
    columns = elimination_order(K.indptr, K.indices, groups, 6 * bodies)
    assert sorted(columns) == list(range(K.shape[0]))
    x = rng.normal(size=K.shape[0])
    try:
        lu = SparseLU(K.indptr, K.indices, K.data, columns)
    except SingularMatrix:
        assert np.linalg.matrix_rank(K.toarray()) < K.shape[0]
        return
    assert lu.factorise(K.data) == OK
    assert lu.refined(K.data, K @ x) == pytest.approx(x, abs=1e-9 * max(1.0, np.linalg.cond(K.toarray())))


@pytest.mark.parametrize("reduction", ["none", "bodies"])
@pytest.mark.parametrize("shape", SHAPES)
def test_fill_grows_with_the_number_of_bodies(shape, reduction):
    fills = [SHAPES[shape](n).report(0.005, reduction=reduction)["fill"] for n in (20, 40)]
    assert fills[1] < 2.3 * fills[0]
