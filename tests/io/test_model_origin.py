"""Models read from files are saved as they were written: sub-models, mirror images, variants and comments stay."""

from __future__ import annotations

from pathlib import Path

import pytest

import jourdain as jd
from jourdain.io.model_files.model_file import dumps_model, load_model, loads_model
from jourdain.model.fingerprint import fingerprint
from tests.io.test_model_file_include import ARM, CAR, write

VARIANTS = """
# a heavier load
[variant.heavy.parameters]
stiff = 120
[variant.heavy.bodies.chassis]
mass = "14 kg"
"""
LOADS = """format = "jourdain"
version = 1
name = "loads"
[bodies.arm] # the only one
mass = 2
com = [0.3, 0, 0]
inertia = [0.1, 0.1, 0.1]
[joints.hinge]
kind = "revolute"
parent = "ground"
child = "arm"
axis = "y"
[loads.dry]
kind = "friction"
joint = "hinge"
coulomb = 0.1
static = 0.2
[loads.bristles]
kind = "lugre"
joint = "hinge"
coulomb = 0.1
static = 0.2
stribeck = 0.01
stiffness = 1e4
[loads.stop]
kind = "stop"
joint = "hinge"
lower = "-30 deg"
[loads.mount]
kind = "bushing"
a = "ground"
b = "arm"
stiffness = [1, 2, 3, 4, 5, 6]
[loads.floor]
kind = "contact"
frame = {body = "arm", position = [0.5, 0, 0]}
stiffness = 1e4
height = "0.1*self.x"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path, "arm.toml", ARM)
    write(tmp_path, "car.toml", CAR + VARIANTS)
    return tmp_path


def test_a_file_with_parts_and_variants_is_saved_as_it_is(folder: Path) -> None:
    m = load_model(folder / "car.toml")
    m.save(folder / "again.toml")
    assert (folder / "again.toml").read_bytes() == (folder / "car.toml").read_bytes()
    heavy = load_model(folder / "again.toml", "heavy")
    assert heavy.parameter_set["stiff"].value == 120


def test_changes_go_to_their_place_and_the_rest_stays(folder: Path) -> None:
    m = load_model(folder / "car.toml")
    m.parameter_set["stiff"].value = 90.0
    m.parameter_set["left.length"].value = 0.7
    m.output("far", 2 * m.joints["float"].coordinate("x").q[0], "m")
    m.keep.append("far")
    m.initial["float.z"] = "5 cm"
    m.save(folder / "changed.toml")
    text = (folder / "changed.toml").read_text()
    assert "stiff = 90\n" in text and "length = 0.7" in text and "# a heavier load" in text and text.count("[[include]]") == 2
    again = load_model(folder / "changed.toml")
    assert fingerprint(again) == fingerprint(m) and again.keep == ["far"] and again.initial == m.initial
    assert again.parameter_set["left.length"].value == 0.7 and again.parameter_set["right.length"].value == 0.6
    assert dumps_model(again, folder) == text


def test_what_a_part_cannot_take_from_outside_is_written_out(folder: Path) -> None:
    m = load_model(folder / "car.toml")
    m.bodies["left.link"].colour = "#aa3322"
    text = dumps_model(m, folder)
    assert "include" not in text and "[variant.heavy.bodies.chassis]" in text
    assert fingerprint(loads_model(text)) == fingerprint(m)
    assert loads_model(text, "heavy").parameter_set["stiff"].value == 120
    assert dumps_model(loads_model(text)) == text


def test_without_its_parts_a_model_is_written_out(folder: Path, tmp_path: Path) -> None:
    m = load_model(folder / "car.toml")
    other = tmp_path / "elsewhere"
    other.mkdir()
    m.save(other / "car.toml")
    assert "include" not in (other / "car.toml").read_text()
    assert fingerprint(load_model(other / "car.toml")) == fingerprint(m)


def test_a_variant_is_saved_as_a_model_of_its_own(folder: Path) -> None:
    m = load_model(folder / "car.toml", "heavy")
    m.save(folder / "heavy.toml")
    text = (folder / "heavy.toml").read_text()
    assert "variant" not in text and text.count("[[include]]") == 2
    again = load_model(folder / "heavy.toml")
    assert again.parameter_set["stiff"].value == 120 and fingerprint(again) == fingerprint(m)
    assert dumps_model(again, folder) == text


def test_a_variant_that_no_longer_fits_is_named(folder: Path) -> None:
    m = loads_model(CAR + '\n[variant.blue.joints.float]\norientation = "zyx"\n', folder=folder)
    assert "[variant.blue.joints.float]" in dumps_model(m, folder)
    m = loads_model(LOADS.partition("[loads.dry]")[0] + '\n[variant.steep.joints.hinge]\naxis = "z"\n')
    del m.joints["hinge"]
    with pytest.warns(UserWarning, match="variant 'steep' no longer fits"):
        text = dumps_model(m)
    assert "variant" not in text


def test_loads_of_every_kind_stay_what_they_are() -> None:
    m = loads_model(LOADS)
    assert dumps_model(m) == LOADS
    m.bodies["arm"].colour = "#22aa33"
    text = dumps_model(m)
    assert text == LOADS.replace("inertia = [0.1, 0.1, 0.1]\n", 'inertia = [0.1, 0.1, 0.1]\ncolour = "#22aa33"\n')
    assert dumps_model(loads_model(text)) == text


def test_objects_come_and_go() -> None:
    m = loads_model(LOADS)
    del m.loads["floor"]
    m.sensors.pop("floor.sensor")
    m.joint_spring(m.joints["hinge"], stiffness=3.0, name="spring")
    text = dumps_model(m)
    assert "floor" not in text and '[loads.spring]\nkind = "joint_spring"' in text and "# the only one" in text
    assert fingerprint(loads_model(text)) == fingerprint(m)


def test_a_locked_model_is_saved_with_the_values_it_has() -> None:
    m = loads_model(LOADS + "\n[parameters]\nunused = 1\n")
    m.compile()
    m.parameter_set["unused"].value = 2.0
    assert dumps_model(m).endswith("[parameters]\nunused = 2\n")
    assert isinstance(jd.loads_model(dumps_model(m)), jd.Model)
