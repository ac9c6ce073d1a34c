"""Every reference problem against its certain digits: error, energy, constraint residuals."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.problems import PROBLEMS, reference, residuals

#: Largest error (relative to each column's largest value) and energy drift (J) of DOP853 at rtol 1e-12.
STRICT = {
    "A01": (1e-11, 1e-10), "A02-2": (2e-8, 2e-8), "A03": (1e-11, 5e-12), "A04": (2e-11, 1e-10), "A05": (1e-9, np.inf), "B2": (1e-10, 5e-12),
    "B3": (1e-10, 1e-10), "B4": (5e-11, 5e-11), "B5s": (5e-12, 5e-12), "B5d": (5e-11, 1e-12), "B6": (1e-10, np.inf),
    "B10o": (5e-8, np.inf), "B10p": (1e-7, 1e-11), "B11q": (2e-11, np.inf), "B11h": (2e-11, np.inf),
}  # fmt: skip


@pytest.mark.parametrize("name", STRICT)
def test_certain_digits(name: str) -> None:
    """All columns at all times of the reference."""
    problem = PROBLEMS[name]
    allowed, drift = STRICT[name]
    sol = problem.run("dop853", 1e-12)
    assert sol.t.shape == problem.times.shape
    assert problem.errors(sol) == {column: pytest.approx(0.0, abs=allowed) for column in problem.errors(sol)}
    assert not problem.drift(sol) > drift
    assert max(residuals(sol)) < 1e-12


@pytest.mark.parametrize("method", ["dopri5", "adams"])
@pytest.mark.parametrize("name", ["A01", "A03", "A04", "B3", "B4", "B5s", "B5d", "B11h"])
def test_methods_agree(name: str, method: str) -> None:
    """Other methods reach the same digits, better with a smaller tolerance."""
    problem = PROBLEMS[name]
    loose, tight = (problem.error(problem.run(method, rtol)) for rtol in (1e-7, 1e-11))
    assert loose < 1e-4
    assert tight < 2e-8
    assert tight < 0.05 * loose


def test_forty_loops_through_singular_positions() -> None:
    """A02 with N = 40: 80 constraints lose rank ten times; the motion stays on the parallelogram branch."""
    problem = PROBLEMS["A02-40"]
    sol = problem.run("dop853", 1e-8)
    assert problem.error(sol) < 2e-5
    assert problem.drift(sol) < 1e-4
    assert max(residuals(sol)) < 1e-11
    angles = np.array([sol[f"A{i}.angle"] for i in range(41)])
    assert np.abs(angles - angles[0]).max() < 1e-9


def test_two_loops_improve_with_the_tolerance() -> None:
    """The error at the singular positions falls with the tolerance instead of hitting a wall."""
    problem = PROBLEMS["A02-2"]
    errors = [problem.error(problem.run("dop853", rtol)) for rtol in (1e-7, 1e-9, 1e-11)]
    assert errors[0] < 2e-4
    assert errors[1] < 2e-6
    assert errors[2] < 5e-8


def test_double_pendulum_to_ten_seconds_loosely() -> None:
    """B3 at 10 s, where initial errors have grown by 12 000."""
    problem = PROBLEMS["B3"]
    expected = reference(problem.data)
    sol = problem.system.simulate({"shoulder.angle": np.pi / 2}, 10.0, method="dop853", rtol=1e-12, atol=1e-14)
    assert sol["shoulder.angle"][-1] == pytest.approx(expected["phi1"][-1], abs=2e-7)
    assert sol["elbow.angle"][-1] + sol["shoulder.angle"][-1] == pytest.approx(expected["phi2"][-1], abs=2e-7)


def test_invariants_of_the_top() -> None:
    """Energy and both momenta of the general motion, and the steady precession at both rates."""
    problem = PROBLEMS["B2"]
    sol = problem.run("dop853", 1e-12)
    assert sol["energy.total"] == pytest.approx(40.5205, abs=1e-11)
    R = sol.frame("top").rotation
    w = np.column_stack([sol[f"pivot.orientation.omega_{c}"] for c in "xyz"])
    world = np.einsum("tij,j,tj->ti", R, [0.015, 0.015, 0.002], w)
    assert world[:, 2] == pytest.approx(0.2225, abs=1e-12)
    system = problem.system
    for precession in (2.57701928213421662, 50.7563140511991167):
        rates = {"pivot.orientation.omega_y": precession * np.sin(np.pi / 3), "pivot.orientation.omega_z": 200.0}
        start = system.state({"pivot.orientation.e0": np.cos(np.pi / 6), "pivot.orientation.e1": 0.5}, rates)
        steady = system.simulate(start, 0.5, method="dop853", rtol=1e-12, atol=1e-13)
        assert steady.frame("top").rotation[:, 2, 2] == pytest.approx(0.5, abs=1e-10)


def test_top_by_angles_equals_top_by_quaternion() -> None:
    """The same motion in precession, nutation and spin."""
    from jourdain.library import heavy_top

    expected = reference("B02_heavy_top")
    system = heavy_top(orientation="zxz").compile()
    rates = {"pivot.rx_rate": 1.0, "pivot.rz_rate": 2.0, "pivot.rz2_rate": 199.0}
    sol = system.simulate({"pivot.rx": np.pi / 3, **rates}, 2.0, method="dop853", rtol=1e-12, atol=1e-13, times=expected["t"])
    assert sol["pivot.rx"] == pytest.approx(expected["theta"], abs=1e-10)
    assert sol["pivot.rz"] == pytest.approx(expected["phi"], abs=1e-9)
    assert sol["pivot.rz2"] == pytest.approx(expected["psi"], abs=1e-8)
