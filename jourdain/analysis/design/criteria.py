"""Criteria: what a design is judged by, as data.  A criterion says which number of an analysis is meant; :mod:`.measure` finds it.

Expressions are texts of the language of model files, ``"t^2*driver.acceleration.z^2"``, or expressions of the model.  They may speak of
time, parameters, coordinates, rates, accelerations, sensors, links, inputs, states, outputs, energies, reactions (``hinge.reaction.x``)
and multipliers (``'loop.1.multiplier'``), and of constants of their own: ``integral("(front.travel/s)^6", s=0.08)``.

>>> comfort = integral("t^2*driver.acceleration.z^2")
>>> print(comfort)
integral of t^2*driver.acceleration.z^2
>>> print(largest("abs(front.travel)") <= "120 mm")
largest abs(front.travel) <= 0.12
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...errors import InputError, nearest, short
from ...model.values import number
from ...reals import reals
from ...symbolic.expr import Expr
from ...told import told_name

Text = str | Expr
Bound = float | str

#: Criteria of a motion in time, and those of other verbs.
OF_MOTION = (
    "integral", "mean", "rms", "final", "at", "largest", "smallest", "event_time", "end_time", "least_squares", "moving_average",
    "sustained", "cfc", "iso2631",
)  # fmt: skip
OF_OTHERS = ("eigenvalue", "damping_ratio", "frequency", "value", "entry", "response")


@dataclass(frozen=True)
class Criterion:
    """One number of an analysis: its ``kind``, the expression it is about, options of the kind, and constants of the expression."""

    kind: str
    expression: Text | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    #: Constants of its own in the expression, by name; they may be variables of a gradient.
    constants: Mapping[str, float] = field(default_factory=dict)

    @property
    def parts(self) -> Mapping[str, Criterion]:
        """What it is made of, by name; nothing unless it is combined."""
        found: Mapping[str, Criterion] = self.options.get("of", {})
        return found

    def with_constants(self, **constants: float) -> Criterion:
        """The same with other constants."""
        strange = [n for n in constants if n not in self.constants]
        if strange:
            raise InputError(f"criterion '{self}' has no constant '{strange[0]}'; it has {', '.join(self.constants) or 'none'}")
        return Criterion(self.kind, self.expression, self.options, {**self.constants, **constants})

    def __le__(self, bound: Bound) -> Constraint:
        return Constraint(self, upper=_bound(bound, self), written=_written(bound))

    def __ge__(self, bound: Bound) -> Constraint:
        return Constraint(self, lower=_bound(bound, self), written=_written(bound))

    def equals(self, value: Bound) -> Constraint:
        """The constraint that it has this value."""
        found = _bound(value, self)
        return Constraint(self, found, found, _written(value))

    def between(self, lower: Bound, upper: Bound) -> Constraint:
        """The constraint that it lies between two values."""
        low, high = _bound(lower, self), _bound(upper, self)
        if low > high:
            raise InputError(f"criterion '{self}': the bounds {low:g} and {high:g} are crossed")
        return Constraint(self, low, high, _written(lower, upper))

    def __str__(self) -> str:
        about = "" if self.expression is None else str(self.expression)
        word = {"integral": "integral of", "mean": "mean of", "rms": "rms of", "least_squares": "least squares of"}.get(
            self.kind, self.kind
        )
        if self.parts:
            return f"{about} with " + ", ".join(f"{n} = {c}" for n, c in self.parts.items())
        shown = ", ".join(f"{k} = {x if np.ndim(x) == 0 else '…'}" for k, x in self.options.items() if x is not None)
        return " ".join(p for p in (word.replace("_", " "), about, f"({shown})" if shown else "") if p)

    def __hash__(self) -> int:
        return id(self)


@dataclass(frozen=True)
class Constraint:
    """A criterion that must lie between two bounds."""

    criterion: Criterion
    lower: float = -np.inf
    upper: float = np.inf
    #: Bounds as they were written, where with units: whether they fit is known when the criterion has a model.
    written: tuple[str, ...] = ()

    def check(self, name: str, unit: str | None) -> None:
        """Refuses bounds in units that are none of the criterion's own, where that one is known."""
        for text in self.written if unit is not None else ():
            number(text, f"constraint '{name}' ({self.criterion}): bound", unit)

    @property
    def equality(self) -> bool:
        """Whether both bounds are one."""
        return self.lower == self.upper

    def violation(self, value: float) -> float:
        """By how much a value misses the bounds; 0 within."""
        return max(self.lower - value, value - self.upper, 0.0)

    def __str__(self) -> str:
        if self.equality:
            return f"{self.criterion} = {self.lower:g}"
        low = f"{self.lower:g} <= " if np.isfinite(self.lower) else ""
        return f"{low}{self.criterion}" + (f" <= {self.upper:g}" if np.isfinite(self.upper) else "")


def _bound(given: Bound, criterion: Criterion) -> float:
    """A bound as a number in SI."""
    return number(given, f"bound of criterion '{criterion}'")


def _written(*bounds: Bound) -> tuple[str, ...]:
    """Bounds that may have a unit."""
    return tuple(b for b in bounds if isinstance(b, str))


def _about(kind: str, expression: Any, constants: Mapping[str, Any], **options: Any) -> Criterion:
    if not isinstance(expression, (str, Expr)):
        raise InputError(f"criterion {kind}: {expression!r} is neither a text nor an expression of the model")
    own = {n: number(x, f"criterion {kind}: constant '{n}'") for n, x in constants.items()}
    return Criterion(kind, expression, options, own)


# -- of a motion in time ----------------------------------------------------------------------------------------------


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    near = nearest(name, __all__, 1)
    raise AttributeError(f"there is no criterion '{name}'; " + (f"did you mean {near[0]}?" if near else f"there are {', '.join(__all__)}"))


def integral(expression: Text, **constants: Any) -> Criterion:
    """∫ F dt over the run."""
    return _about("integral", expression, constants)


def mean(expression: Text, **constants: Any) -> Criterion:
    """∫ F dt over the run, by its duration."""
    return _about("mean", expression, constants)


def rms(expression: Text, **constants: Any) -> Criterion:
    """The root of the mean of F²."""
    return _about("rms", expression, constants)


def final(expression: Text, **constants: Any) -> Criterion:
    """The value at the end of the run."""
    return _about("final", expression, constants)


def at(t: float | str, expression: Text, **constants: Any) -> Criterion:
    """The value at an instant (s)."""
    if isinstance(t, str) and isinstance(expression, (int, float)):
        raise InputError(f"criterion at: the instant comes first: at({expression!r}, {t!r})")
    return _about("at", expression, constants, t=number(t, "criterion at: t", "s"))


def largest(expression: Text, smooth: float | None = None, **constants: Any) -> Criterion:
    """The largest value in the run, at the located maximum; ``smooth=p`` takes (mean of Fᵖ)^(1/p) instead, which is less."""
    power = None if smooth is None else number(smooth, "criterion largest: smooth", "1")
    if power is not None and not power > 1:
        raise InputError(f"criterion largest: smooth = {short(smooth)} must be greater than 1")
    return _about("largest", expression, constants, smooth=power)


def smallest(expression: Text, **constants: Any) -> Criterion:
    """The smallest value in the run, at the located minimum."""
    return _about("smallest", expression, constants)


def event_time(event: str, count: int = 1) -> Criterion:
    """When an event of the model happens, the first time or the ``count``-th."""
    if int(count) != count or count < 1:
        raise InputError(f"criterion event_time: count = {short(count)} must be a whole number from 1 on")
    return Criterion("event_time", None, {"event": event, "count": int(count)})


def end_time() -> Criterion:
    """When the run ends (by a terminal event)."""
    return Criterion("end_time")


def least_squares(expression: Text, times: Any, values: Any, weights: Any = None, **constants: Any) -> Criterion:
    """½ Σ wᵢ (F(tᵢ) − yᵢ)² against data; weights are 1 by default."""
    t, y = (reals(x, f"criterion least_squares: {n}").ravel().copy() for x, n in ((times, "times"), (values, "values")))
    w = np.broadcast_to(reals(1.0 if weights is None else weights, "criterion least_squares: weights"), t.shape).copy()
    if t.shape != y.shape or not t.size or not (np.isfinite(t).all() and np.isfinite(y).all() and np.isfinite(w).all()):
        raise InputError(f"criterion least_squares: {t.size} times and {y.size} values must be as many, finite, and at least one")
    return _about("least_squares", expression, constants, times=t, values=y, weights=w)


def moving_average(expression: Text, window: float | str, **constants: Any) -> Criterion:
    """The largest mean of F over any ``window`` (s) of the run."""
    return _about("moving_average", expression, constants, window=_window("moving_average", window))


def sustained(expression: Text, window: float | str, **constants: Any) -> Criterion:
    """The largest |F(t + w) − F(t)|/w over any ``window`` w (s) of the run: of a speed, the largest mean acceleration, exact though accelerations jump."""
    return _about("sustained", expression, constants, window=_window("sustained", window))


def _window(kind: str, given: float | str) -> float:
    width = number(given, f"criterion {kind}: window", "s")
    if not width > 0:
        raise InputError(f"criterion {kind}: the window {width:g} s must be positive")
    return width


def cfc(expression: Text, channel_class: int = 60, **constants: Any) -> Criterion:
    """The largest |F| after the filter of a channel frequency class (SAE J211-1: 60, 180, 600, 1000), as accelerations of crashes are judged."""
    if channel_class not in (60, 180, 600, 1000):
        raise InputError(f"criterion cfc: there is no channel class {channel_class!r}; use 60, 180, 600 or 1000")
    return _about("cfc", expression, constants, **{"class": int(channel_class)})


def iso2631(expression: Text, weighting: str = "Wk", **constants: Any) -> Criterion:
    """The root mean square of an acceleration with the frequency weighting of ISO 2631-1: "Wk" (vertical) or "Wd" (along and across the back)."""
    if weighting not in ("Wk", "Wd"):
        raise InputError(f"criterion iso2631: there is no weighting {weighting!r}; use 'Wk' (vertical) or 'Wd' (horizontal)")
    return _about("iso2631", expression, constants, weighting=weighting)


# -- of other verbs ---------------------------------------------------------------------------------------------------


def _place(index: Any, what: str) -> int:
    """The number of a mode, from 0 on; −1 is the last."""
    if isinstance(index, bool) or int(index) != index:
        raise InputError(f"criterion {what}: index = {index!r} must be a whole number, 0 for the first")
    return int(index)


def eigenvalue(index: int, part: str = "real") -> Criterion:
    """Real or imaginary part of an eigenvalue of ``modal``, in its order."""
    if part not in ("real", "imag", "abs"):
        raise InputError(f"criterion eigenvalue: part '{part}' is unknown; use 'real', 'imag' or 'abs'")
    return Criterion("eigenvalue", None, {"index": _place(index, "eigenvalue"), "part": part})


def frequency(index: int) -> Criterion:
    """The undamped frequency (Hz) of a mode of ``modal``."""
    return Criterion("frequency", None, {"index": _place(index, "frequency")})


def damping_ratio(index: int) -> Criterion:
    """The damping ratio of a mode of ``modal``."""
    return Criterion("damping_ratio", None, {"index": _place(index, "damping_ratio")})


def entry(matrix: str, row: int | str, column: int | str) -> Criterion:
    """An entry of A, B, C or D of ``linearise``; rows and columns by number or by the names of states, inputs and outputs."""
    if matrix not in ("A", "B", "C", "D"):
        raise InputError(f"criterion entry: there is no matrix {matrix!r}; use 'A', 'B', 'C' or 'D'")
    return Criterion("entry", None, {"matrix": matrix, "row": row, "column": column})


def response(frequency: float | str | None = None, part: str = "abs") -> Criterion:
    """A ``frequency_response`` at one of its frequencies (Hz), or where it is largest among them; ``part``: "abs", "phase" (rad), "real" or "imag"."""
    if part not in ("abs", "phase", "real", "imag"):
        raise InputError(f"criterion response: part {part!r} is unknown; use 'abs', 'phase', 'real' or 'imag'")
    return Criterion(
        "response", None, {"frequency": None if frequency is None else number(frequency, "criterion response: frequency"), "part": part}
    )


def value(expression: Text, **constants: Any) -> Criterion:
    """The value of an expression at the state that a verb without time finds: equilibrium, assemble, static_forces (``hinge.actuator``)."""
    return _about("value", expression, constants)


def combined(expression: str, **parts: Any) -> Criterion:
    """An expression of other criteria and of constants: ``combined("(LE - goal)^2", LE=largest("coupler.energy"), goal="1.4 MJ")``."""
    if not isinstance(expression, str):
        raise InputError(f"criterion combined: {expression!r} is no text, such as 'a + b' with a=largest('…'), b=final('…')")
    made = {n: c for n, c in parts.items() if isinstance(c, Criterion)}
    if not made:
        raise InputError(f"criterion combined '{expression}': it is made of no other; give one by name, such as a=largest('…')")
    return _about("combined", expression, {n: x for n, x in parts.items() if n not in made}, of=made)


def total(*parts: Criterion) -> Criterion:
    """The sum of other criteria: ``total(largest("front.crush"), largest("rear.crush"))``."""
    names = {f"part{i}": c for i, c in enumerate(parts, 1)}
    return combined(" + ".join(names) or "nothing", **names)


def named(criteria: Any) -> dict[str, Criterion]:
    """Criteria by name: a mapping, a list, or one alone; a text is the integral of nothing else than what it says, and refused."""
    if isinstance(criteria, Criterion):
        criteria = [criteria]
    if isinstance(criteria, Mapping):
        found = dict(criteria)
    elif isinstance(criteria, Sequence) and not isinstance(criteria, str):
        found = {str(c): c for c in criteria}
    else:
        raise InputError(f"criteria: {criteria!r} is no criterion; write jd.criteria.integral('…'), final, largest, …")
    for name, c in found.items():
        if not isinstance(c, Criterion):
            raise InputError(f"criterion '{name}': {c!r} is none; write jd.criteria.integral('…'), final, largest, …")
    if not found:
        raise InputError("criteria: none are given")
    return found


__all__ = [
    "Constraint", "Criterion", "at", "cfc", "combined", "damping_ratio", "eigenvalue", "end_time", "entry", "event_time", "final", "frequency", "integral", "iso2631", "largest",
    "least_squares", "mean", "moving_average", "response", "rms", "smallest", "sustained", "total", "value",
]  # fmt: skip

for _name in __all__:
    told_name(sys.modules[__name__], _name)
