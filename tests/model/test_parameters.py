"""Parameters: declared once, checked, changed by name, used in expressions."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import jourdain as jd
from jourdain.errors import InputError, ModelError


def test_declaration() -> None:
    m = jd.Model("m", gravity=(0, 0, 0))
    l = m.parameter("l", "5 mm", unit="m", bounds=(0, "1 cm"), description="length")
    r, k = m.parameters(r=0.04, k="2 kN/m")
    p = m.parameter_set
    assert p.names == ["l", "r", "k"]
    assert p.symbols == (l, r, k)
    assert p["l"].value == 0.005
    assert p["l"].bounds == (0.0, 0.01)
    assert p["l"].unit == "m"
    assert p["k"].value == 2000.0
    assert "r" in p
    assert "q" not in p
    assert len(p) == 3
    np.testing.assert_array_equal(p.values(), [0.005, 0.04, 2000.0])
    np.testing.assert_array_equal(p.values({"r": "1 m", "l": 2}), [2.0, 1.0, 2000.0])
    np.testing.assert_array_equal(p.values(), [0.005, 0.04, 2000.0])
    assert float(p.evaluate(l * k + r)) == pytest.approx(10.04)
    assert float(p.evaluate(l * k, {"k": 4.0})) == 0.02


def test_gravity_is_a_parameter() -> None:
    m = jd.Model("m", gravity=(0, "-9.81 m/s^2", 3))
    assert m.parameter_set.names == ["gravity_y", "gravity_z"]
    assert m.parameter_set["gravity_y"].value == -9.81
    assert m.parameter_set["gravity_y"].unit == "m/s²"
    g = m.parameter("g", 1.62)
    assert jd.Model("n", gravity=(0, 0, -g)).gravity.z is -g


ERRORS: dict[str, tuple[dict[str, Any], str]] = {
    "twice": ({"name": "l", "value": 1.0}, "parameter 'l' is declared twice; choose another name"),
    "no name": ({"name": "", "value": 1.0}, "a parameter needs a name, got ''"),
    "number name": ({"name": 3, "value": 1.0}, "a parameter needs a name, got 3"),
    "nan": ({"name": "x", "value": np.nan}, "parameter 'x': nan is not a finite number"),
    "text": ({"name": "x", "value": "five"}, "parameter 'x': 'five' is not a number"),
    "unit": ({"name": "x", "value": "5 foos"}, r"parameter 'x': '5 foos' .*\(unit 'foos' in 'foos' is unknown"),
    "expression": ({"name": "x", "value": jd.symbol("y") + 1}, r"parameter 'x': a number is needed, got the expression"),
    "below": ({"name": "x", "value": -1, "bounds": (0, None)}, r"parameter 'x': value -1 is outside its bounds \(0.0, None\)"),
    "above": ({"name": "x", "value": 3, "bounds": (None, 2)}, r"parameter 'x': value 3 is outside its bounds \(None, 2.0\)"),
    "reversed": ({"name": "x", "value": 0.5, "bounds": (1, 0)}, r"parameter 'x': value 0.5 is outside its bounds \(1.0, 0.0\)"),
    "one bound": ({"name": "x", "value": 3, "bounds": (1,)}, r"parameter 'x': bounds \(1,\) are not a pair; give \(lower, upper\)"),
    "no pair": ({"name": "x", "value": 3, "bounds": 5}, "parameter 'x': bounds 5 are not a pair"),
    "unknown unit": ({"name": "x", "value": 3, "unit": "foo"}, "unit 'foo'.*unknown"),
    "other dimension": ({"name": "x", "value": "3 kg", "unit": "m"}, "parameter 'x': quantity '3 kg' should be in 'm'"),
    "bound of other dimension": ({"name": "x", "value": "3 m", "unit": "m", "bounds": ("1 s", None)}, "parameter 'x': bound: quantity '1 s' should be in 'm'"),
    "unit that is not SI": ({"name": "x", "value": 5, "unit": "mm"}, r"parameter 'x': unit 'mm' is not an SI unit; give the value as text \('5 mm'\) and unit='m'"),
}  # fmt: skip


@pytest.mark.parametrize("case", ERRORS)
def test_wrong_declarations(case: str) -> None:
    m = jd.Model("m")
    m.parameter("l", 1.0)
    arguments, message = ERRORS[case]
    with pytest.raises((ModelError, InputError), match=message):
        m.parameter(**arguments)
    assert m.parameter_set.names == ["gravity_z", "l"]


def test_unknown_names_come_with_a_suggestion() -> None:
    m = jd.Model("m")
    m.parameters(stiffness=1.0, damping=2.0)
    for ask in (lambda: m.parameter_set["stifness"], lambda: m.parameter_set.values({"stifness": 2.0})):
        with pytest.raises(InputError, match=r"there is no parameter 'stifness'; did you mean stiffness\?"):
            ask()
    with pytest.raises(InputError, match=r"there is no parameter 'zzz'; there are gravity_z, stiffness, damping$"):
        m.parameter_set["zzz"]
    with pytest.raises(ModelError, match="parameter 'damping': nan is not a finite number"):
        m.parameter_set.values({"damping": np.nan})


@pytest.mark.parametrize("bad", [9.81, (0, 9.81), (0, 0, np.nan), (0, 0, "9.81 m"), None])
def test_gravity_that_is_none(bad: Any) -> None:
    with pytest.raises(ModelError, match="gravity: "):
        jd.Model("m", gravity=bad)


def test_changes_at_run_time() -> None:
    m = jd.Model("pendulum")
    l = m.parameter("l", 0.5, unit="m")
    bob = m.body("bob", mass=2.0, com=(0, 0, -l))
    m.revolute("hinge", m.ground, bob, axis="y")
    s = m.compile()
    assert s.mass_matrix([0.1])[0, 0] == pytest.approx(0.5)
    s.set_parameters(l="30 cm")
    assert s.parameters["l"] == 0.3
    assert s.mass_matrix([0.1])[0, 0] == pytest.approx(2 * 0.09)
    with pytest.raises(InputError, match=r"there is no parameter 'll'; did you mean l\?"):
        s.set_parameters(ll=1.0)
    with pytest.raises(ModelError, match="should be in 'm'"):
        s.set_parameters(l="3 kg")
    assert s.parameters["l"] == 0.3


@pytest.mark.parametrize("formulation", ["recursive", "semi-recursive", "cartesian", "natural", "directors"])
def test_values_outside_bounds_are_told(formulation: str) -> None:
    m = jd.Model("swing")
    k = m.parameter("k", 10.0, unit="N m/rad", bounds=(0, 20))
    body = m.body("bob", mass=1.0, com=(0, 0, -1), inertia=(0.1, 0.1, 0.1))
    hinge = m.revolute("hinge", m.ground, body, axis="y")
    m.joint_spring(hinge, k)
    s = m.compile(formulation=formulation)
    with pytest.warns(RuntimeWarning, match=r"set_parameters 'swing': parameter 'k' = -1 N m/rad is outside its bounds \(0, 20\) N m/rad"):
        s.set_parameters(k=-1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for value in (0.0, 20.0, -1e-6, 20.0 + 1e-6, 7.0):  # difference quotients at bounds step over them
            s.set_parameters(k=value)
