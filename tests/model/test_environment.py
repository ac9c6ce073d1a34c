"""Air, central gravity and motors against closed forms."""

from __future__ import annotations

import math

import numpy as np
import pytest

import jourdain as jd


def test_terminal_speed_of_a_falling_ball() -> None:
    m = jd.Model("ball")
    body = m.body("ball", mass=0.5)
    m.prismatic("fall", m.ground, body, axis="-z")
    m.aerodynamics("air", body, drag=0.47, area=0.01)
    k, g = 0.5 * 1.225 * 0.47 * 0.01, 9.81
    sol = m.compile().simulate(None, 4.0, rtol=1e-11, atol=1e-12)
    terminal = math.sqrt(0.5 * g / k)
    np.testing.assert_allclose(sol["fall.displacement_rate"], terminal * np.tanh(g * sol.t / terminal), atol=1e-6 * terminal)


def test_lift_is_upwards_normal_to_the_wind_and_does_no_work(rng: np.random.Generator) -> None:
    m = jd.Model("wing", gravity=(0, 0, 0))
    body = m.body("wing", mass=1.0, inertia=(1, 1, 1))
    m.free("j", m.ground, body)
    m.aerodynamics("air", body, drag=0.0, lift=0.8, area=2.0)
    s = m.compile()
    q = s.configuration.neutral()
    level = s.function("loads")(q, np.array([10.0, 0, 0, 0, 0, 0]))
    np.testing.assert_allclose(level[:3], [0, 0, 0.5 * 1.225 * 0.8 * 2.0 * 100.0], rtol=1e-12)
    q, v = s.configuration.random(rng), rng.normal(size=6)
    assert abs(s.function("loads")(q, v)[:3] @ v[:3]) < 1e-12


def test_circular_orbit() -> None:
    mu, r = 3.986e14, 7.0e6
    m = jd.Model("satellite", gravity=(0, 0, 0))
    body = m.body("satellite", mass=100.0)
    m.sequence("j", m.ground, body, ["Tx", "Ty"])
    m.attraction("earth", body, mu)
    speed = math.sqrt(mu / r)
    period = 2 * math.pi * r / speed
    final = m.compile().simulate({"j.x": r, "j.y_rate": speed}, period, method="dop853", rtol=1e-12, atol=1e-6).final
    assert final["j.x"] == pytest.approx(r, rel=1e-9)
    assert abs(final["j.y"]) < 1e-3


@pytest.mark.parametrize("inductance", [0.0, 2e-3])
def test_motor_runs_up_to_its_no_load_speed(inductance: float) -> None:
    m = jd.Model("drive", gravity=(0, 0, 0))
    rotor = m.body("rotor", mass=1.0, inertia=(1e-3, 1e-3, 2e-3))
    shaft = m.revolute("shaft", m.ground, rotor)
    u = m.input("u", 12.0, unit="V")
    m.motor(shaft, u, constant=0.05, resistance=0.8, inductance=inductance)
    sol = m.compile().simulate(None, 8.0, rtol=1e-10)
    assert sol["shaft.angle_rate"][-1] == pytest.approx(12.0 / 0.05, rel=1e-4)
    if inductance == 0.0:
        tau = 2e-3 * 0.8 / 0.05**2
        np.testing.assert_allclose(sol["shaft.angle_rate"], 240.0 * (1 - np.exp(-sol.t / tau)), atol=1e-6 * 240)


def test_bad_input_is_named() -> None:
    m = jd.Model("m")
    body = m.body("empty")
    joint = m.revolute("j", m.ground, body)
    with pytest.raises(jd.ModelError, match=r"attraction 'sun': body 'empty' has no mass to attract"):
        m.attraction("sun", body, 1.0)
    with pytest.raises(jd.ModelError, match=r"motor 'j.motor': resistance -1 Ω must be positive"):
        m.motor(joint, 12.0, constant=0.1, resistance=-1.0)
