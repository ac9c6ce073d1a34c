"""Units: known conversions, algebra of units, dimension checks, and texts that must not crash the parser."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jourdain.errors import InputError
from jourdain.model.units import UnitError, _units, compatible, convert, quantity, unit

KNOWN = {
    "30 deg": math.pi / 6,
    "3000 rpm": 100 * math.pi,
    "2.5 mm": 2.5e-3,
    "100 km/h": 100 / 3.6,
    "5 N m": 5.0,
    "5 Nm": 5.0,
    "5 N*m": 5.0,
    "5 N·m": 5.0,
    "1 kN/mm": 1e6,
    "9.81 m/s²": 9.81,
    "9.81 m/s^2": 9.81,
    "9.81 m s⁻²": 9.81,
    "9.81 m/s**2": 9.81,
    "1e3": 1e3,
    "-2.5e-1 g": -2.5e-4,
    "2 bar": 2e5,
    "20 degC": 293.15,
    "1 rev/s": 2 * math.pi,
    "60 mph": 26.8224,
    "1 hp": 745.6998715822702,
    "1 ft lbf": 1.3558179483314004,
    "50 Hz": 50.0,
    "3 1/s": 3.0,
    "10 N s/mm": 1e4,
    "4 kg/(m s)": 4.0,
    ".5 µm": 0.5e-6,
    "1 min": 60.0,
    "10 %": 0.1,
    "inf": math.inf,
}


@pytest.mark.parametrize("text", KNOWN)
def test_known_quantities(text: str) -> None:
    assert quantity(text) == pytest.approx(KNOWN[text], rel=4e-16)


def test_numbers_are_si_already() -> None:
    assert quantity(3) == 3.0
    assert quantity(np.float64(2.5), expects="kg") == 2.5


@given(st.sampled_from(sorted(_units())), st.floats(-1e6, 1e6))
@settings(deadline=None, max_examples=200)
def test_conversion_and_back(symbol: str, x: float) -> None:
    si = unit(symbol).si
    assert quantity(f"{x!r} {symbol}") == pytest.approx(convert(x, symbol, si), rel=1e-14, abs=1e-12)
    assert convert(convert(x, symbol, si), si, symbol) == pytest.approx(x, rel=1e-12, abs=1e-9)


@given(*[st.sampled_from(sorted(set(_units()) - {"degC", "°C"}))] * 2, st.integers(1, 3))
@settings(deadline=None, max_examples=100)
def test_factors_multiply_and_divide(a: str, b: str, n: int) -> None:
    top, bottom = unit(f"{a} {b}^{n}"), unit(f"{a}/({b}^{n})")
    assert top.factor == pytest.approx(unit(a).factor * unit(b).factor ** n, rel=1e-14)
    assert bottom.factor == pytest.approx(unit(a).factor / unit(b).factor ** n, rel=1e-14)
    assert [x + y for x, y in zip(top.dimension, bottom.dimension, strict=True)] == [2 * x for x in unit(a).dimension]


def test_si_symbols_have_factor_one() -> None:
    assert {unit(u.si).factor for u in _units().values()} == {1.0}
    assert all(unit(u.si).dimension == u.dimension for u in _units().values())


def test_arrays_convert() -> None:
    np.testing.assert_allclose(convert(np.array([0.0, np.pi]), "rad", "deg"), [0.0, 180.0], rtol=1e-15)


def test_mismatch_names_both_units() -> None:
    with pytest.raises(UnitError, match=r"'mm'.*length.*'N'.*force"):
        convert(1.0, "mm", "N")
    with pytest.raises(UnitError, match=r"'2 mm'.*'rad'"):
        quantity("2 mm", expects="rad")
    assert not compatible("kg", "s")


def test_hertz_is_not_an_angular_velocity() -> None:
    with pytest.raises(UnitError, match="2π"):
        convert(1.0, "Hz", "rad/s")
    assert convert(1.0, "rev/s", "rad/s") == 2 * math.pi
    assert compatible("N m", "N m/rad")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("30 degg", "'degg'.*did you mean 'deg'"),
        ("deg", "does not begin with a number"),
        ("3 N/m s", "two ways"),
        ("3 degC/s", "offset"),
        ("3 (m", "not closed"),
        ("3 m)", "cannot read"),
        ("3 m^99", "exponent"),
        ("3 m^", "cannot read"),
        ("3 (Tm/pm)^12 (Tm/pm)^12", "range of numbers"),
        ("3 (TPa^12)^12", "range of numbers"),
        ("3 (pPa^12)^12/(pPa^12)^12", "range of numbers"),
        ("3 /s", "missing"),
        ("", "does not begin"),
        (True, "not a quantity"),
        (None, "not a quantity"),
        ("3 " + "(" * 50 + "m", "nested"),
        ("3 " + "m " * 400, "begin|longer"),
    ],
)
def test_errors_say_what_is_wrong(text: object, words: str) -> None:
    with pytest.raises(InputError, match=words):
        quantity(text)  # type: ignore[arg-type]


@given(st.text("0123456789.+-eE mkNs/^*()°²%µ·degrpm", max_size=40))
@settings(deadline=None, max_examples=300)
def test_any_text_gives_a_number_or_a_clear_error(text: str) -> None:
    try:
        assert isinstance(quantity(text), float)
    except UnitError as error:
        assert str(error)
