"""Dissipation and rolling on the energy-consistent engine: what the algorithmic forms add, discrete identities of wheels, slip at contacts."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import brentq

from jourdain.elements.dissipation import Viscoelastic
from jourdain.elements.potentials import CoordinatePotential, PointMass
from jourdain.errors import InputError
from jourdain.library import conserving
from jourdain.systems.assembled.system import AssembledSystem

# dissipation ---------------------------------------------------------------------------------------------------------------------


def falling_on_a_solid() -> AssembledSystem:
    """E8 with the quartic spring as a potential beside the Maxwell branch, so that the scheme decides about its force."""
    s = AssembledSystem("solid")
    x = s.coordinates("x", 1, 0.0, unit="m")
    s.add(PointMass(1), "mass", {"x": x}, {"mass": 5.0})
    s.add(CoordinatePotential(lambda x, c: -c.weight * x + 50.0 * x**4, {"weight": 1}), "spring", {"x": x}, {"weight": 5.0 * 9.81})
    s.add(Viscoelastic(), "branch", {"x": x}, {"stiffness": 0.0, "branch": 50.0, "viscosity": 35.0})
    return s


def test_the_mid_point_force_misses_the_energy_balance() -> None:
    """E8: 3.6e-3 J and 5.6e-5 J a step for h = 0.02 and 0.005 s (third order); the algorithmic force closes it to rounding."""
    runs = {(m, h): falling_on_a_solid().simulate(10.0, h, m) for m in ("midpoint", "energy-momentum") for h in (0.02, 0.005)}
    worst = {k: np.abs(sol["energy.residual"]).max() for k, sol in runs.items()}
    assert [worst["midpoint", h] for h in (0.02, 0.005)] == pytest.approx([3.6e-3, 5.6e-5], rel=0.02)
    assert math.log(worst["midpoint", 0.02] / worst["midpoint", 0.005], 4.0) == pytest.approx(3.0, abs=0.05)
    assert max(worst["energy-momentum", h] for h in (0.02, 0.005)) < 1e-13
    whole = conserving.viscoelastic_oscillator().simulate(10.0, 0.02)
    assert runs["energy-momentum", 0.02]["x"] == pytest.approx(whole["x"], abs=1e-12)


def test_friction_in_the_pendulums_joint_takes_the_first_swing() -> None:
    """E9: m g ρ (cos Θ_r − cos Θ₀) = F (Θ₀ + |Θ_r|) gives the first reversal but for the elastic energy."""
    sol = conserving.pendulum_with_plastic_joint().simulate(1.0, 0.002)
    reversal = -sol["angle"].min()
    gained = 50.0 * 9.81 * 0.2 * (math.cos(reversal) - math.cos(0.5 * math.pi))
    assert gained == pytest.approx(45.0 * (0.5 * math.pi + reversal), rel=1e-3)
    assert reversal == pytest.approx(0.42, abs=0.005)


def test_slip_of_the_friction_oscillator_begins_at_the_limit_and_ends_elastically() -> None:
    """E10: the spring reaches its limit under the ramp, F (t − sin ωt/ω)/t₁; the main slip ends near 3 + 1/6 s; then ½ F²/E stays."""
    sol = conserving.friction_oscillator().simulate(10.0, 0.001)
    lost = sol["energy.dissipated"]
    omega = math.sqrt(20000.0 / 100.0)
    begins = brentq(lambda t: 300.0 * (t - math.sin(omega * t) / omega) - 100.0, 0.1, 0.4)
    assert sol.t[np.flatnonzero(lost > 0.0)[0]] == pytest.approx(begins, abs=0.0011)
    share = np.flatnonzero(lost > 0.999 * lost[-1])[0]
    assert sol.t[share] == pytest.approx(3.0 + 1.0 / 6.0, abs=0.1)
    assert sol["energy.total"][-1] == pytest.approx(100.0**2 / (2.0 * 20000.0), abs=2e-3)
    assert np.abs(sol["energy.total"] + lost - sol["energy.supplied"]).max() < 1e-10
    assert sol["x"].max() == pytest.approx(2.061231, abs=1e-5)


def test_convergence_study() -> None:
    """E6 against its closed form, three schemes: errors, orders, a run that fails, and what is asked wrongly."""
    omega, zeta = math.sqrt(10.0), 1.5 / (2.0 * math.sqrt(250.0))
    damped = omega * math.sqrt(1.0 - zeta**2)
    exact = math.exp(-zeta * omega * 2.0) * (math.cos(damped * 2.0) + zeta * omega / damped * math.sin(damped * 2.0))
    s = conserving.damped_oscillator()
    study = s.convergence(
        2.0, (0.01, 0.02, 0.005), ["x"], {"energy-momentum": {}, "backward-euler": {}, "hht": {"alpha": -0.05}}, {"x": exact}
    )
    assert study.steps == pytest.approx([0.02, 0.01, 0.005])
    assert study.orders["energy-momentum"] == pytest.approx([2.0, 2.0], abs=0.01)
    assert study.orders["hht"] == pytest.approx([2.0, 2.0], abs=0.05)
    assert study.orders["backward-euler"] == pytest.approx([1.0, 1.0], abs=0.15)
    own = s.simulate(2.0, 0.02)["x"][-1]
    assert study.errors["energy-momentum"][0] == pytest.approx(abs(own / exact - 1.0), rel=1e-12)
    fine = s.convergence(2.0, (0.02, 0.01), ["x"])  # against a run of its own with a step of 1 ms
    assert fine.errors["energy-momentum"] == pytest.approx(study.errors["energy-momentum"][:2], rel=0.02)
    assert "order" in str(fine) and str(fine).count("\n") == 2
    assert fine.plot().axes[0].get_xlabel() == "h, s"
    with pytest.raises(InputError, match="two at least"):
        s.convergence(2.0, (0.01,), ["x"])
    with pytest.raises(InputError, match="no channels"):
        s.convergence(2.0, (0.02, 0.01), [])


# rolling -----------------------------------------------------------------------------------------------------------------------------


def slip(centre: np.ndarray, rotation: np.ndarray, arm: np.ndarray) -> np.ndarray:
    """Δφ + ΔΛ Λ⁻¹ r of every step: displacement of the material point at ``arm`` from the mean centre."""
    turned = np.diff(rotation, axis=0) @ np.linalg.inv(0.5 * (rotation[1:] + rotation[:-1]))
    return np.diff(centre, axis=0) + np.einsum("nij,nj->ni", turned, arm)


def test_wheels_and_ball_do_not_slip_at_the_middle_of_steps() -> None:
    """Ā Δq = 0 with the contact vectors of the mean directors' inverse, formed from the channels alone."""
    sol = conserving.two_wheeled_robot([1.0, 0.5], [0.0, 1.0]).simulate(4.0, 0.05)
    for wheel in ("left", "right"):
        R = sol[f"{wheel}.rotation"]
        down = np.tile([0.0, 0.0, -conserving.WHEEL_RADIUS], (len(R) - 1, 1))
        assert np.abs(slip(sol[f"{wheel}.position"], R, down)).max() < 1e-12
    sol = conserving.ball_on_plate().simulate(5.0, 0.1)
    ball, plate = (sol[f"{n}.rotation"] for n in ("ball", "plate"))
    x = sol["ball.position"]
    mean = 0.5 * (x[1:] + x[:-1])
    contact = mean - [0.0, 0.0, 0.5]
    on_ball = slip(x, ball, np.tile([0.0, 0.0, -0.5], (len(mean), 1)))
    on_plate = slip(sol["plate.position"], plate, contact - 0.5 * (sol["plate.position"][1:] + sol["plate.position"][:-1]))
    assert np.abs(on_ball - on_plate).max() < 1e-12
    assert np.ptp(x[:, 2]) < 1e-13


def test_heading_of_the_robot() -> None:
    """A step turns by R (tan Δθ₂/2 − tan Δθ₁/2) = b sin Δψ exactly, which tends to ψ = R (θ₂ − θ₁)/2b with the second order of the step."""
    R, b = conserving.WHEEL_RADIUS, conserving.HALF_TRACK
    errors = []
    for h in (0.1, 0.05, 0.025):
        sol = conserving.two_wheeled_robot([1.0, 0.3], [0.7, -1.2]).simulate(4.0, h)
        left, right = (np.tan(0.5 * np.diff(sol[f"{w}.spin"])) for w in ("left", "right"))
        assert R * (right - left) == pytest.approx(b * np.sin(np.diff(sol["yaw"])), abs=1e-12)
        errors.append(np.abs(sol["yaw"] - R * (sol["right.spin"] - sol["left.spin"]) / (2.0 * b)).max())
        assert np.abs(np.linalg.norm(sol["left.position"] - sol["right.position"], axis=1) - 2.0 * b).max() < 1e-12
    assert np.log2(np.divide(errors[:-1], errors[1:])) == pytest.approx([2.0, 2.0], abs=0.1)


def test_path_of_the_robot_closes_with_the_second_order() -> None:
    """Drive, quarter turn on the spot, drive: the axle's middle ends at (1, ½)."""
    errors = []
    for h in (0.02, 0.01):
        sol = conserving.two_wheeled_robot([1.0, 0.0, 0.5], [0.0, 0.5 * math.pi, 0.0]).simulate(6.0, h)
        end = 0.5 * (sol["left.position"][-1] + sol["right.position"][-1])
        errors.append(np.abs(end - [1.0, 0.5, 0.0]).max())
    assert errors[1] < 5e-4
    assert errors[0] / errors[1] == pytest.approx(4.0, abs=0.1)


def test_path_of_the_ball_is_of_second_order_and_the_momentum_form_is_far_better() -> None:
    errors = {}
    for form, steps in (("momentum", (0.1, 0.05, 0.025)), ("midpoint", (0.05,))):
        for h in steps:
            sol = conserving.ball_on_plate(form).simulate(11.0, h)
            errors[form, h] = np.linalg.norm(sol["ball.position"][:, :2] - conserving.plate_path(sol.t), axis=1).max()
    for h in (0.1, 0.05):
        assert math.log2(errors["momentum", h] / errors["momentum", h / 2]) == pytest.approx(2.0, abs=0.05)
    assert errors["midpoint", 0.05] > 100.0 * errors["momentum", 0.05]


def test_drift_of_the_mid_point_form() -> None:
    """A disc of 5 kg and 3 m radius as a free plate: the mid-point form loses 0.029 kg m²/s of L₃ in 5 s at h = 0.1 s."""
    old, new = (conserving.ball_on_plate(form, driven=False).simulate(5.0, 0.1) for form in ("midpoint", "momentum"))
    assert np.ptp(old["momentum.angular"][:, 2]) == pytest.approx(0.0291, abs=1e-4)
    assert np.ptp(new["momentum.angular"][:, 2]) < 1e-11
    for sol in (old, new):
        assert np.ptp(sol["energy.total"]) < 1e-11
