"""Links of ROBOTRAN files: the distance Z along one axis is signed and passes through zero, elsewhere it is a length."""

from __future__ import annotations

import numpy as np
import pytest

import jourdain as jd
from tests.io.mbs_files import between, body, joint, mbs, point

FORMULATIONS = ("recursive", "cartesian", "natural", "directors", "semi-recursive")
DRIFT = point("seat", (0.0, 0.0, 0.3))


def buggy(kind: str = "T3") -> str:
    """A hull that turns and a seat that moves on it along one axis, held by a link."""
    bodies = [
        body("hull", ("base", "origin"), [joint("roll", "R1"), joint("yaw", "R3")], [DRIFT], 3.0),
        body("seat", ("hull", "seat"), [joint("slide", kind)], [point("low", (0.0, 0.0, -0.2))]),
    ]
    return mbs("buggy", [], bodies, links=between("link", "spring", ("hull", "seat"), ("seat", "low")))


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_a_link_along_one_axis_has_a_signed_length(formulation: str, rng: np.random.Generator) -> None:
    model = jd.read_mbs(buggy())
    model.output("Z", model.loads["spring"].length)
    system = model.compile(formulation=formulation)
    reference = system.reference
    for slide in (0.5, 0.2, -0.1):  # Z = slide − 0.2: positive, zero, negative
        q = dict(zip(system.coordinate_names, [0.3, 0.4, slide], strict=True))
        v = dict(zip(system.velocity_names, rng.normal(size=3), strict=True))
        state = system.state(q, v)
        assert reference.function("outputs")(np.zeros(1), state.x, reference.input_values())[0] == pytest.approx(slide - 0.2, abs=1e-15)
        pulled = []
        for tension in (0.0, 7.0):
            model.inputs["spring.tension"].value = tension
            pulled.append(system.accelerations(system.state(q, v)))
        # M Δa = Q with Q = −tension for the slide alone, on either side of zero
        np.testing.assert_allclose(reference.mass_matrix(state.q) @ (pulled[1] - pulled[0]), [0.0, 0.0, -7.0], atol=1e-9)


@pytest.mark.parametrize("kind, axis", [("T3", "z"), ("T1", None), ("R1", None), ("R3", "z")])
def test_the_axis_is_read_from_the_structure(kind: str, axis: str | None) -> None:
    model = jd.read_mbs(buggy(kind))
    along = model.loads["spring"].along
    assert along is None if axis is None else [float(e) for e in along] == [0.0, 0.0, 1.0]


def test_the_rate_and_the_power_of_a_signed_length(rng: np.random.Generator) -> None:
    """The spring's energy book closes through zero, as that of a joint spring with the same law."""
    k, z0 = 300.0, 0.05
    runs = []
    for of_joint in (False, True):
        model = jd.read_mbs(buggy())
        spring, slide = model.loads["spring"], model.joints["slide"]
        if of_joint:
            model.joint_spring(slide, k, rest=0.2 + z0, damping=2.0)
        else:
            spring.tension = k * (spring.length - z0) + 2.0 * spring.rate
        s = model.compile()
        start = s.state({"slide.displacement": 0.35, "roll.angle": 0.2}, {"yaw.angle_rate": 1.0})
        solution = s.simulate(start, 1.0, rtol=1e-10, atol=1e-12)
        assert solution["slide.displacement"].min() < 0.2 < solution["slide.displacement"].max()
        runs.append(np.array([solution[n][-1] for n in s.coordinate_names]))
    np.testing.assert_allclose(runs[0], runs[1], atol=1e-8)


def test_a_model_file_keeps_the_axis(tmp_path: object) -> None:
    model = jd.read_mbs(buggy())
    model.save(tmp_path / "buggy.toml")  # type: ignore[operator]
    copy = jd.load_model(tmp_path / "buggy.toml")  # type: ignore[operator]
    assert copy.compile().fingerprint == model.compile().fingerprint
    outer = jd.Model("outer")
    outer.include(model, "left")
    outer.include(model, "right", mirror="z")
    assert [[float(e) for e in outer.loads[f"{side}.spring"].along] for side in ("left", "right")] == [[0, 0, 1], [0, 0, -1]]


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_points_that_can_lie_apart_otherwise_are_refused(formulation: str) -> None:
    model = jd.read_mbs(buggy("T1"))
    spring = model.loads["spring"]
    spring.along, spring.axes = jd.read_mbs(buggy("T3")).loads["spring"].along, model.bodies["hull"].origin
    with pytest.raises(jd.ModelError, match="link 'spring': its points can lie .* m apart across the direction"):
        system = model.compile(formulation=formulation)
        system.accelerations(system.state({}))


def test_what_a_direction_needs() -> None:
    m = jd.Model("m")
    a, b = m.body("a", mass=1.0), m.body("b", mass=1.0)
    with pytest.raises(jd.ModelError, match="link 'l': along='z' is for two points and needs axes="):
        m.link("l", a, b, law=1.0, along="z")
