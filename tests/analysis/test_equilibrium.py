"""Equilibria against closed forms: statics, exchanged variables, steady motion both ways, loops, curves through folds."""

from __future__ import annotations

import json

import numpy as np
import pytest

import jourdain as jd
from jourdain.analysis.equilibrium import describe_problem
from tests.analysis.mechanisms import FOUR_BAR_GUESS, GRAVITY, central_differences, four_bar, pendulum, reduced_rates


def test_pendulum_with_torsion_spring(tmp_path):
    m, hinge = pendulum(0.7, 2.0)
    m.joint_spring(hinge, stiffness=5.0, rest=1.2)
    s = m.compile()
    e = s.equilibrium({"hinge": 0.5})
    x = e["hinge.angle"]
    assert 5.0 * (x - 1.2) + 2.0 * GRAVITY * 0.7 * np.sin(x) == pytest.approx(0.0, abs=1e-11)
    assert e.residual < 1e-11
    assert e.stable
    assert "hinge.angle" in str(e) and "neutral" in str(e)
    rest = s.simulate(e.state, 1.0)
    np.testing.assert_allclose(rest["hinge.angle"], x, atol=1e-12)
    e.save(tmp_path / "equilibrium.json")
    data = json.loads((tmp_path / "equilibrium.json").read_text(encoding="utf-8"))
    assert data["variables"][0]["value"] == x and data["kind"] == "static"


def test_upright_pendulum_is_unstable():
    m, _ = pendulum()
    e = m.compile().equilibrium({"hinge": 3.0})
    assert e["hinge.angle"] == pytest.approx(np.pi, abs=1e-12)
    assert not e.stable
    assert np.max(e.eigenvalues.real) == pytest.approx(np.sqrt(GRAVITY), rel=1e-12)
    assert "unstable (1 growing" in str(e)


def balance_beam():
    """A beam on a pivot that carries two pans hanging on hinges at unequal arms."""
    m = jd.Model("balance")
    left = m.parameter("left", 2.0, unit="kg")
    right = m.parameter("right", 1.0, unit="kg")
    beam = m.body("beam", mass=0.5, com=(0, 0, -0.05), inertia=(0.01, 0.01, 0.01))
    m.revolute("pivot", m.ground, beam, axis="y")
    for name, mass, x in (("a", left, -0.3), ("b", right, 0.4)):
        m.revolute(f"pan_{name}", beam.at(x, 0, 0), m.body(f"pan_{name}", mass=mass, com=(0, 0, -0.2)), axis="y")
    return m.compile()


def test_beam_balance_with_exchanged_mass():
    s = balance_beam()
    e = s.equilibrium({"pivot": 0.0}, exchange={"pivot": "right"})
    assert e["right"] == pytest.approx(2.0 * 0.3 / 0.4, rel=1e-12)
    assert e["pivot.angle"] == 0.0
    assert s.parameters["right"] == 1.0, "the system keeps its parameters until they are applied"
    assert next(x for x in e.entries if x.name == "right").unit == "kg"
    e.apply()
    assert s.parameters["right"] == pytest.approx(1.5)
    assert s.equilibrium({"pivot": 0.1, "pan_a": 0.3})["pivot.angle"] == pytest.approx(0.0, abs=1e-10)


def test_beam_at_an_angle():
    s = balance_beam()
    angle = 0.2
    e = s.equilibrium({"pivot": angle}, exchange={"pivot": "right"})
    # moments about the pivot: pans hang straight down below their hinges, the beam's centre lies below the pivot
    assert e["right"] == pytest.approx((2.0 * 0.3 + 0.5 * 0.05 * np.tan(angle)) / 0.4, rel=1e-11)
    assert e["pan_a.angle"] == pytest.approx(-angle, abs=1e-11)


def vehicle(orientation: str = "zyx"):
    """A plate on four vertical springs that follow it (a car without tyres): x, y and yaw do not matter."""
    m = jd.Model("plate car")
    body = m.body("chassis", mass=1200.0, com=(0.1, 0, 0.2), inertia=(400.0, 1500.0, 1700.0))
    m.free("chassis", m.ground, body, orientation=orientation)
    for i, (x, y) in enumerate([(1.2, 0.7), (1.2, -0.7), (-1.3, 0.7), (-1.3, -0.7)]):
        corner = m.sensor(f"corner{i}", body.at(x, y, 0))
        m.load(f"tyre{i}", body.at(x, y, 0), force=(0, 0, 30000.0 * (0.5 - corner.z) - 2000.0 * corner.velocity[2]))
    return m.compile()


def test_car_on_four_springs_holds_x_y_and_yaw():
    s = vehicle()
    names = s.coordinate_names
    e = s.equilibrium({names[0]: 3.0, names[2]: 0.5, names[3]: 0.4})
    assert e.held == [names[0], names[1], names[3]]
    assert e[names[0]] == 3.0 and e[names[3]] == 0.4
    # forces of the springs from the balance of moments about the pitch axis, small angle not assumed
    z = [
        0.5 - (e[names[2]] + x * -np.sin(e[names[4]]) + y * np.cos(e[names[4]]) * np.sin(e[names[5]]))
        for x, y in [(1.2, 0.7), (1.2, -0.7), (-1.3, 0.7), (-1.3, -0.7)]
    ]
    assert sum(30000.0 * d for d in z) == pytest.approx(1200 * GRAVITY, rel=1e-11)
    assert e.residual < 1e-6
    assert e.stable


def test_car_with_a_quaternion():
    s, t = vehicle(), vehicle("quaternion")
    a, b = s.equilibrium({"chassis.z": 0.5}), t.equilibrium({"chassis.z": 0.5})
    assert b["chassis.z"] == pytest.approx(a["chassis.z"], abs=1e-10)
    up = t.function("poses")(np.zeros(1), b.state.q)[1][0][2]
    expected = s.function("poses")(np.zeros(1), a.state.q)[1][0][2]
    np.testing.assert_allclose(up, expected, atol=1e-10)


def test_loop_minimises_potential_energy():
    s = four_bar()
    start = s.assemble({"A.angle": 0.8}, guess=FOUR_BAR_GUESS)
    e = s.equilibrium(start)
    assert e.residual < 1e-9 and e.stable
    k = s.parameters["k"]
    at = []
    for d in (-1e-3, 0.0, 1e-3):
        closed = s.assemble({"A.angle": e["A.angle"] + d}, guess=e.state)
        at.append(s.energy(closed.q, closed.v)[1] + 0.5 * k * (closed["C.angle"] - 1.0) ** 2)
    # ∂V/∂angle by differences, against the second difference
    assert abs(at[2] - at[0]) < 1e-3 * abs(at[2] - 2 * at[1] + at[0])
    assert list(e.multipliers) == ["loop[1]", "loop[3]"], "the row across the plane holds by itself"


def test_loop_motor_torque_by_exchange_is_what_virtual_work_says():
    s = four_bar()
    start = s.assemble({"A.angle": 0.8}, guess=FOUR_BAR_GUESS)
    e = s.equilibrium(start, exchange={"A": "motor"})
    assert e["A.angle"] == pytest.approx(0.8, abs=1e-12)
    k, d, V = s.parameters["k"], 1e-4, []
    for x in (0.8 - 2 * d, 0.8 - d, 0.8 + d, 0.8 + 2 * d):
        closed = s.assemble({"A.angle": x}, guess=start)
        V.append(s.energy(closed.q, closed.v)[1] + 0.5 * k * (closed["C.angle"] - 1.0) ** 2)
    slope = (V[0] - 8 * V[1] + 8 * V[2] - V[3]) / (12 * d)
    assert e["motor"] == pytest.approx(slope, rel=1e-8)
    moved = s.simulate(e.state, 0.5, inputs=e.inputs)
    np.testing.assert_allclose(moved["A.angle"], 0.8, atol=1e-9)


def test_parameter_of_a_constraint_as_unknown():
    """A rod's length is found that holds a hanging bar at 45 degrees."""
    m = jd.Model("strut")
    length = m.parameter("length", 0.8)
    bar = m.body("bar", mass=3.0, com=(0.5, 0, 0), inertia=(0.1, 0.1, 0.1))
    hinge = m.revolute("hinge", m.ground, bar, axis="-y")
    slider = m.body("slider", mass=1.0)
    m.prismatic("slide", m.ground.at(0, 0, 2.0), slider, axis="z", stiffness=200.0)
    m.rod("rod", slider, bar.at(1.0, 0, 0), length)
    s = m.compile()
    start = s.assemble({"hinge.angle": np.pi / 4}, guess={"slide": 0.0})
    e = s.equilibrium(start, unknowns=["slide.displacement", "length"], equations={"angle": hinge.position - np.pi / 4})
    c = np.sqrt(0.5)
    rod = np.array([c, c - 2.0 - e["slide.displacement"]])
    assert np.linalg.norm(rod) == pytest.approx(e["length"], rel=1e-10)
    # moment about the hinge: weight at half length against the rod's force along itself
    direction = rod / np.linalg.norm(rod)
    pull = 3.0 * GRAVITY * 0.5 * c / (direction[0] * c - direction[1] * c)
    vertical = -200.0 * e["slide.displacement"] - GRAVITY + pull * direction[1]
    assert vertical == pytest.approx(0.0, abs=1e-7)


def flyball():
    """Two arms on a shaft with point masses: cos θ = g / (ω² l)."""
    m = jd.Model("governor")
    shaft = m.body("shaft", mass=1.0, inertia=(0.1, 0.1, 0.05))
    spin = m.revolute("spin", m.ground, shaft, axis="z")
    torque = m.input("torque")
    m.force(spin, lambda x, v, t: torque - 0.3 * v)
    for i, axis in enumerate(("y", "-y")):
        ball = m.body(f"ball{i}", mass=0.4, com=(0, 0, -0.5))
        m.revolute(f"arm{i}", shaft, ball, axis=axis)
    return m.compile()


def test_governor_given_speed_gives_torque():
    s = flyball()
    omega = 7.0
    e = s.equilibrium({"arm0": 0.8, "arm1": 0.8, "spin.angle_rate": omega}, kind="dynamic", exchange={"spin": "torque"})
    assert np.cos(e["arm0.angle"]) == pytest.approx(GRAVITY / (omega**2 * 0.5), rel=1e-12)
    assert e["torque"] == pytest.approx(0.3 * omega, rel=1e-12)
    assert not e.notes
    back = s.equilibrium(
        {"arm0": 0.5, "arm1": 0.7, "spin.angle_rate": 6.0},
        kind="dynamic",
        exchange={"spin": "spin.angle_rate"},
        inputs={"torque": e["torque"]},
    )
    assert back["spin.angle_rate"] == pytest.approx(omega, rel=1e-11)
    assert back["arm1.angle"] == pytest.approx(e["arm1.angle"], rel=1e-10)
    moved = s.simulate(e.state, 1.0, inputs=e.inputs)
    np.testing.assert_allclose(moved["arm0.angle"], e["arm0.angle"], atol=1e-7)


def test_position_of_the_shaft_is_not_sensitive():
    s = flyball()
    e = s.equilibrium({"arm0": 0.8, "arm1": 0.8, "spin.angle": 0.3, "spin.angle_rate": 7.0}, kind="dynamic", inputs={"torque": 2.1})
    assert e.held == ["spin.angle"]
    with pytest.raises(jd.SolverError, match=r"force on 'spin.angle' is still -?0\.[0-9]+"):
        s.equilibrium({"arm0": 0.8, "arm1": 0.8, "spin.angle_rate": 7.0}, kind="dynamic", inputs={"torque": 2.0})


def test_accelerations_may_be_given_for_motion_on_a_circle():
    """A puck on a string on a turning circle in inertial coordinates: a = −ω² r."""
    m = jd.Model("puck")
    puck = m.body("puck", mass=2.0)
    m.sequence("xy", m.ground, puck, ["Tx", "Ty"])
    stiffness = m.parameter("k", 10.0)
    m.spring("string", m.ground, puck, stiffness=stiffness, length=0.5)
    s = m.compile()
    names = s.coordinate_names
    e = s.equilibrium(
        {names[0]: 1.0, s.velocity_names[1]: 3.0},
        kind="dynamic",
        unknowns=["k"],
        accelerations={names[0]: -9.0},
    )
    assert e["k"] == pytest.approx(2.0 * 9.0 / 0.5, rel=1e-12)
    assert e.notes


def rolling_disk(r: float = 0.3, mass: float = 2.0):
    """A thin disk that rolls on the ground: yaw about z, lean about x, spin about its axis y."""
    m = jd.Model("rolling disk")
    disk = m.body("disk", mass=mass, inertia=(mass * r**2 / 4, mass * r**2 / 2, mass * r**2 / 4))
    j = m.sequence("disk", m.ground, disk, ["Tx", "Ty", "Tz", "Rz", "Rx", "Ry"])
    x, y, z, yaw, lean, spin = j.coordinates
    heading, across = (jd.cos(yaw.q[0]), jd.sin(yaw.q[0])), (-jd.sin(yaw.q[0]), jd.cos(yaw.q[0]))
    forward, sideways = (e[0] * x.v[0] + e[1] * y.v[0] for e in (heading, across))
    m.constraint("ground", z.q[0] - r * jd.cos(lean.q[0]))
    m.nonholonomic("forward", forward - r * (spin.v[0] + yaw.v[0] * jd.sin(lean.q[0])))
    m.nonholonomic("sideways", sideways + r * lean.v[0] * jd.cos(lean.q[0]))
    return m.compile()


def test_rolling_disk_on_a_circle():
    s = rolling_disk()
    r, mass = 0.3, 2.0
    names, rates = s.coordinate_names, s.velocity_names
    yaw, lean, spin = names[3:]
    given = {yaw: 0.4, lean: -0.2, names[2]: 0.29, rates[3]: 1.5, rates[4]: 0.0, rates[5]: 12.0}
    e = s.equilibrium(given, kind="dynamic")
    theta, Omega = e[lean], 1.5
    n = 12.0 + Omega * np.sin(theta)
    Ia, Id = mass * r**2 / 2, mass * r**2 / 4
    moment = Id * Omega**2 * np.sin(theta) * np.cos(theta) - (Ia + mass * r**2) * Omega * n * np.cos(theta)
    assert moment == pytest.approx(mass * GRAVITY * r * np.sin(theta), rel=1e-10)
    assert e[rates[3]] == 1.5 and e[rates[5]] == 12.0
    assert set(e.held) == {names[0], names[1], yaw, spin}
    assert not e.notes
    moved = s.simulate(e.state, 1.0)
    np.testing.assert_allclose(moved[lean], theta, atol=1e-6)
    np.testing.assert_allclose(moved[rates[5]], 12.0, atol=1e-6)


def corner_car():
    """A two-axle car with linear tyres on a circle: angle about the centre, radius, sideslip as joint coordinates."""
    mass, a, b, cf, cr = 1500.0, 1.2, 1.4, 60000.0, 75000.0
    m = jd.Model("cornering car", gravity=(0, 0, 0))
    body = m.body("body", mass=mass, inertia=(500.0, 2000.0, 2300.0))
    # the car drives along the tangent: x of the body is the tangent turned by the sideslip
    j = m.sequence("path", m.ground, body, ["Rz", "Ty", "Rz"])
    steer, drive = m.input("steer", 0.0, unit="rad"), m.input("drive", 0.0, unit="N")
    for name, x, c, angle in (("front", a, cf, steer), ("rear", -b, cr, None)):
        axle = body.frame(name, position=(x, 0, 0))
        sensor = m.sensor(name, axle)
        R, w = sensor.rotation, sensor.velocity
        along, side = (R[0, i] * w[0] + R[1, i] * w[1] for i in (0, 1))
        slip = jd.atan(side / along) - (angle if angle is not None else 0.0)
        force = -c * slip
        turn = angle if angle is not None else 0.0 * steer
        push = drive if name == "rear" else 0.0
        m.load(name, axle, force=(push - force * jd.sin(turn), force * jd.cos(turn), 0), axes=axle)
    names = [c.names[0] for c in j.coordinates]
    return m.compile(), names, (mass, a, b, cf, cr)


def test_steady_cornering_both_ways_round():
    s, (turn, radius, slip), (mass, a, b, cf, cr) = corner_car()
    R, speed = 60.0, 18.0
    # the centre is to the left (y > 0 of the body): the body lies at −R, and turns with speed/R
    start = {radius: -R, slip: 0.0, f"{turn}_rate": speed / R}
    e = s.equilibrium(start, kind="dynamic", exchange={radius: "steer", turn: "drive"})
    assert e[radius] == -R
    # small-angle theory (Ackermann plus understeer) holds to second order of the angles
    understeer = mass * (b * cr - a * cf) / ((a + b) * cf * cr)
    assert e["steer"] == pytest.approx((a + b) / R + understeer * speed**2 / R, rel=2e-2)
    # exact balance in the body: forces of both axles turn the velocity at the rate speed/R
    beta, rate = e[slip], speed / R
    u, v = speed * np.cos(beta), -speed * np.sin(beta)
    front = -cf * (np.arctan((v + a * rate) / u) - e["steer"])
    rear = -cr * np.arctan((v - b * rate) / u)
    assert a * front * np.cos(e["steer"]) == pytest.approx(b * rear, rel=1e-10)
    centripetal = np.array([e["drive"] - front * np.sin(e["steer"]), front * np.cos(e["steer"]) + rear])
    inward = np.array([np.sin(beta), np.cos(beta)])
    assert centripetal @ inward == pytest.approx(mass * speed**2 / R, rel=1e-10)
    back = s.equilibrium({radius: -50.0, slip: 0.0, f"{turn}_rate": 0.25}, kind="dynamic", exchange={turn: f"{turn}_rate"}, inputs=e.inputs)
    assert back[radius] == pytest.approx(-R, rel=1e-8)
    assert back[f"{turn}_rate"] == pytest.approx(speed / R, rel=1e-8)
    moved = s.simulate(e.state, 2.0, inputs=e.inputs)
    np.testing.assert_allclose(moved[radius], -R, rtol=1e-7)


@pytest.mark.parametrize("way", ["gravity", ("k", 1e4)])
def test_continuation_where_newton_is_cut_short(way):
    m, hinge = pendulum(1.0, 1.0)
    k = m.parameter("k", 6.0)
    m.force(hinge, lambda x, v, t: -k * (x - 2.0))
    s = m.compile()
    with pytest.raises(jd.SolverError, match="no equilibrium was found"):
        s.equilibrium({"hinge": 2.0}, iterations=4, continuation=None)
    e = s.equilibrium({"hinge": 2.0}, iterations=4, continuation=way)
    assert e.method == f"continuation in {'gravity' if way == 'gravity' else 'k'}"
    assert s.parameters["gravity_z"] == -GRAVITY and s.parameters["k"] == 6.0
    x = e["hinge.angle"]
    assert -6.0 * (x - 2.0) - GRAVITY * np.sin(x) == pytest.approx(0.0, abs=1e-9)


def test_start_where_the_derivative_vanishes():
    """A horizontal pendulum: no small step changes the moment of its weight; a push helps."""
    m, _ = pendulum()
    e = m.compile().equilibrium({"hinge": np.pi / 2})
    assert np.sin(e["hinge.angle"]) == pytest.approx(0.0, abs=1e-10)


def porter_governor(mass: float = 0.4, sleeve_mass: float = 3.0, length: float = 0.3):
    """Two arms with balls on a shaft, two rods down to a sleeve: ω² = (m + M) g / (m l cos θ)."""
    m = jd.Model("Porter governor")
    shaft = m.body("shaft", mass=1.0, inertia=(0.1, 0.1, 0.05))
    spin = m.revolute("spin", m.ground, shaft, axis="z")
    torque = m.input("torque")
    m.force(spin, lambda x, v, t: torque - 0.2 * v)
    sleeve = m.body("sleeve", mass=sleeve_mass, inertia=(0.01, 0.01, 0.01))
    m.prismatic("sleeve", shaft, sleeve, axis="z", damping=4.0)
    for i, axis in enumerate(("y", "-y")):
        ball = m.body(f"ball{i}", mass=mass, com=(0, 0, -length))
        m.revolute(f"arm{i}", shaft, ball, axis=axis)
        m.rod(f"rod{i}", ball.at(0, 0, -length), sleeve, length)
    return m.compile()


@pytest.mark.parametrize("kind", ["static", "dynamic"])
def test_jacobian_of_the_equations_is_exact(kind):
    """Away from any equilibrium, with loops, speeds, inputs, a length in the constraints and given accelerations."""
    m = jd.Model("bars")
    l, k = m.parameter("l", 0.7), m.parameter("k", 30.0)
    a, b = m.body("a", mass=1.0, com=(0.2, 0.1, 0), inertia=(0.1, 0.2, 0.2)), m.body("b", mass=2.0, com=(0, 0, 0.1))
    spin = m.revolute("spin", m.ground, a, axis=(1, 2, 2))
    m.spherical("ball", a.at(0.5, 0, 0), b)
    slide = m.prismatic("slide", m.ground.at(0, 0, 1), m.body("c", mass=1.0), axis="x", stiffness=k)
    m.rod("rod", b.at(0, 0.6, 0), m.bodies["c"], l)
    torque, z = m.input("torque", 0.4), m.state("z", 0.3)
    m.rate(z, spin.position - 2 * z + jd.sin(slide.velocity))
    m.force(spin, lambda x, v, t: torque * jd.cos(x) + z**2 - v * jd.absolute(v))
    s = m.compile()
    start = s.assemble(guess={"spin": 0.4, "slide": 0.3}, velocities={"spin": 0.7, "ball.orientation.omega_y": 0.5})
    extra = ["l", "k", "torque", *(["spin.angle_rate"] if kind == "dynamic" else [])]
    accelerations = {"spin": spin.position * spin.velocity + k * 0.01} if kind == "dynamic" else None
    equations = {"own": slide.position**2 + torque * l}
    problem = describe_problem(s, start, None, None, equations, kind, extra, None, accelerations, ["spin.angle_rate"])
    balance = problem.balance()
    place = balance.place
    n = len(balance.unknowns)
    assert n == 4 + 1 + len(extra)
    differences = central_differences(lambda d: balance.equation_values(balance.moved(place, d)), n, 1e-3)
    np.testing.assert_allclose(balance.jacobian(place), differences, rtol=1e-7, atol=1e-7)
    assert np.abs(balance.equation_values(place)).max() > 0.1


def test_porter_governor_with_loops():
    s = porter_governor()
    omega = 20.0
    start = s.assemble(guess={"arm0": 0.8, "arm1": 0.8, "sleeve": -0.42}, velocities={"spin": omega})
    e = s.equilibrium(start, kind="dynamic", exchange={"spin": "torque"}, steady=["spin.angle_rate"])
    cosine = (0.4 + 3.0) * GRAVITY / (0.4 * 0.3 * omega**2)
    assert np.cos(e["arm0.angle"]) == pytest.approx(cosine, rel=1e-10)
    assert e["sleeve.displacement"] == pytest.approx(-0.6 * cosine, rel=1e-10)
    assert e["torque"] == pytest.approx(0.2 * omega, rel=1e-9)
    back = s.equilibrium(start, kind="dynamic", exchange={"spin": "spin.angle_rate"}, inputs={"torque": 4.0}, steady=["spin.angle_rate"])
    assert back["spin.angle_rate"] == pytest.approx(omega, rel=1e-10)
    moved = s.simulate(e.state, 1.0, inputs=e.inputs)
    np.testing.assert_allclose(moved["sleeve.displacement"], e["sleeve.displacement"], atol=1e-7)
    rates = reduced_rates(s, e.linear, e.state.x, 0.0, e.inputs)
    np.testing.assert_allclose(e.linear.A, central_differences(rates, len(e.linear.A)), rtol=1e-6, atol=1e-5)


def test_redundant_constraints():
    """A table swing on three equal cranks, one more than it needs: a pendulum of the same length."""
    m = jd.Model("swing")
    table = m.body("table", mass=5.0, com=(0.3, 0, 0), inertia=(0.1, 0.1, 0.1))
    cranks = [m.body(f"crank{i}", mass=0.1, com=(0, 0, -0.25), inertia=(0.01, 0.01, 0.01)) for i in range(3)]
    for i, crank in enumerate(cranks):
        m.revolute(f"c{i}", m.ground.at(0.5 * i, 0, 0), crank, axis="y")
    m.revolute("t", cranks[0].at(0, 0, -0.5), table, axis="y")
    for i in (1, 2):
        m.close(f"hold{i}", table.at(0.5 * i, 0, 0), cranks[i].at(0, 0, -0.5), "ball")
    m.force(m.joints["c0"], lambda x, v, t: 2.0 + 0.0 * x)
    s = m.compile()
    start = s.assemble({"c0": 0.1}, guess={"c0": 0.1, "c1": 0.1, "c2": 0.1, "t": -0.1})
    e = s.equilibrium(start)
    assert pytest.approx((5.0 * 0.5 + 3 * 0.1 * 0.25) * GRAVITY * np.sin(e["c0.angle"]), rel=1e-9) == 2.0
    inertia = 5.0 * 0.25 + 3 * (0.01 + 0.1 * 0.0625)
    stiffness = (5.0 * 0.5 + 3 * 0.1 * 0.25) * GRAVITY * np.cos(e["c0.angle"])
    assert s.modal(e)[0].circular_frequency == pytest.approx(np.sqrt(stiffness / inertia), rel=1e-9)
    assert np.isfinite(list(e.multipliers.values())).all() and len(e.multipliers) == 4


def test_user_states_are_part_of_it():
    m, hinge = pendulum(1.0, 2.0)
    target = m.input("target", 0.6)
    integral = m.state("integral")
    m.rate(integral, target - hinge.position)
    m.force(hinge, lambda x, v, t: 30.0 * (target - x) + 20.0 * integral - 5.0 * v)
    e = m.compile().equilibrium({"hinge": 0.1})
    assert e["hinge.angle"] == pytest.approx(0.6, rel=1e-12)
    assert e["integral"] == pytest.approx(2.0 * GRAVITY * np.sin(0.6) / 20.0, rel=1e-12)
    assert e.stable


def test_far_start_needs_globalisation():
    """A chain of ten links with weak springs from a wild start."""
    m = jd.Model("chain")
    before = m.ground
    for i in range(10):
        link = m.body(f"link{i}", mass=1.0, com=(0.15, 0, 0), inertia=(0.01, 0.01, 0.01))
        joint = m.revolute(f"j{i}", before, link, axis="-y")
        m.joint_spring(joint, stiffness=3.0)
        before = link.at(0.3, 0, 0)
    s = m.compile()
    e = s.equilibrium({f"j{i}": 0.4 * (-1) ** i for i in range(10)})
    assert e.residual < 1e-9
    rest = s.simulate(e.state, 0.2)
    np.testing.assert_allclose(rest["j9.angle"], e["j9.angle"], atol=1e-6)


def test_no_equilibrium_is_said_clearly():
    m = jd.Model("falling")
    m.prismatic("fall", m.ground, m.body("stone", mass=2.0), axis="z")
    with pytest.raises(jd.SolverError, match=r"force on 'fall.displacement' is still 19.62.*none of the unknowns"):
        m.compile().equilibrium({})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"exchange": {"hinge": "nothing"}}, "no coordinate 'nothing'"),
        ({"kind": "steady"}, "use 'static' or 'dynamic'"),
        ({"exchange": {"hinge": "idle"}}, "'idle' has no influence"),
        ({"exchange": {"idle": "hinge"}}, "a coordinate or a user state to be kept"),
        ({"extra": ["hinge.angle_rate"]}, "kind='dynamic' only"),
    ],
)
def test_bad_input(options, message):
    m, _ = pendulum()
    m.parameter("idle", 1.0)
    with pytest.raises(jd.InputError, match=message):
        m.compile().equilibrium({"hinge": 0.2}, **options)


def test_von_mises_truss_through_its_folds(tmp_path):
    """Two springs that snap through under a load: V' = 0 is F = 4k z (l0/√(b²+z²) − 1)…, folds where dF/dz = 0."""
    b, h, k = 1.0, 0.5, 100.0
    l0 = np.hypot(b, h)
    m = jd.Model("truss", gravity=(0, 0, 0))
    load = m.parameter("load", 0.0, unit="N")
    node = m.body("node", mass=1.0)
    slide = m.prismatic("slide", m.ground, node, axis="z")
    for i, x in enumerate((-b, b)):
        m.spring(f"bar{i}", m.ground.at(x, 0, 0), node, stiffness=k, length=l0)
    m.force(slide, -load)
    s = m.compile()
    branch = s.equilibria("load", (-40.0, 40.0), {"slide": h})
    z, F = branch["slide.displacement"], branch.values
    expected = -2 * k * z * (1 - l0 / np.sqrt(b**2 + z**2))
    np.testing.assert_allclose(F, expected, atol=1e-8)
    fold = b * np.sqrt((l0 / b) ** (2 / 3) - 1)
    assert sorted(round(x["slide.displacement"], 6) for x in branch.folds) == [round(-fold, 6), round(fold, 6)]
    assert z.min() < -h
    inner = np.abs(z) < fold - 1e-3
    assert not branch.stable[inner].any() and branch.stable[np.abs(z) > fold + 1e-3].all()
    branch.plot("slide.displacement", file=tmp_path / "branch.png")
    assert (tmp_path / "branch.png").stat().st_size > 1000 and "2 folds" in str(branch)


def test_governor_bifurcates_over_the_speed():
    """The branch of raised arms obeys cos θ = g/(ω²l)."""
    m = jd.Model("governor at given speed")
    omega = m.parameter("omega", 8.0)
    shaft, ball = m.body("shaft", mass=1.0), m.body("ball", mass=0.4, com=(0, 0, -0.5))
    m.drive(m.revolute("spin", m.ground, shaft, axis="z"), lambda t: omega * t)
    m.revolute("arm", shaft, ball, axis="y")
    s = m.compile()
    branch = s.equilibria("omega", (5.0, 8.0), {"arm": 1.2})
    x, w = branch["arm.angle"], branch.values
    raised = np.abs(x) > 1e-3
    np.testing.assert_allclose(np.cos(x[raised]), GRAVITY / (w[raised] ** 2 * 0.5), rtol=1e-9)
    assert w.max() == 8.0 and raised.sum() > 5


def test_stability_with_a_parameter_of_a_constraint():
    """The found parameter is part of the equilibrium: no need to give it to the system first, nor do later changes matter."""
    m = jd.Model("strut")
    length = m.parameter("length", 0.8)
    k = m.parameter("k", 200.0)
    bar = m.body("bar", mass=3.0, com=(0.5, 0, 0), inertia=(0.1, 0.1, 0.1))
    hinge = m.revolute("hinge", m.ground, bar, axis="-y")
    slider = m.body("slider", mass=1.0)
    m.prismatic("slide", m.ground.at(0, 0, 2.0), slider, axis="z", stiffness=k)
    m.rod("rod", slider, bar.at(1.0, 0, 0), length)
    s = m.compile()
    start = s.assemble({"hinge.angle": np.pi / 4}, guess={"slide": 0.0})
    e = s.equilibrium(start, unknowns=["slide.displacement", "length"], equations={"angle": hinge.position - np.pi / 4})
    assert abs(e["length"] - 0.8) > 1e-3
    before = e.eigenvalues
    assert "unknown" not in str(e)
    fresh = s.equilibrium(start, unknowns=["slide.displacement", "length"], equations={"angle": hinge.position - np.pi / 4})
    s.set_parameters(k=500.0)
    np.testing.assert_allclose(fresh.eigenvalues, before, rtol=1e-12)
    assert s.parameters["k"] == 500.0
    s.set_parameters(k=200.0)
    e.apply()
    np.testing.assert_allclose(s.linearise(e.state).eigenvalues, before, rtol=1e-12)
    locus = s.root_locus("length", np.linspace(e["length"], e["length"] + 0.3, 4), e)
    np.testing.assert_allclose(np.sort_complex(locus.eigenvalues[0]), np.sort_complex(before), atol=1e-8)


def _on_three_angles(com: tuple[float, float, float]) -> jd.Model:
    """A body on the axes z, y, x in turn: with the second at a right angle, the first and the third lie in one line."""
    m = jd.Model("three angles")
    before, bodies = m.ground, [m.body("first"), m.body("second"), m.body("bob", mass=1.0, com=com, inertia=(0.1, 0.2, 0.15))]
    for axis, body in zip("zyx", bodies, strict=True):
        m.revolute(f"r{axis}", before, body, axis=axis)
        before = body
    return m


@pytest.mark.parametrize("formulation", ["recursive", "semi-recursive", "cartesian"])
def test_no_equilibrium_is_told_where_angles_are_singular(formulation: str) -> None:
    """Forces on two angles whose axes fall together vanish whatever acts; what is found elsewhere holds the bob still."""
    system = _on_three_angles((0.3, 0.2, -0.1)).compile(formulation=formulation)
    rng = np.random.default_rng(0)
    refused = 0
    for _ in range(10):
        try:
            found = system.equilibrium({n: rng.uniform(-2.0, 2.0) for n in ("rz", "ry", "rx")})
        except jd.SolverError as error:
            assert "coordinates are singular" in str(error) and "'rz.angle' and 'rx.angle'" in str(error)
            refused += 1
        else:
            assert np.abs(system.accelerations(found.state)).max() < 1e-9
            assert abs(abs(found["ry.angle"]) - np.pi / 2) > 1e-3
    assert 0 < refused < 10


def test_an_equilibrium_with_singular_angles_is_told_with_a_note() -> None:
    """A bob that hangs straight down along its axis x is at rest with its second angle at 90°."""
    found = _on_three_angles((0.3, 0.0, 0.0)).compile().equilibrium({"ry": 1.4})
    assert found["ry.angle"] == pytest.approx(np.pi / 2, abs=1e-9)
    assert any("coordinates are singular" in n for n in found.notes)


def test_a_part_without_mass_does_not_make_coordinates_singular() -> None:
    """It has no mass anywhere, not at the found position alone: nothing is to be told."""
    m = jd.Model("massless link on a spring")
    link = m.body("link")
    hinge = m.revolute("hinge", m.ground, link, axis="y")
    m.joint_spring(hinge, 10.0, rest=0.3)
    found = m.compile().equilibrium({"hinge": 0.1})
    assert found["hinge.angle"] == pytest.approx(0.3) and not found.notes
