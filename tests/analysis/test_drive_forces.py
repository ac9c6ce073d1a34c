"""Forces of driven and locked joints: closed forms, inverse dynamics of the freed mechanism, power, linear outputs."""

from __future__ import annotations

import numpy as np
import pytest

import jourdain as jd
from tests.analysis.mechanisms import FOUR_BAR_GUESS, GRAVITY, pendulum


def linkage(driven: bool):
    """A four-bar with a spring at the crank, a bead sliding on its rocker, and a flywheel geared to the crank."""
    m = jd.Model("linkage")
    crank = m.body("crank", mass=1.0, com=(0.15, 0, 0), inertia=(0.01, 0.01, 0.01))
    coupler = m.body("coupler", mass=2.0, com=(0.45, 0, 0.1), inertia=(0.05, 0.06, 0.05))
    rocker = m.body("rocker", mass=1.5, com=(0.3, 0, 0), inertia=(0.03, 0.03, 0.03))
    a = m.revolute("A", m.ground, crank, axis="-y", damping=0.4)
    m.revolute("B", crank.at(0.3, 0, 0), coupler, axis="-y")
    m.revolute("C", m.ground.at(0.8, 0, 0), rocker, axis="-y")
    m.close("loop", coupler.at(0.9, 0, 0), rocker.at(0.6, 0, 0), "ball")
    m.joint_spring(a, 3.0)
    bead = m.prismatic("bead", rocker.at(0.3, 0, 0), m.body("bead", mass=0.3), axis="x")
    m.joint_spring(bead, 200.0)
    wheel = m.revolute("wheel", m.ground, m.body("wheel", mass=1.0, inertia=(0.02, 0.03, 0.02)), axis="y")
    m.gear("gear", wheel, a, -2.0)
    if driven:
        m.drive(a, lambda t: 0.8 + 2 * t + t**2)
    return m.compile()


def test_driven_pendulum_in_closed_form():
    m, hinge = pendulum(0.7, 1.3)
    m.joint_spring(hinge, 4.0)
    slide = m.prismatic("slide", m.bodies["bob"], m.body("rider", mass=0.2), axis="y")
    m.lock(slide, 0.1)
    m.drive(hinge, lambda t: 0.3 * jd.sin(2 * t))
    m.prismatic("free", m.ground, m.body("load", mass=1.0), axis="x")
    sol = m.compile().simulate({}, 1.0)
    f, f2 = 0.3 * np.sin(2 * sol.t), -1.2 * np.sin(2 * sol.t)
    expected = 1.3 * 0.49 * f2 + 1.3 * GRAVITY * 0.7 * np.sin(f) + 4.0 * f
    assert sol["hinge.drive_force"] == pytest.approx(expected, abs=1e-12)
    assert sol["slide.drive_force"] == pytest.approx(np.zeros(len(sol.t)), abs=1e-12)
    assert sol.channel("hinge.drive_force").unit == "N m"


def test_drive_of_a_loop_with_a_gear_is_the_freed_mechanisms_torque():
    driven, free = linkage(True), linkage(False)
    sol = driven.simulate(driven.assemble({}, guess=FOUR_BAR_GUESS), 0.4, rtol=1e-10, atol=1e-12)
    names = free.coordinate_names
    t = sol.t
    motion = {"A.angle": 0.8 + 2 * t + t**2, "A.angle_rate": 2 + 2 * t, "A.angle_acc": 2 + 0 * t}

    def read(ends):
        return np.column_stack([motion[n + ends] if n + ends in motion else sol[n + ends] for n in names])

    found = free.inverse_dynamics_along((t, read(""), read("_rate"), read("_acc")), ["A"])
    assert sol["A.drive_force"] == pytest.approx(found["A"], rel=1e-8, abs=1e-8)
    # its work is the change of energy and what the damper takes
    assert np.abs(sol["energy.error"]).max() < 1e-8
    power = sol["A.drive_force"] * motion["A.angle_rate"]
    assert np.trapezoid(power, t) == pytest.approx(sol["energy.supplied"][-1], rel=1e-4)
    again = driven.inverse_dynamics_along(sol, actuators=["bead"])
    assert again["A.drive_force"] == pytest.approx(sol["A.drive_force"], rel=1e-5, abs=1e-4)
    assert "A.drive_force" in again.solution
    assert "(drive)" in str(again)


def test_books_close_with_a_heavy_rod_and_a_rod_that_changes_its_length():
    m = jd.Model("press")
    crank = m.body("crank", mass=1.0, com=(0.1, 0, 0), inertia=(0.01, 0.01, 0.01))
    ram, rider = m.body("ram", mass=2.0), m.body("rider", mass=0.3)
    drive = m.revolute("crank", m.ground, crank, axis="y", damping=0.3)
    m.prismatic("ram", m.ground, ram, axis="x")
    m.joint_spring(m.prismatic("rider", ram, rider, axis="z"), 100.0)
    m.rod("rod", crank.at(0.3, 0, 0), ram, 1.0 + 0.1 * jd.sin(5 * m.time), mass=0.7)
    m.joint_spring(drive, 2.0)
    m.drive(drive, lambda t: 0.5 + 3 * t)
    s = m.compile()
    sol = s.simulate(s.assemble(guess={"ram": 1.2}), 1.0, rtol=1e-10, atol=1e-12)
    assert np.abs(sol["energy.error"]).max() < 1e-7
    assert np.abs(sol["energy.supplied"]).max() > 1.0


def test_locked_joint_in_equilibrium_and_statics():
    m, hinge = pendulum(1.0, 2.0)
    arm = m.body("arm", mass=1.0, com=(0.5, 0, 0))
    m.revolute("elbow", m.bodies["bob"].at(0, 0, -1.0), arm, axis="y")
    m.lock(hinge, 0.4)
    s = m.compile()
    e = s.equilibrium({"elbow": 1.0})
    expected = (2.0 + 1.0) * GRAVITY * np.sin(0.4)  # the arm hangs straight down: its weight acts at the elbow
    assert e["hinge.drive_force"] == pytest.approx(expected, rel=1e-10)
    assert "hinge.drive_force" in str(e)
    assert s.static_forces(e.state)["hinge.drive_force"] == pytest.approx(expected, rel=1e-10)
    assert e.linear.drive_forces["hinge.drive_force"] == pytest.approx(expected, rel=1e-10)


def test_linear_outputs_of_drives_multipliers_and_accelerations():
    """Rows of C against differences of the simulated channels at neighbouring states."""
    s = linkage(True)
    state = s.assemble({"bead": 0.02}, guess=FOUR_BAR_GUESS, velocities={"bead": 0.1})
    names = ["A.drive_force", "loop.1.multiplier", "gear.multiplier", "bead.displacement_acc", "C.angle_acc"]
    linear = s.linearise(state, outputs=names)
    assert linear.states == ["bead.displacement", "bead.displacement_rate"]

    def channels(x, v):
        at = s.assemble({"bead": x}, guess=state, velocities={"bead": v})
        sol = s.simulate(at, 1e-6, method="rk4", step=1e-6)
        return np.array([sol[n][0] for n in names])

    h = 1e-4
    expected = np.column_stack(
        [
            (channels(0.02 + h, 0.1) - channels(0.02 - h, 0.1)) / (2 * h),
            (channels(0.02, 0.1 + h) - channels(0.02, 0.1 - h)) / (2 * h),
        ]
    )
    np.testing.assert_allclose(linear.C, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())


def test_sensors_measure_accelerations_seen_from_a_turning_frame():
    m = jd.Model("carousel")
    table = m.body("table", mass=2.0, inertia=(0.3, 0.3, 0.5))
    rider = m.body("rider", mass=0.5, inertia=(0.01, 0.02, 0.03), com=(0.1, 0, 0))
    m.revolute("turn", m.ground, table, axis=(0.1, 0.2, 1.0))
    m.universal("gimbal", table.at(0.4, 0, 0.1), rider)
    for i, reference in enumerate((None, table.at(0, 0.3, 0, rotation=("x", 0.5)))):
        sensor = m.sensor(f"s{i}", rider.at(0.2, 0.1, 0), reference)
        for k, axis in enumerate("xyz"):
            for quantity in ("velocity", "acceleration", "angular_velocity", "angular_acceleration"):
                m.output(f"{quantity}{i}{axis}", getattr(sensor, quantity)[k])
    s = m.compile()
    start = s.state().with_values(q=np.array([0.2, 0.3, -0.4]), v=np.array([1.0, -0.7, 0.5]))
    sol = s.simulate(start, 0.4, times=np.linspace(0, 0.4, 401), rtol=1e-11, atol=1e-13)
    for i in range(2):
        for axis in "xyz":
            for a, b in (("velocity", "acceleration"), ("angular_velocity", "angular_acceleration")):
                slope = np.gradient(sol[f"{a}{i}{axis}"], sol.t, edge_order=2)
                assert sol[f"{b}{i}{axis}"][3:-3] == pytest.approx(slope[3:-3], abs=1e-3)


def test_added_mass_is_mass():
    """A force −m_a a at the tip moves the pendulum as a heavier one without weight; loops too."""

    def model(added: float, mass: float, loop: bool):
        m = jd.Model("pendulum")
        bob = m.body("bob", mass=1.0, com=(0, 0, -1.0))
        m.revolute("hinge", m.ground, bob, axis="y")
        if mass:
            m.load("no weight", bob.at(0, 0, -1.0), force=(0, 0, GRAVITY * mass))
            m.fixed("blob", bob.at(0, 0, -1.0), m.body("blob", mass=mass))
        if added:
            a = m.sensor("tip", bob.at(0, 0, -1.0)).acceleration
            m.load("water", bob.at(0, 0, -1.0), force=a * -added)
        if loop:
            other = m.body("other", mass=0.7, com=(0, 0, -0.5))
            m.revolute("second", m.ground.at(0.5, 0, 0), other, axis="y")
            m.rod("rod", bob.at(0, 0, -1.0), other.at(0, 0, -0.8), 0.7)
        s = m.compile()
        return s, s.assemble({"hinge": 0.6}) if loop else s.state({"hinge": 0.6})

    for loop in (False, True):
        (s, x), (r, y) = model(0.5, 0.0, loop), model(0.0, 0.5, loop)
        for method in ("dopri5", "radau"):
            found, expected = (a.simulate(b, 1.0, method=method, rtol=1e-9, times=[0.0, 1.0]) for a, b in ((s, x), (r, y)))
            assert found["hinge.angle"][-1] == pytest.approx(expected["hinge.angle"][-1], abs=1e-7)
        assert s.simulate(x, 0.5)["energy.error"] == pytest.approx(0.0, abs=1e-6)
        np.testing.assert_allclose(s.linearise(x).A, r.linearise(y).A, atol=1e-10)
        np.testing.assert_allclose(s.modal(x).eigenvalues, r.modal(y).eigenvalues, atol=1e-10)
        if loop:
            reduced = s.simulate(x, 1.0, reduction="reduced", rtol=1e-9, times=[0.0, 1.0])
            assert reduced["hinge.angle"][-1] == pytest.approx(found["hinge.angle"][-1], abs=1e-7)


def test_laws_that_are_not_linear_in_accelerations_are_named():
    m, hinge = pendulum()
    m.force(hinge, lambda x, v, t: -0.5 * hinge.acceleration**3)
    s = m.compile()
    with pytest.raises(jd.errors.ModelError, match="'hinge.angle' depends on accelerations in a way that is not linear"):
        s.simulate({"hinge": 0.1}, 1.0)
    assert s.modal({"hinge": 0.0})[0].circular_frequency == pytest.approx(np.sqrt(GRAVITY))
