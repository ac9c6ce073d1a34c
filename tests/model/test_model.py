"""The model: bodies and their inertia, frames, names, topology, locking, and what every wrong description is told."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

import jourdain as jd
from jourdain.errors import InputError, ModelError


def numbers(body: jd.Body) -> tuple[float, np.ndarray, np.ndarray]:
    """Mass, first moment and inertia about the origin with the present parameters."""
    p = body.model.parameter_set
    xx, yy, zz, xy, xz, yz = (float(e) for e in p.evaluate(body.inertia.entries))
    moment = np.array([float(e) for e in p.evaluate(list(body.moment))])
    return float(p.evaluate(body.mass)), moment, np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def of_points(masses: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Σ m (r² 1 − r rᵀ) about the origin."""
    return sum(m * (r @ r * np.eye(3) - np.outer(r, r)) for m, r in zip(masses, points, strict=True))


@given(st.integers(0, 2**32 - 1))
def test_inertia_about_any_point_and_axes(seed: int) -> None:
    """A cloud of point masses, stated in four ways."""
    rng = np.random.default_rng(seed)
    masses, points = rng.uniform(0.1, 2.0, 7), rng.normal(size=(7, 3))
    mass, com, inertia = masses.sum(), masses @ points / masses.sum(), of_points(masses, points)
    R = Rotation.random(random_state=seed % 2**31).as_matrix()
    about_com = of_points(masses, points - com)
    six = [about_com[i, j] for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]
    moments, directions = np.linalg.eigh(about_com)
    directions *= np.linalg.det(directions)
    m = jd.Model("m")
    bodies = [
        m.body("com", mass=mass, com=com, inertia=about_com),
        m.body("six", mass=mass, com=com, inertia=six, about="com"),
        m.body("origin", mass=mass, com=com, inertia=inertia, about="origin"),
    ]
    turned, principal = m.body("turned"), m.body("principal")
    turned.add_mass(mass, com, R.T @ about_com @ R, axes=R)
    principal.add_mass(mass, com, moments, axes=directions)
    parts = m.body("parts")
    for k, r in zip(masses, points, strict=True):
        parts.add_mass(k, r)
    for body in (*bodies, turned, principal, parts):
        got = numbers(body)
        np.testing.assert_allclose(got[0], mass)
        np.testing.assert_allclose(got[1], mass * com, atol=1e-13)
        np.testing.assert_allclose(got[2], inertia, atol=1e-12)
    m.check()


def test_inertia_with_parameters_and_units() -> None:
    m = jd.Model("m")
    l = m.parameter("l", 0.4, unit="m")
    rod = m.body("rod", mass="1500 g", com=(l / 2, 0, "3 mm"), inertia=(0, 1.5 * l**2 / 12, "200 kg cm^2"))
    mass, moment, inertia = numbers(rod)
    assert mass == 1.5
    np.testing.assert_allclose(moment, [0.3, 0, 0.0045])
    c = moment / mass
    expected = np.diag([0, 0.02, 0.02]) + mass * (c @ c * np.eye(3) - np.outer(c, c))
    np.testing.assert_allclose(inertia, expected, atol=1e-17)


def test_a_matrix_with_rounding_noise_is_symmetric_enough() -> None:
    R = Rotation.from_euler("xyz", [0.3, 0.7, 1.1]).as_matrix()
    noisy = R @ np.diag([100.0, 100.0, 100.0]) @ R.T
    noisy[0, 1] += 3e-14
    m = jd.Model("m")
    np.testing.assert_allclose(numbers(m.body("b", mass=1.0, inertia=noisy))[2], 100 * np.eye(3), atol=1e-12)


BODY_ERRORS: dict[str, tuple[dict[str, Any], str]] = {
    "nan mass": ({"mass": np.nan}, "body 'b': mass: nan is not a finite number"),
    "unknown unit": ({"mass": "3 kk"}, "body 'b': mass: '3 kk' .*unit 'kk' in 'kk' is unknown"),
    "mass in mm": ({"mass": "3 mm"}, "body 'b': mass: quantity '3 mm' should be in 'kg'"),
    "com of two": ({"mass": 1, "com": (0, 1)}, r"body 'b': centre of mass: \(0, 1\) is not a vector of three values"),
    "com in deg": ({"mass": 1, "com": (0, 1, "3 deg")}, "body 'b': centre of mass: quantity '3 deg' should be in 'm'"),
    "four moments": ({"mass": 1, "inertia": (1, 2, 3, 4)}, r"body 'b': inertia: give three principal values, six entries .* got shape \(4,\)"),
    "inertia number": ({"mass": 1, "inertia": 5.0}, r"body 'b': inertia: give three principal values.* got shape \(\)"),
    "inertia nan": ({"mass": 1, "inertia": (1, 1, np.nan)}, "body 'b': inertia: nan is not a finite number"),
    "inertia in kg": ({"mass": 1, "inertia": (1, 1, "1 kg")}, "body 'b': inertia: quantity '1 kg' should be in 'kg m²'"),
    "asymmetric": ({"mass": 1, "inertia": [[1, 0.1, 0], [0.2, 1, 0], [0, 0, 1]]}, r"body 'b': inertia: the matrix is not symmetric: entry \(1, 2\) = 0.1, \(2, 1\) = 0.2"),
    "about": ({"mass": 1, "inertia": (1, 1, 1), "about": "cog"}, "body 'b': inertia about 'cog' is unknown; use 'com' or 'origin'"),
    "shape": ({"shape": 3}, r"body 'b': shape 3 is not a solid; use jd.box"),
    "shape beside a mass": ({"mass": 1, "shape": "box"}, r"body 'b': shape 'box' is not a solid; use jd.box"),
}  # fmt: skip


@pytest.mark.parametrize("case", BODY_ERRORS)
def test_wrong_bodies(case: str) -> None:
    m = jd.Model("m")
    arguments, message = BODY_ERRORS[case]
    with pytest.raises(ModelError, match=message):
        m.body("b", **arguments)
    assert not m.bodies


PHYSICS: dict[str, tuple[dict[str, Any], str]] = {
    "negative mass": ({"mass": -1.5}, r"body 'b': mass -1.5 kg is negative; give a positive mass"),
    "negative moment": ({"mass": 1, "inertia": (1, 1, -0.5)}, r"body 'b': the inertia about its centre of mass has the principal value -0.5 kg m² < 0; check the sign"),
    "indefinite": ({"mass": 1, "inertia": (1, 1, 1, 2, 0, 0)}, r"principal value -1 kg m² < 0"),
    "about the wrong point": ({"mass": 1, "com": (1, 0, 0), "inertia": (0.1, 0.1, 0.1), "about": "origin"}, r"about='com' or 'origin'"),
    "triangle": ({"mass": 1, "inertia": (1, 1, 3)}, r"body 'b': principal inertias \[1.0, 1.0, 3.0\] kg m² break the triangle inequality I₃ ≤ I₁ \+ I₂; .*check=False"),
    "massless triangle": ({"inertia": (1, 0, 0)}, "break the triangle inequality"),
}  # fmt: skip


@pytest.mark.parametrize("case", PHYSICS)
def test_impossible_bodies(case: str) -> None:
    m = jd.Model("m")
    arguments, message = PHYSICS[case]
    b = m.body("b", **arguments)
    m.free("j", m.ground, b)
    with pytest.raises(ModelError, match=message):
        m.compile()
    m.compile(check=False)


@pytest.mark.parametrize("inertia", [None, (0, 0, 0), (1, 1, 2), (0, 1, 1), (1, 1, 1, 0.5, 0, 0)])
def test_limiting_cases_are_allowed(inertia: Any) -> None:
    m = jd.Model("m")
    m.body("b", mass=1.0, com=(0.1, 0.2, 0.3), inertia=inertia)
    m.check()


def test_the_check_uses_parameter_values_and_knows_whose_they_are() -> None:
    m, other = jd.Model("m"), jd.Model("other")
    k = m.parameter("k", -1.0)
    m.body("b", mass=k)
    with pytest.raises(ModelError, match="body 'b': mass -1 kg is negative"):
        m.check()
    m = jd.Model("m")
    m.body("b", mass=other.parameter("far", 1.0))
    with pytest.raises(ModelError, match="body 'b': its mass properties depend on far, which is not a parameter of the model 'm'"):
        m.check()
    m = jd.Model("m")
    m.body("b", mass=1.0 + m.time)
    with pytest.raises(ModelError, match="body 'b': its mass properties depend on t, which is not a parameter"):
        m.check()


# --- frames, names, references ---------------------------------------------------------------------------------------


def two() -> tuple[jd.Model, jd.Body, jd.Body]:
    m = jd.Model("m")
    return m, m.body("a", mass=1.0), m.body("b", mass=1.0)


def test_frames_of_frames() -> None:
    m, a, _ = two()
    first = a.frame("first", ("10 mm", 0, 0), ("z", "90 deg"))
    second = first.at(0, 0.5, 0, rotation=("x", 0.3))
    np.testing.assert_allclose([float(e) for e in second.position], [0.01 - 0.5, 0, 0], atol=1e-16)
    R = np.array([float(e) for e in second.rotation.entries]).reshape(3, 3)
    np.testing.assert_allclose(R, Rotation.from_euler("ZX", [np.pi / 2, 0.3]).as_matrix(), atol=1e-15)
    assert m.frame("a.first") is first
    assert m.frame("a").is_origin
    assert m.frame("ground").body is m.ground
    assert (first.path, second.path, a.origin.path) == ("a.first", "a", "a")


def test_names_with_dots() -> None:
    m = jd.Model("m")
    arm = m.body("left.arm", mass=1)
    tip = arm.frame("tip.one")
    assert m.frame("left.arm.tip.one") is tip
    assert m.frame("left.arm").body is arm


def _foreign() -> tuple[jd.Model, jd.Body, jd.Joint]:
    other = jd.Model("other")
    x = other.body("x", mass=1.0)
    return other, x, other.revolute("far", other.ground, x)


REFERENCES: dict[str, tuple[Callable[[jd.Model, jd.Body, jd.Body], Any], str]] = {
    "foreign parent": (lambda m, a, b: m.revolute("j", _foreign()[1], a), "joint 'j': 'x' belongs to the model 'other', not to 'm'"),
    "foreign frame": (lambda m, a, b: m.revolute("j", a, _foreign()[1].at(1)), "joint 'j': 'x' belongs to the model 'other'"),
    "foreign sensor": (lambda m, a, b: m.sensor("s", _foreign()[1]), "sensor 's': 'x' belongs to the model 'other'"),
    "foreign spring": (lambda m, a, b: m.spring("s", a, _foreign()[1], 1, 1), "link 's': 'x' belongs to the model 'other'"),
    "foreign load": (lambda m, a, b: m.load("s", _foreign()[1]), "load 's': 'x' belongs to the model 'other'"),
    "foreign closure": (lambda m, a, b: m.close("s", a, _foreign()[1]), "closure 's': 'x' belongs to the model 'other'"),
    "force at a foreign joint": (lambda m, a, b: m.force(_foreign()[2], 1.0), "force: joint 'far' does not belong to the model 'm'"),
    "force at a name": (lambda m, a, b: m.force("far", 1.0), r"force: 'far' is not a joint; give the object that m.revolute"),
    "number as a frame": (lambda m, a, b: m.revolute("j", 3, a), r"joint 'j': 3 is neither a body nor a frame; use body, body.at\(x, y, z\)"),
    "itself": (lambda m, a, b: m.revolute("j", a, a.at(1)), "joint 'j' connects the body 'a' with itself"),
    "closure with itself": (lambda m, a, b: m.close("c", b, b), "closure 'c' connects the body 'b' with itself"),
    "unknown path": (lambda m, a, b: (a.frame("tip"), m.frame("a.tpi")), r"there is no body or frame 'a.tpi'; did you mean a.tip"),
    "unknown path in a joint": (lambda m, a, b: m.revolute("j", "grund", a), r"there is no body or frame 'grund'; did you mean ground\?"),
    "unlike any": (lambda m, a, b: m.frame("zzzz"), "there is no body or frame 'zzzz'; 'm' has ground, a, b$"),
    "two bodies": (lambda m, a, b: m.body("a"), "there is a body 'a' already; names must be unique"),
    "second ground": (lambda m, a, b: m.body("ground"), "the body 'ground' is there already: it is m.ground"),
    "two joints": (lambda m, a, b: (m.fixed("j", m.ground, a), m.fixed("j", a, b)), "there is a joint 'j' already"),
    "two frames": (lambda m, a, b: (a.frame("f"), a.frame("f")), "body 'a' has a frame 'f' already; choose another name"),
    "two springs": (lambda m, a, b: (m.spring("s", a, b, 1, 1), m.damper("s", a, b, 1)), "there is a load 's' already"),
    "two bushings": (lambda m, a, b: (m.bushing("s", a, b, (1,) * 6), m.bushing("s", a, b, (1,) * 6)), "there is a load 's' already"),
    "two sensors": (lambda m, a, b: (m.sensor("s", a), m.sensor("s", b)), "there is a sensor 's' already"),
    "two inputs": (lambda m, a, b: (m.input("u"), m.input("u")), "there is an input 'u' already"),
    "two states": (lambda m, a, b: (m.state("z"), m.state("z")), "there is a state 'z' already"),
    "two outputs": (lambda m, a, b: (m.output("y", 1), m.output("y", 2)), "there is an output 'y' already"),
    "two constraints": (lambda m, a, b: (m.rod("c", a, b, 1), m.rod("c", a, b, 1)), "there is a constraint 'c' already"),
    "no name": (lambda m, a, b: m.body(""), "a body needs a name, got ''"),
    "number as a name": (lambda m, a, b: m.fixed(7, m.ground, a), "a joint needs a name, got 7"),
    "frame without a name": (lambda m, a, b: a.frame(""), r"body 'a': a frame needs a name, got ''; use body.at"),
    "bad point": (lambda m, a, b: a.at(np.nan), "point on 'a': nan is not a finite number"),
    "angle as a length": (lambda m, a, b: a.at("3 deg"), "point on 'a': quantity '3 deg' should be in 'm'"),
    "bad rotation": (lambda m, a, b: a.frame("f", rotation=3), "frame 'a.f': 3 is not a rotation"),
    "rod length": (lambda m, a, b: m.rod("r", a, b, length=-1), "closure 'r': the rod's length -1 m must be positive"),
    "rod without length": (lambda m, a, b: m.close("r", a, b, "rod"), "closure 'r': a rod needs its length= in m"),
    "closure kind": (lambda m, a, b: m.close("r", a, b, "weld"), "closure 'r': kind 'weld' is unknown; use one of ball, body, rod"),
    "closure axis": (lambda m, a, b: m.close("r", a, b, "revolute", axis=(0, 0, 0)), r"closure 'r': axis \(0.0, 0.0, 0.0\) has no direction"),
    "closure axes": (lambda m, a, b: m.close("r", a, b, "universal", axes=("x",)), r"closure 'r': axes \('x',\) are not two axes"),
    "constant constraint": (lambda m, a, b: m.constraint("c", 3), "constraint 'c': the expression 3 does not depend on any coordinate"),
    "link of one point": (lambda m, a, b: m.link("l", a, law=1), "link 'l' needs at least two points, got 1"),
    "bushing of five": (lambda m, a, b: m.bushing("s", a, b, (1,) * 5), "bushing 's': stiffness and damping have six entries"),
    "law without a value": (lambda m, a, b: m.force(m.revolute("j", m.ground, a), lambda x, v, t: None), "force 'j.force': None is not a number"),
    "force on two": (lambda m, a, b: m.force(m.cylindrical("j", m.ground, a), 1), r"joint 'j' \(cylindrical\) has the coordinates j.displacement, j.angle; name one"),
    "stop without limits": (lambda m, a, b: m.stop(m.revolute("j", m.ground, a)), r"stop at 'j': give lower=, upper= or declare limits="),
    "rate of time": (lambda m, a, b: m.rate(m.time, 1), r"t is not a state of the model 'm'; declare it with m.state\(name\)"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFERENCES)
def test_wrong_references(case: str) -> None:
    attempt, message = REFERENCES[case]
    with pytest.raises(ModelError, match=message):
        attempt(*two())


def test_python_if_in_a_law_points_to_where() -> None:
    m, a, _ = two()
    with pytest.raises(jd.InputError, match=r"force 'j.force' raised TypeError: the truth of the expression .* is not known.*use jd.where"):
        m.force(m.revolute("j", m.ground, a), lambda x, v, t: x if x > 0 else 0.0)
    assert not m.loads


# --- topology ----------------------------------------------------------------------------------------------------


def test_orphans_are_named_and_the_model_can_be_mended() -> None:
    m, a, b = two()
    m.revolute("j", a, b)
    with pytest.raises(ModelError, match=r"not connected to the ground by any chain of joints: 'a', 'b'; add a joint \(m.free"):
        m.compile()
    m.free("base", m.ground, b)
    assert m.compile().nv == 7
    assert [(branch.joint.name, branch.body.name, branch.reverse) for branch in m.topology.branches] == [
        ("base", "b", False),
        ("j", "a", True),
    ]


def test_many_orphans_are_counted_out() -> None:
    m = jd.Model("m")
    for i in range(9):
        m.body(f"b{i}", mass=1)
    with pytest.raises(ModelError, match=r"'b0', 'b1', 'b2', 'b3', 'b4', 'b5'; add"):
        str(m)


def test_which_joint_closes_the_loop() -> None:
    def square(**options: Any) -> jd.Model:
        m, a, b = two()
        m.revolute("one", m.ground, a, **options.get("one", {}))
        m.revolute("two", a, b, **options.get("two", {}))
        m.prismatic("three", m.ground, b, **options.get("three", {}))
        return m

    assert [j.name for j in square().topology.cuts] == ["two"]  # the slider is preferred in the tree
    assert [j.name for j in square(one={"cut": True}).topology.cuts] == ["one"]
    assert [j.name for j in square(one={"cut": False}, two={"cut": False}).topology.cuts] == ["three"]
    m = square()
    m.force(m.joints["two"], 1.0)
    assert [j.name for j in m.topology.cuts] == ["one"]
    pinned = {"cut": False}
    with pytest.raises(ModelError, match=r"joint 'three' is pinned to the tree \(cut=False\) but closes a loop"):
        square(one=pinned, two=pinned, three=pinned).topology  # noqa: B018


def test_the_tree_as_text() -> None:
    m, a, b = two()
    m.free("base", m.ground, a, orientation="xyz")
    m.revolute("elbow", a, b)
    m.revolute("other", a, m.body("c", mass=1))
    m.spherical("loop", b, m.bodies["c"], cut=True)
    assert str(m).splitlines() == [
        "m",
        "ground",
        "└─ a  [base: free (x, y, z, rx, ry, rz)]",
        "   ├─ b  [elbow: revolute (angle)]",
        "   └─ c  [other: revolute (angle)]",
        "loop closed by loop: spherical b ↔ c",
    ]
    assert repr(m) == "<Model m: 3 bodies, 4 joints, 1 parameters>"


def test_a_chain_longer_than_the_recursion_limit() -> None:
    m = jd.Model("chain")
    last: Any = m.ground
    for i in range(1200):
        body = m.body(f"b{i}", mass=1.0)
        m.revolute(f"j{i}", last, body)
        last = body
    assert str(m).count("\n") == 1201
    assert len(m.topology.branches) == 1200


# --- locking -----------------------------------------------------------------------------------------------------


EDITS: dict[str, Callable[[jd.Model], Any]] = {
    "body": lambda m: m.body("new"),
    "joint": lambda m: m.revolute("new", m.ground, m.bodies["a"]),
    "parameter": lambda m: m.parameter("new", 1.0),
    "frame": lambda m: m.bodies["a"].frame("new"),
    "mass": lambda m: m.bodies["a"].add_mass(1.0),
    "force": lambda m: m.force(m.joints["j"], 1.0),
    "spring": lambda m: m.spring("new", m.ground, m.bodies["a"], 1, 1),
    "load": lambda m: m.load("new", m.bodies["a"]),
    "drive": lambda m: m.drive(m.joints["j"], 0.1),
    "lock": lambda m: m.lock(m.joints["j"]),
    "input": lambda m: m.input("new"),
    "state": lambda m: m.state("new"),
    "output": lambda m: m.output("new", 1.0),
    "sensor": lambda m: m.sensor("new", m.bodies["a"]),
    "constraint": lambda m: m.constraint("new", m.joints["j"].position),
    "closure": lambda m: m.close("new", m.ground, m.bodies["a"]),
    "event": lambda m: m.event("new", m.joints["j"].position),
}


@pytest.mark.parametrize("edit", EDITS)
def test_a_compiled_model_is_locked(edit: str) -> None:
    m = jd.Model("m")
    a = m.body("a", mass=1.0, inertia=(1, 1, 1))
    m.revolute("j", m.ground, a)
    m.compile()
    with pytest.raises(ModelError, match=r"the model 'm' is compiled and locked; change it before compile\(\), or change parameter values"):
        EDITS[edit](m)
    assert a.at(1, 0, 0).path == "a"  # a bare point changes nothing
    assert m.compile().nv == 1


def test_a_failed_edit_leaves_no_trace() -> None:
    m, a, b = two()
    j = m.revolute("j", m.ground, a)
    m.revolute("k", a, b)
    attempts: list[Callable[[], Any]] = [
        lambda: m.body("c", mass="x"), lambda: m.revolute("l", m.ground, b, axis="q"), lambda: m.parameter("p", "x"),
        lambda: m.force(j, "x"), lambda: m.spring("s", a, b, "x", 1), lambda: m.drive(j, "x"),
        lambda: a.frame("f", rotation="x"), lambda: m.output("y", "x"), lambda: m.input("u", "x"), lambda: m.state("z", "x"),
    ]  # fmt: skip
    for attempt in attempts:
        with pytest.raises((ModelError, InputError)):
            attempt()
    assert list(m.bodies) == ["a", "b"]
    assert list(m.joints) == ["j", "k"]
    assert not (m.loads or m.inputs or m.states or m.outputs or a.frames)
    assert j.coordinates[0].motion is None
    assert m.parameter_set.names == ["gravity_z"]
    assert m.compile().nv == 2


def test_what_an_event_changes_may_be_named_by_its_channel() -> None:
    m, a, _ = two()
    z = m.prismatic("z", m.ground, a, axis="z")
    worn = m.memory("worn", 0.0)
    by_name = m.event("named", z.position, jump={"z.displacement_rate": -0.8 * z.velocity, "worn": worn + 1})
    by_symbol = m.event("given", z.position, jump={z.velocity: -0.8 * z.velocity, worn: worn + 1})
    assert by_name.jump == by_symbol.jump
    with pytest.raises(ModelError, match=r"event 'e': 'z\.displacement_velocity' .*; did you mean z\.displacement_rate\?"):
        m.event("e", z.position, jump={"z.displacement_velocity": 0.0})
    with pytest.raises(ModelError, match=r"event 'e': jump= gives 'z\.displacement_rate' two new values"):
        m.event("e", z.position, jump={"z.displacement_rate": 0.0, z.velocity: 1.0})
