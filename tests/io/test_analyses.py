"""Analyses named by a model: run from its initial state, one from the end of another, results reduced to what is kept."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import jourdain as jd
from jourdain.errors import InputError, JourdainError
from jourdain.io.model_files import schema
from jourdain.io.model_files.analyses import VERBS, kept, run, starting

PENDULUM = """format = "jourdain"
version = 1
name = "pendulum"
keep = ["hinge.*", "hinge.reaction.z", "energy.total"]
[parameters]
l = {value = 0.5, unit = "m"}
[inputs]
push = {value = 0, unit = "N m"}
[bodies.bob]
mass = 2
com = [0, 0, "-l"]
[joints.hinge]
kind = "revolute"
parent = "ground"
child = "bob"
axis = "y"
damping = 0.3
[loads.motor]
kind = "joint"
joint = "hinge"
force = "push"
[initial]
"hinge.angle" = "30 deg"
"hinge.angle_rate" = 0.2
[analyses.swing]
verb = "simulate"
t = "2 s"
outputs = 21
[analyses.more]
verb = "simulate"
from = "swing"
t = 1
inputs = {push = "2*sin(3*t)"}
[analyses.rest]
verb = "equilibrium"
initial = {"hinge.angle_rate" = 0}
[analyses.modes]
verb = "modal"
from = "rest"
[analyses.released]
verb = "simulate"
from = "rest"
initial = {"hinge.angle" = "5 deg"}
t = 0.1
[analyses.again]
verb = "simulate"
from = "rest"
t = 0.1
[analyses.response]
verb = "frequency_response"
from = "rest"
input = "push"
output = "hinge.angle"
frequencies = {from = 0.1, to = "10 Hz", count = 5, spacing = "log"}
[analyses.turned]
verb = "kinematics"
times = {from = 0, to = 1, count = 3}
motion = {"hinge.angle" = "2*t^2"}
"""


def test_every_analysis_gives_what_the_system_gives() -> None:
    found = jd.run(jd.loads_model(PENDULUM))
    assert list(found) == ["swing", "more", "rest", "modes", "released", "again", "response", "turned"]
    s = jd.loads_model(PENDULUM).compile()
    swing = s.simulate({"hinge.angle": np.pi / 6, "hinge.angle_rate": 0.2}, t=2.0, outputs=21)
    np.testing.assert_array_equal(found["swing"]["hinge.angle"], swing["hinge.angle"])
    assert found["swing"].t[-1] == 2.0 and found["more"].t[0] == 2.0 and found["more"].t[-1] == 3.0
    more = s.simulate(swing.final_state(), t=1.0, inputs={"push": lambda t: 2 * jd.sin(3 * t)})
    np.testing.assert_allclose(found["more"]["hinge.angle"][-1], more["hinge.angle"][-1], rtol=1e-12)
    assert abs(found["rest"]["hinge.angle"]) < 1e-12
    assert found["modes"][0].circular_frequency == pytest.approx(np.sqrt(9.81 / 0.5), rel=1e-9)
    assert found["released"]["hinge.angle"][0] == pytest.approx(np.radians(5)) and abs(found["again"]["hinge.angle"]).max() < 1e-12
    np.testing.assert_allclose(found["response"].frequencies, [0.1, 10**-0.5, 1, 10**0.5, 10])
    np.testing.assert_allclose(found["turned"]["hinge.angle"], [0, 0.5, 2.0], atol=1e-12)


def test_only_what_is_kept_is_kept() -> None:
    found = run(jd.loads_model(PENDULUM), "swing")
    assert list(found) == ["swing"]
    names = found["swing"].names
    assert set(names) == {
        "hinge.angle",
        "hinge.angle_rate",
        "hinge.angle_acc",
        "hinge.reaction",
        "hinge.reaction_torque",
        "hinge.reaction.z",
        "energy.total",
    }
    np.testing.assert_array_equal(found["swing"]["hinge.reaction.z"], found.whole["swing"]["hinge.reaction"][:, 2])
    assert found["swing"].frame("bob").position.shape == (21, 3)
    with pytest.raises(InputError, match="keep: .*'nothing'"):
        kept(found.whole["swing"], ["nothing"])


def test_settings_go_before_the_file_and_units_are_checked() -> None:
    m = jd.loads_model(PENDULUM)
    system, start = starting(m, {"hinge": "10 deg", "l": "1 m", "push": "3 N m"})
    assert start["hinge.angle"] == pytest.approx(np.radians(10)) and start["hinge.angle_rate"] == 0.2
    assert system.parameters["l"] == 1.0 and m.inputs["push"].value == 3.0
    for name, wrong in (("hinge", "3 kg"), ("l", "3 kg"), ("push", "3 kg"), ("hinge.angle_rate", "3 m")):
        with pytest.raises(JourdainError, match="unit of mass|unit of length"):
            starting(jd.loads_model(PENDULUM), {name: wrong})


def test_loops_are_closed_with_the_initial_values_where_they_fit() -> None:
    m = jd.Model("slider-crank")
    crank, rod, piston = (m.body(n, mass=1.0, inertia=(0.01, 0.01, 0.01)) for n in ("crank", "rod", "piston"))
    m.revolute("main", m.ground, crank, axis="y")
    m.revolute("pin", crank.at(0.04, 0, 0), rod, axis="y")
    m.revolute("wrist", rod.at(0.13, 0, 0), piston, axis="y")
    m.prismatic("guide", m.ground, piston, axis="x")
    text = jd.dumps_model(m)
    exact = jd.loads_model(text + '\n[initial]\n"main.angle" = 0.3\n"main.angle_rate" = "600 rpm"\n')
    start = starting(exact, {})[1]
    assert start["main.angle"] == 0.3 and start["main.angle_rate"] == pytest.approx(20 * np.pi)
    rough = jd.loads_model(text + '\n[initial]\n"main.angle" = 0.3\n"pin.angle" = -0.4\n"guide.displacement" = 0.17\n')
    near = starting(rough, {})[1]
    assert near["main.angle"] == pytest.approx(0.3, abs=0.1) and near["guide.displacement"] == pytest.approx(0.17, abs=0.02)
    held = starting(jd.loads_model(jd.dumps_model(rough)), {"main": 0.5})[1]
    assert held["main.angle"] == 0.5


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (('verb = "modal"', 'verb = "magic"'), "verb 'magic' is unknown; use one of simulate"),
        (("outputs = 21", "output = 21"), "simulate has no option 'output'; it has outputs"),
        (('t = "2 s"\n', ""), "simulate lacks its duration"),
        (('from = "swing"', 'from = "more"'), "analysis 'more' starts from itself"),
        (('from = "swing"', 'from = "nothing"'), "there is no analysis 'nothing'"),
        (('from = "swing"', 'from = "response"'), "analysis 'more': a FrequencyResponse has no state to start from"),
        (('push = "2*sin(3*t)"', 'push = "2*six(3*t)"'), "six"),
        (("count = 5", "count = 1"), "count is 1"),
        (("from = 0.1, to", "from = -1, to"), "spacing is 'log'; use \"linear\""),
        (("count = 5, ", ""), "write a list of numbers or"),
    ],
)
def test_errors_name_the_analysis_and_the_remedy(change: tuple[str, str], message: str) -> None:
    with pytest.raises(JourdainError) as found:
        run(jd.loads_model(PENDULUM.replace(*change, 1)))
    assert message in str(found.value)


def test_the_schema_knows_the_same_verbs() -> None:
    assert list(VERBS) == list(schema.VERBS)


def test_a_model_without_analyses_says_so() -> None:
    with pytest.raises(InputError, match="names no analyses"):
        run(jd.loads_model(PENDULUM.partition("[analyses.swing]")[0]))


def test_everything_is_kept_in_a_folder(tmp_path: Path) -> None:
    (tmp_path / "pendulum.toml").write_text(PENDULUM)
    found = run(tmp_path / "pendulum.toml", "swing", "rest", "modes", "response")
    files = {p.name for p in found.save(tmp_path / "out")}
    assert files >= {
        "model.toml", "swing.npz", "swing.png", "swing.html", "rest.txt", "rest.json", "rest.html", "modes.txt", "modes.csv", "modes.png",
        "modes.html", "response.txt", "response.csv", "response.png",
    }  # fmt: skip
    assert all((tmp_path / "out" / f).stat().st_size > 0 for f in files)
    table = jd.load_solution(tmp_path / "out" / "swing.npz")
    assert set(table.names) == set(found["swing"].names)
    assert "modes of pendulum" in (tmp_path / "out" / "modes.txt").read_text()


def test_an_analysis_names_its_formulation(tmp_path: Path) -> None:
    """A rope that exists in directors only, in a file: one analysis starts where another ends; a formulation for all; an unknown one."""
    m = jd.Model("line")
    rope = jd.structures.cable(
        (0, 0, 0), (2, 0, 0), jd.structures.circle(0.02), jd.structures.Material(5e6, 0.45, 1100.0), elements=4, viscosity=20.0
    )
    m.spherical("left", m.ground, m.flexible_body("rope", rope, modes=2).node("start"))
    fall = {"verb": "simulate", "formulation": "directors", "t": 0.2, "step": 0.01}
    m.analyses |= {"fall": fall, "on": fall | {"from": "fall"}}
    m.save(tmp_path / "line.toml")
    done = run(tmp_path / "line.toml")
    assert np.ptp(done["fall"]["energy.total"] + done["fall"]["energy.dissipated"]) < 1e-11
    whole = m.compile(formulation="directors").simulate({}, t=0.4, step=0.01)
    assert done["fall"]["rope.4"] == pytest.approx(whole["rope.4"][:21], abs=1e-12)
    assert done["on"]["rope.4"] == pytest.approx(whole["rope.4"][20:], abs=1e-10)
    m.analyses["on"]["initial"] = {"left.x": 0.1}
    with pytest.raises(InputError, match="analysis 'on': parts of large deformation go on after a motion by simulate alone"):
        run(m)
    with pytest.raises(InputError, match="analysis 'fall': formulation 'director' is unknown"):
        m.analyses["fall"]["formulation"] = "director"
        run(m, "fall")


def test_a_formulation_for_all_analyses() -> None:
    text = PENDULUM[: PENDULUM.index("[analyses")] + '[analyses.swing]\nverb = "simulate"\nt = 0.5\nrtol = 1e-10\natol = 1e-12\n'
    m = jd.loads_model(text)
    a, b = (run(m, formulation=f)["swing"]["hinge.angle"][-1] for f in ("recursive", "cartesian"))
    assert a == pytest.approx(b, abs=1e-8)
