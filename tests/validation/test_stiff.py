"""Stiff problems and the exact Jacobian of the right-hand side (benchmark B10)."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from benchmarks.problems import PROBLEMS, reference
from jourdain.library import bathe_oscillator, heavy_top, quarter_car, spring_pendulum


@pytest.mark.parametrize("model", [bathe_oscillator, heavy_top, quarter_car, spring_pendulum])
def test_state_jacobian_is_the_derivative(model, rng: np.random.Generator) -> None:  # type: ignore[no-untyped-def]
    """∂ẋ/∂x and ∂ẋ/∂t against differences of the right-hand side at random states."""
    system = model().compile()
    f, jacobian, rate = (system.function(n) for n in ("state_derivative", "state_jacobian", "state_time_derivative"))
    u = [system.input_values()] if "u" in f.inputs else []
    for _ in range(4):
        x = rng.normal(size=system.nq + system.nv + system.nz)
        t = rng.uniform(0.11, 0.14)

        def difference(g, h: float = 1e-4) -> np.ndarray:  # type: ignore[no-untyped-def]
            """Central difference of order 4."""
            return (8 * (g(h) - g(-h)) - (g(2 * h) - g(-2 * h))) / (12 * h)

        J = jacobian(np.array([t]), x, *u)
        columns = [difference(lambda h, e=e: f(np.array([t]), x + h * e, *u)) for e in np.eye(len(x))]
        scale = np.abs(J).max()
        assert np.abs(J - np.column_stack(columns)).max() < 1e-7 * scale
        dt = rate(np.array([t]), x, *u)
        numeric = difference(lambda h: f(np.array([t + h]), x, *u))
        assert np.abs(dt - numeric).max() < 1e-5 * max(1.0, np.abs(dt).max())


@pytest.mark.parametrize(("method", "allowed"), [("radau", 1.2e-5), ("rosenbrock", 1e-4)])
def test_stiff_pendulum_by_implicit_methods(method: str, allowed: float) -> None:
    """Place and velocity of the spring pendulum; the implicit methods need the exact Jacobian.

    Radau damps the radial vibration away, whose force has the amplitude 9.8e-6 of the largest one: it cannot come nearer at this tolerance.
    """
    problem = PROBLEMS["B10p"]
    sol = problem.run(method, 1e-8)
    errors = problem.errors(sol)
    assert max(errors[n] for n in ("x", "y", "vx", "vy")) < 0.1 * allowed
    assert errors["spring_force"] < allowed
    assert sol.statistics["jacobians"] > 0


def test_stiff_pendulum_vibration_is_followed_below_its_amplitude() -> None:
    """The radial vibration has the amplitude 3 g²/(k ω²) = 2.9e-10 m: a damping method drops it at wider tolerances, follows it at finer."""
    problem = PROBLEMS["B10p"]
    force = 3 * 9.81**2 / 1e6  # k times the amplitude, N
    largest = np.abs(reference("B10_stiff_pendulum")["spring_force"]).max()
    dropped, followed = (problem.errors(problem.run("radau", rtol)) for rtol in (1e-9, 1e-12))
    assert 0.5 * force < dropped["spring_force"] * largest < 2.0 * force
    assert followed["spring_force"] < 1e-8
    assert max(followed.values()) < 1e-3 * dropped["spring_force"]


@pytest.mark.parametrize("method", ["radau", "rosenbrock"])
def test_stiff_governor(method: str) -> None:
    """A05: dampers of 4e4 N s/m between 3 and 5 kg; implicit methods take far fewer steps than explicit ones."""
    problem = PROBLEMS["A05"]
    loose, tight = (problem.run(method, rtol) for rtol in (1e-6, 1e-9))
    assert problem.error(loose) < 5e-3
    assert problem.error(tight) < 0.05 * problem.error(loose)
    assert loose.statistics["steps"] < 1000
    assert tight["left.angle"] == pytest.approx(tight["right.angle"], abs=1e-9)


def test_driving_force_of_the_oscillator_is_its_reaction() -> None:
    """R = k₁(u₁ − u₂) equals the reaction at the driven node."""
    problem = PROBLEMS["B10o"]
    sol = problem.run("dop853", 1e-9)
    assert sol["node.reaction"][:, 0] == pytest.approx(sol["R"], abs=1e-6)


def slow_errors(step: float) -> dict[str, float]:
    """Largest errors of generalised-α (ρ∞ = 0) against the slow motion after the fast one has died out."""
    expected = reference("B10_stiff_oscillator")
    system = bathe_oscillator().compile()
    sol = system.simulate({"stiff.displacement_rate": -1.2}, 10.0, method="generalized-alpha", step=step, rho=0.0)
    rows = np.searchsorted(sol.t, expected["t"] - 1e-9)
    late = expected["t"] > 2.3
    assert sol.t[rows] == pytest.approx(expected["t"], abs=1e-9)
    return {n: float(np.abs(sol[n][rows] - expected[f"{n}_slow"])[late].max()) for n in ("u2", "u3", "v2", "R")}


def test_numerical_damping_leaves_the_slow_motion() -> None:
    """With 30 to 120 steps in a slow period the vibration of 503 Hz is gone and the slow motion converges with order 2."""
    errors = [slow_errors(h) for h in (0.1, 0.05, 0.025)]
    assert errors[-1]["u2"] < 1e-6
    assert errors[-1]["u3"] < 1e-2
    assert errors[-1]["R"] < 0.1
    for coarse, fine in itertools.pairwise(errors):
        assert coarse["u3"] / fine["u3"] == pytest.approx(4.0, rel=0.25)
