"""Rolling of models in the energy-consistent engine: the momentum-conserving rows follow from the model's own equations."""

import numpy as np
import pytest

import jourdain as jd
from jourdain import library
from jourdain.library import conserving
from jourdain.systems.formulations import formulate


def ball_start(spin: float | None) -> tuple[jd.System, jd.State]:
    system = library.ball_on_plate(spin=spin).compile()
    rates = {"ball.y_rate": 1.0, "ball.orientation.omega_x": -2.0} | ({} if spin else {"plate.angle_rate": 2.0})
    return system, system.state({"ball.z": 0.5, **rates})


@pytest.mark.parametrize(("h", "error"), [(0.2, 0.1481), (0.1, 0.03459), (0.05, 0.00850)])
def test_ball_on_a_turning_plate_goes_round_as_the_thesis_says(h: float, error: float) -> None:
    """Spec values of E13 for the momentum scheme; the earlier mid-point rows are 27 … 114 times worse."""
    system, state = ball_start(2.0)
    sol = formulate(system, "directors").simulate(state, 11.0, step=h)
    path = np.column_stack([sol["ball.x"], sol["ball.y"]])
    found = np.linalg.norm(path - conserving.plate_path(sol.t), axis=1).max()
    assert found == pytest.approx(error, rel=1e-3)
    old = conserving.ball_on_plate("midpoint").simulate(11.0, h)["ball.position"][:, :2]
    assert np.linalg.norm(old - conserving.plate_path(sol.t), axis=1).max() > 25.0 * found
    assert np.ptp(sol["ball.z"]) < 1e-13


@pytest.mark.parametrize("reduction", ["none", "bodies", "joints"])
def test_ball_and_free_plate_keep_energy_and_angular_momentum(reduction: str) -> None:
    system, state = ball_start(None)
    sol = formulate(system, "directors").simulate(state, 5.0, step=0.1, reduction=reduction)
    assert np.ptp(sol["step.energy.total"]) < 1e-12
    assert np.ptp(sol["step.momentum.angular"][:, 2]) < 1e-12
    assert abs(sol["plate.angle_rate"][-1] - 2.0) > 0.1


def disk_start() -> tuple[jd.System, jd.State]:
    system = library.rolling_disk().compile()
    fixed = {"disk.rx": 1.2, "disk.rz": 0.0, "spin.angle": 0.0, "disk.x": 0.0, "disk.y": 0.0}
    return system, system.assemble(fixed, velocities={"disk.rx_rate": 0.3, "disk.rz_rate": 1.0, "spin.angle_rate": 30.0})


def bicycle_start() -> tuple[jd.System, jd.State]:
    system = library.benchmark_bicycle().compile()
    fixed = dict.fromkeys(("frame.x", "frame.y", "frame.rz", "frame.rx", "steer.angle", "rear.angle", "front.angle"), 0.0)
    return system, system.assemble(fixed, velocities={"frame.rx_rate": 0.5, "steer.angle_rate": 0.0, "rear.angle_rate": 4.6 / 0.3})


#: Model, duration, step, coordinates of the place, bound of their error at the step: the wheels turn by 0.3 and 0.6 rad in a step.
ROLLING = {
    "disk": (disk_start, 1.0, 0.01, ("disk.x", "disk.y"), 1e-3),
    "bicycle": (bicycle_start, 1.0, 0.04, ("frame.x", "frame.y"), 6e-3),
}


@pytest.mark.parametrize("name", ROLLING)
def test_wheels_of_models_against_the_tree_engine_at_large_steps(name: str) -> None:
    start, duration, step, place, bound = ROLLING[name]
    system, state = start()
    reference = system.simulate(state, duration, rtol=1e-10, atol=1e-11)
    directors = formulate(system, "directors")
    errors = []
    for h in (step, step / 2):
        sol = directors.simulate(state, duration, step=h)
        errors.append(np.hypot(*(sol[n][-1] - reference[n][-1] for n in place)))
        assert np.ptp(sol["step.energy.total"]) < 1e-10 * np.abs(sol["step.energy.total"]).max()
    assert errors[0] < bound
    assert errors[0] / errors[1] == pytest.approx(4.0, abs=0.4), errors


def test_torques_change_the_angular_momentum_by_their_impulse_in_large_steps() -> None:
    """A torque fixed in space acts through dual directors: ΔL = h τ in every step, however far the body turns in it."""
    m = jd.Model("spun", gravity=(0, 0, 0))
    body = m.body("body", mass=1.0, inertia=(0.1, 0.2, 0.25))
    m.spherical("pivot", m.ground, body)
    m.load("push", body, torque=(0.3, -0.2, 0.5))
    system = m.compile()
    state = jd.State(system, system.state().q, np.array([3.0, 5.0, -4.0]), np.zeros(0), 0.0)
    sol = formulate(system, "directors").simulate(state, 2.0, step=0.1)
    L = sol["step.momentum.angular"]
    assert np.allclose(L, L[0] + sol.t[:, None] * np.array([0.3, -0.2, 0.5]), atol=1e-12)
