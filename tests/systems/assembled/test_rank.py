"""Constraint rows that depend on others: against the rank of dense matrices, and in long closed chains."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.conserving_hinges import ring
from jourdain.solvers.linear import saddle
from jourdain.solvers.linear.saddle import ConstraintRows


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 3), st.integers(0, 3), st.booleans())
def test_what_is_left_has_full_rank(seed, dependent, free, spoiled):
    """Rows of rank 1 and 2 with dependent ones of rank 0 (and of rank 1 when spoiled): exactly the surplus goes, from the lowest rank."""
    rng = np.random.default_rng(seed)
    n = 14
    base = rng.normal(size=(8, n)) * (rng.random((8, n)) < 0.5) + np.eye(8, n)
    rows = np.vstack([base, rng.normal(size=(dependent, 8)) @ base, rng.normal(size=(free, n))])
    rank = np.array([2] * 4 + [1] * 4 + [0] * (dependent + free))
    if spoiled:
        rows, rank = np.vstack([rows, base[4:6].sum(axis=0)]), np.append(rank, 1)
    i, j = np.nonzero(rows)
    dropped = ConstraintRows(i, j, rows.shape, rank, np.arange(n), n + np.arange(len(rows))).dependent(rows[i, j])
    whole = np.linalg.matrix_rank(rows, 1e-9)
    assert len(dropped) == len(rows) - whole
    assert np.linalg.matrix_rank(np.delete(rows, dropped, axis=0), 1e-9) == whole
    if not spoiled:
        assert np.all(rank[dropped] == 0)
    assert np.all(rank[dropped] < 2)


@pytest.mark.parametrize("n", [5, 150])
def test_a_planar_ring_has_three_rows_too_many(n, monkeypatch):
    """Of the five rows of the hinge that closes the tree two close the plane; nothing is treated as dense."""
    treated = []
    last = saddle._last
    monkeypatch.setattr(saddle, "_last", lambda rows: treated.append(len(rows)) or last(rows))
    s = ring(n)
    dropped = s.start.redundant(s.q0, s.v0, 0.0)
    assert len(dropped) == 3
    assert len({instance for instance, _ in dropped} - s.tree_pairs()) == 1
    assert treated == []


def test_the_ring_moves_without_them():
    sol = ring(6).simulate(0.2, 0.01, reduction="bodies")
    energy = sol["energy.total"]
    assert np.abs(energy - energy[0]).max() < 1e-11 * np.abs(sol["energy.kinetic"]).max()
    assert np.abs(sol["constraints.violation"]).max() < 1e-12
