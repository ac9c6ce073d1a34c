"""Examples of Uhlar's thesis on the energy-consistent engine, against its published numbers and those of the same scheme elsewhere."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from benchmarks.problems import reference
from jourdain.elements.augmentation import PlanarJointAngle
from jourdain.elements.carriers import Ground
from jourdain.elements.pairs import PlanarRevolute
from jourdain.elements.rigid import DirectorBody, PlanarBody
from jourdain.elements.rolling import KnifeEdge, RollingDisk
from jourdain.elements.servo import CoordinateServo, point_to_point
from jourdain.library import conserving
from jourdain.library.manipulators import planar_manipulator, radio_telescope
from jourdain.systems.assembled.system import AssembledSystem


def at(sol, name: str, t: float):
    return sol[name][int(np.argmin(np.abs(sol.t - t)))]


# E2: planar pair with a motor on the joint angle -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("folded", "h", "half", "end", "energy"),
    [
        (False, 0.05, 6.012787, 21.292714, 8.0264899),
        (True, 0.05, 4.532814, 15.118240, 3.3777975),
        (True, 0.01, 4.533289, 15.150123, 3.3738070),
    ],
)
def test_pair_with_motor(folded: bool, h: float, half: float, end: float, energy: float) -> None:
    sol = conserving.pair_with_motor(folded).simulate(2.0, h)
    assert at(sol, "angle", 0.5) == pytest.approx(half, abs=1e-5)
    assert sol["angle"][-1] == pytest.approx(end, abs=1e-5)
    after = sol["energy.total"][sol.t >= 0.5 - 1e-9]
    assert after[0] == pytest.approx(energy, abs=1e-5)
    assert np.ptp(after) < 1e-10
    assert sol["energy.supplied"][-1] == pytest.approx(after[0], abs=1e-11)
    assert np.abs(sol["momentum.angular"]).max() < 1e-11
    assert np.abs(sol["turn.angle error"]).max() < 1e-12


def test_both_forms_of_the_angle_agree() -> None:
    robust, thesis = (conserving.pair_with_motor(form=form).simulate(1.0, 0.02) for form in ("robust", "thesis"))
    assert np.abs(robust["angle"] - thesis["angle"]).max() < 1e-9


def minimal_pair(t_end: float) -> float:
    """The joint angle of E2 (stretched) by Lagrange's equations in two angles about the common centre of mass."""
    m = 1.1 * 2.0 / 3.1
    J1, J2, r = 0.0957, 0.174, 0.5

    def rates(t: float, y: np.ndarray) -> list[float]:
        a, b, u, w = y  # angles of both bodies and their rates
        e = lambda x: np.array([-math.sin(x), math.cos(x)]) * r
        d = lambda x: np.array([-math.cos(x), -math.sin(x)]) * r
        M = np.array([[J1 + m * r * r, -m * d(a) @ d(b)], [-m * d(a) @ d(b), J2 + m * r * r]])
        curve = -e(a) * u * u + e(b) * w * w  # acceleration of ρ₁ − ρ₂ by the squares of the rates
        torque = 5.0 * (t / 0.25 if t < 0.25 else max(0.0, (0.5 - t) / 0.25))
        f = np.array([-torque - m * d(a) @ curve, torque + m * d(b) @ curve])
        return [u, w, *np.linalg.solve(M, f)]

    y = np.array([0.0, math.pi, 0.0, 0.0])
    for span in ((0.0, 0.25), (0.25, 0.5), (0.5, t_end)):
        y = solve_ivp(rates, span, y, "DOP853", rtol=1e-11, atol=1e-12).y[:, -1]
    return float(y[1] - y[0])


def test_torque_on_the_angle_is_a_pair_of_moments() -> None:
    exact = minimal_pair(0.8)
    errors = [conserving.pair_with_motor().simulate(0.8, h)["angle"][-1] - exact for h in (0.01, 0.005, 0.0025)]
    assert abs(errors[2]) < 2e-3
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.05)
    assert errors[1] / errors[2] == pytest.approx(4.0, rel=0.03)


# E3: screw pair --------------------------------------------------------------------------------------------------------------


def test_screw_pair() -> None:
    s = conserving.screw_pair()
    sol = s.simulate(1.0, 0.02)
    assert sol["angle"][-1] == pytest.approx(19.544341, abs=1e-6)
    assert sol["displacement"][-1] == pytest.approx(62.211571, abs=1e-6)
    assert at(sol, "angle", 0.7) == pytest.approx(13.369978, abs=1e-6)
    assert sol["energy.total"][0] == pytest.approx(99421.763826, abs=1e-6)
    assert sol["momentum.angular"][0] == pytest.approx([7900.388812, -11299.611188, 2111.150263], abs=1e-6)
    assert sol["momentum.linear"][-1] == pytest.approx([899.203553, 220.796447, 280.0], abs=1e-6)
    assert np.ptp(sol["energy.total"]) < 1e-12 * 1e5
    assert np.ptp(sol["momentum.angular"], axis=0).max() < 1e-12 * 1e5
    assert s.report(0.02)["unknowns"] == 45


def test_steps_on_the_mirror_branch_of_the_thesis_form_are_refused() -> None:
    """At h = 0.02 the printed angle constraint would leave its branch near t = 0.75 with perfect energy; the step there is divided."""
    thesis, robust = (conserving.screw_pair(form=form).simulate(1.0, 0.02) for form in ("thesis", "robust"))
    divided = thesis.t[thesis["newton.steps"] > 1]
    assert divided == pytest.approx(np.array([0.78]))
    assert thesis["screw.angle error"].max() < 1e-12
    assert np.abs(thesis["angle"] - robust["angle"]).max() < 0.01  # of one shorter step; the mirror branch would be wrong by radians
    assert np.ptp(thesis["energy.total"]) < 1e-12 * 1e5


# E4, E5: closed loops --------------------------------------------------------------------------------------------------------


def test_parallel_manipulator() -> None:
    s = planar_manipulator()
    sol = s.simulate(2.0, 0.01)
    assert [at(sol, f"angle{k}", 0.2) for k in (1, 2, 3)] == pytest.approx([-1.695873, 0.427057, 3.141493], abs=1e-6)
    assert at(sol, "energy.total", 0.2) == pytest.approx(15.677069867, abs=1e-7)
    assert sol["energy.total"][-1] == pytest.approx(171.013963, abs=1e-6)
    assert np.ptp(sol["energy.total"][sol.t >= 0.5 - 1e-9]) < 1e-10
    assert np.abs(sol["momentum.angular"]).max() < 1e-11
    assert np.abs(sol["momentum.linear"]).max() < 1e-11
    reports = [s.report(h) for h in (1e-2, 1e-3)]
    assert reports[0]["unknowns"] == 96
    assert reports[1]["condition"] == pytest.approx(reports[0]["condition"], rel=0.01)
    assert math.log10(reports[1]["condition_unscaled"] / reports[0]["condition_unscaled"]) == pytest.approx(3.0, abs=0.1)


def test_radio_telescope() -> None:
    """Inverse dynamics of a closed loop; the redundant row of the ball joint is left out by itself."""
    sol = radio_telescope(math.pi, ball=True).simulate(4.0, 0.01)
    assert sol.statistics["unknowns"] == 102
    assert at(sol, "energy.total", 2.0) == pytest.approx(2481.458, rel=1e-6)
    assert at(sol, "momentum.angular", 2.0)[2] == pytest.approx(2558.093, rel=1e-6)
    lifts = [at(sol, "drive.spindle.input", t) for t in (0.5, 1.0, 1.5, 2.5, 4.0)]
    slews = [at(sol, "drive.platform.input", t) for t in (0.5, 1.0, 1.5, 3.5)]
    assert lifts == pytest.approx([-1710.92, 64.18, 1220.10, 362.286, -66.827], abs=0.01)
    assert slews == pytest.approx([-712.22, -2632.79, -1763.78, 6293.64], abs=0.01)
    assert lifts[-1] == pytest.approx(-66.8272, abs=1e-3)  # −dV/dΘ of the triangle at rest
    assert np.abs(sol["energy.residual"]).max() < 1e-9
    cruise = (sol.t > 2.0) & (sol.t < 3.0)
    assert np.ptp(sol["energy.total"][cruise]) < 1e-6 * 2481.0


# E6 … E10: dissipation --------------------------------------------------------------------------------------------------------


def test_damped_oscillator() -> None:
    sol = conserving.damped_oscillator().simulate(10.0, 0.05)
    assert at(sol, "x", 1.0) == pytest.approx(-0.8618940, abs=1e-7)
    assert at(sol, "energy.dissipated", 1.0) == pytest.approx(6.4263674, abs=1e-7)
    assert sol["x"][-1] == pytest.approx(0.2250763, abs=1e-7)
    assert sol["energy.dissipated"][-1] == pytest.approx(23.7192157, abs=1e-7)
    assert np.abs(sol["energy.residual"]).max() < 1e-13
    omega, zeta = math.sqrt(10.0), 1.5 / (2.0 * math.sqrt(250.0))
    damped = omega * math.sqrt(1.0 - zeta**2)

    def error(h: float) -> float:
        run = conserving.damped_oscillator().simulate(2.0, h)
        exact = np.exp(-zeta * omega * run.t) * (np.cos(damped * run.t) + zeta * omega / damped * np.sin(damped * run.t))
        return float(np.abs(run["x"] - exact).max())

    assert error(0.02) / error(0.01) == pytest.approx(4.0, rel=0.02)


def test_pendulum_with_viscous_joint() -> None:
    sol = conserving.pendulum_with_viscous_joint().simulate(10.0, 0.02)
    assert np.abs(sol["energy.residual"]).max() < 1e-11
    assert np.all(np.diff(sol["energy.dissipated"]) >= 0.0)
    inertia = 0.015 + 5e-5 + 2.0 * 0.15**2
    ode = solve_ivp(
        lambda t, y: [y[1], (-2.0 * 9.81 * 0.15 * math.sin(y[0]) - 0.1 * y[1]) / inertia], (0.0, 2.0), [0.5 * math.pi, 0.0], "DOP853",
        rtol=1e-11, atol=1e-12,
    )  # fmt: skip
    errors = [conserving.pendulum_with_viscous_joint().simulate(2.0, h)["angle"][-1] - ode.y[0, -1] for h in (0.01, 0.005)]
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.05)
    assert abs(errors[1]) < 2e-3


def test_viscoelastic_oscillator() -> None:
    sol = conserving.viscoelastic_oscillator().simulate(10.0, 0.02)
    assert sol["x"].max() == pytest.approx(0.854737, abs=1e-6)
    assert [at(sol, "x", t) for t in (1.0, 5.0, 10.0)] == pytest.approx([0.195995, 0.789821, 0.702096], abs=1e-6)
    assert sol["energy.dissipated"][-1] == pytest.approx(21.631052, abs=1e-5)
    assert np.abs(sol["energy.residual"]).max() < 1e-12
    assert np.diff(sol["energy.dissipated"]).min() >= 0.0


def test_friction_oscillator() -> None:
    sol = conserving.friction_oscillator().simulate(10.0, 0.02)
    assert sol["x"].max() == pytest.approx(2.062007, abs=1e-4)
    assert sol["energy.dissipated"][-1] == pytest.approx(205.7018, abs=1e-3)
    assert sol["energy.total"][-1] == pytest.approx(0.25, abs=1e-4)
    assert np.abs(sol["energy.residual"]).max() < 1e-10
    slip = np.flatnonzero(sol["energy.dissipated"] > 0.0)[0]
    assert 300.0 * sol.t[slip] == pytest.approx(100.0, abs=12.0)


def test_pendulum_with_plastic_joint() -> None:
    """The published rest angles: basic model about −0.388, enhanced model −0.3933."""
    basic = conserving.pendulum_with_plastic_joint().simulate(5.0, 0.02)
    late = basic["angle"][basic.t > 3.0]
    assert basic["angle"].min() == pytest.approx(-0.41873, abs=1e-5)
    assert (late.min(), late.max()) == pytest.approx((-0.388556, -0.388243), abs=2e-6)
    assert 0.5 * (late.min() + late.max()) == pytest.approx(-0.388, abs=0.0005)
    enhanced = conserving.pendulum_with_plastic_joint(150.0).simulate(5.0, 0.02)
    assert enhanced["angle"][-1] == pytest.approx(-0.3933, abs=5e-5)
    assert enhanced["angle"][-1] == pytest.approx(-0.393339, abs=1e-6)
    for sol in (basic, enhanced):
        balance = sol["energy.total"] + sol["energy.dissipated"]
        assert np.abs(balance - balance[0]).max() < 1e-10
        assert np.diff(sol["energy.dissipated"]).min() >= 0.0


# E13, E14: rolling ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("form", "h", "error"), [("midpoint", 0.2, 3.955), ("midpoint", 0.1, 2.625), ("momentum", 0.2, 0.1481), ("momentum", 0.1, 0.03459)]
)
def test_ball_on_a_turning_plate(form: str, h: float, error: float) -> None:
    sol = conserving.ball_on_plate(form).simulate(11.0, h)
    path = sol["ball.position"]
    assert np.linalg.norm(path[:, :2] - conserving.plate_path(sol.t), axis=1).max() == pytest.approx(error, rel=1e-3)
    assert np.ptp(path[:, 2]) < 1e-13


def test_ball_on_a_free_plate_keeps_angular_momentum_in_the_momentum_form_only() -> None:
    new, old = (conserving.ball_on_plate(form, driven=False).simulate(5.0, 0.1) for form in ("momentum", "midpoint"))
    for sol in (new, old):
        assert np.ptp(sol["energy.total"]) < 1e-12
    assert np.ptp(new["momentum.angular"][:, 2]) < 1e-12
    assert np.ptp(old["momentum.angular"][:, 2]) > 1e-3


def test_two_wheeled_robot() -> None:
    s = conserving.two_wheeled_robot([2.0, 0.0], [0.0, 0.5 * math.pi])
    sol = s.simulate(4.0, 0.01)
    heading = conserving.WHEEL_RADIUS * (sol["right.spin"] - sol["left.spin"]) / (2.0 * conserving.HALF_TRACK)
    assert np.abs(sol["yaw"] - heading).max() < 1e-4
    centre = 0.5 * (sol["left.position"] + sol["right.position"])
    assert at(sol, "left.position", 2.0) + at(sol, "right.position", 2.0) == pytest.approx([4.0, 0.0, 0.0], abs=1e-3)
    assert np.abs(centre[:, 2]).max() < 1e-13
    assert np.abs(sol["energy.residual"]).max() < 1e-12
    # the motor's torque is −u; straight on it accelerates wheel and mass
    x = (sol.t[1:200] - 0.005) / 2.0
    acceleration = 2.0 / conserving.WHEEL_RADIUS / 4.0 * 630.0 * (4.0 * x**3 * (1 - x) ** 4 - 4.0 * x**4 * (1 - x) ** 3)
    torque = -sol["motor.left.input"][1:200]
    assert np.abs(torque - 0.0912 * acceleration).max() < 1e-3 * np.abs(torque).max()
    assert s.report(0.01)["unknowns"] == 27 + 12 + 6 + 4 + 3 + 2


def test_heading_error_is_of_second_order() -> None:
    errors = []
    for h in (0.02, 0.01):
        sol = conserving.two_wheeled_robot([1.0], [1.0]).simulate(2.0, h)
        errors.append(sol["yaw"][-1] - 1.0)
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.05)


def test_rolling_disk_against_its_certain_solution() -> None:
    r = reference("B05_rolling_disk")
    mass, radius, lean, turn, lean_rate = 0.5, 0.1, math.radians(80.0), 1.0, 0.2
    tilt = np.array([[1, 0, 0], [0, math.cos(lean), -math.sin(lean)], [0, math.sin(lean), math.cos(lean)]])
    axis = tilt[:, 2]
    spin = -8.0 - turn * math.cos(lean)
    omega = np.array([lean_rate, 0.0, turn]) + spin * axis
    up = tilt[:, 1]
    q = DirectorBody.coordinates_of((0.0, 0.0, radius * math.sin(lean)), tilt)

    def run(h: float) -> tuple[float, float]:
        s = AssembledSystem("disk")
        disk = s.coordinates("disk", 12, q, DirectorBody.rates_of(q, np.cross(omega, radius * up), omega))
        inertia = mass * radius**2 * np.array([0.25, 0.25, 0.5])
        s.add(DirectorBody(), "inertia", {"body": disk}, DirectorBody.numbers(mass, inertia, gravity=(0.0, 0.0, -9.81)))
        s.add(RollingDisk(), "rolling", {"a": disk}, {"radius": radius})
        sol = s.simulate(1.0, h)
        k = int(np.argmin(np.abs(r["t"] - 1.0)))
        assert r["t"][k] == pytest.approx(1.0)
        assert sol["energy.total"] == pytest.approx(np.full(len(sol.t), r["energy"][0]), abs=1e-11)
        return float(sol["disk.position"][-1][0] - r["x_centre"][k]), float(sol["disk.position"][-1][1] - r["y_centre"][k])

    coarse, fine = run(0.002), run(0.001)
    assert np.hypot(*fine) < 2e-4
    assert np.hypot(*coarse) / np.hypot(*fine) == pytest.approx(4.0, rel=0.1)


def test_sleigh_against_its_certain_solution() -> None:
    r = reference("B05_chaplygin_sleigh")
    q = PlanarBody.coordinates_of((0.25, 0.0))

    def run(h: float) -> float:
        s = AssembledSystem("sleigh")
        body = s.coordinates("sleigh", 6, q, PlanarBody.rates_of(q, (-1.0, 0.025), 0.1))
        s.add(PlanarBody(), "inertia", {"body": body}, PlanarBody.numbers(2.0, 0.3))
        s.add(KnifeEdge(), "blade", {"a": body}, {"point": (-0.25, 0.0), "normal": (0.0, 1.0)})
        sol = s.simulate(10.0, h)
        assert np.ptp(sol["energy.total"]) < 1e-12
        index = [int(np.argmin(np.abs(sol.t - t))) for t in r["t"]]
        return float(np.abs(sol["sleigh.angle"][index] - r["theta"]).max())

    coarse, fine = run(0.02), run(0.01)
    assert fine < 1e-3
    assert coarse / fine == pytest.approx(4.0, rel=0.05)


# servo constraints --------------------------------------------------------------------------------------------------------------


def test_inverse_dynamics_of_a_pendulum() -> None:
    """u = −(J γ̈ + M g ρ sin γ), of second order (T9)."""
    mass, inertia, arm = 2.0, 0.05, 0.3

    def run(h: float) -> float:
        s = AssembledSystem("driven pendulum")
        q = PlanarBody.coordinates_of((0.0, -arm))
        body, angle = s.coordinates("body", 6, q), s.coordinates("angle", 1, 0.0)
        s.add(PlanarBody(), "inertia", {"body": body}, PlanarBody.numbers(mass, inertia, gravity=(0.0, -9.81)))
        hinge, turn = PlanarRevolute(a=Ground(2)), PlanarJointAngle(a=Ground(2))
        s.add(hinge, "hinge", {"b": body}, hinge.place((0.0, 0.0), None, b=q))
        s.add(turn, "turn", {"b": body, "angle": angle}, turn.place(None, b=q))
        s.add(CoordinateServo(lambda t, c: point_to_point(t, 0.0, 1.0, 0.0, 2.0)), "motor", {"x": angle})
        sol = s.simulate(1.0, h)
        assert np.abs(sol["energy.residual"]).max() < 1e-11
        x = sol.t[1:] - 0.5 * h
        gamma = 2.0 * x**5 * (126 - 420 * x + 540 * x**2 - 315 * x**3 + 70 * x**4)
        second = 2.0 * 630.0 * (4.0 * x**3 * (1 - x) ** 4 - 4.0 * x**4 * (1 - x) ** 3)
        exact = -((inertia + mass * arm**2) * second + mass * 9.81 * arm * np.sin(gamma))
        return float(np.abs(sol["motor.input"][1:] - exact).max())

    coarse, fine = run(0.02), run(0.01)
    assert fine < 0.02
    assert coarse / fine == pytest.approx(4.0, rel=0.1)
