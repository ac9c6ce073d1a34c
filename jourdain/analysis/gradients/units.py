"""Units of criteria and of their derivatives, from the units of what they speak of.

A text names channels, parameters and constants, whose units are known; numbers count as pure numbers.  Where the unit of a name is not known, or terms of
different units are added, the unit of the criterion is not known either.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ...errors import InputError, JourdainError
from ...model.units import BASE, Unit, unit
from ...results.solution import Solution
from ...symbolic.expr import Expr, symbol
from ...symbolic.graph import topological

if TYPE_CHECKING:
    from ...model.parameters import Parameters
    from ...systems.system import System
    from ..design.criteria import Criterion
    from .gradient import Gradient

Dimension = tuple[int, ...]
_NONE: Dimension = (0,) * len(BASE)
_SECOND = tuple(int(name == "s") for name in BASE)
#: The duration of a run that only tells units (s).
INSTANT = 1e-6
#: Functions whose value has the unit of their argument, and those that give pure numbers.
_SAME, _PURE = ("neg", "abs", "min", "max", "floor"), ("sign", "lt", "le", "and", "or", "not", "atan2")
#: Powers of the second that kinds of criteria add, and units of those without an expression.
_BY_TIME = {"integral": 1, "sustained": -1}
_OWN = {"event_time": "s", "end_time": "s", "eigenvalue": "1/s", "frequency": "Hz", "damping_ratio": "1"}


def units_of(g: Gradient) -> dict[str, dict[str, str | None]]:
    """The unit of every entry by criterion and variable; None where it is not known."""
    known = {name: variable_dimension(g, name) for name in g.variables}
    found: dict[str, dict[str, str | None]] = {}
    for name, c in g.criteria.items():
        own = dimension_of(g, c)
        found[name] = {n: None if own is None or d is None else _text(_times(own, d, -1)) for n, d in known.items()}
    return found


def value_units(g: Gradient) -> dict[str, str | None]:
    """The unit of every criterion; None where it is not known."""
    found = {name: dimension_of(g, c) for name, c in g.criteria.items()}
    return {name: None if d is None else _text(d) for name, d in found.items()}


def variable_dimension(g: Gradient, name: str) -> Dimension | None:
    """The dimension of a parameter or of an initial value; None of constants of criteria."""
    if any(name == f"{c}.{n}" for c, criterion in g.criteria.items() for n in criterion.constants):
        return None
    kind, own = g.analysis.variable(name)
    model = g.analysis.system.model
    if kind == "parameter":
        return _dimension(model.parameter_set[own].unit)
    return _dimension(state_unit(g.analysis.system, own))


def state_unit(system: System, name: str) -> str:
    """The unit of a coordinate or of its rate; "" where none is known."""
    c = system.configuration
    if name in c.position_names:
        return c.units[c.position_names.index(name)] or ""
    for k in c.coordinates:
        if name in k.velocity_names and not k.is_quaternion:
            position = c.units[c.position_names.index(k.names[0])]
            return f"{position}/s" if position else ""
    return ""


def dimension_of(g: Gradient, c: Criterion) -> Dimension | None:
    """The dimension of a criterion, if it is known."""
    return _dimension_in(g.analysis.system.model.parameter_set, g.result, c)


def units_in_run(system: System, start: Any, criteria: Mapping[str, Criterion]) -> dict[str, str | None]:
    """Units of criteria of motions, as far as the channels of a very short run tell them."""
    try:
        state = system.state(start)
        run = system.simulate(state, (state.t, state.t + INSTANT), dense=False)
    except JourdainError:  # runs of the study itself tell what is wrong
        return dict.fromkeys(criteria)
    found = {n: _dimension_in(system.model.parameter_set, run, c) for n, c in criteria.items()}
    return {n: None if d is None else _text(d) for n, d in found.items()}


def _dimension_in(parameters: Parameters, result: Any, c: Criterion) -> Dimension | None:
    """The dimension of a criterion from parameters and from channels of a result."""
    if c.kind in _OWN:
        return _dimension(_OWN[c.kind])
    if not isinstance(c.expression, str) or c.kind in ("entry", "response"):
        return None
    from ...io.model_files.expression_language import parse_expression

    scope = _Names(parameters, result, c)
    try:
        found = _along(parse_expression(c.expression, scope), scope.dimensions)
    except InputError:
        return None
    if found is None:
        return None
    return _times(_times(found, _SECOND, _BY_TIME.get(c.kind, 0)), found, int(c.kind == "least_squares"))


class _Names:
    """A scope in which every name is a symbol with a dimension."""

    def __init__(self, parameters: Parameters, result: Any, criterion: Criterion) -> None:
        self.parameters, self.result, self.criterion = parameters, result, criterion
        self.dimensions: dict[int, Dimension | None] = {}

    def find(self, name: str, kind: str | None = None) -> Expr:
        found = symbol(f"unit of {kind or ''}:{name}", "input")
        self.dimensions[found.id] = self._of(name, kind)
        return found

    def function(self, name: str) -> Callable[..., Expr] | None:
        return None  # what a table gives has no unit of its own

    def _of(self, name: str, kind: str | None) -> Dimension | None:
        if name in self.criterion.parts and kind is None:
            return _dimension_in(self.parameters, self.result, self.criterion.parts[name])
        if name in self.criterion.constants and kind is None:
            return None
        if name == "t":
            return _SECOND
        if name in self.parameters and kind in (None, "parameter"):
            return _dimension(self.parameters[name].unit)
        return _dimension(self.result.channel(name).unit) if isinstance(self.result, Solution) else None


def _along(e: Expr, known: Mapping[int, Dimension | None]) -> Dimension | None:
    """The dimension of an expression from those of its symbols; pure numbers may be added to anything."""
    found: dict[int, Dimension | None] = {}
    numbers: set[int] = set()
    for x in topological([e]):
        parts = [found[a.id] for a in x.args]
        if x.op == "const" or (x.args and all(a.id in numbers for a in x.args)):
            numbers.add(x.id)
            found[x.id] = _NONE
        elif x.op == "symbol":
            found[x.id] = known.get(x.id)
        elif any(p is None for p in parts):
            found[x.id] = None
        else:
            found[x.id] = _operated(x, [p for p in parts if p is not None], numbers)
    return found[e.id]


def _operated(x: Expr, parts: list[Dimension], numbers: set[int]) -> Dimension | None:
    if x.op == "mul":
        return _times(parts[0], parts[1], 1)
    if x.op == "div":
        return _times(parts[0], parts[1], -1)
    if x.op == "sqrt":
        return tuple(p // 2 for p in parts[0]) if all(p % 2 == 0 for p in parts[0]) else None
    if x.op == "pow":
        power = x.args[1].data if x.args[1].op == "const" else None
        whole = power is not None and float(power).is_integer()
        return tuple(int(power) * p for p in parts[0]) if whole and power is not None else (_NONE if parts[0] == _NONE else None)
    if x.op in _PURE:
        return _NONE
    terms = parts[1:] if x.op == "where" else parts
    if x.op in ("add", "sub", "where", *_SAME):
        own = [p for p, a in zip(terms, x.args[-len(terms) :], strict=True) if a.id not in numbers]
        return (own[0] if own else _NONE) if all(p == own[0] for p in own) else None
    return _NONE  # sines, exponentials and their like


def over(a: str | None, b: str | None) -> str | None:
    """The unit of one thing by another, if both are known."""
    first, second = _dimension(a), _dimension(b)
    return None if first is None or second is None else _text(_times(first, second, -1))


def _dimension(text: str | None) -> Dimension | None:
    if not text:
        return None
    try:
        return unit(text).dimension
    except InputError:
        return None


def _times(a: Dimension, b: Dimension, power: int) -> Dimension:
    return tuple(x + power * y for x, y in zip(a, b, strict=True))


def _text(dimension: Dimension) -> str:
    return Unit("", dimension, 1.0).si


__all__ = ["over", "state_unit", "units_in_run", "units_of", "value_units"]
