"""Outputs of models that follow prescribed courses, and the inputs found for them."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import jourdain as jd
from jourdain.elements.servo import point_to_point
from jourdain.errors import InputError, ModelError
from jourdain.library.cranes import passive_arm
from tests.systems.assembled.flat_cranes import T, function, line, rate, rotary

FIRST, LAST, DURATION = (5.0, 0.0, -5.0), (-2.0, 4.0, -3.0), 8.0
START = {"travel.displacement": 5.0, "place.x": 5.0, "place.z": -5.0}
INPUTS = ("slewing torque", "trolley force", "rope tension")


def crane() -> jd.Model:
    """Bridge, trolley and a load on a rope whose tension is an input."""
    m = jd.Model("crane")
    bridge = m.body("bridge", 200.0, com=(2.0, 0.0, 0.0), inertia=(10.0, 300.0, 305.0))
    trolley, load = m.body("trolley", 10.0, inertia=(1.0, 1.0, 1.0)), m.body("load", 100.0, inertia=(5.0, 5.0, 5.0))
    m.force(m.revolute("slewing", m.ground, bridge, axis="z"), m.input(INPUTS[0], unit="N*m"))
    m.force(m.prismatic("travel", bridge, trolley, axis="x"), m.input(INPUTS[1], unit="N"))
    m.sequence("place", m.ground, load, ["Tx", "Ty", "Tz"])
    tension = m.input(INPUTS[2], unit="N")
    m.link("rope", trolley, load, law=lambda length, speed, t: tension)
    m.sensor("hook", load)
    return m


def outputs(m: jd.Model) -> dict[str, object]:
    course = [point_to_point(m.time, 0.0, DURATION, a, b) for a, b in zip(FIRST, LAST, strict=True)]
    return {n: x - c for n, x, c in zip(INPUTS, m.sensors["hook"].position, course, strict=True)}


def test_crane_by_flatness_and_back() -> None:
    """Inputs agree with flatness to second order; the tree engine, driven by them, brings the load to its goal."""
    m = crane()
    directors, tree = m.compile(formulation="directors"), m.compile()
    _, exact = rotary(line(FIRST, LAST, DURATION), bridge=305.0 + 200.0 * 4.0 + 1.0, winch=0.0)
    exact[2] = -exact[2]
    errors, missed = [], []
    for h in (0.08, 0.04):
        sol = directors.track(outputs(m), START, DURATION, step=h)
        wanted = np.array([function(e)(sol.t) for e in exact])
        errors.append([np.abs(sol[n] - w).max() / np.abs(w).max() for n, w in zip(INPUTS, wanted, strict=True)])
        run = tree.simulate(START, DURATION, inputs={n: (sol.t, sol[n]) for n in INPUTS}, rtol=1e-8)
        missed.append(np.linalg.norm([run[f"place.{c}"][-1] - x for c, x in zip("xyz", LAST, strict=True)]))
    assert max(errors[1]) < 2e-3
    assert np.log2(np.divide(errors[0], errors[1]))[:2] == pytest.approx([2.0, 2.0], abs=0.15)  # the tension is exact
    assert missed[1] < 0.01 and np.log2(missed[0] / missed[1]) == pytest.approx(2.0, abs=0.2)
    # the same inputs in the conserving scheme; work of the inputs is the change of energy
    again = directors.simulate(START, DURATION, step=0.04, inputs={n: (sol.t, sol[n]) for n in INPUTS})
    assert again["place.y"][-1] == pytest.approx(4.0, abs=0.01)
    assert sol["energy.supplied"][-1] == pytest.approx(sol["energy.total"][-1] - sol["energy.total"][0], rel=1e-5)
    assert sol["energy.total"][-1] - sol["energy.total"][0] == pytest.approx(100.0 * 9.81 * 2.0, rel=1e-6)
    # accelerations of the solution are those with the inputs
    np.testing.assert_allclose(sol["place.x_acc"], function(rate(line(FIRST, LAST, DURATION)[0], 2))(sol.t), atol=1e-9)


def pendulum() -> jd.Model:
    m = jd.Model("pendulum")
    bob = m.body("bob", 2.0, com=(0.0, 0.0, -0.5), inertia=(0.1, 0.1, 0.02))
    m.force(m.revolute("hinge", m.ground, bob, axis="y"), m.input("torque", unit="N*m"))
    return m


def test_direct_actuation_uses_the_conserving_scheme() -> None:
    """u = J γ̈ + m g a sin γ, with second-order error."""
    m = pendulum()
    directors = m.compile(formulation="directors")
    course = point_to_point(T, 0.0, 1.0, 0.0, 1.2)
    angle = m.joints["hinge"].coordinates[0].q[0]
    errors = []
    for h in (0.02, 0.01):
        sol = directors.track({"torque": angle - point_to_point(m.time, 0.0, 1.0, 0.0, 1.2)}, None, 1.0, step=h)
        assert sol.metadata["method"] == "energy-momentum"
        exact = 0.6 * function(rate(course, 2))(sol.t) + 2.0 * 9.81 * 0.5 * np.sin(function(course)(sol.t))
        errors.append(np.abs(sol["torque"] - exact).max())
        np.testing.assert_allclose(sol["hinge.angle"], function(course)(sol.t), atol=1e-10)
        assert np.abs(sol["step.energy.residual"]).max() < 1e-10
    assert errors[1] < 0.05 and np.log2(errors[0] / errors[1]) > 1.8


def test_start_can_be_adjusted() -> None:
    """A load that already moves on a circle pulls its rope aside."""
    m = crane()
    hook = m.sensors["hook"].position
    t = m.time
    wanted = {
        n: x - c for n, x, c in zip(INPUTS, hook, (4.0 + jd.cos(t), jd.sin(t), -5.0 + 0.0 * t), strict=True)
    }  # fmt: skip
    directors = m.compile(formulation="directors")
    with pytest.raises(InputError, match="contradicts the servo constraints' derivatives"):
        directors.track(wanted, {**START, "place.y_rate": 1.0, "slewing.angle_rate": 0.2}, 1.0)
    sol = directors.track(wanted, {**START, "place.y_rate": 1.0, "slewing.angle_rate": 0.2}, 1.0, adjust=True)
    assert sol["travel.displacement"][0] == pytest.approx(5.0 - 5.0 / 9.81, rel=1e-9)  # tan = ẍ/g over 5 m of height
    assert sol["rope tension"] == pytest.approx(np.full(sol.t.size, 100.0 * np.hypot(9.81, 1.0)), rel=1e-9)


def arm() -> jd.Model:
    """Two uniform links in a horizontal plane, a motor in the shoulder and a spring in the elbow."""
    m = jd.Model("arm", gravity=(0.0, 0.0, 0.0))
    place: jd.Body | jd.Frame = m.ground
    for name in ("shoulder", "elbow"):
        link = m.body(f"{name} link", 2.0, com=(0.5, 0.0, 0.0), inertia=(1e-3, 1.0 / 6.0, 1.0 / 6.0))
        m.revolute(name, place, link, axis="z")
        place = link.at(1.0, 0.0, 0.0)
    m.force(m.joints["shoulder"], m.input("motor", unit="N*m"))
    m.joint_spring(m.joints["elbow"], stiffness=50.0, damping=0.25)
    return m


def test_internal_motion_that_runs_away_is_told() -> None:
    """The same arm as in the library: followed near the shoulder it works, followed near the tip it cannot."""
    m = arm()
    directors = m.compile(formulation="directors")
    shoulder, elbow = (m.joints[n].coordinates[0].q[0] for n in ("shoulder", "elbow"))
    course = point_to_point(m.time, 0.0, 1.5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sol = directors.track({"motor": shoulder + 0.2 * elbow - course}, None, 2.0)
    other = passive_arm().simulate(2.0, 0.01)
    np.testing.assert_allclose(sol["elbow.angle"], other["elbow"], atol=1e-9)
    with pytest.warns(UserWarning, match=r"an internal motion runs away \(7\.2 1/s\)"):
        directors.track({"motor": shoulder + elbow - course}, None, 0.1)


def test_refusals() -> None:
    m = crane()
    directors = m.compile(formulation="directors")
    with pytest.raises(InputError, match="there is no input 'winch'"):
        directors.track({"winch": m.sensors["hook"].position.x}, START, 1.0)
    with pytest.raises(InputError, match="no outputs are given"):
        directors.track({}, START, 1.0)
    idle = pendulum_with(lambda m, u: m.input("idle"))
    with pytest.raises(ModelError, match="no load uses the input 'idle'"):
        idle.compile(formulation="directors").track({"idle": idle.time}, None, 1.0)
    bent = pendulum_with(lambda m, u: m.force(m.joints["hinge"], u**2, name="bent"))
    with pytest.raises(ModelError, match="load 'bent': its force is not linear in the input 'torque'"):
        bent.compile(formulation="directors").track({"torque": bent.time}, None, 1.0)


def pendulum_with(change: object) -> jd.Model:
    m = pendulum()
    change(m, m.inputs["torque"].symbol)  # type: ignore[operator]
    return m
