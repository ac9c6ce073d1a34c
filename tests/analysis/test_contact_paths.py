"""Rigid contacts in verbs that seek among many states: ends of standing over a parameter, motions that repeat, pendulums between stops; books of drives."""

import math
from typing import Any

import numpy as np
import pytest

import jourdain as jd
from jourdain.errors import InputError

G = 9.81


def pendulum(lower: float, upper: float) -> Any:
    m = jd.Model("pendulum")
    bob = m.body("bob", mass=1.0, com=(0, 0, -1.0))
    m.revolute("hinge", m.ground, bob, axis="y", limits=(lower, upper))
    m.stops(law=jd.contact.rigid(restitution=0.3))
    m.load("pull", bob, torque=(0, m.parameter("M", 0.0), 0))
    return m.compile()


@pytest.mark.parametrize("angle", [0.1, -0.5, 0.99, 1.4])
def test_a_pendulum_between_stops_hangs_down(angle: float) -> None:
    found = pendulum(-1.0, 1.5).equilibrium({"hinge.angle": angle})
    assert abs(found["hinge.angle"]) < 1e-8


def test_a_pendulum_whose_stop_is_in_the_way_leans_on_it() -> None:
    found = pendulum(0.3, 1.5).equilibrium({"hinge.angle": 1.2})
    assert found["hinge.angle"] == pytest.approx(0.3, abs=1e-12)
    assert found.contacts[0].force[0] == pytest.approx(G * math.sin(0.3), rel=1e-10)


def test_a_pendulum_swings_down_to_a_wall() -> None:
    """A ball of 0.1 m at the end of an arm of 1 m rests on a face at x = −0.4, so that its centre is at −0.5."""
    m = jd.Model("wall")
    arm = m.body("arm", mass=1.0, com=(0, 0, -1.0), shape=jd.sphere(0.1).at(0, 0, -1.0))
    m.revolute("hinge", m.ground, arm, axis="y")
    m.ground.shapes += [jd.box(1.0, 1.0, 4.0).at(0.1, 0, -1.0)]
    m.contact("c", arm, m.ground, law=jd.contact.rigid())
    found = m.compile().equilibrium({"hinge.angle": 1.2})
    assert math.sin(found["hinge.angle"]) == pytest.approx(0.5, abs=1e-8)
    assert found.contact_force("c", "arm")[0] * math.cos(found["hinge.angle"]) == pytest.approx(-G * 0.5, rel=1e-7)


def test_equilibria_follow_a_stop_and_leave_it() -> None:
    """−sin q = M/(mgl) inside of the limits, the limits outside."""
    path = pendulum(-1.0, 0.5).equilibria("M", (-20.0, 6.0))
    assert path.ends == ("'M' leaves the span", "'M' leaves the span")
    expected = np.clip(np.arcsin(np.clip(path.values / G, -1.0, 1.0)), -1.0, 0.5)
    np.testing.assert_allclose(path["hinge.angle"], expected, atol=1e-7)
    assert path.stable.all() and not path.folds and path.values[0] == -20.0 and path.values[-1] == 6.0


def test_equilibria_end_where_a_block_slides_or_tips() -> None:
    """A push at the height of the centre: it slides at μmg, or tips at mg (width/height) where the floor is rough."""
    for friction, word in ((0.6, "slides"), (3.0, "tips")):
        m = jd.Model("block", gravity=(0, 0, -G))
        body = m.body("block", shape=jd.box(0.2, 0.2, 0.1, density=1000.0))
        m.free("f", m.ground, body)
        m.contact("floor", body, m.ground, law=jd.contact.rigid(friction=friction))
        m.load("pushed", body, force=(m.input("push", 0.0, "N"), 0.0, 0.0))
        path = m.compile().equilibria("push", (-10.0, 100.0), {"f.z": 0.05})
        limit = 4.0 * G * min(friction, 2.0)
        assert path.values[-1] == pytest.approx(limit, rel=1e-9)
        assert path.values[0] == -10.0 and word in path.ends[1] and "'block'" in path.ends[1]


def test_equilibria_refuse_what_rigid_contacts_leave_no_room_for() -> None:
    with pytest.raises(InputError, match="kind='dynamic', steady= is not for rigid contacts"):
        pendulum(-1.0, 1.5).equilibria("M", (-1.0, 1.0), kind="dynamic")


def bouncer(amplitude: float, rate: float, e: float) -> Any:
    m = jd.Model("bouncer", gravity=(0, 0, -G))
    plate = m.body("plate", mass=1.0, shape=jd.box(1, 1, 0.1))
    m.drive(m.prismatic("lift", m.ground, plate, axis="z"), lambda t: amplitude * jd.sin(rate * t))
    ball = m.body("ball", shape=jd.sphere(0.05, density=1000.0))
    m.prismatic("fall", m.ground, ball, axis="z")
    m.contact("c", ball, plate, law=jd.contact.rigid(restitution=e))
    return m.compile()


def test_a_ball_that_bounces_once_in_every_period_of_its_table() -> None:
    """(1 + e) A ω cos φ = (1 − e) g T/2 for the phase of impact; the product of the multipliers is e² (Holmes 1982)."""
    rate, e, A = 20.0, 0.7, 0.03
    T = 2 * math.pi / rate
    phase = math.acos(G * T / 2 * (1 - e) / (1 + e) / (A * rate))
    since = T - phase / rate
    z, v = A * math.sin(phase) + 0.1 + G * T / 2 * since - G * since**2 / 2, G * T / 2 - G * since
    found = bouncer(A, rate, e).periodic({"fall.displacement": z + 1e-3, "fall.displacement_rate": v - 0.01}, T)
    assert found.state.q[0] == pytest.approx(z, abs=1e-10) and found.state.v[0] == pytest.approx(v, abs=1e-9)
    assert np.prod(found.multipliers).real == pytest.approx(e * e, rel=1e-3)


def test_a_motion_that_repeats_with_contacts_that_stay_closed() -> None:
    """A block slips on a table that goes to and fro: its mean velocity dies out, and where it is does not matter."""
    m = jd.Model("conveyor", gravity=(0, 0, -G))
    plate = m.body("plate", mass=1.0, shape=jd.box(1, 1, 0.1))
    m.drive(m.prismatic("shift", m.ground, plate, axis="x"), lambda t: 0.05 * jd.sin(12 * t))
    block = m.body("block", shape=jd.box(0.1, 0.1, 0.1, density=1000.0))
    m.prismatic("up", m.ground, (carriage := m.body("carriage", mass=1e-3)), axis="z")
    m.prismatic("along", carriage, block, axis="x")
    m.contact("c", block, plate, law=jd.contact.rigid(friction=0.3))
    s = m.compile()
    found = s.periodic({"up.displacement": 0.1, "along.displacement_rate": 0.1}, 2 * math.pi / 12)
    run = s.simulate(found.state, t=2 * math.pi / 12)
    np.testing.assert_allclose(run.final_state().x, found.state.x, atol=1e-7)
    assert found.state.q[0] == 0.1
    with pytest.raises(InputError, match="method 'moreau' puts impacts on its grid of steps"):
        s.periodic({"up.displacement": 0.1}, 2 * math.pi / 12, method="moreau", step=1e-3)
    # slipping all the time would want 0.3 g T/4 of velocity either way; here the block sticks at times, so that the table's velocity is reached
    assert 0.2 < np.abs(run["along.displacement_rate"]).max() < 0.6


def test_modes_that_follow_their_loads_with_contacts_and_without() -> None:
    """Where nothing touches, the modes are those of the same model without contacts; where something does, the pair is named."""
    ST = jd.structures

    def board(law: Any) -> Any:
        m = jd.Model("board")
        section = ST.Section(2e-4, Iy=1e-8, Iz=1e-8, torsion=2e-8)
        body = m.flexible_body("board", ST.beam((0, 0, 0), (1, 0, 0), section, ST.Material(2e11, 0.3, 7800.0), elements=8), modes=2)
        m.prismatic("lift", m.ground, body, axis="z")
        body.add_collision(jd.sphere(0.01), node="end")
        if law is not None:
            m.contact("floor", body, m.ground, law=law)
        return m.compile(check=False)

    free, touched = board(None), board(jd.contact.rigid())
    start = {"lift.displacement": 0.5, "lift.displacement_rate": 0.2}
    np.testing.assert_allclose(touched.quasi_static(start).x, free.quasi_static(start).x, atol=1e-14)
    with pytest.raises(InputError, match=r"the contact of 'board(\.end)?' and 'ground' is closed in this state.*use equilibrium"):
        touched.quasi_static({"lift.displacement": 0.01})


def shaker() -> Any:
    m = jd.Model("shaker", gravity=(0, 0, -G))
    plate = m.body("plate", mass=1.0, shape=jd.box(1, 1, 0.1))
    m.drive(m.prismatic("lift", m.ground, plate, axis="z"), lambda t: 0.05 * jd.sin(20 * t))
    arm = m.body("arm", mass=0.3)
    m.joint_spring(m.prismatic("side", plate, arm, axis="x"), 30.0)
    ball = m.body("ball", shape=jd.sphere(0.05, density=1000.0))
    m.free("f", m.ground, ball)
    m.contact("c", ball, plate, law=jd.contact.rigid(restitution=0.5, friction=0.3))
    return m.compile()


def test_books_of_drives_with_rigid_contacts() -> None:
    """From event to event the books close to the tolerance; in fixed steps the error falls with the step, and both tell the same work."""
    s, start = shaker(), {"f.z": 0.3, "f.x_rate": 0.4, "side.displacement": 0.1}
    exact = s.simulate(start, t=0.5, rtol=1e-10, atol=1e-12)
    assert np.abs(exact["energy.error"]).max() < 1e-9 and np.ptp(exact["energy.total"]) > 1.0
    assert exact["contacts.dissipated"][-1] > 0.1
    for method in ("moreau", "nonsmooth-generalized-alpha"):
        runs = [s.simulate(start, t=0.5, method=method, step=h) for h in (1e-3, 2.5e-4)]
        errors = [np.abs(run["energy.error"]).max() for run in runs]
        assert errors[1] < 0.5 * errors[0] and errors[1] < 0.02
        off = [abs(run["energy.supplied"][-1] - exact["energy.supplied"][-1]) for run in runs]
        assert off[1] < 0.02 * abs(exact["energy.supplied"][-1])


def test_books_of_drives_want_every_step() -> None:
    sol = shaker().simulate({"f.z": 0.3}, t=0.1, method="moreau", step=1e-3, outputs=5)
    with pytest.raises(InputError, match="every step is kept"):
        _ = sol["energy.error"]
