"""The small language of laws in model files: text to expressions, by a tokenizer and a precedence parser of our own.

From loose to tight::

    or   and   not   < <= > >=   + -   * /   ^ (or **)   f(x, …)  (…)  name  number  30[deg]

A sign binds a whole product, −a·b = −(a·b); powers are taken from the right.  Names are paths such as ``hinge.angle``
or ``hub.position.z``; any other name stands in single quotes.  Nothing is ever run: a text can only build expressions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from ...errors import InputError, nearest
from ...model.dimensions import alike, unit_of, unjudged
from ...model.units import unit
from ...symbolic import functions
from ...symbolic.expr import UNARY as _UNARY
from ...symbolic.expr import Expr, add, binary, constant, div, mul, neg, power, sub, unary, where

#: Longest text of one expression, in characters.
MAX_LENGTH = 20_000
#: Deepest nesting of parentheses, signs and powers in one expression.
MAX_DEPTH = 64

KEYWORDS = ("and", "or", "not")
_NAME = r"[^\W\d]\w*(?:\.[^\W\d]\w*)*"
_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
    rf"|(?P<name>{_NAME})|(?P<quoted>'(?:[^']|'')*')|(?P<unit>\[[^\[\]]*\])"
    r"|(?P<mark>\*\*|<=|>=|[-+*/^(),<>:]))"
)
_PLAIN_NAME = re.compile(_NAME + r"\Z")


class ExpressionError(InputError):
    """A text is not an expression of the language, or names something that does not exist."""


class Scope(Protocol):
    """Where the parser finds what names stand for."""

    def find(self, name: str, kind: str | None = None) -> Expr:
        """The expression called ``name`` (of a ``kind`` such as "parameter", where one is written)."""
        ...

    def function(self, name: str) -> Callable[..., Expr] | None:
        """The function (a table) called ``name``."""
        ...


class _Token(NamedTuple):
    kind: str
    text: str
    place: int


@dataclass(frozen=True)
class _Function:
    build: Callable[..., Any]
    least: int
    most: int


def _fold(function: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def total(*items: Any) -> Any:
        result = items[0]
        for item in items[1:]:
            result = function(result, item)
        return result

    return total


#: Functions by name, with the least and most number of arguments.
FUNCTIONS: dict[str, _Function] = {
    **{name: _Function(lambda x, op=name: unary(op, x), 1, 1) for name in _UNARY if name != "not"},
    "atan2": _Function(functions.atan2, 2, 2),
    "min": _Function(_fold(functions.minimum), 2, 16),
    "max": _Function(_fold(functions.maximum), 2, 16),
    "pow": _Function(power, 2, 2),
    "where": _Function(where, 3, 3),
    "step": _Function(functions.step, 3, 5),
    "clip": _Function(functions.clip, 3, 3),
    "positive_part": _Function(functions.positive_part, 1, 1),
}


def parse_expression(text: str, scope: Scope) -> Expr:
    """The expression written as ``text``, its names looked up in ``scope``.

    >>> from jourdain.symbolic import symbol
    >>> class Letters:
    ...     k = symbol("k")
    ...     def find(self, name, kind=None): return getattr(self, name)
    ...     def function(self, name): return None
    >>> parse_expression("2*k + 3*k", Letters())
    5*k
    """
    return _Parser(text, scope).parse()


def spelled(name: str) -> str:
    """A name as the language writes it: plain, or in quotes.

    >>> spelled("hub.position.z"), spelled("left wheel")
    ('hub.position.z', "'left wheel'")
    """
    if _PLAIN_NAME.match(name) and name not in KEYWORDS and not name.startswith("self."):
        return name
    return "'" + name.replace("'", "''") + "'"


def names_in(text: str) -> Iterator[str]:
    """Every name in a text, also of functions and kinds.

    >>> list(names_in("k*'left wheel' + sin(state:x)"))
    ['k', 'left wheel', 'sin', 'state', 'x']
    """
    place = 0
    while (match := _TOKEN.match(text, place)) is not None:
        place = match.end()
        if match.lastgroup == "name":
            yield match.group("name")
        elif match.lastgroup == "quoted":
            yield match.group("quoted")[1:-1].replace("''", "'")


class _Parser:
    def __init__(self, text: str, scope: Scope) -> None:
        if len(text) > MAX_LENGTH:
            raise ExpressionError(
                f"the expression {text[:30]!r}… has {len(text)} characters, more than {MAX_LENGTH}; name parts of it under [expressions]"
            )
        self.text = text
        self.scope = scope
        self.tokens = self._split(text)
        self.place = 0
        self.depth = 0

    def _split(self, text: str) -> list[_Token]:
        tokens, place, end = [], 0, len(text.rstrip())
        while place < end:
            match = _TOKEN.match(text, place)
            if match is None or match.lastgroup is None:
                place += len(text[place:]) - len(text[place:].lstrip())
                remedy = "; compare with <, <=, > or >=" if text[place] in "=!" else ""
                raise ExpressionError(
                    f"expression {_short(text)}: cannot read {text[place : place + 10]!r} at position {place + 1}{remedy}"
                )
            tokens.append(_Token(match.lastgroup, match.group(match.lastgroup), match.start(match.lastgroup)))
            place = match.end()
        tokens.append(_Token("end", "the end", len(text)))
        return tokens

    # -- grammar --------------------------------------------------------------------------------------------------

    def parse(self) -> Expr:
        e = self._or()
        if self._next.kind != "end":
            before = self.tokens[self.place - 1]
            remedy = ""
            if before.kind == "number" and self._next.kind == "name":
                remedy = f"; write {before.text}*{self._next.text}, or {before.text}[{self._next.text}] for a unit"
            raise self._error(f"{self._next.text!r} does not fit here{remedy}")
        if any(token.kind == "unit" for token in self.tokens):
            unjudged.add(e)
        return e

    def _or(self) -> Expr:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise ExpressionError(f"expression {_short(self.text)} is nested deeper than {MAX_DEPTH}; name parts of it under [expressions]")
        e = self._and()
        while self._take("or"):
            e = binary("or", e, self._and())
        self.depth -= 1
        return e

    def _and(self) -> Expr:
        e = self._not()
        while self._take("and"):
            e = binary("and", e, self._not())
        return e

    def _not(self) -> Expr:
        count = 0
        while self._take("not"):
            count += 1
        e = self._comparison()
        for _ in range(count):
            e = unary("not", e)
        return e

    def _comparison(self) -> Expr:
        begun = self.place
        a = self._sum()
        for mark in ("<=", ">=", "<", ">"):
            if self._take(mark):
                middle = self.place
                b = self._sum()
                self._same(begun, middle - 1, a, middle, b)
                if self._next.text in ("<", "<=", ">", ">="):
                    raise self._error("comparisons do not chain; write a < b and b < c")
                first, second = (a, b) if mark[0] == "<" else (b, a)
                return binary("le" if "=" in mark else "lt", first, second)
        return a

    def _sum(self) -> Expr:
        negative, begun = self._take_signs(), self.place
        e = first = self._product()
        ended = self.place
        if negative:
            e = neg(e)
        while self._next.kind == "mark" and self._next.text in ("+", "-"):
            build = add if self._next.text == "+" else sub
            self.place += 1
            place = self.place
            term = self._product()
            self._same(begun, ended, first, place, term)
            e = build(e, term)
        return e

    def _same(self, begun: int, ended: int, a: Expr, place: int, b: Expr) -> None:
        """Refuses a number with a unit beside a number or a quantity of another dimension."""
        one, other = self._measure(begun, ended, a), self._measure(place, self.place, b)
        if one is None or other is None or not (one[1] or other[1]) or alike(one[0], other[0]):
            return
        written = [" ".join(t.text for t in self.tokens[i:k]).replace(" [", "[") for i, k in ((begun, ended), (place, self.place))]
        raise self._error(f"{written[0]} in '{one[0]}' and {written[1]} in '{other[0]}' have different dimensions")

    def _measure(self, begun: int, ended: int, e: Expr) -> tuple[str, bool] | None:
        """The unit of one number or one quantity, and whether it was written there."""
        kinds = [token.kind for token in self.tokens[begun:ended]]
        if kinds == ["number", "unit"]:
            return self.tokens[begun + 1].text[1:-1].strip(), True
        unit = unit_of(e) if kinds in (["name"], ["quoted"]) else None
        return None if unit is None else (unit, False)

    def _product(self) -> Expr:
        e = self._factor()
        while True:
            if self._take("*"):
                e = mul(e, self._factor())
            elif self._take("/"):
                e = div(e, self._factor())
            else:
                return e

    def _take_signs(self) -> bool:
        negative = False
        while self._next.text in ("+", "-") and self._next.kind == "mark":
            negative ^= self._next.text == "-"
            self.place += 1
        return negative

    def _factor(self) -> Expr:
        negative = self._take_signs()
        e = self._power()
        return neg(e) if negative else e

    def _power(self) -> Expr:
        base = self._atom()
        if self._take("^") or self._take("**"):
            self.depth += 1
            if self.depth > MAX_DEPTH:
                raise ExpressionError(f"expression {_short(self.text)}: more than {MAX_DEPTH} powers of powers")
            base = power(base, self._factor())
            self.depth -= 1
        return base

    def _atom(self) -> Expr:
        token = self._next
        self.place += 1
        if token.kind == "number":
            return self._number(token)
        if token.kind in ("name", "quoted"):
            return self._named(token)
        if token.text == "(" and token.kind == "mark":
            e = self._or()
            self._expect(")", "a parenthesis is not closed")
            return e
        self.place -= 1
        raise self._error(f"a number, a name or '(' is missing before {token.text!r}")

    def _number(self, token: _Token) -> Expr:
        value = float(token.text)
        if self._next.kind == "unit":
            measure = unit(self._next.text[1:-1])
            self.place += 1
            value = value * measure.factor + measure.offset
        return constant(value)

    def _named(self, token: _Token) -> Expr:
        name = token.text if token.kind == "name" else token.text[1:-1].replace("''", "'")
        if token.kind == "name" and self._next.text == "(" and self._next.kind == "mark":
            return self._call(token)
        if token.kind == "name" and name in KEYWORDS:
            raise self._error(f"'{name}' does not fit here; a name spelled so stands in quotes")
        if token.kind == "name" and "." not in name and self._take(":"):
            other = self._next
            if other.kind not in ("name", "quoted"):
                raise self._error(f"a name is missing after '{name}:'")
            self.place += 1
            path = other.text if other.kind == "name" else other.text[1:-1].replace("''", "'")
            return self.scope.find(path, name)
        return self.scope.find(name, "self" if token.kind == "name" and name.startswith("self.") else None)

    def _call(self, token: _Token) -> Expr:
        self._expect("(", "")
        arguments = [self._or()]
        while self._take(","):
            arguments.append(self._or())
        self._expect(")", f"the arguments of {token.text} are not closed by ')'")
        own = self.scope.function(token.text)
        if own is not None:
            return own(*arguments)
        found = FUNCTIONS.get(token.text)
        if found is None:
            near = nearest(token.text, FUNCTIONS, 3)
            raise self._error(f"there is no function or table '{token.text}'" + (f"; did you mean {', '.join(near)}?" if near else ""))
        if not found.least <= len(arguments) <= found.most:
            wanted = str(found.least) if found.least == found.most else f"{found.least} to {found.most}"
            raise self._error(f"{token.text} takes {wanted} argument(s), got {len(arguments)}")
        result: Expr = found.build(*arguments)
        return result

    # -- tokens ---------------------------------------------------------------------------------------------------

    @property
    def _next(self) -> _Token:
        return self.tokens[self.place]

    def _take(self, text: str) -> bool:
        token = self.tokens[self.place]
        if token.text == text and token.kind in ("mark", "name"):
            self.place += 1
            return True
        return False

    def _expect(self, text: str, message: str) -> None:
        if not self._take(text):
            raise self._error(message)

    def _error(self, message: str) -> ExpressionError:
        place = self.tokens[min(self.place, len(self.tokens) - 1)].place
        return ExpressionError(f"expression {_short(self.text)}, position {place + 1}: {message}")


def _short(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "…")


__all__ = ["FUNCTIONS", "MAX_DEPTH", "MAX_LENGTH", "ExpressionError", "Scope", "names_in", "parse_expression", "spelled"]
