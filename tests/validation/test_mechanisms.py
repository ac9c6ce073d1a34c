"""Linkages against closed forms: kinematics, multipliers, reactions, redundancy, joint natures."""

from __future__ import annotations

import numpy as np
import pytest

import jourdain as jd
from benchmarks.problems import ANDREWS_ANGLES, PROBLEMS, reference
from jourdain.library import bricard, flyball_governor, four_bar, pendulum, rssr, slider_crank
from tests.validation.circles import closed_four_bar

# -- A01 ---------------------------------------------------------------------------------------------------------------


def test_bar_tension_of_the_pendulum() -> None:
    """The hinge holds the bob with −3 m g y/L along the bar (A01)."""
    system = pendulum().compile()
    sol = system.simulate({"hinge.angle": -np.pi / 2}, 2.5, method="dop853", rtol=1e-12, atol=1e-14)
    place = sol.frame("bob.mass").position
    tension = np.einsum("ti,ti->t", sol["hinge.reaction"], -place)
    assert tension == pytest.approx(-3 * 9.81 * place[:, 1], abs=1e-9)
    across = np.cross(sol["hinge.reaction"], place)
    assert np.abs(across).max() < 1e-9


# -- A03 ---------------------------------------------------------------------------------------------------------------

FINAL = {
    "beta": (15.8107711951537071, 1139.92030225910606, -24631.7631228746),
    "Theta": (-15.7563710584118395, -1424.37929517754007, 51850.3196364642),
    "gamma": (0.0408222401196458049, 11.0329119106185937, 324102.600707579),
    "Phi": (-0.534730116342079594, 19.2933741050320408, 566749.422000995),
    "delta": (0.524409965879954069, 0.573569914829502454, 16743.6354183454),
    "Omega": (0.534730116342079594, -19.2933741050320408, -566749.422000995),
    "epsilon": (1.04808074104193787, 0.323179149249130875, 9826.50780154416),
}


def test_andrews_at_the_end() -> None:
    """Angles, rates and accelerations at 0.03 s; the circulated value of β differs by its known error of 1.1e-9."""
    problem = PROBLEMS["A03"]
    sol = problem.run("dop853", 1e-13)
    for name, (angle, rate, acceleration) in FINAL.items():
        assert sol[f"{name}.angle"][-1] == pytest.approx(angle, abs=2e-11)
        assert sol[f"{name}.angle_rate"][-1] == pytest.approx(rate, rel=1e-9)
        assert sol[f"{name}.angle_acc"][-1] == pytest.approx(acceleration, rel=1e-8)
    assert 15.81077119629904 - sol["beta.angle"][-1] == pytest.approx(1.1453e-9, abs=1e-12)


def test_andrews_starts_with_the_certain_accelerations() -> None:
    """β̈ and Θ̈ at rest; the other coordinates do not accelerate."""
    problem = PROBLEMS["A03"]
    sol = problem.run("dop853", 1e-6)
    found = {n: sol[f"{n}.angle_acc"][0] for n in ANDREWS_ANGLES}
    assert found["beta"] == pytest.approx(14222.4439199541, rel=1e-12)
    assert found["Theta"] == pytest.approx(-10666.8329399656, rel=1e-12)
    assert max(abs(found[n]) for n in ANDREWS_ANGLES[2:]) < 1e-6
    assert sol["energy.potential"][0] == pytest.approx(1.4357963991616687, rel=1e-12)


# -- A04 ---------------------------------------------------------------------------------------------------------------


def test_bricard_redundancy_is_named() -> None:
    """One of the five equations of the closing joint is redundant, in the start and along the motion."""
    system = bricard().compile()
    state = system.assemble()
    assert state.report.freedoms == 1
    assert len(state.report.redundant) == 1
    assert state.report.redundant[0].startswith("P6[")
    assert "reactions are not unique" in str(state.report)


def test_bricard_kinematics() -> None:
    """sin α + sin β + sin α sin β = 0 with alternating joint angles, at positions closed from α alone."""
    system = bricard().compile()
    guess: dict[str, float] = {}
    for alpha in np.linspace(0.1, 1.2, 6):
        beta = -np.arcsin(np.sin(alpha) / (1 + np.sin(alpha)))
        guess = {f"P{i}": (alpha if i % 2 else beta) + 0.02 for i in range(1, 6)}
        state = system.assemble({"P1": alpha}, guess=guess)
        expected = [alpha if i % 2 else beta for i in range(1, 6)]
        assert state.q == pytest.approx(expected, abs=1e-10)
        assert len(state.report.redundant) == 1


def test_bricard_half_period() -> None:
    """It comes to rest at α = π after 2.49585575684436194 s."""
    problem = PROBLEMS["A04"]
    system = problem.system
    sol = system.simulate(system.assemble(), 2.49585575684436194, method="dop853", rtol=1e-12, atol=1e-14)
    assert abs(sol["P1.angle"][-1]) == pytest.approx(np.pi, abs=1e-9)
    assert sol["P1.angle_rate"][-1] == pytest.approx(0.0, abs=1e-9)


# -- B12 ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("branch", "guess"), [("plus", 0.66), ("minus", -1.95)])
def test_rssr_over_a_full_turn(branch: str, guess: float) -> None:
    """Both assembly branches with velocities and accelerations."""
    expected = reference(f"B12_rssr_{branch}")
    system = rssr(speed=5.0).compile()
    motion = system.kinematics(expected["phi"] / 5.0, x0=system.assemble(guess={"rocker": guess}))
    assert motion.q[:, 0] == pytest.approx(expected["psi"], abs=1e-13)
    assert motion.v[:, 0] == pytest.approx(expected["dpsi"], abs=1e-12)
    assert motion.a[:, 0] == pytest.approx(expected["ddpsi"], abs=5e-12)


def test_rssr_branches_are_found() -> None:
    """Listing the assembly modes gives exactly the two branches (modulo a turn)."""
    system = rssr().compile()
    modes = system.assembly_modes({"crank": 0.0})
    angles = sorted({round((state["rocker.angle"] + np.pi) % (2 * np.pi) - np.pi, 9) for state in modes.values()})
    assert angles == pytest.approx([-1.95127523267971, 0.664273015093143], abs=1e-8)


def test_driven_crank_equals_given_torque() -> None:
    """The crank driven at 5 rad/s needs a torque; the free crank under that torque turns at 5 rad/s (joint natures)."""
    driven = rssr(speed=5.0).compile()
    sol = driven.simulate(
        driven.assemble(guess={"rocker": 0.66}), 0.4, method="dop853", rtol=1e-12, atol=1e-14, times=np.linspace(0, 0.4, 401)
    )
    torque = sol["crank.reaction_torque"][:, 2]
    model = rssr()
    needed = jd.table(sol.t, torque, kind="spline")
    model.force(model.joints["crank"], needed(model.time))
    free = model.compile()
    start = free.assemble({"crank": 0.0}, guess={"rocker": 0.66}, velocities={"crank": 5.0})
    turned = free.simulate(start, 0.4, method="dop853", rtol=1e-10, atol=1e-12)
    assert turned["crank.angle"] == pytest.approx(5.0 * turned.t, abs=2e-6)


# -- slider-crank, four-bar, governor ----------------------------------------------------------------------------------


def test_slider_crank_position() -> None:
    """x = r cos φ + √(l² − (r sin φ − e)²) with an offset."""
    system = slider_crank(offset=0.01).compile()
    for phi in np.linspace(0, 6, 13):
        expected = 0.05 * np.cos(phi) + np.sqrt(0.15**2 - (0.05 * np.sin(phi) - 0.01) ** 2)
        state = system.assemble({"crank": phi}, guess={"rod": -phi, "piston": 0.15})
        assert state["piston.displacement"] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("branch", [1, -1])
def test_four_bar_closes_as_the_circles_say(branch: int) -> None:
    """Both branches over a full turn of the crank."""
    system = four_bar().compile()
    for alpha in np.linspace(0, 2 * np.pi, 25):
        coupler, rocker = closed_four_bar(alpha, branch)
        state = system.assemble({"crank": alpha}, guess={"coupler": coupler + 0.05, "rocker": rocker - 0.05})
        assert state["coupler.angle"] == pytest.approx(coupler, abs=1e-12)
        assert state["rocker.angle"] == pytest.approx(rocker, abs=1e-12)


def test_four_bar_multipliers_are_the_pin_force() -> None:
    """The force of the closing pin moves the rocker: moment about its bearing equals the change of its momentum."""
    system = four_bar().compile()
    start = system.assemble({"crank": 0.5}, guess={"coupler": 0.3, "rocker": 2.0}, velocities={"crank": 4.0})
    sol = system.simulate(start, 1.5, method="dop853", rtol=1e-12, atol=1e-14)
    angle, acceleration = sol["rocker.angle"], sol["rocker.angle_acc"]
    force = sol["loop.reaction"]
    arm = 0.7 * np.column_stack([np.cos(angle), np.sin(angle)])
    moment = arm[:, 0] * force[:, 1] - arm[:, 1] * force[:, 0] - 0.7 * 9.81 * 0.35 * np.cos(angle)
    assert moment == pytest.approx(0.7**3 / 3 * acceleration, abs=1e-9)


def test_governor_in_steady_rotation() -> None:
    """cos α = (m + M)g/(m Ω² l) without spring: started there it stays there; with friction it finds it."""
    ball, sleeve, arm = 1.0, 2.0, 0.2
    speed = 15.0
    alpha = np.arccos((ball + sleeve) * 9.81 / (ball * speed**2 * arm))
    system = flyball_governor(ball, sleeve, arm, stiffness=0.0, damping=0.0).compile()
    start = system.assemble(
        {"shaft": 0.0, "left": alpha, "right": alpha}, guess={"sleeve": -2 * arm * np.cos(alpha)},
        velocities={"shaft": speed, "left": 0.0, "right": 0.0},
    )  # fmt: skip
    assert start["sleeve.displacement"] == pytest.approx(-2 * arm * np.cos(alpha), abs=1e-12)
    sol = system.simulate(start, 3.0, method="dop853", rtol=1e-11, atol=1e-13)
    assert sol["left.angle"] == pytest.approx(alpha, abs=1e-8)
    assert sol["shaft.angle_rate"] == pytest.approx(speed, abs=1e-7)
    assert np.ptp(sol["energy.total"]) < 1e-8
