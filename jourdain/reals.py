"""The door by which users' numbers come in: what is no real number is refused by what it is, and no number loses a part on the way.

``float()`` and NumPy read texts, dates and bytes as numbers, drop imaginary parts and masks, and raise what ``__float__`` raises; here
all of that ends in one kind of error.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .errors import InputError, short

#: Kinds of numbers that arrays hold as they are: truth values, whole numbers, floating-point numbers.
_PLAIN = "biuf"
_FLOAT = np.dtype(float)
_NO_NUMBERS = (str, bytes, bytearray, memoryview, np.datetime64, np.timedelta64, np.void)


class NotReal(TypeError):
    """Something is no real number; the message says why."""


def real(given: Any) -> float:
    """The real number that something is: of any type with ``__float__``, an array without dimensions, a complex number without imaginary part.

    >>> real(True), real(1 + 0j)
    (1.0, 1.0)
    """
    if given.__class__ is float:
        return given  # type: ignore[no-any-return]
    if isinstance(given, np.ma.MaskedArray) and np.ma.is_masked(given):
        raise NotReal("it is masked")
    if isinstance(given, np.ndarray):
        if given.ndim:
            raise NotReal(f"it is an array of the shape {given.shape}")
        given = given[()]
    if isinstance(given, complex | np.complexfloating):
        if given.imag != 0:
            raise NotReal("it is complex")
        given = given.real
    if isinstance(given, _NO_NUMBERS):
        raise NotReal("it is a text" if isinstance(given, str) else f"it is of type {type(given).__name__}")
    try:
        return float(given)
    except Exception as error:  # whatever a type of the user raises
        raise NotReal(str(error) or type(error).__name__) from error


def reals(given: Any, what: str) -> np.ndarray:
    """The real numbers of an array, list or number, finite or not; ``what`` names them in errors."""
    if given.__class__ is np.ndarray and given.dtype is _FLOAT:
        return given  # type: ignore[no-any-return]
    if given.__class__ is np.ndarray and given.dtype.kind in _PLAIN and given.dtype.itemsize <= 8:
        return given.astype(float, copy=False)  # type: ignore[no-any-return]
    try:
        array = np.ma.asanyarray(given) if isinstance(given, np.ma.MaskedArray) else np.asarray(given)
        if array.dtype.kind in _PLAIN and not np.ma.is_masked(array):
            with np.errstate(over="ignore"):  # longer numbers become infinite
                return np.asarray(array, dtype=float)
        if array.dtype.kind == "c" and not np.ma.is_masked(array) and not array.imag.any():
            return np.asarray(array.real, dtype=float)
        return np.array([real(x) for x in array.ravel()], dtype=float).reshape(array.shape)
    except Exception as error:  # rows of several lengths, or whatever a type of the user raises
        raise InputError(f"{what} = {short(given)} are no real numbers ({error})") from error


def written(word: str) -> float:
    """The number that a text in a file is, in the digits 0 to 9; Python also takes those of other scripts, and underscores between them."""
    if "_" in word or not word.isascii():
        raise ValueError(f"could not convert string to float: {word!r}")
    return float(word)


__all__ = ["NotReal", "real", "reals", "written"]
