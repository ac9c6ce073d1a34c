"""Criteria and design problems in model files, and the commands that solve them."""

from __future__ import annotations

from pathlib import Path

import jsonschema
import pytest

import jourdain as jd
from jourdain.cli import main
from jourdain.io.model_files.json_schema import json_schema
from jourdain.io.model_files.problems import criteria
from jourdain.io.model_files.toml_source import ModelFileError

TEXT = """
format = "jourdain"
version = 1
name = "oscillator"
gravity = [0, 0, 0]
[parameters.c]
value = "0.3 N s/m"
bounds = [0.1, 3.0]
[bodies.mass]
mass = "1 kg"
[joints.x]
kind = "prismatic"
parent = "ground"
child = "mass"
axis = "x"
[loads.spring]
kind = "joint_spring"
joint = "x"
stiffness = "1 N/m"
damping = "c"
[initial]
"x.displacement_rate" = 1.0
[analyses.swing]
verb = "simulate"
t = "60 s"
rtol = 1e-8
[criteria.shake]
kind = "integral"
expression = "x.displacement_acc^2"
[criteria.sway]
kind = "integral"
expression = "(x.displacement/s)^2"
constants = { s = "1 m" }
[problems.calm]
analysis = "swing"
variables = ["c"]
minimise = ["shake"]
[problems.both]
analysis = "swing"
variables = { c = [0.2, "3 N s/m"] }
minimise = ["shake"]
subject_to = { sway = "<= 0.3" }
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "oscillator.toml"
    path.write_text(TEXT, encoding="utf-8")
    return path


def test_a_problem_of_a_file(file: Path) -> None:
    """∫ẍ² = c/2 + 1/(2c) is least at c = 1; with ∫x² = 1/(2c) ≤ 0.3 at c = 5/3."""
    assert jd.problem(file, "calm").optimise().values["c"] == pytest.approx(1.0, rel=1e-5)
    assert jd.problem(file, "both").optimise().values["c"] == pytest.approx(5 / 3, rel=1e-6)


def test_files_keep_criteria_and_problems(file: Path) -> None:
    m = jd.load_model(file)
    again = jd.loads_model(jd.dumps_model(m))
    assert again.criteria == m.criteria and again.problems == m.problems and set(m.problems) == {"calm", "both"}
    import tomllib

    jsonschema.validate(tomllib.loads(TEXT), json_schema())


def test_every_kind_of_criterion_is_read() -> None:
    tables = {
        "a": 'kind = "largest"\nexpression = "x"\nsmooth = 8', "b": 'kind = "at"\nexpression = "x"\nt = "20 ms"',
        "c": 'kind = "moving_average"\nexpression = "x"\nwindow = "3 ms"', "d": 'kind = "cfc"\nexpression = "x"\nclass = 180',
        "e": 'kind = "iso2631"\nexpression = "x"\nweighting = "Wd"', "f": 'kind = "event_time"\nevent = "hit"\ncount = 2',
        "j": 'kind = "sustained"\nexpression = "x"\nwindow = 0.003', "g": 'kind = "end_time"', "h": 'kind = "eigenvalue"\nindex = 0\npart = "imag"', "i": 'kind = "frequency"\nindex = 1',
        **{k: f'kind = "{k}"\nexpression = "x"' for k in ("mean", "rms", "final", "smallest", "value")},
    }  # fmt: skip
    m = jd.loads_model(TEXT + "".join(f"[criteria.{n}]\n{t}\n" for n, t in tables.items()))
    found = criteria(m)
    assert found["b"].options["t"] == 0.02 and found["d"].options["class"] == 180 and found["f"].options["count"] == 2
    assert {c.kind for c in found.values()} >= {"largest", "rms", "value", "iso2631", "moving_average", "sustained"}


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('kind = "integral"\nexpression = "x.displacement_acc^2"', 'kind = "intgral"\nexpression = "1"', "intgral"),
        ('kind = "integral"\nexpression = "x.displacement_acc^2"', 'kind = "integral"', "lacks 'expression'"),
        ('minimise = ["shake"]\n[problems.both]', "minimise = []\nvarables = 2\n[problems.both]", "varables"),
        ('variables = ["c"]', "variables = 3", "variables is 3"),
        ('"<= 0.3"', "0.3", "subject_to"),
    ],
)
def test_bad_tables_are_told_with_their_line(old: str, new: str, told: str) -> None:
    with pytest.raises(ModelFileError, match=told):
        jd.loads_model(TEXT.replace(old, new, 1))


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('analysis = "swing"\nvariables = ["c"]', 'analysis = "swign"\nvariables = ["c"]', "no analysis 'swign'; there is swing"),
        ('minimise = ["shake"]', 'minimise = ["shaek"]', "no criterion 'shaek'; there is shake"),
        ('variables = ["c"]', 'variables = ["cc"]', "no variable 'cc'"),
        ('verb = "simulate"\nt = "60 s"\nrtol = 1e-8', 'verb = "root_locus"', "cannot be part of a problem"),
    ],
)
def test_bad_problems_are_named(old: str, new: str, told: str) -> None:
    with pytest.raises(jd.InputError, match=told):
        jd.problem(jd.loads_model(TEXT.replace(old, new, 1)), "calm")
    with pytest.raises(jd.InputError, match="no problem 'clam'; there is calm"):
        jd.problem(jd.loads_model(TEXT), "clam")
    with pytest.raises(jd.InputError, match="is no bound"):
        jd.problem(jd.loads_model(TEXT.replace('"<= 0.3"', '"0.3"')), "both")


def test_the_commands(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store, table, picture = tmp_path / "designs.db", tmp_path / "front.csv", tmp_path / "front.png"
    assert main(["optimise", str(file), "both", "--store", str(store)]) == 0 and "c     = 1.66666" in capsys.readouterr().out
    assert main(["optimise", str(file), "both", "--store", str(store)]) == 0 and "0 runs, 0 gradients" in capsys.readouterr().out
    assert main(["run", str(file), "calm"]) == 0 and "shake : 1" in capsys.readouterr().out
    text = TEXT.replace('minimise = ["shake"]\nsubject_to = { sway = "<= 0.3" }', 'minimise = ["shake", "sway"]')
    file.write_text(text, encoding="utf-8")
    assert main(["pareto", str(file), "both", "--points", "4", "--workers", "2", "--watch", "-o", str(table), "-o", str(picture)]) == 0
    out, err = capsys.readouterr()
    assert "front of 4 designs" in out and "live page: http://127.0.0.1:" in err
    assert len(table.read_text().splitlines()) == 5 and picture.read_bytes().startswith(b"\x89PNG")
    assert main(["optimise", str(file), "both"]) != 0 and "need weights" in capsys.readouterr().err
    assert main(["optimise", str(file), "both", "--weight", "shake=1", "--weight", "sway=1"]) == 0
    assert main(["optimise", str(file)]) != 0 and "names 2 problems" in capsys.readouterr().err
