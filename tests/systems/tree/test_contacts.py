"""Trees with contacts: closed forms of impact, rest, sliding and rolling; forces, books, restarts, and what refuses."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jourdain as jd
from jourdain.errors import InputError, JourdainError, ModelError
from jourdain.model.contact.laws import rigid

G = 9.81


def floor(m: jd.Model) -> None:
    m.ground.shapes.append(jd.box(20.0, 20.0, 1.0).at(0.0, 0.0, -0.5))


def ball_on_floor(law: Any, gravity: Any = (0.0, 0.0, -G), radius: float = 0.05) -> jd.System:
    m = jd.Model("ball", gravity=gravity)
    floor(m)
    m.free("f", m.ground, m.body("ball", shape=jd.sphere(radius, density=1000.0)))
    m.contact("touch", law=law)
    return m.compile()


def run(s: jd.System, start: Any, t: float, step: float = 1e-3, **options: Any) -> jd.Solution:
    return s.simulate(start, t, "moreau", step=step, **options)


# -- impacts ------------------------------------------------------------------------------------------------------


def exact_height(t: float, drop: float, e: float) -> float:
    """Height of a ball's lowest point after t seconds, dropped from ``drop`` (B6)."""
    fall = math.sqrt(2.0 * drop / G)
    if t <= fall:
        return drop - 0.5 * G * t * t
    t, v = t - fall, e * G * fall
    while v > 1e-12 and t > 2.0 * v / G:
        t, v = t - 2.0 * v / G, e * v
    return v * t - 0.5 * G * t * t if v > 1e-12 else 0.0


def test_a_bouncing_ball_tends_to_the_exact_motion_with_order_one() -> None:
    s = ball_on_floor(rigid(restitution=0.6))
    errors = []
    for step in (4e-3, 2e-3, 1e-3, 5e-4):
        sol = run(s, {"f.z": 1.05}, 1.2, step)
        exact = np.array([exact_height(t, 1.0, 0.6) for t in sol.t])
        errors.append(float(np.abs(sol["f.z"] - 0.05 - exact).mean()))
    rates = np.log2(np.array(errors[:-1]) / errors[1:])
    assert errors[-1] < 3e-3
    assert rates.mean() > 0.8


def test_accumulation_of_impacts_ends_in_rest() -> None:
    s = ball_on_floor(rigid(restitution=0.5))
    sol = run(s, {"f.z": 0.55}, 3.0)
    weight = float(s.model.bodies["ball"].mass) * G
    assert abs(sol["f.z"][-1] - 0.05) < 1e-9
    assert abs(sol["f.z_rate"][-1]) < 1e-10
    np.testing.assert_allclose(sol["touch.ball.force"][-1], [0.0, 0.0, weight], atol=1e-8 * weight)
    # what the ball has lost is booked, and nothing else
    assert abs(sol["contacts.dissipated"][-1] - weight * 0.5) < 5e-3 * weight * 0.5
    assert abs(sol["energy.error"][-1]) < 1e-2 * weight


@pytest.mark.parametrize("e", [0.0, 0.4, 1.0])
def test_two_balls_in_space_follow_newton(e: float) -> None:
    """u⁺ = −e u⁻ with momentum kept: masses 1 : 8."""
    m = jd.Model("two", gravity=(0, 0, 0))
    for name, radius in (("a", 0.05), ("b", 0.1)):
        m.free(name, m.ground, m.body(name, shape=jd.sphere(radius, density=1000.0)))
    m.contact("touch", law=rigid(restitution=e))
    s = m.compile()
    sol = run(s, {"a.x": -0.2, "b.x": 0.0, "a.x_rate": 2.0, "b.x_rate": -0.5}, 0.2)
    ma, mb = (float(b.mass) for b in m.bodies.values())
    mean = (2.0 * ma - 0.5 * mb) / (ma + mb)
    np.testing.assert_allclose(sol["a.x_rate"][-1], mean - e * mb / (ma + mb) * 2.5, atol=1e-12)
    np.testing.assert_allclose(sol["b.x_rate"][-1], mean + e * ma / (ma + mb) * 2.5, atol=1e-12)
    lost = 0.5 * ma * mb / (ma + mb) * 2.5**2 * (1.0 - e * e)
    np.testing.assert_allclose(sol["contacts.dissipated"][-1], lost, atol=1e-12)
    np.testing.assert_allclose(sol["energy.total"][0] - sol["energy.total"][-1], lost, atol=1e-12)


def test_a_row_of_balls_is_struck_all_at_once() -> None:
    """Three equal balls that touch, struck by Newton's law with e = 1: −1/3, 2/3, 2/3 of the speed."""
    m = jd.Model("row", gravity=(0, 0, 0))
    for k in range(3):
        m.free(f"f{k}", m.ground, m.body(f"b{k}", shape=jd.sphere(0.05, density=1000.0)))
    m.contact("touch", law=rigid(restitution=1.0))
    s = m.compile()
    sol = run(s, {"f0.x": -0.1 - 1e-4, "f1.x": 0.0, "f2.x": 0.1, "f0.x_rate": 1.0}, 0.01)
    np.testing.assert_allclose([sol[f"f{k}.x_rate"][-1] for k in range(3)], [-1 / 3, 2 / 3, 2 / 3], atol=1e-9)


def test_a_hinge_that_strikes_a_wall_tends_to_the_run_with_events() -> None:
    """Moreau → events as h → 0: a pendulum against a wall, Newton's law as a jump of its rate."""

    def pendulum(contact: bool) -> jd.System:
        m = jd.Model("pendulum")
        m.ground.shapes.append(jd.box(1.0, 1.0, 4.0).at(-0.5 - 0.05, 0.0, 0.0))  # its face at x = −0.05
        arm = m.body("arm", mass=1.0, com=(0, 0, -0.5), inertia=(0.05, 0.05, 0.01))
        arm.shapes.append(jd.sphere(0.05).at(0, 0, -0.5))
        hinge = m.revolute("hinge", m.ground, arm, axis="-y")  # positive: towards +x
        if contact:
            m.contact("wall", m.ground, arm, law=rigid(restitution=0.7))
        else:
            rate = hinge.velocity
            m.event("strike", hinge.position, direction=-1, jump={rate: -0.7 * rate})
        return m.compile()

    exact = pendulum(False).simulate({"hinge.angle": 1.0}, 1.4, rtol=1e-10, outputs=141)
    errors = []
    for step in (2e-3, 1e-3, 5e-4):
        sol = run(pendulum(True), {"hinge.angle": 1.0}, 1.4, step, outputs=141)
        errors.append(float(np.abs(sol["hinge.angle"] - exact["hinge.angle"]).max()))
    assert errors[-1] < 2e-3
    assert errors[-1] < 0.6 * errors[0]


def four_bar(contact: bool) -> jd.System:
    """A parallelogram of 0.2 m cranks whose coupler falls on a block; the event has the same law for the whole motion of one freedom."""
    m = jd.Model("four-bar")
    bars = [m.body(n, mass=1.0, com=(0.1, 0, 0), inertia=(0.001, 0.004, 0.004)) for n in ("crank", "coupler", "rocker")]
    crank, coupler, rocker = bars
    first = m.revolute("first", m.ground, crank, axis="y")
    m.revolute("second", crank.at(0.2, 0, 0), coupler, axis="y")
    m.revolute("third", m.ground.at(0.2, 0, 0), rocker, axis="y")
    m.revolute("fourth", coupler.at(0.2, 0, 0), rocker.at(0.2, 0, 0), axis="y", cut=True)
    coupler.shapes.append(jd.sphere(0.02).at(0.1, 0, 0))
    # the coupler stays level at z = −0.2 sin φ: its sphere touches at φ = 0.5
    m.ground.shapes.append(jd.box(2.0, 1.0, 0.1).at(0.3, 0, -0.2 * math.sin(0.5) - 0.02 - 0.05))
    if contact:
        m.contact("stop", coupler, m.ground, law=rigid(restitution=0.6))
    else:
        rates = [j.velocity for j in m.joints.values() if j.name != "fourth"]
        m.event("stop", first.position - 0.5, direction=1, jump={v: -0.6 * v for v in rates})
    return m.compile()


def test_a_loop_that_strikes_a_stop_tends_to_the_run_with_events() -> None:
    def start(s: jd.System) -> Any:
        return s.assemble({"first.angle": -0.6}, guess={"second.angle": 0.6, "third.angle": -0.6})

    s = four_bar(False)
    exact = s.simulate(start(s), 0.5, rtol=1e-10, outputs=101)
    errors = []
    for step in (1e-3, 5e-4, 2.5e-4):
        s = four_bar(True)
        sol = run(s, start(s), 0.5, step, outputs=101)
        errors.append(float(np.abs(sol["first.angle"] - exact["first.angle"]).max()))
        assert max(s.drift(sol)) < 1e-6
    assert errors[-1] < 5e-3
    assert errors[-1] < 0.5 * errors[0]


def test_a_loop_at_rest_on_a_stop_carries_what_virtual_work_says() -> None:
    """N δz = Σ m g δz_c: cranks with half of the coupler's drop, the coupler with all of it, so N = 2 m g; friction takes no part."""
    s = four_bar(True)
    sol = run(s, s.assemble({"first.angle": 0.5}, guess={"second.angle": -0.5, "third.angle": 0.5}), 0.1)
    np.testing.assert_allclose(sol["stop.coupler.force"][-1], [0.0, 0.0, 2.0 * G], atol=1e-6)
    assert np.abs(sol["first.angle_rate"]).max() < 1e-9


# -- friction -----------------------------------------------------------------------------------------------------


def block_on_slope(angle: float, friction: float) -> jd.System:
    m = jd.Model("slope", gravity=(G * math.sin(angle), 0.0, -G * math.cos(angle)))
    floor(m)
    m.free("f", m.ground, m.body("block", shape=jd.box(0.2, 0.1, 0.1, density=1000.0)))
    m.contact("touch", law=rigid(friction=friction))
    return m.compile()


def test_a_block_below_the_angle_of_friction_does_not_creep() -> None:
    sol = run(block_on_slope(0.46, 0.5), {"f.z": 0.05}, 5.0)  # tan 0.46 = 0.4954
    assert np.abs(sol["f.x"]).max() < 1e-9
    assert np.abs(sol["f.x_rate"]).max() < 1e-9


def test_a_block_above_it_slides_by_coulomb() -> None:
    sol = run(block_on_slope(0.6, 0.5), {"f.z": 0.05}, 1.0)
    a = G * (math.sin(0.6) - 0.5 * math.cos(0.6))
    np.testing.assert_allclose(sol["f.x"][-1], 0.5 * a, rtol=1e-7)
    np.testing.assert_allclose(sol["f.z"][-1], 0.05, atol=1e-9)  # the exact cone does not lift what slides
    assert sol.contacts.at(0.5)[0].state == "slip"


def test_a_ball_that_slides_comes_to_roll_with_five_sevenths() -> None:
    s = ball_on_floor(rigid(friction=0.2))
    sol = run(s, {"f.z": 0.05, "f.x_rate": 1.0}, 0.5)
    np.testing.assert_allclose(sol["f.x_rate"][-1], 5.0 / 7.0, atol=1e-9)
    when = sol.t[np.argmax(sol["f.x_rate"] < 5.0 / 7.0 + 1e-6)]
    np.testing.assert_allclose(when, 2.0 / (7.0 * 0.2 * G), atol=2e-3)
    assert np.abs(sol["energy.error"]).max() < 1e-9 * sol["energy.total"][0]
    assert [c.state for t in (0.05, 0.4) for c in sol.contacts.at(t)] == ["slip", "stick"]


def test_a_belt_that_is_driven_takes_a_block_along() -> None:
    """A prescribed motion has part in sliding velocities: the block gains μ g t until it moves with the belt."""
    m = jd.Model("belt")
    belt = m.body("belt", mass=1.0, inertia=(1, 1, 1))
    belt.shapes.append(jd.box(50.0, 1.0, 0.1).at(0, 0, -0.05))
    slide = m.prismatic("slide", m.ground, belt, axis="x")
    m.drive(slide, lambda t: 0.8 * t)
    m.free("f", m.ground, m.body("block", shape=jd.box(0.1, 0.1, 0.1, density=800.0)))
    m.contact("touch", law=rigid(friction=0.3))
    sol = run(m.compile(), {"f.z": 0.05}, 0.6)
    k = int(np.searchsorted(sol.t, 0.1))
    np.testing.assert_allclose(sol["f.x_rate"][k], 0.3 * G * 0.1, rtol=1e-6)
    np.testing.assert_allclose(sol["f.x_rate"][-1], 0.8, atol=1e-8)


# -- many ---------------------------------------------------------------------------------------------------------


def stack(n: int) -> tuple[jd.System, dict[str, float]]:
    m = jd.Model("stack")
    floor(m)
    for k in range(n):
        m.free(f"f{k}", m.ground, m.body(f"b{k}", shape=jd.box(0.2, 0.2, 0.1, density=500.0)))
    m.contact("touch", law=rigid(friction=0.6))
    return m.compile(), {f"f{k}.z": 0.05 + 0.1 * k for k in range(n)}


def test_a_stack_stands_and_its_floor_carries_its_weight() -> None:
    s, start = stack(5)
    sol = run(s, start, 0.5, 2e-3)
    weight = 5 * 0.2 * 0.2 * 0.1 * 500.0 * G
    assert max(np.abs(sol[f"f{k}.z"] - start[f"f{k}.z"]).max() for k in range(5)) < 1e-8
    floor_force = -sum(c.force for c in sol.contacts.at(0.4) if "ground" in (c.body_a, c.body_b) and c.body_a == "ground")
    np.testing.assert_allclose(floor_force, [0.0, 0.0, weight], atol=1e-6 * weight)
    total = sum(sol[f"touch.b{k}.force"][-1] for k in range(5))  # what they do to each other cancels
    np.testing.assert_allclose(total, [0.0, 0.0, weight], atol=1e-6 * weight)


def test_more_contacts_than_expected_find_room(monkeypatch: pytest.MonkeyPatch) -> None:
    from jourdain.systems.tree.contact import contacts

    s, start = stack(3)
    plain = run(s, start, 0.05, 2e-3)
    made: list[int] = []
    raised = contacts.TreeContacts.raise_room

    def small(self: Any, room: int) -> None:
        made.append(room if made else 3)
        raised(self, made[-1])

    monkeypatch.setattr(contacts.TreeContacts, "raise_room", small)
    s, start = stack(3)
    sol = run(s, start, 0.05, 2e-3)
    assert made == [3, 6, 12]
    np.testing.assert_array_equal(sol.t, plain.t)
    np.testing.assert_allclose(sol["f2.z"], plain["f2.z"], atol=1e-12)


def test_the_same_run_has_the_same_bits_and_restarts_are_seamless() -> None:
    s, start = stack(3)
    start["f2.x_rate"] = 0.5
    once, again = run(s, start, 0.2), run(s, start, 0.2)
    np.testing.assert_array_equal(once["f2.x"], again["f2.x"])
    second = run(s, run(s, start, 0.1), 0.1)
    np.testing.assert_array_equal(second["f2.x"], once["f2.x"][100:])
    st = s.stepper(start, step=1e-3, method="moreau", outputs=["f2.x"])
    rows = [float(st.advance()[0]) for _ in range(100)]
    np.testing.assert_array_equal(rows, once["f2.x"][1:101])
    token = st.save()
    first = [float(st.advance()[0]) for _ in range(20)]
    st.restore(token)
    assert first == [float(st.advance()[0]) for _ in range(20)]


# -- which pairs --------------------------------------------------------------------------------------------------


def test_later_laws_act_and_excluded_pairs_pass() -> None:
    def gap(second: Any = None, exclude: Any = ()) -> float:
        m = jd.Model("pair", gravity=(0, 0, 0))
        a, b = (m.body(n, shape=jd.sphere(0.05, density=1000.0)) for n in "ab")
        m.free("fa", m.ground, a)
        m.free("fb", m.ground, b)
        m.contact("all", law=rigid(restitution=0.0), exclude=exclude)
        if second is not None:
            m.contact("these", a, b, law=second)
        sol = run(m.compile(), {"fa.x": -0.2, "fa.x_rate": 1.0}, 0.3)
        return float(sol["fb.x_rate"][-1] - sol["fa.x_rate"][-1])

    assert abs(gap()) < 1e-12
    np.testing.assert_allclose(gap(rigid(restitution=0.8)), 0.8, atol=1e-12)
    np.testing.assert_allclose(gap(exclude=[("a", "b")]), -1.0, atol=1e-12)
    np.testing.assert_allclose(gap(rigid(restitution=0.8), [("a", "b")]), 0.8, atol=1e-12)


def test_neighbours_of_a_chain_do_not_touch_but_others_do() -> None:
    m = jd.Model("chain")
    before: Any = m.ground
    for k in range(3):
        link = m.body(f"link{k}", mass=1.0, com=(0, 0, -0.1), inertia=(0.01, 0.01, 0.001))
        link.shapes.append(jd.capsule(0.2, 0.03).at(0, 0, -0.1))
        m.revolute(f"j{k}", before if k == 0 else before.at(0, 0, -0.2), link, axis="y")
        before = link
    m.contact("all", law=rigid())
    from jourdain.model.contact.contacts import apart

    assert apart(m, m.contacts["all"]) == {frozenset(("link0", "link1")), frozenset(("link1", "link2"))}


def test_coefficients_may_be_parameters() -> None:
    m = jd.Model("slope", gravity=(1.0, 0.0, -G))
    mu = m.parameter("mu", 0.5)
    floor(m)
    m.free("f", m.ground, m.body("block", shape=jd.box(0.2, 0.1, 0.1, density=1000.0)))
    m.contact("touch", law=rigid(friction=mu))
    s = m.compile()
    assert abs(run(s, {"f.z": 0.05}, 0.2)["f.x"][-1]) < 1e-10
    s.set_parameters(mu=0.0)
    np.testing.assert_allclose(run(s, {"f.z": 0.05}, 0.2)["f.x"][-1], 0.5 * 0.2**2, rtol=1e-9)
    s.set_parameters(mu=-1.0)
    with pytest.raises(InputError, match="friction = -1 must not be negative"):
        run(s, {"f.z": 0.05}, 0.2)


# -- files and copies ---------------------------------------------------------------------------------------------


def test_files_keep_contacts(tmp_path: Path) -> None:
    m = jd.Model("file")
    mu = m.parameter("mu", 0.25)
    floor(m)
    a, b, c = (m.body(n, shape=jd.sphere(0.05, density=1000.0)) for n in "abc")
    for body in (a, b, c):
        m.free(f"f{body.name}", m.ground, body)
    m.contact("all", law=rigid(friction=mu, restitution=0.1), exclude=[(a, c)])
    m.contact("some", [a, b], m.ground, law=rigid(friction=2 * mu))
    m.save(tmp_path / "model.toml")
    again = jd.load_model(tmp_path / "model.toml")
    assert list(again.contacts) == ["all", "some"]
    for name, contact in m.contacts.items():
        other = again.contacts[name]
        assert [s.name for s in other.a] == [s.name for s in contact.a]
        assert (other.b is None) == (contact.b is None)
        assert str(other.law) == str(contact.law)
        assert other.exclude == contact.exclude
    start = {"fa.z": 0.05, "fb.z": 0.2, "fc.z": 0.4, "fb.x": 0.3, "fc.x": 0.32, "fa.x_rate": 0.3}
    np.testing.assert_array_equal(run(m.compile(), start, 0.3)["fc.x"], run(again.compile(), start, 0.3)["fc.x"])


def test_sub_models_bring_their_contacts() -> None:
    part = jd.Model("part")
    for n in "ab":
        part.free(f"f{n}", part.ground, part.body(n, shape=jd.sphere(0.05, density=1000.0)))
    part.contact("pair", "a", "b", law=rigid(restitution=0.5))
    m = jd.Model("whole", gravity=(0, 0, 0))
    m.include(part, "left")
    assert [s.name for s in m.contacts["left.pair"].shapes] == ["left.a", "left.b"]
    sol = run(m.compile(), {"left.fa.x": -0.2, "left.fa.x_rate": 1.0}, 0.3)
    np.testing.assert_allclose(sol["left.fb.x_rate"][-1] - sol["left.fa.x_rate"][-1], 0.5, atol=1e-12)


# -- what refuses -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ask", "told"),
    [
        (lambda s: s.simulate({"f.z": 0.04}, 0.1), "'ground' and 'ball' by 0.01 m; move them"),
        (lambda s: s.simulate({"f.z": 0.05}, 0.1, "radau"), "use method='moreau'"),
        (lambda s: s.simulate({"f.z": 0.05}, 0.1, "moreau"), "needs step= in seconds"),
        (lambda s: run(s, {"f.z": 0.04}, 0.1), "'ground' and 'ball' by 0.01 m; move them, or let overlap='push apart'"),
        (lambda s: run(s, {"f.z": 0.05}, 0.1, rtol=1e-6), "take no option 'rtol'"),
        (lambda s: run(s, {"f.z": 0.05}, 0.1, overlap="ignore"), "it may be 'push apart'"),
        (lambda s: s.symbolic_linearisation(), "symbolic_linearisation knows no contacts"),
        (lambda s: s.accelerations(), "bodies overlap at the start"),
        (
            lambda s: s.simulate({"f.z": 0.05}, 0.1, reduction="reduced"),
            "which reduction 'reduced' does not know; use reduction='projected'",
        ),
        (lambda s: s.simulate({"f.z": 0.05}, 0.1, "moreau", step=1e-3, reduction="reduced"), "which reduction 'reduced' does not know"),
        (lambda s: s.simulate({"f.z": 0.05}, 0.1, "generalized-alpha", step=1e-3), "which method 'generalized-alpha' does not know"),
        (lambda s: run(s, {"f.z": 0.05}, 0.1, outputs=3).contacts.at(0.05), "has not kept every step"),
        (lambda s: run(s, {"f.z": 0.05}, 0.1).contacts.at(1.0), "outside of the run"),
    ],
)
def test_refusals_of_systems(ask: Any, told: str) -> None:
    with pytest.raises(InputError) as error:
        ask(ball_on_floor(rigid()))
    assert told in str(error.value)


def test_programs_and_other_formats_refuse_or_say_so(tmp_path: Path) -> None:
    from jourdain.io.export import export_source, export_standalone

    s = ball_on_floor(rigid())
    with pytest.raises(InputError, match="a standalone program knows no (rigid )?contacts"):
        export_standalone(s, tmp_path / "ball.c")
    with pytest.raises(InputError, match="exported source knows no (rigid )?contacts"):
        export_source(s, "c", folder=tmp_path)


def test_the_method_without_contacts_is_refused() -> None:
    m = jd.Model("pendulum")
    m.revolute("hinge", m.ground, m.body("bob", mass=1.0, com=(0, 0, -1)), axis="y")
    with pytest.raises(InputError, match="method 'moreau' is for contacts, and there are none"):
        run(m.compile(), {"hinge.angle": 0.1}, 0.1)


def test_another_formulation_refuses() -> None:
    m = ball_on_floor(rigid()).model
    with pytest.raises(InputError, match="formulation 'semi-recursive' knows no rigid contacts"):
        m.compile(formulation="semi-recursive")


@pytest.mark.parametrize(
    ("declare", "told"),
    [
        (lambda m, a, b: m.contact("all", law="rigid"), "is no law of contact"),
        (lambda m, a, b: m.contact("c", None, b), "b is given without a"),
        (lambda m, a, b: m.contact("c", "ball", b), "there is no body 'ball'"),
        (lambda m, a, b: m.contact("c", a, a), "cannot touch itself"),
        (lambda m, a, b: m.contact("c", a, m.body("point", mass=1.0)), "body 'point' has no shape"),
        (lambda m, a, b: m.contact("c", a, b, exclude=["a"]), "must hold pairs of bodies"),
        (lambda m, a, b: (m.fixed("weld", a, b), m.contact("c", a, b)), "are fixed to each other"),
        (lambda m, a, b: m.shapes("x*"), "no body with shapes fits 'x*'"),
        (lambda m, a, b: rigid(friction=-0.1), "friction = -0.1 must not be negative"),
        (lambda m, a, b: rigid(restitution=1.2), "restitution = 1.2 must lie between"),
        (lambda m, a, b: rigid(friction=m.time), "depend on parameters alone"),
    ],
)
def test_bad_declarations(declare: Any, told: str) -> None:
    m = jd.Model("bad")
    a, b = (m.body(n, shape=jd.sphere(0.05, density=1000.0)) for n in "ab")
    with pytest.raises(JourdainError) as error:
        declare(m, a, b)
    assert told in str(error.value)
    assert isinstance(error.value, (ModelError, InputError))


def test_a_jump_of_the_model_in_a_run_with_contacts() -> None:
    m = jd.Model("kicked")
    m.ground.shapes += [jd.plane()]
    ball = m.body("ball", shape=jd.sphere(0.05, density=1000.0))
    flight = m.free("flight", m.ground, ball)
    m.contact("floor", law=jd.contact.rigid(restitution=0.5))
    vx = flight.coordinate("x").v[0]
    m.event("kick", m.time - 0.3, direction=1, jump={vx: vx + 1.0})
    sol = m.compile().simulate({"flight.z": 0.55}, t=0.6, method="moreau", step=1e-3)
    assert sol["flight.x"][-1] == pytest.approx(0.3, abs=1e-9)
    assert sol["contacts.dissipated"][-1] > 1.0
    assert abs(sol["energy.error"]).max() < 1e-9


def test_driven_bodies_of_models_without_parameters_push() -> None:
    """A sphere that is driven at 0.1 m/s pushes another along; nothing of the model is a parameter."""
    m = jd.Model("push", gravity=(0, 0, 0))
    a, b = (m.body(name, mass=1.0, inertia=(1, 1, 1), shape=jd.sphere(0.1)) for name in "ab")
    m.drive(m.prismatic("drive", m.ground, a, axis="z"), lambda t: -0.1 * t)
    m.prismatic("free", m.ground, b, axis="z")
    m.contact("touch", a, b, law=jd.contact.rigid())
    run = m.compile().simulate({"free.displacement": -0.25}, t=1.0, method="moreau", step=1e-3)
    assert run["free.displacement"][-1] == pytest.approx(-0.3, abs=1e-9)


@pytest.mark.parametrize("step", [1e-4, 1e-6, 1e-8])
@pytest.mark.parametrize("part", [0.1, 0.6, 1.2, 1.4])
def test_slow_rebounds_keep_their_restitution_in_short_steps(step: float, part: float) -> None:
    """Bodies nearer than a millionth of their size that had not met within the step were braked first, and rebounded from what was left: 0.21 instead of 0.3."""
    m = jd.Model("slow", gravity=(0, 0, 0))
    m.ground.shapes.append(jd.plane())
    m.free("f", m.ground, m.body("b", shape=jd.sphere(0.02, density=1000.0)))
    m.contact("floor", law=jd.contact.rigid(restitution=0.3))
    sol = m.compile().simulate({"f.z": 0.02 + part * step * 0.01, "f.z_rate": -0.01}, 6 * step, method="moreau", step=step)
    np.testing.assert_allclose(sol["f.z_rate"][-1], 0.003, rtol=1e-9)
