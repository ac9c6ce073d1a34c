"""American spellings are taken wherever a British word is public: functions, methods, options, keys of files, verbs of the command."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import jourdain as jd
from jourdain.cli.grammar import build_parser
from jourdain.errors import InputError
from jourdain.spelling import british, in_british


def oscillator() -> jd.System:
    m = jd.Model("oscillator", gravity=(0, 0, 0))
    rail = m.prismatic("rail", m.ground, m.body("mass", mass=1.0, color="red"), axis="x")
    m.joint_spring(rail, stiffness=m.parameter("k", 4.0), damping=m.parameter("d", 0.5, bounds=(0.1, 3.0)))
    return m.compile()


def test_words_of_two_spellings() -> None:
    known = ("colour", "centre", "minimise", "tyres", "size", "analyse")
    assert [british(w, known) for w in ("color", "center", "minimize", "tires", "size", "analyze", "prize")] == [*known, "prize"]
    assert in_british({"colour": 1, "color": 2}, known) == {"colour": 1, "color": 2}  # given twice: told as unknown


def test_methods_and_options() -> None:
    s = oscillator()
    np.testing.assert_array_equal(s.linearize().A, s.linearise().A)
    start = jd.Analysis(s, "simulate", x0={"rail": 1.0}, t=2.0)
    area = jd.criteria.integral("rail.displacement^2")
    american, own = (
        jd.Problem(start, ["d"], minimize={"area": area}).optimize(),
        jd.Problem(start, ["d"], minimise={"area": area}).optimise(),
    )
    assert american.values == own.values and list(american.problem.minimize) == ["area"]
    assert jd.contact.regularized is jd.contact.regularised and jd.contact.regularized_friction is jd.contact.regularised_friction
    assert jd.sphere(0.1).colored("#00ff00") == jd.sphere(0.1, color="#00ff00")
    m = jd.Model("m")
    rod = m.rod("rod", m.ground, m.body("a", mass=1.0), length=1.0, mass=1.0, center=0.4)
    assert rod is m.constraints["rod"] and float(rod.options["centre"]) == 0.4
    with pytest.raises(InputError, match="unexpected keyword argument 'sise'"):
        jd.Problem(start, ["d"], {"area": area}, sise=2)


def test_options_of_verbs(monkeypatch: pytest.MonkeyPatch) -> None:
    given = {}
    monkeypatch.setattr("jourdain.analysis.optimal.optimal_control.optimal_control", lambda *a, **k: given.update(arguments=a, **k))
    s = oscillator()
    s.optimal_control({"rail": 1.0}, {"rail": 0.0}, 1.0, ["push"], minimize="rail.displacement^2")
    assert "rail.displacement^2" in (*given["arguments"], *given.values())
    with pytest.raises(InputError, match="there is no option 'minimum'"):
        s.optimal_control({"rail": 1.0}, {"rail": 0.0}, 1.0, ["push"], minimum=2)


FILE = """
format = "jourdain"
version = 1
name = "pendulum"
[parameters]
d = {value = 0.1, bounds = [0.05, 2.0]}
[bodies.bob]
mass = 1.0
com = [0, 0, -0.5]
color = "red"
[joints.hinge]
kind = "revolute"
parent = "ground"
child = "bob"
axis = "y"
damping = "d"
[initial]
"hinge.angle" = 1.0
[analyses.small]
verb = "linearize"
[analyses.fall]
verb = "simulate"
t = 1.0
[criteria.swing]
kind = "integral"
expression = "hinge.angle^2"
[problems.calm]
analysis = "fall"
variables = ["d"]
minimize = ["swing"]
"""


def test_files(tmp_path: Path) -> None:
    path = tmp_path / "model.toml"
    path.write_text(FILE, encoding="utf-8")
    model = jd.load_model(path)
    assert model.bodies["bob"].colour == oscillator().model.bodies["mass"].colour
    assert "small" in jd.run(model, "small").whole
    own = jd.loads_model(FILE.replace("minimize", "minimise").replace("linearize", "linearise").replace("color", "colour"))
    assert jd.problem(model, "calm").optimize().values == jd.problem(own, "calm").optimise().values
    assert build_parser().parse_args(["optimize", str(path)]).run is build_parser().parse_args(["optimise", str(path)]).run
