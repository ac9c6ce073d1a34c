"""Many coupled loops: matrices by their entries, sparse assembly, linear growth; against closed forms and the functions of whole matrices.

Loops that share all velocities up to the ground, as those of a ladder in joint angles, are eliminated as a whole, from whole matrices.
"""

from __future__ import annotations

import numpy as np
import pytest

import jourdain as jd
from benchmarks.nets import GRAVITY, ladder, model_of
from jourdain.library import n_four_bar
from jourdain.solvers.constraints.plan import make_plan
from jourdain.solvers.linear.sparse_rows import LARGE
from jourdain.systems.constraints import jacobian, jacobian_at
from jourdain.systems.state import State
from jourdain.systems.tree.partition import partition
from jourdain.systems.tree.projected import NativeSystem
from jourdain.systems.tree.redundancy import redundant_rows

N = 66


@pytest.fixture(scope="module")
def row() -> jd.System:
    """A row of four-bars with more constraints than are kept as whole matrices."""
    s = n_four_bar(N).compile()
    assert len(s.constraints) >= LARGE and s.packed
    return s


@pytest.fixture(scope="module")
def start(row: jd.System) -> State:
    return row.assemble({"A0.angle": 0.3}, velocities={"A0.angle_rate": -1.0})


def whole(s: jd.System, name: str, result: str, entries: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    found = np.zeros(shape)
    found.flat[s.reference.places(name, result, packed=True)] = entries
    return found


def test_packed_functions_give_the_entries_of_whole_matrices(row: jd.System, start: State) -> None:
    m, n = len(row.constraints), row.nv
    rng, clock = np.random.default_rng(0), np.zeros(1)
    q, v = start.q + 0.1 * rng.normal(size=n), rng.normal(size=n)
    for name, given in (("constraints", (clock, q)), ("constraint_velocities", (clock, q, v))):
        (r, J), (packed_r, entries) = row.function(name)(*given), row.function(name, packed=True)(*given)
        np.testing.assert_allclose(packed_r, r, atol=1e-13)
        np.testing.assert_allclose(whole(row, name, "J", entries, (m, n)), J, atol=1e-14)
    x = np.concatenate([q, v])
    dense = dict(zip(row.function("descriptor").outputs, row.function("descriptor")(clock, x, np.zeros(0)), strict=True))
    packed = row.function("descriptor", packed=True)
    found = dict(zip(packed.outputs, packed(clock, x, np.zeros(0)), strict=True))
    for result, shape in (("M", (n, n)), ("J", (m, n))):
        np.testing.assert_allclose(whole(row, "descriptor", result, found[result], shape), dense[result], atol=1e-13)
        assert found[result].size < 8 * n
    for result in ("f", "g", "rates"):
        np.testing.assert_allclose(found[result], dense[result], atol=1e-12)


def test_assembly_finds_the_parallel_position(row: jd.System, start: State) -> None:
    angle = dict(zip(row.coordinate_names, start.q, strict=True))
    rate = dict(zip(row.velocity_names, start.v, strict=True))
    np.testing.assert_allclose([angle[f"A{i}.angle"] for i in range(N + 1)], 0.3, atol=1e-11)
    np.testing.assert_allclose([rate[f"A{i}.angle_rate"] for i in range(N + 1)], -1.0, atol=1e-10)
    assert start.report is not None and start.report.freedoms == 1 and start.report.independent == ["A0.angle"]
    assert redundant_rows(row.reference, start) == []


def test_accelerations_have_the_closed_form_and_whole_matrices_agree(row: jd.System, start: State) -> None:
    """((N + 1)/3 + N) m L² θ̈ = ((N + 1)/2 + N) m g L sin θ."""
    native = NativeSystem(row.reference, start=start)
    found, rates = np.zeros(native.n), np.zeros(native.n)
    assert native.rhs(0.0, start.x, found) == 0
    turning = 9.81 * np.sin(0.3) * ((N + 1) / 2 + N) / ((N + 1) / 3 + N)
    expected = [turning if name.startswith("A") else -turning for name in row.velocity_names]
    np.testing.assert_allclose(found[row.nq : row.nq + row.nv], expected, rtol=1e-9)
    system, keep = native.whole_matrices()
    from jourdain.solvers.constraints.accelerations import Arguments, constrained_state_derivative
    from jourdain.solvers.native_function import NativeFunction

    by_matrices = NativeFunction.of(constrained_state_derivative.address, Arguments(system=system), keep)
    assert by_matrices(0.0, start.x, rates) == 0
    np.testing.assert_allclose(rates, found, rtol=1e-12, atol=1e-12)


def test_a_run_keeps_energy_and_loops(row: jd.System, start: State) -> None:
    sol = row.simulate(start, 0.5, "dop853", rtol=1e-9)
    assert np.ptp(sol["energy.total"]) < 1e-7 * np.abs(sol["energy.kinetic"]).max()
    assert max(row.drift(sol)) < 1e-10
    np.testing.assert_allclose(sol["A0.angle"], sol[f"A{N}.angle"], atol=1e-10)


def test_a_state_that_is_open_is_refused_by_name(row: jd.System, start: State) -> None:
    q = start.q.copy()
    q[0] += 0.1
    with pytest.raises(jd.InputError, match=r"does not meet the constraint loop0"):
        row.simulate(State(row, q, start.v, start.z), 0.1)


def test_a_sparse_partition_is_that_of_the_array(row: jd.System, start: State) -> None:
    by_entries, by_array = (partition(J, preferred=[3]) for J in (jacobian_at(row, start.q, 0.0), jacobian(row, start.q, 0.0)))
    assert by_entries == by_array and by_entries.independent == [3]


def hanging(n: int, seed: int) -> tuple[jd.Model, dict[str, float], dict[str, float], float]:
    """A ladder of n cells, a state with each cell sheared and turning at random, v̇ in it, and its kinetic energy.

    Rungs stay level and the two sides of a cell parallel: it moves as a pendulum of n links of length one, each two sides and a rung, the
    rung a mass at the link's end; ψ are the links' angles from the vertical.
    """
    net = ladder(n)
    m, joints = model_of(net)
    rng = np.random.default_rng(seed)
    turned, rate = 0.4 * rng.normal(size=n), rng.normal(size=n)
    psi, below = turned + np.arctan2(0.3, 1.0), 3.0 * (n - 1 - np.arange(n))
    lag, weight = psi[:, None] - psi, (2.0 + below)[np.maximum.outer(np.arange(n), np.arange(n))]
    M = np.cos(lag) * weight
    np.fill_diagonal(M, 2.0 * (0.25 + net.inertia(0)) + 1.0 + below)
    forces = -GRAVITY * np.sin(psi) * (2.0 + below) - (np.sin(lag) * weight) @ rate**2

    def in_joints(links: np.ndarray) -> dict[str, float]:
        angle = lambda bar: links[bar // 3] if bar >= 0 and bar % 3 < 2 else 0.0
        return {f"j{child}.angle": angle(child) - angle(parent) for parent, child, _ in joints}

    start = in_joints(turned) | {f"{name}_rate": value for name, value in in_joints(rate).items()}
    found = {f"{name}_rate": value for name, value in in_joints(np.linalg.solve(M, forces)).items()}
    return m, start, found, float(0.5 * rate @ M @ rate)


def assert_moves_as_a_pendulum(n: int, tolerance: float, **options: str) -> None:
    m, start, expected, kinetic = hanging(n, seed=n)
    s = m.compile(**options)
    a = np.array([expected[name] for name in s.velocity_names])
    state = s.state(start)
    np.testing.assert_allclose(s.accelerations(state), a, atol=tolerance * abs(a).max())
    sol = s.simulate(state, 0.02, rtol=1e-9)
    assert sol["energy.kinetic"][0] == pytest.approx(kinetic, rel=1e-10)
    assert np.ptp(sol["energy.total"]) < 1e-7 * np.ptp(sol["energy.kinetic"])
    assert max(s.drift(sol)) < 1e-9


def test_ladders_move_as_the_pendulum_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jourdain.systems.tree.system.LARGE", 12)
    monkeypatch.setattr("jourdain.systems.tree.straight.MOST_ROWS", 0)
    assert_moves_as_a_pendulum(7, 1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "formulation", "tolerance"), [(64, "recursive", 1e-9), (64, "natural", 1e-11), (64, "cartesian", 1e-11), (80, "recursive", 2e-9)]
)
def test_long_ladders_move_as_the_pendulum_they_are(n: int, formulation: str, tolerance: float) -> None:
    assert_moves_as_a_pendulum(n, tolerance, formulation=formulation)


def test_what_is_eliminated_as_a_whole_is_not_read_by_entries(row: jd.System) -> None:
    s = model_of(ladder(7))[0].compile()
    pattern = [list(range(k + 3)) for k in range(14)]
    assert not s.packed and row.packed
    with pytest.raises(ValueError, match="whole matrices"):
        make_plan(17, 17, 0, 14, pattern, packed=True)


def test_the_packed_mass_matrix_of_a_tree_is_its_lower_triangle() -> None:
    s = jd.library.human().compile()
    q = s.configuration.random(np.random.default_rng(1))
    M, entries = s.mass_matrix(q), s.function("mass_matrix", packed=True)(q)
    found = whole(s, "mass_matrix", "M", entries, (s.nv, s.nv))
    np.testing.assert_allclose(found + np.tril(found, -1).T, M, atol=1e-12)
    assert entries.size < 0.5 * M.size
