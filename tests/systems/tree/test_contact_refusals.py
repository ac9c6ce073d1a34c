"""What is wrong with contacts, told by name: in Moreau's steps, from event to event and with laws that give way."""

from __future__ import annotations

import os
import signal
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jourdain as jd
from jourdain.errors import InputError, ModelError, SolverError

MOREAU: dict[str, Any] = {"method": "moreau", "step": 1e-3}
#: Ways to run with contacts: how, whether the law is rigid.
WAYS: dict[str, tuple[dict[str, Any], bool]] = {
    "moreau": (MOREAU, True),
    "events": ({}, True),
    "penalty": ({}, False),
    "penalty rk4": ({"method": "rk4", "step": 1e-4}, False),
    "penalty radau": ({"method": "radau"}, False),
}
every_way = pytest.mark.parametrize("way", WAYS)


def law_of(way: str, friction: Any = 0.3, restitution: Any = 0.5) -> Any:
    if WAYS[way][1]:
        return jd.contact.rigid(friction=friction, restitution=restitution)
    return jd.contact.hunt_crossley(stiffness=1e5, restitution=restitution, friction=friction)


def balls(law: Any, count: int = 1) -> jd.Model:
    m = jd.Model("balls")
    m.ground.shapes.append(jd.plane())
    for i in range(count):
        m.free(f"f{i}", m.ground, m.body(f"ball{i}", shape=jd.sphere(0.05, density=1000.0)))
    m.contact("touch", law=law)
    return m


def one_line(error: pytest.ExceptionInfo[BaseException], *words: str) -> None:
    told = str(error.value)
    assert "\n" not in told
    for word in words:
        assert word in told, told


# -- coefficients ---------------------------------------------------------------------------------------------------------


@every_way
@pytest.mark.parametrize(("word", "x"), [("friction", -0.1), ("restitution", 1.2), ("restitution", -0.2)])
def test_coefficients_that_no_surface_has(way: str, word: str, x: float) -> None:
    with pytest.raises(InputError) as error:
        law_of(way, **{word: x})
    one_line(error, f"= {x:g} must")


@every_way
@pytest.mark.parametrize(("word", "x"), [("friction", -1.0), ("restitution", 1.5)])
def test_parameters_that_no_surface_has_name_the_contact(way: str, word: str, x: float) -> None:
    m = jd.Model("balls")
    m.ground.shapes.append(jd.plane())
    m.free("f0", m.ground, m.body("ball0", shape=jd.sphere(0.05, density=1000.0)))
    given = {"friction": m.parameter("mu", 0.3), "restitution": m.parameter("e", 0.5)}
    m.contact("touch", law=law_of(way, **given))
    s = m.compile()
    s.simulate({"f0.z": 0.06}, 0.01, **WAYS[way][0])
    s.set_parameters(**{"mu" if word == "friction" else "e": x})
    with pytest.raises(InputError) as error:
        s.simulate({"f0.z": 0.06}, 0.01, **WAYS[way][0])
    one_line(error, "contact 'touch'", f"= {x:g} must")


# -- bodies ---------------------------------------------------------------------------------------------------------------

CORNERS = np.array([(0, 0, 0), (0.1, 0, 0), (0, 0.1, 0), (0, 0, 0.1)])
OUTWARD = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]


@pytest.mark.parametrize(
    ("faces", "told"),
    [(OUTWARD[:3], "the surface is open: 3 edges"), ([f[::-1] for f in OUTWARD], "the surface is inside out (volume -0.000166667)")],
)
def test_open_and_inverted_meshes_make_no_shape_that_touches(faces: Any, told: str) -> None:
    m = jd.Model("mesh")
    stone = m.body("stone", mass=1.0, inertia=(1e-3, 1e-3, 1e-3))
    with pytest.raises(ModelError) as error:
        stone.shapes.append(jd.mesh((CORNERS, faces)))
        m.free("f", m.ground, stone)
        m.contact("touch", stone, m.ground)
    one_line(error, told, "repair=True")
    repaired = jd.mesh((CORNERS, [f[::-1] for f in OUTWARD]), repair=True)
    assert repaired.volume == pytest.approx(1e-3 / 6)


@every_way
def test_a_body_without_mass_is_named(way: str) -> None:
    m = jd.Model("light")
    m.ground.shapes.append(jd.plane())
    feather = m.body("feather")
    feather.shapes.append(jd.sphere(0.05))
    m.free("f", m.ground, feather)
    m.contact("touch", law=law_of(way))
    with pytest.raises(ModelError) as error:
        m.compile().simulate({"f.z": 0.1}, 0.2, **WAYS[way][0])
    one_line(error, "body 'feather' without mass", "give 'feather' mass")


@every_way
@pytest.mark.parametrize("early", [True, False])
def test_bodies_fixed_to_each_other_do_not_touch(way: str, early: bool) -> None:
    m = jd.Model("welded")
    a, b = (m.body(n, shape=jd.sphere(0.05, density=1000.0)) for n in "ab")
    m.free("f", m.ground, a)
    steps: list[Callable[[], Any]] = [lambda: m.fixed("weld", a.at(0.08, 0, 0), b), lambda: m.contact("touch", a, b, law=law_of(way))]
    with pytest.raises(ModelError) as error:
        for declare in steps if early else steps[::-1]:
            declare()
        m.compile().simulate({}, 0.01, **WAYS[way][0])
    one_line(error, "contact 'touch': 'a' and 'b' are fixed to each other", "leave it out")


@pytest.mark.parametrize("way", ["moreau", "events"])
def test_overlap_at_the_start_names_the_worst_pairs_first(way: str) -> None:
    s = balls(law_of(way), 4).compile()
    start = {"f0.z": 0.02, "f1.z": 0.04, "f2.z": 0.08, "f3.x": 1.0, "f3.z": 0.05}
    with pytest.raises(InputError) as error:
        s.simulate(start, 0.1, **WAYS[way][0])
    one_line(
        error, "'ball0' and 'ball1' by 0.08 m, 'ball1' and 'ball2' by 0.06 m, 'ball0' and 'ball2' by 0.04 m and 2 pairs more; move them"
    )
    assert "ball3" not in str(error.value)


def test_overlap_is_pushed_apart_when_asked() -> None:
    s = balls(jd.contact.rigid(), 2).compile()
    sol = s.simulate({"f0.z": 0.03, "f1.z": 0.11}, 0.1, overlap="push apart", **MOREAU)
    assert "pushed apart" not in sol.contacts.summary()  # the run has not seen them overlap
    assert min(sol["f0.z"][0] - 0.05, sol["f1.z"][0] - sol["f0.z"][0] - 0.1) > -1e-9
    stepper = s.stepper({"f0.z": 0.03, "f1.z": 0.11}, 1e-3, "moreau", outputs=["f0.z"], overlap="push apart")
    assert stepper.state.q[2] == sol["f0.z"][0]
    assert sol["f0.z"][-1] == pytest.approx(0.05, abs=1e-6)
    assert sol["f1.z"][-1] - sol["f0.z"][-1] >= 0.1 - 1e-6
    assert np.abs(sol["f1.z_rate"]).max() < 0.1  # no speed comes of it


def test_very_many_bodies_are_pushed_apart_in_the_first_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole matrices of masses would take longer than the run."""
    monkeypatch.setattr("jourdain.analysis.touching.apart.MANY", 1)
    sol = balls(jd.contact.rigid(), 2).compile().simulate({"f0.z": 0.03, "f1.z": 0.11}, 0.1, overlap="push apart", **MOREAU)
    assert "(0.02 m at the start, pushed apart)" in sol.contacts.summary()
    assert (sol["f1.z"] - sol["f0.z"])[1:].min() >= 0.1 - 1e-6 and sol["f0.z"][1:].min() >= 0.05 - 1e-6
    assert np.abs(sol["f1.z_rate"]).max() < 0.1


# -- the run ----------------------------------------------------------------------------------------------------------------


def overlapping(rigid: bool, n: int = 1) -> jd.Model:
    m = jd.Model("overlapping")
    m.ground.shapes.append(jd.plane())
    for k in range(n):
        m.free(f"f{k}", m.ground, m.body(f"b{k}", shape=jd.sphere(0.1, density=1000.0)))
    m.contact("c", law=jd.contact.rigid() if rigid else jd.contact.kelvin_voigt(stiffness=1e5, damping=100.0))
    return m


@pytest.mark.parametrize("formulation", ["recursive", "cartesian", "semi-recursive"])
def test_overlap_is_told_where_surfaces_give_way(formulation: str) -> None:
    s = overlapping(rigid=False).compile(formulation=formulation)
    with pytest.warns(RuntimeWarning, match="bodies overlap at the start: 'ground' and 'b0' by 0.08 m; .* overlap='push apart'"):
        s.simulate({"f0.z": 0.02}, 1e-3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        s.simulate({"f0.z": 0.0995}, 1e-3)  # what such laws are for
        sol = s.simulate({"f0.z": 0.02, "f0.x_rate": 0.3}, 1e-3, overlap="push apart")
    np.testing.assert_allclose([sol["f0.z"][0], sol["f0.x"][0], sol["f0.x_rate"][0]], [0.1, 0.0, 0.3], atol=1e-7)


@every_way
def test_many_are_pushed_apart_in_every_way(way: str) -> None:
    run, rigid = WAYS[way]
    at = {"f0.z": 0.1, "f1.z": 0.15, "f2.z": 0.12, "f1.x": 0.01, "f2.y": 0.03}
    sol = overlapping(rigid, 3).compile().simulate(at, 0.02, overlap="push apart", **run)
    p = np.array([[sol[f"f{k}.{c}"][0] for c in "xyz"] for k in range(3)])
    gaps = [*(p[:, 2] - 0.1), *(np.linalg.norm(p[i] - p[j]) - 0.2 for i, j in ((0, 1), (0, 2), (1, 2)))]
    assert min(gaps) > -1e-6
    with pytest.raises(InputError, match="overlap = 'away' is unknown"):
        overlapping(rigid).compile().simulate({}, 0.1, overlap="away", **run)


def test_friction_of_a_joint_is_not_negative() -> None:
    m = jd.Model("slider")
    joint = m.prismatic("j", m.ground, m.body("b", mass=1.0), axis="x")
    for word in ("coulomb", "viscous", "static"):
        with pytest.raises(ModelError, match=f"friction at 'j': {word} = -1 must not be negative"):
            m.friction(joint, **{"coulomb": 0.0, word: -1.0})


@pytest.mark.parametrize(("stiffness", "step"), [(1e7, 1e-3), (1e9, 1e-3), (1e9, 1e-2)])
@pytest.mark.parametrize("method", ["rk4", "generalized-alpha"])
def test_a_contact_shorter_than_two_fixed_steps_is_told(method: str, stiffness: float, step: float) -> None:
    """It lasts π √(m/k): 0.72 ms, 0.072 ms."""
    s = balls(jd.contact.linear(stiffness)).compile()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        sol = s.simulate({"f0.z": 0.2}, 0.5, method=method, step=step)
    wrong = abs(sol["energy.error"]).max() > 0.2 * sol["energy.kinetic"][: len(sol.t) // 3].max()
    said = [str(w.message) for w in told if "'touch'" in str(w.message)]
    assert bool(said) == bool(wrong)
    assert all("within" in text and "take shorter steps" in text for text in said)
    assert wrong or method != "rk4"


@pytest.mark.parametrize("formulation", ["recursive", "semi-recursive", "cartesian", "natural"])
def test_every_formulation_tells_short_contacts(formulation: str) -> None:
    s = balls(jd.contact.linear(1e8)).compile(formulation=formulation)
    with pytest.warns(RuntimeWarning, match="contact 'touch' of body 'ball0' is over within two steps: energy changes"):
        s.simulate({"f0.z": 0.3}, 0.5, method="rk4", step=1e-3)


@pytest.mark.parametrize("method", ["rk4", "generalized-alpha"])
def test_contacts_that_steps_resolve_are_not_doubted(method: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        balls(jd.contact.linear(1e5)).compile().simulate({"f0.z": 0.2}, 0.5, method=method, step=2e-4)
        balls(jd.contact.kelvin_voigt(1e5, 50.0)).compile().simulate({"f0.z": 0.2}, 1.5, method=method, step=2e-4)
        balls(jd.contact.linear(1e5)).compile().simulate(
            {"f0.z": 0.2}, 0.5, method=method, step=2e-4, outputs=12
        )  # many steps from one to the next


@pytest.mark.parametrize(
    "run", [{}, {"method": "radau"}, {"method": "rk4", "step": 1e-3}, {"method": "generalized-alpha", "step": 1e-3}, MOREAU]
)
def test_a_law_without_a_finite_force_names_the_pair(run: dict[str, Any]) -> None:
    s = balls(jd.contact.own(lambda depth, rate, speed: 1e5 * depth * jd.sqrt(1e-4 - depth)), 2).compile()
    with pytest.raises(SolverError) as error:
        s.simulate({"f0.z": 0.3, "f1.z": 0.9}, 0.5, **run)
    one_line(error, "the law between 'ground' and 'ball0' gives no finite force at t = 0.22", "check its expression")
    done = error.value.solution  # type: ignore[attr-defined]
    assert 0.22 < done.t[-1] < 0.23 and np.isfinite(done["f0.z"]).all()


@pytest.mark.parametrize("run", [{}, {"method": "rk4", "step": 1e-3}, {"method": "generalized-alpha", "step": 1e-3}])
def test_a_contact_is_not_blamed_for_another_law(run: dict[str, Any]) -> None:
    m = jd.Model("blame")
    m.ground.shapes.append(jd.plane())
    slide = m.prismatic("slide", m.ground, m.body("ball", shape=jd.sphere(0.05, density=1000.0)), axis="z")
    m.contact("touch", law=jd.contact.linear(1e5))
    m.force(slide, jd.sqrt(0.1 - m.time), name="fading")
    with pytest.raises(SolverError, match="law 'fading' gives nan") as error:
        m.compile().simulate({"slide.displacement": 0.0495}, 0.5, **run)
    assert "the law between" not in str(error.value)


def test_a_restitution_without_a_value_names_the_pair() -> None:
    s = balls(jd.contact.rigid(restitution=lambda v: jd.sqrt(0.5 - v)), 2).compile()
    slow = s.simulate({"f0.z": 0.055, "f1.z": 0.3}, 0.1, **MOREAU)
    assert slow.metadata["status"] == "finished"
    with pytest.raises(SolverError) as error:
        s.simulate({"f0.z": 0.3, "f1.z": 0.9}, 0.5, **MOREAU)
    one_line(error, "the restitution between 'ground' and 'ball0' is not a number at 2.1", "m/s (t = 0.22", "give a restitution=")
    assert s.simulate({"f0.z": 0.055, "f1.z": 0.3}, 0.1, **MOREAU)["f0.z"][-1] == slow["f0.z"][-1]


def test_a_restitution_is_not_blamed_for_another_law() -> None:
    m = balls(jd.contact.rigid(friction=0.5))
    m.load("fading", m.bodies["ball0"], force=(jd.sqrt(0.04 - m.time), 0.0, 0.0))
    with pytest.raises(SolverError, match="law 'fading' gives nan") as error:
        m.compile().simulate({"f0.z": 0.05}, 0.1, **MOREAU)
    assert "restitution" not in str(error.value)


@pytest.mark.parametrize(
    "law", [lambda mu: jd.contact.rigid(friction=mu), jd.contact.linear, lambda mu: jd.contact.own(lambda d, rate, met: mu * d)]
)
def test_laws_with_parameters_of_another_model(law: Any) -> None:
    with pytest.raises(ModelError, match="contact '.*': its law depends on mu, which is not a parameter of the model"):
        balls(law(jd.Model("other").parameter("mu", 0.3)))


def test_no_convergence_names_the_pair_and_what_was_done() -> None:
    m = jd.Model("tower")
    m.ground.shapes.append(jd.plane())
    start = {}
    for i in range(8):
        m.free(f"f{i}", m.ground, m.body(f"box{i}", shape=jd.box(0.1, 0.1, 0.1, density=10.0**i)))
        start[f"f{i}.z"] = 0.05 + 0.1 * i
    m.contact("all", law=jd.contact.rigid(friction=0.5))
    s = m.compile()
    with pytest.warns(
        RuntimeWarning, match=r"the law of contact between '\w+' and 'box\d' is missed by \S+ m/s .* with at most 300 iter.*smaller step"
    ) as told:
        sol = s.simulate(start, 0.05, tolerance=1e-30, max_iterations=300, **MOREAU)
    assert len(told) == 1 and sol.metadata["status"] == "doubtful"


def test_a_memory_that_depends_on_itself_within_a_step() -> None:
    m = jd.Model("memory")
    m.ground.shapes.append(jd.plane())
    slide = m.prismatic("slide", m.ground, m.body("ball", shape=jd.sphere(0.05, density=1000.0)), axis="z")
    m.contact("touch", law=jd.contact.linear(1e5))
    kept = m.memory("kept", 0.0)
    m.force(slide, kept)
    with pytest.raises(ModelError) as error:
        m.update(kept, slide.acceleration)
    one_line(error, "memory 'kept'", "accelerations, which depend on the memory itself", "use positions")


@pytest.mark.parametrize("way", ["moreau", "events", "penalty"])
def test_ctrl_c_keeps_all_steps(way: str) -> None:
    s, run = balls(law_of(way, restitution=1.0)).compile(), WAYS[way][0] | ({"step": 1e-5} if way == "moreau" else {})
    s.simulate({"f0.z": 0.3}, 0.5, **run)  # what an impact needs is compiled
    timer = threading.Timer(0.4, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(jd.SimulationInterrupted) as error:
        s.simulate({"f0.z": 0.3}, 1e5, **run)
    one_line(error, "interrupted at t = ", "what was done is in .solution")
    done = error.value.solution
    assert done.metadata["status"] == "interrupted" and len(done.t) > 10 and done.t[-1] > 0.2
    again = s.simulate({"f0.z": 0.3}, 0.2, **run)
    same = int((again.t < 0.19).sum())
    np.testing.assert_array_equal(done["f0.z"][:same], again["f0.z"][:same])


def test_lists_of_bodies_that_are_all_fixed_to_each_other() -> None:
    m = jd.Model("welded")
    a, b, c = (m.body(n, shape=jd.sphere(0.05, density=1000.0)) for n in "abc")
    m.free("f", m.ground, a)
    m.fixed("weld", a.at(0.08, 0, 0), b)
    m.free("g", m.ground, c)
    m.contact("some", [a, b], [b, c])  # c may touch
    with pytest.raises(ModelError, match="contact 'none': 'a' and 'b' are fixed to each other"):
        m.contact("none", [a, b], [a, b])


def test_static_geoms_of_different_friction_do_not_hinder_a_file(tmp_path: Path) -> None:
    (tmp_path / "step.xml").write_text(
        """<mujoco><worldbody><geom type="plane" size="1 1 1" friction="1"/><geom type="box" size=".1 .1 .1" pos="1 0 0" friction=".5"/>
        <body name="ball" pos="0 0 1"><freejoint/><geom type="sphere" size=".1" friction=".8"/></body></worldbody></mujoco>"""
    )
    assert list(jd.read_mjcf(tmp_path / "step.xml", contacts=True).contacts) == ["contacts 0.5 0.8", "contacts 0.8 1"]
