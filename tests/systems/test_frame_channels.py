"""Frames and sensors are channels by their path, in every formulation."""

from __future__ import annotations

import numpy as np
import pytest

import jourdain as jd
from jourdain.errors import JourdainError


def arm() -> jd.Model:
    m = jd.Model("arm")
    upper = m.body("upper", mass=1.0, com=(0.2, 0, 0.1), inertia=(0.01, 0.02, 0.03))
    lower = m.body("lower", mass=0.7, com=(0.2, 0.1, 0), inertia=(0.02, 0.02, 0.01))
    m.revolute("shoulder", m.ground, upper, axis=(0.2, 1.0, 0.3))
    m.revolute("elbow", upper.at(0.5, 0.0, 0.1), lower, axis=(1.0, 0.4, 0.0))
    end = lower.frame("end", (0.4, 0.1, 0.0), rotation=("z", 0.3))
    seen = m.sensor("seen", end, relative_to=upper.at(0.1, 0.2, 0.0).at(0.0, 0.0, 0.3, rotation=("x", 0.5)))
    for quantity in ("position", "velocity", "angular_velocity", "acceleration", "angular_acceleration"):
        for i, axis in enumerate("xyz"):
            m.output(f"check.{quantity}.{axis}", list(getattr(seen, quantity))[i])
    for i, x in enumerate(m.sensor("tip", end).acceleration):
        m.output(f"check.tip.{'xyz'[i]}", x)
    return m


START = {"shoulder": 0.4, "elbow": -0.7, "shoulder.angle_rate": 1.0, "elbow.angle_rate": -2.0}


@pytest.mark.parametrize("formulation", ["recursive", "semi-recursive", "cartesian", "natural", "directors"])
def test_sensors_are_channels_with_the_numbers_of_outputs(formulation: str) -> None:
    s = arm().compile(formulation=formulation)
    sol = s.simulate(START, 0.3, **({"step": 1e-3} if formulation == "directors" else {}))
    for quantity in ("position", "velocity", "angular_velocity", "acceleration", "angular_acceleration"):
        for i, axis in enumerate("xyz"):
            right = sol[f"check.{quantity}.{axis}"]
            assert sol[f"seen.{quantity}.{axis}"] == pytest.approx(right, rel=1e-9, abs=1e-10), quantity
            assert sol[f"seen.{quantity}"][:, i] == pytest.approx(right, rel=1e-9, abs=1e-10)
    assert sol["lower.end.acceleration.y"] == pytest.approx(sol["check.tip.y"], rel=1e-9, abs=1e-10)
    assert np.array_equal(sol["lower.end.x"], sol.frame("lower.end").position[:, 0])
    assert np.array_equal(sol["tip.velocity"], sol["lower.end.velocity"]) and np.array_equal(sol["seen.x"], sol["seen.position[0]"])
    assert sol.channel("lower.end.velocity").unit == "m/s" and sol["lower.end.x", "mm"][0] == pytest.approx(1e3 * sol["lower.end.x"][0])


def test_between_samples_frames_follow_the_interpolant() -> None:
    s = arm().compile()
    sol = s.simulate(START, 1.0)
    times = np.linspace(0.05, 0.95, 7)
    exact = s.simulate(START, 1.0, times=times, rtol=1e-11, atol=1e-13)
    assert sol.at(times)["lower.end.x"] == pytest.approx(exact["lower.end.x"], abs=1e-6)
    assert sol.resample(times)["tip.velocity"] == pytest.approx(exact["tip.velocity"], abs=1e-5)
    coarse = s.simulate(START, 1.0, outputs=101)  # no interpolant: cubics through positions and velocities
    assert coarse.at(times + 0.003)["lower.end.x"] == pytest.approx(sol.at(times + 0.003)["lower.end.x"], abs=1e-6)
    assert len(sol.plot("lower.end.x", "tip.velocity").axes) == 2


def test_files_with_frames_have_their_components_too(tmp_path) -> None:
    sol = arm().compile().simulate(START, 0.2)
    sol.with_frames("lower.end").save(tmp_path / "run.npz")
    again = jd.load_solution(tmp_path / "run.npz")
    assert np.array_equal(again["lower.end.z"], sol["lower.end.z"]) and np.array_equal(
        again["lower.end.velocity.x"], sol["lower.end.velocity.x"]
    )
    with pytest.raises(JourdainError, match="channel 'tip.velocity' is not in the solution"):
        again["tip.velocity"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("lower.end", "'lower.end' is a frame; its channels are lower.end.position"),
        ("lower.ends.x", "channel 'lower.ends.x' is not in the solution"),
        ("lower.end.rotation.x", r"samples of shape \(3, 3\), there is no component"),
        ("lower.end.velocity[3]", r"samples of shape \(3,\), there is no component"),
    ],
)
def test_what_is_no_channel_is_refused(name: str, message: str) -> None:
    sol = arm().compile().simulate(START, 0.1)
    with pytest.raises(JourdainError, match=message):
        sol[name]
    assert not sol.knows(name) and sol.knows("lower.end.rotation[0,2]")
