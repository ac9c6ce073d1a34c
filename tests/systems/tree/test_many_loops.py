"""Many coupled loops: matrices whose zeros are kept between calls and whose entries are listed, against dense linear algebra."""

from __future__ import annotations

import numpy as np
import pytest

import jourdain as jd
from jourdain.library import n_four_bar
from jourdain.systems.tree.partition import partition
from jourdain.systems.tree.projected import NativeSystem


def reference(system: jd.System, native: NativeSystem, t: float, x: np.ndarray) -> np.ndarray:
    """v̇ by least squares of the whole saddle-point system."""
    M, f, J, g, _ = system.function("descriptor")(np.array([t]), x, native.u[: system.nu])
    n, m = J.shape[1], J.shape[0]
    A = np.block([[M, -J.T], [J, np.zeros((m, m))]])
    return np.linalg.lstsq(A, np.concatenate([f, g]), rcond=None)[0][:n]


@pytest.mark.parametrize("gravity", [9.81, 0.0])  # without gravity most forces are zero by structure
@pytest.mark.parametrize("n", [12, 30])
def test_accelerations_and_projection_again_and_again(n: int, gravity: float) -> None:
    s = n_four_bar(n, gravity=gravity).compile()
    start = s.assemble({"A0.angle": 0.3}, velocities={"A0.angle_rate": -1.0})
    native = NativeSystem(s, start=start)
    assert len(native._plan().fronts.each) > 1 and native._plan().mass.begin.size
    rng, out = np.random.default_rng(n), np.zeros(s.nq + s.nv)
    for _ in range(6):
        state = s.assemble({"A0.angle": rng.uniform(-1.2, 1.2)}, velocities={"A0.angle_rate": rng.normal()})
        x = state.x + 1e-5 * rng.normal(size=state.x.size)
        native.project(0.0, x, x)
        h, J = s.function("constraints")(np.zeros(1), x[: s.nq])
        assert abs(h).max() < 1e-13 and abs(J @ x[s.nq :]).max() < 1e-10
        native.rhs(0.0, x, out)
        expected = reference(s, native, 0.0, x)
        np.testing.assert_allclose(out[s.nq :], expected, atol=1e-9 * (1.0 + abs(expected).max()))


def test_the_order_of_pivots_is_that_of_a_search_over_everything() -> None:
    rng = np.random.default_rng(7)
    for _ in range(300):
        m, n = int(rng.integers(1, 9)), int(rng.integers(1, 12))
        J = rng.normal(size=(m, n)) * (rng.random((m, n)) < rng.choice([0.3, 0.6, 1.0]))
        fixed = [int(j) for j in rng.permutation(n)[: rng.integers(0, n)]]
        found = partition(J, fixed=fixed)
        left, rows = [j for j in range(n) if j not in fixed], list(range(m))
        A = J / np.where(np.linalg.norm(J, axis=1) > 0, np.linalg.norm(J, axis=1), 1.0)[:, None]
        for r, c in zip(found.active, found.dependent, strict=True):
            assert abs(A[r, c]) >= abs(A[np.ix_(rows, left)]).max() * (1 - 1e-12)
            rows.remove(r)
            left.remove(c)
            A[rows] -= np.outer(A[rows, c] / A[r, c], A[r])
        assert found.redundant == rows and len(found.independent) + len(found.dependent) == n
        assert not (rows and left) or abs(A[np.ix_(rows, left)]).max() < 1e-8
