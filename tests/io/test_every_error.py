"""All that is wrong with a model file is told at once, each error with its line."""

from __future__ import annotations

import pytest

import jourdain as jd
from jourdain.io.model_files.model_file import loads_model
from jourdain.io.model_files.reader import MOST_IN_A_READING
from jourdain.io.model_files.toml_source import MOST_ERRORS, ModelFileError

RIGHT = """format = "jourdain"
version = 1
name = "arm"
gravity = [0, 0, "-9.81 m/s^2"]

[parameters]
k = {value = "200 N/m", unit = "N/m"}

[bodies.arm]
mass = "2 kg"
com = ["0.3 m", 0, "1 m"]
inertia = ["3 kg m^2", 3, "4 kg m^2"]

[[bodies.arm.shapes]]
kind = "box"
lx = "1 m"
ly = 0.1
lz = "0.1 m"

[bodies.bob]
mass = 1.0

[joints.hinge]
kind = "revolute"
parent = "ground"
child = "arm"
axis = "y"
damping = "3 N m s/rad"
stiffness = "3 N m/rad"
limits = ["1 rad", "2 rad"]

[joints.pin]
kind = "revolute"
parent = {body = "arm", position = ["1 m", 0, "3 m"]}
child = "bob"

[loads.s]
kind = "spring"
points = ["ground", "bob"]
stiffness = "200 N/m"
length = "0.6 m"

[loads.torque]
kind = "joint"
joint = "hinge"
force = "0.1*k*hinge.angle + pin.angle"

[initial]
hinge = "3 rad"

[analyses.fall]
verb = "simulate"
t = "5 s"
"""

#: what is written instead of what, and a word of the error
WRONG = [
    ("-9.81 m/s^2", "-9.81 m", "gravity"), ("200 N/m\", unit", "200 N\", unit", "parameter 'k'"), ('mass = "2 kg"', 'mass = "2 m"', "mass"),
    ("0.3 m", "0.3 s", "centre of mass"), ("com = [\"0.3 m\", 0, \"1 m\"]", "com = [\"0.3 s\", 0, \"1 kg\"]", "centre of mass"),
    ('"3 kg m^2"', '"3 N"', "inertia"), ('lx = "1 m"', 'lx = "1 kg"', "lx"), ('lz = "0.1 m"\n', "", "lacks 'lz'"), ('axis = "y"', 'axis = "w"', "axis 'w'"),
    ("3 N m s/rad", "3 kg", "damping"), ("3 N m/rad", "3 N", "stiffness"), ('"1 rad"', '"1 m"', "limit"), ('"2 rad"', '"2 kg"', "limit"),
    ('position = ["1 m"', 'position = ["1 kg"', "point on 'arm'"), ('child = "bob"', 'child = "bobb"', "did you mean bob"),
    ('points = ["ground", "bob"]\n', "", "lacks 'points'"), ('stiffness = "200 N/m"', 'stiffness = "200 N"', "spring 's'"),
    ("k*hinge.angle", "k*hing.angle", "hing.angle"), ("+ pin.angle", "+ pin.angel", "pin.angel"), ("3 rad", "3 kg", "initial value"), ("5 s", "5 kg", "fall"),
    ("mass = 1.0", "mass = 1.0\ncolur = \"red\"", "unknown key 'colur'"),
]  # fmt: skip


def told(text: str) -> list[str]:
    with pytest.raises(ModelFileError) as caught:
        loads_model(text, name="arm.toml")
    return str(caught.value).splitlines()


def test_the_file_is_right() -> None:
    assert isinstance(loads_model(RIGHT), jd.Model)


@pytest.mark.parametrize(("right", "wrong", "word"), WRONG)
def test_one_error_is_told_once(right: str, wrong: str, word: str) -> None:
    lines = told(RIGHT.replace(right, wrong, 1))
    assert word in lines[0] and len(lines) == wrong.count('"0.3 s"') + (wrong.count('"1 kg"]') or 1 - wrong.count('"0.3 s"'))


def test_all_errors_are_told_with_their_lines() -> None:
    text, expected = RIGHT, 0
    leave_out = ("0.3 m", 'lz = "0.1 m"\n', 'points = ["ground", "bob"]\n', "+ pin.angle")  # told by another, or another is not read for it
    for right, wrong, _ in WRONG:
        if right not in leave_out:
            text, expected = text.replace(right, wrong, 1), expected + 1 + wrong.count('"0.3 s"')
    lines = told(text)
    assert len(lines) == expected
    numbers = [int(line.partition("line ")[2].partition(":")[0]) for line in lines]
    assert numbers == sorted(numbers)
    written = text.splitlines()
    for line, number in zip(lines, numbers, strict=True):
        quoted = line.split("quantity '")[1].split("'")[0] if "quantity '" in line else line.split("'")[-2] if "unknown key" in line else ""
        assert quoted in written[number - 1], line


def test_what_follows_from_a_lost_object_is_not_told() -> None:
    lines = told(RIGHT.replace('kind = "revolute"', 'kind = "revolver"', 1))
    assert len(lines) == 1 and "revolver" in lines[0]


def test_a_file_with_thousands_of_errors_is_told_without_reading_on() -> None:
    wrong = "\n".join(f"[bodies.b{i}]\nmass = 'nothing{i}'" for i in range(4000))
    with pytest.raises(ModelFileError) as told:
        loads_model('format = "jourdain"\nversion = 1\nname = "many"\n' + wrong)
    assert str(told.value).count("\n") <= MOST_ERRORS
    assert MOST_ERRORS < len(told.value.errors) <= 2 * MOST_IN_A_READING
