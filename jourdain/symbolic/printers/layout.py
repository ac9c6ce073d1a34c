"""Expressions as people write them: sums and products laid flat, powers gathered, terms and factors in a fixed order.

A style (text, LaTeX) turns numbers, names, sums, products and calls into strings; the walk over the graph is common.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..expr import KINDS, PARAMETER, Expr

LOGIC_OR, LOGIC_AND, COMPARISON, SUM, PRODUCT, POWER, ATOM = range(1, 8)
_LATE = KINDS["velocity"], KINDS["acceleration"]
_LATE_RANKS = (5, 6)


class Written(NamedTuple):
    """Text of an expression, how tightly it binds, its place among factors, and (of a product) that of its factors."""

    text: str
    precedence: int
    order: tuple[Any, ...]
    factors: tuple[tuple[Any, float], ...] | None = None

    def term_key(self) -> tuple[Any, ...]:
        """Place among terms: by velocities and accelerations, then higher degree first, then by factors."""
        parts = self.factors if self.factors is not None else ((self.order, -1.0),)
        late = tuple(p for p in parts if p[0] and p[0][0] in _LATE_RANKS)
        return late, sum(n for _, n in parts), parts


class Factor(NamedTuple):
    """A written base, its exponent, and the expression it came from."""

    written: Written
    exponent: float
    base: Expr


class Style:
    """How numbers, names, sums, products and calls look."""

    def number(self, value: float) -> Written:
        """A number."""
        raise NotImplementedError

    def symbol(self, name: str) -> str:
        """A name."""
        raise NotImplementedError

    def sum(self, terms: Sequence[tuple[int, Written]]) -> str:
        """Signed terms."""
        out = ""
        for sign, w in terms:
            text = w.text if w.precedence > SUM else self.parentheses(w.text)
            if out:
                out += f" {'+' if sign > 0 else '-'} {text}"
            else:
                out = text if sign > 0 else f"-{text}"
        return out

    def product(self, coefficient: float, over: Sequence[Factor], under: Sequence[Factor]) -> tuple[str, int]:
        """A positive number times factors, divided by factors; text and precedence."""
        raise NotImplementedError

    def call(self, e: Expr, operands: Sequence[Written]) -> tuple[str, int]:
        """Any other operation; text and precedence."""
        raise NotImplementedError

    def parentheses(self, text: str) -> str:
        """The text in parentheses."""
        return f"({text})"


def natural(text: str) -> tuple[Any, ...]:
    """Key by which x2 comes before x10."""
    parts = re.split(r"(\d+)", text)
    return tuple((0, int(p), "") if p.isdigit() else (1, 0, p) for p in parts if p)


def terms(e: Expr, named: Mapping[int, Any]) -> list[tuple[int, Expr]]:
    """Signed terms of nested sums, differences and signs."""
    out: list[tuple[int, Expr]] = []
    stack = [(1, e)]
    while stack:
        sign, x = stack.pop()
        if x.id in named and x is not e:
            out.append((sign, x))
        elif x.op == "add" or x.op == "sub":
            stack.append((sign if x.op == "add" else -sign, x.args[1]))
            stack.append((sign, x.args[0]))
        elif x.op == "neg":
            stack.append((-sign, x.args[0]))
        else:
            out.append((sign, x))
    return out


def factors(e: Expr, named: Mapping[int, Any]) -> tuple[float, dict[Expr, float]]:
    """Coefficient and exponents of the factors of nested products, quotients and constant powers."""
    coefficient = 1.0
    exponents: dict[Expr, float] = {}
    stack: list[tuple[float, Expr]] = [(1.0, e)]
    while stack:
        n, x = stack.pop()
        if x.id in named and x is not e:
            exponents[x] = exponents.get(x, 0.0) + n
        elif x.op == "const" and n in (1.0, -1.0):
            coefficient = coefficient * x.data if n > 0 else coefficient / x.data
        elif x.op == "mul" or x.op == "div":
            stack.append((n if x.op == "mul" else -n, x.args[1]))
            stack.append((n, x.args[0]))
        elif x.op == "neg" and n in (1.0, -1.0):
            coefficient = -coefficient
            stack.append((n, x.args[0]))
        elif x.op == "pow" and x.args[1].op == "const" and n == 1.0 and x.args[0].op != "mul":
            base = x.args[0]
            exponents[base] = exponents.get(base, 0.0) + x.args[1].data
        else:
            exponents[x] = exponents.get(x, 0.0) + n
    return coefficient, exponents


def _rank(e: Expr) -> int:
    """Place of a factor: sums of parameters, parameters, positions, functions, velocities, accelerations, sums."""
    if e.op in ("add", "sub"):
        return 0 if e.deps == PARAMETER else 9
    if e.deps & _LATE[1]:
        return 6
    if e.deps & _LATE[0]:
        return 5
    if e.op == "symbol":
        return 1 if e.deps == PARAMETER else 2
    return 3


def _letter(name: str) -> int:
    """Masses and inertias come first in a product, as in books."""
    return 0 if name[:1] in "mMIJ" else 1


def _term_rank(e: Expr) -> int:
    if e.op == "const":
        return 9
    return 0 if e.deps & _LATE[1] else (1 if e.deps & _LATE[0] else 2)


class _Writer:
    def __init__(self, style: Style, named: Mapping[int, str], limit: int | None) -> None:
        self.style = style
        self.named = named
        self.limit = limit
        self.longest = 4 * limit if limit else 2_000_000
        self.memo: dict[int, Written] = {}

    def write(self, root: Expr) -> Written:
        """Text of an expression, by an explicit stack (graphs are deeper than Python's recursion)."""
        stack = [root]
        plans: dict[int, Any] = {}
        steps = 0
        while stack:
            e = stack[-1]
            if e.id in self.memo:
                stack.pop()
                continue
            plan = plans.get(e.id)
            if plan is None:
                steps += 1
                if self.limit is not None and (steps > 40 * self.limit or len(stack) > 400):
                    self.memo[e.id] = Written("…", ATOM, (8, 0, ()))
                    continue
                plan = plans[e.id] = self._plan(e, e is root)
                missing = [c for c in plan[1] if c.id not in self.memo]
                if missing:
                    stack.extend(reversed(missing))
                    continue
            w = self._combine(e, plan)
            self.memo[e.id] = w if len(w.text) <= self.longest else w._replace(text=w.text[: self.longest] + "…")
            stack.pop()
        return self.memo[root.id]

    def _plan(self, e: Expr, root: bool) -> tuple[str, list[Expr], Any]:
        if e.id in self.named and not root:
            return "named", [], None
        if e.op in ("const", "symbol"):
            return e.op, [], None
        if e.op in ("add", "sub", "neg"):
            parts = terms(e, self.named)[: self.limit]
            return "sum", [x for _, x in parts], parts
        if e.op in ("mul", "div") or (e.op == "pow" and e.args[1].op == "const"):
            product = factors(e, self.named)
            return "product", list(product[1]), product
        return "call", list(e.args), None

    def _combine(self, e: Expr, plan: tuple[str, list[Expr], Any]) -> Written:
        kind, _, detail = plan
        style = self.style
        if kind == "named":
            text = self.named[e.id]
            return Written(text, ATOM, (_rank(e), 1, natural(text)))
        if kind == "const":
            return style.number(e.data)
        if kind == "symbol":
            name = e.data[0]
            return Written(style.symbol(name), ATOM, (_rank(e), _letter(name), natural(name)))
        if kind == "sum":
            return self._sum(e, detail)
        if kind == "product":
            return self._product(e, *detail)
        text, precedence = style.call(e, [self.memo[a.id] for a in e.args])
        return Written(text, precedence, (_rank(e), 1, natural(text)))

    def _sum(self, e: Expr, parts: list[tuple[int, Expr]]) -> Written:
        written = []
        for sign, x in parts:
            w = self.memo[x.id]
            if w.text.startswith("-"):
                sign, w = -sign, w._replace(text=w.text[1:], precedence=max(w.precedence, PRODUCT))
            written.append((sign, w, (_term_rank(x), w.term_key())))
        written.sort(key=lambda t: t[2])
        first = next((i for i, t in enumerate(written) if t[0] > 0), 0)
        if written[0][2][0] == written[first][2][0] or written[first][2][0] == 9:
            written.insert(0, written.pop(first))
        text = self.style.sum([(sign, w) for sign, w, _ in written])
        precedence = SUM if len(written) > 1 or text.startswith("-") else written[0][1].precedence
        return Written(text, precedence, (_rank(e), 1, natural(text)))

    def _product(self, e: Expr, coefficient: float, exponents: dict[Expr, float]) -> Written:
        items = [Factor(self.memo[x.id], n, x) for x, n in exponents.items() if n != 0.0]
        items.sort(key=lambda f: f.written.order)
        over = [f for f in items if f.exponent > 0]
        under = [f._replace(exponent=-f.exponent) for f in items if f.exponent < 0]
        text, precedence = self.style.product(abs(coefficient), over, under)
        if coefficient < 0:
            text, precedence = "-" + text, SUM
        parts = tuple((f.written.order, -f.exponent) for f in items)
        return Written(text, precedence, (_rank(e), 2, natural(text)), parts)


def write(e: Expr, style: Style, named: Mapping[int, str] | None = None, limit: int | None = None) -> Written:
    """The expression in a style; nodes in ``named`` (by id) appear under their name."""
    return _Writer(style, named or {}, limit).write(e)
