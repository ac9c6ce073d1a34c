"""Impacts: times, the point of accumulation, rows of balls (benchmark B6)."""

from __future__ import annotations

import numpy as np
import pytest

from jourdain.errors import SolverError
from jourdain.library import ball_row, bouncing_ball

ACCUMULATION = 4.06371276887157814


def impact_times(sol) -> np.ndarray:  # type: ignore[no-untyped-def]
    """Times at which rows are repeated: the states before and after an event."""
    return sol.t[:-1][np.diff(sol.t) == 0]


def test_impact_times_to_rounding() -> None:
    """tₙ₊₁ = tₙ + 2eⁿ√(2h/g), and energies mgh e²ⁿ between them."""
    sol = bouncing_ball().compile().simulate({"height": 1.0}, 3.5, method="dop853", rtol=1e-12, atol=1e-14)
    fall = np.sqrt(2 / 9.81)
    expected = fall * (1 + 2 * np.cumsum(np.concatenate([[0.0], 0.8 ** np.arange(1, 9)])))
    assert expected[-2] == pytest.approx(3.3061818034791721, abs=1e-14)
    found = impact_times(sol)
    assert found == pytest.approx(expected, abs=1e-10)
    for n, t in enumerate(found[:-1], 1):
        later = sol["energy.total"][(sol.t > t) & (sol.t < found[n])]
        assert later == pytest.approx(9.81 * 0.64**n, abs=1e-9)


def test_ball_comes_to_rest_where_impacts_accumulate() -> None:
    """The simulation goes on past the point of accumulation with the ball on the floor."""
    sol = bouncing_ball().compile().simulate({"height": 1.0}, 6.0, method="dop853", rtol=1e-11, atol=1e-13)
    assert sol.t[-1] == 6.0
    assert impact_times(sol)[-1] == pytest.approx(ACCUMULATION, abs=1e-5)
    late = sol.t > ACCUMULATION
    assert np.abs(sol["height.displacement"][late]).max() < 1e-10
    assert np.all(sol["height.displacement_rate"][late] == 0.0)
    assert sol["height.displacement_acc"][-1] == pytest.approx(0.0, abs=1e-12)


def test_accumulation_without_rest_is_reported() -> None:
    """A law that never lets the ball rest ends with the event's name and the time, not in an endless loop."""
    system = bouncing_ball(rest_speed=0.0).compile()
    with pytest.raises(SolverError, match=r"'impact'.*t = 4\.06371.*Zeno"):
        system.simulate({"height": 1.0}, 6.0)


def test_row_of_unequal_balls_by_successive_impacts() -> None:
    """(3, 0, 0) m/s → (−0.8, 1.9, 0) → (−0.8, 1.178, 2.888) m/s; momentum is kept."""
    sol = ball_row().compile().simulate({"ball1.displacement_rate": 3.0}, 1.0)
    velocities = np.column_stack([sol[f"ball{i}.displacement_rate"] for i in (1, 2, 3)])
    stages = velocities[np.concatenate([[True], np.any(np.abs(np.diff(velocities, axis=0)) > 1e-9, axis=1)])]
    assert stages == pytest.approx(np.array([[3, 0, 0], [-0.8, 1.9, 0], [-0.8, 1.178, 2.888]]), abs=1e-12)
    assert velocities @ [1.0, 2.0, 0.5] == pytest.approx(3.0, abs=1e-12)


@pytest.mark.parametrize("moving", [1, 2, 3])
def test_newtons_cradle(moving: int) -> None:
    """k equal balls in, k balls out with the incoming speed."""
    system = ball_row((1.0,) * 5, restitution=1.0).compile()
    sol = system.simulate({f"ball{i}.displacement_rate": 1.0 for i in range(1, moving + 1)}, 1.0)
    final = [sol[f"ball{i}.displacement_rate"][-1] for i in range(1, 6)]
    assert final == pytest.approx([0.0] * (5 - moving) + [1.0] * moving, abs=1e-12)
