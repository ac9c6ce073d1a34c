"""Transmissions with compliance and play, joint control, positive position feedback: closed forms, momentum, other ways to the same model."""

from __future__ import annotations

import numpy as np
import pytest

import jourdain as jd

FORMULATIONS = ("recursive", "semi-recursive", "cartesian", "natural", "directors")


def geared(ratio: float = 20.0, stiffness: float = 300.0, floating: bool = False, **options: object) -> tuple[jd.Model, jd.Joint]:
    """An arm behind a gear, on the ground or on a base that turns freely."""
    m = jd.Model("geared", gravity=(0, 0, 0))
    base = m.ground
    if floating:
        base = m.body("base", mass=5.0, inertia=(0.2, 0.3, 0.4))
        m.spherical("base", m.ground, base)
    arm = m.body("arm", mass=1.0, com=(0.4, 0, 0), inertia=(0.01, 0.05, 0.05))
    joint = m.revolute("joint", base.at(0.1, 0, 0), arm, axis=(0, 0.6, 0.8))
    rotor = m.transmission(joint, inertia=2e-4, stiffness=stiffness, ratio=ratio, **options)  # type: ignore[arg-type]
    m.torque(rotor, m.input("torque"), name="motor")
    return m, joint


def test_frequency_of_a_compliant_gear() -> None:
    """ω² = k(1/I + 1/(n²J)), with the inertia I of the arm about the joint's axis."""
    s = geared()[0].compile()
    I = 0.05 + 1.0 * 0.16
    found = max(abs(mode.eigenvalue) for mode in s.modal().modes)
    assert found == pytest.approx(np.sqrt(300.0 * (1 / I + 1 / (400 * 2e-4))), rel=1e-12)


def test_a_stiff_gear_is_the_rotor_inertia_of_the_joint() -> None:
    """The mean acceleration of the arm tends to n τ/(I + n² J)."""
    s = geared(stiffness=1e9, damping=2e3)[0].compile()
    sol = s.simulate({}, t=0.2, inputs={"torque": 0.05}, method="radau", rtol=1e-9, atol=1e-12)
    assert sol["joint.angle_rate"][-1] == pytest.approx(20 * 0.05 / (0.21 + 400 * 2e-4) * 0.2, rel=1e-6)


@pytest.mark.parametrize("ratio", [20.0, -7.0, 1.0])
@pytest.mark.parametrize("backlash", [0.0, 0.02])
def test_momentum_and_energy_of_a_floating_base(ratio: float, backlash: float) -> None:
    """What gear and motor do is internal: angular momentum about the fixed point stays, and energy changes by the motor's work."""
    m, _ = geared(ratio, floating=True, backlash=backlash, mass=0.3)
    s = m.compile()
    start = s.state({"joint": 0.3, "joint.rotor": 0.3 * ratio}, {"base.orientation.omega_z": 1.0, "joint.angle_rate": 2.0})
    sol = s.simulate(start, t=0.5, inputs={"torque": lambda t: 0.02 * jd.sin(20 * t)}, rtol=1e-10, atol=1e-12)
    q, v = (np.column_stack([sol[n] for n in names]) for names in (s.coordinate_names, s.velocity_names))
    _, L, _ = s.function("momentum")(q, v)
    assert np.abs(L - L[0]).max() < 1e-7 * np.abs(L).max()
    assert np.abs(sol["energy.error"]).max() < 1e-7


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_play_is_that_of_stops_in_series(formulation: str) -> None:
    """With ratio one and no damping a gear with backlash is a shaft between rotor and arm with elastic stops at ± b/2."""
    m, _ = geared(ratio=1.0, stiffness=50.0, backlash=0.1)
    run = {"step": 2e-4} if formulation == "directors" else {"rtol": 1e-9, "atol": 1e-11}
    sol = m.compile(formulation=formulation).simulate({"joint.rotor.angle_rate": 3.0}, t=0.5, **run)
    other = jd.Model("in series", gravity=(0, 0, 0))
    J = 1e-4 * (np.eye(3) + np.outer((0, 0.6, 0.8), (0, 0.6, 0.8)))
    rotor, arm = other.body("rotor", mass=0.0, inertia=J), other.body("arm", mass=1.0, com=(0.4, 0, 0), inertia=(0.01, 0.05, 0.05))
    turn = other.revolute("turn", other.ground.at(0.1, 0, 0), rotor, axis=(0, 0.6, 0.8))
    twist = other.revolute("twist", rotor, arm, axis=(0, 0.6, 0.8))
    other.stop(twist, -0.05, 0.05, stiffness=50.0)
    expected = other.compile().simulate({"turn.angle_rate": 3.0, "twist.angle_rate": -3.0}, t=0.5, rtol=1e-10, atol=1e-12)
    near = 2e-3 if formulation == "directors" else 1e-6
    assert sol["joint.rotor.angle"][-1] == pytest.approx(expected["turn.angle"][-1], abs=near)
    assert sol["joint.angle"][-1] == pytest.approx(expected["turn.angle"][-1] + expected["twist.angle"][-1], abs=near)
    assert turn.name == "turn" and len(np.unique(np.sign(np.round(np.diff(sol["joint.rotor.angle"]), 12)))) > 1, "it bounced"


def test_a_slider_behind_a_screw() -> None:
    m = jd.Model("screw", gravity=(0, 0, 0))
    slide = m.prismatic("slide", m.ground, m.body("table", mass=10.0), axis="x")
    m.transmission(slide, inertia=1e-4, stiffness=1e7, ratio=2 * np.pi / 0.005)
    s = m.compile()
    reflected = 1e-4 * (2 * np.pi / 0.005) ** 2
    assert max(abs(x.eigenvalue) for x in s.modal().modes) == pytest.approx(np.sqrt(1e7 * (1 / 10.0 + 1 / reflected)), rel=1e-9)


def wheel() -> tuple[jd.Model, jd.Joint]:
    m = jd.Model("wheel", gravity=(0, 0, 0))
    return m, m.revolute("hinge", m.ground, m.body("wheel", mass=1.0, inertia=(0.3, 0.3, 0.5)))


def test_joint_control_tracks_functions_of_time() -> None:
    """With r̈ small the error is I r̈/kp; the derivative of the target is known, so that a ramp is followed without error."""
    m, hinge = wheel()
    m.pd(hinge, lambda t: 0.3 * t, kp=50.0, kd=10.0)
    s = m.compile()
    assert np.sort_complex(s.linearise().eigenvalues) == pytest.approx(np.sort_complex(np.roots([0.5, 10.0, 50.0])), rel=1e-9)
    sol = s.simulate({"hinge.angle_rate": 0.3}, t=2.0, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(sol["hinge.angle"], 0.3 * sol.t, atol=1e-9)


def test_limits_of_joint_control() -> None:
    m, hinge = wheel()
    m.pd(hinge, 10.0, kp=50.0, limit=2.0)
    sol = m.compile().simulate({}, t=0.5)
    assert sol["hinge.angle_rate"][-1] == pytest.approx(2.0 / 0.5 * 0.5, rel=1e-9)


@pytest.mark.parametrize("gain", [0.1, 0.6, 1.1])
def test_positive_position_feedback(gain: float) -> None:
    """(s² + 2ζωs + ω²)(s² + 2ζ_f ω_f s + ω_f²) = g ω² ω_f², which is stable exactly for g < 1."""
    m = jd.Model("mode", gravity=(0, 0, 0))
    slide = m.prismatic("slide", m.ground, m.body("mass", mass=2.0), axis="x")
    w, wf = 10.0, 12.0
    m.joint_spring(slide, 2.0 * w**2, damping=2.0 * 2 * 0.01 * w)
    m.force(
        slide, 2.0 * w**2 * m.positive_position_feedback("filter", slide.position, wf / (2 * np.pi), gain, damping=0.4), name="actuator"
    )
    found = np.sort_complex(m.compile().linearise().eigenvalues)
    expected = np.polymul([1, 2 * 0.01 * w, w**2], [1, 2 * 0.4 * wf, wf**2])
    expected[-1] -= gain * w**2 * wf**2
    assert np.abs(found - np.sort_complex(np.roots(expected))).max() < 1e-9
    assert (found.real.max() < 0) == (gain < 1)
    if gain == 0.6:
        assert found.real.max() < -0.01 * w * 3, "the mode is damped more than by itself"


def test_files_hold_gears_and_control(tmp_path) -> None:
    m, joint = geared(backlash=0.01, damping=0.5)
    m.pd(joint, 0.2, kp=5.0, kd=0.3, position=m.encoder("encoder", joint, counts=4000), limit=3.0)
    m.positive_position_feedback("filter", m.low_pass("calm", joint.position, 30.0), 5.0, 0.1)
    m.save(tmp_path / "m.toml")
    again = jd.load_model(tmp_path / "m.toml")
    a, b = (x.compile().simulate({"joint.rotor.angle_rate": 5.0}, t=0.1) for x in (m, again))
    assert np.array_equal(a["joint.angle"], b["joint.angle"]) and np.array_equal(a["filter"], b["filter"])
    assert np.array_equal(a["energy.total"], b["energy.total"])


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"inertia": 0.0}, "transmission 'joint.rotor': inertia 0 must be positive"), ({"stiffness": -1.0}, "stiffness -1 must be positive"),
        ({"backlash": -0.1}, "backlash -0.1 must not be negative"), ({"ratio": 0}, "ratio 0 connects nothing"),
    ],
)  # fmt: skip
def test_wrong_transmissions_are_told(options: dict, told: str) -> None:
    m = jd.Model("wrong")
    joint = m.revolute("joint", m.ground, m.body("arm", mass=1.0))
    with pytest.raises(jd.ModelError, match=told):
        m.transmission(joint, **{"inertia": 1e-4, "stiffness": 100.0, **options})
    ball = m.helical("screw", m.ground, m.body("nut", mass=1.0), pitch=0.01)
    with pytest.raises(jd.ModelError, match="joint 'screw' is helical"):
        m.transmission(ball, inertia=1e-4, stiffness=100.0)
