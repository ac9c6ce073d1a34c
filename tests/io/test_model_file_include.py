"""Sub-models and variants: names, parameters, placement, and mirror images that move like mirror images."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jourdain as jd
from jourdain.errors import JourdainError, ModelError
from jourdain.formalisms.equations import Equations
from jourdain.io.model_files.model_file import dumps_model, load_model, loads_model
from jourdain.model.fingerprint import fingerprint
from jourdain.model.mirror import Mirror
from tests.formalisms.strategies import random_trees

ARM = """format = "jourdain"
version = 1
name = "arm"
[parameters]
length = {value = 0.4, unit = "m", bounds = [0, 2]}
k = 50
[bodies.link]
mass = 2
com = ["length/2", 0.05, 0.02]
inertia = [0.01, 0.02, 0.03, 0.001, 0.002, 0.003]
shapes = [{kind = "cone", r1 = 0.05, r2 = 0.02, length = "length", axis = "x", anchor = "start"}]
[bodies.link.frames]
tip = {position = ["length", 0.1, 0]}
[joints.hinge]
kind = "revolute"
parent = {body = "ground", position = [0, 0.5, 0]}
child = "link"
axis = [1, 0.2, 1]
limits = [-1, 2]
[sensors.tip]
frame = "link.tip"
[loads.spring]
kind = "spring"
points = ["link.tip", {body = "ground", position = [0, 1, 1]}]
stiffness = "k"
length = 0.3
[loads.wind]
kind = "wrench"
frame = "link.tip"
force = ["0.1*tip.velocity.y", "2 - tip.position.y", 0.3]
torque = [0.1, "0.2*tip.angular_velocity.x", 0.3]
[outputs]
height = "tip.position.z + tip.position.y"
[initial]
"hinge.angle" = 0.3
"""


def write(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


CAR = """format = "jourdain"
version = 1
name = "car"
[parameters]
stiff = 80
[bodies.chassis]
mass = 10
inertia = [1, 2, 2.5]
[bodies.chassis.frames]
left = {position = [0.2, 0.1, 0]}
right = {position = [0.2, -0.1, 0]}
[joints.float]
kind = "free"
parent = "ground"
child = "chassis"
orientation = "xyz"
[[include]]
file = "arm.toml"
prefix = "left"
at = "chassis.left"
parameters = {k = "2*stiff", length = 0.6}
[[include]]
file = "arm.toml"
prefix = "right"
at = "chassis.right"
mirror = "y"
parameters = {k = "2*stiff", length = 0.6}
[outputs]
both = "left.hinge.angle + right.hinge.angle"
"""


def test_a_part_twice(tmp_path: Path) -> None:
    write(tmp_path, "arm.toml", ARM)
    m = load_model(write(tmp_path, "car.toml", CAR))
    assert list(m.bodies) == ["chassis", "left.link", "right.link"]
    assert m.parameter_set["left.length"].value == 0.6 and "left.k" not in m.parameter_set
    assert m.parameter_set["left.length"].bounds == (0.0, 2.0)
    assert m.joints["left.hinge"].parent.body is m.bodies["chassis"]
    assert m.initial == {"left.hinge.angle": 0.3, "right.hinge.angle": 0.3}
    text = dumps_model(m)
    assert fingerprint(loads_model(text)) == fingerprint(m) and dumps_model(loads_model(text)) == text


def accelerations(m: jd.Model, q: dict[str, float], v: dict[str, float]) -> dict[str, float]:
    """Accelerations by name, with all loads."""
    system = m.compile(check=False)
    names = system.coordinate_names
    eq = Equations(m)
    known: dict[Any, Any] = {m.time: 0.0, **dict(zip(m.parameter_set.symbols, m.parameter_set.values(), strict=True))}
    for s in (*eq.tree.q, *eq.tree.v):
        known[s] = q[s.name] if s.name in q else v[s.name.removesuffix("_rate")]
    tau = np.array([float(x) for x in jd.evaluate(eq.generalised_forces, known)])
    a = system.forward_dynamics(np.array([q[n] for n in names]), np.array([v[n] for n in names]), tau)
    return dict(zip(names, (float(x) for x in a), strict=True))


def test_mirrored_halves_of_a_car_stay_symmetric(tmp_path: Path) -> None:
    write(tmp_path, "arm.toml", ARM)
    m = load_model(write(tmp_path, "car.toml", CAR))
    names = ["float.x", "float.y", "float.z", "float.rx", "float.ry", "float.rz", "left.hinge.angle", "right.hinge.angle"]
    q = dict(zip(names, (0.1, 0.0, 0.3, 0.0, 0.2, 0.0, 0.4, 0.4), strict=True))
    v = dict(zip(names, (1.0, 0.0, -0.3, 0.0, 0.5, 0.0, 0.7, 0.7), strict=True))
    a = accelerations(m, q, v)
    assert a["left.hinge.angle"] == pytest.approx(a["right.hinge.angle"], rel=1e-9) and abs(a["left.hinge.angle"]) > 0.1
    assert max(abs(a[n]) for n in ("float.y", "float.rx", "float.rz")) < 1e-9


@pytest.mark.parametrize("axis", ["x", "y", "z"])
@settings(max_examples=12, deadline=None)
@given(tree=random_trees(max_bodies=3, mimic=True), seed=st.integers(0, 1000))
def test_mirror_images_have_mirrored_kinematics_and_the_same_energy(axis: str, tree: jd.Model, seed: int) -> None:
    """Every frame of the image is where the mirror shows the original, for mirrored coordinates."""
    from jourdain.formalisms.tree.kinematics import Kinematics
    from jourdain.formalisms.tree.tree import Tree

    image = jd.Model("image", gravity=(0.7, -1.1, -9.81))
    image.include(tree, "m", mirror=axis)
    mirror = Mirror(axis)
    rng = np.random.default_rng(seed)
    values: dict[Any, Any] = {tree.time: 0.4, image.time: 0.4}
    values.update(zip(tree.parameter_set.symbols, tree.parameter_set.values(), strict=True))
    values.update(zip(image.parameter_set.symbols, image.parameter_set.values(), strict=True))
    from jourdain.model.include import _coordinate_signs

    for joint in tree.joints.values():
        other = image.joints[f"m.{joint.name}"]
        for c, d, sign in zip(joint.coordinates, other.coordinates, _coordinate_signs(joint, mirror), strict=True):
            if c.q[0] in values:
                continue
            x = rng.normal(size=len(c.q))
            x = x / np.linalg.norm(x) if c.is_quaternion else x
            signs = np.array([1, *mirror.turning_signs]) if c.is_quaternion else np.array([sign])
            rates = np.array(mirror.turning_signs) if c.is_quaternion else signs
            y = rng.normal(size=len(c.v))
            values.update(zip((*c.q, *c.v, *c.a), (*x, *y, *np.zeros(len(c.a))), strict=True))
            values.update(zip((*d.q, *d.v, *d.a), (*(signs * x), *(rates * y), *np.zeros(len(d.a))), strict=True))
    S = np.diag(mirror.signs)
    kinematics = [Kinematics(Tree(x)) for x in (tree, image)]
    for name, body in tree.bodies.items():
        frames = (body.at(0.1, 0.2, 0.3), image.bodies[f"m.{name}"].at(*(S @ [0.1, 0.2, 0.3])))
        p, q = (np.array([float(e) for e in jd.evaluate(list(k.position(f)), values)]) for k, f in zip(kinematics, frames, strict=True))
        assert q == pytest.approx(S @ p, abs=1e-12)
    for name, body in tree.bodies.items():
        copy = image.bodies[f"m.{name}"]
        a, b = ([float(e) for e in jd.evaluate([x.mass, *x.moment], values)] for x in (body, copy))
        assert b == pytest.approx([a[0], *(S @ a[1:])], abs=1e-12)


SHAPES = [
    jd.box(0.1, 0.2, 0.3, 100.0, anchor="start"), jd.cone(0.1, 0.2, 0.3, 100.0, axis="y", anchor="start"), jd.cylinder(0.1, 0.5, 100.0, axis="z", anchor="start"),
    jd.prism([(0, 0), (0.3, 0), (0, 0.1)], 0.2, 100.0, axis="x", anchor="start"), jd.prism([(0, 0), (0.3, 0), (0, 0.1)], 0.2, 100.0, axis="z"),
    jd.revolved([(0, 0), (0.2, 0), (0.1, 0.4)], 100.0, axis="y"), jd.box(0.3, 0.3, 0.3, 50.0) - jd.cylinder(0.05, 0.14, anchor="start"),
    jd.mesh(([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]), density=3.0),
]  # fmt: skip


@pytest.mark.parametrize("axis", ["x", "y", "z"])
@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: s.kind)
def test_mirrored_shapes(shape: Any, axis: str) -> None:
    placed = shape.rotated((1.0, 2.0, 3.0), 0.7).at(0.3, -0.2, 0.5)
    S = np.diag(Mirror(axis).signs)
    image = Mirror(axis).shape(placed)
    assert image.mass == pytest.approx(placed.mass, rel=1e-12)
    assert np.asarray(image.com) == pytest.approx(S @ np.asarray(placed.com), abs=1e-12)
    assert np.asarray(image.inertia) == pytest.approx(S @ np.asarray(placed.inertia) @ S, abs=1e-12)
    points = np.asarray(placed.com) + np.random.default_rng(1).uniform(-0.2, 0.2, (1000, 3))
    assert np.array_equal(placed.contains(points), image.contains(points @ S)) and placed.contains(points).any()


def test_include_in_python_says_what_is_wrong() -> None:
    m, part = jd.Model("m"), jd.Model("part")
    part.body("b", mass=part.parameter("mass", 1.0))
    with pytest.raises(ModelError, match="cannot include itself"):
        m.include(m, "x")
    with pytest.raises(ModelError, match="mirror 'q' is unknown"):
        m.include(part, "x", mirror="q")
    with pytest.raises(JourdainError, match="no parameter 'mas'; did you mean mass"):
        m.include(part, "x", parameters={"mas": 2.0})
    with pytest.raises(ModelError, match="needs a prefix"):
        m.include(part, "")
    m.include(part, "x", parameters={"mass": 3.0})
    with pytest.raises(ModelError, match=r"declared twice|already"):
        m.include(part, "x")


# --- variants --------------------------------------------------------------------------------------------------------

VARIED = (
    ARM
    + """
[variant.heavy]
name = "heavy arm"
[variant.heavy.parameters]
length = 0.8
k = {value = 70, unit = "N/m"}
[variant.heavy.bodies.link]
mass = "8 kg"
[variant.heavy.loads.spring]
damping = 3
[variant.broken.bodies.link]
mass = "nonsense"
"""
)


def test_variants() -> None:
    plain, heavy = loads_model(VARIED), loads_model(VARIED, "heavy")
    assert (plain.name, heavy.name) == ("arm", "heavy arm")
    assert (plain.parameter_set["length"].value, heavy.parameter_set["length"].value) == (0.4, 0.8)
    assert heavy.parameter_set["length"].unit == "m" and heavy.parameter_set["k"].unit == "N/m"
    assert (float(plain.bodies["link"].mass), float(heavy.bodies["link"].mass)) == (2.0, 8.0)
    assert fingerprint(plain) == fingerprint(loads_model(ARM))
    with pytest.raises(JourdainError, match="no variant 'hevy'; there is heavy"):
        loads_model(VARIED, "hevy")
    with pytest.raises(JourdainError, match=r"line .*nonsense"):
        loads_model(VARIED, "broken")


# --- limits and borders ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["../arm.toml", "/etc/passwd", "sub/../../arm.toml", "link.toml", "a\\\\b", "C:x", "missing.toml", "sub"])
def test_nothing_outside_the_folder_is_read(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "model"
    (folder / "sub").mkdir(parents=True)
    write(tmp_path, "arm.toml", ARM)
    (folder / "link.toml").symlink_to(tmp_path / "arm.toml")
    for item in (
        f'[[include]]\nfile = "{name}"\nprefix = "p"\n',
        f'[tables]\nx = {{file = "{name}"}}\n',
        f'[bodies.b]\nshapes = [{{kind = "mesh", file = "{name}"}}]\n',
    ):
        path = write(folder, "m.toml", f'format = "jourdain"\nversion = 1\n{item}')
        with pytest.raises(
            JourdainError, match=r"m\.toml, line \d: .*(below the model's folder|outside the model's folder|there is no file)"
        ):
            load_model(path)


def test_files_that_include_themselves_end(tmp_path: Path) -> None:
    twice = "".join(f'[[include]]\nfile = "m.toml"\nprefix = "{p}"\n' for p in "ab")
    with pytest.raises(JourdainError, match="deeper than 8"):
        load_model(write(tmp_path, "m.toml", 'format = "jourdain"\nversion = 1\n' + twice))
    levels = 'format = "jourdain"\nversion = 1\n'
    for n in range(7):
        write(
            tmp_path,
            f"l{n}.toml",
            levels + ("".join(f'[[include]]\nfile = "l{n - 1}.toml"\nprefix = "p{i}"\n' for i in range(6)) if n else "[bodies.b]\n"),
        )
    with pytest.raises(JourdainError, match="more than 256 sub-models"):
        load_model(tmp_path / "l6.toml")


def test_text_has_no_folder() -> None:
    with pytest.raises(JourdainError, match="has no folder"):
        loads_model('format = "jourdain"\nversion = 1\n[[include]]\nfile = "a.toml"\nprefix = "p"\n')
