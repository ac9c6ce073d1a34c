"""Few contacts by one factorisation: what holds, what opens, what slides, and that nothing is made worse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jourdain.solvers.complementarity.holding import hold
from jourdain.solvers.complementarity.laws import residual
from jourdain.solvers.complementarity.operator import measure
from jourdain.solvers.complementarity.problem import Problem
from jourdain.solvers.complementarity.solve import solution
from tests.solvers.complementarity.problems import box_on_plane, random_scene

FORMS = ("dense", "sparse", "bodies")


def held(problem: Problem, p: np.ndarray) -> tuple[int, float]:
    """Steps and residual of a trial from p on."""
    done, found, _, _ = hold(problem, p, 1e-14, *residual(problem, p))
    return done, found


@pytest.mark.parametrize("form", FORMS)
def test_a_box_that_rests_is_found_at_once_and_its_corners_share_the_load(form: str) -> None:
    """Twelve rows over six velocities, pressed down and pulled less than friction holds."""
    problem = box_on_plane([0.1, 0.05, -1.0, 0.0, 0.0, 0.0]).problem(form)
    measure(problem)
    p = np.zeros(12)
    done, found = held(problem, p)
    assert done <= 3 and found <= 1e-14
    np.testing.assert_allclose(p.reshape(4, 3)[:, 0], 0.25, atol=0.05)  # what presses down; the pull turns it a little
    np.testing.assert_allclose(np.abs(p.reshape(4, 3).sum(axis=0)), [1.0, 0.05, 0.1], atol=1e-9)


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 6), st.sampled_from(FORMS))
def test_from_a_good_guess_the_solution_is_found_to_rounding(seed: int, bodies: int, blocks: int, form: str) -> None:
    """Every law, small friction (one solution): near solutions that slide, stick and open are found from a guess that is off by a hundredth."""
    scene = random_scene(seed, bodies, blocks, mu=0.15)
    m = sum(map(len, scene.rows))
    options: dict[str, Any] = dict(compliance=np.full(m, 0.3))
    exact = solution(scene.problem(form, **options), tolerance=1e-13)
    problem, rng = scene.problem(form, **options), np.random.default_rng(seed)
    measure(problem)
    p = exact * (1.0 + 0.01 * rng.uniform(-1, 1, m))
    before = residual(problem, p)[0]
    _, found = held(problem, p)
    assert found <= before
    assert found == residual(problem, p)[0]
    if found <= 1e-12:
        np.testing.assert_allclose(p, exact, atol=1e-10 * max(1.0, np.abs(exact).max()))
    else:  # contacts on the edge of sliding may go to and fro; such a trial leaves the guess or something better
        assert found < before or before > 1e-12


def test_factors_serve_again_where_the_same_contacts_hold_and_give_the_same_bits() -> None:
    scene = box_on_plane([0.1, 0.05, -1.0, 0.0, 0.0, 0.0])
    ends = []
    for again in (True, False):
        problem = scene.problem("bodies")
        measure(problem)
        p = np.zeros(12)
        held(problem, p)
        assert problem.held == 12
        kept = problem.held
        problem.w[:] *= 1.01
        measure(problem)
        assert problem.held == 0
        problem.held = kept if again else 0
        assert held(problem, p)[1] <= 1e-14
        ends.append(p)
    assert np.array_equal(*ends)


def test_what_leaves_the_plane_has_no_impulse() -> None:
    problem = box_on_plane([0.0, 0.0, 0.0, 2.0, 0.0, -1.0]).problem("dense")
    problem.w[:] = np.abs(problem.w) + 0.1
    measure(problem)
    p = np.full(12, 0.1)
    done, found = held(problem, p)
    assert found <= 1e-14 or done == 0
