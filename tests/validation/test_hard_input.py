"""Input that used to pass silently, hang, or end in a bare error: each is refused in words that name it."""

from __future__ import annotations

import difflib
import random
from typing import Any

import numpy as np
import pytest

import jourdain as jd
from jourdain.errors import InputError, ModelError, nearest
from jourdain.io.mjcf import read_mjcf
from jourdain.io.model_files.toml_source import ModelFileError, Source
from jourdain.library.nonholonomic import rolling_disk

FORMULATIONS = ("recursive", "cartesian", "directors")


def swinging(**event: object) -> tuple[jd.Model, object]:
    m = jd.Model("p")
    hinge = m.revolute("h", m.ground, m.body("b", mass=1.0, com=(0, 0, -1)), axis="y")
    return m, hinge


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_a_guard_that_is_not_a_number_is_named(formulation: str) -> None:
    m, hinge = swinging()
    m.event("stop", jd.sqrt(hinge.position - 0.2), terminal=True)
    with pytest.raises(jd.SimulationError, match="the guard of event 'stop' is not a number"):
        m.compile(formulation=formulation).simulate({"h.angle": 1.0}, 2.0)


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_a_jump_that_is_not_a_number_is_named_with_its_time(formulation: str) -> None:
    m, hinge = swinging()
    m.event("kick", hinge.position - 0.5, jump={hinge.velocity: jd.sqrt(-hinge.position)})
    with pytest.raises(jd.SimulationError, match=r"'kick'.* at t = 0\.3|'kick' at t = 0\.3") as told:
        m.compile(formulation=formulation).simulate({"h.angle": 1.0}, 2.0)
    assert 0.3 < told.value.solution.t[-1] < 0.4


@pytest.mark.parametrize("offset", [0.3, 0.0])  # with 0 some crossings of every step are seen
@pytest.mark.parametrize("method", ["dopri5", "radau"])
def test_a_guard_faster_than_the_steps_is_told(method: str, offset: float) -> None:
    m, hinge = swinging()
    m.event("tick", jd.sin(1e4 * m.time) - offset)
    s = m.compile()
    with pytest.warns(
        RuntimeWarning, match="event 'tick' was passed over: its guard changes its sign there and back within the step .*max_step="
    ):
        assert s.simulate({"h.angle": 1.0}, 0.5, method=method).metadata["status"] == "doubtful"
    seen = s.simulate({"h.angle": 1.0}, 0.01, method=method, max_step=5e-5)
    assert seen.metadata["status"] == "finished" and seen.statistics["events"] == (32 if offset else 31)  # 0.01 s hold 15.9 periods


@pytest.mark.parametrize("where", ["signal", "force", "link"])
def test_a_law_that_draws_numbers_is_refused(where: str) -> None:
    m, hinge = swinging()
    with pytest.raises(InputError, match="gives .* and then .*jd.Controller"):
        if where == "signal":
            m.force(hinge, m.input("u", 0.0))
            m.compile().simulate({"h.angle": 1.0}, 1.0, inputs={"u": lambda t: random.random()})
        elif where == "force":
            m.force(hinge, lambda x, v, t: random.random())
        else:
            m.link("rope", m.ground.at(1, 0, 0), m.bodies["b"], law=lambda z, rate, t: random.random())


def test_laws_that_are_constant_or_traced_are_taken() -> None:
    m, hinge = swinging()
    m.force(hinge, lambda x, v, t: 0.5)
    m.force(hinge, lambda x, v, t: -0.1 * v, name="second")
    assert m.compile().simulate({"h.angle": 1.0}, 0.1).metadata["status"] == "finished"


def test_a_disk_that_lies_flat_is_assembled_from_another_place() -> None:
    s = rolling_disk().compile()
    closing = s.function("constraints")
    assert not np.isfinite(closing(np.zeros(1), s.state().q)[0]).all(), "its constraint has no value where it lies flat"
    assert np.abs(closing(np.zeros(1), s.assemble({}).q)[0]).max() < 1e-12


@pytest.mark.parametrize("times", [[np.nan], [0.0, np.inf], ["a"], [[0.1, 0.2], [0.3, 0.4]]])
@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_times_that_are_no_times(formulation: str, times: object) -> None:
    with pytest.raises(InputError, match="times"):
        swinging()[0].compile(formulation=formulation).simulate({"h.angle": 1.0}, 1.0, times=times)


def test_an_inertia_without_end_is_refused() -> None:
    with pytest.raises(ModelError, match="inf is not a finite number"):
        jd.Model("x").body("b", mass=1.0, inertia=(float("inf"), 1, 1))


MESH = """<mujoco><asset><mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1" face="{}"/></asset>
<worldbody><body><freejoint/><geom type="mesh" mesh="m"/></body></worldbody></mujoco>"""


@pytest.mark.parametrize("face", ["0.1 0 0", "-1 0 1", "0 1 9", "0 1", "nan 0 0", "1e30 0 0"])
def test_faces_that_are_no_numbers_of_points_are_refused(face: str) -> None:
    with pytest.raises(InputError, match="face"):
        read_mjcf(MESH.format(face))


def test_few_of_thousands_of_names_are_compared_letter_by_letter(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"some_quite_long_prefix_of_a_body_name_{i}.with_a_long_suffix_too.position" for i in range(8000)]
    compared: list[int] = []
    usual = difflib.get_close_matches

    def counted(word: str, possibilities: list[str], *more: Any) -> list[str]:
        compared.append(len(possibilities))
        return usual(word, possibilities, *more)

    monkeypatch.setattr(difflib, "get_close_matches", counted)
    found = nearest("some_quite_long_prefix_of_a_body_nam_7777.with_a_long_suffix_too.position", names)
    assert found[0] == names[7777] and compared == [200]
    assert nearest("hinge.angel", ["hinge.angle", "slide.x"]) == ["hinge.angle"]


def test_long_arrays_of_numbers_are_not_scanned_number_by_number() -> None:
    long = Source('name = "x"\n[tables.a]\nx = [' + ",\n".join(["0.5", "-1e-3", "1_000"] * 10_000) + "]\ny = [1, 2]\n")
    assert len(long.data["tables"]["a"]["x"]) == 30_000
    assert len(long.spans) < 10 and long.line(("tables", "a", "y")) == 30_003 and long.line(("tables", "a", "x", 7)) == 3
    with pytest.raises(ModelFileError, match=r"line 5: this is not TOML"):
        Source("x = [" + "0.5," * 10_000 + "\n\n\n\n 0.5.5]")
