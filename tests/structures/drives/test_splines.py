"""Splines along a path: spaces of refined bases, derivatives, the frequency cut."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from jourdain.errors import InputError
from jourdain.structures.drives.moving_belt import frequency_cut, moving_belt
from jourdain.structures.drives.splines import HierarchicalSplines, SpanSplines, quadrature


def projection_residual(basis: HierarchicalSplines, other: HierarchicalSplines, columns: np.ndarray) -> float:
    """How much of functions of another basis is left when they are projected."""
    s, weight = quadrature(other)
    a, b = basis.matrix(s) * np.sqrt(weight)[:, None], other.matrix(s)[:, columns] * np.sqrt(weight)[:, None]
    left = b - a @ np.linalg.lstsq(a, b, rcond=None)[0]
    return float(np.linalg.norm(left) / np.linalg.norm(b))


@pytest.mark.parametrize("choice", ["odd", "kraft"])
def test_T8_refined_basis_spans_the_fine_space(choice: str) -> None:
    whole = HierarchicalSplines(1.0, 16, [[(0.0, 1.0)], [(0.0, 1.0)]], choice)
    fine = HierarchicalSplines(1.0, 64)
    assert whole.size == fine.size == 64
    assert projection_residual(whole, fine, np.arange(64)) < 1e-12
    assert np.linalg.cond(moving_belt(whole, 1.0).ww) < 1e5


def test_T8_local_refinement_spans_the_fine_space_inside_its_region() -> None:
    local = HierarchicalSplines(1.0, 16, [[(0.2, 0.7)]], "kraft")
    fine = HierarchicalSplines(1.0, 32)
    inside = np.flatnonzero((fine.index * fine.spacing >= 0.2) & ((fine.index + 4) * fine.spacing <= 0.7))
    assert inside.size > 5
    assert projection_residual(local, fine, inside) < 1e-12
    # with every other fine spline, what is missing dies away from the borders of the region
    odd = HierarchicalSplines(1.0, 64, [[(0.05, 0.95)]])
    finer = HierarchicalSplines(1.0, 128)
    middle = np.flatnonzero(np.abs(finer.centre - 0.5) < 0.05)
    assert projection_residual(odd, finer, middle) < 1e-12
    outside = np.flatnonzero((fine.index % 2 == 1) & (fine.centre > 0.8))
    assert projection_residual(local, fine, outside) > 1e-2


def test_existing_functions_stay_when_levels_are_added() -> None:
    s = np.linspace(0, 0.65, 101)
    one, two = HierarchicalSplines(0.65, 24), HierarchicalSplines(0.65, 24, [[(0.5, 0.8)], [(0.6, 0.7)]])
    assert_allclose(two.matrix(s)[:, :24], one.matrix(s), atol=1e-15)
    assert set(two.level) == {0, 1, 2}


@pytest.mark.parametrize("degree", [3, 5])
def test_derivatives(degree: int) -> None:
    basis = HierarchicalSplines(0.65, 20, [[(0.6, 0.9)]], degree=degree)
    s, h = np.linspace(0.0013, 0.64, 57), 1e-6
    for d in range(2):
        slope = (basis.matrix(s + h, d) - basis.matrix(s - h, d)) / (2 * h)
        assert_allclose(basis.matrix(s, d + 1), slope, atol=2e-7 * np.abs(slope).max())
    assert_allclose(basis.matrix(s)[:, :20].sum(axis=1), 1.0, atol=1e-14)
    assert_allclose(basis.matrix(s + 0.65), basis.matrix(s), atol=1e-12)


def test_T8_cut_keeps_statics_and_bounds_frequencies() -> None:
    L, F, mass, limit = 0.65, 3000.0, 1.85, 1000.0
    basis = HierarchicalSplines(L, 24, [[(0.1, 0.4)], [(0.1, 0.4)]])
    belt = moving_belt(basis, mass)
    s = np.linspace(0.12, 0.38, 130)
    held = 4e9 * 0.002 * basis.matrix(s).T @ basis.matrix(s)
    C = belt.C(F, 0.0) + held
    load = basis.matrix([0.55])[0] * -50.0
    static = np.linalg.solve(C, load)
    own = belt.own_frequencies(F, 0.0, held)
    reached = {}
    for name, cut in (("dynamic", 1e9), ("mixed", limit), ("relaxed", 1e-3)):
        mixed = frequency_cut(own, np.diag(C), cut)
        A = mixed.state_matrix(belt.M, belt.D(0.0), C)
        b = np.zeros(A.shape[0])
        n, slow = basis.size, np.flatnonzero(mixed.dynamic)
        fast = ~mixed.dynamic
        b[:n][fast] = load[fast] / mixed.relaxation[fast]
        b[n:] = np.linalg.solve(belt.M[np.ix_(slow, slow)], load[slow])
        assert_allclose(np.linalg.solve(A, -b)[:n], static, rtol=1e-8, atol=1e-8 * np.abs(static).max())
        # forces of the arc that holds it, by stations
        force, exact = (held @ x for x in (np.linalg.solve(A, -b)[:n], static))
        assert np.abs(force - exact).max() < 0.01 * np.abs(exact).max()
        reached[name] = mixed.frequencies(belt.M, belt.D(0.0), C).max()
    assert 0 < frequency_cut(own, np.diag(C), limit).dynamic.sum() < basis.size
    # relaxation rates of overlapping functions add up: with the least T_k the cut is met within their number, with longer ones at the limit
    worst = reached["mixed"] / limit
    assert 1.0 < worst < 30.0
    slower = frequency_cut(own, np.diag(C), limit, time=1.05 * worst / (2 * np.pi * limit))
    assert slower.frequencies(belt.M, belt.D(0.0), C).max() < 1.2 * limit
    assert reached["dynamic"] > 5 * limit


def test_bad_input() -> None:
    for make in (lambda: HierarchicalSplines(-1.0, 20), lambda: HierarchicalSplines(1.0, 4), lambda: HierarchicalSplines(1.0, 20, degree=2),
                 lambda: HierarchicalSplines(1.0, 20, choice="all"), lambda: SpanSplines(1.0, 2), lambda: frequency_cut(np.ones(2), np.ones(2), 0.0),
                 lambda: frequency_cut(np.ones(2), np.ones(2), 1000.0, 1e-6), lambda: moving_belt(SpanSplines(1.0, 9), 0.0),
                 lambda: moving_belt(SpanSplines(1.0, 9), 1.0, bending="exact")):  # fmt: skip
        with pytest.raises(InputError):
            make()
