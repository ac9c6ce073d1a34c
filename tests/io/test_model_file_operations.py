"""Operations on the objects of a model: whole references, kept comments, nothing changed by a failed operation; the command."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from jourdain.cli import model as cli_model
from jourdain.errors import JourdainError, ModelError
from jourdain.io.model_files.model_file import dumps_model, load_model, save_model
from jourdain.io.model_files.operations import CLASSES, ModelDocument, ObjectName
from jourdain.library import mechanisms
from jourdain.model.fingerprint import fingerprint

TEXT = """# a little machine
format = "jourdain"
version = 1
name = "machine"
keep = ["hinge.angle", "work"]

[parameters]
k = {value = 100, unit = "N/m"} # stiffness
l = 0.5
unused = 1

[tables]
gas = {x = [0, 1], y = [1, 2]}

[expressions]
torque = "k*l*hinge.angle"

[states]
work = {initial = 0, rate = "torque*hinge.angle_rate"}

# the crank
[bodies.crank]
mass = 2 # kg
com = [0, 0, "l"]

[bodies.crank.frames]
tip = {position = [0, 0, "l"]}

# the slider
[bodies.slider]
mass = 1

[joints.hinge]
kind = "revolute"
parent = "ground"
child = "crank"
axis = "y"

[joints.slide]
kind = "prismatic"
parent = "crank.tip"
child = "slider"

[sensors.top]
frame = "slider"

[loads.spring]
kind = "spring"
points = ["ground", "crank.tip"]
stiffness = "k"
length = 0.1

[loads.gas]
kind = "joint"
joint = "slide"
force = "gas(slide.displacement) + spring.length"

[events.high]
guard = "top.position.z - 1"
jump = {"hinge.angle_rate" = 0}

[initial]
"hinge.angle" = 0.1

[variant.stiff.parameters]
k = 500
"""


def names(found: list[ObjectName]) -> list[str]:
    return [str(o) for o in found]


def test_list_and_show() -> None:
    d = ModelDocument(TEXT)
    assert names(d.list("body")) == ["body 'crank'", "body 'slider'"]
    assert names(d.list("frame")) == ["frame 'crank.tip'"]
    assert {o.kind for o in d.list()} == {
        "parameter",
        "table",
        "expression",
        "state",
        "body",
        "frame",
        "joint",
        "sensor",
        "load",
        "event",
        "initial",
    }
    assert d.show("body", "crank") == {"mass": 2, "com": [0, 0, "l"], "frames": {"tip": {"position": [0, 0, "l"]}}}
    assert d.show("parameter", "l") == 0.5
    assert names(d.references("table", "gas")) == ["load 'gas'"]
    assert set(names(d.references("expression", "torque"))) == {"state 'work'"}


def test_modify_keeps_the_rest_of_the_file() -> None:
    d = ModelDocument(TEXT)
    d.modify("body", "crank", {"mass": "2500 g", "colour": "#ff0000"})
    d.modify("parameter", "k", {"value": 150.0})
    d.modify("parameter", "l", {"unit": "m"})
    d.modify("frame", "crank.tip", {"rotation": ["y", "30 deg"]})
    d.modify("joint", "slide", {"axis": "x", "limits": [-1, 1]})
    d.modify("joint", "slide", {"limits": None})
    expected = TEXT.replace("mass = 2 # kg\n", 'mass = "2500 g" # kg\n').replace(
        'com = [0, 0, "l"]\n', 'com = [0, 0, "l"]\ncolour = "#ff0000"\n'
    )
    expected = expected.replace("{value = 100,", "{value = 150,").replace("l = 0.5\n", 'l = {value = 0.5, unit = "m"}\n')
    expected = expected.replace('tip = {position = [0, 0, "l"]}', 'tip = {position = [0, 0, "l"], rotation = ["y", "30 deg"]}')
    assert d.text == expected.replace('child = "slider"\n', 'child = "slider"\naxis = "x"\n')
    m = d.model()
    assert float(m.bodies["crank"].mass) == 2.5 and m.parameter_set["k"].value == 150.0


@pytest.mark.parametrize(("kind", "name", "needed_by"), [
    ("body", "crank", {"frame 'crank.tip'", "joint 'hinge'", "joint 'slide'", "load 'spring'", "load 'gas'", "expression 'torque'", "state 'work'", "event 'high'", "initial 'hinge.angle'"}),
    ("body", "slider", {"joint 'slide'", "sensor 'top'", "load 'gas'", "event 'high'"}),
    ("parameter", "k", {"expression 'torque'", "load 'spring'", "state 'work'", "load 'gas'"}),
    ("table", "gas", {"load 'gas'"}), ("sensor", "top", {"event 'high'"}), ("load", "spring", {"load 'gas'"}), ("frame", "crank.tip", {"joint 'slide'", "load 'spring'", "load 'gas'"}),
    ("joint", "hinge", {"expression 'torque'", "state 'work'", "event 'high'", "initial 'hinge.angle'"}), ("expression", "torque", {"state 'work'"}),
    ("parameter", "unused", set()), ("event", "high", set()), ("initial", "hinge.angle", set()),
])  # fmt: skip
def test_delete_with_referential_integrity(kind: str, name: str, needed_by: set[str]) -> None:
    d = ModelDocument(TEXT)
    assert set(names(d.references(kind, name))) == needed_by
    if needed_by:
        with pytest.raises(ModelError, match=f"{kind} '{name}' is needed by .*cascade"):
            d.delete(kind, name)
        assert d.text == TEXT
    gone = d.delete(kind, name, cascade=True)
    assert set(names(gone)) == {*needed_by, f"{kind} '{name}'"}
    left = {str(o) for o in d.list()}
    assert not left & set(names(gone)) and left == set(names(ModelDocument(TEXT).list())) - set(names(gone))
    assert d.text.startswith("# a little machine") and ("# the slider" in d.text) == ("body 'slider'" in left)


def test_create_every_class() -> None:
    d = ModelDocument('format = "jourdain"\nversion = 1\n')
    d.create("parameter", "k", {"value": 3.0, "unit": "N/m"})
    d.create("parameter", "l", 0.5)
    d.create("table", "gas", {"x": [0, 1], "y": [1, 2]})
    bar = {"kind": "beam", "start": [0, 0, 0], "end": [1, 0, 0], "section": {"circle": 0.02}, "material": "steel"}
    d.create("structure", "bar", bar)
    ball = {"kind": "sphere", "radius": 0.1}
    d.create("body", "a.b", {"mass": 1, "shapes": [ball]})
    d.create("body", "other", {"mass": 1, "shapes": [ball]})
    d.create("body", "third", {"mass": 1})
    d.create("frame", "a.b.tip", {"position": [0, 0, "l"]})
    d.create("frame", "ground.wall", {"position": [1, 0, 0]})
    d.create("joint", "j", {"kind": "free", "parent": "ground", "child": "a.b", "orientation": "xyz"})
    d.create("input", "u", {"value": 0})
    d.create("sensor", "s", {"frame": "a.b.tip", "relative_to": "ground.wall"})
    d.create("expression", "e", "k*s.position.x + u")
    d.create("state", "z", {"initial": 1, "rate": "-e"})
    d.create("memory", "most", {"initial": 0, "update": "max(most, j.x)"})
    d.create("unknown", "w", {"guess": 0, "equation": "w + w^3 - z"})
    d.create("load", "f", {"kind": "joint", "joint": "j", "coordinate": "x", "force": "-gas(e)"})
    d.create("constraint", "c", {"kind": "ball", "a": "ground.wall", "b": "a.b.tip"})
    d.create("output", "o", {"expression": "z", "unit": "m"})
    d.create("joint", "k", {"kind": "free", "parent": "ground", "child": "other"})
    d.create("material", "rubber", {"E": 1e7, "nu": 0.48})
    d.create("contact", "touch", {"a": ["a.b"], "b": ["other"], "friction": 0.3})
    d.create("joint", "slide", {"kind": "prismatic", "parent": "ground", "child": "third", "axis": "x", "limits": [0, 1]})
    d.create("stop", "slide", {"restitution": 0.5})
    d.create("rope", "leash", {"a": "ground", "b": "other", "length": 2.0})
    d.create("event", "stop", {"guard": "j.z", "terminal": True})
    d.create("initial", "j.x", 0.5)
    d.create("lock", "j.ry", 0)
    d.create("drive", "j.rz", "0.1*t")
    d.create("analysis", "run", {"verb": "simulate", "t": 2})
    d.create("criterion", "most", {"kind": "largest", "expression": "j.x"})
    d.create("problem", "least", {"analysis": "run", "variables": ["k"], "minimise": ["most"]})
    present = {o.kind for o in d.list()}
    assert present == set(CLASSES) - {"include"}
    with pytest.raises(ModelError, match=r"there is a body 'a\.b' already"):
        d.create("body", "a.b", {"mass": 2})
    for o in reversed(d.list()):
        if o in d.list():
            d.delete(o.kind, o.name, cascade=True)
    assert d.list() == []


def test_what_fails_changes_nothing(tmp_path: Path) -> None:
    d = ModelDocument(TEXT)
    for kind, name, changes, message in (
        ("body", "crank", {"mass": 3, "com": "wrong"}, "list of three"), ("body", "crank", {"mas": 3}, "did you mean mass"),
        ("joint", "slide", {"child": "crank"}, "with itself"), ("load", "gas", {"force": "nothing*2"}, "nothing called 'nothing'"),
        ("body", "crank", {"inertia": None}, "no 'inertia' to take away"), ("parameter", "l", {"value": None}, "single value"),
        ("parameter", "k", {"bounds": [0, 200]}, "variant|outside its bounds"),
    ):  # fmt: skip
        with pytest.raises(JourdainError, match=message):
            d.modify(kind, name, changes)
        assert d.text == TEXT
    with pytest.raises(ModelError, match="no body 'crnk'; did you mean crank"):
        d.delete("body", "crnk")
    with pytest.raises(ModelError, match="no class 'bodies'; did you mean body"):
        d.list("bodies")
    with pytest.raises(ModelError, match=r"no frame 'crank.tap'; did you mean crank.tip"):
        d.show("frame", "crank.tap")
    with pytest.raises(JourdainError, match="there is no body or frame"):
        d.create("joint", "new", {"kind": "fixed", "parent": "ground", "child": "nobody"})
    with pytest.raises(ModelError, match=r"write it as body.frame"):
        d.create("frame", "nobody.tip", {})
    assert d.text == TEXT


def test_documents_of_models_and_back() -> None:
    m = mechanisms.slider_crank()
    d = ModelDocument.of(m)
    assert fingerprint(d.model()) == fingerprint(m) and d.text == dumps_model(m)
    gone = d.delete("body", "piston", cascade=True)
    assert names(gone) == ["body 'piston'", "joint 'piston'", "constraint 'pin'"]
    assert list(d.model().bodies) == ["crank", "rod"]


def run(*arguments: str) -> None:
    parser = argparse.ArgumentParser()
    cli_model.add_parser(parser.add_subparsers())
    options = parser.parse_args(["model", *arguments])
    options.run(options)


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "m.toml"
    file.write_text(TEXT)
    path = str(file)
    run("list", path, "joint")
    assert capsys.readouterr().out == "hinge\nslide\n"
    run("list", path)
    assert "body       crank\n" in capsys.readouterr().out
    run("show", path, "load", "spring")
    shown = 'kind = "spring"\npoints = ["ground", "crank.tip"]\nstiffness = "k"\nlength = 0.1\n# needed by load \'gas\'\n'
    assert capsys.readouterr().out == shown
    run("modify", path, "body", "crank", "mass=5 kg", "com=[0, 0, '2*l']", "colour=#112233")
    assert load_model(file).bodies["crank"].colour == "#112233" and float(load_model(file).bodies["crank"].mass) == 5.0
    run("create", path, "output", "x", "expression=slide.displacement*2", "unit=m")
    assert load_model(file).outputs["x"].unit == "m"
    with pytest.raises(ModelError, match="is needed by"):
        run("delete", path, "body", "slider")
    run("delete", path, "body", "slider", "--cascade")
    assert "deleted joint 'slide'" in capsys.readouterr().out
    run("check", path)
    assert capsys.readouterr().out == f"{path}: <Model machine: 1 bodies, 1 joints, 4 parameters>, variants stiff\n"
    run("schema")
    assert '"title": "Jourdain model file"' in capsys.readouterr().out
    with pytest.raises(JourdainError, match="is not KEY=VALUE"):
        run("modify", path, "body", "crank", "mass")


ARRAYS = """format = "jourdain"
version = 1
name = "arrays"  # a name

[bodies.a]
mass = 1.0
inertia = [
    0.1,  # about x
    0.2,  # about y
    0.25,
]
com = [0, 0, 1]  # high

[joints.hinge]
kind = "revolute"
parent = "ground"
child = "a"
axis = "y"
"""


def test_comments_inside_a_changed_array_stay() -> None:
    d = ModelDocument(ARRAYS)
    d.modify("body", "a", {"inertia": [0.1, 0.3, 0.25]})
    assert d.text == ARRAYS.replace("0.2,  # about y", "0.3,  # about y")
    d.modify("body", "a", {"inertia": [0.1, 0.3, 0.35, 0, 0, 0.01]})
    assert "0.35, 0, 0, 0.01,\n]" in d.text and "# about x" in d.text and "# about y" in d.text
    d.modify("body", "a", {"inertia": [0.1, 0.3, 0.35]})
    assert d.text == ARRAYS.replace("0.2,  # about y", "0.3,  # about y").replace("0.25,\n]", "0.35,\n]")
    d.modify("body", "a", {"com": [0.0, 0, 2]})
    assert "com = [0, 0, 2]  # high" in d.text


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_line_endings_stay(tmp_path: Path, end: str) -> None:
    path = tmp_path / "arrays.toml"
    path.write_bytes(ARRAYS.replace("\n", end).encode())
    d = ModelDocument.read(path)
    d.modify("body", "a", {"mass": 2.5})
    wanted = ARRAYS.replace("mass = 1.0", "mass = 2.5").replace("\n", end).encode()
    d.save(path)
    assert path.read_bytes() == wanted
    d.save(tmp_path / "other.toml")
    assert (tmp_path / "other.toml").read_bytes() == wanted
    save_model(load_model(path), path)
    assert path.read_bytes() == wanted
