"""Words of other programs, and calls of a newcomer: what to use instead is said."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import jourdain as jd


def pendulum() -> jd.Model:
    m = jd.Model("pendulum")
    l = m.parameter("l", 0.5, unit="m")
    m.revolute("hinge", m.ground, m.body("bob", mass=1.0, com=(0, 0, -l)), axis="y")
    return m


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("time", r"a solution has no 'time'; did you mean sol\.t\?"),
        ("animate", r"did you mean sol\.view\?"),
        ("hinge", r"channels are read by their names: sol\['hinge\.angle'\]"),
        ("plott", r"did you mean sol\.plot\?"),
        ("y", r"which print\(sol\) lists"),
    ],
)
def test_what_a_solution_does_not_have(name: str, told: str) -> None:
    sol = pendulum().compile().simulate({"hinge": 1.0}, t=0.1)
    with pytest.raises(AttributeError, match=told):
        getattr(sol, name)


@pytest.mark.parametrize("way", [{}, {"formulation": "cartesian"}, {"formulation": "directors"}], ids=str)
def test_what_compiled_systems_do_not_have(way: dict[str, str]) -> None:
    s = pendulum().compile(**way)
    with pytest.raises(
        AttributeError, match=r"a compiled system has no 'plot': ask the solution of a run, sol = s\.simulate\(…\), for sol\.plot"
    ):
        s.plot  # noqa: B018
    with pytest.raises(AttributeError, match=r"has no 'show': .* for sol\.view"):
        s.show  # noqa: B018
    assert not hasattr(s, "foo")


def test_what_models_do_not_have() -> None:
    m = pendulum()
    for name, told in (("remove_body", "nothing is taken out of a model"), ("animate", r"for sol\.view"), ("limits", r"m\.stop")):
        with pytest.raises(AttributeError, match=told):
            getattr(m, name)


def test_plots_take_names_one_after_the_other(tmp_path: Path) -> None:
    sol = pendulum().compile().simulate({"hinge": 1.0}, t=0.1)
    for given, told in ((["hinge.angle"], "names follow one another"), (sol, "a plot shows one solution")):
        with pytest.raises(jd.InputError, match=told):
            sol.plot(given)
    with pytest.raises(jd.InputError, match=r"a plot is no '\.docx'; write \.png, \.svg or \.pdf"):
        sol.plot("hinge.angle", file=tmp_path / "a.docx")


@pytest.mark.parametrize(
    "way", [{}, {"formulation": "cartesian"}, {"formulation": "semi-recursive"}, {"formulation": "directors"}], ids=str
)
def test_parameters_of_a_run_by_name(way: dict[str, str]) -> None:
    s, other = pendulum().compile(**way), pendulum().compile(**way)
    given = {"t": 0.3, "step": 0.01} if way.get("formulation") == "directors" else {"t": 0.3}
    sol = s.simulate({"hinge": 1.0}, parameters={"l": "70 cm"}, **given)
    other.set_parameters(l="70 cm")
    np.testing.assert_array_equal(sol["hinge.angle"], other.simulate({"hinge": 1.0}, **given)["hinge.angle"])
    assert s.simulate({"hinge": 1.0}, **given)["hinge.angle"][-1] != sol["hinge.angle"][-1]
    with pytest.raises(jd.InputError, match="there is no parameter 'length'; there are gravity_z, l"):
        s.simulate({"hinge": 1.0}, parameters={"length": 0.7}, **given)


def test_instants_of_output_are_not_the_time_of_a_run() -> None:
    with pytest.raises(jd.InputError, match=r"instants of output are times=…, beside t"):
        pendulum().compile().simulate({"hinge": 1.0}, t=np.linspace(0.0, 1.0, 11))


def test_a_table_without_events_says_where_impacts_are() -> None:
    assert "sol.contacts.impacts" in str(pendulum().compile().simulate({"hinge": 1.0}, t=0.1).events)


def test_what_is_constant_but_for_errors_is_drawn_as_a_constant() -> None:
    sol = pendulum().compile().simulate({"hinge": 1.0}, t=2.0)
    energy = sol["energy.total"]
    assert 0.0 < np.ptp(energy) < 1e-7 * np.abs(energy).max()
    low, high = sol.plot("energy.total").axes[0].get_ylim()
    assert high - low == pytest.approx(0.2 * np.abs(energy).max(), rel=1e-6)
    low, high = sol.plot("hinge.angle").axes[0].get_ylim()
    assert high - low < 1.2 * np.ptp(sol["hinge.angle"])


def test_one_folder_by_two_words(tmp_path: Path) -> None:
    from jourdain.io import read_mjcf, read_urdf

    (tmp_path / "a.urdf").write_text('<robot name="a"><link name="base"/></robot>', encoding="utf-8")
    (tmp_path / "a.xml").write_text("<mujoco><worldbody/></mujoco>", encoding="utf-8")
    for read, file in ((read_urdf, "a.urdf"), (read_mjcf, "a.xml")):
        for word in ({"root": tmp_path}, {"folder": tmp_path}):
            assert read(tmp_path / file, **word).name  # type: ignore[operator]
        with pytest.raises(jd.InputError, match="another word for root"):
            read(tmp_path / file, root=tmp_path, folder=tmp_path)  # type: ignore[operator]
