"""The mathematical functions a law may use; each accepts numbers, expressions and arrays of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .expr import Expr, _elementwise, as_expr, binary, unary, where


def _one(op: str) -> Callable[[Any], Any]:
    def function(x: Any) -> Any:
        if isinstance(x, np.ndarray) and x.ndim:
            return _elementwise(lambda e: unary(op, e), x)
        return unary(op, as_expr(x))

    function.__name__ = function.__qualname__ = op
    function.__doc__ = f"{op}(x) as an expression."
    return function


def _two(op: str) -> Callable[[Any, Any], Any]:
    def function(x: Any, y: Any) -> Any:
        if (isinstance(x, np.ndarray) and x.ndim) or (isinstance(y, np.ndarray) and y.ndim):
            return _elementwise(lambda a, b: binary(op, a, b), x, y)
        return binary(op, as_expr(x), as_expr(y))

    function.__name__ = function.__qualname__ = op
    function.__doc__ = f"{op}(x, y) as an expression."
    return function


sqrt, exp, log = _one("sqrt"), _one("exp"), _one("log")
sin, cos, tan = _one("sin"), _one("cos"), _one("tan")
asin, acos, atan = _one("asin"), _one("acos"), _one("atan")
sinh, cosh, tanh = _one("sinh"), _one("cosh"), _one("tanh")
absolute, sign, floor = _one("abs"), _one("sign"), _one("floor")
atan2, minimum, maximum = _two("atan2"), _two("min"), _two("max")


def step(x: Any, x0: Any, x1: Any, y0: Any = 0.0, y1: Any = 1.0) -> Expr:
    """Smooth step from y0 (x ≤ x0) to y1 (x ≥ x1): the quintic 10s³ − 15s⁴ + 6s⁵, twice continuously differentiable."""
    x, x0, x1, y0, y1 = (as_expr(e) for e in (x, x0, x1, y0, y1))
    s = minimum(maximum((x - x0) / (x1 - x0), 0.0), 1.0)
    return y0 + (y1 - y0) * (s * s * s) * (10.0 - s * (15.0 - 6.0 * s))


def clip(x: Any, low: Any, high: Any) -> Expr:
    """x limited to the interval [low, high]."""
    return minimum(maximum(x, low), high)


def positive_part(x: Any) -> Expr:
    """max(x, 0): the compressed length of a one-sided spring."""
    return maximum(x, 0.0)


__all__ = [
    "absolute", "acos", "asin", "atan", "atan2", "clip", "cos", "cosh", "exp", "floor", "log", "maximum", "minimum",
    "positive_part", "sign", "sin", "sinh", "sqrt", "step", "tan", "tanh", "where",
]  # fmt: skip
