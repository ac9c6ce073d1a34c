"""Scalar expressions in a hash-consed graph, simplified as they are built.

Equal subexpressions are the same object: every node remembers the nodes built on it (``_uses``), so that a sum or
product of the same operands is found instead of made again, and a whole graph is freed with its last symbol.
Sums and products are binary with operands in canonical order; signs are pulled outwards, constants folded, and exact
cancellations, squares of sine and cosine, and sums of angles recognised.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar
from weakref import WeakValueDictionary

import numpy as np

from ..errors import InputError, short
from ..reals import NotReal, real

#: What a symbol stands for; the value is the bit by which every expression knows what it depends on.
KINDS = {"parameter": 1, "time": 2, "position": 4, "velocity": 8, "acceleration": 16, "input": 32, "state": 64}
PARAMETER = KINDS["parameter"]

_node_ids = itertools.count(1).__next__
_constant_ids = itertools.count(-1, -1).__next__
_constants: WeakValueDictionary[Any, Expr] = WeakValueDictionary()
#: Every living symbol by its number, so that an expression that comes back from another process finds its symbols.
_symbols: WeakValueDictionary[int, Expr] = WeakValueDictionary()


class Expr:
    """A node of the expression graph; build it with operators and the functions of this package.

    ``op`` names the operation, ``args`` holds the operands, ``data`` the payload of leaves (a number, a name) and of
    tables, ``deps`` the bits of :data:`KINDS` it depends on.  ``==`` is identity of structure, ``<`` builds an
    expression; neither may steer Python's ``if``.
    """

    __slots__ = ("__weakref__", "_uses", "args", "data", "deps", "id", "op")
    op: str
    args: tuple[Expr, ...]
    data: Any
    deps: int
    id: int
    _uses: dict[Any, Expr] | None

    def __add__(self, other: Any) -> Any:
        if other.__class__ is not Expr:
            return _with_foreign(add, self, other)
        return add(self, other)

    def __radd__(self, other: Any) -> Any:
        return _with_foreign(add, self, other)

    def __sub__(self, other: Any) -> Any:
        if other.__class__ is not Expr:
            return _with_foreign(sub, self, other)
        return sub(self, other)

    def __rsub__(self, other: Any) -> Any:
        return _with_foreign(lambda a, b: sub(b, a), self, other)

    def __mul__(self, other: Any) -> Any:
        if other.__class__ is not Expr:
            return _with_foreign(mul, self, other)
        return mul(self, other)

    def __rmul__(self, other: Any) -> Any:
        return _with_foreign(mul, self, other)

    def __truediv__(self, other: Any) -> Any:
        return _with_foreign(div, self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return _with_foreign(lambda a, b: div(b, a), self, other)

    def __pow__(self, other: Any) -> Any:
        return _with_foreign(power, self, other)

    def __rpow__(self, other: Any) -> Any:
        return _with_foreign(lambda a, b: power(b, a), self, other)

    def __neg__(self) -> Expr:
        return neg(self)

    def __pos__(self) -> Expr:
        return self

    def __abs__(self) -> Expr:
        return unary("abs", self)

    def __lt__(self, other: Any) -> Any:
        return _with_foreign(lambda a, b: binary("lt", a, b), self, other)

    def __gt__(self, other: Any) -> Any:
        return _with_foreign(lambda a, b: binary("lt", b, a), self, other)

    def __le__(self, other: Any) -> Any:
        return _with_foreign(lambda a, b: binary("le", a, b), self, other)

    def __ge__(self, other: Any) -> Any:
        return _with_foreign(lambda a, b: binary("le", b, a), self, other)

    def __and__(self, other: Any) -> Any:
        return _with_foreign(lambda a, b: binary("and", a, b), self, other)

    def __or__(self, other: Any) -> Any:
        return _with_foreign(lambda a, b: binary("or", a, b), self, other)

    def __invert__(self) -> Expr:
        return unary("not", self)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, (int, float)):
            return self.op == "const" and self.data == other
        return self is other

    __hash__ = object.__hash__

    def __bool__(self) -> NoReturn:
        raise TypeError(
            f"the truth of the expression {brief(self)} is not known while equations are derived: "
            "use jd.where(condition, a, b) instead of if/and/or/min/max on it"
        )

    def __float__(self) -> float:
        if self.op == "const":
            return float(self.data)
        raise TypeError(
            f"the expression {brief(self)} has no number yet: use jd.sin, jd.sqrt … (or NumPy's) instead of math's, "
            "and jd.evaluate(expression, {symbol: value}) to get its value"
        )

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        function = _UFUNCS.get(ufunc.__name__)
        if method != "__call__" or function is None or kwargs:
            raise TypeError(f"np.{ufunc.__name__} does not work on the expression {brief(self)}; use the functions of jourdain")
        if any(isinstance(x, np.ndarray) and x.ndim for x in inputs):
            return _elementwise(function, *inputs)
        return function(*(as_expr(x) for x in inputs))

    def __repr__(self) -> str:
        return brief(self)

    def __reduce__(self) -> Any:
        from .exchange import pack, unpack

        return unpack, (pack([self]), 0)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_") or name in self.__slots__:
                raise AttributeError(name)
            from .elsewhere import not_there

            raise AttributeError(not_there(self, name))

    @property
    def name(self) -> str:
        """Name of a symbol."""
        if self.op != "symbol":
            raise AttributeError(f"the expression {brief(self)} is not a symbol and has no name")
        return str(self.data[0])

    @property
    def is_number(self) -> bool:
        """Whether this is a plain number."""
        return self.op == "const"

    @property
    def is_zero(self) -> bool:
        """Whether this is the number 0."""
        return self is ZERO


def brief(e: Expr, limit: int = 80) -> str:
    """Short text of an expression for messages."""
    from .printers.text import to_text

    return to_text(e, limit=limit)


# --- leaves ------------------------------------------------------------------------------------------------------


def _node(op: str, args: tuple[Expr, ...], data: Any, deps: int, number: int) -> Expr:
    e = _new(Expr)
    e.op = op
    e.args = args
    e.data = data
    e.deps = deps
    e.id = number
    e._uses = None
    return e


_new = Expr.__new__


def constant(value: float) -> Expr:
    """The expression of a finite number."""
    value = float(value)
    if value == 0.0:
        return ZERO
    found = _constants.get(value)
    if found is not None:
        return found
    if not math.isfinite(value):
        raise InputError(f"an expression cannot hold the number {value}: check the division or function that gave it")
    e = _node("const", (), value, 0, _constant_ids())
    _constants[value] = e
    return e


ZERO = _node("const", (), 0.0, 0, _constant_ids())
ONE = constant(1.0)
MINUS_ONE = constant(-1.0)
TWO = constant(2.0)
HALF = constant(0.5)


def symbol(name: str, kind: str = "parameter") -> Expr:
    """A new symbol; ``kind`` (see :data:`KINDS`) says when its value changes."""
    if kind not in KINDS:
        raise InputError(f"symbol '{name}': unknown kind '{kind}'; choose one of {', '.join(KINDS)}")
    e = _node("symbol", (), (name, kind), KINDS[kind], _node_ids())
    _symbols[e.id] = e
    return e


def symbols(names: str | Iterable[str], kind: str = "parameter") -> list[Expr]:
    """Several new symbols from names separated by spaces or commas."""
    if isinstance(names, str):
        names = names.replace(",", " ").split()
    return [symbol(n, kind) for n in names]


def as_expr(value: Any) -> Expr:
    """The expression of a number (or an expression itself)."""
    if value.__class__ is Expr:
        return value  # type: ignore[no-any-return]
    try:
        return constant(real(value))
    except NotReal as error:
        raise TypeError(f"{short(value)} is neither a number nor an expression ({error})") from None


def _with_foreign(function: Callable[[Expr, Expr], Expr], a: Expr, other: Any) -> Any:
    if other.__class__ is Expr:
        return function(a, other)
    if isinstance(other, np.ndarray) and other.ndim:
        return _elementwise(lambda x: function(a, as_expr(x)), other)
    if isinstance(other, np.ndarray):
        return function(a, as_expr(other))
    if isinstance(other, (int, float, np.number)):
        return function(a, constant(real(other)))
    return NotImplemented


def _elementwise(function: Callable[..., Expr], *arrays: Any) -> np.ndarray:
    try:
        grid = np.broadcast(*(np.asarray(a, dtype=object) for a in arrays))
    except (ValueError, RuntimeError) as error:  # of shapes that do not fit, or with more dimensions than NumPy has
        raise InputError(f"arrays of expressions do not fit each other: {error}") from None
    out = np.empty(grid.shape, dtype=object)
    out.flat[:] = [function(*(as_expr(x) for x in items)) for items in grid]
    return out


def _found_or_new(op: str, a: Expr, b: Expr, holder: Expr, key: Any) -> Expr:
    uses = holder._uses
    if uses is None:
        uses = holder._uses = {}
    else:
        e = uses.get(key)
        if e is not None:
            return e
    e = _new(Expr)
    e.op = op
    e.args = (a, b)
    e.data = None
    e.deps = a.deps | b.deps
    e.id = _node_ids()
    e._uses = None
    uses[key] = e
    return e


# --- sums --------------------------------------------------------------------------------------------------------


def signed(sign: int, a: Expr) -> Expr:
    """±a."""
    return a if sign > 0 else neg(a)


def neg(a: Expr) -> Expr:
    """−a, with the sign of a number folded in and double signs removed."""
    op = a.op
    if op == "neg":
        return a.args[0]
    if op == "const":
        return constant(-a.data)
    uses = a._uses
    if uses is None:
        uses = a._uses = {}
    else:
        e = uses.get("neg")
        if e is not None:
            return e
    e = _node("neg", (a,), None, a.deps, _node_ids())
    uses["neg"] = e
    return e


def add(a: Expr, b: Expr) -> Expr:
    """a + b simplified."""
    if a is ZERO:
        return b
    if b is ZERO:
        return a
    oa = a.op
    ob = b.op
    if oa == "neg":
        return neg(add(a.args[0], b.args[0])) if ob == "neg" else sub(b, a.args[0])
    if ob == "neg":
        return sub(a, b.args[0])
    if a is b:
        return mul(TWO, a)
    if a.id > b.id:
        a, b, oa, ob = b, a, ob, oa
    if oa == "const":
        if ob == "const":
            return constant(a.data + b.data)
        if ob == "add" and b.args[0].op == "const":
            return add(constant(a.data + b.args[0].data), b.args[1])
        if ob == "sub" and b.args[0].op == "const":
            return sub(constant(a.data + b.args[0].data), b.args[1])
    elif ob == "add" and b.args[0].op == "const":
        return add(b.args[0], add(a, b.args[1]))
    if oa == "sub" and a.args[1] is b:
        return a.args[0]
    if ob == "sub" and b.args[1] is a:
        return b.args[0]
    if oa == "mul" or ob == "mul":
        merged = _merge_products(a, b, oa, ob)
        if merged is not None:
            return merged
    return _found_or_new("add", a, b, b, ("add", a))


def sub(a: Expr, b: Expr) -> Expr:
    """a − b simplified."""
    if a is b:
        return ZERO
    if b is ZERO:
        return a
    if a is ZERO:
        return neg(b)
    oa = a.op
    ob = b.op
    if ob == "neg":
        return add(a, b.args[0])
    if oa == "neg":
        return neg(add(a.args[0], b))
    if ob == "const":
        return add(constant(-b.data), a)
    cancelled = _cancel(a, b, oa, ob)
    if cancelled is not None:
        return cancelled
    if oa == "mul" or ob == "mul":
        merged = _merge_difference(a, b, oa, ob)
        if merged is not None:
            return merged
    if a.id > b.id:
        return neg(_found_or_new("sub", b, a, a, ("sub", b)))
    return _found_or_new("sub", a, b, b, ("sub", a))


def _cancel(a: Expr, b: Expr, oa: str, ob: str) -> Expr | None:
    """Exact cancellation one level deep: (x + y) − x, x − (x + y), (x − y) − x, x − (x − y), (x + y) − (x + z)."""
    if oa == "add":
        x, y = a.args
        if x is b:
            return y
        if y is b:
            return x
        if ob == "add":
            u, w = b.args
            if x is u:
                return sub(y, w)
            if x is w:
                return sub(y, u)
            if y is u:
                return sub(x, w)
            if y is w:
                return sub(x, u)
    elif oa == "sub":
        if a.args[0] is b:
            return neg(a.args[1])
        if ob == "sub":
            if a.args[0] is b.args[0]:
                return sub(b.args[1], a.args[1])
            if a.args[1] is b.args[1]:
                return sub(a.args[0], b.args[0])
    if ob == "add":
        if b.args[0] is a:
            return neg(b.args[1])
        if b.args[1] is a:
            return neg(b.args[0])
        if oa == "const" and b.args[0].op == "const":
            return sub(constant(a.data - b.args[0].data), b.args[1])
    elif ob == "sub":
        if b.args[0] is a:
            return b.args[1]
        if oa == "const" and b.args[0].op == "const":
            return add(constant(a.data - b.args[0].data), b.args[1])
    return None


def _coefficient(a: Expr) -> tuple[float, Expr]:
    if a.op == "mul" and a.args[0].op == "const":
        return a.args[0].data, a.args[1]
    return 1.0, a


def _merge_products(a: Expr, b: Expr, oa: str, ob: str) -> Expr | None:
    """k₁x + k₂x, sin² + cos², sine of a sum and cosine of a difference of angles."""
    ka, xa = _coefficient(a)
    kb, xb = _coefficient(b)
    if xa is xb:
        return mul(constant(ka + kb), xa)
    if oa != "mul" or ob != "mul":
        return None
    if ka != kb:
        return None
    pair = _sine_cosine_pair(xa, xb)
    if pair is not None:
        return mul(constant(ka), pair)
    if xa.op == "mul" and xb.op == "mul":
        total = _angle_sum(xa, xb, 1)
        if total is not None:
            return mul(constant(ka), total)
    return None


def _merge_difference(a: Expr, b: Expr, oa: str, ob: str) -> Expr | None:
    """k₁x − k₂x, 1 − sin², sine of a difference and cosine of a sum of angles."""
    ka, xa = _coefficient(a)
    kb, xb = _coefficient(b)
    if xa is xb:
        return mul(constant(ka - kb), xa)
    if oa == "const":
        if a.data == kb:
            other = _complement(xb)
            if other is not None:
                return mul(constant(kb), other)
        return None
    if ka != kb or xa.op != "mul" or xb.op != "mul":
        return None
    total = _angle_sum(xa, xb, -1)
    return None if total is None else mul(constant(ka), total)


def _trig_square(a: Expr) -> tuple[str, Expr] | None:
    """('sin', x) for sin²x, ('cos', x) for cos²x."""
    if a.op == "mul" and a.args[0] is a.args[1]:
        inner = a.args[0]
        if inner.op in ("sin", "cos"):
            return inner.op, inner.args[0]
    return None


def _complement(a: Expr) -> Expr | None:
    found = _trig_square(a)
    if found is None:
        return None
    other = unary("cos" if found[0] == "sin" else "sin", found[1])
    return mul(other, other)


def _sine_cosine_pair(a: Expr, b: Expr) -> Expr | None:
    """sin²x + cos²x → 1 and k·sin²x + k·cos²x → k."""
    if a.op != "mul" or b.op != "mul":
        return None
    sa, sb = _trig_square(a), _trig_square(b)
    if sa is not None and sb is not None:
        return ONE if sa[1] is sb[1] and sa[0] != sb[0] else None
    for i in (0, 1):
        sa = _trig_square(a.args[i])
        if sa is None:
            continue
        for j in (0, 1):
            sb = _trig_square(b.args[j])
            if sb is not None and sa[1] is sb[1] and sa[0] != sb[0] and a.args[1 - i] is b.args[1 - j]:
                return a.args[1 - i]
    return None


_TRIG = ("sin", "cos")


def _angle_sum(a: Expr, b: Expr, sign: int) -> Expr | None:
    """sin α cos β ± cos α sin β and cos α cos β ∓ sin α sin β as sine or cosine of the sum or difference of angles."""
    p, q = a.args
    r, s = b.args
    if p.op not in _TRIG or q.op not in _TRIG or r.op not in _TRIG or s.op not in _TRIG:
        return None
    if p.op != q.op:
        if r.op == s.op:
            return None
        if p.op == "cos":
            p, q = q, p
        if r.op == "cos":
            r, s = s, r
        x, y = p.args[0], q.args[0]
        if x is not s.args[0] or y is not r.args[0]:
            return None
        return unary("sin", add(x, y) if sign > 0 else _angle_difference(x, y))
    if r.op != s.op or p.op == r.op:
        return None
    x, y, u, w = p.args[0], q.args[0], r.args[0], s.args[0]
    if not ((x is u and y is w) or (x is w and y is u)):
        return None
    if sign > 0:
        return unary("cos", _angle_difference(x, y))
    total = unary("cos", add(x, y))
    return total if p.op == "cos" else neg(total)


def _angle_difference(x: Expr, y: Expr) -> Expr:
    """x − y where both are sums of a few angles, of which those in common cancel."""
    parts: dict[Expr, int] = {}
    stack = [(y, -1), (x, 1)]
    steps = 0
    while stack:
        e, sign = stack.pop()
        if e.op == "add" or e.op == "sub":
            steps += 1
            if steps > 16:  # long chains: not worth the walk
                return sub(x, y)
            stack.append((e.args[1], sign if e.op == "add" else -sign))
            stack.append((e.args[0], sign))
        elif e.op == "neg":
            stack.append((e.args[0], -sign))
        else:
            parts[e] = parts.get(e, 0) + sign
    total = ZERO
    for e, n in parts.items():
        total = add(total, mul(constant(n), e))
    return total


# --- products ----------------------------------------------------------------------------------------------------


def mul(a: Expr, b: Expr) -> Expr:
    """a·b simplified."""
    if a is ZERO or b is ZERO:
        return ZERO
    if a is ONE:
        return b
    if b is ONE:
        return a
    oa = a.op
    ob = b.op
    if oa == "neg":
        return mul(a.args[0], b.args[0]) if ob == "neg" else neg(mul(a.args[0], b))
    if ob == "neg":
        return neg(mul(a, b.args[0]))
    if a.id > b.id:
        a, b, oa, ob = b, a, ob, oa
    if oa == "const":
        if ob == "const":
            return constant(a.data * b.data)
        if a.data < 0.0:
            return neg(mul(constant(-a.data), b))
        if ob == "mul" and b.args[0].op == "const":
            return mul(constant(a.data * b.args[0].data), b.args[1])
        if ob == "div" and b.args[0].op == "const":
            return div(constant(a.data * b.args[0].data), b.args[1])
    elif oa == "mul" or ob == "mul" or oa == "div" or ob == "div" or oa == "sqrt":
        regrouped = _regroup_product(a, b, oa, ob)
        if regrouped is not None:
            return regrouped
    return _found_or_new("mul", a, b, b, ("mul", a))


def _regroup_product(a: Expr, b: Expr, oa: str, ob: str) -> Expr | None:
    """Constants to the front, squares together, factors cancelled against denominators."""
    if oa == "mul" and a.args[0].op == "const":
        return mul(a.args[0], mul(a.args[1], b))
    if ob == "mul" and b.args[0].op == "const":
        return mul(b.args[0], mul(a, b.args[1]))
    if oa == "div" and a.args[1] is b:
        return a.args[0]
    if ob == "div":
        if b.args[1] is a:
            return b.args[0]
        if oa == "div":
            return div(mul(a.args[0], b.args[0]), mul(a.args[1], b.args[1]))
    if a is b:
        return a.args[0] if oa == "sqrt" else None
    if ob == "mul":
        x, y = b.args
        if y.op == "div" and y.args[1] is a:
            return mul(x, y.args[0])
        if x.op == "div" and x.args[1] is a:
            return mul(y, x.args[0])
    if oa == "mul" and a.args[0] is not a.args[1]:
        if a.args[0] is b:
            return mul(a.args[1], mul(b, b))
        if a.args[1] is b:
            return mul(a.args[0], mul(b, b))
    if ob == "mul" and b.args[0] is not b.args[1]:
        if b.args[0] is a:
            return mul(b.args[1], mul(a, a))
        if b.args[1] is a:
            return mul(b.args[0], mul(a, a))
    return None


def div(a: Expr, b: Expr) -> Expr:
    """a/b simplified; a denominator of parameters alone becomes a factor that is prepared once."""
    if b is ZERO:
        raise InputError(f"division of {brief(a)} by zero")
    if a is ZERO:
        return ZERO
    if b is ONE:
        return a
    if a is b:
        return ONE
    oa = a.op
    ob = b.op
    if ob == "const":
        return constant(a.data / b.data) if oa == "const" else mul(constant(1.0 / b.data), a)
    if oa == "neg" or (oa == "const" and a.data < 0.0):
        return neg(div(neg(a), b))
    if ob == "neg":
        return neg(div(a, b.args[0]))
    if ob == "div":
        return div(mul(a, b.args[1]), b.args[0])
    if oa == "div":
        return div(a.args[0], mul(a.args[1], b))
    if oa == "mul":
        if a.args[0] is b:
            return a.args[1]
        if a.args[1] is b:
            return a.args[0]
    if ob == "mul":
        if b.args[0].op == "const":
            return mul(constant(1.0 / b.args[0].data), div(a, b.args[1]))
        if b.args[0] is a:
            return div(ONE, b.args[1])
        if b.args[1] is a:
            return div(ONE, b.args[0])
    if a is not ONE and b.deps == PARAMETER and a.deps != PARAMETER and oa != "const":
        return mul(div(ONE, b), a)
    holder = a if a.id > b.id else b
    return _found_or_new("div", a, b, holder, ("div", b) if holder is a else ("over", a))


def power(a: Expr, b: Expr) -> Expr:
    """aᵇ; small whole powers become products, halves square roots."""
    if b.op == "const":
        n = b.data
        if n == 0.0:
            return ONE
        if n == 0.5:
            return unary("sqrt", a)
        if n == int(n) and abs(n) <= 64:
            return _whole_power(a, int(n)) if n > 0 else div(ONE, _whole_power(a, int(-n)))
        if 2.0 * n == int(2.0 * n) and abs(n) <= 16:
            if n < 0:
                return div(ONE, power(a, constant(-n)))
            return mul(unary("sqrt", a), _whole_power(a, int(n - 0.5)))
    return binary("pow", a, b)


def _whole_power(a: Expr, n: int) -> Expr:
    if n == 1:
        return a
    half = _whole_power(a, n // 2)
    square = mul(half, half)
    return mul(square, a) if n % 2 else square


# --- functions ---------------------------------------------------------------------------------------------------

ODD = {"sin", "tan", "asin", "atan", "sinh", "tanh", "sign"}
EVEN = {"cos", "cosh", "abs"}


def _sign(x: float) -> float:
    return (x > 0) - (x < 0)


UNARY: dict[str, Callable[[float], float]] = {
    "sqrt": math.sqrt, "exp": math.exp, "log": math.log, "sin": math.sin, "cos": math.cos, "tan": math.tan,
    "asin": math.asin, "acos": math.acos, "atan": math.atan, "sinh": math.sinh, "cosh": math.cosh,
    "tanh": math.tanh, "abs": abs, "sign": _sign, "floor": math.floor, "not": lambda x: float(x == 0.0),
}  # fmt: skip
BINARY: dict[str, Callable[[float, float], float]] = {
    "atan2": math.atan2, "min": min, "max": max, "pow": math.pow, "lt": lambda x, y: float(x < y),
    "le": lambda x, y: float(x <= y), "and": lambda x, y: float(bool(x) and bool(y)),
    "or": lambda x, y: float(bool(x) or bool(y)),
}  # fmt: skip
COMMUTATIVE = {"min", "max", "and", "or"}
#: Operations whose value is 0 or 1.
LOGICAL = {"lt", "le", "and", "or", "not"}


def unary(op: str, a: Expr) -> Expr:
    """The function ``op`` of one argument, with numbers folded and odd/even symmetry used."""
    if a.op == "const":
        try:
            return constant(UNARY[op](a.data))
        except (ValueError, OverflowError):
            raise InputError(f"{op}({a.data:g}) is not defined or too large") from None
    if a.op == "neg":
        if op in ODD:
            return neg(unary(op, a.args[0]))
        if op in EVEN:
            a = a.args[0]
    if op == "sqrt" and a.op == "mul" and a.args[0] is a.args[1]:
        return unary("abs", a.args[0])
    if op == "abs" and a.op in ("abs", "sqrt", "exp"):
        return a
    uses = a._uses
    if uses is None:
        uses = a._uses = {}
    else:
        e = uses.get(op)
        if e is not None:
            return e
    e = _node(op, (a,), None, a.deps, _node_ids())
    uses[op] = e
    return e


def binary(op: str, a: Expr, b: Expr) -> Expr:
    """The function ``op`` of two arguments, with numbers folded."""
    if a.op == "const" and b.op == "const":
        try:
            return constant(BINARY[op](a.data, b.data))
        except (ValueError, OverflowError):
            raise InputError(f"{op}({a.data:g}, {b.data:g}) is not defined or too large") from None
    if a is b:
        if op in ("min", "max") or (op in ("and", "or") and a.op in LOGICAL):
            return a
        if op in ("lt", "le"):
            return ONE if op == "le" else ZERO
    if op in COMMUTATIVE and a.id > b.id:
        a, b = b, a
    if op in ("and", "or") and a.op == "const":
        if bool(a.data) == (op == "or"):
            return ONE if op == "or" else ZERO
        if b.op in LOGICAL:
            return b
    holder = a if a.id > b.id else b
    return _found_or_new(op, a, b, holder, (op, b, 0) if holder is a else (op, a, 1))


def where(condition: Any, a: Any, b: Any) -> Expr:
    """``a`` where the condition holds, else ``b``: the way to branch inside a law.

    >>> from jourdain.symbolic import symbol, where
    >>> x = symbol("x")
    >>> where(x > 0, x, 0)
    where(0 < x, x, 0)
    """
    c, a, b = as_expr(condition), as_expr(a), as_expr(b)
    if c.op == "const":
        return a if c.data else b
    if a is b:
        return a
    if c.op == "not":
        c, a, b = c.args[0], b, a
    return nary("where", (c, a, b), None)


def nary(op: str, args: Sequence[Expr], data: Any) -> Expr:
    """A node of any number of operands and a hashable payload (``where``, tables)."""
    args = tuple(args)
    holder = max(args, key=lambda e: e.id)
    uses = holder._uses
    if uses is None:
        uses = holder._uses = {}
    key = (op, args, data)
    e = uses.get(key)
    if e is None:
        deps = 0
        for x in args:
            deps |= x.deps
        e = uses[key] = _node(op, args, data, deps, _node_ids())
    return e


T = TypeVar("T")
#: From so many terms on a sum of numbers times values is one node.
LONG = 16


def scalar_product(row: Iterable[Expr], x: Iterable[Expr]) -> Expr:
    """Σ rowᵢ xᵢ; terms that vanish leave no trace.

    A long row of parameters is one node with the operands (*row, *x), which native code runs as a loop over arrays: the numbers of a structure with
    many modes are tables, and code written out for each of them would grow with their square.
    """
    terms = [(a, b) for a, b in zip(row, x, strict=True) if a is not ZERO and b is not ZERO]
    if len(terms) >= LONG and all(a.op == "symbol" and a.deps == PARAMETER for a, _ in terms):
        return nary("dot", [*(a for a, _ in terms), *(b for _, b in terms)], None)
    total = ZERO
    for a, b in terms:
        total = add(total, mul(a, b))
    return total


def halves(args: Sequence[T]) -> tuple[Sequence[T], Sequence[T]]:
    """Row and values of a long :func:`scalar_product`."""
    n = len(args) // 2
    return args[:n], args[n:]


_UFUNCS: dict[str, Callable[..., Expr]] = {
    "add": add, "subtract": sub, "multiply": mul, "divide": div, "true_divide": div, "power": power, "float_power": power,
    "negative": neg, "square": lambda a: mul(a, a), "reciprocal": lambda a: div(ONE, a), "positive": lambda a: a,
    "less": lambda a, b: binary("lt", a, b), "less_equal": lambda a, b: binary("le", a, b),
    "greater": lambda a, b: binary("lt", b, a), "greater_equal": lambda a, b: binary("le", b, a),
    "minimum": lambda a, b: binary("min", a, b), "maximum": lambda a, b: binary("max", a, b),
    "fmin": lambda a, b: binary("min", a, b), "fmax": lambda a, b: binary("max", a, b),
    "arctan2": lambda a, b: binary("atan2", a, b),
}  # fmt: skip
for _ufunc, _op in {
    "sqrt": "sqrt", "exp": "exp", "log": "log", "sin": "sin", "cos": "cos", "tan": "tan", "arcsin": "asin",
    "arccos": "acos", "arctan": "atan", "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "absolute": "abs",
    "fabs": "abs", "sign": "sign", "floor": "floor", "logical_not": "not",
}.items():  # fmt: skip
    _UFUNCS[_ufunc] = (lambda name: lambda a: unary(name, a))(_op)
