"""Units of measure: text such as "30 deg" or "3000 rpm" to SI numbers, and conversion with a check of dimensions.

Inside Jourdain every number is SI (m, kg, s, rad, A, K). Factors are those of the SI brochure (BIPM, 9th edition) and,
for customary units, their exact legal definitions (1 in = 25.4 mm, 1 lb = 0.45359237 kg).
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, TypeVar

from jourdain.errors import InputError, short
from jourdain.reals import NotReal, real

BASE = ("m", "kg", "s", "rad", "A", "K")
"""Base units, in the order of the exponents in :attr:`Unit.dimension`; the angle counts as one, so it is checked."""

T = TypeVar("T")
_ANGLE = BASE.index("rad")
_MAX_LENGTH = 200
_MAX_DEPTH = 10
_MAX_EXPONENT = 12


class UnitError(InputError):
    """A unit is unknown, badly written, or of another dimension than the one asked for."""


class DimensionError(UnitError):
    """A unit measures something else than what is asked for."""


@dataclass(frozen=True)
class Unit:
    """A unit: SI value = factor · number + offset, with the exponents of the base units in ``dimension``."""

    symbol: str
    dimension: tuple[int, ...]
    factor: float
    offset: float = 0.0

    @property
    def quantity_name(self) -> str:
        """The textbook name of what the unit measures ("length", "torque"), or its base units if it has no name."""
        return _NAMES.get(self.dimension) or _base_text(self.dimension)

    @property
    def si(self) -> str:
        """The SI unit of the same quantity, e.g. "rad" for "deg", "m/s" for "km/h"."""
        return _SI_SYMBOLS.get(self.dimension) or _base_text(self.dimension)


def _dimension(text: str) -> tuple[int, ...]:
    exponents = [0] * len(BASE)
    for factor in text.split():
        name, _, power = factor.partition("^")
        exponents[BASE.index(name)] += int(power or 1)
    return tuple(exponents)


def _base_text(dimension: tuple[int, ...]) -> str:
    def part(sign: int) -> list[str]:
        return [
            name if abs(power) == 1 else f"{name}^{abs(power)}" for name, power in zip(BASE, dimension, strict=True) if power * sign > 0
        ]

    above, below = part(1), part(-1)
    if not below:
        return " ".join(above) or "1"
    bottom = below[0] if len(below) == 1 else f"({' '.join(below)})"
    return f"{' '.join(above) or '1'}/{bottom}"


_SI_TABLE = (
    # quantity, SI symbol, base units
    ("number", "1", ""),
    ("length", "m", "m"),
    ("mass", "kg", "kg"),
    ("time", "s", "s"),
    ("angle", "rad", "rad"),
    ("current", "A", "A"),
    ("temperature", "K", "K"),
    ("area", "m^2", "m^2"),
    ("volume", "m^3", "m^3"),
    ("velocity", "m/s", "m s^-1"),
    ("acceleration", "m/s^2", "m s^-2"),
    ("frequency", "Hz", "s^-1"),
    ("angular velocity", "rad/s", "rad s^-1"),
    ("angular acceleration", "rad/s^2", "rad s^-2"),
    ("force", "N", "kg m s^-2"),
    ("torque or energy", "N m", "kg m^2 s^-2"),
    ("power", "W", "kg m^2 s^-3"),
    ("pressure", "Pa", "kg m^-1 s^-2"),
    ("density", "kg/m^3", "kg m^-3"),
    ("inertia", "kg m^2", "kg m^2"),
    ("momentum", "N s", "kg m s^-1"),
    ("angular momentum", "N m s", "kg m^2 s^-1"),
    ("stiffness", "N/m", "kg s^-2"),
    ("damping", "N s/m", "kg s^-1"),
    ("rotational stiffness", "N m/rad", "kg m^2 s^-2 rad^-1"),
    ("rotational damping", "N m s/rad", "kg m^2 s^-1 rad^-1"),
    ("voltage", "V", "kg m^2 s^-3 A^-1"),
    ("resistance", "ohm", "kg m^2 s^-3 A^-2"),
    ("inductance", "H", "kg m^2 s^-2 A^-2"),
    ("capacitance", "F", "kg^-1 m^-2 s^4 A^2"),
    ("charge", "C", "s A"),
    ("magnetic flux", "Wb", "kg m^2 s^-2 A^-1"),
    ("magnetic flux density", "T", "kg s^-2 A^-1"),
)
_NAMES = {_dimension(base): name for name, _, base in _SI_TABLE}
_SI_SYMBOLS = {_dimension(base): symbol for _, symbol, base in _SI_TABLE}

_PREFIXES = {
    "p": 1e-12, "n": 1e-9, "u": 1e-6, "µ": 1e-6, "μ": 1e-6, "m": 1e-3, "c": 1e-2, "d": 1e-1,
    "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12,
}  # fmt: skip

_PREFIXED = {
    "m": "m", "s": "s", "rad": "rad", "A": "A", "K": "K", "Hz": "s^-1", "N": "kg m s^-2", "J": "kg m^2 s^-2",
    "W": "kg m^2 s^-3", "Pa": "kg m^-1 s^-2", "V": "kg m^2 s^-3 A^-1", "ohm": "kg m^2 s^-3 A^-2",
    "Ω": "kg m^2 s^-3 A^-2", "H": "kg m^2 s^-2 A^-2", "F": "kg^-1 m^-2 s^4 A^2", "C": "s A",
    "Wb": "kg m^2 s^-2 A^-1", "T": "kg s^-2 A^-1",
}  # fmt: skip

_TURN = 2.0 * math.pi
_POUND = 0.45359237
_G0 = 9.80665
_SINGLE = {
    # symbol: (factor, base units)
    "1": (1.0, ""),
    "%": (0.01, ""),
    "kg": (1.0, "kg"),
    "g": (1e-3, "kg"),
    "mg": (1e-6, "kg"),
    "t": (1e3, "kg"),
    "lb": (_POUND, "kg"),
    "min": (60.0, "s"),
    "h": (3600.0, "s"),
    "day": (86400.0, "s"),
    "deg": (math.pi / 180.0, "rad"),
    "°": (math.pi / 180.0, "rad"),
    "arcmin": (math.pi / 10800.0, "rad"),
    "arcsec": (math.pi / 648000.0, "rad"),
    "rev": (_TURN, "rad"),
    "turn": (_TURN, "rad"),
    "cycle": (_TURN, "rad"),
    "rpm": (_TURN / 60.0, "rad s^-1"),
    "rps": (_TURN, "rad s^-1"),
    "Nm": (1.0, "kg m^2 s^-2"),
    "kNm": (1e3, "kg m^2 s^-2"),
    "g0": (_G0, "m s^-2"),
    "kph": (1.0 / 3.6, "m s^-1"),
    "kmh": (1.0 / 3.6, "m s^-1"),
    "mph": (0.44704, "m s^-1"),
    "kn": (1852.0 / 3600.0, "m s^-1"),
    "in": (0.0254, "m"),
    "ft": (0.3048, "m"),
    "yd": (0.9144, "m"),
    "mi": (1609.344, "m"),
    "l": (1e-3, "m^3"),
    "L": (1e-3, "m^3"),
    "lbf": (_POUND * _G0, "kg m s^-2"),
    "kgf": (_G0, "kg m s^-2"),
    "kp": (_G0, "kg m s^-2"),
    "bar": (1e5, "kg m^-1 s^-2"),
    "mbar": (1e2, "kg m^-1 s^-2"),
    "atm": (101325.0, "kg m^-1 s^-2"),
    "psi": (_POUND * _G0 / 0.0254**2, "kg m^-1 s^-2"),
    "Wh": (3600.0, "kg m^2 s^-2"),
    "kWh": (3.6e6, "kg m^2 s^-2"),
    "PS": (75.0 * _G0, "kg m^2 s^-3"),
    "hp": (550.0 * _POUND * _G0 * 0.3048, "kg m^2 s^-3"),
}


@cache
def _units() -> dict[str, Unit]:
    """All units by symbol, made when the first text is read."""
    units = {symbol: Unit(symbol, _dimension(base), factor) for symbol, (factor, base) in _SINGLE.items()}
    for symbol, base in _PREFIXED.items():
        dimension = _dimension(base)
        units.setdefault(symbol, Unit(symbol, dimension, 1.0))
        for prefix, factor in _PREFIXES.items():
            units.setdefault(prefix + symbol, Unit(prefix + symbol, dimension, factor))
    units["degC"] = units["°C"] = Unit("degC", _dimension("K"), 1.0, 273.15)
    return units


_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
_TOKEN = (
    r"\s*(?:(?P<times>\*\*|[*·⋅×])|(?P<over>/)|(?P<open>\()|(?P<close>\))"
    r"|(?P<power>\^-?[0-9]+|\^\(-?[0-9]+\)|[⁻]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+)"
    r"|(?P<name>°C|[°%]|1(?![\w.])|[A-Za-zµμΩ]+0?))"
)
_NUMBER = r"\s*([+-]?(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|inf\b))"


class _UnitParser:
    """Recursive descent over  product = power {("*" | " " | "/") power},  power = (name | "(" product ")") ["^" n]."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = self._split(text)
        self.place = 0

    def _split(self, text: str) -> list[tuple[str, str]]:
        text = text.replace("**", "^")
        tokens, place, pattern = [], 0, re.compile(_TOKEN)
        while place < len(text.rstrip()):
            match = pattern.match(text, place)
            if match is None or match.lastgroup is None:
                raise UnitError(f"unit {self.text!r}: cannot read {text[place:]!r}; write it like 'N m' or 'm/s^2'")
            tokens.append((match.lastgroup, match.group(match.lastgroup)))
            place = match.end()
        return tokens

    def _peek(self) -> str:
        return self.tokens[self.place][0] if self.place < len(self.tokens) else "end"

    def parse(self) -> Unit:
        unit = self._product(0)
        if self._peek() != "end":
            raise UnitError(f"unit {self.text!r}: cannot read what follows {self.tokens[self.place - 1][1]!r}")
        return unit

    def _product(self, depth: int) -> Unit:
        if depth > _MAX_DEPTH:
            raise UnitError(f"unit {self.text!r}: parentheses nested deeper than {_MAX_DEPTH}")
        unit = self._power(depth)
        divided = False
        while (kind := self._peek()) in ("times", "over", "name", "open"):
            if kind in ("times", "over"):
                self.place += 1
            elif divided:
                raise UnitError(f"unit {self.text!r}: a product after '/' may be read in two ways; write e.g. 'N/(m s)'")
            divided = divided or kind == "over"
            unit = self._combine(unit, self._power(depth), -1 if kind == "over" else 1)
        return unit

    def _power(self, depth: int) -> Unit:
        kind, word = self.tokens[self.place] if self.place < len(self.tokens) else ("end", "")
        self.place += 1
        if kind == "open":
            unit = self._product(depth + 1)
            if self._peek() != "close":
                raise UnitError(f"unit {self.text!r}: a parenthesis is not closed")
            self.place += 1
        elif kind == "name":
            unit = self._named(word)
        else:
            raise UnitError(f"unit {self.text!r}: a unit name is missing; write it like 'N m', 'm/s^2', 'km/h'")
        if self._peek() == "power":
            exponent = self._exponent(self.tokens[self.place][1])
            self.place += 1
            unit = self._combine(_units()["1"], unit, exponent)
        return unit

    def _exponent(self, word: str) -> int:
        exponent = int(word.translate(_SUPERSCRIPTS).strip("^()"))
        if abs(exponent) > _MAX_EXPONENT:
            raise UnitError(f"unit {self.text!r}: exponent {exponent} is beyond ±{_MAX_EXPONENT}")
        return exponent

    def _named(self, word: str) -> Unit:
        units = _units()
        if word not in units:
            from difflib import get_close_matches

            near = get_close_matches(word, units, 3, 0.4)
            known = f"did you mean {' or '.join(map(repr, near))}?" if near else "known are m, kg, s, rad, deg, N …"
            raise UnitError(f"unit {word!r} in {self.text!r} is unknown; {known}")
        return units[word]

    def _combine(self, a: Unit, b: Unit, exponent: int) -> Unit:
        if (a.offset or b.offset) and len(self.tokens) > 1:
            raise UnitError(f"unit {self.text!r}: degC has an offset and cannot be part of a product; use K")
        dimension = tuple(x + exponent * y for x, y in zip(a.dimension, b.dimension, strict=True))
        try:
            # dividing rather than multiplying by an inverse keeps 'km/h' and its like exact to the last bit
            factor = a.factor * b.factor**exponent if exponent > 0 else a.factor / b.factor**-exponent
        except (OverflowError, ZeroDivisionError):
            factor = 0.0
        if not 0.0 < factor < math.inf or max(map(abs, dimension)) > 10 * _MAX_EXPONENT:
            raise UnitError(f"unit {self.text!r} is beyond the range of numbers; use smaller exponents")
        return Unit(self.text, dimension, factor)


@lru_cache(maxsize=1024)
def unit(symbol: str) -> Unit:
    """The unit written as ``symbol``, e.g. "N m", "m/s^2", "km/h", "kg·m²"; "" and "1" are the pure number.

    >>> unit("km/h").quantity_name
    'velocity'
    """
    if not isinstance(symbol, str):
        raise UnitError(f"unit {symbol!r} is not text; write it like 'mm'")
    if len(symbol) > _MAX_LENGTH:
        raise UnitError(f"unit {symbol[:20]!r}… is longer than {_MAX_LENGTH} characters")
    text = symbol.strip()
    return _UnitParser(text).parse() if text else _units()["1"]


def _mismatch(a: Unit, b: Unit) -> str | None:
    """Why ``a`` cannot become ``b``, or None if it can.

    The radian is a ratio in SI, so 'N m' and 'N m/rad' agree; between 1/s and rad/s it would hide a factor 2π.
    """
    if a.dimension == b.dimension:
        return None
    rest = [(x, y) for i, (x, y) in enumerate(zip(a.dimension, b.dimension, strict=True)) if i != _ANGLE]
    if any(x != y for x, y in rest):
        return f"{a.symbol!r} is a unit of {a.quantity_name}, {b.symbol!r} of {b.quantity_name}"
    plain = _dimension("s^-1")
    if plain in (a.dimension, b.dimension):
        return (
            f"{a.symbol!r} ({a.quantity_name}) and {b.symbol!r} ({b.quantity_name}) differ by a factor 2π that "
            "must be said: write 'rev/s' for a rotation, or divide by 2π yourself"
        )
    return None


def mismatch(a: str, b: str) -> str | None:
    """Why a value in unit ``a`` cannot be expressed in unit ``b``, or None if it can."""
    return _mismatch(unit(a), unit(b))


def unit_in(text: str) -> str:
    """The SI unit of the quantity in a text such as "5 mm", "" for a pure number.

    >>> unit_in("5 mm")
    'm'
    """
    match = re.match(_NUMBER, text)
    symbol = text[match.end() :].strip() if match else ""
    return unit(symbol).si if symbol else ""


def compatible(a: str, b: str) -> bool:
    """Whether a value in unit ``a`` can be expressed in unit ``b``.

    >>> compatible("rpm", "deg/s"), compatible("mm", "N")
    (True, False)
    """
    return mismatch(a, b) is None


def convert(value: T, source: str, target: str) -> T:
    """The value (number or array) given in unit ``source``, expressed in unit ``target``.

    >>> convert(180.0, "deg", "rad")
    3.141592653589793
    """
    a, b = unit(source), unit(target)
    if reason := _mismatch(a, b):
        raise DimensionError(f"cannot convert {source!r} to {target!r}: {reason}")
    if a.factor == b.factor and a.offset == b.offset:
        return value
    number: Any = value
    if a.offset == b.offset == 0.0:
        number = number * (a.factor / b.factor)
    else:
        number = (number * a.factor + a.offset - b.offset) / b.factor
    converted: T = number
    return converted


def unbracketed(symbol: str) -> str:
    """A unit as it stands behind a number, or in brackets there, as in expressions of files: 20[km/h]."""
    return symbol[1:-1].strip() if symbol[:1] == "[" and symbol.find("]") == len(symbol) - 1 else symbol


def quantity(value: str | float, expects: str | None = None) -> float:
    """The SI number meant by text such as "30 deg", "3000 rpm", "2.5 mm"; a bare number is SI already.

    With ``expects`` (any unit of the wanted dimension) the dimension is checked.

    >>> quantity("3000 rpm") == 100 * math.pi
    True
    >>> quantity("2.5 mm", expects="m")
    0.0025
    """
    if not isinstance(value, str):
        try:
            if isinstance(value, bool):
                raise NotReal("it is a truth value")
            return real(value)
        except NotReal as error:
            raise UnitError(f"{short(value)} is not a quantity ({error}); give a number (SI) or text such as '30 deg'") from None
    match = re.match(_NUMBER, value)
    if match is None or len(value) > _MAX_LENGTH:
        raise UnitError(f"quantity {value[:40]!r} does not begin with a number; write it like '30 deg' or '2.5 mm'")
    number, symbol = float(match.group(1)), value[match.end() :].strip()
    if not symbol:
        return number
    given = unit(unbracketed(symbol))
    if expects is not None and (reason := _mismatch(given, unit(expects))):
        raise DimensionError(f"quantity {value!r} should be in {expects!r} or a like unit: {reason}")
    return number * given.factor + given.offset
