"""Numbers, units, axes and rotations as users write them; what a wrong one is told."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

import jourdain.symbolic as S
from jourdain.errors import InputError, ModelError
from jourdain.model.values import number, rotation, unit_axis, value, vector
from jourdain.symbolic.vectors import IDENTITY, Matrix, Vector

angle = st.floats(-6.0, 6.0)
component = st.floats(-3.0, 3.0)


def numbers(R: Matrix) -> np.ndarray:
    return np.array([float(e) for e in R.entries]).reshape(3, 3)


def test_values_with_units() -> None:
    assert float(value("30 deg", "a")) == np.deg2rad(30.0)
    assert float(value("5 mm", "a")) == 0.005
    assert float(value(" -2.5e1 km/h ", "a")) == pytest.approx(-25 / 3.6)
    assert float(value("7", "a")) == 7.0
    assert float(value(np.float32(0.5), "a")) == 0.5
    x = S.symbol("x")
    assert value(x, "a") is x
    assert [float(e) for e in vector(("1 cm", 0, "2 m"), "a")] == [0.01, 0.0, 2.0]
    assert number("3000 rpm", "a") == pytest.approx(100 * np.pi)


@pytest.mark.parametrize(
    ("given_value", "message"),
    [
        (np.nan, "mass of 'a': nan is not a finite number"),
        (np.inf, "mass of 'a': inf is not a finite number"),
        (np.float64(-np.inf), "mass of 'a': -inf is not a finite number"),
        ("abc", r"mass of 'a': 'abc' is not a number.*does not begin with a number; write it like"),
        ("3 kk", r"mass of 'a': '3 kk' is not a number.*unit 'kk'.*is unknown; did you mean"),
        ("", "mass of 'a': '' is not a number"),
        (None, "mass of 'a': None is not a number"),
        (1j, "mass of 'a': 1j is not a number"),
        ([1.0], r"mass of 'a': \[1.0\] is not a number"),
        ("nan kg", "mass of 'a': 'nan kg' is not a number"),
    ],
)
def test_values_that_are_none(given_value: Any, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        value(given_value, "mass of 'a'")


def test_a_unit_of_another_dimension() -> None:
    assert float(value("2 t", "m", "kg")) == 2000.0
    with pytest.raises(ModelError, match=r"m: quantity '2 mm' should be in 'kg' or a like unit: 'mm' is a unit of length"):
        value("2 mm", "m", "kg")
    with pytest.raises(ModelError, match="should be in 'm'"):
        vector((0, "3 deg", 0), "p", "m")
    with pytest.raises(InputError, match=r"p: a number is needed, got the expression x"):
        number(S.symbol("x"), "p")


@pytest.mark.parametrize("bad", [(1, 2), (1, 2, 3, 4), 5, None, "x", [], "xy"])
def test_vectors_need_three_values(bad: Any) -> None:
    with pytest.raises(ModelError, match=r"p: .* is not a vector of three values"):
        vector(bad, "p")


@pytest.mark.parametrize(("text", "expected"), [("x", (1, 0, 0)), ("+y", (0, 1, 0)), ("-z", (0, 0, -1)), ("X", (1, 0, 0))])
def test_axes_by_letter(text: str, expected: tuple[int, ...]) -> None:
    assert tuple(float(e) for e in unit_axis(text, "a")) == expected


@given(component, component, component)
def test_axes_are_normalised(x: float, y: float, z: float) -> None:
    v = np.array([x, y, z])
    assume(np.linalg.norm(v) > 1e-6)
    np.testing.assert_allclose([float(e) for e in unit_axis((x, y, z), "a")], v / np.linalg.norm(v), atol=1e-15)


def test_axis_of_symbols_is_normalised() -> None:
    a, b = S.symbols("a b")
    n = unit_axis((a, b, 0.0), "j")
    got = np.array(S.evaluate(list(n), {a: 3.0, b: -4.0}), dtype=float)
    np.testing.assert_allclose(got, [0.6, -0.8, 0.0], rtol=1e-15)


@pytest.mark.parametrize("bad", ["w", "xx", "--x", "", "x-", "xy"])
def test_unknown_axes(bad: str) -> None:
    with pytest.raises(ModelError, match=rf"joint 'j': axis '{bad}' is unknown; use 'x', 'y', 'z', '-x'"):
        unit_axis(bad, "joint 'j'")


@pytest.mark.parametrize("bad", [(0, 0, 0), (0.0, -0.0, 0.0), (1e-15, 0, 0), Vector.of((0, 0, 0))])
def test_axes_without_direction(bad: Any) -> None:
    with pytest.raises(ModelError, match=r"joint 'j': axis \(.*\) has no direction"):
        unit_axis(bad, "joint 'j'")


@given(component, component, component, angle)
def test_axis_and_angle(x: float, y: float, z: float, a: float) -> None:
    v = np.array([x, y, z])
    assume(np.linalg.norm(v) > 1e-3)
    expected = Rotation.from_rotvec(v / np.linalg.norm(v) * a).as_matrix()
    for form in (((x, y, z), a), [(x, y, z), a], (v, a), [((x, y, z), a)], (Vector.of(v), a)):
        np.testing.assert_allclose(numbers(rotation(form, "r")), expected, atol=1e-14)


@given(st.lists(st.tuples(st.sampled_from(["x", "y", "z", "-x", "-y", "-z"]), angle), min_size=1, max_size=5))
def test_sequences_about_moving_axes(pairs: list[tuple[str, float]]) -> None:
    expected = Rotation.identity()
    for axis, a in pairs:
        expected = expected * Rotation.from_euler(axis[-1], -a if axis[0] == "-" else a)
    np.testing.assert_allclose(numbers(rotation(list(pairs), "r")), expected.as_matrix(), atol=1e-14)


@given(angle, angle, angle)
def test_euler_sequence_and_rpy_against_scipy(a: float, b: float, c: float) -> None:
    moving = Rotation.from_euler("ZXZ", [a, b, c]).as_matrix()
    np.testing.assert_allclose(numbers(rotation([("z", a), ("x", b), ("z", c)], "r")), moving, atol=1e-14)
    fixed = Rotation.from_euler("xyz", [a, b, c]).as_matrix()
    np.testing.assert_allclose(numbers(rotation({"rpy": (a, b, c)}, "r")), fixed, atol=1e-14)


@given(st.lists(component, min_size=4, max_size=4))
def test_quaternions_of_any_length(e: list[float]) -> None:
    assume(np.linalg.norm(e) > 1e-3)
    expected = Rotation.from_quat([*e[1:], e[0]]).as_matrix()
    for form in (e, tuple(e), np.array(e)):
        np.testing.assert_allclose(numbers(rotation({"quaternion": form}, "r")), expected, atol=1e-14)


def test_matrices_and_nothing() -> None:
    R = Rotation.from_euler("xyz", [0.3, -0.7, 1.2]).as_matrix()
    for form in (R, R.tolist(), {"matrix": R}, rotation(R, "r")):
        np.testing.assert_array_equal(numbers(rotation(form, "r")), R)
    assert rotation(None, "r") is IDENTITY


def test_rotations_with_units_and_parameters() -> None:
    np.testing.assert_allclose(numbers(rotation(("z", "90 deg"), "r")), Rotation.from_euler("z", 90, degrees=True).as_matrix(), atol=5e-16)
    np.testing.assert_allclose(
        numbers(rotation({"rpy": ("10 deg", 0, "1 rad")}, "r")), Rotation.from_euler("xyz", [np.deg2rad(10), 0, 1]).as_matrix(), atol=5e-16
    )
    a = S.symbol("a")
    got = np.array(S.evaluate(rotation([("x", a), ("y", 2 * a)], "r").entries, {a: 0.4}), dtype=float).reshape(3, 3)
    np.testing.assert_allclose(got, Rotation.from_euler("XY", [0.4, 0.8]).as_matrix(), atol=1e-15)


ROTATION_ERRORS = {
    "number": (3, "point 'p': 3 is not a rotation; give \\(axis, angle\\), a list of such pairs, a 3×3 matrix or"),
    "text": ("xyz", "'xyz' is not a rotation"),
    "three numbers": ([1, 2, 3], r"\[1, 2, 3\] is not a rotation"),
    "empty": ([], r"\[\] is not a rotation"),
    "set": ({"x"}, "is not a rotation"),
    "key": ({"euler": (0, 0, 0)}, r"a rotation given as a dict has one key 'rpy', 'quaternion' or 'matrix', got \['euler'\]"),
    "two keys": ({"rpy": (0, 0, 0), "matrix": np.eye(3)}, r"has one key"),
    "empty dict": ({}, r"has one key .* got \[\]"),
    "mirror": (np.diag([1.0, 1.0, -1.0]), "is not a right-handed rotation"),
    "stretch": (2 * np.eye(3), "is not a right-handed rotation"),
    "nearly": (np.eye(3) + 1e-6, "is not a right-handed rotation"),
    "matrix shape": ({"matrix": [[1, 0], [0, 1]]}, "is not a 3×3 matrix"),
    "matrix number": ({"matrix": 1.0}, "is not a 3×3 matrix"),
    "zero quaternion": ({"quaternion": (0, 0, 0, 0)}, r"the quaternion \[0.0, 0.0, 0.0, 0.0\] has no direction"),
    "short quaternion": ({"quaternion": (1, 0, 0)}, r"a quaternion has four components \(scalar first\), got \(1, 0, 0\)"),
    "quaternion number": ({"quaternion": 1}, "a quaternion has four components"),
    "quaternion nan": ({"quaternion": (1, np.nan, 0, 0)}, "nan is not a finite number"),
    "rpy": ({"rpy": (1, 2)}, r"\(1, 2\) is not a vector of three values"),
    "axis": (("w", 1.0), "axis 'w' is unknown"),
    "no direction": (((0, 0, 0), 1.0), r"axis \(0.0, 0.0, 0.0\) has no direction"),
    "length for an angle": (("x", "3 mm"), "'3 mm' should be in 'rad'"),
    "length in a list": ([("x", "3 mm")], "should be in 'rad'"),
    "nan": (("x", np.nan), "nan is not a finite number"),
}  # fmt: skip


@pytest.mark.parametrize("case", ROTATION_ERRORS)
def test_rotations_that_are_none(case: str) -> None:
    given_rotation, message = ROTATION_ERRORS[case]
    with pytest.raises(ModelError, match=message) as caught:
        rotation(given_rotation, "point 'p'")
    assert "point 'p'" in str(caught.value)
