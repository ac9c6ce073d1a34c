"""All solvers against each other, and where every one of them must arrive: the solution that is unique, or a clear end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls

from jourdain.errors import InputError, SolverError
from jourdain.solvers.complementarity.build import block_sparse_problem, body_problem, dense_problem
from jourdain.solvers.complementarity.first_order import first_order
from jourdain.solvers.complementarity.gauss_seidel import gauss_seidel
from jourdain.solvers.complementarity.laws import relaxation_gap, residual
from jourdain.solvers.complementarity.newton import newton
from jourdain.solvers.complementarity.operator import measure, prepare
from jourdain.solvers.complementarity.pivoting import pivoting
from jourdain.solvers.complementarity.problem import BODIES, DENSE, room
from jourdain.solvers.complementarity.solve import solution, solve
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

ITERATIVE = {"gauss_seidel": (gauss_seidel, 40_000), "newton": (newton, 200), "first_order": (first_order, 40_000), "solve": (solve, 4000)}
FORMS = ("dense", "sparse", "bodies")
Solver = Callable[..., tuple[int, float, int]]


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 6), st.sampled_from(FORMS), st.booleans())
def test_solvers_agree_where_the_solution_is_unique(seed: int, bodies: int, blocks: int, form: str, relaxed: bool) -> None:
    """Friction small enough for one solution (W + C well conditioned, small μ), every law, every form, exact and relaxed."""
    scene = random_scene(seed, bodies, blocks, mu=0.15)
    m = sum(map(len, scene.rows))
    problem = scene.problem(form, compliance=np.full(m, 0.3), relaxed=relaxed)
    found = {}
    for name, (solver, limit) in ITERATIVE.items():
        p = np.zeros(m)
        told = solver(problem, p, 1e-12, limit)
        assert told[1] <= 1e-11, (name, told)
        found[name] = p
    for p in found.values():
        np.testing.assert_allclose(p, found["newton"], atol=1e-9 * max(1.0, np.abs(p).max()))


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.integers(1, 7), st.sampled_from(FORMS))
def test_frictionless_problems_have_one_motion(seed: int, blocks: int, form: str) -> None:
    """Redundant rows (more than velocities): p is not unique, u is; pivots, Newton and sweeps find the same."""
    rng = np.random.default_rng(seed)
    scene = random_scene(seed, 1, 0)
    for _ in range(blocks + 3):
        J = np.zeros(12)
        J[6:] = rng.normal(size=6) + [0.0, 0.0, 3.0, 0.0, 0.0, 0.0]
        scene.add("unilateral", (-1, 0), J)
    problem = scene.problem(form)
    motions = []
    for solver, limit in ((pivoting, 500), (newton, 200), (solve, 2000), (gauss_seidel, 100_000)):
        p = np.zeros(blocks + 3)
        told = solver(problem, p, 1e-11, limit)
        assert told[1] < 1e-9, (solver.__name__, told)
        motions.append(problem.u.copy())
    for u in motions[1:]:
        np.testing.assert_allclose(u, motions[0], atol=1e-6)


@given(st.integers(0, 10**6), st.integers(1, 2))
def test_relaxed_problems_are_minima(seed: int, contacts: int) -> None:
    """The convex relaxation against the minimum of ½ pᵀ W p + wᵀ p over cones of many edges inside the round ones (by SciPy's NNLS)."""
    rng = np.random.default_rng(seed)
    m = 3 * contacts
    W, w, mu = positive(rng, m, 5.0), rng.normal(size=m), rng.uniform(0.1, 0.8)
    p = solution(dense_problem(W, w, ["contact"] * contacts, np.full(contacts, mu), relaxed=True))
    angle = np.linspace(0.0, 2.0 * np.pi, 400, endpoint=False)
    edges = np.kron(np.eye(contacts), np.array([np.ones(400), mu * np.cos(angle), mu * np.sin(angle)]))
    L = np.linalg.cholesky(W)
    other = edges @ nnls(L.T @ edges, -np.linalg.solve(L, w))[0]
    cost, theirs = (0.5 * x @ W @ x + w @ x for x in (p, other))
    assert theirs - 1e-3 * (1.0 + abs(theirs)) < cost <= theirs + 1e-12
    for k in range(contacts):  # u in the dual cone, normal to p
        n, t, u = p[3 * k], p[3 * k + 1 : 3 * k + 3], (W @ p + w)[3 * k : 3 * k + 3]
        assert np.hypot(*t) <= mu * n + 1e-9 and mu * np.hypot(*u[1:]) <= u[0] + 1e-9 and abs(n * u[0] + t @ u[1:]) < 1e-9


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("ratio", [1.0, 1e4, 1e-4])
def test_heavy_spheres_on_light_ones(form: str, ratio: float) -> None:
    """Mass ratio 1 : 10⁴, on which sweeps alone creep: impulses are the momenta above."""
    masses = [1.0, 1.0, ratio]
    problem = column_of_spheres(masses, spin=(3.0, 0.0, 0.0)).problem(form)
    p = solution(problem, tolerance=1e-14)
    np.testing.assert_allclose(p[::3], 0.1 * np.cumsum(masses[::-1])[::-1], rtol=1e-11)


@pytest.mark.parametrize("form", ["sparse", "bodies"])
def test_a_tall_column_is_a_band(form: str) -> None:
    """300 spheres, 900 rows (too many for a dense matrix), for which sweeps need of the order of 300²: shuffled rows are a narrow band again."""
    scene = column_of_spheres([1.0] * 300, spin=(3.0, 0.0, 0.0))
    shuffled = np.random.default_rng(1).permutation(300)
    for part in ("rows", "pairs", "laws", "coefficients", "add_w"):
        setattr(scene, part, [getattr(scene, part)[k] for k in shuffled])
    problem = scene.problem(form)
    p = np.zeros(900)
    _, found, _ = solve(problem, p, 1e-12, 100)
    assert found < 1e-10
    carried = 0.1 * (300.0 - np.arange(300))
    np.testing.assert_allclose(p[::3], carried[shuffled], rtol=1e-9)


@pytest.mark.parametrize("form", FORMS)
@given(st.integers(0, 10**6))
@settings(max_examples=20)
def test_a_box_on_four_corners(form: str, seed: int) -> None:
    """12 rows of rank 6 in any motion, to 1e-12."""
    rng = np.random.default_rng(seed)
    v = rng.normal(size=6) - [0.0, 0.0, 1.0, 0.0, 0.0, 0.0]
    problem = box_on_plane(v, rng.uniform(0.05, 0.9)).problem(form)
    p = solution(problem, tolerance=1e-12)
    assert residual(problem, p)[0] <= 1e-12


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.integers(1, 8), st.integers(1, 14), st.sampled_from(FORMS))
def test_random_scenes_are_solved(seed: int, bodies: int, blocks: int, form: str) -> None:
    """Contacts alone, which always have a solution (no normal of them needs another to open)."""
    problem = random_scene(seed, bodies, blocks, others=False).problem(form)
    p = np.zeros(problem.w.size)
    done, found, worst = solve(problem, p, 1e-11, 4000)
    assert found <= 1e-10, (done, found, worst)
    np.testing.assert_array_equal(p[::3] >= 0.0, True)
    for k in range(blocks):
        assert np.hypot(p[3 * k + 1], p[3 * k + 2]) <= problem.coefficient[k, 0] * p[3 * k] + 1e-9


@pytest.mark.parametrize("name", ITERATIVE)
def test_other_units_give_the_same_bits(name: str) -> None:
    solver, _ = ITERATIVE[name]
    scene = random_scene(11, 4, 8, others=False)
    one, other = scene.problem(), scene.problem(scale=4.0)
    p, q = np.zeros((2, one.w.size))
    first, second = solver(one, p, 1e-10, 30), solver(other, q, 4e-10, 30)
    assert first[0] == second[0] and second[1] == 4.0 * first[1]
    np.testing.assert_array_equal(q, 4.0 * p)


@pytest.mark.parametrize("name", ITERATIVE)
def test_the_same_bits_every_time(name: str) -> None:
    solver, _ = ITERATIVE[name]
    problem = random_scene(5, 6, 20).problem()
    p, q = np.zeros((2, problem.w.size))
    assert solver(problem, p, 1e-10, 50) == solver(problem, q, 1e-10, 50)
    np.testing.assert_array_equal(p, q)


@pytest.mark.parametrize("name", ITERATIVE)
def test_tangents_may_be_turned(name: str) -> None:
    solver, limit = ITERATIVE[name]
    motions = []
    for turn in (0.0, 0.7, 2.0):
        problem = box_on_plane((2.0, 0.2, -1.0, 0.3, 0.0, 0.4), 0.4, turn=turn).problem(compliance=np.full(12, 1e-2))
        assert solver(problem, np.zeros(12), 1e-13, limit)[1] < 1e-12
        motions.append(problem.bodies.v.copy())
    np.testing.assert_allclose(motions[1:], [motions[0]] * 2, atol=1e-11)


@pytest.mark.parametrize("name", [*ITERATIVE, "pivoting"])
def test_what_cannot_be_met_ends_with_the_worst_block(name: str) -> None:
    """Two stops that contradict each other, beside a contact that is well."""
    solver: Any = pivoting if name == "pivoting" else ITERATIVE[name][0]
    W = np.array([[1.0, -1.0, 0.0], [-1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    problem = dense_problem(W, [-1.0, -1.0, -1.0], ["unilateral"] * 3)
    p = np.zeros(3)
    done, found, worst = solver(problem, p, 1e-10, 300)
    assert found > 0.1 and worst in (0, 1) and np.isfinite(p).all()
    with pytest.raises(SolverError, match=r"block [01] \(unilateral\)"):
        solution(problem, limit=300)


@pytest.mark.parametrize("name", ITERATIVE)
def test_painleve_ends(name: str) -> None:
    """A block that is not positive definite (W given by a caller, not by bodies): whatever comes out is finite and its residual true."""
    W = np.array([[0.1, -1.0, 0.0], [-1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    problem = dense_problem(W, [-1.0, -0.5, 0.0], ["contact"], [0.8])
    p = np.zeros(3)
    _, found, _ = ITERATIVE[name][0](problem, p, 1e-10, 100)
    assert np.isfinite(p).all() and found == residual(problem, p)[0]


def test_numbers_that_are_not_finite_end_at_once() -> None:
    for solver, _ in ITERATIVE.values():
        problem = box_on_plane((0.0, 0.0, -1.0, 0.0, 0.0, 0.0)).problem()
        problem.w[4] = np.nan
        done, found, worst = solver(problem, np.zeros(12), 1e-12, 1000)
        assert (done, found, worst) == (0, np.inf, 1)


def test_wrong_problems_are_named() -> None:
    with pytest.raises(InputError, match="law 'glue'"):
        dense_problem(np.eye(1), [0.0], ["glue"])
    with pytest.raises(InputError, match="w: shape"):
        dense_problem(np.eye(3), [0.0], ["contact"])
    with pytest.raises(InputError, match=r"W: entry \(0, 1\)"):
        dense_problem([[1.0, np.nan], [0.0, 1.0]], [0.0, 0.0], ["bilateral"] * 2)
    with pytest.raises(InputError, match=r"block 0 \(contact\): coefficient -0.1"):
        dense_problem(np.eye(3), np.zeros(3), ["contact"], [-0.1])
    with pytest.raises(InputError, match="row 0: compliance"):
        dense_problem(np.eye(1), [0.0], ["bilateral"], compliance=[-1.0])
    with pytest.raises(InputError, match="numbered"):
        body_problem(np.zeros((1, 12)), [(0, 3)], np.eye(6)[None], [0.0], ["bilateral"])
    with pytest.raises(InputError, match="column 7"):
        block_sparse_problem([0, 1], [7], [0], [1.0], [0.0], ["bilateral"])
    with pytest.raises(InputError, match="leaves the array"):
        block_sparse_problem([0, 1], [0], [0], [1.0], np.zeros(3), ["contact"])
    with pytest.raises(InputError, match="start of shape"):
        solution(dense_problem(np.eye(1), [0.0], ["bilateral"]), np.zeros(2))


def test_the_relaxed_cone_states_how_far_it_opens() -> None:
    for solver, limit in ITERATIVE.values():
        scene = Scene([rigid(1.0, 0.1)], np.array([[2.0, 0.0, -0.1, 0.0, 0.0, 0.0]]))
        scene.add("contact", (-1, 0), contact_rows(frame(np.array([0.0, 0.0, 1.0])), None, np.zeros(3)), 0.3)
        problem, p = scene.problem(relaxed=True), np.zeros(3)
        assert solver(problem, p, 1e-12, limit)[1] < 1e-11
        assert relaxation_gap(problem, p) == pytest.approx(problem.u[0], rel=1e-9) and problem.u[0] > 0.5


@pytest.mark.parametrize("name", ITERATIVE)
@pytest.mark.parametrize("form", [DENSE, BODIES])
def test_a_larger_room_used_again_gives_the_same_bits(name: str, form: int) -> None:
    """As stepping engines use it: one room, filled with other problems of other sizes."""
    solver, _ = ITERATIVE[name]
    made = room(30, 90, form, bodies=9)
    for seed, bodies, blocks in ((1, 6, 20), (2, 3, 5), (3, 7, 11)):
        scene = random_scene(seed, bodies, blocks)
        exact = scene.problem("dense" if form == DENSE else "bodies")
        made.blocks, m = blocks, exact.w.size
        made.law[:blocks], made.row[: blocks + 1], made.coefficient[:blocks] = exact.law, exact.row, exact.coefficient
        made.w[:m] = exact.w
        if form == DENSE:
            made.dense[:m, :m] = exact.dense
        else:
            made.bodies.count = bodies
            for part in ("pair", "J", "inverse_mass"):
                given = getattr(exact.bodies, part)
                getattr(made.bodies, part)[: given.size] = given
        prepare(made)
        p, q = np.zeros(m), np.zeros(90)
        assert solver(exact, p, 1e-10, 25) == solver(made, q, 1e-10, 25)
        np.testing.assert_array_equal(q[:m], p)
        assert not q[m:].any()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("relaxed", (False, True))
def test_what_is_only_measured_is_solved_to_the_same_bits(form: str, relaxed: bool) -> None:
    """Impulses that meet the laws need no blocks alone; where they do not, the solver finds these itself."""
    for seed, blocks in ((3, 4), (5, 30)):
        scene, found = random_scene(seed, 5, blocks, mu=0.3), []
        for make_ready in (prepare, measure):
            problem = scene.problem(form, compliance=np.full(sum(map(len, scene.rows)), 0.1), relaxed=relaxed)
            problem.local[:] = np.nan
            make_ready(problem)
            p = np.zeros(problem.w.size)
            told = solve(problem, p, 1e-9, 4000)
            assert told[1] <= 1e-8 and problem.ready == 1
            measure(problem)
            assert solve(problem, p.copy(), 1e-8, 4000)[1] <= 1e-8
            found.append((p, told))
        assert np.array_equal(found[0][0], found[1][0]) and found[0][1] == found[1][1]
