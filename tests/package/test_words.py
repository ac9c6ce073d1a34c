"""Messages and printed models say what a newcomer needs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jourdain as jd
from jourdain.errors import JourdainError


def pendulum(name: str = "pendulum", hinge: str = "hinge") -> jd.Model:
    m = jd.Model(name)
    m.parameter("length", 1.0)
    m.revolute(hinge, m.ground, m.body("bob", mass=1.0, com=(0, 0, -0.5)), axis="y")
    return m


def four_bar() -> jd.Model:
    m = jd.Model("four-bar")
    bodies = {n: m.body(n, mass=1.0, com=(0.1, 0, 0), inertia=(0.01,) * 3) for n in ("crank", "coupler", "rocker")}
    m.revolute("crank", m.ground, bodies["crank"], axis="-y")
    m.revolute("coupler", bodies["crank"].at(0.2, 0, 0), bodies["coupler"], axis="-y")
    m.revolute("rocker", m.ground.at(0.5, 0, 0), bodies["rocker"], axis="-y")
    m.revolute("closing", bodies["coupler"].at(0.5, 0, 0), bodies["rocker"].at(0.4, 0, 0), axis="-y")
    return m


def closed_run() -> jd.Solution:
    s = four_bar().compile()
    return s.simulate(s.assemble({"crank": 0.8}, guess={"coupler.angle": -0.5, "rocker.angle": 1.8}), 0.01)


def point_mass() -> Any:
    m = jd.Model("point")
    m.free("flight", m.ground, m.body("stone", mass=1.0))
    return m.compile().simulate({}, 1.0)


def plate() -> Any:
    m = jd.Model("plate")
    m.revolute("hinge", m.ground, m.body("plate", mass=1.0, inertia=(0, 0, 0.1)), axis="x")
    return m.compile()


def two_springs(stiffness: str) -> jd.Model:
    m = jd.Model("springs")
    rail = m.prismatic("rail", m.ground, m.body("mass", mass=1.0), axis="x")
    m.joint_spring(rail, stiffness=m.parameter("k", stiffness))
    return m


def run() -> jd.Solution:
    return pendulum().compile().simulate({"hinge": 1.0}, 0.5)


CASES: dict[str, tuple[Callable[[], Any], str]] = {
    "rate of a channel": (lambda: run()["hinge.angle_velocity"], "did you mean 'hinge.angle_rate'"),
    "rate of a state": (lambda: pendulum().compile().state({"hinge.angle_velocity": 1.0}), "did you mean hinge.angle_rate"),
    "point mass": (point_mass, "body 'stone' without inertia .* give 'stone' inertia=, or lock the joint .*'Tx', 'Ty', 'Tz'"),
    "channels of a sample as a start": (
        lambda: pendulum().compile().simulate(pendulum().compile().simulate({}, 0.1).at(0.05), 1.0), "is no start; give sol.final_state",
    ),
    "friction of a contact": (lambda: pendulum().contact("c", friction=0.5), r"friction belongs to law=jd\.contact\.rigid\(friction=…\)"),
    "state of another model": (
        lambda: pendulum("other", "pivot").compile().simulate(pendulum().compile().state({}), 1.0), "is one of 'pendulum' .it has 'hinge.angle'",
    ),
    "state of another model of the same name": (
        lambda: pendulum("pendulum", "pivot").compile().simulate(pendulum().compile().state({}), 1.0), "another model that is called 'pendulum', too",
    ),
    "form of equations": (lambda: pendulum().compile().equations("tex"), "form 'tex' is unknown; use 'text' or 'latex'"),
    "colour": (lambda: jd.Model("m").body("b", colour="reddish"), "body 'b': colour 'reddish' is not of the form '#rrggbb'"),
    "two spellings": (lambda: jd.Model("m").body("b", colour="#000000", color="#ffffff"), "leave one out"),
    "parameter": (lambda: pendulum().compile().set_parameters(lenght=1.0), "no parameter 'lenght'; did you mean length"),
    "parameter unlike any": (lambda: pendulum().compile().set_parameters(foo=1.0), "no parameter 'foo'; there are .*length"),
    "option": (lambda: pendulum().compile().simulate({}, 1.0, metod="rk4"), "no option 'metod'; did you mean method"),
    "option of other programs": (lambda: pendulum().compile().simulate({}, 1.0, dt=0.1), "no option 'dt'; did you mean step"),
    "tolerance as text": (lambda: pendulum().compile().simulate({}, 1.0, rtol="3"), "rtol = '3' is no number"),
    "method": (lambda: pendulum().compile().simulate({}, 1.0, "ode45"), "method 'ode45' is unknown .*choose one of auto, euler"),
    "parameter of another dimension": (
        lambda: two_springs("200 N"), "spring at 'rail': stiffness: parameter 'k' should be in 'N/m' or a like unit: 'N' is a unit of force",
    ),
    "density of another dimension": (lambda: jd.sphere("3 cm", density="1 N"), "sphere: density: quantity '1 N' should be in 'kg/m.3'"),
    "body of another model of the same name": (
        lambda: pendulum().revolute("q", pendulum().ground, pendulum().bodies["bob"]), "joint 'q': 'ground' belongs to another model named 'pendulum'",
    ),
    "channel of a joint that closes a loop": (lambda: closed_run()["closing.angle"], "closes a loop and has no coordinate"),
    "guess for a joint that closes a loop": (
        lambda: four_bar().compile().assemble({"crank": 0.8}, guess={"closing.angle": 1.0}), "'closing' closes a loop and follows from the others",
    ),
    "inertia of a plate": (plate, "bodies that can turn about its axis alone, which this one is not: give the other two, too, as those of a plate: 0.05, 0.05"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_messages(case: str) -> None:
    call, message = CASES[case]
    with pytest.raises(JourdainError, match=message):
        call()


def test_quantities_carry_their_unit() -> None:
    s = two_springs("2 N/mm").compile()
    assert s.model.parameter_set["k"].value == 2000.0 and s.model.parameter_set["k"].unit == "N/m"
    with pytest.raises(JourdainError, match="parameter 'k': quantity '3 kg' should be in 'N/m'"):
        s.set_parameters(k="3 kg")
    assert jd.box("10 cm", 0.2, "300 mm", density="1 t/m^3") == jd.box(0.1, 0.2, 0.3, density=1000.0)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("simulate", r"ask the compiled system, s = m.compile\(\), for s.simulate"),
        ("prescribe", "did you mean m.drive"),
        ("revolut", "m.revolute"),
        ("_zz", "has no"),
    ],
)
def test_what_a_model_has_not(name: str, told: str) -> None:
    m = pendulum()
    with pytest.raises(AttributeError, match=told):
        getattr(m, name)
    assert not hasattr(m, name)


def test_a_picture_outside_the_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(JourdainError, match="t = 55 s is outside the run, which goes from 0 to 0.5 s"):
        run().save_picture(tmp_path / "late.png", t=55)
    with pytest.raises(JourdainError, match="should be in 's'"):
        run().save_picture(tmp_path / "late.png", t="3 kg")


def test_printed_models_show_closures_and_constraints() -> None:
    m = jd.Model("delta")
    platform, arm = (m.body(n, mass=1.0, com=(0.1, 0, 0), inertia=(0.1,) * 3) for n in ("platform", "arm"))
    flight, shoulder = m.free("flight", m.ground, platform), m.revolute("shoulder", m.ground, arm, axis="y")
    m.rod("link", arm.at(0.3, 0, 0), platform.at(0.1, 0, 0), length=0.5)
    m.constraint("guide", shoulder.position - 0.1 * flight.coordinates[0].q[0])
    m.bushing("mount", m.ground, platform, (1e3,) * 6)
    text, description = str(m), m.describe()
    assert "loop closed by link: rod arm ↔ platform" in text and "constraint guide: equation" in text
    assert "2 bodies, 2 joints, 1 loop:" in description and "mount  bushing" in description


def test_an_assembly_far_from_its_guess_says_how_far() -> None:
    s = four_bar().compile()
    near = s.assemble({"crank": 0.8}, guess={"coupler.angle": -0.28, "rocker.angle": 1.39})
    far = s.assemble({"crank": 0.8}, guess={"coupler.angle": 0.5, "rocker.angle": 1.39})
    assert near.report is not None and far.report is not None
    assert "far from the guess" not in str(near.report)
    assert f"far from the guess: coupler.angle 0.5 → {far['coupler.angle']:.4g};" in str(far.report)
    assert str(far).splitlines()[-1].startswith("  far from the guess: coupler.angle 0.5 → ")


def test_american_spellings() -> None:
    assert jd.Model("m").body("b", color="#112233").colour == "#112233"
    assert jd.box(1, 1, 1, color="#112233") == jd.box(1, 1, 1, colour="#112233")
    assert jd.cylinder(0.1, 1.0, color="#112233").colour == "#112233"
    s = pendulum().compile()
    assert (s.linearize().A == s.linearise().A).all()
    assert jd.Problem.optimize is jd.Problem.optimise


def test_what_is_public_is_listed_and_nothing_else() -> None:
    assert dir(jd) == sorted(jd.__all__)
    for name in ("Any", "import_module", "TYPE_CHECKING"):
        assert not hasattr(jd, name)


def test_colours_have_names() -> None:
    assert jd.box(1, 1, 1, colour="red").colour == jd.Model("m").body("b", color="Red").colour == "#c8402f"
    for given, hint in (("greenn", "did you mean 'green'"), ("reddish", "did you mean 'red'"), ("#12", "names are black, white")):
        with pytest.raises(JourdainError, match=f"colour '{given}' is not of the form '#rrggbb'.*{hint}"):
            jd.sphere(1.0, colour=given)
        with pytest.raises(JourdainError, match=f"body 'b': colour '{given}' is not of the form '#rrggbb'.*{hint}"):
            jd.Model("m").body("b", colour=given)


def test_names_that_are_nearly_right() -> None:
    with pytest.raises(AttributeError, match="no attribute 'load'; did you mean load_model or load_solution?"):
        _ = jd.load
    with pytest.raises(JourdainError, match=r"'pendulum\.toml' is the name of a file.*ModelDocument\.read\('pendulum\.toml'\)"):
        jd.ModelDocument("pendulum.toml")
    longer = pendulum()
    longer.revolute("elbow", longer.bodies["bob"], longer.body("second", mass=1.0, com=(0, 0, 1)), axis="y")
    with pytest.raises(JourdainError, match=r"another model that is called 'pendulum', too \(it lacks 'elbow\.angle'\)"):
        longer.compile().simulate(pendulum().compile().state(), t=0.1)


def test_an_assembly_begun_half_a_turn_away_says_so() -> None:
    m = jd.Model("sling")
    arm, ball = (m.body(n, mass=1.0, inertia=(0.1,) * 3) for n in ("arm", "ball"))
    hinge = m.revolute("arm", m.ground, arm, axis="y")
    m.free("flight", m.ground, ball)
    m.event("release", hinge.position - 0.5, release=m.fixed("hold", arm.at(1, 0, 0), ball))
    s = m.compile()
    near, far = (s.assemble({"arm": angle}) for angle in (1.0, 3.0))
    assert "half a turn" not in str(near) and near["flight.x"] == pytest.approx(np.cos(1.0))
    assert str(far).splitlines()[-1].startswith("  closed with flight.orientation begun half a turn away: there may be another assembly")
    assert far["flight.x"] == pytest.approx(np.cos(3.0)) and far["flight.orientation.e2"] == pytest.approx(np.sin(1.5))


def test_a_force_at_a_point_is_pointed_to() -> None:
    m = pendulum()
    with pytest.raises(JourdainError, match=r"is not a joint; .*; a force at a point is m\.load\(name, frame, force="):
        m.force(m.bodies["bob"].at(0, 0, 1), 3.0)
