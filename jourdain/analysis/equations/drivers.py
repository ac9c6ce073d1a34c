"""Prescribed motions of coordinates over time: expressions (derivatives derived), functions, tables, constants."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import InputError
from ...model.values import number
from ...reals import reals
from ...symbolic.derivatives import jvp
from ...symbolic.expr import ONE, Expr, as_expr
from ...symbolic.graph import evaluate

if TYPE_CHECKING:
    from ...systems.system import System

#: Position, velocity and acceleration at a time.
Driver = Callable[[float], tuple[float, float, float]]


def driver(system: System, name: str, given: Any, times: np.ndarray) -> Driver:
    """A motion from an expression of the model's time, a function of time, values at the ``times``, or a constant."""
    if isinstance(given, Expr):
        return _symbolic(system, name, given)
    if callable(given):
        return _traced(system, name, given)
    if isinstance(given, str) or np.ndim(given) == 0:
        value = number(given, f"motion of '{name}'")
        return lambda t: (value, 0.0, 0.0)
    return table_driver(name, times, reals(given, f"motion of '{name}'"))


def _symbolic(system: System, name: str, motion: Expr) -> Driver:
    eq = system.equations_of_motion
    rate = jvp([motion], {eq.t: ONE})[0]
    terms = [motion, rate, jvp([rate], {eq.t: ONE})[0]]
    parameters = dict(zip(eq.p, system.parameter_vector, strict=True))

    def at(t: float) -> tuple[float, float, float]:
        x, v, a = evaluate(terms, parameters | {eq.t: t})
        return float(x), float(v), float(a)

    try:
        at(0.0)
    except KeyError:
        raise InputError(f"motion of '{name}': {motion} must depend on the model's time and parameters alone") from None
    return at


def _traced(system: System, name: str, function: Callable[..., Any]) -> Driver:
    """A Python function called once with the symbol of time, so that its derivatives are exact."""
    try:
        motion = as_expr(function(system.equations_of_motion.t))
    except (TypeError, ValueError, AttributeError) as error:
        raise InputError(
            f"motion of '{name}': the function cannot be followed symbolically ({error}); use jd.sin, jd.cos … in it, or give values at the times"
        ) from None
    return _symbolic(system, name, motion)


def table_driver(name: str, times: np.ndarray, values: np.ndarray) -> Driver:
    """A smooth curve (spline of degree five) through values at times."""
    from scipy.interpolate import make_interp_spline

    if values.shape != times.shape:
        raise InputError(f"motion of '{name}': {values.shape} values for {times.shape} times; give one for each time")
    if len(times) < 2:
        raise InputError(f"motion of '{name}': a table needs at least two times")
    spline = make_interp_spline(times, values, k=min(5, len(times) - 1))
    first, second = spline.derivative(), spline.derivative(2) if spline.k > 1 else lambda t: 0.0
    return lambda t: (float(spline(t)), float(first(t)), float(second(t)))
