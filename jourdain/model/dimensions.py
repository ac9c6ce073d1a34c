"""Dimensions of expressions, as far as they follow from the units with which parameters and inputs were declared.

A term is judged where it holds something that the user gave a unit: ``k/m``, ``k*(x - l)``.  A number may stand for anything (``-4*x``, ``9.81*m``, ``1.5*l**2/12``),
so that products with one are not judged, but for a few times a parameter alone (``2*l``, ``l/2``; not ``0.5*i`` of a current, whose factor is a gain).  What does not follow is not judged.
"""

from __future__ import annotations

from typing import NamedTuple
from weakref import WeakKeyDictionary, WeakSet

from ..symbolic.expr import PARAMETER, Expr, brief
from ..symbolic.graph import topological

Dimension = tuple[float, ...]

#: Units of the parameters, inputs and states that were declared with one, by their symbols.
declared_units: WeakKeyDictionary[Expr, str] = WeakKeyDictionary()
#: Units of coordinates, lengths and other quantities that are known without being declared.
natural_units: WeakKeyDictionary[Expr, str] = WeakKeyDictionary()
#: Expressions with numbers that were written with a unit, which they do not show.
unjudged: WeakSet[Expr] = WeakSet()

#: Operations whose value has the dimension of their operands.
ALIKE = frozenset(("add", "sub", "neg", "abs", "min", "max", "where"))
#: Functions that give pure numbers, whatever stands in them.
PURE = frozenset(
    ("sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "exp", "log", "sign", "atan2", "lt", "le", "and", "or", "not")
)
#: Factors that are pure numbers where they stand before one parameter.
_FEW = (2.0, 3.0, 4.0, 1.0 / 2.0, 1.0 / 3.0, 1.0 / 4.0)
#: Expressions of more nodes are made by programs, not written by hand.
_LARGEST = 400


class _Known(NamedTuple):
    """A dimension without its angle, and whether it comes from something that was declared with a unit."""

    dimension: Dimension
    declared: bool


class Clash(NamedTuple):
    """A term of another dimension than the one that is asked for."""

    term: str
    found: str
    wanted: str


def times(a: Dimension, b: Dimension, power: float) -> Dimension:
    """Exponents of a·bᵖ."""
    return tuple(x + power * y for x, y in zip(a, b, strict=True))


def declared(symbol: Expr, unit: str) -> Expr:
    """A symbol, whose unit is kept if one was given."""
    if unit:
        declared_units[symbol] = unit
    return symbol


def unit_of(symbol: Expr) -> str | None:
    """The unit of a coordinate, a parameter, an input or a state; None where none is known."""
    return natural_units.get(symbol) or declared_units.get(symbol)


def alike(one: str, other: str) -> bool:
    """Whether two units have the same dimension, an angle being a pure number."""
    return _of_unit(one) == _of_unit(other)


def clash(e: Expr, expects: str) -> Clash | None:
    """The first term of an expression that has certainly another dimension than the unit ``expects``, None if there is none."""
    if not declared_units or e in unjudged:
        return None
    nodes = topological([e])
    if len(nodes) > _LARGEST or not any(x in declared_units for x in nodes):
        return None
    found: dict[int, _Known | None] = {}
    for x in nodes:
        found[x.id] = _known(x, found)
        if x.op in ALIKE:
            terms = [(t, k) for t in _terms(x) if (k := found[t.id]) is not None and k.declared]
            for term, own in terms[1:]:
                if own.dimension != terms[0][1].dimension:
                    return Clash(
                        f"{brief(term)} in {brief(x)}", _words(own.dimension), f"{brief(terms[0][0])} {_words(terms[0][1].dimension)}"
                    )
    whole, wanted = found[_single(e).id], _of_unit(expects)
    if whole is None or not whole.declared or whole.dimension == wanted:
        return None
    return Clash(brief(e), _words(whole.dimension), f"'{expects}' {_words(wanted)}")


def _single(e: Expr) -> Expr:
    """The parameter of which an expression is a few times or a simple part, else the expression itself."""
    core = e.args[0] if e.op == "neg" else e
    if (
        core.op == "mul"
        and core.args[0].op == "const"
        and core.args[1].deps == PARAMETER
        and core.args[1] in declared_units
        and core.args[0].data in _FEW
    ):
        return core.args[1]
    return e


def _terms(x: Expr) -> tuple[Expr, ...]:
    return x.args[1:] if x.op == "where" else x.args


def _known(x: Expr, found: dict[int, _Known | None]) -> _Known | None:
    if x.op == "symbol":
        if (unit := declared_units.get(x)) is not None:
            return _Known(_of_unit(unit), True)
        return None if (unit := natural_units.get(x)) is None else _Known(_of_unit(unit), False)
    if x.op in PURE:
        return _Known(_of_unit(""), False)
    if x.op in ALIKE:
        return _common([(t, found[t.id]) for t in _terms(x)])
    if x.op in ("mul", "div"):
        a, b = (_Known(_of_unit(""), False) if t.op == "const" and t.data == 1.0 else found[t.id] for t in x.args)
        return (
            None
            if a is None or b is None
            else _Known(times(a.dimension, b.dimension, 1 if x.op == "mul" else -1), a.declared or b.declared)
        )
    if x.op == "sqrt" or (x.op == "pow" and x.args[1].op == "const"):
        base, power = found[x.args[0].id], 0.5 if x.op == "sqrt" else x.args[1].data
        return base and _Known(tuple(power * p for p in base.dimension), base.declared)
    return None


def _common(terms: list[tuple[Expr, _Known | None]]) -> _Known | None:
    """The dimension of a sum: that of its declared terms, else the one on which all agree.

    Where a parameter stands alone beside what was not declared, as in z − l, a factor of one may have a unit.
    """
    own = [(t, k) for t, k in terms if k is not None and k.declared]
    if own:
        return _Known(
            own[0][1].dimension, len(own) == len(terms) or any((t.args[0] if t.op == "neg" else t).op != "symbol" for t, _ in own)
        )
    first = terms[0][1]
    return first if all(k == first for _, k in terms) else None


def _of_unit(text: str) -> Dimension:
    """Exponents without the angle, which is a ratio of lengths."""
    from .units import BASE, unit  # units load with the first text

    return tuple(0.0 if name == "rad" else float(p) for name, p in zip(BASE, unit(text).dimension, strict=True))


def _words(dimension: Dimension) -> str:
    """What has this dimension, in words and in SI units."""
    from .units import Unit

    if any(p != int(p) for p in dimension):
        return "of no unit with whole powers"
    given = Unit("", tuple(int(p) for p in dimension), 1.0)
    name = given.quantity_name
    return f"({given.si})" if name == given.si else f"({name}, {given.si})"
