"""Random formulas as plain trees: built with the kernel, and evaluated directly with a bound of the error."""

from __future__ import annotations

import math
from typing import Any

from hypothesis import strategies as st

import jourdain.symbolic as S
from jourdain.symbolic.expr import binary, power, unary

EPS = 2.0**-52
Tree = Any


class OutOfDomainError(Exception):
    """The formula has no finite value here, or its branch hangs on rounding."""


NUMBERS = [0.0, 1.0, -1.0, 2.0, -2.0, 0.5, 3.0, -0.25, 1.5, 7.0, 0.1]
UNARY = ["sin", "cos", "tan", "sqrt", "exp", "log", "atan", "asin", "acos", "sinh", "cosh", "tanh"]
UNARY += ["abs", "sign", "floor"]
BINARY = ["add", "sub", "mul", "div", "add", "sub", "mul", "min", "max", "atan2"]


def _square(a: Tree) -> Tree:
    return ("mul", a, a)


def _pythagoras(args: tuple[Tree, Tree, bool]) -> Tree:
    a, k, first = args
    s, c = _square(("sin", a)), _square(("cos", a))
    return ("add", ("mul", k, s), ("mul", k, c)) if first else ("sub", k, ("mul", s, k))


def _angles(args: tuple[Tree, Tree, int]) -> Tree:
    a, b, kind = args
    sa, ca, sb, cb = ("sin", a), ("cos", a), ("sin", b), ("cos", b)
    return [
        ("add", ("mul", sa, cb), ("mul", ca, sb)),
        ("sub", ("mul", sa, cb), ("mul", sb, ca)),
        ("sub", ("mul", cb, ca), ("mul", sa, sb)),
        ("add", ("mul", ca, cb), ("mul", sb, sa)),
        ("sub", ("mul", sb, sa), ("mul", ca, cb)),
    ][kind]


def _cancelling(args: tuple[Tree, Tree, int]) -> Tree:
    a, b, kind = args
    return [
        ("sub", ("add", a, b), a),
        ("sub", a, ("add", b, a)),
        ("add", ("sub", a, b), b),
        ("sub", ("sub", a, b), a),
        ("div", ("mul", a, b), a),
        ("mul", ("div", a, b), b),
        ("mul", ("sqrt", a), ("sqrt", a)),
        ("sqrt", _square(b)),
        ("add", ("mul", a, b), ("mul", b, a)),
        ("sub", ("neg", a), ("neg", b)),
        ("mul", ("neg", a), ("neg", b)),
        ("sub", ("add", a, b), ("add", b, a)),
        ("div", ("neg", a), b),
        ("mul", ("mul", a, b), a),
    ][kind]


def trees(symbols: int, smooth: bool = False) -> st.SearchStrategy[Tree]:
    """Formulas in x0 … with a good share of what the simplification rules look for."""
    leaves = st.one_of(st.integers(0, symbols - 1).map(lambda i: ("x", i)), st.sampled_from(NUMBERS).map(lambda v: ("number", v)))
    unary_ops = [op for op in UNARY if not (smooth and op in ("abs", "sign", "floor"))]
    binary_ops = [op for op in BINARY if not (smooth and op in ("min", "max", "atan2"))]

    def grow(inner: st.SearchStrategy[Tree]) -> st.SearchStrategy[Tree]:
        options = [
            st.tuples(st.sampled_from(binary_ops), inner, inner),
            st.tuples(st.sampled_from(binary_ops), inner, inner),
            st.tuples(st.sampled_from(unary_ops), inner),
            inner.map(lambda a: ("neg", a)),
            st.tuples(st.just("pow"), inner, st.sampled_from([2.0, 3.0, -1.0, 0.5, 1.5, -2.0, -0.5, 5.0])),
            st.tuples(inner, inner, st.booleans()).map(_pythagoras),
            st.tuples(inner, inner, st.integers(0, 4)).map(_angles),
            st.tuples(inner, inner, st.integers(0, 13)).map(_cancelling),
        ]
        if not smooth:
            options.append(st.tuples(st.just("where"), st.sampled_from(["lt", "le"]), inner, inner, inner, inner))
        return st.one_of(options)

    return st.recursive(leaves, grow, max_leaves=12)


def values(symbols: int) -> st.SearchStrategy[list[float]]:
    """Moderate values of the symbols."""
    one = st.one_of(st.floats(-3.0, 3.0).filter(lambda v: abs(v) > 1e-3), st.sampled_from([0.0, 1.0, -1.0, 0.5, 2.0]))
    return st.lists(one, min_size=symbols, max_size=symbols)


def build(tree: Tree, x: list[S.Expr]) -> S.Expr:
    """The formula in the kernel."""
    op, *rest = tree
    if op == "x":
        return x[rest[0]]
    if op == "number":
        return S.constant(rest[0])
    if op == "pow":
        return power(build(rest[0], x), S.constant(rest[1]))
    if op == "where":
        relation, *parts = rest
        a, b, c, d = (build(p, x) for p in parts)
        return S.where(binary(relation, a, b), c, d)
    args = [build(a, x) for a in rest]
    if op == "neg":
        return -args[0]
    if op in ("add", "sub", "mul", "div"):
        a, b = args
        return {"add": lambda: a + b, "sub": lambda: a - b, "mul": lambda: a * b, "div": lambda: a / b}[op]()
    return unary(op, args[0]) if len(args) == 1 else binary(op, *args)


def direct(tree: Tree, x: list[float]) -> tuple[float, float]:
    """Value of the unsimplified formula and a bound of its error when every operation and every input is rounded."""
    try:
        value, error = _direct(tree, x)
    except (ValueError, OverflowError, ZeroDivisionError):
        raise OutOfDomainError from None
    if not (math.isfinite(value) and math.isfinite(error)) or abs(value) > 1e60 or 0.0 < abs(value) < 1e-60:
        raise OutOfDomainError
    return value, error


def _decided(difference: float, error: float) -> None:
    if abs(difference) <= 100.0 * error:
        raise OutOfDomainError


def _direct(tree: Tree, x: list[float]) -> tuple[float, float]:
    op, *rest = tree
    if op == "x":
        return x[rest[0]], EPS * abs(x[rest[0]])
    if op == "number":
        return rest[0], EPS * abs(rest[0])
    if op == "where":
        (a, ea), (b, eb) = direct(rest[1], x), direct(rest[2], x)
        if rest[1] != rest[2]:
            _decided(a - b, ea + eb)
        chosen, other = (rest[3], rest[4]) if (a < b if rest[0] == "lt" else a <= b) else (rest[4], rest[3])
        direct(other, x)
        return direct(chosen, x)
    if op == "pow":
        a, ea = direct(rest[0], x)
        if (a == 0.0 and rest[1] < 0.0) or (rest[1] != int(rest[1]) and a <= 100.0 * ea):
            raise OutOfDomainError
        v = math.pow(a, rest[1])
        return v, (abs(rest[1] * v / a) * ea if a else ea) + 8.0 * EPS * abs(v)
    args = [direct(a, x) for a in rest]
    a, ea = args[0]
    if len(args) == 1:
        v, slope = _function(op, a, ea)
        return v, slope * ea + 2.0 * EPS * max(abs(v), 1e-300)
    b, eb = args[1]
    if op in ("add", "sub"):
        v = a + b if op == "add" else a - b
        return v, ea + eb + EPS * abs(v)
    if op == "mul":
        return a * b, abs(a) * eb + abs(b) * ea + ea * eb + EPS * abs(a * b)
    if op == "div":
        _decided(b, eb)
        return a / b, (ea + abs(a / b) * eb) / (abs(b) - eb) + EPS * abs(a / b)
    if op == "atan2":
        _decided(a * a + b * b, ea + eb)
        _decided(a, ea)
        return math.atan2(a, b), 2.0 * (ea + eb) / math.hypot(a, b) + 4.0 * EPS
    return (min(a, b) if op == "min" else max(a, b)), ea + eb


def _function(op: str, a: float, ea: float) -> tuple[float, float]:
    """Value and a bound of the derivative near a."""
    if op == "neg":
        return -a, 1.0
    if op in ("sin", "cos", "atan", "tanh"):
        return getattr(math, op)(a), 1.0
    if op == "abs":
        return abs(a), 1.0
    if op in ("sign", "floor"):
        _decided(a if op == "sign" else a - round(a), ea)
        return (float((a > 0) - (a < 0)), 0.0) if op == "sign" else (float(math.floor(a)), 0.0)
    if op in ("sqrt", "log"):
        if a <= 100.0 * ea or a < 0.0:
            raise OutOfDomainError
        return (math.sqrt(a), 1.0 / math.sqrt(a)) if op == "sqrt" else (math.log(a), 2.0 / a)
    if op in ("asin", "acos"):
        room = 1.0 - abs(a)
        if room <= 100.0 * ea + 1e-12:
            raise OutOfDomainError
        return getattr(math, op)(a), 2.0 / math.sqrt(room)
    if op == "tan":
        _decided(math.cos(a), ea)
        return math.tan(a), 4.0 * (1.0 + math.tan(a) ** 2)
    v = getattr(math, op)(a)
    return v, 2.0 * (math.exp(a) if op == "exp" else math.cosh(a))
