"""Block Gauss–Seidel and the residual against closed forms of one contact, other forms of the same problem, and invariances."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jourdain.solvers.complementarity.build import dense_problem
from jourdain.solvers.complementarity.gauss_seidel import gauss_seidel
from jourdain.solvers.complementarity.laws import relaxation_gap, residual
from jourdain.solvers.complementarity.problem import Problem
from jourdain.solvers.complementarity.solve import solve
from tests.solvers.complementarity.problems import (
    Scene,
    box_on_plane,
    column_of_spheres,
    contact_rows,
    frame,
    positive,
    random_scene,
    rigid,
)

FORMS = ("dense", "sparse", "bodies")


def solved(problem: Problem, tolerance: float = 1e-13, limit: int = 20_000, p: np.ndarray | None = None) -> np.ndarray:
    p = np.zeros(problem.w.size) if p is None else p
    sweeps, found, worst = gauss_seidel(problem, p, tolerance, limit)
    assert found <= max(tolerance, 1e-12), (sweeps, found, worst)
    return p


def coulomb_defect(W: np.ndarray, w: np.ndarray, mu: float, p: np.ndarray) -> float:
    """What is wrong with the impulse of one contact, by Coulomb's law as the textbook states it."""
    u = W @ p + w
    slip, friction = np.hypot(u[1], u[2]), np.hypot(p[1], p[2])
    return max(
        -p[0], -u[0], abs(p[0] * u[0]), friction - mu * p[0],  # does not pull, does not enter, acts where closed, inside the cone
        slip * (mu * p[0] - friction), abs(u[1] * p[2] - u[2] * p[1]), u[1] * p[1] + u[2] * p[2] - 0.0,  # slides at the cone, backwards
    )  # fmt: skip


@given(st.integers(0, 10**6), st.floats(0.0, 3.0), st.floats(0.0, 5.0))
def test_one_contact_obeys_coulomb(seed: int, mu: float, digits: float) -> None:
    rng = np.random.default_rng(seed)
    W, w = positive(rng, 3, 10.0**digits), rng.normal(size=3)
    p = np.zeros(3)
    _, found, _ = gauss_seidel(dense_problem(W, w, ["contact"], [mu]), p, 0.0, 100)
    size = max(1.0, np.abs(W).max() * np.abs(p).max())
    assert found < 1e-13 * size
    assert coulomb_defect(W, w, mu, p) < 1e-11 * size * max(1.0, np.abs(p).max())


def test_one_contact_in_closed_form() -> None:
    m, mu = 2.0, 0.3
    W = np.eye(3) / m
    for w, expected in (
        ((0.1, 1.0, 0.0), (0.0, 0.0, 0.0)),  # leaves
        ((-1.0, 0.2, 0.1), (2.0, -0.4, -0.2)),  # sticks: |w_T| < μ |w_n|
        ((-1.0, 3.0, 4.0), (2.0, -0.36, -0.48)),  # slides with μ p_n against the motion
        ((-1.0, 0.0, 0.0), (2.0, 0.0, 0.0)),
        ((0.0, 1.0, 0.0), (0.0, 0.0, 0.0)),
    ):
        np.testing.assert_allclose(solved(dense_problem(W, w, ["contact"], [mu])), expected, atol=1e-15)


def test_a_sphere_that_spins_on_the_ground() -> None:
    """Sliding: μ p_n; rolling after 2/7 of the slip is gone."""
    m, R, spin = 1.5, 0.1, 10.0
    up = np.array([0.0, 0.0, 1.0])
    scene = Scene([rigid(m, R)], np.array([[0.0, 0.0, -0.5, 0.0, spin, 0.0]]))
    scene.add("contact", (-1, 0), contact_rows(frame(up), None, -R * up), 0.1)
    p = solved(scene.problem())
    assert p[0] == pytest.approx(m * 0.5, rel=1e-14) and np.hypot(p[1], p[2]) == pytest.approx(0.1 * p[0], rel=1e-14)
    scene.coefficients = [(5.0, 5.0)]
    p = solved(scene.problem())
    assert np.hypot(p[1], p[2]) == pytest.approx(m * 2.0 / 7.0 * R * spin, rel=1e-13)


@pytest.mark.parametrize("law, bound, w, expected", [
    ("unilateral", 0.0, -1.0, 0.25), ("unilateral", 0.0, 1.0, 0.0), ("bilateral", 0.0, 1.0, -0.25),
    ("friction", 0.1, 1.0, -0.1), ("friction", 0.1, -1.0, 0.1), ("friction", 1.0, 1.0, -0.25),
])  # fmt: skip
def test_one_row_in_closed_form(law: str, bound: float, w: float, expected: float) -> None:
    assert solved(dense_problem([[4.0]], [w], [law], [bound]))[0] == pytest.approx(expected, rel=1e-15)


@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 9))
def test_forms_of_the_operator_agree(seed: int, bodies: int, blocks: int) -> None:
    scene = random_scene(seed, bodies, blocks)
    rng = np.random.default_rng(seed)
    p = rng.normal(size=sum(map(len, scene.rows)))
    compliance = rng.uniform(0.0, 0.1, p.size)
    found = [scene.problem(form, compliance=compliance) for form in FORMS]
    told = [residual(problem, p) for problem in found]
    exact = scene.W @ p + compliance * p + scene.w
    for problem, (size, worst, _) in zip(found, told, strict=True):
        np.testing.assert_allclose(problem.u, exact, atol=1e-12 * np.abs(exact).max())
        np.testing.assert_allclose(problem.local, found[0].local, rtol=1e-6, atol=1e-9)
        assert size == pytest.approx(told[0][0], rel=1e-10) and worst == told[0][1]


@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 5), st.sampled_from(FORMS))
def test_random_scenes_with_compliance(seed: int, bodies: int, blocks: int, form: str) -> None:
    scene = random_scene(seed, bodies, blocks)
    m = sum(map(len, scene.rows))
    problem = scene.problem(form, compliance=np.full(m, 0.05))
    p = np.zeros(m)
    _, found, _ = solve(problem, p, 1e-12, 20_000)  # sweeps alone may go round in circles where cones are wide
    assert found < 2e-12


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("v, mu", [((0.1, 0.2, -1.0, 0.0, 0.0, 0.0), 0.5), ((3.0, 0.2, -1.0, 0.0, 0.0, 0.4), 0.2)])
def test_a_box_on_four_corners(form: str, v: tuple[float, ...], mu: float) -> None:
    """12 rows for 6 velocities: impulses are not unique, the motion is.  The first sticks; the second slides without tipping."""
    problem = box_on_plane(v, mu).problem(form)
    p = solved(problem, 1e-12)
    assert p[::3].sum() == pytest.approx(1.0, rel=1e-11)  # all of the momentum
    assert np.abs(problem.u[::3]).max() < 1e-11
    if mu == 0.5:
        assert np.abs(problem.u).max() < 1e-11


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("ratio", [1.0, 20.0, 1e-4])
def test_a_column_of_spheres_carries_its_momentum(form: str, ratio: float) -> None:
    masses = [1.0, 1.0, ratio]
    problem = column_of_spheres(masses, spin=(3.0, 0.0, 0.0)).problem(form)
    p = solved(problem, 1e-11, 40_000)
    carried = 0.1 * np.cumsum(masses[::-1])[::-1]
    np.testing.assert_allclose(p[::3], carried, rtol=1e-8)


@given(st.integers(0, 10**6), st.floats(0.0, 6.3))
def test_tangents_may_be_turned(seed: int, turn: float) -> None:
    rng = np.random.default_rng(seed)
    v = rng.normal(size=6) - [0, 0, 1, 0, 0, 0]
    found = []
    for angle in (0.0, turn):
        problem = box_on_plane(v, 0.4, turn=angle).problem(compliance=np.full(12, 1e-2))
        solved(problem, 1e-13)
        found.append(problem.bodies.v.copy())
    np.testing.assert_allclose(found[1], found[0], atol=1e-11)


@given(st.integers(0, 10**6), st.sampled_from([0.25, 8.0]))
def test_other_units_give_the_same_bits(seed: int, factor: float) -> None:
    """Powers of two times all velocities: the same iterations, and impulses scaled without rounding."""
    scene = random_scene(seed, 3, 5, others=False)
    one, other = scene.problem(), scene.problem(scale=factor)
    p, q = np.zeros((2, one.w.size))
    first, second = gauss_seidel(one, p, 1e-10, 300), gauss_seidel(other, q, factor * 1e-10, 300)
    assert first[0] == second[0] and first[2] == second[2] and second[1] == factor * first[1]
    np.testing.assert_array_equal(q, factor * p)


def test_the_same_bits_every_time() -> None:
    problem = random_scene(5, 6, 20).problem()
    p, q = np.zeros((2, problem.w.size))
    assert gauss_seidel(problem, p, 1e-10, 200) == gauss_seidel(problem, q, 1e-10, 200)
    np.testing.assert_array_equal(p, q)


def test_a_warm_start_at_the_solution_takes_no_sweep() -> None:
    problem = box_on_plane((1.0, 0.2, -1.0, 0.1, 0.0, 0.4)).problem()
    p = solved(problem, 1e-12)
    before = p.copy()
    assert gauss_seidel(problem, p, 1e-11, 100)[0] == 0
    np.testing.assert_array_equal(p, before)


@given(st.integers(0, 10**6), st.floats(0.05, 1.0), st.floats(0.05, 1.0))
def test_friction_that_differs_by_direction(seed: int, mu1: float, mu2: float) -> None:
    """Inside the ellipse at rest; on it when sliding, with the velocity normal to it (most dissipation)."""
    rng = np.random.default_rng(seed)
    W, w = positive(rng, 3, 10.0), rng.normal(size=3)
    w[0] = -abs(w[0])
    problem = dense_problem(W, w, ["contact"], [(mu1, mu2)])
    p = solved(problem, 1e-14)
    inside = p[0] ** 2 - (p[1] / mu1) ** 2 - (p[2] / mu2) ** 2
    u, size = problem.u, max(1.0, p[0] ** 2)
    assert inside > -1e-11 * size and abs(u[0]) < 1e-11
    if inside > 1e-9 * size:
        assert np.hypot(u[1], u[2]) < 1e-11
    else:
        normal = np.array([p[1] / mu1**2, p[2] / mu2**2])
        assert abs(u[1] * normal[1] - u[2] * normal[0]) < 1e-9 * size / min(mu1, mu2) ** 2 and u[1:] @ normal < 1e-11
    for angle in np.linspace(0.0, 2.0 * np.pi, 50):  # no allowed impulse would take more
        other = p[0] * np.array([mu1 * np.cos(angle), mu2 * np.sin(angle)])
        assert u[1:] @ p[1:] <= u[1:] @ other + 1e-11


def test_the_relaxed_cone_states_how_far_it_opens() -> None:
    scene = Scene([rigid(1.0, 0.1)], np.array([[2.0, 0.0, -0.1, 0.0, 0.0, 0.0]]))
    scene.add("contact", (-1, 0), contact_rows(frame(np.array([0.0, 0.0, 1.0])), None, np.zeros(3)), 0.3)
    problem = scene.problem(relaxed=True)
    p = solved(problem, 1e-13)
    slip = np.hypot(*problem.u[1:3])
    assert problem.u[0] == pytest.approx(0.3 * slip, rel=1e-9) and relaxation_gap(problem, p) == pytest.approx(0.3 * slip, rel=1e-12)
    exact = scene.problem()
    solved(exact)
    assert abs(exact.u[0]) < 1e-15


def test_blocks_that_nothing_moves() -> None:
    """Rows of zeros (two bodies of the ground, a planar model's second tangent) neither divide by zero nor hide that they cannot be met."""
    W = np.diag([1.0, 1.0, 0.0])
    np.testing.assert_allclose(solved(dense_problem(W, [-1.0, 0.2, 0.0], ["contact"], [0.5])), [1.0, -0.2, 0.0])
    problem = dense_problem(np.zeros((4, 4)), [-1.0, 0.0, 0.0, 0.5], ["contact", "unilateral"], [0.5, 0.0])
    p = np.zeros(4)
    sweeps, found, worst = gauss_seidel(problem, p, 1e-12, 40)
    assert sweeps == 40 and found == pytest.approx(1.0) and worst == 0 and not p.any()


def test_no_blocks() -> None:
    assert gauss_seidel(dense_problem(np.zeros((0, 0)), [], []), np.zeros(0), 1e-12, 10) == (0, 0.0, -1)


def test_a_number_that_is_not_finite_ends_at_once() -> None:
    problem = box_on_plane((0.0, 0.0, -1.0, 0.0, 0.0, 0.0)).problem()
    problem.w[4] = np.nan
    sweeps, found, worst = gauss_seidel(problem, np.zeros(12), 1e-12, 1000)
    assert (sweeps, found, worst) == (0, np.inf, 1)
