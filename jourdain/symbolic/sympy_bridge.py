"""Exchange of expressions with SymPy, both ways (SymPy is loaded when first used)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any

from ..errors import InputError
from .expr import ONE, ZERO, Expr, add, as_expr, binary, constant, div, halves, mul, neg, power, sub, unary, where
from .graph import topological

_SAME = ("exp", "log", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "sign", "floor")
_TO_UNARY = {**{name: name for name in _SAME}, "sqrt": "sqrt", "abs": "Abs"}
_FROM_UNARY = {**{name: name for name in _SAME}, "Abs": "abs"}


def to_sympy(e: Any, names: Mapping[Expr, Any] | None = None) -> Any:
    """The expression in SymPy; symbols become real symbols of the same name, or what ``names`` gives for them.

    Whole numbers and simple fractions become exact; a look-up table becomes an undefined function of its name.

    >>> from jourdain.symbolic import sin, symbols
    >>> x, y = symbols("x y")
    >>> to_sympy(2 * x * sin(y))
    2*x*sin(y)
    """
    import sympy

    e = as_expr(e)
    given = {s.id: value for s, value in (names or {}).items()}
    known: dict[int, Any] = {}
    for x in topological([e]):
        if x.id in given:
            value = given[x.id]
            known[x.id] = sympy.Symbol(value, real=True) if isinstance(value, str) else value
        elif x.op == "symbol":
            known[x.id] = sympy.Symbol(x.name, real=True)
        elif x.op == "const":
            known[x.id] = _number(sympy, x.data)
        else:
            known[x.id] = _node(sympy, x, [known[a.id] for a in x.args])
    return _numeric(sympy, known[e.id])


def _number(sympy: Any, value: float) -> Any:
    from .printers.text import simple_fraction

    if value == int(value) and abs(value) < 2**53:
        return sympy.Integer(int(value))
    fraction = simple_fraction(value)
    return sympy.Float(value) if fraction is None else sympy.Rational(fraction.numerator, fraction.denominator)


def _numeric(sympy: Any, value: Any) -> Any:
    """A truth value as 0 or 1."""
    return sympy.Piecewise((1, value), (0, True)) if _is_logical(value) else value


def _truth(sympy: Any, value: Any) -> Any:
    return value if _is_logical(value) else sympy.Ne(value, 0)


def _is_logical(value: Any) -> bool:
    from sympy.core.relational import Relational
    from sympy.logic.boolalg import BooleanAtom, BooleanFunction

    return isinstance(value, (Relational, BooleanAtom, BooleanFunction))


def _node(sympy: Any, e: Expr, args: list[Any]) -> Any:
    op = e.op
    if op in ("and", "or", "not"):
        return {"and": sympy.And, "or": sympy.Or, "not": sympy.Not}[op](*(_truth(sympy, a) for a in args))
    if op == "where":
        return sympy.Piecewise((_numeric(sympy, args[1]), _truth(sympy, args[0])), (_numeric(sympy, args[2]), True))
    args = [_numeric(sympy, a) for a in args]
    if op in _TO_UNARY:
        return getattr(sympy, _TO_UNARY[op])(args[0])
    if op == "table":
        table, orders = e.data
        value = sympy.Function(table.name)
        if not any(orders):
            return value(*args)
        dummies = [sympy.Dummy() for _ in args]
        derivative = sympy.Derivative(value(*dummies), *((d, n) for d, n in zip(dummies, orders) if n))
        return sympy.Subs(derivative, tuple(dummies), tuple(args))
    operations: dict[str, Callable[..., Any]] = {
        "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div": lambda a, b: a / b,
        "neg": lambda a: -a, "pow": lambda a, b: a**b, "atan2": sympy.atan2, "min": sympy.Min, "max": sympy.Max,
        "dot": lambda *args: sum(a * b for a, b in zip(*halves(args), strict=True)), "lt": sympy.Lt, "le": sympy.Le,
    }  # fmt: skip
    return operations[op](*args)


# --- from SymPy --------------------------------------------------------------------------------------------------


def _fold(function: Callable[[Expr, Expr], Expr]) -> Callable[..., Expr]:
    return lambda *args: reduce(function, args)


def _unequal(a: Expr, b: Expr) -> Expr:
    return unary("not", _equal(a, b))


def _equal(a: Expr, b: Expr) -> Expr:
    return binary("and", binary("le", a, b), binary("le", b, a))


_FROM: dict[str, Callable[..., Expr]] = {
    "Add": _fold(add), "Mul": _fold(mul), "Pow": power, "atan2": lambda y, x: binary("atan2", y, x),
    "Min": _fold(lambda a, b: binary("min", a, b)), "Max": _fold(lambda a, b: binary("max", a, b)),
    "StrictLessThan": lambda a, b: binary("lt", a, b), "LessThan": lambda a, b: binary("le", a, b),
    "StrictGreaterThan": lambda a, b: binary("lt", b, a), "GreaterThan": lambda a, b: binary("le", b, a),
    "Equality": _equal, "Unequality": _unequal,
    "And": _fold(lambda a, b: binary("and", a, b)), "Or": _fold(lambda a, b: binary("or", a, b)),
    "Not": lambda a: unary("not", a), "cot": lambda a: div(ONE, unary("tan", a)),
    "sec": lambda a: div(ONE, unary("cos", a)), "csc": lambda a: div(ONE, unary("sin", a)),
    "ceiling": lambda a: neg(unary("floor", neg(a))),
    "Mod": lambda a, b: sub(a, mul(b, unary("floor", div(a, b)))),
    "ITE": where,
}  # fmt: skip


def from_sympy(expression: Any, symbols: Mapping[Any, Any]) -> Expr:
    """The SymPy expression in this kernel; ``symbols`` maps SymPy symbols (or their names) to expressions.

    Functions applied to arguments (such as x(t)) may be keys too.  Look-up tables are found under their name as a
    :class:`~jourdain.symbolic.tables.Table`.

    >>> import sympy
    >>> from jourdain.symbolic import symbol
    >>> x = symbol("x")
    >>> from_sympy(sympy.sin(sympy.Symbol("x")) ** 2 + 1, {"x": x})
    sin(x)^2 + 1
    """
    import sympy

    known: dict[Any, Expr] = {}
    stack = [sympy.sympify(expression)]
    while stack:
        node = stack[-1]
        if node in known:
            stack.pop()
            continue
        made = _leaf(sympy, node, symbols)
        if made is None:
            missing = [a for a in _operands(node) if a not in known]
            if missing:
                stack.extend(missing)
                continue
            made = _convert(node, [known[a] for a in _operands(node)], symbols)
        known[node] = made
        stack.pop()
    return known[sympy.sympify(expression)]


def _operands(node: Any) -> list[Any]:
    if node.func.__name__ == "Piecewise":
        return [x for pair in node.args for x in pair.args]
    return list(node.args)


def _leaf(sympy: Any, node: Any, symbols: Mapping[Any, Any]) -> Expr | None:
    for key in (node, str(node)):
        if key in symbols and not callable(symbols[key]):
            return as_expr(symbols[key])
    if node in (sympy.true, sympy.false):
        return ONE if node == sympy.true else ZERO
    if getattr(node, "is_Symbol", False):
        known = ", ".join(map(str, symbols))
        raise InputError(f"the SymPy symbol '{node}' is not in the table of symbols; known: {known}")
    if getattr(node, "is_number", False) and not getattr(node, "args", ()):
        if not node.is_finite or not node.is_real:
            raise InputError(f"the SymPy number '{node}' is not a finite real number and has no counterpart")
        return constant(float(node))
    return None


def _convert(node: Any, args: list[Expr], symbols: Mapping[Any, Any]) -> Expr:
    name = node.func.__name__
    if name in _FROM:
        return _FROM[name](*args)
    if name in _FROM_UNARY and len(args) == 1:
        return unary(_FROM_UNARY[name], args[0])
    if name == "Piecewise":
        value: Expr | None = None
        for branch, condition in reversed(list(zip(args[0::2], args[1::2]))):
            value = branch if value is None else where(condition, branch, value)
        assert value is not None
        return value
    if name == "Heaviside":
        at_zero = args[1] if len(args) > 1 else constant(0.5)
        return where(args[0] < 0, ZERO, where(args[0] > 0, ONE, at_zero))
    if name in symbols and callable(symbols[name]):
        return as_expr(symbols[name](*args))
    raise InputError(f"the SymPy function '{name}' in {node} has no counterpart; rewrite it or give it in the table of symbols")
