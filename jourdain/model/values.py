"""Numbers, units, axes and rotations as the user may write them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import InputError, JourdainError, ModelError, NumberError, short
from ..reals import NotReal, real
from ..symbolic.expr import ONE, PARAMETER, Expr, as_expr, constant, div
from ..symbolic.functions import sqrt
from ..symbolic.vectors import AXES, IDENTITY, NULL, Matrix, Vector, axis_rotation, quaternion_rotation
from ..told import nested, of_the_call, outside
from .colours import colour_code
from .dimensions import clash, declared_units

_LETTERS = {"x": 0, "y": 1, "z": 2}


def _quantity(text: str, expects: str | None) -> float:
    """A number with a unit in SI; units load with the first text."""
    from .units import quantity

    return quantity(text, expects)


def value(given: Any, what: str, expects: str | None = None, law: bool = False) -> Expr:
    """An expression from a number, an expression or a text with a unit such as "30 deg"; ``what`` names it in errors.

    ``expects`` is a unit of the dimension that a text must have, and what is made of parameters with units.  A ``law`` that the package itself has made
    of what it was given is not judged again: its factors of one may have units.
    """
    if given.__class__ is Expr:
        if expects is not None and given.op != "const" and not (law and nested()):
            _check_dimension(given, what, expects)
        return given  # type: ignore[no-any-return]
    try:
        found = _quantity(given, expects) if isinstance(given, str) else real(given)
    except (NotReal, ValueError) as error:
        from .units import DimensionError

        if isinstance(error, DimensionError):
            raise NumberError(f"{what}: {error}") from None
        raise NumberError(f"{what}: {short(given)} is not a number, an expression or a text with a unit ({error})") from None
    if not math.isfinite(found):
        raise NumberError(f"{what}: {found if isinstance(given, float) else short(given)} is not a finite number")
    return constant(found)


def _check_dimension(given: Expr, what: str, expects: str) -> None:
    """What was declared with a unit, and what is made of it, stands only where its dimension fits; a law of the motion that does not is told, and taken."""
    if given.op != "symbol":
        if found := clash(given, expects):
            told = f"{what}: {found.term} {found.found} does not fit {found.wanted}; check the units of its parameters"
            if not given.deps & ~PARAMETER:
                raise ModelError(told)
            warnings.warn(told, stacklevel=outside())
        return
    declared = declared_units.get(given)
    if declared is None:
        return
    from .units import mismatch

    if reason := mismatch(declared, expects):
        raise ModelError(f"{what}: {given.data[1]} '{given.name}' should be in {expects!r} or a like unit: {reason}")


def values(what: str, *items: tuple[str, Any, str]) -> list[Expr]:
    """Several values of one object: (name, what was given, a unit of its dimension) each."""
    return [value(given, f"{what}: {name}", expects) for name, given, expects in items]


def vector(given: Any, what: str, expects: str | None = None, law: bool = False) -> Vector:
    """Three values."""
    if isinstance(given, Vector):
        return given
    try:
        items = list(given)
    except TypeError:
        items = []
    if len(items) != 3:
        raise ModelError(f"{what}: {given!r} is not a vector of three values")
    if all(type(e) is int or type(e) is float for e in items) and not any(items):
        return NULL
    return Vector(*(value(e, what, expects, law) for e in items))


def unit_axis(given: Any, what: str) -> Vector:
    """A unit vector from "x", "-y", … or from three components, normalised."""
    if isinstance(given, str):
        letter = given.lstrip("+-").lower()
        if letter not in _LETTERS or len(given) > 2:
            raise ModelError(f"{what}: axis '{given}' is unknown; use 'x', 'y', 'z', '-x', … or three components")
        axis = AXES[_LETTERS[letter]]
        return -axis if given.startswith("-") else axis
    n = vector(given, what)
    if all(e.is_number for e in n):
        numbers = np.array([float(e) for e in n])
        length = float(np.linalg.norm(numbers))
        if length < 1e-12:
            raise ModelError(f"{what}: axis {tuple(float(x) for x in numbers)} has no direction")
        return n if length == 1.0 else Vector.of(numbers / length)
    return n * div(ONE, sqrt(n.dot(n)))


def rotation(given: Any, what: str) -> Matrix:
    """A rotation from: None, a 3×3 matrix, an (axis, angle) pair, a list of such pairs (applied about moving axes in
    the order written), or a dict with one of the keys "rpy" (fixed axes x, y, z), "quaternion" (scalar first), "matrix".
    """
    if given is None:
        return IDENTITY
    if isinstance(given, Matrix):
        return given
    if isinstance(given, dict):
        return _rotation_from_dict(given, what)
    items = list(given) if isinstance(given, (list, tuple, np.ndarray)) else []
    if len(items) == 2 and _is_axis(items[0]) and not isinstance(items[1], (list, tuple, np.ndarray)):
        return axis_rotation(list(unit_axis(items[0], what)), value(items[1], what, "rad"))
    if len(items) == 3 and all(_is_triple(row) for row in items):
        return _checked_matrix(items, what)
    if items and all(isinstance(pair, (list, tuple)) and len(pair) == 2 for pair in items):
        total = IDENTITY
        for axis, angle in items:
            total = total @ axis_rotation(list(unit_axis(axis, what)), value(angle, what, "rad"))
        return total
    raise ModelError(f"{what}: {given!r} is not a rotation; give (axis, angle), a list of such pairs, a 3×3 matrix or {{'rpy': …}}")


def _is_triple(given: Any) -> bool:
    return isinstance(given, Vector) or (isinstance(given, (list, tuple, np.ndarray)) and len(given) == 3)


def _is_axis(given: Any) -> bool:
    return isinstance(given, str) or _is_triple(given)


def _rotation_from_dict(given: dict[str, Any], what: str) -> Matrix:
    if len(given) == 1:
        (key, data), *_ = given.items()
        if key == "rpy":
            return rpy_rotation(data, what)
        if key == "quaternion":
            return _quaternion(data, what)
        if key == "matrix":
            return _checked_matrix(data, what)
    raise ModelError(f"{what}: a rotation given as a dict has one key 'rpy', 'quaternion' or 'matrix', got {sorted(given)}")


def rpy_rotation(angles: Sequence[Any], what: str) -> Matrix:
    """Roll, pitch, yaw about fixed axes x, y, z: R = Rz(yaw) Ry(pitch) Rx(roll)."""
    r, p, y = vector(angles, what, "rad")
    z, yy, x = (axis_rotation(list(AXES[k]), a) for k, a in ((2, y), (1, p), (0, r)))
    return z @ yy @ x  # type: ignore[no-any-return]


def _quaternion(data: Sequence[Any], what: str) -> Matrix:
    if not isinstance(data, (list, tuple, np.ndarray)) or len(data) != 4:
        raise ModelError(f"{what}: a quaternion has four components (scalar first), got {data!r}")
    items = [value(e, what, "1") for e in data]
    if all(e.is_number for e in items):
        numbers = np.array([float(e) for e in items])
        length = float(np.linalg.norm(numbers))
        if length < 1e-12:
            raise ModelError(f"{what}: the quaternion {numbers.tolist()} has no direction")
        items = [as_expr(x) for x in numbers / length]
    return quaternion_rotation(*items)


def _checked_matrix(data: Any, what: str) -> Matrix:
    if not isinstance(data, (list, tuple, np.ndarray)) or len(data) != 3 or not all(_is_triple(row) for row in data):
        raise ModelError(f"{what}: {data!r} is not a 3×3 matrix")
    R = Matrix.of([[value(e, what, "1") for e in row] for row in data])
    if all(e.is_number for e in R.entries):
        numbers = np.array([float(e) for e in R.entries]).reshape(3, 3)
        if np.abs(numbers @ numbers.T - np.eye(3)).max() > 1e-9 or np.linalg.det(numbers) < 0:
            raise ModelError(f"{what}: the matrix {numbers.tolist()} is not a right-handed rotation")
    return R


def colour_of(given: str | None, other: str | None, what: str) -> str | None:
    """A colour "#rrggbb" as it was given under either spelling, or None."""
    if given is not None and other is not None:
        raise ModelError(f"{what}: colour={given!r} and color={other!r} are given; leave one out")
    found = other if given is None else given
    return None if found is None else colour_code(found, what)


def number(given: Any, what: str, expects: str | None = None) -> float:
    """A plain number (with a unit, of the dimension of ``expects``, if written as text)."""
    if given.__class__ is float and math.isfinite(given):
        return given  # type: ignore[no-any-return]
    e = value(given, what, expects)
    if not e.is_number:
        raise InputError(f"{what}: a number is needed, got the expression {e}")
    return float(e)


def instant(given: Any, what: str) -> Any:
    """Seconds of a time that is written with its unit ("2 ms"); all else as it is."""
    return number(given, what, "s") if isinstance(given, str) else given


def seconds(given: Any, what: str) -> float:
    """A time (s), perhaps written with its unit."""
    return real(instant(given, what))


def traced(law: Callable[..., Any], what: str, *symbols: Any) -> Any:
    """What a law gives for symbols; one that gives something else each time it is asked cannot be written down once."""
    try:
        given, again = law(*symbols), law(*symbols)
    except JourdainError as error:
        if type(error) is InputError:  # of an operation, which does not know whose it is
            raise InputError(f"{what}: {error}") from error
        raise
    except Exception as error:
        called = f"it is called with {', '.join(map(str, symbols)) or 'nothing'}"
        if of_the_call(error):
            raise InputError(f"{what}: the function does not fit ({error}); {called}") from None
        raise InputError(
            f"{what} raised {type(error).__name__}: {error}; {called}, and must give a number or an expression of it"
        ) from error
    numbers = isinstance(given, (int, float)) and isinstance(again, (int, float))
    if numbers and given != again and not (given != given and again != again):
        raise InputError(
            f"{what} gives {given!r} and then {again!r}: laws are read once, with symbols, so that a number drawn or read from a clock would stay "
            "as it is; use a controller (jd.Controller) or a callback (m.callback), which run in Python"
        )
    return given
