"""Roads as functions z = f(x, y) of the place, for tyres and contacts; heights and lengths in m."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..errors import ModelError
from ..symbolic.expr import Expr, as_expr
from ..symbolic.functions import cos, sin, where
from ..symbolic.tables import table

Road = Callable[[Expr, Expr], Expr]
_TURN = 2.0 * 3.141592653589793


def flat(level: Any = 0.0, slope: Any = 0.0, bank: Any = 0.0) -> Road:
    """A plane: z = level + slope·x + bank·y.

    >>> float(flat(level=0.1)(as_expr(3.0), as_expr(0.0)))
    0.1
    """
    return lambda x, y: as_expr(level) + as_expr(slope) * x + as_expr(bank) * y


def bump(height: Any, start: Any, length: Any, lower: Any = None, upper: Any = None) -> Road:
    """A bump h/2·(1 − cos 2πs) over 0 ≤ s = (x − start)/length ≤ 1, continuous in slope, across the road or for lower < y < upper.

    >>> round(float(bump(0.1, 10.0, 2.0)(as_expr(11.0), as_expr(0.0))), 12)
    0.1
    """
    _positive(length, "bump: length")

    def road(x: Expr, y: Expr) -> Expr:
        s = (x - start) / length
        z = where(s > 0, where(s < 1, 0.5 * as_expr(height) * (1.0 - cos(_TURN * s)), 0.0), 0.0)
        if lower is not None:
            z = where(y > lower, z, 0.0)
        return z if upper is None else where(y < upper, z, 0.0)

    return road


def sinusoidal(amplitude: Any, wavelength: Any, phase: Any = 0.0, warp: Any = 0.0) -> Road:
    """Waves z = A sin(2πx/λ + phase + warp·y); ``warp`` (rad/m) makes left and right differ.

    >>> round(float(sinusoidal(0.02, 4.0)(as_expr(1.0), as_expr(0.0))), 12)
    0.02
    """
    _positive(wavelength, "sinusoidal road: wavelength")
    return lambda x, y: as_expr(amplitude) * sin(_TURN * x / wavelength + phase + as_expr(warp) * y)


def profile(x: Sequence[float], z: Sequence[float], right: Sequence[float] | None = None, kind: str = "spline") -> Road:
    """A measured profile z over x, held beyond its ends; with ``right`` the heights for y < 0 (``z`` for y > 0).

    >>> import jourdain as jd
    >>> x, y = jd.symbols("x y")
    >>> round(float(jd.evaluate(profile([0.0, 1.0, 2.0], [0.0, 0.1, 0.0])(x, y), {x: 1.0, y: 0.5})), 12)
    0.1
    """
    left_table = table(x, z, kind=kind, name="road")
    if right is None:
        return lambda px, py: left_table(px)
    right_table = table(x, right, kind=kind, name="right track")
    return lambda px, py: where(py > 0, left_table(px), right_table(px))


def _positive(given: Any, what: str) -> None:
    e = as_expr(given)
    if e.is_number and not float(e) > 0:
        raise ModelError(f"{what} {float(e):g} m must be positive")


__all__ = ["Road", "bump", "flat", "profile", "sinusoidal"]
