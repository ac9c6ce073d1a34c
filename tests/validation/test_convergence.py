"""Orders of convergence on mechanisms by step halving."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.problems import PROBLEMS, reference

ORDERS = {"euler": 1, "semi-implicit-euler": 1, "heun": 2, "velocity-verlet": 2, "rk4": 4}


@pytest.mark.parametrize(("method", "order"), ORDERS.items())
def test_fixed_steps_on_the_pendulum(method: str, order: int) -> None:
    """A01: the error of the angle at 1 s falls by 2^order when the step is halved."""
    system = PROBLEMS["A01"].system
    expected = reference("A01_simple_pendulum")
    row = int(np.argmin(np.abs(expected["t"] - 1.0)))
    angle = np.arctan2(expected["x"][row], -expected["y"][row])
    errors = []
    for step in (1 / 400, 1 / 800, 1 / 1600):
        sol = system.simulate({"hinge.angle": -np.pi / 2}, 1.0, method=method, step=step)
        errors.append(abs(sol["hinge.angle"][-1] - angle))
    assert np.log2(errors[1] / errors[2]) == pytest.approx(order, abs=0.15)
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.3)


@pytest.mark.parametrize("name", ["A03", "A04", "B5d"])
def test_order_four_on_constrained_motion(name: str) -> None:
    """Classical Runge–Kutta keeps its order with loops, with a redundant constraint, and with rolling."""
    problem = PROBLEMS[name]
    t = problem.times
    span, steps = float(t[-1]), {"A03": 1000, "A04": 500, "B5d": 500}[name]
    errors = [problem.error(problem.run("rk4", step=span / n)) for n in (steps, 2 * steps, 4 * steps)]
    # the reference's times are interpolated by a cubic, so all of the error may be of order 4
    assert errors[-1] < 1e-5
    assert np.log2(errors[1] / errors[2]) == pytest.approx(4, abs=0.5)


@pytest.mark.parametrize("method", ["bs32", "dopri5", "dop853", "adams", "rosenbrock", "radau"])
def test_adaptive_methods_follow_the_tolerance(method: str) -> None:
    """The error of the pendulum's place at the end falls at least like tolerance^0.6, and energy with it."""
    problem = PROBLEMS["A01"]
    times = problem.times[[0, -1]]
    errors, drifts = [], []
    for rtol in (1e-5, 1e-8):
        sol = problem.system.simulate({"hinge.angle": -np.pi / 2}, 10.0, method=method, rtol=rtol, atol=rtol * 1e-2, times=times)
        place = sol.frame("bob.mass").position[-1, :2]
        errors.append(np.abs(place - [-0.275087462576117, -0.961419205099125]).max())
        drifts.append(np.abs(sol["energy.total"][-1]))
    assert errors[1] < errors[0] * 10 ** (-3 * 0.6)
    assert drifts[1] < drifts[0] * 10 ** (-3 * 0.6)
    assert errors[1] < 1e-4


def test_kinks_are_located_and_cost_no_accuracy() -> None:
    """The bump's ends are events at 0.1 s and 0.15 s to rounding (B11)."""
    problem = PROBLEMS["B11q"]
    sol = problem.system.simulate(None, 0.5, method="dop853", rtol=1e-10, atol=1e-12)
    kinks = sol.t[:-1][np.diff(sol.t) == 0]
    assert kinks == pytest.approx([0.1, 0.15], abs=1e-12)
