"""Rolling and gliding against closed forms: sleigh, disk, bicycle (benchmarks B5, B14)."""

from __future__ import annotations

import json

import numpy as np
import pytest

from benchmarks.problems import DATA, PROBLEMS, disk_start
from jourdain.library import benchmark_bicycle, rolling_disk


def test_sleigh_against_the_closed_form() -> None:
    """v = V tanh κ(t − t₀), ω = V√(m/J) sech κ(t − t₀)."""
    system = PROBLEMS["B5s"].system
    sol = system.simulate(PROBLEMS["B5s"].start(system), 10.0, method="dop853", rtol=1e-12, atol=1e-14)
    m, a = 2.0, 0.25
    J = 0.3 + m * a**2
    V = np.sqrt(1 + J * 0.01 / m)
    kappa = m * a * V / J
    s = kappa * sol.t + np.arctanh(-1.0 / V)
    assert sol["v"] == pytest.approx(V * np.tanh(s), abs=1e-11)
    assert sol["sleigh.angle_rate"] == pytest.approx(V * np.sqrt(m / J) / np.cosh(s), abs=1e-11)
    assert sol["energy.total"] == pytest.approx(1.002125, abs=1e-11)


def test_sleigh_side_force_is_the_multiplier() -> None:
    """The blade's side force is m(a ω̇ + v ω): Newton's law across the heading at the centre of mass."""
    system = PROBLEMS["B5s"].system
    sol = system.simulate(PROBLEMS["B5s"].start(system), 4.0, method="dop853", rtol=1e-11, atol=1e-13)
    omega, omega_dot = sol["sleigh.angle_rate"], sol["sleigh.angle_acc"]
    assert sol["blade.multiplier"] == pytest.approx(2.0 * (0.25 * omega_dot + sol["v"] * omega), abs=1e-9)


def test_disk_in_steady_lean() -> None:
    """θ = 70°, Ω = 4 rad/s: the centre runs on a circle of radius 0.143072497534215736 m."""
    system = rolling_disk().compile()
    start = disk_start(system, np.radians(70), 0.0, 4.0, -5.72289990136862945)
    sol = system.simulate(start, 2 * np.pi / 4, method="dop853", rtol=1e-12, atol=1e-14)
    assert sol["disk.rx"] == pytest.approx(np.radians(70), abs=1e-10)
    centre = np.column_stack([sol["disk.x"], sol["disk.y"]])
    middle = 0.5 * (centre.max(axis=0) + centre.min(axis=0))
    assert centre[-1] == pytest.approx(centre[0], abs=1e-10)
    velocity = np.hypot(sol["disk.x_rate"], sol["disk.y_rate"])
    assert velocity / 4.0 == pytest.approx(0.143072497534215736, abs=1e-11)
    assert np.linalg.norm(centre - middle, axis=1) == pytest.approx(0.143072497534215736, rel=0.02)


def test_penny_held_upright() -> None:
    """With the ideal constraint θ = 90° the centre runs on a circle of radius r|ω₃|/Ω at the rate Ω."""
    system = rolling_disk(upright=True).compile()
    rates = {"disk.rz": 2.0, "spin": -8.0}
    start = system.assemble(
        {"disk.x": 0.0, "disk.y": 0.0, "disk.rz": 0.0, "spin": 0.0}, guess={"disk.rx": 1.5, "disk.z": 0.1}, velocities=rates
    )
    assert start.report.freedoms == 2
    sol = system.simulate(start, 1.5, method="dop853", rtol=1e-12, atol=1e-14)
    radius = 0.1 * 8.0 / 2.0
    assert sol["disk.x"] == pytest.approx(radius * np.sin(2.0 * sol.t), abs=1e-10)
    assert sol["disk.y"] == pytest.approx(radius * (1 - np.cos(2.0 * sol.t)), abs=1e-10)
    assert sol["omega3"] == pytest.approx(-8.0, abs=1e-11)


BICYCLE = json.loads((DATA / "B14_bicycle.json").read_text())


@pytest.fixture(scope="module")
def bicycle():  # type: ignore[no-untyped-def]
    """The compiled nonlinear model."""
    return benchmark_bicycle().compile()


def straight(system, speed: float, **more: float):  # type: ignore[no-untyped-def]
    """Straight upright rolling."""
    return system.assemble({}, velocities={"rear": speed / 0.3, "frame.rx": 0.0, "steer": 0.0} | more)


@pytest.mark.parametrize("case", BICYCLE["eigenvalues"], ids=lambda case: f"{case['v']:g} m/s")
def test_bicycle_eigenvalues(bicycle, case: dict) -> None:  # type: ignore[no-untyped-def, type-arg]
    """The nonlinear model linearised exactly about straight rolling has the published eigenvalues (and zeros)."""
    found = bicycle.linearise(straight(bicycle, case["v"])).eigenvalues
    expected = np.array(case["re"]) + 1j * np.array(case["im"])
    found = found[np.argsort(-np.abs(found))]
    assert len(found) == 10
    assert np.abs(found[4:]).max() < 2e-3  # the place on the road: a defective eigenvalue zero
    for value in expected:
        assert np.abs(found[:4] - value).min() < 1e-9 * max(1.0, abs(value))


def test_bicycle_stability_limits(bicycle) -> None:  # type: ignore[no-untyped-def]
    """Weave and capsize change stability at the certain speeds."""
    for speed in (BICYCLE["weave_speed"], BICYCLE["capsize_speed"]):
        found = bicycle.linearise(straight(bicycle, speed)).eigenvalues
        moving = found[np.argsort(-np.abs(found))][:4]
        assert np.abs(moving.real).min() < 1e-9


def test_bicycle_rights_itself(bicycle) -> None:  # type: ignore[no-untyped-def]
    """At 5 m/s (between the limits) a disturbed roll decays as the capsize mode and the weave say; no side slip, energy kept."""
    start = straight(bicycle, 5.0, **{"frame.rx": 0.01})
    sol = bicycle.simulate(start, 12.0, method="dop853", rtol=1e-10, atol=1e-12)
    assert np.abs(sol["frame.rx"]).max() > 1e-3
    assert np.abs(sol["frame.rx"][sol.t > 11]).max() < 5e-4
    assert np.ptp(sol["energy.total"]) < 1e-6
