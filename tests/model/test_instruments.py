"""Encoders, accelerometers and filters: readings against closed forms, in every formulation, in laws, controllers, outputs and guards."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import jourdain as jd

FORMULATIONS = ("recursive", "semi-recursive", "cartesian", "natural", "directors")
G = 9.81


def pendulum(filtered: str = "") -> jd.Model:
    """A bar about y with an encoder, an accelerometer at its end and perhaps a filter behind it."""
    m = jd.Model("bar")
    bar = m.body("bar", mass=2.0, com=(0.3, 0, 0), inertia=(0.01, 0.06, 0.06))
    hinge = m.revolute("hinge", m.ground, bar, axis="y")
    m.torque(hinge, m.input("torque", 3.0))
    m.output("encoder", m.encoder("encoder", hinge, counts=200, ratio=5))
    along, across = (m.accelerometer(f"acc_{axis}", bar.at(0.5, 0, 0), axis) for axis in "xz")
    m.output("along", along)
    m.output("across", across)
    m.output("plain", m.accelerometer("plain", bar.at(0.5, 0, 0), "z", gravity=False))
    if filtered == "acceleration":
        m.low_pass("calm", across, "20 Hz")
    elif filtered == "velocity":
        m.output("calm", m.derivative("calm.state", m.sensors["acc_z"].velocity[2], 20.0))
    return m


def exact(q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Readings along x and z of the bar, and z without weight; turning about y by q > 0 lowers its end."""
    a = (3.0 + 2.0 * G * 0.3 * np.cos(q)) / (0.06 + 2.0 * 0.09)
    return -0.5 * v**2 - G * np.sin(q), -0.5 * a + G * np.cos(q), -0.5 * a


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_accelerometers_feel_acceleration_less_gravity(formulation: str) -> None:
    s = pendulum().compile(formulation=formulation)
    sol = s.simulate({"hinge": -0.4, "hinge.angle_rate": 2.0}, t=0.3, **({"step": 1e-3} if formulation == "directors" else {}))
    along, across, plain = exact(sol["hinge.angle"], sol["hinge.angle_rate"])
    near = 2e-3 if formulation == "directors" else 1e-9
    np.testing.assert_allclose(sol["along"], along, atol=near)
    np.testing.assert_allclose(sol["across"], across, atol=near)
    np.testing.assert_allclose(sol["plain"], plain, atol=near)


def test_at_rest_they_read_gravity_upwards() -> None:
    m = jd.Model("block")
    block = m.body("block", mass=1.0)
    m.fixed("glue", m.ground.at(rotation={"rpy": (0.3, -0.2, 0.5)}), block)
    for axis in "xyz":
        m.output(axis, m.accelerometer(axis, block, axis))
    m.prismatic("other", m.ground, m.body("slider", mass=1.0), axis="x")
    sol = m.compile().simulate({}, t=0.01)
    assert np.linalg.norm([sol[a][0] for a in "xyz"]) == pytest.approx(G, rel=1e-12)
    R = np.array([[float(e) for e in row] for row in m.joints["glue"].parent.rotation.rows])
    np.testing.assert_allclose([sol[a][0] for a in "xyz"], R.T @ [0, 0, G], atol=1e-12)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_encoders_read_the_nearest_step(formulation: str) -> None:
    s = pendulum().compile(formulation=formulation)
    run = {"step": 1e-3} if formulation == "directors" else {}
    sol = s.simulate({"hinge": -0.4, "hinge.angle_rate": 2.0}, t=0.3, **run)
    step = 2 * np.pi / 1000
    counts = sol["encoder"] / step
    np.testing.assert_allclose(counts, np.round(counts), atol=1e-9)
    assert np.abs(sol["encoder"] - sol["hinge.angle"]).max() <= step / 2 * (1 + 1e-9)
    assert len(np.unique(np.round(counts))) > 15
    s.set_parameters(**{"encoder.step": 0.0})
    fine = s.simulate({"hinge": -0.4, "hinge.angle_rate": 2.0}, t=0.3, **run)
    np.testing.assert_allclose(fine["encoder"], fine["hinge.angle"], atol=1e-15)


def test_a_loop_through_an_encoder_is_open_to_linearise_until_its_step_is_zero() -> None:
    m = jd.Model("servo", gravity=(0, 0, 0))
    hinge = m.revolute("hinge", m.ground, m.body("wheel", mass=1.0, inertia=(0.1, 0.1, 0.1)))
    m.pd(hinge, 0.0, kp=40.0, position=m.encoder("encoder", hinge, counts=1000))
    s = m.compile()
    assert s.linearise().A[1, 0] == 0.0
    s.set_parameters(**{"encoder.step": 0.0})
    assert s.linearise().A[1, 0] == pytest.approx(-400.0)


def test_encoders_act_in_guards_controllers_and_laws() -> None:
    """A wheel that turns at a constant speed: the guard fires where the reading jumps to 0.5, half a step before."""
    m = jd.Model("wheel", gravity=(0, 0, 0))
    hinge = m.revolute("hinge", m.ground, m.body("wheel", mass=1.0, inertia=(0.1, 0.1, 0.1)))
    seen = m.encoder("encoder", hinge, step=0.1)
    brake = m.input("brake")
    m.torque(hinge, brake)
    m.event("mark", seen - 0.48, terminal=True)
    s = m.compile()
    sol = s.simulate({"hinge.angle_rate": 2.0}, t=1.0)
    assert sol.t[-1] == pytest.approx(0.225, abs=1e-9)
    law = -seen
    sol = s.simulate({"hinge.angle_rate": 2.0}, t=0.2, inputs={"brake": jd.Controller(law, 0.02)}, rtol=1e-10)
    held = [sol["brake"][np.searchsorted(sol.t, 0.02 * k + 1e-6)] for k in range(10)]
    np.testing.assert_allclose(np.array(held) / 0.1, np.round(np.array(held) / 0.1), atol=1e-12)
    assert held[-1] == pytest.approx(-0.1 * np.floor(sol.at([0.18])["hinge.angle"][0] / 0.1 + 0.5))


def test_filters_are_those_of_first_order() -> None:
    m = jd.Model("filters", gravity=(0, 0, 0))
    slide = m.prismatic("slide", m.ground, m.body("mass", mass=1.0), axis="x")
    m.low_pass("slow", m.input("signal", 2.0), "3 Hz")
    m.output("speed", m.derivative("rate", slide.position, 10.0))
    sol = m.compile().simulate({"slide.displacement_rate": 4.0}, t=0.2, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(sol["slow"], 2.0 * (1 - np.exp(-6 * np.pi * sol.t)), atol=1e-9)
    np.testing.assert_allclose(sol["speed"], 4.0 * (1 - np.exp(-20 * np.pi * sol.t)), atol=1e-8)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_filtered_accelerations_are_known_to_trees_and_refused_elsewhere(formulation: str) -> None:
    start, run = {"hinge": -0.4, "hinge.angle_rate": 2.0}, {"step": 2e-4} if formulation == "directors" else {"rtol": 1e-9}
    if formulation in ("recursive", "semi-recursive"):
        s = pendulum("acceleration").compile(formulation=formulation)
        sol = s.simulate(start, t=0.3, **run)
        t = np.linspace(0, 0.3, 6001)
        _, across, _ = exact(sol.at(t)["hinge.angle"], sol.at(t)["hinge.angle_rate"])
        w, y = 40 * np.pi, 0.0
        for a, b in pairwise(across):  # exact for a signal that is linear over each piece
            h = t[1]
            e = np.exp(-w * h)
            y = y * e + a * (1 - e) + (b - a) * (1 - (1 - e) / (w * h))
        assert sol["calm"][-1] == pytest.approx(y, abs=1e-5)
        assert np.isfinite(sol["across"]).all() and np.abs(sol["energy.error"]).max() < 1e-5
    else:
        with pytest.raises(jd.ModelError, match="state 'calm': its rate reads accelerations.*m.derivative"):
            pendulum("acceleration").compile(formulation=formulation).simulate(start, t=0.3, **run)
    sol = pendulum("velocity").compile(formulation=formulation).simulate(start, t=0.3, **run)
    reference = pendulum("velocity").compile().simulate(start, t=0.3, rtol=1e-10)
    assert sol["calm"][-1] == pytest.approx(reference["calm"][-1], abs=2e-3 if formulation == "directors" else 1e-6)


def test_in_a_loop_they_are_refused_by_name() -> None:
    m = jd.library.four_bar()
    m.low_pass("calm", m.sensor("s", m.bodies["coupler"]).acceleration[0], 10.0)
    s = m.compile()
    with pytest.raises(jd.ModelError, match="state 'calm': its rate reads accelerations"):
        s.simulate(s.assemble(), t=0.01)


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda m, j, k: m.encoder("e", j), "encoder 'e': give either counts= of a turn or step="),
        (lambda m, j, k: m.encoder("e", j, counts=0), "counts = 0 and ratio = 1 must be positive"),
        (lambda m, j, k: m.encoder("e", k, counts=100), "joint 'slide' moves in m and has no turns to count; give step= in m"),
        (lambda m, j, k: m.low_pass("f", j.position, 0.0), "filter 'f': the corner frequency 0 Hz must be positive"),
    ],
)  # fmt: skip
def test_wrong_instruments_are_told(call, told: str) -> None:
    m = jd.Model("wrong")
    hinge, slide = m.revolute("hinge", m.ground, m.body("a", mass=1.0)), m.prismatic("slide", m.ground, m.body("b", mass=1.0))
    with pytest.raises(jd.ModelError, match=told):
        call(m, hinge, slide)
