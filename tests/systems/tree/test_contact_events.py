"""Set-valued contacts by events: impacts, rest, sliding, rocking and jamming to all digits; what Moreau's steps tend to; what refuses."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.spatial import ConvexHull

import jourdain as jd
from jourdain.errors import InputError
from jourdain.model.contact.laws import rigid

G = 9.81


def on_floor(name: str, shape: Any, law: Any, gravity: Any = (0.0, 0.0, -G)) -> jd.System:
    m = jd.Model(name, gravity=gravity)
    m.ground.shapes.append(jd.plane())
    m.free("f", m.ground, m.body("b", shape=shape))
    m.contact("floor", law=law)
    return m.compile()


def ball(law: Any) -> jd.System:
    return on_floor("ball", jd.sphere(0.05, density=1000.0), law)


@pytest.mark.parametrize("method", ["dopri5", "dop853", "adams"])
def test_a_bouncing_ball_and_where_its_impacts_accumulate(method: str) -> None:
    """B6: every impact, the time of rest, and rest after it."""
    s = ball(rigid(friction=0.3, restitution=0.8))
    sol = s.simulate({"f.z": 1.05}, 5.0, method, rtol=1e-12, atol=1e-14)
    found = np.array([i.t for i in sol.contacts.impacts])
    fall = math.sqrt(2.0 / G)
    exact = fall * np.cumsum([1.0, *(2.0 * 0.8**n for n in range(1, len(found)))])
    np.testing.assert_allclose(found, exact, atol=1e-10)
    (rest, pair), *more = sol.contacts.rests
    assert not more
    assert "b" in pair
    assert abs(rest - 4.06371276887157814) < 1e-9
    weight = float(s.model.bodies["b"].mass) * G
    np.testing.assert_allclose(sol["floor.b.force"][-1], [0.0, 0.0, weight], atol=1e-10)
    assert abs(sol["f.z"][-1] - 0.05) < 1e-14
    assert abs(sol["contacts.dissipated"][-1] - weight) < 1e-10
    assert np.abs(sol["energy.error"]).max() < 1e-10


def test_values_of_the_bouncing_ball_at_given_times() -> None:
    sol = ball(rigid(restitution=0.8)).simulate({"f.z": 1.05}, 3.0, "dop853", rtol=1e-13, atol=1e-14, times=[0.0, 1.0, 2.0, 3.0])
    np.testing.assert_allclose(sol["f.z"][1:] - 0.05, [0.468004452526036, 0.260741728327057, 0.0687074609657657], atol=1e-10)
    np.testing.assert_allclose(sol["f.z_rate"][1:], [-1.83699554747396, -0.165869135836471, -0.0153541333847448], atol=1e-9)


def test_a_ball_slides_until_it_rolls() -> None:
    s = ball(rigid(friction=0.2))
    sol = s.simulate({"f.z": 0.05, "f.x_rate": 1.0}, 0.5, rtol=1e-11, atol=1e-13)
    when = 2.0 / 7.0 / (0.2 * G)
    assert abs(sol["f.x_rate"][-1] - 5.0 / 7.0) < 1e-10
    assert np.abs(sol.t - when).min() < 1e-9  # a step ends where sliding does
    m = float(s.model.bodies["b"].mass)
    assert abs(sol["contacts.dissipated"][-1] - m / 7.0) < 1e-9 * m
    assert sol.contacts.at(0.1)[0].state == "slip"
    assert sol.contacts.at(0.4)[0].state == "stick"


def test_a_block_on_a_slope_rests_below_the_angle_of_friction_and_slides_above() -> None:
    def run(angle: float, mu: float, t: float) -> jd.Solution:
        tilted = (G * math.sin(angle), 0.0, -G * math.cos(angle))
        return on_floor("block", jd.box(0.2, 0.2, 0.1, density=500.0), rigid(friction=mu), tilted).simulate({"f.z": 0.05}, t, rtol=1e-9)

    rest = run(0.3, 0.4, 100.0)
    assert np.abs(rest["f.x_rate"]).max() < 1e-15
    assert np.abs(rest["f.x"]).max() < 1e-9
    slides = run(0.5, 0.3, 2.0)
    assert abs(slides["f.x"][-1] - 2.0 * G * (math.sin(0.5) - 0.3 * math.cos(0.5))) < 1e-9
    assert np.abs(slides["f.z"] - 0.05).max() < 1e-13  # it is not lifted


@pytest.mark.parametrize(("gap", "after"), [(0.0, [-1 / 3, 2 / 3, 2 / 3]), (1e-3, [0.0, 0.0, 1.0])])
def test_a_row_of_balls_at_once_and_one_after_the_other(gap: float, after: list[float]) -> None:
    m = jd.Model("row", gravity=(0, 0, 0))
    for k in range(3):
        m.free(f"f{k}", m.ground, m.body(f"b{k}", shape=jd.sphere(0.05, density=1000.0)))
    m.contact("touch", law=rigid(restitution=1.0))
    sol = m.compile().simulate({"f0.x": -0.101, "f1.x": 0.0, "f2.x": 0.1 + gap, "f0.x_rate": 1.0}, 0.02)
    np.testing.assert_allclose([sol[f"f{k}.x_rate"][-1] for k in range(3)], after, atol=1e-13)
    assert abs(sol.contacts.impacts[0].t - 1e-3) < 1e-12


def test_successive_impacts_of_unequal_masses() -> None:
    """B6: masses 1, 2, 0.5 kg, e = 0.9, from the left."""
    m = jd.Model("row", gravity=(0, 0, 0))
    for k, mass in enumerate((1.0, 2.0, 0.5)):
        b = m.body(f"b{k}", mass=mass, inertia=(1e-3,) * 3)
        b.shapes.append(jd.sphere(0.05))
        m.prismatic(f"s{k}", m.ground, b, axis="x")
    m.contact("touch", law=rigid(restitution=0.9))
    s = m.compile()
    names, rates = s.coordinate_names, s.velocity_names
    sol = s.simulate({names[0]: -0.101, names[1]: 0.0, names[2]: 0.101, rates[0]: 3.0}, 0.05)
    np.testing.assert_allclose([sol[n][-1] for n in rates], [-0.8, 1.178, 2.888], atol=1e-12)


def test_newtons_cradle_keeps_its_energy() -> None:
    m = jd.Model("cradle")
    r, length = 0.02, 0.3
    for k in range(5):
        b = m.body(f"b{k}", shape=jd.sphere(r, density=7800.0).at(0, 0, -length))
        m.revolute(f"h{k}", m.ground.at(2.0001 * r * k, 0, 0), b, axis="y")
    m.contact("touch", law=rigid(restitution=1.0))
    sol = m.compile().simulate({"h0.angle": 0.5}, 1.5, rtol=1e-10, atol=1e-12)
    assert np.ptp(sol["energy.total"]) < 1e-9
    assert sol["h4.angle"].min() < -0.4999  # as high as the first one was
    assert max(np.abs(sol[f"h{k}.angle"]).max() for k in (1, 2, 3)) < 1e-4
    assert len({i.t for i in sol.contacts.impacts}) == 12


def test_a_rocking_block_by_quadrature() -> None:
    """Housner: the time to the first impact, and the rate after it, (1 − 3/2 sin² α) of that before."""
    b, h, tilt = 0.1, 0.3, 0.05
    s = on_floor("block", jd.box(2 * b, 0.2, 2 * h, density=500.0), rigid(friction=2.0))
    x, z = b - b * math.cos(tilt) + h * math.sin(tilt), b * math.sin(tilt) + h * math.cos(tilt)
    start = {"f.x": x, "f.z": z, "f.orientation.e0": math.cos(tilt / 2), "f.orientation.e2": math.sin(tilt / 2)}
    sol = s.simulate(start, 0.6, rtol=1e-11, atol=1e-13)
    alpha, p2 = math.atan2(b, h), 0.75 * G / math.hypot(b, h)
    drop = quad(
        lambda y: 2 * y / math.sqrt(2 * p2 * (math.cos(alpha - tilt) - math.cos(alpha - tilt + y * y))), 0, math.sqrt(tilt), epsabs=1e-13
    )[0]
    first = sol.contacts.impacts[0].t
    assert abs(first - drop) < 1e-9
    rate = sol[s.velocity_names[4]][np.abs(sol.t - first) < 1e-12]
    assert abs(rate[-1] / rate[0] - (1.0 - 1.5 * math.sin(alpha) ** 2)) < 1e-10
    assert len({i.t for i in sol.contacts.impacts}) >= 3
    assert np.abs(sol["energy.error"]).max() < 1e-8


@pytest.mark.slow
def test_stick_and_slip_on_a_belt() -> None:
    """A block held by a spring on a belt: it is carried along until the spring pulls μ m g, slides as an oscillator, and sticks again.

    Static and kinetic friction are equal: it slides half an oscillation about the balance, until it moves with the belt again.
    """
    v, mu, stiffness = 0.1, 0.3, 50.0
    m = jd.Model("belt")
    belt = m.body("belt", mass=1.0, inertia=(1, 1, 1))
    belt.shapes.append(jd.plane())
    m.drive(m.prismatic("roll", m.ground, belt, axis="x"), lambda t: v * t)
    block = m.body("block", shape=jd.box(0.1, 0.1, 0.1, density=1000.0))
    m.free("f", m.ground, block)
    m.spring("spring", m.ground.at(-1.0, 0, 0.05), block, stiffness=stiffness, length=1.0)
    m.contact("grip", belt, block, law=rigid(friction=mu))
    s = m.compile()
    x0 = -0.02
    sol = s.simulate({"f.z": 0.05, "f.x": x0, "f.x_rate": v}, 2.5, rtol=1e-10, atol=1e-12)
    balance = mu * 1.0 * G / stiffness
    released = (balance - x0) / v
    np.testing.assert_allclose(np.interp(0.5 * released, sol.t, sol["f.x"]), x0 + 0.5 * v * released, atol=1e-9)
    # it then swings about the balance with the speed of the belt: v cos ωt ≤ v, which it has again after a whole period
    after = sol.t > released
    np.testing.assert_allclose(
        sol["f.x"][after], balance + v / math.sqrt(stiffness) * np.sin(math.sqrt(stiffness) * (sol.t[after] - released)), atol=2e-7
    )
    assert np.abs(sol.t - released).min() < 1e-7


def rod(mu: float) -> jd.System:
    """A rod of 1 m in a plane, whose lower tip touches the floor."""
    m = jd.Model("rod")
    m.ground.shapes.append(jd.plane())
    body = m.body("rod", mass=1.0, inertia=(1 / 12, 1 / 12, 1e-3))
    body.shapes.append(jd.sphere(0.01).at(0, 0, -0.5))
    m.sequence("j", m.ground, body, ["Tx", "Tz", "Ry"])
    m.contact("tip", body, m.ground, law=rigid(friction=mu))
    return m.compile()


def thrown(s: jd.System, angle: float, speed: float) -> jd.Solution:
    x, z, turn = s.coordinate_names
    return s.simulate({x: 0.0, z: 0.5 * math.cos(angle) + 0.01, turn: angle, s.velocity_names[0]: speed}, 0.2, rtol=1e-10, atol=1e-12)


def test_a_rod_that_jams_has_an_impact_without_collision() -> None:
    """Painlevé's rod: above the critical friction no forces hold the sliding tip; an impulse inside the cone ends the sliding at once."""
    angle = 0.6
    r = 0.5 * math.cos(angle) + 0.01, 0.5 * math.sin(angle)  # from the centre to the tip: down, and along the sliding
    critical = (1.0 + 12.0 * r[1] ** 2) / (12.0 * r[0] * r[1])
    assert 1.0 < critical < 2.0
    for mu in (0.9 * critical, 1.2 * critical):
        sol = thrown(rod(mu), angle, -2.0)
        assert sol.metadata["status"] == "finished"
        assert np.abs(sol["energy.error"]).max() < 1e-8
        shocks = [i for i in sol.contacts.impacts if i.t == 0.0]
        assert bool(shocks) == (mu > critical)
        if shocks:
            x, _, z = shocks[0].impulse
            assert abs(x) <= mu * abs(z) * (1.0 + 1e-12)
            # the impulse that stops the tip: W p = −u with W of the rod
            W = np.array([[1.0 + 12.0 * r[0] ** 2, 12.0 * r[0] * r[1]], [12.0 * r[0] * r[1], 1.0 + 12.0 * r[1] ** 2]])
            np.testing.assert_allclose(np.abs([x, z]), np.abs(np.linalg.solve(W, [2.0, 0.0])), rtol=1e-6)
    # sliding the other way nothing jams
    assert not thrown(rod(1.2 * critical), angle, 2.0).contacts.impacts


@pytest.mark.parametrize("angular", [1.2, 1.5])
@pytest.mark.parametrize("way", [1.0, -1.0])
def test_steps_lift_a_tip_off_where_events_do(angular: float, way: float) -> None:
    """Painlevé's undecided start: the tip leaves by ω² r > g, or jams.  The first of Moreau's steps knew half of J̇ v, so that it jammed (4.20 for 3.28 m/s)."""
    s, angle = rod(2.5), 0.6
    r = 0.5 * math.cos(angle), 0.5 * math.sin(angle)
    turning = -way * math.sqrt(angular * G / r[0])
    x, z, turn = s.velocity_names
    start = {"j.z": r[0] + 0.01, "j.ry": angle, x: -2.0 + r[0] * turning, z: -r[1] * turning, turn: turning}
    exact = s.simulate(start, 0.05, rtol=1e-10, atol=1e-12)
    steps = s.simulate(start, 0.05, "moreau", step=1e-3)
    assert not exact.contacts.impacts
    for name in s.velocity_names:
        assert abs(steps[name][-1] - exact[name][-1]) < 1e-9


def test_a_rod_jams_on_a_lift_as_under_gravity() -> None:
    """What presses the tip onto a floor that is driven upwards is J̇ v alone; it was left out where sliding jams, and the run ended in an error."""
    found = []
    for lifted in (False, True):
        m = jd.Model("rod", gravity=(0, 0, 0.0 if lifted else -G))
        body, floor = m.body("rod", mass=1.0, inertia=(1 / 12, 1 / 12, 1e-3)), m.ground
        body.shapes.append(jd.sphere(0.01).at(0, 0, -0.5))
        if lifted:
            floor = m.body("floor", mass=1.0, inertia=(1, 1, 1))
            m.drive(m.prismatic("lift", m.ground, floor, axis="z"), lambda t: 0.5 * G * t * t)
        floor.shapes.append(jd.box(20, 20, 1).at(0, 0, -0.5))
        m.sequence("j", m.ground, body, ["Tx", "Tz", "Ry"])
        m.contact("tip", body, floor, law=rigid(friction=2.5))
        s = m.compile()
        start = {"j.x_rate": 2.0, "j.z": 0.5 * math.cos(0.4) + 0.01, "j.ry": -0.4, "j.ry_rate": 0.3, "j.z_rate": 0.15 * math.sin(0.4)}
        sol = s.simulate(start, 0.2, rtol=1e-10, atol=1e-12)
        assert [i.t for i in sol.contacts.impacts] == [0.0]
        found.append(
            [sol["j.x"][-1], sol["j.z"][-1] - (0.5 * G * 0.04 if lifted else 0.0), sol["j.ry"][-1], *sol.contacts.impacts[0].impulse]
        )
    np.testing.assert_allclose(found[0], found[1], atol=1e-9)


def test_a_falling_rod_lifts_off_or_slips_where_its_forces_say() -> None:
    """A rod that falls from nearly upright on a rough floor: its foot holds until λ_T = μ λ_N, at an angle known in closed form."""
    mu, start = 0.3, 0.05
    s = rod(mu)
    x, z, turn = s.coordinate_names
    run = s.simulate({x: 0.0, z: 0.5 * math.cos(start) + 0.01, turn: start}, 1.0, rtol=1e-11, atol=1e-13)
    states = [(t, run.contacts.at(t)[0].state) for t in (0.01, 0.2)]
    assert all(state == "stick" for _, state in states)
    assert "slip" in {c.state for t in np.linspace(0.6, 1.0, 40) for c in run.contacts.at(t)}
    assert np.abs(run["energy.error"]).max() < 1e-7


def test_inputs_that_jump_and_events_of_the_model_find_a_new_set() -> None:
    """A force that is switched on by a controller pulls the block loose; an event's jump throws it up."""
    m = jd.Model("pulled")
    m.ground.shapes.append(jd.plane())
    block = m.body("b", shape=jd.box(0.1, 0.1, 0.1, density=1000.0))
    free = m.free("f", m.ground, block)
    pull = m.input("pull", 0.0, unit="N")
    m.force(free, pull, coordinate="x")
    m.contact("floor", law=rigid(friction=0.5))
    vz = next(v for c in free.coordinates for v in c.v if v.name == "f.z_rate")
    m.event("kick", m.time - 0.75, direction=1, jump={vz: 1.0})
    s = m.compile()
    sol = s.simulate({"f.z": 0.05}, 1.0, rtol=1e-9, inputs={"pull": jd.Controller(lambda now: 6.0 if now.t > 0.4 else 4.0, period=0.5)})
    assert np.abs(sol["f.x"][sol.t <= 0.5]).max() < 1e-12
    a = 6.0 - 0.5 * G
    assert abs(np.interp(0.75, sol.t, sol["f.x_rate"]) - 0.25 * a) < 1e-6
    flying = sol["f.z"][-1] - (0.05 + 0.25 - 0.5 * G * 0.25**2)
    assert abs(flying) < 1e-6 or sol["f.z"][-1] >= 0.05 - 1e-9


@pytest.mark.parametrize("case", ["slide", "bounce", "rock", "fall"])
def test_moreaus_steps_tend_to_the_run_with_events(case: str) -> None:
    start: dict[str, float]
    if case == "rock":
        s = on_floor("block", jd.box(0.2, 0.2, 0.6, density=500.0), rigid(friction=2.0))
        tilt = 0.05
        start = {
            "f.x": 0.1 - 0.1 * math.cos(tilt) + 0.3 * math.sin(tilt), "f.z": 0.1 * math.sin(tilt) + 0.3 * math.cos(tilt),
            "f.orientation.e0": math.cos(tilt / 2), "f.orientation.e2": math.sin(tilt / 2),
        }  # fmt: skip
        t, read = 0.15, "f.x"
    elif case == "fall":
        s = rod(0.3)
        x, z, turn = s.coordinate_names
        start, t, read = {x: 0.0, z: 0.5 * math.cos(0.3) + 0.01, turn: 0.3}, 0.4, turn
    else:
        s = ball(rigid(friction=0.2, restitution=0.5 if case == "bounce" else 0.0))
        start, t, read = {"f.z": 0.05 if case == "slide" else 0.25, "f.x_rate": 1.0}, 0.5, "f.x"
    exact = s.simulate(start, t, rtol=1e-10, atol=1e-12)[read][-1]
    errors = [abs(s.simulate(start, t, "moreau", step=h)[read][-1] - exact) for h in (4e-3, 2e-4)]
    assert errors[-1] < 1e-3 * max(abs(exact), 0.1)
    assert errors[-1] < 0.2 * errors[0] or errors[-1] < 1e-4


def test_the_run_goes_on_where_it_stopped() -> None:
    s = ball(rigid(friction=0.2, restitution=0.6))
    start = {"f.z": 0.5, "f.x_rate": 0.4}
    whole = s.simulate(start, 1.0, rtol=1e-10, atol=1e-12)
    first = s.simulate(start, 0.37, rtol=1e-10, atol=1e-12)
    second = s.simulate(first, (0.37, 1.0), rtol=1e-10, atol=1e-12)
    assert abs(second["f.z"][-1] - whole["f.z"][-1]) < 1e-8


def test_what_does_not_go_from_event_to_event_says_so() -> None:
    s = ball(rigid())
    with pytest.raises(InputError, match="set-valued law, which method 'radau'.*moreau"):
        s.simulate({"f.z": 0.05}, 0.1, "radau")
    with pytest.raises(InputError, match="set-valued"):
        s.simulate({"f.z": 0.05}, 0.1, "generalized-alpha")


@pytest.mark.parametrize(
    "shape", [jd.box(0.2, 0.15, 0.25, density=1e3), jd.capsule(0.08, 0.2, density=1e3), jd.cylinder(0.1, 0.2, density=1e3)]
)
@pytest.mark.parametrize("floor", ["plane", "triangles"])
def test_bodies_that_tumble_onto_a_floor_stay_above_it(shape: Any, floor: str) -> None:
    """One point rebounds or rests while others come down: each of them is an impact, within the step after the last event, too."""
    m = jd.Model("tumble")
    corners = np.array([(x, y, z) for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-0.3, 0.0)])
    faces = [
        (0, 1, 3),
        (0, 3, 2),
        (4, 6, 7),
        (4, 7, 5),
        (0, 4, 5),
        (0, 5, 1),
        (2, 3, 7),
        (2, 7, 6),
        (0, 2, 6),
        (0, 6, 4),
        (1, 5, 7),
        (1, 7, 3),
    ]
    m.ground.shapes.append(jd.plane() if floor == "plane" else jd.mesh((corners, faces), density=1.0))
    m.free("f", m.ground, m.body("b", shape=shape))
    m.contact("floor", law=jd.contact.rigid(friction=0.3, restitution=0.3))
    s = m.compile()
    rng = np.random.default_rng(1)
    for _ in range(2):
        e = rng.normal(size=4)
        turn = {f"f.orientation.e{k}": float(x) for k, x in enumerate(e / np.linalg.norm(e))}
        sol = s.simulate({"f.z": 0.3, **turn}, 0.8, rtol=1e-7)
        assert sol["f.z"].min() > 0.07  # the least half thickness of all three is 0.075
        assert sol["energy.total"].max() <= sol["energy.total"][0] * (1 + 1e-9)


@pytest.mark.parametrize("seed", [2, 13])
def test_a_spiky_mesh_tumbles_and_keeps_its_books(seed: int) -> None:
    """Bodies with more corners than a patch has points ended in an error that looked like Painlevé's: corners that touched were dropped from the patch."""
    k = np.arange(14) + 0.5
    polar, turn = np.arccos(1.0 - k / 7.0), math.pi * (1.0 + 5.0**0.5) * k
    p = np.stack([np.cos(turn) * np.sin(polar), np.sin(turn) * np.sin(polar), np.cos(polar)], 1)
    hull = ConvexHull(p)
    faces = [
        f if np.cross(p[f[1]] - p[f[0]], p[f[2]] - p[f[0]]) @ e[:3] > 0 else f[[0, 2, 1]]
        for f, e in zip(hull.simplices, hull.equations, strict=True)
    ]
    corners = p * 0.1 * (0.5 + np.random.default_rng(seed).random(14))[:, None]
    s = on_floor("star", jd.mesh((corners, np.array(faces)), density=1000.0), rigid(friction=0.5, restitution=0.3))
    spin = np.random.default_rng(seed + 100).normal(size=3) * 3.0
    sol = s.simulate({"f.z": 0.25, "f.x_rate": 0.5} | {f"f.orientation.omega_{c}": w for c, w in zip("xyz", spin, strict=True)}, 1.5)
    energy = sol["energy.total"]
    assert sol.t[-1] == 1.5 and len(sol.contacts.impacts) > 50
    assert energy[0] - energy[-1] == pytest.approx(sol["contacts.dissipated"][-1], abs=1e-7)
    assert len(sol.contacts.at(1.5)) == 3 and np.abs(sol["f.x_rate"][-1]) < 1e-9  # it lies on three corners


@pytest.mark.parametrize("carrier", ["box", "stack", "lever"])
def test_what_bounces_on_a_body_that_is_carried_comes_to_rest(carrier: str) -> None:
    """As on the floor, at √(2h/g)(1 + e)/(1 − e): without what carries the body both would fall alike, and the impacts never end."""
    m = jd.Model(carrier)
    m.ground.shapes.append(jd.plane())
    ball, start, top = m.body("ball", shape=jd.sphere(0.05, density=1000.0)), {}, 0.0
    m.free("fall", m.ground, ball)
    law, grip = rigid(friction=0.3, restitution=0.5), rigid(friction=0.5)
    for k in range({"box": 1, "stack": 2}.get(carrier, 0)):
        m.free(f"f{k}", m.ground, m.body(f"box{k}", shape=jd.box(0.4, 0.4, 0.1, density=500.0)))
        start[f"f{k}.z"], top = top + 0.05, top + 0.1
    if carrier == "lever":
        box, top = m.body("box0", shape=jd.box(0.4, 0.4, 0.1, density=500.0)), 0.55
        m.revolute("hinge", m.ground.at(-0.2, 0, 0.5), box.at(-0.2, 0, 0), axis="y")
        m.ground.shapes.append(jd.sphere(0.05).at(0.15, 0, 0.4))
        m.contact("post", box, m.ground, law=grip)
    m.contact("touch", [ball, *(m.bodies[f"box{k}"] for k in range(3) if f"box{k}" in m.bodies)], law=law)
    if carrier in ("box", "stack"):
        m.contact("floor", m.bodies["box0"], m.ground, law=grip)
    h = 0.1
    sol = m.compile().simulate({**start, "fall.z": top + 0.05 + h}, 0.6, rtol=1e-9, atol=1e-11)
    assert sol.metadata["status"] == "finished"
    struck = [i for i in sol.contacts.impacts if "ball" in (i.body_a, i.body_b) and i.before < -1e-4]
    first = math.sqrt(2.0 * h / G)
    np.testing.assert_allclose(
        [i.t for i in struck[:6]], [first * (1.0 + sum(2.0 * 0.5**k for k in range(1, n + 1))) for n in range(6)], atol=1e-7
    )
    ends = [t for t, who in sol.contacts.rests if "ball" in who]
    np.testing.assert_allclose(ends[0], first * 3.0, atol=1e-6)
    np.testing.assert_allclose(sol["fall.z"][-1], top + 0.05, atol=1e-8)


def test_a_corner_that_slides_off_an_edge_turns_no_body() -> None:
    """Where it leaves, two points a hair apart touch for an instant; whose gaps differ by rounding, so that closing both turned the boxes by 0.2°."""
    m = jd.Model("thrown")
    for k, size in enumerate(((0.3, 0.2, 0.1), (0.2, 0.2, 0.15))):
        m.free(f"f{k}", m.ground, m.body(f"b{k}", shape=jd.box(*size, density=1000.0)))
    m.contact("touch", law=rigid(friction=0.4))
    places = [
        (-0.02018508468, 0.00196298935, -0.1198852885, 0.436414278, -0.1418844848, 0.8609306341, 0.219567334),
        (0.2051850847, -0.07088073399, -0.1204941665, 0.3439252367, 0.3671892289, 0.8321242406, 0.233359701),
    ]
    speeds = [
        (-0.2930534684, 0.04912562594, -1.426807913, 3.733705219, -2.814310396, -0.3752481372),
        (-0.7069465316, -0.0171910911, -1.624778036, 0.4644977566, -1.236010377, 5.8097736),
    ]
    start = {}
    for k in (0, 1):
        words = [*(f"f{k}.{c}" for c in "xyz"), *(f"f{k}.orientation.e{i}" for i in range(4))]
        rates = [*(f"f{k}.{c}_rate" for c in "xyz"), *(f"f{k}.orientation.omega_{c}" for c in "xyz")]
        start |= dict(zip([*words, *rates], [*places[k], *speeds[k]], strict=True))
    s = m.compile()
    sol = s.simulate(start, 0.02, rtol=1e-9, atol=1e-11)
    assert sol["contacts.acting"][0] == 1.0 and sol["contacts.acting"][-1] == 0.0
    moved = np.abs([np.diff(sol[n]) for n in s.coordinate_names]).max(axis=0)
    assert (moved - 4.0 * np.diff(sol.t)).max() < 1e-7  # no coordinate moves faster than 4 per second
    steps = s.simulate(start, 0.02, method="moreau", step=1e-5)
    for name in (*s.coordinate_names, *s.velocity_names):
        np.testing.assert_allclose(sol[name][-1], steps[name][-1], atol=2e-3 if "rate" in name or "omega" in name else 2e-5)


@pytest.mark.parametrize("dip", [1e-2, 1e-4, 1e-6])
def test_a_grazing_touch_within_a_step_is_met(dip: float) -> None:
    """A tip on a circle that dips below the floor and comes back before the step ends: both its ends see it above."""
    m = jd.Model("grazing", gravity=(0, 0, 0))
    m.ground.shapes.append(jd.plane())
    body = m.body("b", mass=1.0, inertia=(0.1, 0.1, 0.1))
    body.shapes.append(jd.sphere(0.05).at(0, 0, -0.5))
    m.sequence("j", m.ground, body, ["Tx", "Tz", "Ry"])
    m.contact("floor", law=rigid(restitution=0.5))
    sol = m.compile().simulate({"j.z": 0.55 - dip, "j.ry": -1.0, "j.ry_rate": 2.0}, 1.0, rtol=1e-8)
    assert len(sol.contacts.impacts) == 1
    assert abs(sol.contacts.impacts[0].t - 0.5 * (1.0 - math.acos(1.0 - 2.0 * dip))) < 1e-8
