"""Driven mechanisms against closed forms, lock-up reports, inverse kinematics on arms and loops."""

from __future__ import annotations

import math

import numpy as np
import pytest

import jourdain as jd
from tests.analysis.mechanisms import FOUR_BAR_GUESS, four_bar

R, L = 0.3, 0.8


def slider_crank(driven: bool = False):
    """Crank R, rod L, slider along x."""
    m = jd.Model("slider-crank")
    crank = m.body("crank", mass=1.0, com=(R / 2, 0, 0), inertia=(0.01, 0.01, 0.01))
    rod = m.body("rod", mass=1.0, com=(L / 2, 0, 0), inertia=(0.01, 0.05, 0.05))
    piston = m.body("piston", mass=0.5)
    a = m.revolute("crank", m.ground, crank, axis="z")
    m.revolute("pin", crank.at(R, 0, 0), rod, axis="z")
    m.prismatic("piston", m.ground, piston, axis="x")
    m.close("wrist", rod.at(L, 0, 0), piston, "ball")
    if driven:
        m.drive(a, lambda t: 5.0 * t + t**2)
    return m.compile()


def piston_motion(x, v, a):
    """Position, velocity and acceleration of the piston for the crank's."""
    s = np.sqrt(L**2 - R**2 * np.sin(x) ** 2)
    f1 = -R * np.sin(x) - R**2 * np.sin(x) * np.cos(x) / s
    f2 = -R * np.cos(x) - R**2 * np.cos(2 * x) / s - (R**2 * np.sin(x) * np.cos(x)) ** 2 / s**3
    return R * np.cos(x) + s, f1 * v, f1 * a + f2 * v**2


@pytest.mark.parametrize("driven", [False, True])
def test_slider_crank_turns_round(driven):
    s = slider_crank(driven)
    t = np.linspace(0.0, 2.0, 41)
    motion = {} if driven else {"crank": lambda t: 5.0 * t + t**2}
    found = s.kinematics(t, motion, {"pin": 0.0, "piston": 1.0})
    x, v, a = piston_motion(5 * t + t**2, 5 + 2 * t, 2.0)
    np.testing.assert_allclose(found["piston.displacement"], x, atol=1e-11)
    np.testing.assert_allclose(found["piston.displacement_rate"], v, atol=1e-10)
    np.testing.assert_allclose(found["piston.displacement_acc"], a, atol=1e-9)
    assert found.solution["piston.displacement_acc"].shape == t.shape
    assert not found.dead_points and "41 times" in str(found)


def test_driven_by_a_table():
    s = slider_crank()
    t = np.linspace(0.0, 1.0, 201)
    found = s.kinematics(t, {"crank": np.sin(2 * t)}, {"piston": 1.0})
    x, v, a = piston_motion(np.sin(2 * t), 2 * np.cos(2 * t), -4 * np.sin(2 * t))
    np.testing.assert_allclose(found["piston.displacement"], x, atol=1e-10)
    np.testing.assert_allclose(found["piston.displacement_acc"], a, atol=1e-5)
    assert np.abs(found["piston.displacement_rate"] - v).max() < 1e-8


def test_lockup_at_the_dead_centre():
    """Driving the piston outwards: it locks when crank and rod are in line, at x = R + L."""
    s = slider_crank()
    start = s.assemble({"crank": 1.0}, guess={"piston": 0.8, "pin": -1.3})
    x0 = start["piston.displacement"]
    with pytest.raises(jd.SolverError, match=r"locks at t = .*joint '(crank|pin)' is at a dead point") as caught:
        s.kinematics(np.linspace(0.0, 1.0, 11), {"piston": lambda t: x0 + 0.5 * t}, start)
    t = float(str(caught.value).split("t = ")[1].split(" s")[0])
    assert t == pytest.approx((R + L - x0) / 0.5, abs=1e-6)
    assert "piston.displacement = 1.1" in str(caught.value)


def test_parallelogram_goes_through_its_flat_position():
    """A parallelogram that meets its dead point exactly goes straight on and reports it."""
    m = jd.Model("parallelogram")
    a, b, c = (m.body(n, mass=1.0, com=(0.1, 0, 0), inertia=(0.1, 0.1, 0.1)) for n in "abc")
    m.revolute("A", m.ground, a, axis="z")
    m.revolute("B", a.at(0.5, 0, 0), b, axis="z")
    m.revolute("C", m.ground.at(1.0, 0, 0), c, axis="z")
    m.close("loop", b.at(1.0, 0, 0), c.at(0.5, 0, 0), "ball")
    s = m.compile()
    t = np.linspace(-0.5, 0.5, 11)
    found = s.kinematics(t, {"A": lambda t: 1.0 * t}, {"A": -0.5, "B": 0.5, "C": -0.5})
    np.testing.assert_allclose(found["C.angle"], t, atol=1e-7)
    assert [d.t for d in found.dead_points] == pytest.approx([0.0], abs=1e-12)


def test_four_bar_velocities_are_derivatives_of_positions():
    s = four_bar()
    t = np.linspace(0.0, 0.2, 201)
    found = s.kinematics(t, {"A": lambda t: 0.8 + 10.0 * t}, guess={"A.angle": 0.8, **FOUR_BAR_GUESS})
    spline = np.polynomial.chebyshev.Chebyshev.fit(t, found["C.angle"], 30)
    np.testing.assert_allclose(spline.deriv()(t[20:-20]), found["C.angle_rate"][20:-20], atol=1e-8)
    np.testing.assert_allclose(spline.deriv(2)(t[20:-20]), found["C.angle_acc"][20:-20], atol=1e-5)


def test_undetermined_motion_is_refused():
    s = slider_crank()
    with pytest.raises(jd.InputError, match="1 more must be given, for example of"):
        s.kinematics([0.0, 1.0], {}, {"piston": 1.0})
    with pytest.raises(jd.InputError, match="cannot be followed symbolically"):
        s.kinematics([0.0, 1.0], {"crank": lambda t: math.sin(t)}, {"piston": 1.0})
    with pytest.raises(jd.InputError, match="increasing"):
        s.kinematics([1.0, 0.0], {"crank": 0.0}, {"piston": 1.0})


def test_everything_driven():
    """A model without any free coordinate has a motion all the same."""
    m = jd.Model("driven")
    arm = m.body("arm", mass=1.0, com=(1, 0, 0))
    m.drive(m.revolute("hinge", m.ground, arm, axis="z"), lambda t: t)
    found = m.compile().kinematics([0.0, 1.0])
    assert found.q.shape == (2, 0) and found.v.shape == (2, 0)


# --- inverse kinematics ------------------------------------------------------------------------------------------


def urdf_arm():
    from tests.io.robots import robot_folder

    folder = robot_folder()
    if folder is None:
        pytest.skip("the package example-robot-data is not installed")
    from jourdain.io import read_urdf

    return read_urdf(next(folder.rglob("panda.urdf")))


def test_two_link_arm_closed_form():
    m = jd.Model("two links")
    a, b = m.body("a", mass=1.0), m.body("b", mass=1.0)
    m.revolute("q1", m.ground, a, axis="z")
    m.revolute("q2", a.at(0.7, 0, 0), b, axis="z", limits=(0.0, 3.0))
    b.frame("tip", position=(0.5, 0, 0))
    s = m.compile()
    target = np.array([0.4, 0.6, 0.0])
    pose = s.inverse_kinematics({"b.tip": target}, {"q1": 0.2, "q2": 0.3})
    assert pose.reached
    elbow = np.arccos((target @ target - 0.7**2 - 0.5**2) / (2 * 0.7 * 0.5))
    assert pose["q2.angle"] == pytest.approx(elbow, abs=1e-8), "the limit excludes the other elbow"
    far = s.inverse_kinematics({"b.tip": (3.0, 4.0, 0.0)}, {"q1": 0.2, "q2": 0.3}, starts=3)
    assert not far.reached and "NOT reached" in str(far)
    assert far.errors["b.tip"][0] == pytest.approx(5.0 - 1.2, abs=1e-6)
    assert far["q1.angle"] == pytest.approx(np.arctan2(4, 3), abs=1e-4)


def test_limits_are_kept():
    m = jd.Model("one link")
    a = m.body("a", mass=1.0)
    m.revolute("q", m.ground, a, axis="z", limits=(-1.0, 0.5))
    a.frame("tip", position=(1.0, 0, 0))
    s = m.compile()
    pose = s.inverse_kinematics({"a.tip": (0.0, 1.0, 0.0)}, starts=3)
    assert pose["q.angle"] == pytest.approx(0.5, abs=1e-12) and pose.at_limits == ["q.angle"]
    free = s.inverse_kinematics({"a.tip": (0.0, 1.0, 0.0)}, limits=False)
    assert free.reached and free["q.angle"] == pytest.approx(np.pi / 2, abs=1e-9)


def test_panda_reaches_poses_of_random_configurations(rng):
    model = urdf_arm()
    s = model.compile()
    names = list(model.bodies)
    hand = next(n for n in names if "hand" in n or n.endswith("link7"))
    low, high = {}, {}
    for joint in model.joints.values():
        if len(joint.coordinates) == 1 and joint.limits[0] is not None:
            low[joint.coordinates[0].names[0]], high[joint.coordinates[0].names[0]] = joint.limits
    for _ in range(5):
        q = s.configuration.pack({n: rng.uniform(low[n], high[n]) for n in s.coordinate_names if n in low})
        p, R, _ = s.function("frame_pose", path=hand)(np.zeros(1), q)
        pose = s.inverse_kinematics({hand: {"position": p, "rotation": R}}, starts=60)
        assert pose.reached, str(pose)
        p1, R1, _ = s.function("frame_pose", path=hand)(np.zeros(1), pose.state.q)
        np.testing.assert_allclose(p1, p, atol=1e-8)
        np.testing.assert_allclose(R1, R, atol=1e-8)
        for n in low:
            if n in s.coordinate_names:
                assert low[n] - 1e-9 <= pose[n] <= high[n] + 1e-9


def test_closed_loop_and_two_targets_with_weights():
    s = four_bar()
    start = s.assemble({"A.angle": 0.8}, guess=FOUR_BAR_GUESS)
    goal = s.assemble({"A.angle": 1.3}, guess=start)
    tip = s.function("frame_pose", path="coupler")(np.zeros(1), goal.q)[0]
    pose = s.inverse_kinematics({"coupler": tip}, start)
    assert pose.reached
    np.testing.assert_allclose(pose.state.q, goal.q, atol=1e-7)
    h, _ = s.function("constraints")(np.zeros(1), pose.state.q)
    assert np.abs(h).max() < 1e-10
    # contradictory targets on a slide: the weighted mean of squares
    m = jd.Model("slide")
    body = m.body("body", mass=1.0)
    m.prismatic("x", m.ground, body, axis="x")
    body.frame("front", position=(1.0, 0, 0))
    t = m.compile()
    both = t.inverse_kinematics(
        {"body": {"position": (0, 0, 0), "weight": 2.0}, "body.front": {"position": (2.0, 0, 0), "weight": 1.0}}, starts=1
    )
    assert both["x.displacement"] == pytest.approx(1.0 / 5.0, abs=1e-9)


def test_orientation_only(rng):
    m = jd.Model("ball")
    body = m.body("body", mass=1.0, inertia=(1, 1, 1))
    m.spherical("ball", m.ground, body)
    s = m.compile()
    q = s.configuration.random(rng)
    R = s.function("frame_pose", path="body")(np.zeros(1), q)[1]
    pose = s.inverse_kinematics({"body": R})
    assert pose.reached
    np.testing.assert_allclose(s.function("frame_pose", path="body")(np.zeros(1), pose.state.q)[1], R, atol=1e-9)


def test_bad_targets():
    s = four_bar()
    with pytest.raises(jd.InputError, match="at least one target"):
        s.inverse_kinematics({})
    with pytest.raises(jd.ModelError, match="no body or frame 'couplet'"):
        s.inverse_kinematics({"couplet": (0, 0, 0)})
    with pytest.raises(jd.InputError, match="unknown entry 'place'"):
        s.inverse_kinematics({"coupler": {"place": (0, 0, 0)}})


# --- rolling -----------------------------------------------------------------------------------------------------


def test_knife_edge_driven_along_a_circle():
    """Heading t and x = sin t make the blade run on the unit circle: y = 1 − cos t."""
    m = jd.Model("skate")
    skate = m.body("skate", mass=1.0, inertia=(0.1, 0.1, 0.1))
    m.planar("plane", m.ground, skate, plane="xy")
    sensor = m.sensor("blade", skate)
    side = sensor.rotation.column(1)
    m.nonholonomic("edge", side.dot(sensor.velocity))
    s = m.compile()
    t = np.linspace(0.0, 1.4, 8)
    found = s.kinematics(t, {"plane.angle": lambda t: t, "plane.x": lambda t: jd.sin(t)})
    np.testing.assert_allclose(found["plane.y"], 1 - np.cos(t), atol=1e-10)
    np.testing.assert_allclose(found["plane.y_rate"], np.sin(t), atol=1e-10)
    np.testing.assert_allclose(found["plane.y_acc"], np.cos(t), atol=1e-9)


def test_upright_disk_rolls_on_a_circle():
    """Held upright and turned at Ω the centre runs on a circle of radius r ω₃/Ω; forces keep it there."""
    from jourdain.library import rolling_disk

    s = rolling_disk().compile()
    turn, spin = 0.7, 3.0
    start = s.assemble({"disk.rx": np.pi / 2, "disk.x": 0.0, "disk.y": 0.0, "disk.rz": 0.0, "spin": 0.0})
    drivers = {"disk.rz": lambda t: turn * t, "disk.rx": np.pi / 2, "spin": lambda t: spin * t}
    found = s.kinematics(np.linspace(0, 4.0, 9), drivers, start)
    x, y = found["disk.x"], found["disk.y"]
    speed = np.hypot(found["disk.x_rate"], found["disk.y_rate"])
    np.testing.assert_allclose(speed, speed[0], atol=1e-10)
    radius = speed[0] / turn
    assert speed[0] > 0.1
    # centre of the circle from the first velocity, then all positions lie on it
    heading = np.array([found["disk.x_rate"][0], found["disk.y_rate"][0]]) / speed[0]
    centre = np.array([x[0], y[0]]) + radius * np.array([-heading[1], heading[0]])
    np.testing.assert_allclose(np.hypot(x - centre[0], y - centre[1]), radius, atol=1e-9)
    forces = s.inverse_dynamics_along(found, ["disk.rx", "disk.rz", "spin"])
    assert np.isfinite(forces.forces).all()


def test_rolling_needs_enough_drivers():
    from jourdain.library import rolling_disk

    s = rolling_disk().compile()
    start = s.assemble({"disk.rx": np.pi / 2})
    with pytest.raises(jd.errors.InputError, match="do not determine the motion"):
        s.kinematics([0.0, 1.0], {"spin": lambda t: t}, start)
