"""Expressions to text of the language of model files, such that parsing builds the very same graph again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from ...symbolic.expr import ONE, Expr, constant, div, mul
from ...symbolic.graph import topological
from ...symbolic.tables import Table

#: A shared subexpression of more nodes than this gets a name of its own.
SHARED_SIZE = 12
#: No text is longer (in nodes) or nested deeper than this; larger expressions are cut into named pieces.
LARGEST = 150
DEEPEST = 12

_OR, _AND, _NOT, _COMPARE, _SUM, _PRODUCT, _SIGN, _POWER, _ATOM = range(1, 10)
_INFIX = {"or": (" or ", _OR), "and": (" and ", _AND), "lt": (" < ", _COMPARE), "le": (" <= ", _COMPARE)}


def number_text(x: float) -> str:
    """A number exactly, as short as it goes: 2, 0.1, 1e-07.

    >>> number_text(2.0), number_text(0.1), number_text(-0.0)
    ('2', '0.1', '-0.0')
    """
    if x == int(x) and abs(x) < 1e15 and not (x == 0.0 and str(x)[0] == "-"):
        return str(int(x))
    return repr(x)


def shared_expressions(roots: Iterable[Expr], named: Iterable[Expr] = ()) -> list[Expr]:
    """The subexpressions that deserve a name: large ones used more than once, and pieces of very large ones."""
    roots = list(roots)
    order = topological(roots)
    uses: dict[int, int] = {}
    for e in order:
        for a in {x.id for x in e.args}:
            uses[a] = uses.get(a, 0) + 1
    for e in roots:
        uses[e.id] = uses.get(e.id, 0) + 1
    size: dict[int, int] = {}
    height: dict[int, int] = {}
    known = {e.id for e in named}
    chosen: list[Expr] = []
    for e in order:
        n = 1 + sum(size[a.id] for a in e.args)
        h = 1 + max((height[a.id] for a in e.args), default=-1)
        is_new = e.args and e.id not in known
        if is_new and ((uses[e.id] > 1 and n > SHARED_SIZE) or n > LARGEST or h > DEEPEST):
            chosen.append(e)
            known.add(e.id)
        if e.id in known:
            n, h = 1, 0
        size[e.id], height[e.id] = n, h
    return chosen


class ExpressionWriter:
    """Writes expressions; ``symbol_name`` spells symbols, ``named`` and ``tables`` give names already chosen."""

    def __init__(self, symbol_name: Callable[[Expr], str], named: Mapping[Expr, str], tables: Mapping[Table, str]) -> None:
        self.symbol_name = symbol_name
        self.named = named
        self.tables = tables
        self._known: dict[tuple[int, int], str] = {}

    def text(self, e: Expr) -> str:
        """The expression, or its name if it has one."""
        return self._text(e, _OR)

    def definition(self, e: Expr) -> str:
        """The expression itself, even if it has a name."""
        return self._spell(e)[0]

    def _text(self, e: Expr, level: int) -> str:
        """``e`` in parentheses if it binds looser than ``level``."""
        key = (e.id, level)
        if key not in self._known:
            text, own = (self.named[e], _ATOM) if e in self.named else self._spell(e)
            self._known[key] = text if own >= level else f"({text})"
        return self._known[key]

    def _spell(self, e: Expr) -> tuple[str, int]:
        op, args = e.op, e.args
        if op == "const":
            return number_text(e.data), _ATOM if e.data >= 0 else _SUM
        if op == "symbol":
            return self.symbol_name(e), _ATOM
        if op in ("add", "sub"):
            return self._sum(e), _SUM
        if op == "mul":
            return self._product(e)
        if op == "div":
            return f"{self._text(args[0], _PRODUCT)}/{self._text(args[1], _SIGN)}", _PRODUCT
        if op == "neg":
            inner = args[0]
            if self._turns(inner):
                return self._opposite(inner)
            return f"-{self._text(inner, _PRODUCT)}", _SUM
        if op == "pow":
            return f"{self._text(args[0], _ATOM)}^{self._exponent(args[1])}", _POWER
        if op == "not":
            return f"not {self._text(args[0], _COMPARE)}", _NOT
        if op in _INFIX:
            mark, level = _INFIX[op]
            left = level if op in ("or", "and") else _SUM
            return f"{self._text(args[0], left)}{mark}{self._text(args[1], level + 1)}", level
        name = self._table(e) if op == "table" else op
        return f"{name}({', '.join(self._text(a, _OR) for a in args)})", _ATOM

    def _table(self, e: Expr) -> str:
        table, orders = e.data
        suffix = ".d" + "".join(map(str, orders)) if any(orders) else ""
        return self.tables[table] + suffix

    def _exponent(self, e: Expr) -> str:
        if e.op == "const" and e.data < 0:
            return number_text(e.data)
        return self._text(e, _ATOM)

    def _sum(self, e: Expr) -> str:
        a, b = e.args
        if a.op == "const" and e.op == "add":  # 2 + x is the same node as x + 2
            mark = "-" if a.data < 0 else "+"
            return f"{self._text(b, _SUM)} {mark} {number_text(abs(a.data))}"
        if e.op == "sub" and self._turns(b):
            text, level = self._opposite(b)
            return f"{self._text(a, _SUM)} + {text if level > _SUM else f'({text})'}"
        return f"{self._text(a, _SUM)} {'+' if e.op == 'add' else '-'} {self._text(b, _PRODUCT)}"

    def _product(self, e: Expr) -> tuple[str, int]:
        a, b = e.args
        if a is b and a.op != "const":
            return f"{self._text(a, _ATOM)}^2", _POWER
        if b.op == "div" and b.args[0] is ONE and b not in self.named and a.op != "const" and div(a, b.args[1]) is e:
            return f"{self._text(a, _PRODUCT)}/{self._text(b.args[1], _SIGN)}", _PRODUCT
        if a.op == "const":
            return self._scaled(e, a.data, b), _PRODUCT
        return f"{self._text(a, _PRODUCT)}*{self._text(b, _SIGN)}", _PRODUCT

    def _scaled(self, e: Expr, k: float, x: Expr) -> str:
        """k·x as x/12 for k = 1/12, as k·a·b for x = a·b where that is the same node."""
        whole = round(1.0 / k) if 1e-3 < k < 1.0 else 0
        if whole and 1.0 / whole == k and len(repr(k)) > 6 and div(x, constant(whole)) is e:
            return f"{self._text(x, _PRODUCT)}/{whole}"
        factors: list[Expr] = []
        rest = x
        while rest.op == "mul" and rest.args[0] is not rest.args[1] and rest not in self.named:
            factors.append(rest.args[1])
            rest = rest.args[0]
        total = e.args[0]
        for f in (rest, *reversed(factors)):
            total = mul(total, f)
        if total is not e:
            return f"{number_text(k)}*{self._text(x, _SIGN)}"
        return "*".join([number_text(k), *(self._text(f, _SIGN) for f in (rest, *reversed(factors)))])

    # -- signs: the kernel keeps a − b with the older operand first and the sign outside; people do not ----------------

    def _turns(self, e: Expr) -> bool:
        """Whether −e can be written without a sign in front: −(a − b) = b − a, −k(a − b) = k(b − a)."""
        if e in self.named:
            return False
        if e.op == "sub":
            return not e.args[0].args and e.args[0].op != "const"
        return e.op == "mul" and e.args[0] is not e.args[1] and self._turns(e.args[1])

    def _opposite(self, e: Expr) -> tuple[str, int]:
        """Text of −e for an ``e`` that turns."""
        a, b = e.args
        if e.op == "sub":
            return f"{self._text(b, _SUM)} - {self._text(a, _PRODUCT)}", _SUM
        text, level = self._opposite(b)
        return f"{self._text(a, _PRODUCT)}*{text if level >= _SIGN else f'({text})'}", _PRODUCT


__all__ = ["ExpressionWriter", "number_text", "shared_expressions"]
