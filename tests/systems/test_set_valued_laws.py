"""Set-valued laws of a model in every way that takes them: events, Moreau's steps, verbs, files, sub-models; refusals elsewhere."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jourdain as jd
from jourdain.errors import InputError, JourdainError, SolverError

G = 9.81
EXACT: dict[str, Any] = {"rtol": 1e-11, "atol": 1e-12}


def on_the_floor(shape: Any, **law: Any) -> jd.Model:
    m = jd.Model("floor")
    m.ground.shapes.append(jd.plane())
    body = m.body("body", shape=shape)
    m.free("f", m.ground, body)
    m.contact("floor", body, m.ground, law=jd.contact.rigid(**law))
    return m


def roped(e: float = 0.5) -> jd.Model:
    m = jd.Model("roped")
    length = m.parameter("length", 1.0, "m")
    bob = m.body("bob", mass=2.0, inertia=(0.05, 0.05, 0.05))
    m.free("f", m.ground, bob)
    m.rope("line", m.ground.at(0, 0, 0.2), bob.at(0, 0, 0.2), length=length, law=jd.contact.rigid(restitution=e))
    return m


def dry(coulomb: float = 3.0, static: float | None = None) -> jd.Model:
    m = jd.Model("dry")
    block = m.body("block", mass=2.0)
    slide = m.prismatic("slide", m.ground, block, axis="x")
    m.joint_spring(slide, stiffness=50.0)
    m.friction(slide, coulomb=coulomb, static=static, smoothing=0)
    return m


def stopped() -> jd.Model:
    m = jd.Model("stopped")
    flap = m.body("flap", mass=1.0, com=(0.5, 0, 0), inertia=(0.01, 0.1, 0.1))
    m.revolute("hinge", m.ground, flap, axis="y", limits=(-1.0, 0.5))
    m.stops(law=jd.contact.rigid(restitution=0.4))
    return m


BALL, BOX = jd.sphere(0.1, density=1000.0), jd.box(0.2, 0.2, 0.1, density=1000.0)
ROLLING = {"f.z": 0.1, "f.x_rate": 1.0, "f.orientation.omega_y": 10.0}
#: model, start, time, the step of Moreau's method, and how near it comes to the motion with events
LAWS: dict[str, tuple[Callable[[], jd.Model], dict[str, float], float, float, float]] = {
    "rope": (roped, {"f.x": 0.6, "f.z": 0.0}, 0.55, 1e-4, 1e-3),
    "anisotropic": (lambda: on_the_floor(BOX, friction=(0.2, 0.6), along="x"), {"f.z": 0.05, "f.x_rate": 1.0, "f.y_rate": 1.0}, 0.3, 5e-4, 1e-3),
    "rolling": (lambda: on_the_floor(BALL, friction=0.5, rolling=0.02), ROLLING, 1.0, 1e-3, 1e-5),
    "spinning": (lambda: on_the_floor(BALL, friction=0.5, spinning="3 mm"), {"f.z": 0.1, "f.orientation.omega_z": 10.0}, 1.5, 1e-3, 1e-3),
    "dry joint": (dry, {"slide": 1.0}, 2.0, 1e-3, 1e-3),
    "static": (lambda: on_the_floor(BOX, friction=0.2, static=0.4), {"f.z": 0.05, "f.x_rate": 1.0}, 0.7, 1e-3, 1e-3),
    "stop": (stopped, {"hinge": 0.0}, 1.0, 1e-4, 2e-3),
}  # fmt: skip
TURNS = ("f.orientation.e0", "f.orientation.e1", "f.orientation.e2", "f.orientation.e3")


def positions(sol: Any, s: Any) -> np.ndarray:
    """At the end, quaternions with their sign."""
    found = np.array([sol[n][-1] for n in s.coordinate_names])
    at = [i for i, n in enumerate(s.coordinate_names) if n.endswith(TURNS)]
    if at and found[at[0]] < 0.0:
        found[at] *= -1.0
    return found


@pytest.mark.parametrize("law", LAWS)
def test_events_steps_and_files_agree(law: str, tmp_path: Path) -> None:
    build, start, t, step, near = LAWS[law]
    m = build()
    s = m.compile()
    exact = s.simulate(start, t, **EXACT)
    steps = s.simulate(start, t, "moreau", step=step)
    np.testing.assert_allclose(positions(steps, s), positions(exact, s), atol=near)
    assert abs(steps["contacts.residual"]).max() < 1e-9
    np.testing.assert_allclose(steps["contacts.dissipated"][-1], exact["contacts.dissipated"][-1], rtol=5e-3, atol=1e-6)
    assert np.abs(exact["energy.error"]).max() < 1e-8
    for ending in ("toml", "json"):
        file = tmp_path / f"model.{ending}"
        build().save(file)
        again = jd.load_model(file).compile().simulate(start, t, **EXACT)
        np.testing.assert_allclose(positions(again, s), positions(exact, s), rtol=0, atol=1e-12)


@pytest.mark.parametrize("law", LAWS)
def test_a_run_goes_on_where_it_was_stopped(law: str) -> None:
    build, start, t, step, _ = LAWS[law]
    s = build().compile()
    for way, near in ((EXACT, 1e-9), ({"method": "moreau", "step": step}, 1e-9)):
        whole = s.simulate(start, t, **way)
        half = s.simulate(start, 0.5 * t, **way)
        rest = s.simulate(half, (0.5 * t, t), **way)
        np.testing.assert_allclose(positions(rest, s), positions(whole, s), atol=near)


@pytest.mark.parametrize("law", [name for name in LAWS if name not in ("anisotropic", "rolling", "spinning", "static")])
def test_a_sub_model_has_the_law(law: str) -> None:
    """Contacts with the ground are the whole's own; ropes, stops and dry friction come along."""
    build, start, t, *_ = LAWS[law]
    whole = jd.Model("whole")
    whole.include(build(), "part")
    s, alone = whole.compile(), build().compile()
    sol, own = s.simulate({f"part.{n}": x for n, x in start.items()}, t, **EXACT), alone.simulate(start, t, **EXACT)
    np.testing.assert_allclose(positions(sol, s), positions(own, alone), atol=1e-9)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("formulation", ["cartesian", "natural", "directors"])
def test_steps_in_other_coordinates_agree(law: str, formulation: str) -> None:
    build, start, t, step, near = LAWS[law]
    s = build().compile()
    other = build().compile(formulation=formulation)
    t, step = min(t, 0.5), max(step, 5e-4)
    sol, own = (x.simulate(start, t, "moreau", step=step) for x in (other, s))
    np.testing.assert_allclose(positions(sol, s), positions(own, s), atol=max(2e-3, near))
    with pytest.raises(InputError, match="line|floor|slide|hinge"):
        other.simulate(start, t)


@pytest.mark.parametrize("law", LAWS)
def test_semi_recursive_refuses_by_name(law: str) -> None:
    with pytest.raises(JourdainError, match="line|floor|slide|hinge"):
        LAWS[law][0]().compile(formulation="semi-recursive")


@pytest.mark.parametrize("law", LAWS)
def test_methods_for_stiff_systems_refuse_by_name(law: str) -> None:
    build, start, *_ = LAWS[law]
    with pytest.raises(InputError, match="line|floor|slide|hinge"):
        build().compile().simulate(start, 0.1, "radau")


# -- verbs --------------------------------------------------------------------------------------------------------


def test_a_rope_carries_in_equilibrium_and_in_reactions() -> None:
    s = roped().compile()
    found = s.equilibrium({"f.z": -1.0})
    (line,) = found.contacts
    assert (line.contact, line.body_a, line.body_b) == ("line", "ground", "bob")
    np.testing.assert_allclose(line.force, [0, 0, -2.0 * G], atol=1e-9)
    np.testing.assert_allclose(s.accelerations({"f.z": -1.0}), 0.0, atol=1e-9)
    with pytest.raises(JourdainError, match="cannot stand"):
        s.equilibrium({"f.z": -0.5})
    # a double pendulum of the rope and the bob that hangs 0.2 m below its end: (1 0.2; 0.2 0.04 + J/m) and g (1 0.2)
    M, K = 2.0 * np.array([[1.0, 0.2], [0.2, 0.04]]) + np.diag([0.0, 0.05]), 2.0 * G * np.diag([1.0, 0.2])
    omega = sorted(m.circular_frequency for m in s.modal(found) if m.kind == "oscillation")
    np.testing.assert_allclose(omega, np.repeat(np.sqrt(np.sort(np.linalg.eigvals(np.linalg.solve(M, K)).real)), 2), rtol=1e-6)


def test_inverse_dynamics_of_a_roped_body_pulls_and_never_pushes() -> None:
    m = roped()
    m.load("lift", m.bodies["bob"], force=(0, 0, m.input("lift")))
    s, times = m.compile(), np.linspace(0.0, 1.0, 3)
    q = np.tile(s.state({"f.z": -1.0}).q, (3, 1))
    rest = (times, q, np.zeros((3, s.nv)), np.zeros((3, s.nv)))
    held = s.inverse_dynamics_along(rest, actuators=["lift"])
    assert np.abs(held["lift"]).max() < 1e-6 or held["lift"].min() >= 0.0


def test_friction_by_direction_holds_by_direction() -> None:
    """On a slope a block stands along x below tan α = μ₁ and along y below μ₂."""
    for axis, mu in (("x", 0.2), ("y", 0.6)):
        for side, stands in ((1.0 - 1e-9, True), (1.0 + 1e-9, False)):
            m = on_the_floor(BOX, friction=(0.2, 0.6), along="x")
            alpha = math.atan(side * mu)
            pull = {"x": 0.0, "y": 0.0, axis: math.sin(alpha)}
            m.gravity = type(m.gravity).of((G * pull["x"], G * pull["y"], -G * math.cos(alpha)))
            s = m.compile()
            if stands:
                assert s.equilibrium({"f.z": 0.05}).contacts
            else:
                with pytest.raises(JourdainError, match="slides"):
                    s.equilibrium({"f.z": 0.05})


def test_dry_friction_of_a_joint_holds_in_equilibrium_up_to_its_static_bound() -> None:
    for x, stands in ((0.08 * (1 - 1e-9), True), (0.08 * (1 + 1e-9), False)):  # 50 N/m · 0.08 m = 4 N
        s = dry(3.0, static=4.0).compile()
        if stands:
            found = s.equilibrium({"slide": x})
            np.testing.assert_allclose(found["slide.displacement"], x, atol=1e-15)
        else:
            found = s.equilibrium({"slide": x})
            assert abs(found.state.q[0]) < x  # it slides to where it is held
    with pytest.raises(InputError, match="slide"):
        dry().compile().modal({"slide": 0.0})


def test_what_stands_without_couples_stands_with_them() -> None:
    """A ball on a plane does; pushed by less than ρ/r of its weight the couple holds it, which equilibrium says it does not know."""
    m = on_the_floor(BALL, friction=0.5, rolling=0.02)
    m.load("push", m.bodies["body"], force=(m.input("F", 0.0, "N"), 0.0, 0.0))
    s = m.compile()
    at = s.equilibrium({"f.z": 0.1})
    weight = float(s.model.bodies["body"].mass) * 9.81
    np.testing.assert_allclose(at.contact_force("floor", "body"), [0.0, 0.0, weight], atol=1e-9 * weight)
    with pytest.raises(SolverError, match="'body' .*whether couples of 'floor' against rolling and spinning hold it a simulation tells"):
        s.equilibrium({"f.z": 0.1}, inputs={"F": 0.1 * weight})


@pytest.mark.parametrize("verb", ["modal", "inverse_dynamics"])
def test_verbs_that_do_not_know_couples_say_so(verb: str) -> None:
    s = on_the_floor(BALL, friction=0.5, rolling=0.02).compile()
    with pytest.raises(InputError, match="'floor' resists rolling"):
        {
            "modal": lambda: s.modal({"f.z": 0.1}),
            "inverse_dynamics": lambda: s.inverse_dynamics_along(
                (np.arange(3.0), np.tile(s.state({"f.z": 0.1}).q, (3, 1)), *np.zeros((2, 3, s.nv))), actuators=["f.x"]
            ),
        }[verb]()


# -- bad input ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda m, b: m.rope("line", m.ground, b, length=1.0), "stiffness= .* or law="),
        (lambda m, b: m.rope("line", m.ground, b, length=-1.0, law=jd.contact.rigid()), "length = -1 must be positive"),
        (lambda m, b: m.rope("line", m.ground, b, b, length=1.0, law=jd.contact.rigid()), "two points, not 3"),
        (lambda m, b: m.rope("line", b, b.at(1, 0, 0), length=1.0, law=jd.contact.rigid()), "both its points are of 'body'"),
        (lambda m, b: m.rope("line", m.ground, b, length=1.0, law=jd.contact.rigid(friction=0.1)), "a rope has no friction"),
        (lambda m, b: m.rope("line", m.ground, b, length=1.0, law=3), "must be jd.contact.rigid"),
        (lambda m, b: jd.contact.rigid(friction=(0.2, 0.6)), "along="),
        (lambda m, b: jd.contact.rigid(friction=0.2, along="x"), "two coefficients"),
        (lambda m, b: jd.contact.rigid(friction=(0.2, -0.6), along="x"), "across = -0.6 must not be negative"),
        (lambda m, b: jd.contact.rigid(friction=(0.2, 0.6), static=(0.3, 0.5), along="x"), "static = 0.5 must not be smaller"),
        (lambda m, b: jd.contact.rigid(friction=(0.2, 0.6), along=(0, 0, 0)), "no direction"),
        (lambda m, b: jd.contact.rigid(friction=(0.2, 0.6), along="x", of="c"), "of = 'c' is unknown"),
        (lambda m, b: jd.contact.rigid(rolling=-0.1), "rolling = -0.1 must not be negative"),
        (lambda m, b: jd.contact.rigid(rolling=0.1, law="poisson"), "law='newton'"),
        (lambda m, b: m.contact("all", law=jd.contact.rigid(friction=(0.2, 0.6), along="x")), "is of both sides"),
    ],
)  # fmt: skip
def test_bad_laws_are_told(make: Callable[[Any, Any], Any], told: str) -> None:
    m = on_the_floor(BALL)
    with pytest.raises(JourdainError, match=told):
        make(m, m.bodies["body"])


def test_a_rope_that_is_too_short_at_the_start_is_told() -> None:
    with pytest.raises(InputError, match="rope 'line' is too short at the start by 0.5 m"):
        roped().compile().simulate({"f.z": -1.5}, 0.1)


def test_events_refuse_no_friction_in_one_direction() -> None:
    s = on_the_floor(BOX, friction=(0.0, 0.6), along="x").compile()
    with pytest.raises(InputError, match="no friction in one direction"):
        s.simulate({"f.z": 0.05}, 0.1)
    sol = s.simulate({"f.z": 0.05, "f.x_rate": 1.0, "f.y_rate": 0.5}, 0.5, "moreau", step=1e-3)  # a skate
    np.testing.assert_allclose([sol["f.x_rate"][-1], sol["f.y_rate"][-1]], [1.0, 0.0], atol=1e-9)


@pytest.mark.parametrize("way", [EXACT, {"method": "moreau", "step": 1e-4}], ids=["events", "moreau"])
def test_restitution_by_speed(way: dict[str, Any]) -> None:
    """e(v) = 0.8 − 0.1 v at the speed of each impact."""
    m = on_the_floor(BALL, restitution=lambda v: 0.8 - 0.1 * v)
    sol = m.compile().simulate({"f.z": 0.1 + 0.5}, 0.5, **way)
    speed = math.sqrt(G)  # after half a metre
    np.testing.assert_allclose(sol["f.z_rate"].max(), speed * (0.8 - 0.1 * speed), atol=1e-9 if "rtol" in way else 2e-3)


@pytest.mark.parametrize(("formulation", "method"), [("recursive", "moreau"), ("recursive", "auto"), ("cartesian", "moreau")])
def test_a_start_beyond_a_rigid_stop_is_refused(formulation: str, method: str) -> None:
    """It was put onto the limit in the first step, without a word."""
    m = jd.Model("door")
    m.revolute("hinge", m.ground, m.body("leaf", 1.0, com=(0.4, 0, 0), inertia=(0.01, 0.1, 0.1)), axis="z", limits=(-1.0, 1.0))
    m.stops(law=jd.contact.rigid(restitution=0.0))
    s = m.compile(formulation=formulation)
    given = {"method": method, **({"step": 1e-3} if method == "moreau" else {})}
    with pytest.raises(jd.InputError, match=r"joint 'hinge' begins 0.9 rad beyond its limit 1"):
        s.simulate({"hinge": 1.9}, 0.01, **given)
    assert abs(s.simulate({"hinge": 1.0}, 0.01, **given)["hinge.angle"][-1] - 1.0) < 1e-6
    if method == "moreau":
        assert abs(s.simulate({"hinge": 1.9}, 0.01, overlap="push apart", **given)["hinge.angle"][-1] - 1.0) < 1e-3
